/* SPDX-License-Identifier: MIT */
/* The installed library from C: a plan without a GPU. */
#include <jit_gemm/jit_gemm.h>
#include <stdio.h>

int main(void)
{
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = "sm_90a", .no_device = 1, .no_cache = 1};
    jit_gemm_context *context = NULL;
    jit_gemm_problem problem = {.struct_size = sizeof(problem)};
    char text[4096];
    if (jit_gemm_context_create(&options, &context) != JIT_GEMM_OK ||
        jit_gemm_problem_parse("512x512x512 bf16", &problem) != JIT_GEMM_OK ||
        jit_gemm_plan(context, &problem, text, sizeof(text), NULL) != JIT_GEMM_OK) {
        fprintf(stderr, "%s\n", jit_gemm_last_error());
        return 1;
    }
    printf("%s: %s\n", jit_gemm_context_arch(context), jit_gemm_version_string());
    jit_gemm_context_destroy(&context);
    return jit_gemm_version() == JIT_GEMM_VERSION ? 0 : 1;
}
