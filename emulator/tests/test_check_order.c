/* SPDX-License-Identifier: MIT */
/* Races: which view orders which pair of accesses. */
#include <criterion/criterion.h>

#include "check/shadow.h"

/* One accessor with its own view, at byte 64 of a small memory. */
struct actor {
    struct emu_accessor who;
    struct emu_view view;
};

static struct emu_shadow *shadow;

static struct actor make_actor(uint32_t agent, uint32_t epoch, unsigned lane,
                               enum emu_proxy proxy)
{
    return (struct actor){.who = {.agent = agent,
                                  .epoch = epoch,
                                  .lane = (uint8_t)lane,
                                  .proxy = proxy,
                                  .insn = agent * 100 + lane}};
}

static struct emu_conflict conflict; /* of the last access */

static enum emu_conflict_kind touch(struct actor *actor, bool write)
{
    actor->who.view = &actor->view;
    bool clean = emu_shadow_access(shadow, 64, 4, write, &actor->who, &conflict);
    cr_expect_eq(clean, conflict.kind == EMU_NO_CONFLICT);
    cr_expect_not(clean && conflict.tolerated);
    return conflict.kind;
}

static void set_up(void)
{
    shadow = emu_shadow_create(4096);
}

static void tear_down(void)
{
    emu_shadow_free(shadow);
}

TestSuite(order, .init = set_up, .fini = tear_down);

/* The second of two accesses, in a memory of its own. */
static enum emu_conflict_kind second(struct actor *first, bool first_writes,
                                     struct actor *then, bool then_writes)
{
    emu_shadow_forget(shadow, 0, 4096);
    cr_expect_eq(touch(first, first_writes), EMU_NO_CONFLICT);
    return touch(then, then_writes);
}

Test(order, two_warps_conflict_unless_both_read)
{
    struct actor one = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor two = make_actor(2, 5, 0, EMU_PROXY_GENERIC);

    cr_expect_eq(second(&one, true, &two, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&one, true, &two, false), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&one, false, &two, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&one, false, &two, false), EMU_NO_CONFLICT);
}

Test(order, knowing_the_epoch_orders_two_warps)
{
    struct actor one = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor two = make_actor(2, 5, 0, EMU_PROXY_GENERIC);

    emu_clock_raise(&two.view.happened, 1, 4);
    cr_expect_eq(second(&one, true, &two, true), EMU_CONFLICT_ORDER, "one epoch short");

    emu_clock_raise(&two.view.happened, 1, 5);
    cr_expect_eq(second(&one, true, &two, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&one, true, &two, false), EMU_NO_CONFLICT);
    cr_expect_eq(second(&one, false, &two, true), EMU_NO_CONFLICT);
    emu_view_free(&two.view);
}

Test(order, lanes_of_a_warp_are_ordered_where_they_met)
{
    struct actor lane3 = make_actor(1, 5, 3, EMU_PROXY_GENERIC);
    struct actor lane4 = make_actor(1, 5, 4, EMU_PROXY_GENERIC);
    struct actor later = make_actor(1, 6, 4, EMU_PROXY_GENERIC);

    cr_expect_eq(second(&lane3, true, &lane4, false), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&lane3, false, &lane4, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&lane3, true, &lane4, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&lane3, true, &lane3, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&lane3, false, &lane3, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&lane3, true, &later, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&lane3, false, &later, true), EMU_CONFLICT_ORDER);

    emu_clock_raise(&later.view.happened, 1, 5);
    cr_expect_eq(second(&lane3, true, &later, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&lane3, false, &later, true), EMU_NO_CONFLICT);
    emu_view_free(&later.view);
}

/* Agent 20 is lane 3 of warp 1, agent 21 its lane 4. */
Test(order, lane_that_is_known_does_not_stand_for_its_neighbours)
{
    struct emu_lane_agents *agents = NULL;
    emu_lane_agents_get(&agents, 1)[3] = 20;
    emu_lane_agents_get(&agents, 1)[4] = 21;
    struct actor lane3 = make_actor(1, 5, 3, EMU_PROXY_GENERIC);
    struct actor lane4 = make_actor(1, 5, 4, EMU_PROXY_GENERIC);
    struct actor other = make_actor(2, 1, 0, EMU_PROXY_GENERIC);
    other.who.lane_agents = agents;
    emu_clock_raise(&other.view.happened, 20, 5);

    cr_expect_eq(second(&lane3, true, &other, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&lane4, true, &other, false), EMU_CONFLICT_LANES);
    cr_expect_eq(conflict.other.lane, 4);

    /* Both have read: each of them must be known. */
    emu_shadow_forget(shadow, 0, 4096);
    touch(&lane3, false);
    touch(&lane4, false);
    cr_expect_eq(touch(&other, true), EMU_CONFLICT_LANES);
    cr_expect_eq(conflict.other.lane, 4);
    emu_shadow_forget(shadow, 0, 4096);
    touch(&lane3, false);
    touch(&lane4, false);
    emu_clock_raise(&other.view.happened, 21, 5);
    cr_expect_eq(touch(&other, true), EMU_NO_CONFLICT);
    emu_view_free(&other.view);
    emu_lane_agents_free(agents);
}

