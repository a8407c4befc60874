/* SPDX-License-Identifier: MIT */
#include "api/target.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "plan/planned_device.h"
#include "plan/text.h"

/* ---------------------------------------------------------------------- architecture */

void jg_target_list(char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    const struct jg_arch *arch = NULL;
    for (int i = 0; (arch = jg_arch_at(i)) != NULL && used < size; i++) {
        const int written =
            snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "", arch->name);
        used += written > 0 ? (size_t)written : 0;
    }
}

static jit_gemm_status find_named_arch(const char *name, const char *where,
                                       const struct jg_arch **ret_arch)
{
    const struct jg_arch *arch = jg_arch_find(name);
    if (arch == NULL) {
        char supported[256];
        jg_target_list(supported, sizeof(supported));
        char hint[300];
        snprintf(hint, sizeof(hint), "supported architectures: %s", supported);
        struct jg_nearest nearest = jg_nearest_begin(name, strlen(name));
        jg_arch_nearest(&nearest);
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, where, jg_near_hint(&nearest, hint).text,
                       "this version has no kernels for %s",
                       jg_quote(name, strlen(name)).text);
    }
    *ret_arch = arch;
    return JIT_GEMM_OK;
}

/* Are there kernels for the device: those of `arch`, or any if that is NULL? */
static bool device_fits(const struct jg_arch *arch, const struct jg_device_facts *facts)
{
    return arch != NULL ? jg_arch_runs_on(arch, facts) : jg_arch_for_device(facts) != NULL;
}

/* What a driver does not tell is as the architecture's default has it. */
static void fill_facts(const struct jg_arch *arch, struct jg_device_facts *facts)
{
    if (facts->memory_bytes_s == 0) {
        facts->memory_bytes_s = arch->default_facts.memory_bytes_s;
    }
    if (facts->gpc_sms == 0) {
        facts->gpc_sms = arch->default_facts.gpc_sms;
    }
}

/* The devices that there are kernels for; their driver is asked, and none is opened. An
 * emulator's device is none. */
static jit_gemm_status find_devices_here(jit_gemm_context *context,
                                         const struct jg_driver *driver)
{
    int count = 0;
    if (driver->takes_ptx || jg_device_count(driver, &count) != JIT_GEMM_OK || count == 0) {
        return JIT_GEMM_OK;
    }
    context->here = jg_alloc_array((size_t)count, sizeof(context->here[0]));
    if (context->here == NULL) {
        return jg_fail_memory();
    }
    for (int i = 0; i < count; i++) {
        struct jg_device_facts facts = {0};
        if (jg_device_read_facts(driver, i, &facts) == JIT_GEMM_OK &&
            device_fits(NULL, &facts)) {
            fill_facts(jg_arch_for_device(&facts), &facts);
            context->here[context->here_count++] = facts;
        }
    }
    return JIT_GEMM_OK;
}

/* The facts of the first device here that fits, if there is one. */
static jit_gemm_status find_device_here(jit_gemm_context *context,
                                        const jit_gemm_context_options *options,
                                        bool *ret_is_found)
{
    struct jg_driver *driver = NULL;
    jit_gemm_status status = JIT_GEMM_OK;
    if (jg_driver_open(options->driver, jg_env_get(JG_ENV_DRIVER), &driver) ==
        JIT_GEMM_OK) {
        status = find_devices_here(context, driver);
        jg_driver_close(driver);
    }
    JG_TRY(status);
    jg_error_clear(); /* nothing has failed: there is a default */
    *ret_is_found = false;
    for (size_t i = 0; i < context->here_count && !*ret_is_found; i++) {
        *ret_is_found = device_fits(context->arch, &context->here[i]);
        if (*ret_is_found) {
            context->facts = context->here[i];
        }
    }
    return JIT_GEMM_OK;
}

