/* SPDX-License-Identifier: MIT */
/* Stages in hand go back once, whichever way a scope ends. Units of jg/pipeline/held_stages
 * with a view that writes down what is taken and given back, on the emulator. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "compile/toolchain.h"
#include "cuda/device.h"

enum { LOG_SIZE = 32, GIVEN_BACK = 100 };

/* The view's stages count up from 0. %s: what is done with them. */
static const char unit[] =
    "#include <jg/pipeline/held_stages.cuh>\n"
    "using namespace jg;\n"
    "struct View {\n"
    "    u32 *log;\n"
    "    u32 next = 0, size = 0;\n"
    "    JG_DEVICE void note(u32 what) { log[size++] = what; }\n"
    "    JG_DEVICE u32 wait() { note(next); return next++; }\n"
    "    JG_DEVICE void release(u32 stage) { note(100 + stage); }\n"
    "    JG_DEVICE HeldStages<View> acquire() { return HeldStages<View>(*this); }\n"
    "};\n"
    "extern \"C\" __global__ void holds(u32 *log, u32 two)\n"
    "{\n"
    "    View view{log};\n"
    "    %s\n"
    "}\n";

static jit_gemm_status compile(const char *body, struct jg_str *ret_ptx)
{
    char text[sizeof(unit) + 400];
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    snprintf(text, sizeof(text), unit, body);
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    const struct jg_compile_request request = {
        .arch = "sm_90a", .code_kind = JG_CODE_PTX, .text = text, .entry = "holds"};
    struct jg_compile_result result = {0};
    const jit_gemm_status status = compiler->compile(compiler, &request, &result);
    *ret_ptx = result.ptx;
    result.ptx = (struct jg_str){0};
    jg_compile_result_free(&result);
    jg_toolchain_destroy(toolchain);
    return status;
}

/* What a unit that does this takes and gives back, in order: 0 for stage 0, 100 when it is
 * given back. */
static void expect_log(const char *body, const uint32_t *expected, size_t count)
{
    struct jg_str ptx;
    cr_assert_eq(compile(body, &ptx), JIT_GEMM_OK, "%s", jg_error_text());
    struct jg_driver *driver = NULL;
    struct jg_device *device = NULL;
    CUcontext previous = NULL;
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUdeviceptr log = 0;
    uint32_t two = 2;
    uint32_t seen[LOG_SIZE];
    memset(seen, 0xff, sizeof(seen));
    cr_assert_eq(jg_driver_open(EMU_LIBRARY_PATH, NULL, &driver), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_assert_eq(jg_device_open(driver, 1, &device), JIT_GEMM_OK);
    cr_assert_eq(jg_device_enter(device, &previous), JIT_GEMM_OK);
    cr_assert_eq(
        driver->library_load_data(&library, ptx.data, NULL, NULL, 0, NULL, NULL, 0), 0);
    cr_assert_eq(driver->library_get_kernel(&kernel, library, "holds"), 0);
    cr_assert_eq(driver->mem_alloc(&log, sizeof(seen)), 0);
    cr_assert_eq(driver->memcpy_to_device(log, seen, sizeof(seen)), 0);
    const CUlaunchConfig launch = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 1,
                                   .blockDimY = 1,
                                   .blockDimZ = 1};
    void *parameters[] = {&log, &two};

    cr_assert_eq(driver->launch_kernel_ex(&launch, (CUfunction)kernel, parameters, NULL),
                 0);
    cr_assert_eq(driver->memcpy_to_host(seen, log, sizeof(seen)), 0);

    for (size_t i = 0; i < LOG_SIZE; i++) {
        const uint32_t wanted = i < count ? expected[i] : UINT32_MAX;
        cr_expect_eq(seen[i], wanted, "entry %zu is %u, not %u, of: %s", i, seen[i], wanted,
                     body);
    }
    jg_str_free(&ptx);
}

#define EXPECT_LOG(body, ...)                                               \
    do {                                                                    \
        const uint32_t expected[] = {__VA_ARGS__};                          \
        expect_log(body, expected, sizeof(expected) / sizeof(expected[0])); \
    } while (0)

Test(held_stages, stage_goes_back_when_its_scope_ends, .timeout = 60)
{
    EXPECT_LOG("for (u32 i = 0; i < two; ++i) { auto stage = view.acquire();\n"
               "    if (i == 1) { continue; } view.note(50); }",
               0, 50, GIVEN_BACK, 1, GIVEN_BACK + 1);
}

Test(held_stages, early_release_is_the_only_one, .timeout = 60)
{
    EXPECT_LOG("auto stage = view.acquire();\n"
               "for (u32 i = 0; i < two; ++i) { if (i + 1 == two) { stage.release(); } }\n"
               "view.note(50);",
               0, GIVEN_BACK, 50);
}

Test(held_stages, replacing_gives_back_what_was_held_before, .timeout = 60)
{
    EXPECT_LOG(
        "HeldStages<View> held(view, HoldNothing());\n"
        "for (u32 i = 0; i < two; ++i) { auto stage = view.acquire(); view.note(50);\n"
        "    held.replace_by(stage); }\n"
        "view.note(51);",
        0, 50, 1, 50, GIVEN_BACK, 51, GIVEN_BACK + 1);
}

Test(held_stages, only_stages_that_were_taken_go_back, .timeout = 60)
{
    EXPECT_LOG("HeldStages<View, 3, 1> stages(view, two == 2);", 0, 1, 2, GIVEN_BACK,
               GIVEN_BACK + 1, GIVEN_BACK + 2);
    EXPECT_LOG("HeldStages<View, 3, 1> stages(view, two != 2);\n"
               "view.note(50 + stages.has(0)); view.note(50 + stages.index(2));",
               0, 1, 50, 51, GIVEN_BACK, GIVEN_BACK + 1);
}

Test(held_stages, copy_is_refused, .timeout = 60)
{
    struct jg_str ptx;
    cr_expect_eq(
        compile("auto stage = view.acquire(); HeldStages<View> copy = stage;", &ptx),
        JIT_GEMM_ERR_COMPILE);
    jg_str_free(&ptx);
}
