/* SPDX-License-Identifier: MIT */
/*
 * The state of a running kernel: grid, clusters, CTAs, warps; and the decoded program.
 *
 * A cluster is the unit of independence: everything inside it is stepped by one host
 * thread, and two clusters meet only in global memory and in the grid's own state (launch
 * control, dependent launch). A warp is a state machine: an instruction that must wait
 * leaves its program counter where it is and is tried again later.
 */
#ifndef EMU_EXEC_MACHINE_H
#define EMU_EXEC_MACHINE_H

#include <pthread.h>

#include "base/base.h"
#include "check/report.h"
#include "check/shadow.h"
#include "check/sync.h"
#include "exec/settings.h"
#include "ptx/ptx.h"

#define EMU_LANES        32u
#define EMU_ALL_LANES    0xFFFFFFFFu
#define EMU_MAX_CLUSTER  16u
#define EMU_MAX_WARPS    32u /* of a CTA */
#define EMU_NO_PREDICATE UINT32_MAX
#define EMU_NO_SLOT      UINT32_MAX

/* ------------------------------------------------------------------ the decoded program */

struct emu_warp;
struct emu_insn;

/* What became of one attempt to execute an instruction. */
enum emu_step {
    EMU_NEXT,    /* done, go on */
    EMU_JUMPED,  /* done, and program counters were set by it */
    EMU_SPUN,    /* done, but what it asked for is not there yet (a failed try_wait) */
    EMU_BLOCKED, /* not done: try again later */
    EMU_YIELDED, /* done; let others run */
    EMU_FAILED   /* an error was reported: the launch ends */
};

/* Executes for the lanes in `lanes` (never 0). Registers: warp->r[slot][lane]. */
typedef enum emu_step (*emu_exec)(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes);

struct emu_insn {
    emu_exec exec;
    uint32_t guard; /* predicate, or EMU_NO_PREDICATE */
    bool guard_negated;
    bool aligned;   /* all live lanes of the warp must be here, guards notwithstanding */
    uint8_t vector; /* elements of a vector access; 1 otherwise */
    uint8_t bytes;  /* of one element */
    uint8_t type;   /* enum ptx_type, where the family uses one */
    uint8_t type2;
    uint16_t mode; /* family's own */
    uint16_t mode2;
    uint32_t dst, dst2; /* slots or predicates */
    uint32_t src[6];    /* slots or predicates */
    uint32_t target;    /* of a branch */
    int64_t offset;     /* added to an address */
    uint32_t *list;     /* further slots, owned by the program's arena */
    uint32_t list_count;
    void *extra;    /* family's own, owned by the program's arena */
    uint32_t index; /* in the program */
    const struct ptx_insn *source;
};

/* A slot that holds the same value in all lanes from the start: an immediate or address. */
enum emu_constant_kind {
    EMU_CONSTANT_VALUE,
    EMU_CONSTANT_SHARED /* value is an offset in the CTA's own shared memory */
};
struct emu_constant {
    uint32_t slot;
    enum emu_constant_kind kind;
    uint64_t value;
};

struct emu_unit; /* exec/unit.h */

struct emu_program {
    const struct emu_unit *const *units; /* that its kernels may use; NULL is the last */
    const struct ptx_module *module;
    const struct ptx_function *function;
    struct emu_insn *insns;
    uint32_t insn_count;
    uint32_t slot_count; /* registers: 32 lanes of 64 bits each; a .b128 takes two slots */
    uint32_t predicate_count;
    struct emu_constant *constants;
    size_t constant_count;
    uint32_t static_shared_bytes;  /* from EMU_SHARED_FIRST on */
    uint32_t dynamic_shared_align; /* of the unsized extern arrays */
    /* Its clusters can meet, by strong accesses to global memory: they run in one host
     * thread, and races between them are found. */
    bool shares_grid;
    bool uses_launch_control;
    bool scales_blocks;           /* by tcgen05.mma with .block_scale */
    bool allocates_tensor_memory; /* of which a multiprocessor has one for all its CTAs */
    uint32_t *register_slots;     /* by PTX register: slot, or predicate */
    uint32_t condition_code;      /* predicate of add.cc and its like, plus 1; 0: none */
    struct emu_arena arena;
};

/* ------------------------------------------------------------------------ addresses */

/*
 * A shared address is rank << 24 | offset, for .shared::cta and .shared::cluster alike;
 * offsets begin at 1024, because the hardware keeps the first KiB for itself.
 * Generic addresses: windows far above anything a host pointer can be.
 */
