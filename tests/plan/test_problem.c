/* SPDX-License-Identifier: MIT */
/* Checks and defaults of a problem, versioned structs, canonical bytes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/problem.h"
#include "plan_fixture.h"

static jit_gemm_problem make_problem(void)
{
    jit_gemm_problem problem;
    memset(&problem, 0, sizeof(problem));
    problem.struct_size = sizeof(problem);
    problem.m.size = 512;
    problem.n.size = 256;
    problem.k.size = 128;
    problem.a.dtype = JIT_GEMM_DTYPE_BF16;
    return problem;
}

static struct jg_problem normalize(const jit_gemm_problem *problem)
{
    struct jg_problem canonical;
    memset(&canonical, 0, sizeof(canonical));
    cr_assert_eq(jg_problem_normalize(problem, NULL, NULL, &canonical), JIT_GEMM_OK, "%s",
                 jg_error_text());
    return canonical;
}

static void expect_refused(const jit_gemm_problem *problem, jit_gemm_status status,
                           const char *begin)
{
    struct jg_problem canonical;
    memset(&canonical, 0x5a, sizeof(canonical));
    const struct jg_problem before = canonical;

    cr_expect_eq(jg_problem_normalize(problem, NULL, NULL, &canonical), status, "%s: %s",
                 begin, jg_error_text());
    cr_expect_eq(strncmp(jg_error_text(), begin, strlen(begin)), 0,
                 "expected '%s...', got '%s'", begin, jg_error_text());
    cr_expect_eq(memcmp(&canonical, &before, sizeof(before)), 0, "untouched on failure");
}

Test(problem, defaults_are_filled_in)
{
    const jit_gemm_problem problem = make_problem();

    const struct jg_problem canonical = normalize(&problem);

    cr_expect_eq(canonical.batch.size, 1);
    cr_expect_eq(canonical.b.dtype, JIT_GEMM_DTYPE_BF16);
    cr_expect_eq(canonical.c.dtype, JIT_GEMM_DTYPE_NONE);
    cr_expect_eq(canonical.d.dtype, JIT_GEMM_DTYPE_BF16);
    cr_expect_null(canonical.epilogue);
}

Test(problem, wrong_sizes_name_the_field_the_range_and_the_value)
{
    static const struct {
        size_t offset;
        int64_t size;
        const char *begin;
    } rows[] = {
        {offsetof(jit_gemm_problem, m), -5,
         "problem.m: must be 1 to 2147483647, is -5; give the number of rows of A and D"},
        {offsetof(jit_gemm_problem, m), 0, "problem.m: must be 1 to 2147483647, is 0"},
        {offsetof(jit_gemm_problem, n), 0,
         "problem.n: must be 1 to 2147483647, is 0; give the number of columns of B and D"},
        {offsetof(jit_gemm_problem, k), INT64_C(2147483648),
         "problem.k: must be 1 to 2147483647, is 2147483648; give the number of columns"},
        {offsetof(jit_gemm_problem, batch), -1,
         "problem.batch: must be 1 to 2147483647, is -1; give the number of products"},
        {offsetof(jit_gemm_problem, k), INT64_MIN, "problem.k: must be 1 to 2147483647"},
        {offsetof(jit_gemm_problem, k), INT64_MAX, "problem.k: must be 1 to 2147483647"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_problem problem = make_problem();
        memcpy((char *)&problem + rows[i].offset, &rows[i].size, sizeof(rows[i].size));
        expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT, rows[i].begin);
    }
}

Test(problem, wrong_hint_of_a_dynamic_size_is_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.m.mode = JIT_GEMM_DIM_DYNAMIC;
    problem.m.size = -1;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.m: must be 0 to 2147483647, is -1; give the size to plan for");
}

Test(problem, wrong_mode_and_reserved_are_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.n.mode = 2;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT, "problem.n.mode: must be 0 or 1, is 2");

    problem = make_problem();
    problem.batch.reserved = 3;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.batch.reserved: must be 0, is 3; zero the struct");
}

Test(problem, number_of_groups_has_no_default)
{
    jit_gemm_problem problem = make_problem();
    problem.group_by = JIT_GEMM_GROUP_BY_OFFSETS;

    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.batch: group_by is given, and how many groups there are is not; "
        "give the number of groups, such as 8");
}

Test(problem, wrong_types_are_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.a.dtype = JIT_GEMM_DTYPE_NONE;
    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.a.dtype: the element type of A is not set; types: bf16 f16 tf32 e4m3 "
        "e5m2 s8");

    problem = make_problem();
    problem.a.dtype = (jit_gemm_dtype)77;
    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.a.dtype: 77 is no element type; types: bf16 f16 tf32 e4m3 e5m2 s8");

    problem = make_problem();
    problem.b.dtype = (jit_gemm_dtype)-1;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.b.dtype: -1 is no element type");

    problem = make_problem();
    problem.c.dtype = (jit_gemm_dtype)99;
    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.c.dtype: 99 is no element type; types: bf16 f16 f32 e4m3 e5m2 s8 s32");

    problem = make_problem();
    problem.d.dtype = (jit_gemm_dtype)99;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.d.dtype: 99 is no element type");
}

Test(problem, wrong_scales_are_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.a.scale.kind = (jit_gemm_scale_kind)4;
    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.a.scale.kind: must be 0 to 3, is 4; give JIT_GEMM_SCALE_NONE, _TENSOR, "
        "_VECTOR or _BLOCK");

    problem = make_problem();
    problem.b.scale.kind = (jit_gemm_scale_kind)-1;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT, "problem.b.scale.kind: must be 0 to 3");
}

Test(problem, scales_that_no_kernel_has_are_refused_by_name)
{
    static const struct {
        jit_gemm_scale scale;
        jit_gemm_status status;
        const char *rest;
    } rows[] = {
        {{.kind = JIT_GEMM_SCALE_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16},
         JIT_GEMM_ERR_UNSUPPORTED,
         "scale.dtype: there is no kernel for scales of type bf16; give f32, or zero"},
        {{.kind = JIT_GEMM_SCALE_VECTOR, .dtype = (jit_gemm_dtype)77},
         JIT_GEMM_ERR_ARGUMENT,
         "scale.dtype: 77 is no element type"},
        {{.dtype = JIT_GEMM_DTYPE_F32},
         JIT_GEMM_ERR_ARGUMENT,
         "scale.dtype: a type of scales is given, but there is no scale"},
        {{.block_mn = 128},
         JIT_GEMM_ERR_ARGUMENT,
         "scale.block_mn: must be 0, is 128: the scale is none of blocks; leave it zero, or "
         "give the kind JIT_GEMM_SCALE_BLOCK"},
        {{.kind = JIT_GEMM_SCALE_VECTOR, .block_k = 32},
         JIT_GEMM_ERR_ARGUMENT,
         "scale.block_k: must be 0, is 32"},
        {{.kind = JIT_GEMM_SCALE_TENSOR, .layout = 1},
         JIT_GEMM_ERR_ARGUMENT,
         "scale.layout: must be 0, is 1"},
        {{.kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 2, .block_k = 64},
         JIT_GEMM_ERR_UNSUPPORTED,
         "scale.block_k: there are no scales of blocks of 2x64 and type none; give blocks "
         "of 1x128 or 128x128 and f32 or ue8m0, of 1x32 and ue8m0, or of 1x16 and ue4m3"},
        {{.kind = JIT_GEMM_SCALE_BLOCK,
          .dtype = JIT_GEMM_DTYPE_F32,
          .block_mn = 1,
          .block_k = 32},
         JIT_GEMM_ERR_UNSUPPORTED,
         "scale.block_k: there are no scales of blocks of 1x32 and type f32"},
        {{.kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 128, .layout = 5},
         JIT_GEMM_ERR_ARGUMENT,
         "scale.layout: must be 0 to 4, is 5; give JIT_GEMM_SCALE_LAYOUT_ROW, _COLUMN, "
         "_128X4, _8X4 or _MN_K4"},
        {{.kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 128, .block_k = 128},
         JIT_GEMM_ERR_UNSUPPORTED,
         "scale.kind: there is no kernel for scales of blocks of"},
        {{.reserved = 5},
         JIT_GEMM_ERR_ARGUMENT,
         "scale.reserved: must be 0, is 5; zero the struct before filling it"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char begin[128];
        jit_gemm_problem problem = make_problem();
        problem.a.scale = rows[i].scale;
        snprintf(begin, sizeof(begin), "problem.a.%s", rows[i].rest);
        expect_refused(&problem, rows[i].status, begin);
        problem = make_problem();
        problem.b.scale = rows[i].scale;
        snprintf(begin, sizeof(begin), "problem.b.%s", rows[i].rest);
        expect_refused(&problem, rows[i].status, begin);
    }
}

Test(problem, scales_of_c_and_d_are_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.d.scale.kind = JIT_GEMM_SCALE_TENSOR;
    expect_refused(&problem, JIT_GEMM_ERR_UNSUPPORTED,
                   "problem.d.scale.kind: there is no kernel for scale tensor of D yet; "
                   "give one of blocks, such as 1x128, or multiply in an epilogue");

    problem = make_problem();
    problem.c.scale.kind = JIT_GEMM_SCALE_VECTOR;
    expect_refused(&problem, JIT_GEMM_ERR_UNSUPPORTED,
                   "problem.c.scale.kind: there is no kernel for scale vector of C yet");
    problem.c.scale.kind = JIT_GEMM_SCALE_NONE;
    problem.c.scale.block_k = 1;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT, "problem.c.scale.block_k: must be 0");
}

Test(problem, type_of_scales_is_no_type_of_a_matrix)
{
    jit_gemm_problem problem = make_problem();
    problem.a.dtype = JIT_GEMM_DTYPE_UE8M0;
    expect_refused(&problem, JIT_GEMM_ERR_UNSUPPORTED,
                   "problem.a.dtype: ue8m0 is a type of scales, and of no matrix; types: "
                   "bf16 f16 tf32 e4m3 e5m2 s8");

    problem = make_problem();
    problem.d.dtype = JIT_GEMM_DTYPE_UE8M0;
    expect_refused(&problem, JIT_GEMM_ERR_UNSUPPORTED,
                   "problem.d.dtype: ue8m0 is a type of scales, and of no matrix");
}

Test(problem, type_of_scales_may_be_said)
{
    jit_gemm_problem problem = make_problem();
    problem.a.scale.kind = JIT_GEMM_SCALE_TENSOR;
    jit_gemm_problem said = problem;
    said.a.scale.dtype = JIT_GEMM_DTYPE_F32;

    const struct jg_problem left_out = normalize(&problem);
    const struct jg_problem given = normalize(&said);

    cr_expect(plan_is_same_problem(&left_out, &given));
    cr_expect_eq(given.a.scale.dtype, JIT_GEMM_DTYPE_F32);
    cr_expect_eq(given.b.scale.dtype, JIT_GEMM_DTYPE_NONE);
}

Test(problem, c_lies_as_d)
{
    jit_gemm_problem problem = make_problem();
    problem.c.dtype = JIT_GEMM_DTYPE_F32;
    problem.d.layout = JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    cr_expect(normalize(&problem).c.is_mn_major, "zero means as D");
    problem.c.layout = JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    cr_expect(normalize(&problem).c.is_mn_major);

    problem.d.layout = JIT_GEMM_LAYOUT_ROW_MAJOR;
    expect_refused(&problem, JIT_GEMM_ERR_UNSUPPORTED,
                   "problem.c.layout: there is no kernel for a column-major C beside a "
                   "row-major D; give D's layout, or zero, which means D's");
    problem.c.layout = (jit_gemm_layout)2;
    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.c.layout: must be 0 or 1, is 2; give JIT_GEMM_LAYOUT_ROW_MAJOR");
}

Test(problem, reserved_of_a_matrix_is_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.a.reserved = 1;
    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.a.reserved: must be 0, is 1; zero the struct before filling it");

    problem = make_problem();
    problem.c.reserved = 9;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT, "problem.c.reserved: must be 0, is 9");
}

Test(problem, wrong_layout_of_d_is_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.d.layout = (jit_gemm_layout)2;
    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.d.layout: must be 0 or 1, is 2; give JIT_GEMM_LAYOUT_ROW_MAJOR or "
        "JIT_GEMM_LAYOUT_COLUMN_MAJOR");
}

Test(problem, alignments_are_powers_of_two_up_to_16)
{
    static const uint32_t wrong[] = {3, 6, 12, 17, 32, UINT32_MAX};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        jit_gemm_problem problem = make_problem();
        problem.a.alignment = wrong[i];
        expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                       "problem.a.alignment: must be 0, 1, 2, 4, 8 or 16, is ");
        problem = make_problem();
        problem.d.alignment = wrong[i];
        expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                       "problem.d.alignment: must be 0, 1, 2, 4, 8 or 16, is ");
    }
    jit_gemm_problem problem = make_problem();
    cr_expect_eq(normalize(&problem).d.alignment, 16);
    problem.d.alignment = 4;
    cr_expect_eq(normalize(&problem).d.alignment, 4);
    cr_expect_eq(normalize(&problem).a.alignment, 16);
}

Test(problem, lesser_alignment_holds_for_both_matrices_of_a_pair)
{
    static const struct {
        uint32_t one, other;
        int expected;
    } rows[] = {{0, 4, 4}, {4, 0, 4}, {2, 8, 2}, {8, 2, 2}, {16, 8, 8}, {16, 0, 16}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_problem problem = make_problem();
        problem.c.dtype = JIT_GEMM_DTYPE_BF16;
        problem.a.alignment = problem.d.alignment = rows[i].one;
        problem.b.alignment = problem.c.alignment = rows[i].other;

        const struct jg_problem canonical = normalize(&problem);

        cr_expect_eq(canonical.a.alignment, rows[i].expected, "row %zu", i);
        cr_expect_eq(canonical.b.alignment, rows[i].expected, "row %zu", i);
        cr_expect_eq(canonical.c.alignment, rows[i].expected, "row %zu", i);
        cr_expect_eq(canonical.d.alignment, rows[i].expected, "row %zu", i);
    }
}

Test(problem, alignment_names_the_matrix_that_promised_too_little)
{
    jit_gemm_problem problem = make_problem();
    problem.b.alignment = 1;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.b.alignment: 1 bytes are less than an element");
    problem.a.alignment = 1;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.a.alignment: 1 bytes are less than an element");

    problem = make_problem();
    problem.c.dtype = JIT_GEMM_DTYPE_BF16;
    problem.c.alignment = 1;
    expect_refused(
        &problem, JIT_GEMM_ERR_ARGUMENT,
        "problem.c.alignment: 1 bytes are less than an element, the smallest has "
        "2");

    problem = make_problem();
    problem.c.alignment = 4;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.c.alignment: 4 is given, but this problem has no C; leave it "
                   "zero, or name a type of C in problem.c.dtype");
}

static jit_gemm_status find_given(void *user, const char *name, jit_gemm_dtype d,
                                  const struct jg_epilogue **ret_epilogue)
{
    (void)name;
    (void)d;
    *ret_epilogue = user;
    return JIT_GEMM_OK;
}

/* One with an output matrix, a scalar and a vector; `aux` has the smallest elements. */
static struct jg_epilogue *make_epilogue(jit_gemm_dtype aux)
{
    const jit_gemm_operand operands[] = {
        {.name = "aux",
         .kind = JIT_GEMM_OPERAND_MATRIX,
         .dtype = aux,
         .role = JIT_GEMM_OPERAND_OUTPUT},
        {.name = "s", .kind = JIT_GEMM_OPERAND_SCALAR, .dtype = JIT_GEMM_DTYPE_E4M3},
        {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_F32}};
    const jit_gemm_epilogue user = {.struct_size = sizeof(user),
                                    .name = "e",
                                    .source = "aux = s; d = acc + bias;",
                                    .operands = operands,
                                    .operand_count = 3};
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    return epilogue;
}

