/* SPDX-License-Identifier: MIT */
/*
 * MXFP8, MXFP4, both beside each other, and NVFP4: A and B by whose scales the tensor core
 * multiplies, on the emulator through the public API, bit for bit. Elements and scales have
 * few bits, so that every sum is exact and the host's is the same. Scales of rows and
 * blocks that the matrices lack are NaN, which no element of D may become.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "emulated_fixture.h"
#include "strides.h"
#include "verify/elements.h"

enum { PIECE_ROWS = 128, PIECE_BLOCKS = 4, NAN_OF_UE8M0 = 0xff, NAN_OF_UE4M3 = 0x7f };

/* A or B: `mn` rows along K, all of them packed. */
struct input {
    const jit_gemm_matrix *matrix;
    int64_t mn, k, batch;
    unsigned char *elements, *scales;
    double *products; /* of each element and its scale */
    size_t element_bytes, scale_bytes;
    int64_t batch_bytes; /* from one batch's scales to the next one's */
    bool is_shared;      /* all batches have the first one's */
};

struct data {
    int64_t m, n, k, batch;
    struct input a, b;
    float *d;
};

static void *allocate(size_t bytes)
{
    void *memory = calloc(bytes, 1);
    cr_assert_not_null(memory);
    return memory;
}

/* ------------------------------------------------------------------------- inputs */

static int64_t divide_up(int64_t value, int64_t by)
{
    return (value + by - 1) / by;
}

/* Where scale (row, block) of a batch lies, and with row = -1 the bytes of a batch
 * (docs/scales.md). */
static int64_t index_of(const struct input *input, int64_t row, int64_t block)
{
    const jit_gemm_scale *scale = &input->matrix->scale;
    const int64_t rows = divide_up(input->mn, scale->block_mn);
    const int64_t blocks = divide_up(input->k, scale->block_k);
    const int64_t words = divide_up(blocks, PIECE_BLOCKS);
    const int64_t ld = divide_up(rows, 4) * 4;
    switch (scale->layout) {
    case JIT_GEMM_SCALE_LAYOUT_ROW:
        return row < 0 ? rows * blocks : row * blocks + block;
    case JIT_GEMM_SCALE_LAYOUT_COLUMN:
        return row < 0 ? ld * blocks : block * ld + row;
    case JIT_GEMM_SCALE_LAYOUT_8X4:
        return row < 0 ? divide_up(rows, 8) * words * 32
                       : (row / 8 * words + block / 4) * 32 + row % 8 * 4 + block % 4;
    case JIT_GEMM_SCALE_LAYOUT_MN_K4:
        return row < 0 ? words * ld * 4 : (block / 4 * ld + row) * 4 + block % 4;
    default:
        return row < 0 ? divide_up(rows, PIECE_ROWS) * words * PIECE_ROWS * PIECE_BLOCKS
                       : (row / PIECE_ROWS * words + block / 4) * PIECE_ROWS * 4 +
                             row % 32 * 16 + row % PIECE_ROWS / 32 * 4 + block % 4;
    }
}

static unsigned char *scale_at(const struct input *input, int64_t batch, int64_t row,
                               int64_t k)
{
    const jit_gemm_scale *scale = &input->matrix->scale;
    return &input->scales[(input->is_shared ? 0 : batch) * input->batch_bytes +
                          index_of(input, row / scale->block_mn, k / scale->block_k)];
}

static void multiply(struct input *input)
{
    for (int64_t i = 0; i < input->batch * input->mn * input->k; i++) {
        const int64_t row = i / input->k;
        const unsigned char *scale =
            scale_at(input, row / input->mn, row % input->mn, i % input->k);
        input->products[i] =
            element_load(input->matrix->dtype, input->elements, (size_t)i) *
            element_load(input->matrix->scale.dtype, scale, 0);
    }
}

/* All codes of e2m1, small integers of the other types. */
static double draw_value(jit_gemm_dtype dtype, uint32_t *state)
{
    static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const uint32_t drawn = draw_bits(state);
    if (dtype != JIT_GEMM_DTYPE_E2M1) {
        return (double)(drawn % 5) - 2;
    }
    return drawn % 16 < 8 ? values[drawn % 8] : -values[drawn % 8];
}

