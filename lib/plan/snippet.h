/* SPDX-License-Identifier: MIT */
/* The scan that keeps a snippet inside its function. Reports COMPILE with line and column.
 */
#ifndef JG_PLAN_SNIPPET_H
#define JG_PLAN_SNIPPET_H

#include "plan/epilogue.h"

#define JG_SNIPPET_MAX_BYTES 65536

/*
 * Tokenises (comments, string and character literals, identifiers, numbers, punctuation)
 * and refuses, with line and column:
 * - what could end the function or hide an end: preprocessor directives and
 *   `_Pragma`/`__pragma`; `asm`, `__asm`, `__asm__`; line splices, trigraphs, digraphs;
 *   zero bytes, bytes outside ASCII (but in comments and literals), raw string literals,
 *   unterminated comments and literals; unbalanced or crossed (), [], {}; a text whose last
 *   statement lacks its `;`; more than 64 KiB, 8192 tokens, 64 brackets inside of each
 *   other or 64 operators side by side;
 * - loops without a bound (plan/snippet_loops.h), `while`, `do`; arrays of more than 1024
 *   elements; a lambda with the type of a result, which could call itself;
 * - names that reach out: `return`, `goto`, `static`, `__shared__`, `__syncthreads`,
 *   `__syncwarp`, `threadIdx`, `blockIdx`, `blockDim`, `gridDim`, those of the unit around
 *   the snippet, everything that begins with jg, JG or `__`;
 * - what would compile and store something else (plan/snippet_names.h): a variable that
 *   hides the result, the product or an operand; an input that is assigned; an output that
 *   is read before it is assigned; an output or `d` that is never assigned (assigned: an
 *   identifier followed by =, op=, ++, -- or preceded by ++, --), an operand that is never
 *   named; functions, which would have no body.
 *
 * Fills double_line, double_column and long_calls.
 */
jit_gemm_status jg_snippet_check(struct jg_epilogue *epilogue);

#endif
