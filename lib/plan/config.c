/* SPDX-License-Identifier: MIT */
#include "plan/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/text.h"

/* Bounds of the text form. What a chip can do is checked against the chip, later. */
enum { MAX_TILE = 4096, MAX_CLUSTER = 16, MAX_STAGES = 64, MAX_SWIZZLE = 16 };

static const char config_keys[] =
    "keys: kernel tile mma cta_group cluster scheduler k_group stages acc_stages raster "
    "swizzle out_stages pdl split_k split_order prefetch swap_ab debug trace";

static const char *const scheduler_names[] = {[JG_SCHEDULER_STATIC] = "static",
                                              [JG_SCHEDULER_SINGLE] = "single",
                                              [JG_SCHEDULER_CLC] = "clc"};

static const char *const prefetch_names[] = {
    [JG_PREFETCH_NONE] = "none", [JG_PREFETCH_A] = "a", [JG_PREFETCH_B] = "b"};

enum {
    SCHEDULER_COUNT = sizeof(scheduler_names) / sizeof(scheduler_names[0]),
    PREFETCH_COUNT = sizeof(prefetch_names) / sizeof(prefetch_names[0])
};

static void print_word(struct jg_str *out, const char *key)
{
    if (out->size > 0) {
        jg_str_puts(out, " ");
    }
    jg_str_puts(out, key);
}

void jg_config_print_override(const struct jg_config_override *override, struct jg_str *out)
{
    const struct jg_config *values = &override->values;
    struct jg_str text = {0};
    if (override->has_kernel) {
        print_word(&text, values->kernel == JG_KERNEL_REFERENCE ? "kernel=reference"
                                                                : "kernel=gemm");
    }
    if (override->has_tile) {
        print_word(&text, "tile=");
        jg_str_printf(&text, "%dx%d", values->tile_m, values->tile_n);
        if (override->has_tile_k) {
            jg_str_printf(&text, "x%d", values->tile_k);
        }
    }
    if (override->has_mma) {
        print_word(&text, "mma=");
        jg_str_printf(&text, "%dx%d", values->mma_m, values->mma_n);
    }
    if (override->has_cta_group) {
        print_word(&text, "cta_group=");
        jg_str_printf(&text, "%d", values->cta_group);
    }
    if (override->has_cluster) {
        print_word(&text, "cluster=");
        jg_str_printf(&text, "%dx%d", values->cluster_m, values->cluster_n);
    }
    if (override->has_scheduler) {
        print_word(&text, "scheduler=");
        jg_str_puts(&text, scheduler_names[values->scheduler]);
    }
    if (override->has_k_group) {
        print_word(&text, "k_group=");
        jg_str_printf(&text, "%d", values->k_group);
    }
    if (override->has_stages) {
        print_word(&text, "stages=");
        jg_str_printf(&text, "%d", values->stages);
    }
    if (override->has_acc_stages) {
        print_word(&text, "acc_stages=");
        jg_str_printf(&text, "%d", values->acc_stages);
    }
    if (override->has_raster) {
        print_word(&text, values->raster == JG_RASTER_ALONG_N ? "raster=n" : "raster=m");
    }
    if (override->has_swizzle) {
        print_word(&text, "swizzle=");
        jg_str_printf(&text, "%d", values->swizzle);
    }
    if (override->has_out_stages) {
        print_word(&text, "out_stages=");
        jg_str_printf(&text, "%d", values->out_stages);
    }
    if (override->has_pdl) {
        print_word(&text, values->pdl ? "pdl=1" : "pdl=0");
    }
    if (override->has_split_k) {
        print_word(&text, "split_k=");
        jg_str_printf(&text, "%d", values->split_k);
    }
    if (override->has_split_order) {
        print_word(&text, values->split_order == JG_SPLIT_ARRIVAL
                              ? "split_order=arrival"
                              : "split_order=turnstile");
    }
    if (override->has_prefetch) {
        print_word(&text, "prefetch=");
        jg_str_puts(&text, prefetch_names[values->prefetch]);
    }
    if (override->has_swap_ab) {
        print_word(&text, values->swap_ab ? "swap_ab=1" : "swap_ab=0");
    }
    if (override->has_debug) {
        print_word(&text, values->debug ? "debug=1" : "debug=0");
    }
    if (override->has_trace) {
        print_word(&text, values->trace ? "trace=1" : "trace=0");
    }
    jg_str_puts(out, jg_str_text(&text));
    out->failed |= text.failed;
    jg_str_free(&text);
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
        all.has_split_k = all.has_split_order = config->split_k > 1;
        all.has_prefetch = config->prefetch != JG_PREFETCH_NONE;
        all.has_swap_ab = by_mma && config->swap_ab;
        all.has_debug = config->debug;
        all.has_trace = config->trace;
    }
    jg_config_print_override(&all, out);
}

/* ----------------------------------------------------------------------- parsing */

/* A reader of one key: 0 if the value is not one of its forms. */
typedef int (*value_reader)(const char *value, size_t size,
                            struct jg_config_override *override);

