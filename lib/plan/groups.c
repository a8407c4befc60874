/* SPDX-License-Identifier: MIT */
#include "plan/groups.h"

#include <math.h>

#include "base/error.h"
#include "base/math.h"
#include "plan/kernel_params.h"
#include "plan/scale.h"
#include "plan/smem.h"
#include "plan/text.h"
#include "plan/typical_sizes.h"

enum {
    TABLE_STEP = 16,   /* alignment of the table in shared memory */
    K_STEP = 32,       /* elements of an instruction, or half of one whose scales can be
                          cleared; 16 bytes of the narrowest type */
    MIXED_K_STEP = 128 /* those that copies spread begin at multiples of */
};

static const char *const names[] = {[JIT_GEMM_GROUP_NONE] = "",
                                    [JIT_GEMM_GROUP_BY_OFFSETS] = "offsets",
                                    [JIT_GEMM_GROUP_BY_COUNTS] = "counts",
                                    [JIT_GEMM_GROUP_BY_ROWS] = "rows",
                                    [JIT_GEMM_GROUP_BY_K_OFFSETS] = "k_offsets",
                                    [JIT_GEMM_GROUP_BY_POINTERS] = "pointers"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

const char *jg_group_by_name(jit_gemm_group_by group_by)
{
    return names[group_by];
}

bool jg_group_by_parse(const char *text, size_t size, jit_gemm_group_by *ret_group_by)
{
    for (int i = JIT_GEMM_GROUP_BY_OFFSETS; i < NAMES; i++) {
        if (jg_word_is(text, size, names[i])) {
            *ret_group_by = (jit_gemm_group_by)i;
            return true;
        }
    }
    return false;
}

static const char *const rest_names[] = {
    [JIT_GEMM_GROUP_REST_UNTOUCHED] = "untouched", [JIT_GEMM_GROUP_REST_ZERO] = "zero"};
enum { REST_NAMES = sizeof(rest_names) / sizeof(rest_names[0]) };

const char *jg_group_rest_name(jit_gemm_group_rest group_rest)
{
    return rest_names[group_rest];
}

bool jg_group_rest_parse(const char *text, size_t size, jit_gemm_group_rest *ret_group_rest)
{
    for (int i = 0; i < REST_NAMES; i++) {
        if (jg_word_is(text, size, rest_names[i])) {
            *ret_group_rest = (jit_gemm_group_rest)i;
            return true;
        }
    }
    return false;
}

static const char *const scale_row_names[] = {[JIT_GEMM_SCALE_ROWS_STACKED] = "stacked",
                                              [JIT_GEMM_SCALE_ROWS_PER_GROUP_PADDED] =
                                                  "per_group_padded"};
enum { SCALE_ROW_NAMES = sizeof(scale_row_names) / sizeof(scale_row_names[0]) };

const char *jg_scale_rows_name(jit_gemm_scale_rows scale_rows)
{
    return scale_row_names[scale_rows];
}

bool jg_scale_rows_parse(const char *text, size_t size, jit_gemm_scale_rows *ret_scale_rows)
{
    for (int i = 0; i < SCALE_ROW_NAMES; i++) {
        if (jg_word_is(text, size, scale_row_names[i])) {
            *ret_scale_rows = (jit_gemm_scale_rows)i;
            return true;
        }
    }
    return false;
}

static bool lies_in_pieces(const jit_gemm_matrix *matrix)
{
    return matrix->scale.kind == JIT_GEMM_SCALE_BLOCK &&
           matrix->scale.layout == JIT_GEMM_SCALE_LAYOUT_128X4;
}

static jit_gemm_status check_scale_rows(const jit_gemm_problem *problem)
{
    static const char field[] = "problem.scale_rows";
    const int scale_rows = (int)problem->scale_rows;
    if (scale_rows < 0 || scale_rows >= SCALE_ROW_NAMES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give a JIT_GEMM_SCALE_ROWS_ constant; zero stacks them",
                       "is no way in which scales of groups lie: %d", scale_rows);
    }
    if (problem->scale_rows == JIT_GEMM_SCALE_ROWS_STACKED) {
        return JIT_GEMM_OK;
    }
    if (problem->group_by != JIT_GEMM_GROUP_BY_OFFSETS) {
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, field, "leave it out, or give group_by=offsets",
            "only groups by offsets have scales that begin at rows of their own");
    }
    const bool has_bands_of_a =
        lies_in_pieces(&problem->a) && problem->a_rows != JIT_GEMM_ROWS_INDEXED;
    const bool has_bands_of_d =
        lies_in_pieces(&problem->d) && problem->d_rows != JIT_GEMM_ROWS_INDEXED;
    if (!has_bands_of_a && !has_bands_of_d) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "leave it out, or give A or D scales in the layout 128x4",
                       "neither A nor D has scales whose pieces have rows of one group");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_rest(const jit_gemm_problem *problem)
{
    const int group_rest = (int)problem->group_rest;
    if (group_rest < 0 || group_rest >= REST_NAMES) {
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, "problem.group_rest",
            "give a JIT_GEMM_GROUP_REST_ constant; zero leaves the rows untouched",
            "is nothing that becomes of rows of no group: %d", group_rest);
    }
    if (problem->group_rest != JIT_GEMM_GROUP_REST_UNTOUCHED &&
        problem->group_by == JIT_GEMM_GROUP_BY_POINTERS) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.group_rest", "leave it zero",
                       "with group_by=pointers all rows of a D are its group's");
    }
    if (problem->group_rest != JIT_GEMM_GROUP_REST_UNTOUCHED &&
        !jg_has_row_groups(problem->group_by)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.group_rest",
                       "leave it zero, or give groups of rows: group_by=offsets, counts or "
                       "rows",
                       "all rows of D belong to a batch%s",
                       problem->group_by == JIT_GEMM_GROUP_NONE ? "" : " or group along K");
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_groups_check_fields(const jit_gemm_problem *problem)
{
    const int group_by = (int)problem->group_by;
    if (group_by < 0 || group_by >= NAMES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.group_by",
                       "give a JIT_GEMM_GROUP_BY_ constant, or zero for a batch",
                       "is no form of groups: %d", group_by);
    }
    JG_TRY(check_rest(problem));
    JG_TRY(check_scale_rows(problem));
    if (problem->group_by == JIT_GEMM_GROUP_NONE) {
        return JIT_GEMM_OK;
    }
    if (problem->batch.mode != JIT_GEMM_DIM_EXACT) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.batch.mode",
                       "give the number of groups, JIT_GEMM_DIM_EXACT; any of them may be "
                       "empty",
                       "the number of groups is compiled in and cannot be dynamic");
    }
    if (problem->batch.size > JG_MOST_GROUPS) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.batch",
                       "split the groups over several launches",
                       "there are at most %d groups, %lld are given", JG_MOST_GROUPS,
                       (long long)problem->batch.size);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_layouts(const jit_gemm_problem *problem)
{
    if (problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.d.layout",
                       "give JIT_GEMM_LAYOUT_ROW_MAJOR",
                       "there is no kernel for groups of rows of a column-major D");
    }
    if (problem->group_by == JIT_GEMM_GROUP_BY_OFFSETS &&
        problem->a.layout == JIT_GEMM_LAYOUT_MN_MAJOR) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.a.layout",
                       "give JIT_GEMM_LAYOUT_K_MAJOR, or group_by=counts or rows",
                       "there is no kernel for stacked groups of an MN-major A: a group's "
                       "rows would begin inside of 16 bytes");
    }
    return JIT_GEMM_OK;
}

