/* SPDX-License-Identifier: MIT */
/* Accumulators of wgmma: registers that are out of the program's hands for a while. */
#include "tensor/wgmma.h"

/* What stands in an accumulator register while an operation is in flight. */
#define POISON 0xBAD0BAD0u

void emu_wgmma_free_accumulator(struct emu_wgmma_accumulator *accumulator)
{
    emu_free(accumulator->cells);
    emu_free(accumulator);
}

static bool same_registers(const struct emu_insn *a, const struct emu_insn *b)
{
    const struct emu_wgmma_form *a_form = a->extra;
    const struct emu_wgmma_form *b_form = b->extra;
    if (a_form->d != b_form->d || a_form->d_count != b_form->d_count) {
        return false;
    }
    for (uint32_t i = 0; i < a_form->d_count; i++) {
        if (a->list[i] != b->list[i]) {
            return false;
        }
    }
    return true;
}

static bool share_registers(const struct emu_insn *a, const struct emu_insn *b)
{
    const struct emu_wgmma_form *a_form = a->extra;
    const struct emu_wgmma_form *b_form = b->extra;
    for (uint32_t i = 0; i < a_form->d_count; i++) {
        for (uint32_t j = 0; j < b_form->d_count; j++) {
            if (a->list[i] == b->list[j]) {
                return true;
            }
        }
    }
    return false;
}

static void drop_delivered(struct emu_warpgroup *group)
{
    struct emu_wgmma_accumulator **link = &group->accumulators;
    while (*link != NULL) {
        struct emu_wgmma_accumulator *accumulator = *link;
        if (accumulator->delivered == EMU_WARPGROUP_ALL) {
            *link = accumulator->next;
            emu_wgmma_free_accumulator(accumulator);
        } else {
            link = &accumulator->next;
        }
    }
}

/* Registers of the accumulator that are defined were written while it was in flight. */
static bool check_untouched(struct emu_warp *warp, const struct emu_insn *insn)
{
    const struct emu_wgmma_form *form = insn->extra;
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS && emu_tensor_checks_defined(warp); i++) {
        struct emu_warp *other = emu_warpgroup_warp(warp, i);
        for (uint32_t j = 0; j < form->d_count; j++) {
            uint32_t touched = ~other->undefined[insn->list[j]];
            if (touched != 0) {
                emu_report_error(other, insn, emu_lowest_bit(touched),
                                 EMU_FINDING_IN_FLIGHT,
                                 "accumulator register %u was written while a wgmma on it "
                                 "was in flight",
                                 j);
                return false;
            }
        }
    }
    return true;
}

/* The accumulator that is in flight on these registers; *ret_found NULL: none. */
bool emu_wgmma_find_accumulator(struct emu_warp *warp, const struct emu_insn *insn,
                                struct emu_warpgroup *group,
                                struct emu_wgmma_accumulator **ret_found)
{
    drop_delivered(group);
    *ret_found = NULL;
    for (struct emu_wgmma_accumulator *accumulator = group->accumulators;
         accumulator != NULL; accumulator = accumulator->next) {
        bool same = same_registers(accumulator->insn, insn);
        if (!same && !share_registers(accumulator->insn, insn)) {
            continue;
        }
        if (accumulator->delivered != 0) {
            emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_DIVERGENCE,
                             "some warps of the warpgroup have waited for the wgmma before "
                             "on these registers (mask %x), others have not",
                             accumulator->delivered);
            return false;
        }
        if (!same) {
            emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_IN_FLIGHT,
                             "the accumulator shares registers with one of another shape "
                             "that is in flight");
            return false;
        }
        *ret_found = accumulator;
        return check_untouched(warp, insn);
    }
    return true;
}

/* Takes the values of one warp's registers into its 16 rows. */
static bool load_rows(struct emu_warp *warp, const struct emu_insn *insn, uint32_t *rows)
{
    const struct emu_wgmma_form *form = insn->extra;
    bool half = form->d == EMU_F16;
    for (uint32_t i = 0; i < form->d_count; i++) {
        if (!emu_need_defined(warp, insn, EMU_ALL_LANES, insn->list[i],
                              "D, which scale-d asks for")) {
            return false;
        }
        const uint64_t *values = warp->r[insn->list[i]];
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            unsigned element = half ? 2 * i : i;
            uint32_t *cell = rows + (size_t)emu_fragment_row(lane, element) * form->n +
                             emu_fragment_column(lane, element);
            cell[0] = (uint32_t)values[lane];
            if (half) {
                cell[0] &= 0xFFFFu;
                cell[1] = (uint32_t)values[lane] >> 16;
            }
        }
    }
    return true;
}

static void make_undefined(struct emu_warp *warp, const struct emu_insn *insn)
{
    const struct emu_wgmma_form *form = insn->extra;
    for (uint32_t i = 0; i < form->d_count; i++) {
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            warp->r[insn->list[i]][lane] = POISON;
        }
        warp->undefined[insn->list[i]] = EMU_ALL_LANES;
    }
}

struct emu_wgmma_accumulator *emu_wgmma_start_accumulator(struct emu_warp *warp,
                                                          const struct emu_insn *insn,
                                                          struct emu_warpgroup *group,
                                                          bool accumulate)
{
    const struct emu_wgmma_form *form = insn->extra;
    struct emu_wgmma_accumulator *accumulator = emu_alloc(sizeof(*accumulator));
    accumulator->insn = insn;
    accumulator->cells = emu_alloc((size_t)EMU_WGMMA_M * form->n * sizeof(uint32_t));
    accumulator->next = group->accumulators;
    group->accumulators = accumulator;
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS; i++) {
        struct emu_warp *other = emu_warpgroup_warp(warp, i);
        if (accumulate &&
            !load_rows(other, insn, accumulator->cells + (size_t)i * 16 * form->n)) {
            return NULL;
        }
        make_undefined(other, insn);
    }
    return accumulator;
}
