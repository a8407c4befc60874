/* SPDX-License-Identifier: MIT */
#include "compile/stored.h"

#include <stdint.h>
#include <string.h>

#include "compile/code.h"

enum { FIELD_HEAD_BYTES = 12, ENTRY_SIZE = 128 }; /* tag (u32), length (u64) */

struct field {
    const char *bytes;
    size_t size;
};

static uint64_t read_number(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/* Finds the first field of that number. */
static bool find_field(const void *material, size_t size, enum jg_key_field wanted,
                       struct field *ret_field)
{
    const unsigned char *at = material;
    while (size >= FIELD_HEAD_BYTES) {
        const uint64_t number = read_number(at, 4);
        const uint64_t length = read_number(at + 4, 8);
        at += FIELD_HEAD_BYTES;
        size -= FIELD_HEAD_BYTES;
        if (length > size) {
            return false;
        }
        if (number == (uint64_t)wanted) {
            *ret_field = (struct field){(const char *)at, (size_t)length};
            return true;
        }
        at += length;
        size -= (size_t)length;
    }
    return false;
}

static bool is_text(const struct field *field, const char *text)
{
    return field->size == strlen(text) && memcmp(field->bytes, text, field->size) == 0;
}

const char *jg_stored_check(const void *material, size_t material_size, const void *code,
                            size_t code_size)
{
    struct field magic;
    struct field kind;
    struct field entry;
    char name[ENTRY_SIZE];
    if (!find_field(material, material_size, JG_KEY_MAGIC, &magic) ||
        !is_text(&magic, JG_KEY_MAGIC_TEXT)) {
        return NULL;
    }
    if (!find_field(material, material_size, JG_KEY_CODE_KIND, &kind) ||
        !find_field(material, material_size, JG_KEY_ENTRY, &entry) ||
        entry.size >= sizeof(name)) {
        return "its key does not name the kernel";
    }
    memcpy(name, entry.bytes, entry.size);
    name[entry.size] = '\0';
    for (enum jg_code_kind one = JG_CODE_CUBIN; one <= JG_CODE_PTX; one++) {
        if (is_text(&kind, jg_code_kind_name(one))) {
            return jg_code_check(one, code, code_size, name);
        }
    }
    return "its key names no form of code";
}

bool jg_metadata_get(const void *metadata, size_t metadata_size, const char *key,
                     char *buffer, size_t size)
{
    const char *at = metadata;
    const char *end = at != NULL ? at + metadata_size : NULL;
    const size_t key_size = strlen(key);
    while (at != NULL && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL) {
            return false;
        }
        if ((size_t)(line_end - at) > key_size && memcmp(at, key, key_size) == 0 &&
            at[key_size] == '=') {
            at += key_size + 1;
            const size_t length = (size_t)(line_end - at);
            const size_t copied = length < size ? length : size - 1;
            memcpy(buffer, at, copied);
            buffer[copied] = '\0';
            return true;
        }
        at = line_end + 1;
    }
    return false;
}
