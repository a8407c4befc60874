/* SPDX-License-Identifier: MIT */
/*
 * Gated epilogues of MXFP8, MXFP4 and NVFP4, on the emulator through the public API, bit
 * for bit: both pairs, every kind of tile, and outputs that are quantised for the next
 * layer. Elements and scales have few bits, so that every sum is exact and the host's is
 * the same; the snippet rounds once, and tells its accumulators apart. Scales of rows and
 * blocks that the matrices lack are NaN.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "emulated_fixture.h"
#include "jit_gemm/scales.h"
#include "strides.h"
#include "verify/quantise.h"

/* A or B: `mn` rows along K. */
struct input {
    int64_t mn;
    void *elements, *scales;
    size_t element_bytes, scale_bytes;
    double *values; /* of elements, times their scales */
};

struct data {
    int64_t m, n, k, batch;
    struct input a, b;
    struct element_view d_view, scale_view, f32_view;
    void *d, *d_scales;
    float alpha; /* a power of two that keeps blocks of D in the range of their scales */
    float *wanted;
};

static void *allocate(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    cr_assert_not_null(memory);
    return memory;
}

/* ------------------------------------------------------------------------- inputs */

/* Halves of e2m1, small integers of the other types. */
static double draw_value(jit_gemm_dtype dtype, uint32_t *state)
{
    static const double halves[] = {0, 0.5, 1, 1.5, 2, -0.5, -1, -3};
    const uint32_t drawn = draw_bits(state);
    return dtype == JIT_GEMM_DTYPE_E2M1 ? halves[drawn % 8] : (double)(drawn % 5) - 2;
}

/* Powers of two, or eighths with all fractions of ue4m3. None has the byte 0. */
static double draw_scale(jit_gemm_dtype dtype, uint32_t *state)
{
    return dtype == JIT_GEMM_DTYPE_UE8M0 ? ldexp(1, (int)(draw_bits(state) % 5) - 2)
                                         : (double)(8 + draw_bits(state) % 8) / 8;
}

/* One batch of scales, of rows side by side, to the tensor core's layout; what belongs to
 * no block becomes NaN. */
static void lay_scales(const jit_gemm_scale *scale, const struct input *input, int64_t k,
                       const unsigned char *rows, unsigned char *target, size_t bytes)
{
    jit_gemm_scale by_rows = *scale;
    by_rows.layout = JIT_GEMM_SCALE_LAYOUT_ROW;
    emulated_check(jit_gemm_scales_convert(&by_rows, input->mn, k, rows,
                                           JIT_GEMM_SCALE_LAYOUT_128X4, target));
    for (size_t i = 0; i < bytes; i++) {
        if (target[i] == 0) {
            element_store(scale->dtype, target, i, NAN);
        }
    }
}

static struct input make_input(const jit_gemm_matrix *matrix, int64_t mn,
                               const struct data *data, uint32_t state)
{
    const jit_gemm_scale *scale = &matrix->scale;
    const int64_t k = data->k, blocks = (k - 1) / scale->block_k + 1;
    const size_t count = (size_t)(data->batch * mn * k);
    struct input input = {.mn = mn};
    size_t batch_bytes = 0;
    emulated_check(jit_gemm_scales_bytes(scale, mn, k, &batch_bytes));
    input.element_bytes = element_bytes(matrix->dtype, count);
    input.elements = allocate(input.element_bytes);
    input.values = allocate(count * sizeof(double));
    input.scale_bytes = (size_t)data->batch * batch_bytes;
    input.scales = allocate(input.scale_bytes);
    unsigned char *rows = allocate((size_t)(mn * blocks));
    for (int64_t batch = 0; batch < data->batch; batch++) {
        for (int64_t i = 0; i < mn * blocks; i++) {
            element_store(scale->dtype, rows, (size_t)i, draw_scale(scale->dtype, &state));
        }
        for (int64_t i = 0; i < mn * k; i++) {
            const int64_t at = batch * mn * k + i;
            const int64_t block = i / k * blocks + i % k / scale->block_k;
            element_store(matrix->dtype, input.elements, (size_t)at,
                          draw_value(matrix->dtype, &state));
            input.values[at] = element_load(matrix->dtype, input.elements, (size_t)at) *
                               element_load(scale->dtype, rows, (size_t)block);
        }
        lay_scales(scale, &input, k, rows,
                   (unsigned char *)input.scales + (size_t)batch * batch_bytes,
                   batch_bytes);
    }
    free(rows);
    return input;
}

