/* SPDX-License-Identifier: MIT */
/* Reading compiler logs: messages as NVRTC 12.9 and 13.0 print them. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "compile/compile_log.h"
#include "unit_maker.h"

static jit_gemm_status fail_with(const struct unit *unit, const char *log)
{
    return jg_compile_log_fail(log, strlen(log), unit != NULL ? unit->epilogue : NULL);
}

static jit_gemm_diagnostics *take(void)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    cr_assert_eq(jg_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    return diagnostics;
}

Test(compile_log, message_with_caret_gives_line_and_column)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 40);

    const jit_gemm_status status =
        fail_with(&unit, "my.cu(41): error: expected an expression\n"
                         "  \td = acc +;\n"
                         "  \t         ^\n"
                         "\n1 error detected in the compilation of \"u.cu\".\n");

    cr_expect_eq(status, JIT_GEMM_ERR_COMPILE);
    cr_expect_str_eq(jg_error_text(), "41:11: error: expected an expression; a value or a "
                                      "closing bracket is missing at this place, or an "
                                      "operator is too many");
    jit_gemm_diagnostics *diagnostics = take();
    cr_assert_eq(jg_diagnostics_count(diagnostics), 1);
    const jit_gemm_diagnostic *item = jg_diagnostics_at(diagnostics, 0);
    cr_expect_eq(item->origin, JIT_GEMM_DIAGNOSTIC_SNIPPET);
    cr_expect_eq(item->severity, JIT_GEMM_SEVERITY_ERROR);
    cr_expect_str_eq(item->where, "my.cu");
    cr_expect_not_null(strstr(jg_diagnostics_log(diagnostics), "1 error detected"));
    jg_diagnostics_destroy(&diagnostics);
    unit_free(&unit);
}

Test(compile_log, line_of_the_unit_becomes_the_users)
{
    struct unit unit = unit_make_snippet("d = acc;\nd += ;", "my.cu", 40);

    fail_with(&unit, "test(2): error: expected an expression\n  d += ;\n       ^\n");

    jit_gemm_diagnostics *diagnostics = take();
    cr_assert_eq(jg_diagnostics_count(diagnostics), 1);
    cr_expect_eq(jg_diagnostics_at(diagnostics, 0)->line, 41);
    cr_expect_str_eq(jg_diagnostics_at(diagnostics, 0)->where, "my.cu");
    jg_diagnostics_destroy(&diagnostics);
    unit_free(&unit);
}

Test(compile_log, numbered_messages_lose_their_number)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 1);

    fail_with(&unit, "my.cu(1): error #20: identifier \"x\" is undefined\n  x\n  ^\n\n"
                     "my.cu(1): catastrophic error #35-D: too bad\n  x\n   ^\n\n");

    jit_gemm_diagnostics *diagnostics = take();
    cr_assert_eq(jg_diagnostics_count(diagnostics), 2);
    cr_expect_str_eq(jg_diagnostics_at(diagnostics, 0)->text,
                     "identifier \"x\" is undefined");
    cr_expect_str_eq(jg_diagnostics_at(diagnostics, 1)->text, "too bad");
    jg_diagnostics_destroy(&diagnostics);
    unit_free(&unit);
}

Test(compile_log, odd_file_names_are_told_apart)
{
    static const char *const names[] = {"a(3): error: b", "dir with blanks/x.cu",
                                        "q\"uote\\.cu", "h\xc3\xa9.cu"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct unit unit = unit_make_snippet("d = acc;", names[i], 1);
        struct jg_str log = {0};
        jg_str_printf(&log, "%s(9): error: text\n  x\n  ^\n\n", names[i]);

        fail_with(&unit, jg_str_text(&log));

        cr_expect_eq(strncmp(jg_error_text(), "9:1: error: text; names in scope", 32), 0,
                     "%s", names[i]);
        jg_str_free(&log);
        unit_free(&unit);
    }
}

Test(compile_log, repetitions_of_instantiations_count_once)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 1);

    fail_with(&unit, "my.cu(1): error: text\n  x\n  ^\n"
                     "          detected during instantiation of \"f<int>\"\n\n"
                     "my.cu(1): error: text\n  x\n  ^\n"
                     "          detected during instantiation of \"f<float>\"\n\n");

    jit_gemm_diagnostics *diagnostics = take();
    cr_expect_eq(jg_diagnostics_count(diagnostics), 1);
    jg_diagnostics_destroy(&diagnostics);
    unit_free(&unit);
}

Test(compile_log, complaint_on_the_frame_points_behind_the_snippet)
{
    struct unit unit =
        unit_make_snippet("d = acc; /*/ */\nd += bias; // end\n\n", "my.cu", 10);

    fail_with(&unit, "jit_gemm_epilogue(4): error: expected a \";\"\n"
                     "  JG_EPILOGUE_END\n  ^\n\n");

    cr_expect_str_eq(jg_error_text(), "11:11: error: expected a \";\"; end the statement "
                                      "before this place with a semicolon");
    unit_free(&unit);
}

Test(compile_log, generated_code_is_our_bug)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 1);

    fail_with(&unit, "jg/sm90a/gemm_kernel.cuh(24): error: static assertion failed with "
                     "\"host and device disagree\"\n      static_assert(1);\n      ^\n\n");

    cr_expect_not_null(strstr(jg_error_text(), "jg/sm90a/gemm_kernel.cuh"));
    cr_expect_not_null(strstr(jg_error_text(), "this is a bug of jit_gemm"));
    jit_gemm_diagnostics *diagnostics = take();
    cr_expect_eq(jg_diagnostics_at(diagnostics, 0)->origin, JIT_GEMM_DIAGNOSTIC_GENERATED);
    cr_expect_eq(jg_diagnostics_at(diagnostics, 0)->line, 24);
    cr_expect_eq(jg_diagnostics_at(diagnostics, 0)->column, 5);
    jg_diagnostics_destroy(&diagnostics);
    unit_free(&unit);
}

