/* SPDX-License-Identifier: MIT */
/* Problems with groups: what is refused and how, what a launch hands to the kernel. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"

enum { GROUPS = 4 };

static jit_gemm *create(struct api_fixture *fixture, const char *text)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s: %s",
                 text, jit_gemm_last_error());
    fixture->fake->recording = 1;
    return gemm;
}

Test(groups, text_is_read_and_printed)
{
    static const char *const rows[][2] = {
        {"m=600 n=256 k=128 a=bf16 groups=5",
         "m=600 n=256 k=128 groups=5 group_by=offsets a=bf16"},
        {"m=300 n=256 k=128 a=bf16 group_by=counts groups=1",
         "m=300 n=256 k=128 groups=1 group_by=counts a=bf16"},
        {"m=300 n=256 k=128 a=bf16 group_by=pointers groups=9",
         "m=300 n=256 k=128 groups=9 group_by=pointers a=bf16"},
        {"m=300 n=256 k=999 a=bf16 group_by=k_offsets groups=7 layout=tn",
         "m=300 n=256 k=999 groups=7 group_by=k_offsets a=bf16 layout=tn"},
        {"m=300 n=256 k=128 a=bf16 groups=7 group_rest=zero",
         "m=300 n=256 k=128 groups=7 group_by=offsets group_rest=zero a=bf16"},
        {"m=300 n=256 k=128 a=bf16 groups=7 group_by=rows group_rest=untouched",
         "m=300 n=256 k=128 groups=7 group_by=rows a=bf16"},
        {"m=300 n=256 k=128 a=bf16 group_by=rows groups=7",
         "m=300 n=256 k=128 groups=7 group_by=rows a=bf16"},
        {"m=300 n=256 k=128 a=bf16 d=mxfp8 groups=7 scale_rows=per_group_padded",
         "m=300 n=256 k=128 groups=7 group_by=offsets scale_rows=per_group_padded a=bf16 "
         "d=e4m3 d_scale=mx d_scale_layout=128x4"},
        {"m=300 n=256 k=128 a=bf16 d=mxfp8 groups=7 scale_rows=stacked",
         "m=300 n=256 k=128 groups=7 group_by=offsets a=bf16 d=e4m3 d_scale=mx "
         "d_scale_layout=128x4"},
        {"m=0600 n=256 k=128 groups=4096 a=e4m3 d=bf16 dynamic=m",
         "m=600 n=256 k=128 groups=4096 group_by=offsets a=e4m3 d=bf16 dynamic=m"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char printed[256];
        jit_gemm_problem problem;
        cr_assert_eq(jit_gemm_problem_parse(rows[i][0], &problem), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        cr_assert_eq(jit_gemm_problem_print(&problem, printed, sizeof(printed), NULL),
                     JIT_GEMM_OK);
        cr_expect_str_eq(printed, rows[i][1]);
    }
}

Test(groups, what_no_kernel_does_is_refused_by_name)
{
    static const char *const rows[][2] = {
        {"groups=0", "problem.batch: must be a number from 1 to 4096, is '0'"},
        {"groups=4097", "problem.batch: must be a number from 1 to 4096, is '4097'"},
        {"groups=8 group_by=sizes", "problem.group_by: unknown form 'sizes'"},
        {"groups=8 group_rest=one", "problem.group_rest: unknown way 'one'"},
        {"batch=8 group_rest=zero", "problem.group_rest: all rows of D belong to a batch"},
        {"groups=8 group_by=k_offsets layout=tn group_rest=zero",
         "problem.group_rest: all rows of D belong to a batch or group along K"},
        {"groups=8 group_by=counts d=e4m3 d_scale=128x128 group_rest=zero",
         "problem.group_rest: there is no kernel that makes rows of no group 0 in a D with "
         "scale 128x128"},
        {"groups=8 group_by=counts d=e4m3 d_scale=128x128 d_rows=indexed",
         "problem.d_rows: with an index the rows of a tile are of any blocks of D"},
        {"groups=8 d=mxfp8 d_rows=indexed scale_rows=per_group_padded",
         "problem.scale_rows: neither A nor D has scales whose pieces"},
        {"groups=8 scale_rows=banded", "problem.scale_rows: unknown way 'banded'"},
        {"groups=8 scale_rows=per_group_padded",
         "problem.scale_rows: neither A nor D has scales whose pieces"},
        {"a=mxfp8 d=bf16 groups=8 a_rows=indexed scale_rows=per_group_padded",
         "problem.scale_rows: neither A nor D has scales whose pieces"},
        {"groups=8 group_by=counts d=mxfp8 scale_rows=per_group_padded",
         "problem.scale_rows: only groups by offsets have scales that begin"},
        {"d=mxfp8 scale_rows=per_group_padded",
         "problem.scale_rows: only groups by offsets have scales that begin"},
        {"groups=8 batch=2", "problem.batch: the keys 'batch' and 'groups' are both given"},
        {"group_by=counts",
         "problem.batch: key 'group_by' is given, and 'groups' is missing"},
        {"groups=8 dynamic=batch",
         "problem.batch.mode: the number of groups is compiled in"},
        {"groups=8 d_layout=column",
         "problem.d.layout: there is no kernel for groups of rows"},
        {"groups=8 layout=tt", "problem.a.layout: there is no kernel for stacked groups"},
        {"groups=8 config=split_k=2", "problem.config: split_k=2: the kernel counts"},
        {"groups=8 config=scheduler=single", "problem.config: scheduler=single: how many"},
        {"groups=8 config=prefetch=b", "problem.config: prefetch asks for the first tile"},
        {"groups=8 group_by=k_offsets layout=nn",
         "problem.a.layout: there is no kernel for groups along K of a K-major matrix"},
        {"groups=8 group_by=k_offsets layout=tt",
         "problem.b.layout: there is no kernel for groups along K of a K-major matrix"},
        {"groups=8 group_by=k_offsets layout=nt input_align=4",
         "problem.a.layout: there is no kernel for groups along K of a K-major matrix"},
        {"groups=8 group_by=k_offsets layout=tn config=split_k=2",
         "problem.config: split_k=2: the kernel counts"},
        {"groups=8 group_by=k_offsets layout=tn config=mma=128x32",
         "problem.config: groups along K end with copies of single rows of K"},
        {"groups=8 group_by=pointers group_rest=zero",
         "problem.group_rest: with group_by=pointers all rows of a D are its group's"},
        {"groups=8 group_by=pointers d_rows=indexed",
         "problem.d_rows: an index names rows of one D"},
        {"groups=8 group_by=pointers a_rows=indexed",
         "problem.a_rows: an index names rows of one A"},
        {"groups=8 group_by=pointers d_layout=column",
         "problem.d.layout: there is no kernel for groups of rows"},
        {"groups=8 group_by=pointers config=cluster=2x1",
         "problem.config: cluster=2x1: with group_by=pointers threads load A and B"},
        {"groups=8 group_by=pointers config=cluster=1x1 scheduler=clc",
         "problem.config: scheduler=clc serves one load thread"},
        {"groups=8 group_by=pointers config=cluster=1x1 repack=ab",
         "problem.config: repack=ab: TMA takes A and B as they are"},
        {"groups=8 group_by=pointers input_align=4 config=cluster=1x1 repack=ab",
         "problem.config: repack=ab: how much of A and B groups have"},
        {"groups=8 group_by=rows d_layout=column",
         "problem.d.layout: there is no kernel for groups of rows"},
        {"groups=8 group_by=rows dynamic=batch",
         "problem.batch.mode: the number of groups is compiled in"},
        {"groups=8 group_by=rows config=split_k=2",
         "problem.config: split_k=2: the kernel counts"},
        {"groups=8 group_by=rows config=mma=256x256",
         "problem.config: tile=128x256 cluster=2x1: with group_by=rows a cluster's tiles "
         "have rows of one block of 128, and these have 256"},
        {"groups=8 group_by=rows config=mma=128x96 swap_ab=1 cluster=1x1",
         "problem.config: tile=128x96 cluster=1x1: with group_by=rows a cluster's tiles "
         "have rows of one block of 128, and these have 96, which do not divide it"},
    };
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "m=512 n=256 k=128 %s%s",
                 strncmp(rows[i][0], "a=", 2) == 0 ? "" : "a=bf16 ", rows[i][0]);
        jit_gemm_problem problem;
        jit_gemm_status status = jit_gemm_problem_parse(text, &problem);
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_check(fixture.context, &problem);
        }
        cr_expect_neq(status, JIT_GEMM_OK, "%s", text);
        cr_expect(strncmp(jit_gemm_last_error(), rows[i][1], strlen(rows[i][1])) == 0,
                  "%s: %s", text, jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}

Test(groups, what_becomes_of_rows_of_no_group_is_named)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_problem problem = api_problem("m=512 n=256 k=128 a=bf16 groups=4");

    problem.group_rest = (jit_gemm_group_rest)2;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("problem.group_rest: is nothing that becomes of rows"), "%s",
              jit_gemm_last_error());
    problem.group_rest = JIT_GEMM_GROUP_REST_ZERO;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());

    api_fixture_close(&fixture);
}

Test(groups, scales_whose_blocks_would_have_rows_of_several_groups_are_refused)
{
    static const char *const texts[] = {
        "m=512 n=256 k=256 a=e4m3 d=bf16 groups=4 a_scale=128x128 b_scale=128x128"};
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const jit_gemm_problem problem = api_problem(texts[i]);
        cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_UNSUPPORTED);
        cr_expect(api_error_has("scale.kind: there is no kernel for scale"), "%s",
                  jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}

/* Blocks of rows begin where 16 bytes and blocks of scales do. */
Test(groups, rows_that_name_their_groups_have_layouts_and_scales_that_offsets_lack)
{
    static const char *const texts[] = {
        "m=500 n=256 k=256 a=bf16 groups=4 group_by=rows layout=tn",
        "m=500 n=256 k=256 a=e4m3 d=bf16 groups=4 group_by=rows a_scale=128x128",
        "m=524288 n=256 k=256 a=bf16 groups=4096 group_by=rows"};
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const jit_gemm_problem problem = api_problem(texts[i]);
        cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_OK, "%s: %s",
                     texts[i], jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}

