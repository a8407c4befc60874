/* SPDX-License-Identifier: MIT */
/* What reductions take of a workspace, and what the plan says where that is too much. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "plan/split.h"
#include "plan_fixture.h"

#define SUM_OF_ROWS    JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM
#define SUM_OF_COLUMNS JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_SUM
#define MAX_OF_BLOCKS  JIT_GEMM_OPERAND_BLOCK_1X128, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MAX
#define MAX_OF_ALL     JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_BF16, JIT_GEMM_OPERAND_MAX

/* A problem with one operand. */
struct row {
    const char *arch, *text;
    jit_gemm_operand_kind kind;
    jit_gemm_dtype dtype;
    jit_gemm_operand_role role;
    int64_t results, parts; /* of each result; both rounded up to whole tiles */
};

static jit_gemm_status choose(const struct row *row, struct jg_choice *ret_choice)
{
    struct jg_epilogue epilogue;
    memset(&epilogue, 0, sizeof(epilogue));
    epilogue.operand_count = 1;
    strcpy(epilogue.operands[0].name, "m");
    epilogue.operands[0].kind = row->kind;
    epilogue.operands[0].dtype = row->dtype;
    epilogue.operands[0].role = row->role;
    struct jg_problem problem = plan_problem(row->text);
    problem.epilogue = &epilogue;
    const struct jg_arch *arch = jg_arch_find(row->arch);
    return jg_config_choose(arch, &problem, &arch->default_facts, ret_choice, NULL);
}

