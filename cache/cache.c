/* SPDX-License-Identifier: MIT */
/* The front of the cache: open and close, get and put, counters, the NULL cache. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A put that meets a bad entry, moves it away and finds the name taken again, this often,
 * gives up. */
enum { PUT_TRIES = 8 };

/* What stands under a name after a look at it. */
enum fate {
    FATE_GOOD, /* nothing, or a good entry */
    FATE_BAD,  /* a bad entry that could not be moved */
    FATE_GONE  /* a bad entry that is in quarantine now */
};

const char *jg_cache_result_name(jg_cache_result result)
{
    switch (result) {
    case JG_CACHE_OK:
        return "ok";
    case JG_CACHE_MISS:
        return "miss";
    case JG_CACHE_EXISTS:
        return "exists";
    case JG_CACHE_DAMAGED:
        return "damaged";
    case JG_CACHE_MISMATCH:
        return "mismatch";
    case JG_CACHE_UNTRUSTED:
        return "untrusted";
    case JG_CACHE_NO_FOLDER:
        return "no folder";
    case JG_CACHE_IO:
        return "input/output";
    case JG_CACHE_NO_MEMORY:
        return "no memory";
    case JG_CACHE_TOO_LARGE:
        return "too large";
    }
    return "unknown";
}

void jg_cache_say(const struct jg_cache_why *why, const char *format, ...)
{
    va_list args;

    if (!why->text || why->size == 0) {
        return;
    }
    va_start(args, format);
    if (vsnprintf(why->text, why->size, format, args) < 0) {
        why->text[0] = '\0';
    }
    va_end(args);
    for (char *at = why->text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            *at = '?';
        }
    }
}

jg_cache_result jg_cache_say_errno(const struct jg_cache_why *why, int error,
                                   const char *what)
{
    jg_cache_say(why, "cannot %s: %s (errno %d)", what, strerror(error), error);
    return error == ENOMEM ? JG_CACHE_NO_MEMORY : JG_CACHE_IO;
}

/* Begins the reason of a call: empty. */
static struct jg_cache_why take_reason(char *reason, size_t reason_size)
{
    struct jg_cache_why why;

    why.text = reason;
    why.size = reason_size;
    if (reason && reason_size > 0) {
        reason[0] = '\0';
    }
    return why;
}

static void append_reason(const struct jg_cache_why *why, const char *more)
{
    size_t length;

    if (!why->text || why->size == 0) {
        return;
    }
    length = strlen(why->text);
    snprintf(why->text + length, why->size - length, "%s", more);
}

jg_cache_result jg_cache_open(const jg_cache_options *options, jg_cache **ret_cache,
                              char *reason, size_t reason_size)
{
    const jg_cache_options defaults = {0};
    const struct jg_cache_why why = take_reason(reason, reason_size);
    jg_cache *cache = calloc(1, sizeof *cache);
    jg_cache_result result;

    if (!cache) {
        jg_cache_say(&why, "no memory for a cache");
        return JG_CACHE_NO_MEMORY;
    }
    if (!options) {
        options = &defaults;
    }
    cache->uid = geteuid();
    cache->read_only = options->read_only != 0;
    cache->no_sync = options->no_sync != 0;
    cache->place = jg_cache_store_place();
    atomic_init(&cache->hits, 0);
    atomic_init(&cache->misses, 0);
    atomic_init(&cache->rejects, 0);
    atomic_init(&cache->stores, 0);
    atomic_init(&cache->store_errors, 0);
    result =
        jg_cache_dir_open(options, cache->uid, &cache->folder, &cache->folder_fd, &why);
    if (result == JG_CACHE_OK) {
        *ret_cache = cache;
    } else {
        free(cache);
    }
    return result;
}

void jg_cache_close(jg_cache *cache)
{
    if (!cache) {
        return;
    }
    close(cache->folder_fd);
    free(cache->folder);
    free(cache);
}

const char *jg_cache_folder(const jg_cache *cache)
{
    return cache ? cache->folder : "";
}

static int material_equals(const struct jg_cache_loaded *loaded, const void *material,
                           size_t material_size)
{
    return loaded->layout.material_bytes == material_size &&
           (material_size == 0 ||
            memcmp(jg_cache_entry_material(loaded->header), material, material_size) == 0);
}

