/* SPDX-License-Identifier: MIT */
/* Hopper's cost model. */
#include "plan/cost.h"

#include <math.h>

#include "base/math.h"
#include "plan/cluster.h"
#include "plan/groups.h"
#include "plan/raster.h"
#include "plan/sm90a/sm90a.h"
#include "plan/split.h"
#include "plan/typical_sizes.h"

/*
 * Rates of an H200, for comparing candidates; rounded, only differences between candidates
 * of one problem count. A multiprocessor does 4096 dense 16-bit FLOP per clock; of any type
 * it multiplies as many bytes of K, a row and a column, 4096 per clock. Accumulators of
 * 8-bit floats are also added up in registers, 128 per clock at most, and the tensor core
 * is waited for after each 64 rows. What a multiprocessor draws from L2 depends on whether
 * all draw and inputs stream through it, or they stay there: less than half of it, whose
 * halves have a copy each of what all read. The numbers were first
 * fitted to 132 runs on an H200 (bench/results/2026-11-21-h200-sweep.txt) and 42 with 8-bit
 * inputs (2026-11-22-h200-8bit.txt); those of L2, of power and of latencies are fitted anew
 * since, to runs on an H100 that are named below. What L2 gives where it holds all is
 * since as an H200's choices want it: four that change with it take 0.96 of before on
 * average (2026-11-27-h200-choice-alone.jsonl).
 */
#define CLOCK_HZ 1.6e9
/* Of a tensor core that has worked for less than POWER_US. */
#define FIRST_CLOCK_HZ 1.98e9
#define POWER_US       140.0
#define MMA_BYTES_CLK  4096.0
/* Of the rate that the memory's clock and bus width give: 4.4 of 4.92 TB/s. An H100, of
 * 3.35, streams weights at 2.97 (2026-11-25-h100-regret.jsonl): the same part. */
#define MEMORY_PART 0.895
/* What weights take that stream through CTAs of fewer than two thirds of the
 * multiprocessors, and beside rows of A that are filled with zeros, by the part that a tile
 * has of them: 32x4096x14336 took 29.9 us in 64 CTAs and 28.9 in 128
 * (2026-11-26-h200-second-by-hand.jsonl), 1x57344x8192 238 in
 * tiles of 64x256 and 213 in 128x16, 64 rows 226 in 64x256
 * (2026-11-26-h200-split-tail.jsonl). Beside groups it is less: with so much
 * 64 rows would have tiles of 64, and those of 128 took 0.9 of the time. */
#define FEW_STREAMS            1.02
#define FILLED_ROWS_PART       0.10
#define GROUP_FILLED_ROWS_PART 0.05
/* The same of weights that are the multiplication's B, in tiles of which warpgroups have
 * blocks of K in turn, six stages: 64x5120x5120, 64x5120x7168 and 48x5120x4096 with 1x128
 * and 128x128 took 1.17 of what was said of them without it in 80 CTAs of 64x128, 3.2 TB/s,
 * and 64x64 of the weights' rows 0.91 to 0.98 (2026-11-27-h200-narrow-tiles.jsonl). */
#define FEW_TURNS 1.35
/* Few CTAs of a last round do not have enough on its way for all of memory's rate, of which
 * n of them have 1 - exp(-n / FEW_CTAS): fitted to twelve lists of 33 to 64 rows whose last
 * rounds have 12 to 92 CTAs and 1.1 to 4.4 TB/s (2026-11-27-h200-few-rows.jsonl). */
#define FEW_CTAS 42.0
/* The part of adding up parts of K in a cluster that shows beside streamed weights: it
 * comes behind their last bytes. Of 18 choices that change with it the time is 0.983 on
 * average, 0.90 to 1.08 (2026-11-27-h200-choice-alone.jsonl). */
#define SHOWN_SUMS 0.3
/* What one tile of 256 columns, or of 128 rows, takes beside what is said of others where
 * more rows than these stream all weights past it: 64x28672x4096 60.6 and 58.1 us in 64x256
 * and 64x224 (two runs), of e4m3 33.4 and 31.6. With fewer rows they are alike
 * (2026-11-27-h200-choice-alone.jsonl). */
#define WIDE_TILES      1.04
#define MOST_ALIKE_ROWS 48
/* What tiles between 64x128 and 64x256 take beside what is said of others: of 33 to 64 rows
 * 0.91 to 1.10 of these in twenty problems, so that they are taken where they save more;
 * of 128 to 256 rows 1.05 to 1.13 (2026-11-27-h200-few-rows.jsonl), and since rows that a
 * problem lacks are left out 0.80 to 1.08. */
#define BETWEEN_TILES          1.02
#define BETWEEN_TILES_OF_OTHER 1.07
#define LEAST_BETWEEN_ROWS     33
#define MOST_FEW_ROWS          64
/* A multiplication of few columns waits for its 64 rows of A from shared memory. */
#define SHARED_BYTES_CLK      128.0
#define PROMOTED_ELEMS_CLK    128.0
#define PROMOTED_WAIT_CLK     80.0
#define SCALED_WAIT_CLK       50.0 /* the same beside scales of blocks, whose own are below */
#define L2_BYTES_CLK          46.0
#define L2_BYTES_CLK_HELD     96.0
#define L2_BYTES_CLK_TURNS    62.0 /* parts of K, whose blocks warpgroups have in turn */
#define L2_BYTES_CLK_ALL_HELD 72.0
#define HELD_PART             0.45
/* What neighbours have in common comes from L2 once, where they ask for it at about the
 * same time: for all of it where all tiles run at once, else for a part. Bytes of it per
 * clock and CTA, and the most that a CTA takes in. Fitted, as the latencies below, to 1,560
 * runs on an H100 (2026-11-25-h100-*.jsonl, 2026-11-26-h100-*.jsonl), which they put within
 * 9 percent (root mean square) from 65 rows on, where 20 were missed before; clusters gain
 * nothing there beside CTAs by themselves whose order is good. */
