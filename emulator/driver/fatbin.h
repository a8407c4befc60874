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

enum emu_fatbin_entry {
    EMU_FATBIN_END,
    EMU_FATBIN_PTX,
    EMU_FATBIN_COMPRESSED, /* PTX too */
    EMU_FATBIN_CODE,       /* a cubin, or LTO-IR */
    EMU_FATBIN_BROKEN      /* it is longer than what holds it, or shorter than its header */
};

/* False when the data is neither a fatbin nor the wrapper that leads to one. */
bool emu_fatbin_open(const void *data, struct emu_fatbin *ret_fatbin);
/* The next entry. The text of PTX is not ended by a zero, and lives as long as the data. */
enum emu_fatbin_entry emu_fatbin_next(struct emu_fatbin *fatbin, const char **ret_text,
                                      size_t *ret_length);

#endif
