/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver that does nothing and reports success: what remains of a launch is the
 * library's own time. Use it as JIT_GEMM_DRIVER=.../null_driver.so. It looks like one H200;
 * it loads no code, copies no bytes, and its events measure no time.
 */
#include <stddef.h>
#include <string.h>

#pragma GCC visibility push(default)

#include <cuda.h>

/* Newer headers rename functions to later versions; the exported names are spelled out. */
#undef cuEventElapsedTime

#define SM_COUNT     132
#define FIRST_MEMORY ((CUdeviceptr)0x7f0000000000ULL)

/* Any distinct non-null pointers will do as handles. */
static char some_context, some_library, some_kernel, some_event;

static CUdeviceptr next_address = FIRST_MEMORY;

/* Every entry is declared before it is defined: not all of them are in every header. */
#define ENTRY(name, parameters)       \
    CUresult CUDAAPI name parameters; \
    CUresult CUDAAPI name parameters

ENTRY(cuInit, (unsigned int flags))
{
    (void)flags;
    return CUDA_SUCCESS;
}

ENTRY(cuDriverGetVersion, (int *version))
{
    *version = 13000;
    return CUDA_SUCCESS;
}

ENTRY(cuGetErrorName, (CUresult error, const char **text))
{
    (void)error;
    *text = "CUDA_ERROR_OF_NULL_DRIVER";
    return CUDA_SUCCESS;
}

ENTRY(cuGetErrorString, (CUresult error, const char **text))
{
    (void)error;
    *text = "the null driver never fails";
    return CUDA_SUCCESS;
}

ENTRY(cuDeviceGetCount, (int *count))
{
    *count = 1;
    return CUDA_SUCCESS;
}

ENTRY(cuDeviceGet, (CUdevice * device, int ordinal))
{
    *device = (CUdevice)ordinal;
    return CUDA_SUCCESS;
}

ENTRY(cuDeviceGetName, (char *name, int size, CUdevice device))
{
    (void)device;
    if (size > 0) {
        strncpy(name, "null driver", (size_t)size - 1);
        name[size - 1] = '\0';
    }
    return CUDA_SUCCESS;
}

ENTRY(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))
{
    (void)device;
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = 0;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = SM_COUNT;
        break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
        *value = 50 * 1024 * 1024;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = 232448;
        break;
    default:
        *value = 0;
        break;
    }
    return CUDA_SUCCESS;
}

ENTRY(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))
{
    (void)device;
    *bytes = (size_t)141 << 30;
    return CUDA_SUCCESS;
}

ENTRY(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))
{
    (void)device;
    *context = (CUcontext)(void *)&some_context;
    return CUDA_SUCCESS;
}

ENTRY(cuDevicePrimaryCtxRelease_v2, (CUdevice device))
{
    (void)device;
    return CUDA_SUCCESS;
}

ENTRY(cuCtxGetCurrent, (CUcontext * context))
{
    *context = (CUcontext)(void *)&some_context;
    return CUDA_SUCCESS;
}

ENTRY(cuCtxGetDevice, (CUdevice * device))
{
    *device = 0;
    return CUDA_SUCCESS;
}

ENTRY(cuCtxSetCurrent, (CUcontext context))
{
    (void)context;
    return CUDA_SUCCESS;
}

ENTRY(cuCtxSynchronize, (void))
{
    return CUDA_SUCCESS;
}

ENTRY(cuLibraryLoadData,
      (CUlibrary * library, const void *code, CUjit_option *jit_options, void **jit_values,
       unsigned int jit_count, CUlibraryOption *library_options, void **library_values,
       unsigned int library_count))
{
    (void)code;
    (void)jit_options;
    (void)jit_values;
    (void)jit_count;
    (void)library_options;
    (void)library_values;
    (void)library_count;
    *library = (CUlibrary)(void *)&some_library;
    return CUDA_SUCCESS;
}

ENTRY(cuLibraryUnload, (CUlibrary library))
{
    (void)library;
    return CUDA_SUCCESS;
}

ENTRY(cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char *name))
{
    (void)library;
    (void)name;
    *kernel = (CUkernel)(void *)&some_kernel;
    return CUDA_SUCCESS;
}

ENTRY(cuKernelGetFunction, (CUfunction * function, CUkernel kernel))
{
    (void)kernel;
    *function = (CUfunction)(void *)&some_kernel;
    return CUDA_SUCCESS;
}

ENTRY(cuKernelGetAttribute,
      (int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device))
{
    (void)kernel;
    (void)device;
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 168 : 0;
    return CUDA_SUCCESS;
}