#define SHARED_PART          0.4
#define COMMON_COLUMNS       96 /* more tokens than these are common to parts of K */
#define SHARED_BYTES_CLK_CTA 34.0
#define TAKEN_BYTES_CLK      85.0
/* The same where one warpgroup multiplies, which reads rows of A from shared memory once:
 * 256x2048x7168 in 64x64 took 14.9 us, and 16.2 by two
 * (2026-11-27-h200-one-multiplies.jsonl).
 */
#define TAKEN_BYTES_CLK_ALONE 100.0
/* Parts of K in CTAs by themselves, whose sums are promoted: the part of the tensor core's
 * time that such a draw takes at most, what last tiles may lack, and what they take beside
 * that, as clusters of parts take less of what is said of them where sums are promoted.
 * 768x1440x8192 took 16.7 us in two parts of 128x144, of which 22.3 were said,
 * 1152x1024x14336 29.7 in 128x176, of 36.4. 20 choices of sums that are not promoted took
 * 1.05 with it; of promoted ones 23 took 0.984, 0.74 to 1.18, without the last number
 * (2026-11-28-h200-in-step.jsonl, -fifteen-clusters.jsonl). */
#define IN_STEP_PART         0.85
#define MOST_IN_STEP_MISSING 0.2
#define IN_STEP_SLOWNESS     1.08
/* The parts of the larger input that come from memory again, where L2 does not keep it and
 * CTAs of one wave that have it in common do not share it in clusters: some run ahead, and
 * the one whose tile has few rows the more. 72x3584x18944 took 80 us in tiles of 64 columns
 * (64 and 8), 128x3584x18944 took 54 (2026-11-26-h100-configs.jsonl). CTAs by themselves
 * whose tiles are all whole, and that are neighbours in the order of tiles, stay together:
 * 192x5120x5120 took 22.8 us in tiles of 64x128, of which memory has 18.8, and 29.7 in
 * clusters of 1x2. */
#define REREAD_PART   0.30
#define TOGETHER_PART 0.02
#define KEPT_PART     0.7
#define UNEVEN_PART   0.6
/* Clocks of a draw that neighbours share, in a wave whose last tile along the smaller input
 * lacks all of its rows, for one whose tiles are whole; by the square of the part that it
 * lacks. It runs ahead of the others, too: 304x1792x7168 took 30.7 us in tiles of 96
 * columns, of which the last has 16, and 20.0 in tiles of 64 rows, of which it has 48
 * (2026-11-26-h200-holdout.jsonl). Parts of K beside scales of blocks do, too:
 * 160x2048x7168 took 13.3 us in 64x128 and 18.6 in its transpose, and 11.3 in 64x160
 * (2026-11-27-h200-scale-copies.jsonl). */
#define UNEVEN_DRAW 0.8
/* The same of the last tile along the larger input, where L2 keeps both and CTAs by
 * themselves have them in common: each block of K takes those of that tile further ahead,
 * by the part of one that it lacks, and no wait for memory brings them together again.
 * 640x1792x4096 took 21.9 us in 64x160 whose last tile has 32 columns, and 16.2 in its
 * transpose, of which 18.7 and 17.2 were said; 1792x640x8192 46.8 and 29.9. Of 100 runs
 * with such tiles it brings the error, beside that of others of as many blocks, in halves
 * of their problems from 0.100 and 0.079 to 0.070 and 0.067 (2026-11-26-h200-*.jsonl to
 * 2026-11-28); 14 problems that it was not fitted to are in
 * 2026-11-28-h200-round-holdout.jsonl. */
#define RUN_AHEAD_DRAW   0.4
#define RUN_AHEAD_BLOCKS 80.0
/* Where groups have a B each, of which few tiles of rows make use while it passes. Of eight
 * runs with 512 rows in each (2026-11-23-h200-grouped.jsonl) skewed groups took 1.08 and
 * 1.12 times as long in clusters of two tiles of columns, which draw 40 bytes a clock, as
 * in those of two tiles of rows, and uniform ones 1.00 and 1.04; tiles of 128x192 in turn,
 * which draw 37, took 0.93 to 0.99 (2026-11-26-h200-groups-skewed.jsonl). Those tiles took
 * 0.98 to 1.03 of the time of 128x256, which draw 32, by K
 * (2026-11-28-h200-groups-tiles.jsonl); with 37 bytes it was said to be 0.94 to 0.99.
 * Groups of fewer rows draw as others do: with 28 bytes a clock choices of 465 problems and
 * spreads of sizes lost 0.0243, and since, with what is said below of filled rows and in
 * rounds.c of wide tiles, 0.0179; predictions of one problem's configs miss by 0.063 beside
 * each other, before by 0.083. Of 43 fresh ones whose choice changes it takes 0.977, with
 * 161 rows and more 0.915 (2026-11-28-h200-groups-drawn.jsonl). */
#define L2_BYTES_CLK_GROUPS          35.5
#define L2_BYTES_CLK_PROMOTED_GROUPS 28.0
/* Of sums that are multiplied by scales, in groups of fewer rows than these: tiles of
 * 128x192, of whose rows fewer are empty, took 0.78 to 0.96 of the time of 256x128 with 320
 * and 384 rows, uniform and skewed, 0.95 to 1.06 with 448, 0.96 to 1.18 with 512 and 0.99
 * to 1.08 with 768 and 1024 (2026-11-27-h200-groups-blocks.jsonl). */
