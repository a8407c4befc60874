/* SPDX-License-Identifier: MIT */
/* Whole files, as texts. */
#ifndef JG_BASE_FILE_H
#define JG_BASE_FILE_H

#include "base/str.h"

/* Reads a file of at most `most_bytes` bytes; appends it. IO naming "path", NO_MEMORY. */
jit_gemm_status jg_file_read(const char *path, size_t most_bytes, struct jg_str *out);
/* Could jg_file_replace write this file? Makes a temporary one and removes it. */
jit_gemm_status jg_file_check(const char *path);
/* Writes a file by a temporary one and a rename: a reader sees the old file or the whole
 * new one. IO naming "path", NO_MEMORY. */
jit_gemm_status jg_file_replace(const char *path, const struct jg_str *text);

#endif
