/* SPDX-License-Identifier: MIT */
/* The real compiler on whole units: what it makes, and that it reads nothing else. */
#include <criterion/criterion.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "compile/build.h"
#include "compile/code.h"
#include "cuda/nvrtc.h"
#include "unit_maker.h"

static struct jg_toolchain *open_toolchain(struct jg_compiler **ret_compiler)
{
    struct jg_toolchain *toolchain = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, ret_compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    return toolchain;
}

static jit_gemm_status compile_text(struct jg_compiler *compiler, const char *text,
                                    struct jg_compile_result *ret_result)
{
    const struct jg_compile_request request = {
        .arch = "sm_90a", .text = text, .entry = "k"};
    return compiler->compile(compiler, &request, ret_result);
}

static struct jg_str compile_ptx(struct jg_compiler *compiler)
{
    const struct jg_compile_request request = {
        .arch = "sm_90a",
        .code_kind = JG_CODE_PTX,
        .text = "#line 7 \"my.cu\"\n"
                "extern \"C\" __global__ void k(float *p) { *p += 1.0f; }",
        .entry = "k"};
    struct jg_compile_result result = {0};
    cr_assert_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_expect_eq(result.cubin.size, 0);
    cr_expect_eq(result.registers, 0);
    struct jg_str ptx = result.ptx;
    result.ptx = (struct jg_str){0};
    jg_compile_result_free(&result);
    return ptx;
}

Test(nvrtc, ptx_is_for_the_chip_and_names_source_lines)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);

    struct jg_str ptx = compile_ptx(compiler);

    cr_expect_null(jg_code_check(JG_CODE_PTX, ptx.data, ptx.size, "k"));
    cr_expect_not_null(strstr(ptx.data, ".target sm_90a"), "%s", ptx.data);
    cr_expect_not_null(strstr(ptx.data, "\n\t.loc\t"), "%s", ptx.data);
    cr_expect_not_null(strstr(ptx.data, "\n\t.file\t1 \"my.cu\"\n"), "%s", ptx.data);
    jg_str_free(&ptx);
    jg_toolchain_destroy(toolchain);
}

Test(nvrtc, ptx_does_not_depend_on_the_current_folder)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    struct jg_str here = compile_ptx(compiler);
    static const char *const folders[] = {"/", "/usr/lib"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        cr_assert_eq(chdir(folders[i]), 0);

        struct jg_str there = compile_ptx(compiler);

        cr_expect_str_eq(there.data, here.data);
        jg_str_free(&there);
    }
    jg_str_free(&here);
    jg_toolchain_destroy(toolchain);
}

/* A cubin with a table of lines. */
static struct jg_compile_result compile_lines(struct jg_compiler *compiler)
{
    const struct jg_compile_request request = {
        .arch = "sm_90a",
        .text = "#line 7 \"dir/my.cu\"\n"
                "extern \"C\" __global__ void k(float *p) { *p += 1.0f; }",
        .entry = "k",
        .has_lineinfo = true};
    struct jg_compile_result result = {0};
    cr_assert_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_OK, "%s",
                 jg_error_text());
    return result;
}

Test(nvrtc, lines_in_a_cubin_do_not_depend_on_the_current_folder)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    struct jg_compile_result here = compile_lines(compiler);
    if (!here.is_at_root) {
        cr_skip_test("a thread may have no current folder of its own here");
    }
    char before[PATH_MAX], after[PATH_MAX];
    cr_assert_eq(chdir("/usr/lib"), 0);
    cr_assert_not_null(getcwd(before, sizeof(before)));

    struct jg_compile_result there = compile_lines(compiler);

    cr_assert_eq(there.cubin.size, here.cubin.size);
    cr_expect_eq(memcmp(there.cubin.data, here.cubin.data, here.cubin.size), 0);
    cr_expect_not_null(memmem(here.cubin.data, here.cubin.size, "my.cu", 5));
    cr_expect_null(memmem(there.cubin.data, there.cubin.size, "/usr/lib", 8));
    cr_assert_not_null(getcwd(after, sizeof(after)));
    cr_expect_str_eq(after, before, "the process's own folder");
    jg_compile_result_free(&here);
    jg_compile_result_free(&there);
    jg_toolchain_destroy(toolchain);
}

