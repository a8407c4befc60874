/* SPDX-License-Identifier: MIT */
/* A context on a B200: which kernels it takes, and what a run gives the driver. */
#include <criterion/criterion.h>
#include <string.h>

#include "api_fixture.h"

#define A_ADDRESS UINT64_C(0x10000000)
#define B_ADDRESS UINT64_C(0x20000000)
#define C_ADDRESS UINT64_C(0x30000000)
#define D_ADDRESS UINT64_C(0x40000000)

static void open_b200(struct api_fixture *fixture)
{
    const jit_gemm_context_options options = api_fixture_options(fixture);
    fixture->fake->cc_major = 10;
    fixture->fake->cc_minor = 0;
    fixture->fake->sm_count = 148;
    fixture->fake->resident_clusters = 74;
    api_fixture_open_with(fixture, &options, 0);
}

static jit_gemm *create(struct api_fixture *fixture, const char *text)
{
    const jit_gemm_problem problem = api_problem(text);
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    fixture->fake->recording = 1;
    return gemm;
}

static void run(const jit_gemm *gemm, const jit_gemm_args *args)
{
    cr_assert_eq(jit_gemm_run(gemm, args, NULL), JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

Test(sm100a, context_takes_the_architecture_of_the_device)
{
    struct api_fixture fixture;
    open_b200(&fixture);

    cr_expect_str_eq(jit_gemm_context_arch(fixture.context), "sm_100a");
    jit_gemm *gemm = create(&fixture, "8192x8192x1024 bf16");
    jit_gemm_info info = {.struct_size = sizeof(info)};
    cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);
    cr_expect_str_eq(info.arch, "sm_100a");
    cr_expect_not_null(strstr(info.config, "mma=256x256 cta_group=2 cluster=2x1"), "%s",
                       info.config);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(sm100a, launch_and_maps_of_a_pair_are_as_the_plan_says)
{
    struct api_fixture fixture;
    open_b200(&fixture);
    jit_gemm *gemm =
        create(&fixture, "m=1000 n=520 k=328 batch=3 a=bf16 c=bf16 d=f32 "
                         "config=mma=256x256 cluster=4x2 stages=3 scheduler=static pdl=1");
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = A_ADDRESS},
                                .b = {.pointer = B_ADDRESS},
                                .c = {.pointer = C_ADDRESS},
                                .d = {.pointer = D_ADDRESS}};

    run(gemm, &args);

    const struct fake_launch *launch = &fixture.fake->last_launch;
    /* 8 x 3 tiles of 128 x 256, in clusters of 4 x 2: 2 x 2 of them, 3 times. */
    cr_expect_eq(launch->grid, 96);
    cr_expect_eq(launch->cluster, 8);
    cr_expect_eq(launch->block, 224, "one warp more than without C");
    cr_expect_eq(launch->pdl, 1);
    cr_expect_eq(launch->smem_bytes, 3 * 32768 + 32768 + 2 * 16384 + 1024);
    const struct fake_encode *a = &fixture.fake->last_encodes[0];
    const struct fake_encode *b = &fixture.fake->last_encodes[1];
    const struct fake_encode *d = &fixture.fake->last_encodes[3];
    const struct fake_encode *c = &fixture.fake->last_encodes[2];
    /* A: 128 rows of a CTA, by two CTAs along N. */
    cr_expect_eq(a->box[0], 64);
    cr_expect_eq(a->box[1], 64);
    /* B: 128 columns of half a pair, by two pairs along M. */
    cr_expect_eq(b->box[0], 64);
    cr_expect_eq(b->box[1], 64);
    /* D: one warp's 32 rows of 128 bytes. C: all 128 rows of a step. */
    cr_expect_eq(d->box[0], 32);
    cr_expect_eq(d->box[1], 32);
    cr_expect_eq(c->box[0], 64);
    cr_expect_eq(c->box[1], 128);
    cr_expect_eq(c->swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(sm100a, info_of_a_transposed_product_has_the_grid_that_is_launched)
{
    struct api_fixture fixture;
    open_b200(&fixture);
    jit_gemm *gemm = create(&fixture, "m=24 n=1000 k=328 a=bf16 batch=2 "
                                      "config=mma=128x32 cta_group=1 cluster=2x1 stages=3 "
                                      "scheduler=single swap_ab=1");
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = A_ADDRESS},
                                .b = {.pointer = B_ADDRESS},
                                .d = {.pointer = D_ADDRESS}};
    jit_gemm_info info = {.struct_size = sizeof(info)};

    run(gemm, &args);
    cr_assert_eq(jit_gemm_get_info(gemm, &info), JIT_GEMM_OK);

    /* 1000 columns of D are 8 tiles of 128 rows, 24 rows are one of 32 columns. */
    cr_expect_eq(fixture.fake->last_launch.grid, 16);
    cr_expect_eq(info.grid_ctas, 16, "%u", info.grid_ctas);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

/* Boxes of A and B that lie along M and N: as wide as divides a CTA's share of them. */
Test(sm100a, swizzle_of_a_map_spans_the_rows_of_its_boxes)
{
    static const struct {
        const char *text;
        unsigned int a_box[2], b_box[2];
        CUtensorMapSwizzle a, b;
    } rows[] = {
        {"512x512x512 e4m3 layout=tn config=mma=64x32 cluster=1x2",
         {64, 64},
         {32, 128},
         CU_TENSOR_MAP_SWIZZLE_64B,
         CU_TENSOR_MAP_SWIZZLE_32B},
        {"512x512x512 s8 layout=nn config=mma=128x64 cta_group=2 swap_ab=1",
         {64, 128},
         {128, 32},
         CU_TENSOR_MAP_SWIZZLE_64B,
         CU_TENSOR_MAP_SWIZZLE_128B},
        {"512x512x512 tf32 layout=tn config=mma=128x96 cluster=1x2",
         {32, 16},
         {32, 32},
         CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B,
         CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B},
        {"512x512x512 tf32 layout=nn config=mma=128x64 swap_ab=1",
         {32, 32},
         {32, 64},
         CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B,
         CU_TENSOR_MAP_SWIZZLE_128B},
        {"512x512x512 bf16 layout=tn config=mma=128x96",
         {64, 64},
         {32, 64},
         CU_TENSOR_MAP_SWIZZLE_128B,
         CU_TENSOR_MAP_SWIZZLE_64B},
    };
    struct api_fixture fixture;
    open_b200(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm *gemm = create(&fixture, rows[i].text);
        const jit_gemm_args args = {.struct_size = sizeof(args),
                                    .a = {.pointer = A_ADDRESS},
                                    .b = {.pointer = B_ADDRESS},
                                    .d = {.pointer = D_ADDRESS}};
        const long first = atomic_load(&fixture.fake->encodes);

        run(gemm, &args);

        const struct fake_encode *a =
            &fixture.fake->last_encodes[first % FAKE_ENCODES_KEPT];
        const struct fake_encode *b =
            &fixture.fake->last_encodes[(first + 1) % FAKE_ENCODES_KEPT];
        for (int dim = 0; dim < 2; dim++) {
            cr_expect_eq(a->box[dim], rows[i].a_box[dim], "%s: %u", rows[i].text,
                         a->box[dim]);
            cr_expect_eq(b->box[dim], rows[i].b_box[dim], "%s: %u", rows[i].text,
                         b->box[dim]);
        }
        cr_expect_eq(a->swizzle, rows[i].a, "%s: %d", rows[i].text, a->swizzle);
        cr_expect_eq(b->swizzle, rows[i].b, "%s: %d", rows[i].text, b->swizzle);
        jit_gemm_destroy(&gemm);
    }
    api_fixture_close(&fixture);
}

/* The stand-in refuses more than 8 CTAs of a kernel without the attribute. */
Test(sm100a, clusters_of_16_are_allowed_at_load_and_counted)
{
    struct api_fixture fixture;
    open_b200(&fixture);
    fixture.fake->resident_clusters = 7;
    jit_gemm *gemm = create(
        &fixture,
        "4096x4096x512 bf16 config=mma=128x64 cluster=4x4 stages=3 scheduler=static");
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = A_ADDRESS},
                                .b = {.pointer = B_ADDRESS},
                                .d = {.pointer = D_ADDRESS}};

    run(gemm, &args);

    cr_expect_eq(fixture.fake->last_launch.cluster, 16);
    cr_expect_eq(fixture.fake->last_launch.grid, 7 * 16);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(sm100a, clusters_of_16_that_do_not_fit_are_an_error_with_a_remedy)
{
    static const struct {
        const char *function, *text;
    } rows[] = {
        {NULL, "not one cluster of 16 CTAs"},
        {"cuOccupancyMaxActiveClusters", "cuOccupancyMaxActiveClusters"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct api_fixture fixture;
        open_b200(&fixture);
        fixture.fake->resident_clusters = 0;
        fixture.fake->failing_function = rows[i].function;
        fixture.fake->failing_result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
        const jit_gemm_problem problem =
            api_problem("4096x4096x512 bf16 config=mma=256x128 cluster=4x4 stages=3");
        jit_gemm *gemm = NULL;

        cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_ERR_LOAD);
        cr_expect(api_error_has(rows[i].text), "%s", jit_gemm_last_error());
        cr_expect(api_error_has("problem.config"), "%s", jit_gemm_last_error());
        api_fixture_close(&fixture);
    }
}

Test(sm100a, kernels_of_another_chip_are_not_created)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.arch = "sm_100a"; /* builds, but the device is an H200 */
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;

    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("kernels for sm_100a do not run on device 0"));
    api_fixture_close(&fixture);
}
