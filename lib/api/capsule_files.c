/* SPDX-License-Identifier: MIT */
/* Capsules as folders of files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/capsule.h"
#include "base/error.h"
#include "base/file.h"
#include "base/lines.h"
#include "plan/text.h"

#define RECORD     "capsule.txt"
#define FIRST_LINE "jit_gemm capsule 2"
#define PREFIX     "capsule-"

static const char *const field_names[JG_CAPSULE_FIELD_COUNT] = {
    [JG_CAPSULE_STATUS] = "status",
    [JG_CAPSULE_LIBRARY] = "library",
    [JG_CAPSULE_SOURCE_FORMAT] = "source_format",
    [JG_CAPSULE_HEADERS] = "headers",
    [JG_CAPSULE_COMPILER] = "compiler",
    [JG_CAPSULE_DRIVER] = "driver",
    [JG_CAPSULE_DEVICE] = "device",
    [JG_CAPSULE_ARCH] = "arch",
    [JG_CAPSULE_KIND] = "kind",
    [JG_CAPSULE_OPTIONS] = "options",
    [JG_CAPSULE_ENTRY] = "entry",
    [JG_CAPSULE_KEY] = "key",
    [JG_CAPSULE_TEXT] = "text",
};

static const char *const file_names[JG_CAPSULE_FILE_COUNT] = {
    [JG_CAPSULE_MANIFEST] = "problem.manifest",
    [JG_CAPSULE_UNIT] = "unit.cu",
    [JG_CAPSULE_LOG] = "log.txt",
    [JG_CAPSULE_ERROR] = "error.txt",
    [JG_CAPSULE_LAUNCH] = "launch.txt",
};

void jg_capsule_free(struct jg_capsule *capsule)
{
    for (int i = 0; i < JG_CAPSULE_FIELD_COUNT; i++) {
        jg_str_free(&capsule->fields[i]);
    }
    for (int i = 0; i < JG_CAPSULE_FILE_COUNT; i++) {
        jg_str_free(&capsule->files[i]);
    }
}

/* ---------------------------------------------------------------------------- writing */

/* A value in one line. */
static void print_field(const char *name, const struct jg_str *value, struct jg_str *out)
{
    jg_str_printf(out, "%s ", name);
    for (size_t i = 0; i < value->size; i++) {
        const bool is_control = (unsigned char)value->data[i] < ' ';
        jg_str_add(out, is_control ? " " : &value->data[i], 1);
    }
    jg_str_puts(out, "\n");
}

static void print_record(const struct jg_capsule *capsule, struct jg_str *out)
{
    jg_str_puts(out, FIRST_LINE "\n");
    for (int i = 0; i < JG_CAPSULE_FIELD_COUNT; i++) {
        print_field(field_names[i], &capsule->fields[i], out);
    }
    for (int i = 0; i < JG_CAPSULE_FILE_COUNT; i++) {
        jg_str_printf(out, "%s %zu\n", file_names[i], capsule->files[i].size);
    }
    jg_str_puts(out, "end\n");
}

