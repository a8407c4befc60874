/* SPDX-License-Identifier: MIT */
/* The format of an entry, byte for byte as docs/cache-format.md describes it. No I/O, no
 * heap. */
#include "bytes.h"
#include "internal.h"

#include <sodium/crypto_hash_sha256.h>
#include <string.h>
#include <xxhash.h>

enum {
    AT_MAGIC = 0,
    AT_FORMAT = 8,
    AT_HEADER_BYTES = 12,
    AT_TOTAL_BYTES = 16,
    AT_NAME = 24,
    AT_MATERIAL_BYTES = 40,
    AT_METADATA_BYTES = 44,
    AT_PAYLOAD_BYTES = 48,
    AT_RESERVED = 56,
    AT_PAYLOAD_SHA256 = 64,
    HASH_BYTES = 8 /* the header's hash stands in its last bytes */
};

/* Like PNG's: a byte over 127, both line ends and a DOS end of file, so that transfers in
 * text mode are noticed at the first bytes. */
static const unsigned char magic[8] = {0x89, 'J', 'G', 'K', '\r', '\n', 0x1a, '\n'};

/* Cannot overflow: both parts are within their limits, which sum to far below 2^32. */
static uint32_t size_header(size_t material_size, size_t metadata_size)
{
    size_t bytes = JG_CACHE_FIXED_BYTES + material_size + metadata_size + HASH_BYTES;
    return (uint32_t)((bytes + JG_CACHE_ALIGN - 1) / JG_CACHE_ALIGN * JG_CACHE_ALIGN);
}

static uint64_t hash_header(const unsigned char *header, uint32_t header_bytes)
{
    return XXH3_64bits(header, header_bytes - HASH_BYTES);
}

/* An empty payload may come as NULL, which the hash function may not see. */
static void hash_payload(const void *payload, uint64_t payload_bytes,
                         unsigned char digest[crypto_hash_sha256_BYTES])
{
    static const unsigned char nothing[1] = {0};
    crypto_hash_sha256(digest, payload_bytes > 0 ? payload : nothing, payload_bytes);
}

jg_cache_result jg_cache_entry_plan(size_t material_size, size_t metadata_size,
                                    size_t payload_size, struct jg_cache_layout *ret_layout,
                                    const struct jg_cache_why *why)
{
    const char *part = NULL;
    size_t size = 0, limit = 0;
    if (material_size > JG_CACHE_MATERIAL_MAX) {
        part = "key material", size = material_size, limit = JG_CACHE_MATERIAL_MAX;
    } else if (metadata_size > JG_CACHE_METADATA_MAX) {
        part = "metadata", size = metadata_size, limit = JG_CACHE_METADATA_MAX;
    } else if (payload_size > JG_CACHE_PAYLOAD_MAX) {
        part = "payload", size = payload_size, limit = JG_CACHE_PAYLOAD_MAX;
    }
    if (part != NULL) {
        jg_cache_say(why, "the %s has %zu bytes, over the limit of %zu", part, size, limit);
        return JG_CACHE_TOO_LARGE;
    }
    ret_layout->header_bytes = size_header(material_size, metadata_size);
    ret_layout->material_bytes = (uint32_t)material_size;
    ret_layout->metadata_bytes = (uint32_t)metadata_size;
    ret_layout->payload_bytes = payload_size;
    ret_layout->total_bytes = ret_layout->header_bytes + ret_layout->payload_bytes;
    return JG_CACHE_OK;
}

void jg_cache_entry_encode(const struct jg_cache_layout *layout, const jg_cache_key *key,
                           const jg_cache_value *value, unsigned char *ret_header)
{
    memset(ret_header, 0, layout->header_bytes);
    memcpy(ret_header + AT_MAGIC, magic, sizeof(magic));
    store_u32(ret_header + AT_FORMAT, JG_CACHE_FORMAT);
    store_u32(ret_header + AT_HEADER_BYTES, layout->header_bytes);
    store_u64(ret_header + AT_TOTAL_BYTES, layout->total_bytes);
    memcpy(ret_header + AT_NAME, key->name.bytes, sizeof(key->name.bytes));
    store_u32(ret_header + AT_MATERIAL_BYTES, layout->material_bytes);
    store_u32(ret_header + AT_METADATA_BYTES, layout->metadata_bytes);
    store_u64(ret_header + AT_PAYLOAD_BYTES, layout->payload_bytes);
    hash_payload(value->payload, layout->payload_bytes, ret_header + AT_PAYLOAD_SHA256);
    unsigned char *variable = ret_header + JG_CACHE_FIXED_BYTES;
    if (layout->material_bytes > 0) {
        memcpy(variable, key->material, layout->material_bytes);
    }
    if (layout->metadata_bytes > 0) {
        memcpy(variable + layout->material_bytes, value->metadata, layout->metadata_bytes);
    }
    store_u64(ret_header + layout->header_bytes - HASH_BYTES,
              hash_header(ret_header, layout->header_bytes));
}

