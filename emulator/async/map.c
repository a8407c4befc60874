/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps in the hands of a kernel. The hardware keeps copies of the descriptors that a
 * CTA has used, so a change needs a fence before the next use, also one by a grid before.
 * What the CTA has read is therefore remembered, and what instructions have changed (exec/
 * memory.h), and compared at each use.
 */
#include "async/map.h"

#include <inttypes.h>
#include <string.h>

#include "async/state.h"

struct emu_seen_map {
    struct emu_seen_map *next;
    uint64_t address;
    uint64_t acquired; /* the latest change up to the last acquire */
    bool read;
    unsigned char bytes[EMU_MAP_BYTES];
};

static struct emu_seen_map *find_seen(struct emu_cta *cta, uint64_t address)
{
    struct emu_async_cta *state = emu_async_of_cta(cta);
    struct emu_seen_map *map = state->maps;
    while (map != NULL && map->address != address) {
        map = map->next;
    }
    if (map == NULL) {
        map = emu_alloc(sizeof(*map));
        map->address = address;
        map->next = state->maps;
        state->maps = map;
    }
    return map;
}

void emu_map_acquire(struct emu_cta *cta, uint64_t address)
{
    struct emu_seen_map *map = find_seen(cta, address);
    map->read = false;
    map->acquired = emu_memory_map_count(emu_launch_of(cta)->memory);
}

void emu_map_changed(struct emu_cta *cta, uint64_t address)
{
    emu_memory_note_map(emu_launch_of(cta)->memory, address);
}

void emu_maps_detach_cta(struct emu_cta *cta)
{
    struct emu_async_cta *state = emu_async_of_cta(cta);
    while (state->maps != NULL) {
        struct emu_seen_map *map = state->maps;
        state->maps = map->next;
        emu_free(map);
    }
}

/* --------------------------------------------------------------------------- fetching */

static bool check_fresh(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        uint64_t address, const unsigned char *bytes)
{
    struct emu_seen_map *seen = find_seen(warp->cta, address);
    uint64_t changed = emu_memory_map_number(emu_launch_of(warp->cta)->memory, address);
    bool stale = (seen->read && memcmp(seen->bytes, bytes, EMU_MAP_BYTES) != 0) ||
                 changed > seen->acquired;
    if (stale) {
        emu_report_error(
            warp, insn, lane, EMU_FINDING_DESCRIPTOR,
            "the tensor map at 0x%" PRIx64 " was changed by a kernel, and no "
            "fence.proxy.tensormap::generic.acquire of this CTA stands between "
            "the change and this use: the old one may be used",
            address);
        return false;
    }
    seen->read = true;
    memcpy(seen->bytes, bytes, EMU_MAP_BYTES);
    return true;
}

bool emu_map_fetch(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                   const struct emu_address *operand, struct emu_tensor_map *ret_map,
                   struct emu_map_hold *ret_hold)
{
    unsigned char bytes[EMU_MAP_BYTES];
    uint64_t generic = 0;
    uint64_t address = 0;
    enum emu_space space = EMU_SPACE_GENERIC;
    if (!emu_address_get(warp, insn, lane, operand, &generic)) {
        return false;
    }
    emu_classify(generic, &space, &address);
    if (space != EMU_SPACE_GLOBAL && space != EMU_SPACE_PARAM) {
        emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR,
                         "the tensor map (generic address 0x%" PRIx64
                         ") must be a parameter, or in constant or global memory",
                         generic);
        return false;
    }
    if (address % EMU_MAP_ALIGNMENT != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                         "the tensor map at 0x%" PRIx64 " is not aligned to 64 bytes",
                         generic);
        return false;
    }
    struct emu_actor actor = emu_actor_of_lane(warp, insn, lane);
    bool good = space == EMU_SPACE_PARAM
                    ? emu_read(&actor, space, address, EMU_MAP_BYTES, bytes, NULL)
                    : emu_global_read(&actor, address, EMU_MAP_BYTES, EMU_MAP_ALIGNMENT,
                                      bytes, NULL) &&
                          check_fresh(warp, insn, lane, address, bytes);
    if (!good) {
        return false;
    }
    const bool is_param = space == EMU_SPACE_PARAM;
    *ret_hold =
        (struct emu_map_hold){.address = is_param ? 0 : address,
                              .mark = is_param ? 0 : emu_hash(bytes, sizeof(bytes))};
    struct emu_error error = {0};
    if (!emu_tensor_map_unpack(bytes, ret_map, &error) ||
        !emu_tensor_map_check(ret_map, &error)) {
        emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR,
                         "the tensor map at 0x%" PRIx64 ": %s", generic, error.text);
        return false;
    }
    return true;
}

bool emu_map_is_held(const struct emu_async *async, const struct emu_map_hold *hold)
{
    unsigned char bytes[EMU_MAP_BYTES];
    const struct emu_launch *launch = emu_launch_of(async->warp->cta);
    if (hold->address == 0 ||
        (emu_memory_read(launch->memory, hold->address, bytes, sizeof(bytes)) &&
         emu_hash(bytes, sizeof(bytes)) == hold->mark)) {
        return true;
    }
    emu_report_error(
        async->warp, async->insn, async->lane, EMU_FINDING_DESCRIPTOR,
        "the tensor map at 0x%" PRIx64 " was changed while this copy was under "
        "way: its completion, or of a store that of its reads, has to be waited "
        "for first",
        hold->address);
    return false;
}
