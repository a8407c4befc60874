/* SPDX-License-Identifier: MIT */
/*
 * A second reading of epilogue snippets: what they compute, without a compiler.
 *
 * It knows statements on local variables of type bool, int, unsigned, float and double,
 * with if, loops and calls of the prelude. Whatever else C++ has is refused with its
 * place: an answer is right or there is none. Numbers are intervals (interval.h), which
 * hold what any order of contraction and any permitted rounding gives.
 */
#ifndef VERIFY_SNIPPET_H
#define VERIFY_SNIPPET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verify/interval.h"

/* Most operands of a snippet. */
enum { SNIPPET_MAX_OPERANDS = 32, SNIPPET_REASON_SIZE = 256 };

struct snippet;

struct snippet_operand {
    const char *name;
    bool is_output; /* the snippet assigns it; otherwise it reads it */
};

/*
 * Reads a text. NULL if it cannot be interpreted, and then `reason` begins with
 * "line:column: " of the construct that is not known. The names are copied. Free it with
 * snippet_free.
 */
struct snippet *snippet_read(const char *text, size_t size,
                             const struct snippet_operand *operands, size_t count,
                             char reason[SNIPPET_REASON_SIZE]);
/* Accepts NULL. */
void snippet_free(struct snippet *snippet);
/* Does it name acc0 or acc1? `acc` means nothing then. */
bool snippet_is_pair(const struct snippet *snippet);

/* What a snippet sees of one element of D. */
struct snippet_element {
    struct interval acc;     /* of a plain snippet */
    struct interval pair[2]; /* acc0 and acc1 of a pair */
    int32_t row, col, batch, m, n, k;
    /* Significand bits of the finest type among D, outputs and reductions; 0: of f32. */
    int result_bits;
    struct interval operands[SNIPPET_MAX_OPERANDS]; /* values of inputs */
};

/* What it makes of it, as f32. */
struct snippet_results {
    struct interval d;
    struct interval operands[SNIPPET_MAX_OPERANDS]; /* of outputs */
};

enum snippet_outcome {
    SNIPPET_DONE,
    SNIPPET_UNDECIDED, /* a branch depends on a value within its error */
    SNIPPET_CANNOT     /* C++ does not define what happens, or it takes too long */
};

/* `reason` is set unless the outcome is SNIPPET_DONE. Results of another outcome are
 * unknown intervals. A snippet may be run by many threads. */
enum snippet_outcome snippet_run(const struct snippet *snippet,
                                 const struct snippet_element *element,
                                 struct snippet_results *ret_results,
                                 char reason[SNIPPET_REASON_SIZE]);

#endif