Test(compile_log, errors_of_the_snippet_hide_their_consequences)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 1);

    fail_with(&unit, "jit_gemm_entry(4): error: no instance of f\n  f();\n  ^\n\n"
                     "my.cu(1): error: text\n  x\n  ^\n\n");

    jit_gemm_diagnostics *diagnostics = take();
    cr_expect_eq(jg_diagnostics_count(diagnostics), 1);
    cr_expect_eq(jg_diagnostics_at(diagnostics, 0)->origin, JIT_GEMM_DIAGNOSTIC_SNIPPET);
    jg_diagnostics_destroy(&diagnostics);
    unit_free(&unit);
}

Test(compile_log, assembler_and_silent_failures_are_our_bug)
{
    static const char *const logs[] = {
        "ptxas error   : Entry function 'k' uses too much shared data\n",
        "ptxas fatal   : Ptx assembly aborted due to errors\n",
        "At end of source: error: expected a \"}\"\n",
        "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.\n",
        "",
    };
    for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
        cr_expect_eq(fail_with(NULL, logs[i]), JIT_GEMM_ERR_COMPILE);
        cr_expect_not_null(strstr(jg_error_text(), "this is a bug of jit_gemm"), "%s",
                           jg_error_text());
        jit_gemm_diagnostics *diagnostics = take();
        cr_expect_eq(jg_diagnostics_at(diagnostics, 0)->origin,
                     JIT_GEMM_DIAGNOSTIC_GENERATED);
        jg_diagnostics_destroy(&diagnostics);
    }
}

Test(compile_log, our_namespaces_do_not_show)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 1);

    fail_with(&unit, "my.cu(1): error: function \"jg::prelude::relu(jg::f32)\" is bad\n");
    cr_expect_not_null(
        strstr(jg_error_text(), "1: error: function \"relu(float)\" is bad; "));

    fail_with(&unit, "my.cu(1): error: \"x\" is \"jg::Forms::Argument\" (aka \"float\") or "
                     "\"jg::U\" (aka \"int\"), not \"y\"\n");
    cr_expect_not_null(
        strstr(jg_error_text(), "1: error: \"x\" is \"float\" or \"int\", not \"y\"; "));
    unit_free(&unit);
}

Test(compile_log, failing_memory_still_says_compile)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 1);
    const char *log =
        "my.cu(1): error: identifier \"ac\" is undefined\n  d = ac;\n      ^\n";
    for (long number = 1; number < 40; number++) {
        jg_alloc_fail_at(number, number % 2 == 0);

        const jit_gemm_status status = fail_with(&unit, log);

        jg_alloc_fail_at(0, 0);
        cr_expect_eq(status, JIT_GEMM_ERR_COMPILE);
        cr_expect_eq(jg_error_status(), JIT_GEMM_ERR_COMPILE);
        cr_expect_str_not_empty(jg_error_text());
    }
    unit_free(&unit);
}

Test(compile_log, usage_of_the_entry_is_read)
{
    static const char log[] =
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
        "ptxas info    : Used 255 registers, used 1 barriers\n"
        "ptxas info    : Compiling entry function 'mine' for 'sm_90a'\n"
        "ptxas info    : Function properties for mine\n"
        "ptxas         .     64 bytes stack frame, 12 bytes spill stores, 20 bytes spill "
        "loads\n"
        "ptxas info    : Used 168 registers, used 16 barriers, 64 bytes cumulative stack "
        "size\n";
    uint32_t registers = 0;
    uint32_t spill_bytes = 0;

    cr_expect(jg_compile_log_usage(log, "mine", &registers, &spill_bytes));
    cr_expect_eq(registers, 168);
    cr_expect_eq(spill_bytes, 64);
    cr_expect(!jg_compile_log_usage(log, "none", &registers, &spill_bytes));
    cr_expect_eq(registers, 168);
}

static void count_warnings(void *user, jit_gemm_severity severity, const char *text)
{
    cr_expect_eq(severity, JIT_GEMM_SEVERITY_WARNING);
    struct jg_str *all = user;
    jg_str_printf(all, "%s\n", text);
}

Test(compile_log, performance_notes_and_snippet_warnings_are_logged)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 1);
    struct jg_str lines = {0};
    struct jg_log *log =
        jg_log_create(count_warnings, &lines, JIT_GEMM_SEVERITY_DEBUG, NULL);

    const int notes = jg_compile_log_warn(
        "jg/a.cuh(3): warning #177-D: variable \"u\" was declared but never referenced\n\n"
        "my.cu(1): warning #39-D: division by zero\n  d = acc / 0;\n            ^\n\n"
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions "
        "are serialized due to something in function 'k'\n"
        "ptxas info    : Used 168 registers\n",
        unit.epilogue, log);

    cr_expect_eq(notes, 2);
    cr_expect_not_null(strstr(jg_str_text(&lines), "C7510"));
    cr_expect_not_null(
        strstr(jg_str_text(&lines), "my.cu:1:11: warning: division by zero"));
    jg_log_destroy(log);
    jg_str_free(&lines);
    unit_free(&unit);
}
