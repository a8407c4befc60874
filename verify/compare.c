/* SPDX-License-Identifier: MIT */
#include "verify/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum {
    ELEMENT_RMS = 16,        /* bounds of an element's sum beside those of the norm */
    MOST_SAMPLES = 256 * 256 /* elements whose ranges say what a norm may have */
};

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
    case JIT_GEMM_DTYPE_E4M3: /* of 8 bits each element is held against its borders */
        return (struct rounding){0x1p-4, 0x1p-24, 0, 0x1p-10};
    case JIT_GEMM_DTYPE_E5M2:
        return (struct rounding){0x1p-3, 0x1p-24, 0, 0x1p-17};
    case JIT_GEMM_DTYPE_E2M1: /* only beside scales, where it is compared by them */
        return (struct rounding){0x1p-2, 0x1p-2, 0x1p-2, 0x1p-2};
    case JIT_GEMM_DTYPE_S8: /* the reference is not rounded */
        return (struct rounding){0, 0x1p-24, 0, 0.3};
    case JIT_GEMM_DTYPE_S32:
        return (struct rounding){0, 0x1p-24, 1, 0.1};
    default:
        return (struct rounding){0, 0x1p-24, 0, 0};
    }
}

static bool has_borders(jit_gemm_dtype dtype)
{
    return dtype == JIT_GEMM_DTYPE_E4M3 || dtype == JIT_GEMM_DTYPE_E5M2 ||
           dtype == JIT_GEMM_DTYPE_S8;
}

struct compare_bounds compare_bounds_for(jit_gemm_dtype dtype, enum compare_sums sums,
                                         int64_t k)
{
    const struct rounding rounding = rounding_to(dtype);
    if (sums == COMPARE_SUMS_KEPT) {
        return (struct compare_bounds){0};
    }
    double sum = 1e-5 + 2.5e-9 * (double)k;
    if (sums == COMPARE_SUMS_INTEGER) {
        sum = 1e-6;
    } else if (sums == COMPARE_SUMS_13_BITS) {
        sum = 5e-4;
    } else if (sums == COMPARE_SUMS_13_BITS_OF_K) {
        sum = 5e-4 + 4e-7 * (double)k; /* seen: 1.2e-3 of 4096, 2.9e-3 of 16384 */
    }
    return (struct compare_bounds){
        .absolute = rounding.absolute,
        .root = rounding.root,
        .sums = sum,
        .relative = rounding.norm > sum ? rounding.norm : sum,
        /* A steep epilogue such as exp turns the absolute error of a sum, which grows as
         * the square root of K, into a relative one. */
        .element_relative = 1.01 * rounding.unit + sum * sqrt((double)k),
        .element_rms = ELEMENT_RMS * sum,
        .has_borders = has_borders(dtype)};
}

double compare_root_mean_square(const struct element_view *view, const void *data)
{
    double sum = 0;
    uint64_t count = 0;
    for (int64_t batch = 0; batch < view->batch; batch++) {
        for (int64_t row = 0; row < view->rows; row++) {
            const size_t start = (size_t)(batch * view->batch_stride + row * view->ld);
            for (int64_t column = 0; column < view->columns; column++) {
                const double value =
                    element_load(view->dtype, data, start + (size_t)column);
                if (isfinite(value)) {
                    sum += value * value;
                    count++;
                }
            }
        }
    }
    return count ? sqrt(sum / (double)count) : 0;
}

