/* SPDX-License-Identifier: MIT */
/* Walking through a fatbin. */
#include "driver/fatbin.h"

#include <stdint.h>
#include <string.h>

/* In the program's data; it leads to the fatbin. */
struct wrapper {
    uint32_t magic, version;
    const void *fatbin;
};

struct header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of all entries */
};

struct entry {
    uint16_t kind, version;
    uint32_t header_bytes; /* from here to the code */
    uint64_t bytes;        /* of the code, with zeros behind it */
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t sm, name, name_bytes;
    uint64_t flags, reserved, full_bytes;
};

static const uint32_t wrapper_magic = 0x466243B1;
static const uint32_t header_magic = 0xBA55ED50;
static const uint64_t compressed_flags = 0x2000 | 0x8000; /* LZ4, Zstandard */

/* A text may be shorter than a number: no byte is read behind one that differs. */
static bool begins_with(const void *data, uint32_t magic)
{
    const unsigned char *bytes = data;
    for (unsigned i = 0; i < 4; i++) {
        if (bytes[i] != (magic >> 8 * i & 0xFF)) {
            return false;
        }
    }
    return true;
}

bool emu_fatbin_open(const void *data, struct emu_fatbin *ret_fatbin)
{
    struct header header;
    if (begins_with(data, wrapper_magic)) {
        struct wrapper wrapper;
        memcpy(&wrapper, data, sizeof(wrapper));
        data = wrapper.fatbin;
    }
    if (data == NULL || !begins_with(data, header_magic)) {
        return false;
    }
    memcpy(&header, data, sizeof(header));
    ret_fatbin->at = (const unsigned char *)data + header.header_bytes;
    ret_fatbin->end = ret_fatbin->at + header.bytes;
    return true;
}

enum emu_fatbin_entry emu_fatbin_next(struct emu_fatbin *fatbin, const char **ret_text,
                                      size_t *ret_length)
{
    const size_t left = (size_t)(fatbin->end - fatbin->at);
    struct entry entry;
    if (left == 0) {
        return EMU_FATBIN_END;
    }
    if (left < sizeof(entry)) {
        return EMU_FATBIN_BROKEN;
    }
    memcpy(&entry, fatbin->at, sizeof(entry));
    if (entry.header_bytes < sizeof(entry) || entry.header_bytes > left ||
        entry.bytes > left - entry.header_bytes) {
        return EMU_FATBIN_BROKEN;
    }
    const char *code = (const char *)fatbin->at + entry.header_bytes;
    fatbin->at += entry.header_bytes + entry.bytes;
    if (entry.kind != 1) {
        return EMU_FATBIN_CODE;
    }
    if ((entry.flags & compressed_flags) != 0) {
        return EMU_FATBIN_COMPRESSED;
    }
    *ret_text = code;
    *ret_length = strnlen(code, (size_t)entry.bytes);
    return EMU_FATBIN_PTX;
}
