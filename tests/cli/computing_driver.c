/* SPDX-License-Identifier: MIT */
/*
 * The fake driver, whose launches compute a plain product on the host instead of nothing,
 * so that `run --verify` can pass, and fail, without a GPU. Both inputs K-major, no
 * epilogue but what other variables name; C, where there is one, in f32. With alpha 0
 * neither A nor B is read, so that a caller's own sums in C are seen to be what is taken.
 *
 * COMPUTING_DRIVER names the types and what goes wrong in the structured kernel, for
 * instance "bf16 f32 none": type of A and B, type of D, and one of none, element (one is
 * wrong), large (one is, in kernels of more than 100 KiB of shared memory), unwritten (one
 * is left out), stray (a write between two rows), before and after (one outside the
 * matrix), later (one is wrong, but in the first launch). The reference kernel, 256 threads
 * per block, makes no mistakes; as an emulator (FAKE_EMULATOR) it computes no sums, which
 * nobody would wait for.
 *
 * With COMPUTING_CLOCK events have no time of the host: each launch takes 2570
 * microseconds, less ten for each KiB of shared memory: so long, because warming up takes a
 * second of it.
 *
 * COMPUTING_SCALES has the blocks of the scales of A and B: rows, elements along K, and the
 * layout, for instance "1 128 column 128 128 row". A vector has one block along K. Those of
 * a byte have for a layout their type, "1 32 ue8m0 1 32 ue8m0", and lie in 128x4.
 *
 * COMPUTING_CC=10 makes the device one of compute capability 10.0. COMPUTING_L2 has the
 * bytes of its L2, by which `bench` chooses the number of sets of inputs.
 *
 * COMPUTING_SUMS, rows or all, is what the first operand has besides: sums of each row or
 * of all of a batch, in f32. More that goes wrong: unsummed (the last one is left out) and
 * large_sum (it is wrong, in kernels of more than 100 KiB of shared memory). The reference
 * kernel has a matrix of what is added up.
 *
 * COMPUTING_LAYOUT, column, is that of D and C. Only faults of one element beside it.
 *
 * COMPUTING_PAIR, halves or interleaved, is the epilogue `d = acc0 * acc1;`.
 *
 * COMPUTING_GROUPS, for instance "offsets 48", is the form of the groups of those launches
 * that get numbers, and N of all launches: one whose M it is has B for its A. With
 * k_offsets all A and B are MN-major. One more that goes wrong: group (the last one that
 * has something has the B, or the K, of the one before). In these launches index goes wrong
 * too: each row has the index of the launch's first one plus its number.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/fake_driver.h"
#include "verify/quantise.h"

#define DRIVER_API __attribute__((visibility("default")))

/* What fake_driver.c calls its own launch in this build. */
CUresult fake_launch_kernel(const CUlaunchConfig *config, CUfunction function,
                            void **params, void **extra);

/* Likewise. Its events are a struct timespec each. */
CUresult fake_event_record(CUevent event, CUstream stream);

static atomic_llong clock_ns; /* of COMPUTING_CLOCK */

/* Of one matrix; no rows: without scales. */
struct blocks {
    int64_t rows, elements;
    char layout[8];
};

struct plan {
    char a[8], d[8], fault[16];
    jit_gemm_dtype a_type, d_type;
    struct blocks a_blocks, b_blocks;
    bool is_gated, has_halves, sums_rows, sums_all, is_column_major;
    bool is_mn_major; /* A and B */
    char groups[12];  /* "" in a launch without numbers */
    long n;           /* 0 where no groups are named */
};

/* What a launch adds up of a group: rows of D, and elements of K. */
struct range {
    int64_t row, row_end, k, k_end;
};

static void read_scales(struct plan *plan)
{
    const char *text = getenv("COMPUTING_SCALES");
    struct blocks a, b;

    if (text != NULL &&
        sscanf(text, "%" SCNd64 " %" SCNd64 " %7s %" SCNd64 " %" SCNd64 " %7s", &a.rows,
               &a.elements, a.layout, &b.rows, &b.elements, b.layout) == 6) {
        plan->a_blocks = a;
        plan->b_blocks = b;
    }
}

