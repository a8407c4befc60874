/* SPDX-License-Identifier: MIT */
/*
 * Who made the kernels of a cache: small records beside them, one for each compiler, by
 * number from 0 for each version of the library. A machine without NVRTC asks for a kernel
 * under each of them. Of nothing but the cache: the command has it, too.
 */
#ifndef JG_COMPILE_MAKERS_H
#define JG_COMPILE_MAKERS_H

#include "jg_cache.h"

/* Most compilers that a cache remembers for one version of the library. */
#define JG_MAKERS_MAX 16

/* Stands as the metadata of such a record. */
#define JG_MAKERS_METADATA "kind=toolchain\n"

/* The compiler with this number: its signature is the blob's payload. False if there is
 * none. */
bool jg_makers_get(jg_cache *cache, const char *library, int number,
                   jg_cache_blob *ret_blob);

/* Remembers a compiler. OK; EXISTS if it is known; TOO_LARGE if there are 16 others, or
 * what the put came to, with its reason. */
jg_cache_result jg_makers_remember(jg_cache *cache, const char *library,
                                   const char *compiler, char *reason, size_t reason_size);

/* A kernel's version of the library, and compiler. */
struct jg_maker {
    char made_by[32]; /* version of the library */
    char compiler[2048];
};

/* Reads them in a kernel's metadata. False if they do not stand there, or do not fit. */
bool jg_maker_read(const jg_cache_entry *entry, struct jg_maker *ret_maker);

/* Kernels on their way into a bundle, with the makers that must be remembered there. */
struct jg_shipment {
    jg_cache_bundle_writer *writer; /* owned by who began it */
    struct jg_maker makers[JG_MAKERS_MAX];
    int maker_count;
};

/* Adds a kernel. MISS if the cache has none of this name, MISMATCH if it names no maker,
 * TOO_LARGE for one maker too many, NO_MEMORY, or the entry's state. */
jg_cache_result jg_shipment_add(struct jg_shipment *shipment, jg_cache *from,
                                const jg_cache_name *name);
/* Adds the makers, numbered in the order of their texts, and writes the bundle: its bytes
 * depend on the kernels only. As jg_cache_bundle_write; the counts are those of kernels,
 * and of all bytes. */
jg_cache_result jg_shipment_write(struct jg_shipment *shipment, const char *path,
                                  jg_cache_bundle_counts *ret_counts, char *reason,
                                  size_t reason_size);

#endif
