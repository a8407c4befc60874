/* SPDX-License-Identifier: MIT */
/* Launches with groups along K, as the gradients of weights are, whose numbers are the
 * device's. On the emulator of both chips. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "emulated_fixture.h"
#include "jit_gemm/convert.h"
#include "verify/elements.h"

enum { GROUPS = 4, ROWS = 40, COLUMNS = 24, K = 150, OF_D = ROWS * COLUMNS };

/* A and B as they lie: an element of K after the other. bf16, which holds these values. */
static uint16_t a[K][ROWS], b[K][COLUMNS];
static float c[GROUPS][OF_D], d[GROUPS][OF_D];

/* From -5 to 5, and its bits as bf16. */
static int value(int i)
{
    return i * 37 % 11 - 5;
}
static uint16_t bits_of(int number)
{
    return jit_gemm_bf16_from_float((float)number);
}

struct launch {
    jit_gemm_context *context;
    jit_gemm *gemm;
    jit_gemm_args args;
};

static const float half = 0.5F;

/* K from `used` on has NaN. */
static struct launch open_launch(const char *arch, const char *text, int used)
{
    struct launch launch = {.context = emulated_open(arch, "sms=4,async=latest")};
    const jit_gemm_problem problem = emulated_problem(text);
    const int32_t none[GROUPS] = {0};
    for (int i = 0; i < K * ROWS; i++) {
        a[i / ROWS][i % ROWS] = i / ROWS < used ? bits_of(value(i)) : UINT16_MAX;
    }
    for (int i = 0; i < K * COLUMNS; i++) {
        b[i / COLUMNS][i % COLUMNS] =
            i / COLUMNS < used ? bits_of(value(i * 3 + 1)) : UINT16_MAX;
    }
    for (int i = 0; i < GROUPS * OF_D; i++) {
        c[i / OF_D][i % OF_D] = (float)value(i);
    }
    launch.gemm = emulated_create(launch.context, &problem);
    launch.args =
        (jit_gemm_args){.struct_size = sizeof(launch.args),
                        .k = K,
                        .a = {.pointer = emulated_upload(launch.context, a, sizeof(a))},
                        .b = {.pointer = emulated_upload(launch.context, b, sizeof(b))},
                        .c = {.pointer = emulated_upload(launch.context, c, sizeof(c))},
                        .d = {.pointer = emulated_upload(launch.context, d, sizeof(d))},
                        .beta = &half,
                        .group_sizes = emulated_upload(launch.context, none, sizeof(none))};
    return launch;
}

static void close_launch(struct launch *launch)
{
    emulated_free(launch->context, launch->args.a.pointer);
    emulated_free(launch->context, launch->args.b.pointer);
    emulated_free(launch->context, launch->args.c.pointer);
    emulated_free(launch->context, launch->args.d.pointer);
    emulated_free(launch->context, launch->args.group_sizes);
    jit_gemm_destroy(&launch->gemm);
    jit_gemm_context_destroy(&launch->context);
}

/* D of each group is its part of K multiplied, and half of its C. */
static void expect_sums(const struct launch *launch, const int32_t ends[GROUPS])
{
    emulated_check(
        jit_gemm_device_download(launch->context, d, launch->args.d.pointer, sizeof(d)));
    for (int i = 0; i < GROUPS * OF_D; i++) {
        const int group = i / OF_D, row = i % OF_D / COLUMNS, column = i % COLUMNS;
        double wanted = (double)c[group][i % OF_D] / 2;
        for (int k = group > 0 ? ends[group - 1] : 0; k < ends[group]; k++) {
            wanted += value(k * ROWS + row) * value((k * COLUMNS + column) * 3 + 1);
        }
        const double got = (double)d[group][i % OF_D];
        cr_assert(got >= wanted && got <= wanted, "group %d, row %d, column %d: %g, not %g",
                  group, row, column, got, wanted);
    }
}

static const char text[] = "m=40 n=24 k=150 a=bf16 c=f32 d=f32 layout=tn groups=4 "
                           "group_by=k_offsets dynamic=k";

Test(k_groups, numbers_may_change_from_launch_to_launch)
{
    static const int32_t lists[][GROUPS] = {
        {140, 140, 140, 140}, {0, 0, 0, 0}, {1, 64, 65, 139}, {0, 8, 127, 128}};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text, 140);
        for (size_t j = 0; j < sizeof(lists) / sizeof(lists[0]); j++) {
            emulated_check(jit_gemm_device_fill(launch.context, launch.args.d.pointer, 0xff,
                                                sizeof(d)));
            emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                                  lists[j], sizeof(lists[j])));
            emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
            expect_sums(&launch, lists[j]);
        }
        close_launch(&launch);
    }
}

