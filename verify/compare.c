/* SPDX-License-Identifier: MIT */
#include "verify/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* One rounding to a type. */
struct rounding {
    double norm;     /* relative error of a whole norm */
    double unit;     /* of one normal element */
    double absolute; /* of one element: half of the least step; the reference of s32 is
                      * rounded too, so that next to a tie it may be a whole one */
    double root;     /* of the root mean square of the errors of small elements */
};

static struct rounding rounding_to(jit_gemm_dtype dtype)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_F16:
        return (struct rounding){1e-3, 0x1p-11, 0x1p-25, 0x1p-25};
    case JIT_GEMM_DTYPE_BF16:
        return (struct rounding){4e-3, 0x1p-8, 0, 0};
    case JIT_GEMM_DTYPE_E4M3:
        return (struct rounding){0x1p-4, 0x1p-4, 0x1p-10, 0x1p-10};
    case JIT_GEMM_DTYPE_E5M2:
        return (struct rounding){0x1p-3, 0x1p-3, 0x1p-17, 0x1p-17};
    case JIT_GEMM_DTYPE_S32:
        return (struct rounding){0, 0x1p-24, 1, 0.1};
    default:
        return (struct rounding){0, 0x1p-24, 0, 0};
    }
}

struct compare_bounds compare_bounds_for(jit_gemm_dtype dtype, enum compare_sums sums,
                                         int64_t k)
{
    const struct rounding rounding = rounding_to(dtype);
    const double unit = rounding.unit;
    double sum = 1e-5 + 2.5e-9 * (double)k;
    struct compare_bounds bounds = {0};

    if (sums == COMPARE_SUMS_KEPT) {
        return bounds;
    }
    if (sums == COMPARE_SUMS_INTEGER) {
        sum = 1e-6;
    } else if (sums == COMPARE_SUMS_13_BITS) {
        sum = 5e-4;
    }
    bounds.absolute = rounding.absolute;
    bounds.root = rounding.root;
    bounds.relative = rounding.norm > sum ? rounding.norm : sum;
    /* A steep epilogue such as exp turns the absolute error of a sum, which grows as the
     * square root of K, into a relative one. */
    bounds.element_relative = 1.01 * unit + sum * sqrt((double)k);
    bounds.element_rms = 16 * sum;
    return bounds;
}

static double square_mean_root(const struct element_view *view, const void *data)
{
    double sum = 0;
    uint64_t count = 0;

    for (int64_t batch = 0; batch < view->batch; batch++) {
        for (int64_t row = 0; row < view->rows; row++) {
            size_t start = (size_t)(batch * view->batch_stride + row * view->ld);

            for (int64_t column = 0; column < view->columns; column++) {
                double value = element_load(view->dtype, data, start + (size_t)column);

                if (isfinite(value)) {
                    sum += value * value;
                    count++;
                }
            }
        }
    }
    return count ? sqrt(sum / (double)count) : 0;
}

static void note_bad_element(struct compare_report *report, int64_t batch, int64_t row,
                             int64_t column, double got, double want)
{
    if (report->row < 0) {
        report->batch = batch;
        report->row = row;
        report->column = column;
        report->got = got;
        report->want = want;
    }
}

/* Not 0: at least one of the two is no finite number, and the pair has been judged. */
static int judge_special(jit_gemm_dtype dtype, double got, double want, int *ret_good)
{
    if (isfinite(got) && isfinite(want)) {
        return 0;
    }
    *ret_good = isnan(want) ? isnan(got) : got == element_round(dtype, want);
    return 1;
}

/* What the type's conversion makes of values beyond its range. */
static double saturate(jit_gemm_dtype dtype, double value)
{
    const int saturates = dtype == JIT_GEMM_DTYPE_E4M3 || dtype == JIT_GEMM_DTYPE_E5M2 ||
                          dtype == JIT_GEMM_DTYPE_S32;
    const double greatest = saturates ? element_round(dtype, copysign(0x1p40, value)) : 0;

    return saturates && fabs(value) > fabs(greatest) ? greatest : value;
}

