/* SPDX-License-Identifier: MIT */
/*
 * Random snippets in random problems, on the emulator of both chips beside the second
 * reading of snippets (verify/snippet.h).
 *
 * Usage: random_snippets DRIVER [--snippets COUNT] [--seed SEED] [--units COUNT]
 *
 * COUNT snippets are drawn: JIT_GEMM_TEST_SNIPPETS, or 350, where none is given.
 * A unit is one kernel with as many snippets as it has outputs; a fifth of them are of
 * gated pairs, and of a quarter an output or two are reductions, of which all elements are
 * folded. Inputs are multiples of 1/2 whose sums f32 has exactly: only the epilogue can
 * differ, and each of its results has to be among those that the interpreter allows,
 * rounded to the type of the matrix. A part of the units without reductions is also run by
 * the reference kernel: its results have to be allowed too, and be the same bits where the
 * compiler has no product to contract with a sum. Prints TAP; a failure names the unit's
 * seed, and `--seed SEED --units 1` repeats it.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_unit.h"
#include "verify/snippet.h"

enum {
    SAMPLES = 700,       /* elements of a unit that are interpreted */
    REFERENCE_EVERY = 4, /* units that the reference kernel runs too */
    BITS_EVERY = 8 /* of these, units whose snippets have one rounding: the same bits */
};

struct counts {
    uint64_t snippets, elements, open, refused, references;
};

static const char *const archs[] = {"sm_90a", "sm_100a"};

/* --------------------------------------------------------------------------- compare */

struct place {
    int64_t row, col, batch;
};

/* Of a matrix that lies as D. */
static size_t index_in_d(const struct unit *unit, const struct element_view *view,
                         const struct place *place)
{
    const bool by_columns = unit_is_column_major(unit);
    return (size_t)(place->batch * view->batch_stride +
                    (by_columns ? place->col : place->row) * view->ld +
                    (by_columns ? place->row : place->col));
}

static double load_input(const struct array *array, bool is_mn_major, int64_t outer,
                         int64_t inner, int64_t batch)
{
    const struct element_view *view = &array->view;
    return element_load(view->dtype, array->data,
                        (size_t)(batch * view->batch_stride +
                                 (is_mn_major ? inner : outer) * view->ld +
                                 (is_mn_major ? outer : inner)));
}

/* Exact, whatever the order. Of a pair that of accumulator 0 or 1. */
static double sum_at(const struct unit *unit, const struct place *place, int accumulator)
{
    const jit_gemm_problem *problem = &unit->problem;
    const int64_t column = unit_b_column(unit, place->col, accumulator);
    double sum = 0;
    for (int64_t k = 0; k < unit->k; k++) {
        sum += load_input(&unit->arrays[MATRIX_A],
                          problem->a.layout == JIT_GEMM_LAYOUT_MN_MAJOR, place->row, k,
                          place->batch) *
               load_input(&unit->arrays[MATRIX_B],
                          problem->b.layout == JIT_GEMM_LAYOUT_MN_MAJOR, column, k,
                          place->batch);
    }
    sum *= (double)unit->alpha;
    if (problem->a.scale.kind != JIT_GEMM_SCALE_NONE) {
        sum *= (place->row % 3 == 0 ? 0.5 : 2) * 0.25;
    }
    const struct array *c = &unit->arrays[MATRIX_C];
    if (c->data != NULL) {
        sum += (double)unit->beta *
               element_load(c->view.dtype, c->data, index_in_d(unit, &c->view, place));
    }
    return sum;
}

static double operand_at(const struct unit *unit, uint32_t i, const struct place *place)
{
    const struct array *array = &unit->arrays[i];
    const struct element_view *view = &array->view;
    size_t at = (size_t)(place->batch * view->batch_stride);
    switch (unit->operands[i].kind) {
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        at += (size_t)place->col;
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        at += (size_t)place->row;
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        at = index_in_d(unit, view, place);
        break;
    default:
        break;
    }
    return element_load(view->dtype, array->data, at);
}

