/* SPDX-License-Identifier: MIT */
/* jit-gemm bench: timings, alone or beside cuBLASLt. The measuring is bench/'s. */
#include <stdlib.h>
#include <string.h>

#include "../bench/bench_util.h"
#include "../bench/gemm_bench.h"
#include "bench_modelled.h"
#include "bench_table.h"
#include "problem_list.h"

static const struct cli_help bench_help = {
    "bench PROBLEM... [--against cublaslt|dense] [OPTION...]",
    "Times problems on the GPU: inputs in several sets that rotate and exceed the L2\n"
    "cache, medians over rounds. --against cublaslt opens that library at run time and\n"
    "measures it in the same run, in turns; where it has no such epilogue, with a\n"
    "separate kernel after it. Groups have the sizes that --group-sizes says, and work is\n"
    "counted by these; --against dense launches a product for each, whose sizes the host\n"
    "knows. Results are compared before anything is timed. Several\n"
    "problems may be given; each begins with its sizes (`4096x4096x4096` or `m=`).\n"
    "On a terminal a line says which problem is under way. plot_ratios.py, in share/jit_gemm,\n"
    "draws what --out has written: a bar for each problem.\n"
    "Emulated devices are refused, but with --modelled: then nothing is measured, and the\n"
    "emulator's time model says what a launch would take on the chip (docs/time-model.md).\n",
    "  jit-gemm bench 4096x4096x4096 bf16 --against cublaslt\n"
    "  jit-gemm bench 512x512x512 f16 8192x8192x8192 f16 --json\n"
    "  jit-gemm bench m=4096 n=7168 k=2048 a=bf16 groups=8 --group-sizes zipf \\\n"
    "      --against dense --replays\n"
    "  jit-gemm bench --shapes model.txt --against cublaslt --replays --out h200.jsonl\n"
    "  jit-gemm bench 8192x8192x8192 bf16 --device emulator --arch sm_100a --modelled\n",
};

struct bench_options {
    struct cli_context_options context;
    const char *against, *cublaslt, *shapes, *out;
    struct group_lists groups;
    int64_t rounds, round_ms, warmup_ms, seed;
    bool replays, json, modelled;
    struct bench_modelled model;
};

/* What is written besides the table: JSON to standard output instead, or to a file. */
struct bench_output {
    FILE *json;
    const char *command_line; /* "bench" on standard output */
    bool has_table;
};

/* Which problem is under way, on a line that the next text takes the place of: on a
 * terminal, and where --verbose says nothing. */
static void show_progress(const struct problem_list *problems, size_t done, bool verbose)
{
    const bool is_shown = !verbose && cli_is_terminal(stderr);
    char line[256];

    if (is_shown && done < problems->count) {
        char *text = cli_problem_text(&problems->items[done]->problem.problem);

        snprintf(line, sizeof(line), "[%zu/%zu] %s", done + 1, problems->count, text);
        fprintf(stderr, "\r\033[K%.*s", (int)cli_columns(stderr) - 1, line);
        fflush(stderr);
        free(text);
    }
}

