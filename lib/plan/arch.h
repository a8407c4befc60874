/* SPDX-License-Identifier: MIT */
/* One chip, as data and functions. The registry is the only place that maps a device to a
 * chip; what the functions do lies in the chip's rooms (plan/sm90a, plan/sm100a). */
#ifndef JG_PLAN_ARCH_H
#define JG_PLAN_ARCH_H

#include <stdbool.h>

#include "base/device_facts.h"
#include "base/nearest.h"
#include "plan/box.h"
#include "plan/config.h"
#include "plan/output.h"
#include "plan/problem.h"

/* Which of A and B L2 gives up first (evict_first): the one that streams past few rows of
 * the other, so that no more than two tiles read an element of it. */
enum jg_evict_first { JG_EVICT_FIRST_NONE = 0, JG_EVICT_FIRST_A, JG_EVICT_FIRST_B };

/* How math warpgroups go on to the next block of K, where sums are multiplied by scales of
 * blocks: ScaledBlocks of kernel_src/jg/common/choices.cuh. */
enum jg_scaled_blocks {
    JG_SCALED_WAITED,
    JG_SCALED_PLACED,
    JG_SCALED_BEHIND,
    JG_SCALED_OVERLAPPED
};

/* What follows from a config: sizes that host and device must agree on. */
struct jg_derived {
    int threads;        /* of a CTA */
    int smem_bytes;     /* dynamic shared memory, a multiple of 1024 */
    int max_registers;  /* that a role may have: the limit of the launch bound */
    int tmem_columns;   /* of tensor memory that a CTA allocates; 0 if the chip has none */
    int scale_columns;  /* of them, for scales that the tensor core multiplies by */
    int scale_cells;    /* stages whose scales these hold at a time; 0 without */
    int shared_columns; /* of tensor memory, that both accumulators have */
    int sum_fraction_bits; /* that sums of products keep; 0: they are exact integers */
    bool promotes_sums;    /* are sums those of 128 of K each, added up in registers? */
    jit_gemm_accumulate accumulate; /* of sums of 13 bits, what the problem says; else 0 */
    struct jg_output output;
    struct jg_box a_box, b_box;      /* of the tensor maps of the product's A and B */
    struct jg_box d_box, matrix_box; /* of D; of C and matrix operands */
    /* Of scales that the tensor core multiplies by, not swizzled: a row of the box has
     * those of 128 rows of the matrix, in pieces of the layout 128x4 along K. */
    struct jg_box a_scale_box, b_scale_box;
    int team_columns; /* of D, or of its transpose, that a team of warps has of a tile; 0:
                         as the chip has it */
    int epilogue_warpgroups; /* whose warps write a tile, half of its columns each where
                                there are two; 0: as the chip has it */
    int out_bytes; /* of D that a team has in shared memory, of an output stage; 0: as the
                      chip has it */
    int a_rows, b_rows;    /* of a CTA's tiles, that its stages are loaded with */
    int scale_slots;       /* of the ring of scales of blocks; 0 where there is none */
    bool scales_in_stages; /* are they those of the input ring's stages, and full with them?
                            */
    enum jg_scaled_blocks scaled_blocks;
    struct jg_row_warps { /* that bring scales of A and of B which lie row by row; 0: they
                             are copied one by one, or there are none */
        int a, b;
        int copies; /* that copy others, each in slots of its own */
    } row_warps;
    bool sums_in_ring;  /* are parts of K added up in the input ring's memory? */
    int64_t sums_bytes; /* of a CTA, in which they are; 0: they are not */
    bool shifts_lines;  /* do threads that load copy whole chunks, and shift them after? */
    bool turns_last;    /* may a group's last clusters lie across its rows? */
    int turned_slices;  /* boxes of a tile of A, of which CTAs of such a cluster load one
                           each for both; 1: each loads all of its own; 0: there are none */
    bool
        halves_last; /* are entries of a last round that has few two each, of fewer rows? */
    bool shares_short;   /* do both math warpgroups multiply rows of a tile of which a group
                            has no more than half? */
    bool passes_items;   /* does a warp find items for those that multiply? */
    bool passes_loads;   /* and for the thread that loads? */
    bool k_turns;        /* have math warpgroups every other block of K each? */
    bool one_multiplies; /* does one math warpgroup multiply all of a tile? */
    bool leaves_slices;  /* are those left out of which a group has no rows? */
    enum jg_evict_first evict_first; /* of the product's A and B */
    jit_gemm_weights first_loads;    /* of the product's A and B, the one whose first stages
                                        are loaded before the grid before has ended */
    bool next_at_end; /* does the next grid begin when all of one wave has ended? */
    bool draws_ahead; /* are random numbers drawn before accumulators are there? */
    bool reads_first; /* are vectors of the epilogue read before a tile is multiplied? */
    bool stores_by_warps; /* is D stored by the warps that have it in fragments, not by TMA?
                           */
    int lead_stages;  /* by which one math warpgroup ends a tile before the other, or 0 */
    int gate_columns; /* of an accumulator, from acc0 to acc1 of an element; 1: they are
                         neighbours; 0: not gated */
    int copied_rows;  /* that an index names, which a copy of TMA brings; 0: none does */
    int tail_maps;    /* of groups along K: see plan/kernel_params.h */
    uint32_t host_groups; /* whose numbers a launch may have among its parameters: all, or 0
                             where there is no room or who reads them does so elsewhere */
    int64_t tiles; /* at the planned size, of all batches, padded to whole clusters */
    int grid_ctas; /* CTAs of the launched grid at the planned size */
    int busy_ctas; /* those of it that run at once */
    double waves;  /* tiles * split_k / CTAs that fit at once */
    int64_t workspace_bytes; /* at the planned size; 0 where none is needed */
    int64_t copied_bytes;    /* of it, for copies of A and B, or of scales; 0 without */
    double predicted_us;     /* of the cost model; for comparing candidates only */
    double repack_us;        /* of it, of the kernel that copies A and B first; 0: none */
    double scale_pack_us;    /* of it, of the kernel that packs scales first; 0: none */
    double waiting_us; /* of it, while the tensor core waits for an accumulator; 0 where
                          the model does not tell */
};

