/* SPDX-License-Identifier: MIT */
#include "verify/quantise.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------- layouts */

static int64_t divide_up(int64_t value, int64_t by)
{
    return (value + by - 1) / by;
}

static int64_t count_blocks(const jit_gemm_scale *scale, int64_t columns)
{
    return divide_up(columns, scale->block_k);
}

static int64_t block_rows(const jit_gemm_scale *scale)
{
    return scale->block_mn > 1 ? scale->block_mn : 1;
}

int64_t quantise_scale_rows(const jit_gemm_scale *scale, int64_t rows)
{
    return divide_up(rows, block_rows(scale));
}

int64_t quantise_group_rows(int64_t rows, int64_t groups)
{
    return (rows / QUANTISE_BAND_ROWS + groups) * QUANTISE_BAND_ROWS;
}

bool quantise_has_byte_scales(const jit_gemm_scale *scale)
{
    return scale->kind == JIT_GEMM_SCALE_BLOCK &&
           (scale->dtype == JIT_GEMM_DTYPE_UE8M0 || scale->dtype == JIT_GEMM_DTYPE_UE4M3);
}

struct element_view quantise_scale_view(const jit_gemm_scale *scale, int64_t batch,
                                        int64_t rows, int64_t columns)
{
    const int64_t blocks = count_blocks(scale, columns);
    int64_t count = rows * blocks;
    if (scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN) {
        count = blocks * divide_up(rows, 4) * 4;
    } else if (scale->layout == JIT_GEMM_SCALE_LAYOUT_128X4) {
        count = divide_up(rows, 128) * divide_up(blocks, 4) * 512;
    } else if (scale->layout == JIT_GEMM_SCALE_LAYOUT_8X4) {
        count = divide_up(rows, 8) * divide_up(blocks, 4) * 32;
    } else if (scale->layout == JIT_GEMM_SCALE_LAYOUT_MN_K4) {
        count = divide_up(blocks, 4) * divide_up(rows, 4) * 16;
    }
    /* Batches of one more element: a stride that is not packed. */
    return (struct element_view){.dtype = scale->dtype,
                                 .batch = batch,
                                 .rows = 1,
                                 .columns = count,
                                 .ld = count,
                                 .batch_stride = count + (batch > 1 ? 1 : 0)};
}

int64_t quantise_scale_index(const jit_gemm_scale *scale, int64_t rows, int64_t columns,
                             int64_t row, int64_t block)
{
    const int64_t blocks = count_blocks(scale, columns);
    if (scale->layout == JIT_GEMM_SCALE_LAYOUT_COLUMN) {
        return block * (divide_up(rows, 4) * 4) + row;
    }
    if (scale->layout == JIT_GEMM_SCALE_LAYOUT_128X4) {
        const int64_t piece = row / 128 * divide_up(blocks, 4) + block / 4;
        return piece * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
    }
    if (scale->layout == JIT_GEMM_SCALE_LAYOUT_8X4) {
        const int64_t piece = row / 8 * divide_up(blocks, 4) + block / 4;
        return piece * 32 + row % 8 * 4 + block % 4;
    }
    if (scale->layout == JIT_GEMM_SCALE_LAYOUT_MN_K4) {
        return (block / 4 * (divide_up(rows, 4) * 4) + row) * 4 + block % 4;
    }
    return row * blocks + block;
}

/* ----------------------------------------------------------------------------- values */

double quantise_random_scale(jit_gemm_dtype dtype, float random)
{
    return dtype == JIT_GEMM_DTYPE_UE8M0 ? ldexp(1, (int)(4 * random))
                                         : 0.125 + 2.0 * fabs((double)random);
}

static float greatest_of(jit_gemm_dtype d)
{
    return d == JIT_GEMM_DTYPE_E2M1 ? 6.0F : d == JIT_GEMM_DTYPE_E4M3 ? 448.0F : 57344.0F;
}

float quantise_scale(const jit_gemm_scale *scale, jit_gemm_dtype d, float amax)
{
    const float greatest = greatest_of(d);
    if (isnan(amax)) {
        return NAN;
    }
    if (scale->dtype == JIT_GEMM_DTYPE_UE8M0) {
        return (float)element_round(JIT_GEMM_DTYPE_UE8M0, (double)(amax / greatest));
    }
    if (scale->dtype == JIT_GEMM_DTYPE_UE4M3) { /* not 0: its reciprocal is finite */
        return fmaxf((float)element_round(JIT_GEMM_DTYPE_UE4M3, (double)(amax / greatest)),
                     0x1p-9F);
    }
    if (fpclassify(amax) == FP_ZERO) {
        return 1;
    }
    const float quotient = (isinf(amax) ? FLT_MAX : amax) / greatest;
    return quotient < FLT_MIN ? FLT_MIN : quotient;
}

