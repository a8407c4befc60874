/* SPDX-License-Identifier: MIT */
#include "compile/link_epilogue.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/compiled.h"

enum { INPUT_UNIT, INPUT_EPILOGUE, INPUT_COUNT };

void jg_link_probe_text(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    jg_str_puts(out, "extern \"C\" __device__ ");
    jg_compiled_print_signature(epilogue, epilogue->compiled.symbol, out);
    jg_str_printf(out,
                  ";\nextern \"C\" __global__ void jg_probe(void **out)\n"
                  "{\n    *out = (void *)%s;\n}\n",
                  epilogue->compiled.symbol);
}

/* ------------------------------------------------------------------------ what is wrong */

/* The first line of a log that says something, for a message. */
static struct jg_str first_line_of(const struct jg_str *log)
{
    struct jg_str line = {0};
    const char *text = jg_str_text(log);
    jg_str_add(&line, text, strcspn(text, "\n"));
    return line;
}

static jit_gemm_status fail_with_log(jit_gemm_status status, const char *where,
                                     const char *hint, const char *what,
                                     const struct jg_nvjitlink_output *output)
{
    struct jg_str line = first_line_of(&output->log);
    const jit_gemm_status failed =
        line.failed ? jg_fail_memory()
                    : jg_fail_system(status, where, hint, "%s: nvJitLink says: %s", what,
                                     jg_str_text(&line));
    jg_error_log(jg_str_text(&output->log), output->log.size);
    jg_str_free(&line);
    return failed;
}

/* What of a compile must be repeated, and how, for an architecture and a linker. */
static void print_recompile_hint(const struct jg_compile_request *request, char *hint,
                                 size_t size)
{
    snprintf(
        hint, size,
        "compile it for an architecture that is not newer than %s, such as compute_80, "
        "with a toolkit that is not newer than nvJitLink %d.%d",
        request->arch, request->linker->version / 1000,
        request->linker->version % 1000 / 10);
}

static jit_gemm_status fail_refused(const struct jg_compile_request *request,
                                    const struct jg_nvjitlink_output *output)
{
    char hint[224];
    char what[320];
    const char *symbol = request->epilogue->compiled.symbol;
    print_recompile_hint(request, hint, sizeof(hint));
    if (output->input == INPUT_UNIT) {
        return fail_with_log(JIT_GEMM_ERR_INTERNAL, "nvJitLink",
                             "use NVRTC and nvJitLink of one release",
                             "the kernel's half cannot be linked", output);
    }
    if (output->refusal == JG_NVJITLINK_OTHER_ARCH) {
        snprintf(what, sizeof(what), "the LTO-IR of '%s' is not for %s", symbol,
                 request->arch);
        return fail_with_log(JIT_GEMM_ERR_UNSUPPORTED, "epilogue.code", hint, what, output);
    }
    if (output->refusal == JG_NVJITLINK_NO_LTOIR) {
        snprintf(what, sizeof(what), "the code of '%s' is no LTO-IR that can be read",
                 symbol);
        return fail_with_log(JIT_GEMM_ERR_ARGUMENT, "epilogue.code", hint, what, output);
    }
    const char *log = jg_str_text(&output->log);
    if (strstr(log, "Unresolved extern") != NULL) {
        snprintf(hint, sizeof(hint),
                 "compile everything that it calls into one LTO-IR, declared "
                 "__forceinline__ or in the same file");
    } else if (strstr(log, "multiply defined") != NULL) {
        snprintf(hint, sizeof(hint), "rename what the kernel defines too");
    } else if (strstr(log, "Register allocation failed") != NULL) {
        snprintf(hint, sizeof(hint),
                 "make every call in it inline (__forceinline__, no __noinline__, no "
                 "function pointers): a call beside the accumulators takes too many "
                 "registers");
    }
    snprintf(what, sizeof(what), "the kernel cannot be linked with '%s' for %s", symbol,
             request->arch);
    return fail_with_log(JIT_GEMM_ERR_COMPILE, "epilogue.code", hint, what, output);
}

/* ----------------------------------------------------------------------------- linking */

