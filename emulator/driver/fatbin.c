/* SPDX-License-Identifier: MIT */
/* Walking through a fatbin. */
#include "driver/fatbin.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"

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

/* Magic number and version; of a fatbin also the version and bytes of its header. */
static const uint64_t wrapper_mark = UINT64_C(0x1466243B1);
static const uint64_t linked_wrapper_mark = UINT64_C(0x2466243B1);
static const uint64_t header_mark = UINT64_C(0x100001BA55ED50);
static const uint64_t lz4_flag = 0x2000;
static const uint64_t zstandard_flag = 0x8000;
static const uint64_t most_bytes = UINT64_C(64) << 20; /* as of a text */

/* A text may be shorter than a mark: no byte is read behind one that differs. */
static bool begins_with(const void *data, uint64_t mark)
{
    const unsigned char *bytes = data;
    for (unsigned i = 0; i < sizeof(mark); i++) {
        if (bytes[i] != (mark >> 8 * i & 0xFF)) {
            return false;
        }
    }
    return true;
}

bool emu_fatbin_open(const void *data, struct emu_fatbin *ret_fatbin)
{
    struct header header;
    if (begins_with(data, wrapper_mark) || begins_with(data, linked_wrapper_mark)) {
        struct wrapper wrapper;
        memcpy(&wrapper, data, sizeof(wrapper));
        data = wrapper.fatbin;
    }
    if (data == NULL || !begins_with(data, header_mark)) {
        return false;
    }
    memcpy(&header, data, sizeof(header));
    ret_fatbin->at = (const unsigned char *)data + header.header_bytes;
    ret_fatbin->end = ret_fatbin->at + header.bytes;
    return true;
}

enum emu_fatbin_entry emu_fatbin_next(struct emu_fatbin *fatbin,
                                      struct emu_fatbin_ptx *ret_ptx)
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
    const bool is_compressed = (entry.flags & (lz4_flag | zstandard_flag)) != 0;
    if (is_compressed &&
        (entry.compressed_bytes > entry.bytes || entry.full_bytes > most_bytes)) {
        return EMU_FATBIN_BROKEN;
    }
    *ret_ptx =
        (struct emu_fatbin_ptx){.data = code,
                                .bytes = is_compressed ? entry.compressed_bytes
                                                       : strnlen(code, (size_t)entry.bytes),
                                .is_zstandard = (entry.flags & zstandard_flag) != 0,
                                .full_bytes = (size_t)entry.full_bytes};
    return is_compressed ? EMU_FATBIN_COMPRESSED : EMU_FATBIN_PTX;
}

/* ------------------------------------------------------------------------- compression */

/* libzstd is opened when it is needed: nothing else needs it. */
typedef size_t (*decompress_function)(void *to, size_t room, const void *from,
                                      size_t bytes);

static decompress_function find_decompress(void)
{
    static decompress_function found; /* under the driver's lock */
    if (found == NULL) {
        void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
        void *symbol = library == NULL ? NULL : dlsym(library, "ZSTD_decompress");
        memcpy(&found, &symbol, sizeof(found));
    }
    return found;
}

char *emu_fatbin_expand(const struct emu_fatbin_ptx *ptx, const char **ret_reason)
{
    const decompress_function decompress = ptx->is_zstandard ? find_decompress() : NULL;
    if (decompress == NULL) {
        *ret_reason = ptx->is_zstandard ? "there is no libzstd.so.1 to expand it"
                                        : "it is LZ4, which is not supported";
        return NULL;
    }
    char *text = emu_alloc(ptx->full_bytes + 1);
    /* An error is a number above any size. */
    if (decompress(text, ptx->full_bytes, ptx->data, ptx->bytes) != ptx->full_bytes) {
        emu_free(text);
        *ret_reason = "it is damaged";
        return NULL;
    }
    return text;
}
