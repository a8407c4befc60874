/* SPDX-License-Identifier: MIT */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/library_paths.h"

static const char *const usual_names[] = {"libcuda.so.1", "libcuda.so",
                                          "/usr/lib/wsl/lib/libcuda.so.1"};

static const char *text_of_error(const struct jg_driver *driver, CUresult result)
{
    const char *text = NULL;
    if (driver->get_error_string != NULL &&
        driver->get_error_string(result, &text) == CUDA_SUCCESS && text != NULL) {
        return text;
    }
    return "unknown error";
}

static const char *name_of_error(const struct jg_driver *driver, CUresult result)
{
    const char *text = NULL;
    if (driver->get_error_name != NULL &&
        driver->get_error_name(result, &text) == CUDA_SUCCESS && text != NULL) {
        return text;
    }
    return "no name";
}

/* Does a kernel's failure stay with the process? The driver answers every later call so, in
 * contexts that are made later too. */
static bool is_sticky(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
        return true;
    default:
        return false;
    }
}

jit_gemm_status jg_driver_fail(const struct jg_driver *driver, jit_gemm_status status,
                               CUresult result, const char *where, const char *hint)
{
    const jit_gemm_status kind =
        result == CUDA_ERROR_OUT_OF_MEMORY ? JIT_GEMM_ERR_NO_MEMORY : status;
    return jg_fail_system(kind, where, hint, "%s (%s, %d)%s", text_of_error(driver, result),
                          name_of_error(driver, result), (int)result,
                          is_sticky(result)
                              ? ": a kernel has failed, and all calls on this device fail "
                                "from now on; only a new process can go on"
                              : "");
}

/* Opens the first name that works; `tried` collects what each of the others said. A driver
 * has threads, handlers and storage of threads of its own and is not made to be unloaded:
 * it stays in the process, as with the CUDA runtime. */
static void *open_first(const char *const *names, size_t count, struct jg_str *tried,
                        char *path, size_t path_size)
{
    for (size_t i = 0; i < count; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library != NULL) {
            snprintf(path, path_size, "%s", names[i]);
            return library;
        }
        const char *reason = dlerror();
        jg_str_printf(tried, "%s%s", i > 0 ? "; " : "", reason != NULL ? reason : names[i]);
    }
    return NULL;
}

/* The emulator lies where this library does, or where the loader looks. */
static jit_gemm_status open_emulator(struct jg_driver *driver, const char *where)
{
    static const char *const file_name = "libjit_gemm_emulator.so";
    const struct jg_library_names names = {.names = &file_name, .count = 1};
    struct jg_library_paths paths;
    JG_TRY(jg_library_paths_companion(&names, JG_DRIVER_EMULATOR, &paths));
    struct jg_str tried = {0};
    driver->library = open_first((const char *const *)paths.paths, paths.count, &tried,
                                 driver->path, sizeof(driver->path));
    jit_gemm_status status = JIT_GEMM_OK;
    if (driver->library == NULL) {
        status = jg_fail_system(JIT_GEMM_ERR_NO_DRIVER, where,
                                "build and install jit_gemm with its emulator, or give the "
                                "path of the emulator's library",
                                "the emulator cannot be opened (tried: %s); looked in %s",
                                jg_str_text(&tried), jg_str_text(&paths.searched));
    }
    jg_str_free(&tried);
    jg_library_paths_free(&paths);
    return status;
}

/* What was asked for, and by what. */
struct wish {
    const char *named; /* a path or JG_DRIVER_EMULATOR; NULL: the usual names */
    const char *where;
};

static struct wish read_wish(const char *path, const char *environment)
{
    if (path != NULL && path[0] != '\0') {
        return (struct wish){path, "options.driver"};
    }
    if (environment != NULL && environment[0] != '\0') {
        return (struct wish){environment, "JIT_GEMM_DRIVER"};
    }
    return (struct wish){NULL, "driver"};
}

static bool wants_emulator(const struct wish *wish)
{
    return wish->named != NULL && strcmp(wish->named, JG_DRIVER_EMULATOR) == 0;
}

static jit_gemm_status open_library(struct jg_driver *driver, const struct wish *wish)
{
    const char *hint = "install the NVIDIA driver, or name its library with options.driver "
                       "or JIT_GEMM_DRIVER";
    const char *const *names = usual_names;
    size_t count = sizeof(usual_names) / sizeof(usual_names[0]);
    if (wants_emulator(wish)) {
        return open_emulator(driver, wish->where);
    }
    if (wish->named != NULL) {
        names = &wish->named;
        count = 1;
        hint = "name a driver library that can be opened, or none";
    }
    struct jg_str tried = {0};
    driver->library = open_first(names, count, &tried, driver->path, sizeof(driver->path));
    jit_gemm_status status = JIT_GEMM_OK;
    if (driver->library == NULL) {
        status = jg_fail_system(JIT_GEMM_ERR_NO_DRIVER, wish->where, hint,
                                "the CUDA driver cannot be opened (tried: %s)",
                                jg_str_text(&tried));
    }
    jg_str_free(&tried);
    return status;
}

