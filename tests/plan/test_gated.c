/* SPDX-License-Identifier: MIT */
/* Gated epilogues: two columns of B make one of D. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "plan/choose.h"

static struct jg_epilogue *make_epilogue(const char *source, jit_gemm_operand_kind kind)
{
    const jit_gemm_operand operand = {
        .name = "b", .kind = kind, .dtype = JIT_GEMM_DTYPE_BF16};
    jit_gemm_epilogue user = {.struct_size = sizeof(user),
                              .name = "gated",
                              .source = source,
                              .operands = &operand,
                              .operand_count = strstr(source, "b") != NULL};
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    return epilogue;
}

static jit_gemm_status find(void *user, const char *name, jit_gemm_dtype d,
                            const struct jg_epilogue **ret_epilogue)
{
    (void)d;
    cr_assert_str_eq(name, "gated");
    *ret_epilogue = user;
    return JIT_GEMM_OK;
}

/* With the epilogue `gated`. */
static jit_gemm_status normalize(const char *text, struct jg_epilogue *epilogue,
                                 struct jg_problem *ret_problem)
{
    jit_gemm_problem problem;
    cr_assert_eq(jg_problem_parse(text, &problem), JIT_GEMM_OK, "%s", jg_error_text());
    strcpy(problem.epilogue, "gated");
    return jg_problem_normalize(&problem, find, epilogue, ret_problem);
}

/* ... and the choice for a chip. */
static jit_gemm_status choose(const char *arch, const char *text,
                              struct jg_epilogue *epilogue, struct jg_choice *ret_choice)
{
    struct jg_problem problem;
    cr_assert_eq(normalize(text, epilogue, &problem), JIT_GEMM_OK, "%s", jg_error_text());
    const struct jg_arch *chip = jg_arch_find(arch);
    return jg_config_choose(chip, &problem, &chip->default_facts, ret_choice, NULL);
}

Test(gated, d_has_half_of_the_columns)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    struct jg_problem problem;
    cr_expect(epilogue->is_gated);
    cr_assert_eq(normalize("64x96x32 bf16 pair=halves", epilogue, &problem), JIT_GEMM_OK);
    cr_expect(problem.is_gated);
    cr_expect_eq(problem.pair, JIT_GEMM_PAIR_HALVES);
    cr_expect_eq(jg_problem_d_row(&problem).size, 48);
    cr_expect_eq(jg_problem_d_columns(&problem, 10), 5);
    jg_epilogue_destroy(epilogue);
}

Test(gated, both_pairs_are_different_kernels)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    static const char *const texts[] = {"64x96x32 bf16", "64x96x32 bf16 pair=halves"};
    struct jg_str bytes[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        struct jg_problem problem;
        cr_assert_eq(normalize(texts[i], epilogue, &problem), JIT_GEMM_OK);
        jg_problem_bytes(&problem, &bytes[i]);
    }
    cr_expect(bytes[0].size != bytes[1].size ||
              memcmp(jg_str_text(&bytes[0]), jg_str_text(&bytes[1]), bytes[0].size) != 0);
    jg_str_free(&bytes[0]);
    jg_str_free(&bytes[1]);
    jg_epilogue_destroy(epilogue);
}

