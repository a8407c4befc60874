/* SPDX-License-Identifier: MIT */
/* What mbarriers say when they are used against the rules. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_async_support.h"

static void expect_error(const char *ptx, uint32_t cluster_ctas, enum emu_finding finding,
                         const char *words)
{
    struct harness h;
    async_open(&h, ptx, 64);
    cr_expect_not(harness_run_clusters(&h, cluster_ctas, 64, cluster_ctas));
    async_expect_error(&h, finding, words);
    harness_close(&h);
}

static void expect_warning(const char *ptx, const char *words)
{
    struct harness h;
    async_open(&h, ptx, 64);
    cr_expect(harness_run(&h, 1, 64), "%s", harness_text(&h));
    cr_expect_gt(harness_found(&h, EMU_FINDING_BARRIER), 0);
    cr_expect_not_null(strstr(harness_text(&h), words), "%s", harness_text(&h));
    harness_close(&h);
}

#define ALONE(body) "@!%p0 bra END;\n" body "END:\n"
#define ARRIVE      "mbarrier.arrive.shared.b64 _, [%r1];\n"

Test(async_mbarrier_errors, use_without_init)
{
    expect_error(KERNEL(ALONE(ARRIVE)), 1, EMU_FINDING_BARRIER,
                 "there is no initialised mbarrier at shared offset 1024 of CTA 0");
}

Test(async_mbarrier_errors, use_after_inval)
{
    expect_error(KERNEL(INIT(0, 1) ALONE("mbarrier.inval.shared.b64 [%r1];\n" ARRIVE)), 1,
                 EMU_FINDING_BARRIER, "there is no initialised mbarrier");
}

Test(async_mbarrier_errors, misaligned_object)
{
    expect_error(KERNEL(ALONE("mbarrier.init.shared.b64 [%r1+4], 1;\n")), 1,
                 EMU_FINDING_MISALIGNED, "not a multiple of 8");
}

Test(async_mbarrier_errors, init_of_a_live_barrier)
{
    expect_error(KERNEL(INIT(0, 1) ALONE("mbarrier.init.shared.b64 [%r1], 1;\n")), 1,
                 EMU_FINDING_BARRIER, "initialised while it is alive");
}

Test(async_mbarrier_errors, init_with_a_count_of_0)
{
    expect_error(KERNEL(ALONE("mbarrier.init.shared.b64 [%r1], 0;\n")), 1,
                 EMU_FINDING_BARRIER, "legal are 1 to 1048575");
}

Test(async_mbarrier_errors, more_arrivals_than_expected)
{
    expect_error(KERNEL(INIT(0, 2) ALONE("mbarrier.arrive.expect_tx.shared.b64 _, [%r1], "
                                         "16;\n" ARRIVE ARRIVE)),
                 1, EMU_FINDING_BARRIER, "more arrivals than expected");
}

Test(async_mbarrier_errors, more_bytes_than_expected)
{
    expect_error(
        KERNEL(INIT(0, 1) ALONE("mbarrier.arrive.expect_tx.shared.b64 _, [%r1], "
                                "16;\nmbarrier.complete_tx.shared.b64 [%r1], 32;\n")),
        1, EMU_FINDING_BARRIER, "more bytes were delivered");
}

Test(async_mbarrier_errors, tx_beyond_its_range)
{
    expect_error(KERNEL(INIT(0, 1) ALONE("mbarrier.expect_tx.shared.b64 [%r1], 1048575;\n"
                                         "mbarrier.expect_tx.shared.b64 [%r1], 1;\n")),
                 1, EMU_FINDING_BARRIER, "takes tx beyond 1048575");
    expect_error(
        KERNEL(INIT(0, 1) ALONE("mbarrier.complete_tx.shared.b64 [%r1], 1048576;\n")), 1,
        EMU_FINDING_BARRIER, "takes tx below -1048575");
}

Test(async_mbarrier_errors, no_complete_that_completes)
{
    expect_error(
        KERNEL(INIT(0, 1) ALONE("mbarrier.arrive.noComplete.shared.b64 %rd2, [%r1], 1;\n")),
        1, EMU_FINDING_BARRIER, ".noComplete completes the phase");
}

Test(async_mbarrier_errors, pending_count_of_an_ordinary_state)
{
    expect_error(KERNEL(INIT(0, 2) ALONE("mbarrier.arrive.shared.b64 %rd2, [%r1];\n"
                                         "mbarrier.pending_count.b64 %r2, %rd2;\n")),
                 1, EMU_FINDING_BARRIER, "has no pending count");
}

Test(async_mbarrier_errors, more_drop_out_than_are_expected)
{
    expect_error(
        KERNEL(INIT(0, 2) ALONE("mbarrier.arrive_drop.shared.b64 _, [%r1], 2;\n" ARRIVE)),
        1, EMU_FINDING_BARRIER, "more arrivals than expected");
}

Test(async_mbarrier_errors, state_of_another_barrier)
{
    expect_error(KERNEL(INIT(0, 1) INIT(8, 1)
                            ALONE("mbarrier.arrive.shared.b64 %rd2, [%r1];\n"
                                  "mbarrier.test_wait.shared.b64 %p1, [%r1+8], %rd2;\n")),
                 1, EMU_FINDING_BARRIER, "not of this mbarrier");
}

Test(async_mbarrier_errors, parity_of_2)
{
    expect_error(
        KERNEL(INIT(0, 1) ALONE("mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 2;\n")),
        1, EMU_FINDING_BARRIER, "legal are 0 and 1");
}

Test(async_mbarrier_errors, wait_at_another_ctas_barrier)
{
    expect_error(KERNEL(INIT(0, 1) "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                                   "mapa.shared::cluster.u32 %r3, %r1, 1;\n"
                                   "mbarrier.test_wait.parity.shared.b64 %p1, [%r3], 0;\n"
                                   "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"),
                 2, EMU_FINDING_BARRIER, "the mbarrier is in CTA 1");
}

Test(async_mbarrier_errors, state_from_another_ctas_barrier)
{
    expect_error(KERNEL(INIT(0, 1) "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                                   "mov.u32 %r2, %cluster_ctarank;\nxor.b32 %r2, %r2, 1;\n"
                                   "mapa.shared::cluster.u32 %r3, %r1, %r2;\n"
                                   "@%p0 mbarrier.arrive.release.cluster.shared::cluster"
                                   ".b64 %rd2, [%r3];\n"
                                   "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"),
                 2, EMU_FINDING_BARRIER, "the destination must be _");
}

Test(async_mbarrier_errors, arrival_at_a_cta_that_has_exited)
{
    expect_error(KERNEL("mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p2, %r2, 0;\n" INIT(
                     0, 1) "barrier.cluster.arrive;\nbarrier.cluster.wait;\n@%p2 exit;\n"
                           "mov.u32 %r5, 0;\nW:\nadd.u32 %r5, %r5, 1;\n"
                           "setp.lt.u32 %p3, %r5, 2000;\n@%p3 bra W;\n"
                           "mapa.shared::cluster.u32 %r3, %r1, 0;\n"
                           "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                           "[%r3];\n"),
                 2, EMU_FINDING_EXITED_CTA, "exited");
}

Test(async_mbarrier_errors, plain_accesses_to_a_live_barrier)
{
    expect_error(KERNEL(INIT(0, 1) ALONE("st.shared.u32 [%r1+4], 1;\n")), 1,
                 EMU_FINDING_BARRIER, "write over the mbarrier at shared offset 1028");
    expect_error(KERNEL(INIT(0, 1) ALONE("ld.shared.u32 %r2, [%r1];\n")), 1,
                 EMU_FINDING_BARRIER, "read over the mbarrier");
}

Test(async_mbarrier_errors, use_that_nothing_orders_after_the_init)
{
    expect_error(KERNEL("@%p0 mbarrier.init.shared.b64 [%r1], 1;\n"
                        "setp.lt.u32 %p2, %r0, 32;\n@%p2 bra END;\n"
                        "mov.u32 %r5, 0;\nW:\nadd.u32 %r5, %r5, 1;\n"
                        "setp.lt.u32 %p3, %r5, 500;\n@%p3 bra W;\n" ARRIVE "END:\n"),
                 1, EMU_FINDING_RACE, "nothing orders this after its initialisation");
}

Test(async_mbarrier_errors, relaxed_cluster_barrier_without_the_init_fence_is_remarked)
{
#define PEER(fence)                                                                \
    KERNEL("@%p0 mbarrier.init.shared.b64 [%r1], 64;\n" fence                      \
           "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n"              \
           "mov.u32 %r2, %cluster_ctarank;\nxor.b32 %r2, %r2, 1;\n"                \
           "mapa.shared::cluster.u32 %r3, %r1, %r2;\n"                             \
           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n" WAIT( \
               "W", 0, 0) "barrier.cluster.arrive;\nbarrier.cluster.wait;\n")
    struct harness h;
    async_open(&h, PEER(""), 4);
    cr_expect(harness_run_clusters(&h, 2, 64, 2), "%s", harness_text(&h));
    async_expect_clean(&h);
    cr_expect_not_null(strstr(harness_text(&h), "without fence.mbarrier_init"));
    harness_close(&h);
    async_open(&h, PEER("fence.mbarrier_init.release.cluster;\n"), 4);
    cr_expect(harness_run_clusters(&h, 2, 64, 2), "%s", harness_text(&h));
    harness_close(&h);
}

/* ---------------------------------------------------------------------------- warnings */

