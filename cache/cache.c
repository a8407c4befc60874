/* SPDX-License-Identifier: MIT */
/* The front of the cache: open and close, get and put, counters, the NULL cache. */
#include "internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* A put that meets a bad entry, moves it away and finds the name taken again, this often,
 * gives up. */
enum { PUT_TRIES = 8 };

/* A look at what stands under a name. */
struct look {
    struct jg_cache_loaded loaded; /* the good entry that was found; of OK only */
    struct stat seen;
    enum {
        FATE_GOOD, /* nothing, or a good entry */
        FATE_BAD,  /* a bad entry that could not be moved */
        FATE_GONE  /* a bad entry that is in quarantine now */
    } fate;
};

/* A floor that nothing is measured by, and keys for what this open would make or write, are
 * mistakes of the caller. */
static jg_cache_result check_signature_options(const jg_cache_options *options,
                                               const struct jg_cache_why *why)
{
    if (options->least_serial > 0 && options->key_count == 0) {
        jg_cache_say(why, "a least serial number needs the keys that may sign it");
        return JG_CACHE_UNTRUSTED;
    }
    if (options->key_count > 0 && !options->read_only) {
        jg_cache_say(why, "only a bundle has a signature, and it is opened read-only");
        return JG_CACHE_UNTRUSTED;
    }
    return JG_CACHE_OK;
}

jg_cache_result jg_cache_open(const jg_cache_options *options, jg_cache **ret_cache,
                              char *reason, size_t reason_size)
{
    const jg_cache_options defaults = {0};
    const struct jg_cache_why why = jg_cache_begin_reason(reason, reason_size);
    jg_cache *cache = calloc(1, sizeof(*cache));
    if (cache == NULL) {
        jg_cache_say(&why, "no memory for a cache");
        return JG_CACHE_NO_MEMORY;
    }
    if (options == NULL) {
        options = &defaults;
    }
    cache->uid = geteuid();
    cache->read_only = options->read_only;
    cache->no_sync = options->no_sync;
    cache->pid_space = jg_cache_store_pid_space();
    atomic_init(&cache->hits, 0);
    atomic_init(&cache->misses, 0);
    atomic_init(&cache->rejects, 0);
    atomic_init(&cache->stores, 0);
    atomic_init(&cache->store_errors, 0);
    atomic_init(&cache->trimmed, 0);
    cache->max_bytes = options->max_bytes;
    atomic_init(&cache->unseen_bytes, 0);
    int file_fd = -1;
    jg_cache_result result = check_signature_options(options, &why);
    if (result == JG_CACHE_OK) {
        result = jg_cache_dir_open(options, cache, &file_fd, &why);
    }
    if (result == JG_CACHE_OK && file_fd >= 0) {
        result = jg_cache_bundle_open(file_fd, options, &cache->bundle, &why);
    } else if (result == JG_CACHE_OK && options->key_count > 0) {
        jg_cache_say(&why, "a folder has no signature: name a signed bundle");
        result = JG_CACHE_UNTRUSTED;
    }
    if (result != JG_CACHE_OK) {
        jg_cache_dir_close(cache);
        free(cache->folder);
        free(cache);
        return result;
    }
    *ret_cache = cache;
    return JG_CACHE_OK;
}

void jg_cache_close(jg_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    jg_cache_dir_close(cache);
    jg_cache_bundle_close(cache->bundle);
    free(cache->folder);
    free(cache);
}

const char *jg_cache_folder(const jg_cache *cache)
{
    return cache != NULL ? cache->folder : "";
}

bool jg_cache_is_bundle(const jg_cache *cache)
{
    return cache != NULL && cache->bundle != NULL;
}

bool jg_cache_signature(const jg_cache *cache, jg_cache_public_key *ret_key,
                        uint64_t *ret_serial)
{
    return jg_cache_is_bundle(cache) &&
           jg_cache_bundle_signature(cache->bundle, ret_key, ret_serial);
}

