/* SPDX-License-Identifier: MIT */
#include "api/record.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/thread.h"

struct record_item {
    struct jg_hash hash;
    char *text; /* owned */
};

struct jg_record {
    jg_mutex mutex;
    struct record_item *items;
    size_t count, capacity;
};

struct jg_record *jg_record_create(void)
{
    struct jg_record *record = jg_alloc(sizeof(*record));
    if (record == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&record->mutex, NULL) != 0) {
        jg_free(record);
        return NULL;
    }
    return record;
}

void jg_record_destroy(struct jg_record *record)
{
    if (record == NULL) {
        return;
    }
    for (size_t i = 0; i < record->count; i++) {
        jg_free(record->items[i].text);
    }
    jg_free(record->items);
    pthread_mutex_destroy(&record->mutex);
    jg_free(record);
}

/* A linear look at the hashes: a text is added when a kernel was built or loaded, which
 * costs a thousand times more. */
static bool has_text(const struct jg_record *record, const struct jg_hash *hash,
                     const char *text)
{
    for (size_t i = 0; i < record->count; i++) {
        if (jg_hash_equal(&record->items[i].hash, hash) &&
            strcmp(record->items[i].text, text) == 0) {
            return true;
        }
    }
    return false;
}

static bool append_text(struct jg_record *record, const struct jg_hash *hash,
                        const char *text)
{
    if (record->count == record->capacity) {
        const size_t capacity = record->capacity > 0 ? record->capacity * 2 : 16;
        struct record_item *items =
            jg_realloc(record->items, capacity * sizeof(struct record_item));
        if (items == NULL) {
            return false;
        }
        record->items = items;
        record->capacity = capacity;
    }
    char *copy = jg_copy_text(text, strlen(text));
    if (copy == NULL) {
        return false;
    }
    record->items[record->count].hash = *hash;
    record->items[record->count].text = copy;
    record->count++;
    return true;
}

jit_gemm_status jg_record_add(struct jg_record *record, const char *text)
{
    const struct jg_hash hash = jg_hash_bytes(text, strlen(text));
    pthread_mutex_lock(&record->mutex);
    const bool is_kept = has_text(record, &hash, text) || append_text(record, &hash, text);
    pthread_mutex_unlock(&record->mutex);
    return is_kept ? JIT_GEMM_OK : jg_fail_memory();
}

static bool has_word(const char *text, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        if ((at == text || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0')) {
            return true;
        }
    }
    return false;
}

bool jg_record_has_word(struct jg_record *record, const char *word)
{
    bool found = false;
    pthread_mutex_lock(&record->mutex);
    for (size_t i = 0; i < record->count && !found; i++) {
        found = has_word(record->items[i].text, word);
    }
    pthread_mutex_unlock(&record->mutex);
    return found;
}

void jg_record_print(struct jg_record *record, struct jg_str *out)
{
    pthread_mutex_lock(&record->mutex);
    for (size_t i = 0; i < record->count; i++) {
        jg_str_printf(out, "%s\n", record->items[i].text);
    }
    pthread_mutex_unlock(&record->mutex);
}
