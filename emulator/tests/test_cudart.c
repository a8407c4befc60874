/* SPDX-License-Identifier: MIT */
/* The CUDA runtime over the emulator's driver, called as compiled programs call it. */
#include <criterion/criterion.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudart/compiler.h"
#include "test_fatbin.h"

#define EXPECT(expected, call)                                                   \
    do {                                                                         \
        const cudaError_t got = (call);                                          \
        cr_expect_eq(got, (expected), "%s is %s", #call, cudaGetErrorName(got)); \
    } while (0)
#define ASSERT_OK(call)                                                           \
    do {                                                                          \
        const cudaError_t got = (call);                                           \
        cr_assert_eq(got, cudaSuccess, "%s is %s", #call, cudaGetErrorName(got)); \
    } while (0)

/* out[i] = table[1] * a + i of the block's threads; ranks[0] the CTAs of a cluster. */
#define KERNELS(target, factor)                                                       \
    ".version 9.0\n.target " target "\n.address_size 64\n"                            \
    ".visible .const .align 4 .b8 table[8];\n"                                        \
    ".visible .entry scale(.param .u64 out, .param .u32 a)\n"                         \
    "{\n.reg .b32 %r<8>; .reg .b64 %rd<4>;\n"                                         \
    "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [a]; ld.const.u32 %r2, [table+4];\n" \
    "mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x;\n"             \
    "mad.lo.u32 %r3, %r4, %r5, %r3; mul.lo.u32 %r1, %r1, " factor ";\n"               \
    "mad.lo.u32 %r6, %r1, %r2, %r3; mul.wide.u32 %rd2, %r3, 4;\n"                     \
    "add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r6; ret;\n}\n"                  \
    ".visible .entry ranks(.param .u64 out)\n"                                        \
    "{\n.reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p;\n"                          \
    "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p, %r1, 0; @%p bra DONE;\n"                  \
    "ld.param.u64 %rd1, [out]; mov.u32 %r2, %cluster_nctarank;\n"                     \
    "st.global.u32 [%rd1], %r2; DONE: ret;\n}\n"

static struct fatbin fatbin;
static struct fatbin_wrapper wrapper;
static void **handle;
/* Their addresses stand for the kernels and the variable. */
static char scale_stub;
static char ranks_stub;
static char table_stub[8];

static void register_program(void)
{
    fatbin_add(&fatbin, FATBIN_PTX, 0, KERNELS("sm_100a", "1"));
    fatbin_add(&fatbin, FATBIN_PTX, 0, KERNELS("sm_90a", "1000"));
    wrapper = fatbin_wrap(&fatbin);
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &scale_stub, &scale_stub, "scale", -1, NULL, NULL, NULL,
                           NULL, NULL);
    __cudaRegisterFunction(handle, &ranks_stub, &ranks_stub, "ranks", -1, NULL, NULL, NULL,
                           NULL, NULL);
    __cudaRegisterVar(handle, table_stub, table_stub, "table", 0, sizeof(table_stub), 1, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

static void unregister_program(void)
{
    __cudaUnregisterFatBinary(handle);
}

TestSuite(cudart, .init = register_program, .fini = unregister_program);

static dim3 only_x(unsigned x)
{
    return (dim3){x, 1, 1};
}

/* scale<<<2, 4, 0, stream>>>(out, a), as a stub does it. */
static cudaError_t launch_scale(void *out, unsigned a, cudaStream_t stream)
{
    void *args[] = {&out, &a};
    dim3 grid;
    dim3 block;
    size_t shared_bytes = 1;
    cudaStream_t popped = NULL;
    cr_assert_eq(__cudaPushCallConfiguration(only_x(2), only_x(4), 0, stream), 0);
    ASSERT_OK(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &popped));
    return cudaLaunchKernel(&scale_stub, grid, block, args, shared_bytes, popped);
}

static unsigned eighth_of(const void *device)
{
    unsigned values[8] = {0};
    ASSERT_OK(cudaMemcpy(values, device, sizeof(values), cudaMemcpyDeviceToHost));
    return values[7];
}

static void *make_output(void)
{
    const unsigned table[2] = {0, 10};
    void *out = NULL;
    ASSERT_OK(cudaMalloc(&out, 32));
    ASSERT_OK(
        cudaMemcpyToSymbol(table_stub, table, sizeof(table), 0, cudaMemcpyHostToDevice));
    return out;
}

/* ---------------------------------------------------------------------------- programs */

Test(cudart, a_registered_kernel_is_launched_by_its_stub)
{
    void *out = make_output();
    cudaStream_t stream = NULL;
    cudaKernel_t kernel = NULL;
    unsigned a = 5;
    void *args[] = {&out, &a};
    ASSERT_OK(cudaStreamCreate(&stream));

    ASSERT_OK(launch_scale(out, 3, stream));
    ASSERT_OK(cudaStreamSynchronize(stream));
    cr_expect_eq(eighth_of(out), 37);

    ASSERT_OK(__cudaGetKernel(&kernel, &scale_stub));
    ASSERT_OK(__cudaLaunchKernel(kernel, only_x(2), only_x(4), args, 0, stream));
    ASSERT_OK(cudaDeviceSynchronize());
    cr_expect_eq(eighth_of(out), 57);
    EXPECT(cudaSuccess, cudaFree(out));
}

Test(cudart, each_device_takes_the_text_that_fits_it)
{
    int device = -1;
    for (int ordinal = 0; ordinal < 2; ordinal++) {
        ASSERT_OK(cudaSetDevice(ordinal));
        void *out = make_output();
        ASSERT_OK(launch_scale(out, 3, NULL));
        cr_expect_eq(eighth_of(out), ordinal == 0 ? 37 : 30007);
        ASSERT_OK(cudaGetDevice(&device));
        cr_expect_eq(device, ordinal);
    }
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(2));
}

Test(cudart, variables_are_reached_by_their_symbols)
{
    const unsigned four = 4;
    unsigned table[2] = {0, 0};
    void *address = NULL;
    size_t bytes = 0;
    void *out = make_output();

    ASSERT_OK(cudaMemcpyToSymbol(table_stub, &four, 4, 4, cudaMemcpyHostToDevice));
    ASSERT_OK(launch_scale(out, 1, NULL));
    cr_expect_eq(eighth_of(out), 11);
    ASSERT_OK(cudaMemcpyFromSymbol(table, table_stub, 8, 0, cudaMemcpyDeviceToHost));
    cr_expect_eq(table[1], 4);
    ASSERT_OK(cudaGetSymbolSize(&bytes, table_stub));
    ASSERT_OK(cudaGetSymbolAddress(&address, table_stub));
    cr_expect_eq(bytes, 8);
    cr_expect_not_null(address);
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpyToSymbol(table_stub, &four, 4, 8, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, &scale_stub));
}

