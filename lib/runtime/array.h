/* SPDX-License-Identifier: MIT */
/* One matrix, vector or scalar of a launch: checked, with the defaults filled in, in the
 * form that the device takes. */
#ifndef JG_RUNTIME_ARRAY_H
#define JG_RUNTIME_ARRAY_H

#include <stdbool.h>

#include "base/status.h"
#include "jit_gemm/launch.h"
#include "plan/kernel_params.h"

/* Memory that an argument of a launch takes, for who has to make it. */
struct jg_extent {
    const char *field; /* as in struct jg_array */
    size_t operand_index;
    int64_t bytes; /* of all batches; by pointers of one group's matrix */
    int64_t ld;
};
struct jg_extents {
    struct jg_extent items[JIT_GEMM_MAX_OPERANDS + 9];
    size_t count;
};

/* What a kernel takes as one of its arguments. */
struct jg_array {
    const char *field;       /* of the arguments: "a", "b_scale"; NULL: an operand */
    size_t operand_index;    /* of an operand */
    const char *description; /* "A", "the scales", or the operand's name */
    bool is_plural;          /* the description */
    const char *kind;        /* "matrix", "row_vector" */
    int64_t rows, columns;   /* as they lie in memory */
    int64_t batch;
    jit_gemm_dtype dtype;
    int64_t alignment; /* bytes, of the address, ld and batch stride: what is promised */
    const char *alignment_key; /* of a problem's text; NULL: nobody promises less */
    bool may_broadcast;
    bool is_stacked;            /* has the rows of all batches or groups: no stride */
    bool has_ld;                /* a matrix; a vector has one row */
    bool has_value;             /* a scalar may be given by value */
    bool has_map;               /* goes through a tensor map */
    struct jg_extents *extents; /* NULL: nobody asks */
};

/* ARGUMENT, for a `reserved` that is not zero. Of the array only field, operand_index and
 * description are looked at. */
jit_gemm_status jg_array_refuse_reserved(const struct jg_array *array,
                                         const jit_gemm_arg *arg);

/* Checks that what such an array never has is zero: an ld, a value. ARGUMENT. */
jit_gemm_status jg_array_check_parts(const struct jg_array *array, const jit_gemm_arg *arg);

/* Checks the address, the leading dimension, the batch stride and the extent, and with
 * jg_array_check_parts; fills `param`, in place and so also before a failure. The error
 * names the field, "args.a.ld". ARGUMENT, UNSUPPORTED. */
jit_gemm_status jg_array_resolve(const struct jg_array *array, const jit_gemm_arg *arg,
                                 struct jg_matrix_param *param);

/* The same of a matrix of which each group has one: `arg` has the address of an array of
 * theirs, and the ld of all, or `lds` that of an array of those, or 0. Param has both
 * addresses (jg/common/group_matrix.cuh). */
jit_gemm_status jg_array_resolve_pointers(const struct jg_array *array,
                                          const jit_gemm_arg *arg, uint64_t lds,
                                          struct jg_matrix_param *param);
/* ARGUMENT, for an array of leading dimensions where there are no groups by pointers. */
jit_gemm_status jg_array_refuse_lds(const char *field);

/* Is all of it but `reserved` zero? */
static inline bool jg_array_is_absent(const jit_gemm_arg *arg)
{
    return arg->pointer == 0 && arg->ld == 0 && arg->batch_stride == 0 &&
           arg->value == 0.0F;
}
/* ARGUMENT, for an argument that is not absent and that the kernel does not take. `fact`
 * says why, such as "this problem has no C". */
jit_gemm_status jg_array_refuse_given(const char *field, const jit_gemm_arg *arg,
                                      const char *fact, const char *hint);
/* The same where one is given. */
static inline jit_gemm_status jg_array_check_absent(const char *field,
                                                    const jit_gemm_arg *arg,
                                                    const char *fact, const char *hint)
{
    return jg_array_is_absent(arg) ? JIT_GEMM_OK
                                   : jg_array_refuse_given(field, arg, fact, hint);
}

#endif