static jit_gemm_args right_args(void)
{
    return (jit_gemm_args){.struct_size = sizeof(jit_gemm_args),
                           .a = {.pointer = UINT64_C(1) << 32},
                           .b = {.pointer = UINT64_C(2) << 32},
                           .d = {.pointer = UINT64_C(3) << 32},
                           .group_sizes = UINT64_C(4) << 32};
}

Test(groups, what_has_rows_is_stacked_and_the_rest_has_a_part_for_each_group)
{
    static const char source[] = "d = acc * u + bias + s + r;";
    const jit_gemm_operand operands[] = {
        {"u", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_F32, 0, 0},
        {"bias", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_F32, 0, 0},
        {"s", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, 0, 0},
        {"r", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_BF16, 0, 0}};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "all_kinds",
                                        .source = source,
                                        .operand_count = 4,
                                        .operands = operands};
    static const struct {
        const char *form;
        int64_t rows; /* elements from one batch to the next of what has M of them */
    } forms[] = {{"offsets", 0}, {"counts", 512}, {"rows", 0}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct api_fixture fixture;
        char text[128];
        api_fixture_driver();
        api_fixture_open(&fixture);
        cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
        snprintf(text, sizeof(text),
                 "m=512 n=256 k=128 a=bf16 groups=4 group_by=%s epilogue=all_kinds "
                 "config=swap_ab=0",
                 forms[i].form);
        jit_gemm *gemm = create(&fixture, text);
        const jit_gemm_arg given[] = {{.pointer = UINT64_C(5) << 32},
                                      {.pointer = UINT64_C(6) << 32},
                                      {.pointer = UINT64_C(7) << 32},
                                      {.pointer = UINT64_C(8) << 32}};
        jit_gemm_args args = right_args();
        args.operands = given;
        args.operand_count = 4;
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
        cr_expect_eq(params->group_sizes, args.group_sizes);
        cr_expect_eq(params->a.batch_stride, forms[i].rows * 128);
        cr_expect_eq(params->b.batch_stride, INT64_C(256) * 128);
        cr_expect_eq(params->d.batch_stride, forms[i].rows * 256);
        cr_expect_eq(params->a.batch_step, forms[i].rows > 0);
        cr_expect_eq(params->b.batch_step, 1);
        cr_expect_eq(params->d.batch_step, forms[i].rows > 0);
        cr_expect_eq(params->operands[0].batch_stride, forms[i].rows);
        cr_expect_eq(params->operands[1].batch_stride, 256);
        cr_expect_eq(params->operands[2].batch_stride, 1);
        cr_expect_eq(params->operands[3].batch_stride, forms[i].rows * 256);
        jit_gemm_destroy(&gemm);
        api_fixture_close(&fixture);
    }
}

