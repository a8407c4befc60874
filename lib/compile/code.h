/* SPDX-License-Identifier: MIT */
/* The code that a build makes: its two kinds, and a look at it before it is trusted. Pure.
 */
#ifndef JG_COMPILE_CODE_H
#define JG_COMPILE_CODE_H

#include <stddef.h>

/* What the driver takes decides. */
enum jg_code_kind {
    JG_CODE_CUBIN, /* machine code, an ELF file */
    JG_CODE_PTX    /* text, for drivers that assemble or execute it themselves */
};

/* Stands in keys, in metadata and as the suffix of dumped files. */
static inline const char *jg_code_kind_name(enum jg_code_kind kind)
{
    return kind == JG_CODE_PTX ? "ptx" : "cubin";
}

/*
 * NULL if all is well, otherwise what is wrong (static): is it a whole ELF file for a CUDA
 * device with this kernel in it, or text with this kernel in it? Reads nothing outside of
 * `size` bytes, whatever they hold.
 */
const char *jg_code_check(enum jg_code_kind kind, const void *bytes, size_t size,
                          const char *entry);

#endif
