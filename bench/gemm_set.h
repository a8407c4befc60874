/* SPDX-License-Identifier: MIT */
/* The matrices of one problem on the device, several times over, with random contents. */
#ifndef BENCH_GEMM_SET_H
#define BENCH_GEMM_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_util.h"
#include "gemm_bench.h"
#include "gemm_rows.h"
#include "gemm_scale.h"
#include "gemm_shape.h"
#include "jit_gemm/device.h"
#include "verify/elements.h"

/* Where one operand of the epilogue lies inside a set. */
struct gemm_operand_place {
    const char *name; /* the epilogue's */
    jit_gemm_operand_kind kind;
    jit_gemm_operand_role role;
    struct element_view view; /* of a vector that is read: one for all batches */
    size_t offset, bytes;     /* no bytes: a scalar by value */
    float value;
};

/* Where the scales of A, B or D lie inside a set. */
struct gemm_scale_place {
    struct gemm_scales scales; /* of A and B, of f32 */
    struct element_view view;  /* of A and B, of a byte; no columns: they are of f32 */
    int64_t batch_stride;      /* elements, or that of a broadcast */
    size_t offset, bytes;      /* no bytes: there are none */
};

struct gemm_sets {
    jit_gemm_context *context;
    struct gemm_shape shape;
    size_t count;
    uint64_t arena;     /* device address of all sets */
    uint64_t workspace; /* of the kernel, or 0: the sets are launched one after the other */
    size_t workspace_bytes;
    size_t set_bytes;   /* one set, outputs included */
    size_t input_bytes; /* one set, inputs only */
    size_t a_offset, b_offset, c_offset, d_offset;
    size_t d_bytes;
    const struct gemm_bench_groups *groups; /* borrowed; NULL: none */
    size_t numbers_offset;                  /* of groups */
    size_t addresses_offset; /* of each group's A, then B, C, D, where a launch gets them */
    bool *has_row;   /* of each row of the product: is it a group's? NULL: all are */
    bool *has_d_row; /* where an index names D's rows: the same of each of these */
    struct gemm_row_index a_rows, d_rows;
    struct gemm_scale_place a_scale, b_scale, d_scale;
    uint32_t operand_count;
    struct gemm_operand_place operands[JIT_GEMM_MAX_OPERANDS];
    jit_gemm_arg *operand_args; /* operand_count of each set, set by set */
    jit_gemm_args *args;        /* one per set */
};

/* What is to be measured, and how much memory it takes. */
struct gemm_sets_request {
    const jit_gemm_problem *problem;
    const jit_gemm_epilogue *epilogue;      /* may be NULL */
    const struct gemm_bench_groups *groups; /* NULL without groups */
    const jit_gemm *gemm;                   /* a kernel of the problem */
    size_t rotate_bytes;                    /* the inputs of all sets exceed it */
    size_t memory_bytes;                    /* of the device */
    uint64_t seed;
};

/*
 * Allocates and fills the sets: at least two, and enough that their inputs together exceed
 * `rotate_bytes`. Inputs are uniform in [-1, 1], scales as gemm_scales_fill has them.
 */
int gemm_sets_create(jit_gemm_context *context, const struct gemm_sets_request *request,
                     struct gemm_sets **ret_sets, char error[BENCH_ERROR_SIZE]);

/* What a launch gets of the indices for the product's rows from `row` on. */
void gemm_sets_give_rows(const struct gemm_sets *sets, size_t set, int64_t row,
                         jit_gemm_args *args);

/* Device address of what lies at `offset` inside a set. */
uint64_t gemm_sets_address(const struct gemm_sets *sets, size_t set, size_t offset);

/* Gives all sets the workspace that the kernel needs, if any. Of several kernels, which run
 * one after the other, the largest stays. */
int gemm_sets_give_workspace(struct gemm_sets *sets, const jit_gemm *gemm,
                             char error[BENCH_ERROR_SIZE]);

/* What a launch writes: D, then each operand that it writes; elements, padding left out. */
struct gemm_results {
    size_t count, total;
    size_t sizes[JIT_GEMM_MAX_OPERANDS + 1];
};
void gemm_sets_list_results(const struct gemm_sets *sets, struct gemm_results *ret_results);

/* Fills what a launch writes, scales of D too, with poison (verify/elements.h): an
 * unwritten element shows. `inverts` flips all its bits. */
int gemm_sets_poison(const struct gemm_sets *sets, size_t set, bool inverts,
                     char error[BENCH_ERROR_SIZE]);
/* Are poisoned elements of D possible results, as all bits of an s8 or an e2m1 are? Then
 * only two launches over different poison show what is not written. */
bool gemm_sets_hide_poison(const struct gemm_sets *sets);

/*
 * Reads the results of a set into `ret_values`, one behind the other, each as it lies in
 * memory, D times its scales if it has any. Fails if an element is poison, or, of D, NaN or
 * infinite, if a scale is not positive, or if all of D is zero: then a kernel did not
 * compute what it should. Rows of no group are zeros in `ret_values`, whatever is there.
 */
int gemm_sets_read_results(const struct gemm_sets *sets, size_t set, const char *who,
                           float *ret_values, char error[BENCH_ERROR_SIZE]);

/* The same of a D of f32, packed and without scales, that the reference kernel wrote at
 * `address`, rounded to D's type, unless that has scales. */
int gemm_sets_read_reference(const struct gemm_sets *sets, uint64_t address,
                             const char *who, float *ret_values,
                             char error[BENCH_ERROR_SIZE]);

/* Sets the pointer to NULL. Accepts NULL. */
void gemm_sets_destroy(struct gemm_sets **sets);

#endif
