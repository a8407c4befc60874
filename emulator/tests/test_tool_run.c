/* SPDX-License-Identifier: MIT */
/* emu-run as a person calls it: a small product, and each way to end. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/emu_run_XXXXXX";

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void tear_down(void)
{
    static const char *const names[] = {"k.ptx", "k.launch", "d.bin", "a.bin"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unlink(names[i]);
    }
    cr_expect_eq(chdir("/"), 0);
    cr_expect_eq(rmdir(folder), 0);
}

TestSuite(tool_run, .init = set_up, .fini = tear_down);

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

/* One thread per element of D[m][n] = A[m][k] · B[n][k]; grid m, block n, k a parameter. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry gemm(.param .u64 d, .param .u64 a, .param .u64 b, .param .u32 k)\n"
    "{\n"
    "  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<4>;\n"
    "  mov.u32 %r1, %ctaid.x;\n"
    "  mov.u32 %r2, %tid.x;\n"
    "  mov.u32 %r3, %ntid.x;\n"
    "  ld.param.u32 %r4, [k];\n"
    "  ld.param.u64 %d1, [a];\n"
    "  ld.param.u64 %d2, [b];\n"
    "  ld.param.u64 %d3, [d];\n"
    "  mul.lo.s32 %r5, %r1, %r4;\n"
    "  mul.wide.u32 %d4, %r5, 4;\n"
    "  add.s64 %d1, %d1, %d4;\n"
    "  mul.lo.s32 %r5, %r2, %r4;\n"
    "  mul.wide.u32 %d4, %r5, 4;\n"
    "  add.s64 %d2, %d2, %d4;\n"
    "  mad.lo.s32 %r5, %r1, %r3, %r2;\n"
    "  mul.wide.u32 %d4, %r5, 4;\n"
    "  add.s64 %d3, %d3, %d4;\n"
    "  mov.f32 %f1, 0f00000000;\n"
    "LOOP:\n"
    "  ld.global.f32 %f2, [%d1];\n"
    "  ld.global.f32 %f3, [%d2];\n"
    "  fma.rn.f32 %f1, %f2, %f3, %f1;\n"
    "  add.s64 %d1, %d1, 4;\n"
    "  add.s64 %d2, %d2, 4;\n"
    "  add.s32 %r4, %r4, -1;\n"
    "  setp.ne.s32 %p, %r4, 0;\n"
    "  @%p bra LOOP;\n"
    "  st.global.f32 [%d3], %f1;\n"
    "  ret;\n"
    "}\n";

#define LAUNCH                             \
    "entry gemm\ngrid 5\nblock 48\n"       \
    "buffer A f32 5x32 random 1 -1 1\n"    \
    "buffer B f32 48x32 integers 2 -3 3\n" \
    "buffer D f32 5x48 undefined\n"        \
    "param address D\nparam address A\nparam address B\n"

/* Runs it; the exit status, and everything it wrote into `ret_text` of 16 KiB. */
static int run(const char *launch, const char *options, char *ret_text)
{
    char command[1024];
    write_file("k.ptx", ptx, sizeof(ptx) - 1);
    write_file("k.launch", launch, strlen(launch));
    snprintf(command, sizeof(command), "%s k.ptx --launch k.launch %s 2>&1", EMU_RUN_PATH,
             options);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    size_t length = fread(ret_text, 1, 16383, pipe);
    ret_text[length] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_run(int expected, const char *part, const char *launch,
                       const char *options)
{
    char text[16384];
    int status = run(launch, options, text);
    cr_expect_eq(status, expected, "%d: %s", status, text);
    cr_expect_not_null(strstr(text, part), "`%s` is not in `%s`", part, text);
}

Test(tool_run, product_is_compared_with_the_reference)
{
    expect_run(0, "0 of 240 outside: good",
               LAUNCH "param u32 32\n"
                      "check gemm d=D:mn a=A:mk b=B:nk m=5 n=48 k=32 absolute=1e-5\n"
                      "expect clean\n",
               "");
    expect_run(1, "240 of 240 outside: wrong",
               LAUNCH "param u32 32\n"
                      "check gemm d=D:mn a=A:mk b=B:nk m=5 n=48 k=32 alpha=2 "
                      "relative=0.01\n",
               "");
}

Test(tool_run, several_seeds)
{
    expect_run(0, "gemm: as expected",
               "device sm_90a\n" LAUNCH "param u32 32\nexpect clean\nprint D 3\n",
               "--seeds 3 --settings async=latest");
}

Test(tool_run, times_are_said_to_be_modelled)
{
    const char *launch = "device sm_90a\n" LAUNCH "param u32 32\nexpect clean\n";
    expect_run(0, "modelled on h200", launch, "--timing");
    expect_run(0, "modelled on h100", launch, "--timing --settings timing=h100,mhz=1500");
    expect_run(0, "no launch was timed", launch, "--timing --settings timing=off");
}

Test(tool_run, expected_failure_is_a_success)
{
    const char *launch = LAUNCH "param u32 33\n"
                                "expect result CUDA_ERROR_ILLEGAL_ADDRESS\n"
                                "expect finding out-of-bounds\n";
    expect_run(0, "past the end of", launch, "");
    expect_run(0, "as expected", launch, "--settings show=none");
    expect_run(1, "CUDA_ERROR_ILLEGAL_ADDRESS, expected was CUDA_SUCCESS",
               LAUNCH "param u32 33\n", "");
    expect_run(1, "there was no finding [race]",
               LAUNCH "param u32 32\nexpect finding race\n", "");
}

Test(tool_run, parameters_have_to_be_the_kernels)
{
    expect_run(1, "line 10: parameter 3 of gemm has 4 bytes, not 8",
               LAUNCH "param u64 32\n", "");
    expect_run(1, "gemm has more than 3 parameters", LAUNCH, "");
    expect_run(1, "line 11: gemm has only 4 parameters",
               LAUNCH "param u32 32\nparam u32 32\n", "");
}

Test(tool_run, files_come_in_and_go_out)
{
    float a[5 * 32];
    float d[5 * 48];
    for (int i = 0; i < 5 * 32; i++) {
        a[i] = 1;
    }
    write_file("a.bin", a, sizeof(a));
    const char *launch = "entry gemm\ngrid 5\nblock 48\nbuffer A f32 5x32 file a.bin\n"
                         "buffer B f32 48x32 constant 2\nbuffer D f32 5x48 undefined\n"
                         "param address D\nparam address A\nparam address B\n"
                         "param u32 32\ndump D d.bin\n";
    expect_run(0, "as expected", launch, "");
    FILE *file = fopen("d.bin", "rb");
    cr_assert_not_null(file);
    cr_expect_eq(fread(d, 1, sizeof(d), file), sizeof(d));
    fclose(file);
    cr_expect_float_eq(d[0], 64, 0);
    cr_expect_float_eq(d[239], 64, 0);

    write_file("a.bin", a, sizeof(a) - 1);
    expect_run(1, "a.bin: has less than the 640 bytes", launch, "");
}

Test(tool_run, wrong_calls_and_files)
{
    expect_run(2, "line 1: there is no statement `hello`", "hello\n", "");
    expect_run(2, "numbers=soft", LAUNCH "param u32 32\n", "--settings numbers=soft");
    expect_run(2, "usage:", LAUNCH, "--seeds none");
    expect_run(2, "usage:", LAUNCH, "--sing");
    expect_run(1, "CUDA_ERROR_NOT_FOUND", "entry other\ngrid 1\nblock 1\n", "");
    expect_run(1, "CUDA_ERROR_NO_BINARY_FOR_GPU: cuModuleLoadData: the image is a cubin",
               LAUNCH,
               "; printf '\\177ELF' > k.ptx; " EMU_RUN_PATH " k.ptx --launch k.launch");
}
