/* SPDX-License-Identifier: MIT */
#include "check/access_log.h"

#define PAGE_BYTES 4096u

/* Numbers of clusters. */
#define NOBODY    0u
#define SEVERAL   UINT16_MAX
#define GRIDS     3u
#define OF_A_GRID ((SEVERAL - 1u) / GRIDS)

/* Of one byte. */
struct entry {
    uint16_t writer; /* the last one */
    uint16_t reader; /* since the launch began; SEVERAL: two or more */
};

struct emu_access_log {
    uint64_t page_count;
    struct entry *pages[]; /* NULL: nobody yet */
};

uint16_t emu_log_cluster(unsigned grid_order, uint64_t cluster)
{
    return (uint16_t)(1 + grid_order % GRIDS * OF_A_GRID + cluster % OF_A_GRID);
}

bool emu_log_is_of_grid(uint16_t number, unsigned grid_order)
{
    return (number - 1u) / OF_A_GRID == grid_order % GRIDS;
}

bool emu_log_is_of_grid_before(uint16_t number, unsigned grid_order)
{
    unsigned next = ((number - 1u) / OF_A_GRID + 1) % GRIDS;
    return number != SEVERAL && next == grid_order % GRIDS;
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

bool emu_access_log_note(struct emu_access_log *log, uint16_t cluster, bool may_meet,
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
        bool was_written = writer != NOBODY && writer != cluster;
        bool was_read = reader != NOBODY && reader != cluster;
        if (!may_meet && (was_written || (was_read && write))) {
            *ret_conflict =
                (struct emu_log_conflict){at, was_written ? writer : reader, was_written};
            return false;
        }
        if (write) {
            __atomic_store_n(&entry->writer, cluster, __ATOMIC_RELAXED);
        } else if (reader != cluster && reader != SEVERAL) {
            __atomic_store_n(&entry->reader, was_read ? SEVERAL : cluster,
                             __ATOMIC_RELAXED);
        }
    }
    return true;
}