static void read_epilogue(struct plan *plan)
{
    const char *text = getenv("COMPUTING_PAIR");
    const char *sums = getenv("COMPUTING_SUMS");
    const char *layout = getenv("COMPUTING_LAYOUT");

    plan->is_column_major = layout != NULL && strcmp(layout, "column") == 0;
    plan->sums_rows = sums != NULL && strcmp(sums, "rows") == 0;
    plan->sums_all = sums != NULL && strcmp(sums, "all") == 0;
    plan->is_gated = text != NULL;
    plan->has_halves = text != NULL && strcmp(text, "halves") == 0;
}

static bool read_plan(struct plan *plan)
{
    const char *text = getenv("COMPUTING_DRIVER");

    return text != NULL &&
           sscanf(text, "%7s %7s %15s", plan->a, plan->d, plan->fault) == 3 &&
           element_dtype_parse(plan->a, &plan->a_type) &&
           element_dtype_parse(plan->d, &plan->d_type);
}

/* Of a byte for each block, which lies in 128x4; `k_count` elements along K have some. */
static double load_byte_scale(const struct jg_matrix_param *param,
                              const struct blocks *blocks, jit_gemm_dtype type,
                              int64_t batch, int64_t row, int64_t k, int64_t k_count)
{
    const jit_gemm_scale scale = {.block_k = (uint16_t)blocks->elements,
                                  .layout = JIT_GEMM_SCALE_LAYOUT_128X4};
    const int64_t at = quantise_scale_index(&scale, row + 1, k_count, row / blocks->rows,
                                            k / blocks->elements);

    return element_load(type, (const void *)(uintptr_t)param->pointer,
                        (size_t)(batch * param->batch_stride + at));
}

static double load_scale(const struct jg_matrix_param *param, const struct blocks *blocks,
                         int64_t batch, int64_t row, int64_t k, int64_t k_count)
{
    const float *scales = (const float *)(uintptr_t)param->pointer;
    jit_gemm_dtype type;

    if (blocks->rows == 0 || scales == NULL) {
        return 1;
    }
    if (element_dtype_parse(blocks->layout, &type)) {
        return load_byte_scale(param, blocks, type, batch, row, k, k_count);
    }
    const int64_t r = row / blocks->rows, block = k / blocks->elements;
    const int64_t at =
        strcmp(blocks->layout, "row") == 0 ? r * param->ld + block : block * param->ld + r;
    return (double)scales[batch * param->batch_stride + at];
}

static bool is_form(const struct plan *plan, const char *form)
{
    return strcmp(plan->groups, form) == 0;
}

/* A batch index's matrix, by its address where each has one. */
static void *matrix_of(const struct jg_matrix_param *param, const struct plan *plan,
                       jit_gemm_dtype type, int64_t batch)
{
    const uint64_t address =
        is_form(plan, "pointers")
            ? ((const uint64_t *)(uintptr_t)param->pointer)[batch]
            : param->pointer + element_bytes(type, (size_t)(batch * param->batch_stride));
    return (void *)(uintptr_t)address;
}

static int64_t place_input(const struct jg_matrix_param *param, const struct plan *plan,
                           int64_t mn, int64_t k)
{
    return plan->is_mn_major ? k * param->ld + mn : mn * param->ld + k;
}

static int64_t number_of(const struct jg_kernel_params *params, int64_t at)
{
    return ((const int32_t *)(uintptr_t)params->group_sizes)[at];
}

/* N or K of a group that has its own. */
static int64_t own_size(uint64_t sizes, int64_t group, int64_t all)
{
    return sizes != 0 ? ((const int32_t *)(uintptr_t)sizes)[group] : all;
}

