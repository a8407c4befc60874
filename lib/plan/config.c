/* SPDX-License-Identifier: MIT */
#include "plan/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/text.h"

/* Bounds of the text form. What a chip can do is checked against the chip, later. */
enum { MAX_TILE = 4096, MAX_CLUSTER = 16, MAX_STAGES = 64, MAX_RASTER_GROUP = 16 };

enum { MAX_SPLIT_TAIL = 1024 };

enum { MAX_NAMES = 5, MAX_NUMBERS = 3 };

/* When a chosen config names a key; an override names what it sets. */
enum shown {
    SHOWN_ALWAYS,
    SHOWN_IF_SET,  /* where the value is not 0 */
    SHOWN_IF_SPLIT /* where K is split */
};

/* A key of the text form. Its value is a name, which stands for its place among the names
 * (NULL: of a value that nobody names), or numbers with an x between them, for neighbouring
 * fields. */
static const struct config_key {
    const char *key;
    const char *old_key; /* read as well; NULL: none */
    size_t has_offset;   /* in the override: of the key's flag, */
    size_t value_offset; /* and of its first field */
    const char *names[MAX_NAMES];
    const char *old_names[MAX_NAMES]; /* read as well */
    int numbers;                      /* 0 if the value is a name */
    bool and_more;                    /* may one more number follow? Only the K of a tile */
    int low, high;
    bool only_powers; /* of two */
    enum shown shown;
    const char *hint;
} config_keys[] = {
#define KEY(name, first_field)                                                   \
    .key = #name, .has_offset = offsetof(struct jg_config_override, has_##name), \
    .value_offset = offsetof(struct jg_config_override, values.first_field)
#define NUMBER(group, name, least, most)                                                   \
    KEY(name, group.name), .numbers = 1, /* NOLINT(bugprone-macro-parentheses): a field */ \
        .low = (least), .high = (most)
    {KEY(kernel, kernel), .names = {"gemm", "reference"}, .hint = "give gemm or reference"},
    {KEY(tile, layout.tile_m), .numbers = 2, .and_more = true, .low = 1, .high = MAX_TILE,
     .hint = "give MxN or MxNxK, such as tile=128x256"},
    {KEY(mma, layout.mma_m), .numbers = 2, .low = 1, .high = MAX_TILE,
     .hint = "give MxN, such as mma=256x256"},
    {NUMBER(layout, cta_group, 1, 2), .hint = "give 1 or 2"},
    {NUMBER(layout, pingpong, 0, 1), .shown = SHOWN_IF_SET, .hint = "give 0 or 1"},
    {KEY(k_turns, layout.k_turns), .names = {NULL, "0", "1"}, .shown = SHOWN_IF_SET,
     .hint = "give 0 or 1"},
    {KEY(cluster, layout.cluster_m), .numbers = 2, .low = 1, .high = MAX_CLUSTER,
     .hint = "give MxN, such as cluster=2x1"},
    {KEY(scheduler, launch.scheduler), .names = {"static", "single", "clc"},
     .hint = "give single, static or clc"},
    {NUMBER(pipeline, k_group, 1, 4), .only_powers = true, .hint = "give 1, 2 or 4"},
    {NUMBER(pipeline, stages, 1, MAX_STAGES), .hint = "give a number from 1 to 64"},
    {NUMBER(storage, acc_stages, 1, 2), .hint = "give 1 or 2"},
    {NUMBER(layout, epilogue_warps, 4, 8), .only_powers = true, .shown = SHOWN_IF_SET,
     .hint = "give 4 or 8"},
    {KEY(raster, launch.raster), .names = {"m", "n"}, .hint = "give m or n"},
    {NUMBER(launch, raster_group, 1, MAX_RASTER_GROUP), .old_key = "swizzle",
     .only_powers = true, .hint = "give 1, 2, 4, 8 or 16"},
    {NUMBER(storage, out_stages, 1, JG_MAX_OUT_STAGES),
     .hint = "give 1 or 2, up to 5 with d_scale"},
    {NUMBER(launch, pdl, 0, 1), .hint = "give 0 or 1"},
    {NUMBER(launch, resident, 1, 2), .shown = SHOWN_IF_SET, .hint = "give 1 or 2"},
    {NUMBER(launch, split_k, 1, JG_MAX_SPLIT_K), .hint = "give a number from 1 to 64"},
    {KEY(split_order, launch.split_order),
     .names = {"serial", "unordered", "cluster", "parallel"},
     .old_names = {"turnstile", "arrival"}, .shown = SHOWN_IF_SPLIT,
     .hint = "give serial, unordered, cluster or parallel"},
    {NUMBER(launch, split_tail, 2, MAX_SPLIT_TAIL), .shown = SHOWN_IF_SET,
     .hint = "give the cluster tiles of a wave, from 2 to 1024"},
    {NUMBER(launch, cluster_k, 2, MAX_CLUSTER), .shown = SHOWN_IF_SET,
     .hint = "give a number from 2 to 16"},
    {KEY(prefetch, pipeline.prefetch), .names = {"none", "a", "b"}, .shown = SHOWN_IF_SET,
     .hint = "give none, a or b"},
    {KEY(repack, pipeline.repack), .names = {NULL, "none", "a", "b", "ab"},
     .shown = SHOWN_IF_SET, .hint = "give none, a, b or ab"},
    {KEY(group_maps, pipeline.group_maps), .names = {NULL, "0", "1"}, .shown = SHOWN_IF_SET,
     .hint = "give 0 or 1"},
    {KEY(row_boxes, pipeline.row_boxes), .names = {NULL, "0", "1"}, .shown = SHOWN_IF_SET,
     .hint = "give 0 or 1"},
    {NUMBER(layout, swap_ab, 0, 1), .shown = SHOWN_IF_SET, .hint = "give 0 or 1"},
    {NUMBER(launch, debug, 0, 1), .shown = SHOWN_IF_SET, .hint = "give 0 or 1"},
    {NUMBER(launch, trace, 0, 1), .shown = SHOWN_IF_SET, .hint = "give 0 or 1"},
    {NUMBER(launch, lineinfo, 0, 1), .shown = SHOWN_IF_SET, .hint = "give 0 or 1"},
#undef NUMBER
#undef KEY
};

