/* SPDX-License-Identifier: MIT */
#include "time/gpc.h"

enum { SETS = 1 << 13, WAYS = 4 };

struct emu_drawn_line {
    uint64_t key; /* see key_of; 0: none */
    double asked, came;
};

struct emu_gpc *emu_gpcs_create(const struct emu_chip *chip)
{
    struct emu_gpc *gpcs = emu_alloc(chip->gpc_count * sizeof(*gpcs));
    for (unsigned i = 0; i < chip->gpc_count; i++) {
        gpcs[i].latency = chip->l2_latency;
        gpcs[i].lines = emu_alloc((size_t)SETS * WAYS * sizeof(*gpcs[i].lines));
        emu_spans_create(&gpcs[i].drawn, chip->gpc_bytes, false);
    }
    return gpcs;
}

void emu_gpcs_free(struct emu_gpc *gpcs, const struct emu_chip *chip)
{
    for (unsigned i = 0; i < chip->gpc_count; i++) {
        emu_free(gpcs[i].lines);
        emu_spans_free(&gpcs[i].drawn);
    }
    emu_free(gpcs);
}

static uint64_t key_of(unsigned sharers, uint64_t line)
{
    return (line + 1) * EMU_MOST_SHARERS + sharers;
}

/* The line's place, or the one of which nothing is under way for the longest time. */
static struct emu_drawn_line *place_of(const struct emu_gpc *gpc, uint64_t key)
{
    const uint64_t hash = (key * UINT64_C(0x9E3779B97F4A7C15)) >> 51;
    struct emu_drawn_line *set = &gpc->lines[hash * WAYS];
    struct emu_drawn_line *oldest = set;
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].key == key) {
            return &set[i];
        }
        oldest = set[i].came < oldest->came ? &set[i] : oldest;
    }
    return oldest;
}

bool emu_gpc_shares(const struct emu_gpc *gpc, unsigned sharers, uint64_t line, double at,
                    double *ret_came)
{
    const uint64_t key = key_of(sharers, line);
    const struct emu_drawn_line *place = place_of(gpc, key);
    *ret_came = place->came > at ? place->came : at;
    return place->key == key && at < place->came + gpc->latency &&
           at > place->asked - gpc->latency;
}

double emu_gpc_draw(struct emu_gpc *gpc, unsigned sharers, uint64_t line, double asked,
                    double at, double bytes)
{
    const double came = emu_spans_draw(&gpc->drawn, at, bytes);
    const uint64_t key = key_of(sharers, line);
    *place_of(gpc, key) = (struct emu_drawn_line){key, asked, came};
    return came;
}
