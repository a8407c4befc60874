/* SPDX-License-Identifier: MIT */
/*
 * Power cuts, by a model: what two puts ask of the file system is recorded, and after each
 * of these calls every state of the disk is made that a cut may leave. What was synced is
 * there; each other change of a folder is there or not, for itself; bytes of a file that
 * were not synced are there, gone, zero, or there by half. A read then brings the right
 * bytes or none, a put mends the rest, and what a put has said to be kept is kept.
 */
#include "cache_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_STEPS = 64, MOST_BYTES = 8192, ENTRIES = 2, DATA_FORMS = 4 };

enum kind { MADE_FOLDER, MADE_FILE, WROTE, RENAMED, SYNCED };

/* One call. Paths are below the versioned folder, "" is that folder. */
struct step {
    enum kind kind;
    char path[128], to[128]; /* `to` of RENAMED */
    unsigned char bytes[MOST_BYTES];
    size_t size;
};

static struct step steps[MOST_STEPS];
static int step_count;
static bool is_recording;
static char base[PATH_MAX];      /* of the paths */
static int kept[MOST_STEPS + 1]; /* puts that had returned OK before step i */
static int failures;

static void check(bool holds, const char *what, int step, unsigned state)
{
    if (!holds) {
        fprintf(stderr, "FAIL: %s: cut after %d calls, state %x\n", what, step, state);
        failures++;
    }
}

/* ------------------------------------------------------------------------- the recorder */

/* The path of an open file or folder, and of a name in it. False if it is elsewhere. */
static bool name_path(int fd, const char *name, char ret_path[128])
{
    char link[64];
    char path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof(path) - 1);
    if (size < 0) {
        return false;
    }
    path[size] = '\0';
    const size_t skip = strlen(base);
    if (strncmp(path, base, skip) != 0) {
        return false;
    }
    const char *inside = path[skip] == '/' ? path + skip + 1 : path + skip;
    snprintf(ret_path, 128, "%.40s%s%.60s", inside,
             inside[0] != '\0' && name[0] != '\0' ? "/" : "", name);
    return true;
}

static struct step *record(enum kind kind, int fd, const char *name)
{
    char path[128];
    if (!is_recording || !name_path(fd, name, path)) {
        return NULL;
    }
    if (step_count == MOST_STEPS) {
        fprintf(stderr, "more calls than there is room for\n");
        exit(99);
    }
    struct step *step = &steps[step_count++];
    step->kind = kind;
    memcpy(step->path, path, sizeof(path));
    return step;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved */
int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    const int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && (flags & O_CREAT) != 0) {
        const int error = errno;
        (void)record(MADE_FILE, folder, path);
        errno = error;
    }
    return fd;
}

int mkdirat(int folder, const char *path, mode_t mode)
{
    const int result = (int)syscall(SYS_mkdirat, folder, path, mode);
    if (result == 0) {
        (void)record(MADE_FOLDER, folder, path);
    }
    return result;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    const ssize_t done = (ssize_t)syscall(SYS_write, fd, bytes, size);
    struct step *step = done > 0 ? record(WROTE, fd, "") : NULL;
    if (step != NULL) {
        if ((size_t)done > sizeof(step->bytes)) {
            fprintf(stderr, "a longer write than there is room for\n");
            exit(99);
        }
        memcpy(step->bytes, bytes, (size_t)done);
        step->size = (size_t)done;
    }
    return done;
}

int fsync(int fd)
{
    (void)record(SYNCED, fd, "");
    return (int)syscall(SYS_fsync, fd);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    const int result = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
    struct step *step = result == 0 ? record(RENAMED, from_fd, from) : NULL;
    if (step != NULL) {
        (void)name_path(to_fd, to, step->to);
    }
    return result;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name): libc's are reserved */

/* --------------------------------------------------------------------------- the model */

static bool is_in_folder(const char *path, const char *folder)
{
    const char *slash = strrchr(path, '/');
    const size_t size = slash != NULL ? (size_t)(slash - path) : 0;
    return strlen(folder) == size && strncmp(path, folder, size) == 0;
}

/* Is the change of a folder, or the write, certain before a cut at `end`? */
static bool is_synced(int number, int end)
{
    const struct step *step = &steps[number];
    for (int i = number + 1; i < end; i++) {
        if (steps[i].kind == SYNCED &&
            (step->kind == WROTE ? strcmp(steps[i].path, step->path) == 0
                                 : is_in_folder(step->path, steps[i].path))) {
            return true;
        }
    }
    return false;
}

static bool is_change(int number)
{
    return steps[number].kind == MADE_FOLDER || steps[number].kind == MADE_FILE ||
           steps[number].kind == RENAMED;
}

/* The file under the name that it was made with, as a cut at `end` leaves its bytes. */
static void write_data(const char *made, const char *target, int end, unsigned form)
{
    unsigned char bytes[2 * MOST_BYTES];
    size_t size = 0;
    for (int i = 0; i < end; i++) {
        const struct step *step = &steps[i];
        if (step->kind != WROTE || strcmp(step->path, made) != 0) {
            continue;
        }
        if (is_synced(i, end) || form == 1) {
            memcpy(bytes + size, step->bytes, step->size);
            size += step->size;
        } else if (form == 2) {
            memset(bytes + size, 0, step->size);
            size += step->size;
        } else if (form == 3) {
            memcpy(bytes + size, step->bytes, step->size / 2);
            size += step->size / 2;
        }
    }
    write_file(target, bytes, size);
    if (chmod(target, 0600) != 0) {
        exit(99);
    }
}

