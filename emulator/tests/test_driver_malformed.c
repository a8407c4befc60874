/* SPDX-License-Identifier: MIT */
/* Calls with nothing, or with things that are none of ours: an error code, never a crash.
 */
#include <stdlib.h>
#include <string.h>

#include "test_driver_support.h"

TestSuite(driver_malformed, .init = start_context);

#define REFUSED(call) cr_expect_neq((call), CUDA_SUCCESS, "%s", #call)
#define ALLOWED(call) EXPECT_CU(CUDA_SUCCESS, call)

Test(driver_malformed, null_where_an_answer_goes)
{
    CUfunction add = get_kernel("add");

    REFUSED(cu.cuDriverGetVersion(NULL));
    REFUSED(cu.cuGetErrorName(CUDA_SUCCESS, NULL));
    REFUSED(cu.cuGetErrorString(CUDA_SUCCESS, NULL));
    REFUSED(cu.cuGetProcAddress("cuInit", NULL, 13000, 0, NULL));
    REFUSED(cu.cuGetProcAddress(NULL, NULL, 13000, 0, NULL));
    REFUSED(cu.cuDeviceGetCount(NULL));
    REFUSED(cu.cuDeviceGet(NULL, 0));
    REFUSED(cu.cuDeviceGetName(NULL, 10, 0));
    REFUSED(cu.cuDeviceGetUuid(NULL, 0));
    REFUSED(cu.cuDeviceTotalMem(NULL, 0));
    REFUSED(cu.cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    REFUSED(cu.cuDevicePrimaryCtxRetain(NULL, 0));
    REFUSED(cu.cuDevicePrimaryCtxGetState(0, NULL, NULL));
    REFUSED(cu.cuCtxCreate(NULL, NULL, 0, 0));
    REFUSED(cu.cuCtxGetCurrent(NULL));
    REFUSED(cu.cuCtxGetDevice(NULL));
    REFUSED(cu.cuModuleLoadData(NULL, ""));
    REFUSED(cu.cuModuleGetFunction(NULL, load_kernels(), "add"));
    REFUSED(cu.cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, add));
    REFUSED(cu.cuFuncGetModule(NULL, add));
    REFUSED(cu.cuFuncGetName(NULL, add));
    REFUSED(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, add, 32, 0));
    REFUSED(cu.cuOccupancyMaxActiveClusters(NULL, add, NULL));
    REFUSED(cu.cuOccupancyMaxPotentialClusterSize(NULL, add, NULL));
    REFUSED(cu.cuMemAlloc(NULL, 4));
    REFUSED(cu.cuMemAllocAsync(NULL, 4, NULL));
    REFUSED(cu.cuMemAllocHost(NULL, 4));
    REFUSED(cu.cuMemHostAlloc(NULL, 4, 0));
    REFUSED(cu.cuMemGetInfo(NULL, NULL));
    REFUSED(cu.cuStreamCreate(NULL, 0));
    REFUSED(cu.cuStreamGetPriority(NULL, NULL));
    REFUSED(cu.cuStreamGetFlags(NULL, NULL));
    REFUSED(cu.cuStreamGetId(NULL, NULL));
    REFUSED(cu.cuStreamIsCapturing(NULL, NULL));
    REFUSED(cu.cuThreadExchangeStreamCaptureMode(NULL));
    REFUSED(cu.cuEventCreate(NULL, 0));
    ALLOWED(cu.cuCtxGetStreamPriorityRange(NULL, NULL));
}

