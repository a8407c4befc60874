/* SPDX-License-Identifier: MIT */
/* Launches: that they run, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "test_driver_support.h"

TestSuite(driver_launch, .init = start_context);

#define COUNT 1000

/* Device buffers of COUNT numbers, and the parameters of `add`. */
struct vectors {
    CUdeviceptr a, b, sum;
    unsigned count;
    void *params[4];
};

static void make_vectors(struct vectors *vectors)
{
    float a[COUNT];
    float b[COUNT];
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = (float)(3 * i);
    }
    *vectors = (struct vectors){.a = upload(a, sizeof(a)),
                                .b = upload(b, sizeof(b)),
                                .sum = upload(a, sizeof(a)),
                                .count = COUNT};
    vectors->params[0] = &vectors->a;
    vectors->params[1] = &vectors->b;
    vectors->params[2] = &vectors->sum;
    vectors->params[3] = &vectors->count;
}

static void expect_sums(const struct vectors *vectors)
{
    float sum[COUNT];
    ASSERT_CU(cu.cuMemcpyDtoH(sum, vectors->sum, sizeof(sum)));
    for (int i = 0; i < COUNT; i++) {
        cr_assert_float_eq(sum[i], (float)(4 * i), 0, "[%d] = %g", i, (double)sum[i]);
    }
}

Test(driver_launch, vectors_are_added)
{
    struct vectors vectors;
    make_vectors(&vectors);
    unsigned long long before = cu.emuThreadSteps();

    ASSERT_CU(cu.cuLaunchKernel(get_kernel("add"), 8, 1, 1, 128, 1, 1, 0, NULL,
                                vectors.params, NULL));
    EXPECT_CU(CUDA_SUCCESS, cu.cuCtxSynchronize());
    expect_sums(&vectors);
    cr_expect_gt(cu.emuThreadSteps() - before, (unsigned long long)COUNT * 10);
}

Test(driver_launch, parameters_as_one_block)
{
    struct vectors vectors;
    make_vectors(&vectors);
    struct {
        CUdeviceptr a, b, sum;
        unsigned count;
    } block = {vectors.a, vectors.b, vectors.sum, COUNT};
    size_t bytes = sizeof(block); /* 4 bytes of padding at the end */
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};

    ASSERT_CU(
        cu.cuLaunchKernel(get_kernel("add"), 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    expect_sums(&vectors);

    bytes = 24;
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(get_kernel("add"), 8, 1, 1, 128,
                                                          1, 1, 0, NULL, NULL, extra));
    expect_reason("28");
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuLaunchKernel(get_kernel("add"), 8, 1, 1, 128, 1, 1, 0, NULL,
                                vectors.params, extra));
}

Test(driver_launch, kernel_of_a_library_on_the_second_device)
{
    CUcontext context = NULL;
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUdeviceptr table = 0;
    unsigned value = 0;
    char *text = kernels_for("sm_90a");
    ASSERT_CU(cu.cuCtxCreate(&context, NULL, 0, 1));
    ASSERT_CU(cu.cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    ASSERT_CU(cu.cuLibraryGetKernel(&kernel, library, "twice"));
    free(text);
    CUdeviceptr to = upload(&value, 4);
    void *params[] = {&to};
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1,
                                   .blockDimY = 1,
                                   .blockDimZ = 1};

    ASSERT_CU(cu.cuLaunchKernelEx(&config, (CUfunction)kernel, params, NULL));
    ASSERT_CU(cu.cuMemcpyDtoH(&value, to, 4));
    cr_expect_eq(value, 42, "6 of the table by the constant 7");
    ASSERT_CU(cu.cuLibraryGetGlobal(&table, NULL, library, "table"));
    value = 10;
    ASSERT_CU(cu.cuMemcpyHtoD(table + 4, &value, 4));
    ASSERT_CU(cu.cuLaunchKernelEx(&config, (CUfunction)kernel, params, NULL));
    ASSERT_CU(cu.cuMemcpyDtoH(&value, to, 4));
    cr_expect_eq(value, 70);
}

