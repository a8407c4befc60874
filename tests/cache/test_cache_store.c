/* SPDX-License-Identifier: MIT */
/* Put and get on real files: kinds of files, modes, failures of the system. */
#include "cache_fixture.h"
#include "internal.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static struct fixture f;
static struct sample s;
static char path[256];

static void begin(void)
{
    fixture_begin(&f);
    s = sample_make(0xab, 1000, 64, 10);
    entry_path(&f, &s.name, path);
}

static void end(void)
{
    sample_free(&s);
    fixture_end(&f);
}

TestSuite(cache_store, .init = begin, .fini = end);

/* Expects the thing at `path` to be refused, moved away and replaced by a put. */
static void expect_untrusted_and_replaced(const char *what)
{
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_UNTRUSTED, "%s: %s", what, f.reason);
    cr_expect_gt(strlen(f.reason), 0);
    cr_expect_not(path_exists(path), "%s is still there", what);
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s: %s", what, f.reason);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK, "%s: %s", what, f.reason);
}

/* Stores the sample, then moves its file to `<root>/elsewhere`. */
static void store_and_move(char ret_elsewhere[256])
{
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    snprintf(ret_elsewhere, 256, "%s/elsewhere", f.root);
    cr_assert_eq(rename(path, ret_elsewhere), 0);
}

Test(cache_store, put_then_get_gives_the_same_bytes)
{
    jg_cache_counts counts;

    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_MISS);
    cr_expect_str_empty(f.reason);
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_EXISTS);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    write_file(path, "x", 1);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);

    jg_cache_get_counts(f.cache, &counts);
    cr_expect_eq(counts.hits, 1);
    cr_expect_eq(counts.misses, 1);
    cr_expect_eq(counts.rejects, 1);
    cr_expect_eq(counts.stores, 1);
    cr_expect_eq(counts.store_errors, 0);
}

