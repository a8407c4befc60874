/* SPDX-License-Identifier: MIT */
#include "compile/roots.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"

enum { REASON_BYTES = 512 };

struct root {
    char *path;             /* owned, as it was given */
    char *reason;           /* owned; why it cannot be used, else NULL */
    struct jg_cache *cache; /* owned; NULL if it cannot be used */
};

struct jg_roots {
    jg_cache_public_key *keys; /* owned, as they were given; never changed */
    size_t key_count;
    uint64_t least_serial;
    jg_mutex mutex;     /* over everything below; a cache stays where it is */
    struct root *items; /* owned */
    uint32_t count;
    jg_cache_name *rejected; /* owned */
    size_t rejected_count;
};

struct jg_roots *jg_roots_create(const struct jg_root_signers *signers)
{
    struct jg_roots *roots = jg_alloc(sizeof(*roots));
    jg_cache_public_key *keys = jg_alloc((signers->key_count + 1) * sizeof(*keys));
    if (roots == NULL || keys == NULL || pthread_mutex_init(&roots->mutex, NULL) != 0) {
        jg_free(roots);
        jg_free(keys);
        jg_fail_memory();
        return NULL;
    }
    if (signers->key_count > 0) {
        memcpy(keys, signers->keys, signers->key_count * sizeof(*keys));
    }
    roots->keys = keys;
    roots->key_count = signers->key_count;
    roots->least_serial = signers->least_serial;
    return roots;
}

static void free_root(struct root *root)
{
    jg_cache_close(root->cache);
    jg_free(root->path);
    jg_free(root->reason);
}

void jg_roots_destroy(struct jg_roots *roots)
{
    if (roots == NULL) {
        return;
    }
    for (uint32_t i = 0; i < roots->count; i++) {
        free_root(&roots->items[i]);
    }
    jg_free(roots->items);
    jg_free(roots->rejected);
    jg_free(roots->keys);
    pthread_mutex_destroy(&roots->mutex);
    jg_free(roots);
}

/* The root's parts are the list's from now on, unless there is no memory. */
static bool append(struct jg_roots *roots, const struct root *root)
{
    pthread_mutex_lock(&roots->mutex);
    struct root *items =
        jg_realloc(roots->items, (roots->count + (size_t)1) * sizeof(*items));
    if (items != NULL) {
        items[roots->count++] = *root;
        roots->items = items;
    }
    pthread_mutex_unlock(&roots->mutex);
    return items != NULL;
}

/* Fills the root; what it holds is the caller's to free, also on failure. */
static jit_gemm_status open_root(const struct jg_roots *roots, const char *path,
                                 bool is_required, struct jg_log *log, struct root *root)
{
    const jg_cache_options options = {.folder = path,
                                      .read_only = true,
                                      .keys = roots->keys,
                                      .key_count = roots->key_count,
                                      .least_serial = roots->least_serial};
    char reason[REASON_BYTES] = "";
    const jg_cache_result result =
        jg_cache_open(&options, &root->cache, reason, sizeof(reason));
    root->path = jg_copy_text(path, strlen(path));
    if (root->path == NULL || result == JG_CACHE_NO_MEMORY) {
        return jg_fail_memory();
    }
    if (result == JG_CACHE_OK) {
        return JIT_GEMM_OK;
    }
    if (is_required) {
        return jg_fail_system(
            JIT_GEMM_ERR_IO, "cache root",
            roots->key_count > 0 ? "name a bundle that one of the trusted keys has signed"
                                 : "name a folder that prewarm has filled, or a bundle",
            "%s cannot be used: %s (%s)", path, reason, jg_cache_result_name(result));
    }
    jg_log_line(log, JIT_GEMM_SEVERITY_WARNING, "cache root %s is not used: %s (%s)", path,
                reason, jg_cache_result_name(result));
    root->reason = jg_copy_text(reason, strlen(reason));
    return root->reason != NULL ? JIT_GEMM_OK : jg_fail_memory();
}

