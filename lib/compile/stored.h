/* SPDX-License-Identifier: MIT */
/* A look at the kernels of a cache folder by those who have no problem at hand. Pure, and
 * of nothing but code.h: the command has it, too. */
#ifndef JG_COMPILE_STORED_H
#define JG_COMPILE_STORED_H

#include <stdbool.h>
#include <stddef.h>

/* Fields of key material. Never renumbered: they are on disk. */
enum jg_key_field {
    JG_KEY_MAGIC = 1,
    JG_KEY_SOURCE_FORMAT = 2,
    JG_KEY_LIBRARY_VERSION = 3,
    JG_KEY_HEADERS = 4,
    JG_KEY_COMPILER = 5,
    JG_KEY_ARCH = 6,
    JG_KEY_ENTRY = 7,
    JG_KEY_TEXT = 8,
    JG_KEY_CODE_KIND = 9,
    JG_KEY_LINKED = 10 /* only where something is linked */
};

/* What the first field holds in the key of a kernel. */
#define JG_KEY_MAGIC_TEXT "jit_gemm kernel key"

/*
 * NULL if a create would take this code for this key as far as code can be looked at
 * (jg_code_check), or if the entry holds no kernel; otherwise what is wrong (static). Reads
 * nothing outside of the two sizes, whatever they hold.
 */
const char *jg_stored_check(const void *material, size_t material_size, const void *code,
                            size_t code_size);

/*
 * Metadata of a cache entry: ASCII lines `key=value`, each ended by a line feed, in this
 * order: kind (`cubin`, `ptx`, or `toolchain` for small records on compilers, which have
 * no other keys), problem (that it was made for; others may share the kernel),
 * arch, entry, registers and spill_bytes (not of PTX), compile_ms (three decimals),
 * compiler, library. A value has no line feed. Unknown keys are ignored.
 *
 * Copies the value of `key`, cut to `size` bytes and terminated; false if there is none.
 */
bool jg_metadata_get(const void *metadata, size_t metadata_size, const char *key,
                     char *buffer, size_t size);

#endif
