/* SPDX-License-Identifier: MIT */
/* jit-gemm build: a problem to a file, without a GPU. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct cli_help build_help = {
    "build PROBLEM... -o FILE [--emit cubin|ptx|source] [OPTION...]",
    "Compiles a problem to a file. Needs neither a GPU nor a driver; without a GPU, name\n"
    "the architecture. A cubin goes through the disk cache.\n",
    "  jit-gemm build 4096x4096x4096 bf16 --arch sm_90a -o gemm.cubin\n"
    "  jit-gemm build 4096x4096x4096 bf16 --arch sm_90a --emit source -o -\n"
    "  jit-gemm build 512x512x512 f16 --epilogue 'd = relu(acc + bias);' \\\n"
    "      --operand bias:row_vector:f16 --arch sm_90a --emit ptx -o gemm.ptx\n",
};

static jit_gemm_emit read_emit(const char *text)
{
    return strcmp(text, "ptx") == 0      ? JIT_GEMM_EMIT_PTX
           : strcmp(text, "source") == 0 ? JIT_GEMM_EMIT_SOURCE
                                         : JIT_GEMM_EMIT_CUBIN;
}

static void print_json(const struct cli_problem *problem, const jit_gemm_context *context,
                       jit_gemm_emit emit, const char *path, size_t size)
{
    struct cli_json json = {.file = stdout};
    char *text = cli_problem_text(&problem->problem);

    cli_json_open_command(&json, "build");
    cli_json_add_text(&json, "problem", text);
    cli_json_add_text(&json, "arch", jit_gemm_context_arch(context));
    cli_json_add_text(&json, "form",
                      emit == JIT_GEMM_EMIT_CUBIN ? "cubin"
                      : emit == JIT_GEMM_EMIT_PTX ? "ptx"
                                                  : "source");
    cli_json_add_text(&json, "path", path);
    cli_json_add_uint(&json, "bytes", size);
    cli_json_close_object(&json);
    free(text);
}

static int build_artifact(const struct cli_context_options *options,
                          const struct cli_problem *problem, jit_gemm_emit emit,
                          const char *path, bool json)
{
    struct cli_snippet snippet = {.text = problem->snippet};
    jit_gemm_context *context = NULL;
    jit_gemm_artifact *artifact = NULL;
    const void *data;
    size_t size = 0;
    jit_gemm_status status;
    int code = cli_context_open(options, false, JIT_GEMM_POLICY_ALLOW, &context);

    if (code != CLI_OK) {
        return code;
    }
    code = cli_problem_register(problem, context, options->verbose);
    if (code == CLI_OK) {
        status = jit_gemm_build(context, &problem->problem, emit, &artifact);
        code =
            status == JIT_GEMM_OK ? CLI_OK : cli_report(status, &snippet, options->verbose);
    }
    if (code == CLI_OK) {
        data = jit_gemm_artifact_data(artifact, &size);
        code = cli_write_file("-o", path, data, size);
    }
    if (code == CLI_OK && json) {
        print_json(problem, context, emit, path, size);
    } else if (code == CLI_OK && strcmp(path, "-") != 0) {
        cli_note("wrote %s, %zu bytes for %s", path, size, jit_gemm_context_arch(context));
    }
    jit_gemm_artifact_destroy(&artifact);
    jit_gemm_context_destroy(&context);
    return code;
}

int cmd_build(int argc, char **argv)
{
    struct cli_context_options options = {0};
    struct cli_problem problem = {0};
    const char *path = NULL, *emit_text = "cubin";
    bool json = false;
    const struct cli_option own[] = {
        {"-o", "FILE", "file to write; - is standard output", CLI_TEXT, &path},
        {"--emit", "cubin|ptx|source", "what to write; cubin", CLI_CHOICE, &emit_text},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    int words = 0, code;

    code =
        cli_parse_problem(&build_help, own, &problem, &options, false, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    if (path == NULL) {
        return cli_usage_error(
            "build: -o FILE is missing; `-o -` writes to standard output");
    }
    if (json && strcmp(path, "-") == 0) {
        return cli_usage_error(
            "--json and `-o -` both write to standard output; name a file");
    }
    code = cli_check_output("-o", path);
    if (code == CLI_OK) {
        code = cli_problem_read(&problem, argv + 1, words);
    }
    if (code == CLI_OK) {
        code = build_artifact(&options, &problem, read_emit(emit_text), path, json);
    }
    cli_problem_free(&problem);
    return code;
}
