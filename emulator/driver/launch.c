/* SPDX-License-Identifier: MIT */
/* Launches: their parameters, and how they are taken into the queue of a stream. */
#include "driver/launch.h"

#include <string.h>

/* ------------------------------------------------------------------------- parameters */

static CUresult copy_each(const struct emu_config *config, CUfunction function,
                          void *const *params, unsigned char *to)
{
    const struct ptx_function *ptx = function->ptx;
    const struct ptx_module *module = function->module->image->ptx;
    for (unsigned i = 0; i < ptx->param_count; i++) {
        const struct ptx_variable *param = &module->variables[ptx->params[i]];
        if (params == NULL || params[i] == NULL) {
            return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                              "%s(%s): parameter %u of %u is NULL", config->call, ptx->name,
                              i, ptx->param_count);
        }
        memcpy(to + param->offset, params[i], param->bytes);
    }
    return CUDA_SUCCESS;
}

/* The other way to give parameters: as one block of bytes. */
static CUresult copy_block(const struct emu_config *config, CUfunction function,
                           void *const *extra, unsigned char *to)
{
    const void *block = NULL;
    const size_t *bytes = NULL;
    uint64_t needed = function->ptx->param_bytes;
    for (unsigned i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            block = extra[i + 1];
        } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
            bytes = extra[i + 1];
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (needed == 0) {
        return CUDA_SUCCESS;
    }
    if (block == NULL || bytes == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    /* A struct of the host may end in padding. */
    if (*bytes < needed || *bytes > emu_align_up(needed, 128)) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                          "%s(%s): a block of %llu parameter bytes; the kernel has %llu",
                          config->call, function->ptx->name, (unsigned long long)*bytes,
                          (unsigned long long)needed);
    }
    memcpy(to, block, needed);
    return CUDA_SUCCESS;
}

static CUresult copy_params(const struct emu_config *config, CUfunction function,
                            void *const *params, void *const *extra, unsigned char *to)
{
    if (extra == NULL) {
        return copy_each(config, function, params, to);
    }
    if (params != NULL) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                          "%s(%s): parameters are given in both ways", config->call,
                          function->ptx->name);
    }
    return copy_block(config, function, extra, to);
}

/* ------------------------------------------------------------------------- submission */

/* The chip that the settings ask times of; *ret_chip NULL: no times. */
static CUresult find_chip(const struct emu_config *config, CUfunction function,
                          const struct emu_chip **ret_chip)
{
    const enum emu_timing_mode mode = emu_driver.settings.timing;
    const unsigned sm = function->object.context->device->profile->sm;
    const char *name = emu_timing_chip_name(mode);
    *ret_chip = NULL;
    if (mode == EMU_TIMING_OFF) {
        return CUDA_SUCCESS;
    }
    *ret_chip = name == NULL ? emu_chip_of_sm(sm) : emu_chip_find(name);
    if (*ret_chip == NULL || (*ret_chip)->sm != sm) {
        return emu_refuse(
            CUDA_ERROR_INVALID_VALUE,
            "%s(%s): timing=%s is of sm_%u, the device of sm_%u; timing=on takes "
            "the device's own",
            config->call, function->ptx->name, name,
            *ret_chip == NULL ? 0 : (*ret_chip)->sm, sm);
    }
    return CUDA_SUCCESS;
}

static struct emu_launch make_launch(const struct emu_config *config, CUfunction function,
                                     const struct emu_chip *chip)
{
    const struct ptx_function *ptx = function->ptx;
    const struct emu_device *device = function->object.context->device;
    bool bounded = ptx->max_registers != 0 || ptx->max_threads[0] != 0 ||
                   ptx->required_threads[0] != 0;
    struct emu_launch launch = {.program = function->program,
                                .settings = emu_driver.settings,
                                .memory = device->memory,
                                .dynamic_shared_bytes = (uint32_t)config->dynamic_bytes,
                                .param_bytes = ptx->param_bytes,
                                .sm_count = (unsigned)emu_device_sm_count(device->profile),
                                .registers_per_thread =
                                    bounded ? emu_function_registers(ptx) : 0};
    memcpy(launch.grid, config->grid, sizeof(launch.grid));
    memcpy(launch.block, config->block, sizeof(launch.block));
    memcpy(launch.cluster, config->cluster, sizeof(launch.cluster));
    launch.chip = chip;
    launch.mhz = emu_driver.settings.mhz;
    launch.resident_clusters = emu_config_active_clusters(config, function);
    return launch;
}

