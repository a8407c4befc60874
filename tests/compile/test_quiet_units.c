/* SPDX-License-Identifier: MIT */
/* The golden units compile without a word from the compiler: what it warns of would stand
 * among a user's own warnings. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compile/compiler.h"
#include "compile/toolchain.h"
#include "strides.h"

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    char *text = NULL;
    size_t size = 0;
    cr_assert_gt(getdelim(&text, &size, '\0', file), 0, "%s", path);
    fclose(file);
    return text;
}

/* "// jit_gemm 0.1.0, source format 7, sm_90a" */
static void copy_arch(const char *text, char *arch, size_t size)
{
    const char *end = strchr(text, '\n');
    const char *begin = end;
    while (begin > text && begin[-1] != ' ') {
        begin--;
    }
    snprintf(arch, size, "%.*s", (int)(end - begin), begin);
}

Test(golden_units, compile_without_a_warning)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    glob_t files;
    cr_assert_eq(glob(JG_GOLDEN_DIR "/source_*.cu", 0, NULL, &files), 0);
    cr_expect_geq(files.gl_pathc, 20);
    for (size_t i = 0; i < files.gl_pathc; i += (size_t)test_stride(4)) {
        char *text = read_text(files.gl_pathv[i]);
        char arch[16];
        copy_arch(text, arch, sizeof(arch));
        const struct jg_compile_request request = {
            .arch = arch, .code_kind = JG_CODE_PTX, .text = text, .entry = ""};
        struct jg_compile_result result = {0};

        cr_expect_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_OK, "%s: %s",
                     files.gl_pathv[i], jg_error_text());

        cr_expect_null(strstr(jg_str_text(&result.log), "warning"), "%s: %s",
                       files.gl_pathv[i], jg_str_text(&result.log));
        jg_compile_result_free(&result);
        free(text);
    }
    globfree(&files);
    jg_toolchain_destroy(toolchain);
}
