/* SPDX-License-Identifier: MIT */
/* Lanes of a warp that work together: shuffles, votes, matches, reductions, election. */
#include "test_exec_alu_support.h"

#include <string.h>

#define ALL 0xFFFFFFFFu

/* %t is the lane; the result of each lane is compared with a function of it. */
static void check_lanes(const char *body, uint64_t (*expect)(unsigned lane))
{
    const struct alu_case one = {body, 0, 0, 0, 0};
    struct harness h;
    uint64_t results[32];
    cr_assert(alu_run(&h, &one, ALL, 0, results), "%s: %s", body, harness_text(&h));
    for (unsigned lane = 0; lane < 32; lane++) {
        cr_expect_eq(results[lane], expect(lane), "%s: lane %u has %llx, not %llx", body,
                     lane, (unsigned long long)results[lane],
                     (unsigned long long)expect(lane));
    }
    harness_close(&h);
}

/* The run has to end with a finding whose text has these words. */
static void check_finding(const char *body, enum emu_finding finding, const char *words)
{
    const struct alu_case one = {body, 0, 0, 0, 0};
    struct harness h;
    uint64_t results[32];
    cr_assert_not(alu_run(&h, &one, ALL, 0, results), "%s: no finding", body);
    cr_expect_eq(harness_found(&h, finding), 1, "%s: %s", body, harness_text(&h));
    cr_expect_not_null(strstr(harness_text(&h), words), "%s: %s", body, harness_text(&h));
    harness_close(&h);
}

/* ---------------------------------------------------------------------------- shuffles */

#define SHUFFLE(mode, b, c) \
    "mul.lo.u32 %e, %t, 16; shfl.sync." mode ".b32 %d|%p, %e, " b ", " c ", -1;"

static uint64_t from_lane(unsigned source, bool in_range)
{
    return 16 * source + in_range;
}

static uint64_t down_4(unsigned lane)
{
    return from_lane(lane < 28 ? lane + 4 : lane, lane < 28);
}

static uint64_t up_3(unsigned lane)
{
    return from_lane(lane >= 3 ? lane - 3 : lane, lane >= 3);
}

static uint64_t butterfly_5(unsigned lane)
{
    return from_lane(lane ^ 5, true);
}

static uint64_t broadcast_7(unsigned lane)
{
    (void)lane;
    return from_lane(7, true);
}

static uint64_t second_of_8(unsigned lane)
{
    return from_lane((lane & ~7u) | 2, true);
}

static uint64_t down_1_of_8(unsigned lane)
{
    const bool in_range = lane % 8 != 7;
    return from_lane(in_range ? lane + 1 : lane, in_range);
}

static uint64_t index_30_of_16(unsigned lane)
{
    return from_lane((lane & ~15u) | 14, true);
}

static uint64_t index_beyond_clamp(unsigned lane)
{
    return from_lane(lane, false);
}

Test(alu_warp, shuffles_read_other_lanes)
{
    check_lanes(SHUFFLE("down", "4", "31"), down_4);
    check_lanes(SHUFFLE("up", "3", "0"), up_3);
    check_lanes(SHUFFLE("bfly", "5", "31"), butterfly_5);
    check_lanes(SHUFFLE("idx", "7", "31"), broadcast_7);
}

Test(alu_warp, shuffles_stay_in_their_segment)
{
    check_lanes(SHUFFLE("idx", "2", "0x181F"), second_of_8);
    check_lanes(SHUFFLE("down", "1", "0x181F"), down_1_of_8);
    check_lanes(SHUFFLE("idx", "30", "0x101F"), index_30_of_16);
    check_lanes(SHUFFLE("idx", "30", "0x0003"), index_beyond_clamp);
}

static uint64_t reversed(unsigned lane)
{
    return 31 - lane;
}

Test(alu_warp, a_shuffle_can_write_its_own_source)
{
    check_lanes("mov.u32 %d, %t; sub.u32 %e, 31, %t; shfl.sync.idx.b32 %d, %d, %e, 31, -1;",
                reversed);
}

/* ------------------------------------------------------- votes, matches, reductions */