Test(order, later_read_does_not_stand_for_that_of_another_lane)
{
    struct emu_lane_agents *agents = NULL;
    emu_lane_agents_get(&agents, 1)[4] = 21;
    struct actor lane3 = make_actor(1, 5, 3, EMU_PROXY_GENERIC);
    struct actor lane4 = make_actor(1, 6, 4, EMU_PROXY_GENERIC);
    struct actor other = make_actor(2, 1, 0, EMU_PROXY_GENERIC);
    other.who.lane_agents = agents;
    emu_clock_raise(&other.view.happened, 21, 6);

    touch(&lane3, false);
    touch(&lane4, false);
    cr_expect_eq(touch(&other, true), EMU_CONFLICT_LANES);

    /* Where the lanes met in between, it does. */
    emu_shadow_forget(shadow, 0, 4096);
    emu_clock_raise(&lane4.view.happened, 1, 5);
    touch(&lane3, false);
    touch(&lane4, false);
    cr_expect_eq(touch(&other, true), EMU_NO_CONFLICT);
    emu_view_free(&lane4.view);
    emu_view_free(&other.view);
    emu_lane_agents_free(agents);
}

Test(order, lanes_of_one_store_may_write_the_same)
{
    struct actor lane3 = make_actor(1, 5, 3, EMU_PROXY_GENERIC);
    struct actor lane4 = make_actor(1, 5, 4, EMU_PROXY_GENERIC);
    struct actor warp2 = make_actor(2, 5, 4, EMU_PROXY_GENERIC);
    lane4.who.repeats = warp2.who.repeats = true;

    cr_expect_eq(second(&lane3, true, &lane4, true), EMU_CONFLICT_ORDER);
    cr_expect_not(conflict.tolerated, "two instructions");

    lane4.who.insn = warp2.who.insn = lane3.who.insn;
    cr_expect_eq(second(&lane3, true, &lane4, true), EMU_CONFLICT_ORDER);
    cr_expect(conflict.tolerated && conflict.repeated);
    cr_expect_eq(second(&lane3, false, &lane4, true), EMU_CONFLICT_ORDER);
    cr_expect_not(conflict.tolerated, "one of them reads");
    cr_expect_eq(second(&lane3, true, &warp2, true), EMU_CONFLICT_ORDER);
    cr_expect_not(conflict.tolerated, "two warps");

    lane4.who.repeats = false;
    cr_expect_eq(second(&lane3, true, &lane4, true), EMU_CONFLICT_ORDER);
    cr_expect_not(conflict.tolerated, "two values");
}

Test(order, own_component_does_not_order_lanes_of_the_open_epoch)
{
    struct actor lane3 = make_actor(1, 5, 3, EMU_PROXY_GENERIC);
    struct actor lane4 = make_actor(1, 5, 4, EMU_PROXY_GENERIC);
    emu_clock_raise(&lane4.view.happened, 1, 5);

    cr_expect_eq(second(&lane3, true, &lane4, true), EMU_CONFLICT_ORDER);
    emu_view_free(&lane4.view);
}

Test(order, generic_write_needs_the_proxy_fence_before_an_async_access)
{
    struct actor writer = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor copy = make_actor(9, 1, EMU_LANE_ASYNC, EMU_PROXY_ASYNC);

    cr_expect_eq(second(&writer, true, &copy, false), EMU_CONFLICT_ORDER);

    emu_clock_raise(&copy.view.happened, 1, 5);
    cr_expect_eq(second(&writer, true, &copy, false), EMU_CONFLICT_PROXY);
    cr_expect_eq(second(&writer, true, &copy, true), EMU_CONFLICT_PROXY);
    cr_expect_eq(second(&writer, false, &copy, true), EMU_NO_CONFLICT,
                 "a read needs no fence");

    emu_clock_raise(&copy.view.proxied, 1, 4);
    cr_expect_eq(second(&writer, true, &copy, false), EMU_CONFLICT_PROXY);
    emu_clock_raise(&copy.view.proxied, 1, 5);
    cr_expect_eq(second(&writer, true, &copy, false), EMU_NO_CONFLICT);
    cr_expect_eq(second(&writer, true, &copy, true), EMU_NO_CONFLICT);
    emu_view_free(&copy.view);
}