static int significand_bits(jit_gemm_dtype dtype)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_BF16:
    case JIT_GEMM_DTYPE_S8:
        return 8;
    case JIT_GEMM_DTYPE_F16:
        return 11;
    case JIT_GEMM_DTYPE_E4M3:
        return 4;
    case JIT_GEMM_DTYPE_E5M2:
        return 3;
    default:
        return 24;
    }
}

/* Of the finest type that the snippet's results are rounded to. */
static int result_bits(const struct unit *unit)
{
    int bits = significand_bits(unit->arrays[MATRIX_D].view.dtype);
    for (uint32_t i = unit->input_count; i < unit->operand_count; i++) {
        const int of_output = significand_bits(unit->arrays[i].view.dtype);
        bits = of_output > bits ? of_output : bits;
    }
    return bits;
}

static struct snippet_element element_at(const struct unit *unit, const struct place *place)
{
    struct snippet_element element = {.acc = interval_of(sum_at(unit, place, 0)),
                                      .row = (int32_t)place->row,
                                      .col = (int32_t)place->col,
                                      .batch = (int32_t)place->batch,
                                      .m = (int32_t)unit->m,
                                      .n = (int32_t)unit->n,
                                      .k = (int32_t)unit->k,
                                      .result_bits = result_bits(unit)};
    if (unit->is_gated) {
        element.pair[0] = element.acc;
        element.pair[1] = interval_of(sum_at(unit, place, 1));
    }
    for (uint32_t i = 0; i < unit->input_count; i++) {
        element.operands[i] = interval_of(operand_at(unit, i, place));
    }
    return element;
}

/* Is the result of a type among those that the interval allows? */
static bool is_allowed(jit_gemm_dtype dtype, struct interval want, double got)
{
    if (interval_is_nan(want)) {
        const double nan = element_round(dtype, (double)NAN);
        return isnan(nan) ? isnan(got) : got == nan;
    }
    return got >= element_round(dtype, want.low) && got <= element_round(dtype, want.high);
}

static void compare_element(struct unit *unit, const struct snippet_of *own,
                            const struct snippet *snippet,
                            const struct snippet_element *element,
                            const struct place *place, struct counts *counts)
{
    char text[SNIPPET_REASON_SIZE + 512] = "";
    struct snippet_results results;
    const bool is_d = own->output == unit->operand_count;
    const struct array *array = &unit->arrays[is_d ? MATRIX_D : own->output];
    const enum snippet_outcome outcome = snippet_run(snippet, element, &results, text);
    const struct interval want = is_d ? results.d : results.operands[own->output];
    counts->elements++;
    if (outcome == SNIPPET_CANNOT) {
        unit_fail(unit, "cannot interpret", text);
        return;
    }
    if (outcome == SNIPPET_UNDECIDED || interval_is_unknown(want)) {
        counts->open++;
        return;
    }
    const double got =
        element_load(array->view.dtype, array->data, index_in_d(unit, &array->view, place));
    if (!is_allowed(array->view.dtype, want, got)) {
        snprintf(text, sizeof(text),
                 "element (%d, %d) of batch %d, acc = %.9g: %s is %.9g, expected %.9g to "
                 "%.9g before it is rounded",
                 (int)place->row, (int)place->col, (int)place->batch, element->acc.low,
                 element_dtype_name(array->view.dtype), got, want.low, want.high);
        unit_fail(unit, text, own->text);
    }
}

/* An output of a snippet that is read alone is that of its operand only. */
static struct snippet *read_snippet(struct unit *unit, const struct snippet_of *own)
{
    struct snippet_operand operands[JIT_GEMM_MAX_OPERANDS];
    char reason[SNIPPET_REASON_SIZE] = "";
    const uint32_t count =
        own->output < unit->operand_count ? own->output + 1 : unit->input_count;
    for (uint32_t i = 0; i < count; i++) {
        operands[i] = (struct snippet_operand){unit->names[i], i == own->output};
    }
    struct snippet *snippet =
        snippet_read(own->text, strlen(own->text), operands, count, reason);
    if (snippet == NULL) {
        unit_fail(unit, reason, own->text);
    }
    return snippet;
}

