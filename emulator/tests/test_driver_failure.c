/* SPDX-License-Identifier: MIT */
/* Kernels that fail: the sticky error, its codes, the way out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_driver_support.h"

TestSuite(driver_failure, .init = start_context);

/* Launches `kernel` on an address, on device 0. */
static CUresult store_to(CUdeviceptr to)
{
    unsigned value = 5;
    void *params[] = {&to, &value};
    return cu.cuLaunchKernel(get_kernel("store"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
}

Test(driver_failure, failure_of_a_kernel_sticks_to_the_context)
{
    unsigned zero = 0;
    CUdeviceptr good = upload(&zero, 4);
    CUcontext other = NULL;
    EXPECT_CU(CUDA_SUCCESS, store_to(good));
    EXPECT_CU(CUDA_SUCCESS, store_to(good + 4));
    EXPECT_CU(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuCtxSynchronize());
    EXPECT_CU(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemcpyDtoH(&zero, good, 4));
    EXPECT_CU(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuMemAlloc(&good, 4));
    EXPECT_CU(CUDA_ERROR_ILLEGAL_ADDRESS, cu.cuStreamSynchronize(NULL));
    EXPECT_CU(CUDA_ERROR_ILLEGAL_ADDRESS,
              cu.cuLaunchKernel((CUfunction)wrong_handle(), 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
                                NULL));
    char *text = cu.emuReports(2);
    cr_expect_not_null(strstr(text, "error [out-of-bounds]"), "%s", text);
    free(text);

    ASSERT_CU(cu.cuCtxCreate(&other, NULL, 0, 1));
    EXPECT_CU(CUDA_SUCCESS, cu.cuCtxSynchronize());
    ASSERT_CU(cu.cuCtxDestroy(other));
    ASSERT_CU(cu.cuDevicePrimaryCtxReset(0));
    EXPECT_CU(CUDA_SUCCESS, cu.cuCtxSynchronize());
    EXPECT_CU(CUDA_SUCCESS, cu.cuMemAlloc(&good, 4));
    cu.emuReportsClear();
    text = cu.emuReports(0);
    cr_expect_str_eq(text, "");
    free(text);
}

/* A kernel of such a name, which traps. Free it. */
static char *trap_named(const char *name)
{
    static const char form[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry %s()\n{\ntrap;\nret;\n}\n";
    char *text = malloc(sizeof(form) + strlen(name));
    cr_assert_not_null(text);
    snprintf(text, sizeof(form) + strlen(name), form, name);
    return text;
}

/* Names that C++ mangles have thousands of letters. */
Test(driver_failure, long_name_of_a_kernel_is_whole_in_its_reports)
{
    char name[6001];
    CUmodule module = NULL;
    CUfunction function = NULL;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    ASSERT_CU(cu.emuConfigure("show=none"));
    char *ptx = trap_named(name);
    ASSERT_CU(cu.cuModuleLoadData(&module, ptx));
    ASSERT_CU(cu.cuModuleGetFunction(&function, module, name));

    ASSERT_CU(cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, cu.cuCtxSynchronize());

    char *text = cu.emuReports(2);
    cr_expect_not_null(strstr(text, name));
    expect_reason(name);
    expect_reason("until it is reset");
    cr_expect_eq(cu.emuCountFindings(1), 1);
    cr_expect_eq(cu.emuCountFindings(3), 0);
    free(text);
    free(ptx);
}

Test(driver_failure, each_way_to_fail_has_its_code)
{
    unsigned zero[2] = {0};
    CUdeviceptr a = upload(zero, 8);
    EXPECT_CU(CUDA_SUCCESS, store_to(a + 1));
    EXPECT_CU(CUDA_ERROR_MISALIGNED_ADDRESS, cu.cuCtxSynchronize());
}

Test(driver_failure, mapped_memory_is_readable_after_a_trap)
{
    unsigned *memory = NULL;
    ASSERT_CU(cu.cuMemHostAlloc((void **)&memory, 64, CU_MEMHOSTALLOC_DEVICEMAP));
    cr_expect_eq(*memory, 0);
    EXPECT_CU(CUDA_SUCCESS, store_to((CUdeviceptr)(uintptr_t)memory));
    EXPECT_CU(CUDA_SUCCESS, cu.cuLaunchKernel(get_kernel("traps"), 1, 1, 1, 1, 1, 1, 0,
                                              NULL, NULL, NULL));
    EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, cu.cuCtxSynchronize());
    cr_expect_eq(*memory, 5);
}

Test(driver_failure, trap_is_a_failed_launch)
{
    EXPECT_CU(CUDA_SUCCESS, cu.cuLaunchKernel(get_kernel("traps"), 1, 1, 1, 1, 1, 1, 0,
                                              NULL, NULL, NULL));
    EXPECT_CU(CUDA_ERROR_LAUNCH_FAILED, cu.cuCtxSynchronize());
}

Test(driver_failure, kernel_without_end_times_out)
{
    ASSERT_CU(cu.emuConfigure("max_steps=10000"));
    EXPECT_CU(CUDA_SUCCESS, cu.cuLaunchKernel(get_kernel("spins"), 1, 1, 1, 1, 1, 1, 0,
                                              NULL, NULL, NULL));
    EXPECT_CU(CUDA_ERROR_LAUNCH_TIMEOUT, cu.cuCtxSynchronize());
}

/* Each of them is something that happens. */
Test(driver_failure, atomics_without_end_time_out)
{
    CUdeviceptr to = 0;
    ASSERT_CU(cu.emuConfigure("max_steps=200"));
    ASSERT_CU(cu.cuMemAlloc_v2(&to, 4));
    ASSERT_CU(cu.cuMemsetD32_v2(to, 0, 1));
    void *params[] = {&to};
    EXPECT_CU(CUDA_SUCCESS, cu.cuLaunchKernel(get_kernel("adds"), 1, 1, 1, 1, 1, 1, 0, NULL,
                                              params, NULL));
    EXPECT_CU(CUDA_ERROR_LAUNCH_TIMEOUT, cu.cuCtxSynchronize());
}

static const char store_thread_numbers[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry all(.param .u64 to)\n{\n.reg .b32 %r1; .reg .b64 %rd1;\n"
    "ld.param.u64 %rd1, [to];\nmov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";

static void expect_report_of_unnamed_memory(CUfunction kernel, const char *words)
{
    CUdeviceptr to = 0;
    ASSERT_CU(cu.cuMemAlloc(&to, 4));
    void *params[] = {&to};
    EXPECT_CU(CUDA_SUCCESS,
              cu.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    cr_expect_neq(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    char *text = cu.emuReports(2);
    cr_expect_not_null(strstr(text, words), "%s", text);
    cr_expect_not_null(strstr(text, "byte 0 of the 4 bytes of global memory at 0x"), "%s",
                       text);
    free(text);
}

Test(driver_failure, race_in_memory_without_a_name_tells_its_place)
{
    CUmodule module = NULL;
    CUfunction kernel = NULL;
    ASSERT_CU(cu.emuConfigure("show=none"));
    ASSERT_CU(cu.cuModuleLoadData(&module, store_thread_numbers));
    ASSERT_CU(cu.cuModuleGetFunction(&kernel, module, "all"));
    expect_report_of_unnamed_memory(kernel, "error [race]");
}

/* Two threads that nothing orders, and an mbarrier without its fence; last, if asked for, a
 * store out of bounds. */
static void expect_way_out(const char *last, const char *words)
{
    static const char form[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry both(.param .u64 to)\n{\n.reg .b32 %%r<4>; .reg .b64 %%rd<3>;\n"
        ".reg .pred %%p; .shared .align 16 .b8 s[64];\n"
        "ld.param.u64 %%rd1, [to];\nmov.u32 %%r1, %%tid.x;\nst.global.u32 [%%rd1], %%r1;\n"
        "setp.ne.u32 %%p, %%r1, 0;\n@%%p bra END;\nmov.u32 %%r2, s;\n"
        "mbarrier.init.shared.b64 [%%r2], 1;\n"
        "mbarrier.arrive.expect_tx.shared.b64 _, [%%r2], 16;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%r2+16], "
        "[%%rd1+16], 16, [%%r2];\n"
        "W: mbarrier.try_wait.parity.shared.b64 %%p, [%%r2], 0;\n@!%%p bra W;\n%sEND:\n"
        "ret;\n}\n";
    const unsigned zeros[8] = {0};
    char text[2048];
    CUmodule module = NULL;
    CUfunction kernel = NULL;
    CUdeviceptr to = upload(zeros, sizeof(zeros));
    void *params[] = {&to};
    snprintf(text, sizeof(text), form, last);
    ASSERT_CU(cu.cuModuleLoadData(&module, text));
    ASSERT_CU(cu.cuModuleGetFunction(&kernel, module, "both"));
    EXPECT_CU(CUDA_SUCCESS,
              cu.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    cr_expect_neq(cu.cuCtxSynchronize(), CUDA_SUCCESS);
    cr_expect_not_null(strstr(cu.emuLastError(), words), "%s", cu.emuLastError());
    cr_expect_eq(strstr(cu.emuLastError(), "allow=") != NULL,
                 strstr(words, "allow=") != NULL, "%s", cu.emuLastError());
}

Test(driver_failure, all_kinds_to_allow_are_named_where_they_are_enough)
{
    ASSERT_CU(cu.emuConfigure("show=none"));
    expect_way_out("", "allow=race,proxy-fence");
}

Test(driver_failure, nothing_to_allow_is_named_where_it_is_not_enough)
{
    ASSERT_CU(cu.emuConfigure("show=none"));
    expect_way_out("st.global.u32 [%rd1+4096], %r1;\n", "until it is reset");
}

Test(driver_failure, atomic_on_memory_that_was_never_written_tells_its_place)
{
    ASSERT_CU(cu.emuConfigure("show=none"));
    expect_report_of_unnamed_memory(get_kernel("adds"), "was never written");
}

Test(driver_failure, write_to_a_constant_is_refused)
{
    CUdeviceptr seven = 0;
    ASSERT_CU(cu.cuModuleGetGlobal(&seven, NULL, load_kernels(), "seven"));
    EXPECT_CU(CUDA_SUCCESS, store_to(seven));
    cr_expect_neq(cu.cuCtxSynchronize(), CUDA_SUCCESS);
}
