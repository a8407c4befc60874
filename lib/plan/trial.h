/* SPDX-License-Identifier: MIT */
/* One candidate under examination: what is asked, what is tried, and what follows from it
 * or why it cannot be. */
#ifndef JG_PLAN_TRIAL_H
#define JG_PLAN_TRIAL_H

#include "plan/arch.h"
#include "plan/product.h"

enum { JG_REASON_SIZE = 320 };

struct jg_trial {
    const struct jg_problem *problem;
    const struct jg_device_facts *facts;
    const struct jg_config_override *override;   /* what the problem's config names */
    jit_gemm_size_run sizes[JIT_GEMM_SIZE_RUNS]; /* of groups, those of the problem, or
                                                    assumed; zero: neither */
    struct jg_product product;                   /* of the config */
    struct jg_config config;
    struct jg_derived derived;   /* of the config, where it can be */
    char reason[JG_REASON_SIZE]; /* why the config cannot be; "" if it can */
    char note[JG_REASON_SIZE];   /* why threads load A and B; "" where nothing is to say */
};

/* What every chip fills in alike: output stages, these where the config leaves them open,
 * dependent launch, instruments. */
void jg_trial_complete(struct jg_trial *trial, int out_stages);
/* Of the product's A and B, the one that the problem's weights are, where the kernel loads
 * it before the grid before has ended: dependent launch, no groups, nothing that threads
 * load or that a kernel before copies. */
jit_gemm_weights jg_first_loads(const struct jg_trial *trial);
/* Notes the reason; always false, so that a check can return it. */
bool jg_trial_reject(struct jg_trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
