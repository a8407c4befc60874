/* SPDX-License-Identifier: MIT */
/* Blackwell: what is tried, and how the rest of a config is filled in. */
#include "base/math.h"
#include "plan/cluster.h"
#include "plan/raster.h"
#include "plan/sm100a/sm100a.h"
#include "plan/split.h"

/* Elements of a CTA's rows and an MMA's columns up to which a stage has 4 or 2 blocks. */
enum { K_GROUP_4_TILE = 64 * 16, K_GROUP_2_TILE = 64 * 96 };

/* Of the predicted time, for which eight warps write and not four. */
#define LEAST_WARPS_GAIN 0.03

/* What is tried, in order of preference between equals. CTAs of 64 rows come in pairs only:
 * a CTA that multiplies 64 rows by itself takes as long as for 128. Where D has few rows in
 * memory, the transposed product wastes least: many CTAs share the length of the rows. */
static const struct candidate {
    int m, n, cta_group; /* of the MMA */
    int cluster_m, cluster_n;
    bool transposed; /* does D lie as the transpose of the product? */
} candidates[] = {
    {256, 256, 2, 2, 1, false}, {256, 256, 2, 4, 1, false}, {256, 256, 2, 2, 2, false},
    {256, 192, 2, 2, 1, false}, {256, 192, 2, 4, 1, false}, {256, 192, 2, 2, 2, false},
    {256, 128, 2, 2, 1, false}, {256, 128, 2, 4, 1, false}, {256, 128, 2, 2, 2, false},
    {128, 256, 1, 1, 1, false}, {128, 256, 1, 2, 1, false}, {128, 256, 1, 1, 2, false},
    {128, 192, 1, 1, 1, false}, {128, 192, 1, 2, 1, false}, {128, 192, 1, 1, 2, false},
    {128, 128, 1, 1, 1, false}, {128, 128, 1, 2, 1, false}, {128, 128, 1, 1, 2, false},
    {128, 64, 1, 1, 1, false},  {128, 64, 1, 2, 1, false},  {128, 64, 1, 1, 2, false},
    {128, 128, 2, 2, 1, false}, {128, 64, 2, 2, 1, false},  {128, 32, 2, 2, 1, false},
    {128, 16, 1, 1, 1, true},   {128, 32, 1, 1, 1, true},   {128, 32, 2, 2, 1, true},
    {128, 64, 2, 2, 1, true},   {128, 64, 1, 1, 1, true},
};

/* Besides, where sums of a gated D are multiplied by scales of blocks: as many columns as
 * there are registers for, and half of a block of D for each team. */
static const struct candidate of_gated_sums[] = {
    {128, 256, 2, 2, 1, false},
    {128, 256, 2, 4, 1, false},
};

/* Besides, where the tensor core multiplies by scales: beside two accumulators of so many
 * columns tensor memory has the cells of four stages, of 224 those of MXFP8, of 160 those
 * of NVFP4. Tiles of 240 columns would begin inside of a cell. */
static const struct candidate of_scales[] = {
    {256, 224, 2, 2, 1, false}, {256, 224, 2, 4, 1, false}, {256, 160, 2, 2, 1, false},
    {256, 160, 2, 4, 1, false}, {128, 224, 1, 1, 1, false}, {128, 160, 1, 1, 1, false},
    {256, 192, 2, 2, 1, true},
};

/* Besides, pairs that have rows of D as columns: beside such scales, because a pair has 256
 * rows then, and D of some hundred would leave many empty; and where blocks of 128 rows
 * have a B each, because a cluster's tiles have no more of them. */
static const struct candidate of_pairs[] = {
    {256, 128, 2, 2, 1, true},
    {256, 64, 2, 2, 1, true},
};

/* Besides, of such blocks of rows. */
static const struct candidate of_row_blocks[] = {
    {256, 128, 2, 4, 1, true},
    {128, 128, 1, 1, 1, true},
};

#define JG_LIST(array, is_there)                                            \
    {                                                                       \
        (array), (is_there) ? (int)(sizeof(array) / sizeof((array)[0])) : 0 \
    }

