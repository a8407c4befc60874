/* SPDX-License-Identifier: MIT */
/* tensormap.replace, tensormap.cp_fenceproxy, and prefetch of tensor maps. */
#include <inttypes.h>
#include <string.h>

#include "async/map.h"
#include "async/opcodes.h"
#include "async/state.h"

enum field {
    GLOBAL_ADDRESS,
    RANK,
    BOX_DIM,
    GLOBAL_DIM,
    GLOBAL_STRIDE,
    ELEMENT_STRIDE,
    ELEMTYPE,
    INTERLEAVE,
    SWIZZLE_MODE,
    SWIZZLE_ATOM,
    FILL_MODE,
    FIELD_COUNT
};

/* `ordinals`: how many of this field a map has, 0 for a single one; `most`: the greatest
 * immediate, 0 where a register may stand. */
static const struct {
    const char *name;
    bool wide;
    uint8_t ordinals, most;
} fields[FIELD_COUNT] = {
    [GLOBAL_ADDRESS] = {"global_address", true, 0, 0},
    [RANK] = {"rank", false, 0, 0},
    [BOX_DIM] = {"box_dim", false, EMU_MAP_RANK, 0},
    [GLOBAL_DIM] = {"global_dim", false, EMU_MAP_RANK, 0},
    [GLOBAL_STRIDE] = {"global_stride", true, EMU_MAP_RANK - 1, 0},
    [ELEMENT_STRIDE] = {"element_stride", false, EMU_MAP_RANK, 0},
    [ELEMTYPE] = {"elemtype", false, 0, 15},
    [INTERLEAVE] = {"interleave_layout", false, 0, 2},
    [SWIZZLE_MODE] = {"swizzle_mode", false, 0, 4},
    [SWIZZLE_ATOM] = {"swizzle_atomicity", false, 0, 3},
    [FILL_MODE] = {"fill_mode", false, 0, 1},
};

/* PTX numbers element types in its own way. */
static const enum emu_map_type element_types[] = {
    EMU_MAP_U8,       EMU_MAP_U16,       EMU_MAP_U32,        EMU_MAP_S32,
    EMU_MAP_U64,      EMU_MAP_S64,       EMU_MAP_F16,        EMU_MAP_F32,
    EMU_MAP_F32_FTZ,  EMU_MAP_F64,       EMU_MAP_BF16,       EMU_MAP_TF32,
    EMU_MAP_TF32_FTZ, EMU_MAP_U4_ALIGN8, EMU_MAP_U4_ALIGN16, EMU_MAP_U6_ALIGN16,
};

/* Values that the packing cannot hold are refused; the rest is checked when it is used. */
static bool set_field(struct emu_tensor_map *map, enum field field, uint32_t ordinal,
                      uint64_t value)
{
    switch (field) {
    case GLOBAL_ADDRESS:
        map->base = value;
        return true;
    case RANK:
        map->rank = (uint32_t)value + 1;
        return value < EMU_MAP_RANK;
    case BOX_DIM:
        map->box[ordinal] = (uint32_t)value;
        return value >= 1 && value <= 256;
    case GLOBAL_DIM:
        /* 32 bits: 0 stands for 2^32. */
        map->dim[ordinal] = (uint32_t)value == 0 ? UINT64_C(1) << 32 : (uint32_t)value;
        return true;
    case GLOBAL_STRIDE:
        map->stride_bytes[ordinal] = value;
        return true;
    case ELEMENT_STRIDE:
        map->element_stride[ordinal] = (uint32_t)value;
        return value >= 1 && value <= 8;
    case ELEMTYPE:
        map->type = element_types[value];
        return true;
    case INTERLEAVE:
        map->interleave = (uint32_t)value;
        return true;
    case SWIZZLE_MODE:
        map->swizzle_mode = (uint32_t)value;
        return true;
    case SWIZZLE_ATOM:
        map->swizzle_atom = (uint32_t)value;
        return true;
    default:
        map->fill_nan = value == 1;
        return true;
    }
}

