/* SPDX-License-Identifier: MIT */
#include "exec/strong.h"

#include "exec/families.h"

#define BUCKETS 256u

struct meeting_place {
    struct meeting_place *next;
    uint64_t address;
    struct emu_knowledge published;
};

struct emu_meeting {
    struct meeting_place *buckets[BUCKETS];
};

static struct meeting_place *find_place(struct emu_cluster *cluster, uint64_t address,
                                        bool make)
{
    if (cluster->meetings == NULL) {
        if (!make) {
            return NULL;
        }
        cluster->meetings = emu_alloc(sizeof *cluster->meetings);
    }
    struct meeting_place **bucket =
        &cluster->meetings->buckets[emu_mix(address, 0) % BUCKETS];
    for (struct meeting_place *place = *bucket; place != NULL; place = place->next) {
        if (place->address == address) {
            return place;
        }
    }
    if (!make) {
        return NULL;
    }
    struct meeting_place *place = emu_alloc(sizeof *place);
    place->address = address;
    place->next = *bucket;
    *bucket = place;
    return place;
}

void emu_strong_publish(struct emu_warp *warp, uint64_t address)
{
    if (emu_launch_of(warp->cta)->settings.races) {
        emu_know_release(warp, &find_place(warp->cta->cluster, address, true)->published);
    }
}

void emu_strong_observe(struct emu_warp *warp, uint64_t address)
{
    struct meeting_place *place = find_place(warp->cta->cluster, address, false);
    if (place != NULL) {
        emu_know_acquire(warp, &place->published);
    }
}

void emu_strong_free(struct emu_cluster *cluster)
{
    if (cluster->meetings == NULL) {
        return;
    }
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (cluster->meetings->buckets[i] != NULL) {
            struct meeting_place *place = cluster->meetings->buckets[i];
            cluster->meetings->buckets[i] = place->next;
            emu_knowledge_free(&place->published);
            emu_free(place);
        }
    }
    emu_free(cluster->meetings);
    cluster->meetings = NULL;
}
