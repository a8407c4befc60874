/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "gemm_match.h"

#define QUICK_MS     8.0 /* one timing while choosing an algorithm */
#define QUICK_PASSES 3

/* Rounding to the type, and the order of the sums. */
static double tolerance_of(jit_gemm_dtype type)
{
    switch (type) {
    case JIT_GEMM_DTYPE_BF16:
        return 1.0 / 128.0;
    case JIT_GEMM_DTYPE_F16:
        return 1.0 / 1024.0;
    case JIT_GEMM_DTYPE_E4M3:
        return 1.0 / 8.0;
    case JIT_GEMM_DTYPE_E5M2:
        return 1.0 / 4.0;
    case JIT_GEMM_DTYPE_E2M1: /* 4 beside 6, and what its scale is rounded by */
        return 2.0 / 5.0;
    default:
        return 1e-3;
    }
}

/* Of the coarsest result, and where a second kernel reads it, of an intermediate D. */
static double choose_tolerance(const struct gemm_sets *sets, bool has_second_kernel)
{
    double tolerance = tolerance_of(sets->shape.d_type);
    for (uint32_t i = 0; i < sets->operand_count; i++) {
        const struct gemm_operand_place *place = &sets->operands[i];
        if (place->role != JIT_GEMM_OPERAND_INPUT) {
            tolerance = fmax(tolerance, tolerance_of(place->view.dtype));
        }
    }
    return has_second_kernel ? 2.0 * tolerance : tolerance;
}

static struct gemm_bench_entry *add_entry(struct match *match, const char *name)
{
    struct gemm_bench_entry *entry = &match->result->entries[match->result->entry_count++];
    snprintf(entry->name, sizeof(entry->name), "%s", name);
    return entry;
}

/* Notes of an entry are joined by semicolons. */
static void add_note(struct gemm_bench_entry *entry, const char *text)
{
    const size_t used = strlen(entry->note);
    snprintf(entry->note + used, sizeof(entry->note) - used, "%s%s",
             used > 0 && text[0] != '\0' ? "; " : "", text);
}

static void add_absent(struct match *match, const char *name, const char *why)
{
    struct gemm_bench_entry *entry = add_entry(match, name);
    entry->absent = 1;
    bench_copy_line(entry->note, sizeof(entry->note), why);
}

struct contender *gemm_match_add(struct match *match, const char *name,
                                 struct cublaslt_plan *plan,
                                 const struct elementwise *after,
                                 const uint32_t *after_operands)
{
    struct contender *contender = &match->contenders[match->contender_count++];
    memset(contender, 0, sizeof(*contender));
    contender->entry = add_entry(match, name);
    contender->plan = plan;
    contender->after = after;
    contender->after_operands = after_operands;
    contender->tolerance = choose_tolerance(match->sets, after != NULL);
    if (plan != NULL) {
        add_note(contender->entry, match->rival_scales->note);
    }
    return contender;
}

/* A column-major D is the row-major one of the product of B's columns by A's rows. */
static struct cublaslt_product transpose(const struct cublaslt_product *p)
{
    struct cublaslt_product t = *p;
    t.m = p->n;
    t.n = p->m;
    t.a_type = p->b_type;
    t.b_type = p->a_type;
    t.a_layout = p->b_layout;
    t.b_layout = p->a_layout;
    t.lda = p->ldb;
    t.ldb = p->lda;
    t.a_batch_stride = p->b_batch_stride;
    t.b_batch_stride = p->a_batch_stride;
    t.a_scale_mode = p->b_scale_mode;
    t.b_scale_mode = p->a_scale_mode;
    t.a_scale_example = p->b_scale_example;
    t.b_scale_example = p->a_scale_example;
    return t;
}