/* Before anything else is printed. */
static void end_progress(bool verbose)
{
    if (!verbose && cli_is_terminal(stderr)) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

static int measure_problem(struct gemm_bench *bench, jit_gemm_context *context,
                           const struct listed_problem *problem, bool verbose,
                           const struct bench_output *output)
{
    struct gemm_bench_result result;
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    jit_gemm_epilogue epilogue;
    const struct gemm_bench_problem measured = listed_problem_of(problem, &epilogue);
    const int code = cli_problem_register(&problem->problem, context, verbose);

    if (code != CLI_OK) {
        return code;
    }
    const int failed = gemm_bench_measure(bench, &measured, &result, error);
    end_progress(verbose);
    if (failed != 0) {
        return cli_error("%s", error);
    }
    if (output->json != NULL) {
        gemm_bench_print_json(output->json, gemm_bench_machine(bench), &result,
                              output->command_line);
    }
    if (output->has_table) {
        bench_table_print_result(&result);
    }
    return CLI_OK;
}

/* One that fails is told of; the others go on. */
static int measure_all(const struct bench_options *options, jit_gemm_context *context,
                       const struct problem_list *problems, struct bench_output *output)
{
    const bool verbose = options->context.verbose;
    struct gemm_bench *bench = NULL;
    const struct gemm_bench_options settings = {
        .against_cublaslt =
            options->against != NULL && strcmp(options->against, "cublaslt") == 0,
        .against_dense = options->against != NULL && strcmp(options->against, "dense") == 0,
        .cublaslt_path = options->cublaslt,
        .nvrtc_path = options->context.nvrtc,
        .rounds = (int)options->rounds,
        .round_ms = (double)options->round_ms,
        .warmup_ms = (double)options->warmup_ms,
        .seed = (uint64_t)options->seed,
        .replays = options->replays,
        .progress = verbose ? stderr : NULL,
    };
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    int code = CLI_OK;

    if (gemm_bench_open(context, &settings, &bench, error) != 0) {
        return cli_error("%s", error);
    }
    if (options->out != NULL &&
        bench_open_output("jit-gemm bench", options->out, &output->json) != 0) {
        gemm_bench_close(&bench);
        return CLI_FAILED;
    }
    if (output->has_table) {
        bench_table_print_head(gemm_bench_machine(bench));
    }
    for (size_t i = 0; i < problems->count; i++) {
        show_progress(problems, i, verbose);
        const int own =
            measure_problem(bench, context, problems->items[i], verbose, output);
        code = own != CLI_OK ? own : code;
    }
    gemm_bench_close(&bench);
    return options->out == NULL ||
                   bench_close_output("jit-gemm bench", options->out, output->json) == 0
               ? code
               : CLI_FAILED;
}

static int bench_problems(const struct bench_options *options, jit_gemm_context *context,
                          const struct problem_list *problems, const char *command_line)
{
    struct bench_output output = {.json = options->json ? stdout : NULL,
                                  .command_line =
                                      options->out == NULL ? "bench" : command_line,
                                  .has_table = !options->json};

    return measure_all(options, context, problems, &output);
}

static int check_options(const struct bench_options *options,
                         const struct cli_problem *model)
{
    if (options->rounds > GEMM_BENCH_MAX_ROUNDS) {
        return cli_usage_error("--rounds: at most %d", GEMM_BENCH_MAX_ROUNDS);
    }
    if (options->json && options->out != NULL) {
        return cli_usage_error("--json prints what --out would append; leave one out");
    }
    if (model->epilogue_file != NULL && strcmp(model->epilogue_file, "-") == 0) {
        return cli_usage_error(
            "--epilogue-file: bench reads it more than once; name a file");
    }
    return cli_check_output("--out", options->out);
}

static int check_modelled(const struct bench_options *options)
{
    const int code =
        bench_modelled_check(options->modelled, options->context.device, &options->model);
    if (code != CLI_OK || !options->modelled) {
        return code;
    }
    if (options->out != NULL) {
        return cli_usage_error(
            "--modelled and --out exclude each other: files of results hold measured times");
    }
    if (options->against != NULL || options->replays || options->rounds != 0 ||
        options->round_ms != 0 || options->warmup_ms != 0) {
        return cli_usage_error("--modelled runs one kernel once: leave --against, "
                               "--replays, --rounds, --round-ms and --warmup-ms out");
    }
    return CLI_OK;
}

static int run_bench(const struct bench_options *options,
                     const struct problem_list *problems, const char *command_line)
{
    jit_gemm_context *context = NULL;

    if (options->modelled) {
        return bench_modelled_print(&options->model, &options->context, problems);
    }
    int code = cli_context_open_gpu("bench", &options->context, &context);
    if (code == CLI_OK) {
        code = bench_problems(options, context, problems, command_line);
    }
    jit_gemm_context_destroy(&context);
    return code;
}

int cmd_bench(int argc, char **argv)
{
    struct bench_options options = {.seed = 1};
    struct cli_problem model = {0};
    const struct cli_option own[] = {
        {"--against", "cublaslt|dense",
         "what to measure beside: that library; or of groups\n"
         "a product of our own for each of them",
         CLI_CHOICE, &options.against},
        PROBLEM_LIST_GROUPS(&options.groups),
        {"--shapes", "FILE", "problems, one in a line, beside those that are given",
         CLI_TEXT, &options.shapes},
        {"--cublaslt", "PATH", "its file; default: the usual places", CLI_TEXT,
         &options.cublaslt},
        {"--rounds", "N", "timed rounds; 0, the default: 15", CLI_INT, &options.rounds},
        {"--round-ms", "N", "device time of a contender in a round; 0, the default: 40",
         CLI_INT, &options.round_ms},
        {"--warmup-ms", "N",
         "before the first problem; 0, the default: 1000,\nand 0.3 of it before others",
         CLI_INT, &options.warmup_ms},
        {"--replays", NULL, "a turn is one replay of a CUDA graph of its launches",
         CLI_FLAG, &options.replays},
        {"--seed", "S", "seed of the inputs, default 1", CLI_INT, &options.seed},
        {"--json", NULL, "print one JSON object per problem", CLI_FLAG, &options.json},
        {"--out", "FILE", "append it to a file, beside the table", CLI_TEXT, &options.out},
        {"--modelled", NULL, "times of the emulator's time model, of no measurement",
         CLI_FLAG, &options.modelled},
        {"--chip", "h100|h200|b200", "modelled: which, default the emulated device",
         CLI_CHOICE, &options.model.chip},
        {"--mhz", "N", "modelled: its clock, default what the chip's power leaves", CLI_INT,
         &options.model.mhz},
        {0},
    };
    struct problem_list problems = {0};
    char command_line[1024];
    int words = 0, code;

    memcpy(command_line, "jit-gemm ", sizeof("jit-gemm "));
    bench_join_arguments(argc, argv, command_line + strlen(command_line),
                         sizeof(command_line) - strlen(command_line));
    code = cli_parse_problem(&bench_help, own, &model, &options.context, true, argc, argv,
                             &words);
    if (code >= 0) {
        return code;
    }
    options.model.json = options.json;
    options.groups.are_modelled = options.modelled;
    options.model.groups = options.groups;
    code = check_options(&options, &model);
    if (code == CLI_OK) {
        code = check_modelled(&options);
    }
    if (code == CLI_OK) {
        code = problem_list_read(&model, argv + 1, words, options.shapes, &options.groups,
                                 &problems);
    }
    if (code == CLI_OK) {
        code = run_bench(&options, &problems, command_line);
    }
    problem_list_free(&problems);
    return code;
}
