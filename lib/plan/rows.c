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

jit_gemm_status jg_rows_check_fields(const jit_gemm_problem *problem)
{
    const int rows = (int)problem->d_rows;
    if (rows < 0 || rows >= NAMES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.d_rows",
                       "give a JIT_GEMM_ROWS_ constant; zero stores them in order",
                       "is no way in which rows lie: %d", rows);
    }
    if (problem->reserved_2 != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.reserved_2",
                       "zero the struct before filling it", "must be 0, is %d",
                       problem->reserved_2);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_rows_check_kernel(const jit_gemm_problem *problem)
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
    if (problem->d.scale.kind != JIT_GEMM_SCALE_NONE) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field, "leave d_rows out, or d_scale",
                       "there is no kernel that stores rows of a D with computed scales by "
                       "an index: its scales lie in order");
    }
    if (problem->group_rest == JIT_GEMM_GROUP_REST_ZERO) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field,
                       "leave group_rest out, and clear D before the launch",
                       "with an index, which rows of D belong to no group is not known");
    }
    return JIT_GEMM_OK;
}
