/* SPDX-License-Identifier: MIT */
/* Blackwell's cost model. */
#include "plan/cost.h"

#include "base/math.h"
#include "plan/cluster.h"
#include "plan/scale.h"
#include "plan/sm100a/sm100a.h"
#include "plan/split.h"
#include "plan/typical_sizes.h"

/*
 * Rates of a B200, for comparing candidates; rounded. They are published measurements of
 * others, put together; this kernel has not been timed on the chip. What they predict is
 * held against published figures in docs/sm100a-model.md. A multiplication takes as long as
 * the tensor core needs, or as long as shared memory needs to feed it, if that is more. A
 * stage arrives at 80 bytes per clock, whoever sends it, and L2 sends 20 TB/s to all
 * multiprocessors; a single stage takes a latency and its bytes, is multiplied and handed
 * back before the next block of K comes into it. Scales that the tensor
 * core multiplies by arrive with a stage, and shared memory is read once more to copy them;
 * the multiplication takes no longer for them.
 */
#define CLOCK_HZ             1.92e9
#define MEMORY_PART          0.8676 /* of the memory's clock and bus width: 7.1 of 8.18 TB/s */
#define L2_BYTES_S           20e12
#define MMA_ROW_BYTES        32.0
#define SHARED_BYTES_CLK     128.0
#define ARRIVING_BYTES_CLK   80.0
#define LOAD_LATENCY_CLK     700.0
#define LONE_STAGE_BYTES_CLK 53.0
/* From the last multiplication that reads a stage until its next block is asked for: a
 * commit of a pair and a wait. */
#define HAND_BACK_CLK 170.0
/* Rows times columns that the tensor core of a multiprocessor multiplies with 32 bytes of K
 * in a clock, and clocks of it that the board's power allows a second, all multiprocessors
 * at work: with 16 bits 1.82 PFLOP/s, with 8 bits 2.95, with 4 bits 5.9. Zeros beyond the
 * problem are taken to cost what elements do. */
#define MMA_ELEMS_CLK 256.0
/* Of a multiplication with fewer columns than these. */
#define LEAST_MMA_CLK     44.0
#define LEAST_MMA_COLUMNS 64.0
#define POWER_HZ_16       1.50e9
#define POWER_HZ_8        1.217e9
/* Of a column of 32 lanes on its way to promoted sums, and of each block of K: counted from
 * instructions, not measured. 1.1 where the columns of a block have one scale, 1.7 where
 * each has its own. */
#define PROMOTED_CLK      1.4
#define PROMOTED_WAIT_CLK 100.0
/* A copy of four rows that an index names; a warp's copies of a word of scales each, from
 * 32 lines, where an index names rows. Assumed. */
#define COPY_OF_ROWS_CLK  14.0
#define GATHERED_WORD_CLK 32.0
#define FILL_CLK          2200.0
#define CLUSTER_CLK       400.0 /* of its barrier, before the first load */
#define LAUNCH_US         3.0
/* Where K is split: bytes per clock of a tile's partial sums that a CTA moves to or from
 * L2, and clocks until one CTA knows what another has stored. Assumed. */
#define SUMS_BYTES_CLK 40.0
#define HAND_ON_CLK    1500.0
/* The same of parts that each write a share of D: clocks until all know that all are there,
 * and bytes of a tile per clock that each of them stores and loads. Hopper's, which were
 * measured. */
#define PARALLEL_CLK       2000.0
#define PARALLEL_BYTES_CLK 32.0
/* Where the CTAs of a cluster add up: bytes per clock that one reads of the others' shared
 * memory, clocks until a warp knows what those of its number have stored, and how often it
 * waits for that. Hopper's, which were measured. */
#define CLUSTER_SUMS_BYTES_CLK 25.0
#define CLUSTER_HAND_ON_CLK    800.0
#define CLUSTER_HAND_ONS       2 /* 1 where D is divided */
/* Part of the time that the CTAs of a cluster lose by waiting for each other, for each
 * doubling beyond a pair: assumed. */