/* What is below 0 or above K counts as that, and who ends before it begins is empty. Who
 * begins before another one ends has elements in common with it: their sums are apart. */
Test(k_groups, wrong_numbers_lead_nowhere)
{
    static const int32_t given[][GROUPS] = {
        {-7, 20, 20, 2000000000}, {INT32_MAX, INT32_MIN, K + 1, -1}, {90, 30, 100, 8}};
    static const int32_t meant[][GROUPS] = {{0, 20, 20, K}, {K, 0, K, 0}, {90, 30, 100, 8}};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text, K);
        for (size_t j = 0; j < sizeof(given) / sizeof(given[0]); j++) {
            emulated_check(jit_gemm_device_fill(launch.context, launch.args.d.pointer, 0xff,
                                                sizeof(d)));
            emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                                  given[j], sizeof(given[j])));
            emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
            expect_sums(&launch, meant[j]);
        }
        close_launch(&launch);
    }
}

/* Without K the numbers are 0 or wrong, and A and B need no memory. */
Test(k_groups, without_k_all_groups_are_half_of_c)
{
    static const int32_t given[GROUPS] = {0, 5, 5, 9}, meant[GROUPS] = {0};
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text, K);
        jit_gemm_args args = launch.args;
        args.k = JIT_GEMM_SIZE_EMPTY;
        args.a.pointer = args.b.pointer = 0;
        emulated_check(jit_gemm_device_upload(launch.context, launch.args.group_sizes,
                                              given, sizeof(given)));
        emulated_check(jit_gemm_run(launch.gemm, &args, NULL));
        expect_sums(&launch, meant);
        close_launch(&launch);
    }
}

/* A product of integers makes the numbers; nobody waits between the two launches. */
Test(k_groups, kernel_before_may_make_the_numbers)
{
    static const int32_t ends[GROUPS] = {3, 3, 77, 120};
    signed char ones[16] = {1}, rows[GROUPS][16] = {{0}};
    for (int i = 0; i < GROUPS; i++) {
        rows[i][0] = (signed char)ends[i];
    }
    for (int i = 0; i < EMULATED_ARCHS; i++) {
        struct launch launch = open_launch(emulated_archs[i], text, ends[GROUPS - 1]);
        const jit_gemm_problem router = emulated_problem("1x4x16 s8 d=s32");
        jit_gemm *first = emulated_create(launch.context, &router);
        const jit_gemm_args args = {
            .struct_size = sizeof(args),
            .a = {.pointer = emulated_upload(launch.context, ones, sizeof(ones))},
            .b = {.pointer = emulated_upload(launch.context, rows, sizeof(rows))},
            .d = {.pointer = launch.args.group_sizes}};
        emulated_check(jit_gemm_run(first, &args, NULL));
        emulated_check(jit_gemm_run(launch.gemm, &launch.args, NULL));
        emulated_check(jit_gemm_device_synchronize(launch.context));
        expect_sums(&launch, ends);
        emulated_free(launch.context, args.a.pointer);
        emulated_free(launch.context, args.b.pointer);
        jit_gemm_destroy(&first);
        close_launch(&launch);
    }
}

/* ------------------------------------------ scales that the tensor core multiplies by */

enum { SCALED_ROWS = 144, SCALED_COLUMNS = 48, SCALED_K = 768, NAN_BYTE = 0x7f };

/* A or B with `mn` rows or columns, and its scales in pieces, those of all groups. */
struct scaled {
    const jit_gemm_matrix *matrix;
    int64_t mn;
    unsigned char elements[SCALED_K * SCALED_ROWS];
    unsigned char *scales;
    size_t scale_bytes;
    double values[SCALED_K * SCALED_ROWS]; /* of an element of K, one after the other */
};

/* A group's scales begin at a piece of their own (docs/grouped.md). */
static size_t scale_place(const struct scaled *input, int group, int begin, int64_t row,
                          int64_t block)
{
    const int64_t piece_k = 4 * (int64_t)input->matrix->scale.block_k;
    const int64_t across = SCALED_K / piece_k + GROUPS;
    const int64_t piece = row / 128 * across + begin / piece_k + group + block / 4;
    return (size_t)(piece * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4);
}

/* Small integers, and NaN from `used` on where the type has it; scales of the groups'
 * blocks are powers of two, all others NaN. */
