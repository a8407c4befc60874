/* SPDX-License-Identifier: MIT */
/* What a replay makes of capsules: whole, damaged and hostile ones. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capsule_bench.h"

Test(replay, replay_tells_the_same_error_another_and_none)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    char report[4096];
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));

    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, report, sizeof(report)),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR);
    cr_expect_eq(strncmp(report,
                         "replay: same error; same library, same compiler, same device "
                         "sources\nlibrary: ",
                         77),
                 0, "%s", report);
    cr_expect_not_null(strstr(report, "\nerror: "));

    capsule_edit(capsule, "capsule.txt", "\ncompiler dummy 1\n", "\ncompiler dummy 2\n");
    capsule_edit(capsule, "error.txt", "internal error", "external error");
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, report, sizeof(report)),
                 JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_OTHER_ERROR);
    cr_expect_eq(strncmp(report, "replay: other error; same library, other compiler, ", 51),
                 0, "%s", report);
    cr_expect_not_null(strstr(report, "\nerror here: "));

    capsule_edit(capsule, "unit.cu", "DUMMY_BROKEN", "DUMMY_WHOLE_");
    capsule_edit(capsule, "unit.cu", "DUMMY_BROKEN", "DUMMY_WHOLE_");
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, report, sizeof(report)),
                 JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_COMPILES);
    cr_expect_eq(strncmp(report, "replay: compiles here; ", 23), 0, "%s", report);
    api_fixture_close(&bench.fixture);
}

Test(replay, replay_compares_status_and_log_too)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));

    capsule_edit(capsule, "log.txt", "Compile time", "Compile_time");
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR, "a line that is no error's");
    capsule_edit(capsule, "log.txt", "fatal   :", "fatal  !:");
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_OTHER_ERROR);
    capsule_edit(capsule, "log.txt", "fatal  !:", "fatal   :");
    capsule_edit(capsule, "capsule.txt", "status COMPILE", "status INTERNAL");
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_OTHER_ERROR);
    api_fixture_close(&bench.fixture);
}

Test(replay, every_truncation_of_each_file_is_refused)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));
    const int calls = jg_compiler_dummy_calls(bench.fixture.compiler);

    for (int i = 0; i < CAPSULE_NAME_COUNT; i++) {
        struct jg_str whole = capsule_read_file(capsule, capsule_names[i]);
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", capsule, capsule_names[i]);
        for (size_t size = whole.size; size-- > 0;) {
            cr_assert_eq(truncate(path, (off_t)size), 0);
            const jit_gemm_status status =
                capsule_replay(&bench, capsule, &outcome, NULL, 0);
            cr_assert_eq(status, JIT_GEMM_ERR_ARGUMENT, "%s with %zu bytes: %d, %s",
                         capsule_names[i], size, (int)status, jit_gemm_last_error());
            cr_assert(api_error_has(capsule_names[i]));
        }
        cr_assert_eq(unlink(path), 0);
        cr_expect_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has("is not there"));
        capsule_write_file(capsule, capsule_names[i], whole.data, whole.size);
        jg_str_free(&whole);
    }
    cr_expect_eq(jg_compiler_dummy_calls(bench.fixture.compiler), calls);
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    api_fixture_close(&bench.fixture);
}

Test(replay, hostile_record_is_refused_by_its_field)
{
    static const struct {
        const char *from, *to, *words;
        jit_gemm_status status;
    } rows[] = {
        {"capsule 2", "capsule 1", "reads format 2", JIT_GEMM_ERR_VERSION},
        {"jit_gemm capsule", "jit_gemm castle ", "line 1", JIT_GEMM_ERR_ARGUMENT},
        {"arch sm_90a", "arch sm_10x", "'sm_10x'", JIT_GEMM_ERR_UNSUPPORTED},
        {"kind cubin", "kind cubix", "capsule.txt: kind", JIT_GEMM_ERR_ARGUMENT},
        {"options ", "options -I/etc ", "capsule.txt: options", JIT_GEMM_ERR_ARGUMENT},
        {"options ", "options -std=c++1 ", "capsule.txt: options", JIT_GEMM_ERR_ARGUMENT},
        {"entry ", "entry x;", "capsule.txt: entry", JIT_GEMM_ERR_ARGUMENT},
        {"unit.cu ", "unit.cu -", "line 16", JIT_GEMM_ERR_ARGUMENT},
        {"unit.cu ", "unit.cu 99999999999999999999", "line 16", JIT_GEMM_ERR_ARGUMENT},
        {"unit.cu ", "unit.cx ", "line 16", JIT_GEMM_ERR_ARGUMENT},
        {"end\n", "end\nmore\n", "line 20", JIT_GEMM_ERR_ARGUMENT},
        {"driver ", "river ", "line 7", JIT_GEMM_ERR_ARGUMENT},
    };
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));
    const int calls = jg_compiler_dummy_calls(bench.fixture.compiler);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        capsule_edit(capsule, "capsule.txt", rows[i].from, rows[i].to);
        cr_expect_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), rows[i].status,
                     "%s: %s", rows[i].to, jit_gemm_last_error());
        cr_expect(api_error_has(rows[i].words), "%s", rows[i].to);
        capsule_edit(capsule, "capsule.txt", rows[i].to, rows[i].from);
    }
    cr_expect_eq(jg_compiler_dummy_calls(bench.fixture.compiler), calls);
    api_fixture_close(&bench.fixture);
}

Test(replay, manifest_of_another_number_of_kernels_is_refused)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"jit_gemm manifest 1\n", "has 0 kernels"},
        {"jit_gemm manifest 1\nproblem 64x64x64 bf16\nproblem 64x64x72 bf16\n",
         "has 2 kernels"},
        {"jit_gemm manifest 1\nproblem 64x64x64 bf17\n", "manifest line 2"},
        {"jit_gemm manifest 1\nproblem 64x64x64 bf16 epilogue=none\n", "none"},
    };
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));
    struct jg_str manifest = capsule_read_file(capsule, "problem.manifest");
    size_t size = manifest.size;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char from[64], to[64];
        snprintf(from, sizeof(from), "problem.manifest %zu\n", size);
        size = strlen(rows[i].text);
        snprintf(to, sizeof(to), "problem.manifest %zu\n", size);
        capsule_edit(capsule, "capsule.txt", from, to);
        capsule_write_file(capsule, "problem.manifest", rows[i].text, size);
        cr_expect_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0),
                     JIT_GEMM_ERR_ARGUMENT, "%s: %s", rows[i].text, jit_gemm_last_error());
        cr_expect(api_error_has(rows[i].words));
    }

    jg_str_free(&manifest);
    api_fixture_close(&bench.fixture);
}

Test(replay, files_that_are_none_are_refused)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    char path[512];
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));
    snprintf(path, sizeof(path), "%s/unit.cu", capsule);
    struct jg_str unit = capsule_read_file(capsule, "unit.cu");

    unit.data[7] = '\0';
    capsule_write_file(capsule, "unit.cu", unit.data, unit.size);
    cr_expect_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("zero byte"));
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_expect_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("no plain file"));
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(symlink("/etc/passwd", path), 0);
    cr_expect_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("is a link"));
    cr_expect_eq(capsule_replay(&bench, "/none/at/all", &outcome, NULL, 0),
                 JIT_GEMM_ERR_IO);

    jg_str_free(&unit);
    api_fixture_close(&bench.fixture);
}

static jit_gemm_status given_status;

static jit_gemm_status give_status(struct jg_compiler *compiler,
                                   const struct jg_compile_request *request,
                                   struct jg_compile_result *ret_result)
{
    (void)compiler;
    (void)request;
    (void)ret_result;
    return jg_fail_system(given_status, "compiler", "", "as it was told");
}

static void destroy_nothing(struct jg_compiler *compiler)
{
    (void)compiler;
}

Test(replay, compile_that_could_not_be_tried_is_no_outcome)
{
    static const struct {
        jit_gemm_status status;
        bool is_outcome;
    } rows[] = {
        {JIT_GEMM_ERR_NO_MEMORY, false},  {JIT_GEMM_ERR_NO_COMPILER, false},
        {JIT_GEMM_ERR_CANCELLED, false},  {JIT_GEMM_ERR_COMPILE, true},
        {JIT_GEMM_ERR_INTERNAL, true},    {JIT_GEMM_ERR_ARGUMENT, true},
        {JIT_GEMM_ERR_UNSUPPORTED, true},
    };
    static struct jg_compiler compiler = {.signature = "given 1",
                                          .path = "",
                                          .compile = give_status,
                                          .destroy = destroy_nothing};
    struct capsule_bench bench;
    struct jg_toolchain *toolchain = NULL;
    char capsule[256] = "";
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));
    cr_assert_eq(jg_toolchain_create_with(&compiler, &toolchain), JIT_GEMM_OK);
    jg_context_use_toolchain(bench.fixture.context, toolchain);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        given_status = rows[i].status;
        cr_expect_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0),
                     rows[i].is_outcome ? JIT_GEMM_OK : rows[i].status, "%d",
                     (int)rows[i].status);
        cr_expect_eq(outcome, rows[i].is_outcome ? JIT_GEMM_REPLAY_OTHER_ERROR : -1);
    }

    api_fixture_close(&bench.fixture);
}

Test(replay, each_changed_byte_of_the_record_is_read_or_refused)
{
    static const char changes[] = {'\n', ' ', 'x', '\0', '9', (char)0xff};
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));
    struct jg_str record = capsule_read_file(capsule, "capsule.txt");
    int refused = 0;

    for (size_t i = 0; i < record.size; i++) {
        const char before = record.data[i];
        record.data[i] = changes[i % sizeof(changes)];
        capsule_write_file(capsule, "capsule.txt", record.data, record.size);
        const jit_gemm_status status = capsule_replay(&bench, capsule, &outcome, NULL, 0);
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_ARGUMENT ||
                      status == JIT_GEMM_ERR_UNSUPPORTED || status == JIT_GEMM_ERR_VERSION,
                  "byte %zu: %d, %s", i, (int)status, jit_gemm_last_error());
        refused += status != JIT_GEMM_OK;
        record.data[i] = before;
    }

    cr_expect_gt(refused, 100);
    cr_expect_eq(capsule_list(bench.capsules, NULL, 0), 1, "a replay leaves none");
    jg_str_free(&record);
    api_fixture_close(&bench.fixture);
}

Test(replay, replay_survives_every_failing_allocation)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome;
    capsule_leave(&bench, capsule, sizeof(capsule));
    const long before = jg_alloc_count();
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK);
    const long count = jg_alloc_count() - before;

    for (long number = 1; number <= count; number++) {
        jg_alloc_fail_at(number, false);
        const jit_gemm_status status = capsule_replay(&bench, capsule, &outcome, NULL, 0);
        jg_alloc_fail_at(0, false);
        cr_expect(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY,
                  "allocation %ld: %d, %s", number, (int)status, jit_gemm_last_error());
        /* An error whose record lacks memory is another one. */
        cr_expect_neq(outcome, JIT_GEMM_REPLAY_COMPILES);
    }

    cr_expect_gt(count, 20);
    api_fixture_close(&bench.fixture);
}