#define CLUSTER_LOSS 0.02
/* From the last multiplication that reads a cell of scales until the first that reads the
 * next ones there: its commit, a wait, and the copies. Assumed. */
#define CELL_CLK 400.0
/* Clusters beyond a pair of which nobody has counted how many run at once: a round more
 * than multiprocessors allow is 5 to 20 percent of usual shapes. So they are taken where
 * they are better by so much; those that ask for tiles, of which as many are counted on as
 * GPCs hold that lack as little as they can, by less. */
#define UNCOUNTED_LOSS 0.05
#define LIKELY_LOSS    0.02
/* What several limits allow at the same time: the part of the lesser ones that shows, so
 * that of candidates which one limit makes equal the one wins that is further from the
 * others. */
#define LESSER_PART 0.02

/* What the emulator's clock takes for an epilogue with a matrix, beside what is counted
 * here: 12,100 clocks of 256x256 with gelu, a bias and a residual. Which of both is right
 * is not known without the chip. */
#define CLOCKED_EPILOGUE 2.0

/* Bytes of scales that belong to a block of K, of a CTA. */
static double count_scale_bytes(const struct jg_trial *trial)
{
    return JG_SM100A_SCALE_COLUMN_BYTES *
           (double)jg_sm100a_scale_columns(&trial->product, &trial->config);
}

/* Clocks of the multiplications of a block of K. Each takes 32 bytes of it, in the same
 * time whatever the type: twice as many elements of 4 bits as of 8. */
static double count_mma_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int halves = jg_product_scales_halves(&trial->product) ? 2 : 1;
    const double row_bytes = JG_ROW_BYTES; /* newer compilers warn of enum times double */
    const double count =
        row_bytes / MMA_ROW_BYTES * jg_product_gate_rows(&trial->product) * halves;
    const double n = (double)layout->mma_n / halves;
    const bool has_64_rows = layout->mma_m / layout->cta_group == 64; /* of a CTA */
    double clk, feed_clk;
    if (layout->cta_group == 1) { /* 64 rows use half of the tensor core */
        clk = n / 2.0;
        feed_clk = has_64_rows ? 16.0 + n / 4.0 : 32.0 + n / 4.0;
    } else {
        clk = has_64_rows ? n / 4.0 : n / 2.0;
        feed_clk = has_64_rows ? 17.5 + n / 8.0 : 34.0 + n / 7.0;
    }
    const double least_clk = n < LEAST_MMA_COLUMNS ? LEAST_MMA_CLK : 0.0;
    return jg_larger(count * jg_larger(clk, least_clk),
                     count * feed_clk + count_scale_bytes(trial) / SHARED_BYTES_CLK);
}

/* Bytes of a block of K that a CTA multiplies, of which it shares B with its pair. */
static double count_stage_bytes(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double tile_m = layout->tile_m;
    const double tile_n = layout->tile_n;
    const double row_bytes = JG_ROW_BYTES;
    return (tile_m + tile_n / layout->cta_group) * row_bytes + count_scale_bytes(trial);
}

/* Until a block has come, from L2 or whoever sends it. */
static double count_load_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double tile_m = layout->tile_m;
    const double tile_n = layout->tile_n;
    const double row_bytes = JG_ROW_BYTES;
    const double sent_bytes =
        (tile_m / layout->cluster_n + tile_n / layout->cluster_m) * row_bytes +
        count_scale_bytes(trial);
    const double l2_bytes_clk = L2_BYTES_S / CLOCK_HZ / trial->derived.busy_ctas;
    return jg_larger(sent_bytes / l2_bytes_clk,
                     count_stage_bytes(trial) / ARRIVING_BYTES_CLK);
}

