/* SPDX-License-Identifier: MIT */
/* What mbarriers do when they are used by the rules. */
#include <criterion/criterion.h>

#include "test_async_support.h"

/* Thread 0 writes predicate %p1 as word `index` of out. */
#define PUT(index) \
    "selp.u32 %r59, 1, 0, %p1;\n@%p0 st.global.u32 [%rd0+4*" #index "], %r59;\n"

static void expect_words(const char *ptx, uint32_t threads, const uint32_t *words,
                         unsigned count)
{
    struct harness h;
    uint32_t found[16] = {0};
    uint64_t out = async_open(&h, ptx, sizeof(found));
    cr_expect(harness_run(&h, 1, threads), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, found, count * sizeof(*found));
    for (unsigned i = 0; i < count; i++) {
        cr_expect_eq(found[i], words[i], "word %u is %u, not %u", i, found[i], words[i]);
    }
    harness_close(&h);
}

Test(async_mbarrier, fresh_barrier_passes_parity_1_and_holds_parity_0)
{
    const uint32_t words[] = {1, 0};
    expect_words(
        KERNEL(INIT(0, 1) "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;\n" PUT(
            0) "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(1)),
        32, words, 2);
}

Test(async_mbarrier, phase_completes_with_the_last_arrival)
{
    const uint32_t words[] = {0, 1, 0};
    expect_words(
        KERNEL(INIT(
            0,
            3) "@!%p0 bra END;\n"
               "mbarrier.arrive.shared.b64 _, [%r1], 2;\n"
               "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                   0) "mbarrier.arrive.shared.b64 _, [%r1];\n"
                      "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                          1) "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;\n" PUT(2) "END:\n"),
        32, words, 3);
}

Test(async_mbarrier, token_means_the_phase_of_its_arrival)
{
    const uint32_t words[] = {0, 1};
    expect_words(
        KERNEL(INIT(0, 2) "@!%p0 bra END;\n"
                          "mbarrier.arrive.shared.b64 %rd2, [%r1];\n"
                          "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd2;\n" PUT(
                              0) "mbarrier.arrive.shared.b64 _, [%r1];\n"
                                 "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd2;\n" PUT(
                                     1) "END:\n"),
        32, words, 2);
}

Test(async_mbarrier, every_lane_arrives_for_itself)
{
    const uint32_t words[] = {1};
    expect_words(
        KERNEL(INIT(
            0, 64) "mbarrier.arrive.shared.b64 %rd2, [%r1];\n"
                   "W:\nmbarrier.try_wait.shared.b64 %p1, [%r1], %rd2;\n@!%p1 bra W;\n" PUT(
                       0)),
        64, words, 1);
}

Test(async_mbarrier, expected_bytes_hold_the_phase_until_they_came)
{
    const uint32_t words[] = {0, 1};
    expect_words(
        KERNEL(
            INIT(0, 1) "@!%p0 bra END;\n"
                       "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 96;\n"
                       "mbarrier.complete_tx.shared.b64 [%r1], 64;\n"
                       "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                           0) "mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 32;\n"
                              "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                                  1) "END:\n"),
        32, words, 2);
}

Test(async_mbarrier, bytes_may_come_before_they_are_expected)
{
    const uint32_t words[] = {0, 1};
    expect_words(
        KERNEL(
            INIT(0, 1) "@!%p0 bra END;\n"
                       "mbarrier.complete_tx.shared.b64 [%r1], 96;\n"
                       "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                           0) "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 96;\n"
                              "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                                  1) "END:\n"),
        32, words, 2);
}

Test(async_mbarrier, expect_tx_alone_never_completes_a_phase)
{
    const uint32_t words[] = {0, 1};
    expect_words(
        KERNEL(
            INIT(0, 1) "@!%p0 bra END;\n"
                       "mbarrier.complete_tx.shared.b64 [%r1], 96;\n"
                       "mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 96;\n"
                       "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                           0) "mbarrier.arrive.shared.b64 _, [%r1];\n"
                              "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                                  1) "END:\n"),
        32, words, 2);
}

Test(async_mbarrier, who_dropped_out_is_not_expected_any_more)
{
    const uint32_t words[] = {1, 1};
    expect_words(
        KERNEL(
            INIT(0, 3) "@!%p0 bra END;\n"
                       "mbarrier.arrive_drop.shared.b64 _, [%r1], 2;\n"
                       "mbarrier.arrive.shared.b64 _, [%r1];\n"
                       "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                           0) "mbarrier.arrive.shared.b64 _, [%r1];\n"
                              "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;\n" PUT(
                                  1) "END:\n"),
        32, words, 2);
}

Test(async_mbarrier, no_complete_gives_the_pending_count)
{
    const uint32_t words[] = {5};
    expect_words(KERNEL(INIT(0, 5) "@!%p0 bra END;\n"
                                   "mbarrier.arrive.noComplete.shared.b64 %rd2, [%r1], 2;\n"
                                   "mbarrier.pending_count.b64 %r2, %rd2;\n"
                                   "st.global.u32 [%rd0], %r2;\n"
                                   "mbarrier.arrive.shared.b64 _, [%r1], 3;\nEND:\n"),
                 32, words, 1);
}

Test(async_mbarrier, place_serves_again_after_inval)
{
    const uint32_t words[] = {7, 0, 1};
    expect_words(
        KERNEL(INIT(
            0,
            1) "@!%p0 bra END;\n"
               "mbarrier.arrive.shared.b64 _, [%r1];\n"
               "mbarrier.inval.shared.b64 [%r1];\n"
               "st.shared.u32 [%r1], 7;\nld.shared.u32 %r2, [%r1];\n"
               "st.global.u32 [%rd0], %r2;\n"
               "mbarrier.init.shared.b64 [%r1], 1;\n"
               "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" PUT(
                   1) "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;\n" PUT(2) "END:\n"),
        32, words, 3);
}

Test(async_mbarrier, generic_addresses_serve_as_well)
{
    const uint32_t words[] = {1};
    expect_words(
        KERNEL("cvt.u64.u32 %rd2, %r1;\ncvta.shared.u64 %rd2, %rd2;\n"
               "@%p0 mbarrier.init.b64 [%rd2], 1;\nbar.sync 0;\n"
               "@%p0 mbarrier.arrive.release.cta.b64 _, [%rd2];\n"
               "W:\nmbarrier.try_wait.parity.acquire.cta.b64 %p1, [%rd2], 0, 1000;\n"
               "@!%p1 bra W;\n" PUT(0)),
        64, words, 1);
}

/* CTA 1 arrives at the barrier of CTA 0, which hands a value over. */
#define REMOTE(arrive)                                                                 \
    KERNEL("mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p2, %r2, 0;\n" INIT(          \
        0, 1) "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"       \
              "mapa.shared::cluster.u32 %r3, %r1, 0;\n"                                \
              "@%p2 bra CONSUME;\n@!%p0 bra MEET;\n"                                   \
              "st.shared::cluster.u32 [%r3+64], 42;\n" arrive "bra MEET;\n"            \
              "CONSUME:\n" WAIT(                                                       \
                  "W", 0,                                                              \
                  0) "ld.shared.u32 %r4, [%r1+64];\n@%p0 st.global.u32 [%rd0], %r4;\n" \
                     "MEET:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n")

static const char *remote_ptx;

static void run_remote(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found = 0;
    uint64_t out = async_open(&h, remote_ptx, 4);
    h.settings = *settings;
    cr_expect(harness_run_clusters(&h, 2, 32, 2), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, &found, sizeof(found));
    cr_expect_eq(found, 42);
    harness_close(&h);
}

Test(async_mbarrier, another_cta_arrives_and_hands_data_over)
{
    remote_ptx = REMOTE("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n");
    async_in_all_modes(run_remote);
}

Test(async_mbarrier, relaxed_arrival_behind_a_fence_hands_data_over)
{
    remote_ptx = REMOTE("fence.acq_rel.cluster;\n"
                        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r3];\n");
    async_in_all_modes(run_remote);
}

Test(async_mbarrier, relaxed_arrival_alone_hands_nothing_over)
{
    struct harness h;
    async_open(
        &h, REMOTE("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r3];\n"), 4);
    cr_expect_not(harness_run_clusters(&h, 2, 32, 2));
    async_expect_error(&h, EMU_FINDING_RACE, "nothing orders them");
    harness_close(&h);
}

static const char *const narrow_arrivals[] = {
    REMOTE("mbarrier.arrive.shared::cluster.b64 _, [%r3];\n"),
    REMOTE("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r3];\n"),
    REMOTE("fence.acq_rel.cluster;\n"
           "mbarrier.arrive.relaxed.cta.shared::cluster.b64 _, [%r3];\n"),
};

Test(async_mbarrier, data_handed_to_another_cta_by_an_arrival_of_cta_scope_is_a_race)
{
    for (size_t i = 0; i < sizeof(narrow_arrivals) / sizeof(narrow_arrivals[0]); i++) {
        struct harness h;
        async_open(&h, narrow_arrivals[i], 4);
        cr_expect_not(harness_run_clusters(&h, 2, 32, 2));
        async_expect_error(&h, EMU_FINDING_RACE, "this read (generic proxy) and a write");
        async_expect_error(&h, EMU_FINDING_RACE, ".release.cluster is meant");
        harness_close(&h);
    }
}

/* CTA 1 reads what CTA 0 wrote and arrives at its barrier; CTA 0 writes there again. */
static const char freed[] =
    KERNEL("mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p2, %r2, 0;\n" INIT(
        0, 1) "@%p0 st.shared.u32 [%r1+64], 42;\n"
              "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
              "mapa.shared::cluster.u32 %r3, %r1, 0;\n@%p2 bra REUSE;\n@!%p0 bra MEET;\n"
              "ld.shared::cluster.u32 %r4, [%r3+64];\nst.global.u32 [%rd0], %r4;\n"
              "mbarrier.arrive.shared::cluster.b64 _, [%r3];\nbra MEET;\n"
              "REUSE:\n" WAIT("W", 0,
                              0) "@%p0 st.shared.u32 [%r1+64], 43;\n"
                                 "MEET:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n");

/* Consumers of widespread kernels give stages back to a producer of another CTA like that.
 */
Test(async_mbarrier, memory_given_back_to_another_cta_by_an_arrival_of_cta_scope_is_advice)
{
    struct harness h;
    uint32_t found = 0;
    uint64_t out = async_open(&h, freed, 4);
    cr_expect(harness_run_clusters(&h, 2, 32, 2), "%s", harness_text(&h));
    async_expect_clean(&h);
    cr_expect_eq(harness_found(&h, EMU_FINDING_BARRIER), 1, "%s", harness_text(&h));
    cr_expect_eq(harness_found(&h, EMU_FINDING_RACE), 1, "%s", harness_text(&h));
    harness_read(&h, out, &found, sizeof(found));
    cr_expect_eq(found, 42);
    harness_close(&h);
}

/* CTA 0 copies 100 times and then lets CTA 1 go on, whose 16 warps ask in a loop. */
#define COPY_100_TIMES                                                                     \
    "mov.u32 %r4, 0;\nCOPY:\nmbarrier.arrive.expect_tx.shared.b64 _, [%r1+8], 16;\n"       \
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1+64], [%rd0], 16, " \
    "[%r1+8];\nand.b32 %r5, %r4, 1;\nW:\n"                                                 \
    "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1+8], %r5;\n@!%p2 bra W;\n"          \
    "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 100;\n@%p2 bra COPY;\n"
static const char waiting_cta[] =
    KERNEL(INIT(0, 1) INIT(8, 1) "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                                 "mov.u32 %r3, %cluster_ctarank;\n"
                                 "setp.eq.u32 %p1, %r3, 1;\n@%p1 bra CTA_1;\n"
                                 "@!%p0 bra END;\n" COPY_100_TIMES
                                 "mapa.shared::cluster.u32 %r6, %r1, 1;\n"
                                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                                 "[%r6];\nbra END;\nCTA_1:\n" WAIT("V", 0, 0) "END:\n");

Test(async_mbarrier, who_waits_is_not_asked_again_before_something_happened_in_its_cta)
{
    static const uint32_t zeros[4];
    struct harness h;
    uint64_t out = async_open(&h, waiting_cta, sizeof(zeros));
    emu_memory_write(h.memory, out, zeros, sizeof(zeros));
    h.settings.async = EMU_ASYNC_LATEST;
    cr_expect(harness_run_clusters(&h, 2, 512, 2), "%s", harness_text(&h));
    async_expect_clean(&h);
    cr_expect_lt(h.thread_steps, 2 * 512 * 40, "%llu", (unsigned long long)h.thread_steps);
    harness_close(&h);
}