/* NULL past the last one. */
static const struct candidate *find_candidate(const struct jg_problem *problem, int index)
{
    const struct jg_product product = jg_product_make(problem, false);
    const bool scales = jg_product_is_block_scaled(&product);
    const bool rows = problem->group_by == JIT_GEMM_GROUP_BY_ROWS;
    const struct {
        const struct candidate *list;
        int count;
    } lists[] = {
        JG_LIST(candidates, true),
        JG_LIST(of_scales, scales),
        JG_LIST(of_gated_sums, product.is_gated && jg_product_promotes_scales(&product)),
        JG_LIST(of_pairs, scales || rows),
        JG_LIST(of_row_blocks, rows),
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && index >= 0; i++) {
        if (index < lists[i].count) {
            return &lists[i].list[index];
        }
        index -= lists[i].count;
    }
    return NULL;
}

bool jg_sm100a_candidate(const struct jg_problem *problem, int index,
                         struct jg_config *ret_config)
{
    const struct candidate *candidate = find_candidate(problem, index);
    if (candidate == NULL) {
        return false;
    }
    const bool by_columns = jg_problem_is_column_major(problem);
    *ret_config =
        (struct jg_config){.kernel = JG_KERNEL_GEMM,
                           .layout = {.mma_m = candidate->m,
                                      .mma_n = candidate->n,
                                      .cta_group = candidate->cta_group,
                                      .cluster_m = candidate->cluster_m,
                                      .cluster_n = candidate->cluster_n,
                                      .swap_ab = candidate->transposed != by_columns}};
    return true;
}

/* Of all CTAs, where they have no parts of K by cluster. */
static int64_t count_items(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int64_t ctas = (int64_t)layout->cluster_m * layout->cluster_n;
    return trial->config.launch.split_tail > 0
               ? jg_split_entries(&trial->config, trial->derived.tiles / ctas) * ctas
               : trial->derived.tiles * trial->config.launch.split_k;
}

/* Do all CTAs run at once, with a tile each, whatever the sizes of a launch? */
static bool is_one_wave(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const bool exact = product->m.mode == JIT_GEMM_DIM_EXACT &&
                       product->n.mode == JIT_GEMM_DIM_EXACT &&
                       product->batch.mode == JIT_GEMM_DIM_EXACT;
    struct jg_trial counted = *trial;
    return exact && jg_resident_ctas(&trial->config, trial->facts) > 0 &&
           jg_tiles_count(&counted) && count_items(&counted) <= counted.derived.busy_ctas;
}

/*
 * One wave needs no loop. For all else the hardware hands tiles out. A multiprocessor may
 * be late, because another kernel still has it or the previous one is slow to leave: it
 * then gets fewer tiles, where a static share would be waited for. The grid also follows
 * the sizes of each launch. The price is one warp and, as others have measured, about 1 us
 * from a request to its response, which passes while the previous tile is loaded. The
 * choice rests on such published figures (kernels of this kind reach cuBLAS with either);
 * nothing here was timed on the chip, hence scheduler=static for those who want to compare.
 * Parts of K keep the static share, where a cluster waits for its neighbour only
 * (jg/schedule/tile_order.cuh).
 */
static enum jg_scheduler choose_scheduler(const struct jg_trial *trial)
{
    if (jg_keeps_sums(&trial->config) || is_one_wave(trial)) {
        return JG_SCHEDULER_SINGLE;
    }
    return trial->config.launch.split_k > 1 || jg_loads_by_threads(&trial->product)
               ? JG_SCHEDULER_STATIC
               : JG_SCHEDULER_CLC;
}

/* One accumulator is enough where each CTA has one tile. */
static int choose_acc_stages(const struct jg_trial *trial)
{
    if (jg_product_promotes_scales(&trial->product)) { /* each block of K takes one */
        return JG_SM100A_MAX_ACC_STAGES;
    }
    return trial->config.launch.scheduler == JG_SCHEDULER_SINGLE || is_one_wave(trial)
               ? 1
               : JG_SM100A_MAX_ACC_STAGES;
}

/*
 * A stage has several blocks of K where a tile is so small that a block is multiplied in
 * about the time that its barriers take; the bounds are those of published kernels, tuned
 * on the chip. Two stages at least are to be filled.
 */
static int choose_k_group(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int tile = layout->tile_m * layout->mma_n;
    if (jg_product_promotes_scales(&trial->product) ||
        jg_product_is_block_scaled(&trial->product)) {
        return 1;
    }
    int k_group = tile <= K_GROUP_4_TILE ? 4 : tile <= K_GROUP_2_TILE ? 2 : 1;
    while (k_group > 1 && jg_split_blocks(trial) < 2 * (int64_t)k_group) {
        k_group /= 2;
    }
    return k_group;
}

