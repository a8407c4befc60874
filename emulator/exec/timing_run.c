/* SPDX-License-Identifier: MIT */
/*
 * Runs grids by the clock: the earliest of all warps and operations goes on. Those of equal
 * time keep the order in which they were submitted, so that a launch runs the same way
 * every time.
 */
#include <string.h>

#include "exec/async.h"
#include "exec/cluster.h"
#include "exec/timing.h"

struct emu_time_event {
    uint64_t time, order;
    struct emu_warp *warp;   /* or */
    struct emu_async *async; /* the other is NULL */
};

/* A warp may run so far ahead of others in instructions that nobody else sees. */
#define LOOKAHEAD 16u
/* While an instruction waits for registers, others behind it are issued, as the assembler
 * would put them before it: those of so many clocks. */
#define AHEAD 128u
/* Memory that is polled is asked again after so many clocks. */
#define POLL_CLOCKS 200u
#define L1_PLACES   256u
/* From the end of a CTA until the next one in its place begins. */
#define REPLACE_CLOCKS 300u

struct run {
    struct emu_grid *grids;
    unsigned count;
    struct emu_timer timer;
    struct emu_arena arena;
    struct emu_time_insn **insns; /* by grid */
    struct emu_cluster **resident;
    uint64_t resident_count;
    bool has_room; /* a cluster has ended since the last one was refused */
    uint64_t most; /* instructions of warps until it is stopped; 0: it is not */
    bool stopped, failed;
};

/* -------------------------------------------------------------------------------- heap */

static bool is_before(const struct emu_time_event *a, const struct emu_time_event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void push(struct emu_timer *timer, struct emu_time_event event)
{
    if (timer->event_count == timer->event_room) {
        const uint32_t room = timer->event_room == 0 ? 1024 : timer->event_room * 2;
        struct emu_time_event *events = emu_alloc(room * sizeof(*events));
        for (uint32_t i = 0; i < timer->event_count; i++) {
            events[i] = timer->events[i];
        }
        emu_free(timer->events);
        timer->events = events;
        timer->event_room = room;
    }
    event.order = ++timer->event_order;
    uint32_t at = timer->event_count++;
    while (at > 0 && is_before(&event, &timer->events[(at - 1) / 2])) {
        timer->events[at] = timer->events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    timer->events[at] = event;
}

static struct emu_time_event pop(struct emu_timer *timer)
{
    const struct emu_time_event first = timer->events[0];
    const struct emu_time_event last = timer->events[--timer->event_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= timer->event_count) {
            break;
        }
        if (child + 1 < timer->event_count &&
            is_before(&timer->events[child + 1], &timer->events[child])) {
            child++;
        }
        if (!is_before(&timer->events[child], &last)) {
            break;
        }
        timer->events[at] = timer->events[child];
        at = child;
    }
    timer->events[at] = last;
    return first;
}

static uint64_t next_time(const struct emu_timer *timer)
{
    return timer->event_count == 0 ? UINT64_MAX : timer->events[0].time;
}

void emu_timer_submit(struct emu_timer *timer, struct emu_async *async)
{
    const uint64_t time = async->at[0] > timer->now ? async->at[0] : timer->now;
    push(timer, (struct emu_time_event){.time = time, .async = async});
}

static void queue_warp(struct emu_timer *timer, struct emu_warp *warp, uint64_t time)
{
    push(timer, (struct emu_time_event){.time = time, .warp = warp});
}

/* ----------------------------------------------------------------------------- waiting */

static void wake(struct emu_timer *timer, struct emu_warp *warp, uint64_t at)
{
    struct emu_warp_time *time = warp->time;
    if (time->clock < at) {
        time->stalls[time->stall] += at - time->clock;
        time->clock = at;
    }
    time->parked = false;
    time->watched = NULL;
    queue_warp(timer, warp, time->clock);
}

/* Something happened in the cluster: who waits for that is asked again. */
static void wake_waiting(struct emu_timer *timer, struct emu_cluster *cluster)
{
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        struct emu_cta *cta = &cluster->ctas[i];
        if (cta->time->lull == cta->lull) {
            continue;
        }
        cta->time->lull = cta->lull;
        for (unsigned j = 0; j < cta->warp_count; j++) {
            struct emu_warp_time *time = cta->warps[j].time;
            if (time->parked &&
                (time->watched == NULL || *time->watched != time->watched_value)) {
                wake(timer, &cta->warps[j], timer->now + time->wake);
            }
        }
    }
}

