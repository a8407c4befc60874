/* SPDX-License-Identifier: MIT */
#include "compile/toolchain.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/thread.h"
#include "compile/key.h"
#include "cuda/nvjitlink.h"
#include "cuda/nvrtc.h"

struct jg_toolchain {
    jg_mutex mutex; /* over everything below */
    struct jg_library_paths paths;
    size_t used_path;                 /* that search ended at; 0 until then */
    struct jg_compiler *compiler;     /* NULL until it is opened */
    struct jg_str recorded_signature; /* from the cache; kept as long as the toolchain */
    struct jg_nvjitlink linker;       /* version 0 until it is opened */
    bool is_absent;                   /* a search for the signature found nothing usable */
};

/* --------------------------------------------------------------------- small records */

static jg_cache_key key_of_record(const struct jg_str *material)
{
    return (jg_cache_key){.name = jg_cache_name_of(jg_str_text(material), material->size),
                          .material = material->data,
                          .material_size = material->size};
}

/* Appends the record's text; false if there is none. */
static bool read_record(struct jg_cache *cache, const struct jg_str *material,
                        struct jg_str *out)
{
    if (material->failed) {
        return false;
    }
    const jg_cache_key key = key_of_record(material);
    jg_cache_blob blob = {0};
    if (jg_cache_get(cache, &key, &blob, NULL, 0) != JG_CACHE_OK) {
        return false;
    }
    jg_str_add(out, blob.payload, blob.payload_size);
    jg_cache_blob_free(&blob);
    return !out->failed && out->size > 0;
}

static void log_no_note(struct jg_log *log, jg_cache_result result, const char *reason)
{
    jg_log_line(log, JIT_GEMM_SEVERITY_DEBUG,
                "the cache cannot keep a note on the compiler: %s: %s",
                jg_cache_result_name(result), reason);
}

static void write_record(struct jg_cache *cache, struct jg_log *log,
                         const struct jg_str *material, const char *text)
{
    if (material->failed || cache == NULL) {
        return;
    }
    const jg_cache_key key = key_of_record(material);
    const jg_cache_value value = {text, strlen(text), JG_MAKERS_METADATA,
                                  sizeof(JG_MAKERS_METADATA) - 1};
    char reason[256] = "";
    const jg_cache_result result =
        jg_cache_put(cache, &key, &value, reason, sizeof(reason));
    if (result != JG_CACHE_OK && result != JG_CACHE_EXISTS) {
        log_no_note(log, result, reason);
    }
}

bool jg_toolchain_known(struct jg_cache *cache, int number, struct jg_str *out)
{
    jg_cache_blob blob = {0};
    if (!jg_makers_get(cache, JG_LIBRARY_VERSION, number, &blob)) {
        return false;
    }
    jg_str_add(out, blob.payload, blob.payload_size);
    jg_cache_blob_free(&blob);
    return !out->failed && out->size > 0;
}

void jg_toolchain_remember(struct jg_cache *cache, struct jg_log *log,
                           const char *signature)
{
    char reason[256] = "";
    if (cache == NULL) {
        return;
    }
    const jg_cache_result result =
        jg_makers_remember(cache, JG_LIBRARY_VERSION, signature, reason, sizeof(reason));
    if (result == JG_CACHE_TOO_LARGE) {
        jg_log_line(log, JIT_GEMM_SEVERITY_WARNING, "in the cache folder %s", reason);
    } else if (result != JG_CACHE_OK && result != JG_CACHE_EXISTS) {
        log_no_note(log, result, reason);
    }
}

/* ------------------------------------------------------------------------ life cycle */

/* NULL without memory; recorded. */
static struct jg_toolchain *create_empty_toolchain(void)
{
    struct jg_toolchain *toolchain = jg_alloc(sizeof(*toolchain));
    if (toolchain == NULL || pthread_mutex_init(&toolchain->mutex, NULL) != 0) {
        jg_free(toolchain);
        jg_fail_memory();
        return NULL;
    }
    return toolchain;
}

