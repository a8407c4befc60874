/* SPDX-License-Identifier: MIT */
/* The random numbers of snippets: the same for an element in every kernel of both chips,
 * and for every seed that 32 bits can be. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/device.h"
#include "verify/random.h"

enum { M = 72, N = 40, K = 128, BATCH = 2, ELEMENTS = M * N * BATCH };

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

struct fixture {
    jit_gemm_context *context;
    uint64_t a, b, d, seed, workspace;
};

static uint64_t allocate(const struct fixture *fixture, size_t bytes)
{
    uint64_t address = 0;
    check(jit_gemm_device_alloc(fixture->context, bytes, &address));
    check(jit_gemm_device_fill(fixture->context, address, 0, bytes));
    return address;
}

static void open_fixture(struct fixture *fixture, const char *arch, const char *emulator)
{
    const jit_gemm_operand seed = {
        .name = "seed", .kind = JIT_GEMM_OPERAND_SCALAR, .dtype = JIT_GEMM_DTYPE_F32};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "numbers",
                                        .source = "d = acc + uniform(seed);",
                                        .operand_count = 1,
                                        .operands = &seed};
    setenv("JIT_GEMM_EMULATOR", emulator, 1);
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = arch, .driver = EMU_LIBRARY_PATH};
    check(jit_gemm_context_create(&options, &fixture->context));
    check(jit_gemm_epilogue_register(fixture->context, &epilogue));
    fixture->a = allocate(fixture, 2 * M * K * BATCH); /* zeros: acc is 0 */
    fixture->b = allocate(fixture, 2 * K * N * BATCH);
    fixture->d = allocate(fixture, 4 * ELEMENTS);
    fixture->seed = allocate(fixture, 4);
    fixture->workspace = allocate(fixture, 1 << 20);
}

static void close_fixture(struct fixture *fixture)
{
    const uint64_t addresses[] = {fixture->a, fixture->b, fixture->d, fixture->seed,
                                  fixture->workspace};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        check(jit_gemm_device_free(fixture->context, addresses[i]));
    }
    jit_gemm_context_destroy(&fixture->context);
}

static jit_gemm *create(const struct fixture *fixture, const char *more)
{
    char text[256];
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    snprintf(text, sizeof(text), "%dx%dx%d bf16 d=f32 batch=%d epilogue=numbers %s", M, N,
             K, BATCH, more);
    check(jit_gemm_problem_parse(text, &problem));
    check(jit_gemm_create(fixture->context, &problem, &gemm));
    return gemm;
}

static void expect_numbers(const struct fixture *fixture, const jit_gemm *gemm,
                           uint32_t bits, bool is_on_device, const char *what)
{
    static float got[ELEMENTS];
    jit_gemm_arg seed = {0};
    if (is_on_device) {
        check(jit_gemm_device_upload(fixture->context, fixture->seed, &bits, sizeof(bits)));
        seed.pointer = fixture->seed;
        seed.batch_stride = JIT_GEMM_STRIDE_BROADCAST;
    } else {
        memcpy(&seed.value, &bits, sizeof(bits));
    }
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = fixture->a},
                                .b = {.pointer = fixture->b},
                                .d = {.pointer = fixture->d},
                                .operands = &seed,
                                .operand_count = 1,
                                .workspace = fixture->workspace};
    check(jit_gemm_run(gemm, &args, NULL));
    check(jit_gemm_device_download(fixture->context, got, fixture->d, sizeof(got)));
    const bool is_column_major = strstr(what, "d_layout=column") != NULL;
    int wrong = 0;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const uint32_t batch = i / (M * N);
        const uint32_t outer = i % (M * N) / (is_column_major ? M : N);
        const uint32_t inner = i % (is_column_major ? M : N);
        const double want = random_uniform(bits, is_column_major ? inner : outer,
                                           is_column_major ? outer : inner, batch);
        wrong += (double)got[i] != want;
    }
    cr_expect_eq(wrong, 0, "%s, seed %08x %s: %d of %d numbers are wrong", what, bits,
                 is_on_device ? "on the device" : "by value", wrong, ELEMENTS);
}

