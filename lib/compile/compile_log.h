/* SPDX-License-Identifier: MIT */
/* What the compiler's log says: diagnostics in the user's coordinates, register numbers,
 * notes of the assembler. Pure, except for the thread's error record. */
#ifndef JG_COMPILE_COMPILE_LOG_H
#define JG_COMPILE_COMPILE_LOG_H

#include "base/log.h"
#include "plan/epilogue.h"

/*
 * Fills the error record with COMPILE from the log of a refused unit, and returns COMPILE.
 * Messages on the snippet become diagnostics of origin SNIPPET with the user's line and
 * column; only if there are none, the others follow with origin GENERATED. The whole log is
 * kept with the record. epilogue may be NULL.
 */
jit_gemm_status jg_compile_log_fail(const char *log, size_t size,
                                    const struct jg_epilogue *epilogue);

/*
 * PTX is not linked, so that nobody else misses the body of a function that a snippet has
 * only declared. OK, or COMPILE with the function's place. epilogue may be NULL.
 */
jit_gemm_status jg_compile_log_check_ptx(const char *ptx,
                                         const struct jg_epilogue *epilogue);

/* Registers, and bytes of local memory (the stack frame), that the assembler reports for
 * the entry; false if the log does not tell. */
bool jg_compile_log_usage(const char *log, const char *entry, uint32_t *ret_registers,
                          uint32_t *ret_spill_bytes);

/* Logs as warnings: the assembler's performance notes (wgmma serialised, setmaxnreg ignored
 * and their like), and the compiler's warnings on the snippet. Returns their number. */
int jg_compile_log_warn(const char *log, const struct jg_epilogue *epilogue,
                        struct jg_log *to);

#endif
