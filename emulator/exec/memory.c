/* SPDX-License-Identifier: MIT */
/* Global memory: the registry of allocations, and copies from the host's side. */
#include "exec/memory.h"

#include <stdio.h>
#include <string.h>

/* Distance kept free on both sides of an allocation, so that a small overrun meets no
 * neighbour. */
#define GUARD_BYTES     4096u
#define ALIGNMENT_BYTES 256u

/* A tensor map that a kernel wrote. */
struct noted_map {
    uint64_t address, number;
};
#define MAP_BYTES 128u

struct emu_memory {
    struct emu_allocation **sorted; /* by address */
    size_t count, room;
    uint64_t used_bytes, total_bytes, next_id;
    pthread_mutex_t lock;   /* of what follows */
    struct noted_map *maps; /* by address */
    size_t map_count, map_room;
    uint64_t map_number;
};

struct emu_memory *emu_memory_create(uint64_t total_bytes)
{
    struct emu_memory *memory = emu_alloc(sizeof(*memory));
    memory->total_bytes = total_bytes;
    pthread_mutex_init(&memory->lock, NULL);
    return memory;
}

static void free_allocation(struct emu_allocation *allocation)
{
    emu_access_log_free(allocation->log);
    emu_free(allocation->base);
    emu_free(allocation->state);
    emu_free(allocation);
}

void emu_memory_free_all(struct emu_memory *memory)
{
    if (memory == NULL) {
        return;
    }
    for (size_t i = 0; i < memory->count; i++) {
        free_allocation(memory->sorted[i]);
    }
    emu_free(memory->sorted);
    emu_free(memory->maps);
    pthread_mutex_destroy(&memory->lock);
    emu_free(memory);
}

