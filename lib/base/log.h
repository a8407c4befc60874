/* SPDX-License-Identifier: MIT */
/* Log lines to the context's callback, and where JIT_GEMM_LOG says. A NULL logger is legal
 * and silent. Thread-safe: calls of the callback are serialised. */
#ifndef JG_BASE_LOG_H
#define JG_BASE_LOG_H

#include "base/log_file.h"

struct jg_log;

/* `file` gets lines by its own level, and is closed with the logger; NULL: none. NULL on
 * lack of memory: the file stays the caller's then. */
struct jg_log *jg_log_create(jit_gemm_log_fn function, void *user, jit_gemm_severity level,
                             const struct jg_log_file *file);
void jg_log_destroy(struct jg_log *log);
void jg_log_line(struct jg_log *log, jit_gemm_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
