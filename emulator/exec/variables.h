/* SPDX-License-Identifier: MIT */
/* The .global and .const variables of a module, in device memory. */
#ifndef EMU_EXEC_VARIABLES_H
#define EMU_EXEC_VARIABLES_H

#include "exec/memory.h"

struct emu_variables {
    struct emu_memory *memory;
    const struct ptx_module *module;
    uint64_t *addresses; /* by variable of the module; 0 for those of other spaces */
};

/* Allocates and initialises them. Variables without an initialiser are zero, as the CUDA
 * ABI has it. False: no memory, or an initialiser that names what has no address. */
bool emu_variables_create(struct emu_variables *variables, struct emu_memory *memory,
                          const struct ptx_module *module, struct emu_error *error);
void emu_variables_destroy(struct emu_variables *variables);
/* For emu_program_decode: the context is a struct emu_variables. */
uint64_t emu_variables_address(void *context, uint32_t variable);

#endif
