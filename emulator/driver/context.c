/* SPDX-License-Identifier: MIT */
/* Contexts: the primary ones, others, and which one a thread works in. */
#include "driver/driver.h"

static bool is_primary(const struct CUctx_st *context)
{
    return context == &context->device->primary;
}

/* The first object of a kind that belongs to the context, or NULL. */
static struct emu_object *find_owned(CUcontext context, enum emu_kind kind)
{
    struct emu_object *at = emu_driver.alive[kind];
    while (at != NULL && at->context != context) {
        at = at->next;
    }
    return at;
}

/* What was made in the context goes; the context itself stays. */
static void empty_context(CUcontext context)
{
    struct emu_object *owned = NULL;
    while ((owned = find_owned(context, EMU_KIND_STREAM)) != NULL) {
        emu_stream_free((CUstream)owned);
    }
    while ((owned = find_owned(context, EMU_KIND_EVENT)) != NULL) {
        emu_object_destroy(owned);
    }
    while ((owned = find_owned(context, EMU_KIND_MODULE)) != NULL) {
        emu_module_free((CUmodule)owned);
    }
    emu_memory_free_of(context);
    context->grid_workspace = 0;
    context->default_stream = NULL;
    context->sticky = CUDA_SUCCESS;
}

/* A primary context lies in its device; it enters and leaves the list like others. */
static CUcontext start_primary(struct emu_device *device)
{
    CUcontext primary = &device->primary;
    primary->device = device;
    primary->object.kind = EMU_KIND_CONTEXT;
    primary->object.next = emu_driver.alive[EMU_KIND_CONTEXT];
    emu_driver.alive[EMU_KIND_CONTEXT] = &primary->object;
    return primary;
}

static void end_primary(struct emu_device *device)
{
    empty_context(&device->primary);
    struct emu_object **at = &emu_driver.alive[EMU_KIND_CONTEXT];
    while (*at != &device->primary.object) {
        at = &(*at)->next;
    }
    *at = device->primary.object.next;
}

/* ---------------------------------------------------------------------------- primary */

EMU_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct emu_device *device = NULL;
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        result = pctx == NULL ? CUDA_ERROR_INVALID_VALUE : emu_device_find(dev, &device);
    }
    if (result == CUDA_SUCCESS) {
        if (device->primary.retained++ == 0) {
            start_primary(device);
        }
        *pctx = &device->primary;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    struct emu_device *device = NULL;
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        result = emu_device_find(dev, &device);
    }
    if (result == CUDA_SUCCESS && device->primary.retained == 0) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (result == CUDA_SUCCESS && --device->primary.retained == 0) {
        end_primary(device);
    }
    return emu_leave(result);
}

/* Also the way out of a sticky error. */
EMU_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    struct emu_device *device = NULL;
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        result = emu_device_find(dev, &device);
    }
    if (result == CUDA_SUCCESS && device->primary.retained > 0) {
        empty_context(&device->primary);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags,
                                                       int *active)
{
    struct emu_device *device = NULL;
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        result = flags == NULL || active == NULL ? CUDA_ERROR_INVALID_VALUE
                                                 : emu_device_find(dev, &device);
    }
    if (result == CUDA_SUCCESS) {
        *flags = device->primary.flags;
        *active = device->primary.retained > 0;
    }
    return emu_leave(result);
}

/* ------------------------------------------------------------------------ own contexts */

