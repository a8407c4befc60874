/* SPDX-License-Identifier: MIT */
#include "api/record.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text_index.h"
#include "base/thread.h"

struct jg_record {
    jg_mutex mutex;
    char **items; /* owned, and the texts */
    size_t count, capacity;
    struct jg_text_index by_text;   /* of the items */
    struct jg_text_index epilogues; /* that they name, in the items' texts */
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
        jg_free(record->items[i]);
    }
    jg_free(record->items);
    jg_text_index_free(&record->by_text);
    jg_text_index_free(&record->epilogues);
    pthread_mutex_destroy(&record->mutex);
    jg_free(record);
}

static bool make_room_for_one(struct jg_record *record)
{
    if (!jg_text_index_reserve(&record->by_text) ||
        !jg_text_index_reserve(&record->epilogues)) {
        return false;
    }
    if (record->count < record->capacity) {
        return true;
    }
    const size_t capacity = record->capacity > 0 ? record->capacity * 2 : 16;
    char **items = jg_realloc(record->items, capacity * sizeof(*items));
    if (items == NULL) {
        return false;
    }
    record->items = items;
    record->capacity = capacity;
    return true;
}

/* The name behind the word "epilogue=" of a line; its size is 0 if it has no such word. */
static const char *find_epilogue(const char *text, size_t *ret_size)
{
    static const char key[] = " epilogue=";
    const char *word = strstr(text, key);
    const char *name = word != NULL ? word + sizeof(key) - 1 : text;
    *ret_size = word != NULL ? strcspn(name, " ") : 0;
    return name;
}

static bool append(struct jg_record *record, const char *text, size_t size)
{
    char *copy = make_room_for_one(record) ? jg_copy_text(text, size) : NULL;
    if (copy == NULL) {
        return false;
    }
    size_t name_size = 0;
    const char *name = find_epilogue(copy, &name_size);
    if (name_size > 0 &&
        jg_text_index_find(&record->epilogues, name, name_size) == JG_TEXT_INDEX_NONE) {
        jg_text_index_add(&record->epilogues, name, name_size, record->count);
    }
    jg_text_index_add(&record->by_text, copy, size, record->count);
    record->items[record->count++] = copy;
    return true;
}

jit_gemm_status jg_record_add(struct jg_record *record, const char *text)
{
    const size_t size = strlen(text);
    pthread_mutex_lock(&record->mutex);
    const bool is_kept =
        jg_text_index_find(&record->by_text, text, size) != JG_TEXT_INDEX_NONE ||
        append(record, text, size);
    pthread_mutex_unlock(&record->mutex);
    return is_kept ? JIT_GEMM_OK : jg_fail_memory();
}

bool jg_record_has_epilogue(struct jg_record *record, const char *name)
{
    pthread_mutex_lock(&record->mutex);
    const size_t found = jg_text_index_find(&record->epilogues, name, strlen(name));
    pthread_mutex_unlock(&record->mutex);
    return found != JG_TEXT_INDEX_NONE;
}

void jg_record_print(struct jg_record *record, struct jg_str *out)
{
    pthread_mutex_lock(&record->mutex);
    for (size_t i = 0; i < record->count; i++) {
        jg_str_printf(out, "%s\n", record->items[i]);
    }
    pthread_mutex_unlock(&record->mutex);
}
