/* SPDX-License-Identifier: MIT */
/* ldmatrix and stmatrix: where each element goes. */
#include "test_exec_alu_support.h"

#include <string.h>

/* Element (row, column) of matrix m is 64 m + 8 row + column. Lane 8 m + row writes its row
 * at smem + 16 lane; the addresses of the rows then lie in %e. */
#define FILL                                                                    \
    ".shared .align 16 .b8 smem[512]; .reg .b32 v, w; .reg .b32 f<4>;"          \
    "shl.b32 v, %t, 3; add.u32 w, v, 1; shl.b32 w, w, 16; or.b32 v, v, w;"      \
    "mov.u32 %e, smem; shl.b32 w, %t, 4; add.u32 %e, %e, w;"                    \
    "st.shared.u32 [%e], v; add.u32 v, v, 0x00020002; st.shared.u32 [%e+4], v;" \
    "add.u32 v, v, 0x00020002; st.shared.u32 [%e+8], v;"                        \
    "add.u32 v, v, 0x00020002; st.shared.u32 [%e+12], v; bar.warp.sync -1;"

static uint32_t element_pair(uint32_t low, uint32_t high)
{
    return high << 16 | low;
}

/* What lane `lane` holds of matrix m. */
static uint32_t fragment(unsigned m, unsigned lane, bool transposed)
{
    const unsigned row = lane / 4;
    const unsigned column = 2 * (lane % 4);
    return transposed
               ? element_pair(64 * m + 8 * column + row, 64 * m + 8 * (column + 1) + row)
               : element_pair(64 * m + 8 * row + column, 64 * m + 8 * row + column + 1);
}

/* The body leaves matrices `low` and `high` of the load in the halves of %D. */
static void check_load(const char *body, unsigned low, unsigned high, bool transposed)
{
    const struct alu_case one = {body, 0, 0, 0, 0};
    struct harness h;
    uint64_t results[32];
    cr_assert(alu_run(&h, &one, 0xFFFFFFFF, 0, results), "%s: %s", body, harness_text(&h));
    for (unsigned lane = 0; lane < 32; lane++) {
        const uint64_t expect = (uint64_t)fragment(high, lane, transposed) << 32 |
                                fragment(low, lane, transposed);
        cr_expect_eq(results[lane], expect, "%s: lane %u has %llx, not %llx", body, lane,
                     (unsigned long long)results[lane], (unsigned long long)expect);
    }
    harness_close(&h);
}

Test(alu_matrix, ldmatrix_hands_out_rows)
{
    check_load(FILL "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {f0, f1, f2, f3}, [%e];"
                    "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
               0, 1, false);
    check_load(FILL "ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {f0, f1, f2, f3}, [%e];"
                    "mov.b64 %D, {f2, f3}; mov.b32 %e, 0;",
               2, 3, false);
    check_load(FILL "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {f0, f1}, [%e+256];"
                    "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
               2, 3, false);
    check_load(FILL "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {f0}, [%e];"
                    "mov.b64 %D, {f0, f0}; mov.b32 %e, 0;",
               0, 0, false);
}

Test(alu_matrix, trans_hands_out_columns)
{
    check_load(FILL "ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {f0, f1, f2, f3}, [%e];"
                    "mov.b64 %D, {f1, f3}; mov.b32 %e, 0;",
               1, 3, true);
}

Test(alu_matrix, a_generic_address_may_point_to_shared_memory)
{
    check_load(FILL "cvt.u64.u32 %x, %e; cvta.shared.u64 %x, %x;"
                    "ldmatrix.sync.aligned.m8n8.x2.b16 {f0, f1}, [%x];"
                    "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
               0, 1, false);
}

/* Stores what ldmatrix would have loaded, to the rows in reverse order of matrices, and
 * loads it again. */
Test(alu_matrix, stmatrix_is_the_inverse)
{
    check_load(FILL "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {f0, f1, f2, f3}, [%e];"
                    "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%e], {f3, f2, f1, f0};"
                    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {f0, f1}, [%e];"
                    "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
               3, 2, false);
    check_load(FILL "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {f0, f1}, [%e];"
                    "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%e], {f0, f1};"
                    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {f0, f1}, [%e];"
                    "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
               0, 1, true);
}

