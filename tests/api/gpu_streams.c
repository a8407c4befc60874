/* SPDX-License-Identifier: MIT */
/*
 * On a GPU: a run is legal under stream capture, in another context, without one and from
 * many threads, dependent launches wait for each other, and a graph that captured groups
 * goes on to be right when their numbers, and addresses, change. Exit 77 without a GPU.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_calls.h"
#include "jit_gemm/device.h"

enum { SIZE = 512, ELEMENTS = SIZE * SIZE, THREADS = 4, CHAIN = 40 };

#define ONE 0x3f80 /* bf16 */

static jit_gemm_context *context;
/* The kernel under test: matrices lie so many bytes behind a multiple of 16, and each
 * stream has a workspace. */
static jit_gemm *gemm;
static uint64_t offset, workspace_bytes;

static struct driver_calls cu;

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
    driver_calls_make_current(&cu, 0);
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
    driver_calls_make_current(&cu, 0);
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
    driver_calls_make_current(&cu, 0);
}

static void *run_thread(void *user)
{
    (void)user;
    CUstream stream;
    driver_calls_make_current(&cu, 0);
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

static void *run_bare_thread(void *user)
{
    const jit_gemm_args *args = user;
    need(jit_gemm_run(gemm, args, NULL) == JIT_GEMM_OK, "a run without a context");
    return NULL;
}

/* Threads that have not called the driver before, and so have no current context: the first
 * one makes maps, the second one moves one. */
static void test_bare_threads(void)
{
    const uint64_t a = upload(one), b = upload(one);
    const uint64_t d[2] = {upload(poison), upload(poison)};
    const uint64_t workspace = make_workspace();
    for (int i = 0; i < 2; i++) {
        jit_gemm_args args = args_of(a, b, d[i], workspace);
        pthread_t thread;
        need(pthread_create(&thread, NULL, run_bare_thread, &args) == 0, "thread");
        pthread_join(thread, NULL);
    }
    need(jit_gemm_device_synchronize(context) == JIT_GEMM_OK, "their end");
    expect_all(d[0], 0x4400, "the result without a context");
    expect_all(d[1], 0x4400, "the other result without a context");
}

/* ------------------------------------------------------------------- groups in graphs */

/* Rows of D, those of all groups, or of all groups' D: what is a row's depends on its group
 * alone, because A has ones and B of a group a power of two. */
enum {
    GROUPS = 4,
    GROUP_ROWS = 384,
    COLUMNS = 256,
    DEPTH = 256,
    SLOTS = GROUPS * GROUP_ROWS
};

static const int32_t group_sizes[][GROUPS] = {
    {100, 0, 1, 283}, {0, 384, 0, 0}, {96, 96, 96, 96}, {0, 0, 0, 0}, {1, 128, 127, 128}};
enum { TURNS = sizeof(group_sizes) / sizeof(group_sizes[0]) };

struct groups {
    jit_gemm_group_by by;
    uint64_t a, b, d, numbers, addresses[3]; /* of A, B and D, by pointers */
};

static uint64_t allocate(uint64_t bytes)
{
    uint64_t address = 0;
    need(jit_gemm_device_alloc(context, bytes, &address) == JIT_GEMM_OK, "alloc");
    return address;
}

static void send(uint64_t address, const void *data, size_t bytes)
{
    need(jit_gemm_device_upload(context, address, data, bytes) == JIT_GEMM_OK, "upload");
}

static unsigned short bits_of_group(int group)
{
    return (unsigned short)(ONE + 0x80 * group); /* 2 to the power of it */
}

static struct groups make_groups(jit_gemm_group_by by)
{
    static unsigned short a[SLOTS * DEPTH], b[GROUPS * COLUMNS * DEPTH];
    struct groups groups = {.by = by,
                            .a = allocate(sizeof(a)),
                            .b = allocate(sizeof(b)),
                            .d = allocate(2 * SLOTS * COLUMNS),
                            .numbers = allocate(sizeof(group_sizes[0]))};
    for (int i = 0; i < SLOTS * DEPTH; i++) {
        a[i] = ONE;
    }
    for (int i = 0; i < GROUPS * COLUMNS * DEPTH; i++) {
        b[i] = bits_of_group(i / (COLUMNS * DEPTH));
    }
    send(groups.a, a, sizeof(a));
    send(groups.b, b, sizeof(b));
    for (int i = 0; by == JIT_GEMM_GROUP_BY_POINTERS && i < 3; i++) {
        groups.addresses[i] = allocate(GROUPS * sizeof(uint64_t));
    }
    return groups;
}

/* Which group's rows lie in this part of A and D, by pointers another one in each turn. */
static int part_of(const struct groups *groups, int group, int turn)
{
    return groups->by == JIT_GEMM_GROUP_BY_POINTERS ? (group + turn) % GROUPS : group;
}

static void give_turn(const struct groups *groups, int turn)
{
    int32_t numbers[GROUPS];
    uint64_t addresses[3][GROUPS];
    int32_t end = 0;
    for (int group = 0; group < GROUPS; group++) {
        const uint64_t part = (uint64_t)part_of(groups, group, turn);
        end += group_sizes[turn][group];
        numbers[group] =
            groups->by == JIT_GEMM_GROUP_BY_OFFSETS ? end : group_sizes[turn][group];
        addresses[0][group] = groups->a + part * GROUP_ROWS * DEPTH * 2;
        addresses[1][group] = groups->b + (uint64_t)group * COLUMNS * DEPTH * 2;
        addresses[2][group] = groups->d + part * GROUP_ROWS * COLUMNS * 2;
    }
    send(groups->numbers, numbers, sizeof(numbers));
    for (int i = 0; groups->addresses[0] != 0 && i < 3; i++) {
        send(groups->addresses[i], addresses[i], sizeof(addresses[i]));
    }
    need(jit_gemm_device_fill(context, groups->d, 0x7f, 2 * SLOTS * COLUMNS) == JIT_GEMM_OK,
         "poison");
}

/* The group of a row of D, of all parts one after the other; -1: none's. */
static int group_of_row(const struct groups *groups, int row, int turn)
{
    int begin = 0;
    for (int group = 0; group < GROUPS; group++) {
        const int first = groups->by == JIT_GEMM_GROUP_BY_OFFSETS
                              ? begin
                              : part_of(groups, group, turn) * GROUP_ROWS;
        if (row >= first && row < first + group_sizes[turn][group]) {
            return group;
        }
        begin += group_sizes[turn][group];
    }
    return -1;
}

static void expect_turn(const struct groups *groups, int turn)
{
    static unsigned short d[SLOTS * COLUMNS];
    need(jit_gemm_device_download(context, d, groups->d, sizeof(d)) == JIT_GEMM_OK,
         "download");
    for (int i = 0; i < SLOTS * COLUMNS; i++) {
        const int group = group_of_row(groups, i / COLUMNS, turn);
        const unsigned short sum = (unsigned short)(bits_of_group(group) + 0x80 * 8);
        need(d[i] == (group < 0 ? 0x7f7f : sum), "rows of a replay's groups");
    }
}

/* Captured once, with launches that share a workspace; numbers and addresses change between
 * replays. */
static void test_groups(const char *text, jit_gemm_group_by by)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec executable;
    jit_gemm_problem problem;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    need(jit_gemm_problem_parse(text, &problem) == JIT_GEMM_OK, text);
    need(jit_gemm_create(context, &problem, &gemm) == JIT_GEMM_OK, text);
    need(jit_gemm_get_info(gemm, &info) == JIT_GEMM_OK, text);
    workspace_bytes = info.workspace_bytes;
    driver_calls_make_current(&cu, 0);
    const struct groups groups = make_groups(by);
    const bool has_own = by == JIT_GEMM_GROUP_BY_POINTERS;
    jit_gemm_args args = args_of(
        has_own ? groups.addresses[0] : groups.a, has_own ? groups.addresses[1] : groups.b,
        has_own ? groups.addresses[2] : groups.d, make_workspace());
    args.group_sizes = groups.numbers;
    if (workspace_bytes > 0) {
        need(jit_gemm_device_fill(context, args.workspace, 0, workspace_bytes) ==
                 JIT_GEMM_OK,
             "workspace");
    }
    need(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "stream");
    need(cu.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS, "begin");
    for (int i = 0; i < 3; i++) {
        need(jit_gemm_run(gemm, &args, stream) == JIT_GEMM_OK, "groups under capture");
    }
    need(cu.end_capture(stream, &graph) == CUDA_SUCCESS, "end of the capture");
    need(cu.instantiate(&executable, graph, 0) == CUDA_SUCCESS, "instantiate");
    for (int turn = 0; turn < TURNS; turn++) {
        give_turn(&groups, turn);
        need(jit_gemm_device_synchronize(context) == JIT_GEMM_OK, "the numbers are there");
        need(cu.graph_launch(executable, stream) == CUDA_SUCCESS, "launch of the graph");
        need(cu.stream_synchronize(stream) == CUDA_SUCCESS, "the graph");
        expect_turn(&groups, turn);
    }
    jit_gemm_destroy(&gemm);
    printf("%s: numbers change between replays: all right\n", text);
}

