/* SPDX-License-Identifier: MIT */
/**
 * @file prewarm_device.h
 * @brief What a prewarm of a manifest would choose its kernels for.
 */
#ifndef JIT_GEMM_PREWARM_DEVICE_H
#define JIT_GEMM_PREWARM_DEVICE_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Says which device ::jit_gemm_prewarm with these arguments chooses configs for, and by
 * whose word: a line for each architecture, `kernels for sm_90a are chosen for cc=9.0
 * sm_count=132 ... (NVIDIA H200), which the manifest names`. For whom the manifest's
 * `plan_for` does not count, because another device is here or was named, the line says so.
 * @param context as of the prewarm. Any thread.
 * @param manifest text of a manifest
 * @param size bytes of `manifest`
 * @param options as of the prewarm; only `archs` and `arch_count` are looked at. May be
 * NULL.
 * @param buffer receives the text, cut to `buffer_size` bytes and always zero-terminated
 * @param buffer_size bytes of `buffer`; 0 only asks for the length
 * @param[out] ret_length bytes of the whole text without its end; may be NULL
 * @return OK, ARGUMENT, UNSUPPORTED, VERSION, COMPILE (a snippet of the manifest),
 * NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status
jit_gemm_prewarm_device(jit_gemm_context *context, const char *manifest, size_t size,
                        const jit_gemm_prewarm_options *options, char *buffer,
                        size_t buffer_size, size_t *ret_length);

#ifdef __cplusplus
}
#endif

#endif
