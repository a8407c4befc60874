/* SPDX-License-Identifier: MIT */
#include "plan/invariance.h"

#include "base/error.h"
#include "plan/scale.h"
#include "plan/text.h"

static const char *const names[] = {
    [JIT_GEMM_INVARIANT_NONE] = "none", [JIT_GEMM_INVARIANT_M] = "m"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

const char *jg_invariance_name(jit_gemm_invariance invariant)
{
    return names[invariant];
}

bool jg_invariance_parse(const char *text, size_t size, jit_gemm_invariance *ret_invariant)
{
    for (int i = 0; i < NAMES; i++) {
        if (jg_word_is(text, size, names[i])) {
            *ret_invariant = (jit_gemm_invariance)i;
            return true;
        }
    }
    return false;
}

jit_gemm_status jg_invariance_check_fields(const jit_gemm_problem *problem)
{
    const int invariant = (int)problem->invariant;
    if (invariant < 0 || invariant >= NAMES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.invariant",
                       "give JIT_GEMM_INVARIANT_NONE or JIT_GEMM_INVARIANT_M",
                       "must be 0 or 1, is %d", invariant);
    }
    return JIT_GEMM_OK;
}

/* A row's partial sums are those of tiles, and its blocks' those of lanes: how many there
 * are follows from the config. The greatest and the least of values are the same in any
 * order. Sums of columns and of the tensor are none of a row. */
static jit_gemm_status check_reductions(const struct jg_epilogue *epilogue)
{
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        const bool is_of_row = operand->kind == JIT_GEMM_OPERAND_COLUMN_VECTOR ||
                               jg_operand_kind_block(operand->kind) > 0;
        if (operand->role == JIT_GEMM_OPERAND_SUM && is_of_row) {
            return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.invariant",
                           "leave invariant=m out, or the operand; :max and :min are the "
                           "same in any order",
                           "the operand '%s' is a sum of a row, and the order of its terms "
                           "depends on the tile",
                           operand->name);
        }
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_invariance_check_kernel(const jit_gemm_problem *problem,
                                           const struct jg_epilogue *epilogue)
{
    if (problem->invariant == JIT_GEMM_INVARIANT_NONE) {
        return JIT_GEMM_OK;
    }
    if (jg_scale_is_square(&problem->d.scale) ||
        (problem->d.scale.kind == JIT_GEMM_SCALE_BLOCK &&
         problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR)) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.invariant",
                       "leave invariant=m out, or give a scale of blocks of one row and a "
                       "row-major D",
                       "there is no kernel for invariant=m beside scale %s of D, which is "
                       "one of many rows",
                       jg_scale_name(&problem->d.scale));
    }
    if (epilogue == NULL) {
        return JIT_GEMM_OK;
    }
    if (jg_epilogue_is_compiled(epilogue)) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, "problem.invariant",
            "leave invariant=m out, or give a snippet",
            "nobody knows what the compiled function '%s' makes of a row's place "
            "and of other rows",
            epilogue->compiled.symbol);
    }
    if (epilogue->place_name != NULL) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.invariant",
                       "leave invariant=m out, or give what a row needs as an operand of "
                       "kind column_vector",
                       "the snippet names '%s', which is not the same wherever a row lies",
                       epilogue->place_name);
    }
    return check_reductions(epilogue);
}

bool jg_invariance_check(struct jg_trial *trial)
{
    if (trial->problem->invariant == JIT_GEMM_INVARIANT_NONE) {
        return true;
    }
    if (trial->config.layout.k_turns == JG_K_TURNS_TAKEN) {
        return jg_trial_reject(
            trial,
            "k_turns=1: every other block of K is added up by itself, so that a row's "
            "bits would depend on the config: with invariant=m only k_turns=0");
    }
    if (trial->config.launch.split_k <= 1) {
        return true;
    }
    return jg_trial_reject(
        trial,
        "split_k=%d: parts of K are added up in another order than the whole, so that a "
        "row's bits would depend on the config: with invariant=m only split_k=1",
        trial->config.launch.split_k);
}