Test(groups, wrong_arguments_are_told)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=256 k=128 a=bf16 groups=4");
    jit_gemm *plain = create(&fixture, "m=512 n=256 k=128 a=bf16");
    jit_gemm_args args = right_args();
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.group_sizes: an address is given, but"), "%s",
              jit_gemm_last_error());
    args.group_sizes = 0;
    cr_assert_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.group_sizes: the address of the 4 offsets of the groups"),
              "%s", jit_gemm_last_error());
    args.group_sizes = 0x10002;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("is misaligned: no multiple of 4"), "%s",
              jit_gemm_last_error());
    args = right_args();
    args.a.batch_stride = INT64_C(512) * 128;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.a.batch_stride: A has all groups"), "%s",
              jit_gemm_last_error());
    args = right_args();
    args.d.batch_stride = 8;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.d.batch_stride: D has all groups"), "%s",
              jit_gemm_last_error());
    jit_gemm_destroy(&plain);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* A kernel has room for the blocks that its problem has, one with a dynamic M for at least
 * 65536 rows. */
Test(groups, rows_beyond_what_a_kernel_lists_are_refused)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm_problem problem =
        api_problem("m=524289 n=256 k=128 a=bf16 groups=4 group_by=rows");
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("problem.m: group_by=rows takes up to 524288 rows"), "%s",
              jit_gemm_last_error());
    static const struct {
        const char *text;
        int64_t most;
    } rows[] = {{"m=512 n=256 k=128 a=bf16 groups=4 group_by=rows dynamic=m", 65536},
                {"m=131072 n=256 k=128 a=bf16 groups=4 group_by=rows dynamic=m", 131072}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm *gemm = create(&fixture, rows[i].text);
        jit_gemm_args args = right_args();
        args.m = rows[i].most;
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        args.m++;
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_UNSUPPORTED);
        cr_expect(api_error_has("args.m: group_by=rows of this kernel takes up to"), "%s",
                  jit_gemm_last_error());
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

