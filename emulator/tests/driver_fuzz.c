/* SPDX-License-Identifier: MIT */
/*
 * Random calls of the driver API: handles that live, that are gone, that are of another
 * kind or none; sizes, attributes and launches in and out of their limits; modules from
 * mutated PTX. Whatever a call answers, nothing may crash. Pointers are the exception: a
 * driver has to believe those to the program's own memory.
 *
 * emu_driver_fuzz [SEED [ROUNDS]]: each round is a process of its own and depends only on
 * its seed; one that dies is named, and `emu_driver_fuzz SEED 1` shows it again. Without
 * ROUNDS it goes on for EMULATOR_FUZZ_SECONDS, or three.
 */
#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver/emulator.h"
#include "fuzz_images.h"

#define CALLS     150u
#define POOL      24u
#define HOST_ROOM 8192u

/* Sizes too great for the host are refused, not fatal. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=4096";
}

/* ------------------------------------------------------------------------------ random */

static uint64_t random_state;

static uint32_t below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 16) % bound);
}

#define ONE_OF(list) ((list)[below(sizeof(list) / sizeof((list)[0]))])

static uint32_t any_number(void)
{
    static const uint32_t numbers[] = {
        0,  1,   2,    3,     7,      15,       16,         31,         32, 33,
        64, 100, 1024, 65535, 227328, 1u << 20, 0x7FFFFFFF, 0x80000000, ~0u};
    return below(4) == 0 ? below(200) : ONE_OF(numbers);
}

static size_t any_size(void)
{
    static const size_t sizes[] = {
        (size_t)9 << 30, (size_t)150 << 30, 0, 1, 3, 4, 16, 100, 256, 1000, 4096, SIZE_MAX,
        SIZE_MAX / 2,    (size_t)1 << 40};
    return below(3) == 0 ? below(HOST_ROOM) : ONE_OF(sizes);
}

/* At most what a buffer of the program's own holds. */
static size_t host_size(void)
{
    return below(HOST_ROOM / 2);
}

/* ----------------------------------------------------------------------------- handles */

enum pool_kind { CONTEXTS, MODULES, FUNCTIONS, LIBRARIES, KERNELS, STREAMS, EVENTS, POOLS };

/* Whatever was once a handle stays, so that it is used when it is gone. */
static void *pools[POOLS][POOL];
static CUdeviceptr addresses[POOL];
static void *pinned[POOL];
static unsigned char host[HOST_ROOM];
static CUtensorMap maps[4];
static unsigned char none[4096]; /* readable, and no handle */

static void *any(enum pool_kind kind)
{
    switch (below(16)) {
    case 0:
        return NULL;
    case 1:
        return none + 64 * below(32);
    case 2:
        return pools[below(POOLS)][below(POOL)];
    case 3:
        return (void *)(uintptr_t)(1 + below(2)); /* the streams that have a number */
    default:
        return pools[kind][below(POOL)];
    }
}

static void keep(enum pool_kind kind, void *handle)
{
    if (handle != NULL) {
        pools[kind][below(POOL)] = handle;
    }
}

static CUdeviceptr any_address(void)
{
    switch (below(12)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX - below(64);
    case 2:
        return (CUdeviceptr)(uintptr_t)(host + below(HOST_ROOM / 2));
    case 3:
        return addresses[below(POOL)] + any_number();
    default:
        return addresses[below(POOL)];
    }
}

static int any_device(void)
{
    return below(8) == 0 ? (int)any_number() : (int)below(2);
}

static void *host_or_nothing(void)
{
    return below(12) == 0 ? NULL : host + 64 * below(32);
}

static const char *any_name(void)
{
    static const char *const names[] = {
        "add", "copy",        "tally", "load", "table", "cuInit", "cuLaunchKernelEx",
        "",    "no such name"};
    return below(16) == 0 ? NULL : ONE_OF(names);
}

/* ---------------------------------------------------------------------- groups of calls */

