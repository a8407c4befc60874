/* SPDX-License-Identifier: MIT */
/*
 * An output that is the next layer's 8-bit input: D = relu(A * B + bias) in e4m3 with a
 * scale for each 128 columns of a row, and the greatest magnitude of all of D's elements,
 * which a scale per tensor would be made of. Two launches: scales of blocks do not stand
 * beside reductions. Every element, scaled back, is compared with the host's in f64.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
    float scales[M][BLOCKS], amax;
} result;

/* A multiple of 1/64 in [-1/2, 1/2), which tf32 holds. */
static float small_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int)(*state >> 26) / 64.0f - 0.5f;
}

/* Sign, 4 bits of exponent, 3 of fraction. */
static double from_e4m3(uint8_t bits)
{
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    const double magnitude =
        exponent > 0 ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);
    return bits & 0x80 ? -magnitude : magnitude;
}

/* The largest difference of an element, in parts of its block's greatest; and of amax. */
static double find_worst(void)
{
    double worst = 0, amax = 0;
    for (int row = 0; row < M; row++) {
        for (int col = 0; col < N; col++) {
            double sum = (double)host.bias[col];
            for (int k = 0; k < K; k++) {
                sum += (double)host.a[row][k] * (double)host.b[col][k];
            }
            const double want = fmax(sum, 0);
            const double scale = (double)result.scales[row][col / BLOCK];
            const double got = from_e4m3(result.d[row][col]) * scale;
            worst = fmax(worst, fabs(got - want) / (448 * scale));
            amax = fmax(amax, want);
        }
    }
    return fmax(worst, fabs((double)result.amax - amax) / amax);
}

static jit_gemm_status create(jit_gemm_context *context, const char *text,
                              jit_gemm **ret_gemm)
{
    jit_gemm_problem problem;
    const jit_gemm_status status = jit_gemm_problem_parse(text, &problem);
    return status == JIT_GEMM_OK ? jit_gemm_create(context, &problem, ret_gemm) : status;
}

/* Two epilogues of the same operands: the second takes the first one of them. */
static jit_gemm_status make_kernels(jit_gemm_context *context, jit_gemm **ret_scaled,
                                    jit_gemm **ret_amax)
{
    const jit_gemm_operand operands[] = {
        {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_F32},
        {.name = "amax",
         .kind = JIT_GEMM_OPERAND_SCALAR,
         .dtype = JIT_GEMM_DTYPE_F32,
         .role = JIT_GEMM_OPERAND_MAX}};
    jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                  .name = "with_amax",
                                  .source = "d = relu(acc + bias); amax = abs(d);",
                                  .operand_count = 2,
                                  .operands = operands};
    jit_gemm_status status = jit_gemm_epilogue_register(context, &epilogue);
    epilogue.name = "without";
    epilogue.source = "d = relu(acc + bias);";
    epilogue.operand_count = 1;
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_epilogue_register(context, &epilogue);
    }
    if (status == JIT_GEMM_OK) {
        status = create(context, "96x320x128 tf32 d=f32 epilogue=with_amax", ret_amax);
    }
    if (status == JIT_GEMM_OK) {
        status = create(context, "96x320x128 tf32 d=e4m3 d_scale=1x128 epilogue=without",
                        ret_scaled);
    }
    return status;
}

static jit_gemm_status run_both(jit_gemm_context *context, const jit_gemm *scaled,
                                const jit_gemm *with_amax, const uint64_t *memory)
{
    const uint64_t host_at = memory[0], result_at = memory[1], whole_at = memory[2];
    const uint64_t scales_at = result_at + sizeof(result.d);
    const jit_gemm_arg operands[] = {
        {.pointer = host_at + sizeof(host.a) + sizeof(host.b)},
        {.pointer = scales_at + sizeof(result.scales), .batch_stride = 1}};
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = host_at},
                          .b = {.pointer = host_at + sizeof(host.a)},
                          .d = {.pointer = whole_at},
                          .operands = operands,
                          .operand_count = 2,
                          .workspace = memory[3]};
    jit_gemm_status status = jit_gemm_device_upload(context, host_at, &host, sizeof(host));
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(with_amax, &args, NULL);
    }
    args.d.pointer = result_at;
    args.d_scale.pointer = scales_at;
    args.operand_count = 1;
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(scaled, &args, NULL);
    }
    return status == JIT_GEMM_OK
               ? jit_gemm_device_download(context, &result, result_at, sizeof(result))
               : status;
}

/* Inputs, results, D in f32, and a workspace, which holds zeros before its first launch. */
static jit_gemm_status alloc_all(jit_gemm_context *context, const jit_gemm *with_amax,
                                 uint64_t (*ret_memory)[4])
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm_status status = jit_gemm_get_info(with_amax, &info);
    const size_t bytes[4] = {sizeof(host), sizeof(result), sizeof(float) * M * N,
                             info.workspace_bytes};
    for (int i = 0; i < 4 && status == JIT_GEMM_OK; i++) {
        status = jit_gemm_device_alloc(context, bytes[i], &(*ret_memory)[i]);
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_device_fill(context, (*ret_memory)[i], 0, bytes[i]);
        }
    }
    return status;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm *scaled = NULL, *with_amax = NULL;
    uint64_t memory[4] = {0};

    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    float *values = (float *)&host;
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof(host) / sizeof(*values); i++) {
        values[i] = small_value(&seed);
    }
    jit_gemm_status status = make_kernels(context, &scaled, &with_amax);
    if (status == JIT_GEMM_OK) {
        status = alloc_all(context, with_amax, &memory);
    }
    if (status == JIT_GEMM_OK) {
        status = run_both(context, scaled, with_amax, memory);
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
    for (int i = 0; i < 4; i++) {
        (void)jit_gemm_device_free(context, memory[i]);
    }
    jit_gemm_destroy(&scaled);
    jit_gemm_destroy(&with_amax);
    jit_gemm_context_destroy(&context);
    if (status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_UNSUPPORTED) {
        return NO_GPU;
    }
    /* Half of the last of e4m3's four bits, at the most. */
    return !(status == JIT_GEMM_OK && worst < 0.036);
}
