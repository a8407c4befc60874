/* SPDX-License-Identifier: MIT */
/* Which folder the cache lives in, and whether its owner and modes make it trustworthy. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { MAX_LINKS = 40, PASSWORD_BYTES_MAX = 1 << 20, MAX_RETRIES = 8 };

/* A folder by name, before anything was opened. */
struct chosen {
    char path[PATH_MAX];
    size_t tail; /* bytes at the end that may be created; what is before must exist */
};

static bool has_raised_rights(void)
{
    return getauxval(AT_SECURE) != 0 || getuid() != geteuid() || getgid() != getegid();
}

/* The path without "." and "..", which are taken as text; false if it is too long. */
static bool simplify_path(const char *path, char ret_simple[PATH_MAX])
{
    size_t used = 0;
    for (const char *at = path + strspn(path, "/"); *at != '\0'; at += strspn(at, "/")) {
        const size_t length = strcspn(at, "/");
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            while (used > 0 && ret_simple[--used] != '/') {
            }
        } else if (length != 1 || at[0] != '.') {
            if (used + length + 2 > PATH_MAX) {
                return false;
            }
            ret_simple[used] = '/';
            memcpy(ret_simple + used + 1, at, length);
            used += length + 1;
        }
        at += length;
    }
    ret_simple[used] = '\0';
    return true;
}

