/* SPDX-License-Identifier: MIT */
/*
 * Device and pinned host memory. Pinned host memory is accessible to kernels if it was
 * allocated with CU_MEMHOSTALLOC_DEVICEMAP, under its own address.
 */
#include "driver/driver.h"

#include <stdio.h>
#include <string.h>

#include "driver/emulator.h"

/* Index of the first allocation that begins above the address. */
static size_t first_above(uint64_t address)
{
    size_t low = 0;
    size_t high = emu_driver.allocation_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (emu_driver.allocations[middle]->address > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static struct emu_owned *note_owned(CUcontext context, uint64_t address, uint64_t bytes)
{
    struct emu_owned *owned = emu_alloc(sizeof(*owned));
    *owned = (struct emu_owned){.context = context,
                                .address = address,
                                .bytes = bytes,
                                .id = ++emu_driver.next_allocation_id};
    if (emu_driver.allocation_count == emu_driver.allocation_room) {
        emu_driver.allocation_room = emu_driver.allocation_count * 2 + 64;
        emu_driver.allocations =
            emu_realloc(emu_driver.allocations,
                        emu_driver.allocation_room * sizeof(struct emu_owned *));
    }
    size_t at = first_above(address);
    memmove(emu_driver.allocations + at + 1, emu_driver.allocations + at,
            (emu_driver.allocation_count - at) * sizeof(struct emu_owned *));
    emu_driver.allocations[at] = owned;
    emu_driver.allocation_count++;
    return owned;
}

struct emu_owned *emu_owned_find(uint64_t address)
{
    size_t at = first_above(address);
    struct emu_owned *owned = at == 0 ? NULL : emu_driver.allocations[at - 1];
    return owned != NULL && address - owned->address < owned->bytes ? owned : NULL;
}

/* Frees what it holds, and forgets it but for its place in the list. */
static void let_go(struct emu_owned *owned)
{
    if (owned->of_host && !owned->mapped) {
        emu_free(emu_pointer(owned->address));
    } else {
        emu_memory_release(owned->context->device->memory, owned->address);
    }
    emu_free(owned);
}

static void release(struct emu_owned *owned)
{
    size_t at = first_above(owned->address) - 1;
    memmove(emu_driver.allocations + at, emu_driver.allocations + at + 1,
            (emu_driver.allocation_count - at - 1) * sizeof(struct emu_owned *));
    emu_driver.allocation_count--;
    let_go(owned);
}

void emu_memory_free_of(CUcontext context)
{
    size_t kept = 0;
    for (size_t i = 0; i < emu_driver.allocation_count; i++) {
        struct emu_owned *owned = emu_driver.allocations[i];
        if (owned->context == context) {
            let_go(owned);
        } else {
            emu_driver.allocations[kept++] = owned;
        }
    }
    emu_driver.allocation_count = kept;
}

uint64_t emu_memory_allocate_for(CUcontext context, uint64_t bytes, const char *name)
{
    uint64_t address = emu_memory_allocate(context->device->memory, bytes, name);
    if (address != 0) {
        note_owned(context, address, bytes)->of_module = true;
    }
    return address;
}

void emu_memory_release_for(CUcontext context, uint64_t address)
{
    struct emu_owned *owned = emu_owned_find(address);
    if (owned != NULL && owned->context == context) {
        release(owned);
    }
}

/* -------------------------------------------------------------------------- allocations */

static CUresult allocate(CUcontext context, CUdeviceptr *ret_address, size_t bytes)
{
    if (ret_address == NULL || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t address = emu_memory_allocate(context->device->memory, bytes, NULL);
    if (address == 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    note_owned(context, address, bytes);
    *ret_address = address;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS) {
        result = allocate(context, dptr, bytesize);
    }
    return emu_leave(result);
}

/* Frees device memory, or pinned memory when `of_host`. NULL is nothing to free. */
static CUresult deallocate(uint64_t address, bool of_host)
{
    struct emu_owned *owned = emu_owned_find(address);
    if (address == 0) {
        return CUDA_SUCCESS;
    }
    if (owned == NULL || owned->address != address || owned->of_host != of_host ||
        owned->of_module) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                          "0x%llx is not the start of an allocation of %s memory",
                          (unsigned long long)address, of_host ? "pinned" : "device");
    }
    release(owned);
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS) {
        result = deallocate(dptr, false);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize,
                                            CUstream hStream)
{
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS) {
        result = emu_stream_find(context, hStream, &stream);
    }
    if (result == CUDA_SUCCESS) {
        result = allocate(context, dptr, bytesize);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    CUcontext context = NULL;
    CUstream stream = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS) {
        result = emu_stream_find(context, hStream, &stream);
    }
    if (result == CUDA_SUCCESS) {
        result = deallocate(dptr, false);
    }
    return emu_leave(result);
}

static CUresult allocate_host(CUcontext context, void **ret_memory, size_t bytes)
{
    if (ret_memory == NULL || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t used = 0;
    uint64_t total = 0;
    emu_memory_usage(context->device->memory, &used, &total);
    if (bytes > total) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    void *memory = emu_try_alloc(bytes);
    if (memory == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret_memory = memory;
    note_owned(context, (uint64_t)(uintptr_t)*ret_memory, bytes)->of_host = true;
    return CUDA_SUCCESS;
}

/* Memory of the device, whose addresses are the host's too. What the host writes there is
 * defined for kernels from the beginning. */
static CUresult allocate_mapped(CUcontext context, void **ret_memory, size_t bytes)
{
    CUdeviceptr address = 0;
    CUresult result =
        ret_memory == NULL ? CUDA_ERROR_INVALID_VALUE : allocate(context, &address, bytes);
    if (result == CUDA_SUCCESS) {
        const unsigned char zero = 0;
        struct emu_owned *owned = emu_owned_find(address);
        owned->of_host = owned->mapped = true;
        emu_memory_fill(context->device->memory, address, &zero, 1, bytes);
        *ret_memory = emu_pointer(address);
    }
    return result;
}

EMU_EXPORT CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS) {
        result = allocate_host(context, pp, bytesize);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS) {
        result = (Flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0
                     ? allocate_mapped(context, pp, bytesize)
                     : allocate_host(context, pp, bytesize);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemFreeHost(void *p)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS) {
        result = deallocate((uint64_t)(uintptr_t)p, true);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS && (free == NULL || total == NULL)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        uint64_t used_bytes = 0;
        uint64_t total_bytes = 0;
        emu_memory_usage(context->device->memory, &used_bytes, &total_bytes);
        *free = (size_t)(total_bytes - used_bytes);
        *total = (size_t)total_bytes;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult emuNameMemory(CUdeviceptr address, const char *name)
{
    CUresult result = emu_enter();
    struct emu_owned *owned = result == CUDA_SUCCESS ? emu_owned_find(address) : NULL;
    if (result == CUDA_SUCCESS && (owned == NULL || owned->of_host || name == NULL)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        struct emu_allocation *allocation =
            emu_memory_find(owned->context->device->memory, address, 1);
        snprintf(allocation->name, sizeof(allocation->name), "%s", name);
    }
    return emu_leave(result);
}
