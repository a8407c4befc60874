/* SPDX-License-Identifier: MIT */
/* Kernels beside products, which have neither a problem nor a config: one of their kinds.
 */
#ifndef JG_PLAN_SIDE_KERNEL_H
#define JG_PLAN_SIDE_KERNEL_H

#include "plan/combine.h"
#include "plan/pack.h"

enum jg_side_kind { JG_SIDE_PACK, JG_SIDE_COMBINE };

struct jg_side_kernel {
    enum jg_side_kind kind;
    struct jg_pack pack;       /* of its kind only */
    struct jg_combine combine; /* the same */
};

/* A line of a manifest, and what errors and the cache call the kernel. */
static inline void jg_side_kernel_text(const struct jg_side_kernel *side,
                                       struct jg_str *out)
{
    if (side->kind == JG_SIDE_COMBINE) {
        jg_combine_text(&side->combine, out);
    } else {
        jg_pack_text(&side->pack, out);
    }
}

/* Reads what follows the kind's word. ARGUMENT. */
static inline jit_gemm_status jg_side_kernel_parse(enum jg_side_kind kind, const char *text,
                                                   struct jg_side_kernel *ret_side)
{
    ret_side->kind = kind;
    return kind == JG_SIDE_COMBINE ? jg_combine_parse(text, &ret_side->combine)
                                   : jg_pack_parse(text, &ret_side->pack);
}

static inline int jg_side_kernel_threads(const struct jg_side_kernel *side)
{
    return side->kind == JG_SIDE_COMBINE ? JG_COMBINE_THREADS : JG_PACK_THREADS;
}

#endif
