/* SPDX-License-Identifier: MIT */
/* Devices, the context of a thread, what a device is. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/runtime.h"

enum { DEVICES = 16 };

/* ---------------------------------------------------------------------------- contexts */

static pthread_once_t started = PTHREAD_ONCE_INIT;
static CUresult start_result = CUDA_ERROR_NOT_INITIALIZED;
/* The driver's devices in the order of CUDA_VISIBLE_DEVICES; written once, at the start. */
static CUdevice visible[DEVICES];
static int visible_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[DEVICES]; /* under the lock; NULL: not made yet */
static _Thread_local int chosen;

/* Ordinals, up to the first that there is not or that came before; NULL: all of them. */
static void read_visible(const char *list, int count)
{
    while (visible_count < count) {
        char *end = NULL;
        const long ordinal = list == NULL ? visible_count : strtol(list, &end, 10);
        bool is_new = end != list || list == NULL;
        for (int i = 0; i < visible_count; i++) {
            is_new = is_new && visible[i] != ordinal;
        }
        if (!is_new || ordinal < 0 || ordinal >= count) {
            return;
        }
        visible[visible_count++] = (CUdevice)ordinal;
        if (list != NULL && *end != ',') {
            return;
        }
        list = list == NULL ? NULL : end + 1;
    }
}

static void start(void)
{
    int count = 0;
    start_result = cuInit(0);
    start_result = start_result == CUDA_SUCCESS ? cuDeviceGetCount(&count) : start_result;
    if (start_result == CUDA_SUCCESS) {
        read_visible(getenv("CUDA_VISIBLE_DEVICES"), count < DEVICES ? count : DEVICES);
        start_result = visible_count > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
    }
}

/* The driver's device for an ordinal of the program. */
static CUresult find_device(int ordinal, CUdevice *ret_device)
{
    if (ordinal < 0 || ordinal >= visible_count) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *ret_device = visible[ordinal];
    return CUDA_SUCCESS;
}

int rt_ordinal(CUdevice device)
{
    for (int i = 0; i < visible_count; i++) {
        if (visible[i] == device) {
            return i;
        }
    }
    return device; /* in a context that the program made by the driver */
}

static CUresult begin(void)
{
    pthread_once(&started, start);
    return start_result;
}

/* Makes a device's primary context the thread's. */
static CUresult use_device(int ordinal)
{
    CUdevice device = 0;
    CUresult result = find_device(ordinal, &device);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&lock);
    if (primary[device] == NULL) {
        result = cuDevicePrimaryCtxRetain(&primary[device], device);
    }
    if (result == CUDA_SUCCESS) {
        result = cuCtxSetCurrent(primary[device]);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult rt_enter_context(CUcontext *ret_context)
{
    CUresult result = begin();
    *ret_context = NULL;
    if (result == CUDA_SUCCESS) {
        result = cuCtxGetCurrent(ret_context);
    }
    if (result == CUDA_SUCCESS && *ret_context == NULL) {
        result = use_device(chosen);
        result = result == CUDA_SUCCESS ? cuCtxGetCurrent(ret_context) : result;
    }
    return result;
}

CUresult rt_enter(void)
{
    CUcontext context = NULL;
    return rt_enter_context(&context);
}

RT_EXPORT cudaError_t cudaSetDevice(int device)
{
    CUresult result = begin();
    result = result == CUDA_SUCCESS ? use_device(device) : result;
    chosen = result == CUDA_SUCCESS ? device : chosen;
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaInitDevice(int device, unsigned int deviceFlags,
                                     unsigned int flags)
{
    (void)deviceFlags;
    (void)flags;
    return cudaSetDevice(device);
}

RT_EXPORT cudaError_t cudaGetDevice(int *device)
{
    CUcontext context = NULL;
    CUdevice current = 0;
    CUresult result = device == NULL ? CUDA_ERROR_INVALID_VALUE : begin();
    result = result == CUDA_SUCCESS ? cuCtxGetCurrent(&context) : result;
    if (result == CUDA_SUCCESS) {
        result = context == NULL ? CUDA_SUCCESS : cuCtxGetDevice(&current);
        *device = context == NULL ? chosen : rt_ordinal(current);
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaGetDeviceCount(int *count)
{
    const CUresult result = count == NULL ? CUDA_ERROR_INVALID_VALUE : begin();
    if (count != NULL) {
        *count = visible_count;
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    (void)flags; /* they say how the host waits */
    return rt_keep(begin());
}

RT_EXPORT cudaError_t cudaDeviceSynchronize(void)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuCtxSynchronize() : result);
}

RT_EXPORT cudaError_t cudaDeviceReset(void)
{
    CUcontext context = NULL;
    CUdevice device = 0;
    CUresult result = rt_enter_context(&context);
    result = result == CUDA_SUCCESS ? cuCtxGetDevice(&device) : result;
    if (result == CUDA_SUCCESS) {
        rt_forget_context(context);
        result = cuDevicePrimaryCtxReset(device);
        pthread_mutex_lock(&lock);
        primary[device] = NULL;
        pthread_mutex_unlock(&lock);
        cuCtxSetCurrent(NULL);
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority,
                                                       int *greatestPriority)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS
                       ? cuCtxGetStreamPriorityRange(leastPriority, greatestPriority)
                       : result);
}

RT_EXPORT cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device,
                                              int peerDevice)
{
    (void)device;
    (void)peerDevice;
    if (canAccessPeer == NULL) {
        return rt_keep(CUDA_ERROR_INVALID_VALUE);
    }
    *canAccessPeer = 0;
    return cudaSuccess;
}

/* ---------------------------------------------------------------------------- versions */

RT_EXPORT cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    return rt_keep(cuDriverGetVersion(driverVersion));
}

