/* SPDX-License-Identifier: MIT */
#include "cli_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------------------- values */

size_t cli_utf8_size(const char *characters, size_t size)
{
    const unsigned char *text = (const unsigned char *)characters;
    const unsigned char first = text[0];
    const size_t length = first < 0x80                    ? 1
                          : first >= 0xc2 && first < 0xe0 ? 2
                          : first >= 0xe0 && first < 0xf0 ? 3
                          : first >= 0xf0 && first < 0xf5 ? 4
                                                          : 0;

    if (length > size) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Longer than it need be, half of a pair of UTF-16, or beyond the last one. */
    const bool is_wrong =
        length > 2 &&
        ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) ||
         (first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] > 0x8f));
    return is_wrong ? 0 : length;
}

/* With its quotes. */
static void write_text(FILE *file, const char *text, size_t size)
{
    fputc('"', file);
    for (size_t i = 0; i < size;) {
        const size_t length = cli_utf8_size(text + i, size - i);
        const unsigned char byte = (unsigned char)text[i];

        if (length == 0) {
            fputs("\\ufffd", file);
        } else if (byte == '"' || byte == '\\') {
            fprintf(file, "\\%c", byte);
        } else if (byte == '\n') {
            fputs("\\n", file);
        } else if (byte < 0x20 || byte == 0x7f) {
            fprintf(file, "\\u%04x", byte);
        } else {
            fwrite(text + i, 1, length, file);
        }
        i += length > 0 ? length : 1;
    }
    fputc('"', file);
}

/* ------------------------------------------------------------------- objects and lists */

static void begin_item(struct cli_json *json, const char *name)
{
    const bool begins_line = json->has_lines && name == NULL && json->depth > 0;

    if (json->has_items[json->depth]) {
        fputs(begins_line ? "," : ", ", json->file);
    }
    if (begins_line) {
        fputc('\n', json->file);
    }
    json->has_items[json->depth] = json->depth > 0;
    if (name != NULL) {
        write_text(json->file, name, strlen(name));
        fputs(": ", json->file);
    }
}

static void open_item(struct cli_json *json, const char *name, char bracket)
{
    begin_item(json, name);
    fputc(bracket, json->file);
    json->has_items[++json->depth] = false;
}

static void close_item(struct cli_json *json, char bracket)
{
    fputc(bracket, json->file);
    if (--json->depth == 0) {
        fputc('\n', json->file);
    }
}

void cli_json_open_object(struct cli_json *json, const char *name)
{
    open_item(json, name, '{');
}

void cli_json_open_command(struct cli_json *json, const char *command)
{
    cli_json_open_object(json, NULL);
    cli_json_add_text(json, "command", command);
}

void cli_json_open_list(struct cli_json *json, const char *name)
{
    open_item(json, name, '[');
}

void cli_json_close_object(struct cli_json *json)
{
    close_item(json, '}');
}

void cli_json_close_list(struct cli_json *json)
{
    close_item(json, ']');
}

void cli_json_add_bytes(struct cli_json *json, const char *name, const char *text,
                        size_t size)
{
    begin_item(json, name);
    write_text(json->file, text, size);
}

void cli_json_add_text(struct cli_json *json, const char *name, const char *text)
{
    if (text == NULL) {
        cli_json_add_null(json, name);
    } else {
        cli_json_add_bytes(json, name, text, strlen(text));
    }
}

void cli_json_add_int(struct cli_json *json, const char *name, int64_t value)
{
    begin_item(json, name);
    fprintf(json->file, "%" PRId64, value);
}

void cli_json_add_uint(struct cli_json *json, const char *name, uint64_t value)
{
    begin_item(json, name);
    fprintf(json->file, "%" PRIu64, value);
}

void cli_json_add_double(struct cli_json *json, const char *name, double value)
{
    begin_item(json, name);
    if (isfinite(value)) {
        fprintf(json->file, "%.9g", value);
    } else {
        fputs("null", json->file);
    }
}

void cli_json_add_bool(struct cli_json *json, const char *name, bool value)
{
    begin_item(json, name);
    fputs(value ? "true" : "false", json->file);
}

void cli_json_add_null(struct cli_json *json, const char *name)
{
    begin_item(json, name);
    fputs("null", json->file);
}
