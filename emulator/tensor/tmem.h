/* SPDX-License-Identifier: MIT */
/*
 * Tensor memory of a CTA: 128 lanes of 512 columns of 32 bits. An address is lane << 16 |
 * column. CTAs on one multiprocessor contend for the columns; each sees its own only. What
 * every access must respect is checked here: allocation, definedness, races.
 */
#ifndef EMU_TENSOR_TMEM_H
#define EMU_TENSOR_TMEM_H

#include "tensor/state.h"

#define EMU_TMEM_LANES   128u
#define EMU_TMEM_COLUMNS 512u
#define EMU_TMEM_UNIT    32u /* columns are given out in multiples of it */
#define EMU_TMEM_UNITS   (EMU_TMEM_COLUMNS / EMU_TMEM_UNIT)

struct emu_tmem {
    uint32_t cells[EMU_TMEM_LANES][EMU_TMEM_COLUMNS];
    uint8_t defined[EMU_TMEM_LANES][EMU_TMEM_COLUMNS]; /* EMU_UNDEFINED or EMU_DEFINED */
    /* One watched cell for 16 lanes of a column, because nothing but tcgen05.cp.4x256b
     * touches fewer; NULL when races are not checked. */
    struct emu_shadow *shadow;
    struct emu_scale_cells *scales;         /* made at the first tcgen05.cp */
    uint32_t block_columns[EMU_TMEM_UNITS]; /* of an allocation that begins there, or 0 */
    bool taken[EMU_TMEM_UNITS];
    uint32_t last_columns; /* of the latest allocation; 0: none was made */
    bool relinquished;
};

static inline uint32_t emu_tmem_lane(uint32_t address)
{
    return address >> 16;
}
static inline uint32_t emu_tmem_column(uint32_t address)
{
    return address & 0xFFFFu;
}

/* The CTA's tensor memory, made at the first use. */
struct emu_tmem *emu_tmem_of(struct emu_cta *cta);
void emu_tmem_free(struct emu_tmem *tmem);

/* The lowest place for an allocation that is free in all of the CTAs; false: none. */
bool emu_tmem_find_place(struct emu_cta *const *ctas, unsigned count, uint32_t columns,
                         uint32_t *ret_column);
void emu_tmem_take(struct emu_cta *cta, uint32_t column, uint32_t columns);
void emu_tmem_give(struct emu_cta *cta, uint32_t column, uint32_t columns);
uint32_t emu_tmem_count_taken(const struct emu_tmem *tmem);
/* Columns that other CTAs on the same multiprocessor hold. */
uint32_t emu_tmem_count_others(struct emu_cta *cta);

/* The columns must exist and be allocated; reports otherwise. `access_name`: what accesses
 * them.
 */
bool emu_tmem_check(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                    struct emu_cta *cta, uint32_t column, uint32_t columns,
                    const char *access_name);
/* All cells of the range must be defined; reports the first one that is not. */
bool emu_tmem_need_defined(const struct emu_actor *actor, struct emu_cta *cta,
                           uint32_t first_lane, uint32_t lanes, uint32_t column,
                           uint32_t columns, const char *access_name);
/* Notes an access for race checking; one that conflicts with another is reported. Whoever
 * writes calls it before. */
void emu_tmem_note(const struct emu_actor *actor, struct emu_cta *cta, uint32_t first_lane,
                   uint32_t lanes, uint32_t column, uint32_t columns, bool write);

/* Opcodes: tcgen05.alloc, .dealloc, .relinquish_alloc_permit. */
/* Says what a warp waits for that is blocked at one of them. */
void emu_tmem_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                            struct emu_text *text);

#endif
