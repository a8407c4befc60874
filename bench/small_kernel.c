/* SPDX-License-Identifier: MIT */
#include "small_kernel.h"

#include <nvrtc.h>
#include <stdlib.h>

#include "dynlib.h"

struct nvrtc_functions {
    nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int,
                          const char *const *, const char *const *);
    nvrtcResult (*destroy)(nvrtcProgram *);
    nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
    nvrtcResult (*get_cubin_size)(nvrtcProgram, size_t *);
    nvrtcResult (*get_cubin)(nvrtcProgram, char *);
    nvrtcResult (*get_log_size)(nvrtcProgram, size_t *);
    nvrtcResult (*get_log)(nvrtcProgram, char *);
    const char *(*get_error_string)(nvrtcResult);
};

static int open_nvrtc(const char *path, struct nvrtc_functions *ret_nvrtc,
                      char error[BENCH_ERROR_SIZE])
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                        NULL};
    const struct dynlib_search search = {
        .what = "NVRTC", .path = path, .variable = "JIT_GEMM_NVRTC", .names = names};
    char found[DYNLIB_PATH_SIZE];
    void *library = NULL;
    struct nvrtc_functions nvrtc;
    if (dynlib_open(&search, &library, found, error) != 0 ||
        DYNLIB_SYMBOL(library, "nvrtcCreateProgram", nvrtc.create, error) != 0 ||
        DYNLIB_SYMBOL(library, "nvrtcDestroyProgram", nvrtc.destroy, error) != 0 ||
        DYNLIB_SYMBOL(library, "nvrtcCompileProgram", nvrtc.compile, error) != 0 ||
        DYNLIB_SYMBOL(library, "nvrtcGetCUBINSize", nvrtc.get_cubin_size, error) != 0 ||
        DYNLIB_SYMBOL(library, "nvrtcGetCUBIN", nvrtc.get_cubin, error) != 0 ||
        DYNLIB_SYMBOL(library, "nvrtcGetProgramLogSize", nvrtc.get_log_size, error) != 0 ||
        DYNLIB_SYMBOL(library, "nvrtcGetProgramLog", nvrtc.get_log, error) != 0 ||
        DYNLIB_SYMBOL(library, "nvrtcGetErrorString", nvrtc.get_error_string, error) != 0) {
        return -1;
    }
    *ret_nvrtc = nvrtc;
    return 0;
}

static int fail_with_log(const struct nvrtc_functions *nvrtc, nvrtcProgram program,
                         nvrtcResult result, char error[BENCH_ERROR_SIZE])
{
    size_t size = 0;
    char *log = NULL;
    if (nvrtc->get_log_size(program, &size) == NVRTC_SUCCESS && size > 1) {
        log = calloc(size + 1, 1);
    }
    if (log != NULL && nvrtc->get_log(program, log) != NVRTC_SUCCESS) {
        log[0] = '\0';
    }
    bench_fail(error, "NVRTC: %s%s%s", nvrtc->get_error_string(result),
               log != NULL ? ": " : "", log != NULL ? log : "");
    free(log);
    return -1;
}

/* Compiles the program; the caller frees the cubin. */
static int make_cubin(const struct nvrtc_functions *nvrtc, nvrtcProgram program,
                      const char *const options[2], void **ret_cubin,
                      char error[BENCH_ERROR_SIZE])
{
    nvrtcResult result = nvrtc->compile(program, 2, options);
    if (result != NVRTC_SUCCESS) {
        return fail_with_log(nvrtc, program, result, error);
    }
    size_t size = 0;
    result = nvrtc->get_cubin_size(program, &size);
    if (result != NVRTC_SUCCESS || size == 0) {
        return bench_fail(error, "NVRTC: no machine code: %s",
                          nvrtc->get_error_string(result));
    }
    void *cubin = malloc(size);
    if (cubin == NULL) {
        return bench_fail(error, "out of memory");
    }
    result = nvrtc->get_cubin(program, cubin);
    if (result != NVRTC_SUCCESS) {
        free(cubin);
        return bench_fail(error, "NVRTC: %s", nvrtc->get_error_string(result));
    }
    *ret_cubin = cubin;
    return 0;
}

/* For the architecture `sm_<major><minor>`; the caller frees the cubin. */
static int compile_source(const char *nvrtc_path, const char *source, int cc_major,
                          int cc_minor, void **ret_cubin, char error[BENCH_ERROR_SIZE])
{
    struct nvrtc_functions nvrtc;
    if (open_nvrtc(nvrtc_path, &nvrtc, error) != 0) {
        return -1;
    }
    char arch[64];
    snprintf(arch, sizeof(arch), "--gpu-architecture=sm_%d%d", cc_major, cc_minor);
    const char *const options[2] = {arch, "-std=c++17"};
    nvrtcProgram program = NULL;
    const nvrtcResult result =
        nvrtc.create(&program, source, "bench_kernel.cu", 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) {
        return bench_fail(error, "NVRTC: %s", nvrtc.get_error_string(result));
    }
    const int status = make_cubin(&nvrtc, program, options, ret_cubin, error);
    nvrtc.destroy(&program);
    return status;
}

int small_kernel_load(const struct cuda_driver *driver, const char *nvrtc_path,
                      const char *source, const char *entry,
                      struct small_kernel *ret_kernel, char error[BENCH_ERROR_SIZE])
{
    void *cubin = NULL;
    if (compile_source(nvrtc_path, source, driver->cc_major, driver->cc_minor, &cubin,
                       error) != 0) {
        return -1;
    }
    struct small_kernel kernel = {0};
    int status = cuda_driver_check(driver, driver->module_load_data(&kernel.module, cubin),
                                   "cuModuleLoadData", error);
    free(cubin);
    if (status != 0) {
        return -1;
    }
    status = cuda_driver_check(
        driver, driver->module_get_function(&kernel.function, kernel.module, entry),
        "cuModuleGetFunction", error);
    if (status != 0) {
        driver->module_unload(kernel.module);
        return -1;
    }
    *ret_kernel = kernel;
    return 0;
}

void small_kernel_unload(const struct cuda_driver *driver, struct small_kernel *kernel)
{
    if (kernel->module != NULL) {
        driver->module_unload(kernel->module);
        kernel->module = NULL;
        kernel->function = NULL;
    }
}