/* Powers of two, or eighths with all fractions of ue4m3. */
static double draw_scale(jit_gemm_dtype dtype, uint32_t *state)
{
    return dtype == JIT_GEMM_DTYPE_UE8M0 ? ldexp(1, (int)(draw_bits(state) % 7) - 3)
                                         : (double)(8 + draw_bits(state) % 8) / 8;
}

static struct input make_input(const jit_gemm_matrix *matrix, int64_t mn,
                               const struct data *data, uint32_t state)
{
    struct input input = {.matrix = matrix, .mn = mn, .k = data->k, .batch = data->batch};
    const int64_t block_k = matrix->scale.block_k;
    const bool is_packed = matrix->dtype == JIT_GEMM_DTYPE_E2M1;
    input.element_bytes = (size_t)(data->batch * mn * data->k) / (is_packed ? 2 : 1);
    input.elements = allocate(input.element_bytes);
    input.products = allocate((size_t)(data->batch * mn * data->k) * sizeof(double));
    input.batch_bytes = index_of(&input, -1, 0);
    if (matrix->scale.layout != JIT_GEMM_SCALE_LAYOUT_128X4) {
        input.batch_bytes += data->batch > 1 ? 3 : 0; /* nothing lies there */
    }
    input.scale_bytes = (size_t)(data->batch * input.batch_bytes);
    input.scales = allocate(input.scale_bytes);
    memset(input.scales,
           matrix->scale.dtype == JIT_GEMM_DTYPE_UE8M0 ? NAN_OF_UE8M0 : NAN_OF_UE4M3,
           input.scale_bytes);
    for (int64_t row = 0; row < data->batch * mn; row++) {
        for (int64_t k = 0; k < data->k; k++) {
            element_store(matrix->dtype, input.elements, (size_t)(row * data->k + k),
                          draw_value(matrix->dtype, &state));
            if (k % block_k == 0 && row % mn % matrix->scale.block_mn == 0) {
                element_store(matrix->scale.dtype, scale_at(&input, row / mn, row % mn, k),
                              0, draw_scale(matrix->scale.dtype, &state));
            }
        }
    }
    return input;
}

static struct data make_data(const jit_gemm_problem *problem)
{
    struct data data = {.m = problem->m.size,
                        .n = problem->n.size,
                        .k = problem->k.size,
                        .batch = problem->batch.size};
    data.a = make_input(&problem->a, data.m, &data, 1);
    data.b = make_input(&problem->b, data.n, &data, 2);
    data.d = allocate((size_t)(data.batch * data.m * data.n) * sizeof(float));
    return data;
}

static void free_data(struct data *data)
{
    const struct input *const inputs[] = {&data->a, &data->b};
    for (int i = 0; i < 2; i++) {
        free(inputs[i]->elements);
        free(inputs[i]->scales);
        free(inputs[i]->products);
    }
    free(data->d);
}

/* ------------------------------------------------------------------------- launches */

static jit_gemm_arg scale_argument(const struct input *input, uint64_t address)
{
    return (jit_gemm_arg){.pointer = address,
                          .batch_stride = input->is_shared   ? JIT_GEMM_STRIDE_BROADCAST
                                          : input->batch > 1 ? input->batch_bytes
                                                             : 0};
}

static void run(jit_gemm_context *context, const jit_gemm_problem *problem,
                struct data *data)
{
    const size_t d_bytes = (size_t)(data->batch * data->m * data->n) * sizeof(float);
    jit_gemm *gemm = emulated_create(context, problem);
    const struct input *a = &data->a, *b = &data->b;
    const uint64_t addresses[] = {emulated_upload(context, a->elements, a->element_bytes),
                                  emulated_upload(context, b->elements, b->element_bytes),
                                  emulated_upload(context, a->scales, a->scale_bytes),
                                  emulated_upload(context, b->scales, b->scale_bytes),
                                  emulated_upload(context, data->d, d_bytes)};
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(gemm, &info));
    unsigned char *zeros = allocate(info.workspace_bytes + 1);
    const uint64_t workspace = emulated_upload(context, zeros, info.workspace_bytes + 1);
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .workspace = workspace,
                                .workspace_bytes = info.workspace_bytes,
                                .k = problem->k.mode == JIT_GEMM_DIM_DYNAMIC ? data->k : 0,
                                .a = {.pointer = addresses[0]},
                                .b = {.pointer = addresses[1]},
                                .d = {.pointer = addresses[4]},
                                .a_scale = scale_argument(a, addresses[2]),
                                .b_scale = scale_argument(b, addresses[3])};
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_device_download(context, data->d, addresses[4], d_bytes));
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        emulated_free(context, addresses[i]);
    }
    emulated_free(context, workspace);
    free(zeros);
    jit_gemm_destroy(&gemm);
}

