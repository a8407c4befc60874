/* SPDX-License-Identifier: MIT */
/*
 * Reading a bundle: many entries in one file. The index is read and checked once and kept
 * in memory; an entry is read when it is asked for, and checked as one of a folder.
 *
 * Nothing is mapped: a mapped file that shrinks ends the program with SIGBUS, and one that
 * changes does so under code that was checked. A read that ends too early is damage.
 */
#include "bundle.h"
#include "bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct jg_cache_bundle {
    uint32_t count;
    int64_t modified;
    bool is_signed;
    jg_cache_public_key key; /* of a signed one, as the serial number */
    uint64_t serial;
    unsigned char index[]; /* `count` rows, as they stand in the file */
};

static uint64_t signature_bytes(const unsigned char header[BUNDLE_HEADER_BYTES])
{
    return load_u32(header + BUNDLE_AT_SIGNED) != 0 ? BUNDLE_SIGNATURE_BYTES : 0;
}

static const unsigned char *row_at(const struct jg_cache_bundle *bundle, uint32_t i)
{
    return bundle->index + (size_t)i * BUNDLE_ROW_BYTES;
}

/* What does not depend on the index. */
static jg_cache_result check_header(const unsigned char header[BUNDLE_HEADER_BYTES],
                                    uint64_t file_bytes, uint32_t *ret_count,
                                    const struct jg_cache_why *why)
{
    const uint32_t format = load_u32(header + BUNDLE_AT_FORMAT);
    const uint32_t entry_format = load_u32(header + BUNDLE_AT_ENTRY_FORMAT);
    const uint64_t total = load_u64(header + BUNDLE_AT_TOTAL_BYTES);
    const uint32_t count = load_u32(header + BUNDLE_AT_COUNT);
    if (memcmp(header + BUNDLE_AT_MAGIC, bundle_magic, sizeof(bundle_magic)) != 0) {
        jg_cache_say(why, "it does not begin as a bundle does");
    } else if (format == (uint32_t)BUNDLE_FORMAT << 24) {
        jg_cache_say(why, "the bundle's numbers are in another byte order");
    } else if (format != BUNDLE_FORMAT || entry_format != JG_CACHE_FORMAT) {
        jg_cache_say(why,
                     "the bundle has format %u with entries of format %u, and this version "
                     "reads %d with %d: export it anew",
                     format, entry_format, BUNDLE_FORMAT, JG_CACHE_FORMAT);
    } else if (total != file_bytes) {
        jg_cache_say(why, "the bundle has %llu bytes and should have %llu: copy it again",
                     (unsigned long long)file_bytes, (unsigned long long)total);
    } else if (count > BUNDLE_COUNT_MAX || BUNDLE_HEADER_BYTES +
                                                   (uint64_t)count * BUNDLE_ROW_BYTES +
                                                   signature_bytes(header) >
                                               total) {
        jg_cache_say(why, "the bundle says that it has %u entries, more than fit", count);
    } else {
        *ret_count = count;
        return JG_CACHE_OK;
    }
    return JG_CACHE_DAMAGED;
}

/* Entries lie one behind the other in the order of their names, so that none can overlap
 * another or stand twice. */
static jg_cache_result check_rows(const struct jg_cache_bundle *bundle, uint64_t total,
                                  const struct jg_cache_why *why)
{
    uint64_t end = BUNDLE_HEADER_BYTES + (uint64_t)bundle->count * BUNDLE_ROW_BYTES;
    for (uint32_t i = 0; i < bundle->count; i++) {
        const unsigned char *row = row_at(bundle, i);
        const uint64_t bytes = load_u64(row + BUNDLE_ROW_AT_BYTES);
        if (i > 0 && memcmp(row - BUNDLE_ROW_BYTES, row, sizeof(jg_cache_name)) >= 0) {
            jg_cache_say(why, "row %u of the bundle's index is not behind the one before",
                         i);
            return JG_CACHE_DAMAGED;
        }
        if (load_u64(row + BUNDLE_ROW_AT_OFFSET) != end || bytes > total - end ||
            bundle_round_up(bytes) > total - end) {
            jg_cache_say(why, "row %u of the bundle's index names bytes that are not its",
                         i);
            return JG_CACHE_DAMAGED;
        }
        end += bundle_round_up(bytes);
    }
    if (end != total) {
        jg_cache_say(why, "the bundle goes on behind its last entry");
        return JG_CACHE_DAMAGED;
    }
    return JG_CACHE_OK;
}

