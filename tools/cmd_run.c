/* SPDX-License-Identifier: MIT */
/* jit-gemm run: inputs, a run, and the proof that the result is right. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host_sums.h"
#include "jit_gemm/device.h"
#include "support/compare.h"

#define REFERENCE_EPILOGUE_NAME "reference_epilogue"

static const struct cli_help run_help = {
    "run PROBLEM... [--verify] [OPTION...]",
    "Makes random inputs in [-1, 1], creates the problem and runs it. --verify compares D\n"
    "and every output operand with a reference kernel that sums in f64 and keeps f32,\n"
    "element by element and as a whole. Inputs' padding and all results are poisoned with\n"
    "NaN before the run, and guards around every buffer are checked after it. The last\n"
    "line is\n"
    "  PASS rel_error=... device=... arch=... origin=compiled|disk|memory kernel_us=...\n"
    "or the same with FAIL, and exit code 1; without --verify it begins with DONE.\n"
    "f32 scalars are passed by value, all other operands by pointer.\n"
    "A kernel that needs a workspace gets one of zeros, and is launched twice with it.\n"
    "On the emulator nothing is timed (kernel_us=emulated), and the host\n"
    "makes the reference's sums.\n",
    "  jit-gemm run 4096x4096x4096 bf16 --verify\n"
    "  jit-gemm run 2048x512x1024 f16 --epilogue 'd = gelu(acc + bias) + r;' --verify \\\n"
    "      --operand bias:row_vector:f16 --operand r:matrix:f16\n"
    "  jit-gemm run m=1000 n=512 k=768 a=bf16 d=f32 dynamic=m --m 37 --verify\n"
    "  jit-gemm run 256x256x256 bf16 --device emulator --arch sm_90a --verify\n",
};

struct run_options {
    struct cli_context_options context;
    struct run_strides strides;
    int64_t seed, repeat, m, n, k;
    double alpha, beta;
    int verify, json;
    const char *save; /* NULL: D is not kept */
};

/* One run under way. Zeroed: nothing to free. */
struct run_state {
    jit_gemm_context *context;
    jit_gemm *gemm;
    struct run_inputs inputs;
    struct run_results results;
    jit_gemm_operand_arg operand_args[JIT_GEMM_MAX_OPERANDS];
    jit_gemm_args args;
    float alpha, beta;
    jit_gemm_device_info device;
    jit_gemm_info info;
    double kernel_us; /* NAN where it means nothing: on an emulated device */
    double rel_error; /* largest of all results; NAN unless verified */
    enum compare_sums sums;
    int is_wrong; /* a comparison or a guard failed */
};

static int64_t launch_size(jit_gemm_dim dim, int64_t asked)
{
    return dim.mode == JIT_GEMM_DIM_DYNAMIC && asked ? asked : dim.size;
}

static int set_sizes(const struct run_options *options, const jit_gemm_problem *problem,
                     struct run_inputs *inputs)
{
    const struct {
        const char *name;
        jit_gemm_dim dim;
        int64_t asked;
        int64_t *target;
    } rows[] = {
        {"--m", problem->m, options->m, &inputs->m},
        {"--n", problem->n, options->n, &inputs->n},
        {"--k", problem->k, options->k, &inputs->k},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].asked && rows[i].dim.mode != JIT_GEMM_DIM_DYNAMIC &&
            rows[i].asked != rows[i].dim.size) {
            return cli_usage_error("%s: this size is compiled in; make it dynamic with "
                                   "dynamic=%s in the problem",
                                   rows[i].name, rows[i].name + 2);
        }
        *rows[i].target = launch_size(rows[i].dim, rows[i].asked);
    }
    inputs->batch = problem->batch.size ? problem->batch.size : 1;
    return CLI_OK;
}

static int create_problem(struct run_state *state, const struct cli_problem *problem,
                          int verbose)
{
    struct cli_snippet snippet = {problem->snippet};
    jit_gemm_status status;
    int code = cli_problem_register(problem, state->context, verbose);

    if (code != CLI_OK) {
        return code;
    }
    status = jit_gemm_create(state->context, &problem->problem, &state->gemm);
    if (status != JIT_GEMM_OK) {
        return cli_report(status, &snippet, verbose);
    }
    state->info.struct_size = sizeof state->info;
    status = jit_gemm_get_info(state->gemm, &state->info);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, verbose);
}

