/* SPDX-License-Identifier: MIT */
/*
 * The constants of the time model and where each comes from.
 *
 *   [QRC]    published measurement: the pipe catalogue of QuickRunCUDA, a B300 at 1920 MHz
 *   [SEMI]   published measurement: SemiAnalysis' microbench-blackwell, a B200
 *   [die]    published measurement: Fan and others, Dissecting How Die Scaling Breaks GPU
 *            Fine-grained Scheduling, H200s and B200s
 *   [H1]     published measurement: arXiv 2402.13499, Hopper
 *   [H2]     published measurement: arXiv 2501.12084, Hopper
 *   [guide]  CUDA programming guide, results a clock of a multiprocessor
 *   [spec]   the vendor's data sheet
 *
 * Measured by this project:
 *
 *   [rows]   copies of boxes with rows of 16 to 128 bytes, on an H100
 *   [gap]    kernels with pdl=0 less those with pdl=1, on an H100
 *   [sides]  L2's halves and the network of a cluster, on an H200
 *            (2026-11-27-h200-sides.jsonl)
 *   [trips]  a thread's copies and waits one after the other, on an H200
 *            (2026-11-27-h200-trips.jsonl)
 *   [gpc]    copies by chosen multiprocessors (2026-11-26-h100-gpc.jsonl)
 *   [beside] rows outside of a matrix beside others, products beside copies, on an H200
 *            (2026-11-27-h200-beside.jsonl)
 *   [power]  docs/time-model.md, "Power"
 *   [plan]   as lib/plan uses it, on Hopper
 *   [fit]    fitted to measured times, see docs/time-model.md
 *
 * And [same]: not measured on this chip, taken from the other one; [guess]: nobody has
 * published it.
 */
#include "time/chip.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)

/* Both Hopper boards have the same multiprocessor, and are taken to have the same GPCs. */
/* clang-format off */
#define HOPPER \
    .sm = 90, .boost_mhz = 1980, /* [spec] */ \
    .alu_latency = 4, /* [H1] */ \
    .branch_latency = 8, /* [guess] */ \
    .special_latency = 20, /* [guess] */ \
    .cvt_interval = 2, /* [guide]: 64 results */ \
    .mufu_latency = 18, /* [same] 14, and 4 to the register */ \
    .mufu_interval = 8, /* [guide]: 16 results */ \
    .shuffle_latency = 24, /* [QRC] [same] */ \
    .fence_latency = 24, /* [QRC]: tens of clocks */ \
    .gpu_fence_latency = 260, /* [sides]: 259 */ \
    .shared_latency = 29, /* [H1]: 29 to 33 */ \
    .shared_bytes = 128, /* [QRC] [H1] */ \
    .copy_bytes = 2400, /* [beside]: 24 KiB take 5 to 13 clocks */ \
    .l1_latency = 38, /* [H1] */ \
    .l2_latency = 270, /* [H1]; 293 [trips] with the other half */ \
    .dram_latency = 327, .tma_missing = 327, .misses_vary = true, /* [trips] */ \
    .atomic_latency = 700, /* [guess] */ \
    .l2_bytes_ns = 11500, /* [fit]; of stores, where GPCs draw the rest */ \
    .home_bits = 0xB3000, /* [sides]: of 2 MiB */ \
    .link_bytes_ns = 1400,   /* [sides]: 1380 to 1600 each way */ \
    .link_latency = 170,   /* [sides]: 163 to 179 */ \
    .l2_request_bytes = 48, /* [rows]: 90 lines a clock of all GPCs */ \
    .gpc_neighbours = 9, /* [fit]: half of a GPC; all could, in step */ \
    .outside_bytes = 320, /* [beside]: 290 to 440 */ \
    .gpc_count = 8, .place_count = 12, /* [gpc] */ \
    .places = {{8, 0}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {16, 1}, \
               {16, 2}, {16, 3}, {16, 4}, {16, 5}, {18, 6}, {18, 7}}, /* [gpc] */ \
    .fetch_lines = 1024, /* [trips]: 118 KB were on their way */ \
    .fetch_bytes = 109, /* [gpc]: 8 KiB more take 75 clocks */ \
    .load_bytes = 64, /* [H1] */ \
    .tma_interval = 32, /* [fit]; 48 [QRC] */ \
    .tma_row_interval = 1, /* [rows] */ \
    .tma_latency = 229, /* [trips]: 340 to 466 with 1 to 128 lines */ \
    .ingest_bytes = 112, /* [trips] */ \
    .egress_bytes = 64, .store_latency = 700, /* [QRC] [same] */ \
    .cluster_bytes = 34, /* [gpc]: 32, and 15 to 17 where all read */ \
    .cluster_latency = 190, /* [H1]: 180 to 220 */ \
    .send_bytes = 20, .take_bytes = 32, /* [sides]: 18 to 21, 31 to 32 */ \
    .remote_interval = 0.25, /* [sides]: 4 arrivals a clock at one */ \
    .remote_latency = 60, /* [trips]: 35 to 77 more than to the own one */ \
    .arrive_latency = 8, /* [QRC] [same] */ \
    .ask_latency = 25, .wake_latency = 31, /* [trips]: 51 and 59 with what is around */ \
    .apart_latency = 110, /* [trips]: 170 where lanes wait elsewhere, 59 else */ \
    .barrier_latency = 24, /* [QRC]: 12 + 2 a warp */ \
    .cluster_barrier_latency = 190, /* [H1] */ \
    .cancel_latency = 0, .mma_bytes = 4096, /* [H2]: 1024 bf16 products */ \
    .wgmma_latency = 40, /* [fit] */ \
    .mma_floor = 16, \
    .gap_us = 1.6 /* [gap] */
