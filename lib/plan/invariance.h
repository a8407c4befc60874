/* SPDX-License-Identifier: MIT */
/* What the bits of D do not depend on: its names, and what a problem, a snippet and a
 * config may be with it. docs/invariance.md has the argument that what is left keeps the
 * promise.
 */
#ifndef JG_PLAN_INVARIANCE_H
#define JG_PLAN_INVARIANCE_H

#include "plan/trial.h"

/* "none", "m". */
const char *jg_invariance_name(jit_gemm_invariance invariant);
/* False if it is no name of what bits do not depend on. */
bool jg_invariance_parse(const char *text, size_t size, jit_gemm_invariance *ret_invariant);

/* ARGUMENT, with the field: of the caller's problem by itself. */
jit_gemm_status jg_invariance_check_fields(const jit_gemm_problem *problem);
/* UNSUPPORTED, with the field: an epilogue whose results for a row depend on other rows, on
 * where the row lies, or on the order in which a tile is worked on. */
jit_gemm_status jg_invariance_check_kernel(const jit_gemm_problem *problem,
                                           const struct jg_epilogue *epilogue);
/* False with a reason if the config adds up in another order than all others. */
bool jg_invariance_check(struct jg_trial *trial);

#endif
