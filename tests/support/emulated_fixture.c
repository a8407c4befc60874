/* SPDX-License-Identifier: MIT */
#include "emulated_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const emulated_archs[EMULATED_ARCHS] = {"sm_90a", "sm_100a"};

void emulated_check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

jit_gemm_context *emulated_open(const char *arch, const char *settings)
{
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache =
                                                  getenv("JIT_GEMM_CACHE_DIR") == NULL};
    jit_gemm_context *context = NULL;
    setenv("JIT_GEMM_EMULATOR", settings, 1);
    emulated_check(jit_gemm_context_create(&options, &context));
    return context;
}

void emulated_settings_of(int seed, char settings[EMULATED_SETTINGS_BYTES])
{
    static const char *const times[] = {"latest", "random", "reorder", "eager"};
    static const char *const turns[] = {"fair", "starve", "deep", "random"};
    snprintf(settings, EMULATED_SETTINGS_BYTES, "sms=4,async=%s,schedule=%s,seed=%d",
             times[seed % 4], turns[(seed + seed / 4) % 4], seed);
}

struct emulated_seeds emulated_seeds(int count)
{
    const char *wanted = getenv("JIT_GEMM_TEST_SEEDS");
    const char *first = getenv("JIT_GEMM_TEST_SEED");
    return (struct emulated_seeds){
        .first = first == NULL ? 0 : (int)strtol(first, NULL, 10),
        .count = wanted == NULL ? count : (int)strtol(wanted, NULL, 10),
        .all = wanted != NULL};
}

jit_gemm_problem emulated_problem(const char *text)
{
    jit_gemm_problem problem;
    emulated_check(jit_gemm_problem_parse(text, &problem));
    return problem;
}

jit_gemm *emulated_create(jit_gemm_context *context, const jit_gemm_problem *problem)
{
    jit_gemm *gemm = NULL;
    const jit_gemm_status status = jit_gemm_create(context, problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    emulated_check(status);
    return gemm;
}

uint64_t emulated_upload(jit_gemm_context *context, const void *data, size_t bytes)
{
    uint64_t address = 0;
    emulated_check(jit_gemm_device_alloc(context, bytes, &address));
    emulated_check(jit_gemm_device_upload(context, address, data, bytes));
    return address;
}

void emulated_free(jit_gemm_context *context, uint64_t address)
{
    if (address != 0) {
        emulated_check(jit_gemm_device_free(context, address));
    }
}

void emulated_expect_equal(const char *what, const float *got, const float *wanted,
                           int count)
{
    for (int i = 0; i < count; i++) {
        cr_assert(isnan(wanted[i]) ? isnan(got[i])
                                   : got[i] >= wanted[i] && got[i] <= wanted[i],
                  "%s %d: %g, not %g", what, i, (double)got[i], (double)wanted[i]);
    }
}

double emulated_dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

void emulated_expect_half_of_c(jit_gemm_context *context, const char *text)
{
    const jit_gemm_problem problem = emulated_problem(text);
    const size_t count = (size_t)(problem.m.size * problem.n.size);
    const size_t bytes = count * sizeof(float);
    float *c = malloc(bytes), *d = malloc(bytes);
    cr_assert_not_null(c);
    cr_assert_not_null(d);
    for (size_t i = 0; i < count; i++) {
        c[i] = (float)(i % 97) - 48;
    }
    memset(d, 0xff, bytes);
    const float half = 0.5F;
    jit_gemm *gemm = emulated_create(context, &problem);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(gemm, &info));
    unsigned char *zeros = calloc(info.workspace_bytes + 1, 1);
    cr_assert_not_null(zeros);
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .k = JIT_GEMM_SIZE_EMPTY,
        .workspace = info.workspace_bytes == 0
                         ? 0
                         : emulated_upload(context, zeros, info.workspace_bytes),
        .c = {.pointer = emulated_upload(context, c, bytes)},
        .d = {.pointer = emulated_upload(context, d, bytes)},
        .beta = &half};
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_device_download(context, d, args.d.pointer, bytes));
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const float wanted = half * c[i];
        wrong += memcmp(&d[i], &wanted, sizeof(wanted)) != 0;
    }
    cr_expect_eq(wrong, 0, "%s: %zu elements are wrong", text, wrong);
    emulated_free(context, args.c.pointer);
    emulated_free(context, args.d.pointer);
    emulated_free(context, args.workspace);
    jit_gemm_destroy(&gemm);
    free(zeros);
    free(c);
    free(d);
}
