/* SPDX-License-Identifier: MIT */
/*
 * Kernels that split K, executed on the emulator through the public API: the bits of their
 * sums, and what a launch leaves behind in its workspace.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/convert.h"
#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"

enum {
    M = 200,
    N = 136,
    K = 520, /* nine blocks of 64 */
    BLOCK = 64,
    GUARD = 256,
    GUARD_BYTE = 0xA5,
    LOCK_BYTES = 8 * 4096
};

struct fixture {
    jit_gemm_context *context;
    uint64_t a, b, d; /* bf16, bf16, f32; packed, K-major */
};

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

/* `whole`: small integers, of which every sum is exact. */
static uint64_t make_inputs(jit_gemm_context *context, size_t count, unsigned seed,
                            int whole)
{
    uint16_t *elements = malloc(count * sizeof(*elements));
    cr_assert_not_null(elements);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float value = whole ? (float)((int)(seed >> 24) % 5 - 2)
                                  : (float)(int)(seed >> 8) / 16777216.0F - 0.5F;
        elements[i] = jit_gemm_bf16_from_float(value);
    }
    uint64_t address = 0;
    check(jit_gemm_device_alloc(context, count * sizeof(*elements), &address));
    check(jit_gemm_device_upload(context, address, elements, count * sizeof(*elements)));
    free(elements);
    return address;
}

static void open_fixture(struct fixture *fixture, const char *arch, const char *settings,
                         int whole)
{
    setenv("JIT_GEMM_EMULATOR", settings, 1);
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache = 1};
    check(jit_gemm_context_create(&options, &fixture->context));
    fixture->a = make_inputs(fixture->context, (size_t)M * K, 1, whole);
    fixture->b = make_inputs(fixture->context, (size_t)N * K, 2, whole);
    check(jit_gemm_device_alloc(fixture->context, (size_t)M * N * sizeof(float),
                                &fixture->d));
}

static void close_fixture(struct fixture *fixture)
{
    check(jit_gemm_device_free(fixture->context, fixture->a));
    check(jit_gemm_device_free(fixture->context, fixture->b));
    check(jit_gemm_device_free(fixture->context, fixture->d));
    jit_gemm_context_destroy(&fixture->context);
}

static jit_gemm *create(const struct fixture *fixture, const char *text)
{
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    check(jit_gemm_problem_parse(text, &problem));
    const jit_gemm_status status = jit_gemm_create(fixture->context, &problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    check(status);
    return gemm;
}

/* Memory between two guards. */
struct workspace {
    uint64_t base, address;
    size_t bytes;
};

static struct workspace make_workspace(const struct fixture *fixture, size_t bytes)
{
    struct workspace workspace = {.bytes = bytes};
    jit_gemm_context *context = fixture->context;
    check(jit_gemm_device_alloc(context, bytes + 2 * (size_t)GUARD, &workspace.base));
    workspace.address = workspace.base + GUARD;
    check(jit_gemm_device_fill(context, workspace.base, GUARD_BYTE,
                               bytes + 2 * (size_t)GUARD));
    check(jit_gemm_device_fill(context, workspace.address, 0, bytes));
    return workspace;
}

static void expect_bytes(const struct fixture *fixture, uint64_t address, size_t count,
                         unsigned char value, const char *what)
{
    unsigned char *bytes = malloc(count);
    cr_assert_not_null(bytes);
    check(jit_gemm_device_download(fixture->context, bytes, address, count));
    size_t same = 0;
    while (same < count && bytes[same] == value) {
        same++;
    }
    cr_expect_eq(same, count, "%s: byte %zu is %02x", what, same, bytes[same % count]);
    free(bytes);
}

static void expect_kept(const struct fixture *fixture, const struct workspace *workspace)
{
    expect_bytes(fixture, workspace->base, GUARD, GUARD_BYTE, "before the workspace");
    expect_bytes(fixture, workspace->address + workspace->bytes, GUARD, GUARD_BYTE,
                 "behind the workspace");
    expect_bytes(fixture, workspace->address, LOCK_BYTES, 0, "locks");
}

/* D of a launch over K from block `first` on, as floats that the caller frees. */
static float *run(const struct fixture *fixture, const jit_gemm *gemm, int64_t first,
                  int64_t k, uint64_t workspace)
{
    jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = fixture->a + (uint64_t)first * BLOCK * 2, .ld = K},
        .b = {.pointer = fixture->b + (uint64_t)first * BLOCK * 2, .ld = K},
        .d = {.pointer = fixture->d},
        .k = k,
        .workspace = workspace};
    const size_t bytes = (size_t)M * N * sizeof(float);
    check(jit_gemm_device_fill(fixture->context, fixture->d, 0xFF, bytes));
    check(jit_gemm_run(gemm, &args, NULL));
    check(jit_gemm_device_synchronize(fixture->context));
    float *values = malloc(bytes);
    cr_assert_not_null(values);
    check(jit_gemm_device_download(fixture->context, values, fixture->d, bytes));
    return values;
}

