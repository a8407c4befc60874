/* SPDX-License-Identifier: MIT */
/*
 * Clusters that meet in global memory: each adds to what the one before it left, in the
 * order that a counter gives, as the parts of a split sum do.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "test_async_support.h"

#define CTAS    5u
#define THREADS 64u

/*
 * out[0] is the counter, out[64 + t] the sum of thread t. CTA i waits until the counter is
 * i, adds i + 1 and counts on. %r2 the CTA, %r3 its successor, %rd2 the thread's sum.
 * `poll` loads the counter into %r4.
 */
#define SERIAL(poll, behind_wait, body, before_signal, signal)                             \
    KERNEL("mov.u32 %r2, %ctaid.x;\nadd.u32 %r3, %r2, 1;\nshl.b32 %r5, %r0, 2;\n"          \
           "cvt.u64.u32 %rd2, %r5;\nadd.u64 %rd2, %rd2, %rd0;\nadd.u64 %rd2, %rd2, 256;\n" \
           "@!%p0 bra GO;\nPOLL:\n" poll "setp.ne.u32 %p1, %r4, %r2;\n@%p1 bra POLL;\n"    \
           "GO:\n" behind_wait body before_signal "@!%p0 bra END;\n" signal "END:\n")
#define ADD \
    "ld.global.u32 %r6, [%rd2];\nadd.u32 %r6, %r6, %r3;\nst.global.u32 [%rd2], %r6;\n"
#define MEET "bar.sync 0;\n"

#define ACQUIRE  "ld.acquire.gpu.global.u32 %r4, [%rd0];\n"
#define RELEASE  "st.release.gpu.global.u32 [%rd0], %r3;\n"
#define RIGHT    SERIAL(ACQUIRE, MEET, ADD, MEET, RELEASE)
#define UNOPENED SERIAL(ACQUIRE, MEET, ADD, MEET, "")

/* Opens the kernel with everything 0. */
static uint64_t open_serial(struct harness *h, const char *ptx)
{
    static const uint32_t zeros[64 + THREADS];
    uint64_t out = async_open(h, ptx, sizeof(zeros));
    emu_memory_write(h->memory, out, zeros, sizeof(zeros));
    h->settings.max_steps = 1000000;
    return out;
}

static void set_mode(struct harness *h, unsigned mode)
{
    h->settings.schedule = (enum emu_schedule)(mode % 4);
    h->settings.async = (enum emu_async_mode)(mode / 4 % 4);
    h->settings.seed = mode;
}

static void expect_right(const char *ptx, uint32_t cluster)
{
    for (unsigned mode = 0; mode < 16; mode += harness_every()) {
        struct harness h;
        uint32_t found[64 + THREADS];
        uint64_t out = open_serial(&h, ptx);
        set_mode(&h, mode);
        uint32_t ctas = cluster == 1 ? CTAS : 3 * cluster;
        cr_expect(harness_run_clusters(&h, ctas, THREADS, cluster), "mode %u: %s", mode,
                  harness_text(&h));
        async_expect_clean(&h);
        harness_read(&h, out, found, sizeof(found));
        for (uint32_t i = 0; i < THREADS; i++) {
            cr_expect_eq(found[64 + i], ctas * (ctas + 1) / 2, "mode %u, thread %u", mode,
                         i);
        }
        harness_close(&h);
    }
}

/* Every mode finds it; a race also as one of a lane whose neighbour signalled. */
static void expect_finding(const char *ptx, uint32_t cluster, enum emu_finding finding,
                           const char *words)
{
    for (unsigned mode = 0; mode < 16; mode += harness_every()) {
        struct harness h;
        open_serial(&h, ptx);
        set_mode(&h, mode);
        cr_expect_not(
            harness_run_clusters(&h, cluster == 1 ? CTAS : 3 * cluster, THREADS, cluster),
            "mode %u", mode);
        unsigned found =
            harness_found(&h, finding) +
            (finding == EMU_FINDING_RACE ? harness_found(&h, EMU_FINDING_LANE_ORDER) : 0);
        cr_expect_gt(found, 0, "mode %u: %s", mode, harness_text(&h));
        cr_expect(strstr(harness_text(&h), words) != NULL, "%s", harness_text(&h));
        harness_close(&h);
    }
}

