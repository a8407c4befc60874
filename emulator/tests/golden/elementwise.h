/* SPDX-License-Identifier: MIT */
/*
 * Cases of one instruction (or a few) over many operands: thread i reads item i and writes
 * result i. A case is a row of a table.
 */
#ifndef EMU_GOLDEN_ELEMENTWISE_H
#define EMU_GOLDEN_ELEMENTWISE_H

#include "golden.h"

/*
 * text: PTX that computes %y0, %y1, … from %x0, %x1, …; or, where it has no '%', one or
 * more opcodes with a blank between: the k-th becomes "OPCODE %yk, %x0, %x1, …;". There are
 * scratch registers %h0-3 (16 bits), %u0-15 (32), %v0-7 (64), %q0-7 (predicates), and %out:
 * the address in global memory where the item's results will go, as big as they are.
 * in: a letter per operand, its domain (operands.c has the table).
 * out: a letter per result: h 16 bits, r 32, d 64, p predicate.
 */
struct gold_row {
    const char *name; /* NULL: the text is the name */
    const char *text;
    const char *in, *out;
};

/* What the rows of a table share. */
struct gold_style {
    unsigned items; /* 0: as many as the domains want */
    unsigned full_items, block_items;
    struct gold_tolerance tolerance;
    const char *declarations; /* more PTX at the start of the entry, or NULL */
    /* Where not NULL: the operands, instead of the domains, which only give registers. */
    uint64_t (*value)(const void *user, unsigned operand, unsigned item,
                      struct gold_random *random);
    const void *user;
    bool record_only;
};

void gold_row_run(struct gold_run *run, const struct gold_row *row,
                  const struct gold_style *style);
void gold_rows_run(struct gold_run *run, const struct gold_row *rows, size_t count,
                   const struct gold_style *style);

/* Domains of operands. */
/* h, r or d: the register that holds a value of the domain. */
char gold_domain_register(char letter);
/* How many items operands of these domains want. */
unsigned gold_domain_items(const char *letters);
/* Operand `operand` of item `item`. */
uint64_t gold_domain_value(const char *letters, unsigned operand, unsigned item,
                           struct gold_random *random);

#endif
