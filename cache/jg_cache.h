/* SPDX-License-Identifier: MIT */
/**
 * @file jg_cache.h
 * @brief A disk cache of immutable blobs: private folder, verified reads, no-replace
 * publish.
 *
 * Knows nothing of GPUs. A blob is found by a 128-bit name and accepted only if the whole
 * key material stored with it equals the caller's, and its checksums hold. Whatever is
 * wrong with an entry makes it a miss with a reason, never an error of the caller's work.
 *
 * A bundle is a file with many entries, which is only read. What is said of entries holds
 * for those of a bundle, but that none is ever moved or removed.
 *
 * A NULL cache is legal everywhere: it always misses and keeps nothing. All functions are
 * thread-safe, and any number of processes may share a folder.
 */
#ifndef JG_CACHE_H
#define JG_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the entry format and of the folder name (`v1`). */
#define JG_CACHE_FORMAT 1

typedef struct jg_cache jg_cache; /**< Opaque: one open folder, or a bundle. */

/** Outcome of a call. Never renumbered: they appear in logs. */
typedef enum jg_cache_result {
    JG_CACHE_OK = 0,        /**< Done; for a get: a hit. */
    JG_CACHE_MISS = 1,      /**< There is no such entry. */
    JG_CACHE_EXISTS = 2,    /**< A put found an equal, good entry; nothing was written. */
    JG_CACHE_DAMAGED = 3,   /**< Entry refused: size, header, checksum or trailing bytes. */
    JG_CACHE_MISMATCH = 4,  /**< Entry refused: other key material under the same name. */
    JG_CACHE_UNTRUSTED = 5, /**< Folder or entry refused: owner, mode, link, file kind, or
                                 the signature of a bundle. */
    JG_CACHE_NO_FOLDER =
        6,           /**< No folder is named or can be derived, or it cannot be made. */
    JG_CACHE_IO = 7, /**< A system call failed; see errno in the reason. */
    JG_CACHE_NO_MEMORY = 8, /**< Memory could not be had. */
    JG_CACHE_TOO_LARGE = 9  /**< Over a limit: key material 16 MiB, metadata 1 MiB, payload
                                 256 MiB. */
} jg_cache_result;

/** Short name of a result, for logs ("damaged"). Never NULL; static. */
const char *jg_cache_result_name(jg_cache_result result);

/** 128-bit name of an entry, in canonical byte order. */
typedef struct jg_cache_name {
    unsigned char bytes[16]; /**< Printed as 32 hexadecimal digits. */
} jg_cache_name;

/** An Ed25519 public key. */
typedef struct jg_cache_public_key {
    unsigned char bytes[32]; /**< Printed as 64 hexadecimal digits. */
} jg_cache_public_key;

/** An Ed25519 secret key: the seed of RFC 8032, from a generator fit for secrets. */
typedef struct jg_cache_secret_key {
    unsigned char bytes[32]; /**< Wipe it after use. */
} jg_cache_secret_key;

/** What an entry is found by. The material is borrowed for the call. */
typedef struct jg_cache_key {
    jg_cache_name name;   /**< Names the entry. */
    const void *material; /**< Compared byte for byte; NULL if empty. */
    size_t material_size; /**< Bytes of material. */
} jg_cache_key;

/** What an entry keeps. Both parts are borrowed for the call; NULL if empty. */
typedef struct jg_cache_value {
    const void *payload;  /**< The bytes. */
    size_t payload_size;  /**< Bytes of payload. */
    const void *metadata; /**< The caller's small record beside it. */
    size_t metadata_size; /**< Bytes of metadata. */
} jg_cache_value;

/** A found blob. `payload` and `metadata` are owned; free with ::jg_cache_blob_free. */
typedef struct jg_cache_blob {
    void *payload;        /**< The bytes, aligned to 64. */
    size_t payload_size;  /**< Bytes of payload. */
    void *metadata;       /**< The caller's small record beside it; may be NULL. */
    size_t metadata_size; /**< Bytes of metadata. */
} jg_cache_blob;

/** Counters since open. Hits, misses and rejects sum to the gets. */
typedef struct jg_cache_counts {
    uint64_t hits;         /**< Gets that returned a blob. */
    uint64_t misses;       /**< Gets without an entry. */
    uint64_t rejects;      /**< Gets that refused an entry or could not read it. */
    uint64_t stores;       /**< Puts that published an entry. */
    uint64_t store_errors; /**< Puts that failed: neither OK nor EXISTS. */
    uint64_t trimmed;      /**< Entries that puts removed, for the limit on bytes. */
} jg_cache_counts;