ENTRY(cuKernelSetAttribute,
      (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device))
{
    (void)attribute;
    (void)value;
    (void)kernel;
    (void)device;
    return CUDA_SUCCESS;
}

ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor,
      (int *blocks, CUfunction function, int threads, size_t smem_bytes))
{
    (void)function;
    (void)threads;
    (void)smem_bytes;
    *blocks = 1;
    return CUDA_SUCCESS;
}

ENTRY(cuOccupancyMaxActiveClusters,
      (int *clusters, CUfunction function, const CUlaunchConfig *config))
{
    (void)function;
    unsigned int ctas = 1;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            ctas =
                config->attrs[i].value.clusterDim.x * config->attrs[i].value.clusterDim.y;
        }
    }
    *clusters = (int)(SM_COUNT / (ctas > 0 ? ctas : 1));
    return CUDA_SUCCESS;
}

ENTRY(cuLaunchKernelEx,
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))
{
    (void)config;
    (void)function;
    (void)params;
    (void)extra;
    return CUDA_SUCCESS;
}

ENTRY(cuTensorMapReplaceAddress, (CUtensorMap * map, void *address))
{
    memcpy(map, &address, sizeof(address));
    return CUDA_SUCCESS;
}

ENTRY(cuTensorMapEncodeTiled,
      (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,
       const cuuint64_t *dims, const cuuint64_t *strides_bytes, const cuuint32_t *box,
       const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
       CUtensorMapFloatOOBfill fill))
{
    (void)type;
    (void)rank;
    (void)dims;
    (void)strides_bytes;
    (void)box;
    (void)element_strides;
    (void)interleave;
    (void)swizzle;
    (void)promotion;
    (void)fill;
    memset(map, 0, sizeof(*map));
    memcpy(map, &address, sizeof(address));
    return CUDA_SUCCESS;
}

ENTRY(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status))
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

ENTRY(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))
{
    *mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return CUDA_SUCCESS;
}

/* Addresses at which nothing lies, 256-byte aligned, each given once. One thread at a
 * time. */
ENTRY(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))
{
    *address = next_address;
    next_address += (bytes + 255) / 256 * 256;
    return CUDA_SUCCESS;
}

ENTRY(cuMemFree_v2, (CUdeviceptr address))
{
    (void)address;
    return CUDA_SUCCESS;
}

ENTRY(cuMemHostAlloc, (void **memory, size_t bytes, unsigned int flags))
{
    (void)flags;
    *memory = malloc(bytes);
    return *memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

ENTRY(cuMemFreeHost, (void *memory))
{
    free(memory);
    return CUDA_SUCCESS;
}

ENTRY(cuLibraryGetGlobal,
      (CUdeviceptr * address, size_t *bytes, CUlibrary library, const char *name))
{
    (void)library;
    (void)name;
    *address = next_address;
    *bytes = 8;
    return CUDA_SUCCESS;
}

ENTRY(cuMemcpyHtoD_v2, (CUdeviceptr target, const void *source, size_t bytes))
{
    (void)target;
    (void)source;
    (void)bytes;
    return CUDA_SUCCESS;
}

ENTRY(cuMemcpyDtoH_v2, (void *target, CUdeviceptr source, size_t bytes))
{
    (void)source;
    memset(target, 0, bytes);
    return CUDA_SUCCESS;
}

ENTRY(cuMemsetD8_v2, (CUdeviceptr target, unsigned char value, size_t count))
{
    (void)target;
    (void)value;
    (void)count;
    return CUDA_SUCCESS;
}

ENTRY(cuEventCreate, (CUevent * event, unsigned int flags))
{
    (void)flags;
    *event = (CUevent)(void *)&some_event;
    return CUDA_SUCCESS;
}

ENTRY(cuEventDestroy_v2, (CUevent event))
{
    (void)event;
    return CUDA_SUCCESS;
}

ENTRY(cuEventRecord, (CUevent event, CUstream stream))
{
    (void)event;
    (void)stream;
    return CUDA_SUCCESS;
}

ENTRY(cuEventSynchronize, (CUevent event))
{
    (void)event;
    return CUDA_SUCCESS;
}

ENTRY(cuEventElapsedTime, (float *ms, CUevent start, CUevent end))
{
    (void)start;
    (void)end;
    *ms = 0.0F;
    return CUDA_SUCCESS;
}

ENTRY(cuEventElapsedTime_v2, (float *ms, CUevent start, CUevent end))
{
    (void)start;
    (void)end;
    *ms = 0.0F;
    return CUDA_SUCCESS;
}
