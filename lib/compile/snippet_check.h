/* SPDX-License-Identifier: MIT */
/* A snippet through the compiler without a kernel: tens of milliseconds. */
#ifndef JG_COMPILE_SNIPPET_CHECK_H
#define JG_COMPILE_SNIPPET_CHECK_H

#include "base/log.h"
#include "compile/compiler.h"

/* Compiles the snippet's function alone, for an architecture. Warnings on the snippet are
 * logged. `limit_ms`: of time, 0 is none. COMPILE with the diagnostics of a create;
 * NO_COMPILER, NO_MEMORY, INTERNAL. */
jit_gemm_status jg_snippet_compile(struct jg_compiler *compiler, const char *arch,
                                   const struct jg_epilogue *epilogue, uint32_t limit_ms,
                                   struct jg_log *log);

#endif