Test(problem, outputs_may_be_promised_the_smallest_element_and_no_less)
{
    static const struct {
        jit_gemm_dtype c, d, aux; /* aux: NONE without an epilogue */
        uint32_t alignment;
        const char *message; /* NULL: legal */
    } rows[] = {
        {0, JIT_GEMM_DTYPE_BF16, 0, 2, NULL},
        {0, JIT_GEMM_DTYPE_BF16, 0, 1,
         "1 bytes are less than an element, the smallest has 2"},
        {0, JIT_GEMM_DTYPE_F32, 0, 2,
         "2 bytes are less than an element, the smallest has 4"},
        {JIT_GEMM_DTYPE_BF16, JIT_GEMM_DTYPE_F32, 0, 2, NULL},
        {JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_E4M3, 0, 1, NULL},
        {0, JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_E5M2, 1, NULL},
        {JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_F16, 1,
         "1 bytes are less than an element, the smallest has 2; give at least the bytes of "
         "the smallest element of D, C and the operands"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_epilogue *epilogue = NULL;
        struct jg_problem canonical;
        jit_gemm_problem problem = make_problem();
        problem.c.dtype = rows[i].c;
        problem.d.dtype = rows[i].d;
        problem.d.alignment = rows[i].alignment;
        if (rows[i].aux != JIT_GEMM_DTYPE_NONE) {
            epilogue = make_epilogue(rows[i].aux);
            strcpy(problem.epilogue, "e");
        }

        const jit_gemm_status status =
            jg_problem_normalize(&problem, find_given, epilogue, &canonical);

        cr_expect_eq(status, rows[i].message ? JIT_GEMM_ERR_ARGUMENT : JIT_GEMM_OK,
                     "row %zu: %s", i, jg_error_text());
        cr_expect(rows[i].message == NULL ||
                      (strstr(jg_error_text(), rows[i].message) != NULL &&
                       strstr(jg_error_text(), "problem.d.alignment: ") != NULL),
                  "row %zu: %s", i, jg_error_text());
        jg_epilogue_destroy(epilogue);
    }
}

Test(problem, types_without_a_kernel_are_unsupported)
{
    static const struct {
        jit_gemm_dtype a, b, c, d;
        const char *begin;
    } rows[] = {
        {JIT_GEMM_DTYPE_F32, 0, 0, 0,
         "problem.a.dtype: there is no kernel for inputs of type f32; give tf32, which is f32 in "
         "memory"},
        {JIT_GEMM_DTYPE_S32, 0, 0, 0,
         "problem.a.dtype: there is no kernel for inputs of type s32; types: bf16 f16 tf32"},
        {JIT_GEMM_DTYPE_BF16, JIT_GEMM_DTYPE_F16, 0, 0,
         "problem.b.dtype: there is no kernel for A of type bf16 and B of type f16; give A and B "
         "one type; only e4m3 and e5m2 mix"},
        {JIT_GEMM_DTYPE_E4M3, JIT_GEMM_DTYPE_S8, 0, 0,
         "problem.b.dtype: there is no kernel for A of type e4m3 and B of type s8"},
        {JIT_GEMM_DTYPE_S8, JIT_GEMM_DTYPE_E5M2, 0, 0,
         "problem.b.dtype: there is no kernel for A of type s8 and B of type e5m2"},
        {JIT_GEMM_DTYPE_TF32, 0, 0, JIT_GEMM_DTYPE_TF32,
         "problem.d.dtype: there is no kernel for D of type tf32; give f32"},
        {JIT_GEMM_DTYPE_TF32, 0, JIT_GEMM_DTYPE_TF32, JIT_GEMM_DTYPE_S8,
         "problem.c.dtype: there is no kernel for C of type tf32; give f32"},
        {JIT_GEMM_DTYPE_BF16, 0, 0, JIT_GEMM_DTYPE_S32,
         "problem.d.dtype: there is no kernel for D of type s32 with A of type bf16; give f32, "
         "or A and B of type s8"},
        {JIT_GEMM_DTYPE_E4M3, 0, JIT_GEMM_DTYPE_S32, 0,
         "problem.c.dtype: there is no kernel for C of type s32 with A of type e4m3"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_problem problem = make_problem();
        problem.a.dtype = rows[i].a;
        problem.b.dtype = rows[i].b;
        problem.c.dtype = rows[i].c;
        problem.d.dtype = rows[i].d;
        expect_refused(&problem, JIT_GEMM_ERR_UNSUPPORTED, rows[i].begin);
    }
}

Test(problem, defaults_of_d_and_b_follow_from_a)
{
    static const struct {
        jit_gemm_dtype a, d;
    } rows[] = {
        {JIT_GEMM_DTYPE_F16, JIT_GEMM_DTYPE_F16},
        {JIT_GEMM_DTYPE_TF32, JIT_GEMM_DTYPE_F32},
        {JIT_GEMM_DTYPE_E4M3, JIT_GEMM_DTYPE_E4M3},
        {JIT_GEMM_DTYPE_E5M2, JIT_GEMM_DTYPE_E5M2},
        {JIT_GEMM_DTYPE_S8, JIT_GEMM_DTYPE_S32},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_problem problem = make_problem();
        problem.a.dtype = rows[i].a;

        const struct jg_problem canonical = normalize(&problem);

        cr_expect_eq(canonical.b.dtype, rows[i].a);
        cr_expect_eq(canonical.d.dtype, rows[i].d);
    }
}

Test(problem, outputs_of_every_type_are_legal)
{
    for (int c = JIT_GEMM_DTYPE_NONE; c <= JIT_GEMM_DTYPE_F32; c++) {
        for (int d = JIT_GEMM_DTYPE_NONE; d <= JIT_GEMM_DTYPE_F32; d++) {
            jit_gemm_problem problem = make_problem();
            problem.c.dtype = (jit_gemm_dtype)c;
            problem.d.dtype = (jit_gemm_dtype)d;
            const struct jg_problem canonical = normalize(&problem);
            cr_expect_eq((int)canonical.c.dtype, c);
            cr_expect_eq((int)canonical.d.dtype, d == 0 ? (int)JIT_GEMM_DTYPE_BF16 : d);
        }
    }
}

Test(problem, wrong_layouts_are_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.a.layout = (jit_gemm_layout)2;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.a.layout: must be 0 or 1, is 2");

    problem = make_problem();
    problem.b.layout = (jit_gemm_layout)-1;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.b.layout: must be 0 or 1, is -1");
}

Test(problem, texts_without_an_end_are_refused)
{
    jit_gemm_problem problem = make_problem();
    memset(problem.epilogue, 'x', sizeof(problem.epilogue));
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.epilogue: has no ending zero within its 64 bytes");

    problem = make_problem();
    memset(problem.config, 'x', sizeof(problem.config));
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.config: has no ending zero within its 256 bytes");
}

Test(problem, wrong_epilogue_and_config_are_refused)
{
    jit_gemm_problem problem = make_problem();
    strcpy(problem.epilogue, "two words");
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.epilogue: 'two words' is no C identifier");

    problem = make_problem();
    strcpy(problem.epilogue, "absent");
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.epilogue: no epilogue is registered as 'absent'; register it");

    problem = make_problem();
    strcpy(problem.config, "tiles=1x1");
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT, "config: unknown key 'tiles'");
}

Test(problem, matrices_too_large_for_any_device_are_refused)
{
    jit_gemm_problem problem = make_problem();
    problem.m.size = problem.k.size = INT64_C(1) << 20;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT,
                   "problem.m: A would have 1048576 x 1048576 = 1099511627776 elements "
                   "per batch, at most 274877906944; split the problem");

    problem = make_problem();
    problem.n.size = problem.k.size = INT64_C(1) << 20;
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT, "problem.n: B would have");

    problem = make_problem();
    problem.m.size = problem.n.size = INT64_C(2147483647);
    expect_refused(&problem, JIT_GEMM_ERR_ARGUMENT, "problem.m: D would have");

    problem = make_problem();
    problem.m.size = INT64_C(1) << 19;
    problem.k.size = INT64_C(1) << 19;
    normalize(&problem);
}

