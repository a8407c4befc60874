/* SPDX-License-Identifier: MIT */
/* Signed bundles: who is asked for a key and gets another bundle uses nothing of it. */
#include "bundle.h"
#include "cache_fixture.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    N_SAMPLES = 2,
    SERIAL = 0x0102,
    INDEX_END = BUNDLE_HEADER_BYTES + N_SAMPLES * BUNDLE_ROW_BYTES
};

/* Key pairs of RFC 8032, section 7.1, tests 1 and 2. */
static const char *const secret_texts[2] = {
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"};
static const char *const public_texts[2] = {
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"};

static struct fixture f;
static struct sample samples[N_SAMPLES];
static jg_cache_secret_key secrets[2];
static jg_cache_public_key keys[2];
static char path[200];
static unsigned char *plain, *good; /* the same entries without and with a signature */
static size_t plain_size, good_size;

/* Writes the samples of a cache; `secret` NULL: unsigned. */
static void write_bundle(const jg_cache *from, const jg_cache_secret_key *secret,
                         uint64_t serial)
{
    jg_cache_bundle_writer *writer = NULL;
    jg_cache_bundle_counts counts;
    size_t size;
    cr_assert_eq(jg_cache_bundle_begin(&writer), JG_CACHE_OK);
    for (int i = 0; i < N_SAMPLES; i++) {
        cr_assert_eq(jg_cache_bundle_add(writer, from, &samples[i].name), JG_CACHE_OK);
    }
    if (secret != NULL) {
        jg_cache_bundle_sign(writer, secret, serial);
    }
    cr_assert_eq(jg_cache_bundle_write(writer, path, &counts, f.reason, sizeof(f.reason)),
                 JG_CACHE_OK, "%s", f.reason);
    jg_cache_bundle_end(writer);
    free(read_file(path, &size));
    cr_expect_eq(counts.bytes, size);
}

static void begin(void)
{
    fixture_begin_in_memory(&f);
    snprintf(path, sizeof(path), "%s/kernels.jgb", f.root);
    samples[0] = sample_make(16, 64, 50, 20);
    samples[1] = sample_make(32, 65, 1, 0);
    for (int i = 0; i < N_SAMPLES; i++) {
        cr_assert_eq(sample_put(&f, f.cache, &samples[i]), JG_CACHE_OK, "%s", f.reason);
        cr_assert(jg_cache_key_read(secret_texts[i], 64, secrets[i].bytes));
        keys[i] = jg_cache_public_key_of(&secrets[i]);
    }
    write_bundle(f.cache, NULL, 0);
    plain = read_file(path, &plain_size);
    write_bundle(f.cache, &secrets[0], SERIAL);
    good = read_file(path, &good_size);
}

static void end(void)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        sample_free(&samples[i]);
    }
    free(plain);
    free(good);
    fixture_end(&f);
}

TestSuite(cache_sign, .init = begin, .fini = end);

static jg_cache_result open_signed(const jg_cache_public_key *trusted, size_t count,
                                   uint64_t least_serial, jg_cache **ret_bundle)
{
    const jg_cache_options options = {.folder = path,
                                      .read_only = true,
                                      .keys = trusted,
                                      .key_count = count,
                                      .least_serial = least_serial};
    return jg_cache_open(&options, ret_bundle, f.reason, sizeof(f.reason));
}

/* Opens the file and closes it again. */
static jg_cache_result try_file(const jg_cache_public_key *trusted, size_t count,
                                uint64_t least_serial)
{
    jg_cache *bundle = NULL;
    const jg_cache_result result = open_signed(trusted, count, least_serial, &bundle);
    cr_expect((result == JG_CACHE_OK) == (bundle != NULL));
    cr_expect(result == JG_CACHE_OK || f.reason[0] != '\0', "no reason given");
    jg_cache_close(bundle);
    return result;
}

static jg_cache_result try_bytes(const unsigned char *bytes, size_t size,
                                 const jg_cache_public_key *trusted, size_t count)
{
    write_file(path, bytes, size);
    return try_file(trusted, count, 0);
}

static void rehash(unsigned char *bytes)
{
    bundle_digest(bytes, bytes + BUNDLE_HEADER_BYTES, INDEX_END - BUNDLE_HEADER_BYTES,
                  bytes + BUNDLE_AT_DIGEST);
}

/* ---------------------------------------------------------------------------- right */