/* Everybody may write there, and what is there goes with the next boot. */
static bool is_below_tmp(const char *path)
{
    static const char *const shared[] = {"/tmp", "/var/tmp", "/dev/shm"};
    char simple[PATH_MAX] = "";
    if (!simplify_path(path, simple)) {
        return true;
    }
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        const size_t length = strlen(shared[i]);
        if (strncmp(simple, shared[i], length) == 0 &&
            (simple[length] == '/' || simple[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Where the path leads, by links too: of what exists of it; what does not adds nothing that
 * matters here. False if nobody can say. */
static bool resolve_path(const char *path, char ret_resolved[PATH_MAX])
{
    char part[PATH_MAX];
    if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part)) {
        return false;
    }
    while (realpath(part, ret_resolved) == NULL) {
        char *end = strrchr(part, '/');
        if (errno != ENOENT || end == NULL || end == part) {
            return false;
        }
        *end = '\0';
    }
    return true;
}

/* Sets the path to base and tail; `source` names where the base comes from. */
static jg_cache_result take_path(const char *source, const char *base, const char *tail,
                                 bool base_may_be_created, struct chosen *ret_chosen,
                                 const struct jg_cache_why *why)
{
    if (base[0] != '/') {
        jg_cache_say(why, "%s is not an absolute path: \"%.200s\"", source, base);
        return JG_CACHE_UNTRUSTED;
    }
    const int length =
        snprintf(ret_chosen->path, sizeof(ret_chosen->path), "%s%s", base, tail);
    if (length < 0 || (size_t)length >= sizeof(ret_chosen->path) - 16) {
        jg_cache_say(why, "%s is too long for a path", source);
        return JG_CACHE_NO_FOLDER;
    }
    ret_chosen->tail = base_may_be_created ? (size_t)length : strlen(tail);
    return JG_CACHE_OK;
}

/* Is it the user's alone? Who may write it could put a cache there, and who may rename it
 * is looked at when the path is walked. */
static bool is_private(const char *folder)
{
    struct stat st;
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Is it, or does it lead, below a temporary folder, and is it not the user's alone? */
static bool is_shared(const char *folder)
{
    char resolved[PATH_MAX] = "";
    if (is_below_tmp(folder)) {
        return !is_private(folder);
    }
    return resolve_path(folder, resolved) && is_below_tmp(resolved) &&
           !(access(folder, F_OK) == 0 && is_private(resolved));
}

/* A path nobody gave for this cache: never in a shared temporary folder, where anybody may
 * have made it first. A private folder below one, such as the HOME of a job, is as good as
 * any. */
static jg_cache_result derive_path(const char *source, const char *base, const char *tail,
                                   bool base_may_be_created, struct chosen *ret_chosen,
                                   const struct jg_cache_why *why)
{
    if (is_shared(base)) {
        jg_cache_say(why,
                     "%s is in a shared temporary folder and not yours alone (%.200s): set "
                     "JIT_GEMM_CACHE_DIR to a folder of yours",
                     source, base);
        return JG_CACHE_NO_FOLDER;
    }
    return take_path(source, base, tail, base_may_be_created, ret_chosen, why);
}

static jg_cache_result derive_from_password_entry(struct chosen *ret_chosen,
                                                  const struct jg_cache_why *why)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char *buffer = NULL;
    int error = ERANGE;
    for (size_t size = 4096; error == ERANGE && size <= PASSWORD_BYTES_MAX; size *= 2) {
        char *grown = realloc(buffer, size);
        if (grown == NULL) {
            free(buffer);
            jg_cache_say(why, "no memory to read the password entry");
            return JG_CACHE_NO_MEMORY;
        }
        buffer = grown;
        do {
            error = getpwuid_r(geteuid(), &entry, buffer, size, &found);
        } while (error == EINTR);
    }
    jg_cache_result result = JG_CACHE_NO_FOLDER;
    if (error != 0 || found == NULL || found->pw_dir == NULL || found->pw_dir[0] == '\0') {
        jg_cache_say(why, "no folder is named, and neither XDG_CACHE_HOME, HOME nor the "
                          "password entry gives one: name a folder");
    } else {
        result = derive_path("the home folder of the password entry", found->pw_dir,
                             "/.cache/jit_gemm", false, ret_chosen, why);
    }
    free(buffer);
    return result;
}

static jg_cache_result choose_folder(const jg_cache_options *options,
                                     struct chosen *ret_chosen,
                                     const struct jg_cache_why *why)
{
    if (options->folder != NULL) {
        return take_path("the cache folder", options->folder, "", true, ret_chosen, why);
    }
    if (has_raised_rights()) {
        jg_cache_say(why, "a program with raised rights gets no cache from the "
                          "environment: name a folder in the options");
        return JG_CACHE_NO_FOLDER;
    }
    if (options->environment != NULL && options->environment[0] != '\0') {
        return take_path("the cache folder of the environment", options->environment, "",
                         true, ret_chosen, why);
    }
    const char *value = getenv("XDG_CACHE_HOME");
    if (value != NULL && value[0] != '\0') {
        return derive_path("XDG_CACHE_HOME", value, "/jit_gemm", true, ret_chosen, why);
    }
    value = getenv("HOME");
    if (value != NULL && value[0] != '\0') {
        return derive_path("HOME", value, "/.cache/jit_gemm", false, ret_chosen, why);
    }
    return derive_from_password_entry(ret_chosen, why);
}

static bool owner_is_trusted(const struct stat *st, uid_t uid)
{
    return st->st_uid == uid || st->st_uid == 0;
}

jg_cache_result jg_cache_dir_check(const struct stat *st, uid_t uid, const char *folder,
                                   const struct jg_cache_why *why)
{
    if (!owner_is_trusted(st, uid)) {
        jg_cache_say(why, "%s belongs to user %lu, neither to user %lu nor to root", folder,
                     (unsigned long)st->st_uid, (unsigned long)uid);
        return JG_CACHE_UNTRUSTED;
    }
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        jg_cache_say(why, "%s may be written by others (mode %04o): remove that right",
                     folder, (unsigned)(st->st_mode & 07777));
        return JG_CACHE_UNTRUSTED;
    }
    return JG_CACHE_OK;
}

/* Whoever may rename what is inside a parent could put another folder in our place. */
static jg_cache_result check_parent(const struct stat *st, int fd, uid_t uid,
                                    const char *path, const struct jg_cache_why *why)
{
    const bool others_may_write =
        (st->st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st->st_mode & S_ISVTX) == 0;
    if (owner_is_trusted(st, uid) && !others_may_write) {
        return JG_CACHE_OK;
    }
    char link[32], parent[160];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t got = readlink(link, parent, sizeof(parent) - 1);
    const bool is_named =
        got > 0 && got < (ssize_t)sizeof(parent) - 1; /* by /proc, whole */
    parent[is_named ? got : 0] = '\0';
    if (!owner_is_trusted(st, uid)) {
        jg_cache_say(why, "a parent of %.300s belongs to user %lu%s%s", path,
                     (unsigned long)st->st_uid, is_named ? ": " : "", parent);
    } else {
        jg_cache_say(
            why,
            "a parent of %.300s may be written by %s (mode %04o): remove that right, "
            "or let only owners rename in it: chmod +t %s",
            path, (st->st_mode & S_IWOTH) != 0 ? "everybody" : "its group",
            (unsigned)(st->st_mode & 07777), is_named ? parent : "that folder");
    }
    return JG_CACHE_UNTRUSTED;
}

/* Makes a folder of mode 0700 whatever the umask is. 0, or an errno value. */
static int make_private_folder(int parent_fd, const char *name)
{
    if (mkdirat(parent_fd, name, 0700) != 0) {
        return errno == EEXIST ? 0 : errno;
    }
    return fchmodat(parent_fd, name, 0700, 0) == 0 ? 0 : errno;
}

/* Opens one component without following links, creating it if allowed. -1 with errno. */
static int open_component(int parent_fd, const char *name, bool create)
{
    for (int i = 0; i < MAX_RETRIES; i++) {
        const int fd = openat(parent_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 || (errno != EINTR && (errno != ENOENT || !create))) {
            return fd;
        }
        if (errno == ENOENT) {
            const int error = make_private_folder(parent_fd, name);
            if (error != 0) {
                errno = error;
                return -1;
            }
        }
    }
    errno = ENOENT;
    return -1;
}

/* A walk along a path. */
struct walk {
    char pending[PATH_MAX]; /* what is still to be walked */
    size_t tail;            /* bytes at the end of it that may be created */
    int fd;                 /* the folder reached, for look-ups only (O_PATH) */
    bool may_be_file;       /* the path may end in a file; it is opened for reading then */
    int links;              /* symbolic links followed so far */
};

/* Puts the target of a link before the rest of the path, which begins at `rest`. */
static jg_cache_result follow_link(struct walk *walk, int link_fd, const char *rest,
                                   const struct jg_cache_why *why)
{
    char joined[PATH_MAX];
    const size_t rest_length = strlen(rest);
    const ssize_t length = readlinkat(link_fd, "", joined, sizeof(joined));
    if (length < 0) {
        return jg_cache_say_errno(why, errno, "read a link in the cache folder's path");
    }
    if (length == 0 || (size_t)length + rest_length + 2 > sizeof(joined)) {
        jg_cache_say(why, "a link in the cache folder's path is too long or empty");
        return JG_CACHE_NO_FOLDER;
    }
    joined[length] = '/';
    memcpy(joined + length + 1, rest, rest_length + 1);
    memcpy(walk->pending, joined, (size_t)length + rest_length + 2);
    /* What a link names must exist: only the rest may be created. */
    walk->tail = walk->tail < rest_length ? walk->tail : rest_length;
    if (joined[0] == '/') {
        const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0) {
            return jg_cache_say_errno(why, errno, "open the root folder");
        }
        close(walk->fd);
        walk->fd = root;
    }
    return JG_CACHE_OK;
}

