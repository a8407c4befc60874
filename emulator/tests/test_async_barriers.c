/* SPDX-License-Identifier: MIT */
/* bar, barrier.cluster, mapa, setmaxnreg and dependent launch. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_async_support.h"

/* Each thread stores its number at 4 * tid of shared memory, meets, and reads the slot of
 * thread (tid + 32) % threads into out[tid]. */
#define EXCHANGE(meet, threads)                                                      \
    "shl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, %r2;\nst.shared.u32 [%r3], %r0;\n" meet \
    "add.u32 %r4, %r0, 32;\nrem.u32 %r4, %r4, " #threads ";\nshl.b32 %r4, %r4, 2;\n" \
    "add.u32 %r4, %r4, %r1;\nld.shared.u32 %r5, [%r4];\ncvt.u64.u32 %rd2, %r2;\n"    \
    "add.u64 %rd2, %rd2, %rd0;\nst.global.u32 [%rd2], %r5;\n"

static const char *exchange_ptx;

static void run_exchange(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found[128];
    uint64_t out = async_open(&h, exchange_ptx, sizeof(found));
    h.settings = *settings;
    cr_expect(harness_run(&h, 1, 128), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, found, sizeof(found));
    for (uint32_t i = 0; i < 128; i++) {
        cr_expect_eq(found[i], (i + 32) % 128);
    }
    harness_close(&h);
}

Test(async_barriers, bar_sync_orders_all_threads_of_the_cta)
{
    exchange_ptx = KERNEL(EXCHANGE("bar.sync 0;\n", 128));
    async_in_all_modes(run_exchange);
    exchange_ptx = KERNEL(EXCHANGE("barrier.cta.sync.aligned 15, 128;\n", 128));
    async_in_all_modes(run_exchange);
}

Test(async_barriers, lanes_may_come_to_an_unaligned_barrier_one_by_one)
{
    exchange_ptx = KERNEL(EXCHANGE("and.b32 %r6, %r0, 1;\nsetp.eq.u32 %p1, %r6, 0;\n"
                                   "@%p1 bra EVEN;\nbarrier.sync 3;\nbra MET;\n"
                                   "EVEN:\nbarrier.sync 3;\nMET:\n",
                                   128));
    async_in_all_modes(run_exchange);
}

Test(async_barriers, without_a_barrier_the_exchange_is_a_race)
{
    struct harness h;
    async_open(&h, KERNEL(EXCHANGE("", 128)), 512);
    h.settings.definedness = false;
    cr_expect_not(harness_run(&h, 1, 128));
    async_expect_error(&h, EMU_FINDING_RACE, "nothing orders them");
    harness_close(&h);
}

static void expect_error(const char *ptx, uint32_t threads, enum emu_finding finding,
                         const char *words)
{
    struct harness h;
    async_open(&h, ptx, 512);
    cr_expect_not(harness_run(&h, 1, threads));
    async_expect_error(&h, finding, words);
    harness_close(&h);
}

static void expect_words(const char *ptx, uint32_t ctas, uint32_t threads,
                         const uint32_t *words, unsigned count)
{
    struct harness h;
    uint32_t found[64] = {0};
    uint64_t out = async_open(&h, ptx, sizeof(found));
    cr_expect(harness_run_clusters(&h, ctas, threads, ctas), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, found, count * sizeof(*found));
    for (unsigned i = 0; i < count; i++) {
        cr_expect_eq(found[i], words[i], "word %u is %u, not %u", i, found[i], words[i]);
    }
    harness_close(&h);
}

#define SEVEN "mov.u32 %r2, 7;\n"

Test(async_barriers, lanes_of_one_store_may_write_the_same)
{
    static const uint32_t seven = 7;
    expect_words(KERNEL(SEVEN "st.global.u32 [%rd0], %r2;\n"), 1, 32, &seven, 1);
    expect_words(KERNEL(SEVEN "st.shared.u32 [%r1], %r2;\nbar.warp.sync 0xffffffff;\n"
                              "ld.shared.u32 %r3, [%r1];\nst.global.u32 [%rd0], %r3;\n"),
                 1, 32, &seven, 1);
}

