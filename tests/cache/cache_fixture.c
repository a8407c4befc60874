/* SPDX-License-Identifier: MIT */
#include "cache_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void require(int holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(99);
    }
}

unsigned long long next_random(unsigned long long *state)
{
    unsigned long long z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path) != 0;
}

void fixture_remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

jg_cache *fixture_open(struct fixture *f, int read_only)
{
    jg_cache_options options = {.folder = f->folder, .read_only = read_only, .no_sync = 1};
    jg_cache *cache = NULL;
    if (jg_cache_open(&options, &cache, f->reason, sizeof(f->reason)) != JG_CACHE_OK) {
        fprintf(stderr, "cannot open %s: %s\n", f->folder, f->reason);
        exit(99);
    }
    return cache;
}

static void begin_in(struct fixture *f, const char *place)
{
    memset(f, 0, sizeof(*f));
    snprintf(f->root, sizeof(f->root), "%s/jg-cache-test-XXXXXX", place);
    require(mkdtemp(f->root) != NULL, "mkdtemp");
    snprintf(f->folder, sizeof(f->folder), "%s/cache", f->root);
    f->cache = fixture_open(f, 0);
}

void fixture_end(struct fixture *f)
{
    jg_cache_close(f->cache);
    if (setresuid(0, 0, 0) == 0) { /* only after become_nobody: to be allowed to clean up */
        require(setresgid(0, 0, 0) == 0, "become root again");
    }
    fixture_remove_tree(f->root);
}

void fixture_begin(struct fixture *f)
{
    begin_in(f, "/tmp");
}

void fixture_begin_in_memory(struct fixture *f)
{
    begin_in(f, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

static unsigned char *make_bytes(size_t size, unsigned long long seed)
{
    unsigned char *bytes = malloc(size > 0 ? size : 1);
    require(bytes != NULL, "malloc");
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)next_random(&seed);
    }
    return bytes;
}

struct sample sample_make(unsigned number, size_t payload_size, size_t material_size,
                          size_t metadata_size)
{
    struct sample s;
    unsigned long long seed = number;

    for (size_t i = 0; i < sizeof(s.name.bytes); i++) {
        s.name.bytes[i] = (unsigned char)next_random(&seed);
    }
    s.name.bytes[0] = (unsigned char)number;
    s.payload_size = payload_size;
    s.material_size = material_size;
    s.metadata_size = metadata_size;
    s.payload = make_bytes(payload_size, seed ^ 1);
    s.material = make_bytes(material_size, seed ^ 2);
    s.metadata = make_bytes(metadata_size, seed ^ 3);
    return s;
}

void sample_free(struct sample *s)
{
    free(s->payload);
    free(s->material);
    free(s->metadata);
    memset(s, 0, sizeof(*s));
}

jg_cache_key sample_key(const struct sample *s)
{
    return (jg_cache_key){
        .name = s->name, .material = s->material, .material_size = s->material_size};
}

jg_cache_result sample_put(struct fixture *f, jg_cache *cache, const struct sample *s)
{
    const jg_cache_key key = sample_key(s);
    const jg_cache_value value = {s->payload, s->payload_size, s->metadata,
                                  s->metadata_size};
    return jg_cache_put(cache, &key, &value, f->reason, sizeof(f->reason));
}

int sample_get(struct fixture *f, jg_cache *cache, const struct sample *s)
{
    jg_cache_blob blob;
    const jg_cache_key key = sample_key(s);
    const jg_cache_result result =
        jg_cache_get(cache, &key, &blob, f->reason, sizeof(f->reason));
    if (result != JG_CACHE_OK) {
        return (int)result;
    }
    const bool is_equal =
        blob.payload_size == s->payload_size && blob.metadata_size == s->metadata_size &&
        (size_t)blob.payload % 64 == 0 &&
        (s->payload_size == 0 || !memcmp(blob.payload, s->payload, s->payload_size)) &&
        (s->metadata_size == 0 ? blob.metadata == NULL
                               : !memcmp(blob.metadata, s->metadata, s->metadata_size));
    jg_cache_blob_free(&blob);
    return is_equal ? JG_CACHE_OK : -1;
}

void entry_path(const struct fixture *f, const jg_cache_name *name, char ret_path[256])
{
    int n = snprintf(ret_path, 256, "%s/v1/%02x/", f->folder, name->bytes[0]);
    for (int i = 1; i < 16; i++) {
        n += snprintf(ret_path + n, 256 - (size_t)n, "%02x", name->bytes[i]);
    }
    snprintf(ret_path + n, 256 - (size_t)n, ".jgk");
}

bool path_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

unsigned char *read_file(const char *path, size_t *ret_size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    require(fd >= 0 && fstat(fd, &st) == 0, path);
    unsigned char *bytes = malloc((size_t)st.st_size + 1);
    require(bytes != NULL && read(fd, bytes, (size_t)st.st_size) == st.st_size, path);
    close(fd);
    *ret_size = (size_t)st.st_size;
    return bytes;
}

void write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, path);
    close(fd);
}

int count_files(const char *folder, const char *prefix)
{
    int n = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return 0;
    }
    for (struct dirent *item = readdir(dir); item != NULL; item = readdir(dir)) {
        char path[512];
        struct stat st;
        if (!strcmp(item->d_name, ".") || !strcmp(item->d_name, "..")) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", folder, item->d_name);
        if (lstat(path, &st) != 0) {
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            n += count_files(path, prefix);
        } else {
            n += strncmp(item->d_name, prefix, strlen(prefix)) == 0;
        }
    }
    closedir(dir);
    return n;
}

int count_quarantined(const struct fixture *f)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/v1/quarantine", f->folder);
    return count_files(path, "");
}

bool become_nobody(const char *path)
{
    const uid_t nobody = 65534;
    if (geteuid() != 0) {
        return false;
    }
    if (path != NULL) {
        require(chown(path, nobody, nobody) == 0, path);
    }
    require(setgroups(0, NULL) == 0 && setresgid(nobody, nobody, 0) == 0 &&
                setresuid(nobody, nobody, 0) == 0,
            "give up root");
    return true;
}

int find_descriptor(const char *path)
{
    struct stat wanted, st;
    const bool is_there = stat(path, &wanted) == 0;
    for (int fd = 3; is_there && fd < 256; fd++) {
        if (fstat(fd, &st) == 0 && st.st_dev == wanted.st_dev &&
            st.st_ino == wanted.st_ino) {
            return fd;
        }
    }
    return -1;
}
