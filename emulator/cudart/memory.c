/* SPDX-License-Identifier: MIT */
/* Memory: of the device, of the host, managed; copies and fills. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/runtime.h"

enum { PITCH = 512 }; /* bytes between rows are a multiple of it */

static CUdeviceptr address_of(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

/* -------------------------------------------------------------------------- allocation */

RT_EXPORT cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    CUdeviceptr address = 0;
    CUresult result = devPtr == NULL ? CUDA_ERROR_INVALID_VALUE : rt_enter();
    if (result == CUDA_SUCCESS) {
        *devPtr = NULL;
        result = size == 0 ? CUDA_SUCCESS : cuMemAlloc(&address, size);
        memcpy(devPtr, &address, sizeof(*devPtr));
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    CUdeviceptr address = 0;
    CUresult result = devPtr == NULL ? CUDA_ERROR_INVALID_VALUE : rt_enter();
    result = result == CUDA_SUCCESS ? cuMemAllocAsync(&address, size, hStream) : result;
    if (result == CUDA_SUCCESS) {
        memcpy(devPtr, &address, sizeof(*devPtr));
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuMemFreeAsync(address_of(devPtr), hStream)
                                          : result);
}

RT_EXPORT cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width,
                                      size_t height)
{
    if (pitch == NULL || width > SIZE_MAX - PITCH) {
        return rt_keep(CUDA_ERROR_INVALID_VALUE);
    }
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return height != 0 && *pitch > SIZE_MAX / height ? rt_keep(CUDA_ERROR_OUT_OF_MEMORY)
                                                     : cudaMalloc(devPtr, *pitch * height);
}

/* Memory of the host that kernels reach at the same address. */
static CUresult allocate_mapped(void **ret_memory, size_t bytes)
{
    const CUresult result = ret_memory == NULL ? CUDA_ERROR_INVALID_VALUE : rt_enter();
    return result == CUDA_SUCCESS
               ? cuMemHostAlloc(ret_memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP)
               : result;
}

RT_EXPORT cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    (void)flags; /* with one address space all of it is mapped and portable */
    return rt_keep(allocate_mapped(pHost, size));
}

RT_EXPORT cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    return cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

RT_EXPORT cudaError_t cudaFreeHost(void *ptr)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS && ptr != NULL ? cuMemFreeHost(ptr) : result);
}

RT_EXPORT cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost,
                                               unsigned int flags)
{
    CUmemorytype type = (CUmemorytype)0;
    CUresult result = pDevice == NULL || flags != 0 ? CUDA_ERROR_INVALID_VALUE : rt_enter();
    result = result == CUDA_SUCCESS
                 ? cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                         address_of(pHost))
                 : result;
    if (result == CUDA_SUCCESS) {
        *pDevice = pHost;
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    (void)ptr, (void)flags;
    return rt_refuse(cudaErrorNotSupported,
                     "cudaHostRegister of %zu bytes: only memory of cudaMallocHost can be "
                     "reached by kernels",
                     size);
}

/* ----------------------------------------------------------------------------- managed */

/* Managed memory is mapped memory that cudaFree frees. */
struct managed {
    void *memory;
    struct managed *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct managed *all_managed;

/* The place that leads to it, or to the NULL at the end; under the lock. */
static struct managed **find_managed(const void *memory)
{
    struct managed **at = &all_managed;
    while (*at != NULL && (*at)->memory != memory) {
        at = &(*at)->next;
    }
    return at;
}

RT_EXPORT cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    (void)flags;
    struct managed *managed = malloc(sizeof(*managed));
    if (managed == NULL) {
        return rt_keep(CUDA_ERROR_OUT_OF_MEMORY);
    }
    const CUresult result = allocate_mapped(devPtr, size);
    if (result != CUDA_SUCCESS) {
        free(managed);
        return rt_keep(result);
    }
    pthread_mutex_lock(&lock);
    *managed = (struct managed){*devPtr, all_managed};
    all_managed = managed;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

RT_EXPORT cudaError_t cudaFree(void *devPtr)
{
    CUresult result = rt_enter();
    if (result != CUDA_SUCCESS || devPtr == NULL) {
        return rt_keep(result);
    }
    pthread_mutex_lock(&lock);
    struct managed **at = find_managed(devPtr);
    struct managed *managed = *at;
    if (managed != NULL) {
        *at = managed->next;
    }
    pthread_mutex_unlock(&lock);
    result = managed != NULL ? cuMemFreeHost(devPtr) : cuMemFree(address_of(devPtr));
    free(managed);
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuMemGetInfo(free, total) : result);
}