/* Opens the folder, if it is there and can be trusted; -1 with a reason. */
static int open_folder(const char *folder, struct jg_str *reason)
{
    struct stat found;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) != 0) {
        jg_str_puts(reason, strerror(errno));
    } else if (found.st_uid != geteuid()) {
        jg_str_puts(reason, "it belongs to another user");
    } else if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        jg_str_puts(reason, "others may write in it");
    } else {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* Those under way and those that were left unfinished count too. -1 with a reason. */
static int count_capsules(int folder, struct jg_str *reason)
{
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (list == NULL) {
        jg_str_puts(reason, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    int count = 0;
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        count += strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1) == 0;
    }
    closedir(list);
    return count;
}

static bool write_file(int folder, const char *name, const struct jg_str *text,
                       struct jg_str *reason)
{
    if (text->failed || text->size > JG_CAPSULE_MOST_BYTES) {
        jg_str_printf(reason, "%s: %s", name, strerror(text->failed ? ENOMEM : EFBIG));
        return false;
    }
    const int file =
        openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool is_written = file >= 0 && jg_file_write(file, text);
    const int code = errno;
    if (file >= 0 && close(file) != 0 && is_written) {
        jg_str_printf(reason, "%s: %s", name, strerror(errno));
        return false;
    }
    if (!is_written) {
        jg_str_printf(reason, "%s: %s", name, strerror(code));
    }
    return is_written;
}

static bool write_files(int folder, const struct jg_capsule *capsule, struct jg_str *reason)
{
    bool is_written = true;
    for (int i = 0; i < JG_CAPSULE_FILE_COUNT && is_written; i++) {
        is_written = write_file(folder, file_names[i], &capsule->files[i], reason);
    }
    struct jg_str record = {0};
    print_record(capsule, &record);
    is_written = is_written && write_file(folder, RECORD, &record, reason);
    jg_str_free(&record);
    return is_written;
}

static void remove_draft(int folder, const char *draft)
{
    const int fd = openat(folder, draft, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        for (int i = 0; i < JG_CAPSULE_FILE_COUNT; i++) {
            (void)unlinkat(fd, file_names[i], 0);
        }
        (void)unlinkat(fd, RECORD, 0);
        close(fd);
    }
    (void)unlinkat(folder, draft, AT_REMOVEDIR);
}

/* The draft counts itself before it looks: of several that come at once none goes over. */
static enum jg_capsule_result fill_draft(int folder, const char *draft, const char *name,
                                         const struct jg_capsule *capsule,
                                         struct jg_str *reason)
{
    const int count = count_capsules(folder, reason);
    if (count < 0) {
        return JG_CAPSULE_FAILED;
    }
    if (count > JG_CAPSULE_MOST) {
        return JG_CAPSULE_FULL;
    }
    const int fd = openat(folder, draft, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        jg_str_puts(reason, strerror(errno));
        return JG_CAPSULE_FAILED;
    }
    const bool is_written = write_files(fd, capsule, reason);
    close(fd);
    if (!is_written) {
        return JG_CAPSULE_FAILED;
    }
    if (renameat(folder, draft, folder, name) == 0) {
        return JG_CAPSULE_LEFT;
    }
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) {
        return JG_CAPSULE_THERE;
    }
    jg_str_puts(reason, strerror(errno));
    return JG_CAPSULE_FAILED;
}

static enum jg_capsule_result write_in(int folder, const char *name,
                                       const struct jg_capsule *capsule,
                                       struct jg_str *reason)
{
    static atomic_uint number; /* two threads may leave the same name */
    char draft[128];
    struct stat found;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0) {
        return JG_CAPSULE_THERE;
    }
    snprintf(draft, sizeof(draft), "%s.%ld.%u.tmp", name, (long)getpid(),
             atomic_fetch_add(&number, 1));
    if (mkdirat(folder, draft, 0700) != 0) {
        jg_str_puts(reason, strerror(errno));
        return JG_CAPSULE_FAILED;
    }
    const enum jg_capsule_result result = fill_draft(folder, draft, name, capsule, reason);
    if (result != JG_CAPSULE_LEFT) {
        remove_draft(folder, draft);
    }
    return result;
}

enum jg_capsule_result jg_capsule_write(const char *folder, const char *name,
                                        const struct jg_capsule *capsule,
                                        struct jg_str *reason)
{
    char whole_name[64];
    snprintf(whole_name, sizeof(whole_name), PREFIX "%s", name);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        jg_str_puts(reason, strerror(errno));
        return JG_CAPSULE_FAILED;
    }
    const int fd = open_folder(folder, reason);
    if (fd < 0) {
        return JG_CAPSULE_FAILED;
    }
    const enum jg_capsule_result result = write_in(fd, whole_name, capsule, reason);
    close(fd);
    return result;
}

int jg_capsule_count(const char *folder, struct jg_str *reason)
{
    struct stat found;
    if (lstat(folder, &found) != 0 && errno == ENOENT) {
        return 0;
    }
    const int fd = open_folder(folder, reason);
    if (fd < 0) {
        return -1;
    }
    const int count = count_capsules(fd, reason);
    close(fd);
    return count;
}

/* ---------------------------------------------------------------------------- reading */

static jit_gemm_status fail_damaged(const char *where, const char *what)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                   "give the whole folder, as the library left it", "%s", what);
}

static jit_gemm_status read_open_file(int file, const char *name, struct jg_str *out)
{
    struct stat found;
    char part[4096];
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
        return fail_damaged(name, "is no plain file");
    }
    for (;;) {
        const ssize_t count = read(file, part, sizeof(part));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return jg_fail_system(JIT_GEMM_ERR_IO, name, "", "cannot be read: %s",
                                  strerror(errno));
        }
        if (count == 0) {
            return jg_str_status(out);
        }
        jg_str_add(out, part, (size_t)count);
        if (out->size > JG_CAPSULE_MOST_BYTES) {
            return fail_damaged(name, "is longer than the library writes it");
        }
        if (memchr(part, '\0', (size_t)count) != NULL) {
            return fail_damaged(name, "has a zero byte");
        }
    }
}