static double sum_of(const struct data *data, int64_t batch, int64_t row, int64_t column)
{
    const double *a = &data->a.products[(batch * data->m + row) * data->k];
    const double *b = &data->b.products[(batch * data->n + column) * data->k];
    return emulated_dot(a, b, data->k);
}

/* Every element of D is the host's sum; returns how many are NaN. */
static int64_t expect_sums(struct data *data, const char *text)
{
    int64_t nans = 0;
    multiply(&data->a);
    multiply(&data->b);
    for (int64_t i = 0; i < data->batch * data->m * data->n; i++) {
        const int64_t batch = i / data->n / data->m;
        const int64_t row = i / data->n % data->m, column = i % data->n;
        const double wanted = sum_of(data, batch, row, column);
        const double got = (double)data->d[i];
        nans += isnan(got);
        cr_assert((isnan(got) && isnan(wanted)) || got == wanted,
                  "%s, batch %d (%d, %d): %g, not %g", text, (int)batch, (int)row,
                  (int)column, got, wanted);
    }
    return nans;
}

static const struct {
    const char *text;
    int k_step; /* what K is a multiple of */
} types[] = {{"a=mxfp8", 32},
             {"a=mxfp8e5m2 b=mxfp8", 32},
             {"a=mxfp4", 32},
             {"a=nvfp4", 32},
             {"a=mxfp8 b=mxfp4", 128},
             {"a=mxfp8e5m2 b=mxfp4", 128},
             {"a=mxfp4 b=mxfp8", 128},
             {"a=mxfp4 b=mxfp8e5m2", 128},
             {"a=e4m3 a_scale=1x128ue8m0 a_scale_layout=128x4 b=e5m2 b_scale=1x128ue8m0 "
              "b_scale_layout=128x4",
              32}};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

static int round_up(int k, int step)
{
    return (k + step - 1) / step * step;
}

/* A problem's text with its config. */
static void expect_exact_one(jit_gemm_context *context, const char *text)
{
    const jit_gemm_problem problem = emulated_problem(text);
    struct data data = make_data(&problem);
    run(context, &problem, &data);
    cr_expect_eq(expect_sums(&data, text), 0, "%s: an element is NaN", text);
    free_data(&data);
}

/* Of the types one in `usual` as a rule, others for each row. `k`: or the next one that
 * they take. */
static void expect_some(size_t row, int usual, const char *sizes, int k, const char *config,
                        const char *settings)
{
    jit_gemm_context *context = emulated_open("sm_100a", settings);
    const int step = test_stride(usual);
    for (int i = (int)row % step; i < TYPES; i += step) {
        char text[256];
        snprintf(text, sizeof(text), "%s k=%d d=f32 %s config=%s", sizes,
                 round_up(k, types[i].k_step), types[i].text, config);
        expect_exact_one(context, text);
    }
    jit_gemm_context_destroy(&context);
}

/* Of all types in all modes there is a test; tests of one mode take one. */
static void expect_one(size_t row, const char *sizes, int k, const char *config,
                       const char *settings)
{
    expect_some(row, TYPES, sizes, k, config, settings);
}

/* K of more blocks than a stage has, and its last stage is not full. */
#define SIZES "m=140 n=300 batch=2", 1088

Test(multiplied_scales, sums_of_one_cta_are_the_hosts)
{
    expect_one(0, SIZES, "mma=128x96 stages=2", "sms=4,async=latest");
    expect_one(1, SIZES, "mma=128x128", "sms=4,async=random,schedule=starve,seed=3");
}

