/* SPDX-License-Identifier: MIT */
/*
 * The clock of a timed launch. Every warp has a time; whoever is earliest goes on. What
 * instructions and asynchronous operations need is served by the resources of their
 * multiprocessor and of the chip, in the order of time, so that a launch takes the same
 * time whenever it is run.
 *
 * Instructions take effect at the time at which they are issued. Those of units that work
 * on in the background say here when their work is done, through emu_async.at.
 */
#ifndef EMU_EXEC_TIMING_H
#define EMU_EXEC_TIMING_H

#include "exec/machine.h"
#include "time/levels.h"

/* What a warp can wait for. */
enum emu_stall {
    EMU_STALL_ISSUE,      /* another warp of its part of the multiprocessor issues */
    EMU_STALL_DEPENDENCY, /* a register that an instruction makes */
    EMU_STALL_MEMORY,     /* a register that memory brings */
    EMU_STALL_FENCE,
    EMU_STALL_MBARRIER,
    EMU_STALL_BARRIER, /* of the CTA */
    EMU_STALL_CLUSTER_BARRIER,
    EMU_STALL_PRODUCT,     /* wgmma.wait_group, and its warpgroup */
    EMU_STALL_TENSOR_LOAD, /* tensor memory */
    EMU_STALL_COPY,        /* groups of copies */
    EMU_STALL_GRID,        /* another grid, or memory that is asked again and again */
    EMU_STALL_OTHER,
    EMU_STALL_COUNT
};
const char *emu_stall_name(enum emu_stall stall);

/* One instruction to the clock. */
enum emu_time_kind {
    EMU_TIME_PLAIN,
    EMU_TIME_LOAD,   /* of memory, into registers */
    EMU_TIME_STORE,  /* or a reduction */
    EMU_TIME_ATOMIC, /* memory and registers */
    EMU_TIME_MATRIX  /* ldmatrix, stmatrix */
};
struct emu_time_insn {
    uint8_t kind;     /* enum emu_time_kind */
    uint8_t stall;    /* enum emu_stall, where it blocks */
    bool meets;       /* it touches what others see: it must not run before them */
    bool tells;       /* of stores to other CTAs' memory, or reads it: these come first */
    bool moves;       /* while it waits for registers, others of its block are issued */
    bool is_try_wait; /* waits inside the hardware */
    bool is_peek;   /* asks whether an mbarrier's phase is done, and goes on if it is not */
    uint16_t issue; /* clocks of the issue slot */
    uint16_t latency;                 /* until its result can be used */
    uint16_t fence;                   /* of a fence of its own, before it takes effect */
    uint16_t hold;                    /* until the warp itself goes on */
    uint16_t wake;                    /* from what ends its wait until it goes on */
    uint32_t sources, results, count; /* of `registers`: sources first, then results */
    uint32_t *registers;              /* of the PTX function */
};

struct emu_warp_time {
    uint64_t clock; /* when it can issue next */
    uint64_t last;  /* when the last of those issued that were not waited for */
    uint64_t begun, ended, issued;
    uint64_t stalls[EMU_STALL_COUNT];
    uint64_t *ready;    /* by register: time * 2, plus 1 where memory brings it */
    uint64_t stored[2]; /* when its last copy out of shared memory had read, and written */
    bool parked;
    uint8_t stall; /* enum emu_stall: why it is parked */
    uint16_t wake; /* see emu_time_insn */
    const struct emu_insn
        *peeked; /* was told no here last; NULL: its last answer was yes */
    const struct emu_insn *fenced; /* its fence is over; NULL: none is */
    const uint64_t *watched;       /* its wait ends when this is no more ... */
    uint64_t watched_value;        /* ... that; NULL: unknown */
};

#define EMU_SM_PARTS 4u

#define EMU_SLOT_WORDS 4u

/* The issue slot of a part: which clocks of the last few are taken. A warp that waits for
 * its registers takes a later clock, and others go before it. */
struct emu_issue_slot {
    uint64_t from;                  /* the first clock that can still be had */
    uint64_t taken[EMU_SLOT_WORDS]; /* by clock, modulo their bits */
};
/* The first free clock, not before `at`. */
uint64_t emu_issue_find(const struct emu_issue_slot *slot, uint64_t at);
/* Takes so many free clocks, from `at` on. */
void emu_issue_take(struct emu_issue_slot *slot, uint64_t at, unsigned clocks);

/* What a tensor core did with its time, in clocks. The parts from `first` on, its products
 * and what is behind `last` are the whole launch. A sum is what products add to one
 * accumulator: of most kernels a tile, or a block of K. */
struct emu_pipe_time {
    double first, last;      /* when its first product began, and its last one ended */
    double between, longest; /* rested before the first product of a sum: all, and once */
    double within;           /* rested before another product */
    double slowed;           /* products waited for the port of shared memory */
    uint64_t sums, products;
};

