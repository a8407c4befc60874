/* SPDX-License-Identifier: MIT */
#include "run_launch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int run_launch_create(const struct cli_problem *problem, bool verbose,
                      struct run_launch *launch)
{
    const struct cli_snippet snippet = {.text = problem->snippet};
    int code = cli_problem_register(problem, launch->context, verbose);

    if (code != CLI_OK) {
        return code;
    }
    launch->info.struct_size = sizeof(launch->info);
    jit_gemm_status status =
        jit_gemm_create(launch->context, &problem->problem, &launch->gemm);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_get_info(launch->gemm, &launch->info);
        launch->inputs.d_columns =
            launch->info.is_gated ? launch->inputs.n / 2 : launch->inputs.n;
    }
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, &snippet, verbose);
}

int run_launch_open(const struct cli_context_options *options,
                    const struct cli_problem *problem, struct run_launch *launch)
{
    int code = cli_context_open(options, true, JIT_GEMM_POLICY_ALLOW, &launch->context);

    if (code != CLI_OK) {
        return code;
    }
    launch->device.struct_size = sizeof(launch->device);
    jit_gemm_status status = jit_gemm_device_get_info(launch->context, &launch->device);
    return status == JIT_GEMM_OK ? run_launch_create(problem, options->verbose, launch)
                                 : cli_report(status, NULL, options->verbose);
}

/* What the launch's sizes need, which may be more than the planned sizes do: a source
 * unit of the same config is assembled for these sizes, and not compiled. K, which may be
 * too short for its parts, changes the need only where A or B is copied: it is not made
 * less. */
static int find_workspace_bytes(const struct cli_problem *problem,
                                const struct run_launch *launch, uint64_t *ret_bytes)
{
    const struct run_inputs *inputs = &launch->inputs;
    jit_gemm_problem sized = problem->problem;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm_artifact *unit = NULL;

    sized.m = (jit_gemm_dim){.size = inputs->m};
    sized.n = (jit_gemm_dim){.size = inputs->n};
    sized.batch = (jit_gemm_dim){.size = inputs->batch};
    if (inputs->k > sized.k.size) {
        sized.k.size = inputs->k;
    }
    sized.register_limit = 0; /* of no meaning for a source unit */
    sized.no_local_memory = 0;
    memcpy(sized.config, launch->info.config, sizeof(sized.config));
    jit_gemm_status status =
        jit_gemm_build(launch->context, &sized, JIT_GEMM_EMIT_SOURCE, &unit);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_artifact_get_info(unit, &info);
    }
    *ret_bytes = info.workspace_bytes;
    jit_gemm_artifact_destroy(&unit);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

int run_launch_make_workspace(const struct cli_problem *problem, struct run_launch *launch)
{
    uint64_t bytes = 0;

    if (launch->info.workspace_bytes == 0) {
        return CLI_OK;
    }
    int code = find_workspace_bytes(problem, launch, &bytes);
    return code == CLI_OK ? run_workspace_create(launch->context, bytes, &launch->results)
                          : code;
}

static bool is_in_place(const struct cli_problem *problem, size_t operand, const char *name)
{
    return problem->operands[operand].kind == JIT_GEMM_OPERAND_MATRIX &&
           problem->operands[operand].role == JIT_GEMM_OPERAND_INPUT &&
           strcmp(problem->operands[operand].name, name) == 0;
}

static int refuse_in_place(const struct cli_problem *problem,
                           const struct run_launch *launch)
{
    struct jg_nearest nearest =
        jg_nearest_begin(launch->in_place, strlen(launch->in_place));

    if (launch->inputs.c.base != 0) {
        jg_nearest_try(&nearest, "C", 1);
    }
    for (size_t i = 0; i < problem->operand_count; i++) {
        const char *name = problem->operands[i].name;

        if (is_in_place(problem, i, name)) {
            jg_nearest_try(&nearest, name, strlen(name));
        }
    }
    return cli_usage_error(
        "--in-place: there is no matrix `%s` to read; %s", launch->in_place,
        jg_near_hint(&nearest, "give C, or the name of a matrix operand").text);
}

/* Finds what D is written over: it has to lie as D does. */
static int find_in_place(const struct cli_problem *problem, struct run_launch *launch)
{
    const struct element_view *d = &launch->results.d.view;
    const struct run_matrix *found = NULL;

    if (launch->in_place == NULL) {
        return CLI_OK;
    }
    if (strcmp(launch->in_place, "C") == 0 && launch->inputs.c.base != 0) {
        found = &launch->inputs.c;
    }
    for (size_t i = 0; i < problem->operand_count && found == NULL; i++) {
        if (is_in_place(problem, i, launch->in_place)) {
            found = &launch->inputs.operands[i];
        }
    }
    if (found == NULL) {
        return refuse_in_place(problem, launch);
    }
    if (found->view.dtype != d->dtype || found->view.ld != d->ld ||
        found->view.batch_stride != d->batch_stride) {
        return cli_usage_error("--in-place: `%s` does not lie as D; give it D's type and "
                               "leading dimension",
                               launch->in_place);
    }
    launch->in_place_values = found;
    return CLI_OK;
}