Test(async_serial, release_and_acquire_order_clusters)
{
    expect_right(RIGHT, 1);
    expect_right(RIGHT, 2);
}

Test(async_serial, other_ways_to_hand_over_are_as_good)
{
    static const char *const kernels[] = {
        /* Fences beside relaxed accesses. */
        SERIAL("ld.relaxed.gpu.global.u32 %r4, [%rd0];\n", "fence.acq_rel.gpu;\n" MEET, ADD,
               MEET "fence.acq_rel.gpu;\n", "st.relaxed.gpu.global.u32 [%rd0], %r3;\n"),
        SERIAL("ld.volatile.global.u32 %r4, [%rd0];\n", "membar.gl;\n" MEET, ADD,
               "membar.gl;\n" MEET "fence.sc.sys;\n",
               "atom.global.add.u32 _, [%rd0], 1;\n"),
        /* Read and modify on both sides; a generic address. */
        SERIAL("atom.acquire.sys.global.or.b32 %r4, [%rd0], 0;\n", MEET, ADD, MEET,
               "red.release.gpu.global.add.u32 [%rd0], 1;\n"),
        SERIAL("ld.acquire.sys.u32 %r4, [%rd0];\n", MEET, ADD, MEET,
               "atom.acq_rel.gpu.exch.b32 %r9, [%rd0], %r3;\n"),
        /* What was released stays behind a read and modify of somebody else. */
        SERIAL(ACQUIRE "@%p0 red.relaxed.gpu.global.add.u32 [%rd0], 0;\n", MEET, ADD, MEET,
               RELEASE),
        /* A release, and a relaxed write of the same thread. */
        SERIAL(ACQUIRE, MEET, ADD, MEET,
               "st.release.gpu.global.u32 [%rd0], %r2;\n"
               "st.relaxed.gpu.global.u32 [%rd0], %r3;\n"),
    };
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        expect_right(kernels[i], 1);
    }
}

Test(async_serial, missing_half_is_a_race)
{
    static const char *const kernels[] = {
        SERIAL(ACQUIRE, MEET, ADD, MEET, "st.relaxed.gpu.global.u32 [%rd0], %r3;\n"),
        SERIAL(ACQUIRE, MEET, ADD, MEET, "red.global.add.u32 [%rd0], 1;\n"),
        SERIAL("ld.relaxed.gpu.global.u32 %r4, [%rd0];\n", MEET, ADD, MEET, RELEASE),
        SERIAL("ld.volatile.global.u32 %r4, [%rd0];\n", MEET, ADD, MEET "membar.gl;\n",
               "st.volatile.global.u32 [%rd0], %r3;\n"),
        /* The fence on the wrong side of the access. */
        SERIAL("fence.acq_rel.gpu;\nld.relaxed.gpu.global.u32 %r4, [%rd0];\n", MEET, ADD,
               MEET, RELEASE),
        SERIAL(ACQUIRE, MEET, ADD, MEET,
               "st.relaxed.gpu.global.u32 [%rd0], %r3;\nfence.acq_rel.gpu;\n"),
        /* Weak accesses order nothing, and are races themselves. */
        SERIAL("ld.global.u32 %r4, [%rd0];\nnanosleep.u32 20;\n", MEET, ADD, MEET, RELEASE),
        SERIAL(ACQUIRE, MEET, ADD, MEET, "st.global.u32 [%rd0], %r3;\n"),
    };
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        expect_finding(kernels[i], 1, EMU_FINDING_RACE, "of cluster ");
    }
}

Test(async_serial, scope_must_reach_the_other_cluster)
{
    static const char *const kernels[] = {
        SERIAL("ld.acquire.cta.global.u32 %r4, [%rd0];\n", MEET, ADD, MEET, RELEASE),
        SERIAL("ld.acquire.cluster.global.u32 %r4, [%rd0];\n", MEET, ADD, MEET, RELEASE),
        SERIAL(ACQUIRE, MEET, ADD, MEET, "st.release.cluster.global.u32 [%rd0], %r3;\n"),
        SERIAL(ACQUIRE, MEET, ADD, MEET, "red.release.cta.global.add.u32 [%rd0], 1;\n"),
        SERIAL("ld.relaxed.gpu.global.u32 %r4, [%rd0];\n", "fence.acq_rel.cta;\n" MEET, ADD,
               MEET, RELEASE),
        SERIAL(ACQUIRE, MEET, ADD, MEET "fence.acq_rel.cluster;\n",
               "st.relaxed.gpu.global.u32 [%rd0], %r3;\n"),
        SERIAL(ACQUIRE, MEET, ADD, MEET "membar.cta;\n",
               "atom.global.add.u32 _, [%rd0], 1;\n"),
    };
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        expect_finding(kernels[i], 1, EMU_FINDING_RACE, "of cluster ");
    }
}

