/* SPDX-License-Identifier: MIT */
#include "test_ptx_support.h"

#include <criterion/criterion.h>
#include <string.h>

#define REGISTERS ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;"

static struct emu_text message, shown;

struct ptx_module *parse_text(const char *text)
{
    struct emu_error error = {0};
    struct ptx_module *module = ptx_parse(text, strlen(text), &error);
    cr_assert_not_null(module, "%s", error.text);
    cr_assert(!error.set);
    expect_sound(module);
    return module;
}

struct ptx_module *parse_module(const char *definitions)
{
    struct emu_text text = {0};
    emu_text_add(&text, PTX_HEADER "%s", definitions);
    struct ptx_module *module = parse_text(emu_text_get(&text));
    emu_text_free(&text);
    return module;
}

struct ptx_module *parse_body(const char *statements)
{
    struct emu_text text = {0};
    emu_text_add(&text, "%s%s\n}", ".visible .entry k(.param .u64 out) {" REGISTERS,
                 statements);
    struct ptx_module *module = parse_module(emu_text_get(&text));
    emu_text_free(&text);
    return module;
}

const char *refusal_of_text(const char *text)
{
    struct emu_error error = {0};
    struct ptx_module *module = ptx_parse(text, strlen(text), &error);
    cr_assert_null(module, "accepted: %s", text);
    cr_assert(error.set);
    emu_text_free(&message);
    emu_text_add(&message, "%s", error.text);
    return emu_text_get(&message);
}

const char *refusal_of_module(const char *definitions)
{
    struct emu_text text = {0};
    emu_text_add(&text, PTX_HEADER "%s", definitions);
    const char *refusal = refusal_of_text(emu_text_get(&text));
    emu_text_free(&text);
    return refusal;
}

const char *refusal_of_body(const char *statements)
{
    struct emu_text text = {0};
    /* The entry begins on the line of .address_size, so that the statements begin on 4. */
    emu_text_add(&text, "%s\n%s\n}",
                 ".version 9.0\n.target sm_90a\n.address_size 64 "
                 ".visible .entry k(.param .u64 out) {" REGISTERS,
                 statements);
    const char *refusal = refusal_of_text(emu_text_get(&text));
    emu_text_free(&text);
    return refusal;
}

/* ------------------------------------------------------------------------------ show */

static void show_operand(const struct ptx_module *module,
                         const struct ptx_operand *operand);

static void show_elements(const struct ptx_module *module,
                          const struct ptx_operand *operand, const char *open,
                          const char *separator, const char *close)
{
    emu_text_add(&shown, "%s", open);
    for (unsigned i = 0; i < operand->count; i++) {
        emu_text_add(&shown, "%s", i > 0 ? separator : "");
        show_operand(module, &operand->elements[i]);
    }
    emu_text_add(&shown, "%s", close);
}

static void show_composite(const struct ptx_module *module,
                           const struct ptx_operand *operand)
{
    if (operand->kind == PTX_VECTOR) {
        show_elements(module, operand, "{", ",", "}");
    } else if (operand->kind == PTX_LIST) {
        show_elements(module, operand, "(", ",", ")");
    } else if (operand->kind == PTX_PAIR) {
        show_elements(module, operand, "", "|", "");
    } else if (operand->kind == PTX_TENSOR) {
        show_elements(module, operand, "tensor ", " at ", "");
    } else {
        show_elements(module, operand, "[", "", "");
        if (operand->value != 0) {
            emu_text_add(&shown, " + %lld", (long long)operand->value);
        }
        emu_text_add(&shown, "]");
    }
}

static void show_operand(const struct ptx_module *module, const struct ptx_operand *operand)
{
    emu_text_add(&shown, "%s", operand->negated ? "!" : "");
    switch (operand->kind) {
    case PTX_REGISTER:
        emu_text_add(&shown, "%s", module->functions[0].registers[operand->index].name);
        break;
    case PTX_INTEGER:
        emu_text_add(&shown, "#%lld", (long long)operand->value);
        break;
    case PTX_FLOAT32:
        emu_text_add(&shown, "f32:%08llx", (unsigned long long)operand->value);
        break;
    case PTX_FLOAT64:
        emu_text_add(&shown, "f64:%016llx", (unsigned long long)operand->value);
        break;
    case PTX_VARIABLE:
        emu_text_add(&shown, "&%s", module->variables[operand->index].name);
        if (operand->value != 0) {
            emu_text_add(&shown, "+%lld", (long long)operand->value);
        }
        break;
    case PTX_FUNCTION:
        emu_text_add(&shown, "%s()", module->functions[operand->index].name);
        break;
    case PTX_LABEL:
        emu_text_add(&shown, "->%u", operand->index);
        break;
    case PTX_SPECIAL:
        emu_text_add(&shown, "<%s>", operand->text);
        break;
    case PTX_SINK:
        emu_text_add(&shown, "_");
        break;
    default:
        show_composite(module, operand);
        break;
    }
}

const char *show_insn(const struct ptx_module *module, uint32_t index)
{
    const struct ptx_function *function = &module->functions[0];
    cr_assert_lt(index, function->insn_count);
    const struct ptx_insn *insn = &function->insns[index];
    emu_text_free(&shown);
    if (insn->guard != PTX_NO_GUARD) {
        emu_text_add(&shown, "@%s%s ", insn->guard_negated ? "!" : "",
                     function->registers[insn->guard].name);
    }
    emu_text_add(&shown, "%s", insn->opcode);
    for (unsigned i = 0; i < insn->operand_count; i++) {
        emu_text_add(&shown, " ");
        show_operand(module, &insn->operands[i]);
    }
    return emu_text_get(&shown);
}

const struct ptx_variable *find_variable(const struct ptx_module *module, const char *name)
{
    for (uint32_t i = 0; i < module->variable_count; i++) {
        if (strcmp(module->variables[i].name, name) == 0) {
            return &module->variables[i];
        }
    }
    cr_assert_fail("no variable %s", name);
    return NULL;
}

/* ----------------------------------------------------------------------------- sound */

static void check_operand(const struct ptx_module *module,
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
    cr_assert(in_range && has_text);
    for (unsigned i = 0; i < operand->count; i++) {
        check_operand(module, function, &operand->elements[i]);
    }
}

static void check_function(const struct ptx_module *module,
                           const struct ptx_function *function)
{
    for (unsigned i = 0; i < function->param_count; i++) {
        const struct ptx_variable *param = &module->variables[function->params[i]];
        cr_assert(param->offset + param->bytes <= function->param_bytes);
    }
    for (uint32_t i = 0; i < function->insn_count; i++) {
        const struct ptx_insn *insn = &function->insns[i];
        cr_assert(insn->guard == PTX_NO_GUARD || insn->guard < function->register_count);
        cr_assert(insn->word_count > 0 && strlen(insn->opcode) > 0);
        cr_assert_gt(insn->location.ptx_line, 0);
        for (unsigned k = 0; k < insn->operand_count; k++) {
            check_operand(module, function, &insn->operands[k]);
        }
    }
}

void expect_sound(const struct ptx_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        check_function(module, &module->functions[i]);
    }
    for (uint32_t i = 0; i < module->variable_count; i++) {
        const struct ptx_variable *variable = &module->variables[i];
        cr_assert(emu_is_power_of_2(variable->alignment));
        cr_assert(variable->bytes > 0 || variable->is_extern);
        for (size_t k = 0; k < variable->relocation_count; k++) {
            const struct ptx_relocation *one = &variable->relocations[k];
            cr_assert(one->offset + one->bytes <= variable->bytes);
            cr_assert(one->variable < module->variable_count);
        }
    }
}
