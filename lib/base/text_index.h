/* SPDX-License-Identifier: MIT */
/* Numbers by text: one of many is found in a few looks, however many there are. */
#ifndef JG_BASE_TEXT_INDEX_H
#define JG_BASE_TEXT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JG_TEXT_INDEX_NONE SIZE_MAX

/* Empty when zero. Free it with jg_text_index_free. */
struct jg_text_index {
    struct jg_text_place *places; /* owned; two thirds at most are taken */
    size_t capacity, count;
    size_t looks; /* at places, of all searches: what they cost */
};

/* The number that a text was added with, or JG_TEXT_INDEX_NONE. */
size_t jg_text_index_find(struct jg_text_index *index, const char *text, size_t size);
/* Room for one more; false: no memory, nothing has changed. */
bool jg_text_index_reserve(struct jg_text_index *index);
/* Adds a text that is not there, for which there is room. It is borrowed. */
void jg_text_index_add(struct jg_text_index *index, const char *text, size_t size,
                       size_t number);
void jg_text_index_free(struct jg_text_index *index);

#endif