Test(multiplied_scales, sums_of_a_pair_are_the_hosts)
{
    expect_one(2, SIZES, "mma=256x64 cta_group=2 stages=2", "sms=4,async=reorder,seed=4");
    expect_one(0, "m=300 n=300 batch=1", 320, "mma=256x256 cta_group=2 cluster=4x1",
               "sms=4,async=latest,seed=5");
}

/* Scales of four blocks of 128 lie in a word, in which parts of three blocks begin. */
Test(multiplied_scales, sums_of_parts_of_k_are_the_hosts)
{
    expect_one(3, "workspace=64m " SIZES, "mma=128x64 split_k=3",
               "sms=4,async=random,seed=6");
}

Test(multiplied_scales, sums_of_few_tokens_are_the_hosts)
{
    expect_one(0, "m=5 n=300 batch=2", 1088, "mma=128x32 swap_ab=1 stages=2",
               "sms=4,async=latest");
    expect_one(1, "m=5 n=300 batch=2", 576, "mma=128x16 swap_ab=1", "sms=4,async=latest");
    expect_one(2, "m=40 n=300 batch=1", 576, "mma=128x48 swap_ab=1", "sms=4,async=random");
}

/* Two accumulators leave room for the scales of two stages, which all stages take in turn:
 * of 16 elements, and of 32 where half of the columns of a piece are a tile's. */
Test(multiplied_scales, sums_of_cells_that_stages_share_are_the_hosts, .timeout = 1200)
{
    static const struct {
        const char *types, *sizes, *config;
        int k;
    } forms[] = {
        {"a=nvfp4", "m=140 n=400 batch=1", "mma=128x192 stages=4 acc_stages=2", 1888},
        {"a=nvfp4", "m=300 n=400 batch=2",
         "mma=256x192 cta_group=2 stages=3 acc_stages=2 scheduler=static", 1312},
        {"a=mxfp4", "m=140 n=464 batch=1", "mma=128x224 stages=3 acc_stages=2", 1312},
        {"a=nvfp4", "m=270 n=300 batch=1", "mma=256x160 cta_group=2 stages=5 acc_stages=2",
         1632},
    };
    for (int i = 0; i < 4; i++) {
        char settings[EMULATED_SETTINGS_BYTES], text[256];
        emulated_settings_of(i, settings);
        snprintf(text, sizeof(text), "%s k=%d d=f32 %s config=%s", forms[i].sizes,
                 forms[i].k, forms[i].types, forms[i].config);
        jit_gemm_context *context = emulated_open("sm_100a", settings);
        expect_exact_one(context, text);
        jit_gemm_context_destroy(&context);
    }
}

/* One CTA, a pair and a transposed product. */
static const struct {
    const char *sizes, *config;
} every_form[3] = {
    {"m=40 n=72 batch=1", "mma=128x64 stages=2"},
    {"m=40 n=72 batch=1", "mma=256x64 cta_group=2 stages=2"},
    {"m=17 n=132 batch=1", "mma=128x32 swap_ab=1 stages=2"},
};

/* ... in every way of asynchrony, and of whose turn it is. JIT_GEMM_TEST_SEEDS=COUNT: of
 * all types, with so many seeds, from JIT_GEMM_TEST_SEED on. */
Test(multiplied_scales, sums_are_the_hosts_in_every_mode, .timeout = 1200)
{
    const struct emulated_seeds seeds = emulated_seeds(4);
    for (int seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        char settings[EMULATED_SETTINGS_BYTES];
        emulated_settings_of(seed, settings);
        for (int i = seeds.all ? 0 : seed % 3; i < 3; i += seeds.all ? 1 : 3) {
            expect_some((size_t)(2 * (3 * seed + i)), seeds.all ? 1 : TYPES,
                        every_form[i].sizes, 1056, every_form[i].config, settings);
        }
    }
}

