/* SPDX-License-Identifier: MIT */
/* Scales of blocks of A and B, on the emulator through the public API, bit for bit. Inputs
 * are small integers and scales powers of two, so that every sum is exact and the host's is
 * the same. Whatever lies between scales is NaN, which no element of D may become. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "emulated_fixture.h"
#include "strides.h"
#include "verify/elements.h"

enum { GAP = 3, BATCH_GAP = 7 }; /* scales between rows and between batches */

#define SIZES "m=132 n=260 k=288 batch=2 a=e4m3 d=f32 "

/* A or B: values of `mn` rows along K, and their scales as a launch is given them. */
struct input {
    const jit_gemm_scale *scale;
    int64_t mn, k, batch;
    float *values;
    unsigned char *bytes; /* the same, e4m3 */
    float *scales;
    int64_t ld, batch_stride; /* what lies where; 0 is a broadcast */
    size_t scale_count;
};

struct data {
    const jit_gemm_problem *problem;
    int64_t m, n, k, batch, columns; /* columns: of D */
    struct input a, b;
    float *d;
    int64_t turns; /* sums of an element that are added up at last: 2 with k_turns=1 */
};

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    cr_assert_not_null(memory);
    return memory;
}

/* ------------------------------------------------------------------------- inputs */

static bool has_blocks(const struct input *input)
{
    return input->scale->kind == JIT_GEMM_SCALE_BLOCK;
}

