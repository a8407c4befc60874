/* SPDX-License-Identifier: MIT */
/* Kernels on the emulator through the public API, for Criterion tests. Whoever uses it is
 * compiled with the emulator's path, EMU_LIBRARY_PATH. */
#ifndef JG_TESTS_EMULATED_FIXTURE_H
#define JG_TESTS_EMULATED_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"

/* The chips that there are kernels for. */
enum { EMULATED_ARCHS = 2 };
extern const char *const emulated_archs[EMULATED_ARCHS];

/* Aborts the test unless the call succeeded. */
void emulated_check(jit_gemm_status status);

/* A context of that chip. Kernels that several tests launch are compiled once, where
 * JIT_GEMM_CACHE_DIR names a folder; without it there is no disk cache. `settings`: those
 * of the emulator. */
jit_gemm_context *emulated_open(const char *arch, const char *settings);

/* Settings of a seed: four multiprocessors, a way of asynchrony, and of whose turn it is.
 * All sixteen pairs of ways are in sixteen seeds. */
enum { EMULATED_SETTINGS_BYTES = 64 };
void emulated_settings_of(int seed, char settings[EMULATED_SETTINGS_BYTES]);

/* Seeds of a test: JIT_GEMM_TEST_SEEDS of them, from JIT_GEMM_TEST_SEED on, where the first
 * is set (`all` is true: each with every form that the test has), otherwise `count`. */
struct emulated_seeds {
    int first, count;
    bool all;
};
struct emulated_seeds emulated_seeds(int count);

/* A problem from its text. */
jit_gemm_problem emulated_problem(const char *text);
/* Its kernel; skips the test where there is no compiler. */
jit_gemm *emulated_create(jit_gemm_context *context, const jit_gemm_problem *problem);

/* Device memory of exactly these bytes; free with jit_gemm_device_free. */
uint64_t emulated_upload(jit_gemm_context *context, const void *data, size_t bytes);
/* Frees it; nothing where the address is 0. */
void emulated_free(jit_gemm_context *context, uint64_t address);

/* Each number is the wanted one, or NaN where that is. */
void emulated_expect_equal(const char *what, const float *got, const float *wanted,
                           int count);

/* The sum of products of two rows. */
double emulated_dot(const double *a, const double *b, int64_t count);

/* A launch without K of the problem of this text, whose K is dynamic and whose C and D are
 * f32, makes D half of C to the bit, and neither inputs nor scales need an address. */
void emulated_expect_half_of_c(jit_gemm_context *context, const char *text);

#endif