#define L2_BYTES_CLK_SCALED_GROUPS 32.0
#define MOST_SCALED_GROUP_ROWS     448
/* The same where sizes are given, whose other numbers are in rounds.c. */
#define L2_BYTES_CLK_TYPICAL 29.0
/* Elements of 8 bits whose sums stay in the tensor core draw as those of a matrix do, and
 * what limits them is what comes to a CTA: three skewed problems of 512 rows a group took
 * 681, 3311 and 244 us in tiles of 128x128, 0.90 of the dense rate and 0.90 being the rows
 * that tiles have, and 768, 3795 and 265 in those of 64x256
 * (2026-11-26-h200-groups-byte-tiles.jsonl). Where sizes are given, from 64 rows on. */
#define TAKEN_BYTES_CLK_GROUPS 64.0
/* Unless the rows of a group are more of L2 than this: clusters that fall out of step draw
 * from memory then, and fall back further. With 22 to 59 MB of rows 128x256 took 0.75 to
 * 0.99 of the time of tiles in turn, six problems, 256x4096x7168 with 4096 rows 47.6 ms and
 * 48 to 66; with 1 to 17 MB, of which it draws less, too, 0.98 to 1.07
 * (2026-11-28-h200-groups-long.jsonl). */
#define GROUP_ROWS_PART 0.3
/* What a tile of groups takes beside that of a matrix where both warpgroups end it: a round
 * of such tiles of four uniform problems, of whole clusters, was 0.6 to 1.3 us longer than
 * one of the dense product of as many rows, of tiles in turn 0.3 or less, and these were
 * faster in skewed groups, too. Groups along K have as many more, and short ones. */
#define GROUP_TILE_CLK   2500.0
#define LOAD_LATENCY_CLK 1400.0
/* First fitted to 281 runs of few rows and few tiles on an H200
 * (2026-11-24-h200-few-rows.txt): how much later comes what is read once, from memory; the
 * least that a block of K takes of a ring's turn, and for each row and column of a tile
 * that the problem lacks. */
#define MEMORY_LATENCY_CLK 650.0
#define TURN_CLK           165.0
#define MISSING_ROW_CLK    5.0
#define LEFT_OUT_CLK       1.0
/* A copy of TMA that brings a row which an index names: with 64, 128 and 256 of them in a
 * block 4096^3 of bf16 takes 188, 242 and 486 us on an H200, of 175. */
#define ROW_BOX_CLK 11.0
/* Bytes of lines that threads copy and shift, per clock. */
#define SHIFTED_BYTES_CLK   11.5
#define CLUSTER_LATENCY_CLK 1000.0 /* members of a cluster wait for each other */

/* Where CTAs that have the same part of K share inputs: bytes per clock that each draws,
 * and that come to it in all; and what all CTAs of a GPC draw at most, of inputs that L2
 * holds, and how much longer that takes of others, which come from memory more than once.
 * Neither the latency of a ring that several fill nor barriers of the cluster show beside
 * them. Fitted to 225 runs of such parts (2026-11-26-h100-*.jsonl), what a GPC draws to
 * eight choices of an H200 that change with it, 0.95 of before
 * (2026-11-27-h200-choice-alone.jsonl): 970 bytes were an H100's. */
#define PART_DRAWN_BYTES_CLK 75.0
#define PART_TAKEN_BYTES_CLK 241.0
#define PART_GPC_BYTES_CLK   1100.0
#define PART_HELD            0.9
#define PART_FAR             1.39
/* A block of K of such parts in a ring of four stages, for one in a longer ring: where both
 * were rated alike the longer one took 0.86 to 0.97 of the time, but for two problems. */
#define PART_SHORT_RING  1.025
#define LONG_RING_STAGES 6
/* Multiprocessors that most GPCs have. */
#define MOST_GPCS_SMS 16
/* What the multiprocessors of a GPC draw from L2, all together: clusters of parts have
 * little of it in common. Up to seven of them were seen to have a GPC each; of more, which
 * leave no GPC empty, as many lie in one as it holds, and draw a little more. */
#define GPC_BYTES_CLK      800.0
#define FULL_GPC_BYTES_CLK 1000.0
#define GPC_SMS            18
#define SPREAD_CLUSTERS    7
#define LEAST_GPC_PARTS    3 /* smaller clusters lie where there is room */

/* Products of warpgroups that take tiles in turn, for those of a tile that both share, in
 * CTAs of several where no matrix is read: 15 products of 100 to 1600 us in tiles of 128 to
 * 192 columns took 0.96 of what was predicted without it, 0.92 to 0.99
 * (2026-11-26-h200-second-turns.jsonl); fitted with that day's other runs. Not beside long
 * calls, which 24 of 24 pairs say (2026-11-27-h200-elementwise-tiles.jsonl): 128x128 in
 * turn took 1.01 to 1.08 of 128x256 where 0.98 to 1.00 were predicted with it. */
#define PINGPONG_PART  0.95
#define PINGPONG_WAVES 3.0
/* The same of tiles of 64 rows by 256 columns, which bring 40 KB for as many products as
 * 128x128 has of 32: in 19 problems of one half and the other of all runs of tiles in turn
 * they took 1.04 and 1.05 of what others did of theirs (2026-11-26-h200-*.jsonl to
 * 2026-11-28). */
#define PINGPONG_WIDE 1.04
/* The part of an epilogue that shows however many stages one warpgroup leads, and the lead
 * of the tiles of which it is known that it hides the rest, 128x192 and larger. */
#define LEAD_SHOWN     0.4
#define LEAST_LEAD_CLK 1500.0

static double bytes_of(const struct jg_product *product, int64_t rows)
{
    return (double)rows * (double)product->k.size * (double)product->batch.size *
           jg_dtype_bits(product->a.dtype) / 8.0;
}