/**
 * How a folder is opened. Without `folder`, the first of these that is set and not empty:
 * `environment`, $XDG_CACHE_HOME/jit_gemm, $HOME/.cache/jit_gemm, the same below the home
 * of the password entry. A set but unusable one is refused, never skipped. The last three
 * are refused below /tmp, /var/tmp and /dev/shm, unless their folder is the user's and
 * nobody else may write it; and a program with raised rights (set-user-id, capabilities)
 * gets none of the four.
 */
typedef struct jg_cache_options {
    const char *folder; /**< Absolute path, or NULL. With `read_only` also of a bundle. */
    const char *environment; /**< Value of the caller's own variable, or NULL. */
    bool read_only;          /**< Never write, create, quarantine or remove. */
    bool no_sync;            /**< Skip fsync (tests, tmpfs). Reads verify either way. */
    uint64_t max_bytes;      /**< Puts trim a folder that holds more; 0 means no limit. */
    const jg_cache_public_key *keys; /**< Borrowed for the open. Not none: only a bundle
                                        that one of them has signed is opened. */
    size_t key_count;                /**< Entries of `keys`. */
    uint64_t least_serial;           /**< With keys: a lower serial number is refused. */
} jg_cache_options;

/**
 * Opens a folder, creating `<folder>/v1` and missing parents with mode 0700 (a home folder
 * must exist). Refuses as UNTRUSTED a relative path, a folder that is not the effective
 * user's or root's, one that others may write, and one below a parent of another user or
 * one that its group or everybody may write (unless sticky).
 *
 * A read-only open makes nothing. If the path is one of a file, this is opened as a bundle
 * by the same rules; its index is read and checked now (DAMAGED), its entries when they are
 * asked for. Nothing is mapped: a bundle that is cut or changed while it is open costs
 * hits, never the program.
 *
 * A signature that does not hold is DAMAGED, whoever is trusted. With keys a bundle without
 * a signature of one of them, or below the least serial number, is UNTRUSTED, and so is a
 * folder; a least serial number without keys too. The rules about owners hold beside.
 *
 * @param options may be NULL: all zero
 * @param[out] ret_cache receives the cache; untouched on failure
 * @param[out] reason receives one sentence on failure, cut to `reason_size`; may be NULL
 */
jg_cache_result jg_cache_open(const jg_cache_options *options, jg_cache **ret_cache,
                              char *reason, size_t reason_size);

/** Closes the cache. Accepts NULL. Blobs already returned stay valid. */
void jg_cache_close(jg_cache *cache);

/** Absolute path of the versioned folder, or of the bundle, in use. "" for NULL. */
const char *jg_cache_folder(const jg_cache *cache);

/** Is it a bundle? */
bool jg_cache_is_bundle(const jg_cache *cache);

/** Key and serial number of a signed bundle, whose signature holds. False, and the results
 * untouched, for any other cache. */
bool jg_cache_signature(const jg_cache *cache, jg_cache_public_key *ret_key,
                        uint64_t *ret_serial);

/** The public key that belongs to a secret one. */
jg_cache_public_key jg_cache_public_key_of(const jg_cache_secret_key *secret);

/** Size of a key as text: 64 digits and the ending zero. */
#define JG_CACHE_KEY_TEXT_SIZE 65

/** Writes the 32 bytes of a key as lower-case digits. */
void jg_cache_key_print(const unsigned char bytes[32],
                        char ret_text[JG_CACHE_KEY_TEXT_SIZE]);

/** Reads 64 hexadecimal digits. False, and nothing is written, if the text is not that. */
bool jg_cache_key_read(const char *text, size_t length, unsigned char ret_bytes[32]);

/**
 * Reads a list of such keys with colons between them; empty entries are none.
 * @param keys receives them
 * @param room most keys that `keys` holds
 * @param[out] ret_count keys that were read; untouched on failure
 * @return 0, or the number, from 1 on, of the first entry that is no key or has no room
 */
size_t jg_cache_keys_read(const char *text, jg_cache_public_key *keys, size_t room,
                          size_t *ret_count);

/** Reads a serial number: decimal digits and nothing else; false if it is none, and
 * `*ret_serial` is untouched. */
bool jg_cache_serial_read(const char *text, uint64_t *ret_serial);

/** The name that key material gives an entry, unless the caller has names of its own:
 * XXH3-128 in canonical byte order. */
jg_cache_name jg_cache_name_of(const void *material, size_t material_size);

