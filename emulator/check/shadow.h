/* SPDX-License-Identifier: MIT */
/*
 * Race detection: remembers, for each 4-byte cell of a memory, who wrote it last and who
 * has read it since, and compares every access with that.
 *
 * Two accesses conflict when they touch the same byte, at least one writes, and neither
 * happened before the other. Across proxies, "happened" additionally needs the fence.
 *
 * Agents of different blocks (see clock.h) belong to different clusters.
 *
 * What makes an earlier access (agent e, epoch t) happen before the one of `who`:
 *   the same lane         always;
 *   otherwise             who.happened[e] >= t;
 *   generic write, async  moreover who.proxied[e] >= t, or who.proxied_global[e] >= t;
 *   tensor memory         who.tensor[e] >= t instead.
 * A lane's access also counts as known where the agent of that lane is (lane_agents.h). So
 * a warp's own component of `happened` is the epoch in which its lanes last met: what they
 * publish closes the current one, and the next access belongs to a new one. Parts of one
 * asynchronous operation (same agent, epoch and instruction) do not conflict.
 */
#ifndef EMU_CHECK_SHADOW_H
#define EMU_CHECK_SHADOW_H

#include "check/clock.h"
#include "check/lane_agents.h"

enum emu_proxy {
    EMU_PROXY_GENERIC,
    EMU_PROXY_ASYNC, /* bulk and tensor copies, operand reads of MMAs */
    EMU_PROXY_TENSOR /* tensor memory; a memory is either all this or never */
};

/* Lanes 0..31 stand for themselves. */
enum {
    EMU_LANE_ASYNC = 32,  /* an asynchronous operation, or the warp as a whole */
    EMU_LANE_SEVERAL = 33 /* only in stamps: lanes of one warp that read the same bytes */
};
#define EMU_STAMP_MOST_INSN 0x3FFFFu /* later instructions are all shown as this one */

/* One side of a conflict. */
struct emu_stamp {
    uint32_t agent;
    uint32_t epoch;     /* of the agent */
    uint32_t insn : 18; /* index of the instruction, for reports */
    uint32_t lane : 6;
    uint32_t proxy : 2; /* enum emu_proxy */
    uint32_t atomic : 1;
    uint32_t narrow : 1;
    uint32_t bytes : 4; /* mask of the cell's bytes; 0: no access yet */
};

/* Who accesses now. */
struct emu_accessor {
    uint32_t agent, epoch;
    uint8_t lane;
    enum emu_proxy proxy;
    bool global;  /* the memory is global */
    bool atomic;  /* atomics do not conflict with atomics, */
    bool narrow;  /* unless the scope of one ends at the cluster, and they are of two */
    bool repeats; /* writes what is there already */
    uint32_t insn;
    const struct emu_view *view;
    const struct emu_lane_agents *lane_agents; /* of all whom it may meet */
    const struct emu_lane_facts *facts; /* of the warp, for one of its lanes; or NULL */
};

enum emu_conflict_kind {
    EMU_NO_CONFLICT,
    EMU_CONFLICT_ORDER, /* nothing orders the two accesses */
    /* Another lane of the earlier one's warp is known to have come later, but the lanes did
     * not meet in between. */
    EMU_CONFLICT_LANES,
    EMU_CONFLICT_PROXY, /* ordered, but without the fence between generic and async proxy */
    EMU_CONFLICT_TENSOR_FENCE /* ordered, but without tcgen05.fence on the way */
};

struct emu_conflict {
    enum emu_conflict_kind kind;
    bool was_write, is_write;
    /* The PTX ISA does not allow it, but kernels known to work do it: only a relaxed
     * barrier of the cluster orders the two accesses; or an arrival at an mbarrier whose
     * scope is too narrow, and the later one writes; or the access to tensor memory was
     * waited for, but without tcgen05.fence; or lanes of one warp write the same value by
     * one instruction. */
    bool tolerated;
    bool repeated;  /* the last of these */
    bool signalled; /* there was such an arrival, also where it is not tolerated */
    uint64_t byte;  /* first byte in conflict, as an offset in the memory */
    struct emu_stamp other;
};

/*
 * A cell keeps writers with disjoint bytes (and atomic ones that nothing orders), at most
 * 4, and the last 8 distinct readers since then. Beyond that the oldest is forgotten: a
 * race may then be missed, but none is reported that is not there.
 *
 * Pages are made at the first touch and take 8 times the memory they watch. Not
 * thread-safe: threads that share a memory must hold a lock.
 */
struct emu_shadow;
struct emu_shadow *emu_shadow_create(uint64_t bytes);
void emu_shadow_free(struct emu_shadow *shadow);

/* Notes an access and compares it with what was noted before; the first conflict is put
 * into ret_conflict and false returned; one that is not tolerated goes before others. The
 * access is noted either way. The range lies in the memory: the caller has checked that. */
bool emu_shadow_access(struct emu_shadow *shadow, uint64_t byte, uint64_t bytes, bool write,
                       const struct emu_accessor *who, struct emu_conflict *ret_conflict);
/* The shadows of several memories, each known by a number. NULL: none yet. */
struct emu_watch;
/* The shadow of that memory; made at the first time. */
struct emu_shadow *emu_watch_shadow(struct emu_watch **watches, uint64_t memory,
                                    uint64_t bytes);
void emu_watches_free(struct emu_watch *watches);

/* Forgets everything about a range: memory that was freed and given out anew. */
void emu_shadow_forget(struct emu_shadow *shadow, uint64_t byte, uint64_t bytes);

#endif
