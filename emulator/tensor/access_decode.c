/* SPDX-License-Identifier: MIT */
/* Decoding of tcgen05.ld, .st, .wait and .fence. */
#include "tensor/access.h"
#include "tensor/opcodes.h"

static bool take_repeat(struct emu_decoder *decoder, unsigned *ret_repeat)
{
    static const char *const words[] = {"x1",  "x2",  "x4",  "x8",
                                        "x16", "x32", "x64", "x128"};
    int power = emu_take_one_of(decoder, words, 8);
    if (power < 0) {
        return emu_decode_fail(decoder, "it has no repeat factor (.x1 to .x128)");
    }
    *ret_repeat = 1u << power;
    return true;
}

/* The qualifiers that loads and stores share. */
static bool decode_form(struct emu_decoder *decoder, const char *halves)
{
    struct emu_access_form *form = emu_decode_alloc(decoder, sizeof(*form));
    decoder->insn->extra = form;
    if (emu_take(decoder, "red")) {
        return emu_decode_fail(decoder, "tcgen05.ld.red is only on sm_103");
    }
    int shape = emu_take_one_of(decoder, emu_access_words, EMU_ACCESS_SHAPE_COUNT);
    if (shape < 0) {
        return emu_decode_fail(decoder, "it has no shape");
    }
    form->shape = (enum emu_access_shape)shape;
    form->halves = emu_take(decoder, halves);
    if (!emu_take(decoder, "sync") || !emu_take(decoder, "b32")) {
        return emu_decode_fail(decoder, "it lacks .sync or .b32");
    }
    return take_repeat(decoder, &form->repeat);
}

static bool check_registers(struct emu_decoder *decoder)
{
    const struct emu_access_form *form = decoder->insn->extra;
    unsigned count = emu_access_registers(form->shape) * form->repeat;
    if (count > 128 || decoder->insn->list_count != count) {
        return emu_decode_fail(decoder, "%u registers where the shape has %u",
                               decoder->insn->list_count, count);
    }
    return true;
}

static bool decode_split(struct emu_decoder *decoder, unsigned operand)
{
    struct emu_access_form *form = decoder->insn->extra;
    int64_t split = 0;
    if (form->shape != EMU_ACCESS_16X32BX2) {
        return true;
    }
    if (!emu_operand_integer(decoder, emu_operand(decoder, operand), &split)) {
        return false;
    }
    if (split < 0 || split >= (int64_t)EMU_TMEM_COLUMNS) {
        return emu_decode_fail(decoder, "a split offset of %lld columns", (long long)split);
    }
    form->split = (uint32_t)split;
    return true;
}

bool emu_decode_tensor_load(struct emu_decoder *decoder)
{
    if (!decode_form(decoder, "pack::16b")) {
        return false;
    }
    struct emu_insn *insn = decoder->insn;
    struct emu_access_form *form = insn->extra;
    unsigned operands = form->shape == EMU_ACCESS_16X32BX2 ? 3 : 2;
    insn->exec = emu_access_exec_load;
    return emu_need_operands(decoder, operands, operands) &&
           emu_operand_vector(decoder, emu_operand(decoder, 0), true, 32, &insn->list,
                              &insn->list_count) &&
           check_registers(decoder) &&
           emu_operand_address(decoder, emu_operand(decoder, 1), &insn->src[0],
                               &form->offset) &&
           decode_split(decoder, 2);
}

bool emu_decode_tensor_store(struct emu_decoder *decoder)
{
    if (!decode_form(decoder, "unpack::16b")) {
        return false;
    }
    struct emu_insn *insn = decoder->insn;
    struct emu_access_form *form = insn->extra;
    unsigned operands = form->shape == EMU_ACCESS_16X32BX2 ? 3 : 2;
    insn->exec = emu_access_exec_store;
    return emu_need_operands(decoder, operands, operands) &&
           emu_operand_address(decoder, emu_operand(decoder, 0), &insn->src[0],
                               &form->offset) &&
           decode_split(decoder, 1) &&
           emu_operand_vector(decoder, emu_operand(decoder, operands - 1), false, 32,
                              &insn->list, &insn->list_count) &&
           check_registers(decoder);
}

static bool decode_wait(struct emu_decoder *decoder, emu_exec exec)
{
    decoder->insn->exec = exec;
    return (emu_take(decoder, "sync") || emu_decode_fail(decoder, "it lacks .sync")) &&
           emu_need_operands(decoder, 0, 0);
}

bool emu_decode_tensor_wait_load(struct emu_decoder *decoder)
{
    return decode_wait(decoder, emu_access_exec_wait_load);
}

bool emu_decode_tensor_wait_store(struct emu_decoder *decoder)
{
    return decode_wait(decoder, emu_access_exec_wait_store);
}

bool emu_decode_tensor_fence_before(struct emu_decoder *decoder)
{
    decoder->insn->exec = emu_access_exec_fence_before;
    return emu_need_operands(decoder, 0, 0);
}

bool emu_decode_tensor_fence_after(struct emu_decoder *decoder)
{
    decoder->insn->exec = emu_access_exec_fence_after;
    return emu_need_operands(decoder, 0, 0);
}
