/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

static jit_gemm_status fail_read(const char *path, int code)
{
    return jg_fail_system(JIT_GEMM_ERR_IO, "path", "name a file that can be read",
                          "'%s' cannot be read: %s", path, strerror(code));
}

static jit_gemm_status read_open(int file, const char *path, size_t most_bytes,
                                 struct jg_str *out)
{
    size_t total = 0;
    char part[4096];
    for (;;) {
        const ssize_t count = read(file, part, sizeof(part));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail_read(path, errno);
        }
        if (count == 0) {
            return jg_str_status(out);
        }
        total += (size_t)count;
        if (total > most_bytes) {
            return fail_read(path, EFBIG);
        }
        jg_str_add(out, part, (size_t)count);
    }
}

jit_gemm_status jg_file_read(const char *path, size_t most_bytes, struct jg_str *out)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return fail_read(path, errno);
    }
    const jit_gemm_status status = read_open(file, path, most_bytes, out);
    close(file);
    return status;
}

static jit_gemm_status fail_write(const char *path, const char *verb)
{
    const int code = errno;
    return jg_fail_system(JIT_GEMM_ERR_IO, "path",
                          "name a file in a folder that can be written",
                          "'%s' cannot be %s: %s", path, verb, strerror(code));
}

/* 0, or an errno value. */
static int write_whole(int file, const struct jg_str *text)
{
    size_t written = 0;
    while (written < text->size) {
        const ssize_t count = write(file, text->data + written, text->size - written);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return count == 0 ? ENOSPC : errno;
        }
        written += (size_t)count;
    }
    return 0;
}

/* One that waits already is somebody else's, and stays. */
void jg_file_hold_signals(struct jg_write_signals *signals)
{
    static const int numbers[] = {SIGXFSZ, SIGPIPE};
    sigset_t pending;
    sigemptyset(&signals->held);
    sigemptyset(&pending);
    (void)sigpending(&pending);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigismember(&pending, numbers[i]) == 0) {
            sigaddset(&signals->held, numbers[i]);
        }
    }
    signals->is_held = pthread_sigmask(SIG_BLOCK, &signals->held, &signals->before) == 0;
}

void jg_file_release_signals(const struct jg_write_signals *signals, int code)
{
    static const struct timespec now = {0, 0};
    const int number = code == EFBIG ? SIGXFSZ : code == EPIPE ? SIGPIPE : 0;
    if (!signals->is_held) {
        return;
    }
    if (number != 0 && sigismember(&signals->held, number) == 1) {
        sigset_t sent;
        sigemptyset(&sent);
        sigaddset(&sent, number);
        while (sigtimedwait(&sent, NULL, &now) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}

bool jg_file_write(int file, const struct jg_str *text)
{
    struct jg_write_signals signals;
    jg_file_hold_signals(&signals);
    const int code = write_whole(file, text);
    jg_file_release_signals(&signals, code);
    errno = code;
    return code == 0;
}

enum { MOST_NAMES = 1000 };

/* Of a name that is not there yet: a process of the same number that was killed may have
 * left one, in another container or on another machine. -1 with errno. */
static int create_temporary(const char *path, struct jg_str *ret_name)
{
    static atomic_uint number; /* two threads may write the same path */
    int file = -1;
    errno = EEXIST;
    for (int i = 0; i < MOST_NAMES && file < 0 && errno == EEXIST; i++) {
        jg_str_free(ret_name);
        jg_str_printf(ret_name, "%s.%ld.%u.tmp", path, (long)getpid(),
                      atomic_fetch_add(&number, 1));
        if (ret_name->failed) {
            errno = ENOMEM;
            return -1;
        }
        file = open(ret_name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    0666);
    }
    return file;
}

/* Beside the path, of a name that no other call has. The text is the caller's to free. What
 * is there must be a file: a rename would put one in the place of a device or a link. Who
 * may read and write it may do so with the new one. */
static jit_gemm_status open_temporary(const char *path, struct jg_str *ret_temporary,
                                      int *ret_file)
{
    struct stat found;
    const bool is_there = lstat(path, &found) == 0;
    if (is_there && !S_ISREG(found.st_mode)) {
        return jg_fail(JIT_GEMM_ERR_IO, "path", "name a file, or one that is not there yet",
                       "'%s' cannot be replaced: it is no regular file", path);
    }
    *ret_file = create_temporary(path, ret_temporary);
    JG_TRY(jg_str_status(ret_temporary));
    if (*ret_file < 0) {
        return fail_write(ret_temporary->data, "created");
    }
    if (is_there && fchmod(*ret_file, found.st_mode & ACCESSPERMS) != 0) {
        const jit_gemm_status status = fail_write(ret_temporary->data, "written");
        close(*ret_file);
        (void)unlink(ret_temporary->data);
        return status;
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_file_check(const char *path)
{
    struct jg_str temporary = {0};
    int file = -1;
    const jit_gemm_status status = open_temporary(path, &temporary, &file);
    if (status == JIT_GEMM_OK) {
        close(file);
        (void)unlink(jg_str_text(&temporary));
    }
    jg_str_free(&temporary);
    return status;
}

static jit_gemm_status write_and_rename(int file, const char *temporary, const char *path,
                                        const struct jg_str *text)
{
    jit_gemm_status status = JIT_GEMM_OK;
    if (!jg_file_write(file, text) || fsync(file) != 0) {
        status = fail_write(temporary, "written");
        close(file);
    } else if (close(file) != 0) {
        status = fail_write(temporary, "written");
    } else if (rename(temporary, path) != 0) {
        status = fail_write(path, "replaced");
    }
    if (status != JIT_GEMM_OK) {
        (void)unlink(temporary);
    }
    return status;
}

jit_gemm_status jg_file_replace(const char *path, const struct jg_str *text)
{
    struct jg_str temporary = {0};
    int file = -1;
    JG_TRY(jg_str_status(text));
    jit_gemm_status status = open_temporary(path, &temporary, &file);
    if (status == JIT_GEMM_OK) {
        status = write_and_rename(file, jg_str_text(&temporary), path, text);
    }
    jg_str_free(&temporary);
    return status;
}

/* ----------------------------------------------------------------------------- locks */

enum { LOCK_TRIES = 1000, LOCK_WAIT_NS = 5000000 };

static int open_folder(const char *path)
{
    struct jg_str folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        jg_str_puts(&folder, ".");
    } else {
        jg_str_add(&folder, path, (size_t)(slash - path) + 1);
    }
    const int opened =
        folder.failed ? -1 : open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    jg_str_free(&folder);
    return opened;
}

jit_gemm_status jg_file_lock(const char *path, int *ret_lock)
{
    static const struct timespec wait = {0, LOCK_WAIT_NS};
    const int folder = open_folder(path);
    int code = folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    for (int i = 0; i < LOCK_TRIES && (code == EWOULDBLOCK || code == EINTR); i++) {
        (void)nanosleep(&wait, NULL);
        code = flock(folder, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    }
    if (code == EWOULDBLOCK) {
        close(folder);
        return jg_fail(JIT_GEMM_ERR_IO, "path", "try again when the others are done",
                       "'%s' is being changed by others: its folder is locked", path);
    }
    *ret_lock = folder;
    return JIT_GEMM_OK;
}

void jg_file_unlock(int lock)
{
    if (lock >= 0) {
        (void)flock(lock, LOCK_UN); /* a process that was forked meanwhile has it, too */
        close(lock);
    }
}
