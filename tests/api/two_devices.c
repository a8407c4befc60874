/* SPDX-License-Identifier: MIT */
/*
 * One thread uses contexts of two devices in turns: each has its memory, its kernels and
 * its results on its own device, whichever device's context is current, and that one stays
 * current. Without arguments on GPUs, of which it takes two: exit 77 with fewer. With the
 * path of an emulator on that one's two devices, which are of different kinds.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "driver_calls.h"
#include "jit_gemm/device.h"

enum { DEVICES = 2, SIZE = 128, ELEMENTS = SIZE * SIZE, TURNS = 3, LAUNCHES = 10 };
enum { SKIPPED = 77, LOG_OF_SIZE = 7 };

struct owner {
    jit_gemm_context *context;
    jit_gemm *gemm;
    int ordinal;
    jit_gemm_args args;
    CUstream stream; /* of its own context */
};

static struct driver_calls cu;

/* A power of two, in bf16. */
static unsigned short power_bits(int exponent)
{
    return (unsigned short)((127 + exponent) << 7);
}

static void send(const struct owner *owner, uint64_t address, unsigned short value)
{
    static unsigned short host[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
        host[i] = value;
    }
    need(jit_gemm_device_upload(owner->context, address, host, sizeof(host)) == JIT_GEMM_OK,
         "upload");
}

static uint64_t allocate(const struct owner *owner)
{
    uint64_t address = 0;
    int ordinal = -1;
    need(jit_gemm_device_alloc(owner->context, ELEMENTS * sizeof(unsigned short),
                               &address) == JIT_GEMM_OK,
         "alloc");
    need(cu.pointer_attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                              (CUdeviceptr)address) == CUDA_SUCCESS,
         "device of an address");
    need(ordinal == owner->ordinal, "memory lies on the context's device");
    return address;
}

/* False where there is no such device. */
static bool open_owner(struct owner *owner, int ordinal, const char *driver)
{
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .device = ordinal,
                                              .exact_device = 1,
                                              .driver = driver,
                                              .no_cache = driver == NULL};
    jit_gemm_problem problem = {.struct_size = sizeof(problem)};
    *owner = (struct owner){.ordinal = ordinal};
    const jit_gemm_status status = jit_gemm_context_create(&options, &owner->context);
    const bool is_behind_last = ordinal > 0 && status == JIT_GEMM_ERR_ARGUMENT;
    if (status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_DEVICE ||
        status == JIT_GEMM_ERR_UNSUPPORTED || is_behind_last) {
        return false;
    }
    need(status == JIT_GEMM_OK, "context");
    need(jit_gemm_problem_parse("128x128x128 bf16", &problem) == JIT_GEMM_OK, "problem");
    need(jit_gemm_create(owner->context, &problem, &owner->gemm) == JIT_GEMM_OK, "create");
    return true;
}

static void fill(struct owner *owner)
{
    owner->args = (jit_gemm_args){.struct_size = sizeof(owner->args),
                                  .a = {.pointer = allocate(owner)},
                                  .b = {.pointer = allocate(owner)},
                                  .d = {.pointer = allocate(owner)}};
    send(owner, owner->args.b.pointer, power_bits(0));
}

/* Another A for each device and turn. */
static int exponent_of(const struct owner *owner, int turn)
{
    return 2 * turn + owner->ordinal;
}

static void prepare(const struct owner *owner, int turn)
{
    send(owner, owner->args.a.pointer, power_bits(exponent_of(owner, turn)));
    send(owner, owner->args.d.pointer, 0x7fff);
}

static void expect_product(const struct owner *owner, int turn, const char *what)
{
    static unsigned short host[ELEMENTS];
    need(jit_gemm_device_download(owner->context, host, owner->args.d.pointer,
                                  sizeof(host)) == JIT_GEMM_OK,
         "download");
    for (int i = 0; i < ELEMENTS; i++) {
        need(host[i] == power_bits(exponent_of(owner, turn) + LOG_OF_SIZE), what);
    }
}

static void run(const struct owner *owner, CUstream stream)
{
    need(jit_gemm_run(owner->gemm, &owner->args, stream) == JIT_GEMM_OK, "run");
}

static void test_turns(const struct owner *owners)
{
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < DEVICES; i++) {
            prepare(&owners[i], turn);
        }
        for (int i = 0; i < LAUNCHES * DEVICES; i++) {
            run(&owners[i % DEVICES], NULL);
        }
        for (int i = DEVICES - 1; i >= 0; i--) {
            need(jit_gemm_device_synchronize(owners[i].context) == JIT_GEMM_OK, "end");
        }
        for (int i = 0; i < DEVICES; i++) {
            expect_product(&owners[i], turn, "the product of its own device's inputs");
        }
    }
}

/* Launches in a device's stream while the other device's context is current. */
static void test_streams(struct owner *owners)
{
    for (int i = 0; i < DEVICES; i++) {
        CUcontext before = NULL, after = NULL;
        prepare(&owners[i], TURNS);
        driver_calls_make_current(&cu, i);
        need(cu.stream_create(&owners[i].stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS,
             "stream");
        driver_calls_make_current(&cu, 1 - i);
        need(cu.ctx_get_current(&before) == CUDA_SUCCESS, "current context");

        run(&owners[i], owners[i].stream);

        need(cu.ctx_get_current(&after) == CUDA_SUCCESS && after == before,
             "the other device's context stays current");
        driver_calls_make_current(&cu, i);
        need(cu.stream_synchronize(owners[i].stream) == CUDA_SUCCESS, "end of the stream");
        expect_product(&owners[i], TURNS, "the product in a stream of its device");
    }
}

static void *run_both(void *user)
{
    const struct owner *owners = user;
    for (int i = DEVICES - 1; i >= 0; i--) {
        run(&owners[i], NULL);
        need(jit_gemm_device_synchronize(owners[i].context) == JIT_GEMM_OK, "end");
    }
    return NULL;
}

static void test_fresh_thread(struct owner *owners)
{
    pthread_t thread;
    for (int i = 0; i < DEVICES; i++) {
        prepare(&owners[i], TURNS + 1);
    }
    need(pthread_create(&thread, NULL, run_both, owners) == 0, "thread");
    pthread_join(thread, NULL);
    for (int i = 0; i < DEVICES; i++) {
        expect_product(&owners[i], TURNS + 1, "the product of a thread without a context");
    }
}

int main(int argc, char **argv)
{
    struct owner owners[DEVICES];
    const char *driver = argc > 1 ? argv[1] : NULL;
    for (int i = 0; i < DEVICES; i++) {
        if (!open_owner(&owners[i], i, driver)) {
            printf("skipped: device %d: %s\n", i, jit_gemm_last_error());
            return SKIPPED;
        }
    }
    driver_calls_open(driver != NULL ? driver : "libcuda.so.1", driver != NULL, &cu);
    for (int i = 0; i < DEVICES; i++) {
        fill(&owners[i]);
    }
    test_turns(owners);
    test_streams(owners);
    test_fresh_thread(owners);
    for (int i = 0; i < DEVICES; i++) {
        jit_gemm_destroy(&owners[i].gemm);
        jit_gemm_context_destroy(&owners[i].context);
    }
    printf("two devices in turns, their streams, a fresh thread: all right\n");
    return 0;
}
