/* SPDX-License-Identifier: MIT */
/* What a source unit says of an epilogue that is a compiled function. Pure. */
#ifndef JG_SOURCE_COMPILED_FUNCTION_H
#define JG_SOURCE_COMPILED_FUNCTION_H

#include "plan/compiled.h"

/* LTO-IR: the function's declaration, for the linker. PTX: a function with its body as an
 * asm statement. */
void jg_print_compiled_function(const struct jg_epilogue *epilogue, struct jg_str *out);

#endif
