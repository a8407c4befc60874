/* SPDX-License-Identifier: MIT */
/* Words of a plan as device code names them. */
#ifndef JG_SOURCE_DEVICE_NAMES_H
#define JG_SOURCE_DEVICE_NAMES_H

#include "plan/arch.h"
#include "plan/problem.h"

/* A jit_gemm_scale_layout as an enumerator of jg::ScaleLayout. */
const char *jg_source_scale_layout(uint32_t layout);

/* How a kernel goes over scaled blocks, as an enumerator of jg::ScaledBlocks. */
const char *jg_source_scaled_blocks(const struct jg_derived *derived);

/* A kind of operand as in kernel_src/jg/epilogue/operands.cuh and reductions.cuh, without
 * its role. In memory the columns of a column-major D are its rows: a vector along the one
 * lies along the other. */
const char *jg_source_operand_kind(const struct jg_problem *problem,
                                   jit_gemm_operand_kind kind);

#endif