Test(cache_sign, keys_are_those_of_rfc_8032)
{
    char text[JG_CACHE_KEY_TEXT_SIZE];
    for (int i = 0; i < 2; i++) {
        jg_cache_key_print(keys[i].bytes, text);
        cr_expect_str_eq(text, public_texts[i]);
    }
}

Test(cache_sign, text_that_is_not_64_digits_is_no_key)
{
    static const char *const wrong[] = {
        "",
        "d7",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511ab",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511g",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f70751 a"};
    jg_cache_public_key key = keys[0];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_not(jg_cache_key_read(wrong[i], strlen(wrong[i]), key.bytes), "%zu", i);
        cr_expect_arr_eq(key.bytes, keys[0].bytes, sizeof(key.bytes));
    }
    cr_expect(jg_cache_key_read(
        "D75A980182B10AB7D54BFED3C964073A0EE172F3DAA62325AF021A68F707511A", 64, key.bytes));
    cr_expect_arr_eq(key.bytes, keys[0].bytes, sizeof(key.bytes));
}

Test(cache_sign, bytes_of_a_signed_file_are_as_documented)
{
    unsigned char message[64] = "jit_gemm bundle signature 1", both[64], key[32];
    unsigned char *expected = calloc(1, plain_size + 64);
    cr_assert_not_null(expected);
    memcpy(expected, plain, plain_size);
    const uint64_t total = plain_size + 64;
    for (int i = 0; i < 8; i++) {
        expected[16 + i] = (unsigned char)(total >> (8 * i));
    }
    expected[28] = 1;
    expected[32] = 2; /* SERIAL */
    expected[33] = 1;
    cr_assert_eq(crypto_sign_seed_keypair(key, both, secrets[0].bytes), 0);
    memcpy(expected + 40, key, 32);
    rehash(expected);
    memcpy(message + 32, expected + 96, 32);
    cr_assert_eq(crypto_sign_detached(expected + plain_size, NULL, message, 64, both), 0);

    cr_assert_eq(good_size, total);
    cr_expect_arr_eq(good, expected, total);
    free(expected);
}

Test(cache_sign, signed_bundle_is_read_with_its_key_and_without_any)
{
    jg_cache *bundle = NULL;
    jg_cache_public_key key;
    uint64_t serial = 0;

    for (size_t count = 0; count <= 2; count++) {
        cr_assert_eq(open_signed(keys, count, count > 0 ? SERIAL : 0, &bundle), JG_CACHE_OK,
                     "%s", f.reason);
        for (int i = 0; i < N_SAMPLES; i++) {
            cr_expect_eq(sample_get(&f, bundle, &samples[i]), JG_CACHE_OK, "%s", f.reason);
        }
        cr_expect(jg_cache_signature(bundle, &key, &serial));
        cr_expect_arr_eq(key.bytes, keys[0].bytes, sizeof(key.bytes));
        cr_expect_eq(serial, SERIAL);
        jg_cache_close(bundle);
    }
    write_bundle(f.cache, &secrets[1], 0);
    cr_expect_eq(try_file(keys, 2, 0), JG_CACHE_OK, "the second key: %s", f.reason);
}

Test(cache_sign, what_a_signed_bundle_is_written_from_does_not_matter)
{
    jg_cache *bundle = NULL;
    size_t size;
    cr_assert_eq(open_signed(keys, 1, 0, &bundle), JG_CACHE_OK);

    write_bundle(bundle, &secrets[0], SERIAL);
    unsigned char *again = read_file(path, &size);
    cr_expect(size == good_size && memcmp(again, good, size) == 0, "signed twice");
    free(again);

    write_bundle(bundle, NULL, 0);
    again = read_file(path, &size);
    cr_expect(size == plain_size && memcmp(again, plain, size) == 0, "no longer signed");
    free(again);
    cr_expect_eq(try_file(keys, 1, 0), JG_CACHE_UNTRUSTED);
    jg_cache_close(bundle);
}

/* ------------------------------------------------------------------------- not trusted */

Test(cache_sign, unsigned_bundle_is_refused_where_keys_are_given)
{
    jg_cache_public_key key;
    uint64_t serial;
    jg_cache *bundle = NULL;

    cr_expect_eq(try_bytes(plain, plain_size, keys, 1), JG_CACHE_UNTRUSTED);
    cr_expect_str_eq(f.reason,
                     "the bundle is not signed, and a trusted key must have signed it");
    cr_assert_eq(open_signed(NULL, 0, 0, &bundle), JG_CACHE_OK);
    cr_expect_not(jg_cache_signature(bundle, &key, &serial));
    cr_expect_not(jg_cache_signature(f.cache, &key, &serial));
    cr_expect_not(jg_cache_signature(NULL, &key, &serial));
    jg_cache_close(bundle);
}

