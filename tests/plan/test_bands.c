/* SPDX-License-Identifier: MIT */
/* Bands: they cover the range, keep to the loss, and no kernel of them is one too many. And
 * the text of ranges. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "plan/bands.h"
#include "plan_fixture.h"
#include "strides.h"

/* A problem with its range, on a chip. */
struct sweep {
    const struct jg_arch *arch;
    struct jg_problem problem;
    struct jg_range range;
    struct jg_bands bands;
};

static struct sweep sweep_of(const char *chip, const char *problem, const char *range)
{
    struct sweep sweep = {.arch = jg_arch_find(chip), .problem = plan_problem(problem)};
    jit_gemm_range parsed;
    cr_assert_eq(jg_range_parse(range, &parsed), JIT_GEMM_OK, "%s", jg_error_text());
    cr_assert_eq(jg_range_check(&parsed, &sweep.problem, &sweep.range), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_assert_eq(jg_bands_make(sweep.arch, &sweep.problem, &sweep.arch->default_facts,
                               &sweep.range, &sweep.bands),
                 JIT_GEMM_OK, "%s", jg_error_text());
    return sweep;
}

/* Microseconds of a kernel at a size; of the best config where it is SIZE_MAX. */
static double us_at(const struct sweep *sweep, size_t kernel, int64_t size)
{
    struct jg_problem problem = sweep->problem;
    jg_range_dim(&sweep->range, &problem)->size = size;
    if (kernel == SIZE_MAX) {
        struct jg_choice choice;
        cr_assert_eq(jg_config_choose(sweep->arch, &problem, &sweep->arch->default_facts,
                                      &choice, NULL),
                     JIT_GEMM_OK);
        return choice.derived.predicted_us;
    }
    struct jg_config_override config;
    cr_assert_eq(jg_config_parse(sweep->bands.kernels[kernel].text, &config), JIT_GEMM_OK);
    return jg_config_predict(sweep->arch, &problem, &sweep->arch->default_facts, &config);
}

/* Of each kernel beside the least of all: another size's config may be better than the one
 * that is chosen. */
static void find_losses(const struct sweep *sweep, int64_t size, double *losses)
{
    double best = us_at(sweep, SIZE_MAX, size);
    for (size_t i = 0; i < sweep->bands.kernel_count; i++) {
        losses[i] = us_at(sweep, i, size);
        best = fmin(best, losses[i]);
    }
    for (size_t i = 0; i < sweep->bands.kernel_count; i++) {
        losses[i] = losses[i] / best - 1.0;
    }
}

static double *make_losses(const struct sweep *sweep)
{
    double *losses = calloc(sweep->bands.kernel_count, sizeof(double));
    cr_assert_not_null(losses);
    return losses;
}

/* A band's losses are those of the best order of tiles of each size; a kernel has the order
 * of its greatest size. */
#define ORDER_LOSS 0.002

/* They follow each other, and each size that steps of 16 begin or end with is within the
 * loss that its band tells, which is within the range's. */
static void expect_cover(const struct sweep *sweep)
{
    const struct jg_bands *bands = &sweep->bands;
    double *losses = make_losses(sweep);
    int64_t next = sweep->range.first;
    for (size_t i = 0; i < bands->band_count; i++) {
        const struct jg_band *band = &bands->bands[i];
        cr_expect_eq(band->first, next);
        cr_expect_geq(band->last, band->first);
        cr_expect_lt(band->kernel, bands->kernel_count);
        cr_expect(i == 0 || band->kernel != band[-1].kernel);
        cr_expect_leq(band->loss, sweep->range.loss + 1e-6);
        cr_expect_leq(band->last, bands->kernels[band->kernel].planned);
        find_losses(sweep, band->loss_size, losses);
        cr_expect_leq(losses[band->kernel], band->loss + ORDER_LOSS, "%s: size %lld",
                      sweep->arch->name, (long long)band->loss_size);
        const int64_t step = band->last > 1024 ? 128 : 16;
        for (int64_t size = band->first; size <= band->last;
             size = (size / step + 1) * step + 1) {
            find_losses(sweep, size, losses);
            cr_expect_leq(losses[band->kernel], band->loss + ORDER_LOSS, "%s: size %lld",
                          sweep->arch->name, (long long)size);
        }
        next = band->last + 1;
    }
    cr_expect_eq(next, sweep->range.last + 1);
    free(losses);
}

/* What no other kernel serves within the loss at this size is needed. */
static void note_needed(const struct sweep *sweep, int64_t size, double *losses,
                        bool *needed)
{
    const size_t count = sweep->bands.kernel_count;
    size_t served = 0;
    find_losses(sweep, size, losses);
    for (size_t i = 0; i < count; i++) {
        served += losses[i] <= sweep->range.loss - ORDER_LOSS;
    }
    for (size_t i = 0; i < count; i++) {
        const bool serves = losses[i] <= sweep->range.loss - ORDER_LOSS;
        needed[i] |= served == (serves ? 1 : 0);
    }
}

/* Without any of the kernels some size has none within the loss. */
static void expect_needed(const struct sweep *sweep)
{
    const struct jg_bands *bands = &sweep->bands;
    double *losses = make_losses(sweep);
    bool *needed = calloc(bands->kernel_count, sizeof(bool));
    cr_assert_not_null(needed);
    for (size_t i = 0; i < bands->band_count; i++) {
        const struct jg_band *band = &bands->bands[i];
        /* A step of 16 begins and ends with a size. */
        for (int64_t size = band->first; size <= band->last;
             size += size % 16 == 0 ? 1 : 16 - size % 16) {
            note_needed(sweep, size, losses, needed);
        }
        note_needed(sweep, band->last, losses, needed);
    }
    for (size_t i = 0; i < bands->kernel_count; i++) {
        cr_expect(needed[i], "%s: kernel %zu of %zu is one too many: %s", sweep->arch->name,
                  i, bands->kernel_count, bands->kernels[i].text);
    }
    free(losses);
    free(needed);
}

static const char *const chips[] = {"sm_90a", "sm_100a"};

Test(bands, cover_the_range_within_the_loss_and_no_kernel_is_too_many)
{
    static const struct {
        const char *problem, *range;
    } cases[] = {
        {"n=4096 k=4096 a=bf16 dynamic=m", "m=1..200"},
        {"n=8192 k=512 a=e4m3 d=bf16 dynamic=m", "m=17..700 loss=12.5%"},
        {"m=256 n=512 a=f16 dynamic=k workspace=64m", "k=64..4096 loss=2%"},
        {"m=64 n=256 k=512 a=bf16 dynamic=batch,m", "batch=1..150"},
    };
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]);
         i += (size_t)test_stride(3)) {
        struct sweep sweep =
            sweep_of(chips[i % 2], cases[i / 2].problem, cases[i / 2].range);
        expect_cover(&sweep);
        expect_needed(&sweep);
        jg_bands_free(&sweep.bands);
    }
}

