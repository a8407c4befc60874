/* SPDX-License-Identifier: MIT */
/* The canonical problem: checked, defaults filled in, epilogue resolved. Plain data, pure.
 */
#ifndef JG_PLAN_PROBLEM_H
#define JG_PLAN_PROBLEM_H

#include "plan/budget.h"
#include "plan/epilogue.h"
#include "plan/matrix.h"

/* Bytes; a larger limit of a workspace means the same, and is this one as text. */
#define JG_WORKSPACE_MOST (UINT64_C(1) << 50)

struct jg_problem {
    jit_gemm_dim m, n, k,
        batch; /* a dynamic size is rounded up to a power of two: see below */
    /* c may be absent; matrix operands lie as d, and what d promises of its alignment holds
     * for c and all operands; a and b promise the same. */
    struct jg_matrix a, b, c, d;
    const struct jg_epilogue *epilogue; /* NULL: D = acc. Not owned */
    char config[JIT_GEMM_CONFIG_SIZE];  /* override text, empty means choose */
    uint64_t workspace_limit;           /* bytes that the choice may take */
    bool is_gated;                      /* the epilogue: two columns of B make one of D */
    bool reduces;                       /* the epilogue, which a kernel does not keep */
    jit_gemm_pair pair;                 /* which two */
    jit_gemm_group_by group_by;         /* `batch` counts groups, unless it is NONE */
    jit_gemm_group_rest group_rest;     /* of rows of no group */
    jit_gemm_scale_rows scale_rows;     /* of scales in 128x4, by groups */
    jit_gemm_rows d_rows, a_rows;
    jit_gemm_invariance invariant; /* what D's bits do not depend on */
    jit_gemm_accumulate accumulate;
    jit_gemm_weights weights;                            /* the matrix that nobody writes */
    jit_gemm_size_run typical_sizes[JIT_GEMM_SIZE_RUNS]; /* sorted; zero: not given */
    struct jg_budget budget; /* of the request: neither in the bytes nor in the text */
};

/* Columns of D, where B has so many. */
static inline int64_t jg_problem_d_columns(const struct jg_problem *problem, int64_t n)
{
    return problem->is_gated ? n / 2 : n;
}

/* UNSUPPORTED, with the field, where both halves of a row of B with `n` columns are loaded
 * and the second one does not begin where its loads may. */
jit_gemm_status jg_problem_check_halves(const struct jg_problem *problem, const char *field,
                                        int64_t n);

/* Rows of A and columns of B, and the fields that say them. */
struct jg_d_row {
    int64_t m, n;
    const char *field_m, *field_n;
};
/* UNSUPPORTED, with the field, where a row of D as it lies in memory ends inside a byte. */
jit_gemm_status jg_problem_check_bytes(const struct jg_problem *problem,
                                       const struct jg_d_row *row);

/* UNSUPPORTED, with the field, where rows of `k` elements of A or B are none that TMA
 * takes. */
jit_gemm_status jg_problem_check_k(const struct jg_problem *problem, const char *field,
                                   int64_t k);

/* Is less promised of A and B than TMA takes? */
static inline bool jg_inputs_are_unaligned(const struct jg_problem *problem)
{
    return problem->a.alignment < JG_TMA_ALIGNMENT;
}

/* Are the accumulators of an element of D neighbours? Of an MN-major B, and of the scales
 * that the tensor core multiplies by, no copy takes apart what lies side by side. */
bool jg_problem_has_neighbours(const struct jg_problem *problem);
/* Such a B, for messages. */
const char *jg_problem_neighbours_name(const struct jg_problem *problem);

/* Do threads move D, C and matrix operands, because TMA does not take them? */
static inline bool jg_outputs_by_threads(const struct jg_problem *problem)
{
    return problem->d.alignment < JG_TMA_ALIGNMENT;
}

/* Bytes that a matrix of the caller's problem promises; 0 means 16. */
static inline uint32_t jg_alignment_of(const jit_gemm_matrix *matrix)
{
    return matrix->alignment > 0 ? matrix->alignment : JG_TMA_ALIGNMENT;
}

/*
 * Step 1 of a create: version check of the struct, ranges, types, layouts, epilogue lookup,
 * defaults (batch 1; b = a; d = a, or f32 for tf32 and s32 for s8). The hint of a dynamic
 * dimension is rounded up to a power of two (none given: M 4096, N 4096, K 4096, batch 1),
 * so that near hints share one kernel. ARGUMENT, UNSUPPORTED, VERSION; the error names the
 * field as "problem.a.dtype" and so on.
 */
jit_gemm_status jg_problem_normalize(const jit_gemm_problem *user, jg_epilogue_find_fn find,
                                     void *find_user, struct jg_problem *ret_problem);

/* Do columns of D lie in memory one after the other? */
bool jg_problem_is_column_major(const struct jg_problem *problem);
/* Elements of D that lie side by side: its columns, or M. */
jit_gemm_dim jg_problem_d_row(const struct jg_problem *problem);

/* Canonical bytes: equal bytes if and only if the same kernel is wanted. */
void jg_problem_bytes(const struct jg_problem *problem, struct jg_str *out);

/* Text form of a public problem; see jit_gemm_problem_parse and _print. */
jit_gemm_status jg_problem_parse(const char *text, jit_gemm_problem *ret_problem);
jit_gemm_status jg_problem_print(const jit_gemm_problem *problem, struct jg_str *out);
/* Text form of a canonical problem: all that its kernel depends on. */
void jg_problem_text(const struct jg_problem *problem, struct jg_str *out);

#endif