Test(order, fence_alone_without_order_is_not_enough)
{
    struct actor writer = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor copy = make_actor(9, 1, EMU_LANE_ASYNC, EMU_PROXY_ASYNC);
    emu_clock_raise(&copy.view.proxied, 1, 5);

    cr_expect_eq(second(&writer, true, &copy, false), EMU_CONFLICT_ORDER);
    emu_view_free(&copy.view);
}

Test(order, observed_async_access_needs_no_fence)
{
    struct actor copy = make_actor(9, 3, EMU_LANE_ASYNC, EMU_PROXY_ASYNC);
    struct actor warp = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor other = make_actor(8, 1, EMU_LANE_ASYNC, EMU_PROXY_ASYNC);

    cr_expect_eq(second(&copy, true, &warp, false), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&copy, false, &warp, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&copy, true, &other, false), EMU_CONFLICT_ORDER);

    emu_clock_raise(&warp.view.happened, 9, 3);
    emu_clock_raise(&other.view.happened, 9, 3);
    cr_expect_eq(second(&copy, true, &warp, false), EMU_NO_CONFLICT);
    cr_expect_eq(second(&copy, false, &warp, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&copy, true, &other, false), EMU_NO_CONFLICT);
    cr_expect_eq(second(&copy, false, &other, true), EMU_NO_CONFLICT);
    emu_view_free(&warp.view);
    emu_view_free(&other.view);
}

Test(order, operations_of_one_engine_are_ordered_by_their_view)
{
    struct actor first = make_actor(9, 3, EMU_LANE_ASYNC, EMU_PROXY_ASYNC);
    struct actor next = make_actor(9, 4, EMU_LANE_ASYNC, EMU_PROXY_ASYNC);
    next.who.insn = 77;

    cr_expect_eq(second(&first, true, &next, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&first, false, &next, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&first, false, &next, false), EMU_NO_CONFLICT);

    emu_clock_raise(&next.view.happened, 9, 3);
    cr_expect_eq(second(&first, true, &next, true), EMU_NO_CONFLICT);
    emu_view_free(&next.view);
}

Test(order, two_copies_of_one_barrier_phase_conflict)
{
    struct actor a = make_actor(9, 3, EMU_LANE_ASYNC, EMU_PROXY_ASYNC);
    struct actor b = a;
    b.who.insn = a.who.insn + 1;

    cr_expect_eq(second(&a, true, &b, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&a, true, &a, true), EMU_CONFLICT_ORDER, "issued in a loop");
}

Test(order, parts_of_one_tensor_operation_are_ordered)
{
    struct actor mma = make_actor(9, 3, EMU_LANE_ASYNC, EMU_PROXY_TENSOR);

    cr_expect_eq(second(&mma, false, &mma, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&mma, true, &mma, false), EMU_NO_CONFLICT);
}

Test(order, tensor_memory_needs_the_fence_pair)
{
    struct actor mma = make_actor(9, 3, EMU_LANE_ASYNC, EMU_PROXY_TENSOR);
    struct actor load = make_actor(4, 1, EMU_LANE_ASYNC, EMU_PROXY_TENSOR);

    cr_expect_eq(second(&mma, true, &load, false), EMU_CONFLICT_ORDER);

    emu_clock_raise(&load.view.happened, 9, 3);
    cr_expect_eq(second(&mma, true, &load, false), EMU_CONFLICT_TENSOR_FENCE);
    emu_clock_raise(&load.view.fenced, 9, 3);
    cr_expect_eq(second(&mma, true, &load, false), EMU_CONFLICT_TENSOR_FENCE,
                 "offered, not in force");
    cr_expect_eq(second(&mma, false, &load, true), EMU_CONFLICT_TENSOR_FENCE);

    emu_clock_raise(&load.view.tensor, 9, 3);
    cr_expect_eq(second(&mma, true, &load, false), EMU_NO_CONFLICT);
    cr_expect_eq(second(&mma, false, &load, true), EMU_NO_CONFLICT);
    emu_view_free(&load.view);
}

Test(order, fence_that_was_only_offered_is_named_as_such)
{
    struct actor mma = make_actor(9, 3, EMU_LANE_ASYNC, EMU_PROXY_TENSOR);
    struct actor load = make_actor(4, 1, EMU_LANE_ASYNC, EMU_PROXY_TENSOR);
    emu_clock_raise(&load.view.fenced, 9, 3);

    cr_expect_eq(second(&mma, true, &load, false), EMU_CONFLICT_TENSOR_FENCE);
    emu_view_free(&load.view);
}

