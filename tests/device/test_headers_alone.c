/* SPDX-License-Identifier: MIT */
/* Every device source compiles when it is the only thing that a unit includes. */
#include <criterion/criterion.h>

#include "base/error.h"
#include "build/toolchain.h"
#include "source/embedded.h"

Test(device, every_header_compiles_alone, .timeout = 100)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    cr_assert_gt(jg_embedded_file_count, 0);
    for (size_t i = 0; i < jg_embedded_file_count; i++) {
        struct jg_str text = {0};
        jg_str_printf(&text,
                      "#include <%s>\n"
                      "extern \"C\" __global__ void alone() {}\n",
                      jg_embedded_files[i].name);
        const struct jg_compile_request request = {
            .arch = "sm_90a", .text = jg_str_text(&text), .entry = "alone"};
        struct jg_compile_result result = {0};

        const jit_gemm_status status = compiler->compile(compiler, &request, &result);

        cr_expect_eq(status, JIT_GEMM_OK, "%s: %s", jg_embedded_files[i].name,
                     jg_error_text());
        jg_compile_result_free(&result);
        jg_str_free(&text);
    }
    jg_toolchain_destroy(toolchain);
}

/* Headers are included in any order and more than once. */
Test(device, all_headers_compile_together_in_reverse)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    struct jg_str text = {0};
    for (size_t i = 2 * jg_embedded_file_count; i > 0; i--) {
        jg_str_printf(&text, "#include <%s>\n",
                      jg_embedded_files[(i - 1) % jg_embedded_file_count].name);
    }
    jg_str_puts(&text, "extern \"C\" __global__ void all() {}\n");
    const struct jg_compile_request request = {
        .arch = "sm_90a", .text = jg_str_text(&text), .entry = "all"};
    struct jg_compile_result result = {0};

    const jit_gemm_status status = compiler->compile(compiler, &request, &result);

    cr_expect_eq(status, JIT_GEMM_OK, "%s", jg_error_text());
    jg_compile_result_free(&result);
    jg_str_free(&text);
    jg_toolchain_destroy(toolchain);
}
