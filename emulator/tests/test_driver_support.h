/* SPDX-License-Identifier: MIT */
/* The emulator's shared object, opened as a program opens a driver. */
#ifndef TEST_DRIVER_SUPPORT_H
#define TEST_DRIVER_SUPPORT_H

#include <criterion/criterion.h>
#include <cuda.h>

#include "driver/emulator.h"

#define CU_FUNCTIONS(X)                                     \
    X(cuInit)                                               \
    X(cuDriverGetVersion)                                   \
    X(cuGetProcAddress_v2)                                  \
    X(cuGetErrorName)                                       \
    X(cuGetErrorString)                                     \
    X(cuDeviceGetCount)                                     \
    X(cuDeviceGet)                                          \
    X(cuDeviceGetName)                                      \
    X(cuDeviceGetUuid_v2)                                   \
    X(cuDeviceTotalMem_v2)                                  \
    X(cuDeviceGetAttribute)                                 \
    X(cuDevicePrimaryCtxRetain)                             \
    X(cuDevicePrimaryCtxRelease_v2)                         \
    X(cuDevicePrimaryCtxReset_v2)                           \
    X(cuDevicePrimaryCtxGetState)                           \
    X(cuCtxCreate_v4)                                       \
    X(cuCtxDestroy_v2)                                      \
    X(cuCtxSetCurrent)                                      \
    X(cuCtxGetCurrent)                                      \
    X(cuCtxPushCurrent_v2)                                  \
    X(cuCtxPopCurrent_v2)                                   \
    X(cuCtxGetDevice)                                       \
    X(cuCtxSynchronize)                                     \
    X(cuCtxGetStreamPriorityRange)                          \
    X(cuModuleLoadData)                                     \
    X(cuModuleLoadDataEx)                                   \
    X(cuModuleUnload)                                       \
    X(cuModuleGetFunction)                                  \
    X(cuModuleGetGlobal_v2)                                 \
    X(cuLibraryLoadData)                                    \
    X(cuLibraryUnload)                                      \
    X(cuLibraryGetKernel)                                   \
    X(cuLibraryGetModule)                                   \
    X(cuLibraryGetGlobal)                                   \
    X(cuKernelGetFunction)                                  \
    X(cuKernelGetAttribute)                                 \
    X(cuKernelSetAttribute)                                 \
    X(cuKernelGetName)                                      \
    X(cuFuncGetAttribute)                                   \
    X(cuFuncSetAttribute)                                   \
    X(cuFuncSetCacheConfig)                                 \
    X(cuFuncGetModule)                                      \
    X(cuFuncGetName)                                        \
    X(cuFuncGetParamInfo)                                   \
    X(cuKernelGetParamInfo)                                 \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)          \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) \
    X(cuOccupancyMaxActiveClusters)                         \
    X(cuOccupancyMaxPotentialClusterSize)                   \
    X(cuLaunchKernel)                                       \
    X(cuLaunchKernelEx)                                     \
    X(cuLaunchCooperativeKernel)                            \
    X(cuTensorMapEncodeTiled)                               \
    X(cuTensorMapReplaceAddress)                            \
    X(cuMemAlloc_v2)                                        \
    X(cuMemFree_v2)                                         \
    X(cuMemAllocAsync)                                      \
    X(cuMemFreeAsync)                                       \
    X(cuMemAllocHost_v2)                                    \
    X(cuMemHostAlloc)                                       \
    X(cuMemFreeHost)                                        \
    X(cuMemGetInfo_v2)                                      \
    X(cuMemcpy)                                             \
    X(cuMemcpyAsync)                                        \
    X(cuMemcpyHtoD_v2)                                      \
    X(cuMemcpyHtoDAsync_v2)                                 \
    X(cuMemcpyDtoH_v2)                                      \
    X(cuMemcpyDtoHAsync_v2)                                 \
    X(cuMemcpyDtoD_v2)                                      \
    X(cuMemcpyDtoDAsync_v2)                                 \
    X(cuMemsetD8_v2)                                        \
    X(cuMemsetD16_v2)                                       \
    X(cuMemsetD32_v2)                                       \
    X(cuMemsetD8Async)                                      \
    X(cuMemsetD16Async)                                     \
    X(cuMemsetD32Async)                                     \
    X(cuPointerGetAttribute)                                \
    X(cuPointerGetAttributes)                               \
    X(cuStreamCreate)                                       \
    X(cuStreamCreateWithPriority)                           \
    X(cuStreamDestroy_v2)                                   \
    X(cuStreamSynchronize)                                  \
    X(cuStreamQuery)                                        \
    X(cuStreamWaitEvent)                                    \
    X(cuStreamGetPriority)                                  \
    X(cuStreamGetFlags)                                     \
    X(cuStreamGetId)                                        \
    X(cuStreamIsCapturing)                                  \
    X(cuStreamBeginCapture_v2)                              \
    X(cuStreamEndCapture)                                   \
    X(cuThreadExchangeStreamCaptureMode)                    \
    X(cuEventCreate)                                        \
    X(cuEventDestroy_v2)                                    \
    X(cuEventRecord)                                        \
    X(cuEventSynchronize)                                   \
    X(cuEventQuery)                                         \
    X(cuEventElapsedTime_v2)                                \
    X(emuModuleFormat)                                      \
    X(emuConfigure)                                         \
    X(emuLastError)                                         \
    X(emuReports)                                           \
    X(emuReportsClear)                                      \
    X(emuCountFindings)                                     \
    X(emuNameMemory)                                        \
    X(emuThreadSteps)                                       \
    X(emuTimes)                                             \
    X(emuTimeReport)

struct cu_table {
#define CU_MEMBER(name) __typeof__(name) *name;
    CU_FUNCTIONS(CU_MEMBER)
#undef CU_MEMBER
};
extern struct cu_table cu;

/* Fixtures: opened; opened and initialised; with the primary context of device 0. */
void open_driver(void);
void start_driver(void);
void start_context(void);
/* The shared object's dlopen handle. */
extern void *cu_library;

#define EXPECT_CU(expected, call)                                                    \
    do {                                                                             \
        CUresult cu_result = (call);                                                 \
        cr_expect_eq(cu_result, (expected), "%s: %s", #call, cu_name_of(cu_result)); \
    } while (0)
#define ASSERT_CU(call)                                                                \
    do {                                                                               \
        CUresult cu_result = (call);                                                   \
        cr_assert_eq(cu_result, CUDA_SUCCESS, "%s: %s", #call, cu_name_of(cu_result)); \
    } while (0)
const char *cu_name_of(CUresult result);

/* emuLastError has this in it. */
void expect_reason(const char *part);

/*
 * Kernels, with `target` "sm_100a":
 *   add(u64 a, u64 b, u64 sum, u32 count): sum[i] = a[i] + b[i], f32
 *   store(u64 to, u32 value): lane 0 of the grid's first block writes
 *   twice(u64 to): *to = 2 * table[1], and *to_table
 */
char *kernels_for(const char *target);
CUmodule load_kernels(void);
CUfunction get_kernel(const char *name);

/* A new allocation of the current context with these bytes. */
CUdeviceptr upload(const void *data, size_t bytes);

/* A handle that points to readable bytes and is none. */
void *wrong_handle(void);

#endif
