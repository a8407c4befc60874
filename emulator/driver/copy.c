/* SPDX-License-Identifier: MIT */
/* Copies and fills. All is done when the call returns, with or without a stream. */
#include <string.h>

#include "driver/driver.h"

/* The memory of the device that an address belongs to, or NULL. */
static struct emu_memory *find_memory(uint64_t address)
{
    for (unsigned i = 0; i < EMU_DEVICE_COUNT; i++) {
        struct emu_memory *memory = emu_driver.devices[i].memory;
        if (emu_memory_find(memory, address, 1) != NULL) {
            return memory;
        }
    }
    return NULL;
}

/* Refuses a range that does not lie in one allocation of a device. */
static CUresult need_range(const char *call, const char *role, uint64_t address,
                           uint64_t bytes, struct emu_memory **ret_memory)
{
    *ret_memory = find_memory(address);
    if (*ret_memory != NULL && emu_memory_find(*ret_memory, address, bytes) != NULL) {
        return CUDA_SUCCESS;
    }
    struct emu_text location = {0};
    emu_memory_describe(*ret_memory == NULL ? emu_driver.devices[0].memory : *ret_memory,
                        address, &location);
    emu_refuse(CUDA_ERROR_INVALID_VALUE,
               "%s: %s: %llu bytes at 0x%llx do not lie in one allocation of a device (it "
               "begins %s)",
               call, role, (unsigned long long)bytes, (unsigned long long)address,
               emu_text_get(&location));
    emu_text_free(&location);
    return CUDA_ERROR_INVALID_VALUE;
}

/* Refuses memory of a device as the host's side of a copy, whose direction is wrong then.
 */
static CUresult need_host(const char *call, const char *role, const void *pointer)
{
    const uint64_t address = (uintptr_t)pointer;
    const struct emu_owned *owned = emu_owned_find(address);
    return owned == NULL || owned->of_host
               ? CUDA_SUCCESS
               : emu_refuse(CUDA_ERROR_INVALID_VALUE,
                            "%s: %s: 0x%llx is memory of a device, not the host's", call,
                            role, (unsigned long long)address);
}

