/* SPDX-License-Identifier: MIT */
/* Compiled device functions for tests, made by NVRTC from CUDA C++: what nvcc -rdc=true
 * -ptx and nvcc -dlto -ltoir would give. */
#ifndef JG_TESTS_CODE_MAKER_H
#define JG_TESTS_CODE_MAKER_H

#include "base/str.h"

/* `float keep(acc, row, col, batch, bias, float *aux)`: aux = acc + bias, and d its leaky
 * relu with a slope of 1/64, so that no rounding depends on how it is compiled. */
#define CODE_KEEP                                                                            \
    "extern \"C\" __device__ float keep(float acc, int row, int col, int batch, float bias," \
    " float *aux) { *aux = acc + bias; return *aux > 0.0f ? *aux : 0.015625f * *aux; }"
#define CODE_KEEP_OPERANDS "bias:row_vector:bf16 aux:matrix:f32:out"

/* Fail the running test if NVRTC refuses the text, and skip it if there is none. `arch` is
 * "compute_80" or "sm_90a". Free with jg_str_free. */
struct jg_str code_make_ptx(const char *source, const char *arch);
struct jg_str code_make_ltoir(const char *source, const char *arch);
/* Machine code that was not made for linking. */
struct jg_str code_make_cubin(const char *source, const char *arch);

#endif
