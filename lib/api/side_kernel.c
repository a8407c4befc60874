/* SPDX-License-Identifier: MIT */
/* A create as in gemm.c, of a kernel that has no problem and no choice. */
#include "api/side_kernel.h"

#include <stdio.h>
#include <string.h>

#include "api/capsule.h"
#include "base/error.h"
#include "base/struct.h"
#include "source/side_unit.h"

/* -------------------------------------------------------------------- up to a binary */

/* What the kernel is called, and its unit; both are the caller's to free, whatever it says.
 */
static jit_gemm_status describe(const struct jg_arch *arch,
                                const struct jg_side_kernel *side, struct jg_str *text,
                                struct jg_source *source)
{
    jg_side_kernel_text(side, text);
    JG_TRY(jg_str_status(text));
    return jg_source_assemble_side(arch, side, source);
}

jit_gemm_status
jg_step_side_binary(const jit_gemm_context *context, const struct jg_builder *builder,
                    const struct jg_arch *arch, const struct jg_side_kernel *side,
                    struct jg_step_result *ret_result, struct jg_build_counts *counts)
{
    struct jg_source source = {0};
    struct jg_str text = {0};
    jit_gemm_status status = describe(arch, side, &text, &source);
    if (status == JIT_GEMM_OK) {
        const struct jg_build_unit unit = {&source, arch, NULL, jg_str_text(&text)};
        status = jg_build(builder, &unit, &ret_result->binary, counts);
        const struct jg_capsule_failure failure = {
            .builder = builder, .arch = arch, .source = &source, .text = unit.problem_text};
        jg_capsule_leave(context, &failure, status);
        memcpy(ret_result->entry, source.entry, sizeof(ret_result->entry));
    }
    jg_source_free(&source);
    jg_str_free(&text);
    return status;
}

jit_gemm_status jg_step_side_find(const struct jg_builder *builder,
                                  const struct jg_arch *arch,
                                  const struct jg_side_kernel *side,
                                  struct jg_build_found *ret_found)
{
    struct jg_source source = {0};
    struct jg_str text = {0};
    jit_gemm_status status = describe(arch, side, &text, &source);
    if (status == JIT_GEMM_OK) {
        const struct jg_build_unit unit = {&source, arch, NULL, jg_str_text(&text)};
        status = jg_build_find(builder, &unit, ret_found);
    }
    jg_source_free(&source);
    jg_str_free(&text);
    return status;
}

/* ------------------------------------------------------------------------ to a kernel */

/* One create. */
struct create {
    jit_gemm_context *context;
    const struct jg_side_kernel *side;
    struct jg_str text; /* names it in the table, the manifest and errors */
    struct jg_stop stop;
    struct jg_side_loaded *loaded; /* is being filled */
};

static jit_gemm_status build_binary(const struct create *create,
                                    struct jg_step_result *ret_result)
{
    jit_gemm_context *context = create->context;
    const struct jg_builder builder =
        jg_context_builder(context, context->policy, &create->stop);
    struct jg_build_counts counts = {0};
    const jit_gemm_status status = jg_step_side_binary(context, &builder, context->arch,
                                                       create->side, ret_result, &counts);
    jg_context_count_build(context, &counts);
    return jg_context_record_line(context, &create->text, status);
}

/* A capsule of a kernel that is there, but does not load. */
static void leave_capsule_of_load(const struct create *create, const char *key,
                                  jit_gemm_status status)
{
    const jit_gemm_context *context = create->context;
    struct jg_source source = {0};
    jit_gemm_diagnostics *diagnostics = NULL;
    if (!jg_capsule_takes_load(context, status, &diagnostics)) {
        return;
    }
    const struct jg_builder builder =
        jg_context_builder(context, context->policy, &create->stop);
    const jit_gemm_status assembles =
        jg_source_assemble_side(context->arch, create->side, &source);
    jg_error_restore(status, diagnostics);
    jg_diagnostics_destroy(&diagnostics);
    if (assembles == JIT_GEMM_OK) {
        const struct jg_capsule_failure failure = {.builder = &builder,
                                                   .arch = context->arch,
                                                   .source = &source,
                                                   .text = jg_str_text(&create->text),
                                                   .key = key};
        jg_capsule_leave(context, &failure, status);
    }
    jg_source_free(&source);
}

