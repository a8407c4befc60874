/* SPDX-License-Identifier: MIT */
/* Who made kernels: remembered in folders, and in bundles with the kernels. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compile/makers.h"
#include "unit_maker.h"

static char folder[64];
static char paths[2][80];
static jg_cache *cache;
static struct jg_shipment shipment;
static char reason[256];

static void begin(void)
{
    unit_make_folder(folder);
    const jg_cache_options options = {.folder = folder, .no_sync = 1};
    cr_assert_eq(jg_cache_open(&options, &cache, NULL, 0), JG_CACHE_OK);
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%d.jgb", folder, i);
    }
    memset(&shipment, 0, sizeof(shipment));
    cr_assert_eq(jg_cache_bundle_begin(&shipment.writer), JG_CACHE_OK);
}

static void end(void)
{
    jg_cache_bundle_end(shipment.writer);
    jg_cache_close(cache);
    unit_remove_folder(folder);
}

TestSuite(makers, .init = begin, .fini = end);

/* Keeps a kernel with this metadata; its text is also its key. */
static jg_cache_name keep_kernel(const char *metadata)
{
    const size_t size = strlen(metadata);
    const jg_cache_key key = {.name = jg_cache_name_of(metadata, size),
                              .material = metadata,
                              .material_size = size};
    const jg_cache_value value = {"code", 4, metadata, size};
    cr_assert_eq(jg_cache_put(cache, &key, &value, reason, sizeof(reason)), JG_CACHE_OK,
                 "%s", reason);
    return key.name;
}

static jg_cache_name keep_kernel_of(const char *library, const char *compiler)
{
    char metadata[128];
    snprintf(metadata, sizeof(metadata), "kind=cubin\nproblem=p\ncompiler=%s\nlibrary=%s\n",
             compiler, library);
    return keep_kernel(metadata);
}

static bool is_known(jg_cache *where, const char *library, int number, const char *compiler)
{
    jg_cache_blob blob = {0};
    const bool is_same = jg_makers_get(where, library, number, &blob) &&
                         blob.payload_size == strlen(compiler) &&
                         memcmp(blob.payload, compiler, blob.payload_size) == 0;
    jg_cache_blob_free(&blob);
    return is_same;
}

static jg_cache *open_bundle(const char *path)
{
    const jg_cache_options options = {.folder = path, .read_only = true};
    jg_cache *bundle = NULL;
    cr_assert_eq(jg_cache_open(&options, &bundle, reason, sizeof(reason)), JG_CACHE_OK,
                 "%s", reason);
    return bundle;
}

Test(makers, versions_of_the_library_have_numbers_of_their_own)
{
    jg_cache_blob blob = {0};
    cr_expect_eq(jg_makers_remember(cache, "1.0.0", "one", NULL, 0), JG_CACHE_OK);
    cr_expect_eq(jg_makers_remember(cache, "1.0.0", "two", NULL, 0), JG_CACHE_OK);
    cr_expect_eq(jg_makers_remember(cache, "1.0.1", "two", NULL, 0), JG_CACHE_OK);
    cr_expect_eq(jg_makers_remember(cache, "1.0.0", "one", NULL, 0), JG_CACHE_EXISTS);

    cr_expect(is_known(cache, "1.0.0", 0, "one"));
    cr_expect(is_known(cache, "1.0.0", 1, "two"));
    cr_expect(is_known(cache, "1.0.1", 0, "two"));
    cr_expect_not(jg_makers_get(cache, "1.0.1", 1, &blob));
    cr_expect_not(jg_makers_get(cache, "1.0.0", -1, &blob));
    cr_expect_not(jg_makers_get(cache, "1.0.0", JG_MAKERS_MAX, &blob));
}

