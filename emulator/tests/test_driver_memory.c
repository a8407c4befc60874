/* SPDX-License-Identifier: MIT */
/* Memory, copies, fills, what is known of an address; streams and events. */
#include <stdlib.h>
#include <string.h>

#include "test_driver_support.h"

TestSuite(driver_memory, .init = start_context);

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr address = 0;
    ASSERT_CU(cu.cuMemAlloc(&address, bytes));
    return address;
}

Test(driver_memory, allocations_are_aligned_apart_and_counted)
{
    size_t free_before = 0;
    size_t free_after = 0;
    size_t total = 0;
    ASSERT_CU(cu.cuMemGetInfo(&free_before, &total));

    CUdeviceptr a = allocate(1000);
    CUdeviceptr b = allocate(1);
    ASSERT_CU(cu.cuMemGetInfo(&free_after, &total));
    cr_expect_eq(a % 256, 0);
    cr_expect_eq(b % 256, 0);
    cr_expect(b >= a + 1000 || a >= b + 1);
    cr_expect_eq(free_before - free_after, 1001);

    ASSERT_CU(cu.cuMemFree(a));
    ASSERT_CU(cu.cuMemFree(b));
    ASSERT_CU(cu.cuMemGetInfo(&free_after, &total));
    cr_expect_eq(free_before, free_after);
}

Test(driver_memory, impossible_sizes_and_addresses_are_refused)
{
    CUdeviceptr address = 0;
    size_t free_bytes = 0;
    size_t total = 0;
    ASSERT_CU(cu.cuMemGetInfo(&free_bytes, &total));

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc(&address, 0));
    EXPECT_CU(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc(&address, total + 1));
    EXPECT_CU(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc(&address, SIZE_MAX));
    address = allocate(64);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(address + 4));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(12345));
    EXPECT_CU(CUDA_SUCCESS, cu.cuMemFree(address));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(address));
    EXPECT_CU(CUDA_SUCCESS, cu.cuMemFree(0));
}

Test(driver_memory, copies_go_everywhere_and_stay_in_bounds)
{
    unsigned char out[16];
    unsigned char in[16] = {0};
    for (unsigned char i = 0; i < 16; i++) {
        out[i] = i;
    }
    CUdeviceptr a = allocate(16);
    CUdeviceptr b = allocate(16);

    ASSERT_CU(cu.cuMemcpyHtoD(a, out, 16));
    ASSERT_CU(cu.cuMemcpyDtoD(b + 1, a, 15));
    ASSERT_CU(cu.cuMemcpyDtoH(in, b + 1, 15));
    cr_expect_arr_eq(in, out, 15);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyHtoD(a + 1, out, 16));
    expect_reason("16 bytes");
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH(in, a + 8, 9));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoD(a, b, 17));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH(in, 12345, 1));
    EXPECT_CU(CUDA_SUCCESS, cu.cuMemcpyHtoD(12345, NULL, 0));
}

Test(driver_memory, unified_copy_finds_out_who_is_who)
{
    int one = 1;
    int two = 0;
    int three = 0;
    CUdeviceptr a = allocate(4);
    CUdeviceptr b = allocate(4);

    ASSERT_CU(cu.cuMemcpy(a, (CUdeviceptr)(uintptr_t)&one, 4));
    ASSERT_CU(cu.cuMemcpy(b, a, 4));
    ASSERT_CU(cu.cuMemcpy((CUdeviceptr)(uintptr_t)&two, b, 4));
    ASSERT_CU(cu.cuMemcpy((CUdeviceptr)(uintptr_t)&three, (CUdeviceptr)(uintptr_t)&two, 4));
    cr_expect_eq(three, 1);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpy(a, (CUdeviceptr)(uintptr_t)&one, 5));
}