Test(cudart, attributes_of_a_launch_reach_it)
{
    void *out = make_output();
    void *args[] = {&out};
    cudaLaunchAttribute cluster = {.id = cudaLaunchAttributeClusterDimension};
    cluster.val.clusterDim.x = 2;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    const cudaLaunchConfig_t config = {
        .gridDim = only_x(4), .blockDim = only_x(32), .attrs = &cluster, .numAttrs = 1};
    unsigned ctas = 0;
    int clusters = 0;

    ASSERT_OK(cudaLaunchKernelExC(&config, &ranks_stub, args));
    ASSERT_OK(cudaMemcpy(&ctas, out, 4, cudaMemcpyDeviceToHost));
    cr_expect_eq(ctas, 2);
    ASSERT_OK(cudaOccupancyMaxActiveClusters(&clusters, &ranks_stub, &config));
    cr_expect_gt(clusters, 0);
}

/* ------------------------------------------------------------------------------- errors */

Test(cudart, the_last_error_is_kept_until_it_is_asked_for)
{
    void *out = make_output();
    void *args[] = {&out};

    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(&ranks_stub, only_x(1), only_x(2048), args, 0, NULL));
    EXPECT(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    EXPECT(cudaErrorInvalidConfiguration, cudaGetLastError());
    EXPECT(cudaSuccess, cudaGetLastError());
    EXPECT(cudaErrorInvalidDeviceFunction,
           cudaLaunchKernel(table_stub, only_x(1), only_x(1), args, 0, NULL));
    EXPECT(cudaErrorNotSupported, cudaHostRegister(table_stub, 8, 0));
    cr_expect_str_eq(cudaGetErrorName(cudaErrorInvalidDeviceFunction),
                     "cudaErrorInvalidDeviceFunction");
    cr_expect_str_eq(cudaGetErrorString(cudaSuccess), "no error");
}

