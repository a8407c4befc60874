/* SPDX-License-Identifier: MIT */
#include "source/unit.h"

#include "jit_gemm/version.h"

void jg_source_print_versions(const struct jg_arch *arch, struct jg_str *out)
{
    jg_str_printf(out, "// jit_gemm %d.%d.%d, source format %d, %s\n",
                  JIT_GEMM_VERSION_MAJOR, JIT_GEMM_VERSION_MINOR, JIT_GEMM_VERSION_PATCH,
                  JG_SOURCE_FORMAT, arch->name);
}

jit_gemm_status jg_source_finish(struct jg_source *source, struct jg_source *ret_source)
{
    const jit_gemm_status status = jg_str_status(&source->text);
    if (status != JIT_GEMM_OK) {
        jg_source_free(source);
        return status;
    }
    *ret_source = *source;
    return JIT_GEMM_OK;
}

void jg_source_free(struct jg_source *source)
{
    jg_str_free(&source->text);
}
