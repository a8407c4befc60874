/* SPDX-License-Identifier: MIT */
/* Configurations of launches: attributes, and the rules that a launch has to keep. */
#include "driver/launch.h"

/* Dimensions as "2x1x1". */
#define SHAPE       "%ux%ux%u"
#define SHAPE_OF(s) (s)[0], (s)[1], (s)[2]

static CUresult refuse_attribute(const char *call, CUfunction function, int attribute)
{
    return emu_refuse(CUDA_ERROR_NOT_SUPPORTED,
                      "%s(%s): launch attribute %d is not supported; leave it out", call,
                      function->ptx->name, attribute);
}

/* A preferred cluster is a hint; it has to be a multiple of the cluster that is sure. */
static CUresult check_preferred(const struct emu_config *config, CUfunction function,
                                const uint32_t preferred[3])
{
    for (int i = 0; i < 3; i++) {
        if (preferred[i] == 0 || preferred[i] % config->cluster[i] != 0) {
            return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                              "%s(%s): preferred cluster " SHAPE
                              " is not a multiple of the cluster " SHAPE,
                              config->call, function->ptx->name, SHAPE_OF(preferred),
                              SHAPE_OF(config->cluster));
        }
    }
    return CUDA_SUCCESS;
}

/* The cluster that holds for the function whatever the launch says; false: none. */
static bool find_required(CUfunction function, uint32_t ret_cluster[3])
{
    const unsigned *required = function->ptx->required_cluster[0] != 0
                                   ? function->ptx->required_cluster
                                   : function->settings->required_cluster;
    for (int i = 0; i < 3; i++) {
        ret_cluster[i] = required[i] == 0 ? 1 : required[i];
    }
    return required[0] != 0 || required[1] != 0 || required[2] != 0;
}

static CUresult resolve_cluster(struct emu_config *config, CUfunction function)
{
    uint32_t required[3];
    bool is_required = find_required(function, required);
    if (!config->cluster_given) {
        for (int i = 0; i < 3; i++) {
            config->cluster[i] = required[i];
        }
        if (!is_required && function->ptx->explicit_cluster) {
            return emu_refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                              "%s(%s): .explicitcluster: the launch has to give a cluster "
                              "dimension",
                              config->call, function->ptx->name);
        }
        return CUDA_SUCCESS;
    }
    if (emu_volume(config->cluster) == 0) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                          "%s(%s): cluster " SHAPE " has a zero dimension", config->call,
                          function->ptx->name, SHAPE_OF(config->cluster));
    }
    for (int i = 0; is_required && i < 3; i++) {
        if (config->cluster[i] != required[i]) {
            return emu_refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                              "%s(%s): cluster " SHAPE " differs from " SHAPE
                              " that the kernel requires",
                              config->call, function->ptx->name, SHAPE_OF(config->cluster),
                              SHAPE_OF(required));
        }
    }
    return CUDA_SUCCESS;
}

static CUresult read_attributes(const CUlaunchConfig *from, CUfunction function,
                                struct emu_config *config, const uint32_t **ret_preferred)
{
    for (unsigned i = 0; i < from->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &from->attrs[i];
        const CUlaunchAttributeValue *value = &attribute->value;
        switch ((int)attribute->id) {
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            break; /* about speed only */
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            config->programmatic = value->programmaticStreamSerializationAllowed != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
            config->cooperative = value->cooperative != 0;
            break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            config->cluster[0] = value->clusterDim.x;
            config->cluster[1] = value->clusterDim.y;
            config->cluster[2] = value->clusterDim.z;
            config->cluster_given = true;
            break;
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
            *ret_preferred = &value->preferredClusterDim.x;
            break;
        default:
            return refuse_attribute(config->call, function, (int)attribute->id);
        }
    }
    return CUDA_SUCCESS;
}

