/* SPDX-License-Identifier: MIT */
/*
 * The tensor queue. Each operation hands a ticket to the cluster's asynchronous queue; a
 * ticket that becomes due lets one operation that may go take effect, so that the order is
 * decided here and the time there.
 */
#include "tensor/engine.h"

#include "exec/timing.h"

#include "tensor/unvalidated.h"

static bool is_reordering(const struct emu_warp *warp)
{
    return emu_launch_of(warp->cta)->settings.async == EMU_ASYNC_REORDER;
}

/* ---------------------------------------------------------------------------- threads */

static struct emu_tensor_thread *find_thread(struct emu_warp *warp, unsigned lane)
{
    struct emu_tensor_cluster *cluster = emu_tensor_cluster_of(warp);
    for (struct emu_tensor_thread *thread = cluster->threads; thread != NULL;
         thread = thread->next) {
        if (thread->warp == warp && thread->lane == lane) {
            return thread;
        }
    }
    struct emu_tensor_thread *thread = emu_alloc(sizeof(*thread));
    thread->warp = warp;
    thread->lane = lane;
    if (emu_tensor_checks_races(warp)) {
        thread->mma_agent = emu_cluster_agent(warp->cta->cluster);
        thread->copy_agent = emu_cluster_agent(warp->cta->cluster);
        thread->mma_issue = emu_cluster_agent(warp->cta->cluster);
        thread->copy_issue = emu_cluster_agent(warp->cta->cluster);
    }
    thread->next = cluster->threads;
    cluster->threads = thread;
    return thread;
}

void emu_tensor_offer_issued(struct emu_warp *warp, uint32_t lanes)
{
    if (!emu_tensor_checks_races(warp)) {
        return;
    }
    for (struct emu_tensor_thread *thread = emu_tensor_cluster_of(warp)->threads;
         thread != NULL; thread = thread->next) {
        if (thread->warp == warp && (lanes >> thread->lane & 1u) != 0) {
            emu_clock_raise(&warp->sync.view.fenced, thread->mma_issue, thread->mmas);
            emu_clock_raise(&warp->sync.view.fenced, thread->copy_issue, thread->copies);
        }
    }
}

bool emu_tensor_is_wrong_thread(const struct emu_tensor_op *commit)
{
    bool others = false;
    for (const struct emu_tensor_thread *thread =
             emu_tensor_cluster_of(commit->warp)->threads;
         thread != NULL; thread = thread->next) {
        struct emu_cta *ctas[2];
        emu_tensor_ctas(thread->warp->cta, commit->cta_group, ctas);
        others |= thread != commit->thread && thread->mmas + thread->copies > 0 &&
                  ctas[0]->rank == commit->core;
    }
    return others && commit->thread->mmas + commit->thread->copies == 0;
}

/* -------------------------------------------------------------- view of an operation */

/* What was issued before in the same pipeline comes first without further ado. */
static void know_pipeline(struct emu_tensor_op *op)
{
    struct emu_tensor_thread *own = op->thread;
    struct emu_clock *tensor = &op->view.tensor;
    for (struct emu_tensor_thread *thread = emu_tensor_cluster_of(op->warp)->threads;
         thread != NULL; thread = thread->next) {
        emu_clock_raise(tensor, thread->copy_agent,
                        emu_clock_get(tensor, thread->copy_issue));
        emu_clock_raise(tensor, thread->mma_agent,
                        emu_clock_get(tensor, thread->mma_issue));
    }
    emu_clock_raise(tensor, own->copy_agent, own->copies);
    for (unsigned i = 0; i < EMU_RECENT_ACCUMULATORS; i++) {
        if (own->accumulators[i].key == op->accumulator) {
            emu_clock_raise(tensor, own->mma_agent, own->accumulators[i].epoch);
        }
    }
}

static void remember_accumulator(struct emu_tensor_op *op)
{
    struct emu_tensor_thread *thread = op->thread;
    for (unsigned i = 0; i < EMU_RECENT_ACCUMULATORS; i++) {
        if (thread->accumulators[i].key == op->accumulator) {
            thread->accumulators[i].epoch = op->epoch;
            return;
        }
    }
    thread->accumulators[thread->accumulator_next].key = op->accumulator;
    thread->accumulators[thread->accumulator_next].epoch = op->epoch;
    thread->accumulator_next = (thread->accumulator_next + 1) % EMU_RECENT_ACCUMULATORS;
}

