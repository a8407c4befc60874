/* SPDX-License-Identifier: MIT */
/* What a load and a launch leave that the driver refuses, and how it replays. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capsule_bench.h"
#include "jit_gemm/scales.h"

#define PROBLEM "512x512x512 bf16"

static const char snippet[] = "d = acc * 3.0f;";

static void refuse(struct fake_driver *fake, const char *function, CUresult result)
{
    fake->failing_function = function;
    fake->failing_result = result;
    fake->failing_times = 0;
}

static void take(struct fake_driver *fake)
{
    fake->failing_function = NULL;
}

/* A capsule of a kernel that the driver does not load. */
static void leave_load(struct capsule_bench *bench, char *ret_capsule, size_t size)
{
    capsule_set_up(bench);
    refuse(bench->fixture.fake, "cuLibraryLoadData", CUDA_ERROR_INVALID_IMAGE);
    cr_assert_eq(capsule_create(bench->fixture.context, "scaled", snippet,
                                "/srv/jane doe/secret/my_epilogue.cu", PROBLEM),
                 JIT_GEMM_ERR_LOAD);
    cr_assert_eq(capsule_list(bench->capsules, ret_capsule, size), 1);
}

Test(capsule_launch, failing_load_leaves_all_that_a_replay_needs)
{
    struct capsule_bench bench;
    char capsule[256] = "";

    leave_load(&bench, capsule, sizeof(capsule));

    cr_expect(api_error_has("cuLibraryLoadData"));
    capsule_expect(capsule, "capsule.txt", "\nstatus LOAD\n");
    capsule_expect(capsule, "capsule.txt", "\ncompiler dummy 1\n");
    capsule_expect(capsule, "capsule.txt", "\ndriver CUDA ");
    capsule_expect(capsule, "error.txt", "cuLibraryLoadData");
    capsule_expect(capsule, "unit.cu", snippet);
    capsule_expect(capsule, "problem.manifest", "epilogue scaled\n");
    cr_expect_not_null(strstr(bench.fixture.log, "jit-gemm replay "));
    for (int i = 0; i < CAPSULE_NAME_COUNT; i++) {
        struct jg_str text = capsule_read_file(capsule, capsule_names[i]);
        cr_expect_null(strstr(jg_str_text(&text), "jane"), "%s", capsule_names[i]);
        cr_expect_null(strstr(jg_str_text(&text), "my_epilogue"), "%s", capsule_names[i]);
        jg_str_free(&text);
    }
    api_fixture_close(&bench.fixture);
}

Test(capsule_launch, load_replays_to_the_same_error_another_and_none)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    char report[4096];
    int outcome = -1;
    leave_load(&bench, capsule, sizeof(capsule));
    struct fake_driver *fake = bench.fixture.fake;

    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, report, sizeof(report)),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR, "%s", report);
    refuse(fake, "cuLibraryLoadData", CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, report, sizeof(report)),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_OTHER_ERROR, "%s", report);
    take(fake);
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, report, sizeof(report)),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_LOADS, "%s", report);
    cr_expect_eq(strncmp(report, "replay: loads here; same library, ", 34), 0, "%s",
                 report);

    cr_expect_eq(atomic_load(&fake->loads), atomic_load(&fake->unloads));
    api_fixture_close(&bench.fixture);
}

Test(capsule_launch, load_is_only_compiled_where_its_kernel_is_another)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome = -1;
    leave_load(&bench, capsule, sizeof(capsule));
    capsule_edit(capsule, "unit.cu", "d = acc * 3.0f;", "d = acc * 4.0f;");

    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());

    cr_expect_eq(outcome, JIT_GEMM_REPLAY_COMPILES);
    api_fixture_close(&bench.fixture);
}

Test(capsule_launch, load_that_is_tried_otherwise_leaves_none)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);
    bench.fixture.fake->most_cluster_ctas = 1;

    cr_assert_eq(capsule_create(bench.fixture.context, "scaled", snippet, NULL,
                                "4096x4096x4096 bf16"),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());

    cr_expect_eq(access(bench.capsules, F_OK), -1, "a smaller cluster was loaded");
    api_fixture_close(&bench.fixture);
}

Test(capsule_launch, conversion_of_scales_that_does_not_load_has_one)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome = -1;
    capsule_set_up(&bench);
    const jit_gemm_scale scale = {
        .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 32};
    jit_gemm_packer *packer = NULL;
    refuse(bench.fixture.fake, "cuLibraryLoadData", CUDA_ERROR_INVALID_IMAGE);

    cr_assert_eq(jit_gemm_packer_create(bench.fixture.context, &scale,
                                        JIT_GEMM_SCALE_LAYOUT_128X4, &packer),
                 JIT_GEMM_ERR_LOAD, "%s", jit_gemm_last_error());

    cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
    capsule_expect(capsule, "problem.manifest", "pack bytes=1 ");
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_COMPILES);
    api_fixture_close(&bench.fixture);
}

