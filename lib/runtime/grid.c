/* SPDX-License-Identifier: MIT */
#include "runtime/grid.h"

#include "base/math.h"

/* The naive kernel strides over the elements with at most this many CTAs. */
#define JG_REFERENCE_CTAS_MAX (INT64_C(65535) * 8)

/* Tiles of one launch, which the device counts in 32 bits. */
#define TILES_LIMIT INT32_MAX

static unsigned int size_reference_grid(const struct jg_kernel *kernel, uint32_t m,
                                        uint32_t n, uint32_t batch)
{
    const int64_t elements = (int64_t)m * (int64_t)n; /* below 2^62 */
    const int64_t ctas = jg_ceil_div(elements, kernel->choice.derived.threads);
    if (ctas >= JG_REFERENCE_CTAS_MAX) {
        return (unsigned int)JG_REFERENCE_CTAS_MAX;
    }
    return (unsigned int)jg_min(ctas * (int64_t)batch, JG_REFERENCE_CTAS_MAX);
}

unsigned int jg_grid_of_size(const struct jg_kernel *kernel, uint32_t m, uint32_t n,
                             uint32_t batch)
{
    const struct jg_config *config = &kernel->choice.config;
    if (config->kernel == JG_KERNEL_REFERENCE) {
        return size_reference_grid(kernel, m, n, batch);
    }
    /* Fits: the arguments have no more CTAs than a grid can have. */
    const struct jg_cluster_tiles tiles = jg_kernel_cluster_tiles(kernel, m, n, batch);
    return (unsigned int)(jg_grid_clusters(config, tiles.tiles, tiles.batch,
                                           kernel->resident_clusters) *
                          jg_kernel_cluster_ctas(kernel));
}

bool jg_grid_has_countable_tiles(const struct jg_kernel *kernel, uint32_t m, uint32_t n,
                                 uint32_t batch)
{
    if (kernel->choice.config.kernel != JG_KERNEL_GEMM) {
        return true;
    }
    const struct jg_cluster_tiles tiles = jg_kernel_cluster_tiles(kernel, m, n, batch);
    int64_t clusters;
    return jg_mul_checked(tiles.tiles, tiles.batch, &clusters) &&
           clusters <= TILES_LIMIT / jg_kernel_cluster_ctas(kernel);
}

unsigned int jg_grid_of_exact_sizes(const struct jg_kernel *kernel)
{
    const struct jg_problem *problem = &kernel->problem;
    const jit_gemm_dim *dims[] = {&problem->m, &problem->n, &problem->k, &problem->batch};
    for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++) {
        if (dims[i]->mode != JIT_GEMM_DIM_EXACT) {
            return 0;
        }
    }
    const struct jg_product_size size = jg_product_size(
        &kernel->choice.product, (uint32_t)problem->m.size, (uint32_t)problem->n.size);
    const uint32_t batch = (uint32_t)problem->batch.size;
    return jg_grid_has_countable_tiles(kernel, size.m, size.n, batch)
               ? jg_grid_of_size(kernel, size.m, size.n, batch)
               : 0;
}