static void call_device(void)
{
    int number = 0;
    size_t bytes = 0;
    unsigned flags = 0;
    CUuuid uuid;
    CUdevice device = 0;
    void *found = NULL;
    CUdriverProcAddressQueryResult status;
    switch (below(9)) {
    case 0:
        cuDeviceGet(&device, any_device());
        break;
    case 1:
        cuDeviceGetName((char *)host, (int)host_size(), any_device());
        break;
    case 2:
        cuDeviceGetAttribute(&number, (CUdevice_attribute)any_number(), any_device());
        break;
    case 3:
        cuDeviceTotalMem(&bytes, any_device());
        cuMemGetInfo(&bytes, &bytes);
        break;
    case 4:
        cuDeviceGetUuid(&uuid, any_device());
        break;
    case 5:
        cuGetProcAddress(any_name(), &found, (int)any_number(), any_number(), &status);
        break;
    case 6:
        cuDevicePrimaryCtxGetState(any_device(), &flags, &number);
        break;
    case 7:
        cuInit(any_number());
        break;
    default: {
        const char *text = NULL;
        cuGetErrorName((CUresult)any_number(), &text);
        cuGetErrorString((CUresult)any_number(), &text);
    }
    }
}

static void call_context(void)
{
    CUcontext context = NULL;
    CUdevice device = 0;
    int least = 0;
    int greatest = 0;
    switch (below(12)) {
    case 0:
        cuDevicePrimaryCtxRetain(&context, any_device());
        keep(CONTEXTS, context);
        break;
    case 1:
        cuDevicePrimaryCtxRelease(any_device());
        break;
    case 2:
        cuDevicePrimaryCtxReset(any_device());
        break;
    case 3:
        cuCtxCreate(&context, NULL, any_number(), any_device());
        keep(CONTEXTS, context);
        break;
    case 4:
        cuCtxDestroy(any(CONTEXTS));
        break;
    case 5:
        cuCtxPushCurrent(any(CONTEXTS));
        break;
    case 6:
        cuCtxPopCurrent(&context);
        break;
    case 7:
        cuCtxGetDevice(&device);
        cuCtxGetCurrent(&context);
        break;
    case 8:
        cuCtxSynchronize();
        break;
    case 9:
        cuCtxGetStreamPriorityRange(&least, &greatest);
        break;
    default:
        cuCtxSetCurrent(any(CONTEXTS));
    }
}

static void call_module(void)
{
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CUjit_option options[4];
    void *values[4];
    unsigned count = below(5);
    for (unsigned i = 0; i < 4; i++) {
        static const CUjit_option known[] = {CU_JIT_MAX_REGISTERS,
                                             CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_TARGET,
                                             CU_JIT_LOG_VERBOSE, (CUjit_option)4711};
        options[i] = ONE_OF(known);
        values[i] = (void *)(uintptr_t)any_number();
    }
    if (below(2) == 0) {
        options[0] = CU_JIT_ERROR_LOG_BUFFER;
        values[0] = host;
        options[1] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
        values[1] = (void *)(uintptr_t)below(HOST_ROOM);
    }
    switch (below(6)) {
    case 0:
        cuModuleLoadData(&module, fuzz_image(below));
        keep(MODULES, module);
        break;
    case 1:
        cuModuleLoadDataEx(&module, fuzz_image(below), count,
                           below(8) == 0 ? NULL : options, below(8) == 0 ? NULL : values);
        keep(MODULES, module);
        break;
    case 2:
        cuModuleUnload(any(MODULES));
        break;
    case 3:
        cuModuleGetGlobal(&address, &bytes, any(MODULES), any_name());
        break;
    default:
        cuModuleGetFunction(&function, any(MODULES), any_name());
        keep(FUNCTIONS, function);
    }
}

