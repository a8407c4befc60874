/* SPDX-License-Identifier: MIT */
/* Programmatic dependent launches: two grids really overlap, as far as griddepcontrol lets
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_driver_support.h"

TestSuite(driver_dependent, .init = start_context);

/* `first` allows its dependents, counts for a while, then writes tid + 100 to data[tid].
 * `second` waits and copies data; `hasty` copies without waiting. */
static const char kernels[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry first(.param .u64 data)\n{\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;\n"
    "ld.param.u64 %rd0, [data]; mov.u32 %r0, %tid.x;\n"
    "griddepcontrol.launch_dependents;\n"
    "mov.u32 %r1, 0;\n"
    "loop: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 20000; @%p bra loop;\n"
    "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1;\n"
    "add.u32 %r2, %r0, 100; st.global.u32 [%rd2], %r2; ret;\n}\n"
    ".visible .entry second(.param .u64 data, .param .u64 copy)\n{\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<6>;\n"
    "ld.param.u64 %rd0, [data]; ld.param.u64 %rd1, [copy]; mov.u32 %r0, %tid.x;\n"
    "mul.wide.u32 %rd2, %r0, 4; add.u64 %rd3, %rd0, %rd2; add.u64 %rd4, %rd1, %rd2;\n"
    "griddepcontrol.wait;\n"
    "ld.global.u32 %r1, [%rd3]; st.global.u32 [%rd4], %r1; ret;\n}\n"
    ".visible .entry hasty(.param .u64 data, .param .u64 copy)\n{\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<6>;\n"
    "ld.param.u64 %rd0, [data]; ld.param.u64 %rd1, [copy]; mov.u32 %r0, %tid.x;\n"
    "mul.wide.u32 %rd2, %r0, 4; add.u64 %rd3, %rd0, %rd2; add.u64 %rd4, %rd1, %rd2;\n"
    "ld.global.u32 %r1, [%rd3]; st.global.u32 [%rd4], %r1; ret;\n}\n";

struct pair {
    CUdeviceptr data, copy;
    CUmodule module;
    CUfunction first, second, hasty;
};

static void prepare(struct pair *pair)
{
    unsigned zeros[32] = {0};
    pair->data = upload(zeros, sizeof(zeros));
    pair->copy = upload(zeros, sizeof(zeros));
    ASSERT_CU(cu.cuModuleLoadData(&pair->module, kernels));
    ASSERT_CU(cu.cuModuleGetFunction(&pair->first, pair->module, "first"));
    ASSERT_CU(cu.cuModuleGetFunction(&pair->second, pair->module, "second"));
    ASSERT_CU(cu.cuModuleGetFunction(&pair->hasty, pair->module, "hasty"));
}

/* Nothing may stand between two launches that are to overlap. */
static void launch_one(struct pair *pair, CUfunction function, bool programmatic)
{
    CUlaunchAttribute attribute = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        .value.programmaticStreamSerializationAllowed = 1};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = programmatic ? 1 : 0};
    void *params[] = {&pair->data, &pair->copy};
    ASSERT_CU(cu.cuLaunchKernelEx(&config, function, params, NULL));
}

static void expect_copied(struct pair *pair)
{
    unsigned copied[32];
    ASSERT_CU(cu.cuMemcpyDtoH(copied, pair->copy, sizeof(copied)));
    for (unsigned i = 0; i < 32; i++) {
        cr_expect_eq(copied[i], i + 100, "[%u] = %u", i, copied[i]);
    }
}

Test(driver_dependent, a_dependent_that_waits_sees_everything)
{
    for (unsigned seed = 0; seed < 4; seed++) {
        struct pair pair;
        char settings[32];
        snprintf(settings, sizeof(settings), "seed=%u", seed);
        ASSERT_CU(cu.emuConfigure(settings));
        prepare(&pair);
        launch_one(&pair, pair.first, false);
        launch_one(&pair, pair.second, true);
        expect_copied(&pair);
    }
}

Test(driver_dependent, one_that_does_not_wait_is_found)
{
    struct pair pair;
    unsigned copied[32];
    ASSERT_CU(cu.emuConfigure("show=none"));
    prepare(&pair);
    launch_one(&pair, pair.first, false);
    launch_one(&pair, pair.hasty, true);
    /* It read before the write, or behind it; nothing orders them either way. */
    EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, cu.cuMemcpyDtoH(copied, pair.copy, sizeof(copied)));
}

/* What a program does between two launches of a library that makes tensor maps. */
static void make_map(struct pair *pair)
{
    const cuuint64_t dims[] = {32};
    const cuuint64_t strides[] = {128};
    const cuuint32_t box[] = {32};
    const cuuint32_t steps[] = {1};
    CUtensorMap map;
    CUcontext current = NULL;
    void *address = NULL;
    memcpy(&address, &pair->data, sizeof(address));
    ASSERT_CU(cu.cuCtxGetCurrent(&current));
    ASSERT_CU(cu.cuTensorMapEncodeTiled(
        &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 1, address, dims, strides, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

Test(driver_dependent, tensor_map_made_between_two_launches_does_not_part_them)
{
    struct pair pair;
    unsigned copied[32];
    ASSERT_CU(cu.emuConfigure("show=none"));
    prepare(&pair);
    launch_one(&pair, pair.first, false);
    make_map(&pair);
    launch_one(&pair, pair.hasty, true);
    EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, cu.cuMemcpyDtoH(copied, pair.copy, sizeof(copied)));
    char *text = cu.emuReports(2);
    cr_expect_not_null(strstr(text, "128 bytes of global memory at 0x"), "%s", text);
    free(text);
}

Test(driver_dependent, without_the_attribute_grids_follow_each_other)
{
    struct pair pair;
    prepare(&pair);
    launch_one(&pair, pair.first, false);
    launch_one(&pair, pair.hasty, false);
    expect_copied(&pair);
}
