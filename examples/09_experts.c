/* SPDX-License-Identifier: MIT */
/*
 * A mixture of experts: each token goes to two of eight, which have weights of their own,
 * and gets a share of what each says: silu(X * W1) * (X * V1) * W2. Two launches work on
 * the rows of all experts, of which only the device knows how many each got; the first one
 * gathers them, and a third adds up each token's. Compared with sums of the host.
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
    float x[TOKENS][MODEL], w1_v1[EXPERTS][HIDDEN][2][MODEL], w2[EXPERTS][MODEL][HIDDEN];
    float h[ROWS][HIDDEN], y[ROWS][MODEL], d[TOKENS][MODEL], shares[TOKENS][CHOSEN];
    int32_t token_of[ROWS];       /* of each row of h and y */
    int32_t rows[TOKENS][CHOSEN]; /* in which a token went to an expert */
    int32_t offsets[EXPERTS];     /* the row at which each expert's end */
} data;

/* Some experts get many tokens, one gets none. */
static int expert_of(int token, int choice)
{
    return choice == 0 ? token * token % 3 : 3 + token % 4;
}

/* Tokens and weights are multiples of 1/64 in [-1/2, 1/2); rows of each expert lie one
 * after the other. */
static void prepare(void)
{
    uint32_t state = 1;
    int32_t row = 0;
    for (size_t i = 0; i < offsetof(struct data, h) / sizeof(float); i++) {
        state = state * 1664525u + 1013904223u;
        (&data.x[0][0])[i] = (float)(int)(state >> 26) / 64.0f - 0.5f;
    }
    for (int i = 0; i < EXPERTS * ROWS; i++) {
        const int expert = i / ROWS, token = i % ROWS / CHOSEN, choice = i % CHOSEN;
        if (expert_of(token, choice) == expert) {
            data.token_of[row] = token;
            data.shares[token][choice] = choice == 0 ? 0.75f : 0.25f;
            data.rows[token][choice] = row++;
        }
        data.offsets[expert] = row;
    }
}

#define FIRST  "m=100 n=192 k=64 a=tf32 groups=8 a_rows=indexed epilogue=swiglu"
#define SECOND "m=100 n=64 k=96 a=tf32 groups=8"

static bool create(jit_gemm_context *context, const char *text, jit_gemm **gemm)
{
    jit_gemm_problem problem;
    return jit_gemm_problem_parse(text, &problem) == JIT_GEMM_OK &&
           jit_gemm_create(context, &problem, gemm) == JIT_GEMM_OK;
}

/* All launches go to one stream: each begins behind the one before. */
static bool launch(jit_gemm *const gemms[2], const jit_gemm_combiner *combiner,
                   uint64_t memory)
{
    const uint64_t offsets = memory + offsetof(struct data, offsets);
    const jit_gemm_arg h = {.pointer = memory + offsetof(struct data, h)};
    const jit_gemm_args args[2] = {
        {.struct_size = sizeof(args[0]),
         .a = {.pointer = memory + offsetof(struct data, x)},
         .b = {.pointer = memory + offsetof(struct data, w1_v1)},
         .d = h,
         .a_rows = {.pointer = memory + offsetof(struct data, token_of)},
         .a_row_count = TOKENS,
         .group_sizes = offsets},
        {.struct_size = sizeof(args[1]),
         .a = h,
         .b = {.pointer = memory + offsetof(struct data, w2)},
         .d = {.pointer = memory + offsetof(struct data, y)},
         .group_sizes = offsets}};
    const jit_gemm_combiner_args sums = {.struct_size = sizeof(sums),
                                         .tokens = TOKENS,
                                         .columns = MODEL,
                                         .rows = memory + offsetof(struct data, y),
                                         .row_count = ROWS,
                                         .index = memory + offsetof(struct data, rows),
                                         .weights = memory + offsetof(struct data, shares),
                                         .d = memory + offsetof(struct data, d)};
    return jit_gemm_run(gemms[0], &args[0], NULL) == JIT_GEMM_OK &&
           jit_gemm_run(gemms[1], &args[1], NULL) == JIT_GEMM_OK &&
           jit_gemm_combiner_run(combiner, &sums, NULL) == JIT_GEMM_OK;
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
        double wanted = 0;
        for (int j = 0; j < CHOSEN; j++) {
            const double share = (double)data.shares[token][j];
            wanted += share * ask(expert_of(token, j), data.x[token], n);
        }
        worst = fmax(worst, fabs((double)data.d[token][n] - wanted));
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
    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    prepare();
    const bool ran =
        create(context, FIRST, &gemms[0]) && create(context, SECOND, &gemms[1]) &&
        jit_gemm_combiner_create(context, JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_F32, CHOSEN,
                                 &combiner) == JIT_GEMM_OK &&
        jit_gemm_device_alloc(context, sizeof(data), &memory) == JIT_GEMM_OK &&
        jit_gemm_device_upload(context, memory, &data, sizeof(data)) == JIT_GEMM_OK &&
        launch(gemms, combiner, memory) &&
        jit_gemm_device_download(context, &data, memory, sizeof(data)) == JIT_GEMM_OK;
    const double worst = ran ? find_worst() : 1;
    printf("%d tokens, %d experts: relative difference %.1e %s\n", TOKENS, EXPERTS, worst,
           ran ? "" : jit_gemm_last_error());
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_combiner_destroy(&combiner);
    jit_gemm_destroy(&gemms[0]);
    jit_gemm_destroy(&gemms[1]);
    jit_gemm_context_destroy(&context);
    return worst < 2e-3 ? 0 : 1; /* H is rounded to tf32 */
}