static struct place draw_place(struct unit *unit, int64_t sample, int64_t step)
{
    const int64_t at =
        sample * step + (step > 1 ? (int64_t)unit_below(unit, (uint32_t)step) : 0);
    return (struct place){.batch = at / (unit->m * unit->n),
                          .row = at / unit->n % unit->m,
                          .col = at % unit->n};
}

static bool is_reduction(const struct unit *unit, uint32_t output)
{
    return output < unit->operand_count &&
           output >= unit->operand_count - unit->reduction_count;
}

/* What a reduction has of one result's elements. */
struct fold {
    struct interval value;
    double magnitude; /* of a sum: of all terms */
    int64_t count;
    bool is_open;
};

static void fold_element(struct fold *fold, jit_gemm_operand_role role, struct interval x)
{
    const bool is_sum = role == JIT_GEMM_OPERAND_SUM;
    const bool is_infinite = isinf(x.low) || isinf(x.high);
    if (interval_is_unknown(x) || (is_sum && is_infinite)) {
        fold->is_open = true;
    } else if (fold->count++ == 0 || interval_is_nan(x)) {
        fold->value = x;
    } else if (is_sum) {
        fold->value.low += x.low;
        fold->value.high += x.high;
    } else if (!interval_is_nan(fold->value)) {
        const bool is_max = role == JIT_GEMM_OPERAND_MAX;
        fold->value.low =
            is_max ? fmax(fold->value.low, x.low) : fmin(fold->value.low, x.low);
        fold->value.high =
            is_max ? fmax(fold->value.high, x.high) : fmin(fold->value.high, x.high);
    }
    fold->magnitude += fmax(fabs(x.low), fabs(x.high));
}

/* In any order, of terms that are rounded to f32 each time. */
static struct interval folded(const struct fold *fold, jit_gemm_operand_role role)
{
    struct interval want = fold->value;
    if (role == JIT_GEMM_OPERAND_SUM) {
        const double error = (double)fold->count * 0x1p-24 * fold->magnitude;
        want.low -= error;
        want.high += error;
    }
    return want;
}

static size_t fold_index(const struct array *array, jit_gemm_operand_kind kind,
                         const struct place *place)
{
    const int64_t at = kind == JIT_GEMM_OPERAND_ROW_VECTOR      ? place->col
                       : kind == JIT_GEMM_OPERAND_COLUMN_VECTOR ? place->row
                                                                : 0;
    return (size_t)(place->batch * array->view.batch_stride + at);
}

/* All elements, and all results. */
static void compare_reduction(struct unit *unit, const struct snippet_of *own,
                              const struct snippet *snippet, struct counts *counts)
{
    const jit_gemm_operand *operand = &unit->operands[own->output];
    const struct array *array = &unit->arrays[own->output];
    const size_t places = (size_t)(unit->batch * array->view.batch_stride);
    struct fold *folds = calloc(places, sizeof(*folds));
    char text[SNIPPET_REASON_SIZE + 512] = "";
    for (int64_t i = 0; i < unit->batch * unit->m * unit->n; i++) {
        const struct place place = draw_place(unit, i, 1);
        const struct snippet_element element = element_at(unit, &place);
        struct snippet_results results;
        if (snippet_run(snippet, &element, &results, text) == SNIPPET_CANNOT) {
            unit_fail(unit, "cannot interpret", text);
            break;
        }
        fold_element(&folds[fold_index(array, operand->kind, &place)], operand->role,
                     results.operands[own->output]);
    }
    for (size_t i = 0; i < places; i++) {
        const struct interval want = folded(&folds[i], operand->role);
        counts->elements += folds[i].count > 0 ? 1 : 0;
        counts->open += folds[i].is_open ? 1 : 0;
        if (folds[i].count == 0 || folds[i].is_open) {
            continue;
        }
        const double got = element_load(array->view.dtype, array->data, i);
        if (!is_allowed(array->view.dtype, want, got)) {
            snprintf(text, sizeof(text), "%s[%zu] is %.9g, expected %.9g to %.9g",
                     unit->names[own->output], i, got, want.low, want.high);
            unit_fail(unit, text, own->text);
            break;
        }
    }
    free(folds);
}