enum { CONFIG_KEY_COUNT = sizeof(config_keys) / sizeof(config_keys[0]) };

/* The table reads and writes fields as ints, the names among them too. */
_Static_assert(sizeof(enum jg_kernel_family) == sizeof(int), "an enum is no int");

static int field_at(const struct jg_config_override *override, size_t offset)
{
    int value;
    memcpy(&value, (const char *) override + offset, sizeof(value));
    return value;
}

/* Does the override name the key? */
static bool is_set(const struct jg_config_override *override, const struct config_key *key)
{
    bool set;
    memcpy(&set, (const char *) override + key->has_offset, sizeof(set));
    return set;
}

/* By its word or its old one; NULL if it is no key. */
static const struct config_key *find_key(const struct jg_word *word)
{
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = &config_keys[i];
        if (jg_word_is(word->key, word->key_size, key->key) ||
            (key->old_key != NULL && jg_word_is(word->key, word->key_size, key->old_key))) {
            return key;
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------------- printing */

static void print_key(const struct config_key *key,
                      const struct jg_config_override *override, struct jg_str *out)
{
    const int count = key->numbers + (key->and_more && override->has_tile_k);
    jg_str_printf(out, "%s=", key->key);
    if (count == 0) {
        jg_str_puts(out, key->names[field_at(override, key->value_offset)]);
    }
    for (int i = 0; i < count; i++) {
        const size_t offset = key->value_offset + (size_t)i * sizeof(int);
        jg_str_printf(out, "%s%d", i > 0 ? "x" : "", field_at(override, offset));
    }
}

void jg_config_print_override(const struct jg_config_override *override, struct jg_str *out)
{
    const char *separator = "";
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (is_set(override, &config_keys[i])) {
            jg_str_puts(out, separator);
            print_key(&config_keys[i], override, out);
            separator = " ";
        }
    }
}

static bool is_shown(const struct config_key *key, const struct jg_config_override *all)
{
    switch (key->shown) {
    case SHOWN_ALWAYS:
        break;
    case SHOWN_IF_SET:
        return field_at(all, key->value_offset) != 0;
    case SHOWN_IF_SPLIT:
        return all->values.launch.split_k > 1;
    }
    return true;
}

/* A chosen config of one part of K may say so by 0 or by 1. */
static struct jg_config_override all_of(const struct jg_config *config)
{
    struct jg_config_override all = {.values = *config, .has_tile_k = true};
    all.values.launch.split_k = config->launch.split_k > 1 ? config->launch.split_k : 1;
    return all;
}

/* split_k=1 is named too: beside a workspace a config that does not may be split. */
void jg_config_print(const struct jg_config *config, const char *keys, struct jg_str *out)
{
    const char *wanted = config->kernel == JG_KERNEL_REFERENCE ? "kernel" : keys;
    const struct jg_config_override all = all_of(config);
    const char *separator = "";
    size_t offset = 0;
    struct jg_word word;
    while (jg_word_next(wanted, &offset, &word)) {
        const struct config_key *key = find_key(&word);
        if (key != NULL && is_shown(key, &all)) {
            jg_str_puts(out, separator);
            print_key(key, &all, out);
            separator = " ";
        }
    }
}

/* ----------------------------------------------------------------------- parsing */

/* The index of a name; -1 if it is none of the key's. */
static int find_name(const struct config_key *key, const struct jg_word *word)
{
    for (int i = 0; i < MAX_NAMES; i++) {
        if ((key->names[i] != NULL &&
             jg_word_is(word->value, word->value_size, key->names[i])) ||
            (key->old_names[i] != NULL &&
             jg_word_is(word->value, word->value_size, key->old_names[i]))) {
            return i;
        }
    }
    return -1;
}

/* False if the value is not of the key's form. */
static bool read_numbers(const struct config_key *key, const struct jg_word *word,
                         int count, int *ret_values)
{
    int64_t numbers[MAX_NUMBERS];
    if (!jg_numbers_parse(word->value, word->value_size, count, key->low, key->high,
                          numbers)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (key->only_powers && (numbers[i] & (numbers[i] - 1)) != 0) {
            return false;
        }
        ret_values[i] = (int)numbers[i];
    }
    return true;
}

/* False if the value is not of the key's form. */
static bool read_key(const struct config_key *key, const struct jg_word *word,
                     struct jg_config_override *override)
{
    static const bool set = true;
    int values[MAX_NUMBERS];
    int count = 1;
    if (key->numbers == 0) {
        values[0] = find_name(key, word);
        if (values[0] < 0) {
            return false;
        }
    } else if (key->and_more && read_numbers(key, word, key->numbers + 1, values)) {
        count = key->numbers + 1;
        override->has_tile_k = true;
    } else if (read_numbers(key, word, key->numbers, values)) {
        count = key->numbers;
    } else {
        return false;
    }
    memcpy((char *) override + key->value_offset, values,
           (size_t)count * sizeof(values[0]));
    memcpy((char *) override + key->has_offset, &set, sizeof(set));
    return true;
}

static struct jg_key_list list_keys(const struct jg_word *word)
{
    struct jg_key_list list = {"keys:"};
    struct jg_nearest nearest = jg_nearest_begin(word->key, word->key_size);
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        jg_key_list_add(&list, config_keys[i].key);
        jg_nearest_try(&nearest, config_keys[i].key, strlen(config_keys[i].key));
    }
    jg_key_list_ask(&list, &nearest);
    return list;
}

