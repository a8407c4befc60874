/* SPDX-License-Identifier: MIT */
/* Private declarations shared by the files of this folder. */
#ifndef JG_CACHE_INTERNAL_H
#define JG_CACHE_INTERNAL_H

#include "jg_cache.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

struct iovec;

/* Limits, checked before anything is allocated. docs/cache-format.md repeats them. */
#define JG_CACHE_MATERIAL_MAX ((size_t)16 << 20)
#define JG_CACHE_METADATA_MAX ((size_t)1 << 20)
#define JG_CACHE_PAYLOAD_MAX  ((size_t)256 << 20)

/* Bytes of the fixed part of a header, and the alignment of header end and payload. */
#define JG_CACHE_FIXED_BYTES 96u
#define JG_CACHE_ALIGN       64u

#define JG_CACHE_TEMP_MAX_AGE_S    3600 /* a temporary file this old has no live writer */
#define JG_CACHE_STAMP_INTERVAL_S  3600 /* a hit renews the stamp at most this often */
#define JG_CACHE_FILE_NAME_BYTES   35   /* 30 digits, ".jgk", terminator */
#define JG_CACHE_QUARANTINE_FOLDER "quarantine"
#define JG_CACHE_TRIM_INTERVAL_S   3600       /* puts trim this often */
#define JG_CACHE_LOCK_FILE         ".lock"    /* empty; its bytes are locked by name */
#define JG_CACHE_TRIM_STAMP        ".trimmed" /* empty; its time is that of the last trim */

/* The versioned folder or the bundle that is held open, and which file it is. Programs
 * close descriptors that are not theirs (a daemon those above 2), and the number is another
 * file's then. */
struct jg_cache_home {
    atomic_int fd;
    atomic_uint_fast64_t device, file;
};

struct jg_cache {
    struct jg_cache_bundle *bundle; /* owned; NULL: it is a folder */
    struct jg_cache_home *home;     /* owned */
    bool read_only;
    bool no_sync;
    uid_t uid;          /* effective user at open: the only owner trusted beside root */
    uint64_t pid_space; /* this boot and process-id namespace; 0: unknown */
    char *folder;       /* path of the versioned folder, or of the bundle; owned */
    size_t tail;        /* bytes at the end of its parent's path that may be created */
    uint64_t max_bytes; /* 0: no limit */
    atomic_uint_fast64_t unseen_bytes; /* published since the last look at the size */
    atomic_uint_fast64_t hits, misses, rejects, stores, store_errors, trimmed;
};

/* Where a one-sentence reason goes; text may be NULL. */
struct jg_cache_why {
    char *text;
    size_t size;
};