/* Of costs that pass at the same time. */
static double limit_of(double a, double b, double c)
{
    const double largest = jg_larger(jg_larger(a, b), c);
    return largest + LESSER_PART * (a + b + c - largest);
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

/* Of a block of K, where a warp gathers the scales of rows that an index names: a word of
 * each row and piece, each from a line of its own. */
static double count_gather_clk(const struct jg_trial *trial)
{
    if (!jg_gathers_scales(&trial->product)) {
        return 0.0;
    }
    const struct jg_box box =
        jg_sm100a_scale_box(&trial->product, trial->config.layout.mma_n);
    const int bands = trial->product.a.letter == 'a' ? 1 : box.rows;
    return GATHERED_WORD_CLK * bands * box.row_bytes / (32.0 * JG_SCALE_PIECE_BLOCKS);
}

static double count_block_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_config_pipeline *pipeline = &trial->config.pipeline;
    const double stage_bytes = count_stage_bytes(trial);
    const double mma_clk = count_mma_clk(trial);
    double block_clk = limit_of(mma_clk, count_load_clk(trial), 0.0);
    if (jg_product_promotes_scales(&trial->product)) {
        block_clk = limit_of(block_clk, count_promotion_clk(trial), 0.0);
    }
    for (int groups = layout->cluster_m * layout->cluster_n / layout->cta_group; groups > 1;
         groups /= 2) {
        block_clk *= 1.0 + CLUSTER_LOSS;
    }
    const double lone_clk = LOAD_LATENCY_CLK + stage_bytes / LONE_STAGE_BYTES_CLK;
    const double ring_blocks = (double)pipeline->stages * pipeline->k_group;
    block_clk = jg_larger(block_clk, (lone_clk + mma_clk + HAND_BACK_CLK) / ring_blocks);
    if (jg_product_is_block_scaled(&trial->product)) {
        const int cells = trial->derived.scale_cells;
        block_clk = jg_larger(block_clk, (block_clk + CELL_CLK) / cells);
    }
    block_clk = jg_larger(block_clk,
                          jg_row_boxes_clk(trial, JG_SM100A_COPIED_ROWS, COPY_OF_ROWS_CLK));
    block_clk = jg_larger(block_clk, count_gather_clk(trial));
    return jg_larger(block_clk, jg_thread_loads_clk(trial, stage_bytes));
}

/* Of a round but the last: while the epilogue keeps its accumulator, and there is no other,
 * or the other one is full, too, or while it keeps the columns that both share. What drains
 * has given it back. Promoted sums wait for the same warps: a block of K for each
 * accumulator is multiplied meanwhile, which counts for little. */
static double count_waiting_clk(const struct jg_trial *trial, double main_clk,
                                const struct jg_sm100a_epilogue_clk *epilogue)
{
    if (trial->config.storage.acc_stages == 1 ||
        jg_product_promotes_scales(&trial->product)) {
        return epilogue->kept;
    }
    const double shared = trial->derived.shared_columns;
    const double shown = epilogue->kept * shared / jg_sm100a_lanes(&trial->config).columns;
    return jg_larger(epilogue->kept - main_clk, shown);
}

bool jg_sm100a_waits_for_epilogue(const struct jg_trial *trial)
{
    const double products_clk = (double)jg_split_blocks(trial) * count_mma_clk(trial);
    struct jg_sm100a_epilogue_clk epilogue = jg_sm100a_epilogue_clk(trial);
    epilogue.kept *= CLOCKED_EPILOGUE;
    return count_waiting_clk(trial, products_clk, &epilogue) > 0.0;
}

/* Each CTA reads its share of all parts, and sends the sums to the last part's unless it
 * writes them itself. */
static double count_cluster_sums_clk(const struct jg_trial *trial)
{
    if (jg_cluster_parts(&trial->config) <= 1) {
        return 0.0;
    }
    const double turns = trial->derived.output.divided ? 1.0 : CLUSTER_HAND_ONS;
    return turns * (CLUSTER_HAND_ON_CLK +
                    jg_split_cost_of(trial).sums_bytes / CLUSTER_SUMS_BYTES_CLK);
}