Test(problem, near_hints_of_dynamic_sizes_share_one_problem)
{
    static const struct {
        int64_t hint, planned;
    } rows[] = {{0, 4096},
                {1, 1},
                {3, 4},
                {1000, 1024},
                {1024, 1024},
                {1025, 2048},
                {2147483647, INT64_C(1) << 30}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_problem problem = make_problem();
        problem.m.mode = JIT_GEMM_DIM_DYNAMIC;
        problem.m.size = rows[i].hint;
        cr_expect_eq(normalize(&problem).m.size, rows[i].planned);
    }
    jit_gemm_problem problem = make_problem();
    problem.batch.mode = JIT_GEMM_DIM_DYNAMIC;
    cr_expect_eq(normalize(&problem).batch.size, 1);
    cr_expect_eq(normalize(&problem).batch.mode, JIT_GEMM_DIM_DYNAMIC);
}

/* ------------------------------------------------------------------ canonical bytes */

static bool same_bytes(const jit_gemm_problem *a, const jit_gemm_problem *b)
{
    const struct jg_problem a_canonical = normalize(a);
    const struct jg_problem b_canonical = normalize(b);
    return plan_is_same_problem(&a_canonical, &b_canonical);
}

Test(problem, bytes_are_equal_for_two_ways_of_saying_the_same)
{
    const jit_gemm_problem plain = make_problem();
    jit_gemm_problem explicit_defaults = plain;
    explicit_defaults.b.dtype = JIT_GEMM_DTYPE_BF16;
    explicit_defaults.d.dtype = JIT_GEMM_DTYPE_BF16;
    explicit_defaults.batch.size = 1;
    cr_expect(same_bytes(&plain, &explicit_defaults));

    jit_gemm_problem one = plain;
    jit_gemm_problem other = plain;
    strcpy(one.config, "  stages=4\ttile=128x256 ");
    strcpy(other.config, "tile=128x256 stages=4");
    cr_expect(same_bytes(&one, &other));

    one = other = plain;
    one.m.mode = other.m.mode = JIT_GEMM_DIM_DYNAMIC;
    one.m.size = 1000;
    other.m.size = 600;
    cr_expect(same_bytes(&one, &other));

    one = other = plain;
    one.register_limit = 168;
    one.no_local_memory = 1;
    cr_expect(same_bytes(&one, &other), "a budget changes no machine code");
}