/* All where there are no groups. With rows, those from `from` on that are one block. */
static struct range range_of(const struct jg_kernel_params *params, const struct plan *plan,
                             int64_t batch, int64_t from)
{
    struct range range = {from, params->m, 0, params->k};

    if (is_form(plan, "offsets")) {
        range.row = batch > 0 ? number_of(params, batch - 1) : 0;
        range.row_end = number_of(params, batch);
    } else if (is_form(plan, "counts") || is_form(plan, "pointers")) {
        range.row_end = number_of(params, batch);
        range.k_end = own_size(params->group_ks, batch, params->k);
    } else if (is_form(plan, "k_offsets")) {
        range.k = batch > 0 ? number_of(params, batch - 1) : 0;
        range.k_end = number_of(params, batch);
    } else if (is_form(plan, "rows")) {
        range.row_end = from + 128 < params->m ? from + 128 : params->m;
        range.row_end = number_of(params, from) == batch ? range.row_end : from;
    }
    return range;
}

/* The row of a matrix that is the product's, of whose batch it is; -1: none. */
static int64_t find_row(const struct jg_matrix_param *index, uint32_t count,
                        const struct plan *plan, int64_t batch, int64_t row)
{
    const int32_t *rows = (const int32_t *)(uintptr_t)index->pointer;

    if (rows == NULL) {
        return row;
    }
    const bool is_wrong = plan->groups[0] != '\0' && strcmp(plan->fault, "index") == 0;
    const int64_t named = is_wrong ? (rows[0] + batch * index->batch_stride + row) % count
                                   : rows[batch * index->batch_stride + row];
    return named >= 0 && named < (int64_t)count ? named : -1;
}

/* Those of a byte of groups by offsets begin at multiples of 128. */
static int64_t row_of_scales(const struct jg_kernel_params *params, const struct plan *plan,
                             int64_t batch, int64_t row)
{
    jit_gemm_dtype type;

    if (!is_form(plan, "offsets") || !element_dtype_parse(plan->a_blocks.layout, &type)) {
        return row;
    }
    const int64_t begin = range_of(params, plan, batch, 0).row;
    return (begin / 128 + batch) * 128 + row - begin;
}

/* What a batch index multiplies, as scales make it: a row of A, and all columns of B, each
 * of the group's K. Nothing is read where `is_zero`. */
struct factors {
    int64_t k, count;
    bool is_zero;
    double *a, *b;
};

/* A row of A or a column of B. */
struct line {
    const struct jg_matrix_param *matrix, *scale;
    const struct blocks *blocks;
    const void *data;
    int64_t batch, mn, scale_mn;
};

static void load_line(const struct jg_kernel_params *params, const struct plan *plan,
                      const struct line *line, const struct factors *factors, double *out)
{
    for (int64_t i = 0; !factors->is_zero && i < factors->count; i++) {
        const int64_t k = factors->k + i;
        const int64_t at = place_input(line->matrix, plan, line->mn, k);

        out[i] = element_load(plan->a_type, line->data, (size_t)at) *
                 load_scale(line->scale, line->blocks, line->batch, line->scale_mn, k,
                            params->k);
    }
}

static bool has_wrong_group(const struct jg_kernel_params *params, const struct plan *plan,
                            int64_t batch)
{
    return strcmp(plan->fault, "group") == 0 && plan->groups[0] &&
           batch == params->batch - 1;
}

static int64_t count_b_columns(const struct jg_kernel_params *params,
                               const struct plan *plan, int64_t batch)
{
    return is_form(plan, "pointers") ? own_size(params->group_ns, batch, params->n)
                                     : params->n;
}

