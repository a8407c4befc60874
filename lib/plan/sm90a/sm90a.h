/* SPDX-License-Identifier: MIT */
/*
 * Hopper. One producer warpgroup (TMA) and two consumer warpgroups (wgmma) share a CTA
 * tile, or the consumers take a tile each in turn; the ring has `stages` pairs of A and B
 * slices of 64 elements of K, and each consumer stores its output in tiles of 64 rows of
 * 128 bytes.
 */
#ifndef JG_PLAN_SM90A_H
#define JG_PLAN_SM90A_H

#include "plan/smem.h"

/* Of the product's A, that all CTAs have on its way where it streams through few columns.
 */
enum { JG_SM90A_STREAMED_BYTES = 8 << 20 };

enum {
    /* Where each row and column has a scale of its own they come six blocks ahead, as the
     * tiles do. With two slots, which a copy's latency is longer than, 128x112 took 1.18 of
     * the time on an H200, 256x48 1.02, and 128x128 with six stages 1.01 of what it takes
     * with five (2026-11-28-h200-row-words.jsonl). */
    JG_SM90A_OWN_SLOTS = 6,
    JG_SM90A_CONSUMERS = 2,
    JG_SM90A_COPIED_ROWS = 1,  /* from anywhere, by one copy of TMA */
    JG_SM90A_COPIED_BYTES = 4, /* the least that a thread's copy has */
    JG_SM90A_TILES = 16,
    JG_SM90A_PINGPONG_TILES = 5,
    JG_SM90A_TRANSPOSED_TILES = 19,
    JG_SM90A_GROUP_TILES = 3,
    JG_SM90A_CLUSTERS = 3
};

struct jg_sm90a_pair {
    int m, n;
};
struct jg_sm90a_pairs {
    const struct jg_sm90a_pair *pairs;
    int count;
};

/* What the kernel has, in order of preference between candidates of equal cost. */
extern const struct jg_sm90a_pair jg_sm90a_tiles[JG_SM90A_TILES];
/* The same where a warpgroup has the whole tile: its accumulators are registers. */
extern const struct jg_sm90a_pair jg_sm90a_pingpong_tiles[JG_SM90A_PINGPONG_TILES];
/* The same where D lies as the transpose of the product: few columns, which are D's rows in
 * memory. Tiles of 256 rows are those of the pairs of a gated D, but for the last. */
extern const struct jg_sm90a_pair jg_sm90a_transposed_tiles[JG_SM90A_TRANSPOSED_TILES];
/* How many of them there are for a transposed product: all, or all but the last
 * two. */
int jg_sm90a_count_transposed(const struct jg_product *product);
/* The same where a group's rows are the columns, which one tile may hold, the smallest
 * first; in clusters of two tiles of D's columns. The last one has no other product. */
extern const struct jg_sm90a_pair jg_sm90a_group_tiles[JG_SM90A_GROUP_TILES];
bool jg_sm90a_may_have_group_tiles(const struct jg_product *transposed);
/* Columns that come to a CTA of each block of K. */
int64_t jg_sm90a_loaded_columns(const struct jg_trial *trial);
/* Do such sizes take hardly more tiles of so many rows than there are groups? */
bool jg_sm90a_has_tile_each(const jit_gemm_size_run *sizes, int64_t rows);
extern const struct jg_sm90a_pair jg_sm90a_clusters[JG_SM90A_CLUSTERS];
/* The same where its CTAs have parts of K. */
extern const struct jg_part_cluster jg_sm90a_part_clusters[];

/* How many stages its ring may have. */
struct jg_stage_limits jg_sm90a_stage_limits(const struct jg_trial *trial);
struct jg_smem jg_sm90a_smem(const struct jg_trial *trial);
/* Of D, that a warpgroup has of a tile. */
struct jg_team_columns jg_sm90a_team_columns(const struct jg_trial *trial);
/* What the tensor core keeps of sums of 8-bit floats. */
enum { JG_SM90A_FP8_FRACTION_BITS = 13 };

/* Do accumulators leave the tensor core after each stage? Those of 8-bit floats lose too
 * much there (jg/sm90a/mma_op.cuh), unless the problem says that they may. */
static inline bool jg_sm90a_promotes(const struct jg_product *product)
{
    return jg_dtype_is_fp8(product->a.dtype) &&
           product->accumulate == JIT_GEMM_ACCUMULATE_EXACT;
}

/* Rows of a CTA's tile that its stages bring: no more than the problem says that there are,
 * as an H200 took 8 clocks for a row of zeros, and one for another. `size`: of the problem,
 * along those rows; `boxes`: of the tensor map, of so many CTAs that share them; 0 where
 * others are not that simple. */
int jg_sm90a_loaded_rows(const struct jg_product *product, const struct jg_matrix *matrix,
                         const jit_gemm_dim *size, int tile, int boxes);

/* Of a thread, where two CTAs of a multiprocessor have half of all each (resident=2). */
enum { JG_SM90A_HALF_REGISTERS = 80 };
/* May two CTAs, one of the next launch, have one? */
bool jg_sm90a_check_resident(struct jg_trial *trial);

