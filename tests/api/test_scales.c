/* SPDX-License-Identifier: MIT */
/* Scales of blocks on the host: from one layout to another, and what they are. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

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

/* A word of four scales belongs to a row whose K is shorter than a word. */
Test(scales, a_word_that_is_begun_is_a_whole_one)
{
    for (int k = 1; k <= 256; k++) {
        const size_t words = k <= 128 ? 1 : 2;
        cr_assert_eq(bytes_of(mx, JIT_GEMM_SCALE_LAYOUT_128X4, 128, k), 512 * words, "%d",
                     k);
        cr_assert_eq(bytes_of(mx, JIT_GEMM_SCALE_LAYOUT_8X4, 8, k), 32 * words, "%d", k);
        cr_assert_eq(bytes_of(mx, JIT_GEMM_SCALE_LAYOUT_MN_K4, 4, k), 16 * words, "%d", k);
    }
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

/* The fields are those of the argument, not of a problem's A. */
Test(scales, fields_of_a_wrong_scale_are_named_as_the_arguments)
{
    static const struct {
        jit_gemm_scale scale;
        const char *message;
    } rows[] = {
        {{.kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 5, .block_k = 7},
         "scale.block_k: there"},
        {{.kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 32, .reserved = 1},
         "scale.reserved: must be 0, is 1"},
        {{.kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 32, .layout = 9},
         "scale.layout: must be 0 to 4, is 9; give JIT_GEMM_SCALE_LAYOUT_ROW, _COLUMN, "
         "_128X4, _8X4 or _MN_K4"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t bytes = 0;
        cr_expect_neq(jit_gemm_scales_bytes(&rows[i].scale, 8, 8, &bytes), JIT_GEMM_OK);
        cr_expect_eq(
            strncmp(jit_gemm_last_error(), rows[i].message, strlen(rows[i].message)), 0,
            "%s", jit_gemm_last_error());
    }
}

/* -------------------------------------------------------------------------- counting */

static jit_gemm_scales_report count(jit_gemm_scale scale, uint32_t layout, int64_t mn,
                                    int64_t k, const void *scales)
{
    jit_gemm_scales_report report = {.struct_size = sizeof(report)};
    scale.layout = layout;
    cr_assert_eq(jit_gemm_scales_count(&scale, mn, k, scales, &report), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return report;
}

/* Every byte once: 16 rows of 16 blocks. */
Test(scales, each_code_of_a_byte_counts_as_what_it_is)
{
    static const jit_gemm_scale nv = {
        .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 16};
    unsigned char codes[256];
    for (int i = 0; i < 256; i++) {
        codes[i] = (unsigned char)i;
    }
    const jit_gemm_scales_report powers =
        count(mx, JIT_GEMM_SCALE_LAYOUT_ROW, 16, 16 * 32, codes);
    cr_expect_eq(powers.scales, 256);
    cr_expect_eq(powers.nans, 1, "0xff");
    cr_expect_eq(powers.zeros + powers.negatives + powers.infinities, 0);
    cr_expect_eq(powers.first_row, 15);
    cr_expect_eq(powers.first_block, 15);
    const jit_gemm_scales_report floats =
        count(nv, JIT_GEMM_SCALE_LAYOUT_ROW, 16, 16 * 16, codes);
    cr_expect_eq(floats.nans, 2, "0x7f and 0xff");
    cr_expect_eq(floats.zeros, 1);
    cr_expect_eq(floats.negatives, 127, "0x80 to 0xfe");
    cr_expect_eq(floats.first_row, 0);
    cr_expect_eq(floats.first_block, 0);
    codes[0] = 0x38;
    const jit_gemm_scales_report clean = count(nv, JIT_GEMM_SCALE_LAYOUT_ROW, 1, 16, codes);
    cr_expect_eq(clean.first_row, -1);
    cr_expect_eq(clean.first_block, -1);
    cr_expect_eq(clean.padding, 0);
}

Test(scales, floats_count_as_what_they_are)
{
    const float values[2][4] = {{1.0F, 0x1p-149F, INFINITY, NAN},
                                {-0.0F, 0.0F, -INFINITY, -1.0F}};
    const jit_gemm_scales_report report =
        count(rows_of_128, JIT_GEMM_SCALE_LAYOUT_ROW, 2, 500, values);
    cr_expect_eq(report.scales, 8);
    cr_expect_eq(report.nans, 1);
    cr_expect_eq(report.infinities, 2);
    cr_expect_eq(report.negatives, 2);
    cr_expect_eq(report.zeros, 1);
    cr_expect_eq(report.first_row, 0);
    cr_expect_eq(report.first_block, 2);
}

/* Of every layout that has padding: what a conversion leaves is clean, and each of its
 * bytes is found. */
Test(scales, padding_is_found_in_every_layout)
{
    unsigned char linear[ROWS * BLOCKS], packed[MOST];
    memset(linear, 127, sizeof(linear));
    for (uint32_t layout = 0; layout <= JIT_GEMM_SCALE_LAYOUT_MN_K4; layout++) {
        convert(mx, JIT_GEMM_SCALE_LAYOUT_ROW, linear, layout, packed);
        const size_t bytes = bytes_of(mx, layout, ROWS, K);
        const jit_gemm_scales_report clean = count(mx, layout, ROWS, K, packed);
        cr_expect_eq(clean.padding, bytes - sizeof(linear), "layout %u", layout);
        cr_expect_eq(clean.dirty_padding, 0, "layout %u", layout);
        cr_expect_eq(clean.first_row, -1);
        for (size_t i = 0; i < bytes; i++) {
            const unsigned char old = packed[i];
            packed[i] = 0xff;
            const jit_gemm_scales_report one = count(mx, layout, ROWS, K, packed);
            cr_assert_eq(one.nans, old == 127, "layout %u, byte %zu", layout, i);
            cr_assert_eq(one.dirty_padding, old == 0, "layout %u, byte %zu", layout, i);
            packed[i] = old;
        }
    }
}

Test(scales, counts_of_wrong_arguments_are_refused_and_leave_the_report)
{
    unsigned char scales[8] = {0};
    jit_gemm_scales_report report = {.struct_size = sizeof(report), .nans = 7};
    cr_expect_eq(jit_gemm_scales_count(&mx, 0, 32, scales, &report), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_scales_count(&mx, 1, 32, NULL, &report), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_scales_count(&mx, 1, 32, scales, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(report.nans, 7);
    report.struct_size = 0;
    cr_expect_eq(jit_gemm_scales_count(&mx, 1, 32, scales, &report), JIT_GEMM_ERR_ARGUMENT);
}

/* A read would end the process. */
Test(scales, a_wrong_report_is_refused_before_a_scale_is_read)
{
    void *unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    jit_gemm_scales_report report = {0};
    cr_assert_neq(unreadable, MAP_FAILED);
    cr_expect_eq(jit_gemm_scales_count(&mx, 1, 32, unreadable, NULL),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jit_gemm_scales_count(&mx, 1, 32, unreadable, &report),
                 JIT_GEMM_ERR_ARGUMENT);
    munmap(unreadable, 4096);
}
