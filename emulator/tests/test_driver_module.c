/* SPDX-License-Identifier: MIT */
/* Modules, libraries, functions and their attributes. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "test_driver_support.h"
#include "test_fatbin.h"

TestSuite(driver_module, .init = start_context);

Test(driver_module, text_that_is_not_ptx_is_refused_with_its_line)
{
    static const struct {
        const char *text;
        CUresult result;
        const char *reason;
    } cases[] = {
        {"", CUDA_ERROR_INVALID_PTX, "PTX"},
        {"hello", CUDA_ERROR_INVALID_PTX, "1:"},
        {"P", CUDA_ERROR_INVALID_PTX, "PTX"},
        {".version 8.7\n.target sm_100a\n.address_size 64\n.entry k() { ret }",
         CUDA_ERROR_INVALID_PTX, "4:"},
        {"\177ELF\002\001\001", CUDA_ERROR_NO_BINARY_FOR_GPU, "cubin"},
        {".version 8.7\n.target sm_90a\n.address_size 64\n", CUDA_ERROR_NO_BINARY_FOR_GPU,
         "sm_90a does not run on Emulated B200"},
        {".version 8.7\n.target sm_101a\n.address_size 64\n", CUDA_ERROR_NO_BINARY_FOR_GPU,
         "sm_101a"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CUmodule module = wrong_handle();
        EXPECT_CU(cases[i].result, cu.cuModuleLoadData(&module, cases[i].text));
        expect_reason(cases[i].reason);
    }
}

/* ------------------------------------------------------------------------------ fatbins */

static const char *target_of(CUmodule module)
{
    static const char *const names[] = {"sm_90", "sm_90a", "sm_100a"};
    static const char *const entries[] = {"old", "h200", "b200"};
    CUfunction function = NULL;
    for (size_t i = 0; i < 3; i++) {
        if (cu.cuModuleGetFunction(&function, module, entries[i]) == CUDA_SUCCESS) {
            return names[i];
        }
    }
    return "none";
}

#define EMPTY_PTX(target, entry)                                                 \
    ".version 9.0\n.target " target "\n.address_size 64\n.visible .entry " entry \
    "() { ret; }\n"

Test(driver_module, of_a_fatbin_the_ptx_that_fits_best_is_taken)
{
    static struct fatbin fatbin;
    fatbin_add(&fatbin, FATBIN_CUBIN, 0, "\177ELF");
    fatbin_add(&fatbin, FATBIN_PTX, 0, EMPTY_PTX("sm_100a", "b200"));
    fatbin_add(&fatbin, FATBIN_PTX, 0, EMPTY_PTX("sm_90", "old"));
    fatbin_add(&fatbin, FATBIN_PTX, 0, EMPTY_PTX("sm_90a", "h200"));
    const struct fatbin_wrapper wrapper = fatbin_wrap(&fatbin);
    const char *const expected[] = {"sm_100a", "sm_90a"};

    for (int ordinal = 0; ordinal < 2; ordinal++) {
        CUcontext context = NULL;
        CUmodule module = NULL;
        ASSERT_CU(cu.cuCtxCreate(&context, NULL, 0, ordinal));

        ASSERT_CU(cu.cuModuleLoadData(&module, &wrapper));
        cr_expect_str_eq(target_of(module), expected[ordinal]);
        ASSERT_CU(cu.cuModuleLoadData(&module, fatbin.bytes));
        cr_expect_str_eq(target_of(module), expected[ordinal]);
    }
}

/* A frame of Zstandard with one block that is not compressed. */
static size_t make_frame(unsigned char *frame, const char *text)
{
    const size_t bytes = strlen(text);
    const unsigned block = (unsigned)bytes << 3 | 1; /* the last, raw */
    const unsigned char head[] = {0x28, 0xB5, 0x2F, 0xFD, 0xA0};
    memcpy(frame, head, sizeof(head));
    for (unsigned i = 0; i < 4; i++) {
        frame[5 + i] = (unsigned char)(bytes >> 8 * i);
    }
    for (unsigned i = 0; i < 3; i++) {
        frame[9 + i] = (unsigned char)(block >> 8 * i);
    }
    memcpy(frame + 12, text, bytes);
    return 12 + bytes;
}

