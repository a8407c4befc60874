/* SPDX-License-Identifier: MIT */
/* griddepcontrol and setmaxnreg. */
#include <inttypes.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"
#include "exec/events.h"

/* -------------------------------------------------------------------- dependent launch */

static enum emu_step exec_grid_wait(struct emu_warp *warp, const struct emu_insn *insn,
                                    uint32_t lanes)
{
    const struct emu_launch *launch = emu_launch_of(warp->cta);
    (void)insn;
    (void)lanes;
    if (launch->predecessor_done == NULL ||
        launch->predecessor_done(launch->predecessor_context)) {
        warp->sync.view.behind_grid = true;
        return EMU_NEXT;
    }
    warp->cta->cluster->waits_for_grid = true;
    return EMU_BLOCKED;
}

void emu_dependents_allowed(struct emu_grid *grid, uint64_t count)
{
    const uint32_t *size = grid->launch.grid;
    pthread_mutex_lock(&grid->lock);
    grid->dependents_launched += count;
    bool all = grid->dependents_launched == (uint64_t)size[0] * size[1] * size[2];
    pthread_mutex_unlock(&grid->lock);
    if (all && grid->launch.launch_dependents != NULL) {
        grid->launch.launch_dependents(grid->launch.dependents_context);
    }
}

static enum emu_step exec_launch_dependents(struct emu_warp *warp,
                                            const struct emu_insn *insn, uint32_t lanes)
{
    struct emu_async_cta *state = emu_async_of_cta(warp->cta);
    (void)insn;
    (void)lanes;
    if (!state->allowed_dependents) {
        state->allowed_dependents = true;
        __atomic_store_n(&warp->cta->cluster->grid->triggered, true, __ATOMIC_RELAXED);
        emu_dependents_allowed(warp->cta->cluster->grid, 1);
        emu_note_event(warp);
    }
    return EMU_NEXT;
}

bool emu_decode_grid_control(struct emu_decoder *decoder)
{
    if (emu_take(decoder, "wait")) {
        decoder->insn->exec = exec_grid_wait;
    } else if (emu_take(decoder, "launch_dependents")) {
        decoder->insn->exec = exec_launch_dependents;
    } else {
        return emu_decode_fail(decoder, "neither .wait nor .launch_dependents");
    }
    return emu_need_operands(decoder, 0, 0);
}

/* --------------------------------------------------------------------------- registers */

#define WARPGROUP 4u

enum { INCREASE = 1 }; /* insn->mode; insn->offset: the new count */

/*
 * Registers that a warp gives back belong to its CTA; a warp that asks for more waits until
 * there are enough. Where the launch does not say how many there are, nothing blocks.
 */
static enum emu_step exec_registers(struct emu_warp *warp, const struct emu_insn *insn,
                                    uint32_t lanes)
{
    struct emu_async_warp *state = emu_async_of_warp(warp);
    struct emu_async_cta *cta = emu_async_of_cta(warp->cta);
    uint32_t count = (uint32_t)insn->offset;
    bool increase = (insn->mode & INCREASE) != 0;
    (void)lanes;
    if (state->registers != 0) {
        if (increase ? count < state->registers : count > state->registers) {
            return emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_ILLEGAL,
                                    "setmaxnreg.%s to %u, but the warp has %u registers a "
                                    "thread",
                                    increase ? "inc" : "dec", count, state->registers);
        }
        uint32_t change =
            (increase ? count - state->registers : state->registers - count) * EMU_LANES;
        if (increase && change > cta->free_registers) {
            return EMU_BLOCKED;
        }
        cta->free_registers += increase ? 0u - change : change;
    }
    if (state->registers != 0 || emu_launch_of(warp->cta)->registers_per_thread != 0) {
        state->registers = count;
    }
    state->register_changes++;
    state->last_register_change = count;
    emu_note_event(warp);
    return EMU_NEXT;
}

bool emu_registers_cta_exited(struct emu_cta *cta)
{
    for (unsigned i = 0; i < cta->warp_count; i++) {
        struct emu_warp *warp = &cta->warps[i];
        const struct emu_async_warp *first =
            emu_async_of_warp(&cta->warps[(size_t)(i / WARPGROUP) * WARPGROUP]);
        const struct emu_async_warp *state = emu_async_of_warp(warp);
        if (state->register_changes == first->register_changes &&
            state->last_register_change == first->last_register_change) {
            continue;
        }
        const struct emu_program *program = emu_launch_of(cta)->program;
        for (uint32_t j = 0; j < program->insn_count; j++) {
            if (program->insns[j].exec == exec_registers) {
                emu_report_error(
                    warp, &program->insns[j], EMU_LANES, EMU_FINDING_ILLEGAL,
                    "setmaxnreg: warp %u executed it %u times and warp %u of "
                    "the same warpgroup %u times, the last with %u and %u; all "
                    "warps of a warpgroup must execute the same ones",
                    i, state->register_changes, i / WARPGROUP * WARPGROUP,
                    first->register_changes, state->last_register_change,
                    first->last_register_change);
                return false;
            }
        }
    }
    return true;
}

bool emu_registers_describe(struct emu_warp *warp, const struct emu_insn *insn,
                            struct emu_text *text)
{
    if (insn->exec == exec_grid_wait) {
        emu_text_add(text, "waits for the grid before this one");
        return true;
    }
    if (insn->exec != exec_registers) {
        return false;
    }
    const struct emu_async_warp *state = emu_async_of_warp(warp);
    emu_text_add(text,
                 "waits for %" PRIu32 " registers of the CTA (from %u to %u a thread); "
                 "%u are free",
                 ((uint32_t)insn->offset - state->registers) * EMU_LANES, state->registers,
                 (uint32_t)insn->offset, emu_async_of_cta(warp->cta)->free_registers);
    return true;
}

bool emu_decode_registers(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    insn->exec = exec_registers;
    insn->mode = emu_take(decoder, "inc") ? INCREASE : 0;
    if (insn->mode == 0 && !emu_take(decoder, "dec")) {
        return emu_decode_fail(decoder, "neither .inc nor .dec");
    }
    if (!emu_take(decoder, "sync") || !insn->aligned || !emu_take(decoder, "u32")) {
        return emu_decode_fail(decoder, "it must be .sync.aligned.u32");
    }
    if (!emu_need_operands(decoder, 1, 1) ||
        !emu_operand_integer(decoder, emu_operand(decoder, 0), &insn->offset)) {
        return false;
    }
    if (insn->offset < 24 || insn->offset > 256 || insn->offset % 8 != 0) {
        return emu_decode_fail(decoder,
                               "%" PRId64 " registers; legal are multiples of 8 "
                               "from 24 to 256",
                               insn->offset);
    }
    return true;
}