/* A tile's columns begin 0, 1, 2 or 3 words into a piece of scales. */
Test(multiplied_scales, sums_of_tiles_that_begin_inside_a_piece_are_the_hosts)
{
    static const char *const tiles[] = {"mma=128x160", "mma=128x192", "mma=128x224",
                                        "mma=256x96 cta_group=2",
                                        "mma=256x192 cta_group=2"};
    for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
        expect_one(i + 3, "m=20 n=700 batch=1", 64, tiles[i], "sms=4,async=random,seed=7");
    }
}

/* Clusters that N does not fill. */
Test(multiplied_scales, sums_of_768_columns_are_the_hosts)
{
    expect_one(0, "m=20 n=768 batch=1", 64, "mma=128x160 cluster=1x4",
               "sms=8,async=latest,seed=8");
    expect_one(1, "m=260 n=768 batch=1", 64, "mma=256x224 cta_group=2 cluster=2x2",
               "sms=8,async=random,seed=9");
}

Test(multiplied_scales, sums_of_every_rest_of_k_are_the_hosts)
{
    static const int sizes[] = {32, 64, 96, 192, 1056, 1152, 1504, 2880};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        expect_one(i, "m=33 n=40 batch=1", sizes[i], "mma=128x64 stages=3",
                   "sms=4,async=reorder,seed=10");
    }
}

Test(multiplied_scales, sums_of_1_to_17_tokens_are_the_hosts)
{
    static const int sizes[] = {1, 2, 8, 15, 16, 17};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char text[64];
        snprintf(text, sizeof(text), "m=%d n=136 batch=2", sizes[i]);
        expect_some(i, TYPES, text, 192,
                    sizes[i] > 16 ? "mma=128x32 swap_ab=1" : "mma=128x16 swap_ab=1",
                    "sms=4,async=latest,seed=11");
        expect_some(i + 3, TYPES, text, 192, "mma=128x64", "sms=4,async=random,seed=12");
    }
}

/* A kernel before brings other layouts to that of the tensor core, and the scale of 128
 * rows to each of them. */
static const struct {
    const char *a, *b;
    int k_step;
} packed_types[] = {
    {"a=mxfp8", "b=mxfp8e5m2", 32},
    {"a=nvfp4", "b=nvfp4", 32},
    {"a=e4m3 a_scale=1x128ue8m0", "b=e4m3 b_scale=128x128ue8m0", 32},
    {"a=mxfp4", "b=mxfp4", 32},
    {"a=e5m2 a_scale=128x128ue8m0", "b=e4m3 b_scale=128x128ue8m0", 32},
    {"a=mxfp8", "b=mxfp4", 128},
    {"a=e4m3 a_scale=128x128ue8m0", "b=e5m2 b_scale=1x128ue8m0", 32},
};

enum { PACKED_TYPES = sizeof(packed_types) / sizeof(packed_types[0]) };

static const char *const layouts[] = {"row", "column", "128x4", "8x4", "mn_k4"};

enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

/* Each type in each layout of either matrix; of these combinations one in `usual`. */
static void expect_packed(int first, int usual, const char *sizes, int k,
                          const char *config, const char *settings)
{
    jit_gemm_context *context = emulated_open("sm_100a", settings);
    const int step = test_stride(usual);
    for (int i = first % step; i < PACKED_TYPES * LAYOUTS * LAYOUTS; i += step) {
        const int type = i % PACKED_TYPES;
        char text[320];
        snprintf(text, sizeof(text),
                 "%s k=%d d=f32 %s a_scale_layout=%s %s b_scale_layout=%s config=%s", sizes,
                 round_up(k, packed_types[type].k_step), packed_types[type].a,
                 layouts[i / PACKED_TYPES % LAYOUTS], packed_types[type].b,
                 layouts[i / PACKED_TYPES / LAYOUTS], config);
        expect_exact_one(context, text);
    }
    jit_gemm_context_destroy(&context);
}

