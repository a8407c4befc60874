/* SPDX-License-Identifier: MIT */
/*
 * A large launch by its first waves, its steady state and its tail. All clusters run until
 * some work is done; a few of them run to their end, with their part of the chip's rates.
 * Progress is counted in products of a tensor core, because these are the same work
 * wherever they are made. From the first waves comes how long all clusters take for it
 * beside the few: caches are filled, and tiles follow each other as they will to the end.
 */
#include "exec/timing.h"

enum { LEAST_PRODUCTS = 64 };

/* When multiprocessors began the product of this number: the mean of those that did. */
static double find_mean_start(const struct emu_timer *timer, uint64_t number)
{
    double sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < timer->sm_count; i++) {
        if (timer->sms[i].start_count > number) {
            sum += timer->sms[i].starts[number].at;
            count++;
        }
    }
    return count == 0 ? 0 : sum / count;
}

uint64_t emu_waves_count(const struct emu_timer *timer)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < timer->sm_count; i++) {
        const struct emu_sm_time *sm = &timer->sms[i];
        if (sm->ctas > 0 && sm->start_count < least) {
            least = sm->start_count;
        }
    }
    return least == UINT64_MAX || least < LEAST_PRODUCTS ? 0 : least;
}

static const struct emu_sm_time *find_longest(const struct emu_timer *timer)
{
    const struct emu_sm_time *longest = &timer->sms[0];
    for (unsigned i = 1; i < timer->sm_count; i++) {
        if (timer->sms[i].start_count > longest->start_count) {
            longest = &timer->sms[i];
        }
    }
    return longest;
}

/* The last product in [from, to) with which a sum begins, or `to - 1`. */
static uint64_t find_begin(const struct emu_sm_time *sm, uint64_t from, uint64_t to)
{
    for (uint64_t i = to; i > from; i--) {
        if (sm->starts[i - 1].begins) {
            return i - 1;
        }
    }
    return to - 1;
}

static double count_sums(const struct emu_sm_time *sm, uint64_t products)
{
    uint64_t sums = 0;
    for (uint64_t i = 0; i < products; i++) {
        sums += sm->starts[i].begins ? 1 : 0;
    }
    return (double)sums;
}

bool emu_waves_extrapolate(const struct emu_timer *all, const struct emu_timer *part)
{
    const struct emu_sm_time *sm = find_longest(part);
    const uint64_t known = all->common < sm->start_count ? all->common : sm->start_count;
    if (known < LEAST_PRODUCTS) {
        return false;
    }
    /* Of what is known the last half, in whole sums where there are some. */
    const uint64_t last = find_begin(sm, known / 2 + 1, known);
    const uint64_t first = find_begin(sm, last / 4, last / 2 + 1);
    const double of_all = find_mean_start(all, last) - find_mean_start(all, first);
    const double of_part = find_mean_start(part, last) - find_mean_start(part, first);
    struct emu_timing *result = part->result;
    struct emu_waves *waves = &result->waves;
    if (of_part <= 0 || of_all <= 0) {
        return false;
    }
    *waves = (struct emu_waves){
        .clock = find_mean_start(all, last),
        .sums = count_sums(sm, last),
        .all_sums = count_sums(sm, sm->start_count),
        .rest = (double)part->last_effect - find_mean_start(part, last),
        .pace = of_all / of_part,
        .part_clocks = result->clocks,
    };
    result->clocks = (uint64_t)(waves->clock + waves->pace * waves->rest) + result->gap;
    result->tensor_busy *= (double)waves->part_clocks / (double)result->clocks;
    return true;
}