Test(cudart, what_is_missing_or_too_large_in_a_call_is_an_error)
{
    void *out = make_output();
    void *args[] = {&out};
    int count = 0;

    EXPECT(cudaErrorInvalidConfiguration, cudaLaunchKernelExC(NULL, &ranks_stub, args));
    /* 2^32 would be 0 in the driver's 32 bits. */
    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(&ranks_stub, only_x(1), only_x(1), args, (size_t)UINT32_MAX + 1,
                            NULL));
    EXPECT(cudaErrorInvalidValue,
           cudaOccupancyMaxActiveClusters(&count, &ranks_stub, NULL));
    EXPECT(cudaErrorInvalidValue,
           cudaOccupancyMaxPotentialClusterSize(&count, &ranks_stub, NULL));
    EXPECT(cudaErrorInvalidValue, cudaFuncGetAttributes(NULL, &ranks_stub));
    EXPECT(cudaErrorInvalidValue, cudaGetSymbolAddress(NULL, table_stub));
    EXPECT(cudaErrorInvalidValue, cudaGetSymbolSize(NULL, table_stub));
    EXPECT(cudaErrorInvalidValue, __cudaGetKernel(NULL, &ranks_stub));
}

Test(cudart, managed_variables_are_refused)
{
    static char stub;
    static void *variable;
    void *args[] = {NULL};
    void **other = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(other, &stub, &stub, "ranks", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterManagedVar(other, &variable, &stub, "shared_with_all", 0, 4, 0, 0);

    EXPECT(cudaErrorNotSupported,
           cudaLaunchKernel(&stub, only_x(1), only_x(1), args, 0, NULL));
    __cudaUnregisterFatBinary(other);
}

/* ------------------------------------------------------------------- devices and memory */

Test(cudart, properties_are_those_of_the_driver)
{
    struct cudaDeviceProp prop;
    int count = 0;
    int processors = 0;
    ASSERT_OK(cudaGetDeviceCount(&count));
    cr_assert_eq(count, 2);
    for (int ordinal = 0; ordinal < count; ordinal++) {
        ASSERT_OK(cudaGetDeviceProperties(&prop, ordinal));
        ASSERT_OK(
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, ordinal));
        cr_expect_eq(prop.major, ordinal == 0 ? 10 : 9);
        cr_expect_eq(prop.multiProcessorCount, ordinal == 0 ? 148 : 132);
        cr_expect_eq(processors, prop.multiProcessorCount);
        cr_expect_eq(prop.sharedMemPerBlockOptin, 232448);
        cr_expect_eq(prop.warpSize, 32);
        cr_expect_eq(prop.maxGridSize[0], 2147483647);
    }
}

Test(cudart, a_program_sees_the_devices_that_it_is_allowed)
{
    static const struct {
        const char *list;
        int count, major;
    } cases[] = {{"1", 1, 9}, {"1,0", 2, 9}, {"0,7,1", 1, 10}, {"0,0", 1, 10}, {"", 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            struct cudaDeviceProp prop = {.major = 0};
            int count = -1;
            setenv("CUDA_VISIBLE_DEVICES", cases[i].list, 1);
            const cudaError_t error = cudaGetDeviceCount(&count);
            const cudaError_t expected =
                cases[i].count > 0 ? cudaSuccess : cudaErrorNoDevice;
            cudaGetDeviceProperties(&prop, 0);
            _exit(error != expected || count != cases[i].count ||
                  prop.major != cases[i].major);
        }
        int status = -1;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_expect_eq(status, 0, "CUDA_VISIBLE_DEVICES=%s", cases[i].list);
    }
}

Test(cudart, managed_memory_is_shared_with_kernels)
{
    struct cudaPointerAttributes attributes;
    unsigned *shared = NULL;
    void *out = make_output();
    ASSERT_OK(cudaMallocManaged((void **)&shared, 32, cudaMemAttachGlobal));

    ASSERT_OK(launch_scale(shared, 3, NULL));
    ASSERT_OK(cudaDeviceSynchronize());

    cr_expect_eq(shared[7], 37);
    ASSERT_OK(cudaPointerGetAttributes(&attributes, &shared[1]));
    cr_expect_eq(attributes.type, cudaMemoryTypeManaged);
    ASSERT_OK(cudaPointerGetAttributes(&attributes, out));
    cr_expect_eq(attributes.type, cudaMemoryTypeDevice);
    ASSERT_OK(cudaPointerGetAttributes(&attributes, table_stub));
    cr_expect_eq(attributes.type, cudaMemoryTypeUnregistered);
    EXPECT(cudaSuccess, cudaFree(shared));
    EXPECT(cudaErrorInvalidValue, cudaFree(shared));
    EXPECT(cudaSuccess, cudaFree(NULL));
}

