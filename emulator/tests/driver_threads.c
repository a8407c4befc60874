/* SPDX-License-Identifier: MIT */
/* Many threads use the driver at once: a plain program, for ThreadSanitizer. */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS  20

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry set(.param .u64 to, .param .u32 value)\n"
                          "{\n"
                          "  .reg .b32 %r<4>; .reg .b64 %d<4>;\n"
                          "  mov.u32 %r1, %ctaid.x;\n"
                          "  ld.param.u32 %r2, [value];\n"
                          "  ld.param.u64 %d1, [to];\n"
                          "  mul.wide.u32 %d2, %r1, 4;\n"
                          "  add.s64 %d1, %d1, %d2;\n"
                          "  add.s32 %r2, %r2, %r1;\n"
                          "  st.global.u32 [%d1], %r2;\n"
                          "  ret;\n"
                          "}\n";

#define MUST(call)                                  \
    do {                                            \
        CUresult must_result = (call);              \
        if (must_result != CUDA_SUCCESS) {          \
            printf("%s: %d\n", #call, must_result); \
            exit(1);                                \
        }                                           \
    } while (0)

static void *work(void *argument)
{
    unsigned own = *(unsigned *)argument;
    CUcontext context = NULL;
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUstream stream = NULL;
    CUdeviceptr to = 0;
    MUST(cuDevicePrimaryCtxRetain(&context, (int)(own % 2)));
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned value = 1000 * own + round;
        unsigned back[8] = {0};
        void *params[] = {&to, &value};
        MUST(cuModuleLoadData(&module, ptx));
        MUST(cuModuleGetFunction(&function, module, "set"));
        MUST(cuMemAlloc(&to, sizeof(back)));
        MUST(cuLaunchKernel(function, 8, 1, 1, 1, 1, 1, 0, stream, params, NULL));
        MUST(cuStreamSynchronize(stream));
        MUST(cuMemcpyDtoH(back, to, sizeof(back)));
        for (unsigned i = 0; i < 8; i++) {
            if (back[i] != value + i) {
                printf("thread %u: %u is %u\n", own, i, back[i]);
                exit(1);
            }
        }
        MUST(cuMemFree(to));
        MUST(cuModuleUnload(module));
    }
    MUST(cuStreamDestroy(stream));
    MUST(cuDevicePrimaryCtxRelease((int)(own % 2)));
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    MUST(cuInit(0));
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) {
            return 1;
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