void quantise_describe(const jit_gemm_scale *scale, jit_gemm_dtype d, char *text,
                       size_t size)
{
    const char *rounding =
        scale->dtype == JIT_GEMM_DTYPE_UE8M0   ? "the next power of two (RCEIL)"
        : scale->dtype == JIT_GEMM_DTYPE_UE4M3 ? "the nearest e4m3, not 0"
                                               : "in f32";
    snprintf(text, size, "a scale is amax / %g, %s; elements to nearest even, saturating",
             (double)greatest_of(d), rounding);
}

double quantise_element(jit_gemm_dtype d, float scale, float value)
{
    const float reciprocal = 1.0F / scale; /* of a power of two exact */
    const float scaled = value * reciprocal;
    return element_round(d, (double)scaled);
}

/* ------------------------------------------------------------------------- comparison */

struct comparison {
    const struct quantised *all;
    const struct compare_bounds *bounds;
    double rms;
    double error_sum, ref_sum;
    bool is_proven; /* one was wrong beyond the range, too */
    struct compare_report elements, scales;
    unsigned char *is_known; /* of each element of the scales' memory */
};

static float ref_at(const struct quantised *all, int64_t batch, int64_t row, int64_t column)
{
    const struct element_view *view = all->ref_view;
    return all->ref[batch * view->batch_stride + row * view->ld + column];
}

/* The least and the greatest that a value may be. */
struct range {
    float low, high;
};

/* How far the kernel's value may be from one that is right. */
static double error_of(const struct comparison *work, double value)
{
    return isfinite(value)
               ? work->bounds->element_relative * fabs(value) +
                     work->bounds->element_rms * work->rms + work->bounds->absolute
               : 0;
}

/* Some columns of some rows: a block. */
struct span {
    int64_t batch, row, row_end, begin, end;
    bool has_fitting_scale;
};

/* May the epilogue's own errors be asked for? */
static bool has_range(const struct comparison *work)
{
    return work->bounds->range != NULL && !work->is_proven;
}

/* What the kernel's element may be: about the reference's, or, where these are asked for,
 * beyond the epilogue's own errors. */
static struct range range_of(const struct comparison *work, const struct span *span,
                             int64_t row, int64_t column, bool asks)
{
    const struct compare_range *errors = work->bounds->range;
    const float ref = ref_at(work->all, span->batch, row, column);
    double low = (double)ref, high = (double)ref;
    double least, most;
    if (asks && isfinite(ref) &&
        errors->find(errors->context, span->batch, row, column, &least, &most)) {
        low = fmin(low, least);
        high = fmax(high, most);
    }
    return (struct range){(float)(low - error_of(work, low)),
                          (float)(high + error_of(work, high))};
}

/* The row whose scales lie where those of this row of D do. */
static int64_t scale_row_of(const struct quantised *all, int64_t batch, int64_t row)
{
    const int64_t mapped =
        all->scale_rows != NULL ? all->scale_rows[batch * all->view->rows + row] : row;
    return mapped < 0 || all->scale->layout == JIT_GEMM_SCALE_LAYOUT_128X4 ? mapped : row;
}

/* Adds a row's part of a block. The epilogue's own errors are asked for elements from
 * `asked` on: no others may be the greatest. */
static void widen_amax(const struct comparison *work, const struct span *span, int64_t row,
                       float asked, struct range *amax)
{
    for (int64_t column = span->begin; column < span->end; column++) {
        const bool asks = fabsf(ref_at(work->all, span->batch, row, column)) >= asked;
        const struct range value = range_of(work, span, row, column, asks);
        if (isnan(value.low) || isnan(value.high) || isnan(amax->high)) {
            *amax = (struct range){NAN, NAN};
            return;
        }
        amax->low = fmaxf(amax->low, fmaxf(value.low, -value.high));
        amax->high = fmaxf(amax->high, fmaxf(value.high, -value.low));
    }
}

/* Of the rows that a launch writes. */
static struct range find_amax(const struct comparison *work, const struct span *span,
                              float asked)
{
    struct range amax = {0, 0};
    for (int64_t row = span->row; row < span->row_end; row++) {
        if (scale_row_of(work->all, span->batch, row) >= 0) {
            widen_amax(work, span, row, asked, &amax);
        }
    }
    return amax;
}

/* An amax of zero, whose scale of f32 is 1, is a range of its own. */
static bool is_scale_right(const struct comparison *work, struct range amax, float got)
{
    const jit_gemm_scale *scale = work->all->scale;
    const jit_gemm_dtype d = work->all->view->dtype;
    const float high = quantise_scale(scale, d, amax.high);
    if (isnan(amax.high)) {
        return isnan(got);
    }
    if (amax.low <= 0) {
        const float zero = quantise_scale(scale, d, 0);
        const float least = amax.high > 0 ? FLT_MIN : zero;
        return (got >= zero && got <= zero) || (got <= high && got >= fminf(least, high));
    }
    return got >= quantise_scale(scale, d, amax.low) && got <= high;
}