/* Of A or D, whose rows groups divide. */
static jit_gemm_status check_square_scale(const char *field, const jit_gemm_matrix *matrix,
                                          char letter)
{
    if (!jg_scale_is_square(&matrix->scale)) {
        return JIT_GEMM_OK;
    }
    return jg_fail(
        JIT_GEMM_ERR_UNSUPPORTED, field, "give scale 1x128, or group_by=counts or rows",
        "there is no kernel for scale %s of %c with stacked groups: its blocks or "
        "pieces would have rows of several",
        jg_scale_name(&matrix->scale), letter);
}

static jit_gemm_status check_scales(const jit_gemm_problem *problem)
{
    if (problem->group_by != JIT_GEMM_GROUP_BY_OFFSETS) {
        return JIT_GEMM_OK;
    }
    JG_TRY(check_square_scale("problem.a.scale.kind", &problem->a, 'A'));
    return check_square_scale("problem.d.scale.kind", &problem->d, 'D');
}

/* Of A or B, where groups lie along K. */
static jit_gemm_status check_along_k(const char *layout_field,
                                     const jit_gemm_matrix *matrix)
{
    const bool is_mn_major = matrix->layout == JIT_GEMM_LAYOUT_MN_MAJOR;
    if (!is_mn_major && !jg_scale_is_multiplied(&matrix->scale) &&
        jg_alignment_of(matrix) * 8 > (uint32_t)jg_dtype_bits(matrix->dtype)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, layout_field,
                       "give JIT_GEMM_LAYOUT_MN_MAJOR, or in `alignment` the bytes of one "
                       "element, which is slower",
                       "there is no kernel for groups along K of a K-major matrix: they "
                       "would begin inside of %u bytes",
                       jg_alignment_of(matrix));
    }
    return JIT_GEMM_OK;
}