Test(cudart, copies_of_rows_leave_the_gaps_alone)
{
    const unsigned char rows[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    unsigned char host[6] = {0, 0, 9, 0, 0, 9};
    void *device = NULL;
    size_t pitch = 0;
    ASSERT_OK(cudaMallocPitch(&device, &pitch, 3, 2));
    ASSERT_OK(cudaMemset2D(device, pitch, 7, 3, 2));

    ASSERT_OK(cudaMemcpy2D(device, pitch, rows, 4, 2, 2, cudaMemcpyHostToDevice));
    ASSERT_OK(cudaMemcpy2D(host, 3, device, pitch, 2, 2, cudaMemcpyDeviceToHost));

    cr_expect_arr_eq(host, ((unsigned char[]){1, 2, 9, 5, 6, 9}), 6);
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpy2D(host, 1, device, pitch, 2, 2, cudaMemcpyDeviceToHost));
}

Test(cudart, a_copy_in_the_wrong_direction_is_refused)
{
    unsigned host[8] = {0};
    unsigned *mapped = NULL;
    void *out = make_output();
    void *other = make_output();
    ASSERT_OK(cudaMemset(out, 1, 32));
    ASSERT_OK(cudaMemset(other, 2, 32));
    ASSERT_OK(cudaMallocHost((void **)&mapped, 32));

    EXPECT(cudaErrorInvalidValue, cudaMemcpy(out, other, 32, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(out, other, 32, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(out, host, 32, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(host, out, 32, cudaMemcpyHostToDevice));
    ASSERT_OK(cudaMemcpy(mapped, out, 32, cudaMemcpyDeviceToHost));

    cr_expect_eq(mapped[7], 0x01010101);
    cr_expect_eq(eighth_of(out), 0x01010101);
}

Test(cudart, functions_of_the_driver_are_found_by_name)
{
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    void *function = NULL;
    ASSERT_OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                               0, &status));
    cr_expect_not_null(function);
    cr_expect_eq(status, cudaDriverEntryPointSuccess);
    ASSERT_OK(
        cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, 0, &status));
    cr_expect_eq(status, cudaDriverEntryPointSymbolNotFound);
}

/* ----------------------------------------------------------- a program that nvcc compiles
 */

#ifdef EMU_NVCC_PATH
/* Runs it, with both of its outputs in the file; its exit status. */
static int run(char *const *arguments, const char *output)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (freopen(output, "w", stdout) != NULL &&
            dup2(STDOUT_FILENO, STDERR_FILENO) >= 0) {
            setenv("LD_LIBRARY_PATH", EMU_CUDART_FOLDER, 1);
            execv(arguments[0], arguments);
        }
        _exit(127);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void read_text(const char *file, char *text, size_t room)
{
    FILE *stream = fopen(file, "r");
    cr_assert_not_null(stream);
    text[fread(text, 1, room - 1, stream)] = '\0';
    fclose(stream);
}

Test(cudart, a_program_of_nvcc_runs_unmodified)
{
    char folder[] = "/tmp/emu_cudart_XXXXXX";
    char program[64];
    char output[64];
    char text[4096];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(program, sizeof(program), "%s/program", folder);
    snprintf(output, sizeof(output), "%s/output", folder);
    char *const compile[] = {EMU_NVCC_PATH, "--cudart",      "shared",
                             "-arch=sm_90", "--no-compress", EMU_PROGRAM_SOURCE,
                             "-o",          program,         NULL};

    const int compiled = run(compile, output);
    read_text(output, text, sizeof(text));
    cr_assert_eq(compiled, 0, "nvcc: %s", text);
    const int status = run((char *const[]){program, NULL}, output);
    read_text(output, text, sizeof(text));

    cr_expect_eq(status, 0, "%s", text);
    cr_expect_not_null(strstr(text,
                              "y[999]=4995 added=1000 total=2.4975e+06 blocks=2 time=yes "
                              "2048: cudaErrorInvalidConfiguration\n"),
                       "%s", text);
    unlink(program);
    unlink(output);
    rmdir(folder);
}
#endif
