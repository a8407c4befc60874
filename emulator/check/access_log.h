/* SPDX-License-Identifier: MIT */
/*
 * Which clusters read and wrote each byte of an allocation during a launch. The log finds
 * clusters that access the same byte although nothing can order them: clusters of a grid
 * that share no lock and no counter, and clusters of two grids of which the later one has
 * not waited for the earlier one. The order in which they ran does not matter. Clusters
 * that can be ordered are checked by shadow memory (shadow.h) instead.
 */
#ifndef EMU_CHECK_ACCESS_LOG_H
#define EMU_CHECK_ACCESS_LOG_H

#include "base/base.h"

/* A cluster, and which of three successive grids it belongs to: no more can run at a
 * time. All clusters of a grid that shadow memory checks have one number: cluster 0. */
uint16_t emu_log_cluster(unsigned grid_order, uint64_t cluster);
/* Whether a number from a log is of that grid, or of the one before; what several grids
 * read is of neither. */
bool emu_log_is_of_grid(uint16_t number, unsigned grid_order);
bool emu_log_is_of_grid_before(uint16_t number, unsigned grid_order);

struct emu_access_log;
/* NULL: no memory left. */
struct emu_access_log *emu_access_log_create(uint64_t bytes);
void emu_access_log_free(struct emu_access_log *log);
void emu_access_log_clear(struct emu_access_log *log);
/* Forgets what clusters of that grid noted, or of one that has the same numbers. */
void emu_access_log_forget(struct emu_access_log *log, unsigned grid_order);

/* The earlier access to the byte. */
struct emu_log_conflict {
    uint64_t byte;
    uint16_t cluster;
    bool was_write;
};
/* Who accesses. */
struct emu_log_accessor {
    uint16_t cluster;
    bool may_meet;    /* others: it is noted only */
    bool behind_grid; /* it comes after all of the grids before its own */
};
/* Notes an access and compares it with those before; false: ret_conflict is the one it
 * conflicts with. Thread-safe; a race of two accesses at the same moment may be missed. */
bool emu_access_log_note(struct emu_access_log *log, const struct emu_log_accessor *who,
                         uint64_t offset, uint32_t bytes, bool write,
                         struct emu_log_conflict *ret_conflict);

#endif
