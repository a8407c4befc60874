/* SPDX-License-Identifier: MIT */
/*
 * Instructions of a warp: item i is lane i % 32 of warp i / 32. Where lanes take no part
 * (their bit of the mask is clear) the result is DEADBEEF.
 */
#include "elementwise.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Lanes outside the mask %x1 skip the instructions up to OUT. */
#define IN_MASK                                                              \
    "mov.b32 %y0, 0xDEADBEEF; mov.u32 %u2, %laneid; shr.b32 %u3, %x1, %u2; " \
    "and.b32 %u3, %u3, 1; setp.eq.u32 %q0, %u3, 0; setp.ne.u32 %q2, 0, 0; "  \
    "@%q0 bra OUT; "
#define OUT " OUT: bar.warp.sync -1;"

static const struct gold_row rows[] = {
    /* x0 value, x1 lane or distance, x2 segment operand */
    {"shfl.idx", "shfl.sync.idx.b32 %y0|%y1, %x0, %x1, %x2, -1;", "RPc", "rp"},
    {"shfl.up", "shfl.sync.up.b32 %y0|%y1, %x0, %x1, %x2, -1;", "RPc", "rp"},
    {"shfl.down", "shfl.sync.down.b32 %y0|%y1, %x0, %x1, %x2, -1;", "RPc", "rp"},
    {"shfl.bfly", "shfl.sync.bfly.b32 %y0|%y1, %x0, %x1, %x2, -1;", "RPc", "rp"},
    {"shfl.idx.width", "shfl.sync.idx.b32 %y0|%y1, %x0, %x1, %x2, -1;", "RPC", "rp"},
    {"shfl.up.width",
     "and.b32 %u2, %x2, 0xFF00; shfl.sync.up.b32 %y0|%y1, %x0, %x1, %u2, -1;", "RuC", "rp"},
    {"shfl.down.width", "shfl.sync.down.b32 %y0|%y1, %x0, %x1, %x2, -1;", "RuC", "rp"},
    {"shfl.bfly.width", "shfl.sync.bfly.b32 %y0|%y1, %x0, %x1, %x2, -1;", "RuC", "rp"},
    /* whole groups of 4 lanes take part, and exchange within their group */
    {"shfl.idx.mask",
     "mov.u32 %x1, 0xF00FF0F0; " IN_MASK
     "and.b32 %u4, %x2, 3; shfl.sync.idx.b32 %y0|%q2, %x0, %u4, 0x1C03, 0xF00FF0F0;" OUT
     " mov.pred %y1, %q2;",
     "RiR", "rp"},
    {"vote.all",
     IN_MASK "setp.ne.u32 %q1, %x0, 0; vote.sync.all.pred %q2, %q1, %x1; "
             "selp.u32 %y0, 1, 0, %q2;" OUT,
     "vM", "r"},
    {"vote.any",
     IN_MASK "setp.eq.u32 %q1, %x0, 2; vote.sync.any.pred %q2, %q1, %x1; "
             "selp.u32 %y0, 1, 0, %q2;" OUT,
     "vM", "r"},
    {"vote.uni",
     IN_MASK "setp.eq.u32 %q1, %x0, 2; vote.sync.uni.pred %q2, %q1, %x1; "
             "selp.u32 %y0, 1, 0, %q2;" OUT,
     "vM", "r"},
    {"vote.uniform",
     IN_MASK "and.b32 %u4, %x0, 2; setp.eq.u32 %q1, %u4, 0; "
             "vote.sync.uni.pred %q2, !%q1, %x1; selp.u32 %y0, 1, 0, %q2; "
             "vote.sync.all.pred %q2, !%q1, %x1; selp.u32 %u5, 2, 0, %q2; "
             "or.b32 %y0, %y0, %u5;" OUT,
     "uM", "r"},
    {"vote.ballot",
     IN_MASK "setp.ne.u32 %q1, %x0, 0; vote.sync.ballot.b32 %y0, %q1, %x1;" OUT, "vM", "r"},
    {"match.any.b32", IN_MASK "match.any.sync.b32 %y0, %x0, %x1;" OUT, "vM", "r"},
    {"match.any.b64", IN_MASK "match.any.sync.b64 %y0, %x0, %x1;" OUT, "VM", "r"},
    {"match.all.b32",
     IN_MASK "match.all.sync.b32 %y0|%q2, %x0, %x1;" OUT " mov.pred %y1, %q2;", "vM", "rp"},
    {"match.all.equal",
     IN_MASK "match.all.sync.b32 %y0|%q2, %x0, %x1;" OUT " mov.pred %y1, %q2;", "uM", "rp"},
    {"match.all.b64",
     IN_MASK "match.all.sync.b64 %y0|%q2, %x0, %x1;" OUT " mov.pred %y1, %q2;", "VM", "rp"},
    {"redux.add.u32", IN_MASK "redux.sync.add.u32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"redux.add.s32", IN_MASK "redux.sync.add.s32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"redux.min.u32", IN_MASK "redux.sync.min.u32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"redux.max.u32", IN_MASK "redux.sync.max.u32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"redux.min.s32", IN_MASK "redux.sync.min.s32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"redux.max.s32", IN_MASK "redux.sync.max.s32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"redux.and", IN_MASK "redux.sync.and.b32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"redux.or", IN_MASK "redux.sync.or.b32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"redux.xor", IN_MASK "redux.sync.xor.b32 %y0, %x0, %x1;" OUT, "RM", "r"},
    {"elect", IN_MASK "elect.sync %y0|%q2, %x1;" OUT " mov.pred %y1, %q2;", "RM", "rp"},
    {"elect.full", "elect.sync %y0|%y1, -1;", "R", "rp"},
    /* the whole block of 4 warps */
    {"bar.red",
     "setp.ne.u32 %q0, %x0, 0; bar.red.popc.u32 %y0, 0, %q0; bar.red.and.pred %q1, 0, %q0; "
     "selp.u32 %y1, 1, 0, %q1; bar.red.or.pred %q1, 0, !%q0; selp.u32 %y2, 1, 0, %q1;",
     "v", "rrr"},
    {"lanemask",
     "mov.u32 %y0, %lanemask_eq; mov.u32 %y1, %lanemask_le; mov.u32 %y2, %lanemask_lt; "
     "mov.u32 %y3, %lanemask_ge; mov.u32 %y4, %lanemask_gt; mov.u32 %y5, %laneid;",
     "R", "rrrrrr"},
};

