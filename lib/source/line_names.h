/* SPDX-License-Identifier: MIT */
/* Names of a unit's parts: as #line has them, and as the compiler's messages show them. */
#ifndef JG_SOURCE_LINE_NAMES_H
#define JG_SOURCE_LINE_NAMES_H

#include <stdbool.h>

#include "base/str.h"

/* Appends a #line directive: what follows is line `line` of `name`, whose control
 * characters become '?'. */
void jg_source_print_line(uint32_t line, const char *name, struct jg_str *out);

/* Does a message that shows `name` speak of `file`? */
bool jg_source_is_named(const char *file, const char *name, size_t name_size);

#endif