CUresult emu_config_read(const char *call, const CUlaunchConfig *from, CUfunction function,
                         struct emu_config *ret_config)
{
    const uint32_t *preferred = NULL;
    *ret_config =
        (struct emu_config){.call = call,
                            .grid = {from->gridDimX, from->gridDimY, from->gridDimZ},
                            .block = {from->blockDimX, from->blockDimY, from->blockDimZ},
                            .dynamic_bytes = from->sharedMemBytes,
                            .stream = from->hStream};
    if (from->numAttrs > 0 && from->attrs == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = read_attributes(from, function, ret_config, &preferred);
    if (result == CUDA_SUCCESS) {
        result = resolve_cluster(ret_config, function);
    }
    if (result == CUDA_SUCCESS && preferred != NULL) {
        result = check_preferred(ret_config, function, preferred);
    }
    return result;
}

/* ------------------------------------------------------------------------------ rules */

static CUresult check_block(const struct emu_config *config, CUfunction function)
{
    static const uint32_t most[3] = {1024, 1024, 64};
    const struct ptx_function *ptx = function->ptx;
    for (int i = 0; i < 3; i++) {
        if (config->block[i] == 0 || config->block[i] > most[i]) {
            return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                              "%s(%s): block " SHAPE ": dimension %c must be 1 to %u",
                              config->call, ptx->name, SHAPE_OF(config->block), 'x' + i,
                              most[i]);
        }
    }
    uint64_t threads = emu_volume(config->block);
    if (threads > 1024) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                          "%s(%s): block " SHAPE " has %llu threads; at most 1024",
                          config->call, ptx->name, SHAPE_OF(config->block),
                          (unsigned long long)threads);
    }
    for (int i = 0; ptx->required_threads[0] != 0 && i < 3; i++) {
        uint32_t required = ptx->required_threads[i] == 0 ? 1 : ptx->required_threads[i];
        if (config->block[i] != required) {
            return emu_refuse(
                CUDA_ERROR_INVALID_VALUE,
                "%s(%s): block " SHAPE ": .reqntid demands %u in dimension %c",
                config->call, ptx->name, SHAPE_OF(config->block), required, 'x' + i);
        }
    }
    if (threads > emu_function_max_threads(ptx)) {
        return emu_refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                          "%s(%s): block " SHAPE " has %llu threads; .maxntid allows %u",
                          config->call, ptx->name, SHAPE_OF(config->block),
                          (unsigned long long)threads, emu_function_max_threads(ptx));
    }
    return CUDA_SUCCESS;
}

static CUresult check_shared(const struct emu_config *config, CUfunction function)
{
    unsigned allowed = function->settings->max_dynamic_bytes;
    if (config->dynamic_bytes > allowed) {
        return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                          "%s(%s): %llu bytes of dynamic shared memory; %u are allowed: "
                          "raise CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
                          config->call, function->ptx->name,
                          (unsigned long long)config->dynamic_bytes, allowed);
    }
    return CUDA_SUCCESS;
}

static CUresult check_cluster(const struct emu_config *config, CUfunction function)
{
    const struct ptx_function *ptx = function->ptx;
    uint64_t size = emu_volume(config->cluster);
    if (size > EMU_MAX_CLUSTER) {
        return emu_refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                          "%s(%s): cluster " SHAPE " has %llu CTAs; at most %u",
                          config->call, ptx->name, SHAPE_OF(config->cluster),
                          (unsigned long long)size, EMU_MAX_CLUSTER);
    }
    if (size > EMU_PORTABLE_CLUSTER_SIZE && !function->settings->non_portable_cluster) {
        return emu_refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                          "%s(%s): cluster " SHAPE " has %llu CTAs; more than %u need "
                          "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
                          config->call, ptx->name, SHAPE_OF(config->cluster),
                          (unsigned long long)size, EMU_PORTABLE_CLUSTER_SIZE);
    }
    if (ptx->max_cluster_rank != 0 && size > ptx->max_cluster_rank) {
        return emu_refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                          "%s(%s): cluster " SHAPE " has %llu CTAs; .maxclusterrank "
                          "allows %u",
                          config->call, ptx->name, SHAPE_OF(config->cluster),
                          (unsigned long long)size, ptx->max_cluster_rank);
    }
    return CUDA_SUCCESS;
}