Test(gated, what_a_pair_needs_is_refused_by_name)
{
    struct jg_epilogue *gated =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    struct jg_epilogue *plain = make_epilogue("d = acc;", JIT_GEMM_OPERAND_SCALAR);
    const struct {
        const char *text;
        struct jg_epilogue *epilogue;
        jit_gemm_status status;
        const char *begin;
    } rows[] = {
        {"64x95x32 bf16", gated, JIT_GEMM_ERR_ARGUMENT,
         "problem.n: a gated epilogue needs an even N, 95 is odd"},
        {"64x96x32 bf16 pair=halves", plain, JIT_GEMM_ERR_ARGUMENT,
         "problem.pair: halves of B are given, but the epilogue is not gated"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_problem problem;
        cr_expect_eq(normalize(rows[i].text, rows[i].epilogue, &problem), rows[i].status);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].begin, strlen(rows[i].begin)), 0,
                     "got '%s'", jg_error_text());
    }
    jit_gemm_problem user = {.struct_size = sizeof(user),
                             .m = {.size = 8},
                             .n = {.size = 8},
                             .k = {.size = 8},
                             .a.dtype = JIT_GEMM_DTYPE_BF16,
                             .pair = (jit_gemm_pair)2};
    struct jg_problem problem;
    cr_expect_eq(jg_problem_normalize(&user, NULL, NULL, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(), "problem.pair: must be 0 or 1, is 2; give "
                                      "JIT_GEMM_PAIR_INTERLEAVED or JIT_GEMM_PAIR_HALVES");
    jg_epilogue_destroy(gated);
    jg_epilogue_destroy(plain);
}

Test(gated, what_has_no_kernel_is_refused_by_name)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    static const struct {
        const char *text, *begin;
    } rows[] = {
        {"64x96x32 bf16 c=bf16",
         "problem.c.dtype: there is no kernel for a gated epilogue with a C"},
        {"64x90x32 bf16 layout=nn pair=halves",
         "problem.n: half of a row of the MN-major B has 90 bytes, and what loads it needs a "
         "multiple of 16; give a K-major B, halves of a multiple of 16 bytes, or a lesser "
         "input_align"},
        {"64x90x32 bf16 layout=nn pair=halves input_align=4",
         "problem.n: half of a row of the MN-major B has 90 bytes, and what loads it needs a "
         "multiple of 4"},
    };
    static const char *const archs[] = {"sm_90a", "sm_100a"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int chip = 0; chip < 2; chip++) {
            struct jg_choice choice;
            cr_expect_eq(choose(archs[chip], rows[i].text, epilogue, &choice),
                         JIT_GEMM_ERR_UNSUPPORTED);
            cr_expect_eq(strncmp(jg_error_text(), rows[i].begin, strlen(rows[i].begin)), 0,
                         "got '%s'", jg_error_text());
        }
    }
    jg_epilogue_destroy(epilogue);
}

/* Which way out: as of any other epilogue, by D's columns. */
Test(gated, scalars_and_vectors_take_fragments)
{
    struct jg_epilogue *scalars =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    struct jg_epilogue *vectors =
        make_epilogue("d = silu(acc0 + b0) * (acc1 + b1);", JIT_GEMM_OPERAND_PAIR_VECTOR);
    static const char *const archs[] = {"sm_90a", "sm_100a"};
    for (int i = 0; i < 2; i++) {
        struct jg_choice choice;
        cr_assert_eq(choose(archs[i], "2048x2048x512 bf16", scalars, &choice), JIT_GEMM_OK);
        cr_expect_eq(choice.derived.output.epilogue, JG_EPILOGUE_FRAGMENTS);
        cr_assert_eq(choose(archs[i], "2048x2052x512 bf16", scalars, &choice), JIT_GEMM_OK);
        cr_expect_eq(choice.derived.output.epilogue, JG_EPILOGUE_VECTORS, "odd rows of D");
        cr_assert_eq(choose(archs[i], "2048x2048x512 bf16 layout=nn", scalars, &choice),
                     JIT_GEMM_OK);
        cr_expect_eq(choice.derived.output.epilogue, JG_EPILOGUE_VECTORS, "neighbours");
        cr_assert_eq(choose(archs[i], "2048x2048x512 bf16", vectors, &choice), JIT_GEMM_OK);
        cr_expect_eq(choice.derived.output.epilogue, JG_EPILOGUE_FRAGMENTS);
    }
    jg_epilogue_destroy(scalars);
    jg_epilogue_destroy(vectors);
}

