/* SPDX-License-Identifier: MIT */
/* What a launch writes of a set: poison before it, and what lies there behind it. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "gemm_groups.h"
#include "gemm_set.h"
#include "verify/quantise.h"

static bool is_written(const struct gemm_operand_place *place)
{
    return place->role != JIT_GEMM_OPERAND_INPUT;
}

static size_t count_elements(const struct element_view *view)
{
    return (size_t)(view->batch * view->rows * view->columns);
}

void gemm_sets_list_results(const struct gemm_sets *sets, struct gemm_results *ret_results)
{
    const struct gemm_shape *s = &sets->shape;
    struct gemm_results results = {0};
    results.sizes[results.count++] = (size_t)(s->m * s->d_columns * s->d_batches);
    for (uint32_t i = 0; i < sets->operand_count; i++) {
        if (is_written(&sets->operands[i])) {
            results.sizes[results.count++] = count_elements(&sets->operands[i].view);
        }
    }
    for (size_t i = 0; i < results.count; i++) {
        results.total += results.sizes[i];
    }
    *ret_results = results;
}

bool gemm_sets_hide_poison(const struct gemm_sets *sets)
{
    const jit_gemm_dtype type = sets->shape.d_type;
    return type == JIT_GEMM_DTYPE_S8 || type == JIT_GEMM_DTYPE_E2M1;
}

static int poison(const struct gemm_sets *sets, uint64_t address, unsigned char byte,
                  size_t bytes, char error[BENCH_ERROR_SIZE])
{
    if (bytes > 0 &&
        jit_gemm_device_fill(sets->context, address, byte, bytes) != JIT_GEMM_OK) {
        return bench_fail(error, "fill: %s", jit_gemm_last_error());
    }
    return 0;
}

int gemm_sets_poison(const struct gemm_sets *sets, size_t set, bool inverts,
                     char error[BENCH_ERROR_SIZE])
{
    const unsigned char flip = inverts ? 0xff : 0;
    const jit_gemm_args *args = &sets->args[set];
    int status = poison(sets, gemm_sets_address(sets, set, sets->d_offset),
                        (unsigned char)(element_poison_byte(sets->shape.d_type) ^ flip),
                        sets->d_bytes, error);
    if (status == 0) {
        status =
            poison(sets, args->d_scale.pointer,
                   (unsigned char)(element_poison_byte(sets->shape.d_scale.dtype) ^ flip),
                   sets->d_scale.bytes, error);
    }
    for (uint32_t i = 0; i < sets->operand_count && status == 0; i++) {
        const struct gemm_operand_place *place = &sets->operands[i];
        if (is_written(place)) {
            status = poison(sets, gemm_sets_address(sets, set, place->offset),
                            (unsigned char)(element_poison_byte(place->view.dtype) ^ flip),
                            place->bytes, error);
        }
    }
    return status;
}

/* Memory of a set on the host; NULL with an error. */
static void *download(const struct gemm_sets *sets, uint64_t address, size_t bytes,
                      const char *who, char error[BENCH_ERROR_SIZE])
{
    void *raw = malloc(bytes);
    if (raw == NULL) {
        bench_fail(error, "out of memory");
    } else if (jit_gemm_device_download(sets->context, raw, address, bytes) !=
               JIT_GEMM_OK) {
        bench_fail(error, "%s: %s", who, jit_gemm_last_error());
        free(raw);
        raw = NULL;
    }
    return raw;
}

/* D on the host, with its scales, which may be NULL; `has_row`: as that of the sets. */
struct raw_result {
    unsigned char *d;
    const bool *has_row;
    const struct gemm_bench_groups *groups;
    void *scales;
    int64_t scale_batch_stride;
    bool shows_poison;
};

/* The scale of an element as it lies in memory; NaN for one that cannot be. `row` counts
 * through all batches. */
static double load_d_scale(const struct gemm_shape *s, const struct raw_result *raw,
                           int64_t row, int64_t column)
{
    const jit_gemm_scale *scale = &s->d_scale;
    const int64_t rows = gemm_shape_d_rows(s);
    const int64_t index =
        quantise_scale_index(scale, quantise_scale_rows(scale, rows), gemm_shape_d_row(s),
                             row % rows / scale->block_mn, column / scale->block_k);
    const double value = element_load(
        scale->dtype, raw->scales, (size_t)(row / rows * raw->scale_batch_stride + index));
    return value > 0.0 ? value : (double)NAN;
}

