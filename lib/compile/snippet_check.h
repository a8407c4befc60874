/* SPDX-License-Identifier: MIT */
/* A snippet through the compiler without a kernel: tens of milliseconds. */
#ifndef JG_COMPILE_SNIPPET_CHECK_H
#define JG_COMPILE_SNIPPET_CHECK_H

#include "base/log.h"
#include "compile/compiler.h"

/* What a compile of a snippet alone goes by. Everything is borrowed for the call. */
struct jg_snippet_check {
    const char *arch;
    uint32_t limit_ms; /* of time; 0: none */
    struct jg_stop stop;
    struct jg_log *log; /* receives warnings on the snippet; may be NULL */
};

/* Compiles the snippet's function alone. COMPILE with the diagnostics of a create;
 * NO_COMPILER, NO_MEMORY, CANCELLED, INTERNAL. */
jit_gemm_status jg_snippet_compile(struct jg_compiler *compiler,
                                   const struct jg_epilogue *epilogue,
                                   const struct jg_snippet_check *check);

#endif