static void expect_in_every_kernel(const char *arch, const char *emulator,
                                   const char *const *kernels)
{
    struct fixture fixture;
    open_fixture(&fixture, arch, emulator);
    for (; *kernels != NULL; kernels++) {
        jit_gemm *gemm = create(&fixture, *kernels);
        expect_numbers(&fixture, gemm, 0x12345678, false, *kernels);
        jit_gemm_destroy(&gemm);
    }
    close_fixture(&fixture);
}

Test(random_numbers, are_those_of_the_element_in_every_kernel_of_sm_90a)
{
    static const char *const kernels[] = {"",
                                          "config=tile=64x128 cluster=1x1",
                                          "d_layout=column",
                                          "config=split_k=2",
                                          "output_align=4",
                                          "config=kernel=reference",
                                          NULL};
    expect_in_every_kernel("sm_90a", "sms=2", kernels);
}

/* Where each CTA has one small tile. */
Test(random_numbers, drawn_before_the_products_are_the_same)
{
    static const char *const kernels[] = {"config=tile=64x64 cluster=1x1",
                                          "config=tile=64x128 cluster=1x1",
                                          "config=tile=64x32 cluster=1x1 swap_ab=1",
                                          "config=tile=128x128 cluster=1x1",
                                          "d_layout=column config=tile=64x64 cluster=1x1",
                                          "output_align=4 config=tile=64x64 cluster=1x1",
                                          NULL};
    expect_in_every_kernel("sm_90a", "sms=8", kernels);
}

Test(random_numbers, are_those_of_the_element_in_every_kernel_of_sm_100a)
{
    static const char *const kernels[] = {
        "config=mma=128x32 swap_ab=0", "config=mma=64x40 swap_ab=1",
        "d_layout=column config=mma=128x64 swap_ab=0", "output_align=4", NULL};
    expect_in_every_kernel("sm_100a", "sms=2", kernels);
}

/* Denormals, both zeros, infinities, and NaN of both kinds with any payload. */
Test(random_numbers, all_bits_of_a_seed_arrive)
{
    static const uint32_t seeds[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff,
                                     0x7f800000, 0xff800000, 0x7f800001, 0xffbfffff,
                                     0x7fc00000, 0xffffffff};
    static const char *const archs[] = {"sm_90a", "sm_90a", "sm_100a"};
    static const char *const emulators[] = {"sms=2", "sms=8", "sms=2"};
    for (int i = 0; i < 3; i++) {
        struct fixture fixture;
        open_fixture(&fixture, archs[i], emulators[i]);
        jit_gemm *gemm = create(&fixture, "");
        for (size_t j = 0; j < sizeof(seeds) / sizeof(seeds[0]); j++) {
            expect_numbers(&fixture, gemm, seeds[j], false, archs[i]);
            expect_numbers(&fixture, gemm, seeds[j], true, archs[i]);
        }
        jit_gemm_destroy(&gemm);
        close_fixture(&fixture);
    }
}

/* A mask is what it says: its part stays, to four standard deviations, and seeds, batches
 * and rows are apart. Of the definition itself, which all kernels were held against above.
 */
Test(random_numbers, look_uniform)
{
    enum { SIDE = 256, COUNT = SIDE * SIDE };
    const double keeps[] = {0.1, 0.5, 0.9};
    for (size_t i = 0; i < sizeof(keeps) / sizeof(keeps[0]); i++) {
        int kept = 0, same = 0;
        for (uint32_t j = 0; j < COUNT; j++) {
            const bool first = random_uniform(1, j / SIDE, j % SIDE, 0) < keeps[i];
            const bool other = random_uniform(2, j / SIDE, j % SIDE, 0) < keeps[i];
            kept += first;
            same += first && other;
        }
        const double p = keeps[i], p2 = p * p;
        const double off = kept - COUNT * p, off_both = same - COUNT * p2;
        cr_expect_leq(off * off, 16 * COUNT * p * (1 - p), "%d of %d", kept, COUNT);
        cr_expect_leq(off_both * off_both, 16 * COUNT * p2 * (1 - p2), "%d", same);
    }
}
