/* SPDX-License-Identifier: MIT */
#include "api/context_cache.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"

/* Tens of thousands of kernels. */
#define DEFAULT_CACHE_LIMIT (UINT64_C(4) << 30)

enum { KEY_DIGITS = JG_CACHE_KEY_TEXT_SIZE - 1 };

jit_gemm_status jg_cache_root_check(const char *path, const char *where)
{
    if (path == NULL || path[0] != '/') {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "give an absolute path",
                       "'%s' is not an absolute path", path != NULL ? path : "(NULL)");
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_cache_options_check(const jit_gemm_context_options *options)
{
    if (options->cache_dir != NULL && options->cache_dir[0] != '/') {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.cache_dir",
                       "give an absolute path, or NULL for the usual place",
                       "'%s' is not an absolute path", options->cache_dir);
    }
    if (options->cache_roots == NULL && options->cache_root_count > 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.cache_roots",
                       "give an array of options.cache_root_count paths", "is NULL");
    }
    if (options->cache_keys == NULL && options->cache_key_count > 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "options.cache_keys",
                       "give options.cache_key_count keys of 32 bytes", "is NULL");
    }
    for (size_t i = 0; i < options->cache_root_count; i++) {
        char where[64];
        snprintf(where, sizeof(where), "options.cache_roots[%zu]", i);
        JG_TRY(jg_cache_root_check(options->cache_roots[i], where));
    }
    return JIT_GEMM_OK;
}

/* Bytes of "512m": k, m and g are powers of 1024. */
static bool read_bytes(const char *text, uint64_t *ret_bytes)
{
    static const char letters[] = "kmg";
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    const char *letter =
        *end != '\0' ? strchr(letters, tolower((unsigned char)*end)) : NULL;
    const unsigned shift = letter != NULL ? 10 * (unsigned)(letter - letters + 1) : 0;
    if (!isdigit((unsigned char)text[0]) || errno != 0 || number == 0 ||
        end[letter != NULL ? 1 : 0] != '\0' || number > UINT64_MAX >> shift) {
        return false;
    }
    *ret_bytes = (uint64_t)number << shift;
    return true;
}

/* In the cache's own terms: 0 is no limit. */
static jit_gemm_status find_cache_limit(const jit_gemm_context_options *options,
                                        uint64_t *ret_limit)
{
    const char *text = jg_env_get(JG_ENV_CACHE_LIMIT);
    uint64_t limit = DEFAULT_CACHE_LIMIT;
    if (options->cache_limit != 0) {
        limit = options->cache_limit;
    } else if (text != NULL && strcmp(text, "none") == 0) {
        limit = UINT64_MAX;
    } else if (text != NULL && !read_bytes(text, &limit)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, jg_env_name(JG_ENV_CACHE_LIMIT),
                       "give bytes, such as 512m or 4g, or none", "'%s' is no size", text);
    }
    *ret_limit = limit == UINT64_MAX ? 0 : limit;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_cache_folder_open(const jit_gemm_context_options *options,
                                     struct jg_cache **ret_cache, char *reason,
                                     size_t reason_size)
{
    jg_cache_options cache_options = {.folder = options->cache_dir,
                                      .environment = jg_env_get(JG_ENV_CACHE_DIR)};
    JG_TRY(find_cache_limit(options, &cache_options.max_bytes));
    (void)jg_cache_open(&cache_options, ret_cache, reason, reason_size);
    return JIT_GEMM_OK;
}

