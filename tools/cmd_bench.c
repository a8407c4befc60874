/* SPDX-License-Identifier: MIT */
/* jit-gemm bench: timings, alone or beside cuBLASLt. The measuring is bench/'s. */
#include <stdlib.h>
#include <string.h>

#include "../bench/gemm_bench.h"
#include "cli.h"

static const struct cli_help bench_help = {
    "bench PROBLEM... [--against cublaslt] [OPTION...]",
    "Times problems on the GPU: inputs in several sets that rotate and exceed the L2\n"
    "cache, medians over rounds. --against cublaslt opens that library at run time and\n"
    "measures it in the same run, in turns; where it has no such epilogue, with a\n"
    "separate kernel after it. Results are compared before anything is timed. Several\n"
    "problems may be given; each begins with its sizes (`4096x4096x4096` or `m=`).\n"
    "Emulated devices are refused: their times say nothing of a GPU.\n",
    "  jit-gemm bench 4096x4096x4096 bf16 --against cublaslt\n"
    "  jit-gemm bench 512x512x512 f16 8192x8192x8192 f16 --json\n",
};

struct bench_options {
    struct cli_context_options context;
    const char *against, *cublaslt;
    int64_t rounds, seed;
    bool json;
};

static int measure_problem(struct gemm_bench *bench, jit_gemm_context *context,
                           const struct cli_problem *problem,
                           const struct bench_options *options)
{
    struct gemm_bench_result result;
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    const jit_gemm_epilogue epilogue = cli_problem_epilogue(problem);
    int code = cli_problem_register(problem, context, options->context.verbose);

    if (code != CLI_OK) {
        return code;
    }
    if (gemm_bench_measure(bench, &problem->problem,
                           cli_problem_has_epilogue(problem) ? &epilogue : NULL, &result,
                           error) != 0) {
        return cli_error("%s", error);
    }
    if (options->json) {
        gemm_bench_print_json(stdout, gemm_bench_machine(bench), &result, NULL);
    } else {
        gemm_bench_print_result(stdout, &result);
    }
    fflush(stdout);
    return CLI_OK;
}

static int measure_words(const struct bench_options *options, struct cli_problem *model,
                         jit_gemm_context *context, char **words, int count)
{
    struct gemm_bench *bench = NULL;
    struct gemm_bench_options settings = {
        .against_cublaslt = options->against != NULL,
        .cublaslt_path = options->cublaslt,
        .nvrtc_path = options->context.nvrtc,
        .rounds = (int)options->rounds,
        .seed = (uint64_t)options->seed,
        .progress = options->context.verbose ? stderr : NULL,
    };
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    int code = CLI_OK;

    if (options->context.driver != NULL) { /* the rivals must use the same one */
        setenv("JIT_GEMM_DRIVER", options->context.driver, 1);
    }
    if (gemm_bench_open(context, &settings, &bench, error) != 0) {
        return cli_error("%s", error);
    }
    if (!options->json) {
        gemm_bench_print_head(stdout, gemm_bench_machine(bench));
    }
    for (int at = 0; at < count && code == CLI_OK;) {
        int length = cli_count_problem_words(words + at, count - at);
        struct cli_problem problem = *model;

        code = cli_problem_read(&problem, words + at, length);
        if (code == CLI_OK) {
            code = measure_problem(bench, context, &problem, options);
        }
        cli_problem_free(&problem);
        at += length;
    }
    gemm_bench_close(&bench);
    return code;
}

/* Reads all problems before anything is measured, so that a typing error is told at
 * once, and what cannot be measured. */
static int check_words(const struct cli_problem *model, char **words, int count)
{
    char error[GEMM_BENCH_ERROR_SIZE] = "";

    for (int at = 0; at < count;) {
        int length = cli_count_problem_words(words + at, count - at), code;
        struct cli_problem problem = *model;

        code = cli_problem_read(&problem, words + at, length);
        if (code == CLI_OK && gemm_bench_check(&problem.problem, error) != 0) {
            code = cli_usage_error("%s", error);
        }
        cli_problem_free(&problem);
        if (code != CLI_OK) {
            return code;
        }
        at += length;
    }
    return count ? CLI_OK
                 : cli_usage_error("a problem is missing, such as `%s`",
                                   "4096x4096x4096 bf16");
}

int cmd_bench(int argc, char **argv)
{
    struct bench_options options = {.seed = 1};
    struct cli_problem model = {0};
    const struct cli_option own[] = {
        {"--against", "cublaslt", "the library to measure beside", CLI_TEXT,
         &options.against},
        {"--cublaslt", "PATH", "its file; default: the usual places", CLI_TEXT,
         &options.cublaslt},
        {"--rounds", "N", "timed rounds; 0, the default: 15", CLI_INT, &options.rounds},
        {"--seed", "S", "seed of the inputs, default 1", CLI_INT, &options.seed},
        {"--json", NULL, "print one JSON object per problem", CLI_FLAG, &options.json},
        {0},
    };
    jit_gemm_context *context = NULL;
    int words = 0, code;

    code = cli_parse_problem(&bench_help, own, &model, &options.context, true, argc, argv,
                             &words);
    if (code >= 0) {
        return code;
    }
    if (options.against != NULL && strcmp(options.against, "cublaslt") != 0) {
        return cli_usage_error("--against: there is no `%s`; use cublaslt",
                               options.against);
    }
    if (options.rounds > GEMM_BENCH_MAX_ROUNDS) {
        return cli_usage_error("--rounds: at most %d", GEMM_BENCH_MAX_ROUNDS);
    }
    if (model.epilogue_file != NULL && strcmp(model.epilogue_file, "-") == 0) {
        return cli_usage_error(
            "--epilogue-file: bench reads it more than once; name a file");
    }
    code = check_words(&model, argv + 1, words);
    if (code == CLI_OK) {
        code = cli_context_open_gpu("bench", &options.context, &context);
    }
    if (code == CLI_OK) {
        code = measure_words(&options, &model, context, argv + 1, words);
    }
    jit_gemm_context_destroy(&context);
    return code;
}
