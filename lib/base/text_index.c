/* SPDX-License-Identifier: MIT */
#include "base/text_index.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* Without a text where nothing is. What is added stays, so that a search ends there. */
struct jg_text_place {
    struct jg_hash hash;
    const char *text; /* borrowed */
    size_t size, number;
};

static size_t first_place(const struct jg_hash *hash, size_t capacity)
{
    uint64_t bits = 0;
    memcpy(&bits, hash->bytes, sizeof(bits));
    return (size_t)(bits & (capacity - 1)); /* a power of two */
}

static bool holds(const struct jg_text_place *place, const struct jg_hash *hash,
                  const char *text, size_t size)
{
    return place->size == size && jg_hash_equal(&place->hash, hash) &&
           memcmp(place->text, text, size) == 0;
}

size_t jg_text_index_find(struct jg_text_index *index, const char *text, size_t size)
{
    if (index->count == 0) {
        return JG_TEXT_INDEX_NONE;
    }
    const struct jg_hash hash = jg_hash_bytes(text, size);
    for (size_t i = first_place(&hash, index->capacity);;
         i = (i + 1) & (index->capacity - 1)) {
        const struct jg_text_place *place = &index->places[i];
        index->looks++;
        if (place->text == NULL) {
            return JG_TEXT_INDEX_NONE;
        }
        if (holds(place, &hash, text, size)) {
            return place->number;
        }
    }
}

/* Into places of which one is free at least. */
static void put(struct jg_text_place *places, size_t capacity,
                const struct jg_text_place *place)
{
    size_t i = first_place(&place->hash, capacity);
    while (places[i].text != NULL) {
        i = (i + 1) & (capacity - 1);
    }
    places[i] = *place;
}

bool jg_text_index_reserve(struct jg_text_index *index)
{
    if (3 * (index->count + 1) <= 2 * index->capacity) {
        return true;
    }
    const size_t capacity = index->capacity > 0 ? index->capacity * 2 : 16;
    struct jg_text_place *places = jg_alloc_array(capacity, sizeof(*places));
    if (places == NULL) {
        return false;
    }
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->places[i].text != NULL) {
            put(places, capacity, &index->places[i]);
        }
    }
    jg_free(index->places);
    index->places = places;
    index->capacity = capacity;
    return true;
}

void jg_text_index_add(struct jg_text_index *index, const char *text, size_t size,
                       size_t number)
{
    const struct jg_text_place place = {jg_hash_bytes(text, size), text, size, number};
    put(index->places, index->capacity, &place);
    index->count++;
}

void jg_text_index_free(struct jg_text_index *index)
{
    jg_free(index->places);
    *index = (struct jg_text_index){0};
}
