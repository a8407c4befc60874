/* SPDX-License-Identifier: MIT */
#include "runtime/launch.h"

#include <string.h>

#include "base/math.h"
#include "plan/cluster.h"
#include "plan/host_groups.h"
#include "runtime/arguments.h"
#include "runtime/grid.h"
#include "runtime/group_maps.h"
#include "runtime/launch_sizes.h"
#include "runtime/repack.h"
#include "runtime/scale_pack.h"

/* Of a launch that has the numbers of its groups: no more than these take; 0 where there is
 * nothing to do. */
static unsigned int size_known_grid(const struct jg_kernel *kernel,
                                    struct jg_kernel_params *params)
{
    const struct jg_derived *derived = &kernel->choice.derived;
    const int32_t *numbers = jg_kernel_params_numbers(params, kernel->operand_count,
                                                      (uint32_t)derived->tail_maps);
    const int64_t tiles = jg_host_groups_tiles(
        &kernel->choice.config, &kernel->choice.product, derived->turns_last, numbers,
        params->m, params->n, derived->host_groups);
    if (tiles == 0 && !derived->output.reduces) {
        return 0; /* results of empty groups would be somebody's work */
    }
    return (unsigned int)(jg_grid_clusters(&kernel->choice.config, jg_max(tiles, 1), 1,
                                           kernel->resident_clusters) *
                          jg_kernel_cluster_ctas(kernel));
}

static unsigned int size_grid(const struct jg_kernel *kernel,
                              struct jg_kernel_params *params)
{
    if (params->group_sizes == JG_NUMBERS_IN_PARAMS &&
        kernel->choice.config.kernel == JG_KERNEL_GEMM) {
        return size_known_grid(kernel, params);
    }
    return kernel->exact_grid > 0
               ? kernel->exact_grid
               : jg_grid_of_size(kernel, params->m, params->n, params->batch);
}

/* What is launched, and where. */
struct launch {
    const struct jg_kernel *kernel;
    CUkernel function;  /* of any context, */
    CUfunction primary; /* and of the primary one */
    const char *entry;
    unsigned int grid_ctas, cluster_ctas, threads, smem_bytes;
    void *params; /* the one parameter */
    CUstream stream;
};

static CUresult launch_once(const struct launch *launch, CUfunction function)
{
    CUlaunchAttribute attributes[2];
    unsigned int count = 0;
    if (launch->cluster_ctas > 1) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = launch->cluster_ctas;
        attributes[count].value.clusterDim.y = 1;
        attributes[count].value.clusterDim.z = 1;
        count++;
    }
    if (launch->kernel->choice.config.launch.pdl) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[count].value.programmaticStreamSerializationAllowed = 1;
        count++;
    }
    const CUlaunchConfig config = {.gridDimX = launch->grid_ctas,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = launch->threads,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = launch->smem_bytes,
                                   .hStream = launch->stream,
                                   .attrs = attributes,
                                   .numAttrs = count};
    void *values[1] = {launch->params};
    return launch->kernel->device->driver->launch_kernel_ex(&config, function, values,
                                                            NULL);
}

/*
 * One driver call where the thread's context is the primary one. Otherwise the driver
 * refuses that function before it does anything: a thread without a context gets the
 * primary one, as with the CUDA runtime, and one with a context of another device has it
 * for the launch; in another context of the device the context-independent kernel is
 * launched, which the driver takes in place of a function.
 */
static CUresult launch_anywhere(const struct launch *launch)
{
    const struct jg_device *device = launch->kernel->device;
    const struct jg_driver *driver = device->driver;
    CUresult result = launch_once(launch, launch->primary);
    CUcontext current = NULL;
    if (result != CUDA_ERROR_INVALID_CONTEXT && result != CUDA_ERROR_INVALID_HANDLE) {
        return result;
    }
    if (jg_device_adopt(device, &current)) {
        result = launch_once(launch, launch->primary);
        jg_device_leave(device, current);
    } else if (driver->ctx_get_current(&current) == CUDA_SUCCESS && current != NULL &&
               current != device->primary) {
        result = launch_once(launch, (CUfunction)launch->function);
    }
    return result;
}

