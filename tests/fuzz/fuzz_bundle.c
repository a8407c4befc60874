/* SPDX-License-Identifier: MIT */
/* A bundle, signed or not, opened as for everybody and for those who trust one key. Mutants
 * get right digests and signatures now and then. What opens for a trusted key was signed
 * with it, and entries that load are the bytes that the index means. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bundle.h"
#include "bytes.h"
#include "fuzz_target.h"

enum { MOST_ENTRIES = 64, LEAST_SERIAL = 5 };

static const struct jg_cache_signer signer_of_tests = {.secret = {{7, 1, 9}}, .serial = 6};

/* ----------------------------------------------------------------------------- mutants */

/* Lengths, offsets and digests of rows as they have to be, as far as the rows reach. */
static void mend_rows(uint8_t *data, uint32_t count, uint64_t end_of_entries)
{
    uint64_t at = BUNDLE_HEADER_BYTES + (uint64_t)count * BUNDLE_ROW_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *row = data + BUNDLE_HEADER_BYTES + (size_t)i * BUNDLE_ROW_BYTES;
        store_u64(row + BUNDLE_ROW_AT_OFFSET, at);
        uint64_t bytes = load_u64(row + BUNDLE_ROW_AT_BYTES);
        if (bytes > end_of_entries || at + bytes > end_of_entries || i + 1 == count) {
            bytes = at < end_of_entries ? end_of_entries - at : 0;
            store_u64(row + BUNDLE_ROW_AT_BYTES, bytes);
        }
        const uint32_t header =
            bytes >= JG_CACHE_FIXED_BYTES ? load_u32(data + at + 12) : 0;
        if (header >= 104 && header <= bytes) {
            store_u64(data + at + header - 8, XXH3_64bits(data + at, header - 8));
            crypto_hash_sha256(row + BUNDLE_ROW_AT_DIGEST, data + at, header);
            memcpy(row, data + at + 24, 16);
        }
        at += bundle_round_up(bytes);
    }
}

static void mend(uint8_t *data, size_t size, unsigned seed)
{
    const uint32_t count = load_u32(data + BUNDLE_AT_COUNT);
    const bool is_signed = load_u32(data + BUNDLE_AT_SIGNED) != 0;
    const size_t behind = is_signed ? BUNDLE_SIGNATURE_BYTES : 0;
    const uint64_t index_end = BUNDLE_HEADER_BYTES + (uint64_t)count * BUNDLE_ROW_BYTES;
    if (index_end + behind > size) {
        return;
    }
    if (seed % 2 != 0 && (size - behind) % JG_CACHE_ALIGN == 0) {
        mend_rows(data, count, size - behind);
    }
    if (seed % 4 != 0) {
        store_u64(data + BUNDLE_AT_TOTAL_BYTES, size);
    }
    if (is_signed && seed % 3 != 0) {
        bundle_sign_header(&signer_of_tests, data);
    }
    bundle_digest(data, data + BUNDLE_HEADER_BYTES, (size_t)count * BUNDLE_ROW_BYTES,
                  data + BUNDLE_AT_DIGEST);
    if (is_signed) {
        bundle_sign(&signer_of_tests, data, data + size - BUNDLE_SIGNATURE_BYTES);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, most);
    if (size >= BUNDLE_HEADER_BYTES + BUNDLE_SIGNATURE_BYTES && seed % 8 > 0) {
        mend(data, size, seed / 8);
    }
    return size;
}

/* ---------------------------------------------------------------------------- the target
 */

