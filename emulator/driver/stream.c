/* SPDX-License-Identifier: MIT */
/* Streams. Their work is done in order, each piece before the call that asked returns. */
#include "driver/driver.h"

static CUstream create_stream(CUcontext context, int priority, unsigned flags)
{
    CUstream stream = emu_object_create(sizeof(*stream), EMU_KIND_STREAM, context);
    stream->priority = priority > EMU_PRIORITY_LEAST      ? EMU_PRIORITY_LEAST
                       : priority < EMU_PRIORITY_GREATEST ? EMU_PRIORITY_GREATEST
                                                          : priority;
    stream->flags = flags;
    stream->id = ++emu_driver.next_stream_id;
    return stream;
}

void emu_stream_free(CUstream stream)
{
    emu_object_destroy(stream);
}

CUresult emu_stream_find(CUcontext context, CUstream handle, CUstream *ret_stream)
{
    if (handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        if (context->default_stream == NULL) {
            context->default_stream = create_stream(context, 0, CU_STREAM_DEFAULT);
        }
        *ret_stream = context->default_stream;
        return CUDA_SUCCESS;
    }
    if (!emu_object_is_alive(handle, EMU_KIND_STREAM)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *ret_stream = handle;
    return handle->object.context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* Enters with a context and the stream of a handle. */
static CUresult enter_stream(CUstream handle, CUstream *ret_stream)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    return result == CUDA_SUCCESS ? emu_stream_find(context, handle, ret_stream) : result;
}

EMU_EXPORT CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream,
                                                       unsigned int flags, int priority)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS &&
        (phStream == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *phStream = create_stream(context, priority, flags);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return cuStreamCreateWithPriority(phStream, Flags, 0);
}

EMU_EXPORT CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    /* No program was given the handle of a default stream, but an old one may equal it. */
    if (result == CUDA_SUCCESS && (!emu_object_is_alive(hStream, EMU_KIND_STREAM) ||
                                   hStream == hStream->object.context->default_stream)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        emu_stream_free(hStream);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    CUstream stream = NULL;
    return emu_leave(enter_stream(hStream, &stream));
}

EMU_EXPORT CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    CUstream stream = NULL;
    return emu_leave(enter_stream(hStream, &stream));
}

EMU_EXPORT CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent,
                                              unsigned int Flags)
{
    CUstream stream = NULL;
    CUresult result = enter_stream(hStream, &stream);
    if (result == CUDA_SUCCESS && (Flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) != 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS && !emu_object_is_alive(hEvent, EMU_KIND_EVENT)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int *priority)
{
    CUstream stream = NULL;
    CUresult result = enter_stream(hStream, &stream);
    if (result == CUDA_SUCCESS && priority == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *priority = stream->priority;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    CUstream stream = NULL;
    CUresult result = enter_stream(hStream, &stream);
    if (result == CUDA_SUCCESS && flags == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *flags = stream->flags;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    CUstream stream = NULL;
    CUresult result = enter_stream(hStream, &stream);
    if (result == CUDA_SUCCESS && streamId == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *streamId = stream->id;
    }
    return emu_leave(result);
}

/* ---------------------------------------------------------------------------- capture */

/* Graphs are not there, so that no stream ever captures. */
EMU_EXPORT CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream,
                                                CUstreamCaptureStatus *captureStatus)
{
    CUstream stream = NULL;
    CUresult result = enter_stream(hStream, &stream);
    if (result == CUDA_SUCCESS && captureStatus == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream,
                                                    CUstreamCaptureMode mode)
{
    CUstream stream = NULL;
    CUresult result = enter_stream(hStream, &stream);
    (void)mode;
    if (result == CUDA_SUCCESS) {
        result = emu_refuse(CUDA_ERROR_NOT_SUPPORTED,
                            "cuStreamBeginCapture: graphs are not supported");
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    CUstream stream = NULL;
    CUresult result = enter_stream(hStream, &stream);
    if (phGraph != NULL) {
        *phGraph = NULL;
    }
    if (result == CUDA_SUCCESS) {
        result = emu_refuse(CUDA_ERROR_NOT_SUPPORTED,
                            "cuStreamEndCapture: graphs are not supported");
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (mode == NULL || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUstreamCaptureMode before = current;
    current = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
