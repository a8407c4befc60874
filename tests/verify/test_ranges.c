/* SPDX-License-Identifier: MIT */
/* An epilogue's own errors beside a border between two values of a narrow type: what lies
 * within them is right, and what lies a little further is found. */
#include <criterion/criterion.h>
#include <math.h>

#include "verify/quantise.h"

enum { COLUMNS = 32 };

/* Of a curve's value, both ways, as documented; what is planted lies within it or not. */
static const double documented = 2.5e-4, less = 2.4e-4, more = 2.6e-4;

static const float *ref_values;
static int asked;

static bool find(const void *context, int64_t batch, int64_t row, int64_t column,
                 double *ret_low, double *ret_high)
{
    const double value = (double)ref_values[column];
    cr_assert(context == NULL && batch == 0 && row == 0 && column < COLUMNS);
    *ret_low = value - documented * fabs(value);
    *ret_high = value + documented * fabs(value);
    asked++;
    return true;
}

static const struct compare_range range = {find, NULL};

static const struct element_view ref_view = {
    JIT_GEMM_DTYPE_F32, 1, 1, COLUMNS, COLUMNS, COLUMNS};

/* -------------------------------------------------------------------------- plain D */

/* A D of ones but for one element, whose reference lies so far, of itself, above a border,
 * while the kernel's value was below it. */
static struct compare_report judge_plain(jit_gemm_dtype dtype, double border, double below,
                                         double distance)
{
    const struct element_view view = {dtype, 1, 1, COLUMNS, COLUMNS, COLUMNS};
    struct compare_bounds bounds = compare_bounds_for(dtype, COMPARE_SUMS_INTEGER, 0);
    unsigned char d[COLUMNS];
    float ref[COLUMNS];
    struct compare_report report;
    for (int i = 0; i < COLUMNS; i++) {
        ref[i] = i == 5 ? (float)(border * (1 + distance)) : 1;
        element_store(dtype, d, (size_t)i, i == 5 ? below : 1);
    }
    bounds.element_rms = 0;
    bounds.range = &range;
    ref_values = ref;
    compare_matrices(&view, d, &ref_view, ref, &bounds, &report);
    return report;
}

static const struct {
    jit_gemm_dtype dtype;
    double border, below;
} plain[] = {{JIT_GEMM_DTYPE_E4M3, 15.5, 15}, /* a step is 1, to even */
             {JIT_GEMM_DTYPE_E4M3, -8.5, -8}, {JIT_GEMM_DTYPE_E5M2, 15, 14},
             {JIT_GEMM_DTYPE_E5M2, 9, 8},     {JIT_GEMM_DTYPE_S8, 100.5, 100},
             {JIT_GEMM_DTYPE_S8, -63.5, -63}};

enum { PLAIN = sizeof(plain) / sizeof(plain[0]) };

Test(ranges, a_value_on_the_other_side_of_a_border_is_right_within_the_errors)
{
    for (size_t i = 0; i < PLAIN; i++) {
        const struct compare_report report =
            judge_plain(plain[i].dtype, plain[i].border, plain[i].below, less);
        cr_expect(report.over_bound == 0 && report.by_range == 1, "case %zu", i);
    }
}

Test(ranges, a_little_beyond_the_errors_it_is_wrong)
{
    for (size_t i = 0; i < PLAIN; i++) {
        const struct compare_report report =
            judge_plain(plain[i].dtype, plain[i].border, plain[i].below, more);
        cr_expect(report.over_bound == 1 && report.by_range == 0 && !report.pass,
                  "case %zu", i);
    }
}

/* The upper end of a binade, where half a step is a thirty-second of the value. */
Test(ranges, the_next_value_is_wrong_where_no_border_is_near)
{
    const struct compare_report e4m3 = judge_plain(JIT_GEMM_DTYPE_E4M3, 15.9, 15, 0);
    const struct compare_report e5m2 = judge_plain(JIT_GEMM_DTYPE_E5M2, 15.9, 14, 0);
    cr_expect(e4m3.over_bound == 1 && !e4m3.pass);
    cr_expect(e5m2.over_bound == 1 && !e5m2.pass);
}

