/* SPDX-License-Identifier: MIT */
/* jit-gemm epilogue check: an epilogue by itself. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* A snippet means the same on every architecture; where none is named it is this one. */
#define DEFAULT_ARCH "sm_90a"

static const struct cli_help check_help = {
    "epilogue check --epilogue TEXT|--epilogue-file FILE|--epilogue-code FILE\n"
    "       [--operand NAME:KIND:TYPE[:ROLE]]... [--json] [OPTION...]",
    "Checks an epilogue in milliseconds, without a problem, a GPU or a kernel. The text is\n"
    "always scanned; where NVRTC is there, the snippet is compiled by itself too, which\n"
    "finds unknown names and wrong types. The last line says which of the two was done.\n"
    "Errors are at the text's line and column, both from 1; columns count bytes.\n",
    "  jit-gemm epilogue check --epilogue 'd = gelu(acc + bias);' \\\n"
    "      --operand bias:row_vector:bf16\n"
    "  jit-gemm epilogue check --epilogue-file swish.txt --json\n",
};

static const char *origin_word(jit_gemm_diagnostic_origin origin)
{
    switch (origin) {
    case JIT_GEMM_DIAGNOSTIC_FIELD:
        return "field";
    case JIT_GEMM_DIAGNOSTIC_SNIPPET:
        return "snippet";
    case JIT_GEMM_DIAGNOSTIC_GENERATED:
        return "generated";
    case JIT_GEMM_DIAGNOSTIC_SYSTEM:
        break;
    }
    return "system";
}

static void add_diagnostics(struct cli_json *json)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    size_t count = 0;

    if (jit_gemm_diagnostics_take(&diagnostics) == JIT_GEMM_OK) {
        count = jit_gemm_diagnostics_count(diagnostics);
    }
    for (size_t i = 0; i < count; i++) {
        jit_gemm_diagnostic item = {.struct_size = sizeof(item)};

        if (jit_gemm_diagnostics_get(diagnostics, i, &item) != JIT_GEMM_OK) {
            continue;
        }
        cli_json_open_object(json, NULL);
        cli_json_add_text(json, "severity",
                          item.severity == JIT_GEMM_SEVERITY_ERROR ? "error" : "warning");
        cli_json_add_text(json, "origin", origin_word(item.origin));
        cli_json_add_uint(json, "line", item.line);
        cli_json_add_uint(json, "column", item.column);
        cli_json_add_text(json, "where", item.where);
        cli_json_add_text(json, "text", item.text);
        cli_json_add_text(json, "hint", item.hint);
        cli_json_close_object(json);
    }
    jit_gemm_diagnostics_destroy(&diagnostics);
}

static void print_json(jit_gemm_status status, const char *arch,
                       jit_gemm_epilogue_depth depth)
{
    struct cli_json json = {.file = stdout, .has_lines = true};
    const bool is_good = status == JIT_GEMM_OK;

    cli_json_open_command(&json, "epilogue check");
    cli_json_add_bool(&json, "ok", is_good);
    cli_json_add_text(&json, "status", jit_gemm_status_name(status));
    cli_json_add_text(&json, "arch", arch);
    cli_json_add_text(&json, "checked",
                      !is_good                              ? NULL
                      : depth == JIT_GEMM_EPILOGUE_COMPILED ? "compiled"
                                                            : "scanned");
    cli_json_open_list(&json, "diagnostics");
    if (!is_good) {
        add_diagnostics(&json);
    }
    cli_json_close_list(&json);
    cli_json_close_object(&json);
}

static int check_epilogue(const struct cli_context_options *options,
                          const struct cli_problem *problem, bool json)
{
    const struct cli_snippet snippet = {.text = problem->snippet};
    const jit_gemm_epilogue epilogue = cli_problem_epilogue(problem);
    jit_gemm_epilogue_depth depth = JIT_GEMM_EPILOGUE_SCANNED;
    jit_gemm_context *context = NULL;
    int code = cli_context_open(options, false, JIT_GEMM_POLICY_ALLOW, &context);

    if (code != CLI_OK) {
        return code;
    }
    jit_gemm_status status = jit_gemm_epilogue_check(context, &epilogue, &depth);
    if (json) {
        print_json(status, jit_gemm_context_arch(context), depth);
    } else if (status != JIT_GEMM_OK) {
        cli_report(status, &snippet, options->verbose);
    } else if (depth == JIT_GEMM_EPILOGUE_COMPILED) {
        printf("ok: scanned, and compiled by itself for %s\n",
               jit_gemm_context_arch(context));
    } else if (problem->code != NULL) {
        puts("ok: scanned; what only a linker finds is said when a kernel is made");
    } else {
        puts("ok: scanned only; without NVRTC names and types are not checked");
    }
    jit_gemm_context_destroy(&context);
    return status == JIT_GEMM_OK ? CLI_OK : CLI_FAILED;
}

int epilogue_check(int argc, char **argv)
{
    struct cli_context_options options = {0};
    struct cli_problem problem = {0};
    bool json = false;
    const struct cli_option own[] = {
        {"--json", NULL, "print one JSON object, errors too", CLI_FLAG, &json},
        {0},
    };
    struct cli_option epilogue_table[CLI_EPILOGUE_OPTION_COUNT];
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {own, epilogue_table, context_table, NULL};
    const char *variable = getenv("JIT_GEMM_ARCH");
    int words = 0, code;

    cli_epilogue_table(&problem, epilogue_table);
    cli_context_table(&options, false, context_table);
    code = cli_parse(&check_help, groups, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    if (words) {
        return cli_usage_error("epilogue check takes no words; quote the text");
    }
    if (problem.epilogue_text == NULL && problem.epilogue_file == NULL &&
        problem.code_file == NULL) {
        return cli_usage_error(
            "epilogue check: give --epilogue, --epilogue-file or --epilogue-code");
    }
    if (options.arch == NULL && (variable == NULL || variable[0] == '\0')) {
        options.arch = DEFAULT_ARCH;
    }
    code = cli_epilogue_read(&problem);
    if (code == CLI_OK) {
        code = check_epilogue(&options, &problem, json);
    }
    cli_problem_free(&problem);
    return code;
}
