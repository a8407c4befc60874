/* SPDX-License-Identifier: MIT */
#include "tools/elements.h"

#include <math.h>
#include <string.h>

static const struct emu_element_type types[] = {
    {"f64", 64, EMU_ELEMENT_FLOAT, EMU_F64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
    {"f32", 32, EMU_ELEMENT_FLOAT, EMU_F32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
    {"tf32", 32, EMU_ELEMENT_FLOAT, EMU_TF32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32},
    {"f16", 16, EMU_ELEMENT_FLOAT, EMU_F16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
    {"bf16", 16, EMU_ELEMENT_FLOAT, EMU_BF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
    {"e4m3", 8, EMU_ELEMENT_FLOAT, EMU_E4M3, CU_TENSOR_MAP_DATA_TYPE_UINT8},
    {"e5m2", 8, EMU_ELEMENT_FLOAT, EMU_E5M2, CU_TENSOR_MAP_DATA_TYPE_UINT8},
    {"e2m1", 4, EMU_ELEMENT_FLOAT, EMU_E2M1, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B},
    {"ue8m0", 8, EMU_ELEMENT_FLOAT, EMU_UE8M0, CU_TENSOR_MAP_DATA_TYPE_UINT8},
    {"ue4m3", 8, EMU_ELEMENT_FLOAT, EMU_UE4M3, CU_TENSOR_MAP_DATA_TYPE_UINT8},
    {"u8", 8, EMU_ELEMENT_UNSIGNED, EMU_U8, CU_TENSOR_MAP_DATA_TYPE_UINT8},
    {"u16", 16, EMU_ELEMENT_UNSIGNED, EMU_U8, CU_TENSOR_MAP_DATA_TYPE_UINT16},
    {"u32", 32, EMU_ELEMENT_UNSIGNED, EMU_U8, CU_TENSOR_MAP_DATA_TYPE_UINT32},
    {"u64", 64, EMU_ELEMENT_UNSIGNED, EMU_U8, CU_TENSOR_MAP_DATA_TYPE_UINT64},
    {"s8", 8, EMU_ELEMENT_SIGNED, EMU_S8, CU_TENSOR_MAP_DATA_TYPE_UINT8},
    {"s16", 16, EMU_ELEMENT_SIGNED, EMU_S8, CU_TENSOR_MAP_DATA_TYPE_UINT16},
    {"s32", 32, EMU_ELEMENT_SIGNED, EMU_S8, CU_TENSOR_MAP_DATA_TYPE_INT32},
    {"s64", 64, EMU_ELEMENT_SIGNED, EMU_S8, CU_TENSOR_MAP_DATA_TYPE_INT64},
    /* Only as the types of tensor maps: elements with gaps in shared memory. */
    {"e2m1_padded", 4, EMU_ELEMENT_FLOAT, EMU_E2M1, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B},
    {"e3m2_packed", 6, EMU_ELEMENT_FLOAT, EMU_E3M2, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B},
    {"e2m3_packed", 6, EMU_ELEMENT_FLOAT, EMU_E2M3, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B},
};

const struct emu_element_type *emu_element_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

void emu_element_types_list(struct emu_text *text)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        emu_text_add(text, "%s%s", i == 0 ? "" : ", ", types[i].name);
    }
}

/* Elements begin at any bit; the first one is in the lowest bits. */
static uint64_t get_bits(const unsigned char *data, uint64_t index, unsigned bits)
{
    uint64_t value = 0;
    if (bits % 8 == 0) {
        memcpy(&value, data + index * (bits / 8), bits / 8);
        return value;
    }
    for (unsigned i = 0; i < bits; i++) {
        uint64_t at = index * bits + i;
        value |= ((uint64_t)data[at / 8] >> (at % 8) & 1) << i;
    }
    return value;
}

static void set_bits(unsigned char *data, uint64_t index, unsigned bits, uint64_t value)
{
    if (bits % 8 == 0) {
        memcpy(data + index * (bits / 8), &value, bits / 8);
        return;
    }
    for (unsigned i = 0; i < bits; i++) {
        uint64_t at = index * bits + i;
        unsigned bit = 1u << (at % 8);
        data[at / 8] = (unsigned char)((value >> i & 1) != 0 ? data[at / 8] | bit
                                                             : data[at / 8] & ~bit);
    }
}

double emu_element_get(const struct emu_element_type *type, const void *data,
                       uint64_t index)
{
    uint64_t bits = get_bits(data, index, type->bits);
    switch (type->kind) {
    case EMU_ELEMENT_UNSIGNED:
        return (double)bits;
    case EMU_ELEMENT_SIGNED:
        return (double)((int64_t)(bits << (64 - type->bits)) >> (64 - type->bits));
    default:
        return emu_decode(type->format, bits);
    }
}

void emu_element_set(const struct emu_element_type *type, void *data, uint64_t index,
                     double value)
{
    const struct emu_encode how = {.rounding = EMU_RN, .saturate_finite = true};
    /* The largest values below powers of two that a double has. */
    double most = ldexp(1.0, (int)type->bits);
    uint64_t bits = 0;
    switch (type->kind) {
    case EMU_ELEMENT_UNSIGNED:
        value = rint(value);
        bits = !(value > 0) ? 0 : value >= most ? UINT64_MAX : (uint64_t)value;
        break;
    case EMU_ELEMENT_SIGNED:
        value = rint(value);
        bits = value >= most / 2   ? UINT64_MAX >> (65 - type->bits)
               : value < -most / 2 ? UINT64_C(1) << (type->bits - 1)
                                   : (uint64_t)(int64_t)value;
        break;
    default:
        bits = emu_encode(type->format, value, how);
    }
    set_bits(data, index, type->bits, bits);
}