Test(ranges, nobody_is_asked_for_what_is_right_anyway_nor_behind_a_proof)
{
    asked = 0;
    cr_expect(judge_plain(JIT_GEMM_DTYPE_E4M3, 15.5, 16, less).pass);
    cr_expect_eq(asked, 0);

    const struct element_view view = {JIT_GEMM_DTYPE_S8, 1, 1, COLUMNS, COLUMNS, COLUMNS};
    struct compare_bounds bounds =
        compare_bounds_for(JIT_GEMM_DTYPE_S8, COMPARE_SUMS_INTEGER, 0);
    unsigned char d[COLUMNS];
    float ref[COLUMNS];
    struct compare_report report;
    for (int i = 0; i < COLUMNS; i++) {
        ref[i] = 10;
        element_store(JIT_GEMM_DTYPE_S8, d, (size_t)i, 12);
    }
    bounds.range = &range;
    ref_values = ref;
    compare_matrices(&view, d, &ref_view, ref, &bounds, &report);
    cr_expect_eq(report.over_bound, COLUMNS);
    cr_expect_eq(asked, 1);
}

/* Tails of gelu: each element is off by more than sums of this size are. */
Test(ranges, the_norm_has_no_error_of_what_is_right_within_the_errors)
{
    for (int beyond = 0; beyond < 2; beyond++) {
        struct compare_bounds bounds =
            compare_bounds_for(JIT_GEMM_DTYPE_F32, COMPARE_SUMS_INTEGER, 0);
        float d[COLUMNS], ref[COLUMNS];
        struct compare_report report;
        bounds.range = &range;
        bounds.relative = bounds.element_relative = bounds.element_rms = documented / 100;
        for (int i = 0; i < COLUMNS; i++) {
            const double error = beyond == 1 && i == 3 ? more : less;
            ref[i] = 1;
            d[i] = (float)(1 + error);
        }
        ref_values = ref;
        compare_matrices(&ref_view, d, &ref_view, ref, &bounds, &report);
        cr_expect_eq(report.pass, beyond == 0, "%g of %g", report.rel_error,
                     report.rel_bound);
    }
}

/* A steep snippet, whose elements are all within their own bounds. */
Test(ranges, the_norm_has_what_ranges_say_where_no_element_is_wrong)
{
    for (int beyond = 0; beyond < 2; beyond++) {
        struct compare_bounds bounds =
            compare_bounds_for(JIT_GEMM_DTYPE_F32, COMPARE_SUMS_INTEGER, 0);
        float d[COLUMNS], ref[COLUMNS];
        struct compare_report report;
        bounds.range = &range;
        bounds.relative = documented / 100;
        bounds.element_relative = 1;
        for (int i = 0; i < COLUMNS; i++) {
            ref[i] = i % 2 == 0 ? 1 : -2;
            d[i] = ref[i] * (float)(1 + (beyond == 1 ? more : less));
        }
        ref_values = ref;
        compare_matrices(&ref_view, d, &ref_view, ref, &bounds, &report);
        cr_expect(report.over_bound == 0 && report.by_range == 0);
        cr_expect_eq(report.pass, beyond == 0, "%g of %g", report.rel_error,
                     report.rel_bound);
    }
}

/* --------------------------------------------------------------------- scaled blocks */

struct scaled {
    jit_gemm_dtype d, scale;
    uint32_t block;
};

/* A block of a D with a scale, and zeros behind it; its greatest element is `amax`, and
 * element 3 is `other`; the kernel had `amax_got` and `other_got`. */