static void check_finding(const char *body, enum emu_finding finding)
{
    const struct alu_case one = {body, 0, 0, 0, 0};
    struct harness h;
    uint64_t results[32];
    cr_assert_not(alu_run(&h, &one, 0xFFFFFFFF, 0, results), "%s: no finding", body);
    cr_expect_eq(harness_found(&h, finding), 1, "%s: %s", body, harness_text(&h));
    harness_close(&h);
}

Test(alu_matrix, rows_must_be_aligned_and_inside)
{
    check_finding(FILL "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {f0, f1, f2, f3}, [%e+8];",
                  EMU_FINDING_MISALIGNED);
    check_finding(FILL
                  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {f0, f1, f2, f3}, [%e+512];",
                  EMU_FINDING_OUT_OF_BOUNDS);
    check_finding(FILL "stmatrix.sync.aligned.m8n8.x1.b16 [%in], {v};",
                  EMU_FINDING_OUT_OF_BOUNDS);
}

Test(alu_matrix, all_lanes_must_take_part)
{
    check_finding(FILL "setp.lt.u32 %p, %t, 16;"
                       "@%p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {f0}, [%e];",
                  EMU_FINDING_ILLEGAL);
    check_finding(FILL "setp.lt.u32 %p, %t, 16; @%p bra OUT;"
                       "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {f0}, [%e];"
                       "OUT: mov.b32 %e, 0;",
                  EMU_FINDING_ILLEGAL);
}

/* A row that was never written makes the lanes undefined that hold its elements. */
Test(alu_matrix, undefined_bytes_stay_undefined)
{
    check_finding(".shared .align 16 .b8 smem[128]; .reg .b32 f0; mov.u32 %e, smem;"
                  "shl.b32 %d, %t, 4; add.u32 %e, %e, %d;"
                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {f0}, [%e];"
                  "setp.eq.u32 %p, f0, 0; @%p bra OUT; OUT: mov.b32 %d, 0;",
                  EMU_FINDING_UNDEFINED);
    check_finding(FILL "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%e], {f3};"
                       "ld.shared.u32 v, [%e]; setp.eq.u32 %p, v, 0; @%p bra OUT; OUT:",
                  EMU_FINDING_UNDEFINED);
}

/* ----------------------------------------------------------------- elements of 8 bits */

/* Byte `column` of the row of lane `row` at smem + 16 row; %e has the addresses of rows. */
static uint8_t byte_at(unsigned row, unsigned column)
{
    return (uint8_t)((16 * (row % 16) + column) ^ (row < 16 ? 0 : 0x80));
}

#define FILL_BYTES                                                                 \
    ".shared .align 16 .b8 smem[512]; .reg .b32 v, w; .reg .b32 f<4>;"             \
    "and.b32 v, %t, 15; shl.b32 v, v, 4; mul.lo.u32 v, v, 0x01010101;"             \
    "add.u32 v, v, 0x03020100; shr.u32 w, %t, 4; mul.lo.u32 w, w, 0x80808080;"     \
    "xor.b32 v, v, w; mov.u32 %e, smem; shl.b32 w, %t, 4; add.u32 %e, %e, w;"      \
    "st.shared.u32 [%e], v; xor.b32 v, v, 0x04040404; st.shared.u32 [%e+4], v;"    \
    "xor.b32 v, v, 0x0C0C0C0C; st.shared.u32 [%e+8], v; xor.b32 v, v, 0x04040404;" \
    "st.shared.u32 [%e+12], v; bar.warp.sync -1;"

/* The body leaves two registers in %D; what each byte must be is a function of where it is.
 */
static void check_bytes(const char *body, uint8_t (*expect)(unsigned lane, unsigned byte))
{
    const struct alu_case one = {body, 0, 0, 0, 0};
    struct harness h;
    uint64_t results[32];
    cr_assert(alu_run(&h, &one, 0xFFFFFFFF, 0, results), "%s: %s", body, harness_text(&h));
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned byte = 0; byte < 8; byte++) {
            const uint8_t got = (uint8_t)(results[lane] >> 8 * byte);
            cr_expect_eq(got, expect(lane, byte),
                         "%s: byte %u of lane %u is %02x, not %02x", body, byte, lane, got,
                         expect(lane, byte));
        }
    }
    harness_close(&h);
}

