/* SPDX-License-Identifier: MIT */
/* Rows of which several are added up to one, in a fixed order: which kernel, its name in a
 * manifest, and its parameter. */
#ifndef JG_PLAN_COMBINE_H
#define JG_PLAN_COMBINE_H

#include "base/str.h"
#include "jit_gemm/problem.h"

enum {
    JG_COMBINE_THREADS = 256, /* of a CTA */
    JG_COMBINE_MOST = 64,     /* rows that make one */
    JG_COMBINE_COLUMNS = 8,   /* that a thread makes */
    JG_COMBINE_ALIGNMENT = 16 /* of addresses and rows, to go by whole vectors */
};

struct jg_combine {
    jit_gemm_dtype rows, d; /* bf16, f16 or f32 */
    uint32_t chosen;        /* rows that make one */
};

/* As the device sees it (jg/combine/combine_kernel.cuh has the same struct; the source unit
 * carries its size and the device asserts it). */
struct jg_combine_params {
    uint64_t rows, index, weights, c, d; /* device addresses; 0: absent */
    int64_t rows_ld, c_ld, d_ld;         /* elements */
    uint32_t row_count, tokens, columns;
    uint32_t is_aligned; /* addresses and rows to JG_COMBINE_ALIGNMENT */
};
_Static_assert(sizeof(struct jg_combine_params) == 80,
               "as jg/combine/combine_kernel.cuh has it");

/* ARGUMENT, UNSUPPORTED, naming the argument of jit_gemm_combiner_create. */
jit_gemm_status jg_combine_check(const struct jg_combine *combine);

/* "combine rows=bf16 d=bf16 chosen=8": a line of a manifest, and what errors and the cache
 * call the kernel. */
void jg_combine_text(const struct jg_combine *combine, struct jg_str *out);
/* Reads what follows the word "combine". ARGUMENT. */
jit_gemm_status jg_combine_parse(const char *text, struct jg_combine *ret_combine);

#endif
