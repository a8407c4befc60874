/* SPDX-License-Identifier: MIT */
#include "gemm_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/quantise.h"

/* The kernel with what it needs: its D in f32, of which no scales are computed. */
struct reference {
    jit_gemm *gemm;
    uint64_t d, workspace;
    size_t d_count;
};

/* Why there is none; NULL: there may be one. */
static const char *find_obstacle(const struct gemm_sets *sets)
{
    const struct gemm_shape *s = &sets->shape;
    for (uint32_t i = 0; i < sets->operand_count; i++) {
        if (sets->operands[i].role != JIT_GEMM_OPERAND_INPUT) {
            return "not compared with the reference kernel: the epilogue writes more than D";
        }
    }
    if (s->a_rows == JIT_GEMM_ROWS_INDEXED || s->d_rows == JIT_GEMM_ROWS_INDEXED) {
        return "not compared with the reference kernel: rows by an index";
    }
    return s->group_by == JIT_GEMM_GROUP_BY_POINTERS
               ? "not compared with the reference kernel: groups by pointers"
               : NULL;
}

/* The same problem, as exact as it can be, and without what it would have to keep to. */
static jit_gemm_problem make_problem(const jit_gemm_problem *problem)
{
    jit_gemm_problem own = *problem;
    own.c.alignment = own.d.alignment = 0;
    own.d.dtype = JIT_GEMM_DTYPE_F32;
    own.d.scale = (jit_gemm_scale){0};
    own.accumulate = JIT_GEMM_ACCUMULATE_EXACT;
    own.weights = JIT_GEMM_WEIGHTS_NONE;
    own.invariant = JIT_GEMM_INVARIANT_NONE;
    own.register_limit = 0;
    own.no_local_memory = 0;
    memset(own.typical_sizes, 0, sizeof(own.typical_sizes));
    if (own.a.scale.layout != JIT_GEMM_SCALE_LAYOUT_128X4) {
        own.scale_rows = JIT_GEMM_SCALE_ROWS_STACKED;
    }
    strcpy(own.config, "kernel=reference");
    return own;
}

static jit_gemm_status create(const struct match *match, const jit_gemm_problem *problem,
                              struct reference *ref)
{
    const struct gemm_shape *s = &match->sets->shape;
    jit_gemm_context *context = match->bench->context;
    const jit_gemm_problem own = make_problem(problem);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    ref->d_count = (size_t)(s->d_batches * gemm_shape_d_rows(s) * gemm_shape_d_row(s));
    jit_gemm_status status = jit_gemm_create(context, &own, &ref->gemm);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_get_info(ref->gemm, &info);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_alloc(context, ref->d_count * sizeof(float), &ref->d);
    }
    if (status == JIT_GEMM_OK && info.workspace_bytes > 0) {
        status =
            jit_gemm_device_alloc(context, (size_t)info.workspace_bytes, &ref->workspace);
    }
    return status;
}

static jit_gemm_status launch(const struct match *match, const struct reference *ref)
{
    const struct gemm_shape *s = &match->sets->shape;
    jit_gemm_args args = match->sets->args[0];
    const int64_t ld = gemm_shape_d_row(s);
    args.d =
        (jit_gemm_arg){.pointer = ref->d,
                       .ld = ld,
                       .batch_stride = s->d_batches > 1 ? ld * gemm_shape_d_rows(s) : 0};
    args.d_scale = (jit_gemm_arg){0};
    args.workspace = ref->workspace;
    jit_gemm_status status = jit_gemm_device_fill(match->bench->context, ref->d,
                                                  element_poison_byte(JIT_GEMM_DTYPE_F32),
                                                  ref->d_count * sizeof(float));
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(ref->gemm, &args, match->bench->stream);
    }
    return status == JIT_GEMM_OK ? jit_gemm_device_synchronize(match->bench->context)
                                 : status;
}

static void destroy(const struct match *match, struct reference *ref)
{
    if (ref->d != 0) {
        jit_gemm_device_free(match->bench->context, ref->d);
    }
    if (ref->workspace != 0) {
        jit_gemm_device_free(match->bench->context, ref->workspace);
    }
    jit_gemm_destroy(&ref->gemm);
}

/* Of D alone. */
static int compare(struct match *match, const struct reference *ref)
{
    struct contender *first = &match->contenders[0];
    struct gemm_results results;
    gemm_sets_list_results(match->sets, &results);
    float *wanted = calloc(results.total, sizeof(*wanted));
    float *values = calloc(results.total, sizeof(*values));
    int status = wanted != NULL && values != NULL
                     ? gemm_sets_read_reference(match->sets, ref->d, "kernel=reference",
                                                wanted, match->error)
                     : bench_fail(match->error, "out of memory");
    if (status == 0) {
        status = gemm_match_read(match, first, values);
    }
    if (status == 0) {
        const double difference = gemm_match_difference(wanted, values, results.sizes[0]);
        first->entry->difference = difference;
        if (first->entry->note[0] == '\0') {
            snprintf(first->entry->note, sizeof(first->entry->note),
                     "compared with kernel=reference: max diff %.1e", difference);
        }
        if (!(difference <= first->tolerance)) {
            status = bench_fail(match->error,
                                "jit_gemm and kernel=reference disagree: largest "
                                "difference %.3g of the largest value, more than %.3g; "
                                "nothing was timed",
                                difference, first->tolerance);
        }
    }
    free(wanted);
    free(values);
    return status;
}

int gemm_reference_compare(struct match *match, const jit_gemm_problem *problem)
{
    const struct gemm_shape *s = &match->sets->shape;
    if (!quantise_has_byte_scales(&s->a_scale) && !quantise_has_byte_scales(&s->b_scale)) {
        return 0;
    }
    const char *obstacle = find_obstacle(match->sets);
    if (obstacle != NULL) {
        bench_copy_line(match->contenders[0].entry->note,
                        sizeof(match->contenders[0].entry->note), obstacle);
        return 0;
    }
    struct reference ref = {0};
    jit_gemm_status status = create(match, problem, &ref);
    if (status == JIT_GEMM_OK) {
        status = launch(match, &ref);
    }
    const int result =
        status == JIT_GEMM_OK
            ? compare(match, &ref)
            : bench_fail(match->error, "kernel=reference: %s", jit_gemm_last_error());
    destroy(match, &ref);
    return result;
}