CUresult emu_config_check_shape(const struct emu_config *config, CUfunction function)
{
    CUresult result = check_block(config, function);
    if (result == CUDA_SUCCESS) {
        result = check_shared(config, function);
    }
    return result == CUDA_SUCCESS ? check_cluster(config, function) : result;
}

/* Registers count by their upper bound, so that a grid that is said to fit does fit
 * whatever the compiler chooses. */
unsigned emu_config_ctas_per_sm(CUfunction function, unsigned threads,
                                uint64_t dynamic_bytes)
{
    unsigned warps = (threads + 31) / 32;
    if (warps == 0 || threads > emu_function_max_threads(function->ptx)) {
        return 0;
    }
    /* Shared memory is given in pieces of 128 bytes, registers in 256 per warp. */
    uint64_t shared_bytes = emu_align_up(
        dynamic_bytes + function->program->static_shared_bytes + EMU_SHARED_FIRST, 128);
    uint64_t registers =
        emu_align_up(emu_function_registers(function->ptx), 8) * 32 * warps;
    uint64_t limits[] = {EMU_SM_CTAS, EMU_SM_WARPS / warps,
                         EMU_SHARED_SM_BYTES / shared_bytes, EMU_SM_REGISTERS / registers};
    uint64_t least = limits[0];
    for (unsigned i = 1; i < sizeof(limits) / sizeof(limits[0]); i++) {
        least = limits[i] < least ? limits[i] : least;
    }
    return (unsigned)least;
}

unsigned emu_config_active_clusters(const struct emu_config *config, CUfunction function)
{
    const struct emu_profile *profile = function->object.context->device->profile;
    unsigned threads = (unsigned)emu_volume(config->block);
    unsigned per_sm = emu_config_ctas_per_sm(function, threads, config->dynamic_bytes);
    unsigned size = (unsigned)emu_volume(config->cluster);
    unsigned clusters = 0;
    for (unsigned i = 0; i < sizeof(profile->gpc_sms) / sizeof(profile->gpc_sms[0]); i++) {
        clusters += profile->gpc_sms[i] * per_sm / size;
    }
    unsigned most = (unsigned)emu_device_sm_count(profile) * per_sm / size;
    return clusters < most ? clusters : most;
}

CUresult emu_config_check_grid(const struct emu_config *config, CUfunction function)
{
    static const uint32_t most[3] = {2147483647, 65535, 65535};
    const char *name = function->ptx->name;
    for (int i = 0; i < 3; i++) {
        if (config->grid[i] == 0 || config->grid[i] > most[i]) {
            return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                              "%s(%s): grid " SHAPE ": dimension %c must be 1 to %u",
                              config->call, name, SHAPE_OF(config->grid), 'x' + i, most[i]);
        }
        if (config->grid[i] % config->cluster[i] != 0) {
            return emu_refuse(CUDA_ERROR_INVALID_VALUE,
                              "%s(%s): grid " SHAPE " is not a multiple of cluster " SHAPE
                              " in dimension %c",
                              config->call, name, SHAPE_OF(config->grid),
                              SHAPE_OF(config->cluster), 'x' + i);
        }
    }
    uint64_t size = emu_volume(config->cluster);
    uint64_t resident = emu_config_active_clusters(config, function) * size;
    if (config->cooperative && emu_volume(config->grid) > resident) {
        return emu_refuse(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                          "%s(%s): cooperative grid " SHAPE
                          ": only %llu CTAs of this shape fit the device at once",
                          config->call, name, SHAPE_OF(config->grid),
                          (unsigned long long)resident);
    }
    return CUDA_SUCCESS;
}
