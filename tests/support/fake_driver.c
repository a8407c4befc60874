/* SPDX-License-Identifier: MIT */
#include "fake_driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAKE_API        __attribute__((visibility("default")))
#define FAKE_SMEM_OPTIN 232448

#ifdef FAKE_EMULATOR
enum { IS_EMULATOR = 1, DEVICE_COUNT = 2, FIRST_CC_MAJOR = 10, FIRST_SM_COUNT = 148 };
#else
enum { IS_EMULATOR = 0, DEVICE_COUNT = 1, FIRST_CC_MAJOR = 9, FIRST_SM_COUNT = 132 };
#endif

static struct fake_driver state = {.version = 13000,
                                   .device_count = DEVICE_COUNT,
                                   .cc_major = FIRST_CC_MAJOR,
                                   .cc_minor = 0,
                                   .sm_count = FIRST_SM_COUNT,
                                   .l2_bytes = 60 << 20,
                                   .other_cc_major = 9,
                                   .other_cc_minor = 0,
                                   .other_sm_count = 132,
                                   .module_format = "ptx",
                                   .blocks_per_sm = 1,
                                   .resident_clusters = 66,
                                   .registers = 168,
                                   .set_context = cuCtxSetCurrent,
                                   .get_context = cuCtxGetCurrent};

static _Thread_local CUcontext current_context;
static int primary_context; /* its address is the context */

struct fake_kernel {
    char name[128];
    int smem_bytes, non_portable_cluster;
};

/* A function belongs to the primary context; the lowest bit tells it from its kernel. */
static CUfunction make_function(const struct fake_kernel *kernel)
{
    return (CUfunction)(void *)((uintptr_t)kernel + 1);
}
static bool is_function(CUfunction either)
{
    return ((uintptr_t)either & 1) != 0;
}
static const struct fake_kernel *kernel_of(CUfunction either)
{
    return (const struct fake_kernel *)((uintptr_t)either & ~(uintptr_t)1);
}

FAKE_API struct fake_driver *fake_driver_get(void);
FAKE_API struct fake_driver *fake_driver_get(void)
{
    return &state;
}

#ifdef FAKE_EMULATOR
FAKE_API const char *emuModuleFormat(void);
FAKE_API const char *emuModuleFormat(void)
{
    return state.module_format;
}

FAKE_API unsigned emuCountFindings(int severity);
FAKE_API unsigned emuCountFindings(int severity)
{
    return severity == 1 ? state.warnings + state.errors : state.errors;
}
#endif

/* Counts a call; not 0 if a test wants it to fail. */
static CUresult enter(const char *function)
{
    atomic_fetch_add_explicit(&state.calls, 1, memory_order_relaxed);
    if (state.failing_function != NULL && strcmp(state.failing_function, function) == 0) {
        if (state.failing_times > 0 && --state.failing_times == 0) {
            state.failing_function = NULL;
        }
        return state.failing_result;
    }
    return CUDA_SUCCESS;
}

#define ENTER()                                   \
    do {                                          \
        const CUresult entered = enter(__func__); \
        if (entered != CUDA_SUCCESS) {            \
            return entered;                       \
        }                                         \
    } while (0)