static int64_t round_up(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

/* The scale of a block. */
static float *scale_at(const struct input *input, int64_t batch, int64_t row, int64_t block)
{
    const bool by_columns = input->scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN;
    const int64_t at = by_columns ? block * input->ld + row : row * input->ld + block;
    return &input->scales[batch * input->batch_stride + at];
}

static float value_at(const struct input *input, int64_t batch, int64_t row, int64_t k)
{
    return input->values[(batch * input->mn + row) * input->k + k];
}

static void set_value(struct input *input, int64_t batch, int64_t row, int64_t k,
                      float value)
{
    const int64_t at = (batch * input->mn + row) * input->k + k;
    input->values[at] = value;
    element_store(JIT_GEMM_DTYPE_E4M3, input->bytes, (size_t)at, (double)value);
}

/* Where scales lie: packed by the rules of docs/scales.md, or with gaps. */
static void place_scales(struct input *input, bool is_spread)
{
    const int64_t rows =
        round_up(input->mn, input->scale->block_mn) / input->scale->block_mn;
    const int64_t blocks = round_up(input->k, 128) / 128;
    const bool by_columns = input->scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN;
    input->ld = by_columns ? round_up(rows, 4) : blocks;
    input->ld += is_spread ? GAP : 0;
    input->batch_stride = input->ld * (by_columns ? blocks : rows);
    input->batch_stride += is_spread ? BATCH_GAP : 0;
    input->scale_count = (size_t)(input->batch_stride * input->batch);
    input->scales = allocate(input->scale_count, sizeof(float));
    for (size_t i = 0; i < input->scale_count; i++) {
        input->scales[i] = NAN;
    }
}

static void fill_scales(struct input *input, uint32_t *state)
{
    const int64_t blocks = round_up(input->k, 128) / 128;
    for (int64_t batch = 0; batch < input->batch; batch++) {
        for (int64_t row = 0; row * input->scale->block_mn < input->mn; row++) {
            for (int64_t block = 0; block < blocks; block++) {
                *scale_at(input, batch, row, block) =
                    ldexpf(1, (int)(draw_bits(state) % 7) - 3);
            }
        }
    }
}

static struct input make_input(const jit_gemm_scale *scale, int64_t mn,
                               const struct data *data, bool is_spread, uint32_t state)
{
    struct input input = {.scale = scale, .mn = mn, .k = data->k, .batch = data->batch};
    const size_t count = (size_t)(input.batch * mn * input.k);
    input.values = allocate(count, sizeof(float));
    input.bytes = allocate(count, 1);
    for (int64_t row = 0; row < input.batch * mn; row++) {
        for (int64_t k = 0; k < input.k; k++) {
            set_value(&input, 0, row, k, (float)(draw_bits(&state) % 5) - 2);
        }
    }
    if (has_blocks(&input)) {
        place_scales(&input, is_spread);
        fill_scales(&input, &state);
    }
    return input;
}

static void free_input(struct input *input)
{
    free(input->values);
    free(input->bytes);
    free(input->scales);
}

/* Of a batch that is 0 in the problem there is one. `is_gated`: two columns of B make one
 * of D. */
static struct data make_data(const jit_gemm_problem *problem, bool is_gated, bool is_spread)
{
    struct data data = {.problem = problem,
                        .m = problem->m.size,
                        .n = problem->n.size,
                        .k = problem->k.size,
                        .batch = problem->batch.size};
    data.columns = is_gated ? data.n / 2 : data.n;
    data.a = make_input(&problem->a.scale, data.m, &data, is_spread, 1);
    data.b = make_input(&problem->b.scale, data.n, &data, is_spread, 2);
    data.d = allocate((size_t)(data.batch * data.m * data.columns), sizeof(float));
    return data;
}

static void free_data(struct data *data)
{
    free_input(&data->a);
    free_input(&data->b);
    free(data->d);
}

/* ------------------------------------------------------------------------- the sums */

static float load_scale(const struct input *input, int64_t batch, int64_t row, int64_t k)
{
    return has_blocks(input)
               ? *scale_at(input, batch, row / input->scale->block_mn, k / 128)
               : 1;
}

/* As docs/scales.md has it: of all blocks, or of every other one. */
static float add_blocks(const struct data *data, int64_t batch, int64_t row, int64_t column,
                        int64_t turn)
{
    float sum = 0;
    for (int64_t first = 128 * turn; first < data->k; first += 128 * data->turns) {
        float part = 0;
        for (int64_t k = first; k < first + 128 && k < data->k; k++) {
            part +=
                value_at(&data->a, batch, row, k) * value_at(&data->b, batch, column, k);
        }
        const float scale = load_scale(&data->a, batch, row, first) *
                            load_scale(&data->b, batch, column, first);
        sum = fmaf(part, scale, sum);
    }
    return sum;
}

static float sum_of(const struct data *data, int64_t batch, int64_t row, int64_t column)
{
    const float sum = add_blocks(data, batch, row, column, 0);
    return data->turns == 1 ? sum : sum + add_blocks(data, batch, row, column, 1);
}

/* What D must be; where two columns make one, their difference. */
static float wanted_at(const struct data *data, int64_t batch, int64_t row, int64_t column)
{
    if (data->columns == data->n) {
        return sum_of(data, batch, row, column);
    }
    const bool by_halves = data->problem->pair == JIT_GEMM_PAIR_HALVES;
    const int64_t first = by_halves ? column : 2 * column;
    const int64_t second = by_halves ? column + data->columns : 2 * column + 1;
    return sum_of(data, batch, row, first) - sum_of(data, batch, row, second);
}

static float d_at(const struct data *data, int64_t batch, int64_t row, int64_t column)
{
    const bool by_columns = data->problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    return data->d[batch * data->m * data->columns +
                   (by_columns ? column * data->m + row : row * data->columns + column)];
}

static bool is_same(float x, float y)
{
    uint32_t bits_of_x, bits_of_y;
    memcpy(&bits_of_x, &x, sizeof(x));
    memcpy(&bits_of_y, &y, sizeof(y));
    return (isnan(x) && isnan(y)) || bits_of_x == bits_of_y;
}

/* Compares D with the host's sums, bit for bit; returns how many elements are NaN. */
static int64_t expect_sums(const struct data *data, const char *what)
{
    int64_t wrong = 0, nans = 0;
    char first[96] = "";
    for (int64_t i = 0; i < data->batch * data->m * data->columns; i++) {
        const int64_t batch = i / data->columns / data->m;
        const int64_t row = i / data->columns % data->m, column = i % data->columns;
        const float wanted = wanted_at(data, batch, row, column);
        const float got = d_at(data, batch, row, column);
        nans += isnan(got);
        if (!is_same(got, wanted) && wrong++ == 0) {
            snprintf(first, sizeof(first), "batch %d (%d, %d): %a, not %a", (int)batch,
                     (int)row, (int)column, (double)got, (double)wanted);
        }
    }
    cr_expect_eq(wrong, 0, "%s: %lld elements are wrong, %s", what, (long long)wrong,
                 first);
    return nans;
}

/* ------------------------------------------------------------------------- launches */

static jit_gemm_arg upload_scales(jit_gemm_context *context, const struct input *input)
{
    const bool is_broadcast = input->batch_stride == 0;
    if (!has_blocks(input)) {
        return (jit_gemm_arg){0};
    }
    return (jit_gemm_arg){
        .pointer =
            emulated_upload(context, input->scales, input->scale_count * sizeof(float)),
        .ld = input->ld,
        .batch_stride = is_broadcast ? JIT_GEMM_STRIDE_BROADCAST : input->batch_stride};
}

static uint64_t upload_values(jit_gemm_context *context, const struct input *input)
{
    return emulated_upload(context, input->bytes,
                           (size_t)(input->batch * input->mn * input->k));
}

/* `is_implied`: the launch is not told where scales lie. Fills D. */
static void run(jit_gemm_context *context, jit_gemm *gemm, struct data *data,
                bool is_implied)
{
    const size_t d_bytes = (size_t)(data->batch * data->m * data->columns) * sizeof(float);
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = upload_values(context, &data->a)},
                          .b = {.pointer = upload_values(context, &data->b)},
                          .d = {.pointer = emulated_upload(context, data->d, d_bytes)},
                          .a_scale = upload_scales(context, &data->a),
                          .b_scale = upload_scales(context, &data->b)};
    if (is_implied) {
        args.a_scale.ld = args.b_scale.ld = 0;
        args.a_scale.batch_stride = args.b_scale.batch_stride = 0;
    }
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(gemm, &info));
    data->turns = strstr(info.config, "k_turns=1") != NULL ? 2 : 1;
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_device_download(context, data->d, args.d.pointer, d_bytes));
    const uint64_t addresses[] = {args.a.pointer, args.b.pointer, args.d.pointer,
                                  args.a_scale.pointer, args.b_scale.pointer};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        emulated_free(context, addresses[i]);
    }
}

