/* SPDX-License-Identifier: MIT */
/* One device: its facts, and its primary context, kept while anyone holds the device. */
#ifndef JG_CUDA_DEVICE_H
#define JG_CUDA_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/device_facts.h"
#include "cuda/driver.h"

struct jg_device {
    atomic_int references;
    struct jg_driver *driver; /* owned */
    CUdevice handle;
    int ordinal;
    CUcontext primary;
    struct jg_device_facts facts;
};

/* How many devices the driver sees. DEVICE, also if there is none. */
jit_gemm_status jg_device_count(const struct jg_driver *driver, int *ret_count);
/* Facts of a device that is not opened by it. `ordinal` is below the count. DEVICE. */
jit_gemm_status jg_device_read_facts(const struct jg_driver *driver, int ordinal,
                                     struct jg_device_facts *ret_facts);

/*
 * Opens a device and retains its primary context; nothing becomes current. Takes the
 * driver over, on success only. ARGUMENT (no such ordinal), DEVICE, NO_MEMORY.
 */
jit_gemm_status jg_device_open(struct jg_driver *driver, int ordinal,
                               struct jg_device **ret_device);
struct jg_device *jg_device_retain(struct jg_device *device);
/* The last holder releases the primary context and closes the driver. Accepts NULL. */
void jg_device_release(struct jg_device *device);

/*
 * Makes the primary context current if the thread has none, as the CUDA runtime does, or
 * has one of another device, which `ret_previous` is then; give it to jg_device_leave. In
 * another context of this device nothing changes. DEVICE.
 */
jit_gemm_status jg_device_visit(const struct jg_device *device, CUcontext *ret_previous);
/* The same for who was refused with CUDA_ERROR_INVALID_CONTEXT or _HANDLE: true if
 * something changed, so that another try is worth it. Records no error. */
bool jg_device_adopt(const struct jg_device *device, CUcontext *ret_previous);
/*
 * Makes the primary context current, whatever was; give `ret_previous` back to
 * jg_device_leave. A thread that had none keeps the primary one. DEVICE.
 */
jit_gemm_status jg_device_enter(const struct jg_device *device, CUcontext *ret_previous);
void jg_device_leave(const struct jg_device *device, CUcontext previous);

#endif
