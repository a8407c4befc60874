/* SPDX-License-Identifier: MIT */
#include "plan/named_epilogue.h"

#include <string.h>

const struct jg_named_epilogue *jg_named_epilogue_find(const char *name)
{
    for (size_t i = 0; i < jg_named_epilogue_count; i++) {
        if (strcmp(jg_named_epilogues[i].name, name) == 0) {
            return &jg_named_epilogues[i];
        }
    }
    return NULL;
}

void jg_named_epilogue_nearest(struct jg_nearest *nearest)
{
    for (size_t i = 0; i < jg_named_epilogue_count; i++) {
        jg_nearest_try(nearest, jg_named_epilogues[i].name,
                       strlen(jg_named_epilogues[i].name));
    }
}

static jit_gemm_dtype operand_type_for(jit_gemm_dtype d)
{
    switch (d) {
    case JIT_GEMM_DTYPE_E4M3:
    case JIT_GEMM_DTYPE_E5M2:
        return JIT_GEMM_DTYPE_BF16;
    case JIT_GEMM_DTYPE_S8:
    case JIT_GEMM_DTYPE_S32:
        return JIT_GEMM_DTYPE_F32;
    default:
        return d;
    }
}

void jg_named_epilogue_operands(const struct jg_named_epilogue *named, jit_gemm_dtype d,
                                jit_gemm_operand ret_operands[JIT_GEMM_MAX_OPERANDS])
{
    for (uint32_t i = 0; i < named->operand_count; i++) {
        ret_operands[i] = named->operands[i];
        if (ret_operands[i].dtype == JIT_GEMM_DTYPE_NONE) {
            ret_operands[i].dtype = operand_type_for(d);
        }
    }
}

jit_gemm_status jg_named_epilogue_create(const struct jg_named_epilogue *named,
                                         jit_gemm_dtype d,
                                         struct jg_epilogue **ret_epilogue)
{
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS];
    jg_named_epilogue_operands(named, d, operands);
    const jit_gemm_epilogue user = {.struct_size = sizeof(user),
                                    .name = named->name,
                                    .source = named->source,
                                    .operand_count = named->operand_count,
                                    .operands = operands};
    return jg_epilogue_create(&user, ret_epilogue);
}
