/* SPDX-License-Identifier: MIT */
/*
 * Two layers in 8-bit floats, Y = relu(X * W1) * W2. The first launch stores relu(X * W1)
 * in e4m3 with a scale for each 128 columns of a row; the second multiplies it by weights
 * that the host quantised, with a scale for each 128x128. Y is compared with what is
 * stored.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jit_gemm/convert.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { M = 96, K = 256, HIDDEN = 384, N = 192, BLOCK = 128, GREATEST = 448, NO_GPU = 77 };
enum { HIDDEN_BLOCKS = 3, N_BLOCKS = 2 };

/* All that lies on the device, in this order; rows of weights run along their layer's K. */
static struct data {
    float x[M][K], w1[HIDDEN][K]; /* multiplied as tf32, which holds their values */
    uint8_t w2[N][HIDDEN], h[M][HIDDEN];
    float h_scales[M][HIDDEN_BLOCKS], y[M][N], w2_scales[N_BLOCKS][HIDDEN_BLOCKS];
} data;

/* A multiple of 1/64 in [-1/2, 1/2). */
static float small_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int)(*state >> 26) / 64.0f - 0.5f;
}

/* The greatest weight of a block becomes 448. */
static void quantise_w2(uint32_t *seed)
{
    for (int i = 0; i < N_BLOCKS * HIDDEN_BLOCKS; i++) {
        double values[BLOCK * BLOCK], greatest = 0;
        for (int j = 0; j < BLOCK * BLOCK; j++) {
            values[j] = (double)small_value(seed);
            greatest = fmax(greatest, fabs(values[j]));
        }
        const int row = i / HIDDEN_BLOCKS * BLOCK, col = i % HIDDEN_BLOCKS * BLOCK;
        const float scale = (float)(greatest / GREATEST);
        data.w2_scales[row / BLOCK][col / BLOCK] = scale;
        for (int j = 0; j < BLOCK * BLOCK && row + j / BLOCK < N; j++) {
            data.w2[row + j / BLOCK][col + j % BLOCK] =
                jit_gemm_e4m3_from_float((float)(values[j] / (double)scale));
        }
    }
}

static jit_gemm_status make_kernels(jit_gemm_context *context, jit_gemm *gemms[2])
{
    static const char *const texts[2] = {
        "96x384x256 tf32 d=e4m3 d_scale=1x128 epilogue=relu",
        "96x192x384 e4m3 a_scale=1x128 b_scale=128x128 d=f32"};
    jit_gemm_status status = JIT_GEMM_OK;
    for (int i = 0; i < 2 && status == JIT_GEMM_OK; i++) {
        jit_gemm_problem problem;
        status = jit_gemm_problem_parse(texts[i], &problem);
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_create(context, &problem, &gemms[i]);
        }
    }
    return status;
}

/* Both launches go to one stream: the second one begins behind the first. */
static jit_gemm_status run(jit_gemm_context *context, jit_gemm *const gemms[2],
                           uint64_t memory)
{
    const jit_gemm_args args[2] = {
        {.struct_size = sizeof(args[0]),
         .a = {.pointer = memory + offsetof(struct data, x)},
         .b = {.pointer = memory + offsetof(struct data, w1)},
         .d = {.pointer = memory + offsetof(struct data, h)},
         .d_scale = {.pointer = memory + offsetof(struct data, h_scales)}},
        {.struct_size = sizeof(args[1]),
         .a = {.pointer = memory + offsetof(struct data, h)},
         .b = {.pointer = memory + offsetof(struct data, w2)},
         .d = {.pointer = memory + offsetof(struct data, y)},
         .a_scale = {.pointer = memory + offsetof(struct data, h_scales)},
         .b_scale = {.pointer = memory + offsetof(struct data, w2_scales)}}};
    jit_gemm_status status = jit_gemm_device_upload(context, memory, &data, sizeof(data));
    for (int i = 0; i < 2 && status == JIT_GEMM_OK; i++) {
        status = jit_gemm_run(gemms[i], &args[i], NULL);
    }
    return status != JIT_GEMM_OK
               ? status
               : jit_gemm_device_download(context, &data, memory, sizeof(data));
}

/* Of Y from the sum of what is stored, in parts of the greatest. */
static double find_worst(void)
{
    double worst = 0, greatest = 0;
    for (int i = 0; i < M * N; i++) {
        double sum = 0;
        for (int k = 0; k < HIDDEN; k++) {
            sum += (double)jit_gemm_e4m3_to_float(data.h[i / N][k]) *
                   (double)data.h_scales[i / N][k / BLOCK] *
                   (double)jit_gemm_e4m3_to_float(data.w2[i % N][k]) *
                   (double)data.w2_scales[i % N / BLOCK][k / BLOCK];
        }
        worst = fmax(worst, fabs((double)data.y[i / N][i % N] - sum));
        greatest = fmax(greatest, fabs(sum));
    }
    return worst / greatest;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm *gemms[2] = {NULL, NULL};
    uint64_t memory = 0;
    uint32_t seed = 1;
    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    float *values = (float *)&data; /* X, and W1 behind it */
    for (int i = 0; i < M * K + HIDDEN * K; i++) {
        values[i] = small_value(&seed);
    }
    quantise_w2(&seed);
    jit_gemm_status status = make_kernels(context, gemms);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_alloc(context, sizeof(data), &memory);
    }
    status = status == JIT_GEMM_OK ? run(context, gemms, memory) : status;
    const double worst = status == JIT_GEMM_OK ? find_worst() : 1;
    if (status == JIT_GEMM_OK) {
        printf("relu(X * W1) * W2 in e4m3: relative difference %.1e\n", worst);
    } else {
        fprintf(stderr, "%s\n", jit_gemm_last_error());
    }
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_destroy(&gemms[0]);
    jit_gemm_destroy(&gemms[1]);
    jit_gemm_context_destroy(&context);
    return worst < 1e-3 ? 0 : 1; /* Hopper adds up 8-bit products in fewer bits than f32 */
}