Test(problem, bytes_differ_in_every_field)
{
    const jit_gemm_problem plain = make_problem();
    jit_gemm_problem variants[23];
    for (size_t i = 0; i < 23; i++) {
        variants[i] = plain;
    }
    variants[0].m.size = 511;
    variants[1].n.size = 255;
    variants[2].k.size = 127;
    variants[3].batch.size = 2;
    variants[4].a.dtype = JIT_GEMM_DTYPE_F16;
    variants[5].c.dtype = JIT_GEMM_DTYPE_BF16;
    variants[6].d.dtype = JIT_GEMM_DTYPE_F32;
    variants[7].a.layout = JIT_GEMM_LAYOUT_MN_MAJOR;
    variants[8].b.layout = JIT_GEMM_LAYOUT_MN_MAJOR;
    variants[9].m.mode = JIT_GEMM_DIM_DYNAMIC;
    strcpy(variants[10].config, "stages=4");
    strcpy(variants[11].config, "kernel=reference");
    variants[12].a.scale.kind = JIT_GEMM_SCALE_TENSOR;
    variants[13].a.scale.kind = JIT_GEMM_SCALE_VECTOR;
    variants[14].b.scale.kind = JIT_GEMM_SCALE_TENSOR;
    variants[15].b.scale.kind = JIT_GEMM_SCALE_VECTOR;
    variants[16].d.layout = JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    variants[17].a.alignment = 2;
    variants[18].d.alignment = 2;
    variants[19].d.alignment = 4;
    variants[20].invariant = JIT_GEMM_INVARIANT_M;
    variants[21].weights = JIT_GEMM_WEIGHTS_A;
    variants[22].weights = JIT_GEMM_WEIGHTS_B;
    for (size_t i = 0; i < 23; i++) {
        cr_expect_not(same_bytes(&plain, &variants[i]), "variant %zu", i);
        for (size_t j = 0; j < i; j++) {
            cr_expect_not(same_bytes(&variants[i], &variants[j]), "%zu and %zu", i, j);
        }
    }
}

