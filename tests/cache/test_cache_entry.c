/* SPDX-License-Identifier: MIT */
/* The format: whatever is wrong with the bytes of an entry, it is no hit. */
#include "cache_fixture.h"
#include "internal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { HEADER_BYTES = 192, PAYLOAD_BYTES = 40 }; /* of the sample below */

static struct fixture f;
static struct sample s;
static char path[256];
static unsigned char *good;
static size_t good_size;

static void store_sample(void)
{
    fixture_begin_in_memory(&f);
    s = sample_make(7, PAYLOAD_BYTES, 50, 20);
    entry_path(&f, &s.name, path);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    good = read_file(path, &good_size);
}

static void drop_sample(void)
{
    free(good);
    sample_free(&s);
    fixture_end(&f);
}

/* Makes the header's checksum hold again after a change. */
static void rehash(unsigned char *bytes, size_t header_bytes)
{
    unsigned long long hash = XXH3_64bits(bytes, header_bytes - 8);
    for (size_t i = 0; i < 8; i++) {
        bytes[header_bytes - 8 + i] = (unsigned char)(hash >> (8 * i));
    }
}

static void set_le(unsigned char *at, int n, unsigned long long value)
{
    for (int i = 0; i < n; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

TestSuite(cache_entry, .init = store_sample, .fini = drop_sample);

Test(cache_entry, bytes_of_a_file_are_as_documented)
{
    unsigned char expected[HEADER_BYTES + PAYLOAD_BYTES] = {
        0x89, 'J', 'G', 'K', 13, 10, 26, 10, 1, 0, 0, 0, HEADER_BYTES, 0, 0, 0};

    expected[16] = HEADER_BYTES + PAYLOAD_BYTES;
    memcpy(expected + 24, s.name.bytes, 16);
    expected[40] = 50;
    expected[44] = 20;
    expected[48] = PAYLOAD_BYTES;
    memcpy(expected + 64, good + 64, 32); /* the digest has its own test */
    memcpy(expected + 96, s.material, 50);
    memcpy(expected + 146, s.metadata, 20);
    rehash(expected, HEADER_BYTES);
    memcpy(expected + HEADER_BYTES, s.payload, PAYLOAD_BYTES);

    cr_expect_eq(good_size, sizeof(expected));
    cr_expect_arr_eq(good, expected, sizeof(expected));
}

Test(cache_entry, digest_is_the_sha256_of_the_payload)
{
    static const unsigned char sha256_of_abc[32] = {
        0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
        0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
        0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    const struct jg_cache_why why = {NULL, 0};
    struct jg_cache_layout layout;
    unsigned char header[192];

    cr_assert_eq(jg_cache_entry_plan(0, 0, 3, &layout, &why), JG_CACHE_OK);
    cr_assert_leq(layout.header_bytes, sizeof(header));
    const jg_cache_key key = {.name = s.name};
    const jg_cache_value value = {.payload = "abc", .payload_size = 3};
    jg_cache_entry_encode(&layout, &key, &value, header);

    cr_expect_arr_eq(header + 64, sha256_of_abc, 32);
}

Test(cache_entry, truncation_at_every_byte_is_damage)
{
    for (size_t n = 0; n < good_size; n++) {
        write_file(path, good, n);
        cr_assert_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED, "%zu bytes: %s", n,
                     f.reason);
        cr_assert_not(path_exists(path), "%zu bytes: the bad entry is still there", n);
    }
    write_file(path, good, good_size);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
}

Test(cache_entry, every_flipped_bit_is_no_hit)
{
    for (size_t bit = 0; bit < good_size * 8; bit++) {
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_file(path, good, good_size);
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        int result = sample_get(&f, f.cache, &s);
        cr_assert_eq(result, JG_CACHE_DAMAGED, "bit %zu: %s", bit, f.reason);
    }
}

Test(cache_entry, trailing_bytes_are_damage)
{
    unsigned char longer[512] = {0};
    memcpy(longer, good, good_size);
    write_file(path, longer, good_size + 1);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);
    cr_expect_eq(count_quarantined(&f), 1);
}

Test(cache_entry, zero_length_file_is_replaced_by_the_next_put)
{
    write_file(path, "", 0);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);
    write_file(path, "", 0);
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
}

