/* SPDX-License-Identifier: MIT */
/* Bytes as text (RFC 4648, section 4). */
#ifndef JG_BASE_BASE64_H
#define JG_BASE_BASE64_H

#include "base/str.h"

/* Appends the text, in lines of 76 letters, each ended by a line feed. */
void jg_base64_print(const void *bytes, size_t size, struct jg_str *out);
/* Appends the bytes of one line, which must stand for whole groups of four letters; `=`
 * ends the last. False if it is anything else, and then some bytes may have been appended.
 */
bool jg_base64_parse_line(const char *line, size_t size, struct jg_str *out);

#endif