/* The product's A has the pairs where it is the problem's B. */
Test(gated, pairs_lie_where_the_columns_of_b_are)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    static const struct {
        const char *arch, *text;
        int rows, columns; /* of the product, for one of D */
        bool is_transpose;
    } rows[] = {
        {"sm_90a", "512x512x512 bf16 config=tile=128x128", 1, 2, false},
        {"sm_90a", "512x512x512 bf16 config=tile=128x32", 2, 1, true},
        {"sm_90a", "512x512x512 bf16 config=tile=256x16", 2, 1, true},
        {"sm_90a", "512x512x512 bf16 d_layout=column config=tile=128x128", 2, 1, false},
        {"sm_90a", "512x512x512 bf16 d_layout=column config=tile=128x64", 1, 2, true},
        {"sm_100a", "512x512x512 bf16 config=mma=128x64", 1, 2, false},
        {"sm_100a", "512x512x512 bf16 config=mma=128x64 swap_ab=1", 2, 1, true},
        {"sm_100a", "512x512x512 bf16 d_layout=column config=mma=128x64", 1, 2, true},
        {"sm_100a", "512x512x512 bf16 d_layout=column config=mma=128x64 swap_ab=1", 2, 1,
         false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_assert_eq(choose(rows[i].arch, rows[i].text, epilogue, &choice), JIT_GEMM_OK,
                     "%s: %s", rows[i].text, jg_error_text());
        cr_expect_eq(jg_product_gate_rows(&choice.product), rows[i].rows, "%s",
                     rows[i].text);
        cr_expect_eq(jg_product_gate_columns(&choice.product), rows[i].columns, "%s",
                     rows[i].text);
        cr_expect_eq(choice.product.d_is_transpose, rows[i].is_transpose, "%s",
                     rows[i].text);
    }
    jg_epilogue_destroy(epilogue);
}

/* Few rows of D: the columns of B are rows of the multiplication, as without pairs. */
Test(gated, small_m_is_chosen_swapped)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    struct jg_choice choice;
    cr_assert_eq(choose("sm_100a", "16x28672x4096 bf16", epilogue, &choice), JIT_GEMM_OK);
    cr_expect(choice.config.layout.swap_ab);
    cr_expect_eq(choice.config.layout.tile_m, 256, "two accumulators of 128 rows");
    jg_epilogue_destroy(epilogue);
}

/* A block of 128 columns of D is 256 of B, for which sm_100a has registers in two teams. */
Test(gated, scales_of_blocks_of_all_matrices_have_a_tile)
{
    static const char *const texts[] = {
        "4096x4096x4096 e4m3 a_scale=1x128 b_scale=128x128 d_scale=1x128",
        "4096x4096x4096 e4m3 a_scale=1x128 b_scale=128x128 d_scale=1x128 pair=halves",
        "200x1024x512 e5m2 b_scale=128x128 d_scale=1x128"};
    static const char *const archs[] = {"sm_90a", "sm_100a"};
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    struct jg_choice choice;
    for (size_t i = 0; i < 2 * sizeof(texts) / sizeof(texts[0]); i++) {
        cr_expect_eq(choose(archs[i % 2], texts[i / 2], epilogue, &choice), JIT_GEMM_OK,
                     "%s, %s: %s", archs[i % 2], texts[i / 2], jg_error_text());
    }
    jg_epilogue_destroy(epilogue);
}