static void call_library(void)
{
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUfunction function = NULL;
    CUmodule module = NULL;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    int number = 0;
    const char *name = NULL;
    CUlibraryOption option = (CUlibraryOption)below(4);
    switch (below(9)) {
    case 0:
    case 1:
        cuLibraryLoadData(&library, fuzz_image(below), NULL, NULL, 0, &option, NULL,
                          below(2));
        keep(LIBRARIES, library);
        break;
    case 2:
        cuLibraryUnload(any(LIBRARIES));
        break;
    case 3:
        cuLibraryGetKernel(&kernel, any(LIBRARIES), any_name());
        keep(KERNELS, kernel);
        break;
    case 4:
        cuLibraryGetModule(&module, any(LIBRARIES));
        keep(MODULES, module);
        break;
    case 5:
        cuLibraryGetGlobal(&address, &bytes, any(LIBRARIES), any_name());
        break;
    case 6:
        cuKernelGetFunction(&function, any(KERNELS));
        keep(FUNCTIONS, function);
        break;
    case 7:
        cuKernelGetAttribute(&number, (CUfunction_attribute)below(20), any(KERNELS),
                             any_device());
        cuKernelSetAttribute((CUfunction_attribute)below(20), (int)any_number(),
                             any(KERNELS), any_device());
        break;
    default:
        cuKernelGetName(&name, any(KERNELS));
        cuKernelGetParamInfo(any(KERNELS), any_number(), &bytes, &bytes);
    }
}

static CUlaunchConfig any_config(CUlaunchAttribute *attributes)
{
    /* Either few blocks or more than a device takes: a grid that runs is a small one. */
    static const unsigned grids[] = {0, 1, 1, 1, 2, 3, 4, 0x80000000u, ~0u};
    static const unsigned blocks[] = {0, 1, 1, 1, 31, 32, 32, 33, 64, 128, 1024, 1025, ~0u};
    static const CUlaunchAttributeID ids[] = {
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
        CU_LAUNCH_ATTRIBUTE_PRIORITY,
        CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
        CU_LAUNCH_ATTRIBUTE_IGNORE,
        (CUlaunchAttributeID)77};
    for (unsigned i = 0; i < 4; i++) {
        attributes[i] = (CUlaunchAttribute){.id = ONE_OF(ids)};
        unsigned words[3] = {ONE_OF(grids), ONE_OF(grids), ONE_OF(grids)};
        memcpy(&attributes[i].value, words, sizeof(words));
    }
    bool small = below(3) != 0;
    return (CUlaunchConfig){.gridDimX = small ? 1 + below(3) : ONE_OF(grids),
                            .gridDimY = small ? 1 : ONE_OF(grids),
                            .gridDimZ = small ? 1 : ONE_OF(grids),
                            .blockDimX = small ? 1 + below(64) : ONE_OF(blocks),
                            .blockDimY = small ? 1 : ONE_OF(blocks),
                            .blockDimZ = small ? 1 : ONE_OF(blocks),
                            .sharedMemBytes = below(2) == 0 ? 0 : any_number(),
                            .hStream = any(STREAMS),
                            .attrs = below(10) == 0 ? NULL : attributes,
                            .numAttrs = below(5)};
}

/* Parameters of 64 bytes at least, whatever the kernel takes; maps where it asks for one.
 */
static void call_launch(void)
{
    static uint64_t values[16][16];
    void *params[16];
    CUlaunchAttribute attributes[4];
    CUlaunchConfig config = any_config(attributes);
    size_t bytes = below(2) == 0 ? host_size() : 8 * below(8);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, host, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};
    for (unsigned i = 0; i < 16; i++) {
        values[i][0] = below(4) == 0 ? any_number() : any_address();
        memcpy(values[i] + 1, &maps[below(4)], 64);
        params[i] = below(40) == 0 ? NULL : (void *)values[i];
    }
    void **given = below(8) == 0 ? NULL : params;
    void **other = below(8) == 0 ? extra : NULL;
    void *function = below(4) == 0 ? any(KERNELS) : any(FUNCTIONS);
    switch (below(3)) {
    case 0:
        cuLaunchKernel(function, config.gridDimX, config.gridDimY, config.gridDimZ,
                       config.blockDimX, config.blockDimY, config.blockDimZ,
                       config.sharedMemBytes, config.hStream, given, other);
        break;
    case 1:
        cuLaunchCooperativeKernel(function, config.gridDimX, config.gridDimY,
                                  config.gridDimZ, config.blockDimX, config.blockDimY,
                                  config.blockDimZ, config.sharedMemBytes, config.hStream,
                                  given);
        break;
    default:
        cuLaunchKernelEx(below(40) == 0 ? NULL : &config, function, given, other);
    }
}

