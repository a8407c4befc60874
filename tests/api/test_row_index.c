/* SPDX-License-Identifier: MIT */
/* Problems whose rows of D or A an index names: what is refused and how, what a launch
 * hands to the kernel. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"

static jit_gemm *create(struct api_fixture *fixture, const char *text)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s: %s",
                 text, jit_gemm_last_error());
    fixture->fake->recording = 1;
    return gemm;
}

Test(row_index, text_is_read_and_printed)
{
    static const char *const rows[][2] = {
        {"m=300 n=256 k=128 a=bf16 d_rows=indexed",
         "m=300 n=256 k=128 a=bf16 d_rows=indexed"},
        {"m=300 n=256 k=128 a=bf16 d_rows=in_order", "m=300 n=256 k=128 a=bf16"},
        {"d_rows=indexed m=300 n=256 k=128 a=bf16 groups=7 layout=nn dynamic=m",
         "m=300 n=256 k=128 groups=7 group_by=offsets a=bf16 layout=nn d_rows=indexed "
         "dynamic=m"},
        {"m=300 n=256 k=128 a=bf16 d_rows=indexed a_rows=indexed",
         "m=300 n=256 k=128 a=bf16 a_rows=indexed d_rows=indexed"},
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

Test(row_index, what_no_kernel_does_is_refused_by_name)
{
    static const char *const rows[][2] = {
        {"d_rows=sorted",
         "problem.d_rows: unknown way 'sorted' at column 33; give in_order or indexed"},
        {"d_rows=indexed d_layout=column",
         "problem.d_rows: there is no kernel that stores rows of a column-major D by an "
         "index; give JIT_GEMM_LAYOUT_ROW_MAJOR, or leave d_rows out"},
        {"d_rows=indexed d=e4m3 d_scale=128x128",
         "problem.d_rows: with an index the rows of a tile are of any blocks of D, and "
         "there is no kernel for scale 128x128, which several rows share"},
        {"d_rows=indexed groups=4 group_rest=zero",
         "problem.d_rows: with an index, which rows of D belong to no group is not known; "
         "leave group_rest out, and clear D before the launch"},
        {"a_rows=sorted",
         "problem.a_rows: unknown way 'sorted' at column 33; give in_order or indexed"},
        {"a_rows=indexed layout=tn",
         "problem.a_rows: there is no kernel that reads rows of an MN-major A by an index"},
        {"a_rows=indexed input_align=2 groups=4 group_by=k_offsets",
         "problem.a_rows: groups along K have parts of A's rows"},
        {"a_rows=indexed config=tile=128x128 cluster=1x2 row_boxes=0",
         "problem.config: cluster=1x2: with a_rows=indexed threads load rows of A, each "
         "CTA's for itself: cluster=2x1 or 1x1"},
        {"a_rows=indexed input_align=8 config=tile=128x128 cluster=2x1",
         "problem.config: cluster=2x1: with a_rows=indexed threads load rows of A, each "
         "CTA's for itself: cluster=1x1"},
        {"a_rows=indexed config=tile=128x128 cluster=1x1 pingpong=1 row_boxes=0",
         "problem.config: pingpong=1: there is no kernel for A and B that threads load"},
        {"config=row_boxes=1", "problem.config: row_boxes=1: A's rows lie in order, and no "
                               "index names them: row_boxes=0"},
        {"a_rows=indexed input_align=8 config=row_boxes=1",
         "problem.config: row_boxes=1: TMA takes addresses and rows of 16 bytes, and "
         "input_align=8 promises less: row_boxes=0"},
        {"a_rows=indexed input_align=2 workspace=64m config=tile=128x128 cluster=1x1 "
         "repack=ab",
         "problem.config: repack=ab: there is no kernel that copies an A whose rows an "
         "index names"},
        {"d_rows=indexed config=out_stages=1",
         "problem.config: out_stages=1 is too few for C, matrix operands, reductions, "
         "`uniform`, a dynamic N, a D of 8 bits, d_rows=indexed"},
    };
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[192];
        snprintf(text, sizeof(text), "m=512 n=256 k=128 a=bf16 %s", rows[i][0]);
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

Test(row_index, what_rows_are_is_named)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm_problem problem = api_problem("m=512 n=256 k=128 a=bf16");
    problem.d_rows = (jit_gemm_rows)2;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("problem.d_rows: is no way in which rows lie: 2"), "%s",
              jit_gemm_last_error());
    problem.d_rows = JIT_GEMM_ROWS_IN_ORDER;
    problem.a_rows = (jit_gemm_rows)2;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("problem.a_rows: is no way in which rows lie: 2"), "%s",
              jit_gemm_last_error());
    problem.a_rows = JIT_GEMM_ROWS_INDEXED;
    problem.d_rows = (jit_gemm_rows)-1;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_ERR_ARGUMENT);
    problem.d_rows = JIT_GEMM_ROWS_INDEXED;
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    api_fixture_close(&fixture);
}

static jit_gemm_args right_args(void)
{
    return (jit_gemm_args){.struct_size = sizeof(jit_gemm_args),
                           .a = {.pointer = UINT64_C(1) << 32},
                           .b = {.pointer = UINT64_C(2) << 32},
                           .d = {.pointer = UINT64_C(3) << 32},
                           .d_rows = {.pointer = UINT64_C(4) << 32}};
}

/* D is one matrix, whatever the products are; the index lies as a column vector does. */
Test(row_index, index_has_a_part_for_each_batch)
{
    static const struct {
        const char *words;
        int64_t given, stride;
        uint32_t entries;
    } rows[] = {
        {"", 0, 512, 512},
        {"batch=3", 0, 512, 3 * 512},
        {"batch=3", 700, 700, 3 * 512},
        {"batch=3", JIT_GEMM_STRIDE_BROADCAST, 0, 3 * 512},
        {"groups=4", 0, 0, 512},
        {"groups=4 group_by=counts", 0, 512, 4 * 512},
        {"groups=4 group_by=rows", 0, 0, 512},
    };
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "m=512 n=256 k=128 a=bf16 d_rows=indexed %s",
                 rows[i].words);
        jit_gemm *gemm = create(&fixture, text);
        jit_gemm_args args = right_args();
        args.group_sizes = strstr(text, "groups") != NULL ? UINT64_C(5) << 32 : 0;
        args.d_rows.batch_stride = rows[i].given;
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s: %s", text,
                     jit_gemm_last_error());
        const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
        cr_expect_eq(params->d_rows.pointer, args.d_rows.pointer);
        cr_expect_eq(params->d_rows.batch_stride, rows[i].stride, "%s", text);
        cr_expect_eq(params->d_row_count, rows[i].entries, "%s", text);
        cr_expect_eq(params->d.batch_stride, 0);
        args.d_row_count = 77;
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        cr_expect_eq(params->d_row_count, 77);
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

