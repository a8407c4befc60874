/* SPDX-License-Identifier: MIT */
/*
 * The memory of a chip as a clock sees it: L2 by lines, DRAM behind it. Both hand out bytes
 * at a rate; who comes when they are behind waits. GPCs draw what is read, each at its
 * rate; what is stored is first come, first served.
 *
 * L2 has two halves. A line is at home in one of them, by its address; a multiprocessor
 * asks the half that it is at. That one gets a line of the other through the link, and
 * keeps a copy of it.
 */
#ifndef EMU_TIME_LEVELS_H
#define EMU_TIME_LEVELS_H

#include "time/gpc.h"

/* Something that serves one after the other; `free` is when it has served all so far. */
struct emu_server {
    double free, busy;
};

/* Serves from `at` on, for `clocks`; when that is done. */
static inline double emu_serve(struct emu_server *server, double at, double clocks)
{
    const double start = server->free > at ? server->free : at;
    server->free = start + clocks;
    server->busy += clocks;
    return server->free;
}

#define EMU_L2_HALVES 2u

struct emu_l2_half {
    struct emu_line *lines; /* sets of ways */
    struct emu_spans link;  /* what comes from the other half */
};

struct emu_levels {
    const struct emu_chip *chip;
    double l2_rate, dram_rate; /* bytes a clock */
    struct emu_server l2;      /* of stores and atomics */
    struct emu_spans dram;
    struct emu_l2_half halves[EMU_L2_HALVES];
    uint32_t set_count; /* of a half */
    uint32_t tick;
    uint64_t l2_bytes, link_bytes, dram_read, dram_written;
};

/* One request of several lines, that begins at a time. */
struct emu_request {
    double at;
    double begun;  /* when the first line left L2; 0: none has */
    double filled; /* when the last line that is under way will have come to L2 */
    uint64_t bytes, missing;
    uint64_t rows;               /* lines that a copy asked for by themselves */
    struct emu_fetcher *fetcher; /* of the multiprocessor; NULL: a store, or an atomic */
    unsigned half;               /* of L2, that the multiprocessor is at */
    unsigned sharers;            /* of what is under way, see emu_fetcher */
    bool by_thread; /* that asks for all at once; false: a copy does, in turn */
};

/* `part`: of the chip's multiprocessors, that ask for something; they have that part of
 * L2's rate. Tiles of a square part of a matrix need the root of the part of its rows and
 * columns, and so have they of DRAM's. */
struct emu_levels *emu_levels_create(const struct emu_chip *chip, double mhz, double part);
void emu_levels_free(struct emu_levels *levels);
/* The half in which an address is at home. */
unsigned emu_levels_home(const struct emu_levels *levels, uint64_t address);
/* Adds the lines of a run of bytes. */
void emu_levels_read(struct emu_levels *levels, struct emu_request *request,
                     uint64_t address, uint32_t bytes);
/* The same for a row of a copy's box: each line of it is a request of its own, and L2 takes
 * the time of some bytes for it, however few are wanted. */
void emu_levels_read_row(struct emu_levels *levels, struct emu_request *request,
                         uint64_t address, uint32_t bytes);
/* ... for one of which nothing lies in the matrix: zeros come. `number`: a line that only
 * copies of this row ask for. */
void emu_levels_fill_row(struct emu_levels *levels, struct emu_request *request,
                         uint64_t number);
void emu_levels_write(struct emu_levels *levels, struct emu_request *request,
                      uint64_t address, uint32_t bytes);
/* When L2 has handed out all of it, and the GPC has drawn it. */
double emu_levels_serve(struct emu_levels *levels, struct emu_request *request);

#endif
