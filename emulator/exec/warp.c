/* SPDX-License-Identifier: MIT */
/*
 * A warp's turn, and how its lanes diverge and converge.
 *
 * Lanes that go different ways form groups, one per program counter. The group with the
 * smallest counter runs, because the others wait for it ahead; where it has to wait for
 * something, the next group gets the turn, as independent thread scheduling would give it.
 * Groups at the same place are one group.
 */
#include "exec/cluster.h"
#include "exec/events.h"
#include "exec/unit.h"

/* Takes the lanes at `pc` as the running group. */
static void run_group(struct emu_warp *warp, uint32_t pc)
{
    warp->pc = pc;
    warp->mask = 0;
    warp->merge_pc = UINT32_MAX;
    for (uint32_t rest = warp->live; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        if (warp->lane_pc[lane] == pc) {
            warp->mask |= 1u << lane;
        } else if (warp->lane_pc[lane] > pc && warp->lane_pc[lane] < warp->merge_pc) {
            warp->merge_pc = warp->lane_pc[lane];
        }
    }
}

static void park_group(struct emu_warp *warp)
{
    for (uint32_t rest = warp->mask & warp->live; rest != 0; rest &= rest - 1) {
        warp->lane_pc[emu_lowest_bit(rest)] = warp->pc;
    }
}

/* The smallest counter of all groups; every lane has its place in lane_pc. */
static void run_first_group(struct emu_warp *warp)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t rest = warp->live; rest != 0; rest &= rest - 1) {
        uint32_t pc = warp->lane_pc[emu_lowest_bit(rest)];
        least = pc < least ? pc : least;
    }
    run_group(warp, least);
}

/* The next group in the order of counters, after the last one the first again. */
static void run_next_group(struct emu_warp *warp)
{
    park_group(warp);
    uint32_t least = UINT32_MAX;
    uint32_t next = UINT32_MAX;
    for (uint32_t rest = warp->live; rest != 0; rest &= rest - 1) {
        uint32_t pc = warp->lane_pc[emu_lowest_bit(rest)];
        least = pc < least ? pc : least;
        next = pc > warp->pc && pc < next ? pc : next;
    }
    run_group(warp, next != UINT32_MAX ? next : least);
}

enum emu_step emu_warp_branch(struct emu_warp *warp, const struct emu_insn *insn,
                              uint32_t lanes, uint32_t target)
{
    if (lanes == warp->live) {
        warp->pc = target;
        return EMU_JUMPED;
    }
    warp->pc = insn->index + 1;
    park_group(warp);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        warp->lane_pc[emu_lowest_bit(rest)] = target;
    }
    run_first_group(warp);
    return EMU_JUMPED;
}

enum emu_step emu_warp_exit(struct emu_warp *warp, uint32_t lanes)
{
    if (lanes != warp->mask) {
        /* Lanes whose guard kept them go on behind the exit. */
        warp->pc++;
        park_group(warp);
    }
    warp->live &= ~lanes;
    emu_note_event(warp);
    const struct emu_unit *const *units = emu_launch_of(warp->cta)->program->units;
    for (; *units != NULL; units++) {
        if ((*units)->lanes_exited != NULL) {
            (*units)->lanes_exited(warp);
        }
    }
    if (warp->live != 0) {
        run_first_group(warp);
    } else {
        warp->mask = 0;
        warp->finished = true;
    }
    return EMU_JUMPED;
}

/* The lanes whose guard lets them execute; false when the guard itself is undefined. */
static bool guarded_lanes(struct emu_warp *warp, const struct emu_insn *insn,
                          uint32_t *ret_lanes)
{
    uint32_t undefined = warp->p_undefined[insn->guard] & warp->mask;
    if (undefined != 0 && emu_launch_of(warp->cta)->settings.definedness) {
        emu_report_error(warp, insn, emu_lowest_bit(undefined), EMU_FINDING_UNDEFINED,
                         "the predicate that guards this instruction is undefined");
        return false;
    }
    uint32_t values = warp->p[insn->guard];
    *ret_lanes = warp->mask & (insn->guard_negated ? ~values : values);
    return true;
}

static void advance(struct emu_warp *warp)
{
    warp->pc++;
    if (warp->pc == warp->merge_pc) {
        park_group(warp);
        run_first_group(warp);
    }
}

