/* SPDX-License-Identifier: MIT */
/* TMA: bulk and tensor copies under way. One operation fills one CTA's shared memory, or
 * stores from it. */
#ifndef EMU_ASYNC_TMA_H
#define EMU_ASYNC_TMA_H

#include "async/groups.h"
#include "async/map.h"
#include "async/reduce.h"
#include "async/tensor_box.h"
#include "exec/async.h"
#include "exec/timing.h"

/* Into shared memory, signalled by an mbarrier. */
struct emu_load {
    struct emu_cta *cta;
    uint32_t offset;
    struct emu_cta *barrier_cta;
    uint32_t barrier_offset;
    struct emu_box box;         /* what is read, when it lies in global memory */
    struct emu_map_hold map;    /* of a tensor copy */
    struct emu_cta *source_cta; /* when it lies in shared memory; the box is linear then */
    uint32_t source_offset;
    uint32_t ignore_left, ignore_right; /* bytes at the ends that need not be there */
    struct emu_reduce reduce;
    struct emu_arrival fetched; /* in a timed launch; 0, 0: not asked for yet */
};

/* From the issuer's shared memory into global memory, counted in a bulk group. */
struct emu_store {
    uint32_t offset;
    struct emu_box box;
    struct emu_map_hold map; /* of a tensor copy; until what is stored has been read */
    struct emu_reduce reduce;
    uint32_t byte_mask; /* of each 16 bytes; 0xFFFF: all */
    bool repeated;      /* other lanes issue the same: they do not disturb each other */
    bool again;         /* a lane before this one did; the hardware issues it once */
};

/* Check what can be checked at issue, and hand the copy to the cluster. `lane` issued it.
 * False: reported. */
bool emu_load_issue(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                    const struct emu_load *load);
/* The same to the same offset in every CTA of the mask. The signal goes to the same offset
 * there; with `pair`, to the CTA of that pair that has the parity of load->barrier_cta. */
bool emu_load_multicast(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        const struct emu_load *load, uint32_t mask, bool pair);
bool emu_store_issue(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     const struct emu_store *store);

/* Does a lane before this one issue the same? `slot`: as in emu_warn_of_lanes. */
bool emu_is_again(const struct emu_warp *warp, uint32_t lanes, uint32_t slot,
                  unsigned lane);

/* True when several lanes issue the same copy, usually because no lane was elected.
 * `slot`: the address or coordinate that tells copies apart. `harmless`: a plain store,
 * which kernels that are known to run leave to whole warps. */
bool emu_warn_of_lanes(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                       uint32_t slot, bool harmless);

#endif
