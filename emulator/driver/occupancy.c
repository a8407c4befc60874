/* SPDX-License-Identifier: MIT */
/* What a program may ask about how many CTAs and clusters fit. */
#include "driver/launch.h"

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
        *numBlocks = dynamicSMemSize > EMU_SHARED_SM_BYTES
                         ? 0
                         : (int)emu_config_ctas_per_sm(function, (unsigned)blockSize,
                                                       dynamicSMemSize);
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