Test(async_barriers, what_else_meets_within_a_warp_is_a_race)
{
    const char *const words = "nothing orders them\n";
    expect_error(KERNEL("st.global.u32 [%rd0], %r0;\n"), 32, EMU_FINDING_RACE, words);
    expect_error(KERNEL("st.shared.u32 [%r1], %r0;\n"), 32, EMU_FINDING_RACE, words);
    expect_error(KERNEL(SEVEN "@%p0 st.global.u32 [%rd0], %r2;\n"
                              "@!%p0 st.global.u32 [%rd0], %r2;\n"),
                 32, EMU_FINDING_RACE, words);
    expect_error(KERNEL(SEVEN "st.global.u32 [%rd0], %r2;\nld.global.u32 %r3, [%rd0];\n"),
                 32, EMU_FINDING_RACE, words);
    expect_error(KERNEL(SEVEN "st.global.u32 [%rd0], %r2;\n"), 64, EMU_FINDING_RACE, words);
}

Test(async_barriers, producers_arrive_and_do_not_wait)
{
    /* Warps 1 and 2 arrive at barrier 1 and wait at 2; warp 0 waits at 1, then arrives. */
    const uint32_t words[] = {1 + 2, 77};
    expect_words(
        KERNEL("shr.u32 %r2, %r0, 5;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra CONSUME;\n"
               "shl.b32 %r3, %r2, 2;\nadd.u32 %r3, %r3, %r1;\n"
               "and.b32 %r4, %r0, 31;\nsetp.eq.u32 %p2, %r4, 0;\n"
               "@%p2 st.shared.u32 [%r3], %r2;\n"
               "bar.arrive 1, 96;\nbar.sync 2, 96;\n"
               "setp.eq.u32 %p3, %r0, 32;\n@!%p3 bra END;\n"
               "ld.shared.u32 %r5, [%r1+64];\nst.global.u32 [%rd0+4], %r5;\nbra END;\n"
               "CONSUME:\nbar.sync 1, 96;\n"
               "ld.shared.u32 %r5, [%r1+4];\nld.shared.u32 %r6, [%r1+8];\n"
               "add.u32 %r5, %r5, %r6;\n@%p0 st.global.u32 [%rd0], %r5;\n"
               "@%p0 st.shared.u32 [%r1+64], 77;\nbar.arrive 2, 96;\nEND:\n"),
        1, 96, words, 2);
}

Test(async_barriers, red_counts_and_combines_predicates)
{
    const uint32_t words[] = {40, 0, 1, 1};
    expect_words(KERNEL("setp.lt.u32 %p1, %r0, 40;\nsetp.lt.u32 %p2, %r0, 64;\n"
                        "bar.red.popc.u32 %r2, 1, %p1;\n@%p0 st.global.u32 [%rd0], %r2;\n"
                        "bar.red.and.pred %p3, 1, 64, %p1;\nselp.u32 %r3, 1, 0, %p3;\n"
                        "@%p0 st.global.u32 [%rd0+4], %r3;\n"
                        "bar.red.or.pred %p4, 1, %p1;\nselp.u32 %r4, 1, 0, %p4;\n"
                        "@%p0 st.global.u32 [%rd0+8], %r4;\n"
                        "bar.red.or.pred %p5, 1, !%p2;\nselp.u32 %r5, 0, 1, %p5;\n"
                        "@%p0 st.global.u32 [%rd0+12], %r5;\n"),
                 1, 64, words, 4);
}

Test(async_barriers, warps_that_exited_are_not_waited_for)
{
    const uint32_t words[] = {1};
    expect_words(KERNEL("setp.gt.u32 %p1, %r0, 31;\n@%p1 exit;\nbar.sync 0;\n"
                        "@%p0 st.global.u32 [%rd0], 1;\n"),
                 1, 128, words, 1);
}

