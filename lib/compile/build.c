/* SPDX-License-Identifier: MIT */
#include "compile/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compile/compile_log.h"
#include "compile/elf_check.h"
#include "compile/ptx_check.h"
#include "compile/version.h"

/* One build under way. */
struct task {
    const struct jg_builder *builder;
    const struct jg_source *source;
    const struct jg_arch *arch;
    const struct jg_epilogue *epilogue;
    const char *what;
    struct jg_build_counts *counts;
};

/* ------------------------------------------------------------------------ the two forms */

/* What is wrong with code of the builder's form, or NULL. */
static const char *check_code(const struct task *task, const void *bytes, size_t size)
{
    const char *entry = task->source->entry;
    return task->builder->form == JG_FORM_PTX ? jg_ptx_check(bytes, size, entry)
                                              : jg_elf_check(bytes, size, entry);
}

static struct jg_str *code_of_result(const struct task *task,
                                     struct jg_compile_result *result)
{
    return task->builder->form == JG_FORM_PTX ? &result->ptx : &result->cubin;
}

/* The option of `jit-gemm prewarm` that builds this form. */
static const char *prewarm_option(const struct task *task)
{
    return task->builder->form == JG_FORM_PTX ? " --device emulator" : "";
}

/* -------------------------------------------------------------------------- metadata */

static void add_metadata(struct jg_str *out, const char *key, const char *value)
{
    jg_str_printf(out, "%s=", key);
    for (const char *at = value; *at != '\0'; at++) {
        jg_str_add(out, *at == '\n' || *at == '\r' ? " " : at, 1);
    }
    jg_str_puts(out, "\n");
}

static void print_metadata(const struct task *task, const char *signature,
                           const struct jg_compile_result *result, struct jg_str *out)
{
    add_metadata(out, "kind", jg_form_name(task->builder->form));
    add_metadata(out, "problem", task->what);
    add_metadata(out, "arch", task->arch->name);
    add_metadata(out, "entry", task->source->entry);
    if (task->builder->form == JG_FORM_CUBIN) {
        jg_str_printf(out, "registers=%u\nspill_bytes=%u\n", result->registers,
                      result->spill_bytes);
    }
    jg_str_printf(out, "compile_ms=%.3f\n", result->compile_ms);
    add_metadata(out, "compiler", signature);
    add_metadata(out, "library", JG_LIBRARY_VERSION);
}

int jg_metadata_get(const void *metadata, size_t metadata_size, const char *key,
                    char *buffer, size_t size)
{
    const char *at = metadata;
    const char *end = at != NULL ? at + metadata_size : NULL;
    const size_t key_size = strlen(key);
    while (at != NULL && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL) {
            return 0;
        }
        if ((size_t)(line_end - at) > key_size && memcmp(at, key, key_size) == 0 &&
            at[key_size] == '=') {
            at += key_size + 1;
            jg_str_export(at, (size_t)(line_end - at), buffer, size, NULL);
            return 1;
        }
        at = line_end + 1;
    }
    return 0;
}

static uint32_t read_metadata_number(const jg_cache_blob *blob, const char *key)
{
    char text[16] = "";
    (void)jg_metadata_get(blob->metadata, blob->metadata_size, key, text, sizeof(text));
    return (uint32_t)strtoul(text, NULL, 10);
}

/* ----------------------------------------------------------------------------- dumps */

/* Writes <dump_dir>/<entry>-<8 digits of the key>.<suffix>; trouble is logged. */
static void dump_file(const struct task *task, const char *key, const char *suffix,
                      const struct jg_str *bytes)
{
    if (task->builder->dump_dir == NULL || bytes->size == 0) {
        return;
    }
    struct jg_str path = {0};
    jg_str_printf(&path, "%s/%s-%.8s.%s", task->builder->dump_dir, task->source->entry, key,
                  suffix);
    FILE *file = path.failed ? NULL : fopen(path.data, "wb");
    int code = path.failed ? ENOMEM : file == NULL ? errno : 0;
    if (file != NULL && fwrite(bytes->data, 1, bytes->size, file) != bytes->size) {
        code = errno;
    }
    if (file != NULL && fclose(file) != 0 && code == 0) {
        code = errno;
    }
    if (code != 0) {
        jg_log_line(task->builder->log, JIT_GEMM_SEVERITY_WARNING,
                    "JIT_GEMM_DUMP_DIR: %s: %s", jg_str_text(&path), strerror(code));
    }
    jg_str_free(&path);
}