/* With all columns of B of `batch`; the caller frees `a`. */
static struct factors open_factors(const struct jg_kernel_params *params,
                                   const struct plan *plan, int64_t batch)
{
    const int64_t columns = count_b_columns(params, plan, batch);
    const bool is_wrong = has_wrong_group(params, plan, batch);
    const int64_t b_batch = is_wrong && !is_form(plan, "k_offsets") ? batch - 1 : batch;
    const struct range range = range_of(params, plan, is_wrong ? batch - 1 : batch, 0);
    struct factors factors = {.k = range.k,
                              .count = range.k_end > range.k ? range.k_end - range.k : 0,
                              .is_zero = params->alpha.value == 0};
    const size_t lines = factors.is_zero ? 1 : (size_t)columns + 1;

    factors.a = calloc(lines * (size_t)factors.count + 1, sizeof(double));
    if (factors.a == NULL) {
        abort();
    }
    factors.b = factors.a + factors.count;
    for (int64_t column = 0; !factors.is_zero && column < columns; column++) {
        const struct line line = {.matrix = &params->b,
                                  .scale = &params->b_scale,
                                  .blocks = &plan->b_blocks,
                                  .data =
                                      matrix_of(&params->b, plan, plan->a_type, b_batch),
                                  .batch = batch,
                                  .mn = column,
                                  .scale_mn = column};

        load_line(params, plan, &line, &factors, factors.b + column * factors.count);
    }
    return factors;
}

/* A row without one of A's has zeros. */
static void load_row(const struct jg_kernel_params *params, const struct plan *plan,
                     int64_t batch, int64_t row, const struct factors *factors)
{
    const struct line line = {
        .matrix = &params->a,
        .scale = &params->a_scale,
        .blocks = &plan->a_blocks,
        .data = matrix_of(&params->a, plan, plan->a_type, batch),
        .batch = batch,
        .mn = find_row(&params->a_rows, params->a_row_count, plan, batch, row),
        .scale_mn = row_of_scales(params, plan, batch, row)};

    if (line.mn >= 0) {
        load_line(params, plan, &line, factors, factors->a);
    } else {
        memset(factors->a, 0, (size_t)factors->count * sizeof(double));
    }
}

/* Of the row that was loaded. */
static double multiply(const struct jg_kernel_params *params, const struct factors *factors,
                       int64_t column)
{
    const double *b = factors->b + column * factors->count;
    double sum = 0;

    for (int64_t i = 0; !factors->is_zero && i < factors->count; i++) {
        sum += factors->a[i] * b[i];
    }
    return sum * (double)params->alpha.value;
}

/* Of D: each of a gated pair has two of B. */
static int64_t count_columns(const struct jg_kernel_params *params, const struct plan *plan,
                             int64_t batch)
{
    const int64_t columns = count_b_columns(params, plan, batch);

    return plan->is_gated ? columns / 2 : columns;
}

/* Of D, without C, in the row that was loaded. */
static double compute_element(const struct jg_kernel_params *params,
                              const struct plan *plan, const struct factors *factors,
                              int64_t column)
{
    if (!plan->is_gated) {
        return multiply(params, factors, column);
    }
    const int64_t first = plan->has_halves ? column : 2 * column;
    const int64_t step = plan->has_halves ? params->n / 2 : 1;

    return multiply(params, factors, first) * multiply(params, factors, first + step);
}

/* Where an element of a batch's D or C lies. */
static int64_t place_element(const struct jg_matrix_param *param, const struct plan *plan,
                             int64_t row, int64_t column)
{
    return (plan->is_column_major ? column : row) * param->ld +
           (plan->is_column_major ? row : column);
}

static void compute_rows(const struct jg_kernel_params *params, const struct plan *plan,
                         jit_gemm_dtype d_type, int64_t batch, const struct range *range,
                         const struct factors *factors)
{
    const float *c = params->c.pointer != 0
                         ? matrix_of(&params->c, plan, JIT_GEMM_DTYPE_F32, batch)
                         : NULL;
    void *d = matrix_of(&params->d, plan, d_type, batch);
    const int64_t columns = count_columns(params, plan, batch);

    for (int64_t row = range->row; row < range->row_end; row++) {
        const int64_t d_row =
            find_row(&params->d_rows, params->d_row_count, plan, batch, row);

        if (d_row >= 0) {
            load_row(params, plan, batch, row, factors);
        }
        for (int64_t column = 0; d_row >= 0 && column < columns; column++) {
            const int64_t d_at = place_element(&params->d, plan, d_row, column);
            double sum = compute_element(params, plan, factors, column);

            if (c != NULL) {
                const int64_t c_at = place_element(&params->c, plan, row, column);

                sum += (double)(params->beta.value * c[c_at]);
            }
            element_store(d_type, d, (size_t)d_at, sum);
        }
    }
}