static void set_arguments(struct run_state *state, const struct cli_problem *problem)
{
    state->args =
        run_arguments(problem, &state->inputs, &state->results, state->operand_args);
    state->args.alpha = &state->alpha;
    state->args.beta = problem->problem.c ? &state->beta : NULL;
}

static int launch_once(struct run_state *state, const jit_gemm *gemm,
                       const jit_gemm_args *args)
{
    jit_gemm_status status = jit_gemm_run(gemm, args, NULL);

    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_synchronize(state->context);
    }
    if (status != JIT_GEMM_OK) {
        cli_report(status, NULL, 0);
        cli_print_debug_report(gemm);
        return CLI_FAILED;
    }
    return CLI_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int time_launches(struct run_state *state, size_t count)
{
    jit_gemm_timer *timer = NULL;
    double *times = cli_alloc(count * sizeof *times);
    jit_gemm_status status = jit_gemm_timer_create(state->context, &timer);

    for (int i = 0; i < 2 && status == JIT_GEMM_OK; i++) { /* clocks and caches warm up */
        status = jit_gemm_run(state->gemm, &state->args, NULL);
    }
    for (size_t i = 0; i < count && status == JIT_GEMM_OK; i++) {
        status = jit_gemm_timer_start(timer, NULL);
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_run(state->gemm, &state->args, NULL);
        }
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_timer_stop(timer, NULL);
        }
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_timer_elapsed_us(timer, &times[i]);
        }
    }
    if (status == JIT_GEMM_OK) {
        qsort(times, count, sizeof *times, compare_doubles);
        state->kernel_us = 0.5 * (times[(count - 1) / 2] + times[count / 2]);
    }
    jit_gemm_timer_destroy(&timer);
    free(times);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, 0);
}

/* The same problem and epilogue for the reference kernel, with everything it writes in f32
 * or s32, so that only one of the two results is rounded to a short type. */
static void make_reference_problem(const struct cli_problem *problem,
                                   struct cli_problem *ret_reference)
{
    *ret_reference = *problem;
    if (run_d_type(&problem->problem) != JIT_GEMM_DTYPE_S32) { /* which need not round */
        ret_reference->problem.d = JIT_GEMM_DTYPE_F32;
    }
    strcpy(ret_reference->problem.config, "kernel=reference");
    if (ret_reference->snippet) {
        strcpy(ret_reference->problem.epilogue, REFERENCE_EPILOGUE_NAME);
    }
    for (size_t i = 0; i < ret_reference->operand_count; i++) {
        if (ret_reference->operands[i].role == JIT_GEMM_OPERAND_OUTPUT) {
            ret_reference->operands[i].dtype = JIT_GEMM_DTYPE_F32;
        }
    }
}

static int compare_result(struct run_state *state, const char *name,
                          const struct run_matrix *out, const struct run_matrix *ref,
                          int is_quiet)
{
    struct compare_bounds bounds =
        compare_bounds_for(out->view.dtype, state->sums, state->inputs.k);
    struct compare_report report;
    char text[512];
    void *out_data = run_matrix_download(state->context, out);
    void *ref_data = out_data ? run_matrix_download(state->context, ref) : NULL;

    if (!ref_data) {
        free(out_data);
        return CLI_FAILED;
    }
    compare_matrices(&out->view, out_data, &ref->view, ref_data, &bounds, &report);
    compare_describe(&report, &bounds, text, sizeof text);
    if (!report.pass) {
        state->is_wrong = 1;
        cli_error("%s: %s", name, text);
    } else if (!is_quiet) {
        printf("%-8s %s\n", name, text);
    }
    if (!(state->rel_error >= report.rel_error)) { /* also while it is NAN */
        state->rel_error = report.rel_error;
    }
    free(out_data);
    free(ref_data);
    return CLI_OK;
}

/* Is D, of s32, the sums themselves? The library's rule, types.h. */
static int keeps_sums(const struct run_state *state, const struct cli_problem *problem)
{
    const jit_gemm_problem *p = &problem->problem;

    return run_d_type(p) == JIT_GEMM_DTYPE_S32 && p->c == JIT_GEMM_DTYPE_NONE &&
           p->a_scale == JIT_GEMM_SCALE_NONE && p->b_scale == JIT_GEMM_SCALE_NONE &&
           p->epilogue[0] == '\0' && state->alpha >= 1 && state->alpha <= 1;
}

