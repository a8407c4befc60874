/* SPDX-License-Identifier: MIT */
/* A checked epilogue: what the caller registered, copied, with its snippet scanned.
 * Immutable. */
#ifndef JG_PLAN_EPILOGUE_H
#define JG_PLAN_EPILOGUE_H

#include <stdbool.h>

#include "base/str.h"
#include "jit_gemm/epilogue.h"

struct jg_operand {
    char name[JIT_GEMM_NAME_SIZE];
    jit_gemm_operand_kind kind;
    jit_gemm_dtype dtype;
    jit_gemm_operand_role role;
};

/* A hint: the names of all kinds. */
#define JG_OPERAND_KINDS "kinds: scalar row_vector column_vector matrix"
/* "unknown" for what is no kind. */
const char *jg_operand_kind_name(jit_gemm_operand_kind kind);
bool jg_operand_kind_exists(jit_gemm_operand_kind kind);
/* By name; false if there is no such name. */
bool jg_operand_kind_parse(const char *text, size_t size, jit_gemm_operand_kind *ret_kind);

struct jg_epilogue {
    char name[JIT_GEMM_NAME_SIZE];
    char *source; /* zero-terminated, owned */
    size_t source_size;
    char *source_name; /* owned */
    uint32_t first_line;
    uint32_t operand_count;
    struct jg_operand operands[JIT_GEMM_MAX_OPERANDS];
    /* Place of the first floating literal of type double in the user's file, 0 if none: it
     * makes the arithmetic slow and deserves a warning. */
    uint32_t double_line, double_column;
    uint32_t
        long_calls; /* calls in the snippet of what is more than an instruction or two */
};

/*
 * Checks and copies. Operands: identifiers that are no keyword, no name in scope (acc d row
 * col batch M N K), no prelude function, nothing that begins with jg, JG or __, unique;
 * kind, dtype and role legal (outputs are matrices). Snippet: jg_snippet_check. ARGUMENT,
 * COMPILE, NO_MEMORY, VERSION.
 */
jit_gemm_status jg_epilogue_create(const jit_gemm_epilogue *user,
                                   struct jg_epilogue **ret_epilogue);
void jg_epilogue_destroy(struct jg_epilogue *epilogue);
bool jg_epilogue_equal(const struct jg_epilogue *a, const struct jg_epilogue *b);
/* Canonical bytes of everything that reaches the compiler or changes its messages: name,
 * operands, source, source_name, first_line. */
void jg_epilogue_bytes(const struct jg_epilogue *epilogue, struct jg_str *out);
/* Lookup by a pure function, so that plan needs no context: NULL if there is no such name.
 */
typedef const struct jg_epilogue *(*jg_epilogue_find_fn)(void *user, const char *name);

#endif
