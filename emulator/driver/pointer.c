/* SPDX-License-Identifier: MIT */
/* What is known about an address. */
#include "driver/driver.h"

/* Writes one attribute of an allocation; false: not known. `owned` NULL: not ours. */
static bool write_attribute(CUpointer_attribute attribute, uint64_t address,
                            const struct emu_owned *owned, void *data)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = owned == NULL ? NULL : owned->context;
        return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(CUmemorytype *)data = owned == NULL    ? (CUmemorytype)0
                                : owned->of_host ? CU_MEMORYTYPE_HOST
                                                 : CU_MEMORYTYPE_DEVICE;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = owned == NULL || owned->of_host ? 0 : address;
        return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)data = owned == NULL || !owned->of_host ? NULL : emu_pointer(address);
        return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(int *)data = 0;
        return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = owned != NULL;
        return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = owned == NULL ? 0 : owned->id;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = owned == NULL ? -2 : emu_device_ordinal(owned->context->device);
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = owned == NULL ? 0 : owned->address;
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = owned == NULL ? 0 : (size_t)owned->bytes;
        return true;
    default:
        emu_refuse(CUDA_ERROR_INVALID_VALUE,
                   "cuPointerGetAttribute: attribute %d is not known", (int)attribute);
        return false;
    }
}

EMU_EXPORT CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                                                  CUdeviceptr ptr)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        const struct emu_owned *owned = emu_owned_find(ptr);
        bool good =
            data != NULL && owned != NULL && write_attribute(attribute, ptr, owned, data);
        result = good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return emu_leave(result);
}

/* Unlike the above, an address of no allocation is answered as well. */
EMU_EXPORT CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes,
                                                   CUpointer_attribute *attributes,
                                                   void **data, CUdeviceptr ptr)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && (attributes == NULL || data == NULL)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; result == CUDA_SUCCESS && i < numAttributes; i++) {
        if (data[i] == NULL ||
            !write_attribute(attributes[i], ptr, emu_owned_find(ptr), data[i])) {
            result = CUDA_ERROR_INVALID_VALUE;
        }
    }
    return emu_leave(result);
}