#define EMU_SHARED_FIRST       1024u
#define EMU_SHARED_RANK_SHIFT  24
#define EMU_SHARED_OFFSET_MASK 0x00FFFFFFu
#define EMU_WINDOW_SHARED      UINT64_C(0x0100000000000000)
#define EMU_WINDOW_LOCAL       UINT64_C(0x0200000000000000)
#define EMU_WINDOW_PARAM       UINT64_C(0x0300000000000000)
#define EMU_CALL_PARAM         (UINT64_C(1) << 40) /* in .param: of a call, not of the entry */
#define EMU_WINDOW_MASK        UINT64_C(0xFF00000000000000)

/* ------------------------------------------------------------------------ the machine */

struct emu_cta;
struct emu_cluster;
struct emu_grid;
struct emu_async;
struct emu_origin; /* exec/origin.h */
struct emu_chip;   /* time/chip.h */
struct emu_timing; /* exec/timing.h; times of a warp, a CTA and a cluster are as well */
struct emu_deliveries;

/* Shared memory's state, one per byte. */
enum { EMU_UNDEFINED = 0, EMU_DEFINED = 1, EMU_BARRIER = 2 };

/* A strong access that changed nothing, and may be part of a loop that waits. */
#define EMU_POLLS 4u
struct emu_poll {
    const struct emu_insn *insn;
    uint64_t seen, state; /* digests of what it saw, and of the warp's registers then */
    unsigned repeats;     /* how often in a row it saw that */
};

struct emu_warp {
    struct emu_cta *cta;
    unsigned index; /* in the CTA */

    /* Lanes. `mask` are the lanes at `pc` that run now; other live lanes have their place
     * in lane_pc. merge_pc is the nearest place ahead where lanes wait. */
    uint32_t live, mask, pc, merge_pc;
    uint32_t lane_pc[EMU_LANES];

    uint64_t (*r)[EMU_LANES]; /* by slot; upper bits of narrower registers are zero */
    uint32_t *undefined;      /* by slot: lanes whose value is undefined */
    uint32_t *p;              /* by predicate: mask of lanes */
    uint32_t *p_undefined;
    uint8_t *local;       /* per lane local_bytes bytes */
    uint8_t *local_state; /* EMU_UNDEFINED or EMU_DEFINED */

    struct emu_sync sync;              /* for finding races */
    const struct emu_insn *blocked_at; /* what it waits for, for reports; NULL: runnable */
    uint64_t steps;                    /* instructions executed */
    uint64_t last_spin;                /* `steps` at the last failed wait; 0: never */
    uint64_t
        asked_in; /* the lull of its CTA in which a turn of it last ended with a wait */
    uint64_t waits_in; /* and the one in which all its lanes were found waiting */
    struct emu_poll polls[EMU_POLLS];
    unsigned next_poll;
    uint64_t time_stands;          /* its clock does not move until `steps` is that */
    uint64_t time_shown;           /* 0: what it shows next */
    struct emu_allocation *recent; /* the allocation of the last global access */
    uint32_t loads_in_flight;      /* tcgen05.ld whose registers have no value yet */
    bool finished;

    struct emu_warp_time *time; /* NULL: not timed */
    void *async_state;          /* of the units in async/ and tensor/ */
    void *tensor_state;
};

/* What CTAs on one multiprocessor share. */
struct emu_sm {
    unsigned ctas;
    uint32_t tensor_units; /* of 32 columns of tensor memory each: bits, set: allocated */
};

struct emu_cta {
    struct emu_cluster *cluster;
    struct emu_sm *sm; /* which other CTAs may share; NULL: none does */
    unsigned rank;     /* in the cluster */
    uint32_t id[3];    /* %ctaid */
    bool exited;
    bool has_met_cluster;    /* one of its warps has waited at the cluster's barrier */
    uint8_t *shared;         /* from offset 0; the first KiB is never legal */
    uint8_t *shared_state;   /* one per byte */
    uint32_t shared_bytes;   /* end of legal offsets */
    uint32_t dynamic_shared; /* offset of the dynamic part */
    struct emu_shadow *shadow;
    struct emu_reaches *reaches; /* exec/memory.h; NULL: nobody has */
    struct emu_origin *origins;  /* of its bytes; NULL: nobody asks */
    struct emu_warp *warps;
    unsigned warp_count, warps_left;
    uint64_t lull;          /* counts the times without an end of a wait; see cluster.c */
    unsigned waiting_warps; /* found in this one */
    struct emu_cta_time *time; /* NULL: not timed */
    void *async_state;
    void *tensor_state;
};

