/* SPDX-License-Identifier: MIT */
/* The judge of `run --verify`: element types, and everything that it must notice. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "verify/compare.h"
#include "verify/reduce.h"

enum { BATCH = 2, ROWS = 3, COLUMNS = 5, LD = 8, STRIDE = ROWS * LD };

static const struct element_view bf16_view = {
    JIT_GEMM_DTYPE_BF16, BATCH, ROWS, COLUMNS, LD, STRIDE};
static const struct element_view f32_view = {
    JIT_GEMM_DTYPE_F32, BATCH, ROWS, COLUMNS, LD, STRIDE};

/* Equal matrices, random; the f32 one holds the exact values of the bf16 one. */
struct pair {
    uint16_t out[BATCH * STRIDE];
    float ref[BATCH * STRIDE];
};

static void fill_pair(struct pair *pair)
{
    element_fill_poison(&bf16_view, pair->out);
    element_fill_random(&bf16_view, pair->out, 7);
    for (size_t i = 0; i < BATCH * STRIDE; i++) {
        pair->ref[i] = (float)element_load(JIT_GEMM_DTYPE_BF16, pair->out, i);
    }
}

static struct compare_report judge_pair(const struct pair *pair)
{
    struct compare_bounds bounds =
        compare_bounds_for(JIT_GEMM_DTYPE_BF16, COMPARE_SUMS_F32, 64);
    struct compare_report report;

    compare_matrices(&bf16_view, pair->out, &f32_view, pair->ref, &bounds, &report);
    return report;
}

Test(elements, every_f16_survives_a_round_trip)
{
    for (uint32_t bits = 0; bits < 0x10000u; bits++) {
        uint16_t half = (uint16_t)bits, again;
        double value = element_load(JIT_GEMM_DTYPE_F16, &half, 0);

        element_store(JIT_GEMM_DTYPE_F16, &again, 0, value);
        cr_expect(isnan(value) ? again == 0x7fff : again == half, "%04x became %04x", half,
                  again);
    }
}

Test(elements, f16_rounds_to_nearest_even)
{
    const struct {
        float value;
        uint16_t bits;
    } rows[] = {
        {1.0f, 0x3c00},     {1.0f + 0x1p-11f, 0x3c00}, {1.0f + 0x3p-11f, 0x3c02},
        {65519.0f, 0x7bff}, {65520.0f, 0x7c00},        {-1e9f, 0xfc00},
        {0x1p-24f, 0x0001}, {0x1p-25f, 0x0000},        {0x1.8p-25f, 0x0001},
        {0x3p-25f, 0x0002}, {0x1.ff8p-15f, 0x03ff},    {0x1.fffp-15f, 0x0400},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint16_t bits;

        element_store(JIT_GEMM_DTYPE_F16, &bits, 0, rows[i].value);
        cr_expect_eq(bits, rows[i].bits, "%a gave %04x, not %04x", (double)rows[i].value,
                     bits, rows[i].bits);
    }
}

Test(elements, every_8_bit_float_survives_a_round_trip)
{
    static const jit_gemm_dtype types[] = {JIT_GEMM_DTYPE_E4M3, JIT_GEMM_DTYPE_E5M2};

    for (size_t i = 0; i < 2; i++) {
        for (unsigned bits = 0; bits < 256; bits++) {
            unsigned char byte = (unsigned char)bits, again;
            double value = element_load(types[i], &byte, 0);
            /* An infinity of e5m2 saturates. */
            unsigned char want =
                isinf(value) ? (unsigned char)((byte & 0x80u) | 0x7bu) : byte;

            element_store(types[i], &again, 0, value);
            cr_expect(isnan(value) ? again == 0x7f : again == want, "%s: %02x became %02x",
                      element_dtype_name(types[i]), byte, again);
        }
    }
}

/* The 8 codes of e2m1 without a sign, what lies in the middle of two, and which of them has
 * that: the even one. */
static const struct {
    double value, middle;
    unsigned char code, of_middle;
} e2m1_rows[] = {{0, 0.25, 0, 0}, {0.5, 0.75, 1, 2}, {1, 1.25, 2, 2}, {1.5, 1.75, 3, 4},
                 {2, 2.5, 4, 4},  {3, 3.5, 5, 6},    {4, 5, 6, 6},    {6, 7, 7, 7}};