static const jit_gemm_args args = {.struct_size = sizeof(args),
                                   .a = {.pointer = 0x10000},
                                   .b = {.pointer = 0x20080, .ld = 520},
                                   .d = {.pointer = 0x30000}};

static jit_gemm *create(struct capsule_bench *bench)
{
    const jit_gemm_problem problem = api_problem(PROBLEM);
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(bench->fixture.context, &problem, &gemm), JIT_GEMM_OK,
                 "%s", jit_gemm_last_error());
    return gemm;
}

Test(capsule_launch, failing_launch_leaves_one_with_what_it_was_given)
{
    struct capsule_bench bench;
    char capsule[256] = "";
    int outcome = -1;
    capsule_set_up(&bench);
    jit_gemm *gemm = create(&bench);
    refuse(bench.fixture.fake, "cuLaunchKernelEx", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);

    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_LAUNCH);

    cr_expect(api_error_has("_plain: "));
    cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
    jit_gemm_diagnostics *diagnostics = NULL;
    cr_assert_eq(jit_gemm_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    jit_gemm_diagnostic note = {.struct_size = sizeof(note)};
    cr_assert_eq(jit_gemm_diagnostics_get(diagnostics, 1, &note), JIT_GEMM_OK);
    cr_expect_eq(note.severity, JIT_GEMM_SEVERITY_WARNING);
    cr_expect_not_null(strstr(note.text, capsule), "%s", note.text);
    jit_gemm_diagnostics_destroy(&diagnostics);
    capsule_expect(capsule, "capsule.txt", "\nstatus LAUNCH\n");
    capsule_expect(capsule, "launch.txt",
                   "b address=aligned:128 ld=520 batch_stride=0 value=0x00000000\n");
    capsule_expect(capsule, "launch.txt", "a address=aligned:4096 ld=0 ");
    capsule_expect(capsule, "launch.txt", "c address=none ");
    capsule_expect(capsule, "launch.txt", "alpha value=none\n");
    struct jg_str text = capsule_read_file(capsule, "launch.txt");
    cr_expect_null(strstr(jg_str_text(&text), "20080"), "an address");
    jg_str_free(&text);
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_SAME_ERROR);
    refuse(bench.fixture.fake, "cuLaunchKernelEx", CUDA_ERROR_LAUNCH_TIMEOUT);
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_OTHER_ERROR);
    take(bench.fixture.fake);
    cr_assert_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(outcome, JIT_GEMM_REPLAY_RUNS);
    cr_expect_eq(atomic_load(&bench.fixture.fake->allocations), 0);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&bench.fixture);
}

