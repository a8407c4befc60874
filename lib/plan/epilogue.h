/* SPDX-License-Identifier: MIT */
/* A checked epilogue: what the caller registered, copied, with its snippet scanned.
 * Immutable. */
#ifndef JG_PLAN_EPILOGUE_H
#define JG_PLAN_EPILOGUE_H

#include <stdbool.h>

#include "base/nearest.h"
#include "base/str.h"
#include "jit_gemm/epilogue.h"

struct jg_operand {
    char name[JIT_GEMM_NAME_SIZE];
    jit_gemm_operand_kind kind;
    jit_gemm_dtype dtype;
    jit_gemm_operand_role role;
};

/* Does the kernel add up, or compare, what the snippet assigns? */
static inline bool jg_operand_reduces(const struct jg_operand *operand)
{
    return operand->role >= JIT_GEMM_OPERAND_SUM;
}

/* Columns of D that a value of a kind of blocks belongs to; 0 of all other kinds. */
int jg_operand_kind_block(jit_gemm_operand_kind kind);
/* Is it folded over tiles, by way of the workspace? A block lies in one tile. */
static inline bool jg_operand_needs_workspace(const struct jg_operand *operand)
{
    return jg_operand_reduces(operand) && jg_operand_kind_block(operand->kind) == 0;
}

/* "unknown" for what is no role, "in" for an input. */
const char *jg_operand_role_name(jit_gemm_operand_role role);
/* By name; false if there is no such name. */
bool jg_operand_role_parse(const char *text, size_t size, jit_gemm_operand_role *ret_role);
/* Where a name is none: tries those of roles, and of kinds with what others call them. */
void jg_operand_role_nearest(struct jg_nearest *nearest);
void jg_operand_kind_nearest(struct jg_nearest *nearest);

/* A hint: the names of all kinds. */
#define JG_OPERAND_KINDS \
    "kinds: scalar row_vector column_vector matrix pair_vector 1x128 1x32 1x16"
/* "unknown" for what is no kind. */
const char *jg_operand_kind_name(jit_gemm_operand_kind kind);
bool jg_operand_kind_exists(jit_gemm_operand_kind kind);
/* By name; false if there is no such name. */
bool jg_operand_kind_parse(const char *text, size_t size, jit_gemm_operand_kind *ret_kind);

/* The other form of an epilogue: a compiled function, which the snippet calls. */
struct jg_compiled {
    jit_gemm_code_kind kind; /* AUTO: there is none, the snippet is the caller's */
    char *code;              /* zero-terminated, owned */
    size_t code_size;
    char *symbol;    /* owned */
    char *body;      /* of PTX: what an asm statement needs (plan/ptx_function.h), owned */
    int ptx_arch;    /* of PTX: 90 for "sm_90a" */
    char ptx_suffix; /* 'a', 'f' or '\0' */
};

struct jg_epilogue {
    char name[JIT_GEMM_NAME_SIZE];
    char *source; /* zero-terminated, owned; with a compiled function, the call */
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
    bool is_gated;  /* does the snippet take two accumulators, acc0 and acc1? */
    bool is_random; /* does it name `uniform`? */
    bool compares_random; /* is each such number all of the left side of a `<` or `>=`? */
    bool has_seed; /* does each call of `uniform` name the same f32 scalar, and no more? */
    uint32_t seed; /* number of that operand */
    /* The first name in the snippet of what depends on a row's place or on how many there
     * are: row batch M uniform; static, NULL: there is none. */
    const char *place_name;
    struct jg_compiled compiled;
};

/*
 * Checks and copies. Operands: identifiers that are no keyword, no name in scope (acc acc0
 * acc1 d row col batch M N K), no prelude function, nothing that begins with jg, JG or __,
 * unique; kind, dtype and role legal (outputs are matrices, reductions are none). Snippet:
 * jg_snippet_check. Compiled function: jg_compiled_create (plan/compiled.h). ARGUMENT,
 * COMPILE, NO_MEMORY, VERSION.
 */
jit_gemm_status jg_epilogue_create(const jit_gemm_epilogue *user,
                                   struct jg_epilogue **ret_epilogue);
/* Does any operand? False for NULL. */
bool jg_epilogue_reduces(const struct jg_epilogue *epilogue);
/* The first operand of a kind of blocks; NULL if there is none. */
const struct jg_operand *jg_epilogue_find_blocks(const struct jg_epilogue *epilogue);
void jg_epilogue_destroy(struct jg_epilogue *epilogue);
static inline bool jg_epilogue_is_compiled(const struct jg_epilogue *epilogue)
{
    return epilogue != NULL && epilogue->compiled.kind != JIT_GEMM_CODE_AUTO;
}
/* Must its kernel go through the linker? PTX is pasted into the source unit. */
static inline bool jg_epilogue_is_linked(const struct jg_epilogue *epilogue)
{
    return epilogue != NULL && epilogue->compiled.kind == JIT_GEMM_CODE_LTOIR;
}
/* Of the same kernel: where the text stands does not count. */
bool jg_epilogue_equal(const struct jg_epilogue *a, const struct jg_epilogue *b);
/* Canonical bytes of what a kernel is made of: name, operands, source, and of a compiled
 * function code and symbol. Where the text stands is for messages, and no part of it. */
void jg_epilogue_bytes(const struct jg_epilogue *epilogue, struct jg_str *out);
/* Lookup by a function, so that plan needs no context: NULL if there is no such name. D's
 * type decides on operands of the library's own epilogues. NO_MEMORY. */
typedef jit_gemm_status (*jg_epilogue_find_fn)(void *user, const char *name,
                                               jit_gemm_dtype d,
                                               const struct jg_epilogue **ret_epilogue);

#endif