/* clang-format on */

static const struct emu_chip chips[] = {
    {.name = "h100",
     HOPPER,
     .tensor_mhz = 1980,   /* [guess]: not measured */
     .power_factor = 0.73, /* [power]: of 700 W */
     .power_exponent = 0.4,
     .gpc_bytes = 540,      /* [gpc]: 530 to 546 */
     .launch_us = 0.7,      /* [fit] */
     .skew_us = 0.2,        /* [fit] */
     .dram_bytes_ns = 3000, /* [plan]: 0.895 of 3350 */
     .l2_capacity = 50 * MIB /* [spec] */},
    {.name = "h200",
     HOPPER,
     .tensor_mhz = 1800,   /* [beside]: one multiprocessor or all, zeros or not */
     .power_factor = 0.70, /* [power]: of 700 W */
     .power_exponent = 0.67,
     .gpc_bytes = 641,      /* 2026-11-26-h200-gpc-sharing.jsonl */
     .launch_us = 0.47,     /* [beside]: 0.43 to 0.51, 0.7 behind stores */
     .skew_us = 0.05,       /* [beside]: 0.02 to 0.05 */
     .dram_bytes_ns = 4290, /* [plan]: 0.895 of 4800 */
     .l2_capacity = 60 * MIB /* its driver */},
    {.name = "b200",
     .sm = 100,
     .boost_mhz = 1965,        /* [spec] */
     .tensor_mhz = 1965,       /* [guess]: not measured */
     .power_factor = 0.766,    /* [power]: 8192^3 in 604 to 630 us, as published */
     .power_exponent = 0.4,    /* [power] [same]: an H100's */
     .alu_latency = 4,         /* [QRC] */
     .branch_latency = 8,      /* [guess] */
     .special_latency = 20,    /* [guess] */
     .cvt_interval = 2,        /* [guide] */
     .mufu_latency = 14,       /* [QRC] */
     .mufu_interval = 8,       /* [guide]; a B300 has 4 [QRC] */
     .shuffle_latency = 24,    /* [QRC] */
     .fence_latency = 24,      /* [QRC]: tens of clocks */
     .gpu_fence_latency = 277, /* [QRC]: to 292; 783 where all write */
     .shared_latency = 24,     /* [QRC] */
     .shared_bytes = 128,      /* [QRC] [SEMI] */
     .copy_bytes = 2400,       /* [beside] [same] */
     .l1_latency = 39,         /* [QRC] */
     .l2_latency = 301,        /* [QRC] */
     .dram_latency = 488,      /* [QRC]: 789 less 301 */
     .atomic_latency = 700,    /* [guess] */
     .l2_bytes_ns = 20500,     /* [spec] as others quote it; 20 to 26 [QRC]; of stores */
     .dram_bytes_ns = 7100,    /* [SEMI] [QRC]: 7.0 to 7.26 */
     .l2_capacity = 126 * MIB, /* [spec] */
     .home_bits = 0x1EF000,    /* [sides]: a GB200, of 2 MiB */
     .link_bytes_ns = 5000,    /* [spec]: 10 TB/s both ways */
     .link_latency = 350,      /* [QRC]: 660 less 310 */
     .l2_request_bytes = 64,   /* [rows] [same] */
     .gpc_bytes = 1280,        /* [die] [SEMI]: 80 for each of 16; in all 20.1 TB/s */
     .gpc_neighbours = 10,     /* [fit] [same]: half of a GPC */
     .gpc_count = 8,
     .place_count = 8, /* [die] */
     .places = {{20, 0}, {20, 1}, {18, 2}, {18, 3}, {18, 4}, {18, 5}, {18, 6}, {18, 7}},
     .tma_interval = 48,             /* [QRC] */
     .tma_row_interval = 1,          /* [rows] [same] */
     .tma_latency = 700,             /* [SEMI]: of a stage, less its bytes */
     .tma_missing = 300,             /* [SEMI]: 1000 to the miss */
     .fetch_lines = 1024,            /* [trips] [same] */
     .outside_bytes = 320,           /* [beside] [same] */
     .fetch_bytes = 80,              /* [SEMI]: 79 to 81 */
     .load_bytes = 64,               /* [H1] [same] */
     .ingest_bytes = 128,            /* [guess]: the port of shared memory */
     .egress_bytes = 60,             /* [QRC] */
     .store_latency = 700,           /* [QRC] */
     .cluster_bytes = 25,            /* [plan] [same] */
     .cluster_latency = 200,         /* [H1] [same] */
     .send_bytes = 20,               /* [sides] [same] */
     .take_bytes = 32,               /* [sides] [same] */
     .remote_interval = 0.25,        /* [sides] [same] */
     .remote_latency = 60,           /* [trips] [same]; loads take 201 to 224 [QRC] */
     .arrive_latency = 8,            /* [QRC] */
     .ask_latency = 8,               /* [QRC]: 6 to 8 */
     .wake_latency = 27,             /* [QRC]: half of the 54 of a round trip */
     .apart_latency = 0,             /* tma_latency has the wake-ups of a stage */
     .barrier_latency = 24,          /* [QRC]: 12 + 2 a warp */
     .cluster_barrier_latency = 102, /* [QRC]: relaxed; with its fence 373 to 380 */
     .cancel_latency = 400,          /* [guess]: 300 to 500 */
     .mma_bytes = 8192,              /* [SEMI] */
     .commit_latency = {109, 143},   /* [SEMI]: 136 and 170, less the wake-up */
     .mma_floor = 44,                /* [QRC] */
     .tensor_load_bytes = 57,        /* [QRC], which doubts it */
     .tensor_load_latency = 40,      /* [guess] */
     .launch_us = 0.3,               /* [guess] */
     .skew_us = 0.2,                 /* [same] */
     .gap_us = 1.6 /* [gap] [same] */},
};

