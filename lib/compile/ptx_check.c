/* SPDX-License-Identifier: MIT */
#include "compile/ptx_check.h"

#include <string.h>

static const char version_word[] = ".version ";
static const char entry_word[] = ".entry ";

static int is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' || byte == '%';
}

/* Does an entry of this name begin somewhere in the text? */
static int has_entry(const char *text, const char *end, const char *entry)
{
    const size_t word_size = sizeof(entry_word) - 1;
    const size_t entry_size = strlen(entry);
    for (const char *at = text;
         (at = memmem(at, (size_t)(end - at), entry_word, word_size)) != NULL;) {
        at += word_size;
        if ((size_t)(end - at) > entry_size && memcmp(at, entry, entry_size) == 0 &&
            !is_name_byte(at[entry_size])) {
            return 1;
        }
    }
    return 0;
}

const char *jg_ptx_check(const void *bytes, size_t size, const char *entry)
{
    const char *text = bytes;
    if (size == 0 || memchr(text, '\0', size) != NULL) {
        return "it is not text";
    }
    if (memmem(text, size, version_word, sizeof(version_word) - 1) == NULL) {
        return "it is not PTX";
    }
    return has_entry(text, text + size, entry) ? NULL
                                               : "it has no kernel of the expected name";
}