/* Is there a scale that brings the block's greatest element near the greatest of D's type?
 * Beyond the greatest one all elements are clamped, below the least one of full precision
 * they lose bits: neither is near the reference, whoever rounds. A block of zeros is. */
static bool has_fitting_scale(const struct comparison *work, struct range amax)
{
    const jit_gemm_dtype scale = work->all->scale->dtype;
    const double greatest = (double)greatest_of(work->all->view->dtype);
    const double least = scale == JIT_GEMM_DTYPE_UE4M3 ? 0x1p-6 : FLT_MIN;
    const double most = scale == JIT_GEMM_DTYPE_UE4M3   ? 448
                        : scale == JIT_GEMM_DTYPE_UE8M0 ? 0x1p127
                                                        : FLT_MAX;
    if (amax.high <= 0) {
        return true;
    }
    return (double)amax.low >= least * greatest && (double)amax.high / greatest <= most &&
           isfinite(amax.high);
}

/* The same beyond the epilogue's own errors. */
static bool is_scale_in_range(struct comparison *work, const struct span *span,
                              struct range amax, float got)
{
    if (!has_range(work)) {
        return false;
    }
    const struct range asked = find_amax(work, span, 0.875F * amax.low);
    work->is_proven = !is_scale_right(work, asked, got);
    work->scales.by_range += !work->is_proven;
    return !work->is_proven;
}

static void compare_scale(struct comparison *work, const struct span *span,
                          struct range amax, float got)
{
    work->scales.elements++;
    if (!is_scale_right(work, amax, got) && !is_scale_in_range(work, span, amax, got)) {
        work->scales.over_bound++;
        compare_note_bad(
            &work->scales, span->batch, span->row, span->begin, (double)got,
            (double)quantise_scale(work->all->scale, work->all->view->dtype, amax.high));
    }
}

/* Is it one that a value within a range becomes beside this scale? */
static bool is_element_within(const struct comparison *work, struct range value,
                              float scale, double got)
{
    const jit_gemm_dtype d = work->all->view->dtype;
    return got >= quantise_element(d, scale, value.low) &&
           got <= quantise_element(d, scale, value.high);
}

/* Is it right beyond the epilogue's own errors? */
static bool is_element_in_range(struct comparison *work, const struct span *span,
                                int64_t row, int64_t column, float scale, double got)
{
    if (!has_range(work)) {
        return false;
    }
    const struct range value = range_of(work, span, row, column, true);
    work->is_proven = !is_element_within(work, value, scale, got);
    work->elements.by_range += !work->is_proven;
    return !work->is_proven;
}

static void compare_element(struct comparison *work, const struct span *span, int64_t row,
                            int64_t column, float scale)
{
    const struct element_view *view = work->all->view;
    const float ref = ref_at(work->all, span->batch, row, column);
    const struct range value = range_of(work, span, row, column, false);
    const size_t at = (size_t)(span->batch * view->batch_stride + row * view->ld + column);
    const double got = element_load(view->dtype, work->all->data, at);
    const double low = quantise_element(view->dtype, scale, value.low);
    work->elements.elements++;
    if (isnan(low) || isnan(got)) {
        work->elements.wrong_nan += isnan(low) != isnan(got);
    } else if (!is_element_within(work, value, scale, got) &&
               !is_element_in_range(work, span, row, column, scale, got)) {
        work->elements.over_bound++;
    } else {
        const bool is_near = span->has_fitting_scale && isfinite(ref) && isfinite(scale);
        const double difference = is_near ? got * (double)scale - (double)ref : 0;
        work->error_sum += difference * difference;
        work->ref_sum += is_near ? (double)ref * (double)ref : 0;
        work->elements.max_error = fmax(work->elements.max_error, fabs(difference));
        return;
    }
    if (isnan(low) != isnan(got) || !isnan(got)) {
        compare_note_bad(&work->elements, span->batch, row, column, got, low);
    }
}

/* Element of the scales' memory that has a block of the rows from `row` on. */
static int64_t scale_index_of(const struct quantised *all, int64_t batch, int64_t row,
                              int64_t block)
{
    const int64_t row_of_scales = scale_row_of(all, batch, row) / block_rows(all->scale);
    return batch * all->scale_view->batch_stride +
           quantise_scale_index(all->scale,
                                quantise_scale_rows(all->scale, all->view->rows),
                                all->view->columns, row_of_scales, block);
}

