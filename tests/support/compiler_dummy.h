/* SPDX-License-Identifier: MIT */
/* A compiler that compiles nothing. */
#ifndef JG_TESTS_COMPILER_DUMMY_H
#define JG_TESTS_COMPILER_DUMMY_H

#include <stdatomic.h>

#include "compile/compiler.h"

/*
 * Returns, after `delay_ms`, a small ELF file with the requested entry and the unit's hash
 * in it (jg_hash_hex) and 168 registers, or as little PTX; a unit that holds the text
 * "DUMMY_ERROR" is refused like a bad snippet; one with "DUMMY_BROKEN" as by an assembler
 * that breaks, and of one with "DUMMY_NO_CODE" comes no machine code. Counts its calls.
 * NO_MEMORY.
 */
jit_gemm_status jg_compiler_dummy_create(int delay_ms, struct jg_compiler **ret_compiler);
int jg_compiler_dummy_calls(const struct jg_compiler *compiler);
/* Counts them there as well, when they begin: in memory that processes share. */
void jg_compiler_dummy_count_in(struct jg_compiler *compiler, atomic_int *counter);

/* The smallest file that looks like a cubin with this kernel, appended to `out`; of other
 * text it is another. */
void jg_compiler_dummy_code(const char *entry, const char *text, struct jg_str *out);

/* From now on each compile waits inside until this is called with false, and looks only
 * then whether it was cancelled: as between two long steps. */
void jg_compiler_dummy_hold(struct jg_compiler *compiler, bool is_holding);
/* Compiles that wait so. */
int jg_compiler_dummy_held(const struct jg_compiler *compiler);

#endif
