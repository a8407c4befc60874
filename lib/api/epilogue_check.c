/* SPDX-License-Identifier: MIT */
/* An epilogue checked by itself: no problem, no kernel, nothing kept. */
#include "api/context.h"
#include "base/error.h"
#include "compile/snippet_check.h"

/* A compiler that is not there, or not allowed, is no failure: the scan has been done. Of a
 * compiled function that is all. One that could not be looked for is a failure. */
static jit_gemm_status check_with_compiler(jit_gemm_context *context,
                                           const struct jg_stop *stop,
                                           const struct jg_epilogue *epilogue,
                                           jit_gemm_epilogue_depth *ret_depth)
{
    *ret_depth = JIT_GEMM_EPILOGUE_SCANNED;
    if (context->policy == JIT_GEMM_POLICY_FORBID || jg_epilogue_is_compiled(epilogue) ||
        (jg_toolchain_signature(context->toolchain, context->cache, context->log) == NULL &&
         jg_toolchain_is_absent(context->toolchain))) {
        return JIT_GEMM_OK;
    }
    struct jg_compiler *compiler = NULL;
    JG_TRY(
        jg_toolchain_compiler(context->toolchain, context->cache, context->log, &compiler));
    const struct jg_snippet_check check = {.arch = context->arch->name,
                                           .limit_ms = context->compile_limit_ms,
                                           .stop = *stop,
                                           .log = context->log};
    JG_TRY(jg_snippet_compile(compiler, epilogue, &check));
    *ret_depth = JIT_GEMM_EPILOGUE_COMPILED;
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_epilogue_check(jit_gemm_context *context,
                                        const jit_gemm_epilogue *epilogue,
                                        jit_gemm_epilogue_depth *ret_depth)
{
    struct jg_stop stop = {0};
    if (context != NULL) {
        stop = jg_context_stop(context);
    }
    struct jg_epilogue *own = NULL;
    JG_TRY(jg_epilogue_create(epilogue, &own));
    jit_gemm_epilogue_depth depth = JIT_GEMM_EPILOGUE_SCANNED;
    jit_gemm_status status = JIT_GEMM_OK;
    if (context != NULL) {
        jg_epilogue_warn(own, context->log);
        status = check_with_compiler(context, &stop, own, &depth);
    }
    jg_epilogue_destroy(own);
    if (status == JIT_GEMM_OK && ret_depth != NULL) {
        *ret_depth = depth;
    }
    return status;
}
