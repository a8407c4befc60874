/* SPDX-License-Identifier: MIT */
/* Going through a whole folder: visits, and removal of what is old or left over. */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Clocks of machines that share a folder may differ by less than FUTURE_SECONDS. */
enum { N_SHARDS = 256, FIRST_CAPACITY = 64, FUTURE_SECONDS = 24 * 60 * 60 };

/* An entry's file as a trim sees it; a walk fills the name only. */
struct found {
    jg_cache_name name;
    uint64_t bytes;
    struct timespec modified;
    int64_t age_seconds; /* of a trim */
};

struct found_list {
    struct found *items; /* owned */
    size_t n_items, capacity;
};

static const struct jg_cache_why silent = {NULL, 0};

static bool append_found(struct found_list *list, const struct found *item)
{
    if (list->n_items == list->capacity) {
        const size_t capacity = list->capacity > 0 ? list->capacity * 2 : FIRST_CAPACITY;
        if (capacity > SIZE_MAX / sizeof(*list->items)) {
            return false;
        }
        struct found *grown = realloc(list->items, capacity * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->n_items++] = *item;
    return true;
}

static int read_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Is a file of a shard named like an entry? Fills the name. */
static bool parse_entry_name(unsigned shard, const char *file, jg_cache_name *ret_name)
{
    if (strlen(file) != JG_CACHE_FILE_NAME_BYTES - 1 || strcmp(file + 30, ".jgk") != 0) {
        return false;
    }
    jg_cache_name name;
    name.bytes[0] = (unsigned char)shard;
    for (size_t i = 1; i < sizeof(name.bytes); i++) {
        const int high = read_digit(file[2 * i - 2]);
        const int low = read_digit(file[2 * i - 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        name.bytes[i] = (unsigned char)(high << 4 | low);
    }
    *ret_name = name;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return memcmp(x->name.bytes, y->name.bytes, sizeof(x->name.bytes));
}

static int compare_ages(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->age_seconds != y->age_seconds) {
        return x->age_seconds > y->age_seconds ? -1 : 1;
    }
    if (x->modified.tv_nsec != y->modified.tv_nsec) {
        return x->modified.tv_nsec < y->modified.tv_nsec ? -1 : 1;
    }
    return compare_names(a, b);
}

/* A reading position of its own in an open folder. */
static jg_cache_result open_listing(int folder_fd, DIR **ret_dir)
{
    const int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        const bool has_no_memory = errno == ENOMEM;
        if (fd >= 0) {
            close(fd);
        }
        return has_no_memory ? JG_CACHE_NO_MEMORY : JG_CACHE_IO;
    }
    *ret_dir = dir;
    return JG_CACHE_OK;
}

/* The next name there; NULL at the end, or where it cannot be read, which `result` has. */
static const char *next_name(DIR *dir, jg_cache_result *result)
{
    errno = 0;
    const struct dirent *file = readdir(dir);
    if (file == NULL && errno != 0) {
        *result = JG_CACHE_IO;
    }
    return file != NULL ? file->d_name : NULL;
}

/* Names of the entries of a shard, in order. */
static jg_cache_result list_entries(int shard_fd, unsigned shard, struct found_list *list)
{
    DIR *dir = NULL;
    jg_cache_result result = open_listing(shard_fd, &dir);
    if (result != JG_CACHE_OK) {
        return result;
    }
    for (const char *name; (name = next_name(dir, &result)) != NULL;) {
        struct found item = {0};
        if (parse_entry_name(shard, name, &item.name) && !append_found(list, &item)) {
            result = JG_CACHE_NO_MEMORY;
            break;
        }
    }
    closedir(dir);
    if (list->n_items > 0) {
        qsort(list->items, list->n_items, sizeof(*list->items), compare_names);
    }
    return result;
}

/* An entry may also be a folder that somebody put there: only an empty one is removed. */
static bool remove_file(int folder_fd, const char *file)
{
    if (unlinkat(folder_fd, file, 0) == 0 || errno == ENOENT) {
        return true;
    }
    return (errno == EISDIR || errno == EPERM) &&
           unlinkat(folder_fd, file, AT_REMOVEDIR) == 0;
}

/* What a walk does with every entry. */
struct visit {
    jg_cache_visit_fn function;
    void *user;
    bool verify;           /* checksums of payloads too */
    bool stop;             /* the visitor wants no more */
    jg_cache_result state; /* of the last entry */
};

/* Calls the visitor for what was loaded, and releases it. */
static int call_visitor(jg_cache_entry *entry, struct jg_cache_loaded *loaded,
                        const struct stat *seen, const struct visit *visit)
{
    entry->file_bytes = seen->st_size > 0 ? (uint64_t)seen->st_size : 0;
    entry->modified = seen->st_mtim.tv_sec;
    if (entry->state == JG_CACHE_OK) {
        entry->material = jg_cache_entry_material(loaded->header);
        entry->material_size = loaded->layout.material_bytes;
        entry->metadata_size = loaded->layout.metadata_bytes;
        if (entry->metadata_size > 0) {
            entry->metadata = jg_cache_entry_metadata(loaded->header, &loaded->layout);
        }
        entry->payload_size = (size_t)loaded->layout.payload_bytes;
        entry->payload = loaded->payload;
    }
    const int answer = visit->function(visit->user, entry);
    jg_cache_store_release(loaded);
    return answer;
}

/* Of a bundle `shard_fd` is -1. */
static jg_cache_result visit_entry(const jg_cache *cache, int shard_fd,
                                   const jg_cache_name *name, struct visit *visit)
{
    struct jg_cache_loaded loaded = {0};
    struct stat seen;
    jg_cache_entry entry = {.name = *name};
    entry.state = cache->bundle != NULL
                      ? jg_cache_bundle_load(cache->bundle, jg_cache_dir_fd(cache), name,
                                             visit->verify, &loaded, &seen, &silent)
                      : jg_cache_store_load(cache, shard_fd, name, visit->verify, &loaded,
                                            &seen, &silent);
    visit->state = entry.state;
    if (entry.state == JG_CACHE_MISS) {
        return JG_CACHE_OK; /* removed since it was listed */
    }
    const int answer = call_visitor(&entry, &loaded, &seen, visit);
    visit->stop = answer != 0 && answer != 1;
    if (answer == 1) {
        char file[JG_CACHE_FILE_NAME_BYTES];
        jg_cache_store_file_name(name, file);
        if (cache->read_only || !remove_file(shard_fd, file)) {
            return JG_CACHE_IO;
        }
    }
    return JG_CACHE_OK;
}

static jg_cache_result walk_bundle(const jg_cache *cache, struct visit *visit)
{
    jg_cache_result first_failure = JG_CACHE_OK;
    for (uint32_t i = 0; i < jg_cache_bundle_count(cache->bundle) && !visit->stop; i++) {
        jg_cache_name name;
        jg_cache_bundle_name(cache->bundle, i, &name);
        const jg_cache_result result = visit_entry(cache, -1, &name, visit);
        first_failure = first_failure == JG_CACHE_OK ? result : first_failure;
    }
    return first_failure;
}

static int ignore_answer(void *user, const jg_cache_entry *entry)
{
    const struct visit *visit = user;
    (void)visit->function(visit->user, entry);
    return 0;
}

jg_cache_result jg_cache_visit(jg_cache *cache, const jg_cache_name *name, bool verify,
                               jg_cache_visit_fn visit, void *user)
{
    if (cache == NULL) {
        return JG_CACHE_MISS;
    }
    struct visit asked = {.function = visit, .user = user};
    struct visit one = {.function = ignore_answer, .user = &asked, .verify = verify};
    int shard_fd = -1;
    if (cache->bundle == NULL) {
        const jg_cache_result result =
            jg_cache_store_open_shard(cache, name->bytes[0], false, &shard_fd, &silent);
        if (result != JG_CACHE_OK) {
            return result;
        }
    }
    (void)visit_entry(cache, shard_fd, name, &one);
    if (shard_fd >= 0) {
        close(shard_fd);
    }
    return one.state;
}

jg_cache_result jg_cache_walk(jg_cache *cache, bool verify, jg_cache_visit_fn visit,
                              void *user)
{
    if (cache == NULL) {
        return JG_CACHE_OK;
    }
    struct visit each = {.function = visit, .user = user, .verify = verify};
    if (cache->bundle != NULL) {
        return walk_bundle(cache, &each);
    }
    jg_cache_result first_failure = JG_CACHE_OK;
    for (unsigned shard = 0; shard < N_SHARDS && !each.stop; shard++) {
        struct found_list list = {0};
        int shard_fd = -1;
        jg_cache_result result =
            jg_cache_store_open_shard(cache, shard, false, &shard_fd, &silent);
        if (result == JG_CACHE_MISS) {
            continue;
        }
        if (result == JG_CACHE_OK) {
            result = list_entries(shard_fd, shard, &list);
        }
        for (size_t i = 0; i < list.n_items && !each.stop; i++) {
            const jg_cache_result one =
                visit_entry(cache, shard_fd, &list.items[i].name, &each);
            if (result == JG_CACHE_OK) {
                result = one;
            }
        }
        free(list.items);
        if (shard_fd >= 0) {
            close(shard_fd);
        }
        if (first_failure == JG_CACHE_OK) {
            first_failure = result;
        }
    }
    return first_failure;
}

/* A temporary file is left over when its writer is known to be dead, or by its age. */
static bool is_left_over(const jg_cache *cache, const char *file, const struct stat *st,
                         time_t now)
{
    uint64_t pid_space;
    pid_t pid;
    if (!S_ISREG(st->st_mode) || !jg_cache_store_parse_temp(file, &pid_space, &pid)) {
        return false;
    }
    if (now - st->st_mtim.tv_sec > JG_CACHE_TEMP_MAX_AGE_S) {
        return true;
    }
    /* Process numbers mean something only in the same boot and namespace. */
    return pid_space != 0 && pid_space == cache->pid_space && kill(pid, 0) != 0 &&
           errno == ESRCH;
}

static uint64_t count_bytes(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_size > 0 ? (uint64_t)st->st_size : 0;
}

/* Lists a shard's entries with size and time; removes left-over temporary files. */
static jg_cache_result scan_shard(const jg_cache *cache, unsigned shard, int shard_fd,
                                  struct found_list *list, uint64_t *bytes)
{
    DIR *dir = NULL;
    jg_cache_result result = open_listing(shard_fd, &dir);
    if (result != JG_CACHE_OK) {
        return result;
    }
    const time_t now = time(NULL);
    for (const char *name; (name = next_name(dir, &result)) != NULL;) {
        struct stat st;
        if (fstatat(shard_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (is_left_over(cache, name, &st, now)) {
            if (unlinkat(shard_fd, name, 0) == 0) {
                *bytes += count_bytes(&st);
            }
            continue;
        }
        struct found item = {.age_seconds = 0};
        if (!S_ISREG(st.st_mode) || !parse_entry_name(shard, name, &item.name)) {
            continue;
        }
        item.bytes = count_bytes(&st);
        item.modified = st.st_mtim;
        if (!append_found(list, &item)) {
            result = JG_CACHE_NO_MEMORY;
            break;
        }
    }
    closedir(dir);
    return result;
}

/* Quarantined things bear the name of their entry and a digit. */
static bool is_quarantine_name(const char *file)
{
    if (strlen(file) != 34 || file[32] != '.' || file[33] < '0' || file[33] > '9') {
        return false;
    }
    for (int i = 0; i < 32; i++) {
        if (read_digit(file[i]) < 0) {
            return false;
        }
    }
    return true;
}

static jg_cache_result empty_quarantine(const jg_cache *cache, uint64_t *bytes)
{
    int fd = -1;
    const jg_cache_result result = jg_cache_store_open_folder(
        cache, jg_cache_dir_fd(cache), JG_CACHE_QUARANTINE_FOLDER, false, &fd, &silent);
    if (result != JG_CACHE_OK) {
        return result == JG_CACHE_MISS ? JG_CACHE_OK : result;
    }
    DIR *dir = NULL;
    jg_cache_result listed = open_listing(fd, &dir);
    if (listed != JG_CACHE_OK) {
        close(fd);
        return listed;
    }
    for (const char *name; (name = next_name(dir, &listed)) != NULL;) {
        struct stat st;
        if (is_quarantine_name(name) && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            remove_file(fd, name)) {
            *bytes += count_bytes(&st);
        }
    }
    closedir(dir);
    close(fd);
    return listed;
}

/* What became of an entry that was to go. */
enum removal { REMOVED, CHANGED, NOT_ALLOWED };

/* Removes an entry unless it was stored anew or used since the scan. */
static enum removal remove_found(const jg_cache *cache, const struct found *item)
{
    int shard_fd = -1;
    const jg_cache_result opened =
        jg_cache_store_open_shard(cache, item->name.bytes[0], false, &shard_fd, &silent);
    if (opened != JG_CACHE_OK) {
        return opened == JG_CACHE_MISS ? CHANGED : NOT_ALLOWED;
    }
    char file[JG_CACHE_FILE_NAME_BYTES];
    jg_cache_store_file_name(&item->name, file);
    struct stat st;
    enum removal removal = CHANGED;
    if (fstatat(shard_fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        st.st_mtim.tv_sec == item->modified.tv_sec &&
        st.st_mtim.tv_nsec == item->modified.tv_nsec) {
        removal = unlinkat(shard_fd, file, 0) == 0 ? REMOVED
                  : errno == ENOENT                ? CHANGED /* another trim has it */
                                                   : NOT_ALLOWED;
    }
    close(shard_fd);
    return removal;
}

/* A stamp beyond today says nothing of the age, and would keep its entry for ever: such an
 * entry is the oldest. */
static void age_future_stamps(struct found_list *list, int64_t now)
{
    for (size_t i = 0; i < list->n_items; i++) {
        struct found *item = &list->items[i];
        item->age_seconds = now - (int64_t)item->modified.tv_sec;
        if (item->age_seconds < -FUTURE_SECONDS) {
            item->age_seconds = INT64_MAX;
        }
    }
}

/* Lists the entries of every shard. The first failure is returned; all are tried. */
static jg_cache_result scan_shards(const jg_cache *cache, struct found_list *list,
                                   uint64_t *bytes)
{
    jg_cache_result first_failure = JG_CACHE_OK;
    for (unsigned shard = 0; shard < N_SHARDS; shard++) {
        int shard_fd = -1;
        jg_cache_result result =
            jg_cache_store_open_shard(cache, shard, false, &shard_fd, &silent);
        if (result == JG_CACHE_MISS) {
            continue;
        }
        if (result == JG_CACHE_OK) {
            result = scan_shard(cache, shard, shard_fd, list, bytes);
            close(shard_fd);
        }
        if (first_failure == JG_CACHE_OK) {
            first_failure = result;
        }
    }
    return first_failure;
}

/* What a trim leaves. */
struct limits {
    uint64_t max_bytes;        /* a folder that holds more is cut; 0: none is */
    uint64_t left_bytes;       /* to as much as this */
    int64_t max_age_seconds;   /* 0: no limit */
    const jg_cache_name *kept; /* stays whatever the limits say; may be NULL */
};

static bool is_kept(const struct limits *limits, const jg_cache_name *name)
{
    return limits->kept != NULL &&
           memcmp(limits->kept->bytes, name->bytes, sizeof(name->bytes)) == 0;
}

/* Removes entries by age, then the oldest until the rest fits, and counts them. IO if one
 * could not be removed; what it holds still counts. */
static jg_cache_result remove_by_limits(const jg_cache *cache, struct found_list *list,
                                        const struct limits *limits, uint64_t *removed,
                                        uint64_t *bytes)
{
    jg_cache_result result = JG_CACHE_OK;
    uint64_t total = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        total += list->items[i].bytes;
    }
    const bool is_cut = limits->max_bytes > 0 && total > limits->max_bytes;
    age_future_stamps(list, (int64_t)time(NULL));
    if (list->n_items > 0) {
        qsort(list->items, list->n_items, sizeof(*list->items), compare_ages);
    }
    for (size_t i = 0; i < list->n_items; i++) {
        const struct found *item = &list->items[i];
        const bool is_too_old =
            limits->max_age_seconds > 0 && item->age_seconds > limits->max_age_seconds;
        if (!is_too_old && !(is_cut && total > limits->left_bytes)) {
            break; /* all that follow are younger */
        }
        if (is_kept(limits, &item->name)) {
            continue;
        }
        const enum removal removal = remove_found(cache, item);
        if (removal == REMOVED) {
            total -= item->bytes;
            *removed += 1;
            *bytes += item->bytes;
        } else if (removal == NOT_ALLOWED) {
            result = JG_CACHE_IO;
        }
    }
    return result;
}

static jg_cache_result trim(const jg_cache *cache, const struct limits *limits,
                            uint64_t *removed, uint64_t *bytes)
{
    struct found_list list = {0};
    jg_cache_result result = empty_quarantine(cache, bytes);
    const jg_cache_result scanned = scan_shards(cache, &list, bytes);
    result = result == JG_CACHE_OK ? scanned : result;
    const jg_cache_result cleared = remove_by_limits(cache, &list, limits, removed, bytes);
    free(list.items);
    return result == JG_CACHE_OK ? cleared : result;
}

jg_cache_result jg_cache_trim(jg_cache *cache, uint64_t max_bytes, int64_t max_age_seconds,
                              uint64_t *ret_removed, uint64_t *ret_bytes)
{
    if (cache != NULL && cache->read_only) {
        return JG_CACHE_IO;
    }
    const struct limits limits = {.max_bytes = max_bytes,
                                  .left_bytes = max_bytes,
                                  .max_age_seconds = max_age_seconds};
    jg_cache_result result = JG_CACHE_OK;
    uint64_t removed = 0, freed = 0;
    if (cache != NULL) {
        result = trim(cache, &limits, &removed, &freed);
    }
    if (ret_removed != NULL) {
        *ret_removed = removed;
    }
    if (ret_bytes != NULL) {
        *ret_bytes = freed;
    }
    return result;
}

/* --------------------------------------------------------------------- after a put */

/* Has nobody who shares the folder trimmed it for a while? A stamp from the future counts
 * as none. */
static bool is_long_ago(const jg_cache *cache)
{
    struct stat st;
    if (fstatat(jg_cache_dir_fd(cache), JG_CACHE_TRIM_STAMP, &st, AT_SYMLINK_NOFOLLOW) !=
        0) {
        return true;
    }
    const time_t age = time(NULL) - st.st_mtim.tv_sec;
    return age > JG_CACHE_TRIM_INTERVAL_S || age < -JG_CACHE_TRIM_INTERVAL_S;
}

/* Best effort: without a stamp there are only more trims. */
static void stamp_trim(const jg_cache *cache)
{
    const int fd = jg_cache_store_open_mark(cache, JG_CACHE_TRIM_STAMP, O_WRONLY);
    if (fd >= 0) {
        (void)futimens(fd, NULL);
        close(fd);
    }
}

void jg_cache_trim_after_put(jg_cache *cache, const jg_cache_name *name, uint64_t bytes)
{
    if (cache->max_bytes == 0) {
        return;
    }
    const uint64_t unseen = atomic_fetch_add(&cache->unseen_bytes, bytes) + bytes;
    if (unseen <= cache->max_bytes / 16 && !is_long_ago(cache)) {
        return;
    }
    const struct limits limits = {.max_bytes = cache->max_bytes,
                                  .left_bytes = cache->max_bytes - cache->max_bytes / 8,
                                  .kept = name};
    uint64_t removed = 0, freed = 0;
    atomic_store(&cache->unseen_bytes, 0);
    stamp_trim(cache); /* first, so that others do not do the same */
    (void)trim(cache, &limits, &removed, &freed);
    atomic_fetch_add(&cache->trimmed, removed);
}
