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

/* Prints words so that lines end before cli_columns, and a line end. `column` is where the
 * first line stands, `indent` where the others begin. */
void cli_print_folded(FILE *file, const char *text, size_t size, size_t column,
                      size_t indent);
/* The same on a terminal; elsewhere the text as it is, in one line. */
void cli_print_line(FILE *file, const char *text, size_t size, size_t column,
                    size_t indent);
/* A label of `width` columns and its text, as cli_print_line. */
void cli_print_fact(const char *label, size_t width, const char *text);

#endif
