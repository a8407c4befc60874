/* SPDX-License-Identifier: MIT */
/* What a failing compile or load leaves, without what its user wants to keep. */
#include "api/capsule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/manifest.h"
#include "base/error.h"
#include "plan/named_epilogue.h"

/* ----------------------------------------------------------------------- what is hidden */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_';
}

/* Ends a path in a message. */
static bool ends_path(char c)
{
    return c == '\0' || strchr(" \t\n\r\"'`()<>{}[],;:|=", c) != NULL;
}

/* Does the piece stand here? As a whole word where it ends in letters. */
static bool stands_at(const char *text, const char *at, const char *piece)
{
    const size_t size = strlen(piece);
    if (size == 0 || strncmp(at, piece, size) != 0) {
        return false;
    }
    const bool is_begun = at > text && is_word(at[-1]) && is_word(piece[0]);
    return !is_begun && !(is_word(at[size]) && is_word(piece[size - 1]));
}

/* The name of the snippet's file. One that could be any word is one only where a message
 * says a line: `name(12): error`. */
static size_t find_file_name(const struct jg_epilogue *epilogue, const char *text,
                             const char *at)
{
    if (epilogue == NULL || strcmp(epilogue->source_name, epilogue->name) == 0 ||
        !stands_at(text, at, epilogue->source_name)) {
        return 0;
    }
    const size_t size = strlen(epilogue->source_name);
    const bool is_plain = strpbrk(epilogue->source_name, "./ ") == NULL;
    return is_plain && at[size] != '(' ? 0 : size;
}

static size_t find_path(const struct jg_capsule_private *hidden, const char *text,
                        const char *at)
{
    size_t size = 0;
    for (size_t i = 0; i < sizeof(hidden->paths) / sizeof(hidden->paths[0]); i++) {
        const char *path = hidden->paths[i];
        if (path != NULL && path[0] != '\0' && strncmp(at, path, strlen(path)) == 0) {
            size = strlen(path);
        }
    }
    const bool begins = *at == '/' && (at == text || ends_path(at[-1]));
    if (size == 0 && (!begins || (!is_word(at[1]) && at[1] != '.' && at[1] >= 0))) {
        return 0;
    }
    while (!ends_path(at[size])) {
        size++;
    }
    return size;
}

void jg_capsule_clean(const struct jg_capsule_private *hidden, const char *text,
                      struct jg_str *out)
{
    for (const char *at = text; *at != '\0';) {
        const size_t name = find_file_name(hidden->epilogue, text, at);
        const size_t path = name == 0 ? find_path(hidden, text, at) : 0;
        if (name > 0) {
            jg_str_puts(out, hidden->epilogue->name);
        } else if (path > 0) {
            jg_str_puts(out, "<path>");
        } else {
            jg_str_add(out, at, 1);
        }
        at += name + path > 0 ? name + path : 1;
    }
}

struct jg_capsule_private jg_capsule_hide(const jit_gemm_context *context,
                                          const struct jg_epilogue *epilogue,
                                          const char *compiler_path)
{
    const char *home = secure_getenv("HOME");
    const struct jg_capsule_private hidden = {
        .epilogue = epilogue,
        .paths = {context->capsule_dir,
                  context->cache != NULL ? jg_cache_folder(context->cache) : NULL,
                  context->dump_dir, compiler_path,
                  home != NULL && strcmp(home, "/") != 0 ? home : NULL}};
    return hidden;
}

/* ------------------------------------------------------------------------- what is kept */

static void print_hash(const struct jg_hash *hash, struct jg_str *out)
{
    char hex[33];
    jg_hash_hex(hash, hex);
    jg_str_puts(out, hex);
}

static void print_options(const struct jg_capsule_failure *failure, struct jg_str *out)
{
    const struct jg_source *source = failure->source;
    jg_compiler_nvrtc_options(
        jg_compile_options_of(failure->builder->code_kind, source->has_lineinfo,
                              source->rounds_apart, source->linked != NULL),
        out);
}

static void print_device(const struct jg_device *device, struct jg_capsule *capsule)
{
    struct jg_str *driver_field = &capsule->fields[JG_CAPSULE_DRIVER];
    struct jg_str *device_field = &capsule->fields[JG_CAPSULE_DEVICE];
    if (device == NULL) {
        jg_str_puts(driver_field, "none");
        jg_str_puts(device_field, "none");
        return;
    }
    const struct jg_device_facts *facts = &device->facts;
    jg_str_printf(driver_field, "CUDA %d.%d", facts->driver_version / 1000,
                  facts->driver_version % 1000 / 10);
    jg_str_printf(device_field, "%s, sm_%d%d", facts->name, facts->cc_major,
                  facts->cc_minor);
}