static jit_gemm_status link_with(const struct jg_compile_request *request,
                                 const struct jg_str *ltoir, enum jg_nvjitlink_code code,
                                 struct jg_nvjitlink_output *ret_output)
{
    const struct jg_compiled *compiled = &request->epilogue->compiled;
    const struct jg_nvjitlink_input inputs[INPUT_COUNT] = {
        [INPUT_UNIT] = {"jit_gemm_unit", jg_str_text(ltoir), ltoir->size},
        [INPUT_EPILOGUE] = {request->epilogue->source_name, compiled->code,
                            compiled->code_size},
    };
    struct jg_nvjitlink_output output = {0};
    JG_TRY(jg_nvjitlink_link(request->linker, request->arch, code, inputs, INPUT_COUNT,
                             &output));
    if (output.refusal != JG_NVJITLINK_ACCEPTED) {
        const jit_gemm_status status = fail_refused(request, &output);
        jg_nvjitlink_output_free(&output);
        return status;
    }
    *ret_output = output;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_link_check_function(const struct jg_compile_request *request,
                                       const struct jg_str *probe_ltoir)
{
    struct jg_nvjitlink_output output = {0};
    JG_TRY(link_with(request, probe_ltoir, JG_LINK_PTX, &output));
    const char *symbol = request->epilogue->compiled.symbol;
    struct jg_ptx_function function;
    jit_gemm_status status = jg_ptx_function_find(jg_str_text(&output.code),
                                                  output.code.size, symbol, &function);
    if (status == JIT_GEMM_OK) {
        status = jg_compiled_check_signature(request->epilogue, &function);
        if (status == JIT_GEMM_OK) {
            status =
                jg_ptx_check_thread(jg_str_text(&output.code), output.code.size, symbol);
        }
    } else {
        status = jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol",
                         "declare the function extern \"C\" __device__, not static and not "
                         "inline, or give the name as the code has it",
                         "the LTO-IR defines no function '%s'", symbol);
    }
    jg_nvjitlink_output_free(&output);
    return status;
}

/* nvJitLink assembles for sm_100 where a link of LTO-IR asks for sm_100f. */
static jit_gemm_status refuse_family(const struct jg_compile_request *request)
{
    const size_t size = strlen(request->arch);
    if (request->code_kind != JG_CODE_CUBIN || request->arch[size - 1] != 'f') {
        return JIT_GEMM_OK;
    }
    return jg_fail(
        JIT_GEMM_ERR_UNSUPPORTED, "epilogue.code",
        "build for one chip, such as sm_100a or sm_103a, or give the epilogue as "
        "PTX",
        "nvJitLink cannot link LTO-IR for %s, a family of chips", request->arch);
}

/* The emulator, which takes PTX, executes no calls but those of assertions. */
static jit_gemm_status refuse_calls(const struct jg_compile_request *request,
                                    const struct jg_str *ptx)
{
    for (const char *at = strstr(jg_str_text(ptx), "\tcall"); at != NULL;
         at = strstr(at, "\tcall")) {
        const char *end = strchr(at, ';'); /* names may stand on lines of their own */
        const size_t size = end != NULL ? (size_t)(end - at) : strlen(at);
        if (memmem(at, size, "__assertfail", 12) == NULL) {
            return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "epilogue.code",
                           "make every call in it inline (__forceinline__), or run it on a "
                           "GPU",
                           "the LTO-IR of '%s' calls a function that is not inlined, which "
                           "no driver that takes PTX can do: the emulator is one",
                           request->epilogue->compiled.symbol);
        }
        at += size;
    }
    return JIT_GEMM_OK;
}

static enum jg_nvjitlink_code code_of(const struct jg_compile_request *request)
{
    if (request->code_kind == JG_CODE_PTX) {
        return JG_LINK_PTX;
    }
    return request->has_lineinfo ? JG_LINK_CUBIN_WITH_LINEINFO : JG_LINK_CUBIN;
}

jit_gemm_status jg_link_kernel(const struct jg_compile_request *request,
                               const struct jg_str *kernel_ltoir,
                               struct jg_nvjitlink_output *ret_output)
{
    JG_TRY(refuse_family(request));
    const bool wants_ptx = request->code_kind == JG_CODE_PTX;
    struct jg_nvjitlink_output output = {0};
    JG_TRY(link_with(request, kernel_ltoir, code_of(request), &output));
    if (wants_ptx) {
        const jit_gemm_status status = refuse_calls(request, &output.code);
        if (status != JIT_GEMM_OK) {
            jg_nvjitlink_output_free(&output);
            return status;
        }
    }
    *ret_output = output;
    return JIT_GEMM_OK;
}
