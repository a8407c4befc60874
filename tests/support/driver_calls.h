/* SPDX-License-Identifier: MIT */
/* What programs call of the driver beside the library, which needs none of it. */
#ifndef JG_TESTS_DRIVER_CALLS_H
#define JG_TESTS_DRIVER_CALLS_H

#include <cuda.h>
#include <stdbool.h>

struct driver_calls {
    CUresult (*device_get)(CUdevice *, int);
    CUresult (*primary_retain)(CUcontext *, CUdevice);
    CUresult (*ctx_set_current)(CUcontext);
    CUresult (*ctx_get_current)(CUcontext *);
    CUresult (*pointer_attribute)(void *, CUpointer_attribute, CUdeviceptr);
    CUresult (*module_load)(CUmodule *, const void *);
    CUresult (*get_function)(CUfunction *, CUmodule, const char *);
    CUresult (*launch)(const CUlaunchConfig *, CUfunction, void **, void **);
    CUresult (*stream_create)(CUstream *, unsigned int);
    CUresult (*stream_synchronize)(CUstream);
    /* NULL of the emulator, which has no graphs. */
    CUresult (*ctx_create)(CUcontext *, CUctxCreateParams *, unsigned int, CUdevice);
    CUresult (*begin_capture)(CUstream, CUstreamCaptureMode);
    CUresult (*end_capture)(CUstream, CUgraph *);
    CUresult (*instantiate)(CUgraphExec *, CUgraph, unsigned long long);
    CUresult (*graph_launch)(CUgraphExec, CUstream);
};

/* Ends the program with what failed, and the library's last error, if `condition` is false.
 */
void need(bool condition, const char *what);

/* Of the driver at `path`; ends the program if it is none. */
void driver_calls_open(const char *path, bool is_emulated, struct driver_calls *ret_calls);

/* Makes the primary context of a device the thread's. */
void driver_calls_make_current(const struct driver_calls *calls, int ordinal);

#endif
