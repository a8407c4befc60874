/* SPDX-License-Identifier: MIT */
/*
 * Memory of the device and of CTAs. Every access of every family goes through here: bounds,
 * alignment, definedness, barriers that must not be overwritten, and races are checked
 * once.
 */
#ifndef EMU_EXEC_MEMORY_H
#define EMU_EXEC_MEMORY_H

#include "check/access_log.h"
#include "exec/machine.h"

/* -------------------------------------------------------------------- global memory */

/*
 * Global memory: allocations with guard distance between them. A device address is a host
 * address, but only what was allocated here is legal. Allocations change only between
 * launches, under the caller's lock; finding one needs no lock.
 */
struct emu_memory;
struct emu_memory *emu_memory_create(uint64_t total_bytes);
void emu_memory_free_all(struct emu_memory *memory);
/* 256-byte aligned; contents are undefined. 0: no memory left. `name` is shown in reports.
 */
uint64_t emu_memory_allocate(struct emu_memory *memory, uint64_t bytes, const char *name);
bool emu_memory_release(struct emu_memory *memory, uint64_t address);
/* The allocation that holds [address, address + bytes); NULL when there is none. */
struct emu_allocation {
    uint64_t address, bytes;
    void *base;                 /* what the host allocated */
    uint8_t *state;             /* one per byte: EMU_UNDEFINED or EMU_DEFINED */
    struct emu_access_log *log; /* of a checked launch */
    char name[32];
    uint64_t id;
    bool read_only;
};
struct emu_allocation *emu_memory_find(struct emu_memory *memory, uint64_t address,
                                       uint64_t bytes);
/* Used and total bytes. */
void emu_memory_usage(struct emu_memory *memory, uint64_t *ret_used, uint64_t *ret_total);
/* Host side copies: check bounds, set definedness. False: outside any allocation. */
bool emu_memory_write(struct emu_memory *memory, uint64_t address, const void *data,
                      uint64_t bytes);
bool emu_memory_read(struct emu_memory *memory, uint64_t address, void *data,
                     uint64_t bytes);
bool emu_memory_fill(struct emu_memory *memory, uint64_t address, const void *pattern,
                     unsigned pattern_bytes, uint64_t count);
bool emu_memory_copy(struct emu_memory *memory, uint64_t to, uint64_t from, uint64_t bytes);
/*
 * Tensor maps that instructions of kernels wrote, each with a number of its own; a map that
 * the host wrote has none. By any thread, while kernels run.
 */
void emu_memory_note_map(struct emu_memory *memory, uint64_t address);
/* 0: none. */
uint64_t emu_memory_map_number(struct emu_memory *memory, uint64_t address);
/* The latest number. */
uint64_t emu_memory_map_count(struct emu_memory *memory);
/* Says in words where an address lies: "17 bytes past the end of `A` (4096 bytes)". */
void emu_memory_describe(struct emu_memory *memory, uint64_t address,
                         struct emu_text *text);
/* Forgets which clusters accessed it: at the end of grids that run side by side. */
void emu_memory_clear_logs(struct emu_memory *memory);
/* Forgets that clusters of that grid did. */
void emu_memory_forget_grid(struct emu_memory *memory, unsigned grid_order);

/* ------------------------------------------------------------- accesses of a kernel */

/* Who accesses, on behalf of which instruction. */
struct emu_actor {
    struct emu_warp *warp; /* the issuer */
    const struct emu_insn *insn;
    unsigned lane;       /* EMU_LANES for a collective or asynchronous operation */
    bool atomic, narrow; /* see struct emu_accessor */
    enum emu_proxy proxy;
    /* For races. A lane's own access: agent and epoch of its warp, view of the warp.
     * An asynchronous operation: what it was issued with, and the agent and epoch whose
     * observation will order others after it. */
    uint32_t agent, epoch;
    const struct emu_view *view;
};
/* The actor for a lane's ordinary access in the generic proxy. */
struct emu_actor emu_actor_of_lane(struct emu_warp *warp, const struct emu_insn *insn,
                                   unsigned lane);
/* Makes it a strong access of that scope. */
static inline void emu_actor_is_atomic(struct emu_actor *actor, enum emu_scope scope)
{
    actor->atomic = true;
    actor->narrow = scope != EMU_SCOPE_GPU;
}

/*
 * Shared memory of one CTA (the caller resolved the rank and checked that the CTA is
 * there). `defined`: one per byte, EMU_UNDEFINED or EMU_DEFINED; NULL on a read means
 * undefined bytes are an error, NULL on a write means all are defined. `alignment` 1: none
 * needed. On failure the error was reported.
 */
bool emu_shared_read(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                     uint32_t bytes, uint32_t alignment, void *data, uint8_t *defined);
bool emu_shared_write(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                      uint32_t bytes, uint32_t alignment, const void *data,
                      const uint8_t *defined);
bool emu_global_read(const struct emu_actor *actor, uint64_t address, uint32_t bytes,
                     uint32_t alignment, void *data, uint8_t *defined);
bool emu_global_write(const struct emu_actor *actor, uint64_t address, uint32_t bytes,
                      uint32_t alignment, const void *data, const uint8_t *defined);

/* Resolves a shared address (rank in bits 24 and up). `any_rank` false: .shared::cta, the
 * rank must be the warp's own. Reports and returns NULL when the CTA is not there. */
struct emu_cta *emu_shared_resolve(struct emu_warp *warp, const struct emu_insn *insn,
                                   unsigned lane, uint32_t address, bool any_rank,
                                   uint32_t *ret_offset);

/* The last write of a warp of another CTA to a CTA's shared memory, or its last arrival
 * at an mbarrier there: lanes that did so in an epoch of the warp. */
struct emu_reach {
    struct emu_warp *warp;
    const struct emu_insn *insn;
    uint32_t epoch, lanes;
    bool any; /* who knows one of the lanes knows of it: an arrival */
};
struct emu_reaches {
    struct emu_reach *list;
    unsigned count;
};
/* Lanes have written to the shared memory of another CTA, or arrived there. */
void emu_shared_reached(struct emu_cta *cta, struct emu_reach reach);
void emu_reaches_free(struct emu_reaches *reaches);

/* Generic or stated-space access of one lane, as ld/st/atom do; `space` as below. */
enum emu_space {
    EMU_SPACE_GENERIC,
    EMU_SPACE_GLOBAL,
    EMU_SPACE_SHARED,         /* .shared, .shared::cta */
    EMU_SPACE_SHARED_CLUSTER, /* .shared::cluster */
    EMU_SPACE_LOCAL,
    EMU_SPACE_PARAM,
    EMU_SPACE_CONST
};
bool emu_read(const struct emu_actor *actor, enum emu_space space, uint64_t address,
              uint32_t bytes, void *data, uint8_t *defined);
bool emu_write(const struct emu_actor *actor, enum emu_space space, uint64_t address,
               uint32_t bytes, const void *data, const uint8_t *defined);
/* Bytes of local memory a lane has: .local variables, then .param ones of calls. */
static inline uint64_t emu_local_bytes(const struct emu_program *program)
{
    return emu_align_up(program->function->local_bytes, 16) +
           program->function->call_param_bytes;
}

/* A generic address as an address of a space: fills space and address. */
void emu_classify(uint64_t generic, enum emu_space *ret_space, uint64_t *ret_address);

#endif
