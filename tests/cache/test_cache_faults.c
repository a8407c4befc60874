/* SPDX-License-Identifier: MIT */
/* System calls that fail or do half their work. The functions below take the place of the C
 * library's in this program and do as told; untold they make the real call. */
#include "cache_fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct fault {
    int call;  /* number of the call that fails, from 1; 0: none */
    int error; /* errno it fails with */
    int seen;  /* calls so far */
};

static struct fault of_fsync, of_write, of_preadv, of_renameat2;
static size_t largest_piece = (size_t)1 << 40; /* bytes that one read or write moves */

static bool strikes(struct fault *fault)
{
    if (fault->call == 0 || ++fault->seen != fault->call) {
        return false;
    }
    errno = fault->error;
    return true;
}

int fsync(int fd)
{
    return strikes(&of_fsync) ? -1 : (int)syscall(SYS_fsync, fd);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved */
ssize_t write(int fd, const void *bytes, size_t size)
{
    size_t piece = size < largest_piece ? size : largest_piece;
    return strikes(&of_write) ? -1 : (ssize_t)syscall(SYS_write, fd, bytes, piece);
}

/* Not preadv's own system call: a piece may end in the middle of a part. */
ssize_t preadv(int fd, const struct iovec *parts, int n_parts, off_t offset)
{
    ssize_t all = 0;
    if (strikes(&of_preadv)) {
        return -1;
    }
    for (int i = 0; i < n_parts; i++) {
        size_t room = largest_piece - (size_t)all;
        size_t piece = parts[i].iov_len < room ? parts[i].iov_len : room;
        ssize_t got = pread(fd, parts[i].iov_base, piece, offset + all);
        if (got < 0) {
            return -1;
        }
        all += got;
        if ((size_t)got < parts[i].iov_len) {
            break;
        }
    }
    return all;
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return strikes(&of_renameat2)
               ? -1
               : (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name): libc's are reserved */

static struct fixture f;
static struct sample s;
static jg_cache *synced;

static void begin(void)
{
    jg_cache_options options = {0};
    fixture_begin(&f);
    options.folder = f.folder;
    cr_assert_eq(jg_cache_open(&options, &synced, f.reason, sizeof(f.reason)), JG_CACHE_OK);
    s = sample_make(0x11, 5000, 300, 20);
}

static void end(void)
{
    jg_cache_close(synced);
    sample_free(&s);
    fixture_end(&f);
}

TestSuite(cache_faults, .init = begin, .fini = end);

Test(cache_faults, failed_sync_of_the_file_publishes_nothing)
{
    of_fsync = (struct fault){.call = 2, .error = EIO}; /* the first is the new subfolder */

    cr_expect_eq(sample_put(&f, synced, &s), JG_CACHE_IO);
    cr_expect(strstr(f.reason, "errno 5"), "%s", f.reason);
    cr_expect_eq(count_files(f.folder, ""), 0);
    cr_expect_eq(sample_get(&f, synced, &s), JG_CACHE_MISS);
    cr_expect_eq(sample_put(&f, synced, &s), JG_CACHE_OK, "%s", f.reason);
}

Test(cache_faults, failed_sync_of_folders_is_told)
{
    of_fsync = (struct fault){.call = 1, .error = EIO};
    cr_expect_eq(sample_put(&f, synced, &s), JG_CACHE_IO);
    cr_expect_eq(count_files(f.folder, ""), 0);
    of_fsync = (struct fault){.call = 2, .error = EIO};
    cr_expect_eq(sample_put(&f, synced, &s), JG_CACHE_IO);
    cr_expect(strstr(f.reason, "sync the folder of a new entry"), "%s", f.reason);
    cr_expect_eq(sample_get(&f, synced, &s), JG_CACHE_OK, "published all the same");
}

Test(cache_faults, every_sync_happens_and_no_sync_means_none)
{
    struct sample other = sample_make(0x12, 10, 10, 0);
    of_fsync = (struct fault){.call = 100};
    cr_expect_eq(sample_put(&f, synced, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(of_fsync.seen, 3, "new subfolder, file, subfolder: %d", of_fsync.seen);
    cr_expect_eq(sample_put(&f, f.cache, &other), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(of_fsync.seen, 3);
    sample_free(&other);
}

Test(cache_faults, interrupted_and_unsupported_syncs_are_no_failure)
{
    of_fsync = (struct fault){.call = 2, .error = EINTR};
    cr_expect_eq(sample_put(&f, synced, &s), JG_CACHE_OK, "%s", f.reason);
    s.name.bytes[15] ^= 1;
    of_fsync = (struct fault){.call = 2, .error = EINVAL}; /* of the subfolder */
    cr_expect_eq(sample_put(&f, synced, &s), JG_CACHE_OK, "%s", f.reason);
}

Test(cache_faults, failed_write_at_any_call_publishes_nothing)
{
    static const int errors[] = {ENOSPC, EDQUOT, EIO};
    largest_piece = 1000;
    for (int call = 1; call <= 6; call++) {
        of_write = (struct fault){.call = call, .error = errors[call % 3]};
        cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_IO, "call %d", call);
        cr_expect_eq(count_files(f.folder, ""), 0, "call %d", call);
    }
}

Test(cache_faults, short_and_interrupted_writes_and_reads_are_continued)
{
    static const size_t pieces[] = {1, 7, 95, 96, 97, 448, 449, 4000};
    for (unsigned i = 0; i < 8; i++) {
        struct sample t = sample_make(i, 5000, 300, 20);
        largest_piece = pieces[i];
        of_write = (struct fault){.call = 2, .error = EINTR};
        of_preadv = (struct fault){.call = 2, .error = EINTR};
        cr_expect_eq(sample_put(&f, f.cache, &t), JG_CACHE_OK, "%zu: %s", pieces[i],
                     f.reason);
        cr_expect_eq(sample_get(&f, f.cache, &t), JG_CACHE_OK, "%zu: %s", pieces[i],
                     f.reason);
        sample_free(&t);
    }
}

Test(cache_faults, failed_read_harms_no_entry)
{
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    for (int call = 1; call <= 2; call++) {
        of_preadv = (struct fault){.call = call, .error = EIO};
        cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_IO, "call %d", call);
    }
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    cr_expect_eq(count_quarantined(&f), 0);
}

Test(cache_faults, without_no_replace_rename_an_entry_is_linked)
{
    static const int errors[] = {EINVAL, ENOSYS};
    for (int i = 0; i < 2; i++) {
        struct stat st;
        char path[256];
        s.name.bytes[15] = (unsigned char)i;
        of_renameat2 = (struct fault){.call = 1, .error = errors[i]};
        cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
        entry_path(&f, &s.name, path);
        cr_expect(stat(path, &st) == 0 && st.st_nlink == 1);
        cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    }
    cr_expect_eq(count_files(f.folder, ".tmp"), 0);
}

Test(cache_faults, failed_rename_leaves_no_temporary_file)
{
    static const int errors[] = {EXDEV, ENOENT, EIO};
    for (int i = 0; i < 3; i++) {
        of_renameat2 = (struct fault){.call = 1, .error = errors[i]};
        cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_IO, "%d", errors[i]);
        cr_expect_eq(count_files(f.folder, ""), 0);
    }
}

/* The name is taken between look and rename, and free again when looked at once more. */
Test(cache_faults, lost_race_looks_again)
{
    of_renameat2 = (struct fault){.call = 1, .error = EEXIST};
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(count_files(f.folder, ""), 1);
}

/* ---------------------------------------------------------------------------- bundles */

static char bundle_path[200];

/* Writes the sample as a bundle. */
static jg_cache_result write_bundle(void)
{
    jg_cache_bundle_writer *writer = NULL;
    snprintf(bundle_path, sizeof(bundle_path), "%s/one.jgb", f.root);
    cr_assert_eq(jg_cache_bundle_begin(&writer), JG_CACHE_OK);
    cr_assert_eq(jg_cache_bundle_add(writer, synced, &s.name), JG_CACHE_OK);
    const jg_cache_result result =
        jg_cache_bundle_write(writer, bundle_path, NULL, f.reason, sizeof(f.reason));
    jg_cache_bundle_end(writer);
    return result;
}

static jg_cache_result open_bundle(jg_cache **ret_bundle)
{
    const jg_cache_options options = {.folder = bundle_path, .read_only = true};
    return jg_cache_open(&options, ret_bundle, f.reason, sizeof(f.reason));
}

Test(cache_faults, failed_write_or_sync_leaves_no_bundle)
{
    int writes = 0;
    cr_assert_eq(sample_put(&f, synced, &s), JG_CACHE_OK);
    of_write = (struct fault){.call = 1, .error = ENOSPC};
    while (write_bundle() != JG_CACHE_OK && writes++ < 20) {
        cr_expect_str_eq(f.reason,
                         "cannot write the bundle: No space left on device (errno 28)");
        cr_expect_eq(count_files(f.root, "one"), 0, "write %d", writes);
        of_write = (struct fault){.call = writes + 1, .error = ENOSPC};
    }
    cr_expect_eq(writes, 5, "zeros, header, payload, padding, and the index");
    cr_assert_eq(unlink(bundle_path), 0);

    of_fsync = (struct fault){.call = 1, .error = EIO};
    cr_expect_eq(write_bundle(), JG_CACHE_IO);
    cr_expect_eq(count_files(f.root, "one"), 0);
    of_fsync = (struct fault){.call = 2, .error = EIO};
    cr_expect_eq(write_bundle(), JG_CACHE_IO);
    cr_expect(strstr(f.reason, "cannot sync the folder of the bundle: "), "%s", f.reason);
    cr_expect(path_exists(bundle_path), "it is written, but may be lost");
}

Test(cache_faults, bundle_is_written_and_read_in_pieces)
{
    jg_cache *bundle = NULL;
    cr_assert_eq(sample_put(&f, synced, &s), JG_CACHE_OK);
    largest_piece = 7;

    cr_expect_eq(write_bundle(), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(open_bundle(&bundle), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_get(&f, bundle, &s), JG_CACHE_OK, "%s", f.reason);

    largest_piece = (size_t)1 << 40;
    jg_cache_close(bundle);
}

Test(cache_faults, failed_read_of_a_bundle_is_no_damage)
{
    jg_cache *bundle = NULL;
    cr_assert_eq(sample_put(&f, synced, &s), JG_CACHE_OK);
    cr_assert_eq(write_bundle(), JG_CACHE_OK);
    for (int call = 1; call <= 2; call++) { /* header, index */
        of_preadv = (struct fault){.call = call, .error = EIO};
        cr_expect_eq(open_bundle(&bundle), JG_CACHE_IO, "read %d", call);
        of_preadv = (struct fault){.call = call, .error = EINTR};
        cr_expect_eq(open_bundle(&bundle), JG_CACHE_OK, "read %d: %s", call, f.reason);
        jg_cache_close(bundle);
        bundle = NULL;
    }
    of_preadv = (struct fault){.call = 0};
    cr_assert_eq(open_bundle(&bundle), JG_CACHE_OK);
    for (int call = 1; call <= 3; call++) { /* start, rest, padding */
        of_preadv = (struct fault){.call = call, .error = EIO};
        cr_expect_eq(sample_get(&f, bundle, &s), JG_CACHE_IO, "read %d", call);
        of_preadv = (struct fault){.call = call, .error = EINTR};
        cr_expect_eq(sample_get(&f, bundle, &s), JG_CACHE_OK, "read %d: %s", call,
                     f.reason);
    }
    jg_cache_close(bundle);
}
