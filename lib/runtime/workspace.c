/* SPDX-License-Identifier: MIT */
#include "runtime/workspace.h"

#include "base/error.h"
#include "base/math.h"
#include "plan/reduction.h"
#include "plan/split.h"
#include "runtime/group_maps.h"
#include "runtime/repack.h"
#include "runtime/scale_pack.h"

static bool folds_tiles(const struct jg_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        if (kernel->choice.derived.output.reduces &&
            jg_operand_needs_workspace(&kernel->operands[i])) {
            return true;
        }
    }
    return false;
}

/* Why the kernel needs a workspace; NULL if it needs none. */
static const char *find_need(const struct jg_kernel *kernel)
{
    const bool splits = jg_workspace_parts(&kernel->choice.config) > 1;
    if (jg_is_repacked(&kernel->choice.config)) {
        return "copies A or B first";
    }
    if (jg_has_group_maps(&kernel->choice.config)) {
        return "writes maps of groups first";
    }
    if (jg_packs_scales(&kernel->choice.product)) {
        return "packs scales first";
    }
    if (folds_tiles(kernel)) {
        return splits ? "splits K and has reductions," : "has reductions";
    }
    return splits ? "splits K" : NULL;
}

static jit_gemm_status check_address(const char *need, uint64_t address, int64_t needed)
{
    if (address == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.workspace",
                       "give the address of so much device memory, filled with zeros once",
                       "this kernel %s and needs a workspace of %lld bytes", need,
                       (long long)needed);
    }
    if (address % JG_WORKSPACE_ALIGNMENT != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.workspace",
                       "give an address as the driver allocates it",
                       "the address 0x%llx is misaligned: no multiple of %d",
                       (unsigned long long)address, JG_WORKSPACE_ALIGNMENT);
    }
    return JIT_GEMM_OK;
}

static struct jg_reduction_frame frame_of(const struct jg_kernel *kernel,
                                          const struct jg_kernel_params *params)
{
    const struct jg_choice *choice = &kernel->choice;
    return jg_reduction_frame_make(
        &choice->config, &choice->product, &choice->derived.output,
        jg_product_size(&choice->product, params->m, params->n), params->batch);
}

static int64_t count_tiles(const struct jg_kernel *kernel,
                           const struct jg_kernel_params *params)
{
    const struct jg_product_size size =
        jg_product_size(&kernel->choice.product, params->m, params->n);
    const struct jg_cluster_tiles tiles =
        jg_kernel_cluster_tiles(kernel, size.m, size.n, params->batch);
    const struct jg_config_layout *layout = &kernel->choice.config.layout;
    return tiles.tiles * tiles.batch * layout->cluster_m * layout->cluster_n;
}

