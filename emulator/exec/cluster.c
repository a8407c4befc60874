/* SPDX-License-Identifier: MIT */
/* A cluster's life: its CTAs and warps, whose turn it is, and when nothing can go on. */
#include "exec/cluster.h"

#include <string.h>

#include "exec/memory.h"
#include "exec/origin.h"
#include "exec/strong.h"
#include "exec/unit.h"

/* A cluster executes at most so many times max_steps instructions, whatever comes of them:
 * a loop that stores or adds atomically makes progress for ever. */
enum { STEPS_IN_ALL = 1000 };

struct emu_cta *emu_cluster_cta(struct emu_cluster *cluster, unsigned rank)
{
    return rank < cluster->cta_count ? &cluster->ctas[rank] : NULL;
}

/* Where clusters meet their agents must differ, elsewhere each counts for itself. */
static uint32_t take_block(struct emu_cluster *cluster)
{
    struct emu_grid *grid = cluster->grid;
    if (!grid->launch.program->shares_grid || !grid->launch.settings.races) {
        return cluster->agent_count / EMU_CLOCK_BLOCK;
    }
    if (grid->block_count == EMU_CLOCK_BLOCKS) {
        emu_reports_add(grid->launch.reports, EMU_ERROR, EMU_FINDING_UNSUPPORTED, 0,
                        "races cannot be checked in a grid of so many clusters that may "
                        "meet; JIT_GEMM_EMULATOR=races=off runs it without");
        cluster->failed = true;
        return 0;
    }
    EMU_GROW(grid->blocks, grid->block_count);
    grid->blocks[grid->block_count] = cluster->index;
    return grid->block_count++;
}

uint32_t emu_cluster_agent(struct emu_cluster *cluster)
{
    uint32_t index = cluster->agent_count % EMU_CLOCK_BLOCK;
    if (index == 0) {
        cluster->agent_block = take_block(cluster);
    }
    cluster->agent_count++;
    return cluster->agent_block * EMU_CLOCK_BLOCK + index;
}

/* The units of the cluster's program; NULL is the last. */
static const struct emu_unit *const *units_of(const struct emu_cluster *cluster)
{
    return cluster->grid->launch.program->units;
}

enum { MOST_SKIPS = 32 }; /* of time: an hour in all */

/* ------------------------------------------------------------------------------ life */

static void fill_constants(struct emu_warp *warp, const struct emu_program *program)
{
    for (size_t i = 0; i < program->constant_count; i++) {
        const struct emu_constant *constant = &program->constants[i];
        uint64_t value = constant->value;
        if (constant->kind == EMU_CONSTANT_SHARED) {
            value |= (uint64_t)warp->cta->rank << EMU_SHARED_RANK_SHIFT;
        }
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            warp->r[constant->slot][lane] = value;
        }
        warp->undefined[constant->slot] = 0;
    }
}

static uint32_t new_agent(void *cluster)
{
    return emu_cluster_agent(cluster);
}

static void create_warp(struct emu_cta *cta, unsigned index, unsigned threads)
{
    const struct emu_launch *launch = &cta->cluster->grid->launch;
    const struct emu_program *program = launch->program;
    struct emu_warp *warp = &cta->warps[index];
    warp->cta = cta;
    warp->index = index;
    warp->sync = (struct emu_sync){
        .checked = launch->settings.races,
        .agent = emu_cluster_agent(cta->cluster),
        .epoch = 2, /* in the first one it began */
        .lane_agents = emu_lane_agents_of(cta->cluster),
        .new_agent = new_agent,
        .owner = cta->cluster,
        .group = {[EMU_SCOPE_CTA] = cta->cluster->index * EMU_MAX_CLUSTER + cta->rank,
                  [EMU_SCOPE_CLUSTER] = cta->cluster->index},
    };
    emu_clock_raise(&warp->sync.view.happened, warp->sync.agent, 1);
    warp->sync.view.behind_grid = cta->cluster->grid->behind;
    unsigned lanes = threads - index * EMU_LANES;
    warp->live = lanes >= EMU_LANES ? EMU_ALL_LANES : (1u << lanes) - 1;
    warp->mask = warp->live;
    warp->merge_pc = UINT32_MAX;
    warp->r = emu_alloc(program->slot_count * sizeof(*warp->r));
    warp->undefined = emu_alloc(program->slot_count * sizeof(*warp->undefined));
    memset(warp->undefined, 0xFF, program->slot_count * sizeof(*warp->undefined));
    warp->p = emu_alloc(program->predicate_count * sizeof(*warp->p));
    warp->p_undefined = emu_alloc(program->predicate_count * sizeof(*warp->p_undefined));
    memset(warp->p_undefined, 0xFF, program->predicate_count * sizeof(*warp->p_undefined));
    uint64_t local_bytes = emu_local_bytes(program);
    if (local_bytes > 0) {
        warp->local = emu_alloc(local_bytes * EMU_LANES);
        warp->local_state = emu_alloc(local_bytes * EMU_LANES);
    }
    fill_constants(warp, program);
    for (const struct emu_unit *const *unit = units_of(cta->cluster); *unit != NULL;
         unit++) {
        (*unit)->attach_warp(warp);
    }
}

