/* SPDX-License-Identifier: MIT */
#include "base/lines.h"

#include <string.h>

const char *jg_lines_oddity(const struct jg_lines *lines)
{
    static const struct {
        const char *bytes, *words;
    } marks[] = {{"\xef\xbb\xbf", "this text begins with a byte order mark"},
                 {"\xff\xfe", "this text is UTF-16"},
                 {"\xfe\xff", "this text is UTF-16"}};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const size_t size = strlen(marks[i].bytes);
        if (lines->size >= size && memcmp(lines->text, marks[i].bytes, size) == 0) {
            return marks[i].words;
        }
    }
    const bool has_returns =
        lines->size > 0 && memchr(lines->text, '\r', lines->size) != NULL;
    return has_returns && memchr(lines->text, '\n', lines->size) == NULL
               ? "lines of this text end with a carriage return alone"
               : NULL;
}

bool jg_lines_next(struct jg_lines *lines)
{
    if (lines->offset >= lines->size) {
        return false;
    }
    const char *start = lines->text + lines->offset;
    const size_t left = lines->size - lines->offset;
    const char *end = memchr(start, '\n', left);
    lines->start = start;
    lines->length = end != NULL ? (size_t)(end - start) : left;
    lines->offset += end != NULL ? lines->length + 1 : left;
    lines->line++;
    if (lines->length > 0 && start[lines->length - 1] == '\r') {
        lines->length--;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void jg_line_trim(struct jg_lines *lines)
{
    while (lines->length > 0 && is_blank(lines->start[0])) {
        lines->start++;
        lines->length--;
    }
    while (lines->length > 0 && is_blank(lines->start[lines->length - 1])) {
        lines->length--;
    }
}

void jg_line_cut_comment(struct jg_lines *lines)
{
    for (size_t i = 1; i < lines->length; i++) {
        if (lines->start[i] == '#' && is_blank(lines->start[i - 1])) {
            lines->length = i;
            jg_line_trim(lines);
            return;
        }
    }
}

bool jg_line_is(const struct jg_lines *lines, const char *text)
{
    const size_t size = strlen(text);
    return lines->length == size && memcmp(lines->start, text, size) == 0;
}

bool jg_line_is_skipped(const struct jg_lines *lines)
{
    return lines->length == 0 || lines->start[0] == '#';
}

bool jg_line_take_keyword(const struct jg_lines *lines, const char *keyword,
                          const char **ret_rest, size_t *ret_size)
{
    const size_t size = strlen(keyword);
    if (lines->length <= size || memcmp(lines->start, keyword, size) != 0 ||
        lines->start[size] != ' ') {
        return false;
    }
    *ret_rest = lines->start + size + 1;
    *ret_size = lines->length - size - 1;
    return true;
}

size_t jg_line_take_piece(const char **rest, size_t *size, const char **ret_piece)
{
    const char *start = *rest;
    size_t length = 0;
    while (length < *size && start[length] != ' ') {
        length++;
    }
    const size_t used = length < *size ? length + 1 : length;
    *rest += used;
    *size -= used;
    *ret_piece = start;
    return length;
}
