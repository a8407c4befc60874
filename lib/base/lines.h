/* SPDX-License-Identifier: MIT */
/* Reading a text line by line: what the readers of manifests and recipes share. */
#ifndef JG_BASE_LINES_H
#define JG_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Set `text` and `size`, which are borrowed; the rest begins as zero. */
struct jg_lines {
    const char *text;
    size_t size, offset;
    size_t line;       /* number of the line that was read last, from 1 */
    const char *start; /* of that line, */
    size_t length;     /* without its end: LF, or CR LF */
    const char *block; /* for messages: the name of what the line is in; or NULL */
};

/* What an editor has made of a text that it cannot be read as, for a message: a byte order
 * mark, UTF-16, lines that end with a carriage return alone. NULL: nothing of these. */
const char *jg_lines_oddity(const struct jg_lines *lines);
/* The next line; false at the end of the text. */
bool jg_lines_next(struct jg_lines *lines);
/* Takes blanks and tabs away from both ends of the line. */
void jg_line_trim(struct jg_lines *lines);
/* Takes a comment away, which is '#' behind a blank, and the blanks before it. */
void jg_line_cut_comment(struct jg_lines *lines);
/* Is the line exactly this text? */
bool jg_line_is(const struct jg_lines *lines, const char *text);
/* Empty, or a comment: does it begin with '#'? */
bool jg_line_is_skipped(const struct jg_lines *lines);
/* Does the line begin with this word and a space? Then its rest is given. */
bool jg_line_take_keyword(const struct jg_lines *lines, const char *keyword,
                          const char **ret_rest, size_t *ret_size);
/* The next piece of a rest up to a space, which is taken away; empty at its end. */
size_t jg_line_take_piece(const char **rest, size_t *size, const char **ret_piece);

#endif
