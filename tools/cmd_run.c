/* SPDX-License-Identifier: MIT */
/* jit-gemm run: inputs, launches, and what became of them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run_launch.h"
#include "run_lines.h"
#include "run_verify.h"

static const struct cli_help run_help = {
    "run PROBLEM... [--verify] [OPTION...]",
    "Makes random inputs in [-1, 1], creates the problem and runs it. --verify compares D\n"
    "and every output operand with a reference kernel that sums in f64 and keeps f32,\n"
    "element by element and as a whole. Inputs' padding and all results are poisoned with\n"
    "NaN before the run, and guards around every buffer are checked after it. Where the\n"
    "snippet can be interpreted, the reference is compared with that too. The last line is\n"
    "  PASS rel_error=... device=... arch=... origin=compiled|disk|bundle|memory kernel_us=...\n"
    "or the same with FAIL, and exit code 1; without --verify it begins with DONE.\n"
    "f32 scalars are passed by value, all other operands by pointer.\n"
    "A kernel that needs a workspace gets one of zeros, and is launched twice with it.\n"
    "On a GPU --verify also compares the bits of D with those that as many launches leave\n"
    "as --repeat says, none of which waits for the one before, if they have to be the same.\n"
    "--back-to-back launches twice without waiting in between: the second launch reads D\n"
    "of the first as its A, B, C and matrix operands, where these lie as D does.\n"
    "--lines runs each line of a file and says which passed, failed or were refused; exit\n"
    "code 1 if one failed, else 2 if one was refused.\n"
    "On the emulator nothing is timed (kernel_us=emulated), the host makes the sums, and\n"
    "the reference kernel applies the snippet to them, if there is one; --verify fails as\n"
    "well if the emulator warned of something.\n",
    "  jit-gemm run 4096x4096x4096 bf16 --verify\n"
    "  jit-gemm run 2048x512x1024 f16 --epilogue 'd = gelu(acc + bias) + r;' --verify \\\n"
    "      --operand bias:row_vector:f16 --operand r:matrix:f16\n"
    "  jit-gemm run m=1000 n=512 k=768 a=bf16 d=f32 dynamic=m --m 37 --verify\n"
    "  jit-gemm run 256x256x256 bf16 --device emulator --arch sm_90a --verify\n",
};

struct run_options {
    struct cli_context_options context;
    struct run_sizes sizes;
    struct run_strides strides;
    int64_t seed, repeat;
    double alpha, beta;
    bool verify, json, back_to_back, host_sizes, plan_sizes;
    const char *save;     /* NULL: D is not kept */
    const char *in_place; /* NULL: D has memory of its own */
    const char *lines;    /* NULL: one run */
};

/* One run under way. */
struct run_state {
    struct run_launch launch;
    double kernel_us;  /* NAN where it means nothing: on an emulated device */
    uint64_t findings; /* of an emulated device */
    struct run_verdict verdict;
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int time_launches(struct run_state *state, size_t count)
{
    jit_gemm_timer *timer = NULL;
    double *times = cli_alloc(count * sizeof(*times));
    jit_gemm_status status = jit_gemm_timer_create(state->launch.context, &timer);

    for (int i = 0; i < 2 && status == JIT_GEMM_OK; i++) { /* clocks and caches warm up */
        status = jit_gemm_run(state->launch.gemm, &state->launch.args, NULL);
    }
    for (size_t i = 0; i < count && status == JIT_GEMM_OK; i++) {
        status = jit_gemm_timer_start(timer, NULL);
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_run(state->launch.gemm, &state->launch.args, NULL);
        }
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_timer_stop(timer, NULL);
        }
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_timer_elapsed_us(timer, &times[i]);
        }
    }
    if (status == JIT_GEMM_OK) {
        qsort(times, count, sizeof(*times), compare_doubles);
        state->kernel_us = 0.5 * (times[(count - 1) / 2] + times[count / 2]);
    }
    jit_gemm_timer_destroy(&timer);
    free(times);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