Test(nvrtc, whole_path_of_the_users_file_stays_in_ptx)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    const struct jg_compile_request request = {
        .arch = "sm_90a",
        .code_kind = JG_CODE_PTX,
        .text = "#line 7 \"/srv/app/my.cu\"\n"
                "extern \"C\" __global__ void k(float *p) { *p += 1.0f; }",
        .entry = "k"};
    struct jg_compile_result result = {0};

    cr_assert_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_OK);

    cr_expect_not_null(strstr(result.ptx.data, "\t.file\t1 \"/srv/app/my.cu\""), "%s",
                       result.ptx.data);
    jg_compile_result_free(&result);
    jg_toolchain_destroy(toolchain);
}

Test(nvrtc, one_compile_gives_cubin_ptx_log_and_numbers)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    struct jg_compile_result result = {0};

    const jit_gemm_status status = compile_text(
        compiler, "extern \"C\" __global__ void k(float *p) { *p += 1.0f; }", &result);

    cr_assert_eq(status, JIT_GEMM_OK, "%s", jg_error_text());
    cr_expect_null(jg_code_check(JG_CODE_CUBIN, result.cubin.data, result.cubin.size, "k"));
    cr_expect_not_null(strstr(jg_str_text(&result.ptx), ".target sm_90a"));
    cr_expect_not_null(strstr(jg_str_text(&result.ptx), ".entry k"));
    cr_expect_gt(result.registers, 0);
    cr_expect_eq(result.spill_bytes, 0);
    cr_expect_gt(result.compile_ms, 0.0);
    cr_expect_not_null(strstr(jg_str_text(&result.log), "registers"));
    jg_compile_result_free(&result);
    jg_toolchain_destroy(toolchain);
}

static void *compile_nested(void *user)
{
    struct jg_compiler *compiler = user;
    struct jg_str text = {0};
    struct jg_compile_result result = {0};
    jg_str_puts(&text, "extern \"C\" __global__ void k(float *p) { *p = ");
    for (int i = 0; i < 4000; i++) {
        jg_str_puts(&text, "- ");
    }
    jg_str_puts(&text, "*p; }");
    const jit_gemm_status status = compile_text(compiler, jg_str_text(&text), &result);
    cr_expect_eq(status, JIT_GEMM_OK, "%s", jg_error_text());
    jg_compile_result_free(&result);
    jg_str_free(&text);
    return NULL;
}

/* Neither the depth of the text nor the caller's stack decides. */
Test(nvrtc, a_thread_of_64_kb_compiles_what_is_nested_4000_deep)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    pthread_attr_t attributes;
    pthread_t thread;
    cr_assert_eq(pthread_attr_init(&attributes), 0);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, 64 << 10), 0);

    cr_assert_eq(pthread_create(&thread, &attributes, compile_nested, compiler), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);

    pthread_attr_destroy(&attributes);
    jg_toolchain_destroy(toolchain);
}

/* One step of the compiler takes minutes here, and it looks at nothing meanwhile. */
static jit_gemm_status compile_without_end(struct jg_compiler *compiler)
{
    struct jg_str text = {0};
    jg_str_puts(&text, "extern \"C\" __global__ void k(float *p) { float x = *p;");
    for (int i = 0; i < 60000; i++) {
        jg_str_puts(&text, "x = x * erff(x) + expf(x);");
    }
    jg_str_puts(&text, "*p = x; }");
    const struct jg_compile_request request = {
        .arch = "sm_90a", .text = jg_str_text(&text), .entry = "k", .limit_ms = 1};
    struct jg_compile_result result = {0};
    const jit_gemm_status status = compiler->compile(compiler, &request, &result);
    jg_str_free(&text);
    return status;
}

Test(nvrtc, a_compile_that_does_not_end_is_left_alone)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);

    const jit_gemm_status status = compile_without_end(compiler);

    cr_expect_eq(status, JIT_GEMM_ERR_COMPILE);
    cr_expect_not_null(strstr(jg_error_text(), "it had taken its 1 ms"), "%s",
                       jg_error_text());
    jg_toolchain_destroy(toolchain);
}

