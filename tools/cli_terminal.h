/* SPDX-License-Identifier: MIT */
/* What differs between a terminal and a pipe: colour, and where lines are folded. Scripts
 * read pipes: there nothing is coloured, and no line of facts is broken. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum cli_tone {
    CLI_TONE_END,
    CLI_TONE_BAD,     /* errors, FAIL */
    CLI_TONE_WARNING, /* warnings */
    CLI_TONE_GOOD,    /* PASS, what is chosen */
    CLI_TONE_HEAD,    /* labels and heads of tables */
    CLI_TONE_HINT     /* hints */
};

/* Takes the value of --color: always, never, or else auto. */
void cli_set_color(const char *text);
/* The same of a whole command line, so that errors in other options have it too. */
void cli_find_color(int argc, char **argv);
/* What sets the tone, "" where the file has no colour: by --color, NO_COLOR, TERM=dumb and
 * whether it is a terminal. */
const char *cli_tone(FILE *file, enum cli_tone tone);

bool cli_is_terminal(FILE *file);
/* Columns of a line: those of the terminal, at most 100; 100 elsewhere. */
size_t cli_columns(FILE *file);

/* Bytes of the character of UTF-8 that begins here; 1 of what is none. */
size_t cli_character_size(const char *text, size_t left);
/* Names of files, arguments and values of variables may have any bytes. Those that a
 * terminal obeys, or that are no UTF-8, become `?`; line ends and tabs stay. */
void cli_hide_bytes(char *text);
/* Prints a text so, and a line end as `?`, too. */
void cli_write_shown(FILE *file, const char *text, size_t size);

/* Prints words, as cli_write_shown does, so that lines end before cli_columns, and a line
 * end. `column` is where the first line stands, `indent` where the others begin. */
void cli_print_folded(FILE *file, const char *text, size_t size, size_t column,
                      size_t indent);
/* The same on a terminal; elsewhere the text as it is, in one line. */
void cli_print_line(FILE *file, const char *text, size_t size, size_t column,
                    size_t indent);
/* A label of `width` columns and its text, as cli_print_line. */
void cli_print_fact(const char *label, size_t width, const char *text);

#endif
