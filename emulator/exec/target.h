/* SPDX-License-Identifier: MIT */
/*
 * Which target and which version of PTX an instruction, a special register or a directive
 * needs. One table says it for all of them; decoders ask nothing of the kind themselves.
 */
#ifndef EMU_EXEC_TARGET_H
#define EMU_EXEC_TARGET_H

#include "exec/decode.h"

/* Fails unless the module's .target and .version have the instruction with its words, the
 * number of its operands, and the special registers that it reads. An opcode that the table
 * does not name is an error as well. */
bool emu_target_check(struct emu_decoder *decoder);
/* The same for the directives of a function. */
bool emu_target_check_function(const struct ptx_module *module,
                               const struct ptx_function *function,
                               struct emu_error *error);

#endif
