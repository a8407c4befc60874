/* SPDX-License-Identifier: MIT */
/*
 * How many CTAs and clusters fit. Registers count by their upper bound, so that a grid that
 * is said to fit does fit whatever the compiler chooses.
 */
#include "driver/launch.h"

/* CTAs of this shape that fit an SM at once. */
static unsigned count_ctas_per_sm(CUfunction function, unsigned threads,
                                  uint64_t dynamic_bytes)
{
    unsigned warps = (threads + 31) / 32;
    if (warps == 0 || threads > emu_function_max_threads(function->ptx)) {
        return 0;
    }
    /* Shared memory is given in pieces of 128 bytes, registers in 256 per warp. */
    uint64_t shared_bytes = emu_align_up(
        dynamic_bytes + function->program->static_shared_bytes + EMU_SHARED_FIRST, 128);
    uint64_t registers =
        emu_align_up(emu_function_registers(function->ptx), 8) * 32 * warps;
    uint64_t limits[] = {EMU_SM_CTAS, EMU_SM_WARPS / warps,
                         EMU_SHARED_SM_BYTES / shared_bytes, EMU_SM_REGISTERS / registers};
    uint64_t least = limits[0];
    for (unsigned i = 1; i < sizeof limits / sizeof limits[0]; i++) {
        least = limits[i] < least ? limits[i] : least;
    }
    return (unsigned)least;
}

unsigned emu_config_active_clusters(const struct emu_config *config, CUfunction function)
{
    const struct emu_profile *profile = function->object.context->device->profile;
    unsigned threads = (unsigned)emu_volume(config->block);
    unsigned per_sm = count_ctas_per_sm(function, threads, config->dynamic_bytes);
    unsigned size = (unsigned)emu_volume(config->cluster);
    unsigned clusters = 0;
    for (unsigned i = 0; i < sizeof profile->gpc_sms / sizeof profile->gpc_sms[0]; i++) {
        clusters += profile->gpc_sms[i] * per_sm / size;
    }
    unsigned most = (unsigned)emu_device_sm_count(profile) * per_sm / size;
    return clusters < most ? clusters : most;
}

static CUresult enter_function(CUfunction handle, const void *target,
                               CUfunction *ret_function)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS && target == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return result == CUDA_SUCCESS ? emu_function_find(context, handle, ret_function)
                                  : result;
}

EMU_EXPORT CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize,
    unsigned int flags)
{
    CUfunction function = NULL;
    CUresult result = enter_function(func, numBlocks, &function);
    if (result == CUDA_SUCCESS &&
        (blockSize <= 0 ||
         (flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) != 0)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *numBlocks =
            dynamicSMemSize > EMU_SHARED_SM_BYTES
                ? 0
                : (int)count_ctas_per_sm(function, (unsigned)blockSize, dynamicSMemSize);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                dynamicSMemSize, 0);
}

EMU_EXPORT CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                                         const CUlaunchConfig *config)
{
    CUfunction function = NULL;
    struct emu_config read;
    CUresult result = enter_function(func, numClusters, &function);
    if (result == CUDA_SUCCESS && config == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        result = emu_config_read("cuOccupancyMaxActiveClusters", config, function, &read);
    }
    if (result == CUDA_SUCCESS) {
        result = emu_config_check_shape(&read, function);
    }
    if (result == CUDA_SUCCESS) {
        *numClusters = (int)emu_config_active_clusters(&read, function);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *clusterSize,
                                                               CUfunction func,
                                                               const CUlaunchConfig *config)
{
    CUfunction function = NULL;
    struct emu_config read;
    CUresult result = enter_function(func, clusterSize, &function);
    if (result == CUDA_SUCCESS && config == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        result =
            emu_config_read("cuOccupancyMaxPotentialClusterSize", config, function, &read);
    }
    if (result == CUDA_SUCCESS) {
        result = emu_config_check_shape(&read, function);
    }
    if (result == CUDA_SUCCESS) {
        unsigned size = function->settings->non_portable_cluster
                            ? EMU_MAX_CLUSTER
                            : EMU_PORTABLE_CLUSTER_SIZE;
        do {
            read.cluster[0] = size;
            read.cluster[1] = read.cluster[2] = 1;
            *clusterSize = (int)size;
            size /= 2;
        } while (size > 0 && emu_config_active_clusters(&read, function) == 0);
    }
    return emu_leave(result);
}