/* Index of the first allocation that begins above the address. */
static size_t first_above(const struct emu_memory *memory, uint64_t address)
{
    size_t low = 0;
    size_t high = memory->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->sorted[middle]->address > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Index of the first map that is noted at the address or above it. */
static size_t first_map(const struct emu_memory *memory, uint64_t address)
{
    size_t low = 0;
    size_t high = memory->map_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->maps[middle].address >= address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

void emu_memory_note_map(struct emu_memory *memory, uint64_t address)
{
    pthread_mutex_lock(&memory->lock);
    size_t at = first_map(memory, address);
    if (at == memory->map_count || memory->maps[at].address != address) {
        if (memory->map_count == memory->map_room) {
            memory->map_room = memory->map_room == 0 ? 16 : memory->map_room * 2;
            memory->maps =
                emu_realloc(memory->maps, memory->map_room * sizeof(*memory->maps));
        }
        memmove(memory->maps + at + 1, memory->maps + at,
                (memory->map_count - at) * sizeof(*memory->maps));
        memory->map_count++;
    }
    memory->maps[at] = (struct noted_map){address, ++memory->map_number};
    pthread_mutex_unlock(&memory->lock);
}

uint64_t emu_memory_map_number(struct emu_memory *memory, uint64_t address)
{
    pthread_mutex_lock(&memory->lock);
    size_t at = first_map(memory, address);
    bool is_noted = at < memory->map_count && memory->maps[at].address == address;
    uint64_t number = is_noted ? memory->maps[at].number : 0;
    pthread_mutex_unlock(&memory->lock);
    return number;
}

uint64_t emu_memory_map_count(struct emu_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t number = memory->map_number;
    pthread_mutex_unlock(&memory->lock);
    return number;
}

/* Of those that lie in the range or reach into it. */
static void forget_maps(struct emu_memory *memory, uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&memory->lock);
    size_t begin = first_map(memory, address > MAP_BYTES ? address - MAP_BYTES + 1 : 0);
    size_t end = first_map(memory, address + bytes);
    if (end > begin) {
        memmove(memory->maps + begin, memory->maps + end,
                (memory->map_count - end) * sizeof(*memory->maps));
        memory->map_count -= end - begin;
    }
    pthread_mutex_unlock(&memory->lock);
}

uint64_t emu_memory_allocate(struct emu_memory *memory, uint64_t bytes, const char *name)
{
    if (bytes == 0 || bytes > memory->total_bytes - memory->used_bytes) {
        return 0;
    }
    struct emu_allocation *allocation = emu_alloc(sizeof(*allocation));
    allocation->base = emu_try_alloc(bytes + 2 * (size_t)GUARD_BYTES);
    allocation->state = emu_try_alloc(bytes);
    allocation->log = emu_access_log_create(bytes);
    allocation->bytes = bytes;
    if (allocation->base == NULL || allocation->state == NULL || allocation->log == NULL) {
        free_allocation(allocation);
        return 0;
    }
    uint64_t start = (uint64_t)(uintptr_t)allocation->base + GUARD_BYTES;
    allocation->address = emu_align_up(start - ALIGNMENT_BYTES, ALIGNMENT_BYTES);
    allocation->id = ++memory->next_id;
    snprintf(allocation->name, sizeof(allocation->name), "%s", name == NULL ? "" : name);
    if (memory->count == memory->room) {
        memory->room = memory->room == 0 ? 16 : memory->room * 2;
        memory->sorted =
            emu_realloc(memory->sorted, memory->room * sizeof(struct emu_allocation *));
    }
    size_t at = first_above(memory, allocation->address);
    memmove(memory->sorted + at + 1, memory->sorted + at,
            (memory->count - at) * sizeof(struct emu_allocation *));
    memory->sorted[at] = allocation;
    memory->count++;
    memory->used_bytes += bytes;
    return allocation->address;
}

bool emu_memory_release(struct emu_memory *memory, uint64_t address)
{
    size_t at = first_above(memory, address);
    if (at == 0 || memory->sorted[at - 1]->address != address) {
        return false;
    }
    struct emu_allocation *allocation = memory->sorted[at - 1];
    forget_maps(memory, address, allocation->bytes);
    memory->used_bytes -= allocation->bytes;
    memmove(memory->sorted + at - 1, memory->sorted + at,
            (memory->count - at) * sizeof(struct emu_allocation *));
    memory->count--;
    free_allocation(allocation);
    return true;
}

struct emu_allocation *emu_memory_find(struct emu_memory *memory, uint64_t address,
                                       uint64_t bytes)
{
    size_t at = first_above(memory, address);
    if (at == 0) {
        return NULL;
    }
    struct emu_allocation *allocation = memory->sorted[at - 1];
    uint64_t offset = address - allocation->address;
    return offset <= allocation->bytes && bytes <= allocation->bytes - offset ? allocation
                                                                              : NULL;
}

void emu_memory_usage(struct emu_memory *memory, uint64_t *ret_used, uint64_t *ret_total)
{
    *ret_used = memory->used_bytes;
    *ret_total = memory->total_bytes;
}

/* The bytes of a legal range, for the host's side; NULL outside. */
static unsigned char *host_bytes(struct emu_memory *memory, uint64_t address,
                                 uint64_t bytes, uint8_t **ret_state)
{
    struct emu_allocation *allocation = emu_memory_find(memory, address, bytes);
    if (allocation == NULL) {
        return NULL;
    }
    *ret_state = allocation->state + (address - allocation->address);
    return emu_pointer(address);
}

bool emu_memory_write(struct emu_memory *memory, uint64_t address, const void *data,
                      uint64_t bytes)
{
    uint8_t *state = NULL;
    unsigned char *to = host_bytes(memory, address, bytes, &state);
    if (to == NULL) {
        return false;
    }
    memcpy(to, data, bytes);
    memset(state, EMU_DEFINED, bytes);
    forget_maps(memory, address, bytes);
    return true;
}

bool emu_memory_read(struct emu_memory *memory, uint64_t address, void *data,
                     uint64_t bytes)
{
    uint8_t *state = NULL;
    const unsigned char *from = host_bytes(memory, address, bytes, &state);
    if (from == NULL) {
        return false;
    }
    memcpy(data, from, bytes);
    return true;
}

bool emu_memory_fill(struct emu_memory *memory, uint64_t address, const void *pattern,
                     unsigned pattern_bytes, uint64_t count)
{
    uint8_t *state = NULL;
    if (count > UINT64_MAX / pattern_bytes) {
        return false;
    }
    unsigned char *to = host_bytes(memory, address, count * pattern_bytes, &state);
    if (to == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        memcpy(to + i * pattern_bytes, pattern, pattern_bytes);
    }
    memset(state, EMU_DEFINED, count * pattern_bytes);
    forget_maps(memory, address, count * pattern_bytes);
    return true;
}

bool emu_memory_copy(struct emu_memory *memory, uint64_t to, uint64_t from, uint64_t bytes)
{
    uint8_t *from_state = NULL;
    uint8_t *to_state = NULL;
    const unsigned char *source = host_bytes(memory, from, bytes, &from_state);
    unsigned char *target = host_bytes(memory, to, bytes, &to_state);
    if (source == NULL || target == NULL) {
        return false;
    }
    memmove(target, source, bytes);
    memmove(to_state, from_state, bytes);
    forget_maps(memory, to, bytes);
    return true;
}

void emu_memory_describe(struct emu_memory *memory, uint64_t address, struct emu_text *text)
{
    size_t at = first_above(memory, address);
    const struct emu_allocation *below = at == 0 ? NULL : memory->sorted[at - 1];
    const struct emu_allocation *above = at < memory->count ? memory->sorted[at] : NULL;
    uint64_t past = below == NULL ? UINT64_MAX : address - below->address;
    uint64_t before = above == NULL ? UINT64_MAX : above->address - address;
    const struct emu_allocation *near = past <= before ? below : above;
    if (near == NULL) {
        emu_text_add(text, "there is no allocation");
        return;
    }
    const char *name = near->name[0] == 0 ? "an allocation" : near->name;
    if (near == above) {
        emu_text_add(text, "%llu bytes before the start of %s (%llu bytes at 0x%llx)",
                     (unsigned long long)before, name, (unsigned long long)near->bytes,
                     (unsigned long long)near->address);
    } else if (past < near->bytes) {
        emu_text_add(text, "at byte %llu of %s (%llu bytes at 0x%llx)",
                     (unsigned long long)past, name, (unsigned long long)near->bytes,
                     (unsigned long long)near->address);
    } else {
        emu_text_add(text, "%llu bytes past the end of %s (%llu bytes at 0x%llx)",
                     (unsigned long long)(past - near->bytes), name,
                     (unsigned long long)near->bytes, (unsigned long long)near->address);
    }
}

void emu_memory_forget_grid(struct emu_memory *memory, unsigned grid_order)
{
    for (size_t i = 0; i < memory->count; i++) {
        emu_access_log_forget(memory->sorted[i]->log, grid_order);
    }
}

void emu_memory_clear_logs(struct emu_memory *memory)
{
    for (size_t i = 0; i < memory->count; i++) {
        emu_access_log_clear(memory->sorted[i]->log);
    }
}
