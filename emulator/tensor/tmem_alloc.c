/* SPDX-License-Identifier: MIT */
/* tcgen05.alloc, .dealloc and .relinquish_alloc_permit. */
#include "exec/events.h"
#include "tensor/access.h"
#include "tensor/engine.h"
#include "tensor/opcodes.h"
#include "tensor/tmem.h"

struct alloc_form {
    unsigned cta_group;
    enum emu_space space; /* where alloc writes the address */
    int64_t offset;
};

/* The size operand, legal and the same in all lanes. */
static bool get_columns(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                        uint32_t *ret_columns)
{
    uint64_t columns = 0;
    if (!emu_uniform_value(warp, insn, lanes, insn->src[1], "number of columns",
                           &columns)) {
        return false;
    }
    if (columns < EMU_TMEM_UNIT || columns > EMU_TMEM_COLUMNS ||
        !emu_is_power_of_2(columns)) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_TENSOR_MEMORY,
                         "%llu columns; it must be a power of 2 from %u to %u",
                         (unsigned long long)columns, EMU_TMEM_UNIT, EMU_TMEM_COLUMNS);
        return false;
    }
    *ret_columns = (uint32_t)columns;
    return true;
}

/* ------------------------------------------------------------------------ pairs of CTAs */

static struct emu_pair_rendezvous *find_rendezvous(struct emu_warp *warp)
{
    struct emu_cta *leader = emu_cluster_cta(warp->cta->cluster, warp->cta->rank & ~1u);
    return &emu_tensor_cta_of(leader)->rendezvous;
}

/*
 * The warp and one of the peer CTA do this together. The first that comes waits; the second
 * finds both here and acts for both.
 */
enum pair_step { PAIR_WAITS, PAIR_DONE, PAIR_HERE, PAIR_FAILED };

static enum pair_step meet(struct emu_warp *warp, const struct emu_insn *insn,
                           uint32_t address, uint32_t columns)
{
    struct emu_tensor_warp *state = emu_tensor_warp_of(warp);
    if (state->rendezvous == EMU_RENDEZVOUS_DONE) {
        state->rendezvous = EMU_RENDEZVOUS_NONE;
        return PAIR_DONE;
    }
    struct emu_pair_rendezvous *rendezvous = find_rendezvous(warp);
    unsigned own = warp->cta->rank & 1u;
    if (state->rendezvous == EMU_RENDEZVOUS_NONE) {
        if (rendezvous->warps[own] != NULL) {
            return PAIR_WAITS; /* for another warp of this CTA */
        }
        state->rendezvous = EMU_RENDEZVOUS_WAITS;
        rendezvous->warps[own] = warp;
        rendezvous->insns[own] = insn;
        rendezvous->address[own] = address;
        rendezvous->columns[own] = columns;
        emu_note_event(warp);
    }
    if (rendezvous->warps[own ^ 1u] == NULL) {
        return PAIR_WAITS;
    }
    const struct emu_insn *other = rendezvous->insns[own ^ 1u];
    if (other->exec != insn->exec || rendezvous->columns[0] != rendezvous->columns[1] ||
        rendezvous->address[0] != rendezvous->address[1]) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_TENSOR_MEMORY,
                         "the two CTAs of the pair do not agree: CTA %u does %s with %u "
                         "columns, its peer %s with %u",
                         warp->cta->rank, insn->source->opcode, rendezvous->columns[own],
                         other->source->opcode, rendezvous->columns[own ^ 1u]);
        return PAIR_FAILED;
    }
    return PAIR_HERE;
}

/* Lets the peer's warp go on with the result. */
static void part(struct emu_warp *warp, uint32_t column)
{
    struct emu_pair_rendezvous *rendezvous = find_rendezvous(warp);
    struct emu_tensor_warp *other =
        emu_tensor_warp_of(rendezvous->warps[(warp->cta->rank & 1u) ^ 1u]);
    other->rendezvous = EMU_RENDEZVOUS_DONE;
    other->met_column = column;
    emu_tensor_warp_of(warp)->rendezvous = EMU_RENDEZVOUS_NONE;
    *rendezvous = (struct emu_pair_rendezvous){0};
    emu_note_event(warp);
}

/* ------------------------------------------------------------------------------- alloc */

static bool check_permit(struct emu_warp *warp, const struct emu_insn *insn,
                         uint32_t columns)
{
    const struct emu_tmem *tmem = emu_tmem_of(warp->cta);
    if (tmem->relinquished) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_TENSOR_MEMORY,
                         "tcgen05.alloc after the CTA executed "
                         "tcgen05.relinquish_alloc_permit");
        return false;
    }
    if (tmem->last_columns != 0 && columns > tmem->last_columns) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_TENSOR_MEMORY,
                         "%u columns after an allocation of %u: sizes must not grow within "
                         "a CTA",
                         columns, tmem->last_columns);
        return false;
    }
    return true;
}