static double input_bytes_of(const struct jg_product *product)
{
    return bytes_of(product, product->m.size) + bytes_of(product, product->n.size);
}

/* Clocks of the tensor core for a block of K. */
static double count_mma_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double tile_m = layout->tile_m;
    const double tile_n = layout->tile_n;
    const double row_bytes = JG_ROW_BYTES; /* newer compilers warn of enum times double */
    const double read_clk =
        jg_larger(tile_m * row_bytes / SHARED_BYTES_CLK, jg_sm90a_pair_reads_clk(trial));
    const double mma_clk = jg_larger(tile_m * tile_n * row_bytes / MMA_BYTES_CLK, read_clk);
    if (!jg_sm90a_promotes(&trial->product)) {
        return mma_clk;
    }
    const double wait_clk =
        jg_product_promotes_scales(&trial->product) ? SCALED_WAIT_CLK : PROMOTED_WAIT_CLK;
    return jg_overlap(mma_clk, tile_m * tile_n / PROMOTED_ELEMS_CLK) +
           wait_clk * jg_sm90a_row_blocks(trial) * jg_product_gate_rows(&trial->product);
}

/* Bytes of a block of K that a CTA draws from L2. Copies fill with zeros what lies beyond
 * the problem. */
static double count_drawn_bytes(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double rows = (double)jg_min(layout->tile_m, trial->product.m.size);
    const double columns = (double)jg_sm90a_loaded_columns(trial);
    const bool lies_across = jg_sm90a_scaled_lies_across(trial);
    const int of_rows = lies_across ? layout->cluster_m : layout->cluster_n;
    const int of_columns = lies_across ? layout->cluster_n : layout->cluster_m;
    return (rows / of_rows + columns / of_columns) * (double)JG_ROW_BYTES;
}

/* What one multiprocessor draws where clusters of parts fill their GPCs. */
static double gpc_rate_of(const struct jg_trial *trial)
{
    const int cluster = jg_cluster_ctas(&trial->config);
    if (jg_cluster_parts(&trial->config) == 1 || cluster < LEAST_GPC_PARTS) {
        return L2_BYTES_CLK_HELD;
    }
    const bool has_gpc = trial->derived.busy_ctas <= SPREAD_CLUSTERS * cluster;
    const double rate = has_gpc
                            ? GPC_BYTES_CLK / cluster
                            : FULL_GPC_BYTES_CLK / (double)(GPC_SMS - GPC_SMS % cluster);
    return jg_lesser(rate, TAKEN_BYTES_CLK);
}

/* Has a typical group so many rows? */
static bool has_group_rows(const struct jg_product *product, int64_t least)
{
    const int64_t rows = product->a.letter != 'a' ? product->n.size : product->m.size;
    return jg_has_row_groups(product->group_by) && rows >= least;
}

/* Promoted sums are not among those that they are fitted to: with these numbers they would
 * take tiles of 128x192 of more rows, too. */
static bool has_large_groups(const struct jg_product *product)
{
    return has_group_rows(product, JG_LARGE_GROUP_ROWS) && !jg_sm90a_promotes(product);
}

static bool has_large_byte_groups(const struct jg_trial *trial)
{
    const bool are_given = jg_plans_sizes(trial);
    const int64_t least = are_given ? JG_TURNED_GROUP_ROWS : JG_LARGE_GROUP_ROWS;
    return has_group_rows(&trial->product, least) && !jg_sm90a_promotes(&trial->product) &&
           jg_dtype_bits(trial->product.a.dtype) <= 8;
}

/* Does L2 keep the rows of a group while its tiles are walked? */
static bool keeps_group_rows(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const int64_t rows = product->a.letter != 'a' ? product->n.size : product->m.size;
    return bytes_of(product, rows) <
           GROUP_ROWS_PART * (double)trial->facts->l2_bytes * (double)product->batch.size;
}

/* What one multiprocessor draws from L2 where all draw and L2 does not keep the inputs. */
static double all_draw_rate_of(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    if (jg_product_promotes_scales(product) && jg_plans_sizes(trial)) {
        return L2_BYTES_CLK_TYPICAL;
    }
    if (jg_product_promotes_scales(product) &&
        has_group_rows(product, JG_LARGE_GROUP_ROWS) &&
        !has_group_rows(product, MOST_SCALED_GROUP_ROWS)) {
        return L2_BYTES_CLK_SCALED_GROUPS;
    }
    if (!jg_has_row_groups(product->group_by) ||
        (has_large_byte_groups(trial) && keeps_group_rows(trial))) {
        const bool turns = trial->config.layout.k_turns == JG_K_TURNS_TAKEN;
        return turns && trial->config.launch.split_k > 1 ? L2_BYTES_CLK_TURNS
                                                         : L2_BYTES_CLK;
    }
    if (!has_group_rows(product, JG_LARGE_GROUP_ROWS)) {
        return L2_BYTES_CLK;
    }
    return jg_sm90a_promotes(product) ? L2_BYTES_CLK_PROMOTED_GROUPS : L2_BYTES_CLK_GROUPS;
}

/* What one multiprocessor draws from L2. */
static double l2_rate_of(const struct jg_trial *trial)
{
    const struct jg_device_facts *facts = trial->facts;
    const double all_draw = all_draw_rate_of(trial);
    const bool is_held =
        trial->config.launch.split_k == 1 &&
        input_bytes_of(&trial->product) < HELD_PART * (double)facts->l2_bytes;
    const double all_held = jg_larger(all_draw, L2_BYTES_CLK_ALL_HELD);
    const double rate =
        (is_held ? all_held : all_draw) * facts->sm_count / trial->derived.busy_ctas;
    return jg_lesser(jg_lesser(rate, L2_BYTES_CLK_HELD), gpc_rate_of(trial));
}