/*
 * One instruction of the running group cannot be done now. Gives the turn to the next
 * group; false when all groups were tried since the last instruction that was done.
 */
static bool try_other_group(struct emu_warp *warp, uint32_t *tried)
{
    *tried |= warp->mask;
    if (*tried == warp->live) {
        return false;
    }
    run_next_group(warp);
    return (*tried & warp->mask) == 0;
}

/* Asks the units whether a load in flight has a register of the instruction. */
static enum emu_step await_registers(struct emu_warp *warp, const struct emu_insn *insn)
{
    enum emu_step step = EMU_NEXT;
    const struct emu_unit *const *units = emu_launch_of(warp->cta)->program->units;
    for (; *units != NULL && step == EMU_NEXT; units++) {
        if ((*units)->await_registers != NULL) {
            step = (*units)->await_registers(warp, insn);
        }
    }
    return step;
}

static enum emu_step execute(struct emu_warp *warp, const struct emu_insn *insn,
                             uint32_t lanes)
{
    if (lanes == 0) {
        return EMU_NEXT;
    }
    enum emu_step ready =
        warp->loads_in_flight == 0 ? EMU_NEXT : await_registers(warp, insn);
    return ready == EMU_NEXT ? insn->exec(warp, insn, lanes) : ready;
}

static enum emu_turn wait_turn(struct emu_warp *warp, const struct emu_insn *insn)
{
    warp->blocked_at = insn;
    warp->last_spin = warp->steps + 1;
    return EMU_TURN_WAITED;
}

enum emu_turn emu_warp_turn(struct emu_warp *warp, uint64_t quantum)
{
    const struct emu_program *program = emu_launch_of(warp->cta)->program;
    uint8_t *covered = emu_launch_of(warp->cta)->covered;
    uint64_t *thread_steps = &warp->cta->cluster->thread_steps;
    uint32_t tried = 0;
    bool waits =
        false; /* one of the tried groups waits for others, not for its own lanes */
    const struct emu_insn *waiting = NULL;
    for (uint64_t done = 0; done < quantum;) {
        if (warp->pc >= program->insn_count) {
            emu_warp_exit(warp, warp->mask);
            if (warp->finished) {
                return EMU_TURN_ENDED;
            }
            continue;
        }
        const struct emu_insn *insn = &program->insns[warp->pc];
        if (insn->aligned && warp->mask != warp->live) {
            if (try_other_group(warp, &tried)) {
                continue;
            }
            if (waits) {
                return wait_turn(warp, waiting);
            }
            emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_DIVERGENCE,
                             "all lanes of the warp must execute this together; lanes %08x "
                             "are here, lanes %08x are elsewhere",
                             warp->mask, warp->live & ~warp->mask);
            return EMU_TURN_FAILED;
        }
        uint32_t lanes = warp->mask;
        if (insn->guard != EMU_NO_PREDICATE && !guarded_lanes(warp, insn, &lanes)) {
            return EMU_TURN_FAILED;
        }
        enum emu_step step = execute(warp, insn, lanes);
        if (step == EMU_BLOCKED) {
            waits = true;
            waiting = insn;
            if (try_other_group(warp, &tried)) {
                continue;
            }
            return wait_turn(warp, insn);
        }
        done++;
        tried = 0;
        waits = false;
        warp->steps++;
        *thread_steps += emu_count_bits(lanes);
        if (covered != NULL && lanes != 0) {
            __atomic_store_n(&covered[insn->index], 1, __ATOMIC_RELAXED);
        }
        switch (step) {
        case EMU_NEXT:
            advance(warp);
            break;
        case EMU_JUMPED:
            if (warp->finished) {
                return EMU_TURN_ENDED;
            }
            break;
        case EMU_YIELDED:
            advance(warp);
            warp->blocked_at = NULL;
            return EMU_TURN_RAN;
        case EMU_SPUN:
            advance(warp);
            if (warp->mask != warp->live) {
                run_next_group(warp);
            }
            return wait_turn(warp, insn);
        default:
            return EMU_TURN_FAILED;
        }
    }
    if (warp->steps - warp->last_spin > EMU_SPIN_STEPS) {
        warp->blocked_at = NULL;
    }
    return EMU_TURN_RAN;
}
