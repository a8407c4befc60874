/* SPDX-License-Identifier: MIT */
#include "source/epilogue_frame.h"

#include <string.h>

#include "base/math.h"
#include "source/compiled_function.h"
#include "source/device_names.h"
#include "source/line_names.h"

/* ----------------------------------------------------------------- before the headers */

/* The snippet sees a value of each of the two columns. */
static void print_pair_vector(const struct jg_problem *problem,
                              const struct jg_operand *operand, uint32_t index,
                              struct jg_str *out)
{
    for (int i = 0; i < 2; i++) {
        jg_str_printf(out, " \\\n    JG_ROW(%u, %s%d, Gate%d%sInput, %s)", index,
                      operand->name, i, i, jg_source_operand_kind(problem, operand->kind),
                      jg_dtype_name(operand->dtype));
    }
}

/* What a role adds to the kind: Input or Output, or what a reduction does. */
static const char *device_role(jit_gemm_operand_role role)
{
    switch (role) {
    case JIT_GEMM_OPERAND_INPUT:
        break;
    case JIT_GEMM_OPERAND_OUTPUT:
        return "Output";
    case JIT_GEMM_OPERAND_SUM:
        return "Sum";
    case JIT_GEMM_OPERAND_MAX:
        return "Max";
    case JIT_GEMM_OPERAND_MIN:
        return "Min";
    }
    return "Input";
}

static void print_rows(const struct jg_problem *problem, struct jg_str *out)
{
    const struct jg_epilogue *epilogue = problem->epilogue;
    jg_str_puts(out, "#define JG_OPERANDS(JG_ROW)");
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
            print_pair_vector(problem, operand, i, out);
            continue;
        }
        jg_str_printf(out, " \\\n    JG_ROW(%u, %s, %s%s, %s)", i, operand->name,
                      jg_source_operand_kind(problem, operand->kind),
                      device_role(operand->role), jg_dtype_name(operand->dtype));
    }
    jg_str_puts(out, "\n");
}

/* Of the finest type that results of the snippet are rounded to: what the prelude computes
 * (jg/epilogue/prelude.cuh). */
static int64_t result_bits(const struct jg_problem *problem)
{
    const struct jg_epilogue *epilogue = problem->epilogue;
    int64_t bits = jg_dtype_significand_bits(problem->d.dtype);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        if (operand->role != JIT_GEMM_OPERAND_INPUT) {
            bits = jg_max(bits, jg_dtype_significand_bits(operand->dtype));
        }
    }
    return bits;
}

/* How exact the snippet's results are, whether it takes two accumulators
 * (jg/epilogue/user_epilogue.cuh), and what it does with random numbers
 * (jg/epilogue/random.cuh). */
static void print_traits(const struct jg_problem *problem, struct jg_str *out)
{
    const struct jg_epilogue *epilogue = problem->epilogue;
    if (epilogue != NULL && !jg_epilogue_is_compiled(epilogue) &&
        problem->d.dtype != JIT_GEMM_DTYPE_NONE) {
        jg_str_printf(out, "#define JG_RESULT_BITS %lld\n",
                      (long long)result_bits(problem));
    }
    if (epilogue != NULL && epilogue->is_gated) {
        jg_str_puts(out, "#define JG_GATED 1\n");
    }
    if (epilogue != NULL && epilogue->is_random && epilogue->compares_random) {
        jg_str_puts(out, "#define JG_UNIFORM_RESULT UniformNumber\n");
    }
}

/* The operand that random numbers are drawn ahead with (jg/epilogue/user_epilogue.cuh). */
static void print_seed(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    const uint32_t seed = epilogue->seed;
    jg_str_printf(out, "#define JG_SEED(JG_ROW) JG_ROW(%u, %s, ScalarInput, f32)\n", seed,
                  epilogue->operands[seed].name);
}

void jg_source_print_operands(const struct jg_problem *problem, bool draws_ahead,
                              struct jg_str *out)
{
    print_rows(problem, out);
    print_traits(problem, out);
    if (draws_ahead) {
        print_seed(problem->epilogue, out);
    }
}

/* ----------------------------------------------------------------------- the snippet */

bool jg_source_is_snippet(const struct jg_epilogue *epilogue, const char *name,
                          size_t name_size, uint32_t *line)
{
    if (jg_source_is_named(epilogue->name, name, name_size)) {
        *line += epilogue->first_line - 1;
        return true;
    }
    return jg_source_is_named(epilogue->source_name, name, name_size);
}

/* Under the epilogue's name lines are the snippet's, under the file's they are the file's:
 * a file that is called like the epilogue has the snippet's. */
static void print_snippet_place(const struct jg_epilogue *epilogue, bool has_lineinfo,
                                struct jg_str *out)
{
    if (epilogue == NULL) {
        jg_source_print_line(1, JG_SOURCE_DEFAULT_NAME, out);
    } else if (has_lineinfo && !jg_source_is_named(epilogue->source_name, epilogue->name,
                                                   strlen(epilogue->name))) {
        jg_source_print_line(epilogue->first_line, epilogue->source_name, out);
    } else {
        jg_source_print_line(1, epilogue->name, out);
    }
}

void jg_source_print_epilogue(const struct jg_epilogue *epilogue, bool has_lineinfo,
                              struct jg_str *out)
{
    static const char default_snippet[] = "d = acc;";
    const char *snippet = epilogue != NULL ? epilogue->source : default_snippet;
    const size_t size =
        epilogue != NULL ? epilogue->source_size : sizeof(default_snippet) - 1;

    if (jg_epilogue_is_compiled(epilogue)) {
        jg_source_print_line(1, JG_SOURCE_COMPILED, out);
        jg_print_compiled_function(epilogue, out);
    }
    jg_source_print_line(1, JG_SOURCE_FRAME, out);
    jg_str_puts(out, "JG_EPILOGUE_BEGIN\n");
    print_snippet_place(epilogue, has_lineinfo, out);
    jg_str_add(out, snippet, size);
    if (size == 0 || snippet[size - 1] != '\n') {
        jg_str_puts(out, "\n");
    }
    jg_source_print_line(JG_SOURCE_FRAME_END, JG_SOURCE_FRAME, out);
    jg_str_puts(out, "JG_EPILOGUE_END\n\n");
}
