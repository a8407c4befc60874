/* SPDX-License-Identifier: MIT */
/* Device memory, copies and timing over the driver that the context opened. */
#include <stdio.h>

#include "api/context.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/struct.h"
#include "jit_gemm/device.h"

struct jit_gemm_timer {
    struct jg_device *device; /* counted */
    CUevent start, stop;      /* NULL while half made */
};

/* It need not fit the architecture. */
static jit_gemm_status check_device(const jit_gemm_context *context)
{
    JG_TRY(jg_check_context(context));
    if (context->device == NULL) {
        jg_error_restore(context->device_status, context->device_errors);
        return context->device_status;
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_result(const struct jg_device *device, CUresult result,
                                    const char *call)
{
    return result == CUDA_SUCCESS
               ? JIT_GEMM_OK
               : jg_driver_fail(device->driver, JIT_GEMM_ERR_DEVICE, result, call, "");
}

/* The end of a visit. */
static jit_gemm_status leave(const struct jg_device *device, CUcontext previous,
                             CUresult result, const char *call)
{
    jg_device_leave(device, previous);
    return check_result(device, result, call);
}

jit_gemm_status jit_gemm_device_get_info(jit_gemm_context *context,
                                         jit_gemm_device_info *ret_info)
{
    JG_TRY(check_device(context));
    const struct jg_device *device = context->device;
    const struct jg_device_facts *facts = &device->facts;
    jit_gemm_device_info info = {.struct_size = sizeof(info),
                                 .cc_major = facts->cc_major,
                                 .cc_minor = facts->cc_minor,
                                 .sm_count = facts->sm_count,
                                 .driver_version = facts->driver_version,
                                 .l2_bytes = facts->l2_bytes,
                                 .memory_bytes = facts->memory_bytes,
                                 .smem_optin_bytes = facts->smem_optin_bytes,
                                 .is_emulated = device->driver->takes_ptx,
                                 .ordinal = device->ordinal};
    snprintf(info.name, sizeof(info.name), "%s", facts->name);
    return jg_struct_export(&info, sizeof(info), ret_info, "ret_info");
}

/* ---------------------------------------------------------------------------- memory */

jit_gemm_status jit_gemm_device_alloc(jit_gemm_context *context, size_t bytes,
                                      uint64_t *ret_address)
{
    JG_TRY(jg_check_pointer(ret_address, "ret_address"));
    if (bytes == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "bytes", "ask for at least one",
                       "0 bytes cannot be allocated");
    }
    JG_TRY(check_device(context));
    const struct jg_device *device = context->device;
    CUdeviceptr address = 0;
    CUcontext previous = NULL;
    JG_TRY(jg_device_visit(device, &previous));
    JG_TRY(
        leave(device, previous, device->driver->mem_alloc(&address, bytes), "cuMemAlloc"));
    *ret_address = (uint64_t)address;
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_device_free(jit_gemm_context *context, uint64_t address)
{
    JG_TRY(check_device(context));
    const struct jg_device *device = context->device;
    if (address == 0) {
        return JIT_GEMM_OK;
    }
    CUcontext previous = NULL;
    JG_TRY(jg_device_visit(device, &previous));
    return leave(device, previous, device->driver->mem_free((CUdeviceptr)address),
                 "cuMemFree");
}

static jit_gemm_status check_device_address(uint64_t address)
{
    if (address == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "address",
                       "give one from jit_gemm_device_alloc", "is NULL");
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_device_upload(jit_gemm_context *context, uint64_t address,
                                       const void *source, size_t bytes)
{
    JG_TRY(check_device(context));
    const struct jg_device *device = context->device;
    if (bytes == 0) {
        return JIT_GEMM_OK;
    }
    JG_TRY(check_device_address(address));
    JG_TRY(jg_check_pointer(source, "source"));
    CUcontext previous = NULL;
    JG_TRY(jg_device_visit(device, &previous));
    return leave(device, previous,
                 device->driver->memcpy_to_device((CUdeviceptr)address, source, bytes),
                 "cuMemcpyHtoD");
}

jit_gemm_status jit_gemm_device_download(jit_gemm_context *context, void *target,
                                         uint64_t address, size_t bytes)
{
    JG_TRY(check_device(context));
    const struct jg_device *device = context->device;
    if (bytes == 0) {
        return JIT_GEMM_OK;
    }
    JG_TRY(check_device_address(address));
    JG_TRY(jg_check_pointer(target, "target"));
    CUcontext previous = NULL;
    JG_TRY(jg_device_visit(device, &previous));
    return leave(device, previous,
                 device->driver->memcpy_to_host(target, (CUdeviceptr)address, bytes),
                 "cuMemcpyDtoH");
}

jit_gemm_status jit_gemm_device_fill(jit_gemm_context *context, uint64_t address,
                                     unsigned char value, size_t bytes)
{
    JG_TRY(check_device(context));
    const struct jg_device *device = context->device;
    if (bytes == 0) {
        return JIT_GEMM_OK;
    }
    JG_TRY(check_device_address(address));
    CUcontext previous = NULL;
    JG_TRY(jg_device_visit(device, &previous));
    const CUresult result =
        device->driver->memset_bytes((CUdeviceptr)address, value, bytes);
    if (result != CUDA_SUCCESS) {
        return leave(device, previous, result, "cuMemsetD8");
    }
    return leave(device, previous, device->driver->ctx_synchronize(), "cuCtxSynchronize");
}

jit_gemm_status jit_gemm_device_synchronize(jit_gemm_context *context)
{
    JG_TRY(check_device(context));
    const struct jg_device *device = context->device;
    CUcontext previous = NULL;
    JG_TRY(jg_device_visit(device, &previous));
    return leave(device, previous, device->driver->ctx_synchronize(), "cuCtxSynchronize");
}

jit_gemm_status jit_gemm_device_findings(jit_gemm_context *context, uint64_t *ret_count)
{
    static const int warnings = 1;
    JG_TRY(jg_check_pointer(ret_count, "ret_count"));
    JG_TRY(jit_gemm_device_synchronize(context));
    const struct jg_driver *driver = context->device->driver;
    *ret_count = driver->count_findings != NULL ? driver->count_findings(warnings) : 0;
    return JIT_GEMM_OK;
}

/* ---------------------------------------------------------------------------- timing */

static jit_gemm_status make_events(jit_gemm_timer *timer)
{
    const struct jg_device *device = timer->device;
    CUcontext previous = NULL;
    JG_TRY(jg_device_visit(device, &previous));
    CUresult result = device->driver->event_create(&timer->start, CU_EVENT_DEFAULT);
    if (result == CUDA_SUCCESS) {
        result = device->driver->event_create(&timer->stop, CU_EVENT_DEFAULT);
    }
    return leave(device, previous, result, "cuEventCreate");
}

jit_gemm_status jit_gemm_timer_create(jit_gemm_context *context, jit_gemm_timer **ret_timer)
{
    JG_TRY(jg_check_pointer(ret_timer, "ret_timer"));
    JG_TRY(check_device(context));
    jit_gemm_timer *timer = jg_alloc(sizeof(*timer));
    if (timer == NULL) {
        return jg_fail_memory();
    }
    timer->device = jg_device_retain(context->device);
    const jit_gemm_status status = make_events(timer);
    if (status != JIT_GEMM_OK) {
        jit_gemm_timer_destroy(&timer);
        return status;
    }
    *ret_timer = timer;
    return JIT_GEMM_OK;
}

static jit_gemm_status record_event(const jit_gemm_timer *timer, CUevent event,
                                    void *stream)
{
    const struct jg_device *device = timer->device;
    CUcontext previous = NULL;
    JG_TRY(jg_device_visit(device, &previous));
    return leave(device, previous, device->driver->event_record(event, (CUstream)stream),
                 "cuEventRecord");
}

jit_gemm_status jit_gemm_timer_start(jit_gemm_timer *timer, void *stream)
{
    JG_TRY(jg_check_pointer(timer, "timer"));
    return record_event(timer, timer->start, stream);
}

jit_gemm_status jit_gemm_timer_stop(jit_gemm_timer *timer, void *stream)
{
    JG_TRY(jg_check_pointer(timer, "timer"));
    return record_event(timer, timer->stop, stream);
}

jit_gemm_status jit_gemm_timer_elapsed_us(jit_gemm_timer *timer, double *ret_us)
{
    JG_TRY(jg_check_pointer(timer, "timer"));
    JG_TRY(jg_check_pointer(ret_us, "ret_us"));
    const struct jg_device *device = timer->device;
    CUcontext previous = NULL;
    float ms = 0.0F;
    JG_TRY(jg_device_visit(device, &previous));
    const CUresult result = device->driver->event_synchronize(timer->stop);
    if (result != CUDA_SUCCESS) {
        return leave(device, previous, result, "cuEventSynchronize");
    }
    JG_TRY(leave(device, previous,
                 device->driver->event_elapsed_ms(&ms, timer->start, timer->stop),
                 "cuEventElapsedTime"));
    *ret_us = (double)ms * 1e3;
    return JIT_GEMM_OK;
}

void jit_gemm_timer_destroy(jit_gemm_timer **timer)
{
    if (timer == NULL || *timer == NULL) {
        return;
    }
    struct jg_device *device = (*timer)->device;
    if ((*timer)->start != NULL) {
        (void)device->driver->event_destroy((*timer)->start);
    }
    if ((*timer)->stop != NULL) {
        (void)device->driver->event_destroy((*timer)->stop);
    }
    jg_device_release(device);
    jg_free(*timer);
    *timer = NULL;
}
