/* SPDX-License-Identifier: MIT */
/* What happens while a stream is captured into a graph: every call that reaches the driver
 * is counted. */
#include <criterion/criterion.h>
#include <string.h>

#include "api_fixture.h"
#include "base/alloc.h"
#include "jit_gemm/family.h"

enum { ADDRESS = 0x100000 };

static jit_gemm_args make_args(const jit_gemm_info *info, uint64_t offset)
{
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = ADDRESS + offset},
                                .b = {.pointer = 2 * ADDRESS + offset},
                                .d = {.pointer = 3 * ADDRESS},
                                .workspace = info->workspace_bytes > 0 ? 4 * ADDRESS : 0};
    return args;
}

/* Counts since a moment. A tensor map is made on the host, by a function of the driver that
 * no stream sees. */
struct counts {
    long calls, launches, encodes, allocations;
};

static struct counts count(const struct fake_driver *fake)
{
    return (struct counts){atomic_load(&fake->calls), atomic_load(&fake->launches),
                           atomic_load(&fake->encodes), jg_alloc_count()};
}

static const struct {
    const char *text;
    uint64_t offset; /* bytes that A and B are off */
    int64_t m;       /* of a dynamic M */
    long launches;
} rows[] = {
    {"1024x1024x512 bf16", 0, 0, 1},
    {"1024x1024x512 bf16 batch=3", 0, 0, 1},
    {"m=1024 n=1024 k=512 bf16 dynamic=m", 0, 777, 1},
    {"512x512x4096 bf16 workspace=64m config=split_k=4", 0, 0, 1},
    {"512x512x512 bf16 input_align=2 output_align=2 workspace=64m config=repack=ab", 2, 0,
     2},
    {"256x256x256 bf16 config=kernel=reference", 0, 0, 1},
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

Test(capture, run_is_its_launches_and_nothing_else)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    for (int i = 0; i < ROW_COUNT; i++) {
        const jit_gemm_problem problem = api_problem(rows[i].text);
        jit_gemm *gemm = NULL;
        jit_gemm_info info = {.struct_size = sizeof(info)};
        fixture.fake->capture = CU_STREAM_CAPTURE_STATUS_NONE;
        cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK,
                     "%s: %s", rows[i].text, jit_gemm_last_error());
        cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);
        jit_gemm_args args = make_args(&info, rows[i].offset);
        args.m = rows[i].m;
        fixture.fake->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;

        for (int run = 0; run < 3; run++) { /* the first one with what is new to it */
            const struct counts before = count(fixture.fake);
            cr_assert_eq(jit_gemm_run(gemm, &args, (void *)0x5000), JIT_GEMM_OK, "%s: %s",
                         rows[i].text, jit_gemm_last_error());
            const struct counts after = count(fixture.fake);

            const long launches = after.launches - before.launches;
            const long encodes = after.encodes - before.encodes;
            cr_expect_eq(launches, rows[i].launches, "%s", rows[i].text);
            cr_expect_eq(launches, (long)info.launches, "%s", rows[i].text);
            cr_expect_eq(after.calls - before.calls, launches + encodes, "%s, run %d: %ld",
                         rows[i].text, run, after.calls - before.calls);
            cr_expect(run == 0 || encodes == 0, "%s", rows[i].text);
            cr_expect_eq(after.allocations, before.allocations, "%s", rows[i].text);
        }
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

Test(capture, family_runs_as_one_kernel_does)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("n=512 k=512 a=bf16 dynamic=m");
    const jit_gemm_info nothing = {.struct_size = sizeof(nothing)};
    jit_gemm_range range;
    jit_gemm_family *family = NULL;
    cr_assert_eq(jit_gemm_range_parse("m=1..4096 loss=0%", &range), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_family_create(fixture.context, &problem, &range, &family),
                 JIT_GEMM_OK);
    jit_gemm_args args = make_args(&nothing, 0);
    fixture.fake->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;

    for (int64_t m = 1; m <= 4096; m += 273) {
        args.m = m;
        const struct counts before = count(fixture.fake);
        cr_assert_eq(jit_gemm_family_run(family, &args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        const struct counts after = count(fixture.fake);

        cr_expect_eq(after.launches - before.launches, 1);
        cr_expect_eq(after.calls - before.calls, 1 + after.encodes - before.encodes);
        cr_expect_eq(after.allocations, before.allocations);
    }
    jit_gemm_family_destroy(&family);
    api_fixture_close(&fixture);
}

Test(capture, what_would_load_is_refused_before_it_compiles_and_what_is_loaded_is_not)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem loaded = api_problem("512x512x512 bf16");
    const jit_gemm_problem fresh = api_problem("1024x512x512 bf16");
    jit_gemm *gemm = NULL;
    jit_gemm *again = NULL;
    jit_gemm *none = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &loaded, &gemm), JIT_GEMM_OK);
    const int compiles = jg_compiler_dummy_calls(fixture.compiler);
    const long loads = atomic_load(&fixture.fake->loads);
    fixture.fake->capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;

    cr_expect_eq(jit_gemm_create(fixture.context, &fresh, &none), JIT_GEMM_ERR_CAPTURE);
    cr_expect(api_error_has("create the kernel before the capture begins"));
    cr_expect_eq(jit_gemm_create(fixture.context, &loaded, &again), JIT_GEMM_OK);

    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), compiles);
    cr_expect_eq(atomic_load(&fixture.fake->loads), loads);
    jit_gemm_destroy(&again);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}
