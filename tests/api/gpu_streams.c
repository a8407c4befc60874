/* SPDX-License-Identifier: MIT */
/*
 * On a GPU: a run is legal under stream capture, in another context and from many threads,
 * and dependent launches wait for each other. Exit 77 without a GPU.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/device.h"

enum { SIZE = 512, ELEMENTS = SIZE * SIZE, THREADS = 4, CHAIN = 40 };

#define ONE 0x3f80 /* bf16 */

static jit_gemm_context *context;
/* The kernel under test: matrices lie so many bytes behind a multiple of 16, and each
 * stream has a workspace. */
static jit_gemm *gemm;
static uint64_t offset, workspace_bytes;

/* What the library does not need of the driver, and this program does. */
static struct {
    CUresult (*stream_create)(CUstream *, unsigned int);
    CUresult (*stream_synchronize)(CUstream);
    CUresult (*begin_capture)(CUstream, CUstreamCaptureMode);
    CUresult (*end_capture)(CUstream, CUgraph *);
    CUresult (*instantiate)(CUgraphExec *, CUgraph, unsigned long long);
    CUresult (*graph_launch)(CUgraphExec, CUstream);
    CUresult (*device_get)(CUdevice *, int);
    CUresult (*primary_retain)(CUcontext *, CUdevice);
    CUresult (*ctx_create)(CUcontext *, CUctxCreateParams *, unsigned int, CUdevice);
    CUresult (*ctx_set_current)(CUcontext);
} cu;

static void need(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "failed: %s; last error: %s\n", what, jit_gemm_last_error());
        exit(1);
    }
}

static void find(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    need(symbol != NULL, name);
    memcpy(ret_function, &symbol, sizeof(symbol));
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    need(library != NULL, "libcuda.so.1");
    find(library, "cuStreamCreate", &cu.stream_create);
    find(library, "cuStreamSynchronize", &cu.stream_synchronize);
    find(library, "cuStreamBeginCapture_v2", &cu.begin_capture);
    find(library, "cuStreamEndCapture", &cu.end_capture);
    find(library, "cuGraphInstantiateWithFlags", &cu.instantiate);
    find(library, "cuGraphLaunch", &cu.graph_launch);
    find(library, "cuDeviceGet", &cu.device_get);
    find(library, "cuDevicePrimaryCtxRetain", &cu.primary_retain);
    find(library, "cuCtxCreate_v4", &cu.ctx_create);
    find(library, "cuCtxSetCurrent", &cu.ctx_set_current);
}

static void make_current(void)
{
    CUdevice device;
    CUcontext primary;
    need(cu.device_get(&device, 0) == CUDA_SUCCESS, "device");
    need(cu.primary_retain(&primary, device) == CUDA_SUCCESS, "primary context");
    need(cu.ctx_set_current(primary) == CUDA_SUCCESS, "current context");
}

/* A device matrix whose element (row, col) is value(row, col), in bf16 bits. */
static uint64_t upload(unsigned short (*value)(int, int))
{
    static _Thread_local unsigned short host[ELEMENTS];
    uint64_t address = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        host[i] = value(i / SIZE, i % SIZE);
    }
    need(jit_gemm_device_alloc(context, sizeof(host) + offset, &address) == JIT_GEMM_OK,
         "alloc");
    address += offset;
    need(jit_gemm_device_upload(context, address, host, sizeof(host)) == JIT_GEMM_OK,
         "upload");
    return address;
}

static void download(uint64_t address, unsigned short *host)
{
    need(jit_gemm_device_download(context, host, address, ELEMENTS * sizeof(*host)) ==
             JIT_GEMM_OK,
         "download");
}

static unsigned short one(int row, int col)
{
    (void)row;
    (void)col;
    return ONE;
}
static unsigned short unit(int row, int col)
{
    return row == col ? ONE : 0;
}
static unsigned short poison(int row, int col)
{
    (void)row;
    (void)col;
    return 0x7fff;
}
/* A permutation: every row moves down by one. */
static unsigned short shift(int row, int col)
{
    return (row + 1) % SIZE == col ? ONE : 0;
}
static unsigned short mixed(int row, int col)
{
    return (unsigned short)(0x3f80 + (row * 7 + col * 13) % 128); /* 1 to 2 */
}

/* Of a stream; 0 where the kernel needs none. */
static uint64_t make_workspace(void)
{
    uint64_t address = 0;
    need(workspace_bytes == 0 ||
             jit_gemm_device_alloc(context, workspace_bytes, &address) == JIT_GEMM_OK,
         "workspace");
    return address;
}

static jit_gemm_args args_of(uint64_t a, uint64_t b, uint64_t d, uint64_t workspace)
{
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = a},
                                .b = {.pointer = b},
                                .d = {.pointer = d},
                                .workspace = workspace,
                                .workspace_bytes = workspace_bytes};
    return args;
}

static void expect_all(uint64_t d, unsigned short expected, const char *what)
{
    static _Thread_local unsigned short host[ELEMENTS];
    download(d, host);
    for (int i = 0; i < ELEMENTS; i++) {
        need(host[i] == expected, what);
    }
}