RT_EXPORT cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                               const void *ptr)
{
    CUmemorytype type = (CUmemorytype)0;
    int device = 0;
    CUdeviceptr start = 0;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
    void *values[] = {&type, &device, &start};
    CUresult result = attributes == NULL ? CUDA_ERROR_INVALID_VALUE : rt_enter();
    result = result == CUDA_SUCCESS
                 ? cuPointerGetAttributes(3, wanted, values, address_of(ptr))
                 : result;
    if (result != CUDA_SUCCESS) {
        return rt_keep(result);
    }
    void *memory = NULL;
    memcpy(&memory, &start, sizeof(memory));
    pthread_mutex_lock(&lock);
    const bool is_managed = memory != NULL && *find_managed(memory) != NULL;
    pthread_mutex_unlock(&lock);
    memset(attributes, 0, sizeof(*attributes));
    attributes->type = is_managed                     ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                       : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                      : cudaMemoryTypeUnregistered;
    attributes->device = device < 0 ? device : rt_ordinal(device);
    if (attributes->type != cudaMemoryTypeUnregistered) {
        attributes->devicePointer = (void *)ptr;
    }
    if (attributes->type != cudaMemoryTypeDevice) {
        attributes->hostPointer = (void *)ptr;
    }
    return cudaSuccess;
}

/* ------------------------------------------------------------------------------ copies */

/* `waits`: the stream is the default one, and the call returns when it is done. */
struct way {
    enum cudaMemcpyKind kind;
    bool waits;
    CUstream stream;
};

static CUresult copy(void *to, const void *from, size_t bytes, const struct way *way)
{
    CUresult result = CUDA_SUCCESS;
    if (bytes == 0) {
        return result;
    }
    switch (way->kind) {
    case cudaMemcpyHostToHost:
        result = cuStreamSynchronize(way->stream);
        if (result == CUDA_SUCCESS) {
            memmove(to, from, bytes);
        }
        return result;
    case cudaMemcpyHostToDevice:
        return way->waits ? cuMemcpyHtoD(address_of(to), from, bytes)
                          : cuMemcpyHtoDAsync(address_of(to), from, bytes, way->stream);
    case cudaMemcpyDeviceToHost:
        return way->waits ? cuMemcpyDtoH(to, address_of(from), bytes)
                          : cuMemcpyDtoHAsync(to, address_of(from), bytes, way->stream);
    case cudaMemcpyDeviceToDevice:
        return way->waits ? cuMemcpyDtoD(address_of(to), address_of(from), bytes)
                          : cuMemcpyDtoDAsync(address_of(to), address_of(from), bytes,
                                              way->stream);
    case cudaMemcpyDefault:
        return way->waits
                   ? cuMemcpy(address_of(to), address_of(from), bytes)
                   : cuMemcpyAsync(address_of(to), address_of(from), bytes, way->stream);
    default:
        return (CUresult)cudaErrorInvalidMemcpyDirection;
    }
}

RT_EXPORT cudaError_t cudaMemcpy(void *dst, const void *src, size_t count,
                                 enum cudaMemcpyKind kind)
{
    const struct way way = {kind, true, NULL};
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? copy(dst, src, count, &way) : result);
}

