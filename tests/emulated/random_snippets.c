/* SPDX-License-Identifier: MIT */
/*
 * Random snippets in random problems, on the emulator of both chips beside the second
 * reading of snippets (verify/snippet.h).
 *
 * Usage: random_snippets DRIVER|gpu [--snippets COUNT] [--seed SEED] [--units COUNT]
 *     [--scaled 0|1] [--failures COUNT]
 *
 * COUNT snippets are drawn: JIT_GEMM_TEST_SNIPPETS, or 1000, where none is given.
 * A unit is one kernel with as many snippets as it has outputs, or seven times as many, of
 * which each element takes one; a fifth of them are of gated pairs, and of a quarter an
 * output or two are reductions, of which all elements are folded. A part writes D over C or
 * over an operand. A fifth has blocks: computed scales of D, reductions of blocks, or both;
 * with `--scaled 1` D has scales in all of them. Inputs are multiples of 1/2 whose sums f32
 * has exactly: only the epilogue can differ, and each of its results has to be among those
 * that the interpreter allows, rounded to the type of the matrix. A part of the units
 * without reductions is also run by the reference kernel: its results have to be allowed
 * too, and be the same bits where the compiler has no product to contract with a sum.
 * Prints TAP; a failure names the unit's seed, and `--seed SEED --units 1` repeats it.
 * With `gpu` all units are of sm_90a and run on the GPU here: each array lies between
 * guards that nobody may write, and a unit that does not end within a minute ends the
 * program.
 */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random_unit.h"
#include "unit_compare.h"

enum {
    REFERENCE_EVERY = 2, /* units that the reference kernel runs too */
    UNIT_SECONDS = 60,   /* on a GPU: no kernel of a unit takes a second of them */
    BITS_EVERY = 4 /* of these, units whose snippets have one rounding: the same bits */
};

