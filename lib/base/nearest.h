/* SPDX-License-Identifier: MIT */
/* What was meant by a word that is none of those that may stand there. Needs nothing of the
 * library: the command has it, too. */
#ifndef JG_BASE_NEAREST_H
#define JG_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Edits (a change, an insertion, a removal, a swap of neighbours) from one word to another;
 * letters that differ in case only are equal. SIZE_MAX for words of more than 64 bytes. */
size_t jg_count_edits(const char *from, size_t from_size, const char *to, size_t to_size);

/* Which of the names that are tried was meant; `best` is NULL if none is near. */
struct jg_nearest {
    const char *word;
    size_t size;
    const char *best;
    size_t best_size;
    size_t edits; /* fewer are nearer */
};
struct jg_nearest jg_nearest_begin(const char *word, size_t size);
void jg_nearest_try(struct jg_nearest *nearest, const char *name, size_t size);
/* Takes `name` if the word is what others call it. Case, `_` and `-` do not count. */
void jg_nearest_other(struct jg_nearest *nearest, const char *said, const char *name);

/* The hint with "did you mean NAME? " before it, if one is near. */
struct jg_near_hint {
    char text[512];
};
struct jg_near_hint jg_near_hint(const struct jg_nearest *nearest, const char *hint);

#endif