static enum compare_sums find_sums(const struct run_state *state,
                                   const struct cli_problem *problem)
{
    const jit_gemm_dtype a = problem->problem.a;

    if (a == JIT_GEMM_DTYPE_S8) {
        return keeps_sums(state, problem) ? COMPARE_SUMS_KEPT : COMPARE_SUMS_INTEGER;
    }
    return element_size(a) == 1 && strcmp(state->info.arch, "sm_90a") == 0
               ? COMPARE_SUMS_13_BITS
               : COMPARE_SUMS_F32;
}

/* Sets inputs and factors of the reference's launch. The naive sums would take an emulated
 * device M * N * K steps of some instructions each, so the host makes them: they stand in
 * C's place, with factors that leave the reference nothing but the epilogue. Sums that are
 * D are their own reference. */
static int prepare_reference(const struct run_state *state, struct run_state *other,
                             struct cli_problem *reference)
{
    other->inputs = state->inputs;
    other->alpha = state->alpha;
    other->beta = state->beta;
    if (!state->device.is_emulated) {
        return CLI_OK;
    }
    if (state->sums == COMPARE_SUMS_KEPT) {
        return host_sums_create(state->context, &reference->problem, &state->inputs,
                                state->alpha, state->beta, JIT_GEMM_DTYPE_S32,
                                &other->results.d);
    }
    reference->problem.c = JIT_GEMM_DTYPE_F32;
    reference->problem.a_scale = reference->problem.b_scale = JIT_GEMM_SCALE_NONE;
    other->inputs.a_scale = other->inputs.b_scale = (struct run_matrix){0};
    other->inputs.c = (struct run_matrix){0};
    other->alpha = 0;
    other->beta = 1;
    return host_sums_create(state->context, &reference->problem, &state->inputs,
                            state->alpha, state->beta, JIT_GEMM_DTYPE_F32,
                            &other->inputs.c);
}

/* Fills `other.results` by the reference kernel. */
static int run_reference(struct run_state *other, const struct cli_problem *reference,
                         const struct run_options *options)
{
    int code;

    cli_log_mute(!options->context.verbose); /* the snippet's warnings were printed once */
    code = create_problem(other, reference, options->context.verbose);
    cli_log_mute(0);
    if (code == CLI_OK) {
        code = run_results_create(other->context, reference, &other->inputs, 0, 1,
                                  &other->results);
    }
    if (code == CLI_OK) {
        set_arguments(other, reference);
        code = launch_once(other, other->gemm, &other->args);
    }
    return code;
}

static int verify_results(struct run_state *state, const struct cli_problem *problem,
                          const struct run_options *options)
{
    struct cli_problem reference;
    struct run_state other = {.context = state->context};
    int code;

    state->sums = find_sums(state, problem);
    make_reference_problem(problem, &reference);
    code = prepare_reference(state, &other, &reference);
    if (code == CLI_OK && !other.results.d.base) {
        code = run_reference(&other, &reference, options);
    }
    if (code == CLI_OK) {
        code =
            compare_result(state, "D", &state->results.d, &other.results.d, options->json);
    }
    for (size_t i = 0; i < problem->operand_count && code == CLI_OK; i++) {
        if (problem->operands[i].role == JIT_GEMM_OPERAND_OUTPUT) {
            code = compare_result(state, problem->operands[i].name,
                                  &state->results.operands[i], &other.results.operands[i],
                                  options->json);
        }
    }
    if (state->device.is_emulated && other.inputs.c.base != state->inputs.c.base) {
        run_matrix_free(state->context, &other.inputs.c);
    }
    run_results_free(state->context, &other.results);
    jit_gemm_destroy(&other.gemm);
    return code;
}

