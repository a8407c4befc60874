/* SPDX-License-Identifier: MIT */
/* cp.async and its groups and arrivals; st.async and red.async. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_async_support.h"

#define THREADS 64u

/* Thread i copies 16 bytes from source + 16 i to %r3 = %r1 + 1024 + 16 i; after `finish` it
 * reads the word at %r4, 16 bytes of thread (i + 32) % 64, and writes it to out[i]. */
#define COPY(copy, finish, next)                                                         \
    KERNEL_WITH(                                                                         \
        ", .param .u64 source",                                                          \
        "ld.param.u64 %rd1, [source];\nshl.b32 %r2, %r0, 4;\ncvt.u64.u32 %rd2, %r2;\n"   \
        "add.u64 %rd1, %rd1, %rd2;\nadd.u32 %r3, %r1, %r2;\nadd.u32 %r3, %r3, 1024;\n"   \
        "add.u32 %r4, %r0, " #next ";\nand.b32 %r4, %r4, 63;\nshl.b32 %r4, %r4, 4;\n"    \
        "add.u32 %r4, %r4, %r1;\nadd.u32 %r4, %r4, 1024;\n"                              \
        "shl.b32 %r5, %r0, 2;\ncvt.u64.u32 %rd3, %r5;\nadd.u64 %rd0, %rd0, %rd3;\n" copy \
            finish "ld.shared.u32 %r6, [%r4+8];\nst.global.u32 [%rd0], %r6;\n")

static const char *copy_ptx;
static uint32_t copy_next;
static bool copy_zero;

static bool run(struct harness *h, const char *ptx, const struct emu_settings *settings,
                uint32_t *found)
{
    uint32_t source[THREADS * 4];
    for (uint32_t i = 0; i < THREADS * 4; i++) {
        source[i] = i + 1;
    }
    uint64_t out = async_open(h, ptx, 4 * THREADS);
    if (settings != NULL) {
        h->settings = *settings;
    }
    harness_param_u64(h, harness_buffer(h, "source", sizeof(source), source));
    bool good = harness_run(h, 1, THREADS);
    harness_read(h, out, found, 4 * THREADS);
    return good;
}

static void run_copy(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found[THREADS];
    cr_expect(run(&h, copy_ptx, settings, found), "%s", harness_text(&h));
    async_expect_clean(&h);
    for (uint32_t i = 0; i < THREADS; i++) {
        cr_expect_eq(found[i], copy_zero ? 0 : (i + copy_next) % THREADS * 4 + 3);
    }
    harness_close(&h);
}

static void expect_copy(const char *ptx, uint32_t next, bool zero)
{
    copy_ptx = ptx;
    copy_next = next;
    copy_zero = zero;
    async_in_all_modes(run_copy);
}

#define WHOLE "cp.async.cg.shared.global [%r3], [%rd1], 16;\n"

Test(async_cp_async, wait_all_covers_the_own_copies)
{
    expect_copy(COPY(WHOLE, "cp.async.wait_all;\n", 0), 0, false);
}

Test(async_cp_async, wait_group_and_a_barrier_cover_everybodys)
{
    expect_copy(COPY("cp.async.ca.shared.global [%r3], [%rd1], 4;\n"
                     "cp.async.ca.shared.global.L2::128B [%r3+8], [%rd1+8], 8;\n"
                     "cp.async.commit_group;\n",
                     "cp.async.wait_group 0;\nbar.sync 0;\n", 32),
                32, false);
}

Test(async_cp_async, bytes_beyond_the_source_size_are_zero)
{
    expect_copy(COPY("mov.u32 %r7, 8;\ncp.async.cg.shared.global [%r3], [%rd1], 16, %r7;\n",
                     "cp.async.wait_all;\n", 0),
                0, true);
    expect_copy(COPY("cp.async.cg.shared.global.L2::cache_hint [%r3], [%rd1], 16, 12, "
                     "%rd2;\n",
                     "cp.async.wait_all;\n", 0),
                0, false);
}

Test(async_cp_async, ignored_source_is_not_read)
{
    expect_copy(COPY("setp.eq.u32 %p1, %r1, %r1;\nmov.u64 %rd1, 64;\n"
                     "cp.async.cg.shared.global [%r3], [%rd1], 16, %p1;\n",
                     "cp.async.wait_all;\n", 0),
                0, true);
}

Test(async_cp_async, mbarrier_hears_of_the_copies)
{
    /* Without .noinc the arrivals account for themselves: only the plain ones are expected.
     */
    expect_copy(COPY(INIT(0, 64) WHOLE "cp.async.mbarrier.arrive.shared.b64 [%r1];\n"
                                       "mbarrier.arrive.shared.b64 _, [%r1];\n",
                     WAIT("W", 0, 0), 32),
                32, false);
    expect_copy(COPY(INIT(0, 64) WHOLE
                     "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];\n",
                     WAIT("W", 0, 0), 32),
                32, false);
}