Test(driver_malformed, null_where_something_is_needed)
{
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUdeviceptr address = 0;
    int number = 0;
    int host = 0;
    size_t bytes = 0;
    CUfunction add = get_kernel("add");
    ALLOWED(cu.cuMemAlloc(&address, 16));

    REFUSED(cu.cuDeviceGetName((char *)&number, 0, 0));
    REFUSED(cu.cuDeviceGetName((char *)&number, -4, 0));
    REFUSED(cu.cuCtxDestroy(NULL));
    REFUSED(cu.cuCtxPushCurrent(NULL));
    REFUSED(cu.cuModuleLoadData(&module, NULL));
    REFUSED(cu.cuModuleUnload(NULL));
    REFUSED(cu.cuModuleGetFunction(&function, NULL, "add"));
    REFUSED(cu.cuModuleGetFunction(&function, load_kernels(), NULL));
    REFUSED(cu.cuModuleGetGlobal(&address, &bytes, load_kernels(), NULL));
    REFUSED(cu.cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    REFUSED(cu.cuLibraryLoadData(NULL, "", NULL, NULL, 0, NULL, NULL, 0));
    REFUSED(cu.cuLibraryLoadData(&library, "", NULL, NULL, 1, NULL, NULL, 0));
    REFUSED(cu.cuLibraryLoadData(&library, "", NULL, NULL, 0, NULL, NULL, 1));
    REFUSED(cu.cuLibraryUnload(NULL));
    REFUSED(cu.cuLibraryGetKernel(&kernel, NULL, "add"));
    REFUSED(cu.cuLibraryGetModule(&module, NULL));
    REFUSED(cu.cuLibraryGetGlobal(&address, &bytes, NULL, "x"));
    REFUSED(cu.cuKernelGetFunction(&function, NULL));
    REFUSED(cu.cuKernelGetName(NULL, NULL));
    REFUSED(cu.cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL, 0));
    REFUSED(cu.cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 0, NULL, 0));
    REFUSED(cu.cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL));
    REFUSED(cu.cuFuncSetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, 0));
    REFUSED(cu.cuFuncSetCacheConfig(NULL, CU_FUNC_CACHE_PREFER_NONE));
    REFUSED(cu.cuLaunchKernelEx(NULL, add, NULL, NULL));
    REFUSED(cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    REFUSED(cu.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    REFUSED(cu.cuOccupancyMaxActiveClusters(&number, add, NULL));
    REFUSED(cu.cuMemcpyHtoD(address, NULL, 4));
    REFUSED(cu.cuMemcpyHtoD(0, &host, 4));
    REFUSED(cu.cuMemcpyDtoH(NULL, address, 4));
    REFUSED(cu.cuMemcpyDtoH(&host, 0, 4));
    REFUSED(cu.cuMemcpyDtoD(address, 0, 4));
    REFUSED(cu.cuMemcpy(0, address, 4));
    REFUSED(cu.cuMemcpy(0, 0, 4));
    REFUSED(cu.cuMemsetD8(0, 0, 4));
    REFUSED(cu.cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    REFUSED(cu.cuPointerGetAttributes(1, NULL, NULL, address));
    REFUSED(cu.cuEventDestroy(NULL));
    REFUSED(cu.cuEventRecord(NULL, NULL));
    REFUSED(cu.cuEventSynchronize(NULL));
    REFUSED(cu.cuEventQuery(NULL));
    REFUSED(cu.cuEventElapsedTime(NULL, NULL, NULL));
    REFUSED(cu.cuStreamDestroy(NULL));
    REFUSED(cu.cuStreamWaitEvent(NULL, NULL, 0));
    REFUSED(cu.cuTensorMapEncodeTiled(
        NULL, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, NULL, NULL, NULL, NULL, NULL,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    REFUSED(cu.cuTensorMapReplaceAddress(NULL, NULL));
    REFUSED(cu.emuNameMemory(0, NULL));
    ALLOWED(cu.cuMemFreeHost(NULL));
    ALLOWED(cu.cuCtxSynchronize());
}

Test(driver_malformed, handles_that_are_none)
{
    void *wrong = wrong_handle();
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUkernel kernel = NULL;
    CUdeviceptr address = 0;
    CUevent event = NULL;
    size_t bytes = 0;
    int number = 0;
    const char *name = NULL;
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = wrong};
    ALLOWED(cu.cuEventCreate(&event, 0));

    REFUSED(cu.cuCtxSetCurrent(wrong));
    REFUSED(cu.cuCtxPushCurrent(wrong));
    REFUSED(cu.cuCtxDestroy(wrong));
    REFUSED(cu.cuModuleUnload(wrong));
    REFUSED(cu.cuModuleGetFunction(&function, wrong, "add"));
    REFUSED(cu.cuModuleGetGlobal(&address, &bytes, wrong, "table"));
    REFUSED(cu.cuLibraryUnload(wrong));
    REFUSED(cu.cuLibraryGetKernel(&kernel, wrong, "add"));
    REFUSED(cu.cuLibraryGetModule(&module, wrong));
    REFUSED(cu.cuKernelGetFunction(&function, wrong));
    REFUSED(cu.cuKernelGetName(&name, wrong));
    REFUSED(cu.cuFuncGetName(&name, wrong));
    REFUSED(cu.cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, wrong));
    REFUSED(cu.cuLaunchKernelEx(&config, get_kernel("empty"), NULL, NULL));
    REFUSED(cu.cuLaunchKernelEx(&config, wrong, NULL, NULL));
    REFUSED(cu.cuStreamSynchronize(wrong));
    REFUSED(cu.cuStreamQuery(wrong));
    REFUSED(cu.cuStreamDestroy(wrong));
    REFUSED(cu.cuStreamWaitEvent(wrong, event, 0));
    REFUSED(cu.cuEventRecord(event, wrong));
    REFUSED(cu.cuEventRecord(wrong, NULL));
    REFUSED(cu.cuEventDestroy(wrong));
    REFUSED(cu.cuMemFree((CUdeviceptr)(uintptr_t)wrong));
    REFUSED(cu.cuMemFreeHost(wrong));
    /* One kind of handle in the place of another. */
    REFUSED(cu.cuEventRecord((CUevent)load_kernels(), NULL));
    REFUSED(cu.cuModuleUnload((CUmodule)event));
    REFUSED(cu.cuStreamSynchronize((CUstream)event));
    ALLOWED(cu.cuCtxSynchronize());
}

Test(driver_malformed, calls_without_a_context)
{
    CUdeviceptr address = 0;
    CUstream stream = NULL;
    CUmodule module = NULL;
    CUfunction empty = get_kernel("empty");
    ASSERT_CU(cu.cuCtxSetCurrent(NULL));

    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuMemAlloc(&address, 4));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuStreamCreate(&stream, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuModuleLoadData(&module, ""));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT,
              cu.cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CUtensorMap map;
    const cuuint64_t dims[2] = {64, 32};
    const cuuint64_t strides[1] = {128};
    const cuuint32_t box[2] = {64, 32};
    const cuuint32_t steps[2] = {1, 1};
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT,
              cu.cuTensorMapEncodeTiled(
                  &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, NULL, dims, strides, box,
                  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));

    CUcontext other = NULL;
    ASSERT_CU(cu.cuCtxCreate(&other, NULL, 0, 1));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT,
              cu.cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

Test(driver_malformed, device_ordinals_out_of_range)
{
    static const int ordinals[] = {-1, 2, 1000000, -2147483647};
    for (size_t i = 0; i < sizeof(ordinals) / sizeof(ordinals[0]); i++) {
        int number = 0;
        char name[8];
        size_t bytes = 0;
        CUuuid uuid;
        CUcontext context = NULL;
        EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetName(name, 8, ordinals[i]));
        EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceTotalMem(&bytes, ordinals[i]));
        EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetUuid(&uuid, ordinals[i]));
        EXPECT_CU(
            CUDA_ERROR_INVALID_DEVICE,
            cu.cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, ordinals[i]));
        EXPECT_CU(CUDA_ERROR_INVALID_DEVICE,
                  cu.cuDevicePrimaryCtxRetain(&context, ordinals[i]));
        EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.cuDevicePrimaryCtxRelease(ordinals[i]));
        EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.cuDevicePrimaryCtxReset(ordinals[i]));
        EXPECT_CU(CUDA_ERROR_INVALID_DEVICE,
                  cu.cuCtxCreate(&context, NULL, 0, ordinals[i]));
    }
}

Test(driver_malformed, tensor_maps)
{
    CUtensorMap map;
    CUdeviceptr base = 0;
    ASSERT_CU(cu.cuMemAlloc(&base, 1 << 16));
    const cuuint64_t dims[2] = {64, 32};
    const cuuint64_t strides[1] = {128};
    const cuuint32_t box[2] = {64, 32};
    const cuuint32_t steps[2] = {1, 1};
    void *address = (void *)(uintptr_t)base;

    ALLOWED(cu.cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, address, dims, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    ALLOWED(cu.cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(base + 256)));
    REFUSED(cu.cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(base + 8)));
    for (unsigned rank = 0; rank <= 7; rank += 7) {
        REFUSED(cu.cuTensorMapEncodeTiled(
            &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank, address, dims, strides, box,
            steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
            CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    }
    REFUSED(cu.cuTensorMapEncodeTiled(
        (CUtensorMap *)(void *)((char *)&map + 16), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
        address, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    memset(&map, 0x5A, sizeof(map));
    REFUSED(cu.cuTensorMapReplaceAddress(&map, address));
}
