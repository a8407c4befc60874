/* SPDX-License-Identifier: MIT */
/*
 * Operands that reduce, executed on the emulator through the public API. The inputs are
 * small integers, so that every sum is exact and the host's loops say all bits.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/emulator.h"
#include "jit_gemm/convert.h"
#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"
#include "strides.h"

enum { COUNTER_BYTES = 8 * 4096, GUARD = 256, GUARD_BYTE = 0xA5, OPERANDS = 6 };

struct sizes {
    int64_t m, n, k, batch;
};

struct fixture {
    jit_gemm_context *context;
    struct sizes sizes;
    float *a, *b;           /* on the host: K-major, packed */
    uint64_t a_at, b_at, d; /* bf16, bf16, f32 */
};

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    cr_assert_not_null(memory);
    return memory;
}

/* `is_whole`: integers of -2 to 2. */
static float *make_input(jit_gemm_context *context, size_t count, unsigned seed,
                         bool is_whole, uint64_t *ret_address)
{
    float *values = allocate(count * sizeof(*values));
    uint16_t *elements = allocate(count * sizeof(*elements));
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float value = is_whole ? (float)((int)(seed >> 24) % 5 - 2)
                                     : (float)(int)(seed >> 8) / 16777216.0F - 0.5F;
        elements[i] = jit_gemm_bf16_from_float(value);
        values[i] = jit_gemm_bf16_to_float(elements[i]);
    }
    check(jit_gemm_device_alloc(context, count * sizeof(*elements), ret_address));
    check(
        jit_gemm_device_upload(context, *ret_address, elements, count * sizeof(*elements)));
    free(elements);
    return values;
}

static void open_fixture(struct fixture *fixture, const char *arch, const char *settings,
                         struct sizes sizes, bool is_whole)
{
    setenv("JIT_GEMM_EMULATOR", "sms=8", 1); /* read once */
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache = 1};
    check(jit_gemm_context_create(&options, &fixture->context));
    cr_assert_eq(emuConfigure(settings), CUDA_SUCCESS, "%s", emuLastError());
    fixture->sizes = sizes;
    fixture->a = make_input(fixture->context, (size_t)(sizes.batch * sizes.m * sizes.k), 1,
                            is_whole, &fixture->a_at);
    fixture->b = make_input(fixture->context, (size_t)(sizes.batch * sizes.n * sizes.k), 2,
                            is_whole, &fixture->b_at);
    check(jit_gemm_device_alloc(fixture->context,
                                (size_t)(sizes.batch * sizes.m * sizes.n) * sizeof(float),
                                &fixture->d));
}

static void close_fixture(struct fixture *fixture)
{
    free(fixture->a);
    free(fixture->b);
    check(jit_gemm_device_free(fixture->context, fixture->a_at));
    check(jit_gemm_device_free(fixture->context, fixture->b_at));
    check(jit_gemm_device_free(fixture->context, fixture->d));
    jit_gemm_context_destroy(&fixture->context);
}

/* Each kind, and each role of it twice. */
static const jit_gemm_operand operands[OPERANDS] = {
    {"row_sum", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM,
     0},
    {"col_sum", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM, 0},
    {"all_max", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MAX, 0},
    {"row_max", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MAX,
     0},
    {"col_min", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MIN, 0},
    {"all_sum", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM, 0},
};
static const char snippet[] = "d = acc; row_sum = acc; col_sum = acc + 1.0f;\n"
                              "all_max = abs(acc); row_max = acc; col_min = acc;\n"
                              "if (acc > 0.0f) all_sum = 1.0f;";

static double contribution(int operand, double acc)
{
    switch (operand) {
    case 1:
        return acc + 1;
    case 2:
        return fabs(acc);
    case 5:
        return acc > 0 ? 1 : 0;
    default:
        return acc;
    }
}

static int64_t count_of(const struct sizes *sizes, int operand)
{
    return operands[operand].kind == JIT_GEMM_OPERAND_SCALAR       ? 1
           : operands[operand].kind == JIT_GEMM_OPERAND_ROW_VECTOR ? sizes->n
                                                                   : sizes->m;
}