static jg_cache_result check_index(const struct jg_cache_bundle *bundle,
                                   const unsigned char header[BUNDLE_HEADER_BYTES],
                                   const struct jg_cache_why *why)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    bundle_digest(header, bundle->index, (size_t)bundle->count * BUNDLE_ROW_BYTES, digest);
    if (memcmp(digest, header + BUNDLE_AT_DIGEST, sizeof(digest)) != 0) {
        jg_cache_say(why, "the SHA-256 of the bundle's header and index does not hold");
        return JG_CACHE_DAMAGED;
    }
    const uint32_t is_signed = load_u32(header + BUNDLE_AT_SIGNED);
    if (is_signed > 1) {
        jg_cache_say(why, "the bundle's header has %u in the place of 0 or 1, signed",
                     is_signed);
        return JG_CACHE_DAMAGED;
    }
    for (int at = is_signed != 0 ? BUNDLE_AT_RESERVED : BUNDLE_AT_SERIAL;
         at < BUNDLE_AT_DIGEST; at++) {
        if (header[at] != 0) {
            jg_cache_say(why, "what is reserved in the bundle's header is not zero");
            return JG_CACHE_DAMAGED;
        }
    }
    return JG_CACHE_OK;
}

/* The signature, if there is one, holds whoever is trusted. Digest and header do. */
static jg_cache_result check_signature(struct jg_cache_bundle *bundle, int fd,
                                       const unsigned char header[BUNDLE_HEADER_BYTES],
                                       const struct jg_cache_why *why)
{
    unsigned char signature[BUNDLE_SIGNATURE_BYTES];
    struct iovec part = {signature, sizeof(signature)};
    if (signature_bytes(header) == 0) {
        return JG_CACHE_OK;
    }
    const uint64_t total = load_u64(header + BUNDLE_AT_TOTAL_BYTES);
    jg_cache_result result =
        jg_cache_store_read_parts(fd, &part, 1, (off_t)(total - sizeof(signature)), why);
    if (result == JG_CACHE_OK) {
        result = bundle_check_signature(header, signature, why);
    }
    if (result == JG_CACHE_OK) {
        bundle->is_signed = true;
        bundle->serial = load_u64(header + BUNDLE_AT_SERIAL);
        memcpy(bundle->key.bytes, header + BUNDLE_AT_KEY, sizeof(bundle->key.bytes));
    }
    return result;
}

/* All that can be said of the bundle without its entries, once the index is read. */
static jg_cache_result check_whole(struct jg_cache_bundle *bundle, int fd,
                                   const unsigned char header[BUNDLE_HEADER_BYTES],
                                   const jg_cache_options *options,
                                   const struct jg_cache_why *why)
{
    jg_cache_result result = check_index(bundle, header, why);
    if (result == JG_CACHE_OK) {
        result = check_signature(bundle, fd, header, why);
    }
    if (result == JG_CACHE_OK) {
        result = bundle_check_signer(header, options, why);
    }
    return result == JG_CACHE_OK ? check_rows(bundle,
                                              load_u64(header + BUNDLE_AT_TOTAL_BYTES) -
                                                  signature_bytes(header),
                                              why)
                                 : result;
}

/* Fills the bundle's index, which has room for `count` rows, and checks it. */
static jg_cache_result read_index(struct jg_cache_bundle *bundle, int fd,
                                  const unsigned char header[BUNDLE_HEADER_BYTES],
                                  const jg_cache_options *options,
                                  const struct jg_cache_why *why)
{
    struct iovec part = {bundle->index, (size_t)bundle->count * BUNDLE_ROW_BYTES};
    const jg_cache_result result =
        jg_cache_store_read_parts(fd, &part, 1, BUNDLE_HEADER_BYTES, why);
    return result == JG_CACHE_OK ? check_whole(bundle, fd, header, options, why) : result;
}

jg_cache_result jg_cache_bundle_open(int fd, const jg_cache_options *options,
                                     struct jg_cache_bundle **ret_bundle,
                                     const struct jg_cache_why *why)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return jg_cache_say_errno(why, errno, "examine the bundle");
    }
    unsigned char header[BUNDLE_HEADER_BYTES];
    struct iovec part = {header, sizeof(header)};
    uint32_t count = 0;
    if ((uint64_t)st.st_size < sizeof(header)) {
        jg_cache_say(why, "the file has %llu bytes, less than the header of a bundle",
                     (unsigned long long)st.st_size);
        return JG_CACHE_DAMAGED;
    }
    jg_cache_result result = jg_cache_store_read_parts(fd, &part, 1, 0, why);
    if (result == JG_CACHE_OK) {
        result = check_header(header, (uint64_t)st.st_size, &count, why);
    }
    if (result != JG_CACHE_OK) {
        return result;
    }
    struct jg_cache_bundle *bundle =
        malloc(sizeof(*bundle) + (size_t)count * BUNDLE_ROW_BYTES);
    if (bundle == NULL) {
        jg_cache_say(why, "no memory for the index of a bundle");
        return JG_CACHE_NO_MEMORY;
    }
    bundle->count = count;
    bundle->modified = st.st_mtim.tv_sec;
    bundle->is_signed = false;
    result = read_index(bundle, fd, header, options, why);
    if (result == JG_CACHE_OK) {
        *ret_bundle = bundle;
    } else {
        free(bundle);
    }
    return result;
}

