/* SPDX-License-Identifier: MIT */
#include "async/operand.h"

#include <inttypes.h>

enum emu_space emu_take_shared_space(struct emu_decoder *decoder)
{
    if (emu_take(decoder, "shared::cluster")) {
        return EMU_SPACE_SHARED_CLUSTER;
    }
    if (emu_take(decoder, "shared::cta") || emu_take(decoder, "shared")) {
        return EMU_SPACE_SHARED;
    }
    return EMU_SPACE_GENERIC;
}

bool emu_take_address(struct emu_decoder *decoder, unsigned operand, enum emu_space space,
                      struct emu_address *ret_address)
{
    ret_address->space = space;
    return emu_operand_address(decoder, emu_operand(decoder, operand), &ret_address->slot,
                               &ret_address->offset);
}

bool emu_operand_value(struct emu_decoder *decoder, unsigned index, unsigned bits,
                       uint32_t *ret_slot)
{
    return emu_operand_src(decoder, emu_operand(decoder, index), bits, ret_slot);
}

bool emu_take_cache_hint(struct emu_decoder *decoder, unsigned *io_count)
{
    uint32_t policy = EMU_NO_SLOT;
    if (!emu_take(decoder, "L2::cache_hint")) {
        return true;
    }
    if (*io_count == 0) {
        return emu_decode_fail(decoder, "the cache policy is missing");
    }
    --*io_count;
    return emu_operand_value(decoder, *io_count, 64, &policy);
}

bool emu_operand_is_predicate(const struct emu_decoder *decoder, unsigned index)
{
    const struct ptx_operand *operand = &decoder->source->operands[index];
    return operand->kind == PTX_REGISTER &&
           decoder->program->function->registers[operand->index].type == PTX_PRED;
}

bool emu_take_sem_scope(struct emu_decoder *decoder, const char *const *sems, int *ret_sem,
                        bool *ret_cluster_scope)
{
    static const char *const scopes[] = {"cta", "cluster"};
    unsigned count = 0;
    while (sems[count] != NULL) {
        count++;
    }
    *ret_sem = emu_take_one_of(decoder, sems, count);
    int scope = emu_take_one_of(decoder, scopes, 2);
    *ret_cluster_scope = scope == 1;
    return (*ret_sem < 0) == (scope < 0) ||
           emu_decode_fail(decoder, "semantics and scope must be given together");
}

bool emu_address_get(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     const struct emu_address *operand, uint64_t *ret_address)
{
    *ret_address = warp->r[operand->slot][lane] + (uint64_t)operand->offset;
    return emu_need_defined(warp, insn, 1u << lane, operand->slot, "address");
}

struct emu_cta *emu_address_shared(struct emu_warp *warp, const struct emu_insn *insn,
                                   unsigned lane, const struct emu_address *operand,
                                   const char *operand_name, uint32_t *ret_offset)
{
    uint64_t address = 0;
    if (!emu_address_get(warp, insn, lane, operand, &address)) {
        return NULL;
    }
    enum emu_space space = operand->space;
    if (space == EMU_SPACE_GENERIC) {
        uint64_t generic = address;
        emu_classify(generic, &space, &address);
        if (space != EMU_SPACE_SHARED_CLUSTER) {
            emu_report_error(warp, insn, lane, EMU_FINDING_OUT_OF_BOUNDS,
                             "the generic address of the %s (0x%" PRIx64
                             ") is not in shared memory",
                             operand_name, generic);
            return NULL;
        }
    }
    return emu_shared_resolve(warp, insn, lane, (uint32_t)address,
                              space == EMU_SPACE_SHARED_CLUSTER, ret_offset);
}

bool emu_address_global(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        const struct emu_address *operand, const char *operand_name,
                        uint64_t *ret_address)
{
    enum emu_space space = EMU_SPACE_GLOBAL;
    if (!emu_address_get(warp, insn, lane, operand, ret_address)) {
        return false;
    }
    if (operand->space == EMU_SPACE_GENERIC) {
        emu_classify(*ret_address, &space, ret_address);
    }
    if (space != EMU_SPACE_GLOBAL) {
        emu_report_error(warp, insn, lane, EMU_FINDING_OUT_OF_BOUNDS,
                         "the generic address of the %s is not in global memory",
                         operand_name);
        return false;
    }
    return true;
}

enum emu_step emu_each_lane(struct emu_warp *warp, const struct emu_insn *insn,
                            uint32_t lanes,
                            bool (*run)(struct emu_warp *warp, const struct emu_insn *insn,
                                        unsigned lane))
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (!run(warp, insn, emu_lowest_bit(rest))) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

void emu_set_predicate(struct emu_warp *warp, uint32_t predicate, unsigned lane, bool value)
{
    uint32_t bit = 1u << lane;
    if (predicate == EMU_NO_PREDICATE) {
        return;
    }
    warp->p[predicate] = value ? warp->p[predicate] | bit : warp->p[predicate] & ~bit;
    warp->p_undefined[predicate] &= ~bit;
}
