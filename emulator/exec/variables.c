/* SPDX-License-Identifier: MIT */
#include "exec/variables.h"

#include <string.h>

static bool in_device_memory(const struct ptx_variable *variable)
{
    return (variable->space == PTX_GLOBAL || variable->space == PTX_CONST) &&
           !variable->is_extern;
}

/* Addresses inside an initialiser. Shared and local variables have no address before a
 * kernel runs. */
static bool relocate(struct emu_variables *variables, const struct ptx_variable *variable,
                     unsigned char *image, struct emu_error *error)
{
    for (size_t i = 0; i < variable->relocation_count; i++) {
        const struct ptx_relocation *relocation = &variable->relocations[i];
        uint64_t address = variables->addresses[relocation->variable];
        if (address == 0 || relocation->offset + relocation->bytes > variable->bytes) {
            return emu_fail(error, "the initialiser of %s names %s, which has no address",
                            variable->name,
                            variables->module->variables[relocation->variable].name);
        }
        address += (uint64_t)relocation->addend;
        memcpy(image + relocation->offset, &address, relocation->bytes);
    }
    return true;
}

static bool initialise(struct emu_variables *variables, uint32_t index,
                       struct emu_error *error)
{
    const struct ptx_variable *variable = &variables->module->variables[index];
    unsigned char *image = emu_alloc(variable->bytes);
    if (variable->initial != NULL) {
        memcpy(image, variable->initial, variable->bytes);
    }
    bool good = relocate(variables, variable, image, error);
    if (good) {
        uint64_t address = variables->addresses[index];
        emu_memory_write(variables->memory, address, image, variable->bytes);
        emu_memory_find(variables->memory, address, 1)->read_only =
            variable->space == PTX_CONST;
    }
    emu_free(image);
    return good;
}

bool emu_variables_create(struct emu_variables *variables, struct emu_memory *memory,
                          const struct ptx_module *module, struct emu_error *error)
{
    variables->memory = memory;
    variables->module = module;
    variables->addresses = emu_alloc(module->variable_count * sizeof(uint64_t));
    bool good = true;
    for (uint32_t i = 0; good && i < module->variable_count; i++) {
        if (in_device_memory(&module->variables[i])) {
            variables->addresses[i] = emu_memory_allocate(
                memory, module->variables[i].bytes, module->variables[i].name);
            good = variables->addresses[i] != 0 ||
                   emu_fail(error, "no device memory for variable %s (%llu bytes)",
                            module->variables[i].name,
                            (unsigned long long)module->variables[i].bytes);
        }
    }
    for (uint32_t i = 0; good && i < module->variable_count; i++) {
        good = !in_device_memory(&module->variables[i]) || initialise(variables, i, error);
    }
    if (!good) {
        emu_variables_destroy(variables);
    }
    return good;
}

void emu_variables_destroy(struct emu_variables *variables)
{
    for (uint32_t i = 0;
         variables->addresses != NULL && i < variables->module->variable_count; i++) {
        if (variables->addresses[i] != 0) {
            emu_memory_release(variables->memory, variables->addresses[i]);
        }
    }
    emu_free(variables->addresses);
    *variables = (struct emu_variables){0};
}

uint64_t emu_variables_address(void *context, uint32_t variable)
{
    return ((const struct emu_variables *)context)->addresses[variable];
}
