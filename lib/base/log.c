/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

struct jg_log {
    jg_mutex mutex; /* one call of the callback at a time */
    jit_gemm_log_fn function;
    void *user;
    jit_gemm_severity level;
    struct jg_log_file file;
};

struct jg_log *jg_log_create(jit_gemm_log_fn function, void *user, jit_gemm_severity level,
                             const struct jg_log_file *file)
{
    static const struct jg_log_file nowhere = {.file = -1};
    struct jg_log *log = jg_alloc(sizeof(*log));
    if (log == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&log->mutex, NULL) != 0) {
        jg_free(log);
        return NULL;
    }
    log->function = function;
    log->user = user;
    log->level = level;
    log->file = file != NULL ? *file : nowhere;
    return log;
}

void jg_log_destroy(struct jg_log *log)
{
    if (log != NULL) {
        jg_log_file_close(&log->file);
        pthread_mutex_destroy(&log->mutex);
        jg_free(log);
    }
}

static bool takes_file(const struct jg_log *log, jit_gemm_severity severity)
{
    return log->file.file >= 0 && severity <= log->file.level;
}

static bool takes_function(const struct jg_log *log, jit_gemm_severity severity)
{
    return log->function != NULL && severity <= log->level;
}

static void send_line(struct jg_log *log, jit_gemm_severity severity, const char *line)
{
    if (takes_file(log, severity)) {
        jg_log_file_write(&log->file, severity, line);
    }
    if (takes_function(log, severity)) {
        log->function(log->user, severity, line);
    }
}

/* The callback takes lines without an end: a text of several lines makes several calls. */
static void send_lines(struct jg_log *log, jit_gemm_severity severity, char *text)
{
    pthread_mutex_lock(&log->mutex);
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        if (*line != '\0' || line == text) {
            send_line(log, severity, line);
        }
        line = end != NULL ? end + 1 : NULL;
    }
    pthread_mutex_unlock(&log->mutex);
}

void jg_log_line(struct jg_log *log, jit_gemm_severity severity, const char *format, ...)
{
    if (log == NULL || (!takes_file(log, severity) && !takes_function(log, severity))) {
        return;
    }
    char line[1024];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    char *text = line;
    char *heap = NULL;
    if ((size_t)length >= sizeof(line)) {
        /* Without memory the line is sent cut. */
        heap = jg_alloc((size_t)length + 1);
        if (heap != NULL) {
            va_start(args, format);
            vsnprintf(heap, (size_t)length + 1, format, args);
            va_end(args);
            text = heap;
        }
    }
    send_lines(log, severity, text);
    jg_free(heap);
}
