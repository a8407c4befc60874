/* SPDX-License-Identifier: MIT */
/* What the epilogue of Hopper's kernel takes of a tile. */
#include "base/math.h"
#include "plan/cluster.h"
#include "plan/cost.h"
#include "plan/sm90a/sm90a.h"

#define EPILOGUE_ELEMS_CLK  32.0
#define EPILOGUE_BYTES_CLK  40.0
#define LONG_CALL_ELEMS_CLK 11.0 /* of each of long_calls (struct jg_epilogue) */
/* Of epilogues that write more than D, or draw random numbers, all of them by vectors; from
 * ten of them in 128x256 and in 128x128 in turn, four sizes each
 * (2026-11-26-h200-named-configs.jsonl). The part of a long call where both warpgroups have
 * a tile at the same time, as eight warps hide what four do not; elements a clock whose
 * random numbers, which are multiplications, show beside the other warpgroup's products;
 * elements a clock that are folded to results of rows or of all, and of columns; and to
 * those of columns in a warpgroup's own time, where it reads a matrix, too, in turn. */
#define LONG_CALL_TOGETHER_PART  0.5
#define RANDOM_TURN_ELEMS_CLK    8.0
#define REDUCED_ELEMS_CLK        50.0
#define REDUCED_COLUMN_ELEMS_CLK 17.0
#define REDUCED_TURN_ELEMS_CLK   1.5
/* Where warpgroups take tiles in turn: clocks of an epilogue of one for those of one that
 * both share, and the part of these that shows beside the other's products. Fitted to
 * bench/results/2026-11-24-h200-pingpong.txt. Nothing shows in two rounds, where each has
 * one tile: 61 fresh choices that change with it take 0.969 of the time, 0.84 to 1.11
 * (2026-11-28-h200-round-sizes.jsonl). */
#define ALONE_FACTOR 1.5
#define SHOWN_PART   0.3
/* A store tile more than whole lines of 128 bytes would be: 4096x24576x1536 and
 * 4096x14336x4096 took 3 and 2 percent more in tiles of 128x224, whose store tiles have
 * rows of 64 bytes, than in 128x256 (2026-11-26-h200-turns.jsonl). */
#define STORE_TILE_CLK 250.0
/* A store tile of 16 rows of a D that is a transposed product's, where a warpgroup has
 * several because no larger power of two divides its columns: 64x96 and 64x160. From 22
 * runs of kept problems of short K, whose error it brings from 9.5 to 5.9 percent;
 * 3608x4352x256 e4m3 took 21.4 us in 64x160 and 15.3 in 64x192
 * (2026-11-27-h200-holdout-replays.jsonl). */
#define SHORT_STORE_CLK 100.0
/* The same beside scales of blocks: transposed 128x112 took 12.3 us of 768x5120x512, where
 * 10.5 were said and 128x96 took 9.0 (2026-11-28-h200-block-choices.jsonl). */
#define SCALED_SHORT_STORE_CLK 150.0
#define NARROW_ROW_BYTES       64
#define NARROW_ROW_CLK         5.5
/* The same of tiles in turn, beside which products of both warpgroups go on: fitted to 32
 * runs of 128x176 beside other tiles in turn, whose error it brings from 15 to 4 percent in
 * one half of the problems and from 6.6 to 5.0 in the other; 10664x3712x1344 with bias_gelu
 * took 164 us in 128x176 and 145 in 128x192, of which about the same was said
 * (2026-11-26-h200-*.jsonl to 2026-11-28). A warpgroup's own time has them whole, as it
 * shows where K is short and gelu or silu are long: nine fresh choices that change with it
 * take 0.886 of the time, 0.80 to 1.05 (2026-11-28-h200-narrow-own.jsonl). */
#define NARROW_TURN_ROW_CLK 3.0

static bool is_random(const struct jg_problem *problem)
{
    return problem->epilogue != NULL && problem->epilogue->is_random;
}

static bool writes_more(const struct jg_problem *problem)
{
    bool found = false;
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        found |= problem->epilogue->operands[i].role != JIT_GEMM_OPERAND_INPUT;
    }
    return found;
}

/* A second matrix by fragments has what was fitted to its vectors; so have matrices of a
 * CTA's only tile. */
bool jg_sm90a_is_priced_by_fragments(const struct jg_trial *trial)
{
    const struct jg_output *output = &trial->derived.output;
    const bool reads_late = output->loads_per_step > 0 && trial->derived.waves <= 1.0;
    return output->epilogue == JG_EPILOGUE_FRAGMENTS && !output->writes_boxes &&
           !reads_late;
}

/* As many as take the time of one warpgroup's by itself. */
static double count_long_calls(const struct jg_trial *trial)
{
    const struct jg_problem *problem = trial->problem;
    const bool is_together =
        trial->config.layout.pingpong == 0 && writes_more(problem) && !is_random(problem);
    const double calls = problem->epilogue != NULL ? problem->epilogue->long_calls : 0;
    return calls * (is_together ? LONG_CALL_TOGETHER_PART : 1.0);
}

