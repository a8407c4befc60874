/* SPDX-License-Identifier: MIT */
/*
 * A residual stream that stays where it is: X += scale * (A * B), two layers, a launch
 * each. D is the very memory of the residual operand, so that no copy of X is made and
 * nobody swaps buffers. Each layer's scale is a float in device memory, which an earlier
 * kernel might have computed: the launch does not know its value. The result is compared
 * with a plain product in f64, which must be equal: all numbers here are exact in f32.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jit_gemm/convert.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { LAYERS = 2, M = 96, N = 160, K = 64, NO_GPU = 77 };

/* What is copied to the device. A and B are in bf16, K-major: rows of what is summed over.
 */
static struct memory {
    uint16_t a[LAYERS][M][K], b[LAYERS][N][K];
    float x[M][N]; /* 16 bytes, as all matrices: before what may move it */
    float scales[LAYERS];
} host;
static float result[M][N];

/* A multiple of 1/64 in [-1/2, 1/2), which bf16 holds. */
static float small_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int)(*state >> 26) / 64.0f - 0.5f;
}

static double from_bf16(uint16_t half)
{
    return (double)jit_gemm_bf16_to_float(half);
}

static void fill_host(void)
{
    uint32_t seed = 1;
    for (int layer = 0; layer < LAYERS; layer++) {
        host.scales[layer] = layer == 0 ? 0.5f : -0.125f;
        for (int i = 0; i < M * K; i++) {
            host.a[layer][i / K][i % K] = jit_gemm_bf16_from_float(small_value(&seed));
        }
        for (int i = 0; i < N * K; i++) {
            host.b[layer][i / K][i % K] = jit_gemm_bf16_from_float(small_value(&seed));
        }
    }
    for (int i = 0; i < M * N; i++) {
        host.x[i / N][i % N] = small_value(&seed);
    }
}

static double find_worst(void)
{
    double worst = 0;
    for (int row = 0; row < M; row++) {
        for (int col = 0; col < N; col++) {
            double want = (double)host.x[row][col];
            for (int layer = 0; layer < LAYERS; layer++) {
                double sum = 0;
                for (int k = 0; k < K; k++) {
                    sum +=
                        from_bf16(host.a[layer][row][k]) * from_bf16(host.b[layer][col][k]);
                }
                want += (double)host.scales[layer] * sum;
            }
            worst = fmax(worst, fabs((double)result[row][col] - want));
        }
    }
    return worst;
}

static jit_gemm_status make_kernel(jit_gemm_context *context, jit_gemm **ret_gemm)
{
    static const jit_gemm_operand operands[] = {
        {.name = "scale", .kind = JIT_GEMM_OPERAND_SCALAR, .dtype = JIT_GEMM_DTYPE_F32},
        {.name = "x", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_F32},
    };
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "add_layer",
                                        .source = "d = acc * scale + x;",
                                        .operand_count = 2,
                                        .operands = operands};
    jit_gemm_problem problem;
    char text[96];
    snprintf(text, sizeof(text), "%dx%dx%d bf16 d=f32 epilogue=add_layer", M, N, K);
    jit_gemm_status status = jit_gemm_epilogue_register(context, &epilogue);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_problem_parse(text, &problem);
    }
    return status == JIT_GEMM_OK ? jit_gemm_create(context, &problem, ret_gemm) : status;
}

static jit_gemm_status run_layer(const jit_gemm *gemm, uint64_t memory, int layer)
{
    const size_t i = (size_t)layer;
    const uint64_t x = memory + offsetof(struct memory, x);
    /* An operand with a pointer is read from the device; `.value` would be one by value. */
    const jit_gemm_arg operands[] = {
        {.pointer = memory + offsetof(struct memory, scales) + i * sizeof(float)},
        {.pointer = x}};
    const jit_gemm_args args = {
        .struct_size = sizeof(args),
        .a = {.pointer = memory + i * sizeof(host.a[0])},
        .b = {.pointer = memory + offsetof(struct memory, b) + i * sizeof(host.b[0])},
        .d = {.pointer = x}, /* with the type, ld and batch stride of the operand */
        .operands = operands,
        .operand_count = 2};
    return jit_gemm_run(gemm, &args, NULL);
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
    fill_host();
    if (make_kernel(context, &gemm) || /* JIT_GEMM_OK is 0 */
        jit_gemm_device_alloc(context, sizeof(host), &memory) ||
        jit_gemm_device_upload(context, memory, &host, sizeof(host)) ||
        run_layer(gemm, memory, 0) || run_layer(gemm, memory, 1) || /* in this order */
        jit_gemm_device_download(context, result, memory + offsetof(struct memory, x),
                                 sizeof(result))) {
        fprintf(stderr, "%s\n", jit_gemm_last_error());
        return 1;
    }
    const double worst = find_worst();
    printf("X + scale * (A * B), in place, two layers: largest difference %.2g\n", worst);
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
    return worst > 0 ? 1 : 0;
}