/* The expected results of all operands, one behind the other, batches inside. */
static void expect_results(const struct fixture *fixture, float *results[OPERANDS])
{
    const struct sizes *s = &fixture->sizes;
    for (int i = 0; i < OPERANDS; i++) {
        const int64_t count = s->batch * count_of(s, i);
        results[i] = allocate((size_t)count * sizeof(float));
        for (int64_t j = 0; operands[i].role != JIT_GEMM_OPERAND_SUM && j < count; j++) {
            results[i][j] = operands[i].role == JIT_GEMM_OPERAND_MAX ? -INFINITY : INFINITY;
        }
    }
    for (int64_t at = 0; at < s->batch * s->m * s->n; at++) {
        const int64_t batch = at / (s->m * s->n);
        const int64_t row = at / s->n % s->m, column = at % s->n;
        double acc = 0;
        for (int64_t k = 0; k < s->k; k++) {
            acc += (double)fixture->a[(batch * s->m + row) * s->k + k] *
                   (double)fixture->b[(batch * s->n + column) * s->k + k];
        }
        for (int i = 0; i < OPERANDS; i++) {
            const int64_t index = operands[i].kind == JIT_GEMM_OPERAND_SCALAR       ? 0
                                  : operands[i].kind == JIT_GEMM_OPERAND_ROW_VECTOR ? column
                                                                                    : row;
            float *result = &results[i][batch * count_of(s, i) + index];
            const float value = (float)contribution(i, acc);
            if (operands[i].role == JIT_GEMM_OPERAND_SUM) {
                *result += value;
            } else if (operands[i].role == JIT_GEMM_OPERAND_MAX) {
                *result = fmaxf(*result, value);
            } else {
                *result = fminf(*result, value);
            }
        }
    }
}

/* Memory between two guards, `fill` in between. */
struct guarded {
    uint64_t base, address;
    size_t bytes;
};

static struct guarded make_guarded(jit_gemm_context *context, size_t bytes,
                                   unsigned char fill)
{
    struct guarded guarded = {.bytes = bytes};
    check(jit_gemm_device_alloc(context, bytes + 2 * (size_t)GUARD, &guarded.base));
    guarded.address = guarded.base + GUARD;
    check(
        jit_gemm_device_fill(context, guarded.base, GUARD_BYTE, bytes + 2 * (size_t)GUARD));
    check(jit_gemm_device_fill(context, guarded.address, fill, bytes));
    return guarded;
}

static void expect_bytes(jit_gemm_context *context, uint64_t address, size_t count,
                         unsigned char value, const char *what)
{
    unsigned char *bytes = allocate(count);
    check(jit_gemm_device_download(context, bytes, address, count));
    size_t same = 0;
    while (same < count && bytes[same] == value) {
        same++;
    }
    cr_expect_eq(same, count, "%s: byte %zu is %02x", what, same, bytes[same % count]);
    free(bytes);
}

static void expect_guards(jit_gemm_context *context, const struct guarded *guarded,
                          const char *what)
{
    expect_bytes(context, guarded->base, GUARD, GUARD_BYTE, what);
    expect_bytes(context, guarded->address + guarded->bytes, GUARD, GUARD_BYTE, what);
}

static void register_epilogue(const struct fixture *fixture, const char *source,
                              uint32_t count)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "reduces",
                                        .source = source,
                                        .operand_count = count,
                                        .operands = operands};
    check(jit_gemm_epilogue_register(fixture->context, &epilogue));
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

static struct guarded make_workspace(const struct fixture *fixture, const jit_gemm *gemm)
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    check(jit_gemm_get_info(gemm, &info));
    cr_assert_gt(info.workspace_bytes, COUNTER_BYTES);
    return make_guarded(fixture->context, (size_t)info.workspace_bytes, 0);
}

