/* SPDX-License-Identifier: MIT */
#include "base/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/str.h"

static const char *const level_names[] = {[JIT_GEMM_SEVERITY_ERROR] = "error",
                                          [JIT_GEMM_SEVERITY_WARNING] = "warning",
                                          [JIT_GEMM_SEVERITY_INFO] = "info",
                                          [JIT_GEMM_SEVERITY_DEBUG] = "debug"};

enum { LEVEL_COUNT = sizeof(level_names) / sizeof(level_names[0]), MOST_SHOWN = 40 };

static jit_gemm_status read_level(const char *text, size_t size, const char *where,
                                  jit_gemm_severity *ret_level)
{
    struct jg_nearest nearest = jg_nearest_begin(text, size);
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (strlen(level_names[i]) == size && memcmp(level_names[i], text, size) == 0) {
            *ret_level = (jit_gemm_severity)i;
            return JIT_GEMM_OK;
        }
        jg_nearest_try(&nearest, level_names[i], strlen(level_names[i]));
    }
    jg_nearest_other(&nearest, "warn", level_names[JIT_GEMM_SEVERITY_WARNING]);
    /* Of a hostile value what no terminal obeys, and not all of it. */
    char shown[MOST_SHOWN + 1];
    const size_t shown_size = size < MOST_SHOWN ? size : MOST_SHOWN;
    for (size_t i = 0; i < shown_size; i++) {
        shown[i] = '?';
        if (text[i] > 0x20 && text[i] < 0x7f) {
            shown[i] = text[i];
        }
    }
    shown[shown_size] = '\0';
    return jg_fail(
        JIT_GEMM_ERR_ARGUMENT, where,
        jg_near_hint(&nearest, "give error, warning, info or debug, and :FILE behind it")
            .text,
        "there is no level '%s'", shown);
}

/* A pipe that nobody reads would block, or end the program: *ret_facts says what it is. -1
 * with errno. */
static int open_to_append(const char *path, struct stat *ret_facts)
{
    const int file =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (file >= 0 && fstat(file, ret_facts) != 0) {
        close(file);
        return -1;
    }
    return file;
}

static bool takes_lines(const struct stat *facts)
{
    return S_ISREG(facts->st_mode) || S_ISCHR(facts->st_mode);
}

/* NULL: no memory. */
static char *make_absolute(const char *path)
{
    char *folder = path[0] != '/' ? jg_alloc(PATH_MAX) : NULL;
    struct jg_str out = {0};
    if (folder != NULL && getcwd(folder, PATH_MAX) != NULL) {
        jg_str_printf(&out, "%s/", folder);
    }
    jg_str_puts(&out, path);
    jg_free(folder);
    char *absolute = out.failed ? NULL : jg_copy_text(jg_str_text(&out), out.size);
    jg_str_free(&out);
    return absolute;
}

static jit_gemm_status open_file(const char *path, const char *where,
                                 struct jg_log_file *file)
{
    static const char hint[] = "name a file that this user may write";
    file->file = open_to_append(path, &file->facts);
    if (file->file < 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, hint, "the file cannot be opened: %s",
                       strerror(errno));
    }
    if (!takes_lines(&file->facts)) {
        close(file->file);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, hint,
                       "what is named there is no file and no device");
    }
    file->path = make_absolute(path);
    if (file->path == NULL) {
        close(file->file);
        return jg_fail_memory();
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_log_file_open(const char *text, const char *where,
                                 struct jg_log_file *ret_file)
{
    struct jg_log_file file = {.file = -1};
    if (text == NULL) {
        *ret_file = file;
        return JIT_GEMM_OK;
    }
    const size_t size = strcspn(text, ":");
    JG_TRY(read_level(text, size, where, &file.level));
    file.file = STDERR_FILENO;
    if (text[size] == ':') {
        JG_TRY(open_file(text + size + 1, where, &file));
    }
    *ret_file = file;
    return JIT_GEMM_OK;
}

static bool is_still_open(const struct jg_log_file *file)
{
    struct stat now;
    return file->path == NULL ||
           (fstat(file->file, &now) == 0 && now.st_dev == file->facts.st_dev &&
            now.st_ino == file->facts.st_ino);
}

void jg_log_file_close(struct jg_log_file *file)
{
    if (file->path != NULL && file->file >= 0 && is_still_open(file)) {
        close(file->file);
    }
    jg_free(file->path);
    *file = (struct jg_log_file){.file = -1};
}

static void write_line(const struct jg_log_file *file, const char *line, size_t size)
{
    struct stat facts = file->facts;
    const bool is_open = is_still_open(file);
    const int to = is_open ? file->file : open_to_append(file->path, &facts);
    struct jg_write_signals signals;
    ssize_t written = 0;
    jg_file_hold_signals(&signals);
    do {
        written = to >= 0 && (is_open || takes_lines(&facts)) ? write(to, line, size) : 0;
    } while (written < 0 && errno == EINTR);
    jg_file_release_signals(&signals, written < 0 ? errno : 0);
    if (!is_open && to >= 0) {
        close(to);
    }
}

void jg_log_file_write(const struct jg_log_file *file, jit_gemm_severity severity,
                       const char *line)
{
    char buffer[1200];
    if (file->file < 0 || severity > file->level) {
        return;
    }
    int size =
        snprintf(buffer, sizeof(buffer), "jit_gemm: %s: %s\n", level_names[severity], line);
    if (size >= (int)sizeof(buffer)) { /* cut, but a line */
        size = sizeof(buffer) - 1;
        buffer[size - 1] = '\n';
    }
    const int kept = errno;
    write_line(file, buffer, (size_t)size);
    errno = kept;
}
