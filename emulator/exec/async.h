/* SPDX-License-Identifier: MIT */
/*
 * The queue of asynchronous operations of a cluster. An operation takes effect when the
 * settings say so: at once, as late as possible, at a random step, in another order.
 */
#ifndef EMU_EXEC_ASYNC_H
#define EMU_EXEC_ASYNC_H

#include "exec/machine.h"

enum emu_async_result {
    EMU_ASYNC_DONE,
    EMU_ASYNC_AGAIN, /* one part is done; the rest takes effect at another, later step */
    EMU_ASYNC_FAILED /* reported */
};

struct emu_async {
    struct emu_async *next;
    uint64_t id, due;
    /* Operations of one chain (not 0) take effect in the order of their submission. */
    uint64_t chain;
    struct emu_warp *warp; /* the issuer */
    const struct emu_insn *insn;
    unsigned lane;
    unsigned part; /* how often `run` has returned EMU_ASYNC_AGAIN */
    /* Only when no warp can go on, and after all operations that are not; set before the
     * operation is submitted, or drawn in the mode `latest`. Not in the mode `eager`. */
    bool lazy;
    /* Where the launch is timed: when its first part takes effect, and the others. Set
     * before the operation is submitted; what lies in the past means now. */
    uint64_t at[2];
    struct emu_view view; /* of the issuer, at issue */
    enum emu_async_result (*run)(struct emu_async *async);
    void (*destroy)(struct emu_async *async); /* frees what the payload owns, or NULL */
    _Alignas(16) unsigned char payload[];
};

/* A new operation with a zeroed payload, carrying what the warp knows now. */
struct emu_async *emu_async_new(struct emu_warp *warp, const struct emu_insn *insn,
                                unsigned lane, size_t payload_bytes,
                                enum emu_async_result (*run)(struct emu_async *));
/* Hands it to the cluster. In eager mode it runs before this returns. False: it failed. */
bool emu_async_submit(struct emu_async *async, uint64_t chain);
/* The same, and it runs before this returns in any mode. */
bool emu_async_submit_now(struct emu_async *async);
/* Runs the next part of an operation of a timed launch, whose time has come. */
enum emu_async_result emu_async_run_timed(struct emu_async *async);
/* A chain number that nobody else uses. */
uint64_t emu_async_chain(struct emu_cluster *cluster);

#endif
