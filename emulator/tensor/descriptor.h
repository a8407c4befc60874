/* SPDX-License-Identifier: MIT */
/*
 * Matrices in shared memory as wgmma and tcgen05 see them: the 64-bit matrix descriptors of
 * sm_90 and sm_100, where each element lies, and fetching a tile of them.
 *
 * Rows are those of M or N, columns those of K. "K-major": neighbours along K are
 * neighbours in memory; "MN-major": those along M or N are.
 */
#ifndef EMU_TENSOR_DESCRIPTOR_H
#define EMU_TENSOR_DESCRIPTOR_H

#include "exec/memory.h"

enum emu_swizzle {
    EMU_SWIZZLE_NONE,
    EMU_SWIZZLE_32,
    EMU_SWIZZLE_64,
    EMU_SWIZZLE_128,
    EMU_SWIZZLE_128_ATOM_32 /* 128 bytes in units of 32: only sm_100, tf32, MN-major */
};

/* A decoded matrix descriptor. Bytes; `start` is an offset in the CTA's shared memory. */
struct emu_matrix {
    uint32_t start, leading, stride;
    enum emu_swizzle swizzle;
};

/* False, and an error that names the field, when the descriptor is not legal. */
bool emu_matrix_decode_sm90(uint64_t bits, struct emu_matrix *ret_matrix,
                            struct emu_error *error);
bool emu_matrix_decode_sm100(uint64_t bits, struct emu_matrix *ret_matrix,
                             struct emu_error *error);

/* How elements fill 16 bytes. */
enum emu_packing {
    EMU_PACK_32,
    EMU_PACK_16,
    EMU_PACK_8,
    EMU_PACK_6_PADDED, /* 16 elements in 12 bytes, then 4 bytes that are not read */
    EMU_PACK_4_PADDED, /* 16 elements in 8 bytes, then 8 bytes that are not read */
    EMU_PACK_4         /* 32 elements, the lower half of a byte first */
};
/* Elements in 16 bytes. */
unsigned emu_packing_elements(enum emu_packing packing);
/* Bytes of shared memory that so many of them take. */
static inline double emu_packing_bytes(enum emu_packing packing, unsigned count)
{
    return 16.0 * count / emu_packing_elements(packing);
}
/* Takes 16 bytes apart: one element per cell, `pitch` cells from one to the next. */
void emu_packing_unpack(enum emu_packing packing, const uint8_t bytes[16], uint32_t *cells,
                        size_t pitch);

/* One operand of an instruction. */
struct emu_tile {
    struct emu_matrix matrix;
    enum emu_packing packing;
    bool mn_major;
    unsigned rows, k;
};

/* Whether this kind of element may lie in memory that way. */
bool emu_tile_check(const struct emu_tile *tile, struct emu_error *error);

/* Offset in shared memory of the 16 bytes that hold the element. */
uint32_t emu_tile_address(const struct emu_tile *tile, unsigned row, unsigned k);

/*
 * Fetches the tile from the CTA's shared memory: one element per cell, row-major,
 * tile->k cells per row. False: reported (bounds, undefined bytes, races).
 */
bool emu_tile_fetch(const struct emu_actor *actor, struct emu_cta *cta,
                    const struct emu_tile *tile, uint32_t *cells);

#endif
