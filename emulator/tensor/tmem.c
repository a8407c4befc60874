/* SPDX-License-Identifier: MIT */
/* Tensor memory: places of allocations, and the checks of every access. */
#include "tensor/tmem.h"

#include <string.h>

#include "tensor/scale_origin.h"

#define GROUP_LANES 16u
#define CELL_BYTES  4u

/* Where the watched cell of 16 lanes lies in the shadow. */
static uint64_t find_byte(uint32_t group, uint32_t column)
{
    return ((uint64_t)group * EMU_TMEM_COLUMNS + column) * CELL_BYTES;
}

struct emu_tmem *emu_tmem_of(struct emu_cta *cta)
{
    struct emu_tensor_cta *state = emu_tensor_cta_of(cta);
    if (state->tmem == NULL) {
        state->tmem = emu_alloc(sizeof(*state->tmem));
        if (emu_launch_of(cta)->settings.races) {
            state->tmem->shadow = emu_shadow_create(
                (uint64_t)(EMU_TMEM_LANES / GROUP_LANES) * EMU_TMEM_COLUMNS * CELL_BYTES);
        }
    }
    return state->tmem;
}

void emu_tmem_free(struct emu_tmem *tmem)
{
    if (tmem != NULL) {
        emu_shadow_free(tmem->shadow);
        emu_scale_cells_free(tmem->scales);
        emu_free(tmem);
    }
}

/* ------------------------------------------------------------------------ allocations */

static bool is_free(struct emu_cta *cta, uint32_t unit, uint32_t units)
{
    const struct emu_tmem *tmem = emu_tmem_of(cta);
    for (uint32_t i = unit; i < unit + units; i++) {
        if (tmem->taken[i] || (cta->sm != NULL && (cta->sm->tensor_units >> i & 1) != 0)) {
            return false;
        }
    }
    return true;
}

/* Where to look first: the lowest columns are nobody's right. Where all are free the seed
 * draws one of the places, so that an address that was never read is wrong; otherwise from
 * the beginning, as that leaves the largest pieces. */
static uint32_t first_unit(struct emu_cta *const *ctas, unsigned count, uint32_t units)
{
    const struct emu_cluster *cluster = ctas[0]->cluster;
    if (cluster->grid->launch.settings.lowest_columns) {
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!is_free(ctas[i], 0, EMU_TMEM_UNITS)) {
            return 0;
        }
    }
    const uint64_t drawn =
        emu_mix(cluster->grid->launch.settings.seed, ~(cluster->index + ctas[0]->rank));
    return (uint32_t)(drawn % (EMU_TMEM_UNITS / units)) * units;
}

bool emu_tmem_find_place(struct emu_cta *const *ctas, unsigned count, uint32_t columns,
                         uint32_t *ret_column)
{
    uint32_t units = columns / EMU_TMEM_UNIT;
    const uint32_t begin = first_unit(ctas, count, units);
    for (uint32_t passed = 0; passed + units <= EMU_TMEM_UNITS; passed += units) {
        const uint32_t unit = (begin + passed) % EMU_TMEM_UNITS;
        if (is_free(ctas[0], unit, units) &&
            (count == 1 || is_free(ctas[1], unit, units))) {
            *ret_column = unit * EMU_TMEM_UNIT;
            return true;
        }
    }
    return false;
}

/* New columns hold nothing, whatever their former users left and did. */
static void clear_columns(struct emu_tmem *tmem, uint32_t column, uint32_t columns)
{
    for (uint32_t lane = 0; lane < EMU_TMEM_LANES; lane++) {
        memset(&tmem->defined[lane][column], EMU_UNDEFINED, columns);
        memset(&tmem->cells[lane][column], 0xDB, columns * sizeof(tmem->cells[0][0]));
    }
    for (uint32_t group = 0; tmem->shadow != NULL && group < EMU_TMEM_LANES / GROUP_LANES;
         group++) {
        emu_shadow_forget(tmem->shadow, find_byte(group, column),
                          (uint64_t)columns * CELL_BYTES);
    }
}

/* The bits of these columns in a multiprocessor's mask. */
static uint32_t find_units(uint32_t column, uint32_t columns)
{
    return ((1u << columns / EMU_TMEM_UNIT) - 1) << column / EMU_TMEM_UNIT;
}

void emu_tmem_take(struct emu_cta *cta, uint32_t column, uint32_t columns)
{
    struct emu_tmem *tmem = emu_tmem_of(cta);
    for (uint32_t i = 0; i < columns / EMU_TMEM_UNIT; i++) {
        tmem->taken[column / EMU_TMEM_UNIT + i] = true;
    }
    if (cta->sm != NULL) {
        cta->sm->tensor_units |= find_units(column, columns);
    }
    tmem->block_columns[column / EMU_TMEM_UNIT] = columns;
    tmem->last_columns = columns;
    clear_columns(tmem, column, columns);
}

void emu_tmem_give(struct emu_cta *cta, uint32_t column, uint32_t columns)
{
    struct emu_tmem *tmem = emu_tmem_of(cta);
    if (cta->sm != NULL) {
        cta->sm->tensor_units &= ~find_units(column, columns);
    }
    for (uint32_t i = 0; i < columns / EMU_TMEM_UNIT; i++) {
        tmem->taken[column / EMU_TMEM_UNIT + i] = false;
    }
    tmem->block_columns[column / EMU_TMEM_UNIT] = 0;
}

uint32_t emu_tmem_count_taken(const struct emu_tmem *tmem)
{
    uint32_t columns = 0;
    for (uint32_t i = 0; i < EMU_TMEM_UNITS; i++) {
        columns += tmem->taken[i] ? EMU_TMEM_UNIT : 0;
    }
    return columns;
}

