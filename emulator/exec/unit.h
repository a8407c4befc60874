/* SPDX-License-Identifier: MIT */
/*
 * A unit: a family of instructions that keeps state of its own in warps, CTAs and clusters.
 * Whoever decodes a program says which units its kernels may use; the machine then calls
 * them through this table, and knows nothing else of them.
 */
#ifndef EMU_EXEC_UNIT_H
#define EMU_EXEC_UNIT_H

#include "exec/decode.h"

struct emu_unit {
    const struct emu_opcode *const *opcodes; /* tables; NULL is the last */

    /* Called for each cluster, then its CTAs, then their warps; in the order of the list of
     * units. The state of warps is freed first, then that of CTAs and of the cluster. All
     * accept that the state was never made. */
    void (*attach_cluster)(struct emu_cluster *cluster);
    void (*attach_cta)(struct emu_cta *cta);
    void (*attach_warp)(struct emu_warp *warp);
    void (*detach_cluster)(struct emu_cluster *cluster);
    void (*detach_cta)(struct emu_cta *cta);
    void (*detach_warp)(struct emu_warp *warp);

    /* Lanes of the warp have left: barriers may complete. NULL: nothing to do. */
    void (*lanes_exited)(struct emu_warp *warp);
    /* The CTA's last warp ended: leaks and work in flight are reported. False: an error. */
    bool (*cta_exited)(struct emu_cta *cta);
    /* Adds the lines of a deadlock report for a warp that is blocked or spins at insn:
     * which barrier, its state, its last events. */
    void (*describe_wait)(struct emu_warp *warp, const struct emu_insn *insn,
                          struct emu_text *text);
    /* An instruction that uses a register of a load in flight waits for it. Asked while
     * warp->loads_in_flight is not 0. EMU_NEXT: it can be executed; EMU_BLOCKED;
     * EMU_FAILED. NULL: the unit has no such loads. */
    enum emu_step (*await_registers)(struct emu_warp *warp, const struct emu_insn *insn);
};

#endif
