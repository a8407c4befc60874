/* SPDX-License-Identifier: MIT */
/*
 * The epilogue in a source unit: what the headers ask of it, and the frame around the
 * user's snippet (kernel_src/jg/epilogue/user_epilogue.cuh). Pure.
 */
#ifndef JG_SOURCE_EPILOGUE_FRAME_H
#define JG_SOURCE_EPILOGUE_FRAME_H

#include "base/str.h"
#include "plan/problem.h"

/* #line name of the frame around the snippet, the line on which the frame ends, and the
 * name of the snippet used without an epilogue. */
#define JG_SOURCE_FRAME        "jit_gemm_epilogue"
#define JG_SOURCE_FRAME_END    4
#define JG_SOURCE_DEFAULT_NAME "jit_gemm_default"
/* #line name of what is said of a compiled function. */
#define JG_SOURCE_COMPILED "jit_gemm_compiled"

/* Appends the macros that the headers are included behind: the operands, what the snippet
 * does, and with draws_ahead the operand that random numbers are drawn with. */
void jg_source_print_operands(const struct jg_problem *problem, bool draws_ahead,
                              struct jg_str *out);

/* Appends the snippet in its function; without an epilogue `d = acc;`. */
void jg_source_print_epilogue(const struct jg_epilogue *epilogue, bool has_lineinfo,
                              struct jg_str *out);

/*
 * Is a place of the compiler's messages one of the snippet? Then `*line` becomes the
 * user's. The file's name is as the compiler shows it: control characters are '?'.
 */
bool jg_source_is_snippet(const struct jg_epilogue *epilogue, const char *name,
                          size_t name_size, uint32_t *line);

#endif
