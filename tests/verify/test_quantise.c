/* SPDX-License-Identifier: MIT */
/* Does the comparison of scaled blocks find what a kernel could do wrong? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "verify/quantise.h"

enum { ROWS = 3, COLUMNS = 300, LD = 304, BLOCKS = 3, MOST_SCALES = 4096 };

/* A right D of random elements, with its scales. Those of row 1 are `factor` times as
 * great. */
struct blocks {
    jit_gemm_scale scale;
    struct element_view view, ref_view, scale_view;
    float ref[ROWS * COLUMNS];
    unsigned char d[ROWS * LD];
    uint32_t scales[MOST_SCALES];
};

static void make_blocks_times(struct blocks *blocks, jit_gemm_dtype type, uint32_t block,
                              jit_gemm_scale_layout layout, float factor)
{
    const jit_gemm_dtype d =
        type == JIT_GEMM_DTYPE_UE4M3 ? JIT_GEMM_DTYPE_E2M1 : JIT_GEMM_DTYPE_E4M3;
    memset(blocks, 0, sizeof(*blocks));
    blocks->scale = (jit_gemm_scale){.kind = JIT_GEMM_SCALE_BLOCK,
                                     .dtype = type,
                                     .block_mn = 1,
                                     .block_k = block,
                                     .layout = layout};
    blocks->ref_view = (struct element_view){JIT_GEMM_DTYPE_F32, 1, ROWS, COLUMNS, COLUMNS,
                                             ROWS * COLUMNS};
    blocks->view = (struct element_view){d, 1, ROWS, COLUMNS, LD, ROWS * LD};
    blocks->scale_view = quantise_scale_view(&blocks->scale, 1, ROWS, COLUMNS);
    cr_assert_leq(element_view_bytes(&blocks->scale_view), sizeof(blocks->scales));
    element_fill_random(&blocks->ref_view, blocks->ref, 7);
    for (int column = 0; column < COLUMNS; column++) {
        blocks->ref[COLUMNS + column] *= factor;
    }
    element_fill_poison(&blocks->view, blocks->d);
    element_fill_poison(&blocks->scale_view, blocks->scales);
    for (int row = 0; row < ROWS; row++) {
        for (int begin = 0; begin < COLUMNS; begin += (int)block) {
            const int end = begin + (int)block < COLUMNS ? begin + (int)block : COLUMNS;
            float amax = 0;
            for (int column = begin; column < end; column++) {
                amax = fmaxf(amax, fabsf(blocks->ref[row * COLUMNS + column]));
            }
            const float scale = quantise_scale(&blocks->scale, d, amax);
            const int64_t index = quantise_scale_index(&blocks->scale, ROWS, COLUMNS, row,
                                                       begin / (int64_t)block);
            element_store(type, blocks->scales, (size_t)index, (double)scale);
            for (int column = begin; column < end; column++) {
                element_store(
                    d, blocks->d, (size_t)(row * LD + column),
                    quantise_element(d, scale, blocks->ref[row * COLUMNS + column]));
            }
        }
    }
    if (quantise_has_words(&blocks->scale)) { /* 300 columns lack 2 of their last 4 */
        for (int row = 0; row < ROWS; row++) {
            for (int block_of_row = 10; block_of_row < 12; block_of_row++) {
                ((unsigned char *)blocks->scales)[quantise_scale_index(
                    &blocks->scale, ROWS, COLUMNS, row, block_of_row)] = 0;
            }
        }
    }
}

static void make_blocks(struct blocks *blocks, jit_gemm_dtype type, uint32_t block,
                        jit_gemm_scale_layout layout)
{
    make_blocks_times(blocks, type, block, layout, 1);
}

/* Are elements right, and scales? */
static void compare(const struct blocks *blocks, struct compare_report *ret_elements,
                    struct compare_report *ret_scales)
{
    const struct quantised all = {.scale = &blocks->scale,
                                  .view = &blocks->view,
                                  .scale_view = &blocks->scale_view,
                                  .ref_view = &blocks->ref_view,
                                  .data = blocks->d,
                                  .scales = blocks->scales,
                                  .ref = blocks->ref};
    const struct compare_bounds exact = {0};
    quantise_compare(&all, &exact, ret_elements, ret_scales);
}

static bool passes(const struct blocks *blocks)
{
    struct compare_report elements, scales;
    compare(blocks, &elements, &scales);
    return elements.pass && scales.pass;
}

static void make_1x128(struct blocks *blocks)
{
    make_blocks(blocks, JIT_GEMM_DTYPE_F32, 128, JIT_GEMM_SCALE_LAYOUT_ROW);
}

static void make_pieces(struct blocks *blocks)
{
    make_blocks(blocks, JIT_GEMM_DTYPE_UE8M0, 32, JIT_GEMM_SCALE_LAYOUT_128X4);
}

