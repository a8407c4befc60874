/* SPDX-License-Identifier: MIT */
/*
 * mbarriers: objects in shared memory that count arrivals and bytes. The memory itself
 * holds nothing; the object is found by its offset.
 *
 * Each is an agent (check/clock.h). Its epoch is `base` at the initialisation and grows by
 * one with each completed phase. A warp that has waited for a phase knows that epoch, and
 * data that came with the phase are stamped with it.
 */
#ifndef EMU_ASYNC_MBARRIER_H
#define EMU_ASYNC_MBARRIER_H

#include "exec/machine.h"

#define EMU_MBARRIER_BYTES  8u
#define EMU_MBARRIER_MOST   ((1u << 20) - 1) /* of each count; of -tx too */
#define EMU_MBARRIER_EVENTS 8u

enum emu_mbarrier_op {
    EMU_MBARRIER_INIT,
    EMU_MBARRIER_EXPECT_TX,
    EMU_MBARRIER_COMPLETE_TX,
    EMU_MBARRIER_ARRIVE,
    EMU_MBARRIER_ARRIVE_DROP,
    EMU_MBARRIER_ASYNC_ARRIVE,
    EMU_MBARRIER_COPY_PENDING /* cp.async.mbarrier.arrive without .noinc */
};

struct emu_mbarrier_event {
    const struct emu_insn *insn;
    uint16_t cta, warp;
    uint8_t op; /* enum emu_mbarrier_op */
    uint32_t amount;
    uint64_t phase; /* during which it happened */
};

struct emu_mbarrier {
    bool live;
    uint32_t offset, agent, base;
    uint64_t phase; /* number of completed phases */
    uint32_t expected, pending;
    int64_t tx;
    uint64_t released_at;     /* when those who wait saw the last phase complete, in a timed
                                 launch */
    bool observed;            /* a wait for the phase before this one has succeeded */
    struct emu_view gathered; /* what arrivals of this phase published */
    struct emu_view released; /* what those of completed phases published */
    uint64_t *seen; /* by warp of the CTA: completed phases at its last success, 0: none */
    struct emu_mbarrier_event events[EMU_MBARRIER_EVENTS];
    unsigned event_count;   /* since the initialisation, also those no longer kept */
    struct emu_warp *maker; /* the warp that initialised it ... */
    uint64_t made;          /* ... and how many that warp had initialised by then */
};

struct emu_mbarrier_table {
    struct emu_mbarrier **list;
    uint32_t count;
    uint32_t *by_offset; /* index + 1, by offset / 8; made with the first mbarrier */
};

/* Which warp operates on which mbarrier. */
struct emu_mbarrier_use {
    struct emu_warp *warp; /* the issuer */
    const struct emu_insn *insn;
    unsigned lane; /* EMU_LANES: asynchronous */
    struct emu_cta *cta;
    uint32_t offset;
};

/* The live mbarrier that an operation names, or NULL with a report of what is wrong.
 * `known` is a view that must have the initialisation; NULL: not checked. */
struct emu_mbarrier *emu_mbarrier_use(const struct emu_mbarrier_use *use,
                                      const struct emu_view *known);

bool emu_mbarrier_init(const struct emu_mbarrier_use *use, uint32_t count);
bool emu_mbarrier_inval(const struct emu_mbarrier_use *use);
/* The rest operates on what emu_mbarrier_use found. False: reported. */
bool emu_mbarrier_expect(const struct emu_mbarrier_use *use, struct emu_mbarrier *barrier,
                         uint32_t bytes);
bool emu_mbarrier_complete(const struct emu_mbarrier_use *use, struct emu_mbarrier *barrier,
                           uint32_t bytes);
/* EMU_MBARRIER_ARRIVE, _ARRIVE_DROP or _ASYNC_ARRIVE. */
bool emu_mbarrier_arrive(const struct emu_mbarrier_use *use, struct emu_mbarrier *barrier,
                         enum emu_mbarrier_op op, uint32_t count, bool may_complete);
/* One more arrival to come in this phase. */
bool emu_mbarrier_add_pending(const struct emu_mbarrier_use *use,
                              struct emu_mbarrier *barrier);

/* For asynchronous operations of this folder and of tensor/: */
/* Arrive (count 1) at an mbarrier on behalf of an asynchronous operation. `offset` is in
 * cta's shared memory. Publishes `view`. False: reported. */
bool emu_mbarrier_async_arrive(struct emu_warp *issuer, const struct emu_insn *insn,
                               struct emu_cta *cta, uint32_t offset,
                               const struct emu_view *view);
/* complete_tx of `bytes`. Call emu_mbarrier_stamp before the data are written, and this
 * afterwards. */
bool emu_mbarrier_complete_tx(struct emu_warp *issuer, const struct emu_insn *insn,
                              struct emu_cta *cta, uint32_t offset, uint32_t bytes);
/* The agent and epoch that a wait for the current phase will know: the stamp of data that
 * come with that phase. */
bool emu_mbarrier_stamp(struct emu_warp *issuer, const struct emu_insn *insn,
                        struct emu_cta *cta, uint32_t offset, uint32_t *ret_agent,
                        uint32_t *ret_epoch);

void emu_mbarrier_table_free(struct emu_mbarrier_table *table);
/* Warns of barriers that were left in the middle of a phase. */
void emu_mbarriers_cta_exited(struct emu_cta *cta);
bool emu_mbarrier_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                                struct emu_text *text);

/* mbarrier_report.c: */
/* Reports an error about it, with its state and last events; false. */
bool emu_mbarrier_error(const struct emu_mbarrier_use *use,
                        const struct emu_mbarrier *barrier, const char *format, ...)
    EMU_PRINTF(3, 4);
void emu_mbarrier_warn(const struct emu_mbarrier_use *use,
                       const struct emu_mbarrier *barrier, enum emu_severity severity,
                       const char *format, ...) EMU_PRINTF(4, 5);
/* Its state, and its last events, one per line. */
void emu_mbarrier_describe(const struct emu_cta *cta, const struct emu_mbarrier *barrier,
                           struct emu_text *text);

#endif