void emu_tensor_note_scales(struct emu_tensor_op *op, uint32_t column, uint32_t columns)
{
    struct emu_tensor_thread *thread = op->thread;
    for (uint32_t i = column; i < column + columns; i++) {
        thread->scales[i].epoch = thread->mmas + 1;
        thread->scales[i].copies = thread->copies;
    }
}

/* A copy comes after the earlier MMAs of its thread, though nobody promises it. */
static void know_order_in_practice(struct emu_tensor_op *op)
{
    struct emu_tensor_thread *thread = op->thread;
    struct emu_clock *tensor = &op->view.tensor;
    const uint32_t known = emu_clock_get(tensor, thread->mma_agent);
    const uint32_t waited = emu_clock_get(&op->view.happened, thread->mma_agent);
    for (uint32_t i = op->column; i < op->column + op->columns; i++) {
        if (thread->scales[i].epoch > known && thread->scales[i].epoch > waited) {
            emu_features_advise(op->warp, op->insn, 1u << EMU_FEATURE_COPY_AFTER_MMA);
            emu_clock_raise(tensor, thread->mma_agent, thread->scales[i].epoch);
            emu_clock_raise(tensor, thread->copy_agent, thread->scales[i].copies);
        }
    }
}

/* Commit: what it tells others when its predecessors are done. */
static void know_what_is_committed(struct emu_tensor_op *op)
{
    struct emu_tensor_thread *thread = op->thread;
    struct emu_view *view = &op->view;
    emu_clock_join(&view->fenced, &view->tensor);
    struct emu_clock *raised[] = {&view->happened, &view->proxied, &view->fenced};
    for (unsigned i = 0; i < 3; i++) {
        emu_clock_raise(raised[i], thread->mma_agent, thread->mmas);
        emu_clock_raise(raised[i], thread->copy_agent, thread->copies);
    }
}

static void know_at_issue(struct emu_tensor_op *op)
{
    if (op->kind == EMU_OP_COMMIT) {
        know_what_is_committed(op);
        return;
    }
    /* What the issuer did before comes before. */
    emu_sync_publish(&op->warp->sync, 1u << op->lane, &op->view);
    if (op->kind == EMU_OP_MMA) {
        know_pipeline(op);
    } else {
        know_order_in_practice(op);
    }
}

struct emu_actor emu_tensor_op_actor(const struct emu_tensor_op *op, enum emu_proxy proxy)
{
    return (struct emu_actor){.warp = op->warp,
                              .insn = op->insn,
                              .lane = EMU_LANES,
                              .proxy = proxy,
                              .agent = op->kind == EMU_OP_COPY ? op->thread->copy_agent
                                                               : op->thread->mma_agent,
                              .epoch = op->epoch,
                              .view = &op->view};
}

/* ------------------------------------------------------------------------------ order */

/* Threads that did not synchronise are not ordered; without clocks nobody can tell. */
static bool is_known(const struct emu_tensor_op *later, const struct emu_tensor_op *earlier)
{
    if (later->thread == earlier->thread || !emu_tensor_checks_races(later->warp)) {
        return true;
    }
    uint32_t issue = earlier->kind == EMU_OP_MMA ? earlier->thread->mma_issue
                                                 : earlier->thread->copy_issue;
    return emu_clock_get(&later->view.tensor, issue) >= earlier->epoch;
}

static bool must_wait(const struct emu_tensor_op *later,
                      const struct emu_tensor_op *earlier)
{
    if (earlier->core != later->core) {
        return false;
    }
    if (later->kind == EMU_OP_COMMIT) {
        return earlier->thread == later->thread;
    }
    if (earlier->kind == EMU_OP_COMMIT) {
        return false;
    }
    if (!is_reordering(later->warp)) {
        return true;
    }
    if (later->kind == EMU_OP_COPY) {
        return earlier->kind == EMU_OP_MMA && earlier->thread == later->thread;
    }
    return (earlier->kind == EMU_OP_COPY || earlier->accumulator == later->accumulator) &&
           is_known(later, earlier);
}

static bool may_go(const struct emu_tensor_cluster *cluster, const struct emu_tensor_op *op)
{
    for (const struct emu_tensor_op *earlier = cluster->ops; earlier != op;
         earlier = earlier->next) {
        if (must_wait(op, earlier)) {
            return false;
        }
    }
    return true;
}

/* A commit that may go goes first: the earlier it arrives, the sooner others rely on it.
 * Otherwise one operation is taken at random. */
