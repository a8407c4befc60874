/* SPDX-License-Identifier: MIT */
#include "plan/trial.h"

#include <stdarg.h>
#include <stdio.h>

void jg_trial_complete(struct jg_trial *trial, int out_stages)
{
    const struct jg_config_override *override = trial->override;
    const struct jg_config *wanted = &override->values;
    struct jg_config *config = &trial->config;
    config->storage.out_stages =
        override->has_out_stages ? wanted->storage.out_stages : out_stages;
    config->launch.pdl = override->has_pdl ? wanted->launch.pdl : 1;
    config->launch.debug = wanted->launch.debug;
    config->launch.trace = wanted->launch.trace;
    config->launch.lineinfo = wanted->launch.lineinfo;
}

jit_gemm_weights jg_first_loads(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const jit_gemm_weights weights = trial->problem->weights;
    if (weights == JIT_GEMM_WEIGHTS_NONE || trial->config.launch.pdl == 0 ||
        product->group_by != JIT_GEMM_GROUP_NONE || jg_loads_by_threads(product) ||
        product->has_row_boxes || trial->config.pipeline.repack != JG_REPACK_ALIGNED) {
        return JIT_GEMM_WEIGHTS_NONE;
    }
    const bool is_a = (weights == JIT_GEMM_WEIGHTS_A) == (product->a.letter == 'a');
    return is_a ? JIT_GEMM_WEIGHTS_A : JIT_GEMM_WEIGHTS_B;
}

bool jg_trial_reject(struct jg_trial *trial, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)vsnprintf(trial->reason, sizeof(trial->reason), format, values);
    va_end(values);
    return false;
}
