/* SPDX-License-Identifier: MIT */
/* Decoding of the wgmma instructions. */
#include <stdlib.h>
#include <string.h>

#include "tensor/opcodes.h"
#include "tensor/wgmma.h"

#define A_REGISTERS 4u

/* Types of A and B; in floating point both are alike but for the two of 8 bits. */
static const struct operand_type {
    const char *word;
    enum emu_format format;
    enum emu_packing packing;
    unsigned family; /* types of one family go together */
    unsigned k;
} types[] = {
    {"f16", EMU_F16, EMU_PACK_16, 0, 16},  {"bf16", EMU_BF16, EMU_PACK_16, 1, 16},
    {"tf32", EMU_TF32, EMU_PACK_32, 2, 8}, {"e4m3", EMU_E4M3, EMU_PACK_8, 3, 32},
    {"e5m2", EMU_E5M2, EMU_PACK_8, 3, 32}, {"s8", EMU_S8, EMU_PACK_8, 4, 32},
    {"u8", EMU_U8, EMU_PACK_8, 4, 32},
};
enum {
    TYPE_COUNT = sizeof(types) / sizeof(types[0]),
    FAMILY_BF16 = 1,
    FAMILY_TF32,
    FAMILY_FP8,
    FAMILY_INT
};

static const struct operand_type *take_operand_type(struct emu_decoder *decoder)
{
    const char *words[TYPE_COUNT];
    for (unsigned i = 0; i < TYPE_COUNT; i++) {
        words[i] = types[i].word;
    }
    int type = emu_take_one_of(decoder, words, TYPE_COUNT);
    return type < 0 ? NULL : &types[type];
}

/* "m64nNkK". */
static bool take_shape(struct emu_decoder *decoder, unsigned *ret_n, unsigned *ret_k)
{
    const char *shape = emu_take_prefix(decoder, "m64n");
    char *end = NULL;
    unsigned long n = shape == NULL ? 0 : strtoul(shape, &end, 10);
    if (shape == NULL || *end != 'k') {
        return emu_decode_fail(decoder, "it has no shape m64nNkK");
    }
    unsigned long k = strtoul(end + 1, &end, 10);
    if (*end != 0 || n % 8 != 0 || n < 8 || n > 256 || k > 256) {
        return emu_decode_fail(decoder, "its shape is not legal");
    }
    *ret_n = (unsigned)n;
    *ret_k = (unsigned)k;
    return true;
}

static bool decode_types(struct emu_decoder *decoder, struct emu_wgmma_form *form,
                         unsigned *ret_family)
{
    static const char *const results[] = {"f32", "f16", "s32"};
    static const enum emu_format result_formats[] = {EMU_F32, EMU_F16, EMU_S8};
    unsigned k = 0;
    if (!take_shape(decoder, &form->n, &k)) {
        return false;
    }
    int result = emu_take_one_of(decoder, results, 3);
    const struct operand_type *a = take_operand_type(decoder);
    const struct operand_type *b = take_operand_type(decoder);
    if (result < 0 || a == NULL || b == NULL) {
        return emu_decode_fail(decoder, "its types are not supported");
    }
    form->d = result_formats[result];
    form->a = a->format;
    form->b = b->format;
    form->packing = a->packing;
    form->k = k;
    form->saturate = emu_take(decoder, "satfinite");
    *ret_family = a->family;
    bool integer = a->family == FAMILY_INT;
    if (a->family != b->family || k != a->k || integer != (form->d == EMU_S8) ||
        (form->d == EMU_F16 && (a->family == FAMILY_BF16 || a->family == FAMILY_TF32)) ||
        (form->saturate && !integer)) {
        return emu_decode_fail(decoder, "this combination of types and shape is not legal");
    }
    if (integer && form->n > 32 && form->n % 16 != 0) {
        return emu_decode_fail(decoder, "integers have no such N");
    }
    return true;
}

