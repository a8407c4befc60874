/* SPDX-License-Identifier: MIT */
/* jit-gemm trace: one launch, and a picture of what its roles did when. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "jit_gemm/debug.h"
#include "jit_gemm/device.h"
#include "run_data.h"
#include "timeline.h"

enum { DEFAULT_CTAS = 8, DEFAULT_EVENTS = 64, MOST_ENTRIES = 1 << 22 };

static const struct cli_help trace_help = {
    "trace PROBLEM... -o FILE.svg|FILE.json [OPTION...]",
    "Runs a problem once, compiled with trace=1, and draws when each role of each CTA\n"
    "worked on which tile: load (copies sent), mma (products issued), epilogue (D handed\n"
    "over), matrices, scheduler. SVG is a picture; JSON is read by viewers of Chrome\n"
    "traces. On the emulator time is a count of a cluster's steps, which say the order.\n",
    "  jit-gemm trace 4096x4096x4096 bf16 -o timeline.svg\n"
    "  jit-gemm trace 512x512x512 bf16 --device emulator --arch sm_100a -o timeline.json\n",
};

struct trace_options {
    struct cli_context_options context;
    int64_t ctas, events;
    const char *path;
    int is_svg;
};

/* Zeroed: nothing to free. */
struct trace_state {
    jit_gemm_context *context;
    jit_gemm *gemm;
    struct run_inputs inputs;
    struct run_results results;
    uint64_t buffer;
    uint32_t ctas;
    jit_gemm_trace_event *events;
    jit_gemm_info info;
    jit_gemm_device_info device;
};

static int read_path(struct trace_options *options)
{
    const char *end = options->path ? strrchr(options->path, '.') : NULL;

    if (!options->path) {
        return cli_usage_error("trace: -o FILE is missing");
    }
    options->is_svg = end && strcmp(end, ".svg") == 0;
    if (!options->is_svg && !(end && strcmp(end, ".json") == 0)) {
        return cli_usage_error("-o %s: the name ends in .svg or .json", options->path);
    }
    if (options->ctas < 1 || options->events < 1 ||
        options->ctas > MOST_ENTRIES / JIT_GEMM_TRACE_TRACKS / options->events) {
        return cli_usage_error("--ctas and --events: from 1 on, at most %d together",
                               MOST_ENTRIES / JIT_GEMM_TRACE_TRACKS);
    }
    return CLI_OK;
}

/* The problem's config, with trace=1 behind it. */
static int add_trace(struct cli_problem *problem)
{
    char *config = problem->problem.config;
    size_t used = strlen(config);

    if (strstr(config, "trace=")) {
        return cli_usage_error("trace sets trace=1 itself; leave it out of the config");
    }
    if (used + sizeof " trace=1" > JIT_GEMM_CONFIG_SIZE) {
        return cli_usage_error("--config: too long to add trace=1");
    }
    memcpy(config + used, used ? " trace=1" : "trace=1",
           used ? sizeof " trace=1" : sizeof "trace=1");
    return CLI_OK;
}

static int create_kernel(struct trace_state *state, const struct cli_problem *problem,
                         int verbose)
{
    struct cli_snippet snippet = {problem->snippet};
    jit_gemm_status status;
    int code = cli_problem_register(problem, state->context, verbose);

    if (code != CLI_OK) {
        return code;
    }
    state->info.struct_size = sizeof state->info;
    state->device.struct_size = sizeof state->device;
    status = jit_gemm_create(state->context, &problem->problem, &state->gemm);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_get_info(state->gemm, &state->info);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_get_info(state->context, &state->device);
    }
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, &snippet, verbose);
}

static int make_data(struct trace_state *state, const struct cli_problem *problem)
{
    static const struct run_strides packed = {0};
    int code;

    state->inputs.m = problem->problem.m.size;
    state->inputs.n = problem->problem.n.size;
    state->inputs.k = problem->problem.k.size;
    state->inputs.batch = problem->problem.batch.size ? problem->problem.batch.size : 1;
    code = run_inputs_create(state->context, problem, &packed, 1, &state->inputs);
    if (code == CLI_OK) {
        code = run_results_create(state->context, problem, &state->inputs, 0, 0,
                                  &state->results);
    }
    if (code == CLI_OK && state->info.workspace_bytes) {
        code = run_workspace_create(state->context, state->info.workspace_bytes,
                                    &state->results);
    }
    return code;
}