/* Neither a link nor a pipe is followed or waited for. */
static jit_gemm_status read_file(int folder, const char *name, struct jg_str *out)
{
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        return errno == ENOENT || errno == ELOOP
                   ? fail_damaged(name, "is not there, or is a link")
                   : jg_fail_system(JIT_GEMM_ERR_IO, name, "", "cannot be opened: %s",
                                    strerror(errno));
    }
    const jit_gemm_status status = read_open_file(file, name, out);
    close(file);
    return status;
}

static jit_gemm_status fail_at_line(const struct jg_lines *reader, const char *expected)
{
    char where[48];
    char what[96];
    snprintf(where, sizeof(where), RECORD " line %zu", reader->line);
    snprintf(what, sizeof(what), "should be the line '%s'", expected);
    return fail_damaged(where, what);
}

static jit_gemm_status read_line(struct jg_lines *reader, const char *name,
                                 const char **ret_rest, size_t *ret_size)
{
    return jg_lines_next(reader) && jg_line_take_keyword(reader, name, ret_rest, ret_size)
               ? JIT_GEMM_OK
               : fail_at_line(reader, name);
}

static jit_gemm_status read_first_line(struct jg_lines *reader)
{
    static const char family[] = "jit_gemm capsule ";
    if (!jg_lines_next(reader) || reader->length < sizeof(family) ||
        memcmp(reader->start, family, sizeof(family) - 1) != 0) {
        return fail_at_line(reader, FIRST_LINE);
    }
    if (!jg_line_is(reader, FIRST_LINE)) {
        return jg_fail(JIT_GEMM_ERR_VERSION, RECORD,
                       "replay it with the version of the library that left it",
                       "a capsule of another format; this library reads format 2");
    }
    return JIT_GEMM_OK;
}

/* `sizes`: bytes of the other files. */
static jit_gemm_status read_record(const struct jg_str *text, struct jg_capsule *capsule,
                                   int64_t sizes[JG_CAPSULE_FILE_COUNT])
{
    struct jg_lines reader = {.text = jg_str_text(text), .size = text->size};
    const char *rest = NULL;
    size_t size = 0;
    JG_TRY(read_first_line(&reader));
    for (int i = 0; i < JG_CAPSULE_FIELD_COUNT; i++) {
        JG_TRY(read_line(&reader, field_names[i], &rest, &size));
        jg_str_add(&capsule->fields[i], rest, size);
        JG_TRY(jg_str_status(&capsule->fields[i]));
    }
    for (int i = 0; i < JG_CAPSULE_FILE_COUNT; i++) {
        JG_TRY(read_line(&reader, file_names[i], &rest, &size));
        if (!jg_number_parse(rest, size, 0, JG_CAPSULE_MOST_BYTES, &sizes[i])) {
            return fail_at_line(&reader, file_names[i]);
        }
    }
    if (!jg_lines_next(&reader) || !jg_line_is(&reader, "end") ||
        reader.offset != reader.size || reader.text[reader.size - 1] != '\n') {
        return fail_at_line(&reader, "end");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_files(int folder, struct jg_capsule *capsule)
{
    struct jg_str record = {0};
    int64_t sizes[JG_CAPSULE_FILE_COUNT] = {0};
    jit_gemm_status status = read_file(folder, RECORD, &record);
    if (status == JIT_GEMM_OK) {
        status = read_record(&record, capsule, sizes);
    }
    jg_str_free(&record);
    JG_TRY(status);
    for (int i = 0; i < JG_CAPSULE_FILE_COUNT; i++) {
        struct jg_str *file = &capsule->files[i];
        JG_TRY(read_file(folder, file_names[i], file));
        if (file->size != (size_t)sizes[i]) {
            char what[96];
            snprintf(what, sizeof(what), "has %zu bytes, and had %lld", file->size,
                     (long long)sizes[i]);
            return fail_damaged(file_names[i], what);
        }
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_capsule_read(const char *path, struct jg_capsule *ret_capsule)
{
    struct jg_capsule capsule = {0};
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return jg_fail_system(JIT_GEMM_ERR_IO, "path", "name the folder of a capsule",
                              "'%s' cannot be opened: %s", path, strerror(errno));
    }
    const jit_gemm_status status = read_files(folder, &capsule);
    close(folder);
    if (status != JIT_GEMM_OK) {
        jg_capsule_free(&capsule);
        return status;
    }
    *ret_capsule = capsule;
    return JIT_GEMM_OK;
}
