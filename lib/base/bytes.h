/* SPDX-License-Identifier: MIT */
/* Canonical bytes: little-endian integers and length-prefixed fields appended to a jg_str.
 */
#ifndef JG_BASE_BYTES_H
#define JG_BASE_BYTES_H

#include "base/str.h"

void jg_bytes_u32(struct jg_str *out, uint32_t value);
void jg_bytes_u64(struct jg_str *out, uint64_t value);
/* A typed field: tag (u32), length (u64), bytes. */
void jg_bytes_field(struct jg_str *out, uint32_t tag, const void *data, size_t size);

#endif
