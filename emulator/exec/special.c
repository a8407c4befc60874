/* SPDX-License-Identifier: MIT */
/* Special registers: what they hold, by lane or for the whole warp. */
#include "exec/special.h"

#include <string.h>

#include "exec/op_lanes.h"
#include "exec/timing.h"

enum special {
    TID,
    LANEID,
    LANEMASK_EQ,
    LANEMASK_LT,
    LANEMASK_LE,
    LANEMASK_GT,
    LANEMASK_GE,
    LAST_OF_LANES = LANEMASK_GE,
    NTID,
    CTAID,
    NCTAID,
    CLUSTERID,
    NCLUSTERID,
    CLUSTER_CTAID,
    CLUSTER_NCTAID,
    CLUSTER_CTARANK,
    CLUSTER_NCTARANK,
    IS_EXPLICIT_CLUSTER,
    WARPID,
    NWARPID,
    SMID,
    NSMID,
    ZERO,
    CLOCK,
    CLOCK_HI,
    TIMER,
    TIMER_HI,
    DYNAMIC_SMEM_SIZE,
    TOTAL_SMEM_SIZE,
    AGGR_SMEM_SIZE,
    GRID_WORKSPACE_HIGH,
    GRID_WORKSPACE_LOW
};

enum {
    WARPS_PER_SM = 64,
    SHARED_UNIT = 128 /* bytes that shared memory is handed out in */
};

#define BY_COMPONENT(name, kind)                        \
    {name ".x", 32, kind, 0}, {name ".y", 32, kind, 1}, \
    {                                                   \
        name ".z", 32, kind, 2                          \
    }

static const struct {
    const char *name;
    unsigned bits;
    enum special kind;
    unsigned component;
} registers[] = {
    BY_COMPONENT("%tid", TID),
    BY_COMPONENT("%ntid", NTID),
    BY_COMPONENT("%ctaid", CTAID),
    BY_COMPONENT("%nctaid", NCTAID),
    BY_COMPONENT("%clusterid", CLUSTERID),
    BY_COMPONENT("%nclusterid", NCLUSTERID),
    BY_COMPONENT("%cluster_ctaid", CLUSTER_CTAID),
    BY_COMPONENT("%cluster_nctaid", CLUSTER_NCTAID),
    {"%cluster_ctarank", 32, CLUSTER_CTARANK, 0},
    {"%cluster_nctarank", 32, CLUSTER_NCTARANK, 0},
    {"%is_explicit_cluster", 1, IS_EXPLICIT_CLUSTER, 0},
    {"%laneid", 32, LANEID, 0},
    {"%lanemask_eq", 32, LANEMASK_EQ, 0},
    {"%lanemask_lt", 32, LANEMASK_LT, 0},
    {"%lanemask_le", 32, LANEMASK_LE, 0},
    {"%lanemask_gt", 32, LANEMASK_GT, 0},
    {"%lanemask_ge", 32, LANEMASK_GE, 0},
    {"%warpid", 32, WARPID, 0},
    {"%nwarpid", 32, NWARPID, 0},
    {"%smid", 32, SMID, 0},
    {"%nsmid", 32, NSMID, 0},
    {"%gridid", 64, ZERO, 0},                 /* launches carry no number */
    {"%envreg1", 32, GRID_WORKSPACE_HIGH, 0}, /* as cooperative groups read them */
    {"%envreg2", 32, GRID_WORKSPACE_LOW, 0},
    {"%clock", 32, CLOCK, 0},
    {"%clock_hi", 32, CLOCK_HI, 0},
    {"%clock64", 64, CLOCK, 0},
    {"%globaltimer", 64, TIMER, 0},
    {"%globaltimer_lo", 32, TIMER, 0},
    {"%globaltimer_hi", 32, TIMER_HI, 0},
    {"%dynamic_smem_size", 32, DYNAMIC_SMEM_SIZE, 0},
    {"%total_smem_size", 32, TOTAL_SMEM_SIZE, 0},
    {"%aggr_smem_size", 32, AGGR_SMEM_SIZE, 0},
};

static uint32_t get_lane_value(const struct emu_warp *warp, enum special kind,
                               unsigned component, unsigned lane)
{
    const uint32_t bit = 1u << lane;
    const uint32_t *block = emu_launch_of(warp->cta)->block;
    const uint32_t thread = warp->index * EMU_LANES + lane;
    switch (kind) {
    case TID:
        return component == 0   ? thread % block[0]
               : component == 1 ? thread / block[0] % block[1]
                                : thread / block[0] / block[1];
    case LANEMASK_EQ:
        return bit;
    case LANEMASK_LT:
        return bit - 1;
    case LANEMASK_LE:
        return bit | (bit - 1);
    case LANEMASK_GT:
        return ~(bit | (bit - 1));
    case LANEMASK_GE:
        return ~(bit - 1);
    default: /* LANEID */
        return lane;
    }
}

/* Time grows with every turn of the cluster and with every instruction of its warps. It
 * is the same for all of them, and a loop that waits for it ends. */
static uint64_t get_time(struct emu_warp *warp)
{
    struct emu_cluster *cluster = warp->cta->cluster;
    if (warp->time != NULL) {
        return warp->time->clock;
    }
    cluster->time_was_read = true;
    cluster->must_be_asked = true;
    if (warp->steps >= warp->time_stands || warp->time_shown == 0) {
        warp->time_shown = cluster->now + cluster->warp_steps +
                           (warp->steps - cluster->turn_began) + cluster->skipped;
    }
    return warp->time_shown;
}

