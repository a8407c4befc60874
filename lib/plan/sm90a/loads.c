/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/math.h"
#include "plan/groups.h"
#include "plan/scale.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"

enum {
    ATOM_ROWS = 8,     /* after which the swizzle is the same again */
    SHARED_ROWS = 256, /* of which each warpgroup has two blocks, one after the other */
    LEAST_HELD_ELEMS = 64 * 64, /* narrower ones stream weights */
    LEAST_WRITTEN_BLOCKS = 32,  /* of K, between what lost and what gained */
    MOST_HELD_ELEMS = 128 * 128 - 1
};

int jg_sm90a_loaded_rows(const struct jg_product *product, const struct jg_matrix *matrix,
                         const jit_gemm_dim *size, int tile, int boxes)
{
    const bool is_known =
        size->mode == JIT_GEMM_DIM_EXACT && product->group_by == JIT_GEMM_GROUP_NONE;
    const int64_t step = boxes == 1 ? 1 : (int64_t)boxes * ATOM_ROWS;
    return is_known && boxes > 0 && !matrix->is_mn_major && !jg_loads_by_threads(product)
               ? (int)jg_max(1, jg_min(jg_align_up(size->size, step), tile))
               : tile;
}

/* Of warpgroups that would look for an item in the list of groups between two tiles: 1000
 * clocks, of 12000 for two tiles of 128 x 2048 x 768 e4m3. Those with every other tile have
 * the time where elements of 16 bits are multiplied, which take twice as long (then it
 * costs 1 to 3 percent, H200), and no registers for it beside matrices by pointers. */
bool jg_sm90a_passes_items(const struct jg_trial *trial)
{
    const jit_gemm_group_by group_by = trial->product.group_by;
    const bool looks_in_time =
        trial->config.layout.pingpong != 0 && (jg_dtype_bits(trial->product.a.dtype) > 8 ||
                                               group_by == JIT_GEMM_GROUP_BY_POINTERS);
    if (trial->product.has_row_boxes && jg_product_promotes_scales(&trial->product)) {
        return true; /* they have no registers for it (jg/sm90a/item_slots.cuh) */
    }
    return jg_has_row_groups(group_by) && group_by != JIT_GEMM_GROUP_BY_ROWS &&
           !looks_in_time && !jg_loads_by_threads(&trial->product);
}

/* A search of the list and several divisions, meanwhile nothing is sent: H200, groups of
 * 512 rows, with turns that are handed on while the last products are made, 0.97 to 0.99 of
 * the time; where warpgroups share tiles, 1.00. Threads that load, and a warp that copies
 * rows, look for themselves. */
bool jg_sm90a_passes_loads(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    return (product->group_by == JIT_GEMM_GROUP_BY_OFFSETS ||
            product->group_by == JIT_GEMM_GROUP_BY_COUNTS) &&
           trial->config.layout.pingpong != 0 && !jg_loads_by_threads(product) &&
           trial->problem->a_rows != JIT_GEMM_ROWS_INDEXED;
}

int jg_sm90a_turned_slices(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    if (!trial->derived.turns_last) {
        return 0;
    }
    return product->a.is_mn_major || jg_loads_by_threads(product) || product->has_row_boxes
               ? 1
               : 2;
}

/* Where sums are added up in registers: else the tensor core works for the other warpgroup
 * meanwhile, and bf16 in 256x128 took 0.97 to 1.02 of the time, more than in other tiles.
 * C and matrices come for the rows that a warpgroup always has, and results that are
 * counted or scaled by tiles need all of one. Beside scales of single columns no registers
 * are left. */
bool jg_sm90a_shares_short(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_output *output = &trial->derived.output;
    const jit_gemm_scale *b_scale = &product->b.scale;
    const bool has_column_scales =
        b_scale->kind == JIT_GEMM_SCALE_BLOCK && b_scale->block_mn <= 1;
    return jg_has_row_groups(product->group_by) &&
           product->group_by != JIT_GEMM_GROUP_BY_ROWS && !product->d_is_transpose &&
           trial->config.layout.tile_m == SHARED_ROWS &&
           trial->config.layout.pingpong == 0 && jg_sm90a_promotes(product) &&
           jg_product_gate_rows(product) == 1 && !output->reduces &&
           output->loads_per_step == 0 && !jg_scale_is_square(&product->d.scale) &&
           !has_column_scales;
}

static bool writes_matrix(const struct jg_epilogue *epilogue)
{
    bool found = false;
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        found |= epilogue->operands[i].role == JIT_GEMM_OPERAND_OUTPUT;
    }
    return found;
}

