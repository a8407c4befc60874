/* SPDX-License-Identifier: MIT */
/*
 * What the emulator has to do, with the fast numbers and everything checked, on one thread:
 * how many thread instructions a 256^3 bf16 problem of each chip takes, those of polling
 * included, and that a kernel of plain ones takes as many as it has. These are bounded. How
 * fast they went is printed for who wants to know, and judged by nobody: processor time,
 * the best of several runs. (In a GEMM most of it goes into copies and products, of which
 * one instruction does many.)
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

enum { SIZE = 256, RUNS = 7 };

/* Both chips take about 830 thousand. A launch that polls where it could sleep, or kernels
 * that do more than they did, are beyond this. */
#define MOST_STEPS 1000000ULL

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

/* False after an error, and where it takes too many. */
static bool measure(jit_gemm_context *context, const jit_gemm *gemm, const char *name)
{
    jit_gemm_args args = {.struct_size = sizeof(args)};
    double best = 1e9;
    unsigned long long most = 0;
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
        unsigned long long steps = emuThreadSteps() - before;
        most = steps > most ? steps : most;
        best = ms < best ? ms : best;
    }
    bool good = most <= MOST_STEPS;
    printf("256^3 bf16, %s: %llu thousand thread instructions, %llu thousand are let pass: "
           "%s (%.1f ms)\n",
           name, most / 1000, MOST_STEPS / 1000, good ? "good" : "TOO MANY", best);
    return good;
}

static bool run_device(int32_t device)
{
    jit_gemm_context_options options = {
        .struct_size = sizeof(options), .device = device, .exact_device = 1};
    const bool is_blackwell = device == 0;
    /* Eight CTAs each, whatever would be chosen. */
    const char *config =
        is_blackwell ? "mma=128x64 cta_group=1" : "tile=64x128 cluster=1x1";
    jit_gemm_problem problem = {.struct_size = sizeof(problem),
                                .m = {.size = SIZE},
                                .n = {.size = SIZE},
                                .k = {.size = SIZE},
                                .a = {.dtype = JIT_GEMM_DTYPE_BF16},
                                .b = {.dtype = JIT_GEMM_DTYPE_BF16}};
    snprintf(problem.config, sizeof(problem.config), "%s", config);
    jit_gemm_context *context = NULL;
    jit_gemm *gemm = NULL;
    bool good = must("context", jit_gemm_context_create(&options, &context)) &&
                must("create", jit_gemm_create(context, &problem, &gemm)) &&
                measure(context, gemm, is_blackwell ? "sm_100a" : "sm_90a");
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
    return good;
}

/* ---------------------------------------------------------------- plain instructions */

/* Before the loop, in it, and behind it without the ret, which is no step. */
enum { THREADS = 256, TURNS = 2000, PLAIN_STEPS = 6 + TURNS * 12 + 4 };

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
    unsigned long long most = 0;
    bool good = load_plain(&function, &to);
    for (int run = 0; good && run < RUNS; run++) {
        unsigned long long before = emuThreadSteps();
        double begin = cpu_ms();
        good = cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL) ==
                   CUDA_SUCCESS &&
               cuCtxSynchronize() == CUDA_SUCCESS;
        unsigned long long steps = emuThreadSteps() - before;
        double rate = (double)steps / (cpu_ms() - begin) / 1e3;
        most = steps > most ? steps : most;
        best = rate > best ? rate : best;
    }
    if (!good) {
        printf("plain instructions: %s\n", emuLastError());
        return false;
    }
    good = most == (unsigned long long)THREADS * PLAIN_STEPS;
    printf("plain instructions: %llu of threads, of %d: %s (%.1f million per second)\n",
           most, THREADS * PLAIN_STEPS, good ? "good" : "NOT EACH ONCE", best);
    return good;
}

int main(int count, char **words)
{
    if (count != 2) {
        printf("usage: emu_speed EMULATOR\n");
        return 2;
    }
    setenv("JIT_GEMM_DRIVER", words[1], 1);
    setenv("JIT_GEMM_EMULATOR", "numbers=fast,threads=1", 1);
    bool blackwell = run_device(0);
    bool hopper = run_device(1);
    return run_plain() && blackwell && hopper ? 0 : 1;
}
