/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores of tensor memory take effect at a later step. A load's registers are
 * undefined from its issue on; what it read is kept aside and put into them by
 * tcgen05.wait::ld, or for the first instruction that reads one of them.
 */
#include "tensor/access.h"

#include <string.h>

#include "exec/decode.h"
#include "exec/timing.h"
#include "tensor/engine.h"
#include "tensor/unvalidated.h"

#define QUARTER_LANES 32u
/* What stands where the hardware promises nothing. */
#define POISON      0xBAD0BAD0u
#define POISON_HALF 0xBAD00000u

/* Columns of one part. */
static uint32_t count_columns(const struct emu_access_form *form)
{
    return emu_access_columns(form->shape) * form->repeat * (form->halves ? 2 : 1);
}

/* -------------------------------------------------------------------------- in flight */

static void free_access(struct emu_tensor_access *access)
{
    emu_free(access->values);
    emu_free(access->undefined);
    emu_free(access);
}

void emu_access_free_all(struct emu_tensor_warp *state)
{
    while (state->accesses != NULL) {
        struct emu_tensor_access *access = state->accesses;
        state->accesses = access->next;
        free_access(access);
    }
    state->accesses_last = NULL;
}

const struct emu_insn *emu_access_find(const struct emu_warp *warp, uint32_t column,
                                       uint32_t columns)
{
    for (const struct emu_tensor_access *access = emu_tensor_warp_of(warp)->accesses;
         access != NULL; access = access->next) {
        if (!access->delivered && access->column < column + columns &&
            column < access->column + access->span) {
            return access->insn;
        }
    }
    return NULL;
}

static void note_access(const struct emu_actor *actor,
                        const struct emu_tensor_access *access)
{
    const struct emu_access_form *form = access->insn->extra;
    uint32_t columns = count_columns(form);
    uint32_t lanes = emu_access_lanes(form->shape);
    struct emu_cta *cta = access->warp->cta;
    emu_tmem_note(actor, cta, access->lane, lanes, access->column, columns, access->store);
    if (form->shape == EMU_ACCESS_16X32BX2) {
        emu_tmem_note(actor, cta, access->lane, lanes, access->column + form->split,
                      columns, access->store);
    }
}

static void load_cell(const struct emu_tmem *tmem, const struct emu_tensor_access *access,
                      unsigned index, unsigned thread, uint32_t lane, uint32_t column)
{
    const struct emu_access_form *form = access->insn->extra;
    bool defined = tmem->defined[lane][column] != EMU_UNDEFINED;
    uint32_t value = tmem->cells[lane][column];
    if (form->halves) {
        defined = defined && tmem->defined[lane][column + 1] != EMU_UNDEFINED;
        value = (value & 0xFFFFu) | tmem->cells[lane][column + 1] << 16;
    }
    access->values[index][thread] = value;
    access->undefined[index] |= defined ? 0u : 1u << thread;
}

static void store_cell(struct emu_tmem *tmem, const struct emu_tensor_access *access,
                       unsigned index, unsigned thread, uint32_t lane, uint32_t column)
{
    const struct emu_access_form *form = access->insn->extra;
    bool defined = (access->undefined[index] >> thread & 1u) == 0;
    uint8_t state = defined ? EMU_DEFINED : EMU_UNDEFINED;
    uint32_t value = access->values[index][thread];
    tmem->cells[lane][column] = form->halves ? POISON_HALF | (value & 0xFFFFu) : value;
    tmem->defined[lane][column] = state;
    if (form->halves) {
        tmem->cells[lane][column + 1] = POISON_HALF | value >> 16;
        tmem->defined[lane][column + 1] = state;
    }
}

static enum emu_async_result run_access(struct emu_async *async)
{
    struct emu_tensor_access *access = *(struct emu_tensor_access **)(void *)async->payload;
    const struct emu_access_form *form = access->insn->extra;
    const struct emu_tensor_warp *state = emu_tensor_warp_of(access->warp);
    const struct emu_actor actor = {.warp = access->warp,
                                    .insn = access->insn,
                                    .lane = EMU_LANES,
                                    .proxy = EMU_PROXY_TENSOR,
                                    .agent = access->store ? state->store_agent
                                                           : state->load_agent,
                                    .epoch = access->epoch,
                                    .view = &async->view};
    note_access(&actor, access);
    struct emu_tmem *tmem = emu_tmem_of(access->warp->cta);
    for (unsigned index = 0; index < access->registers; index++) {
        for (unsigned thread = 0; thread < EMU_LANES; thread++) {
            unsigned lane = 0;
            unsigned column = 0;
            bool half = false;
            emu_access_place(form->shape, thread, index, &lane, &column, &half);
            column =
                access->column + column * (form->halves ? 2 : 1) + (half ? form->split : 0);
            if (access->store) {
                store_cell(tmem, access, index, thread, access->lane + lane, column);
            } else {
                load_cell(tmem, access, index, thread, access->lane + lane, column);
            }
        }
    }
    access->done = true;
    return EMU_ASYNC_DONE;
}

