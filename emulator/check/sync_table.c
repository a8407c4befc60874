/* SPDX-License-Identifier: MIT */
#include "check/sync_table.h"

/*
 * A view and its scope. A view of a wide scope serves the narrower ones too, because an
 * acquire of CTA scope takes up what a thread of the same CTA published.
 */
struct publication {
    enum emu_scope scope;
    uint64_t group; /* see struct emu_sync */
    struct emu_published *published;
};

/* Of one address. */
struct entry {
    struct entry *next;
    uint64_t address;
    uint32_t writer; /* agent of the last one who wrote it plainly */
    uint32_t count;
    struct publication *publications;
};

struct emu_sync_table {
    struct entry **buckets;
    uint64_t count, bucket_count; /* a power of 2 */
};

/* ---------------------------------------------------------------------------- entries */

static struct entry **bucket_of(const struct emu_sync_table *table, uint64_t address)
{
    return &table->buckets[emu_mix(address, 0) & (table->bucket_count - 1)];
}

static struct entry *find_entry(const struct emu_sync_table *table, uint64_t address)
{
    struct entry *entry = table == NULL ? NULL : *bucket_of(table, address);
    while (entry != NULL && entry->address != address) {
        entry = entry->next;
    }
    return entry;
}

static void grow(struct emu_sync_table *table)
{
    struct entry **was = table->buckets;
    uint64_t was_count = table->bucket_count;
    table->bucket_count = was_count == 0 ? 64 : 4 * was_count;
    table->buckets = emu_alloc(table->bucket_count * sizeof(struct entry *));
    for (uint64_t i = 0; i < was_count; i++) {
        while (was[i] != NULL) {
            struct entry *entry = was[i];
            struct entry **bucket = bucket_of(table, entry->address);
            was[i] = entry->next;
            entry->next = *bucket;
            *bucket = entry;
        }
    }
    emu_free(was);
}

static struct entry *make_entry(struct emu_sync_table **table, uint64_t address)
{
    if (*table == NULL) {
        *table = emu_alloc(sizeof(struct emu_sync_table));
    }
    if ((*table)->count == (*table)->bucket_count) {
        grow(*table);
    }
    (*table)->count++;
    struct entry *entry = emu_alloc(sizeof(struct entry));
    struct entry **bucket = bucket_of(*table, address);
    entry->address = address;
    entry->next = *bucket;
    *bucket = entry;
    return entry;
}

static void clear_entry(struct entry *entry)
{
    for (uint32_t i = 0; i < entry->count; i++) {
        emu_published_leave(entry->publications[i].published);
    }
    emu_free(entry->publications);
    entry->publications = NULL;
    entry->count = 0;
}

void emu_sync_table_free(struct emu_sync_table *table)
{
    if (table == NULL) {
        return;
    }
    for (uint64_t i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i] != NULL) {
            struct entry *entry = table->buckets[i];
            table->buckets[i] = entry->next;
            clear_entry(entry);
            emu_free(entry);
        }
    }
    emu_free(table->buckets);
    emu_free(table);
}

/* --------------------------------------------------------------------------- accesses */

static struct emu_published **
find_publication(struct entry *entry, const struct emu_sync *who, enum emu_scope scope)
{
    for (uint32_t i = 0; i < entry->count; i++) {
        struct publication *publication = &entry->publications[i];
        if (publication->scope == scope && publication->group == who->group[scope]) {
            return &publication->published;
        }
    }
    return NULL;
}

static void publish(struct emu_sync_table **table, struct entry **entry, uint64_t address,
                    const struct emu_sync *writer, enum emu_scope scope,
                    struct emu_published *published)
{
    if (published == NULL) {
        return;
    }
    if (*entry == NULL) {
        *entry = make_entry(table, address);
    }
    struct emu_published **slot = find_publication(*entry, writer, scope);
    if (slot == NULL) {
        EMU_GROW((*entry)->publications, (*entry)->count);
        (*entry)->publications[(*entry)->count] =
            (struct publication){scope, writer->group[scope], NULL};
        slot = &(*entry)->publications[(*entry)->count++].published;
    }
    emu_published_join(slot, published);
}

void emu_sync_table_write(struct emu_sync_table **table, uint64_t address,
                          struct emu_sync *writer, unsigned lane, unsigned order,
                          bool modify)
{
    if (!writer->checked) {
        return;
    }
    struct entry *entry = find_entry(*table, address);
    if (!modify && entry != NULL && entry->writer != writer->agent) {
        clear_entry(entry);
    }
    struct emu_published *all = NULL;
    if ((order & EMU_ORDER_RELEASE) != 0) {
        all = emu_alloc(sizeof(struct emu_published));
        all->users = 1;
        emu_sync_release(writer, 1u << lane, &all->view);
    }
    for (unsigned scope = EMU_SCOPE_CTA; scope <= emu_order_scope(order); scope++) {
        publish(table, &entry, address, writer, (enum emu_scope)scope,
                all != NULL ? all : writer->fenced[scope]);
    }
    emu_published_leave(all);
    if (!modify && entry != NULL) {
        entry->writer = writer->agent;
    }
}

void emu_sync_table_read(const struct emu_sync_table *table, uint64_t address,
                         struct emu_sync *reader, unsigned order)
{
    struct entry *entry = find_entry(table, address);
    for (unsigned i = EMU_SCOPE_CTA; entry != NULL && i <= emu_order_scope(order); i++) {
        enum emu_scope scope = (enum emu_scope)i;
        struct emu_published **published = find_publication(entry, reader, scope);
        if (published == NULL) {
            continue;
        }
        if ((order & EMU_ORDER_ACQUIRE) != 0) {
            emu_sync_acquire(reader, &(*published)->view);
        } else {
            emu_sync_acquire_relaxed(reader, scope, &(*published)->view);
        }
    }
}
