/* SPDX-License-Identifier: MIT */
#include "runtime/module.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "base/thread.h"
#include "plan/first_kernel.h"
#include "plan/split.h"
#include "runtime/grid.h"
#include "runtime/instruments.h"

/* CTAs of a cluster that every device with clusters takes. */
#define JG_PORTABLE_CLUSTER 8

static jit_gemm_status fail_load(const struct jg_kernel *kernel, CUresult result,
                                 const char *call, const char *hint)
{
    return jg_driver_fail(kernel->device->driver, JIT_GEMM_ERR_LOAD, result, call, hint);
}

/* Clusters beyond the portable size need leave; whether one fits is asked for later. */
static jit_gemm_status allow_cluster(const struct jg_kernel *kernel)
{
    if (jg_kernel_cluster_ctas(kernel) <= JG_PORTABLE_CLUSTER) {
        return JIT_GEMM_OK;
    }
    const CUresult result = kernel->device->driver->kernel_set_attribute(
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel->function,
        kernel->device->handle);
    if (result != CUDA_SUCCESS) {
        return fail_load(kernel, result, "cuKernelSetAttribute",
                         "choose a cluster of at most 8 CTAs with problem.config");
    }
    return JIT_GEMM_OK;
}

/* Is it for what the code is, and not for what the device has left? */
static bool is_about_code(CUresult result)
{
    return result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
           result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_INVALID_SOURCE ||
           result == CUDA_ERROR_NOT_FOUND || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

/* What helps where a library was loaded and its kernel cannot be had. */
static const char *hint_of_kernel(const struct jg_kernel *kernel, CUresult result)
{
    if (result == CUDA_ERROR_NOT_FOUND) {
        return "the machine code lacks its entry: empty the disk cache";
    }
    return kernel->device->driver->takes_ptx
               ? "the emulator names what it does not execute on standard error"
               : "see whether the program's other calls of the driver work";
}

static jit_gemm_status load_library(struct jg_kernel *kernel,
                                    const struct jg_binary *binary, bool *ret_is_refused)
{
    const struct jg_driver *driver = kernel->device->driver;
    CUresult result = driver->library_load_data(&kernel->library, binary->code.data, NULL,
                                                NULL, 0, NULL, NULL, 0);
    if (result != CUDA_SUCCESS) {
        kernel->library = NULL;
        *ret_is_refused = is_about_code(result);
        return fail_load(kernel, result, "cuLibraryLoadData",
                         "is the driver older than the compiler? see jit-gemm doctor");
    }
    result = driver->library_get_kernel(&kernel->function, kernel->library, kernel->entry);
    if (result != CUDA_SUCCESS) {
        *ret_is_refused = is_about_code(result);
        return fail_load(kernel, result, "cuLibraryGetKernel",
                         hint_of_kernel(kernel, result));
    }
    const char *first_entry =
        jg_first_entry(&kernel->choice.config, &kernel->choice.product);
    if (first_entry != NULL) {
        result = driver->library_get_kernel(&kernel->first.function, kernel->library,
                                            first_entry);
        if (result != CUDA_SUCCESS) {
            *ret_is_refused = is_about_code(result);
            return fail_load(kernel, result, "cuLibraryGetKernel",
                             hint_of_kernel(kernel, result));
        }
    }
    const int smem_bytes = kernel->choice.derived.smem_bytes;
    if (smem_bytes > 0) {
        result = driver->kernel_set_attribute(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem_bytes, kernel->function,
            kernel->device->handle);
        if (result != CUDA_SUCCESS) {
            return fail_load(kernel, result, "cuKernelSetAttribute",
                             "the config wants more shared memory than the device has");
        }
    }
    return allow_cluster(kernel);
}

/* PTX that nobody has assembled has no registers: they stay 0, which says unknown. */
static jit_gemm_status read_attributes(struct jg_kernel *kernel)
{
    const struct jg_driver *driver = kernel->device->driver;
    if (driver->takes_ptx) {
        return JIT_GEMM_OK;
    }
    const struct {
        CUfunction_attribute attribute;
        uint32_t *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &kernel->registers},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &kernel->local_bytes},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        int value = 0;
        const CUresult result = driver->kernel_get_attribute(
            &value, wanted[i].attribute, kernel->function, kernel->device->handle);
        if (result != CUDA_SUCCESS) {
            return fail_load(kernel, result, "cuKernelGetAttribute", "");
        }
        *wanted[i].value = (uint32_t)value;
    }
    return JIT_GEMM_OK;
}

