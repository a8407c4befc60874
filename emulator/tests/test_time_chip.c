/* SPDX-License-Identifier: MIT */
/* The constants of the time model: none was forgotten, and the intervals of products are
 * the published ones. */
#include <criterion/criterion.h>

#include "time/chip.h"
#include "time/levels.h"

static double interval(const char *chip, unsigned rows, unsigned columns, bool pair,
                       bool a_is_shared)
{
    double bytes = 0;
    return emu_chip_mma_interval(emu_chip_find(chip), rows, columns, 32, a_is_shared, pair,
                                 &bytes);
}

Test(time_chip, no_constant_was_forgotten)
{
    static const char *const names[] = {"h100", "h200", "b200"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct emu_chip *chip = emu_chip_find(names[i]);
        cr_assert_not_null(chip);
        const double constants[] = {
            chip->boost_mhz,      chip->power_factor,    chip->alu_latency,
            chip->branch_latency, chip->cvt_interval,    chip->mufu_interval,
            chip->shared_latency, chip->shared_bytes,    chip->l1_latency,
            chip->l2_latency,     chip->dram_latency,    chip->atomic_latency,
            chip->l2_bytes_ns,    chip->dram_bytes_ns,   (double)chip->l2_capacity,
            chip->tma_interval,   chip->tma_latency,     chip->ask_latency,
            chip->fetch_bytes,    chip->ingest_bytes,    chip->egress_bytes,
            chip->store_latency,  chip->cluster_latency, chip->arrive_latency,
            chip->wake_latency,   chip->barrier_latency, chip->cluster_barrier_latency,
            chip->mma_bytes,      chip->launch_us,       chip->skew_us,
            chip->cluster_bytes,  chip->copy_bytes,      chip->load_bytes,
            chip->fetch_lines,    chip->send_bytes,      chip->take_bytes,
            chip->remote_latency, chip->remote_interval, chip->home_bits,
            chip->link_bytes_ns,  chip->link_latency,    chip->outside_bytes,
            chip->power_exponent, chip->tensor_mhz,      chip->gpc_bytes,
            chip->gpc_neighbours, chip->gpc_count,       chip->place_count};
        for (size_t j = 0; j < sizeof(constants) / sizeof(constants[0]); j++) {
            cr_expect_gt(constants[j], 0, "%s: constant %zu", names[i], j);
        }
    }
    const struct emu_chip *b200 = emu_chip_of_sm(100);
    cr_expect_gt(b200->tensor_load_bytes, 0);
    cr_expect_gt(b200->commit_latency[1], b200->commit_latency[0]);
    cr_expect_null(emu_chip_find("b300"));
    cr_expect_null(emu_chip_of_sm(80));
}

/* Published tables: 32 bytes of K. */
Test(time_chip, products_take_the_published_intervals)
{
    cr_expect_float_eq(interval("h100", 64, 256, false, true), 128, 0.1);
    cr_expect_float_eq(interval("h200", 64, 128, false, true), 64, 0.1);
    cr_expect_float_eq(interval("b200", 128, 256, false, true), 128, 0.1);
    cr_expect_float_eq(interval("b200", 128, 64, false, true), 48, 0.1);
    cr_expect_float_eq(interval("b200", 128, 64, false, false), 32, 0.1);
    cr_expect_float_eq(interval("b200", 64, 256, false, true), 128, 0.1);
    cr_expect_float_eq(interval("b200", 256, 256, true, true), 128, 0.1);
    cr_expect_float_eq(interval("b200", 256, 64, true, true), 43, 1);
    cr_expect_float_eq(interval("b200", 128, 64, true, true), 25, 1);
    cr_expect_float_eq(interval("b200", 128, 256, true, true), 64, 0.1);
    cr_expect_float_eq(interval("b200", 128, 16, false, true), 44, 0.1);
}