/* Refuses a launch of these arguments in these words. */
static void expect_refused(jit_gemm *gemm, const jit_gemm_args *args, const char *words)
{
    cr_expect_eq(jit_gemm_run(gemm, args, NULL), JIT_GEMM_ERR_ARGUMENT, "%s", words);
    cr_expect(api_error_has(words), "%s", jit_gemm_last_error());
}

Test(row_index, wrong_arguments_are_told)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=256 k=128 a=bf16 batch=3 d_rows=indexed");
    jit_gemm *plain = create(&fixture, "m=512 n=256 k=128 a=bf16");
    jit_gemm_args args = right_args();
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    expect_refused(plain, &args,
                   "args.d_rows.pointer: an address is given, but the rows of this "
                   "problem's D lie in order; leave it zero, or give d_rows=indexed");
    args.d_rows.pointer = 0;
    expect_refused(gemm, &args,
                   "args.d_rows.pointer: the address of the index of D's rows is");
    cr_assert_eq(jit_gemm_run(plain, &args, NULL), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    args.d_row_count = 5;
    expect_refused(plain, &args, "args.d_row_count: 5 is given, but the rows of");
    args = right_args();
    args.d_rows.pointer += 2;
    expect_refused(gemm, &args, "of the index of D's rows is misaligned");
    args = right_args();
    args.d_rows.ld = 512;
    expect_refused(gemm, &args,
                   "args.d_rows.ld: the index of D's rows is a vector and has no");
    args = right_args();
    args.d_rows.batch_stride = -2;
    expect_refused(gemm, &args, "args.d_rows.batch_stride: the batch stride -2");
    args = right_args();
    args.d_rows.reserved = 1;
    expect_refused(gemm, &args, "args.d_rows.reserved: must be zero, is 1");
    expect_refused(plain, &args, "args.d_rows.reserved: must be zero, is 1");
    args = right_args();
    args.d.batch_stride = 512 * 256;
    expect_refused(gemm, &args, "args.d.batch_stride: D has all groups or batches");
    args = right_args();
    args.d_row_count = -1;
    expect_refused(gemm, &args, "args.d_row_count: an index of 32 bits names no -1 rows");
    args.d_row_count = INT64_C(1) << 31;
    expect_refused(gemm, &args, "names no 2147483648 rows");
    jit_gemm_destroy(&plain);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* A is one matrix, whose map no kernel has, or one whose box is a row; that of B is as
 * ever, also where the kernel multiplies the transpose. */
Test(row_index, a_goes_through_no_map_or_by_rows)
{
    static const char *const rows[][2] = {
        {"batch=3", "config=mma=128x64 swap_ab=0 cluster=1x1 row_boxes=0"},
        {"groups=4", "config=mma=128x64 swap_ab=0 cluster=1x1 row_boxes=1"},
        {"batch=3", "config=mma=128x32 swap_ab=1 cluster=1x1 row_boxes=1"},
        {"groups=4 group_by=counts", "config=mma=128x32 swap_ab=1 cluster=1x1 row_boxes=0"},
    };
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[192];
        snprintf(text, sizeof(text), "m=512 n=256 k=128 a=bf16 a_rows=indexed %s %s",
                 rows[i][0], rows[i][1]);
        jit_gemm *gemm = create(&fixture, text);
        jit_gemm_args args = right_args();
        args.a_rows = args.d_rows;
        args.d_rows = (jit_gemm_arg){0};
        args.a_row_count = 33;
        args.group_sizes = strstr(text, "groups") != NULL ? UINT64_C(5) << 32 : 0;
        const long first = atomic_load(&fixture.fake->encodes);
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s: %s", text,
                     jit_gemm_last_error());
        const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
        const bool is_swapped = strstr(text, "swap_ab=1") != NULL;
        const struct jg_matrix_param *a = is_swapped ? &params->b : &params->a;
        const struct jg_matrix_param *b = is_swapped ? &params->a : &params->b;
        const bool has_boxes = strstr(text, "row_boxes=1") != NULL;
        const struct fake_encode *of_a =
            &fixture.fake->last_encodes[(first + is_swapped) % FAKE_ENCODES_KEPT];
        cr_expect_eq(params->a_rows.pointer, args.a_rows.pointer);
        cr_expect_eq(params->a_row_count, 33);
        cr_expect_eq(params->d_row_count, 0);
        cr_expect_eq(a->pointer, args.a.pointer, "%s", text);
        cr_expect_eq(a->batch_stride, 0);
        cr_expect_eq(b->batch_stride, INT64_C(256) * 128);
        cr_expect_eq(b->batch_step, 1);
        cr_expect_eq(of_a->rank == 2, has_boxes, "%s", text);
        if (has_boxes) {
            cr_expect_eq(of_a->address, args.a.pointer);
            cr_expect_eq(of_a->dims[0], 128);
            cr_expect_eq(of_a->dims[1], 33);
            cr_expect_eq(of_a->strides_bytes[0], 256);
            cr_expect_eq(of_a->box[1], 1);
        }
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

Test(row_index, scales_that_do_not_lie_by_rows_are_refused)
{
    static const char *const rows[][2] = {
        {"a=e4m3 a_scale=128x128",
         "problem.a_rows: with an index the rows of a tile are of "
         "any blocks of A, and there is no kernel for scale "}};
    struct api_fixture fixture;
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128] = "m=512 n=256 k=128 d=bf16 a_rows=indexed ";
        strcat(text, rows[i][0]);
        const jit_gemm_problem problem = api_problem(text);
        jit_gemm *gemm = NULL;
        cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm),
                     JIT_GEMM_ERR_UNSUPPORTED, "%s", text);
        cr_expect(api_error_has(rows[i][1]), "%s", jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}

