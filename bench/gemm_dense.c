/* SPDX-License-Identifier: MIT */
#include "gemm_dense.h"

#include <stdlib.h>
#include <string.h>

#include "gemm_groups.h"

enum { CLASSES = 32 }; /* of sizes: between two powers of two each */

struct gemm_dense {
    bool divides_k;
    size_t launches, kernels;
    jit_gemm *gemms[CLASSES]; /* NULL: no part is that large */
};

static int64_t count_of(const struct gemm_bench_part *part)
{
    return part->end - part->begin;
}

/* Not, if its group has no columns. */
static bool has_product(const struct gemm_sets *sets, const struct gemm_bench_part *part)
{
    return gemm_groups_columns(&sets->shape, sets->groups, part->group) > 0;
}

/* The class of 1, of 2, of 3 and 4, of 5 to 8 and so on. */
static size_t class_of(int64_t count)
{
    size_t power = 0;
    while (INT64_C(1) << power < count) {
        power++;
    }
    return power;
}

/* Does a group's part of a column vector of this type begin where no launch takes one? */
static bool is_cut(const struct gemm_sets *sets, jit_gemm_dtype type)
{
    const uint32_t alignment = sets->shape.output_alignment;
    for (size_t i = 0; i < sets->groups->part_count; i++) {
        const size_t begin = (size_t)sets->groups->parts[i].begin;
        if (begin * element_size(type) % alignment != 0) {
            return true;
        }
    }
    return false;
}

static bool has_cut_vector(const struct gemm_sets *sets)
{
    if (sets->shape.group_by == JIT_GEMM_GROUP_BY_K_OFFSETS) {
        return false;
    }
    bool is_any = sets->shape.a_scale.kind == JIT_GEMM_SCALE_VECTOR &&
                  is_cut(sets, JIT_GEMM_DTYPE_F32);
    for (uint32_t i = 0; i < sets->operand_count; i++) {
        is_any |= sets->operands[i].kind == JIT_GEMM_OPERAND_COLUMN_VECTOR &&
                  is_cut(sets, sets->operands[i].view.dtype);
    }
    return is_any;
}

bool gemm_dense_obstacle(const struct gemm_sets *sets, char *why, size_t size)
{
    const char *reason = NULL;
    if (sets->groups == NULL) {
        reason = "the problem has no groups";
    } else if (sets->a_scale.view.columns > 0 || sets->b_scale.view.columns > 0) {
        reason = "groups with scales of a byte are compared with the reference kernel only";
    } else if (has_cut_vector(sets)) {
        reason =
            "a group's part of a column vector is not aligned as the problem promises; "
            "give groups sizes that are multiples of 16";
    } else if (sets->shape.group_by == JIT_GEMM_GROUP_BY_K_OFFSETS &&
               (int64_t)sets->groups->part_count < sets->shape.batch) {
        reason = "a group has no elements of K, and no dense product makes its zeros";
    }
    if (reason != NULL) {
        snprintf(why, size, "%s", reason);
    }
    return reason != NULL;
}

/* The problem of the parts of one class, of which the largest and the smallest are known.
 */
static jit_gemm_problem make_problem(const jit_gemm_problem *grouped, bool divides_k,
                                     int64_t least, int64_t most)
{
    jit_gemm_problem problem = *grouped;
    const jit_gemm_dim dim = {
        .size = most, .mode = least < most ? JIT_GEMM_DIM_DYNAMIC : JIT_GEMM_DIM_EXACT};
    problem.group_by = JIT_GEMM_GROUP_NONE;
    problem.group_rest = JIT_GEMM_GROUP_REST_UNTOUCHED;
    memset(problem.typical_sizes, 0, sizeof(problem.typical_sizes));
    problem.batch = (jit_gemm_dim){.size = 1};
    problem.config[0] = '\0'; /* it was chosen for all groups */
    if (divides_k) {
        problem.k = dim;
    } else {
        problem.m = dim;
    }
    return problem;
}

static int make_kernel(jit_gemm_context *context, const jit_gemm_problem *problem,
                       struct gemm_sets *sets, jit_gemm **ret_gemm,
                       char error[BENCH_ERROR_SIZE])
{
    if (jit_gemm_create(context, problem, ret_gemm) != JIT_GEMM_OK) {
        return bench_fail(error, "a dense product of %lld rows and K of %lld: %s",
                          (long long)problem->m.size, (long long)problem->k.size,
                          jit_gemm_last_error());
    }
    return gemm_sets_give_workspace(sets, *ret_gemm, error);
}

