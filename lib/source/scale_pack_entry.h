/* SPDX-License-Identifier: MIT */
/* The kernel before that of the product, where scales are packed. */
#ifndef JG_SOURCE_SCALE_PACK_ENTRY_H
#define JG_SOURCE_SCALE_PACK_ENTRY_H

#include "base/str.h"
#include "plan/problem.h"
#include "plan/product.h"

/* Appends it to the unit, behind the product's kernel, whose Config it takes. */
void jg_source_print_scale_pack(const struct jg_problem *problem,
                                const struct jg_product *product, struct jg_str *out);

#endif
