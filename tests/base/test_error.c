/* SPDX-License-Identifier: MIT */
/* The error record: text forms, taking and restoring, lack of memory. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static jit_gemm_status fail_as_field(void)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.m", "give the number of rows",
                   "must be 1 to %d, is %d", 2147483647, -5);
}

Test(error, there_is_no_error_at_first)
{
    cr_expect_str_eq(jg_error_text(), "");
    cr_expect_eq(jg_error_status(), JIT_GEMM_OK);
}

Test(error, field_text_has_place_reason_and_remedy)
{
    const jit_gemm_status status = fail_as_field();

    cr_expect_eq(status, JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jg_error_status(), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(), "problem.m: must be 1 to 2147483647, is -5; give the "
                                      "number of rows");
}

Test(error, empty_place_and_hint_leave_no_marks)
{
    jg_fail_system(JIT_GEMM_ERR_NO_DRIVER, "", "", "no %s", "driver");

    cr_expect_str_eq(jg_error_text(), "no driver");
}

Test(error, snippet_text_begins_with_line_and_column)
{
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_WARNING, JIT_GEMM_DIAGNOSTIC_SNIPPET, 1, 2, "ep",
                 "a warning", "");
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, 3, 14, "ep",
                 "identifier \"bias\" is undefined", "declare it");
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, 4, 1, "ep", "second",
                 "");

    cr_expect_str_eq(jg_error_text(),
                     "3:14: error: identifier \"bias\" is undefined; declare it");
}

Test(error, unknown_column_is_left_out_and_other_files_are_named)
{
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, 3, 0, "ep", "bad",
                 "");
    cr_expect_str_eq(jg_error_text(), "3: error: bad");

    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_GENERATED, 7, 0,
                 "jg/common/types.cuh", "bad", "");
    cr_expect_str_eq(jg_error_text(), "jg/common/types.cuh:7: error: bad");
}

Test(error, record_without_error_diagnostic_tells_the_status)
{
    jg_error_begin(JIT_GEMM_ERR_LOAD);

    cr_expect_str_eq(jg_error_text(), jg_status_text(JIT_GEMM_ERR_LOAD));
}

Test(error, long_text_is_kept_whole)
{
    char long_text[3000];
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';

    jg_fail(JIT_GEMM_ERR_IO, "file", "hint", "%s", long_text);

    cr_expect_eq(strlen(jg_error_text()), 6 + 2999 + 2 + 4);
}

Test(error, arguments_may_come_from_the_old_record)
{
    fail_as_field();
    jg_fail(JIT_GEMM_ERR_LOAD, "kernel", "", "while loading: %s", jg_error_text());

    cr_expect_str_eq(jg_error_text(), "kernel: while loading: problem.m: must be 1 to "
                                      "2147483647, is -5; give the number of rows");
}

Test(error, taken_object_has_all_items_and_the_log)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_WARNING, JIT_GEMM_DIAGNOSTIC_SNIPPET, 1, 2, "ep",
                 "first", "");
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, 3, 4, "ep", "second",
                 "help");
    jg_error_log("whole log", 9);

    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);

    cr_assert_eq(jg_diagnostics_count(diagnostics), 2);
    const jit_gemm_diagnostic *second = jg_diagnostics_at(diagnostics, 1);
    cr_expect_eq(second->struct_size, sizeof(*second));
    cr_expect_eq(second->severity, JIT_GEMM_SEVERITY_ERROR);
    cr_expect_eq(second->line, 3);
    cr_expect_eq(second->column, 4);
    cr_expect_str_eq(second->where, "ep");
    cr_expect_str_eq(second->text, "second");
    cr_expect_str_eq(second->hint, "help");
    cr_expect_null(jg_diagnostics_at(diagnostics, 2));
    cr_expect_str_eq(jg_diagnostics_log(diagnostics), "whole log");
    cr_expect_str_eq(jg_error_text(), "3:4: error: second; help", "the text stays");

    jg_diagnostics_destroy(&diagnostics);
    cr_expect_null(diagnostics);
}

Test(error, null_object_is_accepted)
{
    jit_gemm_diagnostics *diagnostics = NULL;

    cr_expect_eq(jg_diagnostics_count(NULL), 0);
    cr_expect_null(jg_diagnostics_at(NULL, 0));
    cr_expect_str_eq(jg_diagnostics_log(NULL), "");
    jg_diagnostics_destroy(&diagnostics);
    jg_diagnostics_destroy(NULL);
}

Test(error, nothing_to_take_is_an_argument_error)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    cr_expect_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_null(diagnostics);
    cr_expect_not_null(strstr(jg_error_text(), "there is no error to take"));

    fail_as_field();
    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    jit_gemm_diagnostics *again = NULL;
    cr_expect_eq(jg_diagnostics_take(&again), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_null(again);

    jg_diagnostics_destroy(&diagnostics);
}

Test(error, restored_record_equals_the_taken_one)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, 3, 4, "ep", "second",
                 "help");
    jg_error_log("log", 3);
    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    fail_as_field();

    jg_error_restore(JIT_GEMM_ERR_COMPILE, diagnostics);

    cr_expect_eq(jg_error_status(), JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(), "3:4: error: second; help");
    jit_gemm_diagnostics *copy = NULL;
    cr_assert_eq(jg_diagnostics_take(&copy), JIT_GEMM_OK);
    cr_expect_neq(copy, diagnostics);
    cr_expect_eq(jg_diagnostics_count(copy), 1);
    cr_expect_str_eq(jg_diagnostics_log(copy), "log");
    jg_diagnostics_destroy(&copy);
    jg_diagnostics_destroy(&diagnostics);

    jg_error_restore(JIT_GEMM_ERR_LOAD, NULL);
    cr_expect_eq(jg_error_status(), JIT_GEMM_ERR_LOAD);
    cr_expect_str_eq(jg_error_text(), jg_status_text(JIT_GEMM_ERR_LOAD));
}

Test(error, lack_of_memory_allocates_nothing)
{
    const long before = jg_alloc_count();
    const jit_gemm_status status = jg_fail_memory();
    const long after = jg_alloc_count();

    cr_expect_eq(status, JIT_GEMM_ERR_NO_MEMORY);
    cr_expect_eq(after, before);
    cr_expect_str_eq(jg_error_text(), "out of memory");
}

Test(error, record_made_without_memory_keeps_status_and_says_so)
{
    jg_alloc_fail_at(1, 1);
    const jit_gemm_status status = fail_as_field();
    jit_gemm_diagnostics *diagnostics = NULL;
    const jit_gemm_status taken = jg_diagnostics_take(&diagnostics);
    jg_alloc_fail_at(0, 0);

    cr_expect_eq(status, JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jg_error_status(), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(), "problem.m: must be 1 to"));
    cr_expect_not_null(strstr(jg_error_text(), "out of memory"));
    cr_expect_eq(taken, JIT_GEMM_ERR_NO_MEMORY);

    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    cr_expect_eq(jg_diagnostics_count(diagnostics), 1);
    jg_diagnostics_destroy(&diagnostics);
}

Test(error, every_failing_allocation_leaves_a_usable_record)
{
    char long_text[900];
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    for (long number = 1; number < 12; number++) {
        for (int all_after = 0; all_after < 2; all_after++) {
            jg_alloc_fail_at(number, all_after);
            const jit_gemm_status status =
                jg_fail(JIT_GEMM_ERR_IO, "place", "hint", "%s", long_text);
            jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SYSTEM, 0, 0, "place",
                         long_text, "");
            jg_error_log(long_text, sizeof(long_text) - 1);
            jg_alloc_fail_at(0, 0);

            cr_expect_eq(status, JIT_GEMM_ERR_IO);
            cr_expect_eq(strncmp(jg_error_text(), "place: xxx", 10), 0,
                         "allocation %ld: %s", number, jg_error_text());
            jit_gemm_diagnostics *diagnostics = NULL;
            cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
            cr_expect_geq(jg_diagnostics_count(diagnostics), 1);
            jg_diagnostics_destroy(&diagnostics);
        }
    }
}
