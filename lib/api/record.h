/* SPDX-License-Identifier: MIT */
/* What was asked of a context, as lines of a manifest ("problem <text>"), each once, in
 * order. Thread-safe. */
#ifndef JG_API_RECORD_H
#define JG_API_RECORD_H

#include <stdbool.h>

#include "base/str.h"

struct jg_record;

/* NULL on lack of memory. */
struct jg_record *jg_record_create(void);
/* Accepts NULL. */
void jg_record_destroy(struct jg_record *record);
/* Keeps a copy unless the line is there. NO_MEMORY. */
jit_gemm_status jg_record_add(struct jg_record *record, const char *text);
/* Does any of the lines name this epilogue? */
bool jg_record_has_epilogue(struct jg_record *record, const char *name);
/* Appends them, each with a line feed. */
void jg_record_print(struct jg_record *record, struct jg_str *out);

#endif
