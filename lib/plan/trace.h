/* SPDX-License-Identifier: MIT */
/* The words of a choice's trace, for people and for those who read its lines. */
#ifndef JG_PLAN_TRACE_H
#define JG_PLAN_TRACE_H

#include "base/str.h"
#include "plan/trial.h"

/* "<verb>: <config>: ", with which a line begins. */
void jg_trace_begin(struct jg_str *trace, const char *verb, const struct jg_arch *arch,
                    const struct jg_config *config);
/* The line's rest, of a usable trial: what was predicted and counted, and what the config
 * does that costs something, with its price. */
void jg_trace_numbers(struct jg_str *trace, const struct jg_arch *arch,
                      const struct jg_trial *trial);

#endif