/* Three clusters of two: in the cluster its scope is enough, beyond it is not. */
Test(async_serial, cluster_scope_orders_the_ctas_of_a_cluster)
{
    const char *ptx = SERIAL("ld.acquire.cluster.global.u32 %r4, [%rd0];\n", MEET, ADD,
                             MEET, "st.release.cluster.global.u32 [%rd0], %r3;\n");
    for (unsigned mode = 0; mode < 16; mode += harness_every()) {
        struct harness h;
        open_serial(&h, ptx);
        set_mode(&h, mode);
        cr_expect(harness_run_clusters(&h, 2, THREADS, 2), "%s", harness_text(&h));
        harness_close(&h);
    }
    expect_finding(ptx, 2, EMU_FINDING_RACE, "of cluster ");
}

Test(async_serial, the_rest_of_the_cta_must_meet_the_one_who_waited)
{
    expect_finding(SERIAL(ACQUIRE, "", ADD, MEET, RELEASE), 1, EMU_FINDING_RACE, "");
    expect_finding(SERIAL(ACQUIRE, MEET, ADD, "", RELEASE), 1, EMU_FINDING_RACE, "");
    expect_finding(SERIAL(ACQUIRE, MEET, "", MEET, RELEASE ADD), 1, EMU_FINDING_RACE, "");
}

/* A plain write of another thread ends what a release before it began. */
Test(async_serial, plain_write_replaces_what_was_released)
{
    expect_finding(SERIAL(ACQUIRE, MEET, ADD,
                          MEET RELEASE "bar.sync 0;\nsetp.eq.u32 %p0, %r0, 32;\n",
                          "st.relaxed.gpu.global.u32 [%rd0], %r3;\n"),
                   1, EMU_FINDING_RACE, "of cluster ");
}

Test(async_serial, lock_that_is_never_opened_is_a_deadlock)
{
    expect_finding(UNOPENED, 1, EMU_FINDING_DEADLOCK, "waits for something outside itself");
    /* Read and modify that change nothing. */
    expect_finding(SERIAL("atom.acquire.gpu.global.cas.b32 %r4, [%rd0], 999, 7;\n", MEET,
                          ADD, MEET, ""),
                   1, EMU_FINDING_DEADLOCK, "waits for something outside itself");
    /* Clusters of so many warps that not all have a turn in a slice. */
    expect_finding(UNOPENED, 16, EMU_FINDING_DEADLOCK,
                   "waits for something outside itself");
}

/* Five clusters take turns in no order. */
Test(async_serial, mutex_orders_who_holds_it)
{
    expect_right(
        SERIAL("mov.u32 %r2, 0;\natom.acquire.gpu.global.cas.b32 %r4, [%rd0], 0, 1;\n",
               MEET, ADD, MEET, "st.release.gpu.global.u32 [%rd0], 0;\n"),
        1);
    expect_finding(
        SERIAL("mov.u32 %r2, 0;\natom.relaxed.gpu.global.cas.b32 %r4, [%rd0], 0, 1;\n",
               MEET, ADD, MEET, "st.release.gpu.global.u32 [%rd0], 0;\n"),
        1, EMU_FINDING_RACE, "of cluster ");
}

Test(async_serial, reading_the_same_again_is_no_deadlock_where_it_ends)
{
    struct harness h;
    uint64_t out = open_serial(
        &h, KERNEL("mov.u32 %r2, 0;\nL:\nld.volatile.global.u32 %r4, [%rd0];\n"
                   "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 5000;\n@%p1 bra L;\n"
                   "@%p0 st.global.u32 [%rd0+4], %r2;\n"));
    uint32_t found[2];
    h.settings.schedule = EMU_SCHEDULE_DEEP;
    cr_expect(harness_run(&h, 1, 64), "%s", harness_text(&h));
    harness_read(&h, out, found, sizeof(found));
    cr_expect_eq(found[1], 5000);
    harness_close(&h);
}

