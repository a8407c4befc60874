/* SPDX-License-Identifier: MIT */
/* jit-gemm plan: the choice and its reasons. */
#include <stdlib.h>

#include "cli.h"

static const struct cli_help plan_help = {
    "plan PROBLEM... [OPTION...]",
    "Prints the configuration that the library chooses for a problem, the reason, and\n"
    "each rejected candidate with its own. Nothing is compiled; no device is opened if\n"
    "the architecture is named. The printed configuration is what --config takes.\n",
    "  jit-gemm plan 4096x4096x4096 bf16 --arch sm_90a\n"
    "  jit-gemm plan m=128 n=8192 k=4096 a=f16 dynamic=m --arch sm_90a --json\n",
};

static int print_plan(const struct cli_problem *problem, jit_gemm_context *context,
                      bool json, bool verbose)
{
    struct cli_snippet snippet = {problem->snippet};
    size_t length = 0;
    int code = cli_problem_register(problem, context, verbose);
    if (code != CLI_OK) {
        return code;
    }
    jit_gemm_status status = jit_gemm_plan(context, &problem->problem, NULL, 0, &length);
    if (status != JIT_GEMM_OK) {
        return cli_report(status, &snippet, verbose);
    }
    char *plan = cli_alloc(length + 1);
    char *text = cli_problem_text(&problem->problem);
    status = jit_gemm_plan(context, &problem->problem, plan, length + 1, NULL);
    if (status != JIT_GEMM_OK) {
        code = cli_report(status, &snippet, verbose);
    } else if (json) {
        printf("{");
        cli_json_field(stdout, "problem", text, true);
        cli_json_field(stdout, "arch", jit_gemm_context_arch(context), true);
        cli_json_field(stdout, "plan", plan, false);
        printf("}\n");
    } else {
        printf("%s%s", plan, length && plan[length - 1] == '\n' ? "" : "\n");
    }
    free(text);
    free(plan);
    return code;
}

int cmd_plan(int argc, char **argv)
{
    struct cli_context_options options = {0};
    struct cli_problem problem = {0};
    jit_gemm_context *context = NULL;
    bool json = false;
    const struct cli_option own[] = {
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    int words = 0, code;

    code = cli_parse_problem(&plan_help, own, &problem, &options, true, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    code = cli_problem_read(&problem, argv + 1, words);
    if (code == CLI_OK) {
        /* A plan reads and keeps nothing: trouble with the cache is none of it. */
        options.no_cache |= options.cache_dir == NULL;
        code = cli_context_open(&options, false, JIT_GEMM_POLICY_ALLOW, &context);
    }
    if (code == CLI_OK) {
        code = print_plan(&problem, context, json, options.verbose);
    }
    jit_gemm_context_destroy(&context);
    cli_problem_free(&problem);
    return code;
}