void jg_cache_bundle_close(struct jg_cache_bundle *bundle)
{
    free(bundle);
}

bool jg_cache_bundle_signature(const struct jg_cache_bundle *bundle,
                               jg_cache_public_key *ret_key, uint64_t *ret_serial)
{
    if (bundle->is_signed) {
        *ret_key = bundle->key;
        *ret_serial = bundle->serial;
    }
    return bundle->is_signed;
}

uint32_t jg_cache_bundle_count(const struct jg_cache_bundle *bundle)
{
    return bundle->count;
}

void jg_cache_bundle_name(const struct jg_cache_bundle *bundle, uint32_t i,
                          jg_cache_name *ret_name)
{
    memcpy(ret_name->bytes, row_at(bundle, i) + BUNDLE_ROW_AT_NAME,
           sizeof(ret_name->bytes));
}

/* NULL if the index has no such name. */
static const unsigned char *find_row(const struct jg_cache_bundle *bundle,
                                     const jg_cache_name *name)
{
    uint32_t begin = 0, end = bundle->count;
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        const unsigned char *row = row_at(bundle, middle);
        const int order = memcmp(name->bytes, row, sizeof(name->bytes));
        if (order == 0) {
            return row;
        }
        if (order < 0) {
            end = middle;
        } else {
            begin = middle + 1;
        }
    }
    return NULL;
}

/* The header holds the SHA-256 of the payload, so that one of the header covers both. */
static jg_cache_result check_entry_digest(const unsigned char *row,
                                          const struct jg_cache_loaded *loaded,
                                          const struct jg_cache_why *why)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(digest, loaded->header, loaded->layout.header_bytes);
    if (memcmp(digest, row + BUNDLE_ROW_AT_DIGEST, sizeof(digest)) != 0) {
        jg_cache_say(why, "the entry is not the one that the bundle's index means");
        return JG_CACHE_DAMAGED;
    }
    return JG_CACHE_OK;
}

/* Up to the next multiple of 64 there are zeros. */
static jg_cache_result check_padding(int fd, uint64_t end, const struct jg_cache_why *why)
{
    unsigned char padding[JG_CACHE_ALIGN] = {0};
    const size_t bytes = (size_t)(bundle_round_up(end) - end);
    struct iovec part = {padding, bytes};
    const jg_cache_result result = jg_cache_store_read_parts(fd, &part, 1, (off_t)end, why);
    for (size_t i = 0; i < bytes && result == JG_CACHE_OK; i++) {
        if (padding[i] != 0) {
            jg_cache_say(why, "the bytes behind the entry are not zero");
            return JG_CACHE_DAMAGED;
        }
    }
    return result;
}

jg_cache_result jg_cache_bundle_load(const struct jg_cache_bundle *bundle, int fd,
                                     const jg_cache_name *name, bool payload,
                                     struct jg_cache_loaded *ret_loaded,
                                     struct stat *ret_seen, const struct jg_cache_why *why)
{
    const unsigned char *row = find_row(bundle, name);
    memset(ret_seen, 0, sizeof(*ret_seen));
    if (row == NULL) {
        return JG_CACHE_MISS;
    }
    const uint64_t offset = load_u64(row + BUNDLE_ROW_AT_OFFSET);
    const uint64_t bytes = load_u64(row + BUNDLE_ROW_AT_BYTES);
    ret_seen->st_size = (off_t)bytes;
    ret_seen->st_mtim.tv_sec = bundle->modified;
    struct jg_cache_loaded loaded = {0};
    jg_cache_result result =
        jg_cache_store_read_entry(fd, (off_t)offset, bytes, name, payload, &loaded, why);
    if (result == JG_CACHE_OK) {
        result = check_entry_digest(row, &loaded, why);
    }
    if (result == JG_CACHE_OK) {
        result = check_padding(fd, offset + bytes, why);
    }
    if (result == JG_CACHE_OK) {
        *ret_loaded = loaded;
    } else {
        jg_cache_store_release(&loaded);
    }
    return result;
}
