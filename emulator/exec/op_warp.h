/* SPDX-License-Identifier: MIT */
/* What instructions share that several lanes of a warp execute together. */
#ifndef EMU_EXEC_OP_WARP_H
#define EMU_EXEC_OP_WARP_H

#include "exec/decode.h"

/*
 * Checks that the lanes which one membermask names are all here, and that each executing
 * lane is in its own. EMU_NEXT: they met, and masks holds the living members by lane.
 * `leavers`: members may have exited. The PTX ISA says that shfl, vote, match and redux
 * wait for, and go over, the members that have not exited (9.7.9.6, 9.7.13.9, .10 and .12),
 * and hardware does the same at bar.warp.sync. Of elect it says that all members execute it
 * (9.7.13.14), and makes no exception.
 */
enum emu_step emu_warp_meet(struct emu_warp *warp, const struct emu_insn *insn,
                            uint32_t lanes, uint32_t slot, bool leavers,
                            uint32_t masks[EMU_LANES]);

bool emu_warp_need_sync(struct emu_decoder *decoder);
/* A membermask: the operand's slot goes to *ret_slot. */
bool emu_warp_mask(struct emu_decoder *decoder, unsigned operand, uint32_t *ret_slot);
/* d, or d|p; either may be _ in a pair. */
bool emu_warp_result(struct emu_decoder *decoder, bool pair_only);

#endif
