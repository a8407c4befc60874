/* SPDX-License-Identifier: MIT */
/*
 * The queue of tcgen05.mma, .cp and .commit, and in which order they take effect.
 *
 * Each operation may take effect at any later step, but: those of one tensor core
 * keep the order in which they were issued, except that in the mode `reorder` only what is
 * promised holds, namely cp before mma, mma before mma of the same accumulator and shape,
 * within a thread or across threads that synchronised with tcgen05.fence. mma before cp of
 * one thread is kept as well: known-good kernels overwrite scale factors that way, without
 * having waited for the mma. Who has waited for it means to be ordered by that, and needs
 * the fence. A commit comes after the earlier operations of its own thread, and waits for
 * nobody else's.
 */
#ifndef EMU_TENSOR_ENGINE_H
#define EMU_TENSOR_ENGINE_H

#include "tensor/tmem.h"

enum emu_op_kind { EMU_OP_MMA, EMU_OP_COPY, EMU_OP_COMMIT };

#define EMU_RECENT_ACCUMULATORS 16u

/* One thread that issues. Agents: of what was done (mma, copy), and of what was merely
 * issued (mma_issue, copy_issue), which is enough to order later operations in the same
 * pipeline. They are agents of race checking, made with the thread. */
struct emu_tensor_thread {
    struct emu_tensor_thread *next;
    struct emu_warp *warp;
    unsigned lane;
    uint32_t mma_agent, copy_agent, mma_issue, copy_issue;
    uint32_t mmas, copies; /* issued so far: epochs of the agents */
    struct {
        uint64_t key;
        uint32_t epoch;
    } accumulators[EMU_RECENT_ACCUMULATORS]; /* a ring */
    unsigned accumulator_next;
    struct {
        uint32_t epoch, copies; /* of the MMA, and copies issued before it */
    } scales[EMU_TMEM_COLUMNS]; /* by column: the last MMA that read factors there */
    uint64_t done_at;           /* its operations so far, in a timed launch */
    uint64_t arrival_chains[EMU_MAX_CLUSTER]; /* of commits, by CTA; 0: none yet */
    uint32_t lazy_arrivals; /* a bit for each CTA where they come as late as they can */
};

struct emu_tensor_op {
    struct emu_tensor_op *next;
    enum emu_op_kind kind;
    struct emu_tensor_thread *thread;
    unsigned cta_group, core; /* core: rank of the CTA, or of the pair's leader CTA */
    uint64_t accumulator;     /* address and shape; equal ones are pipelined */
    uint32_t column, columns; /* of tensor memory that it writes */
    uint32_t epoch;
    struct emu_warp *warp;
    const struct emu_insn *insn;
    unsigned lane;
    struct emu_view view; /* at issue */
    uint64_t done_at; /* in a timed launch, set before it is submitted; not of a commit */
    bool (*run)(struct emu_tensor_op *op);
    _Alignas(16) unsigned char payload[];
};

struct emu_tensor_op *emu_tensor_op_new(struct emu_warp *warp, const struct emu_insn *insn,
                                        unsigned lane, enum emu_op_kind kind,
                                        unsigned cta_group, size_t payload_bytes,
                                        bool (*run)(struct emu_tensor_op *));
/* Hands it to the queue. False: it ran at once and failed. */
bool emu_tensor_op_submit(struct emu_tensor_op *op);
/* Who the operation is for shared and tensor memory. */
struct emu_actor emu_tensor_op_actor(const struct emu_tensor_op *op, enum emu_proxy proxy);

/* An MMA reads scale factors there. */
void emu_tensor_note_scales(struct emu_tensor_op *op, uint32_t column, uint32_t columns);

/* Adds what the lanes have issued so far to what the warp offers other threads. */
void emu_tensor_offer_issued(struct emu_warp *warp, uint32_t lanes);

/* An operation in the queue that works on these columns of the CTA, or NULL. */
const struct emu_tensor_op *emu_tensor_find_op(const struct emu_cta *cta, uint32_t column,
                                               uint32_t columns);
/* Has another thread of the CTA or pair issued something, and this one nothing? */
bool emu_tensor_is_wrong_thread(const struct emu_tensor_op *commit);

void emu_tensor_engine_free(struct emu_tensor_cluster *cluster);

#endif