static void complete_layout(const struct jg_product *product,
                            struct jg_config_layout *layout)
{
    layout->tile_m = jg_product_gate_rows(product) * (layout->mma_m / layout->cta_group);
    layout->tile_n = layout->mma_n;
    layout->tile_k = jg_tile_k(product);
    if (layout->tile_m == 0) { /* mma=1x.. of a pair: refused later */
        layout->tile_m = 1;
    }
}

/* The rest of the config where there are so many accumulators. */
static void complete_storage(struct jg_trial *trial, int acc_stages)
{
    const struct jg_config_override *override = trial->override;
    struct jg_config *config = &trial->config;
    config->storage.acc_stages = acc_stages;
    struct jg_stage_limits limits = jg_sm100a_stage_limits(trial);
    config->pipeline.stages = limits.most; /* whose barriers are counted */
    const struct jg_smem smem = jg_sm100a_smem(trial);
    limits.most = (int)jg_min(limits.most, jg_sm100a_scaled_stages(trial));
    config->pipeline.stages = override->has_stages
                                  ? override->values.pipeline.stages
                                  : jg_stages_choose(trial, &smem, &limits, 1);
}

/* Scales of all stages lie beside the accumulators: a second one may cost stages of the
 * ring, or have no room. The model says which is less. */
static void choose_scaled_storage(struct jg_trial *trial)
{
    struct jg_trial one = *trial, more = *trial;
    complete_storage(&one, 1);
    complete_storage(&more, choose_acc_stages(trial));
    const bool has_more = jg_sm100a_derive(&more);
    const bool has_one = jg_sm100a_derive(&one);
    trial->config =
        has_more && (!has_one || more.derived.predicted_us < one.derived.predicted_us)
            ? more.config
            : one.config;
}

/* Accumulators, and stages of the input ring beside all else. */
static void complete_ring(struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    if (override->has_acc_stages) {
        complete_storage(trial, override->values.storage.acc_stages);
    } else if (jg_product_is_block_scaled(&trial->product)) {
        choose_scaled_storage(trial);
    } else {
        complete_storage(trial, choose_acc_stages(trial));
    }
}

/* Stages of all kinds, where so many warps write, and what every chip has. */
static void complete_stages(struct jg_trial *trial, int epilogue_warps)
{
    trial->config.layout.epilogue_warps = epilogue_warps;
    const struct jg_team_columns columns = jg_sm100a_team_columns(trial);
    jg_trial_complete(trial, jg_out_stages_choose(trial->problem, &columns));
    complete_ring(trial);
}

/*
 * Eight warps write where the tensor core, or the end of a CTA, would wait for four: one of
 * a scheduler's two has instructions while the other waits. Their store tiles would cost a
 * stage of the ring, so that each has one where that is enough. The model says whether they
 * are worth it.
 */
static void choose_epilogue_warps(struct jg_trial *trial)
{
    struct jg_trial four = *trial, eight = *trial;
    complete_stages(&four, 0);
    trial->config = four.config;
    if (!jg_sm100a_derive(&four)) {
        return;
    }
    const struct jg_output *output = &four.derived.output;
    const bool has_one_buffer =
        output->epilogue == JG_EPILOGUE_FRAGMENTS && output->loads_per_step == 0;
    complete_stages(&eight, 2 * JG_SM100A_EPILOGUE_WARPS);
    if (has_one_buffer && !trial->override->has_out_stages) {
        eight.config.storage.out_stages = 1;
        complete_ring(&eight);
    }
    if (jg_sm100a_derive(&eight) &&
        eight.derived.predicted_us < four.derived.predicted_us * (1.0 - LEAST_WARPS_GAIN)) {
        trial->config = eight.config;
    }
}

void jg_sm100a_complete(struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    const struct jg_config *wanted = &override->values;
    struct jg_config *config = &trial->config;
    complete_layout(&trial->product, &config->layout);
    config->pipeline.prefetch =
        override->has_prefetch ? wanted->pipeline.prefetch : JG_PREFETCH_NONE;
    config->launch.scheduler =
        override->has_scheduler ? wanted->launch.scheduler : choose_scheduler(trial);
    config->pipeline.k_group =
        override->has_k_group ? wanted->pipeline.k_group : choose_k_group(trial);
    jg_raster_choose(trial);
    if (override->has_epilogue_warps) {
        complete_stages(trial, wanted->layout.epilogue_warps);
    } else {
        choose_epilogue_warps(trial);
    }
}