static void create_cta(struct emu_cluster *cluster, unsigned rank)
{
    const struct emu_launch *launch = &cluster->grid->launch;
    const struct emu_program *program = launch->program;
    struct emu_cta *cta = &cluster->ctas[rank];
    const uint32_t *size = launch->cluster;
    cta->cluster = cluster;
    cta->rank = rank;
    cta->id[0] = cluster->first_cta[0] + rank % size[0];
    cta->id[1] = cluster->first_cta[1] + rank / size[0] % size[1];
    cta->id[2] = cluster->first_cta[2] + rank / (size[0] * size[1]);
    cta->dynamic_shared = (uint32_t)emu_align_up(
        EMU_SHARED_FIRST + program->static_shared_bytes, program->dynamic_shared_align);
    cta->shared_bytes = launch->dynamic_shared_bytes > 0
                            ? cta->dynamic_shared + launch->dynamic_shared_bytes
                            : EMU_SHARED_FIRST + program->static_shared_bytes;
    cta->shared = emu_alloc(cta->shared_bytes);
    cta->shared_state = emu_alloc(cta->shared_bytes);
    if (launch->settings.races) {
        cta->shadow = emu_shadow_create(cta->shared_bytes);
    }
    if (program->scales_blocks) {
        emu_origins_create(cta);
    }
    unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
    cta->warp_count = (unsigned)emu_ceil_div(threads, EMU_LANES);
    cta->warps_left = cta->warp_count;
    cta->lull = 1;
    cta->warps = emu_alloc(cta->warp_count * sizeof(*cta->warps));
    for (const struct emu_unit *const *unit = units_of(cluster); *unit != NULL; unit++) {
        (*unit)->attach_cta(cta);
    }
    for (unsigned i = 0; i < cta->warp_count; i++) {
        create_warp(cta, i, threads);
    }
    cluster->warps_left += cta->warp_count;
}

struct emu_cluster *emu_cluster_create(struct emu_grid *grid, uint64_t index,
                                       struct emu_queue *queue)
{
    struct emu_cluster *cluster = emu_alloc(sizeof(*cluster));
    const uint32_t *size = grid->launch.cluster;
    cluster->grid = grid;
    cluster->queue = queue;
    cluster->index = index;
    cluster->first_cta[0] = (uint32_t)(index % grid->cluster_grid[0]) * size[0];
    cluster->first_cta[1] =
        (uint32_t)(index / grid->cluster_grid[0] % grid->cluster_grid[1]) * size[1];
    cluster->first_cta[2] =
        (uint32_t)(index / grid->cluster_grid[0] / grid->cluster_grid[1]) * size[2];
    emu_random_seed(&cluster->random, emu_mix(grid->launch.settings.seed, index));
    cluster->cta_count = size[0] * size[1] * size[2];
    cluster->ctas = emu_alloc(cluster->cta_count * sizeof(*cluster->ctas));
    for (const struct emu_unit *const *unit = units_of(cluster); *unit != NULL; unit++) {
        (*unit)->attach_cluster(cluster);
    }
    for (unsigned rank = 0; rank < cluster->cta_count; rank++) {
        create_cta(cluster, rank);
    }
    cluster->starved = emu_random_below(&cluster->random, cluster->warps_left);
    return cluster;
}