static struct emu_tensor_op *choose(struct emu_cluster *cluster,
                                    struct emu_tensor_cluster *state)
{
    struct emu_tensor_op *chosen = NULL;
    uint32_t count = 0;
    for (struct emu_tensor_op *op = state->ops; op != NULL; op = op->next) {
        if (!may_go(state, op)) {
            continue;
        }
        if (op->kind == EMU_OP_COMMIT) {
            return op;
        }
        count++;
        if (emu_random_below(&cluster->random, count) == 0) {
            chosen = op;
        }
    }
    return chosen;
}

static void take_out(struct emu_tensor_cluster *state, struct emu_tensor_op *op)
{
    struct emu_tensor_op *before = NULL;
    for (struct emu_tensor_op *other = state->ops; other != op; other = other->next) {
        before = other;
    }
    if (before == NULL) {
        state->ops = op->next;
    } else {
        before->next = op->next;
    }
    if (state->ops_last == op) {
        state->ops_last = before;
    }
}

static void free_op(struct emu_tensor_op *op)
{
    emu_view_free(&op->view);
    emu_free(op);
}

static enum emu_async_result run_ticket(struct emu_async *ticket)
{
    struct emu_cluster *cluster = ticket->warp->cta->cluster;
    struct emu_tensor_cluster *state = cluster->tensor_state;
    struct emu_tensor_op *op = cluster->timer != NULL
                                   ? *(struct emu_tensor_op **)(void *)ticket->payload
                                   : choose(cluster, state);
    bool good = op->run(op);
    take_out(state, op);
    free_op(op);
    return good ? EMU_ASYNC_DONE : EMU_ASYNC_FAILED;
}

/* ----------------------------------------------------------------------------- issue */

struct emu_tensor_op *emu_tensor_op_new(struct emu_warp *warp, const struct emu_insn *insn,
                                        unsigned lane, enum emu_op_kind kind,
                                        unsigned cta_group, size_t payload_bytes,
                                        bool (*run)(struct emu_tensor_op *))
{
    struct emu_cta *ctas[2];
    emu_tensor_ctas(warp->cta, cta_group, ctas);
    struct emu_tensor_op *op = emu_alloc(sizeof(*op) + payload_bytes);
    op->kind = kind;
    op->thread = find_thread(warp, lane);
    op->cta_group = cta_group;
    op->core = ctas[0]->rank;
    op->warp = warp;
    op->insn = insn;
    op->lane = lane;
    op->run = run;
    return op;
}

bool emu_tensor_op_submit(struct emu_tensor_op *op)
{
    struct emu_tensor_cluster *state = emu_tensor_cluster_of(op->warp);
    struct emu_async *ticket =
        emu_async_new(op->warp, op->insn, op->lane, sizeof(void *), run_ticket);
    *(struct emu_tensor_op **)(void *)ticket->payload = op;
    op->view = ticket->view;
    ticket->view = (struct emu_view){0};
    if (emu_tensor_checks_races(op->warp)) {
        emu_sync_tell(&op->warp->sync, 1u << op->lane, &op->view.happened);
        know_at_issue(op);
    }
    if (op->kind == EMU_OP_MMA) {
        op->epoch = ++op->thread->mmas;
        remember_accumulator(op);
    } else if (op->kind == EMU_OP_COPY) {
        op->epoch = ++op->thread->copies;
    }
    if (state->ops_last == NULL) {
        state->ops = op;
    } else {
        state->ops_last->next = op;
    }
    state->ops_last = op;
    if (op->done_at > op->thread->done_at) {
        op->thread->done_at = op->done_at;
    }
    ticket->at[0] = op->kind == EMU_OP_COMMIT ? op->thread->done_at : op->done_at;
    return emu_async_submit(ticket, 0);
}

const struct emu_tensor_op *emu_tensor_find_op(const struct emu_cta *cta, uint32_t column,
                                               uint32_t columns)
{
    const struct emu_tensor_cluster *state = cta->cluster->tensor_state;
    for (const struct emu_tensor_op *op = state->ops; op != NULL; op = op->next) {
        bool here =
            op->core == cta->rank || (op->cta_group == 2 && op->core == (cta->rank & ~1u));
        if (here && op->kind != EMU_OP_COMMIT && op->column < column + columns &&
            column < op->column + op->columns) {
            return op;
        }
    }
    return NULL;
}

void emu_tensor_engine_free(struct emu_tensor_cluster *cluster)
{
    while (cluster->ops != NULL) {
        struct emu_tensor_op *op = cluster->ops;
        cluster->ops = op->next;
        free_op(op);
    }
    while (cluster->threads != NULL) {
        struct emu_tensor_thread *thread = cluster->threads;
        cluster->threads = thread->next;
        emu_free(thread);
    }
    emu_free(cluster->scale_uses);
    emu_free(cluster->scratch);
}