/* Clocks of an element, for what is folded over tiles. In turn, only beside a matrix. */
static double count_reduced_clk(const struct jg_trial *trial)
{
    const struct jg_epilogue *epilogue = trial->problem->epilogue;
    const bool in_turn = trial->config.layout.pingpong != 0;
    const bool reads = trial->derived.output.loads_per_step > 0;
    double clk = 0.0;
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        const bool of_columns = operand->kind == JIT_GEMM_OPERAND_ROW_VECTOR;
        if (!jg_operand_needs_workspace(operand)) {
            continue;
        }
        if (!in_turn) {
            clk += 1.0 / (of_columns ? REDUCED_COLUMN_ELEMS_CLK : REDUCED_ELEMS_CLK);
        } else if (of_columns && reads) {
            clk += 1.0 / REDUCED_TURN_ELEMS_CLK;
        }
    }
    return clk;
}

static double count_shared_clk(const struct jg_trial *trial)
{
    const double tile_m = trial->config.layout.tile_m;
    const double tile_n = trial->config.layout.tile_n;
    const int ctas = trial->derived.output.divided ? trial->config.launch.split_k : 1;
    const struct jg_team_columns columns = {.count = trial->derived.team_columns};
    const bool has_steps =
        !jg_sm90a_is_priced_by_fragments(trial) && !trial->product.d_is_transpose;
    const double whole =
        has_steps ? (double)jg_staged_columns(trial, &columns) / columns.count : 1.0;
    return tile_m * tile_n / ctas * whole *
           (1.0 / EPILOGUE_ELEMS_CLK + jg_output_clk(trial->problem, EPILOGUE_BYTES_CLK) +
            count_long_calls(trial) / LONG_CALL_ELEMS_CLK +
            (trial->config.layout.pingpong != 0 ? 0.0 : count_reduced_clk(trial)));
}

/* Of whole K: what parts store was not fitted to. */
static double count_short_store_clk(const struct jg_trial *trial)
{
    const struct jg_derived *derived = &trial->derived;
    const bool has_one = derived->team_columns <= derived->d_box.rows;
    const double clk = jg_product_promotes_scales(&trial->product) ? SCALED_SHORT_STORE_CLK
                                                                   : SHORT_STORE_CLK;
    return has_one || derived->d_box.rows > JG_STORE_TILE_COLUMNS ||
                   trial->config.launch.split_k > 1
               ? 0.0
               : clk * derived->team_columns / derived->d_box.rows;
}

/* Store tiles whose rows are less than a line, because the columns of a warpgroup are no
 * whole number of it. */
static double count_narrow_store_clk(const struct jg_trial *trial)
{
    const struct jg_derived *derived = &trial->derived;
    const double bytes =
        (double)jg_bytes_of(trial->product.d.dtype, (int64_t)derived->team_columns);
    if (!jg_sm90a_is_priced_by_fragments(trial)) {
        return 0.0;
    }
    if (trial->product.d_is_transpose) {
        return count_short_store_clk(trial);
    }
    return STORE_TILE_CLK * (bytes / derived->d_box.row_bytes - bytes / JG_ROW_BYTES);
}

/* What the copies of a tile's store tiles take, where these have rows of half of what L2
 * moves at a time; at least, or in turn beside the products: 3576x12160x384 took 73.7 us in
 * tiles of 128x176 in turn, 15 for each CTA with 1408 such rows, 60.4 in 128x160 and 54.2
 * in 128x192, where 51.4, 53.0 and 52.2 were predicted
 * (2026-11-27-h200-holdout-choice.jsonl). */
static double count_narrow_rows_clk(const struct jg_trial *trial, double row_clk)
{
    const struct jg_derived *derived = &trial->derived;
    if (!jg_sm90a_is_priced_by_fragments(trial) || trial->product.d_is_transpose ||
        derived->d_box.row_bytes >= NARROW_ROW_BYTES) {
        return 0.0;
    }
    const double boxes =
        (double)jg_bytes_of(trial->product.d.dtype, trial->config.layout.tile_n) /
        derived->d_box.row_bytes;
    return trial->config.layout.tile_m * boxes * row_clk;
}

static bool has_long_calls(const struct jg_trial *trial)
{
    const struct jg_epilogue *epilogue = trial->problem->epilogue;
    return epilogue != NULL && epilogue->long_calls > 0;
}

struct jg_sm90a_epilogue_clk jg_sm90a_epilogue_clk(const struct jg_trial *trial)
{
    const bool in_turn = trial->config.layout.pingpong != 0;
    const double elements =
        (double)trial->config.layout.tile_m * trial->config.layout.tile_n;
    const double tile_clk = count_shared_clk(trial);
    const bool has_one_each = trial->derived.waves > 1.0 && trial->derived.waves <= 2.0;
    return (struct jg_sm90a_epilogue_clk){
        .tile = tile_clk,
        .alone = in_turn ? ALONE_FACTOR * tile_clk : 0.0,
        .shown = in_turn && !has_one_each ? SHOWN_PART * tile_clk : 0.0,
        .own = in_turn ? elements * count_reduced_clk(trial) +
                             count_narrow_rows_clk(trial, NARROW_ROW_CLK)
                       : 0.0,
        .random =
            in_turn && is_random(trial->problem) ? elements / RANDOM_TURN_ELEMS_CLK : 0.0,
        .narrow_stores = in_turn ? 0.0 : count_narrow_store_clk(trial),
        .least =
            count_narrow_rows_clk(trial, in_turn ? NARROW_TURN_ROW_CLK : NARROW_ROW_CLK),
        .has_long_calls = has_long_calls(trial)};
}
