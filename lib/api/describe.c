/* SPDX-License-Identifier: MIT */
/* Driver, device, compiler and cache for a person. */
#include "api/capsule.h"
#include "api/target.h"
#include "base/error.h"
#include "compile/key.h"
#include "plan/planned_device.h"

static void describe_device(const jit_gemm_context *context, struct jg_str *out)
{
    if (context->device == NULL) {
        const jit_gemm_diagnostic *first = jg_diagnostics_at(context->device_errors, 0);
        jg_str_printf(out, "device: none: %s%s%s\n",
                      first != NULL ? first->text : jg_status_text(context->device_status),
                      first != NULL && first->hint[0] != '\0' ? "; " : "",
                      first != NULL ? first->hint : "");
        return;
    }
    const struct jg_device_facts *facts = &context->device->facts;
    jg_str_printf(out, "driver: %s, CUDA %d.%d%s\n", context->device->driver->path,
                  facts->driver_version / 1000, facts->driver_version % 1000 / 10,
                  context->device->driver->takes_ptx
                      ? ", takes PTX: an emulator, no GPU is used"
                      : "");
    jg_str_printf(out,
                  "device: %d, %s, sm_%d%d, %d multiprocessors, %.1f GiB, L2 %.1f MiB, "
                  "%d bytes of shared memory a CTA\n",
                  context->device->ordinal, facts->name, facts->cc_major, facts->cc_minor,
                  facts->sm_count, (double)facts->memory_bytes / (1024.0 * 1024.0 * 1024.0),
                  (double)facts->l2_bytes / (1024.0 * 1024.0), facts->smem_optin_bytes);
    if (!jg_arch_runs_on(context->arch, facts)) {
        jg_str_printf(out, "device: kernels for %s do not run on it\n",
                      context->arch->name);
    }
}

/* What a machine without this device would be told. */
static void describe_planned(const jit_gemm_context *context, struct jg_str *out)
{
    jg_str_puts(out, "plan for: ");
    jg_planned_device_print(&context->facts, out);
    jg_str_printf(out, "%s%s%s\n", context->facts.name[0] != '\0' ? " (" : "",
                  context->facts.name, context->facts.name[0] != '\0' ? ")" : "");
}

static void describe_cache(const jit_gemm_context *context, struct jg_str *out)
{
    jg_roots_describe(context->roots, out);
    if (context->cache != NULL) {
        jg_str_printf(out, "cache: %s, trusted: private to its owner\n",
                      jg_cache_folder(context->cache));
    } else if (context->is_cache_wanted) {
        jg_str_printf(out, "cache: none: %s\n", context->cache_reason);
    } else {
        jg_str_puts(out, "cache: none: the context was told not to use one\n");
    }
}

static void describe_capsules(const jit_gemm_context *context, struct jg_str *out)
{
    struct jg_str reason = {0};
    if (context->capsule_dir == NULL) {
        jg_str_puts(out, "capsules: none are left\n");
        return;
    }
    const int count = jg_capsule_count(context->capsule_dir, &reason);
    if (count >= 0) {
        jg_str_printf(out, "capsules: %s, %d of at most %d\n", context->capsule_dir, count,
                      JG_CAPSULE_MOST);
    } else {
        jg_str_printf(out, "capsules: none can be left in %s: %s\n", context->capsule_dir,
                      jg_str_text(&reason));
    }
    jg_str_free(&reason);
}

static const char *text_of_policy(jit_gemm_policy policy)
{
    switch (policy) {
    case JIT_GEMM_POLICY_ALLOW:
        return "allowed";
    case JIT_GEMM_POLICY_WARN:
        return "allowed, with a warning";
    case JIT_GEMM_POLICY_FORBID:
        return "forbidden";
    }
    return "unknown";
}

/* A driver loads machine code of its own major release and of older ones. */
static void describe_older_driver(const jit_gemm_context *context, int compiler_version,
                                  struct jg_str *out)
{
    if (context->device == NULL || context->device->driver->takes_ptx) {
        return;
    }
    const int driver_version = context->device->facts.driver_version;
    if (compiler_version / 1000 > driver_version / 1000) {
        jg_str_printf(out,
                      "compiler: it is of CUDA %d, and the driver of CUDA %d may not load "
                      "what it makes; update the driver, or take NVRTC %d\n",
                      compiler_version / 1000, driver_version / 1000,
                      driver_version / 1000);
    }
}

/* The compiler's own line; without a compiler only what is cached can be created. */
static jit_gemm_status describe_compiler(const jit_gemm_context *context,
                                         struct jg_str *out)
{
    int version = 0;
    jg_str_puts(out, "compiler: ");
    const jit_gemm_status status =
        jg_toolchain_describe(context->toolchain, context->cache, out, &version);
    if (out->size > 0 && out->data[out->size - 1] != '\n') {
        jg_str_puts(out, "\n");
    }
    describe_older_driver(context, version, out);
    return status;
}

static void describe_linker(const jit_gemm_context *context, struct jg_str *out)
{
    jg_str_puts(out, "linker: ");
    jg_toolchain_describe_linker(context->toolchain, out);
    jg_str_puts(out, " (no snippet needs it)\n");
}

jit_gemm_status jit_gemm_context_describe(jit_gemm_context *context, char *buffer,
                                          size_t size, size_t *ret_length)
{
    JG_TRY(jg_check_context(context));
    if (size > 0) {
        JG_TRY(jg_check_pointer(buffer, "buffer"));
    }
    struct jg_str text = {0};
    char archs[256];
    jg_target_list(archs, sizeof(archs));
    jg_str_printf(&text, "library: jit_gemm %s, kernels for %s\narchitecture: %s\n",
                  JG_LIBRARY_VERSION, archs, context->arch->name);
    describe_device(context, &text);
    describe_planned(context, &text);
    const jit_gemm_status compiler_status = describe_compiler(context, &text);
    describe_linker(context, &text);
    describe_cache(context, &text);
    describe_capsules(context, &text);
    jg_str_printf(&text, "compiling: %s\n", text_of_policy(context->policy));
    jit_gemm_status status = jg_str_status(&text);
    if (status == JIT_GEMM_OK) {
        jg_str_export(jg_str_text(&text), text.size, buffer, size, ret_length);
        status = compiler_status;
    }
    jg_str_free(&text);
    /* A create looks at the device first. */
    const jit_gemm_status device_status =
        status == JIT_GEMM_ERR_NO_MEMORY ? JIT_GEMM_OK : jg_context_need_device(context);
    return device_status != JIT_GEMM_OK ? device_status : status;
}

jit_gemm_status jit_gemm_context_planned_device(jit_gemm_context *context, char *buffer,
                                                size_t size, size_t *ret_length)
{
    JG_TRY(jg_check_context(context));
    if (size > 0) {
        JG_TRY(jg_check_pointer(buffer, "buffer"));
    }
    struct jg_str text = {0};
    jg_planned_device_print(&context->facts, &text);
    return jg_str_deliver(&text, JIT_GEMM_OK, buffer, size, ret_length);
}