static void test_capture(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec executable;
    make_current();
    const uint64_t a = upload(one);
    const uint64_t b = upload(one);
    const uint64_t d = upload(poison);
    const jit_gemm_args args = args_of(a, b, d, make_workspace());
    need(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "stream");

    need(cu.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS, "begin");
    need(jit_gemm_run(gemm, &args, stream) == JIT_GEMM_OK, "a run under capture");
    need(jit_gemm_run(gemm, &args, stream) == JIT_GEMM_OK, "a dependent run under capture");
    need(cu.end_capture(stream, &graph) == CUDA_SUCCESS, "end of the capture");
    expect_all(d, 0x7fff, "nothing runs while it is captured");
    need(cu.instantiate(&executable, graph, 0) == CUDA_SUCCESS, "instantiate");
    need(cu.graph_launch(executable, stream) == CUDA_SUCCESS, "launch of the graph");
    need(cu.stream_synchronize(stream) == CUDA_SUCCESS, "the graph");

    expect_all(d, 0x4400, "the graph's result is 512");
}

/* D of one launch is A of the next, a hundred times: each must wait for the one before. */
static void test_chain(void)
{
    static unsigned short start[ELEMENTS], end[ELEMENTS];
    make_current();
    uint64_t from = upload(mixed);
    uint64_t to = upload(poison);
    const uint64_t b = upload(shift);
    const uint64_t workspace = make_workspace();
    download(from, start);

    for (int i = 0; i < CHAIN; i++) {
        const jit_gemm_args args = args_of(from, b, to, workspace);
        need(jit_gemm_run(gemm, &args, NULL) == JIT_GEMM_OK, "a run of the chain");
        const uint64_t swap = from;
        from = to;
        to = swap;
    }
    download(from, end);

    /* D[i][j] = A[i][k] where B's row j has its one at k = j + 1: columns move by one. */
    for (int i = 0; i < ELEMENTS; i++) {
        const int row = i / SIZE;
        const int col = (i + CHAIN) % SIZE;
        need(end[i] == start[row * SIZE + col], "the chain's result");
    }
}

static void test_other_context(void)
{
    CUdevice device;
    CUcontext other;
    CUstream stream;
    CUctxCreateParams parameters;
    memset(&parameters, 0, sizeof(parameters));
    need(cu.device_get(&device, 0) == CUDA_SUCCESS, "device");
    need(cu.ctx_create(&other, &parameters, 0, device) == CUDA_SUCCESS, "another context");
    const uint64_t a = upload(one); /* in the context that is current now */
    const uint64_t b = upload(unit);
    const uint64_t d = upload(poison);
    const jit_gemm_args args = args_of(a, b, d, make_workspace());
    need(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "its stream");

    need(jit_gemm_run(gemm, &args, stream) == JIT_GEMM_OK, "a run in another context");
    need(cu.stream_synchronize(stream) == CUDA_SUCCESS, "its end");
    expect_all(d, ONE, "the result in another context");
    need(jit_gemm_run(gemm, &args, NULL) == JIT_GEMM_OK, "its default stream");
    need(jit_gemm_device_synchronize(context) == JIT_GEMM_OK, "its end");
    make_current();
}

static void *run_thread(void *user)
{
    (void)user;
    CUstream stream;
    make_current();
    need(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "stream");
    const uint64_t a = upload(one);
    const uint64_t b = upload(one);
    uint64_t d[2] = {upload(poison), upload(poison)};
    const uint64_t workspace = make_workspace();
    for (int i = 0; i < 200; i++) {
        const jit_gemm_args args = args_of(a, b, d[i % 2], workspace);
        need(jit_gemm_run(gemm, &args, stream) == JIT_GEMM_OK, "a run of a thread");
    }
    need(cu.stream_synchronize(stream) == CUDA_SUCCESS, "a thread's stream");
    expect_all(d[0], 0x4400, "a thread's result");
    expect_all(d[1], 0x4400, "a thread's other result");
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        need(pthread_create(&threads[i], NULL, run_thread, NULL) == 0, "thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void test_kernel(const char *text, uint64_t bytes)
{
    jit_gemm_problem problem;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    need(jit_gemm_problem_parse(text, &problem) == JIT_GEMM_OK, text);
    need(jit_gemm_create(context, &problem, &gemm) == JIT_GEMM_OK, text);
    need(jit_gemm_get_info(gemm, &info) == JIT_GEMM_OK, text);
    offset = bytes;
    workspace_bytes = info.workspace_bytes;
    test_capture();
    test_chain();
    test_other_context();
    test_threads();
    jit_gemm_destroy(&gemm);
    printf("%s: capture, chain, other context, threads: all right\n", text);
}

int main(void)
{
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .no_cache = 1};
    const jit_gemm_status status = jit_gemm_context_create(&options, &context);
    if (status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_DEVICE ||
        status == JIT_GEMM_ERR_UNSUPPORTED) {
        printf("skipped: %s\n", jit_gemm_last_error());
        return 77;
    }
    need(status == JIT_GEMM_OK, "context");
    open_driver();
    test_kernel("512x512x512 bf16", 0);
    test_kernel("512x512x512 bf16 config=split_k=4 split_order=cluster", 0);
    test_kernel("512x512x512 bf16 config=tile=128x128 pingpong=1 cluster=2x1", 0);
    test_kernel("512x512x512 bf16 input_align=2 output_align=2 config=repack=ab", 2);
    test_kernel("512x512x512 bf16 input_align=2 output_align=2 config=split_k=2 repack=ab",
                2);
    jit_gemm_context_destroy(&context);
    return 0;
}