Test(elements, e2m1_has_known_codes_and_takes_the_even_one_in_the_middle)
{
    for (size_t i = 0; i < sizeof(e2m1_rows) / sizeof(e2m1_rows[0]); i++) {
        const double values[] = {e2m1_rows[i].value, e2m1_rows[i].middle,
                                 e2m1_rows[i].middle * (1 - 0x1p-20),
                                 e2m1_rows[i].middle * (1 + 0x1p-20)};
        const unsigned char next = i < 7 ? (unsigned char)(i + 1) : 7;
        const unsigned char codes[] = {e2m1_rows[i].code, e2m1_rows[i].of_middle,
                                       e2m1_rows[i].code, next};
        for (size_t j = 0; j < 4; j++) {
            unsigned char pair = 0x55;
            element_store(JIT_GEMM_DTYPE_E2M1, &pair, 0, values[j]);
            cr_expect_eq(pair, 0x50 | codes[j], "%g: %02x", values[j], pair);
            element_store(JIT_GEMM_DTYPE_E2M1, &pair, 1, -values[j]);
            cr_expect_eq(pair, 0x80 | codes[j] << 4 | codes[j], "%g: %02x", -values[j],
                         pair);
            cr_expect_eq(element_load(JIT_GEMM_DTYPE_E2M1, &pair, 1),
                         -e2m1_rows[codes[j]].value);
            cr_expect_eq(element_load(JIT_GEMM_DTYPE_E2M1, &pair, 0),
                         e2m1_rows[codes[j]].value);
        }
    }
}

Test(elements, two_of_e2m1_share_a_byte)
{
    const struct element_view view = {JIT_GEMM_DTYPE_E2M1, 1, 3, 6, 8, 24};
    unsigned char data[12];
    cr_expect_eq(element_view_bytes(&view), sizeof(data));
    cr_expect_eq(element_bytes(JIT_GEMM_DTYPE_E2M1, 5), 3);
    cr_expect_eq(element_padded_ld(JIT_GEMM_DTYPE_E2M1, 33, 16), 64);
    element_fill_poison(&view, data);
    for (size_t i = 0; i < 6; i++) {
        element_store(JIT_GEMM_DTYPE_E2M1, data, 8 + i, 1);
    }
    cr_expect_eq(data[3], 0xff);
    cr_expect_eq(data[4], 0x22);
    cr_expect_eq(data[6], 0x22);
    cr_expect_eq(data[7], 0xff);
    cr_expect_eq(compare_count_strays(&view, data), 0);
    element_store(JIT_GEMM_DTYPE_E2M1, data, 15, 1);
    cr_expect_eq(compare_count_strays(&view, data), 1);
}