static void draw_scaled(struct scaled *input, const int32_t ends[GROUPS], uint32_t state)
{
    const jit_gemm_matrix *matrix = input->matrix;
    const int64_t block_k = matrix->scale.block_k;
    input->scale_bytes =
        (size_t)((input->mn + 127) / 128 * (SCALED_K / (4 * block_k) + GROUPS) * 512);
    input->scales = malloc(input->scale_bytes);
    cr_assert_not_null(input->scales);
    memset(input->scales, 0xff, input->scale_bytes);
    for (int64_t i = 0; i < SCALED_K * input->mn; i++) {
        const int64_t k = i / input->mn, row = i % input->mn;
        const bool is_mn_major = matrix->layout == JIT_GEMM_LAYOUT_MN_MAJOR;
        const int64_t at = is_mn_major ? i : row * SCALED_K + k;
        const double value = k < ends[GROUPS - 1] ? (double)(draw_bits(&state) % 5) - 2
                             : matrix->dtype == JIT_GEMM_DTYPE_E2M1 ? 6
                                                                    : (double)NAN;
        element_store(matrix->dtype, input->elements, (size_t)at, value);
        input->values[i] = value;
    }
    for (int group = 0; group < GROUPS; group++) {
        const int begin = group > 0 ? ends[group - 1] : 0;
        for (int k = begin; k < ends[group]; k++) {
            for (int64_t row = 0; row < input->mn; row++) {
                const size_t at =
                    scale_place(input, group, begin, row, (k - begin) / block_k);
                if ((k - begin) % block_k == 0) {
                    element_store(matrix->scale.dtype, input->scales, at,
                                  ldexp(1, (int)(draw_bits(&state) % 5) - 2));
                }
                input->values[k * input->mn + row] *=
                    element_load(matrix->scale.dtype, input->scales, at);
            }
        }
    }
}

/* D of a launch with the numbers `given`, which count as `meant`: the host's, bit for bit.
 */
static void expect_scaled(const char *words, const int32_t given[GROUPS],
                          const int32_t meant[GROUPS], const char *settings)
{
    static struct scaled inputs[2];
    static float sums[GROUPS][SCALED_ROWS * SCALED_COLUMNS];
    char problem_text[256];
    snprintf(problem_text, sizeof(problem_text),
             "m=144 n=48 k=768 d=f32 groups=4 group_by=k_offsets %s", words);
    jit_gemm_context *context = emulated_open("sm_100a", settings);
    const jit_gemm_problem problem = emulated_problem(problem_text);
    jit_gemm *gemm = emulated_create(context, &problem);
    inputs[0] = (struct scaled){.matrix = &problem.a, .mn = SCALED_ROWS};
    inputs[1] = (struct scaled){.matrix = &problem.b, .mn = SCALED_COLUMNS};
    jit_gemm_args args = {.struct_size = sizeof(args)};
    jit_gemm_arg *targets[2][2] = {{&args.a, &args.a_scale}, {&args.b, &args.b_scale}};
    for (int i = 0; i < 2; i++) {
        draw_scaled(&inputs[i], meant, 7U + (uint32_t)i);
        const size_t count = (size_t)(SCALED_K * inputs[i].mn);
        targets[i][0]->pointer = emulated_upload(
            context, inputs[i].elements, element_bytes(inputs[i].matrix->dtype, count));
        targets[i][1]->pointer =
            emulated_upload(context, inputs[i].scales, inputs[i].scale_bytes);
    }
    memset(sums, NAN_BYTE, sizeof(sums));
    args.d.pointer = emulated_upload(context, sums, sizeof(sums));
    args.group_sizes = emulated_upload(context, given, GROUPS * sizeof(given[0]));

    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_device_download(context, sums, args.d.pointer, sizeof(sums)));

    for (int i = 0; i < GROUPS * SCALED_ROWS * SCALED_COLUMNS; i++) {
        const int group = i / (SCALED_ROWS * SCALED_COLUMNS);
        const int row = i / SCALED_COLUMNS % SCALED_ROWS, column = i % SCALED_COLUMNS;
        double wanted = 0;
        for (int k = group > 0 ? meant[group - 1] : 0; k < meant[group]; k++) {
            wanted += inputs[0].values[k * SCALED_ROWS + row] *
                      inputs[1].values[k * SCALED_COLUMNS + column];
        }
        const double got = (double)sums[group][i % (SCALED_ROWS * SCALED_COLUMNS)];
        cr_assert(got >= wanted && got <= wanted,
                  "%s: group %d, row %d, column %d: %g, not %g", words, group, row, column,
                  got, wanted);
    }
    for (int i = 0; i < 2; i++) {
        emulated_free(context, targets[i][0]->pointer);
        emulated_free(context, targets[i][1]->pointer);
        free(inputs[i].scales);
    }
    emulated_free(context, args.d.pointer);
    emulated_free(context, args.group_sizes);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

