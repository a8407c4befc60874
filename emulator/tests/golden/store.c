/* SPDX-License-Identifier: MIT */
/* Reads and writes golden files. */
#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define LINE_BYTES 66 /* bytes of data on a line */

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void print_line(struct gold_text *text, char mark, const uint8_t *bytes,
                       size_t count)
{
    unsigned held = 0, bits = 0;

    gold_text_add(text, "%c", mark);
    for (size_t i = 0; i < count; i++) {
        held = held << 8 | bytes[i];
        for (bits += 8; bits >= 6; bits -= 6) {
            gold_text_add(text, "%c", digits[held >> (bits - 6) & 63]);
        }
    }
    if (bits > 0) {
        gold_text_add(text, "%c", digits[held << (6 - bits) & 63]);
    }
    gold_text_add(text, "\n");
}

static void print_data(struct gold_text *text, char mark, const uint8_t *bytes,
                       size_t count)
{
    for (size_t at = 0; at < count; at += LINE_BYTES) {
        print_line(text, mark, bytes + at,
                   count - at < LINE_BYTES ? count - at : LINE_BYTES);
    }
}

void gold_record_print(const struct gold_record *record, struct gold_text *text)
{
    gold_text_add(text, "case %s %08" PRIx32 " %u %u %u %u\n", record->name, record->key,
                  record->items, record->item_bytes, record->full_items,
                  record->block_items);
    print_data(text, '+', record->full, record->full_bytes);
    print_data(text, '~', record->hashes, record->hash_bytes);
}

/* Adds the bytes of a line to `bytes`, which has room for all of a record. */
static bool read_data(const char *line, uint8_t *bytes, size_t *filled, size_t room)
{
    unsigned held = 0, bits = 0;

    for (; *line != '\0' && *line != '\n'; line++) {
        const char *digit = strchr(digits, *line);

        if (digit == NULL) {
            return false;
        }
        held = held << 6 | (unsigned)(digit - digits);
        bits += 6;
        if (bits < 8) {
            continue;
        }
        if (*filled >= room) {
            return false;
        }
        bits -= 8;
        bytes[(*filled)++] = (uint8_t)(held >> bits);
    }
    return true;
}

static size_t count_blocks(const struct gold_record *record)
{
    unsigned rest = record->items - record->full_items;

    return rest == 0 ? 0 : (rest + record->block_items - 1) / record->block_items;
}

static bool make_room(struct gold_record *record)
{
    if (record->full_items > record->items || record->block_items == 0) {
        return false;
    }
    record->full = gold_alloc((size_t)record->full_items * record->item_bytes);
    record->hashes = gold_alloc(GOLD_HASH_BYTES * count_blocks(record));
    return true;
}

static uint32_t case_key(const struct gold_case *one)
{
    uint32_t shape[] = {one->grid,        one->block,    one->cluster,    one->shared_bytes,
                        one->count,       one->items,    one->item_bytes, one->full_items,
                        one->block_items, one->map_count};
    XXH3_state_t *state = XXH3_createState();

    if (state == NULL) {
        fprintf(stderr, "emu_golden: no memory\n");
        exit(2);
    }
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, one->ptx, strlen(one->ptx));
    XXH3_64bits_update(state, shape, sizeof(shape));
    if (one->input_bytes > 0) {
        XXH3_64bits_update(state, one->input, one->input_bytes);
    }
    if (one->initial != NULL) {
        XXH3_64bits_update(state, one->initial, (size_t)one->items * one->item_bytes);
    }
    for (unsigned i = 0; i < one->map_count; i++) {
        const struct gold_map *map = &one->maps[i];
        uint32_t words[] = {map->type, map->rank,      map->swizzle,
                            map->fill, map->on_output, (uint32_t)map->offset};

        XXH3_64bits_update(state, words, sizeof(words));
        XXH3_64bits_update(state, map->dims, sizeof(map->dims));
        XXH3_64bits_update(state, map->strides, sizeof(map->strides));
        XXH3_64bits_update(state, map->box, sizeof(map->box));
        XXH3_64bits_update(state, map->element_strides, sizeof(map->element_strides));
    }
    uint64_t key = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return (uint32_t)(key >> 32);
}

