/* SPDX-License-Identifier: MIT */
/* Handles of functions and kernels, and their attributes. */
#include "driver/driver.h"

/* The function of a kernel in a context. */
static CUresult function_of_kernel(CUcontext context, CUkernel kernel,
                                   CUfunction *ret_function)
{
    CUmodule module = NULL;
    CUresult result = emu_module_of_library(context, kernel->library, &module);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = emu_function_get(module, kernel->ptx, ret_function);
    if (result == CUDA_SUCCESS) {
        (*ret_function)->settings = &kernel->settings[emu_device_ordinal(context->device)];
    }
    return result;
}

CUresult emu_function_find(CUcontext context, CUfunction handle, CUfunction *ret_function)
{
    /* A library's kernel is accepted wherever a function is. */
    if (emu_object_is_alive(handle, EMU_KIND_KERNEL)) {
        return function_of_kernel(context, (CUkernel)handle, ret_function);
    }
    if (!emu_object_is_alive(handle, EMU_KIND_FUNCTION)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *ret_function = handle;
    return handle->object.context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ------------------------------------------------------------------------- attributes */

static unsigned product(const unsigned size[3])
{
    return size[0] * (size[1] == 0 ? 1 : size[1]) * (size[2] == 0 ? 1 : size[2]);
}

unsigned emu_function_max_threads(const struct ptx_function *ptx)
{
    unsigned threads = product(ptx->required_threads);
    if (threads == 0) {
        threads = product(ptx->max_threads);
    }
    return threads == 0 || threads > 1024 ? 1024 : threads;
}

/* The compiler of machine code chooses within this bound; its choice is not known here. */
unsigned emu_function_registers(const struct ptx_function *ptx)
{
    if (ptx->max_registers != 0) {
        return ptx->max_registers < 255 ? ptx->max_registers : 255;
    }
    unsigned ctas = ptx->min_ctas_per_sm == 0 ? 1 : ptx->min_ctas_per_sm;
    unsigned threads = emu_function_max_threads(ptx);
    threads = (threads + 31) / 32 * 32;
    uint64_t registers = EMU_SM_REGISTERS / ((uint64_t)threads * ctas) / 8 * 8;
    return registers > 255 ? 255 : registers < 16 ? 16 : (unsigned)registers;
}

static int sum_constants(const struct ptx_module *module)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < module->variable_count; i++) {
        bytes += module->variables[i].space == PTX_CONST ? module->variables[i].bytes : 0;
    }
    return bytes > INT32_MAX ? INT32_MAX : (int)bytes;
}

static int required_cluster(const struct emu_function_facts *facts, unsigned axis)
{
    return (int)(facts->ptx->required_cluster[0] != 0
                     ? facts->ptx->required_cluster[axis]
                     : facts->settings->required_cluster[axis]);
}

CUresult emu_function_get_attribute(const struct emu_function_facts *facts,
                                    CUfunction_attribute attribute, int *ret_value)
{
    if (ret_value == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int value = 0;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        value = (int)emu_function_max_threads(facts->ptx);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        value = (int)facts->static_shared_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        value = sum_constants(facts->module);
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        value = (int)facts->ptx->local_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        value = (int)emu_function_registers(facts->ptx);
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        value = (int)facts->module->sm;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        value = (int)facts->device->profile->sm;
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        value = (int)facts->settings->max_dynamic_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        value = facts->settings->carveout;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        value = facts->ptx->explicit_cluster && required_cluster(facts, 0) == 0;
        break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        value = required_cluster(
            facts, (unsigned)(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH));
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        value = facts->settings->non_portable_cluster;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        value = facts->settings->cluster_policy;
        break;
    default:
        return emu_refuse(CUDA_ERROR_INVALID_VALUE, "function attribute %d is not known",
                          (int)attribute);
    }
    *ret_value = value;
    return CUDA_SUCCESS;
}

