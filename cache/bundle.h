/* SPDX-License-Identifier: MIT */
/* The format of a bundle, for those who read and write it; docs/cache-format.md has it byte
 * for byte. */
#ifndef JG_CACHE_BUNDLE_H
#define JG_CACHE_BUNDLE_H

#include "internal.h"

#include <sodium/crypto_hash_sha256.h>

enum {
    BUNDLE_FORMAT = 1,
    BUNDLE_AT_MAGIC = 0,
    BUNDLE_AT_FORMAT = 8,
    BUNDLE_AT_ENTRY_FORMAT = 12,
    BUNDLE_AT_TOTAL_BYTES = 16,
    BUNDLE_AT_COUNT = 24,
    BUNDLE_AT_SIGNED = 28, /* 0 or 1; without a signature the next two are zero */
    BUNDLE_AT_SERIAL = 32,
    BUNDLE_AT_KEY = 40,
    BUNDLE_AT_RESERVED = 72,
    BUNDLE_AT_DIGEST = 96,
    BUNDLE_HEADER_BYTES = 128, /* the index follows */
    BUNDLE_ROW_BYTES = 64,
    BUNDLE_ROW_AT_NAME = 0,
    BUNDLE_ROW_AT_OFFSET = 16,
    BUNDLE_ROW_AT_BYTES = 24,
    BUNDLE_ROW_AT_DIGEST = 32,
    BUNDLE_COUNT_MAX = 1 << 20,
    BUNDLE_SIGNATURE_BYTES = 64 /* at the end of a signed file */
};

/* Like that of an entry, with another letter. */
static const unsigned char bundle_magic[8] = {0x89, 'J', 'G', 'B', '\r', '\n', 0x1a, '\n'};

static inline uint64_t bundle_round_up(uint64_t bytes)
{
    return (bytes + JG_CACHE_ALIGN - 1) / JG_CACHE_ALIGN * JG_CACHE_ALIGN;
}

/* SHA-256 of the header up to the digest, and of the index. */
static inline void bundle_digest(const unsigned char header[BUNDLE_HEADER_BYTES],
                                 const unsigned char *index, size_t index_bytes,
                                 unsigned char digest[crypto_hash_sha256_BYTES])
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, header, BUNDLE_AT_DIGEST);
    if (index_bytes > 0) {
        crypto_hash_sha256_update(&state, index, index_bytes);
    }
    crypto_hash_sha256_final(&state, digest);
}

/* bundle_sign.c: writes serial number and public key into a header, before its digest. */
void bundle_sign_header(const struct jg_cache_signer *signer,
                        unsigned char header[BUNDLE_HEADER_BYTES]);
/* Signs a header that has its digest. */
void bundle_sign(const struct jg_cache_signer *signer,
                 const unsigned char header[BUNDLE_HEADER_BYTES],
                 unsigned char ret_signature[BUNDLE_SIGNATURE_BYTES]);
/* DAMAGED unless the signature is that of the header's key over its digest, which holds. */
jg_cache_result
bundle_check_signature(const unsigned char header[BUNDLE_HEADER_BYTES],
                       const unsigned char signature[BUNDLE_SIGNATURE_BYTES],
                       const struct jg_cache_why *why);
/* UNTRUSTED unless the header has a key and a serial number that the options ask for. The
 * signature holds, or there is none. */
jg_cache_result bundle_check_signer(const unsigned char header[BUNDLE_HEADER_BYTES],
                                    const jg_cache_options *options,
                                    const struct jg_cache_why *why);

#endif
