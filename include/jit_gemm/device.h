/* SPDX-License-Identifier: MIT */
/**
 * @file device.h
 * @brief Device memory, copies and timing, for programs that do not use the CUDA runtime.
 *
 * The library itself needs none of these: any device address and any stream will do. They
 * reach the driver that the context opened, so the same program works on whatever device it
 * was given. All of them block. Where the calling thread has no current CUDA context, the
 * primary context of the device becomes current on that thread, as with the CUDA runtime; a
 * context of another device is left for the time of the call.
 */
#ifndef JIT_GEMM_DEVICE_H
#define JIT_GEMM_DEVICE_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jit_gemm_timer jit_gemm_timer; /**< Opaque: a pair of device events. */

/** Plain facts about the context's device. */
typedef struct jit_gemm_device_info {
    size_t struct_size;       /**< sizeof(jit_gemm_device_info), set by the caller. */
    char name[128];           /**< For instance "NVIDIA H200". */
    int32_t cc_major;         /**< Compute capability, major. */
    int32_t cc_minor;         /**< Compute capability, minor. */
    int32_t sm_count;         /**< Multiprocessors. */
    int32_t driver_version;   /**< 1000 * major + 10 * minor of the CUDA version. */
    int64_t l2_bytes;         /**< Size of the L2 cache. */
    int64_t memory_bytes;     /**< Device memory in all. */
    int32_t smem_optin_bytes; /**< Most shared memory a CTA may ask for. */
    int32_t is_emulated;      /**< Not 0: no GPU; kernels are executed on the CPU from their
                                 PTX, and times say nothing of a GPU. */
    int32_t ordinal;          /**< Among the driver's devices. */
    int32_t reserved;         /**< Zero. */
} jit_gemm_device_info;

/**
 * Reads facts about the device.
 * @return OK, ARGUMENT, NO_DRIVER, DEVICE, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_device_get_info(jit_gemm_context *context,
                                                      jit_gemm_device_info *ret_info);

/**
 * Allocates device memory, aligned to at least 256 bytes.
 * @return OK, ARGUMENT, NO_DRIVER, DEVICE, NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status jit_gemm_device_alloc(jit_gemm_context *context, size_t bytes,
                                                   uint64_t *ret_address);

/**
 * Frees device memory; 0 is accepted.
 * @return OK, ARGUMENT, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_device_free(jit_gemm_context *context,
                                                  uint64_t address);

/**
 * Copies host memory to the device.
 * @return OK, ARGUMENT, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_device_upload(jit_gemm_context *context,
                                                    uint64_t address, const void *source,
                                                    size_t bytes);

/**
 * Waits for the default stream and copies device memory to the host.
 * @return OK, ARGUMENT, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_device_download(jit_gemm_context *context,
                                                      void *target, uint64_t address,
                                                      size_t bytes);

/**
 * Sets every byte of a piece of device memory.
 * @return OK, ARGUMENT, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_device_fill(jit_gemm_context *context,
                                                  uint64_t address, unsigned char value,
                                                  size_t bytes);

/**
 * Waits for everything that was launched on the device; reports errors of the kernels.
 * @return OK, ARGUMENT, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_device_synchronize(jit_gemm_context *context);

/**
 * Waits for everything that was launched, and counts what an emulated device has found
 * wrong in kernels of this process so far, whichever context launched them: warnings and
 * errors, one for each instruction and kind, printed to standard error as they were found.
 * An error fails the launch as well; after a warning it goes on. A GPU finds nothing.
 * @param[out] ret_count 0 if all was right
 * @return OK, ARGUMENT, NO_DRIVER, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_device_findings(jit_gemm_context *context,
                                                      uint64_t *ret_count);

/**
 * Creates a timer: two device events.
 * @return OK, ARGUMENT, NO_DRIVER, DEVICE, NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status jit_gemm_timer_create(jit_gemm_context *context,
                                                   jit_gemm_timer **ret_timer);

/**
 * Records the beginning on a stream.
 * @return OK, ARGUMENT, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_timer_start(jit_gemm_timer *timer, void *stream);

/**
 * Records the end on a stream.
 * @return OK, ARGUMENT, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_timer_stop(jit_gemm_timer *timer, void *stream);

/**
 * Waits for the end and gives the time between, in microseconds.
 * @return OK, ARGUMENT, DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_timer_elapsed_us(jit_gemm_timer *timer,
                                                       double *ret_us);

/** Destroys a timer and sets the pointer to NULL. Accepts NULL. Destroy it before its
 * context. */
JIT_GEMM_API void jit_gemm_timer_destroy(jit_gemm_timer **timer);

#ifdef __cplusplus
}
#endif

#endif