static int read_kernel(const char *value, size_t size, struct jg_config_override *override)
{
    if (!jg_word_is(value, size, "gemm") && !jg_word_is(value, size, "reference")) {
        return 0;
    }
    override->values.kernel =
        jg_word_is(value, size, "gemm") ? JG_KERNEL_GEMM : JG_KERNEL_REFERENCE;
    return override->has_kernel = 1;
}

static int read_tile(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t sizes[3] = {0};
    const int with_k = jg_numbers_parse(value, size, 3, 1, MAX_TILE, sizes);
    if (!with_k && !jg_numbers_parse(value, size, 2, 1, MAX_TILE, sizes)) {
        return 0;
    }
    override->values.tile_m = (int)sizes[0];
    override->values.tile_n = (int)sizes[1];
    override->values.tile_k = with_k ? (int)sizes[2] : 0;
    override->has_tile_k = with_k;
    return override->has_tile = 1;
}

static int read_mma(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t sizes[2];
    if (!jg_numbers_parse(value, size, 2, 1, MAX_TILE, sizes)) {
        return 0;
    }
    override->values.mma_m = (int)sizes[0];
    override->values.mma_n = (int)sizes[1];
    return override->has_mma = 1;
}

static int read_cta_group(const char *value, size_t size,
                          struct jg_config_override *override)
{
    int64_t cta_group;
    if (!jg_number_parse(value, size, 1, 2, &cta_group)) {
        return 0;
    }
    override->values.cta_group = (int)cta_group;
    return override->has_cta_group = 1;
}

static int read_cluster(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t sizes[2];
    if (!jg_numbers_parse(value, size, 2, 1, MAX_CLUSTER, sizes)) {
        return 0;
    }
    override->values.cluster_m = (int)sizes[0];
    override->values.cluster_n = (int)sizes[1];
    return override->has_cluster = 1;
}

/* The index of a name; -1 if it is none of them. */
static int find_name(const char *value, size_t size, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (jg_word_is(value, size, names[i])) {
            return i;
        }
    }
    return -1;
}

static int read_scheduler(const char *value, size_t size,
                          struct jg_config_override *override)
{
    const int found = find_name(value, size, scheduler_names, SCHEDULER_COUNT);
    if (found < 0) {
        return 0;
    }
    override->values.scheduler = (enum jg_scheduler)found;
    return override->has_scheduler = 1;
}

static int read_k_group(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t k_group;
    if (!jg_number_parse(value, size, 1, 4, &k_group) || k_group == 3) {
        return 0;
    }
    override->values.k_group = (int)k_group;
    return override->has_k_group = 1;
}

static int read_stages(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t stages;
    if (!jg_number_parse(value, size, 1, MAX_STAGES, &stages)) {
        return 0;
    }
    override->values.stages = (int)stages;
    return override->has_stages = 1;
}

static int read_acc_stages(const char *value, size_t size,
                           struct jg_config_override *override)
{
    int64_t acc_stages;
    if (!jg_number_parse(value, size, 1, 2, &acc_stages)) {
        return 0;
    }
    override->values.acc_stages = (int)acc_stages;
    return override->has_acc_stages = 1;
}

static int read_raster(const char *value, size_t size, struct jg_config_override *override)
{
    if (!jg_word_is(value, size, "m") && !jg_word_is(value, size, "n")) {
        return 0;
    }
    override->values.raster =
        jg_word_is(value, size, "m") ? JG_RASTER_ALONG_M : JG_RASTER_ALONG_N;
    return override->has_raster = 1;
}

static int read_swizzle(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t swizzle;
    if (!jg_number_parse(value, size, 1, MAX_SWIZZLE, &swizzle) ||
        (swizzle & (swizzle - 1)) != 0) {
        return 0;
    }
    override->values.swizzle = (int)swizzle;
    return override->has_swizzle = 1;
}

static int read_out_stages(const char *value, size_t size,
                           struct jg_config_override *override)
{
    int64_t out_stages;
    if (!jg_number_parse(value, size, 1, 2, &out_stages)) {
        return 0;
    }
    override->values.out_stages = (int)out_stages;
    return override->has_out_stages = 1;
}

static int read_pdl(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t pdl;
    if (!jg_number_parse(value, size, 0, 1, &pdl)) {
        return 0;
    }
    override->values.pdl = (int)pdl;
    return override->has_pdl = 1;
}

static int read_split_k(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t split_k;
    if (!jg_number_parse(value, size, 1, JG_MAX_SPLIT_K, &split_k)) {
        return 0;
    }
    override->values.split_k = (int)split_k;
    return override->has_split_k = 1;
}

static int read_split_order(const char *value, size_t size,
                            struct jg_config_override *override)
{
    if (!jg_word_is(value, size, "turnstile") && !jg_word_is(value, size, "arrival")) {
        return 0;
    }
    override->values.split_order =
        jg_word_is(value, size, "arrival") ? JG_SPLIT_ARRIVAL : JG_SPLIT_TURNSTILE;
    return override->has_split_order = 1;
}