static const char *hint_for_launch(const struct jg_kernel *kernel, CUresult result)
{
    const struct jg_driver *driver = kernel->device->driver;
    if (kernel->choice.config.launch.debug) {
        return "an earlier kernel failed; jit_gemm_debug_report says whether one of this "
               "handle gave up";
    }
    if (driver->takes_ptx) { /* no tool of the GPU's helps there */
        return "the emulator's report is on standard error";
    }
    switch (result) {
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
        return "the stream and the current context must be of the device that the kernel "
               "was created for";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
        return "an earlier kernel failed; run under compute-sanitizer to find it";
    default:
        return "";
    }
}

static jit_gemm_status launch_or_fail(const struct launch *launch)
{
    const struct jg_kernel *kernel = launch->kernel;
    const CUresult result = launch_anywhere(launch);
    if (result != CUDA_SUCCESS) {
        return jg_driver_fail(kernel->device->driver, JIT_GEMM_ERR_LAUNCH, result,
                              launch->entry, hint_for_launch(kernel, result));
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_launch_params(const struct jg_kernel *kernel, unsigned int grid_ctas,
                                 void *params, void *stream)
{
    const struct jg_derived *derived = &kernel->choice.derived;
    const struct launch launch = {.kernel = kernel,
                                  .function = kernel->function,
                                  .primary = kernel->primary,
                                  .entry = kernel->entry,
                                  .grid_ctas = grid_ctas,
                                  .cluster_ctas =
                                      (unsigned int)jg_kernel_cluster_ctas(kernel),
                                  .threads = (unsigned int)derived->threads,
                                  .smem_bytes = (unsigned int)derived->smem_bytes,
                                  .params = params,
                                  .stream = (CUstream)stream};
    return launch_or_fail(&launch);
}

/* Before the product's, in the same stream: A and B that TMA does not take, maps of groups,
 * or scales that the tensor core does not take, if there is any work. */
static jit_gemm_status launch_first(const struct jg_kernel *kernel,
                                    const struct jg_kernel_params *product,
                                    struct jg_first_params *params, void *stream)
{
    const struct jg_config *config = &kernel->choice.config;
    struct launch launch = {.kernel = kernel,
                            .function = kernel->first.function,
                            .primary = kernel->first.primary,
                            .entry = jg_first_entry(config, &kernel->choice.product),
                            .cluster_ctas = 1,
                            .threads = JG_FIRST_THREADS,
                            .stream = (CUstream)stream};
    if (jg_is_repacked(config)) {
        launch.grid_ctas = jg_repack_grid(kernel, &params->repack);
        launch.params = &params->repack;
    } else if (jg_has_group_maps(config)) {
        jg_group_maps_take(product, &params->maps);
        launch.grid_ctas = jg_group_maps_grid(kernel, product);
        launch.params = &params->maps;
    } else {
        launch.grid_ctas = jg_scale_pack_grid(kernel, &params->scales);
        launch.params = &params->scales;
    }
    return launch.grid_ctas > 0 ? launch_or_fail(&launch) : JIT_GEMM_OK;
}

jit_gemm_status jg_launch(const struct jg_kernel *kernel, struct jg_map_slots *slots,
                          const jit_gemm_args *args, void *stream)
{
    struct jg_kernel_params params;
    struct jg_first_params first;
    struct jg_map_key keys[JG_MAP_COUNT];
    JG_TRY(jg_arguments_fill(kernel, args, &params, keys, &first));
    if (jg_params_are_empty(&params)) {
        return JIT_GEMM_OK;
    }
    const unsigned int grid_ctas = size_grid(kernel, &params);
    if (grid_ctas == 0) { /* the host knows that no group has rows */
        return JIT_GEMM_OK;
    }
    if (kernel->choice.config.kernel == JG_KERNEL_GEMM) {
        JG_TRY(jg_map_slots_fill(slots, kernel, keys, &params));
    } else {
        memset(params.maps, 0, sizeof(params.maps));
    }
    if (kernel->first.function != NULL) {
        JG_TRY(launch_first(kernel, &params, &first, stream));
    }
    return jg_launch_params(kernel, grid_ctas, &params, stream);
}