static jit_gemm_context *open_with(const char *arch, const char *settings)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "difference",
                                        .source = "d = acc0 - acc1;"};
    jit_gemm_context *context = emulated_open(arch, settings);
    emulated_check(jit_gemm_epilogue_register(context, &epilogue));
    return context;
}

static jit_gemm_context *open_context(const char *arch)
{
    return open_with(arch, "sms=4,async=random,seed=5");
}

static void expect_exact_one(jit_gemm_context *context, const char *text, bool is_gated,
                             bool is_spread)
{
    const jit_gemm_problem problem = emulated_problem(text);
    jit_gemm *gemm = emulated_create(context, &problem);
    struct data data = make_data(&problem, is_gated, is_spread);
    run(context, gemm, &data, !is_spread);
    cr_expect_eq(expect_sums(&data, text), 0, "%s: an element is NaN", text);
    free_data(&data);
    jit_gemm_destroy(&gemm);
}

/* Runs a problem with scales packed and with gaps, each as its index says. */
static void expect_exact(const char *arch, const char *const *texts, int count,
                         const char *sizes, bool is_gated)
{
    jit_gemm_context *context = open_context(arch);
    for (int i = 0; i < count; i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s %s", sizes, texts[i]);
        expect_exact_one(context, text, is_gated, i % 2 == 1);
    }
    jit_gemm_context_destroy(&context);
}

/* ------------------------------------------------------------------- kinds and layouts */

#define COUNT_OF(list) ((int)(sizeof(list) / sizeof((list)[0])))

/* Neighbours of the list have gaps or none. Each half has every kind and layout of either
 * matrix. */
static const char *const kinds[] = {
    "a_scale=1x128 b_scale=128x128",
    "a_scale=128x128 b_scale=128x128 b_scale_layout=column",
    "a_scale=1x128 b_scale=1x128 a_scale_layout=column",
    "a_scale=128x128",
    "a_scale=128x128 b_scale=1x128 a_scale_layout=column b_scale_layout=column",
    "b_scale=1x128",
    "a_scale=1x128 a_scale_layout=column",
    "b_scale=128x128 b_scale_layout=column",

    "a_scale=1x128 b_scale=128x128 a_scale_layout=column b_scale_layout=column",
    "a_scale=128x128 b_scale=128x128 a_scale_layout=column",
    "a_scale=128x128 b_scale=1x128",
    "a_scale=1x128 b_scale=1x128 b_scale_layout=column",
    "a_scale=128x128 a_scale_layout=column",
    "a_scale=1x128",
    "b_scale=128x128",
    "b_scale=1x128 b_scale_layout=column",
};

