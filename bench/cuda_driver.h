/* SPDX-License-Identifier: MIT */
/* The few driver functions that the benchmarks call beside the library. */
#ifndef BENCH_CUDA_DRIVER_H
#define BENCH_CUDA_DRIVER_H

#include <cuda.h>

#include "bench_util.h"

struct cuda_driver {
    CUdevice device;
    CUcontext primary; /* retained, and current on the thread that opened it */
    int cc_major, cc_minor;

    CUresult (*init)(unsigned);
    CUresult (*get_error_string)(CUresult, const char **);
    CUresult (*device_get)(CUdevice *, int);
    CUresult (*device_get_attribute)(int *, CUdevice_attribute, CUdevice);
    CUresult (*primary_retain)(CUcontext *, CUdevice);
    CUresult (*primary_release)(CUdevice);
    CUresult (*context_set_current)(CUcontext);
    CUresult (*context_synchronize)(void);
    CUresult (*module_load_data)(CUmodule *, const void *);
    CUresult (*module_unload)(CUmodule);
    CUresult (*module_get_function)(CUfunction *, CUmodule, const char *);
    CUresult (*function_set_attribute)(CUfunction, CUfunction_attribute, int);
    CUresult (*launch)(const CUlaunchConfig *, CUfunction, void **, void **);

    /* NULL where the driver lacks them. */
    CUresult (*device_pci_bus_id)(char *, int, CUdevice);
    CUresult (*stream_create)(CUstream *, unsigned);
    CUresult (*stream_destroy)(CUstream);
    CUresult (*begin_capture)(CUstream, CUstreamCaptureMode);
    CUresult (*end_capture)(CUstream, CUgraph *);
    CUresult (*graph_instantiate)(CUgraphExec *, CUgraph, unsigned long long);
    CUresult (*graph_launch)(CUgraphExec, CUstream);
    CUresult (*graph_exec_destroy)(CUgraphExec);
    CUresult (*graph_destroy)(CUgraph);
};

/*
 * Opens the driver (JIT_GEMM_DRIVER, then libcuda.so.1) and makes the primary context of
 * the device current on this thread.
 */
int cuda_driver_open(int device, struct cuda_driver **ret_driver,
                     char error[BENCH_ERROR_SIZE]);

/* Releases the context and sets the pointer to NULL. Accepts NULL. */
void cuda_driver_close(struct cuda_driver **driver);

/* Returns 0 for CUDA_SUCCESS, otherwise writes what failed and why. */
int cuda_driver_check(const struct cuda_driver *driver, CUresult result, const char *what,
                      char error[BENCH_ERROR_SIZE]);

#endif