/* Of code that is there: who could make it here, which the key may not be of. */
static jit_gemm_status print_known_key(const struct jg_capsule_failure *failure,
                                       struct jg_capsule *capsule)
{
    const struct jg_builder *builder = failure->builder;
    struct jg_str *signature = &capsule->fields[JG_CAPSULE_COMPILER];
    const char *compiler =
        jg_toolchain_signature(builder->toolchain, builder->cache, builder->log);
    jg_str_puts(&capsule->fields[JG_CAPSULE_KEY], failure->key);
    if (compiler == NULL) {
        jg_str_puts(signature, "none");
    } else if (failure->source->linked != NULL) {
        return jg_toolchain_linked_signature(builder->toolchain, compiler, signature);
    } else {
        jg_str_puts(signature, compiler);
    }
    return JIT_GEMM_OK;
}

/* The compiler's signature and the key that it gives: both are there, or the build would
 * have failed before. */
static jit_gemm_status print_key(const struct jg_capsule_failure *failure,
                                 struct jg_capsule *capsule, const char **ret_path)
{
    const struct jg_builder *builder = failure->builder;
    struct jg_str *signature = &capsule->fields[JG_CAPSULE_COMPILER];
    struct jg_compiler *compiler = NULL;
    struct jg_key key = {0};
    if (failure->key != NULL) {
        return print_known_key(failure, capsule);
    }
    JG_TRY(
        jg_toolchain_compiler(builder->toolchain, builder->cache, builder->log, &compiler));
    *ret_path = compiler->path;
    if (failure->source->linked != NULL) {
        JG_TRY(jg_toolchain_linked_signature(builder->toolchain, compiler->signature,
                                             signature));
    } else {
        jg_str_puts(signature, compiler->signature);
    }
    JG_TRY(jg_key_make(failure->source, jg_str_text(signature), failure->arch->name,
                       builder->code_kind, &key));
    print_hash(&key.hash, &capsule->fields[JG_CAPSULE_KEY]);
    jg_key_free(&key);
    return JIT_GEMM_OK;
}

/* The unit anew, as if the epilogue had no file. */
static jit_gemm_status print_unit(const struct jg_capsule_failure *failure,
                                  const struct jg_epilogue *epilogue, struct jg_str *out)
{
    if (failure->problem == NULL) {
        jg_str_puts(out, jg_str_text(&failure->source->text));
        return JIT_GEMM_OK;
    }
    struct jg_problem problem = *failure->problem;
    struct jg_source source = {0};
    problem.epilogue = epilogue;
    JG_TRY(jg_source_assemble(failure->arch, &problem, failure->choice, &source));
    jg_str_puts(out, jg_str_text(&source.text));
    jg_source_free(&source);
    return JIT_GEMM_OK;
}

static void print_manifest(const struct jg_capsule_failure *failure,
                           const struct jg_epilogue *epilogue, struct jg_str *out)
{
    struct jg_str line = {0};
    const bool is_own = epilogue != NULL && jg_named_epilogue_find(epilogue->name) == NULL;
    jg_str_printf(&line, "%s%s", failure->problem != NULL ? "problem " : "", failure->text);
    jg_manifest_print_one(is_own ? epilogue : NULL, jg_str_text(&line), out);
    out->failed |= line.failed;
    jg_str_free(&line);
}

static jit_gemm_status check_fields(const struct jg_capsule *capsule)
{
    for (int i = 0; i < JG_CAPSULE_FIELD_COUNT; i++) {
        JG_TRY(jg_str_status(&capsule->fields[i]));
    }
    return JIT_GEMM_OK; /* the files' are looked at when they are written */
}

jit_gemm_status jg_capsule_fill_kernel(const jit_gemm_context *context,
                                       const struct jg_capsule_failure *failure,
                                       struct jg_capsule *capsule,
                                       struct jg_capsule_private *hidden)
{
    const struct jg_builder *builder = failure->builder;
    const struct jg_epilogue *user =
        failure->problem != NULL ? failure->problem->epilogue : NULL;
    struct jg_epilogue shown = {0};
    if (user != NULL) {
        shown = *user;
        shown.source_name = shown.name;
    }
    const struct jg_epilogue *epilogue = user != NULL ? &shown : NULL;
    const char *compiler_path = NULL;
    struct jg_str *fields = capsule->fields;
    struct jg_str *files = capsule->files;
    JG_TRY(print_key(failure, capsule, &compiler_path));
    *hidden = jg_capsule_hide(context, user, compiler_path);
    JG_TRY(print_unit(failure, epilogue, &files[JG_CAPSULE_UNIT]));
    print_manifest(failure, epilogue, &files[JG_CAPSULE_MANIFEST]);
    jg_str_puts(&fields[JG_CAPSULE_LIBRARY], JG_LIBRARY_VERSION);
    jg_str_printf(&fields[JG_CAPSULE_SOURCE_FORMAT], "%d", JG_SOURCE_FORMAT);
    print_hash(&failure->source->headers, &fields[JG_CAPSULE_HEADERS]);
    print_device(context->device, capsule);
    jg_str_puts(&fields[JG_CAPSULE_ARCH], failure->arch->name);
    jg_str_puts(&fields[JG_CAPSULE_KIND], jg_code_kind_name(builder->code_kind));
    print_options(failure, &fields[JG_CAPSULE_OPTIONS]);
    jg_str_puts(&fields[JG_CAPSULE_ENTRY], failure->source->entry);
    jg_str_puts(&fields[JG_CAPSULE_TEXT], failure->text);
    return check_fields(capsule);
}