static uint64_t ballot_below_12(unsigned lane)
{
    (void)lane;
    return 0xFFF;
}

static uint64_t zero(unsigned lane)
{
    (void)lane;
    return 0;
}

static uint64_t one(unsigned lane)
{
    (void)lane;
    return 1;
}

#define BELOW(n) "setp.lt.u32 %q, %t, " n "; "
#define DONE     " mov.pred %q, 0;"

Test(alu_warp, votes_ask_all_members)
{
    check_lanes(BELOW("12") "vote.sync.ballot.b32 %d, %q, -1;" DONE, ballot_below_12);
    check_lanes(BELOW("12") "vote.sync.all.pred %p, %q, -1;" DONE, zero);
    check_lanes(BELOW("32") "vote.sync.all.pred %p, %q, -1;" DONE, one);
    check_lanes(BELOW("12") "vote.sync.any.pred %p, %q, -1;" DONE, one);
    check_lanes(BELOW("32") "vote.sync.any.pred %p, !%q, -1;" DONE, zero);
    check_lanes(BELOW("12") "vote.sync.uni.pred %p, %q, -1;" DONE, zero);
    check_lanes(BELOW("0") "vote.sync.uni.pred %p, %q, -1;" DONE, one);
}

static uint64_t eighths(unsigned lane)
{
    return UINT64_C(0xFF) << (lane & ~7u);
}

static uint64_t everyone(unsigned lane)
{
    (void)lane;
    return 0xFFFFFFFF;
}

Test(alu_warp, matches_find_equal_values)
{
    check_lanes("shr.u32 %e, %t, 3; match.any.sync.b32 %d, %e, -1;", eighths);
    check_lanes("shr.u32 %e, %t, 3; cvt.u64.u32 %x, %e; shl.b64 %x, %x, 40;"
                "match.any.sync.b64 %d, %x, -1;",
                eighths);
    check_lanes("shr.u32 %e, %t, 3; match.all.sync.b32 %d|%p, %e, -1;", zero);
    check_lanes("match.all.sync.b32 %d|%p, 9, -1; selp.b32 %d, %d, 0, %p; mov.pred %p, 0;",
                everyone);
}

static uint64_t sum_of_lanes(unsigned lane)
{
    (void)lane;
    return 31 * 32 / 2;
}

static uint64_t minus_31(unsigned lane)
{
    (void)lane;
    return 0xFFFFFFE1;
}

static uint64_t thirty_one(unsigned lane)
{
    (void)lane;
    return 31;
}

static uint64_t float_31(unsigned lane)
{
    (void)lane;
    return 0x41F80000;
}

static uint64_t float_nan(unsigned lane)
{
    (void)lane;
    return F32_NAN;
}

/* n / n * n in lane n: 0 / 0 in lane 0. */
#define LANE_0_IS_NAN "cvt.rn.f32.u32 %e, %t; div.rn.f32 %d, %e, %e; mul.f32 %e, %e, %d; "

Test(alu_warp, reductions_go_over_all_members)
{
    check_lanes("redux.sync.add.u32 %d, %t, -1;", sum_of_lanes);
    check_lanes("neg.s32 %e, %t; redux.sync.min.s32 %d, %e, -1;", minus_31);
    check_lanes("neg.s32 %e, %t; redux.sync.min.u32 %d, %e, -1;", zero);
    check_lanes("redux.sync.max.u32 %d, %t, -1;", thirty_one);
    check_lanes("redux.sync.or.b32 %d, %t, -1;", thirty_one);
    check_lanes("redux.sync.and.b32 %d, %t, -1;", zero);
    check_lanes("redux.sync.xor.b32 %d, %t, -1;", zero);
    check_lanes("cvt.rn.f32.u32 %e, %t; redux.sync.max.f32 %d, %e, -1;", float_31);
    check_lanes("cvt.rn.f32.u32 %e, %t; neg.f32 %e, %e; redux.sync.max.abs.f32 %d, %e, -1;",
                float_31);
    /* Lane 0's value is NaN: passed over, or taken with .NaN. */
    check_lanes(LANE_0_IS_NAN "redux.sync.max.f32 %d, %e, -1;", float_31);
    check_lanes(LANE_0_IS_NAN "redux.sync.max.NaN.f32 %d, %e, -1;", float_nan);
}

