/* SPDX-License-Identifier: MIT */
#include "compile/snippet_check.h"

#include "compile/compile_log.h"
#include "source/assemble.h"

jit_gemm_status jg_snippet_compile(struct jg_compiler *compiler,
                                   const struct jg_epilogue *epilogue,
                                   const struct jg_snippet_check *check)
{
    struct jg_str text = {0};
    jit_gemm_status status = jg_source_assemble_snippet(epilogue, &text);
    struct jg_compile_result result = {0};
    if (status == JIT_GEMM_OK) {
        const struct jg_compile_request request = {.arch = check->arch,
                                                   .code_kind = JG_CODE_PTX,
                                                   .text = jg_str_text(&text),
                                                   .entry = "",
                                                   .epilogue = epilogue,
                                                   .limit_ms = check->limit_ms,
                                                   .stop = check->stop};
        status = compiler->compile(compiler, &request, &result);
    }
    if (status == JIT_GEMM_OK) {
        (void)jg_compile_log_warn(jg_str_text(&result.log), epilogue, check->log);
        jg_compile_result_free(&result);
    }
    jg_str_free(&text);
    return status;
}
