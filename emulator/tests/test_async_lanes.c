/* SPDX-License-Identifier: MIT */
/* Order between lanes of a warp: what one of them signals, fences or copies says nothing
 * about what its neighbours did, unless bar.warp.sync or a barrier stands between. */
#include <criterion/criterion.h>

#include "test_async_support.h"

#define MEET   "bar.warp.sync -1;\n"
#define FENCE  "fence.proxy.async.shared::cta;\n"
#define ARRIVE "mbarrier.arrive.shared::cta.b64 _, [%r1];\n"

/* `warps` warps of which %r20 is the lane and %r21 the warp; the mbarrier at %r1 waits for
 * one arrival, that at %r1 + 8 for 32; %r22: four bytes of the lane behind them; %p1: lane
 * 0. */
#define LANES(body)                                                                        \
    KERNEL("mov.u32 %r20, %laneid;\nshr.u32 %r21, %r0, 5;\nshl.b32 %r22, %r20, 2;\n"       \
           "add.u32 %r22, %r22, %r1;\nsetp.eq.u32 %p1, %r20, 0;\n"                         \
           "setp.ne.u32 %p2, %r21, 0;\nsetp.eq.u32 %p3, %r20, 5;\n" INIT(0, 1) INIT(8, 32) \
               body)

static void open_in_mode(struct harness *h, const char *ptx, unsigned mode)
{
    static const uint8_t zeros[1024];
    uint64_t out = async_open(h, ptx, sizeof(zeros));
    emu_memory_write(h->memory, out, zeros, sizeof(zeros));
    h->settings.schedule = (enum emu_schedule)mode;
    h->settings.async = (enum emu_async_mode)mode;
    h->settings.seed = mode;
}

static void expect_clean(const char *ptx)
{
    for (unsigned mode = 0; mode < 4; mode++) {
        struct harness h;
        open_in_mode(&h, ptx, mode);
        cr_expect(harness_run(&h, 1, 64), "%s", harness_text(&h));
        async_expect_clean(&h);
        harness_close(&h);
    }
}

static void expect_lane_order(const char *ptx)
{
    for (unsigned mode = 0; mode < 4; mode++) {
        struct harness h;
        open_in_mode(&h, ptx, mode);
        cr_expect_not(harness_run(&h, 1, 64), "mode %u", mode);
        async_expect_error(&h, EMU_FINDING_LANE_ORDER, "bar.warp.sync");
        harness_close(&h);
    }
}

/* Warp 0 stores, lane 0 arrives; warp 1 waits and reads. */
#define HAND_OVER(between)                                                           \
    LANES("@%p2 bra READ;\nst.shared.u32 [%r22+512], %r20;\n" between "@%p1 " ARRIVE \
          "bra END;\nREAD:\n" WAIT("W", 0, 0) "ld.shared.u32 %r23, [%r22+512];\nEND:\n")

Test(async_lanes, arrival_of_one_lane_does_not_release_what_its_neighbours_wrote)
{
    expect_lane_order(HAND_OVER(""));
    expect_clean(HAND_OVER(MEET));
    expect_clean(HAND_OVER("bar.sync 1, 32;\n"));
    /* Fences of each lane are no meeting. */
    expect_lane_order(HAND_OVER("fence.acq_rel.cta;\n"));
}

Test(async_lanes,
     collective_instructions_without_memory_order_do_not_stand_for_bar_warp_sync)
{
    expect_lane_order(HAND_OVER("shfl.sync.idx.b32 %r30, %r20, 0, 31, -1;\n"));
    expect_lane_order(HAND_OVER("vote.sync.any.pred %p4, %p1, -1;\n"));
    expect_lane_order(HAND_OVER("redux.sync.add.u32 %r30, %r20, -1;\n"));
    expect_lane_order(HAND_OVER("match.any.sync.b32 %r30, %r20, -1;\n"));
    expect_lane_order(HAND_OVER("elect.sync _|%p1, -1;\n"));
}

