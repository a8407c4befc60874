/* SPDX-License-Identifier: MIT */
/* cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and the prefetch of tensors. */
#include <inttypes.h>

#include "async/map.h"
#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"
#include "async/tma.h"

struct tensor_insn {
    struct emu_address shared, barrier, map;
    uint32_t *coordinates; /* slots */
    uint32_t count;
    uint32_t mask; /* slot of the mask of CTAs, or EMU_NO_SLOT */
    bool four_rows, multicast, pair;
    enum emu_reduce_op reduce;
};

/* The box that a lane means, and its map. */
static bool get_box(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                    struct emu_box *ret_box, struct emu_map_hold *ret_hold)
{
    const struct tensor_insn *tensor = insn->extra;
    struct emu_tensor_map map;
    struct emu_error error = {0};
    int64_t coordinates[EMU_MAP_RANK];
    for (uint32_t i = 0; i < tensor->count; i++) {
        coordinates[i] = (int32_t)(uint32_t)warp->r[tensor->coordinates[i]][lane];
        if (!emu_need_defined(warp, insn, 1u << lane, tensor->coordinates[i],
                              "coordinate")) {
            return false;
        }
    }
    if (!emu_map_fetch(warp, insn, lane, &tensor->map, &map, ret_hold)) {
        return false;
    }
    if (!emu_box_tensor(&map, coordinates, tensor->count, tensor->four_rows, ret_box,
                        &error)) {
        emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR, "%s", error.text);
        return false;
    }
    return true;
}

/* -------------------------------------------------------------------------------- loads */

/* A copy signals the CTA it goes to; with .cta_group::2, one of that CTA and its peer. */
static bool check_barrier(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                          const struct emu_load *load)
{
    const struct tensor_insn *tensor = insn->extra;
    unsigned there = load->cta->rank;
    unsigned signalled = load->barrier_cta->rank;
    if (there == signalled || (tensor->pair && (there ^ signalled) == 1)) {
        return true;
    }
    emu_report_error(
        warp, insn, lane, EMU_FINDING_BARRIER,
        "the mbarrier is in CTA %u, the destination in CTA %u%s", signalled, there,
        tensor->pair ? ": not a pair" : "; only .cta_group::2 reaches the peer");
    return false;
}

static bool load_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    const struct tensor_insn *tensor = insn->extra;
    struct emu_load load = {0};
    load.cta =
        emu_address_shared(warp, insn, lane, &tensor->shared, "destination", &load.offset);
    if (load.cta == NULL || !get_box(warp, insn, lane, &load.box, &load.map)) {
        return false;
    }
    load.barrier_cta = emu_address_shared(warp, insn, lane, &tensor->barrier, "mbarrier",
                                          &load.barrier_offset);
    if (load.barrier_cta == NULL) {
        return false;
    }
    if (!tensor->multicast) {
        return check_barrier(warp, insn, lane, &load) &&
               emu_load_issue(warp, insn, lane, &load);
    }
    return emu_need_defined(warp, insn, 1u << lane, tensor->mask, "mask of CTAs") &&
           emu_load_multicast(warp, insn, lane, &load,
                              (uint32_t)warp->r[tensor->mask][lane], tensor->pair);
}

static enum emu_step exec_load(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    const struct tensor_insn *tensor = insn->extra;
    emu_warn_of_lanes(warp, insn, lanes, tensor->shared.slot, false);
    return emu_each_lane(warp, insn, lanes, load_lane);
}

/* ------------------------------------------------------------------------------- stores */

static bool check_store(const struct emu_box *box, struct emu_error *error)
{
    uint32_t starts = box->four_rows ? 1 : box->map.rank;
    for (uint32_t i = 0; i < starts; i++) {
        if (box->at[i] < 0) {
            return emu_fail(error,
                            "coordinate %u is %" PRId64 "; a store begins inside of the "
                            "tensor",
                            i, box->at[i]);
        }
    }
    if (box->map.type == EMU_MAP_U4_ALIGN16) {
        return emu_fail(error, "4-bit elements with gaps can be loaded only");
    }
    if (box->swizzle == EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B) {
        return emu_fail(error, "the swizzle with 8-byte flip can be used by loads only");
    }
    return true;
}

