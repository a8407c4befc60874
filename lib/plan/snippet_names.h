/* SPDX-License-Identifier: MIT */
/*
 * What a snippet does with names: operands that are used, outputs that are assigned, and
 * what it declares. A declaration is told from an expression by its first words, as far as
 * a wrong snippet that compiles would otherwise store the wrong value, or have a function
 * without a body; what is left is the compiler's to refuse.
 */
#ifndef JG_PLAN_SNIPPET_NAMES_H
#define JG_PLAN_SNIPPET_NAMES_H

#include "plan/snippet_token.h"

enum jg_snippet_scope_kind {
    JG_SNIPPET_BLOCK,    /* statements */
    JG_SNIPPET_INIT,     /* braces inside of a declaration: it goes on behind them */
    JG_SNIPPET_CLASS,    /* members of a struct: they hide nothing */
    JG_SNIPPET_LIST,     /* enumerators, or names that a structured binding declares */
    JG_SNIPPET_PAREN,    /* (...) */
    JG_SNIPPET_TYPE,     /* decltype(...): a declarator may follow */
    JG_SNIPPET_CAPTURE,  /* [...] of a lambda */
    JG_SNIPPET_LAMBDA,   /* (...) behind it */
    JG_SNIPPET_SUBSCRIPT /* [...] of a value */
};

/* A bracket, and how far the statement in it has come. */
struct jg_snippet_scope {
    enum jg_snippet_scope_kind kind;
    bool is_declaration;  /* the statement began with words of a type */
    bool wants_name;      /* the next name is one that the statement declares */
    bool has_name;        /* it has declared one */
    bool has_operator;    /* so that two names side by side are a mistake */
    bool is_head;         /* `struct`, `class` or `union` was read: a brace opens members */
    bool is_enum;         /* `enum` was read */
    struct jg_token name; /* the last one that the statement declared or called */
};

/* Of an array, all its subscripts multiplied. */
#define JG_SNIPPET_MAX_ELEMENTS 1024

struct jg_snippet_names {
    const struct jg_epilogue *epilogue;
    struct jg_token before, token; /* the last two that were taken */
    struct jg_snippet_scope scopes[JG_SNIPPET_MAX_DEPTH + 1];
    int depth;
    enum jg_snippet_scope_kind closed; /* of the bracket that `before` closes */
    bool is_parameter_list;            /* `before` opens what may be a parameter list */
    bool is_lone_name;                 /* `before` is a name alone in parentheses */
    int wrapped;    /* tokens read of a first `float(x)` in it, which is a parameter too */
    uint32_t named; /* bit of each operand that is named */
    uint32_t begun; /* of each output whose first assignment has begun */
    uint32_t assigned; /* of each output that has a value now */
    int begun_depth;
    struct jg_token
        near[JIT_GEMM_MAX_OPERANDS]; /* a word like the operand's name, or END */
    size_t near_edits[JIT_GEMM_MAX_OPERANDS];
    uint64_t elements; /* of the array whose last subscript is being read */
    bool is_d_assigned;
    struct jg_position first_d; /* where it is named first; line 0: nowhere */
};

/* Takes the next token, the end too; brackets match up to it. COMPILE. */
jit_gemm_status jg_snippet_names_take(struct jg_snippet_names *names,
                                      const struct jg_token *next);
/* After the end: is every operand used, and every result assigned? COMPILE. */
jit_gemm_status jg_snippet_names_finish(const struct jg_snippet_names *names);

#endif