RT_EXPORT cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const struct way way = {kind, false, stream};
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? copy(dst, src, count, &way) : result);
}

RT_EXPORT cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src,
                                        size_t spitch, size_t width, size_t height,
                                        enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const struct way way = {kind, false, stream};
    CUresult result =
        width > dpitch || width > spitch ? CUDA_ERROR_INVALID_VALUE : rt_enter();
    for (size_t row = 0; result == CUDA_SUCCESS && row < height; row++) {
        result =
            copy((char *)dst + row * dpitch, (const char *)src + row * spitch, width, &way);
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                   size_t width, size_t height, enum cudaMemcpyKind kind)
{
    const cudaError_t error =
        cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height, kind, NULL);
    return error == cudaSuccess ? rt_keep(cuStreamSynchronize(NULL)) : error;
}

RT_EXPORT cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count,
                                      cudaStream_t stream)
{
    const CUresult result = rt_enter();
    return rt_keep(
        result == CUDA_SUCCESS && count != 0
            ? cuMemsetD8Async(address_of(devPtr), (unsigned char)value, count, stream)
            : result);
}

RT_EXPORT cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    return cudaMemsetAsync(devPtr, value, count, NULL);
}

RT_EXPORT cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                        size_t height, cudaStream_t stream)
{
    cudaError_t error = width > pitch ? rt_keep(CUDA_ERROR_INVALID_VALUE) : cudaSuccess;
    for (size_t row = 0; error == cudaSuccess && row < height; row++) {
        error = cudaMemsetAsync((char *)devPtr + row * pitch, value, width, stream);
    }
    return error;
}

RT_EXPORT cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width,
                                   size_t height)
{
    return cudaMemset2DAsync(devPtr, pitch, value, width, height, NULL);
}

/* ----------------------------------------------------------------------------- symbols */

/* Where `bytes` bytes of a variable lie, from an offset. */
static CUresult find_part(const void *symbol, size_t offset, size_t bytes, void **ret_part)
{
    CUdeviceptr address = 0;
    size_t whole = 0;
    const CUresult result = rt_find_variable(symbol, &address, &whole);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    address += offset;
    memcpy(ret_part, &address, sizeof(*ret_part));
    return offset <= whole && bytes <= whole - offset ? CUDA_SUCCESS
                                                      : CUDA_ERROR_INVALID_VALUE;
}

static cudaError_t copy_to_symbol(const void *symbol, const void *from, size_t bytes,
                                  size_t offset, const struct way *way)
{
    void *part = NULL;
    const CUresult result = find_part(symbol, offset, bytes, &part);
    return rt_keep(result == CUDA_SUCCESS ? copy(part, from, bytes, way) : result);
}

static cudaError_t copy_from_symbol(void *to, const void *symbol, size_t bytes,
                                    size_t offset, const struct way *way)
{
    void *part = NULL;
    const CUresult result = find_part(symbol, offset, bytes, &part);
    return rt_keep(result == CUDA_SUCCESS ? copy(to, part, bytes, way) : result);
}

RT_EXPORT cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                         size_t offset, enum cudaMemcpyKind kind)
{
    const struct way way = {kind, true, NULL};
    return copy_to_symbol(symbol, src, count, offset, &way);
}

RT_EXPORT cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src,
                                              size_t count, size_t offset,
                                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const struct way way = {kind, false, stream};
    return copy_to_symbol(symbol, src, count, offset, &way);
}

RT_EXPORT cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count,
                                           size_t offset, enum cudaMemcpyKind kind)
{
    const struct way way = {kind, true, NULL};
    return copy_from_symbol(dst, symbol, count, offset, &way);
}

RT_EXPORT cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                                size_t offset, enum cudaMemcpyKind kind,
                                                cudaStream_t stream)
{
    const struct way way = {kind, false, stream};
    return copy_from_symbol(dst, symbol, count, offset, &way);
}
