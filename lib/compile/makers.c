/* SPDX-License-Identifier: MIT */
#include "compile/makers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/stored.h"

enum { MATERIAL_BYTES = 96 };

/* Fills the key of a record; the material lies in the buffer. */
static jg_cache_key key_of(const char *library, int number, char buffer[MATERIAL_BYTES])
{
    const int length = snprintf(buffer, MATERIAL_BYTES,
                                "jit_gemm toolchain %d\nlibrary=%s\n", number, library);
    const size_t size =
        length < MATERIAL_BYTES ? (size_t)length : (size_t)MATERIAL_BYTES - 1;
    return (jg_cache_key){
        .name = jg_cache_name_of(buffer, size), .material = buffer, .material_size = size};
}

static jg_cache_value value_of(const char *compiler)
{
    return (jg_cache_value){compiler, strlen(compiler), JG_MAKERS_METADATA,
                            sizeof(JG_MAKERS_METADATA) - 1};
}

bool jg_makers_get(jg_cache *cache, const char *library, int number,
                   jg_cache_blob *ret_blob)
{
    char buffer[MATERIAL_BYTES];
    if (number < 0 || number >= JG_MAKERS_MAX) {
        return false;
    }
    const jg_cache_key key = key_of(library, number, buffer);
    return jg_cache_get(cache, &key, ret_blob, NULL, 0) == JG_CACHE_OK;
}

/* Does the record with this number hold the compiler? *ret_is_taken: it holds anything. */
static bool is_known_as(jg_cache *cache, const char *library, int number,
                        const char *compiler, bool *ret_is_taken)
{
    jg_cache_blob blob = {0};
    *ret_is_taken = jg_makers_get(cache, library, number, &blob);
    const size_t size = strlen(compiler);
    const bool is_same = *ret_is_taken && blob.payload_size == size &&
                         memcmp(blob.payload, compiler, size) == 0;
    jg_cache_blob_free(&blob);
    return is_same;
}

jg_cache_result jg_makers_remember(jg_cache *cache, const char *library,
                                   const char *compiler, char *reason, size_t reason_size)
{
    bool taken[JG_MAKERS_MAX] = {false};
    for (int i = 0; i < JG_MAKERS_MAX; i++) {
        if (is_known_as(cache, library, i, compiler, &taken[i])) {
            return JG_CACHE_EXISTS;
        }
    }
    for (int i = 0; i < JG_MAKERS_MAX; i++) {
        if (taken[i]) {
            continue;
        }
        char buffer[MATERIAL_BYTES];
        const jg_cache_key key = key_of(library, i, buffer);
        const jg_cache_value value = value_of(compiler);
        const jg_cache_result result =
            jg_cache_put(cache, &key, &value, reason, reason_size);
        /* Another process may be faster: with the same compiler, or with its own. */
        if (result != JG_CACHE_EXISTS ||
            is_known_as(cache, library, i, compiler, &taken[i])) {
            return result;
        }
    }
    if (reason != NULL && reason_size > 0) {
        snprintf(reason, reason_size,
                 "%d compilers are remembered already: without NVRTC, kernels of this one "
                 "will not be found",
                 JG_MAKERS_MAX);
    }
    return JG_CACHE_TOO_LARGE;
}

/* -------------------------------------------------------------------------- shipments */

/* False unless the whole value fits. */
static bool read_whole(const jg_cache_entry *entry, const char *key, char *buffer,
                       size_t size)
{
    return jg_metadata_get(entry->metadata, entry->metadata_size, key, buffer, size) &&
           strlen(buffer) + 1 < size;
}

bool jg_maker_read(const jg_cache_entry *entry, struct jg_maker *ret_maker)
{
    struct jg_maker maker;
    memset(&maker, 0, sizeof(maker));
    if (!read_whole(entry, "library", maker.made_by, sizeof(maker.made_by)) ||
        !read_whole(entry, "compiler", maker.compiler, sizeof(maker.compiler))) {
        return false;
    }
    *ret_maker = maker;
    return true;
}

static int compare_makers(const void *a, const void *b)
{
    const struct jg_maker *x = a, *y = b;
    const int order = strcmp(x->made_by, y->made_by);
    return order != 0 ? order : strcmp(x->compiler, y->compiler);
}

/* What a visit found. */
struct found {
    struct jg_maker maker;
    bool is_kernel;
};

static int read_maker(void *user, const jg_cache_entry *entry)
{
    struct found *found = user;
    found->is_kernel = jg_maker_read(entry, &found->maker);
    return 0;
}

static jg_cache_result note_maker(struct jg_shipment *shipment,
                                  const struct jg_maker *maker)
{
    for (int i = 0; i < shipment->maker_count; i++) {
        if (compare_makers(&shipment->makers[i], maker) == 0) {
            return JG_CACHE_OK;
        }
    }
    if (shipment->maker_count == JG_MAKERS_MAX) {
        return JG_CACHE_TOO_LARGE;
    }
    shipment->makers[shipment->maker_count++] = *maker;
    return JG_CACHE_OK;
}

jg_cache_result jg_shipment_add(struct jg_shipment *shipment, jg_cache *from,
                                const jg_cache_name *name)
{
    struct found found = {.is_kernel = false};
    jg_cache_result result = jg_cache_visit(from, name, false, read_maker, &found);
    if (result != JG_CACHE_OK) {
        return result;
    }
    if (!found.is_kernel) {
        return JG_CACHE_MISMATCH;
    }
    result = note_maker(shipment, &found.maker);
    return result == JG_CACHE_OK ? jg_cache_bundle_add(shipment->writer, from, name)
                                 : result;
}

static jg_cache_result add_makers(struct jg_shipment *shipment)
{
    jg_cache_result result = JG_CACHE_OK;
    int number = 0;
    qsort(shipment->makers, (size_t)shipment->maker_count, sizeof(shipment->makers[0]),
          compare_makers);
    for (int i = 0; i < shipment->maker_count && result == JG_CACHE_OK; i++) {
        const struct jg_maker *maker = &shipment->makers[i];
        const bool is_same_library =
            i > 0 && strcmp(maker->made_by, maker[-1].made_by) == 0;
        number = is_same_library ? number + 1 : 0;
        char buffer[MATERIAL_BYTES];
        const jg_cache_key key = key_of(maker->made_by, number, buffer);
        const jg_cache_value value = value_of(maker->compiler);
        result = jg_cache_bundle_add_value(shipment->writer, &key, &value);
    }
    return result;
}

jg_cache_result jg_shipment_write(struct jg_shipment *shipment, const char *path,
                                  jg_cache_bundle_counts *ret_counts, char *reason,
                                  size_t reason_size)
{
    jg_cache_bundle_counts counts = {0};
    jg_cache_result result = add_makers(shipment);
    if (result == JG_CACHE_OK) {
        result =
            jg_cache_bundle_write(shipment->writer, path, &counts, reason, reason_size);
    } else {
        snprintf(reason, reason_size, "no memory for the bundle");
    }
    if (result == JG_CACHE_OK) {
        counts.entries -= (uint64_t)shipment->maker_count;
        *ret_counts = counts;
    }
    return result;
}
