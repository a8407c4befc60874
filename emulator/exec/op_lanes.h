/* SPDX-License-Identifier: MIT */
/* Functions that execute one expression a lane. */
#ifndef EMU_EXEC_OP_LANES_H
#define EMU_EXEC_OP_LANES_H

#include <string.h>

#include "exec/machine.h"

/* A whole warp runs in a plain loop that the compiler can unroll or vectorise. */
#define EMU_FOR_LANES(lanes, lane, ...)                                      \
    do {                                                                     \
        if ((lanes) == EMU_ALL_LANES) {                                      \
            for (unsigned lane = 0; lane < EMU_LANES; lane++) {              \
                __VA_ARGS__                                                  \
            }                                                                \
        } else {                                                             \
            for (uint32_t rest_ = (lanes); rest_ != 0; rest_ &= rest_ - 1) { \
                const unsigned lane = emu_lowest_bit(rest_);                 \
                __VA_ARGS__                                                  \
            }                                                                \
        }                                                                    \
    } while (0)

/* The written lanes are undefined where `sources` is set. */
static inline void emu_lanes_defined(struct emu_warp *warp, uint32_t slot, uint32_t lanes,
                                     uint32_t sources)
{
    warp->undefined[slot] = (warp->undefined[slot] & ~lanes) | (sources & lanes);
}

static inline void emu_lanes_predicate(struct emu_warp *warp, uint32_t predicate,
                                       uint32_t lanes, uint32_t values, uint32_t undefined)
{
    warp->p[predicate] = (warp->p[predicate] & ~lanes) | (values & lanes);
    warp->p_undefined[predicate] =
        (warp->p_undefined[predicate] & ~lanes) | (undefined & lanes);
}

/*
 * An emu_exec of one, two or three sources a, b, c, read as `from`; the expression is cut
 * to the unsigned type `to`, and may use `mode`.
 */
#define EMU_EXEC(name)                                                            \
    static enum emu_step name(struct emu_warp *warp, const struct emu_insn *insn, \
                              uint32_t lanes)
#define EMU_OP1(name, from, to, ...)                                              \
    EMU_EXEC(name)                                                                \
    {                                                                             \
        const uint64_t *x = warp->r[insn->src[0]];                                \
        uint64_t *d = warp->r[insn->dst];                                         \
        const uint16_t mode = insn->mode;                                         \
        (void)mode;                                                               \
        EMU_FOR_LANES(lanes, lane, {                                              \
            const from a = (from)x[lane];                                         \
            d[lane] = (to)(__VA_ARGS__);                                          \
        });                                                                       \
        emu_lanes_defined(warp, insn->dst, lanes, warp->undefined[insn->src[0]]); \
        return EMU_NEXT;                                                          \
    }
#define EMU_OP2(name, from, from2, to, ...)                                               \
    EMU_EXEC(name)                                                                        \
    {                                                                                     \
        const uint64_t *x = warp->r[insn->src[0]];                                        \
        const uint64_t *y = warp->r[insn->src[1]];                                        \
        uint64_t *d = warp->r[insn->dst];                                                 \
        const uint16_t mode = insn->mode;                                                 \
        (void)mode;                                                                       \
        EMU_FOR_LANES(lanes, lane, {                                                      \
            const from a = (from)x[lane];                                                 \
            const from2 b = (from2)y[lane];                                               \
            d[lane] = (to)(__VA_ARGS__);                                                  \
        });                                                                               \
        emu_lanes_defined(warp, insn->dst, lanes,                                         \
                          warp->undefined[insn->src[0]] | warp->undefined[insn->src[1]]); \
        return EMU_NEXT;                                                                  \
    }
#define EMU_OP3(name, from, from2, from3, to, ...)                                        \
    EMU_EXEC(name)                                                                        \
    {                                                                                     \
        const uint64_t *x = warp->r[insn->src[0]];                                        \
        const uint64_t *y = warp->r[insn->src[1]];                                        \
        const uint64_t *z = warp->r[insn->src[2]];                                        \
        uint64_t *d = warp->r[insn->dst];                                                 \
        const uint16_t mode = insn->mode;                                                 \
        (void)mode;                                                                       \
        EMU_FOR_LANES(lanes, lane, {                                                      \
            const from a = (from)x[lane];                                                 \
            const from2 b = (from2)y[lane];                                               \
            const from3 c = (from3)z[lane];                                               \
            d[lane] = (to)(__VA_ARGS__);                                                  \
        });                                                                               \
        emu_lanes_defined(warp, insn->dst, lanes,                                         \
                          warp->undefined[insn->src[0]] | warp->undefined[insn->src[1]] | \
                              warp->undefined[insn->src[2]]);                             \
        return EMU_NEXT;                                                                  \
    }

/* ---------------------------------------------------------------------- bits of floats */

#define EMU_NAN_F32   0x7FFFFFFFu
#define EMU_NAN_F64   UINT64_C(0xFFF8000000000000) /* where no operand is NaN */
#define EMU_QUIET_F64 UINT64_C(0x0008000000000000) /* set in NaNs that do not signal */

static inline float emu_f32_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof(value));
    return value;
}

static inline uint32_t emu_f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Bits of a result: every NaN is the hardware's one. */
static inline uint32_t emu_f32_result(float value)
{
    return value != value ? EMU_NAN_F32 : emu_f32_bits(value);
}

static inline double emu_f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint64_t emu_f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

#endif
