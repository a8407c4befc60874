/* SPDX-License-Identifier: MIT */
/*
 * What strong accesses (atomics, acquire, release, relaxed and volatile) published, by
 * address. A release publishes at its address the view of the warp; an acquire that reads
 * what was written there takes it up. A relaxed write publishes the view of the warp at its
 * last release fence, and what a relaxed read saw counts from the next acquire fence. A
 * read that modifies keeps what was published before; a plain write replaces it, unless it
 * was the same warp's. Both sides must be within each other's scope.
 */
#ifndef EMU_CHECK_SYNC_TABLE_H
#define EMU_CHECK_SYNC_TABLE_H

#include "check/sync.h"

/* An access's order, as the decoder packs it: a scope (0: weak) and these. */
enum { EMU_ORDER_SCOPE = 3, EMU_ORDER_ACQUIRE = 4, EMU_ORDER_RELEASE = 8 };
static inline enum emu_scope emu_order_scope(unsigned order)
{
    return (enum emu_scope)(order & EMU_ORDER_SCOPE);
}

/* NULL is an empty table; the first publication makes it. */
struct emu_sync_table;
void emu_sync_table_free(struct emu_sync_table *table);

/* A strong access at an address of the table: the read before it, the write behind it. */
void emu_sync_table_read(const struct emu_sync_table *table, uint64_t address,
                         struct emu_sync *reader, unsigned order);
void emu_sync_table_write(struct emu_sync_table **table, uint64_t address,
                          struct emu_sync *writer, unsigned lane, unsigned order,
                          bool modify);

#endif
