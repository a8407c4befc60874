/* SPDX-License-Identifier: MIT */
/* Wrong snippets that need no compiler to be refused: the table's first part. */
#include <criterion/criterion.h>

#include "base/error.h"
#include "wrong_snippets.h"

static void expect_refused(void *user, const struct wrong_snippet *row)
{
    const jit_gemm_status *status = user;
    struct jg_epilogue *epilogue = NULL;

    cr_assert_eq(wrong_snippet_make(row, &epilogue), *status, "row %u: %.60s: %s", row->row,
                 row->text, jg_error_text());

    cr_expect_null(epilogue);
    wrong_snippet_expect(row);
}

Test(wrong_snippets, the_checker_names_line_column_and_remedy)
{
    jit_gemm_status status = JIT_GEMM_ERR_COMPILE;
    cr_expect_geq(wrong_snippets_walk(WRONG_BY_CHECKER, expect_refused, &status), 300);
}

Test(wrong_snippets, operands_with_impossible_names_are_refused_by_name)
{
    jit_gemm_status status = JIT_GEMM_ERR_ARGUMENT;
    cr_expect_geq(wrong_snippets_walk(WRONG_ARGUMENT, expect_refused, &status), 10);
}
