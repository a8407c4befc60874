/* SPDX-License-Identifier: MIT */
/*
 * fence and membar. Memory is sequentially consistent here, so they change only what the
 * race checker takes for known.
 *
 * A proxy fence for one CTA's shared memory is taken as one for that of the cluster.
 */
#include <string.h>

#include "async/map.h"
#include "async/opcodes.h"
#include "async/operand.h"
#include "async/state.h"

/* insn->mode: the halves of a fence, and the memories of a proxy fence; the scope is
 * insn->mode2. */
enum { RELEASE = 1, ACQUIRE = 2, SHARED = 4, GLOBAL = 8 };

static void fence(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                  unsigned halves)
{
    unsigned mode = insn->mode & halves;
    emu_sync_fence(&warp->sync, lanes, (enum emu_scope)insn->mode2, (mode & RELEASE) != 0,
                   (mode & ACQUIRE) != 0);
}

static enum emu_step exec_fence(struct emu_warp *warp, const struct emu_insn *insn,
                                uint32_t lanes)
{
    fence(warp, insn, lanes, RELEASE | ACQUIRE);
    return EMU_NEXT;
}

static enum emu_step exec_init_fence(struct emu_warp *warp, const struct emu_insn *insn,
                                     uint32_t lanes)
{
    (void)insn;
    (void)lanes;
    emu_sync_init_fence(&warp->sync);
    return EMU_NEXT;
}

static enum emu_step exec_proxy_fence(struct emu_warp *warp, const struct emu_insn *insn,
                                      uint32_t lanes)
{
    /* With semantics, the fence is part of the signal beside it. */
    fence(warp, insn, lanes, ACQUIRE);
    emu_sync_proxy_fence(&warp->sync, lanes, (insn->mode & SHARED) != 0,
                         (insn->mode & GLOBAL) != 0);
    fence(warp, insn, lanes, RELEASE);
    return EMU_NEXT;
}

static enum emu_step exec_alias_fence(struct emu_warp *warp, const struct emu_insn *insn,
                                      uint32_t lanes)
{
    (void)warp;
    (void)insn;
    (void)lanes;
    return EMU_NEXT;
}

static enum emu_step exec_map_fence(struct emu_warp *warp, const struct emu_insn *insn,
                                    uint32_t lanes)
{
    const struct emu_address *operand = insn->extra;
    fence(warp, insn, lanes, RELEASE | ACQUIRE);
    for (uint32_t rest = lanes; operand != NULL && rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        uint64_t address = 0;
        if (!emu_address_global(warp, insn, lane, operand, "tensor map", &address)) {
            return EMU_FAILED;
        }
        emu_map_acquire(warp->cta, address);
    }
    return EMU_NEXT;
}

/* -------------------------------------------------------------------------- decoding */

/* Semantics as halves; without the word `absent`. */
static unsigned take_sem(struct emu_decoder *decoder, unsigned absent)
{
    static const char *const sems[] = {"acq_rel", "release", "acquire", "sc"};
    static const unsigned halves[] = {RELEASE | ACQUIRE, RELEASE, ACQUIRE,
                                      RELEASE | ACQUIRE};
    int sem = emu_take_one_of(decoder, sems, 4);
    return sem < 0 ? absent : halves[sem];
}

/* .sync_restrict: what this half of the fence goes with. False: it is wrong. *ret_there:
 * it was written. */
static bool take_restriction(struct emu_decoder *decoder, unsigned half, bool *ret_there)
{
    const char *space = emu_take_prefix(decoder, "sync_restrict::");
    *ret_there = space != NULL;
    return space == NULL || (half == RELEASE && strcmp(space, "shared::cta") == 0) ||
           (half == ACQUIRE && strcmp(space, "shared::cluster") == 0) ||
           emu_decode_fail(decoder, ".sync_restrict::%s does not go with this", space);
}

static bool need_scope(struct emu_decoder *decoder)
{
    decoder->insn->mode2 = (uint16_t)emu_take_scope(decoder);
    return decoder->insn->mode2 != EMU_SCOPE_NONE ||
           emu_decode_fail(decoder, "its scope is missing");
}

bool emu_decode_fence(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    insn->exec = exec_fence;
    insn->mode = (uint16_t)take_sem(decoder, RELEASE | ACQUIRE);
    bool restricted = false;
    return take_restriction(decoder, insn->mode, &restricted) && need_scope(decoder) &&
           emu_need_operands(decoder, 0, 0);
}

bool emu_decode_init_fence(struct emu_decoder *decoder)
{
    decoder->insn->exec = exec_init_fence;
    return emu_need_operands(decoder, 0, 0) &&
           ((emu_take(decoder, "release") && emu_take(decoder, "cluster")) ||
            emu_decode_fail(decoder, "it must be .release.cluster"));
}

static bool decode_map_fence(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct emu_address *operand = NULL;
    int64_t bytes = 0;
    insn->exec = exec_map_fence;
    insn->mode = (uint16_t)take_sem(decoder, 0);
    if (insn->mode == RELEASE) {
        return need_scope(decoder) && emu_need_operands(decoder, 0, 0);
    }
    if (insn->mode != ACQUIRE) {
        return emu_decode_fail(decoder, "it must be .acquire or .release");
    }
    operand = emu_decode_alloc(decoder, sizeof(*operand));
    insn->extra = operand;
    return need_scope(decoder) && emu_need_operands(decoder, 2, 2) &&
           emu_take_address(decoder, 0, EMU_SPACE_GENERIC, operand) &&
           emu_operand_integer(decoder, emu_operand(decoder, 1), &bytes) &&
           (bytes == EMU_MAP_BYTES || emu_decode_fail(decoder, "its size must be 128"));
}

bool emu_decode_proxy_fence(struct emu_decoder *decoder)
{
    static const char *const spaces[] = {"global", "shared::cta", "shared::cluster"};
    struct emu_insn *insn = decoder->insn;
    if (emu_take(decoder, "alias")) {
        insn->exec = exec_alias_fence;
        return emu_need_operands(decoder, 0, 0);
    }
    if (emu_take(decoder, "tensormap::generic")) {
        return decode_map_fence(decoder);
    }
    insn->exec = exec_proxy_fence;
    if (emu_take(decoder, "async")) {
        int space = emu_take_one_of(decoder, spaces, 3);
        insn->mode = space < 0 ? SHARED | GLOBAL : space == 0 ? GLOBAL : SHARED;
        return emu_need_operands(decoder, 0, 0);
    }
    if (!emu_take(decoder, "async::generic")) {
        return emu_decode_fail(decoder, "this proxy fence is not supported");
    }
    const unsigned half = take_sem(decoder, 0);
    bool restricted = false;
    if (!take_restriction(decoder, half, &restricted) || !restricted) {
        return emu_decode_fail(decoder,
                               "it needs .acquire or .release, and .sync_restrict");
    }
    insn->mode = (uint16_t)(half | SHARED);
    return need_scope(decoder) && emu_need_operands(decoder, 0, 0);
}

bool emu_decode_membar(struct emu_decoder *decoder)
{
    static const char *const levels[] = {"cta", "gl", "sys"};
    int level = emu_take_one_of(decoder, levels, 3);
    decoder->insn->exec = exec_fence;
    decoder->insn->mode = RELEASE | ACQUIRE;
    decoder->insn->mode2 = level == 0 ? EMU_SCOPE_CTA : EMU_SCOPE_GPU;
    return emu_need_operands(decoder, 0, 0) &&
           (level >= 0 || emu_decode_fail(decoder, "its level is missing"));
}
