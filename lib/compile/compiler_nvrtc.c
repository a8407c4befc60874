/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/host.h"
#include "base/thread.h"
#include "compile/compile_log.h"
#include "compile/compiler.h"
#include "compile/link_epilogue.h"
#include "cuda/nvrtc.h"
#include "source/embedded.h"

#define UNIT_NAME "jit_gemm_unit.cu"

/* Nothing but the unit and the embedded headers is ever read: no include path. */
static const char *const fixed_options[] = {
    "-std=c++17", "-default-device", "--no-source-include",
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

unsigned jg_compile_options_of(enum jg_code_kind kind, bool has_lineinfo, bool rounds_apart,
                               bool wants_ltoir)
{
    return (has_lineinfo || kind == JG_CODE_PTX ? JG_COMPILE_LINEINFO : 0u) |
           (rounds_apart ? JG_COMPILE_ROUNDS_APART : 0u) |
           (wants_ltoir ? JG_COMPILE_LTOIR : 0u);
}

const char *jg_compile_option_text(unsigned option)
{
    return option == JG_COMPILE_LINEINFO       ? "-lineinfo"
           : option == JG_COMPILE_ROUNDS_APART ? "-fmad=false" /* says so of the PTX, too */
                                               : "-dlto";
}

void jg_compiler_nvrtc_options(unsigned options, struct jg_str *out)
{
    for (int i = 0; i < FIXED_OPTION_COUNT; i++) {
        jg_str_printf(out, "%s%s", i > 0 ? " " : "", fixed_options[i]);
    }
    for (unsigned bit = 1; bit < JG_COMPILE_OPTIONS; bit *= 2) {
        if ((options & bit) != 0) {
            jg_str_printf(out, " %s", jg_compile_option_text(bit));
        }
    }
}

void jg_compile_result_free(struct jg_compile_result *result)
{
    jg_str_free(&result->cubin);
    jg_str_free(&result->ptx);
    jg_str_free(&result->log);
}

/* For PTX only the virtual architecture, so that nothing is assembled: "sm_90a" becomes
 * "compute_90a". LTO-IR is not assembled here in any case. */
static void print_arch_option(const struct jg_compile_request *request, char *buffer,
                              size_t size)
{
    static const char real_prefix[] = "sm_";
    const char *arch = request->arch;
    const char *prefix = "";
    if (request->code_kind == JG_CODE_PTX && request->linker == NULL &&
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

/* Does the unit have the quoted name that begins here? */
static bool has_whole_name(const char *unit, const char *name)
{
    const char *end = strchr(name + 1, '"');
    return end != NULL &&
           memmem(unit, strlen(unit), name, (size_t)(end - name) + 1) != NULL;
}

/*
 * NVRTC puts the current folder in front of every name in `.file` lines. The names are not
 * of files that lie there, and what the cache keeps must not depend on that folder, so it
 * is taken out again. A name that the unit has whole is the user's own.
 */
static void cut_current_folder(bool is_at_root, const char *unit, struct jg_str *ptx)
{
    static const char directive[] = "\t.file\t";
    char folder[PATH_MAX] = "/";
    if (ptx->data == NULL || (!is_at_root && getcwd(folder, sizeof(folder)) == NULL)) {
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
            if (name != NULL && !has_whole_name(unit, name)) {
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

/* What may end a compile before it is done. */
struct limits {
    double end_ms; /* INFINITY: none */
    const struct jg_stop *stop;
};

static bool is_over(void *user)
{
    const struct limits *limits = user;
    return jg_stop_is_asked(limits->stop) || jg_now_ms() >= limits->end_ms;
}

/* What takes so long is the snippet, if there is one. */
static jit_gemm_status fail_limit(const struct jg_compile_request *request)
{
    const struct jg_epilogue *epilogue = request->epilogue;
    char text[96];
    snprintf(text, sizeof(text), "the compiler was stopped: it had taken its %u ms",
             request->limit_ms);
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_ERROR,
                 epilogue != NULL ? JIT_GEMM_DIAGNOSTIC_SNIPPET
                                  : JIT_GEMM_DIAGNOSTIC_SYSTEM,
                 epilogue != NULL ? epilogue->first_line : 0, epilogue != NULL ? 1 : 0,
                 epilogue != NULL ? epilogue->source_name : "compiler", text,
                 epilogue != NULL ? "shorten the snippet, or raise "
                                    "options.compile_limit_ms (--compile-limit)"
                                  : "raise options.compile_limit_ms (--compile-limit)");
    return JIT_GEMM_ERR_COMPILE;
}

enum { MAX_OPTIONS = FIXED_OPTION_COUNT + 4 };

/* The same for an epilogue that is a compiled function: there is no snippet that a message
 * could stand at, and what NVRTC or its assembler says is about that function. */
static jit_gemm_status fail_compiled(const struct jg_epilogue *epilogue,
                                     const struct jg_str *log)
{
    struct jg_str first = {0};
    jg_str_puts(&first, jg_error_text());
    const bool is_pasted = epilogue->compiled.kind == JIT_GEMM_CODE_PTX;
    const jit_gemm_status status =
        first.failed
            ? jg_fail_memory()
            : jg_fail_system(JIT_GEMM_ERR_COMPILE,
                             is_pasted ? "epilogue.code" : "epilogue.symbol",
                             is_pasted ? "compile it for an older target, such as sm_80, "
                                         "with a toolkit that is not newer than NVRTC"
                                       : "give the function another name",
                             "the kernel with the function '%s' is refused: %s",
                             epilogue->compiled.symbol, jg_str_text(&first));
    jg_error_log(jg_str_text(log), log->size);
    jg_str_free(&first);
    return status;
}

/* Of addresses, measured: 100 to 170 MB for a kernel. */
#define BYTES_OF_COMPILE (INT64_C(256) << 20)

/* A compiler that can map no more ends the process. */
static jit_gemm_status check_addresses(void)
{
    const int64_t left = jg_host_free_addresses();
    return left >= BYTES_OF_COMPILE
               ? JIT_GEMM_OK
               : jg_fail_system(
                     JIT_GEMM_ERR_NO_MEMORY, "NVRTC",
                     "raise the limit (ulimit -v, RLIMIT_AS), or fill the cache "
                     "beforehand with `jit-gemm prewarm`",
                     "the kernel must be compiled, which takes up to %lld MiB of "
                     "address space, and the limit of this process leaves %lld",
                     (long long)(BYTES_OF_COMPILE >> 20), (long long)(left >> 20));
}

/* Compiles a text. One that the compiler refuses is a failure here. */
static jit_gemm_status compile_text(const struct nvrtc_compiler *compiler,
                                    const struct jg_compile_request *request,
                                    struct limits *limits, const char *text,
                                    bool wants_ltoir, struct jg_nvrtc_output *ret_output)
{
    char arch_option[64];
    print_arch_option(request, arch_option, sizeof(arch_option));
    const char *options[MAX_OPTIONS] = {arch_option};
    int option_count = 1 + FIXED_OPTION_COUNT;
    memcpy(options + 1, fixed_options, sizeof(fixed_options));
    const unsigned own = jg_compile_options_of(request->code_kind, request->has_lineinfo,
                                               request->rounds_apart, wants_ltoir);
    for (unsigned bit = 1; bit < JG_COMPILE_OPTIONS; bit *= 2) {
        if ((own & bit) != 0) {
            options[option_count++] = jg_compile_option_text(bit);
        }
    }
    const struct jg_nvrtc_input input = {
        .is_over = is_over,
        .user = limits,
        .name = UNIT_NAME,
        .text = text,
        .header_names = compiler->header_names,
        .header_texts = compiler->header_texts,
        .header_count = (int)jg_embedded_file_count,
        .options = options,
        .option_count = option_count,
        .wants_ltoir = wants_ltoir,
    };
    struct jg_nvrtc_output output = {0};
    JG_TRY(check_addresses());
    JG_TRY(jg_nvrtc_compile(compiler->nvrtc, &input, &output));
    if (output.is_cancelled) {
        jg_nvrtc_output_free(&output);
        return jg_stop_is_asked(&request->stop) ? jg_stop_fail() : fail_limit(request);
    }
    if (!output.is_accepted) {
        jit_gemm_status status = jg_compile_log_fail(jg_str_text(&output.log),
                                                     output.log.size, request->epilogue);
        if (status == JIT_GEMM_ERR_COMPILE && jg_epilogue_is_compiled(request->epilogue)) {
            status = fail_compiled(request->epilogue, &output.log);
        }
        jg_nvrtc_output_free(&output);
        return status;
    }
    *ret_output = output;
    return JIT_GEMM_OK;
}

/* The kernel's half and the probe to LTO-IR, and then the link. */
static jit_gemm_status compile_and_link(const struct nvrtc_compiler *compiler,
                                        const struct jg_compile_request *request,
                                        struct limits *limits,
                                        struct jg_compile_result *result)
{
    struct jg_nvrtc_output kernel = {0};
    struct jg_nvrtc_output probe = {0};
    struct jg_nvjitlink_output linked = {0};
    struct jg_str probe_text = {0};
    jg_link_probe_text(request->epilogue, &probe_text);
    jit_gemm_status status = jg_str_status(&probe_text);
    if (status == JIT_GEMM_OK) {
        status =
            compile_text(compiler, request, limits, jg_str_text(&probe_text), true, &probe);
    }
    if (status == JIT_GEMM_OK) {
        status = jg_link_check_function(request, &probe.ltoir);
    }
    if (status == JIT_GEMM_OK) {
        status = compile_text(compiler, request, limits, request->text, true, &kernel);
    }
    if (status == JIT_GEMM_OK) {
        status = jg_link_kernel(request, &kernel.ltoir, &linked);
    }
    if (status == JIT_GEMM_OK) {
        result->is_at_root = kernel.is_at_root;
        struct jg_str *code =
            request->code_kind == JG_CODE_PTX ? &result->ptx : &result->cubin;
        *code = linked.code; /* moved */
        linked.code = (struct jg_str){0};
        jg_str_printf(&kernel.log, "%s", jg_str_text(&linked.log));
        result->log = kernel.log; /* moved */
        kernel.log = (struct jg_str){0};
        status = jg_str_status(&result->log);
    }
    jg_nvjitlink_output_free(&linked);
    jg_nvrtc_output_free(&kernel);
    jg_nvrtc_output_free(&probe);
    jg_str_free(&probe_text);
    return status;
}

static jit_gemm_status compile_alone(const struct nvrtc_compiler *compiler,
                                     const struct jg_compile_request *request,
                                     struct limits *limits,
                                     struct jg_compile_result *result)
{
    struct jg_nvrtc_output output = {0};
    JG_TRY(compile_text(compiler, request, limits, request->text, false, &output));
    if (!jg_epilogue_is_compiled(request->epilogue)) {
        const jit_gemm_status linked =
            jg_compile_log_check_ptx(jg_str_text(&output.ptx), request->epilogue);
        if (linked != JIT_GEMM_OK) {
            jg_nvrtc_output_free(&output);
            return linked;
        }
    }
    result->is_at_root = output.is_at_root;
    result->cubin = output.cubin;
    result->ptx = output.ptx;
    result->log = output.log;
    return JIT_GEMM_OK;
}

static jit_gemm_status compile_unit(struct jg_compiler *base,
                                    const struct jg_compile_request *request,
                                    struct jg_compile_result *ret_result)
{
    const struct nvrtc_compiler *compiler = (const struct nvrtc_compiler *)base;
    struct jg_compile_result result = {0};
    const double begin_ms = jg_now_ms();
    struct limits limits = {.end_ms = request->limit_ms > 0 ? begin_ms + request->limit_ms
                                                            : (double)INFINITY,
                            .stop = &request->stop};
    const jit_gemm_status status =
        request->linker != NULL ? compile_and_link(compiler, request, &limits, &result)
                                : compile_alone(compiler, request, &limits, &result);
    if (status != JIT_GEMM_OK) {
        jg_compile_result_free(&result);
        return status;
    }
    result.compile_ms = jg_now_ms() - begin_ms;
    if (request->code_kind == JG_CODE_PTX) {
        cut_current_folder(result.is_at_root, request->text, &result.ptx);
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
    jg_compiler_nvrtc_options(0, &compiler->signature);
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
    compiler->base.version = nvrtc->version;
    compiler->base.compile = compile_unit;
    compiler->base.destroy = destroy_nvrtc_compiler;
    *ret_compiler = &compiler->base;
    return JIT_GEMM_OK;
}
