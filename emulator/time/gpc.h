/* SPDX-License-Identifier: MIT */
/*
 * What the multiprocessors of a GPC draw from L2: bytes at a rate, by whoever asks first. A
 * line that one of them has asked for and that is still on its way comes to its neighbours
 * that ask for it meanwhile: it is drawn once.
 */
#ifndef EMU_TIME_GPC_H
#define EMU_TIME_GPC_H

#include "time/chip.h"
#include "time/spans.h"

#define EMU_LINE_BYTES 128u

/* Who shares a line has a number in the GPC, below this. */
enum { EMU_MOST_SHARERS = 32 };

struct emu_gpc {
    double latency; /* from the ask until a line comes, when nobody else draws */
    struct emu_drawn_line *lines; /* the last ones, by sharers and line */
    struct emu_spans drawn;
};

/* One each for the chip's GPCs. */
struct emu_gpc *emu_gpcs_create(const struct emu_chip *chip);
void emu_gpcs_free(struct emu_gpc *gpcs, const struct emu_chip *chip);
/* One of these sharers asks for a line at a time. True: it is on its way to another one of
 * them, and has left L2 at *ret_came. */
bool emu_gpc_shares(const struct emu_gpc *gpc, unsigned sharers, uint64_t line, double at,
                    double *ret_came);
/* Draws bytes of a line that L2 has at `at`; when they have left L2. `asked`: when that
 * was. Who asks later may be served earlier, where there is a gap. */
double emu_gpc_draw(struct emu_gpc *gpc, unsigned sharers, uint64_t line, double asked,
                    double at, double bytes);

/* How a multiprocessor draws. Its copy engine asks for one line after the other. Only so
 * many are under way. */
struct emu_fetcher {
    struct emu_gpc *gpc;
    unsigned half;             /* of L2, that it is at */
    unsigned neighbours, pair; /* sharers: with those beside it in the GPC, with one */
    double next;               /* when it can ask again */
    double *came;              /* when its last lines left L2, by number */
    uint32_t count;
};

#endif