/* Clusters that are launched one after the other, or cancelled, in the order of their
 * indices. The grid has one queue, or several where launch control is all that its clusters
 * share: then each queue is of one host thread, and the seed deals the clusters out, so
 * that who cancels whom does not depend on the threads. */
struct emu_queue {
    unsigned number, count; /* this one, of so many */
    uint64_t next; /* clusters before it were launched or cancelled, or are not here */
    uint64_t sampled, per_round; /* only so many of so many are here; 0: all; and whether */
    bool spread;                 /* they lie evenly in them, or are the first ones */
};

struct emu_cluster {
    struct emu_grid *grid;
    struct emu_queue *queue; /* that it came from, and may cancel clusters of */
    uint64_t index;          /* in the grid, in launch order */
    uint32_t first_cta[3];
    struct emu_cta *ctas;
    unsigned cta_count;
    unsigned warps_left;
    struct emu_random random;
    uint64_t now;        /* turns taken; the clock of asynchronous operations */
    uint64_t turn_began; /* steps of the warp whose turn it is, at its beginning */
    uint64_t skipped;    /* time that passed while all waited for it */
    unsigned skips;      /* how often */
    bool time_was_read;  /* since time was last skipped */
    const struct emu_allocation *unwritten; /* the first whose undefined bytes were read */
    uint64_t unwritten_byte;                /* and the first of them; NULL: none was */
    uint64_t warp_steps;                    /* executed */
    uint64_t steps_at_event;                /* warp_steps when something last happened */
    uint64_t events; /* changes that other warps can see; none and no async: deadlock */
    struct emu_async *pending; /* in order of submission */
    struct emu_async *pending_last;
    uint64_t pending_count, next_async_id, next_chain;
    uint32_t agent_count, agent_block; /* made; the block of the last one */
    uint64_t thread_steps;             /* executed */
    unsigned cursor;                   /* of the scheduler */
    unsigned idle_turns;
    unsigned starved;     /* warp that the STARVE schedule holds back */
    uint64_t seen_events; /* of all clusters beside it, at its last slice */
    bool failed;
    unsigned waiting_warps; /* of all CTAs */
    bool wrong;             /* an error was found behind which it goes on */
    bool waits_for_grid;    /* a warp waits for something outside the cluster */
    bool must_be_asked;     /* or for what another thread writes, or for time to pass */
    struct emu_sync_table *sync_table; /* views that strong accesses published */
    struct emu_watch *watches;         /* shadows of global allocations; see the grid's */
    struct emu_lane_agents *lane_agents;
    struct emu_deliveries *deliveries; /* by copies, to shared memory */
    struct emu_timer *timer;           /* NULL: not timed */
    void *async_state;
    void *tensor_state;
};

struct emu_launch {
    const struct emu_program *program;
    struct emu_settings settings;
    struct emu_memory *memory; /* global memory of the device */
    struct emu_reports *reports;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t dynamic_shared_bytes;
    const void *params;
    size_t param_bytes;
    unsigned sm_count;
    unsigned registers_per_thread; /* 0: unknown */
    uint64_t grid_workspace;       /* of a cooperative launch, in its global memory; or 0 */
    /* A launch that is timed: on this chip, at this clock (0: what power leaves), with so
     * many clusters at once (0: as many as fit). NULL: it is not. */
    const struct emu_chip *chip;
    double mhz;
    uint64_t resident_clusters;
    struct emu_timing *timing; /* where the times go */
    uint8_t *covered; /* by instruction: set when it was executed; NULL: not asked for */
    /* Dependent launch, filled in by emu_grids_run: asked by griddepcontrol.wait (NULL:
     * nothing to wait for), and told when all CTAs allow the next grid to start. */
    bool (*predecessor_done)(void *predecessor_context);
    void *predecessor_context;
    void (*launch_dependents)(void *dependents_context);
    void *dependents_context;
};

