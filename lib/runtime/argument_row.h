/* SPDX-License-Identifier: MIT */
/*
 * One argument of a launch as a row of a table: where the problem declares it, where the
 * caller gives it, where the kernel takes it. Beside it, what arguments of all kinds have
 * in common.
 */
#ifndef JG_RUNTIME_ARGUMENT_ROW_H
#define JG_RUNTIME_ARGUMENT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "runtime/array.h"
#include "runtime/module.h"
#include "runtime/tensor_map.h"

/* A size of the launch, or 1. */
enum jg_launch_size {
    JG_SIZE_ONE,
    JG_SIZE_M,
    JG_SIZE_N,
    JG_SIZE_K,
    JG_SIZE_D_COLUMNS,
    JG_SIZE_COUNT
};

/* The arguments of a launch while they are resolved: from where, and where to. */
struct jg_launch_arguments {
    const struct jg_kernel *kernel;
    const jit_gemm_args *args;
    struct jg_kernel_params *params;
    struct jg_map_key *keys;
    struct jg_extents *extents; /* NULL: nobody asks */
    int64_t sizes[JG_SIZE_COUNT];
};

/* A matrix, or the scales of one. `declared` is its offset in the problem, `given` in the
 * arguments, `param` in the parameters. */
struct jg_argument_row {
    const char *field;
    const char *description;
    size_t declared, given, param;
    size_t lds;                       /* of A, B, C and D, in the arguments */
    enum jg_launch_size outer, inner; /* inner runs fastest, unless it is MN-major */
    enum jg_map_index map;
    const char *alignment_key; /* of a problem's text, which promises the alignment */
    const char *absent;        /* why nothing may be given, where there is none */
    const char *remedy;
};

/* Words of a problem's text. */
#define JG_INPUT_KEY  "input_align"
#define JG_OUTPUT_KEY "output_align"

/* The places of a row: `matrix` of the problem is `name` of the arguments. */
#define JG_ARGUMENT_ROW(matrix, name)                                \
    .field = #name, .declared = offsetof(struct jg_problem, matrix), \
    .given = offsetof(jit_gemm_args, name),                          \
    .param = offsetof(struct jg_kernel_params, name)

static inline const struct jg_matrix *
jg_declared_at(const struct jg_launch_arguments *launch, const struct jg_argument_row *row)
{
    return (const void *)((const char *)&launch->kernel->problem + row->declared);
}

static inline const jit_gemm_arg *jg_given_at(const struct jg_launch_arguments *launch,
                                              const struct jg_argument_row *row)
{
    return (const void *)((const char *)launch->args + row->given);
}

static inline uint64_t jg_lds_at(const struct jg_launch_arguments *launch,
                                 const struct jg_argument_row *row)
{
    uint64_t lds;
    memcpy(&lds, (const char *)launch->args + row->lds, sizeof(lds));
    return lds;
}

static inline struct jg_matrix_param *jg_param_at(const struct jg_launch_arguments *launch,
                                                  const struct jg_argument_row *row)
{
    return (void *)((char *)launch->params + row->param);
}

/* The row whose parameter and map the product has for this matrix, or for the scales of its
 * blocks: A and B as the kernel takes them. In each table A and B come first, in this
 * order.
 */
const struct jg_argument_row *jg_row_in_product(const struct jg_launch_arguments *launch,
                                                const struct jg_argument_row *row);

/* ARGUMENT, if what the row has reserved is not zero. */
jit_gemm_status jg_argument_row_check_reserved(const jit_gemm_args *args,
                                               const struct jg_argument_row *row);

/* Are the rows of all groups stacked in what has one, or an element, for each of so many?
 */
bool jg_is_stacked_size(const struct jg_launch_arguments *launch,
                        enum jg_launch_size count);

/* `bytes` are promised, an element's where that has more. Matrices that are promised what
 * TMA needs go through maps. The reference kernel needs elements. */
void jg_array_set_alignment(const struct jg_kernel *kernel, int64_t bytes,
                            struct jg_array *array);

/* Sets size and alignment of a vector. One along the rows of D in memory is read in pairs,
 * unless less is promised. */
void jg_array_set_vector(const struct jg_launch_arguments *launch,
                         enum jg_launch_size count, struct jg_array *array);

/* As jg_array_resolve, and fills the key of the tensor map; `ret_key` is zeroed for what
 * goes through none. */
jit_gemm_status jg_array_resolve_mapped(const struct jg_array *array,
                                        const jit_gemm_arg *arg,
                                        struct jg_matrix_param *ret_param,
                                        struct jg_map_key *ret_key);

/* Of a vector with a value for each column of B, where two of them make one of D: elements
 * from one pair to the next, and in a pair (jg/epilogue/operands.cuh). */
void jg_param_set_gate_steps(const struct jg_launch_arguments *launch,
                             struct jg_matrix_param *param);

#endif
