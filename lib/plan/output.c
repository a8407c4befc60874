/* SPDX-License-Identifier: MIT */
#include "plan/output.h"

#include "base/math.h"
#include "plan/scale.h"
#include "plan/smem.h"
#include "plan/split.h"
#include "plan/trial.h"

enum {
    LOAD_ELEMENT_BITS = 16, /* of a matrix whose part of a step is one stage */
    VECTOR_ELEMENTS = 8,
    WARP_LANES = 32,
    STEP = 64,         /* columns of D in a step of the epilogue, JG_GATED_STEP if gated */
    PANEL_COLUMNS = 32 /* of f32 in an output stage */
};

/* ----------------------------------------------------------------------- the epilogue */

/* A matrix whose boxes are read as a warp holds accumulators. */
static bool is_box_matrix(const struct jg_operand *operand)
{
    return operand->kind == JIT_GEMM_OPERAND_MATRIX &&
           operand->role == JIT_GEMM_OPERAND_INPUT &&
           jg_dtype_bits(operand->dtype) == LOAD_ELEMENT_BITS;
}

static bool is_box_output(const struct jg_operand *operand)
{
    return operand->kind == JIT_GEMM_OPERAND_MATRIX &&
           operand->role == JIT_GEMM_OPERAND_OUTPUT &&
           jg_dtype_bits(operand->dtype) == LOAD_ELEMENT_BITS;
}

/* Those that are assigned. */
static int count_box_outputs(const struct jg_epilogue *epilogue)
{
    int count = 0;
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        count += is_box_output(&epilogue->operands[i]) ? 1 : 0;
    }
    return count;
}

/* What may go through boxes, if all else is scalars and vectors that are read. */
enum box_matrices { NO_MATRIX, MATRICES_READ, MATRIX_WRITTEN };

static bool takes_matrix(const struct jg_operand *operand, enum box_matrices matrices)
{
    return (matrices == MATRICES_READ && is_box_matrix(operand)) ||
           (matrices == MATRIX_WRITTEN && is_box_output(operand));
}

static bool reads_fragments(const struct jg_epilogue *epilogue, enum box_matrices matrices)
{
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        const bool is_matrix = operand->kind == JIT_GEMM_OPERAND_MATRIX;
        if ((is_matrix && !takes_matrix(operand, matrices)) ||
            jg_operand_reduces(operand)) {
            return false;
        }
    }
    return true;
}

/* Four columns share their random numbers: a vector has all of them, fragments have two. */
static bool is_random(const struct jg_epilogue *epilogue)
{
    return epilogue != NULL && epilogue->is_random;
}

/* Do rows of D end on 16 bytes at every launch? */
static bool has_even_rows(const struct jg_problem *problem)
{
    const jit_gemm_dim row = jg_problem_d_row(problem);
    return row.mode != JIT_GEMM_DIM_DYNAMIC &&
           jg_bytes_of(problem->d.dtype, row.size) % JG_TMA_ALIGNMENT == 0;
}

/* May the problem take fragments, whatever the config, with such matrices, and if D has one
 * map, or each group's? */
static bool may_take_fragments(const struct jg_problem *problem, enum box_matrices matrices)
{
    const bool c_is_box =
        matrices == MATRICES_READ && jg_dtype_bits(problem->c.dtype) == LOAD_ELEMENT_BITS;
    return !jg_outputs_by_threads(problem) &&
           (problem->c.dtype == JIT_GEMM_DTYPE_NONE || c_is_box) &&
           jg_dtype_bits(problem->d.dtype) > 8 && has_even_rows(problem) &&
           !jg_problem_has_neighbours(problem) &&
           reads_fragments(problem->epilogue, matrices) && !is_random(problem->epilogue) &&
           problem->d_rows == JIT_GEMM_ROWS_IN_ORDER;
}

static bool has_own_d(const struct jg_problem *problem)
{
    return problem->group_by == JIT_GEMM_GROUP_BY_POINTERS;
}

static bool takes_fragments(const struct jg_problem *problem)
{
    return may_take_fragments(problem, NO_MATRIX) && !has_own_d(problem);
}

/* The same of matrices that come through a ring, in boxes of as many columns as a store
 * tile of D has. */
static bool takes_box_fragments(const struct jg_problem *problem, int columns)
{
    return may_take_fragments(problem, MATRICES_READ) && !has_own_d(problem) &&
           !problem->is_gated && jg_dtype_bits(problem->d.dtype) == LOAD_ELEMENT_BITS &&
           columns % STEP == 0;
}