static void compare_results(struct unit *unit, struct counts *counts)
{
    const int64_t total = unit->m * unit->n * unit->batch;
    const int64_t step = (total + SAMPLES - 1) / SAMPLES;
    struct snippet *snippets[JIT_GEMM_MAX_OPERANDS + 1] = {NULL};
    for (uint32_t i = 0; i < unit->snippet_count; i++) {
        snippets[i] = read_snippet(unit, &unit->snippets[i]);
    }
    for (int64_t sample = 0; (sample + 1) * step <= total && unit->wrong[0] == '\0';
         sample++) {
        const struct place place = draw_place(unit, sample, step);
        const struct snippet_element element = element_at(unit, &place);
        for (uint32_t i = 0; i < unit->snippet_count; i++) {
            if (!is_reduction(unit, unit->snippets[i].output)) {
                compare_element(unit, &unit->snippets[i], snippets[i], &element, &place,
                                counts);
            }
        }
    }
    for (uint32_t i = 0; i < unit->snippet_count && unit->wrong[0] == '\0'; i++) {
        if (is_reduction(unit, unit->snippets[i].output)) {
            compare_reduction(unit, &unit->snippets[i], snippets[i], counts);
        }
    }
    for (uint32_t i = 0; i < unit->snippet_count; i++) {
        snippet_free(snippets[i]);
    }
}

/* ----------------------------------------------------------------------------- units */

static jit_gemm *create(struct unit *unit, jit_gemm_context *context, const char *name,
                        const char *config, jit_gemm_status *ret_status)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = name,
                                        .source = unit->source,
                                        .operand_count = unit->operand_count,
                                        .operands = unit->operands};
    jit_gemm_problem problem = unit->problem;
    jit_gemm *gemm = NULL;
    snprintf(problem.epilogue, sizeof(problem.epilogue), "%s", name);
    if (config != NULL) {
        snprintf(problem.config, sizeof(problem.config), "%s", config);
        problem.c.alignment = problem.d.alignment = 0;
    }
    *ret_status = jit_gemm_epilogue_register(context, &epilogue);
    if (*ret_status == JIT_GEMM_OK) {
        *ret_status = jit_gemm_create(context, &problem, &gemm);
    }
    return gemm;
}

static const struct snippet_of *snippet_for(const struct unit *unit, uint32_t index)
{
    const uint32_t last = unit->snippet_count - 1;
    return &unit->snippets[index == MATRIX_D ? last : index - unit->input_count];
}

/* The bits of a matrix of f32 from the fused kernel, against those of the naive one. */
static void compare_bits(struct unit *unit, uint32_t index, const float *fused)
{
    const struct array *array = &unit->arrays[index];
    const float *naive = array->data;
    const size_t count = element_view_bytes(&array->view) / sizeof(float);
    for (size_t i = 0; i < count; i++) {
        if (memcmp(&naive[i], &fused[i], sizeof(float)) != 0) {
            char text[128];
            snprintf(text, sizeof(text), "%.9g at %zu of %s, %.9g of the reference kernel",
                     (double)fused[i], i, index == MATRIX_D ? "d" : unit->names[index],
                     (double)naive[i]);
            unit_fail(unit, text, snippet_for(unit, index)->text);
            return;
        }
    }
}

static bool run_and_download(struct unit *unit, jit_gemm_context *context, jit_gemm *gemm,
                             const struct unit_scales *scales)
{
    bool is_good =
        unit_run(unit, context, gemm, scales) && unit_download(unit, context, MATRIX_D);
    for (uint32_t i = unit->input_count; i < unit->operand_count && is_good; i++) {
        is_good = unit_download(unit, context, i);
    }
    return is_good;
}