struct emu_grid {
    struct emu_launch launch;
    unsigned order; /* among grids that run side by side */
    bool started;
    bool behind;        /* the grid before ended before this one could start */
    bool triggered;     /* a CTA executed griddepcontrol.launch_dependents */
    struct emu_sm *sms; /* launch.sm_count of them, where CTAs contend; otherwise NULL */
    uint64_t cluster_total;
    struct emu_queue queue;   /* of all clusters, unless there are several */
    unsigned queues_taken;    /* of several, by host threads */
    uint32_t cluster_grid[3]; /* grid size in clusters */
    pthread_mutex_t lock;     /* of queues and of what units keep here */
    bool failed;
    bool wrong;                        /* as a cluster's */
    uint64_t warp_steps, thread_steps; /* executed */
    uint64_t dependents_launched;      /* CTAs that allowed the next grid to start */
    bool dependents_allowed;           /* all of them did */
    bool finished;                     /* all its clusters have ended */
    uint64_t resident_count;
    /* Where clusters can meet (shares_grid), global memory is watched for all of them: */
    struct emu_sync_table *sync_table;
    struct emu_watch *watches;
    struct emu_lane_agents *lane_agents;
    uint64_t *blocks; /* by block of agents: index of the cluster that took it */
    uint32_t block_count;
    void *async_state;
};

/* --------------------------------------------------------------------------- running */

/*
 * Runs a grid, or several of which each was launched as a programmatic dependent of the one
 * before: they then run side by side as far as griddepcontrol lets them. The launches were
 * validated. True when all ended without an error; the findings are in each launch's
 * reports either way. `ret_thread_steps` may be NULL.
 */
bool emu_grids_run(const struct emu_launch *launches, unsigned count,
                   uint64_t *ret_thread_steps);
static inline bool emu_grid_run(const struct emu_launch *launch, uint64_t *ret_thread_steps)
{
    return emu_grids_run(launch, 1, ret_thread_steps);
}

static inline struct emu_launch *emu_launch_of(const struct emu_cta *cta)
{
    return &cta->cluster->grid->launch;
}

static inline bool emu_checks_races(const struct emu_cta *cta)
{
    return emu_launch_of(cta)->settings.races;
}

/* The CTA with that rank in the cluster, or NULL. */
struct emu_cta *emu_cluster_cta(struct emu_cluster *cluster, unsigned rank);

/* The queue's next cluster, which is then launched or cancelled; false: none is left. */
bool emu_queue_take(struct emu_grid *grid, struct emu_queue *queue, uint64_t *ret_index);

/* Sends the lanes of `lanes` to `target`; the rest of the group goes on behind insn. */
enum emu_step emu_warp_branch(struct emu_warp *warp, const struct emu_insn *insn,
                              uint32_t lanes, uint32_t target);
/* The lanes end. */
enum emu_step emu_warp_exit(struct emu_warp *warp, uint32_t lanes);

/* Agents of single lanes of all warps that may meet this cluster's. */
static inline struct emu_lane_agents **emu_lane_agents_of(struct emu_cluster *cluster)
{
    return cluster->grid->launch.program->shares_grid ? &cluster->grid->lane_agents
                                                      : &cluster->lane_agents;
}

/* A new agent for clocks. */
uint32_t emu_cluster_agent(struct emu_cluster *cluster);

/*
 * Reports about one instruction: adds place (kernel, cluster, CTA, warp, lane, PTX line,
 * source line, role), and the seed. emu_report_error returns EMU_FAILED after marking the
 * cluster failed. Behind emu_report the kernel goes on: an error fails the launch when it
 * has ended, and what the settings allow is advice. `lane` EMU_LANES: the warp as a whole.
 */
enum emu_step emu_report_error(struct emu_warp *warp, const struct emu_insn *insn,
                               unsigned lane, enum emu_finding finding, const char *format,
                               ...) EMU_PRINTF(5, 6);
void emu_report(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                enum emu_severity severity, enum emu_finding finding, const char *format,
                ...) EMU_PRINTF(6, 7);

/* Counts what emu_report has reported before, for who wants to make no text in vain. False:
 * it has not. */
bool emu_report_again(struct emu_warp *warp, const struct emu_insn *insn,
                      enum emu_severity severity, enum emu_finding finding);

/* Checks that the slot is defined in these lanes; otherwise reports `operand_name`
 * ("address of the store") and returns false. */
bool emu_need_defined(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                      uint32_t slot, const char *operand_name);

/* The value that must be the same in all of `lanes` (a collective's operand); reports when
 * it is not, or when it is undefined. */
bool emu_uniform_value(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                       uint32_t slot, const char *operand_name, uint64_t *ret_value);

/* Writes a register: value and definedness. */
static inline void emu_set(struct emu_warp *warp, uint32_t slot, unsigned lane,
                           uint64_t value)
{
    warp->r[slot][lane] = value;
    warp->undefined[slot] &= ~(1u << lane);
}

#endif