/* How many clusters the device holds at once: the size of the persistent grid. */
static jit_gemm_status count_resident_clusters(struct jg_kernel *kernel,
                                               bool *ret_none_fits)
{
    /* As in a launch: the kernel in place of a function, with the attributes set on it. */
    CUfunction function = (CUfunction)kernel->function;
    const struct jg_device *device = kernel->device;
    const struct jg_driver *driver = device->driver;
    const int threads = kernel->choice.derived.threads;
    const int smem_bytes = kernel->choice.derived.smem_bytes;
    const int cluster_ctas = jg_kernel_cluster_ctas(kernel);
    int clusters = 0;
    if (cluster_ctas == 1) {
        int blocks = 0;
        const CUresult result = driver->occupancy_max_active_blocks(
            &blocks, function, threads, (size_t)smem_bytes);
        if (result != CUDA_SUCCESS) {
            return fail_load(kernel, result, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                             "");
        }
        clusters = blocks * device->facts.sm_count;
    } else {
        CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
        attribute.value.clusterDim.x = (unsigned int)cluster_ctas;
        attribute.value.clusterDim.y = 1;
        attribute.value.clusterDim.z = 1;
        const CUlaunchConfig launch = {.gridDimX = (unsigned int)cluster_ctas,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = (unsigned int)threads,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .sharedMemBytes = (unsigned int)smem_bytes,
                                       .attrs = &attribute,
                                       .numAttrs = 1};
        const CUresult result =
            driver->occupancy_max_active_clusters(&clusters, function, &launch);
        if (result != CUDA_SUCCESS) {
            return fail_load(kernel, result, "cuOccupancyMaxActiveClusters",
                             "choose a smaller cluster with problem.config");
        }
    }
    if (clusters < 1) {
        *ret_none_fits = true;
        return jg_fail_system(JIT_GEMM_ERR_LOAD, kernel->entry,
                              "choose a smaller tile, fewer stages or a smaller cluster "
                              "with problem.config",
                              "not one cluster of %d CTAs with %d threads and %d bytes of "
                              "shared memory fits on %s",
                              cluster_ctas, threads, smem_bytes, device->facts.name);
    }
    kernel->resident_clusters = clusters;
    return JIT_GEMM_OK;
}

/* A plan counts on a number that does not depend on the board, so that it is the same on
 * all machines: a board that runs fewer loads what was prewarmed elsewhere, and says so.
 * Who plans for it names what it runs, where plans have a word for that. */
static void log_missing_clusters(const struct jg_kernel *kernel, struct jg_log *log)
{
    const int ctas = jg_kernel_cluster_ctas(kernel);
    const int planned = kernel->choice.derived.busy_ctas / ctas;
    if (jg_cluster_parts(&kernel->choice.config) <= 1 ||
        kernel->resident_clusters >= planned) {
        return;
    }
    char word[64] = "";
    if (jg_has_cluster_word(ctas)) {
        snprintf(word, sizeof(word), "clusters_of_%d=%d in plan_for, ", ctas,
                 kernel->resident_clusters);
    }
    jg_log_line(log, JIT_GEMM_SEVERITY_WARNING,
                "%s: %d clusters of %d CTAs run at once on this device, where the plan "
                "counts on %d: launches take a turn more; %scluster= or split_k= in "
                "problem.config names another",
                kernel->entry, kernel->resident_clusters, ctas, planned, word);
}

static void log_differences(const struct jg_kernel *kernel, struct jg_log *log)
{
    const struct jg_derived *derived = &kernel->choice.derived;
    log_missing_clusters(kernel, log);
    if (derived->max_registers > 0 &&
        kernel->registers > (uint32_t)derived->max_registers) {
        jg_log_line(log, JIT_GEMM_SEVERITY_WARNING,
                    "%s: %u registers per thread, the plan allows %d", kernel->entry,
                    kernel->registers, derived->max_registers);
    }
    if (kernel->local_bytes > 0) {
        jg_log_line(log, JIT_GEMM_SEVERITY_WARNING,
                    "%s: %u bytes of local memory a thread: the epilogue or the tile needs "
                    "more registers than there are",
                    kernel->entry, kernel->local_bytes);
    }
    jg_log_line(log, JIT_GEMM_SEVERITY_DEBUG,
                "%s: loaded in %.3f ms, %u registers, %d bytes of shared memory, "
                "%d clusters at once",
                kernel->entry, kernel->load_ms, kernel->registers, derived->smem_bytes,
                kernel->resident_clusters);
}

/* The same of the kernel before, and how many of its CTAs fit. */
static jit_gemm_status bring_first(struct jg_kernel *kernel)
{
    const struct jg_driver *driver = kernel->device->driver;
    struct jg_first_kernel *first = &kernel->first;
    if (first->function == NULL) {
        return JIT_GEMM_OK;
    }
    CUresult result = driver->kernel_get_function(&first->primary, first->function);
    if (result != CUDA_SUCCESS) {
        return fail_load(kernel, result, "cuKernelGetFunction", "");
    }
    int blocks = 0;
    result = driver->occupancy_max_active_blocks(&blocks, (CUfunction)first->function,
                                                 JG_FIRST_THREADS, 0);
    if (result != CUDA_SUCCESS) {
        return fail_load(kernel, result, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "");
    }
    first->resident_ctas = (int)jg_max(blocks, 1) * kernel->device->facts.sm_count;
    return JIT_GEMM_OK;
}

