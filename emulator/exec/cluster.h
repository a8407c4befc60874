/* SPDX-License-Identifier: MIT */
/* Inside of exec/: warps, clusters, and their queue of asynchronous operations. */
#ifndef EMU_EXEC_CLUSTER_H
#define EMU_EXEC_CLUSTER_H

#include "exec/async.h"
#include "exec/machine.h"

/* ------------------------------------------------------------------------------ warp */

/* A warp whose wait failed counts as making progress after that many instructions. */
#define EMU_SPIN_STEPS 200u

enum emu_turn {
    EMU_TURN_RAN,
    EMU_TURN_WAITED, /* spun or blocked: it needs something from others */
    EMU_TURN_ENDED,
    EMU_TURN_FAILED
};

/* Executes up to `quantum` instructions, fewer when the warp has to wait. */
enum emu_turn emu_warp_turn(struct emu_warp *warp, uint64_t quantum);

/* --------------------------------------------------------------------------- cluster */

struct emu_cluster *emu_cluster_create(struct emu_grid *grid, uint64_t index,
                                       struct emu_queue *queue);
void emu_cluster_destroy(struct emu_cluster *cluster);

enum emu_cluster_state {
    EMU_CLUSTER_RUNNING,
    EMU_CLUSTER_WAITING, /* for the grid: nothing inside can go on */
    EMU_CLUSTER_ENDED,
    EMU_CLUSTER_FAILED
};
/* Takes up to `turns` turns of warps. */
enum emu_cluster_state emu_cluster_run(struct emu_cluster *cluster, uint64_t turns);

/* The CTA's last warp has ended. False: an error. */
bool emu_cta_end(struct emu_cta *cta);
/* Reports that nothing in it can go on, with what each warp waits for. */
void emu_cluster_report_stuck(struct emu_cluster *cluster, enum emu_finding finding,
                              const char *problem_text);

/* No warp in it can go on. True if some read the clock, as waits with a time limit do: then
 * time has passed. */
bool emu_cluster_skip_time(struct emu_cluster *cluster);

/* ------------------------------------------------------------------------------- grid */

/* Takes the grid's next cluster into a new cluster; NULL: none is left. */
struct emu_cluster *emu_grid_next_cluster(struct emu_grid *grid);
/* The cluster has ended, or failed. */
void emu_grid_retire(struct emu_grid *grid, struct emu_cluster *cluster, bool failed);
/* A grid may start: what it needs to know of those before it. */
void emu_grid_start(struct emu_grid *grids, unsigned index);
/* As if nothing of it had run. */
void emu_grid_reset(struct emu_grid *grid);
/* How many CTAs fit into one multiprocessor, by shared memory and warps. */
uint64_t emu_grid_ctas_per_sm(const struct emu_launch *launch);
/* timing_run.c: runs grids by the clock. */
void emu_grids_run_timed(struct emu_grid *grids, unsigned count);

/* ----------------------------------------------------------------------------- async */

/* Runs what is due; `idle`: one operation whatever its time. False: one failed. */
bool emu_async_step(struct emu_cluster *cluster, bool idle, bool *ret_ran);
void emu_async_drop_all(struct emu_cluster *cluster);

#endif
