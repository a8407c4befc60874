/* SPDX-License-Identifier: MIT */
/* The steps of a packer's create that need no device, shared with prewarm. */
#ifndef JG_API_PACKER_H
#define JG_API_PACKER_H

#include "api/gemm.h"
#include "plan/pack.h"

/* 5 to 9: source, key, cache, compile, keep. */
jit_gemm_status jg_step_pack_binary(const jit_gemm_context *context,
                                    const struct jg_builder *builder,
                                    const struct jg_arch *arch, const struct jg_pack *pack,
                                    struct jg_step_result *ret_result,
                                    struct jg_build_counts *counts);

/* The same without compiling: what would be found in the cache. */
jit_gemm_status jg_step_pack_find(const struct jg_builder *builder,
                                  const struct jg_arch *arch, const struct jg_pack *pack,
                                  struct jg_build_found *ret_found);

#endif
