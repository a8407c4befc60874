/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps: rules and packing.
 *
 * The rules are those that the CUDA driver API documents for cuTensorMapEncodeTiled, and
 * for what only PTX can set those of the PTX ISA (restrictions on tensor copies, swizzling
 * modes).
 */
#include "async/tensor_map.h"

#include <inttypes.h>
#include <string.h>

/*
 * The packing, in 64-bit words:
 *   0      base address
 *   1      bits 0-3 type, 4-6 rank - 1, 7-8 interleave, 9-11 swizzle mode, 12-13 its
 *          atom, 14-15 L2 promotion, 16 fill; 24-31 version; 32-63 a mark. Bit 21 is
 *          always 0: host code in wide use clears it for some driver versions.
 *   2-4    dimensions less 1, 32 bits each
 *   5-8    strides
 *   9      boxes less 1, 8 bits each; from bit 40 element strides less 1, 3 bits each
 *   15     check sum of the other words
 */
#define WORDS    16u
#define CHECKSUM 15u
#define MARK     UINT64_C(0x454D5501) /* with the version above it */
#define MARK_AT  24u

static const struct {
    uint8_t bits;
    bool is_float;
} types[EMU_MAP_TYPE_COUNT] = {
    [EMU_MAP_U8] = {8, false},         [EMU_MAP_U16] = {16, false},
    [EMU_MAP_U32] = {32, false},       [EMU_MAP_S32] = {32, false},
    [EMU_MAP_U64] = {64, false},       [EMU_MAP_S64] = {64, false},
    [EMU_MAP_F16] = {16, true},        [EMU_MAP_F32] = {32, true},
    [EMU_MAP_F64] = {64, true},        [EMU_MAP_BF16] = {16, true},
    [EMU_MAP_F32_FTZ] = {32, true},    [EMU_MAP_TF32] = {32, true},
    [EMU_MAP_TF32_FTZ] = {32, true},   [EMU_MAP_U4_ALIGN8] = {4, false},
    [EMU_MAP_U4_ALIGN16] = {4, false}, [EMU_MAP_U6_ALIGN16] = {6, false},
};

/* Swizzle mode and atom of tensormap.replace, by the API's number. */
static const struct {
    uint8_t mode, atom;
    uint16_t row_bytes; /* the widest row of a box */
} swizzles[EMU_SWIZZLE_COUNT] = {
    [EMU_SWIZZLE_NONE] = {0, 0, 0},
    [EMU_SWIZZLE_32B] = {1, 0, 32},
    [EMU_SWIZZLE_64B] = {2, 0, 64},
    [EMU_SWIZZLE_128B] = {3, 0, 128},
    [EMU_SWIZZLE_128B_ATOM_32B] = {3, 1, 128},
    [EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B] = {3, 2, 128},
    [EMU_SWIZZLE_128B_ATOM_64B] = {3, 3, 128},
    [EMU_SWIZZLE_96B] = {4, 0, 96},
};

unsigned emu_map_type_bits(enum emu_map_type type)
{
    return types[type].bits;
}

bool emu_map_type_is_float(enum emu_map_type type)
{
    return types[type].is_float;
}

bool emu_map_type_is_padded(enum emu_map_type type)
{
    return type == EMU_MAP_U4_ALIGN16 || type == EMU_MAP_U6_ALIGN16;
}

enum emu_map_swizzle emu_tensor_map_swizzle(const struct emu_tensor_map *map)
{
    for (unsigned i = 0; i < EMU_SWIZZLE_COUNT; i++) {
        if (swizzles[i].mode == map->swizzle_mode &&
            swizzles[i].atom == map->swizzle_atom) {
            return (enum emu_map_swizzle)i;
        }
    }
    return EMU_SWIZZLE_COUNT;
}

uint32_t emu_tensor_map_widest_row(const struct emu_tensor_map *map)
{
    return swizzles[emu_tensor_map_swizzle(map)].row_bytes;
}

/* ------------------------------------------------------------------------------- rules */

static bool check_enums(const struct emu_tensor_map *map, struct emu_error *error)
{
    if ((unsigned)map->type >= EMU_MAP_TYPE_COUNT) {
        return emu_fail(error, "data type %u does not exist", (unsigned)map->type);
    }
    if (map->rank < 1 || map->rank > EMU_MAP_RANK) {
        return emu_fail(error, "rank %u; legal are 1 to 5", map->rank);
    }
    if (map->interleave > 2) {
        return emu_fail(error, "interleave %u does not exist", map->interleave);
    }
    if (emu_tensor_map_swizzle(map) == EMU_SWIZZLE_COUNT) {
        return emu_fail(error, "swizzle mode %u with atom %u does not exist",
                        map->swizzle_mode, map->swizzle_atom);
    }
    if (map->l2_promotion > 3) {
        return emu_fail(error, "L2 promotion %u does not exist", map->l2_promotion);
    }
    if (map->interleave != 0 && map->rank < 3) {
        return emu_fail(error, "an interleaved layout of rank %u; it needs 3", map->rank);
    }
    return true;
}

