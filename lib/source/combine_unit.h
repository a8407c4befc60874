/* SPDX-License-Identifier: MIT */
/* The source unit of a kernel that adds up rows. Pure, like assemble.h. */
#ifndef JG_SOURCE_COMBINE_UNIT_H
#define JG_SOURCE_COMBINE_UNIT_H

#include "plan/arch.h"
#include "plan/combine.h"
#include "source/unit.h"

/* NO_MEMORY. The caller frees with jg_source_free. */
jit_gemm_status jg_source_assemble_combine(const struct jg_arch *arch,
                                           const struct jg_combine *combine,
                                           struct jg_source *ret_source);

#endif