static jit_gemm_status launch(struct trace_state *state, const struct cli_problem *problem,
                              uint32_t events)
{
    static const float one = 1.0f;
    size_t bytes =
        (size_t)state->ctas * JIT_GEMM_TRACE_TRACKS * events * sizeof *state->events;
    jit_gemm_operand_arg operands[JIT_GEMM_MAX_OPERANDS];
    jit_gemm_args args = run_arguments(problem, &state->inputs, &state->results, operands);
    jit_gemm_status status = jit_gemm_device_alloc(state->context, bytes, &state->buffer);

    args.alpha = &one;
    args.beta = problem->problem.c ? &one : NULL;
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_fill(state->context, state->buffer, 0, bytes);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_trace_attach(state->gemm, state->buffer, state->ctas, events);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(state->gemm, &args, NULL);
    }
    if (status == JIT_GEMM_OK) {
        state->events = cli_alloc(bytes);
        status =
            jit_gemm_device_download(state->context, state->events, state->buffer, bytes);
    }
    return status;
}

static int write_timeline(const struct trace_state *state, const char *problem,
                          const struct trace_options *options)
{
    const struct timeline timeline = {.problem = problem,
                                      .config = state->info.config,
                                      .device = state->device.name,
                                      .is_emulated = state->device.is_emulated,
                                      .events = state->events,
                                      .ctas = state->ctas,
                                      .events_a_track = (uint32_t)options->events};
    const size_t count = timeline_count(&timeline);
    FILE *file;
    int failed;

    if (count == 0) {
        return cli_error("the launch recorded nothing");
    }
    file = fopen(options->path, "w");
    if (!file) {
        return cli_error("%s: %s", options->path, strerror(errno));
    }
    (options->is_svg ? timeline_write_svg : timeline_write_json)(&timeline, file);
    failed = ferror(file);
    if (fclose(file) != 0 || failed) {
        remove(options->path);
        return cli_error("%s: cannot be written", options->path);
    }
    cli_note("wrote %s: %zu tiles of the roles of %" PRIu32 " CTAs, of %" PRIu32 "%s",
             options->path, count, state->ctas, state->info.grid_ctas,
             state->device.is_emulated ? "; emulated: steps, no times" : "");
    return CLI_OK;
}

static int trace_problem(const struct trace_options *options,
                         const struct cli_problem *problem)
{
    struct trace_state state = {0};
    jit_gemm_status status;
    char *text = cli_problem_text(&problem->problem);
    int code =
        cli_context_open(&options->context, 1, JIT_GEMM_POLICY_ALLOW, &state.context);

    if (code == CLI_OK) {
        code = create_kernel(&state, problem, options->context.verbose);
    }
    if (code == CLI_OK) {
        code = make_data(&state, problem);
    }
    if (code == CLI_OK) {
        state.ctas = state.info.grid_ctas < options->ctas ? state.info.grid_ctas
                                                          : (uint32_t)options->ctas;
        status = launch(&state, problem, (uint32_t)options->events);
        if (status != JIT_GEMM_OK) {
            code = cli_report(status, NULL, options->context.verbose);
            cli_print_debug_report(state.gemm);
        }
    }
    if (code == CLI_OK) {
        code = write_timeline(&state, text, options);
    }
    free(state.events);
    free(text);
    if (state.buffer) {
        (void)jit_gemm_device_free(state.context, state.buffer);
    }
    run_results_free(state.context, &state.results);
    run_inputs_free(state.context, &state.inputs);
    jit_gemm_destroy(&state.gemm);
    jit_gemm_context_destroy(&state.context);
    return code;
}

int cmd_trace(int argc, char **argv)
{
    struct trace_options options = {.ctas = DEFAULT_CTAS, .events = DEFAULT_EVENTS};
    struct cli_problem problem = {0};
    const struct cli_option own[] = {
        {"-o", "FILE", "file to write, .svg or .json", CLI_TEXT, &options.path},
        {"--ctas", "N", "CTAs that are recorded, from the first on (8)", CLI_INT,
         &options.ctas},
        {"--events", "N", "tiles of each role that are recorded (64)", CLI_INT,
         &options.events},
        {0},
    };
    struct cli_option problem_table[CLI_PROBLEM_OPTION_COUNT];
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {own, problem_table, context_table, NULL};
    int words = 0, code;

    cli_problem_table(&problem, problem_table);
    cli_context_table(&options.context, 1, context_table);
    code = cli_parse(&trace_help, groups, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    code = read_path(&options);
    if (code == CLI_OK) {
        code = cli_problem_read(&problem, argv + 1, words);
    }
    if (code == CLI_OK) {
        code = add_trace(&problem);
    }
    if (code == CLI_OK) {
        code = trace_problem(&options, &problem);
    }
    cli_problem_free(&problem);
    return code;
}