Test(driver_module, compressed_ptx_of_a_fatbin_is_expanded)
{
    static const char text[] = EMPTY_PTX("sm_100a", "b200");
    static struct fatbin fatbin;
    static struct fatbin damaged;
    unsigned char frame[512];
    const size_t bytes = make_frame(frame, text);
    fatbin_add_bytes(&fatbin, FATBIN_PTX, FATBIN_ZSTD, frame, bytes, strlen(text));
    fatbin_add_bytes(&damaged, FATBIN_PTX, FATBIN_ZSTD, frame, bytes, strlen(text) - 1);
    CUmodule module = NULL;
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    if (library == NULL) {
        EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadData(&module, fatbin.bytes));
        expect_reason("no libzstd.so.1");
        return;
    }

    ASSERT_CU(cu.cuModuleLoadData(&module, fatbin.bytes));
    cr_expect_str_eq(target_of(module), "sm_100a");
    EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadData(&module, damaged.bytes));
    expect_reason("damaged");
}

Test(driver_module, a_fatbin_without_usable_ptx_says_how_to_compile)
{
    static struct fatbin fatbins[5];
    static const struct {
        CUresult result;
        const char *reason;
    } expected[] = {
        {CUDA_ERROR_NO_BINARY_FOR_GPU, "arch=compute_100a,code=compute_100a --no-compress"},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, "LZ4, which is not supported; compile with `nvcc "
                                       "--no-compress`"},
        {CUDA_ERROR_INVALID_PTX, "PTX 1:1"},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, "sm_90a does not run"},
        {CUDA_ERROR_INVALID_IMAGE, "broken"},
    };
    fatbin_add(&fatbins[0], FATBIN_CUBIN, 0, "\177ELF");
    fatbin_add(&fatbins[1], FATBIN_PTX, FATBIN_LZ4, "hello");
    fatbin_add(&fatbins[2], FATBIN_PTX, 0, "hello");
    fatbin_add(&fatbins[3], FATBIN_PTX, 0, EMPTY_PTX("sm_90a", "h200"));
    fatbin_add(&fatbins[4], FATBIN_PTX, 0, EMPTY_PTX("sm_90", "old"));
    fatbins[4].bytes[16 + 8] = 0xFF;

    for (size_t i = 0; i < 5; i++) {
        CUmodule module = NULL;
        EXPECT_CU(expected[i].result, cu.cuModuleLoadData(&module, fatbins[i].bytes));
        expect_reason(expected[i].reason);
    }
}

Test(driver_module, older_targets_run_on_newer_devices)
{
    static const struct {
        const char *target;
        int runs[2];
    } cases[] = {{"sm_50", {1, 1}},   {"sm_80", {1, 1}},   {"sm_90", {1, 1}},
                 {"sm_90a", {0, 1}},  {"sm_100", {1, 0}},  {"sm_100a", {1, 0}},
                 {"sm_100f", {1, 0}}, {"sm_103f", {0, 0}}, {"sm_120", {0, 0}}};
    for (int ordinal = 0; ordinal < 2; ordinal++) {
        CUcontext context = NULL;
        ASSERT_CU(cu.cuCtxCreate(&context, NULL, 0, ordinal));
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            CUmodule module = NULL;
            char *text = kernels_for(cases[i].target);
            CUresult result = cu.cuModuleLoadData(&module, text);
            cr_expect_eq(result,
                         cases[i].runs[ordinal] ? CUDA_SUCCESS
                                                : CUDA_ERROR_NO_BINARY_FOR_GPU,
                         "%s on %d: %s", cases[i].target, ordinal, cu_name_of(result));
            free(text);
        }
    }
}

Test(driver_module, errors_are_written_into_the_log)
{
    char buffer[64] = "before";
    CUmodule module = NULL;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_MAX_REGISTERS};
    void *values[] = {buffer, (void *)(uintptr_t)sizeof(buffer), (void *)(uintptr_t)32};

    EXPECT_CU(CUDA_ERROR_INVALID_PTX,
              cu.cuModuleLoadDataEx(&module, ".version 8.7\n.target sm_100a\n@@", 3,
                                    options, values));
    cr_expect_not_null(strstr(buffer, "3:"), "%s", buffer);
    cr_expect_eq((uintptr_t)values[1], strlen(buffer));

    char *text = kernels_for("sm_100a");
    values[1] = (void *)(uintptr_t)sizeof(buffer);
    EXPECT_CU(CUDA_SUCCESS, cu.cuModuleLoadDataEx(&module, text, 3, options, values));
    cr_expect_str_eq(buffer, "");
    options[2] = (CUjit_option)4711;
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuModuleLoadDataEx(&module, text, 3, options, values));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuModuleLoadDataEx(&module, text, 1, NULL, NULL));
    free(text);
}