static void print_facts(const struct run_state *state, const char *text)
{
    const jit_gemm_info *info = &state->launch.info;

    cli_print_fact("problem", 9, text);
    printf("device   %s (%s), %" PRId32 " SMs%s\n", state->launch.device.name, info->arch,
           state->launch.device.sm_count,
           state->launch.device.is_emulated ? "; emulated: the kernel runs on the CPU"
                                            : "");
    cli_print_fact("config", 9, info->config);
    if (info->recipe[0]) {
        cli_print_fact("recipe", 9, info->recipe);
    }
    printf("kernel   ");
    if (!state->launch.device.is_emulated) {
        printf("%u registers, %u bytes spilled, ", info->registers, info->spill_bytes);
    }
    printf("%u bytes shared memory, %u threads, %u CTAs", info->smem_bytes, info->threads,
           info->grid_ctas);
    if (info->workspace_bytes) {
        printf(", %" PRIu64 " bytes workspace", info->workspace_bytes);
    }
    if (info->launches > 1) {
        printf(", up to %u launches", info->launches);
    }
    puts("");
    if (info->origin == JIT_GEMM_ORIGIN_COMPILED) {
        printf("compile  %.1f ms\n", info->compile_ms);
    }
}

/* Whether the reference was compared with the interpreted snippet; why not, if there is
 * one. */
static void add_interpretation(struct cli_json *json,
                               const struct run_interpretation *interpretation)
{
    const bool is_whole = interpretation->reason[0] == '\0';

    cli_json_add_bool(json, "interpreted", interpretation->elements > 0 && is_whole);
    cli_json_add_uint(json, "interpreted_elements", interpretation->elements);
    if (!is_whole) {
        cli_json_add_text(json, "not_interpreted", interpretation->reason);
    }
}

static void print_json(const struct run_state *state, const char *word, const char *text)
{
    const jit_gemm_info *info = &state->launch.info;
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "run");
    cli_json_add_text(&json, "result", word);
    cli_json_add_text(&json, "problem", text);
    cli_json_add_double(&json, "rel_error", state->verdict.rel_error);
    cli_json_add_text(&json, "device", state->launch.device.name);
    cli_json_add_text(&json, "arch", info->arch);
    cli_json_add_text(&json, "origin", jit_gemm_origin_name(info->origin));
    cli_json_add_double(&json, "kernel_us", state->kernel_us);
    cli_json_add_double(&json, "compile_ms", info->compile_ms);
    cli_json_add_double(&json, "load_ms", info->load_ms);
    if (!state->launch.device.is_emulated) {
        cli_json_add_uint(&json, "registers", info->registers);
        cli_json_add_uint(&json, "spill_bytes", info->spill_bytes);
    }
    add_interpretation(&json, &state->verdict.interpretation);
    cli_json_add_uint(&json, "findings", state->findings);
    cli_json_add_bool(&json, "emulated", state->launch.device.is_emulated);
    cli_json_add_uint(&json, "smem_bytes", info->smem_bytes);
    cli_json_add_uint(&json, "threads", info->threads);
    cli_json_add_uint(&json, "grid_ctas", info->grid_ctas);
    cli_json_add_uint(&json, "workspace_bytes", info->workspace_bytes);
    cli_json_add_uint(&json, "launches", info->launches);
    cli_json_add_text(&json, "key", info->key);
    cli_json_add_text(&json, "recipe", info->recipe);
    cli_json_add_text(&json, "config", info->config);
    cli_json_close_object(&json);
}

static void print_last_line(const struct run_state *state, const char *word)
{
    char device[sizeof(state->launch.device.name)];

    memcpy(device, state->launch.device.name, sizeof(device));
    for (char *letter = device; *letter; letter++) {
        if (*letter == ' ') {
            *letter = '_';
        }
    }
    printf("%s%s%s",
           cli_tone(stdout, state->verdict.is_wrong ? CLI_TONE_BAD : CLI_TONE_GOOD), word,
           cli_tone(stdout, CLI_TONE_END));
    if (!isnan(state->verdict.rel_error)) {
        printf(" rel_error=%.3e", state->verdict.rel_error);
    }
    printf(" device=%s arch=%s origin=%s ", device, state->launch.info.arch,
           jit_gemm_origin_name(state->launch.info.origin));
    if (state->launch.device.is_emulated) {
        puts("kernel_us=emulated");
    } else {
        printf("kernel_us=%.2f\n", state->kernel_us);
    }
}

