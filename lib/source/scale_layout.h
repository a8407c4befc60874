/* SPDX-License-Identifier: MIT */
/* Layouts of scales, and loops over them, as device code names them. */
#ifndef JG_SOURCE_SCALE_LAYOUT_H
#define JG_SOURCE_SCALE_LAYOUT_H

#include "plan/arch.h"
#include "plan/problem.h"

/* A jit_gemm_scale_layout as an enumerator of jg::ScaleLayout. */
static inline const char *jg_source_scale_layout(uint32_t layout)
{
    static const char *const names[] = {[JIT_GEMM_SCALE_LAYOUT_ROW] = "kRow",
                                        [JIT_GEMM_SCALE_LAYOUT_COLUMN] = "kColumn",
                                        [JIT_GEMM_SCALE_LAYOUT_128X4] = "k128x4",
                                        [JIT_GEMM_SCALE_LAYOUT_8X4] = "k8x4",
                                        [JIT_GEMM_SCALE_LAYOUT_MN_K4] = "kMnK4"};
    return names[layout];
}

/* How it goes over scaled blocks, as one of jg::ScaledBlocks. */
static inline const char *jg_source_loop(const struct jg_derived *derived)
{
    static const char *const names[] = {[JG_SCALED_WAITED] = "kWaited",
                                        [JG_SCALED_PLACED] = "kPlaced",
                                        [JG_SCALED_BEHIND] = "kBehind",
                                        [JG_SCALED_OVERLAPPED] = "kOverlapped"};
    return names[derived->scaled_blocks];
}

#endif