static double sum_of(const struct data *data, int64_t batch, int64_t row, int64_t column)
{
    const double *a = &data->a.values[(batch * data->m + row) * data->k];
    const double *b = &data->b.values[(batch * data->n + column) * data->k];
    return emulated_dot(a, b, data->k);
}

/* What the snippet makes of the two columns of B, in f32, as D lies. */
static void fill_wanted(struct data *data, const jit_gemm_problem *problem)
{
    const bool by_columns = problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    const bool halves = problem->pair == JIT_GEMM_PAIR_HALVES;
    const int64_t columns = data->n / 2, size = data->m * columns;
    for (int64_t i = 0; i < data->batch * size; i++) {
        const int64_t batch = i / size;
        const int64_t row = by_columns ? i % data->m : i % size / columns;
        const int64_t column = by_columns ? i % size / data->m : i % columns;
        const double acc0 = sum_of(data, batch, row, halves ? column : 2 * column);
        const double acc1 =
            sum_of(data, batch, row, halves ? columns + column : 2 * column + 1);
        data->wanted[i] = (float)acc0 * data->alpha * fabsf((float)acc1 * data->alpha);
    }
}

static struct data make_data(const jit_gemm_problem *problem)
{
    struct data data = {.alpha = 1,
                        .m = problem->m.size,
                        .n = problem->n.size,
                        .k = problem->k.size,
                        .batch = problem->batch.size};
    const bool by_columns = problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    const int64_t rows = by_columns ? data.n / 2 : data.m; /* as D lies */
    const int64_t columns = by_columns ? data.m : data.n / 2;
    data.d_view = (struct element_view){problem->d.dtype, data.batch, rows,
                                        columns,          columns,    rows * columns};
    data.f32_view = data.d_view;
    data.f32_view.dtype = JIT_GEMM_DTYPE_F32;
    data.a = make_input(&problem->a, data.m, &data, 1);
    data.b = make_input(&problem->b, data.n, &data, 2);
    data.d = allocate(element_view_bytes(&data.d_view));
    element_fill_poison(&data.d_view, data.d);
    if (problem->d.scale.kind != JIT_GEMM_SCALE_NONE) {
        data.scale_view = quantise_scale_view(&problem->d.scale, 1, rows, columns);
        data.scale_view.batch = data.batch; /* packed */
        data.d_scales = allocate(element_view_bytes(&data.scale_view));
        element_fill_poison(&data.scale_view, data.d_scales);
        data.alpha = 0x1p-7F;
    }
    data.wanted = allocate(element_view_bytes(&data.f32_view));
    fill_wanted(&data, problem);
    return data;
}

static void free_data(struct data *data)
{
    const struct input *const inputs[] = {&data->a, &data->b};
    for (int i = 0; i < 2; i++) {
        free(inputs[i]->elements);
        free(inputs[i]->scales);
        free(inputs[i]->values);
    }
    free(data->d);
    free(data->d_scales);
    free(data->wanted);
}

/* ------------------------------------------------------------------------- launches */

static jit_gemm_context *open_context(const char *settings)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "gated",
                                        .source = "d = acc0 * abs(acc1);"};
    jit_gemm_context *context = emulated_open("sm_100a", settings);
    emulated_check(jit_gemm_epilogue_register(context, &epilogue));
    return context;
}

/* The size of a launch where the problem leaves it open. */
static int64_t size_of_launch(const jit_gemm_dim *dim)
{
    return dim->mode == JIT_GEMM_DIM_DYNAMIC ? dim->size : 0;
}