/* ---------------------------------------------------------------- versioned structs */

struct newer_problem {
    jit_gemm_problem known;
    int64_t unknown[4];
};

Test(struct_import, null_and_size_zero_are_arguments)
{
    struct jg_problem canonical;
    jit_gemm_problem problem = make_problem();
    problem.struct_size = 0;

    cr_expect_eq(jg_problem_normalize(NULL, NULL, NULL, &canonical), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(), "problem: is NULL; pass the address of a struct");

    cr_expect_eq(jg_problem_normalize(&problem, NULL, NULL, &canonical),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(
        strncmp(jg_error_text(), "problem.struct_size: is 0, where this library", 45), 0,
        "%s", jg_error_text());
}

Test(struct_import, absurd_size_is_an_argument)
{
    struct jg_problem canonical;
    jit_gemm_problem problem = make_problem();
    problem.struct_size = (size_t)-1;

    cr_expect_eq(jg_problem_normalize(&problem, NULL, NULL, &canonical),
                 JIT_GEMM_ERR_ARGUMENT);
}

Test(struct_import, shorter_struct_reads_as_zero_behind_its_end)
{
    jit_gemm_problem problem = make_problem();
    memset(problem.config, 'x', sizeof(problem.config));
    problem.struct_size = offsetof(jit_gemm_problem, config);

    cr_expect_str_eq(normalize(&problem).config, "");
}

Test(struct_import, longer_struct_is_taken_if_its_tail_is_zero)
{
    struct newer_problem newer;
    memset(&newer, 0, sizeof(newer));
    newer.known = make_problem();
    newer.known.struct_size = sizeof(newer);
    cr_expect_eq(normalize(&newer.known).m.size, 512);

    newer.unknown[3] = 1;
    expect_refused(&newer.known, JIT_GEMM_ERR_VERSION, "problem.struct_size: is ");
}
