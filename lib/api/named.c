/* SPDX-License-Identifier: MIT */
/* The library's own epilogues, for callers. */
#include "plan/named_epilogue.h"

#include "api/context.h"
#include "base/error.h"
#include "base/struct.h"
#include "jit_gemm/named_epilogues.h"
#include "plan/dtype.h"

uint32_t jit_gemm_epilogue_named_count(void)
{
    return (uint32_t)jg_named_epilogue_count;
}

jit_gemm_status jit_gemm_epilogue_named(uint32_t index, jit_gemm_dtype d,
                                        jit_gemm_named_epilogue *ret_named)
{
    if (index >= jg_named_epilogue_count) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "index",
                       "give less than jit_gemm_epilogue_named_count()",
                       "must be less than %zu, is %u", jg_named_epilogue_count, index);
    }
    if (d != JIT_GEMM_DTYPE_NONE && jg_dtype_bits(d) == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "d", "give the type of D, or NONE",
                       "%d is no element type", (int)d);
    }
    const struct jg_named_epilogue *named = &jg_named_epilogues[index];
    jit_gemm_named_epilogue result = {.struct_size = sizeof(result),
                                      .name = named->name,
                                      .math = named->math,
                                      .cublaslt = named->cublaslt,
                                      .source = named->source,
                                      .operand_count = named->operand_count};
    jg_named_epilogue_operands(named, d, result.operands);
    return jg_struct_export(&result, sizeof(result), ret_named, "ret_named");
}
