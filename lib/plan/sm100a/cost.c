/* SPDX-License-Identifier: MIT */
/* Blackwell's cost model. */
#include "plan/cost.h"

#include "base/math.h"
#include "plan/sm100a/sm100a.h"
#include "plan/split.h"

/*
 * Rates of a B200, for comparing candidates; rounded. They are published measurements of
 * others, put together; this kernel has not been timed on the chip. A multiplication takes
 * as long as the tensor core needs, or as long as shared memory needs to feed it, if that
 * is more. A stage arrives at 80 bytes per clock, whoever sends it, and L2 sends 20 TB/s to
 * all multiprocessors; a single stage takes a latency and its bytes.
 */
#define CLOCK_HZ             1.85e9
#define MEMORY_BYTES_S       7.1e12
#define L2_BYTES_S           20e12
#define MMA_ROW_BYTES        32.0
#define ARRIVING_BYTES_CLK   80.0
#define LOAD_LATENCY_CLK     700.0
#define LONE_STAGE_BYTES_CLK 53.0
#define EPILOGUE_ELEMS_CLK   16.0
#define EPILOGUE_BYTES_CLK   40.0
/* Of a column of 32 lanes on its way to promoted sums, and of each block of K: counted from
 * instructions, not measured. */
#define PROMOTED_CLK      2.0
#define PROMOTED_WAIT_CLK 100.0
#define DRAIN_CLK         450.0
#define FILL_CLK          2200.0
#define CLUSTER_CLK       800.0
#define LAUNCH_US         3.0
/* Where K is split: bytes per clock of a tile's partial sums that a CTA moves to or from
 * L2, and clocks until one CTA knows what another has stored. Assumed. */
#define SUMS_BYTES_CLK 40.0
#define HAND_ON_CLK    1500.0
/* Part of the time that the CTAs of a cluster lose by waiting for each other, for each
 * doubling beyond a pair: assumed. */
#define CLUSTER_LOSS 0.02
/* Part of the time that power would cost if all multiplied rows and columns lay beyond the
 * problem: assumed. Of two equally fast candidates, the one that wastes less wins. */
#define WASTE_LOSS 0.02

/* Clocks of one multiplication of 32 bytes of K, the same for all types. */
static double count_mma_clk(const struct jg_config_layout *layout)
{
    const double n = layout->mma_n;
    const bool has_64_rows = layout->mma_m / layout->cta_group == 64; /* of a CTA */
    if (layout->cta_group == 1) { /* 64 rows use half of the tensor core */
        return jg_larger(n / 2.0, has_64_rows ? 16.0 + n / 4.0 : 32.0 + n / 4.0);
    }
    return has_64_rows ? jg_larger(n / 4.0, 17.5 + n / 8.0)
                       : jg_larger(n / 2.0, 34.0 + n / 7.0);
}

/* Bytes of a block of K that a CTA multiplies, of which it shares B with its pair. */
static double count_stage_bytes(const struct jg_config_layout *layout)
{
    const double tile_m = layout->tile_m;
    const double tile_n = layout->tile_n;
    const double row_bytes = JG_ROW_BYTES; /* newer compilers warn of enum times double */
    return (tile_m + tile_n / layout->cta_group) * row_bytes;
}

/* Until a block has come, from L2 or whoever sends it. */
static double count_load_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double tile_m = layout->tile_m;
    const double tile_n = layout->tile_n;
    const double row_bytes = JG_ROW_BYTES;
    const double sent_bytes =
        (tile_m / layout->cluster_n + tile_n / layout->cluster_m) * row_bytes;
    const double l2_bytes_clk = L2_BYTES_S / CLOCK_HZ / trial->derived.busy_ctas;
    return jg_larger(sent_bytes / l2_bytes_clk,
                     count_stage_bytes(layout) / ARRIVING_BYTES_CLK);
}

/* The part of what is multiplied that belongs to the problem. */
static double useful_part_of(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double m = (double)trial->product.m.size;
    const double n = (double)trial->product.n.size;
    const double batch = (double)trial->product.batch.size;
    const double tile_m = layout->tile_m;
    const double tile_n = layout->tile_n;
    return m * n * batch / ((double)trial->derived.tiles * tile_m * tile_n);
}