static jit_gemm_status load_in_context(struct jg_kernel *kernel,
                                       const struct jg_module_request *request)
{
    JG_TRY(load_library(kernel, request->binary, request->ret_is_refused));
    /* Brings the code into the primary context now, so that no launch has to. */
    const CUresult result =
        kernel->device->driver->kernel_get_function(&kernel->primary, kernel->function);
    if (result != CUDA_SUCCESS) {
        return fail_load(kernel, result, "cuKernelGetFunction", "");
    }
    JG_TRY(bring_first(kernel));
    JG_TRY(read_attributes(kernel));
    if (kernel->choice.config.launch.debug) {
        JG_TRY(jg_debug_slots_create(kernel));
    }
    return count_resident_clusters(kernel, request->ret_none_fits);
}

/* Around the load: the thread's context, and a capture mode that forbids nothing. */
static jit_gemm_status load_relaxed(struct jg_kernel *kernel,
                                    const struct jg_module_request *request)
{
    const struct jg_driver *driver = kernel->device->driver;
    CUcontext previous = NULL;
    JG_TRY(jg_device_enter(kernel->device, &previous));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const CUresult exchanged = driver->thread_exchange_capture_mode(&mode);
    const double start_ms = jg_now_ms();
    const jit_gemm_status status = load_in_context(kernel, request);
    kernel->load_ms = jg_now_ms() - start_ms;
    if (exchanged == CUDA_SUCCESS) {
        (void)driver->thread_exchange_capture_mode(&mode);
    }
    jg_device_leave(kernel->device, previous);
    return status;
}

static void copy_operands(struct jg_kernel *kernel, const struct jg_epilogue *epilogue)
{
    if (epilogue == NULL) {
        return;
    }
    kernel->operand_count = epilogue->operand_count;
    memcpy(kernel->operands, epilogue->operands,
           epilogue->operand_count * sizeof(kernel->operands[0]));
    snprintf(kernel->epilogue_name, sizeof(kernel->epilogue_name), "%s", epilogue->name);
}

static jit_gemm_status print_config(const struct jg_arch *arch, struct jg_kernel *kernel)
{
    struct jg_str text = {0};
    jg_config_print(&kernel->choice.config, arch->config_keys, &text);
    const jit_gemm_status status = jg_str_status(&text);
    snprintf(kernel->config, sizeof(kernel->config), "%s", jg_str_text(&text));
    jg_str_free(&text);
    return status == JIT_GEMM_OK ? JIT_GEMM_OK : jg_fail_memory();
}

static jit_gemm_status describe_product(const struct jg_module_request *request,
                                        struct jg_kernel *kernel)
{
    kernel->problem = *request->problem;
    kernel->problem.epilogue = NULL;
    copy_operands(kernel, request->problem->epilogue);
    return print_config(request->arch, kernel);
}

jit_gemm_status jg_module_load(struct jg_device *device,
                               const struct jg_module_request *request,
                               struct jg_kernel **ret_kernel)
{
    struct jg_kernel *kernel = jg_alloc(sizeof(*kernel));
    if (kernel == NULL) {
        return jg_fail_memory();
    }
    atomic_init(&kernel->references, 1);
    kernel->device = jg_device_retain(device);
    kernel->choice = *request->choice;
    snprintf(kernel->arch, sizeof(kernel->arch), "%s", request->arch->name);
    snprintf(kernel->entry, sizeof(kernel->entry), "%s", request->entry);
    memcpy(kernel->key, request->binary->key, sizeof(kernel->key));
    jit_gemm_status status = JIT_GEMM_OK;
    if (request->problem != NULL) {
        status = describe_product(request, kernel);
    }
    if (status == JIT_GEMM_OK) {
        status = load_relaxed(kernel, request);
    }
    if (status != JIT_GEMM_OK) {
        jg_kernel_release(kernel);
        return status;
    }
    log_differences(kernel, request->log);
    if (request->problem != NULL) {
        kernel->exact_grid = jg_grid_of_exact_sizes(kernel);
    }
    *ret_kernel = kernel;
    return JIT_GEMM_OK;
}

struct jg_kernel *jg_kernel_retain(struct jg_kernel *kernel)
{
    atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed);
    return kernel;
}

void jg_kernel_release(struct jg_kernel *kernel)
{
    if (kernel == NULL ||
        atomic_fetch_sub_explicit(&kernel->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    jg_debug_slots_destroy(kernel);
    if (kernel->library != NULL) {
        (void)kernel->device->driver->library_unload(kernel->library);
    }
    jg_device_release(kernel->device);
    jg_free(kernel);
}

jit_gemm_status jg_module_refuse_capture(const struct jg_device *device)
{
    CUcontext previous = NULL;
    JG_TRY(jg_device_enter(device, &previous));
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = device->driver->stream_is_capturing(NULL, &capture);
    jg_device_leave(device, previous);
    const bool is_implicit = result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!is_implicit &&
        (result != CUDA_SUCCESS || capture == CU_STREAM_CAPTURE_STATUS_NONE)) {
        return JIT_GEMM_OK;
    }
    return jg_fail_system(JIT_GEMM_ERR_CAPTURE, "stream",
                          "create the kernel before the capture begins",
                          "%s is being captured, and the kernel must be built and loaded",
                          is_implicit ? "a stream of this device" : "the default stream");
}
