/* SPDX-License-Identifier: MIT */
/**
 * @file named_epilogues.h
 * @brief What the library has of epilogues: to list them, or to know what a launch of one
 * has to give. A problem names one by its name, without this header.
 */
#ifndef JIT_GEMM_NAMED_EPILOGUES_H
#define JIT_GEMM_NAMED_EPILOGUES_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One of the library's own epilogues: a problem names it, and nobody registers it. Its
 * texts are the library's and stay. */
typedef struct jit_gemm_named_epilogue {
    size_t struct_size;     /**< sizeof(jit_gemm_named_epilogue), set by the caller. */
    const char *name;       /**< For jit_gemm_problem.epilogue. */
    const char *math;       /**< What it computes, in one line. */
    const char *cublaslt;   /**< The equivalent in cuBLASLt, or "none" and why. */
    const char *source;     /**< The snippet. */
    uint32_t operand_count; /**< Entries of `operands` that mean something. */
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS]; /**< In the order of
                                                           ::jit_gemm_args. */
} jit_gemm_named_epilogue;

/** How many epilogues the library has of its own. Thread-safe. */
JIT_GEMM_API uint32_t jit_gemm_epilogue_named_count(void);

/**
 * Gives one of the library's own epilogues, in the order of their names: what it computes,
 * and which operands a launch has to give. Thread-safe.
 *
 * Operands that are declared as D have D's type, or bf16 where D is e4m3 or e5m2 and f32
 * where it is s32.
 *
 * @param index less than ::jit_gemm_epilogue_named_count
 * @param d type of D; NONE leaves the type of operands that depend on it NONE
 * @param[out] ret_named struct_size set by the caller; untouched on failure
 * @return OK, ARGUMENT, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_epilogue_named(uint32_t index, jit_gemm_dtype d,
                                                     jit_gemm_named_epilogue *ret_named);

#ifdef __cplusplus
}
#endif

#endif