static struct cublaslt_product describe_product(const struct match *match)
{
    const struct gemm_shape *s = &match->sets->shape;
    const struct rival_scales *scales = match->rival_scales;
    const struct cublaslt_product product = {
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .batch = s->batch,
        .a_type = s->a_type,
        .b_type = s->b_type,
        .c_type = s->c_type,
        .sums_fast = s->sums_fast,
        .d_type = s->d_type,
        .a_layout = s->a_layout,
        .b_layout = s->b_layout,
        .lda = s->lda,
        .ldb = s->ldb,
        .ldc = s->ldc,
        .ldd = s->ldd,
        .a_batch_stride = s->a_batch_stride,
        .b_batch_stride = s->b_batch_stride,
        .c_batch_stride = s->c_batch_stride,
        .d_batch_stride = s->d_batch_stride,
        .a_scale_mode = scales->a.mode,
        .b_scale_mode = scales->b.mode,
        .a_scale_example = rival_scales_of_a(scales, 0),
        .b_scale_example = rival_scales_of_b(scales, 0)};
    return s->is_column_major ? transpose(&product) : product;
}

/* An algorithm that does not launch is passed over. */
int gemm_match_choose_algorithm(struct match *match, struct contender *contender)
{
    double best_us = 0.0;
    int best = -1;
    const int count = cublaslt_plan_count(contender->plan);
    for (int algorithm = 0; algorithm < count; algorithm++) {
        double samples[QUICK_PASSES];
        int launches = 0;
        contender->algorithm = algorithm;
        if (gemm_match_launch(match, contender, 0) != 0) {
            continue;
        }
        if (gemm_match_fit(match, contender, QUICK_MS, &launches) != 0) {
            return -1;
        }
        for (size_t pass = 0; pass < QUICK_PASSES; pass++) {
            struct launch_times times = {0};
            if (gemm_match_time(match, contender, launches, &times) != 0) {
                return -1;
            }
            samples[pass] = times.us;
        }
        const struct bench_stats stats = bench_stats_of(samples, QUICK_PASSES);
        if (best < 0 || stats.median < best_us) {
            best = algorithm;
            best_us = stats.median;
        }
    }
    if (best < 0) {
        return -1;
    }
    contender->algorithm = best;
    char text[64];
    snprintf(text, sizeof(text), "heuristic %d of %d was fastest", best + 1, count);
    add_note(contender->entry, text);
    return 0;
}

/* `source` without blanks, for comparing snippets. */
static void squeeze(const char *source, size_t size, char *text, size_t text_size)
{
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < text_size; i++) {
        if (!isspace((unsigned char)source[i])) {
            text[used++] = source[i];
        }
    }
    text[used] = '\0';
}

/* Is the epilogue `d = gelu(acc + <row vector>) + <matrix>;`? cuBLASLt has half of that. */
static bool match_gelu_bias(const jit_gemm_epilogue *epilogue, uint32_t *ret_bias,
                            uint32_t *ret_residual)
{
    if (epilogue->operand_count != 2 || epilogue->source == NULL) {
        return false;
    }
    const uint32_t bias = epilogue->operands[0].kind == JIT_GEMM_OPERAND_ROW_VECTOR ? 0 : 1;
    const uint32_t residual = 1 - bias;
    if (epilogue->operands[bias].kind != JIT_GEMM_OPERAND_ROW_VECTOR ||
        epilogue->operands[residual].kind != JIT_GEMM_OPERAND_MATRIX ||
        epilogue->operands[residual].role != JIT_GEMM_OPERAND_INPUT) {
        return false;
    }
    char actual[256];
    char wanted[256];
    const size_t size =
        epilogue->source_size != 0 ? epilogue->source_size : strlen(epilogue->source);
    squeeze(epilogue->source, size, actual, sizeof(actual));
    snprintf(wanted, sizeof(wanted), "d=gelu(acc+%s)+%s;", epilogue->operands[bias].name,
             epilogue->operands[residual].name);
    if (strcmp(actual, wanted) != 0) {
        return false;
    }
    *ret_bias = bias;
    *ret_residual = residual;
    return true;
}