/* All lanes arrive, each for itself: at once, or one group after the other. */
Test(async_lanes, arrivals_of_all_lanes_release_what_each_of_them_wrote)
{
    expect_clean(
        LANES("@%p2 bra READ;\nst.shared.u32 [%r22+512], %r20;\n"
              "mbarrier.arrive.shared::cta.b64 _, [%r1+8];\nbra END;\nREAD:\n" WAIT(
                  "W", 8, 0) "ld.shared.u32 %r23, [%r22+512];\nEND:\n"));
    expect_clean(
        LANES("@%p2 bra READ;\nst.shared.u32 [%r22+512], %r20;\n"
              "setp.lt.u32 %p4, %r20, 7;\n"
              "@%p4 mbarrier.arrive.shared::cta.b64 _, [%r1+8];\n"
              "@!%p4 mbarrier.arrive.shared::cta.b64 _, [%r1+8];\nbra END;\n"
              "READ:\n" WAIT("W", 8, 0) "ld.shared.u32 %r23, [%r22+512];\nEND:\n"));
}

/* Warp 0 reads what warp 1 then overwrites. */
#define GIVE_BACK(address, between)                                            \
    LANES("@!%p2 st.shared.u32 [%r22+512], 0;\nbar.sync 0;\n@%p2 bra WRITE;\n" \
          "ld.shared.u32 %r23, [" address "+512];\n" between "@%p1 " ARRIVE    \
          "bra END;\nWRITE:\n" WAIT("W", 0, 0) "st.shared.u32 [%r22+512], 1;\nEND:\n")

Test(async_lanes, arrival_of_one_lane_does_not_release_what_its_neighbours_read)
{
    expect_lane_order(GIVE_BACK("%r22", ""));
    expect_lane_order(GIVE_BACK("%r1", "")); /* all of them the same bytes */
    expect_clean(GIVE_BACK("%r22", MEET));
    expect_clean(GIVE_BACK("%r1", MEET));
}

/* The elected lane copies out of shared memory what all of the warp stored there. */
#define COPY_OUT(store, between)                                                 \
    LANES("@%p2 bra END;\n" store between                                        \
          "@!%p1 bra END;\ncp.async.bulk.global.shared::cta.bulk_group [%rd0], " \
          "[%r1+512], 128;\ncp.async.bulk.commit_group;\n"                       \
          "cp.async.bulk.wait_group 0;\nEND:\n")
#define STORE "st.shared.u32 [%r22+512], %r20;\n"
/* One 8x8 matrix: lanes 0 to 7 give the rows. */
#define STMATRIX                                         \
    "shl.b32 %r25, %r20, 4;\nadd.u32 %r25, %r25, %r1;\n" \
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r25+512], {%r20};\n"

Test(async_lanes, copy_of_one_lane_comes_after_its_own_stores_only)
{
    expect_lane_order(COPY_OUT(STORE, FENCE));
    expect_lane_order(COPY_OUT(STORE, MEET "elect.sync _|%p1, -1;\n" STORE FENCE));
    expect_clean(COPY_OUT(STORE, FENCE MEET));
    expect_clean(COPY_OUT(STORE, MEET FENCE));
}

Test(async_lanes, stmatrix_is_no_meeting_of_the_lanes_that_store)
{
    expect_lane_order(COPY_OUT(STMATRIX, FENCE));
    expect_clean(COPY_OUT(STMATRIX, FENCE MEET));
    expect_clean(COPY_OUT(STMATRIX, MEET FENCE));
}

Test(async_lanes, proxy_fence_of_one_lane_covers_neighbours_that_it_met_only)
{
    struct harness h;
    /* Ordered by the barrier behind the fence, but not through it. */
    async_open(&h, COPY_OUT(STORE, "@%p1 " FENCE MEET), 1024);
    cr_expect_not(harness_run(&h, 1, 64));
    async_expect_error(&h, EMU_FINDING_PROXY_FENCE, "lane 1");
    harness_close(&h);

    expect_clean(COPY_OUT(STORE, MEET "@%p1 " FENCE));
}