/* Each team of the epilogue has both accumulators of its elements. */
Test(gated, columns_of_a_team_are_halved)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    static const struct {
        const char *arch, *text;
        int gate_columns, box_rows;
    } rows[] = {
        {"sm_90a", "512x512x512 bf16 config=tile=128x256 cluster=1x1", 128, 128},
        {"sm_90a", "512x512x512 bf16 config=tile=128x256 cluster=2x1", 128, 128},
        {"sm_90a", "512x512x512 bf16 config=tile=64x256 cluster=2x1", 64, 64},
        {"sm_90a", "512x512x512 bf16 layout=nn pair=halves config=tile=128x256 cluster=2x1",
         128, 32},
        {"sm_100a", "512x512x512 bf16 config=mma=256x256 cluster=2x1", 128, 128},
        {"sm_100a", "512x512x512 bf16 config=mma=256x256 cluster=4x1", 128, 64},
        {"sm_100a", "512x512x512 bf16 config=mma=128x256 cta_group=2 cluster=2x1", 64, 64},
        {"sm_100a", "512x512x512 bf16 config=mma=128x16 cta_group=1 cluster=1x1", 8, 8},
        {"sm_90a", "512x512x512 bf16 layout=nn config=tile=128x192 cluster=2x1", 1, 32},
        {"sm_100a", "512x512x512 bf16 layout=nn config=mma=256x192 cluster=4x1", 1, 32},
        {"sm_90a", "512x512x512 bf16 d_layout=column config=tile=128x256 cluster=1x1", 128,
         256},
        {"sm_100a", "512x512x512 bf16 config=mma=128x64 cta_group=2 cluster=2x1 swap_ab=1",
         32, 32},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_assert_eq(choose(rows[i].arch, rows[i].text, epilogue, &choice), JIT_GEMM_OK,
                     "%s: %s", rows[i].text, jg_error_text());
        cr_expect_eq(choice.derived.gate_columns, rows[i].gate_columns, "%s", rows[i].text);
        cr_expect_eq(choice.derived.b_box.rows, rows[i].box_rows, "%s", rows[i].text);
    }
    jg_epilogue_destroy(epilogue);
}

/* Where the tensor core multiplies by scales, halves have pieces and multiplications of
 * their own, and neighbours are multiplied as they lie. */
Test(gated, scales_in_pieces_decide_how_pairs_are_multiplied)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    static const struct {
        const char *text;
        int gate_columns, box_rows, tmem_columns;
        enum jg_epilogue_kind kind;
    } rows[] = {
        {"512x512x512 a=nvfp4 d=bf16 config=mma=128x128 stages=4 acc_stages=1", 1, 128, 256,
         JG_EPILOGUE_VECTORS},
        {"512x512x512 a=nvfp4 d=bf16 pair=halves config=mma=128x128 stages=4 acc_stages=1",
         64, 64, 512, JG_EPILOGUE_FRAGMENTS},
        {"512x512x512 a=mxfp8 d=bf16 pair=halves config=mma=256x192 stages=6 acc_stages=1",
         96, 48, 512, JG_EPILOGUE_FRAGMENTS},
        {"512x512x512 a=mxfp8 d=bf16 pair=halves config=mma=256x128 cluster=4x1 stages=5 "
         "acc_stages=1",
         64, 32, 256, JG_EPILOGUE_FRAGMENTS},
        {"16x512x512 a=mxfp4 d=bf16 pair=halves config=mma=128x16 swap_ab=1 stages=4 "
         "acc_stages=2",
         16, 16, 256, JG_EPILOGUE_FRAGMENTS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_assert_eq(choose("sm_100a", rows[i].text, epilogue, &choice), JIT_GEMM_OK,
                     "%s: %s", rows[i].text, jg_error_text());
        cr_expect_eq(choice.derived.gate_columns, rows[i].gate_columns, "%s", rows[i].text);
        cr_expect_eq(choice.derived.b_box.rows, rows[i].box_rows, "%s: %d", rows[i].text,
                     choice.derived.b_box.rows);
        cr_expect_eq(choice.derived.tmem_columns, rows[i].tmem_columns, "%s: %d",
                     rows[i].text, choice.derived.tmem_columns);
        cr_expect_eq(choice.derived.output.epilogue, rows[i].kind, "%s", rows[i].text);
    }
    jg_epilogue_destroy(epilogue);
}

