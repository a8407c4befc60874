/* SPDX-License-Identifier: MIT */
/* What is known of a chip's speed: the constants of the time model, all in chip.c. */
#ifndef EMU_TIME_CHIP_H
#define EMU_TIME_CHIP_H

#include "base/base.h"

enum { EMU_MOST_PLACES = 16 };

/* Clocks are those of a multiprocessor, bytes of a multiprocessor's clock, unless the name
 * says otherwise. */
struct emu_chip {
    const char *name;
    unsigned sm;                  /* 90, 100 */
    double boost_mhz, tensor_mhz; /* at most: of all, and where tensor cores work */
    double power_factor;   /* of the boost clock: left where tensor cores never rest, under
                            * a load that goes on ... */
    double power_exponent; /* ... and how the clock grows where they rest */

    /* Instructions. */
    unsigned alu_latency, branch_latency, special_latency, cvt_interval, mufu_latency,
        mufu_interval, shuffle_latency, fence_latency, gpu_fence_latency;

    /* Memory. */
    unsigned shared_latency, shared_bytes;
    unsigned
        copy_bytes; /* that copies write of shared memory beside products that read it */
    unsigned l1_latency, l2_latency; /* of a load of a thread */
    /* What a line that misses adds, for a load and for a copy: the mean, or always. */
    unsigned dram_latency, tma_missing;
    bool misses_vary;
    unsigned atomic_latency;
    double l2_bytes_ns, dram_bytes_ns; /* of the chip */
    double gpc_bytes;     /* that the multiprocessors of a GPC draw from L2, all together */
    double outside_bytes; /* of them, that a row of a copy outside of the matrix takes the
                           * time of */
    unsigned
        fetch_lines; /* that copies of a multiprocessor ask for before the first comes */
    unsigned gpc_neighbours; /* multiprocessors of a GPC that share what is under way, where
                              * CTAs are by themselves; of clusters a pair does */
    unsigned gpc_count;
    /* Where the CTAs of a cluster can lie, of all multiprocessors in order: how many, and
     * of which GPC. Those of a GPC follow each other. */
    unsigned place_count;
    struct {
        uint8_t sms, gpc;
    } places[EMU_MOST_PLACES];
    uint64_t l2_capacity;
    uint32_t home_bits; /* of an address: those of which the parity says in which half of L2
                         * a line is at home */
    double link_bytes_ns;      /* that one half sends to the other */
    unsigned link_latency;     /* what a line from the other half takes longer */
    unsigned l2_request_bytes; /* that a line takes of L2's rate at least */
    unsigned tma_interval;     /* of copies of one multiprocessor */
    unsigned tma_row_interval; /* of lines that a copy asks for */
    unsigned tma_latency;      /* to the mbarrier */
    unsigned fetch_bytes;      /* that copies of a multiprocessor ask L2 for */
    unsigned load_bytes;       /* that loads of its threads do */
    unsigned ingest_bytes,
        egress_bytes;       /* that come to one, from others' requests as well */
    unsigned cluster_bytes; /* that threads read of another CTA's shared memory */
    unsigned store_latency,
        cluster_latency; /* of a store, of a load from another CTA's memory */
    /* What threads send to another CTA's memory: bytes that one sends and takes, clocks
     * between arrivals at mbarriers, and until any of it is there. */
    double send_bytes, take_bytes, remote_interval;
    unsigned remote_latency;

    /* Waiting. */
    unsigned arrive_latency, ask_latency; /* until a wait's answer can be used */
    unsigned wake_latency, barrier_latency, cluster_barrier_latency;
    unsigned apart_latency;  /* of a wake-up, where other lanes wait elsewhere */
    unsigned cancel_latency; /* launch control */

    /* Tensor cores. */
    double mma_bytes;           /* of products of A's and B's bytes a clock, see chip.c */
    unsigned wgmma_latency;     /* from the last product to the register */
    unsigned commit_latency[2]; /* from the last product to the mbarrier: one CTA, a pair */
    unsigned mma_floor;         /* the least interval */
    unsigned tensor_load_bytes, tensor_load_latency; /* of a quarter of tensor memory */

    /* Launches. */
    double launch_us, skew_us; /* before the first CTA starts; from the first to the last */
    double gap_us; /* until the next launch starts, where this one lets none begin early */
};

/* "h100", "h200" or "b200"; NULL when there is no such chip. */
const struct emu_chip *emu_chip_find(const char *name);
/* The one that the emulated device of this compute capability is; NULL: none. */
const struct emu_chip *emu_chip_of_sm(unsigned sm);

/* What a line that misses takes longer; `drawn`: from 0 to 1, evenly. */
double emu_chip_miss(const struct emu_chip *chip, bool by_thread, double drawn);

/*
 * Clocks between two matrix products of one shape. `rows`, `columns`: of D, of all CTAs;
 * `k_bytes`: of a row of A; `a_is_shared`: A lies in shared memory. `pair`: two CTAs make
 * it together, each with half of the rows. `ret_bytes`: what a multiprocessor reads of its
 * shared memory for it.
 */
double emu_chip_mma_interval(const struct emu_chip *chip, unsigned rows, unsigned columns,
                             double k_bytes, bool a_is_shared, bool pair,
                             double *ret_bytes);

#endif