/* Where nothing is timed, a clock is as good as a nanosecond. */
static uint64_t get_nanoseconds(struct emu_warp *warp)
{
    const uint64_t clocks = get_time(warp);
    return warp->time == NULL ? clocks
                              : (uint64_t)((double)clocks * 1e3 /
                                           emu_timer_mhz(warp->cta->cluster->timer));
}

static uint64_t get_warp_value(struct emu_warp *warp, enum special kind, unsigned component)
{
    const struct emu_cta *cta = warp->cta;
    const struct emu_cluster *cluster = cta->cluster;
    const struct emu_launch *launch = &cluster->grid->launch;
    const struct ptx_function *function = launch->program->function;
    switch (kind) {
    case NTID:
        return launch->block[component];
    case CTAID:
        return cta->id[component];
    case NCTAID:
        return launch->grid[component];
    case CLUSTERID:
        return cluster->first_cta[component] / launch->cluster[component];
    case NCLUSTERID:
        return cluster->grid->cluster_grid[component];
    case CLUSTER_CTAID:
        return cta->id[component] - cluster->first_cta[component];
    case CLUSTER_NCTAID:
        return launch->cluster[component];
    case CLUSTER_CTARANK:
        return cta->rank;
    case CLUSTER_NCTARANK:
        return cluster->cta_count;
    case IS_EXPLICIT_CLUSTER:
        return function->explicit_cluster || function->required_cluster[0] != 0 ||
               cluster->cta_count > 1;
    case WARPID:
        return warp->index;
    case NWARPID:
        return WARPS_PER_SM;
    case SMID:
        return (cluster->index * cluster->cta_count + cta->rank) %
               (launch->sm_count == 0 ? 1 : launch->sm_count);
    case NSMID:
        return launch->sm_count;
    case CLOCK:
        return get_time(warp);
    case CLOCK_HI:
        return get_time(warp) >> 32;
    case TIMER:
        return get_nanoseconds(warp);
    case TIMER_HI:
        return get_nanoseconds(warp) >> 32;
    case DYNAMIC_SMEM_SIZE:
        return launch->dynamic_shared_bytes;
    case TOTAL_SMEM_SIZE:
        return emu_align_up(cta->shared_bytes - EMU_SHARED_FIRST, SHARED_UNIT);
    case AGGR_SMEM_SIZE:
        return emu_align_up(cta->shared_bytes, SHARED_UNIT);
    case GRID_WORKSPACE_HIGH:
        return launch->grid_workspace >> 32;
    case GRID_WORKSPACE_LOW:
        return (uint32_t)launch->grid_workspace;
    default: /* ZERO */
        return 0;
    }
}

EMU_EXEC(read_lanes)
{
    uint64_t *d = warp->r[insn->dst];
    EMU_FOR_LANES(lanes, lane, {
        d[lane] = get_lane_value(warp, (enum special)insn->mode, insn->mode2, lane);
    });
    emu_lanes_defined(warp, insn->dst, lanes, 0);
    return EMU_NEXT;
}

EMU_EXEC(read_warp_32)
{
    uint64_t *d = warp->r[insn->dst];
    const uint64_t value =
        (uint32_t)get_warp_value(warp, (enum special)insn->mode, insn->mode2);
    EMU_FOR_LANES(lanes, lane, { d[lane] = value; });
    emu_lanes_defined(warp, insn->dst, lanes, 0);
    return EMU_NEXT;
}

EMU_EXEC(read_warp_64)
{
    uint64_t *d = warp->r[insn->dst];
    const uint64_t value = get_warp_value(warp, (enum special)insn->mode, insn->mode2);
    EMU_FOR_LANES(lanes, lane, { d[lane] = value; });
    emu_lanes_defined(warp, insn->dst, lanes, 0);
    return EMU_NEXT;
}

EMU_EXEC(read_warp_predicate)
{
    const uint64_t value = get_warp_value(warp, (enum special)insn->mode, insn->mode2);
    emu_lanes_predicate(warp, insn->dst, lanes, value != 0 ? EMU_ALL_LANES : 0, 0);
    return EMU_NEXT;
}

static bool finish(struct emu_decoder *decoder, enum special kind, unsigned component,
                   unsigned bits)
{
    decoder->insn->mode = (uint16_t)kind;
    decoder->insn->mode2 = (uint16_t)component;
    decoder->insn->exec = kind <= LAST_OF_LANES ? read_lanes
                          : bits == 1           ? read_warp_predicate
                          : bits == 32          ? read_warp_32
                                                : read_warp_64;
    return true;
}

bool emu_special_decode(struct emu_decoder *decoder, const char *name, unsigned bits)
{
    for (unsigned i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        if (strcmp(registers[i].name, name) == 0) {
            return registers[i].bits == bits
                       ? finish(decoder, registers[i].kind, registers[i].component, bits)
                       : emu_decode_fail(decoder, "%s has %u bits, not %u", name,
                                         registers[i].bits, bits);
        }
    }
    /* Set by the driver on request only; nobody can ask for it here. */
    if (strncmp(name, "%envreg", 7) == 0 && bits == 32) {
        return finish(decoder, ZERO, 0, bits);
    }
    return emu_decode_fail(decoder, "special register %s is not supported", name);
}