/* The address of a symbol as a function pointer: ISO C forbids the cast, so the bits are
 * copied. */
static bool copy_symbol(void *library, const char *name, void *ret_pointer)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        return false;
    }
    memcpy(ret_pointer, &symbol, sizeof(symbol));
    return true;
}

static jit_gemm_status fail_too_old(const struct jg_driver *driver)
{
    return jg_fail_system(JIT_GEMM_ERR_NO_DRIVER, "driver", "update the NVIDIA driver",
                          "%s is for CUDA %d.%d, which is too old: %d.%d is needed",
                          driver->path, driver->version / 1000, driver->version % 1000 / 10,
                          JG_DRIVER_VERSION_MIN / 1000, JG_DRIVER_VERSION_MIN % 1000 / 10);
}

/* The version comes first: an old driver lacks entry points, and its age is the better
 * message. */
static jit_gemm_status find_entry_points(struct jg_driver *driver)
{
    if (copy_symbol(driver->library, "cuDriverGetVersion", &driver->driver_get_version) &&
        (driver->driver_get_version(&driver->version) != CUDA_SUCCESS ||
         driver->version < JG_DRIVER_VERSION_MIN)) {
        return fail_too_old(driver);
    }
    const char *missing = NULL;
#define JG_DRIVER_FIND(member, name, parameters)                                   \
    if (!copy_symbol(driver->library, name, &driver->member) && missing == NULL) { \
        missing = name;                                                            \
    }
    JG_DRIVER_ENTRY_POINTS(JG_DRIVER_FIND)
#undef JG_DRIVER_FIND
    if (missing != NULL) {
        return jg_fail_system(JIT_GEMM_ERR_NO_DRIVER, "driver",
                              "name a CUDA driver of version 12.8 or newer",
                              "%s has no function %s", driver->path, missing);
    }
    return JIT_GEMM_OK;
}

/* A kind that is not known here is no reason to try the other one. */
static jit_gemm_status read_code_kind(struct jg_driver *driver, const struct wish *wish)
{
    const char *(*module_format)(void) = NULL;
    const char *format = "cubin";
    if (copy_symbol(driver->library, "emuModuleFormat", &module_format)) {
        format = module_format();
    }
    if (format == NULL || (strcmp(format, "cubin") != 0 && strcmp(format, "ptx") != 0)) {
        return jg_fail_system(JIT_GEMM_ERR_NO_DRIVER, wish->where,
                              "the emulator and this library must be of one version",
                              "%s takes code of the form '%s', which is not made here",
                              driver->path, format != NULL ? format : "");
    }
    driver->takes_ptx = strcmp(format, "ptx") == 0;
    (void)copy_symbol(driver->library, "emuCountFindings", &driver->count_findings);
    if (wants_emulator(wish) && !driver->takes_ptx) {
        return jg_fail_system(JIT_GEMM_ERR_NO_DRIVER, wish->where,
                              "build and install jit_gemm with its emulator",
                              "%s is not the emulator: it does not take PTX", driver->path);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status start_driver(struct jg_driver *driver)
{
    const CUresult result = driver->init(0);
    if (result == CUDA_ERROR_NO_DEVICE) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_DEVICE, result, "cuInit",
                              "no GPU is visible: see CUDA_VISIBLE_DEVICES, nvidia-smi");
    }
    if (result == CUDA_ERROR_NOT_INITIALIZED) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_NO_DRIVER, result, "cuInit",
                              "a child of fork cannot use its parent's driver: exec first");
    }
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(driver, JIT_GEMM_ERR_NO_DRIVER, result, "cuInit",
                              "see whether nvidia-smi works on this machine");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status open_wished(struct jg_driver *driver, const struct wish *wish)
{
    JG_TRY(open_library(driver, wish));
    JG_TRY(find_entry_points(driver));
    JG_TRY(read_code_kind(driver, wish));
    return start_driver(driver);
}

jit_gemm_status jg_driver_open(const char *path, const char *environment,
                               struct jg_driver **ret_driver)
{
    struct jg_driver *driver = jg_alloc(sizeof(*driver));
    if (driver == NULL) {
        return jg_fail_memory();
    }
    const struct wish wish = read_wish(path, environment);
    const jit_gemm_status status = open_wished(driver, &wish);
    if (status != JIT_GEMM_OK) {
        jg_driver_close(driver);
        return status;
    }
    *ret_driver = driver;
    return JIT_GEMM_OK;
}

/* The library stays: see open_first. */
void jg_driver_close(struct jg_driver *driver)
{
    if (driver == NULL) {
        return;
    }
    if (driver->library != NULL) {
        dlclose(driver->library);
    }
    jg_free(driver);
}
