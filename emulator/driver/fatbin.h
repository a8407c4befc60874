/* SPDX-License-Identifier: MIT */
/*
 * Fatbins: what nvcc puts into a program, several codes of one kernel in a row. Their
 * layout is in no document; it was read off what nvcc 12 and 13 write.
 */
#ifndef EMU_DRIVER_FATBIN_H
#define EMU_DRIVER_FATBIN_H

#include <stdbool.h>
#include <stddef.h>

/* What is left of one. */
struct emu_fatbin {
    const unsigned char *at, *end;
};

/* PTX: a text, not ended by a zero, which lives as long as the fatbin; or compressed. */
struct emu_fatbin_ptx {
    const char *data;
    size_t bytes;
    bool is_zstandard; /* else LZ4; both only where it is compressed */
    size_t full_bytes; /* of the text that it becomes */
};

enum emu_fatbin_entry {
    EMU_FATBIN_END,
    EMU_FATBIN_PTX,
    EMU_FATBIN_COMPRESSED, /* PTX too */
    EMU_FATBIN_CODE,       /* a cubin, or LTO-IR */
    EMU_FATBIN_BROKEN      /* it is longer than what holds it, or shorter than its header */
};

/* False when the data is neither a fatbin nor the wrapper that leads to one. */
bool emu_fatbin_open(const void *data, struct emu_fatbin *ret_fatbin);
/* The next entry; ret_ptx is filled for both kinds of PTX. */
enum emu_fatbin_entry emu_fatbin_next(struct emu_fatbin *fatbin,
                                      struct emu_fatbin_ptx *ret_ptx);
/* The text that compressed PTX becomes, of full_bytes, to be freed with emu_free. NULL: the
 * machine has no libzstd.so.1, it is LZ4, or it is damaged; ret_reason says which. */
char *emu_fatbin_expand(const struct emu_fatbin_ptx *ptx, const char **ret_reason);

#endif