/* Of rows in groups a workspace has room for a tile more of each group than M has. */
Test(groups, reductions_have_a_workspace_for_all_groups)
{
    static const struct {
        const char *text;
        uint64_t
            tiles; /* along the rows, beside the words that all workspaces begin with */
    } rows[] = {/* A partial result, f32, of each of 256 columns of a tile of 128 rows. */
                {"m=1000 n=256 k=128 a=bf16", 8},
                {"m=1000 n=256 k=128 a=bf16 groups=5", 7 + 5},
                {"m=1000 n=256 k=128 a=bf16 groups=5 group_by=counts", 40},
                {"m=1000 n=256 k=128 a=bf16 groups=5 group_by=pointers", 40},
                {"m=1000 n=256 k=128 a=bf16 groups=5 group_by=k_offsets layout=tn", 40}};
    static const uint64_t column_bytes = 256 * sizeof(float);
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    uint64_t words = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "%s epilogue=bias_gradient config=mma=128x128 cluster=1x1", rows[i].text);
        const jit_gemm_info info = api_info_of(&fixture, text);
        words = i == 0 ? info.workspace_bytes - rows[0].tiles * column_bytes : words;
        cr_expect_eq(info.workspace_bytes, words + rows[i].tiles * column_bytes, "%s: %llu",
                     text, (unsigned long long)(info.workspace_bytes - words));
    }
    cr_expect_eq(words, 32768);
    api_fixture_close(&fixture);
}