Test(quantise, right_blocks_pass_in_every_layout)
{
    static struct blocks blocks;
    make_1x128(&blocks);
    cr_expect(passes(&blocks));
    make_blocks(&blocks, JIT_GEMM_DTYPE_F32, 128, JIT_GEMM_SCALE_LAYOUT_COLUMN);
    cr_expect(passes(&blocks));
    make_blocks(&blocks, JIT_GEMM_DTYPE_UE8M0, 32, JIT_GEMM_SCALE_LAYOUT_ROW);
    cr_expect(passes(&blocks));
    make_pieces(&blocks);
    cr_expect(passes(&blocks));
    make_blocks(&blocks, JIT_GEMM_DTYPE_UE8M0, 32, JIT_GEMM_SCALE_LAYOUT_8X4);
    cr_expect(passes(&blocks));
    make_blocks(&blocks, JIT_GEMM_DTYPE_UE8M0, 32, JIT_GEMM_SCALE_LAYOUT_MN_K4);
    cr_expect(passes(&blocks));
    make_blocks(&blocks, JIT_GEMM_DTYPE_UE4M3, 16, JIT_GEMM_SCALE_LAYOUT_ROW);
    cr_expect(passes(&blocks));
}

/* Squares of two rows: the third row has blocks of its own. */
static void make_squares(struct blocks *blocks)
{
    make_1x128(blocks);
    blocks->scale.block_mn = 2;
    cr_assert_eq(quantise_scale_rows(&blocks->scale, ROWS), 2);
    blocks->scale_view = quantise_scale_view(&blocks->scale, 1, 2, COLUMNS);
    memset(blocks->scales, 0, sizeof(blocks->scales));
    for (int i = 0; i < 2 * BLOCKS; i++) {
        const int first_row = i / BLOCKS * 2, begin = i % BLOCKS * 128;
        const int end_row = first_row + 2 < ROWS ? first_row + 2 : ROWS;
        const int end = begin + 128 < COLUMNS ? begin + 128 : COLUMNS;
        float amax = 0;
        for (int row = first_row; row < end_row; row++) {
            for (int column = begin; column < end; column++) {
                amax = fmaxf(amax, fabsf(blocks->ref[row * COLUMNS + column]));
            }
        }
        const float scale = quantise_scale(&blocks->scale, blocks->view.dtype, amax);
        element_store(JIT_GEMM_DTYPE_F32, blocks->scales, (size_t)i, (double)scale);
        for (int row = first_row; row < end_row; row++) {
            for (int column = begin; column < end; column++) {
                element_store(blocks->view.dtype, blocks->d, (size_t)(row * LD + column),
                              quantise_element(blocks->view.dtype, scale,
                                               blocks->ref[row * COLUMNS + column]));
            }
        }
    }
}

Test(quantise, a_scale_of_several_rows_is_that_of_all_of_them)
{
    static struct blocks blocks;
    struct compare_report elements, scales;
    make_squares(&blocks);
    compare(&blocks, &elements, &scales);
    cr_expect(elements.pass && scales.pass);
    cr_expect_eq(scales.elements, 2 * BLOCKS);
    cr_expect_eq(elements.elements, ROWS * COLUMNS);
    /* One of another row, one of another block, one that is none. */
    blocks.ref[COLUMNS + 200] = 100;
    compare(&blocks, &elements, &scales);
    cr_expect_eq(scales.over_bound, 1);
    cr_expect_eq(scales.row, 0);
    cr_expect_eq(scales.column, 128);
    make_squares(&blocks);
    blocks.d[LD + 5] ^= 0x10;
    compare(&blocks, &elements, &scales);
    cr_expect_eq(elements.over_bound, 1);
    cr_expect_eq(elements.row, 1);
    make_squares(&blocks);
    blocks.ref[2 * COLUMNS + 299] = NAN;
    compare(&blocks, &elements, &scales);
    cr_expect_eq(scales.over_bound, 1);
    cr_expect_gt(elements.wrong_nan, 0);
}

Test(quantise, half_a_byte_that_is_wrong_fails)
{
    static struct blocks blocks;
    struct compare_report elements, scales;
    make_blocks(&blocks, JIT_GEMM_DTYPE_UE4M3, 16, JIT_GEMM_SCALE_LAYOUT_ROW);
    blocks.d[(2 * LD + 298) / 2] ^= 0x10; /* column 299 */
    compare(&blocks, &elements, &scales);
    cr_expect_eq(elements.over_bound, 1);
    cr_expect_eq(elements.column, 299);
    cr_expect(scales.pass);
    blocks.d[(2 * LD + 298) / 2] ^= 0x10;
    ((unsigned char *)blocks.scales)[20]++; /* row 1, block 1 of 19 */
    compare(&blocks, &elements, &scales);
    cr_expect_eq(scales.over_bound, 1);
    cr_expect_eq(scales.column, 16);
}

