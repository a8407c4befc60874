/* SPDX-License-Identifier: MIT */
/* Files of entries: checked opening, reading, publishing without replace, quarantine. */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { TEMP_NAME_BYTES = 80, TEMP_NAME_TRIES = 64, QUARANTINE_TRIES = 8 };

static atomic_uint_fast64_t next_temp; /* makes temporary names unique in this process */

void jg_cache_store_file_name(const jg_cache_name *name,
                              char ret_file[JG_CACHE_FILE_NAME_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 1; i < sizeof(name->bytes); i++) {
        ret_file[2 * i - 2] = digits[name->bytes[i] >> 4];
        ret_file[2 * i - 1] = digits[name->bytes[i] & 15];
    }
    memcpy(ret_file + 30, ".jgk", 5);
}

/* Do both describe the same unchanged file? */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* -1 with errno. */
static int open_retrying(int parent_fd, const char *name, int flags, mode_t mode)
{
    int fd;
    do {
        fd = openat(parent_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

int jg_cache_store_open_mark(const jg_cache *cache, const char *name, int flags)
{
    const int fd = open_retrying(jg_cache_dir_fd(cache), name,
                                 flags | O_CREAT | O_NONBLOCK | O_NOCTTY, 0600);
    struct stat st;
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -1;
    }
    if ((st.st_mode & 07777) != 0600) {
        (void)fchmod(fd, 0600); /* what the umask took; another owner's stays */
    }
    return fd;
}

int jg_cache_store_sync(int fd, bool is_folder)
{
    int error;
    do {
        error = fsync(fd) == 0 ? 0 : errno;
    } while (error == EINTR);
    if (is_folder && (error == EINVAL || error == ENOTSUP)) {
        error = 0;
    }
    return error;
}

jg_cache_result jg_cache_store_open_folder(const jg_cache *cache, int parent_fd,
                                           const char *name, bool create, int *ret_fd,
                                           const struct jg_cache_why *why)
{
    bool is_new = false;
    int fd = open_retrying(parent_fd, name, O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0 && errno == ENOENT) {
        if (!create) {
            return JG_CACHE_MISS;
        }
        if (mkdirat(parent_fd, name, 0700) == 0) {
            is_new = true;
            if (fchmodat(parent_fd, name, 0700, 0) != 0) {
                return jg_cache_say_errno(why, errno, "set the mode of a folder");
            }
        } else if (errno != EEXIST) {
            return jg_cache_say_errno(why, errno, "make a folder in the cache");
        }
        fd = open_retrying(parent_fd, name, O_RDONLY | O_DIRECTORY, 0);
    }
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
        jg_cache_say(why, "%s in the cache is not a folder: remove it", name);
        return JG_CACHE_UNTRUSTED;
    }
    if (fd < 0) {
        return jg_cache_say_errno(why, errno, "open a folder of the cache");
    }
    char folder[64];
    snprintf(folder, sizeof(folder), "the folder %.16s of the cache", name);
    struct stat st;
    jg_cache_result result;
    if (fstat(fd, &st) != 0) {
        result = jg_cache_say_errno(why, errno, "examine a folder of the cache");
    } else {
        result = jg_cache_dir_check(&st, cache->uid, folder, why);
    }
    if (result == JG_CACHE_OK && is_new && !cache->no_sync) {
        const int error = jg_cache_store_sync(parent_fd, true);
        if (error != 0) {
            result = jg_cache_say_errno(why, error, "sync the cache folder");
        }
    }
    if (result == JG_CACHE_OK) {
        *ret_fd = fd;
    } else {
        close(fd);
    }
    return result;
}

jg_cache_result jg_cache_store_open_shard(const jg_cache *cache, unsigned first_byte,
                                          bool create, int *ret_fd,
                                          const struct jg_cache_why *why)
{
    char name[8];
    snprintf(name, sizeof(name), "%02x", first_byte & 0xffu);
    return jg_cache_store_open_folder(cache, jg_cache_dir_fd(cache), name, create, ret_fd,
                                      why);
}

/* Temporary names tell the writer: ".tmp-<pid-space>-<process>-<count>". */
static void print_temp_name(uint64_t pid_space, long pid, uint64_t count,
                            char ret_temp[TEMP_NAME_BYTES])
{
    snprintf(ret_temp, TEMP_NAME_BYTES, ".tmp-%016" PRIx64 "-%ld-%" PRIu64, pid_space, pid,
             count);
}

bool jg_cache_store_parse_temp(const char *file, uint64_t *ret_pid_space, pid_t *ret_pid)
{
    static const char prefix[] = ".tmp-";
    if (strncmp(file, prefix, sizeof(prefix) - 1) != 0) {
        return false;
    }
    char *end = NULL;
    const unsigned long long pid_space = strtoull(file + sizeof(prefix) - 1, &end, 16);
    if (*end != '-') {
        return false;
    }
    const long pid = strtol(end + 1, &end, 10);
    if (*end != '-' || pid <= 0 || (long)(pid_t)pid != pid) {
        return false;
    }
    const unsigned long long count = strtoull(end + 1, &end, 10);
    /* Only a name that we would print the same way is ours. */
    char again[TEMP_NAME_BYTES];
    print_temp_name(pid_space, pid, count, again);
    if (strcmp(again, file) != 0) {
        return false;
    }
    *ret_pid_space = pid_space;
    *ret_pid = (pid_t)pid;
    return true;
}

uint64_t jg_cache_store_pid_space(void)
{
    char boot[64] = {0};
    ssize_t got = -1;
    const int fd = open_retrying(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0);

    if (fd >= 0) {
        got = read(fd, boot, sizeof(boot) - 1);
        close(fd);
    }
    struct stat st;
    if (got <= 0 || stat("/proc/self/ns/pid", &st) != 0) {
        return 0;
    }
    const XXH64_hash_t hash = XXH3_64bits_withSeed(boot, (size_t)got, (uint64_t)st.st_ino);
    return hash != 0 ? hash : 1;
}

/* Is the second link of this file a temporary name, that is, a link publish under way? */
static bool has_temp_link(int shard_fd, const struct stat *st)
{
    const int fd = open_retrying(shard_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    bool found = false;
    for (struct dirent *item = readdir(dir); item != NULL && !found; item = readdir(dir)) {
        struct stat other;
        uint64_t pid_space;
        pid_t pid;
        found = jg_cache_store_parse_temp(item->d_name, &pid_space, &pid) &&
                fstatat(shard_fd, item->d_name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
                other.st_ino == st->st_ino && other.st_dev == st->st_dev;
    }
    closedir(dir);
    return found;
}

/* Rules for a file that was opened: kind, owner, mode, links. */
static jg_cache_result check_file(const jg_cache *cache, int shard_fd, int fd,
                                  struct stat *st, const struct jg_cache_why *why)
{
    const char *fault = NULL;
    if (!S_ISREG(st->st_mode)) {
        fault = "the entry is not a regular file";
    } else if (st->st_uid != cache->uid && st->st_uid != 0) {
        fault = "the entry belongs to another user";
    } else if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        fault = "the entry may be written by others";
    } else if (st->st_nlink > 1 && !has_temp_link(shard_fd, st) &&
               (fstat(fd, st) != 0 || st->st_nlink > 1)) {
        fault = "the entry has more than one hard link";
    }
    if (fault == NULL) {
        return JG_CACHE_OK;
    }
    jg_cache_say(why, "%s", fault);
    return JG_CACHE_UNTRUSTED;
}

jg_cache_result jg_cache_store_read_parts(int fd, struct iovec *parts, int n_parts,
                                          off_t offset, const struct jg_cache_why *why)
{
    while (n_parts > 0) {
        if (parts->iov_len == 0) {
            parts++, n_parts--;
            continue;
        }
        const ssize_t got = preadv(fd, parts, n_parts, offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return jg_cache_say_errno(why, errno, "read the entry");
        }
        if (got == 0) {
            jg_cache_say(why, "the entry ends too early");
            return JG_CACHE_DAMAGED;
        }
        offset += got;
        for (size_t left = (size_t)got; left > 0 && n_parts > 0;) {
            const size_t step = left < parts->iov_len ? left : parts->iov_len;
            parts->iov_base = (unsigned char *)parts->iov_base + step;
            parts->iov_len -= step;
            left -= step;
            if (parts->iov_len == 0) {
                parts++, n_parts--;
            }
        }
    }
    return JG_CACHE_OK;
}

void jg_cache_store_release(struct jg_cache_loaded *loaded)
{
    free(loaded->header);
    free(loaded->payload);
    memset(loaded, 0, sizeof(*loaded));
}

jg_cache_result jg_cache_store_read_entry(int fd, off_t offset, uint64_t entry_bytes,
                                          const jg_cache_name *name, bool payload,
                                          struct jg_cache_loaded *ret_loaded,
                                          const struct jg_cache_why *why)
{
    unsigned char fixed[JG_CACHE_FIXED_BYTES];
    if (entry_bytes < sizeof(fixed)) {
        jg_cache_say(why, "the entry has %llu bytes, less than a header",
                     (unsigned long long)entry_bytes);
        return JG_CACHE_DAMAGED;
    }
    struct jg_cache_loaded loaded = {0};
    struct iovec parts[2] = {{fixed, sizeof(fixed)}, {NULL, 0}};
    jg_cache_result result = jg_cache_store_read_parts(fd, parts, 1, offset, why);
    if (result == JG_CACHE_OK) {
        result = jg_cache_entry_read_fixed(fixed, entry_bytes, &loaded.layout, why);
    }
    if (result != JG_CACHE_OK) {
        return result;
    }

    loaded.header = malloc(loaded.layout.header_bytes);
    if (payload) {
        const size_t size = (size_t)loaded.layout.payload_bytes + JG_CACHE_ALIGN;
        loaded.payload =
            aligned_alloc(JG_CACHE_ALIGN, size / JG_CACHE_ALIGN * JG_CACHE_ALIGN);
    }
    if (loaded.header == NULL || (payload && loaded.payload == NULL)) {
        jg_cache_store_release(&loaded);
        jg_cache_say(why, "no memory to read the entry");
        return JG_CACHE_NO_MEMORY;
    }
    memcpy(loaded.header, fixed, sizeof(fixed));
    parts[0].iov_base = loaded.header + sizeof(fixed);
    parts[0].iov_len = loaded.layout.header_bytes - sizeof(fixed);
    parts[1].iov_base = loaded.payload;
    parts[1].iov_len = payload ? (size_t)loaded.layout.payload_bytes : 0;
    result = jg_cache_store_read_parts(fd, parts, 2, offset + (off_t)sizeof(fixed), why);
    if (result == JG_CACHE_OK) {
        result = jg_cache_entry_check_header(loaded.header, &loaded.layout, name, why);
    }
    if (result == JG_CACHE_OK && payload) {
        result = jg_cache_entry_check_payload(loaded.header, loaded.payload,
                                              loaded.layout.payload_bytes, why);
    }
    if (result == JG_CACHE_OK) {
        *ret_loaded = loaded;
    } else {
        jg_cache_store_release(&loaded);
    }
    return result;
}

jg_cache_result jg_cache_store_load(const jg_cache *cache, int shard_fd,
                                    const jg_cache_name *name, bool payload,
                                    struct jg_cache_loaded *ret_loaded,
                                    struct stat *ret_seen, const struct jg_cache_why *why)
{
    char file[JG_CACHE_FILE_NAME_BYTES];
    memset(ret_seen, 0, sizeof(*ret_seen));
    jg_cache_store_file_name(name, file);
    const int fd = open_retrying(shard_fd, file, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) {
        const int error = errno;
        if (error == ENOENT) {
            return JG_CACHE_MISS;
        }
        if (fstatat(shard_fd, file, ret_seen, AT_SYMLINK_NOFOLLOW) != 0) {
            memset(ret_seen, 0, sizeof(*ret_seen));
        }
        if (error == ELOOP || error == ENXIO || error == EACCES || error == ENODEV) {
            jg_cache_say(why, "the entry is %s",
                         error == ELOOP    ? "a symbolic link"
                         : error == EACCES ? "not readable for this user"
                                           : "not a regular file");
            return JG_CACHE_UNTRUSTED;
        }
        return jg_cache_say_errno(why, error, "open the entry");
    }
    jg_cache_result result;
    if (fstat(fd, ret_seen) != 0) {
        result = jg_cache_say_errno(why, errno, "examine the entry");
        memset(ret_seen, 0, sizeof(*ret_seen));
    } else {
        result = check_file(cache, shard_fd, fd, ret_seen, why);
    }
    if (result == JG_CACHE_OK) {
        result = jg_cache_store_read_entry(fd, 0, (uint64_t)ret_seen->st_size, name,
                                           payload, ret_loaded, why);
    }
    close(fd);
    return result;
}

/* Moves the file aside under the first quarantine name that takes it. Its name, or "". */
static void move_aside(int shard_fd, const char *file, int quarantine_fd,
                       const char *prefix, char ret_moved[64])
{
    ret_moved[0] = '\0';
    for (int i = 0; i < QUARANTINE_TRIES && ret_moved[0] == '\0'; i++) {
        char target[64];
        snprintf(target, sizeof(target), "%s%.30s.%d", prefix, file, i);
        if (renameat(shard_fd, file, quarantine_fd, target) == 0) {
            memcpy(ret_moved, target, sizeof(target));
        } else if (errno != EISDIR && errno != ENOTDIR && errno != ENOTEMPTY &&
                   errno != EEXIST) {
            return;
        }
    }
}

/* What a name of a shard stands for now, beside what was seen of it. */
enum found_file {
    FOUND_AS_SEEN,
    FOUND_GONE,
    FOUND_REPLACED, /* by somebody, meanwhile */
    FOUND_UNKNOWN   /* it cannot be asked, or nothing was seen, or nothing may be written */
};

static enum found_file find_again(const jg_cache *cache, int shard_fd, const char *file,
                                  const struct stat *seen, struct stat *ret_now)
{
    if (cache->read_only || seen->st_ino == 0) {
        return FOUND_UNKNOWN;
    }
    if (fstatat(shard_fd, file, ret_now, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? FOUND_GONE : FOUND_UNKNOWN;
    }
    return is_same_file(seen, ret_now) ? FOUND_AS_SEEN : FOUND_REPLACED;
}

bool jg_cache_store_quarantine(const jg_cache *cache, int shard_fd,
                               const jg_cache_name *name, const struct stat *seen)
{
    const struct jg_cache_why silent = {NULL, 0};
    char file[JG_CACHE_FILE_NAME_BYTES];
    jg_cache_store_file_name(name, file);
    struct stat now;
    const enum found_file found = find_again(cache, shard_fd, file, seen, &now);
    if (found != FOUND_AS_SEEN) {
        return found != FOUND_UNKNOWN;
    }
    int fd = -1;
    if (jg_cache_store_open_folder(cache, jg_cache_dir_fd(cache),
                                   JG_CACHE_QUARANTINE_FOLDER, true, &fd,
                                   &silent) != JG_CACHE_OK) {
        return false;
    }
    char prefix[8], moved[64];
    snprintf(prefix, sizeof(prefix), "%02x", name->bytes[0]);
    move_aside(shard_fd, file, fd, prefix, moved);
    const bool is_gone = moved[0] != '\0';
    if (is_gone) {
        /* Replaced between look and move: what was moved may be good, so it goes back. */
        if (fstatat(fd, moved, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
            !is_same_file(seen, &now)) {
            (void)renameat2(fd, moved, shard_fd, file, RENAME_NOREPLACE);
        }
        /* Renaming one hard link over another of the same file leaves both. */
        if (fstatat(shard_fd, file, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
            is_same_file(seen, &now)) {
            (void)unlinkat(shard_fd, file, 0);
        }
    }
    close(fd);
    return is_gone;
}

bool jg_cache_store_remove(const jg_cache *cache, int shard_fd, const jg_cache_name *name,
                           const struct stat *seen)
{
    char file[JG_CACHE_FILE_NAME_BYTES];
    jg_cache_store_file_name(name, file);
    struct stat now;
    const enum found_file found = find_again(cache, shard_fd, file, seen, &now);
    if (found != FOUND_AS_SEEN) {
        return found != FOUND_UNKNOWN;
    }
    return unlinkat(shard_fd, file, S_ISDIR(now.st_mode) ? AT_REMOVEDIR : 0) == 0;
}

int jg_cache_store_link_new(int shard_fd, const char *temp, const char *file)
{
    if (linkat(shard_fd, temp, shard_fd, file, 0) != 0) {
        return errno;
    }
    (void)unlinkat(shard_fd, temp, 0); /* trimming finds it if this fails */
    return 0;
}

int jg_cache_store_rename_new(int shard_fd, const char *temp, const char *file)
{
    if (renameat2(shard_fd, temp, shard_fd, file, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
        return errno;
    }
    return jg_cache_store_link_new(shard_fd, temp, file);
}

void jg_cache_store_hold_size_signal(struct jg_cache_size_signal *held)
{
    sigset_t pending;
    sigemptyset(&held->signal);
    sigaddset(&held->signal, SIGXFSZ);
    held->is_held = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 0 &&
                    pthread_sigmask(SIG_BLOCK, &held->signal, &held->before) == 0;
}

void jg_cache_store_release_size_signal(const struct jg_cache_size_signal *held)
{
    static const struct timespec now = {0, 0};
    if (!held->is_held) {
        return;
    }
    while (sigtimedwait(&held->signal, NULL, &now) < 0 && errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

int jg_cache_store_write_all(int fd, const void *data, size_t size)
{
    const unsigned char *at = data;
    while (size > 0) {
        const ssize_t done = write(fd, at, size);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return errno;
        }
        if (done == 0) {
            return ENOSPC;
        }
        at += done;
        size -= (size_t)done;
    }
    return 0;
}

/* -1 with errno. */
static int create_temp(const jg_cache *cache, int shard_fd, char ret_temp[TEMP_NAME_BYTES])
{
    for (int i = 0; i < TEMP_NAME_TRIES; i++) {
        print_temp_name(cache->pid_space, (long)getpid(),
                        (uint64_t)atomic_fetch_add(&next_temp, 1), ret_temp);
        const int fd = open_retrying(shard_fd, ret_temp, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    errno = EEXIST;
    return -1;
}

jg_cache_result jg_cache_store_publish(const jg_cache *cache, int shard_fd,
                                       const jg_cache_name *name,
                                       const struct jg_cache_layout *layout,
                                       const unsigned char *header, const void *payload,
                                       const struct jg_cache_why *why)
{
    char temp[TEMP_NAME_BYTES];
    const int fd = create_temp(cache, shard_fd, temp);
    if (fd < 0) {
        return jg_cache_say_errno(why, errno, "create a temporary file in the cache");
    }
    const char *action = "write a temporary file in the cache";
    int error = fchmod(fd, 0600) == 0 ? 0 : errno;
    struct jg_cache_size_signal held;
    jg_cache_store_hold_size_signal(&held);
    if (error == 0) {
        error = jg_cache_store_write_all(fd, header, layout->header_bytes);
    }
    if (error == 0) {
        error = jg_cache_store_write_all(fd, payload, (size_t)layout->payload_bytes);
    }
    jg_cache_store_release_size_signal(&held);
    if (error == 0 && !cache->no_sync) {
        error = jg_cache_store_sync(fd, false);
    }
    if (close(fd) != 0 && error == 0 && errno != EINTR) {
        error = errno;
    }
    if (error == 0) {
        action = "publish an entry in the cache";
        char file[JG_CACHE_FILE_NAME_BYTES];
        jg_cache_store_file_name(name, file);
        error = jg_cache_store_rename_new(shard_fd, temp, file);
    }
    if (error != 0) {
        (void)unlinkat(shard_fd, temp, 0);
        return error == EEXIST ? JG_CACHE_EXISTS : jg_cache_say_errno(why, error, action);
    }
    if (!cache->no_sync) {
        error = jg_cache_store_sync(shard_fd, true);
    }
    return error == 0 ? JG_CACHE_OK
                      : jg_cache_say_errno(why, error, "sync the folder of a new entry");
}
