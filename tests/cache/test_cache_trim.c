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

/* ------------------------------------------------------------------------ after a put */

enum { ENTRY_BYTES = 1192 };

/* The folder's ten entries, and a cache that allows eight. */
static jg_cache *open_limited(void)
{
    const jg_cache_options options = {
        .folder = f.folder, .no_sync = true, .max_bytes = (uint64_t)8 * ENTRY_BYTES};
    jg_cache *cache = NULL;
    cr_assert_eq(jg_cache_open(&options, &cache, f.reason, sizeof(f.reason)), JG_CACHE_OK,
                 "%s", f.reason);
    return cache;
}

static uint64_t count_trimmed(const jg_cache *cache)
{
    jg_cache_counts counts;
    jg_cache_get_counts(cache, &counts);
    return counts.trimmed;
}

static void put_number(jg_cache *cache, unsigned number)
{
    struct sample sample = sample_make(number, 1000, 64, 8);
    cr_assert_eq(sample_put(&f, cache, &sample), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_get(&f, cache, &sample), JG_CACHE_OK);
    sample_free(&sample);
}

Test(cache_trim, put_over_the_limit_removes_the_least_recently_used)
{
    jg_cache *cache = open_limited();

    put_number(cache, 1000);

    cr_expect_eq(count_trimmed(cache), 4, "seven of eleven are left");
    for (int i = 0; i < N_ENTRIES; i++) {
        cr_expect_eq(sample_get(&f, cache, &samples[i]),
                     i < 6 ? JG_CACHE_OK : JG_CACHE_MISS, "entry %d", i);
    }
    jg_cache_close(cache);
}

Test(cache_trim, put_into_a_folder_without_a_limit_removes_nothing)
{
    put_number(f.cache, 1000);

    cr_expect_eq(count_trimmed(f.cache), 0);
    cr_expect_eq(count_files(f.folder, ".trimmed"), 0);
}

static time_t time_of(const char *path)
{
    struct stat st;
    cr_assert_eq(stat(path, &st), 0, "%s", path);
    return st.st_mtim.tv_sec;
}

static void set_time(const char *path, time_t when)
{
    const struct timespec times[2] = {{when, 0}, {when, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A limit of 800 entries: a sixteenth is fifty. */
Test(cache_trim, puts_look_at_the_folder_once_an_hour_or_after_a_share_of_the_limit)
{
    const jg_cache_options options = {
        .folder = f.folder, .no_sync = true, .max_bytes = (uint64_t)800 * ENTRY_BYTES};
    char stamp_path[256];
    const time_t recent = time(NULL) - 600, long_ago = recent - 86400;
    jg_cache *cache = NULL;
    cr_assert_eq(jg_cache_open(&options, &cache, NULL, 0), JG_CACHE_OK);
    snprintf(stamp_path, sizeof(stamp_path), "%s/" JG_CACHE_TRIM_STAMP,
             jg_cache_folder(cache));

    put_number(cache, 1000);
    cr_expect_gt(time_of(stamp_path), recent, "the first put looks");
    set_time(stamp_path, recent);
    for (unsigned i = 1; i <= 50; i++) {
        put_number(cache, 1000 + i);
    }
    cr_expect_eq(time_of(stamp_path), recent, "the next fifty do not");
    put_number(cache, 1051);
    cr_expect_gt(time_of(stamp_path), recent, "the one after them does");
    set_time(stamp_path, long_ago);
    put_number(cache, 1052);
    cr_expect_gt(time_of(stamp_path), recent, "and so does one after an hour");
    jg_cache_close(cache);
}

/* The clock was ten years ahead when somebody trimmed and stored, and has been set right.
 */
Test(cache_trim, clock_that_was_set_back_stops_neither_trims_nor_hits)
{
    char stamp_path[256];
    const time_t ahead = time(NULL) + 315360000;
    jg_cache *cache = open_limited();
    snprintf(stamp_path, sizeof(stamp_path), "%s/" JG_CACHE_TRIM_STAMP,
             jg_cache_folder(cache));
    write_file(stamp_path, "", 0);
    set_time(stamp_path, ahead);
    for (int i = 0; i < N_ENTRIES; i++) {
        stamp(&samples[i], ahead + i);
    }
    cr_expect_eq(sample_get(&f, cache, &samples[0]), JG_CACHE_OK);

    put_number(cache, 1000);

    cr_expect_eq(count_trimmed(cache), 4, "seven of eleven are left");
    cr_expect_lt(time_of(stamp_path), ahead, "the stamp has the time of now");
    cr_expect_eq(sample_get(&f, cache, &samples[0]), JG_CACHE_OK,
                 "what was used is younger than what seems to be of the future");
    jg_cache_close(cache);
}

Test(cache_trim, put_of_an_entry_beyond_the_limit_keeps_it)
{
    const jg_cache_options options = {.folder = f.folder, .no_sync = true, .max_bytes = 1};
    jg_cache *cache = NULL;
    cr_assert_eq(jg_cache_open(&options, &cache, NULL, 0), JG_CACHE_OK);

    put_number(cache, 1000);

    cr_expect_eq(count_trimmed(cache), N_ENTRIES);
    jg_cache_close(cache);
}

Test(cache_trim, hit_on_an_entry_from_the_future_makes_it_the_youngest)
{
    uint64_t removed;
    stamp(&samples[0], time(NULL) + 315360000);
    cr_assert_eq(sample_get(&f, f.cache, &samples[0]), JG_CACHE_OK);

    cr_expect_eq(jg_cache_trim(f.cache, ENTRY_BYTES, 0, &removed, NULL), JG_CACHE_OK);

    cr_expect_eq(removed, N_ENTRIES - 1);
    cr_expect_eq(sample_get(&f, f.cache, &samples[0]), JG_CACHE_OK);
}

/* ------------------------------------------------------------------ a removed folder */

Test(cache_trim, folder_that_was_removed_is_made_again_at_the_next_put)
{
    fixture_remove_tree(f.folder);
    cr_expect_eq(sample_get(&f, f.cache, &samples[0]), JG_CACHE_MISS);

    cr_expect_eq(sample_put(&f, f.cache, &samples[0]), JG_CACHE_OK, "%s", f.reason);

    cr_expect_str_empty(f.reason);
    cr_expect_eq(sample_get(&f, f.cache, &samples[0]), JG_CACHE_OK);
    jg_cache *other = fixture_open(&f, 1);
    cr_expect_eq(sample_get(&f, other, &samples[0]), JG_CACHE_OK, "others find it, too");
    jg_cache_close(other);
}

Test(cache_trim, folder_that_others_may_write_is_not_taken_in_place_of_a_removed_one)
{
    fixture_remove_tree(f.folder);
    cr_assert_eq(mkdir(f.folder, 0700), 0);
    cr_assert_eq(chmod(f.folder, 0777), 0);

    cr_expect_eq(sample_put(&f, f.cache, &samples[0]), JG_CACHE_IO);

    cr_expect_eq(count_files(f.folder, ""), 0);
}
