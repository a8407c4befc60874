/* SPDX-License-Identifier: MIT */
/*
 * Which instructions were executed, merged over launches, processes and kernels in one text
 * file. One line per instruction: executed (1 or 0), opcode with its qualifiers, file and
 * line of the source; separated by tabs, sorted. A line into which the instruction was
 * inlined has `inlined` for the opcode.
 */
#ifndef EMU_EXEC_COVERAGE_H
#define EMU_EXEC_COVERAGE_H

#include "exec/machine.h"

/* Merges one launch: `covered` as in struct emu_launch. Processes may do it at the same
 * time; the file is always a whole one. False, with an error, when it cannot be written. */
bool emu_coverage_merge(const char *path, const struct emu_program *program,
                        const uint8_t *covered, struct emu_error *error);

#endif