/* What the launch takes of its workspace, if that has as many words. */
static jit_gemm_status measure(const struct jg_kernel *kernel,
                               const struct jg_kernel_params *params,
                               struct jg_workspace_use *ret_use)
{
    const struct jg_config *config = &kernel->choice.config;
    if (config->kernel == JG_KERNEL_REFERENCE) { /* it has no tiles, and folds none */
        *ret_use = (struct jg_workspace_use){0};
        return JIT_GEMM_OK;
    }
    const int64_t tiles = count_tiles(kernel, params);
    if (jg_split_use(config, tiles, kernel->choice.derived.sums_bytes).words >
        JG_WORKSPACE_WORDS) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, "args.workspace",
            "split the matrix over several launches, or create the kernel "
            "without split_k",
            "a workspace has locks for %d tiles, but %u x %u with batch %u makes "
            "%lld",
            JG_WORKSPACE_TILES, params->m, params->n, params->batch, (long long)tiles);
    }
    const struct jg_reduction_frame frame = frame_of(kernel, params);
    *ret_use = jg_workspace_measure(config, tiles, kernel->choice.derived.sums_bytes,
                                    &frame, kernel->operands, kernel->operand_count);
    if (ret_use->words > JG_WORKSPACE_WORDS) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "args.workspace",
                       "split the matrix or the batch over several launches",
                       "a workspace has %d counters for reductions, but %u x %u with batch "
                       "%u needs %lld",
                       JG_WORKSPACE_WORDS, params->m, params->n, params->batch,
                       (long long)ret_use->words);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_workspace_resolve(const struct jg_kernel *kernel,
                                     const jit_gemm_args *args,
                                     struct jg_kernel_params *params)
{
    const char *need = find_need(kernel);
    params->workspace = 0;
    if (need == NULL) {
        return JIT_GEMM_OK;
    }
    const int64_t planned = kernel->choice.derived.workspace_bytes;
    struct jg_workspace_use use = {0};
    JG_TRY(measure(kernel, params, &use));
    const int64_t copies = jg_repack_workspace_bytes(kernel, params, use.bytes);
    const int64_t maps = jg_group_maps_workspace_bytes(kernel, params, copies);
    const int64_t needed = jg_scale_pack_workspace_bytes(kernel, params, maps);
    JG_TRY(check_address(need, args->workspace, jg_max(needed, planned)));
    const bool is_given = args->workspace_bytes != 0;
    const uint64_t bytes = is_given ? args->workspace_bytes : (uint64_t)planned;
    if (bytes < (uint64_t)needed) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.workspace_bytes",
                       is_given ? "give a larger workspace"
                                : "give a workspace of that size and its bytes here, or "
                                  "create the kernel with the largest sizes",
                       "%u x %u with batch %u needs a workspace of %lld bytes, %llu are %s",
                       params->m, params->n, params->batch, (long long)needed,
                       (unsigned long long)bytes, is_given ? "given" : "planned");
    }
    params->workspace = args->workspace;
    return JIT_GEMM_OK;
}

void jg_workspace_place_reductions(const struct jg_kernel *kernel,
                                   struct jg_kernel_params *params)
{
    if (!folds_tiles(kernel)) {
        return;
    }
    const struct jg_reduction_frame frame = frame_of(kernel, params);
    struct jg_workspace_use use =
        jg_workspace_measure(&kernel->choice.config, count_tiles(kernel, params),
                             kernel->choice.derived.sums_bytes, &frame, NULL, 0);
    use.bytes = jg_max(use.bytes, JG_WORKSPACE_SUMS_OFFSET);
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        if (jg_operand_needs_workspace(&kernel->operands[i])) {
            const struct jg_reduction_place place =
                jg_reduction_reserve(&frame, &kernel->operands[i], &use);
            params->operands[i].ld = place.offset_bytes;
            params->operands[i].batch_step = (uint32_t)place.counter;
        }
    }
}

void jg_workspace_place_copies(const struct jg_kernel *kernel,
                               struct jg_kernel_params *params, struct jg_map_key *keys,
                               struct jg_first_params *ret_first)
{
    struct jg_workspace_use use = {0};
    if (jg_first_entry(&kernel->choice.config, &kernel->choice.product) == NULL) {
        return;
    }
    if (kernel->choice.config.kernel != JG_KERNEL_REFERENCE) {
        const struct jg_reduction_frame frame = frame_of(kernel, params);
        use = jg_workspace_measure(&kernel->choice.config, count_tiles(kernel, params),
                                   kernel->choice.derived.sums_bytes, &frame,
                                   kernel->operands, kernel->operand_count);
    }
    if (jg_is_repacked(&kernel->choice.config)) {
        jg_repack_fill(kernel, params, use.bytes, keys, &ret_first->repack);
    } else if (jg_has_group_maps(&kernel->choice.config)) {
        jg_group_maps_fill(kernel, params, use.bytes, keys, &ret_first->maps);
    } else {
        jg_scale_pack_fill(kernel, params, use.bytes, keys, &ret_first->scales);
    }
}