/* Of all batches, or of what the groups have. */
static double count_flops(const struct run_inputs *inputs)
{
    double products = 0;

    for (int64_t i = 0; i < inputs->batch; i++) {
        const struct run_rows depth = run_groups_depth(&inputs->groups, i, inputs->k);
        struct run_rows rows = run_groups_next(&inputs->groups, i, 0, inputs->m);
        for (; rows.begin < rows.end;
             rows = run_groups_next(&inputs->groups, i, rows.end, inputs->m)) {
            products += (double)(rows.end - rows.begin) *
                        (double)(depth.end - depth.begin) *
                        (double)run_groups_columns(&inputs->groups, i, inputs->n);
        }
    }
    return 2.0 * products;
}

static void print_outcome(const struct run_state *state, const struct run_options *options,
                          const char *text)
{
    const struct run_inputs *inputs = &state->launch.inputs;
    double flops = count_flops(inputs);
    const char *word = state->verdict.is_wrong ? "FAIL" : options->verify ? "PASS" : "DONE";

    if (options->json) {
        print_json(state, word, text);
        return;
    }
    if (!state->launch.device.is_emulated) {
        printf("time     %.2f us, median of %" PRId64 ", %.1f TFLOP/s\n", state->kernel_us,
               options->repeat, flops / state->kernel_us * 1e-6);
    }
    print_last_line(state, word);
}

static int save_result(const struct run_launch *launch, const char *path)
{
    const struct run_matrix *d = &launch->results.d;
    void *data = run_matrix_download(launch->context, d);
    int code = data != NULL
                   ? cli_write_file("--save", path, data, element_view_bytes(&d->view))
                   : CLI_FAILED;

    free(data);
    return code;
}

/* Parts of K that are added up as they come give other bits each time, and a D that is
 * written over an input is another's input in the next launch. */
static bool repeats_bits(const struct run_launch *launch)
{
    return launch->in_place_values == NULL &&
           strstr(launch->info.config, "split_order=unordered") == NULL;
}

/* Poisons D, and launches `count` times behind each other with no wait in between. */
static int launch_burst(struct run_state *state, size_t count)
{
    const struct run_launch *launch = &state->launch;
    int code = run_results_poison(launch->context, &launch->results);

    for (size_t i = 1; i < count && code == CLI_OK; i++) {
        const jit_gemm_status status = jit_gemm_run(launch->gemm, &launch->args, NULL);
        code = status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
    }
    if (code == CLI_OK) {
        code = run_launch_once(launch);
    }
    return code == CLI_OK ? run_results_collect(launch->context, &launch->inputs,
                                                &launch->results, &state->verdict.is_wrong)
                          : code;
}

/* D of such launches, which overlap where the kernel lets them, against the verified one.
 */
static int verify_burst(struct run_state *state, size_t count)
{
    const struct run_launch *launch = &state->launch;
    const struct run_matrix *d = &launch->results.d;

    if (!repeats_bits(launch)) {
        return CLI_OK;
    }
    void *verified = run_matrix_download(launch->context, d);
    int code = verified != NULL ? launch_burst(state, count) : CLI_FAILED;
    void *repeated = code == CLI_OK ? run_matrix_download(launch->context, d) : NULL;
    if (code == CLI_OK && repeated == NULL) {
        code = CLI_FAILED;
    }
    if (code == CLI_OK && memcmp(verified, repeated, element_view_bytes(&d->view)) != 0) {
        state->verdict.is_wrong = true;
        cli_error("D: other bits after %zu launches behind each other than after the one "
                  "that was verified",
                  count);
    }
    free(verified);
    free(repeated);
    return code;
}