Test(multiplied_scales, sums_of_other_layouts_are_the_hosts, .timeout = 3600)
{
    expect_packed(0, 113, "m=140 n=300 batch=2", 1088, "mma=128x96 stages=2",
                  "sms=4,async=latest,seed=20");
    expect_packed(4, 131, "m=300 n=136 batch=1", 1504, "mma=256x64 cta_group=2",
                  "sms=4,async=random,schedule=starve,seed=21");
    expect_packed(9, 131, "m=5 n=300 batch=3", 160, "mma=128x16 swap_ab=1",
                  "sms=4,async=reorder,seed=22");
    expect_packed(14, 149, "workspace=64m m=129 n=260 batch=2", 2880,
                  "mma=128x64 split_k=3", "sms=4,async=random,schedule=deep,seed=23");
    expect_packed(7, 149, "m=9 n=140 batch=2", 192, "kernel=reference", "sms=2");
}

/* ... in every way of asynchrony, and of whose turn it is. JIT_GEMM_TEST_SEEDS=COUNT: with
 * so many seeds, from JIT_GEMM_TEST_SEED on. */
Test(multiplied_scales, sums_of_other_layouts_are_the_hosts_in_every_mode, .timeout = 3600)
{
    const struct emulated_seeds seeds = emulated_seeds(4);
    for (int seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        char settings[EMULATED_SETTINGS_BYTES];
        emulated_settings_of(seed, settings);
        for (int i = seeds.all ? 0 : seed % 3; i < 3; i += seeds.all ? 1 : 3) {
            expect_packed(seed * 3 + i, seeds.all ? 1 : 131, every_form[i].sizes, 544,
                          every_form[i].config, settings);
        }
    }
}

/* The scale of a block of 128 columns of B reaches all of them. */
Test(multiplied_scales, a_nan_of_128_columns_reaches_all_of_them_and_no_other)
{
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
    const jit_gemm_problem problem =
        emulated_problem("m=40 n=300 k=320 batch=1 d=f32 a=e4m3 a_scale=1x128ue8m0 b=e4m3 "
                         "b_scale=128x128ue8m0");
    struct data data = make_data(&problem);
    element_store(JIT_GEMM_DTYPE_UE8M0, scale_at(&data.b, 0, 130, 288), 0, NAN);
    run(context, &problem, &data);
    cr_expect_eq(expect_sums(&data, "128x128ue8m0"), 128 * data.m);
    free_data(&data);
    jit_gemm_context_destroy(&context);
}

/* What a launch of packed scales is refused for, by name; batches may share them. */
Test(multiplied_scales, wrong_arguments_of_packed_scales_are_refused_by_name)
{
    const jit_gemm_args good = {.struct_size = sizeof(good),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x30000},
                                .a_scale = {.pointer = 0x40001},
                                .b_scale = {.pointer = 0x50000},
                                .workspace = 0x60000,
                                .workspace_bytes = 32768 + 1024};
    const struct {
        jit_gemm_arg a_scale;
        uint64_t workspace, workspace_bytes;
        const char *message;
    } rows[] = {
        {{0}, 0x60000, 0, "args.a_scale.pointer: the address of the scales is NULL"},
        {{.pointer = 0x40001, .ld = 4},
         0x60000,
         0,
         "args.a_scale.ld: the scales are a packed tensor and have no leading dimension (4)"},
        {{.pointer = 0x40001, .batch_stride = -5},
         0x60000,
         0,
         "args.a_scale.batch_stride: the batch stride -5 of the scales is negative"},
        {good.a_scale, 0, 0,
         "args.workspace: this kernel packs scales first and needs a workspace of 33792 "
         "bytes"},
        {good.a_scale, 0x60000, 33791,
         "args.workspace_bytes: 8 x 40 with batch 2 needs a workspace of 33792 bytes, 33791 "
         "are given"},
    };
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4");
    const jit_gemm_problem problem =
        emulated_problem("m=8 n=40 k=128 batch=2 a=mxfp8 a_scale_layout=row b=mxfp8 d=f32");
    jit_gemm *gemm = emulated_create(context, &problem);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(gemm, &info));
    cr_expect_eq(info.launches, 2);
    cr_expect_eq(info.workspace_bytes, 33792);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_args args = good;
        args.a_scale = rows[i].a_scale;
        args.workspace = rows[i].workspace;
        args.workspace_bytes = rows[i].workspace_bytes;
        cr_expect_neq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "row %zu", i);
        cr_expect_eq(
            strncmp(jit_gemm_last_error(), rows[i].message, strlen(rows[i].message)), 0,
            "row %zu: %s", i, jit_gemm_last_error());
    }
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