/* The results of a launch into poisoned memory. Dynamic sizes are those of the fixture. */
static void run(const struct fixture *fixture, const jit_gemm *gemm, bool is_dynamic,
                const struct guarded *workspace, float *ret_results[OPERANDS])
{
    jit_gemm_context *context = fixture->context;
    const struct sizes *s = &fixture->sizes;
    struct guarded outputs[OPERANDS];
    jit_gemm_arg given[OPERANDS] = {{0}};
    for (int i = 0; i < OPERANDS; i++) {
        const size_t bytes = (size_t)(s->batch * count_of(s, i)) * sizeof(float);
        outputs[i] = make_guarded(context, bytes, 0xFF);
        given[i].pointer = outputs[i].address;
    }
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = fixture->a_at},
                                .b = {.pointer = fixture->b_at},
                                .d = {.pointer = fixture->d},
                                .operands = given,
                                .operand_count = OPERANDS,
                                .m = is_dynamic ? s->m : 0,
                                .n = is_dynamic ? s->n : 0,
                                .workspace = workspace->address,
                                .workspace_bytes = workspace->bytes};
    check(jit_gemm_run(gemm, &args, NULL));
    check(jit_gemm_device_synchronize(context));
    for (int i = 0; i < OPERANDS; i++) {
        ret_results[i] = allocate(outputs[i].bytes);
        check(jit_gemm_device_download(context, ret_results[i], outputs[i].address,
                                       outputs[i].bytes));
        expect_guards(context, &outputs[i], operands[i].name);
        check(jit_gemm_device_free(context, outputs[i].base));
    }
    expect_guards(context, workspace, "around the workspace");
    expect_bytes(context, workspace->address, COUNTER_BYTES, 0, "locks and counters");
}

static void expect_same(const struct sizes *sizes, float *got[OPERANDS],
                        float *wanted[OPERANDS], const char *what)
{
    for (int i = 0; i < OPERANDS; i++) {
        const int64_t count = sizes->batch * count_of(sizes, i);
        int64_t same = 0;
        while (same < count && memcmp(&got[i][same], &wanted[i][same], 4) == 0) {
            same++;
        }
        cr_expect_eq(same, count, "%s: %s[%lld] is %g instead of %g", what,
                     operands[i].name, (long long)same, (double)got[i][same % count],
                     (double)wanted[i][same % count]);
    }
}

static void free_results(float *results[OPERANDS])
{
    for (int i = 0; i < OPERANDS; i++) {
        free(results[i]);
    }
}

struct row {
    const char *arch, *settings, *problem;
    struct sizes sizes;
};

/* Two launches with the same workspace. */
static void check_row(const struct row *row)
{
    struct fixture fixture;
    float *wanted[OPERANDS], *got[OPERANDS];
    open_fixture(&fixture, row->arch, row->settings, row->sizes, true);
    register_epilogue(&fixture, snippet, OPERANDS);
    jit_gemm *gemm = create(&fixture, row->problem);
    const struct guarded workspace = make_workspace(&fixture, gemm);
    expect_results(&fixture, wanted);

    for (int launch = 0; launch < 2; launch++) {
        run(&fixture, gemm, strstr(row->problem, "dynamic") != NULL, &workspace, got);

        expect_same(&row->sizes, got, wanted, row->problem);
        free_results(got);
    }

    free_results(wanted);
    check(jit_gemm_device_free(fixture.context, workspace.base));
    jit_gemm_destroy(&gemm);
    close_fixture(&fixture);
}

#define ROW(arch, settings, m, n, k, batch, words)     \
    {                                                  \
        arch, settings,                                \
            "m=" #m " n=" #n " k=" #k " batch=" #batch \
            " a=bf16 d=f32 epilogue=reduces " words,   \
        {                                              \
            m, n, k, batch                             \
        }                                              \
    }

/* Every form of a tile that has another part of the work for its warps. */
Test(reductions, hopper_kernels_fold_every_element_once)
{
    static const struct row rows[] = {
        ROW("sm_90a", "async=random,seed=1", 333, 345, 96, 1,
            "output_align=4 config=tile=128x256 cluster=1x1"),
        ROW("sm_90a", "async=latest,seed=2", 300, 264, 64, 2,
            "config=tile=64x128 cluster=1x1"),
        ROW("sm_90a", "async=random,schedule=random,seed=3", 260, 200, 64, 1,
            "config=tile=256x128 cluster=2x1"),
        ROW("sm_90a", "async=random,schedule=starve,seed=4", 200, 264, 64, 1,
            "d_layout=column config=tile=128x192 cluster=1x2"),
        ROW("sm_90a", "async=latest,seed=5", 200, 136, 96, 1,
            "config=tile=128x128 cluster=1x1 split_k=2"),
        ROW("sm_90a", "async=random,seed=6", 1, 1, 8, 1, "output_align=4"),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i += (size_t)test_stride(2)) {
        check_row(&rows[i]);
    }
}

