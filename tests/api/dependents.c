/* SPDX-License-Identifier: MIT */
/*
 * Kernels of a caller's own before and behind ours, as dependent launches of each other:
 * one that writes A lets us begin at once or never says that we may, one that reads D
 * begins when we let it. What each reads is there, and nobody writes what another still
 * reads; on the stream, and, on a GPU, in graphs that two streams replay at once.
 *
 * Usage: dependents [ARCH DRIVER]. Without arguments on the GPU; exit 77 without one.
 */
#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_calls.h"
#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"

enum { M = 192, N = 256, K = 192, TURNS = 4, THREADS = 128, LANES = 2, SKIPPED = 77 };
enum { A_BYTES = M * K * 2, B_BYTES = N * K * 2, D_BYTES = M * N * 2 };
enum { ONE = 0x3f80, SUM_OF_ONES = 0x4340 /* K */, DOUBLE = 0x80 }; /* bf16 */

/* `make` lets dependents begin when `early` is not 0, waits for the grid before it, counts
 * for a while, and fills `to` with a word; `take` copies. */
static const char kernels[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry make(.param .u64 to, .param .u32 words, .param .u32 word, "
    ".param .u32 laps, .param .u32 early)\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p, %q;\n"
    "ld.param.u64 %rd0, [to]; ld.param.u32 %r0, [words]; ld.param.u32 %r1, [word];\n"
    "ld.param.u32 %r2, [laps]; ld.param.u32 %r3, [early];\n"
    "setp.eq.u32 %q, %r3, 0; @%q bra quiet; griddepcontrol.launch_dependents;\n"
    "quiet: griddepcontrol.wait; mov.u32 %r4, 0;\n"
    "count: add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, %r2; @%p bra count;\n"
    "mov.u32 %r5, %tid.x;\n"
    "store: setp.ge.u32 %p, %r5, %r0; @%p bra done;\n"
    "mul.wide.u32 %rd1, %r5, 4; add.u64 %rd2, %rd0, %rd1; st.global.u32 [%rd2], %r1;\n"
    "add.u32 %r5, %r5, 128; bra store;\n"
    "done: ret;\n}\n"
    ".visible .entry take(.param .u64 to, .param .u64 from, .param .u32 words)\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p;\n"
    "ld.param.u64 %rd0, [to]; ld.param.u64 %rd1, [from]; ld.param.u32 %r0, [words];\n"
    "griddepcontrol.launch_dependents; griddepcontrol.wait; mov.u32 %r1, %tid.x;\n"
    "copy: setp.ge.u32 %p, %r1, %r0; @%p bra done;\n"
    "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd0, %rd2; add.u64 %rd4, %rd1, %rd2;\n"
    "ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd3], %r2;\n"
    "add.u32 %r1, %r1, 128; bra copy;\n"
    "done: ret;\n}\n";

static jit_gemm_context *context;
static bool is_emulated;
static CUfunction make, take;

static struct driver_calls cu;

/* Memory and the stream of one chain. */
struct lane {
    uint64_t a, b, d, workspace, copies[TURNS];
    CUstream stream;
};

static void load_kernels(void)
{
    jit_gemm_device_info device = {.struct_size = sizeof(device)};
    CUmodule module;
    need(jit_gemm_device_get_info(context, &device) == JIT_GEMM_OK, "device info");
    driver_calls_make_current(&cu, device.ordinal);
    need(cu.module_load(&module, kernels) == CUDA_SUCCESS, "module");
    need(cu.get_function(&make, module, "make") == CUDA_SUCCESS, "make");
    need(cu.get_function(&take, module, "take") == CUDA_SUCCESS, "take");
}

/* One CTA, which may begin before the launch before it has ended. */
static void launch(CUstream stream, CUfunction function, void **params)
{
    CUlaunchAttribute attribute = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        .value.programmaticStreamSerializationAllowed = 1};
    const CUlaunchConfig config = {.gridDimX = 1,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = THREADS,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = stream,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    need(cu.launch(&config, function, params, NULL) == CUDA_SUCCESS, "launch");
}

static void launch_make(CUstream stream, uint64_t to, int bytes, unsigned bits, bool early)
{
    unsigned words = (unsigned)bytes / 4, word = bits << 16 | bits;
    unsigned laps = is_emulated ? 3000 : 200000, is_early = early;
    void *params[] = {&to, &words, &word, &laps, &is_early};
    launch(stream, make, params);
}

static void launch_take(CUstream stream, uint64_t to, uint64_t from, int bytes)
{
    unsigned words = (unsigned)bytes / 4;
    void *params[] = {&to, &from, &words};
    launch(stream, take, params);
}

static uint64_t allocate(uint64_t bytes, int byte)
{
    uint64_t address = 0;
    need(bytes == 0 || jit_gemm_device_alloc(context, bytes, &address) == JIT_GEMM_OK,
         "alloc");
    need(bytes == 0 ||
             jit_gemm_device_fill(context, address, (uint8_t)byte, bytes) == JIT_GEMM_OK,
         "fill");
    return address;
}

static struct lane make_lane(uint64_t workspace_bytes)
{
    static unsigned short ones[N * K];
    struct lane lane = {.a = allocate(A_BYTES, 0x7f),
                        .b = allocate(B_BYTES, 0),
                        .d = allocate(D_BYTES, 0x7f),
                        .workspace = allocate(workspace_bytes, 0)};
    for (int i = 0; i < N * K; i++) {
        ones[i] = ONE;
    }
    need(jit_gemm_device_upload(context, lane.b, ones, sizeof(ones)) == JIT_GEMM_OK, "B");
    for (int i = 0; i < TURNS; i++) {
        lane.copies[i] = allocate(D_BYTES, 0x7f);
    }
    need(cu.stream_create(&lane.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS, "stream");
    return lane;
}

/* A of a turn is a power of two. Two of ours behind each other, of which the second writes
 * the same D. */
static void enqueue(jit_gemm *gemm, const struct lane *lane)
{
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = lane->a},
                                .b = {.pointer = lane->b},
                                .d = {.pointer = lane->d},
                                .workspace = lane->workspace};
    for (unsigned i = 0; i < TURNS; i++) {
        launch_make(lane->stream, lane->a, A_BYTES, ONE + DOUBLE * i, i % 2 == 0);
        need(jit_gemm_run(gemm, &args, lane->stream) == JIT_GEMM_OK, "a run");
        need(i % 2 == 0 || jit_gemm_run(gemm, &args, lane->stream) == JIT_GEMM_OK,
             "another run");
        launch_take(lane->stream, lane->copies[i], lane->d, D_BYTES);
    }
}

static void expect_turns(const struct lane *lane, const char *text, const char *where)
{
    static unsigned short copy[M * N];
    for (unsigned i = 0; i < TURNS; i++) {
        need(jit_gemm_device_download(context, copy, lane->copies[i], sizeof(copy)) ==
                 JIT_GEMM_OK,
             "download");
        for (int at = 0; at < M * N; at++) {
            const unsigned sum = SUM_OF_ONES + DOUBLE * i;
            if (copy[at] != sum) {
                fprintf(stderr, "%s, %s: turn %u, element %d: 0x%04x, not 0x%04x\n", text,
                        where, i, at, copy[at], sum);
                exit(1);
            }
        }
        need(jit_gemm_device_fill(context, lane->copies[i], 0x7f, D_BYTES) == JIT_GEMM_OK,
             "poison");
    }
}

/* One graph of a lane each, and the first one on both streams. */
static void replay(jit_gemm *gemm, const struct lane *lanes, const char *text)
{
    CUgraphExec executables[LANES];
    for (int i = 0; i < LANES; i++) {
        CUgraph graph;
        need(cu.begin_capture(lanes[i].stream, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
                 CUDA_SUCCESS,
             "begin");
        enqueue(gemm, &lanes[i]);
        need(cu.end_capture(lanes[i].stream, &graph) == CUDA_SUCCESS, "end");
        need(cu.instantiate(&executables[i], graph, 0) == CUDA_SUCCESS, "instantiate");
    }
    for (int turn = 0; turn < 8; turn++) {
        for (int i = 0; i < LANES; i++) {
            need(cu.graph_launch(executables[turn < 4 ? i : 0], lanes[i].stream) ==
                     CUDA_SUCCESS,
                 "launch of a graph");
        }
    }
    for (int i = 0; i < LANES; i++) {
        need(cu.stream_synchronize(lanes[i].stream) == CUDA_SUCCESS, "a stream");
        expect_turns(&lanes[i], text, "replayed");
    }
}

static void test_kernel(const char *text)
{
    char all[256];
    jit_gemm_problem problem;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm *gemm = NULL;
    struct lane lanes[LANES];
    snprintf(all, sizeof(all), "m=%d n=%d k=%d a=bf16 %s", M, N, K, text);
    need(jit_gemm_problem_parse(all, &problem) == JIT_GEMM_OK, all);
    need(jit_gemm_create(context, &problem, &gemm) == JIT_GEMM_OK, all);
    need(jit_gemm_get_info(gemm, &info) == JIT_GEMM_OK, all);
    for (int i = 0; i < LANES; i++) {
        lanes[i] = make_lane(info.workspace_bytes);
    }
    need(jit_gemm_device_synchronize(context) == JIT_GEMM_OK, "what was filled");
    for (int i = 0; i < (is_emulated ? 1 : LANES); i++) {
        enqueue(gemm, &lanes[i]);
    }
    need(jit_gemm_device_synchronize(context) == JIT_GEMM_OK, "the streams' end");
    for (int i = 0; i < (is_emulated ? 1 : LANES); i++) {
        expect_turns(&lanes[i], all, "on a stream");
    }
    if (!is_emulated) {
        replay(gemm, lanes, all);
    }
    jit_gemm_destroy(&gemm);
    printf("%s: all right\n", all);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *arch, *text; /* arch NULL: of all */
    } rows[] = {
        {NULL, ""},
        {NULL, "weights=b"},
        {NULL, "input_align=2 config=repack=ab"},
        {NULL, "config=split_k=3 split_order=cluster"},
        {NULL, "config=split_k=3 split_order=serial"},
        {NULL, "config=split_k=3 split_order=parallel"},
        {"sm_90a", "weights=b config=tile=64x32 swap_ab=1 stages=3 resident=2"},
        {"sm_90a", "config=tile=128x128 pingpong=1 cluster=2x1"},
        {"sm_100a", "config=mma=256x64 cta_group=2 prefetch=b"},
    };
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = argc > 2 ? argv[1] : NULL,
                                              .driver = argc > 2 ? argv[2] : NULL,
                                              .no_cache = argc <= 2};
    is_emulated = argc > 2;
    const jit_gemm_status status = jit_gemm_context_create(&options, &context);
    if (status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_DEVICE ||
        status == JIT_GEMM_ERR_UNSUPPORTED) {
        printf("skipped: %s\n", jit_gemm_last_error());
        return SKIPPED;
    }
    need(status == JIT_GEMM_OK, "context");
    driver_calls_open(is_emulated ? argv[2] : "libcuda.so.1", is_emulated, &cu);
    load_kernels();
    jit_gemm_device_info device = {.struct_size = sizeof(device)};
    need(jit_gemm_device_get_info(context, &device) == JIT_GEMM_OK, "device info");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const bool is_hopper = device.cc_major == 9;
        if (rows[i].arch == NULL || is_hopper == (strcmp(rows[i].arch, "sm_90a") == 0)) {
            test_kernel(rows[i].text);
        }
    }
    jit_gemm_context_destroy(&context);
    return 0;
}
