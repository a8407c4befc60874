/* SPDX-License-Identifier: MIT */
/*
 * A disk that fails in one call of a build, whichever it is and however: the caller gets
 * the kernel all the same, the next build does too, and no entry in the folder is bad. The
 * functions below take the place of the C library's in this program and fail as told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api_fixture.h"
#include "plain_test.h"
#include "strides.h"

enum function {
    OPENAT,
    MKDIRAT,
    WRITE,
    FSYNC,
    RENAMEAT2,
    LINKAT,
    UNLINKAT,
    PREADV,
    FSTAT,
    FSTATAT,
    FUTIMENS,
    LOCK,
    FUNCTION_COUNT
};

static const char *const names[FUNCTION_COUNT] = {
    "openat",   "mkdirat", "write", "fsync",   "renameat2", "linkat",
    "unlinkat", "preadv",  "fstat", "fstatat", "futimens",  "lock"};

static struct {
    enum function function;
    long call; /* of it that fails, from 1; 0: none */
    int error;
    bool is_on;
    long seen[FUNCTION_COUNT]; /* calls so far */
} fault;

static bool strikes(enum function function)
{
    if (!fault.is_on || ++fault.seen[function] != fault.call ||
        function != fault.function) {
        return false;
    }
    errno = fault.error;
    return true;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved */
int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return strikes(OPENAT) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

int mkdirat(int folder, const char *path, mode_t mode)
{
    return strikes(MKDIRAT) ? -1 : (int)syscall(SYS_mkdirat, folder, path, mode);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    return strikes(WRITE) ? -1 : (ssize_t)syscall(SYS_write, fd, bytes, size);
}

int fsync(int fd)
{
    return strikes(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return strikes(RENAMEAT2)
               ? -1
               : (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    return strikes(LINKAT) ? -1 : (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int unlinkat(int folder, const char *path, int flags)
{
    return strikes(UNLINKAT) ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

ssize_t preadv(int fd, const struct iovec *parts, int n_parts, off_t offset)
{
    return strikes(PREADV) ? -1
                           : (ssize_t)syscall(SYS_preadv, fd, parts, n_parts, offset, 0);
}

int fstat(int fd, struct stat *st)
{
    return strikes(FSTAT) ? -1 : (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

int fstatat(int folder, const char *path, struct stat *st, int flags)
{
    return strikes(FSTATAT) ? -1 : (int)syscall(SYS_newfstatat, folder, path, st, flags);
}

int futimens(int fd, const struct timespec times[2])
{
    return strikes(FUTIMENS) ? -1 : (int)syscall(SYS_utimensat, fd, NULL, times, 0);
}

int fcntl(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    return command == F_OFD_SETLK && strikes(LOCK)
               ? -1
               : (int)syscall(SYS_fcntl, fd, command, argument);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name): libc's are reserved */

static void open_context(struct api_fixture *fixture)
{
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = "sm_90a",
                                              .no_device = 1,
                                              .cache_dir = fixture->folder};
    api_fixture_open_with(fixture, &options, 0);
}

/* What a build that must succeed came from. */
static jit_gemm_origin build(const struct api_fixture *fixture, const char *what)
{
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm_info info = {.struct_size = sizeof(info)};
    bool is_right = false;
    expect(api_build_and_compare(fixture, &problem, &info, &is_right) == JIT_GEMM_OK, what);
    expect(is_right, what);
    return info.origin;
}

static int look_at(void *user, const jg_cache_entry *entry)
{
    int *bad = user;
    *bad += entry->state != JG_CACHE_OK;
    return 0;
}

static int count_bad(const char *folder)
{
    const jg_cache_options options = {.folder = folder};
    jg_cache *cache = NULL;
    int bad = 0;
    expect(jg_cache_open(&options, &cache, NULL, 0) == JG_CACHE_OK, "the folder opens");
    expect(jg_cache_walk(cache, true, look_at, &bad) == JG_CACHE_OK, "walk");
    jg_cache_close(cache);
    return bad;
}

/* A context of its own, and a build; with `is_filled` of what the folder has already. */
static void build_under_fault(struct api_fixture *fixture, bool is_filled)
{
    char what[96];
    snprintf(what, sizeof(what), "call %ld of %s fails with %s", fault.call,
             names[fault.function], strerror(fault.error));
    (void)api_fixture_options(fixture);
    if (is_filled) {
        open_context(fixture);
        (void)build(fixture, "the first build");
        jit_gemm_context_destroy(&fixture->context);
    }

    memset(fault.seen, 0, sizeof(fault.seen));
    fault.is_on = true;
    open_context(fixture);
    (void)build(fixture, what);
    fault.is_on = false;

    jit_gemm_context_destroy(&fixture->context);
    expect(count_bad(fixture->folder) == 0, what);
    open_context(fixture);
    (void)build(fixture, what);
    jit_gemm_context_destroy(&fixture->context);
    open_context(fixture);
    expect(build(fixture, what) == JIT_GEMM_ORIGIN_DISK, what);
    api_fixture_close(fixture);
}

/* Of a list of errors all have their turn, each at every so many calls; with
 * JIT_GEMM_TEST_EVERY=1 at each. */
static int read_every(void)
{
    const int usual = 16;
    return test_stride(usual) == 1 ? 1 : usual;
}

/* Every call that a build without a fault makes. */
static int fail_every_call(struct api_fixture *fixture, bool is_filled, int error, int turn)
{
    const int every = read_every();
    long calls[FUNCTION_COUNT];
    int count = 0;
    fault.call = 0;
    build_under_fault(fixture, is_filled);
    memcpy(calls, fault.seen, sizeof(calls));
    for (int function = 0; function < FUNCTION_COUNT; function++) {
        for (long call = 1; call <= calls[function]; call++) {
            if (turn++ % every != 0) {
                continue;
            }
            fault.function = (enum function)function;
            fault.call = call;
            fault.error = error;
            build_under_fault(fixture, is_filled);
            count++;
        }
    }
    return count;
}

int main(void)
{
    static const int errors[] = {ENOSPC, EIO,    EDQUOT, EROFS,  EMFILE, EINTR,
                                 EXDEV,  EEXIST, ENOENT, ESTALE, ENOLCK, EACCES};
    static struct api_fixture fixture;
    int count = 0;
    for (int i = 0; i < (int)(sizeof(errors) / sizeof(errors[0])); i++) {
        count += fail_every_call(&fixture, false, errors[i], i);
        count += fail_every_call(&fixture, true, errors[i], i);
    }
    printf("%d calls failed, each in a build of its own\n", count);
    expect(count > 100, "there were calls to fail");
    return plain_end("failing_disk");
}