Test(multiplied_scales, batches_may_share_packed_scales)
{
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=random,seed=24");
    const jit_gemm_problem problem = emulated_problem(
        "m=140 n=40 k=320 batch=3 a=nvfp4 a_scale_layout=mn_k4 b=nvfp4 b_scale_layout=row "
        "d=f32");
    struct data data = make_data(&problem);
    data.a.is_shared = data.b.is_shared = true;
    run(context, &problem, &data);
    cr_expect_eq(expect_sums(&data, "shared scales"), 0);
    free_data(&data);
    jit_gemm_context_destroy(&context);
}

Test(multiplied_scales, sums_of_the_reference_kernel_are_the_hosts)
{
    expect_some(0, 1, "m=9 n=140 batch=2", 192, "kernel=reference", "sms=4");
}

/* Of 4-bit floats an instruction has 64 elements of K: the last one's second half may lie
 * behind the end, in each place that it may have in a piece of scales. */
Test(multiplied_scales, sums_that_end_inside_of_an_instruction_are_the_hosts)
{
    static const struct {
        const char *problem, *settings;
    } rows[] = {
        {"m=140 n=200 k=32 batch=1 config=mma=128x96", "sms=4,async=latest"},
        {"m=140 n=200 k=96 batch=1 config=mma=128x96", "sms=2,async=random,seed=7"},
        {"m=300 n=200 k=1056 batch=1 config=mma=128x96 stages=2", "sms=2,async=latest"},
        {"m=140 n=200 k=1504 batch=1 workspace=64m config=mma=128x32 split_k=3",
         "sms=4,async=random,seed=8"},
        {"m=300 n=200 k=352 batch=2 config=mma=256x64 cta_group=2",
         "sms=4,async=random,schedule=starve,seed=9"},
        {"m=700 n=200 k=1184 batch=1 config=mma=256x192 cta_group=2 cluster=4x1 stages=2",
         "sms=4,async=reorder,seed=10"},
        {"m=140 n=200 k=416 batch=1 dynamic=k config=mma=128x96", "sms=4,async=latest"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const char *const names[] = {"mxfp4", "nvfp4"};
        jit_gemm_context *context = emulated_open("sm_100a", rows[i].settings);
        const int step = test_stride(2);
        for (int j = (int)i % step; j < 2; j += step) {
            char text[256];
            snprintf(text, sizeof(text), "a=%s d=f32 %s", names[j], rows[i].problem);
            expect_exact_one(context, text);
        }
        jit_gemm_context_destroy(&context);
    }
}

/* A NaN scale makes its row NaN and no other, and a block of zeros nothing. */
Test(multiplied_scales, a_nan_reaches_its_own_row_only_and_zeros_none)
{
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
    for (int i = 0; i < TYPES; i++) {
        char text[256];
        snprintf(text, sizeof(text), "m=130 n=40 k=%d batch=1 d=f32 %s",
                 round_up(320, types[i].k_step), types[i].text);
        const jit_gemm_problem problem = emulated_problem(text);
        struct data data = make_data(&problem);
        const jit_gemm_dtype dtype = problem.a.scale.dtype;
        element_store(dtype, scale_at(&data.a, 0, 129, 288), 0, NAN);
        element_store(dtype, scale_at(&data.b, 0, 7, 0), 0, 0);
        run(context, &problem, &data);
        cr_expect_eq(expect_sums(&data, text), data.n, "%s: a row has %d elements", text,
                     (int)data.n);
        free_data(&data);
    }
    jit_gemm_context_destroy(&context);
}

/* Beside 8-bit elements those of 4 bits lie at multiples of 32 bytes, which no kernel takes
 * less of. */
Test(multiplied_scales, elements_that_tma_cannot_spread_are_refused_by_name)
{
    const jit_gemm_args good = {.struct_size = sizeof(good),
                                .k = 128,
                                .a = {.pointer = 0x10010},
                                .b = {.pointer = 0x20020, .ld = 192, .batch_stride = 8192},
                                .d = {.pointer = 0x30000},
                                .a_scale = {.pointer = 0x40000},
                                .b_scale = {.pointer = 0x50000}};
    const struct {
        jit_gemm_arg b;
        int64_t k;
        uint64_t a_scale;
        const char *message;
    } rows[] = {
        {good.b, 192, 0x40000,
         "args.k: TMA takes rows of a multiple of 128 elements of e2m1 beside 8-bit ones, "
         "and 192 is none; pad A and B with zeros along K, and their scales with those of "
         "zeros"},
        {good.b, 128, 0x40008,
         "args.a_scale.pointer: the address 0x40008 of the scales is misaligned: this kernel "
         "moves 16 bytes at a time; align the address to 16 bytes"},
        {{.pointer = 0x20010, .ld = 192},
         128,
         0x40000,
         "args.b.pointer: the address 0x20010 of B is misaligned: this kernel moves 32 bytes "
         "at a time; align the address to 32 bytes"},
        {{.pointer = 0x20020, .ld = 160},
         128,
         0x40000,
         "args.b.ld: the stride of 160 elements of B is no multiple of 32 bytes; pad to a "
         "multiple of 64 elements, for instance 192, and give that here"},
        {{.pointer = 0x20020, .ld = 192, .batch_stride = 8160},
         128,
         0x40000,
         "args.b.batch_stride: the stride of 8160 elements of B is no multiple of 32 bytes; "
         "pad to a multiple of 64 elements, for instance 8192, and give that here"},
    };
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4");
    const jit_gemm_problem problem =
        emulated_problem("m=8 n=40 k=128 batch=2 a=mxfp8 b=mxfp4 d=f32 dynamic=k");
    jit_gemm *gemm = emulated_create(context, &problem);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_args args = good;
        args.b = rows[i].b;
        args.k = rows[i].k;
        args.a_scale.pointer = rows[i].a_scale;
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_UNSUPPORTED, "row %zu",
                     i);
        cr_expect_str_eq(jit_gemm_last_error(), rows[i].message, "row %zu: %s", i,
                         jit_gemm_last_error());
    }
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