static void destroy_cta(struct emu_cta *cta)
{
    for (unsigned i = 0; i < cta->warp_count; i++) {
        struct emu_warp *warp = &cta->warps[i];
        for (const struct emu_unit *const *unit = units_of(cta->cluster); *unit != NULL;
             unit++) {
            (*unit)->detach_warp(warp);
        }
        emu_sync_free(&warp->sync);
        emu_free(warp->r);
        emu_free(warp->undefined);
        emu_free(warp->p);
        emu_free(warp->p_undefined);
        emu_free(warp->local);
        emu_free(warp->local_state);
    }
    for (const struct emu_unit *const *unit = units_of(cta->cluster); *unit != NULL;
         unit++) {
        (*unit)->detach_cta(cta);
    }
    emu_shadow_free(cta->shadow);
    emu_reaches_free(cta->reaches);
    emu_free(cta->shared);
    emu_free(cta->shared_state);
    emu_origins_free_cta(cta);
    emu_free(cta->warps);
}

void emu_cluster_destroy(struct emu_cluster *cluster)
{
    emu_async_drop_all(cluster);
    for (unsigned rank = 0; rank < cluster->cta_count; rank++) {
        destroy_cta(&cluster->ctas[rank]);
    }
    for (const struct emu_unit *const *unit = units_of(cluster); *unit != NULL; unit++) {
        (*unit)->detach_cluster(cluster);
    }
    emu_sync_table_free(cluster->sync_table);
    emu_watches_free(cluster->watches);
    emu_lane_agents_free(cluster->lane_agents);
    emu_origins_free_cluster(cluster);
    emu_free(cluster->ctas);
    emu_free(cluster);
}

/* --------------------------------------------------------------------------- deadlock */

static struct emu_warp *warp_at(struct emu_cluster *cluster, unsigned index)
{
    unsigned warps = cluster->ctas[0].warp_count;
    return &cluster->ctas[index / warps].warps[index % warps];
}

static unsigned warp_total(const struct emu_cluster *cluster)
{
    return cluster->cta_count * cluster->ctas[0].warp_count;
}

static void describe_waiting_warp(struct emu_warp *warp, struct emu_text *text)
{
    const struct emu_insn *insn = warp->blocked_at;
    const struct ptx_module *module = emu_launch_of(warp->cta)->program->module;
    emu_text_add(text, "\n  CTA %u warp %u, lanes %08x: ", warp->cta->rank, warp->index,
                 warp->live);
    if (insn == NULL) {
        emu_text_add(text, "runs");
        return;
    }
    emu_text_add(text, "%s at ", insn->source->opcode);
    ptx_describe_location(module, &insn->source->location, text);
    struct emu_text wait = {0};
    for (const struct emu_unit *const *unit = units_of(warp->cta->cluster); *unit != NULL;
         unit++) {
        (*unit)->describe_wait(warp, insn, &wait);
    }
    if (wait.length > 0) {
        emu_text_add(text, "\n    %s", emu_text_get(&wait));
    }
    emu_text_free(&wait);
}

void emu_cluster_report_stuck(struct emu_cluster *cluster, enum emu_finding finding,
                              const char *problem_text)
{
    struct emu_text text = {0};
    struct emu_warp *first = warp_at(cluster, 0);
    const struct emu_insn *blocked_at = NULL;
    for (unsigned i = 0; i < warp_total(cluster); i++) {
        struct emu_warp *warp = warp_at(cluster, i);
        if (!warp->finished) {
            describe_waiting_warp(warp, &text);
            if (blocked_at == NULL) {
                first = warp;
                blocked_at = warp->blocked_at;
            }
        }
    }
    if (blocked_at == NULL) {
        blocked_at = &cluster->grid->launch.program->insns[first->pc];
    }
    emu_report_error(first, blocked_at, EMU_LANES, finding, "%s%s", problem_text,
                     emu_text_get(&text));
    emu_text_free(&text);
}

