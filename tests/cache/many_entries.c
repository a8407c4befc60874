/* SPDX-License-Identifier: MIT */
/*
 * Folders with many entries. Without arguments a test: what a lookup and a trim ask of the
 * system, counted at two sizes. The functions below take the place of the C library's in
 * this program and count.
 *
 *     many_entries ENTRIES PAYLOAD_BYTES [sync]    measures instead; sync: puts with fsync
 */
#include "cache_fixture.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long calls; /* of the functions below, so far */
static int failures;

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved */
int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    calls++;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int fstatat(int folder, const char *path, struct stat *st, int flags)
{
    calls++;
    return (int)syscall(SYS_newfstatat, folder, path, st, flags);
}

int unlinkat(int folder, const char *path, int flags)
{
    calls++;
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}

ssize_t preadv(int fd, const struct iovec *parts, int n_parts, off_t offset)
{
    calls++;
    return (ssize_t)syscall(SYS_preadv, fd, parts, n_parts, offset, 0);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name): libc's are reserved */

static void check(bool holds, const char *what, long first, long second)
{
    if (!holds) {
        fprintf(stderr, "FAIL: %s: %ld, %ld\n", what, first, second);
        failures++;
    }
}

/* An entry of its own for each number, spread over all subfolders. */
static struct sample make_entry(unsigned number, size_t payload_size)
{
    struct sample s = sample_make(number, payload_size, 300, 100);
    for (int i = 0; i < 4; i++) {
        s.name.bytes[1 + i] = (unsigned char)(number >> (8 * i));
        s.material[i] = (unsigned char)(number >> (8 * i));
    }
    return s;
}

/* ------------------------------------------------------------------------------ the test
 */

struct cost {
    long get, trim_all, trim_half; /* calls of one get, and of two trims */
};

static struct cost count_calls(unsigned entries)
{
    struct fixture f;
    struct cost cost;
    uint64_t removed = 0;
    fixture_begin_in_memory(&f);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < entries; i++) {
        struct sample s = make_entry(i, 100);
        check(sample_put(&f, f.cache, &s) == JG_CACHE_OK, "put", i, 0);
        bytes += 512 + 100; /* header and payload */
        sample_free(&s);
    }
    struct sample s = make_entry(entries / 2, 100);
    calls = 0;
    check(sample_get(&f, f.cache, &s) == JG_CACHE_OK, "get", entries, 0);
    cost.get = calls;
    sample_free(&s);

    calls = 0;
    check(jg_cache_trim(f.cache, 0, 0, &removed, NULL) == JG_CACHE_OK && removed == 0,
          "a trim without limits", (long)removed, 0);
    cost.trim_all = calls;
    calls = 0;
    check(jg_cache_trim(f.cache, bytes / 2, 0, &removed, NULL) == JG_CACHE_OK &&
              (entries == 1 || (removed > entries / 4 && removed < entries)),
          "a trim to a half", (long)removed, entries);
    cost.trim_half = calls;
    fixture_end(&f);
    return cost;
}

static void test_costs(void)
{
    enum { ENTRIES = 2000 };
    const struct cost none = count_calls(1);
    const struct cost one = count_calls(ENTRIES);
    const struct cost two = count_calls(2 * ENTRIES);
    printf(
        "calls: get %ld and %ld; trim that keeps all %ld, %ld and %ld; to a half %ld and "
        "%ld\n",
        one.get, two.get, none.trim_all, one.trim_all, two.trim_all, one.trim_half,
        two.trim_half);
    check(one.get == two.get && one.get > 0, "a get costs the same in any folder", one.get,
          two.get);
    check(two.trim_all - one.trim_all <= ENTRIES + ENTRIES / 100,
          "a trim asks once for each entry", one.trim_all, two.trim_all);
    check(two.trim_half - one.trim_half <= 3 * ENTRIES,
          "and at most three times where it removes a half", one.trim_half, two.trim_half);
}

/* ------------------------------------------------------------------------- measurements */

static double read_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static double now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

/* Of the processor: what others do at the same time does not count. */
static double work_us(void)
{
    return read_us(CLOCK_THREAD_CPUTIME_ID);
}

/* How often somebody else got the processor while this thread could have gone on. */
static long count_interruptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static void print_times(const char *what, double *times, unsigned count)
{
    if (count == 0) {
        printf("  %-26s none\n", what);
        return;
    }
    qsort(times, count, sizeof(*times), compare_numbers);
    printf("  %-26s p50 %8.1f us  p99 %8.1f us  most %8.1f us\n", what, times[count / 2],
           times[count - 1 - count / 100], times[count - 1]);
}

static double *make_times(unsigned most)
{
    double *times = calloc(most, sizeof(double));
    if (times == NULL) {
        fprintf(stderr, "no memory for %u times\n", most);
        exit(1);
    }
    return times;
}

/* Calls of one kind: what each took, in us. Those by the clock that nobody interrupted are
 * a row of their own: on a machine that others use, the tail of the rest is the others'. */
struct series {
    const char *what;
    double *clock, *alone, *work;
    unsigned count, n_alone;
};

struct moment {
    long interruptions;
    double work, clock;
};