static int read_prefetch(const char *value, size_t size,
                         struct jg_config_override *override)
{
    const int found = find_name(value, size, prefetch_names, PREFETCH_COUNT);
    if (found < 0) {
        return 0;
    }
    override->values.prefetch = (enum jg_prefetch)found;
    return override->has_prefetch = 1;
}

static int read_swap_ab(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t swap_ab;
    if (!jg_number_parse(value, size, 0, 1, &swap_ab)) {
        return 0;
    }
    override->values.swap_ab = (int)swap_ab;
    return override->has_swap_ab = 1;
}

static int read_debug(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t debug;
    if (!jg_number_parse(value, size, 0, 1, &debug)) {
        return 0;
    }
    override->values.debug = (int)debug;
    return override->has_debug = 1;
}

static int read_trace(const char *value, size_t size, struct jg_config_override *override)
{
    int64_t trace;
    if (!jg_number_parse(value, size, 0, 1, &trace)) {
        return 0;
    }
    override->values.trace = (int)trace;
    return override->has_trace = 1;
}

static const struct {
    const char *key;
    value_reader read;
    const char *hint;
    size_t has_offset; /* of the override's flag for the key */
} config_key_rows[] = {
    {"kernel", read_kernel, "give gemm or reference",
     offsetof(struct jg_config_override, has_kernel)},
    {"tile", read_tile, "give MxN or MxNxK, such as tile=128x256",
     offsetof(struct jg_config_override, has_tile)},
    {"mma", read_mma, "give MxN, such as mma=256x256",
     offsetof(struct jg_config_override, has_mma)},
    {"cta_group", read_cta_group, "give 1 or 2",
     offsetof(struct jg_config_override, has_cta_group)},
    {"cluster", read_cluster, "give MxN, such as cluster=2x1",
     offsetof(struct jg_config_override, has_cluster)},
    {"scheduler", read_scheduler, "give single, static or clc",
     offsetof(struct jg_config_override, has_scheduler)},
    {"k_group", read_k_group, "give 1, 2 or 4",
     offsetof(struct jg_config_override, has_k_group)},
    {"stages", read_stages, "give a number from 1 to 64",
     offsetof(struct jg_config_override, has_stages)},
    {"acc_stages", read_acc_stages, "give 1 or 2",
     offsetof(struct jg_config_override, has_acc_stages)},
    {"raster", read_raster, "give m or n", offsetof(struct jg_config_override, has_raster)},
    {"swizzle", read_swizzle, "give 1, 2, 4, 8 or 16",
     offsetof(struct jg_config_override, has_swizzle)},
    {"out_stages", read_out_stages, "give 1 or 2",
     offsetof(struct jg_config_override, has_out_stages)},
    {"pdl", read_pdl, "give 0 or 1", offsetof(struct jg_config_override, has_pdl)},
    {"split_k", read_split_k, "give a number from 1 to 64",
     offsetof(struct jg_config_override, has_split_k)},
    {"split_order", read_split_order, "give turnstile or arrival",
     offsetof(struct jg_config_override, has_split_order)},
    {"prefetch", read_prefetch, "give none, a or b",
     offsetof(struct jg_config_override, has_prefetch)},
    {"swap_ab", read_swap_ab, "give 0 or 1",
     offsetof(struct jg_config_override, has_swap_ab)},
    {"debug", read_debug, "give 0 or 1", offsetof(struct jg_config_override, has_debug)},
    {"trace", read_trace, "give 0 or 1", offsetof(struct jg_config_override, has_trace)},
};

enum { CONFIG_KEY_COUNT = sizeof(config_key_rows) / sizeof(config_key_rows[0]) };

static jit_gemm_status read_config_word(const struct jg_word *word, unsigned *seen,
                                        struct jg_config_override *override)
{
    if (word->value == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", config_keys,
                       "%s at column %zu is not of the form key=value",
                       jg_quote(word->key, word->key_size).text, word->column);
    }
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (!jg_word_is(word->key, word->key_size, config_key_rows[i].key)) {
            continue;
        }
        if ((*seen & (1u << i)) != 0) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", "give each key once",
                           "key '%s' at column %zu is given twice", config_key_rows[i].key,
                           word->column);
        }
        *seen |= 1u << i;
        if (!config_key_rows[i].read(word->value, word->value_size, override)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", config_key_rows[i].hint,
                           "%s at column %zu is no value of '%s'",
                           jg_quote(word->value, word->value_size).text, word->value_column,
                           config_key_rows[i].key);
        }
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "config", config_keys,
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
        int is_set = 0;
        memcpy(&is_set, (const char *) override + config_key_rows[i].has_offset,
               sizeof(is_set));
        if (is_set && !has_word(keys, config_key_rows[i].key)) {
            char hint[256];
            snprintf(hint, sizeof(hint), "keys of %s: %s", arch, keys);
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.config", hint,
                           "'%s' is a key of another architecture than %s",
                           config_key_rows[i].key, arch);
        }
    }
    return JIT_GEMM_OK;
}