static void compute_batch(const struct jg_kernel_params *params, const struct plan *plan,
                          jit_gemm_dtype d_type, int64_t batch)
{
    const int64_t step = is_form(plan, "rows") ? 128 : params->m;
    const struct factors factors = open_factors(params, plan, batch);

    for (int64_t from = 0; from < params->m; from += step) {
        const struct range range = range_of(params, plan, batch, from);
        compute_rows(params, plan, d_type, batch, &range, &factors);
    }
    free(factors.a);
}

/* Of what the operand has, the address. */
static float *sum_at(const struct jg_kernel_params *params, const struct plan *plan,
                     int64_t batch, int64_t row)
{
    const struct jg_matrix_param *param = &params->operands[0];

    return (float *)(uintptr_t)param->pointer + batch * param->batch_stride +
           (plan->sums_rows ? row : 0);
}

static void add_up(const struct jg_kernel_params *params, const struct plan *plan,
                   bool is_reference, int64_t batch)
{
    const struct factors factors = open_factors(params, plan, batch);
    double sum = 0;

    for (int64_t row = 0; row < params->m; row++) {
        load_row(params, plan, batch, row, &factors);
        sum = plan->sums_rows ? 0 : sum;
        for (int64_t column = 0; column < count_columns(params, plan, batch); column++) {
            const double value = compute_element(params, plan, &factors, column);

            sum += value;
            if (is_reference) {
                sum_at(params, plan, batch, 0)[row * params->operands[0].ld + column] =
                    (float)value;
            }
        }
        const bool is_last =
            batch == params->batch - 1 && (plan->sums_all || row == params->m - 1);
        const bool is_left_out = is_last && strcmp(plan->fault, "unsummed") == 0;
        if (!is_reference && !is_left_out) {
            *sum_at(params, plan, batch, row) = (float)sum;
        }
    }
    free(factors.a);
}

static size_t place_last(const struct jg_kernel_params *params, const struct plan *plan)
{
    return (size_t)place_element(&params->d, plan, params->m - 1,
                                 count_columns(params, plan, params->batch - 1) - 1);
}

/* `before`: what the last element was. */
static void make_mistake(const struct jg_kernel_params *params, const struct plan *plan,
                         bool is_large, const unsigned char *before)
{
    unsigned char *d = (unsigned char *)(uintptr_t)params->d.pointer;
    size_t size = element_size(plan->d_type);
    size_t columns = (size_t)count_columns(params, plan, 0);
    size_t last = place_last(params, plan);

    static atomic_int launches;
    const bool is_later = atomic_fetch_add(&launches, 1) > 0;
    if (strcmp(plan->fault, "element") == 0 ||
        (is_later && strcmp(plan->fault, "later") == 0) ||
        (is_large && strcmp(plan->fault, "large") == 0)) {
        element_store(plan->d_type, d, last, 1000);
    } else if (strcmp(plan->fault, "unwritten") == 0) {
        memcpy(d + last * size, before, size);
    } else if (strcmp(plan->fault, "stray") == 0) {
        memset(d + columns * size, 0, size);
    } else if (is_large && strcmp(plan->fault, "large_sum") == 0) {
        *sum_at(params, plan, params->batch - 1, params->m - 1) = 1000;
    } else if (strcmp(plan->fault, "before") == 0) {
        d[-1] = 0;
    } else if (strcmp(plan->fault, "after") == 0) {
        d[(size_t)params->m * (size_t)params->d.ld * size] = 0;
    }
}

/* What the fake driver says of its device. */
struct fake_driver *fake_driver_get(void);

__attribute__((constructor)) static void choose_device(void)
{
    const char *cc = getenv("COMPUTING_CC"), *l2 = getenv("COMPUTING_L2");

    if (cc != NULL) {
        fake_driver_get()->cc_major = atoi(cc);
    }
    if (l2 != NULL) {
        fake_driver_get()->l2_bytes = atoi(l2);
    }
}