static enum emu_cluster_state report_stuck(struct emu_cluster *cluster,
                                           enum emu_finding finding,
                                           const char *problem_text)
{
    emu_cluster_report_stuck(cluster, finding, problem_text);
    return EMU_CLUSTER_FAILED;
}

/* -------------------------------------------------------------------------- scheduler */

/*
 * A lull of a CTA is a time in which nothing ends a wait in it. A warp that waits is not
 * asked again in the same lull: it would see the same. When all warps wait so, it is time
 * for what is under way. Who waits for memory, for time or for other clusters, is asked
 * again and again.
 */
static void note_wait(struct emu_cluster *cluster, struct emu_warp *warp)
{
    struct emu_cta *cta = warp->cta;
    /* Lanes that are apart wait for different things: two turns ask them all. */
    bool all_asked = warp->mask == warp->live || warp->asked_in == cta->lull;
    warp->asked_in = cta->lull;
    if (all_asked && warp->waits_in != cta->lull) {
        warp->waits_in = cta->lull;
        cta->waiting_warps++;
        cluster->waiting_warps++;
    }
}

static void note_success(struct emu_cluster *cluster, struct emu_warp *warp)
{
    if (warp->waits_in == warp->cta->lull) {
        warp->cta->waiting_warps--;
        cluster->waiting_warps--;
    }
    warp->asked_in = warp->waits_in = 0;
}

static bool is_idle(const struct emu_cluster *cluster)
{
    return cluster->waiting_warps == cluster->warps_left ||
           cluster->idle_turns > 2 * (cluster->warps_left - cluster->waiting_warps) + 8;
}

static struct emu_warp *next_in_turn(struct emu_cluster *cluster, unsigned after)
{
    unsigned total = warp_total(cluster);
    bool ask_all = is_idle(cluster);
    for (unsigned i = 1; i <= total; i++) {
        struct emu_warp *warp = warp_at(cluster, (after + i) % total);
        if (!warp->finished && (ask_all || warp->waits_in != warp->cta->lull)) {
            cluster->cursor = (after + i) % total;
            return warp;
        }
    }
    return NULL;
}

static struct emu_warp *pick_warp(struct emu_cluster *cluster, uint64_t *ret_quantum)
{
    unsigned total = warp_total(cluster);
    struct emu_warp *warp = NULL;
    *ret_quantum = 32;
    if (is_idle(cluster)) {
        /* Before anybody speaks of a deadlock, all have been asked. */
        return next_in_turn(cluster, cluster->cursor);
    }
    switch (cluster->grid->launch.settings.schedule) {
    case EMU_SCHEDULE_FAIR:
        return next_in_turn(cluster, cluster->cursor);
    case EMU_SCHEDULE_RANDOM:
        *ret_quantum = 1 + emu_random_below(&cluster->random, 64);
        return next_in_turn(cluster, emu_random_below(&cluster->random, total));
    case EMU_SCHEDULE_DEEP:
        *ret_quantum = 100000;
        warp = warp_at(cluster, cluster->cursor);
        return warp->finished || warp->blocked_at != NULL
                   ? next_in_turn(cluster, cluster->cursor)
                   : warp;
    case EMU_SCHEDULE_STARVE:
        warp = next_in_turn(cluster, emu_random_below(&cluster->random, total));
        if (cluster->cursor == cluster->starved && cluster->warps_left > 1) {
            warp = next_in_turn(cluster, cluster->cursor);
        }
        return warp;
    }
    return NULL;
}

bool emu_cta_end(struct emu_cta *cta)
{
    cta->exited = true;
    for (const struct emu_unit *const *unit = units_of(cta->cluster); *unit != NULL;
         unit++) {
        if (!(*unit)->cta_exited(cta)) {
            return false;
        }
    }
    return true;
}

/* What is still under way when all warps have ended takes effect. */
static enum emu_cluster_state finish(struct emu_cluster *cluster)
{
    bool ran = true;
    while (ran && !cluster->failed) {
        if (!emu_async_step(cluster, true, &ran)) {
            return EMU_CLUSTER_FAILED;
        }
    }
    return cluster->failed ? EMU_CLUSTER_FAILED : EMU_CLUSTER_ENDED;
}