Test(async_barriers, explicit_count_waits_for_exited_warps_forever)
{
    expect_error(KERNEL("setp.gt.u32 %p1, %r0, 31;\n@%p1 exit;\nbar.sync 0, 64;\n"), 64,
                 EMU_FINDING_DEADLOCK,
                 "32 of 64 threads; warps 0 are there, warp 1 has exited");
}

Test(async_barriers, misuse_is_named)
{
    expect_error(KERNEL("bar.sync 16;\n"), 32, EMU_FINDING_BARRIER, "legal are 0 to 15");
    expect_error(KERNEL("bar.sync 0, 33;\n"), 64, EMU_FINDING_BARRIER, "multiples of 32");
    expect_error(KERNEL("bar.sync 0, 96;\n"), 64, EMU_FINDING_BARRIER,
                 "up to the CTA's 64");
    expect_error(KERNEL("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra A;\nbar.sync 0, 128;\nbra B;\n"
                        "A:\nbar.sync 0, 96;\nB:\n"),
                 128, EMU_FINDING_BARRIER, "but others wait at it with");
    expect_error(KERNEL("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra A;\nbar.sync 0;\nbra B;\n"
                        "A:\nbar.red.popc.u32 %r2, 0, %p1;\nB:\n"),
                 64, EMU_FINDING_BARRIER, "but others wait at it by");
    expect_error(KERNEL("bar.arrive 0, 64;\nbar.arrive 0, 64;\n"), 64, EMU_FINDING_BARRIER,
                 "a second time before the barrier completed");
    expect_error(KERNEL("setp.lt.u32 %p1, %r0, 16;\n@%p1 bra A;\nbar.sync 0;\nbra B;\n"
                        "A:\nbar.sync 0;\nB:\n"),
                 32, EMU_FINDING_DIVERGENCE, "must execute this together");
}

/* ----------------------------------------------------------------------------- clusters */

/* CTA r leaves r + 1 in its shared memory; thread 0 of each CTA adds up what all have. */
#define SUM(arrive, wait)                                                               \
    KERNEL("mov.u32 %r2, %cluster_ctarank;\nadd.u32 %r3, %r2, 1;\n"                     \
           "@%p0 st.shared.u32 [%r1], %r3;\n" arrive wait                               \
           "mov.u32 %r4, 0;\nmov.u32 %r5, 0;\n"                                         \
           "L:\nmapa.shared::cluster.u32 %r6, %r1, %r4;\n"                              \
           "ld.shared::cluster.u32 %r7, [%r6];\nadd.u32 %r5, %r5, %r7;\n"               \
           "getctarank.shared::cluster.u32 %r8, %r6;\nadd.u32 %r4, %r8, 1;\n"           \
           "mov.u32 %r9, %cluster_nctarank;\nsetp.lt.u32 %p1, %r4, %r9;\n@%p1 bra L;\n" \
           "mul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd2, %rd2, %rd0;\n"                    \
           "@%p0 st.global.u32 [%rd2], %r5;\n"                                          \
           "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n")

static const char *sum_ptx;

static void run_sum(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found[4];
    uint64_t out = async_open(&h, sum_ptx, sizeof(found));
    h.settings = *settings;
    cr_expect(harness_run_clusters(&h, 4, 48, 4), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, found, sizeof(found));
    for (unsigned i = 0; i < 4; i++) {
        cr_expect_eq(found[i], 10);
    }
    harness_close(&h);
}

Test(async_barriers, cluster_barrier_orders_all_ctas)
{
    sum_ptx = SUM("barrier.cluster.arrive.release.aligned;\n",
                  "barrier.cluster.wait.acquire.aligned;\n");
    async_in_all_modes(run_sum);
    sum_ptx = SUM("barrier.cluster.arrive;\n", "barrier.cluster.wait;\n");
    async_in_all_modes(run_sum);
    sum_ptx = SUM("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\n",
                  "barrier.cluster.wait;\n");
    async_in_all_modes(run_sum);
}

