/* SPDX-License-Identifier: MIT */
#include "runtime/table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/thread.h"

enum entry_state { ENTRY_BUILDING, ENTRY_READY, ENTRY_FAILED };

/* In the table while building and ready; a failed one is taken out at once and
 * lives until the last thread that waited has read its error. */
struct jg_table_entry {
    struct jg_table_entry *next; /* in the bucket */
    struct jg_hash hash;
    enum entry_state state;
    int waiters;
    struct jg_kernel *kernel;          /* counted; READY */
    jit_gemm_status status;            /* FAILED */
    jit_gemm_diagnostics *diagnostics; /* FAILED; NULL if memory ran out */
    size_t key_size;
    unsigned char key[];
};

struct jg_table {
    jg_mutex mutex;
    jg_condition changed; /* some entry left BUILDING */
    struct jg_table_entry **buckets;
    size_t bucket_count; /* a power of two */
    size_t entry_count;
    int waiters;
};

#define FIRST_BUCKET_COUNT 64

struct jg_table *jg_table_create(void)
{
    struct jg_table *table = jg_alloc(sizeof(*table));
    if (table == NULL) {
        return NULL;
    }
    table->bucket_count = FIRST_BUCKET_COUNT;
    table->buckets = jg_alloc_array(table->bucket_count, sizeof(struct jg_table_entry *));
    if (table->buckets == NULL || pthread_mutex_init(&table->mutex, NULL) != 0) {
        goto fail;
    }
    if (pthread_cond_init(&table->changed, NULL) != 0) {
        pthread_mutex_destroy(&table->mutex);
        goto fail;
    }
    return table;

fail:
    jg_free(table->buckets);
    jg_free(table);
    return NULL;
}

static void free_entry(struct jg_table_entry *entry)
{
    jg_kernel_release(entry->kernel);
    jg_diagnostics_destroy(&entry->diagnostics);
    jg_free(entry);
}

void jg_table_destroy(struct jg_table *table)
{
    if (table == NULL) {
        return;
    }
    for (size_t i = 0; i < table->bucket_count; i++) {
        struct jg_table_entry *entry = table->buckets[i];
        while (entry != NULL) {
            struct jg_table_entry *next = entry->next;
            free_entry(entry);
            entry = next;
        }
    }
    pthread_cond_destroy(&table->changed);
    pthread_mutex_destroy(&table->mutex);
    jg_free(table->buckets);
    jg_free(table);
}

static struct jg_table_entry **bucket_of(const struct jg_table *table,
                                         const struct jg_hash *hash)
{
    size_t index = 0;
    memcpy(&index, hash->bytes, sizeof(index));
    return &table->buckets[index & (table->bucket_count - 1)];
}

