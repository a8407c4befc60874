/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps of A, B, C, D and matrix inputs: what TMA must know of a matrix. Encoding one
 * costs the host about as much as the rest of a launch, so a handle keeps the last ones.
 *
 * Threads: a handle may run on many threads and a run takes no lock. The maps are kept in a
 * few slots; a launch takes the first slot that is free, without ever waiting, and gives it
 * back before the launch itself. If all slots are taken at that moment, the launch encodes
 * its maps on its own stack. Inside a slot each operand has a few entries, so alternating
 * buffers do not push each other out; a matrix that lies as a kept one does, elsewhere,
 * gets that one's map with another address.
 */
#ifndef JG_RUNTIME_TENSOR_MAP_H
#define JG_RUNTIME_TENSOR_MAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "plan/kernel_params.h"
#include "runtime/module.h"

#define JG_MAP_SLOTS   4
#define JG_MAP_ENTRIES 2

/* Everything that a map depends on besides the kernel. */
struct jg_map_key {
    uint64_t pointer;     /* 0: no map is wanted, or nothing is kept here */
    int64_t ld;           /* elements */
    int64_t batch_stride; /* elements; used if batch > 1 */
    uint32_t inner;       /* elements along the contiguous dimension */
    uint32_t outer;       /* stored rows */
    uint32_t batch;       /* 1 if broadcast */
    uint32_t reserved;    /* zero */
};

/* Has a matrix of the epilogue a map: one that is read, or that goes out as D does? */
bool jg_maps_operand(const struct jg_kernel *kernel, const struct jg_operand *operand);

struct jg_map_entry {
    struct jg_map_key key;
    unsigned char bytes[sizeof(struct jg_tensor_map)];
};

struct jg_map_slot {
    atomic_flag busy; /* owns the rest while set */
    unsigned int next[JG_MOST_MAPS];
    struct jg_map_entry *entries; /* JG_MAP_ENTRIES for each map of the kernel */
};

struct jg_map_slots {
    struct jg_map_slot slots[JG_MAP_SLOTS];
};

/* Maps that a launch may want, at most, whatever kernel is chosen. */
uint32_t jg_most_maps(const struct jg_problem *problem);
/* Bytes of entries that the slots of a kernel with this many maps need. */
size_t jg_map_slots_bytes(uint32_t map_count);
/* `slots` and `entries` must be zeroed; entries are borrowed. */
void jg_map_slots_init(struct jg_map_slots *slots, uint32_t map_count, void *entries);

/* Strides of a map of A or B, in bytes, of all dimensions but the first; 0 beyond the last.
 */
enum { JG_MAP_STRIDES = 3 };
void jg_map_strides(const struct jg_kernel *kernel, enum jg_map_index map,
                    const struct jg_map_key *key, uint64_t ret_strides[JG_MAP_STRIDES]);

/* Puts the wanted maps into the parameters, from a slot where it has them. */
jit_gemm_status jg_map_slots_fill(struct jg_map_slots *slots,
                                  const struct jg_kernel *kernel,
                                  const struct jg_map_key keys[JG_MAP_COUNT],
                                  struct jg_kernel_params *params);

#endif
