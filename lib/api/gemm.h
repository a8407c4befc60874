/* SPDX-License-Identifier: MIT */
/* The steps of a create that need no device, shared by create, build and prewarm; and what
 * other files of this floor see of a handle. */
#ifndef JG_API_GEMM_H
#define JG_API_GEMM_H

#include "api/context.h"
#include "plan/bands.h"

/* Machine code and the name of its kernel. Free the binary with jg_binary_free. */
struct jg_step_result {
    struct jg_binary binary;
    char entry[JIT_GEMM_NAME_SIZE];
};

/* 1: check and normalise, with the context's epilogues. */
jit_gemm_status jg_step_normalize(const jit_gemm_context *context,
                                  const jit_gemm_problem *user,
                                  struct jg_problem *ret_problem);
/* Who chose what is planned for. */
enum jg_planned_by {
    JG_PLANNED_BY_DEFAULT,  /* nobody: the architecture's default */
    JG_PLANNED_BY_MANIFEST, /* its line `plan_for`; of a prewarm only */
    JG_PLANNED_BY_HERE,     /* the device that is here, opened or not */
    JG_PLANNED_BY_NAME      /* the caller, by option or variable */
};
/* What is planned for. */
struct jg_planned {
    const struct jg_arch *arch;
    struct jg_device_facts facts; /* of a device that runs it */
    enum jg_planned_by by;
};
/* The context's device where the architecture is the context's, or what it plans for runs
 * it, or a device that is here does where these are asked for; otherwise the architecture's
 * default. */
struct jg_planned jg_step_planned(const jit_gemm_context *context,
                                  const struct jg_arch *arch);
/* Before 4 and the lookup of 3: does a recipe of the context name the config? */
jit_gemm_status jg_step_settle(const jit_gemm_context *context,
                               const struct jg_planned *planned,
                               const struct jg_problem *problem,
                               struct jg_settled *ret_settled, struct jg_str *trace);
/* 4: choose a config. */
jit_gemm_status jg_step_choose(const struct jg_planned *planned,
                               const struct jg_settled *settled,
                               struct jg_choice *ret_choice, struct jg_str *trace);
/* 4, of all sizes of a range. Free the bands with jg_bands_free. */
jit_gemm_status jg_step_bands(const struct jg_planned *planned,
                              const struct jg_problem *problem,
                              const struct jg_range *range, struct jg_bands *ret_bands);
/* 5 to 9: source, key, cache, compile, keep; or a capsule. */
jit_gemm_status jg_step_binary(const jit_gemm_context *context,
                               const struct jg_builder *builder, const struct jg_arch *arch,
                               const struct jg_problem *problem,
                               const struct jg_choice *choice,
                               struct jg_step_result *ret_result,
                               struct jg_build_counts *counts);

/* 5 to 7: what 8 would find in the cache, without compiling. */
jit_gemm_status jg_step_find(const struct jg_builder *builder, const struct jg_arch *arch,
                             const struct jg_problem *problem,
                             const struct jg_choice *choice,
                             struct jg_build_found *ret_found);

/* 2 to 11: a handle of a canonical problem, for a context with a device. For a kernel of a
 * family `ret_is_unfit` is not NULL: the problem is not recorded, and if the device holds
 * no cluster of its config it is set, and smaller ones are chosen from then on. */
jit_gemm_status jg_step_create(jit_gemm_context *context, const struct jg_problem *problem,
                               const struct jg_stop *stop, bool *ret_is_unfit,
                               jit_gemm **ret_gemm);

/* After a load that the driver refused for the code itself: was it an entry of the cache,
 * which is gone now? One whose checksums are right would fail for ever. The error stays the
 * thread's. */
bool jg_step_reject(jit_gemm_context *context, const struct jg_stop *stop,
                    const struct jg_binary *binary);

/* Lives as long as the handle. */
const struct jg_kernel *jg_handle_kernel(const jit_gemm *gemm);

#endif