struct gold_record gold_record_make(const struct gold_case *one, const uint8_t *output)
{
    struct gold_record record;

    memset(&record, 0, sizeof(record));
    snprintf(record.name, sizeof(record.name), "%s", one->name);
    record.items = one->items;
    record.item_bytes = one->item_bytes;
    record.full_items = one->full_items < one->items ? one->full_items : one->items;
    record.block_items = one->block_items;
    if (strlen(one->name) >= sizeof(record.name) || !make_room(&record)) {
        fprintf(stderr, "emu_golden: case %s is ill-formed\n", one->name);
        exit(2);
    }
    record.key = case_key(one);
    record.full_bytes = (size_t)record.full_items * record.item_bytes;
    memcpy(record.full, output, record.full_bytes);
    for (unsigned first = record.full_items; first < record.items;
         first += record.block_items) {
        unsigned rest = record.items - first;
        size_t count = rest < record.block_items ? rest : record.block_items;
        uint64_t hash = XXH3_64bits(output + (size_t)first * record.item_bytes,
                                    count * record.item_bytes);

        for (unsigned i = 0; i < GOLD_HASH_BYTES; i++) {
            record.hashes[record.hash_bytes++] = (uint8_t)(hash >> (56 - 8 * i));
        }
    }
    return record;
}

void gold_record_free(struct gold_record *record)
{
    free(record->full);
    free(record->hashes);
    record->full = record->hashes = NULL;
}

static bool read_line(struct gold_store *store, const char *line)
{
    struct gold_record *record =
        store->count == 0 ? NULL : &store->records[store->count - 1];

    if (line[0] == '#') {
        return true;
    }
    if (line[0] == '+') {
        return record != NULL && read_data(line + 1, record->full, &record->full_bytes,
                                           (size_t)record->full_items * record->item_bytes);
    }
    if (line[0] == '~') {
        return record != NULL && read_data(line + 1, record->hashes, &record->hash_bytes,
                                           GOLD_HASH_BYTES * count_blocks(record));
    }
    store->records = realloc(store->records, (store->count + 1) * sizeof(*store->records));
    if (store->records == NULL) {
        fprintf(stderr, "emu_golden: no memory\n");
        exit(2);
    }
    record = &store->records[store->count];
    memset(record, 0, sizeof(*record));
    if (sscanf(line, "case %95s %8" SCNx32 " %u %u %u %u", record->name, &record->key,
               &record->items, &record->item_bytes, &record->full_items,
               &record->block_items) != 6 ||
        record->item_bytes > 4096 || record->items > 1u << 24 || !make_room(record)) {
        return false;
    }
    store->count++;
    return true;
}

bool gold_store_read(struct gold_store *store, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];
    unsigned number = 0;
    bool good = true;

    if (file == NULL) {
        fprintf(stderr, "emu_golden: cannot open %s\n", path);
        return false;
    }
    while (good && fgets(line, (int)sizeof(line), file) != NULL) {
        number++;
        good = read_line(store, line);
    }
    if (!good) {
        fprintf(stderr, "%s:%u: not a line of a golden file\n", path, number);
    }
    fclose(file);
    return good;
}

struct gold_record *gold_store_find(struct gold_store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++) {
        if (strcmp(store->records[i].name, name) == 0) {
            return &store->records[i];
        }
    }
    return NULL;
}

void gold_store_free(struct gold_store *store)
{
    for (size_t i = 0; i < store->count; i++) {
        gold_record_free(&store->records[i]);
    }
    free(store->records);
    store->records = NULL;
    store->count = 0;
}
