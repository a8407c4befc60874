/* SPDX-License-Identifier: MIT */
/* A debug build ends where a stage is released twice or never. In the kernels themselves
 * the compiler sees that neither happens and leaves the check out, so units of this test do
 * it wrongly, on the emulator. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "build/toolchain.h"
#include "cuda/device.h"

/* %s: what is done to the stages of a ring of two. */
static const char unit[] =
    "#define JG_DEBUG 1\n"
    "#include <jg/debug/track.cuh>\n"
    "extern \"C\" __global__ void holds(const unsigned *two)\n"
    "{\n"
    "    jg::debug::Track track(jg::debug::Role::kMma);\n"
    "    track.next(jg::WorkTile{256, 512, 3});\n"
    "    jg::debug::HeldStages held(jg::debug::Ring::kAccumulators);\n"
    "    %s\n"
    "}\n";

/* As jg/debug/waits.cuh has it. */
struct slot {
    uint32_t state, role, cta, sm, warp, ring, side, stage, parity, row, col, batch,
        rest[4];
};
enum { WORKS = 1, RELEASED_TWICE = 3, NEVER_RELEASED = 4 };

static struct jg_device *open_emulator(void)
{
    struct jg_driver *driver = NULL;
    struct jg_device *device = NULL;
    CUcontext previous = NULL;
    cr_assert_eq(jg_driver_open(EMU_LIBRARY_PATH, NULL, &driver), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_assert_eq(jg_device_open(driver, 1, &device), JIT_GEMM_OK);
    cr_assert_eq(jg_device_enter(device, &previous), JIT_GEMM_OK);
    return device;
}

static struct jg_str compile(const char *text)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    const struct jg_compile_request request = {
        .arch = "sm_90a", .form = JG_FORM_PTX, .text = text, .entry = "holds"};
    struct jg_compile_result result = {0};
    cr_assert_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_OK, "%s",
                 jg_error_text());
    const struct jg_str ptx = result.ptx;
    result.ptx = (struct jg_str){0};
    jg_compile_result_free(&result);
    jg_toolchain_destroy(toolchain);
    return ptx;
}

/* Runs a unit that does this; what warp 1 left in its slot. */
static struct slot run(const char *what, CUresult *ret_result)
{
    char text[sizeof(unit) + 200];
    snprintf(text, sizeof(text), unit, what);
    struct jg_str ptx = compile(text);
    struct jg_device *device = open_emulator();
    const struct jg_driver *cu = device->driver;
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUdeviceptr variable = 0;
    CUdeviceptr two = 0;
    size_t bytes = 0;
    void *memory = NULL;
    const uint32_t value = 2;
    cr_assert_eq(cu->library_load_data(&library, ptx.data, NULL, NULL, 0, NULL, NULL, 0),
                 0);
    cr_assert_eq(cu->library_get_kernel(&kernel, library, "holds"), 0);
    cr_assert_eq(cu->library_get_global(&variable, &bytes, library, "jg_debug_slots"), 0);
    cr_assert_eq(bytes, 8);
    cr_assert_eq(cu->mem_host_alloc(&memory, 1 << 20, CU_MEMHOSTALLOC_DEVICEMAP), 0);
    cr_assert_eq(cu->memcpy_to_device(variable, &memory, 8), 0);
    cr_assert_eq(cu->mem_alloc(&two, 4), 0);
    cr_assert_eq(cu->memcpy_to_device(two, &value, 4), 0);
    const CUlaunchConfig launch = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 64,
                                   .blockDimY = 1,
                                   .blockDimZ = 1};
    void *parameters[] = {&two};
    cr_assert_eq(cu->launch_kernel_ex(&launch, (CUfunction)kernel, parameters, NULL), 0);
    *ret_result = cu->ctx_synchronize();
    struct slot slot;
    memcpy(&slot, (struct slot *)memory + 1, sizeof(slot));
    jg_str_free(&ptx);
    return slot;
}

static void expect_slot(const struct slot *slot, uint32_t state, uint32_t stage)
{
    cr_expect_eq(slot->state, state, "state %u", slot->state);
    cr_expect_eq(slot->stage, stage);
    cr_expect_eq(slot->role, 1);
    cr_expect_eq(slot->warp, 1);
    cr_expect_eq(slot->ring, state == WORKS ? 0 : 2);
    cr_expect(slot->row == 256 && slot->col == 512 && slot->batch == 3);
}

Test(held_stages, right_use_ends_well, .timeout = 60)
{
    CUresult result = CUDA_ERROR_UNKNOWN;
    const struct slot slot = run(
        "held.take(*two - 1); held.take(*two); held.give(1); held.give(*two);", &result);
    cr_expect_eq(result, CUDA_SUCCESS);
    expect_slot(&slot, WORKS, 0);
}

Test(held_stages, second_release_traps, .timeout = 60)
{
    CUresult result = CUDA_SUCCESS;
    const struct slot slot =
        run("held.take(*two); held.give(2); held.give(*two);", &result);
    cr_expect_eq(result, CUDA_ERROR_LAUNCH_FAILED);
    expect_slot(&slot, RELEASED_TWICE, 2);
}

Test(held_stages, stage_kept_to_the_end_traps, .timeout = 60)
{
    CUresult result = CUDA_SUCCESS;
    const struct slot slot =
        run("held.take(*two); held.take(5); held.give(*two);", &result);
    cr_expect_eq(result, CUDA_ERROR_LAUNCH_FAILED);
    expect_slot(&slot, NEVER_RELEASED, 5);
}
