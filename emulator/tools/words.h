/* SPDX-License-Identifier: MIT */
/* The words of one line of a launch file, and messages about them. */
#ifndef EMU_TOOLS_WORDS_H
#define EMU_TOOLS_WORDS_H

#include "tools/script.h"

#define EMU_WORDS_MOST 64u

struct emu_words {
    const char *words[EMU_WORDS_MOST];
    unsigned count, at, line;
    struct emu_script *script;
    uint32_t open_param; /* a `param struct` that waits for its `end` */
    struct emu_error *error;
};

/* "line N: " and the message; always false. */
bool emu_words_fail(struct emu_words *words, const char *format, ...) EMU_PRINTF(2, 3);

static inline bool emu_words_left(const struct emu_words *words)
{
    return words->at < words->count;
}
/* `value_name` names the word in the message when it is missing or wrong. */
bool emu_words_next(struct emu_words *words, const char *value_name, const char **ret_word);
bool emu_words_number(struct emu_words *words, const char *value_name, uint64_t least,
                      uint64_t most, uint64_t *ret_number);
bool emu_words_real(struct emu_words *words, const char *value_name, double *ret_real);
bool emu_words_type(struct emu_words *words, const struct emu_element_type **ret_type);
bool emu_words_buffer(struct emu_words *words, uint32_t *ret_buffer);
/* One of a list that ends in NULL. */
bool emu_words_choice(struct emu_words *words, const char *value_name,
                      const char *const *choices, unsigned *ret_index);
bool emu_words_end(struct emu_words *words);

bool emu_parse_real(const char *text, double *ret_real);
bool emu_parse_number(const char *text, uint64_t *ret_number);
/* EMU_SCRIPT_NONE when there is no such buffer. */
uint32_t emu_script_find_buffer(const struct emu_script *script, const char *name);

/* The statements that have a file of their own; the keyword was read. */
bool emu_parse_buffer(struct emu_words *words);
bool emu_parse_map(struct emu_words *words);
bool emu_parse_param(struct emu_words *words);
bool emu_parse_at(struct emu_words *words);
bool emu_parse_end(struct emu_words *words);
bool emu_parse_check(struct emu_words *words);

#endif