Test(makers, shipment_brings_each_maker_once_in_one_order)
{
    static const char *const kernels[][2] = {
        {"1.0.0", "two"}, {"1.0.0", "one"}, {"0.9.0", "two"}, {"1.0.0", "three"}};
    enum { N = sizeof(kernels) / sizeof(kernels[0]) };
    jg_cache_name names[N];
    jg_cache_bundle_counts counts[2];
    struct jg_shipment reverse = {.maker_count = 0};
    cr_assert_eq(jg_cache_bundle_begin(&reverse.writer), JG_CACHE_OK);
    for (int i = 0; i < N; i++) {
        names[i] = keep_kernel_of(kernels[i][0], kernels[i][1]);
        cr_expect_eq(jg_shipment_add(&shipment, cache, &names[i]), JG_CACHE_OK);
    }
    for (int i = N; i-- > 0;) {
        cr_expect_eq(jg_shipment_add(&reverse, cache, &names[i]), JG_CACHE_OK);
    }

    cr_expect_eq(jg_shipment_write(&shipment, paths[0], &counts[0], reason, sizeof(reason)),
                 JG_CACHE_OK, "%s", reason);
    cr_expect_eq(jg_shipment_write(&reverse, paths[1], &counts[1], reason, sizeof(reason)),
                 JG_CACHE_OK, "%s", reason);

    cr_expect_eq(counts[0].entries, N);
    cr_expect_eq(counts[0].bytes, counts[1].bytes);
    for (int i = 0; i < 2; i++) {
        jg_cache *bundle = open_bundle(paths[i]);
        cr_expect(is_known(bundle, "0.9.0", 0, "two"));
        cr_expect(is_known(bundle, "1.0.0", 0, "one"));
        cr_expect(is_known(bundle, "1.0.0", 1, "three"));
        cr_expect(is_known(bundle, "1.0.0", 2, "two"));
        jg_cache_close(bundle);
    }
    jg_cache_bundle_end(reverse.writer);
}

Test(makers, kernels_that_cannot_be_shipped_are_told_apart)
{
    char metadata[4096];
    const jg_cache_name none = jg_cache_name_of("none", 4);
    cr_expect_eq(jg_shipment_add(&shipment, cache, &none), JG_CACHE_MISS);
    const jg_cache_name nameless = keep_kernel("kind=cubin\nproblem=p\nlibrary=1\n");
    cr_expect_eq(jg_shipment_add(&shipment, cache, &nameless), JG_CACHE_MISMATCH);
    snprintf(metadata, sizeof(metadata), "compiler=%03000d\nlibrary=1\n", 0);
    const jg_cache_name endless = keep_kernel(metadata);
    cr_expect_eq(jg_shipment_add(&shipment, cache, &endless), JG_CACHE_MISMATCH,
                 "a text that is cut would name another compiler");
    for (int i = 0; i <= JG_MAKERS_MAX; i++) {
        char compiler[16];
        snprintf(compiler, sizeof(compiler), "number %d", i);
        const jg_cache_name name = keep_kernel_of("1", compiler);
        cr_expect_eq(jg_shipment_add(&shipment, cache, &name),
                     i < JG_MAKERS_MAX ? JG_CACHE_OK : JG_CACHE_TOO_LARGE, "%d", i);
    }
}

Test(makers, metadata_is_read_as_lines_of_key_and_value)
{
    static const char two[] = "compiler=nvrtc 13; -x\nlibrary=0.1.0\n";
    struct jg_maker maker;
    jg_cache_entry entry = {.metadata = two, .metadata_size = sizeof(two) - 1};

    cr_expect(jg_maker_read(&entry, &maker));
    cr_expect_str_eq(maker.compiler, "nvrtc 13; -x");
    cr_expect_str_eq(maker.made_by, "0.1.0");
    entry.metadata_size--; /* a line that does not end */
    cr_expect_not(jg_maker_read(&entry, &maker));
    entry = (jg_cache_entry){.metadata = NULL};
    cr_expect_not(jg_maker_read(&entry, &maker));
}