/* What a CTA has of a tile's epilogue. */
static double share_of(const struct jg_trial *trial)
{
    const int parts = jg_shares_in_workspace(&trial->config)
                          ? trial->config.launch.split_k
                          : jg_cluster_parts(&trial->config);
    return trial->derived.output.divided ? 1.0 / parts : 1.0;
}

/* Where K is split, of what goes through a workspace. */
static double count_sums_clk(const struct jg_trial *trial)
{
    const struct jg_split_cost split = jg_split_cost_of(trial);
    if (jg_shares_in_workspace(&trial->config)) {
        return PARALLEL_CLK + 2.0 * split.sums_bytes / PARALLEL_BYTES_CLK;
    }
    return split.waits * HAND_ON_CLK + split.moves * split.sums_bytes / SUMS_BYTES_CLK;
}

/* Before the first multiplication and behind the last one, of a CTA: nothing is loaded
 * meanwhile. */
static double count_ends_clk(const struct jg_trial *trial,
                             const struct jg_sm100a_epilogue_clk *epilogue)
{
    const bool is_cluster = jg_cluster_ctas(&trial->config) > 1;
    return FILL_CLK + (is_cluster ? CLUSTER_CLK : 0.0) +
           share_of(trial) * (epilogue->kept + epilogue->drain) +
           count_cluster_sums_clk(trial) +
           (trial->config.launch.split_tail > 0 ? 0.0 : count_sums_clk(trial));
}

/* What parts of K take before whole tiles: their sums go to and from the workspace while
 * the tensor core has the next tile, if there is a second accumulator. */
static double count_parts_clk(const struct jg_trial *trial,
                              const struct jg_split_rounds *rounds,
                              const struct jg_sm100a_epilogue_clk *epilogue)
{
    if (rounds->parts == 0) {
        return 0.0;
    }
    const double block_clk = count_block_clk(trial);
    const double part_clk = (double)jg_split_blocks(trial) * block_clk;
    const double whole_clk = (double)jg_split_whole_blocks(trial) * block_clk;
    const double kept_clk = epilogue->kept + count_sums_clk(trial);
    const bool has_next = trial->config.storage.acc_stages > 1 &&
                          !jg_product_promotes_scales(&trial->product);
    const double turn_clk = has_next ? jg_larger(part_clk, kept_clk) : part_clk + kept_clk;
    const double shown_clk = kept_clk - (has_next ? whole_clk : 0.0);
    return (double)rounds->parts * turn_clk - (turn_clk - part_clk) +
           jg_larger(shown_clk, 0.0);
}

/* Rounds of tiles, or of their parts. Inputs come from memory with the tiles that read
 * them: a round takes as long as its products, or as long as memory brings its part of
 * them. The last one has few CTAs at work, and they are no faster for it. */
static double count_rounds_clk(const struct jg_trial *trial, double main_clk,
                               double input_clk)
{
    const int64_t busy = trial->derived.busy_ctas;
    const int64_t items = trial->derived.tiles * trial->config.launch.split_k;
    const double item_clk = input_clk / (double)items;
    const int64_t whole = items / busy;
    const double rest = (double)(items % busy);
    return (double)whole * jg_larger(main_clk, (double)busy * item_clk) +
           (rest > 0.0 ? jg_larger(main_clk, rest * item_clk) : 0.0);
}

