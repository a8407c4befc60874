/* SPDX-License-Identifier: MIT */
/* The names of arithmetic, logic, comparisons and moves; the decoder of their tables. */
#include "exec/op_form.h"

#include <string.h>

#include "exec/op_predicate.h"
#include "numbers/numbers.h"

static const struct emu_form *const tables[] = {
    emu_integer_forms, emu_multiply_forms, emu_carry_forms, emu_logic_forms,
    emu_bits_forms,    emu_select_forms,   emu_f32_forms,   emu_f64_forms,
    emu_approx_forms,  emu_half_forms,
};

static const struct {
    const char *text;
    uint16_t mode;
} words[EMU_WORD_COUNT] = {
    [EMU_WORD_RN] = {"rn", EMU_RN},
    [EMU_WORD_RZ] = {"rz", EMU_RZ},
    [EMU_WORD_RM] = {"rm", EMU_RM},
    [EMU_WORD_RP] = {"rp", EMU_RP},
    [EMU_WORD_FTZ] = {"ftz", EMU_MODE_FTZ},
    [EMU_WORD_SAT] = {"sat", EMU_MODE_SAT},
    [EMU_WORD_RELU] = {"relu", EMU_MODE_RELU},
    [EMU_WORD_NAN] = {"NaN", EMU_MODE_NAN},
    [EMU_WORD_XORSIGN] = {"xorsign", EMU_MODE_XORSIGN},
    [EMU_WORD_ABS] = {"abs", EMU_MODE_ABS},
    [EMU_WORD_APPROX] = {"approx", 0},
    [EMU_WORD_FULL] = {"full", 0},
    [EMU_WORD_LO] = {"lo", 0},
    [EMU_WORD_HI] = {"hi", 0},
    [EMU_WORD_WIDE] = {"wide", 0},
    [EMU_WORD_CC] = {"cc", EMU_MODE_CC},
    [EMU_WORD_L] = {"l", 0},
    [EMU_WORD_R] = {"r", 0},
    [EMU_WORD_CLAMP] = {"clamp", 0},
    [EMU_WORD_WRAP] = {"wrap", EMU_MODE_WRAP},
    [EMU_WORD_SHIFTAMT] = {"shiftamt", EMU_MODE_SHIFTAMT},
    [EMU_WORD_F4E] = {"f4e", 0},
    [EMU_WORD_B4E] = {"b4e", 0},
    [EMU_WORD_RC8] = {"rc8", 0},
    [EMU_WORD_ECL] = {"ecl", 0},
    [EMU_WORD_ECR] = {"ecr", 0},
    [EMU_WORD_RC16] = {"rc16", 0},
    [EMU_WORD_U16X2] = {"u16x2", 0},
    [EMU_WORD_S16X2] = {"s16x2", 0},
    [EMU_WORD_F32X2] = {"f32x2", 0},
    [EMU_WORD_FINITE] = {"finite", 0},
    [EMU_WORD_INFINITE] = {"infinite", 0},
    [EMU_WORD_NUMBER] = {"number", 0},
    [EMU_WORD_NOTANUMBER] = {"notanumber", 0},
    [EMU_WORD_NORMAL] = {"normal", 0},
    [EMU_WORD_SUBNORMAL] = {"subnormal", 0},
};
_Static_assert(EMU_WORD_COUNT <= 64, "sets of words are 64 bits");
_Static_assert(EMU_RN == 0 && EMU_RZ == 1 && EMU_RM == 2 && EMU_RP == 3,
               "roundings are the low bits of the mode");

bool emu_form_is_float(enum ptx_type type)
{
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64 ||
           type == PTX_F16X2 || type == PTX_BF16X2;
}

unsigned emu_form_bits(enum ptx_type type)
{
    return 8 * ptx_type_bytes(type);
}

/* ---------------------------------------------------------------------------- operands */

static bool has_bits(struct emu_decoder *decoder, const struct ptx_operand *operand,
                     unsigned bits)
{
    const unsigned there = emu_operand_bits(decoder, operand);
    return operand->kind != PTX_REGISTER || there == bits ||
           emu_decode_fail(decoder, "a %u-bit register where %u bits are needed", there,
                           bits);
}

