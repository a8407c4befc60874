/* SPDX-License-Identifier: MIT */
#include "named_epilogues.h"

#include <string.h>

#include "verify/elements.h"

#define GELU_BIAS_RESIDUAL "d = gelu(acc + bias) + r;"

static const jit_gemm_operand k_bf16_operands[] = {
    {"bias", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_BF16, JIT_GEMM_OPERAND_INPUT, 0},
    {"r", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_BF16, JIT_GEMM_OPERAND_INPUT, 0}};
static const jit_gemm_operand k_f16_operands[] = {
    {"bias", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F16, JIT_GEMM_OPERAND_INPUT, 0},
    {"r", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_F16, JIT_GEMM_OPERAND_INPUT, 0}};

static const jit_gemm_operand k_row_sum_operands[] = {
    {"s", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM, 0}};
static const jit_gemm_operand k_absmax_operands[] = {
    {"m", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MAX, 0}};

/* Of the largest kernel that we know; tests/cli/test_machine_code.py has the same. */
static const jit_gemm_operand k_largest_operands[] = {
    {"u", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_INPUT, 0},
    {"x", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_INPUT, 0},
    {"bias", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_INPUT, 0},
    {"aux", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_OUTPUT, 0}};

static const jit_gemm_epilogue k_epilogues[] = {
    {.struct_size = sizeof(jit_gemm_epilogue),
     .name = "gelu_bias_residual",
     .source = GELU_BIAS_RESIDUAL,
     .operand_count = 2,
     .operands = k_bf16_operands},
    {.struct_size = sizeof(jit_gemm_epilogue),
     .name = "gelu_bias_residual_f16",
     .source = GELU_BIAS_RESIDUAL,
     .operand_count = 2,
     .operands = k_f16_operands},
    {.struct_size = sizeof(jit_gemm_epilogue),
     .name = "silu_bias",
     .source = "d = silu(acc + bias);",
     .operand_count = 1,
     .operands = k_bf16_operands},
    {.struct_size = sizeof(jit_gemm_epilogue),
     .name = "relu_only",
     .source = "d = relu(acc);"},
    {.struct_size = sizeof(jit_gemm_epilogue),
     .name = "row_sum",
     .source = "d = acc; s = acc;",
     .operand_count = 1,
     .operands = k_row_sum_operands},
    {.struct_size = sizeof(jit_gemm_epilogue),
     .name = "absmax",
     .source = "d = acc; m = abs(acc);",
     .operand_count = 1,
     .operands = k_absmax_operands},
    {.struct_size = sizeof(jit_gemm_epilogue),
     .name = "largest",
     .source = "aux = acc; d = tanh(acc * u + x) + gelu(acc + bias);",
     .operand_count = 4,
     .operands = k_largest_operands},
};

int named_epilogues_register(jit_gemm_context *context, char error[BENCH_ERROR_SIZE])
{
    for (size_t i = 0; i < sizeof(k_epilogues) / sizeof(k_epilogues[0]); i++) {
        if (jit_gemm_epilogue_register(context, &k_epilogues[i]) != JIT_GEMM_OK) {
            return bench_fail(error, "epilogue '%s': %s", k_epilogues[i].name,
                              jit_gemm_last_error());
        }
    }
    return 0;
}

static const jit_gemm_epilogue *find_registered(const char *name)
{
    for (size_t i = 0; i < sizeof(k_epilogues) / sizeof(k_epilogues[0]); i++) {
        if (strcmp(k_epilogues[i].name, name) == 0) {
            return &k_epilogues[i];
        }
    }
    return NULL;
}

/* What a launch of one of the library's own gets. False: it has none of the name. */
static bool find_own(const char *name, jit_gemm_dtype d,
                     struct named_epilogue *ret_epilogue)
{
    for (uint32_t i = 0; i < jit_gemm_epilogue_named_count(); i++) {
        jit_gemm_named_epilogue own = {.struct_size = sizeof(own)};
        if (jit_gemm_epilogue_named(i, d, &own) == JIT_GEMM_OK &&
            strcmp(own.name, name) == 0) {
            ret_epilogue->own = own;
            ret_epilogue->epilogue =
                (jit_gemm_epilogue){.struct_size = sizeof(jit_gemm_epilogue),
                                    .name = own.name,
                                    .source = own.source,
                                    .operand_count = own.operand_count,
                                    .operands = ret_epilogue->own.operands};
            return true;
        }
    }
    return false;
}

int named_epilogues_parse(const char *text, jit_gemm_problem *ret_problem,
                          struct named_epilogue *ret_epilogue, char error[BENCH_ERROR_SIZE])
{
    jit_gemm_problem problem;
    if (jit_gemm_problem_parse(text, &problem) != JIT_GEMM_OK) {
        return bench_fail(error, "'%s': %s", text, jit_gemm_last_error());
    }
    const jit_gemm_epilogue *registered = find_registered(problem.epilogue);
    if (registered != NULL) {
        ret_epilogue->epilogue = *registered;
    } else if (problem.epilogue[0] != '\0' &&
               !find_own(problem.epilogue, element_d_type(&problem), ret_epilogue)) {
        return bench_fail(error,
                          "'%s': no epilogue '%s' here; there are " NAMED_EPILOGUES
                          ", and the library's own",
                          text, problem.epilogue);
    }
    ret_epilogue->is_none = problem.epilogue[0] == '\0';
    *ret_problem = problem;
    return 0;
}
