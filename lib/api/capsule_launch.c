/* SPDX-License-Identifier: MIT */
/* What a handle keeps of its kernel, and what a failing launch leaves with it. */
#include <string.h>

#include "api/capsule.h"
#include "api/launch_text.h"
#include "base/alloc.h"
#include "base/error.h"

struct jg_capsule_kept {
    struct jg_capsule capsule; /* without status, error and launch */
    char *folder;
};

void jg_capsule_kept_destroy(struct jg_capsule_kept *kept)
{
    if (kept != NULL) {
        jg_capsule_free(&kept->capsule);
        jg_free(kept->folder);
        jg_free(kept);
    }
}

static jit_gemm_status fill_kept(const jit_gemm_context *context,
                                 const struct jg_capsule_failure *failure,
                                 struct jg_capsule_kept *kept)
{
    struct jg_capsule_private hidden = {0};
    kept->folder = jg_copy_text(context->capsule_dir, strlen(context->capsule_dir));
    return kept->folder != NULL
               ? jg_capsule_fill_kernel(context, failure, &kept->capsule, &hidden)
               : jg_fail_memory();
}

struct jg_capsule_kept *jg_capsule_keep(const jit_gemm_context *context,
                                        const struct jg_capsule_failure *failure)
{
    if (context->capsule_dir == NULL) {
        return NULL;
    }
    struct jg_capsule_kept *kept = jg_alloc(sizeof(*kept));
    const jit_gemm_status status =
        kept != NULL ? fill_kept(context, failure, kept) : jg_fail_memory();
    if (status != JIT_GEMM_OK) {
        jg_log_line(context->log, JIT_GEMM_SEVERITY_WARNING,
                    "a launch of %s will leave no capsule: %s", failure->text,
                    jg_error_text());
        jg_error_clear();
        jg_capsule_kept_destroy(kept);
        return NULL;
    }
    return kept;
}

/* -------------------------------------------------------------------------- leaving it */

void jg_capsule_leave_launch(const struct jg_capsule_kept *kept, const jit_gemm_args *args,
                             jit_gemm_status status)
{
    if (kept == NULL || status != JIT_GEMM_ERR_LAUNCH) {
        return;
    }
    const struct jg_capsule_private nothing = {0};
    struct jg_capsule capsule = kept->capsule; /* but for these, which are empty there */
    struct jg_str line = {0};
    jg_str_puts(&capsule.fields[JG_CAPSULE_STATUS], jg_status_name(status));
    jg_capsule_clean(&nothing, jg_error_text(), &capsule.files[JG_CAPSULE_ERROR]);
    jg_str_puts(&capsule.files[JG_CAPSULE_ERROR], "\n");
    jg_launch_print(args, &capsule.files[JG_CAPSULE_LAUNCH]);
    jg_capsule_put(kept->folder, &capsule, &line);
    jg_error_add(JIT_GEMM_SEVERITY_WARNING, JIT_GEMM_DIAGNOSTIC_SYSTEM, 0, 0, "capsule",
                 jg_str_text(&line), "");
    jg_str_free(&line);
    jg_str_free(&capsule.fields[JG_CAPSULE_STATUS]);
    jg_str_free(&capsule.files[JG_CAPSULE_ERROR]);
    jg_str_free(&capsule.files[JG_CAPSULE_LAUNCH]);
}
