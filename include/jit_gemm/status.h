/* SPDX-License-Identifier: MIT */
/**
 * @file status.h
 * @brief What the library says: status codes, log lines and diagnostics. No functions.
 */
#ifndef JIT_GEMM_STATUS_H
#define JIT_GEMM_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Result of a call: zero is success, errors are negative. Values never change. */
typedef enum jit_gemm_status {
    JIT_GEMM_OK = 0,            /**< Success. */
    JIT_GEMM_ERR_ARGUMENT = -1, /**< An argument or field is wrong; the text names it. */
    JIT_GEMM_ERR_UNSUPPORTED =
        -2, /**< Legal, but this version has no kernel for it; the text says why. */
    JIT_GEMM_ERR_NO_MEMORY = -3, /**< There is not enough host or device memory. */
    JIT_GEMM_ERR_NO_DRIVER = -4, /**< The CUDA driver is absent or too old. */
    JIT_GEMM_ERR_NO_COMPILER =
        -5, /**< NVRTC is absent or too old, and the kernel is not cached. */
    JIT_GEMM_ERR_DEVICE =
        -6, /**< The device is absent, unsupported, or reported an error. */
    JIT_GEMM_ERR_COMPILE = -7, /**< The snippet or the generated code did not compile. */
    JIT_GEMM_ERR_LINK = -8,    /**< Reserved: nothing returns it. */
    JIT_GEMM_ERR_LOAD = -9,    /**< The driver refused the compiled kernel. */
    JIT_GEMM_ERR_LAUNCH = -10, /**< The driver refused the launch. */
    JIT_GEMM_ERR_NOT_CACHED =
        -11, /**< The policy forbids compiling and the kernel is not cached. */
    JIT_GEMM_ERR_CAPTURE = -12, /**< The call may block and the stream is being captured. */
    JIT_GEMM_ERR_VERSION =
        -13, /**< A struct is newer than the library and uses fields it lacks. */
    JIT_GEMM_ERR_CANCELLED =
        -14, /**< The caller asked to stop: by a progress callback or jit_gemm_cancel. */
    JIT_GEMM_ERR_IO =
        -15, /**< A file that the caller named could not be read or written. */
    JIT_GEMM_ERR_BUDGET =
        -16, /**< The kernel needs more of the device than the problem allows. */
    JIT_GEMM_ERR_INTERNAL =
        -99 /**< A bug in the library; please report it with the text. */
} jit_gemm_status;

/** Severity of a log line or diagnostic. */
typedef enum jit_gemm_severity {
    JIT_GEMM_SEVERITY_ERROR = 0,   /**< The call failed. */
    JIT_GEMM_SEVERITY_WARNING = 1, /**< Something that the caller should look at. */
    JIT_GEMM_SEVERITY_INFO = 2,    /**< What happened: at most a few lines per create. */
    JIT_GEMM_SEVERITY_DEBUG = 3    /**< Everything else. */
} jit_gemm_severity;

/**
 * Receives log lines.
 * @param user the pointer given with the callback
 * @param severity how serious the line is
 * @param text one line, zero-terminated, without a line end; valid only during the call
 *
 * The library calls it from any thread that uses the context, but never concurrently for
 * one context. The callback must not call back into the library, and must return to it: no
 * exception and no longjmp may pass through the library, which holds locks.
 */
typedef void (*jit_gemm_log_fn)(void *user, jit_gemm_severity severity, const char *text);

/** What a diagnostic speaks of. */
typedef enum jit_gemm_diagnostic_origin {
    JIT_GEMM_DIAGNOSTIC_FIELD = 0,   /**< An argument or struct field; `where` names it. */
    JIT_GEMM_DIAGNOSTIC_SNIPPET = 1, /**< The user's snippet, line and column. */
    JIT_GEMM_DIAGNOSTIC_GENERATED = 2, /**< The generated source: a bug of the library. */
    JIT_GEMM_DIAGNOSTIC_SYSTEM = 3     /**< Driver, compiler, file system. */
} jit_gemm_diagnostic_origin;

/** One diagnostic. The strings live as long as the diagnostics object. */
typedef struct jit_gemm_diagnostic {
    size_t struct_size;         /**< sizeof(jit_gemm_diagnostic), set by the caller. */
    jit_gemm_severity severity; /**< Error or warning. */
    jit_gemm_diagnostic_origin origin; /**< What it speaks of. */
    uint32_t line;     /**< Line in the snippet's file, from 1; 0 if it has none. */
    uint32_t column;   /**< Column in bytes, from 1; 0 if it is unknown. */
    const char *where; /**< Field, operand or file name; never NULL. */
    const char *text;  /**< What is wrong; never NULL. */
    const char *hint;  /**< What to do about it; never NULL, may be empty. */
} jit_gemm_diagnostic;

typedef struct jit_gemm_diagnostics
    jit_gemm_diagnostics; /**< Opaque: what went wrong, in items. */

#ifdef __cplusplus
}
#endif

#endif
