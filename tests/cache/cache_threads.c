/* SPDX-License-Identifier: MIT */
/* Threads on one cache and one bundle: everything at once, for ThreadSanitizer as well. A
 * plain program, because Criterion does not start under it; exits 1 on failure. */
#include "cache_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { N_THREADS = 6, N_KEYS = 16, N_STEPS = 1500 };

static struct fixture shared;
static struct sample keys[N_KEYS];
static jg_cache *bundle; /* has all keys */
static atomic_int failures, gets;

static int look_at(void *user, const jg_cache_entry *entry)
{
    int *bad = user;
    *bad += entry->state != JG_CACHE_OK;
    return 0;
}

static void fail(const char *what, int result, const char *reason)
{
    fprintf(stderr, "FAILED: %s gives %d: %s\n", what, result, reason);
    atomic_fetch_add(&failures, 1);
}

static void *work(void *argument)
{
    unsigned long long seed = *(unsigned *)argument;
    struct fixture mine = shared; /* own place for the reasons; the cache is shared */

    for (int i = 0; i < N_STEPS; i++) {
        unsigned long long r = next_random(&seed);
        const struct sample *s = &keys[(r >> 8) % N_KEYS];
        if (r % 16 == 0 && sample_get(&mine, bundle, s) != JG_CACHE_OK) {
            fail("get from the bundle", 0, mine.reason);
        }
        if (r % 100 < 30) {
            jg_cache_result result = sample_put(&mine, shared.cache, s);
            if (result != JG_CACHE_OK && result != JG_CACHE_EXISTS) {
                fail("put", (int)result, mine.reason);
            }
        } else if (r % 100 < 94) {
            int result = sample_get(&mine, shared.cache, s);
            atomic_fetch_add(&gets, 1);
            if (result != JG_CACHE_OK && result != JG_CACHE_MISS) {
                fail("get", result, mine.reason);
            }
        } else if (r % 100 < 96) {
            int bad = 0;
            if (jg_cache_walk(shared.cache, 1, look_at, &bad) != JG_CACHE_OK || bad > 0) {
                fail("walk", bad, "bad entries or failure");
            }
        } else if (r % 100 < 98) {
            if (jg_cache_trim(shared.cache, 20000, 0, NULL, NULL) != JG_CACHE_OK) {
                fail("trim", 0, "");
            }
        } else {
            jg_cache_counts counts;
            jg_cache_get_counts(shared.cache, &counts);
            if (counts.rejects > 0 || counts.store_errors > 0) {
                fail("counts", (int)counts.rejects, "rejects or store errors");
            }
        }
    }
    return NULL;
}

static void open_bundle(void)
{
    char path[200];
    jg_cache_bundle_writer *writer = NULL;
    const jg_cache_options options = {.folder = path, .read_only = true};
    bool is_good = jg_cache_bundle_begin(&writer) == JG_CACHE_OK;

    snprintf(path, sizeof(path), "%s/keys.jgb", shared.root);
    for (unsigned i = 0; i < N_KEYS && is_good; i++) {
        const struct sample *s = &keys[i];
        const jg_cache_key key = sample_key(s);
        const jg_cache_value value = {s->payload, s->payload_size, s->metadata,
                                      s->metadata_size};
        is_good = jg_cache_bundle_add_value(writer, &key, &value) == JG_CACHE_OK;
    }
    if (!is_good ||
        jg_cache_bundle_write(writer, path, NULL, shared.reason, sizeof(shared.reason)) !=
            JG_CACHE_OK ||
        jg_cache_open(&options, &bundle, shared.reason, sizeof(shared.reason)) !=
            JG_CACHE_OK) {
        fail("the bundle", 0, shared.reason);
    }
    jg_cache_bundle_end(writer);
}

int main(void)
{
    pthread_t threads[N_THREADS];
    unsigned seeds[N_THREADS];
    jg_cache_counts counts;

    fixture_begin(&shared);
    for (unsigned i = 0; i < N_KEYS; i++) {
        keys[i] = sample_make(i % 4, 2000 + 100 * i, 100, 20);
    }
    for (unsigned i = 0; i < N_KEYS; i++) {
        keys[i].name.bytes[15] = (unsigned char)i; /* several keys in one subfolder */
    }
    open_bundle();
    for (unsigned i = 0; i < N_THREADS; i++) {
        seeds[i] = i;
        if (pthread_create(&threads[i], NULL, work, &seeds[i]) != 0) {
            return 99;
        }
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    jg_cache_get_counts(shared.cache, &counts);
    if (counts.hits + counts.misses + counts.rejects != (uint64_t)atomic_load(&gets) ||
        counts.hits == 0 || counts.misses == 0 || counts.stores < 2) {
        fail("counters", (int)counts.hits, "they do not sum to the gets");
    }
    printf("threads: %d gets, %llu hits, %llu misses, %llu stores\n", atomic_load(&gets),
           (unsigned long long)counts.hits, (unsigned long long)counts.misses,
           (unsigned long long)counts.stores);
    jg_cache_get_counts(bundle, &counts);
    if (counts.hits == 0 || counts.misses + counts.rejects > 0) {
        fail("counters of the bundle", (int)counts.hits, "not all of them are hits");
    }
    jg_cache_close(bundle);
    if (count_files(shared.folder, ".tmp") > 0) {
        fail("temporary files", 0, "left over");
    }
    for (unsigned i = 0; i < N_KEYS; i++) {
        sample_free(&keys[i]);
    }
    fixture_end(&shared);
    return atomic_load(&failures) > 0;
}