/* The same of one matrix that is assigned, which takes turns with D in two buffers of its
 * store tiles. */
static bool writes_box_fragments(const struct jg_problem *problem)
{
    return may_take_fragments(problem, MATRIX_WRITTEN) && !problem->is_gated &&
           problem->group_by == JIT_GEMM_GROUP_NONE &&
           jg_dtype_bits(problem->d.dtype) == LOAD_ELEMENT_BITS &&
           count_box_outputs(problem->epilogue) == 1;
}

/* ------------------------------------------------------------ scales of blocks of D */

static bool computes_scales(const struct jg_problem *problem)
{
    return problem->d.scale.kind != JIT_GEMM_SCALE_NONE;
}

static int step_columns(const struct jg_problem *problem)
{
    return problem->is_gated ? JG_GATED_STEP : STEP;
}

/* Is a block spread over steps, so that its elements wait for the last one? */
static bool spreads_blocks(const struct jg_problem *problem)
{
    return computes_scales(problem) &&
           (int)problem->d.scale.block_k > step_columns(problem);
}

/* Elements of a block, or of a team's half of it, wait in f32. Beyond them are the second
 * accumulators of the last step, what two teams exchange, or the scratch of reductions. */
bool jg_is_stored_once(const struct jg_problem *problem,
                       const struct jg_team_columns *columns)
{
    return columns->stored_once && takes_fragments(problem);
}

/* Have all warps of a tile a part of each block? */
static bool has_squares(const struct jg_problem *problem)
{
    return jg_scale_is_square(&problem->d.scale);
}

/* Do several warps, whose lanes are columns of D, have a block? */
static bool shares_blocks(const struct jg_problem *problem,
                          const struct jg_team_columns *columns)
{
    return computes_scales(problem) && columns->warp_lanes > 0 &&
           (int)problem->d.scale.block_k > columns->warp_lanes;
}

/* The rows of a block that a tile has wait in f32, where lanes are columns of D, and beyond
 * them the same as elsewhere: a stage has 32 rows of a warp. */
static int count_square_stages(const struct jg_problem *problem,
                               const struct jg_team_columns *columns)
{
    const int64_t rows = jg_min(columns->count, problem->d.scale.block_mn);
    const int gate_rows =
        problem->is_gated ? jg_transposed_step_rows(problem, columns->count) : 0;
    const int scratch_rows = jg_epilogue_reduces(problem->epilogue) ? PANEL_COLUMNS : 0;
    const int64_t all_rows = rows + jg_max(gate_rows, scratch_rows);
    return (int)jg_max(jg_ceil_div(all_rows, PANEL_COLUMNS), JG_VECTOR_OUT_STAGES);
}

int jg_out_stages_choose(const struct jg_problem *problem,
                         const struct jg_team_columns *columns)
{
    const int block = (int)problem->d.scale.block_k;
    if (has_squares(problem) && columns->warp_lanes > 0) {
        return count_square_stages(problem, columns);
    }
    if (shares_blocks(problem, columns)) {
        return JG_SHARED_OUT_STAGES;
    }
    if (!spreads_blocks(problem) || columns->warp_lanes > 0) {
        return jg_is_stored_once(problem, columns) ? 1 : JG_VECTOR_OUT_STAGES;
    }
    const bool is_half = columns->count < block;
    const bool has_more =
        problem->is_gated || is_half || jg_epilogue_reduces(problem->epilogue);
    return (is_half ? columns->count : block) / PANEL_COLUMNS + (has_more ? 1 : 0);
}

/* What has rows as the epilogue sees them, in words. */
static const char *name_d_in_memory(const struct jg_problem *problem)
{
    return jg_problem_is_column_major(problem) ? "D's transpose" : "D";
}

/* Where lanes are columns of D, their accumulators have its rows: those of whole blocks, or
 * all that there are. */
static bool check_transposed_squares(struct jg_trial *trial,
                                     const struct jg_team_columns *columns)
{
    const jit_gemm_dim *rows = &trial->product.n; /* of D as it lies in memory, or pairs */
    const int block = (int)trial->problem->d.scale.block_mn;
    const bool has_all_rows =
        columns->count < block && rows->mode == JIT_GEMM_DIM_EXACT &&
        rows->size <= (int64_t)columns->count * jg_product_gate_columns(&trial->product);
    if (!has_squares(trial->problem) || columns->count % block == 0 || has_all_rows) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "the %d rows of %s that a tile of a transposed product has are no multiple of %d, and "
        "are not all of them, as scale %s of D needs",
        columns->count, name_d_in_memory(trial->problem), block,
        jg_scale_name(&trial->problem->d.scale));
}