/* ------------------------------------------------------------------------- instructions */

/* When the warp can issue this, and why not before. */
static uint64_t find_issue(const struct emu_warp *warp, const struct emu_time_insn *info,
                           enum emu_stall *ret_stall)
{
    const struct emu_warp_time *time = warp->time;
    uint64_t at = time->clock;
    if (!info->moves && info->kind == EMU_TIME_PLAIN && time->last > at) {
        at = time->last;
        *ret_stall = EMU_STALL_DEPENDENCY;
    }
    if (info->tells && warp->cta->time->there > at) {
        at = warp->cta->time->there;
        *ret_stall = EMU_STALL_MEMORY;
    }
    for (uint32_t i = 0; i < info->sources; i++) {
        const uint64_t ready = time->ready[info->registers[i]];
        if (ready >> 1 > at) {
            at = ready >> 1;
            *ret_stall = (ready & 1) != 0 ? EMU_STALL_MEMORY : EMU_STALL_DEPENDENCY;
        }
    }
    const uint64_t free =
        emu_issue_find(&warp->cta->time->sm->issue[warp->index % EMU_SM_PARTS], at);
    if (info->issue > 0 && free > at) {
        at = free;
        *ret_stall = EMU_STALL_ISSUE;
    }
    return at;
}

/* When the warp is at an instruction that it issues at `at`. */
static uint64_t find_turn(const struct emu_warp *warp, const struct emu_time_insn *info,
                          uint64_t at)
{
    const uint64_t clock = warp->time->clock;
    return !info->moves ? at : at > clock + AHEAD ? at - AHEAD : clock;
}

static uint32_t active_lanes(const struct emu_warp *warp, const struct emu_insn *insn)
{
    if (insn->guard == EMU_NO_PREDICATE) {
        return warp->mask;
    }
    const uint32_t values = warp->p[insn->guard];
    return warp->mask & (insn->guard_negated ? ~values : values);
}

/* Charges what was issued at `at` and took effect when the warp's clock says, or later;
 * `result`: when its registers can be used. */
static void charge(struct emu_warp *warp, const struct emu_time_insn *info, uint64_t at,
                   uint64_t result, bool executed)
{
    struct emu_warp_time *time = warp->time;
    const unsigned issue = executed || info->issue == 0 ? info->issue : 1;
    emu_issue_take(&warp->cta->time->sm->issue[warp->index % EMU_SM_PARTS], at, issue);
    if (result < time->clock) {
        result = time->clock + info->latency;
    }
    if (info->moves) {
        time->last = time->last > at + issue ? time->last : at + issue;
    } else {
        time->clock += issue + (executed ? info->hold : 0);
    }
    time->issued += issue;
    if (executed && info->hold > 0) {
        time->stalls[info->stall] += info->hold;
    }
    const uint64_t memory = info->kind == EMU_TIME_PLAIN ? 0 : 1;
    for (uint32_t i = info->sources; executed && i < info->count; i++) {
        time->ready[info->registers[i]] = result << 1 | memory;
    }
}

/* The warp has to wait: it stays at the time at which it came here. */
static void park(struct run *run, struct emu_warp *warp, const struct emu_time_insn *info)
{
    struct emu_cluster *cluster = warp->cta->cluster;
    warp->time->parked = true;
    warp->time->stall = info->stall;
    warp->time->wake = info->wake;
    if (cluster->must_be_asked || cluster->waits_for_grid) {
        warp->time->stall = EMU_STALL_GRID;
        wake(&run->timer, warp, run->timer.now + POLL_CLOCKS);
    }
}

