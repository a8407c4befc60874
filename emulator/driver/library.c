/* SPDX-License-Identifier: MIT */
/* Libraries and their kernels: code that belongs to no context until it is used in one. */
#include <string.h>

#include "driver/driver.h"

#include "exec/decode.h"

static CUresult load_library(CUlibrary *ret_library, const void *code,
                             unsigned option_count, const CUjit_option *options,
                             void **values)
{
    struct emu_image *image = NULL;
    CUcontext context = emu_context_current();
    CUresult result =
        emu_image_load("cuLibraryLoadData", code, context == NULL ? NULL : context->device,
                       option_count, options, values, &image);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    CUlibrary library = emu_object_create(sizeof(*library), EMU_KIND_LIBRARY, NULL);
    library->image = image;
    *ret_library = library;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuLibraryLoadData(
    CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
    unsigned int numJitOptions,
    /* NOLINTNEXTLINE(readability-non-const-parameter): as NVIDIA declares it */
    CUlibraryOption *libraryOptions, void **libraryOptionValues,
    unsigned int numLibraryOptions)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS &&
        (library == NULL || (numLibraryOptions > 0 && libraryOptions == NULL))) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    (void)libraryOptionValues;
    for (unsigned i = 0; result == CUDA_SUCCESS && i < numLibraryOptions; i++) {
        /* Both say how the image may be kept, and it is parsed before this returns. */
        if (libraryOptions[i] != CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE &&
            libraryOptions[i] != CU_LIBRARY_BINARY_IS_PRESERVED) {
            result = CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (result == CUDA_SUCCESS) {
        result = load_library(library, code, numJitOptions, jitOptions, jitOptionsValues);
    }
    return emu_leave(result);
}

/* The first module or kernel that belongs to the library, or NULL. */
static struct emu_object *find_of(CUlibrary library, enum emu_kind kind)
{
    struct emu_object *at = emu_driver.alive[kind];
    while (at != NULL && (kind == EMU_KIND_KERNEL ? ((CUkernel)at)->library
                                                  : ((CUmodule)at)->library) != library) {
        at = at->next;
    }
    return at;
}

EMU_EXPORT CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && !emu_object_is_alive(library, EMU_KIND_LIBRARY)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        struct emu_object *part = NULL;
        while ((part = find_of(library, EMU_KIND_MODULE)) != NULL) {
            emu_module_free((CUmodule)part);
        }
        while ((part = find_of(library, EMU_KIND_KERNEL)) != NULL) {
            emu_object_destroy(part);
        }
        emu_image_release(library->image);
        emu_object_destroy(library);
    }
    return emu_leave(result);
}

/* ---------------------------------------------------------------------------- kernels */

static uint64_t any_address(void *context, uint32_t variable)
{
    (void)context;
    (void)variable;
    return 256;
}

static CUkernel find_kernel(CUlibrary library, const struct ptx_function *ptx)
{
    struct emu_object *at = emu_driver.alive[EMU_KIND_KERNEL];
    while (at != NULL &&
           (((CUkernel)at)->library != library || ((CUkernel)at)->ptx != ptx)) {
        at = at->next;
    }
    return (CUkernel)at;
}

/* A kernel is decoded once without a context: what cannot run is refused here, and the
 * size of its shared memory is known. */
static CUresult get_kernel(CUlibrary library, const char *name, CUkernel *ret_kernel)
{
    struct emu_error error = {0};
    const struct ptx_module *module = library->image->ptx;
    const struct ptx_function *ptx = ptx_find_function(module, name);
    if (ptx == NULL || !ptx->is_entry) {
        return CUDA_ERROR_NOT_FOUND;
    }
    *ret_kernel = find_kernel(library, ptx);
    if (*ret_kernel != NULL) {
        return CUDA_SUCCESS;
    }
    struct emu_program *program =
        emu_program_decode(module, ptx, emu_units, any_address, NULL, &error);
    if (program == NULL) {
        return emu_refuse(CUDA_ERROR_NOT_SUPPORTED, "%s: %s", name, error.text);
    }
    CUkernel kernel = emu_object_create(sizeof(*kernel), EMU_KIND_KERNEL, NULL);
    kernel->library = library;
    kernel->ptx = ptx;
    kernel->static_shared_bytes = program->static_shared_bytes;
    for (unsigned i = 0; i < EMU_DEVICE_COUNT; i++) {
        kernel->settings[i] = emu_function_defaults(program->static_shared_bytes);
    }
    emu_program_free(program);
    *ret_kernel = kernel;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library,
                                               const char *name)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && (pKernel == NULL || name == NULL)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS && !emu_object_is_alive(library, EMU_KIND_LIBRARY)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        result = get_kernel(library, name, pKernel);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS && pFunc == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS && !emu_object_is_alive(kernel, EMU_KIND_KERNEL)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        result = emu_function_find(context, (CUfunction)kernel, pFunc);
    }
    return emu_leave(result);
}

/* Enters with a library and its module in the current context. */
static CUresult enter_library(CUlibrary library, CUmodule *ret_module)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS && !emu_object_is_alive(library, EMU_KIND_LIBRARY)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    return result == CUDA_SUCCESS ? emu_module_of_library(context, library, ret_module)
                                  : result;
}

EMU_EXPORT CUresult CUDAAPI cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    CUmodule module = NULL;
    CUresult result = enter_library(library, &module);
    if (result == CUDA_SUCCESS && pMod == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *pMod = module;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes,
                                               CUlibrary library, const char *name)
{
    CUmodule module = NULL;
    CUresult result = enter_library(library, &module);
    if (result == CUDA_SUCCESS && name == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        result = emu_module_global(module, name, dptr, bytes);
    }
    return emu_leave(result);
}

/* Enters with the facts about a kernel on a device. */
static CUresult enter_kernel(CUkernel kernel, CUdevice dev,
                             struct emu_function_facts *ret_facts)
{
    struct emu_device *device = NULL;
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && !emu_object_is_alive(kernel, EMU_KIND_KERNEL)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        result = emu_device_find(dev, &device);
    }
    if (result == CUDA_SUCCESS) {
        *ret_facts =
            (struct emu_function_facts){.ptx = kernel->ptx,
                                        .module = kernel->library->image->ptx,
                                        .device = device,
                                        .static_shared_bytes = kernel->static_shared_bytes,
                                        .settings = &kernel->settings[dev]};
    }
    return result;
}

EMU_EXPORT CUresult CUDAAPI cuKernelGetAttribute(int *pi, CUfunction_attribute attrib,
                                                 CUkernel kernel, CUdevice dev)
{
    struct emu_function_facts facts;
    CUresult result = enter_kernel(kernel, dev, &facts);
    if (result == CUDA_SUCCESS) {
        result = emu_function_get_attribute(&facts, attrib, pi);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attrib, int val,
                                                 CUkernel kernel, CUdevice dev)
{
    struct emu_function_facts facts;
    CUresult result = enter_kernel(kernel, dev, &facts);
    if (result == CUDA_SUCCESS) {
        result = emu_function_set_attribute(&facts, attrib, val);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel hfunc)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && name == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS && !emu_object_is_alive(hfunc, EMU_KIND_KERNEL)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        *name = hfunc->ptx->name;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex,
                                                 size_t *paramOffset, size_t *paramSize)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && !emu_object_is_alive(kernel, EMU_KIND_KERNEL)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    if (result == CUDA_SUCCESS) {
        result = emu_function_get_param(kernel->ptx, kernel->library->image->ptx,
                                        paramIndex, paramOffset, paramSize);
    }
    return emu_leave(result);
}
