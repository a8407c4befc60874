/* SPDX-License-Identifier: MIT */
/* Memory, streams and the communicator of one process. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_parallel_mlp.h"

enum { NON_BLOCKING = 1, NO_TIMING = 2 }; /* the driver's, of streams and events */

/* Functions of the driver, with its handles as plain pointers. Each gives 0 on success. */
static struct {
    int (*stream_create)(void **, unsigned);
    int (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *);
    int (*wait_event)(void *, void *, unsigned);
} cu;

bool open_driver(void)
{
    const struct {
        const char *name;
        void *function;
    } rows[] = {
        {"cuStreamCreate", &cu.stream_create},
        {"cuEventCreate", &cu.event_create},
        {"cuEventRecord", &cu.event_record},
        {"cuStreamWaitEvent", &cu.wait_event},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *symbol = library != NULL ? dlsym(library, rows[i].name) : NULL;
        if (symbol == NULL) {
            fprintf(stderr, "the driver has no %s\n", rows[i].name);
            return false;
        }
        memcpy(rows[i].function, &symbol, sizeof(symbol));
    }
    return true;
}

/* What the second stream does from now on waits for what the first has to do. */
bool order_streams(const struct rank *rank, int first, int second)
{
    return !refused("event", cu.event_record(rank->events[first], rank->streams[first])) &&
           !refused("wait", cu.wait_event(rank->streams[second], rank->events[first], 0));
}

/* Uploads multiples of 1/64 in [-1/2, 1/2), the same in each process. */
static bool upload(const struct rank *rank, int rows, int columns, uint32_t seed,
                   uint64_t *ret_address)
{
    const size_t count = (size_t)rows * (size_t)columns;
    uint16_t *values = malloc(count * 2);
    if (values == NULL) {
        fprintf(stderr, "no memory for %zu values\n", count);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float value = (float)(int)(seed >> 26) / 64.0f - 0.5f;
        values[i] = jit_gemm_bf16_from_float(value); /* exact */
    }
    const bool is_good =
        !failed("memory", jit_gemm_device_alloc(rank->context, count * 2, ret_address)) &&
        !failed("upload",
                jit_gemm_device_upload(rank->context, *ret_address, values, count * 2));
    free(values);
    return is_good;
}

/* The first call of the device makes its context current, which NCCL and streams take. */
bool prepare(struct rank *rank, const ncclUniqueId *id)
{
    const struct sizes *sizes = &rank->sizes;
    const size_t tokens = (size_t)sizes->tokens;

    if (!upload(rank, sizes->tokens, sizes->width, 1, &rank->x) ||
        !upload(rank, 2 * sizes->hidden, sizes->width, 2, &rank->gate_up) ||
        !upload(rank, sizes->width, sizes->hidden, 3, &rank->down) ||
        failed("H", jit_gemm_device_alloc(rank->context, tokens * (size_t)sizes->hidden * 2,
                                          &rank->h)) ||
        failed("Y", jit_gemm_device_alloc(rank->context, tokens * (size_t)sizes->width * 2,
                                          &rank->y)) ||
        !make_layers(rank)) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (refused("stream", cu.stream_create(&rank->streams[i], NON_BLOCKING)) ||
            refused("event", cu.event_create(&rank->events[i], NO_TIMING))) {
            return false;
        }
    }
    return !broken("communicator",
                   ncclCommInitRank(&rank->comm, sizes->processes, *id, rank->number));
}