static size_t workspace_bytes(const jit_gemm *gemm)
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    check(jit_gemm_get_info(gemm, &info));
    return (size_t)info.workspace_bytes;
}

static size_t first_difference(const float *x, const float *y)
{
    size_t i = 0;
    while (i < (size_t)M * N && memcmp(&x[i], &y[i], sizeof(x[i])) == 0) {
        i++;
    }
    return i;
}

/* The parts begin at block part * 9 / parts. */
Test(split_k, serial_order_gives_the_sum_of_the_parts_in_the_order_of_k)
{
    static const struct {
        const char *arch, *settings, *problem;
        int parts;
    } rows[] = {
        {"sm_90a", "numbers=exact,async=latest,sms=4",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=2", 2},
        {"sm_90a", "numbers=exact,async=random,seed=6,sms=8,resident=1",
         "200x136x520 bf16 d=f32 config=tile=128x128 cluster=2x1 split_k=4", 4},
        {"sm_100a", "numbers=exact,async=latest,sms=4",
         "200x136x520 bf16 d=f32 config=mma=128x64 cluster=1x1 split_k=2", 2},
        {"sm_100a", "numbers=exact,async=random,seed=3,sms=8,schedule=starve",
         "200x136x520 bf16 d=f32 config=mma=256x128 cluster=2x1 split_k=3", 3},
        {"sm_100a", "numbers=exact,async=reorder,seed=4,sms=8,resident=1",
         "200x136x520 bf16 d=f32 config=mma=256x256 cluster=4x1 split_k=4", 4},
        {"sm_100a", "numbers=exact,async=random,seed=5,sms=4,schedule=random",
         "200x136x520 bf16 d=f32 config=mma=128x128 cluster=2x2 split_k=9", 9},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct fixture fixture;
        open_fixture(&fixture, rows[row].arch, rows[row].settings, 0);
        jit_gemm *split = create(&fixture, rows[row].problem);
        jit_gemm *part =
            create(&fixture, "200x136x520 bf16 d=f32 dynamic=k config=split_k=1");
        jit_gemm *whole = create(&fixture, "200x136x520 bf16 d=f32 config=split_k=1");
        const struct workspace workspace = make_workspace(&fixture, workspace_bytes(split));

        float *got = run(&fixture, split, 0, 0, workspace.address);
        float *unsplit = run(&fixture, whole, 0, 0, 0);
        float *sum = NULL;
        for (int i = 0; i < rows[row].parts; i++) {
            const int64_t first = i * 9 / rows[row].parts;
            const int64_t end = (i + 1) * 9 / rows[row].parts * BLOCK;
            float *values = run(&fixture, part, first, (end < K ? end : K) - first * BLOCK,
                                workspace.address);
            for (size_t j = 0; sum != NULL && j < (size_t)M * N; j++) {
                values[j] = sum[j] + values[j];
            }
            free(sum);
            sum = values;
        }

        cr_expect_eq(first_difference(got, sum), (size_t)M * N, "%s: element %zu",
                     rows[row].problem, first_difference(got, sum));
        cr_expect_neq(first_difference(got, unsplit), (size_t)M * N,
                      "the test could not tell a split kernel from another");
        expect_kept(&fixture, &workspace);
        free(got);
        free(unsplit);
        free(sum);
        check(jit_gemm_device_free(fixture.context, workspace.base));
        jit_gemm_destroy(&split);
        jit_gemm_destroy(&part);
        jit_gemm_destroy(&whole);
        close_fixture(&fixture);
    }
}

/* Which the test above compares with the sums of single parts. */
Test(split_k, cluster_gives_the_bits_of_serial_order_without_a_workspace)
{
    static const struct {
        const char *settings, *serial, *cluster;
    } rows[] = {
        {"numbers=exact,async=latest,sms=8",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=2",
         "200x136x520 bf16 d=f32 config=tile=64x128 split_k=2 split_order=cluster"},
        {"numbers=exact,async=random,seed=6,sms=8,schedule=starve",
         "200x136x520 bf16 d=f32 config=tile=128x128 cluster=1x1 split_k=8",
         "200x136x520 bf16 d=f32 config=tile=128x128 split_k=8 split_order=cluster"},
        {"numbers=exact,async=reorder,seed=7,sms=8,schedule=random",
         "200x136x520 bf16 d=f32 config=tile=64x256 cluster=1x1 split_k=5",
         "200x136x520 bf16 d=f32 config=tile=64x256 split_k=5 split_order=cluster"},
        {"numbers=exact,async=random,seed=8,sms=16",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=2x1 split_k=4",
         "200x136x520 bf16 d=f32 config=tile=64x128 cluster=2x1 split_k=4 "
         "split_order=cluster"},
        {"numbers=exact,async=reorder,seed=9,sms=8,schedule=starve",
         "200x136x520 bf16 d=f32 config=tile=128x192 cluster=1x2 split_k=3",
         "200x136x520 bf16 d=f32 config=tile=128x192 cluster=1x2 split_k=3 "
         "split_order=cluster"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct fixture fixture;
        open_fixture(&fixture, "sm_90a", rows[row].settings, 0);
        jit_gemm *serial = create(&fixture, rows[row].serial);
        jit_gemm *cluster = create(&fixture, rows[row].cluster);
        jit_gemm *whole = create(&fixture, "200x136x520 bf16 d=f32 config=split_k=1");
        const struct workspace workspace =
            make_workspace(&fixture, workspace_bytes(serial));

        float *expected = run(&fixture, serial, 0, 0, workspace.address);
        float *got = run(&fixture, cluster, 0, 0, 0);
        float *unsplit = run(&fixture, whole, 0, 0, 0);

        cr_expect_eq(workspace_bytes(cluster), 0);
        cr_expect_eq(first_difference(got, expected), (size_t)M * N, "%s: element %zu",
                     rows[row].cluster, first_difference(got, expected));
        cr_expect_neq(first_difference(got, unsplit), (size_t)M * N,
                      "the test could not tell a split kernel from another");
        free(expected);
        free(got);
        free(unsplit);
        check(jit_gemm_device_free(fixture.context, workspace.base));
        jit_gemm_destroy(&serial);
        jit_gemm_destroy(&cluster);
        jit_gemm_destroy(&whole);
        close_fixture(&fixture);
    }
}

enum { KERNELS = 3, ROUNDS = 3 };

/* The kernels of one chip take turns. */
static void share_workspace(const char *arch, const char *const problems[KERNELS])
{
    struct fixture fixture;
    open_fixture(&fixture, arch, "async=random,seed=9,sms=8", 1);
    jit_gemm *gemms[KERNELS];
    size_t most = 0;
    for (int i = 0; i < KERNELS; i++) {
        gemms[i] = create(&fixture, problems[i]);
        most = workspace_bytes(gemms[i]) > most ? workspace_bytes(gemms[i]) : most;
    }
    jit_gemm *whole = create(&fixture, "200x136x520 bf16 d=f32 config=split_k=1");
    const struct workspace workspace = make_workspace(&fixture, most);
    float *expected = run(&fixture, whole, 0, 0, 0);

    for (int i = 0; i < ROUNDS * KERNELS; i++) {
        float *got = run(&fixture, gemms[i % KERNELS], 0, 0, workspace.address);
        cr_expect_eq(first_difference(got, expected), (size_t)M * N,
                     "launch %d: element %zu", i, first_difference(got, expected));
        expect_kept(&fixture, &workspace);
        free(got);
    }

    free(expected);
    check(jit_gemm_device_free(fixture.context, workspace.base));
    for (int i = 0; i < KERNELS; i++) {
        jit_gemm_destroy(&gemms[i]);
    }
    jit_gemm_destroy(&whole);
    close_fixture(&fixture);
}

Test(split_k, one_workspace_serves_the_launches_of_all_kernels_one_after_the_other)
{
    static const char *const blackwell[KERNELS] = {
        "200x136x520 bf16 d=f32 config=mma=256x256 cluster=2x1 split_k=2",
        "200x136x520 bf16 d=f32 config=mma=128x64 cluster=1x1 split_k=3",
        ("200x136x520 bf16 d=f32 "
         "config=mma=128x64 cluster=4x2 split_k=4 split_order=arrival"),
    };
    static const char *const hopper[KERNELS] = {
        "200x136x520 bf16 d=f32 config=tile=128x256 cluster=2x1 split_k=2",
        "200x136x520 bf16 d=f32 config=tile=64x128 cluster=1x1 split_k=3",
        ("200x136x520 bf16 d=f32 "
         "config=tile=64x128 cluster=1x2 split_k=5 split_order=arrival"),
    };

    share_workspace("sm_100a", blackwell);
    share_workspace("sm_90a", hopper);
}

Test(split_k, larger_launch_than_planned_needs_a_larger_workspace_and_says_so)
{
    struct fixture fixture;
    open_fixture(&fixture, "sm_100a", "async=latest,sms=4", 1);
    jit_gemm *small = create(&fixture, "m=128 n=136 k=520 a=bf16 d=f32 dynamic=m "
                                       "config=mma=128x64 cluster=1x1 split_k=2");
    jit_gemm *whole = create(&fixture, "200x136x520 bf16 d=f32 config=split_k=1");
    const size_t needed = LOCK_BYTES + (size_t)2 * 3 * 128 * 64 * sizeof(float);
    const struct workspace workspace = make_workspace(&fixture, needed);
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = fixture.a},
                          .b = {.pointer = fixture.b},
                          .d = {.pointer = fixture.d},
                          .m = M,
                          .workspace = workspace.address};
    float *expected = run(&fixture, whole, 0, 0, 0);
    const size_t bytes = (size_t)M * N * sizeof(float);
    float *got = malloc(bytes);
    cr_assert_not_null(got);

    cr_expect_eq(jit_gemm_run(small, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "args.workspace_bytes"));
    args.workspace_bytes = needed;
    check(jit_gemm_device_fill(fixture.context, fixture.d, 0xFF, bytes));
    check(jit_gemm_run(small, &args, NULL));
    check(jit_gemm_device_synchronize(fixture.context));
    check(jit_gemm_device_download(fixture.context, got, fixture.d, bytes));

    cr_expect_eq(first_difference(got, expected), (size_t)M * N);
    expect_kept(&fixture, &workspace);
    free(got);
    free(expected);
    check(jit_gemm_device_free(fixture.context, workspace.base));
    jit_gemm_destroy(&small);
    jit_gemm_destroy(&whole);
    close_fixture(&fixture);
}
