/* SPDX-License-Identifier: MIT */
/* The choice: enumerate candidates, reject with a reason, compare, keep a trace. Pure. */
#ifndef JG_PLAN_CHOOSE_H
#define JG_PLAN_CHOOSE_H

#include "plan/arch.h"
#include "plan/product.h"

struct jg_choice {
    struct jg_config config;
    struct jg_product product; /* that the config makes */
    struct jg_derived derived;
};

/*
 * Chooses a config. `trace` (may be NULL) receives one line per candidate:
 * "chosen: <config>: <numbers>", "rejected: <config>: <reason>", the fastest first; last,
 * of a problem with invariant=m, "without invariant=m: <config>: <numbers>", and of groups
 * by pointers "with group_by=counts: ...". ARGUMENT (override text), UNSUPPORTED (no
 * candidate is left; the text gives the reasons).
 */
jit_gemm_status jg_config_choose(const struct jg_arch *arch,
                                 const struct jg_problem *problem,
                                 const struct jg_device_facts *facts,
                                 struct jg_choice *ret_choice, struct jg_str *trace);

/* A config that could be chosen. */
struct jg_candidate {
    struct jg_config config;
    double predicted_us;
};

/*
 * All that could be chosen, the fastest first: the first is what jg_config_choose chooses,
 * the others are the usable lines of its trace. Free the array with jg_free. As
 * jg_config_choose; ARGUMENT of the reference kernel, which has no other; NO_MEMORY.
 */
jit_gemm_status jg_config_list(const struct jg_arch *arch, const struct jg_problem *problem,
                               const struct jg_device_facts *facts,
                               struct jg_candidate **ret_candidates, size_t *ret_count);

/* The microseconds that the model predicts of a whole config, as its text names it;
 * INFINITY where the problem cannot have it. 0 of the reference kernel, which has no model.
 */
double jg_config_predict(const struct jg_arch *arch, const struct jg_problem *problem,
                         const struct jg_device_facts *facts,
                         const struct jg_config_override *config);

#endif
