/* SPDX-License-Identifier: MIT */
/* Groups of asynchronous copies: commit_group, wait_group, wait_all, of both kinds. */
#include "async/groups.h"

#include <inttypes.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"

/* insn->mode; insn->offset: how many groups may be outstanding. */
enum { BULK = 1, ONLY_READ = 2, COMMIT = 4, WAIT = 8 };

struct emu_lane_groups *emu_groups_get(struct emu_lane_groups **lanes,
                                       struct emu_warp *warp, unsigned lane)
{
    if (lanes[lane] == NULL) {
        struct emu_lane_groups *made = emu_alloc(sizeof(*made));
        made->reads = emu_cluster_agent(warp->cta->cluster);
        made->writes = emu_cluster_agent(warp->cta->cluster);
        EMU_GROW(made->groups, made->count);
        made->groups[made->count++] = (struct emu_group){0};
        lanes[lane] = made;
    }
    return lanes[lane];
}

static struct emu_group *group_of(struct emu_lane_groups *lane, uint32_t number)
{
    return &lane->groups[number - lane->first];
}

static struct emu_group *open_group(struct emu_lane_groups *lane)
{
    return &lane->groups[lane->count - 1];
}

struct emu_group_op emu_groups_add(struct emu_lane_groups *lane,
                                   const struct emu_insn *insn)
{
    lane->last_insn = insn;
    open_group(lane)->unread++;
    open_group(lane)->unfinished++;
    return (struct emu_group_op){lane, lane->first + lane->count - 1, ++lane->ops};
}

void emu_groups_read_done(const struct emu_group_op *op)
{
    group_of(op->lane, op->group)->unread--;
}

void emu_groups_done(const struct emu_group_op *op)
{
    group_of(op->lane, op->group)->unfinished--;
}

void emu_groups_free(struct emu_lane_groups *lane)
{
    if (lane != NULL) {
        emu_free(lane->groups);
        emu_free(lane);
    }
}

/* ------------------------------------------------------------------------ instructions */

static struct emu_lane_groups **lanes_of(struct emu_warp *warp, const struct emu_insn *insn)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    return (insn->mode & BULK) != 0 ? state->bulk : state->copies;
}

/* Forgets groups at the front that are over; `before` of them may go. */
static void drop_finished(struct emu_lane_groups *lane, uint32_t before)
{
    uint32_t over = 0;
    while (over < before && lane->groups[over].unread == 0 &&
           lane->groups[over].unfinished == 0) {
        over++;
    }
    if (over < 16) {
        return; /* not worth moving the rest */
    }
    struct emu_group *kept = NULL;
    uint32_t count = 0;
    for (uint32_t i = over; i < lane->count; i++) {
        EMU_GROW(kept, count);
        kept[count++] = lane->groups[i];
    }
    emu_free(lane->groups);
    lane->groups = kept;
    lane->count = count;
    lane->first += over;
}

static void commit(struct emu_lane_groups *lane)
{
    open_group(lane)->last_op = lane->ops;
    EMU_GROW(lane->groups, lane->count);
    lane->groups[lane->count++] = (struct emu_group){0};
}

static uint32_t last_committed(const struct emu_lane_groups *lane)
{
    return lane->count > 1 ? lane->groups[lane->count - 2].last_op : 0;
}

/* The committed groups that must be over are the first ones; how many of those kept. */
static uint32_t due_groups(const struct emu_lane_groups *lane, int64_t may_remain)
{
    uint32_t committed = lane->count - 1;
    return may_remain >= committed ? 0 : committed - (uint32_t)may_remain;
}

static bool is_over(const struct emu_lane_groups *lane, const struct emu_insn *insn)
{
    uint32_t due = due_groups(lane, insn->offset);
    for (uint32_t i = 0; i < due; i++) {
        const struct emu_group *group = &lane->groups[i];
        if (group->unread != 0 ||
            ((insn->mode & ONLY_READ) == 0 && group->unfinished != 0)) {
            return false;
        }
    }
    return true;
}

static void note_wait(struct emu_warp *warp, const struct emu_insn *insn, unsigned index,
                      struct emu_lane_groups *lane)
{
    uint32_t due = due_groups(lane, insn->offset);
    if (due == 0) {
        return;
    }
    uint32_t last = lane->groups[due - 1].last_op;
    if (lane->read_awaited < last) {
        lane->read_awaited = last;
    }
    emu_sync_learn(&warp->sync, index, lane->reads, last);
    if ((insn->mode & ONLY_READ) == 0) {
        emu_sync_learn(&warp->sync, index, lane->writes, last);
    }
    /* The last one stays: a later wait may cover it in full. */
    drop_finished(lane, due - 1);
}

/* wait_all commits and waits; when it is tried again there is nothing more to commit. */
static enum emu_step exec_groups(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes)
{
    struct emu_lane_groups **groups = lanes_of(warp, insn);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        struct emu_lane_groups *lane = groups[emu_lowest_bit(rest)];
        if (lane == NULL) {
            continue; /* it never copied: all its groups are empty */
        }
        bool again = (insn->mode & WAIT) != 0 && lane->ops == last_committed(lane);
        if ((insn->mode & COMMIT) != 0 && !again) {
            commit(lane);
        }
        if ((insn->mode & WAIT) != 0 && !is_over(lane, insn)) {
            return EMU_BLOCKED;
        }
    }
    for (uint32_t rest = lanes; (insn->mode & WAIT) != 0 && rest != 0; rest &= rest - 1) {
        unsigned index = emu_lowest_bit(rest);
        struct emu_lane_groups *lane = groups[index];
        if (lane != NULL) {
            note_wait(warp, insn, index, lane);
        }
    }
    return EMU_NEXT;
}

bool emu_groups_describe(struct emu_warp *warp, const struct emu_insn *insn,
                         struct emu_text *text)
{
    if (insn->exec != exec_groups) {
        return false;
    }
    struct emu_lane_groups **groups = lanes_of(warp, insn);
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        if (groups[lane] != NULL && !is_over(groups[lane], insn)) {
            emu_text_add(text,
                         "waits until at most %" PRId64
                         " groups of copies of lane %u are outstanding; %u are committed",
                         insn->offset, lane, groups[lane]->first + groups[lane]->count - 1);
            return true;
        }
    }
    return true;
}

static bool decode(struct emu_decoder *decoder, unsigned mode)
{
    decoder->insn->exec = exec_groups;
    decoder->insn->mode = (uint16_t)mode;
    if ((mode & WAIT) == 0 || (mode & COMMIT) != 0) {
        return emu_need_operands(decoder, 0, 0);
    }
    return emu_need_operands(decoder, 1, 1) &&
           emu_operand_integer(decoder, emu_operand(decoder, 0), &decoder->insn->offset) &&
           (decoder->insn->offset >= 0 ||
            emu_decode_fail(decoder, "a negative number of groups"));
}

bool emu_decode_copy_commit(struct emu_decoder *decoder)
{
    return decode(decoder, COMMIT);
}

bool emu_decode_copy_wait(struct emu_decoder *decoder)
{
    return decode(decoder, WAIT);
}

bool emu_decode_copy_wait_all(struct emu_decoder *decoder)
{
    return decode(decoder, COMMIT | WAIT);
}

bool emu_decode_bulk_commit(struct emu_decoder *decoder)
{
    return decode(decoder, BULK | COMMIT);
}

bool emu_decode_bulk_wait(struct emu_decoder *decoder)
{
    return decode(decoder, BULK | WAIT | (emu_take(decoder, "read") ? ONLY_READ : 0));
}
