/* SPDX-License-Identifier: MIT */
/* Launches, attributes of kernels, occupancy. */
#include <limits.h>
#include <string.h>

#include "cudart/compiler.h"
#include "cudart/runtime.h"

/* ------------------------------------------------------- what stands between <<< and >>>
 */

enum { CONFIGURATIONS = 32 };

/* Arguments of a launch may launch. */
static _Thread_local struct {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
} configurations[CONFIGURATIONS];
static _Thread_local unsigned configuration_count;

RT_EXPORT unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim,
                                               size_t sharedMem, void *stream)
{
    if (configuration_count == CONFIGURATIONS) {
        return (unsigned)rt_refuse(cudaErrorMissingConfiguration,
                                   "more than %d launches inside of each other",
                                   CONFIGURATIONS);
    }
    configurations[configuration_count].grid = gridDim;
    configurations[configuration_count].block = blockDim;
    configurations[configuration_count].shared_bytes = sharedMem;
    configurations[configuration_count++].stream = stream;
    return 0;
}

RT_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim,
                                                 size_t *sharedMem, void *stream)
{
    if (configuration_count == 0) {
        return rt_keep((CUresult)cudaErrorMissingConfiguration);
    }
    configuration_count--;
    *gridDim = configurations[configuration_count].grid;
    *blockDim = configurations[configuration_count].block;
    *sharedMem = configurations[configuration_count].shared_bytes;
    memcpy(stream, &configurations[configuration_count].stream, sizeof(cudaStream_t));
    return cudaSuccess;
}

/* ---------------------------------------------------------------------------- launches */

/* Sizes that no launch may have are an error of their own in the runtime. */
static cudaError_t keep_launch(CUresult result)
{
    return rt_keep(
        result == CUDA_ERROR_INVALID_VALUE    ? (CUresult)cudaErrorInvalidConfiguration
        : result == CUDA_ERROR_INVALID_HANDLE ? (CUresult)cudaErrorInvalidDeviceFunction
                                              : result);
}

static CUlaunchConfig get_config(dim3 grid, dim3 block, size_t shared_bytes,
                                 cudaStream_t stream)
{
    return (CUlaunchConfig){.gridDimX = grid.x,
                            .gridDimY = grid.y,
                            .gridDimZ = grid.z,
                            .blockDimX = block.x,
                            .blockDimY = block.y,
                            .blockDimZ = block.z,
                            /* No device has as much as is cut off. */
                            .sharedMemBytes =
                                shared_bytes < UINT_MAX ? (unsigned)shared_bytes : UINT_MAX,
                            .hStream = stream};
}

/* Fills in what the driver is given for a program's configuration, which may be NULL.
 * Attributes of a launch have the same layout and numbers. */
static const CUlaunchConfig *map_config(const cudaLaunchConfig_t *config,
                                        CUlaunchConfig *mapped)
{
    _Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "layout");
    if (config == NULL) {
        return NULL;
    }
    *mapped = get_config(config->gridDim, config->blockDim, config->dynamicSmemBytes,
                         config->stream);
    mapped->attrs = (CUlaunchAttribute *)config->attrs;
    mapped->numAttrs = config->numAttrs;
    return mapped;
}

static cudaError_t launch(const void *func, const CUlaunchConfig *config, void **args)
{
    CUfunction function = NULL;
    const CUresult result = rt_find_function(func, &function);
    return keep_launch(
        result == CUDA_SUCCESS ? cuLaunchKernelEx(config, function, args, NULL) : result);
}

RT_EXPORT cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                       void **args, size_t sharedMem, cudaStream_t stream)
{
    const CUlaunchConfig config = get_config(gridDim, blockDim, sharedMem, stream);
    return launch(func, &config, args);
}

RT_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
                                         void **args, size_t sharedMem, cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, gridDim, blockDim, args, sharedMem, stream);
}

RT_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                          const void *func, void **args)
{
    CUlaunchConfig mapped;
    return launch(func, map_config(config, &mapped), args);
}

RT_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim,
                                                  dim3 blockDim, void **args,
                                                  size_t sharedMem, cudaStream_t stream)
{
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                     .value.cooperative = 1};
    CUlaunchConfig config = get_config(gridDim, blockDim, sharedMem, stream);
    config.attrs = &cooperative;
    config.numAttrs = 1;
    return launch(func, &config, args);
}

