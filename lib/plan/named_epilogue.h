/* SPDX-License-Identifier: MIT */
/* The library's own epilogues, lib/epilogues, embedded by tools/dev/embed_epilogues.py. */
#ifndef JG_PLAN_NAMED_EPILOGUE_H
#define JG_PLAN_NAMED_EPILOGUE_H

#include "plan/epilogue.h"

struct jg_named_epilogue {
    const char *name;
    const char *math;     /* what it computes, one line */
    const char *cublaslt; /* its equivalent there, or none and why */
    const char *source;
    uint32_t operand_count;
    const jit_gemm_operand *operands; /* dtype NONE: as D */
};

/* Sorted by name. Defined in the generated file. */
extern const struct jg_named_epilogue jg_named_epilogues[];
extern const size_t jg_named_epilogue_count;

/* NULL if there is none of this name. */
const struct jg_named_epilogue *jg_named_epilogue_find(const char *name);
/* Where a name is none: tries all of them. */
void jg_named_epilogue_nearest(struct jg_nearest *nearest);

/*
 * The operands for a D of this type: those declared as D get its type, or bf16 where D has
 * 8 bits and f32 where it holds integers. Of D's type NONE they keep NONE.
 */
void jg_named_epilogue_operands(const struct jg_named_epilogue *named, jit_gemm_dtype d,
                                jit_gemm_operand ret_operands[JIT_GEMM_MAX_OPERANDS]);

/* Checked like a caller's. NO_MEMORY. Free it with jg_epilogue_destroy. */
jit_gemm_status jg_named_epilogue_create(const struct jg_named_epilogue *named,
                                         jit_gemm_dtype d,
                                         struct jg_epilogue **ret_epilogue);

#endif