/* Their maps leave less room for operands among the parameters of a launch. */
static jit_gemm_status check_operand_count(const struct jg_epilogue *epilogue)
{
    if (epilogue == NULL || epilogue->operand_count <= JG_TAIL_OPERANDS) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.epilogue", "join some of them",
                   "with groups along K an epilogue has at most %d operands, not %u",
                   JG_TAIL_OPERANDS, epilogue->operand_count);
}

static jit_gemm_status check_cleared_scales(const jit_gemm_problem *problem)
{
    if (problem->group_rest != JIT_GEMM_GROUP_REST_ZERO ||
        !jg_scale_is_square(&problem->d.scale)) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.group_rest",
                   "leave group_rest out, or give a scale of blocks of one row, such as "
                   "d_scale=1x128",
                   "there is no kernel that makes rows of no group 0 in a D with scale %s, "
                   "whose blocks may have rows of a group, too",
                   jg_scale_name(&problem->d.scale));
}

/* Rows of an index are those of one matrix. */
static jit_gemm_status check_pointers(const jit_gemm_problem *problem)
{
    if (problem->group_by != JIT_GEMM_GROUP_BY_POINTERS) {
        return JIT_GEMM_OK;
    }
    if (problem->a_rows != JIT_GEMM_ROWS_IN_ORDER ||
        problem->d_rows != JIT_GEMM_ROWS_IN_ORDER) {
        const bool is_d = problem->d_rows != JIT_GEMM_ROWS_IN_ORDER;
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, is_d ? "problem.d_rows" : "problem.a_rows",
                       "leave it out, or give another group_by",
                       "an index names rows of one %c, and with group_by=pointers each "
                       "group has its own",
                       is_d ? 'D' : 'A');
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_row_blocks(const jit_gemm_problem *problem)
{
    const int64_t most = (int64_t)JG_MOST_ROW_BLOCKS * JG_GROUP_BLOCK_ROWS;
    if (problem->group_by != JIT_GEMM_GROUP_BY_ROWS || problem->m.size <= most) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.m",
                   "split the rows over several launches",
                   "group_by=rows takes up to %lld rows, whose blocks fit into shared "
                   "memory; %lld are given",
                   (long long)most, (long long)problem->m.size);
}