/* ------------------------------------------------------------------------------- time */

/* Thread 0 of each CTA but the first waits for the lock, for two seconds of the clock; who
 * gives up counts in out[1]. The first CTA does `first`. */
#define BOUNDED(read, first)                                                       \
    KERNEL("mov.u32 %r2, %ctaid.x;\n@!%p0 bra END;\nsetp.eq.u32 %p1, %r2, 0;\n"    \
           "@%p1 bra FIRST;\nmov.u64 %rd3, %globaltimer;\nPOLL:\n" read            \
           "setp.ne.u32 %p1, %r4, 0;\n@%p1 bra END;\nnanosleep.u32 32;\n"          \
           "mov.u64 %rd4, %globaltimer;\nsub.u64 %rd4, %rd4, %rd3;\n"              \
           "setp.lt.u64 %p1, %rd4, 2000000000;\n@%p1 bra POLL;\n"                  \
           "red.relaxed.gpu.global.add.u32 [%rd0+4], 1;\nbra END;\nFIRST:\n" first \
           "END:\n")
#define LATE(turns)                                                           \
    "mov.u32 %r6, 0;\nD:\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, " turns \
    ";\n@%p1 bra D;\n" RELEASE_1
#define RELEASE_1 "st.release.gpu.global.u32 [%rd0], 1;\n"

static void expect_given_up(const char *ptx, uint32_t cluster, uint32_t count)
{
    for (unsigned mode = 0; mode < 16; mode += harness_every()) {
        struct harness h;
        uint32_t found[2];
        uint64_t out = open_serial(&h, ptx);
        set_mode(&h, mode);
        cr_expect(harness_run_clusters(&h, 3 * cluster, THREADS, cluster), "mode %u: %s",
                  mode, harness_text(&h));
        harness_read(&h, out, found, sizeof(found));
        cr_expect_eq(found[1], count, "mode %u: %u", mode, found[1]);
        cr_expect_lt(h.thread_steps, 3000000, "mode %u: two seconds took their time", mode);
        harness_close(&h);
    }
}

Test(async_serial, time_leaps_where_all_poll_and_look_at_the_clock)
{
    expect_given_up(BOUNDED(ACQUIRE, ""), 1, 2);
    expect_given_up(BOUNDED("atom.acquire.gpu.global.or.b32 %r4, [%rd0], 0;\n", ""), 1, 2);
    expect_given_up(BOUNDED(ACQUIRE, ""), 2, 5);
}

Test(async_serial, time_does_not_leap_while_the_one_who_is_waited_for_works)
{
    expect_given_up(BOUNDED(ACQUIRE, RELEASE_1), 1, 0);
    expect_given_up(BOUNDED(ACQUIRE, LATE("20000")), 1, 0);
    expect_given_up(BOUNDED(ACQUIRE, LATE("20000")), 2, 0);
}

/* Two looks that find the same do not stop the clock of what comes after them. */
Test(async_serial, clock_goes_on_behind_a_loop_that_polls)
{
    struct harness h;
    uint64_t out = open_serial(
        &h, KERNEL("ld.volatile.global.u32 %r4, [%rd0];\nmov.u32 %r2, 0;\nL:\n"
                   "ld.volatile.global.u32 %r4, [%rd0];\nadd.u32 %r2, %r2, 1;\n"
                   "setp.lt.u32 %p1, %r2, 3;\n@%p1 bra L;\nmov.u64 %rd3, %globaltimer;\n"
                   "T:\nmov.u64 %rd4, %globaltimer;\nsub.u64 %rd4, %rd4, %rd3;\n"
                   "setp.lt.u64 %p1, %rd4, 5000;\n@%p1 bra T;\n"
                   "@%p0 st.global.u32 [%rd0+4], 7;\n"));
    uint32_t found[2];
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    harness_read(&h, out, found, sizeof(found));
    cr_expect_eq(found[1], 7);
    harness_close(&h);
}

