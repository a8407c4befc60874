/* SPDX-License-Identifier: MIT */
/* Vector clocks: joins only raise, copies are exact, nothing is shared. */
#include <criterion/criterion.h>

#include "check/clock.h"

Test(clock, component_that_nobody_raised_is_zero)
{
    struct emu_clock clock = {0};

    cr_expect_eq(emu_clock_get(&clock, 0), 0);
    cr_expect_eq(emu_clock_get(&clock, 4000000), 0);

    emu_clock_raise(&clock, 70, 3);
    cr_expect_eq(emu_clock_get(&clock, 70), 3);
    cr_expect_eq(emu_clock_get(&clock, 69), 0);
    cr_expect_eq(emu_clock_get(&clock, 71), 0);
    emu_clock_free(&clock);
    cr_expect_eq(emu_clock_get(&clock, 70), 0);
}

Test(clock, raise_never_lowers)
{
    struct emu_clock clock = {0};

    emu_clock_raise(&clock, 5, 9);
    emu_clock_raise(&clock, 5, 4);
    cr_expect_eq(emu_clock_get(&clock, 5), 9);
    emu_clock_raise(&clock, 5, 10);
    cr_expect_eq(emu_clock_get(&clock, 5), 10);

    emu_clock_free(&clock);
}

Test(clock, join_is_the_maximum_whichever_is_longer)
{
    struct emu_clock few = {0};
    struct emu_clock many = {0};
    struct emu_clock sum = {0};
    emu_clock_raise(&few, 1, 7);
    emu_clock_raise(&few, 2, 1);
    emu_clock_raise(&many, 2, 5);
    emu_clock_raise(&many, 200, 6);

    emu_clock_join(&sum, &few);
    emu_clock_join(&sum, &many);
    emu_clock_join(&many, &few);

    const uint32_t agents[] = {1, 2, 200};
    const uint32_t expected[] = {7, 5, 6};
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(emu_clock_get(&sum, agents[i]), expected[i]);
        cr_expect_eq(emu_clock_get(&many, agents[i]), expected[i]);
    }
    cr_expect_eq(emu_clock_get(&few, 200), 0, "the joined clock stays as it was");

    emu_clock_join(&sum, &sum);
    cr_expect_eq(emu_clock_get(&sum, 2), 5);
    emu_clock_free(&few);
    emu_clock_free(&many);
    emu_clock_free(&sum);
}

Test(clock, clocks_that_join_each_other_again_and_again_do_not_grow)
{
    struct emu_clock one = {0};
    struct emu_clock two = {0};
    emu_clock_raise(&one, 40, 1);
    for (int i = 0; i < 100; i++) {
        emu_clock_join(&two, &one);
        emu_clock_raise(&two, 41 + (uint32_t)i % 2, 1);
        emu_clock_join(&one, &two);
    }
    cr_expect_leq(one.count, 64);
    cr_expect_leq(two.count, 64);
    emu_clock_free(&one);
    emu_clock_free(&two);
}

Test(clock, copy_forgets_what_was_there)
{
    struct emu_clock from = {0};
    struct emu_clock to = {0};
    emu_clock_raise(&to, 3, 30);
    emu_clock_raise(&to, 300, 3);
    emu_clock_raise(&from, 1, 10);

    emu_clock_copy(&to, &from);
    emu_clock_raise(&from, 1, 11);

    cr_expect_eq(emu_clock_get(&to, 1), 10, "a copy does not follow");
    cr_expect_eq(emu_clock_get(&to, 3), 0);
    cr_expect_eq(emu_clock_get(&to, 300), 0);

    emu_clock_copy(&from, &(struct emu_clock){0});
    cr_expect_eq(emu_clock_get(&from, 1), 0);
    emu_clock_copy(&to, &to);
    cr_expect_eq(emu_clock_get(&to, 1), 10);
    emu_clock_free(&from);
    emu_clock_free(&to);
}

Test(clock, view_joins_and_copies_each_of_its_clocks)
{
    struct emu_view a = {0};
    struct emu_view b = {0};
    emu_clock_raise(&a.happened, 1, 10);
    emu_clock_raise(&a.proxied, 1, 20);
    emu_clock_raise(&a.fenced, 1, 30);
    emu_clock_raise(&a.tensor, 1, 40);
    emu_clock_raise(&a.met, 1, 50);
    emu_clock_raise(&b.happened, 1, 11);
    emu_clock_raise(&b.tensor, 1, 4);

    emu_view_join(&b, &a);
    cr_expect_eq(emu_clock_get(&b.happened, 1), 11);
    cr_expect_eq(emu_clock_get(&b.proxied, 1), 20);
    cr_expect_eq(emu_clock_get(&b.fenced, 1), 30);
    cr_expect_eq(emu_clock_get(&b.tensor, 1), 40);
    cr_expect_eq(emu_clock_get(&b.met, 1), 50);

    emu_view_copy(&b, &a);
    cr_expect_eq(emu_clock_get(&b.happened, 1), 10);
    cr_expect_eq(emu_clock_get(&b.proxied, 1), 20);
    cr_expect_eq(emu_clock_get(&b.fenced, 1), 30);
    cr_expect_eq(emu_clock_get(&b.tensor, 1), 40);
    cr_expect_eq(emu_clock_get(&b.met, 1), 50);
    emu_view_free(&a);
    emu_view_free(&b);
}