/**
 * Finds a blob. A bad entry is moved into `quarantine`, where the folder can be written.
 * A good entry made from other key material is a MISMATCH and stays.
 *
 * @param cache may be NULL: a miss
 * @param key names the entry; its material must equal what was stored
 * @param[out] ret_blob filled on JG_CACHE_OK only
 * @param[out] reason one sentence when the result is neither OK nor MISS, else ""; may be
 * NULL
 * @param reason_size bytes at `reason`
 */
jg_cache_result jg_cache_get(jg_cache *cache, const jg_cache_key *key,
                             jg_cache_blob *ret_blob, char *reason, size_t reason_size);

/**
 * Takes an entry out that is whole and still of no use: moves it into `quarantine`, so that
 * a later put can publish another. False if there is none, or it could not be moved.
 */
bool jg_cache_reject(jg_cache *cache, const jg_cache_name *name);

/**
 * Publishes a blob: private temporary file in the same folder, fsync, rename without
 * replace. What is already there is verified first: a good entry of equal key material is
 * EXISTS (its payload is kept, not compared), a good one of other material MISMATCH, and
 * only a bad one is replaced. NO_FOLDER without a cache, IO when it is read-only.
 *
 * An IO whose reason is about syncing the folder of a new entry means: published, but a
 * power cut may lose it.
 *
 * A folder that was removed since the open is made again, by the rules of the open. Under a
 * limit on bytes a put that has published also looks, now and then, how much the folder
 * holds, and removes the least recently used entries until seven eighths of the limit are
 * left; never the one just published. It looks once an hour for all who share the folder,
 * and whenever this cache has published a sixteenth of the limit. What that finds wrong is
 * no failure of the put.
 */
jg_cache_result jg_cache_put(jg_cache *cache, const jg_cache_key *key,
                             const jg_cache_value *value, char *reason, size_t reason_size);

/** A claim to make the blob of a key. Zero is none. */
typedef struct jg_cache_claim {
    int fd;       /**< Private. */
    int64_t byte; /**< Private. */
    bool is_held; /**< Is there one to end? */
} jg_cache_claim;

/** What came of a try to claim a key. */
typedef enum jg_cache_claim_state {
    JG_CACHE_CLAIM_OWN = 0,   /**< It is the caller's, until it ends it or its process. */
    JG_CACHE_CLAIM_TAKEN = 1, /**< Somebody else has it: try again, or get the blob. */
    JG_CACHE_CLAIM_IMPOSSIBLE = 2 /**< The folder takes no locks: go on without. */
} jg_cache_claim_state;

/**
 * Tries to become the one who makes the blob of a key, among all processes of the machine
 * that use the folder. Does not wait. A claim keeps nobody from a get or a put: it saves
 * work, and nothing depends on it. It ends with its process, however that ends.
 *
 * Whoever gets it looks for the blob first: another may just have put it.
 *
 * @param cache may be NULL: IMPOSSIBLE
 * @param[out] ret_claim filled on OWN only
 */
jg_cache_claim_state jg_cache_claim_try(jg_cache *cache, const jg_cache_name *name,
                                        jg_cache_claim *ret_claim);

/** Ends a claim and zeroes it. Accepts a zeroed one. */
void jg_cache_claim_end(jg_cache_claim *claim);

/** Frees what a get returned and zeroes it. Accepts NULL and a zeroed blob. */
void jg_cache_blob_free(jg_cache_blob *blob);

/** Reads the counters; zeros for NULL. */
void jg_cache_get_counts(const jg_cache *cache, jg_cache_counts *ret_counts);

/** One entry, as ::jg_cache_walk sees it. Pointers are valid during the visit only. */
typedef struct jg_cache_entry {
    jg_cache_name name;    /**< From the file name. */
    jg_cache_result state; /**< OK, or why the entry is bad (checked fully if asked for). */
    uint64_t file_bytes;   /**< Size of the file. */
    int64_t modified;      /**< Stored or last used (to the hour), seconds since 1970. */
    const void *material;  /**< Key material; NULL if unreadable. */
    size_t material_size;  /**< Bytes of material. */
    const void *metadata;  /**< The caller's record; NULL if none or unreadable. */
    size_t metadata_size;  /**< Bytes of metadata. */
    size_t payload_size;   /**< Bytes of payload by the header; 0 if unreadable. */
    const void *payload;   /**< The bytes; NULL unless `verify` was asked for and all is
                              well. */
} jg_cache_entry;