static bool end_warp(struct run *run, struct emu_warp *warp)
{
    struct emu_cluster *cluster = warp->cta->cluster;
    warp->time->ended = warp->time->clock;
    if (run->timer.last_effect < warp->time->clock) {
        run->timer.last_effect = warp->time->clock;
    }
    cluster->warps_left--;
    return --warp->cta->warps_left > 0 || emu_cta_end(warp->cta);
}

/* Waiting in hardware: the instruction itself goes on when its time has come. */
static void stay_at(struct emu_warp *warp, const struct emu_insn *insn)
{
    if (warp->mask == warp->live) {
        warp->pc = insn->index;
    }
}

static bool made_no_progress(const struct emu_cluster *cluster)
{
    return cluster->warp_steps - cluster->steps_at_event >
           cluster->grid->launch.settings.max_steps;
}

/* One instruction. *ret_goes_on: the warp can go on at once. False: failed. */
static bool step(struct run *run, struct emu_warp *warp, bool *ret_goes_on)
{
    struct emu_cluster *cluster = warp->cta->cluster;
    const struct emu_program *program = cluster->grid->launch.program;
    static const struct emu_time_insn at_the_end = {.meets = true};
    const bool ends = warp->pc >= program->insn_count;
    const struct emu_insn *insn = ends ? NULL : &program->insns[warp->pc];
    const struct emu_time_insn *info =
        ends ? &at_the_end : &run->insns[cluster->grid->order][warp->pc];
    enum emu_stall stall = EMU_STALL_ISSUE;
    const uint64_t at = find_issue(warp, info, &stall);
    const uint64_t turn_at = find_turn(warp, info, at);
    const uint64_t others = next_time(&run->timer);
    *ret_goes_on = false;
    if (turn_at > others && (info->meets || turn_at > others + LOOKAHEAD)) {
        queue_warp(&run->timer, warp, turn_at);
        return true;
    }
    warp->time->stalls[stall] += turn_at - warp->time->clock;
    warp->time->clock = turn_at;
    run->timer.now = turn_at;
    const uint32_t lanes = ends ? 0 : active_lanes(warp, insn);
    if (info->fence > 0 && lanes != 0 && warp->time->fenced != insn) {
        warp->time->fenced = insn;
        warp->time->stalls[EMU_STALL_FENCE] += info->fence;
        warp->time->clock += info->fence;
        queue_warp(&run->timer, warp, warp->time->clock);
        return true;
    }
    warp->time->fenced = NULL;
    const uint64_t result = info->kind == EMU_TIME_PLAIN || lanes == 0
                                ? at + info->latency
                                : emu_time_access(&run->timer, warp, insn, info, lanes);
    const uint64_t events = cluster->events;
    const uint64_t steps = warp->steps;
    cluster->turn_began = steps;
    cluster->waits_for_grid = cluster->must_be_asked = false;
    const enum emu_turn turn = emu_warp_turn(warp, 1);
    cluster->warp_steps += warp->steps - steps;
    run->timer.result->instructions += warp->steps - steps;
    if (cluster->events != events) {
        cluster->steps_at_event = cluster->warp_steps;
    }
    if (turn == EMU_TURN_FAILED || cluster->failed) {
        return false;
    }
    if (turn == EMU_TURN_WAITED && !info->is_peek) {
        if (info->is_try_wait) {
            stay_at(warp, insn);
        }
        park(run, warp, info);
    } else if (turn == EMU_TURN_WAITED && warp->time->peeked == insn) {
        warp->time->stall = info->stall; /* asks again and again */
        wake(&run->timer, warp, at + POLL_CLOCKS);
    } else {
        if (turn == EMU_TURN_WAITED) { /* the answer is no, and nothing waits for it */
            warp->time->peeked = insn;
            warp->time->watched = NULL;
        }
        charge(warp, info, at, result, lanes != 0);
        *ret_goes_on = turn == EMU_TURN_RAN || turn == EMU_TURN_WAITED;
        if (turn == EMU_TURN_ENDED && !end_warp(run, warp)) {
            return false;
        }
    }
    wake_waiting(&run->timer, cluster);
    if (made_no_progress(cluster)) {
        emu_cluster_report_stuck(cluster, EMU_FINDING_NO_PROGRESS,
                                 "max_steps instructions were executed and nothing was "
                                 "stored, signalled or finished:");
        return false;
    }
    return true;
}

