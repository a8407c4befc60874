/* SPDX-License-Identifier: MIT */
/*
 * The feed-forward layer of a transformer in two launches: H = silu(X * G) * (X * U), then
 * Y = H * W. G and U are stacked, as checkpoints have them: `pair=halves`. Nothing of the
 * size of X * G is ever written. Every element of Y is compared with the host's in f64.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include <jit_gemm/convert.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { TOKENS = 48, WIDTH = 64, HIDDEN = 160, NO_GPU = 77 };

static int fail(const char *call)
{
    fprintf(stderr, "%s: %s\n", call, jit_gemm_last_error());
    return 1;
}

/* A multiple of 1/64 in [-1/2, 1/2), which bf16 holds. */
static float small_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int)(*state >> 26) / 64.0f - 0.5f;
}

static double dot(const uint16_t *x, const uint16_t *y, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += (double)jit_gemm_bf16_to_float(x[i]) * (double)jit_gemm_bf16_to_float(y[i]);
    }
    return sum;
}

/* Host copies: tokens, gate over up, down; rows of K, as K-major layouts have them. */
static struct {
    uint16_t x[TOKENS][WIDTH], gate_up[2 * HIDDEN][WIDTH], down[WIDTH][HIDDEN];
} host;
static float y[TOKENS][WIDTH];

/* The largest difference from the layer in f64, H rounded to bf16 as the kernel stores it.
 */
static double find_worst(void)
{
    double worst = 0;
    for (int token = 0; token < TOKENS; token++) {
        uint16_t h[HIDDEN];
        for (int i = 0; i < HIDDEN; i++) {
            const double gate = dot(host.x[token], host.gate_up[i], WIDTH);
            const double up = dot(host.x[token], host.gate_up[HIDDEN + i], WIDTH);
            h[i] = jit_gemm_bf16_from_float((float)(gate / (1 + exp(-gate)) * up));
        }
        for (int i = 0; i < WIDTH; i++) {
            const double want = dot(h, host.down[i], HIDDEN);
            worst = fmax(worst, fabs((double)y[token][i] - want));
        }
    }
    return worst;
}

static jit_gemm_status create(jit_gemm_context *context, int m, int n, int k,
                              const char *rest, jit_gemm **ret_gemm)
{
    jit_gemm_problem problem;
    char text[128];
    snprintf(text, sizeof(text), "%dx%dx%d bf16 %s", m, n, k, rest);
    const jit_gemm_status status = jit_gemm_problem_parse(text, &problem);
    return status == JIT_GEMM_OK ? jit_gemm_create(context, &problem, ret_gemm) : status;
}

static jit_gemm_status run_layer(jit_gemm_context *context, const jit_gemm *first,
                                 const jit_gemm *second, uint64_t memory)
{
    const uint64_t gate_up_at = memory + sizeof(host.x);
    const uint64_t down_at = gate_up_at + sizeof(host.gate_up);
    const uint64_t h_at = down_at + sizeof(host.down);
    const uint64_t y_at = h_at + (uint64_t)TOKENS * HIDDEN * 2;
    const jit_gemm_args up = {.struct_size = sizeof(up),
                              .a = {.pointer = memory},
                              .b = {.pointer = gate_up_at},
                              .d = {.pointer = h_at}};
    const jit_gemm_args back = {.struct_size = sizeof(back),
                                .a = {.pointer = h_at},
                                .b = {.pointer = down_at},
                                .d = {.pointer = y_at}};
    jit_gemm_status status = jit_gemm_device_upload(context, memory, &host, sizeof(host));
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(first, &up, NULL);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(second, &back, NULL); /* the same stream: in order */
    }
    return status == JIT_GEMM_OK ? jit_gemm_device_download(context, y, y_at, sizeof(y))
                                 : status;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm *first = NULL, *second = NULL;
    uint64_t memory = 0;

    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        (void)fail("no usable GPU");
        return NO_GPU;
    }
    uint16_t *values = (uint16_t *)&host; /* nothing but bf16 */
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof(host) / sizeof(*values); i++) {
        values[i] = jit_gemm_bf16_from_float(small_value(&seed));
    }
    /* swiglu is one of the library's own epilogues: `d = silu(acc0) * acc1;`. */
    jit_gemm_status status =
        create(context, TOKENS, 2 * HIDDEN, WIDTH, "pair=halves epilogue=swiglu", &first);
    if (status == JIT_GEMM_OK) {
        status = create(context, TOKENS, WIDTH, HIDDEN, "d=f32", &second);
    }
    if (status == JIT_GEMM_OK) {
        const size_t bytes = sizeof(host) + sizeof(y) + (size_t)TOKENS * HIDDEN * 2;
        status = jit_gemm_device_alloc(context, bytes, &memory);
    }
    if (status == JIT_GEMM_OK) {
        status = run_layer(context, first, second, memory);
    }
    const double worst = status == JIT_GEMM_OK ? find_worst() : 0;
    if (status == JIT_GEMM_OK) {
        printf("silu(X * G) * (X * U) * W: largest difference %.2g\n", worst);
    } else {
        (void)fail("the layer");
    }
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_destroy(&first);
    jit_gemm_destroy(&second);
    jit_gemm_context_destroy(&context);
    if (status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_UNSUPPORTED) {
        return NO_GPU;
    }
    return !(status == JIT_GEMM_OK && worst < 0.02);
}
