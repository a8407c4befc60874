/* SPDX-License-Identifier: MIT */
/* What differs between a terminal and a pipe: colour, and where lines are folded. */
#include "cli_terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

enum { MOST_COLUMNS = 100, LEAST_COLUMNS = 40 };

static enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color_mode;

void cli_set_color(const char *text)
{
    color_mode = strcmp(text, "always") == 0  ? COLOR_ALWAYS
                 : strcmp(text, "never") == 0 ? COLOR_NEVER
                                              : COLOR_AUTO;
}

void cli_find_color(int argc, char **argv)
{
    static const char option[] = "--color";

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], option) == 0 && i + 1 < argc) {
            cli_set_color(argv[i + 1]);
        } else if (strncmp(argv[i], "--color=", sizeof(option)) == 0) {
            cli_set_color(argv[i] + sizeof(option));
        }
    }
}

static bool has_color(FILE *file)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

    if (color_mode != COLOR_AUTO) {
        return color_mode == COLOR_ALWAYS;
    }
    return (no_color == NULL || no_color[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0) && cli_is_terminal(file);
}

const char *cli_tone(FILE *file, enum cli_tone tone)
{
    static const char *const codes[] = {
        [CLI_TONE_END] = "\033[0m",        [CLI_TONE_BAD] = "\033[1;31m",
        [CLI_TONE_WARNING] = "\033[1;33m", [CLI_TONE_GOOD] = "\033[1;32m",
        [CLI_TONE_HEAD] = "\033[1m",       [CLI_TONE_HINT] = "\033[36m"};

    return has_color(file) ? codes[tone] : "";
}

bool cli_is_terminal(FILE *file)
{
    return isatty(fileno(file)) == 1;
}

size_t cli_columns(FILE *file)
{
    struct winsize size = {0};

    if (!cli_is_terminal(file) || ioctl(fileno(file), TIOCGWINSZ, &size) != 0 ||
        size.ws_col == 0 || size.ws_col > MOST_COLUMNS) {
        return MOST_COLUMNS;
    }
    return size.ws_col < LEAST_COLUMNS ? LEAST_COLUMNS : size.ws_col;
}

size_t cli_character_size(const char *text, size_t left)
{
    const size_t size = cli_utf8_size(text, left);
    return size > 0 ? size : 1;
}

/* Does a terminal obey the character, or is it none? In two bytes are the control codes
 * from U+0080 on. */
static bool is_hidden(const char *text, size_t size)
{
    const unsigned char first = (unsigned char)text[0];
    return (size == 1 && first != '\t' && (first < 0x20 || first >= 0x7f)) ||
           (size == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

void cli_hide_bytes(char *text)
{
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = cli_character_size(text, left);
        if (*text != '\n' && is_hidden(text, size)) {
            memset(text, '?', size);
        }
    }
}

void cli_write_shown(FILE *file, const char *text, size_t size)
{
    for (size_t at = 0, length; at < size; at += length) {
        length = cli_character_size(text + at, size - at);
        fwrite(is_hidden(text + at, length) ? "??" : text + at, 1, length, file);
    }
}

void cli_print_folded(FILE *file, const char *text, size_t size, size_t column,
                      size_t indent)
{
    const size_t columns = cli_columns(file);

    for (size_t at = 0; at < size;) {
        const char *blank = memchr(text + at, ' ', size - at);
        const size_t length = blank != NULL ? (size_t)(blank - text) - at : size - at;

        if (at > 0 && column + 1 + length > columns) {
            fprintf(file, "\n%*s", (int)indent, "");
            column = indent;
        } else if (at > 0) {
            fputc(' ', file);
            column++;
        }
        cli_write_shown(file, text + at, length);
        column += length;
        at += length + 1;
    }
    fputc('\n', file);
}

void cli_print_line(FILE *file, const char *text, size_t size, size_t column, size_t indent)
{
    if (cli_is_terminal(file)) {
        cli_print_folded(file, text, size, column, indent);
    } else {
        cli_write_shown(file, text, size);
        fputc('\n', file);
    }
}

void cli_print_fact(const char *label, size_t width, const char *text)
{
    printf("%s%-*s%s", cli_tone(stdout, CLI_TONE_HEAD), (int)width, label,
           cli_tone(stdout, CLI_TONE_END));
    cli_print_line(stdout, text, strlen(text), width, width);
}