/* Row l of the warp's 512 bytes holds the words x0 * (2 j + 1) + j of lane l, j from 0;
 * then lane l gives the address of row x1, a permutation. */
#define FILL_ROWS                                                                 \
    "mov.u32 %u2, %tid.x; mov.u32 %u3, rows; shr.u32 %u4, %u2, 5; "               \
    "mad.lo.u32 %u3, %u4, 512, %u3; and.b32 %u4, %u2, 31; "                       \
    "mad.lo.u32 %u4, %u4, 16, %u3; mov.b32 %u5, %x0; mad.lo.u32 %u6, %x0, 3, 1; " \
    "mad.lo.u32 %u7, %x0, 5, 2; mad.lo.u32 %u8, %x0, 7, 3; "
#define MATRIX_LOAD                                                              \
    FILL_ROWS "st.shared.v4.b32 [%u4], {%u5, %u6, %u7, %u8}; bar.warp.sync -1; " \
              "mad.lo.u32 %u9, %x1, 16, %u3; "
#define MATRIX_STORE                                                                \
    FILL_ROWS "mov.b32 %u10, 0; st.shared.v4.b32 [%u4], {%u10, %u10, %u10, %u10}; " \
              "bar.warp.sync -1; mad.lo.u32 %u9, %x1, 16, %u3; "
#define READ_ROWS " bar.warp.sync -1; ld.shared.v4.b32 {%y0, %y1, %y2, %y3}, [%u4];"

static const struct gold_row matrix_rows[] = {
    {"ldmatrix.x1", MATRIX_LOAD "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%y0}, [%u9];",
     "Rp", "r"},
    {"ldmatrix.x2",
     MATRIX_LOAD "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%y0, %y1}, [%u9];", "Rp", "rr"},
    {"ldmatrix.x4",
     MATRIX_LOAD "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%y0, %y1, %y2, %y3}, [%u9];",
     "Rp", "rrrr"},
    {"ldmatrix.x1.trans",
     MATRIX_LOAD "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%y0}, [%u9];", "Rp", "r"},
    {"ldmatrix.x2.trans",
     MATRIX_LOAD "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%y0, %y1}, [%u9];", "Rp",
     "rr"},
    {"ldmatrix.x4.trans",
     MATRIX_LOAD
     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%y0, %y1, %y2, %y3}, [%u9];",
     "Rp", "rrrr"},
    {"stmatrix.x1",
     MATRIX_STORE "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%u9], {%u5};" READ_ROWS, "Rp",
     "rrrr"},
    {"stmatrix.x2",
     MATRIX_STORE "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%u9], {%u5, %u6};" READ_ROWS,
     "Rp", "rrrr"},
    {"stmatrix.x4",
     MATRIX_STORE
     "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%u9], {%u5, %u6, %u7, %u8};" READ_ROWS,
     "Rp", "rrrr"},
    {"stmatrix.x1.trans",
     MATRIX_STORE "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%u9], {%u5};" READ_ROWS,
     "Rp", "rrrr"},
    {"stmatrix.x2.trans",
     MATRIX_STORE
     "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%u9], {%u5, %u6};" READ_ROWS,
     "Rp", "rrrr"},
    {"stmatrix.x4.trans",
     MATRIX_STORE
     "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%u9], {%u5, %u6, %u7, %u8};" READ_ROWS,
     "Rp", "rrrr"},
};

void gold_warp_cases(struct gold_run *run)
{
    static const struct gold_style style = {
        .items = 512, .full_items = 4, .block_items = 32};
    static const struct gold_style matrix = {.items = 128,
                                             .full_items = 32,
                                             .block_items = 32,
                                             .declarations =
                                                 ".shared .align 16 .b8 rows[2048];"};

    gold_rows_run(run, rows, COUNT(rows), &style);
    gold_rows_run(run, matrix_rows, COUNT(matrix_rows), &matrix);
}