static double predict_kernel_us(const struct jg_trial *trial, double input_us,
                                double *ret_waiting_us, double *ret_ends_us)
{
    const struct jg_config *config = &trial->config;
    const struct jg_derived *derived = &trial->derived;
    const bool has_tail = config->launch.split_tail > 0;
    const struct jg_split_rounds split =
        has_tail ? jg_split_rounds_of(trial) : (struct jg_split_rounds){0};
    const int64_t blocks = has_tail ? jg_split_whole_blocks(trial) : jg_split_blocks(trial);
    const double main_clk = (double)blocks * count_block_clk(trial);
    const struct jg_sm100a_epilogue_clk epilogue = jg_sm100a_epilogue_clk(trial);
    const double parts_clk = has_tail ? count_parts_clk(trial, &split, &epilogue) : 0.0;
    const double rounds = has_tail
                              ? (double)split.whole
                              : (double)jg_ceil_div(derived->tiles * config->launch.split_k,
                                                    derived->busy_ctas);
    const double waiting_clk = count_waiting_clk(trial, main_clk, &epilogue);
    const double ends_clk = count_ends_clk(trial, &epilogue);
    *ret_waiting_us = jg_larger(rounds - 1.0, 0.0) * waiting_clk / CLOCK_HZ * 1e6;
    *ret_ends_us = ends_clk / CLOCK_HZ * 1e6;
    const double rounds_clk =
        has_tail ? rounds * main_clk
                 : count_rounds_clk(trial, main_clk, input_us / 1e6 * CLOCK_HZ);
    return (ends_clk + parts_clk + rounds_clk +
            jg_larger(rounds - 1.0, 0.0) * waiting_clk) /
           CLOCK_HZ * 1e6;
}

/* What the board's power allows, of all that is multiplied. */
static double predict_power_us(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double tile_m = layout->tile_m;
    const double tile_n = layout->tile_n;
    const double row_bytes = JG_ROW_BYTES;
    const double clk = (double)jg_split_all_blocks(trial) * row_bytes / MMA_ROW_BYTES *
                       tile_m * tile_n / MMA_ELEMS_CLK;
    const double hz =
        jg_dtype_bits(trial->product.a.dtype) >= 16 ? POWER_HZ_16 : POWER_HZ_8;
    return clk / (hz * trial->facts->sm_count) * 1e6;
}

/* Clusters that may find fewer places than are counted on. */
static double uncounted_loss_of(const struct jg_trial *trial)
{
    if (jg_is_cluster_counted(&trial->config, trial->facts)) {
        return 1.0;
    }
    return 1.0 + (trial->config.launch.scheduler == JG_SCHEDULER_CLC ? LIKELY_LOSS
                                                                     : UNCOUNTED_LOSS);
}

/* Of an input, each with the scale of the tensor core that it may have. A piece comes for
 * each block of 128 bytes, whole, though four of 128 elements share it. */
static double count_element_bytes(const struct jg_matrix *matrix)
{
    const double block = matrix->scale.block_k == 128 ? 32.0 : matrix->scale.block_k;
    return jg_dtype_bits(matrix->dtype) / 8.0 +
           (jg_scale_is_multiplied(&matrix->scale) ? 1.0 / block : 0.0);
}

void jg_sm100a_predict(struct jg_trial *trial)
{
    const struct jg_product asked = trial->product;
    trial->product = jg_typical_product(trial);
    const struct jg_product *product = &trial->product;
    const double m = (double)product->m.size;
    const double n = (double)product->n.size;
    const double k = (double)product->k.size;
    const double batch = (double)product->batch.size;
    const double input_bytes = m * k * batch * count_element_bytes(&product->a) +
                               n * k * batch * count_element_bytes(&product->b);
    const double output_bytes = m * n * batch * jg_output_bytes(trial->problem);
    const double memory_bytes_s = MEMORY_PART * (double)trial->facts->memory_bytes_s;
    const double input_us = input_bytes / memory_bytes_s * 1e6;
    double ends_us;
    const double kernel_us =
        predict_kernel_us(trial, input_us, &trial->derived.waiting_us, &ends_us);
    trial->derived.repack_us = jg_repack_us(trial, memory_bytes_s);
    trial->derived.scale_pack_us = jg_scale_pack_us(trial, memory_bytes_s);
    /* Inputs come between the ends of a CTA, D leaves at the second one. */
    const double memory_us =
        jg_larger(input_us + ends_us, (input_bytes + output_bytes) / memory_bytes_s * 1e6);
    trial->derived.predicted_us =
        limit_of(kernel_us, predict_power_us(trial), memory_us) * uncounted_loss_of(trial) +
        LAUNCH_US + trial->derived.repack_us + trial->derived.scale_pack_us;
    trial->product = asked;
}
