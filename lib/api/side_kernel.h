/* SPDX-License-Identifier: MIT */
/* Kernels beside products: the steps of a create that need no device, shared with prewarm,
 * and the create itself, shared by the handles that have such a kernel. */
#ifndef JG_API_SIDE_KERNEL_H
#define JG_API_SIDE_KERNEL_H

#include "api/gemm.h"
#include "plan/side_kernel.h"

/* 5 to 9: source, key, cache, compile, keep. */
jit_gemm_status
jg_step_side_binary(const jit_gemm_context *context, const struct jg_builder *builder,
                    const struct jg_arch *arch, const struct jg_side_kernel *side,
                    struct jg_step_result *ret_result, struct jg_build_counts *counts);

/* The same without compiling: what would be found in the cache. */
jit_gemm_status jg_step_side_find(const struct jg_builder *builder,
                                  const struct jg_arch *arch,
                                  const struct jg_side_kernel *side,
                                  struct jg_build_found *ret_found);

/* What a handle has of its kernel. */
struct jg_side_loaded {
    struct jg_kernel *kernel; /* counted: jg_kernel_release */
    jit_gemm_origin origin;
    uint32_t cache_root; /* that had the kernel; 0: none */
    double compile_ms, load_ms;
};

jit_gemm_status jg_side_create(jit_gemm_context *context, const struct jg_side_kernel *side,
                               struct jg_side_loaded *ret_loaded);

/* What a handle's get_info says. */
jit_gemm_status jg_side_export(const struct jg_side_loaded *loaded,
                               jit_gemm_info *ret_info);

#endif