/* -------------------------------------------------------------------------- refusals */

struct shape {
    const char *kernel;
    unsigned grid[3], block[3], cluster[3]; /* cluster 0: no attribute */
    unsigned shared_bytes;
    CUresult result;
    const char *reason;
};

static CUresult launch(const struct shape *shape)
{
    CUlaunchAttribute attribute = {
        .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        .value.clusterDim = {shape->cluster[0], shape->cluster[1], shape->cluster[2]}};
    CUlaunchConfig config = {.gridDimX = shape->grid[0],
                             .gridDimY = shape->grid[1],
                             .gridDimZ = shape->grid[2],
                             .blockDimX = shape->block[0],
                             .blockDimY = shape->block[1],
                             .blockDimZ = shape->block[2],
                             .sharedMemBytes = shape->shared_bytes,
                             .attrs = &attribute,
                             .numAttrs = shape->cluster[0] == 0 ? 0 : 1};
    return cu.cuLaunchKernelEx(&config, get_kernel(shape->kernel), NULL, NULL);
}

Test(driver_launch, shapes_that_no_device_takes_are_refused)
{
    static const struct shape cases[] = {
        {"empty", {1, 1, 1}, {1024, 1, 1}, {0, 0, 0}, 0, CUDA_SUCCESS, NULL},
        {"empty", {1, 1, 1}, {1025, 1, 1}, {0, 0, 0}, 0, CUDA_ERROR_INVALID_VALUE, "1025"},
        {"empty", {1, 1, 1}, {512, 3, 1}, {0, 0, 0}, 0, CUDA_ERROR_INVALID_VALUE, "1536"},
        {"empty", {1, 1, 1}, {1, 1, 65}, {0, 0, 0}, 0, CUDA_ERROR_INVALID_VALUE, "z"},
        {"empty", {1, 1, 1}, {0, 1, 1}, {0, 0, 0}, 0, CUDA_ERROR_INVALID_VALUE, "block"},
        {"empty", {0, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0, CUDA_ERROR_INVALID_VALUE, "grid"},
        {"empty",
         {1, 65536, 1},
         {1, 1, 1},
         {0, 0, 0},
         0,
         CUDA_ERROR_INVALID_VALUE,
         "65535"},
        {"empty", {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 49152, CUDA_SUCCESS, NULL},
        {"empty",
         {1, 1, 1},
         {1, 1, 1},
         {0, 0, 0},
         49153,
         CUDA_ERROR_INVALID_VALUE,
         "MAX_DYNAMIC_SHARED_SIZE_BYTES"},
        {"empty", {6, 4, 1}, {1, 1, 1}, {3, 2, 1}, 0, CUDA_SUCCESS, NULL},
        {"empty", {7, 4, 1}, {1, 1, 1}, {3, 2, 1}, 0, CUDA_ERROR_INVALID_VALUE, "multiple"},
        {"empty", {8, 1, 1}, {1, 1, 1}, {8, 1, 1}, 0, CUDA_SUCCESS, NULL},
        {"empty",
         {9, 1, 1},
         {1, 1, 1},
         {9, 1, 1},
         0,
         CUDA_ERROR_INVALID_CLUSTER_SIZE,
         "NON_PORTABLE"},
        {"empty",
         {17, 1, 1},
         {1, 1, 1},
         {17, 1, 1},
         0,
         CUDA_ERROR_INVALID_CLUSTER_SIZE,
         "16"},
        {"empty", {2, 1, 1}, {1, 1, 1}, {2, 0, 1}, 0, CUDA_ERROR_INVALID_VALUE, "zero"},
        {"fixed", {1, 1, 1}, {64, 2, 1}, {0, 0, 0}, 0, CUDA_SUCCESS, NULL},
        {"fixed",
         {1, 1, 1},
         {128, 1, 1},
         {0, 0, 0},
         0,
         CUDA_ERROR_INVALID_VALUE,
         ".reqntid"},
        {"twice",
         {1, 1, 1},
         {64, 1, 1},
         {0, 0, 0},
         0,
         CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
         ".maxntid"},
        {"paired", {4, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0, CUDA_SUCCESS, NULL},
        {"paired", {4, 1, 1}, {32, 1, 1}, {2, 1, 1}, 0, CUDA_SUCCESS, NULL},
        {"paired",
         {3, 1, 1},
         {32, 1, 1},
         {0, 0, 0},
         0,
         CUDA_ERROR_INVALID_VALUE,
         "multiple"},
        {"paired",
         {4, 1, 1},
         {32, 1, 1},
         {4, 1, 1},
         0,
         CUDA_ERROR_INVALID_CLUSTER_SIZE,
         "requires"},
        {"add",
         {1, 1, 1},
         {1, 1, 1},
         {0, 0, 0},
         0,
         CUDA_ERROR_INVALID_VALUE,
         "parameter 0 of 4"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CUresult result = launch(&cases[i]);
        cr_expect_eq(result, cases[i].result, "case %zu: %s", i, cu_name_of(result));
        if (cases[i].reason != NULL) {
            expect_reason(cases[i].reason);
            expect_reason(cases[i].kernel);
        }
        EXPECT_CU(CUDA_SUCCESS, cu.cuCtxSynchronize());
    }
}

Test(driver_launch, limits_that_were_raised_hold)
{
    CUfunction empty = get_kernel("empty");
    const struct shape big = {.kernel = "empty",
                              .grid = {16, 1, 1},
                              .block = {32, 1, 1},
                              .cluster = {16, 1, 1},
                              .shared_bytes = 232448};
    cr_expect_neq(launch(&big), CUDA_SUCCESS);

    ASSERT_CU(cu.cuFuncSetAttribute(
        empty, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    ASSERT_CU(cu.cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    232448));
    EXPECT_CU(CUDA_SUCCESS, launch(&big));
    EXPECT_CU(CUDA_SUCCESS, cu.cuCtxSynchronize());
}

Test(driver_launch, attributes_are_taken_or_refused_by_number)
{
    CUlaunchAttribute attributes[] = {
        {.id = CU_LAUNCH_ATTRIBUTE_IGNORE},
        {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = -1},
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
         .value.programmaticStreamSerializationAllowed = 1},
        {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}},
        {.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
         .value.preferredClusterDim = {4, 1, 1}},
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT}};
    CUlaunchConfig config = {.gridDimX = 4,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = attributes,
                             .numAttrs = 5};
    CUfunction empty = get_kernel("empty");
    EXPECT_CU(CUDA_SUCCESS, cu.cuLaunchKernelEx(&config, empty, NULL, NULL));

    attributes[4].value.preferredClusterDim.x = 3;
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernelEx(&config, empty, NULL, NULL));
    expect_reason("preferred");
    attributes[4].value.preferredClusterDim.x = 4;
    config.numAttrs = 6;
    EXPECT_CU(CUDA_ERROR_NOT_SUPPORTED, cu.cuLaunchKernelEx(&config, empty, NULL, NULL));
    expect_reason("attribute 7");
}

/* Each of two CTAs stores a number, meets the other as cooperative groups do, and copies
 * the other's. */
static const char meet_in_the_grid[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry meet(.param .u64 out)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<5>;\n"
    ".reg .pred %p;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\n"
    "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\nadd.u32 %r2, %r1, 5;\n"
    "st.global.u32 [%rd2], %r2;\nmov.u32 %r3, %envreg1;\nmov.u32 %r4, %envreg2;\n"
    "mov.b64 %rd3, {%r4, %r3};\nsetp.eq.u32 %p, %r1, 0;\n"
    "selp.u32 %r5, 0x7fffffff, 1, %p;\natom.add.release.gpu.u32 %r6, [%rd3+4], %r5;\n"
    "W: ld.acquire.gpu.u32 %r7, [%rd3+4];\nxor.b32 %r7, %r7, %r6;\n"
    "setp.ge.s32 %p, %r7, 0;\n@%p bra W;\nxor.b32 %r1, %r1, 1;\n"
    "mul.wide.u32 %rd4, %r1, 4;\nadd.u64 %rd4, %rd1, %rd4;\nld.global.u32 %r8, [%rd4];\n"
    "st.global.u32 [%rd2+8], %r8;\nret;\n}\n";

Test(driver_launch, ctas_of_a_cooperative_grid_meet)
{
    CUmodule module = NULL;
    CUfunction meet = NULL;
    const unsigned zeros[4] = {0};
    CUdeviceptr out = upload(zeros, sizeof(zeros));
    void *params[] = {&out};
    ASSERT_CU(cu.cuModuleLoadData(&module, meet_in_the_grid));
    ASSERT_CU(cu.cuModuleGetFunction(&meet, module, "meet"));
    for (int i = 0; i < 3; i++) {
        unsigned got[4] = {0};
        ASSERT_CU(cu.cuMemcpyHtoD(out, zeros, sizeof(zeros)));
        ASSERT_CU(cu.cuLaunchCooperativeKernel(meet, 2, 1, 1, 1, 1, 1, 0, NULL, params));
        ASSERT_CU(cu.cuMemcpyDtoH(got, out, sizeof(got)));
        cr_expect_eq(got[2], 6, "launch %d", i);
        cr_expect_eq(got[3], 5, "launch %d", i);
    }
    /* In other launches there is nothing to meet in. */
    ASSERT_CU(cu.emuConfigure("show=none"));
    ASSERT_CU(cu.cuLaunchKernel(meet, 2, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    EXPECT_CU(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
}

Test(driver_launch, cooperative_grid_has_to_fit)
{
    CUfunction empty = get_kernel("empty");
    EXPECT_CU(CUDA_SUCCESS,
              cu.cuLaunchCooperativeKernel(empty, 148, 1, 1, 1024, 1, 1, 0, NULL, NULL));
    EXPECT_CU(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
              cu.cuLaunchCooperativeKernel(empty, 149, 1, 1, 1024, 1, 1, 0, NULL, NULL));
    expect_reason("148");
}

Test(driver_launch, occupancy_follows_from_threads_and_shared_memory)
{
    int count = -1;
    CUfunction twice = get_kernel("twice"); /* 32 threads, 1 KiB static */
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1024,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    ASSERT_CU(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, twice, 32, 0));
    cr_expect_eq(count, 8, "65536 registers / (256 * 32): %d", count);
    ASSERT_CU(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, twice, 32, 46080));
    cr_expect_eq(count, 4, "233472 / (46080 + 1024 + 1024): %d", count);
    ASSERT_CU(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, twice, 33, 0));
    cr_expect_eq(count, 0);

    CUfunction empty = get_kernel("empty"); /* 64 registers */
    ASSERT_CU(cu.cuOccupancyMaxActiveClusters(&count, empty, &config));
    cr_expect_eq(count, 148);
    ASSERT_CU(cu.cuOccupancyMaxPotentialClusterSize(&count, empty, &config));
    cr_expect_eq(count, 8);
    config.blockDimX = 32;
    ASSERT_CU(cu.cuOccupancyMaxActiveClusters(&count, get_kernel("paired"), &config));
    cr_expect_eq(count, 148 * 32 / 2);
}

Test(driver_launch, device_can_be_made_smaller)
{
    int count = -1;
    CUfunction empty = get_kernel("empty");
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1024,
                                   .blockDimY = 1,
                                   .blockDimZ = 1};
    ASSERT_CU(cu.emuConfigure("sms=4"));
    ASSERT_CU(cu.cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    cr_expect_eq(count, 4);
    ASSERT_CU(cu.cuOccupancyMaxActiveClusters(&count, empty, &config));
    cr_expect_eq(count, 4);
    EXPECT_CU(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
              cu.cuLaunchCooperativeKernel(empty, 5, 1, 1, 1024, 1, 1, 0, NULL, NULL));
}