/* Of a block of K: each warp of the epilogue reads the accumulators of its lanes, and
 * multiplies and adds them, 32 at a time. */
static double count_promotion_clk(const struct jg_trial *trial)
{
    const double columns =
        jg_product_gate_rows(&trial->product) * jg_sm100a_lanes(&trial->config).columns;
    return PROMOTED_CLK * columns * jg_sm100a_lanes(&trial->config).of_warp / 32.0 +
           PROMOTED_WAIT_CLK;
}

static double count_block_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_config_pipeline *pipeline = &trial->config.pipeline;
    const double row_bytes = JG_ROW_BYTES;
    const double stage_bytes = count_stage_bytes(layout);
    const double mmas = jg_product_gate_rows(&trial->product);
    double block_clk = row_bytes / MMA_ROW_BYTES * mmas * count_mma_clk(layout);
    block_clk = jg_overlap(block_clk, count_load_clk(trial));
    if (jg_product_promotes_scales(&trial->product)) {
        block_clk = jg_overlap(block_clk, count_promotion_clk(trial));
    }
    for (int groups = layout->cluster_m * layout->cluster_n / layout->cta_group; groups > 1;
         groups /= 2) {
        block_clk *= 1.0 + CLUSTER_LOSS;
    }
    const double lone_clk = LOAD_LATENCY_CLK + stage_bytes / LONE_STAGE_BYTES_CLK;
    const double ring_blocks = (double)pipeline->stages * pipeline->k_group;
    block_clk = jg_larger(block_clk, lone_clk / ring_blocks) *
                (1.0 + WASTE_LOSS * (1.0 - useful_part_of(trial)));
    return jg_larger(block_clk, jg_thread_loads_clk(trial->problem, stage_bytes));
}

static double count_epilogue_clk(const struct jg_trial *trial)
{
    const double tile_m = trial->config.layout.tile_m;
    const double tile_n = trial->config.layout.tile_n;
    /* A warp reads as long where only half of its lanes hold rows. */
    const double lane_cost = 32.0 / jg_sm100a_lanes(&trial->config).of_warp;
    return tile_m * tile_n *
               (lane_cost / EPILOGUE_ELEMS_CLK +
                jg_output_clk(trial->problem, EPILOGUE_BYTES_CLK)) +
           DRAIN_CLK;
}

static double predict_kernel_us(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_derived *derived = &trial->derived;
    const double main_clk = (double)jg_split_blocks(trial) * count_block_clk(trial);
    const double epilogue_clk = count_epilogue_clk(trial);
    const double rounds =
        (double)jg_ceil_div(derived->tiles * config->launch.split_k, derived->busy_ctas);
    const double round_clk = config->storage.acc_stages > 1
                                 ? jg_overlap(main_clk, epilogue_clk)
                                 : main_clk + epilogue_clk;
    const bool is_cluster = config->layout.cluster_m * config->layout.cluster_n > 1;
    const double fixed_clk = FILL_CLK + (is_cluster ? CLUSTER_CLK : 0.0);
    const struct jg_split_cost split = jg_split_cost_of(trial);
    return (fixed_clk + (rounds - 1.0) * round_clk + main_clk + epilogue_clk +
            split.steps * (HAND_ON_CLK + 2.0 * split.sums_bytes / SUMS_BYTES_CLK)) /
           CLOCK_HZ * 1e6;
}

double jg_sm100a_predict_us(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const double m = (double)product->m.size;
    const double n = (double)product->n.size;
    const double k = (double)product->k.size;
    const double batch = (double)product->batch.size;
    const double bytes = (m + n) * k * batch * jg_dtype_bits(product->a.dtype) / 8.0 +
                         m * n * batch * jg_output_bytes(trial->problem);
    return jg_overlap(predict_kernel_us(trial), bytes / MEMORY_BYTES_S * 1e6) + LAUNCH_US;
}
