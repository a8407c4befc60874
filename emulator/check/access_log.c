/* SPDX-License-Identifier: MIT */
#include "check/access_log.h"

#define PAGE_BYTES 4096u

/* Numbers of clusters; the last one of a grid means several of its clusters. */
#define NOBODY        0u
#define SEVERAL_GRIDS UINT16_MAX
#define GRIDS         3u
#define OF_A_GRID     ((SEVERAL_GRIDS - 1u) / GRIDS)

/* Of one byte. */
struct entry {
    uint16_t writer; /* the last one */
    uint16_t reader; /* since the launch began, or several */
};

struct emu_access_log {
    uint64_t page_count;
    struct entry *pages[]; /* NULL: nobody yet */
};

static uint16_t number_of(unsigned grid_order, uint64_t index)
{
    return (uint16_t)(1 + grid_order % GRIDS * OF_A_GRID + index);
}

uint16_t emu_log_cluster(unsigned grid_order, uint64_t cluster)
{
    return number_of(grid_order, cluster % (OF_A_GRID - 1));
}

/* 0 to 2; 3 for several of them. */
static unsigned grid_of(uint16_t number)
{
    return (number - 1u) / OF_A_GRID;
}

bool emu_log_is_of_grid(uint16_t number, unsigned grid_order)
{
    return number != NOBODY && grid_of(number) == grid_order % GRIDS;
}

bool emu_log_is_of_grid_before(uint16_t number, unsigned grid_order)
{
    return emu_log_is_of_grid(number, grid_order + GRIDS - 1);
}

struct emu_access_log *emu_access_log_create(uint64_t bytes)
{
    uint64_t page_count = emu_ceil_div(bytes, PAGE_BYTES);
    struct emu_access_log *log = emu_try_alloc(sizeof(struct emu_access_log) +
                                               (size_t)page_count * sizeof(struct entry *));
    if (log != NULL) {
        log->page_count = page_count;
    }
    return log;
}

void emu_access_log_free(struct emu_access_log *log)
{
    if (log != NULL) {
        emu_access_log_clear(log);
        emu_free(log);
    }
}

void emu_access_log_clear(struct emu_access_log *log)
{
    for (uint64_t i = 0; i < log->page_count; i++) {
        emu_free(log->pages[i]);
        log->pages[i] = NULL;
    }
}

void emu_access_log_forget(struct emu_access_log *log, unsigned grid_order)
{
    for (uint64_t i = 0; i < log->page_count; i++) {
        struct entry *page = log->pages[i];
        for (uint32_t at = 0; page != NULL && at < PAGE_BYTES; at++) {
            if (emu_log_is_of_grid(page[at].writer, grid_order)) {
                page[at].writer = NOBODY;
            }
            if (emu_log_is_of_grid(page[at].reader, grid_order)) {
                page[at].reader = NOBODY;
            }
        }
    }
}

/* The page that holds the byte; made at the first touch. */
static struct entry *page_of(struct emu_access_log *log, uint64_t byte)
{
    struct entry **slot = &log->pages[byte / PAGE_BYTES];
    struct entry *page = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (page != NULL) {
        return page;
    }
    struct entry *fresh = emu_alloc(PAGE_BYTES * sizeof(struct entry));
    if (__atomic_compare_exchange_n(slot, &page, fresh, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        return fresh;
    }
    emu_free(fresh);
    return page;
}

/* Who read a byte, if that is still of interest, and `cluster` as well. */
static uint16_t add_reader(uint16_t reader, uint16_t cluster)
{
    if (reader == NOBODY || reader == cluster) {
        return cluster;
    }
    return grid_of(reader) == grid_of(cluster) ? number_of(grid_of(cluster), OF_A_GRID - 1)
                                               : SEVERAL_GRIDS;
}

bool emu_access_log_note(struct emu_access_log *log, const struct emu_log_accessor *who,
                         uint64_t offset, uint32_t bytes, bool write,
                         struct emu_log_conflict *ret_conflict)
{
    struct entry *page = NULL;
    for (uint64_t at = offset; at < offset + bytes; at++) {
        if (page == NULL || at % PAGE_BYTES == 0) {
            page = page_of(log, at);
        }
        struct entry *entry = &page[at % PAGE_BYTES];
        uint16_t writer = __atomic_load_n(&entry->writer, __ATOMIC_RELAXED);
        uint16_t reader = __atomic_load_n(&entry->reader, __ATOMIC_RELAXED);
        if (who->behind_grid && grid_of(writer) != grid_of(who->cluster)) {
            writer = NOBODY;
        }
        const bool is_over = who->behind_grid && grid_of(reader) != grid_of(who->cluster);
        reader = is_over ? NOBODY : reader;
        bool was_written = writer != NOBODY && writer != who->cluster;
        bool was_read = reader != NOBODY && reader != who->cluster;
        if (!who->may_meet && (was_written || (was_read && write))) {
            *ret_conflict =
                (struct emu_log_conflict){at, was_written ? writer : reader, was_written};
            return false;
        }
        if (write) {
            __atomic_store_n(&entry->writer, who->cluster, __ATOMIC_RELAXED);
            if (is_over) {
                __atomic_store_n(&entry->reader, NOBODY, __ATOMIC_RELAXED);
            }
        } else if (reader != who->cluster || is_over) {
            __atomic_store_n(&entry->reader, add_reader(reader, who->cluster),
                             __ATOMIC_RELAXED);
        }
    }
    return true;
}