jit_gemm_status jg_toolchain_create(const char *path, struct jg_toolchain **ret_toolchain)
{
    struct jg_toolchain *toolchain = create_empty_toolchain();
    if (toolchain == NULL) {
        return JIT_GEMM_ERR_NO_MEMORY;
    }
    const jit_gemm_status status = jg_nvrtc_find(path, &toolchain->paths);
    if (status != JIT_GEMM_OK) {
        jg_toolchain_destroy(toolchain);
        return status;
    }
    *ret_toolchain = toolchain;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_toolchain_create_with(struct jg_compiler *compiler,
                                         struct jg_toolchain **ret_toolchain)
{
    struct jg_toolchain *toolchain = create_empty_toolchain();
    if (toolchain == NULL) {
        if (compiler != NULL) {
            compiler->destroy(compiler);
        }
        return JIT_GEMM_ERR_NO_MEMORY;
    }
    toolchain->compiler = compiler;
    *ret_toolchain = toolchain;
    return JIT_GEMM_OK;
}

void jg_toolchain_destroy(struct jg_toolchain *toolchain)
{
    if (toolchain == NULL) {
        return;
    }
    if (toolchain->compiler != NULL) {
        toolchain->compiler->destroy(toolchain->compiler);
    }
    jg_nvjitlink_close(&toolchain->linker);
    jg_library_paths_free(&toolchain->paths);
    jg_str_free(&toolchain->recorded_signature);
    pthread_mutex_destroy(&toolchain->mutex);
    jg_free(toolchain);
}

/* ---------------------------------------------------------------------------- search */

/* The record by fingerprint says "usable <signature>" or "unusable <reason>". */
static const char usable_word[] = "usable ";
static const char unusable_word[] = "unusable ";

/* Material of a path's record; empty if the path is no file. */
static void print_file_material(const char *path, struct jg_str *out)
{
    struct jg_str fingerprint = {0};
    if (jg_library_paths_fingerprint(path, &fingerprint)) {
        jg_str_printf(out, "jit_gemm toolchain fingerprint\nlibrary=%s\nminimum=%d\n",
                      JG_LIBRARY_VERSION, JG_NVRTC_MIN_VERSION);
        jg_str_puts(out, "options=");
        jg_compiler_nvrtc_options(0, out);
        jg_str_printf(out, "\nfile: %s\n", jg_str_text(&fingerprint));
        out->failed |= fingerprint.failed;
    }
    jg_str_free(&fingerprint);
}

static void write_file_record(struct jg_cache *cache, struct jg_log *log,
                              const struct jg_str *material, const char *word,
                              const char *text)
{
    struct jg_str record = {0};
    jg_str_printf(&record, "%s%s", word, text);
    if (material->size > 0 && !record.failed) {
        write_record(cache, log, material, record.data);
    }
    jg_str_free(&record);
}

/* What the search at one path came to. */
enum path_result { PATH_USED, PATH_PASSED, PATH_FAILED };

/* Opens the library at a path and notes what it is. */
static enum path_result open_path(struct jg_toolchain *toolchain, const char *path,
                                  struct jg_cache *cache, struct jg_log *log,
                                  const struct jg_str *material, struct jg_str *reasons)
{
    struct jg_nvrtc *nvrtc = NULL;
    struct jg_str reason = {0};
    const enum jg_nvrtc_open_result result = jg_nvrtc_open(path, &nvrtc, &reason);
    enum path_result used = PATH_PASSED;
    if (result == JG_NVRTC_OPENED) {
        used = PATH_FAILED;
        if (jg_compiler_nvrtc_create(nvrtc, &toolchain->compiler) == JIT_GEMM_OK) {
            used = PATH_USED;
            write_file_record(cache, log, material, usable_word,
                              toolchain->compiler->signature);
            jg_log_line(log, JIT_GEMM_SEVERITY_DEBUG, "opened %s: %s",
                        toolchain->compiler->path, toolchain->compiler->signature);
        }
    } else if (result == JG_NVRTC_NO_MEMORY || reason.failed) {
        jg_fail_memory();
        used = PATH_FAILED;
    } else {
        if (result == JG_NVRTC_TOO_OLD) {
            write_file_record(cache, log, material, unusable_word, jg_str_text(&reason));
        }
        jg_str_printf(reasons, "%s%s", reasons->size > 0 ? "; " : "", jg_str_text(&reason));
    }
    jg_str_free(&reason);
    return used;
}

static enum path_result try_path(struct jg_toolchain *toolchain, const char *path,
                                 bool need_compiler, struct jg_cache *cache,
                                 struct jg_log *log, struct jg_str *reasons)
{
    struct jg_str material = {0};
    struct jg_str record = {0};
    print_file_material(path, &material);
    enum path_result used = PATH_PASSED;
    const bool is_noted =
        cache != NULL && material.size > 0 && read_record(cache, &material, &record);
    if (is_noted && strncmp(record.data, unusable_word, strlen(unusable_word)) == 0) {
        jg_str_printf(reasons, "%s%s", reasons->size > 0 ? "; " : "",
                      record.data + strlen(unusable_word));
    } else if (is_noted && !need_compiler &&
               strncmp(record.data, usable_word, strlen(usable_word)) == 0) {
        jg_str_puts(&toolchain->recorded_signature, record.data + strlen(usable_word));
        used = PATH_USED;
        if (toolchain->recorded_signature.failed) {
            jg_str_free(&toolchain->recorded_signature);
            jg_fail_memory();
            used = PATH_FAILED;
        }
    } else {
        used = open_path(toolchain, path, cache, log, &material, reasons);
    }
    jg_str_free(&material);
    jg_str_free(&record);
    return used;
}

static enum path_result search_paths(struct jg_toolchain *toolchain, bool need_compiler,
                                     struct jg_cache *cache, struct jg_log *log,
                                     struct jg_str *reasons)
{
    for (size_t i = 0; i < toolchain->paths.count; i++) {
        const enum path_result used = try_path(toolchain, toolchain->paths.paths[i],
                                               need_compiler, cache, log, reasons);
        if (used != PATH_PASSED) {
            toolchain->used_path = i;
            return used;
        }
    }
    return PATH_PASSED;
}

const char *jg_toolchain_signature(struct jg_toolchain *toolchain, struct jg_cache *cache,
                                   struct jg_log *log)
{
    struct jg_str reasons = {0};
    const char *signature = NULL;
    pthread_mutex_lock(&toolchain->mutex);
    if (toolchain->compiler == NULL && toolchain->recorded_signature.size == 0 &&
        !toolchain->is_absent) {
        const enum path_result used = search_paths(toolchain, false, cache, log, &reasons);
        toolchain->is_absent = used == PATH_PASSED;
        if (toolchain->is_absent) {
            jg_log_line(log, JIT_GEMM_SEVERITY_DEBUG, "no usable NVRTC: %s",
                        jg_str_text(&reasons));
        }
    }
    if (toolchain->compiler != NULL) {
        signature = toolchain->compiler->signature;
    } else if (toolchain->recorded_signature.size > 0) {
        signature = toolchain->recorded_signature.data;
    }
    pthread_mutex_unlock(&toolchain->mutex);
    jg_str_free(&reasons);
    return signature;
}

bool jg_toolchain_is_absent(struct jg_toolchain *toolchain)
{
    pthread_mutex_lock(&toolchain->mutex);
    const bool is_absent = toolchain->compiler == NULL && toolchain->is_absent;
    pthread_mutex_unlock(&toolchain->mutex);
    return is_absent;
}

static jit_gemm_status fail_without_compiler(const struct jg_toolchain *toolchain,
                                             const struct jg_str *reasons)
{
    if (toolchain->paths.count == 0 && toolchain->paths.searched.size == 0) {
        return jg_fail_system(JIT_GEMM_ERR_NO_COMPILER, "NVRTC", "",
                              "this context was made without a compiler");
    }
    return jg_fail_system(
        JIT_GEMM_ERR_NO_COMPILER, "NVRTC",
        "install NVRTC (CUDA 12.9 or newer), or set JIT_GEMM_NVRTC to its libnvrtc.so",
        "the kernel must be compiled, and no usable compiler library was found (%s); "
        "looked in %s",
        reasons->size > 0 ? jg_str_text(reasons) : "there is none",
        jg_str_text(&toolchain->paths.searched));
}

jit_gemm_status jg_toolchain_compiler(struct jg_toolchain *toolchain,
                                      struct jg_cache *cache, struct jg_log *log,
                                      struct jg_compiler **ret_compiler)
{
    struct jg_str reasons = {0};
    jit_gemm_status status = JIT_GEMM_OK;
    pthread_mutex_lock(&toolchain->mutex);
    if (toolchain->compiler == NULL) {
        switch (search_paths(toolchain, true, cache, log, &reasons)) {
        case PATH_USED:
            break;
        case PATH_FAILED:
            status = jg_error_status(); /* recorded where it happened */
            break;
        case PATH_PASSED:
            status = fail_without_compiler(toolchain, &reasons);
            break;
        }
    }
    if (status == JIT_GEMM_OK) {
        *ret_compiler = toolchain->compiler;
    }
    pthread_mutex_unlock(&toolchain->mutex);
    jg_str_free(&reasons);
    return status;
}

jit_gemm_status jg_toolchain_describe(struct jg_toolchain *toolchain,
                                      struct jg_cache *cache, struct jg_str *out,
                                      int *ret_version)
{
    struct jg_compiler *compiler = NULL;
    const jit_gemm_status status = jg_toolchain_compiler(toolchain, cache, NULL, &compiler);
    if (status != JIT_GEMM_OK) {
        jg_str_puts(out, jg_error_text());
        return status;
    }
    jg_str_printf(out, "%s (%s)", compiler->signature,
                  compiler->path[0] != '\0' ? compiler->path : "built in");
    *ret_version = compiler->version;
    return JIT_GEMM_OK;
}

/* Called with the mutex held. Looked for beside the compiler whose code it is to read: one
 * of an older toolkit that the search has passed may not know that. */
static jit_gemm_status open_linker(struct jg_toolchain *toolchain, struct jg_str *reasons)
{
    if (toolchain->linker.version != 0) {
        return JIT_GEMM_OK;
    }
    const char *beside =
        toolchain->paths.count > 0 ? toolchain->paths.paths[toolchain->used_path] : NULL;
    return jg_nvjitlink_open(beside, &toolchain->linker, reasons);
}

jit_gemm_status jg_toolchain_linker(struct jg_toolchain *toolchain,
                                    const struct jg_nvjitlink **ret_linker)
{
    struct jg_str reasons = {0};
    pthread_mutex_lock(&toolchain->mutex);
    jit_gemm_status status = open_linker(toolchain, &reasons);
    pthread_mutex_unlock(&toolchain->mutex);
    if (status == JIT_GEMM_OK) {
        *ret_linker = &toolchain->linker;
    } else if (status == JIT_GEMM_ERR_NO_COMPILER) {
        status = jg_fail_system(
            JIT_GEMM_ERR_NO_COMPILER, "nvJitLink",
            "install nvJitLink (CUDA 12.9 or newer) beside NVRTC, or give the epilogue as "
            "PTX, which needs no linker",
            "an epilogue in LTO-IR must be linked, and no usable nvJitLink was found "
            "(tried: %s)",
            jg_str_text(&reasons));
    }
    jg_str_free(&reasons);
    return status;
}

jit_gemm_status jg_toolchain_linked_signature(struct jg_toolchain *toolchain,
                                              const char *compiler_signature,
                                              struct jg_str *out)
{
    const struct jg_nvjitlink *linker = NULL;
    JG_TRY(jg_toolchain_linker(toolchain, &linker));
    jg_str_printf(out, "%s; -dlto; nvjitlink %s; ", compiler_signature, linker->identity);
    jg_nvjitlink_options(out);
    return jg_str_status(out);
}

void jg_toolchain_describe_linker(struct jg_toolchain *toolchain, struct jg_str *out)
{
    struct jg_str reasons = {0};
    pthread_mutex_lock(&toolchain->mutex);
    const jit_gemm_status status = open_linker(toolchain, &reasons);
    pthread_mutex_unlock(&toolchain->mutex);
    const struct jg_nvjitlink *linker = &toolchain->linker; /* never changes once open */
    if (status == JIT_GEMM_OK) {
        jg_str_printf(out, "nvjitlink %d.%d (%s)", linker->version / 1000,
                      linker->version % 1000 / 10, jg_str_text(&linker->path));
    } else {
        jg_str_printf(out, "none: nvJitLink 12.9 or newer was not found (tried: %s)",
                      jg_str_text(&reasons));
    }
    jg_str_free(&reasons);
}
