/* SPDX-License-Identifier: MIT */
/*
 * Where the scale factors in tensor memory came from, and which blocks of elements were
 * multiplied by them.
 *
 * A factor belongs to one block along K of one row of A or B. So a byte that tcgen05.cp has
 * put there may be taken for one block only, however often: a second block is one whose own
 * factors were not copied, or not yet, or lie elsewhere. What block it is says the address
 * in global memory that a copy has brought it from. Factors are told apart by the copy that
 * has brought them to shared memory, too: two tcgen05.cp of the same bytes are of the same
 * block. One factor for all that one row of a copy has brought is one of a longer block;
 * of elements that are not K-major, for all that came of a tensor with one phase of an
 * mbarrier.
 *
 * Factors that came with another phase of an mbarrier than the elements are for other ones,
 * if that phase has brought factors of the same tensor, too.
 *
 * Nothing is said of elements that threads have written, nor of factors that are not from
 * tcgen05.cp.
 */
#ifndef EMU_TENSOR_SCALE_ORIGIN_H
#define EMU_TENSOR_SCALE_ORIGIN_H

#include "tensor/mma.h"

/* Of a CTA's tensor memory. */
struct emu_scale_cells;
void emu_scale_cells_free(struct emu_scale_cells *cells);
/* What was written there otherwise holds no factors of a tcgen05.cp. */
void emu_scale_cells_forget(struct emu_tmem *tmem, uint32_t first_lane, uint32_t lanes,
                            uint32_t column, uint32_t columns);

/* A tcgen05.cp: a number for those of its bytes that no copy has brought. */
struct emu_scale_copy {
    const struct emu_insn *insn;
    uint32_t number;
};
/* It has put 16 bytes of shared memory into four cells of a lane. `row`, `byte`: of what it
 * copies. */
void emu_scale_cells_note(const struct emu_scale_copy *copy, struct emu_cta *cta,
                          uint32_t offset, unsigned row, unsigned byte, uint32_t lane,
                          uint32_t column);

/* Of a cluster. */
struct emu_scale_uses;
/* The MMA multiplies by these factors now; reports the first that is for others. `ctas`:
 * those of the pair. */
void emu_scale_uses_check(const struct emu_actor *actor, struct emu_cta *const *ctas,
                          const struct emu_mma_task *task);

#endif