/* Ends the walk in a regular file, which is opened for reading in its checked folder. */
static jg_cache_result enter_file(struct walk *walk, const char *component,
                                  const char *path, const struct jg_cache_why *why)
{
    const int fd = openat(walk->fd, component,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        const int error = fd < 0 ? errno : EINVAL;
        if (fd >= 0) {
            close(fd);
        }
        jg_cache_say(why, "the bundle %.300s cannot be opened: %s", path, strerror(error));
        return JG_CACHE_UNTRUSTED;
    }
    close(walk->fd);
    walk->fd = fd;
    walk->pending[0] = '\0';
    return JG_CACHE_OK;
}

/* Goes on by one part of the path. */
static jg_cache_result walk_component(struct walk *walk, const char *path, uid_t uid,
                                      bool create, const struct jg_cache_why *why)
{
    char component[NAME_MAX + 1];
    const char *at = walk->pending + strspn(walk->pending, "/");
    const size_t length = strcspn(at, "/");
    if (length > NAME_MAX) {
        jg_cache_say(why, "a part of the cache folder's path is too long");
        return JG_CACHE_NO_FOLDER;
    }
    memcpy(component, at, length);
    component[length] = '\0';
    struct stat st;
    if (fstat(walk->fd, &st) != 0) {
        return jg_cache_say_errno(why, errno, "examine a parent of the cache folder");
    }
    jg_cache_result result = check_parent(&st, walk->fd, uid, path, why);
    if (result != JG_CACHE_OK) {
        return result;
    }
    int next = open_component(walk->fd, component, create && strlen(at) <= walk->tail);
    if (next < 0) {
        jg_cache_say(why, "the cache folder %s%.300s cannot be %s: %s",
                     create ? "" : "or bundle ", path, create ? "opened or made" : "opened",
                     strerror(errno));
        return JG_CACHE_NO_FOLDER;
    }
    if (fstat(next, &st) != 0) {
        result = jg_cache_say_errno(why, errno, "examine a part of the cache folder");
    } else if (S_ISDIR(st.st_mode)) {
        const int parent = walk->fd;
        memmove(walk->pending, at + length, strlen(at + length) + 1);
        walk->fd = next;
        next = parent;
    } else if (S_ISREG(st.st_mode) && walk->may_be_file &&
               at[length + strspn(at + length, "/")] == '\0') {
        result = enter_file(walk, component, path, why);
    } else if (!S_ISLNK(st.st_mode)) {
        jg_cache_say(why, "a part of the path %.300s is not a folder", path);
        result = JG_CACHE_UNTRUSTED;
    } else if (!owner_is_trusted(&st, uid) || ++walk->links > MAX_LINKS) {
        jg_cache_say(why, "the path %.300s goes through a link that is not to be trusted",
                     path);
        result = JG_CACHE_UNTRUSTED;
    } else {
        result = follow_link(walk, next, at + length, why);
    }
    close(next);
    return result;
}

