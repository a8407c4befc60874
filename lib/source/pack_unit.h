/* SPDX-License-Identifier: MIT */
/* The source unit of a kernel that changes the layout of scales. Pure, like assemble.h. */
#ifndef JG_SOURCE_PACK_UNIT_H
#define JG_SOURCE_PACK_UNIT_H

#include "plan/arch.h"
#include "plan/pack.h"
#include "source/unit.h"

/* NO_MEMORY. The caller frees with jg_source_free. */
jit_gemm_status jg_source_assemble_pack(const struct jg_arch *arch,
                                        const struct jg_pack *pack,
                                        struct jg_source *ret_source);

#endif
