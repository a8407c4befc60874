/* SPDX-License-Identifier: MIT */
/* Signatures of bundles: Ed25519 over a context and the digest of header and index, by
 * which the signature covers every byte of the file. Keys as text. */
#include "bundle.h"
#include "bytes.h"

#include <errno.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT_BYTES = 32, MESSAGE_BYTES = CONTEXT_BYTES + crypto_hash_sha256_BYTES };

_Static_assert(BUNDLE_SIGNATURE_BYTES == crypto_sign_ed25519_BYTES, "");
_Static_assert(sizeof(jg_cache_public_key) == crypto_sign_ed25519_PUBLICKEYBYTES, "");
_Static_assert(sizeof(jg_cache_secret_key) == crypto_sign_ed25519_SEEDBYTES, "");

/* What is signed. The context, with zeros behind it, keeps a signature for something else
 * from being one of a bundle. */
static void fill_message(const unsigned char header[BUNDLE_HEADER_BYTES],
                         unsigned char message[MESSAGE_BYTES])
{
    static const char context[CONTEXT_BYTES] = "jit_gemm bundle signature 1";
    memcpy(message, context, CONTEXT_BYTES);
    memcpy(message + CONTEXT_BYTES, header + BUNDLE_AT_DIGEST, crypto_hash_sha256_BYTES);
}

jg_cache_public_key jg_cache_public_key_of(const jg_cache_secret_key *secret)
{
    unsigned char both[crypto_sign_ed25519_SECRETKEYBYTES];
    jg_cache_public_key key;
    crypto_sign_ed25519_seed_keypair(key.bytes, both, secret->bytes);
    sodium_memzero(both, sizeof(both));
    return key;
}

void bundle_sign_header(const struct jg_cache_signer *signer,
                        unsigned char header[BUNDLE_HEADER_BYTES])
{
    const jg_cache_public_key key = jg_cache_public_key_of(&signer->secret);
    store_u32(header + BUNDLE_AT_SIGNED, 1);
    store_u64(header + BUNDLE_AT_SERIAL, signer->serial);
    memcpy(header + BUNDLE_AT_KEY, key.bytes, sizeof(key.bytes));
}

void bundle_sign(const struct jg_cache_signer *signer,
                 const unsigned char header[BUNDLE_HEADER_BYTES],
                 unsigned char ret_signature[BUNDLE_SIGNATURE_BYTES])
{
    unsigned char message[MESSAGE_BYTES], both[crypto_sign_ed25519_SECRETKEYBYTES];
    jg_cache_public_key key;
    fill_message(header, message);
    crypto_sign_ed25519_seed_keypair(key.bytes, both, signer->secret.bytes);
    crypto_sign_ed25519_detached(ret_signature, NULL, message, sizeof(message), both);
    sodium_memzero(both, sizeof(both));
}

jg_cache_result
bundle_check_signature(const unsigned char header[BUNDLE_HEADER_BYTES],
                       const unsigned char signature[BUNDLE_SIGNATURE_BYTES],
                       const struct jg_cache_why *why)
{
    unsigned char message[MESSAGE_BYTES];
    fill_message(header, message);
    if (crypto_sign_ed25519_verify_detached(signature, message, sizeof(message),
                                            header + BUNDLE_AT_KEY) != 0) {
        jg_cache_say(why, "the signature of the bundle does not hold: copy it again");
        return JG_CACHE_DAMAGED;
    }
    return JG_CACHE_OK;
}

static bool is_trusted_key(const unsigned char *key, const jg_cache_options *options)
{
    for (size_t i = 0; i < options->key_count; i++) {
        if (memcmp(key, options->keys[i].bytes, sizeof(options->keys[i].bytes)) == 0) {
            return true;
        }
    }
    return false;
}

jg_cache_result bundle_check_signer(const unsigned char header[BUNDLE_HEADER_BYTES],
                                    const jg_cache_options *options,
                                    const struct jg_cache_why *why)
{
    const uint64_t serial = load_u64(header + BUNDLE_AT_SERIAL);
    if (options->key_count == 0) {
        return JG_CACHE_OK;
    }
    if (load_u32(header + BUNDLE_AT_SIGNED) == 0) {
        jg_cache_say(why,
                     "the bundle is not signed, and a trusted key must have signed it");
    } else if (!is_trusted_key(header + BUNDLE_AT_KEY, options)) {
        char text[JG_CACHE_KEY_TEXT_SIZE];
        jg_cache_key_print(header + BUNDLE_AT_KEY, text);
        jg_cache_say(why, "the bundle is signed by %s, which is no trusted key", text);
    } else if (serial < options->least_serial) {
        jg_cache_say(why, "the bundle has serial number %llu, and the least is %llu",
                     (unsigned long long)serial, (unsigned long long)options->least_serial);
    } else {
        return JG_CACHE_OK;
    }
    return JG_CACHE_UNTRUSTED;
}

void jg_cache_key_print(const unsigned char bytes[32],
                        char ret_text[JG_CACHE_KEY_TEXT_SIZE])
{
    sodium_bin2hex(ret_text, JG_CACHE_KEY_TEXT_SIZE, bytes, 32);
}

bool jg_cache_key_read(const char *text, size_t length, unsigned char ret_bytes[32])
{
    unsigned char bytes[32];
    size_t size = 0;
    const bool is_key =
        length == JG_CACHE_KEY_TEXT_SIZE - 1 &&
        sodium_hex2bin(bytes, sizeof(bytes), text, length, NULL, &size, NULL) == 0 &&
        size == sizeof(bytes);
    if (is_key) {
        memcpy(ret_bytes, bytes, sizeof(bytes));
    }
    sodium_memzero(bytes, sizeof(bytes));
    return is_key;
}

size_t jg_cache_keys_read(const char *text, jg_cache_public_key *keys, size_t room,
                          size_t *ret_count)
{
    size_t count = 0;
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        if (length > 0) {
            if (count == room || !jg_cache_key_read(at, length, keys[count].bytes)) {
                return count + 1;
            }
            count++;
        }
        at += length + (at[length] == ':');
    }
    *ret_count = count;
    return 0;
}

bool jg_cache_serial_read(const char *text, uint64_t *ret_serial)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long serial = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || *end != '\0') {
        return false;
    }
    *ret_serial = serial;
    return true;
}