/* The element type of a reduction is the tensor's. */
static bool find_reduce(const struct emu_box *box, enum emu_reduce_op op,
                        struct emu_reduce *ret_reduce, struct emu_error *error)
{
    static const enum ptx_type types[EMU_MAP_TYPE_COUNT] = {
        [EMU_MAP_U8] = PTX_U8,         [EMU_MAP_U16] = PTX_U16,
        [EMU_MAP_U32] = PTX_U32,       [EMU_MAP_S32] = PTX_S32,
        [EMU_MAP_U64] = PTX_U64,       [EMU_MAP_S64] = PTX_S64,
        [EMU_MAP_F16] = PTX_F16,       [EMU_MAP_F32] = PTX_F32,
        [EMU_MAP_F64] = PTX_U8,        [EMU_MAP_BF16] = PTX_BF16,
        [EMU_MAP_F32_FTZ] = PTX_F32,   [EMU_MAP_TF32] = PTX_U8,
        [EMU_MAP_TF32_FTZ] = PTX_U8,   [EMU_MAP_U4_ALIGN8] = PTX_U8,
        [EMU_MAP_U4_ALIGN16] = PTX_U8, [EMU_MAP_U6_ALIGN16] = PTX_U8,
    };
    ret_reduce->op = op;
    ret_reduce->type = types[box->map.type];
    bool bits = op == EMU_REDUCE_AND || op == EMU_REDUCE_OR || op == EMU_REDUCE_XOR;
    if (bits && !emu_map_type_is_float(box->map.type)) {
        unsigned size = emu_map_type_bits(box->map.type);
        ret_reduce->type = size == 32 ? PTX_B32 : size == 64 ? PTX_B64 : PTX_B8;
    }
    return op == EMU_REDUCE_NONE || emu_reduce_is_legal(ret_reduce, true) ||
           emu_fail(error, "the reduction does not go with the tensor's data type %u",
                    (unsigned)box->map.type);
}

/* `lanes` issue it; `repeated`: several of them the same. */
static bool store_lane(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                       unsigned lane, bool repeated)
{
    const struct tensor_insn *tensor = insn->extra;
    struct emu_store store = {.byte_mask = 0xFFFF, .repeated = repeated};
    struct emu_error error = {0};
    struct emu_cta *cta =
        emu_address_shared(warp, insn, lane, &tensor->shared, "source", &store.offset);
    if (cta == NULL || !get_box(warp, insn, lane, &store.box, &store.map)) {
        return false;
    }
    store.again = tensor->reduce == EMU_REDUCE_NONE &&
                  emu_is_again(warp, lanes, tensor->shared.slot, lane);
    if (!check_store(&store.box, &error) ||
        !find_reduce(&store.box, tensor->reduce, &store.reduce, &error)) {
        emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR, "%s", error.text);
        return false;
    }
    return emu_store_issue(warp, insn, lane, &store);
}