jit_gemm_status jg_roots_add(struct jg_roots *roots, const char *path, bool is_required,
                             struct jg_log *log)
{
    struct root root = {0};
    jit_gemm_status status = open_root(roots, path, is_required, log, &root);
    if (status == JIT_GEMM_OK && !append(roots, &root)) {
        status = jg_fail_memory();
    }
    if (status != JIT_GEMM_OK) {
        free_root(&root);
    }
    return status;
}

uint32_t jg_roots_count(struct jg_roots *roots)
{
    if (roots == NULL) {
        return 0;
    }
    pthread_mutex_lock(&roots->mutex);
    const uint32_t count = roots->count;
    pthread_mutex_unlock(&roots->mutex);
    return count;
}

struct jg_cache *jg_roots_cache(struct jg_roots *roots, uint32_t number)
{
    struct jg_cache *cache = NULL;
    if (roots == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&roots->mutex);
    if (number > 0 && number <= roots->count) {
        cache = roots->items[number - 1].cache;
    }
    pthread_mutex_unlock(&roots->mutex);
    return cache;
}

static bool is_in_rejected(const struct jg_roots *roots, const jg_cache_name *name)
{
    for (size_t i = 0; i < roots->rejected_count; i++) {
        if (memcmp(&roots->rejected[i], name, sizeof(*name)) == 0) {
            return true;
        }
    }
    return false;
}

bool jg_roots_reject(struct jg_roots *roots, const jg_cache_name *name)
{
    pthread_mutex_lock(&roots->mutex);
    bool is_noted = is_in_rejected(roots, name);
    if (!is_noted) {
        jg_cache_name *names =
            jg_realloc(roots->rejected, (roots->rejected_count + 1) * sizeof(*names));
        is_noted = names != NULL;
        if (is_noted) {
            names[roots->rejected_count++] = *name;
            roots->rejected = names;
        }
    }
    pthread_mutex_unlock(&roots->mutex);
    return is_noted;
}

bool jg_roots_is_rejected(struct jg_roots *roots, const jg_cache_name *name)
{
    if (roots == NULL) {
        return false;
    }
    pthread_mutex_lock(&roots->mutex);
    const bool is_rejected = is_in_rejected(roots, name);
    pthread_mutex_unlock(&roots->mutex);
    return is_rejected;
}

static void describe_keys(const struct jg_roots *roots, struct jg_str *out)
{
    for (size_t i = 0; i < roots->key_count; i++) {
        char text[JG_CACHE_KEY_TEXT_SIZE];
        jg_cache_key_print(roots->keys[i].bytes, text);
        jg_str_printf(out, "%s%s", i == 0 ? "cache roots must be signed by: " : " or ",
                      text);
    }
    if (roots->key_count > 0) {
        jg_str_printf(out, ", least serial number %" PRIu64 "\n", roots->least_serial);
    }
}

/* Of a root that is used. */
static void describe_signature(const struct jg_cache *cache, struct jg_str *out)
{
    jg_cache_public_key key;
    uint64_t serial = 0;
    char text[JG_CACHE_KEY_TEXT_SIZE];
    if (jg_cache_signature(cache, &key, &serial)) {
        jg_cache_key_print(key.bytes, text);
        jg_str_printf(out, "signed by %s with serial number %" PRIu64 ", ", text, serial);
    }
}

void jg_roots_describe(struct jg_roots *roots, struct jg_str *out)
{
    if (roots == NULL) {
        return;
    }
    pthread_mutex_lock(&roots->mutex);
    describe_keys(roots, out);
    for (uint32_t i = 0; i < roots->count; i++) {
        const struct root *root = &roots->items[i];
        jg_str_printf(out, "cache root %u: %s", i + 1,
                      root->cache != NULL ? jg_cache_folder(root->cache) : root->path);
        if (root->cache != NULL) {
            jg_str_printf(out, ", %s", jg_cache_is_bundle(root->cache) ? "a bundle, " : "");
            describe_signature(root->cache, out);
            jg_str_printf(out, "read-only, trusted: nobody else may write it\n");
        } else {
            jg_str_printf(out, ", not used: %s\n", root->reason);
        }
    }
    pthread_mutex_unlock(&roots->mutex);
}
