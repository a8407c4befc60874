/* SPDX-License-Identifier: MIT */
#include "bench_modelled.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../bench/gemm_bench.h"
#include "run_launch.h"

int bench_modelled_check(bool is_modelled, const char *device,
                         const struct bench_modelled *settings)
{
    if (!is_modelled) {
        return settings->chip == NULL && settings->mhz == 0
                   ? CLI_OK
                   : cli_usage_error("--chip and --mhz go with --modelled");
    }
    if (device == NULL || strcmp(device, CLI_EMULATOR) != 0) {
        return cli_usage_error("--modelled asks the emulator: add --device emulator");
    }
    if (settings->mhz < 0 || settings->mhz > 10000) {
        return cli_usage_error(
            "--mhz: from 1 to 10000, or 0 for what the chip's power leaves");
    }
    const char *own = getenv("JIT_GEMM_EMULATOR");
    if (own != NULL && strstr(own, "timing=off") != NULL) {
        return cli_usage_error("JIT_GEMM_EMULATOR says timing=off: leave it out, "
                               "--modelled is of timed launches");
    }
    return CLI_OK;
}

void bench_modelled_set_up(const struct bench_modelled *settings, bool verbose)
{
    const char *own = getenv("JIT_GEMM_EMULATOR");
    const char *chip = settings->chip, *whole = settings->needs_all ? ",whole=0" : "";
    const char *show = verbose ? "advice" : "warnings";
    char asked[64] = "";
    if (settings->mhz > 0) {
        snprintf(asked, sizeof(asked), ",mhz=%" PRId64, settings->mhz);
    }
    /* What options name comes last, and holds. */
    const char *const parts[] = {"timing=on,numbers=off",
                                 whole,
                                 ",show=",
                                 show,
                                 own != NULL ? "," : "",
                                 own != NULL ? own : "",
                                 chip != NULL ? ",timing=" : "",
                                 chip != NULL ? chip : "",
                                 asked};
    size_t size = 1;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size += strlen(parts[i]);
    }
    char *text = cli_alloc(size);
    char *end = text;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        end = stpcpy(end, parts[i]);
    }
    setenv("JIT_GEMM_EMULATOR", text, 1);
    free(text);
}

static jit_gemm_status time_launch(const struct run_launch *launch, double *ret_us)
{
    jit_gemm_timer *timer = NULL;
    jit_gemm_status status = jit_gemm_timer_create(launch->context, &timer);

    if (status == JIT_GEMM_OK) {
        status = jit_gemm_timer_start(timer, NULL);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(launch->gemm, &launch->args, NULL);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_timer_stop(timer, NULL);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_timer_elapsed_us(timer, ret_us);
    }
    jit_gemm_timer_destroy(&timer);
    return status;
}

/* Groups have what is theirs of the rows, or of K. */
static double count_flops(const struct listed_problem *listed,
                          const struct run_inputs *inputs)
{
    const struct gemm_bench_groups *groups = bench_groups_of(&listed->groups);
    const double m = (double)inputs->m, n = (double)inputs->n, k = (double)inputs->k;
    if (groups == NULL) {
        return 2.0 * m * n * k * (double)(inputs->batch > 0 ? inputs->batch : 1);
    }
    const bool divides_k = run_groups_divide_k(listed->problem.problem.group_by);
    double products = 0;
    for (size_t i = 0; i < groups->part_count; i++) {
        const struct gemm_bench_part *part = &groups->parts[i];
        products += (double)(part->end - part->begin) *
                    (groups->ns != NULL ? (double)groups->ns[part->group] : n) *
                    (divides_k            ? m
                     : groups->ks != NULL ? (double)groups->ks[part->group]
                                          : k);
    }
    return 2.0 * products;
}

static void print_result(const struct bench_modelled *settings,
                         const struct listed_problem *listed,
                         const struct run_launch *launch, const char *problem, double us)
{
    const double flops = count_flops(listed, &launch->inputs);

    if (settings->json) {
        struct cli_json json = {.file = stdout};

        cli_json_open_command(&json, "bench");
        cli_json_add_bool(&json, "modelled", true);
        cli_json_add_text(&json, "device", launch->device.name);
        cli_json_add_text(&json, "chip",
                          settings->chip != NULL ? settings->chip : "device");
        cli_json_add_int(&json, "mhz", settings->mhz);
        cli_json_add_text(&json, "problem", problem);
        cli_json_add_text(&json, "config", launch->info.config);
        cli_json_add_double(&json, "modelled_us", us);
        cli_json_add_double(&json, "modelled_tflops", flops / us * 1e-6);
        cli_json_close_object(&json);
    } else {
        const int column =
            printf("modelled %10.2f us %8.1f TFLOP/s  ", us, flops / us * 1e-6);

        cli_print_folded(stdout, problem, strlen(problem), (size_t)column, (size_t)column);
        printf("%*s", column, "");
        cli_print_folded(stdout, launch->info.config, strlen(launch->info.config),
                         (size_t)column, (size_t)column);
    }
    fflush(stdout);
}

static int model_problem(const struct bench_modelled *settings,
                         const struct cli_context_options *options,
                         const struct listed_problem *listed)
{
    const struct cli_problem *problem = &listed->problem;
    const bool has_groups = problem->problem.group_by != JIT_GEMM_GROUP_NONE;
    const struct group_lists *lists = &settings->groups;
    const struct run_sizes planned = has_groups ? (struct run_sizes){.groups = lists->sizes,
                                                                     .group_ns = lists->ns,
                                                                     .group_ks = lists->ks}
                                                : (struct run_sizes){0};
    static const struct run_strides packed = {0};
    struct run_launch launch = {.alpha = 1, .beta = 1};
    double us = 0;
    int code = run_sizes_resolve(&problem->problem, &planned, &launch.inputs);

    if (code == CLI_OK) {
        code = run_launch_open(options, problem, &launch);
    }
    if (code == CLI_OK && !launch.device.is_emulated) {
        code = cli_usage_error("bench --modelled needs --device emulator");
    }
    if (code == CLI_OK) {
        code = run_launch_fill(problem, &packed, 1, &launch);
    }
    if (code == CLI_OK) {
        const jit_gemm_status status = time_launch(&launch, &us);
        code = status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, options->verbose);
    }
    if (code == CLI_OK) {
        char *text = cli_problem_text(&problem->problem);
        print_result(settings, listed, &launch, text, us);
        free(text);
    }
    run_launch_close(&launch);
    return code;
}

int bench_modelled_print(const struct bench_modelled *settings,
                         const struct cli_context_options *context,
                         const struct problem_list *problems)
{
    int code = CLI_OK;

    bench_modelled_set_up(settings, context->verbose);
    for (size_t i = 0; i < problems->count; i++) {
        const int one = model_problem(settings, context, problems->items[i]);
        code = one != CLI_OK ? one : code;
    }
    return code;
}