static void compare_with_reference(struct unit *unit, jit_gemm_context *context,
                                   const struct unit_scales *scales, struct counts *counts)
{
    char name[48];
    jit_gemm_status status;
    snprintf(name, sizeof(name), "reference_%llu_%d", (unsigned long long)unit->seed,
             unit->arch);
    jit_gemm *gemm = create(unit, context, name, "kernel=reference", &status);
    if (!unit_check(unit, "reference", status)) {
        return;
    }
    counts->references++;
    void *fused[MAX_MATRICES] = {NULL};
    for (uint32_t i = unit->input_count; i < MAX_MATRICES; i++) {
        const struct array *array = &unit->arrays[i];
        const bool is_result = i < unit->operand_count || i == MATRIX_D;
        if (is_result && array->view.dtype == JIT_GEMM_DTYPE_F32) {
            fused[i] = malloc(element_view_bytes(&array->view));
            memcpy(fused[i], array->data, element_view_bytes(&array->view));
        }
    }
    if (run_and_download(unit, context, gemm, scales)) {
        compare_results(unit, counts);
        for (uint32_t i = unit->input_count; i < MAX_MATRICES; i++) {
            if (fused[i] != NULL && unit->seed % BITS_EVERY == 0) {
                compare_bits(unit, i, fused[i]);
            }
        }
    }
    for (uint32_t i = 0; i < MAX_MATRICES; i++) {
        free(fused[i]);
    }
    jit_gemm_destroy(&gemm);
}

static void run_unit(struct unit *unit, jit_gemm_context *context, jit_gemm *gemm,
                     struct counts *counts)
{
    struct unit_scales scales = {0};
    if (unit_make_data(unit, context) && unit_make_scales(unit, context, &scales) &&
        unit_make_workspace(unit, context, gemm) &&
        run_and_download(unit, context, gemm, &scales)) {
        counts->snippets += unit->snippet_count;
        compare_results(unit, counts);
        if (unit->seed % REFERENCE_EVERY == 0 && unit->reduction_count == 0) {
            compare_with_reference(unit, context, &scales, counts);
        }
    }
    unit_free_scales(&scales, context);
    unit_free_data(unit, context);
}

/* Draws until the library has a kernel; what it refuses has to be named. */
static jit_gemm *draw_unit(struct unit *unit, jit_gemm_context *context,
                           struct counts *counts)
{
    enum { MOST_DRAWS = 64 };
    for (int i = 0; i < MOST_DRAWS; i++) {
        char name[48];
        jit_gemm_status status;
        unit->operand_count = unit->snippet_count = unit->reduction_count = 0;
        unit_draw_problem(unit);
        if (!unit_check(unit, unit->problem_text,
                        jit_gemm_problem_parse(unit->problem_text, &unit->problem))) {
            return NULL;
        }
        unit->problem.d.dtype = element_d_type(&unit->problem);
        unit_draw_operands(unit);
        unit_draw_snippets(unit, unit->seed % BITS_EVERY == 0);
        snprintf(name, sizeof(name), "random_%llu_%d", (unsigned long long)unit->seed, i);
        jit_gemm *gemm = create(unit, context, name, NULL, &status);
        if (status == JIT_GEMM_OK) {
            return gemm;
        }
        const char *error = jit_gemm_last_error();
        if (status == JIT_GEMM_ERR_COMPILE ||
            (strstr(error, "config") == NULL && strstr(error, "problem") == NULL)) {
            unit_fail(unit, "create", error);
            return NULL;
        }
        counts->refused++;
        free(unit->source);
        unit->source = NULL;
    }
    unit_fail(unit, "draw", "no legal problem was drawn");
    return NULL;
}