Test(reductions, blackwell_kernels_fold_every_element_once)
{
    static const struct row rows[] = {
        ROW("sm_100a", "async=random,seed=1", 333, 345, 96, 1,
            "output_align=4 config=mma=128x80 cluster=1x1 scheduler=clc"),
        ROW("sm_100a", "async=latest,schedule=starve,seed=2", 300, 264, 64, 2,
            "config=mma=256x128 cluster=2x1 scheduler=clc"),
        ROW("sm_100a", "async=random,schedule=random,seed=3", 260, 200, 64, 1,
            "config=mma=128x64 cta_group=2 cluster=4x2"),
        ROW("sm_100a", "async=random,seed=4", 200, 264, 64, 1,
            "config=mma=64x24 cluster=1x1"),
        ROW("sm_100a", "async=latest,seed=5", 200, 136, 64, 1,
            "config=mma=64x24 cluster=1x1 swap_ab=1"),
        ROW("sm_100a", "async=random,seed=6", 200, 136, 64, 2,
            "config=mma=128x256 cta_group=2 cluster=2x1 swap_ab=1"),
        ROW("sm_100a", "async=latest,seed=7", 200, 136, 96, 1,
            "config=mma=128x96 cluster=1x1 swap_ab=1 split_k=2"),
        ROW("sm_100a", "async=random,schedule=deep,seed=8", 136, 300, 64, 1,
            "d_layout=column config=mma=128x64 cluster=1x1 scheduler=static"),
        ROW("sm_100a", "async=random,seed=9", 1, 1, 8, 1, "output_align=4"),
    };
    for (size_t i = (size_t)test_stride(2) - 1; i < sizeof(rows) / sizeof(rows[0]);
         i += (size_t)test_stride(2)) {
        check_row(&rows[i]);
    }
}

/* With terms that round: the order of folding decides the bits. */
static void run_random(const char *arch, const char *settings, const char *problem,
                       float *ret_results[OPERANDS])
{
    struct fixture fixture;
    open_fixture(&fixture, arch, settings, (struct sizes){300, 264, 64, 1}, false);
    register_epilogue(&fixture, snippet, OPERANDS);
    jit_gemm *gemm = create(&fixture, problem);
    const struct guarded workspace = make_workspace(&fixture, gemm);

    run(&fixture, gemm, false, &workspace, ret_results);

    check(jit_gemm_device_free(fixture.context, workspace.base));
    jit_gemm_destroy(&gemm);
    close_fixture(&fixture);
}

Test(reductions, bits_do_not_depend_on_the_order_in_which_tiles_are_done)
{
    static const char *const settings[] = {
        "schedule=fair", "async=random,schedule=starve,seed=5",
        "async=latest,schedule=random,seed=6", "schedule=deep,resident=1"};
    static const struct {
        const char *arch, *problem;
    } rows[] = {
        {"sm_90a", "300x264x64 bf16 d=f32 epilogue=reduces config=tile=64x128 cluster=1x1"},
        {"sm_100a", "300x264x64 bf16 d=f32 epilogue=reduces config=mma=64x32 cluster=1x1 "
                    "scheduler=clc"}};
    const struct sizes sizes = {300, 264, 64, 1};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        float *first[OPERANDS], *other[OPERANDS];
        run_random(rows[row].arch, settings[0], rows[row].problem, first);
        for (size_t i = 1; i < sizeof(settings) / sizeof(settings[0]); i++) {
            run_random(rows[row].arch, settings[i], rows[row].problem, other);

            expect_same(&sizes, other, first, settings[i]);
            free_results(other);
        }
        free_results(first);
    }
}

