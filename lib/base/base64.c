/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <string.h>

enum { LINE_BYTES = 57 /* 76 letters */ };

static const char letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes as four letters. */
static void print_group(const unsigned char *bytes, size_t count, struct jg_str *out)
{
    unsigned value = 0;
    for (size_t i = 0; i < 3; i++) {
        value = value << 8 | (i < count ? bytes[i] : 0u);
    }
    char group[4];
    for (size_t i = 0; i < 4; i++) {
        group[i] = '=';
        if (i <= count) {
            group[i] = letters[value >> (18 - 6 * i) & 63];
        }
    }
    jg_str_add(out, group, sizeof(group));
}

void jg_base64_print(const void *bytes, size_t size, struct jg_str *out)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i += 3) {
        print_group(at + i, size - i < 3 ? size - i : 3, out);
        if ((i + 3) % LINE_BYTES == 0 || i + 3 >= size) {
            jg_str_puts(out, "\n");
        }
    }
}

/* Four letters as up to three bytes. `=` may stand for the last one or two, and the bits
 * that they leave over must be zero, so that a text has one meaning and bytes have one
 * text. */
static bool parse_group(const char *group, struct jg_str *out, bool *ret_is_last)
{
    unsigned value = 0;
    size_t count = 4;
    while (count > 2 && group[count - 1] == '=') {
        count--;
    }
    for (size_t i = 0; i < 4; i++) {
        const char *letter = i < count ? strchr(letters, group[i]) : letters;
        if (letter == NULL || *letter == '\0') {
            return false;
        }
        value = value << 6 | (unsigned)(letter - letters);
    }
    const char bytes[3] = {(char)(value >> 16), (char)(value >> 8 & 255),
                           (char)(value & 255)};
    for (size_t i = count - 1; i < 3; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    jg_str_add(out, bytes, count - 1);
    *ret_is_last = count < 4;
    return true;
}

bool jg_base64_parse_line(const char *line, size_t size, struct jg_str *out)
{
    bool is_last = false;
    for (size_t i = 0; i < size; i += 4) {
        if (is_last || size - i < 4 || !parse_group(line + i, out, &is_last)) {
            return false;
        }
    }
    return true;
}
