/* SPDX-License-Identifier: MIT */
/* Start, devices, contexts, entry points, settings. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_driver_support.h"

TestSuite(driver_start, .init = open_driver);

Test(driver_start, nothing_but_names_and_version_works_before_init)
{
    int number = 0;
    size_t bytes = 0;
    char name[8];
    CUcontext context = NULL;
    CUdeviceptr address = 0;
    const char *text = NULL;

    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGetCount(&number));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGet(&number, 0));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGetName(name, 8, 0));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceTotalMem(&bytes, 0));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.cuCtxSynchronize());
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.cuMemAlloc(&address, 16));
    EXPECT_CU(CUDA_ERROR_NOT_INITIALIZED, cu.emuConfigure("seed=1"));
    cr_expect_null(cu.emuReports(0));
    EXPECT_CU(CUDA_SUCCESS, cu.cuDriverGetVersion(&number));
    cr_expect_gt(number, 13010);
    EXPECT_CU(CUDA_SUCCESS, cu.cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    cr_expect_str_eq(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_CU(CUDA_SUCCESS, cu.cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    cr_expect_not_null(strstr(text, "illegal address"));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuGetErrorName((CUresult)4711, &text));
    cr_expect_null(text);
}

Test(driver_start, init_takes_no_flags_and_may_be_repeated)
{
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuInit(1));
    EXPECT_CU(CUDA_SUCCESS, cu.cuInit(0));
    EXPECT_CU(CUDA_SUCCESS, cu.cuInit(0));
}

/* 0: the driver starts and works in a child; 1: it refuses all. */
static int start_in_child(void)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        int count = 0;
        const CUresult started = cu.cuInit(0);
        const CUresult counted = cu.cuDeviceGetCount(&count);
        _exit(started == CUDA_SUCCESS && counted == CUDA_SUCCESS ? 0
              : started == CUDA_ERROR_NOT_INITIALIZED &&
                      counted == CUDA_ERROR_NOT_INITIALIZED
                  ? 1
                  : 2);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(driver_start, a_child_of_fork_is_refused_once_its_parent_has_started)
{
    cr_expect_eq(start_in_child(), 0);
    ASSERT_CU(cu.cuInit(0));
    cr_expect_eq(start_in_child(), 1);
    EXPECT_CU(CUDA_SUCCESS, cu.cuInit(0));
}

static void *lock_for_ever(void *user)
{
    (void)cu.cuCtxSetCurrent(user);
    (void)cu.cuCtxSynchronize();
    return NULL;
}

/* Holds the driver's lock as long as this test lives. */
Test(driver_start, a_child_of_fork_does_not_wait_for_a_launch_of_its_parent, .timeout = 60)
{
    pthread_t thread;
    start_context();
    CUcontext context = NULL;
    ASSERT_CU(cu.cuCtxGetCurrent(&context));
    ASSERT_CU(cu.emuConfigure("max_steps=1000000000000"));
    const CUfunction spins = get_kernel("spins");
    ASSERT_CU(cu.cuLaunchKernel(spins, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    cr_assert_eq(pthread_create(&thread, NULL, lock_for_ever, context), 0);
    cr_expect_eq(start_in_child(), 1);
}

Test(driver_start, environment_is_read_at_init)
{
    setenv("JIT_GEMM_EMULATOR", "seed=7,asink=latest", 1);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuInit(0));
    expect_reason("JIT_GEMM_EMULATOR");
    expect_reason("asink");

    setenv("JIT_GEMM_EMULATOR", "seed=7,async=latest", 1);
    EXPECT_CU(CUDA_SUCCESS, cu.cuInit(0));
}

Test(driver_start, settings_are_taken_as_a_whole_or_not_at_all)
{
    ASSERT_CU(cu.cuInit(0));

    EXPECT_CU(CUDA_SUCCESS, cu.emuConfigure("seed=3, numbers=exact"));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.emuConfigure("numbers=rough"));
    expect_reason("exact");
    EXPECT_CU(CUDA_SUCCESS, cu.emuConfigure(NULL));
    EXPECT_CU(CUDA_SUCCESS, cu.emuConfigure(""));
    cr_expect_str_eq(cu.emuModuleFormat(), "ptx");
}

Test(driver_start, two_devices_of_two_architectures)
{
    struct expected {
        const char *name;
        CUdevice_attribute attribute;
        int values[2];
    };
    static const struct expected table[] = {
        {"major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, {10, 9}},
        {"minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, {0, 0}},
        {"SMs", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, {148, 132}},
        {"shared", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, {232448, 232448}},
        {"shared/SM",
         CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
         {233472, 233472}},
        {"clusters", CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, {1, 1}},
        {"maps", CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, {1, 1}},
        {"L2", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, {132120576, 52428800}},
    };
    int count = 0;
    ASSERT_CU(cu.cuInit(0));
    ASSERT_CU(cu.cuDeviceGetCount(&count));
    cr_expect_eq(count, 2);

    for (int ordinal = 0; ordinal < 2; ordinal++) {
        CUdevice device = -1;
        char name[64];
        size_t bytes = 0;
        CUuuid uuid;
        ASSERT_CU(cu.cuDeviceGet(&device, ordinal));
        ASSERT_CU(cu.cuDeviceGetName(name, sizeof(name), device));
        cr_expect_str_eq(name, ordinal == 0 ? "Emulated B200" : "Emulated H200");
        ASSERT_CU(cu.cuDeviceTotalMem(&bytes, device));
        cr_expect_gt(bytes, 16u << 20);
        ASSERT_CU(cu.cuDeviceGetUuid(&uuid, device));
        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
            int value = -1;
            ASSERT_CU(cu.cuDeviceGetAttribute(&value, table[i].attribute, device));
            cr_expect_eq(value, table[i].values[ordinal], "%s: %d", table[i].name, value);
        }
    }
    EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&count, 2));
    EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGet(&count, -1));
}