/* When a product began, and whether a sum begins with it. */
struct emu_product_start {
    double at;
    bool begins;
};

/* A line of L1, and which of its sectors are there. */
struct emu_l1_line {
    uint64_t number; /* plus 1; 0: none */
    uint64_t sectors;
};

/* A multiprocessor. */
struct emu_sm_time {
    unsigned place; /* of the chip's `places` */
    struct emu_fetcher fetcher;
    unsigned ctas, warps;
    uint64_t shared_bytes; /* of the CTAs */
    struct emu_issue_slot issue[EMU_SM_PARTS];
    struct emu_server remote, sends, takes, tma, fetch, load, ingest, egress, pipe, port,
        tensor_load[EMU_SM_PARTS];
    double
        debt; /* clocks of the shared-memory port that are owed to others than products */
    struct emu_l1_line *l1; /* by place */
    struct emu_pipe_time tensor;
    double rested; /* before copies into tensor memory, since the last product */
    struct emu_product_start *starts; /* of all products so far, where they are noted */
    uint64_t start_count;
};

struct emu_cta_time {
    struct emu_sm_time *sm;
    uint64_t lull;  /* of the CTA, when its warps were last woken */
    uint64_t there; /* when all that its threads stored to other CTAs' memory is */
};

struct emu_timer;

static inline bool emu_is_timed(const struct emu_cta *cta)
{
    return cta->cluster->timer != NULL;
}

/* The time at which the instruction or operation that runs now takes effect; 0 where
 * nothing is timed. */
uint64_t emu_time_now(const struct emu_cta *cta);
double emu_timer_mhz(const struct emu_timer *timer);

/* ------------------------------------------------------------- work in the background */

/* A request of threads that begins now. */
struct emu_request emu_time_request(struct emu_cta *cta);
/* A copy engine takes the next copy of the CTA: begins a request. */
struct emu_request emu_time_copy_begin(struct emu_cta *cta);
/* The same for a store, which no GPC draws. */
struct emu_request emu_time_store_begin(struct emu_cta *cta);
struct emu_levels *emu_time_levels(struct emu_cta *cta);
/*
 * Where the memory levels find an address of global memory: allocations lie behind each
 * other in the order in which the launch first uses them, so that its time does not depend
 * on where the host had room.
 */
uint64_t emu_time_place(struct emu_cta *cta, uint64_t address);
/* When the first and the last byte of a request come to a multiprocessor. */
struct emu_arrival {
    uint64_t first, last;
};
/* Sends what was asked for on its way. */
struct emu_arrival emu_time_fetched(struct emu_cta *cta, struct emu_request *request);
/* When so many bytes that come so are in the CTA's shared memory. */
uint64_t emu_time_deliver(struct emu_cta *cta, struct emu_arrival arrival, uint32_t bytes);
/* When what lanes of a warp send to another CTA's mbarrier or shared memory by themselves
 * is there: `bytes` of all of them by st.async, or 0: arrivals. */
uint64_t emu_time_reach(const struct emu_cta *from, const struct emu_cta *to,
                        unsigned lanes, uint32_t bytes);
/* The same from another CTA's shared memory. */
uint64_t emu_time_send(struct emu_cta *from, struct emu_cta *to, uint32_t bytes);
/* When a store of the request's bytes has read its source, and when it is written. */
void emu_time_stored(struct emu_cta *cta, struct emu_request *request, uint64_t *ret_read,
                     uint64_t *ret_written);
/* When loads of threads, which this request sums up, are in shared memory. */
uint64_t emu_time_loaded(struct emu_cta *cta, struct emu_request *request);

/* A product of tensor cores; see emu_chip_mma_interval. */
struct emu_time_product {
    struct emu_cta *cta, *pair; /* pair: the other CTA, or NULL */
    unsigned rows, columns;
    double k_bytes;
    bool a_is_shared;
    bool begins; /* a sum: what the accumulator had is not added */
};
/* When it has left the tensor core. */
uint64_t emu_time_mma(const struct emu_time_product *product);
/* When a copy from shared into tensor memory is done. */
uint64_t emu_time_tensor_copy(struct emu_cta *cta, uint32_t bytes);
/* When a warp's access of tensor memory is done. */
uint64_t emu_time_tensor_access(struct emu_warp *warp, uint32_t bytes);
/* The constants. */
const struct emu_chip *emu_time_chip(const struct emu_cta *cta);

/* ------------------------------------------------------------------------------ warps */

/* Its time is at least this: it waited for something that came then. */
void emu_time_raise(struct emu_warp *warp, uint64_t time, enum emu_stall stall);
/* Some of its lanes, or all, waited for an mbarrier that was ready then. */
void emu_time_wake(struct emu_warp *warp, uint64_t time);
/* Its wait ends when *watched is no more what it is. */
void emu_time_watch(struct emu_warp *warp, const uint64_t *watched);

