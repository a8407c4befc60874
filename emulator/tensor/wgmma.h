/* SPDX-License-Identifier: MIT */
/*
 * wgmma: matrix products of a warpgroup whose accumulators are registers.
 *
 * While operations are in flight, their accumulator lives in a buffer of the warpgroup and
 * the registers are undefined. A wait_group that covers the last operation on a buffer puts
 * the result into the waiting warp's registers.
 */
#ifndef EMU_TENSOR_WGMMA_H
#define EMU_TENSOR_WGMMA_H

#include "numbers/numbers.h"
#include "tensor/descriptor.h"
#include "tensor/fragment.h"
#include "tensor/state.h"

#define EMU_WARPGROUP_WARPS 4u
#define EMU_WARPGROUP_ALL   ((1u << EMU_WARPGROUP_WARPS) - 1u)
#define EMU_WGMMA_M         64u

/* The decoded instruction: insn->extra. insn->list: registers of D, then of A. */
struct emu_wgmma_form {
    enum emu_format a, b, d;
    enum emu_packing packing;
    unsigned n, k;
    bool negate_a, negate_b, a_mn_major, b_mn_major, saturate;
    bool a_in_registers;
    uint32_t d_count;        /* registers of D */
    uint32_t a_slot, b_slot; /* descriptors */
    uint32_t scale_d;        /* predicate, or EMU_NO_PREDICATE and `accumulate` */
    bool scale_d_negated, accumulate;
};

struct emu_wgmma_accumulator {
    struct emu_wgmma_accumulator *next;
    const struct emu_insn *insn; /* one that has its registers */
    uint32_t *cells;             /* 64 rows of n; f16 in the lower half */
    uint32_t last;               /* operation on it */
    uint32_t delivered;          /* mask of warps that have the result */
};

/* Registers of A as they were at issue; they must not change before the wait. */
struct emu_wgmma_operation {
    struct emu_wgmma_operation *next;
    uint32_t number;
    uint32_t waited; /* mask of warps that have waited for it */
    const struct emu_insn *insn;
    emu_fragment_register a[EMU_WARPGROUP_WARPS][4];
};

struct emu_warpgroup {
    uint32_t agent;
    uint64_t chain;
    uint32_t issued, done; /* operations; they take effect in order */
    struct emu_wgmma_accumulator *accumulators;
    struct emu_wgmma_operation *operations; /* with A in registers, until all have waited */
    /* Warps that have arrived at the instruction `at`. */
    const struct emu_insn *at;
    uint32_t arrived;
};

/* NULL when the CTA has no four warps there. */
struct emu_warpgroup *emu_warpgroup_of(struct emu_warp *warp);
/* The warp of the warpgroup with this index. */
static inline struct emu_warp *emu_warpgroup_warp(struct emu_warp *warp, unsigned index)
{
    return &warp->cta
                ->warps[warp->index / EMU_WARPGROUP_WARPS * EMU_WARPGROUP_WARPS + index];
}
void emu_wgmma_free(struct emu_cta *cta);

/* The accumulator that is in flight on the instruction's registers; *ret_found NULL: none.
 * False: reported, because the registers were written or are used in another shape. */
bool emu_wgmma_find_accumulator(struct emu_warp *warp, const struct emu_insn *insn,
                                struct emu_warpgroup *group,
                                struct emu_wgmma_accumulator **ret_found);
/* A new one with what the registers hold (when `accumulate`); they become undefined. NULL:
 * reported. */
struct emu_wgmma_accumulator *emu_wgmma_start_accumulator(struct emu_warp *warp,
                                                          const struct emu_insn *insn,
                                                          struct emu_warpgroup *group,
                                                          bool accumulate);
void emu_wgmma_free_accumulator(struct emu_wgmma_accumulator *accumulator);

enum emu_step emu_wgmma_exec(struct emu_warp *warp, const struct emu_insn *insn,
                             uint32_t lanes);
enum emu_step emu_wgmma_exec_wait(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes);
void emu_wgmma_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                             struct emu_text *text);

#endif