static jit_gemm_status fill_capsule(const jit_gemm_context *context,
                                    const struct jg_capsule_failure *failure,
                                    jit_gemm_status status, const char *error,
                                    const char *log, struct jg_capsule *capsule)
{
    struct jg_capsule_private hidden = {0};
    JG_TRY(jg_capsule_fill_kernel(context, failure, capsule, &hidden));
    jg_capsule_clean(&hidden, log, &capsule->files[JG_CAPSULE_LOG]);
    jg_capsule_clean(&hidden, error, &capsule->files[JG_CAPSULE_ERROR]);
    jg_str_puts(&capsule->files[JG_CAPSULE_ERROR], "\n");
    jg_str_puts(&capsule->fields[JG_CAPSULE_STATUS], jg_status_name(status));
    return jg_str_status(&capsule->fields[JG_CAPSULE_STATUS]);
}

/* -------------------------------------------------------------------------- leaving it */

/* The caller's own error has its line in the snippet, and needs no capsule. */
static bool is_of_snippet(const jit_gemm_diagnostics *diagnostics)
{
    for (size_t i = 0; i < jg_diagnostics_count(diagnostics); i++) {
        const jit_gemm_diagnostic *item = jg_diagnostics_at(diagnostics, i);
        if (item->origin == JIT_GEMM_DIAGNOSTIC_SNIPPET &&
            item->severity == JIT_GEMM_SEVERITY_ERROR) {
            return true;
        }
    }
    return false;
}

void jg_capsule_put(const char *folder, const struct jg_capsule *capsule,
                    struct jg_str *line)
{
    const char *text = jg_str_text(&capsule->fields[JG_CAPSULE_TEXT]);
    const char *name = jg_str_text(&capsule->fields[JG_CAPSULE_KEY]);
    struct jg_str reason = {0};
    switch (jg_capsule_write(folder, name, capsule, &reason)) {
    case JG_CAPSULE_LEFT:
    case JG_CAPSULE_THERE:
        jg_str_printf(line,
                      "what failed of %s lies in a capsule: jit-gemm replay %s/capsule-%s",
                      text, folder, name);
        break;
    case JG_CAPSULE_FULL:
        jg_str_printf(line,
                      "no capsule was left of %s: %s has %d, which is all it may have; "
                      "remove some",
                      text, folder, JG_CAPSULE_MOST);
        break;
    case JG_CAPSULE_FAILED:
        jg_str_printf(line, "no capsule was left of %s in %s: %s", text, folder,
                      jg_str_text(&reason));
        break;
    }
    jg_str_free(&reason);
}

static bool is_left_of(const struct jg_capsule_failure *failure, jit_gemm_status status)
{
    return failure->key != NULL
               ? status == JIT_GEMM_ERR_LOAD
               : status == JIT_GEMM_ERR_COMPILE || status == JIT_GEMM_ERR_INTERNAL;
}

bool jg_capsule_takes_load(const jit_gemm_context *context, jit_gemm_status status,
                           jit_gemm_diagnostics **ret_error)
{
    return context->capsule_dir != NULL && status == JIT_GEMM_ERR_LOAD &&
           jg_diagnostics_take(ret_error) == JIT_GEMM_OK;
}

void jg_capsule_leave(const jit_gemm_context *context,
                      const struct jg_capsule_failure *failure, jit_gemm_status status)
{
    if (context->capsule_dir == NULL || !is_left_of(failure, status)) {
        return;
    }
    struct jg_str error = {0};
    jit_gemm_diagnostics *diagnostics = NULL;
    jg_str_puts(&error, jg_error_text());
    if (jg_diagnostics_take(&diagnostics) != JIT_GEMM_OK) { /* no memory; it stays */
        jg_str_free(&error);
        return;
    }
    if (!is_of_snippet(diagnostics)) {
        struct jg_capsule capsule = {0};
        capsule.files[JG_CAPSULE_ERROR].failed = error.failed;
        if (fill_capsule(context, failure, status, jg_str_text(&error),
                         jg_diagnostics_log(diagnostics), &capsule) == JIT_GEMM_OK) {
            struct jg_str line = {0};
            jg_capsule_put(context->capsule_dir, &capsule, &line);
            jg_log_line(context->log, JIT_GEMM_SEVERITY_WARNING, "%s", jg_str_text(&line));
            jg_str_free(&line);
        } else {
            jg_log_line(context->log, JIT_GEMM_SEVERITY_WARNING,
                        "no capsule was left of %s: %s", failure->text, jg_error_text());
        }
        jg_capsule_free(&capsule);
    }
    jg_error_restore(status, diagnostics);
    jg_diagnostics_destroy(&diagnostics);
    jg_str_free(&error);
}
