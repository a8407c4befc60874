/* SPDX-License-Identifier: MIT */
#include "plan/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/text.h"

/* Bounds of the text form. What a chip can do is checked against the chip, later. */
enum { MAX_TILE = 4096, MAX_CLUSTER = 16, MAX_STAGES = 64, MAX_SWIZZLE = 16 };

enum { MAX_NAMES = 3, MAX_NUMBERS = 3 };

/* A key of the text form. Its value is a name, which stands for its place among the names,
 * or numbers with an x between them, for neighbouring fields. */
static const struct config_key {
    const char *key;
    size_t has_offset;   /* in the override: of the key's flag, */
    size_t value_offset; /* and of its first field */
    const char *names[MAX_NAMES];
    int numbers;  /* 0 if the value is a name */
    int and_more; /* may one more number follow? Only the K of a tile */
    int low, high;
    int only_powers; /* of two */
    const char *hint;
} config_keys[] = {
#define KEY(name, first_field)                                                   \
    .key = #name, .has_offset = offsetof(struct jg_config_override, has_##name), \
    .value_offset = offsetof(struct jg_config_override, values.first_field)
#define NUMBER(name, least, most) \
    KEY(name, name), .numbers = 1, .low = (least), .high = (most)
    {KEY(kernel, kernel), .names = {"gemm", "reference"}, .hint = "give gemm or reference"},
    {KEY(tile, tile_m), .numbers = 2, .and_more = 1, .low = 1, .high = MAX_TILE,
     .hint = "give MxN or MxNxK, such as tile=128x256"},
    {KEY(mma, mma_m), .numbers = 2, .low = 1, .high = MAX_TILE,
     .hint = "give MxN, such as mma=256x256"},
    {NUMBER(cta_group, 1, 2), .hint = "give 1 or 2"},
    {KEY(cluster, cluster_m), .numbers = 2, .low = 1, .high = MAX_CLUSTER,
     .hint = "give MxN, such as cluster=2x1"},
    {KEY(scheduler, scheduler), .names = {"static", "single", "clc"},
     .hint = "give single, static or clc"},
    {NUMBER(k_group, 1, 4), .only_powers = 1, .hint = "give 1, 2 or 4"},
    {NUMBER(stages, 1, MAX_STAGES), .hint = "give a number from 1 to 64"},
    {NUMBER(acc_stages, 1, 2), .hint = "give 1 or 2"},
    {KEY(raster, raster), .names = {"m", "n"}, .hint = "give m or n"},
    {NUMBER(swizzle, 1, MAX_SWIZZLE), .only_powers = 1, .hint = "give 1, 2, 4, 8 or 16"},
    {NUMBER(out_stages, 1, 2), .hint = "give 1 or 2"},
    {NUMBER(pdl, 0, 1), .hint = "give 0 or 1"},
    {NUMBER(split_k, 1, JG_MAX_SPLIT_K), .hint = "give a number from 1 to 64"},
    {KEY(split_order, split_order), .names = {"turnstile", "arrival"},
     .hint = "give turnstile or arrival"},
    {KEY(prefetch, prefetch), .names = {"none", "a", "b"}, .hint = "give none, a or b"},
    {NUMBER(swap_ab, 0, 1), .hint = "give 0 or 1"},
    {NUMBER(debug, 0, 1), .hint = "give 0 or 1"},
    {NUMBER(trace, 0, 1), .hint = "give 0 or 1"},
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
        if (field_at(override, config_keys[i].has_offset)) {
            jg_str_puts(out, separator);
            print_key(&config_keys[i], override, out);
            separator = " ";
        }
    }
}

void jg_config_print(const struct jg_config *config, struct jg_str *out)
{
    struct jg_config_override all = {.values = *config, .has_kernel = 1};
    if (config->kernel != JG_KERNEL_REFERENCE) {
        const int by_mma = config->cta_group > 0;
        all.has_tile = all.has_tile_k = !by_mma;
        all.has_mma = all.has_cta_group = all.has_acc_stages = by_mma;
        all.has_scheduler = all.has_k_group = by_mma;
        all.has_cluster = all.has_stages = 1;
        all.has_raster = all.has_swizzle = all.has_out_stages = all.has_pdl = 1;
        /* One too: beside a workspace a config that names none may be split. */
        all.has_split_k = 1;
        all.values.split_k = config->split_k > 1 ? config->split_k : 1;
        all.has_split_order = config->split_k > 1;
        all.has_prefetch = config->prefetch != JG_PREFETCH_NONE;
        all.has_swap_ab = by_mma && config->swap_ab;
        all.has_debug = config->debug;
        all.has_trace = config->trace;
    }
    jg_config_print_override(&all, out);
}

