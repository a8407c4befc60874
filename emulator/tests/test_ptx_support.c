/* SPDX-License-Identifier: MIT */
#include "test_ptx_support.h"

#include <criterion/criterion.h>
#include <string.h>

#include "ptx_sound.h"

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

void expect_sound(const struct ptx_module *module)
{
    const char *fault = ptx_find_unsound(module);
    cr_assert_null(fault, "%s", fault);
}