Test(order, what_was_waited_for_may_lack_the_fence)
{
    struct actor mma = make_actor(9, 3, EMU_LANE_ASYNC, EMU_PROXY_TENSOR);
    struct actor next = make_actor(4, 1, EMU_LANE_ASYNC, EMU_PROXY_TENSOR);

    emu_clock_raise(&next.view.fenced, 9, 3);
    cr_expect_eq(second(&mma, false, &next, true), EMU_CONFLICT_TENSOR_FENCE);
    cr_expect_not(conflict.tolerated, "nobody has waited for it");

    emu_clock_raise(&next.view.happened, 9, 3);
    cr_expect_eq(second(&mma, false, &next, true), EMU_CONFLICT_TENSOR_FENCE);
    cr_expect(conflict.tolerated);
    cr_expect_eq(second(&mma, true, &next, false), EMU_CONFLICT_TENSOR_FENCE);
    cr_expect(conflict.tolerated);
    emu_view_free(&next.view);
}

Test(order, meeting_at_a_relaxed_barrier_is_tolerated)
{
    struct actor one = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor two = make_actor(2, 5, 0, EMU_PROXY_GENERIC);
    emu_clock_raise(&two.view.met, 1, 4);
    cr_expect_eq(second(&one, true, &two, false), EMU_CONFLICT_ORDER);
    cr_expect_not(conflict.tolerated, "what came after the meeting");

    emu_clock_raise(&two.view.met, 1, 5);
    cr_expect_eq(second(&one, true, &two, false), EMU_CONFLICT_ORDER);
    cr_expect(conflict.tolerated);
    emu_view_free(&two.view);
}

Test(order, conflict_that_is_not_tolerated_is_the_one_that_is_told)
{
    struct actor met = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor other = make_actor(3, 5, 0, EMU_PROXY_GENERIC);
    struct actor writer = make_actor(2, 5, 0, EMU_PROXY_GENERIC);
    emu_clock_raise(&writer.view.met, 1, 5);

    cr_expect_eq(touch(&met, false), EMU_NO_CONFLICT);
    cr_expect_eq(touch(&other, false), EMU_NO_CONFLICT);
    cr_expect_eq(touch(&writer, true), EMU_CONFLICT_ORDER);
    cr_expect_not(conflict.tolerated);
    cr_expect_eq(conflict.other.agent, 3);
    emu_view_free(&writer.view);
}

Test(order, atomics_conflict_only_with_others)
{
    struct actor one = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor two = make_actor(2, 5, 0, EMU_PROXY_GENERIC);
    struct actor plain = make_actor(3, 5, 0, EMU_PROXY_GENERIC);
    one.who.atomic = two.who.atomic = true;

    cr_expect_eq(second(&one, true, &two, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&one, true, &two, false), EMU_NO_CONFLICT);
    cr_expect_eq(second(&one, true, &plain, false), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&plain, false, &one, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&plain, true, &one, true), EMU_CONFLICT_ORDER);
}

Test(order, every_one_of_several_atomic_writers_counts)
{
    struct actor one = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor two = make_actor(2, 5, 0, EMU_PROXY_GENERIC);
    struct actor reader = make_actor(3, 5, 0, EMU_PROXY_GENERIC);
    one.who.atomic = two.who.atomic = true;
    emu_clock_raise(&reader.view.happened, 2, 5);

    touch(&one, true);
    touch(&two, true);
    cr_expect_eq(touch(&reader, false), EMU_CONFLICT_ORDER, "not after warp 1");

    emu_clock_raise(&reader.view.happened, 1, 5);
    reader.who.epoch = 6;
    cr_expect_eq(touch(&reader, false), EMU_NO_CONFLICT);
    emu_view_free(&reader.view);
}

Test(order, atomics_of_two_clusters_must_reach_beyond_them)
{
    struct actor one = make_actor(1, 5, 0, EMU_PROXY_GENERIC);
    struct actor near = make_actor(2, 5, 0, EMU_PROXY_GENERIC);
    struct actor far = make_actor(EMU_CLOCK_BLOCK, 5, 0, EMU_PROXY_GENERIC);
    one.who.atomic = near.who.atomic = far.who.atomic = true;
    cr_expect_eq(second(&one, true, &far, true), EMU_NO_CONFLICT);

    one.who.narrow = true;
    cr_expect_eq(second(&one, true, &near, true), EMU_NO_CONFLICT);
    cr_expect_eq(second(&one, true, &far, true), EMU_CONFLICT_ORDER);
    cr_expect_eq(second(&far, true, &one, false), EMU_CONFLICT_ORDER);
}