static CUresult copy_to_device(const char *call, uint64_t to, const void *from,
                               uint64_t bytes)
{
    struct emu_memory *memory = NULL;
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    if (from == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = need_host(call, "source", from);
    if (result == CUDA_SUCCESS) {
        result = need_range(call, "destination", to, bytes, &memory);
    }
    if (result == CUDA_SUCCESS) {
        emu_memory_write(memory, to, from, bytes);
    }
    return result;
}

static CUresult copy_to_host(const char *call, void *to, uint64_t from, uint64_t bytes)
{
    struct emu_memory *memory = NULL;
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    if (to == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = need_host(call, "destination", to);
    if (result == CUDA_SUCCESS) {
        result = need_range(call, "source", from, bytes, &memory);
    }
    if (result == CUDA_SUCCESS) {
        emu_memory_read(memory, from, to, bytes);
    }
    return result;
}

static CUresult copy_on_device(const char *call, uint64_t to, uint64_t from, uint64_t bytes)
{
    struct emu_memory *source = NULL;
    struct emu_memory *target = NULL;
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    CUresult result = need_range(call, "source", from, bytes, &source);
    if (result == CUDA_SUCCESS) {
        result = need_range(call, "destination", to, bytes, &target);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (source == target) {
        emu_memory_copy(source, to, from, bytes);
        return CUDA_SUCCESS;
    }
    const struct emu_allocation *there = emu_memory_find(source, from, bytes);
    struct emu_allocation *here = emu_memory_find(target, to, bytes);
    emu_memory_write(target, to, emu_pointer(from), bytes);
    memcpy(here->state + (to - here->address), there->state + (from - there->address),
           bytes);
    return CUDA_SUCCESS;
}

/* An address of a device is one; every other is the host's. */
static CUresult copy_anything(const char *call, uint64_t to, uint64_t from, uint64_t bytes)
{
    bool to_device = find_memory(to) != NULL;
    bool from_device = find_memory(from) != NULL;
    void *host_target = emu_pointer(to);
    const void *host_source = emu_pointer(from);
    if (to_device) {
        return from_device ? copy_on_device(call, to, from, bytes)
                           : copy_to_device(call, to, host_source, bytes);
    }
    if (from_device) {
        return copy_to_host(call, host_target, from, bytes);
    }
    if (bytes != 0 && (to == 0 || from == 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes != 0) {
        memmove(host_target, host_source, bytes);
    }
    return CUDA_SUCCESS;
}

/* Enters with a context and a stream of it. */
static CUresult enter_stream(CUstream handle)
{
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUresult result = emu_enter_context(&context);
    return result == CUDA_SUCCESS ? emu_stream_find(context, handle, &stream) : result;
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost,
                                                 size_t ByteCount, CUstream hStream)
{
    CUresult result = enter_stream(hStream);
    if (result == CUDA_SUCCESS) {
        result = copy_to_device("cuMemcpyHtoD", dstDevice, srcHost, ByteCount);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost,
                                            size_t ByteCount)
{
    return cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, NULL);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice,
                                                 size_t ByteCount, CUstream hStream)
{
    CUresult result = enter_stream(hStream);
    if (result == CUDA_SUCCESS) {
        result = copy_to_host("cuMemcpyDtoH", dstHost, srcDevice, ByteCount);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice,
                                            size_t ByteCount)
{
    return cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, NULL);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice,
                                                 CUdeviceptr srcDevice, size_t ByteCount,
                                                 CUstream hStream)
{
    CUresult result = enter_stream(hStream);
    if (result == CUDA_SUCCESS) {
        result = copy_on_device("cuMemcpyDtoD", dstDevice, srcDevice, ByteCount);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                            size_t ByteCount)
{
    return cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, NULL);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src,
                                          size_t ByteCount, CUstream hStream)
{
    CUresult result = enter_stream(hStream);
    if (result == CUDA_SUCCESS) {
        result = copy_anything("cuMemcpy", dst, src, ByteCount);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    return cuMemcpyAsync(dst, src, ByteCount, NULL);
}

/* ------------------------------------------------------------------------------ fills */

static CUresult fill(CUdeviceptr to, const void *pattern, unsigned pattern_bytes,
                     size_t count, CUstream handle)
{
    struct emu_memory *memory = NULL;
    CUresult result = enter_stream(handle);
    if (result != CUDA_SUCCESS || count == 0) {
        return emu_leave(result);
    }
    if (to % pattern_bytes != 0 || count > SIZE_MAX / pattern_bytes) {
        return emu_leave(emu_refuse(CUDA_ERROR_INVALID_VALUE,
                                    "cuMemsetD%u: the address must be a multiple of %u",
                                    pattern_bytes * 8, pattern_bytes));
    }
    result = need_range("cuMemset", "destination", to, count * pattern_bytes, &memory);
    if (result == CUDA_SUCCESS) {
        emu_memory_fill(memory, to, pattern, pattern_bytes, count);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc,
                                            size_t N, CUstream hStream)
{
    return fill(dstDevice, &uc, 1, N, hStream);
}

EMU_EXPORT CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us,
                                             size_t N, CUstream hStream)
{
    return fill(dstDevice, &us, 2, N, hStream);
}

EMU_EXPORT CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui,
                                             size_t N, CUstream hStream)
{
    return fill(dstDevice, &ui, 4, N, hStream);
}

EMU_EXPORT CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    return fill(dstDevice, &uc, 1, N, NULL);
}

EMU_EXPORT CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us,
                                           size_t N)
{
    return fill(dstDevice, &us, 2, N, NULL);
}

EMU_EXPORT CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
    return fill(dstDevice, &ui, 4, N, NULL);
}
