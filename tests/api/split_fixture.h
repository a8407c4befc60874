/* SPDX-License-Identifier: MIT */
/* Kernels that split K, on the emulator: inputs of one problem, a workspace between guards,
 * and a launch's D. Whatever fails ends the test. */
#ifndef TESTS_API_SPLIT_FIXTURE_H
#define TESTS_API_SPLIT_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "jit_gemm/jit_gemm.h"

enum {
    M = 200,
    N = 136,
    K = 520, /* nine blocks of 64 */
    BLOCK = 64,
    GUARD = 256,
    GUARD_BYTE = 0xA5,
    LOCK_BYTES = 8 * 4096
};

struct split_fixture {
    jit_gemm_context *context;
    uint64_t a, b, d; /* bf16, bf16, f32; packed, K-major */
};

/* Memory between two guards. */
struct split_workspace {
    uint64_t base, address;
    size_t bytes;
};

void split_check(jit_gemm_status status);
/* `whole`: inputs are small integers, of which every sum is exact. */
void split_open(struct split_fixture *fixture, const char *arch, const char *settings,
                int whole);
void split_close(struct split_fixture *fixture);
/* Skips the test without NVRTC. */
jit_gemm *split_create(const struct split_fixture *fixture, const char *text);
struct split_workspace split_make_workspace(const struct split_fixture *fixture,
                                            size_t bytes);
/* The guards are as they were, and the locks 0. */
void split_expect_kept(const struct split_fixture *fixture,
                       const struct split_workspace *workspace);
/* D of a launch over K from block `first` on, as floats that the caller frees. */
float *split_run(const struct split_fixture *fixture, const jit_gemm *gemm, int64_t first,
                 int64_t k, uint64_t workspace);
size_t split_workspace_bytes(const jit_gemm *gemm);
/* M * N where all bits are the same. */
size_t split_first_difference(const float *x, const float *y);

#endif