Test(driver_module, functions_are_found_and_what_cannot_run_is_named)
{
    CUmodule module = load_kernels();
    CUmodule back = NULL;
    CUfunction first = NULL;
    CUfunction second = NULL;
    const char *name = NULL;

    ASSERT_CU(cu.cuModuleGetFunction(&first, module, "add"));
    ASSERT_CU(cu.cuModuleGetFunction(&second, module, "add"));
    cr_expect_eq(first, second);
    ASSERT_CU(cu.cuFuncGetName(&name, first));
    cr_expect_str_eq(name, "add");
    ASSERT_CU(cu.cuFuncGetModule(&back, first));
    cr_expect_eq(back, module);

    EXPECT_CU(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction(&second, module, "subtract"));
    EXPECT_CU(CUDA_ERROR_NOT_SUPPORTED, cu.cuModuleGetFunction(&second, module, "unknown"));
    expect_reason("unknown");
    expect_reason("frobnicate");

    ASSERT_CU(cu.cuModuleUnload(module));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleGetFunction(&second, module, "add"));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuFuncGetName(&name, first));
}

Test(driver_module, variables_are_initialised_and_relocated)
{
    CUdeviceptr table = 0;
    CUdeviceptr pointer = 0;
    CUdeviceptr value = 0;
    size_t bytes = 0;
    unsigned numbers[3] = {0};
    ASSERT_CU(cu.cuModuleGetGlobal(&table, &bytes, load_kernels(), "table"));
    cr_expect_eq(bytes, 12);
    ASSERT_CU(cu.cuMemcpyDtoH(numbers, table, 12));
    cr_expect_eq(numbers[0], 5);
    cr_expect_eq(numbers[2], 7);
    ASSERT_CU(cu.cuModuleGetGlobal(&pointer, NULL, load_kernels(), "to_table"));
    ASSERT_CU(cu.cuMemcpyDtoH(&value, pointer, 8));
    cr_expect_eq(value, table);
    EXPECT_CU(CUDA_ERROR_NOT_FOUND,
              cu.cuModuleGetGlobal(&table, &bytes, load_kernels(), "chair"));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(table));

    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    ASSERT_CU(cu.cuMemGetInfo(&before, &total));
    ASSERT_CU(cu.cuModuleUnload(load_kernels()));
    ASSERT_CU(cu.cuMemGetInfo(&after, &total));
    cr_expect_eq(after - before, 12 + 8 + 4);
}

Test(driver_module, external_variables_are_not_linked)
{
    CUmodule module = NULL;
    EXPECT_CU(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
              cu.cuModuleLoadData(&module,
                                  ".version 8.7\n.target sm_100a\n.address_size 64\n"
                                  ".extern .global .align 4 .u32 elsewhere;\n"));
    expect_reason("elsewhere");
}

Test(driver_module, attributes_of_a_function)
{
    static const struct {
        const char *kernel;
        CUfunction_attribute attribute;
        int value;
    } cases[] = {
        {"add", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {"add", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0},
        {"add", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152},
        {"add", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 0},
        {"add", CU_FUNC_ATTRIBUTE_NUM_REGS, 64},
        {"add", CU_FUNC_ATTRIBUTE_PTX_VERSION, 100},
        {"add", CU_FUNC_ATTRIBUTE_BINARY_VERSION, 100},
        {"add", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 0},
        {"add", CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 4},
        {"twice", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 32},
        {"twice", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1024},
        {"twice", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 48128},
        {"twice", CU_FUNC_ATTRIBUTE_NUM_REGS, 255},
        {"fixed", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 128},
        {"paired", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2},
        {"paired", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int value = -1;
        ASSERT_CU(
            cu.cuFuncGetAttribute(&value, cases[i].attribute, get_kernel(cases[i].kernel)));
        cr_expect_eq(value, cases[i].value, "%s, attribute %d: %d", cases[i].kernel,
                     (int)cases[i].attribute, value);
    }
}

Test(driver_module, parameters_of_a_function)
{
    size_t offset = 99;
    size_t bytes = 99;
    CUfunction add = get_kernel("add");
    ASSERT_CU(cu.cuFuncGetParamInfo(add, 3, &offset, &bytes));
    cr_expect_eq(offset, 24);
    cr_expect_eq(bytes, 4);
    ASSERT_CU(cu.cuFuncGetParamInfo(add, 1, &offset, NULL));
    cr_expect_eq(offset, 8);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuFuncGetParamInfo(add, 4, &offset, &bytes));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.cuFuncGetParamInfo(add, 0, NULL, &bytes));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE,
              cu.cuKernelGetParamInfo((CUkernel)wrong_handle(), 0, &offset, &bytes));
}