/* Parts of K without any, where a launch's K is short: beside them lies a NaN in the same
 * word of scales, whatever its block has. */
Test(multiplied_scales, parts_without_k_add_nothing)
{
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
    for (int i = 0; i < TYPES; i++) {
        char text[320];
        snprintf(text, sizeof(text),
                 "m=40 n=72 k=1024 batch=1 d=f32 dynamic=k workspace=64m %s "
                 "config=mma=128x64 split_k=4",
                 types[i].text);
        const jit_gemm_problem problem = emulated_problem(text);
        jit_gemm_problem launched = problem;
        launched.k.size = round_up(160, types[i].k_step);
        struct data data = make_data(&launched);
        run(context, &problem, &data);
        cr_expect_eq(expect_sums(&data, text), 0, "%s: an element is NaN", text);
        free_data(&data);
    }
    jit_gemm_context_destroy(&context);
}

/* Maps of elements that are spread are legal then; scale_edges has the other types. */
Test(multiplied_scales, without_k_d_is_beta_times_c)
{
    jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
    for (int i = 0; i < TYPES; i++) {
        char text[256];
        if (types[i].k_step == 128) {
            snprintf(text, sizeof(text), "m=8 n=40 k=128 batch=1 d=f32 c=f32 dynamic=k %s",
                     types[i].text);
            emulated_expect_half_of_c(context, text);
        }
    }
    emulated_expect_half_of_c(
        context, "m=8 n=40 k=128 batch=1 d=f32 c=f32 dynamic=k a=e4m3 a_scale=1x128ue8m0 "
                 "a_scale_layout=128x4 b=e5m2 b_scale=1x128ue8m0 b_scale_layout=128x4");
    for (int i = 0; i < PACKED_TYPES; i++) { /* nothing is packed then */
        char text[256];
        snprintf(text, sizeof(text), "m=8 n=40 k=128 batch=1 d=f32 c=f32 dynamic=k %s %s",
                 packed_types[i].a, packed_types[i].b);
        emulated_expect_half_of_c(context, strcat(text, " b_scale_layout=mn_k4"));
    }
    jit_gemm_context_destroy(&context);
}
