/* SPDX-License-Identifier: MIT */
/*
 * A mixture of experts: each token goes to two of eight, which have weights of their own,
 * and gets a share of what each says: silu(X * W1) * (X * V1) * W2. Rows are sorted by
 * expert; two launches work on all of them, whatever each expert got, which only the device
 * knows. Compared with sums of the host.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { TOKENS = 50, EXPERTS = 8, CHOSEN = 2, ROWS = TOKENS * CHOSEN, NO_GPU = 77 };
enum { MODEL = 64, HIDDEN = 96 };

/* All that lies on the device; rows of weights run along their layer's K. Multiplied as
 * tf32, which holds these values. Columns of W1 and V1 take turns. */
static struct data {
    float w1_v1[EXPERTS][2 * HIDDEN][MODEL], w2[EXPERTS][MODEL][HIDDEN];
    float x[ROWS][MODEL], h[ROWS][HIDDEN], y[ROWS][MODEL];
    float shares[ROWS];
    int32_t offsets[EXPERTS]; /* the row at which each expert's end */
} data;

static float tokens[TOKENS][MODEL];
static int experts[TOKENS][CHOSEN], rows[TOKENS][CHOSEN];
static const float share_of[CHOSEN] = {0.75f, 0.25f};

/* A multiple of 1/64 in [-1/2, 1/2). */
static float small_value(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int)(*state >> 26) / 64.0f - 0.5f;
}

static void fill(float *values, size_t bytes, uint32_t *seed)
{
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        values[i] = small_value(seed);
    }
}

/* Some experts get many tokens, one gets none. Rows of each lie one after the other. */
static void route(void)
{
    int32_t row = 0;
    for (int expert = 0; expert < EXPERTS; expert++) {
        for (int i = 0; i < ROWS; i++) {
            const int token = i / CHOSEN, choice = i % CHOSEN;
            experts[token][0] = token * token % 3;
            experts[token][1] = 3 + token % 4;
            if (experts[token][choice] == expert) {
                for (int k = 0; k < MODEL; k++) {
                    data.x[row][k] = tokens[token][k];
                }
                data.shares[row] = share_of[choice];
                rows[token][choice] = row++;
            }
        }
        data.offsets[expert] = row;
    }
}

static jit_gemm_status make_kernels(jit_gemm_context *context, jit_gemm *gemms[2])
{
    static const char *const texts[2] = {
        "m=100 n=192 k=64 a=tf32 groups=8 group_by=offsets epilogue=swiglu",
        "m=100 n=64 k=96 a=tf32 groups=8 group_by=offsets epilogue=shared"};
    const jit_gemm_operand share = {"share", JIT_GEMM_OPERAND_COLUMN_VECTOR,
                                    JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_INPUT, 0};
    const jit_gemm_epilogue shared = {.struct_size = sizeof(shared),
                                      .name = "shared",
                                      .source = "d = acc * share;",
                                      .operand_count = 1,
                                      .operands = &share};
    jit_gemm_status status = jit_gemm_epilogue_register(context, &shared);
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
    const jit_gemm_arg share = {.pointer = memory + offsetof(struct data, shares)};
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = memory + offsetof(struct data, x)},
                          .b = {.pointer = memory + offsetof(struct data, w1_v1)},
                          .d = {.pointer = memory + offsetof(struct data, h)},
                          .group_sizes = memory + offsetof(struct data, offsets)};
    jit_gemm_status status = jit_gemm_device_upload(context, memory, &data, sizeof(data));
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(gemms[0], &args, NULL);
    }
    args.a.pointer = args.d.pointer;
    args.b.pointer = memory + offsetof(struct data, w2);
    args.d.pointer = memory + offsetof(struct data, y);
    args.operands = &share;
    args.operand_count = 1;
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_run(gemms[1], &args, NULL);
    }
    return status != JIT_GEMM_OK
               ? status
               : jit_gemm_device_download(context, &data, memory, sizeof(data));
}

/* What one expert says of a token, in column `n`. */
static double ask(int expert, const float *x, int n)
{
    double sum = 0;
    for (int j = 0; j < HIDDEN; j++) {
        double gate = 0, up = 0;
        for (int k = 0; k < MODEL; k++) {
            gate += (double)x[k] * (double)data.w1_v1[expert][2 * j][k];
            up += (double)x[k] * (double)data.w1_v1[expert][2 * j + 1][k];
        }
        sum += gate / (1 + exp(-gate)) * up * (double)data.w2[expert][n][j];
    }
    return sum;
}

/* Adds up the rows of each token; the worst difference in parts of the greatest value. */
static double find_worst(void)
{
    double worst = 0, greatest = 0;
    for (int i = 0; i < TOKENS * MODEL; i++) {
        const int token = i / MODEL, n = i % MODEL;
        double got = 0, wanted = 0;
        for (int j = 0; j < CHOSEN; j++) {
            got += (double)data.y[rows[token][j]][n];
            wanted += (double)share_of[j] * ask(experts[token][j], tokens[token], n);
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
    uint64_t memory = 0;
    uint32_t seed = 1;
    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    fill(&tokens[0][0], sizeof(tokens), &seed);
    fill(&data.w1_v1[0][0][0], sizeof(data.w1_v1) + sizeof(data.w2), &seed);
    route();
    jit_gemm_status status = make_kernels(context, gemms);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_alloc(context, sizeof(data), &memory);
    }
    status = status == JIT_GEMM_OK ? run(context, gemms, memory) : status;
    const double worst = status == JIT_GEMM_OK ? find_worst() : 1;
    if (status == JIT_GEMM_OK) {
        printf("%d tokens, %d experts: relative difference %.1e\n", TOKENS, EXPERTS, worst);
    } else {
        fprintf(stderr, "%s\n", jit_gemm_last_error());
    }
    (void)jit_gemm_device_free(context, memory);
    jit_gemm_destroy(&gemms[0]);
    jit_gemm_destroy(&gemms[1]);
    jit_gemm_context_destroy(&context);
    return worst < 2e-3 ? 0 : 1; /* H is rounded to tf32 */
}
