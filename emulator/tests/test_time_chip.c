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
            chip->tma_interval,   chip->tma_latency,     chip->tma_missing,
            chip->fetch_bytes,    chip->ingest_bytes,    chip->egress_bytes,
            chip->store_latency,  chip->cluster_latency, chip->arrive_latency,
            chip->wake_latency,   chip->barrier_latency, chip->cluster_barrier_latency,
            chip->mma_bytes,      chip->launch_us,       chip->skew_us,
            chip->cluster_bytes};
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