/* What an emulated device warned of is wrong, whatever the numbers are. */
static int check_findings(struct run_state *state)
{
    const jit_gemm_status status =
        jit_gemm_device_findings(state->launch.context, &state->findings);

    if (status != JIT_GEMM_OK) {
        return cli_report(status, NULL, false);
    }
    if (state->findings > 0) {
        state->verdict.is_wrong = true;
        cli_error("the emulator found %" PRIu64
                  " places that are wrong; it prints them with "
                  "JIT_GEMM_EMULATOR=show=warnings, its default",
                  state->findings);
    }
    return CLI_OK;
}

static int prepare_and_run(const struct run_launch *launch)
{
    const int code = run_launch_prepare(launch);

    return code == CLI_OK ? run_launch_once(launch) : code;
}

static int verify_launch(struct run_state *state, const struct run_launch *launch,
                         const struct cli_problem *problem,
                         const struct run_options *options)
{
    return run_verify(launch, problem, options->json, options->context.verbose,
                      &state->verdict);
}

/* Once, or, with a workspace, once more with what the first launch left in it. */
static int run_apart(struct run_state *state, const struct cli_problem *problem,
                     const struct run_options *options)
{
    const struct run_launch *launch = &state->launch;
    int code = prepare_and_run(launch);

    if (code == CLI_OK && launch->info.workspace_bytes) {
        code = run_results_poison(launch->context, &launch->results);
        if (code == CLI_OK) {
            code = prepare_and_run(launch);
        }
    }
    if (code == CLI_OK) {
        code = run_results_collect(launch->context, &launch->inputs, &launch->results,
                                   &state->verdict.is_wrong);
    }
    if (code == CLI_OK && options->save != NULL) {
        code = save_result(launch, options->save);
    }
    return code == CLI_OK && options->verify
               ? verify_launch(state, launch, problem, options)
               : code;
}

/* Two launches of which nothing awaits the first. */
static int run_back_to_back(struct run_state *state, const struct cli_problem *problem,
                            const struct run_options *options)
{
    const struct run_launch *launch = &state->launch;
    struct run_launch second;
    int code = run_launch_follow(problem, launch, options->strides.ldd, &second);

    if (code == CLI_OK) {
        code = run_launch_both(launch, &second);
    }
    if (code == CLI_OK && options->save != NULL) {
        code = save_result(&second, options->save);
    }
    if (code == CLI_OK && options->verify) {
        code = verify_launch(state, launch, problem, options);
    }
    if (code == CLI_OK && options->verify) {
        if (!options->json) {
            puts("second   reads D of the first launch");
        }
        code = verify_launch(state, &second, problem, options);
    }
    if (code == CLI_OK) {
        state->verdict.is_wrong |=
            run_check_guards(launch->context, &launch->inputs, &second.results) != CLI_OK;
    }
    run_launch_unfollow(&second);
    return code;
}

static int run_problem(struct run_state *state, const struct cli_problem *problem,
                       const struct run_options *options)
{
    struct run_launch *launch = &state->launch;
    int code = run_launch_fill(problem, &options->strides, (uint64_t)options->seed, launch);

    if (code != CLI_OK) {
        return code;
    }
    char *text = cli_problem_text(&problem->problem);
    if (!options->json) {
        print_facts(state, text);
    }
    code = options->back_to_back ? run_back_to_back(state, problem, options)
                                 : run_apart(state, problem, options);
    if (code == CLI_OK && options->verify) {
        code = check_findings(state);
    }
    if (code == CLI_OK && !launch->device.is_emulated && options->verify) {
        code = verify_burst(state, (size_t)options->repeat);
    }
    if (code == CLI_OK && !launch->device.is_emulated) {
        code = time_launches(state, (size_t)options->repeat);
    }
    if (code == CLI_OK) {
        state->verdict.is_wrong |=
            run_check_guards(launch->context, &launch->inputs, &launch->results) != CLI_OK;
        print_outcome(state, options, text);
        code = state->verdict.is_wrong ? CLI_FAILED : CLI_OK;
    }
    free(text);
    return code;
}

