/* SPDX-License-Identifier: MIT */
/* Reading `key=value` texts, and quoting pieces of them in messages. */
#ifndef JG_PLAN_TEXT_H
#define JG_PLAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nearest.h"

/* One word of a text, split at its first `=`. Columns are in bytes, from 1. */
struct jg_word {
    const char *key; /* the whole word if it has no `=` */
    size_t key_size;
    const char *value; /* NULL if the word has no `=` */
    size_t value_size;
    size_t column, value_column;
};

/* The next word from *offset, which moves on; false at the end of the text. Words are
 * separated by spaces, tabs and line ends. */
bool jg_word_next(const char *text, size_t *offset, struct jg_word *ret_word);
bool jg_word_is(const char *piece, size_t size, const char *text);
/* Bytes of the whole word, from its key on. */
static inline size_t jg_word_size(const struct jg_word *word)
{
    return word->value == NULL ? word->key_size
                               : (size_t)(word->value - word->key) + word->value_size;
}

/* Decimal digits only, no sign; false if it is no number or outside of low..high. */
bool jg_number_parse(const char *piece, size_t size, int64_t low, int64_t high,
                     int64_t *ret_value);
/* `count` numbers separated by 'x', such as 128x256; false if it is anything else. */
bool jg_numbers_parse(const char *piece, size_t size, int count, int64_t low, int64_t high,
                      int64_t *ret_values);

bool jg_is_identifier(const char *piece, size_t size);

/* A piece of a user's text in quotes, cut and without control bytes, fit for a message. */
struct jg_quoted {
    char text[56];
};
struct jg_quoted jg_quote(const char *piece, size_t size);

/* The keys that a text may have, for a hint: begins as {"keys:"}. */
struct jg_key_list {
    char text[400];
};
/* Puts "did you mean NAME? " before the list, if one is near. */
void jg_key_list_ask(struct jg_key_list *list, const struct jg_nearest *nearest);
void jg_key_list_add(struct jg_key_list *list, const char *key);

#endif