static void dump_result(const struct task *task, const char *key,
                        const struct jg_compile_result *result)
{
    dump_file(task, key, "cu", &task->source->text);
    dump_file(task, key, "log", &result->log);
    dump_file(task, key, "ptx", &result->ptx);
    dump_file(task, key, "cubin", &result->cubin);
}

/* The log of a refused unit is in the error record: it is taken out and put back. */
static void dump_refusal(const struct task *task, const char *key, jit_gemm_status status)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    dump_file(task, key, "cu", &task->source->text);
    if (task->builder->dump_dir == NULL ||
        jg_diagnostics_take(&diagnostics) != JIT_GEMM_OK) {
        return;
    }
    struct jg_str log = {0};
    jg_str_puts(&log, jg_diagnostics_log(diagnostics));
    dump_file(task, key, "log", &log);
    jg_str_free(&log);
    jg_error_restore(status, diagnostics);
    jg_diagnostics_destroy(&diagnostics);
}

/* ------------------------------------------------------------------------ disk cache */

static jg_cache_key cache_key_of(const struct jg_key *key)
{
    jg_cache_key found = {.material = key->material.data,
                          .material_size = key->material.size};
    memcpy(found.name.bytes, key->hash.bytes, sizeof(found.name.bytes));
    return found;
}

static void note_refused_entry(const struct task *task, const char *kind,
                               const char *reason)
{
    task->counts->cache_rejects++;
    jg_log_line(task->builder->log, JIT_GEMM_SEVERITY_WARNING,
                "cache entry of %s refused: %s: %s", task->what, kind, reason);
}

/* Makes a binary of a found blob; 0 if it is no kernel of ours. */
static int accept_blob(const struct task *task, const struct jg_key *key,
                       const jg_cache_blob *blob, struct jg_binary *ret_binary)
{
    const char *wrong = check_code(task, blob->payload, blob->payload_size);
    if (wrong != NULL) {
        note_refused_entry(task, "damaged", wrong);
        return 0;
    }
    struct jg_binary binary = {
        .origin = JIT_GEMM_ORIGIN_DISK,
        .kept = 1,
        .registers = read_metadata_number(blob, "registers"),
        .spill_bytes = read_metadata_number(blob, "spill_bytes"),
    };
    jg_str_add(&binary.code, blob->payload, blob->payload_size);
    if (binary.code.failed) {
        jg_binary_free(&binary);
        note_refused_entry(task, "no memory", "it was found but cannot be held");
        return 0;
    }
    jg_hash_hex(&key->hash, binary.key);
    *ret_binary = binary;
    return 1;
}

/* Looks for the kernel as the compiler of this signature made it. *ret_found says. */
static jit_gemm_status find_by_signature(const struct task *task, const char *signature,
                                         struct jg_binary *ret_binary, int *ret_found)
{
    struct jg_key key = {0};
    JG_TRY(
        jg_key_make(task->source, signature, task->arch->name, task->builder->form, &key));
    const jg_cache_key cache_key = cache_key_of(&key);
    jg_cache_blob blob = {0};
    char reason[256] = "";
    const jg_cache_result result =
        jg_cache_get(task->builder->cache, &cache_key, &blob, reason, sizeof(reason));
    int found = 0;
    if (result == JG_CACHE_OK) {
        found = accept_blob(task, &key, &blob, ret_binary);
        jg_cache_blob_free(&blob);
    } else if (result != JG_CACHE_MISS) {
        note_refused_entry(task, jg_cache_result_name(result), reason);
    }
    jg_key_free(&key);
    *ret_found = found;
    return JIT_GEMM_OK;
}

/* Without a compiler on this machine every signature that the folder knows is tried. */
static jit_gemm_status find_by_known_signatures(const struct task *task,
                                                struct jg_binary *ret_binary,
                                                int *ret_found)
{
    int found = 0;
    for (int i = 0; i < JG_TOOLCHAIN_KNOWN_MAX && !found; i++) {
        struct jg_str signature = {0};
        jit_gemm_status status = JIT_GEMM_OK;
        if (jg_toolchain_known(task->builder->cache, i, &signature)) {
            status = find_by_signature(task, signature.data, ret_binary, &found);
        }
        jg_str_free(&signature);
        JG_TRY(status);
    }
    *ret_found = found;
    return JIT_GEMM_OK;
}

