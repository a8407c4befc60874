/* SPDX-License-Identifier: MIT */
/* cp.async.bulk, cp.reduce.async.bulk and cp.async.bulk.prefetch: plain runs of bytes. */
#include <inttypes.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"
#include "async/tma.h"

struct bulk_insn {
    struct emu_address dst, src, barrier;
    uint32_t size, mask; /* slots; mask of CTAs or of bytes, or EMU_NO_SLOT */
    uint32_t ignore_left, ignore_right; /* slots, or EMU_NO_SLOT */
    bool multicast;
    struct emu_reduce reduce;
};

static bool get_size(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     const struct bulk_insn *bulk, uint32_t *ret_size)
{
    *ret_size = (uint32_t)warp->r[bulk->size][lane];
    if (!emu_need_defined(warp, insn, 1u << lane, bulk->size, "size of the copy")) {
        return false;
    }
    if (*ret_size % 16 != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                         "a copy of %u bytes; it must be a multiple of 16", *ret_size);
        return false;
    }
    return true;
}

/* The value of a slot that may not be there. */
static bool get_optional(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                         uint32_t slot, const char *operand_name, uint32_t absent,
                         uint32_t *ret_value)
{
    *ret_value = absent;
    if (slot == EMU_NO_SLOT) {
        return true;
    }
    *ret_value = (uint32_t)warp->r[slot][lane];
    return emu_need_defined(warp, insn, 1u << lane, slot, operand_name);
}

static bool get_global(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       const struct emu_address *operand, uint64_t *ret_address)
{
    if (!emu_address_global(warp, insn, lane, operand, "copy", ret_address)) {
        return false;
    }
    if (*ret_address % 16 != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                         "global address 0x%" PRIx64 " of the copy is not a multiple of 16",
                         *ret_address);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ into shared memory */

/* Where the bytes come from. */
static bool get_source(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       const struct bulk_insn *bulk, uint32_t size, struct emu_load *load)
{
    uint64_t address = 0;
    if (bulk->src.space == EMU_SPACE_GLOBAL) {
        bool good = get_global(warp, insn, lane, &bulk->src, &address);
        load->box = emu_box_linear(address, size);
        return good;
    }
    load->box = emu_box_linear(0, size);
    load->source_cta =
        emu_address_shared(warp, insn, lane, &bulk->src, "source", &load->source_offset);
    if (load->source_cta == NULL) {
        return false;
    }
    if (load->source_offset % 16 != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                         "shared offset %u of the source is not a multiple of 16",
                         load->source_offset);
        return false;
    }
    if (load->cta == warp->cta) {
        emu_report_error(
            warp, insn, lane, EMU_FINDING_ILLEGAL,
            "a copy from shared memory goes to another CTA of the cluster, not "
            "to the own one");
        return false;
    }
    return true;
}

static bool get_ignored(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        const struct bulk_insn *bulk, struct emu_load *load)
{
    if (!get_optional(warp, insn, lane, bulk->ignore_left, "ignored size", 0,
                      &load->ignore_left) ||
        !get_optional(warp, insn, lane, bulk->ignore_right, "ignored size", 0,
                      &load->ignore_right)) {
        return false;
    }
    if (load->ignore_left > 15 || load->ignore_right > 15 ||
        load->ignore_left + load->ignore_right > load->box.image_bytes) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                         "%u and %u ignored bytes; legal are up to 15 at each end",
                         load->ignore_left, load->ignore_right);
        return false;
    }
    return true;
}

static bool load_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    const struct bulk_insn *bulk = insn->extra;
    struct emu_load load = {.reduce = bulk->reduce};
    uint32_t size = 0;
    uint32_t mask = 0;
    load.cta =
        emu_address_shared(warp, insn, lane, &bulk->dst, "destination", &load.offset);
    if (load.cta == NULL || !get_size(warp, insn, lane, bulk, &size) ||
        !get_source(warp, insn, lane, bulk, size, &load) ||
        !get_ignored(warp, insn, lane, bulk, &load) ||
        !get_optional(warp, insn, lane, bulk->mask, "mask of CTAs", 0, &mask)) {
        return false;
    }
    load.barrier_cta = emu_address_shared(warp, insn, lane, &bulk->barrier, "mbarrier",
                                          &load.barrier_offset);
    if (load.barrier_cta == NULL) {
        return false;
    }
    if (!bulk->multicast) {
        if (load.barrier_cta != load.cta) {
            emu_report_error(warp, insn, lane, EMU_FINDING_BARRIER,
                             "the mbarrier is in CTA %u, the destination in CTA %u",
                             load.barrier_cta->rank, load.cta->rank);
            return false;
        }
        return emu_load_issue(warp, insn, lane, &load);
    }
    return emu_load_multicast(warp, insn, lane, &load, mask, false);
}

