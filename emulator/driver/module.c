/* SPDX-License-Identifier: MIT */
/* Modules: an image in a context, with its variables in the device's memory. */
#include <string.h>

#include "driver/driver.h"

static bool is_global(const struct ptx_variable *variable)
{
    return variable->space == PTX_GLOBAL || variable->space == PTX_CONST;
}

/* Puts addresses into an initialiser. */
static CUresult relocate(CUmodule module, const struct ptx_variable *variable,
                         unsigned char *bytes)
{
    const struct ptx_module *ptx = module->image->ptx;
    for (size_t i = 0; i < variable->relocation_count; i++) {
        const struct ptx_relocation *relocation = &variable->relocations[i];
        uint64_t address = module->addresses[relocation->variable];
        if (address == 0 || relocation->bytes != 8) {
            return emu_refuse(CUDA_ERROR_NOT_SUPPORTED,
                              "the initialiser of `%s` holds the %u-byte address of `%s`; "
                              "only 8-byte addresses of .global and .const variables are "
                              "supported",
                              variable->name, relocation->bytes,
                              ptx->variables[relocation->variable].name);
        }
        address += (uint64_t)relocation->addend;
        memcpy(bytes + relocation->offset, &address, sizeof(address));
    }
    return CUDA_SUCCESS;
}

static CUresult allocate_variables(CUmodule module)
{
    const struct ptx_module *ptx = module->image->ptx;
    CUcontext context = module->object.context;
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *variable = &ptx->variables[i];
        if (!is_global(variable)) {
            continue;
        }
        if (variable->is_extern) {
            return emu_refuse(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
                              "`%s` is .extern; modules are not linked to one another",
                              variable->name);
        }
        module->addresses[i] = emu_memory_allocate_for(
            context, variable->bytes == 0 ? 1 : variable->bytes, variable->name);
        if (module->addresses[i] == 0) {
            return emu_refuse(CUDA_ERROR_OUT_OF_MEMORY, "no memory for `%s` (%llu bytes)",
                              variable->name, (unsigned long long)variable->bytes);
        }
    }
    return CUDA_SUCCESS;
}

/* A variable without an initialiser begins as zeros. */
static CUresult initialise_variables(CUmodule module)
{
    const struct ptx_module *ptx = module->image->ptx;
    struct emu_memory *memory = module->object.context->device->memory;
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        const struct ptx_variable *variable = &ptx->variables[i];
        if (!is_global(variable) || variable->bytes == 0) {
            continue;
        }
        unsigned char *bytes = emu_alloc(variable->bytes);
        if (variable->initial != NULL) {
            memcpy(bytes, variable->initial, variable->bytes);
        }
        CUresult result = relocate(module, variable, bytes);
        if (result == CUDA_SUCCESS) {
            emu_memory_write(memory, module->addresses[i], bytes, variable->bytes);
            emu_memory_find(memory, module->addresses[i], 1)->read_only =
                variable->space == PTX_CONST;
        }
        emu_free(bytes);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    return CUDA_SUCCESS;
}

CUresult emu_module_create(CUcontext context, struct emu_image *image, CUlibrary library,
                           CUmodule *ret_module)
{
    if (!emu_image_fits(image, context->device)) {
        return emu_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, ".target %s does not run on %s",
                          image->ptx->target, context->device->profile->name);
    }
    CUmodule module = emu_object_create(sizeof(*module), EMU_KIND_MODULE, context);
    module->image = image;
    module->library = library;
    module->addresses = emu_alloc(image->ptx->variable_count * sizeof(*module->addresses));
    image->users++;
    CUresult result = allocate_variables(module);
    if (result == CUDA_SUCCESS) {
        result = initialise_variables(module);
    }
    if (result != CUDA_SUCCESS) {
        emu_module_free(module);
        return result;
    }
    *ret_module = module;
    return CUDA_SUCCESS;
}

CUresult emu_module_of_library(CUcontext context, CUlibrary library, CUmodule *ret_module)
{
    for (struct emu_object *at = emu_driver.alive[EMU_KIND_MODULE]; at != NULL;
         at = at->next) {
        if (at->context == context && ((CUmodule)at)->library == library) {
            *ret_module = (CUmodule)at;
            return CUDA_SUCCESS;
        }
    }
    return emu_module_create(context, library->image, library, ret_module);
}

static CUfunction find_function_of(CUmodule module)
{
    struct emu_object *at = emu_driver.alive[EMU_KIND_FUNCTION];
    while (at != NULL && ((CUfunction)at)->module != module) {
        at = at->next;
    }
    return (CUfunction)at;
}

void emu_module_free(CUmodule module)
{
    CUfunction function = NULL;
    while ((function = find_function_of(module)) != NULL) {
        emu_function_free(function);
    }
    for (uint32_t i = 0; i < module->image->ptx->variable_count; i++) {
        if (module->addresses[i] != 0) {
            emu_memory_release_for(module->object.context, module->addresses[i]);
        }
    }
    emu_image_release(module->image);
    emu_free(module->addresses);
    emu_object_destroy(module);
}

CUresult emu_module_global(CUmodule module, const char *name, CUdeviceptr *ret_address,
                           size_t *ret_bytes)
{
    const struct ptx_module *ptx = module->image->ptx;
    for (uint32_t i = 0; i < ptx->variable_count; i++) {
        if (is_global(&ptx->variables[i]) && strcmp(ptx->variables[i].name, name) == 0) {
            if (ret_address != NULL) {
                *ret_address = module->addresses[i];
            }
            if (ret_bytes != NULL) {
                *ret_bytes = (size_t)ptx->variables[i].bytes;
            }
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* ------------------------------------------------------------------------------ calls */

static CUresult load_module(CUcontext context, CUmodule *ret_module, const void *image_data,
                            unsigned count, const CUjit_option *options, void **values)
{
    struct emu_image *image = NULL;
    if (ret_module == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = emu_image_load("cuModuleLoadData", image_data, context->device, count,
                                     options, values, &image);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = emu_module_create(context, image, NULL, ret_module);
    emu_image_release(image);
    return result;
}

EMU_EXPORT CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image,
                                               unsigned int numOptions,
                                               CUjit_option *options, void **optionValues)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS) {
        result = load_module(context, module, image, numOptions, options, optionValues);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

/* Enters with a module that the program loaded. */
static CUresult enter_module(CUmodule module)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS && !emu_object_is_alive(module, EMU_KIND_MODULE)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    return result;
}

EMU_EXPORT CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    CUresult result = enter_module(hmod);
    if (result == CUDA_SUCCESS && hmod->library != NULL) {
        result = emu_refuse(CUDA_ERROR_NOT_PERMITTED,
                            "cuModuleUnload: the module belongs to a library");
    }
    if (result == CUDA_SUCCESS) {
        emu_module_free(hmod);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod,
                                                const char *name)
{
    CUresult result = enter_module(hmod);
    if (result == CUDA_SUCCESS && (hfunc == NULL || name == NULL)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        const struct ptx_function *ptx = ptx_find_function(hmod->image->ptx, name);
        result = ptx == NULL || !ptx->is_entry ? CUDA_ERROR_NOT_FOUND
                                               : emu_function_get(hmod, ptx, hfunc);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes,
                                                 CUmodule hmod, const char *name)
{
    CUresult result = enter_module(hmod);
    if (result == CUDA_SUCCESS && name == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        result = emu_module_global(hmod, name, dptr, bytes);
    }
    return emu_leave(result);
}
