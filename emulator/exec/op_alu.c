/* SPDX-License-Identifier: MIT */
/* The names of arithmetic, logic, comparisons and moves. */
#include "exec/op_form.h"
#include "exec/op_predicate.h"

static bool decode_logic(struct emu_decoder *decoder)
{
    return emu_take(decoder, "pred") ? emu_predicate_decode(decoder)
                                     : emu_form_decode(decoder);
}

/* Names that integers and floats share are here. */
const struct emu_opcode emu_alu_opcodes[] = {
    {"add", emu_form_decode},   {"sub", emu_form_decode},
    {"mul", emu_form_decode},   {"mad", emu_form_decode},
    {"addc", emu_form_decode},  {"subc", emu_form_decode},
    {"madc", emu_form_decode},  {"mul24", emu_form_decode},
    {"mad24", emu_form_decode}, {"sad", emu_form_decode},
    {"div", emu_form_decode},   {"rem", emu_form_decode},
    {"abs", emu_form_decode},   {"neg", emu_form_decode},
    {"min", emu_form_decode},   {"max", emu_form_decode},
    {"dp4a", emu_form_decode},  {"dp2a", emu_form_decode},
    {"and", decode_logic},      {"or", decode_logic},
    {"xor", decode_logic},      {"not", decode_logic},
    {"cnot", emu_form_decode},  {"lop3", emu_form_decode},
    {"shl", emu_form_decode},   {"shr", emu_form_decode},
    {"shf", emu_form_decode},   {"bfe", emu_form_decode},
    {"bfi", emu_form_decode},   {"bfind", emu_form_decode},
    {"brev", emu_form_decode},  {"clz", emu_form_decode},
    {"popc", emu_form_decode},  {"prmt", emu_form_decode},
    {"szext", emu_form_decode}, {"bmsk", emu_form_decode},
    {"selp", emu_form_decode},  {"slct", emu_form_decode},
    {"fns", emu_form_decode},   {0},
};
