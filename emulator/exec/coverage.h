/* SPDX-License-Identifier: MIT */
/*
 * Which instructions were executed, merged over launches, processes and kernels in one text
 * file. A line each: executed (1 or 0), opcode with its qualifiers, place in the source;
 * separated by tabs, sorted.
 */
#ifndef EMU_EXEC_COVERAGE_H
#define EMU_EXEC_COVERAGE_H

#include "exec/machine.h"

/* Merges one launch: `covered` as in struct emu_launch. Locks the file, so that processes
 * may write at the same time. False, with an error, when the file cannot be written. */
bool emu_coverage_merge(const char *path, const struct emu_program *program,
                        const uint8_t *covered, struct emu_error *error);

#endif
