/* SPDX-License-Identifier: MIT */
/* Structs that the library fills for callers who were compiled with older headers, whose
 * struct ends earlier: nothing is written beyond. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "api_fixture.h"
#include "jit_gemm/device.h"
#include "jit_gemm/family.h"
#include "jit_gemm/named_epilogues.h"

enum { GUARD = 0xa5, GUARD_BYTES = 256, MOST_BYTES = 16384 };

/* Fills a struct of so many bytes, which say so themselves. */
typedef jit_gemm_status (*fill_fn)(void *of, size_t size, void *ret_struct);

static jit_gemm_status fill_problem(void *of, size_t size, void *ret_struct)
{
    return jit_gemm_problem_parse_sized(of, size, ret_struct);
}
static jit_gemm_status fill_range(void *of, size_t size, void *ret_struct)
{
    return jit_gemm_range_parse_sized(of, size, ret_struct);
}
static jit_gemm_status fill_stats(void *of, size_t size, void *ret_struct)
{
    (void)size;
    return jit_gemm_context_stats(of, ret_struct);
}
static jit_gemm_status fill_device(void *of, size_t size, void *ret_struct)
{
    (void)size;
    return jit_gemm_device_get_info(of, ret_struct);
}
static jit_gemm_status fill_info(void *of, size_t size, void *ret_struct)
{
    (void)size;
    return jit_gemm_get_info(of, ret_struct);
}
static jit_gemm_status fill_named(void *of, size_t size, void *ret_struct)
{
    (void)size;
    return jit_gemm_epilogue_named(*(uint32_t *)of, JIT_GEMM_DTYPE_BF16, ret_struct);
}
static jit_gemm_status fill_diagnostic(void *of, size_t size, void *ret_struct)
{
    (void)size;
    return jit_gemm_diagnostics_get(of, 0, ret_struct);
}

/* Of every size from `least` to `whole` bytes, in steps of a field, and a longer one. */
static void expect_sizes(const char *name, fill_fn fill, void *of, size_t least,
                         size_t whole)
{
    static unsigned char full[MOST_BYTES], given[MOST_BYTES];
    cr_assert_leq(whole + GUARD_BYTES + GUARD_BYTES, sizeof(given));
    memset(full, 0, sizeof(full));
    memcpy(full, &whole, sizeof(whole));
    cr_assert_eq(fill(of, whole, full), JIT_GEMM_OK, "%s: %s", name, jit_gemm_last_error());

    for (size_t size = least; size <= whole + GUARD_BYTES; size += sizeof(size)) {
        memset(given, 0, size);
        memset(given + size, GUARD, GUARD_BYTES);
        memcpy(given, &size, sizeof(size));
        memcpy(full, &size, sizeof(size));
        cr_assert_eq(fill(of, size, given), JIT_GEMM_OK, "%s of %zu bytes: %s", name, size,
                     jit_gemm_last_error());
        cr_expect_arr_eq(given, full, size, "%s of %zu bytes", name, size);
        for (size_t i = size; i < size + GUARD_BYTES; i++) {
            cr_assert_eq(given[i], GUARD, "%s of %zu bytes: byte %zu is written", name,
                         size, i);
        }
    }
}

Test(struct_sizes, nothing_is_written_beyond_an_older_callers_struct)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_problem problem = api_problem("256x256x64 bf16");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);
    const jit_gemm_problem wrong = api_problem("256x256x64 bf16 config=tile=1x1");
    jit_gemm_diagnostics *diagnostics = NULL;
    cr_assert_neq(jit_gemm_check(fixture.context, &wrong), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_diagnostics_take(&diagnostics), JIT_GEMM_OK);
    char text[] = "m=256 n=256 k=64 a=bf16 config=raster=m", range[] = "m=1..512";
    uint32_t index = 0;

    expect_sizes("problem", fill_problem, text, offsetof(jit_gemm_problem, workspace_limit),
                 sizeof(jit_gemm_problem));
    expect_sizes("range", fill_range, range, offsetof(jit_gemm_range, loss),
                 sizeof(jit_gemm_range));
    expect_sizes("stats", fill_stats, fixture.context, sizeof(size_t),
                 sizeof(jit_gemm_stats));
    expect_sizes("device", fill_device, fixture.context, sizeof(size_t),
                 sizeof(jit_gemm_device_info));
    expect_sizes("info", fill_info, gemm, sizeof(size_t), sizeof(jit_gemm_info));
    expect_sizes("named", fill_named, &index, sizeof(size_t),
                 sizeof(jit_gemm_named_epilogue));
    expect_sizes("diagnostic", fill_diagnostic, diagnostics, sizeof(size_t),
                 sizeof(jit_gemm_diagnostic));

    jit_gemm_diagnostics_destroy(&diagnostics);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* Half of a pointer would be an address of nothing. */
