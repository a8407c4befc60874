/* SPDX-License-Identifier: MIT */
/* Walk and trim over a folder of a few entries. */
#include "cache_fixture.h"
#include "internal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_ENTRIES = 10 };

static struct fixture f;
static struct sample samples[N_ENTRIES];

/* Entry i is i hours older than now + 1 minute; all have the same size. */
static void begin(void)
{
    fixture_begin(&f);
    for (unsigned i = 0; i < N_ENTRIES; i++) {
        char path[256];
        time_t when = time(NULL) - 60 - 3600 * (time_t)i;
        struct timespec times[2] = {{when, 0}, {when, 0}};
        samples[i] = sample_make(i * 37, 1000, 64, 8);
        cr_assert_eq(sample_put(&f, f.cache, &samples[i]), JG_CACHE_OK, "%s", f.reason);
        entry_path(&f, &samples[i].name, path);
        cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    }
}

static void end(void)
{
    for (unsigned i = 0; i < N_ENTRIES; i++) {
        sample_free(&samples[i]);
    }
    fixture_end(&f);
}

TestSuite(cache_trim, .init = begin, .fini = end);

struct visits {
    int n, n_good, stop_after, remove_at;
    uint64_t bytes;
    jg_cache_name last;
    int ordered, contents_right;
};

static int visit(void *user, const jg_cache_entry *entry)
{
    struct visits *v = user;
    if (v->n > 0 && memcmp(v->last.bytes, entry->name.bytes, 16) >= 0) {
        v->ordered = 0;
    }
    v->last = entry->name;
    v->bytes += entry->file_bytes;
    if (entry->state == JG_CACHE_OK) {
        v->n_good++;
        for (unsigned i = 0; i < N_ENTRIES; i++) {
            if (memcmp(samples[i].name.bytes, entry->name.bytes, 16) == 0) {
                v->contents_right +=
                    entry->material_size == 64 && entry->metadata_size == 8 &&
                    entry->payload_size == 1000 &&
                    !memcmp(entry->material, samples[i].material, 64) &&
                    !memcmp(entry->metadata, samples[i].metadata, 8) &&
                    llabs(entry->modified - (time(NULL) - 60 - 3600 * (int64_t)i)) < 60;
            }
        }
    }
    v->n++;
    if (v->n == v->stop_after) {
        return 2;
    }
    return v->n == v->remove_at;
}

static struct visits walk(int verify, int stop_after, int remove_at)
{
    struct visits v = {.ordered = 1, .stop_after = stop_after, .remove_at = remove_at};
    cr_expect_eq(jg_cache_walk(f.cache, verify, visit, &v), JG_CACHE_OK);
    return v;
}

static void spoil_payload(const struct sample *s)
{
    char path[256];
    size_t size;
    entry_path(&f, &s->name, path);
    unsigned char *bytes = read_file(path, &size);
    bytes[size - 1] ^= 1;
    write_file(path, bytes, size);
    free(bytes);
}

Test(cache_trim, walk_shows_every_entry_in_order)
{
    struct visits v = walk(1, 0, 0);
    cr_expect_eq(v.n, N_ENTRIES);
    cr_expect_eq(v.n_good, N_ENTRIES);
    cr_expect_eq(v.contents_right, N_ENTRIES);
    cr_expect(v.ordered);
    cr_expect_eq(v.bytes, (uint64_t)N_ENTRIES * 1192);
}

Test(cache_trim, walk_finds_a_damaged_payload_only_when_asked)
{
    spoil_payload(&samples[4]);
    cr_expect_eq(walk(0, 0, 0).n_good, N_ENTRIES);
    cr_expect_eq(walk(1, 0, 0).n_good, N_ENTRIES - 1);
    cr_expect_eq(count_quarantined(&f), 0);
}

Test(cache_trim, walk_shows_what_stands_in_place_of_an_entry)
{
    char path[256];
    entry_path(&f, &samples[2].name, path);
    cr_assert(!unlink(path) && !mkdir(path, 0700));
    cr_expect_eq(walk(0, 0, 0).n, N_ENTRIES);
    cr_expect_eq(walk(0, 0, 0).n_good, N_ENTRIES - 1);
}

Test(cache_trim, visitor_can_remove_and_stop)
{
    cr_expect_eq(walk(0, 0, 3).n, N_ENTRIES);
    cr_expect_eq(walk(0, 0, 0).n, N_ENTRIES - 1);
    cr_expect_eq(walk(0, 4, 0).n, 4);
}