static uint64_t count_stray_writes(const struct element_view *view, const void *data)
{
    uint64_t count = 0;

    for (int64_t batch = 0; batch < view->batch; batch++) {
        int64_t start = batch * view->batch_stride;

        for (int64_t i = 0; i < view->batch_stride; i++) {
            int64_t row = i / view->ld;

            if (row < view->rows && i - row * view->ld < view->columns) {
                i = row * view->ld + view->columns - 1; /* skip the row's elements */
            } else if (!element_is_poison(view->dtype, data, (size_t)(start + i))) {
                count++;
            }
        }
    }
    return count;
}

void compare_matrices(const struct element_view *out_view, const void *out,
                      const struct element_view *ref_view, const void *ref,
                      const struct compare_bounds *bounds,
                      struct compare_report *ret_report)
{
    struct compare_report report = {.batch = -1, .row = -1, .column = -1};
    double rms = square_mean_root(ref_view, ref);
    double error_sum = 0, ref_sum = 0;
    uint64_t finite = 0;

    for (int64_t batch = 0; batch < out_view->batch; batch++) {
        for (int64_t row = 0; row < out_view->rows; row++) {
            int64_t out_start = batch * out_view->batch_stride + row * out_view->ld;
            int64_t ref_start = batch * ref_view->batch_stride + row * ref_view->ld;

            for (int64_t column = 0; column < out_view->columns; column++) {
                size_t at = (size_t)(out_start + column);
                size_t ref_at = (size_t)(ref_start + column);
                double got = element_load(out_view->dtype, out, at);
                double want = element_load(ref_view->dtype, ref, ref_at);
                double error;
                int good = 1;

                report.elements++;
                if (element_is_poison(ref_view->dtype, ref, ref_at)) {
                    report.bad_reference++;
                    good = 0;
                } else if (element_is_poison(out_view->dtype, out, at)) {
                    report.unwritten++;
                    good = 0;
                } else if (judge_special(out_view->dtype, got, want, &good)) {
                    report.wrong_nan += !good;
                } else {
                    want = saturate(out_view->dtype, want);
                    error = fabs(got - want);
                    error_sum += error * error;
                    ref_sum += want * want;
                    finite++;
                    report.max_error = error > report.max_error ? error : report.max_error;
                    good = error <= bounds->element_relative * fabs(want) +
                                        bounds->element_rms * rms + bounds->absolute;
                    report.over_bound += !good;
                }
                if (!good) {
                    note_bad_element(&report, batch, row, column, got, want);
                }
            }
        }
    }
    report.stray_writes = count_stray_writes(out_view, out);
    report.rel_bound = bounds->relative;
    if (ref_sum > 0) {
        report.rel_error = sqrt(error_sum / ref_sum);
        report.rel_bound += bounds->root * sqrt((double)finite / ref_sum);
    } else {
        report.rel_error = error_sum > 0 ? (double)INFINITY : 0;
    }
    report.pass = report.unwritten == 0 && report.stray_writes == 0 &&
                  report.wrong_nan == 0 && report.over_bound == 0 &&
                  report.bad_reference == 0 && report.rel_error <= report.rel_bound;
    *ret_report = report;
}

/* Adds "; 3 unwritten" unless there are none. */
static size_t describe_count(uint64_t count, const char *what, char *buffer, size_t size,
                             size_t used)
{
    if (count && used < size) {
        used +=
            (size_t)snprintf(buffer + used, size - used, "; %" PRIu64 " %s", count, what);
    }
    return used;
}

void compare_describe(const struct compare_report *report, char *buffer, size_t size)
{
    size_t used = (size_t)snprintf(
        buffer, size,
        "%" PRIu64 " elements, relative error %.3g (bound %.3g), "
        "largest difference %.3g",
        report->elements, report->rel_error, report->rel_bound, report->max_error);

    used = describe_count(report->unwritten, "unwritten", buffer, size, used);
    used = describe_count(report->wrong_nan, "with a wrong NaN or infinity", buffer, size,
                          used);
    used = describe_count(report->over_bound, "over the bound of an element", buffer, size,
                          used);
    used =
        describe_count(report->stray_writes, "written in the padding", buffer, size, used);
    used = describe_count(report->bad_reference, "missing in the reference", buffer, size,
                          used);
    if (report->row >= 0 && used < size) {
        snprintf(buffer + used, size - used,
                 "; first at batch %" PRId64 " row %" PRId64 " column %" PRId64
                 ": %g instead of %g",
                 report->batch, report->row, report->column, report->got, report->want);
    }
}