const struct emu_chip *emu_chip_find(const char *name)
{
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++) {
        if (strcmp(chips[i].name, name) == 0) {
            return &chips[i];
        }
    }
    return NULL;
}

const struct emu_chip *emu_chip_of_sm(unsigned sm)
{
    return sm == 90 ? emu_chip_find("h200") : sm == 100 ? emu_chip_find("b200") : NULL;
}

/*
 * Quantiles of what a miss adds on an H200 [trips]: below 0.9 of copies of one line, above
 * of the last of 8 and of 64. Their mean is that chip's.
 */
double emu_chip_miss(const struct emu_chip *chip, bool by_thread, double drawn)
{
    const double whole = by_thread ? chip->dram_latency : chip->tma_missing;
    static const double of[][2] = {{0, 195},    {0.10, 219}, {0.25, 239},   {0.50, 254},
                                   {0.75, 409}, {0.90, 441}, {0.917, 458},  {0.965, 690},
                                   {0.98, 755}, {0.99, 845}, {0.9955, 890}, {0.9985, 925},
                                   {1, 960}};
    enum { MEAN = 327 };
    unsigned i = 1;
    if (!chip->misses_vary) {
        return whole;
    }
    while (drawn > of[i][0]) {
        i++;
    }
    const double part = (drawn - of[i - 1][0]) / (of[i][0] - of[i - 1][0]);
    const double clocks = of[i - 1][1] + part * (of[i][1] - of[i - 1][1]);
    return clocks * whole / MEAN;
}

/*
 * M rows, N columns and K bytes of a row of A take M * N * K / mma_bytes clocks: 128 for
 * 64 x 256 x 32 on Hopper [H2], and for 128 x 256 x 32 on Blackwell [SEMI]. The operands
 * come from shared memory; a pair reads half of B in each CTA, and what that takes was
 * measured [SEMI]. Fewer than 128 rows of one CTA leave a part of Blackwell's tensor core
 * idle [SEMI].
 */
double emu_chip_mma_interval(const struct emu_chip *chip, unsigned rows, unsigned columns,
                             double k_bytes, bool a_is_shared, bool pair, double *ret_bytes)
{
    const unsigned own_rows = pair ? rows / 2 : rows;
    const unsigned own_columns = pair ? columns / 2 : columns;
    const unsigned made_rows = chip->sm >= 100 && !pair && rows < 128 ? 128 : own_rows;
    const double products = made_rows * (double)columns * k_bytes / chip->mma_bytes;
    *ret_bytes = ((a_is_shared ? own_rows : 0) + own_columns) * k_bytes;
    double fetch = *ret_bytes / chip->shared_bytes;
    if (pair && a_is_shared) {
        fetch = own_rows == 128 ? 34 + columns / 7.0 : 17 + columns / 8.0;
    }
    const double least =
        chip->sm < 100 || (columns < 64 && a_is_shared) ? chip->mma_floor : 0;
    const double interval = products > fetch ? products : fetch;
    return interval > least ? interval : least;
}
