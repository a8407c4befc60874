/* SPDX-License-Identifier: MIT */
/* Log lines to the context's callback. A NULL logger is legal and silent. Thread-safe:
 * calls of the callback are serialised. */
#ifndef JG_BASE_LOG_H
#define JG_BASE_LOG_H

#include "base/status.h"

struct jg_log;

/* NULL on lack of memory. */
struct jg_log *jg_log_create(jit_gemm_log_fn function, void *user, jit_gemm_severity level);
void jg_log_destroy(struct jg_log *log);
void jg_log_line(struct jg_log *log, jit_gemm_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
