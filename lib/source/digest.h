/* SPDX-License-Identifier: MIT */
#ifndef JG_SOURCE_DIGEST_H
#define JG_SOURCE_DIGEST_H

#include "base/hash.h"
#include "source/embedded.h"

/* Names and texts of a table of device sources, in its order. */
struct jg_hash jg_digest_files(const struct jg_embedded_file *files, size_t count);
/* The same over everything that is embedded; computed once in a process. Thread-safe. */
struct jg_hash jg_digest_headers(void);

#endif
