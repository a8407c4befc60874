/* SPDX-License-Identifier: MIT */
/*
 * Matrix descriptors and tiles. The address formulas are the canonical layouts of the PTX
 * ISA (9.7.15.5.1.2.1.3 for wgmma, 9.7.16.3.3 for tcgen05), followed by the swizzle on the
 * absolute shared-memory address.
 */
#include "tensor/descriptor.h"

#include <string.h>

#define CHUNK_BYTES 16u

/* ------------------------------------------------------------------------ descriptors */

static uint32_t get_bits(uint64_t value, unsigned first, unsigned count)
{
    return (uint32_t)(value >> first) & ((1u << count) - 1u);
}

struct reserved_field {
    unsigned first, count;
    uint32_t value;
};

static bool check_reserved(uint64_t bits, const struct reserved_field *fields,
                           unsigned count, struct emu_error *error)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t value = get_bits(bits, fields[i].first, fields[i].count);
        if (value != fields[i].value) {
            return emu_fail(error,
                            "bits %u-%u of the matrix descriptor 0x%016llx are %u; they "
                            "must be %u",
                            fields[i].first, fields[i].first + fields[i].count - 1,
                            (unsigned long long)bits, value, fields[i].value);
        }
    }
    return true;
}

/* The fields that both architectures share. */
static bool decode_common(uint64_t bits, enum emu_swizzle swizzle,
                          struct emu_matrix *ret_matrix, struct emu_error *error)
{
    uint32_t base_offset = get_bits(bits, 49, 3);
    if (base_offset != 0) {
        return emu_fail(
            error,
            "base offset (bits 49-51) of the matrix descriptor 0x%016llx is %u; "
            "only 0 is supported: begin the tile where the swizzle pattern "
            "begins",
            (unsigned long long)bits, base_offset);
    }
    *ret_matrix = (struct emu_matrix){.start = get_bits(bits, 0, 14) << 4,
                                      .leading = get_bits(bits, 16, 14) << 4,
                                      .stride = get_bits(bits, 32, 14) << 4,
                                      .swizzle = swizzle};
    return true;
}

bool emu_matrix_decode_sm90(uint64_t bits, struct emu_matrix *ret_matrix,
                            struct emu_error *error)
{
    static const struct reserved_field reserved[] = {
        {14, 2, 0}, {30, 2, 0}, {46, 3, 0}, {52, 10, 0}};
    static const enum emu_swizzle swizzles[] = {EMU_SWIZZLE_NONE, EMU_SWIZZLE_128,
                                                EMU_SWIZZLE_64, EMU_SWIZZLE_32};
    return check_reserved(bits, reserved, sizeof(reserved) / sizeof(reserved[0]), error) &&
           decode_common(bits, swizzles[get_bits(bits, 62, 2)], ret_matrix, error);
}

bool emu_matrix_decode_sm100(uint64_t bits, struct emu_matrix *ret_matrix,
                             struct emu_error *error)
{
    static const struct reserved_field reserved[] = {
        {14, 2, 0}, {30, 2, 0}, {46, 3, 1}, {53, 8, 0}};
    if (!check_reserved(bits, reserved, sizeof(reserved) / sizeof(reserved[0]), error)) {
        return false;
    }
    if (get_bits(bits, 52, 1) != 0) {
        return emu_fail(error,
                        "the leading-dimension mode (bit 52) of the matrix descriptor "
                        "0x%016llx is absolute, which only sm_103a has",
                        (unsigned long long)bits);
    }
    enum emu_swizzle swizzle = EMU_SWIZZLE_NONE;
    switch (get_bits(bits, 61, 3)) {
    case 0:
        break;
    case 1:
        swizzle = EMU_SWIZZLE_128_ATOM_32;
        break;
    case 2:
        swizzle = EMU_SWIZZLE_128;
        break;
    case 4:
        swizzle = EMU_SWIZZLE_64;
        break;
    case 6:
        swizzle = EMU_SWIZZLE_32;
        break;
    default:
        return emu_fail(error,
                        "the swizzle mode (bits 61-63) of the matrix descriptor 0x%016llx "
                        "is %u; legal are 0, 1, 2, 4 and 6",
                        (unsigned long long)bits, get_bits(bits, 61, 3));
    }
    return decode_common(bits, swizzle, ret_matrix, error);
}

/* ---------------------------------------------------------------------------- packing */

