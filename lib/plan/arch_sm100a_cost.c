/* SPDX-License-Identifier: MIT */
/* Blackwell's cost model. */
#include "plan/arch_sm100a.h"

#include "base/math.h"

/*
 * Rates of a B200, for comparing candidates; rounded. They are published measurements of
 * others, put together; this kernel has not been timed on the chip. A multiplication takes
 * the greater of what the tensor core needs and of what shared memory gives it. A stage
 * arrives at 80 bytes a clock, whoever sends it, and L2 sends 20 TB/s to all
 * multiprocessors; one stage alone takes a latency and its bytes.
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
#define DRAIN_CLK            450.0
#define FILL_CLK             2200.0
#define CLUSTER_CLK          800.0
#define LAUNCH_US            3.0
/* Where K is split: what a CTA stores to or loads from L2 of a tile's sums, and until one
 * CTA knows what another has stored. Assumed. */
#define SUMS_BYTES_CLK 40.0
#define HAND_ON_CLK    1500.0
/* What the members of a cluster, beyond a pair, wait for each other, each time it doubles:
 * assumed. */
#define CLUSTER_LOSS 0.02
/* What multiplying rows and columns beyond the problem costs in power, were it all of them:
 * assumed. Of two that are as fast, the one that wastes less. */
#define WASTE_LOSS 0.02

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Clocks of one multiplication of 32 bytes of K, the same for all types. */
static double count_mma_clk(const struct jg_config *config)
{
    const double n = config->layout.mma_n;
    const int half = config->layout.tile_m == 64; /* rows of a CTA */
    if (config->layout.cta_group == 1) {          /* 64 rows use half of the tensor core */
        return larger(n / 2.0, half ? 16.0 + n / 4.0 : 32.0 + n / 4.0);
    }
    return half ? larger(n / 4.0, 17.5 + n / 8.0) : larger(n / 2.0, 34.0 + n / 7.0);
}

double jg_sm100a_predict_us(const struct jg_problem *product,
                            const struct jg_config *config,
                            const struct jg_derived *derived)
{
    const double m = (double)product->m.size;
    const double n = (double)product->n.size;
    const double k = (double)product->k.size;
    const double batch = (double)product->batch.size;
    const double tile_m = config->layout.tile_m;
    const double tile_n = config->layout.tile_n;
    const double row_bytes = JG_ROW_BYTES; /* newer compilers warn of enum times double */
    const double stage_bytes = (tile_m + tile_n / config->layout.cta_group) * row_bytes;
    const double sent_bytes =
        (tile_m / config->layout.cluster_n + tile_n / config->layout.cluster_m) * row_bytes;
    const double l2_bytes_clk = L2_BYTES_S / CLOCK_HZ / derived->busy_ctas;
    double block_clk = row_bytes / MMA_ROW_BYTES * count_mma_clk(config);
    const double sent_clk = sent_bytes / l2_bytes_clk;
    const double arriving_clk = stage_bytes / ARRIVING_BYTES_CLK;
    block_clk = jg_overlap(block_clk, sent_clk > arriving_clk ? sent_clk : arriving_clk);
    for (int groups =
             config->layout.cluster_m * config->layout.cluster_n / config->layout.cta_group;
         groups > 1; groups /= 2) {
        block_clk *= 1.0 + CLUSTER_LOSS;
    }
    const double made = (double)derived->tiles * tile_m * tile_n;
    const double lone_clk = LOAD_LATENCY_CLK + stage_bytes / LONE_STAGE_BYTES_CLK;
    const double ring_blocks = (double)config->pipeline.stages * config->pipeline.k_group;
    block_clk = larger(block_clk, lone_clk / ring_blocks) *
                (1.0 + WASTE_LOSS * (1.0 - m * n * batch / made));
    block_clk = larger(block_clk, jg_thread_loads_clk(product, stage_bytes));
    const double main_clk = (double)jg_split_blocks(product, config) * block_clk;
    /* A warp reads as long where only half of its lanes hold rows. */
    const double lane_cost = 32.0 / jg_sm100a_lanes(config).of_warp;
    const double epilogue_clk =
        tile_m * tile_n *
            (lane_cost / EPILOGUE_ELEMS_CLK + jg_output_clk(product, EPILOGUE_BYTES_CLK)) +
        DRAIN_CLK;
    const double rounds =
        (double)jg_ceil_div(derived->tiles * config->launch.split_k, derived->busy_ctas);
    const double round_clk = config->storage.acc_stages > 1
                                 ? jg_overlap(main_clk, epilogue_clk)
                                 : main_clk + epilogue_clk;
    const int is_cluster = config->layout.cluster_m * config->layout.cluster_n > 1;
    const double fixed_clk = FILL_CLK + (is_cluster ? CLUSTER_CLK : 0.0);
    const struct jg_split_cost split = jg_split_cost_of(product, config);
    const double kernel_us =
        (fixed_clk + (rounds - 1.0) * round_clk + main_clk + epilogue_clk +
         split.steps * (HAND_ON_CLK + 2.0 * split.sums_bytes / SUMS_BYTES_CLK)) /
        CLOCK_HZ * 1e6;

    const double bytes = (m + n) * k * batch * jg_dtype_bytes(product->a.dtype) +
                         m * n * batch * jg_output_bytes(product);
    return jg_overlap(kernel_us, bytes / MEMORY_BYTES_S * 1e6) + LAUNCH_US;
}