Test(quantise, scales_of_nv_are_rounded_to_nearest_and_never_zero)
{
    const jit_gemm_scale nv = {.kind = JIT_GEMM_SCALE_BLOCK,
                               .dtype = JIT_GEMM_DTYPE_UE4M3,
                               .block_mn = 1,
                               .block_k = 16};
    static const struct {
        float amax, scale;
    } rows[] = {{0, 0x1p-9F},
                {0x1p-149F, 0x1p-9F},
                {6, 1},
                {6 * 1.0625F, 1},
                {6 * 1.1875F, 1.25F},
                {6 * 448, 448},
                {6 * 0x1.8p-9F, 0x1p-8F},
                {1e9F, 448},
                {INFINITY, 448}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const float scale = quantise_scale(&nv, JIT_GEMM_DTYPE_E2M1, rows[i].amax);
        cr_expect(scale >= rows[i].scale && scale <= rows[i].scale, "%a: %a",
                  (double)rows[i].amax, (double)scale);
    }
    cr_expect(isnan(quantise_scale(&nv, JIT_GEMM_DTYPE_E2M1, NAN)));
}

Test(quantise, blocks_that_no_scale_fits_are_counted_and_not_in_the_relative_error)
{
    static const float factors[] = {1e9F, 1e-9F};
    static struct blocks blocks;
    struct compare_report elements, scales;
    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
        make_blocks_times(&blocks, JIT_GEMM_DTYPE_UE4M3, 16, JIT_GEMM_SCALE_LAYOUT_ROW,
                          factors[i]);
        compare(&blocks, &elements, &scales);
        cr_expect(elements.pass && scales.pass);
        cr_expect_eq(elements.unfit_blocks, 19); /* all of row 1 */
        cr_expect(elements.rel_error > 0 && elements.rel_error < 0.2);
        char text[256];
        compare_describe(&elements, text, sizeof(text));
        cr_expect_not_null(strstr(text, ", without 19 blocks whose scale is out of range"),
                           "%s", text);
        blocks.d[LD / 2] ^= 4; /* they are compared all the same: row 1, column 0 */
        compare(&blocks, &elements, &scales);
        cr_expect_eq(elements.over_bound, 1);
    }
    make_blocks_times(&blocks, JIT_GEMM_DTYPE_F32, 128, JIT_GEMM_SCALE_LAYOUT_ROW, 1e9F);
    compare(&blocks, &elements, &scales);
    cr_expect_eq(elements.unfit_blocks, 0);
}

Test(quantise, no_relative_error_is_told_where_no_scale_fits_any_block)
{
    static struct blocks blocks;
    struct compare_report elements, scales;
    char text[256];
    make_blocks_times(&blocks, JIT_GEMM_DTYPE_UE4M3, 16, JIT_GEMM_SCALE_LAYOUT_ROW, 1e9F);
    blocks.view.rows = blocks.ref_view.rows = 1;
    blocks.ref_view.batch_stride = COLUMNS;
    blocks.view.batch_stride = LD;
    blocks.scale_view = quantise_scale_view(&blocks.scale, 1, 1, COLUMNS);
    memmove(blocks.ref, blocks.ref + COLUMNS, COLUMNS * sizeof(float));
    memmove(blocks.d, blocks.d + LD / 2, LD / 2);
    memmove(blocks.scales, (unsigned char *)blocks.scales + 19, 19);
    compare(&blocks, &elements, &scales);
    compare_describe(&elements, text, sizeof(text));
    cr_expect(elements.pass && scales.pass && isnan(elements.rel_error));
    cr_expect_str_eq(text, "300 elements, no relative error, without 19 blocks whose scale "
                           "is out of range: change alpha");
}

Test(quantise, a_relative_error_over_its_bound_fails)
{
    static struct blocks blocks;
    struct compare_report elements, scales;
    make_1x128(&blocks);
    const struct quantised all = {.scale = &blocks.scale,
                                  .view = &blocks.view,
                                  .scale_view = &blocks.scale_view,
                                  .ref_view = &blocks.ref_view,
                                  .data = blocks.d,
                                  .scales = blocks.scales,
                                  .ref = blocks.ref};
    const struct compare_bounds loose = {.element_relative = 0.5};
    for (int row = 0; row < ROWS; row++) { /* each half of what it should be */
        for (int column = 0; column < COLUMNS; column++) {
            const size_t at = (size_t)(row * LD + column);
            element_store(JIT_GEMM_DTYPE_E4M3, blocks.d, at,
                          element_load(JIT_GEMM_DTYPE_E4M3, blocks.d, at) / 2);
        }
    }
    quantise_compare(&all, &loose, &elements, &scales);
    cr_expect(elements.over_bound == 0 && scales.pass);
    cr_expect_not(elements.pass);
}

