/* SPDX-License-Identifier: MIT */
/*
 * Groups of asynchronous copies of one thread. Operations are numbered from 1; a group ends
 * after the operation that was the last one when it was committed. The number of an
 * operation is also its epoch: a wait for a group learns of all operations up to its end.
 */
#ifndef EMU_ASYNC_GROUPS_H
#define EMU_ASYNC_GROUPS_H

#include "exec/machine.h"

struct emu_group {
    uint32_t last_op; /* of a committed group */
    uint32_t unread, unfinished;
};

struct emu_lane_groups {
    uint32_t reads, writes;           /* agents of what operations read and write */
    uint32_t ops;                     /* issued */
    uint32_t read_awaited;            /* operations that a wait has covered */
    const struct emu_insn *last_insn; /* of the last operation, for reports */
    /* Groups from number `first` on; the last of them is open. Earlier ones have ended. */
    struct emu_group *groups;
    uint32_t first, count;
};

/* The lane, the group and the number of an operation. */
struct emu_group_op {
    struct emu_lane_groups *lane;
    uint32_t group, op;
};

/* The lane's groups, made at the first use. */
struct emu_lane_groups *emu_groups_get(struct emu_lane_groups **lanes,
                                       struct emu_warp *warp, unsigned lane);
struct emu_group_op emu_groups_add(struct emu_lane_groups *lane,
                                   const struct emu_insn *insn);
void emu_groups_read_done(const struct emu_group_op *op);
void emu_groups_done(const struct emu_group_op *op);
void emu_groups_free(struct emu_lane_groups *lane);

bool emu_groups_describe(struct emu_warp *warp, const struct emu_insn *insn,
                         struct emu_text *text);

#endif