static const char *const archs[] = {"sm_90a", "sm_100a"};

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
    bool is_good = unit_run(unit, context, gemm, scales) &&
                   unit_download(unit, context, MATRIX_D) &&
                   (!unit_is_scaled(unit) || unit_download(unit, context, MATRIX_D_SCALE));
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
    if (unit_restore_in_place(unit, context) &&
        run_and_download(unit, context, gemm, scales)) {
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

/* Diagonals that there are: a matrix of one element has one. */
static uint64_t evaluated_of_output(const struct unit *unit)
{
    const int64_t diagonals = unit->m + unit->n - 1;
    return (uint64_t)(diagonals < unit->of_output ? diagonals : unit->of_output);
}

static void run_unit(struct unit *unit, jit_gemm_context *context, jit_gemm *gemm,
                     struct counts *counts)
{
    struct unit_scales scales = {0};
    if (unit_make_data(unit, context) && unit_make_scales(unit, context, &scales) &&
        unit_make_workspace(unit, context, gemm) &&
        run_and_download(unit, context, gemm, &scales)) {
        counts->in_place += unit->in_place < MAX_MATRICES ? 1 : 0;
        counts->snippets += unit->snippet_count * evaluated_of_output(unit);
        compare_results(unit, counts);
        unit_check_guards(unit, context);
        if (unit->seed % REFERENCE_EVERY == 0 && unit->reduction_count == 0 &&
            !unit_is_scaled(unit)) {
            compare_with_reference(unit, context, &scales, counts);
        }
    }
    unit_free_scales(unit, &scales, context);
    unit_free_data(unit, context);
}

/* Draws until the library has a kernel; what it refuses has to be named. */
static jit_gemm *draw_unit(struct unit *unit, jit_gemm_context *context, bool is_scaled,
                           struct counts *counts)
{
    enum { MOST_DRAWS = 64 };
    for (int i = 0; i < MOST_DRAWS; i++) {
        char name[48];
        jit_gemm_status status;
        unit->operand_count = unit->snippet_count = unit->reduction_count = 0;
        unit_draw_problem(unit, is_scaled);
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

static void print_unit(const struct unit *unit, uint64_t number, bool is_scaled)
{
    printf("%s %llu - seed %llu, %s, %u snippets: %s\n", unit->wrong[0] ? "not ok" : "ok",
           (unsigned long long)number, (unsigned long long)unit->seed, archs[unit->arch],
           unit->snippet_count, unit->problem_text);
    if (unit->wrong[0] != '\0') {
        printf("# repeat with %s--seed %llu --units 1%s\n# ",
               unit->guard_bytes > 0 ? "gpu " : "", (unsigned long long)unit->seed,
               is_scaled ? " --scaled 1" : "");
        for (const char *letter = unit->wrong; *letter != '\0'; letter++) {
            printf("%s", *letter == '\n' && letter[1] != '\0' ? "\n#   "
                                                              : (char[]){*letter, '\0'});
        }
        printf("\n");
    }
    fflush(stdout);
}

/* NULL where the units run on the GPU. */
static const char *find_driver(const char *word)
{
    return strcmp(word, "gpu") == 0 ? NULL : word;
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

/* A context that has begun to use the GPU: held open, the units' share what the driver has.
 */
static jit_gemm_context *hold_gpu(void)
{
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    jit_gemm_context *context = open_context(NULL, 0);
    if (jit_gemm_device_get_info(context, &info) != JIT_GEMM_OK) {
        printf("Bail out! %s\n", jit_gemm_last_error());
        exit(1);
    }
    printf("# %s\n", info.name);
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
    uint64_t snippets, seed, units, failures;
    uint64_t scaled; /* 1: only units in which D has computed scales */
};

static struct options read_options(int argc, char **argv)
{
    const char *count = getenv("JIT_GEMM_TEST_SNIPPETS");
    struct options options = {
        .snippets = count != NULL ? read_number(count, "JIT_GEMM_TEST_SNIPPETS") : 1000,
        .seed = 1,
        .units = UINT64_MAX,
        .failures = 20};
    if (argc < 2 || argc % 2 != 0) {
        printf("Bail out! random_snippets DRIVER|gpu [--snippets COUNT] [--seed SEED] "
               "[--units COUNT] [--scaled 0|1] [--failures COUNT]\n");
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
        } else if (strcmp(argv[i], "--failures") == 0) {
            options.failures = value;
        } else if (strcmp(argv[i], "--scaled") == 0) {
            options.scaled = value;
        } else {
            printf("Bail out! there is no option %s\n", argv[i]);
            exit(1);
        }
    }
    return options;
}

static volatile sig_atomic_t current_seed;

static void end_late_unit(int signal)
{
    char text[96];
    (void)signal;
    const int size =
        snprintf(text, sizeof(text), "Bail out! seed %ld has no end\n", (long)current_seed);
    (void)!write(STDOUT_FILENO, text, (size_t)size);
    _exit(1);
}

/* True: nothing was wrong. */
static bool test_unit(const char *driver, const struct options *options, uint64_t number,
                      struct counts *counts)
{
    const uint64_t seed = options->seed + number - 1;
    struct unit unit = {.seed = seed,
                        .draws = draws_of(seed),
                        .arch = driver != NULL ? (int)(seed / 2 % 2) : 0,
                        .guard_bytes = driver != NULL ? 0 : 256};
    jit_gemm_context *context = open_context(driver, unit.arch);
    current_seed = (sig_atomic_t)seed;
    alarm(driver != NULL ? 0 : UNIT_SECONDS);
    jit_gemm *gemm = draw_unit(&unit, context, options->scaled != 0, counts);
    if (gemm != NULL) {
        run_unit(&unit, context, gemm, counts);
    }
    print_unit(&unit, number, options->scaled != 0);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
    free(unit.source);
    return unit.wrong[0] == '\0';
}

int main(int argc, char **argv)
{
    const struct options options = read_options(argc, argv);
    struct counts counts = {0};
    const char *driver = find_driver(argv[1]);
    jit_gemm_context *context = driver == NULL ? hold_gpu() : NULL;
    uint64_t number = 0;
    uint64_t failed = 0;
    (void)signal(SIGALRM, end_late_unit);
    setenv("JIT_GEMM_EMULATOR", "sms=2,show=errors", 0);
    printf("TAP version 13\n");
    while (counts.snippets < options.snippets && number < options.units &&
           failed < options.failures) {
        failed += !test_unit(driver, &options, number + 1, &counts);
        number++;
    }
    jit_gemm_context_destroy(&context);
    const bool is_decided = counts.open * 5 < counts.elements;
    printf(
        "%s %llu - %llu snippets, %llu results, %llu of them open; %llu units also by the "
        "reference kernel; %llu in place; %llu blocks; %llu problems refused\n",
        is_decided ? "ok" : "not ok", (unsigned long long)number + 1,
        (unsigned long long)counts.snippets, (unsigned long long)counts.elements,
        (unsigned long long)counts.open, (unsigned long long)counts.references,
        (unsigned long long)counts.in_place, (unsigned long long)counts.blocks,
        (unsigned long long)counts.refused);
    printf("1..%llu\n", (unsigned long long)number + 1);
    return failed == 0 && is_decided ? 0 : 1;
}