/* Where CTAs of a cooperative launch meet: 4 bytes for its size, and a barrier. Launches of
 * a context use it one after the other, and leave it fit for the next. 0: no memory. */
static uint64_t find_grid_workspace(CUcontext context)
{
    static const uint32_t fresh[2] = {sizeof(fresh), 0};
    if (context->grid_workspace == 0) {
        context->grid_workspace =
            emu_memory_allocate_for(context, sizeof(fresh), "the grid's barrier");
        emu_memory_write(context->device->memory, context->grid_workspace, fresh,
                         sizeof(fresh));
    }
    return context->grid_workspace;
}

static CUresult submit(const struct emu_config *config, CUfunction function, void **params,
                       void **extra)
{
    CUcontext context = function->object.context;
    CUstream stream = NULL;
    CUresult result = emu_stream_find(context, config->stream, &stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    const struct emu_chip *chip = NULL;
    result = find_chip(config, function, &chip);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct emu_queued *queued = emu_alloc(sizeof(*queued) + function->ptx->param_bytes);
    result = copy_params(config, function, params, extra, queued->params);
    if (result != CUDA_SUCCESS) {
        emu_free(queued);
        return result;
    }
    queued->function = function;
    queued->launch = make_launch(config, function, chip);
    queued->launch.params = queued->params;
    if (config->cooperative) {
        queued->launch.grid_workspace = find_grid_workspace(context);
    }
    if (emu_driver.waiting != stream || !config->programmatic) {
        emu_launches_run();
    }
    if (context->sticky != CUDA_SUCCESS) {
        emu_free(queued);
        return context->sticky;
    }
    emu_launch_queue(stream, queued);
    return CUDA_SUCCESS;
}

static CUresult launch(const char *call, const CUlaunchConfig *from, CUfunction handle,
                       void **params, void **extra)
{
    CUcontext context = NULL;
    CUfunction function = NULL;
    struct emu_config config;
    CUresult result = emu_enter_launch(&context);
    if (result == CUDA_SUCCESS) {
        result = emu_function_find(context, handle, &function);
    }
    if (result == CUDA_SUCCESS) {
        result = from == NULL ? CUDA_ERROR_INVALID_VALUE
                              : emu_config_read(call, from, function, &config);
    }
    if (result == CUDA_SUCCESS) {
        result = emu_config_check_shape(&config, function);
    }
    if (result == CUDA_SUCCESS) {
        result = emu_config_check_grid(&config, function);
    }
    if (result == CUDA_SUCCESS) {
        result = submit(&config, function, params, extra);
    }
    return emu_leave(result);
}

EMU_EXPORT CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
                                             void **kernelParams, void **extra)
{
    return launch("cuLaunchKernelEx", config, f, kernelParams, extra);
}

EMU_EXPORT CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX,
                                           unsigned int gridDimY, unsigned int gridDimZ,
                                           unsigned int blockDimX, unsigned int blockDimY,
                                           unsigned int blockDimZ,
                                           unsigned int sharedMemBytes, CUstream hStream,
                                           void **kernelParams, void **extra)
{
    const CUlaunchConfig config = {.gridDimX = gridDimX,
                                   .gridDimY = gridDimY,
                                   .gridDimZ = gridDimZ,
                                   .blockDimX = blockDimX,
                                   .blockDimY = blockDimY,
                                   .blockDimZ = blockDimZ,
                                   .sharedMemBytes = sharedMemBytes,
                                   .hStream = hStream};
    return launch("cuLaunchKernel", &config, f, kernelParams, extra);
}

EMU_EXPORT CUresult CUDAAPI cuLaunchCooperativeKernel(
    CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
    unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
    unsigned int sharedMemBytes, CUstream hStream, void **kernelParams)
{
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                     .value.cooperative = 1};
    const CUlaunchConfig config = {.gridDimX = gridDimX,
                                   .gridDimY = gridDimY,
                                   .gridDimZ = gridDimZ,
                                   .blockDimX = blockDimX,
                                   .blockDimY = blockDimY,
                                   .blockDimZ = blockDimZ,
                                   .sharedMemBytes = sharedMemBytes,
                                   .hStream = hStream,
                                   .attrs = &cooperative,
                                   .numAttrs = 1};
    return launch("cuLaunchCooperativeKernel", &config, f, kernelParams, NULL);
}