static void print_facts(const struct run_state *state, const char *text)
{
    const jit_gemm_info *info = &state->info;

    printf("problem  %s\n", text);
    printf("device   %s (%s), %" PRId32 " SMs%s\n", state->device.name, info->arch,
           state->device.sm_count,
           state->device.is_emulated ? "; emulated: the kernel runs on the CPU" : "");
    printf("config   %s\nkernel   ", info->config);
    if (!state->device.is_emulated) {
        printf("%u registers, %u bytes spilled, ", info->registers, info->spill_bytes);
    }
    printf("%u bytes shared memory, %u threads, %u CTAs", info->smem_bytes, info->threads,
           info->grid_ctas);
    if (info->workspace_bytes) {
        printf(", %" PRIu64 " bytes workspace", info->workspace_bytes);
    }
    puts("");
    if (info->origin == JIT_GEMM_ORIGIN_COMPILED) {
        printf("compile  %.1f ms\n", info->compile_ms);
    }
}

static void print_json(const struct run_state *state, const char *word, const char *text)
{
    const jit_gemm_info *info = &state->info;

    printf("{");
    cli_json_field(stdout, "result", word, 1);
    cli_json_field(stdout, "problem", text, 1);
    printf("\"rel_error\": ");
    cli_json_number(stdout, state->rel_error);
    printf(", ");
    cli_json_field(stdout, "device", state->device.name, 1);
    cli_json_field(stdout, "arch", info->arch, 1);
    cli_json_field(stdout, "origin", jit_gemm_origin_name(info->origin), 1);
    printf("\"kernel_us\": ");
    cli_json_number(stdout, state->kernel_us);
    printf(", \"compile_ms\": ");
    cli_json_number(stdout, info->compile_ms);
    printf(", \"load_ms\": ");
    cli_json_number(stdout, info->load_ms);
    if (!state->device.is_emulated) {
        printf(", \"registers\": %u, \"spill_bytes\": %u", info->registers,
               info->spill_bytes);
    }
    printf(", \"emulated\": %s, \"smem_bytes\": %u, \"threads\": %u, "
           "\"grid_ctas\": %u, \"workspace_bytes\": %" PRIu64 ", ",
           state->device.is_emulated ? "true" : "false", info->smem_bytes, info->threads,
           info->grid_ctas, info->workspace_bytes);
    cli_json_field(stdout, "key", info->key, 1);
    cli_json_field(stdout, "config", info->config, 0);
    printf("}\n");
}

static void print_last_line(const struct run_state *state, const char *word)
{
    char device[sizeof state->device.name];

    memcpy(device, state->device.name, sizeof device);
    for (char *letter = device; *letter; letter++) {
        if (*letter == ' ') {
            *letter = '_';
        }
    }
    printf("%s", word);
    if (!isnan(state->rel_error)) {
        printf(" rel_error=%.3e", state->rel_error);
    }
    printf(" device=%s arch=%s origin=%s ", device, state->info.arch,
           jit_gemm_origin_name(state->info.origin));
    if (state->device.is_emulated) {
        puts("kernel_us=emulated");
    } else {
        printf("kernel_us=%.2f\n", state->kernel_us);
    }
}

static void print_outcome(const struct run_state *state, const struct run_options *options,
                          const char *text)
{
    const struct run_inputs *inputs = &state->inputs;
    double flops = 2.0 * (double)inputs->m * (double)inputs->n * (double)inputs->k *
                   (double)inputs->batch;
    const char *word = state->is_wrong ? "FAIL" : options->verify ? "PASS" : "DONE";

    if (options->json) {
        print_json(state, word, text);
        return;
    }
    if (!state->device.is_emulated) {
        printf("time     %.2f us, median of %" PRId64 ", %.1f TFLOP/s\n", state->kernel_us,
               options->repeat, flops / state->kernel_us * 1e-6);
    }
    print_last_line(state, word);
}

static int save_result(const struct run_state *state, const char *path)
{
    const struct run_matrix *d = &state->results.d;
    void *data = run_matrix_download(state->context, d);
    int code = data ? cli_write_file(path, data, element_view_bytes(&d->view)) : CLI_FAILED;

    free(data);
    return code;
}