/* What was launched before is done when the function is called; the caller waits. */
RT_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn,
                                         void *userData)
{
    CUresult result = fn == NULL ? CUDA_ERROR_INVALID_VALUE : rt_enter();
    result = result == CUDA_SUCCESS ? cuStreamSynchronize(stream) : result;
    if (result == CUDA_SUCCESS) {
        fn(userData);
    }
    return rt_keep(result);
}

/* -------------------------------------------------------------------------- attributes */

RT_EXPORT cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr,
                                           int value)
{
    CUfunction function = NULL;
    const CUresult result = rt_find_function(func, &function);
    return rt_keep(result == CUDA_SUCCESS
                       ? cuFuncSetAttribute(function, (CUfunction_attribute)attr, value)
                       : result);
}

RT_EXPORT cudaError_t cudaFuncSetCacheConfig(const void *func,
                                             enum cudaFuncCache cacheConfig)
{
    CUfunction function = NULL;
    const CUresult result = rt_find_function(func, &function);
    return rt_keep(result == CUDA_SUCCESS
                       ? cuFuncSetCacheConfig(function, (CUfunc_cache)cacheConfig)
                       : result);
}

RT_EXPORT cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr,
                                            const void *func)
{
    static const CUfunction_attribute attributes[] = {
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        CU_FUNC_ATTRIBUTE_NUM_REGS,
        CU_FUNC_ATTRIBUTE_PTX_VERSION,
        CU_FUNC_ATTRIBUTE_BINARY_VERSION,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES};
    enum { COUNT = sizeof(attributes) / sizeof(attributes[0]) };
    int values[COUNT] = {0};
    CUfunction function = NULL;
    CUresult result =
        attr == NULL ? CUDA_ERROR_INVALID_VALUE : rt_find_function(func, &function);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < COUNT; i++) {
        result = cuFuncGetAttribute(&values[i], attributes[i], function);
    }
    if (result == CUDA_SUCCESS) {
        memset(attr, 0, sizeof(*attr));
        attr->sharedSizeBytes = (size_t)values[0];
        attr->constSizeBytes = (size_t)values[1];
        attr->localSizeBytes = (size_t)values[2];
        attr->maxThreadsPerBlock = values[3];
        attr->numRegs = values[4];
        attr->ptxVersion = values[5];
        attr->binaryVersion = values[6];
        attr->maxDynamicSharedSizeBytes = values[7];
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    CUfunction function = NULL;
    const CUresult result = rt_find_function(func, &function);
    return rt_keep(result == CUDA_SUCCESS ? cuFuncGetName(name, function) : result);
}

/* --------------------------------------------------------------------------- occupancy */

RT_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize,
    unsigned int flags)
{
    CUfunction function = NULL;
    const CUresult result = rt_find_function(func, &function);
    return rt_keep(result == CUDA_SUCCESS
                       ? cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                             numBlocks, function, blockSize, dynamicSMemSize, flags)
                       : result);
}

RT_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks,
                                                                    const void *func,
                                                                    int blockSize,
                                                                    size_t dynamicSMemSize)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, 0);
}

RT_EXPORT cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                                     const cudaLaunchConfig_t *launchConfig)
{
    CUfunction function = NULL;
    CUlaunchConfig mapped;
    const CUlaunchConfig *config = map_config(launchConfig, &mapped);
    const CUresult result = rt_find_function(func, &function);
    return rt_keep(result == CUDA_SUCCESS
                       ? cuOccupancyMaxActiveClusters(numClusters, function, config)
                       : result);
}

RT_EXPORT cudaError_t cudaOccupancyMaxPotentialClusterSize(
    int *clusterSize, const void *func, const cudaLaunchConfig_t *launchConfig)
{
    CUfunction function = NULL;
    CUlaunchConfig mapped;
    const CUlaunchConfig *config = map_config(launchConfig, &mapped);
    const CUresult result = rt_find_function(func, &function);
    return rt_keep(result == CUDA_SUCCESS
                       ? cuOccupancyMaxPotentialClusterSize(clusterSize, function, config)
                       : result);
}
