/* SPDX-License-Identifier: MIT */
/*
 * Problem and config to the text of a source unit. Data only, never assembled logic. Pure:
 * the same input gives the same text, byte for byte.
 *
 * The unit's parts carry #line names, so that a message of the compiler says which part it
 * speaks of: jit_gemm_config, jit_gemm_epilogue (the frame around the snippet),
 * jit_gemm_compiled (the declaration or the text of a compiled function), jit_gemm_entry,
 * and the epilogue's name, under which the snippet begins at line 1: where it stands in the
 * user's file is no part of a kernel. With lineinfo, which profilers read, it has the
 * user's own file and lines.
 */
#ifndef JG_SOURCE_ASSEMBLE_H
#define JG_SOURCE_ASSEMBLE_H

#include "plan/choose.h"
#include "source/unit.h"

/* NO_MEMORY. The caller frees with jg_source_free. */
jit_gemm_status jg_source_assemble(const struct jg_arch *arch,
                                   const struct jg_problem *problem,
                                   const struct jg_choice *choice,
                                   struct jg_source *ret_source);
/* Appends a unit that holds the snippet in its function and no kernel: the compiler says of
 * it what it would say of the whole. NO_MEMORY. */
jit_gemm_status jg_source_assemble_snippet(const struct jg_epilogue *epilogue,
                                           struct jg_str *out);

#endif
