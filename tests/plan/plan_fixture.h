/* SPDX-License-Identifier: MIT */
/* From a problem's text to a choice, for tests. Fails the running test if a step fails. */
#ifndef PLAN_FIXTURE_H
#define PLAN_FIXTURE_H

#include <stdbool.h>

#include "plan/choose.h"

struct jg_problem plan_problem(const char *text);
/* Do both want the same kernel? Members are compared, not what lies between them. */
bool plan_is_same_problem(const struct jg_problem *a, const struct jg_problem *b);
/* sm_90a. */
const struct jg_arch *plan_hopper(void);
/* What the chip of this name chooses with its default facts; where it refuses, the error's
 * text is left. */
jit_gemm_status plan_try_on(const char *chip, const char *text,
                            struct jg_choice *ret_choice);
/* The same, of what is not refused. */
struct jg_choice plan_choose_on(const char *chip, const char *text);
/* With the chip's default facts. */
struct jg_choice plan_choose(const struct jg_arch *arch, const char *text);
/* Does the chosen config's text contain `expected`? */
void plan_expect_config(const struct jg_arch *arch, const char *text, const char *expected);

#endif
