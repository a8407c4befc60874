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
    levels->set_count =
        (uint32_t)(chip->l2_capacity / EMU_L2_HALVES / EMU_LINE_BYTES / WAYS);
    for (unsigned i = 0; i < EMU_L2_HALVES; i++) {
        struct emu_l2_half *half = &levels->halves[i];
        half->lines = emu_alloc((size_t)levels->set_count * WAYS * sizeof(*half->lines));
        emu_spans_create(&half->link, part * chip->link_bytes_ns * 1e3 / mhz, true);
    }
    emu_spans_create(&levels->dram, levels->dram_rate, true);
    return levels;
}

void emu_levels_free(struct emu_levels *levels)
{
    if (levels != NULL) {
        for (unsigned i = 0; i < EMU_L2_HALVES; i++) {
            emu_free(levels->halves[i].lines);
            emu_spans_free(&levels->halves[i].link);
        }
        emu_spans_free(&levels->dram);
        emu_free(levels);
    }
}

/* When what passes the link to a half has. */
static double pass_link(struct emu_levels *levels, unsigned to, double at, uint32_t bytes)
{
    levels->link_bytes += bytes;
    return emu_spans_draw(&levels->halves[to].link, at, bytes);
}

/* When DRAM has read or written so many bytes. */
static double serve_dram(struct emu_levels *levels, double at, uint32_t bytes)
{
    return emu_spans_draw(&levels->dram, at, bytes);
}

unsigned emu_levels_home(const struct emu_levels *levels, uint64_t address)
{
    enum { PAGE_BITS = 21 }; /* where pages lie is not known */
    const uint64_t page = (address >> PAGE_BITS) * UINT64_C(0x9E3779B97F4A7C15) >> 63;
    const uint32_t hashed = (uint32_t)address & levels->chip->home_bits;
    return (emu_count_bits(hashed) + (unsigned)page) % EMU_L2_HALVES;
}

static struct emu_line *find_set(const struct emu_levels *levels, unsigned half,
                                 uint64_t number)
{
    const uint64_t hash = (number * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    return &levels->halves[half].lines[(size_t)(hash * levels->set_count >> 32) * WAYS];
}

/* The line's place in a half; *ret_hit false: it took the place of the one that was used
 * last. */
static struct emu_line *find_line(struct emu_levels *levels, unsigned half, uint64_t number,
                                  bool *ret_hit)
{
    struct emu_line *set = find_set(levels, half, number);
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

/* What the miss of a line takes longer than a hit: each line has one drawn, so that the
 * last of a copy's many comes later than a single one would. */
static double miss_of(const struct emu_levels *levels, const struct emu_request *request,
                      uint64_t number)
{
    uint64_t hash = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94D049BB133111EB);
    return emu_chip_miss(levels->chip, request->by_thread || request->fetcher == NULL,
                         (double)(hash >> 32) / 4294967296.0);
}

/* A line that is where it is at home, or comes there; when it is. */
static double fill_home(struct emu_levels *levels, struct emu_request *request,
                        unsigned home, uint64_t number, double at)
{
    bool hit = false;
    struct emu_line *line = find_line(levels, home, number, &hit);
    if (!hit) {
        const double served = serve_dram(levels, at, EMU_LINE_BYTES);
        line->filled = (float)((served + miss_of(levels, request, number)) / 64);
        levels->dram_read += EMU_LINE_BYTES;
        request->missing += EMU_LINE_BYTES;
    }
    return (double)line->filled * 64;
}

/* A line that is in the half of L2 which is asked, or comes to it; when it is there. What a
 * miss takes longer was measured of lines of both halves, so the link adds nothing to it.
 */
static double fill_line(struct emu_levels *levels, struct emu_request *request,
                        uint64_t number, double at)
{
    const unsigned home = emu_levels_home(levels, number * EMU_LINE_BYTES);
    bool hit = false;
    if (home == request->half || request->fetcher == NULL) {
        return fill_home(levels, request, home, number, at);
    }
    struct emu_line *copy = find_line(levels, request->half, number, &hit);
    if (!hit) {
        const uint64_t missing = request->missing;
        const double filled = fill_home(levels, request, home, number, at);
        const double passed =
            pass_link(levels, request->half, filled > at ? filled : at, EMU_LINE_BYTES);
        const unsigned latency =
            request->missing > missing ? 0 : levels->chip->link_latency;
        copy->filled = (float)((passed + latency) / 64);
    }
    return (double)copy->filled * 64;
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

static double draw_from_l2(struct emu_levels *levels, const struct emu_request *request,
                           uint64_t number, double asked, double filled, uint32_t bytes)
{
    const double at = filled > asked ? filled : asked;
    levels->l2_bytes += bytes;
    return emu_gpc_draw(request->fetcher->gpc, request->sharers, number, asked, at, bytes);
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
        came = draw_from_l2(levels, request, number, asked, filled,
                            bytes > least ? bytes : least);
    }
    if (!request->by_thread) {
        fetcher->came[fetcher->count++ % chip->fetch_lines] = came + chip->l2_latency;
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

void emu_levels_fill_row(struct emu_levels *levels, struct emu_request *request,
                         uint64_t number)
{
    const struct emu_chip *chip = levels->chip;
    struct emu_fetcher *fetcher = request->fetcher;
    const double asked = ask_for_line(chip, fetcher, request->at, 0, true);
    double came = 0;
    if (!emu_gpc_shares(fetcher->gpc, fetcher->pair, number, asked, &came)) {
        came = emu_gpc_draw(fetcher->gpc, fetcher->pair, number, asked, asked,
                            chip->outside_bytes);
    }
    fetcher->came[fetcher->count++ % chip->fetch_lines] = came + chip->l2_latency;
    request->filled = came > request->filled ? came : request->filled;
    if (request->begun == 0) {
        request->begun = came;
    }
}

static void forget_copy(const struct emu_levels *levels, unsigned half, uint64_t number)
{
    struct emu_line *set = find_set(levels, half, number);
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].number == number + 1) {
            set[i].number = 0;
        }
    }
}

void emu_levels_write(struct emu_levels *levels, struct emu_request *request,
                      uint64_t address, uint32_t bytes)
{
    for (uint32_t done = 0; done < bytes;) {
        const uint64_t number = (address + done) / EMU_LINE_BYTES;
        const uint32_t left =
            EMU_LINE_BYTES - (uint32_t)((address + done) % EMU_LINE_BYTES);
        const uint32_t own = bytes - done < left ? bytes - done : left;
        const unsigned home = emu_levels_home(levels, number * EMU_LINE_BYTES);
        bool hit = false;
        find_line(levels, home, number, &hit)->filled = 0;
        forget_copy(levels, EMU_L2_HALVES - 1 - home, number);
        if (home != request->half) {
            (void)pass_link(levels, home, request->at, own);
        }
        done += own;
    }
    /* L2 writes back what was written sooner or later: it takes DRAM's time, nobody waits.
     */
    (void)serve_dram(levels, request->at, bytes);
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