static struct jg_table_entry *find_entry(const struct jg_table *table,
                                         const struct jg_hash *hash, const void *key,
                                         size_t key_size)
{
    for (struct jg_table_entry *entry = *bucket_of(table, hash); entry != NULL;
         entry = entry->next) {
        if (jg_hash_equal(&entry->hash, hash) && entry->key_size == key_size &&
            memcmp(entry->key, key, key_size) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* More buckets when there are more entries than buckets. Without memory the chains only
 * get longer. */
static void grow_if_crowded(struct jg_table *table)
{
    if (table->entry_count < table->bucket_count) {
        return;
    }
    struct jg_table larger = *table;
    larger.bucket_count = table->bucket_count * 2;
    larger.buckets = jg_alloc_array(larger.bucket_count, sizeof(struct jg_table_entry *));
    if (larger.buckets == NULL) {
        return;
    }
    for (size_t i = 0; i < table->bucket_count; i++) {
        struct jg_table_entry *entry = table->buckets[i];
        while (entry != NULL) {
            struct jg_table_entry *next = entry->next;
            struct jg_table_entry **bucket = bucket_of(&larger, &entry->hash);
            entry->next = *bucket;
            *bucket = entry;
            entry = next;
        }
    }
    jg_free(table->buckets);
    table->buckets = larger.buckets;
    table->bucket_count = larger.bucket_count;
}

static struct jg_table_entry *insert_entry(struct jg_table *table,
                                           const struct jg_hash *hash, const void *key,
                                           size_t key_size)
{
    struct jg_table_entry *entry = jg_alloc(sizeof(*entry) + key_size);
    if (entry == NULL) {
        return NULL;
    }
    entry->hash = *hash;
    entry->state = ENTRY_BUILDING;
    entry->key_size = key_size;
    memcpy(entry->key, key, key_size);
    grow_if_crowded(table);
    struct jg_table_entry **bucket = bucket_of(table, hash);
    entry->next = *bucket;
    *bucket = entry;
    table->entry_count++;
    return entry;
}

static void remove_entry(struct jg_table *table, struct jg_table_entry *entry)
{
    struct jg_table_entry **link = bucket_of(table, &entry->hash);
    while (*link != entry) {
        link = &(*link)->next;
    }
    *link = entry->next;
    table->entry_count--;
}

/* Called with the mutex held; it is held again at the end. No kernel with OK: the build was
 * cancelled, and who waited was not. */
static jit_gemm_status wait_for_build(struct jg_table *table, struct jg_table_entry *entry,
                                      const struct jg_stop *stop,
                                      struct jg_kernel **ret_kernel)
{
    entry->waiters++;
    table->waiters++;
    while (entry->state == ENTRY_BUILDING) {
        pthread_cond_wait(&table->changed, &table->mutex);
    }
    table->waiters--;
    entry->waiters--;
    if (entry->state == ENTRY_READY) {
        *ret_kernel = jg_kernel_retain(entry->kernel);
        return JIT_GEMM_OK;
    }
    const bool is_for_others =
        entry->status == JIT_GEMM_ERR_CANCELLED && !jg_stop_is_asked(stop);
    const jit_gemm_status status = is_for_others ? JIT_GEMM_OK : entry->status;
    if (is_for_others) {
        /* The thread's last error stays what it was. */
    } else if (entry->diagnostics != NULL) {
        jg_error_restore(status, entry->diagnostics);
    } else {
        jg_fail_system(status, "create", "try again",
                       "the same problem failed on another thread, and there was no memory "
                       "to pass its error on");
    }
    if (entry->waiters == 0) {
        free_entry(entry);
    }
    return status;
}

jit_gemm_status jg_table_acquire(struct jg_table *table, const void *key, size_t key_size,
                                 const struct jg_stop *stop, struct jg_kernel **ret_kernel,
                                 struct jg_table_entry **ret_entry)
{
    const struct jg_hash hash = jg_hash_bytes(key, key_size);
    jit_gemm_status status = JIT_GEMM_OK;
    struct jg_kernel *kernel = NULL;
    struct jg_table_entry *to_build = NULL;
    pthread_mutex_lock(&table->mutex);
    while (status == JIT_GEMM_OK && kernel == NULL && to_build == NULL) {
        struct jg_table_entry *entry = find_entry(table, &hash, key, key_size);
        if (entry == NULL) {
            to_build = insert_entry(table, &hash, key, key_size);
            status = to_build != NULL ? JIT_GEMM_OK : jg_fail_memory();
        } else if (entry->state == ENTRY_READY) {
            kernel = jg_kernel_retain(entry->kernel);
        } else {
            status = wait_for_build(table, entry, stop, &kernel);
        }
    }
    pthread_mutex_unlock(&table->mutex);
    if (status == JIT_GEMM_OK) {
        *ret_kernel = kernel;
        *ret_entry = to_build;
    }
    return status;
}

void jg_table_publish(struct jg_table *table, struct jg_table_entry *entry,
                      struct jg_kernel *kernel)
{
    pthread_mutex_lock(&table->mutex);
    entry->kernel = jg_kernel_retain(kernel);
    entry->state = ENTRY_READY;
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->mutex);
}

void jg_table_abandon(struct jg_table *table, struct jg_table_entry *entry,
                      jit_gemm_status status)
{
    pthread_mutex_lock(&table->mutex);
    remove_entry(table, entry);
    entry->status = status;
    entry->state = ENTRY_FAILED;
    const int waiters = entry->waiters;
    if (waiters > 0 && jg_diagnostics_take(&entry->diagnostics) == JIT_GEMM_OK) {
        jg_error_restore(status, entry->diagnostics);
    }
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->mutex);
    if (waiters == 0) {
        free_entry(entry);
    }
}

int jg_table_waiters(struct jg_table *table)
{
    pthread_mutex_lock(&table->mutex);
    const int waiters = table->waiters;
    pthread_mutex_unlock(&table->mutex);
    return waiters;
}
