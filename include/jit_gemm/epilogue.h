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
    JIT_GEMM_OPERAND_ROW_VECTOR = 1,    /**< A value per column of D, indexed by `col`. */
    JIT_GEMM_OPERAND_COLUMN_VECTOR = 2, /**< M values, indexed by `row`. */
    JIT_GEMM_OPERAND_MATRIX = 3,        /**< A value per element of D, laid out as D. */
    JIT_GEMM_OPERAND_PAIR_VECTOR = 4,   /**< Of a gated epilogue: N values, one per column
                                           of B. The snippet sees NAME0 and NAME1, those of
                                           acc0's and acc1's columns. */
    /** A value for each block of 128 columns of a row of D, of which the last one may have
     * fewer: M rows of as many values as there are blocks, `ld` of the argument apart. Only
     * of reductions, and of a row-major D. */
    JIT_GEMM_OPERAND_BLOCK_1X128 = 5,
    JIT_GEMM_OPERAND_BLOCK_1X32 = 6, /**< The same of 32 columns. */
    JIT_GEMM_OPERAND_BLOCK_1X16 = 7  /**< The same of 16 columns. */
} jit_gemm_operand_kind;

/** What the kernel does with an operand. New values may be appended. */
typedef enum jit_gemm_operand_role {
    JIT_GEMM_OPERAND_INPUT = 0,  /**< Reads it; its name is a float in the snippet. */
    JIT_GEMM_OPERAND_OUTPUT = 1, /**< Writes it; its name is assignable. Only matrices. */
    /** Writes the sum of what the snippet assigns: a column vector has the sum of each row
     * of D, a row vector of each column, a scalar of all of D, a kind of blocks of each
     * block; each batch or group for itself, of a group without rows the sum of nothing.
     * Added in f32 and in a fixed order, so that equal inputs give equal bits in every
     * launch; converted to the operand's type at the end. An element for which the snippet
     * assigns nothing adds nothing. Needs a workspace (::jit_gemm_args), but for blocks; an
     * empty problem, which launches nothing, writes nothing here either. The reference
     * kernel (config `kernel=reference`) does not reduce: for it the operand is a matrix of
     * f32, laid out as D, that gets what was assigned for each element. */
    JIT_GEMM_OPERAND_SUM = 2,
    JIT_GEMM_OPERAND_MAX = 3, /**< The same with the greatest; NaN if one is NaN. */
    JIT_GEMM_OPERAND_MIN = 4  /**< The same with the least; NaN if one is NaN. */
} jit_gemm_operand_role;

/** Declares one operand of an epilogue. Frozen: used in arrays. */
typedef struct jit_gemm_operand {
    const char *name;           /**< A C identifier, at most 63 bytes. */
    jit_gemm_operand_kind kind; /**< How it is indexed. */
    jit_gemm_dtype dtype;       /**< bf16, f16, f32, e4m3 or e5m2; of reductions no e4m3 and
                                   no e5m2. */
    jit_gemm_operand_role role; /**< Input, output, or what becomes of the elements. */
    int32_t reserved;           /**< Must be zero. */
} jit_gemm_operand;

/** Most bytes of a compiled function's code. */
#define JIT_GEMM_MAX_CODE_BYTES 1048576

/** What a compiled function was compiled to. */
typedef enum jit_gemm_code_kind {
    JIT_GEMM_CODE_AUTO = 0, /**< One of those below; its first bytes say which. */
    JIT_GEMM_CODE_PTX = 1,  /**< Text, from nvcc, NVRTC, clang or numba. */
    JIT_GEMM_CODE_LTOIR = 2 /**< NVIDIA's LTO-IR, from nvcc, NVRTC or numba. */
} jit_gemm_code_kind;

/**
 * An epilogue: a name, the operands, and what happens to an element: a text (`source`) or a
 * compiled device function (`code`), never both. A call that takes it copies all of it.
 *
 * A text that names `acc0` and `acc1` instead of `acc` is gated: two columns of B make one
 * of D (::jit_gemm_pair says which two), for instance `d = silu(acc0) * acc1;`. `col` is
 * D's column then, and `N` the number of D's columns.
 *
 * A compiled function is called once for each element, with C linkage:
 *
 *     float symbol(float acc, int row, int col, int batch, ...one parameter per operand);
 *
 * `acc`, `row`, `col` and `batch` are those of a snippet, and the result is `d`. Operands
 * follow in the order of `operands`: an input as `float`, an output as `float *` to one
 * value that the function must write. The pointer is good for this call only. With a bias
 * and an output named aux:
 *
 *     extern "C" __device__ float keep(float acc, int row, int col, int batch, float bias,
 *                                      float *aux)
 *     {
 *         *aux = acc + bias;
 *         return *aux > 0.0f ? *aux : 0.01f * *aux;
 *     }
 *
 * The order of calls is not defined. Every thread of a warp does not call it at the same
 * time, so it must not wait for others: no barriers, no exit.
 *
 * PTX is pasted into the kernel by its text, and must be one function of its own: calls and
 * variables of its module are refused. LTO-IR may use both; it needs nvJitLink 12.9 or
 * newer where a kernel is compiled. Wrong code is an error here (what its text shows) or
 * at the create (what only the linker knows): ARGUMENT for code that is neither, for a
 * missing symbol and for another signature; UNSUPPORTED for another architecture.
 */
typedef struct jit_gemm_epilogue {
    size_t struct_size; /**< sizeof(jit_gemm_epilogue), set by the caller. */
    const char *name;   /**< A C identifier, at most 63 bytes; unique in the context. */
    const char *source; /**< The snippet, for instance `d = relu(acc + bias);`. */
    size_t source_size; /**< Bytes of `source`; 0 means that it ends with a zero byte. */
    const char *source_name; /**< File name for messages; NULL means the epilogue's name. */
    uint32_t first_line;     /**< Line number of the first line in that file; 0 means 1. */
    uint32_t operand_count;  /**< Entries of `operands`, at most ::JIT_GEMM_MAX_OPERANDS. */
    const jit_gemm_operand
        *operands;      /**< In the order in which ::jit_gemm_args gives them. */
    const void *code;   /**< A compiled function; NULL with a snippet. At most
                             ::JIT_GEMM_MAX_CODE_BYTES. */
    size_t code_size;   /**< Bytes of `code`; 0 means that it is PTX which ends with a zero
                             byte. */
    const char *symbol; /**< The function's name in `code`: a C identifier, at most 255
                             bytes; not one of a snippet's names or of CUDA. */
    jit_gemm_code_kind code_kind; /**< What `code` is. */
    uint32_t reserved;            /**< Must be zero. */
} jit_gemm_epilogue;

/** How far ::jit_gemm_epilogue_check went. */
typedef enum jit_gemm_epilogue_depth {
    JIT_GEMM_EPILOGUE_SCANNED = 1, /**< Operands and text, by the library's own rules. */
    JIT_GEMM_EPILOGUE_COMPILED = 2 /**< By the compiler too: names, types, calls. */
} jit_gemm_epilogue_depth;

#ifdef __cplusplus
}
#endif

#endif