static int convert_result(const struct gemm_shape *s, const struct raw_result *raw,
                          const char *who, float *ret_values, char error[BENCH_ERROR_SIZE])
{
    const int64_t rows = gemm_shape_d_rows(s), columns = gemm_shape_d_row(s);
    size_t at = 0;
    bool is_bad = false;
    bool is_nonzero = false;
    for (int64_t row = 0; row < rows * s->d_batches; row++) {
        for (int64_t col = 0; col < columns; col++) {
            if ((raw->has_row != NULL && !raw->has_row[row]) ||
                !gemm_groups_has_column(raw->groups, row / rows, col)) {
                ret_values[at++] = 0.0F;
                continue;
            }
            const size_t index = (size_t)(row * s->ldd + col);
            double value = element_load(s->d_type, raw->d, index);
            if (raw->scales != NULL) {
                value *= load_d_scale(s, raw, row, col);
            }
            is_bad = is_bad || !isfinite(value) ||
                     (raw->shows_poison && element_is_poison(s->d_type, raw->d, index));
            is_nonzero = is_nonzero || value != 0.0;
            ret_values[at++] = (float)value;
        }
    }
    if (is_bad || !is_nonzero) {
        return bench_fail(error, "%s: D %s: wrong result, nothing is timed", who,
                          is_bad ? "has elements that are not finite or not written"
                                 : "is all zero");
    }
    return 0;
}

static int read_d(const struct gemm_sets *sets, size_t set, const char *who,
                  float *ret_values, char error[BENCH_ERROR_SIZE])
{
    const jit_gemm_args *args = &sets->args[set];
    struct raw_result raw = {
        .d = download(sets, gemm_sets_address(sets, set, sets->d_offset), sets->d_bytes,
                      who, error),
        .has_row = sets->d_rows.count > 0 ? sets->has_d_row : sets->has_row,
        .groups = sets->groups,
        .scale_batch_stride = sets->d_scale.batch_stride,
        .shows_poison = !gemm_sets_hide_poison(sets)};
    int status = raw.d != NULL ? 0 : -1;
    if (status == 0 && sets->d_scale.bytes > 0) {
        raw.scales = download(sets, args->d_scale.pointer, sets->d_scale.bytes, who, error);
        status = raw.scales != NULL ? 0 : -1;
    }
    if (status == 0) {
        status = convert_result(&sets->shape, &raw, who, ret_values, error);
    }
    free(raw.d);
    free(raw.scales);
    return status;
}

int gemm_sets_read_reference(const struct gemm_sets *sets, uint64_t address,
                             const char *who, float *ret_values,
                             char error[BENCH_ERROR_SIZE])
{
    struct gemm_shape own = sets->shape;
    own.d_type = JIT_GEMM_DTYPE_F32;
    own.ldd = gemm_shape_d_row(&own);
    const size_t count = (size_t)(own.ldd * gemm_shape_d_rows(&own) * own.d_batches);
    struct raw_result raw = {.d =
                                 download(sets, address, count * sizeof(float), who, error),
                             .has_row = sets->has_row,
                             .groups = sets->groups,
                             .shows_poison = true};
    const int status =
        raw.d != NULL ? convert_result(&own, &raw, who, ret_values, error) : -1;
    /* What D's type saturates is no difference. */
    for (size_t i = 0; status == 0 && sets->d_scale.bytes == 0 && i < count; i++) {
        ret_values[i] = (float)element_round(sets->shape.d_type, (double)ret_values[i]);
    }
    free(raw.d);
    return status;
}

static int read_operand(const struct gemm_sets *sets, size_t set,
                        const struct gemm_operand_place *place, const char *who,
                        float *ret_values, char error[BENCH_ERROR_SIZE])
{
    const struct element_view *view = &place->view;
    const uint64_t address = gemm_sets_address(sets, set, place->offset);
    void *raw = download(sets, address, place->bytes, who, error);
    bool is_bad = false;
    if (raw == NULL) {
        return -1;
    }
    for (int64_t at = 0; at < (int64_t)count_elements(view); at++) {
        const int64_t row = at / view->columns;
        const bool is_own =
            place->kind != JIT_GEMM_OPERAND_MATRIX ||
            gemm_groups_has_column(sets->groups, row / view->rows, at % view->columns);
        if (!is_own || (sets->has_row != NULL && !sets->has_row[row])) {
            continue;
        }
        const size_t index = (size_t)(row / view->rows * view->batch_stride +
                                      row % view->rows * view->ld + at % view->columns);
        ret_values[at] = (float)element_load(view->dtype, raw, index);
        is_bad = is_bad || element_is_poison(view->dtype, raw, index);
    }
    free(raw);
    return is_bad ? bench_fail(error,
                               "%s: operand %s has elements that are not written: wrong "
                               "result, nothing is timed",
                               who, place->name)
                  : 0;
}

int gemm_sets_read_results(const struct gemm_sets *sets, size_t set, const char *who,
                           float *ret_values, char error[BENCH_ERROR_SIZE])
{
    struct gemm_results results;
    gemm_sets_list_results(sets, &results);
    int status = read_d(sets, set, who, ret_values, error);
    float *next = ret_values + results.sizes[0];
    for (uint32_t i = 0; i < sets->operand_count && status == 0; i++) {
        const struct gemm_operand_place *place = &sets->operands[i];
        if (is_written(place)) {
            status = read_operand(sets, set, place, who, next, error);
            next += count_elements(&place->view);
        }
    }
    return status;
}
