/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct jit_gemm_diagnostics {
    jit_gemm_diagnostic *items; /* where, text and hint share one block at `where` */
    size_t count, capacity;
    char *log; /* may be NULL */
};

/* The record of a thread. It lives in thread-local storage, so that making one needs no
 * memory; what it points to is freed when the thread ends. */
struct error_record {
    jit_gemm_status status;
    jit_gemm_diagnostics *diagnostics; /* NULL: none, taken, or no memory for them */
    bool is_taken;
    bool has_error;  /* the text is that of an ERROR diagnostic */
    char *text;      /* NULL: `fixed` has the text */
    char fixed[256]; /* used when there is no memory */
};

static _Thread_local struct error_record thread_record;

static pthread_once_t record_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t record_key;
static bool is_record_key_made;

/* -------------------------------------------------------------- diagnostics object */

static void free_diagnostics(jit_gemm_diagnostics *diagnostics)
{
    if (diagnostics == NULL) {
        return;
    }
    for (size_t i = 0; i < diagnostics->count; i++) {
        jg_free((void *)diagnostics->items[i].where);
    }
    jg_free(diagnostics->items);
    jg_free(diagnostics->log);
    jg_free(diagnostics);
}

/* Appends a copy of an item; false without memory. */
static bool append_item(jit_gemm_diagnostics *diagnostics, const jit_gemm_diagnostic *item)
{
    if (diagnostics->count == diagnostics->capacity) {
        const size_t capacity = diagnostics->capacity > 0 ? diagnostics->capacity * 2 : 1;
        jit_gemm_diagnostic *items =
            jg_realloc(diagnostics->items, capacity * sizeof(*items));
        if (items == NULL) {
            return false;
        }
        diagnostics->items = items;
        diagnostics->capacity = capacity;
    }
    const size_t where_size = strlen(item->where) + 1;
    const size_t text_size = strlen(item->text) + 1;
    const size_t hint_size = strlen(item->hint) + 1;
    char *block = jg_alloc(where_size + text_size + hint_size);
    if (block == NULL) {
        return false;
    }
    memcpy(block, item->where, where_size);
    memcpy(block + where_size, item->text, text_size);
    memcpy(block + where_size + text_size, item->hint, hint_size);
    jit_gemm_diagnostic *copy = &diagnostics->items[diagnostics->count++];
    *copy = *item;
    copy->struct_size = sizeof(*copy);
    copy->where = block;
    copy->text = block + where_size;
    copy->hint = block + where_size + text_size;
    return true;
}

/* ------------------------------------------------------------------- thread record */

static void clear_record(struct error_record *record)
{
    free_diagnostics(record->diagnostics);
    jg_free(record->text);
    memset(record, 0, sizeof(*record));
}

static void clear_record_at_thread_end(void *record)
{
    clear_record(record);
}

static void make_record_key(void)
{
    is_record_key_made = pthread_key_create(&record_key, clear_record_at_thread_end) == 0;
}

/* When the library is unloaded, the key must not call code that is gone. */
__attribute__((destructor)) static void drop_record_key(void)
{
    clear_record(&thread_record);
    if (is_record_key_made) {
        is_record_key_made = false;
        pthread_key_delete(record_key);
    }
}

/* The record of this thread, arranged to be freed with the thread. */
static struct error_record *own_record(void)
{
    pthread_once(&record_key_once, make_record_key);
    if (is_record_key_made && pthread_getspecific(record_key) == NULL) {
        (void)pthread_setspecific(record_key, &thread_record);
    }
    return &thread_record;
}

/* Replaces the record by an empty one whose text is that of the status. */
static struct error_record *begin_record(jit_gemm_status status)
{
    struct error_record *record = own_record();
    clear_record(record);
    record->status = status;
    snprintf(record->fixed, sizeof(record->fixed), "%s", jg_status_text(status));
    return record;
}

void jg_error_clear(void)
{
    clear_record(own_record());
}

