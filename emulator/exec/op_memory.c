/* SPDX-License-Identifier: MIT */
/* Loads, stores, address conversions, prefetches. */
#include <string.h>

#include "exec/decode.h"
#include "exec/events.h"
#include "exec/memory.h"
#include "exec/op_memory.h"
#include "exec/strong.h"

/* Takes cache and eviction hints: they have no meaning here. True always. */
static void take_cache_hints(struct emu_decoder *decoder, bool *ret_policy)
{
    static const char *const hints[] = {"ca", "cg", "cs", "lu",      "cv",
                                        "wb", "wt", "nc", "unified", "u"};
    while (emu_take_one_of(decoder, hints, sizeof(hints) / sizeof(hints[0])) >= 0) {
    }
    while (emu_take_prefix(decoder, "L1::") != NULL) {
    }
    *ret_policy = false;
    for (const char *hint = emu_take_prefix(decoder, "L2::"); hint != NULL;
         hint = emu_take_prefix(decoder, "L2::")) {
        *ret_policy = *ret_policy || strcmp(hint, "cache_hint") == 0;
    }
}

bool emu_take_space(struct emu_decoder *decoder, enum emu_space *ret_space)
{
    static const char *const names[] = {"global",          "shared",       "shared::cta",
                                        "shared::cluster", "local",        "param",
                                        "const",           "param::entry", "param::func"};
    static const enum emu_space spaces[] = {
        EMU_SPACE_GLOBAL,         EMU_SPACE_SHARED, EMU_SPACE_SHARED,
        EMU_SPACE_SHARED_CLUSTER, EMU_SPACE_LOCAL,  EMU_SPACE_PARAM,
        EMU_SPACE_CONST,          EMU_SPACE_PARAM,  EMU_SPACE_PARAM};
    int index = emu_take_one_of(decoder, names, sizeof(names) / sizeof(names[0]));
    *ret_space = index < 0 ? EMU_SPACE_GENERIC : spaces[index];
    return index >= 0;
}

uint8_t emu_take_order(struct emu_decoder *decoder, bool always)
{
    static const char *const words[] = {"relaxed", "acquire",  "release",
                                        "acq_rel", "volatile", "mmio"};
    static const uint8_t halves[] = {
        0, EMU_ORDER_ACQUIRE, EMU_ORDER_RELEASE, EMU_ORDER_ACQUIRE | EMU_ORDER_RELEASE, 0,
        0};
    uint8_t order = 0;
    bool strong = always;
    emu_take(decoder, "weak");
    for (int word = emu_take_one_of(decoder, words, 6); word >= 0;
         word = emu_take_one_of(decoder, words, 6)) {
        strong = true;
        order |= halves[word];
    }
    enum emu_scope scope = emu_take_scope(decoder);
    if (!strong) {
        return 0;
    }
    return order | (uint8_t)(scope == EMU_SCOPE_NONE ? EMU_SCOPE_GPU : scope);
}

uint64_t emu_strong_address(enum emu_space space, uint64_t address)
{
    if (space == EMU_SPACE_SHARED || space == EMU_SPACE_SHARED_CLUSTER) {
        return EMU_WINDOW_SHARED | (uint32_t)address;
    }
    return address;
}

static uint64_t lane_address(const struct emu_warp *warp, const struct emu_insn *insn,
                             enum emu_space space, unsigned lane)
{
    uint64_t address = warp->r[insn->src[0]][lane] + (uint64_t)insn->offset;
    /* A 32-bit window: 64-bit registers that came from cvt.u64.u32 are cut. */
    return space == EMU_SPACE_SHARED || space == EMU_SPACE_SHARED_CLUSTER
               ? address & UINT32_MAX
               : address;
}

/* insn: mode space, mode2 order, list the slots, bytes of one element, type for the sign.
 */
