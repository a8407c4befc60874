/* SPDX-License-Identifier: MIT */
/* A matrix of the product, in every room of the plan. Plain data. */
#ifndef JG_PLAN_MATRIX_H
#define JG_PLAN_MATRIX_H

#include <stdbool.h>

#include "plan/dtype.h"

enum { JG_TMA_ALIGNMENT = 16 /* bytes: what TMA needs of addresses, rows and batches */ };

struct jg_matrix {
    char letter;          /* of the problem's matrix: 'a', 'b', 'c' or 'd' */
    jit_gemm_dtype dtype; /* NONE: there is no such matrix */
    bool is_mn_major; /* does M or N run fastest? Of C and D: M, columns after columns */
    int alignment;    /* bytes; what the problem promises of it in memory */
    jit_gemm_scale scale; /* complete */
};

#endif