/* Addresses: 16 bytes; 32 for the 32-byte interleave and for padded types. */
static bool check_addresses(const struct emu_tensor_map *map, struct emu_error *error)
{
    uint64_t step = map->interleave == 2 || emu_map_type_is_padded(map->type) ? 32 : 16;
    if (map->base % step != 0) {
        return emu_fail(error,
                        "the global address 0x%" PRIx64 " is not a multiple of %" PRIu64,
                        map->base, step);
    }
    for (uint32_t i = 0; i + 1 < map->rank; i++) {
        if (map->stride_bytes[i] % step != 0 || map->stride_bytes[i] >> 40 != 0) {
            return emu_fail(error,
                            "stride %u is %" PRIu64 " bytes; it must be a multiple of "
                            "%" PRIu64 " below 2^40",
                            i, map->stride_bytes[i], step);
        }
    }
    return true;
}

static bool check_dims(const struct emu_tensor_map *map, struct emu_error *error)
{
    for (uint32_t i = 0; i < map->rank; i++) {
        if (map->dim[i] < 1 || map->dim[i] > UINT64_C(1) << 32) {
            return emu_fail(error, "dimension %u is %" PRIu64 "; legal are 1 to 2^32", i,
                            map->dim[i]);
        }
        if (map->box[i] < 1 || map->box[i] > 256) {
            return emu_fail(error, "box dimension %u is %u; legal are 1 to 256", i,
                            map->box[i]);
        }
        /* The first one counts with an interleaved layout only. */
        bool counts = i > 0 || map->interleave != 0;
        if (counts && (map->element_stride[i] < 1 || map->element_stride[i] > 8)) {
            return emu_fail(error, "element stride %u is %u; legal are 1 to 8", i,
                            map->element_stride[i]);
        }
    }
    uint64_t step = emu_map_type_is_padded(map->type) ? 128
                    : map->type == EMU_MAP_U4_ALIGN8  ? 2
                                                      : 1;
    if (map->dim[0] % step != 0) {
        return emu_fail(error,
                        "dimension 0 is %" PRIu64 "; with this type it must be a multiple "
                        "of %" PRIu64,
                        map->dim[0], step);
    }
    return true;
}

/* Padded types go with some swizzles only; a row of the box must fit into the swizzle. */
static bool check_row(const struct emu_tensor_map *map, struct emu_error *error)
{
    enum emu_map_swizzle swizzle = emu_tensor_map_swizzle(map);
    if (map->interleave == 2 && swizzle != EMU_SWIZZLE_32B) {
        return emu_fail(error, "the 32-byte interleave needs the 32-byte swizzle");
    }
    if (emu_map_type_is_padded(map->type)) {
        bool fits =
            swizzle == EMU_SWIZZLE_NONE || swizzle == EMU_SWIZZLE_128B ||
            swizzle == EMU_SWIZZLE_128B_ATOM_32B ||
            (swizzle == EMU_SWIZZLE_128B_ATOM_64B && map->type == EMU_MAP_U6_ALIGN16);
        if (!fits) {
            return emu_fail(error, "this swizzle does not go with a padded type");
        }
        if (map->box[0] != 128) {
            return emu_fail(error,
                            "box dimension 0 is %u; with a padded type it must be 128",
                            map->box[0]);
        }
        if (map->interleave != 0) {
            return emu_fail(error, "an interleaved layout does not go with a padded type");
        }
        return true;
    }
    if (map->interleave != 0) {
        return true;
    }
    uint32_t bits = map->box[0] * emu_map_type_bits(map->type);
    if (bits % 128 != 0) {
        return emu_fail(
            error, "a row of the box is %u bits; it must be a multiple of 16 bytes", bits);
    }
    if (swizzle != EMU_SWIZZLE_NONE && bits / 8 > swizzles[swizzle].row_bytes) {
        return emu_fail(error, "a row of the box is %u bytes; this swizzle takes up to %u",
                        bits / 8, swizzles[swizzle].row_bytes);
    }
    return true;
}

bool emu_tensor_map_check(const struct emu_tensor_map *map, struct emu_error *error)
{
    if (!check_enums(map, error) || !check_addresses(map, error) ||
        !check_dims(map, error) || !check_row(map, error)) {
        return false;
    }
    return !map->fill_nan || emu_map_type_is_float(map->type) ||
           emu_fail(error, "filling with NaN needs a floating-point type");
}

/* ----------------------------------------------------------------------------- packing */

