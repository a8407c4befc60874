/* SPDX-License-Identifier: MIT */
/* The text form of an operand's declaration: its name, kind and type, and `out` behind them
 * if the epilogue writes it. */
#ifndef JG_PLAN_OPERAND_TEXT_H
#define JG_PLAN_OPERAND_TEXT_H

#include <stddef.h>

#include "base/status.h"
#include "jit_gemm/epilogue.h"

/* Reads `bias:row_vector:bf16`, with another `separator` in the manifest. Both results are
 * untouched on failure; the operand's name is `ret_name`. What an epilogue may declare is
 * checked when it is registered. ARGUMENT, UNSUPPORTED (reductions). */
jit_gemm_status jg_operand_parse(const char *text, size_t size, char separator,
                                 char ret_name[JIT_GEMM_NAME_SIZE],
                                 jit_gemm_operand *ret_operand);

#endif
