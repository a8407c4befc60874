/* SPDX-License-Identifier: MIT */
/* Fatbins as nvcc writes them, made by hand. */
#ifndef EMU_TESTS_TEST_FATBIN_H
#define EMU_TESTS_TEST_FATBIN_H

#include <stddef.h>

enum { FATBIN_PTX = 1, FATBIN_CUBIN = 2, FATBIN_LZ4 = 0x2000, FATBIN_ZSTD = 0x8000 };

/* Zeroed at first. */
struct fatbin {
    _Alignas(8) unsigned char bytes[32768];
    size_t used;
};

/* What a program's data holds, and __cudaRegisterFatBinary takes. */
struct fatbin_wrapper {
    unsigned magic, version;
    const void *fatbin;
    void *more;
};

/* Adds an entry, a text. `flags`: 0, or how it is compressed. */
void fatbin_add(struct fatbin *fatbin, unsigned kind, unsigned flags, const char *code);
/* The same, of compressed bytes that are `full_bytes` when they are expanded. */
void fatbin_add_bytes(struct fatbin *fatbin, unsigned kind, unsigned flags,
                      const void *code, size_t bytes, size_t full_bytes);
struct fatbin_wrapper fatbin_wrap(const struct fatbin *fatbin);

#endif