/* As a rule each chip has a half of the list. */
static void expect_half(const char *arch, int half)
{
    const int count = COUNT_OF(kinds) / test_stride(2);
    const int first = count < COUNT_OF(kinds) ? half * count : 0;
    expect_exact(arch, kinds + first, count, SIZES, false);
}

Test(input_scales, sums_are_the_hosts_on_sm_90a)
{
    expect_half("sm_90a", 0);
}

Test(input_scales, sums_are_the_hosts_on_sm_100a)
{
    expect_half("sm_100a", 1);
}

/* Every form of either chip in every second way of asynchrony, and of whose turn it is.
 * JIT_GEMM_TEST_SEEDS=COUNT: all kinds and layouts, with so many seeds, from
 * JIT_GEMM_TEST_SEED on. */
Test(input_scales, sums_are_the_hosts_in_every_mode, .timeout = 3600)
{
    static const struct {
        const char *arch, *config;
        int k;
    } forms[] = {
        {"sm_90a", "tile=64x128 stages=2", 416}, /* with k_turns */
        {"sm_90a", "tile=64x128 stages=3", 416},
        {"sm_90a", "tile=64x160 swap_ab=1 stages=2", 416},
        {"sm_90a", "tile=128x128 cluster=2x1 stages=2", 416},
        {"sm_100a", "mma=128x64 stages=2", 416},
        {"sm_100a", "mma=256x64 cta_group=2 stages=2", 416},
        {"sm_100a", "mma=128x32 swap_ab=1 stages=2", 416},
        /* Blocks that overlap, in runs of four and behind these; in turn, and not. */
        {"sm_90a", "tile=64x96 swap_ab=1 stages=4", 1312},
        {"sm_90a", "tile=128x112 stages=3", 800},
    };
    const struct emulated_seeds seeds = emulated_seeds(4);
    const int step = seeds.all ? 1 : COUNT_OF(kinds);
    for (int i = 0; i < seeds.count * COUNT_OF(forms); i += seeds.all ? 1 : 2) {
        const int seed = seeds.first + i / COUNT_OF(forms), form = i % COUNT_OF(forms);
        char settings[EMULATED_SETTINGS_BYTES];
        emulated_settings_of(seed, settings);
        jit_gemm_context *context = open_with(forms[form].arch, settings);
        for (int j = 3 * i % step; j < COUNT_OF(kinds); j += step) {
            char text[256];
            snprintf(text, sizeof(text),
                     "m=132 n=140 k=%d batch=1 a=e4m3 d=f32 %s config=%s", forms[form].k,
                     kinds[j], forms[form].config);
            expect_exact_one(context, text, false, (seed + j) % 2 == 1);
        }
        jit_gemm_context_destroy(&context);
    }
}

/* A warpgroup ends a tile with the last block, and begins the next one in a stage that was
 * the other one's: that it looked at ahead, when an older block's copy was still under way.
 */
Test(input_scales, an_odd_number_of_blocks_in_turn_leaves_the_next_tile_right)
{
    for (int seed = 1; seed <= 2; seed++) {
        char settings[64];
        snprintf(settings, sizeof(settings), "sms=2,async=reorder,schedule=deep,seed=%d",
                 seed);
        jit_gemm_context *context = open_with("sm_90a", settings);
        expect_exact_one(context,
                         "m=5 n=264 k=1408 batch=2 a=e4m3 d=f32 a_scale=128x128 "
                         "b_scale=1x128 b_scale_layout=column "
                         "config=tile=64x32 swap_ab=1 k_turns=1 stages=2",
                         false, false);
        jit_gemm_context_destroy(&context);
    }
}

Test(input_scales, sums_of_every_rest_of_k_are_the_hosts)
{
    static const int sizes[] = {32, 64, 96, 1056, 1152, 1504, 2880};
    for (int i = 0; i < EMULATED_ARCHS * COUNT_OF(sizes); i += test_stride(3)) {
        char text[64];
        snprintf(text, sizeof(text), "m=33 n=140 batch=1 d=f32 a=e4m3 k=%d",
                 sizes[i / EMULATED_ARCHS]);
        expect_exact(emulated_archs[i % EMULATED_ARCHS], kinds + i, 1, text, false);
    }
}

