/* SPDX-License-Identifier: MIT */
/* Tests that print TAP: TEST(group, sentence) { ... EXPECT(condition, "format", ...) }. */
#ifndef JG_TESTS_CHECK_H
#define JG_TESTS_CHECK_H

#include "shim.h"

namespace host {

enum { MESSAGES_SHOWN = 4 /* of a test */ };

struct test_case {
    const char *name;
    void (*run)();
};
inline std::vector<test_case> &test_cases()
{
    static std::vector<test_case> cases;
    return cases;
}
struct test_adder {
    test_adder(const char *name, void (*run)())
    {
        test_cases().push_back({name, run});
    }
};

inline unsigned long checks, failures; /* of the running test */

[[gnu::format(printf, 3, 4)]] inline void expect(bool holds, const char *place,
                                                 const char *format, ...)
{
    checks++;
    if (holds || failures++ >= MESSAGES_SHOWN) {
        return;
    }
    va_list list;
    va_start(list, format);
    std::printf("# %s: ", place);
    std::vprintf(format, list);
    std::printf("\n");
    va_end(list);
}

/* A test that has checked nothing has failed. */
inline int run_tests()
{
    int failed = 0, number = 0;
    std::printf("TAP version 13\n1..%zu\n", test_cases().size());
    for (const test_case &test : test_cases()) {
        checks = failures = 0;
        test.run();
        const bool passed = failures == 0 && checks > 0;
        failed += !passed;
        std::printf("%s %d - %s\n", passed ? "ok" : "not ok", ++number, test.name);
        if (!passed) {
            std::printf("# %lu of %lu checks failed\n", failures, checks);
        }
        std::fflush(stdout);
    }
    return failed == 0 ? 0 : 1;
}

} // namespace host

#define HOST_TEXT_(x) #x
#define HOST_TEXT(x)  HOST_TEXT_(x)
#define EXPECT(holds, ...) \
    host::expect((holds), __FILE__ ":" HOST_TEXT(__LINE__), __VA_ARGS__)
#define TEST(group, sentence)                                                      \
    static void group##_##sentence();                                              \
    static const host::test_adder group##_##sentence##_adder(#group "/" #sentence, \
                                                             group##_##sentence);  \
    static void group##_##sentence()

#endif