Test(cache_trim, removal_in_a_read_only_cache_is_refused)
{
    jg_cache *reader = fixture_open(&f, 1);
    struct visits v = {.remove_at = 1, .ordered = 1};
    cr_expect_eq(jg_cache_walk(reader, 0, visit, &v), JG_CACHE_IO);
    cr_expect_eq(v.n, N_ENTRIES);
    cr_expect_eq(walk(0, 0, 0).n, N_ENTRIES);
    jg_cache_close(reader);
}

Test(cache_trim, walk_goes_on_past_a_refused_subfolder)
{
    char shard[256];
    struct visits v = {.ordered = 1};
    snprintf(shard, sizeof(shard), "%s/v1/%02x", f.folder, samples[1].name.bytes[0]);
    cr_assert_eq(chmod(shard, 0777), 0);
    cr_expect_eq(jg_cache_walk(f.cache, 0, visit, &v), JG_CACHE_UNTRUSTED);
    cr_expect_eq(v.n, N_ENTRIES - 1);
}

Test(cache_trim, without_limits_nothing_goes)
{
    uint64_t removed = 9, bytes = 9;
    cr_expect_eq(jg_cache_trim(f.cache, 0, 0, &removed, &bytes), JG_CACHE_OK);
    cr_expect_eq(removed, 0);
    cr_expect_eq(bytes, 0);
    cr_expect_eq(walk(0, 0, 0).n, N_ENTRIES);
}

Test(cache_trim, size_limit_removes_the_oldest)
{
    uint64_t removed, bytes;
    cr_expect_eq(jg_cache_trim(f.cache, (uint64_t)4 * 1192 + 5, 0, &removed, &bytes),
                 JG_CACHE_OK);
    cr_expect_eq(removed, 6);
    cr_expect_eq(bytes, (uint64_t)6 * 1192);
    for (unsigned i = 0; i < N_ENTRIES; i++) {
        cr_expect_eq(sample_get(&f, f.cache, &samples[i]),
                     i < 4 ? (int)JG_CACHE_OK : (int)JG_CACHE_MISS, "entry %u", i);
    }
}

Test(cache_trim, age_limit_removes_what_is_older)
{
    uint64_t removed;
    cr_expect_eq(jg_cache_trim(f.cache, 0, 7200, &removed, NULL), JG_CACHE_OK);
    cr_expect_eq(removed, N_ENTRIES - 2);
    cr_expect_eq(sample_get(&f, f.cache, &samples[1]), JG_CACHE_OK);
}

Test(cache_trim, used_entry_outlives_a_younger_one)
{
    uint64_t removed;
    cr_assert_eq(sample_get(&f, f.cache, &samples[9]), JG_CACHE_OK); /* the oldest */
    cr_expect_eq(jg_cache_trim(f.cache, 1192, 0, &removed, NULL), JG_CACHE_OK);
    cr_expect_eq(removed, N_ENTRIES - 1);
    cr_expect_eq(sample_get(&f, f.cache, &samples[9]), JG_CACHE_OK);
}

