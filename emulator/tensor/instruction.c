/* SPDX-License-Identifier: MIT */
/*
 * Instruction descriptors: PTX ISA 9.7.16.4.2 (tables 42 to 44) for the fields, 9.7.16.2.1
 * (table 39) for the shapes. Sparse forms are refused.
 */
#include "tensor/instruction.h"

const char *const emu_mma_kind_words[EMU_KIND_COUNT] = {"f16",      "tf32", "f8f6f4",  "i8",
                                                        "mxf8f6f4", "mxf4", "mxf4nvf4"};

/* What a type field may say; several formats share a code in different kinds. */
struct type_code {
    unsigned code;
    enum emu_format format;
    enum emu_packing packing;
};
static const struct type_code f16_codes[] = {{0, EMU_F16, EMU_PACK_16},
                                             {1, EMU_BF16, EMU_PACK_16}};
static const struct type_code tf32_codes[] = {{2, EMU_TF32, EMU_PACK_32}};
static const struct type_code f8f6f4_codes[] = {{0, EMU_E4M3, EMU_PACK_8},
                                                {1, EMU_E5M2, EMU_PACK_8},
                                                {3, EMU_E2M3, EMU_PACK_6_PADDED},
                                                {4, EMU_E3M2, EMU_PACK_6_PADDED},
                                                {5, EMU_E2M1, EMU_PACK_4_PADDED}};
static const struct type_code i8_codes[] = {{0, EMU_U8, EMU_PACK_8},
                                            {1, EMU_S8, EMU_PACK_8}};
static const struct type_code f4_codes[] = {{1, EMU_E2M1, EMU_PACK_4}};

#define CODES(list) (list), sizeof(list) / sizeof(list)[0]
static const struct {
    const struct type_code *codes;
    size_t count;
    unsigned k;
} kinds[EMU_KIND_COUNT] = {
    [EMU_KIND_F16] = {CODES(f16_codes), 16},
    [EMU_KIND_TF32] = {CODES(tf32_codes), 8},
    [EMU_KIND_F8F6F4] = {CODES(f8f6f4_codes), 32},
    [EMU_KIND_I8] = {CODES(i8_codes), 32},
    [EMU_KIND_MXF8F6F4] = {CODES(f8f6f4_codes), 32},
    [EMU_KIND_MXF4] = {CODES(f4_codes), 64},
    [EMU_KIND_MXF4NVF4] = {CODES(f4_codes), 64},
};

static unsigned get_bits(uint32_t value, unsigned first, unsigned count)
{
    return value >> first & ((1u << count) - 1u);
}

static bool fail_field(struct emu_error *error, uint32_t bits, const char *field,
                       const char *rule)
{
    return emu_fail(error, "%s of the instruction descriptor 0x%08x: %s", field, bits,
                    rule);
}

/* All bits of the mask must be 0. */
static bool check_zero(uint32_t bits, uint32_t mask, struct emu_error *error)
{
    if ((bits & mask) == 0) {
        return true;
    }
    return emu_fail(error,
                    "bit %u of the instruction descriptor 0x%08x is set; here it must be 0",
                    emu_lowest_bit(bits & mask), bits);
}

static bool find_type(enum emu_mma_kind kind, unsigned code, const char *field,
                      uint32_t bits, enum emu_format *ret_format,
                      enum emu_packing *ret_packing, struct emu_error *error)
{
    for (size_t i = 0; i < kinds[kind].count; i++) {
        if (kinds[kind].codes[i].code == code) {
            *ret_format = kinds[kind].codes[i].format;
            *ret_packing = kinds[kind].codes[i].packing;
            return true;
        }
    }
    return emu_fail(error,
                    "%s of the instruction descriptor 0x%08x is %u, which kind::%s does "
                    "not have",
                    field, bits, code, emu_mma_kind_words[kind]);
}

static bool decode_result(struct emu_instruction *instruction, uint32_t bits,
                          struct emu_error *error)
{
    const char *const field = "the type of D (bits 4-5)";
    switch (get_bits(bits, 4, 2)) {
    case 0:
        instruction->d = EMU_F16;
        if (instruction->kind == EMU_KIND_F16 && instruction->a != EMU_F16) {
            return fail_field(error, bits, field, "only f16 operands give an f16 result");
        }
        return instruction->kind == EMU_KIND_F16 || instruction->kind == EMU_KIND_F8F6F4 ||
               fail_field(error, bits, field, "this kind has no f16 result");
    case 1:
        instruction->d = EMU_F32;
        return instruction->kind != EMU_KIND_I8 ||
               fail_field(error, bits, field, "kind::i8 gives s32 (2)");
    case 2:
        instruction->d = EMU_S8;
        return instruction->kind == EMU_KIND_I8 ||
               fail_field(error, bits, field, "only kind::i8 gives s32");
    default:
        return fail_field(error, bits, field, "3 is not a type");
    }
}

static bool decode_plain(struct emu_instruction *instruction, uint32_t bits,
                         struct emu_error *error)
{
    enum emu_mma_kind kind = instruction->kind;
    uint32_t zero = 3u << 0 | 1u << 6 | 1u << 23 | 1u << 29 | 3u << 30;
    zero |= kind == EMU_KIND_I8 ? 3u << 13 : 1u << 3;
    if (!check_zero(bits, zero, error) || !decode_result(instruction, bits, error)) {
        return false;
    }
    if (kind == EMU_KIND_F16 && instruction->a != instruction->b) {
        return fail_field(error, bits, "the types of A and B (bits 7-12)",
                          "f16 and bf16 do not mix");
    }
    instruction->saturate = get_bits(bits, 3, 1) != 0;
    instruction->m = get_bits(bits, 24, 5) << 4;
    return true;
}

