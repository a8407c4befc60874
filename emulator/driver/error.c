/* SPDX-License-Identifier: MIT */
/* Names and texts of result codes. */
#include "driver/driver.h"

#define CODES(X)                                                                    \
    X(CUDA_SUCCESS, "no error")                                                     \
    X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                 \
    X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                    \
    X(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called")                          \
    X(CUDA_ERROR_DEINITIALIZED, "the driver is shutting down")                      \
    X(CUDA_ERROR_STUB_LIBRARY, "the loaded driver is a stub")                       \
    X(CUDA_ERROR_NO_DEVICE, "there is no device")                                   \
    X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                          \
    X(CUDA_ERROR_INVALID_IMAGE, "the image is not device code")                     \
    X(CUDA_ERROR_INVALID_CONTEXT, "no valid context is current")                    \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "the image has no code for this device")        \
    X(CUDA_ERROR_INVALID_PTX, "the PTX text is not valid")                          \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the PTX version is not supported")       \
    X(CUDA_ERROR_INVALID_SOURCE, "the source is not valid")                         \
    X(CUDA_ERROR_FILE_NOT_FOUND, "file not found")                                  \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "a symbol was not resolved")       \
    X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "a shared object could not be loaded")  \
    X(CUDA_ERROR_OPERATING_SYSTEM, "a call of the operating system failed")         \
    X(CUDA_ERROR_INVALID_HANDLE, "invalid handle")                                  \
    X(CUDA_ERROR_ILLEGAL_STATE, "the state does not allow this call")               \
    X(CUDA_ERROR_NOT_FOUND, "the name was not found")                               \
    X(CUDA_ERROR_NOT_READY, "not finished yet")                                     \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "a kernel accessed an illegal address")           \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the launch asks for too many resources") \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, "a kernel made no progress and was ended")         \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is enabled already")     \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access is not enabled")             \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is active")           \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context was destroyed")                 \
    X(CUDA_ERROR_ASSERT, "an assertion of a kernel failed")                         \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, "a kernel's call stack is broken")           \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, "a kernel executed an illegal instruction")   \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, "a kernel used a misaligned address")          \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, "an address lies in the wrong space")       \
    X(CUDA_ERROR_INVALID_PC, "a kernel left its code")                              \
    X(CUDA_ERROR_LAUNCH_FAILED, "a kernel failed")                                  \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,                                      \
      "a cooperative launch has more blocks than fit the device at once")           \
    X(CUDA_ERROR_NOT_PERMITTED, "the call is not permitted")                        \
    X(CUDA_ERROR_NOT_SUPPORTED, "the call is not supported")                        \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "not possible while capturing")        \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture is no longer valid")      \
    X(CUDA_ERROR_TIMEOUT, "the time is over")                                       \
    X(CUDA_ERROR_EXTERNAL_DEVICE, "an external device failed")                      \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, "the cluster size is not possible")          \
    X(CUDA_ERROR_UNKNOWN, "unknown error")

struct code {
    CUresult result;
    const char *name, *text;
};
static const struct code codes[] = {
#define CODE(result, text) {result, #result, text},
    CODES(CODE)
#undef CODE
};

static const struct code *find_code(CUresult result)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (codes[i].result == result) {
            return &codes[i];
        }
    }
    return NULL;
}

EMU_EXPORT CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr)
{
    const struct code *code = find_code(error);
    if (pStr == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pStr = code == NULL ? NULL : code->name;
    return code == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr)
{
    const struct code *code = find_code(error);
    if (pStr == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pStr = code == NULL ? NULL : code->text;
    return code == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