Test(struct_sizes, a_size_that_ends_within_a_field_is_refused)
{
    jit_gemm_context *context = NULL;
    jit_gemm_stats stats = {0};
    jit_gemm_context_options options = {.arch = "sm_90a", .no_device = 1};
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    for (size_t cut = 1; cut < sizeof(options.arch); cut++) {
        options.struct_size = offsetof(jit_gemm_context_options, arch) + cut;
        stats.struct_size = sizeof(stats) - cut;

        cr_expect_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has("options.struct_size: is "), "%s", jit_gemm_last_error());
        cr_expect_eq(jit_gemm_context_stats(fixture.context, &stats),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect(api_error_has("ret_stats.struct_size: is "), "%s", jit_gemm_last_error());
    }
    cr_expect_null(context);
    api_fixture_close(&fixture);
}

Test(struct_sizes, text_for_a_field_that_the_caller_lacks_is_refused)
{
    jit_gemm_problem problem, before;
    memset(&problem, GUARD, sizeof(problem));
    before = problem;
    const char *text = "m=64 n=64 k=64 a=bf16 groups=8 typical_sizes=8x8";
    const size_t older = offsetof(jit_gemm_problem, typical_sizes);

    cr_expect_eq(jit_gemm_problem_parse_sized(text, older, &problem), JIT_GEMM_ERR_VERSION);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "a field past its end"));
    cr_expect_arr_eq(&problem, &before, sizeof(problem));
    for (size_t size = 0; size <= sizeof(size_t) - 1; size += sizeof(size_t) - 1) {
        cr_expect_eq(jit_gemm_problem_parse_sized(text, size, &problem),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect_eq(jit_gemm_range_parse_sized("m=1..8", size, (jit_gemm_range *)&problem),
                     JIT_GEMM_ERR_ARGUMENT);
        cr_expect_arr_eq(&problem, &before, sizeof(problem));
    }
}

Test(struct_sizes, text_read_by_an_older_caller_is_a_problem_that_can_be_planned)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    jit_gemm_problem problem;
    memset(&problem, GUARD, sizeof(problem));

    cr_assert_eq(jit_gemm_problem_parse_sized("256x256x64 bf16",
                                              offsetof(jit_gemm_problem, pair), &problem),
                 JIT_GEMM_OK);

    cr_expect_eq(problem.struct_size, offsetof(jit_gemm_problem, pair));
    cr_expect_eq(jit_gemm_check(fixture.context, &problem), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    api_fixture_close(&fixture);
}

Test(struct_sizes, functions_that_are_found_by_name_fill_the_struct_of_the_first_version)
{
    struct {
        jit_gemm_problem problem;
        unsigned char guard[GUARD_BYTES];
    } read;
    jit_gemm_range range;
    jit_gemm_problem expected;
    memset(&read, GUARD, sizeof(read));
    memset(&range, GUARD, sizeof(range));

    cr_assert_eq((jit_gemm_problem_parse)("256x256x64 bf16", &read.problem), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_problem_parse("256x256x64 bf16", &expected), JIT_GEMM_OK);
    cr_assert_eq((jit_gemm_range_parse)("m=1..512", &range), JIT_GEMM_OK);

    cr_expect_arr_eq(&read.problem, &expected, sizeof(expected));
    cr_expect_eq(read.guard[0], GUARD);
    cr_expect_eq(range.struct_size, sizeof(range));
    cr_expect_eq(range.last, 512);
}
