/* SPDX-License-Identifier: MIT */
/* The scales of A and B as cuBLASLt takes them: in which of its modes, and the same values
 * where its layout is another. */
#ifndef BENCH_RIVAL_SCALES_H
#define BENCH_RIVAL_SCALES_H

#include <stdbool.h>

#include "cublaslt.h"
#include "gemm_set.h"

/* Of A or of B. */
struct rival_scale {
    enum cublaslt_scale_mode mode;
    struct gemm_scales scales; /* as cuBLASLt has them; count 0: none */
    bool is_ours;              /* the layout is jit_gemm's, and so is the memory */
    size_t offset;             /* in a set of `memory`, bytes */
};

struct rival_scales {
    const struct gemm_sets *sets;
    struct rival_scale a, b;
    uint64_t memory; /* device address; 0: all is jit_gemm's */
    size_t set_bytes;
    const char *note; /* what differs, for the table; may be empty */
};

/* Fails where cuBLASLt has no mode for the scales of these sets, and says why. */
int rival_scales_create(const struct gemm_sets *sets, struct rival_scales **ret_scales,
                        char error[BENCH_ERROR_SIZE]);

/* Device addresses in a set; 0: no scales. */
uint64_t rival_scales_of_a(const struct rival_scales *scales, size_t set);
uint64_t rival_scales_of_b(const struct rival_scales *scales, size_t set);

/* Sets the pointer to NULL. Accepts NULL. */
void rival_scales_destroy(struct rival_scales **scales);

#endif
