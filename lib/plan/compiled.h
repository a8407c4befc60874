/* SPDX-License-Identifier: MIT */
/* Epilogues that are compiled functions: what can be said of the code without a linker. */
#ifndef JG_PLAN_COMPILED_H
#define JG_PLAN_COMPILED_H

#include "plan/epilogue.h"
#include "plan/ptx_function.h"

/* What pasted PTX is called in the source unit, where nothing of the caller's has that
 * name. */
#define JG_COMPILED_NAME "jg_compiled_epilogue"

/* ARGUMENT unless it is an identifier of at most 255 bytes that is not ours. */
jit_gemm_status jg_compiled_check_symbol(const char *symbol);
/*
 * Fills `epilogue->compiled`, and the source with the call, from the caller's checked
 * struct; name and operands are there already, and the symbol was checked. Refuses, by
 * field: a snippet beside it, code that is too long or is neither
 * PTX nor LTO-IR (and says what it seems to be); of PTX, whatever jg_ptx_function_find and
 * jg_ptx_function_convert refuse, and another signature. ARGUMENT, NO_MEMORY.
 */
jit_gemm_status jg_compiled_create(const jit_gemm_epilogue *user,
                                   struct jg_epilogue *epilogue);
/* ARGUMENT if one of the fields of compiled functions is set though `code` is NULL. */
jit_gemm_status jg_compiled_refuse_rest(const jit_gemm_epilogue *user);
void jg_compiled_free(struct jg_compiled *compiled);
bool jg_compiled_equal(const struct jg_compiled *a, const struct jg_compiled *b);

/* ARGUMENT, with both signatures, unless the function's is the epilogue's. */
jit_gemm_status jg_compiled_check_signature(const struct jg_epilogue *epilogue,
                                            const struct jg_ptx_function *function);
/* Appends "float NAME(float acc, int row, int col, int batch, float bias)". */
void jg_compiled_print_signature(const struct jg_epilogue *epilogue, const char *name,
                                 struct jg_str *out);
/* UNSUPPORTED if PTX was made for another chip than this ("sm_90a"), or a newer one. For
 * any epilogue, or NULL. */
jit_gemm_status jg_compiled_check_arch(const struct jg_epilogue *epilogue,
                                       const char *arch);

#endif
