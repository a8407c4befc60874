/* SPDX-License-Identifier: MIT */
/* tcgen05.ld, .st, .wait and .fence: between tensor memory and registers. */
#ifndef EMU_TENSOR_ACCESS_H
#define EMU_TENSOR_ACCESS_H

#include "tensor/fragment.h"
#include "tensor/tmem.h"

/* The decoded instruction: insn->extra. */
struct emu_access_form {
    enum emu_access_shape shape;
    unsigned repeat; /* .num */
    bool halves;     /* .pack::16b, .unpack::16b */
    int64_t offset;  /* of the address */
    uint32_t split;  /* columns to the second part of 16x32bx2 */
};

/* A load or store that was not waited for. */
struct emu_tensor_access {
    struct emu_tensor_access *next;
    struct emu_warp *warp;
    const struct emu_insn *insn;
    bool store;
    bool done;             /* it has taken effect */
    bool delivered;        /* a load: its registers have their values */
    uint32_t lane, column; /* base */
    uint32_t span;         /* columns from the first to the last one that it touches */
    uint32_t epoch;        /* of the warp's load or store agent */
    uint32_t registers;
    emu_fragment_register *values;
    uint32_t *undefined; /* by register: lanes */
};

/* A load or store of the warp on these columns that nobody has waited for, or NULL. */
const struct emu_insn *emu_access_find(const struct emu_warp *warp, uint32_t column,
                                       uint32_t columns);
/* See await_registers of exec/unit.h: an instruction that reads a register of a
 * tcgen05.ld waits for it, even without tcgen05.wait::ld. */
enum emu_step emu_access_await_registers(struct emu_warp *warp,
                                         const struct emu_insn *insn);
void emu_access_free_all(struct emu_tensor_warp *state);

enum emu_step emu_access_exec_load(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint32_t lanes);
enum emu_step emu_access_exec_store(struct emu_warp *warp, const struct emu_insn *insn,
                                    uint32_t lanes);
enum emu_step emu_access_exec_wait_load(struct emu_warp *warp, const struct emu_insn *insn,
                                        uint32_t lanes);
enum emu_step emu_access_exec_wait_store(struct emu_warp *warp, const struct emu_insn *insn,
                                         uint32_t lanes);
enum emu_step emu_access_exec_fence_before(struct emu_warp *warp,
                                           const struct emu_insn *insn, uint32_t lanes);
enum emu_step emu_access_exec_fence_after(struct emu_warp *warp,
                                          const struct emu_insn *insn, uint32_t lanes);

#endif
