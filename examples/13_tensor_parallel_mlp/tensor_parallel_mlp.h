/* SPDX-License-Identifier: MIT */
/*
 * One process of the layer on several GPUs: what it holds, and what its parts do. Functions
 * that give a bool print the reason of a failure.
 */
#ifndef TENSOR_PARALLEL_MLP_H
#define TENSOR_PARALLEL_MLP_H

#include <stdbool.h>
#include <stdint.h>

#include <jit_gemm/convert.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>
#include <nccl.h>

/* `share` is a process's part of `hidden`, `rows` a chunk's of `tokens`. */
struct sizes {
    int processes, tokens, width, hidden, chunks, repeats, share, rows;
};

/* The two kernels of the layer for so many rows and so many of the hidden columns. */
struct layer {
    int columns;
    jit_gemm *gate_up, *down;
};

struct rank {
    int number;
    struct sizes sizes;
    jit_gemm_context *context;
    ncclComm_t comm;
    struct layer whole, part, chunk;
    uint64_t x, gate_up, down, h, y; /* in device memory, bf16 */
    void *streams[2], *events[2];
};

/* A way to make Y, on the first stream; it does not wait. */
typedef bool form_fn(const struct rank *rank);

/* layer.c: on one GPU; in order; by chunks on both streams. */
bool make_layers(struct rank *rank);
form_fn run_whole, run_in_order, run_overlapped;
/* Adds up rows of Y over all processes, in place, behind what the stream has to do. */
bool add_up(const struct rank *rank, int row, int rows, void *stream);

/* device.c: inputs, memory, streams and the communicator of a process. */
bool open_driver(void);
bool prepare(struct rank *rank, const ncclUniqueId *id);
bool order_streams(const struct rank *rank, int first, int second);

/* results.c */
bool check_results(const struct rank *rank);
bool measure(const struct rank *rank);

/* errors.c */
bool failed(const char *call, jit_gemm_status status);
bool refused(const char *call, int result);
bool broken(const char *call, ncclResult_t result);

#endif