/* ----------------------------------------------------------------------------- inside */

/* timing_insn.c: what the program's instructions cost. */
struct emu_time_insn *emu_time_insns(const struct emu_program *program,
                                     const struct emu_chip *chip, struct emu_arena *arena);
/* timing.c: charges an access of memory; when its result is there. */
uint64_t emu_time_access(struct emu_timer *timer, struct emu_warp *warp,
                         const struct emu_insn *insn, const struct emu_time_insn *info,
                         uint32_t lanes);

/* What ran, for the report. */
struct emu_time_role {
    uint64_t warps, lived, issued;
    uint64_t stalls[EMU_STALL_COUNT];
};

/* How a launch was extrapolated: all clusters ran until `clock`, when a tensor core had
 * begun `sums` and, in the part of the grid that ran to its end, had `all_sums`. What that
 * part took beyond there, `rest`, counts `pace` times: that is how long the last sums
 * before took of all clusters, over how long they took of the part. */
struct emu_waves {
    double clock, sums, all_sums, rest, pace;
    uint64_t part_clocks; /* of the part alone; 0: nothing was extrapolated */
};

struct emu_timing {
    const struct emu_chip *chip;
    double mhz;      /* of the times below */
    uint64_t clocks; /* from the launch to its last effect, and `gap` */
    uint64_t gap;    /* of them: until another launch starts that may not begin early */
    uint64_t first_cta, last_cta; /* when they began */
    double tensor_busy;           /* part of the time of all multiprocessors, 0 to 1 */
    uint64_t instructions;        /* of warps */
    uint64_t l2_bytes, link_bytes, dram_read, dram_written, shared_in, shared_out;
    uint64_t products;
    /* Means of the multiprocessors whose tensor cores worked; `longest`: of all of them. */
    struct emu_pipe_time tensor;
    unsigned sm_count, sms_used, tensor_sms;
    uint64_t sampled, per_round; /* clusters: of so many only so many ran; 0: all did */
    struct emu_waves waves;
    unsigned roles;
    struct emu_time_role role[EMU_MAX_WARPS]; /* by index of the warp in its CTA */
};
/* The clock that power leaves: the boost clock where tensor cores rest. */
double emu_timing_power_mhz(const struct emu_timing *timing);
/* How it was extrapolated, if it was. */
void emu_timing_print_waves(const struct emu_timing *timing, struct emu_text *text);
/* All of it as text. */
void emu_timing_print(const struct emu_timing *timing, struct emu_text *text);

/* An allocation that the launch has used. */
struct emu_time_buffer {
    uint64_t address, bytes, place;
};

struct emu_timer {
    const struct emu_chip *chip;
    double mhz;
    uint64_t now, last_effect;
    struct emu_levels *levels;
    struct emu_sm_time *sms;
    unsigned sm_count;
    struct emu_gpc *gpcs;
    unsigned next_cluster_gpc; /* where the next cluster is looked for first */
    uint64_t
        shares[EMU_MOST_PLACES]; /* CTAs by themselves that each place is still given */
    bool notes_products;
    uint64_t common;               /* see emu_waves_count, when the launch was stopped */
    struct emu_timing *result;     /* of the first grid's launch; never NULL */
    struct emu_time_event *events; /* a heap */
    uint32_t event_count, event_room;
    uint64_t event_order;
    struct emu_time_buffer *buffers;
    uint64_t buffer_count, last_buffer, next_place;
};

/* timing_waves.c: products that every multiprocessor which has CTAs has begun; 0: too few
 * to extrapolate from. */
uint64_t emu_waves_count(const struct emu_timer *timer);
/* The launch's time of its first waves (`all`, stopped on the way) and of a
 * part of its clusters that ran to their end, whose result it changes. False: the part says
 * nothing of the rest. */
bool emu_waves_extrapolate(const struct emu_timer *all, const struct emu_timer *part);

/* timing_places.c: which multiprocessors there are, and which a cluster is given. */
void emu_places_create(struct emu_timer *timer);
void emu_places_free(struct emu_timer *timer);
/* How many of so many CTAs by themselves, that begin together, each place is given. */
void emu_places_share_out(struct emu_timer *timer, uint64_t ctas);
/* Multiprocessors for all CTAs of a cluster, if they have room. `idle`: nothing runs. */
bool emu_places_find(struct emu_timer *timer, const struct emu_launch *launch, bool idle,
                     struct emu_sm_time **places);
/* What a CTA takes of a multiprocessor's shared memory. */
uint64_t emu_places_shared_bytes(const struct emu_launch *launch);

/* timing_run.c: */
struct emu_async;
void emu_timer_submit(struct emu_timer *timer, struct emu_async *async);

#endif