Test(cache_sign, another_key_is_refused_and_named)
{
    cr_expect_eq(try_file(keys + 1, 1, 0), JG_CACHE_UNTRUSTED);
    cr_expect_not_null(strstr(f.reason, public_texts[0]), "%s", f.reason);
    cr_expect_not_null(strstr(f.reason, "which is no trusted key"), "%s", f.reason);
    for (int bit = 0; bit < 256; bit++) {
        jg_cache_public_key near = keys[0];
        near.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        cr_expect_eq(try_file(&near, 1, 0), JG_CACHE_UNTRUSTED, "bit %d", bit);
    }
}

Test(cache_sign, serial_number_below_the_least_is_refused)
{
    static const uint64_t serials[] = {0,         1, SERIAL, UINT32_MAX, UINT64_C(1) << 32,
                                       UINT64_MAX};
    for (size_t i = 0; i < sizeof(serials) / sizeof(serials[0]); i++) {
        write_bundle(f.cache, &secrets[0], serials[i]);
        for (size_t j = 0; j < sizeof(serials) / sizeof(serials[0]); j++) {
            cr_expect_eq(try_file(keys, 1, serials[j]),
                         j <= i ? JG_CACHE_OK : JG_CACHE_UNTRUSTED, "%zu %zu", i, j);
        }
    }
    write_bundle(f.cache, &secrets[0], 6);
    cr_expect_eq(try_file(keys, 1, 7), JG_CACHE_UNTRUSTED);
    cr_expect_str_eq(f.reason, "the bundle has serial number 6, and the least is 7");
}

Test(cache_sign, folders_and_floors_without_keys_are_refused)
{
    jg_cache *cache = NULL;
    char none[200];
    snprintf(none, sizeof(none), "%s/none", f.root);
    jg_cache_options options = {.folder = f.folder, .read_only = true, .least_serial = 1};

    cr_expect_eq(jg_cache_open(&options, &cache, f.reason, sizeof(f.reason)),
                 JG_CACHE_UNTRUSTED);
    cr_expect_str_eq(f.reason, "a least serial number needs the keys that may sign it");
    options.keys = keys;
    options.key_count = 1;
    cr_expect_eq(jg_cache_open(&options, &cache, f.reason, sizeof(f.reason)),
                 JG_CACHE_UNTRUSTED);
    cr_expect_str_eq(f.reason, "a folder has no signature: name a signed bundle");
    options.folder = none;
    options.read_only = false;
    cr_expect_eq(jg_cache_open(&options, &cache, f.reason, sizeof(f.reason)),
                 JG_CACHE_UNTRUSTED);
    cr_expect_not(path_exists(none), "a folder was made");
    cr_expect_null(cache);
}

/* --------------------------------------------------------------------------- damaged */

/* With a digest that holds again, too: it is no secret how to make one. */
Test(cache_sign, every_flipped_bit_of_header_index_and_signature_is_refused)
{
    unsigned char *bytes = malloc(good_size);
    cr_assert_not_null(bytes);
    for (size_t bit = 0; bit < good_size * 8; bit++) {
        if (bit == (size_t)INDEX_END * 8) {
            bit = (good_size - BUNDLE_SIGNATURE_BYTES) * 8;
        }
        memcpy(bytes, good, good_size);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        cr_assert_eq(try_bytes(bytes, good_size, keys, 1), JG_CACHE_DAMAGED, "bit %zu: %s",
                     bit, f.reason);
        cr_assert_eq(try_bytes(bytes, good_size, NULL, 0), JG_CACHE_DAMAGED, "bit %zu: %s",
                     bit, f.reason);
        if (bit < (size_t)INDEX_END * 8 && (bit < (size_t)BUNDLE_AT_DIGEST * 8 ||
                                            bit >= (size_t)BUNDLE_HEADER_BYTES * 8)) {
            rehash(bytes);
            const jg_cache_result result = try_bytes(bytes, good_size, keys, 1);
            cr_assert(result == JG_CACHE_DAMAGED, "bit %zu: %d, %s", bit, result, f.reason);
        }
    }
    cr_expect_eq(try_bytes(good, good_size, keys, 1), JG_CACHE_OK);
    free(bytes);
}