static int run_problem(struct run_state *state, const struct cli_problem *problem,
                       const struct run_options *options)
{
    char *text;
    int code;

    code = run_inputs_create(state->context, problem, &options->strides,
                             (uint64_t)options->seed, &state->inputs);
    if (code == CLI_OK) {
        code = run_results_create(state->context, problem, &state->inputs,
                                  options->strides.ldd, 0, &state->results);
    }
    if (code == CLI_OK && state->info.workspace_bytes) {
        code = run_workspace_create(state->context, state->info.workspace_bytes,
                                    &state->results);
    }
    if (code != CLI_OK) {
        return code;
    }
    set_arguments(state, problem);
    text = cli_problem_text(&problem->problem);
    if (!options->json) {
        print_facts(state, text);
    }
    code = launch_once(state, state->gemm, &state->args);
    if (code == CLI_OK && state->info.workspace_bytes) {
        /* Once more with what the first one left in the workspace. */
        code = run_results_poison(state->context, &state->results);
        if (code == CLI_OK) {
            code = launch_once(state, state->gemm, &state->args);
        }
    }
    if (code == CLI_OK && options->save) {
        code = save_result(state, options->save);
    }
    if (code == CLI_OK && options->verify) {
        code = verify_results(state, problem, options);
    }
    if (code == CLI_OK && !state->device.is_emulated) {
        code = time_launches(state, (size_t)options->repeat);
    }
    if (code == CLI_OK) {
        state->is_wrong |=
            run_check_guards(state->context, &state->inputs, &state->results) != CLI_OK;
        print_outcome(state, options, text);
        code = state->is_wrong ? CLI_FAILED : CLI_OK;
    }
    free(text);
    return code;
}

static int open_and_run(const struct run_options *options,
                        const struct cli_problem *problem)
{
    struct run_state state = {.alpha = (float)options->alpha,
                              .beta = (float)options->beta,
                              .kernel_us = (double)NAN,
                              .rel_error = (double)NAN};
    jit_gemm_status status;
    int code;

    if (set_sizes(options, &problem->problem, &state.inputs) != CLI_OK) {
        return CLI_USAGE;
    }
    code = cli_context_open(&options->context, 1, JIT_GEMM_POLICY_ALLOW, &state.context);
    if (code != CLI_OK) {
        return code;
    }
    state.device.struct_size = sizeof state.device;
    status = jit_gemm_device_get_info(state.context, &state.device);
    if (status == JIT_GEMM_OK) {
        code = create_problem(&state, problem, options->context.verbose);
    } else {
        code = cli_report(status, NULL, options->context.verbose);
    }
    if (code == CLI_OK) {
        code = run_problem(&state, problem, options);
    }
    run_results_free(state.context, &state.results);
    run_inputs_free(state.context, &state.inputs);
    jit_gemm_destroy(&state.gemm);
    jit_gemm_context_destroy(&state.context);
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
    if ((options->beta < 1 || options->beta > 1) && !problem->problem.c) {
        return cli_usage_error("--beta needs a C in the problem, such as c=bf16");
    }
    if (options->strides.ldc && !problem->problem.c) {
        return cli_usage_error("--ldc needs a C in the problem, such as c=bf16");
    }
    return CLI_OK;
}

int cmd_run(int argc, char **argv)
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
        {"--m", "N", "rows of this launch, if M is dynamic", CLI_INT, &options.m},
        {"--n", "N", "columns of this launch, if N is dynamic", CLI_INT, &options.n},
        {"--k", "N", "length of the sums of this launch, if K is dynamic", CLI_INT,
         &options.k},
        {"--lda", "N",
         "elements between stored rows of A; default: packed,\npadded to 16 "
         "bytes",
         CLI_INT, &options.strides.lda},
        {"--ldb", "N", "the same for B", CLI_INT, &options.strides.ldb},
        {"--ldc", "N", "the same for C", CLI_INT, &options.strides.ldc},
        {"--ldd", "N", "the same for D", CLI_INT, &options.strides.ldd},
        {"--save", "FILE", "write D as it lies on the device, elements of its type",
         CLI_TEXT, &options.save},
        {"--json", NULL, "print one JSON object instead", CLI_FLAG, &options.json},
        {0},
    };
    struct cli_option problem_table[CLI_PROBLEM_OPTION_COUNT];
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {own, problem_table, context_table, NULL};
    int words = 0, code;

    cli_problem_table(&problem, problem_table);
    cli_context_table(&options.context, 1, context_table);
    code = cli_parse(&run_help, groups, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    code = cli_problem_read(&problem, argv + 1, words);
    if (code == CLI_OK) {
        code = check_options(&options, &problem);
    }
    if (code == CLI_OK) {
        code = open_and_run(&options, &problem);
    }
    cli_problem_free(&problem);
    return code;
}
