/* SPDX-License-Identifier: MIT */
#include "check/lane_agents.h"

#define BUCKETS 256u

struct entry {
    struct entry *next;
    uint32_t warp; /* its agent */
    uint32_t of_lane[EMU_LANE_AGENTS];
};

struct emu_lane_agents {
    struct entry *buckets[BUCKETS];
};

static struct entry *find(const struct emu_lane_agents *agents, uint32_t warp)
{
    struct entry *entry = agents == NULL ? NULL : agents->buckets[warp % BUCKETS];
    while (entry != NULL && entry->warp != warp) {
        entry = entry->next;
    }
    return entry;
}

const uint32_t *emu_lane_agents_find(const struct emu_lane_agents *agents, uint32_t warp)
{
    const struct entry *entry = find(agents, warp);
    return entry == NULL ? NULL : entry->of_lane;
}

uint32_t *emu_lane_agents_get(struct emu_lane_agents **agents, uint32_t warp)
{
    struct entry *entry = find(*agents, warp);
    if (entry != NULL) {
        return entry->of_lane;
    }
    if (*agents == NULL) {
        *agents = emu_alloc(sizeof(struct emu_lane_agents));
    }
    entry = emu_alloc(sizeof(struct entry));
    entry->warp = warp;
    entry->next = (*agents)->buckets[warp % BUCKETS];
    (*agents)->buckets[warp % BUCKETS] = entry;
    return entry->of_lane;
}

void emu_lane_agents_free(struct emu_lane_agents *agents)
{
    for (unsigned i = 0; agents != NULL && i < BUCKETS; i++) {
        while (agents->buckets[i] != NULL) {
            struct entry *entry = agents->buckets[i];
            agents->buckets[i] = entry->next;
            emu_free(entry);
        }
    }
    emu_free(agents);
}

bool emu_lane_facts_have(const struct emu_lane_facts *facts, unsigned lane, uint32_t agent,
                         uint32_t epoch)
{
    for (unsigned i = 0; i < EMU_LANE_FACTS; i++) {
        if (facts->at[lane][i].agent == agent && facts->at[lane][i].epoch >= epoch) {
            return true;
        }
    }
    return false;
}
