/* SPDX-License-Identifier: MIT */
/* Grids, kept tensor maps and slots, over a driver table made by hand. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "handmade_kernel.h"
#include "runtime/grid.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

static struct jg_map_slots slots;

static void init_slots(void)
{
    static struct jg_map_entry entries[JG_MAP_SLOTS * JG_MAP_ENTRIES * JG_MAP_OPERANDS];
    cr_assert_eq(sizeof(entries), jg_map_slots_bytes(JG_MAP_OPERANDS));
    jg_map_slots_init(&slots, JG_MAP_OPERANDS, entries);
}

static jit_gemm_args plain_args(void)
{
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x30000}};
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
            jg_grid_of_size(made.kernel, rows[i].m, rows[i].n, rows[i].batch);
        cr_expect_eq(grid, rows[i].grid, "%u x %u x %u: %u", rows[i].m, rows[i].n,
                     rows[i].batch, grid);
    }
    handmade_free(&made);
}

Test(launch, grid_without_a_static_share_has_a_cluster_a_tile)
{
    static const struct {
        enum jg_scheduler scheduler;
        int split_k;
        uint32_t m, n, batch;
        unsigned int grid;
    } rows[] = {
        {JG_SCHEDULER_SINGLE, 1, 256, 256, 1, 2},
        {JG_SCHEDULER_SINGLE, 1, 4096, 4096, 3, 2 * 256 * 3},
        {JG_SCHEDULER_CLC, 1, 257, 256, 1, 4},
        {JG_SCHEDULER_CLC, 1, 4096, 4096, 1000, 2 * 256 * 1000},
        {JG_SCHEDULER_CLC, 4, 4096, 4096, 1, 2 * 256 * 4},
    };
    struct handmade made;
    handmade_kernel(&made);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        made.kernel->choice.config.launch.scheduler = rows[i].scheduler;
        made.kernel->choice.config.launch.split_k = rows[i].split_k;
        cr_expect_eq(jg_grid_of_size(made.kernel, rows[i].m, rows[i].n, rows[i].batch),
                     rows[i].grid, "%u x %u x %u", rows[i].m, rows[i].n, rows[i].batch);
    }
    handmade_free(&made);
}

Test(launch, cluster_that_has_the_parts_of_k_is_launched_for_each_tile)
{
    static const struct {
        int split_k;
        uint32_t m, n, batch;
        unsigned int grid;
    } rows[] = {
        {2, 256, 256, 1, 2 * 2},
        {8, 256, 256, 3, 8 * 2 * 3},
        {8, 4096, 4096, 1, 8 * 32 * 16},
        {3, 129, 257, 1, 3 * 2 * 2},
    };
    struct handmade made;
    handmade_kernel(&made);
    struct jg_config *config = &made.kernel->choice.config;
    config->layout.cluster_m = 1;
    config->launch.scheduler = JG_SCHEDULER_SINGLE;
    config->launch.split_order = JG_SPLIT_CLUSTER;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        config->launch.split_k = rows[i].split_k;
        cr_expect_eq(jg_grid_of_size(made.kernel, rows[i].m, rows[i].n, rows[i].batch),
                     rows[i].grid, "row %zu", i);
        cr_expect_eq(jg_kernel_cluster_ctas(made.kernel), rows[i].split_k);
    }
    handmade_free(&made);
}

/* 256 cluster tiles a product, 66 clusters at once. */
Test(launch, grid_of_a_split_tail_is_all_that_fit_where_its_parts_do)
{
    static const struct {
        int split_k, split_tail;
        uint32_t m, n, batch;
        unsigned int grid;
    } rows[] = {
        {3, 60, 4096, 4096, 1, 2 * 66}, /* 48 parts, then 240 tiles */
        {5, 66, 4096, 4096, 1, 2 * 65}, /* 290 parts do not fit at once */
        {5, 66, 4096, 4096, 8, 2 * 66}, /* 10 do */
        {2, 1000, 256, 256, 1, 2 * 2},  /* one tile in two parts */
        {2, 64, 4096, 4096, 1, 2 * 66}, /* no tile beyond whole waves */
    };
    struct handmade made;
    handmade_kernel(&made);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        made.kernel->choice.config.launch.split_k = rows[i].split_k;
        made.kernel->choice.config.launch.split_tail = rows[i].split_tail;
        cr_expect_eq(jg_grid_of_size(made.kernel, rows[i].m, rows[i].n, rows[i].batch),
                     rows[i].grid, "row %zu", i);
    }
    handmade_free(&made);
}