static enum emu_step execute_load(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes)
{
    enum emu_space space = (enum emu_space)insn->mode;
    unsigned bytes = insn->bytes;
    unsigned total = bytes * insn->vector;
    uint64_t seen = 0;
    bool global = false;
    if (!emu_need_defined(warp, insn, lanes, insn->src[0], "address")) {
        return EMU_FAILED;
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        uint8_t data[64];
        uint8_t defined[64];
        struct emu_actor actor = emu_actor_of_lane(warp, insn, lane);
        uint64_t address = lane_address(warp, insn, space, lane);
        if (insn->mode2 != 0) {
            emu_actor_is_atomic(&actor, emu_order_scope(insn->mode2));
            emu_strong_read(warp, emu_strong_address(space, address), insn->mode2);
        }
        if (!emu_read(&actor, space, address, total, data, defined)) {
            return EMU_FAILED;
        }
        if (insn->mode2 != 0) {
            seen = emu_mix(emu_mix(seen, address), emu_hash(data, total));
            global = global || !emu_strong_is_shared(emu_strong_address(space, address));
        }
        for (unsigned i = 0; i < insn->list_count; i++) {
            uint32_t slot = insn->list[i];
            if (slot == EMU_NO_SLOT) {
                continue;
            }
            unsigned size = bytes > 8 ? 8 : bytes;
            uint64_t value = 0;
            memcpy(&value, data + (size_t)i * size, size);
            if (insn->target != 0) {
                /* A signed element into a wider register: the target holds its bits. */
                unsigned shift = 64 - 8 * size;
                value = (uint64_t)((int64_t)(value << shift) >> shift);
                value &=
                    insn->target >= 64 ? UINT64_MAX : (UINT64_C(1) << insn->target) - 1;
            }
            warp->r[slot][lane] = value;
            if (memchr(defined + (size_t)i * size, EMU_UNDEFINED, size) != NULL) {
                warp->undefined[slot] |= 1u << lane;
            } else {
                warp->undefined[slot] &= ~(1u << lane);
            }
        }
    }
    return insn->mode2 == 0 ? EMU_NEXT : emu_strong_poll(warp, insn, seen, global);
}

static enum emu_step execute_store(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint32_t lanes)
{
    enum emu_space space = (enum emu_space)insn->mode;
    unsigned size = insn->bytes > 8 ? 8 : insn->bytes;
    if (!emu_need_defined(warp, insn, lanes, insn->src[0], "address")) {
        return EMU_FAILED;
    }
    for (unsigned i = 0; i < insn->list_count; i++) {
        if (!emu_need_defined(warp, insn, lanes, insn->list[i], "value that is stored")) {
            return EMU_FAILED;
        }
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        uint8_t data[64];
        struct emu_actor actor = emu_actor_of_lane(warp, insn, lane);
        uint64_t address = lane_address(warp, insn, space, lane);
        if (insn->mode2 != 0) {
            emu_actor_is_atomic(&actor, emu_order_scope(insn->mode2));
        }
        for (unsigned i = 0; i < insn->list_count; i++) {
            memcpy(data + (size_t)i * size, &warp->r[insn->list[i]][lane], size);
        }
        if (!emu_store(&actor, space, address, insn->list_count * size, data)) {
            return EMU_FAILED;
        }
        if (insn->mode2 != 0) {
            emu_strong_write(warp, lane, emu_strong_address(space, address), insn->mode2,
                             false);
        }
    }
    if (space != EMU_SPACE_LOCAL && space != EMU_SPACE_PARAM) {
        emu_note_write(warp);
    }
    return EMU_NEXT;
}

static bool is_signed(enum ptx_type type)
{
    return type >= PTX_S8 && type <= PTX_S64;
}

static bool decode_access(struct emu_decoder *decoder, bool load)
{
    struct emu_insn *insn = decoder->insn;
    static const char *const vectors[] = {"v2", "v4", "v8"};
    enum emu_space space = EMU_SPACE_GENERIC;
    enum ptx_type type = PTX_B32;
    bool policy = false;
    insn->mode2 = emu_take_order(decoder, false);
    emu_take_space(decoder, &space);
    if (insn->mode2 != 0 && (space == EMU_SPACE_GLOBAL || space == EMU_SPACE_GENERIC)) {
        decoder->program->shares_grid = true;
    }
    take_cache_hints(decoder, &policy);
    int vector = emu_take_one_of(decoder, vectors, 3);
    if (!emu_need_type(decoder, &type) || !emu_need_operands(decoder, 2, policy ? 3 : 2)) {
        return false;
    }
    insn->mode = (uint16_t)space;
    insn->vector = (uint8_t)(vector < 0 ? 1 : 2 << vector);
    insn->bytes = (uint8_t)ptx_type_bytes(type);
    insn->exec = load ? execute_load : execute_store;
    const struct ptx_operand *value = emu_operand(decoder, load ? 0 : 1);
    const struct ptx_operand *address = emu_operand(decoder, load ? 1 : 0);
    if (type == PTX_PRED || insn->vector * insn->bytes > 32) {
        return emu_decode_fail(decoder, "this type and vector cannot be moved at once");
    }
    if (!emu_operand_address(decoder, address, &insn->src[0], &insn->offset) ||
        !emu_operand_vector(decoder, value, load, insn->bytes > 8 ? 64 : insn->bytes * 8u,
                            &insn->list, &insn->list_count)) {
        return false;
    }
    if (insn->list_count != insn->vector) {
        return emu_decode_fail(decoder, "%u registers for a vector of %u", insn->list_count,
                               insn->vector);
    }
    if (type == PTX_B128) {
        /* The register is two slots in a row. */
        uint32_t *slots = emu_decode_alloc(decoder, 2 * sizeof(*slots));
        slots[0] = insn->list[0];
        slots[1] = insn->list[0] + 1;
        insn->list = slots;
        insn->list_count = 2;
    }
    const struct ptx_operand *first =
        value->kind == PTX_VECTOR && value->count > 0 ? &value->elements[0] : value;
    unsigned register_bits = emu_operand_bits(decoder, first);
    if (load && is_signed(type) && register_bits > insn->bytes * 8u) {
        insn->target = register_bits;
    }
    return true;
}

