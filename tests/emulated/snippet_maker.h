/* SPDX-License-Identifier: MIT */
/* Random snippets: legal, and of values that stay in a range where errors stay small. */
#ifndef SNIPPET_MAKER_H
#define SNIPPET_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of a seed; the same on every machine. */
struct draws {
    uint64_t state;
};

struct draws draws_of(uint64_t seed);
/* 0 to count - 1. */
uint32_t draw_below(struct draws *draws, uint32_t count);

/* What a snippet may read beside row, col, batch, M, N and K. Names of pairs and of
 * operands that hold other values are added here. */
struct snippet_scope {
    const char *leaves[20]; /* floats; the first more often than the others */
    size_t leaf_count;
    /* Every operation is rounded in one way: there is no product that a compiler may
     * contract with a sum, of which it may choose another in another kernel. */
    bool has_one_rounding;
    int depth; /* of the last expression */
};

/* Writes a block of statements, at the end of which `output` is assigned. `must_read` is a
 * list of names with NULL at its end, each of which is added to what was drawn. */
void make_snippet(struct draws *draws, const struct snippet_scope *scope,
                  const char *const *must_read, const char *output, char *text,
                  size_t size);

#endif
