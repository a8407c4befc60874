/* SPDX-License-Identifier: MIT */
/* Numbers of groups that the host knows: what is refused and how, what goes with a launch,
 * and how many CTAs it has. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"

enum { GROUPS = 4 };

static const int32_t ends[GROUPS] = {0, 7, 300, 512};

static jit_gemm *create(struct api_fixture *fixture, const char *text)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s: %s",
                 text, jit_gemm_last_error());
    fixture->fake->recording = 1;
    return gemm;
}

static jit_gemm_args right_args(void)
{
    return (jit_gemm_args){.struct_size = sizeof(jit_gemm_args),
                           .a = {.pointer = UINT64_C(1) << 32},
                           .b = {.pointer = UINT64_C(2) << 32},
                           .d = {.pointer = UINT64_C(3) << 32},
                           .host_group_sizes = ends,
                           .host_group_count = GROUPS};
}

static void open_blackwell(struct api_fixture *fixture)
{
    api_fixture_driver()->cc_major = 10;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(fixture);
}

Test(host_groups, wrong_numbers_are_told_before_any_work)
{
    static const struct {
        const char *text;
        int32_t numbers[GROUPS];
        size_t count;
        const char *message;
    } rows[] = {
        {"groups=4",
         {0, 7, 300, 513},
         4,
         "entry 3, where a group ends, is 513, and M is 512"},
        {"groups=4", {-1, 7, 300, 512}, 4, "entry 0, where a group ends, is -1, and M is"},
        {"groups=4", {8, 7, 300, 512}, 4, "entry 1 is 7, and the one before is 8"},
        {"groups=4", {0, 7, 300, 512}, 3, "3 numbers are given, and there are 4 groups"},
        {"groups=4", {0, 7, 300, 512}, 0, "0 numbers are given, and there are 4 groups"},
        {"groups=4 group_by=counts",
         {8, 7, 600, 512},
         4,
         "entry 2, how many rows a group has, is 600, and M is 512"},
        {"groups=4 group_by=pointers", {8, 7, 0, -5}, 4, "entry 3, how many rows a group"},
        {"groups=4 group_by=k_offsets layout=tn", {0, 7, 64, 129}, 4, "and K is 128"},
        {"groups=4 group_by=k_offsets layout=tn", {0, 64, 7, 128}, 4, "entry 2 is 7, and"},
        {"groups=4 group_by=rows", {0, 7, 300, 512}, 4, "with group_by=rows the kernel"},
        {"groups=4 group_by=pointers workspace=64m config=group_maps=1",
         {0, 7, 300, 512},
         4,
         "a kernel before the product's reads the numbers on the device"},
        {"groups=1000", {0, 7, 300, 512}, 4, "room for 736 numbers beside 0 operands, and"},
        {"", {0, 7, 300, 512}, 4, "numbers are given, but this problem has no groups"},
    };
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "m=512 n=256 k=128 a=bf16 %s", rows[i].text);
        jit_gemm *gemm = create(&fixture, text);
        const long launches = fixture.fake->launches;
        jit_gemm_args args = right_args();
        args.group_sizes = rows[i].text[0] != 0 ? UINT64_C(4) << 32 : 0;
        args.host_group_sizes = rows[i].numbers;
        args.host_group_count = rows[i].count;
        cr_expect_neq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", text);
        cr_expect(api_error_has("args.host_group_") && api_error_has(rows[i].message),
                  "%s: %s", text, jit_gemm_last_error());
        args.host_group_sizes = NULL;
        args.host_group_count = 5;
        cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT, "%s", text);
        cr_expect(api_error_has("args.host_group_sizes: is NULL, and 5 numbers"), "%s: %s",
                  text, jit_gemm_last_error());
        cr_expect_eq(fixture.fake->launches, launches);
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

/* K-major, with scales of the tensor core, a group ends where copies may begin. */
Test(host_groups, groups_along_k_end_at_steps)
{
    struct api_fixture fixture;
    open_blackwell(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=256 k=1008 a=mxfp8 d=bf16 groups=4 "
                                      "group_by=k_offsets config=swap_ab=0");
    jit_gemm_args args = right_args();
    args.a_scale.pointer = UINT64_C(5) << 32;
    args.b_scale.pointer = UINT64_C(6) << 32;
    const int32_t right[GROUPS] = {0, 32, 512, 1008};
    const int32_t wrong[GROUPS] = {0, 32, 516, 1008};

    args.host_group_sizes = right;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    args.host_group_sizes = wrong;
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("entry 2 is 516, and groups of these types and layouts end at "
                            "multiples of 32"),
              "%s", jit_gemm_last_error());

    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* They lie behind the maps of operands; the address on the device counts for nothing. */
