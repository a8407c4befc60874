/* SPDX-License-Identifier: MIT */
/* A growable text. Failure sticks: after a failed growth all calls do nothing, and the end
 * of the work checks once. Zero-initialise with {0}; data is NULL until the first byte. */
#ifndef JG_BASE_STR_H
#define JG_BASE_STR_H

#include <stdbool.h>

#include "base/status.h"

struct jg_str {
    char *data; /* zero-terminated once not NULL */
    size_t size;
    size_t capacity;
    bool failed;
};

void jg_str_add(struct jg_str *str, const char *bytes, size_t size);
void jg_str_puts(struct jg_str *str, const char *text);
void jg_str_printf(struct jg_str *str, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A number from 0 with so many decimals, the same in every locale. */
void jg_str_fixed(struct jg_str *str, double value, int digits);
/* Canonical bytes: little-endian integers, and a typed field: tag (u32), length (u64),
 * bytes. */
void jg_bytes_u32(struct jg_str *out, uint32_t value);
void jg_bytes_u64(struct jg_str *out, uint64_t value);
void jg_bytes_field(struct jg_str *out, uint32_t tag, const void *data, size_t size);

/* Never NULL. */
const char *jg_str_text(const struct jg_str *str);
/* NO_MEMORY if any growth failed. */
jit_gemm_status jg_str_status(const struct jg_str *str);
void jg_str_free(struct jg_str *str);

/* Copies text into a caller's buffer: cut to size, always terminated when size > 0;
 * ret_length (may be NULL) receives the whole length. */
void jg_str_export(const char *text, size_t length, char *buffer, size_t size,
                   size_t *ret_length);
/* Frees a text that was made with this status, and exports it if all went well: the status,
 * or NO_MEMORY if any growth failed. */
jit_gemm_status jg_str_deliver(struct jg_str *str, jit_gemm_status status, char *buffer,
                               size_t size, size_t *ret_length);

#endif
