/* SPDX-License-Identifier: MIT */
/* A manifest into a context: its epilogues, and if that is wanted its kernels. */
#include "api/context.h"
#include "api/manifest.h"
#include "api/side_kernel.h"
#include "base/error.h"
#include "base/file.h"
#include "jit_gemm/family.h"

#define MOST_BYTES ((size_t)64 * 1024 * 1024)

/* Kernels stay in the context when the handles that they were made for are gone. */
static jit_gemm_status create_problem(jit_gemm_context *context,
                                      const struct jg_manifest_problem *item)
{
    if (item->has_range) {
        jit_gemm_family *family = NULL;
        JG_TRY(
            jit_gemm_family_create(context, &item->problem, &item->asked_range, &family));
        jit_gemm_family_destroy(&family);
        return JIT_GEMM_OK;
    }
    jit_gemm *gemm = NULL;
    JG_TRY(jit_gemm_create(context, &item->problem, &gemm));
    jit_gemm_destroy(&gemm);
    return JIT_GEMM_OK;
}

static jit_gemm_status create_side(jit_gemm_context *context,
                                   const struct jg_side_kernel *side)
{
    struct jg_side_loaded loaded;
    JG_TRY(jg_side_create(context, side, &loaded));
    jg_kernel_release(loaded.kernel);
    return JIT_GEMM_OK;
}

static jit_gemm_status create_all(jit_gemm_context *context,
                                  const struct jg_manifest *manifest)
{
    jit_gemm_status status = JIT_GEMM_OK;
    for (size_t i = 0; status == JIT_GEMM_OK && i < manifest->problem_count; i++) {
        status = create_problem(context, &manifest->problems[i]);
        if (status != JIT_GEMM_OK && status != JIT_GEMM_ERR_NO_MEMORY) {
            jg_manifest_locate_error(manifest, &manifest->problems[i]);
        }
    }
    for (size_t i = 0; status == JIT_GEMM_OK && i < manifest->side_count; i++) {
        status = create_side(context, &manifest->sides[i].kernel);
        if (status != JIT_GEMM_OK && status != JIT_GEMM_ERR_NO_MEMORY) {
            jg_manifest_locate_side_error(&manifest->sides[i]);
        }
    }
    return status;
}

jit_gemm_status jit_gemm_context_load_manifest(jit_gemm_context *context, const char *path,
                                               int32_t creates_all)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(path, "path"));
    if (creates_all != 0) {
        JG_TRY(jg_context_need_device(context));
    }
    struct jg_str text = {0};
    struct jg_manifest manifest = {0};
    jit_gemm_status status = jg_file_read(path, MOST_BYTES, &text);
    if (status == JIT_GEMM_OK) {
        status = jg_manifest_parse(jg_str_text(&text), text.size, context->log, &manifest);
    }
    jg_str_free(&text);
    if (status == JIT_GEMM_OK) {
        status = jg_registry_take_all(context->epilogues, manifest.epilogues);
        if (status == JIT_GEMM_OK && creates_all != 0) {
            status = create_all(context, &manifest);
        }
        jg_manifest_free(&manifest);
    }
    return status;
}