static struct series make_series(const char *what, unsigned most)
{
    return (struct series){.what = what,
                           .clock = make_times(most),
                           .alone = make_times(most),
                           .work = make_times(most)};
}

static struct moment read_moment(void)
{
    struct moment now = {.interruptions = count_interruptions()};
    now.work = work_us();
    now.clock = now_us();
    return now;
}

static void series_add(struct series *series, struct moment begin)
{
    const unsigned i = series->count++;
    series->clock[i] = now_us() - begin.clock;
    series->work[i] = work_us() - begin.work;
    if (count_interruptions() == begin.interruptions) {
        series->alone[series->n_alone++] = series->clock[i];
    }
}

static void series_print_and_free(struct series *series)
{
    char what[64];
    printf("%s: %u of %u were interrupted\n", series->what, series->count - series->n_alone,
           series->count);
    snprintf(what, sizeof(what), "%s, by the clock", series->what);
    print_times(what, series->clock, series->count);
    snprintf(what, sizeof(what), "%s, the uninterrupted", series->what);
    print_times(what, series->alone, series->n_alone);
    snprintf(what, sizeof(what), "%s, of the processor", series->what);
    print_times(what, series->work, series->count);
    free(series->clock);
    free(series->alone);
    free(series->work);
}

/* Of the payload, as a read does: the rest of a lookup's time is the cache's. */
static double hash_us(const struct sample *s)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    const double begin = work_us();
    crypto_hash_sha256(digest, s->payload, s->payload_size);
    return work_us() - begin;
}

static void measure_gets(struct fixture *f, unsigned entries, size_t payload_bytes)
{
    struct series gets = make_series("get", entries);
    double *hashes = make_times(entries);
    double *rests = make_times(entries);
    unsigned long long state = 11;
    for (unsigned i = 0; i < entries; i++) {
        struct sample s =
            make_entry((unsigned)next_random(&state) % entries, payload_bytes);
        const jg_cache_key key = sample_key(&s);
        jg_cache_blob blob;
        const struct moment begin = read_moment();
        check(jg_cache_get(f->cache, &key, &blob, NULL, 0) == JG_CACHE_OK, "get", i, 0);
        series_add(&gets, begin);
        jg_cache_blob_free(&blob);
        hashes[i] = hash_us(&s);
        rests[i] = gets.work[i] > hashes[i] ? gets.work[i] - hashes[i] : 0;
        sample_free(&s);
    }
    series_print_and_free(&gets);
    print_times("hashing, of the processor", hashes, entries);
    print_times("get less hashing", rests, entries);
    free(hashes);
    free(rests);
}

static void print_trim(const char *what, unsigned entries, struct moment begin)
{
    const double clock = now_us() - begin.clock;
    const double work = work_us() - begin.work;
    printf("a trim that %s %u: %.3f s, %.2f us an entry, of the processor %.2f\n", what,
           entries, 1e-6 * clock, clock / entries, work / entries);
}

static void measure_trims(struct fixture *f, unsigned entries)
{
    struct rusage usage;
    uint64_t removed = 0;
    struct moment begin = read_moment();
    check(jg_cache_trim(f->cache, 0, 0, NULL, NULL) == JG_CACHE_OK, "trim", 0, 0);
    print_trim("keeps all", entries, begin);
    begin = read_moment();
    check(jg_cache_trim(f->cache, 1, 0, &removed, NULL) == JG_CACHE_OK, "trim", 0, 0);
    print_trim("removes all", entries, begin);
    check(removed == entries, "entries removed", (long)removed, entries);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        printf("most memory of the program: %ld KiB\n", usage.ru_maxrss);
    }
}

static void measure(unsigned entries, size_t payload_bytes, bool is_synced)
{
    struct fixture f;
    struct series puts = make_series("put", entries);
    fixture_begin(&f);
    const jg_cache_options options = {.folder = f.folder, .no_sync = !is_synced};
    jg_cache *writer = NULL;
    check(jg_cache_open(&options, &writer, NULL, 0) == JG_CACHE_OK, "open", 0, 0);
    printf("%u entries with %zu bytes each, %s fsync, in %s\n", entries, payload_bytes,
           is_synced ? "with" : "without", f.folder);
    for (unsigned i = 0; i < entries; i++) {
        struct sample s = make_entry(i, payload_bytes);
        const struct moment begin = read_moment();
        check(sample_put(&f, writer, &s) == JG_CACHE_OK, "put", i, 0);
        series_add(&puts, begin);
        sample_free(&s);
    }
    jg_cache_close(writer);
    series_print_and_free(&puts);
    measure_gets(&f, entries, payload_bytes);
    measure_trims(&f, entries);
    fixture_end(&f);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        test_costs();
    } else if (argc >= 3 && atol(argv[1]) > 0 && atol(argv[2]) >= 0) {
        measure((unsigned)atol(argv[1]), (size_t)atol(argv[2]), argc > 3);
    } else {
        fprintf(stderr, "many_entries [ENTRIES PAYLOAD_BYTES [sync]]\n");
        return 2;
    }
    printf("many_entries: %s\n", failures == 0 ? "ok" : "FAILED");
    return failures > 0;
}