/* Where CTAs end at different times, because their epilogues take long. H200, launches
 * behind each other: reductions 0.86 of 1024x1024x4096 and 0.98 of 1024^3 (parts of K
 * 1.035); 84 products with silu, sigmoid, gelu or swiglu in tiles from 64x64 to 64x192
 * 0.972 on average, 0.85 to 1.03, in 128x128 1.006, and 78 without functions 0.998
 * (2026-11-28-h200-next-at-end.jsonl). 1x4096x4096 and 8x6144x4096 took 1.04. Beside a
 * matrix that is assigned relu took 0.88 of 1024x1024x4096, 0.83 of 768x1024x8192, 0.90 of
 * 256x2048x4096, but 1.01 of K = 1024 (2026-11-28-h200-one-wave-ends.jsonl). */
bool jg_sm90a_holds_next(const struct jg_trial *trial)
{
    const int elems = trial->config.layout.tile_m * trial->config.layout.tile_n;
    const struct jg_output *output = &trial->derived.output;
    const struct jg_epilogue *epilogue = trial->problem->epilogue;
    const bool computes =
        epilogue != NULL &&
        (epilogue->long_calls > 0 ||
         (writes_matrix(epilogue) && jg_split_blocks(trial) >= LEAST_WRITTEN_BLOCKS)) &&
        output->loads_per_step == 0 && trial->product.group_by == JIT_GEMM_GROUP_NONE;
    return trial->config.launch.split_k == 1 &&
           (output->reduces ||
            (computes && elems >= LEAST_HELD_ELEMS && elems <= MOST_HELD_ELEMS));
}

/* Of a CTA with one tile the end only comes later, unless the first warpgroup's functions
 * have begun meanwhile and the tensor core takes as long as a block's loads. H200, 1024^3,
 * 512x2048x1024 and 1024x1024x4096: silu 0.970, 0.980 and 0.992 of the time, sigmoid 0.984,
 * 0.981 and 0.988, gelu 0.991, 0.988 and 0.991, bias_silu 1.00; four stages, and plain and
 * gated products, 1.00 to 1.05; 64x64, where loads take longer, 1.02 to 1.08
 * (2026-11-28-h200-one-wave-ends.jsonl). */
enum { ONE_TILE_LEAD = 2, ONE_TILE_M = 64, ONE_TILE_N = 128, ONE_TILE_BLOCKS = 16 };

static int count_one_tile_lead(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const bool has_time = config->layout.tile_m == ONE_TILE_M &&
                          config->layout.tile_n == ONE_TILE_N &&
                          jg_split_blocks(trial) >= ONE_TILE_BLOCKS &&
                          !trial->product.d_is_transpose && !trial->problem->is_gated &&
                          config->launch.resident <= 1 && jg_sm90a_holds_next(trial) &&
                          trial->derived.output.epilogue == JG_EPILOGUE_FRAGMENTS;
    return has_time ? ONE_TILE_LEAD : 0;
}

/*
 * All of the ring's stages but the one in flight. bench/results/README.md has what that
 * brings and costs. None
 * - of tiles shorter than the ring, or where each warpgroup has tiles of its own;
 * - where sums are promoted: there one adds while the tensor core works for the other;
 * - where C or a matrix comes through the ring: behind the stages that are held back;
 * - where threads load: nobody has measured it there.
 */
int jg_sm90a_lead_stages(const struct jg_trial *trial)
{
    const struct jg_derived *derived = &trial->derived;
    const int stages = trial->config.pipeline.stages;
    const bool has_one_tile =
        derived->waves <= 1.0 || trial->config.launch.scheduler == JG_SCHEDULER_SINGLE;
    const bool ends_together =
        trial->config.layout.pingpong != 0 || derived->one_multiplies ||
        jg_split_blocks(trial) < stages || jg_sm90a_promotes(&trial->product) ||
        derived->output.loads_per_step > 0 || jg_loads_by_threads(&trial->product);
    const int most = ends_together ? 0 : stages - 1;
    return has_one_tile ? (int)jg_min(most, count_one_tile_lead(trial)) : most;
}

/* Before the first stage is full the tensor core has nothing, and registers of a small tile
 * hold its numbers. */
bool jg_sm90a_draws_ahead(const struct jg_trial *trial)
{
    enum { MOST_NUMBERS = 64 * 128 * JG_SM90A_CONSUMERS };
    const struct jg_config *config = &trial->config;
    const struct jg_product *product = &trial->product;
    const struct jg_epilogue *epilogue = trial->problem->epilogue;
    return epilogue != NULL && epilogue->has_seed &&
           config->layout.tile_m * config->layout.tile_n <= MOST_NUMBERS &&
           config->layout.pingpong == 0 && config->launch.split_k == 1 &&
           config->launch.resident <= 1 && trial->derived.waves <= 1.0 &&
           !trial->derived.output.reduces && !trial->problem->is_gated &&
           !trial->derived.promotes_sums && product->group_by == JIT_GEMM_GROUP_NONE &&
           product->d.scale.kind == JIT_GEMM_SCALE_NONE;
}

