/* SPDX-License-Identifier: MIT */
/* Locations as a person wants to read them. */
#include <string.h>

#include "ptx/ptx.h"

#define NESTING_MAX 32u

/* A part of a mangled name (Itanium C++ ABI, section 5.1). */
struct part {
    const char *at;
    size_t length;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* `6helper`: a length and as many characters. Returns what follows, or NULL. */
static const char *skip_source_name(const char *at, struct part *ret)
{
    size_t length = 0;
    while (is_digit(*at) && length < 1000000) {
        length = length * 10 + (size_t)(*at++ - '0');
    }
    if (length == 0 || strnlen(at, length) < length) {
        return NULL;
    }
    *ret = (struct part){.at = at, .length = length};
    return at + length;
}

/* `S_`, `S1A_`, `T0_`: up to the underscore. `St` and its like: two characters. */
static const char *skip_substitution(const char *at)
{
    if (*at == 'S' && at[1] >= 'a' && at[1] <= 'z') {
        return at + 2;
    }
    at++;
    while (is_digit(*at) || is_upper(*at)) {
        at++;
    }
    return *at == '_' ? at + 1 : NULL;
}

/* From behind an opening letter to behind its `E`; in a literal (`Lj64E`) digits are no
 * lengths unless they come first. NULL when something else is met. */
static const char *skip_to_end(const char *at, bool literal, unsigned depth)
{
    struct part ignored;
    bool type = true; /* of a literal: its type may still come */
    while (at != NULL && *at != '\0' && *at != 'E') {
        if (is_digit(*at) && (!literal || type)) {
            at = skip_source_name(at, &ignored);
            type = false;
        } else if (*at == 'S' || *at == 'T') {
            at = skip_substitution(at);
            type = false;
        } else if (strchr("NIJXFL", *at) != NULL) {
            at = depth < NESTING_MAX ? skip_to_end(at + 1, *at == 'L', depth + 1) : NULL;
            type = false;
        } else {
            type = type && (*at == 'P' || *at == 'K');
            at++;
        }
    }
    return at == NULL || *at == '\0' ? NULL : at + 1;
}

/* The last name of `_ZN2jg4ring12run_producerILi3EEEvv`; false for what is not so plain. */
static bool find_short_name(const char *mangled, struct part *ret)
{
    if (strncmp(mangled, "_Z", 2) != 0) {
        return false;
    }
    const bool nested = mangled[2] == 'N';
    const char *at = mangled + (nested ? 3 : 2);
    bool found = false;
    if (nested) {
        at += strspn(at, "rVKRO");
    }
    while (at != NULL && *at != '\0' && *at != 'E') {
        if (is_digit(*at)) {
            at = skip_source_name(at, ret);
            found = at != NULL;
        } else if (*at == 'L') {
            at++;
        } else if (*at == 'I') {
            at = skip_to_end(at + 1, false, 0);
        } else if (*at == 'S') {
            at = skip_substitution(at);
        } else {
            return false;
        }
        if (found && !nested) {
            return true;
        }
    }
    return at != NULL && *at == 'E' && found;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

void ptx_describe_location(const struct ptx_module *module,
                           const struct ptx_location *location, struct emu_text *text)
{
    const bool named = location->file < module->file_count &&
                       module->files[location->file] != NULL &&
                       base_name(module->files[location->file])[0] != '\0';
    if (location->line == 0) {
        emu_text_add(text, "ptx line %u", location->ptx_line);
        return;
    }
    if (named) {
        emu_text_add(text, "%s:%u", base_name(module->files[location->file]),
                     location->line);
    } else {
        emu_text_add(text, "file %u, line %u", location->file, location->line);
    }
    if (location->function != NULL) {
        struct part name = {.at = location->function, .length = strlen(location->function)};
        struct part shorter = name;
        if (find_short_name(location->function, &shorter)) {
            name = shorter;
        }
        emu_text_add(text, " (%.*s)", (int)name.length, name.at);
    }
}

void ptx_describe_full_location(const struct ptx_module *module,
                                const struct ptx_location *location, struct emu_text *text)
{
    ptx_describe_location(module, location, text);
    if (location->line != 0) {
        emu_text_add(text, ", PTX line %u", location->ptx_line);
    }
}