Test(launch, grid_has_all_parts_of_k_and_no_part_of_a_tile_alone)
{
    static const struct {
        int split_k;
        uint32_t m, n, batch;
        unsigned int grid;
    } rows[] = {
        {4, 256, 256, 1, 2 * 4},     {4, 4096, 4096, 1, 2 * 64},
        {5, 4096, 4096, 1, 2 * 65},  {64, 256, 256, 1, 2 * 64},
        {64, 512, 512, 1, 2 * 64},   {3, 256, 256, 7, 2 * 21},
        {3, 256, 256, 1000, 2 * 66}, {64, INT32_MAX, INT32_MAX, INT32_MAX, 2 * 64},
    };
    struct handmade made;
    handmade_kernel(&made);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        made.kernel->choice.config.launch.split_k = rows[i].split_k;
        cr_expect_eq(jg_grid_of_size(made.kernel, rows[i].m, rows[i].n, rows[i].batch),
                     rows[i].grid, "row %zu", i);
    }
    made.kernel->choice.config.launch.split_k = 64;
    made.kernel->resident_clusters = 3;
    cr_expect_eq(jg_grid_of_size(made.kernel, 256, 256, 1), 2 * 64,
                 "more than fit at once");
    handmade_free(&made);
}

Test(launch, workspace_is_required_and_checked_where_k_is_split)
{
    enum { LOCKS = 8 * 4096, TILE = 128 * 256 * 4, PLANNED = LOCKS + 32 * TILE };
    static const struct {
        int64_t m;
        uint64_t workspace, bytes;
        jit_gemm_status status;
        const char *message;
    } rows[] = {
        {1024, 0x40000, 0, JIT_GEMM_OK, NULL},
        {1, 0x40000, LOCKS + 8 * TILE, JIT_GEMM_OK, NULL},
        {2048, 0x40000, LOCKS + 64 * TILE, JIT_GEMM_OK, NULL},
        {1024, 0, 0, JIT_GEMM_ERR_ARGUMENT,
         "args.workspace: this kernel splits K and needs a workspace of 4227072 bytes; give"},
        {1, 0, 0, JIT_GEMM_ERR_ARGUMENT, "needs a workspace of 4227072 bytes"},
        {2048, 0, 0, JIT_GEMM_ERR_ARGUMENT, "needs a workspace of 8421376 bytes"},
        {1024, 0x40040, 0, JIT_GEMM_ERR_ARGUMENT,
         "args.workspace: the address 0x40040 is misaligned: no multiple of 128"},
        {1025, 0x40000, 0, JIT_GEMM_ERR_ARGUMENT,
         "args.workspace_bytes: 1025 x 1024 with batch 1 needs a workspace of 5275648 "
         "bytes, 4227072 are planned; give a workspace of that size and its bytes here, or "
         "create the kernel with the largest sizes"},
        {1024, 0x40000, PLANNED - 1, JIT_GEMM_ERR_ARGUMENT,
         "args.workspace_bytes: 1024 x 1024 with batch 1 needs a workspace of 4227072 "
         "bytes, 4227071 are given; give a larger workspace"},
        {INT32_MAX, 0x40000, 0, JIT_GEMM_ERR_UNSUPPORTED,
         "args.workspace: a workspace has locks for 4096 tiles, but 2147483647 x 1024 with "
         "batch 1 makes"},
    };
    struct handmade made;
    handmade_kernel(&made);
    init_slots();
    made.kernel->problem.m.mode = JIT_GEMM_DIM_DYNAMIC;
    made.kernel->choice.config.launch.split_k = 2;
    made.kernel->choice.derived.workspace_bytes = PLANNED;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_args args = plain_args();
        args.m = rows[i].m;
        args.workspace = rows[i].workspace;
        args.workspace_bytes = rows[i].bytes;
        cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), rows[i].status, "row %zu",
                     i);
        cr_expect(rows[i].message == NULL ||
                      strstr(jg_error_text(), rows[i].message) != NULL,
                  "row %zu: %s", i, jg_error_text());
    }
    cr_expect_eq(handmade_launches(), 3);
    jit_gemm_args empty = plain_args();
    empty.m = JIT_GEMM_SIZE_EMPTY;
    cr_expect_eq(jg_launch(made.kernel, &slots, &empty, NULL), JIT_GEMM_OK, "no elements");
    handmade_free(&made);
}