/* reason.c: the sentence of a call. It begins empty. */
struct jg_cache_why jg_cache_begin_reason(char *reason, size_t reason_size);
/* Writes the sentence, control characters replaced. */
void jg_cache_say(const struct jg_cache_why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes "cannot <action>: <error>" and returns NO_MEMORY for ENOMEM, else IO. */
jg_cache_result jg_cache_say_errno(const struct jg_cache_why *why, int error,
                                   const char *action);
/* Goes on with a sentence that stands. */
void jg_cache_say_more(const struct jg_cache_why *why, const char *more);

/* entry.c: the file format, no I/O. */
struct jg_cache_layout {
    uint32_t header_bytes; /* multiple of JG_CACHE_ALIGN; the payload starts here */
    uint32_t material_bytes;
    uint32_t metadata_bytes;
    uint64_t payload_bytes;
    uint64_t total_bytes;
};

/* Sizes of an entry; TOO_LARGE when a part is over its limit. */
jg_cache_result jg_cache_entry_plan(size_t material_size, size_t metadata_size,
                                    size_t payload_size, struct jg_cache_layout *ret_layout,
                                    const struct jg_cache_why *why);
/* Fills `layout->header_bytes` bytes. */
void jg_cache_entry_encode(const struct jg_cache_layout *layout, const jg_cache_key *key,
                           const jg_cache_value *value, unsigned char *ret_header);
/* Reads the fixed part of a file of `file_bytes`: DAMAGED unless every size agrees. */
jg_cache_result jg_cache_entry_read_fixed(const unsigned char fixed[JG_CACHE_FIXED_BYTES],
                                          uint64_t file_bytes,
                                          struct jg_cache_layout *ret_layout,
                                          const struct jg_cache_why *why);
/* Checks a whole header: DAMAGED by its hash, MISMATCH when it was stored for another
 * name. */
jg_cache_result jg_cache_entry_check_header(const unsigned char *header,
                                            const struct jg_cache_layout *layout,
                                            const jg_cache_name *name,
                                            const struct jg_cache_why *why);
/* DAMAGED unless the payload has the SHA-256 that the header tells. */
jg_cache_result jg_cache_entry_check_payload(const unsigned char *header,
                                             const void *payload, uint64_t payload_bytes,
                                             const struct jg_cache_why *why);
const unsigned char *jg_cache_entry_material(const unsigned char *header);
const unsigned char *jg_cache_entry_metadata(const unsigned char *header,
                                             const struct jg_cache_layout *layout);

/* dir.c: which folder, and whether it may be trusted. */
/* UNTRUSTED unless the owner is `uid` or root and nobody else may write. `folder` names it
 * in the reason. */
jg_cache_result jg_cache_dir_check(const struct stat *st, uid_t uid, const char *folder,
                                   const struct jg_cache_why *why);
/* Opens `<folder>/v1` as the cache's folder, and fills what the cache knows of it. If the
 * cache is read-only and the path is one of a file, this is opened for reading instead, and
 * the cache has no folder; else `*ret_file_fd` is -1. */
jg_cache_result jg_cache_dir_open(const jg_cache_options *options, jg_cache *cache,
                                  int *ret_file_fd, const struct jg_cache_why *why);
/* The folder's or bundle's descriptor, opened again if it is no longer what it was; -1 with
 * errno. The caller does not close it. */
int jg_cache_dir_fd(const jg_cache *cache);
/* If the folder was removed, makes it anew in its place: every user of its descriptor is in
 * the new one then. True if another try is worth it. */
bool jg_cache_dir_renew(const jg_cache *cache);
/* Closes and frees `home`. */
void jg_cache_dir_close(jg_cache *cache);

/* trim.c: after a put that has published so many bytes, see jg_cache_put. */
void jg_cache_trim_after_put(jg_cache *cache, const jg_cache_name *name, uint64_t bytes);

/* store.c: files of entries. */
struct jg_cache_loaded {
    unsigned char *header; /* owned */
    void *payload;         /* owned, aligned to 64; NULL when not asked for */
    struct jg_cache_layout layout;
};

/* Opens an empty file of the folder, such as the lock, and makes it if there is none, mode
 * 0600 whatever the umask is. -1: it cannot be, or is something else. */
int jg_cache_store_open_mark(const jg_cache *cache, const char *name, int flags);

/* cache.c: reads and checks an entry, of a folder or a bundle; with `payload` its checksum
 * too. MISS if there is none. */
jg_cache_result jg_cache_load(const jg_cache *cache, const jg_cache_name *name,
                              bool payload, struct jg_cache_loaded *ret_loaded,
                              const struct jg_cache_why *why);

/* Who signs a bundle, and with which serial number. Wiped after use. */
struct jg_cache_signer {
    jg_cache_secret_key secret;
    uint64_t serial;
};

/* bundle.c: many entries in one file. */
struct jg_cache_bundle;
/* Reads what is known of a bundle from a file that is open and trusted, and stays the
 * caller's. DAMAGED; UNTRUSTED, if it is not signed as the options ask; IO, NO_MEMORY. */
jg_cache_result jg_cache_bundle_open(int fd, const jg_cache_options *options,
                                     struct jg_cache_bundle **ret_bundle,
                                     const struct jg_cache_why *why);
/* False if it is not signed. */
bool jg_cache_bundle_signature(const struct jg_cache_bundle *bundle,
                               jg_cache_public_key *ret_key, uint64_t *ret_serial);
void jg_cache_bundle_close(struct jg_cache_bundle *bundle);
uint32_t jg_cache_bundle_count(const struct jg_cache_bundle *bundle);
/* Name of the entry with a number below the count, in order of names. */
void jg_cache_bundle_name(const struct jg_cache_bundle *bundle, uint32_t i,
                          jg_cache_name *ret_name);
/* As jg_cache_store_load. `fd` is the bundle's file. */
jg_cache_result jg_cache_bundle_load(const struct jg_cache_bundle *bundle, int fd,
                                     const jg_cache_name *name, bool payload,
                                     struct jg_cache_loaded *ret_loaded,
                                     struct stat *ret_seen, const struct jg_cache_why *why);

/* 30 digits and the suffix. */
void jg_cache_store_file_name(const jg_cache_name *name,
                              char ret_file[JG_CACHE_FILE_NAME_BYTES]);
/* Opens a folder inside another one and checks it. MISS when absent and not `create`. */
jg_cache_result jg_cache_store_open_folder(const jg_cache *cache, int parent_fd,
                                           const char *name, bool create, int *ret_fd,
                                           const struct jg_cache_why *why);
/* Opens the folder of the first two digits; MISS when absent and not `create`. */
jg_cache_result jg_cache_store_open_shard(const jg_cache *cache, unsigned first_byte,
                                          bool create, int *ret_fd,
                                          const struct jg_cache_why *why);
/* Reads and checks an entry; with `payload` its checksum too. `*ret_seen` describes
 * whatever stands under the name, also on refusal (all zero if there is nothing). */
jg_cache_result jg_cache_store_load(const jg_cache *cache, int shard_fd,
                                    const jg_cache_name *name, bool payload,
                                    struct jg_cache_loaded *ret_loaded,
                                    struct stat *ret_seen, const struct jg_cache_why *why);
void jg_cache_store_release(struct jg_cache_loaded *loaded);
/* The same of an entry of so many bytes that begins at an offset of an open file. */
jg_cache_result jg_cache_store_read_entry(int fd, off_t offset, uint64_t entry_bytes,
                                          const jg_cache_name *name, bool payload,
                                          struct jg_cache_loaded *ret_loaded,
                                          const struct jg_cache_why *why);
/* Reads exactly the parts, which it changes, at an offset; DAMAGED when the file ends
 * before. */
jg_cache_result jg_cache_store_read_parts(int fd, struct iovec *parts, int n_parts,
                                          off_t offset, const struct jg_cache_why *why);
/* 0, or an errno value. */
int jg_cache_store_write_all(int fd, const void *data, size_t size);
/* The same. File systems that cannot sync a folder are not at fault. */
int jg_cache_store_sync(int fd, bool is_folder);

/*
 * Beyond the limit on a file's size a write sends SIGXFSZ to its thread, which would end
 * the program before EFBIG could be told. It waits while we write, and is taken back if a
 * write of ours has sent it.
 */
struct jg_cache_size_signal {
    sigset_t signal, before;
    bool is_held;
};
void jg_cache_store_hold_size_signal(struct jg_cache_size_signal *held);
void jg_cache_store_release_size_signal(const struct jg_cache_size_signal *held);

/* Moves what was seen under the name away. True if it is gone from there. */
bool jg_cache_store_quarantine(const jg_cache *cache, int shard_fd,
                               const jg_cache_name *name, const struct stat *seen);
/* The same by removal, for when the quarantine cannot be used. */
bool jg_cache_store_remove(const jg_cache *cache, int shard_fd, const jg_cache_name *name,
                           const struct stat *seen);
/* Writes and publishes; EXISTS when the name is taken (nothing was changed then). */
jg_cache_result jg_cache_store_publish(const jg_cache *cache, int shard_fd,
                                       const jg_cache_name *name,
                                       const struct jg_cache_layout *layout,
                                       const unsigned char *header, const void *payload,
                                       const struct jg_cache_why *why);
/* Gives `temp` the name `file` unless that is taken: 0, or an errno value. The second is
 * for file systems that cannot rename without replacing. */
int jg_cache_store_rename_new(int shard_fd, const char *temp, const char *file);
int jg_cache_store_link_new(int shard_fd, const char *temp, const char *file);
/* Identity of this boot and process-id namespace, see struct jg_cache. */
uint64_t jg_cache_store_pid_space(void);
/* Is `file` named like a temporary file? Fills space and number of the writing process. */
bool jg_cache_store_parse_temp(const char *file, uint64_t *ret_pid_space, pid_t *ret_pid);

#endif
