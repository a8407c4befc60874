/* SPDX-License-Identifier: MIT */
/* Register fragments, as figures of the PTX ISA (9.7.14.5, 9.7.15.5.1.1, 9.7.16.2.3.1) and
 * thread layouts of CUTLASS agree on them. */
#include "tensor/fragment.h"

/* Lane l holds row l/4 and, of each group of 4 · `per`, the elements l%4 · per onwards. */
static void unpack(const emu_fragment_register values, unsigned bits, uint32_t *cells,
                   unsigned k)
{
    unsigned per = 32 / bits;
    uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1u;
    for (unsigned lane = 0; lane < EMU_LANES; lane++) {
        uint32_t *row = cells + (size_t)(lane / 4) * k + (size_t)(lane % 4) * per;
        for (unsigned i = 0; i < per; i++) {
            row[i] = values[lane] >> i * bits % 32 & mask;
        }
    }
}

void emu_fragment_get_a(const emu_fragment_register *registers, unsigned count,
                        unsigned bits, uint32_t *cells, unsigned k)
{
    for (unsigned i = 0; i < count; i++) {
        /* Rows 0-7, rows 8-15, then the same of the second half of K. */
        unpack(registers[i], bits,
               cells + (size_t)(i % 2) * 8 * k + (size_t)(i / 2) * 4 * (32 / bits), k);
    }
}

void emu_fragment_get_b(const emu_fragment_register *registers, unsigned count,
                        unsigned bits, uint32_t *cells, unsigned k)
{
    for (unsigned i = 0; i < count; i++) {
        unpack(registers[i], bits, cells + (size_t)i * 4 * (32 / bits), k);
    }
}

const char *const emu_access_words[EMU_ACCESS_SHAPE_COUNT] = {"32x32b", "16x64b", "16x128b",
                                                              "16x256b", "16x32bx2"};

unsigned emu_access_lanes(enum emu_access_shape shape)
{
    return shape == EMU_ACCESS_32X32B ? 32 : 16;
}

unsigned emu_access_columns(enum emu_access_shape shape)
{
    static const unsigned char columns[EMU_ACCESS_SHAPE_COUNT] = {1, 2, 4, 8, 1};
    return columns[shape];
}

unsigned emu_access_registers(enum emu_access_shape shape)
{
    static const unsigned char registers[EMU_ACCESS_SHAPE_COUNT] = {1, 1, 2, 4, 1};
    return registers[shape];
}

void emu_access_place(enum emu_access_shape shape, unsigned thread, unsigned index,
                      unsigned *ret_lane, unsigned *ret_column, bool *ret_half)
{
    *ret_half = false;
    switch (shape) {
    case EMU_ACCESS_16X64B:
        *ret_lane = thread / 4 + 8 * (thread & 1);
        *ret_column = (thread >> 1 & 1) + 2 * index;
        break;
    case EMU_ACCESS_16X128B:
        *ret_lane = thread / 4 + 8 * (index & 1);
        *ret_column = (thread & 3) + 4 * (index >> 1);
        break;
    case EMU_ACCESS_16X256B:
        *ret_lane = thread / 4 + 8 * (index >> 1 & 1);
        *ret_column = (index & 1) + 2 * (thread & 3) + 8 * (index >> 2);
        break;
    case EMU_ACCESS_16X32BX2:
        *ret_lane = thread % 16;
        *ret_column = index;
        *ret_half = thread >= 16;
        break;
    default:
        *ret_lane = thread;
        *ret_column = index;
        break;
    }
}