static void note_lack_of_memory(struct error_record *record)
{
    static const char note[] = " (out of memory while this error was described)";
    size_t length = strlen(record->fixed);
    if (length > sizeof(record->fixed) - sizeof(note)) {
        length = sizeof(record->fixed) - sizeof(note);
    }
    memcpy(record->fixed + length, note, sizeof(note));
}

/* The text form of one diagnostic, as the last-error text has it. Its whole length, as of
 * snprintf. */
static int print_item(const jit_gemm_diagnostic *item, char *buffer, size_t size)
{
    const char *separator = item->hint[0] != '\0' ? "; " : "";
    if (item->line > 0) {
        char column[16] = "";
        if (item->column > 0) {
            snprintf(column, sizeof(column), ":%u", item->column);
        }
        /* The user's own file needs no name; any other does. */
        const bool is_foreign = item->origin != JIT_GEMM_DIAGNOSTIC_SNIPPET;
        const char *colon = is_foreign && item->where[0] != '\0' ? ":" : "";
        return snprintf(buffer, size, "%s%s%u%s: error: %s%s%s",
                        is_foreign ? item->where : "", colon, item->line, column,
                        item->text, separator, item->hint);
    }
    return snprintf(buffer, size, "%s%s%s%s%s", item->where,
                    item->where[0] != '\0' ? ": " : "", item->text, separator, item->hint);
}

static void set_text_from_item(struct error_record *record, const jit_gemm_diagnostic *item)
{
    const int length = print_item(item, record->fixed, sizeof(record->fixed));
    record->has_error = true;
    if (length >= 0 && (size_t)length < sizeof(record->fixed)) {
        return;
    }
    record->text = length > 0 ? jg_alloc((size_t)length + 1) : NULL;
    if (record->text == NULL) {
        note_lack_of_memory(record);
        return;
    }
    print_item(item, record->text, (size_t)length + 1);
}

static void add_item_to_record(struct error_record *record, const jit_gemm_diagnostic *item)
{
    if (item->severity == JIT_GEMM_SEVERITY_ERROR && !record->has_error) {
        set_text_from_item(record, item);
    }
    if (record->diagnostics == NULL) {
        record->diagnostics = jg_alloc(sizeof(*record->diagnostics));
    }
    if (record->diagnostics == NULL || !append_item(record->diagnostics, item)) {
        if (record->text == NULL) {
            note_lack_of_memory(record);
        }
    }
}

static jit_gemm_status fail_with_item(jit_gemm_status status,
                                      jit_gemm_diagnostic_origin origin, const char *where,
                                      const char *hint, const char *format, va_list args)
    __attribute__((format(printf, 5, 0)));

static jit_gemm_status fail_with_item(jit_gemm_status status,
                                      jit_gemm_diagnostic_origin origin, const char *where,
                                      const char *hint, const char *format, va_list args)
{
    /* The arguments may point into the record that is replaced: they are used first. */
    char fixed[512];
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(fixed, sizeof(fixed), format, args);
    char *heap = NULL;
    if (length >= (int)sizeof(fixed)) {
        heap = jg_alloc((size_t)length + 1);
        if (heap != NULL) {
            vsnprintf(heap, (size_t)length + 1, format, again);
        }
    }
    va_end(again);
    const jit_gemm_diagnostic item = {.severity = JIT_GEMM_SEVERITY_ERROR,
                                      .origin = origin,
                                      .where = where,
                                      .text = heap != NULL ? heap : fixed,
                                      .hint = hint};
    struct error_record old = *own_record();
    memset(&thread_record, 0, sizeof(thread_record));
    add_item_to_record(begin_record(status), &item);
    clear_record(&old);
    jg_free(heap);
    return status;
}

jit_gemm_status jg_fail(jit_gemm_status status, const char *where, const char *hint,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with_item(status, JIT_GEMM_DIAGNOSTIC_FIELD, where, hint, format, args);
    va_end(args);
    return status;
}

jit_gemm_status jg_fail_system(jit_gemm_status status, const char *where, const char *hint,
                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with_item(status, JIT_GEMM_DIAGNOSTIC_SYSTEM, where, hint, format, args);
    va_end(args);
    return status;
}