Test(host_groups, numbers_go_with_the_launch)
{
    static const jit_gemm_operand operands[] = {
        {"r", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_BF16, 0, 0}};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "with_matrix",
                                        .source = "d = acc + r;",
                                        .operand_count = 1,
                                        .operands = operands};
    static const char *const texts[] = {
        "m=512 n=256 k=128 a=bf16 groups=4",
        "m=512 n=256 k=128 a=bf16 groups=4 epilogue=with_matrix",
        "m=512 n=256 k=512 a=bf16 groups=4 group_by=k_offsets layout=tn"};
    static const struct {
        uint32_t operands, tail_maps;
    } rows[] = {{0, 0}, {1, 0}, {0, JG_TAIL_MAPS}};
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        jit_gemm *gemm = create(&fixture, texts[i]);
        const jit_gemm_arg matrix = {.pointer = UINT64_C(5) << 32};
        jit_gemm_info info = {.struct_size = sizeof(info)};
        jit_gemm_args args = right_args();
        args.group_sizes = UINT64_C(4) << 32;
        args.operands = &matrix;
        args.operand_count = rows[i].operands;
        cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);
        cr_expect_eq(info.host_groups, GROUPS);
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s: %s", texts[i],
                     jit_gemm_last_error());
        struct jg_kernel_params *params = &fixture.fake->last_launch.params;
        cr_expect_eq(params->group_sizes, JG_NUMBERS_IN_PARAMS);
        const int32_t *numbers =
            jg_kernel_params_numbers(params, rows[i].operands, rows[i].tail_maps);
        cr_expect_arr_eq(numbers, ends, sizeof(ends), "%s", texts[i]);
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

/* On sm_100a a cluster for each tile of 128x256 that the groups have, where the device's
 * numbers would take a cluster more of each group than M has; on sm_90a no more than run at
 * once. */
Test(host_groups, grid_has_what_the_groups_take)
{
    static const struct {
        const char *words;
        int32_t numbers[GROUPS];
        unsigned int ctas, bound; /* with numbers of the host's, and of the device's */
    } rows[] = {
        {"groups=4", {0, 7, 300, 512}, 40 * (0 + 1 + 3 + 2), 40 * (4 + 4)},
        {"groups=4", {512, 512, 512, 512}, 40 * 4, 40 * (4 + 4)},
        {"groups=4", {0, 0, 0, 0}, 0, 40 * (4 + 4)},
        {"groups=4 group_rest=zero", {0, 0, 0, 0}, 40 * 4, 40 * (4 + 5)},
        {"groups=4 group_rest=zero", {0, 7, 300, 400}, 40 * 6, 40 * (4 + 5)},
        {"groups=4 group_by=counts", {0, 7, 300, 512}, 40 * 8, 40 * 16},
        {"groups=4 group_by=counts group_rest=zero", {0, 7, 300, 512}, 40 * 18, 40 * 20},
        {"groups=4 group_by=k_offsets layout=tn", {0, 7, 7, 128}, 40 * 16, 40 * 16},
    };
    struct api_fixture fixture;
    open_blackwell(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[160];
        snprintf(text, sizeof(text),
                 "m=512 n=10240 k=128 a=bf16 %s config=mma=128x256 cluster=1x1 "
                 "scheduler=clc swap_ab=0",
                 rows[i].words);
        jit_gemm *gemm = create(&fixture, text);
        const long launches = fixture.fake->launches;
        jit_gemm_args args = right_args();
        args.host_group_sizes = rows[i].numbers;
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s: %s", text,
                     jit_gemm_last_error());
        cr_expect_eq(fixture.fake->launches - launches, rows[i].ctas > 0 ? 1 : 0);
        if (rows[i].ctas > 0) {
            cr_expect_eq(fixture.fake->last_launch.grid, rows[i].ctas, "%s: %u", text,
                         fixture.fake->last_launch.grid);
        }
        args.host_group_sizes = NULL;
        args.host_group_count = 0;
        args.group_sizes = UINT64_C(4) << 32;
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        cr_expect_eq(fixture.fake->last_launch.grid, rows[i].bound, "%s: %u", text,
                     fixture.fake->last_launch.grid);
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

/* Of sm_90a the second of two tiles of a cluster may have none of a group's rows: then the
 * cluster has two tiles of columns. */
Test(host_groups, clusters_across_rows_count_half)
{
    static const struct {
        int32_t numbers[GROUPS];
        unsigned int clusters;
    } rows[] = {{{0, 0, 0, 128}, 20},
                {{0, 0, 0, 129}, 40},
                {{0, 0, 100, 200}, 40},
                {{0, 0, 0, 300}, 60},
                {{512, 512, 512, 512}, 66}};
    struct api_fixture fixture;
    api_fixture_driver();
    api_fixture_open(&fixture);
    jit_gemm *gemm = create(&fixture, "m=512 n=10240 k=128 a=bf16 groups=4 "
                                      "config=tile=128x256 cluster=2x1 swap_ab=0");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_args args = right_args();
        args.host_group_sizes = rows[i].numbers;
        cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        cr_expect_eq(fixture.fake->last_launch.grid, 2 * rows[i].clusters, "%zu: %u", i,
                     fixture.fake->last_launch.grid);
    }
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}