/* The 128 bytes, read or written in the generic proxy. */
static bool access_map(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       enum emu_space space, uint64_t address, bool write,
                       unsigned char *bytes)
{
    struct emu_actor actor = emu_actor_of_lane(warp, insn, lane);
    if (space == EMU_SPACE_GLOBAL) {
        return write ? emu_global_write(&actor, address, EMU_MAP_BYTES, EMU_MAP_ALIGNMENT,
                                        bytes, NULL)
                     : emu_global_read(&actor, address, EMU_MAP_BYTES, EMU_MAP_ALIGNMENT,
                                       bytes, NULL);
    }
    if (space != EMU_SPACE_SHARED && space != EMU_SPACE_SHARED_CLUSTER) {
        emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR,
                         "the tensor map must be in global or shared memory");
        return false;
    }
    uint32_t offset = 0;
    struct emu_cta *cta =
        emu_shared_resolve(warp, insn, lane, (uint32_t)address, false, &offset);
    if (cta == NULL) {
        return false;
    }
    return write ? emu_shared_write(&actor, cta, offset, EMU_MAP_BYTES, EMU_MAP_ALIGNMENT,
                                    bytes, NULL)
                 : emu_shared_read(&actor, cta, offset, EMU_MAP_BYTES, EMU_MAP_ALIGNMENT,
                                   bytes, NULL);
}

static bool replace_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    const struct emu_address *operand = insn->extra;
    unsigned char bytes[EMU_MAP_BYTES];
    struct emu_tensor_map map;
    struct emu_error error = {0};
    uint64_t address = 0;
    enum emu_space space = operand->space;
    if (!emu_address_get(warp, insn, lane, operand, &address) ||
        !emu_need_defined(warp, insn, 1u << lane, insn->src[0], "new value")) {
        return false;
    }
    if (space == EMU_SPACE_GENERIC) {
        emu_classify(address, &space, &address);
    }
    if (!access_map(warp, insn, lane, space, address, false, bytes)) {
        return false;
    }
    uint64_t value = warp->r[insn->src[0]][lane];
    bool good = emu_tensor_map_unpack(bytes, &map, &error);
    if (good && !set_field(&map, (enum field)insn->mode, insn->mode2, value)) {
        good = emu_fail(&error, "%s of %" PRIu64 " is out of range",
                        fields[insn->mode].name, value);
    }
    if (!good) {
        emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR, "%s", error.text);
        return false;
    }
    emu_tensor_map_pack(&map, bytes);
    if (space == EMU_SPACE_GLOBAL) {
        emu_map_changed(warp->cta, address);
    }
    return access_map(warp, insn, lane, space, address, true, bytes);
}

static enum emu_step exec_replace(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes)
{
    return emu_each_lane(warp, insn, lanes, replace_lane);
}

bool emu_decode_map_replace(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct emu_address *operand = emu_decode_alloc(decoder, sizeof(*operand));
    int64_t value = 0;
    int64_t ordinal = 0;
    insn->exec = exec_replace;
    insn->extra = operand;
    while (insn->mode < FIELD_COUNT && !emu_take(decoder, fields[insn->mode].name)) {
        insn->mode++;
    }
    if (insn->mode == FIELD_COUNT || !emu_take(decoder, "tile")) {
        return emu_decode_fail(decoder, "this field is not supported");
    }
    if (!emu_take(decoder, "b1024") ||
        !emu_take(decoder, fields[insn->mode].wide ? "b64" : "b32")) {
        return emu_decode_fail(decoder, "it must be .b1024 and .%s",
                               fields[insn->mode].wide ? "b64" : "b32");
    }
    enum emu_space space =
        emu_take(decoder, "global") ? EMU_SPACE_GLOBAL : emu_take_shared_space(decoder);
    unsigned ordinals = fields[insn->mode].ordinals;
    unsigned last = ordinals > 0 ? 2 : 1;
    if (!emu_need_operands(decoder, last + 1, last + 1) ||
        !emu_take_address(decoder, 0, space, operand) ||
        !emu_operand_value(decoder, last, fields[insn->mode].wide ? 64 : 32,
                           &insn->src[0])) {
        return false;
    }
    if (ordinals > 0 && (!emu_operand_integer(decoder, emu_operand(decoder, 1), &ordinal) ||
                         ordinal < 0 || ordinal >= ordinals)) {
        return emu_decode_fail(decoder, "its ordinal must be a number from 0 to %u",
                               ordinals - 1);
    }
    insn->mode2 = (uint16_t)ordinal;
    if (fields[insn->mode].most > 0 &&
        (!emu_operand_integer(decoder, emu_operand(decoder, last), &value) || value < 0 ||
         value > fields[insn->mode].most)) {
        return emu_decode_fail(decoder, "its value must be a number from 0 to %u",
                               fields[insn->mode].most);
    }
    return true;
}