/* In a child of that process NVRTC is locked for ever. */
static int compile_in_child(struct jg_compiler *compiler)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct jg_compile_result result = {0};
        const jit_gemm_status status = compile_text(
            compiler, "extern \"C\" __global__ void k(float *p) { *p = 1.0f; }", &result);
        const bool names_fork = strstr(jg_error_text(), "was forked while") != NULL;
        _exit(status == JIT_GEMM_OK                              ? 10
              : status == JIT_GEMM_ERR_NO_COMPILER && names_fork ? 20
                                                                 : 30);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(nvrtc, a_child_that_was_forked_during_a_compile_is_refused_one, .timeout = 60)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    cr_expect_eq(compile_in_child(compiler), 10, "nothing was being compiled");

    cr_assert_eq(compile_without_end(compiler), JIT_GEMM_ERR_COMPILE);
    cr_expect_eq(compile_in_child(compiler), 20);
    jg_toolchain_destroy(toolchain);
}

Test(nvrtc, same_unit_gives_the_same_machine_code)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    struct unit unit = unit_make_snippet("d = gelu(acc) + r;", NULL, 0);
    const struct jg_builder builder = {.toolchain = toolchain};
    struct jg_binary first = {0};
    struct jg_binary second = {0};

    const struct jg_build_unit wanted = {&unit.source, unit.arch, unit.epilogue, "x"};
    cr_assert_eq(jg_build(&builder, &wanted, &first, NULL), JIT_GEMM_OK, "%s",
                 jg_error_text());
    cr_assert_eq(jg_build(&builder, &wanted, &second, NULL), JIT_GEMM_OK);

    cr_expect_str_eq(first.key, second.key);
    cr_assert_eq(first.code.size, second.code.size);
    cr_expect_arr_eq(first.code.data, second.code.data, first.code.size);
    jg_binary_free(&first);
    jg_binary_free(&second);
    unit_free(&unit);
    jg_toolchain_destroy(toolchain);
}

Test(nvrtc, spills_are_counted)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    struct jg_compile_result result = {0};

    const jit_gemm_status status = compile_text(
        compiler,
        "extern \"C\" __global__ void __launch_bounds__(1024, 2) k(float *p) {\n"
        "  float v[96];\n"
        "  for (int i = 0; i < 96; ++i) v[i] = p[i * 1024];\n"
        "  __syncthreads();\n"
        "  for (int j = 0; j < 5; ++j)\n"
        "    for (int i = 0; i < 96; ++i) v[i] = v[i] * v[(i * 7 + 1) % 96] + v[0];\n"
        "  for (int i = 0; i < 96; ++i) p[i * 1024] = v[i];\n"
        "}\n",
        &result);

    cr_assert_eq(status, JIT_GEMM_OK, "%s", jg_error_text());
    cr_expect_gt(result.spill_bytes, 0, "%s", jg_str_text(&result.log));
    jg_compile_result_free(&result);
    jg_toolchain_destroy(toolchain);
}

Test(nvrtc, no_file_is_ever_included)
{
    static const char *const headers[] = {"stdio.h", "cuda.h", "/etc/hostname", "stdint.h",
                                          "jit_gemm_none.cuh"};
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        for (int quoted = 0; quoted < 2; quoted++) {
            struct jg_str text = {0};
            struct jg_compile_result result = {0};
            jg_str_printf(&text, quoted ? "#include \"%s\"\n" : "#include <%s>\n",
                          headers[i]);

            cr_expect_eq(compile_text(compiler, jg_str_text(&text), &result),
                         JIT_GEMM_ERR_COMPILE, "%s", headers[i]);
            jg_str_free(&text);
        }
    }
    jg_toolchain_destroy(toolchain);
}

/* A config that contradicts the device code must be a compile error, not a wrong kernel. */
Test(nvrtc, host_and_device_disagreement_is_found)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    const struct unit_request request = {.problem =
                                             "64x64x64 bf16 config=kernel=reference"};
    struct unit unit = unit_make(&request);
    char *number = strstr(unit.source.text.data, "kParamsBytes = ");
    cr_assert_not_null(number);
    number[strlen("kParamsBytes = ")] = '9';
    const struct jg_builder builder = {.toolchain = toolchain};
    struct jg_binary binary = {0};

    const struct jg_build_unit wanted = {&unit.source, unit.arch, NULL, "x"};
    cr_expect_eq(jg_build(&builder, &wanted, &binary, NULL), JIT_GEMM_ERR_COMPILE);
    cr_expect_not_null(strstr(jg_error_text(), "host and device disagree"), "%s",
                       jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), "this is a bug of jit_gemm"));
    unit_free(&unit);
    jg_toolchain_destroy(toolchain);
}
