/* SPDX-License-Identifier: MIT */
/* A grid: clusters on host threads, or, when they can meet, side by side on one. */
#include <unistd.h>

#include "exec/cluster.h"
#include "exec/memory.h"
#include "exec/strong.h"

/* Turns that a resident cluster takes before the next one's. */
#define SLICE_TURNS 64u

struct worker {
    struct emu_grid *grid;
    pthread_t thread;
    bool started;
};

/* By shared memory and warps; the hardware looks at nothing else when it places a CTA. */
uint64_t emu_grid_ctas_per_sm(const struct emu_launch *launch)
{
    uint64_t shared_bytes = launch->program->static_shared_bytes +
                            launch->dynamic_shared_bytes + EMU_SHARED_FIRST;
    uint64_t warps =
        emu_ceil_div((uint64_t)launch->block[0] * launch->block[1] * launch->block[2], 32);
    uint64_t count = UINT64_C(228) * 1024 / shared_bytes;
    count = count > 64 / warps ? 64 / warps : count;
    return count > 32 ? 32 : count < 1 ? 1 : count;
}

/* How many of its clusters the device holds at once. */
static uint64_t resident_limit(const struct emu_grid *grid)
{
    const struct emu_launch *launch = &grid->launch;
    if (launch->settings.resident != 0) {
        return launch->settings.resident;
    }
    if (launch->program->uses_launch_control) {
        /* Few, so that most of the grid is there to be cancelled; two at least, for two
         * host threads. */
        return 2 + emu_mix(launch->settings.seed, grid->cluster_total) % 3;
    }
    uint64_t size = (uint64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    uint64_t clusters = emu_grid_ctas_per_sm(launch) * launch->sm_count / size;
    return clusters < 1 ? 1 : clusters;
}

/* Of each round of a sampled grid the first ones run, or as many that lie evenly in it: the
 * last ones often have less to do. */
static bool is_sampled(const struct emu_queue *queue, uint64_t index)
{
    const uint64_t place = index % queue->per_round;
    const uint64_t half = queue->per_round / 2;
    return queue->spread
               ? (place * queue->sampled + half) % queue->per_round < queue->sampled
               : place < queue->sampled;
}

/* Each queue has one of as many clusters as there are queues, the first ones in order. */
static bool is_in_queue(const struct emu_grid *grid, const struct emu_queue *queue,
                        uint64_t index)
{
    if (queue->sampled != 0 && !is_sampled(queue, index)) {
        return false;
    }
    uint64_t round = index / queue->count;
    uint64_t turned = round == 0 ? 0 : emu_mix(grid->launch.settings.seed, round);
    return (index + turned % queue->count) % queue->count == queue->number;
}

bool emu_queue_take(struct emu_grid *grid, struct emu_queue *queue, uint64_t *ret_index)
{
    pthread_mutex_lock(&grid->lock);
    while (queue->next < grid->cluster_total && !is_in_queue(grid, queue, queue->next)) {
        queue->next++;
    }
    bool taken = !grid->failed && queue->next < grid->cluster_total;
    if (taken) {
        *ret_index = queue->next++;
    }
    pthread_mutex_unlock(&grid->lock);
    return taken;
}

void emu_grid_retire(struct emu_grid *grid, struct emu_cluster *cluster, bool failed)
{
    pthread_mutex_lock(&grid->lock);
    if (failed) {
        __atomic_store_n(&grid->failed, true, __ATOMIC_RELAXED);
    }
    grid->wrong |= cluster->wrong;
    grid->warp_steps += cluster->warp_steps;
    grid->thread_steps += cluster->thread_steps;
    pthread_mutex_unlock(&grid->lock);
    emu_cluster_destroy(cluster);
}

struct emu_cluster *emu_grid_next_cluster(struct emu_grid *grid)
{
    uint64_t index = 0;
    return emu_queue_take(grid, &grid->queue, &index)
               ? emu_cluster_create(grid, index, &grid->queue)
               : NULL;
}

/* Independent clusters: each runs to its end. */
static void run_queue(struct emu_grid *grid, struct emu_queue *queue)
{
    uint64_t index = 0;
    while (emu_queue_take(grid, queue, &index)) {
        struct emu_cluster *cluster = emu_cluster_create(grid, index, queue);
        enum emu_cluster_state state = EMU_CLUSTER_RUNNING;
        while (state == EMU_CLUSTER_RUNNING || state == EMU_CLUSTER_WAITING) {
            state = emu_cluster_run(cluster, 4096);
            if (__atomic_load_n(&grid->failed, __ATOMIC_RELAXED)) {
                state = EMU_CLUSTER_FAILED;
            }
        }
        emu_grid_retire(grid, cluster, state == EMU_CLUSTER_FAILED);
    }
}

/* The next of several queues. */
static bool take_queue(struct emu_grid *grid, unsigned count, struct emu_queue *ret_queue)
{
    pthread_mutex_lock(&grid->lock);
    bool taken = grid->queues_taken < count;
    if (taken) {
        *ret_queue = (struct emu_queue){.number = grid->queues_taken++, .count = count};
    }
    pthread_mutex_unlock(&grid->lock);
    return taken;
}

/* How many clusters run at once, and cancel others where the kernel uses launch control. */
static unsigned queue_count(const struct emu_grid *grid)
{
    uint64_t count = resident_limit(grid);
    return (unsigned)(count < grid->cluster_total ? count : grid->cluster_total);
}

static void *work(void *argument)
{
    struct emu_grid *grid = ((struct worker *)argument)->grid;
    if (!grid->launch.program->uses_launch_control) {
        run_queue(grid, &grid->queue);
        return NULL;
    }
    struct emu_queue queue;
    while (take_queue(grid, queue_count(grid), &queue)) {
        run_queue(grid, &queue);
    }
    return NULL;
}

static unsigned thread_count(const struct emu_grid *grid)
{
    uint64_t count = grid->launch.settings.threads;
    if (count == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        count = cores > 0 ? (uint64_t)cores : 1;
    }
    uint64_t most =
        grid->launch.program->uses_launch_control ? queue_count(grid) : grid->cluster_total;
    return (unsigned)(count < most ? count : most);
}

static void run_independent(struct emu_grid *grid)
{
    unsigned count = thread_count(grid);
    struct worker *workers = emu_alloc(count * sizeof(*workers));
    for (unsigned i = 1; i < count; i++) {
        workers[i].grid = grid;
        workers[i].started =
            pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    workers[0].grid = grid;
    work(&workers[0]);
    for (unsigned i = 1; i < count; i++) {
        if (workers[i].started) {
            pthread_join(workers[i].thread, NULL);
        }
    }
    emu_free(workers);
}

static void report_stuck_grid(struct emu_cluster *cluster)
{
    struct emu_warp *warp = &cluster->ctas[0].warps[0];
    emu_report_error(
        warp, &cluster->grid->launch.program->insns[0], EMU_LANES, EMU_FINDING_DEADLOCK,
        "every resident cluster waits for something outside itself that cannot "
        "come any more");
}

/* Grids side by side, and their clusters on the device. */
struct together {
    struct emu_grid *grids;
    unsigned count;
    struct emu_cluster **resident;
    uint64_t resident_count;
    struct emu_random random;
    uint64_t waiting; /* slices in a row that found a cluster waiting for the grid */
    uint64_t events;  /* of all clusters */
};

/* A grid may start when all CTAs of the one before allowed it, or ended. */
static bool may_start(const struct together *all, unsigned index)
{
    return index == 0 || all->grids[index - 1].dependents_allowed ||
           all->grids[index - 1].finished;
}

static bool is_there(const struct emu_cluster *cluster, unsigned ctas,
                     const struct emu_sm *sm)
{
    for (unsigned i = 0; i < ctas; i++) {
        if (cluster->ctas[i].sm == sm) {
            return true;
        }
    }
    return false;
}

/* Puts each CTA where the fewest are, beginning anywhere; those of a cluster apart. */
static void place_ctas(struct together *all, struct emu_cluster *cluster)
{
    struct emu_grid *grid = cluster->grid;
    unsigned count = grid->launch.sm_count;
    for (unsigned i = 0; grid->sms != NULL && i < cluster->cta_count; i++) {
        unsigned first = emu_random_below(&all->random, count);
        struct emu_sm *best = NULL;
        for (unsigned j = 0; j < count; j++) {
            struct emu_sm *sm = &grid->sms[(first + j) % count];
            if ((best == NULL || sm->ctas < best->ctas) && !is_there(cluster, i, sm)) {
                best = sm;
            }
        }
        if (best != NULL) {
            best->ctas++;
            cluster->ctas[i].sm = best;
        }
    }
}

/* What grids before it noted is kept, for who has not waited for the last of them. Its own
 * numbers in the logs were those of the third before it. */
void emu_grid_start(struct emu_grid *grids, unsigned index)
{
    struct emu_grid *grid = &grids[index];
    grid->started = true;
    grid->behind = index > 0 && grids[index - 1].finished && !grids[index - 1].triggered;
    emu_memory_forget_grid(grid->launch.memory, index);
    if (index > 1 && grids[index - 2].finished) {
        emu_memory_forget_grid(grid->launch.memory, index - 2);
    }
}

static bool admit_cluster(struct together *all)
{
    for (unsigned i = 0; i < all->count && may_start(all, i); i++) {
        struct emu_grid *grid = &all->grids[i];
        uint64_t index = 0;
        if (!grid->started) {
            emu_grid_start(all->grids, i);
        }
        if (grid->resident_count < resident_limit(grid) &&
            emu_queue_take(grid, &grid->queue, &index)) {
            EMU_GROW(all->resident, all->resident_count);
            struct emu_cluster *cluster = emu_cluster_create(grid, index, &grid->queue);
            place_ctas(all, cluster);
            all->resident[all->resident_count++] = cluster;
            grid->resident_count++;
            return true;
        }
    }
    return false;
}

static void remove_cluster(struct together *all, uint64_t at, bool failed)
{
    struct emu_cluster *cluster = all->resident[at];
    struct emu_grid *grid = cluster->grid;
    all->resident[at] = all->resident[--all->resident_count];
    grid->resident_count--;
    for (unsigned i = 0; i < cluster->cta_count; i++) {
        if (cluster->ctas[i].sm != NULL) {
            cluster->ctas[i].sm->ctas--;
        }
    }
    emu_grid_retire(grid, cluster, failed);
    if (grid->resident_count == 0 && grid->queue.next >= grid->cluster_total) {
        grid->finished = true;
    }
    for (unsigned i = 0; failed && i < all->count; i++) {
        all->grids[i].failed = true;
    }
}

/* What happened in other clusters may be what this one waits for in a loop. */
static enum emu_cluster_state run_slice(struct together *all, struct emu_cluster *cluster)
{
    if (cluster->seen_events != all->events) {
        cluster->steps_at_event = cluster->warp_steps;
    }
    uint64_t events = cluster->events;
    enum emu_cluster_state state = emu_cluster_run(cluster, SLICE_TURNS);
    all->events += cluster->events - events;
    cluster->seen_events = all->events;
    if (state == EMU_CLUSTER_WAITING) {
        all->waiting++;
    } else if (cluster->idle_turns < SLICE_TURNS) { /* of more, this slice is a part */
        all->waiting = 0;
    }
    return state;
}

/* Nobody can go on, but time may let some. */
static bool skip_time(struct together *all)
{
    bool skipped = false;
    for (uint64_t i = 0; i < all->resident_count; i++) {
        skipped = emu_cluster_skip_time(all->resident[i]) || skipped;
    }
    all->waiting = 0;
    return skipped;
}

/* Clusters that can meet: side by side, in an order that the seed gives. */
static void run_together(struct emu_grid *grids, unsigned count)
{
    struct together all = {.grids = grids, .count = count};
    emu_random_seed(&all.random, emu_mix(grids[0].launch.settings.seed, UINT64_MAX));
    for (;;) {
        while (admit_cluster(&all)) {
        }
        if (all.resident_count == 0) {
            break;
        }
        uint32_t at = emu_random_below(&all.random, (uint32_t)all.resident_count);
        struct emu_cluster *cluster = all.resident[at];
        enum emu_cluster_state state = run_slice(&all, cluster);
        if (all.waiting > 64 * all.resident_count && !skip_time(&all)) {
            report_stuck_grid(cluster);
            state = EMU_CLUSTER_FAILED;
        }
        if (state == EMU_CLUSTER_ENDED || state == EMU_CLUSTER_FAILED) {
            remove_cluster(&all, at, state == EMU_CLUSTER_FAILED);
        }
        while (grids[0].failed && all.resident_count > 0) {
            remove_cluster(&all, all.resident_count - 1, true);
        }
    }
    emu_free(all.resident);
}

/* ------------------------------------------------------------------------------ whole */

static bool is_finished(void *context)
{
    return ((const struct emu_grid *)context)->finished;
}

static void allow_dependents(void *context)
{
    ((struct emu_grid *)context)->dependents_allowed = true;
}

static void open_grid(struct emu_grid *grid, const struct emu_launch *launch)
{
    grid->launch = *launch;
    grid->queue.count = 1;
    grid->cluster_total = 1;
    for (int i = 0; i < 3; i++) {
        grid->cluster_grid[i] = launch->grid[i] / launch->cluster[i];
        grid->cluster_total *= grid->cluster_grid[i];
    }
    uint64_t size = (uint64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    if (launch->program->allocates_tensor_memory && emu_grid_ctas_per_sm(launch) > 1 &&
        grid->cluster_total > 1 && size <= launch->sm_count) {
        grid->sms = emu_alloc(launch->sm_count * sizeof(*grid->sms));
    }
    grid->launch.launch_dependents = allow_dependents;
    pthread_mutex_init(&grid->lock, NULL);
}

static void close_grid(struct emu_grid *grid)
{
    emu_sync_table_free(grid->sync_table);
    emu_watches_free(grid->watches);
    emu_lane_agents_free(grid->lane_agents);
    emu_free(grid->blocks);
    emu_free(grid->sms);
    pthread_mutex_destroy(&grid->lock);
}

void emu_grid_reset(struct emu_grid *grid)
{
    const struct emu_grid old = *grid;
    emu_memory_clear_logs(grid->launch.memory);
    close_grid(grid);
    *grid = (struct emu_grid){
        .order = old.order, .warp_steps = old.warp_steps, .thread_steps = old.thread_steps};
    open_grid(grid, &old.launch);
}

bool emu_grids_run(const struct emu_launch *launches, unsigned count,
                   uint64_t *ret_thread_steps)
{
    struct emu_grid *grids = emu_alloc(count * sizeof(*grids));
    bool failed = false;
    for (unsigned i = 0; i < count; i++) {
        open_grid(&grids[i], &launches[i]);
        grids[i].order = i;
        grids[i].launch.dependents_context = &grids[i];
        if (i > 0) {
            grids[i].launch.predecessor_done = is_finished;
            grids[i].launch.predecessor_context = &grids[i - 1];
        }
    }
    if (launches->chip != NULL) {
        emu_grids_run_timed(grids, count);
    } else if (count == 1 && !launches->program->shares_grid && grids->sms == NULL) {
        run_independent(&grids[0]);
    } else {
        run_together(grids, count);
    }
    emu_memory_clear_logs(launches->memory);
    uint64_t steps = 0;
    for (unsigned i = 0; i < count; i++) {
        steps += grids[i].thread_steps;
        failed = failed || grids[i].failed || grids[i].wrong;
        close_grid(&grids[i]);
    }
    if (ret_thread_steps != NULL) {
        *ret_thread_steps = steps;
    }
    emu_free(grids);
    return !failed;
}
