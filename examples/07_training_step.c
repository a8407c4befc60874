/* SPDX-License-Identifier: MIT */
/*
 * A layer's forward and backward pass, a launch each: H = gelu(X * W + bias), which keeps
 * aux = X * W + bias; then, of the gradient G of the next layer's output, the gradient of
 * aux, (G * V) * gelu'(aux), and in the same launch that of the bias, the sums of its
 * columns. Both are compared with the host's in f64.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jit_gemm/convert.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { TOKENS = 64, WIDTH = 64, HIDDEN = 128, NO_GPU = 77 };

/* bf16. Rows of what is summed over: W and V are stored as columns. */
static struct inputs {
    uint16_t x[TOKENS][WIDTH], w[HIDDEN][WIDTH], bias[HIDDEN];
    uint16_t g[TOKENS][WIDTH], v[HIDDEN][WIDTH];
} host;
static struct results {
    uint16_t h[TOKENS][HIDDEN], aux[TOKENS][HIDDEN], d_aux[TOKENS][HIDDEN];
    float d_bias[HIDDEN];
} result;
enum { ALL_BYTES = sizeof(host) + sizeof(result) };

/* A multiple of 1/64 in [-1/2, 1/2), which bf16 holds. */
static uint16_t small_bf16(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return jit_gemm_bf16_from_float((float)(int)(*state >> 26) / 64.0f - 0.5f);
}

static double from_bf16(uint16_t half)
{
    return (double)jit_gemm_bf16_to_float(half);
}

static double dot(const uint16_t *x, const uint16_t *y)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) {
        sum += from_bf16(x[i]) * from_bf16(y[i]);
    }
    return sum;
}

/* In its tanh form. */
static double gelu(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

/* The largest difference of any result, as a part of 1 or of what it should be. */
static double find_worst(void)
{
    double worst = 0;
    for (int col = 0; col < HIDDEN; col++) {
        double sum = 0;
        for (int row = 0; row < TOKENS; row++) {
            const double aux = dot(host.x[row], host.w[col]) + from_bf16(host.bias[col]);
            const double kept = from_bf16(result.aux[row][col]);
            const double slope = (gelu(kept + 1e-5) - gelu(kept - 1e-5)) / 2e-5;
            const double d_aux = dot(host.g[row], host.v[col]) * slope;
            const double pairs[][2] = {{kept, aux},
                                       {from_bf16(result.h[row][col]), gelu(aux)},
                                       {from_bf16(result.d_aux[row][col]), d_aux}};
            for (int i = 0; i < 3; i++) {
                const double error = fabs(pairs[i][0] - pairs[i][1]);
                worst = fmax(worst, error / fmax(1, fabs(pairs[i][1])));
            }
            sum += d_aux;
        }
        worst = fmax(worst, fabs((double)result.d_bias[col] - sum) / fmax(1, fabs(sum)));
    }
    return worst;
}

static jit_gemm_status create(jit_gemm_context *context, const char *epilogue,
                              jit_gemm **ret_gemm)
{
    jit_gemm_problem problem;
    char text[128];
    snprintf(text, sizeof(text), "%dx%dx%d bf16 epilogue=%s", TOKENS, HIDDEN, WIDTH,
             epilogue);
    const jit_gemm_status status = jit_gemm_problem_parse(text, &problem);
    return status == JIT_GEMM_OK ? jit_gemm_create(context, &problem, ret_gemm) : status;
}

/* In `memory`: inputs, results, and the workspace of the reduction, a multiple of 128 bytes
 * from there. */
static bool step(jit_gemm_context *context, const jit_gemm *forward,
                 const jit_gemm *backward, uint64_t memory)
{
    const uint64_t to = memory + sizeof(host), workspace = memory + ALL_BYTES;
    const jit_gemm_arg aux = {.pointer = to + offsetof(struct results, aux)};
    const jit_gemm_arg bias = {.pointer = memory + offsetof(struct inputs, bias)};
    const jit_gemm_arg d_bias = {.pointer = to + offsetof(struct results, d_bias)};
    const jit_gemm_args there = {.struct_size = sizeof(there),
                                 .a = {.pointer = memory},
                                 .b = {.pointer = memory + offsetof(struct inputs, w)},
                                 .d = {.pointer = to},
                                 .operands = (const jit_gemm_arg[]){bias, aux},
                                 .operand_count = 2};
    const jit_gemm_args back = {.struct_size = sizeof(back),
                                .a = {.pointer = memory + offsetof(struct inputs, g)},
                                .b = {.pointer = memory + offsetof(struct inputs, v)},
                                .d = {.pointer = to + offsetof(struct results, d_aux)},
                                .operands = (const jit_gemm_arg[]){aux, d_bias},
                                .operand_count = 2,
                                .workspace = workspace};
    const bool is_done =
        jit_gemm_device_upload(context, memory, &host, sizeof(host)) == JIT_GEMM_OK &&
        jit_gemm_run(forward, &there, NULL) == JIT_GEMM_OK &&
        jit_gemm_run(backward, &back, NULL) == JIT_GEMM_OK; /* the same stream: in order */
    return is_done &&
           jit_gemm_device_download(context, &result, to, sizeof(result)) == JIT_GEMM_OK;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm *forward = NULL, *backward = NULL;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    uint64_t memory = 0;
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof(host) / sizeof(uint16_t); i++) {
        ((uint16_t *)&host)[i] = small_bf16(&seed); /* it has nothing else */
    }
    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    if (create(context, "bias_gelu_tanh_aux", &forward) || /* JIT_GEMM_OK is 0 */
        create(context, "dgelu_tanh_bias_gradient", &backward) ||
        jit_gemm_get_info(backward, &info) ||
        jit_gemm_device_alloc(context, ALL_BYTES + info.workspace_bytes, &memory) ||
        jit_gemm_device_fill(context, memory, 0, ALL_BYTES + info.workspace_bytes) ||
        !step(context, forward, backward, memory)) {
        fprintf(stderr, "%s\n", jit_gemm_last_error());
        return 1;
    }
    const double worst = find_worst();
    printf("forward, backward and bias gradient: largest difference %.2g\n", worst);
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_destroy(&forward);
    jit_gemm_destroy(&backward);
    jit_gemm_context_destroy(&context);
    return worst < 0.01 ? 0 : 1; /* bf16 has 8 bits */
}
