/* SPDX-License-Identifier: MIT */
/* Scales of blocks on the host: from one layout to another. */
#include <criterion/criterion.h>
#include <string.h>

#include "jit_gemm/scales.h"

static const jit_gemm_scale mx = {
    .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 32};
static const jit_gemm_scale rows_of_128 = {
    .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 128};

enum { ROWS = 133, K = 200, BLOCKS = 7, MOST = 4096 }; /* blocks of 32 */

static void convert(jit_gemm_scale scale, uint32_t layout, const void *from,
                    uint32_t to_layout, void *to)
{
    scale.layout = layout;
    cr_assert_eq(jit_gemm_scales_convert(&scale, ROWS, K, from, to_layout, to), JIT_GEMM_OK,
                 "%s", jit_gemm_last_error());
}

static size_t bytes_of(jit_gemm_scale scale, uint32_t layout, int64_t mn, int64_t k)
{
    size_t bytes = 0;
    scale.layout = layout;
    cr_assert_eq(jit_gemm_scales_bytes(&scale, mn, k, &bytes), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return bytes;
}

/* The formulas as docs/scales.md and other libraries write them, byte by byte. */
Test(scales, bytes_lie_where_the_layouts_say)
{
    unsigned char linear[ROWS * BLOCKS], big[MOST], small[MOST], words[MOST], columns[MOST];
    for (int i = 0; i < ROWS * BLOCKS; i++) {
        linear[i] = (unsigned char)(1 + i % 251);
    }
    convert(mx, JIT_GEMM_SCALE_LAYOUT_ROW, linear, JIT_GEMM_SCALE_LAYOUT_128X4, big);
    convert(mx, JIT_GEMM_SCALE_LAYOUT_ROW, linear, JIT_GEMM_SCALE_LAYOUT_8X4, small);
    convert(mx, JIT_GEMM_SCALE_LAYOUT_ROW, linear, JIT_GEMM_SCALE_LAYOUT_MN_K4, words);
    convert(mx, JIT_GEMM_SCALE_LAYOUT_ROW, linear, JIT_GEMM_SCALE_LAYOUT_COLUMN, columns);
    for (int r = 0; r < ROWS; r++) {
        for (int kb = 0; kb < BLOCKS; kb++) {
            const unsigned char wanted = linear[r * BLOCKS + kb];
            const int in_big =
                (r / 128 * 2 + kb / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + kb % 4;
            const int in_small = (r / 8 * 2 + kb / 4) * 32 + r % 8 * 4 + kb % 4;
            cr_assert_eq(big[in_big], wanted, "128x4: row %d, block %d", r, kb);
            cr_assert_eq(small[in_small], wanted, "8x4: row %d, block %d", r, kb);
            cr_assert_eq(words[(kb / 4 * 136 + r) * 4 + kb % 4], wanted,
                         "mn_k4: row %d, block %d", r, kb);
            cr_assert_eq(columns[kb * 136 + r], wanted, "column: row %d, block %d", r, kb);
        }
    }
    cr_expect_eq(big[3 * 512 + 6 * 16], 0, "a row that the matrix lacks");
    cr_expect_eq(small[32 + 3], 0, "a block that it lacks");
}

Test(scales, every_layout_comes_back_from_every_other)
{
    unsigned char linear[ROWS * BLOCKS], first[MOST], second[MOST], back[ROWS * BLOCKS];
    for (int i = 0; i < ROWS * BLOCKS; i++) {
        linear[i] = (unsigned char)(i * 7 + 1);
    }
    for (uint32_t from = 0; from <= JIT_GEMM_SCALE_LAYOUT_MN_K4; from++) {
        for (uint32_t to = 0; to <= JIT_GEMM_SCALE_LAYOUT_MN_K4; to++) {
            memset(first, 0xff, sizeof(first));
            memset(second, 0xff, sizeof(second));
            convert(mx, JIT_GEMM_SCALE_LAYOUT_ROW, linear, from, first);
            convert(mx, from, first, to, second);
            convert(mx, to, second, JIT_GEMM_SCALE_LAYOUT_ROW, back);
            cr_expect_eq(memcmp(back, linear, sizeof(back)), 0, "%u to %u", from, to);
            const size_t end = bytes_of(mx, to, ROWS, K);
            cr_expect_eq(second[end], 0xff, "%u to %u: written behind the end", from, to);
        }
    }
}

Test(scales, floats_go_to_columns_and_back)
{
    float linear[ROWS * 2], columns[136 * 2], back[ROWS * 2];
    for (int i = 0; i < ROWS * 2; i++) {
        linear[i] = (float)i;
    }
    convert(rows_of_128, JIT_GEMM_SCALE_LAYOUT_ROW, linear, JIT_GEMM_SCALE_LAYOUT_COLUMN,
            columns);
    cr_expect_eq(columns[136 + 5], 11.0F);
    convert(rows_of_128, JIT_GEMM_SCALE_LAYOUT_COLUMN, columns, JIT_GEMM_SCALE_LAYOUT_ROW,
            back);
    cr_expect_eq(memcmp(back, linear, sizeof(back)), 0);
    cr_expect_eq(bytes_of(rows_of_128, JIT_GEMM_SCALE_LAYOUT_COLUMN, ROWS, K),
                 sizeof(columns));
}

Test(scales, bytes_are_those_of_whole_pieces)
{
    cr_expect_eq(bytes_of(mx, JIT_GEMM_SCALE_LAYOUT_ROW, ROWS, K), 931);
    cr_expect_eq(bytes_of(mx, JIT_GEMM_SCALE_LAYOUT_128X4, ROWS, K), 2048);
    cr_expect_eq(bytes_of(mx, JIT_GEMM_SCALE_LAYOUT_8X4, ROWS, K), 1088);
    cr_expect_eq(bytes_of(mx, JIT_GEMM_SCALE_LAYOUT_MN_K4, ROWS, K), 1088);
    cr_expect_eq(bytes_of(mx, JIT_GEMM_SCALE_LAYOUT_128X4, 1, 1), 512);
    const jit_gemm_scale blocks = {
        .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 128, .block_k = 128};
    cr_expect_eq(
        bytes_of(blocks, JIT_GEMM_SCALE_LAYOUT_ROW, INT64_C(1) << 31, INT64_C(1) << 31),
        (size_t)1 << 50);
}

Test(scales, wrong_arguments_are_refused_by_name_and_write_nothing)
{
    unsigned char from[MOST] = {0}, to[MOST];
    size_t bytes = 7;
    const jit_gemm_scale tensor = {.kind = JIT_GEMM_SCALE_TENSOR};
    jit_gemm_scale other = mx;
    memset(to, 9, sizeof(to));
    const jit_gemm_status refused[] = {
        jit_gemm_scales_convert(NULL, 8, 8, from, 0, to),
        jit_gemm_scales_convert(&tensor, 8, 8, from, 0, to),
        jit_gemm_scales_convert(&mx, 0, 8, from, 0, to),
        jit_gemm_scales_convert(&mx, 8, INT64_MAX, from, 0, to),
        jit_gemm_scales_convert(&mx, 8, 8, NULL, 0, to),
        jit_gemm_scales_convert(&mx, 8, 8, from, 0, NULL),
        jit_gemm_scales_convert(&mx, 8, 8, to, 0, to),
        jit_gemm_scales_convert(&mx, 8, 8, to + 511, JIT_GEMM_SCALE_LAYOUT_128X4, to),
        jit_gemm_scales_convert(&mx, 8, 8, to, JIT_GEMM_SCALE_LAYOUT_128X4, to + 7),
        jit_gemm_scales_convert(&rows_of_128, 8, 8, from, 2, to),
        jit_gemm_scales_bytes(&mx, 8, 8, NULL),
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        cr_expect_eq(refused[i], JIT_GEMM_ERR_ARGUMENT, "call %zu", i);
    }
    other.block_k = 48;
    cr_expect_eq(jit_gemm_scales_bytes(&other, 8, 8, &bytes), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_eq(jit_gemm_scales_convert(&mx, 8, 8, from, 5, to), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "to_layout: 5 is no layout"), "%s",
                       jit_gemm_last_error());
    cr_expect_eq(bytes, 7);
    for (size_t i = 0; i < sizeof(to); i++) {
        cr_assert_eq(to[i], 9);
    }
}
