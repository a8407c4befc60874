/* SPDX-License-Identifier: MIT */
/* What a prewarm builds for: architectures, and a device for each. */
#ifndef JG_API_PREWARM_TARGETS_H
#define JG_API_PREWARM_TARGETS_H

#include "api/gemm.h"
#include "api/manifest.h"

struct jg_targets {
    struct jg_planned *planned; /* owned; one for each architecture */
    size_t count;
};

/*
 * The architectures that the options name, else the manifest, else the context. What the
 * context plans for goes before a line `plan_for` of the manifest, and that before the
 * default: a program that runs here asks for the kernels of the device that is here.
 * ARGUMENT, UNSUPPORTED, NO_MEMORY; `ret_targets` has to be freed only after OK.
 */
jit_gemm_status jg_targets_find(const jit_gemm_context *context,
                                const struct jg_manifest *manifest,
                                const jit_gemm_prewarm_options *options,
                                struct jg_targets *ret_targets);
void jg_targets_free(struct jg_targets *targets);

#endif