Test(input_scales, sums_of_the_reference_kernel_are_the_hosts)
{
    static const char *const texts[] = {
        "a_scale=1x128 b_scale=128x128 b_scale_layout=column config=kernel=reference",
        "a_scale=128x128 b_scale=1x128 a_scale_layout=column config=kernel=reference",
    };
    expect_exact("sm_90a", texts, COUNT_OF(texts), "m=9 n=140 k=160 batch=2 a=e4m3 d=f32",
                 false);
}

Test(input_scales, sums_of_the_transposed_product_are_the_hosts)
{
    static const char *const texts[] = {
        "d_layout=column a_scale=1x128 b_scale=128x128",
        "d_layout=column a_scale=128x128 b_scale=1x128 b_scale_layout=column",
        "d_layout=column b_scale=1x128",
    };
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        expect_exact(emulated_archs[i], texts, COUNT_OF(texts), SIZES, false);
    }
}

/* Their own of 128 columns, and those of rows of a transposed tile of as many. */
Test(input_scales, sums_of_large_tiles_with_scales_of_columns_are_the_hosts)
{
    static const char *const texts[] = {
        "a_scale=1x128 b_scale=1x128 config=tile=256x128 cluster=1x2 stages=2",
        "b_scale=1x128 config=tile=256x128 cluster=1x1 stages=2",
        "a_scale=128x128 b_scale=1x128 b_scale_layout=column config=tile=128x128 stages=2",
        "a_scale=1x128 b_scale=1x128 config=tile=128x112 stages=2",
        "a_scale=1x128 b_scale=1x128 config=tile=64x96 swap_ab=1 stages=2",
        "a_scale=128x128 b_scale=1x128 config=tile=128x128 swap_ab=1 stages=2",
    };
    expect_exact("sm_90a", texts, COUNT_OF(texts), "m=300 n=260 k=416 batch=1 a=e4m3 d=f32",
                 false);
}

/* ... of 128 rows of D and 256 columns, which a warpgroup writes in two steps of lanes. */
Test(input_scales, sums_of_wide_transposed_tiles_are_the_hosts)
{
    static const char *const texts[] = {
        "a_scale=128x128 b_scale=1x128 config=tile=256x128 swap_ab=1 stages=2",
        "b_scale=1x128 b_scale_layout=column config=tile=256x128 swap_ab=1",
        "a_scale=128x128 b_scale=1x128 config=tile=256x128 swap_ab=1 cluster=2x1 stages=2",
        "d_layout=column a_scale=1x128 b_scale=128x128 config=tile=256x128 swap_ab=0",
    };
    static const char *const sizes[] = {
        "m=300 n=260 k=416 batch=2 a=e4m3 d=f32", "m=256 n=512 k=128 batch=1 a=e4m3 d=f32",
        "m=132 n=524 k=672 batch=1 a=e4m3 d=f32", "m=4 n=4 k=96 batch=3 a=e4m3 d=f32"};
    const int step = test_stride(2);
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        for (int j = i % step; j < COUNT_OF(texts); j += step) {
            expect_exact("sm_90a", texts + j, 1, sizes[i], false);
        }
    }
}

Test(input_scales, accumulators_of_gated_pairs_are_the_hosts)
{
    static const char *const texts[] = {
        "pair=halves a_scale=1x128 b_scale=128x128",
        "a_scale=1x128 b_scale=128x128 b_scale_layout=column",
        "b_scale=1x128",
        "pair=halves d_layout=column a_scale=1x128 b_scale=1x128",
        "d_layout=column a_scale=128x128 b_scale=128x128",
        "pair=halves a_scale=1x128 b_scale=1x128",
    };
    static const char *const sizes[] = {
        "m=72 n=512 k=672 batch=1 a=e4m3 d=f32 epilogue=difference", /* words of rows */
        "m=132 n=512 k=160 batch=1 a=e4m3 d=f32 epilogue=difference"};
    const int step = test_stride(2);
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        for (int j = i % step; j < COUNT_OF(texts); j += step) {
            expect_exact(emulated_archs[i], texts + j, 1, sizes[i], true);
        }
    }
}

/* ------------------------------------------------------------------------------ edges */

/* A batch's blocks `row` by `block` have this scale. */
struct edge {
    const char *what;
    bool is_b;
    int64_t row, block;
    float value;
};

