/* SPDX-License-Identifier: MIT */
/* The kernel that some have before that of the product, in one unit with it: it copies A
 * and B to aligned rows (plan/repack.h), packs scales (plan/scale_pack.h) or writes maps of
 * groups (plan/group_maps.h). None does two of that: scales that are packed are those of
 * aligned A and B that lie together. */
#ifndef JG_PLAN_FIRST_KERNEL_H
#define JG_PLAN_FIRST_KERNEL_H

#include "plan/group_maps.h"
#include "plan/repack.h"
#include "plan/scale_pack.h"

enum { JG_FIRST_THREADS = 256 };
_Static_assert((int)JG_FIRST_THREADS == (int)JG_REPACK_THREADS &&
                   (int)JG_FIRST_THREADS == (int)JG_PACK_THREADS &&
                   (int)JG_FIRST_THREADS == (int)JG_GROUP_MAPS_THREADS,
               "all of them have as many");

/* Its entry; NULL: there is none. */
static inline const char *jg_first_entry(const struct jg_config *config,
                                         const struct jg_product *product)
{
    return jg_is_repacked(config)      ? JG_REPACK_ENTRY
           : jg_has_group_maps(config) ? JG_GROUP_MAPS_ENTRY
           : jg_packs_scales(product)  ? JG_SCALE_PACK_ENTRY
                                       : NULL;
}

/* Most kernels of a launch. */
static inline uint32_t jg_count_launches(const struct jg_config *config,
                                         const struct jg_product *product)
{
    return jg_first_entry(config, product) != NULL ? 2 : 1;
}

/* What a launch gives it; those of other kernels are not filled in. */
struct jg_first_params {
    struct jg_repack_params repack;
    struct jg_scale_pack_params scales;
    struct jg_group_maps_params maps;
};

#endif
