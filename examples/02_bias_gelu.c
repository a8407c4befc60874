/* SPDX-License-Identifier: MIT */
/*
 * Your own epilogue: D = scale * gelu(A * B + bias) in one kernel. First a typing error in
 * the snippet, which comes back in the snippet's own line and column; that needs no GPU.
 */
#include <math.h>
#include <stdio.h>

#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { M = 256, N = 384, K = 64, NO_GPU = 77 };

static const jit_gemm_operand operands[] = {
    {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_F32},
    {.name = "scale", .kind = JIT_GEMM_OPERAND_SCALAR, .dtype = JIT_GEMM_DTYPE_F32},
};

static int fail(const char *call)
{
    fprintf(stderr, "%s: %s\n", call, jit_gemm_last_error());
    return 1;
}

/* Registers an epilogue with both operands, and makes the problem that uses it. */
static int make_problem(jit_gemm_context *context, const char *name, const char *source,
                        jit_gemm_problem *ret_problem)
{
    jit_gemm_epilogue epilogue = {sizeof(epilogue), name, source, .operand_count = 2,
                                  .operands = operands};
    char text[128];

    snprintf(text, sizeof(text), "%dx%dx%d f16 d=f32 epilogue=%s", M, N, K, name);
    return jit_gemm_epilogue_register(context, &epilogue) ||
                   jit_gemm_problem_parse(text, ret_problem)
               ? fail(name)
               : 0;
}

static int show_misuse(jit_gemm_context *context)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    jit_gemm_diagnostic item = {.struct_size = sizeof(item)};

    const jit_gemm_epilogue misspelt = {sizeof(misspelt), "misspelt",
                                        "d = scale *\n    gelu(acc + bais);",
                                        .operand_count = 2, .operands = operands};

    if (jit_gemm_epilogue_register(context, &misspelt) != JIT_GEMM_ERR_COMPILE ||
        jit_gemm_diagnostics_take(&diagnostics) != JIT_GEMM_OK ||
        jit_gemm_diagnostics_get(diagnostics, 0, &item) != JIT_GEMM_OK) {
        return fail("a compile error was expected here");
    }
    printf("as intended: %u:%u: error: %s; %s\n", item.line, item.column, item.text,
           item.hint);
    jit_gemm_diagnostics_destroy(&diagnostics);
    return 0;
}

/* A and B are zero, so that every row of D must be 2 * gelu(bias). */
static int run_fused(jit_gemm_context *context)
{
    static float bias[N], result[M * N];
    const size_t inputs = (size_t)(M + N) * K * 2; /* bytes of A and B, f16 */
    jit_gemm_arg values[2] = {{0}};
    jit_gemm_args args = {
        .struct_size = sizeof(args), .operands = values, .operand_count = 2};
    jit_gemm_problem problem;

    if (make_problem(context, "scaled_gelu", "d = scale * gelu(acc + bias);", &problem)) {
        return 1;
    }
    jit_gemm *gemm = NULL;
    jit_gemm_status status = jit_gemm_create(context, &problem, &gemm);
    if (status == JIT_GEMM_OK) {
        status = jit_gemm_device_alloc(context, inputs + sizeof(bias) + sizeof(result),
                                       &args.a.pointer);
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
        bias[i] = 0.01f * (float)i - 0.005f * (float)N;
    }
    args.b.pointer = args.a.pointer + (uint64_t)M * K * 2;
    args.d.pointer = args.a.pointer + inputs;
    values[0].pointer = args.d.pointer + sizeof(result);
    values[1].value = 2.0f;
    double worst = 0;
    if (jit_gemm_device_fill(context, args.a.pointer, 0, inputs) ||
        jit_gemm_device_upload(context, values[0].pointer, bias, sizeof(bias)) ||
        jit_gemm_run(gemm, &args, NULL) ||
        jit_gemm_device_download(context, result, args.d.pointer, sizeof(result))) {
        worst = fail("run");
    }
    for (int i = 0; i < M * N; i++) {
        const double x = (double)bias[i % N];
        worst = fmax(worst, fabs((double)result[i] - x * (1 + erf(x * sqrt(0.5)))));
    }
    printf("scale * gelu(acc + bias): largest error %.2g\n", worst);
    (void)jit_gemm_device_free(context, args.a.pointer);
    jit_gemm_destroy(&gemm);
    return !(worst < 1e-5);
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
                                            : run_fused(context);
    jit_gemm_context_destroy(&context);
    return code;
}
