/* SPDX-License-Identifier: MIT */
/* Runs cases through the CUDA driver API. */
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

/* member, exported name, parameters */
#define NEEDED(X)                                                                         \
    X(init, "cuInit", (unsigned int))                                                     \
    X(driver_version, "cuDriverGetVersion", (int *))                                      \
    X(device_count, "cuDeviceGetCount", (int *))                                          \
    X(device_get, "cuDeviceGet", (CUdevice *, int))                                       \
    X(device_name, "cuDeviceGetName", (char *, int, CUdevice))                            \
    X(device_attribute, "cuDeviceGetAttribute", (int *, CUdevice_attribute, CUdevice))    \
    X(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                        \
    X(context_set, "cuCtxSetCurrent", (CUcontext))                                        \
    X(synchronize, "cuCtxSynchronize", (void))                                            \
    X(module_load, "cuModuleLoadData", (CUmodule *, const void *))                        \
    X(module_unload, "cuModuleUnload", (CUmodule))                                        \
    X(module_function, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))     \
    X(launch, "cuLaunchKernelEx",                                                         \
      (const CUlaunchConfig *, CUfunction, void **parameters, void **extra))              \
    X(mem_alloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                \
    X(mem_free, "cuMemFree_v2", (CUdeviceptr))                                            \
    X(to_device, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))                  \
    X(to_host, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))                          \
    X(encode_tiled, "cuTensorMapEncodeTiled",                                             \
      (CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,        \
       const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, \
       CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))
/* Only for better messages and for going on after a fault. */
#define OPTIONAL(X)                                                      \
    X(error_name, "cuGetErrorName", (CUresult, const char **))           \
    X(module_load_ex, "cuModuleLoadDataEx",                              \
      (CUmodule *, const void *, unsigned int, CUjit_option *, void **)) \
    X(context_reset, "cuDevicePrimaryCtxReset_v2", (CUdevice))

struct gold_device {
    void *library;
#define MEMBER(member, name, parameters) CUresult(*member) parameters;
    NEEDED(MEMBER)
    OPTIONAL(MEMBER)
#undef MEMBER
    CUdevice device;
    bool usable;
    char text[160];
    char *ptx; /* of the loaded module, NULL: none; cases that share their text share it */
    CUmodule module;
    CUfunction function;
};

/* The buffers of one run. */
struct buffers {
    CUdeviceptr input, output;
    size_t output_bytes;
};

static bool find_symbols(struct gold_device *device, const char *path)
{
    void *found;

    device->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (device->library == NULL) {
        fprintf(stderr, "emu_golden: %s\n", dlerror());
        return false;
    }
/* A data pointer becomes a function pointer by its bytes, as POSIX has it. */
#define FIND(member, name, parameters)    \
    found = dlsym(device->library, name); \
    memcpy(&device->member, &found, sizeof(found));
#define FIND_NEEDED(member, name, parameters)                      \
    FIND(member, name, parameters)                                 \
    if (found == NULL) {                                           \
        fprintf(stderr, "emu_golden: %s has no %s\n", path, name); \
        return false;                                              \
    }
    NEEDED(FIND_NEEDED)
    OPTIONAL(FIND)
#undef FIND_NEEDED
#undef FIND
    return true;
}

static const char *name_error(const struct gold_device *device, CUresult result)
{
    const char *name = NULL;

    if (device->error_name == NULL || device->error_name(result, &name) != CUDA_SUCCESS) {
        name = NULL;
    }
    return name == NULL ? "an error without a name" : name;
}

static bool find_device(struct gold_device *device, int ordinal)
{
    int count = 0, major = 0, minor = 0, i;

    if (device->device_count(&count) != CUDA_SUCCESS) {
        count = 0;
    }
    for (i = 0; i < count; i++) {
        if (ordinal >= 0 && i != ordinal) {
            continue;
        }
        if (device->device_get(&device->device, i) != CUDA_SUCCESS ||
            device->device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                     device->device) != CUDA_SUCCESS ||
            device->device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                     device->device) != CUDA_SUCCESS) {
            continue;
        }
        if (major == 9 && minor == 0) {
            return true;
        }
    }
    fprintf(stderr, "emu_golden: no device of compute capability 9.0 among %d\n", count);
    return false;
}

static bool enter_context(struct gold_device *device)
{
    CUcontext context = NULL;
    CUresult result = device->context_retain(&context, device->device);

    if (result == CUDA_SUCCESS) {
        result = device->context_set(context);
    }
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "emu_golden: no context: %s\n", name_error(device, result));
    }
    device->usable = result == CUDA_SUCCESS;
    return device->usable;
}

struct gold_device *gold_device_open(const char *driver_path, int ordinal)
{
    struct gold_device *device = gold_alloc(sizeof(*device));
    char name[100] = "";
    int version = 0;

    if (!find_symbols(device, driver_path)) {
        free(device);
        return NULL;
    }
    CUresult result = device->init(0);
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "emu_golden: cuInit: %s\n", name_error(device, result));
        free(device);
        return NULL;
    }
    if (!find_device(device, ordinal) || !enter_context(device)) {
        free(device);
        return NULL;
    }
    if (device->device_name(name, (int)sizeof(name), device->device) != CUDA_SUCCESS ||
        device->driver_version(&version) != CUDA_SUCCESS) {
        fprintf(stderr, "emu_golden: the device tells no name or version\n");
    }
    snprintf(device->text, sizeof(device->text), "%s, driver %d", name, version);
    return device;
}

const char *gold_device_text(const struct gold_device *device)
{
    return device->text;
}

bool gold_device_usable(const struct gold_device *device)
{
    return device->usable;
}

static void drop_module(struct gold_device *device)
{
    if (device->ptx == NULL) {
        return;
    }
    if (device->usable) {
        device->module_unload(device->module);
    }
    free(device->ptx);
    device->ptx = NULL;
}

