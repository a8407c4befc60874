/* SPDX-License-Identifier: MIT */
/* Races: which bytes meet, how many accessors a cell remembers, what is forgotten. */
#include <criterion/criterion.h>

#include "check/shadow.h"

static struct emu_shadow *shadow;
static const struct emu_view nothing;

static void set_up(void)
{
    shadow = emu_shadow_create(200000);
}

static void tear_down(void)
{
    emu_shadow_free(shadow);
}

TestSuite(shadow, .init = set_up, .fini = tear_down);

static struct emu_conflict touch_known(uint64_t byte, uint64_t bytes, bool write,
                                       uint32_t agent, unsigned lane,
                                       const struct emu_view *view)
{
    struct emu_accessor who = {.agent = agent,
                               .epoch = 1,
                               .lane = (uint8_t)lane,
                               .proxy = EMU_PROXY_GENERIC,
                               .insn = agent * 10,
                               .view = view};
    struct emu_conflict conflict;
    emu_shadow_access(shadow, byte, bytes, write, &who, &conflict);
    return conflict;
}

/* Nobody knows of anybody: whatever meets conflicts. */
static struct emu_conflict put(uint64_t byte, uint64_t bytes, uint32_t agent)
{
    return touch_known(byte, bytes, true, agent, 0, &nothing);
}

static struct emu_conflict get(uint64_t byte, uint64_t bytes, uint32_t agent)
{
    return touch_known(byte, bytes, false, agent, 0, &nothing);
}

Test(shadow, bytes_of_one_cell_do_not_meet)
{
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(put(100 + i, 1, i + 1).kind, EMU_NO_CONFLICT);
    }
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(put(100 + i, 1, i + 1).kind, EMU_NO_CONFLICT, "each its own byte");
        cr_expect_eq(get(100 + i, 1, i + 1).kind, EMU_NO_CONFLICT);
    }
    struct emu_conflict conflict = get(102, 1, 4);
    cr_expect_eq(conflict.kind, EMU_CONFLICT_ORDER);
    cr_expect_eq(conflict.other.agent, 3);
    cr_expect_eq(conflict.byte, 102);
}

Test(shadow, conflict_says_who_where_and_how)
{
    put(1000, 16, 5);
    struct emu_conflict conflict = get(1010, 20, 6);

    cr_expect_eq(conflict.kind, EMU_CONFLICT_ORDER);
    cr_expect(conflict.was_write);
    cr_expect_not(conflict.is_write);
    cr_expect_eq(conflict.byte, 1010);
    cr_expect_eq(conflict.other.agent, 5);
    cr_expect_eq(conflict.other.epoch, 1);
    cr_expect_eq(conflict.other.lane, 0);
    cr_expect_eq(conflict.other.insn, 50);
    cr_expect_eq(conflict.other.proxy, EMU_PROXY_GENERIC);

    get(2000, 4, 5);
    conflict = put(2000, 4, 6);
    cr_expect_not(conflict.was_write);
    cr_expect(conflict.is_write);
}

Test(shadow, first_byte_of_the_conflict_is_found_across_pages)
{
    put(4094, 4, 1);
    struct emu_conflict conflict = put(0, 12000, 2);
    cr_expect_eq(conflict.kind, EMU_CONFLICT_ORDER);
    cr_expect_eq(conflict.byte, 4094);

    put(199999, 1, 3);
    cr_expect_eq(put(199992, 8, 4).byte, 199999, "last byte of the memory");
}

Test(shadow, ranges_end_where_they_end)
{
    put(10, 5, 1);
    cr_expect_eq(put(4, 6, 2).kind, EMU_NO_CONFLICT);
    cr_expect_eq(put(15, 9, 3).kind, EMU_NO_CONFLICT);
    cr_expect_eq(put(9, 1, 2).kind, EMU_NO_CONFLICT);
    cr_expect_eq(put(14, 1, 2).kind, EMU_CONFLICT_ORDER);
}

Test(shadow, conflict_is_told_once_and_the_access_is_noted)
{
    put(0, 4, 1);
    cr_expect_eq(put(0, 4, 2).kind, EMU_CONFLICT_ORDER);
    cr_expect_eq(put(0, 4, 2).kind, EMU_NO_CONFLICT);
    cr_expect_eq(put(0, 4, 1).other.agent, 2);
}

Test(shadow, eight_readers_are_remembered)
{
    for (uint32_t reader = 1; reader <= 8; reader++) {
        cr_expect_eq(get(64, 4, reader).kind, EMU_NO_CONFLICT);
    }
    for (uint32_t missing = 1; missing <= 8; missing++) {
        struct emu_view most = {0};
        for (uint32_t reader = 1; reader <= 8; reader++) {
            emu_clock_raise(&most.happened, reader, reader == missing ? 0 : 1);
        }
        struct emu_conflict conflict = touch_known(64, 4, true, 20, 0, &most);
        cr_expect_eq(conflict.kind, EMU_CONFLICT_ORDER);
        cr_expect_eq(conflict.other.agent, missing);

        /* All of them read again, after the write. */
        struct emu_view writer = {0};
        emu_clock_raise(&writer.happened, 20, 1);
        for (uint32_t reader = 1; reader <= 8; reader++) {
            cr_expect_eq(touch_known(64, 4, false, reader, 0, &writer).kind,
                         EMU_NO_CONFLICT);
        }
        emu_view_free(&most);
        emu_view_free(&writer);
    }
}

