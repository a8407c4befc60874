/* SPDX-License-Identifier: MIT */
/*
 * A mixture of experts: each token goes to two of eight, which have weights of their own,
 * and gets a share of what each says: silu(X * W1) * (X * V1) * W2. Rows are sorted by
 * expert; the first launch gathers them from the tokens, two launches work on all of them,
 * whatever each expert got, which only the device knows, and a third one adds up each
 * token's, in the order of its choices. Compared with sums of the host.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jit_gemm/combine.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { TOKENS = 50, EXPERTS = 8, CHOSEN = 2, ROWS = TOKENS * CHOSEN, NO_GPU = 77 };
enum { MODEL = 64, HIDDEN = 96 };

/* All that lies on the device; rows of weights run along their layer's K. Multiplied as
 * tf32, which holds these values. Columns of W1 and V1 take turns. */
static struct data {
    float w1_v1[EXPERTS][HIDDEN][2][MODEL], w2[EXPERTS][MODEL][HIDDEN];
    float x[TOKENS][MODEL], h[ROWS][HIDDEN], y[ROWS][MODEL], d[TOKENS][MODEL];
    float shares[TOKENS][CHOSEN];
    int32_t token_of[ROWS];       /* of each row of h and y */
    int32_t rows[TOKENS][CHOSEN]; /* in which a token went to an expert */
    int32_t offsets[EXPERTS];     /* the row at which each expert's end */
} data;

static const float share_of[CHOSEN] = {0.75f, 0.25f};

/* Multiples of 1/64 in [-1/2, 1/2). */
static void fill(float *values, size_t bytes, uint32_t *state)
{
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        *state = *state * 1664525u + 1013904223u;
        values[i] = (float)(int)(*state >> 26) / 64.0f - 0.5f;
    }
}

/* Some experts get many tokens, one gets none. */
static int expert_of(int token, int choice)
{
    return choice == 0 ? token * token % 3 : 3 + token % 4;
}

/* Rows of each expert lie one after the other. */
static void route(void)
{
    int32_t row = 0;
    for (int i = 0; i < EXPERTS * ROWS; i++) {
        const int expert = i / ROWS, token = i % ROWS / CHOSEN, choice = i % CHOSEN;
        if (expert_of(token, choice) == expert) {
            data.token_of[row] = token;
            data.shares[token][choice] = share_of[choice];
            data.rows[token][choice] = row++;
        }
        data.offsets[expert] = row;
    }
}

static jit_gemm_status make_kernels(jit_gemm_context *context, jit_gemm *gemms[2],
                                    jit_gemm_combiner **combiner)
{
    static const char *const texts[2] = {
        "m=100 n=192 k=64 a=tf32 groups=8 a_rows=indexed epilogue=swiglu",
        "m=100 n=64 k=96 a=tf32 groups=8"};
    jit_gemm_status status = jit_gemm_combiner_create(context, JIT_GEMM_DTYPE_F32,
                                                      JIT_GEMM_DTYPE_F32, CHOSEN, combiner);
    for (int i = 0; i < 2 && status == JIT_GEMM_OK; i++) {
        jit_gemm_problem problem;
        status = jit_gemm_problem_parse(texts[i], &problem);
        status =
            status == JIT_GEMM_OK ? jit_gemm_create(context, &problem, &gemms[i]) : status;
    }
    return status;
}

/* All launches go to one stream: each begins behind the one before. */
static jit_gemm_status run(jit_gemm_context *context, jit_gemm *const gemms[2],
                           const jit_gemm_combiner *combiner, uint64_t memory)
{
    const jit_gemm_arg h = {.pointer = memory + offsetof(struct data, h)};
    const jit_gemm_args args[2] = {
        {.struct_size = sizeof(args[0]),
         .a = {.pointer = memory + offsetof(struct data, x)},
         .b = {.pointer = memory + offsetof(struct data, w1_v1)},
         .d = h,
         .a_rows = {.pointer = memory + offsetof(struct data, token_of)},
         .a_row_count = TOKENS,
         .group_sizes = memory + offsetof(struct data, offsets)},
        {.struct_size = sizeof(args[1]),
         .a = h,
         .b = {.pointer = memory + offsetof(struct data, w2)},
         .d = {.pointer = memory + offsetof(struct data, y)},
         .group_sizes = memory + offsetof(struct data, offsets)}};
    const jit_gemm_combiner_args sums = {.struct_size = sizeof(sums),
                                         .tokens = TOKENS,
                                         .columns = MODEL,
                                         .rows = memory + offsetof(struct data, y),
                                         .row_count = ROWS,
                                         .index = memory + offsetof(struct data, rows),
                                         .weights = memory + offsetof(struct data, shares),
                                         .d = memory + offsetof(struct data, d)};
    jit_gemm_status status = jit_gemm_device_upload(context, memory, &data, sizeof(data));
    for (int i = 0; i < 2 && status == JIT_GEMM_OK; i++) {
        status = jit_gemm_run(gemms[i], &args[i], NULL);
    }
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_combiner_run(combiner, &sums, NULL);
    }
    const bool ran = status == JIT_GEMM_OK;
    return ran ? jit_gemm_device_download(context, &data, memory, sizeof(data)) : status;
}

/* What one expert says of a token, in column `n`. */
static double ask(int expert, const float *x, int n)
{
    double sum = 0;
    for (int j = 0; j < HIDDEN; j++) {
        double pair[2] = {0, 0};
        for (int k = 0; k < 2 * MODEL; k++) {
            pair[k / MODEL] +=
                (double)x[k % MODEL] * (double)data.w1_v1[expert][j][k / MODEL][k % MODEL];
        }
        sum += pair[0] / (1 + exp(-pair[0])) * pair[1] * (double)data.w2[expert][n][j];
    }
    return sum;
}

/* The worst difference of a token's sum, in parts of the greatest value. */
static double find_worst(void)
{
    double worst = 0, greatest = 0;
    for (int i = 0; i < TOKENS * MODEL; i++) {
        const int token = i / MODEL, n = i % MODEL;
        const double got = (double)data.d[token][n];
        double wanted = 0;
        for (int j = 0; j < CHOSEN; j++) {
            wanted += (double)share_of[j] * ask(expert_of(token, j), data.x[token], n);
        }
        worst = fmax(worst, fabs(got - wanted));
        greatest = fmax(greatest, fabs(wanted));
    }
    return worst / greatest;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm *gemms[2] = {NULL, NULL};
    jit_gemm_combiner *combiner = NULL;
    uint64_t memory = 0;
    uint32_t seed = 1;
    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    fill(&data.x[0][0], sizeof(data.x), &seed);
    fill(&data.w1_v1[0][0][0][0], sizeof(data.w1_v1) + sizeof(data.w2), &seed);
    route();
    jit_gemm_status status = jit_gemm_device_alloc(context, sizeof(data), &memory);
    status = status == JIT_GEMM_OK ? make_kernels(context, gemms, &combiner) : status;
    status = status == JIT_GEMM_OK ? run(context, gemms, combiner, memory) : status;
    const double worst = status == JIT_GEMM_OK ? find_worst() : 1;
    if (status != JIT_GEMM_OK) {
        fprintf(stderr, "%s\n", jit_gemm_last_error());
    }
    printf("%d tokens, %d experts: relative difference %.1e\n", TOKENS, EXPERTS, worst);
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_combiner_destroy(&combiner);
    jit_gemm_destroy(&gemms[0]);
    jit_gemm_destroy(&gemms[1]);
    jit_gemm_context_destroy(&context);
    return worst < 2e-3 ? 0 : 1; /* H is rounded to tf32 */
}