static jit_gemm_status find_on_disk(const struct task *task, struct jg_binary *ret_binary,
                                    int *ret_found)
{
    const struct jg_builder *builder = task->builder;
    if (builder->cache == NULL) {
        return JIT_GEMM_OK;
    }
    const char *signature =
        jg_toolchain_signature(builder->toolchain, builder->cache, builder->log);
    if (signature != NULL) {
        return find_by_signature(task, signature, ret_binary, ret_found);
    }
    return find_by_known_signatures(task, ret_binary, ret_found);
}

static int keep_on_disk(const struct task *task, const struct jg_key *key,
                        const char *signature, struct jg_compile_result *result)
{
    const struct jg_builder *builder = task->builder;
    const struct jg_str *code = code_of_result(task, result);
    if (builder->cache == NULL) {
        return 0;
    }
    struct jg_str metadata = {0};
    print_metadata(task, signature, result, &metadata);
    const jg_cache_key cache_key = cache_key_of(key);
    const jg_cache_value value = {code->data, code->size, metadata.data, metadata.size};
    char reason[256] = "out of memory";
    jg_cache_result stored = JG_CACHE_NO_MEMORY;
    if (!metadata.failed) {
        stored = jg_cache_put(builder->cache, &cache_key, &value, reason, sizeof(reason));
    }
    jg_str_free(&metadata);
    if (stored != JG_CACHE_OK && stored != JG_CACHE_EXISTS) {
        task->counts->cache_store_errors++;
        jg_log_line(builder->log, JIT_GEMM_SEVERITY_WARNING,
                    "the kernel of %s could not be kept: %s: %s", task->what,
                    jg_cache_result_name(stored), reason);
        return 0;
    }
    jg_toolchain_remember(builder->cache, builder->log, signature);
    return 1;
}

/* --------------------------------------------------------------------------- compile */

static jit_gemm_status ask_policy(const struct task *task)
{
    const struct jg_builder *builder = task->builder;
    switch (builder->policy) {
    case JIT_GEMM_POLICY_ALLOW:
        break;
    case JIT_GEMM_POLICY_WARN:
        jg_log_line(builder->log, JIT_GEMM_SEVERITY_WARNING,
                    "compiling %s, which is not in the cache; prewarm it: write a manifest "
                    "of this context and run jit-gemm prewarm MANIFEST --arch %s%s",
                    task->what, task->arch->name, prewarm_option(task));
        break;
    case JIT_GEMM_POLICY_FORBID: {
        task->counts->forbidden_misses++;
        char hint[192];
        snprintf(hint, sizeof(hint),
                 "write a manifest where compiling is allowed, and run jit-gemm prewarm "
                 "MANIFEST --arch %s%s with the same cache folder",
                 task->arch->name, prewarm_option(task));
        return jg_fail_system(JIT_GEMM_ERR_NOT_CACHED, "cache", hint,
                              "this context forbids compiling, and the kernel of \"%s\" "
                              "for %s is not in %s",
                              task->what, task->arch->name,
                              builder->cache != NULL ? jg_cache_folder(builder->cache)
                                                     : "a cache (there is none)");
    }
    }
    return JIT_GEMM_OK;
}

static void log_compile(const struct task *task, const struct jg_compile_result *result)
{
    struct jg_log *log = task->builder->log;
    if (task->builder->form == JG_FORM_PTX) {
        jg_log_line(log, JIT_GEMM_SEVERITY_INFO, "compiled %s for %s to PTX in %.0f ms",
                    task->what, task->arch->name, result->compile_ms);
        return;
    }
    jg_log_line(log, JIT_GEMM_SEVERITY_INFO,
                "compiled %s for %s in %.0f ms: %u registers, %u bytes of spills",
                task->what, task->arch->name, result->compile_ms, result->registers,
                result->spill_bytes);
}