jit_gemm_status jg_groups_check_kernel(const jit_gemm_problem *problem,
                                       const struct jg_epilogue *epilogue)
{
    if (problem->group_by == JIT_GEMM_GROUP_NONE) {
        return JIT_GEMM_OK;
    }
    if (problem->group_by == JIT_GEMM_GROUP_BY_K_OFFSETS) {
        JG_TRY(check_along_k("problem.a.layout", &problem->a));
        JG_TRY(check_along_k("problem.b.layout", &problem->b));
        JG_TRY(check_operand_count(epilogue));
    } else {
        JG_TRY(check_layouts(problem));
        JG_TRY(check_scales(problem));
        JG_TRY(check_cleared_scales(problem));
        JG_TRY(check_pointers(problem));
        JG_TRY(check_row_blocks(problem));
    }
    return JIT_GEMM_OK;
}

static struct jg_own_size_obstacle
find_obstacle(const struct jg_problem *problem, const jit_gemm_dim *dim, const char *remedy)
{
    if (problem->group_by != JIT_GEMM_GROUP_BY_POINTERS) {
        return (struct jg_own_size_obstacle){
            "only with group_by=pointers groups have sizes of their own",
            "leave it zero, or give group_by=pointers in the problem"};
    }
    if (dim->mode != JIT_GEMM_DIM_DYNAMIC) {
        return (struct jg_own_size_obstacle){"the size is compiled into this kernel",
                                             remedy};
    }
    if (problem->a.scale.kind == JIT_GEMM_SCALE_BLOCK ||
        problem->b.scale.kind == JIT_GEMM_SCALE_BLOCK) {
        return (struct jg_own_size_obstacle){
            "no kernel has scales of blocks beside it",
            "leave it zero and launch once for each size, or leave the scales out"};
    }
    return (struct jg_own_size_obstacle){0};
}

struct jg_own_size_obstacle jg_groups_obstacle_to_own_n(const struct jg_problem *problem)
{
    const struct jg_own_size_obstacle obstacle = find_obstacle(
        problem, &problem->n,
        "leave it zero, or make N dynamic in the problem: dynamic=n, with the "
        "most columns of a group as `n`");
    if (obstacle.fact != NULL) {
        return obstacle;
    }
    if (problem->reduces) {
        return (struct jg_own_size_obstacle){
            "no kernel reduces beside it",
            "leave it zero and launch once for each N, or leave the reductions out"};
    }
    if (problem->is_gated) {
        return (struct jg_own_size_obstacle){
            "no kernel takes pairs of columns beside it",
            "leave it zero and launch once for each N, or multiply without acc0 and acc1"};
    }
    if (problem->d.scale.kind != JIT_GEMM_SCALE_NONE) {
        return (struct jg_own_size_obstacle){
            "no kernel computes scales of D beside it",
            "leave it zero and launch once for each N, or leave d_scale out"};
    }
    return obstacle;
}

struct jg_own_size_obstacle jg_groups_obstacle_to_own_k(const struct jg_problem *problem)
{
    return find_obstacle(problem, &problem->k,
                         "leave it zero, or make K dynamic in the problem: dynamic=k, with "
                         "the most elements of K of a group as `k`");
}

int64_t jg_groups_scale_rows(jit_gemm_group_by group_by, int64_t m, int64_t groups)
{
    return group_by == JIT_GEMM_GROUP_BY_OFFSETS
               ? (m / JG_SCALE_PIECE_ROWS + groups) * JG_SCALE_PIECE_ROWS
               : m;
}

int64_t jg_groups_scale_depth(jit_gemm_group_by group_by, int64_t k, int64_t groups,
                              const jit_gemm_scale *scale)
{
    const int64_t blocks = jg_scale_is_multiplied(scale) ? JG_SCALE_PIECE_BLOCKS : 1;
    const int64_t step = blocks * scale->block_k;
    return group_by == JIT_GEMM_GROUP_BY_K_OFFSETS && k > 0 ? (k / step + groups) * step
                                                            : k;
}

