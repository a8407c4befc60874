/* SPDX-License-Identifier: MIT */
/*
 * wgmma.mma_async. The four warps of a warpgroup meet at the instruction; the last one to
 * come issues the operation, which reads shared memory and computes at a later step.
 */
#include "tensor/wgmma.h"

#include "exec/events.h"
#include "exec/timing.h"
#include "tensor/unvalidated.h"

/* --------------------------------------------------------------------------- warpgroup */

struct emu_warpgroup *emu_warpgroup_of(struct emu_warp *warp)
{
    struct emu_tensor_cta *state = emu_tensor_cta_of(warp->cta);
    unsigned index = warp->index / EMU_WARPGROUP_WARPS;
    unsigned count = warp->cta->warp_count / EMU_WARPGROUP_WARPS;
    if (index >= count) {
        return NULL;
    }
    if (state->warpgroups == NULL) {
        state->warpgroups = emu_alloc(count * sizeof(*state->warpgroups));
        for (unsigned i = 0; i < count; i++) {
            state->warpgroups[i].chain = emu_async_chain(warp->cta->cluster);
            if (emu_tensor_checks_races(warp)) {
                state->warpgroups[i].agent = emu_cluster_agent(warp->cta->cluster);
            }
        }
    }
    return &state->warpgroups[index];
}

void emu_wgmma_free(struct emu_cta *cta)
{
    struct emu_tensor_cta *state = emu_tensor_cta_of(cta);
    unsigned count = cta->warp_count / EMU_WARPGROUP_WARPS;
    for (unsigned i = 0; state->warpgroups != NULL && i < count; i++) {
        struct emu_warpgroup *group = &state->warpgroups[i];
        while (group->accumulators != NULL) {
            struct emu_wgmma_accumulator *accumulator = group->accumulators;
            group->accumulators = accumulator->next;
            emu_wgmma_free_accumulator(accumulator);
        }
        while (group->operations != NULL) {
            struct emu_wgmma_operation *operation = group->operations;
            group->operations = operation->next;
            emu_free(operation);
        }
    }
    emu_free(state->warpgroups);
}

/* --------------------------------------------------------------------- the computation */

struct wgmma_task {
    struct emu_warpgroup *group;
    struct emu_wgmma_accumulator *accumulator;
    const struct emu_wgmma_operation *operation; /* A in registers, or NULL */
    struct emu_tile a, b;
    bool accumulate;
    uint32_t number;
};

static void get_a_from_registers(const struct emu_wgmma_operation *operation, unsigned bits,
                                 unsigned k, uint32_t *cells)
{
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS; i++) {
        emu_fragment_get_a(operation->a[i], 4, bits, cells + (size_t)i * 16 * k, k);
    }
}

static enum emu_async_result run_wgmma(struct emu_async *async)
{
    const struct wgmma_task *task = (const struct wgmma_task *)(void *)async->payload;
    const struct emu_wgmma_form *form = async->insn->extra;
    uint32_t *a = emu_tensor_scratch(async->warp);
    uint32_t *b = a + EMU_TENSOR_OPERAND_CELLS;
    if (emu_launch_of(async->warp->cta)->settings.numbers == EMU_NUMBERS_OFF) {
        task->group->done = task->number;
        return EMU_ASYNC_DONE;
    }
    const struct emu_actor actor = {.warp = async->warp,
                                    .insn = async->insn,
                                    .lane = EMU_LANES,
                                    .proxy = EMU_PROXY_ASYNC,
                                    .agent = task->group->agent,
                                    .epoch = task->number,
                                    .view = &async->view};
    if (task->operation != NULL) {
        get_a_from_registers(task->operation, 256 / form->k, form->k, a);
    } else if (!emu_tile_fetch(&actor, async->warp->cta, &task->a, a)) {
        return EMU_ASYNC_FAILED;
    }
    if (!emu_tile_fetch(&actor, async->warp->cta, &task->b, b)) {
        return EMU_ASYNC_FAILED;
    }
    /* The FP8 units of Hopper keep 13 fraction bits, of terms and of f32 results. */
    bool fp8 = form->a == EMU_E4M3 || form->a == EMU_E5M2;
    const struct emu_mma_rule rule = {.a = form->a,
                                      .b = form->b,
                                      .d = form->d,
                                      .k = form->k,
                                      .fraction_bits = fp8 ? 13 : 25,
                                      .result_bits = fp8 ? 13 : 23,
                                      .negate_a = form->negate_a,
                                      .negate_b = form->negate_b,
                                      .saturate = form->saturate,
                                      .fast = emu_tensor_is_fast(async->warp)};
    emu_mma(&rule, EMU_WGMMA_M, form->n, a, b, task->accumulator->cells, form->n,
            task->accumulate, NULL, NULL);
    task->group->done = task->number;
    return EMU_ASYNC_DONE;
}

