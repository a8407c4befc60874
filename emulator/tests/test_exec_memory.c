/* SPDX-License-Identifier: MIT */
/* Loads and stores of every state space: what is legal, and how the rest is reported. */
#include <criterion/criterion.h>

#include "test_async_support.h"

#define LOCAL ".local .align 16 .b8 place[32];\nmov.u64 %rd1, place;\n"
#define PEER                                                 \
    "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"       \
    "mov.u32 %r2, %cluster_ctarank;\nxor.b32 %r2, %r2, 1;\n" \
    "mapa.shared::cluster.u32 %r3, %r1, %r2;\n"

/* `out` has 64 bytes, all written; `bare` has 64 bytes that nobody wrote. */
static uint64_t open(struct harness *h, const char *ptx)
{
    static const unsigned char zeros[64];
    uint64_t out = async_open(h, ptx, sizeof(zeros));
    emu_memory_write(h->memory, out, zeros, sizeof(zeros));
    harness_param_u64(h, harness_buffer(h, "bare", sizeof(zeros), NULL));
    return out;
}

#define BODY(text) KERNEL_WITH(", .param .u64 bare", "ld.param.u64 %rd2, [bare];\n" text)

Test(exec_memory, what_is_wrong_with_an_access_is_said)
{
    static const struct {
        uint32_t ctas; /* one cluster */
        const char *ptx;
        enum emu_finding finding;
        const char *words;
    } rows[] = {
        {1, BODY("st.global.u32 [%rd0+64], 1;\n"), EMU_FINDING_OUT_OF_BOUNDS,
         "0 bytes past the end of out (64 bytes"},
        {1, BODY("ld.global.u32 %r2, [%rd0+62];\n"), EMU_FINDING_OUT_OF_BOUNDS,
         "at byte 62 of out"},
        {1, BODY("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd0+8];\n"),
         EMU_FINDING_MISALIGNED, "not a multiple of 16"},
        {1, BODY("ld.global.u32 %r2, [%rd2+4];\nst.global.u32 [%rd0], %r2;\n"),
         EMU_FINDING_UNDEFINED, "the value that is stored is undefined"},
        {1, BODY("ld.shared.u32 %r2, [%r1+65536];\n"), EMU_FINDING_OUT_OF_BOUNDS,
         "read of 4 bytes at shared offset 66560 of CTA 0"},
        {1, BODY("st.shared.u32 [0], 1;\n"), EMU_FINDING_OUT_OF_BOUNDS,
         "write of 4 bytes at shared offset 0 of CTA 0"},
        {1, BODY("st.shared.u64 [%r1+4], 1;\n"), EMU_FINDING_MISALIGNED,
         "write of 8 bytes at shared offset 1028"},
        {1, BODY("ld.shared.u32 %r2, [%r1];\nst.global.u32 [%rd0], %r2;\n"),
         EMU_FINDING_UNDEFINED, "the value that is stored is undefined"},
        {1, BODY(LOCAL "st.local.u32 [%rd1+2], 1;\n"), EMU_FINDING_MISALIGNED,
         "access of 4 bytes at local address 2"},
        {1, BODY(LOCAL "ld.local.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+8];\n"),
         EMU_FINDING_MISALIGNED, "access of 16 bytes at local address 8"},
        {1, BODY(LOCAL "st.local.u32 [%rd1+32], 1;\n"), EMU_FINDING_OUT_OF_BOUNDS,
         "a thread has 32"},
        {1, BODY(LOCAL "ld.local.u32 %r2, [%rd1+4];\nst.global.u32 [%rd0], %r2;\n"),
         EMU_FINDING_UNDEFINED, "the value that is stored is undefined"},
        {1, BODY("mov.b64 %rd3, out;\ncvta.param.u64 %rd3, %rd3;\nst.u32 [%rd3], 1;\n"),
         EMU_FINDING_ILLEGAL, "write to the kernel's parameters"},
        {1,
         BODY("mov.b64 %rd3, out;\ncvta.param.u64 %rd3, %rd3;\nld.u32 %r2, [%rd3+16];\n"),
         EMU_FINDING_OUT_OF_BOUNDS, "byte 16 of the parameters (16 bytes)"},
        {2, BODY(PEER "ld.shared.u32 %r4, [%r3];\n"), EMU_FINDING_ILLEGAL,
         ".shared::cta reaches the own CTA only"},
        {2, BODY(PEER "add.u32 %r3, %r3, 0x2000000;\nld.shared::cluster.u32 %r4, [%r3];\n"),
         EMU_FINDING_OUT_OF_BOUNDS, "of a cluster of 2"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct harness h;
        open(&h, rows[i].ptx);

        cr_expect_not(harness_run_clusters(&h, rows[i].ctas, 1, rows[i].ctas), "row %zu",
                      i);

        async_expect_error(&h, rows[i].finding, rows[i].words);
        harness_close(&h);
    }
}

Test(exec_memory, each_thread_has_local_memory_of_its_own)
{
    struct harness h;
    uint32_t found[16];
    uint64_t out =
        open(&h, BODY(LOCAL "st.local.v4.u32 [%rd1+16], {%r0, %r0, %r0, %r0};\n"
                            "ld.local.u32 %r2, [%rd1+28];\nmul.wide.u32 %rd3, %r0, 4;\n"
                            "add.u64 %rd3, %rd3, %rd0;\nst.global.u32 [%rd3], %r2;\n"));

    cr_expect(harness_run(&h, 1, 16), "%s", harness_text(&h));

    async_expect_clean(&h);
    harness_read(&h, out, found, sizeof(found));
    for (uint32_t i = 0; i < 16; i++) {
        cr_expect_eq(found[i], i, "%u", found[i]);
    }
    harness_close(&h);
}

/* ----------------------------------------------------------------------------- 128 bits */

#define WIDE(body)                                                                     \
    ".version 9.0\n.target sm_90a\n.address_size 64\n"                                 \
    ".visible .entry k(.param .u64 cells)\n{\n"                                        \
    ".reg .b128 %q<4>; .reg .b64 %rd<12>; .reg .b32 %r<4>;\n"                          \
    ".shared .align 16 .b8 smem[16];\n"                                                \
    "ld.param.u64 %rd0, [cells]; mov.u64 %rd1, 1; mov.u64 %rd2, 2; mov.u64 %rd3, 3;\n" \
    "mov.u64 %rd4, 4; mov.b128 %q1, {%rd1, %rd2}; mov.b128 %q2, {%rd3, %rd4};\n" body  \
    "mov.b128 {%rd5, %rd6}, %q0; st.global.v2.b64 [%rd0+64], {%rd5, %rd6}; ret;\n}\n"

/* Runs a thread over cells of 16 bytes; the fifth is what the atomic gave back. */
static void run_wide(const char *ptx, const uint64_t before[2], uint64_t after[10])
{
    struct harness h;
    uint64_t cells[10] = {before[0], before[1]};
    harness_open(&h);
    harness_load(&h, ptx);
    const uint64_t buffer = harness_buffer(&h, "cells", sizeof(cells), cells);
    harness_param_u64(&h, buffer);
    cr_assert(harness_run(&h, 1, 1), "%s", harness_text(&h));
    harness_read(&h, buffer, after, sizeof(cells));
    harness_close(&h);
}

Test(exec_memory, a_cas_of_128_bits_compares_both_halves)
{
    static const struct {
        uint64_t before[2], after[2];
    } cases[] = {{{1, 2}, {3, 4}}, {{1, 9}, {1, 9}}, {{9, 2}, {9, 2}}};
    for (size_t i = 0; i < 3; i++) {
        uint64_t after[10];
        run_wide(WIDE("atom.relaxed.gpu.global.cas.b128 %q0, [%rd0], %q1, %q2;\n"),
                 cases[i].before, after);
        cr_expect_arr_eq(after, cases[i].after, 16);
        cr_expect_arr_eq(after + 8, cases[i].before, 16);
    }
}

Test(exec_memory, an_exchange_of_128_bits_gives_back_what_was_there)
{
    const uint64_t before[2] = {7, 8};
    uint64_t after[10];

    run_wide(WIDE("atom.global.b128.exch %q0, [%rd0], %q2;\n"), before, after);
    cr_expect_arr_eq(after, ((uint64_t[]){3, 4}), 16);
    cr_expect_arr_eq(after + 8, before, 16);

    run_wide(WIDE("st.shared.v2.b64 [smem], {%rd4, %rd1};\n"
                  "atom.shared.exch.b128 _, [smem], %q2; ld.shared.b128 %q0, [smem];\n"),
             before, after);
    cr_expect_arr_eq(after + 8, ((uint64_t[]){3, 4}), 16);
}

Test(exec_memory, atomics_of_128_bits_exchange_and_nothing_else)
{
    static const char *const bodies[] = {
        WIDE("atom.global.and.b128 %q0, [%rd0], %q1;\n"),
        WIDE("atom.global.exch.b128 %q0, [%rd0], %rd1;\n"),
        WIDE("atom.global.exch.b128 %q0, [%rd0], 5;\n"),
        WIDE("atom.global.v2.cas.b32 {%r0, %r1}, [%rd0], {%r0, %r1}, %r2;\n"),
        WIDE("red.global.exch.b128 [%rd0], %q1;\n")};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct harness h;
        harness_open(&h);
        cr_expect_not(harness_try_load(&h, bodies[i]), "case %zu is accepted", i);
        harness_close(&h);
    }
}

Test(exec_memory, an_undefined_value_must_not_be_swapped_in)
{
    struct harness h;
    uint64_t cells[10] = {0};
    harness_open(&h);
    harness_load(&h, WIDE("mov.b128 %q0, {%rd1, %rd2}; .reg .b64 %u;\n"
                          "atom.global.cas.b64 %rd7, [%rd0], 0, %u;\n"));
    harness_param_u64(&h, harness_buffer(&h, "cells", sizeof(cells), cells));
    cr_expect_not(harness_run(&h, 1, 1));
    cr_expect_eq(harness_found(&h, EMU_FINDING_UNDEFINED), 1, "%s", harness_text(&h));
    harness_close(&h);
}