int64_t jg_groups_k_step(const struct jg_problem *problem)
{
    const bool has_k_major = !problem->a.is_mn_major || !problem->b.is_mn_major;
    if (problem->group_by != JIT_GEMM_GROUP_BY_K_OFFSETS || !has_k_major ||
        !jg_scale_is_multiplied(&problem->a.scale)) {
        return 1;
    }
    return jg_dtype_bits(problem->a.dtype) != jg_dtype_bits(problem->b.dtype) ? MIXED_K_STEP
                                                                              : K_STEP;
}

bool jg_groups_pack_scales(const struct jg_problem *problem)
{
    return problem->group_by == JIT_GEMM_GROUP_BY_OFFSETS &&
           problem->a_rows != JIT_GEMM_ROWS_INDEXED &&
           jg_scale_is_packed_first(&problem->a.scale);
}

int64_t jg_groups_row_blocks(const struct jg_problem *problem)
{
    if (problem->group_by != JIT_GEMM_GROUP_BY_ROWS) {
        return 0;
    }
    const int64_t blocks = jg_ceil_div(problem->m.size, JG_GROUP_BLOCK_ROWS);
    return problem->m.mode == JIT_GEMM_DIM_DYNAMIC ? jg_max(blocks, JG_LEAST_ROW_BLOCKS)
                                                   : blocks;
}

/* Over rows that a group's blocks have. */
static bool reduces_groups(const struct jg_epilogue *epilogue)
{
    bool reduces = false;
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        reduces |=
            jg_operand_reduces(operand) && (operand->kind == JIT_GEMM_OPERAND_SCALAR ||
                                            operand->kind == JIT_GEMM_OPERAND_ROW_VECTOR);
    }
    return reduces;
}

enum jg_block_order jg_groups_block_order(const struct jg_problem *problem)
{
    const int64_t blocks = jg_groups_row_blocks(problem);
    const int64_t groups = problem->batch.size;
    if (blocks > 0 && reduces_groups(problem->epilogue)) {
        return JG_BLOCKS_SORTED;
    }
    return blocks > 2 && groups > 1 && groups <= jg_max(blocks, JG_LEAST_GATHERED)
               ? JG_BLOCKS_GATHERED
               : JG_BLOCKS_BY_ROW;
}

int64_t jg_groups_smem_bytes(const struct jg_problem *problem)
{
    if (!jg_has_row_groups(problem->group_by)) {
        return 0;
    }
    int64_t words = problem->batch.size;
    if (problem->group_by == JIT_GEMM_GROUP_BY_ROWS) {
        words =
            jg_groups_row_blocks(problem) +
            (jg_groups_block_order(problem) != JG_BLOCKS_BY_ROW ? problem->batch.size + 1
                                                                : 0);
    } else if (problem->group_rest == JIT_GEMM_GROUP_REST_ZERO) {
        words += jg_is_stacked(problem->group_by) ? 1 : problem->batch.size;
    }
    if (problem->scale_rows == JIT_GEMM_SCALE_ROWS_PER_GROUP_PADDED) {
        words += problem->batch.size;
    }
    return jg_align_up((words + 2) * (int64_t)sizeof(uint32_t), TABLE_STEP);
}

struct jg_group_frame jg_groups_frame(const struct jg_config *config,
                                      const struct jg_product *product, int64_t m,
                                      int64_t n)
{
    const struct jg_config_layout *layout = &config->layout;
    const int64_t m_step = (int64_t)layout->tile_m * layout->cluster_m;
    const int64_t n_step = (int64_t)layout->tile_n * layout->cluster_n;
    return product->a.letter != 'a'
               ? (struct jg_group_frame){n_step, n, jg_ceil_div(m, m_step)}
               : (struct jg_group_frame){m_step, m, jg_ceil_div(n, n_step)};
}