/* Elements of D that the scales of a row of blocks reach. */
static int64_t count_reached(const struct data *data, const struct edge *edge)
{
    const struct input *input = edge->is_b ? &data->b : &data->a;
    const int64_t first = edge->row * input->scale->block_mn;
    const int64_t left = input->mn - first;
    const int64_t rows = left < input->scale->block_mn ? left : input->scale->block_mn;
    return rows * (edge->is_b ? data->m : data->n);
}

static const char *const edge_kinds[] = {
    "a_scale=1x128 b_scale=128x128 a_scale_layout=column",
    "a_scale=128x128 b_scale=1x128 b_scale_layout=column",
};

enum { EDGE_KINDS = sizeof(edge_kinds) / sizeof(edge_kinds[0]) };

/* Runs one problem of each kind on each chip after `change` and gives the elements that are
 * NaN to `expect`. */
static void run_edges(void (*change)(struct data *data),
                      void (*expect)(const struct data *data, int64_t nans))
{
    for (int i = 0; i < EMULATED_ARCHS * EDGE_KINDS; i++) {
        char text[256];
        jit_gemm_context *context = open_context(emulated_archs[i / EDGE_KINDS]);
        snprintf(text, sizeof(text), SIZES "%s", edge_kinds[i % EDGE_KINDS]);
        const jit_gemm_problem problem = emulated_problem(text);
        jit_gemm *gemm = emulated_create(context, &problem);
        struct data data = make_data(&problem, false, true);
        change(&data);
        run(context, gemm, &data, false);
        expect(&data, expect_sums(&data, text));
        free_data(&data);
        jit_gemm_destroy(&gemm);
        jit_gemm_context_destroy(&context);
    }
}

static int64_t last_row(const struct input *input)
{
    return (input->mn - 1) / input->scale->block_mn;
}

/* One scale is NaN: of A's last row of blocks, in the first batch. */
static void make_a_nan(struct data *data)
{
    *scale_at(&data->a, 0, last_row(&data->a), 1) = NAN;
}

static void expect_row_of_nan(const struct data *data, int64_t nans)
{
    const struct edge edge = {.row = last_row(&data->a)};
    cr_expect_eq(nans, count_reached(data, &edge), "%lld elements", (long long)nans);
}

Test(input_scales, scale_of_a_that_is_nan_makes_its_rows_nan)
{
    run_edges(make_a_nan, expect_row_of_nan);
}

/* The same of a block without products. */
static void make_a_nan_of_zeros(struct data *data)
{
    make_a_nan(data);
    for (int64_t row = last_row(&data->a) * data->a.scale->block_mn; row < data->m; row++) {
        for (int64_t k = 128; k < 256; k++) {
            set_value(&data->a, 0, row, k, 0);
        }
    }
}

Test(input_scales, scale_that_is_nan_makes_its_rows_nan_through_zeros)
{
    run_edges(make_a_nan_of_zeros, expect_row_of_nan);
}

/* ... of B's last columns, in the second batch, in the block that K cuts. */
static void make_b_nan(struct data *data)
{
    *scale_at(&data->b, 1, last_row(&data->b), 2) = NAN;
}

static void expect_columns_of_nan(const struct data *data, int64_t nans)
{
    const struct edge edge = {.is_b = true, .row = last_row(&data->b)};
    cr_expect_eq(nans, count_reached(data, &edge), "%lld elements", (long long)nans);
}

Test(input_scales, scale_of_b_that_is_nan_makes_its_columns_nan)
{
    run_edges(make_b_nan, expect_columns_of_nan);
}

/* Scales of 0 and blocks of zeros are no numbers of another kind; an infinite scale of a
 * block whose products add up to 0 is NaN, and so is one beside a scale of 0. */
static void make_zeros_and_infinities(struct data *data)
{
    for (int64_t k = 128; k < 256; k++) { /* a row without products, in a finite block */
        set_value(&data->a, 0, 3, k, 0);
        set_value(&data->a, 1, 5, k, 0); /* ... and in an infinite one */
    }
    *scale_at(&data->a, 0, 0, 0) = 0;
    *scale_at(&data->a, 0, last_row(&data->a), 2) = INFINITY;
    *scale_at(&data->a, 1, 5 / data->a.scale->block_mn, 1) = INFINITY;
    *scale_at(&data->b, 0, 1, 1) = 0;
    *scale_at(&data->b, 1, 1, 1) = 0;
    *scale_at(&data->b, 0, 0, 2) = -INFINITY;
}