static int open_and_run(const struct run_options *options,
                        const struct cli_problem *problem)
{
    struct run_state state = {.launch = {.alpha = (float)options->alpha,
                                         .beta = (float)options->beta,
                                         .in_place = options->in_place,
                                         .has_host_sizes = options->host_sizes},
                              .kernel_us = (double)NAN,
                              .verdict = {.rel_error = (double)NAN}};
    int code = run_sizes_resolve(&problem->problem, &options->sizes, &state.launch.inputs);

    if (code == CLI_OK) {
        code = run_launch_open(&options->context, problem, &state.launch);
    }
    if (code == CLI_OK) {
        code = run_problem(&state, problem, options);
    }
    run_launch_close(&state.launch);
    return code;
}

static int check_options(const struct run_options *options,
                         const struct cli_problem *problem)
{
    if (cli_check_device(&options->context) != CLI_OK) {
        return CLI_USAGE;
    }
    if (options->repeat < 1 || options->repeat > 100000) {
        return cli_usage_error("--repeat: between 1 and 100000");
    }
    if ((options->beta < 1 || options->beta > 1) &&
        problem->problem.c.dtype == JIT_GEMM_DTYPE_NONE) {
        return cli_usage_error("--beta needs a C in the problem, such as c=bf16");
    }
    if (options->back_to_back && options->in_place != NULL) {
        return cli_usage_error(
            "--back-to-back: the second launch would find what the first "
            "one wrote over; leave out --in-place");
    }
    if (problem->problem.group_by == JIT_GEMM_GROUP_BY_POINTERS &&
        (options->back_to_back || options->in_place != NULL)) {
        return cli_usage_error("%s: with group_by=pointers D lies where no other matrix "
                               "does; leave it out",
                               options->back_to_back ? "--back-to-back" : "--in-place");
    }
    const struct run_strides *strides = &options->strides;
    const int64_t ld = strides->lda | strides->ldb | strides->ldc | strides->ldd;
    if (problem->problem.group_by == JIT_GEMM_GROUP_BY_POINTERS && ld != 0) {
        return cli_usage_error("%s: with group_by=pointers each group's rows lie as far "
                               "apart as is drawn for it; leave it out",
                               strides->lda != 0   ? "--lda"
                               : strides->ldb != 0 ? "--ldb"
                               : strides->ldc != 0 ? "--ldc"
                                                   : "--ldd");
    }
    if (options->host_sizes && problem->problem.group_by == JIT_GEMM_GROUP_NONE) {
        return cli_usage_error("--host-sizes needs groups in the problem, such as "
                               "groups=8");
    }
    if (options->host_sizes && problem->problem.group_by == JIT_GEMM_GROUP_BY_ROWS) {
        return cli_usage_error("--host-sizes: with group_by=rows the kernel reads the "
                               "groups of rows on the device; leave it out");
    }
    if (options->strides.ldc != 0 && problem->problem.c.dtype == JIT_GEMM_DTYPE_NONE) {
        return cli_usage_error("--ldc needs a C in the problem, such as c=bf16");
    }
    return cli_check_output("--save", options->save);
}

static int run_line(int argc, char **argv);

/* What was given beside --lines FILE stands before each line. `word`: of no option. */
static int run_file(const struct run_options *options, const char *word, int argc,
                    char **given)
{
    int count = 0;

    if (options->json || options->save != NULL) {
        return cli_usage_error("--lines and %s exclude each other",
                               options->json ? "--json" : "--save");
    }
    if (word != NULL) {
        return cli_usage_error("--lines: problems stand in the lines; leave out `%s`",
                               word);
    }
    for (int i = 0; i < argc; i++) {
        const bool is_name = strcmp(given[i], "--lines") == 0;

        if (!is_name && strncmp(given[i], "--lines=", strlen("--lines=")) != 0) {
            given[count++] = given[i];
        }
        i += is_name;
    }
    return run_lines(options->lines, &options->context, run_line, given, count);
}

