/* SPDX-License-Identifier: MIT */
#include "time/levels.h"

#include <math.h>

enum { WAYS = 16 };

struct emu_line {
    uint64_t number; /* of the line, plus 1; 0: none */
    float filled;    /* when it came, in clocks of 64 */
    uint32_t used;
};

struct emu_levels *emu_levels_create(const struct emu_chip *chip, double mhz, double part)
{
    struct emu_levels *levels = emu_alloc(sizeof(*levels));
    levels->chip = chip;
    levels->l2_rate = part * chip->l2_bytes_ns * 1e3 / mhz;
    levels->dram_rate = sqrt(part) * chip->dram_bytes_ns * 1e3 / mhz;
    levels->set_count = (uint32_t)(chip->l2_capacity / EMU_LINE_BYTES / WAYS);
    levels->lines = emu_alloc((size_t)levels->set_count * WAYS * sizeof(*levels->lines));
    return levels;
}

void emu_levels_free(struct emu_levels *levels)
{
    if (levels != NULL) {
        emu_free(levels->lines);
        emu_free(levels);
    }
}

/* The line's place; *ret_hit false: it took the place of the one that was used last. */
static struct emu_line *find_line(struct emu_levels *levels, uint64_t number, bool *ret_hit)
{
    const uint64_t hash = (number * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    struct emu_line *set = &levels->lines[(size_t)(hash * levels->set_count >> 32) * WAYS];
    struct emu_line *oldest = set;
    levels->tick++;
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].number == number + 1) {
            set[i].used = levels->tick;
            *ret_hit = true;
            return &set[i];
        }
        if (set[i].used < oldest->used) {
            oldest = &set[i];
        }
    }
    oldest->number = number + 1;
    oldest->used = levels->tick;
    *ret_hit = false;
    return oldest;
}

/* A line that is in L2, or comes to it; when it is there. */
static double fill_line(struct emu_levels *levels, struct emu_request *request,
                        uint64_t number, double at)
{
    bool hit = false;
    struct emu_line *line = find_line(levels, number, &hit);
    if (!hit) {
        const double came =
            emu_serve(&levels->dram, at, EMU_LINE_BYTES / levels->dram_rate);
        line->filled = (float)(came / 64);
        levels->dram_read += EMU_LINE_BYTES;
        request->missing += EMU_LINE_BYTES;
    }
    return (double)line->filled * 64;
}

/* The engine asks for its next line, when enough of those before have come. */
static double ask_for_line(const struct emu_chip *chip, struct emu_fetcher *fetcher,
                           double at, uint32_t bytes, bool is_row)
{
    const double oldest = fetcher->came[fetcher->count % chip->fetch_lines];
    double asked = fetcher->next > at ? fetcher->next : at;
    asked = oldest > asked ? oldest : asked;
    const double clocks = (double)bytes / chip->fetch_bytes;
    const double least = is_row ? chip->tma_row_interval : 0;
    fetcher->next = asked + (clocks > least ? clocks : least);
    return asked;
}

/* When a line of which some bytes are wanted has left L2. */
static double draw_line(struct emu_levels *levels, struct emu_request *request,
                        uint64_t number, uint32_t bytes, bool is_row)
{
    const struct emu_chip *chip = levels->chip;
    struct emu_fetcher *fetcher = request->fetcher;
    const double asked = request->by_thread
                             ? request->at
                             : ask_for_line(chip, fetcher, request->at, bytes, is_row);
    const uint32_t least = is_row ? chip->l2_request_bytes : 0;
    double came = 0;
    if (!emu_gpc_shares(fetcher->gpc, request->sharers, number, asked, &came)) {
        const double filled = fill_line(levels, request, number, asked);
        const uint32_t drawn = bytes > least ? bytes : least;
        came = emu_gpc_draw(fetcher->gpc, request->sharers, number, asked,
                            filled > asked ? filled : asked, drawn);
        levels->l2_bytes += drawn;
    }
    if (!request->by_thread) {
        fetcher->came[fetcher->count++ % chip->fetch_lines] = came + fetcher->gpc->latency;
    }
    return came;
}

static void read_run(struct emu_levels *levels, struct emu_request *request,
                     uint64_t address, uint32_t bytes, bool is_row)
{
    while (bytes > 0) {
        const uint64_t number = address / EMU_LINE_BYTES;
        const uint32_t left = EMU_LINE_BYTES - (uint32_t)(address % EMU_LINE_BYTES);
        const uint32_t own = bytes < left ? bytes : left;
        const double filled = request->fetcher != NULL
                                  ? draw_line(levels, request, number, own, is_row)
                                  : fill_line(levels, request, number, request->at);
        request->filled = filled > request->filled ? filled : request->filled;
        if (request->begun == 0) {
            request->begun = filled > request->at ? filled : request->at;
        }
        address += own;
        bytes -= own;
        request->bytes += own;
        request->rows += is_row ? 1 : 0;
        if (is_row && own < levels->chip->l2_request_bytes) {
            request->bytes += levels->chip->l2_request_bytes - own;
        }
    }
}

void emu_levels_read(struct emu_levels *levels, struct emu_request *request,
                     uint64_t address, uint32_t bytes)
{
    read_run(levels, request, address, bytes, false);
}

void emu_levels_read_row(struct emu_levels *levels, struct emu_request *request,
                         uint64_t address, uint32_t bytes)
{
    read_run(levels, request, address, bytes, true);
}

void emu_levels_write(struct emu_levels *levels, struct emu_request *request,
                      uint64_t address, uint32_t bytes)
{
    const uint64_t last = (address + bytes - 1) / EMU_LINE_BYTES;
    for (uint64_t number = address / EMU_LINE_BYTES; bytes > 0 && number <= last;
         number++) {
        bool hit = false;
        find_line(levels, number, &hit)->filled = 0;
    }
    /* L2 writes back what was written sooner or later: it takes DRAM's time, nobody waits.
     */
    emu_serve(&levels->dram, request->at, bytes / levels->dram_rate);
    levels->dram_written += bytes;
    request->bytes += bytes;
}

double emu_levels_serve(struct emu_levels *levels, struct emu_request *request)
{
    if (request->fetcher != NULL) {
        return request->filled > request->at ? request->filled : request->at;
    }
    levels->l2_bytes += request->bytes;
    const double clocks = (double)request->bytes / levels->l2_rate;
    const double served = emu_serve(&levels->l2, request->at, clocks);
    if (request->begun < served - clocks) {
        request->begun = served - clocks;
    }
    return served > request->filled ? served : request->filled;
}