/* CTAs of a cluster share B, and a tile has one. */
static bool check_tile_rows(struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const int64_t rows = jg_groups_frame(&trial->config, &trial->product, 1, 1).step;
    if (trial->product.group_by != JIT_GEMM_GROUP_BY_ROWS ||
        JG_GROUP_BLOCK_ROWS % rows == 0) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "tile=%dx%d cluster=%dx%d: with group_by=rows a cluster's tiles have rows of one "
        "block of %d, and these have %lld%s",
        layout->tile_m, layout->tile_n, layout->cluster_m, layout->cluster_n,
        JG_GROUP_BLOCK_ROWS, (long long)rows,
        rows < JG_GROUP_BLOCK_ROWS ? ", which do not divide it" : "");
}

bool jg_groups_check(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    if (trial->product.group_by == JIT_GEMM_GROUP_NONE) {
        return true;
    }
    if (config->launch.split_k > 1) {
        return jg_trial_reject(trial,
                               "split_k=%d: the kernel counts the tiles of groups, each "
                               "with all of its K: split_k=1",
                               config->launch.split_k);
    }
    if (config->launch.scheduler == JG_SCHEDULER_SINGLE &&
        jg_has_row_groups(trial->product.group_by)) {
        return jg_trial_reject(trial,
                               "scheduler=single: how many tiles groups have is known on "
                               "the device only: scheduler=static, or clc on sm_100a");
    }
    if (config->pipeline.prefetch != JG_PREFETCH_NONE) {
        return jg_trial_reject(trial, "prefetch asks for the first tile before the "
                                      "previous grid has written the groups: "
                                      "prefetch=none");
    }
    return check_tile_rows(trial);
}

bool jg_groups_complete(struct jg_trial *trial)
{
    struct jg_derived *derived = &trial->derived;
    const bool has_k_major = !trial->product.a.is_mn_major || !trial->product.b.is_mn_major;
    if (trial->product.group_by != JIT_GEMM_GROUP_BY_K_OFFSETS ||
        jg_loads_by_threads(&trial->product) || has_k_major) {
        return true; /* K-major, blocks come whole: see jg/tile/tile_loader.cuh */
    }
    if (derived->a_box.row_bytes < JG_ROW_BYTES ||
        derived->b_box.row_bytes < JG_ROW_BYTES) {
        return jg_trial_reject(trial,
                               "groups along K end with copies of single rows of K, of "
                               "which these tiles have less than %d bytes",
                               JG_ROW_BYTES);
    }
    if (derived->a_box.rows % JG_TAIL_ROWS != 0 ||
        derived->b_box.rows % JG_TAIL_ROWS != 0) {
        return jg_trial_reject(trial,
                               "groups along K end with copies of %d rows of K, and a CTA "
                               "of this cluster copies less of a block",
                               JG_TAIL_ROWS);
    }
    derived->tail_maps = JG_TAIL_MAPS;
    return true;
}

/* Tiles along the rows if sizes of groups fall off exponentially, as they do about where a
 * router sends few tokens to an expert: of many small groups some have several times as
 * many rows as the others. */
static int64_t count_skewed(const struct jg_group_frame *frame, bool turns_last,
                            int64_t groups)
{
    const double part = turns_last ? 0.5 : 1.0; /* of a cluster tile, the least */
    const double of_group =
        part / -expm1(-part * (double)frame->step / (double)frame->rows);
    return (int64_t)((double)groups * of_group + 0.5);
}

/* Cluster tiles along the rows that groups divide, as nobody says how many these have. */
static int64_t count_along(const struct jg_product *product,
                           const struct jg_group_frame *frame, bool turns_last)
{
    /* In halves: the last one of a group is half full, but of whole blocks, and there is no
     * less than one. */
    const bool has_blocks = product->group_by == JIT_GEMM_GROUP_BY_ROWS;
    const int64_t least = turns_last ? frame->step / 2 : frame->step;
    const int64_t halves = jg_max(2 * least, 2 * frame->rows + (has_blocks ? 0 : least));
    const int64_t along = jg_ceil_div(product->batch.size * halves, 2 * frame->step);
    if (product->group_by == JIT_GEMM_GROUP_BY_OFFSETS && frame->rows > 0) {
        return jg_max(along, count_skewed(frame, turns_last, product->batch.size));
    }
    return along;
}