/* -------------------------------------------------------------- election, membermasks */

static uint64_t lane_0_leads(unsigned lane)
{
    return lane == 0;
}

static uint64_t lane_5_leads(unsigned lane)
{
    return lane < 5 ? 0 : 5 * 16 + (lane == 5);
}

Test(alu_warp, elect_takes_the_lowest_member)
{
    check_lanes("elect.sync _|%p, -1;", lane_0_leads);
    check_lanes("setp.lt.u32 %q, %t, 5; @%q bra OUT; elect.sync %d|%p, 0xFFFFFFE0;"
                "mul.lo.u32 %d, %d, 16; OUT: mov.pred %q, 0;",
                lane_5_leads);
}

Test(alu_warp, elect_takes_the_highest_member_on_request)
{
    struct harness h;
    harness_open(&h);
    h.settings.elect_highest = true;
    harness_load(&h, ".version 9.0\n.target sm_100a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 out) { .reg .b64 %o; .reg .b32 %d;"
                     ".reg .pred %p; ld.param.u64 %o, [out]; elect.sync %d|%p, -1;"
                     "@%p st.global.u32 [%o], %d; ret; }");
    uint32_t leader = 0;
    const uint64_t out = harness_buffer(&h, "out", sizeof(leader), &leader);
    harness_param_u64(&h, out);
    cr_assert(harness_run(&h, 1, 32), "%s", harness_text(&h));
    harness_read(&h, out, &leader, sizeof(leader));
    cr_expect_eq(leader, 31);
    harness_close(&h);
}

static uint64_t even_lanes(unsigned lane)
{
    return lane % 2 == 0 ? 0x55555555 : 0;
}

Test(alu_warp, activemask_is_who_executes)
{
    check_lanes("and.b32 %e, %t, 1; setp.eq.u32 %q, %e, 0; @%q activemask.b32 %d;" DONE,
                even_lanes);
}

static uint64_t half_warp_ballot(unsigned lane)
{
    return lane < 16 ? 0x00FF : 0x00FF0000;
}

Test(alu_warp, halves_of_a_warp_meet_separately)
{
    /* One instruction, each half with its own mask. */
    check_lanes("and.b32 %e, %t, 15; setp.lt.u32 %q, %e, 8; and.b32 %e, %t, 16;"
                "shl.b32 %e, 0xFFFF, %e; vote.sync.ballot.b32 %d, %q, %e;" DONE,
                half_warp_ballot);
    /* Each half in its own branch. */
    check_lanes("and.b32 %e, %t, 15; setp.lt.u32 %q, %e, 8; setp.lt.u32 %p, %t, 16;"
                "@%p bra LOW; vote.sync.ballot.b32 %d, %q, 0xFFFF0000; bra JOIN;"
                "LOW: vote.sync.ballot.b32 %d, %q, 0x0000FFFF;"
                "JOIN: mov.pred %p, 0;" DONE,
                half_warp_ballot);
}

static uint64_t swapped_halves(unsigned lane)
{
    return lane ^ 16;
}

Test(alu_warp, early_lanes_wait_for_late_ones)
{
    /* The first half comes to the shuffle while the others are still behind it in the
     * program; these come back. */
    check_lanes("setp.ge.u32 %q, %t, 16; @%q bra LATE;"
                "MEET: shfl.sync.bfly.b32 %d, %t, 16, 31, -1; bra OUT;"
                "LATE: add.u32 %e, %e, 1; bra MEET;"
                "OUT:" DONE,
                swapped_halves);
    check_lanes("setp.ge.u32 %q, %t, 16; @%q bra LATE;"
                "MEET: bar.warp.sync -1; xor.b32 %d, %t, 16; bra OUT;"
                "LATE: nanosleep.u32 20; bra MEET;"
                "OUT:" DONE,
                swapped_halves);
}