/* Scales lie as A's rows do: one for each of them, wherever the product has them. */
Test(row_index, scales_of_rows_go_with_the_index)
{
    static const char *const scales[] = {"a_scale=vector b_scale=vector",
                                         "a_scale=1x128 b_scale=128x128",
                                         "a_scale=1x128 a_scale_layout=column"};
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        char text[192];
        snprintf(text, sizeof(text),
                 "m=512 n=256 k=384 a=e4m3 d=bf16 a_rows=indexed groups=4 "
                 "group_by=counts %s config=swap_ab=0",
                 scales[i]);
        jit_gemm *gemm = create(&fixture, text);
        jit_gemm_args args = right_args();
        args.a_rows = args.d_rows;
        args.d_rows = (jit_gemm_arg){0};
        args.a_row_count = 34;
        args.group_sizes = UINT64_C(5) << 32;
        args.a_scale.pointer = UINT64_C(6) << 32;
        args.b_scale.pointer = i < 2 ? UINT64_C(7) << 32 : 0;
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s: %s", text,
                     jit_gemm_last_error());
        const struct jg_kernel_params *params = &fixture.fake->last_launch.params;
        cr_expect_eq(params->a_scale.batch_stride, i == 0 ? 512 : 0);
        if (i == 0) { /* the index's own, and how many rows it may name */
            cr_expect_eq((uint64_t)params->a_scale.ld, args.a_rows.pointer);
            cr_expect_eq(params->a_scale.batch_step, 34);
        } else {
            cr_expect_eq(params->a_scale.ld, i == 1 ? 3 : 36, "%s", text);
        }
        args.a_scale.batch_stride = 512;
        expect_refused(gemm, &args, "args.a_scale.batch_stride: ");
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