static void call_function(void)
{
    int number = 0;
    size_t bytes = 0;
    CUmodule module = NULL;
    const char *name = NULL;
    CUlaunchAttribute attributes[4];
    CUlaunchConfig config = any_config(attributes);
    CUfunction function = any(FUNCTIONS);
    switch (below(8)) {
    case 0:
        cuFuncGetAttribute(&number, (CUfunction_attribute)below(20), function);
        break;
    case 1:
        cuFuncSetAttribute(function, (CUfunction_attribute)below(20), (int)any_number());
        break;
    case 2:
        cuFuncSetCacheConfig(function, (CUfunc_cache)below(6));
        break;
    case 3:
        cuFuncGetModule(&module, function);
        cuFuncGetName(&name, function);
        break;
    case 4:
        cuFuncGetParamInfo(function, any_number(), &bytes, &bytes);
        break;
    case 5:
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &number, function, (int)any_number(), any_size(), any_number());
        break;
    case 6:
        cuOccupancyMaxActiveClusters(&number, function, &config);
        break;
    default:
        cuOccupancyMaxPotentialClusterSize(&number, function, &config);
    }
}

static void call_memory(void)
{
    CUdeviceptr address = 0;
    void *memory = NULL;
    uint64_t data[8];
    unsigned at = below(POOL);
    switch (below(9)) {
    case 0:
    case 1:
        if (cuMemAlloc(&address, any_size()) == CUDA_SUCCESS) {
            addresses[at] = address;
        }
        break;
    case 2:
        if (cuMemAllocAsync(&address, any_size(), any(STREAMS)) == CUDA_SUCCESS) {
            addresses[at] = address;
        }
        break;
    case 3:
        cuMemFree(any_address());
        break;
    case 4:
        cuMemFreeAsync(any_address(), any(STREAMS));
        break;
    case 5:
        if (cuMemHostAlloc(&memory, any_size(), any_number()) == CUDA_SUCCESS) {
            pinned[at] = memory;
        }
        break;
    case 6:
        cuMemFreeHost(pinned[at]);
        break;
    case 7:
        cuPointerGetAttribute(data, (CUpointer_attribute)below(24), any_address());
        break;
    default: {
        CUpointer_attribute wanted[4];
        void *answers[] = {data, data + 2, data + 4, data + 6};
        for (unsigned i = 0; i < 4; i++) {
            wanted[i] = (CUpointer_attribute)below(24);
        }
        cuPointerGetAttributes(below(5), wanted, answers, any_address());
        emuNameMemory(any_address(), any_name());
    }
    }
}

static void call_copy(void)
{
    void *stream = any(STREAMS);
    CUdeviceptr address = any_address();
    switch (below(8)) {
    case 0:
        cuMemcpyHtoD(address, host_or_nothing(), host_size());
        break;
    case 1:
        cuMemcpyHtoDAsync(address, host_or_nothing(), host_size(), stream);
        break;
    case 2:
        cuMemcpyDtoH(host_or_nothing(), address, host_size());
        break;
    case 3:
        cuMemcpyDtoHAsync(host_or_nothing(), address, host_size(), stream);
        break;
    case 4:
        cuMemcpyDtoDAsync(address, any_address(), any_size(), stream);
        break;
    case 5:
        cuMemcpyAsync((CUdeviceptr)(uintptr_t)(host + below(256)),
                      (CUdeviceptr)(uintptr_t)(host + HOST_ROOM / 2), host_size() / 2,
                      stream);
        break;
    case 6:
        cuMemsetD8Async(address, 7, any_size(), stream);
        cuMemsetD16(address, 7, any_size());
        break;
    default:
        cuMemsetD32Async(address, any_number(), any_size(), stream);
    }
}

