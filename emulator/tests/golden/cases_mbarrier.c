/* SPDX-License-Identifier: MIT */
/*
 * mbarrier: sequences of operations by one thread, with what can be seen in between; and
 * operations on the barrier of another CTA of the cluster.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/*
 * A script is a list of steps, each a letter and where it needs one a number:
 *   iN init    v inval    aN arrive    nN arrive.noComplete    dN arrive_drop
 *   mN arrive_drop.noComplete    eN arrive.expect_tx    fN arrive_drop.expect_tx
 *   xN expect_tx    cN complete_tx    s keep the last token
 * and those that are seen, a word each in the output:
 *   0, 1 test_wait.parity    w test_wait of the last token    o of the kept one
 *   tN try_wait.parity       p pending_count of the last token
 */
struct script {
    const char *name, *steps;
};

static const struct script scripts[] = {
    {"fresh", "i1 0 1"},
    {"one_arrival", "i1 a1 0 1"},
    {"phases", "i1 0 1 a1 0 1 a1 0 1 a1 0 1"},
    {"counted", "i3 a1 0 a1 0 a1 0 1 a2 1 a1 1 0"},
    {"counts_at_once", "i5 a2 0 a3 0 1 a5 0 1"},
    {"tokens", "i2 a1 w s a1 w o a1 w o"},
    {"pending", "i5 n2 p n1 p 0 a2 0 1 n1 p n3 p a1 0 1"},
    {"tx_after_expect", "i1 x64 0 a1 0 c64 0 1"},
    {"tx_before_expect", "i1 c64 0 e64 0 1"},
    {"tx_in_pieces", "i2 c16 c16 a1 0 e32 0 1"},
    {"tx_partly_before", "i1 c16 0 e64 0 c32 0 c16 0 1"},
    {"tx_then_arrive", "i2 e64 0 c64 0 a1 0 1"},
    {"expect_alone", "i1 x32 0 c32 0 a1 0 1"},
    {"expect_zero", "i1 e0 0 1"},
    {"tx_over_phases", "i1 e16 c16 0 1 e32 0 1 c32 0 1"},
    {"drop", "i2 d1 0 a1 0 1 a1 0 1 a1 0 1"},
    {"drop_two", "i3 d2 0 a1 0 1 a1 0 1"},
    {"drop_last", "i2 a1 d1 0 1 a1 0 1"},
    {"drop_token", "i2 d1 w s a1 w o"},
    {"drop_expect", "i2 f32 0 c32 0 a1 0 1 a1 0 1"},
    {"drop_no_complete", "i3 m1 p 0 a2 0 1 a2 0 1"},
    {"invalidated", "i1 a1 0 1 v i2 0 1 a1 0 a1 0 1"},
    {"largest_count", "i1048575 0 a1048574 0 a1 0 1"},
    {"largest_tx", "i1 x1048575 a1 0 c1048574 0 c1 0 1"},
    {"largest_negative_tx", "i1 c1048575 0 e1048575 0 1"},
    {"try_wait", "i1 t1 a1 t0 0 1"},
};