/*
 * Walks to a folder one component at a time, each opened relative to its checked parent,
 * so that nothing can be exchanged between check and use. Links are followed when they
 * belong to the user or to root. `*ret_fd` is open for look-ups only (O_PATH), or for
 * reading if the path ends in a file; only a walk that creates nothing does.
 */
static jg_cache_result walk_path(const struct chosen *chosen, uid_t uid, bool create,
                                 int *ret_fd, const struct jg_cache_why *why)
{
    struct walk walk = {.tail = chosen->tail, .may_be_file = !create};
    memcpy(walk.pending, chosen->path, sizeof(walk.pending));
    walk.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (walk.fd < 0) {
        return jg_cache_say_errno(why, errno, "open the root folder");
    }
    jg_cache_result result = JG_CACHE_OK;
    while (result == JG_CACHE_OK && walk.pending[strspn(walk.pending, "/")] != '\0') {
        result = walk_component(&walk, chosen->path, uid, create, why);
    }
    if (result == JG_CACHE_OK) {
        *ret_fd = walk.fd;
    } else {
        close(walk.fd);
    }
    return result;
}

static jg_cache_result check_open_folder(int fd, uid_t uid, const char *folder,
                                         const struct jg_cache_why *why)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return jg_cache_say_errno(why, errno, "examine the cache folder");
    }
    return jg_cache_dir_check(&st, uid, folder, why);
}