/* --------------------------------------------------------------------------- operands */

/* A value that all lanes of all four warps must agree on. */
static bool get_common(struct emu_warp *warp, const struct emu_insn *insn, uint32_t slot,
                       const char *operand_name, uint64_t *ret_value)
{
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS; i++) {
        uint64_t value = 0;
        struct emu_warp *other = emu_warpgroup_warp(warp, i);
        if (!emu_uniform_value(other, insn, EMU_ALL_LANES, slot, operand_name, &value)) {
            return false;
        }
        if (i > 0 && value != *ret_value) {
            emu_report_error(other, insn, EMU_LANES, EMU_FINDING_DIVERGENCE,
                             "%s differs within the warpgroup: 0x%llx here, 0x%llx in its "
                             "first warp",
                             operand_name, (unsigned long long)value,
                             (unsigned long long)*ret_value);
            return false;
        }
        *ret_value = value;
    }
    return true;
}

static bool get_scale_d(struct emu_warp *warp, const struct emu_insn *insn,
                        bool *ret_accumulate)
{
    const struct emu_wgmma_form *form = insn->extra;
    *ret_accumulate = form->accumulate;
    if (form->scale_d == EMU_NO_PREDICATE) {
        return true;
    }
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS; i++) {
        struct emu_warp *other = emu_warpgroup_warp(warp, i);
        uint32_t value = other->p[form->scale_d];
        if (other->p_undefined[form->scale_d] != 0 && emu_tensor_checks_defined(warp)) {
            emu_report_error(other, insn, EMU_LANES, EMU_FINDING_UNDEFINED,
                             "the predicate scale-d is undefined");
            return false;
        }
        if ((value != 0 && value != EMU_ALL_LANES) ||
            value != emu_warpgroup_warp(warp, 0)->p[form->scale_d]) {
            emu_report_error(other, insn, EMU_LANES, EMU_FINDING_DIVERGENCE,
                             "the predicate scale-d differs within the warpgroup");
            return false;
        }
        *ret_accumulate = (value != 0) != form->scale_d_negated;
    }
    return true;
}

static bool get_tile(struct emu_warp *warp, const struct emu_insn *insn, uint32_t slot,
                     const char *operand_name, struct emu_tile *tile)
{
    uint64_t bits = 0;
    struct emu_error error = {0};
    if (!get_common(warp, insn, slot, operand_name, &bits)) {
        return false;
    }
    if (!emu_matrix_decode_sm90(bits, &tile->matrix, &error) ||
        !emu_tile_check(tile, &error)) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_DESCRIPTOR, "%s: %s",
                         operand_name, error.text);
        return false;
    }
    emu_features_advise(
        warp, insn,
        emu_feature_if(tile->mn_major && tile->matrix.swizzle == EMU_SWIZZLE_NONE,
                       EMU_FEATURE_MN_NO_SWIZZLE));
    return true;
}

static bool get_operands(struct emu_warp *warp, const struct emu_insn *insn,
                         struct wgmma_task *task)
{
    const struct emu_wgmma_form *form = insn->extra;
    task->a = (struct emu_tile){.packing = form->packing,
                                .mn_major = form->a_mn_major,
                                .rows = EMU_WGMMA_M,
                                .k = form->k};
    task->b = (struct emu_tile){.packing = form->packing,
                                .mn_major = form->b_mn_major,
                                .rows = form->n,
                                .k = form->k};
    return get_scale_d(warp, insn, &task->accumulate) &&
           get_tile(warp, insn, form->b_slot, "descriptor of B", &task->b) &&
           (form->a_in_registers ||
            get_tile(warp, insn, form->a_slot, "descriptor of A", &task->a));
}

/* Keeps A as it is now. */
static bool keep_a(struct emu_warp *warp, const struct emu_insn *insn,
                   struct wgmma_task *task)
{
    const struct emu_wgmma_form *form = insn->extra;
    if (!form->a_in_registers) {
        return true;
    }
    struct emu_wgmma_operation *operation = emu_alloc(sizeof(*operation));
    operation->number = task->number;
    operation->insn = insn;
    operation->next = task->group->operations;
    task->group->operations = operation;
    task->operation = operation;
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS; i++) {
        struct emu_warp *other = emu_warpgroup_warp(warp, i);
        for (unsigned j = 0; j < 4; j++) {
            uint32_t slot = insn->list[form->d_count + j];
            if (!emu_need_defined(other, insn, EMU_ALL_LANES, slot, "A of wgmma")) {
                return false;
            }
            for (unsigned lane = 0; lane < EMU_LANES; lane++) {
                operation->a[i][j][lane] = (uint32_t)other->r[slot][lane];
            }
        }
    }
    return true;
}