static bool run_warp(struct run *run, struct emu_warp *warp)
{
    bool goes_on = true;
    while (goes_on) {
        if (!step(run, warp, &goes_on)) {
            return false;
        }
    }
    return true;
}

static bool run_async(struct run *run, struct emu_async *async)
{
    struct emu_cluster *cluster = async->warp->cta->cluster;
    const enum emu_async_result result = emu_async_run_timed(async);
    if (run->timer.last_effect < run->timer.now) {
        run->timer.last_effect = run->timer.now;
    }
    cluster->steps_at_event = cluster->warp_steps;
    wake_waiting(&run->timer, cluster);
    return result != EMU_ASYNC_FAILED && !cluster->failed;
}

/* ---------------------------------------------------------------------------- clusters */

static void start_cluster(struct run *run, struct emu_cluster *cluster,
                          struct emu_sm_time **places, uint64_t begins)
{
    const struct emu_launch *launch = &cluster->grid->launch;
    struct emu_timer *timer = &run->timer;
    const uint32_t registers = launch->program->function->register_count;
    cluster->timer = timer;
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        struct emu_cta *cta = &cluster->ctas[i];
        cta->time = emu_alloc(sizeof(*cta->time));
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): all were found */
        cta->time->sm = places[i];
        cta->time->lull = cta->lull;
        if (places[i]->l1 == NULL) {
            places[i]->l1 = emu_alloc(L1_PLACES * sizeof(*places[i]->l1));
            timer->result->sms_used++;
        }
        places[i]->ctas++;
        places[i]->warps += cta->warp_count;
        places[i]->shared_bytes += emu_places_shared_bytes(launch);
        for (unsigned j = 0; j < cta->warp_count; j++) {
            struct emu_warp_time *time = emu_alloc(sizeof(*time));
            time->begun = time->clock = begins;
            time->ready = emu_alloc((registers + 1) * sizeof(*time->ready));
            cta->warps[j].time = time;
            queue_warp(timer, &cta->warps[j], begins);
        }
    }
    if (timer->result->last_cta < begins) {
        timer->result->last_cta = begins;
    }
}

/* CTAs of a launch begin one after the other, within the chip's skew. */
static uint64_t begin_time(const struct run *run, const struct emu_grid *grid,
                           uint64_t limit)
{
    const struct emu_chip *chip = run->timer.chip;
    const uint64_t first = (uint64_t)(chip->launch_us * run->timer.mhz);
    if (run->timer.now > first) {
        return run->timer.now + REPLACE_CLOCKS;
    }
    const uint64_t at_once = limit < grid->cluster_total ? limit : grid->cluster_total;
    return first + (uint64_t)(chip->skew_us * run->timer.mhz *
                              (double)grid->resident_count / (double)at_once);
}

