/* SPDX-License-Identifier: MIT */
/* Sums that the chips share: bytes of an epilogue. Pure functions. */
#ifndef JG_PLAN_ARCH_COMMON_H
#define JG_PLAN_ARCH_COMMON_H

#include "plan/arch.h"

/* Bytes of matrices of D's shape that the epilogue reads or writes, an element. */
double jg_output_bytes(const struct jg_problem *problem);
/* Clocks to move them, an element: so many bytes a clock, or, where output_align makes
 * accesses narrow, an instruction of a warp each four clocks (assumed), if that is more. */
double jg_output_clk(const struct jg_problem *problem, double bytes_clk);
/* Stages that C and the matrix operands of one step of the epilogue take: one each, two
 * where elements have 32 bits, none where they have 8, nor with output_align
 * (jg/epilogue/matrix_stages.cuh). */
int jg_matrix_stages(const struct jg_problem *problem);
/* Two output slabs are needed for C, vectors and matrices, for a D of 8 bits, with
 * output_align, and where a row of D may end inside 16 bytes, which a TMA store would fill
 * up; 0 with a reason if there are fewer. */
int jg_out_stages_check(const struct jg_problem *problem, const struct jg_config *config,
                        char *reason, size_t size);

#endif
