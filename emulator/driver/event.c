/* SPDX-License-Identifier: MIT */
/*
 * Events: the host's time at which they were recorded; where launches are timed, the sum of
 * their modelled times until then.
 */
#include <time.h>

#include "driver/driver.h"

#define EVENT_FLAGS \
    ((unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS))

static CUresult enter_event(CUevent event)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS && !emu_object_is_alive(event, EMU_KIND_EVENT)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    return result;
}

EMU_EXPORT CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS && (phEvent == NULL || (Flags & ~EVENT_FLAGS) != 0)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS && (Flags & CU_EVENT_INTERPROCESS) != 0) {
        result = emu_refuse(CUDA_ERROR_NOT_SUPPORTED,
                            "cuEventCreate: events are not shared among processes");
    }
    if (result == CUDA_SUCCESS) {
        CUevent event = emu_object_create(sizeof(*event), EMU_KIND_EVENT, context);
        event->flags = Flags;
        *phEvent = event;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent)
{
    CUresult result = enter_event(hEvent);
    if (result == CUDA_SUCCESS) {
        emu_object_destroy(hEvent);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    CUstream stream = NULL;
    CUresult result = enter_event(hEvent);
    if (result == CUDA_SUCCESS) {
        result = emu_stream_find(emu_context_current(), hStream, &stream);
    }
    if (result == CUDA_SUCCESS && hEvent->object.context != stream->object.context) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        struct timespec now;
        if (emu_driver.settings.timing != EMU_TIMING_OFF) {
            emu_launches_run();
        }
        hEvent->modelled_us = emu_driver.modelled_us;
        clock_gettime(CLOCK_MONOTONIC, &now);
        hEvent->nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        hEvent->recorded = true;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
    return emu_leave(enter_event(hEvent));
}

EMU_EXPORT CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
    return emu_leave(enter_event(hEvent));
}

/* Host time says how long the emulation took, nothing about a device; modelled time is what
 * the time model says of one. */
EMU_EXPORT CUresult CUDAAPI cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart,
                                                  CUevent hEnd)
{
    CUresult result = enter_event(hStart);
    if (result == CUDA_SUCCESS && pMilliseconds == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS &&
        (!emu_object_is_alive(hEnd, EMU_KIND_EVENT) || !hStart->recorded ||
         !hEnd->recorded ||
         ((hStart->flags | hEnd->flags) & CU_EVENT_DISABLE_TIMING) != 0)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        const bool modelled = emu_driver.settings.timing != EMU_TIMING_OFF;
        const double model_us = hEnd->modelled_us - hStart->modelled_us;
        int64_t elapsed = (int64_t)(hEnd->nanoseconds - hStart->nanoseconds);
        *pMilliseconds = modelled ? (float)(model_us * 1e-3) : (float)elapsed * 1e-6f;
    }
    return emu_leave(result);
}
