/* SPDX-License-Identifier: MIT */
/*
 * Loops of a snippet end. The one form is `for (int i = FIRST; i < LAST && ...; i++)`: an
 * int that the head declares, bounds made of integers, sizes, places and counters of the
 * loops around it, a constant step from one to the other, and nothing else that changes the
 * counter. A loop without an end would hang the GPU.
 */
#ifndef JG_PLAN_SNIPPET_LOOPS_H
#define JG_PLAN_SNIPPET_LOOPS_H

#include "plan/snippet_token.h"

/* Turns that loops inside of each other take at most; a bound of sizes counts as so many.
 */
#define JG_SNIPPET_MAX_TURNS  65536
#define JG_SNIPPET_SIZE_TURNS 4096

enum {
    JG_SNIPPET_MAX_LOOPS = 8, /* inside of each other */
    JG_SNIPPET_MAX_HEAD = 64, /* tokens of a head */
    JG_SNIPPET_MAX_CONSTANTS = 8,
    JG_SNIPPET_SEEN = 5 /* tokens before this one that are remembered */
};

/* A loop whose body is being read. */
struct jg_snippet_loop {
    struct jg_token counter; /* END: it has none, and goes through an array */
    int depth;               /* brackets around it */
    uint64_t turns;          /* at most, with those of the loops around it */
    uint64_t reach;          /* of the counter: how far it comes from 0, about */
    bool has_body;           /* its body has begun */
    bool is_branched;        /* with `if`: an `else` goes on with it */
    bool is_braced;          /* with what may end with a brace */
};

struct jg_snippet_loops {
    const struct jg_epilogue *epilogue;
    struct jg_token seen[JG_SNIPPET_SEEN]; /* [0] is the last one; unset ones are END */
    int depth;
    bool may_end;            /* the token before ended a statement of the innermost loops */
    struct jg_token keyword; /* of the head that is being read; else END */
    int head_depth;
    struct jg_token head[JG_SNIPPET_MAX_HEAD];
    int head_size;
    struct jg_snippet_loop loops[JG_SNIPPET_MAX_LOOPS]; /* the innermost is the last */
    int count;
    struct {
        struct jg_token name;
        int64_t value;
    } constants[JG_SNIPPET_MAX_CONSTANTS]; /* `const int name = number;` */
    int constant_count;
};

/* Takes the next token, and the one behind it; brackets match up to it. COMPILE. */
jit_gemm_status jg_snippet_loops_take(struct jg_snippet_loops *loops,
                                      const struct jg_token *token,
                                      const struct jg_token *next);

#endif