/* The most CTAs of clusters of parts that a GPC has: clusters go to one GPC after the
 * other. */
static double count_gpc_ctas(const struct jg_trial *trial)
{
    const int cluster = jg_cluster_ctas(&trial->config);
    const int64_t clusters =
        jg_ceil_div(trial->derived.busy_ctas / cluster, SPREAD_CLUSTERS);
    return (double)(jg_max(jg_min(clusters, MOST_GPCS_SMS / cluster), 1) * cluster);
}

/* Clocks until a CTA that shares inputs has drawn a block of its part of K, `drawn` bytes
 * of `taken` that come to it. */
static double count_part_draw_clk(const struct jg_trial *trial, double drawn, double taken)
{
    const bool is_held =
        input_bytes_of(&trial->product) <= PART_HELD * (double)trial->facts->l2_bytes;
    const double gpc_ctas = count_gpc_ctas(trial);
    const double gpc_clk = drawn * gpc_ctas / PART_GPC_BYTES_CLK;
    const double zeros_clk = jg_sm90a_zero_rows_bytes(trial, gpc_ctas) / PART_GPC_BYTES_CLK;
    return jg_larger(drawn / PART_DRAWN_BYTES_CLK + taken / PART_TAKEN_BYTES_CLK,
                     is_held ? gpc_clk + zeros_clk
                             : jg_larger(gpc_clk * PART_FAR, gpc_clk + zeros_clk));
}

/* Of what a CTA by itself draws, where those of its cluster have parts of K and one tile
 * holds the smaller input: what those of a GPC that have the same part have in common. With
 * few columns it does not show: 48x5120x5120 took 19.4 us in two parts of 128x64, and 16.6
 * in whole 64x64 (2026-11-26-h200-second-few_rows.jsonl). */
static double count_common_bytes(const struct jg_trial *trial)
{
    const int parts = jg_cluster_parts(&trial->config);
    const struct jg_sm90a_along smaller = jg_sm90a_smaller(trial);
    if (parts <= 1 || !trial->product.d_is_transpose || smaller.size > smaller.tile ||
        smaller.size <= COMMON_COLUMNS) {
        return 0.0;
    }
    const double sharers = jg_larger((double)MOST_GPCS_SMS / parts, 1.0);
    return (double)smaller.size * (double)JG_ROW_BYTES * (1.0 - 1.0 / sharers);
}

/* Clocks of CLOCK_HZ for one of the tensor core: until power limits it, after some time, it
 * has a faster one. */
static double mma_slowness_of(const struct jg_trial *trial)
{
    const struct jg_derived *derived = &trial->derived;
    const double busy_us = (double)jg_split_all_blocks(trial) / derived->busy_ctas *
                           count_mma_clk(trial) / CLOCK_HZ * 1e6;
    const double slowed = busy_us < POWER_US ? busy_us / POWER_US : 1.0;
    return CLOCK_HZ / FIRST_CLOCK_HZ * (1.0 - slowed) + slowed;
}

/* Does L2 keep A and B from one reader to the next? */
static bool keeps_inputs(const struct jg_trial *trial)
{
    return input_bytes_of(&trial->product) < KEPT_PART * (double)trial->facts->l2_bytes;
}

/* Of a draw, where CTAs of the last tile along the larger input run ahead. They cannot
 * where what comes to a CTA in step, `near_clk`, takes less than the tensor core, which
 * multiplies columns that the problem lacks, too. */
static double ahead_slowness_of(const struct jg_trial *trial, double near_clk)
{
    if (!keeps_inputs(trial) || jg_sm90a_shares_inputs(trial) ||
        jg_product_promotes_scales(&trial->product) ||
        near_clk < mma_slowness_of(trial) * count_mma_clk(trial)) {
        return 1.0;
    }
    const struct jg_sm90a_along larger = jg_sm90a_larger(trial);
    const double ahead = jg_sm90a_missing_part(&larger) * (double)jg_split_blocks(trial);
    return 1.0 + RUN_AHEAD_DRAW * jg_lesser(ahead / RUN_AHEAD_BLOCKS, 1.0);
}

/* Clocks until a CTA of one wave has drawn a block of K, or of a part of it, in step with
 * its neighbours, who have most of it in common. */
static double draw_near_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double row_bytes = JG_ROW_BYTES;
    const double rows = (double)jg_min(layout->tile_m, trial->product.m.size);
    const double columns = (double)jg_min(layout->tile_n, trial->product.n.size);
    const double shared =
        jg_lesser(jg_raster_shared_draw(trial) * row_bytes, count_drawn_bytes(trial));
    const double share = (double)trial->facts->sm_count / trial->derived.busy_ctas;
    const double taken_rate =
        trial->derived.one_multiplies ? TAKEN_BYTES_CLK_ALONE : TAKEN_BYTES_CLK;
    const double taken = jg_lesser(taken_rate * share, L2_BYTES_CLK_HELD);
    return jg_larger((rows + columns) * row_bytes / taken,
                     shared / (SHARED_BYTES_CLK_CTA * share));
}

/* Do CTAs by themselves that have parts of K stay in step, so that neighbours share? Their
 * products have to leave time for it, as promoted sums do, which wait for the tensor core;
 * L2 has to keep the inputs, and the last tiles to be nearly whole. */
static bool shares_parts(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_sm90a_along smaller = jg_sm90a_smaller(trial);
    const struct jg_sm90a_along larger = jg_sm90a_larger(trial);
    return jg_cluster_parts(&trial->config) > 1 && !jg_sm90a_shares_inputs(trial) &&
           jg_sm90a_promotes(product) && product->group_by == JIT_GEMM_GROUP_NONE &&
           !jg_product_promotes_scales(product) && jg_raster_has_one_wave(trial) &&
           keeps_inputs(trial) && jg_sm90a_missing_part(&smaller) <= MOST_IN_STEP_MISSING &&
           jg_sm90a_missing_part(&larger) <= MOST_IN_STEP_MISSING &&
           draw_near_clk(trial) <=
               IN_STEP_PART * mma_slowness_of(trial) * count_mma_clk(trial);
}