uint32_t emu_tmem_count_others(struct emu_cta *cta)
{
    if (cta->sm == NULL) {
        return 0;
    }
    return emu_count_bits(cta->sm->tensor_units) * EMU_TMEM_UNIT -
           emu_tmem_count_taken(emu_tmem_of(cta));
}

/* ----------------------------------------------------------------------------- checks */

bool emu_tmem_check(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                    struct emu_cta *cta, uint32_t column, uint32_t columns,
                    const char *access_name)
{
    if (column + columns > EMU_TMEM_COLUMNS) {
        emu_report_error(warp, insn, lane, EMU_FINDING_OUT_OF_BOUNDS,
                         "%s: columns %u to %u of tensor memory, which has %u", access_name,
                         column, column + columns - 1, EMU_TMEM_COLUMNS);
        return false;
    }
    const struct emu_tmem *tmem = emu_tmem_of(cta);
    for (uint32_t i = column; i < column + columns; i++) {
        if (!tmem->taken[i / EMU_TMEM_UNIT]) {
            emu_report_error(warp, insn, lane, EMU_FINDING_TENSOR_MEMORY,
                             "%s: column %u of the tensor memory of CTA %u is not "
                             "allocated (it takes columns %u to %u)",
                             access_name, i, cta->rank, column, column + columns - 1);
            return false;
        }
    }
    return true;
}

bool emu_tmem_need_defined(const struct emu_actor *actor, struct emu_cta *cta,
                           uint32_t first_lane, uint32_t lanes, uint32_t column,
                           uint32_t columns, const char *access_name)
{
    if (!emu_tensor_checks_defined(actor->warp)) {
        return true;
    }
    const struct emu_tmem *tmem = emu_tmem_of(cta);
    for (uint32_t lane = first_lane; lane < first_lane + lanes; lane++) {
        const uint8_t *row = &tmem->defined[lane][column];
        const uint8_t *bad = memchr(row, EMU_UNDEFINED, columns);
        if (bad != NULL) {
            emu_report_error(actor->warp, actor->insn, actor->lane, EMU_FINDING_UNDEFINED,
                             "%s: lane %u, column %u of the tensor memory of CTA %u is "
                             "undefined",
                             access_name, lane, column + (uint32_t)(bad - row), cta->rank);
            return false;
        }
    }
    return true;
}

static void report_conflict(const struct emu_actor *actor, const struct emu_cta *cta,
                            const struct emu_conflict *conflict)
{
    const struct emu_program *program = emu_launch_of(cta)->program;
    bool fence = conflict->kind == EMU_CONFLICT_TENSOR_FENCE;
    enum emu_finding finding = fence ? EMU_FINDING_TENSOR_FENCE : EMU_FINDING_RACE;
    enum emu_severity severity = !conflict->tolerated ? EMU_ERROR
                                 : fence              ? EMU_WARNING
                                                      : EMU_ADVICE;
    if (emu_report_again(actor->warp, actor->insn, severity, finding)) {
        return;
    }
    uint32_t cell = (uint32_t)(conflict->byte / CELL_BYTES);
    uint32_t lane = cell / EMU_TMEM_COLUMNS * GROUP_LANES;
    const struct emu_insn *other = &program->insns[conflict->other.insn];
    struct emu_text location = {0};
    ptx_describe_location(program->module, &other->source->location, &location);
    struct emu_text text = {0};
    emu_text_add(
        &text,
        "lanes %u-%u, column %u of the tensor memory of CTA %u: this %s is not ordered "
        "after the %s by %s at %s",
        lane, lane + GROUP_LANES - 1, cell % EMU_TMEM_COLUMNS, cta->rank,
        conflict->is_write ? "write" : "read", conflict->was_write ? "write" : "read",
        other->source->opcode, emu_text_get(&location));
    if (fence) {
        emu_text_add(&text, ": there is synchronisation between them, but no "
                            "tcgen05.fence::after_thread_sync (and ::before_thread_sync or "
                            "tcgen05.commit on the other side)");
    } else if (conflict->tolerated) {
        emu_text_add(&text, ": what orders them works, but is not promised (a relaxed "
                            "barrier.cluster.arrive, or the registers of a tcgen05.ld that "
                            "were read)");
    }
    emu_report(actor->warp, actor->insn, actor->lane, severity, finding, "%s",
               emu_text_get(&text));
    emu_text_free(&location);
    emu_text_free(&text);
}

void emu_tmem_note(const struct emu_actor *actor, struct emu_cta *cta, uint32_t first_lane,
                   uint32_t lanes, uint32_t column, uint32_t columns, bool write)
{
    struct emu_shadow *shadow = emu_tmem_of(cta)->shadow;
    if (write) {
        emu_scale_cells_forget(emu_tmem_of(cta), first_lane, lanes, column, columns);
    }
    if (shadow == NULL) {
        return;
    }
    struct emu_accessor who = {.agent = actor->agent,
                               .epoch = actor->epoch,
                               .lane = EMU_LANE_ASYNC,
                               .proxy = EMU_PROXY_TENSOR,
                               .insn = actor->insn->index,
                               .view = actor->view};
    uint32_t last = (first_lane + lanes - 1) / GROUP_LANES;
    for (uint32_t group = first_lane / GROUP_LANES; group <= last; group++) {
        struct emu_conflict conflict;
        if (!emu_shadow_access(shadow, find_byte(group, column),
                               (uint64_t)columns * CELL_BYTES, write, &who, &conflict)) {
            report_conflict(actor, cta, &conflict);
        }
    }
}