Test(driver_memory, copies_between_devices)
{
    CUcontext other = NULL;
    int value = 4711;
    int back = 0;
    CUdeviceptr here = allocate(4);
    ASSERT_CU(cu.cuMemcpyHtoD(here, &value, 4));
    ASSERT_CU(cu.cuCtxCreate(&other, NULL, 0, 1));

    CUdeviceptr there = allocate(4);
    ASSERT_CU(cu.cuMemcpyDtoD(there, here, 4));
    ASSERT_CU(cu.cuMemcpyDtoH(&back, there, 4));
    cr_expect_eq(back, 4711);
}

Test(driver_memory, fills_of_three_widths)
{
    unsigned char in[16];
    CUdeviceptr a = allocate(16);

    ASSERT_CU(cu.cuMemsetD8(a, 0x11, 16));
    ASSERT_CU(cu.cuMemsetD16(a + 2, 0x2233, 2));
    ASSERT_CU(cu.cuMemsetD32Async(a + 8, 0x44556677, 2, NULL));
    ASSERT_CU(cu.cuMemcpyDtoH(in, a, 16));
    const unsigned char expected[] = {0x11, 0x11, 0x33, 0x22, 0x33, 0x22, 0x11, 0x11,
                                      0x77, 0x66, 0x55, 0x44, 0x77, 0x66, 0x55, 0x44};
    cr_expect_arr_eq(in, expected, 16);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD32(a + 2, 0, 1));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD16(a + 1, 0, 1));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD8(a, 0, 17));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD32(a, 0, SIZE_MAX / 2));
}

Test(driver_memory, pinned_memory_is_the_hosts)
{
    void *memory = NULL;
    CUmemorytype type = (CUmemorytype)0;
    int value = 0;
    ASSERT_CU(cu.cuMemAllocHost(&memory, 64));
    memset(memory, 1, 64);
    ASSERT_CU(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       (CUdeviceptr)(uintptr_t)memory));
    cr_expect_eq(type, CU_MEMORYTYPE_HOST);

    CUdeviceptr a = allocate(64);
    ASSERT_CU(cu.cuMemcpyHtoDAsync(a, memory, 64, NULL));
    ASSERT_CU(cu.cuMemcpyDtoHAsync(&value, a, 4, NULL));
    cr_expect_eq(value, 0x01010101);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree((CUdeviceptr)(uintptr_t)memory));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeHost((void *)(uintptr_t)a));
    EXPECT_CU(CUDA_SUCCESS, cu.cuMemFreeHost(memory));
}

Test(driver_memory, attributes_of_an_address)
{
    CUdeviceptr a = allocate(100);
    CUdeviceptr start = 0;
    CUdeviceptr device = 0;
    size_t bytes = 0;
    int ordinal = -1;
    CUcontext context = NULL;
    CUmemorytype type = (CUmemorytype)0;
    ASSERT_CU(
        cu.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, a + 7));
    ASSERT_CU(cu.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, a + 7));
    ASSERT_CU(
        cu.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, a + 7));
    ASSERT_CU(cu.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
    ASSERT_CU(cu.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, a));
    cr_expect_eq(start, a);
    cr_expect_eq(bytes, 100);
    cr_expect_eq(device, a + 7);
    cr_expect_eq(ordinal, 0);
    cr_expect_not_null(context);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, a + 100));
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&type, &bytes};
    ASSERT_CU(cu.cuPointerGetAttributes(2, names, values, a));
    cr_expect_eq(type, CU_MEMORYTYPE_DEVICE);
    cr_expect_eq(bytes, 100);
    ASSERT_CU(cu.cuPointerGetAttributes(2, names, values, 12345));
    cr_expect_eq(bytes, 0);
}

Test(driver_memory, memory_goes_with_its_context)
{
    CUcontext own = NULL;
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    ASSERT_CU(cu.cuMemGetInfo(&before, &total));
    ASSERT_CU(cu.cuCtxCreate(&own, NULL, 0, 0));
    CUdeviceptr a = allocate(4096);
    ASSERT_CU(cu.cuCtxDestroy(own));
    ASSERT_CU(cu.cuMemGetInfo(&after, &total));
    cr_expect_eq(before, after);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(a));
}