/* Of 1000 elements of K in 4 groups each has blocks of its own: 7 + 4 of them. */
Test(groups, scales_along_k_have_a_block_more_for_each_group)
{
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    jit_gemm *gemm =
        create(&fixture, "m=512 n=256 k=1000 a=e4m3 d=bf16 groups=4 group_by=k_offsets "
                         "layout=tn a_scale=1x128 b_scale=128x128 "
                         "b_scale_layout=column config=swap_ab=0");
    jit_gemm_args args = right_args();
    args.a_scale.pointer = UINT64_C(5) << 32;
    args.b_scale.pointer = UINT64_C(6) << 32;
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
    cr_expect_eq(params->a_scale.ld, 7 + 4);
    cr_expect_eq(params->b_scale.ld, 4);
    cr_expect_eq(params->a_scale.batch_stride, 0);
    cr_expect_eq(params->b_scale.batch_stride, 0);
    args.a_scale.ld = 10;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.a_scale.ld: the leading dimension 10 of the scales is "
                            "less than its row of 11"),
              "%s", jit_gemm_last_error());
    args.a_scale.ld = 0;
    args.b_scale.batch_stride = 44;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.b_scale.batch_stride: the scales have all groups"), "%s",
              jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* Of 1000 elements 7 + 4 pieces of MX, of 1024 16 + 4 of NV, for 128 rows each. */
Test(groups, pieces_along_k_are_one_more_for_each_group)
{
    static const struct {
        const char *text;
        int64_t ld;
    } rows[] = {
        {"m=512 n=256 k=1000 a=mxfp8 d=bf16 groups=4 group_by=k_offsets layout=tn",
         (7 + 4) * 512},
        {"m=512 n=256 k=1024 nvfp4 d=bf16 groups=4 group_by=k_offsets", (16 + 4) * 512}};
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm *gemm = create(&fixture, rows[i].text);
        jit_gemm_args args = right_args();
        args.a_scale.pointer = UINT64_C(5) << 32;
        args.b_scale.pointer = UINT64_C(6) << 32;
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
        cr_expect_eq(params->a_scale.ld, rows[i].ld, "%s", rows[i].text);
        cr_expect_eq(params->b_scale.ld, rows[i].ld);
        cr_expect_eq(params->a_scale.batch_stride, 0);
        args.b_scale.batch_stride = 1 << 20;
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has("args.b_scale.batch_stride: the scales have all groups"),
                  "%s", jit_gemm_last_error());
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

Test(groups, pointers_with_scales_of_the_tensor_core_come_by_maps_only)
{
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem =
        api_problem("m=512 n=256 k=128 a=mxfp8 d=bf16 groups=4 group_by=pointers");
    const jit_gemm_problem without = api_problem(
        "m=512 n=256 k=128 a=mxfp8 d=bf16 groups=4 group_by=pointers config=group_maps=0");
    const jit_gemm_problem unaligned = api_problem(
        "m=512 n=256 k=128 a=mxfp8 d=bf16 groups=4 group_by=pointers input_align=8");
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(jit_gemm_check(fixture.context, &without), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("problem.config: group_maps=0: threads load A and B, and no "
                            "kernel whose threads do multiplies by scale mx"),
              "%s", jit_gemm_last_error());
    cr_expect_neq(jit_gemm_check(fixture.context, &unaligned), JIT_GEMM_OK);
    api_fixture_close(&fixture);
}

