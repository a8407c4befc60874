/* SPDX-License-Identifier: MIT */
/* A problem's text, with or without a range: what is read prints and reads as itself, and
 * the text of a canonical problem has the same canonical bytes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "plan/problem.h"
#include "plan/range.h"

static jit_gemm_status find_none(void *user, const char *name, jit_gemm_dtype d,
                                 const struct jg_epilogue **ret_epilogue)
{
    (void)user, (void)name, (void)d;
    *ret_epilogue = NULL;
    return JIT_GEMM_OK;
}

static void expect_round_trip(const jit_gemm_problem *problem)
{
    struct jg_str first = {0};
    struct jg_str second = {0};
    jit_gemm_problem again = {0};
    fuzz_expect(jg_problem_print(problem, &first) == JIT_GEMM_OK, "it prints");
    fuzz_expect(jg_problem_parse(jg_str_text(&first), &again) == JIT_GEMM_OK, "it reads");
    fuzz_expect(jg_problem_print(&again, &second) == JIT_GEMM_OK, "and prints again");
    fuzz_expect_same(&first, &second, "a problem prints and reads as itself");
}

static void expect_canonical(const struct jg_problem *problem)
{
    struct jg_str text = {0};
    struct jg_str first = {0};
    struct jg_str second = {0};
    jit_gemm_problem read = {0};
    struct jg_problem again = {0};
    jg_problem_bytes(problem, &first);
    jg_problem_text(problem, &text);
    fuzz_expect(jg_problem_parse(jg_str_text(&text), &read) == JIT_GEMM_OK,
                "the canonical text reads");
    fuzz_expect(jg_problem_normalize(&read, find_none, NULL, &again) == JIT_GEMM_OK,
                "and is legal");
    jg_problem_bytes(&again, &second);
    fuzz_expect(first.size == second.size &&
                    memcmp(jg_str_text(&first), jg_str_text(&second), first.size) == 0,
                "the canonical text is the same problem");
    jg_str_free(&text);
    jg_str_free(&first);
    jg_str_free(&second);
}

static void read_problem(const char *text)
{
    jit_gemm_problem problem = {0};
    struct jg_problem own = {0};
    jit_gemm_status status = jg_problem_parse(text, &problem);
    fuzz_note(status == JIT_GEMM_OK);
    if (status != JIT_GEMM_OK) {
        fuzz_expect_error(status);
        return;
    }
    expect_round_trip(&problem);
    status = jg_problem_normalize(&problem, find_none, NULL, &own);
    if (status != JIT_GEMM_OK) {
        fuzz_expect_error(status);
        return;
    }
    expect_canonical(&own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    jit_gemm_range range = {0};
    bool has_range = false;
    read_problem(text);
    const size_t length = strlen(text);
    const jit_gemm_status status = jg_range_take(text, &range, &has_range);
    fuzz_expect(strlen(text) <= length, "a range is taken out in place");
    if (status != JIT_GEMM_OK) {
        fuzz_expect_error(status);
    } else if (has_range) {
        read_problem(text);
    }
    free(text);
    return 0;
}