void compare_note_bad(struct compare_report *report, int64_t batch, int64_t row,
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

/* True: at least one of the two is no finite number, and the pair has been judged. */
static bool judge_special(jit_gemm_dtype dtype, double got, double want, bool *ret_good)
{
    if (isfinite(got) && isfinite(want)) {
        return false;
    }
    const double rounded = element_round(dtype, want);
    *ret_good = isnan(rounded) ? isnan(got) : got == rounded;
    return true;
}

/* What the type's conversion makes of values beyond its range. */
static double saturate(jit_gemm_dtype dtype, double value)
{
    const bool saturates = dtype == JIT_GEMM_DTYPE_E4M3 || dtype == JIT_GEMM_DTYPE_E5M2 ||
                           element_is_integer(dtype);
    const double greatest = saturates ? element_round(dtype, copysign(0x1p40, value)) : 0;
    return saturates && fabs(value) > fabs(greatest) ? greatest : value;
}

uint64_t compare_count_strays(const struct element_view *view, const void *data)
{
    uint64_t count = 0;
    for (int64_t batch = 0; batch < view->batch; batch++) {
        const int64_t start = batch * view->batch_stride;
        for (int64_t i = 0; i < view->batch_stride; i++) {
            const int64_t row = i / view->ld;
            if (row < view->rows && i - row * view->ld < view->columns) {
                i = row * view->ld + view->columns - 1; /* skip the row's elements */
            } else if (!element_is_poison(view->dtype, data, (size_t)(start + i))) {
                count++;
            }
        }
    }
    return count;
}

/* Both matrices, and what their comparison has found so far. */
struct comparison {
    const struct element_view *out_view, *ref_view;
    const void *out, *ref;
    const struct compare_bounds *bounds;
    double rms;  /* of the reference */
    double more; /* errors of sums beyond the bounds, where there are few elements */
    double error_sum, ref_sum;
    uint64_t finite;
    bool is_proven; /* one was wrong beyond the range, too */
    struct compare_report report;
};

/* Is it one that a value from `low` to `high` may have become? */
static bool is_within(const struct comparison *all, double got, double low, double high)
{
    const struct compare_bounds *bounds = all->bounds;
    const jit_gemm_dtype dtype = all->out_view->dtype;
    const double rest =
        (bounds->element_rms + ELEMENT_RMS * all->more) * all->rms + bounds->absolute;
    const double least = low - bounds->element_relative * fabs(low) - rest;
    const double most = high + bounds->element_relative * fabs(high) + rest;
    return bounds->has_borders
               ? got >= element_round(dtype, least) && got <= element_round(dtype, most)
               : got >= least && got <= most;
}

/* Is it right within the epilogue's own errors? */
static bool is_in_range(struct comparison *all, int64_t batch, int64_t row, int64_t column,
                        double got)
{
    const struct compare_range *range = all->bounds->range;
    double low, high;
    if (range == NULL || all->is_proven ||
        !range->find(range->context, batch, row, column, &low, &high)) {
        return false;
    }
    all->is_proven = !is_within(all, got, saturate(all->out_view->dtype, low),
                                saturate(all->out_view->dtype, high));
    all->report.by_range += !all->is_proven;
    return !all->is_proven;
}

/* Where the element lies. */
struct place {
    int64_t batch, row, column;
    size_t out_index, ref_index;
};

/* Both values are finite. Of one that is right by the epilogue's own errors only the norm's
 * error has none, which knows nothing of these: gelu of -8 is off by more than it is. */
static bool judge_finite(struct comparison *all, const struct place *at, double got,
                         double want)
{
    struct compare_report *report = &all->report;
    const double error = fabs(got - want);
    const bool is_close = is_within(all, got, want, want);
    report->max_error = error > report->max_error ? error : report->max_error;
    all->ref_sum += want * want;
    all->finite++;
    if (!is_close && is_in_range(all, at->batch, at->row, at->column, got)) {
        return true;
    }
    all->error_sum += error * error;
    return is_close;
}

static bool judge_element(struct comparison *all, const struct place *at, double got,
                          double want)
{
    struct compare_report *report = &all->report;
    report->elements++;
    if (element_is_poison(all->ref_view->dtype, all->ref, at->ref_index)) {
        report->bad_reference++;
        return false;
    }
    /* The poison of s8 is a value like others, and may be right. */
    if (element_is_poison(all->out_view->dtype, all->out, at->out_index) &&
        !(got == element_round(all->out_view->dtype, want))) {
        report->unwritten++;
        return false;
    }
    bool good;
    if (judge_special(all->out_view->dtype, got, want, &good)) {
        report->wrong_nan += !good;
    } else {
        good = judge_finite(all, at, got, want);
        report->over_bound += !good;
    }
    return good;
}

static void compare_element(struct comparison *all, int64_t batch, int64_t row,
                            int64_t column)
{
    const struct element_view *out = all->out_view;
    const struct element_view *ref = all->ref_view;
    const struct place at = {batch, row, column,
                             (size_t)(batch * out->batch_stride + row * out->ld + column),
                             (size_t)(batch * ref->batch_stride + row * ref->ld + column)};
    const double got = element_load(out->dtype, all->out, at.out_index);
    double want = element_load(ref->dtype, all->ref, at.ref_index);
    if (isfinite(got) && isfinite(want)) {
        want = saturate(out->dtype, want);
    }
    if (!judge_element(all, &at, got, want)) {
        compare_note_bad(&all->report, batch, row, column, got, want);
    }
}

/* The most that the range lets an element be off; 0 where nothing is known of it. */
static double width_at(const struct comparison *all, int64_t batch, int64_t row,
                       int64_t column)
{
    const struct compare_range *range = all->bounds->range;
    const struct element_view *ref = all->ref_view;
    const size_t index = (size_t)(batch * ref->batch_stride + row * ref->ld + column);
    const double want =
        saturate(all->out_view->dtype, element_load(ref->dtype, all->ref, index));
    double low, high;
    if (!isfinite(want) || !range->find(range->context, batch, row, column, &low, &high)) {
        return 0;
    }
    return fmax(want - saturate(all->out_view->dtype, low),
                saturate(all->out_view->dtype, high) - want);
}

/* Of the reference's norm, what errors of sums may become in a snippet that is steep there:
 * each as much as its range has, by samples. */
static double find_spread(const struct comparison *all)
{
    const struct element_view *view = all->out_view;
    const int64_t of_batch = view->rows * view->columns;
    const int64_t count = view->batch * of_batch;
    const int64_t step = count / MOST_SAMPLES + 1;
    double sum = 0;
    int64_t asked = 0;
    for (int64_t i = 0; i < count; i += step) {
        const double width = width_at(all, i / of_batch, i % of_batch / view->columns,
                                      i % of_batch % view->columns);
        sum += width * width;
        asked++;
    }
    return asked > 0 ? sqrt(sum / (double)asked * (double)all->finite / all->ref_sum) : 0;
}

/* The error of the whole, and the verdict. */
static void judge_norm(struct comparison *all)
{
    struct compare_report *report = &all->report;
    report->rel_bound = all->bounds->relative + all->more;
    if (all->ref_sum > 0) {
        report->rel_error = sqrt(all->error_sum / all->ref_sum);
        report->rel_bound += all->bounds->root * sqrt((double)all->finite / all->ref_sum);
        if (report->rel_error > report->rel_bound && report->over_bound == 0 &&
            all->bounds->range != NULL) {
            report->rel_bound = hypot(report->rel_bound, find_spread(all));
        }
    } else {
        report->rel_error = all->error_sum > 0 ? (double)INFINITY : 0;
    }
    report->pass = report->unwritten == 0 && report->stray_writes == 0 &&
                   report->wrong_nan == 0 && report->over_bound == 0 &&
                   report->bad_reference == 0 && report->rel_error <= report->rel_bound;
}

/* By how much more the errors of sums may weigh. */
static double more_of_few(const struct compare_bounds *bounds,
                          const struct element_view *view)
{
    const double count = (double)view->batch * (double)view->rows * (double)view->columns;
    return count > 0 ? bounds->sums * (pow(1000, 1 / count) - 1) : 0;
}

void compare_matrices(const struct element_view *out_view, const void *out,
                      const struct element_view *ref_view, const void *ref,
                      const struct compare_bounds *bounds,
                      struct compare_report *ret_report)
{
    struct comparison all = {.out_view = out_view,
                             .ref_view = ref_view,
                             .out = out,
                             .ref = ref,
                             .bounds = bounds,
                             .rms = compare_root_mean_square(ref_view, ref),
                             .more = more_of_few(bounds, ref_view),
                             .report = {.batch = -1, .row = -1, .column = -1}};
    for (int64_t batch = 0; batch < out_view->batch; batch++) {
        for (int64_t row = 0; row < out_view->rows; row++) {
            for (int64_t column = 0; column < out_view->columns; column++) {
                compare_element(&all, batch, row, column);
            }
        }
    }
    all.report.stray_writes = compare_count_strays(out_view, out);
    judge_norm(&all);
    *ret_report = all.report;
}

/* Adds "; 3 unwritten" unless there are none. */
static size_t describe_count(uint64_t count, const char *finding, char *buffer, size_t size,
                             size_t used)
{
    if (count && used < size) {
        used += (size_t)snprintf(buffer + used, size - used, "; %" PRIu64 " %s", count,
                                 finding);
    }
    return used;
}

/* Of blocks that no scale fits, which have no relative error. */
static size_t describe_unfit(const struct compare_report *report, char *buffer, size_t size,
                             size_t used)
{
    if (report->unfit_blocks > 0 && used < size) {
        used += (size_t)snprintf(buffer + used, size - used,
                                 ", without %" PRIu64 " blocks whose scale is out of "
                                 "range: change alpha",
                                 report->unfit_blocks);
    }
    return used;
}

void compare_describe(const struct compare_report *report, char *buffer, size_t size)
{
    size_t used =
        (size_t)snprintf(buffer, size, "%" PRIu64 " elements, ", report->elements);

    if (isnan(report->rel_error)) {
        used += (size_t)snprintf(buffer + used, size - used, "no relative error");
    } else {
        used +=
            (size_t)snprintf(buffer + used, size - used,
                             "relative error %.3g (bound %.3g), largest difference %.3g",
                             report->rel_error, report->rel_bound, report->max_error);
    }
    used = describe_unfit(report, buffer, size, used);
    used = describe_count(report->by_range, "right within the epilogue's own errors only",
                          buffer, size, used);
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