Test(cache_store, synced_put_works_and_leaves_no_temporary_file)
{
    jg_cache_options options = {.folder = f.folder};
    jg_cache *cache = NULL;
    cr_assert_eq(jg_cache_open(&options, &cache, f.reason, sizeof(f.reason)), JG_CACHE_OK);

    cr_expect_eq(sample_put(&f, cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    cr_expect_eq(count_files(f.folder, ""), 1);
    jg_cache_close(cache);
}

Test(cache_store, null_cache_misses_and_keeps_nothing)
{
    jg_cache_counts counts = {1, 1, 1, 1, 1, 1};
    uint64_t removed = 5, bytes = 5;

    cr_expect_eq(sample_get(&f, NULL, &s), JG_CACHE_MISS);
    cr_expect_eq(sample_put(&f, NULL, &s), JG_CACHE_NO_FOLDER);
    cr_expect_eq(jg_cache_walk(NULL, 1, NULL, NULL), JG_CACHE_OK);
    cr_expect_eq(jg_cache_trim(NULL, 1, 1, &removed, &bytes), JG_CACHE_OK);
    cr_expect_eq(removed + bytes, 0);
    jg_cache_get_counts(NULL, &counts);
    cr_expect_eq(counts.hits + counts.misses + counts.rejects + counts.stores +
                     counts.store_errors,
                 0);
    cr_expect_str_eq(jg_cache_folder(NULL), "");
    jg_cache_close(NULL);
    jg_cache_blob_free(NULL);
}

Test(cache_store, reasons_may_be_null_and_are_cut)
{
    char small[8];
    jg_cache_blob blob;
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    write_file(path, "x", 1);

    const jg_cache_key key = sample_key(&s);
    cr_expect_eq(jg_cache_get(f.cache, &key, &blob, small, sizeof(small)),
                 JG_CACHE_DAMAGED);
    cr_expect_eq(strlen(small), sizeof(small) - 1);
    write_file(path, "x", 1);
    cr_expect_eq(jg_cache_get(f.cache, &key, &blob, NULL, 0), JG_CACHE_DAMAGED);
}

Test(cache_store, result_names_differ)
{
    for (int i = 0; i <= JG_CACHE_TOO_LARGE; i++) {
        for (int k = 0; k < i; k++) {
            cr_expect_str_neq(jg_cache_result_name((jg_cache_result)i),
                              jg_cache_result_name((jg_cache_result)k));
        }
    }
    cr_expect_str_eq(jg_cache_result_name((jg_cache_result)99), "unknown");
}

Test(cache_store, symbolic_link_to_a_valid_entry_is_refused)
{
    char elsewhere[256];
    store_and_move(elsewhere);
    cr_assert_eq(symlink(elsewhere, path), 0);
    expect_untrusted_and_replaced("symbolic link");
    cr_expect(path_exists(elsewhere), "the target of the link is gone");
}

Test(cache_store, dangling_link_is_refused)
{
    char elsewhere[256];
    store_and_move(elsewhere);
    cr_assert_eq(symlink("/jg-cache-test-absent/x", path), 0);
    expect_untrusted_and_replaced("dangling link");
}

Test(cache_store, hard_link_is_refused)
{
    char elsewhere[256];
    store_and_move(elsewhere);
    cr_assert_eq(link(elsewhere, path), 0);
    expect_untrusted_and_replaced("hard link");
}

Test(cache_store, fifo_is_refused_without_blocking, .timeout = 5)
{
    char elsewhere[256];
    store_and_move(elsewhere);
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_untrusted_and_replaced("fifo");
}

Test(cache_store, socket_is_refused)
{
    char elsewhere[256], cwd[512];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    store_and_move(elsewhere);
    cr_assert(getcwd(cwd, sizeof(cwd)));
    cr_assert_lt(strlen(path), sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    expect_untrusted_and_replaced("socket");
    close(fd);
}

Test(cache_store, device_node_is_refused)
{
    char elsewhere[256];
    store_and_move(elsewhere);
    if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) != 0) { /* as /dev/zero */
        SKIP_TEST(&f, "no device can be made here");
    }
    expect_untrusted_and_replaced("device");
}

Test(cache_store, folder_in_place_of_an_entry_is_refused)
{
    char elsewhere[256], inside[300];
    store_and_move(elsewhere);
    for (int i = 0; i < 2; i++) { /* twice: the quarantine then holds one already */
        if (i > 0) {
            cr_assert_eq(unlink(path), 0);
        }
        cr_assert_eq(mkdir(path, 0700), 0);
        snprintf(inside, sizeof(inside), "%s/file", path);
        write_file(inside, "x", 1);
        expect_untrusted_and_replaced("folder");
    }
}

Test(cache_store, entry_that_others_may_write_is_refused)
{
    static const mode_t modes[] = {0620, 0602, 0666};
    for (int i = 0; i < 3; i++) {
        cr_assert_neq(sample_put(&f, f.cache, &s), JG_CACHE_IO);
        cr_assert_eq(chmod(path, modes[i]), 0);
        expect_untrusted_and_replaced("writable entry");
    }
}

Test(cache_store, entry_of_another_user_is_refused)
{
    if (geteuid() != 0) {
        SKIP_TEST(&f, "only root can give files away");
    }
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    cr_assert_eq(chown(path, 65534, 65534), 0);
    expect_untrusted_and_replaced("foreign entry");
}

Test(cache_store, put_replaces_a_bad_entry_without_a_quarantine)
{
    char quarantine[256];
    snprintf(quarantine, sizeof(quarantine), "%s/v1/quarantine", f.folder);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    write_file(quarantine, "a file", 6);
    write_file(path, "x", 1);

    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);
    cr_expect(path_exists(path));
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
}

Test(cache_store, subfolder_that_others_may_write_is_refused)
{
    char shard[256];
    snprintf(shard, sizeof(shard), "%s/v1/ab", f.folder);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    cr_assert_eq(chmod(shard, 0777), 0);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_UNTRUSTED);
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_UNTRUSTED);
    cr_assert_eq(chmod(shard, 0700), 0);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
}