Test(row_index, wrong_arguments_of_a_are_told)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=256 k=128 a=bf16 batch=3 a_rows=indexed");
    jit_gemm *plain = create(&fixture, "m=512 n=256 k=128 a=bf16");
    jit_gemm_args args = right_args();
    args.a_rows = args.d_rows;
    args.d_rows = (jit_gemm_arg){0};
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(fixture.fake->last_launch.params.a_row_count, 3 * 512);
    expect_refused(plain, &args,
                   "args.a_rows.pointer: an address is given, but the rows of this "
                   "problem's A lie in order; leave it zero, or give a_rows=indexed");
    args.a.batch_stride = 512 * 128;
    expect_refused(gemm, &args, "args.a.batch_stride: A has all groups or batches");
    args.a.batch_stride = 0;
    args.a_row_count = -5;
    expect_refused(gemm, &args, "args.a_row_count: an index of 32 bits names no -5 rows");
    args.a_row_count = 0;
    args.a_rows.reserved = 1;
    expect_refused(gemm, &args, "args.a_rows.reserved: must be zero, is 1");
    args.a_rows = (jit_gemm_arg){0};
    expect_refused(gemm, &args,
                   "args.a_rows.pointer: the address of the index of A's rows");
    args.a_row_count = 5;
    expect_refused(plain, &args, "args.a_row_count: 5 is given, but the rows of");
    jit_gemm_destroy(&plain);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* A caller who was compiled before there was an index gives shorter structs. */
Test(row_index, older_structs_have_rows_in_order)
{
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm_problem problem = api_problem("m=512 n=256 k=128 a=bf16");
    problem.struct_size = offsetof(jit_gemm_problem, d_rows);
    problem.d_rows = JIT_GEMM_ROWS_INDEXED; /* beyond its end */
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    fixture.fake->recording = 1;
    jit_gemm_args args = right_args();
    args.struct_size = offsetof(jit_gemm_args, d_rows);
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(fixture.fake->last_launch.params.d_rows.pointer, 0);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}