/* ------------------------------------------------------------------------------ issue */

/*
 * The first lane. A warp reaches the quarter of tensor memory that its index selects. An
 * address whose lane lies in the first quarter means the warp's own quarter, as hardware
 * takes it. Bits above the 128 lanes are ignored: kernels that are known to run on hardware
 * count the lanes of both CTAs of a pair.
 */
static bool find_lane(struct emu_warp *warp, const struct emu_insn *insn, uint32_t address,
                      uint32_t *ret_lane)
{
    const struct emu_access_form *form = insn->extra;
    uint32_t quarter = warp->index % 4;
    uint32_t lane = emu_tmem_lane(address) % EMU_TMEM_LANES;
    uint32_t within = lane % QUARTER_LANES;
    if (lane != emu_tmem_lane(address)) {
        emu_report(
            warp, insn, EMU_LANES, EMU_ADVICE, EMU_FINDING_TENSOR_MEMORY,
            "lane %u of tensor memory (address 0x%08x): a CTA has %u lanes, and lane "
            "%u is taken",
            emu_tmem_lane(address), address, EMU_TMEM_LANES, lane);
    }
    if (lane >= QUARTER_LANES && lane / QUARTER_LANES != quarter) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_TENSOR_MEMORY,
                         "lane %u of tensor memory (address 0x%08x): warp %u reaches lanes "
                         "%u to %u",
                         lane, address, warp->index, quarter * QUARTER_LANES,
                         quarter * QUARTER_LANES + QUARTER_LANES - 1);
        return false;
    }
    if (within != 0 && (within != 16 || emu_access_lanes(form->shape) != 16)) {
        emu_report_error(
            warp, insn, EMU_LANES, EMU_FINDING_MISALIGNED,
            "lane %u of tensor memory (address 0x%08x): the first lane of this "
            "shape is a multiple of %u",
            lane, address, emu_access_lanes(form->shape));
        return false;
    }
    *ret_lane = quarter * QUARTER_LANES + within;
    return true;
}

static bool check_columns(struct emu_warp *warp, const struct emu_insn *insn,
                          uint32_t column, const char *access_name)
{
    const struct emu_access_form *form = insn->extra;
    uint32_t columns = count_columns(form);
    return emu_tmem_check(warp, insn, EMU_LANES, warp->cta, column, columns, access_name) &&
           (form->shape != EMU_ACCESS_16X32BX2 ||
            emu_tmem_check(warp, insn, EMU_LANES, warp->cta, column + form->split, columns,
                           access_name));
}

static void advise_form(struct emu_warp *warp, const struct emu_insn *insn)
{
    const struct emu_access_form *form = insn->extra;
    emu_features_advise(warp, insn,
                        emu_feature_if(form->shape != EMU_ACCESS_32X32B &&
                                           form->shape != EMU_ACCESS_16X256B,
                                       EMU_FEATURE_LOAD_16) |
                            emu_feature_if(form->halves, EMU_FEATURE_PACK_16));
}

/* The access of an instruction, checked; NULL: reported. */
static struct emu_tensor_access *
make_access(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes, bool store)
{
    const struct emu_access_form *form = insn->extra;
    uint64_t address = 0;
    uint32_t lane = 0;
    if (!emu_tensor_whole_warp(warp, insn, lanes) ||
        !emu_uniform_value(warp, insn, lanes, insn->src[0], "tensor memory address",
                           &address)) {
        return NULL;
    }
    uint32_t base = (uint32_t)(address + (uint64_t)form->offset);
    uint32_t column = emu_tmem_column(base);
    if (!find_lane(warp, insn, base, &lane) ||
        !check_columns(warp, insn, column, store ? "tcgen05.st" : "tcgen05.ld")) {
        return NULL;
    }
    advise_form(warp, insn);
    struct emu_tensor_access *access = emu_alloc(sizeof(*access));
    access->warp = warp;
    access->insn = insn;
    access->store = store;
    access->lane = lane;
    access->column = column;
    access->span = count_columns(form) + form->split;
    access->registers = insn->list_count;
    access->values = emu_alloc(access->registers * sizeof(*access->values));
    access->undefined = emu_alloc(access->registers * sizeof(*access->undefined));
    return access;
}

/* Who asks for no order gets the one that hardware keeps: a tcgen05.wait that is missing
 * does not change what a kernel computes. */