Test(cache_entry, huge_and_wrapping_lengths_are_refused_with_a_valid_hash)
{
    static const unsigned long long values[] = {
        0,          1,          49,          51,         0x7fffffff,         0x80000000,
        0xffffffff, 0xffffffa0, 0x100000000, 1ULL << 63, 0x7fffffffffffffff, ~0ULL};
    static const struct {
        int at, n;
    } fields[] = {{12, 4}, {16, 8}, {40, 4}, {44, 4}, {48, 8}, {56, 8}};
    unsigned char bytes[512];
    int result;

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
            memcpy(bytes, good, good_size);
            set_le(bytes + fields[i].at, fields[i].n, values[v]);
            if (memcmp(bytes, good, good_size) == 0) {
                continue; /* the value that is right */
            }
            rehash(bytes, HEADER_BYTES);
            write_file(path, bytes, good_size);
            result = sample_get(&f, f.cache, &s);
            /* A length of 51 is consistent: then the material is another. */
            cr_assert(result == JG_CACHE_DAMAGED ||
                          (values[v] == 51 && result == JG_CACHE_MISMATCH),
                      "field %d = %llx gives %d", fields[i].at, values[v], result);
        }
    }
}

Test(cache_entry, lengths_that_wrap_to_the_file_size_are_refused)
{
    unsigned char bytes[512];
    memcpy(bytes, good, good_size);
    /* Only header and material wrap, in 32 bits, to what they had. */
    set_le(bytes + 40, 4, 50 + 0x80000000u);
    set_le(bytes + 44, 4, 20 + 0x80000000u);
    rehash(bytes, HEADER_BYTES);
    write_file(path, bytes, good_size);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED, "%s", f.reason);

    /* Header and payload sum to 0 in 64 bits, and so does the total. */
    memcpy(bytes, good, good_size);
    set_le(bytes + 48, 8, 0ULL - HEADER_BYTES);
    set_le(bytes + 16, 8, 0);
    rehash(bytes, HEADER_BYTES);
    write_file(path, bytes, good_size);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED, "%s", f.reason);
}

Test(cache_entry, sparse_terabyte_is_refused_before_memory_is_taken)
{
    write_file(path, good, good_size);
    if (truncate(path, 1LL << 40) != 0) {
        SKIP_TEST(&f, "this file system has no files of 1 TiB");
    }
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);

    set_le(good + 16, 8, 1ULL << 40);
    set_le(good + 48, 8, (1ULL << 40) - HEADER_BYTES);
    rehash(good, HEADER_BYTES);
    write_file(path, good, good_size);
    cr_assert_eq(truncate(path, 1LL << 40), 0);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);
    cr_expect(strstr(f.reason, "limit"), "%s", f.reason);
}

Test(cache_entry, wrong_magic_and_format_are_damage)
{
    good[1] = 'K';
    rehash(good, HEADER_BYTES);
    write_file(path, good, good_size);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);
    cr_expect(strstr(f.reason, "magic"), "%s", f.reason);
    good[1] = 'J';
    good[8] = 2;
    rehash(good, HEADER_BYTES);
    write_file(path, good, good_size);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED);
    cr_expect(strstr(f.reason, "format 2"), "%s", f.reason);
}

Test(cache_entry, padding_that_is_not_zero_is_damage)
{
    good[HEADER_BYTES - 9] = 1;
    rehash(good, HEADER_BYTES);
    write_file(path, good, good_size);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_DAMAGED, "%s", f.reason);
}

Test(cache_entry, swapped_entries_are_refused_and_stored_again)
{
    struct sample other = sample_make(8, PAYLOAD_BYTES, 50, 20);
    char other_path[256];
    size_t other_size;
    entry_path(&f, &other.name, other_path);
    cr_assert_eq(sample_put(&f, f.cache, &other), JG_CACHE_OK);
    unsigned char *other_bytes = read_file(other_path, &other_size);

    write_file(path, other_bytes, other_size);
    write_file(other_path, good, good_size);

    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_MISMATCH, "%s", f.reason);
    cr_expect_eq(sample_get(&f, f.cache, &other), JG_CACHE_MISMATCH, "%s", f.reason);
    cr_expect_eq(count_quarantined(&f), 2);
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    free(other_bytes);
    sample_free(&other);
}

Test(cache_entry, forced_collision_keeps_the_first)
{
    struct sample second = sample_make(9, 30, 50, 0);
    second.name = s.name;

    cr_expect_eq(sample_get(&f, f.cache, &second), JG_CACHE_MISMATCH);
    cr_expect_eq(sample_put(&f, f.cache, &second), JG_CACHE_MISMATCH);
    cr_expect_gt(strlen(f.reason), 0);
    cr_expect_eq(sample_get(&f, f.cache, &second), JG_CACHE_MISMATCH);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
    cr_expect_eq(count_quarantined(&f), 0);
    sample_free(&second);
}

