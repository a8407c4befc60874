/* SPDX-License-Identifier: MIT */
/* The device sources, embedded at build time by tools/dev/embed_sources.py, and digests of
 * them. */
#ifndef JG_SOURCE_EMBEDDED_H
#define JG_SOURCE_EMBEDDED_H

#include <stddef.h>

#include "base/hash.h"

struct jg_embedded_file {
    const char *name; /* as included: "jg/common/types.cuh" */
    const char *text; /* zero-terminated */
    size_t size;      /* without the zero byte */
};

/* Sorted by name. Defined in the generated file. */
extern const struct jg_embedded_file jg_embedded_files[];
extern const size_t jg_embedded_file_count;

/* Names and texts of a table of device sources, in its order. */
struct jg_hash jg_digest_files(const struct jg_embedded_file *files, size_t count);
/* The same over everything that is embedded; computed once in a process. Thread-safe. */
struct jg_hash jg_digest_headers(void);

#endif