int gemm_dense_create(jit_gemm_context *context, const jit_gemm_problem *problem,
                      struct gemm_sets *sets, struct gemm_dense **ret_dense,
                      char error[BENCH_ERROR_SIZE])
{
    const struct gemm_bench_groups *groups = sets->groups;
    int64_t least[CLASSES] = {0}, most[CLASSES] = {0};
    struct gemm_dense *dense = calloc(1, sizeof(*dense));
    if (dense == NULL) {
        return bench_fail(error, "out of memory");
    }
    dense->divides_k = problem->group_by == JIT_GEMM_GROUP_BY_K_OFFSETS;
    for (size_t i = 0; i < groups->part_count; i++) {
        const int64_t count = count_of(&groups->parts[i]);
        const size_t power = class_of(count);
        if (!has_product(sets, &groups->parts[i])) {
            continue;
        }
        dense->launches++;
        least[power] = least[power] == 0 || count < least[power] ? count : least[power];
        most[power] = count > most[power] ? count : most[power];
    }
    int status = 0;
    for (size_t power = 0; power < CLASSES && status == 0; power++) {
        if (most[power] > 0) {
            const jit_gemm_problem own =
                make_problem(problem, dense->divides_k, least[power], most[power]);
            status = make_kernel(context, &own, sets, &dense->gemms[power], error);
            dense->kernels++;
        }
    }
    if (status != 0) {
        gemm_dense_destroy(&dense);
        return -1;
    }
    *ret_dense = dense;
    return 0;
}

void gemm_dense_describe(const struct gemm_dense *dense, char *text, size_t size)
{
    snprintf(text, size, "%zu launch%s of %zu kernel%s", dense->launches,
             dense->launches == 1 ? "" : "es", dense->kernels,
             dense->kernels == 1 ? "" : "s");
}

/* A part of a matrix: of a batch index, from row and column `at` on, as it is stored. */
static jit_gemm_arg take_matrix(uint64_t address, jit_gemm_dtype type, int64_t ld,
                                int64_t elements)
{
    return (jit_gemm_arg){.pointer = address + element_bytes(type, (size_t)elements),
                          .ld = ld};
}

static int64_t place_input(jit_gemm_layout layout, int64_t ld, int64_t mn, int64_t k)
{
    return layout == JIT_GEMM_LAYOUT_K_MAJOR ? mn * ld + k : k * ld + mn;
}

/* Of scales of A or B from row or column `mn` of a batch index on. */
static jit_gemm_arg take_scales(const struct gemm_sets *sets, size_t set,
                                const jit_gemm_scale *scale,
                                const struct gemm_scale_place *place, int64_t batch,
                                int64_t mn)
{
    if (place->bytes == 0) {
        return (jit_gemm_arg){0};
    }
    const struct gemm_scales *scales = &place->scales;
    const int64_t of_batch = scales->batches > 1 ? batch * scales->count : 0;
    const bool by_rows = scale->layout == JIT_GEMM_SCALE_LAYOUT_ROW;
    int64_t ld = 0;
    if (scale->kind == JIT_GEMM_SCALE_BLOCK) {
        ld = by_rows ? scales->row_stride : scales->block_stride;
    }
    return (jit_gemm_arg){
        .pointer = gemm_sets_address(sets, set, place->offset) +
                   (uint64_t)(of_batch + mn / scales->block_mn * scales->row_stride) *
                       sizeof(float),
        .ld = ld};
}

/* Rows of matrices and column vectors are the part's; all else is every group's. */
static jit_gemm_arg take_operand(const struct gemm_sets *sets, size_t set,
                                 const struct gemm_operand_place *place, int64_t batch,
                                 int64_t row)
{
    if (place->bytes == 0) {
        return (jit_gemm_arg){.value = place->value};
    }
    const struct element_view *view = &place->view;
    int64_t elements = 0;
    if (place->kind == JIT_GEMM_OPERAND_MATRIX) {
        elements = batch * view->batch_stride + row * view->ld;
    } else if (place->kind == JIT_GEMM_OPERAND_COLUMN_VECTOR) {
        elements = row;
    }
    return take_matrix(gemm_sets_address(sets, set, place->offset), view->dtype,
                       place->kind == JIT_GEMM_OPERAND_MATRIX ? view->ld : 0, elements);
}

