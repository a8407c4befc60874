/* SPDX-License-Identifier: MIT */
/* Operands that the instructions of this folder have in common. */
#ifndef EMU_ASYNC_OPERAND_H
#define EMU_ASYNC_OPERAND_H

#include "exec/decode.h"
#include "exec/memory.h"

/* [base + offset] in a state space. */
struct emu_address {
    uint32_t slot;
    int64_t offset;
    enum emu_space space;
};

/* Takes .shared, .shared::cta or .shared::cluster; generic without any. */
enum emu_space emu_take_shared_space(struct emu_decoder *decoder);
bool emu_take_address(struct emu_decoder *decoder, unsigned operand, enum emu_space space,
                      struct emu_address *ret_address);
/* A source register or constant as operand `index`. */
bool emu_operand_value(struct emu_decoder *decoder, unsigned index, unsigned bits,
                       uint32_t *ret_slot);
/* Takes .L2::cache_hint and its operand, which is the last one. `io_count` is the number of
 * operands, afterwards without that one. */
bool emu_take_cache_hint(struct emu_decoder *decoder, unsigned *io_count);
/* True when the operand is a predicate register. */
bool emu_operand_is_predicate(const struct emu_decoder *decoder, unsigned index);

/* Takes {.sem}{.scope}: both or none. `sems`: the legal ones, a list that ends in NULL;
 * their index. Without the words *ret_sem is -1. */
bool emu_take_sem_scope(struct emu_decoder *decoder, const char *const *sems, int *ret_sem,
                        bool *ret_cluster_scope);

/* The address of a lane. False: it is undefined, which was reported. */
bool emu_address_get(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     const struct emu_address *operand, uint64_t *ret_address);
/* The CTA and offset of a shared address; reports and returns NULL when there
 * is none. `operand_name`: "mbarrier", for reports. */
struct emu_cta *emu_address_shared(struct emu_warp *warp, const struct emu_insn *insn,
                                   unsigned lane, const struct emu_address *operand,
                                   const char *operand_name, uint32_t *ret_offset);
/* A global address, possibly generic. */
bool emu_address_global(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        const struct emu_address *operand, const char *operand_name,
                        uint64_t *ret_address);

/* Does `run` for each of the lanes in order; EMU_FAILED once it has reported something. */
enum emu_step emu_each_lane(struct emu_warp *warp, const struct emu_insn *insn,
                            uint32_t lanes,
                            bool (*run)(struct emu_warp *warp, const struct emu_insn *insn,
                                        unsigned lane));

void emu_set_predicate(struct emu_warp *warp, uint32_t predicate, unsigned lane,
                       bool value);

#endif