static enum emu_step exec_load(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    const struct bulk_insn *bulk = insn->extra;
    emu_warn_of_lanes(warp, insn, lanes, bulk->dst.slot, false);
    return emu_each_lane(warp, insn, lanes, load_lane);
}

/* -------------------------------------------------------------------- into global memory
 */

/* `lanes` issue it; `repeated`: several of them the same. */
static bool store_lane(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                       unsigned lane, bool repeated)
{
    const struct bulk_insn *bulk = insn->extra;
    struct emu_store store = {.reduce = bulk->reduce, .repeated = repeated};
    uint64_t address = 0;
    uint32_t size = 0;
    struct emu_cta *cta =
        emu_address_shared(warp, insn, lane, &bulk->src, "source", &store.offset);
    if (cta == NULL || !get_size(warp, insn, lane, bulk, &size) ||
        !get_global(warp, insn, lane, &bulk->dst, &address) ||
        !get_optional(warp, insn, lane, bulk->mask, "mask of bytes", 0xFFFF,
                      &store.byte_mask)) {
        return false;
    }
    store.box = emu_box_linear(address, size);
    store.again = bulk->reduce.op == EMU_REDUCE_NONE &&
                  emu_is_again(warp, lanes, bulk->dst.slot, lane);
    return emu_store_issue(warp, insn, lane, &store);
}

static enum emu_step exec_store(struct emu_warp *warp, const struct emu_insn *insn,
                                uint32_t lanes)
{
    const struct bulk_insn *bulk = insn->extra;
    bool repeated = emu_warn_of_lanes(warp, insn, lanes, bulk->dst.slot,
                                      bulk->reduce.op == EMU_REDUCE_NONE);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (!store_lane(warp, insn, lanes, emu_lowest_bit(rest), repeated)) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

/* A hint: what it names must be legal, and that is all. */
static enum emu_step exec_prefetch(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint32_t lanes)
{
    const struct bulk_insn *bulk = insn->extra;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        uint64_t address = 0;
        uint32_t size = 0;
        if (!get_size(warp, insn, lane, bulk, &size) ||
            !get_global(warp, insn, lane, &bulk->src, &address)) {
            return EMU_FAILED;
        }
        if (emu_memory_find(emu_launch_of(warp->cta)->memory, address, size) == NULL) {
            emu_report(warp, insn, lane, EMU_WARNING, EMU_FINDING_OUT_OF_BOUNDS,
                       "a prefetch of %u bytes at 0x%" PRIx64 ", outside of any allocation",
                       size, address);
        }
    }
    return EMU_NEXT;
}

/* ----------------------------------------------------------------------------- decoding */

/* Operands: dst, src, size{, left, right}, mbar{, ctaMask}{, policy}. */
static bool decode_load(struct emu_decoder *decoder, struct bulk_insn *bulk)
{
    bool to_own = !emu_take(decoder, "shared::cluster");
    bool from_global = emu_take(decoder, "global");
    if ((to_own && !from_global) ||
        ((to_own || !from_global) && !emu_take(decoder, "shared::cta"))) {
        return emu_decode_fail(decoder, "this direction is not supported");
    }
    unsigned count = emu_operand_count(decoder);
    bulk->multicast = emu_take(decoder, "multicast::cluster");
    bool ragged = emu_take(decoder, "ignore_oob");
    if (((bulk->multicast || bulk->reduce.op != EMU_REDUCE_NONE) &&
         (to_own || (bulk->multicast && !from_global))) ||
        (ragged && (!to_own || !from_global)) ||
        (bulk->reduce.op != EMU_REDUCE_NONE && from_global)) {
        return emu_decode_fail(decoder, "its qualifiers do not go together");
    }
    if (!emu_take_cache_hint(decoder, &count)) {
        return false;
    }
    unsigned barrier = ragged ? 5 : 3;
    unsigned wanted = barrier + 1 + (bulk->multicast ? 1 : 0);
    if (count != wanted) {
        return emu_decode_fail(
            decoder, "it has %u operands besides the cache policy, not %u", count, wanted);
    }
    decoder->insn->exec = exec_load;
    enum emu_space dst = to_own ? EMU_SPACE_SHARED : EMU_SPACE_SHARED_CLUSTER;
    return emu_take_address(decoder, 0, dst, &bulk->dst) &&
           emu_take_address(decoder, 1, from_global ? EMU_SPACE_GLOBAL : EMU_SPACE_SHARED,
                            &bulk->src) &&
           emu_operand_value(decoder, 2, 32, &bulk->size) &&
           (!ragged || (emu_operand_value(decoder, 3, 32, &bulk->ignore_left) &&
                        emu_operand_value(decoder, 4, 32, &bulk->ignore_right))) &&
           emu_take_address(decoder, barrier, dst, &bulk->barrier) &&
           (!bulk->multicast || emu_operand_value(decoder, barrier + 1, 16, &bulk->mask));
}

