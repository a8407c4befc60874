/* SPDX-License-Identifier: MIT */
/* Bundles: what is written comes back, and whatever is wrong with a file, it is no hit. */
#include "bundle.h"
#include "cache_fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_SAMPLES = 3, INDEX_END = BUNDLE_HEADER_BYTES + N_SAMPLES * BUNDLE_ROW_BYTES };

static struct fixture f;
static struct sample samples[N_SAMPLES]; /* in the order of their names */
static char path[200];
static unsigned char *good;
static size_t good_size;

/* Writes the named samples of a cache, in this order. */
static jg_cache_result write_bundle(const jg_cache *from, const int *numbers, size_t count,
                                    const char *file, jg_cache_bundle_counts *ret_counts)
{
    jg_cache_bundle_writer *writer = NULL;
    cr_assert_eq(jg_cache_bundle_begin(&writer), JG_CACHE_OK);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(jg_cache_bundle_add(writer, from, &samples[numbers[i]].name),
                     JG_CACHE_OK);
    }
    const jg_cache_result result =
        jg_cache_bundle_write(writer, file, ret_counts, f.reason, sizeof(f.reason));
    jg_cache_bundle_end(writer);
    return result;
}

static void begin(void)
{
    static const int all[] = {2, 0, 1};
    fixture_begin_in_memory(&f);
    snprintf(path, sizeof(path), "%s/kernels.jgb", f.root);
    /* An empty part of each kind, a payload that ends at a multiple of 64, and one beyond.
     */
    samples[0] = sample_make(16, 64, 50, 20);
    samples[1] = sample_make(32, 65, 1, 0);
    samples[2] = sample_make(250, 0, 40, 7);
    for (int i = 0; i < N_SAMPLES; i++) {
        cr_assert_eq(sample_put(&f, f.cache, &samples[i]), JG_CACHE_OK, "%s", f.reason);
    }
    cr_assert_eq(write_bundle(f.cache, all, N_SAMPLES, path, NULL), JG_CACHE_OK, "%s",
                 f.reason);
    good = read_file(path, &good_size);
}

static void end(void)
{
    for (int i = 0; i < N_SAMPLES; i++) {
        sample_free(&samples[i]);
    }
    free(good);
    fixture_end(&f);
}

TestSuite(cache_bundle, .init = begin, .fini = end);

static jg_cache_result open_at(const char *file, jg_cache **ret_bundle)
{
    const jg_cache_options options = {.folder = file, .read_only = true};
    return jg_cache_open(&options, ret_bundle, f.reason, sizeof(f.reason));
}

static jg_cache *open_well(void)
{
    jg_cache *bundle = NULL;
    cr_assert_eq(open_at(path, &bundle), JG_CACHE_OK, "%s", f.reason);
    return bundle;
}

/* Opens these bytes as a bundle and closes it again. */
static jg_cache_result try_bytes(const unsigned char *bytes, size_t size)
{
    jg_cache *bundle = NULL;
    write_file(path, bytes, size);
    const jg_cache_result result = open_at(path, &bundle);
    cr_expect((result == JG_CACHE_OK) == (bundle != NULL));
    cr_expect(result == JG_CACHE_OK || f.reason[0] != '\0', "no reason given");
    jg_cache_close(bundle);
    return result;
}

