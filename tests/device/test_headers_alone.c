/* SPDX-License-Identifier: MIT */
/* Every device source compiles when it is the only thing that a unit includes, for each
 * chip that it is for. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "compile/toolchain.h"
#include "source/embedded.h"

/* Files that begin so are for one chip; all others are for every chip. */
static const struct {
    const char *prefix, *arch;
} chip_rows[] = {
    {"jg/sm90a/", "sm_90a"},
    {"jg/ptx/wgmma.cuh", "sm_90a"},
    {"jg/sm100a/", "sm_100a"},
    {"jg/ptx/tcgen05.cuh", "sm_100a"},
    {"jg/ptx/launch_control.cuh", "sm_100a"},
    {"jg/schedule/clc_scheduler.cuh", "sm_100a"},
    {"jg/schedule/scheduler_for.cuh", "sm_100a"},
};
static const char *const archs[] = {"sm_90a", "sm_100a", "sm_103a", "sm_100f"};
/* "sm_10" of sm_100a: the chips of a family take the same files. */
enum { FAMILY_SIZE = 5 };
enum { ARCH_COUNT = sizeof(archs) / sizeof(archs[0]) };

static int is_for(const char *name, const char *arch)
{
    for (size_t i = 0; i < sizeof(chip_rows) / sizeof(chip_rows[0]); i++) {
        if (strncmp(name, chip_rows[i].prefix, strlen(chip_rows[i].prefix)) == 0) {
            return strncmp(arch, chip_rows[i].arch, FAMILY_SIZE) == 0;
        }
    }
    return 1;
}

static struct jg_toolchain *open_toolchain(struct jg_compiler **ret_compiler)
{
    struct jg_toolchain *toolchain = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, ret_compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    return toolchain;
}

static jit_gemm_status compile(struct jg_compiler *compiler, const char *arch,
                               const char *text)
{
    const struct jg_compile_request request = {
        .arch = arch, .text = text, .entry = "empty"};
    struct jg_compile_result result = {0};
    const jit_gemm_status status = compiler->compile(compiler, &request, &result);
    jg_compile_result_free(&result);
    return status;
}

static jit_gemm_status compile_alone(struct jg_compiler *compiler, const char *arch,
                                     const char *name)
{
    struct jg_str text = {0};
    jg_str_printf(&text,
                  "#include <%s>\n"
                  "extern \"C\" __global__ void empty() {}\n",
                  name);
    const jit_gemm_status status = compile(compiler, arch, jg_str_text(&text));
    jg_str_free(&text);
    return status;
}

Test(device, every_header_compiles_alone, .timeout = 100)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    cr_assert_gt(jg_embedded_file_count, 0);
    for (size_t i = 0; i < jg_embedded_file_count * ARCH_COUNT; i++) {
        const char *name = jg_embedded_files[i / ARCH_COUNT].name;
        const char *arch = archs[i % ARCH_COUNT];
        if (is_for(name, arch)) {
            cr_expect_eq(compile_alone(compiler, arch, name), JIT_GEMM_OK, "%s, %s: %s",
                         name, arch, jg_error_text());
        }
    }
    jg_toolchain_destroy(toolchain);
}

/* Headers are included in any order and more than once. */
Test(device, all_headers_compile_together_in_reverse)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    for (int a = 0; a < ARCH_COUNT; a++) {
        struct jg_str text = {0};
        for (size_t i = 2 * jg_embedded_file_count; i > 0; i--) {
            const char *name = jg_embedded_files[(i - 1) % jg_embedded_file_count].name;
            if (is_for(name, archs[a])) {
                jg_str_printf(&text, "#include <%s>\n", name);
            }
        }
        jg_str_puts(&text, "extern \"C\" __global__ void empty() {}\n");

        const jit_gemm_status status = compile(compiler, archs[a], jg_str_text(&text));

        cr_expect_eq(status, JIT_GEMM_OK, "%s: %s", archs[a], jg_error_text());
        jg_str_free(&text);
    }
    jg_toolchain_destroy(toolchain);
}

/* An instruction that the chip does not have must not first be met by the assembler. */
Test(device, header_of_another_chip_says_so)
{
    static const struct {
        const char *name, *arch, *message;
    } rows[] = {
        {"jg/ptx/wgmma.cuh", "sm_100a", "jg/ptx/wgmma.cuh needs sm_90a"},
        {"jg/sm90a/gemm_kernel.cuh", "sm_100a", "jg/ptx/wgmma.cuh needs sm_90a"},
        {"jg/ptx/tcgen05.cuh", "sm_90a", "jg/ptx/tcgen05.cuh needs sm_100a"},
        {"jg/sm100a/gemm_kernel.cuh", "sm_90a", "jg/ptx/tcgen05.cuh needs sm_100a"},
    };
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_eq(compile_alone(compiler, rows[i].arch, rows[i].name),
                     JIT_GEMM_ERR_COMPILE);
        cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "%s", jg_error_text());
    }
    jg_toolchain_destroy(toolchain);
}
