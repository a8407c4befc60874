/* SPDX-License-Identifier: MIT */
#include "cuda/device.h"

#include "base/alloc.h"
#include "base/error.h"

jit_gemm_status jg_device_count(const struct jg_driver *driver, int *ret_count)
{
    int count = 0;
    const CUresult result = driver->device_get_count(&count);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_DEVICE, result, "cuDeviceGetCount", "");
    }
    if (count == 0) {
        return jg_fail_system(JIT_GEMM_ERR_DEVICE, "device",
                              "see CUDA_VISIBLE_DEVICES and nvidia-smi",
                              "the driver sees no GPU");
    }
    *ret_count = count;
    return JIT_GEMM_OK;
}

static jit_gemm_status get_handle(const struct jg_driver *driver, int ordinal,
                                  CUdevice *ret_handle)
{
    const CUresult result = driver->device_get(ret_handle, ordinal);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_DEVICE, result, "cuDeviceGet", "");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status find_handle(struct jg_device *device)
{
    int count = 0;
    JG_TRY(jg_device_count(device->driver, &count));
    if (device->ordinal < 0 || device->ordinal >= count) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.device",
                       "ordinals are counted from 0",
                       "there is no device %d, only %d of them", device->ordinal, count);
    }
    return get_handle(device->driver, device->ordinal, &device->handle);
}

static jit_gemm_status read_facts(const struct jg_driver *driver, CUdevice handle,
                                  struct jg_device_facts *facts)
{
    int l2_bytes = 0, memory_clock_khz = 0, bus_bits = 0;
    const struct {
        CUdevice_attribute attribute;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &facts->cc_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &facts->cc_minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &facts->sm_count},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2_bytes},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &facts->smem_optin_bytes},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const CUresult result =
            driver->device_get_attribute(wanted[i].value, wanted[i].attribute, handle);
        if (result != CUDA_SUCCESS) {
            return jg_driver_fail(driver, JIT_GEMM_ERR_DEVICE, result,
                                  "cuDeviceGetAttribute", "");
        }
    }
    facts->l2_bytes = l2_bytes;
    /* Who plans has numbers of its own where a driver does not tell these. */
    if (driver->device_get_attribute(&memory_clock_khz,
                                     CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
                                     handle) == CUDA_SUCCESS &&
        driver->device_get_attribute(&bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
                                     handle) == CUDA_SUCCESS) {
        /* Two transfers in a clock, 8 bits in a byte. */
        facts->memory_bytes_s = INT64_C(1000) * memory_clock_khz * 2 * (bus_bits / 8);
    }
    size_t memory_bytes = 0;
    CUresult result = driver->device_total_mem(&memory_bytes, handle);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_DEVICE, result, "cuDeviceTotalMem", "");
    }
    facts->memory_bytes = (int64_t)memory_bytes;
    result = driver->device_get_name(facts->name, (int)sizeof(facts->name), handle);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_DEVICE, result, "cuDeviceGetName", "");
    }
    facts->driver_version = driver->version;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_device_read_facts(const struct jg_driver *driver, int ordinal,
                                     struct jg_device_facts *ret_facts)
{
    CUdevice handle = 0;
    JG_TRY(get_handle(driver, ordinal, &handle));
    struct jg_device_facts facts = {0};
    JG_TRY(read_facts(driver, handle, &facts));
    *ret_facts = facts;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_device_open(struct jg_driver *driver, int ordinal,
                               struct jg_device **ret_device)
{
    struct jg_device *device = jg_alloc(sizeof(*device));
    if (device == NULL) {
        return jg_fail_memory();
    }
    atomic_init(&device->references, 1);
    device->driver = driver;
    device->ordinal = ordinal;
    jit_gemm_status status = find_handle(device);
    if (status == JIT_GEMM_OK) {
        status = read_facts(device->driver, device->handle, &device->facts);
    }
    if (status == JIT_GEMM_OK) {
        const CUresult result =
            driver->primary_ctx_retain(&device->primary, device->handle);
        if (result != CUDA_SUCCESS) {
            status = jg_driver_fail(driver, JIT_GEMM_ERR_DEVICE, result,
                                    "cuDevicePrimaryCtxRetain",
                                    "see whether another process holds the device");
        }
    }
    if (status != JIT_GEMM_OK) {
        jg_free(device);
        return status;
    }
    *ret_device = device;
    return JIT_GEMM_OK;
}

struct jg_device *jg_device_retain(struct jg_device *device)
{
    atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
    return device;
}

void jg_device_release(struct jg_device *device)
{
    if (device == NULL ||
        atomic_fetch_sub_explicit(&device->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    (void)device->driver->primary_ctx_release(device->handle);
    jg_driver_close(device->driver);
    jg_free(device);
}

static jit_gemm_status set_current(const struct jg_device *device, CUcontext context)
{
    const CUresult result = device->driver->ctx_set_current(context);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(device->driver, JIT_GEMM_ERR_DEVICE, result,
                              "cuCtxSetCurrent", "");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status get_current(const struct jg_device *device, CUcontext *ret_context)
{
    const CUresult result = device->driver->ctx_get_current(ret_context);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(device->driver, JIT_GEMM_ERR_DEVICE, result,
                              "cuCtxGetCurrent", "");
    }
    return JIT_GEMM_OK;
}

/* Is what is current no context of this device? */
static bool is_elsewhere(const struct jg_device *device, CUcontext current)
{
    CUdevice handle = 0;
    return current == NULL || (current != device->primary &&
                               device->driver->ctx_get_device(&handle) == CUDA_SUCCESS &&
                               handle != device->handle);
}

jit_gemm_status jg_device_visit(const struct jg_device *device, CUcontext *ret_previous)
{
    CUcontext current = NULL;
    JG_TRY(get_current(device, &current));
    *ret_previous = NULL;
    if (is_elsewhere(device, current)) {
        JG_TRY(set_current(device, device->primary));
        *ret_previous = current;
    }
    return JIT_GEMM_OK;
}

bool jg_device_adopt(const struct jg_device *device, CUcontext *ret_previous)
{
    *ret_previous = NULL;
    return device->driver->ctx_get_current(ret_previous) == CUDA_SUCCESS &&
           is_elsewhere(device, *ret_previous) &&
           device->driver->ctx_set_current(device->primary) == CUDA_SUCCESS;
}

jit_gemm_status jg_device_enter(const struct jg_device *device, CUcontext *ret_previous)
{
    CUcontext current = NULL;
    JG_TRY(get_current(device, &current));
    if (current != device->primary) {
        JG_TRY(set_current(device, device->primary));
    }
    *ret_previous = current;
    return JIT_GEMM_OK;
}

void jg_device_leave(const struct jg_device *device, CUcontext previous)
{
    if (previous != NULL && previous != device->primary) {
        (void)device->driver->ctx_set_current(previous);
    }
}