static void set_le(unsigned char *at, int n, unsigned long long value)
{
    for (int i = 0; i < n; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

/* Makes the digest of header and index hold again after a change. */
static void rehash(unsigned char *bytes)
{
    bundle_digest(bytes, bytes + BUNDLE_HEADER_BYTES, INDEX_END - BUNDLE_HEADER_BYTES,
                  bytes + BUNDLE_AT_DIGEST);
}

static unsigned char *row_of(unsigned char *bytes, int i)
{
    return bytes + BUNDLE_HEADER_BYTES + (size_t)i * BUNDLE_ROW_BYTES;
}

static int count_state(void *user, const jg_cache_entry *entry)
{
    unsigned *counts = user;
    counts[entry->state == JG_CACHE_OK ? 0 : 1]++;
    return 0;
}

/* ---------------------------------------------------------------------------- right */

Test(cache_bundle, bytes_of_a_file_are_as_documented)
{
    unsigned char expected[4096] = {0x89, 'J', 'G', 'B', 13, 10, 26, 10, 1, 0, 0, 0, 1};
    size_t at = INDEX_END;

    expected[24] = N_SAMPLES;
    for (int i = 0; i < N_SAMPLES; i++) {
        char file[256];
        size_t size;
        entry_path(&f, &samples[i].name, file);
        unsigned char *entry = read_file(file, &size);
        const size_t header = entry[12] + 256u * entry[13];
        unsigned char *row = row_of(expected, i);
        memcpy(row, samples[i].name.bytes, 16);
        set_le(row + 16, 8, at);
        set_le(row + 24, 8, size);
        crypto_hash_sha256(row + 32, entry, header);
        memcpy(expected + at, entry, size); /* as it stands in a folder */
        at += (size + 63) / 64 * 64;
        free(entry);
    }
    set_le(expected + 16, 8, at);
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, expected, 96);
    crypto_hash_sha256_update(&state, expected + 128, (size_t)N_SAMPLES * 64);
    crypto_hash_sha256_final(&state, expected + 96);

    cr_assert_eq(good_size, at);
    cr_expect_arr_eq(good, expected, at);
}

Test(cache_bundle, entries_come_back_and_nothing_can_be_written)
{
    jg_cache *bundle = open_well();
    struct sample other = sample_make(17, 10, 10, 10);
    jg_cache_claim claim = {0};
    jg_cache_counts counts;

    cr_expect(jg_cache_is_bundle(bundle));
    cr_expect_not(jg_cache_is_bundle(f.cache));
    cr_expect_str_eq(jg_cache_folder(bundle), path);
    for (int i = 0; i < N_SAMPLES; i++) {
        cr_expect_eq(sample_get(&f, bundle, &samples[i]), JG_CACHE_OK, "%d: %s", i,
                     f.reason);
    }
    cr_expect_eq(sample_get(&f, bundle, &other), JG_CACHE_MISS);
    cr_expect_eq(sample_put(&f, bundle, &other), JG_CACHE_IO);
    cr_expect_str_eq(f.reason, "the cache was opened read-only");
    cr_expect_not(jg_cache_reject(bundle, &samples[0].name));
    cr_expect_eq(jg_cache_trim(bundle, 1, 0, NULL, NULL), JG_CACHE_IO);
    cr_expect_eq(jg_cache_claim_try(bundle, &other.name, &claim),
                 JG_CACHE_CLAIM_IMPOSSIBLE);

    jg_cache_get_counts(bundle, &counts);
    cr_expect_eq(counts.hits, N_SAMPLES);
    cr_expect_eq(counts.misses, 1);
    size_t size;
    unsigned char *after = read_file(path, &size);
    cr_expect(size == good_size && memcmp(after, good, size) == 0);
    free(after);
    sample_free(&other);
    jg_cache_close(bundle);
}

Test(cache_bundle, other_key_material_of_the_name_is_a_mismatch)
{
    jg_cache *bundle = open_well();
    samples[0].material[3] ^= 1;

    cr_expect_eq(sample_get(&f, bundle, &samples[0]), JG_CACHE_MISMATCH);
    cr_expect_eq(sample_get(&f, bundle, &samples[1]), JG_CACHE_OK);
    jg_cache_close(bundle);
}

static void expect_same_file(const char *file)
{
    size_t size;
    unsigned char *bytes = read_file(file, &size);
    cr_expect(size == good_size && memcmp(bytes, good, size) == 0, "%s differs", file);
    free(bytes);
}

Test(cache_bundle, same_entries_are_the_same_file_from_wherever_they_come)
{
    static const int doubled[] = {1, 0, 2, 1, 1};
    jg_cache *bundle = open_well();
    jg_cache_bundle_counts counts;
    jg_cache_bundle_writer *writer = NULL;
    char copy[200];
    snprintf(copy, sizeof(copy), "%s/copy.jgb", f.root);

    cr_expect_eq(write_bundle(f.cache, doubled, 5, copy, &counts), JG_CACHE_OK);
    expect_same_file(copy);
    cr_expect_eq(counts.entries, N_SAMPLES);
    cr_expect_eq(counts.bytes, good_size);
    cr_expect_eq(write_bundle(bundle, doubled, 3, copy, NULL), JG_CACHE_OK);
    expect_same_file(copy);

    cr_assert_eq(jg_cache_bundle_begin(&writer), JG_CACHE_OK);
    for (int i = 0; i < N_SAMPLES; i++) {
        const struct sample *s = &samples[i];
        const jg_cache_key key = sample_key(s);
        const jg_cache_value value = {s->payload, s->payload_size, s->metadata,
                                      s->metadata_size};
        cr_expect_eq(jg_cache_bundle_add_value(writer, &key, &value), JG_CACHE_OK);
    }
    cr_expect_eq(jg_cache_bundle_add(writer, f.cache, &samples[0].name), JG_CACHE_OK);
    cr_expect_eq(jg_cache_bundle_write(writer, copy, NULL, f.reason, sizeof(f.reason)),
                 JG_CACHE_OK);
    expect_same_file(copy);
    jg_cache_bundle_end(writer);
    jg_cache_close(bundle);
}

static int put_entry(void *user, const jg_cache_entry *entry)
{
    jg_cache *folder = user;
    const jg_cache_key key = {.name = entry->name,
                              .material = entry->material,
                              .material_size = entry->material_size};
    const jg_cache_value value = {entry->payload, entry->payload_size, entry->metadata,
                                  entry->metadata_size};
    return jg_cache_put(folder, &key, &value, NULL, 0) == JG_CACHE_OK ? 0 : 2;
}

Test(cache_bundle, entries_put_into_another_folder_give_the_same_file)
{
    static const int all[] = {0, 1, 2};
    struct fixture other;
    fixture_begin_in_memory(&other);
    jg_cache *bundle = open_well();

    cr_expect_eq(jg_cache_walk(bundle, true, put_entry, other.cache), JG_CACHE_OK);
    cr_expect_eq(count_files(other.folder, ""), N_SAMPLES);
    cr_expect_eq(write_bundle(other.cache, all, 3, path, NULL), JG_CACHE_OK, "%s",
                 f.reason);

    expect_same_file(path);
    jg_cache_close(bundle);
    fixture_end(&other);
}

Test(cache_bundle, empty_one_and_a_large_one_are_searched_right)
{
    enum { N = 300 };
    jg_cache_bundle_writer *writer = NULL;
    jg_cache *bundle = NULL;
    unsigned counts[2] = {0};

    cr_expect_eq(write_bundle(f.cache, NULL, 0, path, NULL), JG_CACHE_OK);
    cr_expect_eq(open_at(path, &bundle), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_get(&f, bundle, &samples[0]), JG_CACHE_MISS);
    jg_cache_close(bundle);

    cr_assert_eq(jg_cache_bundle_begin(&writer), JG_CACHE_OK);
    for (unsigned i = 0; i < N; i++) {
        const unsigned char name = (unsigned char)i;
        const jg_cache_key key = {.name = {{(unsigned char)(i >> 8), name, 1}}};
        const jg_cache_value value = {&name, 1, NULL, 0};
        cr_assert_eq(jg_cache_bundle_add_value(writer, &key, &value), JG_CACHE_OK);
    }
    cr_assert_eq(jg_cache_bundle_write(writer, path, NULL, f.reason, sizeof(f.reason)),
                 JG_CACHE_OK);
    jg_cache_bundle_end(writer);
    bundle = open_well();
    for (unsigned i = 0; i < N; i++) {
        jg_cache_key key = {.name = {{(unsigned char)(i >> 8), (unsigned char)i, 1}}};
        jg_cache_blob blob = {0};
        cr_expect_eq(jg_cache_get(bundle, &key, &blob, NULL, 0), JG_CACHE_OK, "%u", i);
        cr_expect_eq(*(unsigned char *)blob.payload, (unsigned char)i);
        jg_cache_blob_free(&blob);
        key.name.bytes[2] = i % 2 == 0 ? 0 : 2;
        cr_expect_eq(jg_cache_get(bundle, &key, &blob, NULL, 0), JG_CACHE_MISS, "%u", i);
    }
    cr_expect_eq(jg_cache_walk(bundle, true, count_state, counts), JG_CACHE_OK);
    cr_expect(counts[0] == N && counts[1] == 0);
    jg_cache_close(bundle);
}

static int keep_metadata(void *user, const jg_cache_entry *entry)
{
    unsigned char *kept = user;
    memcpy(kept, entry->metadata, entry->metadata_size);
    kept[63] = entry->payload != NULL;
    return 5;
}

Test(cache_bundle, one_entry_can_be_visited_by_its_name)
{
    struct sample other = sample_make(17, 10, 10, 10);
    jg_cache *bundle = open_well();
    jg_cache *const both[] = {bundle, f.cache};

    for (int i = 0; i < 2; i++) {
        unsigned char kept[64] = {0};
        const jg_cache_name *name = &samples[0].name;
        cr_expect_eq(jg_cache_visit(both[i], name, false, keep_metadata, kept),
                     JG_CACHE_OK);
        cr_expect_arr_eq(kept, samples[0].metadata, samples[0].metadata_size);
        cr_expect_eq(kept[63], 0);
        cr_expect_eq(jg_cache_visit(both[i], name, true, keep_metadata, kept), JG_CACHE_OK);
        cr_expect_eq(kept[63], 1);
        cr_expect_eq(jg_cache_visit(both[i], &other.name, true, NULL, NULL), JG_CACHE_MISS);
    }
    cr_expect_eq(jg_cache_visit(NULL, &other.name, true, NULL, NULL), JG_CACHE_MISS);
    sample_free(&other);
    jg_cache_close(bundle);
}

/* --------------------------------------------------------------------------- damaged */

Test(cache_bundle, truncation_at_every_byte_is_damage)
{
    for (size_t n = 0; n < good_size; n++) {
        cr_assert_eq(try_bytes(good, n), JG_CACHE_DAMAGED, "%zu bytes: %s", n, f.reason);
    }
    cr_expect_eq(try_bytes(good, good_size), JG_CACHE_OK);
}

Test(cache_bundle, trailing_bytes_are_damage)
{
    unsigned char *longer = calloc(1, good_size + 64);
    cr_assert_not_null(longer);
    memcpy(longer, good, good_size);
    cr_expect_eq(try_bytes(longer, good_size + 1), JG_CACHE_DAMAGED);
    cr_expect_eq(try_bytes(longer, good_size + 64), JG_CACHE_DAMAGED);
    set_le(longer + BUNDLE_AT_TOTAL_BYTES, 8, good_size + 64);
    rehash(longer);
    cr_expect_eq(try_bytes(longer, good_size + 64), JG_CACHE_DAMAGED);
    cr_expect_str_eq(f.reason, "the bundle goes on behind its last entry");
    free(longer);
}

Test(cache_bundle, every_flipped_bit_of_header_and_index_is_damage)
{
    for (size_t bit = 0; bit < (size_t)INDEX_END * 8; bit++) {
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        cr_assert_eq(try_bytes(good, good_size), JG_CACHE_DAMAGED, "bit %zu: %s", bit,
                     f.reason);
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

Test(cache_bundle, every_flipped_bit_of_an_entry_costs_this_entry_alone)
{
    for (size_t bit = (size_t)INDEX_END * 8; bit < good_size * 8; bit++) {
        unsigned counts[2] = {0};
        int damaged = 0;
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_file(path, good, good_size);
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        jg_cache *bundle = open_well();
        for (int i = 0; i < N_SAMPLES; i++) {
            const int result = sample_get(&f, bundle, &samples[i]);
            cr_assert(result == JG_CACHE_OK || result == JG_CACHE_DAMAGED, "%d", result);
            damaged += result == JG_CACHE_DAMAGED;
        }
        cr_assert_eq(damaged, 1, "bit %zu", bit);
        cr_assert_eq(jg_cache_walk(bundle, true, count_state, counts), JG_CACHE_OK);
        cr_assert_eq(counts[1], 1, "bit %zu", bit);
        jg_cache_close(bundle);
    }
}

Test(cache_bundle, wrong_header_under_a_right_digest_is_damage)
{
    static const struct {
        int at, bytes;
        unsigned long long value;
        const char *reason;
    } rows[] = {
        {BUNDLE_AT_MAGIC + 3, 1, 'K', "it does not begin as a bundle does"},
        {BUNDLE_AT_FORMAT, 4, 2, "the bundle has format 2 with entries of format 1"},
        {BUNDLE_AT_FORMAT, 4, 0, "the bundle has format 0 with entries of format 1"},
        {BUNDLE_AT_ENTRY_FORMAT, 4, 2, "the bundle has format 1 with entries of format 2"},
        {BUNDLE_AT_FORMAT, 4, 1 << 24, "the bundle's numbers are in another byte order"},
        {BUNDLE_AT_TOTAL_BYTES, 8, 0, " and should have 0: copy it again"},
        {BUNDLE_AT_TOTAL_BYTES, 8, UINT64_MAX, " and should have 18446744073709551615"},
        {BUNDLE_AT_COUNT, 4, UINT32_MAX, "says that it has 4294967295 entries"},
        {BUNDLE_AT_COUNT, 4, BUNDLE_COUNT_MAX, "says that it has 1048576 entries"},
        {BUNDLE_AT_COUNT, 4, N_SAMPLES + 1, ""},
        {BUNDLE_AT_COUNT, 4, N_SAMPLES - 1, ""},
        {BUNDLE_AT_SERIAL, 1, 1, "what is reserved in the bundle's header is not zero"},
        {BUNDLE_AT_KEY + 31, 1, 1, "what is reserved in the bundle's header is not zero"},
        {BUNDLE_AT_SIGNED, 4, 1, "the signature of the bundle does not hold"},
        {BUNDLE_AT_SIGNED, 4, 2, "has 2 in the place of 0 or 1, signed"},
        {BUNDLE_AT_SIGNED, 4, 1 << 24, "has 16777216 in the place of 0 or 1, signed"},
        {BUNDLE_AT_RESERVED, 4, 1, "what is reserved in the bundle's header is not zero"},
        {BUNDLE_AT_DIGEST - 1, 1, 1, "what is reserved in the bundle's header is not zero"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char *bytes = malloc(good_size);
        cr_assert_not_null(bytes);
        memcpy(bytes, good, good_size);
        set_le(bytes + rows[i].at, rows[i].bytes, rows[i].value);
        rehash(bytes);
        cr_expect_eq(try_bytes(bytes, good_size), JG_CACHE_DAMAGED, "row %zu", i);
        cr_expect_not_null(strstr(f.reason, rows[i].reason), "row %zu: %s", i, f.reason);
        free(bytes);
    }
}

Test(cache_bundle, wrong_rows_under_a_right_digest_are_damage)
{
    const unsigned long long first = INDEX_END;
    const struct {
        int row, at;
        unsigned long long value;
    } rows[] = {
        {0, BUNDLE_ROW_AT_OFFSET, 0},
        {0, BUNDLE_ROW_AT_OFFSET, first + 64},
        {1, BUNDLE_ROW_AT_OFFSET, first}, /* on top of another */
        {1, BUNDLE_ROW_AT_OFFSET, UINT64_MAX},
        {2, BUNDLE_ROW_AT_OFFSET, good_size},
        {0, BUNDLE_ROW_AT_BYTES, 0},
        {0, BUNDLE_ROW_AT_BYTES, good_size},
        {0, BUNDLE_ROW_AT_BYTES, UINT64_MAX},
        {0, BUNDLE_ROW_AT_BYTES, UINT64_MAX - 63},
        {0, BUNDLE_ROW_AT_BYTES, UINT64_C(1) << 63},
        {2, BUNDLE_ROW_AT_BYTES, good_size},
        {2, BUNDLE_ROW_AT_BYTES, UINT64_MAX}, /* nothing when it is rounded up */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char *bytes = malloc(good_size);
        cr_assert_not_null(bytes);
        memcpy(bytes, good, good_size);
        set_le(row_of(bytes, rows[i].row) + rows[i].at, 8, rows[i].value);
        rehash(bytes);
        cr_expect_eq(try_bytes(bytes, good_size), JG_CACHE_DAMAGED, "row %zu", i);
        cr_expect_not_null(strstr(f.reason, "index names bytes that are not its"),
                           "%zu: %s", i, f.reason);
        free(bytes);
    }
}

Test(cache_bundle, names_twice_or_in_another_order_are_damage)
{
    unsigned char *bytes = malloc(good_size);
    cr_assert_not_null(bytes);
    memcpy(bytes, good, good_size);
    memcpy(row_of(bytes, 1), samples[0].name.bytes, 16);
    rehash(bytes);
    cr_expect_eq(try_bytes(bytes, good_size), JG_CACHE_DAMAGED);
    cr_expect_str_eq(f.reason, "row 1 of the bundle's index is not behind the one before");

    memcpy(row_of(bytes, 1), samples[2].name.bytes, 16);
    memcpy(row_of(bytes, 2), samples[1].name.bytes, 16);
    rehash(bytes);
    cr_expect_eq(try_bytes(bytes, good_size), JG_CACHE_DAMAGED);
    cr_expect_str_eq(f.reason, "row 2 of the bundle's index is not behind the one before");
    free(bytes);
}

/* Whoever can forge the index can do so; what an index means must still be what is read. */
Test(cache_bundle, entry_that_the_index_does_not_mean_is_damage)
{
    unsigned char *bytes = malloc(good_size);
    cr_assert_not_null(bytes);
    memcpy(bytes, good, good_size);
    row_of(bytes, 0)[BUNDLE_ROW_AT_DIGEST] ^= 1;
    rehash(bytes);
    write_file(path, bytes, good_size);
    jg_cache *bundle = open_well();
    cr_expect_eq(sample_get(&f, bundle, &samples[0]), JG_CACHE_DAMAGED);
    cr_expect_str_eq(f.reason, "the entry is not the one that the bundle's index means");
    cr_expect_eq(sample_get(&f, bundle, &samples[1]), JG_CACHE_OK);
    jg_cache_close(bundle);

    /* The first entry under a name of its neighbourhood: its header knows better. */
    memcpy(bytes, good, good_size);
    row_of(bytes, 0)[15] ^= 1;
    rehash(bytes);
    write_file(path, bytes, good_size);
    samples[0].name.bytes[15] ^= 1;
    bundle = open_well();
    cr_expect_eq(sample_get(&f, bundle, &samples[0]), JG_CACHE_MISMATCH);
    cr_expect_str_eq(f.reason, "the entry was stored for another name");
    jg_cache_close(bundle);
    free(bytes);
}

Test(cache_bundle, random_bytes_under_a_right_digest_never_bring_another_blob)
{
    unsigned long long seed = 11;
    unsigned opened = 0;
    unsigned char *bytes = malloc(good_size);
    cr_assert_not_null(bytes);
    for (int round = 0; round < 4000; round++) {
        memcpy(bytes, good, good_size);
        const size_t end = round % 2 == 0 ? (size_t)INDEX_END : good_size;
        for (unsigned long long n = next_random(&seed) % 4 + 1; n > 0; n--) {
            bytes[8 + next_random(&seed) % (end - 8)] = (unsigned char)next_random(&seed);
        }
        rehash(bytes);
        const size_t cut = next_random(&seed) % 8 == 0 ? next_random(&seed) % good_size : 0;
        jg_cache *bundle = NULL;
        write_file(path, bytes, good_size - cut);
        if (open_at(path, &bundle) != JG_CACHE_OK) {
            continue;
        }
        opened++;
        for (int i = 0; i < N_SAMPLES; i++) {
            cr_assert_neq(sample_get(&f, bundle, &samples[i]), -1, "round %d", round);
        }
        jg_cache_close(bundle);
    }
    cr_expect_gt(opened, 500, "few of them got to the entries");
    free(bytes);
}

/* A mapped file would end the program here. */
Test(cache_bundle, file_that_shrinks_or_changes_while_it_is_open_costs_hits_only)
{
    for (size_t size = good_size; size > 0; size -= 64) {
        write_file(path, good, good_size);
        jg_cache *bundle = open_well();
        cr_assert_eq(truncate(path, (off_t)(size - 64)), 0);
        cr_expect_eq(sample_get(&f, bundle, &samples[2]), JG_CACHE_DAMAGED, "%zu bytes",
                     size - 64);
        jg_cache_close(bundle);
    }
    write_file(path, good, good_size);
    jg_cache *bundle = open_well();
    memset(good + INDEX_END, 0x5a, good_size - INDEX_END);
    write_file(path, good, good_size);
    for (int i = 0; i < N_SAMPLES; i++) {
        cr_expect_eq(sample_get(&f, bundle, &samples[i]), JG_CACHE_DAMAGED);
    }
    jg_cache_close(bundle);
}

Test(cache_bundle, file_that_is_replaced_stays_as_it_was_opened)
{
    jg_cache *bundle = open_well();
    cr_assert_eq(write_bundle(f.cache, NULL, 0, path, NULL), JG_CACHE_OK);
    cr_expect_eq(sample_get(&f, bundle, &samples[0]), JG_CACHE_OK);
    cr_assert_eq(unlink(path), 0);
    cr_expect_eq(sample_get(&f, bundle, &samples[1]), JG_CACHE_OK);
    jg_cache_close(bundle);
}

Test(cache_bundle,
     descriptor_that_the_program_closed_is_opened_again_for_the_same_file_only)
{
    jg_cache *bundle = open_well();
    const int before = find_descriptor(path);
    cr_assert_geq(before, 0, "it is held open");
    const int other = open("/dev/null", O_RDONLY);
    cr_assert_eq(dup2(other, before), before, "another file's now");

    cr_expect_eq(sample_get(&f, bundle, &samples[0]), JG_CACHE_OK, "%s", f.reason);
    close(find_descriptor(path));
    cr_assert_eq(write_bundle(f.cache, NULL, 0, path, NULL), JG_CACHE_OK);
    cr_expect_eq(sample_get(&f, bundle, &samples[1]), JG_CACHE_IO, "another file by now");
    jg_cache_close(bundle);
    cr_expect_geq(fcntl(before, F_GETFD), 0, "left open");
    close(before);
    close(other);
}

/* --------------------------------------------------------------------------- hostile */

Test(cache_bundle, file_that_others_may_write_is_not_trusted)
{
    static const mode_t modes[] = {0666, 0664, 0622, 0620, 0602};
    jg_cache *bundle = NULL;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        cr_assert_eq(chmod(path, modes[i]), 0);
        cr_expect_eq(open_at(path, &bundle), JG_CACHE_UNTRUSTED, "mode %o", modes[i]);
        cr_expect_not_null(
            strstr(f.reason, "kernels.jgb may be written by others (mode 06"), "%s",
            f.reason);
    }
    cr_assert_eq(chmod(path, 0444), 0);
    cr_expect_eq(open_at(path, &bundle), JG_CACHE_OK, "%s", f.reason);
    jg_cache_close(bundle);
}

Test(cache_bundle, file_of_another_user_is_not_trusted)
{
    jg_cache *bundle = NULL;
    if (geteuid() != 0) {
        SKIP_TEST(&f, "needs root, to give a file away");
    }
    cr_assert_eq(chown(path, 65534, 65534), 0);
    cr_expect_eq(open_at(path, &bundle), JG_CACHE_UNTRUSTED);
    cr_expect_not_null(strstr(f.reason, "belongs to user 65534"), "%s", f.reason);
    cr_assert_eq(chown(path, 0, 0), 0);
    cr_assert_eq(chmod(f.root, 0755), 0);
    cr_assert_eq(chmod(path, 0644), 0);
    (void)become_nobody(NULL);
    cr_expect_eq(open_at(path, &bundle), JG_CACHE_OK, "root's may be read: %s", f.reason);
    jg_cache_close(bundle);
}

Test(cache_bundle, parents_are_checked_and_links_are_followed_with_care)
{
    char folder[160], inside[200], link_path[200];
    jg_cache *bundle = NULL;
    snprintf(folder, sizeof(folder), "%s/open", f.root);
    snprintf(inside, sizeof(inside), "%s/kernels.jgb", folder);
    snprintf(link_path, sizeof(link_path), "%s/link.jgb", f.root);
    cr_assert_eq(mkdir(folder, 0700), 0);
    write_file(inside, good, good_size);
    cr_assert_eq(symlink(inside, link_path), 0);

    cr_expect_eq(open_at(link_path, &bundle), JG_CACHE_OK, "%s", f.reason);
    jg_cache_close(bundle);
    bundle = NULL;
    cr_assert_eq(chmod(folder, 0777), 0);
    cr_expect_eq(open_at(inside, &bundle), JG_CACHE_UNTRUSTED);
    cr_expect_eq(open_at(link_path, &bundle), JG_CACHE_UNTRUSTED);
    cr_expect_not_null(strstr(f.reason, "a parent of "), "%s", f.reason);
    cr_assert_eq(unlink(link_path), 0);
    cr_assert_eq(symlink(link_path, link_path), 0);
    cr_expect_eq(open_at(link_path, &bundle), JG_CACHE_UNTRUSTED);
    cr_expect_null(bundle);
}

Test(cache_bundle, what_is_neither_file_nor_folder_is_refused_without_waiting)
{
    char fifo[200], below[256];
    jg_cache *bundle = NULL;
    snprintf(fifo, sizeof(fifo), "%s/fifo", f.root);
    snprintf(below, sizeof(below), "%s/v1", path);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    cr_expect_eq(open_at(fifo, &bundle), JG_CACHE_UNTRUSTED);
    cr_expect_eq(open_at("/dev/null", &bundle), JG_CACHE_UNTRUSTED);
    cr_expect_eq(open_at(below, &bundle), JG_CACHE_UNTRUSTED);
    cr_expect_eq(open_at("kernels.jgb", &bundle), JG_CACHE_UNTRUSTED);
    cr_expect_null(bundle);
}

Test(cache_bundle, bundle_is_no_folder_that_could_be_written)
{
    const jg_cache_options options = {.folder = path};
    jg_cache *cache = NULL;
    cr_expect_eq(jg_cache_open(&options, &cache, f.reason, sizeof(f.reason)),
                 JG_CACHE_UNTRUSTED);
    cr_expect_not_null(strstr(f.reason, "is not a folder"), "%s", f.reason);
    cr_expect_null(cache);
}

/* --------------------------------------------------------------------------- writing */

Test(cache_bundle, missing_or_bad_entry_ends_the_writing_and_leaves_the_old_file)
{
    static const int all[] = {0, 1, 2};
    char file[256];
    size_t size;
    entry_path(&f, &samples[1].name, file);
    unsigned char *entry = read_file(file, &size);
    entry[size - 1] ^= 1;
    write_file(file, entry, size);

    cr_expect_eq(write_bundle(f.cache, all, 3, path, NULL), JG_CACHE_DAMAGED);
    expect_same_file(path);
    cr_assert_eq(unlink(file), 0);
    cr_expect_eq(write_bundle(f.cache, all, 3, path, NULL), JG_CACHE_MISS);
    cr_expect_not_null(strstr(f.reason, "the entry 20"), "%s", f.reason);
    cr_expect_not_null(strstr(f.reason, " is not in "), "%s", f.reason);
    expect_same_file(path);
    cr_expect_eq(count_files(f.root, "kernels.jgb.tmp"), 0, "a temporary file is left");
    free(entry);
}

Test(cache_bundle, what_cannot_be_written_is_said_and_leaves_nothing)
{
    static const int all[] = {0, 1, 2};
    char wrong[256];

    snprintf(wrong, sizeof(wrong), "%s/none/kernels.jgb", f.root);
    cr_expect_eq(write_bundle(f.cache, all, 3, wrong, NULL), JG_CACHE_IO);
    cr_expect_not_null(strstr(f.reason, "cannot open the folder of the bundle: No such"),
                       "%s", f.reason);
    snprintf(wrong, sizeof(wrong), "%s/", f.root);
    cr_expect_eq(write_bundle(f.cache, all, 3, wrong, NULL), JG_CACHE_IO);
    cr_expect_not_null(strstr(f.reason, "is not the name of a file"), "%s", f.reason);
    cr_expect_eq(write_bundle(f.cache, all, 3, f.folder, NULL), JG_CACHE_IO);
    cr_expect_not_null(strstr(f.reason, "cannot be replaced: it is no regular file"), "%s",
                       f.reason);
    cr_expect_eq(count_files(f.root, "cache.tmp"), 0);
}

/* A rename by root would put a file in the place of /dev/stdout. */
Test(cache_bundle, pipe_or_link_is_not_replaced_and_the_check_says_so_before)
{
    static const int all[] = {0, 1, 2};
    char pipe_path[256], link_path[256];
    struct stat st;
    snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", f.root);
    snprintf(link_path, sizeof(link_path), "%s/link", f.root);
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    cr_assert_eq(symlink(path, link_path), 0);

    cr_expect_eq(write_bundle(f.cache, all, 3, pipe_path, NULL), JG_CACHE_IO);
    cr_expect_eq(write_bundle(f.cache, all, 3, link_path, NULL), JG_CACHE_IO);
    cr_expect_eq(jg_cache_bundle_check(pipe_path, f.reason, sizeof(f.reason)), JG_CACHE_IO);
    cr_expect_not_null(strstr(f.reason, "/pipe cannot be replaced: it is no regular file"),
                       "%s", f.reason);
    cr_expect_eq(jg_cache_bundle_check(path, f.reason, sizeof(f.reason)), JG_CACHE_OK);

    cr_assert_eq(lstat(pipe_path, &st), 0);
    cr_expect(S_ISFIFO(st.st_mode));
    cr_assert_eq(lstat(link_path, &st), 0);
    cr_expect(S_ISLNK(st.st_mode));
    expect_same_file(path);
    cr_expect_eq(count_files(f.root, "pipe.tmp") + count_files(f.root, "link.tmp") +
                     count_files(f.root, "kernels.jgb.tmp"),
                 0, "a temporary file is left");
}

/* SIGXFSZ would end the program. */
Test(cache_bundle, limit_on_the_size_of_files_is_an_error_and_no_signal)
{
    static const int all[] = {0, 1, 2};
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {.rlim_cur = 500, .rlim_max = limit.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);

    const jg_cache_result result = write_bundle(f.cache, all, 3, path, NULL);

    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(result, JG_CACHE_IO);
    cr_expect_not_null(strstr(f.reason, "cannot write the bundle: File too large"), "%s",
                       f.reason);
    expect_same_file(path);
    cr_expect_eq(count_files(f.root, "kernels.jgb.tmp"), 0);
}

Test(cache_bundle, file_may_be_read_by_all_and_written_by_its_owner)
{
    struct stat st;
    const mode_t before = umask(0);
    cr_assert_eq(write_bundle(f.cache, NULL, 0, path, NULL), JG_CACHE_OK);
    (void)umask(before);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mode & 07777, 0644);
}
