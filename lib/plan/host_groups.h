/* SPDX-License-Identifier: MIT */
/* Numbers of groups that the host knows: where a launch has them among its parameters, and
 * how many cluster tiles they make. */
#ifndef JG_PLAN_HOST_GROUPS_H
#define JG_PLAN_HOST_GROUPS_H

#include "plan/groups.h"

/* Numbers that a launch has room for, beside so many operands and maps of tails. */
uint32_t jg_host_groups_room(uint32_t operand_count, uint32_t tail_maps);

/* Groups whose numbers a kernel takes from the parameters: all of the problem's, or 0 where
 * there is no room, or rows or a kernel before the product's need them on the device. */
uint32_t jg_host_groups_count(const struct jg_problem *problem,
                              const struct jg_config *config, uint32_t tail_maps);

/* Cluster tiles that groups of these numbers have in a product of `m` x `n`, rows of no
 * group that are made 0 included: what a kernel lists on the device
 * (jg/schedule/grouped_tile_order.cuh), or more where groups have an N of their own. */
int64_t jg_host_groups_tiles(const struct jg_config *config,
                             const struct jg_product *product, bool turns_last,
                             const int32_t *numbers, int64_t m, int64_t n, int64_t groups);

#endif
