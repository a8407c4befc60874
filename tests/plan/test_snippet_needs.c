/* SPDX-License-Identifier: MIT */
/* What sm_90a's kernel does for a snippet: it lets the next grid begin at its end only,
 * draws random numbers while it waits for the accumulators, has an assigned matrix go out
 * as D does, or warps store D. */
#include <criterion/criterion.h>

#include "base/error.h"
#include "plan_fixture.h"

static void add_operand(struct jg_epilogue *epilogue, jit_gemm_operand_kind kind,
                        jit_gemm_dtype dtype, jit_gemm_operand_role role)
{
    epilogue->operands[epilogue->operand_count++] =
        (struct jg_operand){.kind = kind, .dtype = dtype, .role = role};
}

static struct jg_choice choose_on(const struct jg_arch *arch,
                                  const struct jg_epilogue *epilogue, const char *text)
{
    struct jg_problem problem = plan_problem(text);
    problem.epilogue = epilogue;
    problem.workspace_limit = 1 << 24;
    struct jg_choice choice;
    cr_assert_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                 JIT_GEMM_OK, "%s: %s", text, jg_error_text());
    return choice;
}

static struct jg_choice choose_with(const struct jg_epilogue *epilogue, const char *text)
{
    return choose_on(jg_arch_find("sm_90a"), epilogue, text);
}

