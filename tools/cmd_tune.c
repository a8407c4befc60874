/* SPDX-License-Identifier: MIT */
/* jit-gemm tune: measures what the cost model only predicts, and writes a recipe. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_table.h"
#include "problem_list.h"
#include "tune.h"

enum { DEFAULT_CANDIDATES = 8 };

static const struct cli_help tune_help = {
    "tune PROBLEM... -o FILE [--update] [OPTION...]",
    "Measures the cost model's best few candidates of each problem on the GPU, and writes\n"
    "the fastest of each to a recipe, a file that --recipe and programs read. Inputs in\n"
    "several sets that rotate and exceed the L2 cache; candidates in turns; medians over\n"
    "rounds; results are compared before anything is timed. Several problems may be given,\n"
    "each begins with its sizes, or a file of them. With --config only candidates that have\n"
    "its words are tried. The file is written at the end, whole; after Ctrl-C not at all.\n"
    "Emulated devices are refused: their times say nothing of a GPU.\n",
    "  jit-gemm tune 4096x4096x4096 bf16 -o h200.recipe\n"
    "  jit-gemm tune 64x4096x4096 bf16 128x4096x4096 bf16 -o h200.recipe --update\n"
    "  jit-gemm tune --shapes model.txt -o h200.recipe --candidates 16 --json\n"
    "  jit-gemm run 4096x4096x4096 bf16 --recipe h200.recipe\n",
};

struct tune_options {
    struct cli_context_options context;
    const char *output, *shapes;
    struct group_lists groups;
    int64_t rounds, seed, candidates;
    bool update, json;
};

/* ----------------------------------------------------------------------- interruption */

static volatile sig_atomic_t was_interrupted;
/* For the signal handler: set as long as it is installed. */
static _Atomic(jit_gemm_context *) interruptible;

static void interrupt(int number)
{
    (void)number;
    was_interrupted = 1;
    (void)jit_gemm_cancel(interruptible);
}

static bool is_interrupted(void)
{
    return was_interrupted != 0;
}

/* --------------------------------------------------------------------------- problems */

void tune_problems_free(struct tune_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        listed_problem_free(&problems->items[i].problem);
        free(problems->items[i].candidates);
        free(problems->items[i].text);
    }
    free(problems->items);
    *problems = (struct tune_problems){0};
}

/* The problem's text as recipes have it. */
static char *text_without_config(const jit_gemm_problem *problem)
{
    jit_gemm_problem plain = *problem;

    plain.config[0] = '\0';
    return cli_problem_text(&plain);
}

static int read_problems(const struct tune_options *options,
                         const struct cli_problem *model, char **words, int count,
                         struct tune_problems *problems)
{
    struct problem_list list = {0};
    const int code =
        problem_list_read(model, words, count, options->shapes, &options->groups, &list);

    if (code != CLI_OK) {
        problem_list_free(&list);
        return code;
    }
    problems->items = cli_alloc(list.count * sizeof(*problems->items));
    problems->count = list.count;
    for (size_t i = 0; i < list.count; i++) {
        problems->items[i] = (struct tune_problem){
            .problem = list.items[i],
            .text = text_without_config(&list.items[i]->problem.problem)};
    }
    free(list.items); /* the problems are the caller's now */
    return CLI_OK;
}

/* --------------------------------------------------------------------------- recipes */

/* Writes, or checks only, a line for each problem that was measured; before any was, for
 * all. */
static int write_recipe(jit_gemm_context *context, const struct tune_options *options,
                        const struct tune_problems *problems, bool checks_only)
{
    jit_gemm_problem *named = cli_alloc(problems->count * sizeof(*named));
    jit_gemm_recipe_line *lines = cli_alloc(problems->count * sizeof(*lines));
    size_t count = 0;

    for (size_t i = 0; i < problems->count; i++) {
        const struct tune_problem *problem = &problems->items[i];
        if (!problem->is_measured && !checks_only) {
            continue;
        }
        const struct tune_candidate *best = &problem->candidates[problem->best];
        named[count] = problem->problem->problem.problem;
        memcpy(named[count].config, best->config, sizeof(best->config));
        lines[count] =
            (jit_gemm_recipe_line){&named[count], best->measured_us, best->predicted_us};
        count++;
    }
    const uint32_t flags = (options->update ? JIT_GEMM_RECIPE_UPDATE : 0u) |
                           (checks_only ? JIT_GEMM_RECIPE_CHECK : 0u);
    const jit_gemm_status status =
        jit_gemm_recipe_write(context, options->output, lines, count, flags);
    free(lines);
    free(named);
    return status == JIT_GEMM_OK ? CLI_OK
                                 : cli_report(status, NULL, options->context.verbose);
}

/* ------------------------------------------------------------------------------- work */

/* All that can be told before anything is compiled. */
static int prepare(jit_gemm_context *context, const struct tune_options *options,
                   struct tune_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        struct tune_problem *problem = &problems->items[i];
        int code = cli_problem_register(&problem->problem->problem, context,
                                        options->context.verbose);

        if (code == CLI_OK) {
            code = tune_list_candidates(context, (size_t)options->candidates,
                                        options->context.verbose, problem);
        }
        if (code != CLI_OK) {
            return code;
        }
    }
    return write_recipe(context, options, problems, true);
}

