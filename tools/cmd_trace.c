/* SPDX-License-Identifier: MIT */
/* jit-gemm trace: one launch, and a picture of what its roles did when. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench_modelled.h"
#include "jit_gemm/debug.h"
#include "run_launch.h"
#include "timeline.h"

enum { DEFAULT_CTAS = 8, DEFAULT_EVENTS = 64, MOST_ENTRIES = 1 << 22 };

static const struct cli_help trace_help = {
    "trace PROBLEM... -o FILE.svg|FILE.json [OPTION...]",
    "Runs a problem once, compiled with trace=1, and draws when each role of each CTA\n"
    "worked on which tile: load (copies sent), mma (products issued), epilogue (D handed\n"
    "over), epilogue load, scheduler. SVG is a picture; JSON is read by viewers of Chrome\n"
    "traces. On the emulator, time counts the steps of a cluster and shows only their order;\n"
    "with --modelled it is that of the emulator's time model (docs/time-model.md).\n",
    "  jit-gemm trace 4096x4096x4096 bf16 -o timeline.svg\n"
    "  jit-gemm trace 512x512x512 bf16 --device emulator --arch sm_100a -o timeline.json\n"
    "  jit-gemm trace 4096x4096x4096 bf16 --device emulator --arch sm_90a --modelled \\\n"
    "      --chip h100 -o timeline.svg\n",
};

struct trace_options {
    struct cli_context_options context;
    int64_t ctas, events;
    const char *path;
    bool is_svg, json, modelled;
    struct bench_modelled model;
};

struct trace_state {
    struct run_launch launch;
    uint64_t buffer; /* on the device; 0: none */
    uint32_t ctas;
    jit_gemm_trace_event *events;
};

static int read_path(struct trace_options *options)
{
    const char *end = options->path ? strrchr(options->path, '.') : NULL;

    if (!options->path) {
        return cli_usage_error("trace: -o FILE is missing");
    }
    options->is_svg = end != NULL && strcmp(end, ".svg") == 0;
    if (!options->is_svg && !(end != NULL && strcmp(end, ".json") == 0)) {
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
    if (used + sizeof(" trace=1") > JIT_GEMM_CONFIG_SIZE) {
        return cli_usage_error("--config: too long to add trace=1");
    }
    memcpy(config + used, used ? " trace=1" : "trace=1",
           used ? sizeof(" trace=1") : sizeof("trace=1"));
    return CLI_OK;
}

/* Launches with a buffer for the trace, and reads that back. */
static jit_gemm_status record(struct trace_state *state, uint32_t events)
{
    const struct run_launch *launch = &state->launch;
    size_t bytes =
        (size_t)state->ctas * JIT_GEMM_TRACE_TRACKS * events * sizeof(*state->events);
    jit_gemm_status status = jit_gemm_device_alloc(launch->context, bytes, &state->buffer);

    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_fill(launch->context, state->buffer, 0, bytes);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_trace_attach(launch->gemm, state->buffer, state->ctas, events);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(launch->gemm, &launch->args, NULL);
    }
    if (status == JIT_GEMM_OK) {
        state->events = cli_alloc(bytes);
        status =
            jit_gemm_device_download(launch->context, state->events, state->buffer, bytes);
    }
    return status;
}

static void print_json(const struct timeline *timeline, const struct trace_options *options,
                       uint32_t grid_ctas, size_t count)
{
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "trace");
    cli_json_add_text(&json, "problem", timeline->problem);
    cli_json_add_text(&json, "config", timeline->config);
    cli_json_add_text(&json, "device", timeline->device);
    cli_json_add_bool(&json, "is_emulated", timeline->is_emulated);
    cli_json_add_bool(&json, "modelled", options->modelled);
    if (options->modelled) {
        cli_json_add_text(&json, "chip",
                          options->model.chip != NULL ? options->model.chip : "device");
        cli_json_add_int(&json, "mhz", options->model.mhz);
    }
    cli_json_add_text(&json, "unit", timeline_unit(timeline));
    cli_json_add_uint(&json, "ctas", timeline->ctas);
    cli_json_add_uint(&json, "grid_ctas", grid_ctas);
    cli_json_add_uint(&json, "events", count);
    cli_json_add_text(&json, "path", options->path);
    cli_json_close_object(&json);
}

