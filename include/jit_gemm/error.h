/* SPDX-License-Identifier: MIT */
/**
 * @file error.h
 * @brief Versions, names of results, and the last error of each thread. Thread-safe.
 */
#ifndef JIT_GEMM_ERROR_H
#define JIT_GEMM_ERROR_H

#include <stddef.h>

#include "jit_gemm/export.h"
#include "jit_gemm/launch.h"
#include "jit_gemm/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the loaded library, for instance "0.1.0". Never NULL; static. */
JIT_GEMM_API const char *jit_gemm_version_string(void);

/** Version of the loaded library as major * 10000 + minor * 100 + patch. */
JIT_GEMM_API int jit_gemm_version(void);

/** Name of a status without prefix, for instance "UNSUPPORTED". Never NULL; static. */
JIT_GEMM_API const char *jit_gemm_status_name(jit_gemm_status status);

/** One sentence that explains a status. Never NULL; static. */
JIT_GEMM_API const char *jit_gemm_status_text(jit_gemm_status status);

/** Name of an origin: "compiled", "disk", "memory" or "bundle"; "unknown" for any other
 * value. Never NULL; static. */
JIT_GEMM_API const char *jit_gemm_origin_name(jit_gemm_origin origin);

/**
 * Text of the last error of this thread: the field, what is wrong, and what to do.
 *
 * Valid until the next call into the library on this thread. Empty if no call failed yet; a
 * call that succeeds does not change it. Never NULL.
 */
JIT_GEMM_API const char *jit_gemm_last_error(void);

/**
 * Takes the structured form of the last error of this thread.
 *
 * @param[out] ret_diagnostics receives an object that the caller destroys; untouched on
 * failure
 * @return OK, ARGUMENT if there is no error to take, NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status
jit_gemm_diagnostics_take(jit_gemm_diagnostics **ret_diagnostics);

/** Number of diagnostics in the object; 0 for NULL. */
JIT_GEMM_API size_t jit_gemm_diagnostics_count(const jit_gemm_diagnostics *diagnostics);

/**
 * Reads one diagnostic.
 *
 * @param diagnostics the object
 * @param index from 0
 * @param[in,out] ret_diagnostic struct_size set by the caller; strings live as long as the
 * object
 * @return OK, ARGUMENT
 */
JIT_GEMM_API jit_gemm_status
jit_gemm_diagnostics_get(const jit_gemm_diagnostics *diagnostics, size_t index,
                         jit_gemm_diagnostic *ret_diagnostic);

/** The compiler's whole log, as it wrote it. Never NULL, may be empty. */
JIT_GEMM_API const char *jit_gemm_diagnostics_log(const jit_gemm_diagnostics *diagnostics);

/** Destroys the object and sets the pointer to NULL. Accepts NULL. */
JIT_GEMM_API void jit_gemm_diagnostics_destroy(jit_gemm_diagnostics **diagnostics);

#ifdef __cplusplus
}
#endif

#endif