Test(time_chip, lines_are_kept_until_others_take_their_place)
{
    const struct emu_chip *chip = emu_chip_find("h100");
    struct emu_levels *levels = emu_levels_create(chip, 2000, 1);
    struct emu_request cold = {.at = 0};
    emu_levels_read(levels, &cold, 4096, 1024);
    cr_expect_eq(cold.missing, 1024);
    const double came = emu_levels_serve(levels, &cold);
    struct emu_request warm = {.at = 10 * came};
    emu_levels_read(levels, &warm, 4096, 1024);
    cr_expect_eq(warm.missing, 0);
    cr_expect_lt(emu_levels_serve(levels, &warm) - warm.at, came);
    struct emu_request other = {.at = 0};
    for (uint64_t at = 0; at < 2 * chip->l2_capacity; at += 65536) {
        emu_levels_read(levels, &other, (UINT64_C(1) << 32) + at, 65536);
    }
    struct emu_request again = {.at = 1e9};
    emu_levels_read(levels, &again, 4096, 1024);
    cr_expect_eq(again.missing, 1024, "twice its capacity was read in between");
    emu_levels_free(levels);
}

/* As many clusters of each size as an H100 runs at once, and the emulated B200. */
Test(time_chip, clusters_have_the_places_that_were_counted)
{
    static const unsigned counted[2][8][2] = {
        {{1, 132}, {2, 66}, {3, 39}, {4, 30}, {6, 17}, {8, 15}, {16, 7}},
        {{1, 148}, {2, 74}, {4, 34}, {8, 16}, {16, 8}}};
    for (size_t i = 0; i < 16; i++) {
        const struct emu_chip *chip = emu_chip_find(i < 8 ? "h100" : "b200");
        const unsigned ctas = counted[i / 8][i % 8][0];
        unsigned clusters = 0;
        for (unsigned j = 0; ctas > 0 && j < chip->place_count; j++) {
            clusters += chip->places[j].sms / ctas;
            cr_expect_lt(chip->places[j].gpc, chip->gpc_count);
        }
        cr_expect_eq(clusters, counted[i / 8][i % 8][1], "of %u: %u", ctas, clusters);
    }
}

/* Half of all lines are at home in each half of L2, 4 KiB after 4 KiB. */
Test(time_chip, a_line_is_at_home_in_one_half)
{
    enum { BLOCK = 4096, BLOCKS = 4096 };
    static const char *const names[] = {"h100", "b200"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct emu_levels *levels = emu_levels_create(emu_chip_find(names[i]), 1900, 1);
        unsigned others = 0;
        for (uint64_t block = 0; block < BLOCKS; block++) {
            const unsigned home = emu_levels_home(levels, block * BLOCK);
            cr_expect_eq(home, emu_levels_home(levels, block * BLOCK + BLOCK - 1));
            others += home;
        }
        cr_expect_eq(others, BLOCKS / 2, "%s: %u", names[i], others);
        emu_levels_free(levels);
    }
}

/* Reads `bytes` by a multiprocessor of a half; how long it took. */
static double read_from(struct emu_levels *levels, unsigned half, double at,
                        uint64_t address, uint32_t bytes)
{
    struct emu_gpc *gpcs = emu_gpcs_create(levels->chip);
    struct emu_fetcher fetcher = {
        .gpc = &gpcs[half],
        .half = half,
        .came = emu_alloc(levels->chip->fetch_lines * sizeof(double))};
    struct emu_request request = {.at = at, .fetcher = &fetcher, .half = half};
    emu_levels_read(levels, &request, address, bytes);
    const double took = emu_levels_serve(levels, &request) - at;
    emu_free(fetcher.came);
    emu_gpcs_free(gpcs, levels->chip);
    return took;
}

static double read_by(struct emu_levels *levels, unsigned half, double at, uint32_t bytes)
{
    return read_from(levels, half, at, 0, bytes);
}

/* The half that reads it first has what is at home there, and a copy of the rest; the other
 * one gets what it lacks through the link, once. */
Test(time_chip, a_line_of_the_other_half_comes_through_the_link_once)
{
    enum { BYTES = 1 << 20 };
    const struct emu_chip *chip = emu_chip_find("b200");
    struct emu_levels *levels = emu_levels_create(chip, 1965, 1);
    read_by(levels, 0, 0, BYTES);
    cr_expect_eq(levels->dram_read, BYTES);
    cr_expect_eq(levels->link_bytes, BYTES / 2, "%lu", levels->link_bytes);
    const double crossing = read_by(levels, 1, 1e6, BYTES);
    cr_expect_eq(levels->dram_read, BYTES);
    cr_expect_eq(levels->link_bytes, BYTES, "%lu", levels->link_bytes);
    const double again = read_by(levels, 1, 2e6, BYTES);
    cr_expect_eq(levels->link_bytes, BYTES, "%lu", levels->link_bytes);
    cr_expect_float_eq(crossing - again, chip->link_latency, 100, "%f and %f", crossing,
                       again);
    emu_levels_free(levels);
}