static bool decode_scaled(struct emu_instruction *instruction, unsigned factors,
                          uint32_t bits, struct emu_error *error)
{
    bool is_f4 = instruction->kind != EMU_KIND_MXF8F6F4;
    uint32_t zero = 3u << 0 | 1u << 3 | 1u << 6 | 7u << 24 | 1u << 31;
    zero |= is_f4 ? 1u << 12 | 3u << 15 : 0u;
    if (is_f4 && get_bits(bits, 31, 1) != 0) {
        return fail_field(error, bits, "K (bit 31)", "K = 96 is only on sm_103a");
    }
    if (!check_zero(bits, zero, error)) {
        return false;
    }
    instruction->d = EMU_F32;
    instruction->m = get_bits(bits, 27, 2) << 7;
    instruction->scale = get_bits(bits, 23, 1) != 0 ? EMU_UE8M0 : EMU_UE4M3;
    if (instruction->scale == EMU_UE4M3 &&
        (instruction->kind != EMU_KIND_MXF4NVF4 || factors != 4)) {
        return fail_field(error, bits, "the scale type (bit 23)",
                          "ue4m3 factors are only in kind::mxf4nvf4 with blocks of 16");
    }
    instruction->a_scale_id = get_bits(bits, 29, 2);
    instruction->b_scale_id = get_bits(bits, 4, 2);
    unsigned all_ids = instruction->a_scale_id | instruction->b_scale_id;
    if ((factors == 2 && (all_ids & 1u) != 0) || (factors == 4 && all_ids != 0)) {
        return fail_field(error, bits, "a scale factor id (bits 4-5, 29-30)",
                          factors == 2 ? "with two factors per row it is 0 or 2"
                                       : "with four factors per row it is 0");
    }
    return true;
}

static bool check_shape(const struct emu_instruction *instruction, unsigned cta_group,
                        uint32_t bits, struct emu_error *error)
{
    unsigned m = instruction->m;
    unsigned n = instruction->n;
    bool scaled = emu_kind_is_scaled(instruction->kind);
    bool m_good = cta_group == 1 ? m == 128 || (m == 64 && !scaled) : m == 128 || m == 256;
    if (!m_good) {
        return emu_fail(error,
                        "M (bits 24-28) of the instruction descriptor 0x%08x is %u; "
                        "kind::%s with cta_group::%u takes %s",
                        bits, m, emu_mma_kind_words[instruction->kind], cta_group,
                        cta_group == 2 ? "128 or 256"
                        : scaled       ? "128"
                                       : "64 or 128");
    }
    unsigned step = cta_group == 1 ? 8 : 16;
    if (instruction->kind == EMU_KIND_I8) {
        step = cta_group == 2 ? 32 : n > 32 ? 16 : 8;
    }
    /* Table 52: elements of 8 bits, N-major. */
    if (instruction->b_mn_major && instruction->b_packing == EMU_PACK_8) {
        step = cta_group == 1 ? 16 : 32;
    }
    if (n < step || n > 256 || n % step != 0) {
        return emu_fail(
            error,
            "N (bits 17-22) of the instruction descriptor 0x%08x is %u; here it "
            "must be a multiple of %u up to 256",
            bits, n, step);
    }
    return true;
}

bool emu_instruction_decode(enum emu_mma_kind kind, unsigned cta_group, unsigned factors,
                            uint32_t bits, struct emu_instruction *ret_instruction,
                            struct emu_error *error)
{
    struct emu_instruction instruction = {.kind = kind, .k = kinds[kind].k};
    if (get_bits(bits, 2, 1) != 0) {
        return fail_field(error, bits, "sparsity (bit 2)", "sparse A is not supported");
    }
    /* B of the FP4 kinds has two bits; the third is checked as a reserved one. */
    unsigned b_bits = kind == EMU_KIND_MXF4 || kind == EMU_KIND_MXF4NVF4 ? 2 : 3;
    if (!find_type(kind, get_bits(bits, 7, 3), "the type of A (bits 7-9)", bits,
                   &instruction.a, &instruction.a_packing, error) ||
        !find_type(kind, get_bits(bits, 10, b_bits), "the type of B (bits 10-12)", bits,
                   &instruction.b, &instruction.b_packing, error)) {
        return false;
    }
    instruction.n = get_bits(bits, 17, 6) << 3;
    instruction.negate_a = get_bits(bits, 13, 1) != 0;
    instruction.negate_b = get_bits(bits, 14, 1) != 0;
    instruction.a_mn_major = get_bits(bits, 15, 1) != 0;
    instruction.b_mn_major = get_bits(bits, 16, 1) != 0;
    if (emu_kind_is_scaled(kind) ? !decode_scaled(&instruction, factors, bits, error)
                                 : !decode_plain(&instruction, bits, error)) {
        return false;
    }
    if (!check_shape(&instruction, cta_group, bits, error)) {
        return false;
    }
    *ret_instruction = instruction;
    return true;
}