jg_cache_result jg_cache_entry_read_fixed(const unsigned char fixed[JG_CACHE_FIXED_BYTES],
                                          uint64_t file_bytes,
                                          struct jg_cache_layout *ret_layout,
                                          const struct jg_cache_why *why)
{
    if (memcmp(fixed + AT_MAGIC, magic, sizeof(magic)) != 0) {
        jg_cache_say(why, "the entry does not begin with the magic bytes");
        return JG_CACHE_DAMAGED;
    }
    if (load_u32(fixed + AT_FORMAT) != JG_CACHE_FORMAT) {
        jg_cache_say(why, "the entry has format %u where %d is read",
                     (unsigned)load_u32(fixed + AT_FORMAT), JG_CACHE_FORMAT);
        return JG_CACHE_DAMAGED;
    }
    const struct jg_cache_layout layout = {
        .header_bytes = load_u32(fixed + AT_HEADER_BYTES),
        .material_bytes = load_u32(fixed + AT_MATERIAL_BYTES),
        .metadata_bytes = load_u32(fixed + AT_METADATA_BYTES),
        .payload_bytes = load_u64(fixed + AT_PAYLOAD_BYTES),
        .total_bytes = load_u64(fixed + AT_TOTAL_BYTES),
    };
    if (layout.material_bytes > JG_CACHE_MATERIAL_MAX ||
        layout.metadata_bytes > JG_CACHE_METADATA_MAX ||
        layout.payload_bytes > JG_CACHE_PAYLOAD_MAX) {
        jg_cache_say(why, "a length field of the entry is over its limit");
        return JG_CACHE_DAMAGED;
    }
    /* Within the limits no sum below can overflow. */
    if (layout.header_bytes != size_header(layout.material_bytes, layout.metadata_bytes) ||
        layout.total_bytes != layout.header_bytes + layout.payload_bytes ||
        load_u64(fixed + AT_RESERVED) != 0) {
        jg_cache_say(why, "the length fields of the entry contradict each other");
        return JG_CACHE_DAMAGED;
    }
    if (layout.total_bytes != file_bytes) {
        jg_cache_say(why, "the file has %llu bytes where its header tells %llu",
                     (unsigned long long)file_bytes,
                     (unsigned long long)layout.total_bytes);
        return JG_CACHE_DAMAGED;
    }
    *ret_layout = layout;
    return JG_CACHE_OK;
}

jg_cache_result jg_cache_entry_check_header(const unsigned char *header,
                                            const struct jg_cache_layout *layout,
                                            const jg_cache_name *name,
                                            const struct jg_cache_why *why)
{
    if (load_u64(header + layout->header_bytes - HASH_BYTES) !=
        hash_header(header, layout->header_bytes)) {
        jg_cache_say(why, "the checksum of the entry's header does not hold");
        return JG_CACHE_DAMAGED;
    }
    for (uint32_t at =
             JG_CACHE_FIXED_BYTES + layout->material_bytes + layout->metadata_bytes;
         at < layout->header_bytes - HASH_BYTES; at++) {
        if (header[at] != 0) {
            jg_cache_say(why, "the padding of the entry's header is not zero");
            return JG_CACHE_DAMAGED;
        }
    }
    if (memcmp(header + AT_NAME, name->bytes, sizeof(name->bytes)) != 0) {
        jg_cache_say(why, "the entry was stored for another name");
        return JG_CACHE_MISMATCH;
    }
    return JG_CACHE_OK;
}

jg_cache_result jg_cache_entry_check_payload(const unsigned char *header,
                                             const void *payload, uint64_t payload_bytes,
                                             const struct jg_cache_why *why)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    hash_payload(payload, payload_bytes, digest);
    if (memcmp(digest, header + AT_PAYLOAD_SHA256, sizeof(digest)) != 0) {
        jg_cache_say(why, "the SHA-256 of the entry's payload does not hold");
        return JG_CACHE_DAMAGED;
    }
    return JG_CACHE_OK;
}

const unsigned char *jg_cache_entry_material(const unsigned char *header)
{
    return header + JG_CACHE_FIXED_BYTES;
}

const unsigned char *jg_cache_entry_metadata(const unsigned char *header,
                                             const struct jg_cache_layout *layout)
{
    return header + JG_CACHE_FIXED_BYTES + layout->material_bytes;
}
