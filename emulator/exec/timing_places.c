/* SPDX-License-Identifier: MIT */
/* The multiprocessors of a timed launch: which GPC each is of, and where clusters lie. */
#include "exec/cluster.h"
#include "exec/timing.h"

/* Numbers of sharers: neighbours, and behind these pairs. */
enum { FIRST_PAIR = EMU_MOST_SHARERS / 2 };

void emu_places_create(struct emu_timer *timer)
{
    const struct emu_chip *chip = timer->chip;
    unsigned of_gpc[EMU_MOST_PLACES] = {0};
    unsigned sm = 0;
    timer->sms = emu_alloc(timer->sm_count * sizeof(*timer->sms));
    timer->gpcs = emu_gpcs_create(chip);
    for (unsigned i = 0; i < timer->sm_count; i++) {
        timer->sms[i].place = chip->place_count; /* none that clusters are looked for in */
        timer->sms[i].fetcher.came =
            emu_alloc(chip->fetch_lines * sizeof(*timer->sms[i].fetcher.came));
    }
    for (unsigned i = 0; i < chip->place_count; i++) {
        for (unsigned j = 0; j < chip->places[i].sms && sm < timer->sm_count; j++, sm++) {
            struct emu_fetcher *fetcher = &timer->sms[sm].fetcher;
            timer->sms[sm].place = i;
            const unsigned number = of_gpc[chip->places[i].gpc]++;
            fetcher->neighbours = number / chip->gpc_neighbours;
            fetcher->pair = FIRST_PAIR + number / 2;
            fetcher->gpc = &timer->gpcs[chip->places[i].gpc];
            fetcher->half = chip->places[i].gpc % EMU_L2_HALVES;
        }
    }
}

void emu_places_free(struct emu_timer *timer)
{
    for (unsigned i = 0; i < timer->sm_count; i++) {
        emu_free(timer->sms[i].fetcher.came);
        emu_free(timer->sms[i].l1);
        emu_free(timer->sms[i].starts);
    }
    emu_gpcs_free(timer->gpcs, timer->chip);
    emu_free(timer->sms);
}

uint64_t emu_places_shared_bytes(const struct emu_launch *launch)
{
    return launch->program->static_shared_bytes + launch->dynamic_shared_bytes +
           EMU_SHARED_FIRST;
}

static unsigned warps_of(const struct emu_launch *launch)
{
    return (unsigned)emu_ceil_div(
        (uint64_t)launch->block[0] * launch->block[1] * launch->block[2], EMU_LANES);
}

enum { SM_CTAS = 32 };

static bool has_room(const struct emu_sm_time *sm, const struct emu_launch *launch,
                     unsigned warps)
{
    enum { SM_SHARED = 228 * 1024, SM_WARPS = 64 };
    return sm->shared_bytes + emu_places_shared_bytes(launch) <= SM_SHARED &&
           sm->warps + warps <= SM_WARPS && sm->ctas < SM_CTAS;
}

static unsigned count_ctas(const struct emu_launch *launch)
{
    return launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
}

/* Multiprocessors for a cluster that have `most` CTAs at most, those with the fewest first.
 * `place`: of the chip's, or its number of them: anywhere. */
static bool find_in(struct emu_timer *timer, const struct emu_launch *launch, unsigned most,
                    unsigned place, struct emu_sm_time **places)
{
    const bool anywhere = place == timer->chip->place_count;
    const unsigned count = count_ctas(launch), warps = warps_of(launch);
    unsigned found = 0;
    for (unsigned ctas = 0; ctas <= most && found < count; ctas++) {
        for (unsigned i = 0; i < timer->sm_count && found < count; i++) {
            struct emu_sm_time *sm = &timer->sms[i];
            if ((anywhere || sm->place == place) && sm->ctas == ctas &&
                has_room(sm, launch, warps)) {
                places[found++] = sm;
            }
        }
    }
    return found == count;
}

static bool find_in_gpc(struct emu_timer *timer, const struct emu_launch *launch,
                        unsigned most, unsigned gpc, struct emu_sm_time **places)
{
    for (unsigned i = 0; i < timer->chip->place_count; i++) {
        if (timer->chip->places[i].gpc == gpc && find_in(timer, launch, most, i, places)) {
            return true;
        }
    }
    return false;
}

static unsigned count_sms(const struct emu_timer *timer, unsigned place)
{
    unsigned count = 0;
    for (unsigned i = 0; i < timer->sm_count; i++) {
        count += timer->sms[i].place == place ? 1 : 0;
    }
    return count;
}

/* Places of one pair of multiprocessors are filled. The others get one CTA after the other,
 * on the first of each pair before any is given a second. */
void emu_places_share_out(struct emu_timer *timer, uint64_t ctas)
{
    enum { PAIR = 2 };
    const unsigned count = timer->chip->place_count;
    unsigned sms[EMU_MOST_PLACES];
    for (unsigned i = 0; i < count; i++) {
        sms[i] = count_sms(timer, i);
        timer->shares[i] = sms[i] <= PAIR && sms[i] <= ctas ? sms[i] : 0;
        ctas -= timer->shares[i];
    }
    for (unsigned second = 0; second < PAIR; second++) {
        for (bool given = true; given && ctas > 0;) {
            given = false;
            for (unsigned i = 0; i < count && ctas > 0; i++) {
                if (timer->shares[i] < (second == 1 ? sms[i] : sms[i] / PAIR)) {
                    timer->shares[i]++;
                    ctas--;
                    given = true;
                }
            }
        }
    }
}

/* The next place that has a share of the CTAs by themselves left. */
static bool find_share(struct emu_timer *timer, const struct emu_launch *launch,
                       struct emu_sm_time **places)
{
    for (unsigned i = 0; i < timer->chip->place_count; i++) {
        if (timer->shares[i] > 0 && find_in(timer, launch, 0, i, places)) {
            timer->shares[i]--;
            return true;
        }
    }
    return false;
}

/* CTAs by themselves fill each GPC's share, one after the other; clusters go to one after
 * the other, and lie in one place. A device that has none large enough runs its clusters
 * one by one, and one that has too few multiprocessors by several CTAs on each. */
bool emu_places_find(struct emu_timer *timer, const struct emu_launch *launch, bool idle,
                     struct emu_sm_time **places)
{
    const unsigned all = timer->chip->place_count, gpcs = timer->chip->gpc_count;
    const bool single = count_ctas(launch) == 1;
    if (single && find_share(timer, launch, places)) {
        return true;
    }
    for (unsigned most = 0; !single && most < SM_CTAS; most++) {
        for (unsigned i = 0; i < gpcs; i++) {
            const unsigned gpc = (timer->next_cluster_gpc + i) % gpcs;
            if (find_in_gpc(timer, launch, most, gpc, places)) {
                timer->next_cluster_gpc = gpc + 1;
                return true;
            }
        }
    }
    if ((single || idle) && find_in(timer, launch, SM_CTAS, all, places)) {
        return true;
    }
    for (unsigned i = 0; idle && i < count_ctas(launch); i++) {
        places[i] = &timer->sms[i % timer->sm_count];
    }
    return idle;
}
