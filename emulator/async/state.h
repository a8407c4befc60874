/* SPDX-License-Identifier: MIT */
/* The state that async/ keeps in warps, CTAs and clusters. */
#ifndef EMU_ASYNC_STATE_H
#define EMU_ASYNC_STATE_H

#include "async/groups.h"
#include "async/mbarrier.h"
#include "exec/machine.h"

#define EMU_NAMED_BARRIERS 16u

/* One of the 16 barriers of a CTA, while somebody has arrived. */
struct emu_named_barrier {
    bool open;
    bool whole_cta;    /* no thread count was given: all warps that have not exited */
    uint8_t operation; /* of the first arrival */
    uint32_t threads;  /* required */
    uint32_t counted_warps;
    uint32_t lanes[EMU_MAX_WARPS]; /* that have arrived, by warp */
    uint32_t trues, falses;        /* predicates of bar.red */
    struct emu_view gathered;
};

/* A warp's part in one of them. */
struct emu_named_wait {
    uint32_t waiting, done; /* lanes that arrived; of them, those whose barrier completed */
    uint32_t trues, falses;
};

struct emu_async_warp {
    struct emu_named_wait named[EMU_NAMED_BARRIERS];
    uint32_t cluster_arrived;  /* lanes, in the current phase of the cluster's barrier */
    uint32_t cluster_unwaited; /* lanes that arrived and have not waited yet */
    uint64_t cluster_phase[EMU_LANES]; /* of their latest arrival */
    /* The warp's epoch at its last two arrivals, the last one first, and how many phases
     * will have completed with each. How many had at its last wait. */
    uint32_t left_epoch[2];
    uint64_t left_phase[2], waited_phase;
    struct emu_lane_groups *copies[EMU_LANES]; /* cp.async; made at the first use */
    struct emu_lane_groups *bulk[EMU_LANES];   /* cp.async.bulk of bulk_group */
    struct emu_copy_arrival *copy_arrivals;    /* that wait for copies */
    uint64_t copy_count;                       /* cp.async instructions issued */
    uint32_t registers;                        /* of one thread; 0: unknown */
    unsigned register_changes;
    uint32_t last_register_change;
    /* The mbarrier of the last wait that failed, for reports. */
    const struct emu_insn *waited_at;
    uint32_t waited_offset;
};

struct emu_seen_map; /* a tensor map that the CTA has read */

struct emu_async_cta {
    struct emu_mbarrier_table mbarriers;
    struct emu_named_barrier named[EMU_NAMED_BARRIERS];
    uint32_t free_registers;
    bool allowed_dependents;
    bool saw_refusal; /* of launch control */
    /* What its warps had done when they arrived relaxed at the cluster's barrier: in the
     * current phase, and in earlier ones. */
    struct emu_clock leaving, left;
    struct emu_seen_map *maps;
};

struct emu_async_cluster {
    uint64_t phase;       /* of the cluster's barrier */
    uint64_t released_at; /* when those who wait see the last one end, in a timed launch */
    struct emu_view gathered, released;
    /* Initialisations of mbarriers without fence.mbarrier_init before a relaxed arrival:
     * in the current phase, and in earlier ones. */
    struct emu_clock inits_leaving, inits_left;
};

static inline struct emu_async_warp *emu_async_of_warp(const struct emu_warp *warp)
{
    return warp->async_state;
}
static inline struct emu_async_cta *emu_async_of_cta(const struct emu_cta *cta)
{
    return cta->async_state;
}
static inline struct emu_async_cluster *
emu_async_of_cluster(const struct emu_cluster *cluster)
{
    return cluster->async_state;
}

/* ---------------------------------------------- what happens when lanes and CTAs exit */

void emu_named_barriers_exited(struct emu_warp *warp);
bool emu_named_barriers_describe(struct emu_warp *warp, const struct emu_insn *insn,
                                 struct emu_text *text);
void emu_cluster_barrier_exited(struct emu_warp *warp);
bool emu_cluster_barrier_describe(struct emu_warp *warp, const struct emu_insn *insn,
                                  struct emu_text *text);
bool emu_registers_cta_exited(struct emu_cta *cta);
bool emu_registers_describe(struct emu_warp *warp, const struct emu_insn *insn,
                            struct emu_text *text);
/* `count` CTAs allow the next grid to start, or will never run. */
void emu_dependents_allowed(struct emu_grid *grid, uint64_t count);
void emu_copy_arrivals_free(struct emu_copy_arrival *arrivals);
void emu_maps_detach_cta(struct emu_cta *cta);

#endif