/* Columns of scales of other groups, and those of none, are NaN. */
Test(k_groups, scales_of_the_tensor_core_begin_at_a_piece_of_each_group)
{
    static const char *const rows[] = {
        "a=mxfp8 layout=nt", "a=mxfp8 layout=nn config=cluster=2x1",
        "a=mxfp4 layout=nt config=mma=256x32 cta_group=2 cluster=2x1", "nvfp4 layout=nt",
        ("a=e4m3 layout=nt a_scale=1x128ue8m0 a_scale_layout=128x4 b_scale=1x128ue8m0 "
         "b_scale_layout=128x4")};
    static const int32_t ends[GROUPS] = {32, 32, 416, 704};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_scaled(rows[i], ends, ends, "sms=4,async=latest");
    }
}

/* Copies of K-major elements begin at 32 of them, or at 128 where they are spread. */
Test(k_groups, numbers_of_k_major_matrices_with_scales_are_rounded_down)
{
    static const int32_t given[GROUPS] = {-7, 63, 447, 2000000000};
    static const int32_t by_32[GROUPS] = {0, 32, 416, SCALED_K};
    static const int32_t by_128[GROUPS] = {0, 0, 384, SCALED_K};
    expect_scaled("a=mxfp8 layout=nt", given, by_32, "sms=4,async=random,seed=3");
    expect_scaled("nvfp4 layout=nt", given, by_32, "sms=4,async=reorder");
    expect_scaled("a=mxfp8 b=mxfp4 layout=nt", given, by_128, "sms=4,async=latest");
}

/* MN-major, a group begins anywhere, and its last block of scales may be a single element.
 */
Test(k_groups, mn_major_groups_with_scales_begin_anywhere)
{
    static const int32_t ends[GROUPS] = {1, 130, 130, 675};
    expect_scaled("a=mxfp8 layout=tn", ends, ends, "sms=4,async=latest");
    expect_scaled("a=mxfp8e5m2 layout=tn config=mma=256x256 cta_group=2 cluster=2x1", ends,
                  ends, "sms=4,async=random,seed=5");
}

/* ... and pieces of scales need no memory either. */
Test(k_groups, without_k_nothing_of_scales_is_read)
{
    static const int32_t given[GROUPS] = {0, 64, 64, 96};
    static const char *const rows[] = {"a=mxfp8 layout=nt", "a=mxfp8 layout=tn",
                                       "nvfp4 layout=nt"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char words[256];
        snprintf(words, sizeof(words),
                 "m=48 n=32 k=768 c=f32 d=f32 groups=4 group_by=k_offsets dynamic=k %s",
                 rows[i]);
        jit_gemm_context *context = emulated_open("sm_100a", "sms=4,async=latest");
        const jit_gemm_problem problem = emulated_problem(words);
        jit_gemm *gemm = emulated_create(context, &problem);
        static float sums[GROUPS][48 * 32];
        for (int j = 0; j < GROUPS * 48 * 32; j++) {
            sums[j / (48 * 32)][j % (48 * 32)] = (float)value(j);
        }
        const uint64_t c_address = emulated_upload(context, sums, sizeof(sums));
        const uint64_t d_address = emulated_upload(context, sums, sizeof(sums));
        const jit_gemm_args args = {.struct_size = sizeof(args),
                                    .k = JIT_GEMM_SIZE_EMPTY,
                                    .c = {.pointer = c_address},
                                    .d = {.pointer = d_address},
                                    .beta = &half,
                                    .group_sizes =
                                        emulated_upload(context, given, sizeof(given))};

        emulated_check(jit_gemm_run(gemm, &args, NULL));
        emulated_check(jit_gemm_device_download(context, sums, d_address, sizeof(sums)));

        for (int j = 0; j < GROUPS * 48 * 32; j++) {
            const float got = sums[j / (48 * 32)][j % (48 * 32)];
            const float wanted = (float)value(j) / 2;
            cr_assert(got >= wanted && got <= wanted, "%s: element %d: %g", rows[i], j,
                      (double)got);
        }
        emulated_free(context, c_address);
        emulated_free(context, d_address);
        emulated_free(context, args.group_sizes);
        jit_gemm_destroy(&gemm);
        jit_gemm_context_destroy(&context);
    }
}
