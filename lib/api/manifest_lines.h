/* SPDX-License-Identifier: MIT */
/* The lines of a manifest: items, and errors that name the line. */
#ifndef JG_API_MANIFEST_LINES_H
#define JG_API_MANIFEST_LINES_H

#include "base/error.h"
#include "base/lines.h"

/* The next line of the format, without blanks around it and comments; false at the end. */
bool jg_manifest_next(struct jg_lines *reader);
/* Does the line begin with this word and a blank? Then what stands behind is given, without
 * the blanks between. */
bool jg_manifest_take(const struct jg_lines *reader, const char *keyword,
                      const char **ret_rest, size_t *ret_size);

/* Fails with the line, and the epilogue that it is in. */
jit_gemm_status jg_manifest_fail(const struct jg_lines *reader, jit_gemm_status status,
                                 const char *hint, const char *text);
/* Puts the line before an error that a lower floor reported. */
jit_gemm_status jg_manifest_forward(const struct jg_lines *reader, jit_gemm_status status);
/* A line of an epilogue that is none, or stands at the wrong place. */
jit_gemm_status jg_manifest_fail_in_epilogue(const struct jg_lines *reader);
/* The same outside of an epilogue. */
jit_gemm_status jg_manifest_fail_item(const struct jg_lines *reader);

#endif