static void expect_error(const char *ptx, enum emu_finding finding, const char *words)
{
    struct harness h;
    uint32_t found[THREADS];
    struct emu_settings settings = emu_settings_default();
    settings.async = EMU_ASYNC_LATEST;
    settings.threads = 1;
    cr_expect_not(run(&h, ptx, &settings, found));
    async_expect_error(&h, finding, words);
    harness_close(&h);
}

Test(async_cp_async, missing_waits_are_found)
{
    expect_error(COPY(WHOLE, "", 0), EMU_FINDING_UNDEFINED, "undefined");
    expect_error(COPY("st.shared.v4.u32 [%r3], {%r0, %r0, %r0, %r0};\n" WHOLE
                      "cp.async.commit_group;\n" WHOLE "cp.async.commit_group;\n",
                      "cp.async.wait_group 1;\n", 0),
                 EMU_FINDING_RACE, "nothing orders them");
    /* The wait of one thread covers its own copies only. */
    struct harness h;
    uint32_t found[THREADS];
    cr_expect_not(run(&h, COPY(WHOLE, "cp.async.wait_all;\n", 32), NULL, found));
    harness_close(&h);
}

Test(async_cp_async, misuse_is_named)
{
    expect_error(COPY("mov.u32 %r7, 17;\n"
                      "cp.async.cg.shared.global [%r3], [%rd1], 16, %r7;\n",
                      "", 0),
                 EMU_FINDING_ILLEGAL, "a source of 17 bytes");
    expect_error(COPY("cp.async.cg.shared.global [%r3], [%rd1+8], 16;\n", "", 0),
                 EMU_FINDING_MISALIGNED, "not aligned to 16");
    expect_error(
        COPY("cp.async.cg.shared.global [%r3+8], [%rd1], 16;\n", "cp.async.wait_all;\n", 0),
        EMU_FINDING_MISALIGNED, "not a multiple of 16");
    struct harness h;
    harness_open(&h);
    cr_expect_not(
        harness_try_load(&h, KERNEL("cp.async.cg.shared.global [%r1], [%rd0], 8;\n")));
    cr_expect_not_null(strstr(h.error.text, "a copy of 8 bytes"));
    harness_close(&h);
}

/* ------------------------------------------------------------- values to another CTA */

/* CTA 0's lane 0 sends to CTA 1, which holds {1, 2, 3, 4} at %r1 + 64, expects `bytes`, and
 * writes the first word to out. */
#define SEND(bytes, send)                                                                 \
    KERNEL("mov.u32 %r5, %cluster_ctarank;\nsetp.eq.u32 %p2, %r5, 0;\n" INIT(             \
        0, 1) "mov.u32 %r10, 1;\nmov.u32 %r11, 2;\nmov.u32 %r12, 3;\nmov.u32 %r13, 4;\n"  \
              "@%p0 st.shared.v4.u32 [%r1+64], {%r10, %r11, %r12, %r13};\n"               \
              "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"                          \
              "mapa.shared::cluster.u32 %r7, %r1, 1;\n@!%p0 bra MEET;\n"                  \
              "@!%p2 bra RECEIVE;\n" send "bra MEET;\nRECEIVE:\n"                         \
              "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], " #bytes ";\n" WAIT(        \
                  "W", 0, 0) "ld.shared.u32 %r8, [%r1+64];\nst.global.u32 [%rd0], %r8;\n" \
                             "MEET:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n")

static const char *send_ptx;
static uint32_t send_expected;

static void run_send(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found = 0;
    uint64_t out = async_open(&h, send_ptx, 4);
    h.settings = *settings;
    cr_expect(harness_run_clusters(&h, 2, 32, 2), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, &found, 4);
    cr_expect_eq(found, send_expected);
    harness_close(&h);
}

static void expect_send(const char *ptx, uint32_t expected)
{
    send_ptx = ptx;
    send_expected = expected;
    async_in_all_modes(run_send);
}

Test(async_cp_async, st_async_sends_values)
{
    expect_send(SEND(4, "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 "
                        "[%r7+64], %r12, [%r7];\n"),
                3);
    expect_send(SEND(16,
                     "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                     "[%r7+64], {%r13, %r12, %r11, %r10}, [%r7];\n"),
                4);
}

Test(async_cp_async, red_async_adds_to_what_is_there)
{
    expect_send(SEND(4, "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                        "bytes.add.u32 [%r7+64], %r13, [%r7];\n"),
                5);
    expect_send(SEND(4, "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                        "bytes.dec.u32 [%r7+64], %r13, [%r7];\n"),
                0);
}

Test(async_cp_async, red_async_to_the_own_cta_is_refused)
{
    struct harness h;
    async_open(&h,
               SEND(4, "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                       "bytes.add.u32 [%r1+64], %r13, [%r1];\n"),
               4);
    cr_expect_not(harness_run_clusters(&h, 2, 32, 2));
    async_expect_error(&h, EMU_FINDING_ILLEGAL, "another CTA of the cluster");
    harness_close(&h);
}
