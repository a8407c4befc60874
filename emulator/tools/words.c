/* SPDX-License-Identifier: MIT */
#include "tools/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool emu_words_fail(struct emu_words *words, const char *format, ...)
{
    struct emu_text text = {0};
    va_list args;
    va_start(args, format);
    emu_text_addv(&text, format, args);
    va_end(args);
    emu_fail(words->error, "line %u: %s", words->line, emu_text_get(&text));
    emu_text_free(&text);
    return false;
}

bool emu_words_next(struct emu_words *words, const char *value_name, const char **ret_word)
{
    if (!emu_words_left(words)) {
        emu_words_fail(words, "%s is missing", value_name);
        return false;
    }
    *ret_word = words->words[words->at++];
    return true;
}

bool emu_parse_number(const char *text, uint64_t *ret_number)
{
    char *end = NULL;
    errno = 0;
    *ret_number = strtoull(text, &end, 0);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0;
}

bool emu_parse_real(const char *text, double *ret_real)
{
    char *end = NULL;
    *ret_real = strtod(text, &end);
    return end != text && *end == 0;
}

bool emu_words_number(struct emu_words *words, const char *value_name, uint64_t least,
                      uint64_t most, uint64_t *ret_number)
{
    const char *word = NULL;
    if (!emu_words_next(words, value_name, &word)) {
        return false;
    }
    if (!emu_parse_number(word, ret_number) || *ret_number < least || *ret_number > most) {
        return emu_words_fail(words, "%s `%s` is not a number from %llu to %llu",
                              value_name, word, (unsigned long long)least,
                              (unsigned long long)most);
    }
    return true;
}

bool emu_words_real(struct emu_words *words, const char *value_name, double *ret_real)
{
    const char *word = NULL;
    if (!emu_words_next(words, value_name, &word)) {
        return false;
    }
    return emu_parse_real(word, ret_real) ||
           emu_words_fail(words, "%s `%s` is not a number", value_name, word);
}

bool emu_words_type(struct emu_words *words, const struct emu_element_type **ret_type)
{
    const char *word = NULL;
    if (!emu_words_next(words, "the type", &word)) {
        return false;
    }
    *ret_type = emu_element_type_find(word);
    if (*ret_type != NULL) {
        return true;
    }
    struct emu_text list = {0};
    emu_element_types_list(&list);
    emu_words_fail(words, "there is no type `%s`; there are %s", word, emu_text_get(&list));
    emu_text_free(&list);
    return false;
}

uint32_t emu_script_find_buffer(const struct emu_script *script, const char *name)
{
    for (uint32_t i = 0; i < script->buffer_count; i++) {
        if (strcmp(script->buffers[i].name, name) == 0) {
            return i;
        }
    }
    return EMU_SCRIPT_NONE;
}

bool emu_words_buffer(struct emu_words *words, uint32_t *ret_buffer)
{
    const char *word = NULL;
    if (!emu_words_next(words, "the buffer", &word)) {
        return false;
    }
    *ret_buffer = emu_script_find_buffer(words->script, word);
    return *ret_buffer != EMU_SCRIPT_NONE ||
           emu_words_fail(words, "there is no buffer `%s` above", word);
}

bool emu_words_choice(struct emu_words *words, const char *value_name,
                      const char *const *choices, unsigned *ret_index)
{
    const char *word = NULL;
    struct emu_text list = {0};
    if (!emu_words_next(words, value_name, &word)) {
        return false;
    }
    for (unsigned i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], word) == 0) {
            *ret_index = i;
            emu_text_free(&list);
            return true;
        }
        emu_text_add(&list, "%s%s", i == 0 ? "" : ", ", choices[i]);
    }
    emu_words_fail(words, "%s `%s` is none of %s", value_name, word, emu_text_get(&list));
    emu_text_free(&list);
    return false;
}

bool emu_words_end(struct emu_words *words)
{
    return !emu_words_left(words) ||
           emu_words_fail(words, "`%s` is too much", words->words[words->at]);
}