/* Clocks until a CTA has drawn a block of K. */
static double count_draw_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double row_bytes = JG_ROW_BYTES;
    const double rows = (double)jg_min(layout->tile_m, trial->product.m.size);
    const double columns = (double)jg_min(layout->tile_n, trial->product.n.size);
    const double taken = (rows + columns) * row_bytes;
    const double drawn = count_drawn_bytes(trial);
    const struct jg_sm90a_along smaller = jg_sm90a_smaller(trial);
    const double missing = jg_sm90a_missing_part(&smaller);
    const double uneven = 1.0 + UNEVEN_DRAW * missing * missing;
    if (jg_sm90a_has_shared_parts(trial)) {
        return count_part_draw_clk(trial, drawn, taken);
    }
    if (shares_parts(trial)) {
        return draw_near_clk(trial);
    }
    if (jg_has_row_groups(trial->product.group_by) || trial->config.launch.split_k > 1) {
        /* Neighbours have other rows, or parts of K. */
        const double taken_clk =
            has_large_byte_groups(trial) ? taken / TAKEN_BYTES_CLK_GROUPS : 0.0;
        const bool is_uneven = jg_product_promotes_scales(&trial->product) &&
                               trial->product.group_by == JIT_GEMM_GROUP_NONE;
        const double bytes = jg_sm90a_scaled_draw(trial) * (is_uneven ? uneven : 1.0) *
                             (drawn - SHARED_PART * count_common_bytes(trial));
        return jg_larger(bytes / l2_rate_of(trial), taken_clk);
    }
    const double shared = jg_lesser(jg_raster_shared_draw(trial) * row_bytes, drawn);
    const double near_clk = draw_near_clk(trial);
    const double far_clk = (drawn - SHARED_PART * (drawn - shared)) / l2_rate_of(trial);
    if (!jg_raster_has_one_wave(trial)) {
        return far_clk;
    }
    return uneven * ahead_slowness_of(trial, near_clk) * jg_lesser(far_clk, near_clk);
}

/* The part of what all CTAs draw that comes from memory: A and B, each once. */
static double memory_part_of(const struct jg_trial *trial)
{
    const double drawn = (double)jg_split_all_blocks(trial) * count_drawn_bytes(trial);
    const double part = input_bytes_of(&trial->product) / drawn;
    return part < 1.0 ? part : 1.0;
}

/* Do copies fill rows of A that the problem lacks? Clusters that share few rows leave them
 * out since: 64x128 in 1x2 takes 16.0 us with 16 to 48 rows by 6144x4096 and 16.4 with 64
 * (2026-11-28-h200-known-losses.jsonl). But they choose worse as if rows cost nothing: four
 * problems of 72 and 80 rows took 1.04 to 1.20 of the choice before. */
static bool fills_rows(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool shares_rows = layout->cluster_n > 1 && !trial->product.d_is_transpose;
    return shares_rows || trial->derived.a_rows == layout->tile_m;
}

/* However small a tile is, a block of K takes a turn of the math warpgroups, and of the
 * copies, which fill rows with zeros that the problem lacks. */
static double count_turn_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double rows = (double)jg_max(layout->tile_m - trial->product.m.size, 0);
    const double columns = (double)jg_max(layout->tile_n - trial->product.n.size, 0);
    return TURN_CLK + (fills_rows(trial) ? MISSING_ROW_CLK : LEFT_OUT_CLK) * rows +
           LEFT_OUT_CLK * columns;
}

/* What a block of K takes at least if each stage waits for memory once in a turn of the
 * ring, of which there is none where it is filled once: nine of 448x128x224 took 3.7 us in
 * 64x32 and 3.1 in 64x64 (2026-11-27-h200-choice-fresh.jsonl). Where all CTAs together have
 * as much on its way as memory can use, its rate is the limit, which the whole is compared
 * with, and not its latency. */
static double count_ring_clk(const struct jg_trial *trial)
{
    const int stages = trial->config.pipeline.stages;
    const double streamed_bytes = (double)trial->derived.busy_ctas * stages *
                                  trial->config.layout.tile_m * (double)JG_ROW_BYTES;
    const double latency_clk = LOAD_LATENCY_CLK +
                               MEMORY_LATENCY_CLK * memory_part_of(trial) +
                               (jg_sm90a_meets(trial) ? CLUSTER_LATENCY_CLK : 0.0);
    const bool is_full =
        trial->product.d_is_transpose && streamed_bytes >= (double)JG_SM90A_STREAMED_BYTES;
    return is_full || jg_sm90a_is_filled_once(trial) ? 0.0 : latency_clk / stages;
}

/* Clocks of threads that load A and B. */
static double count_thread_clk(const struct jg_trial *trial, double stage_bytes)
{
    return jg_sm90a_shifts_lines(&trial->product) ? stage_bytes / SHIFTED_BYTES_CLK
                                                  : jg_thread_loads_clk(trial, stage_bytes);
}