Test(reduction, partial_results_are_counted_for_every_form_of_a_tile)
{
    static const struct row rows[] = {
        {"sm_90a", "300x700x64 bf16 config=tile=128x256 cluster=2x1", SUM_OF_ROWS, 384, 3},
        {"sm_90a", "300x700x64 bf16 config=tile=64x256 cluster=1x1", SUM_OF_ROWS, 320, 6},
        {"sm_90a", "300x700x64 bf16 config=tile=256x128 cluster=1x1", SUM_OF_COLUMNS, 768,
         8},
        {"sm_90a", "300x700x64 bf16 config=tile=64x128 cluster=1x1", SUM_OF_COLUMNS, 768,
         5},
        {"sm_90a", "300x700x64 bf16 config=tile=128x128 cluster=1x1", MAX_OF_ALL, 1,
         18 * 8},
        {"sm_90a", "304x704x64 bf16 d_layout=column config=tile=128x128 cluster=1x1",
         SUM_OF_ROWS, 384, 12},
        {"sm_90a", "304x704x64 bf16 d_layout=column config=tile=128x128 cluster=1x1",
         SUM_OF_COLUMNS, 768, 3},
        {"sm_90a", "128x128x64 bf16 batch=3 config=tile=128x128 cluster=1x1", MAX_OF_ALL, 3,
         8},
        {"sm_100a", "300x700x64 bf16 config=mma=128x64 cluster=2x2 epilogue_warps=4",
         SUM_OF_ROWS, 384, 11},
        {"sm_100a", "300x700x64 bf16 config=mma=128x64 cluster=2x2 epilogue_warps=8",
         SUM_OF_ROWS, 384, 22},
        {"sm_100a", "300x700x64 bf16 config=mma=128x64 cluster=1x1 epilogue_warps=8",
         MAX_OF_ALL, 1, 33 * 8},
        {"sm_100a",
         "304x704x64 bf16 d_layout=column config=mma=128x64 cluster=1x1 epilogue_warps=8",
         SUM_OF_ROWS, 384, 22},
        {"sm_100a", "300x700x64 bf16 config=mma=128x64 cta_group=2 cluster=2x1",
         SUM_OF_ROWS, 320, 22},
        {"sm_100a", "300x700x64 bf16 config=mma=256x128 cluster=2x1", SUM_OF_COLUMNS, 768,
         3},
        {"sm_100a", "304x700x64 bf16 config=mma=128x64 cluster=1x1 swap_ab=1", SUM_OF_ROWS,
         320, 12},
        {"sm_100a", "304x700x64 bf16 config=mma=64x64 cluster=1x1 swap_ab=1", SUM_OF_ROWS,
         320, 11},
        {"sm_100a", "304x700x64 bf16 config=mma=128x64 cta_group=2 cluster=2x1 swap_ab=1",
         SUM_OF_COLUMNS, 704, 10},
        {"sm_100a", "304x700x64 bf16 config=mma=128x64 cluster=1x1", MAX_OF_ALL, 1, 33 * 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;

        cr_assert_eq(choose(&rows[i], &choice), JIT_GEMM_OK, "row %zu: %s", i,
                     jg_error_text());

        const int64_t bytes = rows[i].results * rows[i].parts * (int64_t)sizeof(float);
        const int64_t wanted = 8 * 4096 + (bytes + 127) / 128 * 128;
        cr_expect_eq(choice.derived.workspace_bytes, wanted, "row %zu: %lld, not %lld", i,
                     (long long)choice.derived.workspace_bytes, (long long)wanted);
        cr_expect_eq(choice.derived.output.epilogue, JG_EPILOGUE_VECTORS, "row %zu", i);
    }
}

Test(reduction, limit_on_the_workspace_is_for_parts_of_k_only)
{
    static const struct row none = {
        "sm_100a", "1024x256x16384 bf16 workspace=64m config=split_order=serial",
        SUM_OF_ROWS, 0, 0};
    static const struct row limited = {
        "sm_100a", "1024x256x16384 bf16 workspace=32k config=split_order=serial",
        SUM_OF_ROWS, 0, 0};
    struct jg_choice split;
    struct jg_choice whole;

    cr_assert_eq(choose(&none, &split), JIT_GEMM_OK);
    cr_assert_eq(choose(&limited, &whole), JIT_GEMM_OK);

    cr_expect_gt(split.config.launch.split_k, 1);
    cr_expect_eq(whole.config.launch.split_k, 1);
    cr_expect_gt(whole.derived.workspace_bytes, 32 * 1024);
    cr_expect_gt(
        split.derived.workspace_bytes,
        jg_split_use(&split.config, split.derived.tiles, split.derived.sums_bytes).bytes);
}

Test(reduction, more_blocks_than_counters_are_refused_with_their_number)
{
    static const struct row rows[] = {
        {"sm_90a", "128x128x64 bf16 batch=8193 config=tile=128x128 cluster=1x1", MAX_OF_ALL,
         0, 0},
        {"sm_100a", "128x128x64 bf16 batch=8193 config=mma=128x128 cluster=1x1",
         SUM_OF_COLUMNS, 0, 0},
        {"sm_100a", "128x128x64 bf16 batch=8192 config=mma=128x128 cluster=1x1", MAX_OF_ALL,
         0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;

        const jit_gemm_status status = choose(&rows[i], &choice);

        cr_expect_eq(status, i == 2 ? JIT_GEMM_OK : JIT_GEMM_ERR_ARGUMENT, "row %zu", i);
        cr_expect(status == JIT_GEMM_OK ||
                      strstr(jg_error_text(),
                             "reductions: a workspace has 8192 counters, and the problem's "
                             "tiles need 8193") != NULL,
                  "row %zu: %s", i, jg_error_text());
    }
}

Test(reduction, blocks_take_nothing_of_a_workspace_and_whole_blocks_of_a_tile)
{
    static const struct {
        struct row row;
        const char *message; /* NULL: it is taken */
    } rows[] = {
        {{"sm_90a", "300x700x64 bf16", MAX_OF_BLOCKS, 0, 0}, NULL},
        {{"sm_90a", "300x700x64 bf16 config=tile=64x128", MAX_OF_BLOCKS, 0, 0}, NULL},
        {{"sm_90a", "300x700x64 bf16 config=tile=128x192", MAX_OF_BLOCKS, 0, 0},
         "the 192 columns of D that a team of warps has of a tile are no multiple of 128, "
         "as the 1x128 'm' needs"},
        {{"sm_100a", "300x700x64 bf16", MAX_OF_BLOCKS, 0, 0}, NULL},
        {{"sm_100a", "300x700x64 bf16 config=mma=128x128 cta_group=2", MAX_OF_BLOCKS, 0, 0},
         NULL},
        {{"sm_100a", "300x700x64 bf16 config=mma=128x128 swap_ab=1", MAX_OF_BLOCKS, 0, 0},
         "swap_ab=1: there is no kernel for the 1x128 'm' in a transposed product"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        const jit_gemm_status status = choose(&rows[i].row, &choice);
        if (rows[i].message == NULL) {
            cr_assert_eq(status, JIT_GEMM_OK, "row %zu: %s", i, jg_error_text());
            cr_expect_eq(choice.derived.workspace_bytes, 0, "row %zu", i);
            cr_expect_eq(choice.derived.output.epilogue, JG_EPILOGUE_VECTORS, "row %zu", i);
        } else {
            cr_expect_neq(status, JIT_GEMM_OK, "row %zu", i);
            cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "row %zu: %s", i,
                               jg_error_text());
        }
    }
}