Test(launch, reductions_are_given_counters_and_partial_results_behind_what_splits_k)
{
    enum { WORDS = 4 * 8192, SUMS = 128 * 256 * 4, PLANNED = 1 << 20 };
    struct handmade made;
    handmade_kernel(&made); /* 1024 x 1024 by tiles of 128 x 256 */
    struct jg_kernel *kernel = made.kernel;
    kernel->choice.derived.output.reduces = true;
    kernel->choice.derived.output.parts = (struct jg_partial_results){1, 2, 8};
    kernel->choice.derived.workspace_bytes = PLANNED;
    kernel->operand_count = 3;
    kernel->operands[0] = (struct jg_operand){"s", JIT_GEMM_OPERAND_COLUMN_VECTOR,
                                              JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM};
    kernel->operands[1] = (struct jg_operand){"b", JIT_GEMM_OPERAND_ROW_VECTOR,
                                              JIT_GEMM_DTYPE_BF16, JIT_GEMM_OPERAND_MAX};
    kernel->operands[2] = (struct jg_operand){"m", JIT_GEMM_OPERAND_SCALAR,
                                              JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MIN};
    for (int split_k = 1; split_k <= 2; split_k++) {
        struct jg_kernel_params params = {.m = 1024, .n = 1024, .k = 64, .batch = 1};
        kernel->choice.config.launch.split_k = split_k;

        jg_workspace_place_reductions(kernel, &params);

        const int64_t locks = split_k > 1 ? 2 * 32 : 0;
        int64_t offset = WORDS + (split_k > 1 ? 32 * SUMS : 0);
        cr_expect_eq(params.operands[0].batch_step, locks);
        cr_expect_eq(params.operands[0].ld, offset);
        offset += 1024 * 4 * 4; /* rows, tiles across */
        cr_expect_eq(params.operands[1].batch_step, locks + 8);
        cr_expect_eq(params.operands[1].ld, offset);
        offset += 1024 * 8 * 2 * 4; /* columns, tiles down, two parts each */
        cr_expect_eq(params.operands[2].batch_step, locks + 8 + 4);
        cr_expect_eq(params.operands[2].ld, offset);
    }
    kernel->operand_count = 0;
    handmade_free(&made);
}

Test(launch, reductions_need_a_workspace_with_as_many_counters)
{
    static const struct {
        int64_t m;
        uint64_t workspace, bytes;
        jit_gemm_status status;
        const char *message;
    } rows[] = {
        {1024, 0, 0, JIT_GEMM_ERR_ARGUMENT,
         "args.workspace: this kernel has reductions and needs a workspace of 49152 bytes"},
        {1024, 0x40000, 49151, JIT_GEMM_ERR_ARGUMENT,
         "args.workspace_bytes: 1024 x 1024 with batch 1 needs a workspace of 49152 bytes, "
         "49151 are given; give a larger workspace"},
        {1024 * 1024, 0x40000, 64, JIT_GEMM_ERR_ARGUMENT, "args.workspace_bytes: "},
        {1024 * 1024 + 1, 0x40000, 0, JIT_GEMM_ERR_UNSUPPORTED,
         "args.workspace: a workspace has 8192 counters for reductions, but 1048577 x 1024 "
         "with batch 1 needs 8193; split the matrix or the batch over several launches"},
        {INT32_MAX, 0x40000, 0, JIT_GEMM_ERR_UNSUPPORTED, "a workspace has 8192 counters"},
    };
    struct handmade made;
    handmade_kernel(&made);
    init_slots();
    struct jg_kernel *kernel = made.kernel;
    kernel->problem.m.mode = JIT_GEMM_DIM_DYNAMIC;
    kernel->choice.derived.output.reduces = true;
    kernel->choice.derived.output.parts = (struct jg_partial_results){1, 2, 8};
    kernel->choice.derived.workspace_bytes = 1024;
    kernel->operand_count = 1;
    kernel->operands[0] = (struct jg_operand){"s", JIT_GEMM_OPERAND_COLUMN_VECTOR,
                                              JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_args args = plain_args();
        args.m = rows[i].m;
        args.workspace = rows[i].workspace;
        args.workspace_bytes = rows[i].bytes;

        cr_expect_eq(jg_launch(kernel, &slots, &args, NULL), rows[i].status, "row %zu", i);

        cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "row %zu: %s", i,
                           jg_error_text());
    }
    cr_expect_eq(handmade_launches(), 0);
    kernel->operand_count = 0;
    handmade_free(&made);
}

Test(launch, inputs_that_threads_load_need_their_own_alignment_and_no_map)
{
    static const struct {
        uint64_t a;
        int64_t lda;
        jit_gemm_status status;
    } rows[] = {
        {0x10004, 1026, JIT_GEMM_OK},
        {0x10000, 1024, JIT_GEMM_OK},
        {0x10002, 1026, JIT_GEMM_ERR_UNSUPPORTED},
        {0x10004, 1025, JIT_GEMM_ERR_UNSUPPORTED},
    };
    struct handmade made;
    handmade_kernel(&made);
    init_slots();
    made.kernel->problem.a.alignment = made.kernel->problem.b.alignment = 4;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_args args = plain_args();
        args.a.pointer = rows[i].a;
        args.a.ld = rows[i].lda;
        cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), rows[i].status,
                     "row %zu: %s", i, jg_error_text());
    }
    cr_expect_eq(handmade_encodes(), 1, "only D");
    jit_gemm_args args = plain_args();
    args.d.pointer += 4;
    cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_ERR_UNSUPPORTED,
                 "D is as before");
    handmade_free(&made);
}

