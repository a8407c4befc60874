/* SPDX-License-Identifier: MIT */
/* The entry of the kernel before that of the product, where there is one: it copies A or B,
 * writes maps of groups, or packs scales (plan/first_kernel.h). Pure. */
#ifndef JG_SOURCE_FIRST_ENTRY_H
#define JG_SOURCE_FIRST_ENTRY_H

#include "base/str.h"
#include "plan/choose.h"

/* Appends it to the unit, behind the product's kernel, whose Config it takes. */
void jg_source_print_first_entry(const struct jg_problem *problem,
                                 const struct jg_choice *choice, struct jg_str *out);

#endif
