/* SPDX-License-Identifier: MIT */
/* Makes every allocation of a path fail, one after the other. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"
#include "base/alloc.h"

#define WALK_LIMIT 5000

Test(alloc_walk, create_survives_every_failing_allocation)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.no_cache = 1;
    options.log_level = JIT_GEMM_SEVERITY_ERROR;
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_operand operand = {
        .name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "biased",
                                        .source = "d = acc + bias;",
                                        .operands = &operand,
                                        .operand_count = 1};
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16 epilogue=biased");
    jit_gemm *gemm = NULL;
    long failures = 0;
    for (long number = 1; gemm == NULL && number < WALK_LIMIT; number++) {
        jg_alloc_fail_at(number, 0);
        const jit_gemm_status status = jit_gemm_create(fixture.context, &problem, &gemm);
        jg_alloc_fail_at(0, 0);
        if (status == JIT_GEMM_OK) {
            break;
        }
        failures++;
        cr_assert_eq(status, JIT_GEMM_ERR_NO_MEMORY, "allocation %ld: %d, %s", number,
                     (int)status, jit_gemm_last_error());
        cr_assert_null(gemm);
        cr_assert_eq(atomic_load(&fixture.fake->loads),
                     atomic_load(&fixture.fake->unloads));
    }
    cr_expect_gt(failures, 10);
    cr_assert_not_null(gemm);
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = 0x10000},
                                .b = {.pointer = 0x20000},
                                .d = {.pointer = 0x30000},
                                .operands = &(jit_gemm_arg){.pointer = 0x40000},
                                .operand_count = 1};
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(alloc_walk, context_survives_every_failing_allocation)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    const char *const roots[] = {"/none", fixture.folder};
    options.cache_roots = roots;
    options.cache_root_count = 2;
    static const uint8_t keys[64] = {1};
    options.cache_keys = keys;
    options.cache_key_count = 2;
    jit_gemm_context *context = NULL;
    for (long number = 1; context == NULL && number < WALK_LIMIT; number++) {
        jg_alloc_fail_at(number, 0);
        const jit_gemm_status status = jit_gemm_context_create(&options, &context);
        jg_alloc_fail_at(0, 0);
        if (status != JIT_GEMM_OK) {
            cr_assert_eq(status, JIT_GEMM_ERR_NO_MEMORY, "allocation %ld: %d, %s", number,
                         (int)status, jit_gemm_last_error());
            cr_assert_null(context);
        }
    }
    cr_assert_not_null(context);
    jit_gemm_context_destroy(&context);
    cr_expect_eq(atomic_load(&fixture.fake->retains), atomic_load(&fixture.fake->releases));
    api_fixture_close(&fixture);
}

Test(alloc_walk, prewarm_survives_every_failing_allocation)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    static const char text[] = "jit_gemm manifest 1\n"
                               "epilogue e\n"
                               "operand s scalar f32\n"
                               "source 12 1 e.epi\n"
                               "d = acc * s;\n"
                               "end\n"
                               "problem 512x512x512 bf16 epilogue=e\n";
    char bundle[96];
    snprintf(bundle, sizeof(bundle), "%s/e.jgb", fixture.folder);
    const jit_gemm_prewarm_options options = {
        .struct_size = sizeof(options), .jobs = 1, .bundle = bundle};
    jit_gemm_status status = JIT_GEMM_ERR_NO_MEMORY;
    long number = 0;
    while (status != JIT_GEMM_OK && number++ < WALK_LIMIT) {
        jg_alloc_fail_at(number, 0);
        status = jit_gemm_prewarm(fixture.context, text, sizeof(text) - 1, &options, NULL);
        jg_alloc_fail_at(0, 0);
        if (status != JIT_GEMM_OK) {
            cr_expect(status == JIT_GEMM_ERR_NO_MEMORY || status == JIT_GEMM_ERR_IO,
                      "allocation %ld: %d, %s", number, (int)status, jit_gemm_last_error());
        }
    }
    cr_expect_eq(status, JIT_GEMM_OK);
    cr_expect_gt(number, 10);

    status = JIT_GEMM_ERR_NO_MEMORY;
    number = 0;
    while (status != JIT_GEMM_OK && number++ < WALK_LIMIT) {
        jg_alloc_fail_at(number, 0);
        status = jit_gemm_context_add_cache_root(fixture.context, bundle);
        jg_alloc_fail_at(0, 0);
        cr_expect(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY,
                  "allocation %ld: %d, %s", number, (int)status, jit_gemm_last_error());
    }
    cr_expect_eq(status, JIT_GEMM_OK);
    cr_expect_eq(number, 3, "the path and the list fail, and then nothing");
    api_fixture_close(&fixture);
}
