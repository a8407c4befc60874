/* SPDX-License-Identifier: MIT */
/* Which register of which lane holds which element. */
#include "tensor/fragment.h"

#include <criterion/criterion.h>
#include <string.h>

/* Rows and columns by the formulas that the PTX ISA prints for element i of A (9.7.14.5).
 */
static void find_a(unsigned bits, unsigned lane, unsigned i, unsigned *row,
                   unsigned *column)
{
    unsigned group = lane >> 2;
    unsigned thread = lane % 4;
    if (bits == 16) { /* m16n8k16 */
        *row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        *column = thread * 2 + (i & 1) + (i < 4 ? 0 : 8);
    } else if (bits == 32) { /* m16n8k8 */
        *row = i == 0 || i == 2 ? group : group + 8;
        *column = i < 2 ? thread : thread + 4;
    } else { /* m16n8k32 */
        *row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
        *column = thread * 4 + (i & 3) + (i < 8 ? 0 : 16);
    }
}

static void expect_a(unsigned bits)
{
    unsigned per = 32 / bits;
    unsigned k = 8 * per;
    emu_fragment_register registers[4];
    uint32_t cells[16 * 32];
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned i = 0; i < 4 * per; i++) {
            unsigned row = 0;
            unsigned column = 0;
            find_a(bits, lane, i, &row, &column);
            uint32_t value = bits == 8 ? (row * 16 + column) & 0xFF : row * 256 + column;
            uint32_t *target = &registers[i / per][lane];
            *target = i % per == 0 ? value : *target | value << (i % per) * bits % 32;
        }
    }
    emu_fragment_get_a((const emu_fragment_register *)registers, 4, bits, cells, k);
    for (unsigned row = 0; row < 16; row++) {
        for (unsigned column = 0; column < k; column++) {
            uint32_t value = bits == 8 ? (row * 16 + column) & 0xFF : row * 256 + column;
            cr_expect_eq(cells[row * k + column], value, "%u bits, row %u, column %u", bits,
                         row, column);
        }
    }
}

Test(emu_tensor_fragment, a_of_16_rows)
{
    expect_a(8);
    expect_a(16);
    expect_a(32);
}

Test(emu_tensor_fragment, b_of_8_columns)
{
    emu_fragment_register registers[2];
    uint32_t cells[8 * 16];
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned i = 0; i < 4; i++) { /* m16n8k16: b0..b3 */
            uint32_t row = lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8);
            uint32_t value = row * 256 + (lane >> 2);
            uint32_t *target = &registers[i / 2][lane];
            *target = i % 2 == 0 ? value : *target | value << 16;
        }
    }
    emu_fragment_get_b((const emu_fragment_register *)registers, 2, 16, cells, 16);
    for (unsigned column = 0; column < 8; column++) {
        for (unsigned k = 0; k < 16; k++) {
            cr_expect_eq(cells[column * 16 + k], k * 256 + column);
        }
    }
}

/*
 * Thread layouts of tcgen05.ld as strides over the bits of a 16- or 32-lane block: thread
 * bits (low to high) and register bits each move by a number of 32-bit words, where a lane
 * is `row` words long.
 */
static void expect_access(enum emu_access_shape shape, unsigned repeat,
                          const unsigned thread_steps[5], unsigned index_step_0,
                          unsigned index_step_1, unsigned index_steps_inner,
                          unsigned index_step_repeat)
{
    unsigned registers = emu_access_registers(shape) * repeat;
    unsigned row = emu_access_columns(shape) * repeat;
    for (unsigned thread = 0; thread < 32; thread++) {
        for (unsigned i = 0; i < registers; i++) {
            unsigned words = 0;
            for (unsigned bit = 0; bit < 5; bit++) {
                words += (thread >> bit & 1) * thread_steps[bit];
            }
            words += i % index_steps_inner == 0 ? 0
                     : index_steps_inner == 4
                         ? (i & 1) * index_step_0 + (i >> 1 & 1) * index_step_1
                         : (i & 1) * index_step_0;
            words += i / index_steps_inner * index_step_repeat;
            unsigned lane = 0;
            unsigned column = 0;
            bool half = false;
            emu_access_place(shape, thread, i, &lane, &column, &half);
            cr_expect_eq(lane * row + column, words, "shape %d, thread %u, register %u",
                         shape, thread, i);
            cr_expect_not(half);
        }
    }
}

Test(emu_tensor_fragment, loads_of_tensor_memory)
{
    /* 16x64b.x2: threads (2,2,8):(8 lanes, 1 word, 1 lane), registers 2 words apart */
    expect_access(EMU_ACCESS_16X64B, 2, (unsigned[]){32, 1, 4, 8, 16}, 0, 0, 1, 2);
    /* 16x128b.x4: threads (4,8):(1 word, 1 lane), registers (2,4):(8 lanes, 4 words) */
    expect_access(EMU_ACCESS_16X128B, 4, (unsigned[]){1, 2, 16, 32, 64}, 128, 0, 2, 4);
    /* 16x256b.x4: threads (4,8):(2 words, 1 lane), registers (2,2,4):(1 word, 8 lanes, 8)
     */
    expect_access(EMU_ACCESS_16X256B, 4, (unsigned[]){2, 4, 32, 64, 128}, 1, 256, 4, 8);
    /* 32x32b.x8: a thread is a lane */
    expect_access(EMU_ACCESS_32X32B, 8, (unsigned[]){8, 16, 32, 64, 128}, 0, 0, 1, 1);
}

Test(emu_tensor_fragment, the_upper_half_of_the_warp_reads_the_second_part)
{
    unsigned lane = 0;
    unsigned column = 0;
    bool half = false;
    emu_access_place(EMU_ACCESS_16X32BX2, 5, 3, &lane, &column, &half);
    cr_expect(lane == 5 && column == 3 && !half);
    emu_access_place(EMU_ACCESS_16X32BX2, 21, 3, &lane, &column, &half);
    cr_expect(lane == 5 && column == 3 && half);
}
