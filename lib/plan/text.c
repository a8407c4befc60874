/* SPDX-License-Identifier: MIT */
#include "plan/text.h"

#include <stdio.h>
#include <string.h>

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool jg_word_next(const char *text, size_t *offset, struct jg_word *ret_word)
{
    size_t begin = *offset;
    while (is_separator(text[begin])) {
        begin++;
    }
    size_t end = begin;
    size_t equals = 0;
    bool has_value = false;
    while (text[end] != '\0' && !is_separator(text[end])) {
        if (text[end] == '=' && !has_value) {
            has_value = true;
            equals = end;
        }
        end++;
    }
    *offset = end;
    if (begin == end) {
        return false;
    }
    *ret_word = (struct jg_word){.key = text + begin,
                                 .key_size = (has_value ? equals : end) - begin,
                                 .column = begin + 1};
    if (has_value) {
        ret_word->value = text + equals + 1;
        ret_word->value_size = end - equals - 1;
        ret_word->value_column = equals + 2;
    }
    return true;
}

bool jg_word_is(const char *piece, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(piece, text, size) == 0;
}

bool jg_number_parse(const char *piece, size_t size, int64_t low, int64_t high,
                     int64_t *ret_value)
{
    int64_t value = 0;
    if (size == 0) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (piece[i] < '0' || piece[i] > '9') {
            return false;
        }
        const int digit = piece[i] - '0';
        if (value > high / 10 || digit > high - value * 10) { /* no sum beyond 64 bits */
            return false;
        }
        value = value * 10 + digit;
    }
    if (value < low) {
        return false;
    }
    *ret_value = value;
    return true;
}

bool jg_numbers_parse(const char *piece, size_t size, int count, int64_t low, int64_t high,
                      int64_t *ret_values)
{
    size_t begin = 0;
    for (int i = 0; i < count; i++) {
        size_t end = begin;
        while (end < size && piece[end] != 'x') {
            end++;
        }
        const bool is_last = i == count - 1;
        if ((end == size) != is_last ||
            !jg_number_parse(piece + begin, end - begin, low, high, &ret_values[i])) {
            return false;
        }
        begin = end + 1;
    }
    return true;
}

bool jg_is_identifier(const char *piece, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = piece[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && !(i > 0 && c >= '0' && c <= '9')) {
            return false;
        }
    }
    return size > 0;
}

struct jg_quoted jg_quote(const char *piece, size_t size)
{
    enum { MAX_SHOWN = 48 };
    struct jg_quoted quoted;
    size_t length = 0;
    quoted.text[length++] = '\'';
    for (size_t i = 0; i < size && i < MAX_SHOWN; i++) {
        const unsigned char c = (unsigned char)piece[i];
        quoted.text[length] = '?';
        if (c >= 0x20 && c != 0x7f) {
            quoted.text[length] = piece[i];
        }
        length++;
    }
    if (size > MAX_SHOWN) {
        memcpy(quoted.text + length, "...", 3);
        length += 3;
    }
    quoted.text[length++] = '\'';
    quoted.text[length] = '\0';
    return quoted;
}

void jg_key_list_add(struct jg_key_list *list, const char *key)
{
    const size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof(list->text) - used, " %s", key);
}

void jg_key_list_ask(struct jg_key_list *list, const struct jg_nearest *nearest)
{
    const struct jg_near_hint hint = jg_near_hint(nearest, list->text);
    snprintf(list->text, sizeof(list->text), "%.*s", (int)sizeof(list->text) - 1,
             hint.text);
}
