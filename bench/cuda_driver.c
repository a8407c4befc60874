/* SPDX-License-Identifier: MIT */
#include "cuda_driver.h"

#include <stdlib.h>

#include "dynlib.h"

/* A function of the driver, and the pointer that takes its address. */
struct driver_symbol {
    const char *name;
    void *target;
    size_t size;
};

static void load_graph_functions(struct cuda_driver *driver, void *library)
{
    const struct driver_symbol wanted[] = {
        {"cuDeviceGetPCIBusId", (void *)&driver->device_pci_bus_id,
         sizeof(driver->device_pci_bus_id)},
        {"cuStreamCreate", (void *)&driver->stream_create, sizeof(driver->stream_create)},
        {"cuStreamDestroy_v2", (void *)&driver->stream_destroy,
         sizeof(driver->stream_destroy)},
        {"cuStreamBeginCapture_v2", (void *)&driver->begin_capture,
         sizeof(driver->begin_capture)},
        {"cuStreamEndCapture", (void *)&driver->end_capture, sizeof(driver->end_capture)},
        {"cuGraphInstantiateWithFlags", (void *)&driver->graph_instantiate,
         sizeof(driver->graph_instantiate)},
        {"cuGraphLaunch", (void *)&driver->graph_launch, sizeof(driver->graph_launch)},
        {"cuGraphExecDestroy", (void *)&driver->graph_exec_destroy,
         sizeof(driver->graph_exec_destroy)},
        {"cuGraphDestroy", (void *)&driver->graph_destroy, sizeof(driver->graph_destroy)},
    };
    char error[BENCH_ERROR_SIZE];
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        /* calloc made it NULL, and a failure leaves it so. */
        (void)dynlib_symbol(library, wanted[i].name, wanted[i].target, wanted[i].size,
                            error);
    }
}

static int load_functions(struct cuda_driver *driver, void *library,
                          char error[BENCH_ERROR_SIZE])
{
    const struct driver_symbol wanted[] = {
        {"cuInit", (void *)&driver->init, sizeof(driver->init)},
        {"cuGetErrorString", (void *)&driver->get_error_string,
         sizeof(driver->get_error_string)},
        {"cuDeviceGet", (void *)&driver->device_get, sizeof(driver->device_get)},
        {"cuDeviceGetAttribute", (void *)&driver->device_get_attribute,
         sizeof(driver->device_get_attribute)},
        {"cuDevicePrimaryCtxRetain", (void *)&driver->primary_retain,
         sizeof(driver->primary_retain)},
        {"cuDevicePrimaryCtxRelease_v2", (void *)&driver->primary_release,
         sizeof(driver->primary_release)},
        {"cuCtxSetCurrent", (void *)&driver->context_set_current,
         sizeof(driver->context_set_current)},
        {"cuCtxSynchronize", (void *)&driver->context_synchronize,
         sizeof(driver->context_synchronize)},
        {"cuModuleLoadData", (void *)&driver->module_load_data,
         sizeof(driver->module_load_data)},
        {"cuModuleUnload", (void *)&driver->module_unload, sizeof(driver->module_unload)},
        {"cuModuleGetFunction", (void *)&driver->module_get_function,
         sizeof(driver->module_get_function)},
        {"cuFuncSetAttribute", (void *)&driver->function_set_attribute,
         sizeof(driver->function_set_attribute)},
        {"cuLaunchKernelEx", (void *)&driver->launch, sizeof(driver->launch)},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (dynlib_symbol(library, wanted[i].name, wanted[i].target, wanted[i].size,
                          error) != 0) {
            return -1;
        }
    }
    load_graph_functions(driver, library);
    return 0;
}

int cuda_driver_check(const struct cuda_driver *driver, CUresult result, const char *what,
                      char error[BENCH_ERROR_SIZE])
{
    if (result == CUDA_SUCCESS) {
        return 0;
    }
    const char *text = NULL;
    if (driver->get_error_string(result, &text) != CUDA_SUCCESS || text == NULL) {
        text = "unknown error";
    }
    return bench_fail(error, "%s: %s (CUDA error %d)", what, text, (int)result);
}

static int open_device(struct cuda_driver *driver, int device, char error[BENCH_ERROR_SIZE])
{
    if (cuda_driver_check(driver, driver->init(0), "cuInit", error) != 0 ||
        cuda_driver_check(driver, driver->device_get(&driver->device, device),
                          "cuDeviceGet", error) != 0 ||
        cuda_driver_check(driver,
                          driver->device_get_attribute(
                              &driver->cc_major,
                              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, driver->device),
                          "cuDeviceGetAttribute", error) != 0 ||
        cuda_driver_check(driver,
                          driver->device_get_attribute(
                              &driver->cc_minor,
                              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, driver->device),
                          "cuDeviceGetAttribute", error) != 0 ||
        cuda_driver_check(driver, driver->primary_retain(&driver->primary, driver->device),
                          "cuDevicePrimaryCtxRetain", error) != 0) {
        return -1;
    }
    if (cuda_driver_check(driver, driver->context_set_current(driver->primary),
                          "cuCtxSetCurrent", error) != 0) {
        driver->primary_release(driver->device);
        return -1;
    }
    return 0;
}

int cuda_driver_open(int device, struct cuda_driver **ret_driver,
                     char error[BENCH_ERROR_SIZE])
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    const struct dynlib_search search = {
        .what = "CUDA driver", .variable = "JIT_GEMM_DRIVER", .names = names};
    char path[DYNLIB_PATH_SIZE];
    void *library = NULL;
    if (dynlib_open(&search, &library, path, error) != 0) {
        return -1;
    }
    struct cuda_driver *driver = calloc(1, sizeof(*driver));
    if (driver == NULL) {
        return bench_fail(error, "out of memory");
    }
    if (load_functions(driver, library, error) != 0 ||
        open_device(driver, device, error) != 0) {
        free(driver);
        return -1;
    }
    *ret_driver = driver;
    return 0;
}

void cuda_driver_close(struct cuda_driver **driver)
{
    if (driver == NULL || *driver == NULL) {
        return;
    }
    (*driver)->primary_release((*driver)->device);
    free(*driver);
    *driver = NULL;
}