static CUresult create_context(CUcontext *ret_context, const CUctxCreateParams *params,
                               unsigned flags, CUdevice dev)
{
    struct emu_device *device = NULL;
    if (ret_context == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (params != NULL &&
        (params->numExecAffinityParams != 0 || params->cigParams != NULL)) {
        return emu_refuse(CUDA_ERROR_NOT_SUPPORTED,
                          "cuCtxCreate: execution affinity and graphics are not supported");
    }
    CUresult result = emu_device_find(dev, &device);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (emu_contexts.depth == EMU_MOST_NESTED) {
        return emu_refuse(CUDA_ERROR_OUT_OF_MEMORY,
                          "cuCtxCreate: more than %u contexts pushed", EMU_MOST_NESTED);
    }
    CUcontext context = emu_object_create(sizeof(*context), EMU_KIND_CONTEXT, NULL);
    context->device = device;
    context->flags = flags;
    emu_contexts.contexts[emu_contexts.depth++] = context;
    *ret_context = context;
    return CUDA_SUCCESS;
}

EMU_EXPORT CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx,
                                           CUctxCreateParams *ctxCreateParams,
                                           unsigned int flags, CUdevice dev)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS) {
        result = create_context(pctx, ctxCreateParams, flags, dev);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS &&
        (!emu_object_is_alive(ctx, EMU_KIND_CONTEXT) || is_primary(ctx))) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (result == CUDA_SUCCESS) {
        if (emu_context_current() == ctx) {
            emu_contexts.depth--;
        }
        empty_context(ctx);
        emu_object_destroy(ctx);
    }
    return emu_leave(result);
}

/* ------------------------------------------------------------------------ the current */

EMU_EXPORT CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    CUresult result = emu_enter();
    if (result != CUDA_SUCCESS) {
        return emu_leave(result);
    }
    if (ctx == NULL) {
        emu_contexts.depth -= emu_contexts.depth > 0 ? 1 : 0;
    } else if (!emu_object_is_alive(ctx, EMU_KIND_CONTEXT)) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    } else {
        emu_contexts.depth += emu_contexts.depth == 0 ? 1 : 0;
        emu_contexts.contexts[emu_contexts.depth - 1] = ctx;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
    CUresult result = emu_enter_aside();
    if (result == CUDA_SUCCESS) {
        if (pctx == NULL) {
            return emu_leave(CUDA_ERROR_INVALID_VALUE);
        }
        *pctx = emu_context_current();
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && !emu_object_is_alive(ctx, EMU_KIND_CONTEXT)) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (result == CUDA_SUCCESS && emu_contexts.depth == EMU_MOST_NESTED) {
        result =
            emu_refuse(CUDA_ERROR_OUT_OF_MEMORY,
                       "cuCtxPushCurrent: more than %u contexts pushed", EMU_MOST_NESTED);
    }
    if (result == CUDA_SUCCESS) {
        emu_contexts.contexts[emu_contexts.depth++] = ctx;
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx)
{
    CUresult result = emu_enter();
    if (result == CUDA_SUCCESS && emu_contexts.depth == 0) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (result == CUDA_SUCCESS) {
        emu_contexts.depth--;
        if (pctx != NULL) {
            *pctx = emu_contexts.contexts[emu_contexts.depth];
        }
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    CUresult result = emu_enter();
    CUcontext context = result == CUDA_SUCCESS ? emu_context_current() : NULL;
    if (result == CUDA_SUCCESS) {
        result = device == NULL    ? CUDA_ERROR_INVALID_VALUE
                 : context == NULL ? CUDA_ERROR_INVALID_CONTEXT
                                   : CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        *device = emu_device_ordinal(context->device);
    }
    return emu_leave(result);
}

/* Everything was done when it was asked for. */
EMU_EXPORT CUresult CUDAAPI cuCtxSynchronize(void)
{
    CUcontext context = NULL;
    return emu_leave(emu_enter_context(&context));
}

EMU_EXPORT CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority,
                                                        int *greatestPriority)
{
    CUcontext context = NULL;
    CUresult result = emu_enter_context(&context);
    if (result == CUDA_SUCCESS && leastPriority != NULL) {
        *leastPriority = EMU_PRIORITY_LEAST;
    }
    if (result == CUDA_SUCCESS && greatestPriority != NULL) {
        *greatestPriority = EMU_PRIORITY_GREATEST;
    }
    return emu_leave(result);
}
