/* SPDX-License-Identifier: MIT */
/* What a handle keeps of its kernel, and what a failing launch leaves with it. */
#include <string.h>

#include "api/capsule.h"
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

/* ------------------------------------------------------------------ what was given to it
 */

/* An address says no more than what it is a multiple of. */
static void print_address(uint64_t address, struct jg_str *out)
{
    enum { MOST_ALIGNMENT = 4096 };
    uint64_t alignment = 1;
    while (alignment < MOST_ALIGNMENT && address % (2 * alignment) == 0) {
        alignment *= 2;
    }
    if (address == 0) {
        jg_str_puts(out, "address=none");
    } else {
        jg_str_printf(out, "address=aligned:%u", (unsigned)alignment);
    }
}

static void print_arg(const char *name, const jit_gemm_arg *arg, struct jg_str *out)
{
    jg_str_printf(out, "%s ", name);
    print_address(arg->pointer, out);
    jg_str_printf(out, " ld=%lld batch_stride=%lld value=%.9g\n", (long long)arg->ld,
                  (long long)arg->batch_stride, (double)arg->value);
}

static void print_factor(const char *name, const float *value, uint64_t device,
                         struct jg_str *out)
{
    if (device != 0) {
        jg_str_printf(out, "%s ", name);
        print_address(device, out);
        jg_str_puts(out, "\n");
    } else {
        jg_str_printf(out, "%s value=%.9g\n", name, value != NULL ? (double)*value : 1.0);
    }
}

static void print_launch(const jit_gemm_args *args, struct jg_str *out)
{
    const struct {
        const char *name;
        const jit_gemm_arg *arg;
    } rows[] = {{"a", &args->a},
                {"b", &args->b},
                {"c", &args->c},
                {"d", &args->d},
                {"a_scale", &args->a_scale},
                {"b_scale", &args->b_scale},
                {"d_scale", &args->d_scale},
                {"a_rows", &args->a_rows},
                {"d_rows", &args->d_rows}};
    jg_str_printf(out, "sizes m=%lld n=%lld k=%lld batch=%lld\n", (long long)args->m,
                  (long long)args->n, (long long)args->k, (long long)args->batch);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_arg(rows[i].name, rows[i].arg, out);
    }
    for (size_t i = 0; i < args->operand_count; i++) {
        print_arg("operand", &args->operands[i], out);
    }
    print_factor("alpha", args->alpha, args->alpha_device, out);
    print_factor("beta", args->beta, args->beta_device, out);
    jg_str_puts(out, "workspace ");
    print_address(args->workspace, out);
    jg_str_printf(out, " bytes=%llu\ngroup_sizes ",
                  (unsigned long long)args->workspace_bytes);
    print_address(args->group_sizes, out);
    jg_str_printf(out, "\nrows a=%lld d=%lld\n", (long long)args->a_row_count,
                  (long long)args->d_row_count);
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
    print_launch(args, &capsule.files[JG_CAPSULE_LAUNCH]);
    jg_capsule_put(kept->folder, &capsule, &line);
    jg_error_add(JIT_GEMM_SEVERITY_WARNING, JIT_GEMM_DIAGNOSTIC_SYSTEM, 0, 0, "capsule",
                 jg_str_text(&line), "");
    jg_str_free(&line);
    jg_str_free(&capsule.fields[JG_CAPSULE_STATUS]);
    jg_str_free(&capsule.files[JG_CAPSULE_ERROR]);
    jg_str_free(&capsule.files[JG_CAPSULE_LAUNCH]);
}