static int is_bad_entry(jg_cache_result result)
{
    return result == JG_CACHE_DAMAGED || result == JG_CACHE_MISMATCH ||
           result == JG_CACHE_UNTRUSTED;
}

/* Loads what stands under the name. A bad entry is moved away; a good one made from other
 * key material is MISMATCH and stays. `*ret_fate` tells what became of a bad one. */
static jg_cache_result load_matching(const jg_cache *cache, int shard_fd,
                                     const jg_cache_name *name, const void *material,
                                     size_t material_size,
                                     struct jg_cache_loaded *ret_loaded,
                                     struct stat *ret_seen, enum fate *ret_fate,
                                     const struct jg_cache_why *why)
{
    jg_cache_result result =
        jg_cache_store_load(cache, shard_fd, name, 1, ret_loaded, ret_seen, why);

    *ret_fate = FATE_GOOD;
    if (is_bad_entry(result)) {
        *ret_fate = FATE_BAD;
        if (jg_cache_store_quarantine(cache, shard_fd, name, ret_seen)) {
            *ret_fate = FATE_GONE;
            append_reason(why, "; it was moved to quarantine");
        }
    } else if (result == JG_CACHE_OK &&
               !material_equals(ret_loaded, material, material_size)) {
        jg_cache_store_release(ret_loaded);
        jg_cache_say(why, "the entry was made from other key material of the same name");
        result = JG_CACHE_MISMATCH;
    }
    return result;
}

/* A hit renews the time by which trimming sorts, at most once an hour; best effort. */
static void renew_stamp(const jg_cache *cache, int shard_fd, const jg_cache_name *name,
                        const struct stat *seen)
{
    char file[JG_CACHE_FILE_NAME_BYTES];

    if (cache->read_only || seen->st_uid != cache->uid ||
        time(NULL) - seen->st_mtim.tv_sec <= JG_CACHE_STAMP_INTERVAL_S) {
        return;
    }
    jg_cache_store_file_name(name, file);
    (void)utimensat(shard_fd, file, NULL, AT_SYMLINK_NOFOLLOW);
}

/* Hands the parts over; the header's memory becomes the metadata. */
static void take_blob(struct jg_cache_loaded *loaded, jg_cache_blob *ret_blob)
{
    size_t metadata_size = loaded->layout.metadata_bytes;

    memset(ret_blob, 0, sizeof *ret_blob);
    ret_blob->payload = loaded->payload;
    ret_blob->payload_size = (size_t)loaded->layout.payload_bytes;
    if (metadata_size > 0) {
        memmove(loaded->header, jg_cache_entry_metadata(loaded->header, &loaded->layout),
                metadata_size);
        ret_blob->metadata = loaded->header;
        ret_blob->metadata_size = metadata_size;
    } else {
        free(loaded->header);
    }
}

jg_cache_result jg_cache_get(jg_cache *cache, const jg_cache_name *name,
                             const void *material, size_t material_size,
                             jg_cache_blob *ret_blob, char *reason, size_t reason_size)
{
    const struct jg_cache_why why = take_reason(reason, reason_size);
    struct jg_cache_loaded loaded = {0};
    struct stat seen;
    jg_cache_result result;
    enum fate fate;
    int shard_fd = -1;

    if (!cache) {
        return JG_CACHE_MISS;
    }
    result = jg_cache_store_open_shard(cache, name->bytes[0], 0, &shard_fd, &why);
    if (result == JG_CACHE_OK) {
        result = load_matching(cache, shard_fd, name, material, material_size, &loaded,
                               &seen, &fate, &why);
        if (result == JG_CACHE_OK) {
            renew_stamp(cache, shard_fd, name, &seen);
        }
        close(shard_fd);
    }
    if (result == JG_CACHE_OK) {
        take_blob(&loaded, ret_blob);
        atomic_fetch_add(&cache->hits, 1);
    } else if (result == JG_CACHE_MISS) {
        atomic_fetch_add(&cache->misses, 1);
    } else {
        atomic_fetch_add(&cache->rejects, 1);
    }
    return result;
}

/* What stands under the name, for a put: MISS when the name is free (a bad entry that was
 * there is gone), EXISTS for an equal good entry, else why the put must fail. */