/* The same where lanes are columns of D: whole blocks in a warp, or in all warps of a tile,
 * and whole passes and steps, because lanes of a pass have a row's block together. */
static bool check_transposed_blocks(struct jg_trial *trial,
                                    const struct jg_team_columns *columns)
{
    const struct jg_problem *problem = trial->problem;
    const char *name = jg_scale_name(&problem->d.scale);
    const int block = (int)problem->d.scale.block_k;
    const int step_rows = jg_transposed_step_rows(problem, columns->count);
    const int pass_rows = WARP_LANES * VECTOR_ELEMENTS / columns->warp_lanes;
    const int rows = columns->count > step_rows ? step_rows : pass_rows;
    if (columns->tile_lanes % block != 0) {
        return jg_trial_reject(
            trial,
            "the %d columns of %s that a tile of a transposed product has are no multiple of "
            "%d, as scale %s of D needs",
            columns->tile_lanes, name_d_in_memory(problem), block, name);
    }
    if (columns->count % rows != 0) {
        return jg_trial_reject(
            trial,
            "the %d rows of %s that a team of warps has of a tile of a transposed product are "
            "no multiple of %d, as scale %s of D needs",
            columns->count, name_d_in_memory(problem), rows, name);
    }
    return check_transposed_squares(trial, columns);
}

/* Whole blocks, each in a team or halved between two. */
static bool check_blocks(struct jg_trial *trial, const struct jg_team_columns *columns)
{
    const struct jg_problem *problem = trial->problem;
    const char *name = jg_scale_name(&problem->d.scale);
    const int block = (int)problem->d.scale.block_k;
    const int whole = spreads_blocks(problem) ? block : step_columns(problem);
    if (!computes_scales(problem)) {
        return true;
    }
    if (trial->product.d_is_transpose) {
        return check_transposed_blocks(trial, columns);
    }
    if (spreads_blocks(problem) && jg_problem_has_neighbours(problem)) {
        return jg_trial_reject(trial,
                               "there is no kernel for scale %s of D with pairs of "
                               "neighbours in %s; pair=halves has one",
                               name, jg_problem_neighbours_name(problem));
    }
    if (has_squares(problem) && columns->step_rows != (int)problem->d.scale.block_mn) {
        return jg_trial_reject(
            trial,
            "scale %s of D needs a tile whose warps have %u rows of %s at a time, and have no "
            "more: they have %d",
            name, problem->d.scale.block_mn, name_d_in_memory(problem), columns->step_rows);
    }
    const bool may_share = columns->shared && spreads_blocks(problem);
    if (columns->count % whole != 0 && !(may_share && 2 * columns->count == whole)) {
        return jg_trial_reject(
            trial,
            "the %d columns of %s that a team of warps has of a tile are no multiple of %d%s, "
            "as scale %s of D needs",
            columns->count, name_d_in_memory(problem), whole,
            may_share ? ", or half of it" : "", name);
    }
    return true;
}

/* The same of an operand that holds a value of each block. */
static bool check_reduced_block(struct jg_trial *trial, const struct jg_operand *operand,
                                const struct jg_team_columns *columns)
{
    const int block = jg_operand_kind_block(operand->kind);
    const char *name = jg_operand_kind_name(operand->kind);
    if (block == 0) {
        return true;
    }
    if (trial->product.d_is_transpose) {
        return jg_trial_reject(
            trial, "swap_ab=1: there is no kernel for the %s '%s' in a transposed product",
            name, operand->name);
    }
    const bool may_share = columns->shared && block > STEP;
    if (columns->count % block != 0 && !(may_share && 2 * columns->count == block)) {
        return jg_trial_reject(
            trial,
            "the %d columns of D that a team of warps has of a tile are no multiple of %d%s, "
            "as the %s '%s' needs",
            columns->count, block, may_share ? ", or half of it" : "", name, operand->name);
    }
    return true;
}

static bool check_reduced_blocks(struct jg_trial *trial,
                                 const struct jg_team_columns *columns)
{
    const struct jg_epilogue *epilogue = trial->problem->epilogue;
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        if (!check_reduced_block(trial, &epilogue->operands[i], columns)) {
            return false;
        }
    }
    return true;
}