static uint64_t resident_limit(const struct emu_grid *grid)
{
    const struct emu_launch *launch = &grid->launch;
    const uint64_t size =
        (uint64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    const uint64_t fits = emu_grid_ctas_per_sm(launch) * launch->sm_count / size;
    const uint64_t most = launch->settings.resident != 0   ? launch->settings.resident
                          : launch->resident_clusters != 0 ? launch->resident_clusters
                                                           : fits;
    return most < 1 ? 1 : most;
}

/* Of a grid whose clusters do not meet, a part may stand for all: the same part of those
 * that begin together, and of those that follow them. */
static void choose_sample(struct run *run, struct emu_grid *grid)
{
    const uint64_t wanted = grid->launch.settings.sample;
    const uint64_t limit = resident_limit(grid);
    const uint64_t at_once = limit < grid->cluster_total ? limit : grid->cluster_total;
    if (wanted != 0 && wanted < at_once && !grid->launch.program->shares_grid) {
        grid->queue.sampled = run->timer.result->sampled = wanted;
        grid->queue.per_round = run->timer.result->per_round = at_once;
    }
}

/* The part of the grid that runs. */
static double sampled_part(const struct emu_timing *result)
{
    return result->sampled == 0 ? 1 : (double)result->sampled / (double)result->per_round;
}

static bool may_start(const struct run *run, unsigned index)
{
    return index == 0 || run->grids[index - 1].dependents_allowed ||
           run->grids[index - 1].finished;
}

static bool admit_cluster(struct run *run)
{
    struct emu_sm_time *places[EMU_MAX_CLUSTER];
    for (unsigned i = 0; i < run->count && may_start(run, i); i++) {
        struct emu_grid *grid = &run->grids[i];
        const struct emu_launch *launch = &grid->launch;
        const uint64_t limit =
            grid->queue.sampled != 0 ? grid->queue.sampled : resident_limit(grid);
        if (!grid->started) {
            emu_grid_start(run->grids, i);
            emu_places_share_out(&run->timer, grid->cluster_total);
        }
        if (grid->resident_count >= limit ||
            !emu_places_find(&run->timer, launch, run->resident_count == 0, places)) {
            continue;
        }
        struct emu_cluster *cluster = emu_grid_next_cluster(grid);
        if (cluster != NULL) {
            start_cluster(run, cluster, places, begin_time(run, grid, limit));
            EMU_GROW(run->resident, run->resident_count);
            run->resident[run->resident_count++] = cluster;
            grid->resident_count++;
            return true;
        }
    }
    return false;
}

static void add_role(struct emu_timing *result, unsigned index,
                     const struct emu_warp_time *time)
{
    struct emu_time_role *role = &result->role[index];
    result->roles = result->roles > index ? result->roles : index + 1;
    role->warps++;
    role->lived += time->ended - time->begun;
    role->issued += time->issued;
    for (unsigned i = 0; i < EMU_STALL_COUNT; i++) {
        role->stalls[i] += time->stalls[i];
    }
}

static void leave_sm(struct emu_cta *cta, const struct emu_launch *launch)
{
    struct emu_sm_time *sm = cta->time->sm;
    sm->ctas--;
    sm->warps -= cta->warp_count;
    sm->shared_bytes -= emu_places_shared_bytes(launch);
}

static void remove_cluster(struct run *run, uint64_t at, bool failed)
{
    struct emu_cluster *cluster = run->resident[at];
    struct emu_grid *grid = cluster->grid;
    run->resident[at] = run->resident[--run->resident_count];
    grid->resident_count--;
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        struct emu_cta *cta = &cluster->ctas[i];
        leave_sm(cta, &grid->launch);
        for (unsigned j = 0; j < cta->warp_count; j++) {
            add_role(run->timer.result, j, cta->warps[j].time);
            emu_free(cta->warps[j].time->ready);
            emu_free(cta->warps[j].time);
            cta->warps[j].time = NULL;
        }
        emu_free(cta->time);
        cta->time = NULL;
    }
    cluster->timer = NULL;
    emu_grid_retire(grid, cluster, failed);
    if (grid->resident_count == 0 && grid->queue.next >= grid->cluster_total) {
        grid->finished = true;
    }
}

static void remove_ended(struct run *run, const struct emu_cluster *cluster)
{
    if (cluster->warps_left > 0 || cluster->pending != NULL) {
        return;
    }
    for (uint64_t i = 0; i < run->resident_count; i++) {
        if (run->resident[i] == cluster) {
            remove_cluster(run, i, false);
            run->has_room = true;
            return;
        }
    }
}

