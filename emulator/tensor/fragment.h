/* SPDX-License-Identifier: MIT */
/*
 * Which register of which lane holds an element: the fragments of mma.sync and wgmma, and
 * the shapes of tcgen05.ld and .st.
 */
#ifndef EMU_TENSOR_FRAGMENT_H
#define EMU_TENSOR_FRAGMENT_H

#include "exec/machine.h"

/* Values of registers: by register, by lane. */
typedef uint32_t emu_fragment_register[EMU_LANES];

/*
 * A of 16 rows, from 2 or 4 registers of a warp: one element per cell, row-major, k cells
 * per row. `bits`: 8, 16 or 32 per element. K is registers/2 · 4 · (32 / bits).
 */
void emu_fragment_get_a(const emu_fragment_register *registers, unsigned count,
                        unsigned bits, uint32_t *cells, unsigned k);
/* B of 8 columns, from 1 or 2 registers, as emu_mma takes it: a row for each column. */
void emu_fragment_get_b(const emu_fragment_register *registers, unsigned count,
                        unsigned bits, uint32_t *cells, unsigned k);
/* The place of element `i` of a lane's accumulator: two in a row, two 8 rows below, then 8
 * columns further. */
static inline unsigned emu_fragment_row(unsigned lane, unsigned i)
{
    return lane / 4 + 8 * (i >> 1 & 1);
}
static inline unsigned emu_fragment_column(unsigned lane, unsigned i)
{
    return 8 * (i >> 2) + 2 * (lane & 3) + (i & 1);
}

enum emu_access_shape {
    EMU_ACCESS_32X32B,
    EMU_ACCESS_16X64B,
    EMU_ACCESS_16X128B,
    EMU_ACCESS_16X256B,
    EMU_ACCESS_16X32BX2,
    EMU_ACCESS_SHAPE_COUNT
};
extern const char *const emu_access_words[EMU_ACCESS_SHAPE_COUNT];
/* Of the shape once: lanes, columns of each lane, registers of each thread. */
unsigned emu_access_lanes(enum emu_access_shape shape);
unsigned emu_access_columns(enum emu_access_shape shape);
unsigned emu_access_registers(enum emu_access_shape shape);
/* The tensor-memory lane and column of a thread's register, from the base of the access;
 * `ret_half`: it belongs to the second part of 16x32bx2. */
void emu_access_place(enum emu_access_shape shape, unsigned thread, unsigned index,
                      unsigned *ret_lane, unsigned *ret_column, bool *ret_half);

#endif