static int run_words(int argc, char **argv, bool is_line)
{
    struct run_options options = {.seed = 1, .repeat = 10, .alpha = 1, .beta = 1};
    struct cli_problem problem = {0};
    const struct cli_option own[] = {
        {"--verify", NULL, "compare with the reference kernel", CLI_FLAG, &options.verify},
        {"--seed", "S", "seed of the inputs, default 1", CLI_INT, &options.seed},
        {"--repeat", "N",
         "timed launches, default 10; their median is kernel_us;\nnone on the emulator",
         CLI_INT, &options.repeat},
        {"--alpha", "X", "factor of the product, default 1", CLI_NUMBER, &options.alpha},
        {"--beta", "X", "factor of C, default 1", CLI_NUMBER, &options.beta},
        {"--m", "N", "rows of this launch, if M is dynamic", CLI_INT, &options.sizes.m},
        {"--n", "N", "columns of this launch, if N is dynamic", CLI_INT, &options.sizes.n},
        {"--k", "N", "length of the sums of this launch, if K is dynamic", CLI_INT,
         &options.sizes.k},
        {"--batch", "N", "products of this launch, if the batch is dynamic", CLI_INT,
         &options.sizes.batch},
        {"--group-sizes", "LIST", RUN_GROUP_SIZES_HELP, CLI_TEXT,
         &options.sizes.groups.list},
        {"--block-order", "ORDER", RUN_BLOCK_ORDER_HELP, CLI_TEXT,
         &options.sizes.groups.block_order},
        {"--plan-sizes", NULL, RUN_PLAN_SIZES_HELP, CLI_FLAG, &options.plan_sizes},
        {"--host-sizes", NULL,
         "give the launch the sizes of the groups on the host, and\nno address of them",
         CLI_FLAG, &options.host_sizes},
        {"--group-ns", "LIST", RUN_GROUP_NS_HELP, CLI_TEXT, &options.sizes.group_ns},
        {"--group-ks", "LIST", RUN_GROUP_KS_HELP, CLI_TEXT, &options.sizes.group_ks},
        {"--lda", "N",
         "elements between stored rows of A; default: packed,\npadded to 16 "
         "bytes, or as input_align and\noutput_align say",
         CLI_INT, &options.strides.lda},
        {"--ldb", "N", "the same for B", CLI_INT, &options.strides.ldb},
        {"--ldc", "N", "the same for C", CLI_INT, &options.strides.ldc},
        {"--ldd", "N", "the same for D", CLI_INT, &options.strides.ldd},
        {"--in-place", "NAME",
         "write D over C, or over the matrix operand of this name,\nwhich lies as D",
         CLI_TEXT, &options.in_place},
        {"--back-to-back", NULL,
         "launch twice without waiting, the second time\nreading D of the first launch",
         CLI_FLAG, &options.back_to_back},
        {"--save", "FILE", "write D as it lies on the device, elements of its type",
         CLI_TEXT, &options.save},
        {"--lines", "FILE",
         "one run for each line of the file, in one process: words\nand options, quoted as in "
         "a shell, behind those given here;\n\"-\" reads them as they come",
         CLI_TEXT, &options.lines},
        {"--json", NULL, "print one JSON object instead", CLI_FLAG, &options.json},
        {0},
    };
    const size_t bytes = (size_t)argc * sizeof(*argv);
    char **given = cli_alloc(bytes); /* as they stood */
    int words = 0, code;

    memcpy(given, argv, bytes);
    code = cli_parse_problem(&run_help, own, &problem, &options.context, true, argc, argv,
                             &words);
    if (code < 0 && options.lines != NULL) {
        code = is_line ? cli_usage_error("--lines: a line has none of its own")
                       : run_file(&options, words > 0 ? argv[1] : NULL, argc, given);
    }
    free(given);
    if (code >= 0) {
        return code;
    }
    code = cli_problem_read(&problem, argv + 1, words);
    if (code == CLI_OK) {
        code = check_options(&options, &problem);
    }
    if (code == CLI_OK && options.plan_sizes) {
        code = run_groups_plan(options.sizes.groups.list, &problem.problem);
    }
    if (code == CLI_OK) {
        code = open_and_run(&options, &problem);
    }
    cli_problem_free(&problem);
    return code;
}

static int run_line(int argc, char **argv)
{
    return run_words(argc, argv, true);
}

int cmd_run(int argc, char **argv)
{
    return run_words(argc, argv, false);
}