/* ----------------------------------------------------------------------- parsing */

/* The index of a name; -1 if it is none of the key's. */
static int find_name(const struct config_key *key, const struct jg_word *word)
{
    for (int i = 0; i < MAX_NAMES && key->names[i] != NULL; i++) {
        if (jg_word_is(word->value, word->value_size, key->names[i])) {
            return i;
        }
    }
    return -1;
}

/* 0 if the value is not of the key's form. */
static int read_numbers(const struct config_key *key, const struct jg_word *word, int count,
                        int *ret_values)
{
    int64_t numbers[MAX_NUMBERS];
    if (!jg_numbers_parse(word->value, word->value_size, count, key->low, key->high,
                          numbers)) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (key->only_powers && (numbers[i] & (numbers[i] - 1)) != 0) {
            return 0;
        }
        ret_values[i] = (int)numbers[i];
    }
    return 1;
}

/* 0 if the value is not of the key's form. */
static int read_key(const struct config_key *key, const struct jg_word *word,
                    struct jg_config_override *override)
{
    static const int set = 1;
    int values[MAX_NUMBERS];
    int count = 1;
    if (key->numbers == 0) {
        values[0] = find_name(key, word);
        if (values[0] < 0) {
            return 0;
        }
    } else if (key->and_more && read_numbers(key, word, key->numbers + 1, values)) {
        count = key->numbers + 1;
        override->has_tile_k = 1;
    } else if (read_numbers(key, word, key->numbers, values)) {
        count = key->numbers;
    } else {
        return 0;
    }
    memcpy((char *) override + key->value_offset, values,
           (size_t)count * sizeof(values[0]));
    memcpy((char *) override + key->has_offset, &set, sizeof(set));
    return 1;
}

static struct jg_key_list list_keys(void)
{
    struct jg_key_list list = {"keys:"};
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        jg_key_list_add(&list, config_keys[i].key);
    }
    return list;
}

static jit_gemm_status read_config_word(const struct jg_word *word, unsigned *seen,
                                        struct jg_config_override *override)
{
    if (word->value == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", list_keys().text,
                       "%s at column %zu is not of the form key=value",
                       jg_quote(word->key, word->key_size).text, word->column);
    }
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (!jg_word_is(word->key, word->key_size, config_keys[i].key)) {
            continue;
        }
        if ((*seen & (1u << i)) != 0) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", "give each key once",
                           "key '%s' at column %zu is given twice", config_keys[i].key,
                           word->column);
        }
        *seen |= 1u << i;
        if (!read_key(&config_keys[i], word, override)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", config_keys[i].hint,
                           "%s at column %zu is no value of '%s'",
                           jg_quote(word->value, word->value_size).text, word->value_column,
                           config_keys[i].key);
        }
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", list_keys().text,
                   "unknown key %s at column %zu", jg_quote(word->key, word->key_size).text,
                   word->column);
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
    *ret_override = override;
    return JIT_GEMM_OK;
}

static int has_word(const char *words, const char *wanted)
{
    size_t offset = 0;
    struct jg_word word;
    while (jg_word_next(words, &offset, &word)) {
        if (jg_word_is(word.key, word.key_size, wanted)) {
            return 1;
        }
    }
    return 0;
}

jit_gemm_status jg_config_check_keys(const struct jg_config_override *override,
                                     const char *arch, const char *keys)
{
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (field_at(override, config_keys[i].has_offset) &&
            !has_word(keys, config_keys[i].key)) {
            char hint[256];
            snprintf(hint, sizeof(hint), "keys of %s: %s", arch, keys);
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.config", hint,
                           "'%s' is a key of another architecture than %s",
                           config_keys[i].key, arch);
        }
    }
    return JIT_GEMM_OK;
}