Test(async_mbarrier_errors, phase_that_nobody_waited_for)
{
    expect_warning(KERNEL(INIT(0, 1) ALONE(ARRIVE ARRIVE)),
                   "nobody has waited successfully for the phase before it");
}

/* Waiters that take turns skip the phases of the others. */
Test(async_mbarrier_errors, parity_of_the_phase_after_next_is_only_remarked)
{
    struct harness h;
    async_open(&h,
               KERNEL(INIT(0, 1) ALONE(
                   ARRIVE "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" ARRIVE
                          "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n")),
               64);
    cr_expect(harness_run(&h, 1, 64), "%s", harness_text(&h));
    async_expect_clean(&h);
    cr_expect_not_null(strstr(harness_text(&h), "is ambiguous"), "%s", harness_text(&h));
    harness_close(&h);
}

Test(async_mbarrier_errors, parity_that_means_another_phase)
{
    expect_warning(
        KERNEL(INIT(0, 1) ALONE(
            ARRIVE "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;\n" ARRIVE ARRIVE
                   "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;\n")),
        "this warp saw phase 0 last, and 3 have completed");
}

/* The second warp has seen phase 0; the first one sees two more and meets it, or not. */
#define TWO_WARPS(meet)                                                                  \
    KERNEL(INIT(0, 1) "@%p0 " ARRIVE WAIT(                                               \
        "W0", 0, 0) "bar.sync 2, 64;\nsetp.ge.u32 %p2, %r0, 32;\n"                       \
                    "@%p2 bra SECOND;\n"                                                 \
                    "@%p0 " ARRIVE WAIT("W1", 0, 1) "@%p0 " ARRIVE WAIT("W2", 0, 0) meet \
           "bra END;\nSECOND:\n" meet "mov.u32 %r2, 0;\nSPIN:\nadd.u32 %r2, %r2, 1;\n"   \
           "setp.lt.u32 %p3, %r2, 2000;\n@%p3 bra SPIN;\n"                               \
           "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;\nEND:\n")

