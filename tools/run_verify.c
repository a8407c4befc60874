/* SPDX-License-Identifier: MIT */
#include "run_verify.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host_sums.h"
#include "verify/compare.h"

#define REFERENCE_EPILOGUE_NAME "reference_epilogue"

/* The same problem and epilogue for the reference kernel, with everything it writes in f32
 * or s32, so that only one of the two results is rounded to a short type. */
static void make_reference_problem(const struct cli_problem *problem,
                                   struct cli_problem *ret_reference)
{
    *ret_reference = *problem;
    /* It takes any address. */
    ret_reference->problem.c.alignment = ret_reference->problem.d.alignment = 0;
    if (element_d_type(&problem->problem) !=
        JIT_GEMM_DTYPE_S32) { /* which need not round */
        ret_reference->problem.d.dtype = JIT_GEMM_DTYPE_F32;
    }
    strcpy(ret_reference->problem.config, "kernel=reference");
    if (ret_reference->snippet != NULL) {
        strcpy(ret_reference->problem.epilogue, REFERENCE_EPILOGUE_NAME);
    }
    for (size_t i = 0; i < ret_reference->operand_count; i++) {
        if (ret_reference->operands[i].role == JIT_GEMM_OPERAND_OUTPUT) {
            ret_reference->operands[i].dtype = JIT_GEMM_DTYPE_F32;
        }
    }
}

static int compare_result(const struct run_launch *launch, const char *name,
                          const struct run_matrix *out, const struct run_matrix *ref,
                          enum compare_sums sums, bool is_quiet,
                          struct run_verdict *verdict)
{
    const struct compare_bounds bounds =
        compare_bounds_for(out->view.dtype, sums, launch->inputs.k);
    struct compare_report report;
    char text[512];
    void *out_data = run_matrix_download(launch->context, out);
    void *ref_data = out_data != NULL ? run_matrix_download(launch->context, ref) : NULL;

    if (ref_data == NULL) {
        free(out_data);
        return CLI_FAILED;
    }
    compare_matrices(&out->view, out_data, &ref->view, ref_data, &bounds, &report);
    compare_describe(&report, text, sizeof(text));
    if (!report.pass) {
        verdict->is_wrong = true;
        cli_error("%s: %s", name, text);
    } else if (!is_quiet) {
        printf("%-8s %s\n", name, text);
    }
    if (!(verdict->rel_error >= report.rel_error)) { /* also while it is NAN */
        verdict->rel_error = report.rel_error;
    }
    free(out_data);
    free(ref_data);
    return CLI_OK;
}

/* Is D, of s32, the sums themselves? The library's rule, docs/types.md. */
static bool keeps_sums(const struct run_launch *launch, const jit_gemm_problem *p)
{
    return element_d_type(p) == JIT_GEMM_DTYPE_S32 && p->c.dtype == JIT_GEMM_DTYPE_NONE &&
           p->a.scale.kind == JIT_GEMM_SCALE_NONE &&
           p->b.scale.kind == JIT_GEMM_SCALE_NONE && p->epilogue[0] == '\0' &&
           launch->alpha >= 1 && launch->alpha <= 1;
}

static enum compare_sums find_sums(const struct run_launch *launch,
                                   const jit_gemm_problem *p)
{
    if (element_is_integer(p->a.dtype)) {
        return keeps_sums(launch, p) ? COMPARE_SUMS_KEPT : COMPARE_SUMS_INTEGER;
    }
    return element_size(p->a.dtype) == 1 && strcmp(launch->info.arch, "sm_90a") == 0
               ? COMPARE_SUMS_13_BITS
               : COMPARE_SUMS_F32;
}

/* Sets inputs and factors of the reference's launch. The naive sums would take an emulated
 * device M * N * K steps of some instructions each, so the host makes them: they stand in
 * C's place, with factors that leave the reference nothing but the epilogue. Sums that are
 * D are their own reference. */
static int prepare_reference(const struct run_launch *launch, enum compare_sums sums,
                             struct cli_problem *reference, struct run_launch *other)
{
    other->inputs = launch->inputs;
    other->alpha = launch->alpha;
    other->beta = launch->beta;
    if (!launch->device.is_emulated) {
        return CLI_OK;
    }
    if (sums == COMPARE_SUMS_KEPT) {
        return host_sums_create(launch->context, &reference->problem, &launch->inputs,
                                launch->alpha, launch->beta, JIT_GEMM_DTYPE_S32,
                                &other->results.d);
    }
    reference->problem.c.dtype = JIT_GEMM_DTYPE_F32;
    reference->problem.a.scale = reference->problem.b.scale = (jit_gemm_scale){0};
    other->inputs.a_scale = other->inputs.b_scale = (struct run_matrix){0};
    other->inputs.c = (struct run_matrix){0};
    other->alpha = 0;
    other->beta = 1;
    return host_sums_create(launch->context, &reference->problem, &launch->inputs,
                            launch->alpha, launch->beta, JIT_GEMM_DTYPE_F32,
                            &other->inputs.c);
}

/* Fills `other->results` by the reference kernel. */
static int run_reference(const struct cli_problem *reference, bool verbose,
                         struct run_launch *other)
{
    cli_log_mute(!verbose); /* the snippet's warnings were printed once */
    int code = run_launch_create(reference, verbose, other);
    cli_log_mute(false);
    if (code == CLI_OK) {
        code = run_results_create(other->context, reference, &other->inputs, 0, true,
                                  &other->results);
    }
    if (code == CLI_OK) {
        run_launch_set_arguments(reference, other);
        code = run_launch_once(other);
    }
    return code;
}

int run_verify(const struct run_launch *launch, const struct cli_problem *problem,
               bool is_quiet, bool verbose, struct run_verdict *verdict)
{
    const enum compare_sums sums = find_sums(launch, &problem->problem);
    struct cli_problem reference;
    struct run_launch other = {.context = launch->context}; /* borrows context and inputs */

    make_reference_problem(problem, &reference);
    int code = prepare_reference(launch, sums, &reference, &other);
    if (code == CLI_OK && !other.results.d.base) {
        code = run_reference(&reference, verbose, &other);
    }
    if (code == CLI_OK) {
        code = compare_result(launch, "D", &launch->results.d, &other.results.d, sums,
                              is_quiet, verdict);
    }
    for (size_t i = 0; i < problem->operand_count && code == CLI_OK; i++) {
        if (problem->operands[i].role == JIT_GEMM_OPERAND_OUTPUT) {
            code = compare_result(launch, problem->operands[i].name,
                                  &launch->results.operands[i], &other.results.operands[i],
                                  sums, is_quiet, verdict);
        }
    }
    if (launch->device.is_emulated && other.inputs.c.base != launch->inputs.c.base) {
        run_matrix_free(launch->context, &other.inputs.c);
    }
    run_results_free(launch->context, &other.results);
    jit_gemm_destroy(&other.gemm);
    return code;
}
