/* SPDX-License-Identifier: MIT */
#include "named_epilogues.h"

#include <string.h>

#define GELU_BIAS_RESIDUAL "d = gelu(acc + bias) + r;"

static const jit_gemm_operand k_bf16_operands[] = {
    {"bias", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_BF16, JIT_GEMM_OPERAND_INPUT, 0},
    {"r", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_BF16, JIT_GEMM_OPERAND_INPUT, 0}};
static const jit_gemm_operand k_f16_operands[] = {
    {"bias", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F16, JIT_GEMM_OPERAND_INPUT, 0},
    {"r", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_F16, JIT_GEMM_OPERAND_INPUT, 0}};

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

int named_epilogues_parse(const char *text, jit_gemm_problem *ret_problem,
                          const jit_gemm_epilogue **ret_epilogue,
                          char error[BENCH_ERROR_SIZE])
{
    jit_gemm_problem problem;
    if (jit_gemm_problem_parse(text, &problem) != JIT_GEMM_OK) {
        return bench_fail(error, "'%s': %s", text, jit_gemm_last_error());
    }
    const jit_gemm_epilogue *epilogue = NULL;
    for (size_t i = 0; i < sizeof(k_epilogues) / sizeof(k_epilogues[0]); i++) {
        if (strcmp(k_epilogues[i].name, problem.epilogue) == 0) {
            epilogue = &k_epilogues[i];
        }
    }
    if (epilogue == NULL && problem.epilogue[0] != '\0') {
        return bench_fail(error, "'%s': no epilogue '%s' here; there are " NAMED_EPILOGUES,
                          text, problem.epilogue);
    }
    *ret_problem = problem;
    *ret_epilogue = epilogue;
    return 0;
}
