/* SPDX-License-Identifier: MIT */
/* What the tensor-core families keep in warps, CTAs and clusters, and shared checks. */
#ifndef EMU_TENSOR_STATE_H
#define EMU_TENSOR_STATE_H

#include "exec/async.h"
#include "exec/machine.h"
#include "exec/memory.h"

#define EMU_NO_AGENT UINT32_MAX

/* Where a warp stands in a collective of several warps. */
enum emu_rendezvous {
    EMU_RENDEZVOUS_NONE,
    EMU_RENDEZVOUS_WAITS, /* it has arrived */
    EMU_RENDEZVOUS_DONE   /* what it arrived for was done; it may go on */
};

struct emu_tensor_warp {
    enum emu_rendezvous rendezvous;
    uint32_t met_column; /* result of an allocation */

    /* tcgen05.ld and .st that were not waited for, oldest first */
    struct emu_tensor_access *accesses, *accesses_last;
    uint32_t load_agent, store_agent, loads, stores; /* loads, stores: epochs */

    /* wgmma: numbers of the operations that end its groups, oldest first; see wgmma.h */
    bool fenced;
    uint32_t *group_ends;
    unsigned group_count;
};

/* Warps of both CTAs of a pair that alloc or dealloc together; kept in the leader CTA. */
struct emu_pair_rendezvous {
    struct emu_warp *warps[2];
    const struct emu_insn *insns[2];
    uint32_t address[2], columns[2];
};

struct emu_tensor_cta {
    struct emu_tmem *tmem; /* made at the first use */
    struct emu_pair_rendezvous rendezvous;
    struct emu_warpgroup *warpgroups;
};

struct emu_tensor_cluster {
    unsigned cta_group; /* of its tcgen05 instructions; 0: none was executed yet */
    uint32_t advised;   /* features, see unvalidated.h */
    struct emu_tensor_thread *threads; /* that issued tcgen05.mma, .cp or .commit */
    struct emu_tensor_op *ops, *ops_last;
    struct emu_scale_uses *scale_uses; /* made at the first one */
    uint32_t *scratch; /* operands of the operation at hand; made at the first use */
};

static inline struct emu_tensor_warp *emu_tensor_warp_of(const struct emu_warp *warp)
{
    return warp->tensor_state;
}
static inline struct emu_tensor_cta *emu_tensor_cta_of(const struct emu_cta *cta)
{
    return cta->tensor_state;
}
static inline struct emu_tensor_cluster *emu_tensor_cluster_of(const struct emu_warp *warp)
{
    return warp->cta->cluster->tensor_state;
}
static inline bool emu_tensor_checks_races(const struct emu_warp *warp)
{
    return emu_launch_of(warp->cta)->settings.races;
}
static inline bool emu_tensor_checks_defined(const struct emu_warp *warp)
{
    return emu_launch_of(warp->cta)->settings.definedness;
}
static inline bool emu_tensor_is_fast(const struct emu_warp *warp)
{
    return emu_launch_of(warp->cta)->settings.numbers == EMU_NUMBERS_FAST;
}

/* Cells for the operands of one instruction: A from 0 on, B behind it. */
#define EMU_TENSOR_OPERAND_CELLS ((size_t)256 * 64)
uint32_t *emu_tensor_scratch(struct emu_warp *warp);

/* All 32 lanes must execute the instruction together; reports otherwise. */
bool emu_tensor_whole_warp(struct emu_warp *warp, const struct emu_insn *insn,
                           uint32_t lanes);
/* All tcgen05 instructions of a kernel have one cta_group; for 2 the CTA must have a peer
 * that has not exited. Reports otherwise. */
bool emu_tensor_check_group(struct emu_warp *warp, const struct emu_insn *insn,
                            unsigned lane, unsigned cta_group);
/* The CTAs that an operation of this group works on, the leader CTA first; their number. */
unsigned emu_tensor_ctas(struct emu_cta *cta, unsigned cta_group, struct emu_cta *ctas[2]);

/* An operation in flight needs its CTA; reports one that has exited. */
bool emu_tensor_check_alive(struct emu_warp *warp, const struct emu_insn *insn,
                            const struct emu_cta *cta);

/* The agent in *agent, made at the first use. */
uint32_t emu_tensor_agent(struct emu_warp *warp, uint32_t *agent);
/* A lane's value of an operand that must be defined. */
bool emu_tensor_operand(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        uint32_t slot, const char *operand_name, uint64_t *ret_value);

/* Decoding: takes cta_group::1 or ::2; its absence is an error. */
struct emu_decoder;
bool emu_tensor_take_group(struct emu_decoder *decoder, unsigned *ret_group);

#endif
