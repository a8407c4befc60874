/* SPDX-License-Identifier: MIT */
/* One chip, as data and functions. The registry is the only place that maps a device to a
 * chip. */
#ifndef JG_PLAN_ARCH_H
#define JG_PLAN_ARCH_H

#include "base/device_facts.h"
#include "plan/config.h"
#include "plan/problem.h"

/* What follows from a config: sizes that host and device must agree on. */
struct jg_derived {
    int threads;       /* of a CTA */
    int smem_bytes;    /* dynamic shared memory, a multiple of 1024 */
    int max_registers; /* a role may have; the launch bound's limit */
    int tmem_columns;  /* of tensor memory that a CTA allocates; 0 if the chip has none */
    int matrix_stages; /* of a ring for C and matrix operands alone; 0 if there is none */
    int a_box_rows,
        b_box_rows; /* of the tensor maps: rows that one copy moves; A and B
                       as the kernel takes them, with config.layout.swap_ab B and A */
    int d_box_rows, matrix_box_rows; /* of D; of C and matrix operands */
    int a_row_bytes, b_row_bytes;    /* of a row of those boxes: the span of its swizzle */
    int d_row_bytes;                 /* of a row of D's */
    int64_t tiles_m, tiles_n; /* at the planned size, in tiles, padded to whole clusters */
    int64_t tiles;            /* tiles_m * tiles_n * batch */
    int grid_ctas;            /* CTAs of the launched grid at the planned size */
    int busy_ctas;            /* those of it that run at once */
    double waves;             /* tiles * split_k / CTAs that fit at once */
    int64_t workspace_bytes;  /* at the planned size; 0 where K is not split */
    double predicted_us;      /* of the cost model; for comparing candidates only */
};

struct jg_arch {
    const char *name;          /* "sm_90a": the compiler's --gpu-architecture */
    const char *kernel_header; /* "jg/sm90a/gemm_kernel.cuh" */
    const char *kernel_name;   /* C++ name of the kernel function template in that header */
    const char *config_keys;   /* keys of a config that this chip takes, in words */
    struct jg_device_facts default_facts; /* used when planning without the device */
    /* Does this chip's machine code run on the device? */
    int (*matches)(const struct jg_device_facts *facts);
    /* UNSUPPORTED, with the field, if no config of this chip can take the problem's types
     * and layouts. */
    jit_gemm_status (*check)(const struct jg_problem *problem);
    /* Candidate `index` for a problem, or 0 when there are no more. Only the tile's M and
     * N, or mma and cta_group, and the cluster are set. */
    int (*candidate)(const struct jg_problem *problem, int index,
                     struct jg_config *ret_config);
    /* Fills the rest where an override left it, the K of the tile too, and the tile where
     * the config names an mma. */
    void (*complete)(const struct jg_problem *problem, const struct jg_device_facts *facts,
                     const struct jg_config_override *override, struct jg_config *config);
    /* Derived sizes; returns 0, or the reason why the config cannot be (static or in
     * `reason`). */
    int (*derive)(const struct jg_problem *problem, const struct jg_device_facts *facts,
                  const struct jg_config *config, struct jg_derived *ret_derived,
                  char *reason, size_t reason_size);
};

/* By name ("sm_90a"); NULL if this version has no kernel for it. */
const struct jg_arch *jg_arch_find(const char *name);
/* By device; NULL if this version has no kernel for it. */
const struct jg_arch *jg_arch_for_device(const struct jg_device_facts *facts);
/* All of them, for messages and tests; NULL past the end. */
const struct jg_arch *jg_arch_at(int index);

#endif
