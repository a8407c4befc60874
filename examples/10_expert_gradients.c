/* SPDX-License-Identifier: MIT */
/*
 * The gradients of the weights of eight experts: for each the sum, over its rows of a
 * batch, of what came in times the gradient of what went out, added to what is there
 * already. The rows lie sorted by expert, as 09_experts.c has them; how many each has is
 * the device's. One launch for all experts, and a second batch with other numbers. Compared
 * with sums of the host, which are exact.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jit_gemm/convert.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { EXPERTS = 8, ROWS = 150, IN = 64, OUT = 40, NO_GPU = 77 };

/* All that lies on the device. Matrices of bf16, gradients of f32. */
static struct data {
    uint16_t x[ROWS][IN], dy[ROWS][OUT];
    float dw[EXPERTS][IN][OUT];
    int32_t offsets[EXPERTS]; /* the row at which each expert's end */
} data;

static float expected[EXPERTS][IN][OUT];
/* The first two share their rows' ends with empty ones; rows behind the last end are
 * nobody's.
 */
static const int32_t batches[2][EXPERTS] = {{64, 64, 65, 100, 100, 101, 140, 140},
                                            {0, 7, 7, 135, 136, 136, 149, 150}};

static int value_of(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)(*state >> 29) - 4;
}

/* A batch, and what it adds to the gradients. Rows of nobody hold NaN. */
static void make_batch(const int32_t offsets[EXPERTS], uint32_t *state)
{
    int expert = 0;
    for (int row = 0; row < ROWS; row++) {
        int x[IN], dy[OUT];
        while (expert < EXPERTS && row >= offsets[expert]) {
            expert++;
        }
        for (int i = 0; i < IN; i++) {
            x[i] = value_of(state);
            data.x[row][i] =
                expert < EXPERTS ? jit_gemm_bf16_from_float((float)x[i]) : UINT16_MAX;
        }
        for (int j = 0; j < OUT; j++) {
            dy[j] = value_of(state);
            data.dy[row][j] =
                expert < EXPERTS ? jit_gemm_bf16_from_float((float)dy[j]) : UINT16_MAX;
        }
        for (int i = 0; i < IN * OUT && expert < EXPERTS; i++) {
            const int product = x[i / OUT] * dy[i % OUT];
            expected[expert][i / OUT][i % OUT] += (float)product;
        }
    }
    memcpy(data.offsets, offsets, sizeof(data.offsets));
}

/* M and N are the weights', K the rows: layout=tn says that both lie with a row for each
 * element of K. */
static jit_gemm_status make_kernel(jit_gemm_context *context, jit_gemm **ret_gemm)
{
    jit_gemm_problem problem;
    const jit_gemm_status status =
        jit_gemm_problem_parse("m=64 n=40 k=150 a=bf16 c=f32 d=f32 layout=tn groups=8 "
                               "group_by=k_offsets",
                               &problem);
    return status == JIT_GEMM_OK ? jit_gemm_create(context, &problem, ret_gemm) : status;
}

/* D is C, so that gradients of all batches add up where they are. */
static jit_gemm_status run(jit_gemm_context *context, jit_gemm *gemm, uint64_t memory)
{
    static const float one = 1.0f;
    const jit_gemm_arg dw = {.pointer = memory + offsetof(struct data, dw)};
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = memory + offsetof(struct data, x)},
                                .b = {.pointer = memory + offsetof(struct data, dy)},
                                .c = dw,
                                .d = dw,
                                .beta = &one,
                                .group_sizes = memory + offsetof(struct data, offsets)};
    jit_gemm_status status = jit_gemm_device_upload(context, memory, &data, sizeof(data));
    status = status == JIT_GEMM_OK ? jit_gemm_run(gemm, &args, NULL) : status;
    return status == JIT_GEMM_OK
               ? jit_gemm_device_download(context, &data, memory, sizeof(data))
               : status;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm *gemm = NULL;
    uint64_t memory = 0;
    uint32_t seed = 1;
    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    jit_gemm_status status = jit_gemm_device_alloc(context, sizeof(data), &memory);
    status = status == JIT_GEMM_OK ? make_kernel(context, &gemm) : status;
    for (int i = 0; i < 2 && status == JIT_GEMM_OK; i++) {
        make_batch(batches[i], &seed);
        status = run(context, gemm, memory);
    }
    if (status != JIT_GEMM_OK) {
        fprintf(stderr, "%s\n", jit_gemm_last_error());
    }
    int wrong = 0;
    for (int i = 0; i < EXPERTS * IN * OUT; i++) {
        const float got = data.dw[i / OUT / IN][i / OUT % IN][i % OUT];
        const float wanted = expected[i / OUT / IN][i / OUT % IN][i % OUT];
        wrong += !(got >= wanted && got <= wanted);
    }
    printf("%d experts, two batches of %d rows: %d of %d sums differ\n", EXPERTS, ROWS,
           wrong, EXPERTS * IN * OUT);
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
    return status == JIT_GEMM_OK && wrong == 0 ? 0 : 1;
}