static jg_cache_result clear_name(const jg_cache *cache, int shard_fd,
                                  const jg_cache_name *name, const void *material,
                                  size_t material_size, const struct jg_cache_why *why)
{
    struct jg_cache_loaded loaded = {0};
    struct stat seen;
    enum fate fate;
    jg_cache_result result = load_matching(cache, shard_fd, name, material, material_size,
                                           &loaded, &seen, &fate, why);

    if (result == JG_CACHE_OK) {
        jg_cache_store_release(&loaded);
        result = JG_CACHE_EXISTS;
    } else if (fate == FATE_GONE ||
               (fate == FATE_BAD && jg_cache_store_remove(cache, shard_fd, name, &seen))) {
        jg_cache_say(why, "%s", "");
        result = JG_CACHE_MISS;
    }
    return result;
}

/* The put itself, in an open shard. */
static jg_cache_result put_in_shard(const jg_cache *cache, int shard_fd,
                                    const jg_cache_name *name,
                                    const struct jg_cache_layout *layout,
                                    const void *material, const void *metadata,
                                    const void *payload, const struct jg_cache_why *why)
{
    unsigned char *header = NULL;
    jg_cache_result result = JG_CACHE_EXISTS;

    for (int i = 0; i < PUT_TRIES; i++) {
        result = clear_name(cache, shard_fd, name, material, layout->material_bytes, why);
        if (result != JG_CACHE_MISS) {
            break;
        }
        if (!header) {
            header = malloc(layout->header_bytes);
            if (!header) {
                jg_cache_say(why, "no memory for the header of an entry");
                return JG_CACHE_NO_MEMORY;
            }
            jg_cache_entry_encode(layout, name, material, metadata, payload, header);
        }
        result =
            jg_cache_store_publish(cache, shard_fd, name, layout, header, payload, why);
        if (result != JG_CACHE_EXISTS) {
            break;
        }
        jg_cache_say(why, "the name was taken again and again by bad entries");
        result = JG_CACHE_IO;
    }
    free(header);
    return result;
}

jg_cache_result jg_cache_put(jg_cache *cache, const jg_cache_name *name,
                             const void *material, size_t material_size,
                             const void *metadata, size_t metadata_size,
                             const void *payload, size_t payload_size, char *reason,
                             size_t reason_size)
{
    const struct jg_cache_why why = take_reason(reason, reason_size);
    struct jg_cache_layout layout;
    jg_cache_result result;
    int shard_fd = -1;

    if (!cache) {
        jg_cache_say(&why, "no cache folder is open");
        return JG_CACHE_NO_FOLDER;
    }
    result = jg_cache_entry_plan(material_size, metadata_size, payload_size, &layout, &why);
    if (result == JG_CACHE_OK && cache->read_only) {
        jg_cache_say(&why, "the cache was opened read-only");
        result = JG_CACHE_IO;
    }
    if (result == JG_CACHE_OK) {
        result = jg_cache_store_open_shard(cache, name->bytes[0], 1, &shard_fd, &why);
    }
    if (result == JG_CACHE_OK) {
        result =
            put_in_shard(cache, shard_fd, name, &layout, material, metadata, payload, &why);
        close(shard_fd);
    }
    if (result == JG_CACHE_OK) {
        atomic_fetch_add(&cache->stores, 1);
    } else if (result != JG_CACHE_EXISTS) {
        atomic_fetch_add(&cache->store_errors, 1);
    }
    return result;
}

void jg_cache_blob_free(jg_cache_blob *blob)
{
    if (!blob) {
        return;
    }
    free(blob->payload);
    free(blob->metadata);
    memset(blob, 0, sizeof *blob);
}

void jg_cache_get_counts(const jg_cache *cache, jg_cache_counts *ret_counts)
{
    memset(ret_counts, 0, sizeof *ret_counts);
    if (!cache) {
        return;
    }
    ret_counts->hits = atomic_load(&cache->hits);
    ret_counts->misses = atomic_load(&cache->misses);
    ret_counts->rejects = atomic_load(&cache->rejects);
    ret_counts->stores = atomic_load(&cache->stores);
    ret_counts->store_errors = atomic_load(&cache->store_errors);
}