static void call_stream(void)
{
    CUstream stream = NULL;
    CUevent event = NULL;
    CUgraph graph = NULL;
    float milliseconds = 0;
    int number = 0;
    unsigned flags = 0;
    unsigned long long id = 0;
    CUstreamCaptureStatus status;
    CUstreamCaptureMode mode = (CUstreamCaptureMode)below(4);
    switch (below(14)) {
    case 0:
        cuStreamCreate(&stream, below(3));
        keep(STREAMS, stream);
        break;
    case 1:
        cuStreamCreateWithPriority(&stream, below(3), (int)any_number());
        keep(STREAMS, stream);
        break;
    case 2:
        cuStreamDestroy(any(STREAMS));
        break;
    case 3:
        cuStreamSynchronize(any(STREAMS));
        break;
    case 4:
        cuStreamQuery(any(STREAMS));
        break;
    case 5:
        cuStreamWaitEvent(any(STREAMS), any(EVENTS), any_number());
        break;
    case 6:
        cuStreamGetPriority(any(STREAMS), &number);
        cuStreamGetFlags(any(STREAMS), &flags);
        cuStreamGetId(any(STREAMS), &id);
        break;
    case 7:
        cuStreamIsCapturing(any(STREAMS), &status);
        cuThreadExchangeStreamCaptureMode(&mode);
        break;
    case 8:
        cuStreamBeginCapture(any(STREAMS), mode);
        cuStreamEndCapture(any(STREAMS), &graph);
        break;
    case 9:
        cuEventCreate(&event, below(16));
        keep(EVENTS, event);
        break;
    case 10:
        cuEventDestroy(any(EVENTS));
        break;
    case 11:
        cuEventSynchronize(any(EVENTS));
        cuEventQuery(any(EVENTS));
        break;
    case 12:
        cuEventElapsedTime(&milliseconds, any(EVENTS), any(EVENTS));
        break;
    default:
        cuEventRecord(any(EVENTS), any(STREAMS));
    }
}

static void call_tensor_map(void)
{
    cuuint64_t dims[5];
    cuuint64_t strides[5];
    cuuint32_t box[5];
    cuuint32_t steps[5];
    CUtensorMap *map = below(40) == 0 ? NULL : &maps[below(4)];
    bool plausible = below(2) == 0;
    for (unsigned i = 0; i < 5; i++) {
        dims[i] = plausible ? 16 : any_size();
        strides[i] = plausible ? 64u << i : any_size();
        box[i] = plausible ? 8 : any_number();
        steps[i] = plausible ? 1 : any_number();
    }
    if (below(5) == 0) {
        cuTensorMapReplaceAddress(map, (void *)(uintptr_t)any_address());
        return;
    }
    cuTensorMapEncodeTiled(map, (CUtensorMapDataType)(plausible ? 2 : any_number()),
                           plausible ? 2 : any_number(), (void *)(uintptr_t)any_address(),
                           below(40) == 0 ? NULL : dims, below(40) == 0 ? NULL : strides,
                           below(40) == 0 ? NULL : box, below(40) == 0 ? NULL : steps,
                           (CUtensorMapInterleave)(plausible ? 0 : below(5)),
                           (CUtensorMapSwizzle)below(8), (CUtensorMapL2promotion)below(5),
                           (CUtensorMapFloatOOBfill)(plausible ? 0 : below(4)));
}

/* -------------------------------------------------------------------------------- round */

/* What rounds did, in memory that they share: a fuzzer that reaches nothing finds nothing.
 */