/* ------------------------------------------------------------------------------- whole */

static void fail(struct run *run)
{
    run->failed = true;
    while (run->resident_count > 0) {
        remove_cluster(run, run->resident_count - 1, true);
    }
    for (unsigned i = 0; i < run->count; i++) {
        run->grids[i].failed = true;
    }
}

/* Leaves what runs where it is. */
static void stop(struct run *run)
{
    run->stopped = true;
    run->timer.common = emu_waves_count(&run->timer);
    while (run->resident_count > 0) {
        remove_cluster(run, run->resident_count - 1, false);
    }
}

static void run_events(struct run *run)
{
    struct emu_timer *timer = &run->timer;
    for (;;) {
        while ((run->has_room || run->count > 1) && admit_cluster(run)) {
        }
        run->has_room = false;
        if (timer->event_count == 0) {
            break;
        }
        const struct emu_time_event event = pop(timer);
        struct emu_cluster *cluster =
            (event.warp != NULL ? event.warp : event.async->warp)->cta->cluster;
        timer->now = event.time;
        if (!(event.warp != NULL ? run_warp(run, event.warp)
                                 : run_async(run, event.async))) {
            fail(run);
            return;
        }
        remove_ended(run, cluster);
        if (run->most != 0 && timer->result->instructions >= run->most) {
            run->most = 0;
            if (emu_waves_count(timer) > 0) {
                stop(run);
                return;
            }
        }
    }
    if (run->resident_count > 0) {
        emu_cluster_report_stuck(run->resident[0], EMU_FINDING_DEADLOCK,
                                 "no warp can go on and nothing is under way:");
        fail(run);
    }
}

static void add_pipe(struct emu_timing *result, const struct emu_pipe_time *own)
{
    struct emu_pipe_time *all = &result->tensor;
    if (own->products == 0) {
        return;
    }
    all->first += own->first;
    all->last += own->last;
    all->between += own->between;
    all->longest = own->longest > all->longest ? own->longest : all->longest;
    all->within += own->within;
    all->slowed += own->slowed;
    all->sums += own->sums;
    all->products += own->products;
    result->tensor_sms++;
}

static void find_means(struct emu_timing *result)
{
    struct emu_pipe_time *all = &result->tensor;
    const double count = result->tensor_sms == 0 ? 1 : (double)result->tensor_sms;
    all->first /= count;
    all->last /= count;
    all->between /= count;
    all->within /= count;
    all->slowed /= count;
}

static void sum_up(struct run *run)
{
    struct emu_timing *result = run->timer.result;
    const struct emu_levels *levels = run->timer.levels;
    double busy = 0;
    result->chip = run->timer.chip;
    result->mhz = run->timer.mhz;
    result->gap = run->grids[run->count - 1].triggered
                      ? 0
                      : (uint64_t)(result->chip->gap_us * result->mhz);
    result->clocks = run->timer.last_effect + result->gap;
    result->sm_count = run->timer.sm_count;
    result->l2_bytes = levels->l2_bytes;
    result->link_bytes = levels->link_bytes;
    result->dram_read = levels->dram_read;
    result->dram_written = levels->dram_written;
    for (unsigned i = 0; i < run->timer.sm_count; i++) {
        busy += run->timer.sms[i].pipe.busy;
        add_pipe(result, &run->timer.sms[i].tensor);
    }
    find_means(result);
    result->tensor_busy =
        result->clocks == 0
            ? 0
            : busy / run->timer.sm_count / (double)result->clocks / sampled_part(result);
}

/* Clusters that run to their end where a part stands for all. */
enum { PART_CLUSTERS = 4 };

/* The clock falls where tensor cores work, whatever else does. */
static double usual_mhz(const struct emu_launch *launch)
{
    const struct emu_program *program = launch->program;
    for (uint32_t i = 0; i < program->insn_count; i++) {
        const struct ptx_insn *insn = program->insns[i].source;
        if (strcmp(insn->words[0], "wgmma") == 0 ||
            strcmp(insn->words[0], "tcgen05") == 0) {
            return launch->chip->tensor_mhz;
        }
    }
    return launch->chip->boost_mhz;
}