DRIVER_API CUresult cuEventRecord(CUevent event, CUstream stream)
{
    const CUresult result = fake_event_record(event, stream);

    if (result == CUDA_SUCCESS && getenv("COMPUTING_CLOCK") != NULL) {
        const long long now = atomic_load(&clock_ns);

        *(struct timespec *)(void *)event = (struct timespec){
            .tv_sec = (time_t)(now / 1000000000), .tv_nsec = (long)(now % 1000000000)};
    }
    return result;
}

static void read_groups(struct plan *plan, bool has_numbers)
{
    const char *text = getenv("COMPUTING_GROUPS");

    plan->is_mn_major = text != NULL && strncmp(text, "k_offsets", 9) == 0;
    if (text != NULL && sscanf(text, "%11s %ld", plan->groups, &plan->n) == 2 &&
        !has_numbers) {
        plan->groups[0] = '\0';
    }
}

/* Those of one block along K are no blocks: they stay A's and B's in a transposed product.
 */
static bool has_vectors(const struct jg_kernel_params *params, const struct plan *plan)
{
    return plan->a_blocks.elements > params->k || plan->b_blocks.elements > params->k;
}

/* The product of which the launch has the transposed one. */
static struct jg_kernel_params turn_over(const struct jg_kernel_params *params,
                                         const struct plan *plan)
{
    struct jg_kernel_params turned = *params;

    turned.a = params->b;
    turned.b = params->a;
    if (!has_vectors(params, plan)) {
        turned.a_scale = params->b_scale;
        turned.b_scale = params->a_scale;
    }
    turned.m = params->n;
    turned.n = params->m;
    return turned;
}

DRIVER_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                     void **params, void **extra)
{
    CUresult result = fake_launch_kernel(config, function, params, extra);
    const struct jg_kernel_params *values = params[0];
    bool is_reference = config->blockDimX == 256;
    struct plan plan = {0};

    if (result != CUDA_SUCCESS || !read_plan(&plan)) {
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
    }
#ifdef FAKE_EMULATOR
    if (is_reference && values->alpha.value != 0) {
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
#endif
    atomic_fetch_add(&clock_ns,
                     2570000 - 10000 * (long long)(config->sharedMemBytes / 1024));
    read_scales(&plan);
    read_epilogue(&plan);
    struct jg_kernel_params turned;
    read_groups(&plan, values->group_sizes != 0);
    if (plan.n != 0 && values->m == plan.n) {
        turned = turn_over(values, &plan);
        values = &turned;
    }
    unsigned char before[8] = {0};
    if (!is_reference && !is_form(&plan, "pointers")) {
        const size_t size = element_size(plan.d_type);
        memcpy(before,
               (unsigned char *)(uintptr_t)values->d.pointer +
                   place_last(values, &plan) * size,
               size);
    }
    for (int64_t batch = 0; batch < values->batch; batch++) {
        compute_batch(values, &plan, is_reference ? JIT_GEMM_DTYPE_F32 : plan.d_type,
                      batch);
        if (plan.sums_rows || plan.sums_all) {
            add_up(values, &plan, is_reference, batch);
        }
    }
    if (!is_reference && !is_form(&plan, "pointers")) {
        make_mistake(values, &plan, config->sharedMemBytes > 100 * 1024, before);
    }
    return CUDA_SUCCESS;
}

/* What bench/ asks for besides; it launches no kernel of its own here. */

DRIVER_API CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    (void)module;
    (void)image;
    return CUDA_ERROR_NOT_SUPPORTED;
}

DRIVER_API CUresult cuModuleUnload(CUmodule module)
{
    (void)module;
    return CUDA_ERROR_NOT_SUPPORTED;
}

DRIVER_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                        const char *name)
{
    (void)function;
    (void)module;
    (void)name;
    return CUDA_ERROR_NOT_SUPPORTED;
}

DRIVER_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                       int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return CUDA_ERROR_NOT_SUPPORTED;
}
