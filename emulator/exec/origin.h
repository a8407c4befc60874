/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of shared memory came from: which copy brought each 16 of them from
 * global memory, and from where. Kept for kernels that multiply by scale factors only: see
 * tensor/scale_origin.h.
 */
#ifndef EMU_EXEC_ORIGIN_H
#define EMU_EXEC_ORIGIN_H

#include "exec/machine.h"

#define EMU_ORIGIN_BYTES  16u
#define EMU_DELIVERY_RANK 5u

/* What a copy has brought to one CTA at one step. */
struct emu_delivery {
    uint32_t number; /* in the cluster, from 1 on */
    const struct emu_insn *insn;
    /* The shared address of the mbarrier that tells, and the epoch of the phase. */
    uint32_t barrier, phase;
    uint64_t tensor;  /* its address; of a plain run: ~(index of the instruction) */
    uint64_t address; /* of the first element */
    unsigned rank;    /* coordinates; 0: a plain run of bytes */
    int64_t at[EMU_DELIVERY_RANK]; /* coordinates of that element */
};

struct emu_origin {
    const struct emu_delivery *delivery; /* NULL: threads have written there, or nobody */
    /* Of these 16 bytes, and of their row's first ones in what was brought; where that lies
     * outside of the tensor, the addresses that they would have. */
    uint64_t address, row;
};

/* Makes room for the origins of the CTA's shared memory. */
void emu_origins_create(struct emu_cta *cta);
void emu_origins_free_cta(struct emu_cta *cta);
void emu_origins_free_cluster(struct emu_cluster *cluster);

/* A number that no other delivery of the cluster has. */
uint32_t emu_delivery_number(struct emu_cluster *cluster);
/* A new one with its number, and otherwise as `what`; it lives as long as the cluster. */
const struct emu_delivery *emu_delivery_new(struct emu_cluster *cluster,
                                            const struct emu_delivery *what);
/* Whether that phase of the mbarrier has brought something of that tensor; of phases long
 * ago nothing is known. */
bool emu_delivery_was_with(const struct emu_cluster *cluster,
                           const struct emu_delivery *other, uint64_t tensor);
/* Says which one it is: the copy's opcode, its place, and coordinates or address. */
void emu_delivery_describe(const struct emu_program *program,
                           const struct emu_delivery *delivery, struct emu_text *text);

/* Of the 16 bytes that hold this offset. Only where cta->origins is not NULL. */
struct emu_origin *emu_origin_at(const struct emu_cta *cta, uint32_t offset);
/* Bytes [offset, offset + bytes) were written otherwise. */
void emu_origins_forget(struct emu_cta *cta, uint32_t offset, uint32_t bytes);

#endif
