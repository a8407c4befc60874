/* SPDX-License-Identifier: MIT */
#include "exec/marks.h"

#include <inttypes.h>

/* A mark: a cluster of one of three grids in a row, which is as many as can run at a time.
 * Clusters of a grid that a shadow watches have one mark together. */
#define NOBODY    0u
#define SEVERAL   UINT16_MAX
#define GRIDS     3u
#define OF_A_GRID ((SEVERAL - 1u) / GRIDS)

struct emu_mark {
    uint16_t writer; /* the last one */
    uint16_t reader; /* since the launch began; SEVERAL: two or more */
};

static bool is_watched(const struct emu_cluster *cluster)
{
    return cluster->grid->launch.program->shares_grid;
}

static uint16_t mark_of(const struct emu_cluster *cluster)
{
    uint64_t index = is_watched(cluster) ? 0 : cluster->index % OF_A_GRID;
    return (uint16_t)(1 + cluster->grid->order % GRIDS * OF_A_GRID + index);
}

/* The marks of the page that holds the byte; made at the first touch. */
static struct emu_mark *page_of(struct emu_allocation *allocation, uint64_t byte)
{
    struct emu_mark **place = &allocation->marks[byte / EMU_MARK_PAGE];
    struct emu_mark *page = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (page != NULL) {
        return page;
    }
    struct emu_mark *fresh = emu_alloc(EMU_MARK_PAGE * sizeof *fresh);
    if (__atomic_compare_exchange_n(place, &page, fresh, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        return fresh;
    }
    emu_free(fresh);
    return page;
}

static const char *describe_other(const struct emu_cluster *cluster, uint16_t other)
{
    if (!is_watched(cluster)) {
        return "another cluster";
    }
    unsigned next = ((other - 1u) / OF_A_GRID + 1) % GRIDS;
    return other != SEVERAL && next == cluster->grid->order % GRIDS
               ? "the grid before this one"
               : "another grid";
}

static bool report(const struct emu_actor *actor, const struct emu_allocation *allocation,
                   uint64_t byte, bool write, uint16_t other, bool other_wrote)
{
    const struct emu_cluster *cluster = actor->warp->cta->cluster;
    emu_report_error(actor->warp, actor->insn, actor->lane, EMU_FINDING_RACE,
                     "%s of byte %" PRIu64 " of %s, which %s %s; %s",
                     write ? "write" : "read", byte, allocation->name,
                     describe_other(cluster, other), other_wrote ? "wrote" : "read",
                     is_watched(cluster) ? "griddepcontrol.wait does not stand between them"
                                         : "nothing orders them");
    return false;
}

bool emu_marks_note(const struct emu_actor *actor, struct emu_allocation *allocation,
                    uint64_t offset, uint32_t bytes, bool write)
{
    const struct emu_cluster *cluster = actor->warp->cta->cluster;
    const bool may_meet = is_watched(cluster) && actor->atomic;
    const uint16_t own = mark_of(cluster);
    struct emu_mark *page = NULL;
    for (uint64_t at = offset; at < offset + bytes; at++) {
        if (page == NULL || at % EMU_MARK_PAGE == 0) {
            page = page_of(allocation, at);
        }
        struct emu_mark *mark = &page[at % EMU_MARK_PAGE];
        uint16_t writer = __atomic_load_n(&mark->writer, __ATOMIC_RELAXED);
        uint16_t reader = __atomic_load_n(&mark->reader, __ATOMIC_RELAXED);
        bool was_written = writer != NOBODY && writer != own;
        bool was_read = reader != NOBODY && reader != own;
        if (!may_meet && (was_written || (was_read && write))) {
            return report(actor, allocation, at, write, was_written ? writer : reader,
                          was_written);
        }
        if (write) {
            __atomic_store_n(&mark->writer, own, __ATOMIC_RELAXED);
        } else if (reader != own && reader != SEVERAL) {
            __atomic_store_n(&mark->reader, was_read ? SEVERAL : own, __ATOMIC_RELAXED);
        }
    }
    return true;
}