Test(gated, halves_that_end_inside_of_a_piece_of_scales_are_refused)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    struct jg_choice choice;
    cr_expect_eq(
        choose("sm_100a", "64x320x64 a=mxfp8 pair=halves d=bf16", epilogue, &choice),
        JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_str_eq(jg_error_text(),
                     "problem.n: half of B has 160 columns, which are no whole pieces of "
                     "128: one of scale mx in layout 128x4 would belong to both; give "
                     "halves of a multiple of 128 columns, or pair=interleaved");
    cr_expect_eq(choose("sm_100a", "64x512x64 a=nvfp4 pair=halves d=bf16 config=mma=128x96",
                        epilogue, &choice),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(),
                              "with scale nv a CTA has 128 rows, and N is a "
                              "multiple of 64, because halves are "
                              "multiplied by themselves"),
                       "%s", jg_error_text());
    /* Of an MN-major B, of whose rows a copy has those of one half. */
    cr_expect_eq(choose("sm_100a",
                        "64x512x64 a=mxfp8 b=mxfp8 layout=nn pair=halves d=bf16 "
                        "config=mma=256x192",
                        epilogue, &choice),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(
        strstr(jg_error_text(),
               "mma=256x192 cta_group=2: a CTA loads 48 columns of each half "
               "of B, which is not K-major; it needs a multiple of 32"),
        "%s", jg_error_text());
    jg_epilogue_destroy(epilogue);
}

Test(gated, tiles_without_whole_pairs_are_rejected)
{
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    static const struct {
        const char *arch, *text, *begin;
    } rows[] = {
        {"sm_90a", "512x512x512 bf16 layout=nn pair=halves config=tile=128x192",
         "problem.config: tile=128x192: half of a warpgroup's columns, 96, are no multiple "
         "of 64"},
        {"sm_90a", "512x512x512 bf16 d_layout=column config=tile=128x192 swap_ab=1",
         "problem.config: tile=128x192: of each accumulator of a gated, column-major D it has "
         "64 rows, and 96 columns"},
        {"sm_90a", "512x512x512 bf16 d_layout=column config=tile=64x256",
         "problem.config: tile=64x256: of each accumulator of a gated, column-major D it has "
         "32 rows"},
        {"sm_90a", "512x512x512 bf16 config=tile=64x32",
         "problem.config: tile=64x32 swap_ab=1: of a transposed product each accumulator of D "
         "has 64 or 128 rows of a tile"},
        {"sm_90a", "512x512x512 bf16 config=tile=128x16",
         "problem.config: tile=128x16 swap_ab=1: of a transposed product each accumulator of D "
         "has 64 or 128 rows of a tile, and a warpgroup at least 16 columns"},
        {"sm_90a", "512x512x512 bf16 layout=nn config=tile=128x64",
         "problem.config: pairs of neighbours in an MN-major B lie along the rows of the "
         "multiplication, in different lanes; give a K-major B, pair=halves, or swap_ab=0"},
        {"sm_100a", "512x512x512 bf16 layout=nn config=mma=128x64 swap_ab=1",
         "problem.config: swap_ab=1: pairs of neighbours in an MN-major B lie along the rows "
         "of the multiplication, in different lanes; give a K-major B, pair=halves, or "
         "swap_ab=0"},
        /* Elements of 32 bits along N come in rows of 128 bytes only. */
        {"sm_100a", "512x512x512 tf32 layout=nn pair=halves config=mma=128x32",
         "problem.config: mma=128x32 cta_group=1: half of a CTA's columns, 16, are no multiple "
         "of 32, as the pairs of a gated epilogue need"},
        {"sm_100a", "512x512x512 tf32 layout=nn pair=halves config=mma=256x96",
         "problem.config: mma=256x96 cta_group=2: half of a CTA's columns, 48, are no multiple "
         "of 32"},
        {"sm_90a", "512x512x512 bf16 layout=nn d_layout=column config=tile=128x128",
         "problem.config: pairs of neighbours in an MN-major B lie along the rows of the "
         "multiplication, in different lanes; give a K-major B, pair=halves, or a row-major "
         "D"},
        {"sm_100a",
         "512x512x512 bf16 config=mma=128x256 cta_group=1 swap_ab=1 acc_stages=2",
         "problem.config: acc_stages=2 take 1024 columns of tensor memory"},
        {"sm_100a", "512x512x512 bf16 config=mma=64x24 cta_group=1",
         "problem.config: mma=64x24 cta_group=1: half of a CTA's columns, 12, are no "
         "multiple of 8"},
        {"sm_100a", "512x512x512 bf16 config=mma=128x48 cta_group=1 epilogue_warps=8",
         "problem.config: epilogue_warps=8: half of a tile's columns are no multiple of 8"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_expect_eq(choose(rows[i].arch, rows[i].text, epilogue, &choice),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].begin, strlen(rows[i].begin)), 0,
                     "got '%s'", jg_error_text());
    }
    jg_epilogue_destroy(epilogue);
}

