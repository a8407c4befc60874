/* SPDX-License-Identifier: MIT */
/*
 * An output that is the next layer's 8-bit input: D = relu(A * B + bias) in e4m3, with a
 * scale in f32 for each 128 columns of a row, which the same launch finds. Every element,
 * scaled back, is compared with the host's in f64.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jit_gemm/convert.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum {
    M = 96,
    N = 320,
    K = 128,
    BLOCK = 128,
    BLOCKS = (N + BLOCK - 1) / BLOCK,
    NO_GPU = 77
};

/* What is copied to the device, and what comes back, in this order. */
static struct {
    float a[M][K], b[N][K], bias[N]; /* A and B are multiplied as tf32 */
} host;
static struct {
    uint8_t d[M][N];
    float scales[M][BLOCKS];
} result;

/* A multiple of 1/64 in [-1/2, 1/2), which tf32 holds. */
static float small_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int)(*state >> 26) / 64.0f - 0.5f;
}

/* The largest difference of an element, in parts of its block's greatest. */
static double find_worst(void)
{
    double worst = 0;
    for (int row = 0; row < M; row++) {
        for (int col = 0; col < N; col++) {
            double sum = (double)host.bias[col];
            for (int k = 0; k < K; k++) {
                sum += (double)host.a[row][k] * (double)host.b[col][k];
            }
            const double want = fmax(sum, 0);
            const double scale = (double)result.scales[row][col / BLOCK];
            const double got = (double)jit_gemm_e4m3_to_float(result.d[row][col]) * scale;
            worst = fmax(worst, fabs(got - want) / (448 * scale));
        }
    }
    return worst;
}

static jit_gemm_status make_kernel(jit_gemm_context *context, jit_gemm **ret_gemm)
{
    const jit_gemm_operand bias = {
        .name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_F32};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "layer",
                                        .source = "d = relu(acc + bias);",
                                        .operand_count = 1,
                                        .operands = &bias};
    jit_gemm_problem problem;
    jit_gemm_status status = jit_gemm_epilogue_register(context, &epilogue);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_problem_parse(
            "96x320x128 tf32 d=e4m3 d_scale=1x128 epilogue=layer", &problem);
    }
    return status == JIT_GEMM_OK ? jit_gemm_create(context, &problem, ret_gemm) : status;
}

static jit_gemm_status run(jit_gemm_context *context, const jit_gemm *gemm, uint64_t memory)
{
    const uint64_t b_at = memory + sizeof(host.a), bias_at = b_at + sizeof(host.b);
    const uint64_t d_at = memory + sizeof(host); /* a multiple of 16, as all others are */
    const jit_gemm_arg bias = {.pointer = bias_at};
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = memory},
                                .b = {.pointer = b_at},
                                .d = {.pointer = d_at},
                                .d_scale = {.pointer = d_at + sizeof(result.d)},
                                .operands = &bias,
                                .operand_count = 1};
    jit_gemm_status status = jit_gemm_device_upload(context, memory, &host, sizeof(host));
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(gemm, &args, NULL);
    }
    return status == JIT_GEMM_OK
               ? jit_gemm_device_download(context, &result, d_at, sizeof(result))
               : status;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm *gemm = NULL;
    uint64_t memory = 0;

    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    float *values = (float *)&host;
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof(host) / sizeof(*values); i++) {
        values[i] = small_value(&seed);
    }
    jit_gemm_status status = make_kernel(context, &gemm);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_alloc(context, sizeof(host) + sizeof(result), &memory);
    }
    if (status == JIT_GEMM_OK) {
        status = run(context, gemm, memory);
    }
    const double worst = status == JIT_GEMM_OK ? find_worst() : 0;
    if (status == JIT_GEMM_OK) {
        printf(
            "relu(A * B + bias) in e4m3 and scales: largest difference %.2g of a block's "
            "greatest\n",
            worst);
    } else {
        fprintf(stderr, "%s\n", jit_gemm_last_error());
    }
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
    if (status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_UNSUPPORTED) {
        return NO_GPU;
    }
    /* Half of the last of e4m3's four bits, at the most. */
    return !(status == JIT_GEMM_OK && worst < 0.036);
}
