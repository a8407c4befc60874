/* SPDX-License-Identifier: MIT */
/**
 * @file epilogue.h
 * @brief What happens to each element of the product before it becomes D. No functions.
 */
#ifndef JIT_GEMM_EPILOGUE_H
#define JIT_GEMM_EPILOGUE_H

#include "jit_gemm/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most operands that one epilogue may declare. */
#define JIT_GEMM_MAX_OPERANDS 16

/** How an operand is indexed. */
typedef enum jit_gemm_operand_kind {
    JIT_GEMM_OPERAND_SCALAR = 0,        /**< One value. */
    JIT_GEMM_OPERAND_ROW_VECTOR = 1,    /**< N values, indexed by `col`. */
    JIT_GEMM_OPERAND_COLUMN_VECTOR = 2, /**< M values, indexed by `row`. */
    JIT_GEMM_OPERAND_MATRIX = 3         /**< M x N values, laid out as D. */
} jit_gemm_operand_kind;

/** What the kernel does with an operand. */
typedef enum jit_gemm_operand_role {
    JIT_GEMM_OPERAND_INPUT = 0, /**< Reads it; its name is a float in the snippet. */
    JIT_GEMM_OPERAND_OUTPUT = 1 /**< Writes it; its name is assignable. Only matrices. */
} jit_gemm_operand_role;

/** Declares one operand of an epilogue. Frozen: used in arrays. */
typedef struct jit_gemm_operand {
    const char *name;           /**< A C identifier, at most 63 bytes. */
    jit_gemm_operand_kind kind; /**< How it is indexed. */
    jit_gemm_dtype dtype;       /**< bf16, f16, f32, e4m3 or e5m2. */
    jit_gemm_operand_role role; /**< Input or output. */
    int32_t reserved;           /**< Must be zero. */
} jit_gemm_operand;

/** An epilogue: a name, a text, and the operands that the text uses. A call that takes it
 * copies all of it. */
typedef struct jit_gemm_epilogue {
    size_t struct_size; /**< sizeof(jit_gemm_epilogue), set by the caller. */
    const char *name;   /**< A C identifier, at most 63 bytes; unique in the context. */
    const char *source; /**< The snippet, for instance `d = relu(acc + bias);`. */
    size_t source_size; /**< Bytes of `source`; 0 means that it ends with a zero byte. */
    const char *source_name; /**< File name for messages; NULL means the epilogue's name. */
    uint32_t first_line;     /**< Line number of the first line in that file; 0 means 1. */
    uint32_t operand_count;  /**< Entries of `operands`, at most ::JIT_GEMM_MAX_OPERANDS. */
    const jit_gemm_operand
        *operands; /**< In the order in which ::jit_gemm_args gives them. */
} jit_gemm_epilogue;

#ifdef __cplusplus
}
#endif

#endif