/** Visits an entry: return 0 to go on, 1 to remove the entry and go on, anything else to
 * stop. */
typedef int (*jg_cache_visit_fn)(void *user, const jg_cache_entry *entry);

/**
 * Visits every entry, in order of names. Counts nothing and quarantines nothing. Goes on
 * after a failure and returns the first: UNTRUSTED for a subfolder that was refused, IO for
 * one that could not be listed or an entry that could not be removed. A stop is OK.
 *
 * @param cache may be NULL: nothing to visit
 * @param verify whether checksums of payloads are verified too
 * @param visit called for each entry; may call any function of the cache
 * @param user handed to `visit`
 */
jg_cache_result jg_cache_walk(jg_cache *cache, bool verify, jg_cache_visit_fn visit,
                              void *user);

/**
 * Visits one entry by its name, as a walk does; what the visitor answers is ignored.
 * @return the entry's state; MISS if there is none, which is not visited
 */
jg_cache_result jg_cache_visit(jg_cache *cache, const jg_cache_name *name, bool verify,
                               jg_cache_visit_fn visit, void *user);

/**
 * Removes temporary files of dead writers (or older than an hour), quarantined entries,
 * entries over the age limit, then the oldest until the folder fits. Age counts from the
 * store or the last hit, to the hour; size is the sum of file sizes. Never touches files
 * whose names are not its own, nor an entry stored anew or used since it looked. IO when
 * the cache is read-only.
 *
 * @param cache may be NULL: nothing to remove
 * @param max_bytes 0 means no limit
 * @param max_age_seconds 0 means no limit
 * @param[out] ret_removed number of entries removed by the limits; may be NULL
 * @param[out] ret_bytes bytes freed, of everything removed; may be NULL
 */
jg_cache_result jg_cache_trim(jg_cache *cache, uint64_t max_bytes, int64_t max_age_seconds,
                              uint64_t *ret_removed, uint64_t *ret_bytes);

/** A bundle in the making. One thread at a time. */
typedef struct jg_cache_bundle_writer jg_cache_bundle_writer;

/** What was written. */
typedef struct jg_cache_bundle_counts {
    uint64_t entries; /**< Entries of the bundle. */
    uint64_t bytes;   /**< Size of the file. */
} jg_cache_bundle_counts;

/** Begins a bundle without entries; end it with ::jg_cache_bundle_end. OK, NO_MEMORY. */
jg_cache_result jg_cache_bundle_begin(jg_cache_bundle_writer **ret_writer);

/**
 * Adds an entry by its name. It is read when the bundle is written; until then `from` must
 * stay open. Of several entries of one name the first is taken. OK, NO_MEMORY.
 */
jg_cache_result jg_cache_bundle_add(jg_cache_bundle_writer *writer, const jg_cache *from,
                                    const jg_cache_name *name);

/** Adds an entry that no cache has; key and value are copied. OK, NO_MEMORY, TOO_LARGE. */
jg_cache_result jg_cache_bundle_add_value(jg_cache_bundle_writer *writer,
                                          const jg_cache_key *key,
                                          const jg_cache_value *value);

/**
 * Has the bundle signed when it is written. The same entries, key and serial number give
 * the same bytes.
 * @param secret copied; wiped by ::jg_cache_bundle_end
 * @param serial what a reader's least serial number is compared with
 */
void jg_cache_bundle_sign(jg_cache_bundle_writer *writer, const jg_cache_secret_key *secret,
                          uint64_t serial);

/** Could a bundle be written to `path`? Makes a temporary file and removes it. OK, IO. */
jg_cache_result jg_cache_bundle_check(const char *path, char *reason, size_t reason_size);

/**
 * Writes the bundle: a temporary file beside `path`, fsync, rename over the file that is
 * there. A link, a device or a folder is not replaced.
 * Every entry is verified. The bytes depend on the entries and what signs them. Mode 0644
 * less the umask.
 *
 * @param[out] ret_counts filled on OK; may be NULL
 * @return OK; else there is no new file, and the reason says why: the result of an entry
 * that is missing or bad, IO, NO_MEMORY, TOO_LARGE. An IO whose reason is about syncing the
 * folder means: written, but a power cut may lose it.
 */
jg_cache_result jg_cache_bundle_write(jg_cache_bundle_writer *writer, const char *path,
                                      jg_cache_bundle_counts *ret_counts, char *reason,
                                      size_t reason_size);

/** Ends a bundle in the making, written or not. Accepts NULL. */
void jg_cache_bundle_end(jg_cache_bundle_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
