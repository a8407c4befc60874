/* SPDX-License-Identifier: MIT */
/* The layer of one process: two kernels, and the sum over all processes. */
#include <stdio.h>

#include "tensor_parallel_mlp.h"

static bool create(const struct rank *rank, const char *form, int m, int n, int k,
                   jit_gemm **ret_gemm)
{
    jit_gemm_problem problem;
    char text[128];
    snprintf(text, sizeof(text), "%dx%dx%d bf16 %s", m, n, k, form);
    return !failed(text, jit_gemm_problem_parse(text, &problem)) &&
           !failed(text, jit_gemm_create(rank->context, &problem, ret_gemm));
}

/* swiglu is one of the library's own: columns of G and U take turns, so that a share of
 * both is one piece. */
static bool make_layer(const struct rank *rank, int rows, int columns, struct layer *ret)
{
    ret->columns = columns;
    return create(rank, "epilogue=swiglu", rows, 2 * columns, rank->sizes.width,
                  &ret->gate_up) &&
           create(rank, "", rows, rank->sizes.width, columns, &ret->down);
}

/* Rows from `row` on, with the hidden columns from `column` on. The layer's weights lie as
 * one GPU has them: K-major, G and U by rows, of which a share is a piece, and W by rows of
 * `hidden`, of which it is a part. An engine would load its share only. */
static bool run_layer(const struct rank *rank, const struct layer *layer, int row,
                      int column, void *stream)
{
    const uint64_t width = (uint64_t)rank->sizes.width;
    const uint64_t h = rank->h + (uint64_t)row * (uint64_t)layer->columns * 2;
    const jit_gemm_args up = {
        .struct_size = sizeof(up),
        .a = {.pointer = rank->x + (uint64_t)row * width * 2},
        .b = {.pointer = rank->gate_up + (uint64_t)column * 2 * width * 2},
        .d = {.pointer = h}};
    const jit_gemm_args back = {
        .struct_size = sizeof(back),
        .a = {.pointer = h},
        .b = {.pointer = rank->down + (uint64_t)column * 2, .ld = rank->sizes.hidden},
        .d = {.pointer = rank->y + (uint64_t)row * width * 2}};
    return !failed("gate and up", jit_gemm_run(layer->gate_up, &up, stream)) &&
           !failed("down", jit_gemm_run(layer->down, &back, stream));
}

bool add_up(const struct rank *rank, int row, int rows, void *stream)
{
    const size_t width = (size_t)rank->sizes.width;
    const uint64_t address = rank->y + (uint64_t)row * width * 2;
    void *y =
        (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): the device's */
    return !broken("all-reduce", ncclAllReduce(y, y, (size_t)rows * width, ncclBfloat16,
                                               ncclSum, rank->comm, stream));
}

bool run_whole(const struct rank *rank)
{
    return run_layer(rank, &rank->whole, 0, 0, rank->streams[0]);
}

bool run_in_order(const struct rank *rank)
{
    const int column = rank->number * rank->sizes.share;
    return run_layer(rank, &rank->part, 0, column, rank->streams[0]) &&
           add_up(rank, 0, rank->sizes.tokens, rank->streams[0]);
}

/* The second stream begins behind what the first has to do, and the first goes on behind
 * the second: who uses the layer sees one stream. A chunk has rows of H and Y of its own.
 * All processes call NCCL in the same order, which it keeps on both streams. */
bool run_overlapped(const struct rank *rank)
{
    const int column = rank->number * rank->sizes.share;
    bool is_good = order_streams(rank, 0, 1);
    for (int i = 0; i < rank->sizes.chunks && is_good; i++) {
        const int row = i * rank->sizes.rows;
        void *stream = rank->streams[i % 2];
        is_good = run_layer(rank, &rank->chunk, row, column, stream) &&
                  add_up(rank, row, rank->sizes.rows, stream);
    }
    return is_good && order_streams(rank, 1, 0);
}

bool make_layers(struct rank *rank)
{
    const struct sizes *sizes = &rank->sizes;
    return make_layer(rank, sizes->tokens, sizes->hidden, &rank->whole) &&
           make_layer(rank, sizes->tokens, sizes->share, &rank->part) &&
           make_layer(rank, sizes->rows, sizes->share, &rank->chunk);
}