jg_cache_name jg_cache_name_of(const void *material, size_t material_size)
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(material, material_size));
    jg_cache_name name;
    memcpy(name.bytes, canonical.digest, sizeof(name.bytes));
    return name;
}

static bool material_equals(const struct jg_cache_loaded *loaded, const jg_cache_key *key)
{
    return loaded->layout.material_bytes == key->material_size &&
           (key->material_size == 0 || memcmp(jg_cache_entry_material(loaded->header),
                                              key->material, key->material_size) == 0);
}

/* OK, or MISMATCH: then the entry, which is good, is released. */
static jg_cache_result compare_material(struct jg_cache_loaded *loaded,
                                        const jg_cache_key *key,
                                        const struct jg_cache_why *why)
{
    if (material_equals(loaded, key)) {
        return JG_CACHE_OK;
    }
    jg_cache_store_release(loaded);
    jg_cache_say(why, "the entry was made from other key material of the same name");
    return JG_CACHE_MISMATCH;
}

static bool is_bad_entry(jg_cache_result result)
{
    return result == JG_CACHE_DAMAGED || result == JG_CACHE_MISMATCH ||
           result == JG_CACHE_UNTRUSTED;
}

/* Loads what stands under the name. A bad entry is moved away; a good one made from other
 * key material is MISMATCH and stays. */
static jg_cache_result look_up(const jg_cache *cache, int shard_fd, const jg_cache_key *key,
                               struct look *ret_look, const struct jg_cache_why *why)
{
    struct look look = {.fate = FATE_GOOD};
    jg_cache_result result = jg_cache_store_load(cache, shard_fd, &key->name, true,
                                                 &look.loaded, &look.seen, why);
    if (is_bad_entry(result)) {
        look.fate = FATE_BAD;
        if (jg_cache_store_quarantine(cache, shard_fd, &key->name, &look.seen)) {
            look.fate = FATE_GONE;
            jg_cache_say_more(why, "; it was moved to quarantine");
        }
    } else if (result == JG_CACHE_OK) {
        result = compare_material(&look.loaded, key, why);
    }
    *ret_look = look;
    return result;
}

bool jg_cache_reject(jg_cache *cache, const jg_cache_name *name)
{
    static const struct jg_cache_why silent = {NULL, 0};
    struct jg_cache_loaded loaded = {0};
    struct stat seen;
    int shard_fd = -1;
    if (cache == NULL || cache->read_only ||
        jg_cache_store_open_shard(cache, name->bytes[0], false, &shard_fd, &silent) !=
            JG_CACHE_OK) {
        return false;
    }
    bool is_gone = false;
    if (jg_cache_store_load(cache, shard_fd, name, false, &loaded, &seen, &silent) !=
        JG_CACHE_MISS) {
        is_gone = jg_cache_store_quarantine(cache, shard_fd, name, &seen);
    }
    jg_cache_store_release(&loaded);
    close(shard_fd);
    return is_gone;
}

/* A hit renews the time by which trimming sorts, at most once an hour; best effort. So does
 * one whose stamp lies in the future, and would count as the oldest. */
static void renew_stamp(const jg_cache *cache, int shard_fd, const jg_cache_name *name,
                        const struct stat *seen)
{
    const time_t age = time(NULL) - seen->st_mtim.tv_sec;
    if (cache->read_only || seen->st_uid != cache->uid ||
        (age <= JG_CACHE_STAMP_INTERVAL_S && age >= -JG_CACHE_STAMP_INTERVAL_S)) {
        return;
    }
    char file[JG_CACHE_FILE_NAME_BYTES];
    jg_cache_store_file_name(name, file);
    (void)utimensat(shard_fd, file, NULL, AT_SYMLINK_NOFOLLOW);
}