Test(quantise, a_scale_that_is_off_by_one_unit_fails)
{
    static struct blocks blocks;
    struct compare_report elements, scales;
    make_1x128(&blocks);
    blocks.scales[4]++; /* row 1, block 1 */
    compare(&blocks, &elements, &scales);
    cr_expect_eq(scales.over_bound, 1);
    cr_expect_eq(scales.row, 1);
    cr_expect_eq(scales.column, 128);
    make_pieces(&blocks);
    ((unsigned char *)blocks.scales)[0]++;
    compare(&blocks, &elements, &scales);
    cr_expect_eq(scales.over_bound, 1);
}

Test(quantise, an_element_that_is_off_by_one_unit_fails)
{
    static struct blocks blocks;
    struct compare_report elements, scales;
    make_1x128(&blocks);
    blocks.d[2 * LD + 299] ^= 1;
    compare(&blocks, &elements, &scales);
    cr_expect_eq(elements.over_bound + elements.wrong_nan, 1);
    cr_expect_eq(elements.row, 2);
    cr_expect_eq(elements.column, 299);
    cr_expect(scales.pass);
}

Test(quantise, a_scale_that_was_not_written_fails)
{
    static struct blocks blocks;
    make_1x128(&blocks);
    memset(&blocks.scales[8], 0xff, sizeof(blocks.scales[8]));
    cr_expect_not(passes(&blocks));
}

Test(quantise, a_write_beside_rows_or_scales_fails)
{
    static struct blocks blocks;
    struct compare_report elements, scales;
    make_1x128(&blocks);
    blocks.d[COLUMNS] = 0;
    compare(&blocks, &elements, &scales);
    cr_expect_eq(elements.stray_writes, 1);
    make_blocks(&blocks, JIT_GEMM_DTYPE_F32, 128, JIT_GEMM_SCALE_LAYOUT_COLUMN);
    blocks.scales[ROWS] = 0; /* what rounds the first column up to 4 */
    compare(&blocks, &elements, &scales);
    cr_expect_eq(scales.stray_writes, 1);
}

Test(quantise, missing_blocks_of_four_must_be_zero)
{
    static const jit_gemm_scale_layout layouts[] = {JIT_GEMM_SCALE_LAYOUT_128X4,
                                                    JIT_GEMM_SCALE_LAYOUT_8X4,
                                                    JIT_GEMM_SCALE_LAYOUT_MN_K4};
    static struct blocks blocks;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        struct compare_report elements, scales;
        make_blocks(&blocks, JIT_GEMM_DTYPE_UE8M0, 32, layouts[i]);
        ((unsigned char *)
             blocks.scales)[quantise_scale_index(&blocks.scale, ROWS, COLUMNS, 1, 10)] =
            0xff;
        compare(&blocks, &elements, &scales);
        cr_expect_eq(scales.over_bound, 1);
        cr_expect_eq(scales.row, 1);
    }
}

Test(quantise, recipes_have_words)
{
    static const struct {
        jit_gemm_dtype scale, d;
        const char *text;
    } rows[] = {
        {JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_E5M2, "amax / 57344, in f32;"},
        {JIT_GEMM_DTYPE_UE8M0, JIT_GEMM_DTYPE_E4M3,
         "amax / 448, the next power of two (RCEIL);"},
        {JIT_GEMM_DTYPE_UE4M3, JIT_GEMM_DTYPE_E2M1, "amax / 6, the nearest e4m3, not 0;"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const jit_gemm_scale scale = {.kind = JIT_GEMM_SCALE_BLOCK, .dtype = rows[i].scale};
        char text[128];
        quantise_describe(&scale, rows[i].d, text, sizeof(text));
        cr_expect_not_null(strstr(text, rows[i].text), "%s", text);
    }
}

Test(quantise, powers_of_two_are_rounded_up)
{
    static const struct {
        double value;
        unsigned char byte;
    } rows[] = {{0, 0},         {0x1p-149, 0},      {0x1p-127, 0}, {0x1.8p-127, 1},
                {0x1p-126, 1},  {1, 127},           {1.5, 128},    {0x1.000002p0, 128},
                {0x1p127, 254}, {(double)NAN, 255}, {2, 128},      {(double)INFINITY, 254}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char byte = 77;
        element_store(JIT_GEMM_DTYPE_UE8M0, &byte, 0, rows[i].value);
        cr_expect_eq(byte, rows[i].byte, "%a: %u", rows[i].value, byte);
    }
    cr_expect(element_round(JIT_GEMM_DTYPE_UE8M0, 3) >= 4);
    cr_expect(isnan(element_round(JIT_GEMM_DTYPE_UE8M0, (double)NAN)));
}