Test(launch, outputs_that_threads_move_need_their_own_alignment_and_no_map)
{
    static const struct {
        uint64_t d;
        int64_t ldd;
        jit_gemm_status status;
        const char *message;
    } rows[] = {
        {0x30004, 1026, JIT_GEMM_OK, NULL},
        {0x30000, 1024, JIT_GEMM_OK, NULL},
        {0x30002, 1026, JIT_GEMM_ERR_UNSUPPORTED,
         "args.d.pointer: the address 0x30002 of D is misaligned: this kernel moves 4 bytes at a "
         "time; align the address to 4 bytes, or create a kernel for less: output_align=2"},
        {0x30004, 1025, JIT_GEMM_ERR_UNSUPPORTED,
         "args.d.ld: the stride of 1025 elements of D is no multiple of 4 bytes; pad to a "
         "multiple of 2 elements, for instance 1026, and give that here, or create a kernel "
         "for less: output_align=2"},
        {0x30001, 1026, JIT_GEMM_ERR_ARGUMENT,
         "args.d.pointer: the address 0x30001 of D is misaligned: no multiple of the 2 bytes of an "
         "element"},
    };
    struct handmade made;
    handmade_kernel(&made);
    init_slots();
    made.kernel->problem.d.alignment = made.kernel->problem.c.alignment = 4;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_args args = plain_args();
        args.d.pointer = rows[i].d;
        args.d.ld = rows[i].ldd;
        cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), rows[i].status,
                     "row %zu: %s", i, jg_error_text());
        cr_expect(rows[i].message == NULL ||
                      strstr(jg_error_text(), rows[i].message) != NULL,
                  "row %zu: %s", i, jg_error_text());
    }
    cr_expect_eq(handmade_encodes(), 2, "only A and B");
    jit_gemm_args args = plain_args();
    args.a.pointer += 4;
    cr_expect_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_ERR_UNSUPPORTED,
                 "A is as before");
    handmade_free(&made);
}

Test(launch, grid_of_the_reference_kernel_is_bounded)
{
    struct handmade made;
    handmade_kernel(&made);
    made.kernel->choice.config = (struct jg_config){.kernel = JG_KERNEL_REFERENCE};
    made.kernel->choice.derived.threads = 256;

    cr_expect_eq(jg_grid_of_size(made.kernel, 16, 17, 1), 2);
    cr_expect_eq(jg_grid_of_size(made.kernel, 16, 16, 7), 7);
    cr_expect_eq(jg_grid_of_size(made.kernel, INT32_MAX, INT32_MAX, INT32_MAX), 65535 * 8);
    handmade_free(&made);
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
    args.b.pointer += 512; /* lies as it did */
    cr_assert_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_OK);
    cr_expect_eq(handmade_encodes(), 3);
    cr_expect_eq(handmade_moves(), 1);
    args.b.ld = 2048;
    cr_assert_eq(jg_launch(made.kernel, &slots, &args, NULL), JIT_GEMM_OK);
    cr_expect_eq(handmade_encodes(), 4);
    cr_expect_eq(handmade_moves(), 1);
    cr_expect_eq(handmade_launches(), 7);
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

/* Of a gated epilogue: N is even, and a half of an MN-major B begins where it may. */
Test(launch, columns_that_make_no_pairs_are_refused)
{
    static const struct {
        uint32_t n;
        const char *message; /* NULL: it launches */
    } rows[] = {
        {1023, "args.n: a gated epilogue needs an even N, 1023 is odd"},
        {1022, "args.n: half of a row of the MN-major B has 1022 bytes"},
        {1008, NULL},
    };
    struct handmade made;
    handmade_kernel(&made);
    init_slots();
    struct jg_problem *problem = &made.kernel->problem;
    problem->n.mode = JIT_GEMM_DIM_DYNAMIC;
    problem->is_gated = made.kernel->choice.product.is_gated = true;
    problem->pair = JIT_GEMM_PAIR_HALVES;
    problem->b.is_mn_major = true;
    jit_gemm_args args = plain_args();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        args.n = rows[i].n;
        args.b.ld = 1024;
        args.d.ld = 512;
        const jit_gemm_status status = jg_launch(made.kernel, &slots, &args, NULL);
        cr_expect_eq(status == JIT_GEMM_OK, rows[i].message == NULL, "%s", jg_error_text());
        cr_expect(rows[i].message == NULL ||
                      strstr(jg_error_text(), rows[i].message) == jg_error_text(),
                  "%s", jg_error_text());
    }
    cr_expect_eq(handmade_launches(), 1);
    handmade_free(&made);
}