/* Four neighbours along the rows' index, of column lane / 4, then of the one 8 further. */
static uint8_t of_first_16x16(unsigned lane, unsigned byte)
{
    return byte_at(4 * (lane % 4) + byte % 4, lane / 4 + byte / 4 * 8);
}

static uint8_t of_second_16x16(unsigned lane, unsigned byte)
{
    return byte_at(16 + 4 * (lane % 4) + byte % 4, lane / 4 + byte / 4 * 8);
}

Test(alu_matrix, bytes_of_16x16_are_transposed)
{
    check_bytes(FILL_BYTES "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {f0, f1}, [%e];"
                           "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
                of_first_16x16);
    check_bytes(FILL_BYTES
                "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {f0, f1, f2, f3}, [%e];"
                "mov.b64 %D, {f2, f3}; mov.b32 %e, 0;",
                of_second_16x16);
}

/* Element `column` of 6 or 4 bits in a row. */
static uint8_t element_at(unsigned row, unsigned column, unsigned bits)
{
    const unsigned first = column * bits / 8;
    const unsigned both = byte_at(row, first) | (unsigned)byte_at(row, first + 1) << 8;
    return (uint8_t)(both >> column * bits % 8 & ((1u << bits) - 1));
}

static uint8_t unpacked_4(unsigned lane, unsigned byte)
{
    return element_at(lane / 4 + byte / 4 * 8, 4 * (lane % 4) + byte % 4, 4);
}

static uint8_t unpacked_6(unsigned lane, unsigned byte)
{
    return element_at(lane / 4 + byte / 4 * 8, 4 * (lane % 4) + byte % 4, 6);
}

static uint8_t unpacked_6_transposed(unsigned lane, unsigned byte)
{
    return element_at(4 * (lane % 4) + byte % 4, lane / 4 + byte / 4 * 8, 6);
}

Test(alu_matrix, short_elements_become_bytes)
{
    check_bytes(FILL_BYTES
                "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64 {f0, f1}, [%e];"
                "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
                unpacked_4);
    check_bytes(FILL_BYTES
                "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32 {f0, f1}, [%e];"
                "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
                unpacked_6);
    check_bytes(FILL_BYTES "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32 "
                           "{f0, f1}, [%e]; mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
                unpacked_6_transposed);
}

/* Rows that were stored, read as words: byte j of row r is byte 2 (j / 8) + r % 2 of lane
 * 4 (j % 8) + r / 2, which holds 4 lane + byte. Lane l reads words l % 4 of row l / 4 % 8.
 */
static uint8_t stored_16x8(unsigned lane, unsigned byte)
{
    const unsigned row = lane / 4 % 8;
    const unsigned column = 4 * (lane % 4) + byte % 4;
    const unsigned from = 4 * (column % 8) + row / 2;
    const unsigned value = 4 * from + 2 * (column / 8) + row % 2;
    return (uint8_t)(byte < 4 ? value : value ^ 0x80);
}

Test(alu_matrix, bytes_of_16x8_are_stored_by_columns)
{
    check_bytes(".shared .align 16 .b8 smem[256]; .reg .b32 v, w, f<2>; mov.u32 %e, smem;"
                "shl.b32 w, %t, 4; and.b32 w, w, 255; add.u32 w, %e, w;"
                "shl.b32 v, %t, 2; mul.lo.u32 v, v, 0x01010101; add.u32 v, v, 0x03020100;"
                "xor.b32 f1, v, 0x80808080;"
                "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [w], {v, f1};"
                "bar.warp.sync -1; shl.b32 w, %t, 2; add.u32 w, %e, w;"
                "ld.shared.u32 f0, [w]; ld.shared.u32 f1, [w+128];"
                "mov.b64 %D, {f0, f1}; mov.b32 %e, 0;",
                stored_16x8);
}