static enum emu_step write_address(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint64_t address, uint32_t column)
{
    const struct alloc_form *form = insn->extra;
    enum emu_space space = form->space;
    if (space == EMU_SPACE_GENERIC) {
        emu_classify(address, &space, &address);
        if (space != EMU_SPACE_SHARED && space != EMU_SPACE_SHARED_CLUSTER) {
            return emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_ILLEGAL,
                                    "the address 0x%llx is not in shared memory",
                                    (unsigned long long)address);
        }
    }
    /* All lanes may read it afterwards without further ado. */
    emu_sync_lanes(&warp->sync);
    const struct emu_actor actor = emu_actor_of_lane(warp, insn, 0);
    bool good = emu_write(&actor, EMU_SPACE_SHARED, (uint32_t)address, sizeof(column),
                          &column, NULL);
    emu_sync_lanes(&warp->sync);
    return good ? EMU_NEXT : EMU_FAILED;
}

static enum emu_step exec_alloc(struct emu_warp *warp, const struct emu_insn *insn,
                                uint32_t lanes)
{
    const struct alloc_form *form = insn->extra;
    struct emu_tensor_warp *state = emu_tensor_warp_of(warp);
    uint64_t address = 0;
    uint32_t columns = 0;
    if (!emu_tensor_whole_warp(warp, insn, lanes) ||
        !emu_uniform_value(warp, insn, lanes, insn->src[0], "address", &address) ||
        !get_columns(warp, insn, lanes, &columns)) {
        return EMU_FAILED;
    }
    address += (uint64_t)form->offset;
    if (state->rendezvous != EMU_RENDEZVOUS_DONE &&
        (!emu_tensor_check_group(warp, insn, EMU_LANES, form->cta_group) ||
         !check_permit(warp, insn, columns))) {
        return EMU_FAILED;
    }
    if (form->cta_group == 2) {
        switch (meet(warp, insn, 0, columns)) {
        case PAIR_WAITS:
            return EMU_BLOCKED;
        case PAIR_DONE:
            return write_address(warp, insn, address, state->met_column);
        case PAIR_FAILED:
            return EMU_FAILED;
        case PAIR_HERE:
            break;
        }
    }
    struct emu_cta *ctas[2];
    unsigned count = emu_tensor_ctas(warp->cta, form->cta_group, ctas);
    uint32_t column = 0;
    if (!emu_tmem_find_place(ctas, count, columns, &column)) {
        for (unsigned i = 0; i < count && emu_tmem_count_others(ctas[i]) > 0; i++) {
            warp->cta->cluster->waits_for_grid = true;
        }
        return EMU_BLOCKED;
    }
    for (unsigned i = 0; i < count; i++) {
        emu_tmem_take(ctas[i], column, columns);
    }
    if (form->cta_group == 2) {
        part(warp, column);
    }
    return write_address(warp, insn, address, column);
}

bool emu_decode_tmem_alloc(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct alloc_form *form = emu_decode_alloc(decoder, sizeof(*form));
    insn->extra = form;
    insn->exec = exec_alloc;
    decoder->program->allocates_tensor_memory = true;
    if (!emu_take(decoder, "sync") || !emu_take(decoder, "b32")) {
        return emu_decode_fail(decoder, "it lacks .sync or .b32");
    }
    form->space = emu_take(decoder, "shared::cta") ? EMU_SPACE_SHARED : EMU_SPACE_GENERIC;
    return emu_tensor_take_group(decoder, &form->cta_group) &&
           emu_need_operands(decoder, 2, 2) &&
           emu_operand_address(decoder, emu_operand(decoder, 0), &insn->src[0],
                               &form->offset) &&
           emu_operand_src(decoder, emu_operand(decoder, 1), 32, &insn->src[1]);
}

/* ----------------------------------------------------------------------------- dealloc */

/* Nobody may still use the columns, neither an operation in flight nor another warp. */
static bool check_unused(struct emu_warp *warp, const struct emu_insn *insn,
                         struct emu_cta *cta, uint32_t column, uint32_t columns)
{
    const struct emu_tensor_op *op = emu_tensor_find_op(cta, column, columns);
    const struct emu_insn *other = op != NULL ? op->insn : NULL;
    for (unsigned i = 0; other == NULL && i < cta->warp_count; i++) {
        other = emu_access_find(&cta->warps[i], column, columns);
    }
    if (other != NULL) {
        struct emu_text location = {0};
        ptx_describe_location(emu_launch_of(cta)->program->module, &other->source->location,
                              &location);
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_IN_FLIGHT,
                         "tensor memory of CTA %u is freed while %s at %s has not been "
                         "waited for",
                         cta->rank, other->source->opcode, emu_text_get(&location));
        emu_text_free(&location);
        return false;
    }
    /* Whatever happened before is over: freeing needs no tcgen05.fence. */
    struct emu_view view = warp->sync.view;
    view.tensor = warp->sync.view.happened;
    const struct emu_actor actor = {.warp = warp,
                                    .insn = insn,
                                    .lane = EMU_LANES,
                                    .agent = warp->sync.agent,
                                    .epoch = warp->sync.epoch,
                                    .view = &view};
    emu_tmem_note(&actor, cta, 0, EMU_TMEM_LANES, column, columns, true);
    return true;
}

