/* SPDX-License-Identifier: MIT */
/* Words of a problem's text that are read (problem_text.c) and printed (problem_print.c).
 */
#ifndef JG_PLAN_PROBLEM_WORDS_H
#define JG_PLAN_PROBLEM_WORDS_H

#include <stddef.h>

#include "plan/problem_text.h"

extern const char *const jg_dim_names[JG_DIM_COUNT];

/* A letter for each of A and B, which says whether BLAS would have to transpose it. */
enum { JG_LAYOUT_LETTERS = 2 };
extern const char jg_k_major_letters[JG_LAYOUT_LETTERS];
extern const char jg_mn_major_letters[JG_LAYOUT_LETTERS];

/* Letters that stand for a power of 1024 behind a number of bytes. */
extern const char jg_size_units[];

/* Of a ::jit_gemm_pair. */
extern const char *const jg_pair_names[];
extern const char *const jg_accumulate_names[];
extern const char *const jg_weights_names[];

/* Where a text begins behind white space, and how many bytes it has before that at its end.
 */
size_t jg_trim_begin(const char *text);
size_t jg_trim_end(const char *text, size_t size);

#endif
