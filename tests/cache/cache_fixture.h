/* SPDX-License-Identifier: MIT */
/* A cache in a fresh temporary folder, and ways to spoil its files. */
#ifndef CACHE_FIXTURE_H
#define CACHE_FIXTURE_H

#include "jg_cache.h"

#include <sys/types.h>

struct fixture {
    char root[128];   /* temporary folder, removed at the end */
    char folder[160]; /* <root>/cache */
    jg_cache *cache;  /* opened on folder, without fsync */
    char reason[256]; /* of the last call */
};

/* What the tests store: everything follows from a number. */
struct sample {
    jg_cache_name name;
    unsigned char *payload, *material, *metadata;
    size_t payload_size, material_size, metadata_size;
};

/* All of these end the process with a message when the system refuses. */
void fixture_begin(struct fixture *f);
/* The same in /dev/shm if there is one: for tests that write tens of thousands of files. */
void fixture_begin_in_memory(struct fixture *f);
void fixture_end(struct fixture *f);
void fixture_remove_tree(const char *path);
jg_cache *fixture_open(struct fixture *f, int read_only);

/* Sizes may be 0. The name's first byte is `number`'s lowest. */
struct sample sample_make(unsigned number, size_t payload_size, size_t material_size,
                          size_t metadata_size);
void sample_free(struct sample *s);
jg_cache_key sample_key(const struct sample *s);
jg_cache_result sample_put(struct fixture *f, jg_cache *cache, const struct sample *s);
/* Gets and, on a hit, compares everything: -1 when the hit brought other bytes. */
int sample_get(struct fixture *f, jg_cache *cache, const struct sample *s);

/* Skips a test and cleans up, which Criterion then leaves out. */
#define SKIP_TEST(f, why)  \
    do {                   \
        fixture_end(f);    \
        cr_skip_test(why); \
    } while (0)

/* Path of an entry's file. */
void entry_path(const struct fixture *f, const jg_cache_name *name, char ret_path[256]);
bool path_exists(const char *path);
/* Whole files; read_file gives malloc'd bytes. */
unsigned char *read_file(const char *path, size_t *ret_size);
void write_file(const char *path, const void *bytes, size_t size);
/* The descriptor above 2 of this process that leads to a file or folder; -1: none. */
int find_descriptor(const char *path);
/* Number of files below a folder whose names begin with a prefix ("" for all). */
int count_files(const char *folder, const char *prefix);
int count_quarantined(const struct fixture *f);

/* Gives up root for user 65534, who gets `path` if not NULL, until fixture_end. False when
 * this is not root. */
bool become_nobody(const char *path);

/* Small generator of pseudo-random numbers; the state is the caller's. */
unsigned long long next_random(unsigned long long *state);

#endif