static enum emu_step exec_dealloc(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes)
{
    const struct alloc_form *form = insn->extra;
    uint64_t address = 0;
    uint32_t columns = 0;
    if (!emu_tensor_whole_warp(warp, insn, lanes) ||
        !emu_uniform_value(warp, insn, lanes, insn->src[0], "tensor memory address",
                           &address) ||
        !get_columns(warp, insn, lanes, &columns)) {
        return EMU_FAILED;
    }
    if (emu_tensor_warp_of(warp)->rendezvous != EMU_RENDEZVOUS_DONE) {
        if (!emu_tensor_check_group(warp, insn, EMU_LANES, form->cta_group)) {
            return EMU_FAILED;
        }
        const struct emu_tmem *tmem = emu_tmem_of(warp->cta);
        if (address >= EMU_TMEM_COLUMNS || address % EMU_TMEM_UNIT != 0 ||
            tmem->block_columns[address / EMU_TMEM_UNIT] != columns) {
            return emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_TENSOR_MEMORY,
                                    "no allocation of %u columns begins at 0x%08llx",
                                    columns, (unsigned long long)address);
        }
    }
    if (form->cta_group == 2) {
        switch (meet(warp, insn, (uint32_t)address, columns)) {
        case PAIR_WAITS:
            return EMU_BLOCKED;
        case PAIR_DONE:
            return EMU_NEXT;
        case PAIR_FAILED:
            return EMU_FAILED;
        case PAIR_HERE:
            break;
        }
    }
    struct emu_cta *ctas[2];
    unsigned count = emu_tensor_ctas(warp->cta, form->cta_group, ctas);
    for (unsigned i = 0; i < count; i++) {
        /* Each warp answers for the users of its own CTA. */
        struct emu_warp *freer =
            ctas[i] == warp->cta ? warp : find_rendezvous(warp)->warps[ctas[i]->rank & 1u];
        if (!check_unused(freer, insn, ctas[i], (uint32_t)address, columns)) {
            return EMU_FAILED;
        }
        emu_tmem_give(ctas[i], (uint32_t)address, columns);
    }
    if (form->cta_group == 2) {
        part(warp, 0);
    }
    emu_note_event(warp);
    return EMU_NEXT;
}

bool emu_decode_tmem_dealloc(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct alloc_form *form = emu_decode_alloc(decoder, sizeof(*form));
    insn->extra = form;
    insn->exec = exec_dealloc;
    if (!emu_take(decoder, "sync") || !emu_take(decoder, "b32")) {
        return emu_decode_fail(decoder, "it lacks .sync or .b32");
    }
    return emu_tensor_take_group(decoder, &form->cta_group) &&
           emu_need_operands(decoder, 2, 2) &&
           emu_operand_src(decoder, emu_operand(decoder, 0), 32, &insn->src[0]) &&
           emu_operand_src(decoder, emu_operand(decoder, 1), 32, &insn->src[1]);
}

/* -------------------------------------------------------------------------- relinquish */

static enum emu_step exec_relinquish(struct emu_warp *warp, const struct emu_insn *insn,
                                     uint32_t lanes)
{
    const struct alloc_form *form = insn->extra;
    if (!emu_tensor_whole_warp(warp, insn, lanes) ||
        !emu_tensor_check_group(warp, insn, EMU_LANES, form->cta_group)) {
        return EMU_FAILED;
    }
    emu_tmem_of(warp->cta)->relinquished = true;
    return EMU_NEXT;
}

bool emu_decode_tmem_relinquish(struct emu_decoder *decoder)
{
    struct alloc_form *form = emu_decode_alloc(decoder, sizeof(*form));
    decoder->insn->extra = form;
    decoder->insn->exec = exec_relinquish;
    if (!emu_take(decoder, "sync")) {
        return emu_decode_fail(decoder, "it lacks .sync");
    }
    return emu_tensor_take_group(decoder, &form->cta_group) &&
           emu_need_operands(decoder, 0, 0);
}

/* ------------------------------------------------------------------------------- report */

void emu_tmem_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                            struct emu_text *text)
{
    if (insn->exec != exec_alloc && insn->exec != exec_dealloc) {
        return;
    }
    const struct emu_pair_rendezvous *rendezvous = find_rendezvous(warp);
    unsigned own = warp->cta->rank & 1u;
    if (rendezvous->warps[own] == warp && rendezvous->warps[own ^ 1u] == NULL) {
        emu_text_add(text, "          waits for a warp of CTA %u to execute the same\n",
                     warp->cta->rank ^ 1u);
    } else {
        emu_text_add(
            text,
            "          waits for columns: %u of %u are allocated, %u more by other "
            "CTAs on the multiprocessor\n",
            emu_tmem_count_taken(emu_tmem_of(warp->cta)), EMU_TMEM_COLUMNS,
            emu_tmem_count_others(warp->cta));
    }
}
