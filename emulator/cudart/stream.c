/* SPDX-License-Identifier: MIT */
/* Streams and events: the driver's, under the runtime's names. */
#include "cudart/runtime.h"

RT_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream,
                                                   unsigned int flags, int priority)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS
                       ? cuStreamCreateWithPriority(pStream, flags, priority)
                       : result);
}

RT_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    return cudaStreamCreateWithPriority(pStream, flags, 0);
}

RT_EXPORT cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
    return cudaStreamCreateWithPriority(pStream, cudaStreamDefault, 0);
}

RT_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuStreamDestroy(stream) : result);
}

RT_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuStreamSynchronize(stream) : result);
}

RT_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuStreamQuery(stream) : result);
}

RT_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                          unsigned int flags)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuStreamWaitEvent(stream, event, flags)
                                          : result);
}

RT_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuStreamGetPriority(hStream, priority)
                                          : result);
}

RT_EXPORT cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuStreamGetFlags(hStream, flags) : result);
}

RT_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                            enum cudaStreamCaptureStatus *pCaptureStatus)
{
    const CUresult result = rt_enter();
    return rt_keep(
        result == CUDA_SUCCESS
            ? cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)pCaptureStatus)
            : result);
}

RT_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuEventCreate(event, flags) : result);
}

RT_EXPORT cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

RT_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuEventDestroy(event) : result);
}

RT_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuEventRecord(event, stream) : result);
}

RT_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                               unsigned int flags)
{
    return flags == 0 ? cudaEventRecord(event, stream) : rt_keep(CUDA_ERROR_NOT_SUPPORTED);
}

RT_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuEventSynchronize(event) : result);
}

RT_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuEventQuery(event) : result);
}

/* Time of the host that emulates; it means nothing for a device. */
RT_EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    const CUresult result = rt_enter();
    return rt_keep(result == CUDA_SUCCESS ? cuEventElapsedTime(ms, start, end) : result);
}