bool emu_form_dst(struct emu_decoder *decoder, const struct ptx_operand *operand,
                  unsigned bits, uint32_t *ret_slot)
{
    if (operand->kind == PTX_SINK) {
        return emu_decode_fail(decoder, "its result cannot be _");
    }
    return emu_operand_dst(decoder, operand, ret_slot) && has_bits(decoder, operand, bits);
}

bool emu_form_src(struct emu_decoder *decoder, const struct ptx_operand *operand,
                  unsigned bits, bool is_float, uint32_t *ret_slot)
{
    if (is_float && operand->kind == PTX_INTEGER) {
        return emu_decode_fail(decoder, "an integer constant in a floating-point place");
    }
    if ((operand->kind == PTX_FLOAT32 && bits != 32) ||
        (operand->kind == PTX_FLOAT64 && bits != 64 && !is_float)) {
        return emu_decode_fail(decoder, "a floating-point constant in a %u-bit place",
                               bits);
    }
    return emu_operand_src(decoder, operand, bits, ret_slot) &&
           has_bits(decoder, operand, bits);
}

bool emu_form_predicate(struct emu_decoder *decoder, const struct ptx_operand *operand,
                        bool sink, uint32_t *ret_predicate)
{
    if (operand->kind == PTX_SINK && !sink) {
        return emu_decode_fail(decoder, "its result cannot be _");
    }
    return emu_operand_predicate(decoder, operand, ret_predicate, NULL);
}

bool emu_form_predicate_source(struct emu_decoder *decoder,
                               const struct ptx_operand *operand, unsigned index)
{
    struct emu_insn *insn = decoder->insn;
    bool negated = false;
    if (operand->kind == PTX_INTEGER) {
        insn->src[index] = EMU_NO_PREDICATE;
        negated = operand->value != 0;
    } else if (operand->kind != PTX_REGISTER) {
        return emu_decode_fail(decoder, "an operand is not a predicate");
    } else if (!emu_operand_predicate(decoder, operand, &insn->src[index], &negated)) {
        return false;
    }
    insn->mode2 = (uint16_t)(insn->mode2 | (negated ? 1u << index : 0u));
    return true;
}

/* The program's condition code: one hidden predicate. */
static uint32_t get_condition_code(struct emu_program *program)
{
    if (program->condition_code == 0) {
        program->condition_code = ++program->predicate_count;
    }
    return program->condition_code - 1;
}

