/* SPDX-License-Identifier: MIT */
/* The results of a random unit against the interpreter of its snippets. */
#ifndef UNIT_COMPARE_H
#define UNIT_COMPARE_H

#include "random_unit.h"

struct counts {
    uint64_t snippets, elements, open, refused, references;
    uint64_t in_place; /* units */
    uint64_t blocks;   /* scales that the kernel computed, and reductions of blocks */
};

/* A result that is not allowed fails the unit. */
void compare_results(struct unit *unit, struct counts *counts);

#endif