Test(async_mbarrier_errors, parity_of_a_phase_that_another_warp_has_told_of)
{
    struct harness h;
    async_open(&h, TWO_WARPS("bar.sync 1, 64;\n"), 64);
    cr_expect(harness_run(&h, 1, 64), "%s", harness_text(&h));
    cr_expect_null(strstr(harness_text(&h), "is ambiguous"), "%s", harness_text(&h));
    harness_close(&h);
    expect_warning(TWO_WARPS(""), "this warp saw phase 0 last, and 3 have completed");
}

Test(async_mbarrier_errors, state_of_an_old_phase)
{
    expect_warning(
        KERNEL(INIT(0, 1) ALONE("mbarrier.arrive.shared.b64 %rd2, [%r1];\n" ARRIVE ARRIVE
                                "mbarrier.test_wait.shared.b64 %p1, [%r1], %rd2;\n")),
        "3 phases old");
}

Test(async_mbarrier_errors, barrier_left_in_the_middle_of_a_phase)
{
    expect_warning(KERNEL(INIT(0, 2) ALONE(ARRIVE)), "exited in the middle of a phase");
    expect_warning(KERNEL(INIT(0, 1) ALONE("mbarrier.expect_tx.shared.b64 [%r1], 16;\n")),
                   "tx 16");
}

/* ---------------------------------------------------------------------------- deadlocks */

Test(async_mbarrier_errors, deadlock_report_shows_state_and_events)
{
    struct harness h;
    async_open(
        &h,
        KERNEL(INIT(0, 2) "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 48;\n" WAIT(
            "W", 0, 0)),
        4);
    cr_expect_not(harness_run(&h, 1, 64));
    async_expect_error(
        &h, EMU_FINDING_DEADLOCK,
        "waits for mbarrier at shared offset 1024 of CTA 0 (phase 0, parity 0, "
        "pending 1 of 2, tx 48)");
    cr_expect_not_null(strstr(harness_text(&h), "expect_tx 48"));
    cr_expect_not_null(strstr(harness_text(&h), "arrive 1"));
    harness_close(&h);
}

/* ------------------------------------------------------------------------------ decoding
 */

static void expect_refusal(const char *ptx, const char *words)
{
    struct harness h;
    harness_open(&h);
    cr_expect_not(harness_try_load(&h, ptx));
    cr_expect_not_null(strstr(h.error.text, words), "`%s` is not in: %s", words,
                       h.error.text);
    harness_close(&h);
}

Test(async_mbarrier_errors, words_that_nobody_knows_are_refused)
{
    expect_refusal(KERNEL("mbarrier.arrive.sometimes.shared.b64 _, [%r1];\n"),
                   ".sometimes");
    expect_refusal(KERNEL("mbarrier.arrive.release.shared.b64 _, [%r1];\n"),
                   "semantics and scope must be given together");
    expect_refusal(KERNEL("mbarrier.init.shared::cluster.b64 [%r1], 1;\n"), "own CTA only");
    expect_refusal(KERNEL("mbarrier.try_wait.parity.b64 %p1, [%rd0];\n"), "operands");
}
