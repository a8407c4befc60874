/* SPDX-License-Identifier: MIT */
/* The two devices and what they say about themselves. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/driver.h"

/*
 * Public numbers of the two boards. The SMs of a GPC are a plausible way to divide them:
 * real chips differ from one to the next.
 */
static const struct emu_profile profiles[EMU_DEVICE_COUNT] = {
    {.name = "Emulated B200",
     .sm = 100,
     .sm_count = 148,
     .clock_khz = 1965000,
     .memory_clock_khz = 3996000,
     .bus_bits = 8192,
     .l2_bytes = 132120576,
     .memory_bytes = UINT64_C(180) << 30,
     .gpc_sms = {20, 20, 18, 18, 18, 18, 18, 18}},
    {.name = "Emulated H200",
     .sm = 90,
     .sm_count = 132,
     .clock_khz = 1980000,
     .memory_clock_khz = 3201000,
     .bus_bits = 6144,
     .l2_bytes = 52428800,
     .memory_bytes = UINT64_C(141) << 30,
     .gpc_sms = {18, 18, 16, 16, 16, 16, 16, 16}},
};

int emu_device_sm_count(const struct emu_profile *profile)
{
    unsigned wanted = emu_driver.settings.sms;
    return wanted != 0 && wanted < (unsigned)profile->sm_count ? (int)wanted
                                                               : profile->sm_count;
}

void emu_devices_start(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t host_bytes = (uint64_t)(pages > 0 ? pages : 0) * (uint64_t)page_bytes;
    for (unsigned i = 0; i < EMU_DEVICE_COUNT; i++) {
        struct emu_device *device = &emu_driver.devices[i];
        device->profile = &profiles[i];
        /* Each byte of the device costs two of the host: itself, and whether it is
         * defined. A quarter of the host's memory per device leaves nothing over. */
        uint64_t bytes = host_bytes / 4;
        device->memory = emu_memory_create(
            bytes < profiles[i].memory_bytes ? bytes : profiles[i].memory_bytes);
    }
}

int emu_device_ordinal(const struct emu_device *device)
{
    return (int)(device - emu_driver.devices);
}

CUresult emu_device_find(CUdevice ordinal, struct emu_device **ret_device)
{
    if (ordinal < 0 || ordinal >= EMU_DEVICE_COUNT) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *ret_device = &emu_driver.devices[ordinal];
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        if (count == NULL) {
            return emu_leave(CUDA_ERROR_INVALID_VALUE);
        }
        *count = EMU_DEVICE_COUNT;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    struct emu_device *found = NULL;
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && device == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        result = emu_device_find(ordinal, &found);
    }
    if (result == CUDA_SUCCESS) {
        *device = ordinal;
    }
    return emu_leave(result);
}

/* Enters and finds the device that a query is about; `target`: where its answer goes. */
static CUresult enter_query(CUdevice ordinal, const void *target,
                            struct emu_device **ret_device)
{
    CUresult result = emu_enter();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    return target == NULL ? CUDA_ERROR_INVALID_VALUE : emu_device_find(ordinal, ret_device);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct emu_device *device = NULL;
    CUresult result = enter_query(dev, name, &device);
    if (result == CUDA_SUCCESS && len <= 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        snprintf(name, (size_t)len, "%s", device->profile->name);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    struct emu_device *device = NULL;
    CUresult result = enter_query(dev, uuid, &device);
    if (result == CUDA_SUCCESS) {
        memset(uuid->bytes, 0, sizeof(uuid->bytes));
        memcpy(uuid->bytes, "emulated", 8);
        uuid->bytes[15] = (char)device->profile->sm;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct emu_device *device = NULL;
    CUresult result = enter_query(dev, bytes, &device);
    if (result == CUDA_SUCCESS) {
        uint64_t used = 0;
        uint64_t total = 0;
        emu_memory_usage(device->memory, &used, &total);
        *bytes = (size_t)total;
    }
    return emu_leave(result);
}

struct attribute {
    CUdevice_attribute attribute;
    int value;
};

/* The same on both. */
static const struct attribute common_attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, EMU_SHARED_DEFAULT_BYTES},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, EMU_SHARED_OPTIN_BYTES},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, EMU_SHARED_SM_BYTES},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, EMU_SHARED_FIRST},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, EMU_SM_REGISTERS},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, EMU_SM_REGISTERS},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, EMU_SM_WARPS * 32},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, EMU_SM_CTAS},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 0},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 0},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
    {CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 0},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 0},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0},
    {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 0},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 4},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
};

static bool find_attribute(const struct emu_device *device, CUdevice_attribute attribute,
                           int *ret_value)
{
    const struct emu_profile *profile = device->profile;
    const struct attribute own_attributes[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, (int)profile->sm / 10},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, (int)profile->sm % 10},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, emu_device_sm_count(profile)},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, profile->clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, profile->memory_clock_khz},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, profile->bus_bits},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, profile->l2_bytes},
        {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
        {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1 + emu_device_ordinal(device)},
        {CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, emu_device_ordinal(device)},
    };
    for (size_t i = 0; i < sizeof(own_attributes) / sizeof(own_attributes[0]); i++) {
        if (own_attributes[i].attribute == attribute) {
            *ret_value = own_attributes[i].value;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(common_attributes) / sizeof(common_attributes[0]); i++) {
        if (common_attributes[i].attribute == attribute) {
            *ret_value = common_attributes[i].value;
            return true;
        }
    }
    return false;
}

EMU_EXPORT CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib,
                                                 CUdevice dev)
{
    struct emu_device *device = NULL;
    CUresult result = enter_query(dev, pi, &device);
    if (result == CUDA_SUCCESS && !find_attribute(device, attrib, pi)) {
        result = emu_refuse(CUDA_ERROR_INVALID_VALUE,
                            "cuDeviceGetAttribute: attribute %d is not known", (int)attrib);
    }
    return emu_leave(result);
}
