/* SPDX-License-Identifier: MIT */
/*
 * What a launch was given, as the text of a capsule's launch.txt:
 *
 *     sizes m=0 n=0 k=0 batch=0
 *     a address=aligned:4096 ld=0 batch_stride=0 value=0x00000000
 *     b c d a_scale b_scale d_scale a_rows d_rows: the same
 *     operand: the same, a line for each
 *     alpha value=0x3f800000, or value=none, or address=aligned:4
 *     beta: the same
 *     workspace address=none bytes=0
 *     group_sizes address=none
 *     a_lds b_lds c_lds d_lds group_ns group_ks: the same
 *     rows a=0 d=0
 *     host_group_sizes none, or the numbers
 *
 * An address says only what it is a multiple of, up to 4096; a value is the bits of an f32.
 */
#ifndef JG_API_LAUNCH_TEXT_H
#define JG_API_LAUNCH_TEXT_H

#include "base/status.h"
#include "base/str.h"
#include "jit_gemm/epilogue.h"
#include "jit_gemm/launch.h"
#include "plan/groups.h"

enum { JG_LAUNCH_MOST_ALIGNMENT = 4096 };

/* The arguments that a text says. An address is what it is a multiple of, or 0. */
struct jg_launch_text {
    jit_gemm_args args; /* points to the rest: do not copy */
    jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS];
    float alpha, beta;
    int32_t host_group_sizes[JG_MOST_GROUPS];
};

void jg_launch_print(const jit_gemm_args *args, struct jg_str *out);
/* ARGUMENT, naming the file and the line. */
jit_gemm_status jg_launch_parse(const struct jg_str *text, struct jg_launch_text *ret_text);

#endif
