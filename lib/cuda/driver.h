/* SPDX-License-Identifier: MIT */
/*
 * The driver's entry points, found at run time by their explicit versioned names. Nothing
 * is linked, so a machine without a driver can still plan and build.
 *
 * The struct is a plain table: tests and benchmarks may fill it themselves.
 */
#ifndef JG_CUDA_DRIVER_H
#define JG_CUDA_DRIVER_H

#include <cuda.h>

#include "base/str.h"

/* The oldest driver that the library works with: CUDA 12.8. */
#define JG_DRIVER_VERSION_MIN 12080

/* X(member, exported name, parameters) */
#define JG_DRIVER_ENTRY_POINTS(X)                                                          \
    X(init, "cuInit", (unsigned int flags))                                                \
    X(driver_get_version, "cuDriverGetVersion", (int *version))                            \
    X(get_error_name, "cuGetErrorName", (CUresult error, const char **text))               \
    X(get_error_string, "cuGetErrorString", (CUresult error, const char **text))           \
    X(device_get_count, "cuDeviceGetCount", (int *count))                                  \
    X(device_get, "cuDeviceGet", (CUdevice * device, int ordinal))                         \
    X(device_get_name, "cuDeviceGetName", (char *name, int size, CUdevice device))         \
    X(device_get_attribute, "cuDeviceGetAttribute",                                        \
      (int *value, CUdevice_attribute attribute, CUdevice device))                         \
    X(device_total_mem, "cuDeviceTotalMem_v2", (size_t * bytes, CUdevice device))          \
    X(primary_ctx_retain, "cuDevicePrimaryCtxRetain",                                      \
      (CUcontext * context, CUdevice device))                                              \
    X(primary_ctx_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice device))              \
    X(ctx_get_current, "cuCtxGetCurrent", (CUcontext * context))                           \
    X(ctx_set_current, "cuCtxSetCurrent", (CUcontext context))                             \
    X(ctx_get_device, "cuCtxGetDevice", (CUdevice * device))                               \
    X(ctx_synchronize, "cuCtxSynchronize", (void))                                         \
    X(library_load_data, "cuLibraryLoadData",                                              \
      (CUlibrary * library, const void *code, CUjit_option *jit_options,                   \
       void **jit_values, unsigned int jit_count, CUlibraryOption *library_options,        \
       void **library_values, unsigned int library_count))                                 \
    X(library_unload, "cuLibraryUnload", (CUlibrary library))                              \
    X(library_get_kernel, "cuLibraryGetKernel",                                            \
      (CUkernel * kernel, CUlibrary library, const char *name))                            \
    X(library_get_global, "cuLibraryGetGlobal",                                            \
      (CUdeviceptr * address, size_t * bytes, CUlibrary library, const char *name))        \
    X(kernel_get_function, "cuKernelGetFunction",                                          \
      (CUfunction * function, CUkernel kernel))                                            \
    X(kernel_get_attribute, "cuKernelGetAttribute",                                        \
      (int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device))      \
    X(kernel_set_attribute, "cuKernelSetAttribute",                                        \
      (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device))       \
    X(occupancy_max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",          \
      (int *blocks, CUfunction function, int threads, size_t smem_bytes))                  \
    X(occupancy_max_active_clusters, "cuOccupancyMaxActiveClusters",                       \
      (int *clusters, CUfunction function, const CUlaunchConfig *config))                  \
    X(launch_kernel_ex, "cuLaunchKernelEx",                                                \
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))    \
    X(tensor_map_encode_tiled, "cuTensorMapEncodeTiled",                                   \
      (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *address,        \
       const cuuint64_t *dims, const cuuint64_t *strides_bytes, const cuuint32_t *box,     \
       const cuuint32_t *element_strides, CUtensorMapInterleave interleave,                \
       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,                       \
       CUtensorMapFloatOOBfill fill))                                                      \
    X(tensor_map_replace_address, "cuTensorMapReplaceAddress",                             \
      (CUtensorMap * map, void *address))                                                  \
    X(stream_is_capturing, "cuStreamIsCapturing",                                          \
      (CUstream stream, CUstreamCaptureStatus * status))                                   \
    X(thread_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode",                   \
      (CUstreamCaptureMode * mode))                                                        \
    X(mem_alloc, "cuMemAlloc_v2", (CUdeviceptr * address, size_t bytes))                   \
    X(mem_free, "cuMemFree_v2", (CUdeviceptr address))                                     \
    X(mem_host_alloc, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned int flags)) \
    X(mem_free_host, "cuMemFreeHost", (void *memory))                                      \
    X(memcpy_to_device, "cuMemcpyHtoD_v2",                                                 \
      (CUdeviceptr target, const void *source, size_t bytes))                              \
    X(memcpy_to_host, "cuMemcpyDtoH_v2", (void *target, CUdeviceptr source, size_t bytes)) \
    X(memset_bytes, "cuMemsetD8_v2",                                                       \
      (CUdeviceptr target, unsigned char value, size_t count))                             \
    X(event_create, "cuEventCreate", (CUevent * event, unsigned int flags))                \
    X(event_destroy, "cuEventDestroy_v2", (CUevent event))                                 \
    X(event_record, "cuEventRecord", (CUevent event, CUstream stream))                     \
    X(event_synchronize, "cuEventSynchronize", (CUevent event))                            \
    X(event_elapsed_ms, "cuEventElapsedTime_v2", (float *ms, CUevent start, CUevent end))

/* Names the emulator instead of a file. */
#define JG_DRIVER_EMULATOR "emulator"

struct jg_driver {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator takes none of them */
#define JG_DRIVER_MEMBER(member, name, parameters) CUresult(CUDAAPI *member) parameters;
    JG_DRIVER_ENTRY_POINTS(JG_DRIVER_MEMBER)
#undef JG_DRIVER_MEMBER
    void *library;  /* NULL in a table made by hand */
    int version;    /* 1000 * major + 10 * minor of the CUDA version */
    bool takes_ptx; /* code is given to it as PTX, not as a cubin */
    /* Of an emulator: findings of all launches so far, of severity 1 (warnings) or 2
     * (errors) and above. NULL: it checks nothing. */
    unsigned (*count_findings)(int severity);
    char path[512]; /* as it was opened */
};

/*
 * Opens the driver and initialises it. `path` names the library; NULL means `environment`
 * (the value of JIT_GEMM_DRIVER, may be NULL), then the usual names. A named library that
 * cannot be opened is an error, nothing else is tried in its place. JG_DRIVER_EMULATOR as
 * the name means the emulator that belongs to this library, where
 * jg_library_paths_companion finds it.
 *
 * A library that exports `const char *emuModuleFormat(void)` says by it what code it takes:
 * "ptx" or "cubin". Without that function it takes cubins, as NVIDIA's does. By
 * `unsigned emuCountFindings(int severity)` it says what it found wrong in kernels.
 *
 * NO_DRIVER (absent, too old, an entry point lacks, no device), DEVICE, NO_MEMORY.
 */
jit_gemm_status jg_driver_open(const char *path, const char *environment,
                               struct jg_driver **ret_driver);
/* Accepts NULL. */
void jg_driver_close(struct jg_driver *driver);

/* Fills the error record with "<where>: <driver's text> (<driver's name>)" and returns
 * `status`; out of device memory becomes NO_MEMORY. `where` names the call or argument. */
jit_gemm_status jg_driver_fail(const struct jg_driver *driver, jit_gemm_status status,
                               CUresult result, const char *where, const char *hint);

#endif
