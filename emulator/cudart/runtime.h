/* SPDX-License-Identifier: MIT */
/*
 * What the files of the runtime offer each other. The runtime is libcudart.so.13 over the
 * emulator's driver: each call finds the context, maps what it was given, and calls down.
 */
#ifndef EMU_CUDART_RUNTIME_H
#define EMU_CUDART_RUNTIME_H

#include <cuda.h>
#include <stdbool.h>
/* The runtime's prototypes for C; those of its header say what each call does. */
#include <cuda_runtime_api.h>

#define RT_EXPORT __attribute__((visibility("default")))

/* The error of the runtime for one of the driver, kept for cudaGetLastError. */
cudaError_t rt_keep(CUresult result);
/* Says on standard error why something is refused, and keeps the error. */
__attribute__((format(printf, 2, 3))) cudaError_t rt_refuse(cudaError_t error,
                                                            const char *format, ...);

/* Makes the driver ready, and a context current: that of the program if it made one, else
 * the primary one of the device that the thread chose. */
CUresult rt_enter(void);
/* As rt_enter, with the current context. */
CUresult rt_enter_context(CUcontext *ret_context);

/* The program's number of a device. */
int rt_ordinal(CUdevice device);

/* The driver's function for the address that stands for a kernel on the host, for a handle
 * of cudaGetKernel, or for one of cudaGetFuncBySymbol; in the current context. */
CUresult rt_find_function(const void *host, CUfunction *ret_function);
/* Address and size of a variable, by the address that stands for it on the host. */
CUresult rt_find_variable(const void *host, CUdeviceptr *ret_address, size_t *ret_bytes);
/* Forgets modules of a context that is gone. */
void rt_forget_context(CUcontext context);

#endif