static void open_run(struct run *run, struct emu_grid *grids, unsigned count,
                     struct emu_timing *result)
{
    const struct emu_launch *launch = &grids[0].launch;
    *run = (struct run){.grids = grids, .count = count, .has_room = true};
    run->timer = (struct emu_timer){
        .chip = launch->chip,
        .mhz = launch->mhz > 0 ? launch->mhz : usual_mhz(launch),
        .sm_count = launch->sm_count,
        .result = result,
    };
    *result = (struct emu_timing){0};
    if (count == 1) {
        choose_sample(run, &grids[0]);
    }
    run->timer.levels =
        emu_levels_create(run->timer.chip, run->timer.mhz, sampled_part(result));
    emu_places_create(&run->timer);
    run->insns = emu_alloc(count * sizeof(struct emu_time_insn *));
    for (unsigned i = 0; i < count; i++) {
        run->insns[i] =
            emu_time_insns(grids[i].launch.program, run->timer.chip, &run->arena);
    }
}

static void close_run(struct run *run)
{
    emu_levels_free(run->timer.levels);
    emu_places_free(&run->timer);
    emu_free(run->timer.events);
    emu_free(run->timer.buffers);
    emu_free(run->insns);
    emu_free(run->resident);
    emu_arena_free(&run->arena);
}

/* Until how many instructions all of it runs; 0: to its end. Numbers do not matter where it
 * is stopped, and clusters do not meet. */
static uint64_t find_most(const struct emu_grid *grid, unsigned count)
{
    const struct emu_settings *settings = &grid->launch.settings;
    const bool can_be_part = count == 1 && settings->numbers == EMU_NUMBERS_OFF &&
                             settings->sample == 0 && !grid->launch.program->shares_grid &&
                             resident_limit(grid) > UINT64_C(2) * PART_CLUSTERS &&
                             grid->cluster_total > UINT64_C(2) * PART_CLUSTERS;
    return can_be_part ? settings->whole * UINT64_C(1000000) : 0;
}

/* The part that runs to its end, when the whole launch was stopped. False: it says nothing
 * of the rest. */
static bool run_part(struct run *all, struct emu_timing *result)
{
    struct emu_grid *grid = all->grids;
    struct run part;
    emu_grid_reset(grid);
    grid->launch.settings.sample = PART_CLUSTERS;
    open_run(&part, grid, 1, result);
    grid->queue.spread = true;
    part.timer.notes_products = true;
    run_events(&part);
    sum_up(&part);
    const bool is_known = part.failed || emu_waves_extrapolate(&all->timer, &part.timer);
    close_run(&part);
    grid->launch.settings.sample = 0;
    return is_known;
}

/* `most`: as find_most gives it. False: it was stopped, and nothing is known of the rest.
 */
static bool run_grids(struct emu_grid *grids, unsigned count, struct emu_timing *result,
                      uint64_t most)
{
    struct emu_timing first = {0};
    struct run run;
    bool is_known = true;
    open_run(&run, grids, count, result);
    run.most = most;
    run.timer.notes_products = most != 0;
    run_events(&run);
    if (run.stopped) {
        run.timer.result = &first;
        is_known = run_part(&run, result);
    } else {
        sum_up(&run);
    }
    close_run(&run);
    return is_known;
}

void emu_grids_run_timed(struct emu_grid *grids, unsigned count)
{
    struct emu_timing unasked = {0};
    struct emu_timing *timing = grids[0].launch.timing;
    struct emu_timing *result = timing == NULL ? &unasked : timing;
    if (!run_grids(grids, count, result, find_most(&grids[0], count))) {
        emu_grid_reset(&grids[0]);
        (void)run_grids(grids, count, result, 0);
    }
}