/* One that fails is left out; the others go on. */
static int measure_all(jit_gemm_context *context, struct gemm_bench *bench,
                       const struct tune_options *options, struct tune_problems *problems)
{
    int code = CLI_OK;

    for (size_t i = 0; i < problems->count && !is_interrupted(); i++) {
        struct tune_problem *problem = &problems->items[i];

        if (tune_measure(bench, context, is_interrupted, options->context.verbose,
                         problem) == CLI_OK) {
            tune_print_problem(problem, jit_gemm_context_arch(context), options->json);
        } else {
            code = CLI_FAILED;
        }
    }
    if (is_interrupted()) {
        return cli_error("interrupted; nothing was written");
    }
    if (tune_sum_up(problems).measured == 0) {
        tune_print_summary(problems, NULL, options->json);
        return cli_error("nothing was measured, and nothing written");
    }
    const int written = write_recipe(context, options, problems, false);
    tune_print_summary(problems, written == CLI_OK ? options->output : NULL, options->json);
    return written != CLI_OK ? written : code;
}

static int tune(jit_gemm_context *context, const struct tune_options *options,
                struct tune_problems *problems)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    struct gemm_bench *bench = NULL;
    const struct gemm_bench_options settings = {
        .rounds = (int)options->rounds,
        .seed = (uint64_t)options->seed,
        .is_stopped = is_interrupted,
    };
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    int code = prepare(context, options, problems);

    if (code != CLI_OK) {
        return code;
    }
    if (gemm_bench_open(context, &settings, &bench, error) != 0) {
        return cli_error("%s", error);
    }
    if (!options->json) {
        bench_table_print_head(gemm_bench_machine(bench));
    }
    /* The second Ctrl-C ends the program at once; the file is whole even so. */
    interruptible = context;
    sigaction(SIGINT, &action, NULL);
    code = measure_all(context, bench, options, problems);
    signal(SIGINT, SIG_DFL);
    gemm_bench_close(&bench);
    return code;
}

static int check_options(const struct tune_options *options,
                         const struct cli_problem *model)
{
    if (options->output == NULL) {
        return cli_usage_error("tune: -o FILE is missing: the recipe to write");
    }
    if (strcmp(options->output, "-") == 0) {
        return cli_usage_error("tune: -o needs a file; standard output has the tables");
    }
    if (options->rounds > GEMM_BENCH_MAX_ROUNDS) {
        return cli_usage_error("--rounds: at most %d", GEMM_BENCH_MAX_ROUNDS);
    }
    if (options->candidates < 1 || options->candidates > GEMM_BENCH_MAX_ENTRIES) {
        return cli_usage_error("--candidates: from 1 to %d", GEMM_BENCH_MAX_ENTRIES);
    }
    if (options->context.recipe != NULL) {
        return cli_usage_error("tune: leave --recipe out: what it would choose is measured "
                               "anew; -o FILE --update keeps other lines");
    }
    if (model->epilogue_file != NULL && strcmp(model->epilogue_file, "-") == 0) {
        return cli_usage_error(
            "--epilogue-file: tune reads it more than once; name a file");
    }
    if (!options->update && access(options->output, F_OK) == 0) {
        return cli_usage_error("-o %s is there already; --update replaces the lines of "
                               "these problems and keeps the others",
                               options->output);
    }
    return CLI_OK;
}

int cmd_tune(int argc, char **argv)
{
    struct tune_options options = {.seed = 1, .candidates = DEFAULT_CANDIDATES};
    struct cli_problem model = {0};
    const struct cli_option own[] = {
        {"-o", "FILE", "the recipe to write", CLI_TEXT, &options.output},
        {"--update", NULL, "replace lines of these problems in the file, keep the others",
         CLI_FLAG, &options.update},
        {"--shapes", "FILE", "problems, one in a line, beside those that are given",
         CLI_TEXT, &options.shapes},
        PROBLEM_LIST_GROUPS(&options.groups),
        {"--candidates", "N", "configs to measure, the model's best first; 8", CLI_INT,
         &options.candidates},
        {"--rounds", "N", "timed rounds; 0, the default: 15", CLI_INT, &options.rounds},
        {"--seed", "S", "seed of the inputs, default 1", CLI_INT, &options.seed},
        {"--json", NULL, "print one JSON object per problem, then the summary's", CLI_FLAG,
         &options.json},
        {0},
    };
    struct tune_problems problems = {0};
    jit_gemm_context *context = NULL;
    int words = 0, code;

    code = cli_parse_problem(&tune_help, own, &model, &options.context, true, argc, argv,
                             &words);
    if (code >= 0) {
        return code;
    }
    code = check_options(&options, &model);
    if (code == CLI_OK) {
        code = read_problems(&options, &model, argv + 1, words, &problems);
    }
    if (code == CLI_OK) {
        code = cli_context_open_gpu("tune", &options.context, &context);
    }
    if (code == CLI_OK) {
        code = tune(context, &options, &problems);
    }
    jit_gemm_context_destroy(&context);
    tune_problems_free(&problems);
    return code;
}