void emu_tensor_map_pack(const struct emu_tensor_map *map, void *ret_bytes)
{
    uint64_t words[WORDS] = {0};
    words[0] = map->base;
    words[1] = (uint64_t)map->type | (uint64_t)(map->rank - 1) << 4 |
               (uint64_t)map->interleave << 7 | (uint64_t)map->swizzle_mode << 9 |
               (uint64_t)map->swizzle_atom << 12 | (uint64_t)map->l2_promotion << 14 |
               (uint64_t)map->fill_nan << 16 | MARK << MARK_AT;
    for (unsigned i = 0; i < EMU_MAP_RANK; i++) {
        words[2 + i / 2] |= ((map->dim[i] - 1) & UINT32_MAX) << (32 * (i % 2));
        words[9] |= (uint64_t)((map->box[i] - 1) & 0xFF) << (8 * i);
        words[9] |= (uint64_t)((map->element_stride[i] - 1) & 7) << (40 + 3 * i);
    }
    memcpy(&words[5], map->stride_bytes, sizeof(map->stride_bytes));
    words[CHECKSUM] = emu_hash(words, CHECKSUM * sizeof(words[0]));
    memcpy(ret_bytes, words, sizeof(words));
}

bool emu_tensor_map_unpack(const void *bytes, struct emu_tensor_map *ret_map,
                           struct emu_error *error)
{
    uint64_t words[WORDS];
    memcpy(words, bytes, sizeof(words));
    if (words[1] >> MARK_AT != MARK) {
        return emu_fail(error, "these 128 bytes are no tensor map");
    }
    if (words[CHECKSUM] != emu_hash(words, CHECKSUM * sizeof(words[0]))) {
        return emu_fail(error, "the tensor map is corrupt: its check sum does not fit");
    }
    *ret_map = (struct emu_tensor_map){
        .type = (enum emu_map_type)(words[1] & 15),
        .rank = (uint32_t)(words[1] >> 4 & 7) + 1,
        .base = words[0],
        .interleave = (uint32_t)(words[1] >> 7 & 3),
        .swizzle_mode = (uint32_t)(words[1] >> 9 & 7),
        .swizzle_atom = (uint32_t)(words[1] >> 12 & 3),
        .l2_promotion = (uint32_t)(words[1] >> 14 & 3),
        .fill_nan = (words[1] >> 16 & 1) != 0,
    };
    for (unsigned i = 0; i < EMU_MAP_RANK; i++) {
        ret_map->dim[i] = (words[2 + i / 2] >> (32 * (i % 2)) & UINT32_MAX) + 1;
        ret_map->box[i] = (uint32_t)(words[9] >> (8 * i) & 0xFF) + 1;
        ret_map->element_stride[i] = (uint32_t)(words[9] >> (40 + 3 * i) & 7) + 1;
    }
    memcpy(ret_map->stride_bytes, &words[5], sizeof(ret_map->stride_bytes));
    return true;
}

bool emu_tensor_map_encode(void *map, unsigned type, unsigned rank, uint64_t base,
                           const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *element_strides,
                           unsigned interleave, unsigned swizzle, unsigned l2_promotion,
                           unsigned fill, struct emu_error *error)
{
    struct emu_tensor_map filled = {.type = (enum emu_map_type)type,
                                    .rank = rank,
                                    .base = base,
                                    .interleave = interleave,
                                    .l2_promotion = l2_promotion,
                                    .fill_nan = fill == 1};
    if (map == NULL || (uintptr_t)map % EMU_MAP_ALIGNMENT != 0) {
        return emu_fail(error, "the tensor map itself must be aligned to 64 bytes");
    }
    if (rank < 1 || rank > EMU_MAP_RANK) {
        return emu_fail(error, "rank %u; legal are 1 to 5", rank);
    }
    if (dims == NULL || box == NULL || element_strides == NULL ||
        (strides == NULL && rank > 1)) {
        return emu_fail(error, "an array is missing");
    }
    if (swizzle >= EMU_SWIZZLE_96B) {
        return emu_fail(error, "swizzle %u does not exist", swizzle);
    }
    if (fill > 1) {
        return emu_fail(error, "fill %u does not exist", fill);
    }
    filled.swizzle_mode = swizzles[swizzle].mode;
    filled.swizzle_atom = swizzles[swizzle].atom;
    for (uint32_t i = 0; i < EMU_MAP_RANK; i++) {
        filled.dim[i] = i < rank ? dims[i] : 1;
        filled.box[i] = i < rank ? box[i] : 1;
        filled.element_stride[i] = i < rank ? element_strides[i] : 1;
        if (i + 1 < rank) {
            filled.stride_bytes[i] = strides[i];
        }
    }
    if (interleave == 0) {
        filled.element_stride[0] = 1;
    }
    if (!emu_tensor_map_check(&filled, error)) {
        return false;
    }
    emu_tensor_map_pack(&filled, map);
    return true;
}