static void judge_scaled(const struct scaled *kind, double amax, double amax_got,
                         double other, double other_got,
                         struct compare_report *ret_elements,
                         struct compare_report *ret_scales)
{
    const jit_gemm_scale scale = {.kind = JIT_GEMM_SCALE_BLOCK,
                                  .dtype = kind->scale,
                                  .block_mn = 1,
                                  .block_k = kind->block};
    const struct element_view view = {kind->d, 1, 1, COLUMNS, COLUMNS, COLUMNS};
    const struct element_view scale_view = quantise_scale_view(&scale, 1, 1, COLUMNS);
    const struct compare_bounds bounds = {.range = &range};
    unsigned char d[COLUMNS] = {0};
    float ref[COLUMNS] = {0}, scales[2] = {0};
    const float used = quantise_scale(&scale, kind->d, (float)amax_got);
    ref[0] = (float)amax;
    ref[3] = (float)other;
    element_store(kind->d, d, 0, quantise_element(kind->d, used, (float)amax_got));
    element_store(kind->d, d, 3, quantise_element(kind->d, used, (float)other_got));
    element_store(kind->scale, scales, 0, (double)used);
    if (kind->block < COLUMNS) {
        element_store(kind->scale, scales, 1, (double)quantise_scale(&scale, kind->d, 0));
    }
    const struct quantised all = {.scale = &scale,
                                  .view = &view,
                                  .scale_view = &scale_view,
                                  .ref_view = &ref_view,
                                  .data = d,
                                  .scales = scales,
                                  .ref = ref};
    ref_values = ref;
    quantise_compare(&all, &bounds, ret_elements, ret_scales);
}

static const struct scaled kinds[] = {{JIT_GEMM_DTYPE_E4M3, JIT_GEMM_DTYPE_F32, 128},
                                      {JIT_GEMM_DTYPE_E5M2, JIT_GEMM_DTYPE_F32, 128},
                                      {JIT_GEMM_DTYPE_E4M3, JIT_GEMM_DTYPE_UE8M0, 32},
                                      {JIT_GEMM_DTYPE_E5M2, JIT_GEMM_DTYPE_UE8M0, 32},
                                      {JIT_GEMM_DTYPE_E2M1, JIT_GEMM_DTYPE_UE8M0, 32},
                                      {JIT_GEMM_DTYPE_E2M1, JIT_GEMM_DTYPE_UE4M3, 16}};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* The greatest value of a type, and a border between two others. */
static double greatest_of(jit_gemm_dtype d)
{
    return d == JIT_GEMM_DTYPE_E2M1 ? 6 : d == JIT_GEMM_DTYPE_E4M3 ? 448 : 57344;
}
static double border_of(jit_gemm_dtype d)
{
    return d == JIT_GEMM_DTYPE_E2M1 ? 2.5 : d == JIT_GEMM_DTYPE_E4M3 ? 15.5 : 15;
}

Test(ranges, an_element_of_a_block_is_right_within_the_errors_only)
{
    for (size_t i = 0; i < KINDS; i++) {
        const double amax = greatest_of(kinds[i].d), border = border_of(kinds[i].d);
        struct compare_report elements, scales;
        judge_scaled(&kinds[i], amax, amax, border * (1 + less), border * (1 - 1e-6),
                     &elements, &scales);
        cr_expect(elements.pass && elements.by_range == 1 && scales.pass, "kind %zu", i);
        judge_scaled(&kinds[i], amax, amax, border * (1 + more), border * (1 - 1e-6),
                     &elements, &scales);
        cr_expect(!elements.pass && elements.over_bound == 1 && scales.pass, "kind %zu", i);
    }
}

/* An amax just above the border of its scale, which the kernel saw below it: the scale is
 * half of what it should be, or a step smaller, or, of f32, so much smaller. */
Test(ranges, a_scale_whose_amax_moves_is_right_within_the_errors_only)
{
    for (size_t i = 0; i < KINDS; i++) {
        const bool is_ue4m3 = kinds[i].scale == JIT_GEMM_DTYPE_UE4M3;
        const double border = greatest_of(kinds[i].d) * (is_ue4m3 ? 1.0625 : 1);
        const double got = border * (1 - 1e-6);
        struct compare_report elements, scales;
        judge_scaled(&kinds[i], border * (1 + less), got, 0, 0, &elements, &scales);
        cr_expect(scales.pass && scales.by_range == 1 && elements.pass, "kind %zu", i);
        judge_scaled(&kinds[i], border * (1 + more), got, 0, 0, &elements, &scales);
        cr_expect(!scales.pass && scales.over_bound == 1, "kind %zu", i);
    }
}
