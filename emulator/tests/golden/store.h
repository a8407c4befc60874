/* SPDX-License-Identifier: MIT */
/*
 * The golden file of a group. Lines:
 *   # comment
 *   case NAME KEY ITEMS ITEM_BYTES FULL_ITEMS BLOCK_ITEMS
 *   +DATA   bytes of the first FULL_ITEMS items, in pieces
 *   ~DATA   3-byte hashes, one per BLOCK_ITEMS of the other items, in pieces
 * KEY is a hash of everything that the case gives to the device. DATA is base64 without
 * padding: a character for every 6 bits, the last ones filled up with zero bits.
 */
#ifndef EMU_GOLDEN_STORE_H
#define EMU_GOLDEN_STORE_H

#include "golden.h"

#define GOLD_HASH_BYTES 3

struct gold_record {
    char name[96];
    uint32_t key;
    unsigned items, item_bytes, full_items, block_items;
    uint8_t *full; /* the bytes of the stored items */
    size_t full_bytes;
    uint8_t *hashes; /* GOLD_HASH_BYTES each */
    size_t hash_bytes;
    bool used; /* a case has asked for it */
};

struct gold_store {
    struct gold_record *records;
    size_t count;
};

/* False: said on stderr. */
bool gold_store_read(struct gold_store *store, const char *path);
struct gold_record *gold_store_find(struct gold_store *store, const char *name);
void gold_store_free(struct gold_store *store);

/* The record of a case with these outputs; free with gold_record_free. */
struct gold_record gold_record_make(const struct gold_case *one, const uint8_t *output);
void gold_record_print(const struct gold_record *record, struct gold_text *text);
void gold_record_free(struct gold_record *record);

#endif
