/* SPDX-License-Identifier: MIT */
/* What a context's options say of the cache folder and of the read-only roots before it. */
#ifndef JG_API_CONTEXT_CACHE_H
#define JG_API_CONTEXT_CACHE_H

#include "compile/roots.h"
#include "jit_gemm/context.h"

/* ARGUMENT if it cannot be meant. */
jit_gemm_status jg_cache_options_check(const jit_gemm_context_options *options);
/* The same of the path of a root that `where` names. */
jit_gemm_status jg_cache_root_check(const char *path, const char *where);

/* A root that cannot be used is logged and passed over. NO_MEMORY; ARGUMENT, if keys or
 * least serial number cannot be meant. */
jit_gemm_status jg_cache_roots_open(const jit_gemm_context_options *options,
                                    struct jg_log *log, struct jg_roots **ret_roots);

/* A folder that cannot be had costs time, never the call: `ret_cache` is untouched then,
 * `reason` says why. ARGUMENT, if the limit is none. */
jit_gemm_status jg_cache_folder_open(const jit_gemm_context_options *options,
                                     struct jg_cache **ret_cache, char *reason,
                                     size_t reason_size);

#endif