static bool decode_load(struct emu_decoder *decoder)
{
    return decode_access(decoder, true);
}

static bool decode_store(struct emu_decoder *decoder)
{
    return decode_access(decoder, false);
}

/* ------------------------------------------------------------------------------- cvta */

static enum emu_step execute_cvta(struct emu_warp *warp, const struct emu_insn *insn,
                                  uint32_t lanes)
{
    static const uint64_t windows[] = {
        [EMU_SPACE_SHARED] = EMU_WINDOW_SHARED,
        [EMU_SPACE_SHARED_CLUSTER] = EMU_WINDOW_SHARED,
        [EMU_SPACE_LOCAL] = EMU_WINDOW_LOCAL,
        [EMU_SPACE_PARAM] = EMU_WINDOW_PARAM,
        [EMU_SPACE_CONST] = 0,
    };
    uint64_t window = windows[insn->mode];
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        uint64_t value = warp->r[insn->src[0]][lane] + (uint64_t)insn->offset;
        warp->r[insn->dst][lane] = insn->mode2 != 0 ? value - window : value + window;
    }
    warp->undefined[insn->dst] =
        (warp->undefined[insn->dst] & ~lanes) | (warp->undefined[insn->src[0]] & lanes);
    return EMU_NEXT;
}

static bool decode_cvta(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    enum emu_space space = EMU_SPACE_GLOBAL;
    enum ptx_type type = PTX_U64;
    insn->mode2 = emu_take(decoder, "to");
    insn->exec = execute_cvta;
    if (!emu_take_space(decoder, &space) || !emu_need_type(decoder, &type) ||
        type != PTX_U64) {
        return emu_decode_fail(decoder, "only 64-bit generic addresses are supported");
    }
    insn->mode = (uint16_t)space;
    return emu_need_operands(decoder, 2, 2) &&
           emu_operand_dst(decoder, emu_operand(decoder, 0), &insn->dst) &&
           emu_operand_src(decoder, emu_operand(decoder, 1), 64, &insn->src[0]);
}

/* --------------------------------------------------------------------------- prefetch */

/* A prefetch moves nothing here, but its address must be one that could be read. */
static enum emu_step execute_prefetch(struct emu_warp *warp, const struct emu_insn *insn,
                                      uint32_t lanes)
{
    return emu_need_defined(warp, insn, lanes, insn->src[0], "address of the prefetch")
               ? EMU_NEXT
               : EMU_FAILED;
}

static bool decode_prefetch(struct emu_decoder *decoder)
{
    static const char *const levels[] = {"L1", "L2"};
    struct emu_insn *insn = decoder->insn;
    enum emu_space space = EMU_SPACE_GENERIC;
    emu_take_space(decoder, &space);
    emu_take_one_of(decoder, levels, 2);
    while (emu_take_prefix(decoder, "L2::") != NULL) {
    }
    insn->exec = execute_prefetch;
    return emu_need_operands(decoder, 1, 1) &&
           emu_operand_address(decoder, emu_operand(decoder, 0), &insn->src[0],
                               &insn->offset);
}

/* A cache policy is a number that copies carry along; its value has no meaning here. */
static enum emu_step execute_policy(struct emu_warp *warp, const struct emu_insn *insn,
                                    uint32_t lanes)
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        emu_set(warp, insn->dst, emu_lowest_bit(rest), 0);
    }
    return EMU_NEXT;
}

static bool decode_policy(struct emu_decoder *decoder)
{
    static const char *const words[] = {"fractional", "range", "b64"};
    enum emu_space space = EMU_SPACE_GENERIC;
    while (emu_take_one_of(decoder, words, 3) >= 0) {
    }
    emu_take_space(decoder, &space);
    while (emu_take_prefix(decoder, "L2::") != NULL) {
    }
    decoder->insn->exec = execute_policy;
    return emu_operand_dst(decoder, emu_operand(decoder, 0), &decoder->insn->dst);
}

const struct emu_opcode emu_memory_opcodes[] = {
    {"ld", decode_load},
    {"ldu", decode_load},
    {"st", decode_store},
    {"cvta", decode_cvta},
    {"prefetch", decode_prefetch},
    {"prefetchu", decode_prefetch},
    {"createpolicy", decode_policy},
    {NULL, NULL},
};
