/* SPDX-License-Identifier: MIT */
/* wgmma.fence, .commit_group and .wait_group, each for one warp. */
#include <string.h>

#include "tensor/opcodes.h"
#include "tensor/wgmma.h"

static enum emu_step exec_fence(struct emu_warp *warp, const struct emu_insn *insn,
                                uint32_t lanes)
{
    if (!emu_tensor_whole_warp(warp, insn, lanes)) {
        return EMU_FAILED;
    }
    emu_tensor_warp_of(warp)->fenced = true;
    return EMU_NEXT;
}

static enum emu_step exec_commit(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes)
{
    struct emu_tensor_warp *state = emu_tensor_warp_of(warp);
    const struct emu_warpgroup *group = emu_warpgroup_of(warp);
    if (!emu_tensor_whole_warp(warp, insn, lanes)) {
        return EMU_FAILED;
    }
    /* No operation is issued without this warp: all of them are its own. */
    EMU_GROW(state->group_ends, state->group_count);
    state->group_ends[state->group_count++] = group == NULL ? 0 : group->issued;
    return EMU_NEXT;
}

/* --------------------------------------------------------------------------- wait_group */

static bool report_written(struct emu_warp *warp, const struct emu_insn *insn,
                           const struct emu_insn *operation, uint32_t lanes,
                           const char *access_name, uint32_t index)
{
    struct emu_text location = {0};
    ptx_describe_location(emu_launch_of(warp->cta)->program->module,
                          &operation->source->location, &location);
    emu_report_error(warp, insn, emu_lowest_bit(lanes), EMU_FINDING_IN_FLIGHT,
                     "register %u of %s of the wgmma.mma_async at %s was written before "
                     "the operation was waited for",
                     index, access_name, emu_text_get(&location));
    emu_text_free(&location);
    return false;
}

/* Puts the warp's 16 rows into its registers. */
static bool deliver(struct emu_warp *warp, const struct emu_insn *insn,
                    const struct emu_wgmma_accumulator *accumulator)
{
    const struct emu_insn *operation = accumulator->insn;
    const struct emu_wgmma_form *form = operation->extra;
    bool half = form->d == EMU_F16;
    const uint32_t *rows =
        accumulator->cells + (size_t)(warp->index % EMU_WARPGROUP_WARPS) * 16 * form->n;
    for (uint32_t i = 0; i < form->d_count; i++) {
        uint32_t slot = operation->list[i];
        uint32_t written = ~warp->undefined[slot];
        if (written != 0 && emu_tensor_checks_defined(warp)) {
            return report_written(warp, insn, operation, written, "D", i);
        }
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            unsigned element = half ? 2 * i : i;
            const uint32_t *cell = rows +
                                   (size_t)emu_fragment_row(lane, element) * form->n +
                                   emu_fragment_column(lane, element);
            emu_set(warp, slot, lane, half ? cell[0] | cell[1] << 16 : cell[0]);
        }
    }
    return true;
}

/* A of the operations that are over must be what it was. */
static bool check_a(struct emu_warp *warp, const struct emu_insn *insn,
                    struct emu_warpgroup *group, uint32_t target)
{
    unsigned own = warp->index % EMU_WARPGROUP_WARPS;
    for (const struct emu_wgmma_operation *operation = group->operations; operation != NULL;
         operation = operation->next) {
        if (operation->number > target || (operation->waited >> own & 1u) != 0) {
            continue;
        }
        const struct emu_wgmma_form *form = operation->insn->extra;
        for (unsigned i = 0; i < 4; i++) {
            const uint64_t *now = warp->r[operation->insn->list[form->d_count + i]];
            for (unsigned lane = 0; lane < EMU_LANES; lane++) {
                if ((uint32_t)now[lane] != operation->a[own][i][lane]) {
                    return report_written(warp, insn, operation->insn, 1u << lane, "A", i);
                }
            }
        }
    }
    return true;
}

/* Forgets operations that all four warps have waited for. */
static void pass_operations(struct emu_warp *warp, struct emu_warpgroup *group,
                            uint32_t target)
{
    struct emu_wgmma_operation **link = &group->operations;
    while (*link != NULL) {
        struct emu_wgmma_operation *operation = *link;
        if (operation->number <= target) {
            operation->waited |= 1u << warp->index % EMU_WARPGROUP_WARPS;
        }
        if (operation->waited == (1u << EMU_WARPGROUP_WARPS) - 1u) {
            *link = operation->next;
            emu_free(operation);
        } else {
            link = &operation->next;
        }
    }
}

enum emu_step emu_wgmma_exec_wait(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes)
{
    struct emu_tensor_warp *state = emu_tensor_warp_of(warp);
    struct emu_warpgroup *group = emu_warpgroup_of(warp);
    if (!emu_tensor_whole_warp(warp, insn, lanes)) {
        return EMU_FAILED;
    }
    if (group == NULL || state->group_count <= (uint64_t)insn->offset) {
        return EMU_NEXT;
    }
    unsigned over = state->group_count - (unsigned)insn->offset;
    uint32_t target = state->group_ends[over - 1];
    if (group->done < target) {
        return EMU_BLOCKED;
    }
    for (struct emu_wgmma_accumulator *accumulator = group->accumulators;
         accumulator != NULL; accumulator = accumulator->next) {
        uint32_t own = 1u << warp->index % EMU_WARPGROUP_WARPS;
        if (accumulator->last > target || (accumulator->delivered & own) != 0) {
            continue;
        }
        if (!deliver(warp, insn, accumulator)) {
            return EMU_FAILED;
        }
        accumulator->delivered |= own;
    }
    if (!check_a(warp, insn, group, target)) {
        return EMU_FAILED;
    }
    pass_operations(warp, group, target);
    state->group_count -= over;
    memmove(state->group_ends, state->group_ends + over,
            state->group_count * sizeof(*state->group_ends));
    state->fenced = false;
    if (emu_tensor_checks_races(warp)) {
        emu_clock_raise(&warp->sync.view.happened, group->agent, target);
        emu_clock_raise(&warp->sync.view.proxied, group->agent, target);
    }
    return EMU_NEXT;
}

/* ------------------------------------------------------------------------------ decode */

static bool decode_plain(struct emu_decoder *decoder, emu_exec exec)
{
    decoder->insn->exec = exec;
    if (!emu_take(decoder, "sync") || !decoder->insn->aligned) {
        return emu_decode_fail(decoder, "it lacks .sync.aligned");
    }
    return emu_need_operands(decoder, 0, 0);
}

bool emu_decode_wgmma_fence(struct emu_decoder *decoder)
{
    return decode_plain(decoder, exec_fence);
}

bool emu_decode_wgmma_commit(struct emu_decoder *decoder)
{
    return decode_plain(decoder, exec_commit);
}

void emu_wgmma_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                             struct emu_text *text)
{
    if (insn->exec != emu_wgmma_exec && insn->exec != emu_wgmma_exec_wait) {
        return;
    }
    const struct emu_warpgroup *group = emu_warpgroup_of(warp);
    if (insn->exec == emu_wgmma_exec_wait) {
        emu_text_add(text,
                     "          waits for wgmma groups: %u of %u operations are done\n",
                     group->done, group->issued);
        return;
    }
    emu_text_add(text, "          waits for its warpgroup; missing are warps");
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS; i++) {
        if ((group->arrived >> i & 1u) == 0) {
            emu_text_add(text, " %u", emu_warpgroup_warp(warp, i)->index);
        }
    }
    emu_text_add(text, "\n");
}
