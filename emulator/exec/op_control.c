/* SPDX-License-Identifier: MIT */
/* Branches, the ends of threads, traps, and the two functions that every kernel may call.
 */
#include <string.h>

#include "exec/decode.h"
#include "exec/memory.h"

static enum emu_step execute_branch(struct emu_warp *warp, const struct emu_insn *insn,
                                    uint32_t lanes)
{
    return emu_warp_branch(warp, insn, lanes, insn->target);
}

static bool decode_branch(struct emu_decoder *decoder)
{
    emu_take(decoder, "uni");
    if (!emu_need_operands(decoder, 1, 1)) {
        return false;
    }
    const struct ptx_operand *label = emu_operand(decoder, 0);
    if (label->kind != PTX_LABEL) {
        return emu_decode_fail(decoder, "the target is not a label");
    }
    decoder->insn->target = label->index;
    decoder->insn->exec = execute_branch;
    return true;
}

static enum emu_step execute_exit(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes)
{
    (void)insn;
    return emu_warp_exit(warp, lanes);
}

static bool decode_exit(struct emu_decoder *decoder)
{
    emu_take(decoder, "uni");
    decoder->insn->exec = execute_exit;
    return emu_need_operands(decoder, 0, 0);
}

static enum emu_step execute_trap(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes)
{
    return emu_report_error(warp, insn, emu_lowest_bit(lanes), EMU_FINDING_TRAP,
                            "the kernel gave up: %s", insn->source->opcode);
}

static bool decode_trap(struct emu_decoder *decoder)
{
    decoder->insn->exec = execute_trap;
    return emu_need_operands(decoder, 0, 0);
}

/* ------------------------------------------------------------------------------ calls */

/* The value that the caller stored for parameter `index` of the call. */
static bool read_call_param(struct emu_warp *warp, const struct emu_insn *insn,
                            unsigned lane, unsigned index, uint64_t *ret_value)
{
    if (index >= insn->list_count) {
        return false;
    }
    struct emu_actor actor = emu_actor_of_lane(warp, insn, lane);
    uint64_t bytes = 0;
    const uint32_t *entry = insn->list + index;
    uint64_t address = warp->r[*entry][lane];
    memcpy(&bytes, (const uint8_t *)insn->extra + index, 1);
    *ret_value = 0;
    return emu_read(&actor, EMU_SPACE_PARAM, address, (uint32_t)bytes, ret_value, NULL);
}

/* Text in device memory, up to `room`. */
static void read_text(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                      uint64_t address, char *text, size_t room)
{
    struct emu_actor actor = emu_actor_of_lane(warp, insn, lane);
    size_t length = 0;
    while (length + 1 < room &&
           emu_read(&actor, EMU_SPACE_GENERIC, address + length, 1, text + length, NULL) &&
           text[length] != 0) {
        length++;
    }
    text[length] = 0;
}

/* void __assertfail(message, file, line, function, char_bytes) */
static enum emu_step execute_assertfail(struct emu_warp *warp, const struct emu_insn *insn,
                                        uint32_t lanes)
{
    unsigned lane = emu_lowest_bit(lanes);
    uint64_t message = 0;
    uint64_t file = 0;
    uint64_t line = 0;
    char message_text[256];
    char file_text[256];
    if (!read_call_param(warp, insn, lane, 0, &message) ||
        !read_call_param(warp, insn, lane, 1, &file) ||
        !read_call_param(warp, insn, lane, 2, &line)) {
        return EMU_FAILED;
    }
    read_text(warp, insn, lane, message, message_text, sizeof(message_text));
    read_text(warp, insn, lane, file, file_text, sizeof(file_text));
    return emu_report_error(warp, insn, lane, EMU_FINDING_TRAP,
                            "assertion `%s` failed, %s:%u", message_text, file_text,
                            (unsigned)line);
}

/* Calls are executed natively for the functions below; the linker's job is not done here.
 */
static bool decode_call(struct emu_decoder *decoder)
{
    const struct ptx_function *callee = NULL;
    const struct ptx_operand *arguments = NULL;
    emu_take(decoder, "uni");
    for (unsigned i = 0; i < emu_operand_count(decoder); i++) {
        const struct ptx_operand *operand = emu_operand(decoder, i);
        if (operand->kind == PTX_FUNCTION) {
            callee = &decoder->program->module->functions[operand->index];
        } else if (operand->kind == PTX_LIST && callee != NULL) {
            arguments = operand;
        }
    }
    if (callee == NULL) {
        return emu_decode_fail(decoder, "a call through a register is not supported");
    }
    if (strcmp(callee->name, "vprintf") == 0) {
        return emu_decode_fail(decoder, "printf prints on a GPU only: take it out");
    }
    if (strcmp(callee->name, "__assertfail") != 0) {
        return emu_decode_fail(decoder,
                               "a call of %s: only __assertfail can be called, everything "
                               "else must be inlined",
                               callee->name);
    }
    unsigned count = arguments == NULL ? 0 : arguments->count;
    struct emu_insn *insn = decoder->insn;
    uint8_t *sizes = emu_decode_alloc(decoder, count);
    insn->list = emu_decode_alloc(decoder, count * sizeof(*insn->list));
    insn->list_count = count;
    insn->extra = sizes;
    for (unsigned i = 0; i < count; i++) {
        const struct ptx_operand *argument = &arguments->elements[i];
        if (argument->kind != PTX_VARIABLE) {
            return emu_decode_fail(decoder, "argument %u is not a .param variable", i);
        }
        uint64_t bytes = decoder->program->module->variables[argument->index].bytes;
        sizes[i] = (uint8_t)(bytes > 8 ? 8 : bytes);
        if (!emu_operand_src(decoder, argument, 64, &insn->list[i])) {
            return false;
        }
    }
    insn->exec = execute_assertfail;
    return true;
}

const struct emu_opcode emu_control_opcodes[] = {
    {"bra", decode_branch}, {"ret", decode_exit},   {"exit", decode_exit},
    {"trap", decode_trap},  {"brkpt", decode_trap}, {"call", decode_call},
    {NULL, NULL},
};