static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry run(.param .u64 p_in, .param .u64 p_out, .param .u32 p_count)\n{\n"
    "    .shared .align 16 .b64 bar;\n    .shared .align 16 .b8 cells[64];\n"
    "    .reg .pred %p<4>;\n    .reg .b32 %lane, %bar, %far, %rank, %n, %cells, %r<16>;\n"
    "    .reg .b64 %out, %in, %token, %kept, %d<8>;\n"
    "    ld.param.u64 %out, [p_out];\n    ld.param.u64 %in, [p_in];\n"
    "    mov.u32 %lane, %tid.x;\n    mov.u32 %bar, bar;\n    mov.u32 %cells, cells;\n"
    "    mov.b64 %token, 0;\n    mov.b64 %kept, 0;\n"
    "    setp.ne.u32 %p0, %lane, 0;\n    @%p0 bra END;\n";

#define AT_BAR ".shared::cta.b64 "

static const struct {
    char letter;
    const char *form; /* $n: the number */
} quiet_steps[] = {
    {'i', "mbarrier.init" AT_BAR "[%bar], $n;"},
    {'v', "mbarrier.inval" AT_BAR "[%bar];"},
    {'a', "mbarrier.arrive.release.cta" AT_BAR "%token, [%bar], $n;"},
    {'n', "mbarrier.arrive.noComplete.release.cta" AT_BAR "%token, [%bar], $n;"},
    {'d', "mbarrier.arrive_drop.release.cta" AT_BAR "%token, [%bar], $n;"},
    {'m', "mbarrier.arrive_drop.noComplete.release.cta" AT_BAR "%token, [%bar], $n;"},
    {'e', "mbarrier.arrive.expect_tx.release.cta" AT_BAR "%token, [%bar], $n;"},
    {'f', "mbarrier.arrive_drop.expect_tx.release.cta" AT_BAR "%token, [%bar], $n;"},
    {'x', "mbarrier.expect_tx.relaxed.cta" AT_BAR "[%bar], $n;"},
    {'c', "mbarrier.complete_tx.relaxed.cta" AT_BAR "[%bar], $n;"},
    {'s', "mov.b64 %kept, %token;"},
};
static const struct {
    char letter;
    const char *form; /* into %p1, or %r0 when it is a number */
} seen_steps[] = {
    {'0', "mbarrier.test_wait.parity" AT_BAR "%p1, [%bar], 0;"},
    {'1', "mbarrier.test_wait.parity" AT_BAR "%p1, [%bar], 1;"},
    {'w', "mbarrier.test_wait" AT_BAR "%p1, [%bar], %token;"},
    {'o', "mbarrier.test_wait" AT_BAR "%p1, [%bar], %kept;"},
    {'t', "mbarrier.try_wait.parity" AT_BAR "%p1, [%bar], $n;"},
    {'p', "mbarrier.pending_count.b64 %r0, %token;"},
};

/* True: the step is one that is seen. */
static bool add_step(struct gold_text *ptx, char letter, long number)
{
    const struct gold_value values[] = {{'n', number}, {'\0', 0}};

    gold_text_add(ptx, "    ");
    for (size_t i = 0; i < COUNT(quiet_steps); i++) {
        if (quiet_steps[i].letter != letter) {
            continue;
        }
        gold_text_fill(ptx, quiet_steps[i].form, values);
        gold_text_add(ptx, "\n");
        return false;
    }
    for (size_t i = 0; i < COUNT(seen_steps); i++) {
        if (seen_steps[i].letter != letter) {
            continue;
        }
        gold_text_fill(ptx, seen_steps[i].form, values);
        gold_text_add(ptx, letter == 'p' ? "\n" : "\n    selp.u32 %%r0, 1, 0, %%p1;\n");
        return true;
    }
    fprintf(stderr, "emu_golden: no step %c\n", letter);
    exit(2);
}

static void run_script(struct gold_run *run, const struct script *script)
{
    struct gold_text ptx = {0};
    const char *at = script->steps;
    unsigned seen = 0;
    struct gold_case one;

    gold_text_add(&ptx, "%s", head);
    while (*at != '\0') {
        char letter = *at++;
        long number = strtol(at, NULL, 10); /* of a step without one: never used */

        at += strcspn(at, " ");
        at += strspn(at, " ");
        if (!add_step(&ptx, letter, number)) {
            continue;
        }
        gold_text_add(&ptx, "    st.global.u32 [%%out+%u], %%r0;\n", 4 * seen);
        seen++;
    }
    gold_text_add(&ptx, "END:\n    ret;\n}\n");
    memset(&one, 0, sizeof(one));
    one.name = script->name;
    one.ptx = ptx.text;
    one.grid = one.cluster = 1;
    one.block = 32;
    one.items = one.full_items = seen;
    one.block_items = 1;
    one.item_bytes = one.part_bytes = 4;
    gold_case_run(run, &one);
    free(ptx.text);
}

/*
 * A cluster of two CTAs, one thread each at work. Both barriers are set up for `arrivals`;
 * CTA 1 performs `far_side` (%far: the barrier of CTA 0, %r8: the cells of CTA 0); CTA 0
 * performs `near_side` and then waits for phase 0, a bounded time. Seen: whether it
 * completed, both parities afterwards, and the 16 words of CTA 0's cells.
 */
struct pair {
    const char *name;
    unsigned arrivals;
    const char *far_side, *near_side;
};

#define REMOTE ".shared::cluster.b64 "

static const struct pair pairs[] = {
    {"remote_arrive", 1, "mbarrier.arrive.release.cluster" REMOTE "_, [%far];", ""},
    {"remote_arrive_counted", 3, "mbarrier.arrive.release.cluster" REMOTE "_, [%far], 2;",
     "mbarrier.arrive.release.cta" AT_BAR "_, [%bar];"},
    {"remote_expect", 1,
     "mbarrier.arrive.expect_tx.release.cluster" REMOTE "_, [%far], 48; "
     "mbarrier.complete_tx.relaxed.cluster" REMOTE "[%far], 48;",
     ""},
    {"remote_expect_alone", 1,
     "mbarrier.expect_tx.relaxed.cluster" REMOTE "[%far], 32; "
     "mbarrier.complete_tx.relaxed.cluster" REMOTE "[%far], 32; "
     "mbarrier.arrive.release.cluster" REMOTE "_, [%far];",
     ""},
    {"remote_drop", 2, "mbarrier.arrive_drop.release.cluster" REMOTE "_, [%far];",
     "mbarrier.arrive.release.cta" AT_BAR "_, [%bar];"},
    {"own_through_cluster", 2, "mbarrier.arrive.release.cluster" REMOTE "_, [%far];",
     "mapa.shared::cluster.u32 %r9, %bar, 0; mbarrier.arrive.release.cluster" REMOTE
     "_, [%r9];"},
#define SEND "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
    {"st_async.b32", 1, SEND ".b32 [%r8+4], 0x12345678, [%far];",
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 4;"},
    {"st_async.b64", 1,
     "mov.b64 %d0, 0x123456789ABCDEF0; " SEND ".b64 [%r8+8], %d0, [%far];",
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 8;"},
    {"st_async.v2.b32", 1, SEND ".v2.b32 [%r8+8], {17, 34}, [%far];",
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 8;"},
    {"st_async.v4.b32", 1,
     "mov.b32 %r9, 1; mov.b32 %r10, 2; mov.b32 %r11, 3; mov.b32 %r12, -4; " SEND
     ".v4.b32 [%r8+16], {%r9, %r10, %r11, %r12}, [%far];",
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 16;"},
    {"st_async.v2.b64", 1,
     "mov.b64 %d0, 0x1122334455667788; mov.b64 %d1, -2; " SEND
     ".v2.b64 [%r8+32], {%d0, %d1}, [%far];",
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 16;"},
#undef SEND
/* The cells hold 0x10001 times their number plus 1 before. */
#define REDUCE(operation, word, value)                                                  \
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." operation \
    " [%r8+" #word "], " value ", [%far]; "
    {"red_async.u32", 1,
     REDUCE("add.u32", 0, "0xFFFF") REDUCE("min.u32", 4, "0x7FFF") REDUCE(
         "max.u32", 8, "-1") REDUCE("inc.u32", 12, "0x40004") REDUCE("dec.u32", 16, "7"),
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 20;"},
    {"red_async.s32", 1,
     REDUCE("add.s32", 0, "-70000") REDUCE("min.s32", 4, "-5") REDUCE("max.s32", 8, "-1"),
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 12;"},
    {"red_async.b32", 1,
     REDUCE("and.b32", 0, "0xFFFF") REDUCE("or.b32", 4, "0xF0F0")
         REDUCE("xor.b32", 8, "-1"),
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 12;"},
    {"red_async.u64", 1, "mov.b64 %d0, 0xFFFFFFFFFFFF0001; " REDUCE("add.u64", 8, "%d0"),
     "mbarrier.arrive.expect_tx" AT_BAR "_, [%bar], 8;"},
#undef REDUCE
};

static void run_pair(struct gold_run *run, const struct pair *pair)
{
    const struct gold_value values[] = {{'n', pair->arrivals}, {'\0', 0}};
    struct gold_text ptx = {0};
    struct gold_case one;

    gold_text_add(&ptx, "%s", head);
    gold_text_fill(&ptx,
                   "    mov.u32 %rank, %cluster_ctarank;\n"
                   "    mbarrier.init" AT_BAR "[%bar], $n;\n"
                   "    fence.mbarrier_init.release.cluster;\n",
                   values);
    for (unsigned i = 0; i < 16; i++) {
        gold_text_add(&ptx, "    st.shared.u32 [%%cells+%u], %u;\n", 4 * i,
                      0x10001 * (i + 1));
    }
    gold_text_add(&ptx,
                  "    barrier.cluster.arrive.release;\n    barrier.cluster.wait.acquire;\n"
                  "    mapa.shared::cluster.u32 %%far, %%bar, 0;\n"
                  "    mapa.shared::cluster.u32 %%r8, %%cells, 0;\n"
                  "    setp.eq.u32 %%p2, %%rank, 0;\n    @%%p2 bra NEAR;\n"
                  "    %s\n    bra.uni MEET;\nNEAR:\n    %s\n    mov.u32 %%n, 0;\nPOLL:\n"
                  "    mbarrier.test_wait.parity.acquire.cluster" AT_BAR
                  "%%p1, [%%bar], 0;\n"
                  "    @%%p1 bra SEEN;\n    add.u32 %%n, %%n, 1;\n"
                  "    setp.lt.u32 %%p3, %%n, 200000;\n    @%%p3 bra POLL;\nSEEN:\n"
                  "    selp.u32 %%r0, 1, 0, %%p1;\n    st.global.u32 [%%out], %%r0;\n",
                  pair->far_side, pair->near_side);
    for (unsigned i = 0; i < 2; i++) {
        gold_text_add(
            &ptx,
            "    mbarrier.test_wait.parity" AT_BAR "%%p1, [%%bar], %u;\n"
            "    selp.u32 %%r0, 1, 0, %%p1;\n    st.global.u32 [%%out+%u], %%r0;\n",
            i, 4 + 4 * i);
    }
    for (unsigned i = 0; i < 16; i++) {
        gold_text_add(&ptx,
                      "    ld.shared.u32 %%r0, [%%cells+%u];\n"
                      "    st.global.u32 [%%out+%u], %%r0;\n",
                      4 * i, 12 + 4 * i);
    }
    gold_text_add(&ptx, "MEET:\n    barrier.cluster.arrive.release;\n"
                        "    barrier.cluster.wait.acquire;\nEND:\n    ret;\n}\n");
    memset(&one, 0, sizeof(one));
    one.name = pair->name;
    one.ptx = ptx.text;
    one.grid = one.cluster = 2;
    one.block = 1;
    one.items = one.full_items = 19;
    one.block_items = 1;
    one.item_bytes = one.part_bytes = 4;
    gold_case_run(run, &one);
    free(ptx.text);
}

void gold_mbarrier_cases(struct gold_run *run)
{
    for (size_t i = 0; i < COUNT(scripts); i++) {
        run_script(run, &scripts[i]);
    }
    for (size_t i = 0; i < COUNT(pairs); i++) {
        run_pair(run, &pairs[i]);
    }
}