Test(driver_module, attributes_that_can_be_set_and_those_that_cannot)
{
    CUfunction twice = get_kernel("twice");
    int value = 0;
    ASSERT_CU(cu.cuFuncSetAttribute(twice, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    231424));
    ASSERT_CU(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    twice));
    cr_expect_eq(value, 231424);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuFuncSetAttribute(twice, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    231425));
    expect_reason("231424");
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuFuncSetAttribute(twice, CU_FUNC_ATTRIBUTE_NUM_REGS, 8));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuFuncGetAttribute(&value, (CUfunction_attribute)99, twice));
    ASSERT_CU(cu.cuFuncSetAttribute(
        twice, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuFuncSetAttribute(get_kernel("paired"),
                                    CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4));
    EXPECT_CU(CUDA_SUCCESS, cu.cuFuncSetCacheConfig(twice, CU_FUNC_CACHE_PREFER_SHARED));
}

Test(driver_module, library_has_a_function_in_each_context)
{
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUkernel again = NULL;
    CUfunction first = NULL;
    CUfunction second = NULL;
    CUcontext other = NULL;
    CUmodule module = NULL;
    const char *name = NULL;
    char *text = kernels_for("sm_90");
    ASSERT_CU(cu.cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    free(text);
    ASSERT_CU(cu.cuLibraryGetKernel(&kernel, library, "twice"));
    ASSERT_CU(cu.cuLibraryGetKernel(&again, library, "twice"));
    cr_expect_eq(kernel, again);
    ASSERT_CU(cu.cuKernelGetName(&name, kernel));
    cr_expect_str_eq(name, "twice");
    EXPECT_CU(CUDA_ERROR_NOT_FOUND, cu.cuLibraryGetKernel(&again, library, "thrice"));
    EXPECT_CU(CUDA_ERROR_NOT_SUPPORTED, cu.cuLibraryGetKernel(&again, library, "unknown"));

    ASSERT_CU(cu.cuKernelGetFunction(&first, kernel));
    ASSERT_CU(cu.cuCtxCreate(&other, NULL, 0, 1));
    ASSERT_CU(cu.cuKernelGetFunction(&second, kernel));
    cr_expect_neq(first, second);
    ASSERT_CU(cu.cuLibraryGetModule(&module, library));
    EXPECT_CU(CUDA_ERROR_NOT_PERMITTED, cu.cuModuleUnload(module));

    ASSERT_CU(cu.cuLibraryUnload(library));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuKernelGetFunction(&first, kernel));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuLibraryUnload(library));
    EXPECT_CU(CUDA_ERROR_INVALID_HANDLE, cu.cuFuncGetName(&name, second));
}

Test(driver_module, kernel_attributes_are_kept_by_device)
{
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUfunction function = NULL;
    int value = 0;
    char *text = kernels_for("sm_90");
    ASSERT_CU(cu.cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    free(text);
    ASSERT_CU(cu.cuLibraryGetKernel(&kernel, library, "twice"));
    const CUfunction_attribute bytes = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;

    ASSERT_CU(cu.cuKernelSetAttribute(bytes, 100000, kernel, 0));
    ASSERT_CU(cu.cuKernelGetAttribute(&value, bytes, kernel, 0));
    cr_expect_eq(value, 100000);
    ASSERT_CU(cu.cuKernelGetAttribute(&value, bytes, kernel, 1));
    cr_expect_eq(value, 48128);
    ASSERT_CU(cu.cuKernelGetFunction(&function, kernel));
    ASSERT_CU(cu.cuFuncGetAttribute(&value, bytes, function));
    cr_expect_eq(value, 100000);
    ASSERT_CU(cu.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, kernel, 1));
    cr_expect_eq(value, 90);
    EXPECT_CU(CUDA_ERROR_INVALID_DEVICE, cu.cuKernelGetAttribute(&value, bytes, kernel, 2));
}

Test(driver_module, library_for_the_other_device_is_refused_where_it_is_used)
{
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUfunction function = NULL;
    char *text = kernels_for("sm_90a");
    EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU,
              cu.cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));

    ASSERT_CU(cu.cuCtxSetCurrent(NULL));
    ASSERT_CU(cu.cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    ASSERT_CU(cu.cuLibraryGetKernel(&kernel, library, "add"));
    CUcontext context = NULL;
    ASSERT_CU(cu.cuCtxCreate(&context, NULL, 0, 0));
    EXPECT_CU(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuKernelGetFunction(&function, kernel));
    expect_reason("sm_90a");
    ASSERT_CU(cu.cuCtxCreate(&context, NULL, 0, 1));
    EXPECT_CU(CUDA_SUCCESS, cu.cuKernelGetFunction(&function, kernel));
    free(text);
}
