/* SPDX-License-Identifier: MIT */
#include "gemm_shape.h"

#include <string.h>

#include "gemm_groups.h"
#include "verify/elements.h"

#define ROW_ALIGNMENT 16

/* What two matrices promise together (0: ROW_ALIGNMENT each). */
static uint32_t lesser_alignment(uint32_t one, uint32_t other)
{
    const uint32_t first = one != 0 ? one : ROW_ALIGNMENT;
    const uint32_t second = other != 0 ? other : ROW_ALIGNMENT;
    return first < second ? first : second;
}

int64_t gemm_shape_d_rows(const struct gemm_shape *shape)
{
    return shape->is_column_major ? shape->d_columns : shape->m;
}

int64_t gemm_shape_d_row(const struct gemm_shape *shape)
{
    return shape->is_column_major ? shape->m : shape->d_columns;
}

int64_t gemm_shape_ld(int64_t elements, jit_gemm_dtype type, uint32_t promised)
{
    const uint32_t own = (uint32_t)element_size(type);
    const uint32_t alignment = promised > own ? promised : own;
    const int64_t ld = element_padded_ld(type, elements, alignment);
    const bool is_better = element_padded_ld(type, ld, UINT64_C(2) * alignment) == ld;
    return alignment < ROW_ALIGNMENT && is_better
               ? element_padded_ld(type, ld + 1, alignment)
               : ld;
}

/* Groups that share a matrix have one of it. */
static void set_batches(jit_gemm_group_by by, struct gemm_shape *shape)
{
    const bool divides_k = by == JIT_GEMM_GROUP_BY_K_OFFSETS;
    const bool are_stacked =
        by == JIT_GEMM_GROUP_BY_OFFSETS || by == JIT_GEMM_GROUP_BY_ROWS;
    shape->group_by = by;
    shape->a_batches = divides_k || are_stacked ? 1 : shape->batch;
    shape->b_batches = divides_k ? 1 : shape->batch;
    shape->d_batches = are_stacked ? 1 : shape->batch;
}

void gemm_shape_read(const jit_gemm_problem *problem, const jit_gemm_info *kernel,
                     struct gemm_shape *ret_shape)
{
    struct gemm_shape s = {
        .m = problem->m.size,
        .n = problem->n.size,
        .k = problem->k.size,
        .batch = problem->batch.size > 0 ? problem->batch.size : 1,
        .a_type = problem->a.dtype,
        .sums_fast = problem->accumulate == JIT_GEMM_ACCUMULATE_FAST,
        .b_type =
            problem->b.dtype != JIT_GEMM_DTYPE_NONE ? problem->b.dtype : problem->a.dtype,
        .c_type = problem->c.dtype,
        .d_type = element_d_type(problem),
        .a_layout = problem->a.layout,
        .b_layout = problem->b.layout,
        .a_scale = problem->a.scale,
        .b_scale = problem->b.scale,
        .d_scale = problem->d.scale,
        .output_alignment = lesser_alignment(problem->c.alignment, problem->d.alignment),
        .is_gated = kernel->is_gated != 0,
        .is_column_major = problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR,
        .a_rows = problem->a_rows,
        .d_rows = problem->d_rows,
        .is_reference = strstr(kernel->config, "kernel=reference") != NULL,
    };
    s.d_columns = s.is_gated ? s.n / 2 : s.n;
    const uint32_t input_alignment =
        lesser_alignment(problem->a.alignment, problem->b.alignment);
    const bool a_k_major = s.a_layout == JIT_GEMM_LAYOUT_K_MAJOR;
    const bool b_k_major = s.b_layout == JIT_GEMM_LAYOUT_K_MAJOR;
    s.lda = gemm_shape_ld(a_k_major ? s.k : s.m, s.a_type, input_alignment);
    s.ldb = gemm_shape_ld(b_k_major ? s.k : s.n, s.b_type, input_alignment);
    const int64_t c_line = s.is_column_major ? s.m : s.n;
    s.ldc = s.c_type != JIT_GEMM_DTYPE_NONE
                ? gemm_shape_ld(c_line, s.c_type, s.output_alignment)
                : 0;
    s.ldd = gemm_shape_ld(gemm_shape_d_row(&s), s.d_type, s.output_alignment);
    s.a_batch_stride = s.lda * (a_k_major ? s.m : s.k);
    s.b_batch_stride = s.ldb * (b_k_major ? s.n : s.k);
    s.c_batch_stride = s.ldc * (s.is_column_major ? s.n : s.m);
    s.d_batch_stride = s.ldd * gemm_shape_d_rows(&s);
    if (s.d_scale.dtype == JIT_GEMM_DTYPE_NONE) {
        s.d_scale.dtype =
            s.d_scale.block_k == 32 ? JIT_GEMM_DTYPE_UE8M0 : JIT_GEMM_DTYPE_F32;
    }
    set_batches(problem->group_by, &s);
    *ret_shape = s;
}

int gemm_shape_check_sizes(const jit_gemm_problem *problem, char error[BENCH_ERROR_SIZE])
{
    if (problem->m.size == 0 || problem->n.size == 0 || problem->k.size == 0 ||
        (problem->batch.size == 0 && problem->batch.mode == JIT_GEMM_DIM_DYNAMIC)) {
        return bench_fail(error, "a dynamic size that is not given cannot be measured: "
                                 "write such as m=64 in the problem");
    }
    return 0;
}

int gemm_shape_check(const jit_gemm_problem *problem, char error[BENCH_ERROR_SIZE])
{
    if (gemm_shape_check_sizes(problem, error) != 0) {
        return -1;
    }
    return gemm_groups_check(problem, NULL, error);
}