/* -1 with errno. */
static int open_folder(int parent_fd, const char *name)
{
    int fd;
    do {
        fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* Opens the versioned folder inside the named one, both checked. */
static jg_cache_result open_versioned(int parent_fd, uid_t uid, bool create,
                                      const char *path, int *ret_fd,
                                      const struct jg_cache_why *why)
{
    char folder[400], version[16];
    snprintf(folder, sizeof(folder), "the cache folder %.300s", path);
    jg_cache_result result = check_open_folder(parent_fd, uid, folder, why);
    if (result != JG_CACHE_OK) {
        return result;
    }
    snprintf(version, sizeof(version), "v%d", JG_CACHE_FORMAT);
    int fd = open_folder(parent_fd, version);
    if (fd < 0 && errno == ENOENT && create) {
        errno = make_private_folder(parent_fd, version);
        fd = errno == 0 ? open_folder(parent_fd, version) : -1;
    }
    if (fd < 0) {
        const int error = errno;
        jg_cache_say(why, "%s/%s cannot be %s: %s", folder, version,
                     create ? "opened or made" : "opened", strerror(error));
        return error == ENOTDIR || error == ELOOP ? JG_CACHE_UNTRUSTED : JG_CACHE_NO_FOLDER;
    }
    snprintf(folder, sizeof(folder), "the cache folder %.300s/%s", path, version);
    result = check_open_folder(fd, uid, folder, why);
    if (result == JG_CACHE_OK) {
        *ret_fd = fd;
    } else {
        close(fd);
    }
    return result;
}

/* Walks to the chosen folder and opens what is in it. */
static jg_cache_result open_chosen(const struct chosen *chosen, uid_t uid, bool create,
                                   int *ret_fd, const struct jg_cache_why *why)
{
    int parent_fd = -1;
    jg_cache_result result = walk_path(chosen, uid, create, &parent_fd, why);
    if (result == JG_CACHE_OK) {
        result = open_versioned(parent_fd, uid, create, chosen->path, ret_fd, why);
        close(parent_fd);
    }
    return result;
}

/* Opens what is read only: the folder in a folder, or else a file. */
static jg_cache_result open_root(const struct chosen *chosen, uid_t uid, int *ret_fd,
                                 int *ret_file_fd, const struct jg_cache_why *why)
{
    int fd = -1;
    struct stat st;
    jg_cache_result result = walk_path(chosen, uid, false, &fd, why);
    if (result != JG_CACHE_OK) {
        return result;
    }
    bool is_taken = false;
    if (fstat(fd, &st) != 0) {
        result = jg_cache_say_errno(why, errno, "examine the cache folder");
    } else if (S_ISREG(st.st_mode)) {
        char bundle[400];
        snprintf(bundle, sizeof(bundle), "the bundle %.300s", chosen->path);
        result = jg_cache_dir_check(&st, uid, bundle, why);
        is_taken = result == JG_CACHE_OK;
        *ret_file_fd = is_taken ? fd : *ret_file_fd;
    } else {
        result = open_versioned(fd, uid, false, chosen->path, ret_fd, why);
    }
    if (!is_taken) {
        close(fd);
    }
    return result;
}

/* ------------------------------------------------------------------ what is held open */

static void keep_open(struct jg_cache_home *home, int fd)
{
    struct stat st = {0};
    if (fd >= 0 && fstat(fd, &st) == 0) {
        atomic_store(&home->device, st.st_dev);
        atomic_store(&home->file, st.st_ino);
    }
    atomic_store(&home->fd, fd);
}

static bool is_kept_open(const struct jg_cache_home *home, int fd, struct stat *ret_st)
{
    return fd >= 0 && fstat(fd, ret_st) == 0 &&
           ret_st->st_dev == atomic_load(&home->device) &&
           ret_st->st_ino == atomic_load(&home->file);
}

jg_cache_result jg_cache_dir_open(const jg_cache_options *options, jg_cache *cache,
                                  int *ret_file_fd, const struct jg_cache_why *why)
{
    struct chosen chosen = {.tail = 0};
    jg_cache_result result = choose_folder(options, &chosen, why);
    if (result != JG_CACHE_OK) {
        return result;
    }
    for (size_t n = strlen(chosen.path); n > 1 && chosen.path[n - 1] == '/'; n--) {
        chosen.path[n - 1] = '\0';
        chosen.tail -= chosen.tail > 0;
    }
    int fd = -1, file_fd = -1;
    result = options->read_only ? open_root(&chosen, cache->uid, &fd, &file_fd, why)
                                : open_chosen(&chosen, cache->uid, true, &fd, why);
    if (result != JG_CACHE_OK) {
        return result;
    }
    char version[16] = "";
    if (fd >= 0) {
        snprintf(version, sizeof(version), "/v%d", JG_CACHE_FORMAT);
    }
    char *folder = NULL;
    struct jg_cache_home *home = calloc(1, sizeof(*home));
    if (home == NULL || asprintf(&folder, "%s%s", chosen.path, version) < 0) {
        free(home);
        close(fd >= 0 ? fd : file_fd);
        jg_cache_say(why, "no memory for the name of the cache folder");
        return JG_CACHE_NO_MEMORY;
    }
    cache->folder = folder;
    cache->home = home;
    keep_open(home, fd >= 0 ? fd : file_fd);
    cache->tail = chosen.tail;
    *ret_file_fd = file_fd;
    return JG_CACHE_OK;
}

/* What the walk begins with, for a folder that was open before. */
static struct chosen choose_again(const jg_cache *cache)
{
    struct chosen chosen = {.tail = cache->tail};
    const char *end = cache->bundle == NULL ? strrchr(cache->folder, '/')
                                            : cache->folder + strlen(cache->folder);
    memcpy(chosen.path, cache->folder, (size_t)(end - cache->folder));
    return chosen;
}

/* A folder may be another one by now; a bundle whose index is in memory may not. */
static int open_again(const jg_cache *cache)
{
    const struct jg_cache_why silent = {NULL, 0};
    const struct chosen chosen = choose_again(cache);
    int fd = -1, file_fd = -1;
    struct stat st;
    if (!cache->read_only) {
        return open_chosen(&chosen, cache->uid, true, &fd, &silent) == JG_CACHE_OK ? fd
                                                                                   : -1;
    }
    if (open_root(&chosen, cache->uid, &fd, &file_fd, &silent) != JG_CACHE_OK) {
        return -1;
    }
    const int opened = fd >= 0 ? fd : file_fd;
    if ((cache->bundle != NULL) != (file_fd >= 0) ||
        (file_fd >= 0 && !is_kept_open(cache->home, file_fd, &st))) {
        close(opened);
        return -1;
    }
    return opened;
}

int jg_cache_dir_fd(const jg_cache *cache)
{
    struct jg_cache_home *home = cache->home;
    int held = atomic_load(&home->fd);
    struct stat st;
    if (is_kept_open(home, held, &st)) {
        return held;
    }
    const bool is_open = fstat(held, &st) == 0;
    struct stat now;
    const int fd = open_again(cache);
    if (fd < 0 || fstat(fd, &now) != 0) {
        errno = EBADF;
        return -1;
    }
    if (is_open && st.st_dev == now.st_dev && st.st_ino == now.st_ino) {
        close(fd); /* made anew by another thread, which is about to say so */
        return held;
    }
    /* Whose the old number is now nobody knows: it stays open. */
    const int opened = fd;
    if (!atomic_compare_exchange_strong(&home->fd, &held, fd)) {
        close(opened);
        return held;
    }
    keep_open(home, fd);
    return fd;
}

bool jg_cache_dir_renew(const jg_cache *cache)
{
    const struct jg_cache_why silent = {NULL, 0};
    struct jg_cache_home *home = cache->home;
    const int held = atomic_load(&home->fd);
    struct stat st;
    if (cache->read_only || !is_kept_open(home, held, &st) || st.st_nlink > 0) {
        return false;
    }
    const struct chosen chosen = choose_again(cache);
    int fd = -1;
    if (open_chosen(&chosen, cache->uid, true, &fd, &silent) != JG_CACHE_OK) {
        return false;
    }
    const bool is_renewed = dup3(fd, held, O_CLOEXEC) >= 0;
    if (is_renewed) {
        keep_open(home, held);
    }
    close(fd);
    return is_renewed;
}

void jg_cache_dir_close(jg_cache *cache)
{
    struct stat st;
    if (cache->home != NULL &&
        is_kept_open(cache->home, atomic_load(&cache->home->fd), &st)) {
        close(atomic_load(&cache->home->fd));
    }
    free(cache->home);
    cache->home = NULL;
}