/* Agents of three clusters; each clock begins with another one's block. */
#define OF_A 3u
#define OF_B (EMU_CLOCK_BLOCK + 3u)
#define OF_C (7 * EMU_CLOCK_BLOCK)

static void expect_times(const struct emu_clock *clock, uint32_t a, uint32_t b, uint32_t c)
{
    cr_expect_eq(emu_clock_get(clock, OF_A), a);
    cr_expect_eq(emu_clock_get(clock, OF_B), b);
    cr_expect_eq(emu_clock_get(clock, OF_C), c);
    cr_expect_eq(emu_clock_get(clock, OF_A + 1), 0);
    cr_expect_eq(emu_clock_get(clock, OF_B + 1), 0);
    cr_expect_eq(emu_clock_get(clock, OF_C - EMU_CLOCK_BLOCK), 0);
    cr_expect_eq(emu_clock_get(clock, OF_C + EMU_CLOCK_BLOCK), 0);
}

Test(clock, blocks_of_several_clusters_are_kept_apart)
{
    struct emu_clock first = {0};
    struct emu_clock second = {0};
    emu_clock_raise(&first, OF_A, 4);
    emu_clock_raise(&first, OF_B, 5);
    emu_clock_raise(&first, OF_B, 2);
    emu_clock_raise(&second, OF_C, 6);
    emu_clock_raise(&second, OF_B, 9);
    emu_clock_raise(&second, OF_A, 1);

    expect_times(&first, 4, 5, 0);
    expect_times(&second, 1, 9, 6);
    emu_clock_join(&first, &second);
    emu_clock_join(&second, &first);
    expect_times(&first, 4, 9, 6);
    expect_times(&second, 4, 9, 6);

    emu_clock_free(&first);
    emu_clock_free(&second);
}

Test(clock, what_is_shared_does_not_change_for_others)
{
    struct emu_clock source = {0};
    struct emu_clock taker = {0};
    struct emu_clock copy = {0};
    emu_clock_raise(&source, OF_A, 1);
    emu_clock_raise(&source, OF_B, 1);
    emu_clock_raise(&source, OF_C, 1);
    emu_clock_join(&taker, &source);
    emu_clock_raise(&copy, OF_C, 50);
    emu_clock_copy(&copy, &source);

    emu_clock_raise(&source, OF_B, 7);
    emu_clock_raise(&taker, OF_C, 8);
    expect_times(&source, 1, 7, 1);
    expect_times(&taker, 1, 1, 8);
    expect_times(&copy, 1, 1, 1);
    emu_clock_join(&copy, &source);
    emu_clock_join(&copy, &taker);
    expect_times(&copy, 1, 7, 8);
    expect_times(&source, 1, 7, 1);

    emu_clock_free(&source);
    expect_times(&copy, 1, 7, 8);
    emu_clock_free(&taker);
    emu_clock_free(&copy);
}

/* Arrays grow in steps; the last agent of a block is not the first of the next. */
Test(clock, block_ends_where_the_next_begins)
{
    struct emu_clock clock = {0};
    emu_clock_raise(&clock, EMU_CLOCK_BLOCK - 2, 3);
    cr_expect_eq(emu_clock_get(&clock, EMU_CLOCK_BLOCK), 0);
    emu_clock_raise(&clock, EMU_CLOCK_BLOCK + 9, 5);
    emu_clock_raise(&clock, EMU_CLOCK_BLOCK + 2, 6);
    cr_expect_eq(emu_clock_get(&clock, EMU_CLOCK_BLOCK - 2), 3);
    cr_expect_eq(emu_clock_get(&clock, EMU_CLOCK_BLOCK + 9), 5);
    cr_expect_eq(emu_clock_get(&clock, EMU_CLOCK_BLOCK + 2), 6);
    emu_clock_free(&clock);
}

Test(clock, meet_keeps_what_both_know_of_every_block)
{
    struct emu_clock one = {0};
    struct emu_clock two = {0};
    struct emu_clock third = {0};
    emu_clock_raise(&one, OF_B, 5);
    emu_clock_raise(&one, OF_A, 7);
    emu_clock_raise(&one, OF_C, 9);
    emu_clock_join(&third, &one);
    emu_clock_raise(&two, OF_A, 3);
    emu_clock_raise(&two, OF_B, 8);

    emu_clock_meet(&one, &two);
    expect_times(&one, 3, 5, 0);
    expect_times(&two, 3, 8, 0);
    expect_times(&third, 7, 5, 9);

    emu_clock_meet(&one, &one);
    expect_times(&one, 3, 5, 0);
    emu_clock_copy(&two, &third);
    emu_clock_meet(&two, &third);
    expect_times(&two, 7, 5, 9);
    emu_clock_free(&one);
    emu_clock_free(&two);
    emu_clock_free(&third);
}