static jit_gemm_status read_config_word(const struct jg_word *word, unsigned *seen,
                                        struct jg_config_override *override)
{
    if (word->value == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", list_keys(word).text,
                       "%s at column %zu is not of the form key=value",
                       jg_quote(word->key, word->key_size).text, word->column);
    }
    const struct config_key *key = find_key(word);
    if (key == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", list_keys(word).text,
                       "unknown key %s at column %zu",
                       jg_quote(word->key, word->key_size).text, word->column);
    }
    const unsigned bit = 1U << (key - config_keys);
    if ((*seen & bit) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", "give each key once",
                       "key %s at column %zu is given twice",
                       jg_quote(word->key, word->key_size).text, word->column);
    }
    *seen |= bit;
    if (!read_key(key, word, override)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", key->hint,
                       "%s at column %zu is no value of %s",
                       jg_quote(word->value, word->value_size).text, word->value_column,
                       jg_quote(word->key, word->key_size).text);
    }
    return JIT_GEMM_OK;
}

/* What one part would have to be told is never dropped in silence. */
static jit_gemm_status check_order(const struct jg_config_override *override)
{
    const struct jg_config_launch *launch = &override->values.launch;
    if (override->has_cluster_k && !override->has_split_k) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config",
                       "give split_k=, a multiple of it, or leave cluster_k out",
                       "cluster_k=%d says how many of the parts of K a cluster has, and "
                       "split_k says how many there are",
                       launch->cluster_k);
    }
    if (!override->has_split_order || !override->has_split_k || launch->split_k > 1) {
        return JIT_GEMM_OK;
    }
    static const char name[] = "split_order";
    const struct jg_word word = {.key = name, .key_size = sizeof(name) - 1};
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config",
                   "leave split_order out, or give split_k=2 or more",
                   "split_order=%s says how parts of K are added up, and split_k=1 makes "
                   "none",
                   find_key(&word)->names[launch->split_order]);
}

