/* SPDX-License-Identifier: MIT */
/*
 * What a launch asks of the system besides the driver: nothing. The functions below take
 * the place of the C library's in this program and count while a launch is watched; that
 * they count at all is seen at a context and a create.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api_fixture.h"
#include "base/alloc.h"
#include "plain_test.h"

enum asked { VARIABLE, LOCK, FILE_OPENED, BYTES_READ, BYTES_WRITTEN, WORDED, ASKED_COUNT };

static const char *const names[ASKED_COUNT] = {"variables", "locks",  "files",
                                               "reads",     "writes", "texts"};
static bool is_watching;
static long counts[ASKED_COUNT];

static void note(enum asked asked)
{
    counts[asked] += is_watching ? 1 : 0;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved */
char *getenv(const char *name)
{
    const size_t size = strlen(name);
    note(VARIABLE);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, name, size) == 0 && (*entry)[size] == '=') {
            return *entry + size + 1;
        }
    }
    return NULL;
}

char *secure_getenv(const char *name)
{
    return getenv(name);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);
    note(LOCK);
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "pthread_mutex_lock");
        memcpy(&real, &found, sizeof(real));
    }
    return real(mutex);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    note(FILE_OPENED);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    note(FILE_OPENED);
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t size)
{
    note(BYTES_READ);
    return (ssize_t)syscall(SYS_read, fd, bytes, size);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    note(BYTES_WRITTEN);
    return (ssize_t)syscall(SYS_write, fd, bytes, size);
}

int vsnprintf(char *buffer, size_t size, const char *format, va_list arguments)
{
    static int (*real)(char *, size_t, const char *, va_list);
    note(WORDED);
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "vsnprintf");
        memcpy(&real, &found, sizeof(real));
    }
    return real(buffer, size, format, arguments);
}

int snprintf(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
    return length;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name): libc's are reserved */

/* A launch of each kind of argument: what one does not take is looked at in others. */
static const struct kind {
    const char *problem;
    bool has_c, has_scales, has_counts, has_index;
} kinds[] = {
    {.problem = "m=512 n=256 k=128 a=bf16 dynamic=m"},
    {.problem = "m=512 n=256 k=128 a=bf16 c=bf16 batch=3 dynamic=m,batch", .has_c = true},
    {.problem = "m=512 n=256 k=128 a=e4m3 d=bf16 a_scale=vector b_scale=vector dynamic=m",
     .has_scales = true},
    {.problem = "m=512 n=256 k=128 a=bf16 groups=3 group_by=counts dynamic=m",
     .has_counts = true},
    {.problem = "m=512 n=256 k=128 a=bf16 groups=3 group_by=pointers dynamic=m",
     .has_counts = true},
    {.problem = "m=512 n=256 k=128 a=bf16 a_rows=indexed dynamic=m", .has_index = true},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static jit_gemm *create(const struct api_fixture *fixture, const struct kind *kind)
{
    const jit_gemm_problem problem = api_problem(kind->problem);
    jit_gemm *gemm = NULL;
    expect(jit_gemm_create(fixture->context, &problem, &gemm) == JIT_GEMM_OK,
           kind->problem);
    return gemm;
}

static jit_gemm_arg at(bool is_there, uint64_t address)
{
    return (jit_gemm_arg){.pointer = is_there ? address : 0};
}

static void run(jit_gemm *gemm, const struct kind *kind, uint64_t offset)
{
    const bool has_batch = strstr(kind->problem, "dynamic=m,batch") != NULL;
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .m = 1 + (int64_t)(offset % 500),
                                .batch = has_batch ? 1 + (int64_t)(offset % 5) : 0,
                                .a = {.pointer = (1 << 20) + 256 * offset},
                                .b = {.pointer = 1 << 26},
                                .c = at(kind->has_c, 1 << 28),
                                .d = {.pointer = 1 << 27},
                                .a_scale = at(kind->has_scales, 1 << 29),
                                .b_scale = at(kind->has_scales, 1 << 29),
                                .group_sizes = at(kind->has_counts, 1 << 30).pointer,
                                .a_rows = at(kind->has_index, 1 << 30)};
    expect(jit_gemm_run(gemm, &args, NULL) == JIT_GEMM_OK, kind->problem);
}

int main(void)
{
    static struct api_fixture fixture;
    is_watching = true;
    api_fixture_open(&fixture);
    jit_gemm *gemms[KINDS];
    for (int i = 0; i < KINDS; i++) {
        gemms[i] = create(&fixture, &kinds[i]);
    }
    is_watching = false;
    for (int i = 0; i < ASKED_COUNT; i++) {
        printf("a context and creates ask for %s %ld times\n", names[i], counts[i]);
        expect(counts[i] > 0, "what they ask for is counted");
    }
    for (int i = 0; i < KINDS; i++) {
        run(gemms[i], &kinds[i], 0);
    }
    memset(counts, 0, sizeof(counts));
    const long allocations = jg_alloc_count();
    const long calls = atomic_load(&fixture.fake->calls);

    is_watching = true;
    for (uint64_t i = 0; i < 1000; i++) {
        run(gemms[i % KINDS], &kinds[i % KINDS], i);
    }
    is_watching = false;

    for (int i = 0; i < ASKED_COUNT; i++) {
        expect(counts[i] == 0, names[i]);
    }
    expect(jg_alloc_count() == allocations, "no allocation");
    expect(atomic_load(&fixture.fake->calls) > calls, "the driver was called");
    for (int i = 0; i < KINDS; i++) {
        jit_gemm_destroy(&gemms[i]);
    }
    api_fixture_close(&fixture);
    return plain_end("quiet_run");
}