static void run(jit_gemm_context *context, const jit_gemm_problem *problem,
                struct data *data)
{
    const struct input *a = &data->a, *b = &data->b;
    const size_t d_bytes = element_view_bytes(&data->d_view);
    const size_t scale_bytes =
        data->d_scales != NULL ? element_view_bytes(&data->scale_view) : 1;
    jit_gemm *gemm = emulated_create(context, problem);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(gemm, &info));
    void *zeros = allocate(info.workspace_bytes);
    const uint64_t addresses[] = {
        emulated_upload(context, a->elements, a->element_bytes),
        emulated_upload(context, b->elements, b->element_bytes),
        emulated_upload(context, a->scales, a->scale_bytes),
        emulated_upload(context, b->scales, b->scale_bytes),
        emulated_upload(context, data->d, d_bytes),
        emulated_upload(context, data->d_scales != NULL ? data->d_scales : zeros,
                        scale_bytes),
        emulated_upload(context, zeros, info.workspace_bytes + 1)};
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .alpha = &data->alpha,
        .m = size_of_launch(&problem->m),
        .n = size_of_launch(&problem->n),
        .k = size_of_launch(&problem->k),
        .workspace = addresses[6],
        .workspace_bytes = info.workspace_bytes,
        .a = {.pointer = addresses[0]},
        .b = {.pointer = addresses[1]},
        .d = {.pointer = addresses[4]},
        .a_scale = {.pointer = addresses[2]},
        .b_scale = {.pointer = addresses[3]},
        .d_scale = {.pointer = data->d_scales != NULL ? addresses[5] : 0}};
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_device_download(context, data->d, addresses[4], d_bytes));
    if (data->d_scales != NULL) {
        emulated_check(
            jit_gemm_device_download(context, data->d_scales, addresses[5], scale_bytes));
    }
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        emulated_free(context, addresses[i]);
    }
    free(zeros);
    jit_gemm_destroy(&gemm);
}

static void expect_wanted(const struct data *data, const char *text)
{
    const int64_t columns = data->n / 2;
    for (int64_t i = 0; i < data->batch * data->m * columns; i++) {
        const double got = element_load(JIT_GEMM_DTYPE_F32, data->d, (size_t)i);
        const double wanted = (double)data->wanted[i];
        cr_assert(got == wanted,
                  "%s, element %d of batches of %d rows by %d columns: %g, not %g", text,
                  (int)i, (int)data->m, (int)columns, got, wanted);
    }
}

static void expect_quantised(const struct data *data, const jit_gemm_problem *problem,
                             const char *text)
{
    const struct quantised all = {.scale = &problem->d.scale,
                                  .view = &data->d_view,
                                  .scale_view = &data->scale_view,
                                  .ref_view = &data->f32_view,
                                  .data = data->d,
                                  .scales = data->d_scales,
                                  .ref = data->wanted};
    const struct compare_bounds exact = {0};
    struct compare_report elements, scales;
    char report[512];
    quantise_compare(&all, &exact, &elements, &scales);
    compare_describe(&elements, report, sizeof(report));
    cr_expect(elements.over_bound == 0 && elements.wrong_nan == 0, "%s, D: %s", text,
              report);
    compare_describe(&scales, report, sizeof(report));
    cr_expect_eq(scales.over_bound, 0, "%s, scales: %s", text, report);
}

static void expect_exact(const char *words, const char *settings)
{
    jit_gemm_context *context = open_context(settings);
    char text[256];
    snprintf(text, sizeof(text), "epilogue=gated %s", words);
    const jit_gemm_problem problem = emulated_problem(text);
    struct data data = make_data(&problem);
    run(context, &problem, &data);
    if (data.d_scales != NULL) {
        expect_quantised(&data, &problem, text);
    } else {
        expect_wanted(&data, text);
    }
    free_data(&data);
    jit_gemm_context_destroy(&context);
}

/* D in f32 of types of each kind, as a rule of one, another for each row. `sizes`: words of
 * the problem, its config behind them. */
static void expect_types(int row, const char *sizes, const char *settings)
{
    static const char *const types[] = {"a=mxfp8", "a=mxfp4", "a=nvfp4"};
    const int step = test_stride(3);
    for (int i = row % step; i < 3; i += step) {
        char text[200];
        snprintf(text, sizeof(text), "%s d=f32 %s", types[i], sizes);
        expect_exact(text, settings);
    }
}

/* The last stage of K is not full; the last tile neither, and one begins inside of a piece.
 */
#define HALVES     "pair=halves m=140 n=512 k=576 batch=2 "
#define NEIGHBOURS "pair=interleaved m=140 n=304 k=576 batch=2 "

Test(gated_scales, halves_of_one_cta_are_the_hosts)
{
    expect_types(0, HALVES "config=mma=128x64 stages=2", "sms=4,async=latest");
    expect_types(1, HALVES "config=mma=128x256",
                 "sms=4,async=random,schedule=starve,seed=3");
}

Test(gated_scales, halves_of_a_pair_of_ctas_are_the_hosts)
{
    expect_types(2,
                 "pair=halves m=300 n=512 k=320 batch=1 "
                 "config=mma=256x192 cta_group=2 cluster=4x1",
                 "sms=4,async=reorder,seed=4");
    expect_types(3, HALVES "config=mma=256x64 cta_group=2", "sms=4,async=latest,seed=5");
}