static void load_entries(const struct jg_cache_bundle *bundle, int fd, const uint8_t *data)
{
    const uint32_t count = jg_cache_bundle_count(bundle);
    jg_cache_name before = {{0}};
    for (uint32_t i = 0; i < count && i < MOST_ENTRIES; i++) {
        char reason[256];
        const struct jg_cache_why why = jg_cache_begin_reason(reason, sizeof(reason));
        struct jg_cache_loaded loaded = {0};
        struct stat seen;
        jg_cache_name name;
        jg_cache_bundle_name(bundle, i, &name);
        fuzz_expect(i == 0 || memcmp(before.bytes, name.bytes, sizeof(name.bytes)) < 0,
                    "names stand in their order, none twice");
        before = name;
        const jg_cache_result result =
            jg_cache_bundle_load(bundle, fd, &name, true, &loaded, &seen, &why);
        if (result != JG_CACHE_OK) {
            fuzz_expect(result == JG_CACHE_DAMAGED || result == JG_CACHE_MISMATCH,
                        "an entry that is refused is damaged, or another's");
            fuzz_expect(reason[0] != '\0', "a refusal has its reason");
            continue;
        }
        const uint8_t *row = data + BUNDLE_HEADER_BYTES + (size_t)i * BUNDLE_ROW_BYTES;
        const uint8_t *entry = data + load_u64(row + BUNDLE_ROW_AT_OFFSET);
        const struct jg_cache_layout *layout = &loaded.layout;
        fuzz_expect(layout->total_bytes == load_u64(row + BUNDLE_ROW_AT_BYTES),
                    "an entry has the bytes of its row");
        fuzz_expect(memcmp(loaded.header, entry, layout->header_bytes) == 0 &&
                        (layout->payload_bytes == 0 ||
                         memcmp(loaded.payload, entry + layout->header_bytes,
                                layout->payload_bytes) == 0),
                    "an entry is what the index means");
        jg_cache_store_release(&loaded);
    }
}

/* By the words of docs/cache-format.md, from the bytes. */
static bool is_signed_by(const uint8_t *data, size_t size, const jg_cache_public_key *key)
{
    uint8_t message[64] = "jit_gemm bundle signature 1";
    memcpy(message + 32, data + BUNDLE_AT_DIGEST, 32);
    return memcmp(data + BUNDLE_AT_KEY, key->bytes, sizeof(key->bytes)) == 0 &&
           crypto_sign_ed25519_verify_detached(data + size - BUNDLE_SIGNATURE_BYTES,
                                               message, sizeof(message), key->bytes) == 0;
}

static jg_cache_result open_bundle(const jg_cache_options *options, int fd,
                                   struct jg_cache_bundle **ret_bundle)
{
    char reason[256];
    const struct jg_cache_why why = jg_cache_begin_reason(reason, sizeof(reason));
    const jg_cache_result result = jg_cache_bundle_open(fd, options, ret_bundle, &why);
    if (result != JG_CACHE_OK) {
        fuzz_expect(result == JG_CACHE_DAMAGED || result == JG_CACHE_UNTRUSTED,
                    "a bundle that is refused is damaged or not trusted");
        fuzz_expect(reason[0] != '\0', "a refusal has its reason");
    }
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const jg_cache_options anyone = {0};
    struct jg_cache_bundle *bundle = NULL;
    const int fd = fuzz_file(data, size);
    const bool opens = open_bundle(&anyone, fd, &bundle) == JG_CACHE_OK;
    fuzz_note(opens);
    if (opens) {
        load_entries(bundle, fd, data);
        jg_cache_bundle_close(bundle);
    }

    const jg_cache_public_key key = jg_cache_public_key_of(&signer_of_tests.secret);
    const jg_cache_options careful = {
        .keys = &key, .key_count = 1, .least_serial = LEAST_SERIAL};
    const jg_cache_result result = open_bundle(&careful, fd, &bundle);
    if (result == JG_CACHE_OK) {
        fuzz_expect(opens, "what opens for a key opens for everybody");
        fuzz_expect(is_signed_by(data, size, &key), "it was signed with the key");
        fuzz_expect(load_u64(data + BUNDLE_AT_SERIAL) >= LEAST_SERIAL,
                    "its serial number is not below the least");
        jg_cache_bundle_close(bundle);
    }
    return 0;
}
