/* SPDX-License-Identifier: MIT */
#include "driver_calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/jit_gemm.h"

void need(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "failed: %s; last error: %s\n", what, jit_gemm_last_error());
        exit(1);
    }
}

static void find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    need(symbol != NULL, name);
    memcpy(ret_function, &symbol, sizeof(symbol));
}

void driver_calls_open(const char *path, bool is_emulated, struct driver_calls *ret_calls)
{
    void *library = dlopen(path, RTLD_NOW);
    need(library != NULL, path);
    *ret_calls = (struct driver_calls){0};
    find(library, "cuDeviceGet", &ret_calls->device_get);
    find(library, "cuDevicePrimaryCtxRetain", &ret_calls->primary_retain);
    find(library, "cuCtxSetCurrent", &ret_calls->ctx_set_current);
    find(library, "cuCtxGetCurrent", &ret_calls->ctx_get_current);
    find(library, "cuPointerGetAttribute", &ret_calls->pointer_attribute);
    find(library, "cuModuleLoadData", &ret_calls->module_load);
    find(library, "cuModuleGetFunction", &ret_calls->get_function);
    find(library, "cuLaunchKernelEx", &ret_calls->launch);
    find(library, "cuStreamCreate", &ret_calls->stream_create);
    find(library, "cuStreamSynchronize", &ret_calls->stream_synchronize);
    if (!is_emulated) {
        find(library, "cuCtxCreate_v4", &ret_calls->ctx_create);
        find(library, "cuStreamBeginCapture_v2", &ret_calls->begin_capture);
        find(library, "cuStreamEndCapture", &ret_calls->end_capture);
        find(library, "cuGraphInstantiateWithFlags", &ret_calls->instantiate);
        find(library, "cuGraphLaunch", &ret_calls->graph_launch);
    }
}

void driver_calls_make_current(const struct driver_calls *calls, int ordinal)
{
    CUdevice device;
    CUcontext primary;
    need(calls->device_get(&device, ordinal) == CUDA_SUCCESS, "device");
    need(calls->primary_retain(&primary, device) == CUDA_SUCCESS, "primary context");
    need(calls->ctx_set_current(primary) == CUDA_SUCCESS, "current context");
}