static void compare_block(struct comparison *work, struct span *span)
{
    const struct quantised *all = work->all;
    const int64_t index =
        scale_index_of(all, span->batch, span->row, span->begin / all->scale->block_k);
    const float scale =
        (float)element_load(all->scale_view->dtype, all->scales, (size_t)index);
    const struct range amax = find_amax(work, span, INFINITY);
    work->is_known[index] = 1;
    span->has_fitting_scale = has_fitting_scale(work, amax);
    work->elements.unfit_blocks += !span->has_fitting_scale;
    compare_scale(work, span, amax, scale);
    for (int64_t row = span->row; row < span->row_end; row++) {
        for (int64_t column = span->begin;
             column < span->end && scale_row_of(all, span->batch, row) >= 0; column++) {
            compare_element(work, span, row, column, scale);
        }
    }
}

bool quantise_has_words(const jit_gemm_scale *scale)
{
    return scale->layout == JIT_GEMM_SCALE_LAYOUT_128X4 ||
           scale->layout == JIT_GEMM_SCALE_LAYOUT_8X4 ||
           scale->layout == JIT_GEMM_SCALE_LAYOUT_MN_K4;
}

/* The blocks that are missing of a row's last word have scales of zero bytes. */
static void compare_pads(struct comparison *work, int64_t batch, int64_t row)
{
    const struct quantised *all = work->all;
    const int64_t blocks = count_blocks(all->scale, all->view->columns);
    if (!quantise_has_words(all->scale)) {
        return;
    }
    for (int64_t pad = blocks; pad % 4 != 0; pad++) {
        const int64_t index = scale_index_of(all, batch, row, pad);
        const unsigned char got = ((const unsigned char *)all->scales)[index];
        work->is_known[index] = 1;
        if (got != 0) {
            work->scales.over_bound++;
            compare_note_bad(&work->scales, batch, row, pad * all->scale->block_k, got, 0);
        }
    }
}

/* The blocks of the rows from `row` on, the first of theirs that a launch writes. */
static void compare_row(struct comparison *work, int64_t batch, int64_t row,
                        int64_t row_end)
{
    const int64_t columns = work->all->view->columns;
    const int64_t block = work->all->scale->block_k;
    for (int64_t begin = 0; begin < columns; begin += block) {
        const int64_t end = begin + block < columns ? begin + block : columns;
        struct span span = {batch, row, row_end, begin, end, true};
        compare_block(work, &span);
    }
    compare_pads(work, batch, row);
}

/* All rows of a batch, those of a block at a time. */
static void compare_batch(struct comparison *work, int64_t batch)
{
    const int64_t rows = work->all->view->rows;
    const int64_t step = block_rows(work->all->scale);
    for (int64_t row = 0; row < rows; row += step) {
        const int64_t end = row + step < rows ? row + step : rows;
        int64_t first = row;
        while (first < end && scale_row_of(work->all, batch, first) < 0) {
            first++;
        }
        if (first < end) {
            compare_row(work, batch, first, end);
        }
    }
}

static void count_stray_scales(struct comparison *work)
{
    const struct element_view *view = work->all->scale_view;
    const size_t count = (size_t)(view->batch * view->batch_stride);
    for (size_t i = 0; i < count; i++) {
        work->scales.stray_writes +=
            !work->is_known[i] && !element_is_poison(view->dtype, work->all->scales, i);
    }
}

static void judge(struct compare_report *report)
{
    report->pass =
        report->wrong_nan == 0 && report->over_bound == 0 && report->stray_writes == 0;
}

void quantise_compare(const struct quantised *all, const struct compare_bounds *bounds,
                      struct compare_report *ret_elements,
                      struct compare_report *ret_scales)
{
    const struct compare_report none = {.batch = -1, .row = -1, .column = -1};
    const size_t scales = (size_t)(all->scale_view->batch * all->scale_view->batch_stride);
    struct comparison work = {.all = all,
                              .bounds = bounds,
                              .rms = compare_root_mean_square(all->ref_view, all->ref),
                              .elements = none,
                              .scales = none,
                              .is_known = calloc(scales, 1)};
    for (int64_t batch = 0; batch < all->view->batch; batch++) {
        compare_batch(&work, batch);
    }
    work.elements.stray_writes = compare_count_strays(all->view, all->data);
    count_stray_scales(&work);
    free(work.is_known);
    work.elements.rel_error = work.ref_sum > 0 ? sqrt(work.error_sum / work.ref_sum)
                              : work.elements.unfit_blocks > 0 ? (double)NAN
                                                               : 0;
    work.elements.rel_bound =
        compare_bounds_for(all->view->dtype, COMPARE_SUMS_F32, 0).relative;
    judge(&work.elements);
    judge(&work.scales);
    work.elements.pass &= !(work.elements.rel_error > work.elements.rel_bound);
    *ret_elements = work.elements;
    *ret_scales = work.scales;
}
