/* SPDX-License-Identifier: MIT */
/*
 * Agents of single lanes. PTX orders accesses of one thread, and those of several lanes of
 * a warp only from bar.warp.sync or a barrier on (bar.warp.sync "guarantees memory ordering
 * among threads participating"; the text of shfl, vote, match, redux, elect, ldmatrix and
 * stmatrix promises nothing of the kind, .aligned or not). So what a lane publishes by
 * itself must not be taken for something its neighbours did.
 *
 * Accesses are stamped with the warp's agent, its epoch and their lane. Where the lanes
 * that publish are all that have accessed memory since the lanes last met, the warp's epoch
 * is published, as in nearly all cases. Where others have too, the warp's component stays
 * at the epoch in which they met, and each lane that publishes raises an agent of its own,
 * made the first time, to the warp's epoch. Who asks whether a stamp is known looks at the
 * warp's component first and at the lane's after that.
 */
#ifndef EMU_CHECK_LANE_AGENTS_H
#define EMU_CHECK_LANE_AGENTS_H

#include "base/base.h"

enum { EMU_LANE_AGENTS = 32 }; /* of a warp */

/* What single lanes of a warp have learned by waiting for asynchronous operations of their
 * own, since the lanes last met. An empty place has epoch 0. */
enum { EMU_LANE_FACTS = 4 };
struct emu_lane_facts {
    struct {
        uint32_t agent, epoch;
    } at[EMU_LANE_AGENTS][EMU_LANE_FACTS];
};
bool emu_lane_facts_have(const struct emu_lane_facts *facts, unsigned lane, uint32_t agent,
                         uint32_t epoch);

/* Of all warps that may meet. NULL is an empty list. */
struct emu_lane_agents;
void emu_lane_agents_free(struct emu_lane_agents *agents);

/* The agents of a warp's lanes, 0 for those without. The first is NULL for a warp that has
 * none; the second makes room. */
const uint32_t *emu_lane_agents_find(const struct emu_lane_agents *agents, uint32_t warp);
uint32_t *emu_lane_agents_get(struct emu_lane_agents **agents, uint32_t warp);

#endif