static void print_unit(const struct unit *unit, uint64_t number)
{
    printf("%s %llu - seed %llu, %s, %u snippets: %s\n", unit->wrong[0] ? "not ok" : "ok",
           (unsigned long long)number, (unsigned long long)unit->seed, archs[unit->arch],
           unit->snippet_count, unit->problem_text);
    if (unit->wrong[0] != '\0') {
        printf("# repeat with --seed %llu --units 1\n# ", (unsigned long long)unit->seed);
        for (const char *letter = unit->wrong; *letter != '\0'; letter++) {
            printf("%s", *letter == '\n' && letter[1] != '\0' ? "\n#   "
                                                              : (char[]){*letter, '\0'});
        }
        printf("\n");
    }
    fflush(stdout);
}

static jit_gemm_context *open_context(const char *driver, int arch)
{
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = archs[arch],
                                              .driver = driver,
                                              .no_cache = 1};
    jit_gemm_context *context = NULL;
    if (jit_gemm_context_create(&options, &context) != JIT_GEMM_OK) {
        printf("Bail out! %s\n", jit_gemm_last_error());
        exit(1);
    }
    return context;
}

static uint64_t read_number(const char *text, const char *name)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*end != '\0' || end == text) {
        printf("Bail out! %s: `%s` is no number\n", name, text);
        exit(1);
    }
    return value;
}

struct options {
    uint64_t snippets, seed, units;
};

static struct options read_options(int argc, char **argv)
{
    const char *count = getenv("JIT_GEMM_TEST_SNIPPETS");
    struct options options = {
        .snippets = count != NULL ? read_number(count, "JIT_GEMM_TEST_SNIPPETS") : 350,
        .seed = 1,
        .units = UINT64_MAX};
    if (argc < 2 || argc % 2 != 0) {
        printf("Bail out! random_snippets DRIVER [--snippets COUNT] [--seed SEED] "
               "[--units COUNT]\n");
        exit(1);
    }
    for (int i = 2; i + 1 < argc; i += 2) {
        const uint64_t value = read_number(argv[i + 1], argv[i]);
        if (strcmp(argv[i], "--snippets") == 0) {
            options.snippets = value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            options.seed = value;
        } else if (strcmp(argv[i], "--units") == 0) {
            options.units = value;
        } else {
            printf("Bail out! there is no option %s\n", argv[i]);
            exit(1);
        }
    }
    return options;
}

/* True: nothing was wrong. */
static bool test_unit(const char *driver, uint64_t seed, uint64_t number,
                      struct counts *counts)
{
    struct unit unit = {.seed = seed, .draws = draws_of(seed), .arch = (int)(seed / 2 % 2)};
    jit_gemm_context *context = open_context(driver, unit.arch);
    jit_gemm *gemm = draw_unit(&unit, context, counts);
    if (gemm != NULL) {
        run_unit(&unit, context, gemm, counts);
    }
    print_unit(&unit, number);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
    free(unit.source);
    return unit.wrong[0] == '\0';
}

int main(int argc, char **argv)
{
    const struct options options = read_options(argc, argv);
    struct counts counts = {0};
    uint64_t number = 0;
    uint64_t failed = 0;
    setenv("JIT_GEMM_EMULATOR", "sms=8,show=errors", 0);
    printf("TAP version 13\n");
    while (counts.snippets < options.snippets && number < options.units && failed < 20) {
        failed += !test_unit(argv[1], options.seed + number, number + 1, &counts);
        number++;
    }
    const bool is_decided = counts.open * 5 < counts.elements;
    printf(
        "%s %llu - %llu snippets, %llu results, %llu of them open; %llu units also by the "
        "reference kernel; %llu problems refused\n",
        is_decided ? "ok" : "not ok", (unsigned long long)number + 1,
        (unsigned long long)counts.snippets, (unsigned long long)counts.elements,
        (unsigned long long)counts.open, (unsigned long long)counts.references,
        (unsigned long long)counts.refused);
    printf("1..%llu\n", (unsigned long long)number + 1);
    return failed == 0 && is_decided ? 0 : 1;
}
