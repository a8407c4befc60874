/* SPDX-License-Identifier: MIT */
/*
 * Launches. A launch that was accepted waits in its stream's queue until the next call of
 * the API, whatever that is: so a following launch of the same stream may still join it, if
 * it is a programmatic dependent, and nobody can see that nothing has run yet. What goes
 * wrong while a grid runs is not the launch's result: it becomes the context's sticky
 * error, as on a device.
 */
#include "driver/launch.h"

#include <stdio.h>
#include <string.h>

#include "exec/coverage.h"

struct emu_queued {
    struct emu_queued *next;
    CUfunction function;
    struct emu_launch launch;
    _Alignas(16) unsigned char params[];
};

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

/* ---------------------------------------------------------------------------- running */

/* What a device would answer to the first thing that went wrong. */
static CUresult result_of(enum emu_finding finding)
{
    switch (finding) {
    case EMU_FINDING_UNSUPPORTED:
        return CUDA_ERROR_NOT_SUPPORTED;
    case EMU_FINDING_OUT_OF_BOUNDS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case EMU_FINDING_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case EMU_FINDING_DEADLOCK:
    case EMU_FINDING_NO_PROGRESS:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case EMU_FINDING_DIVERGENCE:
    case EMU_FINDING_DESCRIPTOR:
    case EMU_FINDING_ILLEGAL:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

/* What is known of one launch after it was run. */
static void conclude(CUcontext context, struct emu_queued *queued,
                     struct emu_launch *launch)
{
    enum emu_finding finding = EMU_FINDING_COUNT;
    struct emu_error error = {0};
    if (launch->covered != NULL &&
        !emu_coverage_merge(launch->settings.coverage, launch->program, launch->covered,
                            &error)) {
        fprintf(stderr, "emulator: %s\n", error.text);
    }
    emu_free(launch->covered);
    char *text = emu_reports_merge(emu_driver.reports, launch->reports,
                                   (enum emu_severity)launch->settings.show);
    fputs(text, stderr);
    emu_free(text);
    if (emu_reports_first_error(launch->reports, &finding)) {
        const char *name = NULL;
        context->sticky = result_of(finding);
        cuGetErrorName(context->sticky, &name);
        emu_refuse(context->sticky,
                   "%s failed [%s]: the context answers %s until it is reset",
                   queued->function->ptx->name, emu_finding_name(finding), name);
    }
    emu_reports_free(launch->reports);
}

/* Runs the queue of a stream: launches that follow each other programmatically side by
 * side. Whatever is behind a launch that failed is dropped, as on a device. */
static void run_queue(CUcontext context, CUstream stream)
{
    unsigned count = 0;
    for (struct emu_queued *at = stream->first; at != NULL; at = at->next) {
        count++;
    }
    struct emu_launch *launches = emu_alloc(count * sizeof *launches);
    count = 0;
    for (struct emu_queued *at = stream->first; at != NULL; at = at->next) {
        launches[count] = at->launch;
        launches[count].reports = emu_reports_create();
        if (at->launch.settings.coverage[0] != 0) {
            launches[count].covered = emu_alloc(at->launch.program->insn_count);
        }
        count++;
    }
    uint64_t steps = 0;
    emu_grids_run(launches, count, &steps);
    emu_driver.thread_steps += steps;
    for (unsigned i = 0; i < count; i++) {
        struct emu_queued *queued = stream->first;
        stream->first = queued->next;
        conclude(context, queued, &launches[i]);
        emu_free(queued);
    }
    stream->last = NULL;
    emu_free(launches);
}

void emu_launches_run(void)
{
    CUstream stream = emu_driver.waiting;
    emu_driver.waiting = NULL;
    if (stream != NULL) {
        run_queue(stream->object.context, stream);
    }
}

static struct emu_launch make_launch(const struct emu_config *config, CUfunction function)
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
    memcpy(launch.grid, config->grid, sizeof launch.grid);
    memcpy(launch.block, config->block, sizeof launch.block);
    memcpy(launch.cluster, config->cluster, sizeof launch.cluster);
    return launch;
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
    struct emu_queued *queued = emu_alloc(sizeof *queued + function->ptx->param_bytes);
    result = copy_params(config, function, params, extra, queued->params);
    if (result != CUDA_SUCCESS) {
        emu_free(queued);
        return result;
    }
    queued->function = function;
    queued->launch = make_launch(config, function);
    queued->launch.params = queued->params;
    if (emu_driver.waiting != stream || !config->programmatic) {
        emu_launches_run();
    }
    if (context->sticky != CUDA_SUCCESS) {
        emu_free(queued);
        return context->sticky;
    }
    if (stream->last == NULL) {
        stream->first = queued;
    } else {
        stream->last->next = queued;
    }
    stream->last = queued;
    emu_driver.waiting = stream;
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