Test(async_barriers, relaxed_cluster_barrier_hands_nothing_over)
{
    struct harness h;
    async_open(&h, SUM("barrier.cluster.arrive.relaxed;\n", "barrier.cluster.wait;\n"), 16);
    cr_expect_not(harness_run_clusters(&h, 4, 32, 4));
    async_expect_error(&h, EMU_FINDING_RACE, "nothing orders them");
    harness_close(&h);
}

/* CTA 1 stores into CTA 0, which reads it behind the barrier. */
#define STORE_TO_PEER(before)                                                  \
    KERNEL(before "mov.u32 %r3, %cluster_ctarank;\nsetp.eq.u32 %p1, %r3, 1;\n" \
                  "mapa.shared::cluster.u32 %r5, %r1, 0;\n"                    \
                  "@%p1 st.shared::cluster.u32 [%r5], 9;\n"                    \
                  "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"           \
                  "@!%p1 ld.shared.u32 %r6, [%r1];\n@!%p1 st.global.u32 [%rd0], %r6;\n")

Test(async_barriers, memory_of_a_cta_that_may_not_have_begun_is_not_touched)
{
    static const char *const kernels[] = {
        STORE_TO_PEER("barrier.cluster.arrive;\nbarrier.cluster.wait;\n"),
        STORE_TO_PEER("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n")};
    struct harness h;
    async_open(&h, STORE_TO_PEER(""), 4);
    cr_expect_not(harness_run_clusters(&h, 2, 1, 2));
    async_expect_error(&h, EMU_FINDING_RACE, "nothing tells that this CTA has begun");
    harness_close(&h);
    for (unsigned i = 0; i < 2; i++) {
        async_open(&h, kernels[i], 4);
        cr_expect(harness_run_clusters(&h, 2, 1, 2), "%s", harness_text(&h));
        async_expect_clean(&h);
        harness_close(&h);
    }
}

/* Thread 32 of each CTA reads what thread 0 wrote. */
Test(async_barriers, relaxed_cluster_barrier_within_one_cta_is_let_pass_with_advice)
{
    struct harness h;
    async_open(&h,
               KERNEL("@%p0 st.shared.u32 [%r1], 7;\n"
                      "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n"
                      "setp.ne.u32 %p1, %r0, 32;\n@%p1 exit;\n"
                      "mov.u32 %r3, %cluster_ctarank;\nmul.wide.u32 %rd1, %r3, 4;\n"
                      "add.u64 %rd1, %rd1, %rd0;\n"
                      "ld.shared.u32 %r2, [%r1];\nst.global.u32 [%rd1], %r2;\n"),
               8);
    cr_expect(harness_run_clusters(&h, 2, 64, 2), "%s", harness_text(&h));
    async_expect_clean(&h);
    cr_expect_geq(harness_found(&h, EMU_FINDING_RACE), 1, "%s", harness_text(&h));
    harness_close(&h);
}

/* Who is asked at random may not be asked for a long time. */
Test(async_barriers, two_warps_that_meet_among_many_that_left_are_no_deadlock)
{
    struct harness h;
    async_open(&h,
               KERNEL("setp.ge.u32 %p1, %r0, 64;\n@%p1 exit;\nmov.u32 %r2, 0;\n"
                      "L:\nbar.sync 1, 64;\nadd.u32 %r2, %r2, 1;\n"
                      "setp.lt.u32 %p2, %r2, 200;\n@%p2 bra L;\n"),
               4);
    for (h.settings.seed = 0; h.settings.seed < 4; h.settings.seed++) {
        h.settings.schedule = EMU_SCHEDULE_RANDOM;
        cr_expect(harness_run(&h, 1, 1024), "%s", harness_text(&h));
        h.settings.schedule = EMU_SCHEDULE_STARVE;
        cr_expect(harness_run(&h, 1, 1024), "%s", harness_text(&h));
    }
    harness_close(&h);
}