/* Makes the state: bit n of `state` says whether the n-th change that is not certain is
 * there. False if a folder is not there that another change needs. */
static bool make_state(const char *folder, int end, unsigned state, unsigned form)
{
    unsigned bit = 0;
    for (int i = 0; i < end; i++) {
        const struct step *step = &steps[i];
        if (!is_change(i)) {
            continue;
        }
        const bool is_there = is_synced(i, end) || (state >> bit++ & 1) != 0;
        char path[PATH_MAX + 140];
        if (!is_there) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", folder,
                 step->kind == RENAMED ? step->to : step->path);
        char parent[PATH_MAX + 140];
        snprintf(parent, sizeof(parent), "%s", path);
        *strrchr(parent, '/') = '\0';
        if (access(parent, F_OK) != 0) {
            return false; /* what a folder has is lost with it */
        }
        if (step->kind == MADE_FOLDER) {
            if (mkdir(path, 0700) != 0) {
                exit(99);
            }
            continue;
        }
        write_data(step->path, path, end, form);
        if (step->kind == RENAMED) {
            snprintf(path, sizeof(path), "%s/%s", folder, step->path);
            (void)unlink(path);
        }
    }
    return true;
}

static unsigned count_uncertain(int end)
{
    unsigned count = 0;
    for (int i = 0; i < end; i++) {
        count += is_change(i) && !is_synced(i, end) ? 1 : 0;
    }
    return count;
}

/* ----------------------------------------------------------------------------- the test */

struct tally {
    int states, hits, misses, damaged;
};

static void look_at_state(const struct sample samples[ENTRIES], int end, unsigned state,
                          unsigned form, bool is_synced_put, struct tally *tally)
{
    struct fixture f;
    fixture_begin_in_memory(&f);
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", jg_cache_folder(f.cache));
    (void)make_state(folder, end, state, form);
    tally->states++;
    for (int i = 0; i < ENTRIES; i++) {
        const int result = sample_get(&f, f.cache, &samples[i]);
        tally->hits += result == JG_CACHE_OK;
        tally->misses += result == JG_CACHE_MISS;
        tally->damaged += result == JG_CACHE_DAMAGED;
        check(result == JG_CACHE_OK || result == JG_CACHE_MISS ||
                  result == JG_CACHE_DAMAGED,
              "a read brings the right bytes or none", end, state);
        check(!is_synced_put || result != JG_CACHE_DAMAGED,
              "what was synced before it got its name is whole", end, state);
        check(!is_synced_put || i >= kept[end] || result == JG_CACHE_OK,
              "what a put has kept is kept", end, state);
        const jg_cache_result put = sample_put(&f, f.cache, &samples[i]);
        check(put == JG_CACHE_OK || put == JG_CACHE_EXISTS, "a put mends it", end, state);
        check(sample_get(&f, f.cache, &samples[i]) == JG_CACHE_OK, "and is read", end,
              state);
    }
    fixture_end(&f);
}

static void record_puts(const struct sample samples[ENTRIES], bool is_synced_put)
{
    struct fixture f;
    fixture_begin_in_memory(&f);
    const jg_cache_options options = {.folder = f.folder, .no_sync = !is_synced_put};
    jg_cache *cache = NULL;
    step_count = 0;
    memset(steps, 0, sizeof(steps));
    memset(kept, 0, sizeof(kept));
    check(jg_cache_open(&options, &cache, NULL, 0) == JG_CACHE_OK, "open", 0, 0);
    snprintf(base, sizeof(base), "%s", jg_cache_folder(cache));
    for (int i = 0; i < ENTRIES; i++) {
        is_recording = true;
        check(sample_put(&f, cache, &samples[i]) == JG_CACHE_OK, "put", i, 0);
        is_recording = false;
        for (int step = step_count; step <= MOST_STEPS; step++) {
            kept[step] = i + 1;
        }
    }
    jg_cache_close(cache);
    fixture_end(&f);
}

static void cut_everywhere(bool is_synced_put)
{
    struct sample samples[ENTRIES];
    struct tally tally = {0};
    for (int i = 0; i < ENTRIES; i++) {
        samples[i] = sample_make(7, 1000 + 100 * (size_t)i, 64, 20);
        samples[i].name.bytes[15] = (unsigned char)i; /* both in one subfolder */
    }
    record_puts(samples, is_synced_put);
    for (int end = 0; end <= step_count; end++) {
        const unsigned states = 1U << count_uncertain(end);
        for (unsigned state = 0; state < states; state++) {
            for (unsigned form = 0; form < DATA_FORMS; form++) {
                look_at_state(samples, end, state, form, is_synced_put, &tally);
            }
        }
    }
    printf("%s: %d calls, %d states: %d hits, %d misses, %d damaged\n",
           is_synced_put ? "with fsync" : "without", step_count, tally.states, tally.hits,
           tally.misses, tally.damaged);
    check(tally.hits > 0 && tally.misses > 0, "there was something to lose", 0, 0);
    check(is_synced_put || tally.damaged > 0, "without fsync entries are damaged", 0, 0);
    for (int i = 0; i < ENTRIES; i++) {
        sample_free(&samples[i]);
    }
}

int main(void)
{
    cut_everywhere(true);
    cut_everywhere(false);
    printf("power_cut: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures > 0;
}