/* What is written is at home only. What both halves read takes the place of as much again.
 */
Test(time_chip, copies_are_forgotten_and_take_room)
{
    const struct emu_chip *chip = emu_chip_find("b200");
    const uint32_t bytes = (uint32_t)(chip->l2_capacity / 4 * 3);
    struct emu_levels *levels = emu_levels_create(chip, 1965, 1);
    read_by(levels, 0, 0, 4096 * 16);
    const uint64_t before = levels->link_bytes;
    struct emu_request store = {.at = 1e5};
    emu_levels_write(levels, &store, 0, 4096 * 16);
    const uint64_t written = levels->link_bytes;
    cr_expect_eq(written - before, 4096 * 8, "%lu", written - before);
    for (uint64_t at = 0; at < 4096 * 16; at += 32) {
        emu_levels_write(levels, &store, at, 32);
    }
    const uint64_t in_parts = levels->link_bytes;
    cr_expect_eq(in_parts - written, 4096 * 8, "as many in parts of a line");
    read_by(levels, 0, 1e6, 4096 * 16);
    cr_expect_eq(levels->link_bytes - in_parts, before);
    for (unsigned pass = 0; pass < 2; pass++) {
        read_by(levels, 0, 2e6 + 2e6 * pass, bytes);
    }
    cr_expect_gt(levels->dram_read, bytes + bytes / 4,
                 "one half has no room for it: %lu of %u", levels->dram_read, bytes);
    emu_levels_free(levels);
}

/* Both ways at once, each at its rate: a small part of the chip's multiprocessors asks for
 * more. */
Test(time_chip, the_link_has_a_rate_each_way)
{
    enum { BYTES = 1 << 22 };
    struct emu_chip chip = *emu_chip_find("b200");
    chip.link_bytes_ns = chip.fetch_bytes * 1.965 / 8;
    struct emu_levels *levels = emu_levels_create(&chip, 1965, 1);
    struct emu_request filling = {.at = 0};
    emu_levels_read(levels, &filling, 0, BYTES);
    const double ways[2] = {read_by(levels, 0, 1e6, BYTES), read_by(levels, 1, 1e6, BYTES)};
    const double least = BYTES / 2 / (chip.fetch_bytes / 8.0);
    for (unsigned i = 0; i < 2; i++) {
        cr_expect_float_eq(ways[i], least, least / 50, "%f, not %f", ways[i], least);
    }
    emu_levels_free(levels);
}

/* So many lines by each of some multiprocessors of a GPC; when the last one came. */
static double draw(const struct emu_chip *chip, unsigned sms, unsigned neighbours,
                   unsigned lines, bool same)
{
    struct emu_levels *levels = emu_levels_create(chip, chip->boost_mhz, 1);
    struct emu_gpc *gpcs = emu_gpcs_create(chip);
    struct emu_request filling = {.at = 0};
    double last = 0;
    emu_levels_read(levels, &filling, 0, sms * lines * EMU_LINE_BYTES);
    struct emu_fetcher first = {.gpc = &gpcs[1],
                                .came = emu_alloc(chip->fetch_lines * sizeof(double))};
    struct emu_request copying = {.fetcher = &first};
    emu_levels_read(levels, &copying, 0, sms * lines * EMU_LINE_BYTES);
    emu_free(first.came);
    for (unsigned i = 0; i < sms; i++) {
        struct emu_fetcher fetcher = {
            .gpc = &gpcs[0], .came = emu_alloc(chip->fetch_lines * sizeof(double))};
        struct emu_request request = {
            .at = 1e6, .fetcher = &fetcher, .sharers = i / neighbours};
        emu_levels_read(levels, &request, same ? 0 : (uint64_t)i * lines * EMU_LINE_BYTES,
                        lines * EMU_LINE_BYTES);
        const double came = emu_levels_serve(levels, &request) - request.at;
        last = came > last ? came : last;
        emu_free(fetcher.came);
    }
    emu_gpcs_free(gpcs, chip);
    emu_levels_free(levels);
    return last;
}