/* Hands the parts over; the header's memory becomes the metadata. */
static void take_blob(struct jg_cache_loaded *loaded, jg_cache_blob *ret_blob)
{
    const size_t metadata_size = loaded->layout.metadata_bytes;
    memset(ret_blob, 0, sizeof(*ret_blob));
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

static jg_cache_result find_in_bundle(const jg_cache *cache, const jg_cache_key *key,
                                      jg_cache_blob *ret_blob,
                                      const struct jg_cache_why *why)
{
    struct jg_cache_loaded loaded = {0};
    struct stat seen;
    jg_cache_result result = jg_cache_bundle_load(cache->bundle, jg_cache_dir_fd(cache),
                                                  &key->name, true, &loaded, &seen, why);
    if (result == JG_CACHE_OK) {
        result = compare_material(&loaded, key, why);
    }
    if (result == JG_CACHE_OK) {
        take_blob(&loaded, ret_blob);
    }
    return result;
}

static jg_cache_result find(const jg_cache *cache, const jg_cache_key *key,
                            jg_cache_blob *ret_blob, const struct jg_cache_why *why)
{
    if (cache->bundle != NULL) {
        return find_in_bundle(cache, key, ret_blob, why);
    }
    int shard_fd = -1;
    jg_cache_result result =
        jg_cache_store_open_shard(cache, key->name.bytes[0], false, &shard_fd, why);
    if (result != JG_CACHE_OK) {
        return result;
    }
    struct look look;
    result = look_up(cache, shard_fd, key, &look, why);
    if (result == JG_CACHE_OK) {
        renew_stamp(cache, shard_fd, &key->name, &look.seen);
        take_blob(&look.loaded, ret_blob);
    }
    close(shard_fd);
    return result;
}

jg_cache_result jg_cache_get(jg_cache *cache, const jg_cache_key *key,
                             jg_cache_blob *ret_blob, char *reason, size_t reason_size)
{
    const struct jg_cache_why why = jg_cache_begin_reason(reason, reason_size);
    if (cache == NULL) {
        return JG_CACHE_MISS;
    }
    const jg_cache_result result = find(cache, key, ret_blob, &why);
    if (result == JG_CACHE_OK) {
        atomic_fetch_add(&cache->hits, 1);
    } else if (result == JG_CACHE_MISS) {
        atomic_fetch_add(&cache->misses, 1);
    } else {
        atomic_fetch_add(&cache->rejects, 1);
    }
    return result;
}

jg_cache_result jg_cache_load(const jg_cache *cache, const jg_cache_name *name,
                              bool payload, struct jg_cache_loaded *ret_loaded,
                              const struct jg_cache_why *why)
{
    struct stat seen;
    if (cache->bundle != NULL) {
        return jg_cache_bundle_load(cache->bundle, jg_cache_dir_fd(cache), name, payload,
                                    ret_loaded, &seen, why);
    }
    int shard_fd = -1;
    jg_cache_result result =
        jg_cache_store_open_shard(cache, name->bytes[0], false, &shard_fd, why);
    if (result == JG_CACHE_OK) {
        result =
            jg_cache_store_load(cache, shard_fd, name, payload, ret_loaded, &seen, why);
        close(shard_fd);
    }
    return result;
}

/* What stands under the name, for a put: MISS when the name is free (a bad entry that was
 * there is gone), EXISTS for an equal good entry, else why the put must fail. */
static jg_cache_result clear_name(const jg_cache *cache, int shard_fd,
                                  const jg_cache_key *key, const struct jg_cache_why *why)
{
    struct look look;
    const jg_cache_result result = look_up(cache, shard_fd, key, &look, why);
    if (result == JG_CACHE_OK) {
        jg_cache_store_release(&look.loaded);
        return JG_CACHE_EXISTS;
    }
    if (look.fate == FATE_GONE ||
        (look.fate == FATE_BAD &&
         jg_cache_store_remove(cache, shard_fd, &key->name, &look.seen))) {
        jg_cache_say(why, "%s", "");
        return JG_CACHE_MISS;
    }
    return result;
}

/* The put itself, in an open shard. */
static jg_cache_result put_in_shard(const jg_cache *cache, int shard_fd,
                                    const struct jg_cache_layout *layout,
                                    const jg_cache_key *key, const jg_cache_value *value,
                                    const struct jg_cache_why *why)
{
    unsigned char *header = NULL;
    jg_cache_result result = JG_CACHE_EXISTS;
    for (int i = 0; i < PUT_TRIES; i++) {
        result = clear_name(cache, shard_fd, key, why);
        if (result != JG_CACHE_MISS) {
            break;
        }
        if (header == NULL) {
            header = malloc(layout->header_bytes);
            if (header == NULL) {
                jg_cache_say(why, "no memory for the header of an entry");
                return JG_CACHE_NO_MEMORY;
            }
            jg_cache_entry_encode(layout, key, value, header);
        }
        result = jg_cache_store_publish(cache, shard_fd, &key->name, layout, header,
                                        value->payload, why);
        if (result != JG_CACHE_EXISTS) {
            break;
        }
        jg_cache_say(why, "the name was taken again and again by bad entries");
        result = JG_CACHE_IO;
    }
    free(header);
    return result;
}

static jg_cache_result put(jg_cache *cache, const jg_cache_key *key,
                           const jg_cache_value *value, const struct jg_cache_why *why)
{
    struct jg_cache_layout layout;
    jg_cache_result result = jg_cache_entry_plan(key->material_size, value->metadata_size,
                                                 value->payload_size, &layout, why);
    if (result != JG_CACHE_OK) {
        return result;
    }
    if (cache->read_only) {
        jg_cache_say(why, "the cache was opened read-only");
        return JG_CACHE_IO;
    }
    bool try_again = true;
    while (try_again) {
        int shard_fd = -1;
        result = jg_cache_store_open_shard(cache, key->name.bytes[0], true, &shard_fd, why);
        if (result == JG_CACHE_OK) {
            result = put_in_shard(cache, shard_fd, &layout, key, value, why);
            close(shard_fd);
        }
        try_again = result == JG_CACHE_IO && jg_cache_dir_renew(cache);
    }
    if (result == JG_CACHE_OK) {
        jg_cache_say(why, "%s", ""); /* of a try before */
        jg_cache_trim_after_put(cache, &key->name, layout.total_bytes);
    }
    return result;
}

jg_cache_result jg_cache_put(jg_cache *cache, const jg_cache_key *key,
                             const jg_cache_value *value, char *reason, size_t reason_size)
{
    const struct jg_cache_why why = jg_cache_begin_reason(reason, reason_size);
    if (cache == NULL) {
        jg_cache_say(&why, "no cache folder is open");
        return JG_CACHE_NO_FOLDER;
    }
    const jg_cache_result result = put(cache, key, value, &why);
    if (result == JG_CACHE_OK) {
        atomic_fetch_add(&cache->stores, 1);
    } else if (result != JG_CACHE_EXISTS) {
        atomic_fetch_add(&cache->store_errors, 1);
    }
    return result;
}

void jg_cache_blob_free(jg_cache_blob *blob)
{
    if (blob == NULL) {
        return;
    }
    free(blob->payload);
    free(blob->metadata);
    memset(blob, 0, sizeof(*blob));
}

void jg_cache_get_counts(const jg_cache *cache, jg_cache_counts *ret_counts)
{
    memset(ret_counts, 0, sizeof(*ret_counts));
    if (cache == NULL) {
        return;
    }
    ret_counts->hits = atomic_load(&cache->hits);
    ret_counts->misses = atomic_load(&cache->misses);
    ret_counts->rejects = atomic_load(&cache->rejects);
    ret_counts->stores = atomic_load(&cache->stores);
    ret_counts->store_errors = atomic_load(&cache->store_errors);
    ret_counts->trimmed = atomic_load(&cache->trimmed);
}
