/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "listing_code.h"

/* Marks the blocks of the loop with this header: those that reach a branch back to it. */
static int mark_loop(const struct code *code, int header, char *is_inside)
{
    int changed = 1, found = 0;

    memset(is_inside, 0, (size_t)code->block_count);
    for (int i = 0; i < code->order_count; i++) {
        int at = code->order[i];

        if (code_leads_to(code, at, header) && code_dominates(code, header, at)) {
            is_inside[at] = 1;
            found = 1;
        }
    }
    while (found && changed) {
        changed = 0;
        for (int i = 0; i < code->order_count; i++) {
            int at = code->order[i];

            for (int next = 0; next < code->block_count && !is_inside[at]; next++) {
                if (at != header && next != header && is_inside[next] &&
                    code_leads_to(code, at, next)) {
                    is_inside[at] = 1;
                    changed = 1;
                }
            }
        }
    }
    is_inside[header] = (char)found;
    return found;
}

static void count_block(const struct code *code, int at, struct listing_loop *loop)
{
    const struct block *block = &code->blocks[at];

    loop->instructions += (unsigned)block->count;
    for (int i = block->first; i < block->first + block->count; i++) {
        const char *opcode = code->instructions[i].opcode;

        loop->multiplications += (unsigned)listing_is_multiplication(opcode);
        loop->tma_loads += strcmp(opcode, "UTMALDG") == 0;
        loop->commits += strcmp(opcode, "UTCBAR") == 0;
        loop->tmem_loads += strcmp(opcode, "LDTM") == 0;
    }
}

/* A repeated wait stands aside: a loop of its own and the way back. What the headers of
 * such loops dominate does not count, unless every turn passes there. */
static bool is_aside(const struct code *code, int at, int header, const char *is_header,
                     const char *is_inside)
{
    for (int inner = at; inner != header; inner = code->blocks[inner].dominator) {
        if (is_header[inner] && is_inside[inner]) {
            bool always = true;

            for (int i = 0; i < code->order_count; i++) {
                int latch = code->order[i];

                if (is_inside[latch] && code_leads_to(code, latch, header)) {
                    always = always && code_dominates(code, inner, latch);
                }
            }
            if (!always) {
                return true;
            }
        }
    }
    return false;
}

static bool waits(const struct code *code, const char *is_inside)
{
    for (int i = 0; i < code->instruction_count; i++) {
        if (is_inside[code->instructions[i].block] &&
            strcmp(code->instructions[i].opcode, "SYNCS") == 0) {
            return true;
        }
    }
    return false;
}

/* Is this the header of a loop inside of the one at `header`, which every turn enters to
 * compute? `is_nested` receives its blocks. */
static bool is_nested_loop(const struct code *code, int at, int header,
                           const char *is_header, const char *is_inside, char *is_nested)
{
    if (at == header || !is_header[at] || !is_inside[at] ||
        is_aside(code, at, header, is_header, is_inside)) {
        return false;
    }
    (void)mark_loop(code, at, is_nested);
    return !waits(code, is_nested);
}

/* One turn of the loop at `header`, without the loops inside of it. */
static struct listing_loop count_loop(const struct code *code, int header,
                                      const char *is_header, const char *is_inside)
{
    struct listing_loop loop = {.address =
                                    code->instructions[code->blocks[header].first].address};
    char *is_own = cli_alloc((size_t)code->block_count);
    char *is_nested = cli_alloc((size_t)code->block_count);

    memcpy(is_own, is_inside, (size_t)code->block_count);
    for (int i = 0; i < code->block_count; i++) {
        if (is_nested_loop(code, i, header, is_header, is_inside, is_nested)) {
            for (int j = 0; j < code->block_count; j++) {
                is_own[j] = (char)(is_own[j] && !is_nested[j]);
            }
        }
    }
    for (int i = 0; i < code->block_count; i++) {
        if (is_own[i] && !is_aside(code, i, header, is_header, is_inside)) {
            count_block(code, i, &loop);
        }
    }
    free(is_own);
    free(is_nested);
    return loop;
}

static void add_loop(struct listing *listing, struct listing_loop loop)
{
    if (listing->loop_count < LISTING_MAX_LOOPS) {
        listing->loops[listing->loop_count++] = loop;
    }
}

/* The loop at `header`, then those inside of it. */
static void add_loops(const struct code *code, int header, const char *is_header,
                      const char *is_inside, struct listing *listing)
{
    const struct listing_loop outer = count_loop(code, header, is_header, is_inside);
    char *is_nested = cli_alloc((size_t)code->block_count);

    add_loop(listing, outer);
    for (int i = 0; i < code->block_count; i++) {
        if (is_nested_loop(code, i, header, is_header, is_inside, is_nested)) {
            struct listing_loop loop = count_loop(code, i, is_header, is_nested);

            loop.outer = outer.address;
            add_loop(listing, loop);
        }
    }
    free(is_nested);
}

static bool works(const struct listing_loop *loop)
{
    return loop->multiplications + loop->tma_loads + loop->tmem_loads > 0;
}

/* Does a loop inside of this one work? */
static bool has_working_loop(const struct code *code, int header, const char *is_header,
                             const char *is_inside)
{
    char *is_nested = cli_alloc((size_t)code->block_count);
    struct listing_loop nested = {0};

    for (int i = 0; i < code->block_count; i++) {
        if (i != header && is_header[i] && is_inside[i]) {
            (void)mark_loop(code, i, is_nested);
            for (int j = 0; j < code->block_count; j++) {
                if (is_nested[j]) {
                    count_block(code, j, &nested);
                }
            }
        }
    }
    free(is_nested);
    return works(&nested);
}

void code_find_loops(const struct code *code, struct listing *listing)
{
    size_t count = (size_t)code->block_count;
    char *is_inside = cli_alloc(count), *is_header = cli_alloc(count);

    for (int i = 0; i < code->block_count; i++) {
        is_header[i] =
            (char)(code->blocks[i].order != NONE && mark_loop(code, i, is_inside));
    }
    for (int i = 0; i < code->block_count; i++) {
        struct listing_loop all = {0};

        if (!is_header[i]) {
            continue;
        }
        (void)mark_loop(code, i, is_inside);
        for (int j = 0; j < code->block_count; j++) {
            if (is_inside[j] && !is_aside(code, j, i, is_header, is_inside)) {
                count_block(code, j, &all);
            }
        }
        /* Not the loops around a loop that works: those over tiles. */
        if (works(&all) && !has_working_loop(code, i, is_header, is_inside)) {
            add_loops(code, i, is_header, is_inside, listing);
        }
    }
    free(is_inside);
    free(is_header);
}
