/* SPDX-License-Identifier: MIT */
/* st.async and red.async: values to another CTA's shared memory, signalled by an mbarrier.
 */
#include <string.h>

#include "async/opcodes.h"
#include "async/operand.h"
#include "async/reduce.h"
#include "async/state.h"
#include "exec/async.h"
#include "exec/timing.h"

struct remote_insn {
    struct emu_address dst, barrier;
    uint32_t *slots;       /* of the values */
    uint32_t count, bytes; /* how many, and bytes of each */
    struct emu_reduce reduce;
};

struct remote_op {
    struct emu_cta *cta;
    uint32_t offset, barrier_offset, bytes;
    uint8_t data[16];
};

static enum emu_async_result run_store(struct emu_async *async)
{
    const struct remote_op *op = (const struct remote_op *)(const void *)async->payload;
    const struct remote_insn *form = async->insn->extra;
    struct emu_actor actor = {.warp = async->warp,
                              .insn = async->insn,
                              .lane = EMU_LANES,
                              .proxy = EMU_PROXY_GENERIC,
                              .view = &async->view};
    uint8_t data[16];
    uint8_t defined[16];
    uint8_t given[16];
    memcpy(data, op->data, sizeof(data));
    memset(defined, EMU_DEFINED, sizeof(defined));
    memset(given, EMU_DEFINED, sizeof(given));
    if (!emu_mbarrier_stamp(async->warp, async->insn, op->cta, op->barrier_offset,
                            &actor.agent, &actor.epoch)) {
        return EMU_ASYNC_FAILED;
    }
    if (form->reduce.op != EMU_REDUCE_NONE) {
        actor.atomic = true;
        if (!emu_shared_read(&actor, op->cta, op->offset, op->bytes, op->bytes, data,
                             defined)) {
            return EMU_ASYNC_FAILED;
        }
        emu_reduce_bytes(&form->reduce, op->bytes, op->data, given, data, defined);
    }
    bool good = emu_shared_write(&actor, op->cta, op->offset, op->bytes, op->bytes, data,
                                 defined) &&
                emu_mbarrier_complete_tx(async->warp, async->insn, op->cta,
                                         op->barrier_offset, op->bytes);
    return good ? EMU_ASYNC_DONE : EMU_ASYNC_FAILED;
}

static bool check_place(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        const struct remote_op *op, const struct emu_cta *barrier_cta)
{
    const struct remote_insn *form = insn->extra;
    const char *wrong = NULL;
    if (barrier_cta != op->cta) {
        wrong = "its mbarrier is in another CTA than its destination";
    } else if (form->reduce.op != EMU_REDUCE_NONE && op->cta == warp->cta) {
        wrong = "its destination must be in another CTA of the cluster";
    } else if (warp->cta->cluster->cta_count == 1) {
        wrong = "it needs a cluster of more than one CTA";
    }
    if (wrong != NULL) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL, "%s", wrong);
        return false;
    }
    const struct emu_mbarrier_use use = {warp, insn, lane, op->cta, op->barrier_offset};
    return emu_mbarrier_use(&use, &warp->sync.view) != NULL;
}

static bool issue_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    const struct remote_insn *form = insn->extra;
    struct remote_op op = {.bytes = form->count * form->bytes};
    op.cta = emu_address_shared(warp, insn, lane, &form->dst, "destination", &op.offset);
    if (op.cta == NULL) {
        return false;
    }
    const struct emu_cta *barrier_cta = emu_address_shared(warp, insn, lane, &form->barrier,
                                                           "mbarrier", &op.barrier_offset);
    if (barrier_cta == NULL || !check_place(warp, insn, lane, &op, barrier_cta)) {
        return false;
    }
    for (uint32_t i = 0; i < form->count; i++) {
        if (!emu_need_defined(warp, insn, 1u << lane, form->slots[i], "value")) {
            return false;
        }
        memcpy(op.data + (size_t)i * form->bytes, &warp->r[form->slots[i]][lane],
               form->bytes);
    }
    struct emu_async *async = emu_async_new(warp, insn, lane, sizeof(op), run_store);
    memcpy(async->payload, &op, sizeof(op));
    emu_sync_publish(&warp->sync, 1u << lane, &async->view);
    if (emu_is_timed(warp->cta)) {
        async->at[0] = emu_time_reach(warp->cta, op.cta, 1, op.bytes);
    }
    return emu_async_submit(async, 0);
}

static enum emu_step exec_store(struct emu_warp *warp, const struct emu_insn *insn,
                                uint32_t lanes)
{
    return emu_each_lane(warp, insn, lanes, issue_lane);
}

/* Operands: [dst], value, [mbar]. */
static bool decode(struct emu_decoder *decoder, struct remote_insn *form, unsigned vector)
{
    if (!emu_take(decoder, "mbarrier::complete_tx::bytes") ||
        emu_take(decoder, "release")) {
        return emu_decode_fail(decoder, "only the form with an mbarrier is supported");
    }
    enum emu_space space = emu_take_shared_space(decoder);
    if (space == EMU_SPACE_SHARED) {
        return emu_decode_fail(decoder, "it must be .shared::cluster");
    }
    decoder->insn->exec = exec_store;
    if (!emu_need_operands(decoder, 3, 3) ||
        !emu_take_address(decoder, 0, space, &form->dst) ||
        !emu_operand_vector(decoder, emu_operand(decoder, 1), false, 8 * form->bytes,
                            &form->slots, &form->count) ||
        !emu_take_address(decoder, 2, space, &form->barrier)) {
        return false;
    }
    if (form->count != vector || vector * form->bytes > 16) {
        return emu_decode_fail(decoder, "%u values of %u bytes", form->count, form->bytes);
    }
    return true;
}

bool emu_decode_async_store(struct emu_decoder *decoder)
{
    static const char *const vectors[] = {"v2", "v4"};
    struct remote_insn *form = emu_decode_alloc(decoder, sizeof(*form));
    enum ptx_type type = PTX_B32;
    decoder->insn->extra = form;
    if (!emu_take(decoder, "weak")) {
        emu_take(decoder, "cluster");
    }
    int vector = emu_take_one_of(decoder, vectors, 2);
    if (!emu_need_type(decoder, &type)) {
        return false;
    }
    form->bytes = ptx_type_bytes(type);
    if (form->bytes != 4 && form->bytes != 8) {
        return emu_decode_fail(decoder, "this type is not supported");
    }
    return decode(decoder, form, vector < 0 ? 1 : vector == 0 ? 2 : 4);
}

bool emu_decode_async_reduce(struct emu_decoder *decoder)
{
    struct remote_insn *form = emu_decode_alloc(decoder, sizeof(*form));
    decoder->insn->extra = form;
    if (!emu_take(decoder, "relaxed") || !emu_take(decoder, "cluster")) {
        return emu_decode_fail(decoder, "only .relaxed.cluster is supported");
    }
    if (!emu_take_reduce_op(decoder, &form->reduce.op) ||
        !emu_need_type(decoder, &form->reduce.type)) {
        return false;
    }
    form->bytes = ptx_type_bytes(form->reduce.type);
    if (!emu_reduce_is_legal(&form->reduce, false)) {
        return emu_decode_fail(decoder, "its operation does not go with its type");
    }
    return decode(decoder, form, 1);
}