Test(cache_store, modes_do_not_depend_on_the_umask)
{
    static const mode_t masks[] = {0, 077, 0777};
    for (int i = 0; i < 3; i++) {
        struct stat st;
        char place[320];
        snprintf(f.folder, sizeof(f.folder), "%.120s/mask%d", f.root, i);
        umask(masks[i]);
        const jg_cache_options options = {
            .folder = f.folder, .no_sync = true, .max_bytes = 1 << 20};
        jg_cache *cache = NULL;
        cr_assert_eq(jg_cache_open(&options, &cache, f.reason, sizeof(f.reason)),
                     JG_CACHE_OK, "%s", f.reason);
        cr_assert_eq(sample_put(&f, cache, &s), JG_CACHE_OK, "%s", f.reason);
        jg_cache_claim claim = {0};
        cr_expect_eq(jg_cache_claim_try(cache, &s.name, &claim), JG_CACHE_CLAIM_OWN);
        jg_cache_claim_end(&claim);
        umask(022);
        for (int j = 0; j < 2; j++) {
            static const char *const marks[] = {".lock", ".trimmed"};
            snprintf(place, sizeof(place), "%s/v1/%s", f.folder, marks[j]);
            cr_assert_eq(stat(place, &st), 0, "%s", place);
            cr_expect_eq(st.st_mode & 07777, 0600, "mask %o: %s has mode %o", masks[i],
                         place, st.st_mode);
        }
        entry_path(&f, &s.name, path);
        cr_assert_eq(stat(path, &st), 0);
        cr_expect_eq(st.st_mode & 07777, 0600, "mask %o: %o", masks[i], st.st_mode);
        for (char *slash = strrchr(path, '/'); slash != NULL; slash = strrchr(path, '/')) {
            *slash = '\0';
            if (strcmp(path, f.root) == 0) {
                break;
            }
            snprintf(place, sizeof(place), "%s", path);
            cr_assert_eq(stat(place, &st), 0);
            cr_expect_eq(st.st_mode & 07777, 0700, "mask %o: %s has mode %o", masks[i],
                         place, st.st_mode);
        }
        jg_cache_close(cache);
    }
}

Test(cache_store, read_only_cache_writes_nothing)
{
    jg_cache *cache = fixture_open(&f, 1);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);

    cr_expect_eq(sample_get(&f, cache, &s), JG_CACHE_OK);
    cr_expect_eq(sample_put(&f, cache, &s), JG_CACHE_IO);
    cr_expect_eq(jg_cache_trim(cache, 1, 0, NULL, NULL), JG_CACHE_IO);
    write_file(path, "x", 1);
    cr_expect_eq(sample_get(&f, cache, &s), JG_CACHE_DAMAGED);
    cr_expect(path_exists(path));
    cr_expect_eq(count_quarantined(&f), 0);
    jg_cache_close(cache);
}

Test(cache_store, folder_without_write_permission_still_serves)
{
    char shard[256];
    struct sample fresh = sample_make(0xcd, 10, 10, 0);
    snprintf(shard, sizeof(shard), "%s/v1/ab", f.folder);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    jg_cache_close(f.cache);
    if (geteuid() == 0) {
        char v1[256];
        snprintf(v1, sizeof(v1), "%s/v1", f.folder);
        cr_assert(!chown(f.root, 65534, 65534) && !chown(f.folder, 65534, 65534) &&
                  !chown(v1, 65534, 65534) && !chown(shard, 65534, 65534) &&
                  !chown(path, 65534, 65534));
        become_nobody(NULL);
        cr_assert_eq(chmod(v1, 0500), 0);
    }
    cr_assert_eq(chmod(shard, 0500), 0);
    f.cache = fixture_open(&f, 0);

    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    if (chmod(path, 0600) == 0) {
        write_file(path, "x", 1);
    }
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);
    cr_expect(path_exists(path));
    fresh.name.bytes[0] = 0xab;
    cr_expect_eq(sample_put(&f, f.cache, &fresh), JG_CACHE_IO);
    cr_expect(strstr(f.reason, "denied"), "%s", f.reason);
    chmod(shard, 0700);
    snprintf(shard, sizeof(shard), "%s/v1", f.folder);
    chmod(shard, 0700);
    sample_free(&fresh);
}

Test(cache_store, short_write_publishes_nothing)
{
    struct rlimit limit = {4096, 4096};
    jg_cache_counts counts;
    struct sample big = sample_make(0xab, 100000, 64, 10);
    sigset_t before, after;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sigemptyset(&before);
    sigemptyset(&after);
    pthread_sigmask(SIG_SETMASK, NULL, &before);

    /* The signal that ends a program at its limit does not get through. */
    cr_expect_eq(sample_put(&f, f.cache, &big), JG_CACHE_IO);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    cr_expect_eq(sigismember(&after, SIGXFSZ), sigismember(&before, SIGXFSZ));
    cr_expect_gt(strlen(f.reason), 0);
    cr_expect_eq(count_files(f.folder, ""), 0);
    cr_expect_eq(sample_get(&f, f.cache, &big), JG_CACHE_MISS);
    jg_cache_get_counts(f.cache, &counts);
    cr_expect_eq(counts.store_errors, 1);
    sample_free(&big);
}