Test(time_chip, a_gpc_draws_at_its_rate_what_its_multiprocessors_do_not_share)
{
    const struct emu_chip *chip = emu_chip_find("h100"), *other = emu_chip_find("b200");
    const double bytes = 512 * EMU_LINE_BYTES;
    cr_expect_float_eq(draw(chip, 1, 1, 512, false), bytes / chip->fetch_bytes, 40);
    cr_expect_float_eq(draw(chip, 16, 6, 512, false), 16 * bytes / chip->gpc_bytes, 40);
    cr_expect_float_eq(draw(chip, 16, 1, 512, true), 16 * bytes / chip->gpc_bytes, 40);
    cr_expect_float_eq(draw(chip, 16, 6, 512, true), bytes / chip->fetch_bytes, 40);
    /* As published: 16 draw there what they draw by themselves, and 20 do not. */
    cr_expect_float_eq(draw(other, 16, 1, 512, false), bytes / other->fetch_bytes, 40);
    cr_expect_float_eq(draw(other, 20, 1, 512, false), 20 * bytes / other->gpc_bytes, 40);
}

Test(time_chip, a_line_that_has_come_is_drawn_again)
{
    const struct emu_chip *chip = emu_chip_find("h100");
    struct emu_gpc *gpcs = emu_gpcs_create(chip);
    const double came = emu_gpc_draw(&gpcs[0], 0, 7, 1000, 1000, EMU_LINE_BYTES);
    double when = 0;
    cr_expect(emu_gpc_shares(&gpcs[0], 0, 7, 1100, &when));
    cr_expect_eq(when, 1100);
    cr_expect(emu_gpc_shares(&gpcs[0], 0, 7, 900, &when));
    cr_expect_eq(when, came);
    cr_expect_not(emu_gpc_shares(&gpcs[0], 0, 7, came + chip->l2_latency, &when));
    cr_expect_not(emu_gpc_shares(&gpcs[0], 1, 7, 1100, &when));
    cr_expect_not(emu_gpc_shares(&gpcs[0], 0, 8, 1100, &when));
    emu_gpcs_free(gpcs, chip);
}

/* Who asks later may come first: what is handed out depends on times, not on the order of
 * requests. */
Test(time_chip, gaps_are_handed_out_in_any_order)
{
    double ends[2][3];
    for (unsigned order = 0; order < 2; order++) {
        static const double asks[] = {0, 6400, 12800};
        struct emu_spans spans;
        emu_spans_create(&spans, 10, true);
        for (unsigned i = 0; i < 3; i++) {
            const unsigned at = order == 0 ? i : 2 - i;
            ends[order][at] = emu_spans_draw(&spans, asks[at], 32000);
        }
        emu_spans_free(&spans);
    }
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(ends[0][i], ends[1][i]);
        cr_expect_float_eq(ends[0][i], 6400 * i + 3200, 0.1);
    }
}

/* However many spans it takes, a rate is a rate: also where one request is longer than a
 * span. */
Test(time_chip, a_rate_holds_where_all_come_at_once)
{
    struct emu_spans spans;
    double came = 0;
    emu_spans_create(&spans, 2, true);
    for (unsigned i = 0; i < 1000; i++) {
        came = emu_spans_draw(&spans, 100, 128);
    }
    cr_expect_float_eq(came, 96 + 128000 / 2, 0.1);
    const double early = emu_spans_draw(&spans, 0, 32);
    const double late = emu_spans_draw(&spans, 96, 6400);
    cr_expect_float_eq(early, 16, 0.1, "there was room before");
    cr_expect_float_eq(late, came + 3200, 0.1);
    emu_spans_free(&spans);
}