static void expect_some_of_each(const struct data *data, int64_t nans)
{
    int64_t infinities = 0;
    for (int64_t i = 0; i < data->batch * data->m * data->n; i++) {
        infinities += isinf(data->d[i]) != 0;
    }
    cr_expect_geq(nans, data->n, "a row of zeros times an infinite scale");
    cr_expect_gt(infinities, 0, "sums times an infinite scale");
}

Test(input_scales, zeros_and_infinities_are_those_of_ieee)
{
    run_edges(make_zeros_and_infinities, expect_some_of_each);
}

/* Scales whose product is too small or too large for f32, or subnormal, as they are. */
static void make_extremes(struct data *data)
{
    *scale_at(&data->a, 0, 0, 0) = 0x1p-149F;
    *scale_at(&data->b, 0, 0, 0) = 0x1p-20F;
    *scale_at(&data->a, 0, last_row(&data->a), 1) = 0x1p100F;
    *scale_at(&data->b, 0, last_row(&data->b), 1) = -0x1p100F;
    *scale_at(&data->a, 1, 0, 2) = 0x1p-140F;
    *scale_at(&data->b, 1, 0, 2) = -0.0F;
}

/* The same in tiles of sm_90a that such sizes do not choose. */
Test(input_scales, edges_of_large_tiles_are_the_hosts)
{
    static void (*const changes[])(struct data *
                                   data) = {make_a_nan, make_a_nan_of_zeros, make_b_nan,
                                            make_zeros_and_infinities, make_extremes};
    static const char *const texts[] = {
        "a_scale=1x128 b_scale=1x128 config=tile=256x128 cluster=1x2 stages=2",
        "a_scale=1x128 b_scale=1x128 config=tile=128x96 stages=2",
        "a_scale=128x128 b_scale=1x128 config=tile=256x128 swap_ab=1 stages=2",
        "a_scale=1x128 b_scale=128x128 config=tile=128x64 swap_ab=1 stages=2",
    };
    jit_gemm_context *context = open_context("sm_90a");
    for (int i = 0; i < COUNT_OF(texts); i++) {
        char text[256];
        snprintf(text, sizeof(text), SIZES "%s", texts[i]);
        const jit_gemm_problem problem = emulated_problem(text);
        jit_gemm *gemm = emulated_create(context, &problem);
        const int step = test_stride(2);
        for (int j = i % step; j < COUNT_OF(changes); j += step) {
            struct data data = make_data(&problem, false, j % 2 == 0);
            changes[j](&data);
            run(context, gemm, &data, false);
            expect_sums(&data, text);
            free_data(&data);
        }
        jit_gemm_destroy(&gemm);
    }
    jit_gemm_context_destroy(&context);
}

/* No powers of two: what is rounded when, and in which order, is in the bits. */
static void make_fractions(struct data *data)
{
    uint32_t state = 11;
    struct input *const inputs[] = {&data->a, &data->b};
    for (int i = 0; i < 2; i++) {
        for (size_t j = 0; j < inputs[i]->scale_count; j++) {
            float *scale = &inputs[i]->scales[j];
            *scale = isnan(*scale) ? *scale : 0.3F + (float)draw_bits(&state) * 0x1p-16F;
        }
    }
}

static void share_scales(struct data *data)
{
    data->a.batch_stride = data->b.batch_stride = 0;
}

static void expect_no_nan(const struct data *data, int64_t nans)
{
    cr_expect_eq(nans, 0, "%lld elements of %lld", (long long)nans,
                 (long long)(data->m * data->n));
}

Test(input_scales, parts_of_k_are_multiplied_and_then_added_in_their_order)
{
    run_edges(make_fractions, expect_no_nan);
}

Test(input_scales, batches_may_share_scales)
{
    run_edges(share_scales, expect_no_nan);
}

/* ---------------------------------------------------------------------------- K is 0 */

Test(input_scales, without_k_d_is_beta_times_c)
{
    for (int i = 0; i < EMULATED_ARCHS * EDGE_KINDS; i++) {
        char text[256];
        jit_gemm_context *context = open_context(emulated_archs[i / EDGE_KINDS]);
        snprintf(text, sizeof(text), "m=132 n=260 k=288 a=e4m3 d=f32 c=f32 dynamic=k %s",
                 edge_kinds[i % EDGE_KINDS]);
        emulated_expect_half_of_c(context, text);
        jit_gemm_context_destroy(&context);
    }
}