void run_launch_set_arguments(const struct cli_problem *problem, struct run_launch *launch)
{
    launch->args =
        run_arguments(problem, &launch->inputs, &launch->results, launch->operand_args);
    if (launch->has_host_sizes) {
        launch->args.group_sizes = 0;
        launch->args.host_group_sizes = launch->inputs.groups.numbers;
        launch->args.host_group_count = (size_t)launch->inputs.groups.number_count;
    }
    if (launch->in_place_values == &launch->inputs.c) {
        launch->args.c = launch->args.d;
    }
    for (size_t i = 0; i < problem->operand_count; i++) {
        if (launch->in_place_values == &launch->inputs.operands[i]) {
            launch->operand_args[i] = launch->args.d;
        }
    }
    launch->args.alpha = &launch->alpha;
    launch->args.beta =
        problem->problem.c.dtype != JIT_GEMM_DTYPE_NONE ? &launch->beta : NULL;
}

int run_launch_fill(const struct cli_problem *problem, const struct run_strides *strides,
                    uint64_t seed, struct run_launch *launch)
{
    int code = run_inputs_create(launch->context, problem, strides, seed, &launch->inputs);

    if (code == CLI_OK) {
        code = run_results_create(launch->context, problem, &launch->inputs, strides->ldd,
                                  false, &launch->results);
    }
    if (code == CLI_OK) {
        code = find_in_place(problem, launch);
    }
    if (code == CLI_OK) {
        code = run_launch_make_workspace(problem, launch);
    }
    if (code == CLI_OK) {
        run_launch_set_arguments(problem, launch);
    }
    return code;
}

int run_launch_prepare(const struct run_launch *launch)
{
    if (launch->in_place_values == NULL) {
        return CLI_OK;
    }
    void *values = run_matrix_download(launch->context, launch->in_place_values);
    if (values == NULL) {
        return CLI_FAILED;
    }
    const jit_gemm_status status =
        jit_gemm_device_upload(launch->context, launch->results.d.address, values,
                               element_view_bytes(&launch->results.d.view));
    free(values);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

/* After the last launch. */
static int await(const struct run_launch *launch, jit_gemm_status status)
{
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_synchronize(launch->context);
    }
    if (status == JIT_GEMM_OK) {
        return CLI_OK;
    }
    const int code = cli_report(status, NULL, false);
    cli_print_debug_report(launch->gemm);
    return code;
}

int run_launch_once(const struct run_launch *launch)
{
    return await(launch, jit_gemm_run(launch->gemm, &launch->args, NULL));
}

int run_launch_both(const struct run_launch *first, const struct run_launch *second)
{
    jit_gemm_status status = jit_gemm_run(first->gemm, &first->args, NULL);

    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(second->gemm, &second->args, NULL);
    }
    return await(second, status);
}

/* Puts D of the first launch in the place of an input that lies as it does. */
static bool replace_input(struct run_matrix *input, const struct run_matrix *d)
{
    const struct element_view *is = &input->view, *wanted = &d->view;

    if (input->base == 0 || is->dtype != wanted->dtype || is->batch != wanted->batch ||
        is->rows != wanted->rows || is->columns != wanted->columns ||
        is->ld != wanted->ld || is->batch_stride != wanted->batch_stride) {
        return false;
    }
    *input = *d;
    return true;
}

int run_launch_follow(const struct cli_problem *problem, const struct run_launch *first,
                      int64_t ldd, struct run_launch *ret_second)
{
    bool reads_first = false;

    *ret_second = *first;
    ret_second->results = (struct run_results){.workspace = first->results.workspace};
    struct run_inputs *inputs = &ret_second->inputs;
    struct run_matrix *const matrices[] = {&inputs->a, &inputs->b, &inputs->c};
    /* What the problem calls constant is never what a launch writes. */
    const struct run_matrix *const weights =
        problem->problem.weights == JIT_GEMM_WEIGHTS_A   ? &inputs->a
        : problem->problem.weights == JIT_GEMM_WEIGHTS_B ? &inputs->b
                                                         : NULL;
    for (size_t i = 0; i < sizeof(matrices) / sizeof(matrices[0]); i++) {
        reads_first |=
            matrices[i] != weights && replace_input(matrices[i], &first->results.d);
    }
    for (size_t i = 0; i < problem->operand_count; i++) {
        reads_first |= problem->operands[i].kind == JIT_GEMM_OPERAND_MATRIX &&
                       replace_input(&inputs->operands[i], &first->results.d);
    }
    if (!reads_first) {
        return cli_usage_error(
            "--back-to-back: the second launch has nothing to read of the "
            "first: A, B, C or a matrix operand must lie as D, of its "
            "type and size");
    }
    const int code = run_results_create(first->context, problem, inputs, ldd, false,
                                        &ret_second->results);
    if (code == CLI_OK) {
        run_launch_set_arguments(problem, ret_second);
    }
    return code;
}

void run_launch_unfollow(struct run_launch *second)
{
    second->results.workspace = (struct run_matrix){0};
    run_results_free(second->context, &second->results);
}

void run_launch_close(struct run_launch *launch)
{
    run_results_free(launch->context, &launch->results);
    run_inputs_free(launch->context, &launch->inputs);
    jit_gemm_destroy(&launch->gemm);
    jit_gemm_context_destroy(&launch->context);
}
