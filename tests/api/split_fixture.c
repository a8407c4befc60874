/* SPDX-License-Identifier: MIT */
#include "split_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/convert.h"
#include "jit_gemm/device.h"

void split_check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

/* `whole`: small integers, of which every sum is exact. */
static uint64_t make_inputs(jit_gemm_context *context, size_t count, unsigned seed,
                            int whole)
{
    uint16_t *elements = malloc(count * sizeof(*elements));
    cr_assert_not_null(elements);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float value = whole ? (float)((int)(seed >> 24) % 5 - 2)
                                  : (float)(int)(seed >> 8) / 16777216.0F - 0.5F;
        elements[i] = jit_gemm_bf16_from_float(value);
    }
    uint64_t address = 0;
    split_check(jit_gemm_device_alloc(context, count * sizeof(*elements), &address));
    split_check(
        jit_gemm_device_upload(context, address, elements, count * sizeof(*elements)));
    free(elements);
    return address;
}

void split_open(struct split_fixture *fixture, const char *arch, const char *settings,
                int whole)
{
    setenv("JIT_GEMM_EMULATOR", settings, 1);
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache = 1};
    split_check(jit_gemm_context_create(&options, &fixture->context));
    fixture->a = make_inputs(fixture->context, (size_t)M * K, 1, whole);
    fixture->b = make_inputs(fixture->context, (size_t)N * K, 2, whole);
    split_check(jit_gemm_device_alloc(fixture->context, (size_t)M * N * sizeof(float),
                                      &fixture->d));
}

void split_close(struct split_fixture *fixture)
{
    split_check(jit_gemm_device_free(fixture->context, fixture->a));
    split_check(jit_gemm_device_free(fixture->context, fixture->b));
    split_check(jit_gemm_device_free(fixture->context, fixture->d));
    jit_gemm_context_destroy(&fixture->context);
}

jit_gemm *split_create(const struct split_fixture *fixture, const char *text)
{
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    split_check(jit_gemm_problem_parse(text, &problem));
    const jit_gemm_status status = jit_gemm_create(fixture->context, &problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    split_check(status);
    return gemm;
}

struct split_workspace split_make_workspace(const struct split_fixture *fixture,
                                            size_t bytes)
{
    struct split_workspace workspace = {.bytes = bytes};
    jit_gemm_context *context = fixture->context;
    split_check(jit_gemm_device_alloc(context, bytes + 2 * (size_t)GUARD, &workspace.base));
    workspace.address = workspace.base + GUARD;
    split_check(jit_gemm_device_fill(context, workspace.base, GUARD_BYTE,
                                     bytes + 2 * (size_t)GUARD));
    split_check(jit_gemm_device_fill(context, workspace.address, 0, bytes));
    return workspace;
}

static void expect_bytes(const struct split_fixture *fixture, uint64_t address,
                         size_t count, unsigned char value, const char *what)
{
    unsigned char *bytes = malloc(count);
    cr_assert_not_null(bytes);
    split_check(jit_gemm_device_download(fixture->context, bytes, address, count));
    size_t same = 0;
    while (same < count && bytes[same] == value) {
        same++;
    }
    cr_expect_eq(same, count, "%s: byte %zu is %02x", what, same, bytes[same % count]);
    free(bytes);
}

void split_expect_kept(const struct split_fixture *fixture,
                       const struct split_workspace *workspace)
{
    expect_bytes(fixture, workspace->base, GUARD, GUARD_BYTE, "before the workspace");
    expect_bytes(fixture, workspace->address + workspace->bytes, GUARD, GUARD_BYTE,
                 "behind the workspace");
    expect_bytes(fixture, workspace->address, LOCK_BYTES, 0, "locks");
}

/* D of a launch over K from block `first` on, as floats that the caller frees. */
float *split_run(const struct split_fixture *fixture, const jit_gemm *gemm, int64_t first,
                 int64_t k, uint64_t workspace)
{
    jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = fixture->a + (uint64_t)first * BLOCK * 2, .ld = K},
        .b = {.pointer = fixture->b + (uint64_t)first * BLOCK * 2, .ld = K},
        .d = {.pointer = fixture->d},
        .k = k,
        .workspace = workspace};
    const size_t bytes = (size_t)M * N * sizeof(float);
    split_check(jit_gemm_device_fill(fixture->context, fixture->d, 0xFF, bytes));
    split_check(jit_gemm_run(gemm, &args, NULL));
    split_check(jit_gemm_device_synchronize(fixture->context));
    float *values = malloc(bytes);
    cr_assert_not_null(values);
    split_check(jit_gemm_device_download(fixture->context, values, fixture->d, bytes));
    return values;
}

size_t split_workspace_bytes(const jit_gemm *gemm)
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    split_check(jit_gemm_get_info(gemm, &info));
    return (size_t)info.workspace_bytes;
}

size_t split_first_difference(const float *x, const float *y)
{
    size_t i = 0;
    while (i < (size_t)M * N && memcmp(&x[i], &y[i], sizeof(x[i])) == 0) {
        i++;
    }
    return i;
}