/* The host reads none of the arrays, and there is no map of what only the device knows. */
Test(groups, pointers_are_handed_on_and_have_no_maps)
{
    static const float beta = 0.5F;
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=256 k=128 a=bf16 c=f32 groups=4 "
                                      "group_by=pointers config=swap_ab=0");
    jit_gemm_args args = right_args();
    args.c.pointer = UINT64_C(5) << 32;
    args.a_lds = UINT64_C(6) << 32;
    args.b.ld = 136;
    args.d_lds = UINT64_C(7) << 32;
    args.group_sizes = 0;
    args.beta = &beta;
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
    const struct jg_matrix_param wanted[] = {
        {.pointer = args.a.pointer, .ld = 0, .batch_stride = (int64_t)args.a_lds},
        {.pointer = args.b.pointer, .ld = 136},
        {.pointer = args.c.pointer, .ld = 256},
        {.pointer = args.d.pointer, .ld = 0, .batch_stride = (int64_t)args.d_lds}};
    const struct jg_matrix_param *const got[] = {&params->a, &params->b, &params->c,
                                                 &params->d};
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(got[i]->pointer, wanted[i].pointer);
        cr_expect_eq(got[i]->ld, wanted[i].ld, "%d: %lld", i, (long long)got[i]->ld);
        cr_expect_eq(got[i]->batch_stride, wanted[i].batch_stride);
    }
    cr_expect_eq(params->group_sizes, 0);
    cr_expect_eq(fixture.fake->encodes, 0);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);
    cr_expect_eq(info.launches, 1);
    cr_expect_eq(info.workspace_bytes, 0);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(groups, wrong_arguments_of_pointers_are_told)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm *gemm =
        create(&fixture, "m=512 n=256 k=128 a=bf16 groups=4 group_by=pointers");
    jit_gemm *stacked = create(&fixture, "m=512 n=256 k=128 a=bf16 groups=4");
    const jit_gemm_args right = right_args();
    struct {
        jit_gemm *gemm;
        jit_gemm_args args;
        const char *error;
    } rows[] = {
        {gemm, right, "args.a.pointer: the address of the addresses of A is NULL"},
        {gemm, right, "args.d.pointer: the address 0x300000004 of the addresses of D is"},
        {gemm, right, "args.b.batch_stride: with group_by=pointers each group has an"},
        {gemm, right, "args.d.batch_stride: with group_by=pointers each group has an"},
        {gemm, right, "args.b.ld: the leading dimension 100 of B is less than its row"},
        {gemm, right, "args.b.ld: the stride of 129 elements of B is no multiple of 16"},
        {gemm, right, "args.a.ld: A has the leading dimension 128 for all groups and an"},
        {gemm, right, "args.a_lds: the address 0x10004 of the leading dimensions of A is"},
        {gemm, right, "args.c_lds: an address is given, but this problem has no matrix by"},
        {stacked, right,
         "args.d_lds: an address is given, but this problem has no matrix"}};
    rows[0].args.a.pointer = 0;
    rows[1].args.d.pointer += 4;
    rows[2].args.b.batch_stride = JIT_GEMM_STRIDE_BROADCAST;
    rows[3].args.d.batch_stride = 512;
    rows[4].args.b.ld = 100;
    rows[5].args.b.ld = 129;
    rows[6].args.a.ld = 128;
    rows[6].args.a_lds = 0x10000;
    rows[7].args.a_lds = 0x10004;
    rows[8].args.c_lds = 0x10000;
    rows[9].args.d_lds = 0x10000;
    cr_assert_eq(jit_gemm_run(gemm, &right, NULL), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_neq(jit_gemm_run(rows[i].gemm, &rows[i].args, NULL), JIT_GEMM_OK, "%s",
                      rows[i].error);
        cr_expect(api_error_has(rows[i].error), "%s", jit_gemm_last_error());
    }
    jit_gemm_destroy(&stacked);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* An N and a K of each group: what no kernel of the problem takes is told with a remedy. */
