/* SPDX-License-Identifier: MIT */
#include "api/prewarm_targets.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "base/nearest.h"
#include "base/struct.h"
#include "jit_gemm/prewarm_device.h"
#include "plan/planned_device.h"
#include "plan/text.h"

/* The line `plan_for` of a device that runs the architecture; NULL if there is none. */
static const struct jg_device_facts *find_line(const struct jg_manifest *manifest,
                                               const struct jg_arch *arch)
{
    for (size_t i = 0; i < manifest->device_count; i++) {
        if (jg_arch_runs_on(arch, &manifest->devices[i])) {
            return &manifest->devices[i];
        }
    }
    return NULL;
}

static struct jg_planned plan_for(const jit_gemm_context *context,
                                  const struct jg_manifest *manifest,
                                  const struct jg_arch *arch)
{
    struct jg_planned planned = jg_step_planned(context, arch);
    const struct jg_device_facts *line = find_line(manifest, arch);
    if (planned.by == JG_PLANNED_BY_DEFAULT && line != NULL) {
        planned.facts = *line;
        planned.by = JG_PLANNED_BY_MANIFEST;
    }
    return planned;
}

static jit_gemm_status find_arch(const char *name, const struct jg_arch **ret_arch)
{
    const char *given = name != NULL ? name : "";
    const struct jg_arch *arch = jg_arch_find(given);
    if (arch == NULL) {
        struct jg_nearest nearest = jg_nearest_begin(given, strlen(given));
        jg_arch_nearest(&nearest);
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, "options.archs",
            jg_near_hint(&nearest, "see jit_gemm_context_arch for a name that works").text,
            "this version has no kernels for %s", jg_quote(given, strlen(given)).text);
    }
    *ret_arch = arch;
    return JIT_GEMM_OK;
}

void jg_targets_free(struct jg_targets *targets)
{
    jg_free(targets->planned);
    *targets = (struct jg_targets){0};
}

jit_gemm_status jg_targets_find(const jit_gemm_context *context,
                                const struct jg_manifest *manifest,
                                const jit_gemm_prewarm_options *options,
                                struct jg_targets *ret_targets)
{
    if (options->archs == NULL && options->arch_count > 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.archs",
                       "give an array of options.arch_count names", "is NULL");
    }
    const size_t given = options->archs != NULL ? options->arch_count : 0;
    const size_t own = given > 0 ? 0 : manifest->arch_count;
    const size_t count = (size_t)jg_max((int64_t)(given + own), 1);
    struct jg_targets targets = {jg_alloc_array(count, sizeof(*targets.planned)), count};
    if (targets.planned == NULL) {
        return jg_fail_memory();
    }
    for (size_t i = 0; i < count; i++) {
        const struct jg_arch *arch = own > 0 ? manifest->archs[i] : context->arch;
        const jit_gemm_status status =
            given > 0 ? find_arch(options->archs[i], &arch) : JIT_GEMM_OK;
        if (status != JIT_GEMM_OK) {
            jg_targets_free(&targets);
            return status;
        }
        targets.planned[i] = plan_for(context, manifest, arch);
    }
    *ret_targets = targets;
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------------------------ in words
 */

/* "cc=9.0 sm_count=132 ... (NVIDIA H200)"; equal words plan alike. */
static void print_device(const struct jg_device_facts *facts, struct jg_str *out)
{
    jg_planned_device_print(facts, out);
    if (facts->name[0] != '\0') {
        jg_str_printf(out, " (%s)", facts->name);
    }
}

static bool plan_alike(const struct jg_device_facts *one,
                       const struct jg_device_facts *other)
{
    struct jg_str first = {0};
    struct jg_str second = {0};
    jg_planned_device_print(one, &first);
    jg_planned_device_print(other, &second);
    const bool is_same = strcmp(jg_str_text(&first), jg_str_text(&second)) == 0;
    jg_str_free(&first);
    jg_str_free(&second);
    return is_same;
}

static void print_target(const struct jg_planned *planned,
                         const struct jg_device_facts *line, struct jg_str *out)
{
    static const char *const choosers[] = {
        [JG_PLANNED_BY_DEFAULT] = "", /* its name is told */
        [JG_PLANNED_BY_MANIFEST] = ", which the manifest names",
        [JG_PLANNED_BY_HERE] = ", which is here",
        [JG_PLANNED_BY_NAME] = ", which was named"};
    jg_str_printf(out, "kernels for %s are chosen for ", planned->arch->name);
    print_device(&planned->facts, out);
    jg_str_puts(out, choosers[planned->by]);
    if (line != NULL && !plan_alike(&planned->facts, line)) {
        jg_str_puts(out, ", and not for the manifest's plan_for ");
        print_device(line, out);
    }
    jg_str_puts(out, "\n");
}

static jit_gemm_status print_targets(const jit_gemm_context *context, const char *manifest,
                                     size_t size, const jit_gemm_prewarm_options *options,
                                     struct jg_str *out)
{
    struct jg_manifest parsed;
    struct jg_targets targets = {0};
    JG_TRY(jg_manifest_parse(manifest, size, NULL, &parsed));
    const jit_gemm_status status = jg_targets_find(context, &parsed, options, &targets);
    if (status == JIT_GEMM_OK) {
        for (size_t i = 0; i < targets.count; i++) {
            print_target(&targets.planned[i], find_line(&parsed, targets.planned[i].arch),
                         out);
        }
        jg_targets_free(&targets);
    }
    jg_manifest_free(&parsed);
    return status;
}

jit_gemm_status jit_gemm_prewarm_device(jit_gemm_context *context, const char *manifest,
                                        size_t size,
                                        const jit_gemm_prewarm_options *options,
                                        char *buffer, size_t buffer_size,
                                        size_t *ret_length)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(manifest, "manifest"));
    if (buffer_size > 0) {
        JG_TRY(jg_check_pointer(buffer, "buffer"));
    }
    jit_gemm_prewarm_options own = {.struct_size = sizeof(own)};
    if (options != NULL) {
        JG_TRY(jg_struct_import(options, &own, sizeof(own), "options"));
    }
    struct jg_str text = {0};
    const jit_gemm_status status = print_targets(context, manifest, size, &own, &text);
    return jg_str_deliver(&text, status, buffer, buffer_size, ret_length);
}