static bool needs_waits(const struct emu_warp *warp)
{
    const struct emu_settings *settings = &emu_launch_of(warp->cta)->settings;
    return (settings->races && (settings->allowed >> EMU_FINDING_RACE & 1u) == 0) ||
           emu_is_timed(warp->cta);
}

static enum emu_step submit(struct emu_tensor_access *access)
{
    struct emu_warp *warp = access->warp;
    struct emu_tensor_warp *state = emu_tensor_warp_of(warp);
    if (emu_tensor_checks_races(warp)) {
        emu_tensor_agent(warp, access->store ? &state->store_agent : &state->load_agent);
    }
    access->epoch = access->store ? ++state->stores : ++state->loads;
    if (state->accesses_last == NULL) {
        state->accesses = access;
    } else {
        state->accesses_last->next = access;
    }
    state->accesses_last = access;
    struct emu_async *async =
        emu_async_new(warp, access->insn, EMU_LANES, sizeof(void *), run_access);
    *(struct emu_tensor_access **)(void *)async->payload = access;
    if (emu_is_timed(warp->cta)) {
        const uint32_t bytes =
            access->registers * EMU_LANES * (uint32_t)sizeof(**access->values);
        async->at[0] = emu_time_tensor_access(warp, bytes);
    }
    const bool good =
        needs_waits(warp) ? emu_async_submit(async, 0) : emu_async_submit_now(async);
    return good ? EMU_NEXT : EMU_FAILED;
}

enum emu_step emu_access_exec_load(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint32_t lanes)
{
    struct emu_tensor_access *access = make_access(warp, insn, lanes, false);
    if (access == NULL) {
        return EMU_FAILED;
    }
    for (uint32_t i = 0; i < insn->list_count; i++) {
        uint32_t slot = insn->list[i];
        if (slot == EMU_NO_SLOT) {
            continue;
        }
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            warp->r[slot][lane] = POISON;
        }
        warp->undefined[slot] = EMU_ALL_LANES;
    }
    warp->loads_in_flight++;
    return submit(access);
}

enum emu_step emu_access_exec_store(struct emu_warp *warp, const struct emu_insn *insn,
                                    uint32_t lanes)
{
    struct emu_tensor_access *access = make_access(warp, insn, lanes, true);
    if (access == NULL) {
        return EMU_FAILED;
    }
    for (uint32_t i = 0; i < insn->list_count; i++) {
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            access->values[i][lane] = (uint32_t)warp->r[insn->list[i]][lane];
        }
        access->undefined[i] = warp->undefined[insn->list[i]];
    }
    return submit(access);
}

/* ------------------------------------------------------------------------------- wait */

/* A register that is defined before its load is delivered was written in between. */
static bool check_untouched(struct emu_warp *warp, const struct emu_insn *insn,
                            const struct emu_tensor_access *access, uint32_t index)
{
    uint32_t touched = ~warp->undefined[access->insn->list[index]];
    if (touched == 0 || !emu_tensor_checks_defined(warp)) {
        return true;
    }
    struct emu_text location = {0};
    ptx_describe_location(emu_launch_of(warp->cta)->program->module,
                          &access->insn->source->location, &location);
    emu_report_error(warp, insn, emu_lowest_bit(touched), EMU_FINDING_IN_FLIGHT,
                     "register %u of the tcgen05.ld at %s was written before the load was "
                     "waited for",
                     index, emu_text_get(&location));
    emu_text_free(&location);
    return false;
}

static bool deliver(struct emu_warp *warp, const struct emu_insn *insn,
                    struct emu_tensor_access *access)
{
    if (access->delivered) {
        return true;
    }
    access->delivered = true;
    warp->loads_in_flight--;
    for (uint32_t i = 0; i < access->registers; i++) {
        uint32_t slot = access->insn->list[i];
        if (slot == EMU_NO_SLOT) {
            continue;
        }
        if (!check_untouched(warp, insn, access, i)) {
            return false;
        }
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            warp->r[slot][lane] = access->values[i][lane];
        }
        warp->undefined[slot] = access->undefined[i];
    }
    return true;
}

/* ------------------------------------------------------------------ register dependency */

static bool loads_slot(const struct emu_tensor_access *access, uint32_t slot)
{
    for (uint32_t i = 0; i < access->registers; i++) {
        if (access->insn->list[i] == slot) {
            return true;
        }
    }
    return false;
}