Test(bands, a_greater_loss_needs_fewer_kernels)
{
    static const char *const ranges[] = {"m=1..512 loss=0%", "m=1..512 loss=20%",
                                         "m=1..512 loss=1000%"};
    for (int chip = 0; chip < 2; chip += test_stride(2)) {
        size_t before = SIZE_MAX;
        for (int i = 0; i < 3; i++) {
            struct sweep sweep =
                sweep_of(chips[chip], "n=4096 k=4096 a=bf16 dynamic=m", ranges[i]);
            cr_expect_lt(sweep.bands.kernel_count, before);
            before = sweep.bands.kernel_count;
            jg_bands_free(&sweep.bands);
        }
        cr_expect_eq(before, 1);
    }
}

Test(bands, of_one_size_are_what_is_chosen_for_it)
{
    struct sweep sweep = sweep_of("sm_90a", "n=512 k=4096 a=bf16 dynamic=m", "m=256..256");
    const struct jg_choice choice =
        plan_choose(sweep.arch, "m=256 n=512 k=4096 a=bf16 dynamic=m");
    struct jg_str text = {0};
    jg_config_print(&choice.config, sweep.arch->config_keys, &text);
    cr_assert_eq(sweep.bands.band_count, 1);
    cr_expect_eq(sweep.bands.bands[0].loss, 0.0);
    cr_expect_str_eq(sweep.bands.kernels[0].text, jg_str_text(&text));
    jg_str_free(&text);
    jg_bands_free(&sweep.bands);
}