/* Runs the compiler and looks at what it made. */
static jit_gemm_status run_compiler(const struct task *task, struct jg_compiler *compiler,
                                    const char *key, struct jg_compile_result *ret_result)
{
    const struct jg_compile_request request = {
        .arch = task->arch->name,
        .form = task->builder->form,
        .text = jg_str_text(&task->source->text),
        .entry = task->source->entry,
        .epilogue = task->epilogue,
    };
    struct jg_compile_result result = {0};
    const jit_gemm_status status = compiler->compile(compiler, &request, &result);
    if (status != JIT_GEMM_OK) {
        task->counts->compile_failures++;
        dump_refusal(task, key, status);
        return status;
    }
    task->counts->compiles++;
    task->counts->compile_ms += result.compile_ms;
    dump_result(task, key, &result);
    (void)jg_compile_log_warn(jg_str_text(&result.log), task->epilogue, task->builder->log);
    const struct jg_str *code = code_of_result(task, &result);
    const char *wrong = check_code(task, jg_str_text(code), code->size);
    if (wrong != NULL) {
        jg_compile_result_free(&result);
        return jg_fail_system(JIT_GEMM_ERR_INTERNAL, "compiler",
                              "please report it with the source unit",
                              "the %s that it made for %s cannot be used: %s",
                              jg_form_name(task->builder->form), task->what, wrong);
    }
    log_compile(task, &result);
    *ret_result = result;
    return JIT_GEMM_OK;
}

/* Opens the compiler, makes the key of what it will make, compiles. */
static jit_gemm_status compile_with_key(const struct task *task, const char **ret_signature,
                                        struct jg_key *ret_key,
                                        struct jg_compile_result *ret_result)
{
    const struct jg_builder *builder = task->builder;
    JG_TRY(ask_policy(task));
    struct jg_compiler *compiler = NULL;
    JG_TRY(
        jg_toolchain_compiler(builder->toolchain, builder->cache, builder->log, &compiler));
    struct jg_key key = {0};
    JG_TRY(jg_key_make(task->source, compiler->signature, task->arch->name, builder->form,
                       &key));
    char hex[33];
    jg_hash_hex(&key.hash, hex);
    const jit_gemm_status status = run_compiler(task, compiler, hex, ret_result);
    if (status != JIT_GEMM_OK) {
        jg_key_free(&key);
        return status;
    }
    *ret_signature = compiler->signature;
    *ret_key = key;
    return JIT_GEMM_OK;
}

/* ----------------------------------------------------------------------------- whole */

jit_gemm_status jg_build(const struct jg_builder *builder, const struct jg_source *source,
                         const struct jg_arch *arch, const struct jg_epilogue *epilogue,
                         const char *what, struct jg_binary *ret_binary,
                         struct jg_build_counts *counts)
{
    struct jg_build_counts unwanted = {0};
    const struct task task = {builder,  source, arch,
                              epilogue, what,   counts != NULL ? counts : &unwanted};
    struct jg_binary binary = {0};
    int found = 0;
    JG_TRY(find_on_disk(&task, &binary, &found));
    if (found) {
        task.counts->disk_hits++;
        jg_log_line(builder->log, JIT_GEMM_SEVERITY_DEBUG, "found %s for %s on disk: %s",
                    what, arch->name, binary.key);
        dump_file(&task, binary.key, "cu", &source->text);
        dump_file(&task, binary.key, jg_form_name(builder->form), &binary.code);
        *ret_binary = binary;
        return JIT_GEMM_OK;
    }

    const char *signature = NULL;
    struct jg_key key = {0};
    struct jg_compile_result result = {0};
    JG_TRY(compile_with_key(&task, &signature, &key, &result));
    binary.origin = JIT_GEMM_ORIGIN_COMPILED;
    binary.kept = keep_on_disk(&task, &key, signature, &result);
    binary.registers = result.registers;
    binary.spill_bytes = result.spill_bytes;
    binary.compile_ms = result.compile_ms;
    jg_hash_hex(&key.hash, binary.key);
    jg_key_free(&key);
    struct jg_str *code = code_of_result(&task, &result);
    binary.code = *code; /* moved */
    *code = (struct jg_str){0};
    jg_compile_result_free(&result);
    *ret_binary = binary;
    return JIT_GEMM_OK;
}

void jg_binary_free(struct jg_binary *binary)
{
    jg_str_free(&binary->code);
}