/* Of warpgroups that share a tile and have all of K, in registers beside one set of sums:
 * groups, parts, and tiles in turn were not timed. */
static bool has_plain_tiles(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    return config->layout.pingpong == 0 && config->launch.split_k == 1 &&
           config->launch.resident <= 1 && !trial->derived.promotes_sums &&
           trial->product.group_by == JIT_GEMM_GROUP_NONE;
}

/* H200, builds in turns: at 4096^3 bias_silu takes 0.992 of the time so, bias_gelu 0.997,
 * bias 0.996; at 1024^3, of one tile a CTA, 0.96, 0.98 and 0.98. With vectors of scales,
 * which are too many to be held, 1.005 (2026-11-28-h200-ways-out.jsonl). */
bool jg_sm90a_reads_first(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const bool scales = product->a.scale.kind == JIT_GEMM_SCALE_VECTOR ||
                        product->b.scale.kind == JIT_GEMM_SCALE_VECTOR;
    return has_plain_tiles(trial) && !scales &&
           trial->derived.output.epilogue == JG_EPILOGUE_FRAGMENTS;
}

/* There is no next tile for which a buffer has to be free, and no warp waits for another,
 * nor for TMA: in the same turns silu and gelu take 0.97 of the time at 1024^3, a residual
 * 0.97, 0.99 at 2048^3, plain products 1.00. */
bool jg_sm90a_may_store_by_warps(const struct jg_trial *trial)
{
    enum { STORED_BITS = 16 };
    return has_plain_tiles(trial) && trial->derived.waves > 0.0 &&
           trial->derived.waves <= 1.0 && !trial->product.d_is_transpose &&
           jg_dtype_bits(trial->problem->d.dtype) == STORED_BITS;
}

bool jg_sm90a_leaves_slices(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    if (trial->derived.turned_slices > 1) {
        return layout->tile_m >= 128 && layout->pingpong == 0;
    }
    return trial->derived.shares_short && layout->cluster_n == 2 &&
           !trial->product.a.is_mn_major && !jg_loads_by_threads(&trial->product) &&
           !trial->product.has_row_boxes;
}

enum {
    MATH_THREADS = 128 * JG_SM90A_CONSUMERS,
    MOST_ACCUMULATORS = 32 /* of a thread, beside which 96 registers are enough */
};

bool jg_sm90a_check_resident(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int sets = jg_sm90a_promotes(&trial->product) ? 2 : 1;
    const int held = sets * layout->tile_m * layout->tile_n / MATH_THREADS;
    const char *why = NULL;
    if (trial->config.launch.resident <= 1) {
        return true;
    }
    if (trial->config.launch.pdl == 0) {
        why = "pdl=0, where no launch begins beside another";
    } else if (layout->pingpong != 0) {
        why = "pingpong=1, whose warpgroups have a tile's accumulators each";
    } else if (jg_loads_by_threads(&trial->product)) {
        why = "A and B that threads load";
    } else if (trial->product.has_row_boxes ||
               trial->product.group_by != JIT_GEMM_GROUP_NONE) {
        why = "groups and rows by an index";
    } else if (jg_product_promotes_scales(&trial->product)) {
        why = "scales of blocks";
    } else if (held > MOST_ACCUMULATORS) {
        why = "tiles of more than 8192 elements, or 4096 where sums are added up in "
              "registers";
    }
    return why == NULL ||
           jg_trial_reject(trial,
                           "resident=2 lets the next launch begin on the same "
                           "multiprocessors, with 80 registers a thread each, which is not "
                           "for %s: resident=1",
                           why);
}

/* A single block was seen to be so in 60 CTAs and more; 64x64x64, of few, took 1.25 in
 * 64x32 of what it took in 128x16. */
enum { SINGLE_BLOCK_PARTS = 4 };

bool jg_sm90a_is_filled_once(const struct jg_trial *trial)
{
    const double blocks = (double)jg_split_blocks(trial) * ceil(trial->derived.waves);
    const bool has_many =
        SINGLE_BLOCK_PARTS * trial->derived.busy_ctas > trial->facts->sm_count;
    return trial->config.launch.split_tail == 0 && (blocks > 1.0 || has_many) &&
           blocks <= trial->config.pipeline.stages;
}