Test(elements, narrow_types_round_to_nearest_even_and_saturate)
{
    static const struct {
        jit_gemm_dtype dtype;
        double value, rounded;
    } rows[] = {
        {JIT_GEMM_DTYPE_E4M3, 1.0625, 1},
        {JIT_GEMM_DTYPE_E4M3, 1.1875, 1.25},
        {JIT_GEMM_DTYPE_E4M3, 464, 448},
        {JIT_GEMM_DTYPE_E4M3, -1e9, -448},
        {JIT_GEMM_DTYPE_E4M3, INFINITY, 448},
        {JIT_GEMM_DTYPE_E4M3, 0x1p-10, 0},
        {JIT_GEMM_DTYPE_E4M3, 0x1.8p-10, 0x1p-9},
        {JIT_GEMM_DTYPE_E4M3, 0x1.fp-7, 0x1p-6},
        {JIT_GEMM_DTYPE_E5M2, 1.125, 1},
        {JIT_GEMM_DTYPE_E5M2, 1.375, 1.5},
        {JIT_GEMM_DTYPE_E5M2, 1e9, 57344},
        {JIT_GEMM_DTYPE_E5M2, 0x1p-17, 0},
        {JIT_GEMM_DTYPE_E5M2, -0x1.8p-17, -0x1p-16},
        {JIT_GEMM_DTYPE_UE4M3, -1.1875, 1.25},
        {JIT_GEMM_DTYPE_UE4M3, 1e9, 448},
        {JIT_GEMM_DTYPE_E2M1, INFINITY, 6},
        {JIT_GEMM_DTYPE_E2M1, -7, -6},
        {JIT_GEMM_DTYPE_E2M1, NAN, 6},
        {JIT_GEMM_DTYPE_TF32, 1 + 0x1p-11, 1},
        {JIT_GEMM_DTYPE_TF32, 1 + 0x3p-11, 1 + 0x1p-9},
        {JIT_GEMM_DTYPE_S8, -128.4, -128},
        {JIT_GEMM_DTYPE_S8, 200, 127},
        {JIT_GEMM_DTYPE_S8, 2.5, 2},
        {JIT_GEMM_DTYPE_S32, 16777217, 16777217},
        {JIT_GEMM_DTYPE_S32, -3e9, -2147483648.0},
        {JIT_GEMM_DTYPE_S32, NAN, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double rounded = element_round(rows[i].dtype, rows[i].value);

        cr_expect_eq(rounded, rows[i].rounded, "%s: %a gave %a, not %a",
                     element_dtype_name(rows[i].dtype), rows[i].value, rounded,
                     rows[i].rounded);
    }
}

Test(elements, bf16_rounds_to_nearest_even)
{
    cr_expect_eq(element_round(JIT_GEMM_DTYPE_BF16, 1.0f + 0x1p-8f), 1.0f);
    cr_expect_eq(element_round(JIT_GEMM_DTYPE_BF16, 1.0f + 0x3p-8f), 1.0f + 0x1p-6f);
    cr_expect(isinf(element_round(JIT_GEMM_DTYPE_BF16, 3.4e38f)));
}

Test(elements, values_depend_on_the_position_not_on_the_padding)
{
    struct element_view packed = {JIT_GEMM_DTYPE_F32, BATCH, ROWS, COLUMNS, COLUMNS,
                                  ROWS * COLUMNS};
    float wide[BATCH * STRIDE], tight[BATCH * ROWS * COLUMNS];

    element_fill_random(&f32_view, wide, 3);
    element_fill_random(&packed, tight, 3);

    cr_expect_eq(wide[STRIDE + 2 * LD + 4], tight[ROWS * COLUMNS + 2 * COLUMNS + 4]);
    cr_expect(fabsf(wide[0]) <= 1 && wide[0] < wide[0] + 1);
}

Test(compare, equal_matrices_pass)
{
    struct pair pair;

    fill_pair(&pair);
    const struct compare_report report = judge_pair(&pair);

    cr_expect(report.pass);
    cr_expect_eq(report.elements, BATCH * ROWS * COLUMNS);
    cr_expect_eq(report.rel_error, 0.0);
}

Test(compare, an_unwritten_element_fails)
{
    struct pair pair;

    fill_pair(&pair);
    pair.out[STRIDE + 2 * LD + 3] = 0xffff;
    const struct compare_report report = judge_pair(&pair);

    cr_expect(!report.pass);
    cr_expect_eq(report.unwritten, 1);
    cr_expect(report.batch == 1 && report.row == 2 && report.column == 3);
}

Test(compare, a_write_into_the_padding_fails)
{
    struct pair pair;

    fill_pair(&pair);
    pair.out[LD + COLUMNS] = 0;
    const struct compare_report report = judge_pair(&pair);

    cr_expect(!report.pass);
    cr_expect_eq(report.stray_writes, 1);
}

Test(compare, one_wrong_element_fails)
{
    struct pair pair;

    fill_pair(&pair);
    pair.ref[2 * LD + 1] += 0.1f;
    const struct compare_report report = judge_pair(&pair);

    cr_expect(!report.pass);
    cr_expect_eq(report.over_bound, 1);
    cr_expect(report.row == 2 && report.column == 1);
}

Test(compare, nan_must_be_in_both_or_in_none)
{
    struct pair pair;

    fill_pair(&pair);
    pair.out[0] = 0x7fff;
    pair.ref[0] = NAN;
    cr_expect(judge_pair(&pair).pass);
    pair.out[1] = 0x7fff;
    const struct compare_report report = judge_pair(&pair);

    cr_expect(!report.pass);
    cr_expect_eq(report.wrong_nan, 1);
}

Test(compare, infinity_is_right_where_the_reference_overflows)
{
    struct pair pair;

    fill_pair(&pair);
    pair.out[0] = 0x7f80;
    pair.ref[0] = 3.4e38f;
    cr_expect(judge_pair(&pair).pass);
    pair.ref[0] = 1e30f;

    cr_expect(!judge_pair(&pair).pass);
}

Test(compare, a_broken_reference_is_no_pass)
{
    struct pair pair;

    fill_pair(&pair);
    memset(&pair.ref[4], 0xff, sizeof(pair.ref[4]));

    cr_expect(!judge_pair(&pair).pass);
    cr_expect_eq(judge_pair(&pair).bad_reference, 1);
}

/* Below the normal range the steps are equal: rounding to the nearest may lose all of a
 * value. */
Test(compare, half_of_the_least_step_passes_and_a_whole_one_does_not)
{
    static const struct element_view narrow = {JIT_GEMM_DTYPE_E4M3, 1, 1, COLUMNS, LD, LD};
    static const struct element_view wide = {JIT_GEMM_DTYPE_F32, 1, 1, COLUMNS, LD, LD};
    const struct compare_bounds bounds =
        compare_bounds_for(JIT_GEMM_DTYPE_E4M3, COMPARE_SUMS_F32, 64);
    const float least = 0x1p-9f;
    unsigned char out[LD];
    float ref[LD];
    struct compare_report report;

    element_fill_poison(&narrow, out);
    for (size_t i = 0; i < COLUMNS; i++) {
        element_store(JIT_GEMM_DTYPE_E4M3, out, i, 0);
        ref[i] = 0.45f * least;
    }
    compare_matrices(&narrow, out, &wide, ref, &bounds, &report);
    cr_expect(report.pass, "%g over %g", report.rel_error, report.rel_bound);

    ref[2] = least;
    compare_matrices(&narrow, out, &wide, ref, &bounds, &report);

    cr_expect(!report.pass);
    cr_expect_eq(report.over_bound, 1);
}

/* Sums of integers, scaled in f32: next to a tie the two may round apart. */
Test(compare, whole_numbers_may_differ_next_to_ties_but_not_everywhere)
{
    enum { COUNT = 1000 };
    static const struct element_view view = {JIT_GEMM_DTYPE_S32, 1, 1, COUNT, COUNT, COUNT};
    const struct compare_bounds bounds =
        compare_bounds_for(JIT_GEMM_DTYPE_S32, COMPARE_SUMS_INTEGER, 64);
    int32_t out[COUNT];
    int32_t ref[COUNT];
    struct compare_report report;

    for (int i = 0; i < COUNT; i++) {
        out[i] = ref[i] = 100 + i % 7;
    }
    out[3]++;
    compare_matrices(&view, out, &view, ref, &bounds, &report);
    cr_expect(report.pass, "%g over %g", report.rel_error, report.rel_bound);

    for (int i = 0; i < COUNT; i += 2) { /* as if they were truncated */
        out[i] = ref[i] - 1;
    }
    compare_matrices(&view, out, &view, ref, &bounds, &report);
    cr_expect(!report.pass);

    memcpy(out, ref, sizeof(out));
    out[3] += 2;
    compare_matrices(&view, out, &view, ref, &bounds, &report);
    cr_expect(!report.pass);
}

Test(compare, half_a_unit_of_rounding_passes_and_two_units_do_not)
{
    struct pair pair;

    fill_pair(&pair);
    for (int i = 0; i < COLUMNS; i++) {
        pair.ref[i] *= 1.0f + 0x1p-9f;
    }
    cr_expect(judge_pair(&pair).pass);
    for (int i = 0; i < COLUMNS; i++) {
        pair.ref[i] *= 1.0f + 0x1p-5f;
    }

    cr_expect(!judge_pair(&pair).pass);
}

/* 2 x 2 x 3 elements with padding that is never read. */
static const struct element_view small_view = {JIT_GEMM_DTYPE_F32, 2, 2, 3, 4, 8};
static const float small[16] = {1, 2, 3,  NAN, 4,  5,   -6, NAN,
                                7, 8, -9, NAN, 10, NAN, 12, NAN};

Test(reduce, each_row_each_column_or_all_of_each_batch_has_a_result)
{
    static const struct {
        struct reduction reduction;
        int count;
        float results[8];
    } rows[] = {
        {{REDUCE_SUM, REDUCE_ROWS, 0}, 4, {6, 3, 6, NAN}},
        {{REDUCE_SUM, REDUCE_COLUMNS, 0}, 6, {5, 7, -3, 17, NAN, 3}},
        {{REDUCE_SUM, REDUCE_ALL, 0}, 2, {9, NAN}},
        {{REDUCE_MAX, REDUCE_ROWS, 0}, 4, {3, 5, 8, NAN}},
        {{REDUCE_MIN, REDUCE_COLUMNS, 0}, 6, {1, 2, -6, 7, NAN, -9}},
        {{REDUCE_MIN, REDUCE_ALL, 0}, 2, {-6, NAN}},
        {{REDUCE_MAX, REDUCE_BLOCKS, 2}, 8, {2, 3, 5, -6, 8, -9, NAN, 12}},
        {{REDUCE_SUM, REDUCE_BLOCKS, 3}, 4, {6, 3, 6, NAN}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        float results[8] = {0};
        const struct element_view view = reduce_view(&small_view, &rows[i].reduction);

        const double magnitude =
            reduce_elements(&small_view, small, &rows[i].reduction, results);

        cr_expect_eq(view.batch * view.rows * view.columns, rows[i].count, "row %zu", i);
        cr_expect(magnitude > 0, "row %zu", i);
        for (int j = 0; j < rows[i].count; j++) {
            const float wanted = rows[i].results[j];
            cr_expect(isnan(wanted) ? isnan(results[j])
                                    : results[j] >= wanted && results[j] <= wanted,
                      "row %zu: [%d] is %g", i, j, (double)results[j]);
        }
    }
}

Test(reduce, sum_that_cancels_is_judged_by_its_terms_and_a_missing_term_is_seen)
{
    enum { COUNT = 4096 };
    static float terms[COUNT];
    const struct element_view view = {JIT_GEMM_DTYPE_F32, 1, 1, COUNT, COUNT, COUNT};
    const struct reduction reduction = {REDUCE_SUM, REDUCE_ALL, 0};
    for (int i = 0; i < COUNT; i++) {
        terms[i] = i % 2 == 0 ? 1.0F + (float)i / COUNT : -terms[i - 1];
    }
    terms[COUNT - 1] += 0.001F; /* what is left: 64000 times less than the terms' norm */
    float wanted[1];
    const double magnitude = reduce_elements(&view, terms, &reduction, wanted);
    const struct compare_bounds bounds =
        reduce_bounds_for(JIT_GEMM_DTYPE_F32, COMPARE_SUMS_F32, 64, magnitude);
    const struct element_view one = reduce_view(&view, &reduction);
    const float close[1] = {wanted[0] + 0.0003F}, missing[1] = {wanted[0] - terms[7]};
    struct compare_report report;

    compare_matrices(&one, close, &one, wanted, &bounds, &report);
    cr_expect(report.pass, "%g of %g", report.rel_error, report.rel_bound);
    compare_matrices(&one, missing, &one, wanted, &bounds, &report);
    cr_expect(!report.pass);
    cr_expect_eq(report.over_bound, 1);
}

/* A sum that is off by a millionth of what sums are makes more of a least square that is
 * nearly none. */
Test(reduce, least_of_squares_is_judged_by_what_elements_are)
{
    enum { COUNT = 4096 };
    static float squares[COUNT];
    const struct element_view view = {JIT_GEMM_DTYPE_F32, 1, 1, COUNT, COUNT, COUNT};
    const struct reduction reduction = {REDUCE_MIN, REDUCE_ALL, 0};
    const float least = 0.5F / COUNT;
    for (int i = 0; i < COUNT; i++) {
        const float sum = least + (float)i / COUNT;
        squares[i] = sum * sum;
    }
    float wanted[1];
    const double magnitude = reduce_elements(&view, squares, &reduction, wanted);
    const struct compare_bounds bounds =
        reduce_bounds_for(JIT_GEMM_DTYPE_F32, COMPARE_SUMS_F32, 64, magnitude);
    const struct element_view one = reduce_view(&view, &reduction);
    const float close[1] = {(least + 1e-6F) * (least + 1e-6F)}, other[1] = {squares[60]};
    struct compare_report report;

    compare_matrices(&one, close, &one, wanted, &bounds, &report);
    cr_expect(report.pass, "%g of %g", report.rel_error, report.rel_bound);
    compare_matrices(&one, other, &one, wanted, &bounds, &report);
    cr_expect(!report.pass);
}

/* Of a row of so many elements that are all off by so much. */
static bool passes_with_error(int count, double error)
{
    float got[64], wanted[64];
    const struct element_view row = {JIT_GEMM_DTYPE_F32, 1, 1, count, count, count};
    const struct compare_bounds bounds =
        compare_bounds_for(JIT_GEMM_DTYPE_F32, COMPARE_SUMS_13_BITS_OF_K, 896);
    struct compare_report report;
    for (int i = 0; i < count; i++) {
        wanted[i] = i % 2 == 0 ? 1.5F : -2;
        got[i] = wanted[i] * (float)(1 + error);
    }
    compare_matrices(&row, got, &row, wanted, &bounds, &report);
    return report.pass;
}

Test(compare, few_elements_may_be_small_by_chance_and_their_errors_greater_beside_them)
{
    /* 9 of sums of 896 that keep 13 bits had an error of 9.5e-4 on an H200: 8.6e-4 is the
     * bound of many. */
    cr_expect(passes_with_error(9, 9.5e-4));
    cr_expect(!passes_with_error(9, 2e-3));
    cr_expect(passes_with_error(64, 8.5e-4));
    cr_expect(!passes_with_error(64, 1e-3));
    cr_expect(passes_with_error(1, 0.04));
    cr_expect(!passes_with_error(1, 1));
}