static bool decode_operands(struct emu_decoder *decoder, const struct emu_form *form,
                            enum ptx_type type)
{
    struct emu_insn *insn = decoder->insn;
    const bool is_float = emu_form_is_float(type);
    unsigned sources = 0;
    for (unsigned i = 0; form->shape[i] != 0; i++) {
        const struct ptx_operand *operand = emu_operand(decoder, i);
        unsigned bits = 0;
        bool good = true;
        switch (form->shape[i]) {
        case 'n':
            bits = emu_form_bits(type);
            break;
        case 'w':
            bits = 2 * emu_form_bits(type);
            break;
        case 'b':
            bits = 16;
            break;
        case 'i':
            bits = 32;
            break;
        case 'l':
            bits = 64;
            break;
        case 'p':
            good = i == 0 ? emu_form_predicate(decoder, operand, false, &insn->dst)
                          : emu_form_predicate_source(decoder, operand, sources);
            sources += i != 0;
            break;
        case '#':
            good = emu_operand_integer(decoder, operand, &insn->offset);
            break;
        default: /* c: no operand */
            insn->target = get_condition_code(decoder->program);
            break;
        }
        if (bits != 0) {
            good = i == 0 ? emu_form_dst(decoder, operand, bits, &insn->dst)
                          : emu_form_src(decoder, operand, bits,
                                         is_float && form->shape[i] == 'n',
                                         &insn->src[sources]);
            sources += i != 0;
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

/* -------------------------------------------------------------------------------- rows */

/* What the instruction's words say. */
struct request {
    uint32_t type, type2; /* sets of one, or none */
    uint64_t words;
    unsigned operands;
    uint16_t mode;
};

static void read_words(struct emu_decoder *decoder, struct request *request)
{
    for (unsigned i = 1; i < decoder->source->word_count; i++) {
        const char *word = decoder->source->words[i];
        enum ptx_type type;
        if (ptx_type_of(word, &type)) {
            *(request->type == 0 ? &request->type : &request->type2) = 1u << type;
            continue;
        }
        for (unsigned k = 0; k < EMU_WORD_COUNT; k++) {
            if (strcmp(word, words[k].text) == 0) {
                request->words |= UINT64_C(1) << k;
                request->mode = (uint16_t)(request->mode | words[k].mode);
            }
        }
    }
}

static unsigned count_operands(const struct emu_form *form)
{
    return (unsigned)strcspn(form->shape, "c");
}

static bool has_types(const struct emu_form *form, const struct request *request)
{
    return (form->types == 0 ? request->type == 0 : (form->types & request->type) != 0) &&
           (form->types2 == 0 ? request->type2 == 0 : (form->types2 & request->type2) != 0);
}

static bool has_words(const struct emu_form *form, const struct request *request)
{
    const uint64_t rounding = request->words & EMU_ROUNDING;
    return (request->words & form->need) == form->need &&
           (request->words & ~(form->need | form->may)) == 0 &&
           (rounding & (rounding - 1)) == 0;
}

/* Nothing fits: names the first word that no row of the name and type knows. */
static bool refuse(struct emu_decoder *decoder, const struct request *request)
{
    const char *name = decoder->source->words[0];
    uint64_t known = 0;
    bool any = false;
    for (unsigned t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const struct emu_form *form = tables[t]; form->name != NULL; form++) {
            if (strcmp(form->name, name) == 0 && has_types(form, request)) {
                known |= form->need | form->may;
                any = true;
            }
        }
    }
    for (unsigned i = 1; any && i < decoder->source->word_count; i++) {
        for (unsigned k = 0; k < EMU_WORD_COUNT; k++) {
            if (strcmp(decoder->source->words[i], words[k].text) == 0 &&
                (known >> k & 1) == 0) {
                return emu_decode_fail(decoder, "qualifier .%s is not supported here",
                                       words[k].text);
            }
        }
    }
    return any ? emu_decode_fail(decoder, "these qualifiers do not go together, or not "
                                          "with this number of operands")
               : emu_decode_fail(decoder, "not supported for this type");
}

static void take_words(struct emu_decoder *decoder, const struct request *request)
{
    enum ptx_type type;
    while (emu_take_type(decoder, &type)) {
    }
    for (unsigned k = 0; k < EMU_WORD_COUNT; k++) {
        if ((request->words >> k & 1) != 0) {
            emu_take(decoder, words[k].text);
        }
    }
}

static enum ptx_type first_type(uint32_t types)
{
    return types == 0 ? PTX_TYPE_COUNT : (enum ptx_type)emu_lowest_bit(types);
}

bool emu_form_decode(struct emu_decoder *decoder)
{
    const char *name = decoder->source->words[0];
    struct request request = {.operands = emu_operand_count(decoder)};
    read_words(decoder, &request);
    for (unsigned t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const struct emu_form *form = tables[t]; form->name != NULL; form++) {
            if (!has_types(form, &request) || !has_words(form, &request) ||
                count_operands(form) != request.operands || strcmp(form->name, name) != 0) {
                continue;
            }
            const enum ptx_type type = first_type(request.type);
            take_words(decoder, &request);
            decoder->insn->exec = form->exec;
            decoder->insn->mode = request.mode;
            decoder->insn->type = (uint8_t)type;
            decoder->insn->type2 = (uint8_t)first_type(request.type2);
            return decode_operands(decoder, form, type);
        }
    }
    return refuse(decoder, &request);
}

/* ------------------------------------------------------------------------------ names */

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
