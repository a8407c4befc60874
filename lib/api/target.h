/* SPDX-License-Identifier: MIT */
/* What a context builds for and runs on: its architecture, its device, its kind of code. */
#ifndef JG_API_TARGET_H
#define JG_API_TARGET_H

#include "api/context.h"

/*
 * Resolves architecture, facts and device of a context that is being made. Without an
 * explicit ordinal the first device is taken that there are kernels for, of the named
 * architecture if one is named. A device that is missing is an error only if the
 * architecture depends on it, or if it was asked for wrongly; otherwise the context keeps
 * the reason. As jit_gemm_context_create.
 */
jit_gemm_status jg_target_resolve(jit_gemm_context *context,
                                  const jit_gemm_context_options *options);

/* "sm_90a, ...": what this version has kernels for. */
void jg_target_list(char *buffer, size_t size);

/* The kind of code that the device takes; a cubin without a device. */
enum jg_code_kind jg_target_code_kind(const jit_gemm_context *context);

#endif