unsigned emu_packing_elements(enum emu_packing packing)
{
    static const unsigned char elements[] = {
        [EMU_PACK_32] = 4,        [EMU_PACK_16] = 8,        [EMU_PACK_8] = 16,
        [EMU_PACK_6_PADDED] = 16, [EMU_PACK_4_PADDED] = 16, [EMU_PACK_4] = 32};
    return elements[packing];
}

/* Bytes of 16 that hold data. */
static uint32_t count_data_bytes(enum emu_packing packing)
{
    return packing == EMU_PACK_6_PADDED ? 12 : packing == EMU_PACK_4_PADDED ? 8 : 16;
}

void emu_packing_unpack(enum emu_packing packing, const uint8_t bytes[16], uint32_t *cells,
                        size_t pitch)
{
    uint32_t words[4];
    uint16_t halves[8];
    switch (packing) {
    case EMU_PACK_32:
        memcpy(words, bytes, sizeof(words));
        for (unsigned i = 0; i < 4; i++) {
            cells[i * pitch] = words[i];
        }
        break;
    case EMU_PACK_16:
        memcpy(halves, bytes, sizeof(halves));
        for (unsigned i = 0; i < 8; i++) {
            cells[i * pitch] = halves[i];
        }
        break;
    case EMU_PACK_8:
        for (unsigned i = 0; i < 16; i++) {
            cells[i * pitch] = bytes[i];
        }
        break;
    case EMU_PACK_6_PADDED:
        for (unsigned i = 0; i < 16; i++) {
            unsigned bit = i * 6;
            unsigned pair = (unsigned)bytes[bit / 8] | (unsigned)bytes[bit / 8 + 1] << 8;
            cells[i * pitch] = pair >> bit % 8 & 0x3Fu;
        }
        break;
    case EMU_PACK_4_PADDED:
        for (unsigned i = 0; i < 16; i++) {
            cells[i * pitch] = (uint32_t)bytes[i / 2] >> i % 2 * 4 & 0xFu;
        }
        break;
    case EMU_PACK_4:
        for (unsigned i = 0; i < 32; i++) {
            cells[i * pitch] = (uint32_t)bytes[i / 2] >> i % 2 * 4 & 0xFu;
        }
        break;
    }
}

/* ------------------------------------------------------------------------------ tiles */

bool emu_tile_check(const struct emu_tile *tile, struct emu_error *error)
{
    bool atom_32 = tile->matrix.swizzle == EMU_SWIZZLE_128_ATOM_32;
    if (!tile->mn_major) {
        return !atom_32 ||
               emu_fail(error, "a K-major matrix with 128-byte swizzle in 32-byte atoms is "
                               "not supported");
    }
    switch (tile->packing) {
    case EMU_PACK_32:
        return atom_32 || emu_fail(error, "an MN-major matrix of 32-bit elements needs the "
                                          "128-byte swizzle with 32-byte atoms (mode 1)");
    case EMU_PACK_16:
    case EMU_PACK_8:
        return !atom_32 ||
               emu_fail(error, "only 32-bit elements may be MN-major in the 128-byte "
                               "swizzle with 32-byte atoms (mode 1)");
    default:
        return emu_fail(error, "elements of 4 and 6 bits must be K-major");
    }
}

static uint32_t swizzle_address(enum emu_swizzle swizzle, uint32_t address)
{
    switch (swizzle) {
    case EMU_SWIZZLE_32:
        return address ^ (address >> 7 & 1u) << 4;
    case EMU_SWIZZLE_64:
        return address ^ (address >> 7 & 3u) << 4;
    case EMU_SWIZZLE_128:
        return address ^ (address >> 7 & 7u) << 4;
    case EMU_SWIZZLE_128_ATOM_32:
        return address ^ (address >> 7 & 3u) << 5;
    default:
        return address;
    }
}

/* Bytes of a row of the swizzle pattern. */
static uint32_t count_row_bytes(enum emu_swizzle swizzle)
{
    static const unsigned char bytes[] = {[EMU_SWIZZLE_NONE] = 16,
                                          [EMU_SWIZZLE_32] = 32,
                                          [EMU_SWIZZLE_64] = 64,
                                          [EMU_SWIZZLE_128] = 128,
                                          [EMU_SWIZZLE_128_ATOM_32] = 128};
    return bytes[swizzle];
}

/* ((8,m),(T,k)):((row,SBO),(1,T)), and without swizzle LBO between 16-byte columns. */
static uint32_t find_k_major(const struct emu_matrix *matrix, unsigned row, unsigned chunk)
{
    uint32_t address = matrix->start + row / 8 * matrix->stride +
                       row % 8 * count_row_bytes(matrix->swizzle);
    return address + chunk * (matrix->swizzle == EMU_SWIZZLE_NONE ? matrix->leading : 16u);
}

