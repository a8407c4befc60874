/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "compile/compile_log.h"
#include "compile/compiler.h"
#include "cuda/nvrtc.h"
#include "source/embedded.h"

#define UNIT_NAME "jit_gemm_unit.cu"

/* Nothing but the unit and the embedded headers is ever read: no include path. */
static const char *const fixed_options[] = {
    "-std=c++17", "-default-device", "--no-source-include", "-lineinfo",
    "--no-cache", "--minimal",       "--ptxas-options=-v",
};
enum { FIXED_OPTION_COUNT = sizeof(fixed_options) / sizeof(fixed_options[0]) };

struct nvrtc_compiler {
    struct jg_compiler base; /* first */
    struct jg_nvrtc *nvrtc;
    struct jg_str signature;
    const char **header_names; /* as jg_nvrtc_input wants them */
    const char **header_texts;
};

void jg_compiler_nvrtc_options(struct jg_str *out)
{
    for (int i = 0; i < FIXED_OPTION_COUNT; i++) {
        jg_str_printf(out, "%s%s", i > 0 ? " " : "", fixed_options[i]);
    }
}

void jg_compile_result_free(struct jg_compile_result *result)
{
    jg_str_free(&result->cubin);
    jg_str_free(&result->ptx);
    jg_str_free(&result->log);
}

/* For PTX only the virtual architecture, so that nothing is assembled: "sm_90a" becomes
 * "compute_90a". */
static void print_arch_option(const struct jg_compile_request *request, char *buffer,
                              size_t size)
{
    static const char real_prefix[] = "sm_";
    const char *arch = request->arch;
    const char *prefix = "";
    if (request->code_kind == JG_CODE_PTX &&
        strncmp(arch, real_prefix, sizeof(real_prefix) - 1) == 0) {
        arch += sizeof(real_prefix) - 1;
        prefix = "compute_";
    }
    snprintf(buffer, size, "--gpu-architecture=%s%s", prefix, arch);
}

/* Moves `size` bytes to the end of what is kept, and that end with them. */
static void keep_bytes(char **end, const char *bytes, size_t size)
{
    memmove(*end, bytes, size);
    *end += size;
}

/*
 * NVRTC puts the process's current folder in front of every name in `.file` lines. The
 * names are not of files that lie there, and what the cache keeps must not depend on that
 * folder, so it is taken out again.
 */
static void cut_current_folder(struct jg_str *ptx)
{
    static const char directive[] = "\t.file\t";
    char folder[PATH_MAX];
    if (ptx->data == NULL || getcwd(folder, sizeof(folder)) == NULL) {
        return;
    }
    char prefix[PATH_MAX + 2];
    snprintf(prefix, sizeof(prefix), "\"%s%s", folder, folder[1] != '\0' ? "/" : "");
    const size_t prefix_size = strlen(prefix);
    char *end = ptx->data;
    for (const char *line = ptx->data; *line != '\0';) {
        const char *feed = strchr(line, '\n');
        const char *next = feed != NULL ? feed + 1 : line + strlen(line);
        if (strncmp(line, directive, sizeof(directive) - 1) == 0) {
            const char *name = memmem(line, (size_t)(next - line), prefix, prefix_size);
            if (name != NULL) {
                keep_bytes(&end, line, (size_t)(name - line) + 1); /* with the quote */
                line = name + prefix_size;
            }
        }
        keep_bytes(&end, line, (size_t)(next - line));
        line = next;
    }
    *end = '\0';
    ptx->size = (size_t)(end - ptx->data);
}

static jit_gemm_status compile_unit(struct jg_compiler *base,
                                    const struct jg_compile_request *request,
                                    struct jg_compile_result *ret_result)
{
    const struct nvrtc_compiler *compiler = (const struct nvrtc_compiler *)base;
    char arch_option[64];
    print_arch_option(request, arch_option, sizeof(arch_option));
    const char *options[FIXED_OPTION_COUNT + 1] = {arch_option};
    memcpy(options + 1, fixed_options, sizeof(fixed_options));
    const struct jg_nvrtc_input input = {
        .name = UNIT_NAME,
        .text = request->text,
        .header_names = compiler->header_names,
        .header_texts = compiler->header_texts,
        .header_count = (int)jg_embedded_file_count,
        .options = options,
        .option_count = FIXED_OPTION_COUNT + 1,
    };
    struct jg_nvrtc_output output = {0};
    const double begin_ms = jg_now_ms();
    JG_TRY(jg_nvrtc_compile(compiler->nvrtc, &input, &output));
    if (!output.is_accepted) {
        const jit_gemm_status status = jg_compile_log_fail(
            jg_str_text(&output.log), output.log.size, request->epilogue);
        jg_nvrtc_output_free(&output);
        return status;
    }
    struct jg_compile_result result = {
        .cubin = output.cubin,
        .ptx = output.ptx,
        .log = output.log,
        .compile_ms = jg_now_ms() - begin_ms,
    };
    if (request->code_kind == JG_CODE_PTX) {
        cut_current_folder(&result.ptx);
    }
    (void)jg_compile_log_usage(jg_str_text(&result.log), request->entry, &result.registers,
                               &result.spill_bytes);
    *ret_result = result;
    return JIT_GEMM_OK;
}

static void destroy_nvrtc_compiler(struct jg_compiler *base)
{
    struct nvrtc_compiler *compiler = (struct nvrtc_compiler *)base;
    jg_nvrtc_close(compiler->nvrtc);
    jg_str_free(&compiler->signature);
    jg_free(compiler->header_names);
    jg_free(compiler->header_texts);
    jg_free(compiler);
}

jit_gemm_status jg_compiler_nvrtc_create(struct jg_nvrtc *nvrtc,
                                         struct jg_compiler **ret_compiler)
{
    struct nvrtc_compiler *compiler = jg_alloc(sizeof(*compiler));
    if (compiler == NULL) {
        jg_nvrtc_close(nvrtc);
        return jg_fail_memory();
    }
    compiler->nvrtc = nvrtc;
    compiler->header_names =
        jg_alloc_array(jg_embedded_file_count, sizeof(*compiler->header_names));
    compiler->header_texts =
        jg_alloc_array(jg_embedded_file_count, sizeof(*compiler->header_texts));
    jg_str_printf(&compiler->signature, "nvrtc %s; ", nvrtc->identity);
    jg_compiler_nvrtc_options(&compiler->signature);
    if (compiler->header_names == NULL || compiler->header_texts == NULL ||
        compiler->signature.failed) {
        destroy_nvrtc_compiler(&compiler->base);
        return jg_fail_memory();
    }
    for (size_t i = 0; i < jg_embedded_file_count; i++) {
        compiler->header_names[i] = jg_embedded_files[i].name;
        compiler->header_texts[i] = jg_embedded_files[i].text;
    }
    compiler->base.signature = compiler->signature.data;
    compiler->base.path = jg_str_text(&nvrtc->path);
    compiler->base.compile = compile_unit;
    compiler->base.destroy = destroy_nvrtc_compiler;
    *ret_compiler = &compiler->base;
    return JIT_GEMM_OK;
}
