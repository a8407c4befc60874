/* SPDX-License-Identifier: MIT */
/* What the device modules have to agree with, as the PTX ISA has it: swizzles, the layouts
 * of tiles that matrix descriptors name, and the bits of descriptors. Written down here
 * once more, and not taken from the modules. */
#ifndef JG_TESTS_HARDWARE_H
#define JG_TESTS_HARDWARE_H

#include "check.h"

namespace hardware {

enum swizzle { SWIZZLE_NONE, SWIZZLE_32, SWIZZLE_64, SWIZZLE_128, SWIZZLE_128_ATOM_32 };

/* PTX ISA, "swizzling modes": which 16 bytes of a line of 128 lie where. Line, then place;
 * lines repeat. Without a swizzle, all lie in order. */
inline constexpr uint8_t chunks_32[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                            {1, 0, 3, 2, 5, 4, 7, 6}};
inline constexpr uint8_t chunks_64[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                            {1, 0, 3, 2, 5, 4, 7, 6},
                                            {2, 3, 0, 1, 6, 7, 4, 5},
                                            {3, 2, 1, 0, 7, 6, 5, 4}};
inline constexpr uint8_t chunks_128[8][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5},
    {3, 2, 1, 0, 7, 6, 5, 4}, {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
    {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
inline constexpr uint8_t chunks_128_atom_32[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                                     {2, 3, 0, 1, 6, 7, 4, 5},
                                                     {4, 5, 6, 7, 0, 1, 2, 3},
                                                     {6, 7, 4, 5, 2, 3, 0, 1}};

/* Where the byte lies that would lie at this address without swizzle. */
inline uint32_t swizzled_address(swizzle mode, uint32_t address)
{
    const uint32_t line = address / 128, chunk = address / 16 % 8;
    const uint32_t place = mode == SWIZZLE_32    ? chunks_32[line % 2][chunk]
                           : mode == SWIZZLE_64  ? chunks_64[line % 4][chunk]
                           : mode == SWIZZLE_128 ? chunks_128[line % 8][chunk]
                           : mode == SWIZZLE_128_ATOM_32
                               ? chunks_128_atom_32[line % 4][chunk]
                               : chunk;
    return line * 128 + place * 16 + address % 16;
}

/* Bytes of a row of the swizzle's pattern, and rows after which a tile has an offset. */
inline uint32_t row_bytes_of(swizzle mode)
{
    return mode == SWIZZLE_32 ? 32 : mode == SWIZZLE_64 ? 64 : 128;
}
inline uint32_t group_rows_of(swizzle mode)
{
    return mode == SWIZZLE_128_ATOM_32 ? 4 : 8;
}

/* The swizzle of tensor maps and of the tensor core for rows of so many bytes: of elements
 * of 32 bits along M or N only the one with atoms of 32 bytes can be multiplied. */
inline swizzle swizzle_for(uint32_t row_bytes, bool k_major, uint32_t element_bytes)
{
    return !k_major && element_bytes == 4 ? SWIZZLE_128_ATOM_32
           : row_bytes == 32              ? SWIZZLE_32
           : row_bytes == 64              ? SWIZZLE_64
                                          : SWIZZLE_128;
}

/* ---------------------------------------------------------------- matrix descriptors */

struct bit_field {
    unsigned first, count;
};
inline uint32_t bits_of(uint64_t value, bit_field field)
{
    return static_cast<uint32_t>(value >> field.first & ((uint64_t(1) << field.count) - 1));
}

/* PTX ISA, tables "matrix descriptor" of wgmma and of tcgen05. */
inline constexpr bit_field START = {0, 14}, LEADING = {16, 14}, STRIDE = {32, 14};
inline constexpr bit_field BASE_OFFSET = {49, 3};
inline constexpr bit_field SM90_SWIZZLE = {62, 2};
inline constexpr bit_field SM100_VERSION = {46, 3}, SM100_LEADING_MODE = {52, 1};
inline constexpr bit_field SM100_SWIZZLE = {61, 3};

struct matrix {
    uint32_t start, leading, stride; /* bytes */
    swizzle mode;
    bool legal; /* are all other bits as they have to be? */
};

/* Bits that none of the fields has must be 0. */
inline bool others_are_zero(uint64_t bits, const std::vector<bit_field> &fields)
{
    for (const bit_field &field : fields) {
        bits &= ~(((uint64_t(1) << field.count) - 1) << field.first);
    }
    return bits == 0;
}

inline matrix decode_sm90(unsigned long long bits)
{
    static constexpr swizzle modes[] = {SWIZZLE_NONE, SWIZZLE_128, SWIZZLE_64, SWIZZLE_32};
    return {bits_of(bits, START) * 16, bits_of(bits, LEADING) * 16,
            bits_of(bits, STRIDE) * 16, modes[bits_of(bits, SM90_SWIZZLE)],
            others_are_zero(bits, {START, LEADING, STRIDE, SM90_SWIZZLE})};
}

inline matrix decode_sm100(unsigned long long bits)
{
    static const std::map<uint32_t, swizzle> modes = {{0, SWIZZLE_NONE},
                                                      {1, SWIZZLE_128_ATOM_32},
                                                      {2, SWIZZLE_128},
                                                      {4, SWIZZLE_64},
                                                      {6, SWIZZLE_32}};
    const auto mode = modes.find(bits_of(bits, SM100_SWIZZLE));
    const bool legal =
        bits_of(bits, SM100_VERSION) == 1 && mode != modes.end() &&
        others_are_zero(bits, {START, LEADING, STRIDE, SM100_VERSION, SM100_SWIZZLE});
    return {bits_of(bits, START) * 16, bits_of(bits, LEADING) * 16,
            bits_of(bits, STRIDE) * 16, mode != modes.end() ? mode->second : SWIZZLE_NONE,
            legal};
}

/* PTX ISA, "canonical layouts": where the tensor core reads element (mn, k). K-major: rows
 * of M or N, 8 of them a stride. MN-major: rows of K, a group of them a stride, and what
 * exceeds a row along M or N a leading offset on. */
inline uint32_t element_address(const matrix &tile, bool k_major, uint32_t element_bytes,
                                uint32_t mn, uint32_t k)
{
    const uint32_t row_bytes = row_bytes_of(tile.mode), group = group_rows_of(tile.mode);
    if (k_major) {
        return swizzled_address(tile.mode, tile.start + mn / 8 * tile.stride +
                                               mn % 8 * row_bytes + k * element_bytes);
    }
    const uint32_t along = mn * element_bytes;
    return swizzled_address(tile.mode, tile.start + along % row_bytes +
                                           along / row_bytes * tile.leading +
                                           k % group * row_bytes + k / group * tile.stride);
}

/* --------------------------------------------------------------------- accumulators */

/* PTX ISA, wgmma: lane `lane`'s register `index` of a warp's 16 rows; also tcgen05.ld
 * 16x256b. */
inline uint32_t fragment_row(uint32_t lane, uint32_t index)
{
    return lane / 4 + index / 2 % 2 * 8;
}
inline uint32_t fragment_col(uint32_t lane, uint32_t index)
{
    return index / 4 * 8 + lane % 4 * 2 + index % 2;
}

struct tmem_place {
    uint32_t lane, column;
};
/* PTX ISA, "data path layouts" of tcgen05.mma: where an element of a CTA's accumulator of
 * `rows` by `cols` lies, from its first column on. `group`: CTAs that multiply as one. */
inline tmem_place find_in_tensor_memory(uint32_t rows, uint32_t cols, uint32_t group,
                                        uint32_t row, uint32_t col)
{
    if (rows == 64 && group == 1) { /* layout F */
        return {row / 16 * 32 + row % 16, col};
    }
    if (rows == 64) { /* layout B, of 128 rows in all */
        return {row + col / (cols / 2) * 64, col % (cols / 2)};
    }
    return {row, col}; /* layouts A and D */
}

} // namespace hardware

#endif