static double count_block_clk(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const double tile_m = layout->tile_m;
    const double tile_n = layout->tile_n;
    const double row_bytes = JG_ROW_BYTES;
    const double block_clk = jg_larger(
        jg_overlap(mma_slowness_of(trial) * count_mma_clk(trial), count_draw_clk(trial)),
        mma_slowness_of(trial) * jg_sm90a_scaled_clk(trial));
    const bool is_short = jg_sm90a_has_shared_parts(trial) &&
                          trial->config.pipeline.stages < LONG_RING_STAGES;
    const double fed_clk = jg_larger(block_clk, count_ring_clk(trial)) *
                           jg_sm90a_sharing_slowness(trial) *
                           (is_short ? PART_SHORT_RING : 1.0);
    const double turn_clk =
        jg_larger(count_turn_clk(trial), jg_sm90a_shared_zeros_clk(trial));
    return jg_larger(jg_larger(fed_clk, turn_clk),
                     jg_larger(count_thread_clk(trial, (tile_m + tile_n) * row_bytes),
                               jg_row_boxes_clk(trial, JG_SM90A_COPIED_ROWS, ROW_BOX_CLK)));
}

/* What one warpgroup has left to multiply when the other is done with a tile. The stages
 * that are held back for it are not filled meanwhile: a lead that is no longer than a load
 * gains nothing. What it hides is known of fragments. */
static double count_lead_clk(const struct jg_trial *trial)
{
    const double lead_clk =
        trial->derived.lead_stages * count_mma_clk(trial) / JG_SM90A_CONSUMERS;
    const bool has_fragments = jg_sm90a_is_priced_by_fragments(trial);
    return has_fragments && lead_clk >= LEAST_LEAD_CLK ? lead_clk : 0.0;
}

/* A tile, from the first block of K to the end of its epilogue. Of two warpgroups that take
 * tiles in turn, one writes while the other has the tensor core: each has two tiles' time
 * for both. Of two that share a tile, one has products left for so many stages. */
static double count_tile_clk(const struct jg_trial *trial)
{
    const double block_clk = count_block_clk(trial);
    const double blocks_clk = (double)jg_split_blocks(trial) * block_clk;
    const struct jg_sm90a_epilogue_clk epilogue = jg_sm90a_epilogue_clk(trial);
    if (trial->config.layout.pingpong != 0) {
        const struct jg_output *output = &trial->derived.output;
        const bool has_many = trial->derived.waves >= PINGPONG_WAVES &&
                              jg_sm90a_is_priced_by_fragments(trial) &&
                              output->loads_per_step == 0 && !epilogue.has_long_calls;
        const double own_clk = blocks_clk + epilogue.alone + epilogue.own;
        const double turns_clk =
            jg_larger(blocks_clk, own_clk / 2.0) * (has_many ? PINGPONG_PART : 1.0);
        return jg_overlap(epilogue.least, turns_clk + epilogue.shown + epilogue.random) *
               (trial->config.layout.tile_m == 64 ? PINGPONG_WIDE : 1.0);
    }
    const bool has_group_tiles = has_large_groups(&trial->product) ||
                                 trial->product.group_by == JIT_GEMM_GROUP_BY_K_OFFSETS;
    const double group_clk = has_group_tiles ? GROUP_TILE_CLK : 0.0;
    return jg_larger(epilogue.least, blocks_clk + group_clk + jg_sm90a_sums_clk(trial) +
                                         epilogue.narrow_stores +
                                         jg_larger(epilogue.tile - count_lead_clk(trial),
                                                   LEAD_SHOWN * epilogue.tile));
}

/* Clocks of whole rounds of tiles, and of a last one in which some CTAs have none; and the
 * part of all tiles that the last one has. */
struct rounds {
    double whole_clk, last_clk, last_part;
    int64_t last_ctas;
};

/* CTAs without a tile in the last round leave more of L2 to the others. How many tiles
 * groups have nobody knows: the last round counts for as much as it is full. */
static struct rounds count_rounds(const struct jg_trial *trial)
{
    if (trial->config.launch.split_tail > 0) {
        const struct jg_split_rounds rounds = jg_split_rounds_of(trial);
        struct jg_trial whole = *trial, part = *trial;
        whole.config.launch.split_k = 1;
        whole.config.launch.split_tail = part.config.launch.split_tail = 0;
        return (struct rounds){.whole_clk = (double)rounds.parts * count_tile_clk(&part) +
                                            (double)rounds.whole * count_tile_clk(&whole)};
    }
    const int64_t items = trial->derived.tiles * trial->config.launch.split_k;
    const int64_t busy = trial->derived.busy_ctas;
    const int64_t whole = items / busy;
    const int64_t rest = items % busy;
    if (jg_plans_sizes(trial)) {
        return (struct rounds){.whole_clk =
                                   jg_sm90a_typical_rounds(trial) * count_tile_clk(trial)};
    }
    if (items < busy || rest == 0) {
        return (struct rounds){.whole_clk = (double)jg_ceil_div(items, busy) *
                                            count_tile_clk(trial)};
    }
    if (has_large_groups(&trial->product)) {
        return (struct rounds){.whole_clk =
                                   (double)items / (double)busy * count_tile_clk(trial)};
    }
    struct jg_trial last = *trial;
    last.derived.busy_ctas = (int)rest;
    return (struct rounds){.whole_clk = (double)whole * count_tile_clk(trial),
                           .last_clk = count_tile_clk(&last),
                           .last_part = (double)rest / (double)items,
                           .last_ctas = rest};
}

/* How much longer a byte of memory takes in the last round than in one of all CTAs. */
static double last_slowness_of(const struct jg_trial *trial, const struct rounds *rounds)
{
    return rounds->last_ctas == 0 ? 1.0
                                  : (1.0 - exp(-trial->derived.busy_ctas / FEW_CTAS)) /
                                        (1.0 - exp(-(double)rounds->last_ctas / FEW_CTAS));
}

static double us_of(double clk)
{
    return clk / CLOCK_HZ * 1e6;
}

/* Are the tiles along the smaller input whole, neighbours in an order that goes along the
 * larger one, and their CTAs in no clusters? */
