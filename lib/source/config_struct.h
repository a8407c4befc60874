/* SPDX-License-Identifier: MIT */
/*
 * `struct Config` of a source unit: every constant and type that the device code of a
 * product is compiled with. One list for all chips; docs/generated-source.md says what each
 * row means. Pure.
 */
#ifndef JG_SOURCE_CONFIG_STRUCT_H
#define JG_SOURCE_CONFIG_STRUCT_H

#include "base/str.h"
#include "plan/choose.h"

/* Appends it, under its #line name. */
void jg_source_print_config(const struct jg_problem *problem,
                            const struct jg_choice *choice, struct jg_str *out);

#endif
