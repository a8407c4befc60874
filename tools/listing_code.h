/* SPDX-License-Identifier: MIT */
/*
 * The code of one kernel as its listing says it. Shared by listing.c (text to
 * instructions), listing_flow.c (instructions to blocks and who leads to whom) and
 * listing_loops.c.
 */
#ifndef LISTING_CODE_H
#define LISTING_CODE_H

#include <stdbool.h>

#include "listing.h"

enum { NONE = -1, LABEL_SIZE = 64 };

/* One instruction. A block is a run of instructions without a branch or a label in
 * between. */
struct instruction {
    uint32_t address;
    char opcode[24];
    char target[LABEL_SIZE]; /* the label that it names, or "" */
    bool is_mention;         /* and does not go to: where threads meet again */
    bool is_guarded;         /* may be skipped */
    int ends;                /* what follows is reached only by a label, unless guarded */
    int block;
};

struct label {
    char name[LABEL_SIZE];
    int instruction; /* that follows it */
    bool is_used;    /* by a branch that names it */
};

struct block {
    int first, count; /* instructions */
    int next[2];      /* blocks that may follow, or NONE */
    bool is_indirect; /* those of the table may follow too */
    bool is_in_table; /* no branch names it: an indirect one goes there */
    int order;        /* in a reverse postorder; NONE: never reached */
    int dominator;    /* the immediate one */
};

struct code {
    struct instruction *instructions;
    struct label *labels;
    struct block *blocks;
    int *order; /* blocks in reverse postorder */
    int instruction_count, label_count, block_count, order_count;
};

bool code_starts_with(const char *text, const char *prefix);

/* Makes the blocks of the instructions, their order and their dominators; there is one
 * instruction at least. The caller frees `blocks` and `order`. */
void code_connect(struct code *code);
/* May block `to` follow block `from`? */
bool code_leads_to(const struct code *code, int from, int to);
/* Is block `upper` on every way to block `lower`? */
bool code_dominates(const struct code *code, int upper, int lower);

/* Adds the innermost loops that work, and behind each the loops inside of it. */
void code_find_loops(const struct code *code, struct listing *listing);

#endif
