/* SPDX-License-Identifier: MIT */
/*
 * How fast the emulator is, with the fast numbers and everything checked, on one thread:
 * launch and synchronize of a 256^3 bf16 problem of each chip, and how many thread
 * instructions per second a kernel of plain ones takes. (In a GEMM most of the time goes
 * into copies and products, of which one instruction does many.) Processor time, the best
 * of several runs, so that a busy machine changes little.
 *
 * emu_speed EMULATOR: its path; the program is linked with the same.
 */
#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"

/* As in the emulator's own header, which its users do not have. */
unsigned long long emuThreadSteps(void);
const char *emuLastError(void);

enum { SIZE = 256, RUNS = 7, SKIPPED = 77 };

/* What is asked for on a current core, and how much slower a machine of tests may be. */
#define MOST_MS        100.0
#define LEAST_PER_US   40.0 /* millions of thread instructions per second */
#define SLOWER_MACHINE 3.0

/* Sanitizers make everything many times slower. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define SANITIZED 1
#    endif
#endif
#ifndef SANITIZED
#    define SANITIZED 0
#endif

static bool must(const char *what, jit_gemm_status status)
{
    if (status != JIT_GEMM_OK) {
        printf("%s: %s: %s\n", what, jit_gemm_status_name(status), jit_gemm_last_error());
    }
    return status == JIT_GEMM_OK;
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool make_matrices(jit_gemm_context *context, jit_gemm_args *args)
{
    static uint16_t ones[SIZE * SIZE];
    uint64_t *const matrices[] = {&args->a.pointer, &args->b.pointer, &args->d.pointer};
    for (size_t i = 0; i < SIZE * SIZE; i++) {
        ones[i] = 0x3F80;
    }
    for (size_t i = 0; i < 3; i++) {
        if (!must("alloc", jit_gemm_device_alloc(context, sizeof(ones), matrices[i])) ||
            !must("upload",
                  jit_gemm_device_upload(context, *matrices[i], ones, sizeof(ones)))) {
            return false;
        }
    }
    return true;
}

/* False after an error, and where it is too slow. */
static bool measure(jit_gemm_context *context, const jit_gemm *gemm, const char *name)
{
    jit_gemm_args args = {.struct_size = sizeof(args)};
    double best = 1e9;
    unsigned long long steps = 0;
    if (!make_matrices(context, &args)) {
        return false;
    }
    for (int run = 0; run < RUNS; run++) {
        unsigned long long before = emuThreadSteps();
        double begin = cpu_ms();
        if (!must("run", jit_gemm_run(gemm, &args, NULL)) ||
            !must("synchronize", jit_gemm_device_synchronize(context))) {
            return false;
        }
        double ms = cpu_ms() - begin;
        steps = emuThreadSteps() - before;
        best = ms < best ? ms : best;
    }
    bool good = best < MOST_MS * SLOWER_MACHINE;
    printf(
        "256^3 bf16, %s: %.1f ms, %llu thousand thread instructions; %.0f ms are asked for, and "
        "%.0f times that is let pass: %s\n",
        name, best, steps / 1000, MOST_MS, SLOWER_MACHINE, good ? "good" : "TOO SLOW");
    return good;
}

static bool run_device(int32_t device)
{
    jit_gemm_context_options options = {
        .struct_size = sizeof(options), .device = device, .exact_device = 1};
    jit_gemm_problem problem = {.struct_size = sizeof(problem),
                                .m = {.size = SIZE},
                                .n = {.size = SIZE},
                                .k = {.size = SIZE},
                                .a = {.dtype = JIT_GEMM_DTYPE_BF16},
                                .b = {.dtype = JIT_GEMM_DTYPE_BF16}};
    jit_gemm_context *context = NULL;
    jit_gemm *gemm = NULL;
    bool good = must("context", jit_gemm_context_create(&options, &context)) &&
                must("create", jit_gemm_create(context, &problem, &gemm)) &&
                measure(context, gemm, device == 0 ? "sm_100a" : "sm_90a");
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
    return good;
}

/* ---------------------------------------------------------------- plain instructions */

/* 8 warps, 2000 turns of integer and float arithmetic, shared memory and a branch. */
static const char plain[] =
    ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry plain(.param .u64 to)\n{\n"
    ".shared .align 16 .b8 cell[1024];\n.reg .pred %p;\n.reg .b32 %r<9>;\n.reg .f32 %f<4>;\n"
    ".reg .b64 %d<3>;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, cell;\nshl.b32 %r3, %r1, 2;\n"
    "add.u32 %r2, %r2, %r3;\nmov.u32 %r4, 0;\nmov.f32 %f1, 0f3F800000;\nL:\n"
    "cvt.rn.f32.u32 %f2, %r4;\nfma.rn.f32 %f1, %f1, 0f3F000000, %f2;\n"
    "st.shared.f32 [%r2], %f1;\nxor.b32 %r5, %r4, %r1;\nmad.lo.u32 %r6, %r5, 3, %r4;\n"
    "shr.u32 %r7, %r6, 5;\nld.shared.f32 %f3, [%r2];\nadd.f32 %f1, %f3, %f2;\n"
    "add.u32 %r8, %r7, %r5;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p, %r4, 2000;\n"
    "@%p bra L;\nld.param.u64 %d1, [to];\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d1, %d1, %d2;\n"
    "st.global.f32 [%d1], %f1;\nret;\n}\n";

static bool load_plain(CUfunction *ret_function, CUdeviceptr *ret_to)
{
    CUcontext context = NULL;
    CUmodule module = NULL;
    return cuInit(0) == CUDA_SUCCESS &&
           cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
           cuCtxSetCurrent(context) == CUDA_SUCCESS &&
           cuModuleLoadData(&module, plain) == CUDA_SUCCESS &&
           cuModuleGetFunction(ret_function, module, "plain") == CUDA_SUCCESS &&
           cuMemAlloc(ret_to, 1024) == CUDA_SUCCESS;
}

static bool run_plain(void)
{
    CUfunction function = NULL;
    CUdeviceptr to = 0;
    void *params[] = {&to};
    double best = 0;
    bool good = load_plain(&function, &to);
    for (int run = 0; good && run < RUNS; run++) {
        unsigned long long before = emuThreadSteps();
        double begin = cpu_ms();
        good = cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL) ==
                   CUDA_SUCCESS &&
               cuCtxSynchronize() == CUDA_SUCCESS;
        double rate = (double)(emuThreadSteps() - before) / (cpu_ms() - begin) / 1e3;
        best = rate > best ? rate : best;
    }
    if (!good) {
        printf("plain instructions: %s\n", emuLastError());
        return false;
    }
    good = best > LEAST_PER_US / SLOWER_MACHINE;
    printf(
        "plain instructions: %.1f million of threads per second; %.0f are asked for, and a "
        "machine %.0f times slower is let pass: %s\n",
        best, LEAST_PER_US, SLOWER_MACHINE, good ? "good" : "TOO SLOW");
    return good;
}

int main(int count, char **words)
{
    if (count != 2) {
        printf("usage: emu_speed EMULATOR\n");
        return 2;
    }
    if (SANITIZED) {
        printf("skipped: a sanitizer makes the times meaningless\n");
        return SKIPPED;
    }
    setenv("JIT_GEMM_DRIVER", words[1], 1);
    setenv("JIT_GEMM_EMULATOR", "numbers=fast,threads=1", 1);
    bool blackwell = run_device(0);
    bool hopper = run_device(1);
    return run_plain() && blackwell && hopper ? 0 : 1;
}