/* --------------------------------------------------------------------------- execution */

/* The operation comes after what all four warps know. */
static void meet_in_view(struct emu_async *async)
{
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS; i++) {
        const struct emu_view *known = &emu_warpgroup_warp(async->warp, i)->sync.view;
        emu_clock_meet(&async->view.happened, &known->happened);
        emu_clock_meet(&async->view.proxied, &known->proxied);
        emu_clock_meet(&async->view.met, &known->met);
    }
}

static bool issue(struct emu_warp *warp, const struct emu_insn *insn,
                  struct emu_warpgroup *group)
{
    struct wgmma_task task = {.group = group, .number = ++group->issued};
    if (!get_operands(warp, insn, &task) || !keep_a(warp, insn, &task) ||
        !emu_wgmma_find_accumulator(warp, insn, group, &task.accumulator)) {
        return false;
    }
    if (task.accumulator == NULL) {
        task.accumulator = emu_wgmma_start_accumulator(warp, insn, group, task.accumulate);
    }
    if (task.accumulator == NULL) {
        return false;
    }
    task.accumulator->last = task.number;
    struct emu_async *async = emu_async_new(warp, insn, EMU_LANES, sizeof(task), run_wgmma);
    *(struct wgmma_task *)(void *)async->payload = task;
    if (emu_tensor_checks_races(warp)) {
        meet_in_view(async);
    }
    if (emu_is_timed(warp->cta)) {
        const struct emu_wgmma_form *form = insn->extra;
        const double k_bytes = emu_packing_bytes(form->packing, form->k);
        const struct emu_time_product product = {.cta = warp->cta,
                                                 .rows = EMU_WGMMA_M,
                                                 .columns = form->n,
                                                 .k_bytes = k_bytes,
                                                 .a_is_shared = !form->a_in_registers,
                                                 .begins = !task.accumulate};
        async->at[0] = emu_time_mma(&product) + emu_time_chip(warp->cta)->wgmma_latency;
    }
    return emu_async_submit(async, group->chain);
}

static bool arrive(struct emu_warp *warp, const struct emu_insn *insn,
                   struct emu_warpgroup *group)
{
    if (!emu_tensor_warp_of(warp)->fenced) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_ILLEGAL,
                         "a wgmma.fence is missing: every warp needs one before its first "
                         "wgmma.mma_async and after each wgmma.wait_group that completed "
                         "something");
        return false;
    }
    if (group->at != NULL && group->at != insn) {
        struct emu_text location = {0};
        ptx_describe_location(emu_launch_of(warp->cta)->program->module,
                              &group->at->source->location, &location);
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_DIVERGENCE,
                         "other warps of the warpgroup (mask %x) wait at another "
                         "wgmma.mma_async, at %s",
                         group->arrived, emu_text_get(&location));
        emu_text_free(&location);
        return false;
    }
    group->at = insn;
    group->arrived |= 1u << warp->index % EMU_WARPGROUP_WARPS;
    emu_tensor_warp_of(warp)->rendezvous = EMU_RENDEZVOUS_WAITS;
    /* No promise of PTX, but kernels that are known to run read scales before it by all
     * lanes and give the stage back behind it by one. */
    emu_sync_lanes(&warp->sync);
    emu_note_event(warp);
    return true;
}

enum emu_step emu_wgmma_exec(struct emu_warp *warp, const struct emu_insn *insn,
                             uint32_t lanes)
{
    struct emu_tensor_warp *state = emu_tensor_warp_of(warp);
    struct emu_warpgroup *group = emu_warpgroup_of(warp);
    if (!emu_tensor_whole_warp(warp, insn, lanes)) {
        return EMU_FAILED;
    }
    if (group == NULL) {
        return emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_ILLEGAL,
                                "warp %u is not in a warpgroup: the CTA has %u warps",
                                warp->index, warp->cta->warp_count);
    }
    if (state->rendezvous == EMU_RENDEZVOUS_DONE) {
        state->rendezvous = EMU_RENDEZVOUS_NONE;
        return EMU_NEXT;
    }
    if (state->rendezvous == EMU_RENDEZVOUS_NONE && !arrive(warp, insn, group)) {
        return EMU_FAILED;
    }
    if (group->arrived != EMU_WARPGROUP_ALL) {
        return EMU_BLOCKED;
    }
    group->at = NULL;
    group->arrived = 0;
    for (unsigned i = 0; i < EMU_WARPGROUP_WARPS; i++) {
        emu_tensor_warp_of(emu_warpgroup_warp(warp, i))->rendezvous = EMU_RENDEZVOUS_DONE;
    }
    state->rendezvous = EMU_RENDEZVOUS_NONE;
    emu_note_event(warp);
    return issue(warp, insn, group) ? EMU_NEXT : EMU_FAILED;
}