Test(next_at_end, is_for_small_tiles_whose_snippets_compute)
{
    static const struct {
        const char *text;
        uint32_t long_calls, matrices;
        bool reduces, expected;
        jit_gemm_operand_role role; /* of the matrices */
    } rows[] = {
        {"512x512x2048 bf16 config=tile=64x128 split_k=1", 0, 1, false, true,
         JIT_GEMM_OPERAND_OUTPUT},
        {"512x512x1024 bf16 config=tile=64x128 split_k=1", 0, 1, false, false,
         JIT_GEMM_OPERAND_OUTPUT},
        {"512x512x2048 bf16 config=tile=128x128 split_k=1", 0, 1, false, false,
         JIT_GEMM_OPERAND_OUTPUT},
        {"512x512x2048 bf16 c=bf16 config=tile=64x128 split_k=1", 0, 1, false, false,
         JIT_GEMM_OPERAND_OUTPUT},
        {"512x512x512 bf16 config=tile=64x128 split_k=1", 1, 0, false, true,
         JIT_GEMM_OPERAND_INPUT},
        {"512x512x512 bf16 config=tile=64x192 swap_ab=1 split_k=1", 1, 0, false, true,
         JIT_GEMM_OPERAND_INPUT},
        {"512x512x512 bf16 config=tile=64x128 split_k=1", 0, 0, false, false,
         JIT_GEMM_OPERAND_INPUT},
        {"512x512x512 bf16 config=tile=64x128 split_k=1", 1, 1, false, false,
         JIT_GEMM_OPERAND_INPUT},
        {"512x512x512 bf16 c=bf16 config=tile=64x128 split_k=1", 1, 0, false, false,
         JIT_GEMM_OPERAND_INPUT},
        {"512x512x512 bf16 config=tile=128x128 split_k=1", 1, 0, false, false,
         JIT_GEMM_OPERAND_INPUT},
        {"16x512x512 bf16 config=tile=64x32 split_k=1", 1, 0, false, false,
         JIT_GEMM_OPERAND_INPUT},
        {"512x512x512 bf16 config=tile=64x128 split_k=2 split_order=cluster", 1, 0, false,
         false, JIT_GEMM_OPERAND_INPUT},
        {"m=512 n=512 k=512 a=bf16 groups=4 group_by=offsets config=tile=128x64", 1, 0,
         false, false, JIT_GEMM_OPERAND_INPUT},
        {"512x512x512 bf16 config=tile=128x128 split_k=1", 0, 0, true, true,
         JIT_GEMM_OPERAND_INPUT},
        {"512x512x512 bf16 config=tile=64x128 split_k=1", 0, 1, true, true,
         JIT_GEMM_OPERAND_INPUT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue epilogue = {.long_calls = rows[i].long_calls};
        for (uint32_t j = 0; j < rows[i].matrices; j++) {
            add_operand(&epilogue, JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_BF16,
                        rows[i].role);
        }
        if (rows[i].reduces) {
            add_operand(&epilogue, JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32,
                        JIT_GEMM_OPERAND_SUM);
        }
        const struct jg_choice choice = choose_with(&epilogue, rows[i].text);

        cr_expect_eq(choice.derived.next_at_end, rows[i].expected, "row %zu: %s", i,
                     rows[i].text);
    }
}

Test(lead, of_one_tile_is_two_stages_where_functions_take_long)
{
    static const struct {
        const char *text;
        uint32_t long_calls;
        int expected;
    } rows[] = {
        {"1024x1024x1024 bf16 config=tile=64x128 split_k=1", 1, 2},
        {"1024x1024x1024 bf16 config=tile=64x128 split_k=1", 0, 0},
        {"1024x1024x512 bf16 config=tile=64x128 split_k=1", 1, 0}, /* not measured */
        {"1024x1024x1024 bf16 config=tile=64x128 split_k=1 resident=2", 1, 0},
        {"1024x1024x1024 bf16 config=tile=64x128 split_k=1 swap_ab=1", 1, 0},
        {"1024x1024x1024 bf16 c=bf16 config=tile=64x128 split_k=1", 1, 0},
        {"512x512x1024 bf16 config=tile=64x64 swap_ab=1 split_k=1", 1, 0},
        {"1024x1024x1024 e4m3 d=bf16 config=tile=64x128 split_k=1", 1, 0},
        {"1024x1024x2048 e4m3 d=bf16 accumulate=fast config=tile=64x128 split_k=1", 1, 2},
        {"4096x4096x512 bf16 config=tile=128x256 pingpong=0", 1, 3}, /* several tiles */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue epilogue = {.long_calls = rows[i].long_calls};
        const struct jg_choice choice = choose_with(&epilogue, rows[i].text);

        cr_expect_eq(choice.derived.lead_stages, rows[i].expected, "row %zu: %s: %d", i,
                     rows[i].text, choice.derived.lead_stages);
    }
}

Test(assigned_matrix, goes_out_by_fragments_where_a_cta_has_several_tiles)
{
    static const struct {
        const char *arch, *text;
        bool expected;
    } rows[] = {
        {"sm_90a", "4096x4096x4096 bf16", true},
        {"sm_90a", "4096x4096x1024 bf16 config=tile=128x128 pingpong=1", true},
        {"sm_90a", "4096x4096x1024 bf16 config=tile=128x192 swap_ab=1 split_k=1", false},
        {"sm_90a", "4096x4096x4096 bf16 config=tile=64x96", false},
        {"sm_90a", "1024x1024x1024 bf16", false},
        {"sm_90a", "64x28672x4096 bf16", false},
        {"sm_100a", "4096x4096x4096 bf16", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue epilogue = {.long_calls = 1};
        add_operand(&epilogue, JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_BF16,
                    JIT_GEMM_OPERAND_OUTPUT);
        const struct jg_choice choice =
            choose_on(jg_arch_find(rows[i].arch), &epilogue, rows[i].text);
        cr_expect_eq(choice.derived.output.writes_boxes, rows[i].expected, "row %zu", i);
    }
}

/* Of an operand that is read, and a tile or several of a CTA. */
Test(fragments, are_read_first_and_stored_by_warps_where_a_cta_has_one_tile)
{
    static const struct {
        const char *text;
        jit_gemm_operand_kind kind;
        bool reads_first, stores_by_warps;
    } rows[] = {
        {"512x512x512 bf16 config=tile=64x128 split_k=1", JIT_GEMM_OPERAND_ROW_VECTOR, true,
         true},
        {"512x512x512 f16 config=tile=128x256 split_k=1", JIT_GEMM_OPERAND_ROW_VECTOR, true,
         true},
        {"512x512x512 bf16 config=tile=64x128 split_k=1", JIT_GEMM_OPERAND_MATRIX, true,
         true},
        {"512x512x512 bf16 d=f32 config=tile=64x128 split_k=1", JIT_GEMM_OPERAND_ROW_VECTOR,
         true, false},
        {"512x512x512 bf16 d=f32 config=tile=64x128 split_k=1", JIT_GEMM_OPERAND_MATRIX,
         false, false}, /* by vectors */
        {"512x512x512 bf16 config=tile=64x96 split_k=1", JIT_GEMM_OPERAND_MATRIX, false,
         false},
        {"512x512x512 bf16 config=tile=64x128 swap_ab=1 split_k=1",
         JIT_GEMM_OPERAND_ROW_VECTOR, true, false},
        {"4096x4096x512 bf16 config=tile=128x256 pingpong=0", JIT_GEMM_OPERAND_ROW_VECTOR,
         true, false},
        {"4096x4096x512 bf16 config=tile=128x128 pingpong=1", JIT_GEMM_OPERAND_ROW_VECTOR,
         false, false},
        {"512x512x512 bf16 config=tile=64x128 split_k=2 split_order=cluster",
         JIT_GEMM_OPERAND_ROW_VECTOR, false, false},
        {"16x512x512 bf16 config=tile=64x32 resident=2", JIT_GEMM_OPERAND_ROW_VECTOR, false,
         false},
        {"512x512x512 e4m3 d=bf16 config=tile=64x128 split_k=1",
         JIT_GEMM_OPERAND_ROW_VECTOR, false, false}, /* sums are promoted */
        {"512x512x512 e4m3 d=bf16 accumulate=fast b_scale=vector config=tile=64x128 "
         "split_k=1",
         JIT_GEMM_OPERAND_ROW_VECTOR, false, true},
        {"m=512 n=512 k=512 a=bf16 groups=4 group_by=offsets config=tile=128x64",
         JIT_GEMM_OPERAND_ROW_VECTOR, false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue epilogue = {.long_calls = 0};
        add_operand(&epilogue, rows[i].kind, JIT_GEMM_DTYPE_BF16, JIT_GEMM_OPERAND_INPUT);
        const struct jg_choice choice = choose_with(&epilogue, rows[i].text);

        cr_expect_eq(choice.derived.reads_first, rows[i].reads_first, "row %zu", i);
        cr_expect_eq(choice.derived.stores_by_warps, rows[i].stores_by_warps, "row %zu", i);
    }
}

Test(draws_ahead, is_for_small_tiles_of_one_wave_with_one_seed)
{
    static const struct {
        const char *text;
        bool has_seed, expected;
    } rows[] = {
        {"512x512x512 bf16 config=tile=64x128 split_k=1", true, true},
        {"512x512x512 bf16 config=tile=64x128 split_k=1", false, false},
        {"512x512x512 bf16 config=tile=64x64 swap_ab=1 split_k=1", true, true},
        {"512x512x512 bf16 config=tile=128x128 split_k=1", true, true},
        {"512x512x512 bf16 config=tile=128x256 split_k=1", true, false},
        {"512x512x512 bf16 config=tile=128x128 pingpong=1 split_k=1", true, false},
        {"512x512x512 bf16 config=tile=64x128 split_k=2 split_order=cluster", true, false},
        {"16x512x512 bf16 config=tile=64x32 resident=2", true, false},
        {"4096x4096x512 bf16 config=tile=64x128 split_k=1", true, false},
        {"512x512x512 e4m3 d=bf16 config=tile=64x128 split_k=1", true, false},
        {"m=512 n=512 k=512 a=bf16 groups=4 group_by=offsets config=tile=128x64", true,
         false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue epilogue = {.is_random = true, .has_seed = rows[i].has_seed};
        add_operand(&epilogue, JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32,
                    JIT_GEMM_OPERAND_INPUT);
        const struct jg_choice choice = choose_with(&epilogue, rows[i].text);

        cr_expect_eq(choice.derived.draws_ahead, rows[i].expected, "row %zu: %s", i,
                     rows[i].text);
    }
}