Test(bands, of_all_sizes_that_there_are_look_at_few_and_end_in_one)
{
    struct sweep some =
        sweep_of("sm_90a", "n=512 k=512 a=bf16 dynamic=m", "m=1..131072 loss=5%");
    struct sweep all =
        sweep_of("sm_90a", "n=512 k=512 a=bf16 dynamic=m", "m=1..2147483647 loss=5%");

    cr_expect_leq(all.bands.size_count, 1300, "%zu", all.bands.size_count);
    cr_expect_geq(all.bands.size_count, some.bands.size_count + 14 * 8);
    cr_expect_eq(all.bands.band_count, some.bands.band_count);
    cr_expect_leq(all.bands.bands[all.bands.band_count - 1].first, 131072);
    jg_bands_free(&some.bands);
    jg_bands_free(&all.bands);
}

Test(bands, keep_what_the_config_names)
{
    struct sweep sweep = sweep_of(
        "sm_100a",
        "n=4096 k=4096 a=bf16 dynamic=m config=mma=256x128 raster=n raster_group=2",
        "m=1..8192");
    for (size_t i = 0; i < sweep.bands.kernel_count; i++) {
        const char *text = sweep.bands.kernels[i].text;
        cr_expect_not_null(strstr(text, "mma=256x128 "), "%s", text);
        cr_expect_not_null(strstr(text, "raster=n raster_group=2 "), "%s", text);
    }
    jg_bands_free(&sweep.bands);
    sweep = sweep_of("sm_90a", "n=64 k=64 a=bf16 dynamic=m config=kernel=reference",
                     "m=1..8192");
    cr_expect_eq(sweep.bands.kernel_count, 1);
    cr_expect_eq(sweep.bands.bands[0].loss, 0.0);
    jg_bands_free(&sweep.bands);
}

Test(bands, give_back_all_memory_when_an_allocation_fails)
{
    const struct jg_arch *arch = jg_arch_find("sm_90a");
    const struct jg_problem problem = plan_problem("n=512 k=512 a=bf16 dynamic=m");
    const struct jg_range range = {.first = 1, .last = 64, .loss = 0.05};
    long number = 0;
    jit_gemm_status status;
    struct jg_bands bands;
    do {
        jg_alloc_fail_at(++number, false);
        status = jg_bands_make(arch, &problem, &arch->default_facts, &range, &bands);
        jg_alloc_fail_at(0, false);
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY, "%ld: %s",
                  number, jg_error_text());
    } while (status != JIT_GEMM_OK && number < 1000);
    cr_expect_eq(status, JIT_GEMM_OK);
    cr_expect_gt(number, 8);
    jg_bands_free(&bands);
}

/* ----------------------------------------------------------------------- ranges' text */

Test(range, text_is_read_and_printed)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {"m=1..8192", "m=1..8192 loss=5%"},
        {"loss=0% m=7..7", "m=7..7 loss=0%"},
        {"m=1..2147483647 loss=2.5%", "m=1..2147483647 loss=2.5%"},
        {"m=1..2 loss=0.01%", "m=1..2 loss=0.01%"},
        {"m=1..2 loss=12.30%", "m=1..2 loss=12.3%"},
        {"m=1..2 loss=1000%", "m=1..2 loss=1000%"},
    };
    const struct jg_problem problem = plan_problem("n=512 k=512 a=bf16 dynamic=m");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        jit_gemm_range range;
        struct jg_range checked;
        struct jg_str text = {0};
        cr_assert_eq(jg_range_parse(cases[i].text, &range), JIT_GEMM_OK, "%s",
                     jg_error_text());
        cr_assert_eq(jg_range_check(&range, &problem, &checked), JIT_GEMM_OK, "%s",
                     jg_error_text());
        jg_range_print(&checked, &text);
        cr_expect_str_eq(jg_str_text(&text), cases[i].printed);
        jg_str_free(&text);
    }
}

