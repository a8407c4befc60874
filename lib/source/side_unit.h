/* SPDX-License-Identifier: MIT */
/* The source unit of a kernel beside products, of whichever kind it is. */
#ifndef JG_SOURCE_SIDE_UNIT_H
#define JG_SOURCE_SIDE_UNIT_H

#include "plan/side_kernel.h"
#include "source/combine_unit.h"
#include "source/pack_unit.h"

static inline jit_gemm_status jg_source_assemble_side(const struct jg_arch *arch,
                                                      const struct jg_side_kernel *side,
                                                      struct jg_source *ret_source)
{
    return side->kind == JG_SIDE_COMBINE
               ? jg_source_assemble_combine(arch, &side->combine, ret_source)
               : jg_source_assemble_pack(arch, &side->pack, ret_source);
}

#endif