Test(groups, sizes_of_each_group_that_no_kernel_takes_are_refused)
{
    static const struct {
        const char *text;
        bool of_k;
        jit_gemm_status status;
        const char *error, *remedy;
    } rows[] = {
        {"m=512 n=256 k=128 a=bf16 groups=4 dynamic=n,k", false, JIT_GEMM_ERR_ARGUMENT,
         "args.group_ns: an address is given, but only with group_by=pointers groups have "
         "sizes",
         "give group_by=pointers"},
        {"m=512 n=256 k=128 a=bf16 dynamic=n,k", true, JIT_GEMM_ERR_ARGUMENT,
         "args.group_ks: an address is given, but only with group_by=pointers", "leave it"},
        {"m=512 n=256 k=128 a=bf16 groups=4 group_by=pointers dynamic=k", false,
         JIT_GEMM_ERR_UNSUPPORTED,
         "args.group_ns: an address is given, but the size is compiled into", "dynamic=n"},
        {"m=512 n=256 k=128 a=bf16 groups=4 group_by=pointers dynamic=n", true,
         JIT_GEMM_ERR_UNSUPPORTED,
         "args.group_ks: an address is given, but the size is compiled into", "dynamic=k"},
        {"m=512 n=256 k=128 a=e4m3 d=bf16 a_scale=1x128 b_scale=128x128 groups=4 "
         "group_by=pointers dynamic=n,k",
         true, JIT_GEMM_ERR_UNSUPPORTED,
         "args.group_ks: an address is given, but no kernel has scales of blocks",
         "leave the scales out"},
        {"m=512 n=256 k=128 a=e4m3 d=bf16 b_scale=128x128 groups=4 group_by=pointers "
         "dynamic=n,k",
         false, JIT_GEMM_ERR_UNSUPPORTED,
         "args.group_ns: an address is given, but no kernel has scales of blocks",
         "leave the scales out"},
        {"m=512 n=256 k=128 a=bf16 groups=4 group_by=pointers dynamic=n,k epilogue=swiglu",
         false, JIT_GEMM_ERR_UNSUPPORTED,
         "args.group_ns: an address is given, but no kernel takes pairs of columns",
         "launch once for each N"},
        {"m=512 n=256 k=128 a=bf16 groups=4 group_by=pointers dynamic=n,k "
         "epilogue=bias_gradient",
         false, JIT_GEMM_ERR_UNSUPPORTED,
         "args.group_ns: an address is given, but no kernel reduces",
         "leave the reductions"},
        {"m=512 n=256 k=128 a=bf16 d=e4m3 d_scale=1x128 groups=4 group_by=pointers "
         "dynamic=n,k",
         false, JIT_GEMM_ERR_UNSUPPORTED,
         "args.group_ns: an address is given, but no kernel computes scales of D",
         "leave d_scale out"},
    };
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm *gemm = create(&fixture, rows[i].text);
        jit_gemm_args args = right_args();
        args.n = strstr(rows[i].text, "dynamic=n") != NULL ? 256 : 0;
        args.k = strstr(rows[i].text, "dynamic=n,k") != NULL ||
                         strstr(rows[i].text, "dynamic=k") != NULL
                     ? 128
                     : 0;
        *(rows[i].of_k ? &args.group_ks : &args.group_ns) = 0x10000;
        if (i == 1) {
            args.group_sizes = 0;
        }
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), rows[i].status, "%s", rows[i].text);
        cr_expect(api_error_has(rows[i].error), "%s", jit_gemm_last_error());
        cr_expect(strstr(jit_gemm_last_error(), rows[i].remedy) != NULL, "%s",
                  jit_gemm_last_error());
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