Test(range, wrong_text_is_refused_with_its_column)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "range: no size has a range"},
        {"m=5", "range: 'm' at column 1 is neither a size's range nor a loss"},
        {"m=1..", "range: '1..' at column 3 is no range of sizes"},
        {"m=0..5", "range: '0..5' at column 3 is no range of sizes"},
        {"m=6..5", "range: '6..5' at column 3 is no range of sizes"},
        {"m=1..2147483648", "range: '1..2147483648' at column 3 is no range"},
        {"m=1..5 n=1..5", "range: two dimensions have a range"},
        {"m=1..5 loss=5", "range.loss: '5' at column 13 is none"},
        {"m=1..5 loss=1000.01%", "range.loss: '1000.01%' at column 13 is none"},
        {"m=1..5 loss=1.234%", "range.loss: '1.234%' at column 13 is none"},
        {"m=1..5 loss=.5%", "range.loss: '.5%' at column 13 is none"},
        {"m=1..5 loss=5.%", "range.loss: '5.%' at column 13 is none"},
        {"m=1..5 loss=5% loss=5%", "range.loss: 'loss' is given twice"},
        {"m=1..5 x", "range: 'x' at column 8 is neither"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        jit_gemm_range range = {.last = -7};
        cr_expect_eq(jg_range_parse(cases[i].text, &range), JIT_GEMM_ERR_ARGUMENT);
        cr_expect_not_null(strstr(jg_error_text(), cases[i].error), "%s: %s", cases[i].text,
                           jg_error_text());
        cr_expect_eq(range.last, -7);
    }
}

Test(range, is_taken_out_of_a_problem_in_place)
{
    static const struct {
        const char *text, *left;
        bool has_range;
    } cases[] = {
        {"m=1..8192 n=512 dynamic=m", "m=8192    n=512 dynamic=m", true},
        {"loss=5% k=3..4", "        k=4   ", true},
        {"m=64 n=512 epilogue=e", "m=64 n=512 epilogue=e", false},
        {"64x64x64 bf16 batch=2..3", "64x64x64 bf16 batch=3   ", true},
        {"64x64x64 bf16", "64x64x64 bf16", false},
        {"m=8 config=tile=1..2 loss=5%", "m=8 config=tile=1..2 loss=5%", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        jit_gemm_range range;
        bool has_range = false;
        memcpy(text, cases[i].text, strlen(cases[i].text) + 1);
        cr_assert_eq(jg_range_take(text, &range, &has_range), JIT_GEMM_OK, "%s",
                     jg_error_text());
        cr_expect_str_eq(text, cases[i].left);
        cr_expect_eq(has_range, cases[i].has_range);
    }
    char alone[] = "m=64 n=512 loss=5%";
    jit_gemm_range range;
    bool has_range;
    cr_expect_eq(jg_range_take(alone, &range, &has_range), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(), "no size has a range"));
}

Test(range, fields_are_checked)
{
    static const struct {
        jit_gemm_range range;
        const char *error;
    } cases[] = {
        {{.first = 0, .last = 5}, "range.first: must be 1 or more, is 0"},
        {{.first = 6, .last = 5}, "range.last: must be from range.first, 6, to"},
        {{.first = 1, .last = INT64_C(1) << 31}, "range.last: must be from"},
        {{.first = 1, .last = 5, .loss = -0.5}, "range.loss: must be from 0 to 10"},
        {{.first = 1, .last = 5, .loss = 10.5}, "range.loss: must be from 0 to 10"},
        {{.first = 1, .last = 5, .loss = (double)NAN}, "range.loss: must be from 0 to 10"},
        {{.first = 1, .last = 5, .reserved = 1}, "range.reserved: must be 0, is 1"},
        {{.first = 1, .last = 5, .dimension = (jit_gemm_dimension)9},
         "range.dimension: unknown value 9"},
        {{.first = 1, .last = 5, .dimension = JIT_GEMM_DIMENSION_N},
         "range.dimension: 'n' is compiled into the kernel"},
    };
    const struct jg_problem problem = plan_problem("n=512 k=512 a=bf16 dynamic=m");
    struct jg_range checked;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        jit_gemm_range range = cases[i].range;
        range.struct_size = sizeof(range);
        cr_expect_eq(jg_range_check(&range, &problem, &checked), JIT_GEMM_ERR_ARGUMENT);
        cr_expect_not_null(strstr(jg_error_text(), cases[i].error), "%s", jg_error_text());
    }
    const struct jg_problem two = plan_problem("n=512 a=bf16 dynamic=m,k");
    const jit_gemm_range unnamed = {.struct_size = sizeof(unnamed), .first = 1, .last = 2};
    cr_expect_eq(jg_range_check(&unnamed, &two, &checked), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(), "the problem has 2 dynamic dimensions"));
    cr_expect_eq(jg_range_check(&unnamed, &problem, &checked), JIT_GEMM_OK);
    cr_expect_eq(checked.index, JG_DIM_M);
    cr_expect_float_eq(checked.loss, 0.05, 1e-12);
}