Test(cache_entry, material_that_differs_in_one_byte_or_in_length_is_a_mismatch)
{
    s.material[49] ^= 1;
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_MISMATCH);
    s.material[49] ^= 1;
    s.material_size = 49;
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_MISMATCH);
    s.material_size = 0;
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_MISMATCH);
    s.material_size = 50;
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);
}

/* One change of a random kind, in place; returns the new size. */
static size_t mutate(unsigned char *bytes, size_t size, size_t capacity,
                     unsigned long long *state)
{
    unsigned long long r = next_random(state);
    size_t at = (size_t)(r >> 8) % size, n;
    switch (r % 6) {
    case 0:
        bytes[at] ^= (unsigned char)(1u << (r >> 40) % 8);
        return size;
    case 1:
        bytes[at] = (unsigned char)(r >> 40);
        return size;
    case 2:
        return at > 0 ? at : 1;
    case 3:
        if (size == capacity) {
            return size;
        }
        n = 1 + (size_t)(r >> 40) % (capacity - size);
        memset(bytes + size, (int)(r >> 56), n);
        return size + n;
    case 4: /* a length field gets an interesting value */
        set_le(bytes + 12 + 4 * ((r >> 40) % 12), 4, (r >> 44) % 2 ? ~0ULL : r >> 32);
        return size;
    default:
        n = 1 + (size_t)(r >> 40) % (size - at);
        memmove(bytes, bytes + at, n);
        return size;
    }
}

Test(cache_entry, twenty_thousand_mutations_never_crash_or_hit, .timeout = 60)
{
    unsigned char bytes[400];
    unsigned long long state = 42;
    int tried = 0, hits_of_rehashed = 0;

    while (tried < 20000) {
        size_t size = good_size;
        int n_changes = 1 + (int)(next_random(&state) % 3);
        bool rehashed = next_random(&state) % 3 == 0;
        int result;
        memcpy(bytes, good, good_size);
        for (int i = 0; i < n_changes && size > 100; i++) {
            size = mutate(bytes, size, sizeof(bytes), &state);
        }
        if (rehashed && size >= HEADER_BYTES) {
            rehash(bytes, HEADER_BYTES);
        }
        if (size == good_size && memcmp(bytes, good, size) == 0) {
            continue; /* the changes cancelled out */
        }
        write_file(path, bytes, size);
        result = sample_get(&f, f.cache, &s);
        /* With a forged checksum the metadata may differ (-1): ownership guards that. */
        if (rehashed && result == -1) {
            hits_of_rehashed++;
        } else {
            cr_assert(result == JG_CACHE_DAMAGED || result == JG_CACHE_MISMATCH,
                      "try %d: result %d", tried, result);
        }
        tried++;
    }
    cr_expect_gt(hits_of_rehashed, 0, "the forged checksums never reached the payload");
}

Test(cache_entry, parts_over_their_limits_are_too_large)
{
    struct sample material = s, metadata = s, payload = s;
    material.material_size = JG_CACHE_MATERIAL_MAX + 1;
    metadata.metadata_size = JG_CACHE_METADATA_MAX + 1;
    payload.payload_size = SIZE_MAX;

    cr_expect_eq(sample_put(&f, f.cache, &material), JG_CACHE_TOO_LARGE);
    cr_expect(strstr(f.reason, "key material") != NULL, "%s", f.reason);
    cr_expect_eq(sample_put(&f, f.cache, &metadata), JG_CACHE_TOO_LARGE);
    cr_expect(strstr(f.reason, "metadata") != NULL, "%s", f.reason);
    cr_expect_eq(sample_put(&f, f.cache, &payload), JG_CACHE_TOO_LARGE);
    cr_expect(strstr(f.reason, "payload"), "%s", f.reason);
}

Test(cache_entry, empty_parts_and_every_alignment_come_back)
{
    for (unsigned n = 0; n < 140; n++) {
        struct sample t = sample_make(100 + n, n % 3 == 0 ? 0 : n, n, (n * 7) % 70);
        cr_assert_eq(sample_put(&f, f.cache, &t), JG_CACHE_OK, "%s", f.reason);
        cr_assert_eq(sample_get(&f, f.cache, &t), JG_CACHE_OK, "size %u: %s", n, f.reason);
        sample_free(&t);
    }
}