static int write_timeline(const struct trace_state *state, const char *problem,
                          const struct trace_options *options)
{
    const struct timeline timeline = {.problem = problem,
                                      .config = state->launch.info.config,
                                      .device = state->launch.device.name,
                                      .is_emulated = state->launch.device.is_emulated,
                                      .is_modelled = options->modelled,
                                      .events = state->events,
                                      .ctas = state->ctas,
                                      .events_a_track = (uint32_t)options->events};
    const size_t count = timeline_count(&timeline);

    if (count == 0) {
        return cli_error("the launch recorded nothing");
    }
    FILE *file = NULL;
    int code = cli_open_output("-o", options->path, &file);
    if (code == CLI_OK) {
        (options->is_svg ? timeline_write_svg : timeline_write_json)(&timeline, file);
        code = cli_close_output("-o", options->path, file);
    }
    if (code != CLI_OK) {
        return code;
    }
    if (options->json) {
        print_json(&timeline, options, state->launch.info.grid_ctas, count);
        return CLI_OK;
    }
    cli_note("wrote %s: %zu tiles of the roles of %" PRIu32 " CTAs, of %" PRIu32 "%s",
             options->path, count, state->ctas, state->launch.info.grid_ctas,
             options->modelled                  ? "; modelled times, of no measurement"
             : state->launch.device.is_emulated ? "; emulated: steps, no times"
                                                : "");
    return CLI_OK;
}

static int trace_problem(const struct trace_options *options,
                         const struct cli_problem *problem)
{
    static const struct run_sizes planned = {0};
    static const struct run_strides packed = {0};
    struct trace_state state = {.launch = {.alpha = 1, .beta = 1}};
    struct run_launch *launch = &state.launch;
    jit_gemm_status status;
    char *text = cli_problem_text(&problem->problem);
    int code = run_sizes_resolve(&problem->problem, &planned, &launch->inputs);

    if (code == CLI_OK) {
        code = run_launch_open(&options->context, problem, launch);
    }
    if (code == CLI_OK) {
        code = run_launch_fill(problem, &packed, 1, launch);
    }
    if (code == CLI_OK) {
        state.ctas = launch->info.grid_ctas < options->ctas ? launch->info.grid_ctas
                                                            : (uint32_t)options->ctas;
        status = record(&state, (uint32_t)options->events);
        if (status != JIT_GEMM_OK) {
            code = cli_report(status, NULL, options->context.verbose);
            cli_print_debug_report(launch->gemm);
        }
    }
    if (code == CLI_OK) {
        code = write_timeline(&state, text, options);
    }
    free(state.events);
    free(text);
    if (state.buffer) {
        (void)jit_gemm_device_free(launch->context, state.buffer);
    }
    run_launch_close(launch);
    return code;
}

/* No part of a launch stands for all of it: a trace has the events of each CTA. */
static int set_up_model(struct trace_options *options)
{
    const int code =
        bench_modelled_check(options->modelled, options->context.device, &options->model);
    if (code == CLI_OK && options->modelled) {
        options->model.needs_all = true;
        bench_modelled_set_up(&options->model, false);
    }
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
        {"--json", NULL, "print one JSON object", CLI_FLAG, &options.json},
        {"--events", "N", "tiles of each role that are recorded (64)", CLI_INT,
         &options.events},
        {"--modelled", NULL, "with --device emulator: the axis is the time model's",
         CLI_FLAG, &options.modelled},
        {"--chip", "h100|h200|b200", "modelled: which, default the emulated device",
         CLI_CHOICE, &options.model.chip},
        {"--mhz", "N", "modelled: its clock, default the boost clock", CLI_INT,
         &options.model.mhz},
        {0},
    };
    int words = 0, code;

    code = cli_parse_problem(&trace_help, own, &problem, &options.context, true, argc, argv,
                             &words);
    if (code >= 0) {
        return code;
    }
    code = read_path(&options);
    if (code == CLI_OK) {
        code = cli_check_output("-o", options.path);
    }
    if (code == CLI_OK) {
        code = set_up_model(&options);
    }
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
