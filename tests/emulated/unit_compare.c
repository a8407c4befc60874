/* SPDX-License-Identifier: MIT */
#include "unit_compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/quantise.h"
#include "verify/snippet.h"

enum {
    SAMPLES = 700,       /* elements of a unit that are interpreted */
    BLOCK_SAMPLES = 2000 /* the same of blocks with a scale, all of whose elements count */
};

struct place {
    int64_t row, col, batch;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Of a matrix that lies as D. */
static size_t index_in_d(const struct unit *unit, const struct element_view *view,
                         const struct place *place)
{
    const bool by_columns = unit_is_column_major(unit);
    return (size_t)(place->batch * view->batch_stride +
                    (by_columns ? place->col : place->row) * view->ld +
                    (by_columns ? place->row : place->col));
}

static double load_input(const struct array *array, bool is_mn_major, int64_t outer,
                         int64_t inner, int64_t batch)
{
    const struct element_view *view = &array->view;
    return element_load(view->dtype, array->data,
                        (size_t)(batch * view->batch_stride +
                                 (is_mn_major ? inner : outer) * view->ld +
                                 (is_mn_major ? outer : inner)));
}

/* Exact, whatever the order. Of a pair that of accumulator 0 or 1. */
static double sum_at(const struct unit *unit, const struct place *place, int accumulator)
{
    const jit_gemm_problem *problem = &unit->problem;
    const int64_t column = unit_b_column(unit, place->col, accumulator);
    double sum = 0;
    for (int64_t k = 0; k < unit->k; k++) {
        sum += load_input(&unit->arrays[MATRIX_A],
                          problem->a.layout == JIT_GEMM_LAYOUT_MN_MAJOR, place->row, k,
                          place->batch) *
               load_input(&unit->arrays[MATRIX_B],
                          problem->b.layout == JIT_GEMM_LAYOUT_MN_MAJOR, column, k,
                          place->batch);
    }
    sum *= (double)unit->alpha;
    if (problem->a.scale.kind != JIT_GEMM_SCALE_NONE) {
        sum *= (place->row % 3 == 0 ? 0.5 : 2) * 0.25;
    }
    const struct array *c = &unit->arrays[MATRIX_C];
    if (c->data != NULL) {
        sum += (double)unit->beta *
               element_load(c->view.dtype, c->data, index_in_d(unit, &c->view, place));
    }
    return sum;
}

static double operand_at(const struct unit *unit, uint32_t i, const struct place *place)
{
    const struct array *array = &unit->arrays[i];
    const struct element_view *view = &array->view;
    size_t at = (size_t)(place->batch * view->batch_stride);
    switch (unit->operands[i].kind) {
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        at += (size_t)place->col;
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        at += (size_t)place->row;
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        at = index_in_d(unit, view, place);
        break;
    default:
        break;
    }
    return element_load(view->dtype, array->data, at);
}

/* Of the finest type that the snippet's results are rounded to. */
static int result_bits(const struct unit *unit)
{
    int bits = element_significand_bits(unit->arrays[MATRIX_D].view.dtype);
    for (uint32_t i = unit->input_count; i < unit->operand_count; i++) {
        const int of_output = element_significand_bits(unit->arrays[i].view.dtype);
        bits = of_output > bits ? of_output : bits;
    }
    return bits;
}

static struct snippet_element element_at(const struct unit *unit, const struct place *place)
{
    struct snippet_element element = {.acc = interval_of(sum_at(unit, place, 0)),
                                      .row = (int32_t)place->row,
                                      .col = (int32_t)place->col,
                                      .batch = (int32_t)place->batch,
                                      .m = (int32_t)unit->m,
                                      .n = (int32_t)unit->n,
                                      .k = (int32_t)unit->k,
                                      .result_bits = result_bits(unit)};
    if (unit->is_gated) {
        element.pair[0] = element.acc;
        element.pair[1] = interval_of(sum_at(unit, place, 1));
    }
    for (uint32_t i = 0; i < unit->input_count; i++) {
        element.operands[i] = interval_of(operand_at(unit, i, place));
    }
    return element;
}

/* Is the result of a type among those that the interval allows? */
static bool is_allowed(jit_gemm_dtype dtype, struct interval want, double got)
{
    if (interval_is_nan(want)) {
        const double nan = element_round(dtype, (double)NAN);
        return isnan(nan) ? isnan(got) : got == nan;
    }
    return got >= element_round(dtype, want.low) && got <= element_round(dtype, want.high);
}

static void compare_element(struct unit *unit, const struct snippet_of *own,
                            const struct snippet *snippet,
                            const struct snippet_element *element,
                            const struct place *place, struct counts *counts)
{
    char text[SNIPPET_REASON_SIZE + 512] = "";
    struct snippet_results results;
    const bool is_d = own->output == unit->operand_count;
    const struct array *array = &unit->arrays[is_d ? MATRIX_D : own->output];
    const enum snippet_outcome outcome = snippet_run(snippet, element, &results, text);
    const struct interval want = is_d ? results.d : results.operands[own->output];
    counts->elements++;
    if (outcome == SNIPPET_CANNOT) {
        unit_fail(unit, "cannot interpret", text);
        return;
    }
    if (outcome == SNIPPET_UNDECIDED || interval_is_unknown(want)) {
        counts->open++;
        return;
    }
    const double got =
        element_load(array->view.dtype, array->data, index_in_d(unit, &array->view, place));
    if (!is_allowed(array->view.dtype, want, got)) {
        snprintf(text, sizeof(text),
                 "element (%d, %d) of batch %d, acc = %.9g: %s is %.9g, expected %.9g to "
                 "%.9g before it is rounded",
                 (int)place->row, (int)place->col, (int)place->batch, element->acc.low,
                 element_dtype_name(array->view.dtype), got, want.low, want.high);
        unit_fail(unit, text, own->text);
    }
}

/* An output of a snippet that is read alone is that of its operand only. */
static struct snippet *read_snippet(struct unit *unit, const struct snippet_of *own)
{
    struct snippet_operand operands[JIT_GEMM_MAX_OPERANDS];
    char reason[SNIPPET_REASON_SIZE] = "";
    const uint32_t count =
        own->output < unit->operand_count ? own->output + 1 : unit->input_count;
    for (uint32_t i = 0; i < count; i++) {
        operands[i] = (struct snippet_operand){unit->names[i], i == own->output};
    }
    struct snippet *snippet =
        snippet_read(own->text, strlen(own->text), operands, count, reason);
    if (snippet == NULL) {
        unit_fail(unit, reason, own->text);
    }
    return snippet;
}

static struct place draw_place(struct unit *unit, int64_t sample, int64_t step)
{
    const int64_t at =
        sample * step + (step > 1 ? (int64_t)unit_below(unit, (uint32_t)step) : 0);
    return (struct place){.batch = at / (unit->m * unit->n),
                          .row = at / unit->n % unit->m,
                          .col = at % unit->n};
}

static bool is_reduction(const struct unit *unit, uint32_t output)
{
    return output < unit->operand_count &&
           output >= unit->operand_count - unit->reduction_count;
}

/* What a reduction has of one result's elements. */
struct fold {
    struct interval value;
    double magnitude; /* of a sum: of all terms */
    int64_t count;
    bool is_open;
};

static void fold_element(struct fold *fold, jit_gemm_operand_role role, struct interval x)
{
    const bool is_sum = role == JIT_GEMM_OPERAND_SUM;
    const bool is_infinite = isinf(x.low) || isinf(x.high);
    if (interval_is_unknown(x) || (is_sum && is_infinite)) {
        fold->is_open = true;
    } else if (fold->count++ == 0 || interval_is_nan(x)) {
        fold->value = x;
    } else if (is_sum) {
        fold->value.low += x.low;
        fold->value.high += x.high;
    } else if (!interval_is_nan(fold->value)) {
        const bool is_max = role == JIT_GEMM_OPERAND_MAX;
        fold->value.low =
            is_max ? fmax(fold->value.low, x.low) : fmin(fold->value.low, x.low);
        fold->value.high =
            is_max ? fmax(fold->value.high, x.high) : fmin(fold->value.high, x.high);
    }
    fold->magnitude += fmax(fabs(x.low), fabs(x.high));
}

/* In any order, of terms that are rounded to f32 each time. */
static struct interval folded(const struct fold *fold, jit_gemm_operand_role role)
{
    struct interval want = fold->value;
    if (role == JIT_GEMM_OPERAND_SUM) {
        const double error = (double)fold->count * 0x1p-24 * fold->magnitude;
        want.low -= error;
        want.high += error;
    }
    return want;
}

static size_t fold_index(const struct array *array, jit_gemm_operand_kind kind,
                         const struct place *place)
{
    const int width = unit_block_width(kind);
    const int64_t at = width > 0 ? place->row * array->view.ld + place->col / width
                       : kind == JIT_GEMM_OPERAND_ROW_VECTOR    ? place->col
                       : kind == JIT_GEMM_OPERAND_COLUMN_VECTOR ? place->row
                                                                : 0;
    return (size_t)(place->batch * array->view.batch_stride + at);
}

/* All elements, and all results. */
static void compare_reduction(struct unit *unit, const struct snippet_of *own,
                              const struct snippet *snippet, struct counts *counts)
{
    const jit_gemm_operand *operand = &unit->operands[own->output];
    const struct array *array = &unit->arrays[own->output];
    const size_t places = (size_t)(unit->batch * array->view.batch_stride);
    struct fold *folds = calloc(places, sizeof(*folds));
    char text[SNIPPET_REASON_SIZE + 512] = "";
    for (int64_t i = 0; i < unit->batch * unit->m * unit->n; i++) {
        const struct place place = draw_place(unit, i, 1);
        const struct snippet_element element = element_at(unit, &place);
        struct snippet_results results;
        if (snippet_run(snippet, &element, &results, text) == SNIPPET_CANNOT) {
            unit_fail(unit, "cannot interpret", text);
            break;
        }
        fold_element(&folds[fold_index(array, operand->kind, &place)], operand->role,
                     results.operands[own->output]);
    }
    for (size_t i = 0; i < places; i++) {
        const struct interval want = folded(&folds[i], operand->role);
        counts->elements += folds[i].count > 0 ? 1 : 0;
        counts->blocks += folds[i].count > 0 && unit_block_width(operand->kind) > 0 ? 1 : 0;
        counts->open += folds[i].is_open ? 1 : 0;
        if (folds[i].count == 0 || folds[i].is_open) {
            continue;
        }
        const double got = element_load(array->view.dtype, array->data, i);
        if (!is_allowed(array->view.dtype, want, got)) {
            snprintf(text, sizeof(text), "%s[%zu] is %.9g, expected %.9g to %.9g",
                     unit->names[own->output], i, got, want.low, want.high);
            unit_fail(unit, text, own->text);
            break;
        }
    }
    free(folds);
}

/* ---------------------------------------------------------------- blocks with a scale */

/* Lines of D, as they lie, and how many elements each has: its rows, or its columns. */
static int64_t count_lines(const struct unit *unit)
{
    return unit_is_column_major(unit) ? unit->n : unit->m;
}
static int64_t count_in_line(const struct unit *unit)
{
    return unit_is_column_major(unit) ? unit->m : unit->n;
}

/* Some elements of a line, or of each of several, and what the interpreter has of them as
 * f32. */
struct block {
    struct place first;
    int64_t lines, in_line;
    struct interval *values;
    float scale; /* the kernel's */
};

static int64_t lines_of_block(const jit_gemm_scale *scale)
{
    return scale->block_mn > 1 ? scale->block_mn : 1;
}

static int64_t count_elements(const struct block *block)
{
    return block->lines * block->in_line;
}

static struct place place_in_block(const struct unit *unit, const struct block *block,
                                   int64_t i)
{
    const bool by_columns = unit_is_column_major(unit);
    struct place place = block->first;
    *(by_columns ? &place.col : &place.row) += i / block->in_line;
    *(by_columns ? &place.row : &place.col) += i % block->in_line;
    return place;
}

/* Between which the greatest magnitude of the block is; unknown if an element is. */
static struct interval find_amax(const struct block *block)
{
    struct interval amax = interval_of(0);
    for (int64_t i = 0; i < count_elements(block); i++) {
        const struct interval x = block->values[i];
        if (interval_is_unknown(x)) {
            return x;
        }
        if (interval_is_nan(x) || interval_is_nan(amax)) {
            amax = interval_of((double)NAN);
            continue;
        }
        const bool has_zero = x.low <= 0 && x.high >= 0;
        amax.low = fmax(amax.low, has_zero ? 0 : fmin(fabs(x.low), fabs(x.high)));
        amax.high = fmax(amax.high, fmax(fabs(x.low), fabs(x.high)));
    }
    return amax;
}

/* A scale grows with the greatest magnitude, but for zero, whose f32 scale is 1. */
static bool is_scale_allowed(const struct unit *unit, struct interval amax, float got)
{
    const jit_gemm_scale *scale = &unit->problem.d.scale;
    const jit_gemm_dtype d = unit->problem.d.dtype;
    if (interval_is_nan(amax)) {
        return isnan(got);
    }
    const float of_zero = quantise_scale(scale, d, 0);
    const float high = quantise_scale(scale, d, (float)amax.high);
    if (amax.low > 0) {
        return got >= quantise_scale(scale, d, (float)amax.low) && got <= high;
    }
    return memcmp(&got, &of_zero, sizeof(got)) == 0 ||
           (amax.high > 0 && got >= fminf(of_zero, FLT_MIN) && got <= high);
}

/* Of the kernel's own scale: what elements are stored as grows with what they are. */
static bool is_element_allowed(const struct unit *unit, const struct block *block,
                               struct interval value, double got)
{
    const jit_gemm_dtype d = unit->problem.d.dtype;
    const double low = quantise_element(d, block->scale, (float)value.low);
    const double high = quantise_element(d, block->scale, (float)value.high);
    return isnan(low) || isnan(high) ? isnan(got) : got >= low && got <= high;
}

static void fail_block(struct unit *unit, const struct snippet_of *own,
                       const struct block *block, int64_t i, const char *what, double got,
                       struct interval want)
{
    const struct place place = place_in_block(unit, block, i);
    char text[256];
    snprintf(
        text, sizeof(text),
        "%s at (%d, %d) of batch %d is %.9g; the scale is %.9g, the value %.9g to %.9g",
        what, (int)place.row, (int)place.col, (int)place.batch, got, (double)block->scale,
        want.low, want.high);
    unit_fail(unit, text, own->text);
}

static void compare_block(struct unit *unit, const struct snippet_of *own,
                          const struct block *block, struct counts *counts)
{
    const struct array *array = &unit->arrays[MATRIX_D];
    const struct interval amax = find_amax(block);
    counts->blocks++;
    counts->elements++;
    if (interval_is_unknown(amax)) {
        counts->open++;
    } else if (!is_scale_allowed(unit, amax, block->scale)) {
        fail_block(unit, own, block, 0, "the scale of the block whose greatest magnitude",
                   (double)block->scale, amax);
    }
    for (int64_t i = 0; i < count_elements(block); i++) {
        const struct place place = place_in_block(unit, block, i);
        const double got = element_load(array->view.dtype, array->data,
                                        index_in_d(unit, &array->view, &place));
        counts->elements++;
        if (interval_is_unknown(block->values[i])) {
            counts->open++;
        } else if (!is_element_allowed(unit, block, block->values[i], got)) {
            fail_block(unit, own, block, i, "the element", got, block->values[i]);
        }
    }
}

/* Block `number` of the batch, along the lines first. False: the interpreter cannot. */
static bool read_block(struct unit *unit, const struct snippet *snippet, int64_t batch,
                       int64_t number, struct block *block)
{
    const jit_gemm_scale *scale = &unit->problem.d.scale;
    const struct array *scales = &unit->arrays[MATRIX_D_SCALE];
    const int64_t rows = quantise_scale_rows(scale, count_lines(unit));
    const int64_t across = (count_in_line(unit) + scale->block_k - 1) / scale->block_k;
    const int64_t row = number / across, column = number % across;
    const int64_t at = batch * scales->view.batch_stride +
                       quantise_scale_index(scale, rows, count_in_line(unit), row, column);
    const int64_t line = row * lines_of_block(scale), in_line = column * scale->block_k;
    const bool by_columns = unit_is_column_major(unit);
    block->first = (struct place){.batch = batch,
                                  .row = by_columns ? in_line : line,
                                  .col = by_columns ? line : in_line};
    block->scale = (float)element_load(scale->dtype, scales->data, (size_t)at);
    block->lines = least(count_lines(unit) - line, lines_of_block(scale));
    block->in_line = least(count_in_line(unit) - in_line, scale->block_k);
    for (int64_t i = 0; i < count_elements(block); i++) {
        char text[SNIPPET_REASON_SIZE] = "";
        struct snippet_results results;
        const struct place place = place_in_block(unit, block, i);
        const struct snippet_element element = element_at(unit, &place);
        if (snippet_run(snippet, &element, &results, text) == SNIPPET_CANNOT) {
            unit_fail(unit, "cannot interpret", text);
            return false;
        }
        block->values[i] = interval_to_float(results.d);
    }
    return true;
}

/* What belongs to no block keeps its poison, or is zero where a row's last word is not
 * whole. */
static void compare_scale_pads(struct unit *unit)
{
    const jit_gemm_scale *scale = &unit->problem.d.scale;
    const struct array *scales = &unit->arrays[MATRIX_D_SCALE];
    const size_t batch_stride = (size_t)scales->view.batch_stride;
    const int64_t in_line = count_in_line(unit);
    const int64_t rows = quantise_scale_rows(scale, count_lines(unit));
    const int64_t blocks = (in_line + scale->block_k - 1) / scale->block_k;
    const bool has_words = quantise_has_words(scale);
    const int64_t across = has_words ? (blocks + 3) / 4 * 4 : blocks;
    enum { NOBODYS, OF_A_BLOCK, ZERO };
    unsigned char *owners = calloc(batch_stride, 1);
    for (int64_t i = 0; i < rows * across; i++) {
        const bool is_block = i % across < blocks;
        owners[quantise_scale_index(scale, rows, in_line, i / across, i % across)] =
            is_block ? OF_A_BLOCK : ZERO;
    }
    for (size_t i = 0; i < (size_t)unit->batch * batch_stride; i++) {
        const unsigned char owner = owners[i % batch_stride];
        const bool is_right =
            owner == OF_A_BLOCK ||
            (owner == ZERO && ((unsigned char *)scales->data)[i] == 0) ||
            (owner == NOBODYS && element_is_poison(scale->dtype, scales->data, i));
        if (!is_right) {
            char text[64];
            snprintf(text, sizeof(text), "scale %zu, which is no block's", i);
            unit_fail(unit, text,
                      owner == ZERO ? "it should be zero" : "it should not be written");
            break;
        }
    }
    free(owners);
}

/* Whole blocks, from some of which the draw begins. */
static void compare_scaled(struct unit *unit, const struct snippet_of *own,
                           const struct snippet *snippet, struct counts *counts)
{
    const jit_gemm_scale *scale = &unit->problem.d.scale;
    const int64_t of_block = lines_of_block(scale) * scale->block_k;
    const int64_t across = (count_in_line(unit) + scale->block_k - 1) / scale->block_k;
    const int64_t of_batch = across * quantise_scale_rows(scale, count_lines(unit));
    const int64_t total = of_batch * unit->batch;
    const int64_t samples = of_block < BLOCK_SAMPLES ? BLOCK_SAMPLES / of_block : 1;
    const int64_t step = (total + samples - 1) / samples;
    struct block block = {.values = malloc((size_t)of_block * sizeof(*block.values))};
    for (int64_t begin = 0; begin + step <= total && unit->wrong[0] == '\0';
         begin += step) {
        const int64_t i = begin + (int64_t)unit_below(unit, (uint32_t)step);
        if (read_block(unit, snippet, i / of_batch, i % of_batch, &block)) {
            compare_block(unit, own, &block, counts);
        }
    }
    free(block.values);
    compare_scale_pads(unit);
}

/* --------------------------------------------------------------------------- all of it */

static void compare_whole(struct unit *unit, const struct snippet_of *own,
                          const struct snippet *snippet, struct counts *counts)
{
    if (is_reduction(unit, own->output)) {
        compare_reduction(unit, own, snippet, counts);
    } else if (unit_is_scaled(unit) && own->output == unit->operand_count) {
        compare_scaled(unit, own, snippet, counts);
    }
}

/* Not those that compare_whole takes. */
static bool is_by_elements(const struct unit *unit, uint32_t output)
{
    const bool is_d = output == unit->operand_count;
    return !is_reduction(unit, output) && !(is_d && unit_is_scaled(unit));
}

void compare_results(struct unit *unit, struct counts *counts)
{
    const int64_t total = unit->m * unit->n * unit->batch;
    const int64_t step = (total + SAMPLES - 1) / SAMPLES;
    struct snippet *snippets[JIT_GEMM_MAX_OPERANDS + 1] = {NULL};
    for (uint32_t i = 0; i < unit->snippet_count; i++) {
        snippets[i] = read_snippet(unit, &unit->snippets[i]);
    }
    for (int64_t sample = 0; (sample + 1) * step <= total && unit->wrong[0] == '\0';
         sample++) {
        const struct place place = draw_place(unit, sample, step);
        const struct snippet_element element = element_at(unit, &place);
        for (uint32_t i = 0; i < unit->snippet_count; i++) {
            if (is_by_elements(unit, unit->snippets[i].output)) {
                compare_element(unit, &unit->snippets[i], snippets[i], &element, &place,
                                counts);
            }
        }
    }
    for (uint32_t i = 0; i < unit->snippet_count && unit->wrong[0] == '\0'; i++) {
        compare_whole(unit, &unit->snippets[i], snippets[i], counts);
    }
    for (uint32_t i = 0; i < unit->snippet_count; i++) {
        snippet_free(snippets[i]);
    }
}
