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
