/* SPDX-License-Identifier: MIT */
/*
 * A CUDA graph: D = relu(A * B) is captured once and replayed with new inputs. What
 * compiles or loads comes before the capture; a run under capture is its launches and
 * nothing else. Graphs are the driver's own; the emulator has none.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { SIZE = 256, ELEMENTS = SIZE * SIZE, REPLAYS = 4, NO_GPU = 77 };
enum { CAPTURE_GLOBAL = 0, BYTES = ELEMENTS * sizeof(float) };

/* Functions of the driver, with its handles as plain pointers. Each gives 0 on success. */
static struct {
    int (*device_get)(int *, int);
    int (*primary_retain)(void **, int);
    int (*ctx_set_current)(void *);
    int (*stream_create)(void **, unsigned);
    int (*begin_capture)(void *, int);
    int (*end_capture)(void *, void **);
    int (*instantiate)(void **, void *, unsigned long long);
    int (*graph_launch)(void *, void *);
} cu;

/* Prints the reason of a failure. */
static bool failed(const char *call, jit_gemm_status status)
{
    if (status != JIT_GEMM_OK) {
        fprintf(stderr, "%s: %s\n", call, jit_gemm_last_error());
    }
    return status != JIT_GEMM_OK;
}

static bool refused(const char *call, int result)
{
    if (result != 0) {
        fprintf(stderr, "%s: driver error %d\n", call, result);
    }
    return result != 0;
}

static bool open_driver(void)
{
    const struct {
        const char *name;
        void *function;
    } rows[] = {
        {"cuDeviceGet", &cu.device_get},
        {"cuDevicePrimaryCtxRetain", &cu.primary_retain},
        {"cuCtxSetCurrent", &cu.ctx_set_current},
        {"cuStreamCreate", &cu.stream_create},
        {"cuStreamBeginCapture_v2", &cu.begin_capture},
        {"cuStreamEndCapture", &cu.end_capture},
        {"cuGraphInstantiateWithFlags", &cu.instantiate},
        {"cuGraphLaunch", &cu.graph_launch},
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

static bool fill(jit_gemm_context *context, uint64_t address, float value)
{
    static float host[ELEMENTS];

    for (int i = 0; i < ELEMENTS; i++) {
        host[i] = value;
    }
    return !failed("upload", jit_gemm_device_upload(context, address, host, sizeof(host)));
}

/* New inputs go to the memory that the graph reads: nothing is captured again. Copies wait
 * for the stream, because it is no non-blocking one. */
static bool replay(jit_gemm_context *context, const jit_gemm_args *args, void *graph,
                   void *stream)
{
    static float d[ELEMENTS];
    bool is_right = true;

    for (int i = 0; i < REPLAYS && is_right; i++) {
        const float a = (float)(i - 1); /* at first negative: relu gives 0 */
        const float expected = a > 0 ? a * 0.5f * (float)SIZE : 0;

        if (!fill(context, args->a.pointer, a) ||
            refused("launch of the graph", cu.graph_launch(graph, stream)) ||
            failed("download",
                   jit_gemm_device_download(context, d, args->d.pointer, sizeof(d)))) {
            return false;
        }
        for (int k = 0; k < ELEMENTS; k++) {
            is_right = is_right && d[k] == expected;
        }
        printf("replay %d: D[0][0] = %g, expected %g: %s\n", i, (double)d[0],
               (double)expected, is_right ? "right" : "WRONG");
    }
    return is_right;
}

static bool capture_and_replay(jit_gemm_context *context, int ordinal)
{
    const jit_gemm_problem problem = {.struct_size = sizeof(problem),
                                      .m = {.size = SIZE},
                                      .n = {.size = SIZE},
                                      .k = {.size = SIZE},
                                      .a = {.dtype = JIT_GEMM_DTYPE_TF32},
                                      .epilogue = "relu"};
    jit_gemm_args args = {.struct_size = sizeof(args)};
    void *primary = NULL, *stream = NULL, *captured = NULL, *graph = NULL;
    jit_gemm *gemm = NULL;
    int device = 0;

    /* Streams belong to a context of the driver: the device's primary one. */
    const bool is_right =
        !failed("A", jit_gemm_device_alloc(context, BYTES, &args.a.pointer)) &&
        !failed("B", jit_gemm_device_alloc(context, BYTES, &args.b.pointer)) &&
        !failed("D", jit_gemm_device_alloc(context, BYTES, &args.d.pointer)) &&
        fill(context, args.b.pointer, 0.5f) &&
        !failed("create", jit_gemm_create(context, &problem, &gemm)) &&
        !refused("device", cu.device_get(&device, ordinal)) &&
        !refused("context", cu.primary_retain(&primary, device)) &&
        !refused("current context", cu.ctx_set_current(primary)) &&
        !refused("stream", cu.stream_create(&stream, 0)) &&
        !refused("begin", cu.begin_capture(stream, CAPTURE_GLOBAL)) &&
        !failed("run", jit_gemm_run(gemm, &args, stream)) &&
        !refused("end", cu.end_capture(stream, &captured)) &&
        !refused("instantiate", cu.instantiate(&graph, captured, 0)) &&
        replay(context, &args, graph, stream);
    jit_gemm_destroy(&gemm); /* graph, stream and memory end with the program */
    return is_right;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    int code = NO_GPU;

    if (jit_gemm_context_create(NULL, &context) != JIT_GEMM_OK ||
        jit_gemm_device_get_info(context, &info) != JIT_GEMM_OK || info.is_emulated) {
        fprintf(stderr, "skipped, no GPU: %s\n",
                info.is_emulated ? "the emulator has no graphs" : jit_gemm_last_error());
    } else {
        code = open_driver() && capture_and_replay(context, info.ordinal) ? 0 : 1;
    }
    jit_gemm_context_destroy(&context);
    return code;
}