Test(cache_sign, truncation_at_every_byte_is_damage)
{
    for (size_t n = 0; n < good_size; n++) {
        cr_assert_eq(try_bytes(good, n, keys, 1), JG_CACHE_DAMAGED, "%zu bytes", n);
    }
}

/* Total length and digest are made to fit what is left of the signature. */
Test(cache_sign, cut_signature_under_a_right_digest_is_damage)
{
    for (size_t cut = 1; cut <= BUNDLE_SIGNATURE_BYTES; cut++) {
        unsigned char *bytes = malloc(good_size);
        cr_assert_not_null(bytes);
        memcpy(bytes, good, good_size);
        const uint64_t total = good_size - cut;
        for (int i = 0; i < 8; i++) {
            bytes[BUNDLE_AT_TOTAL_BYTES + i] = (unsigned char)(total >> (8 * i));
        }
        rehash(bytes);
        cr_expect_eq(try_bytes(bytes, total, keys, 1), JG_CACHE_DAMAGED, "%zu", cut);
        cr_expect_eq(try_bytes(bytes, total, NULL, 0), JG_CACHE_DAMAGED, "%zu", cut);
        free(bytes);
    }
}

/* A header alone, that says it is signed: there is no place for a signature. */
Test(cache_sign, signature_does_not_overlap_header_and_index)
{
    unsigned char bytes[INDEX_END];
    for (size_t size = BUNDLE_HEADER_BYTES; size < INDEX_END; size += 32) {
        memcpy(bytes, good, sizeof(bytes));
        memset(bytes + BUNDLE_AT_TOTAL_BYTES, 0, 12);
        bytes[BUNDLE_AT_TOTAL_BYTES] = (unsigned char)size;
        bytes[BUNDLE_AT_COUNT] = (unsigned char)((size - BUNDLE_HEADER_BYTES) / 64);
        cr_expect_eq(try_bytes(bytes, size, keys, 1), JG_CACHE_DAMAGED, "%zu", size);
        cr_expect_not_null(strstr(f.reason, "more than fit"), "%zu: %s", size, f.reason);
    }
}

/* The signer's key over other words, and another's signature under the signer's key. */
Test(cache_sign, signature_of_something_else_does_not_hold)
{
    unsigned char both[64], key[32], message[64] = "jit_gemm bundle signature 2";
    unsigned char *at = good + good_size - BUNDLE_SIGNATURE_BYTES;
    cr_assert_eq(crypto_sign_seed_keypair(key, both, secrets[0].bytes), 0);
    memcpy(message + 32, good + BUNDLE_AT_DIGEST, 32);

    cr_assert_eq(crypto_sign_detached(at, NULL, message, 64, both), 0);
    cr_expect_eq(try_bytes(good, good_size, keys, 1), JG_CACHE_DAMAGED);
    cr_assert_eq(crypto_sign_detached(at, NULL, message + 32, 32, both), 0);
    cr_expect_eq(try_bytes(good, good_size, keys, 1), JG_CACHE_DAMAGED);
    message[26] = '1';
    cr_assert_eq(crypto_sign_detached(at, NULL, message, 64, both), 0);
    cr_expect_eq(try_bytes(good, good_size, keys, 1), JG_CACHE_OK, "%s", f.reason);
    cr_assert_eq(crypto_sign_seed_keypair(key, both, secrets[1].bytes), 0);
    cr_assert_eq(crypto_sign_detached(at, NULL, message, 64, both), 0);
    cr_expect_eq(try_bytes(good, good_size, keys, 2), JG_CACHE_DAMAGED);
    cr_expect_str_eq(f.reason, "the signature of the bundle does not hold: copy it again");
}

/* The signature covers the index, and this every entry. */
Test(cache_sign, entry_that_was_exchanged_under_a_signature_is_no_hit)
{
    jg_cache *bundle = NULL;
    for (size_t bit = (size_t)INDEX_END * 8; bit < (good_size - BUNDLE_SIGNATURE_BYTES) * 8;
         bit += 7) {
        unsigned hits = 0;
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_file(path, good, good_size);
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        cr_assert_eq(open_signed(keys, 1, 0, &bundle), JG_CACHE_OK, "%s", f.reason);
        for (int i = 0; i < N_SAMPLES; i++) {
            hits += sample_get(&f, bundle, &samples[i]) == JG_CACHE_OK;
        }
        cr_assert_eq(hits, N_SAMPLES - 1, "bit %zu", bit);
        jg_cache_close(bundle);
    }
}