/* --------------------------------------------------------------------------- copying */

/* src[0], src[1]: destination in global, source in shared memory. One copy for the warp. */
static enum emu_step exec_copy(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    const struct emu_address *operands = insn->extra;
    unsigned char bytes[EMU_MAP_BYTES];
    unsigned lane = emu_lowest_bit(lanes);
    uint64_t address[2];
    for (unsigned i = 0; i < 2; i++) {
        if (!emu_uniform_value(warp, insn, lanes, operands[i].slot, "address",
                               &address[i])) {
            return EMU_FAILED;
        }
        address[i] += (uint64_t)operands[i].offset;
    }
    emu_sync_lanes(&warp->sync);
    if (!access_map(warp, insn, lane, EMU_SPACE_SHARED, address[1], false, bytes) ||
        !access_map(warp, insn, lane, EMU_SPACE_GLOBAL, address[0], true, bytes)) {
        return EMU_FAILED;
    }
    emu_map_changed(warp->cta, address[0]);
    emu_sync_fence(&warp->sync, lanes, (enum emu_scope)insn->mode, true, false);
    emu_sync_lanes(&warp->sync);
    return EMU_NEXT;
}

bool emu_decode_map_copy(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct emu_address *operands = emu_decode_alloc(decoder, 2 * sizeof(*operands));
    int64_t bytes = 0;
    insn->exec = exec_copy;
    insn->extra = operands;
    insn->mode = (uint16_t)emu_take_scope(decoder);
    if (!emu_take(decoder, "global") || !emu_take(decoder, "shared::cta") ||
        !emu_take(decoder, "tensormap::generic") || !emu_take(decoder, "release") ||
        insn->mode == EMU_SCOPE_NONE || !emu_take(decoder, "sync") || !insn->aligned) {
        return emu_decode_fail(decoder, "it must be .global.shared::cta.tensormap::generic."
                                        "release.scope.sync.aligned");
    }
    return emu_need_operands(decoder, 3, 3) &&
           emu_take_address(decoder, 0, EMU_SPACE_GLOBAL, &operands[0]) &&
           emu_take_address(decoder, 1, EMU_SPACE_SHARED, &operands[1]) &&
           emu_operand_integer(decoder, emu_operand(decoder, 2), &bytes) &&
           (bytes == EMU_MAP_BYTES || emu_decode_fail(decoder, "its size must be 128"));
}

/* ------------------------------------------------------------------------ prefetching */

static enum emu_step exec_prefetch(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint32_t lanes)
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        struct emu_tensor_map map;
        struct emu_map_hold hold; /* of nothing that is under way */
        if (!emu_map_fetch(warp, insn, emu_lowest_bit(rest), insn->extra, &map, &hold)) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

bool emu_decode_map_prefetch(struct emu_decoder *decoder)
{
    struct emu_address *operand = emu_decode_alloc(decoder, sizeof(*operand));
    decoder->insn->exec = exec_prefetch;
    decoder->insn->extra = operand;
    return emu_need_operands(decoder, 1, 1) &&
           emu_take_address(decoder, 0, EMU_SPACE_GENERIC, operand);
}
