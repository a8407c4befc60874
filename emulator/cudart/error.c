/* SPDX-License-Identifier: MIT */
/* Errors: the last one of a thread, names, texts. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cudart/runtime.h"

static _Thread_local cudaError_t last_error;

cudaError_t rt_keep(CUresult result)
{
    /* The numbers are the same, with exceptions that the callers know. */
    const cudaError_t error = (cudaError_t)result;
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        last_error = error;
    }
    return error;
}

cudaError_t rt_refuse(cudaError_t error, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "emulator: %s\n", text);
    last_error = error;
    return error;
}

RT_EXPORT cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

RT_EXPORT cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

/* Errors that the driver's calls and this library end with. */
#define ERRORS(X)                                                        \
    X(cudaSuccess, "no error")                                           \
    X(cudaErrorInvalidValue, "invalid argument")                         \
    X(cudaErrorMemoryAllocation, "out of memory")                        \
    X(cudaErrorInitializationError, "initialization error")              \
    X(cudaErrorCudartUnloading, "driver shutting down")                  \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")   \
    X(cudaErrorInvalidSymbol, "invalid device symbol")                   \
    X(cudaErrorInvalidDevicePointer, "invalid device pointer")           \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction")         \
    X(cudaErrorMissingConfiguration, "no launch configuration")          \
    X(cudaErrorInvalidDeviceFunction, "invalid device function")         \
    X(cudaErrorNoDevice, "no device")                                    \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                  \
    X(cudaErrorInvalidKernelImage, "the kernel image is invalid")        \
    X(cudaErrorDeviceUninitialized, "no context is current")             \
    X(cudaErrorNoKernelImageForDevice, "no kernel image for the device") \
    X(cudaErrorInvalidPtx, "the PTX is invalid")                         \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")         \
    X(cudaErrorIllegalState, "illegal state")                            \
    X(cudaErrorSymbolNotFound, "a symbol was not found")                 \
    X(cudaErrorNotReady, "not ready")                                    \
    X(cudaErrorIllegalAddress, "an illegal memory access")               \
    X(cudaErrorLaunchOutOfResources, "too many resources requested")     \
    X(cudaErrorLaunchTimeout, "the launch timed out")                    \
    X(cudaErrorAssert, "an assertion on the device failed")              \
    X(cudaErrorMisalignedAddress, "a misaligned address")                \
    X(cudaErrorIllegalInstruction, "an illegal instruction")             \
    X(cudaErrorLaunchFailure, "the launch failed")                       \
    X(cudaErrorNotPermitted, "not permitted")                            \
    X(cudaErrorNotSupported, "not supported")                            \
    X(cudaErrorUnknown, "unknown error")

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define ROW(error, text) {error, #error, text},
    ERRORS(ROW)
#undef ROW
};

RT_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].error == error) {
            return errors[i].name;
        }
    }
    return "unrecognized error code";
}

RT_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].error == error) {
            return errors[i].text;
        }
    }
    return "unrecognized error code";
}