RT_EXPORT cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (runtimeVersion == NULL) {
        return rt_keep(CUDA_ERROR_INVALID_VALUE);
    }
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

/* The driver's function of that name, as of that version of CUDA. */
RT_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(
    const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result =
        cuGetProcAddress(symbol, funcPtr, (int)cudaVersion, flags, &status);
    if (driverStatus != NULL) {
        *driverStatus = (enum cudaDriverEntryPointQueryResult)status;
    }
    return rt_keep(result);
}

RT_EXPORT cudaError_t
cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *driverStatus)
{
    return cudaGetDriverEntryPointByVersion(symbol, funcPtr, CUDART_VERSION, flags,
                                            driverStatus);
}

/* -------------------------------------------------------------------------- properties */

/* Attributes of the driver and the runtime have the same numbers. */
RT_EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr,
                                             int device)
{
    CUdevice found = 0;
    CUresult result = begin();
    result = result == CUDA_SUCCESS ? find_device(device, &found) : result;
    return rt_keep(result == CUDA_SUCCESS
                       ? cuDeviceGetAttribute(value, (CUdevice_attribute)attr, found)
                       : result);
}

#define PROPERTY(member, attribute)                                              \
    {                                                                            \
        offsetof(struct cudaDeviceProp, member), CU_DEVICE_ATTRIBUTE_##attribute \
    }

static const struct {
    size_t offset;
    CUdevice_attribute attribute;
} properties[] = {
    PROPERTY(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
    PROPERTY(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
    PROPERTY(warpSize, WARP_SIZE),
    PROPERTY(memPitch, MAX_PITCH),
    PROPERTY(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
    PROPERTY(maxThreadsDim[0], MAX_BLOCK_DIM_X),
    PROPERTY(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
    PROPERTY(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
    PROPERTY(maxGridSize[0], MAX_GRID_DIM_X),
    PROPERTY(maxGridSize[1], MAX_GRID_DIM_Y),
    PROPERTY(maxGridSize[2], MAX_GRID_DIM_Z),
    PROPERTY(totalConstMem, TOTAL_CONSTANT_MEMORY),
    PROPERTY(major, COMPUTE_CAPABILITY_MAJOR),
    PROPERTY(minor, COMPUTE_CAPABILITY_MINOR),
    PROPERTY(textureAlignment, TEXTURE_ALIGNMENT),
    PROPERTY(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
    PROPERTY(surfaceAlignment, SURFACE_ALIGNMENT),
    PROPERTY(multiProcessorCount, MULTIPROCESSOR_COUNT),
    PROPERTY(concurrentKernels, CONCURRENT_KERNELS),
    PROPERTY(ECCEnabled, ECC_ENABLED),
    PROPERTY(pciBusID, PCI_BUS_ID),
    PROPERTY(asyncEngineCount, ASYNC_ENGINE_COUNT),
    PROPERTY(unifiedAddressing, UNIFIED_ADDRESSING),
    PROPERTY(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
    PROPERTY(l2CacheSize, L2_CACHE_SIZE),
    PROPERTY(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
    PROPERTY(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
    PROPERTY(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
    PROPERTY(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
    PROPERTY(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    PROPERTY(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
    PROPERTY(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
    PROPERTY(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
    PROPERTY(cooperativeLaunch, COOPERATIVE_LAUNCH),
    PROPERTY(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    PROPERTY(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
    PROPERTY(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
    PROPERTY(clusterLaunch, CLUSTER_LAUNCH),
};

/* What is not listed is 0: there are no textures, no pools of memory, no peers. */
static CUresult fill_properties(struct cudaDeviceProp *prop, CUdevice device)
{
    CUuuid uuid;
    memset(prop, 0, sizeof(*prop));
    CUresult result = cuDeviceGetName(prop->name, sizeof(prop->name), device);
    result = result == CUDA_SUCCESS ? cuDeviceGetUuid(&uuid, device) : result;
    result =
        result == CUDA_SUCCESS ? cuDeviceTotalMem(&prop->totalGlobalMem, device) : result;
    for (size_t i = 0;
         result == CUDA_SUCCESS && i < sizeof(properties) / sizeof(properties[0]); i++) {
        int value = 0;
        result = cuDeviceGetAttribute(&value, properties[i].attribute, device);
        /* An int, or the low half of a size_t. */
        memcpy((char *)prop + properties[i].offset, &value, sizeof(value));
    }
    if (result == CUDA_SUCCESS) {
        memcpy(&prop->uuid, &uuid, sizeof(uuid));
        prop->hostNumaId = -1;
    }
    return result;
}

RT_EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    CUdevice found = 0;
    CUresult result = prop == NULL ? CUDA_ERROR_INVALID_VALUE : begin();
    result = result == CUDA_SUCCESS ? find_device(device, &found) : result;
    return rt_keep(result == CUDA_SUCCESS ? fill_properties(prop, found) : result);
}