static int run_part(const struct gemm_dense *dense, const struct gemm_sets *sets,
                    size_t set, const struct gemm_bench_part *part, void *stream,
                    char error[BENCH_ERROR_SIZE])
{
    const struct gemm_shape *s = &sets->shape;
    const int64_t row = dense->divides_k ? 0 : part->begin;
    const int64_t k = dense->divides_k ? part->begin : 0;
    const int64_t count = count_of(part);
    const int64_t a_batch = s->a_batches > 1 ? part->group : 0;
    const int64_t b_batch = s->b_batches > 1 ? part->group : 0;
    const int64_t d_batch = s->d_batches > 1 ? part->group : 0;
    const int64_t own_k = gemm_groups_depth(s, sets->groups, part->group);
    const bool a_indexed = s->a_rows == JIT_GEMM_ROWS_INDEXED;
    const bool d_indexed = s->d_rows == JIT_GEMM_ROWS_INDEXED;
    const int64_t a_row = a_indexed ? 0 : row, a_stride = a_indexed ? 0 : s->a_batch_stride;
    const bool scales_by_index = a_indexed && s->a_scale.kind != JIT_GEMM_SCALE_TENSOR;
    const int64_t d_row = d_indexed ? 0 : row, d_stride = d_indexed ? 0 : s->d_batch_stride;
    jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS];
    for (uint32_t i = 0; i < sets->operand_count; i++) {
        operands[i] = take_operand(sets, set, &sets->operands[i], d_batch, row);
    }
    jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = take_matrix(gemm_sets_address(sets, set, sets->a_offset), s->a_type, s->lda,
                         a_batch * a_stride + place_input(s->a_layout, s->lda, a_row, k)),
        .b = take_matrix(gemm_sets_address(sets, set, sets->b_offset), s->b_type, s->ldb,
                         b_batch * s->b_batch_stride +
                             place_input(s->b_layout, s->ldb, 0, k)),
        .d = take_matrix(gemm_sets_address(sets, set, sets->d_offset), s->d_type, s->ldd,
                         d_batch * d_stride + d_row * s->ldd),
        .a_scale = scales_by_index
                       ? sets->args[set].a_scale
                       : take_scales(sets, set, &s->a_scale, &sets->a_scale, d_batch, row),
        .b_scale = take_scales(sets, set, &s->b_scale, &sets->b_scale, part->group, 0),
        .operands = sets->operand_count > 0 ? operands : NULL,
        .operand_count = sets->operand_count,
        .workspace = sets->args[set].workspace,
        .m = dense->divides_k ? s->m : count,
        .n = gemm_groups_columns(s, sets->groups, part->group),
        .k = dense->divides_k ? count
             : own_k > 0      ? own_k
                              : JIT_GEMM_SIZE_EMPTY,
        .batch = 1};
    if (s->c_type != JIT_GEMM_DTYPE_NONE) {
        args.c = take_matrix(gemm_sets_address(sets, set, sets->c_offset), s->c_type,
                             s->ldc, d_batch * s->c_batch_stride + row * s->ldc);
    }
    gemm_sets_give_rows(sets, set, d_batch * s->m + row, &args);
    if (jit_gemm_run(dense->gemms[class_of(count)], &args, stream) != JIT_GEMM_OK) {
        return bench_fail(error, "a dense product of group %lld: %s",
                          (long long)part->group, jit_gemm_last_error());
    }
    return 0;
}

int gemm_dense_run(const struct gemm_dense *dense, const struct gemm_sets *sets, size_t set,
                   void *stream, char error[BENCH_ERROR_SIZE])
{
    for (size_t i = 0; i < sets->groups->part_count; i++) {
        if (has_product(sets, &sets->groups->parts[i]) &&
            run_part(dense, sets, set, &sets->groups->parts[i], stream, error) != 0) {
            return -1;
        }
    }
    return 0;
}

void gemm_dense_destroy(struct gemm_dense **dense)
{
    if (dense == NULL || *dense == NULL) {
        return;
    }
    for (size_t i = 0; i < CLASSES; i++) {
        jit_gemm_destroy(&(*dense)->gemms[i]);
    }
    free(*dense);
    *dense = NULL;
}