FAKE_API CUresult cuInit(unsigned int flags)
{
    ENTER();
    return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuDriverGetVersion(int *version)
{
    ENTER();
    *version = state.version;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuGetErrorName(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_OUT_OF_MEMORY     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CUDA_ERROR_INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
                                                  : "CUDA_ERROR_FAKE";
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuGetErrorString(CUresult error, const char **text)
{
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "fake driver error";
    return CUDA_SUCCESS;
}

/* --------------------------------------------------------------------------- devices */

FAKE_API CUresult cuDeviceGetCount(int *count)
{
    ENTER();
    *count = state.device_count;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER();
    *device = ordinal;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device)
{
    ENTER();
    snprintf(id, (size_t)size, "0000:%02x:00.0", (unsigned)device + 1);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    ENTER();
    if (IS_EMULATOR) {
        snprintf(name, (size_t)size, "Fake %s", device == 0 ? "B200" : "H200");
    } else {
        snprintf(name, (size_t)size, "Fake GPU %d", device);
    }
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                       CUdevice device)
{
    ENTER();
    const bool is_first = device == 0;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
        *value = is_first ? state.cc_major : state.other_cc_major;
    } else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
        *value = is_first ? state.cc_minor : state.other_cc_minor;
    } else if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) {
        *value = is_first ? state.sm_count : state.other_sm_count;
    } else if (attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) {
        *value = state.l2_bytes;
    } else if (attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) {
        *value = FAKE_SMEM_OPTIN;
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    ENTER();
    (void)device;
    *bytes = (size_t)140 << 30;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER();
    state.last_retained = device;
    atomic_fetch_add(&state.retains, 1);
    *context = (CUcontext)(void *)&primary_context;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTER();
    (void)device;
    atomic_fetch_add(&state.releases, 1);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetCurrent(CUcontext *context)
{
    ENTER();
    *context = current_context;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxSetCurrent(CUcontext context)
{
    ENTER();
    current_context = context;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetDevice(CUdevice *device)
{
    ENTER();
    *device =
        current_context == (CUcontext)(void *)&primary_context ? 0 : state.other_device;
    return current_context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

FAKE_API CUresult cuCtxSynchronize(void)
{
    ENTER();
    return current_context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* --------------------------------------------------------------------------- kernels */

/* Code as this driver takes it: an ELF file, or text that begins as PTX does. */
static bool is_own_code(const void *code)
{
    if (IS_EMULATOR) {
        return strncmp(code, "//", 2) == 0 || strncmp(code, ".version", 8) == 0;
    }
    return memcmp(code, "\177ELF", 4) == 0;
}

FAKE_API CUresult cuLibraryLoadData(CUlibrary *library, const void *code,
                                    CUjit_option *jit_options, void **jit_values,
                                    unsigned int jit_count,
                                    CUlibraryOption *library_options, void **library_values,
                                    unsigned int library_count)
{
    ENTER();
    (void)jit_options;
    (void)jit_values;
    (void)library_options;
    (void)library_values;
    if (jit_count != 0 || library_count != 0 || !is_own_code(code)) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (IS_EMULATOR) {
        snprintf(state.last_code, sizeof(state.last_code), "%s", (const char *)code);
    }
    struct fake_kernel *kernel = calloc(1, sizeof(*kernel));
    if (kernel == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    atomic_fetch_add(&state.loads, 1);
    *library = (CUlibrary)(void *)kernel;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuLibraryUnload(CUlibrary library)
{
    ENTER();
    atomic_fetch_add(&state.unloads, 1);
    free((void *)library);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    ENTER();
    struct fake_kernel *own = (struct fake_kernel *)(void *)library;
    snprintf(own->name, sizeof(own->name), "%s", name);
    *kernel = (CUkernel)(void *)own;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    ENTER();
    if (current_context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *function = make_function((const struct fake_kernel *)(void *)kernel);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute,
                                       CUkernel kernel, CUdevice device)
{
    ENTER();
    (void)kernel;
    (void)device;
    *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? state.registers : state.local_bytes;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                       CUkernel kernel, CUdevice device)
{
    ENTER();
    (void)device;
    struct fake_kernel *own = (struct fake_kernel *)(void *)kernel;
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        own->non_portable_cluster = value;
        return CUDA_SUCCESS;
    }
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
        value > FAKE_SMEM_OPTIN) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    own->smem_bytes = value;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                              CUfunction function,
                                                              int threads,
                                                              size_t smem_bytes)
{
    ENTER();
    (void)function;
    (void)threads;
    (void)smem_bytes;
    *blocks = state.blocks_per_sm;
    return CUDA_SUCCESS;
}

/* As the hardware: more than 8 CTAs need the function's attribute. */
static bool cluster_is_allowed(const struct fake_kernel *kernel,
                               const CUlaunchConfig *config)
{
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
            attribute->value.clusterDim.x > 8 && !kernel->non_portable_cluster) {
            return false;
        }
    }
    return true;
}

FAKE_API CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                               const CUlaunchConfig *config)
{
    ENTER();
    if (config->numAttrs != 1) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!cluster_is_allowed(kernel_of(function), config)) {
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    const int ctas = (int)config->attrs[0].value.clusterDim.x;
    const bool fits = state.most_cluster_ctas == 0 || ctas <= state.most_cluster_ctas;
    *clusters = fits ? state.resident_clusters : 0;
    return CUDA_SUCCESS;
}

/* Keeps a launch for the test that looks at it. */
static void record_launch(const CUlaunchConfig *config, void **params)
{
    struct fake_launch *launch = &state.last_launch;
    memset(launch, 0, sizeof(*launch));
    launch->grid = config->gridDimX;
    launch->block = config->blockDimX;
    launch->smem_bytes = config->sharedMemBytes;
    launch->stream = config->hStream;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            launch->cluster = attribute->value.clusterDim.x;
        } else {
            launch->pdl = attribute->value.programmaticStreamSerializationAllowed;
        }
    }
    memcpy(&launch->params, params[0], sizeof(launch->params));
}

FAKE_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                   void **params, void **extra)
{
    ENTER();
    const struct fake_kernel *kernel = kernel_of(function);
    if (current_context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (is_function(function) && current_context != (CUcontext)(void *)&primary_context) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (extra != NULL || config->gridDimX == 0 || config->blockDimX == 0 ||
        config->sharedMemBytes > (unsigned int)kernel->smem_bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!cluster_is_allowed(kernel, config)) {
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    atomic_fetch_add_explicit(&state.launches, 1, memory_order_relaxed);
    if (state.recording) {
        state.launched_here = current_context == (CUcontext)(void *)&primary_context;
        record_launch(config, params);
    }
    return CUDA_SUCCESS;
}

/* In shared memory. */
static uint64_t bits_of_type(CUtensorMapDataType type)
{
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
        return 4;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B: /* with the gaps */
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
        return 8;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
        return 32;
    default:
        return 16;
    }
}

/* The limits of the hardware, as far as a GEMM can meet them. */
static bool map_is_legal(const struct fake_encode *encode)
{
    const uint64_t row_bits = encode->box[0] * bits_of_type(encode->type);
    const bool is_swizzled = encode->swizzle != CU_TENSOR_MAP_SWIZZLE_NONE;
    if (encode->rank < 2 || encode->rank > 5 || encode->address == 0 ||
        encode->address % 16 != 0 || (is_swizzled && row_bits > 8 * 128)) {
        return false;
    }
    for (unsigned int i = 0; i < encode->rank; i++) {
        if (encode->dims[i] == 0 || encode->dims[i] > (uint64_t)1 << 32 ||
            encode->box[i] == 0 || encode->box[i] > 256) {
            return false;
        }
    }
    for (unsigned int i = 0; i + 1 < encode->rank; i++) {
        if (encode->strides_bytes[i] == 0 || encode->strides_bytes[i] % 16 != 0 ||
            encode->strides_bytes[i] >= (uint64_t)1 << 40) {
            return false;
        }
    }
    return true;
}

/* Where a map says what it is: its address first. */
enum { MAP_STRIDES = 8, MAP_NUMBER = 24 };

static void write_map(const struct fake_encode *encode, CUtensorMap *map)
{
    const long number = atomic_fetch_add(&state.encodes, 1);
    memcpy(map, &encode->address, sizeof(encode->address));
    memcpy((unsigned char *)map + MAP_STRIDES, encode->strides_bytes, 16);
    memcpy((unsigned char *)map + MAP_NUMBER, &number, sizeof(number));
    if (state.recording) {
        state.last_encodes[number % FAKE_ENCODES_KEPT] = *encode;
    }
}

FAKE_API CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *dims, const cuuint64_t *strides_bytes, const cuuint32_t *box,
    const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill)
{
    ENTER();
    (void)element_strides;
    (void)interleave;
    (void)fill;
    struct fake_encode encode = {.type = type,
                                 .rank = rank,
                                 .address = (uint64_t)(uintptr_t)address,
                                 .swizzle = swizzle,
                                 .promotion = promotion};
    for (unsigned int i = 0; i < rank && i < 5; i++) {
        encode.dims[i] = dims[i];
        encode.box[i] = box[i];
        if (i + 1 < rank) {
            encode.strides_bytes[i] = strides_bytes[i];
        }
    }
    if (current_context == NULL) { /* as an H200's driver has it */
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!map_is_legal(&encode)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memset(map, 0, sizeof(*map));
    write_map(&encode, map);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    ENTER();
    if (current_context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    long number;
    memcpy(&number, (const unsigned char *)map + MAP_NUMBER, sizeof(number));
    struct fake_encode encode = {0};
    if (state.recording) {
        encode = state.last_encodes[number % FAKE_ENCODES_KEPT];
    } else { /* what a map says of itself */
        memcpy(encode.strides_bytes, (const unsigned char *)map + MAP_STRIDES, 16);
    }
    encode.address = (uint64_t)(uintptr_t)address;
    if (address == NULL || encode.address % 16 != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    write_map(&encode, map);
    atomic_fetch_add(&state.moves, 1);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    ENTER();
    (void)stream;
    *status = (CUstreamCaptureStatus)state.capture;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode own = CU_STREAM_CAPTURE_MODE_GLOBAL;
    ENTER();
    const CUstreamCaptureMode old = own;
    own = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}

/* ----------------------------------------------------------------- memory and events */

FAKE_API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    ENTER();
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (memory == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    atomic_fetch_add(&state.allocations, 1);
    if (state.recording) {
        state.allocating = current_context;
    }
    *address = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemFree_v2(CUdeviceptr address)
{
    ENTER();
    atomic_fetch_sub(&state.allocations, 1);
    free((void *)(uintptr_t)address);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
    ENTER();
    (void)flags;
    *memory = malloc(bytes);
    if (*memory == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    atomic_fetch_add(&state.allocations, 1);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemFreeHost(void *memory)
{
    ENTER();
    atomic_fetch_sub(&state.allocations, 1);
    free(memory);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                                     const char *name)
{
    ENTER();
    (void)library;
    *address = (CUdeviceptr)(uintptr_t)state.variable;
    *bytes = strcmp(name, "jg_trace_buffer") == 0 ? 16 : 8;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t bytes)
{
    ENTER();
    memcpy((void *)(uintptr_t)target, source, bytes);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t bytes)
{
    ENTER();
    memcpy(target, (const void *)(uintptr_t)source, bytes);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemsetD8_v2(CUdeviceptr target, unsigned char value, size_t count)
{
    ENTER();
    memset((void *)(uintptr_t)target, value, count);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    ENTER();
    (void)flags;
    struct timespec *time = calloc(1, sizeof(*time));
    *event = (CUevent)(void *)time;
    return time != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

FAKE_API CUresult cuEventDestroy_v2(CUevent event)
{
    ENTER();
    free((void *)event);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventRecord(CUevent event, CUstream stream)
{
    ENTER();
    (void)stream;
    clock_gettime(CLOCK_MONOTONIC, (struct timespec *)(void *)event);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventSynchronize(CUevent event)
{
    ENTER();
    (void)event;
    return CUDA_SUCCESS;
}

/* Not every version of cuda.h declares it under this name. */
FAKE_API CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end);
FAKE_API CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    ENTER();
    const struct timespec *from = (const struct timespec *)(const void *)start;
    const struct timespec *to = (const struct timespec *)(const void *)end;
    *ms = (float)((double)(to->tv_sec - from->tv_sec) * 1e3 +
                  (double)(to->tv_nsec - from->tv_nsec) * 1e-6);
    return CUDA_SUCCESS;
}