static void stamp(const struct sample *sample, time_t at)
{
    char path[256];
    const struct timespec times[2] = {{at, 0}, {at, 0}};
    entry_path(&f, &sample->name, path);
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

Test(cache_trim, entry_from_the_far_future_is_the_oldest)
{
    uint64_t removed;
    stamp(&samples[0], time(NULL) + 315360000);

    cr_expect_eq(jg_cache_trim(f.cache, 0, 31536000, &removed, NULL), JG_CACHE_OK);

    cr_expect_eq(removed, 1);
    cr_expect_eq(sample_get(&f, f.cache, &samples[0]), JG_CACHE_MISS);
}

Test(cache_trim, entry_of_a_clock_that_is_a_little_ahead_is_the_youngest)
{
    uint64_t removed;
    stamp(&samples[0], time(NULL) + 3600);

    cr_expect_eq(jg_cache_trim(f.cache, 0, 1, &removed, NULL), JG_CACHE_OK);

    cr_expect_eq(removed, N_ENTRIES - 1);
    cr_expect_eq(sample_get(&f, f.cache, &samples[0]), JG_CACHE_OK);
}

/* Folders that may be read and not written, as another user where this one is root. */
Test(cache_trim, what_cannot_be_removed_is_told_and_still_counts)
{
    const uid_t user = geteuid();
    uint64_t removed = 7;
    char path[256];
    for (unsigned i = 0; i < N_ENTRIES; i++) {
        entry_path(&f, &samples[i].name, path);
        *strrchr(path, '/') = '\0';
        cr_assert_eq(chmod(path, 0555), 0);
    }
    cr_assert(user != 0 || seteuid(65534) == 0);

    const jg_cache_result result = jg_cache_trim(f.cache, 1, 0, &removed, NULL);

    cr_assert(user != 0 || seteuid(0) == 0);
    cr_expect_eq(result, JG_CACHE_IO);
    cr_expect_eq(removed, 0);
    for (unsigned i = 0; i < N_ENTRIES; i++) {
        entry_path(&f, &samples[i].name, path);
        *strrchr(path, '/') = '\0';
        cr_assert_eq(chmod(path, 0700), 0);
        cr_expect_eq(sample_get(&f, f.cache, &samples[i]), JG_CACHE_OK);
    }
}

/* A temporary file of a writer, as old as told. */
static void make_temp(const char *name, time_t age, char ret_path[320])
{
    struct timespec times[2] = {{time(NULL) - age, 0}, {time(NULL) - age, 0}};
    snprintf(ret_path, 320, "%s/v1/00/%s", f.folder, name);
    write_file(ret_path, "half an entry", 13);
    cr_assert_eq(utimensat(AT_FDCWD, ret_path, times, 0), 0);
}

Test(cache_trim, temporary_files_of_dead_writers_go_and_others_stay)
{
    char names[5][80], dead[320], alive[320], foreign[320], old[320], unknown[320];
    const unsigned long long pid_space = jg_cache_store_pid_space();
    uint64_t removed, bytes;
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    snprintf(names[0], 80, ".tmp-%016llx-%ld-1", pid_space, (long)child);
    snprintf(names[1], 80, ".tmp-%016llx-%ld-2", pid_space, (long)getpid());
    snprintf(names[2], 80, ".tmp-%016llx-%ld-3", pid_space ^ 1, (long)child);
    snprintf(names[3], 80, ".tmp-%016llx-%ld-4", pid_space ^ 1, (long)getpid());
    snprintf(names[4], 80, ".tmp-something-else");
    make_temp(names[0], 10, dead);
    make_temp(names[1], 10, alive);
    make_temp(names[2], 10, foreign);
    make_temp(names[3], 4000, old);
    make_temp(names[4], 400000, unknown);

    cr_expect_eq(jg_cache_trim(f.cache, 0, 0, &removed, &bytes), JG_CACHE_OK);

    cr_expect_eq(removed, 0);
    cr_expect_eq(bytes, (pid_space != 0) * 13 + 13);
    cr_expect_eq(path_exists(dead), pid_space == 0);
    cr_expect(path_exists(alive));
    cr_expect(path_exists(foreign), "another machine's process number means nothing here");
    cr_expect_not(path_exists(old));
    cr_expect(path_exists(unknown), "a name that is not ours was removed");
}

Test(cache_trim, quarantine_is_emptied_and_foreign_names_stay)
{
    char foreign[256];
    uint64_t removed, bytes;
    spoil_payload(&samples[3]);
    cr_assert_eq(sample_get(&f, f.cache, &samples[3]), JG_CACHE_DAMAGED);
    snprintf(foreign, sizeof(foreign), "%s/v1/quarantine/notes.txt", f.folder);
    write_file(foreign, "x", 1);
    cr_assert_eq(count_quarantined(&f), 2);

    cr_expect_eq(jg_cache_trim(f.cache, 0, 0, &removed, &bytes), JG_CACHE_OK);

    cr_expect_eq(removed, 0);
    cr_expect_eq(bytes, 1192);
    cr_expect_eq(count_quarantined(&f), 1);
    cr_expect(path_exists(foreign));
}

Test(cache_trim, foreign_names_are_never_touched)
{
    static const char *const names[] = {"README", "x.jgk", ".tmp-1-2-3",
                                        "0123456789ABCDEF0123456789abcd.jgk",
                                        "0123456789abcdef0123456789abcd.jgk.old"};
    char path[320], outside[256];
    for (size_t i = 0; i < 5; i++) {
        make_temp(names[i], 400000, path);
    }
    snprintf(outside, sizeof(outside), "%s/notes", f.folder);
    write_file(outside, "x", 1);

    struct visits v = walk(0, 0, 0);
    cr_expect_eq(v.n, N_ENTRIES);
    cr_expect_eq(jg_cache_trim(f.cache, 1, 1, NULL, NULL), JG_CACHE_OK);
    cr_expect_eq(walk(0, 0, 0).n, 0);
    cr_expect_eq(count_files(f.folder, ""), 6);
}