/* Twice as much each time. A kernel that goes on waiting after that is stuck. */
bool emu_cluster_skip_time(struct emu_cluster *cluster)
{
    if (!cluster->time_was_read || cluster->skips == MOST_SKIPS) {
        return false;
    }
    cluster->skipped = 2 * cluster->skipped + 1000;
    cluster->skips++;
    cluster->time_was_read = false;
    cluster->idle_turns = 0;
    return true;
}

/* Nobody went on in this turn. */
static enum emu_cluster_state idle(struct emu_cluster *cluster)
{
    bool ran = false;
    cluster->idle_turns++;
    if (!is_idle(cluster)) {
        return EMU_CLUSTER_RUNNING;
    }
    if (!emu_async_step(cluster, true, &ran)) {
        return EMU_CLUSTER_FAILED;
    }
    if (ran) {
        cluster->idle_turns = 0;
        return EMU_CLUSTER_RUNNING;
    }
    if (cluster->waits_for_grid && cluster->idle_turns > 3 * cluster->warps_left + 8) {
        /* All have been asked since nobody went on. */
        cluster->idle_turns = 0;
        return EMU_CLUSTER_WAITING;
    }
    if (cluster->idle_turns > 16 * cluster->warps_left + 64 &&
        !emu_cluster_skip_time(cluster)) {
        return report_stuck(cluster, EMU_FINDING_DEADLOCK,
                            "no warp can go on and nothing is under way:");
    }
    return EMU_CLUSTER_RUNNING;
}

enum emu_cluster_state emu_cluster_run(struct emu_cluster *cluster, uint64_t turns)
{
    for (uint64_t turn = 0; turn < turns; turn++) {
        if (cluster->warps_left == 0) {
            return finish(cluster);
        }
        bool ran = false;
        uint64_t quantum = 0;
        cluster->now++;
        if (!emu_async_step(cluster, false, &ran)) {
            return EMU_CLUSTER_FAILED;
        }
        struct emu_warp *warp = pick_warp(cluster, &quantum);
        uint64_t events = cluster->events;
        uint64_t steps = warp->steps;
        cluster->turn_began = steps;
        cluster->waits_for_grid = cluster->must_be_asked = false;
        enum emu_turn result = emu_warp_turn(warp, quantum);
        cluster->warp_steps += warp->steps - steps;
        if (result == EMU_TURN_FAILED || cluster->failed) {
            return EMU_CLUSTER_FAILED;
        }
        if (result == EMU_TURN_ENDED) {
            cluster->warps_left--;
            if (--warp->cta->warps_left == 0 && !emu_cta_end(warp->cta)) {
                return EMU_CLUSTER_FAILED;
            }
        }
        if (result == EMU_TURN_WAITED && !cluster->waits_for_grid &&
            !cluster->must_be_asked) {
            note_wait(cluster, warp);
        } else {
            note_success(cluster, warp);
        }
        bool went_on = result == EMU_TURN_ENDED || cluster->events != events || ran;
        if (went_on) {
            cluster->steps_at_event = cluster->warp_steps;
        }
        if (result == EMU_TURN_RAN &&
            (warp->last_spin == 0 || warp->steps - warp->last_spin > EMU_SPIN_STEPS)) {
            went_on = true;
        }
        if (went_on) {
            cluster->idle_turns = 0;
        } else {
            enum emu_cluster_state state = idle(cluster);
            if (state != EMU_CLUSTER_RUNNING) {
                return state;
            }
        }
        if (cluster->warp_steps - cluster->steps_at_event >
            cluster->grid->launch.settings.max_steps) {
            return report_stuck(cluster, EMU_FINDING_NO_PROGRESS,
                                "max_steps instructions were executed and nothing was "
                                "stored, signalled or finished:");
        }
        if (cluster->warp_steps / STEPS_IN_ALL > cluster->grid->launch.settings.max_steps) {
            return report_stuck(cluster, EMU_FINDING_NO_PROGRESS,
                                "1000 times max_steps instructions were executed by one "
                                "cluster, which stores or signals without end:");
        }
    }
    return cluster->warps_left == 0 ? finish(cluster) : EMU_CLUSTER_RUNNING;
}