/* The load in flight that an operand needs, or NULL. */
static struct emu_tensor_access *find_load(struct emu_warp *warp,
                                           const struct ptx_operand *operand)
{
    const struct emu_program *program = emu_launch_of(warp->cta)->program;
    for (unsigned i = 0; i < operand->count; i++) {
        struct emu_tensor_access *found = find_load(warp, &operand->elements[i]);
        if (found != NULL) {
            return found;
        }
    }
    if (operand->kind != PTX_REGISTER ||
        program->function->registers[operand->index].type == PTX_PRED) {
        return NULL;
    }
    uint32_t slot = program->register_slots[operand->index];
    for (struct emu_tensor_access *access = emu_tensor_warp_of(warp)->accesses;
         access != NULL; access = access->next) {
        if (!access->store && !access->delivered && loads_slot(access, slot)) {
            return access;
        }
    }
    return NULL;
}

/* The load has read its cells. PTX does not say that later accesses come after it, but they
 * do, and kernels that are known to run rely on it. */
static void note_dependency(struct emu_warp *warp, const struct emu_tensor_access *access)
{
    const struct emu_tensor_warp *state = emu_tensor_warp_of(warp);
    const struct emu_tensor_access *earlier = state->accesses;
    while (earlier != access && (earlier->store || earlier->done)) {
        earlier = earlier->next;
    }
    if (earlier == access && emu_tensor_checks_races(warp)) {
        emu_clock_raise(&warp->sync.view.met, state->load_agent, access->epoch);
    }
}

enum emu_step emu_access_await_registers(struct emu_warp *warp, const struct emu_insn *insn)
{
    const struct ptx_insn *source = insn->source;
    bool load = insn->exec == emu_access_exec_load;
    for (unsigned i = emu_insn_has_result(source) || load ? 1 : 0;
         i < source->operand_count; i++) {
        struct emu_tensor_access *access = NULL;
        while ((access = find_load(warp, &source->operands[i])) != NULL) {
            if (!access->done) {
                return EMU_BLOCKED;
            }
            if (!deliver(warp, insn, access)) {
                return EMU_FAILED;
            }
            note_dependency(warp, access);
        }
    }
    return EMU_NEXT;
}

/* ---------------------------------------------------------------------- waiting for all */

static bool is_outstanding(const struct emu_tensor_warp *state, bool store)
{
    for (const struct emu_tensor_access *access = state->accesses; access != NULL;
         access = access->next) {
        if (access->store == store && !access->done) {
            return true;
        }
    }
    return false;
}

static enum emu_step wait_for(struct emu_warp *warp, const struct emu_insn *insn,
                              uint32_t lanes, bool store)
{
    struct emu_tensor_warp *state = emu_tensor_warp_of(warp);
    if (!emu_tensor_whole_warp(warp, insn, lanes)) {
        return EMU_FAILED;
    }
    if (is_outstanding(state, store)) {
        return EMU_BLOCKED;
    }
    struct emu_tensor_access *rest = state->accesses;
    state->accesses = state->accesses_last = NULL;
    bool good = true;
    while (rest != NULL) {
        struct emu_tensor_access *access = rest;
        rest = access->next;
        access->next = NULL;
        if (access->store == store) {
            good = good && (store || deliver(warp, insn, access));
            free_access(access);
            continue;
        }
        if (state->accesses_last == NULL) {
            state->accesses = access;
        } else {
            state->accesses_last->next = access;
        }
        state->accesses_last = access;
    }
    uint32_t agent = store ? state->store_agent : state->load_agent;
    if (emu_tensor_checks_races(warp) && agent != EMU_NO_AGENT) {
        uint32_t epoch = store ? state->stores : state->loads;
        emu_clock_raise(&warp->sync.view.happened, agent, epoch);
        emu_clock_raise(&warp->sync.view.tensor, agent, epoch);
    }
    return good ? EMU_NEXT : EMU_FAILED;
}

enum emu_step emu_access_exec_wait_load(struct emu_warp *warp, const struct emu_insn *insn,
                                        uint32_t lanes)
{
    return wait_for(warp, insn, lanes, false);
}

enum emu_step emu_access_exec_wait_store(struct emu_warp *warp, const struct emu_insn *insn,
                                         uint32_t lanes)
{
    return wait_for(warp, insn, lanes, true);
}

/* ------------------------------------------------------------------------------ fences */

enum emu_step emu_access_exec_fence_before(struct emu_warp *warp,
                                           const struct emu_insn *insn, uint32_t lanes)
{
    (void)insn;
    emu_sync_tensor_before(&warp->sync);
    emu_tensor_offer_issued(warp, lanes);
    return EMU_NEXT;
}

enum emu_step emu_access_exec_fence_after(struct emu_warp *warp,
                                          const struct emu_insn *insn, uint32_t lanes)
{
    (void)insn;
    (void)lanes;
    emu_sync_tensor_after(&warp->sync);
    return EMU_NEXT;
}
