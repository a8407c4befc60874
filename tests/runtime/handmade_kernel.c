/* SPDX-License-Identifier: MIT */
#include "handmade_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static atomic_long encode_count, move_count, launch_count;
static unsigned int last_grid;

static CUresult accept_map(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                           void *address, const cuuint64_t *dims, const cuuint64_t *strides,
                           const cuuint32_t *box, const cuuint32_t *element_strides,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    (void)type;
    (void)rank;
    (void)dims;
    (void)strides;
    (void)box;
    (void)element_strides;
    (void)interleave;
    (void)swizzle;
    (void)promotion;
    (void)fill;
    memset(map, 0, sizeof(*map));
    memcpy(map, &address, sizeof(address));
    atomic_fetch_add(&encode_count, 1);
    return CUDA_SUCCESS;
}

static CUresult accept_move(CUtensorMap *map, void *address)
{
    (void)map;
    (void)address;
    atomic_fetch_add(&move_count, 1);
    return CUDA_SUCCESS;
}

static CUresult accept_launch(const CUlaunchConfig *config, CUfunction function,
                              void **params, void **extra)
{
    (void)function;
    (void)params;
    (void)extra;
    last_grid = config->gridDimX;
    atomic_fetch_add(&launch_count, 1);
    return CUDA_SUCCESS;
}

static CUresult accept_release(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

void handmade_kernel(struct handmade *made)
{
    atomic_store(&encode_count, 0);
    atomic_store(&move_count, 0);
    atomic_store(&launch_count, 0);
    struct jg_driver *driver = jg_alloc(sizeof(*driver));
    struct jg_device *device = jg_alloc(sizeof(*device));
    struct jg_kernel *kernel = jg_alloc(sizeof(*kernel));
    if (driver == NULL || device == NULL || kernel == NULL) {
        abort();
    }
    driver->tensor_map_encode_tiled = accept_map;
    driver->tensor_map_replace_address = accept_move;
    driver->launch_kernel_ex = accept_launch;
    driver->primary_ctx_release = accept_release;
    atomic_init(&device->references, 1);
    device->driver = driver;
    atomic_init(&kernel->references, 1);
    kernel->device = device; /* its only reference */
    const jit_gemm_dim size = {.size = 1024};
    const struct jg_matrix a = {
        .letter = 'a', .dtype = JIT_GEMM_DTYPE_BF16, .alignment = JG_TMA_ALIGNMENT};
    struct jg_matrix b = a;
    struct jg_matrix d = a;
    b.letter = 'b';
    d.letter = 'd';
    kernel->problem = (struct jg_problem){.m = size,
                                          .n = size,
                                          .k = size,
                                          .batch = {.size = 1},
                                          .a = a,
                                          .b = b,
                                          .c = {.alignment = JG_TMA_ALIGNMENT},
                                          .d = d};
    kernel->choice.config = (struct jg_config){.kernel = JG_KERNEL_GEMM,
                                               .layout = {.tile_m = 128,
                                                          .tile_n = 256,
                                                          .tile_k = 64,
                                                          .cluster_m = 2,
                                                          .cluster_n = 1},
                                               .pipeline = {.stages = 4}};
    kernel->choice.product = jg_product_make(&kernel->problem, false);
    kernel->choice.derived.threads = 384;
    kernel->resident_clusters = 66;
    made->kernel = kernel;
    made->device = device;
}

void handmade_free(struct handmade *made)
{
    jg_kernel_release(made->kernel);
    *made = (struct handmade){0};
}

long handmade_encodes(void)
{
    return atomic_load(&encode_count);
}

long handmade_moves(void)
{
    return atomic_load(&move_count);
}

long handmade_launches(void)
{
    return atomic_load(&launch_count);
}

unsigned int handmade_last_grid(void)
{
    return last_grid;
}
