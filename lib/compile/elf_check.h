/* SPDX-License-Identifier: MIT */
/* A look at machine code before it is trusted: is it a whole ELF file for a CUDA device
 * with this kernel in it? Pure. */
#ifndef JG_COMPILE_ELF_CHECK_H
#define JG_COMPILE_ELF_CHECK_H

#include <stddef.h>

/* NULL if all is well, otherwise what is wrong (static). Reads nothing outside of `size`
 * bytes, whatever they hold. */
const char *jg_elf_check(const void *bytes, size_t size, const char *entry);

#endif
