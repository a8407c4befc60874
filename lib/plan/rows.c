/* SPDX-License-Identifier: MIT */
#include "plan/rows.h"

#include "base/error.h"
#include "plan/scale.h"
#include "plan/text.h"

static const char *const names[] = {
    [JIT_GEMM_ROWS_IN_ORDER] = "in_order", [JIT_GEMM_ROWS_INDEXED] = "indexed"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

const char *jg_rows_name(jit_gemm_rows rows)
{
    return names[rows];
}

bool jg_rows_parse(const char *text, size_t size, jit_gemm_rows *ret_rows)
{
    for (int i = 0; i < NAMES; i++) {
        if (jg_word_is(text, size, names[i])) {
            *ret_rows = (jit_gemm_rows)i;
            return true;
        }
    }
    return false;
}

static jit_gemm_status check_rows(const char *field, jit_gemm_rows rows)
{
    if ((int)rows < 0 || (int)rows >= NAMES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give a JIT_GEMM_ROWS_ constant; zero has them in order",
                       "is no way in which rows lie: %d", (int)rows);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_rows_check_fields(const jit_gemm_problem *problem)
{
    JG_TRY(check_rows("problem.d_rows", problem->d_rows));
    return check_rows("problem.a_rows", problem->a_rows);
}

static jit_gemm_status check_d_rows(const jit_gemm_problem *problem)
{
    static const char field[] = "problem.d_rows";
    if (problem->d_rows == JIT_GEMM_ROWS_IN_ORDER) {
        return JIT_GEMM_OK;
    }
    if (problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                       "give JIT_GEMM_LAYOUT_ROW_MAJOR, or leave d_rows out",
                       "there is no kernel that stores rows of a column-major D by an "
                       "index");
    }
    if (jg_scale_is_square(&problem->d.scale)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                       "leave d_rows out, or give a scale of blocks of one row, such as "
                       "d_scale=1x128",
                       "with an index the rows of a tile are of any blocks of D, and there "
                       "is no kernel for scale %s, which several rows share",
                       jg_scale_name(&problem->d.scale));
    }
    if (problem->group_rest == JIT_GEMM_GROUP_REST_ZERO) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                       "leave group_rest out, and clear D before the launch",
                       "with an index, which rows of D belong to no group is not known");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_a_rows(const jit_gemm_problem *problem)
{
    static const char field[] = "problem.a_rows";
    if (problem->a_rows == JIT_GEMM_ROWS_IN_ORDER) {
        return JIT_GEMM_OK;
    }
    if (problem->a.layout != JIT_GEMM_LAYOUT_K_MAJOR) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                       "give JIT_GEMM_LAYOUT_K_MAJOR, or leave a_rows out",
                       "there is no kernel that reads rows of an MN-major A by an index: "
                       "their elements do not lie side by side");
    }
    if (jg_scale_is_square(&problem->a.scale)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                       "leave a_rows out, or give a scale of blocks of one row, such as "
                       "a_scale=1x128",
                       "with an index the rows of a tile are of any blocks of A, and there "
                       "is no kernel for scale %s, which several rows share",
                       jg_scale_name(&problem->a.scale));
    }
    if (problem->group_by == JIT_GEMM_GROUP_BY_K_OFFSETS) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                       "leave a_rows out, or give groups of rows",
                       "groups along K have parts of A's rows, and there is no kernel that "
                       "reads those by an index");
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_rows_check_kernel(const jit_gemm_problem *problem)
{
    JG_TRY(check_d_rows(problem));
    return check_a_rows(problem);
}

/* ------------------------------------------------------------------ copies of rows */

int jg_count_copied(const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    if (!trial->product.has_row_boxes) {
        return 0;
    }
    return trial->product.a.letter == 'a' ? layout->tile_m / layout->cluster_n
                                          : layout->tile_n / layout->cluster_m;
}

bool jg_row_boxes_check(struct jg_trial *trial)
{
    if (jg_gathers_scales(&trial->product) &&
        trial->config.pipeline.row_boxes != JG_ROW_BOXES_USED) {
        return jg_trial_reject(trial,
                               "row_boxes=0: beside scale %s of rows that an index names "
                               "nobody loads rows of A but TMA: row_boxes=1",
                               jg_scale_name(&trial->problem->a.scale));
    }
    if (trial->config.pipeline.row_boxes != JG_ROW_BOXES_USED) {
        return true;
    }
    if (trial->problem->a_rows != JIT_GEMM_ROWS_INDEXED) {
        return jg_trial_reject(trial, "row_boxes=1: A's rows lie in order, and no index "
                                      "names them: row_boxes=0");
    }
    if (jg_inputs_are_unaligned(trial->problem)) {
        return jg_trial_reject(trial,
                               "row_boxes=1: TMA takes addresses and rows of 16 bytes, and "
                               "input_align=%d promises less: row_boxes=0",
                               trial->problem->a.alignment);
    }
    return true;
}

bool jg_row_boxes_complete(struct jg_trial *trial, int copied_rows)
{
    struct jg_derived *derived = &trial->derived;
    if (!trial->product.has_row_boxes) {
        return true;
    }
    struct jg_box *box = trial->product.a.letter == 'a' ? &derived->a_box : &derived->b_box;
    if (box->rows % copied_rows != 0) {
        return jg_trial_reject(trial,
                               "row_boxes=1: a copy brings %d rows, and a CTA of this "
                               "cluster loads %d of A",
                               copied_rows, box->rows);
    }
    derived->copied_rows = copied_rows;
    box->rows = 1;
    return true;
}
