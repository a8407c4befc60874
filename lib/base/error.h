/* SPDX-License-Identifier: MIT */
/*
 * The last-error record of a thread: one text, a list of diagnostics, the compiler's log.
 *
 * Every function that fails fills it exactly once, at the place that knows most, and
 * returns the status; callers forward with JG_TRY. All strings are copied. If memory runs
 * out while the record is made, the text says so and the status is kept.
 */
#ifndef JG_BASE_ERROR_H
#define JG_BASE_ERROR_H

#include "base/status.h"

/*
 * Replaces the record by one diagnostic of origin FIELD and returns `status`.
 * `where` names the argument or field ("problem.m"), `hint` what to do ("" if nothing); the
 * text is printf-style. The thread's last-error text becomes "<where>: <text>; <hint>".
 */
jit_gemm_status jg_fail(jit_gemm_status status, const char *where, const char *hint,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same with origin SYSTEM: driver, compiler, file system. */
jit_gemm_status jg_fail_system(jit_gemm_status status, const char *where, const char *hint,
                               const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* NO_MEMORY with a fixed text; allocates nothing. */
jit_gemm_status jg_fail_memory(void);

/* Starts an empty record; then add diagnostics; the first error becomes the last-error
 * text. */
void jg_error_begin(jit_gemm_status status);
/* origin, line and column as in jit_gemm_diagnostic. For a SNIPPET diagnostic the text form
 * is "line:column: error: text" with the hint after "; ". */
void jg_error_add(jit_gemm_severity severity, jit_gemm_diagnostic_origin origin,
                  uint32_t line, uint32_t column, const char *where, const char *text,
                  const char *hint);
/* Keeps the compiler's whole log with the record. */
void jg_error_log(const char *log, size_t size);

/* Last-error text of this thread; never NULL. */
const char *jg_error_text(void);
/* Status of the record; JIT_GEMM_OK if there is none. */
jit_gemm_status jg_error_status(void);

/* No error: for a failure that was kept elsewhere, in a call that succeeds. */
void jg_error_clear(void);

/* The public diagnostics object. Take detaches the record of this thread. */
jit_gemm_status jg_diagnostics_take(jit_gemm_diagnostics **ret_diagnostics);
size_t jg_diagnostics_count(const jit_gemm_diagnostics *diagnostics);
/* NULL if the index is out of range. */
const jit_gemm_diagnostic *jg_diagnostics_at(const jit_gemm_diagnostics *diagnostics,
                                             size_t index);
const char *jg_diagnostics_log(const jit_gemm_diagnostics *diagnostics);
void jg_diagnostics_destroy(jit_gemm_diagnostics **diagnostics);

/* Puts a taken record back as this thread's last error, so that a thread which waited for
 * another thread's build reports the same error. Copies. */
void jg_error_restore(jit_gemm_status status, const jit_gemm_diagnostics *diagnostics);

#endif