Test(reductions, larger_launch_than_planned_needs_a_larger_workspace_and_says_so)
{
    static const char *const archs[] = {"sm_90a", "sm_100a"};
    for (int i = 0; i < 2; i++) {
        struct fixture fixture;
        float *wanted[OPERANDS], *got[OPERANDS];
        open_fixture(&fixture, archs[i], "async=random,seed=7",
                     (struct sizes){333, 344, 32, 1}, true);
        register_epilogue(&fixture, snippet, OPERANDS);
        jit_gemm *gemm = create(&fixture, "m=64 n=64 k=32 a=bf16 d=f32 dynamic=m,n "
                                          "epilogue=reduces");
        const struct guarded planned = make_workspace(&fixture, gemm);
        const jit_gemm_arg given[OPERANDS] = {{.pointer = 256}, {.pointer = 256},
                                              {.pointer = 256}, {.pointer = 256},
                                              {.pointer = 256}, {.pointer = 256}};
        jit_gemm_args args = {.struct_size = sizeof(args),
                              .a = {.pointer = fixture.a_at},
                              .b = {.pointer = fixture.b_at},
                              .d = {.pointer = fixture.d},
                              .operands = given,
                              .operand_count = OPERANDS,
                              .m = 333,
                              .n = 344,
                              .workspace = planned.address};

        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
        long long needed = 0;
        cr_expect_eq(
            sscanf(jit_gemm_last_error(),
                   "args.workspace_bytes: 333 x 344 with batch 1 needs a workspace "
                   "of %lld bytes",
                   &needed),
            1, "%s", jit_gemm_last_error());
        args.workspace = 0;
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
        cr_expect_not_null(strstr(jit_gemm_last_error(),
                                  "args.workspace: this kernel has reductions and needs a "
                                  "workspace of "),
                           "%s", jit_gemm_last_error());
        const struct guarded workspace = make_guarded(fixture.context, (size_t)needed, 0);
        expect_results(&fixture, wanted);
        run(&fixture, gemm, true, &workspace, got);

        expect_same(&fixture.sizes, got, wanted, archs[i]);
        free_results(got);
        free_results(wanted);
        check(jit_gemm_device_free(fixture.context, planned.base));
        check(jit_gemm_device_free(fixture.context, workspace.base));
        jit_gemm_destroy(&gemm);
        close_fixture(&fixture);
    }
}

Test(reductions, nan_is_what_its_row_and_column_and_the_tensor_come_to)
{
    static const char *const archs[] = {"sm_90a", "sm_100a"};
    for (int i = 0; i < 2; i++) {
        struct fixture fixture;
        float *wanted[OPERANDS], *got[OPERANDS];
        open_fixture(&fixture, archs[i], "async=random,seed=8",
                     (struct sizes){200, 136, 32, 1}, true);
        register_epilogue(&fixture,
                          "const bool is_odd = row == 170 && col == 9;\n"
                          "const float x = is_odd ? log(-1.0f) : acc;\n"
                          "d = acc; row_sum = acc; col_sum = acc + 1.0f;\n"
                          "all_max = abs(x); row_max = x; col_min = x;\n"
                          "if (acc > 0.0f) all_sum = 1.0f;",
                          OPERANDS);
        jit_gemm *gemm = create(&fixture, "200x136x32 bf16 d=f32 epilogue=reduces");
        const struct guarded workspace = make_workspace(&fixture, gemm);
        expect_results(&fixture, wanted);

        run(&fixture, gemm, false, &workspace, got);

        cr_expect(isnan(got[2][0]) && isnan(got[3][170]) && isnan(got[4][9]),
                  "%s: %g %g %g", archs[i], (double)got[2][0], (double)got[3][170],
                  (double)got[4][9]);
        got[2][0] = wanted[2][0];
        got[3][170] = wanted[3][170];
        got[4][9] = wanted[4][9];
        expect_same(&fixture.sizes, got, wanted, archs[i]);
        free_results(got);
        free_results(wanted);
        check(jit_gemm_device_free(fixture.context, workspace.base));
        jit_gemm_destroy(&gemm);
        close_fixture(&fixture);
    }
}