/*
 * Swizzled: ((row,m),(8,k)):((1,LBO),(row,SBO)), with groups of 4 instead of 8 along K in
 * 32-byte atoms. Not swizzled, the roles of the two offsets are exchanged:
 * ((T,m),(8,k)):((1,SBO),(T,LBO)). `chunk` counts 16 bytes along M or N.
 */
static uint32_t find_mn_major(const struct emu_matrix *matrix, unsigned chunk, unsigned k)
{
    if (matrix->swizzle == EMU_SWIZZLE_NONE) {
        return matrix->start + chunk * matrix->stride + k % 8 * CHUNK_BYTES +
               k / 8 * matrix->leading;
    }
    uint32_t row_bytes = count_row_bytes(matrix->swizzle);
    uint32_t chunks = row_bytes / CHUNK_BYTES;
    unsigned group = matrix->swizzle == EMU_SWIZZLE_128_ATOM_32 ? 4 : 8;
    return matrix->start + chunk % chunks * CHUNK_BYTES + chunk / chunks * matrix->leading +
           k % group * row_bytes + k / group * matrix->stride;
}

uint32_t emu_tile_address(const struct emu_tile *tile, unsigned row, unsigned k)
{
    unsigned elements = emu_packing_elements(tile->packing);
    const struct emu_matrix *matrix = &tile->matrix;
    uint32_t address = tile->mn_major ? find_mn_major(matrix, row / elements, k)
                                      : find_k_major(matrix, row, k / elements);
    return swizzle_address(matrix->swizzle, address);
}

/*
 * Two neighbouring chunks, either of which may come first in memory. Where they fill 32
 * aligned bytes they are read at once.
 */
static bool read_pair(const struct emu_actor *actor, struct emu_cta *cta, uint32_t first,
                      uint32_t second, uint32_t bytes, uint8_t data[2 * CHUNK_BYTES])
{
    if ((first ^ second) != CHUNK_BYTES || bytes != CHUNK_BYTES) {
        return emu_shared_read(actor, cta, first, bytes, 1, data, NULL) &&
               emu_shared_read(actor, cta, second, bytes, 1, data + CHUNK_BYTES, NULL);
    }
    uint8_t both[2 * CHUNK_BYTES];
    uint32_t base = first < second ? first : second;
    if (!emu_shared_read(actor, cta, base, sizeof(both), 1, both, NULL)) {
        return false;
    }
    memcpy(data, both + (first - base), CHUNK_BYTES);
    memcpy(data + CHUNK_BYTES, both + (second - base), CHUNK_BYTES);
    return true;
}

bool emu_tile_fetch(const struct emu_actor *actor, struct emu_cta *cta,
                    const struct emu_tile *tile, uint32_t *cells)
{
    unsigned elements = emu_packing_elements(tile->packing);
    uint32_t bytes = count_data_bytes(tile->packing);
    /* `outer` walks lines of memory, `chunk` 16 bytes along a line. */
    unsigned lines = tile->mn_major ? tile->k : tile->rows;
    unsigned chunks = (tile->mn_major ? tile->rows : tile->k) / elements;
    size_t line_pitch = tile->mn_major ? 1 : tile->k;
    size_t element_pitch = tile->mn_major ? tile->k : 1;
    for (unsigned line = 0; line < lines; line++) {
        for (unsigned chunk = 0; chunk < chunks; chunk += 2) {
            uint8_t data[2 * CHUNK_BYTES];
            uint32_t at[2];
            for (unsigned i = 0; i < 2; i++) {
                unsigned along = (chunk + i) * elements;
                at[i] = tile->mn_major ? emu_tile_address(tile, along, line)
                                       : emu_tile_address(tile, line, along);
            }
            bool alone = chunk + 1 == chunks;
            if (alone ? !emu_shared_read(actor, cta, at[0], bytes, 1, data, NULL)
                      : !read_pair(actor, cta, at[0], at[1], bytes, data)) {
                return false;
            }
            for (unsigned i = 0; i < (alone ? 1u : 2u); i++) {
                emu_packing_unpack(tile->packing, data + (size_t)i * CHUNK_BYTES,
                                   cells + line * line_pitch +
                                       (size_t)(chunk + i) * elements * element_pitch,
                                   element_pitch);
            }
        }
    }
    return true;
}
