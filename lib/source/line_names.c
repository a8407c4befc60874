/* SPDX-License-Identifier: MIT */
#include "source/line_names.h"

#include <string.h>

static void print_shown_name(const char *source_name, struct jg_str *out)
{
    for (const char *at = source_name; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        jg_str_add(out, byte < 32 || byte == 127 ? "?" : at, 1);
    }
}

void jg_source_print_line(uint32_t line, const char *name, struct jg_str *out)
{
    struct jg_str shown = {0};
    print_shown_name(name, &shown);
    jg_str_printf(out, "#line %u \"", line);
    for (const char *at = jg_str_text(&shown); *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            jg_str_puts(out, "\\");
        }
        jg_str_add(out, at, 1);
    }
    jg_str_puts(out, "\"\n");
    out->failed |= shown.failed;
    jg_str_free(&shown);
}

bool jg_source_is_named(const char *file, const char *name, size_t name_size)
{
    struct jg_str shown = {0};
    print_shown_name(file, &shown);
    const bool is_same =
        shown.size == name_size && memcmp(jg_str_text(&shown), name, name_size) == 0;
    jg_str_free(&shown);
    return is_same;
}