Test(gated, pair_vectors_belong_to_gated_snippets)
{
    jit_gemm_operand operands[] = {
        {.name = "b", .kind = JIT_GEMM_OPERAND_PAIR_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16},
        {.name = "b1", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16}};
    jit_gemm_epilogue user = {.struct_size = sizeof(user),
                              .name = "gated",
                              .source = "d = acc + b0;",
                              .operands = operands,
                              .operand_count = 1};
    struct jg_epilogue *epilogue = NULL;
    cr_expect_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(
        jg_error_text(),
        "epilogue.operands[0].kind: 'b' is a pair_vector, but the epilogue is "
        "not gated; declare a row_vector, or name acc0 and acc1 in the snippet");
    user.source = "d = (acc0 + b0) * acc1 + b1;";
    user.operand_count = 2;
    cr_expect_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(),
                     "epilogue.operands[1].name: 'b1' is what the snippet calls a value of "
                     "the pair_vector 'b'; use another name");
    user.operand_count = 1;
    cr_expect_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    jg_epilogue_destroy(epilogue);
    operands[0].dtype = JIT_GEMM_DTYPE_F32;
    operands[0].role = JIT_GEMM_OPERAND_SUM;
    cr_expect_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(),
                     "epilogue.operands[0].role: a pair_vector is an input, not a sum; "
                     "declare it as a row_vector: one value for each column of D");
}

/* Both warpgroups read all of A for both accumulators of 64 rows. */
Test(gated, transposed_tiles_of_64_rows_of_d_read_too_much_from_shared_memory)
{
    static const struct {
        const char *text;
        int tile_m, tile_n;
        bool swaps;
    } rows[] = {
        {"1024x1024x1024 bf16", 64, 128, false},
        {"1024x1024x4096 bf16 pair=halves", 64, 128, false},
        {"256x4096x2048 bf16", 64, 128, false},
        {"512x2048x4096 e4m3 d=bf16 accumulate=fast", 64, 128, false},
        /* Weights that come from memory hide it. */
        {"16x13312x16384 bf16", 128, 32, true},
    };
    struct jg_epilogue *epilogue =
        make_epilogue("d = silu(acc0) * acc1;", JIT_GEMM_OPERAND_SCALAR);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_assert_eq(choose("sm_90a", rows[i].text, epilogue, &choice), JIT_GEMM_OK, "%s",
                     rows[i].text);
        const struct jg_config_layout *layout = &choice.config.layout;
        cr_expect_eq(layout->tile_m, rows[i].tile_m, "%s: %d", rows[i].text,
                     layout->tile_m);
        cr_expect_eq(layout->tile_n, rows[i].tile_n, "%s: %d", rows[i].text,
                     layout->tile_n);
        cr_expect_eq(layout->swap_ab, rows[i].swaps, "%s", rows[i].text);
    }
    jg_epilogue_destroy(epilogue);
}