/* D, and A when it is in registers, in one list. */
static bool decode_registers(struct emu_decoder *decoder, struct emu_wgmma_form *form)
{
    struct emu_insn *insn = decoder->insn;
    uint32_t *d = NULL;
    uint32_t *a = NULL;
    uint32_t a_count = 0;
    unsigned wanted = form->d == EMU_F16 ? form->n / 4 : form->n / 2;
    if (!emu_operand_vector(decoder, emu_operand(decoder, 0), true, 32, &d,
                            &form->d_count)) {
        return false;
    }
    if (form->d_count != wanted) {
        return emu_decode_fail(decoder, "D has %u registers; its shape takes %u",
                               form->d_count, wanted);
    }
    const struct ptx_operand *operand = emu_operand(decoder, 1);
    form->a_in_registers = operand->kind == PTX_VECTOR;
    if (!form->a_in_registers) {
        if (!emu_operand_src(decoder, operand, 64, &form->a_slot)) {
            return false;
        }
    } else if (!emu_operand_vector(decoder, operand, false, 32, &a, &a_count)) {
        return false;
    } else if (a_count != A_REGISTERS) {
        return emu_decode_fail(decoder, "A has %u registers; it takes %u", a_count,
                               A_REGISTERS);
    }
    insn->list_count = form->d_count + a_count;
    insn->list = emu_decode_alloc(decoder, insn->list_count * sizeof(*insn->list));
    for (uint32_t i = 0; i < insn->list_count; i++) {
        insn->list[i] = i < form->d_count ? d[i] : a[i - form->d_count];
        if (insn->list[i] == EMU_NO_SLOT) {
            return emu_decode_fail(decoder, "an accumulator register is _");
        }
    }
    return true;
}

/* An immediate that is one of two values; ret tells whether it is the second. */
static bool take_choice(struct emu_decoder *decoder, unsigned operand, int64_t first,
                        int64_t second, const char *operand_name, bool *ret_second)
{
    int64_t value = 0;
    if (!emu_operand_integer(decoder, emu_operand(decoder, operand), &value)) {
        return false;
    }
    if (value != first && value != second) {
        return emu_decode_fail(decoder, "%s is %lld; it must be %lld or %lld", operand_name,
                               (long long)value, (long long)first, (long long)second);
    }
    *ret_second = value == second;
    return true;
}

static bool decode_scale_d(struct emu_decoder *decoder, struct emu_wgmma_form *form)
{
    const struct ptx_operand *operand = emu_operand(decoder, 3);
    form->scale_d = EMU_NO_PREDICATE;
    if (operand->kind == PTX_INTEGER) {
        form->accumulate = operand->value != 0;
        return true;
    }
    return emu_operand_predicate(decoder, operand, &form->scale_d, &form->scale_d_negated);
}

bool emu_decode_wgmma(struct emu_decoder *decoder)
{
    struct emu_wgmma_form *form = emu_decode_alloc(decoder, sizeof(*form));
    unsigned family = 0;
    decoder->insn->extra = form;
    decoder->insn->exec = emu_wgmma_exec;
    if (emu_take(decoder, "sp")) {
        return emu_decode_fail(decoder, "sparse wgmma is not supported");
    }
    if (!emu_take(decoder, "sync") || !decoder->insn->aligned) {
        return emu_decode_fail(decoder, "it lacks .sync.aligned");
    }
    if (!decode_types(decoder, form, &family) || !emu_need_operands(decoder, 4, 8) ||
        !decode_registers(decoder, form) ||
        !emu_operand_src(decoder, emu_operand(decoder, 2), 64, &form->b_slot) ||
        !decode_scale_d(decoder, form)) {
        return false;
    }
    bool transposes = family <= FAMILY_BF16;
    unsigned operands = family == FAMILY_INT ? 4 : 6;
    operands += !transposes ? 0 : form->a_in_registers ? 1 : 2;
    if (!emu_need_operands(decoder, operands, operands)) {
        return false;
    }
    if (family != FAMILY_INT &&
        (!take_choice(decoder, 4, 1, -1, "imm-scale-a", &form->negate_a) ||
         !take_choice(decoder, 5, 1, -1, "imm-scale-b", &form->negate_b))) {
        return false;
    }
    if (!transposes) {
        return true;
    }
    return (form->a_in_registers ||
            take_choice(decoder, 6, 0, 1, "imm-trans-a", &form->a_mn_major)) &&
           take_choice(decoder, operands - 1, 0, 1, "imm-trans-b", &form->b_mn_major);
}

bool emu_decode_wgmma_wait(struct emu_decoder *decoder)
{
    decoder->insn->exec = emu_wgmma_exec_wait;
    if (!emu_take(decoder, "sync") || !decoder->insn->aligned) {
        return emu_decode_fail(decoder, "it lacks .sync.aligned");
    }
    return emu_need_operands(decoder, 1, 1) &&
           emu_operand_integer(decoder, emu_operand(decoder, 0), &decoder->insn->offset) &&
           (decoder->insn->offset >= 0 || emu_decode_fail(decoder, "a negative count"));
}