/* May the math warpgroups have every other block of K of a tile each? */
bool jg_sm90a_may_turn(const struct jg_trial *trial);
bool jg_sm90a_are_sizes_dynamic(const struct jg_product *product);
/* Rejects tiles where each column has scales of its own and there are no registers for
 * them: scales of single columns are as many values more as a quarter of a warpgroup's
 * columns has. Larger tiles were seen to spill, and those of more than 96 columns where a
 * cluster shares rows and all sizes are read. Reads the output's form. */
bool jg_sm90a_check_column_scales(struct jg_trial *trial);
/* Rejects k_turns=1 where they may not. */
bool jg_sm90a_check_turns(struct jg_trial *trial);
/* Of shared memory, where what they added up meets. */
int64_t jg_sm90a_turn_bytes(const struct jg_trial *trial);

/* Does the first math warpgroup multiply all of a tile (jg/sm90a/hand_over.cuh)? When it is
 * known how C comes, and how many tiles a CTA has. */
bool jg_sm90a_one_multiplies(const struct jg_trial *trial);

/* Has the ring a stage for each of a CTA's blocks of K? */
bool jg_sm90a_is_filled_once(const struct jg_trial *trial);

/* CTAs of turned clusters have the same rows: each loads half of them for both, where TMA
 * brings rows in boxes. 0: the last round is not turned. */
int jg_sm90a_turned_slices(const struct jg_trial *trial);
/* Does a warp find items for the math warpgroups (jg/sm90a/item_slots.cuh), and for the
 * thread that loads? */
bool jg_sm90a_passes_items(const struct jg_trial *trial);
bool jg_sm90a_passes_loads(const struct jg_trial *trial);
/* Do both math warpgroups multiply rows of a tile of which a group has no more than half?
 * When the way out is chosen. */
bool jg_sm90a_shares_short(const struct jg_trial *trial);
/* Does the next grid begin when all of this one has ended, where each CTA has one tile,
 * though it might when the inputs are used up (jg/sm90a/roles.cuh)? When the way out is
 * chosen. */
bool jg_sm90a_holds_next(const struct jg_trial *trial);
/* By how many stages does one math warpgroup end a tile before the other, which then has
 * products for the tensor core while the first writes D (jg/sm90a/consumer_order.cuh)? When
 * the way out is chosen. */
int jg_sm90a_lead_stages(const struct jg_trial *trial);
/* Are a tile's random numbers drawn before its first stage is full? When it is known how
 * many tiles a CTA has. */
bool jg_sm90a_draws_ahead(const struct jg_trial *trial);
/* Are the vectors of a tile's epilogue read before its products, not behind the last ones?
 * When the way out is chosen. */
bool jg_sm90a_reads_first(const struct jg_trial *trial);
/* May a CTA's only tile go out from fragments by its warps, which store rows of D, and so
 * may have matrices by fragments too? When it is known how many tiles a CTA has. */
bool jg_sm90a_may_store_by_warps(const struct jg_trial *trial);
/* Are those boxes of a tile of A left out of which a group has no rows? */
bool jg_sm90a_leaves_slices(const struct jg_trial *trial);

/* Warps that bring scales which lie row by row, beside one of items. */
struct jg_row_warps jg_sm90a_row_warps(const struct jg_trial *trial, bool passes_items);

/* Do threads that load A and B copy whole chunks of 16 bytes, and shift them in shared
 * memory (jg/tile/shifted_loader.cuh)? Where less than a word is promised: longer ones are
 * copied one by one, and elements of tf32 are rounded on the way. */
static inline bool jg_sm90a_shifts_lines(const struct jg_product *product)
{
    return product->a.alignment < JG_SM90A_COPIED_BYTES &&
           product->a.dtype != JIT_GEMM_DTYPE_TF32 &&
           product->a_rows != JIT_GEMM_ROWS_INDEXED;
}

/* Clocks of an epilogue. */
struct jg_sm90a_epilogue_clk {
    double tile; /* where both warpgroups end a tile together */
    /* Of a warpgroup that takes tiles in turn: all of one by itself; what it takes besides,
     * in its own time; what shows beside the other's products, and of random numbers. */
    double alone, own, shown, random;
    double narrow_stores; /* of tiles that both share */
    double least;         /* of a tile's stores, whatever it multiplies */
    bool has_long_calls;  /* of functions of the snippet */
};
struct jg_sm90a_epilogue_clk jg_sm90a_epilogue_clk(const struct jg_trial *trial);
/* Does the model take the way out as one by fragments? */
bool jg_sm90a_is_priced_by_fragments(const struct jg_trial *trial);
/* Tiles of 64 rows by 160, 192 and 224 columns are there for weights that stream through
 * all CTAs at once, each with all of K. 64x4096x7168 takes 18.2 to 20.7 us in 4 and 5 parts
 * of them, where the model says 18.5, and 16.6 in 64x32; 256x2048x7168 16.8 to 18.4 and
 * 16.0 (2026-11-27-h200-few-rows.jsonl). */