/* A request may overwrite the answer that lanes are still reading. */
#define ANSWER(between)                                                                   \
    LANES("@%p2 bra END;\n@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n" \
          "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx"  \
          "::bytes.b128 [%r1+512], [%r1];\n" WAIT(                                        \
              "W", 0,                                                                     \
              0) "ld.shared.b128 %q0, [%r1+512];\n" between                               \
                 "@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "    \
                 "[%r1+512], [%rd0], 16, [%r1];\n"                                        \
                 "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n" WAIT(   \
                     "V", 0, 1) "END:\n")

Test(async_lanes, answer_of_launch_control_is_given_back_by_all_lanes_that_read_it)
{
    expect_lane_order(ANSWER(FENCE));
    expect_clean(ANSWER(FENCE MEET));
    expect_clean(ANSWER(MEET FENCE));
}

Test(async_lanes, lane_sees_what_another_lane_of_its_warp_handed_over_by_a_barrier)
{
    expect_clean(LANES("@%p2 bra END;\n@%p3 st.shared.u32 [%r1+512], 7;\n@%p3 " ARRIVE
                       "@%p1 bra SEE;\nbra END;\nSEE:\n" WAIT(
                           "W", 0, 0) "ld.shared.u32 %r23, [%r1+512];\nEND:\n"));
    /* An arrival of its own is none. */
    struct harness h;
    async_open(&h,
               LANES("@%p2 bra END;\n@%p3 st.shared.u32 [%r1+512], 7;\n@%p1 " ARRIVE
                     "@%p1 ld.shared.u32 %r23, [%r1+512];\nEND:\n"),
               64);
    cr_expect_not(harness_run(&h, 1, 64));
    async_expect_error(&h, EMU_FINDING_RACE, "lane 5");
    harness_close(&h);
}

/* Each lane copies 4 bytes and waits for its own; lane 0 arrives, and warp 1 reads. */
#define COPY_IN(between)                                                                   \
    LANES(                                                                                 \
        "@%p2 bra READ;\ncvt.u64.u32 %rd20, %r20;\nshl.b64 %rd20, %rd20, 2;\n"             \
        "add.u64 %rd20, %rd20, %rd0;\ncp.async.ca.shared.global [%r22+512], [%rd20], 4;\n" \
        "cp.async.wait_all;\nld.shared.u32 %r23, [%r22+512];\n" between "@%p1 " ARRIVE     \
        "bra END;\nREAD:\n" WAIT("W", 0, 0) "ld.shared.u32 %r23, [%r22+512];\nEND:\n")

Test(async_lanes, copies_of_threads_are_handed_over_by_the_lanes_that_waited_for_them)
{
    struct harness h;
    async_open(&h, COPY_IN(""), 128);
    cr_expect_not(harness_run(&h, 1, 64));
    async_expect_error(&h, EMU_FINDING_RACE, "cp.async");
    harness_close(&h);
    expect_clean(COPY_IN(MEET));
}

/* Lane 0 waits until its copy has read what the whole warp then overwrites. */
#define OVERWRITE(between)                                                                  \
    LANES(                                                                                  \
        "@%p2 bra END;\n" STORE FENCE MEET                                                  \
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1+512], 128;\n"        \
        "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group.read 0;\n" between \
            STORE "END:\n")

Test(async_lanes, wait_of_one_lane_for_its_copies_is_none_of_its_neighbours)
{
    struct harness h;
    async_open(&h, OVERWRITE(""), 128);
    cr_expect_not(harness_run(&h, 1, 64));
    async_expect_error(&h, EMU_FINDING_RACE, "lane 1");
    harness_close(&h);
    expect_clean(OVERWRITE(MEET));
}