/* The device that is planned for, if one is named. */
static jit_gemm_status resolve_planned(jit_gemm_context *context,
                                       const jit_gemm_context_options *options)
{
    const char *text = options->plan_for;
    const char *where = "options.plan_for";
    if (text == NULL) {
        text = jg_env_get(JG_ENV_PLAN_FOR);
        where = jg_env_name(JG_ENV_PLAN_FOR);
    }
    if (text == NULL || (strcmp(text, "here") == 0 && !options->no_device)) {
        return JIT_GEMM_OK;
    }
    bool is_found = true;
    JG_TRY(strcmp(text, "here") != 0 ? jg_planned_device_parse(text, where, &context->facts)
                                     : find_device_here(context, options, &is_found));
    if (!is_found) {
        return JIT_GEMM_OK;
    }
    context->plans_for = true;
    if (context->arch == NULL) {
        context->arch = jg_arch_for_device(&context->facts);
    }
    if (context->arch == NULL || !jg_arch_runs_on(context->arch, &context->facts)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       "name a device that runs the architecture, or another architecture",
                       "kernels for %s do not run on %s, of compute capability %d.%d",
                       context->arch != NULL ? context->arch->name : "any architecture",
                       context->facts.name, context->facts.cc_major,
                       context->facts.cc_minor);
    }
    fill_facts(context->arch, &context->facts);
    return JIT_GEMM_OK;
}

static jit_gemm_status resolve_arch(jit_gemm_context *context,
                                    const jit_gemm_context_options *options)
{
    const char *name = options->arch;
    const char *where = "options.arch";
    if (name == NULL) {
        name = jg_env_get(JG_ENV_ARCH);
        where = "JIT_GEMM_ARCH";
    }
    if (name != NULL) {
        JG_TRY(find_named_arch(name, where, &context->arch));
    }
    JG_TRY(resolve_planned(context, options));
    if (context->arch == NULL && options->no_device) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.arch",
                       "name one, for instance sm_90a, or set JIT_GEMM_ARCH",
                       "without a device the architecture must be named");
    }
    return JIT_GEMM_OK;
}

/* ---------------------------------------------------------------------------- device */

/* Appends "device 1, NVIDIA L4 (sm_89)". */
static void print_device(int ordinal, const struct jg_device_facts *facts,
                         struct jg_str *out)
{
    jg_str_printf(out, "%sdevice %d, %s (sm_%d%d)", out->size > 0 ? "; " : "", ordinal,
                  facts->name, facts->cc_major, facts->cc_minor);
}

static jit_gemm_status fail_unsupported(const struct jg_arch *arch,
                                        const struct jg_str *devices)
{
    if (arch != NULL) {
        return jg_fail_system(JIT_GEMM_ERR_UNSUPPORTED, "device",
                              "name the architecture of a device that is here, or none to "
                              "take what fits",
                              "kernels for %s do not run on %s", arch->name,
                              jg_str_text(devices));
    }
    char supported[256];
    jg_target_list(supported, sizeof(supported));
    char hint[400];
    snprintf(
        hint, sizeof(hint),
        "supported architectures: %s; name one with options.arch to plan and build for "
        "it without running",
        supported);
    return jg_fail_system(JIT_GEMM_ERR_UNSUPPORTED, "device", hint,
                          "this version has no kernels for %s", jg_str_text(devices));
}

/* The first device that fits; -1 if there is none. Those before it are printed to `passed`.
 */
static jit_gemm_status find_ordinal(const jit_gemm_context *context,
                                    const struct jg_driver *driver, struct jg_str *passed,
                                    int *ret_ordinal)
{
    int count = 0;
    JG_TRY(jg_device_count(driver, &count));
    for (int i = 0; i < count; i++) {
        struct jg_device_facts facts = {0};
        JG_TRY(jg_device_read_facts(driver, i, &facts));
        if (device_fits(context->arch, &facts)) {
            *ret_ordinal = i;
            return JIT_GEMM_OK;
        }
        print_device(i, &facts, passed);
        JG_TRY(jg_str_status(passed));
    }
    *ret_ordinal = -1;
    return JIT_GEMM_OK;
}

/* The devices that were passed are named in the log, or in the error if none fits. */
static jit_gemm_status find_and_tell(const jit_gemm_context *context,
                                     const struct jg_driver *driver, struct jg_str *passed,
                                     int *ret_ordinal)
{
    int chosen = -1;
    JG_TRY(find_ordinal(context, driver, passed, &chosen));
    if (chosen < 0) {
        return fail_unsupported(context->arch, passed);
    }
    if (passed->size > 0) {
        jg_log_line(context->log, JIT_GEMM_SEVERITY_INFO,
                    "device %d was taken: kernels for %s do not run on %s", chosen,
                    context->arch != NULL ? context->arch->name : "any architecture",
                    jg_str_text(passed));
    }
    *ret_ordinal = chosen;
    return JIT_GEMM_OK;
}