/* Operands: dst, src, size{, policy}{, byteMask}. */
static bool decode_store(struct emu_decoder *decoder, struct bulk_insn *bulk)
{
    uint32_t policy = EMU_NO_SLOT;
    if (!emu_take(decoder, "global") || !emu_take(decoder, "shared::cta")) {
        return emu_decode_fail(decoder, "this direction is not supported");
    }
    unsigned hint = emu_take(decoder, "L2::cache_hint") ? 1 : 0;
    unsigned masked = bulk->reduce.op == EMU_REDUCE_NONE && emu_take(decoder, "cp_mask");
    decoder->insn->exec = exec_store;
    if (bulk->reduce.op != EMU_REDUCE_NONE) {
        decoder->program->shares_grid = true;
    }
    return emu_need_operands(decoder, 3 + hint + masked, 3 + hint + masked) &&
           emu_take_address(decoder, 0, EMU_SPACE_GLOBAL, &bulk->dst) &&
           emu_take_address(decoder, 1, EMU_SPACE_SHARED, &bulk->src) &&
           emu_operand_value(decoder, 2, 32, &bulk->size) &&
           (hint == 0 || emu_operand_value(decoder, 3, 64, &policy)) &&
           (masked == 0 || emu_operand_value(decoder, 3 + hint, 16, &bulk->mask));
}

static struct bulk_insn *make_bulk(struct emu_decoder *decoder)
{
    struct bulk_insn *bulk = emu_decode_alloc(decoder, sizeof(*bulk));
    bulk->mask = bulk->ignore_left = bulk->ignore_right = EMU_NO_SLOT;
    decoder->insn->extra = bulk;
    return bulk;
}

static bool decode_direction(struct emu_decoder *decoder, struct bulk_insn *bulk)
{
    if (emu_take(decoder, "mbarrier::complete_tx::bytes")) {
        return decode_load(decoder, bulk);
    }
    if (emu_take(decoder, "bulk_group")) {
        return decode_store(decoder, bulk);
    }
    return emu_decode_fail(decoder, "its completion mechanism is missing");
}

bool emu_decode_bulk_copy(struct emu_decoder *decoder)
{
    return decode_direction(decoder, make_bulk(decoder));
}

bool emu_decode_bulk_reduce(struct emu_decoder *decoder)
{
    struct bulk_insn *bulk = make_bulk(decoder);
    if (!emu_take_reduce_op(decoder, &bulk->reduce.op) ||
        !emu_need_type(decoder, &bulk->reduce.type) || !decode_direction(decoder, bulk)) {
        return false;
    }
    bool to_global = decoder->insn->exec == exec_store;
    bool half = bulk->reduce.type == PTX_F16 || bulk->reduce.type == PTX_BF16;
    bool no_flush = emu_take(decoder, "noftz");
    if (!emu_reduce_is_legal(&bulk->reduce, to_global)) {
        return emu_decode_fail(decoder, "its operation does not go with its type");
    }
    if (no_flush != (half && bulk->reduce.op == EMU_REDUCE_ADD)) {
        return emu_decode_fail(decoder, ".noftz belongs to .add of .f16 and .bf16");
    }
    return true;
}

bool emu_decode_bulk_prefetch(struct emu_decoder *decoder)
{
    struct bulk_insn *bulk = make_bulk(decoder);
    unsigned count = emu_operand_count(decoder);
    decoder->insn->exec = exec_prefetch;
    if (!emu_take(decoder, "L2") || !emu_take(decoder, "global")) {
        return emu_decode_fail(decoder, "it must be .L2.global");
    }
    return emu_need_operands(decoder, 2, 3) && emu_take_cache_hint(decoder, &count) &&
           (count == 2 || emu_decode_fail(decoder, "it has an operand too many")) &&
           emu_take_address(decoder, 0, EMU_SPACE_GLOBAL, &bulk->src) &&
           emu_operand_value(decoder, 1, 32, &bulk->size);
}
