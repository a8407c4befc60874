/* SPDX-License-Identifier: MIT */
/**
 * @file problem_text.h
 * @brief The text form of a problem: read and written.
 */
#ifndef JIT_GEMM_PROBLEM_TEXT_H
#define JIT_GEMM_PROBLEM_TEXT_H

#include "jit_gemm/export.h"
#include "jit_gemm/problem.h"
#include "jit_gemm/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads the text form of a problem into a struct of `struct_size` bytes, and no further:
 * what ::jit_gemm_problem_parse is in C and C++, and for bindings of other languages.
 *
 * @param struct_size bytes of the caller's struct, which becomes its `struct_size`; a key
 * that stands for a field beyond is VERSION, and what a newer caller has beyond becomes
 * zero
 * @return as ::jit_gemm_problem_parse, and ARGUMENT (no size of it)
 */
JIT_GEMM_API jit_gemm_status jit_gemm_problem_parse_sized(const char *text,
                                                          size_t struct_size,
                                                          jit_gemm_problem *ret_problem);

/**
 * Reads the text form of a problem: `m=4096 n=4096 k=4096 a=bf16`, or `4096x4096x4096
 * bf16`, where the sizes and the type may also change places. A type without a key is A's,
 * wherever it stands.
 *
 * Keys: m n k batch (sizes), groups (how many), group_by (offsets counts rows k_offsets
 * pointers), group_rest (untouched zero), scale_rows (stacked per_group_padded),
 * typical_sizes (`8x512,24x0..96`), a b c d (types; of all but c also mxfp8, mxfp8e5m2,
 * mxfp4 and nvfp4, which bring their scales along), layout (nt nn tn tt: A's, B's),
 * d_layout (row column), d_rows a_rows (in_order indexed), a_scale b_scale d_scale (none
 * tensor vector 1x128 128x128 1x128ue8m0 128x128ue8m0 mx nv), a_scale_layout b_scale_layout
 * d_scale_layout (row column 128x4 8x4 mn_k4), dynamic (such as `m,n`), workspace (such as
 * `64m`), input_align and output_align (bytes), pair (interleaved halves), invariant (none
 * m), accumulate (exact fast), weights (none a b), max_registers (of a thread),
 * local_memory (any none), epilogue (a name), config (the rest of the text). They stand for
 * fields of ::jit_gemm_problem: `input_align` for A and B, `output_align` for D.
 *
 * @param text zero-terminated, read during the call only
 * @param[out] ret_problem receives the problem, defaults and `struct_size` filled in;
 * untouched on failure
 * @return OK, ARGUMENT (with the position and the key), VERSION (a key for which these
 * headers, older than the library, have no field)
 */
JIT_GEMM_API jit_gemm_status jit_gemm_problem_parse(const char *text,
                                                    jit_gemm_problem *ret_problem);
/** @cond */
/* Who finds it by name has the struct of version 0.1; C and C++ have their own. */
#define jit_gemm_problem_parse(text, ret_problem) \
    jit_gemm_problem_parse_sized(text, sizeof(jit_gemm_problem), ret_problem)
/** @endcond */

/**
 * Writes the text form of a problem, without the keys that have their default.
 *
 * ::jit_gemm_problem_parse reads it back to an equal problem, its defaults filled in.
 *
 * @param problem checked first, as far as that needs no context
 * @param buffer receives the text, cut to `size` bytes and always zero-terminated
 * @param size bytes of `buffer`; 0 only asks for the length
 * @param[out] ret_length bytes of the whole text without its end; may be NULL
 * @return OK, ARGUMENT, UNSUPPORTED, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_problem_print(const jit_gemm_problem *problem,
                                                    char *buffer, size_t size,
                                                    size_t *ret_length);

#ifdef __cplusplus
}
#endif

#endif