/* The device that is asked for, or else the first that fits. */
static jit_gemm_status choose_ordinal(const jit_gemm_context *context,
                                      const jit_gemm_context_options *options,
                                      const struct jg_driver *driver, int *ret_ordinal)
{
    if (options->device != 0 || options->exact_device) {
        *ret_ordinal = options->device;
        return JIT_GEMM_OK;
    }
    struct jg_str passed = {0};
    const jit_gemm_status status = find_and_tell(context, driver, &passed, ret_ordinal);
    jg_str_free(&passed);
    return status;
}

static jit_gemm_status open_with_driver(const jit_gemm_context *context,
                                        const jit_gemm_context_options *options,
                                        struct jg_driver *driver,
                                        struct jg_device **ret_device)
{
    int ordinal = 0;
    JG_TRY(choose_ordinal(context, options, driver, &ordinal));
    return jg_device_open(driver, ordinal, ret_device);
}

static jit_gemm_status open_device(const jit_gemm_context *context,
                                   const jit_gemm_context_options *options,
                                   struct jg_device **ret_device)
{
    if (options->no_device) {
        return jg_fail(JIT_GEMM_ERR_NO_DRIVER, "options.no_device",
                       "create the context without no_device to load and run kernels",
                       "the context was told not to open a device");
    }
    struct jg_driver *driver = NULL;
    JG_TRY(jg_driver_open(options->driver, jg_env_get(JG_ENV_DRIVER), &driver));
    const jit_gemm_status status = open_with_driver(context, options, driver, ret_device);
    if (status != JIT_GEMM_OK) {
        jg_driver_close(driver);
    }
    return status;
}

/* Remembers why there is no device, for the first call that needs one. */
static jit_gemm_status keep_device_error(jit_gemm_context *context, jit_gemm_status status)
{
    context->device_status = status;
    JG_TRY(jg_diagnostics_take(&context->device_errors));
    jg_error_clear(); /* nothing has failed yet */
    jg_log_line(context->log, JIT_GEMM_SEVERITY_INFO,
                "no device: kernels for %s can be planned and built, not run",
                context->arch->name);
    return JIT_GEMM_OK;
}

/* ----------------------------------------------------------------------------- whole */

static jit_gemm_status fail_unsupported_device(const struct jg_arch *arch,
                                               const struct jg_device *device)
{
    struct jg_str text = {0};
    print_device(device->ordinal, &device->facts, &text);
    const jit_gemm_status status = fail_unsupported(arch, &text);
    jg_str_free(&text);
    return status;
}

jit_gemm_status jg_target_resolve(jit_gemm_context *context,
                                  const jit_gemm_context_options *options)
{
    JG_TRY(resolve_arch(context, options));
    const jit_gemm_status status = open_device(context, options, &context->device);
    if (status != JIT_GEMM_OK) {
        if (context->arch == NULL || status == JIT_GEMM_ERR_ARGUMENT ||
            status == JIT_GEMM_ERR_NO_MEMORY) {
            return status;
        }
        if (!context->plans_for) {
            context->facts = context->arch->default_facts;
        }
        return keep_device_error(context, status);
    }
    const struct jg_device_facts *facts = &context->device->facts;
    if (context->arch == NULL) {
        context->arch = jg_arch_for_device(facts);
        if (context->arch == NULL) {
            return fail_unsupported_device(NULL, context->device);
        }
    }
    if (!context->plans_for) {
        context->facts =
            jg_arch_runs_on(context->arch, facts) ? *facts : context->arch->default_facts;
        fill_facts(context->arch, &context->facts);
    }
    return JIT_GEMM_OK;
}

enum jg_code_kind jg_target_code_kind(const jit_gemm_context *context)
{
    return context->device != NULL && context->device->driver->takes_ptx ? JG_CODE_PTX
                                                                         : JG_CODE_CUBIN;
}

jit_gemm_status jg_context_need_device(const jit_gemm_context *context)
{
    if (context->device == NULL) {
        jg_error_restore(context->device_status, context->device_errors);
        return context->device_status;
    }
    if (!jg_arch_runs_on(context->arch, &context->device->facts)) {
        return fail_unsupported_device(context->arch, context->device);
    }
    return JIT_GEMM_OK;
}
