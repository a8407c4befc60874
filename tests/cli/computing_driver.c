/* SPDX-License-Identifier: MIT */
/*
 * The fake driver, whose launches compute a plain product on the host instead of nothing,
 * so that `run --verify` can pass, and fail, without a GPU. Both inputs K-major, no
 * epilogue; C, where there is one, in f32. With alpha 0 neither A nor B is read, so that a
 * caller's own sums in C are seen to be what is taken.
 *
 * COMPUTING_DRIVER names the types and what goes wrong in the structured kernel, for
 * instance "bf16 f32 none": type of A and B, type of D, and one of none, element (one is
 * wrong), unwritten (one is left out), stray (a write between two rows), before and after
 * (one outside the matrix). The reference kernel, 256 threads per block, makes no mistakes;
 * as an emulator (FAKE_EMULATOR) it computes no sums, which nobody would wait for.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_driver.h"
#include "verify/elements.h"

#define DRIVER_API __attribute__((visibility("default")))

/* What fake_driver.c calls its own launch in this build. */
CUresult fake_launch_kernel(const CUlaunchConfig *config, CUfunction function,
                            void **params, void **extra);

struct plan {
    char a[8], d[8], fault[16];
    jit_gemm_dtype a_type, d_type;
};

static bool read_plan(struct plan *plan)
{
    const char *text = getenv("COMPUTING_DRIVER");

    return text != NULL &&
           sscanf(text, "%7s %7s %15s", plan->a, plan->d, plan->fault) == 3 &&
           element_dtype_parse(plan->a, &plan->a_type) &&
           element_dtype_parse(plan->d, &plan->d_type);
}

static void compute_batch(const struct jg_kernel_params *params, const struct plan *plan,
                          jit_gemm_dtype d_type, int64_t batch)
{
    const void *a = (const void *)(uintptr_t)params->a.pointer;
    const void *b = (const void *)(uintptr_t)params->b.pointer;
    const float *c = (const float *)(uintptr_t)params->c.pointer;
    void *d = (void *)(uintptr_t)params->d.pointer;

    for (int64_t row = 0; row < params->m; row++) {
        for (int64_t column = 0; column < params->n; column++) {
            int64_t a_at = batch * params->a.batch_stride + row * params->a.ld;
            int64_t b_at = batch * params->b.batch_stride + column * params->b.ld;
            int64_t d_at = batch * params->d.batch_stride + row * params->d.ld + column;
            double sum = 0;

            for (int64_t k = 0; params->alpha.value != 0 && k < params->k; k++) {
                sum += element_load(plan->a_type, a, (size_t)(a_at + k)) *
                       element_load(plan->a_type, b, (size_t)(b_at + k));
            }
            sum *= (double)params->alpha.value;
            if (params->c.pointer) {
                int64_t c_at = batch * params->c.batch_stride + row * params->c.ld + column;

                sum += (double)(params->beta.value * c[c_at]);
            }
            element_store(d_type, d, (size_t)d_at, sum);
        }
    }
}

static void make_mistake(const struct jg_kernel_params *params, const struct plan *plan)
{
    unsigned char *d = (unsigned char *)(uintptr_t)params->d.pointer;
    size_t size = element_size(plan->d_type);
    size_t last = ((size_t)params->m - 1) * (size_t)params->d.ld + params->n - 1;

    if (strcmp(plan->fault, "element") == 0) {
        element_store(plan->d_type, d, last, 1000);
    } else if (strcmp(plan->fault, "unwritten") == 0) {
        memset(d + last * size, element_poison_byte(plan->d_type), size);
    } else if (strcmp(plan->fault, "stray") == 0) {
        memset(d + params->n * size, 0, size);
    } else if (strcmp(plan->fault, "before") == 0) {
        d[-1] = 0;
    } else if (strcmp(plan->fault, "after") == 0) {
        d[(size_t)params->m * (size_t)params->d.ld * size] = 0;
    }
}

DRIVER_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                     void **params, void **extra)
{
    CUresult result = fake_launch_kernel(config, function, params, extra);
    const struct jg_kernel_params *values = params[0];
    bool is_reference = config->blockDimX == 256;
    struct plan plan;

    if (result != CUDA_SUCCESS || !read_plan(&plan)) {
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
    }
#ifdef FAKE_EMULATOR
    if (is_reference && values->alpha.value != 0) {
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
#endif
    for (int64_t batch = 0; batch < values->batch; batch++) {
        compute_batch(values, &plan, is_reference ? JIT_GEMM_DTYPE_F32 : plan.d_type,
                      batch);
    }
    if (!is_reference) {
        make_mistake(values, &plan);
    }
    return CUDA_SUCCESS;
}
