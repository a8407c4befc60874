/* SPDX-License-Identifier: MIT */
/* What the plan decides of the way out: epilogue, what it loads, where D's tiles end. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "plan/trial.h"
#include "plan_fixture.h"

/* Of an operand of the epilogue. */
#define SCALAR_F32  JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_OPERAND_INPUT, JIT_GEMM_DTYPE_F32
#define ROW_BF16    JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_OPERAND_INPUT, JIT_GEMM_DTYPE_BF16
#define MATRIX_BF16 JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_OPERAND_INPUT, JIT_GEMM_DTYPE_BF16
#define MATRIX_F32  JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_OPERAND_INPUT, JIT_GEMM_DTYPE_F32
#define MATRIX_E4M3 JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_OPERAND_INPUT, JIT_GEMM_DTYPE_E4M3
#define MAX_F32     JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_OPERAND_MAX, JIT_GEMM_DTYPE_F32
#define SUM_F32     JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_OPERAND_SUM, JIT_GEMM_DTYPE_F32
#define OUTPUT_BF16 JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_OPERAND_OUTPUT, JIT_GEMM_DTYPE_BF16
#define OUTPUT_F32  JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_OPERAND_OUTPUT, JIT_GEMM_DTYPE_F32

struct operand {
    jit_gemm_operand_kind kind;
    jit_gemm_operand_role role;
    jit_gemm_dtype dtype;
};

static const struct jg_config plain_config = {
    .layout = {.tile_m = 128, .tile_n = 64, .cluster_m = 2, .cluster_n = 1},
    .storage = {.out_stages = 2},
    .pipeline = {.stages = 4}};
static const struct jg_output_facts plain_facts = {.columns = 64, .ring_stages = 4};

static struct jg_output choose_output(const struct jg_problem *problem, bool swap_ab,
                                      const struct jg_output_facts *facts)
{
    struct jg_trial trial = {.problem = problem,
                             .product = jg_product_make(problem, swap_ab),
                             .config = plain_config};
    trial.config.layout.swap_ab = swap_ab;
    return jg_output_choose(&trial, facts);
}

/* Of a problem with these operands; one of no type ends them. */
static struct jg_output choose(const char *text, const struct operand *operands,
                               const struct jg_output_facts *facts)
{
    struct jg_epilogue epilogue;
    memset(&epilogue, 0, sizeof(epilogue));
    for (uint32_t i = 0; operands != NULL && operands[i].dtype != JIT_GEMM_DTYPE_NONE;
         i++) {
        epilogue.operands[i].kind = operands[i].kind;
        epilogue.operands[i].role = operands[i].role;
        epilogue.operands[i].dtype = operands[i].dtype;
        epilogue.operand_count++;
    }
    struct jg_problem problem = plan_problem(text);
    problem.epilogue = operands != NULL ? &epilogue : NULL;
    return choose_output(&problem, problem.d.is_mn_major, facts);
}