Test(driver_start, unknown_attribute_is_refused_by_number)
{
    int value = 17;
    ASSERT_CU(cu.cuInit(0));

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)4711, 0));
    expect_reason("4711");
    cr_expect_eq(value, 17);
}

Test(driver_start, contexts_are_a_stack_of_the_thread)
{
    CUcontext primary = NULL;
    CUcontext own = NULL;
    CUcontext current = NULL;
    CUdevice device = -1;
    ASSERT_CU(cu.cuInit(0));
    ASSERT_CU(cu.cuCtxGetCurrent(&current));
    cr_expect_null(current);
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSynchronize());

    ASSERT_CU(cu.cuDevicePrimaryCtxRetain(&primary, 0));
    ASSERT_CU(cu.cuCtxSetCurrent(primary));
    ASSERT_CU(cu.cuCtxCreate(&own, NULL, 0, 1));
    ASSERT_CU(cu.cuCtxGetDevice(&device));
    cr_expect_eq(device, 1);
    ASSERT_CU(cu.cuCtxPopCurrent(&current));
    cr_expect_eq(current, own);
    ASSERT_CU(cu.cuCtxGetDevice(&device));
    cr_expect_eq(device, 0);

    ASSERT_CU(cu.cuCtxPushCurrent(own));
    ASSERT_CU(cu.cuCtxDestroy(own));
    ASSERT_CU(cu.cuCtxGetCurrent(&current));
    cr_expect_eq(current, primary);
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSetCurrent(own));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxDestroy(primary));
    ASSERT_CU(cu.cuCtxSetCurrent(NULL));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxPopCurrent(&current));
}

Test(driver_start, primary_context_lives_while_it_is_retained)
{
    CUcontext first = NULL;
    CUcontext second = NULL;
    unsigned flags = 0;
    int active = -1;
    ASSERT_CU(cu.cuInit(0));
    ASSERT_CU(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
    cr_expect_eq(active, 0);
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease(0));

    ASSERT_CU(cu.cuDevicePrimaryCtxRetain(&first, 0));
    ASSERT_CU(cu.cuDevicePrimaryCtxRetain(&second, 0));
    cr_expect_eq(first, second);
    ASSERT_CU(cu.cuCtxSetCurrent(first));
    ASSERT_CU(cu.cuDevicePrimaryCtxRelease(0));
    EXPECT_CU(CUDA_SUCCESS, cu.cuCtxSynchronize());
    ASSERT_CU(cu.cuDevicePrimaryCtxRelease(0));
    EXPECT_CU(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSynchronize());
    ASSERT_CU(cu.cuDevicePrimaryCtxGetState(0, &flags, &active));
    cr_expect_eq(active, 0);
}

Test(driver_start, entry_points_are_found_by_either_name)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    void *found = NULL;

    EXPECT_CU(CUDA_SUCCESS, cu.cuGetProcAddress("cuMemAlloc", &found, 13000, 0, &status));
    cr_expect_eq(found, dlsym(cu_library, "cuMemAlloc_v2"));
    EXPECT_CU(CUDA_SUCCESS, cu.cuGetProcAddress("cuMemAlloc_v2", &found, 13000, 0, NULL));
    cr_expect_eq(found, dlsym(cu_library, "cuMemAlloc_v2"));

    EXPECT_CU(CUDA_SUCCESS, cu.cuGetProcAddress("cuNoSuchCall", &found, 13000, 0, &status));
    cr_expect_null(found);
    cr_expect_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT_CU(CUDA_SUCCESS,
              cu.cuGetProcAddress("cuEventElapsedTime", &found, 12000, 0, &status));
    cr_expect_null(found);
    cr_expect_eq(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

Test(driver_start, every_driver_function_is_an_entry_point)
{
    static const char *const names[] = {
#define NAME(name) #name,
        CU_FUNCTIONS(NAME)
#undef NAME
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *found = NULL;
        if (strncmp(names[i], "cu", 2) == 0) {
            ASSERT_CU(cu.cuGetProcAddress(names[i], &found, 13000, 0, NULL));
            cr_expect_eq(found, dlsym(cu_library, names[i]), "%s", names[i]);
        }
    }
}

Test(driver_start, nothing_else_is_exported)
{
    cr_expect_null(dlsym(cu_library, "emu_alloc"));
    cr_expect_null(dlsym(cu_library, "emu_grid_run"));
    cr_expect_null(dlsym(cu_library, "ptx_parse"));
}