Test(async_barriers, ctas_that_exited_are_not_waited_for)
{
    const uint32_t words[] = {5};
    expect_words(KERNEL("mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p1, %r2, 1;\n"
                        "@%p1 exit;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                        "@%p0 st.global.u32 [%rd0], 5;\n"),
                 2, 32, words, 1);
}

Test(async_barriers, cluster_barrier_wants_arrive_and_wait_in_turn)
{
    expect_error(KERNEL("barrier.cluster.wait;\n"), 32, EMU_FINDING_BARRIER,
                 "without an arrival");
    expect_error(KERNEL("@%p0 barrier.cluster.arrive;\n@%p0 barrier.cluster.arrive;\n"), 32,
                 EMU_FINDING_BARRIER, "a second arrival");
}

Test(async_barriers, missing_cluster_arrival_is_a_deadlock_that_names_the_warp)
{
    struct harness h;
    async_open(&h,
               KERNEL("mov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p1, %r2, 1;\n"
                      "@%p1 bra OTHER;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                      "bra END;\nOTHER:\nsetp.lt.u32 %p2, %r0, 32;\n@!%p2 bra END;\n"
                      "bar.sync 1, 64;\nEND:\n"),
               4);
    cr_expect_not(harness_run_clusters(&h, 2, 64, 2));
    async_expect_error(&h, EMU_FINDING_DEADLOCK, "missing: CTA 1 warp 0 lanes ffffffff");
    harness_close(&h);
}

Test(async_barriers, mapa_beyond_the_cluster_is_found)
{
    expect_error(KERNEL("mapa.shared::cluster.u32 %r2, %r1, 1;\n"), 32,
                 EMU_FINDING_OUT_OF_BOUNDS, "CTA 1 of a cluster of 1");
}

/* ---------------------------------------------------------------------------- registers */

#define ROLES(low, high)                                 \
    KERNEL("setp.lt.u32 %p1, %r0, 128;\n@%p1 bra LOW;\n" \
           "setmaxnreg.inc.sync.aligned.u32 " #high ";\nbra END;\nLOW:\n" low "END:\n")

Test(async_barriers, registers_move_between_warpgroups)
{
    struct harness h;
    async_open(&h, ROLES("setmaxnreg.dec.sync.aligned.u32 24;\n", 152), 4);
    h.registers_per_thread = 88;
    cr_expect(harness_run(&h, 1, 256), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_close(&h);
}

Test(async_barriers, more_registers_than_there_are_is_a_deadlock)
{
    struct harness h;
    async_open(&h, ROLES("setmaxnreg.dec.sync.aligned.u32 24;\n", 160), 4);
    h.registers_per_thread = 88;
    cr_expect_not(harness_run(&h, 1, 256));
    async_expect_error(&h, EMU_FINDING_DEADLOCK, "registers of the CTA (from 88 to 160");
    harness_close(&h);
}

Test(async_barriers, warp_that_skips_setmaxnreg_is_found)
{
    struct harness h;
    async_open(&h,
               ROLES("setp.lt.u32 %p2, %r0, 32;\n"
                     "@%p2 bra END;\nsetmaxnreg.dec.sync.aligned.u32 24;\n",
                     152),
               4);
    cr_expect_not(harness_run(&h, 1, 256));
    async_expect_error(&h, EMU_FINDING_ILLEGAL, "all warps of a warpgroup");
    harness_close(&h);
}

Test(async_barriers, setmaxnreg_in_the_wrong_direction_is_found)
{
    struct harness h;
    async_open(&h, KERNEL("setmaxnreg.dec.sync.aligned.u32 96;\n"), 4);
    h.registers_per_thread = 88;
    cr_expect_not(harness_run(&h, 1, 128));
    async_expect_error(&h, EMU_FINDING_ILLEGAL,
                       "setmaxnreg.dec to 96, but the warp has 88");
    harness_close(&h);
    harness_open(&h);
    cr_expect_not(harness_try_load(&h, KERNEL("setmaxnreg.dec.sync.aligned.u32 25;\n")));
    cr_expect_not_null(strstr(h.error.text, "multiples of 8"));
    harness_close(&h);
}
