/* SPDX-License-Identifier: MIT */
/* A snippet that has been read: a tree of typed nodes. For the files of the interpreter. */
#ifndef VERIFY_SNIPPET_TREE_H
#define VERIFY_SNIPPET_TREE_H

#include "verify/snippet.h"

enum { SNIPPET_MAX_SLOTS = 256 };

/* In the order of C++'s conversions: the later of two operands' types is the result's. */
enum snippet_type {
    SNIPPET_BOOL,
    SNIPPET_INT,
    SNIPPET_UNSIGNED,
    SNIPPET_FLOAT,
    SNIPPET_DOUBLE
};

enum snippet_kind {
    SNIPPET_NOTHING,     /* an empty statement */
    SNIPPET_NUMBER,      /* value */
    SNIPPET_VARIABLE,    /* slot */
    SNIPPET_CONVERT,     /* first, to type */
    SNIPPET_CALL,        /* function, of first, second, third */
    SNIPPET_UNIFORM,     /* uniform(first) */
    SNIPPET_BINARY,      /* first op second; both of one type, but for shifts */
    SNIPPET_NEGATE,      /* -first */
    SNIPPET_COMPLEMENT,  /* ~first */
    SNIPPET_NOT,         /* !first */
    SNIPPET_AND,         /* first && second */
    SNIPPET_OR,          /* first || second */
    SNIPPET_CONDITIONAL, /* first ? second : third */
    SNIPPET_ASSIGN,      /* slot = first */
    SNIPPET_FORGET,      /* slot begins without a value */
    SNIPPET_BLOCK,       /* first, and what follows it by `next` */
    SNIPPET_IF,          /* if (first) second; else third */
    SNIPPET_WHILE,       /* while (first) { second; third; } */
    SNIPPET_DO,          /* do second; while (first) */
    SNIPPET_BREAK,
    SNIPPET_CONTINUE
};

/* A place in the nodes; 0 is none. */
typedef uint32_t snippet_node_id;

struct snippet_node {
    enum snippet_kind kind;
    enum snippet_type type;
    uint32_t line, column;
    uint32_t depth; /* of the tree below, this node included */
    snippet_node_id first, second, third;
    snippet_node_id next;
    uint32_t slot;
    char op[3]; /* of SNIPPET_BINARY: as written */
    struct interval value;
    const struct interval_function *function;
};

/* Slots of what is in scope of every snippet; operands are behind them. */
enum {
    SNIPPET_SLOT_ACC,
    SNIPPET_SLOT_ACC0,
    SNIPPET_SLOT_ACC1,
    SNIPPET_SLOT_D,
    SNIPPET_SLOT_ROW,
    SNIPPET_SLOT_COL,
    SNIPPET_SLOT_BATCH,
    SNIPPET_SLOT_M,
    SNIPPET_SLOT_N,
    SNIPPET_SLOT_K,
    SNIPPET_SLOT_OPERANDS
};

struct snippet {
    struct snippet_node *nodes; /* owned */
    uint32_t node_count, node_capacity;
    snippet_node_id body;
    uint32_t slot_count;
    uint32_t operand_count;
    bool is_output[SNIPPET_MAX_OPERANDS];
    bool is_pair;
};

#endif
