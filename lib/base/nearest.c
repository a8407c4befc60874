/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { EDITED_MAX = 64 }; /* bytes of a word */

static bool is_lower_equal(char a, char b)
{
    const char lower_a = (char)(a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a);
    const char lower_b = (char)(b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
    return lower_a == lower_b;
}

static size_t min_of_3(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

size_t jg_count_edits(const char *from, size_t from_size, const char *to, size_t to_size)
{
    if (from_size > EDITED_MAX || to_size > EDITED_MAX) {
        return SIZE_MAX;
    }
    size_t rows[3][EDITED_MAX + 1] = {{0}};
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *row = rows[2];
    for (size_t j = 0; j <= to_size; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= from_size; i++) {
        row[0] = i;
        for (size_t j = 1; j <= to_size; j++) {
            const size_t change = is_lower_equal(from[i - 1], to[j - 1]) ? 0 : 1;
            row[j] = min_of_3(last[j] + 1, row[j - 1] + 1, last[j - 1] + change);
            if (i > 1 && j > 1 && is_lower_equal(from[i - 1], to[j - 2]) &&
                is_lower_equal(from[i - 2], to[j - 1]) && before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[to_size];
}

/* A single letter is near to everything. */
struct jg_nearest jg_nearest_begin(const char *word, size_t size)
{
    const size_t too_many = size < 2 ? 1 : (size <= 3 ? 2 : 3);
    return (struct jg_nearest){.word = word, .size = size, .edits = too_many};
}

void jg_nearest_try(struct jg_nearest *nearest, const char *name, size_t size)
{
    const size_t edits = jg_count_edits(nearest->word, nearest->size, name, size);
    const bool is_same = size == nearest->size && memcmp(name, nearest->word, size) == 0;
    if (!is_same && edits < nearest->edits && edits < nearest->size) {
        nearest->best = name;
        nearest->best_size = size;
        nearest->edits = edits;
    }
}

/* The next letter or digit as a small letter, 0 at the end. */
static char next_letter(const char *text, size_t size, size_t *at)
{
    while (*at < size && (text[*at] == '_' || text[*at] == '-')) {
        (*at)++;
    }
    if (*at == size) {
        return '\0';
    }
    const char c = text[(*at)++];
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool is_spelling(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t at_a = 0;
    size_t at_b = 0;
    char c = '\0';
    do {
        c = next_letter(a, a_size, &at_a);
        if (c != next_letter(b, b_size, &at_b)) {
            return false;
        }
    } while (c != '\0');
    return a_size > 0;
}

void jg_nearest_other(struct jg_nearest *nearest, const char *said, const char *name)
{
    if (is_spelling(nearest->word, nearest->size, said, strlen(said))) {
        nearest->best = name;
        nearest->best_size = strlen(name);
        nearest->edits = 0;
    }
}

struct jg_near_hint jg_near_hint(const struct jg_nearest *nearest, const char *hint)
{
    enum { MOST_SHOWN = 50 };
    struct jg_near_hint near = {""};
    if (nearest->best != NULL) {
        snprintf(near.text, sizeof(near.text), "did you mean %.*s?%s%s",
                 nearest->best_size < MOST_SHOWN ? (int)nearest->best_size : MOST_SHOWN,
                 nearest->best, hint[0] != '\0' ? " " : "", hint);
    } else {
        snprintf(near.text, sizeof(near.text), "%s", hint);
    }
    return near;
}
