/* SPDX-License-Identifier: MIT */
#include "ptx_sound.h"

#include <string.h>

static const char *check_operand(const struct ptx_module *module,
                                 const struct ptx_function *function,
                                 const struct ptx_operand *operand)
{
    const bool in_range =
        (operand->kind != PTX_REGISTER || operand->index < function->register_count) &&
        (operand->kind != PTX_VARIABLE || operand->index < module->variable_count) &&
        (operand->kind != PTX_FUNCTION || operand->index < module->function_count) &&
        (operand->kind != PTX_LABEL || operand->index <= function->insn_count);
    const bool has_text = (operand->kind != PTX_SPECIAL && operand->kind != PTX_LABEL) ||
                          (operand->text != NULL && strlen(operand->text) > 0);
    const char *fault = !in_range   ? "the index of an operand"
                        : !has_text ? "the text of an operand"
                                    : NULL;
    for (unsigned i = 0; i < operand->count && fault == NULL; i++) {
        fault = check_operand(module, function, &operand->elements[i]);
    }
    return fault;
}

static const char *check_insn(const struct ptx_module *module,
                              const struct ptx_function *function,
                              const struct ptx_insn *insn)
{
    const char *fault = NULL;
    if (insn->guard != PTX_NO_GUARD && insn->guard >= function->register_count) {
        fault = "the guard of an instruction";
    } else if (insn->word_count == 0 || strlen(insn->opcode) == 0) {
        fault = "the words of an instruction";
    } else if (insn->location.ptx_line == 0) {
        fault = "the line of an instruction";
    }
    for (unsigned i = 0; i < insn->operand_count && fault == NULL; i++) {
        fault = check_operand(module, function, &insn->operands[i]);
    }
    return fault;
}

static const char *check_function(const struct ptx_module *module,
                                  const struct ptx_function *function)
{
    for (unsigned i = 0; i < function->param_count; i++) {
        const struct ptx_variable *param = &module->variables[function->params[i]];
        if (param->offset + param->bytes > function->param_bytes) {
            return "the place of a parameter";
        }
    }
    const char *fault = NULL;
    for (uint32_t i = 0; i < function->insn_count && fault == NULL; i++) {
        fault = check_insn(module, function, &function->insns[i]);
    }
    return fault;
}

static const char *check_variable(const struct ptx_module *module,
                                  const struct ptx_variable *variable)
{
    if (!emu_is_power_of_2(variable->alignment)) {
        return "the alignment of a variable";
    }
    if (variable->bytes == 0 && !variable->is_extern) {
        return "the size of a variable";
    }
    for (size_t i = 0; i < variable->relocation_count; i++) {
        const struct ptx_relocation *one = &variable->relocations[i];
        if (one->offset + one->bytes > variable->bytes ||
            one->variable >= module->variable_count) {
            return "an address in an initialiser";
        }
    }
    return NULL;
}

const char *ptx_find_unsound(const struct ptx_module *module)
{
    const char *fault = NULL;
    for (uint32_t i = 0; i < module->function_count && fault == NULL; i++) {
        fault = check_function(module, &module->functions[i]);
    }
    for (uint32_t i = 0; i < module->variable_count && fault == NULL; i++) {
        fault = check_variable(module, &module->variables[i]);
    }
    return fault;
}
