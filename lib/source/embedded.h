/* SPDX-License-Identifier: MIT */
/* The device sources, embedded at build time by tools/dev/embed_sources.py. */
#ifndef JG_SOURCE_EMBEDDED_H
#define JG_SOURCE_EMBEDDED_H

#include <stddef.h>

struct jg_embedded_file {
    const char *name; /* as included: "jg/common/types.cuh" */
    const char *text; /* zero-terminated */
    size_t size;      /* without the zero byte */
};

/* Sorted by name. Defined in the generated file. */
extern const struct jg_embedded_file jg_embedded_files[];
extern const size_t jg_embedded_file_count;

#endif
