/* SPDX-License-Identifier: MIT */
/*
 * The geometry of one copy: rows in global memory, and the image of them in shared memory,
 * which a swizzle then permutes. A plain run of bytes is cut into rows as well.
 */
#ifndef EMU_ASYNC_TENSOR_BOX_H
#define EMU_ASYNC_TENSOR_BOX_H

#include "async/tensor_map.h"
#include "exec/memory.h"
#include "exec/origin.h"

struct emu_box {
    bool linear;
    uint64_t address; /* of a linear one */
    struct emu_tensor_map map;
    int64_t at[EMU_MAP_RANK]; /* coordinates of the first element */
    bool four_rows;           /* gather4, scatter4: at[1] to at[4] are rows */
    enum emu_map_swizzle swizzle;
    uint32_t rows;
    uint32_t row_bytes;    /* in global memory; the last linear row may be shorter */
    uint32_t shared_bytes; /* of a row in shared memory */
    uint32_t pitch_bytes;  /* from a row to the next one in shared memory */
    uint32_t image_bytes;  /* from the first row's begin to the last one's end there */
    uint32_t data_bytes;   /* all rows without gaps: what complete_tx counts */
};

/* The part of a row that lies inside of the tensor: bytes [from, to) of row_bytes, at an
 * address. */
struct emu_box_row {
    uint64_t address; /* of byte `from` */
    uint32_t from, to;
};

struct emu_box emu_box_linear(uint64_t address, uint32_t bytes);
/* Checks that the instruction goes with the map; `count` coordinates. */
bool emu_box_tensor(const struct emu_tensor_map *map, const int64_t *coordinates,
                    unsigned count, bool four_rows, struct emu_box *ret_box,
                    struct emu_error *error);
struct emu_box_row emu_box_row(const struct emu_box *box, uint32_t row);
/* What a store or a reduction writes of it. Where dimension 0 ends inside of 16 bytes,
 * the write goes on to their end, as on GPUs of compute capability 9.0. */
struct emu_box_row emu_box_stored_row(const struct emu_box *box, uint32_t row);
/* A row near the middle where the image can be cut; 0 when it is too small. */
uint32_t emu_box_middle(const struct emu_box *box);

/* A row as it lies in global memory → as it lies in shared memory, and back. Bytes of gaps
 * are undefined. `to` has shared_bytes or row_bytes. */
void emu_box_expand(const struct emu_box *box, const uint8_t *from,
                    const uint8_t *from_defined, uint8_t *to, uint8_t *to_defined);
void emu_box_pack(const struct emu_box *box, const uint8_t *from,
                  const uint8_t *from_defined, uint8_t *to, uint8_t *to_defined);

/* Notes that rows [first, last) of the box have come to `offset` of the CTA's shared
 * memory, whose origins are kept. `how`: the instruction, the mbarrier and its phase. */
void emu_box_note_origins(struct emu_cta *cta, uint32_t offset, const struct emu_box *box,
                          uint32_t first, uint32_t last, const struct emu_delivery *how);

/* The address from which the swizzle's pattern repeats must be a multiple of this. */
uint32_t emu_swizzle_period(enum emu_map_swizzle swizzle);

/* Bytes [begin, end) of the image that begins at `offset` of the CTA's shared memory. */
bool emu_box_write(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                   const struct emu_box *box, uint32_t begin, uint32_t end,
                   const uint8_t *data, const uint8_t *defined);
bool emu_box_read(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                  const struct emu_box *box, uint32_t begin, uint32_t end, uint8_t *data,
                  uint8_t *defined);

#endif