/* `result` is the caller's to free, also after a failure. */
static jit_gemm_status load_result(const struct create *create,
                                   struct jg_step_result *result, bool *ret_is_rejected)
{
    jit_gemm_context *context = create->context;
    struct jg_side_loaded *loaded = create->loaded;
    const struct jg_choice choice = {
        .derived = {.threads = jg_side_kernel_threads(create->side)}};
    bool none_fits = false;
    bool is_refused = false;
    JG_TRY(build_binary(create, result));
    const struct jg_module_request request = {.choice = &choice,
                                              .ret_none_fits = &none_fits,
                                              .ret_is_refused = &is_refused,
                                              .binary = &result->binary,
                                              .arch = context->arch,
                                              .entry = result->entry,
                                              .log = context->log};
    const jit_gemm_status status =
        jg_module_load(context->device, &request, &loaded->kernel);
    *ret_is_rejected =
        is_refused && jg_step_reject(context, &create->stop, &result->binary);
    if (!*ret_is_rejected) { /* nothing else is tried */
        leave_capsule_of_load(create, result->binary.key, status);
    }
    JG_TRY(status);
    loaded->origin = result->binary.origin;
    loaded->cache_root = result->binary.root;
    loaded->compile_ms = result->binary.compile_ms;
    loaded->load_ms = loaded->kernel->load_ms;
    return JIT_GEMM_OK;
}

static jit_gemm_status build_and_load(const struct create *create)
{
    JG_TRY(jg_module_refuse_capture(create->context->device));
    for (;;) {
        struct jg_step_result result = {0};
        bool is_rejected = false;
        const jit_gemm_status status = load_result(create, &result, &is_rejected);
        jg_binary_free(&result.binary);
        if (!is_rejected) {
            return status;
        } /* the next one compiles */
    }
}

static jit_gemm_status acquire_kernel(const struct create *create)
{
    struct jg_side_loaded *loaded = create->loaded;
    struct jg_table *table = create->context->table;
    struct jg_table_entry *entry = NULL;
    JG_TRY(jg_str_status(&create->text));
    JG_TRY(jg_table_acquire(table, create->text.data, create->text.size, &create->stop,
                            &loaded->kernel, &entry));
    if (entry == NULL) {
        loaded->origin = JIT_GEMM_ORIGIN_MEMORY;
        return JIT_GEMM_OK;
    }
    const jit_gemm_status status = build_and_load(create);
    if (status != JIT_GEMM_OK) {
        jg_table_abandon(table, entry, status);
        return status;
    }
    jg_table_publish(table, entry, loaded->kernel);
    return JIT_GEMM_OK;
}

jit_gemm_status jg_side_create(jit_gemm_context *context, const struct jg_side_kernel *side,
                               struct jg_side_loaded *ret_loaded)
{
    struct jg_side_loaded loaded = {0};
    struct create create = {.context = context,
                            .side = side,
                            .stop = jg_context_stop(context),
                            .loaded = &loaded};
    JG_TRY(jg_context_need_device(context));
    jg_side_kernel_text(side, &create.text);
    const jit_gemm_status status = acquire_kernel(&create);
    jg_str_free(&create.text);
    if (status != JIT_GEMM_OK) {
        jg_kernel_release(loaded.kernel);
        return status;
    }
    jg_context_count_create(context, loaded.origin, loaded.load_ms);
    *ret_loaded = loaded;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_side_export(const struct jg_side_loaded *loaded, jit_gemm_info *ret_info)
{
    const struct jg_kernel *kernel = loaded->kernel;
    jit_gemm_info info = {.struct_size = sizeof(info),
                          .origin = loaded->origin,
                          .registers = kernel->registers,
                          .spill_bytes = kernel->local_bytes,
                          .threads = (uint32_t)kernel->choice.derived.threads,
                          .grid_ctas = (uint32_t)kernel->resident_clusters,
                          .launches = 1,
                          .compile_ms = loaded->compile_ms,
                          .load_ms = loaded->load_ms,
                          .cache_root = loaded->cache_root};
    snprintf(info.arch, sizeof(info.arch), "%s", kernel->arch);
    snprintf(info.key, sizeof(info.key), "%s", kernel->key);
    snprintf(info.entry, sizeof(info.entry), "%s", kernel->entry);
    return jg_struct_export(&info, sizeof(info), ret_info, "ret_info");
}
