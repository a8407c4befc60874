/* SPDX-License-Identifier: MIT */
/* Grids, kept tensor maps and slots, over a driver table made by hand. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "handmade_kernel.h"
#include "runtime/launch.h"

static struct jg_map_slots slots;

static jit_gemm_args plain_args(void)
{
    const jit_gemm_args args = {
        .struct_size = sizeof(args), .a = 0x10000, .b = 0x20000, .d = 0x30000};
    return args;
}

Test(launch, grid_is_whole_clusters_and_at_most_what_fits)
{
    static const struct {
        uint32_t m, n, batch;
        unsigned int grid;
    } rows[] = {
        {1, 1, 1, 2},
        {256, 256, 1, 2},
        {257, 256, 1, 4},
        {256, 257, 1, 4},
        {4096, 4096, 1, 132},
        {256, 256, 5, 10},
        {256, 256, 1000, 132},
        {1u << 30, 2048, 1, 132},
        {INT32_MAX, INT32_MAX, INT32_MAX, 132},
    };
    struct handmade made;
    handmade_kernel(&made);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const unsigned int grid =
            jg_launch_grid(made.kernel, rows[i].m, rows[i].n, rows[i].batch);
        cr_expect_eq(grid, rows[i].grid, "%u x %u x %u: %u", rows[i].m, rows[i].n,
                     rows[i].batch, grid);
    }
    handmade_free(&made);
}

Test(launch, grid_of_the_reference_kernel_is_bounded)
{
    struct handmade made;
    handmade_kernel(&made);
    made.kernel->choice.config =
        (struct jg_config){.kernel = JG_KERNEL_REFERENCE, .cluster_m = 0, .cluster_n = 0};
    made.kernel->choice.derived.threads = 256;

    cr_expect_eq(jg_launch_grid(made.kernel, 16, 17, 1), 2);
    cr_expect_eq(jg_launch_grid(made.kernel, 16, 16, 7), 7);
    cr_expect_eq(jg_launch_grid(made.kernel, INT32_MAX, INT32_MAX, INT32_MAX), 65535 * 8);
    handmade_free(&made);
}

static void init_slots(void)
{
    static struct jg_map_entry entries[JG_MAP_SLOTS * JG_MAP_ENTRIES * JG_MAP_OPERANDS];
    cr_assert_eq(sizeof(entries), jg_map_slots_bytes(0));
    jg_map_slots_init(&slots, 0, entries);
}

Test(launch, kept_maps_are_used_again)
{
    struct handmade made;
    handmade_kernel(&made);
    init_slots();
    jit_gemm_args args = plain_args();

    for (int i = 0; i < 5; i++) {
        cr_assert_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_OK);
    }
    cr_expect_eq(handmade_encodes(), 3);
    args.b += 512;
    cr_assert_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_OK);
    cr_expect_eq(handmade_encodes(), 4);
    cr_expect_eq(handmade_launches(), 6);
    cr_expect_eq(handmade_last_grid(), 32);
    handmade_free(&made);
}

Test(launch, taken_slots_never_make_a_launch_wait)
{
    struct handmade made;
    handmade_kernel(&made);
    init_slots();
    const jit_gemm_args args = plain_args();
    for (int i = 0; i < JG_MAP_SLOTS; i++) {
        atomic_flag_test_and_set(&slots.slots[i].busy);
    }

    cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_OK);
    cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_OK);

    cr_expect_eq(handmade_encodes(), 6);
    atomic_flag_clear(&slots.slots[JG_MAP_SLOTS - 1].busy);
    cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_OK);
    cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_OK);
    cr_expect_eq(handmade_encodes(), 9);
    cr_expect(!atomic_flag_test_and_set(&slots.slots[JG_MAP_SLOTS - 1].busy));
    handmade_free(&made);
}

Test(launch, too_many_tiles_are_refused)
{
    struct handmade made;
    handmade_kernel(&made);
    init_slots();
    made.kernel->problem.m.mode = JIT_GEMM_DIM_DYNAMIC;
    made.kernel->problem.n.mode = JIT_GEMM_DIM_DYNAMIC;
    made.kernel->problem.batch.mode = JIT_GEMM_DIM_DYNAMIC;
    jit_gemm_args args = plain_args();
    args.m = INT32_MAX;
    args.n = INT32_MAX;
    args.batch = 2;

    cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(jg_error_text(), "2^31 tiles"), "%s", jg_error_text());
    cr_expect_eq(handmade_launches(), 0);
    handmade_free(&made);
}