static inline bool jg_sm90a_streams_whole(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    return !trial->product.d_is_transpose && layout->tile_m == 64 &&
           layout->tile_n % 128 != 0;
}
/* Clocks of adding up a tile's parts of K, in a cluster or as shares in a workspace; 0
 * where there are none, and of other orders in a workspace. */
double jg_sm90a_sums_clk(const struct jg_trial *trial);
/* Rounds of tiles that all CTAs take together, of groups whose sizes are given. */
double jg_sm90a_typical_rounds(const struct jg_trial *trial);
/* What it takes for what is said of it where sizes are assumed, or all clusters counted on
 * are taken. */
double jg_sm90a_unsure_slowness(const struct jg_trial *trial);
/* Blocks of 64 rows that a warpgroup multiplies one after the other. */
int jg_sm90a_row_blocks(const struct jg_trial *trial);
/* Have single columns of the product scales of their own? */
bool jg_sm90a_has_column_scales(const struct jg_product *product);
/* Columns of a tile that a math warpgroup multiplies. */
int jg_sm90a_multiplied_columns(const struct jg_trial *trial);
/* How they go from block to block, where sums are multiplied by scales: when stages and
 * warps that bring scales are known. And whether stages have these scales. */
enum jg_scaled_blocks jg_sm90a_scaled_blocks(const struct jg_trial *trial);
bool jg_sm90a_has_scales_in_stages(const struct jg_trial *trial);
/* Clocks of the math warpgroups for a block of K, whose sums they multiply by scales; 0
 * where there are none. */
double jg_sm90a_scaled_clk(const struct jg_trial *trial);
/* Do clusters of two tiles of 64 rows lie across these, as each group has one tile, where
 * sums are multiplied by scales? */
bool jg_sm90a_scaled_lies_across(const struct jg_trial *trial);
/* What such a tile takes to draw a block, of what its bytes say. */
double jg_sm90a_scaled_draw(const struct jg_trial *trial);
/* Clocks until the math warpgroups have read a block of K, of a transposed product of
 * pairs; 0 of any other, and where that hides. */
double jg_sm90a_pair_reads_clk(const struct jg_trial *trial);
/* What a CTA's tiles after its first one take besides, of `rounds`, where warpgroups have
 * blocks of K in turn. */
double jg_sm90a_next_turns_clk(const struct jg_trial *trial, double rounds);
/* Tiles along one of the inputs, which all need the other. */
struct jg_sm90a_along {
    int64_t size, tile; /* rows or columns; of a cluster */
    bool is_m;
};
/* Along the smaller one, and the larger one. */
struct jg_sm90a_along jg_sm90a_smaller(const struct jg_trial *trial);
struct jg_sm90a_along jg_sm90a_larger(const struct jg_trial *trial);
/* The part of the last of several tiles that the problem lacks. */
double jg_sm90a_missing_part(const struct jg_sm90a_along *along);
/* Do the CTAs of a cluster share inputs, of whole K or of the same part of it? */
bool jg_sm90a_shares_inputs(const struct jg_trial *trial);
bool jg_sm90a_has_shared_parts(const struct jg_trial *trial);
/* What a block of K takes in such a cluster, for what its draws and products say. */
double jg_sm90a_sharing_slowness(const struct jg_trial *trial);
/* Clocks until a cluster has a block of K for which copies fill rows with zeros. */
double jg_sm90a_shared_zeros_clk(const struct jg_trial *trial);
/* Bytes that a GPC, which has `gpc_ctas` CTAs of clusters with parts of K, could draw while
 * it fills rows with zeros for a block. */
double jg_sm90a_zero_rows_bytes(const struct jg_trial *trial, double gpc_ctas);
/* Do CTAs that share inputs wait for each other? Those of parts of K in one cluster do so
 * beside what else they wait for. */
bool jg_sm90a_meets(const struct jg_trial *trial);
/* Clocks behind and before all rounds of tiles, and what a launch takes: it begins while
 * the one before still has multiprocessors, if there is a place. */
double jg_sm90a_ends_clk(const struct jg_trial *trial);
double jg_sm90a_launch_us(const struct jg_trial *trial);
/* The cost model, for comparing candidates; after all else of the trial is derived. */
void jg_sm90a_predict(struct jg_trial *trial);

/* The rooms: see struct jg_arch. */
bool jg_sm90a_candidate(const struct jg_problem *problem, int index,
                        struct jg_config *ret_config);
bool jg_sm90a_takes_parts(const struct jg_trial *trial);
void jg_sm90a_complete(struct jg_trial *trial);
bool jg_sm90a_derive(struct jg_trial *trial);
/* Do weights of groups stream past few rows each, all of which half of a tile's columns
 * hold? L2 gives them up before all else then. */
bool jg_sm90a_streams_groups(const struct jg_product *product,
                             const struct jg_config_layout *layout);
/* Do groups of rows have clusters of two tiles along the rows, of which a group's last ones
 * may lie across them? */
bool jg_sm90a_has_turned_shape(const struct jg_trial *trial);

#endif
