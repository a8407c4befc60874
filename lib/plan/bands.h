/* SPDX-License-Identifier: MIT */
/*
 * Bands: which kernels share the sizes that a dynamic dimension takes. Pure.
 *
 * Every config that the model prefers at one of the sizes is a kernel that may serve
 * others. The least set of them is searched in which each size has one whose predicted time
 * is within the loss; then each size gets one of the set, with as few changes as can be,
 * and among those with the least loss in all.
 *
 * The model does not price the order of tiles (`raster`). It is chosen for the greatest
 * size that a kernel serves, where it matters most, unless the problem's config names it.
 *
 * Not each size is looked at: tiles have multiples of 16 rows. Looked at are both ends of
 * steps of 16 sizes up to 1024, then of 64 steps up to each power of two, and of 8 from
 * 131072 on.
 */
#ifndef JG_PLAN_BANDS_H
#define JG_PLAN_BANDS_H

#include "plan/choose.h"
#include "plan/range.h"

struct jg_band_kernel {
    char text[JIT_GEMM_CONFIG_SIZE]; /* of the whole config */
    int64_t planned; /* the greatest size that it serves: what it is planned for */
};

struct jg_band {
    int64_t first, last;      /* sizes, both included */
    size_t kernel;            /* its number */
    double first_us, last_us; /* predicted at both ends */
    double loss;              /* the greatest of its sizes, as a part of the best time */
    int64_t loss_size;        /* the size that has it */
};

struct jg_bands {
    struct jg_band_kernel *kernels; /* in the order in which the bands first take them */
    size_t kernel_count;
    struct jg_band *bands; /* in the order of sizes, without gaps */
    size_t band_count;
    size_t size_count; /* that were looked at */
};

/* As jg_config_choose, at any of the sizes; NO_MEMORY. Free it with jg_bands_free. */
jit_gemm_status jg_bands_make(const struct jg_arch *arch, const struct jg_problem *problem,
                              const struct jg_device_facts *facts,
                              const struct jg_range *range, struct jg_bands *ret_bands);
void jg_bands_free(struct jg_bands *bands);

/* The problem of one of the kernels: its config is named, its size the planned one. */
jit_gemm_status jg_bands_problem(const struct jg_problem *problem,
                                 const struct jg_range *range,
                                 const struct jg_band_kernel *kernel,
                                 struct jg_problem *ret_problem);

#endif