#define HALF_EXITS "setp.lt.u32 %q, %t, 16; @%q exit; "

static uint64_t one_in_all(unsigned lane)
{
    (void)lane;
    return 1;
}

static uint64_t upper_half_only(unsigned lane)
{
    return lane < 16 ? 0xEEEEEEEEEEEEEEEE : 1;
}

Test(alu_warp, a_barrier_does_not_wait_for_lanes_that_have_exited)
{
    check_lanes("setp.lt.u32 %q, %t, 16; @%q exit; bar.warp.sync -1; mov.pred %p, 1;" DONE,
                upper_half_only);
}

static uint64_t upper_half_of_ballot(unsigned lane)
{
    return lane < 16 ? 0xEEEEEEEEEEEEEEEE : 0xFFFF0000;
}

static uint64_t sum_of_upper_half(unsigned lane)
{
    return lane < 16 ? 0xEEEEEEEEEEEEEEEE : 376; /* 16 + 17 + … + 31 */
}

static uint64_t swapped_in_upper_half(unsigned lane)
{
    return lane < 16 ? 0xEEEEEEEEEEEEEEEE : lane ^ 1;
}

Test(alu_warp, a_full_mask_means_the_lanes_that_have_not_exited)
{
    check_lanes(HALF_EXITS "setp.ne.u32 %q, %t, 99; vote.sync.ballot.b32 %d, %q, -1;" DONE,
                upper_half_of_ballot);
    check_lanes(HALF_EXITS "setp.ge.u32 %q, %t, 16; vote.sync.all.pred %p, %q, -1;" DONE,
                upper_half_only);
    check_lanes(HALF_EXITS "match.any.sync.b32 %d, 7, -1;", upper_half_of_ballot);
    check_lanes(HALF_EXITS "match.all.sync.b32 %d|%q, 7, -1;" DONE, upper_half_of_ballot);
    check_lanes(HALF_EXITS "redux.sync.add.u32 %d, %t, -1;", sum_of_upper_half);
    check_lanes(HALF_EXITS "shfl.sync.bfly.b32 %d, %t, 1, 31, -1;", swapped_in_upper_half);
}

Test(alu_warp, what_is_shuffled_from_a_lane_that_is_not_there_is_undefined)
{
    check_finding(HALF_EXITS "shfl.sync.bfly.b32 %d, %t, 16, 31, -1;",
                  EMU_FINDING_UNDEFINED, "undefined");
    check_finding("setp.lt.u32 %q, %t, 16; @!%q bra OUT;"
                  "shfl.sync.idx.b32 %d, %t, 20, 31, 0xFFFF; OUT:",
                  EMU_FINDING_UNDEFINED, "undefined");
    check_lanes("setp.lt.u32 %q, %t, 16; @!%q bra OUT;"
                "shfl.sync.idx.b32 %d, %t, 20, 31, 0xFFFF; mov.u32 %d, 0;"
                "OUT: mov.pred %p, 1;" DONE,
                one_in_all);
}

Test(alu_warp, misuse_of_membermasks_is_found)
{
    check_finding("vote.sync.all.pred %p, %r, 0xFFFF;", EMU_FINDING_ILLEGAL,
                  "not in its own membermask");
    check_finding("setp.lt.u32 %q, %t, 16; @%q exit; elect.sync %d|%p, -1;",
                  EMU_FINDING_ILLEGAL, "exited");
    check_finding("setp.eq.u32 %q, %t, 0; selp.b32 %e, 0x7FFFFFFF, -1, %q;"
                  "vote.sync.any.pred %p, %r, %e;",
                  EMU_FINDING_ILLEGAL, "differs");
}

Test(alu_warp, lanes_that_never_come_are_a_deadlock)
{
    check_finding(
        "setp.lt.u32 %q, %t, 16; @%q bra OTHER; shfl.sync.idx.b32 %d, %t, 0, 31, -1;"
        "bra OUT; OTHER: vote.sync.any.pred %p, %r, -1; OUT:",
        EMU_FINDING_DEADLOCK, "");
}