static bool check_stages_of_blocks(struct jg_trial *trial,
                                   const struct jg_team_columns *columns)
{
    const int needed = jg_out_stages_choose(trial->problem, columns);
    const int out_stages = trial->config.storage.out_stages;
    const bool is_exact = needed > JG_VECTOR_OUT_STAGES;
    if (out_stages <= JG_VECTOR_OUT_STAGES && !is_exact) {
        return true;
    }
    if (!is_exact) {
        return jg_trial_reject(
            trial, "out_stages=%d: only scales of blocks of D take more than %d",
            out_stages, JG_VECTOR_OUT_STAGES);
    }
    return out_stages == needed ||
           jg_trial_reject(
               trial, "out_stages=%d: scale %s of D takes out_stages=%d with this tile",
               out_stages, jg_scale_name(&trial->problem->d.scale), needed);
}

bool jg_out_stages_check(struct jg_trial *trial, const struct jg_team_columns *columns)
{
    const int out_stages = trial->config.storage.out_stages;
    const bool by_columns = jg_problem_is_column_major(trial->problem);
    if (!check_blocks(trial, columns) || !check_reduced_blocks(trial, columns) ||
        !check_stages_of_blocks(trial, columns)) {
        return false;
    }
    if (out_stages >= JG_VECTOR_OUT_STAGES || takes_fragments(trial->problem)) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "out_stages=%d is too few for C, matrix operands, reductions, `uniform`, a dynamic %s, "
        "a D of 8 bits, d_rows=indexed, group_by=pointers, output_align, pairs of neighbours in an MN-major B, or a %s of D that "
        "is no multiple of 16 bytes: they need out_stages=%d",
        out_stages, by_columns ? "M" : "N", by_columns ? "column" : "row",
        JG_VECTOR_OUT_STAGES);
}

/* ------------------------------------------------------------------ a transposed product
 */

/* Warps whose lanes make 128 bytes fill a store tile: of a warpgroup all or half, so that
 * it has room for one of 64 rows, or for two of 32. */
int jg_transposed_store_rows(const struct jg_problem *problem, int columns)
{
    const int64_t most = 8 * JG_ROW_BYTES / jg_dtype_bits(problem->d.dtype);
    const int64_t power = columns & -columns; /* that divides them */
    return (int)jg_max(jg_min(most, power), JG_STORE_TILE_COLUMNS);
}

int jg_transposed_step_rows(const struct jg_problem *problem, int columns)
{
    return (int)jg_min(problem->is_gated ? JG_GATED_STEP : STEP, columns);
}

int jg_staged_columns(const struct jg_trial *trial, const struct jg_team_columns *columns)
{
    const int step = trial->product.d_is_transpose
                         ? jg_transposed_step_rows(trial->problem, columns->count)
                         : step_columns(trial->problem);
    return (int)jg_align_up(columns->count, jg_max(step, 1));
}

/* --------------------------------------------------------------------- what it loads */

int jg_output_loads(const struct jg_problem *problem)
{
    const bool has_own_c = problem->group_by == JIT_GEMM_GROUP_BY_POINTERS &&
                           problem->c.dtype != JIT_GEMM_DTYPE_NONE;
    if (jg_outputs_by_threads(problem) || problem->is_gated || has_own_c) {
        return 0; /* a step of a gated D is narrower than a box */
    }
    int loads = jg_dtype_bits(problem->c.dtype) / LOAD_ELEMENT_BITS;
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        const struct jg_operand *operand = &problem->epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX &&
            operand->role == JIT_GEMM_OPERAND_INPUT) {
            loads += jg_dtype_bits(operand->dtype) / LOAD_ELEMENT_BITS;
        }
    }
    return loads;
}

/* All of a step at once, or nothing: a step waits for all of its stages. */
static int count_loads_per_step(const struct jg_problem *problem, int ring_stages)
{
    const int loads = jg_output_loads(problem);
    return loads <= ring_stages ? loads : 0;
}

/* ----------------------------------------------------------------------- where D ends */

static bool is_multiple(const jit_gemm_dim *dim, int64_t step)
{
    return dim->mode != JIT_GEMM_DIM_DYNAMIC && dim->size % step == 0;
}