static enum emu_step exec_store(struct emu_warp *warp, const struct emu_insn *insn,
                                uint32_t lanes)
{
    const struct tensor_insn *tensor = insn->extra;
    bool repeated = emu_warn_of_lanes(warp, insn, lanes, tensor->shared.slot,
                                      tensor->reduce == EMU_REDUCE_NONE);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (!store_lane(warp, insn, lanes, emu_lowest_bit(rest), repeated)) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

static enum emu_step exec_prefetch(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint32_t lanes)
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        struct emu_box box;
        struct emu_map_hold hold;
        if (!get_box(warp, insn, emu_lowest_bit(rest), &box, &hold)) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

/* ----------------------------------------------------------------------------- decoding */

/* .dim and the load mode. im2col is refused by its name. */
static bool take_mode(struct emu_decoder *decoder, struct tensor_insn *tensor,
                      const char *four_rows, unsigned *ret_dims)
{
    static const char *const dims[] = {"1d", "2d", "3d", "4d", "5d"};
    const char *im2col = emu_take_prefix(decoder, "im2col");
    if (im2col != NULL) {
        return emu_decode_fail(decoder, ".im2col%s is not supported", im2col);
    }
    int dim = emu_take_one_of(decoder, dims, 5);
    if (dim < 0) {
        return emu_decode_fail(decoder, "its dimension is missing");
    }
    *ret_dims = (unsigned)dim + 1;
    tensor->four_rows = four_rows != NULL && emu_take(decoder, four_rows);
    if (!tensor->four_rows) {
        emu_take(decoder, "tile");
    } else if (*ret_dims != 2) {
        return emu_decode_fail(decoder, ".%s is for .2d", four_rows);
    } else {
        *ret_dims = 5;
    }
    return true;
}

/* [map, {coordinates}] */
static bool decode_map(struct emu_decoder *decoder, unsigned index, unsigned dims,
                       struct tensor_insn *tensor)
{
    const struct ptx_operand *operand = emu_operand(decoder, index);
    if (operand->kind != PTX_TENSOR) {
        return emu_decode_fail(decoder, "operand %u is not [map, {coordinates}]", index);
    }
    tensor->map.space = EMU_SPACE_GENERIC;
    return emu_operand_address(decoder, &operand->elements[0], &tensor->map.slot,
                               &tensor->map.offset) &&
           emu_operand_vector(decoder, &operand->elements[1], false, 32,
                              &tensor->coordinates, &tensor->count) &&
           (tensor->count == dims ||
            emu_decode_fail(decoder, "it has %u coordinates, not %u", tensor->count, dims));
}

/* Operands: [dst], [map, {}], [mbar]{, ctaMask}{, policy}. */
static bool decode_load(struct emu_decoder *decoder, struct tensor_insn *tensor)
{
    unsigned dims = 0;
    unsigned count = emu_operand_count(decoder);
    enum emu_space space = emu_take_shared_space(decoder);
    if (space == EMU_SPACE_GENERIC || !emu_take(decoder, "global")) {
        return emu_decode_fail(decoder, "this direction is not supported");
    }
    tensor->pair = emu_take(decoder, "cta_group::2");
    if (!tensor->pair) {
        emu_take(decoder, "cta_group::1");
    }
    tensor->multicast = emu_take(decoder, "multicast::cluster");
    decoder->insn->exec = exec_load;
    if (!emu_take_cache_hint(decoder, &count) ||
        !take_mode(decoder, tensor, "tile::gather4", &dims)) {
        return false;
    }
    unsigned wanted = tensor->multicast ? 4 : 3;
    if (count != wanted || (tensor->multicast && space == EMU_SPACE_SHARED)) {
        return emu_decode_fail(decoder, "its operands do not go with its qualifiers");
    }
    return emu_take_address(decoder, 0, space, &tensor->shared) &&
           decode_map(decoder, 1, dims, tensor) &&
           emu_take_address(decoder, 2, EMU_SPACE_SHARED_CLUSTER, &tensor->barrier) &&
           (!tensor->multicast || emu_operand_value(decoder, 3, 16, &tensor->mask));
}

/* Operands: [map, {}], [src]{, policy}. */
static bool decode_store(struct emu_decoder *decoder, struct tensor_insn *tensor)
{
    unsigned dims = 0;
    unsigned count = emu_operand_count(decoder);
    const char *four_rows = tensor->reduce == EMU_REDUCE_NONE ? "tile::scatter4" : NULL;
    if (!emu_take(decoder, "global") || !emu_take(decoder, "shared::cta")) {
        return emu_decode_fail(decoder, "this direction is not supported");
    }
    decoder->insn->exec = exec_store;
    if (!emu_take_cache_hint(decoder, &count) ||
        !take_mode(decoder, tensor, four_rows, &dims)) {
        return false;
    }
    if (count != 2) {
        return emu_decode_fail(decoder, "its operands do not go with its qualifiers");
    }
    return decode_map(decoder, 0, dims, tensor) &&
           emu_take_address(decoder, 1, EMU_SPACE_SHARED, &tensor->shared);
}

static struct tensor_insn *make_tensor(struct emu_decoder *decoder)
{
    struct tensor_insn *tensor = emu_decode_alloc(decoder, sizeof(*tensor));
    tensor->mask = EMU_NO_SLOT;
    decoder->insn->extra = tensor;
    return tensor;
}

bool emu_decode_tensor_copy(struct emu_decoder *decoder)
{
    struct tensor_insn *tensor = make_tensor(decoder);
    if (emu_take(decoder, "mbarrier::complete_tx::bytes")) {
        return decode_load(decoder, tensor);
    }
    if (emu_take(decoder, "bulk_group")) {
        return decode_store(decoder, tensor);
    }
    return emu_decode_fail(decoder, "its completion mechanism is missing");
}

bool emu_decode_tensor_reduce(struct emu_decoder *decoder)
{
    struct tensor_insn *tensor = make_tensor(decoder);
    decoder->program->shares_grid = true;
    if (!emu_take(decoder, "bulk_group")) {
        return emu_decode_fail(decoder, "its completion mechanism is missing");
    }
    return emu_take_reduce_op(decoder, &tensor->reduce) && decode_store(decoder, tensor);
}

bool emu_decode_tensor_prefetch(struct emu_decoder *decoder)
{
    struct tensor_insn *tensor = make_tensor(decoder);
    unsigned dims = 0;
    unsigned count = emu_operand_count(decoder);
    decoder->insn->exec = exec_prefetch;
    if (!emu_take(decoder, "L2") || !emu_take(decoder, "global")) {
        return emu_decode_fail(decoder, "it must be .L2.global");
    }
    return emu_take_cache_hint(decoder, &count) &&
           take_mode(decoder, tensor, "tile::gather4", &dims) &&
           (count == 1 || emu_decode_fail(decoder, "it has an operand too many")) &&
           decode_map(decoder, 0, dims, tensor);
}
