/* SPDX-License-Identifier: MIT */
/* The command's one writer of JSON. docs/json.md has what each command prints. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CLI_JSON_DEPTH = 16 };

/* Keeps the commas: begins as {file}. A `name` is NULL in a list, and at the top. */
struct cli_json {
    FILE *file;
    bool has_lines; /* each item of a list begins a line */
    int depth;
    bool has_items[CLI_JSON_DEPTH];
};

void cli_json_open_object(struct cli_json *json, const char *name);
/* An object that says which command printed it. */
void cli_json_open_command(struct cli_json *json, const char *command);
void cli_json_open_list(struct cli_json *json, const char *name);
/* Closes an object or a list; the outermost is followed by a line end. */
void cli_json_close_object(struct cli_json *json);
void cli_json_close_list(struct cli_json *json);

/* NULL is null. Bytes that are no UTF-8 become U+FFFD. */
void cli_json_add_text(struct cli_json *json, const char *name, const char *text);
void cli_json_add_bytes(struct cli_json *json, const char *name, const char *text,
                        size_t size);
void cli_json_add_int(struct cli_json *json, const char *name, int64_t value);
void cli_json_add_uint(struct cli_json *json, const char *name, uint64_t value);
/* null if it is not finite. */
void cli_json_add_double(struct cli_json *json, const char *name, double value);
void cli_json_add_bool(struct cli_json *json, const char *name, bool value);
void cli_json_add_null(struct cli_json *json, const char *name);

/* Bytes of the UTF-8 character that the text begins with; 0: it is none. */
size_t cli_utf8_size(const char *characters, size_t size);

#endif