Test(capsule_launch, hostile_launch_is_refused_and_nothing_launched)
{
    static const struct {
        const char *from, *to, *words;
        jit_gemm_status status;
    } rows[] = {
        {"sizes m=0", "sizes m=1", "args.m", JIT_GEMM_ERR_ARGUMENT},
        {"sizes m=0", "sizes m=x", "line 1 ", JIT_GEMM_ERR_ARGUMENT},
        {"ld=520", "ld=-5", "args.b.ld", JIT_GEMM_ERR_ARGUMENT},
        {"ld=520", "ld=9223372036854775808", "line 3 ", JIT_GEMM_ERR_ARGUMENT},
        {"ld=520", "ld=536870912", "and Fake GPU 0 has", JIT_GEMM_ERR_DEVICE},
        {"ld=520", "ld=9223372036854775800", "args.b.ld", JIT_GEMM_ERR_UNSUPPORTED},
        {"b address=aligned:128", "b address=aligned:127", "line 3 ",
         JIT_GEMM_ERR_ARGUMENT},
        {"b address=aligned:128", "b address=aligned:8192", "line 3 ",
         JIT_GEMM_ERR_ARGUMENT},
        {"b address=aligned:128", "b address=aligned:0", "line 3 ", JIT_GEMM_ERR_ARGUMENT},
        {"b address=aligned:128", "b address=aligned:8", "misaligned",
         JIT_GEMM_ERR_UNSUPPORTED},
        {"b address=aligned:128", "b address=none", "is NULL", JIT_GEMM_ERR_ARGUMENT},
        {"b address=aligned:128", "b address=131072", "line 3 ", JIT_GEMM_ERR_ARGUMENT},
        {"alpha value=none", "alpha value=0x3f8", "line 11 ", JIT_GEMM_ERR_ARGUMENT},
        {"alpha value=none", "alpha value=1", "line 11 ", JIT_GEMM_ERR_ARGUMENT},
        {"alpha value=none",
         "operand address=none ld=0 batch_stride=0 value=0x00000000\nalpha value=none",
         "args.operand_count", JIT_GEMM_ERR_ARGUMENT},
        {"beta value=none", "beta value=0x40000000", "args.beta", JIT_GEMM_ERR_ARGUMENT},
        {"workspace address=none bytes=0", "workspace address=none bytes=-1", "line 13 ",
         JIT_GEMM_ERR_ARGUMENT},
        {"group_sizes address=none", "group_sizes address=aligned:4", "args.group_sizes",
         JIT_GEMM_ERR_ARGUMENT},
        {"a_lds address=none", "a_lds address=aligned:8", "args.a_lds",
         JIT_GEMM_ERR_ARGUMENT},
        {"group_ks address=none", "group_ks address=aligned:4", "args.group_ks",
         JIT_GEMM_ERR_ARGUMENT},
        {"rows a=0 d=0\n", "rows a=0 d=0\n\n", "line 22 ", JIT_GEMM_ERR_ARGUMENT},
        {"host_group_sizes none", "host_group_sizes 5 x", "line 22 ",
         JIT_GEMM_ERR_ARGUMENT},
        {"host_group_sizes none", "host_group_sizes 5", "args.host_group_sizes",
         JIT_GEMM_ERR_ARGUMENT},
        {"rows a=0 d=0\n", "rows a=0 d=0 e=0\n", "line 21 ", JIT_GEMM_ERR_ARGUMENT},
        {"rows a=0 d=0\n", "", "line 21 ", JIT_GEMM_ERR_ARGUMENT},
    };
    struct capsule_bench bench;
    char capsule[256] = "";
    capsule_set_up(&bench);
    jit_gemm *gemm = create(&bench);
    refuse(bench.fixture.fake, "cuLaunchKernelEx", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_LAUNCH);
    take(bench.fixture.fake);
    cr_assert_eq(capsule_list(bench.capsules, capsule, sizeof(capsule)), 1);
    const struct jg_str whole = capsule_read_file(capsule, "launch.txt");
    const struct jg_str record = capsule_read_file(capsule, "capsule.txt");
    const long launches = atomic_load(&bench.fixture.fake->launches);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int outcome = -1;
        char from[64], to[64];
        capsule_edit(capsule, "launch.txt", rows[i].from, rows[i].to);
        snprintf(from, sizeof(from), "launch.txt %zu\n", whole.size);
        snprintf(to, sizeof(to), "launch.txt %zu\n",
                 whole.size + strlen(rows[i].to) - strlen(rows[i].from));
        capsule_edit(capsule, "capsule.txt", from, to);

        cr_expect_eq(capsule_replay(&bench, capsule, &outcome, NULL, 0), rows[i].status,
                     "%s: %s", rows[i].to, jit_gemm_last_error());
        cr_expect(api_error_has(rows[i].words), "%s: %s", rows[i].to,
                  jit_gemm_last_error());

        capsule_write_file(capsule, "launch.txt", whole.data, whole.size);
        capsule_write_file(capsule, "capsule.txt", record.data, record.size);
    }
    cr_expect_eq(atomic_load(&bench.fixture.fake->launches), launches);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&bench.fixture);
}

Test(capsule_launch, launch_leaves_one_when_its_context_is_gone)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);
    jit_gemm *gemm = create(&bench);
    refuse(bench.fixture.fake, "cuLaunchKernelEx", CUDA_ERROR_LAUNCH_FAILED);
    jit_gemm_context_destroy(&bench.fixture.context);

    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_LAUNCH);
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_LAUNCH);

    cr_expect_eq(capsule_list(bench.capsules, NULL, 0), 1);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&bench.fixture);
}

Test(capsule_launch, wrong_arguments_leave_none_and_a_good_run_allocates_nothing)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);
    jit_gemm *gemm = create(&bench);
    jit_gemm_args wrong = args;
    wrong.b.ld = 1;
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK);
    const long before = jg_alloc_count();

    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK);

    cr_expect_eq(jg_alloc_count(), before);
    cr_expect_eq(jit_gemm_run(gemm, &wrong, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(access(bench.capsules, F_OK), -1);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&bench.fixture);
}

Test(capsule_launch, create_stands_every_failing_allocation)
{
    struct capsule_bench bench;
    capsule_set_up(&bench);
    const jit_gemm_problem problem = api_problem(PROBLEM);
    jit_gemm *gemm = NULL;
    jit_gemm_status status = JIT_GEMM_ERR_NO_MEMORY;
    jit_gemm_destroy(&(jit_gemm *){create(&bench)}); /* it is in the cache now */
    long number = 1;

    for (; number < 5000; number++) {
        const long before = jg_alloc_count();
        jg_alloc_fail_at(number, false);
        status = jit_gemm_create(bench.fixture.context, &problem, &gemm);
        jg_alloc_fail_at(0, false);
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY, "%ld: %s",
                  number, jit_gemm_last_error());
        const bool is_past = jg_alloc_count() - before < number;
        jit_gemm_destroy(&gemm);
        if (is_past) {
            break;
        }
    }

    cr_expect_eq(status, JIT_GEMM_OK);
    cr_expect_gt(number, 10);
    cr_expect_not_null(strstr(bench.fixture.log, "will leave no capsule"));
    api_fixture_close(&bench.fixture);
}