static void add_gelu_bias(struct match *match)
{
    static const char name[] = "cublaslt gelu_bias + add";
    struct gemm_bench *bench = match->bench;
    uint32_t bias = 0;
    uint32_t residual = 0;
    if (!match_gelu_bias(match->epilogue, &bias, &residual)) {
        return;
    }
    struct cublaslt_product product = describe_product(match);
    product.bias_type = match->epilogue->operands[bias].dtype;
    product.bias_example = match->sets->args[0].operands[bias].pointer;
    char why[BENCH_ERROR_SIZE];
    if (cublaslt_plan_create(bench->cublaslt, &product, bench->options.heuristics,
                             &match->gelu_bias, why) != 0) {
        add_absent(match, name, why);
        return;
    }
    const jit_gemm_operand *operand = &match->epilogue->operands[residual];
    const jit_gemm_operand add_operand = {"r", JIT_GEMM_OPERAND_MATRIX, operand->dtype,
                                          JIT_GEMM_OPERAND_INPUT, 0};
    const jit_gemm_epilogue add = {.struct_size = sizeof(add),
                                   .name = "add",
                                   .source = "d = acc + r;",
                                   .operand_count = 1,
                                   .operands = &add_operand};
    if (elementwise_create(bench->driver, bench->options.nvrtc_path, &add,
                           match->sets->shape.d_type, &match->add, why) != 0) {
        add_absent(match, name, why);
        return;
    }
    match->add_operand = residual;
    struct contender *contender =
        gemm_match_add(match, name, match->gelu_bias, match->add, &match->add_operand);
    contender->bias_operand = bias;
    add_note(contender->entry, "gelu by tanh, ours by erf");
}

/* Why there is no rival at all; NULL: there may be one. */
static const char *find_obstacle(const struct gemm_shape *shape, bool is_fused)
{
    if (shape->is_gated) {
        return "cuBLASLt and the second kernel have no pairs of columns, which a gated "
               "epilogue takes";
    }
    if (shape->group_by != JIT_GEMM_GROUP_NONE) {
        return "cuBLASLt's products here have no groups; a rival is --against dense";
    }
    if (shape->a_rows == JIT_GEMM_ROWS_INDEXED || shape->d_rows == JIT_GEMM_ROWS_INDEXED) {
        return "cuBLASLt's products have no rows by an index";
    }
    return is_fused && shape->is_column_major ? "the second kernel has no column-major D"
                                              : NULL;
}

/* cuBLASLt's product, then perhaps the epilogue as a kernel of its own. */
void gemm_match_add_rivals(struct match *match)
{
    struct gemm_bench *bench = match->bench;
    const bool fused = match->epilogue != NULL;
    const char *default_name =
        fused ? "cublaslt default + elementwise" : "cublaslt default";
    const char *best_name = fused ? "cublaslt best + elementwise" : "cublaslt best";
    const char *obstacle = find_obstacle(&match->sets->shape, fused);
    char why[BENCH_ERROR_SIZE];
    if (obstacle != NULL) {
        add_absent(match, default_name, obstacle);
        add_absent(match, best_name, obstacle);
        return;
    }
    if (rival_scales_create(match->sets, &match->rival_scales, why) != 0) {
        add_absent(match, default_name, why);
        add_absent(match, best_name, why);
        return;
    }
    const struct cublaslt_product product = describe_product(match);
    int status = cublaslt_plan_create(bench->cublaslt, &product, bench->options.heuristics,
                                      &match->plain, why);
    if (status == 0 && fused) {
        status =
            elementwise_create(bench->driver, bench->options.nvrtc_path, match->epilogue,
                               match->sets->shape.d_type, &match->whole, why);
    }
    if (status != 0) {
        add_absent(match, default_name, why);
        add_absent(match, best_name, why);
    } else {
        for (uint32_t i = 0; i < JIT_GEMM_MAX_OPERANDS; i++) {
            match->whole_operands[i] = i;
        }
        gemm_match_add(match, default_name, match->plain, match->whole,
                       match->whole_operands);
        gemm_match_add(match, best_name, match->plain, match->whole, match->whole_operands)
            ->is_best_of_plain = true;
    }
    if (fused) {
        add_gelu_bias(match);
    }
}

int gemm_match_add_dense(struct match *match, const jit_gemm_problem *problem)
{
    static const char name[] = "dense, group by group";
    char why[BENCH_ERROR_SIZE];
    if (gemm_dense_obstacle(match->sets, why, sizeof(why))) {
        add_absent(match, name, why);
        return 0;
    }
    if (gemm_dense_create(match->bench->context, problem, match->sets, &match->dense,
                          match->error) != 0) {
        return -1;
    }
    struct contender *contender = gemm_match_add(match, name, NULL, NULL, NULL);
    contender->dense = match->dense;
    gemm_dense_describe(match->dense, contender->entry->note,
                        sizeof(contender->entry->note));
    return 0;
}