jit_gemm_status jg_config_parse(const char *text, struct jg_config_override *ret_override)
{
    struct jg_config_override override;
    memset(&override, 0, sizeof(override));
    unsigned seen = 0;
    size_t offset = 0;
    struct jg_word word;
    while (jg_word_next(text, &offset, &word)) {
        JG_TRY(read_config_word(&word, &seen, &override));
    }
    if (override.has_kernel && override.values.kernel == JG_KERNEL_REFERENCE &&
        (seen & (seen - 1)) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config",
                       "leave the other keys out, or give kernel=gemm",
                       "kernel=reference takes no other key");
    }
    JG_TRY(check_order(&override));
    *ret_override = override;
    return JIT_GEMM_OK;
}

bool jg_config_has(const struct jg_config *config,
                   const struct jg_config_override *override)
{
    const struct jg_config_override all = all_of(config);
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = &config_keys[i];
        const int numbers = key->numbers > 1 ? key->numbers : 1;
        const int count = numbers + (key->and_more && override->has_tile_k);
        for (int n = 0; n < count && is_set(override, key); n++) {
            const size_t offset = key->value_offset + (size_t)n * sizeof(int);
            if (field_at(&all, offset) != field_at(override, offset)) {
                return false;
            }
        }
    }
    return true;
}

static bool has_word(const char *words, const char *wanted)
{
    size_t offset = 0;
    struct jg_word word;
    while (jg_word_next(words, &offset, &word)) {
        if (jg_word_is(word.key, word.key_size, wanted)) {
            return true;
        }
    }
    return false;
}

jit_gemm_status jg_config_check_keys(const struct jg_config_override *override,
                                     const char *arch, const char *keys)
{
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (is_set(override, &config_keys[i]) && !has_word(keys, config_keys[i].key)) {
            char hint[256];
            snprintf(hint, sizeof(hint), "keys of %s: %s", arch, keys);
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.config", hint,
                           "'%s' is a key of another architecture than %s",
                           config_keys[i].key, arch);
        }
    }
    return JIT_GEMM_OK;
}