static struct {
    unsigned long long thread_steps, loaded, refused;
} * reached;

/* A program that works, so that what follows has something to break. */
static void begin(void)
{
    CUcontext context = NULL;
    CUmodule module = NULL;
    CUlibrary library = NULL;
    CUstream stream = NULL;
    CUevent event = NULL;
    cuInit(0);
    emuConfigure("max_steps=20000,threads=1,show=none");
    cuDevicePrimaryCtxRetain(&context, (int)below(2));
    cuCtxSetCurrent(context);
    cuModuleLoadData(&module, fuzz_kernels);
    cuLibraryLoadData(&library, fuzz_kernels, NULL, NULL, 0, NULL, NULL, 0);
    cuStreamCreate(&stream, 0);
    cuEventCreate(&event, 0);
    *(module != NULL && library != NULL ? &reached->loaded : &reached->refused) += 1;
    for (unsigned i = 0; i < POOL; i++) {
        CUfunction function = NULL;
        CUkernel kernel = NULL;
        if (i % 4 == 0) {
            cuMemAlloc(&addresses[i], 4096);
            cuMemsetD8(addresses[i], 0, 4096);
        } else {
            addresses[i] = addresses[i - i % 4];
        }
        cuModuleGetFunction(&function, module, fuzz_names[i % FUZZ_NAMES]);
        cuLibraryGetKernel(&kernel, library, fuzz_names[i % FUZZ_NAMES]);
        pools[CONTEXTS][i] = context;
        pools[MODULES][i] = module;
        pools[FUNCTIONS][i] = function;
        pools[LIBRARIES][i] = library;
        pools[KERNELS][i] = kernel;
        pools[STREAMS][i] = i % 3 == 0 ? stream : NULL;
        pools[EVENTS][i] = event;
    }
}

static void run_round(uint64_t seed)
{
    static void (*const calls[])(void) = {
        call_device, call_context, call_module, call_library,   call_launch,
        call_launch, call_launch,  call_launch, call_function,  call_memory,
        call_copy,   call_stream,  call_stream, call_tensor_map};
    random_state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    begin();
    for (unsigned i = 0; i < CALLS; i++) {
        ONE_OF(calls)();
        if (cuCtxSynchronize() != CUDA_SUCCESS && below(2) == 0) {
            /* After an error of a kernel nothing works until this. */
            cuDevicePrimaryCtxReset(0);
            cuDevicePrimaryCtxReset(1);
        }
        if (below(30) == 0) {
            begin();
        }
    }
    reached->thread_steps += emuThreadSteps();
}

static bool round_is_clean(uint64_t seed)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        run_round(seed);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("emu_driver_fuzz");
        exit(2);
    }
    if (status != 0) {
        printf("seed %llu: %s %d\n", (unsigned long long)seed,
               WIFSIGNALED(status) ? "died of signal" : "ended with",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    return status == 0;
}

int main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0) : 0;
    uint64_t rounds = count > 2 ? strtoull(words[2], NULL, 0) : UINT64_MAX;
    const char *text = getenv("EMULATOR_FUZZ_SECONDS");
    time_t end = time(NULL) + (text == NULL ? 3 : strtol(text, NULL, 10));
    uint64_t done = 0;
    unsigned bad = 0;
    reached = mmap(NULL, sizeof(*reached), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (reached == MAP_FAILED) {
        perror("emu_driver_fuzz");
        return 2;
    }
    while (done < rounds && (rounds != UINT64_MAX || time(NULL) < end) && bad < 5) {
        bad += !round_is_clean(seed + done++);
    }
    printf("%llu rounds of %u calls from seed %llu: %u failed\n", (unsigned long long)done,
           CALLS, (unsigned long long)seed, bad);
    printf("kernels loaded %llu times, not loaded %llu times, %llu thread instructions\n",
           reached->loaded, reached->refused, reached->thread_steps);
    return bad > 0 || reached->loaded == 0 || reached->thread_steps == 0;
}