/* After a fault every call in the context fails: leave it and make a new one. */
static void renew_context(struct gold_device *device)
{
    device->usable = false;
    drop_module(device);
    device->context_set(NULL);
    if (device->context_reset != NULL) {
        device->context_reset(device->device);
    }
    device->context_release(device->device);
    enter_context(device);
}

void gold_device_close(struct gold_device *device)
{
    drop_module(device);
    device->context_set(NULL);
    device->context_release(device->device);
    free(device);
}

static bool load_ptx(struct gold_device *device, const char *ptx, char *error, size_t room)
{
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof(log) - 1)};
    CUresult result;

    if (device->ptx != NULL && strcmp(device->ptx, ptx) == 0) {
        return true;
    }
    drop_module(device);
    if (device->module_load_ex != NULL) {
        result = device->module_load_ex(&device->module, ptx, 2, options, values);
    } else {
        result = device->module_load(&device->module, ptx);
    }
    if (result != CUDA_SUCCESS) {
        snprintf(error, room, "the PTX did not load: %s\n%s", name_error(device, result),
                 log);
        return false;
    }
    result = device->module_function(&device->function, device->module, "run");
    if (result != CUDA_SUCCESS) {
        snprintf(error, room, "the module has no entry: %s", name_error(device, result));
        device->module_unload(device->module);
        return false;
    }
    device->ptx = gold_alloc(strlen(ptx) + 1);
    memcpy(device->ptx, ptx, strlen(ptx));
    return true;
}

static CUresult fill_buffers(struct gold_device *device, const struct gold_case *one,
                             struct buffers *buffers)
{
    CUresult result = CUDA_SUCCESS;

    buffers->output_bytes = (size_t)one->items * one->item_bytes;
    void *first = gold_alloc(buffers->output_bytes);
    if (one->initial == NULL) {
        memset(first, 0xA5, buffers->output_bytes);
    } else {
        memcpy(first, one->initial, buffers->output_bytes);
    }
    if (one->input_bytes > 0) {
        result = device->mem_alloc(&buffers->input, one->input_bytes);
    }
    if (result == CUDA_SUCCESS) {
        result = device->mem_alloc(&buffers->output, buffers->output_bytes);
    }
    if (result == CUDA_SUCCESS && one->input_bytes > 0) {
        result = device->to_device(buffers->input, one->input, one->input_bytes);
    }
    if (result == CUDA_SUCCESS) {
        result = device->to_device(buffers->output, first, buffers->output_bytes);
    }
    free(first);
    return result;
}

static CUresult encode_map(struct gold_device *device, const struct gold_map *map,
                           const struct buffers *buffers, CUtensorMap *encoded)
{
    CUdeviceptr base = (map->on_output ? buffers->output : buffers->input) + map->offset;
    cuuint64_t dims[5], strides[4];

    for (unsigned i = 0; i < 5; i++) {
        dims[i] = map->dims[i];
    }
    for (unsigned i = 0; i < 4; i++) {
        strides[i] = map->strides[i];
    }
    return device->encode_tiled(
        encoded, (CUtensorMapDataType)map->type, map->rank, (void *)(uintptr_t)base, dims,
        strides, map->box, map->element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
        (CUtensorMapSwizzle)map->swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        (CUtensorMapFloatOOBfill)map->fill);
}

static CUresult launch(struct gold_device *device, const struct gold_case *one,
                       struct buffers *buffers, CUtensorMap *maps)
{
    CUlaunchAttribute cluster;
    CUlaunchConfig config;
    uint32_t count = one->count;
    void *parameters[3 + GOLD_MAPS] = {&buffers->input, &buffers->output, &count};

    for (unsigned i = 0; i < one->map_count; i++) {
        parameters[3 + i] = &maps[i];
    }
    memset(&cluster, 0, sizeof(cluster));
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = one->cluster;
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    memset(&config, 0, sizeof(config));
    config.gridDimX = one->grid;
    config.blockDimX = one->block;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = one->shared_bytes;
    config.attrs = &cluster;
    config.numAttrs = one->cluster > 1 ? 1 : 0;
    return device->launch(&config, device->function, parameters, NULL);
}

bool gold_device_run(struct gold_device *device, const struct gold_case *one, void *output,
                     char *error, size_t error_bytes)
{
    struct buffers buffers = {0, 0, 0};
    CUtensorMap maps[GOLD_MAPS];
    const char *step = "memory";

    if (!load_ptx(device, one->ptx, error, error_bytes)) {
        return false;
    }
    memset(maps, 0, sizeof(maps));
    CUresult result = fill_buffers(device, one, &buffers);
    for (unsigned i = 0; i < one->map_count && result == CUDA_SUCCESS; i++) {
        step = "cuTensorMapEncodeTiled";
        result = encode_map(device, &one->maps[i], &buffers, &maps[i]);
    }
    if (result == CUDA_SUCCESS) {
        step = "launch";
        result = launch(device, one, &buffers, maps);
    }
    if (result == CUDA_SUCCESS) {
        step = "execution";
        result = device->synchronize();
    }
    if (result == CUDA_SUCCESS) {
        step = "copy of the output";
        result = device->to_host(output, buffers.output, buffers.output_bytes);
    }
    if (result != CUDA_SUCCESS) {
        snprintf(error, error_bytes, "%s: %s", step, name_error(device, result));
    }
    if (buffers.input != 0) {
        device->mem_free(buffers.input);
    }
    if (buffers.output != 0) {
        device->mem_free(buffers.output);
    }
    if (result != CUDA_SUCCESS && device->synchronize() != CUDA_SUCCESS) {
        renew_context(device);
    }
    return result == CUDA_SUCCESS;
}