jit_gemm_status jg_fail_memory(void)
{
    struct error_record *record = begin_record(JIT_GEMM_ERR_NO_MEMORY);
    snprintf(record->fixed, sizeof(record->fixed), "out of memory");
    return JIT_GEMM_ERR_NO_MEMORY;
}

void jg_error_begin(jit_gemm_status status)
{
    begin_record(status);
}

void jg_error_add(jit_gemm_severity severity, jit_gemm_diagnostic_origin origin,
                  uint32_t line, uint32_t column, const char *where, const char *text,
                  const char *hint)
{
    const jit_gemm_diagnostic item = {.severity = severity,
                                      .origin = origin,
                                      .line = line,
                                      .column = column,
                                      .where = where,
                                      .text = text,
                                      .hint = hint};
    add_item_to_record(own_record(), &item);
}

void jg_error_log(const char *log, size_t size)
{
    struct error_record *record = own_record();
    if (record->diagnostics == NULL) {
        record->diagnostics = jg_alloc(sizeof(*record->diagnostics));
    }
    if (record->diagnostics == NULL) {
        return;
    }
    jg_free(record->diagnostics->log);
    record->diagnostics->log = jg_copy_text(log, size);
}

const char *jg_error_text(void)
{
    return thread_record.text != NULL ? thread_record.text : thread_record.fixed;
}

jit_gemm_status jg_error_status(void)
{
    return thread_record.status;
}

/* ------------------------------------------------------------------- taken records */

/* A record without items (no memory when it was made) still has its text. */
static jit_gemm_status make_item_of_text(struct error_record *record)
{
    const jit_gemm_diagnostic item = {.severity = JIT_GEMM_SEVERITY_ERROR,
                                      .origin = JIT_GEMM_DIAGNOSTIC_SYSTEM,
                                      .where = "",
                                      .text = jg_error_text(),
                                      .hint = ""};
    if (record->diagnostics == NULL) {
        record->diagnostics = jg_alloc(sizeof(*record->diagnostics));
    }
    if (record->diagnostics == NULL || !append_item(record->diagnostics, &item)) {
        return JIT_GEMM_ERR_NO_MEMORY; /* the record stays as it is, to be taken later */
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_diagnostics_take(jit_gemm_diagnostics **ret_diagnostics)
{
    struct error_record *record = own_record();
    if (record->status == JIT_GEMM_OK || record->is_taken) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "diagnostics",
                       "take them once, after a call that failed on this thread",
                       "there is no error to take");
    }
    if (record->diagnostics == NULL || record->diagnostics->count == 0) {
        JG_TRY(make_item_of_text(record));
    }
    *ret_diagnostics = record->diagnostics;
    record->diagnostics = NULL;
    record->is_taken = true;
    return JIT_GEMM_OK;
}

size_t jg_diagnostics_count(const jit_gemm_diagnostics *diagnostics)
{
    return diagnostics != NULL ? diagnostics->count : 0;
}

const jit_gemm_diagnostic *jg_diagnostics_at(const jit_gemm_diagnostics *diagnostics,
                                             size_t index)
{
    return index < jg_diagnostics_count(diagnostics) ? &diagnostics->items[index] : NULL;
}

const char *jg_diagnostics_log(const jit_gemm_diagnostics *diagnostics)
{
    return diagnostics != NULL && diagnostics->log != NULL ? diagnostics->log : "";
}

void jg_diagnostics_destroy(jit_gemm_diagnostics **diagnostics)
{
    if (diagnostics != NULL) {
        free_diagnostics(*diagnostics);
        *diagnostics = NULL;
    }
}

void jg_error_restore(jit_gemm_status status, const jit_gemm_diagnostics *diagnostics)
{
    struct error_record *record = begin_record(status);
    for (size_t i = 0; i < jg_diagnostics_count(diagnostics); i++) {
        add_item_to_record(record, &diagnostics->items[i]);
    }
    if (diagnostics != NULL && diagnostics->log != NULL) {
        jg_error_log(diagnostics->log, strlen(diagnostics->log));
    }
}