struct jg_trial;

/* A type of A and B that the chip multiplies. */
struct jg_input_feature {
    jit_gemm_dtype dtype;
    bool takes_mn_major; /* or K-major layouts only? */
};

/* Tiles of a cluster, along M and N. */
struct jg_part_cluster {
    int m, n;
};

enum { JG_MAX_COMPUTE_CAPABILITIES = 2 };

struct jg_compute_capability {
    int major, minor;
};

struct jg_arch {
    const char *name; /* "sm_90a": the compiler's --gpu-architecture */
    /* Devices that run this chip's machine code; 0.0 fills the rest. */
    struct jg_compute_capability runs_on[JG_MAX_COMPUTE_CAPABILITIES];
    struct jg_device_facts default_facts;  /* used when planning without the device */
    const struct jg_input_feature *inputs; /* up to one of type NONE */
    /* Of a cluster whose CTAs have parts of K, where the config leaves it open, up to one
     * of no tiles; the first has one. */
    const struct jg_part_cluster *part_clusters;
    const char *kernel_header; /* "jg/sm90a/gemm_kernel.cuh" */
    /* What its kernel needs beside that for sums that it multiplies by scales of blocks,
     * and for scales that the tensor core multiplies by, and for those of rows that an
     * index names; NULL: it multiplies by none. */
    const char *promoted_scales_header, *multiplied_scales_header, *gathered_scales_header;
    const char *pingpong_header; /* of kernels with `pingpong=1` */
    const char *kernel_name; /* C++ name of the kernel function template in that header */
    int copied_rows;         /* from anywhere, that one copy of TMA brings */
    const char *config_keys; /* words: the keys of a config that this chip takes and
                                prints, in the order of printing */
    /* Candidate `index` for a problem, or false when there are no more. Only the tile's M
     * and N, or mma, and cta_group, cluster and swap_ab are set. */
    bool (*candidate)(const struct jg_problem *problem, int index,
                      struct jg_config *ret_config);
    /* May the tile of a candidate have parts of K that nobody asked for? NULL: any may. */
    bool (*takes_parts)(const struct jg_trial *trial);
    /* Fills in the rest of the trial's config for its number of parts of K, where the
     * override leaves it open; the tile too where the config names an mma. */
    void (*complete)(struct jg_trial *trial);
    /* What follows from the trial's config; false with a reason if it cannot be. */
    bool (*derive)(struct jg_trial *trial);
};

/* By name ("sm_90a"); NULL if this version has no kernel for it. */
const struct jg_arch *jg_arch_find(const char *name);
/* Where a name is none: tries all of them, and chips by their own names. */
void jg_arch_nearest(struct jg_nearest *nearest);
/* By device; NULL if this version has no kernel for it. */
const struct jg_arch *jg_arch_for_device(const struct jg_device_facts *facts);
/* All of them, for messages and tests; NULL past the end. */
const struct jg_arch *jg_arch_at(int index);
/* A device that a user can name: one that a chip is planned for without a device, or of
 * which a driver has told the facts. NULL past the end. */
struct jg_known_device {
    const char *name;
    struct jg_device_facts facts;
};
const struct jg_known_device *jg_known_device_at(int index);
/* Does the chip's machine code run on the device? */
bool jg_arch_runs_on(const struct jg_arch *arch, const struct jg_device_facts *facts);
/* UNSUPPORTED, with the field, if no config of this chip can take the problem's types and
 * layouts. */
jit_gemm_status jg_arch_check(const struct jg_arch *arch, const struct jg_problem *problem);

#endif
