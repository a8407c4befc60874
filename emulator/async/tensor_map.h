/* SPDX-License-Identifier: MIT */
/* What a tensor map says, and how it is packed into 128 bytes. */
#ifndef EMU_ASYNC_TENSOR_MAP_H
#define EMU_ASYNC_TENSOR_MAP_H

#include "base/base.h"

#define EMU_MAP_BYTES     128u
#define EMU_MAP_ALIGNMENT 64u
#define EMU_MAP_RANK      5u

/* As CUtensorMapDataType. */
enum emu_map_type {
    EMU_MAP_U8,
    EMU_MAP_U16,
    EMU_MAP_U32,
    EMU_MAP_S32,
    EMU_MAP_U64,
    EMU_MAP_S64,
    EMU_MAP_F16,
    EMU_MAP_F32,
    EMU_MAP_F64,
    EMU_MAP_BF16,
    EMU_MAP_F32_FTZ,
    EMU_MAP_TF32,
    EMU_MAP_TF32_FTZ,
    EMU_MAP_U4_ALIGN8,  /* 16 x 4 bits in 8 bytes */
    EMU_MAP_U4_ALIGN16, /* 16 x 4 bits, in shared memory followed by a gap of 8 bytes */
    EMU_MAP_U6_ALIGN16, /* 16 x 6 bits, in shared memory followed by a gap of 4 bytes */
    EMU_MAP_TYPE_COUNT
};

/* As CUtensorMapSwizzle; only tensormap.replace can set the last one. */
enum emu_map_swizzle {
    EMU_SWIZZLE_NONE,
    EMU_SWIZZLE_32B,
    EMU_SWIZZLE_64B,
    EMU_SWIZZLE_128B,
    EMU_SWIZZLE_128B_ATOM_32B,
    EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B,
    EMU_SWIZZLE_128B_ATOM_64B,
    EMU_SWIZZLE_96B,
    EMU_SWIZZLE_COUNT
};

struct emu_tensor_map {
    enum emu_map_type type;
    uint32_t rank;
    uint64_t base;
    uint64_t dim[EMU_MAP_RANK];              /* elements, dimension 0 innermost */
    uint64_t stride_bytes[EMU_MAP_RANK - 1]; /* of dimensions 1 and up */
    uint32_t box[EMU_MAP_RANK];              /* elements */
    uint32_t element_stride[EMU_MAP_RANK];
    uint32_t interleave;                 /* 0 none, 1 16 bytes, 2 32 bytes */
    uint32_t swizzle_mode, swizzle_atom; /* as tensormap.replace has them */
    uint32_t l2_promotion;
    bool fill_nan;
};

/*
 * Checks everything that the driver checks and fills the 128 bytes; the error says what is
 * wrong. The numbers are those of cuTensorMapEncodeTiled: `strides` has rank - 1 entries,
 * the other arrays rank.
 */
bool emu_tensor_map_encode(void *map, unsigned type, unsigned rank, uint64_t base,
                           const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *element_strides,
                           unsigned interleave, unsigned swizzle, unsigned l2_promotion,
                           unsigned fill, struct emu_error *error);

/* Unpacks; fails on bytes that are no tensor map, or whose check sum is wrong. */
bool emu_tensor_map_unpack(const void *map, struct emu_tensor_map *ret_map,
                           struct emu_error *error);
void emu_tensor_map_pack(const struct emu_tensor_map *map, void *ret_bytes);
/* The rules that hold for every map that is used. */
bool emu_tensor_map_check(const struct emu_tensor_map *map, struct emu_error *error);

enum emu_map_swizzle emu_tensor_map_swizzle(const struct emu_tensor_map *map);
/* Bytes of the widest row that the swizzle of a checked map takes; 0: any. */
uint32_t emu_tensor_map_widest_row(const struct emu_tensor_map *map);
/* Bits of an element in global memory. */
unsigned emu_map_type_bits(enum emu_map_type type);
bool emu_map_type_is_float(enum emu_map_type type);
/* 128 elements with gaps: EMU_MAP_U4_ALIGN16 and EMU_MAP_U6_ALIGN16. */
bool emu_map_type_is_padded(enum emu_map_type type);

#endif
