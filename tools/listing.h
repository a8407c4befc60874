/* SPDX-License-Identifier: MIT */
/*
 * A listing of machine code as nvdisasm prints it, and what it says of a kernel: how often
 * each opcode occurs, and the loops that work. A loop is what a backward branch closes: the
 * branch's target is on every way to it (a natural loop). It is read as text, because not
 * every toolkit's nvdisasm prints JSON: there would be two readers.
 */
#ifndef LISTING_H
#define LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listing_opcode {
    char name[24]; /* without its modifiers: UTCHMMA of UTCHMMA.2CTA */
    unsigned count;
};

/* The innermost loop that multiplies on the tensor core, loads by TMA, or loads tensor
 * memory; or a loop inside of that one that every turn enters, and that repeats no wait. */
struct listing_loop {
    uint32_t address;      /* of its first instruction */
    uint32_t outer;        /* address of the loop that it stands in, or 0 */
    unsigned instructions; /* of one turn in which no wait has to be repeated; those of
                              loops inside of it are not counted */
    unsigned multiplications, tma_loads, commits, tmem_loads;
};

enum { LISTING_MAX_OPCODES = 256, LISTING_MAX_LOOPS = 32 };

struct listing {
    unsigned instructions;
    struct listing_opcode opcodes[LISTING_MAX_OPCODES]; /* by name */
    size_t opcode_count;
    struct listing_loop loops[LISTING_MAX_LOOPS]; /* by address */
    size_t loop_count;
};

/* Is this opcode a multiplication of the tensor core? `name`: as in struct
 * listing_opcode. */
bool listing_is_multiplication(const char *name);
/*
 * Reads the code of one kernel out of the text of a whole file. NULL if all is well,
 * otherwise what is wrong (static).
 */
const char *listing_read(const char *text, const char *kernel, struct listing *ret_listing);

#endif