Test(output, scalars_and_vectors_that_tma_can_store_take_fragments)
{
    static const struct {
        const char *text;
        struct operand operands[4];
        enum jg_epilogue_kind kind;
    } rows[] = {
        {"256x512x64 bf16", {{SCALAR_F32}}, JG_EPILOGUE_FRAGMENTS},
        {"256x512x64 bf16 d=f32", {{SCALAR_F32}}, JG_EPILOGUE_FRAGMENTS},
        {"256x512x64 s8", {{SCALAR_F32}}, JG_EPILOGUE_FRAGMENTS},
        {"256x512x64 e4m3 d=bf16 a_scale=tensor", {{SCALAR_F32}}, JG_EPILOGUE_FRAGMENTS},
        {"256x512x64 bf16 dynamic=m", {{SCALAR_F32}}, JG_EPILOGUE_FRAGMENTS},
        {"256x512x64 bf16 dynamic=n", {{SCALAR_F32}}, JG_EPILOGUE_VECTORS},
        {"256x508x64 bf16", {{SCALAR_F32}}, JG_EPILOGUE_VECTORS},
        {"256x508x64 bf16 d=f32", {{SCALAR_F32}}, JG_EPILOGUE_FRAGMENTS},
        {"256x508x64 bf16 d_layout=column", {{SCALAR_F32}}, JG_EPILOGUE_FRAGMENTS},
        {"252x512x64 bf16 d_layout=column", {{SCALAR_F32}}, JG_EPILOGUE_VECTORS},
        {"256x512x64 bf16 dynamic=m d_layout=column", {{SCALAR_F32}}, JG_EPILOGUE_VECTORS},
        {"256x512x64 bf16 c=bf16", {{SCALAR_F32}}, JG_EPILOGUE_VECTORS},
        {"256x512x64 e4m3 d=e4m3", {{SCALAR_F32}}, JG_EPILOGUE_VECTORS},
        {"256x512x64 e4m3 d=bf16 b_scale=vector", {{SCALAR_F32}}, JG_EPILOGUE_FRAGMENTS},
        {"256x512x64 bf16 output_align=8", {{SCALAR_F32}}, JG_EPILOGUE_VECTORS},
        {"256x512x64 bf16", {{SCALAR_F32}, {ROW_BF16}}, JG_EPILOGUE_FRAGMENTS},
        {"256x512x64 bf16 output_align=2", {{ROW_BF16}}, JG_EPILOGUE_VECTORS},
        {"256x512x64 bf16", {{OUTPUT_F32}}, JG_EPILOGUE_VECTORS},
        {"256x512x64 bf16", {{SCALAR_F32}, {MAX_F32}}, JG_EPILOGUE_VECTORS},
        {"256x512x64 bf16", {{SUM_F32}}, JG_EPILOGUE_VECTORS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_output output =
            choose(rows[i].text, rows[i].operands, &plain_facts);
        cr_expect_eq(output.epilogue, rows[i].kind, "row %zu: %s", i, rows[i].text);
    }
}

Test(output, one_assigned_matrix_takes_fragments_where_the_chip_writes_boxes)
{
    static const struct {
        const char *text;
        struct operand operands[4];
        int columns;
        bool expected;
    } rows[] = {
        {"256x512x64 bf16", {{OUTPUT_BF16}}, 64, true},
        {"256x512x64 f16", {{SCALAR_F32}, {OUTPUT_BF16}, {ROW_BF16}}, 128, true},
        {"256x512x64 e4m3 d=bf16 b_scale=vector", {{OUTPUT_BF16}}, 64, true},
        {"256x512x64 bf16", {{OUTPUT_BF16}}, 96, false}, /* rows of 64 bytes in the end */
        {"256x512x64 bf16", {{OUTPUT_F32}}, 64, false},
        {"256x512x64 bf16", {{OUTPUT_BF16}, {OUTPUT_BF16}}, 64, false},
        {"256x512x64 bf16", {{OUTPUT_BF16}, {MATRIX_BF16}}, 64, false},
        {"256x512x64 bf16", {{OUTPUT_BF16}, {SUM_F32}}, 64, false},
        {"256x512x64 bf16 c=bf16", {{OUTPUT_BF16}}, 64, false},
        {"256x512x64 bf16 d=f32", {{OUTPUT_BF16}}, 64, false},
        {"256x512x64 bf16 dynamic=n", {{OUTPUT_BF16}}, 64, false},
        {"m=256 n=512 k=64 a=bf16 groups=2 group_by=offsets", {{OUTPUT_BF16}}, 64, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_output_facts facts = {.columns = rows[i].columns,
                                              .ring_stages = 4,
                                              .reads_boxes = true,
                                              .writes_boxes = true};
        const struct jg_output output = choose(rows[i].text, rows[i].operands, &facts);
        cr_expect_eq(output.writes_boxes, rows[i].expected, "row %zu", i);
        cr_expect_eq(output.epilogue == JG_EPILOGUE_FRAGMENTS, rows[i].expected, "row %zu",
                     i);
    }
}

Test(output, random_numbers_take_vectors)
{
    struct jg_epilogue epilogue = {.is_random = true};
    struct jg_problem problem = plan_problem("256x512x64 bf16");
    problem.epilogue = &epilogue;

    cr_expect_eq(choose_output(&problem, false, &plain_facts).epilogue,
                 JG_EPILOGUE_VECTORS);
    epilogue.is_random = false;
    cr_expect_eq(choose_output(&problem, false, &plain_facts).epilogue,
                 JG_EPILOGUE_FRAGMENTS);
}

Test(output, accumulators_that_store_tiles_do_not_fill_take_vectors)
{
    for (int columns = 8; columns <= 256; columns += 8) {
        const struct jg_output_facts facts = {.columns = columns};
        const struct jg_output output = choose("256x512x64 bf16", NULL, &facts);
        cr_expect_eq(output.epilogue,
                     columns % 16 == 0 ? JG_EPILOGUE_FRAGMENTS : JG_EPILOGUE_VECTORS, "%d",
                     columns);
    }
}

Test(output, matrices_take_a_stage_or_two_and_all_of_a_step_or_none)
{
    static const struct {
        const char *text;
        struct operand operands[4];
        int loads, per_step; /* through a ring of 4 stages */
    } rows[] = {
        {"256x512x64 bf16", {{ROW_BF16}, {SCALAR_F32}}, 0, 0},
        {"256x512x64 bf16", {{MATRIX_BF16}}, 1, 1},
        {"256x512x64 bf16", {{MATRIX_F32}}, 2, 2},
        {"256x512x64 bf16", {{MATRIX_E4M3}}, 0, 0},
        {"256x512x64 bf16", {{OUTPUT_F32}}, 0, 0},
        {"256x512x64 bf16 c=f32", {{MATRIX_BF16}, {OUTPUT_F32}}, 3, 3},
        {"256x512x64 bf16 c=bf16", {{MATRIX_F32}, {MATRIX_BF16}}, 4, 4},
        {"256x512x64 bf16 c=f32", {{MATRIX_F32}, {MATRIX_BF16}}, 5, 0},
        {"256x512x64 bf16 c=f32 output_align=4", {{MATRIX_F32}}, 0, 0},
    };
    const struct jg_output_facts own_ring = {
        .columns = 64, .ring_stages = 4, .own_ring = true};
    const struct jg_output_facts no_ring = {.columns = 64};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_output shared =
            choose(rows[i].text, rows[i].operands, &plain_facts);
        const struct jg_output own = choose(rows[i].text, rows[i].operands, &own_ring);
        const struct jg_output none = choose(rows[i].text, rows[i].operands, &no_ring);

        cr_expect_eq(shared.loads_per_step, rows[i].per_step, "row %zu: %d", i,
                     shared.loads_per_step);
        cr_expect_eq(shared.load_stages, 0, "row %zu", i);
        cr_expect_eq(own.loads_per_step, rows[i].per_step, "row %zu", i);
        cr_expect_eq(own.load_stages, 4, "row %zu", i);
        cr_expect_eq(none.loads_per_step, 0, "row %zu", i);
    }
}

/* Tiles of 128x64, clusters of 2x1: 256 of the product's M and 64 of its N. */
Test(output, tiles_are_whole_where_they_end_with_d_as_it_lies)
{
    static const struct {
        const char *text;
        bool swap_ab, rows, cols, vectors;
    } rows[] = {
        {"512x192x64 bf16", 0, true, true, true},
        {"384x192x64 bf16", 0, false, true, true},
        {"512x200x64 bf16", 0, true, false, true},
        {"512x204x64 bf16", 0, true, false, false},
        {"512x192x64 bf16 dynamic=m", 0, false, true, true},
        {"512x192x64 bf16 dynamic=n", 0, true, false, false},
        {"192x512x64 bf16", 1, true, true, true},
        {"192x384x64 bf16", 1, true, false, true},
        {"200x512x64 bf16", 1, false, true, true},
        {"192x512x64 bf16 dynamic=n", 1, true, false, false},
        /* The problem's columns are D's rows in memory. */
        {"512x192x64 bf16 d_layout=column", 0, true, true, true},
        {"384x192x64 bf16 d_layout=column", 0, true, false, true},
        {"200x512x64 bf16 d_layout=column", 1, true, false, true},
        {"204x512x64 bf16 d_layout=column", 1, true, false, false},
        {"192x384x64 bf16 d_layout=column", 1, false, true, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_problem problem = plan_problem(rows[i].text);

        const struct jg_output output =
            choose_output(&problem, rows[i].swap_ab, &plain_facts);

        cr_expect_eq(output.whole_rows, rows[i].rows, "row %zu: rows", i);
        cr_expect_eq(output.whole_cols, rows[i].cols, "row %zu: columns", i);
        cr_expect_eq(output.whole_vectors, rows[i].vectors, "row %zu: vectors", i);
    }
}

/* 256x256 of sm_100a has 515 clocks for a block of K, and 5,900 for gelu and a matrix. */
Test(output, matrices_take_fragments_on_sm_100a_where_its_tensor_core_waits)
{
    static const struct {
        const char *text;
        enum jg_epilogue_kind kind;
    } rows[] = {
        {"8192x8192x256 bf16 c=bf16 config=mma=256x256", JG_EPILOGUE_FRAGMENTS},
        {"8192x8192x4096 bf16 c=bf16 config=mma=256x256", JG_EPILOGUE_VECTORS},
        {"8192x8192x4096 bf16 c=bf16 config=mma=256x256 acc_stages=1",
         JG_EPILOGUE_FRAGMENTS},
        {"8192x8192x256 bf16 c=f32 config=mma=256x256", JG_EPILOGUE_VECTORS},
        {"8192x8192x256 bf16 d=f32 c=bf16 config=mma=256x256", JG_EPILOGUE_VECTORS},
        {"8192x8192x256 bf16 c=bf16 config=mma=128x64 swap_ab=1", JG_EPILOGUE_VECTORS},
        {"8192x8192x256 bf16 c=bf16 config=mma=256x256 split_k=2", JG_EPILOGUE_VECTORS},
        {"512x512x256 bf16 c=bf16", JG_EPILOGUE_VECTORS}, /* a tile for each CTA */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = plan_choose(jg_arch_find("sm_100a"), rows[i].text);

        cr_expect_eq(choice.derived.output.epilogue, rows[i].kind, "%s", rows[i].text);
    }
}

Test(output, chips_say_which_ring_brings_matrices)
{
    static const struct {
        const char *arch, *text;
        int per_step, stages;
    } rows[] = {
        {"sm_90a", "4096x4096x4096 bf16", 0, 0},
        {"sm_90a", "4096x4096x4096 bf16 c=bf16", 1, 0},
        {"sm_90a", "4096x4096x4096 bf16 c=f32", 2, 0},
        {"sm_90a", "4096x4096x4096 bf16 c=bf16 input_align=2", 0, 0},
        {"sm_90a",
         "300x500x640 e4m3 d=bf16 c=bf16 a_scale=1x128 b_scale=1x128 "
         "config=tile=64x64 k_turns=0",
         1, 0},
        /* Each warpgroup reads every other stage. */
        {"sm_90a",
         "300x500x640 e4m3 d=bf16 c=bf16 a_scale=1x128 b_scale=1x128 "
         "config=tile=64x64 k_turns=1",
         0, 0},
        {"sm_100a", "4096x4096x4096 bf16", 0, 0},
        {"sm_100a", "4096x4096x4096 bf16 c=bf16", 1, 2},
        {"sm_100a", "4096x4096x4096 bf16 c=f32", 2, 4},
        {"sm_100a", "4096x4096x4096 bf16 c=bf16 input_align=2", 1, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice =
            plan_choose(jg_arch_find(rows[i].arch), rows[i].text);
        const struct jg_output *output = &choice.derived.output;
        cr_expect_eq(output->loads_per_step, rows[i].per_step, "%s: %s", rows[i].arch,
                     rows[i].text);
        cr_expect_eq(output->load_stages, rows[i].stages, "%s: %s", rows[i].arch,
                     rows[i].text);
    }
}