/* ------------------------------------------------------------------------ async proxy */

/* CTA 0 writes 16 bytes at out + 256, CTA 1 reads them and puts the first into out[1]. */
#define TWO(write, read)                                                        \
    KERNEL("mov.u32 %r2, %ctaid.x;\nadd.u64 %rd2, %rd0, 256;\n@!%p0 bra END;\n" \
           "setp.eq.u32 %p1, %r2, 1;\n@%p1 bra READ;\n" write                   \
           "st.release.gpu.global.u32 [%rd0], 1;\nbra END;\nREAD:\n" ACQUIRE    \
           "setp.eq.u32 %p1, %r4, 0;\n@%p1 bra READ;\n" read                    \
           "st.global.u32 [%rd0+4], %r6;\nEND:\n")
#define PLAIN_WRITE "mov.u32 %r6, 77;\nst.global.v4.u32 [%rd2], {%r6, %r6, %r6, %r6};\n"
#define PLAIN_READ  "ld.global.u32 %r6, [%rd2];\n"
#define BULK_WRITE(wait)                                                                   \
    "mov.u32 %r6, 77;\nst.shared.v4.u32 [%r1], {%r6, %r6, %r6, %r6};\n"                    \
    "fence.proxy.async;\ncp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;\n" \
    "cp.async.bulk.commit_group;\n" wait
#define BULK_READ                                                                           \
    "mbarrier.init.shared::cta.b64 [%r1+64], 1;\nfence.mbarrier_init.release.cluster;\n"    \
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r1+64], 16;\n"                               \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2], 16, " \
    "[%r1+64];\n" WAIT("W", 64, 0) "ld.shared.u32 %r6, [%r1];\n"

static void expect_two(const char *ptx, bool right, enum emu_finding finding)
{
    for (unsigned mode = 0; mode < 16; mode += harness_every()) {
        struct harness h;
        uint32_t found[2];
        uint64_t out = open_serial(&h, ptx);
        set_mode(&h, mode);
        bool good = harness_run(&h, 2, 32);
        cr_expect_eq(good, right, "mode %u: %s", mode, harness_text(&h));
        cr_expect(right || harness_found(&h, finding) > 0, "%s", harness_text(&h));
        harness_read(&h, out, found, sizeof(found));
        cr_expect(!right || found[1] == 77, "%u", found[1]);
        harness_close(&h);
    }
}

Test(async_serial, copies_take_part)
{
    expect_two(TWO(PLAIN_WRITE, PLAIN_READ), true, EMU_FINDING_RACE);
    expect_two(TWO(BULK_WRITE("cp.async.bulk.wait_group 0;\n"), PLAIN_READ), true,
               EMU_FINDING_RACE);
    expect_two(TWO(BULK_WRITE("cp.async.bulk.wait_group.read 0;\n"), PLAIN_READ), false,
               EMU_FINDING_RACE);
    expect_two(TWO(BULK_WRITE("cp.async.bulk.wait_group 0;\n"), BULK_READ), true,
               EMU_FINDING_RACE);
}

Test(async_serial, copy_of_what_was_written_needs_the_proxy_fence)
{
    expect_two(TWO(PLAIN_WRITE, BULK_READ), false, EMU_FINDING_PROXY_FENCE);
    expect_two(TWO(PLAIN_WRITE "fence.proxy.async;\n", BULK_READ), true,
               EMU_FINDING_PROXY_FENCE);
    expect_two(TWO(PLAIN_WRITE, "fence.proxy.async.global;\n" BULK_READ), true,
               EMU_FINDING_PROXY_FENCE);
}

Test(async_serial, proxy_fence_for_shared_memory_is_none_for_global_memory)
{
    expect_two(TWO(PLAIN_WRITE "fence.proxy.async.shared::cta;\n", BULK_READ), false,
               EMU_FINDING_PROXY_FENCE);
    expect_two(TWO(PLAIN_WRITE, "fence.proxy.async.shared::cluster;\n" BULK_READ), false,
               EMU_FINDING_PROXY_FENCE);
    expect_two(TWO(PLAIN_WRITE "fence.proxy.async.shared::cta;\n",
                   "fence.proxy.async.global;\n" BULK_READ),
               true, EMU_FINDING_PROXY_FENCE);
}