/* Copies of another multiprocessor that reach into the future leave room for the others. */
Test(time_chip, copies_of_two_multiprocessors_go_side_by_side)
{
    const struct emu_chip *chip = emu_chip_find("b200");
    const uint32_t bytes = 4096 * EMU_LINE_BYTES;
    struct emu_levels *levels = emu_levels_create(chip, 1965, 1);
    struct emu_gpc *gpcs = emu_gpcs_create(chip);
    double took[2];
    for (unsigned i = 0; i < 2; i++) {
        struct emu_fetcher fetcher = {
            .gpc = &gpcs[0], .came = emu_alloc(chip->fetch_lines * sizeof(double))};
        struct emu_request request = {.fetcher = &fetcher};
        emu_levels_read(levels, &request, (uint64_t)i << 30, bytes);
        took[i] = emu_levels_serve(levels, &request);
        emu_free(fetcher.came);
    }
    const double least = (double)bytes / chip->fetch_bytes;
    cr_expect_gt(took[0], least);
    cr_expect_lt(took[0], 1.5 * least + emu_chip_miss(chip, false, 1), "%f", took[0]);
    cr_expect_float_eq(took[1], took[0], 0.05 * took[0], "%f, %f", took[0], took[1]);
    emu_gpcs_free(gpcs, chip);
    emu_levels_free(levels);
}

/* What a miss takes longer: as likely less than the median as more, the mean is the chip's,
 * and the last of many lines has most of it. */
Test(time_chip, misses_vary_around_the_chips_mean_where_it_was_measured)
{
    enum { DRAWS = 10000 };
    const struct emu_chip *chip = emu_chip_find("h200"), *other = emu_chip_find("b200");
    double sum = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        sum += emu_chip_miss(chip, false, (i + 0.5) / DRAWS);
    }
    cr_expect_float_eq(sum / DRAWS, chip->tma_missing, 0.01 * chip->tma_missing, "%f",
                       sum / DRAWS);
    cr_expect_lt(emu_chip_miss(chip, true, 0.5), chip->dram_latency);
    cr_expect_gt(emu_chip_miss(chip, true, 0.99), 2 * chip->dram_latency);
    cr_expect_eq(emu_chip_miss(other, true, 0.99), other->dram_latency);
    cr_expect_eq(emu_chip_miss(other, false, 0.01), other->tma_missing);
}

/* Memory brings a line once, and who asks for it meanwhile waits as long. A request that
 * comes to be served first although it is for later holds up nobody. */
Test(time_chip, a_line_under_way_is_waited_for)
{
    const struct emu_chip *chip = emu_chip_find("b200");
    struct emu_levels *levels = emu_levels_create(chip, 1965, 1);
    const double first = read_by(levels, 0, 5000, 128);
    const double later = read_by(levels, 0, 5050, 128);
    cr_expect_eq(levels->dram_read, 128);
    cr_expect_gt(first, 190, "%f", first);
    cr_expect_float_eq(first, later + 50, 1, "%f and %f", first, later);
    cr_expect_lt(read_by(levels, 0, 9000, 128), 10);
    (void)read_by(levels, 0, 1e5, 1 << 16);
    cr_expect_lt(read_from(levels, 0, 2e4, 1 << 21, 1 << 10), 5e3);
    emu_levels_free(levels);
}

/* Rows outside of a matrix cost one multiprocessor no more than others. Those of a GPC take
 * its time in turn, but for the pair that asks for the same. */
Test(time_chip, rows_outside_of_a_matrix_take_their_gpcs_time)
{
    enum { ROWS = 64, SMS = 16, BEGIN = 1000 };
    const struct emu_chip *chip = emu_chip_find("h200");
    for (unsigned shared = 0; shared < 2; shared++) {
        struct emu_levels *levels = emu_levels_create(chip, 1980, 1);
        struct emu_gpc *gpcs = emu_gpcs_create(chip);
        double took[SMS];
        for (unsigned i = 0; i < SMS; i++) {
            struct emu_fetcher fetcher = {
                .gpc = &gpcs[0],
                .pair = 1 + i / 2,
                .came = emu_alloc(chip->fetch_lines * sizeof(double))};
            struct emu_request request = {.at = BEGIN, .fetcher = &fetcher};
            for (uint64_t row = 0; row < ROWS; row++) {
                emu_levels_fill_row(levels, &request, row + (shared ? i / 2 : i) * ROWS);
            }
            took[i] = emu_levels_serve(levels, &request) - BEGIN;
            emu_free(fetcher.came);
        }
        const double all = ROWS * (SMS >> shared) * chip->outside_bytes / chip->gpc_bytes;
        cr_expect_float_eq(took[0], ROWS, 40, "%f", took[0]);
        cr_expect_float_eq(took[SMS - 1], all, 40, "%f and %f", took[SMS - 1], all);
        emu_gpcs_free(gpcs, chip);
        emu_levels_free(levels);
    }
}
