/* SPDX-License-Identifier: MIT */
/*
 * An epilogue that somebody else compiled: a device function as PTX takes the snippet's
 * place. Here the text stands in the program; it may come from nvcc, clang, numba or a code
 * generator. Its signature follows from the operands (jit_gemm/epilogue.h). First code that
 * is not PTX, which is refused when it is registered; that needs no GPU.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { M = 256, N = 384, K = 64, NO_GPU = 77 };

/*
 * extern "C" __device__ float leaky(float acc, int row, int col, int batch, float bias,
 *                                   float *before)
 * {
 *     *before = acc + bias;
 *     return *before > 0.0f ? *before : 0.25f * *before;
 * } // nvcc -rdc=true -arch=sm_80 -ptx leaky.cu
 */
static const char leaky_ptx[] =
    ".version 8.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .func (.param .b32 result) leaky(.param .b32 acc, .param .b32 row,\n"
    "    .param .b32 col, .param .b32 batch, .param .b32 bias, .param .b64 before)\n"
    "{\n"
    "    .reg .pred %p<2>; .reg .f32 %f<6>; .reg .b64 %rd<2>;\n"
    "    ld.param.f32 %f1, [acc];\n"
    "    ld.param.f32 %f2, [bias];\n"
    "    ld.param.u64 %rd1, [before];\n"
    "    add.f32 %f3, %f1, %f2;\n"
    "    st.f32 [%rd1], %f3;\n"
    "    setp.gt.f32 %p1, %f3, 0f00000000;\n"
    "    mul.f32 %f4, %f3, 0f3E800000;\n"
    "    selp.f32 %f5, %f3, %f4, %p1;\n"
    "    st.param.f32 [result], %f5;\n"
    "    ret;\n"
    "}\n";

static const jit_gemm_operand operands[] = {
    {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_F32},
    {.name = "before",
     .kind = JIT_GEMM_OPERAND_MATRIX,
     .dtype = JIT_GEMM_DTYPE_F32,
     .role = JIT_GEMM_OPERAND_OUTPUT},
};

static int fail(const char *call)
{
    fprintf(stderr, "%s: %s\n", call, jit_gemm_last_error());
    return 1;
}

static jit_gemm_status register_code(jit_gemm_context *context, const char *code)
{
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "leaky",
                                        .operand_count = 2,
                                        .operands = operands,
                                        .code = code,
                                        .symbol = "leaky"};

    return jit_gemm_epilogue_register(context, &epilogue);
}

static int show_misuse(jit_gemm_context *context)
{
    if (register_code(context, "float leaky(float acc);") != JIT_GEMM_ERR_ARGUMENT) {
        return fail("a refusal was expected here");
    }
    printf("as intended: %s\n", jit_gemm_last_error());
    return 0;
}

/* A and B are zero, so that every row of `before` must be the bias. */
static bool is_expected(const float *bias, const float *d, const float *before)
{
    for (int i = 0; i < M * N; i++) {
        const float x = bias[i % N];

        if (before[i] < x || before[i] > x || fabsf(d[i] - (x > 0 ? x : 0.25f * x)) > 0) {
            printf("element %d: %g and %g of %g\n", i, (double)d[i], (double)before[i],
                   (double)x);
            return false;
        }
    }
    printf("leaky(acc + bias) and acc + bias: every bit as expected\n");
    return true;
}

static int run_compiled(jit_gemm_context *context)
{
    static float bias[N], d[M * N], before[M * N];
    const size_t inputs = (size_t)(M + N) * K * 2; /* bytes of A and B, f16 */
    jit_gemm_arg values[2] = {{0}};
    jit_gemm_args args = {
        .struct_size = sizeof(args), .operands = values, .operand_count = 2};
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;

    if (register_code(context, leaky_ptx) ||
        jit_gemm_problem_parse("256x384x64 f16 d=f32 epilogue=leaky", &problem)) {
        return fail("leaky");
    }
    jit_gemm_status status = jit_gemm_create(context, &problem, &gemm);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_alloc(
            context, inputs + sizeof(bias) + sizeof(d) + sizeof(before), &args.a.pointer);
    }
    if (status != JIT_GEMM_OK) {
        jit_gemm_destroy(&gemm);
        (void)fail("the run is skipped");
        return status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_DEVICE ||
                       status == JIT_GEMM_ERR_UNSUPPORTED
                   ? NO_GPU
                   : 1;
    }
    for (int i = 0; i < N; i++) {
        bias[i] = 0.25f * (float)i - 0.125f * (float)N;
    }
    args.b.pointer = args.a.pointer + (uint64_t)M * K * 2;
    args.d.pointer = args.a.pointer + inputs;
    values[1].pointer = args.d.pointer + sizeof(d);
    values[0].pointer = values[1].pointer + sizeof(before);
    int code = 1;
    if (jit_gemm_device_fill(context, args.a.pointer, 0, inputs) ||
        jit_gemm_device_upload(context, values[0].pointer, bias, sizeof(bias)) ||
        jit_gemm_run(gemm, &args, NULL) ||
        jit_gemm_device_download(context, d, args.d.pointer, sizeof(d)) ||
        jit_gemm_device_download(context, before, values[1].pointer, sizeof(before))) {
        code = fail("run");
    } else if (is_expected(bias, d, before)) {
        code = 0;
    }
    (void)jit_gemm_device_free(context, args.a.pointer);
    jit_gemm_destroy(&gemm);
    return code;
}

int main(void)
{
    jit_gemm_context_options options = {.struct_size = sizeof(options), .arch = "sm_90a"};
    jit_gemm_context *context = NULL;

    if (jit_gemm_context_create(NULL, &context)) { /* no GPU: a context that compiles */
        (void)jit_gemm_context_create(&options, &context);
    }
    const int code = context == NULL        ? fail("context")
                     : show_misuse(context) ? 1
                                            : run_compiled(context);
    jit_gemm_context_destroy(&context);
    return code;
}