/* They are handed on to the kernel; a misaligned address is told. */
Test(groups, sizes_of_each_group_are_handed_on)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm *gemm =
        create(&fixture, "m=512 n=256 k=128 a=bf16 groups=4 group_by=pointers dynamic=n,k");
    jit_gemm_args args = right_args();
    args.n = 256;
    args.k = 128;
    args.group_ns = UINT64_C(8) << 32;
    args.group_ks = UINT64_C(9) << 32;
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
    cr_expect_eq(params->group_ns, args.group_ns);
    cr_expect_eq(params->group_ks, args.group_ks);

    args.group_ns += 2;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.group_ns: the address 0x800000002 is misaligned"), "%s",
              jit_gemm_last_error());
    args.group_ns = 0;
    args.group_ks += 1;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.group_ks: the address 0x900000001 is misaligned"), "%s",
              jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(groups, address_of_the_groups_of_rows_is_asked_for)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=256 k=128 a=bf16 groups=4 group_by=rows");
    jit_gemm_args args = right_args();
    args.group_sizes = 0;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.group_sizes: the address of the groups of the 512 rows"),
              "%s", jit_gemm_last_error());
    args = right_args();
    args.a.batch_stride = INT64_C(512) * 128;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("args.a.batch_stride: A has all groups"), "%s",
              jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* Nobody but the device knows the groups: the grid depends on M only, and has room for the
 * rest of every group. */
Test(groups, grid_has_a_cluster_for_every_tile_that_there_can_be)
{
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    static const struct {
        const char *text;
        unsigned int ctas;
    } rows[] = {
        /* 1000 rows: 7 whole tiles of 128, and one more for each of 5 groups; 4 across. */
        {"m=1000 n=256 k=128 a=bf16 groups=5 config=mma=128x64 cluster=1x1 scheduler=clc",
         (7 + 5) * 4},
        {"m=2 n=256 k=128 a=bf16 groups=5 config=mma=128x64 cluster=1x1 scheduler=clc",
         2 * 4},
        {"m=1000 n=256 k=128 a=bf16 groups=5 config=mma=128x64 cluster=2x1 scheduler=clc",
         (3 + 5) * 4 * 2},
        {"m=300 n=256 k=128 a=bf16 groups=5 group_by=counts config=mma=128x64 cluster=1x1 "
         "scheduler=clc",
         3 * 5 * 4},
        /* Rows of no group are one group more by offsets, by counts a tile more of each. */
        {"m=1000 n=256 k=128 a=bf16 groups=5 group_rest=zero config=mma=128x64 cluster=1x1 "
         "scheduler=clc",
         (7 + 6) * 4},
        {"m=300 n=256 k=128 a=bf16 groups=5 group_by=counts group_rest=zero "
         "config=mma=128x64 cluster=1x1 scheduler=clc",
         4 * 5 * 4},
        /* Blocks of rows have no rest: as a matrix without groups. */
        {"m=1000 n=256 k=128 a=bf16 groups=5 group_by=rows config=mma=128x64 cluster=1x1 "
         "scheduler=clc",
         8 * 4},
        {"m=1000 n=256 k=128 a=bf16 groups=5 group_by=rows config=mma=128x32 cluster=1x2 "
         "swap_ab=1 scheduler=clc",
         2 * 16 * 2}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm *gemm = create(&fixture, rows[i].text);
        const jit_gemm_args args = right_args();
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        cr_expect_eq(fixture.fake->last_launch.grid, rows[i].ctas, "%s: %u", rows[i].text,
                     fixture.fake->last_launch.grid);
        jit_gemm_info info = {.struct_size = sizeof(info)};
        cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);
        cr_expect_eq(info.grid_ctas, rows[i].ctas);
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}