Test(gated_scales, neighbours_of_one_cta_are_the_hosts)
{
    expect_types(4, NEIGHBOURS "config=mma=128x96 stages=2", "sms=4,async=latest");
    expect_types(5, NEIGHBOURS "config=mma=128x256",
                 "sms=4,async=random,schedule=starve,seed=6");
}

Test(gated_scales, neighbours_of_a_pair_of_ctas_are_the_hosts)
{
    expect_types(6, NEIGHBOURS "config=mma=256x128 cta_group=2",
                 "sms=4,async=reorder,seed=7");
    expect_types(7,
                 "pair=interleaved m=300 n=304 k=320 batch=1 "
                 "config=mma=256x224 cta_group=2 cluster=4x1",
                 "sms=4,async=latest,seed=8");
}

Test(gated_scales, parts_of_k_are_the_hosts)
{
    expect_types(8, HALVES "workspace=64m config=mma=128x128 split_k=2",
                 "sms=4,async=random,seed=9");
    expect_types(9, NEIGHBOURS "workspace=64m config=mma=128x64 split_k=2",
                 "sms=4,async=random,seed=10");
}

/* Rows of the multiplication are the columns of B, an accumulator for each half. */
Test(gated_scales, few_tokens_are_the_hosts)
{
    expect_types(10, "pair=halves m=5 n=512 k=576 batch=2 config=mma=128x16 swap_ab=1",
                 "sms=4,async=latest");
    expect_types(11, "pair=halves m=70 n=768 k=320 batch=1 config=mma=256x32 swap_ab=1",
                 "sms=4,async=random,seed=11");
    expect_types(12, "pair=interleaved m=5 n=304 k=576 batch=2", "sms=4,async=latest");
}

Test(gated_scales, sizes_of_the_launch_are_the_hosts)
{
    expect_types(13, HALVES "dynamic=m,n,k", "sms=4,async=latest");
    expect_types(14, NEIGHBOURS "dynamic=m,n,k", "sms=4,async=random,seed=12");
}

Test(gated_scales, a_column_major_d_is_the_hosts)
{
    expect_types(15, "pair=halves m=72 n=512 k=192 batch=2 d_layout=column",
                 "sms=4,async=latest");
    expect_types(16, "pair=interleaved m=72 n=140 k=192 batch=2 d_layout=column",
                 "sms=4,async=latest");
    /* A lane puts back what waits for its scale where another one reads a pair. */
    expect_exact("a=nvfp4 d=e4m3 d_scale=1x128ue8m0 pair=interleaved m=144 n=72 k=64 "
                 "batch=1 d_layout=column config=mma=128x128",
                 "sms=4,async=latest");
}

/* Which takes halves that end inside of a piece, too. */
Test(gated_scales, the_reference_kernel_gives_the_hosts)
{
    expect_types(17, "pair=halves m=9 n=140 k=192 batch=2 config=kernel=reference",
                 "sms=4");
    expect_types(18, "pair=interleaved m=9 n=140 k=192 batch=2 config=kernel=reference",
                 "sms=4");
}

Test(gated_scales, quantised_outputs_are_the_hosts)
{
    static const char *const types[] = {"a=nvfp4 d=nvfp4", "a=mxfp8 d=mxfp8",
                                        "a=mxfp4 d=mxfp8e5m2", "a=mxfp8 d=nvfp4"};
    static const char *const sizes[] = {
        HALVES "config=mma=128x128", HALVES "config=mma=256x256 cta_group=2",
        "pair=interleaved m=140 n=448 k=320 batch=2 config=mma=256x128 cta_group=2",
        "pair=interleaved m=140 n=448 k=320 batch=2"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (size_t j = i % 2; j < sizeof(sizes) / sizeof(sizes[0]); j += 2) {
            char text[200];
            snprintf(text, sizeof(text), "%s %s", types[i], sizes[j]);
            expect_exact(text, "sms=4,async=random,seed=13");
        }
    }
}

Test(gated_scales, halves_of_a_launch_are_whole_pieces)
{
    jit_gemm_context *context = open_context("sms=4");
    const jit_gemm_problem problem = emulated_problem(
        "m=132 n=512 k=128 batch=1 a=mxfp8 d=f32 epilogue=gated pair=halves dynamic=n");
    jit_gemm *gemm = emulated_create(context, &problem);
    const jit_gemm_args args = {.struct_size = sizeof(args), .n = 640};
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(
        strstr(jit_gemm_last_error(),
               "args.n: half of B has 320 columns, which are no whole pieces "
               "of 128"),
        "%s", jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}
