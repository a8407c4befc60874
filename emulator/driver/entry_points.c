/* SPDX-License-Identifier: MIT */
/* What cuGetProcAddress finds: every function of the driver API that is exported here. */
#include <string.h>

#include "driver/driver.h"

/* X(name that programs ask for, exported name, CUDA version that brought this form) */
#define ENTRY_POINTS(X)                                                                \
    X("cuInit", cuInit, 2000)                                                          \
    X("cuDriverGetVersion", cuDriverGetVersion, 2020)                                  \
    X("cuGetProcAddress", cuGetProcAddress_v2, 12000)                                  \
    X("cuGetErrorName", cuGetErrorName, 6000)                                          \
    X("cuGetErrorString", cuGetErrorString, 6000)                                      \
    X("cuDeviceGetCount", cuDeviceGetCount, 2000)                                      \
    X("cuDeviceGet", cuDeviceGet, 2000)                                                \
    X("cuDeviceGetName", cuDeviceGetName, 2000)                                        \
    X("cuDeviceGetUuid", cuDeviceGetUuid_v2, 11040)                                    \
    X("cuDeviceTotalMem", cuDeviceTotalMem_v2, 3020)                                   \
    X("cuDeviceGetAttribute", cuDeviceGetAttribute, 2000)                              \
    X("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain, 7000)                      \
    X("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2, 11000)                \
    X("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2, 11000)                    \
    X("cuDevicePrimaryCtxGetState", cuDevicePrimaryCtxGetState, 7000)                  \
    X("cuCtxCreate", cuCtxCreate_v4, 12050)                                            \
    X("cuCtxDestroy", cuCtxDestroy_v2, 4000)                                           \
    X("cuCtxSetCurrent", cuCtxSetCurrent, 4000)                                        \
    X("cuCtxGetCurrent", cuCtxGetCurrent, 4000)                                        \
    X("cuCtxPushCurrent", cuCtxPushCurrent_v2, 4000)                                   \
    X("cuCtxPopCurrent", cuCtxPopCurrent_v2, 4000)                                     \
    X("cuCtxGetDevice", cuCtxGetDevice, 2000)                                          \
    X("cuCtxSynchronize", cuCtxSynchronize, 2000)                                      \
    X("cuCtxGetStreamPriorityRange", cuCtxGetStreamPriorityRange, 5050)                \
    X("cuModuleLoadData", cuModuleLoadData, 2000)                                      \
    X("cuModuleLoadDataEx", cuModuleLoadDataEx, 2010)                                  \
    X("cuModuleUnload", cuModuleUnload, 2000)                                          \
    X("cuModuleGetFunction", cuModuleGetFunction, 2000)                                \
    X("cuModuleGetGlobal", cuModuleGetGlobal_v2, 3020)                                 \
    X("cuLibraryLoadData", cuLibraryLoadData, 12000)                                   \
    X("cuLibraryUnload", cuLibraryUnload, 12000)                                       \
    X("cuLibraryGetKernel", cuLibraryGetKernel, 12000)                                 \
    X("cuLibraryGetModule", cuLibraryGetModule, 12000)                                 \
    X("cuLibraryGetGlobal", cuLibraryGetGlobal, 12000)                                 \
    X("cuKernelGetFunction", cuKernelGetFunction, 12000)                               \
    X("cuKernelGetAttribute", cuKernelGetAttribute, 12000)                             \
    X("cuKernelSetAttribute", cuKernelSetAttribute, 12000)                             \
    X("cuKernelGetName", cuKernelGetName, 12030)                                       \
    X("cuFuncGetAttribute", cuFuncGetAttribute, 2020)                                  \
    X("cuFuncSetAttribute", cuFuncSetAttribute, 9000)                                  \
    X("cuFuncSetCacheConfig", cuFuncSetCacheConfig, 3000)                              \
    X("cuFuncGetModule", cuFuncGetModule, 11000)                                       \
    X("cuKernelGetParamInfo", cuKernelGetParamInfo, 12040)                             \
    X("cuFuncGetParamInfo", cuFuncGetParamInfo, 12040)                                 \
    X("cuFuncGetName", cuFuncGetName, 12030)                                           \
    X("cuOccupancyMaxActiveBlocksPerMultiprocessor",                                   \
      cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                               \
    X("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",                          \
      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000)                      \
    X("cuOccupancyMaxActiveClusters", cuOccupancyMaxActiveClusters, 11070)             \
    X("cuOccupancyMaxPotentialClusterSize", cuOccupancyMaxPotentialClusterSize, 11070) \
    X("cuLaunchKernel", cuLaunchKernel, 4000)                                          \
    X("cuLaunchKernelEx", cuLaunchKernelEx, 11060)                                     \
    X("cuLaunchCooperativeKernel", cuLaunchCooperativeKernel, 9000)                    \
    X("cuTensorMapEncodeTiled", cuTensorMapEncodeTiled, 12000)                         \
    X("cuTensorMapReplaceAddress", cuTensorMapReplaceAddress, 12000)                   \
    X("cuMemAlloc", cuMemAlloc_v2, 3020)                                               \
    X("cuMemFree", cuMemFree_v2, 3020)                                                 \
    X("cuMemAllocAsync", cuMemAllocAsync, 11020)                                       \
    X("cuMemFreeAsync", cuMemFreeAsync, 11020)                                         \
    X("cuMemAllocHost", cuMemAllocHost_v2, 3020)                                       \
    X("cuMemHostAlloc", cuMemHostAlloc, 2020)                                          \
    X("cuMemFreeHost", cuMemFreeHost, 2000)                                            \
    X("cuMemGetInfo", cuMemGetInfo_v2, 3020)                                           \
    X("cuMemcpy", cuMemcpy, 4000)                                                      \
    X("cuMemcpyAsync", cuMemcpyAsync, 4000)                                            \
    X("cuMemcpyHtoD", cuMemcpyHtoD_v2, 3020)                                           \
    X("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2, 3020)                                 \
    X("cuMemcpyDtoH", cuMemcpyDtoH_v2, 3020)                                           \
    X("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2, 3020)                                 \
    X("cuMemcpyDtoD", cuMemcpyDtoD_v2, 3020)                                           \
    X("cuMemcpyDtoDAsync", cuMemcpyDtoDAsync_v2, 3020)                                 \
    X("cuMemsetD8", cuMemsetD8_v2, 3020)                                               \
    X("cuMemsetD16", cuMemsetD16_v2, 3020)                                             \
    X("cuMemsetD32", cuMemsetD32_v2, 3020)                                             \
    X("cuMemsetD8Async", cuMemsetD8Async, 3020)                                        \
    X("cuMemsetD16Async", cuMemsetD16Async, 3020)                                      \
    X("cuMemsetD32Async", cuMemsetD32Async, 3020)                                      \
    X("cuPointerGetAttribute", cuPointerGetAttribute, 4000)                            \
    X("cuPointerGetAttributes", cuPointerGetAttributes, 7000)                          \
    X("cuStreamCreate", cuStreamCreate, 2000)                                          \
    X("cuStreamCreateWithPriority", cuStreamCreateWithPriority, 5050)                  \
    X("cuStreamDestroy", cuStreamDestroy_v2, 4000)                                     \
    X("cuStreamSynchronize", cuStreamSynchronize, 2000)                                \
    X("cuStreamQuery", cuStreamQuery, 2000)                                            \
    X("cuStreamWaitEvent", cuStreamWaitEvent, 3020)                                    \
    X("cuStreamGetPriority", cuStreamGetPriority, 5050)                                \
    X("cuStreamGetFlags", cuStreamGetFlags, 5050)                                      \
    X("cuStreamGetId", cuStreamGetId, 12000)                                           \
    X("cuStreamIsCapturing", cuStreamIsCapturing, 10000)                               \
    X("cuStreamBeginCapture", cuStreamBeginCapture_v2, 10010)                          \
    X("cuStreamEndCapture", cuStreamEndCapture, 10000)                                 \
    X("cuThreadExchangeStreamCaptureMode", cuThreadExchangeStreamCaptureMode, 10010)   \
    X("cuEventCreate", cuEventCreate, 2000)                                            \
    X("cuEventDestroy", cuEventDestroy_v2, 4000)                                       \
    X("cuEventRecord", cuEventRecord, 2000)                                            \
    X("cuEventSynchronize", cuEventSynchronize, 2000)                                  \
    X("cuEventQuery", cuEventQuery, 2000)                                              \
    X("cuEventElapsedTime", cuEventElapsedTime_v2, 12080)

struct entry_point {
    const char *name, *exported;
    int version;
    void (*function)(void);
};

static const struct entry_point entry_points[] = {
#define ENTRY(name, function, version) \
    {name, #function, version, (void (*)(void))(function)},
    ENTRY_POINTS(ENTRY)
#undef ENTRY
};

static const struct entry_point *find_entry_point(const char *name)
{
    for (size_t i = 0; i < sizeof(entry_points) / sizeof(entry_points[0]); i++) {
        if (strcmp(entry_points[i].name, name) == 0 ||
            strcmp(entry_points[i].exported, name) == 0) {
            return &entry_points[i];
        }
    }
    return NULL;
}

/* Only the newest form of each function is there: who asks for an older one is told. */
EMU_EXPORT CUresult CUDAAPI
cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                    CUdriverProcAddressQueryResult *symbolStatus)
{
    if (symbol == NULL || pfn == NULL ||
        (flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                               CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct entry_point *found = find_entry_point(symbol);
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    *pfn = NULL;
    if (found == NULL) {
        status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    } else if (cudaVersion < found->version) {
        status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    } else {
        memcpy(pfn, &found->function, sizeof(*pfn));
    }
    if (symbolStatus != NULL) {
        *symbolStatus = status;
    }
    return CUDA_SUCCESS; /* also when there is none */
}
