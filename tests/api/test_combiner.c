/* SPDX-License-Identifier: MIT */
/* Handles that add up rows, without a GPU: where their kernels come from, what a run gives
 * the driver, and what it refuses before. */
#include <criterion/criterion.h>
#include <string.h>

#include "api_fixture.h"
#include "jit_gemm/combine.h"

static jit_gemm_combiner *create(struct api_fixture *fixture)
{
    jit_gemm_combiner *combiner = NULL;
    cr_assert_eq(jit_gemm_combiner_create(fixture->context, JIT_GEMM_DTYPE_BF16,
                                          JIT_GEMM_DTYPE_F32, 2, &combiner),
                 JIT_GEMM_OK, "%s", jit_gemm_last_error());
    return combiner;
}

static const jit_gemm_combiner_args good_args = {.struct_size = sizeof(good_args),
                                                 .tokens = 50,
                                                 .columns = 64,
                                                 .rows = 0x100000,
                                                 .row_count = 100,
                                                 .index = 0x200000,
                                                 .weights = 0x210000,
                                                 .d = 0x300000};

Test(combiner, kernel_is_compiled_once_and_named_by_the_manifest)
{
    static const char manifest[] = "jit_gemm manifest 1\n"
                                   "combine rows=bf16 d=f32 chosen=2\n";
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    cr_assert_eq(
        jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), NULL, &result),
        JIT_GEMM_OK, "%s", jit_gemm_last_error());
    cr_expect_eq(result.compiled, 1);

    jit_gemm_combiner *first = create(&fixture), *second = create(&fixture);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    cr_expect_eq(jit_gemm_combiner_get_info(first, &info), JIT_GEMM_OK);
    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(info.launches, 1);
    cr_expect_eq(info.threads, 256);
    cr_expect_str_eq(info.entry, "jit_gemm_combine_2_bf16_f32");
    cr_expect_eq(jit_gemm_combiner_get_info(second, &info), JIT_GEMM_OK);
    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_MEMORY);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    jit_gemm_combiner_destroy(&first);
    jit_gemm_combiner_destroy(&second);
    cr_expect_null(first);
    jit_gemm_combiner_destroy(&first);
    api_fixture_close(&fixture);
}

Test(combiner, wrong_lines_of_a_manifest_are_refused_by_line)
{
    static const char *const rows[][2] = {
        {"combine rows=bf16 d=bf16", "says not which types rows and D have"},
        {"combine rows=e4m3 d=bf16 chosen=2", "says not which types rows and D have"},
        {"combine rows=bf16 d=bf16 chosen=65", "'chosen=65' is nothing of a combine"},
        {"combine rows=bf16 d=bf16 chosen=2 to=row", "'to=row' is nothing of a combine"},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128] = "jit_gemm manifest 1\n";
        strcat(text, rows[i][0]);
        cr_expect_eq(jit_gemm_prewarm(fixture.context, text, strlen(text), NULL, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i][0]);
        cr_expect(api_error_has("manifest line 2: combine: "), "%s", jit_gemm_last_error());
        cr_expect(api_error_has(rows[i][1]), "%s", jit_gemm_last_error());
    }
    api_fixture_close(&fixture);
}

Test(combiner, what_no_kernel_adds_up_is_refused)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_combiner *combiner = NULL;
    cr_expect_eq(jit_gemm_combiner_create(fixture.context, JIT_GEMM_DTYPE_E4M3,
                                          JIT_GEMM_DTYPE_BF16, 2, &combiner),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("rows: there is no kernel that adds up rows of type"));
    cr_expect_eq(jit_gemm_combiner_create(fixture.context, JIT_GEMM_DTYPE_BF16,
                                          JIT_GEMM_DTYPE_S32, 2, &combiner),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("d: there is no kernel"));
    for (uint32_t chosen = 0; chosen <= 65; chosen += 65) {
        cr_expect_eq(jit_gemm_combiner_create(fixture.context, JIT_GEMM_DTYPE_BF16,
                                              JIT_GEMM_DTYPE_BF16, chosen, &combiner),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has("chosen: must be 1 to 64"), "%s", jit_gemm_last_error());
    }
    cr_expect_null(combiner);
    api_fixture_close(&fixture);
}

static void expect_refused(const jit_gemm_combiner *combiner,
                           const jit_gemm_combiner_args *args, const char *error)
{
    cr_expect_eq(jit_gemm_combiner_run(combiner, args, NULL), JIT_GEMM_ERR_ARGUMENT, "%s",
                 error);
    cr_expect(api_error_has(error), "%s", jit_gemm_last_error());
}

Test(combiner, wrong_arguments_are_told_before_any_work)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_combiner *combiner = create(&fixture);
    jit_gemm_combiner_args args = good_args;
#define EXPECT_REFUSED(change, error)           \
    do {                                        \
        args = good_args;                       \
        change;                                 \
        expect_refused(combiner, &args, error); \
    } while (0)
    EXPECT_REFUSED(args.tokens = 0, "args.tokens: must be 1 to 2147483647, is 0");
    EXPECT_REFUSED(args.columns = -1, "args.columns: must be 1 to 2147483647, is -1");
    EXPECT_REFUSED(args.row_count = INT64_C(1) << 31, "args.row_count: must be 1 to");
    EXPECT_REFUSED(args.rows = 0, "args.rows: is NULL");
    EXPECT_REFUSED(args.rows += 1, "args.rows: 0x100001 is no multiple of 2 bytes");
    EXPECT_REFUSED(args.d += 2, "args.d: 0x300002 is no multiple of 4 bytes");
    EXPECT_REFUSED(args.index += 2, "args.index: 0x200002 is no multiple of 4 bytes");
    EXPECT_REFUSED(args.rows_ld = 63, "args.rows_ld: must be at least 64, is 63");
    EXPECT_REFUSED(args.d_ld = INT64_MAX / 8, "args.d_ld: 50 rows reach beyond the end");
    EXPECT_REFUSED(args.d = args.rows + 128, "args.d: its bytes from 0x100080 on overlap "
                                             "with those of args.rows at 0x100000");
    EXPECT_REFUSED(args.d = args.weights - 4, "overlap with those of args.weights");
    EXPECT_REFUSED(args.c = args.d + 4, "overlap with those of args.c");
    EXPECT_REFUSED(args.struct_size = 0, "args.struct_size");
#undef EXPECT_REFUSED
    cr_expect_eq(atomic_load(&fixture.fake->launches), 0);
    args = good_args;
    args.c = args.d; /* which D may be */
    args.index = args.weights = 0;
    cr_expect_eq(jit_gemm_combiner_run(combiner, &args, NULL), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(atomic_load(&fixture.fake->launches), 1);
    jit_gemm_combiner_destroy(&combiner);
    api_fixture_close(&fixture);
}