/* Cluster tiles of groups of these sizes. One that is turned has two tiles of columns. */
static bool count_typical(const jit_gemm_size_run *runs, const struct jg_group_frame *frame,
                          bool turns_last, int64_t *ret_tiles)
{
    const int64_t turned =
        turns_last ? jg_typical_sizes_short(runs, frame->step, frame->step / 2) : 0;
    const int64_t whole = jg_typical_sizes_tiles(runs, frame->step) - turned;
    int64_t across;
    if (!jg_mul_checked(whole, frame->across, ret_tiles) ||
        !jg_mul_checked(turned, jg_ceil_div(frame->across, 2), &across) ||
        across > INT64_MAX - *ret_tiles) {
        return false;
    }
    *ret_tiles += across;
    return true;
}

bool jg_groups_count_tiles(const struct jg_trial *trial, bool turns_last,
                           int64_t *ret_tiles)
{
    const bool are_given = jg_plans_sizes(trial);
    const struct jg_product product = jg_typical_product(trial);
    const struct jg_config_layout *layout = &trial->config.layout;
    const struct jg_group_frame frame =
        jg_groups_frame(&trial->config, &product, product.m.size, product.n.size);
    const int64_t ctas = (int64_t)layout->cluster_m * layout->cluster_n;
    /* Of small groups most would be turned and share nothing, which is not counted. */
    turns_last &= frame.rows >= (are_given ? JG_TURNED_GROUP_ROWS : JG_LARGE_GROUP_ROWS);
    const bool fits = are_given ? count_typical(trial->sizes, &frame, turns_last, ret_tiles)
                                : jg_mul_checked(count_along(&product, &frame, turns_last),
                                                 frame.across, ret_tiles);
    return fits && jg_mul_checked(*ret_tiles, ctas, ret_tiles);
}

int64_t jg_groups_row_tiles(const struct jg_config *config,
                            const struct jg_product *product, int64_t m, int64_t n,
                            int64_t batch)
{
    const struct jg_group_frame frame = jg_groups_frame(config, product, m, n);
    const struct jg_cluster_tiles tiles = jg_cluster_tiles_of(config, product, m, n, batch);
    const int of_cluster =
        product->a.letter != 'a' ? config->layout.cluster_n : config->layout.cluster_m;
    return tiles.tiles / jg_max(frame.across, 1) * tiles.batch * of_cluster;
}

struct jg_cluster_tiles jg_cluster_tiles_of(const struct jg_config *config,
                                            const struct jg_product *product, int64_t m,
                                            int64_t n, int64_t batch)
{
    const struct jg_group_frame frame = jg_groups_frame(config, product, m, n);
    const int64_t rests = product->group_rest == JIT_GEMM_GROUP_REST_ZERO ? 1 : 0;
    if (product->group_by == JIT_GEMM_GROUP_BY_OFFSETS) {
        const int64_t along = frame.rows / frame.step + jg_min(batch + rests, frame.rows);
        return (struct jg_cluster_tiles){along * frame.across, 1};
    }
    if (product->group_by == JIT_GEMM_GROUP_BY_ROWS && frame.step < JG_GROUP_BLOCK_ROWS) {
        /* Where they are sorted, the last block counts as a whole one. */
        const int64_t blocks = jg_ceil_div(frame.rows, JG_GROUP_BLOCK_ROWS);
        return (struct jg_cluster_tiles){
            blocks * (JG_GROUP_BLOCK_ROWS / frame.step) * frame.across, 1};
    }
    const int64_t along = jg_ceil_div(frame.rows, frame.step) +
                          (jg_is_stacked(product->group_by) ? 0 : rests);
    return (struct jg_cluster_tiles){along * frame.across,
                                     jg_is_stacked(product->group_by) ? 1 : batch};
}
