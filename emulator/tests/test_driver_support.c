/* SPDX-License-Identifier: MIT */
#include "test_driver_support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cu_table cu;
void *cu_library;

void open_driver(void)
{
    cu_library = dlopen(EMU_LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(cu_library, "%s", dlerror());
#define RESOLVE(name)                                \
    {                                                \
        void *address = dlsym(cu_library, #name);    \
        cr_assert_not_null(address, "%s", #name);    \
        memcpy(&cu.name, &address, sizeof(address)); \
    }
    CU_FUNCTIONS(RESOLVE)
#undef RESOLVE
}

void start_driver(void)
{
    open_driver();
    ASSERT_CU(cu.cuInit(0));
}

void start_context(void)
{
    CUcontext context = NULL;
    start_driver();
    ASSERT_CU(cu.cuDevicePrimaryCtxRetain(&context, 0));
    ASSERT_CU(cu.cuCtxSetCurrent(context));
}

const char *cu_name_of(CUresult result)
{
    const char *name = NULL;
    cu.cuGetErrorName(result, &name);
    return name == NULL ? "(no name)" : name;
}

void expect_reason(const char *part)
{
    const char *reason = cu.emuLastError();
    cr_expect_not_null(strstr(reason, part), "`%s` is not in `%s`", part, reason);
}

static const char kernel_text[] =
    ".version 9.0\n"
    ".target %s\n"
    ".address_size 64\n"
    ".global .align 4 .u32 table[3] = {5, 6, 7};\n"
    ".global .align 8 .u64 to_table = generic(table);\n"
    ".const .align 4 .u32 seven = 7;\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 count)\n"
    "{\n"
    "  .reg .pred %%p; .reg .b32 %%r<5>; .reg .b64 %%d<8>; .reg .f32 %%f<4>;\n"
    "  mov.u32 %%r1, %%ctaid.x;\n"
    "  mov.u32 %%r2, %%ntid.x;\n"
    "  mov.u32 %%r3, %%tid.x;\n"
    "  mad.lo.s32 %%r1, %%r1, %%r2, %%r3;\n"
    "  ld.param.u32 %%r4, [count];\n"
    "  setp.ge.u32 %%p, %%r1, %%r4;\n"
    "  @%%p bra DONE;\n"
    "  ld.param.u64 %%d1, [a];\n"
    "  ld.param.u64 %%d2, [b];\n"
    "  ld.param.u64 %%d3, [sum];\n"
    "  mul.wide.u32 %%d4, %%r1, 4;\n"
    "  add.s64 %%d1, %%d1, %%d4;\n"
    "  add.s64 %%d2, %%d2, %%d4;\n"
    "  add.s64 %%d3, %%d3, %%d4;\n"
    "  ld.global.f32 %%f1, [%%d1];\n"
    "  ld.global.f32 %%f2, [%%d2];\n"
    "  add.f32 %%f3, %%f1, %%f2;\n"
    "  st.global.f32 [%%d3], %%f3;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry store(.param .u64 to, .param .u32 value)\n"
    "{\n"
    "  .reg .pred %%p; .reg .b32 %%r<4>; .reg .b64 %%d;\n"
    "  mov.u32 %%r1, %%tid.x;\n"
    "  mov.u32 %%r2, %%ctaid.x;\n"
    "  or.b32 %%r1, %%r1, %%r2;\n"
    "  setp.ne.u32 %%p, %%r1, 0;\n"
    "  @%%p bra DONE;\n"
    "  ld.param.u64 %%d, [to];\n"
    "  ld.param.u32 %%r3, [value];\n"
    "  st.global.u32 [%%d], %%r3;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry twice(.param .u64 to)\n"
    ".maxntid 32, 1, 1\n"
    "{\n"
    "  .shared .align 16 .b8 scratch[1024];\n"
    "  .reg .b32 %%r<3>; .reg .b64 %%d<3>;\n"
    "  ld.global.u64 %%d1, [to_table];\n"
    "  st.shared.u32 [scratch+1020], 1;\n"
    "  ld.global.u32 %%r1, [%%d1+4];\n"
    "  ld.const.u32 %%r2, [seven];\n"
    "  mul.lo.s32 %%r1, %%r1, %%r2;\n"
    "  ld.param.u64 %%d2, [to];\n"
    "  st.global.u32 [%%d2], %%r1;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry fixed()\n"
    ".reqntid 64, 2, 1\n"
    "{ ret; }\n"
    ".visible .entry paired()\n"
    ".explicitcluster .reqnctapercluster 2, 1, 1\n"
    "{ ret; }\n"
    ".visible .entry empty() { ret; }\n"
    ".visible .entry traps() { trap; ret; }\n"
    ".visible .entry spins() { L: bra L; ret; }\n"
    ".visible .entry adds(.param .u64 to) { .reg .b64 %%rd<2>; .reg .b32 %%r<2>;\n"
    "  ld.param.u64 %%rd1, [to];\n"
    "  L: atom.global.add.u32 %%r1, [%%rd1], 1; bra L; ret; }\n"
    ".visible .entry unknown() { frobnicate.b32 0; ret; }\n";

char *kernels_for(const char *target)
{
    size_t room = sizeof(kernel_text) + strlen(target);
    char *text = malloc(room);
    cr_assert_not_null(text);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, room, kernel_text, target);
#pragma GCC diagnostic pop
    return text;
}

CUmodule load_kernels(void)
{
    static CUmodule module;
    if (module == NULL) {
        char *text = kernels_for("sm_100a");
        ASSERT_CU(cu.cuModuleLoadData(&module, text));
        free(text);
    }
    return module;
}

CUfunction get_kernel(const char *name)
{
    CUfunction function = NULL;
    ASSERT_CU(cu.cuModuleGetFunction(&function, load_kernels(), name));
    return function;
}

void *wrong_handle(void)
{
    static unsigned char bytes[4096];
    return bytes + 64;
}

CUdeviceptr upload(const void *data, size_t bytes)
{
    CUdeviceptr address = 0;
    ASSERT_CU(cu.cuMemAlloc(&address, bytes));
    ASSERT_CU(cu.cuMemcpyHtoD(address, data, bytes));
    return address;
}