static void test_all_groups(void)
{
    static const struct {
        const char *text;
        jit_gemm_group_by by;
    } rows[] = {
        {"m=384 n=256 k=256 a=bf16 groups=4 group_by=offsets", JIT_GEMM_GROUP_BY_OFFSETS},
        {"m=384 n=256 k=256 a=bf16 groups=4 group_by=offsets config=tile=128x128 "
         "cluster=2x1",
         JIT_GEMM_GROUP_BY_OFFSETS},
        {"m=384 n=256 k=256 a=bf16 groups=4 group_by=counts", JIT_GEMM_GROUP_BY_COUNTS},
        {"m=384 n=256 k=256 a=bf16 groups=4 group_by=pointers config=group_maps=0",
         JIT_GEMM_GROUP_BY_POINTERS},
        {"m=384 n=256 k=256 a=bf16 groups=4 group_by=pointers config=group_maps=1",
         JIT_GEMM_GROUP_BY_POINTERS},
        {"m=384 n=256 k=256 a=bf16 groups=4 group_by=pointers config=tile=128x128 "
         "cluster=1x2 group_maps=1",
         JIT_GEMM_GROUP_BY_POINTERS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        test_groups(rows[i].text, rows[i].by);
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
    test_bare_threads();
    test_capture();
    test_chain();
    test_other_context();
    test_threads();
    jit_gemm_destroy(&gemm);
    printf("%s: bare threads, capture, chain, other context, threads: all right\n", text);
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
    driver_calls_open("libcuda.so.1", false, &cu);
    test_kernel("512x512x512 bf16", 0);
    test_kernel("512x512x512 bf16 config=split_k=4 split_order=cluster", 0);
    test_kernel("512x512x512 bf16 config=split_k=8 split_order=parallel", 0);
    test_kernel("512x512x512 bf16 config=tile=128x128 pingpong=1 cluster=2x1", 0);
    test_kernel("512x512x512 bf16 input_align=2 output_align=2 config=repack=ab", 2);
    test_kernel("512x512x512 bf16 input_align=2 output_align=2 config=split_k=2 repack=ab",
                2);
    test_all_groups();
    jit_gemm_context_destroy(&context);
    return 0;
}