/* Paths with colons between them; an empty one is none. */
static jit_gemm_status add_roots_of_text(struct jg_roots *roots, const char *text,
                                         struct jg_log *log)
{
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        jit_gemm_status status = JIT_GEMM_OK;
        if (length > 0) {
            char *path = jg_copy_text(at, length);
            status =
                path != NULL ? jg_roots_add(roots, path, false, log) : jg_fail_memory();
            jg_free(path);
        }
        JG_TRY(status);
        at += length + (at[length] == ':');
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status add_roots(const jit_gemm_context_options *options,
                                 struct jg_roots *roots, struct jg_log *log)
{
    if (options->cache_roots == NULL) {
        const char *text = jg_env_get(JG_ENV_CACHE_ROOTS);
        return text != NULL && !options->no_cache ? add_roots_of_text(roots, text, log)
                                                  : JIT_GEMM_OK;
    }
    for (size_t i = 0; i < options->cache_root_count; i++) {
        JG_TRY(jg_roots_add(roots, options->cache_roots[i], false, log));
    }
    return JIT_GEMM_OK;
}

/* `keys` has room for as many as the text can hold. */
static jit_gemm_status read_keys(const char *text, size_t room, jg_cache_public_key *keys,
                                 size_t *ret_count)
{
    size_t count = 0;
    const size_t wrong = jg_cache_keys_read(text, keys, room, &count);
    if (wrong > 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, jg_env_name(JG_ENV_CACHE_KEYS),
                       "give public keys of 64 hexadecimal digits, with colons between "
                       "them",
                       "entry %zu is no key", wrong);
    }
    if (count == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, jg_env_name(JG_ENV_CACHE_KEYS),
                       "give public keys of 64 hexadecimal digits, or unset it",
                       "there is no key in it");
    }
    *ret_count = count;
    return JIT_GEMM_OK;
}

static jit_gemm_status find_least_serial(const jit_gemm_context_options *options,
                                         struct jg_root_signers *signers)
{
    const char *text = jg_env_get(JG_ENV_CACHE_LEAST_SERIAL);
    const char *where = "options.cache_least_serial";
    signers->least_serial = options->cache_least_serial;
    if (options->cache_least_serial == 0 && text != NULL) {
        where = jg_env_name(JG_ENV_CACHE_LEAST_SERIAL);
        if (!jg_cache_serial_read(text, &signers->least_serial)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "give a whole number from 0 up",
                           "'%s' is no serial number", text);
        }
    }
    if (signers->least_serial > 0 && signers->key_count == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       "give the keys that sign, by options.cache_keys or "
                       "JIT_GEMM_CACHE_KEYS",
                       "a serial number means nothing without a signature");
    }
    return JIT_GEMM_OK;
}

/* The list of roots, still empty; `room` is for `most_keys` keys of the environment. */
static jit_gemm_status create_roots(const jit_gemm_context_options *options,
                                    jg_cache_public_key *room, size_t most_keys,
                                    struct jg_roots **ret_roots)
{
    struct jg_root_signers signers = {.keys = room};
    const char *text = jg_env_get(JG_ENV_CACHE_KEYS);
    if (options->cache_keys != NULL) {
        signers.keys = (const jg_cache_public_key *)options->cache_keys;
        signers.key_count = options->cache_key_count;
    } else if (text != NULL) {
        JG_TRY(read_keys(text, most_keys, room, &signers.key_count));
    }
    JG_TRY(find_least_serial(options, &signers));
    struct jg_roots *roots = jg_roots_create(&signers);
    if (roots == NULL) {
        return jg_error_status();
    }
    *ret_roots = roots;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_cache_roots_open(const jit_gemm_context_options *options,
                                    struct jg_log *log, struct jg_roots **ret_roots)
{
    const char *text = jg_env_get(JG_ENV_CACHE_KEYS);
    const size_t most_keys = (text != NULL ? strlen(text) : 0) / KEY_DIGITS + 1;
    jg_cache_public_key *room = jg_alloc(most_keys * sizeof(*room));
    struct jg_roots *roots = NULL;
    if (room == NULL) {
        return jg_fail_memory();
    }
    jit_gemm_status status = create_roots(options, room, most_keys, &roots);
    jg_free(room);
    if (status == JIT_GEMM_OK) {
        status = add_roots(options, roots, log);
    }
    if (status != JIT_GEMM_OK) {
        jg_roots_destroy(roots);
        return status;
    }
    *ret_roots = roots;
    return JIT_GEMM_OK;
}