Test(driver_memory, stream_ordered_allocation)
{
    CUstream stream = NULL;
    CUdeviceptr address = 0;
    ASSERT_CU(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASSERT_CU(cu.cuMemAllocAsync(&address, 64, stream));
    ASSERT_CU(cu.cuMemsetD8Async(address, 1, 64, stream));
    ASSERT_CU(cu.cuMemFreeAsync(address, stream));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(address, stream));
    ASSERT_CU(cu.cuStreamDestroy(stream));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuMemAllocAsync(&address, 64, stream));
}

Test(driver_memory, streams_keep_what_they_were_made_with)
{
    CUstream stream = NULL;
    int least = 1;
    int greatest = 1;
    int priority = 1;
    unsigned flags = 7;
    unsigned long long first = 0;
    unsigned long long second = 0;
    ASSERT_CU(cu.cuCtxGetStreamPriorityRange(&least, &greatest));
    ASSERT_CU(
        cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 10));
    ASSERT_CU(cu.cuStreamGetPriority(stream, &priority));
    ASSERT_CU(cu.cuStreamGetFlags(stream, &flags));
    ASSERT_CU(cu.cuStreamGetId(stream, &first));
    ASSERT_CU(cu.cuStreamGetId(NULL, &second));
    cr_expect_eq(priority, greatest);
    cr_expect_eq(flags, CU_STREAM_NON_BLOCKING);
    cr_expect_neq(first, second);

    EXPECT_CU(CUDA_SUCCESS, cu.cuStreamSynchronize(stream));
    EXPECT_CU(CUDA_SUCCESS, cu.cuStreamQuery(CU_STREAM_LEGACY));
    EXPECT_CU(CUDA_SUCCESS, cu.cuStreamQuery(CU_STREAM_PER_THREAD));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuStreamCreate(&stream, 4));
}

Test(driver_memory, no_stream_captures)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUgraph graph = wrong_handle();
    ASSERT_CU(cu.cuStreamIsCapturing(NULL, &status));
    cr_expect_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_CU(CUDA_ERROR_NOT_SUPPORTED,
              cu.cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT_CU(CUDA_ERROR_NOT_SUPPORTED, cu.cuStreamEndCapture(NULL, &graph));
    cr_expect_null(graph);
    ASSERT_CU(cu.cuThreadExchangeStreamCaptureMode(&mode));
    cr_expect_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ASSERT_CU(cu.cuThreadExchangeStreamCaptureMode(&mode));
    cr_expect_eq(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
}

Test(driver_memory, events_measure_when_they_may)
{
    CUevent start = NULL;
    CUevent end = NULL;
    CUevent untimed = NULL;
    float ms = -1;
    ASSERT_CU(cu.cuEventCreate(&start, CU_EVENT_DEFAULT));
    ASSERT_CU(cu.cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
    ASSERT_CU(cu.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    ASSERT_CU(cu.cuEventRecord(start, NULL));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, start, end));

    ASSERT_CU(cu.cuEventRecord(end, NULL));
    ASSERT_CU(cu.cuEventRecord(untimed, NULL));
    ASSERT_CU(cu.cuEventSynchronize(end));
    ASSERT_CU(cu.cuEventQuery(end));
    ASSERT_CU(cu.cuStreamWaitEvent(NULL, end, 0));
    ASSERT_CU(cu.cuEventElapsedTime(&ms, start, end));
    cr_expect_geq(ms, 0);
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuEventElapsedTime(&ms, start, untimed));
    ASSERT_CU(cu.cuEventDestroy(start));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuEventRecord(start, NULL));
}

Test(driver_memory, allocations_can_be_named)
{
    int host = 0;
    CUdeviceptr a = allocate(16);
    EXPECT_CU(CUDA_SUCCESS, cu.emuNameMemory(a, "A"));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.emuNameMemory(a, NULL));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.emuNameMemory(12345, "B"));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemcpyDtoH(&host, a + 14, 4));
    expect_reason("of A (16 bytes");
}