Test(shadow, of_many_readers_the_last_are_remembered)
{
    struct emu_view known = {0};
    for (uint32_t reader = 1; reader <= 20; reader++) {
        get(64, 4, reader);
        emu_clock_raise(&known.happened, reader, reader == 13 ? 0 : 1);
    }

    cr_expect_eq(touch_known(64, 4, true, 30, 0, &known).other.agent, 13);
    emu_view_free(&known);
}

Test(shadow, write_after_everything_clears_the_readers)
{
    struct emu_view known = {0};
    for (uint32_t reader = 1; reader <= 3; reader++) {
        get(64, 4, reader);
        emu_clock_raise(&known.happened, reader, 1);
    }
    cr_expect_eq(touch_known(64, 4, true, 10, 0, &known).kind, EMU_NO_CONFLICT);

    /* Who knows the writer only comes after the readers as well. */
    struct emu_view of_writer = {0};
    emu_clock_raise(&of_writer.happened, 10, 1);
    cr_expect_eq(touch_known(64, 4, true, 11, 0, &of_writer).kind, EMU_NO_CONFLICT);
    emu_view_free(&known);
    emu_view_free(&of_writer);
}

Test(shadow, write_of_some_bytes_keeps_the_readers_of_others)
{
    get(64, 4, 1);
    struct emu_view known = {0};
    emu_clock_raise(&known.happened, 1, 1);
    cr_expect_eq(touch_known(64, 2, true, 2, 0, &known).kind, EMU_NO_CONFLICT);

    cr_expect_eq(put(65, 1, 3).other.agent, 2);
    cr_expect_eq(put(66, 1, 3).other.agent, 1);
    emu_view_free(&known);
}

Test(shadow, broadcast_reads_of_a_warp_take_one_place)
{
    for (uint32_t warp = 1; warp <= 8; warp++) {
        for (unsigned lane = 0; lane < 32; lane++) {
            cr_expect_eq(touch_known(64, 4, false, warp, lane, &nothing).kind,
                         EMU_NO_CONFLICT);
        }
    }
    struct emu_view known = {0};
    for (uint32_t warp = 2; warp <= 8; warp++) {
        emu_clock_raise(&known.happened, warp, 1);
    }
    struct emu_conflict conflict = touch_known(64, 4, true, 20, 0, &known);
    cr_expect_eq(conflict.other.agent, 1, "the first warp is still there");
    cr_expect_eq(conflict.other.lane, EMU_LANE_SEVERAL);
    emu_view_free(&known);
}

Test(shadow, lane_that_read_alone_may_write)
{
    touch_known(64, 4, false, 1, 7, &nothing);
    cr_expect_eq(touch_known(64, 4, true, 1, 7, &nothing).kind, EMU_NO_CONFLICT);

    touch_known(68, 4, false, 1, 7, &nothing);
    touch_known(68, 4, false, 1, 8, &nothing);
    cr_expect_eq(touch_known(68, 4, true, 1, 7, &nothing).kind, EMU_CONFLICT_ORDER);

    /* Each lane reads its own byte of the cell and writes it. */
    for (unsigned lane = 0; lane < 4; lane++) {
        touch_known(72 + lane, 1, false, 1, lane, &nothing);
    }
    for (unsigned lane = 0; lane < 4; lane++) {
        cr_expect_eq(touch_known(72 + lane, 1, true, 1, lane, &nothing).kind,
                     EMU_NO_CONFLICT);
    }
}

Test(shadow, forgotten_bytes_meet_nobody)
{
    put(0, 20000, 1);
    for (uint32_t reader = 2; reader < 6; reader++) {
        get(8000, 4, reader);
    }
    emu_shadow_forget(shadow, 5002, 10000);

    cr_expect_eq(put(5002, 10000, 9).kind, EMU_NO_CONFLICT);
    cr_expect_eq(put(5001, 1, 9).other.agent, 1);
    cr_expect_eq(put(15002, 1, 9).other.agent, 1);
}

Test(shadow, nodes_of_the_pool_are_used_again)
{
    /* Far more crowded cells than a pool that leaks could number. */
    for (int round = 0; round < 300; round++) {
        for (uint64_t cell = 0; cell < 40; cell++) {
            for (uint32_t byte = 0; byte < 4; byte++) {
                put(cell * 4 + byte, 1, byte + 1);
            }
        }
        cr_expect_eq(put(1, 1, 7).other.agent, 2);
        emu_shadow_forget(shadow, 0, 160);
        cr_expect_eq(put(0, 160, 8).kind, EMU_NO_CONFLICT);
        emu_shadow_forget(shadow, 0, 160);
    }
}

Test(shadow, huge_memory_costs_only_what_is_touched)
{
    struct emu_shadow *huge = emu_shadow_create(UINT64_C(64) << 30);
    struct emu_accessor who = {.agent = 1, .epoch = 1, .view = &nothing};
    struct emu_conflict conflict;

    cr_expect(emu_shadow_access(huge, (UINT64_C(64) << 30) - 4, 4, true, &who, &conflict));
    who.agent = 2;
    cr_expect_not(
        emu_shadow_access(huge, (UINT64_C(64) << 30) - 2, 1, true, &who, &conflict));
    cr_expect_eq(conflict.byte, (UINT64_C(64) << 30) - 2);
    emu_shadow_free(huge);
    emu_shadow_free(NULL);
}