static CUresult set_dynamic_bytes(const struct emu_function_facts *facts, int value)
{
    int most = (int)EMU_SHARED_OPTIN_BYTES - (int)facts->static_shared_bytes;
    if (value < 0 || value > most) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                          "%s: MAX_DYNAMIC_SHARED_SIZE_BYTES %d: at most %d are possible "
                          "(%u less %u static bytes)",
                          facts->ptx->name, value, most, EMU_SHARED_OPTIN_BYTES,
                          facts->static_shared_bytes);
    }
    facts->settings->max_dynamic_bytes = (unsigned)value;
    return CUDA_SUCCESS;
}

CUresult emu_function_set_attribute(const struct emu_function_facts *facts,
                                    CUfunction_attribute attribute, int value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return set_dynamic_bytes(facts, value);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        facts->settings->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (value < 0 || facts->ptx->required_cluster[0] != 0) {
            return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                              "%s: the cluster is negative or was fixed by "
                              ".reqnctapercluster",
                              facts->ptx->name);
        }
        facts->settings
            ->required_cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] =
            (unsigned)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        facts->settings->non_portable_cluster = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        facts->settings->cluster_policy = value;
        return CUDA_SUCCESS;
    default:
        return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                          "function attribute %d cannot be set or is not known",
                          (int)attribute);
    }
}

CUresult emu_function_get_param(const struct ptx_function *ptx,
                                const struct ptx_module *module, size_t index,
                                size_t *ret_offset, size_t *ret_bytes)
{
    if (ret_offset == NULL || index >= ptx->param_count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct ptx_variable *param = &module->variables[ptx->params[index]];
    *ret_offset = (size_t)param->offset;
    if (ret_bytes != NULL) {
        *ret_bytes = (size_t)param->bytes;
    }
    return CUDA_SUCCESS;
}

/* ------------------------------------------------------------------------------ calls */

static CUresult enter_function(CUfunction handle, CUfunction *ret_function)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    return result == CUDA_SUCCESS ? emu_function_find(context, handle, ret_function)
                                  : result;
}

static struct emu_function_facts facts_of(CUfunction function)
{
    return (struct emu_function_facts){.ptx = function->ptx,
                                       .module = function->module->image->ptx,
                                       .device = function->object.context->device,
                                       .static_shared_bytes =
                                           function->program->static_shared_bytes,
                                       .settings = function->settings};
}

EMU_EXPORT CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib,
                                               CUfunction hfunc)
{
    CUfunction function = NULL;
    CUresult result = enter_function(hfunc, &function);
    if (result == CUDA_SUCCESS) {
        struct emu_function_facts facts = facts_of(function);
        result = emu_function_get_attribute(&facts, attrib, pi);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuFuncSetAttribute(CUfunction hfunc,
                                               CUfunction_attribute attrib, int value)
{
    CUfunction function = NULL;
    CUresult result = enter_function(hfunc, &function);
    if (result == CUDA_SUCCESS) {
        struct emu_function_facts facts = facts_of(function);
        result = emu_function_set_attribute(&facts, attrib, value);
    }
    return emu_leave(result);
}

/* Caches are not modelled. */
EMU_EXPORT CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    CUfunction function = NULL;
    CUresult result = enter_function(hfunc, &function);
    if (result == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    CUfunction function = NULL;
    CUresult result = enter_function(hfunc, &function);
    if (result == CUDA_SUCCESS && hmod == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *hmod = function->module;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction hfunc)
{
    CUfunction function = NULL;
    CUresult result = enter_function(hfunc, &function);
    if (result == CUDA_SUCCESS && name == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *name = function->ptx->name;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuFuncGetParamInfo(CUfunction func, size_t paramIndex,
                                               size_t *paramOffset, size_t *paramSize)
{
    CUfunction function = NULL;
    CUresult result = enter_function(func, &function);
    if (result == CUDA_SUCCESS) {
        result = emu_function_get_param(function->ptx, function->module->image->ptx,
                                        paramIndex, paramOffset, paramSize);
    }
    return emu_leave(result);
}
