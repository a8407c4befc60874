/* SPDX-License-Identifier: MIT */
#include "exec/strong.h"

#include "exec/cluster.h"

/* Global memory is one for all clusters, where these can meet. */
static struct emu_sync_table **table_of(struct emu_cluster *cluster, uint64_t address)
{
    return !emu_strong_is_shared(address) && cluster->grid->launch.program->shares_grid
               ? &cluster->grid->sync_table
               : &cluster->sync_table;
}

void emu_strong_read(struct emu_warp *warp, uint64_t address, unsigned order)
{
    emu_sync_table_read(*table_of(warp->cta->cluster, address), address, &warp->sync,
                        order);
}

void emu_strong_write(struct emu_warp *warp, unsigned lane, uint64_t address,
                      unsigned order, bool modify)
{
    emu_sync_table_write(table_of(warp->cta->cluster, address), address, &warp->sync, lane,
                         order, modify);
}

/* ------------------------------------------------------------------------------ loops */

/* All that decides what the warp does next, besides memory. */
static uint64_t hash_state(const struct emu_warp *warp)
{
    const struct emu_program *program = emu_launch_of(warp->cta)->program;
    uint64_t hash = emu_hash(warp->r, program->slot_count * sizeof(*warp->r));
    hash = emu_mix(hash, emu_hash(warp->p, program->predicate_count * sizeof(*warp->p)));
    hash = emu_mix(hash, emu_hash(warp->lane_pc, sizeof(warp->lane_pc)));
    return emu_mix(hash, (uint64_t)warp->live << 32 | warp->mask);
}

/* The note about that instruction; a new one takes the place of the oldest. */
static struct emu_poll *find_poll(struct emu_warp *warp, const struct emu_insn *insn)
{
    for (unsigned i = 0; i < EMU_POLLS; i++) {
        if (warp->polls[i].insn == insn) {
            return &warp->polls[i];
        }
    }
    struct emu_poll *poll = &warp->polls[warp->next_poll++ % EMU_POLLS];
    *poll = (struct emu_poll){.insn = insn};
    return poll;
}

/* A loop that also looks at the clock changes only the time that it knows. So the clock
 * stands still for three of its turns and goes on in the fourth, by which the loop may end.
 * */
static void stop_clock(struct emu_warp *warp, unsigned turn)
{
    warp->time_stands = turn % 4 == 3 ? 0 : warp->steps + EMU_SPIN_STEPS;
    if (turn % 4 == 0) {
        warp->time_shown = 0;
    }
}

enum emu_step emu_strong_poll(struct emu_warp *warp, const struct emu_insn *insn,
                              uint64_t seen, bool global)
{
    struct emu_poll *poll = find_poll(warp, insn);
    if (poll->seen != seen) {
        poll->seen = seen;
        poll->state = 0;
        poll->repeats = 0;
        warp->time_stands = 0;
        return EMU_NEXT;
    }
    stop_clock(warp, poll->repeats++);
    uint64_t state = hash_state(warp);
    bool same = state == poll->state;
    poll->state = state;
    if (!same) {
        return EMU_YIELDED;
    }
    warp->cta->cluster->must_be_asked = true;
    if (global && warp->cta->cluster->grid->launch.program->shares_grid) {
        warp->cta->cluster->waits_for_grid = true;
    }
    return EMU_SPUN;
}
