/* SPDX-License-Identifier: MIT */
/*
 * Hello: D = A * B in bf16, with nothing but the library. A is all 2, B is all 3, so every
 * element of D is 6 * K.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jit_gemm/convert.h>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>

enum { M = 512, N = 256, K = 128, NO_GPU = 77 };

#define BF16_TWO   0x4000u
#define BF16_THREE 0x4040u

/* Prints the reason of a failure; not 0 if there was one. */
static int failed(const char *call, jit_gemm_status status)
{
    if (status != JIT_GEMM_OK) {
        fprintf(stderr, "%s: %s: %s\n", call, jit_gemm_status_name(status),
                jit_gemm_last_error());
    }
    return status != JIT_GEMM_OK;
}

/* Device memory that holds `count` times the same element; 0 after an error. */
static uint64_t make_matrix(jit_gemm_context *context, uint16_t element, size_t count)
{
    uint16_t *host = malloc(count * sizeof(*host));
    uint64_t address = 0;

    if (host == NULL) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        host[i] = element;
    }
    if (failed("alloc", jit_gemm_device_alloc(context, count * sizeof(*host), &address)) ||
        failed("upload",
               jit_gemm_device_upload(context, address, host, count * sizeof(*host)))) {
        (void)jit_gemm_device_free(context, address);
        address = 0;
    }
    free(host);
    return address;
}

static int multiply(jit_gemm_context *context, const jit_gemm *gemm)
{
    static uint16_t result[M * N];
    jit_gemm_args args = {.struct_size = sizeof(args)};
    int wrong = 1;

    args.a.pointer = make_matrix(context, BF16_TWO, (size_t)M * K);
    args.b.pointer = make_matrix(context, BF16_THREE, (size_t)K * N);
    args.d.pointer = make_matrix(context, 0, (size_t)M * N);
    if (args.a.pointer && args.b.pointer && args.d.pointer &&
        !failed("run", jit_gemm_run(gemm, &args, NULL)) &&
        !failed("download", jit_gemm_device_download(context, result, args.d.pointer,
                                                     sizeof(result)))) {
        float first = jit_gemm_bf16_to_float(result[0]),
              last = jit_gemm_bf16_to_float(result[M * N - 1]);

        wrong = first != 6.0f * (float)K || last != 6.0f * (float)K;
        printf("D[0][0] = %g, D[%d][%d] = %g, expected %g: %s\n", (double)first, M - 1,
               N - 1, (double)last, 6.0 * (double)K, wrong ? "WRONG" : "right");
    }
    (void)jit_gemm_device_free(context, args.a.pointer);
    (void)jit_gemm_device_free(context, args.b.pointer);
    (void)jit_gemm_device_free(context, args.d.pointer);
    return wrong;
}

int main(void)
{
    jit_gemm_context *context = NULL;
    jit_gemm *gemm = NULL;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm_problem problem = {.struct_size = sizeof(problem),
                                .m = {.size = M},
                                .n = {.size = N},
                                .k = {.size = K},
                                .a = {.dtype = JIT_GEMM_DTYPE_BF16}};
    jit_gemm_status status = jit_gemm_context_create(NULL, &context);
    int code = 1;

    if (status == JIT_GEMM_ERR_NO_DRIVER || status == JIT_GEMM_ERR_DEVICE ||
        status == JIT_GEMM_ERR_UNSUPPORTED) {
        fprintf(stderr, "skipped, no usable GPU: %s\n", jit_gemm_last_error());
        return NO_GPU;
    }
    if (!failed("context", status) &&
        !failed("create", jit_gemm_create(context, &problem, &gemm)) &&
        !failed("info", jit_gemm_get_info(gemm, &info))) {
        printf("kernel %s, config %s, compiled in %.0f ms (0: from the cache)\n",
               info.entry, info.config, info.compile_ms);
        code = multiply(context, gemm);
    }
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
    return code;
}
