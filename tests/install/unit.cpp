/* SPDX-License-Identifier: MIT */
/* The installed library from C++: a plan without a GPU, and the version that the headers
 * have. */
#include <cstdio>
#include <jit_gemm/device.h>
#include <jit_gemm/jit_gemm.h>
int main()
{
    jit_gemm_context_options options{};
    options.struct_size = sizeof options;
    options.arch = "sm_90a";
    options.no_device = 1;
    options.no_cache = 1;
    jit_gemm_context *context = nullptr;
    if (jit_gemm_context_create(&options, &context) != JIT_GEMM_OK) {
        std::fprintf(stderr, "%s\n", jit_gemm_last_error());
        return 1;
    }
    jit_gemm_problem problem{};
    problem.struct_size = sizeof problem;
    char text[4096];
    if (jit_gemm_problem_parse("512x512x512 bf16", &problem) != JIT_GEMM_OK ||
        jit_gemm_plan(context, &problem, text, sizeof text, nullptr) != JIT_GEMM_OK) {
        std::fprintf(stderr, "%s\n", jit_gemm_last_error());
        return 1;
    }
    std::printf("%s: %s, version %d\n", jit_gemm_context_arch(context),
                jit_gemm_version_string(), JIT_GEMM_VERSION);
    jit_gemm_context_destroy(&context);
    return jit_gemm_version() == JIT_GEMM_VERSION ? 0 : 1;
}