Test(cache_store, full_disk_publishes_nothing)
{
    struct sample big = sample_make(0xab, 200000, 64, 10);
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", f.root, "tmpfs", 0, "size=64k,mode=0700") != 0) {
        sample_free(&big);
        SKIP_TEST(&f, "a small tmpfs cannot be mounted here: needs root");
    }
    jg_cache *cache = fixture_open(&f, 0);

    cr_expect_eq(sample_put(&f, cache, &big), JG_CACHE_IO);
    cr_expect(strstr(f.reason, "space"), "%s", f.reason);
    cr_expect_eq(count_files(f.folder, ""), 0);
    cr_expect_eq(sample_put(&f, cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_get(&f, cache, &s), JG_CACHE_OK);
    jg_cache_close(cache);
    umount(f.root);
    sample_free(&big);
}

Test(cache_store, no_descriptors_left_is_an_io_failure_and_harms_no_entry)
{
    struct rlimit limit;
    int first = dup(0), result;
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    close(first);
    /* The subfolder may still be opened, its entry not. */
    limit.rlim_cur = (rlim_t)first + 1;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);

    result = sample_get(&f, f.cache, &s);

    limit.rlim_cur = limit.rlim_max < 256 ? limit.rlim_max : 256;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_expect_eq(result, JG_CACHE_IO);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
}

Test(cache_store, publish_by_link_is_complete_and_never_replaces)
{
    char shard[256], temp[320];
    snprintf(shard, sizeof(shard), "%s/v1/ab", f.folder);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    int fd = open(shard, O_RDONLY | O_DIRECTORY);
    snprintf(temp, sizeof(temp), "%s/.tmp-0000000000000001-77-5", shard);
    cr_assert_eq(rename(path, temp), 0);

    cr_expect_eq(
        jg_cache_store_link_new(fd, strrchr(temp, '/') + 1, strrchr(path, '/') + 1), 0);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_not(path_exists(temp));
    write_file(temp, "x", 1);
    cr_expect_eq(
        jg_cache_store_link_new(fd, strrchr(temp, '/') + 1, strrchr(path, '/') + 1),
        EEXIST);
    cr_expect_eq(
        jg_cache_store_rename_new(fd, strrchr(temp, '/') + 1, strrchr(path, '/') + 1),
        EEXIST);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    close(fd);
}

Test(cache_store, link_publish_that_was_cut_short_is_readable)
{
    char temp[320];
    snprintf(temp, sizeof(temp), "%s/v1/ab/.tmp-0000000000000001-77-5", f.folder);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    cr_assert_eq(link(path, temp), 0);

    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
}

Test(cache_store, quarantine_spares_a_good_entry_that_replaced_the_bad_one)
{
    struct stat bad;
    char shard[256];
    snprintf(shard, sizeof(shard), "%s/v1/ab", f.folder);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    int fd = open(shard, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(stat(path, &bad), 0);
    bad.st_ino++; /* what some reader saw was another file */

    cr_expect_eq(jg_cache_store_quarantine(f.cache, fd, &s.name, &bad), 1);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    cr_expect_eq(count_quarantined(&f), 0);
    close(fd);
}

Test(cache_store, quarantine_keeps_one_file_for_a_name)
{
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
        write_file(path, "x", 1);
        cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);
    }
    cr_expect_eq(count_quarantined(&f), 1);
}

Test(cache_store, hit_renews_an_old_stamp_and_leaves_a_young_one)
{
    struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}}, young[2];
    struct stat st;
    jg_cache *reader = fixture_open(&f, 1);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    cr_assert_eq(utimensat(AT_FDCWD, path, old, 0), 0);

    cr_expect_eq(sample_get(&f, reader, &s), JG_CACHE_OK);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mtim.tv_sec, 1000000000, "a read-only cache changed the stamp");
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_gt(st.st_mtim.tv_sec, 1500000000);
    young[0] = young[1] = (struct timespec){st.st_mtim.tv_sec - 600, 0};
    cr_assert_eq(utimensat(AT_FDCWD, path, young, 0), 0);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mtim.tv_sec, young[1].tv_sec);
    jg_cache_close(reader);
}