static bool stay_together(const struct jg_trial *trial,
                          const struct jg_sm90a_along *smaller)
{
    const struct jg_config_launch *launch = &trial->config.launch;
    return !jg_sm90a_shares_inputs(trial) && smaller->size % smaller->tile == 0 &&
           launch->raster == (smaller->is_m ? JG_RASTER_ALONG_N : JG_RASTER_ALONG_M) &&
           smaller->size <= smaller->tile * launch->raster_group;
}

static double count_reread_bytes(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const struct jg_sm90a_along smaller = jg_sm90a_smaller(trial);
    const double larger_bytes =
        bytes_of(product, smaller.is_m ? product->n.size : product->m.size);
    const bool is_kept = keeps_inputs(trial) || smaller.size <= smaller.tile;
    if (is_kept || !jg_raster_has_one_wave(trial)) {
        return 0.0;
    }
    if (stay_together(trial, &smaller)) {
        return TOGETHER_PART * larger_bytes;
    }
    const double missing = jg_sm90a_missing_part(&smaller);
    return (REREAD_PART + UNEVEN_PART * missing * missing) * larger_bytes;
}

/* Do few CTAs stream all weights once? */
static bool has_few_streams(const struct jg_trial *trial)
{
    return 3 * trial->derived.busy_ctas < 2 * trial->facts->sm_count;
}

/* ... as the multiplication's B, in turn? */
static bool has_few_turns(const struct jg_trial *trial)
{
    const struct jg_sm90a_along smaller = jg_sm90a_smaller(trial);
    return has_few_streams(trial) && !trial->product.d_is_transpose &&
           trial->config.layout.k_turns == JG_K_TURNS_TAKEN && smaller.size <= smaller.tile;
}

/* Of memory. Where few CTAs have the weights on their way, and where copies of A fill rows
 * with zeros beside them, it gives less. */
static double memory_slowness_of(const struct jg_trial *trial)
{
    const struct jg_product *product = &trial->product;
    const double tile_m = trial->config.layout.tile_m;
    const double missing = jg_larger(tile_m - (double)product->m.size, 0.0) / tile_m;
    const bool is_filled =
        fills_rows(trial) && !product->d_is_transpose && product->n.size > product->m.size;
    const double filled_part =
        jg_has_row_groups(product->group_by) ? GROUP_FILLED_ROWS_PART : FILLED_ROWS_PART;
    return (has_few_turns(trial)     ? FEW_TURNS
            : has_few_streams(trial) ? FEW_STREAMS
                                     : 1.0) *
           (is_filled ? 1.0 + filled_part * missing : 1.0);
}

/* Does one wide tile have all of the rows, which weights stream past, each with all of K?
 * Beside groups, whose tiles are many, it does not show. */
static bool is_wide(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_product *product = &trial->product;
    return !product->d_is_transpose && trial->config.launch.split_k == 1 &&
           !jg_has_row_groups(product->group_by) &&
           (layout->tile_m > 64 || layout->tile_n >= 256) &&
           product->m.size > MOST_ALIKE_ROWS && product->m.size <= MOST_FEW_ROWS &&
           product->m.size < product->n.size;
}

/* Of tiles of certain sizes, which nothing else here tells. */
static double tile_slowness_of(const struct jg_trial *trial)
{
    const int64_t rows = trial->product.m.size;
    if (shares_parts(trial)) {
        return IN_STEP_SLOWNESS;
    }
    if (!jg_sm90a_streams_whole(trial)) {
        return is_wide(trial) ? WIDE_TILES : 1.0;
    }
    return rows >= LEAST_BETWEEN_ROWS && rows <= MOST_FEW_ROWS ? BETWEEN_TILES
                                                               : BETWEEN_TILES_OF_OTHER;
}

/* All rounds, beside memory. Where that is the limit, few CTAs of a last round are waited
 * for, as they have no more of it on its way. */
static double predict_rounds_us(const struct jg_trial *trial, double memory_us)
{
    const struct rounds rounds = count_rounds(trial);
    const double whole_us = us_of(rounds.whole_clk + jg_sm90a_ends_clk(trial));
    const double last_us = us_of(rounds.last_clk);
    if (memory_us <= whole_us + last_us || jg_sm90a_smaller(trial).size > MOST_FEW_ROWS) {
        return jg_overlap(whole_us + last_us, memory_us);
    }
    const double last_memory_us = memory_us * rounds.last_part;
    const bool has_parts = jg_cluster_parts(&trial->config) > 1;
    return jg_overlap(whole_us, memory_us - last_memory_us) +
           jg_overlap(last_us, last_memory_us * last_slowness_of(trial, &rounds)) +
           (has_parts ? SHOWN_SUMS * us_of(jg_sm90a_sums_clk(trial)) : 0.0);
}

void jg_sm90a_predict(struct jg_trial *trial)
{
    const struct jg_product asked = trial->product;
    trial->product = jg_typical_product(trial);
    const double m = (double)trial->product.m.size;
    const double n = (double)trial->product.n.size;
    const double batch = (double)trial->product.batch.size;
    const double bytes = input_bytes_of(&trial->product) + count_reread_bytes(trial) +
                         m * n * batch * jg_output_bytes(trial->problem);
    const double memory_bytes_s = MEMORY_PART * (double)trial->facts->memory_bytes_s;
    trial->derived.repack_us = jg_repack_us(trial, memory_bytes_s);
    const double memory_us = bytes / memory_bytes_s * memory_slowness_of(trial) * 1e6;
    trial->derived.predicted_us = predict_rounds_us(trial, memory_us) *
                                      tile_slowness_of(trial) *
                                      jg_sm90a_unsure_slowness(trial) +
                                  jg_sm90a_launch_us(trial) + trial->derived.repack_us;
    trial->product = asked;
}
