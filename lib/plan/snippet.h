/* SPDX-License-Identifier: MIT */
/* The scan that keeps a snippet inside its function. Reports COMPILE with line and column.
 */
#ifndef JG_PLAN_SNIPPET_H
#define JG_PLAN_SNIPPET_H

#include "plan/epilogue.h"

#define JG_SNIPPET_MAX_BYTES 65536

/*
 * Tokenises (comments, string and character literals, identifiers, numbers, punctuation)
 * and refuses, with line and column: preprocessor directives and `_Pragma`/`__pragma`;
 * `asm`, `__asm`, `__asm__`; backslash-newline and trigraphs; NUL bytes, unterminated
 * comments and literals; raw string literals; unbalanced or crossed (), [], {}; closing
 * below depth 0; more than 64 KiB; goto-free rules: `return`, `goto`, `__syncthreads`,
 * `__syncwarp`, `__shared__`, `static`, `threadIdx`, `blockIdx`, `blockDim`, `gridDim`,
 * identifiers beginning with jg, JG or `__`. Also refused: an INPUT operand that is
 * assigned; an OUTPUT operand or `d` that is never assigned (assigned = identifier followed
 * by =, op=, ++, -- or preceded by ++, --), digraphs, bytes outside ASCII (but in comments
 * and literals), and a text whose last statement lacks its `;`. Fills double_line,
 * double_column and long_calls.
 */
jit_gemm_status jg_snippet_check(struct jg_epilogue *epilogue);

#endif
