/* SPDX-License-Identifier: MIT */
#include "runtime/operand_list.h"

#include "base/error.h"

jit_gemm_status jg_operand_list_check(const struct jg_kernel *kernel,
                                      const jit_gemm_args *args)
{
    static const char field[] = "args.operand_count";
    if (args->operand_count != kernel->operand_count && kernel->epilogue_name[0] == '\0') {
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, field, "give none, or name an epilogue in the problem",
            "%zu operands are given, but the problem has no epilogue", args->operand_count);
    }
    if (args->operand_count != kernel->operand_count) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give one entry per operand, in declared order",
                       "%zu operands are given, but epilogue '%s' declares %u",
                       args->operand_count, kernel->epilogue_name, kernel->operand_count);
    }
    if (args->operand_count > 0 && args->operands == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.operands",
                       "give an array of args.operand_count entries",
                       "the array is NULL, but %zu operands are declared",
                       args->operand_count);
    }
    return JIT_GEMM_OK;
}