bool jg_divides_output(const struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const bool are_in_cluster =
        jg_cluster_parts(config) > 1 && jg_workspace_parts(config) == 1;
    return (are_in_cluster || jg_shares_in_workspace(config)) &&
           !jg_epilogue_reduces(trial->problem->epilogue) &&
           !computes_scales(trial->problem);
}

struct jg_output jg_output_choose(const struct jg_trial *trial,
                                  const struct jg_output_facts *facts)
{
    const struct jg_problem *problem = trial->problem;
    const struct jg_config_layout *layout = &trial->config.layout;
    const jit_gemm_dim d_row = jg_problem_d_row(problem);
    const bool whole_m =
        is_multiple(&trial->product.m, (int64_t)layout->tile_m * layout->cluster_m);
    const bool whole_n =
        is_multiple(&trial->product.n, (int64_t)layout->tile_n * layout->cluster_n);
    /* D lies in memory as the product, or as its transpose. */
    const bool transposed = trial->product.d_is_transpose;
    const bool divided = jg_divides_output(trial);
    const int loads = divided ? 0 : count_loads_per_step(problem, facts->ring_stages);
    const bool reads_boxes =
        loads > 0 && facts->reads_boxes && takes_box_fragments(problem, facts->columns);
    /* By maps of each group too, in as many buffers as vectors take: whether there are any
     * is decided behind the stages. */
    const bool stores_boxes =
        takes_fragments(problem) ||
        (trial->product.has_group_maps && may_take_fragments(problem, NO_MATRIX));
    const bool writes_boxes = !divided && facts->writes_boxes &&
                              writes_box_fragments(problem) && facts->columns % STEP == 0;
    const bool fragments =
        !divided && ((stores_boxes && facts->columns % JG_STORE_TILE_COLUMNS == 0) ||
                     reads_boxes || writes_boxes);
    return (struct jg_output){.epilogue =
                                  fragments ? JG_EPILOGUE_FRAGMENTS : JG_EPILOGUE_VECTORS,
                              .loads_per_step = loads,
                              .load_stages = facts->own_ring ? facts->ring_stages : 0,
                              .whole_rows = transposed ? whole_n : whole_m,
                              .whole_cols = transposed ? whole_m : whole_n,
                              .whole_vectors = is_multiple(&d_row, VECTOR_ELEMENTS),
                              .reduces = jg_epilogue_reduces(problem->epilogue),
                              .writes_boxes = writes_boxes,
                              .divided = divided,
                              .parts = facts->parts};
}

/* ------------------------------------------------------------------------------- cost */

/* The sum of what `cost` says of D, C and each matrix operand, per element of the product.
 */
static double sum_matrices(const struct jg_problem *problem,
                           double (*cost)(const struct jg_problem *problem,
                                          jit_gemm_dtype dtype))
{
    double sum = cost(problem, problem->d.dtype);
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        sum += cost(problem, problem->c.dtype);
    }
    for (uint32_t i = 0; problem->epilogue != NULL && i < problem->epilogue->operand_count;
         i++) {
        const struct jg_operand *operand = &problem->epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_MATRIX) {
            sum += cost(problem, operand->dtype);
        }
    }
    return problem->is_gated ? sum / 2.0 : sum;
}

static double element_bytes(const struct jg_problem *problem, jit_gemm_dtype dtype)
{
    (void)problem;
    return jg_dtype_bits(dtype) / 8.0;
}

double jg_output_bytes(const struct jg_problem *problem)
{
    return sum_matrices(problem, element_bytes);
}

/* Where threads store themselves: what an instruction of a warp takes, assumed. */
enum { WARP_ACCESS_CLK = 4 };

/* A thread moves vectors of 8 elements, 16 bytes at once at most. */
static double element_accesses(const struct jg_problem *problem, jit_gemm_dtype dtype)
{
    const int64_t bytes = jg_bytes_of(dtype, 1);
    const int64_t promised = jg_max(problem->d.alignment, bytes);
    return (double)bytes / (double)jg_min(promised, VECTOR_ELEMENTS * bytes);
}

double jg_output_clk(const struct jg_problem *problem, double bytes_clk)
{
    const double wide_clk = jg_output_bytes(problem) / bytes_clk;
    const double narrow_clk =
        sum_matrices(problem, element_accesses) / WARP_LANES * WARP_ACCESS_CLK;
    return jg_outputs_by_threads(problem) && narrow_clk > wide_clk ? narrow_clk : wide_clk;
}
