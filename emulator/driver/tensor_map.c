/* SPDX-License-Identifier: MIT */
/* Tensor maps of the host. */
#include "async/tensor_map.h"

#include "driver/driver.h"

static bool is_aligned(const CUtensorMap *map)
{
    return map != NULL && (uintptr_t)map % EMU_MAP_ALIGNMENT == 0;
}

/* A driver asks for a current context, of which it uses nothing (H200, CUDA 13). */
static CUresult enter(void)
{
    const CUresult result = emu_enter_aside();
    return result == CUDA_SUCCESS && emu_context_current() == NULL
               ? CUDA_ERROR_INVALID_CONTEXT
               : result;
}

EMU_EXPORT CUresult CUDAAPI cuTensorMapEncodeTiled(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    struct emu_error error = {0};
    CUresult result = enter();
    if (result != CUDA_SUCCESS) {
        return emu_leave(result);
    }
    if (!is_aligned(tensorMap) || globalDim == NULL || boxDim == NULL ||
        elementStrides == NULL || (globalStrides == NULL && tensorRank > 1)) {
        return emu_leave(emu_refuse(CUDA_ERROR_INVALID_VALUE,
                                    "cuTensorMapEncodeTiled: an argument is NULL, or the "
                                    "map is not 64-byte aligned"));
    }
    if (!emu_tensor_map_encode(tensorMap, (unsigned)tensorDataType, tensorRank,
                               (uint64_t)(uintptr_t)globalAddress, globalDim, globalStrides,
                               boxDim, elementStrides, (unsigned)interleave,
                               (unsigned)swizzle, (unsigned)l2Promotion, (unsigned)oobFill,
                               &error)) {
        result =
            emu_refuse(CUDA_ERROR_INVALID_VALUE, "cuTensorMapEncodeTiled: %s", error.text);
    }
    return emu_leave(result);
}

static CUresult replace_address(CUtensorMap *bytes, uint64_t address)
{
    struct emu_error error = {0};
    struct emu_tensor_map map;
    if (!is_aligned(bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    bool good = emu_tensor_map_unpack(bytes, &map, &error);
    if (good) {
        map.base = address;
        good = emu_tensor_map_check(&map, &error);
    }
    if (!good) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE, "cuTensorMapReplaceAddress: %s",
                          error.text);
    }
    emu_tensor_map_pack(&map, bytes);
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuTensorMapReplaceAddress(CUtensorMap *tensorMap,
                                                      void *globalAddress)
{
    CUresult result = enter();
    if (result == CUDA_SUCCESS) {
        result = replace_address(tensorMap, (uint64_t)(uintptr_t)globalAddress);
    }
    return emu_leave(result);
}
