/* SPDX-License-Identifier: MIT */
/* Copies from shared to tensor memory, and the barrier that tells their end. */
#include <string.h>

#include "async/mbarrier.h"
#include "exec/async.h"
#include "exec/origin.h"
#include "exec/timing.h"
#include "tensor/descriptor.h"
#include "tensor/engine.h"
#include "tensor/opcodes.h"
#include "tensor/scale_origin.h"
#include "tensor/tmem.h"
#include "tensor/unvalidated.h"

#define CHUNK_BYTES 16u
#define MOST_BYTES  32u

/* What a shape of tcgen05.cp means: `rows` of `bytes`; row r goes to the lanes
 * r % block + (r / block) · block_lanes, and again `copies` - 1 times, copy_lanes apart. */
struct copy_shape {
    const char *word, *multicast; /* multicast: NULL when the shape has none */
    unsigned rows, bytes;
    unsigned block, block_lanes;
    unsigned copies, copy_lanes;
};
static const struct copy_shape shapes[] = {
    {"128x256b", NULL, 128, 32, 128, 0, 1, 0},
    {"128x128b", NULL, 128, 16, 128, 0, 1, 0},
    {"4x256b", NULL, 4, 32, 1, 32, 1, 0},
    {"64x128b", "warpx2::02_13", 64, 16, 64, 0, 2, 64},
    {"64x128b", "warpx2::01_23", 64, 16, 32, 64, 2, 32},
    {"32x128b", "warpx4", 32, 16, 32, 0, 4, 32},
};

struct copy_form {
    const struct copy_shape *shape;
    unsigned cta_group;
    enum emu_packing packing; /* EMU_PACK_8: bytes as they are */
    int64_t offset;
};

struct copy_task {
    struct emu_tile tile; /* k counts bytes of the destination */
    uint32_t address;
};

/* --------------------------------------------------------------------------------- run */

/* 16 bytes of the destination. Elements of 4 bits go into the middle of their byte, those
 * of 6 bits to its lower end. */
static bool read_chunk(const struct emu_actor *actor, struct emu_cta *cta,
                       const struct copy_task *task, unsigned row, unsigned byte,
                       uint8_t data[CHUNK_BYTES], uint8_t defined[CHUNK_BYTES])
{
    enum emu_packing packing = task->tile.packing;
    uint32_t bytes = packing == EMU_PACK_4_PADDED   ? 8
                     : packing == EMU_PACK_6_PADDED ? 12
                                                    : CHUNK_BYTES;
    uint8_t raw[CHUNK_BYTES] = {0};
    uint8_t raw_defined[CHUNK_BYTES] = {0};
    if (!emu_shared_read(actor, cta, emu_tile_address(&task->tile, row, byte), bytes, 1,
                         raw, raw_defined)) {
        return false;
    }
    if (packing == EMU_PACK_8) {
        memcpy(data, raw, CHUNK_BYTES);
        memcpy(defined, raw_defined, CHUNK_BYTES);
        return true;
    }
    uint32_t cells[CHUNK_BYTES];
    emu_packing_unpack(packing, raw, cells, 1);
    for (unsigned i = 0; i < CHUNK_BYTES; i++) {
        data[i] = (uint8_t)(packing == EMU_PACK_4_PADDED ? cells[i] << 2 : cells[i]);
        unsigned bits = packing == EMU_PACK_4_PADDED ? 4 : 6;
        defined[i] = raw_defined[i * bits / 8] == EMU_DEFINED &&
                             raw_defined[(i * bits + bits - 1) / 8] == EMU_DEFINED
                         ? EMU_DEFINED
                         : EMU_UNDEFINED;
    }
    return true;
}

/* Says where a row's bytes in a lane came from, where they can be scale factors. */
static void note_origin(const struct emu_scale_copy *scales, struct emu_cta *cta,
                        const struct copy_task *task, unsigned bytes, unsigned row,
                        uint32_t lane)
{
    if (cta->origins == NULL || task->tile.packing != EMU_PACK_8) {
        return;
    }
    for (unsigned byte = 0; byte < bytes; byte += CHUNK_BYTES) {
        emu_scale_cells_note(scales, cta, emu_tile_address(&task->tile, row, byte), row,
                             byte, lane, emu_tmem_column(task->address) + byte / 4);
    }
}

static bool copy_row(const struct emu_actor *actor, const struct emu_scale_copy *scales,
                     struct emu_cta *cta, const struct copy_task *task,
                     const struct copy_shape *shape, unsigned row)
{
    uint8_t data[MOST_BYTES];
    uint8_t defined[MOST_BYTES];
    for (unsigned byte = 0; byte < shape->bytes; byte += CHUNK_BYTES) {
        if (!read_chunk(actor, cta, task, row, byte, data + byte, defined + byte)) {
            return false;
        }
    }
    struct emu_tmem *tmem = emu_tmem_of(cta);
    uint32_t column = emu_tmem_column(task->address);
    for (unsigned copy = 0; copy < shape->copies; copy++) {
        uint32_t lane = emu_tmem_lane(task->address) + row % shape->block +
                        row / shape->block * shape->block_lanes + copy * shape->copy_lanes;
        memcpy(&tmem->cells[lane][column], data, shape->bytes);
        for (unsigned i = 0; i < shape->bytes / 4; i++) {
            tmem->defined[lane][column + i] =
                memchr(defined + (size_t)4 * i, EMU_UNDEFINED, 4) == NULL ? EMU_DEFINED
                                                                          : EMU_UNDEFINED;
        }
        note_origin(scales, cta, task, shape->bytes, row, lane);
    }
    return true;
}

static bool run_copy(struct emu_tensor_op *op)
{
    const struct copy_form *form = op->insn->extra;
    const struct copy_task *task = (const struct copy_task *)(void *)op->payload;
    struct emu_cta *ctas[2];
    unsigned count = emu_tensor_ctas(op->warp->cta, op->cta_group, ctas);
    const struct emu_actor reader = emu_tensor_op_actor(op, EMU_PROXY_ASYNC);
    const struct emu_actor writer = emu_tensor_op_actor(op, EMU_PROXY_TENSOR);
    /* Each CTA of a pair copies from its own shared memory to its own tensor memory. */
    for (unsigned i = 0; i < count; i++) {
        if (!emu_tensor_check_alive(op->warp, op->insn, ctas[i])) {
            return false;
        }
        emu_tmem_note(&writer, ctas[i], 0, EMU_TMEM_LANES, op->column, op->columns, true);
        const struct emu_scale_copy scales = {op->insn,
                                              emu_delivery_number(op->warp->cta->cluster)};
        for (unsigned row = 0; row < form->shape->rows; row++) {
            if (!copy_row(&reader, &scales, ctas[i], task, form->shape, row)) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------- issue */

static bool issue_copy(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    const struct copy_form *form = insn->extra;
    struct copy_task task = {.tile = {.packing = form->packing,
                                      .rows = form->shape->rows,
                                      .k = form->shape->bytes}};
    uint64_t address = 0;
    uint64_t bits = 0;
    struct emu_error error = {0};
    if (!emu_tensor_check_group(warp, insn, lane, form->cta_group) ||
        !emu_tensor_operand(warp, insn, lane, insn->src[0], "tensor memory address",
                            &address) ||
        !emu_tensor_operand(warp, insn, lane, insn->src[1], "matrix descriptor", &bits)) {
        return false;
    }
    if (!emu_matrix_decode_sm100(bits, &task.tile.matrix, &error) ||
        !emu_tile_check(&task.tile, &error)) {
        emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR, "%s", error.text);
        return false;
    }
    task.address = (uint32_t)(address + (uint64_t)form->offset);
    uint32_t column = emu_tmem_column(task.address);
    uint32_t most_lane = form->shape->rows == 4 ? 31 : 0;
    if (emu_tmem_lane(task.address) > most_lane) {
        emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                         "the address 0x%08x has lane %u; it must be %s", task.address,
                         emu_tmem_lane(task.address), most_lane == 0 ? "0" : "below 32");
        return false;
    }
    struct emu_cta *ctas[2];
    unsigned count = emu_tensor_ctas(warp->cta, form->cta_group, ctas);
    for (unsigned i = 0; i < count; i++) {
        if (!emu_tmem_check(warp, insn, lane, ctas[i], column, form->shape->bytes / 4,
                            "tcgen05.cp")) {
            return false;
        }
    }
    emu_features_advise(
        warp, insn,
        emu_feature_if(form->shape->copies != 4, EMU_FEATURE_COPY_SHAPE) |
            emu_feature_if(form->packing != EMU_PACK_8, EMU_FEATURE_COPY_DECOMPRESS) |
            emu_feature_if(form->cta_group == 2 && warp->cta->rank % 2 != 0,
                           EMU_FEATURE_ODD_ISSUER));
    struct emu_tensor_op *op = emu_tensor_op_new(warp, insn, lane, EMU_OP_COPY,
                                                 form->cta_group, sizeof(task), run_copy);
    *(struct copy_task *)(void *)op->payload = task;
    if (emu_is_timed(warp->cta)) {
        op->done_at = emu_time_tensor_copy(ctas[0], form->shape->rows * form->shape->bytes);
    }
    op->column = column;
    op->columns = form->shape->bytes / 4;
    return emu_tensor_op_submit(op);
}

static enum emu_step exec_copy(struct emu_warp *warp, const struct emu_insn *insn,
                               uint32_t lanes)
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (!issue_copy(warp, insn, emu_lowest_bit(rest))) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

static bool decode_shape(struct emu_decoder *decoder, struct copy_form *form)
{
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct copy_shape *shape = &shapes[i];
        bool matches = false;
        for (unsigned j = 0; j < decoder->source->word_count; j++) {
            matches |= strcmp(decoder->source->words[j], shape->word) == 0;
        }
        if (!matches ||
            (shape->multicast != NULL && !emu_take(decoder, shape->multicast))) {
            continue;
        }
        form->shape = shape;
        return emu_take(decoder, shape->word);
    }
    return emu_decode_fail(decoder, "its shape is not supported");
}

bool emu_decode_tcgen05_cp(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct copy_form *form = emu_decode_alloc(decoder, sizeof(*form));
    insn->extra = form;
    insn->exec = exec_copy;
    form->packing = EMU_PACK_8;
    bool expands = emu_take(decoder, "b8x16");
    if (expands) {
        form->packing = emu_take(decoder, "b4x16_p64")   ? EMU_PACK_4_PADDED
                        : emu_take(decoder, "b6x16_p32") ? EMU_PACK_6_PADDED
                                                         : EMU_PACK_8;
        if (form->packing == EMU_PACK_8) {
            return emu_decode_fail(decoder, ".b8x16 needs .b4x16_p64 or .b6x16_p32");
        }
    }
    return emu_tensor_take_group(decoder, &form->cta_group) &&
           decode_shape(decoder, form) && emu_need_operands(decoder, 2, 2) &&
           emu_operand_address(decoder, emu_operand(decoder, 0), &insn->src[0],
                               &form->offset) &&
           emu_operand_src(decoder, emu_operand(decoder, 1), 64, &insn->src[1]);
}

bool emu_decode_tensor_shift(struct emu_decoder *decoder)
{
    return emu_decode_fail(decoder, "tcgen05.shift is not supported");
}

/* ------------------------------------------------------------------------------ commit */

struct commit_form {
    unsigned cta_group;
    bool generic; /* the address is a generic one */
    bool multicast;
    int64_t offset;
};

struct commit_task {
    uint32_t offset; /* of the barrier in each CTA */
    uint32_t ctas;   /* mask of ranks */
};

/* One arrival on its way: it takes effect some time after the commit was due. Those of one
 * thread at one CTA keep their order: kernels that are known to run rely on that when
 * several waiters share mbarriers by turns. Those at different CTAs have none: in a cluster
 * the seed draws at which of them a thread's arrivals come as late as they can. */
struct arrival {
    struct emu_cta *cta;
    uint32_t offset;
    struct emu_view view;
};

static enum emu_async_result run_arrival(struct emu_async *async)
{
    const struct arrival *arrival = (const struct arrival *)(void *)async->payload;
    return emu_mbarrier_async_arrive(async->warp, async->insn, arrival->cta,
                                     arrival->offset, &arrival->view)
               ? EMU_ASYNC_DONE
               : EMU_ASYNC_FAILED;
}

static void free_arrival(struct emu_async *async)
{
    emu_view_free(&((struct arrival *)(void *)async->payload)->view);
}

static bool run_commit(struct emu_tensor_op *op)
{
    const struct commit_task *task = (const struct commit_task *)(void *)op->payload;
    struct emu_cluster *cluster = op->warp->cta->cluster;
    for (uint32_t rest = task->ctas; rest != 0; rest &= rest - 1) {
        struct emu_async *async = emu_async_new(op->warp, op->insn, EMU_LANES,
                                                sizeof(struct arrival), run_arrival);
        struct arrival *arrival = (struct arrival *)(void *)async->payload;
        unsigned rank = emu_lowest_bit(rest);
        uint64_t *chain = &op->thread->arrival_chains[rank];
        if (*chain == 0) {
            *chain = emu_async_chain(cluster);
            bool lazy =
                cluster->cta_count > 1 && emu_random_below(&cluster->random, 4) == 0;
            op->thread->lazy_arrivals |= lazy ? 1u << rank : 0;
        }
        async->lazy = (op->thread->lazy_arrivals >> rank & 1) != 0;
        arrival->cta = emu_cluster_cta(cluster, rank);
        arrival->offset = task->offset;
        emu_view_copy(&arrival->view, &op->view);
        async->destroy = free_arrival;
        if (emu_is_timed(op->warp->cta)) {
            async->at[0] = emu_time_now(op->warp->cta) +
                           emu_time_chip(op->warp->cta)->commit_latency[op->cta_group - 1];
        }
        if (!emu_async_submit(async, *chain)) {
            return false;
        }
    }
    return true;
}

static bool get_barrier(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        struct commit_task *task)
{
    const struct commit_form *form = insn->extra;
    uint64_t address = 0;
    if (!emu_tensor_operand(warp, insn, lane, insn->src[0], "address of the mbarrier",
                            &address)) {
        return false;
    }
    address += (uint64_t)form->offset;
    if (form->generic) {
        enum emu_space space = EMU_SPACE_GENERIC;
        uint64_t generic = address;
        emu_classify(generic, &space, &address);
        if (space != EMU_SPACE_SHARED && space != EMU_SPACE_SHARED_CLUSTER) {
            emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                             "the mbarrier's address 0x%llx is not in shared memory",
                             (unsigned long long)generic);
            return false;
        }
    }
    const struct emu_cta *cta =
        emu_shared_resolve(warp, insn, lane, (uint32_t)address, true, &task->offset);
    if (cta == NULL) {
        return false;
    }
    task->ctas = 1u << cta->rank;
    return true;
}

static bool get_mask(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     struct commit_task *task)
{
    uint64_t mask = 0;
    if (!emu_tensor_operand(warp, insn, lane, insn->src[1], "CTA mask", &mask)) {
        return false;
    }
    task->ctas = (uint32_t)mask & 0xFFFFu;
    unsigned count = warp->cta->cluster->cta_count;
    if (task->ctas == 0 || task->ctas >> count != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                         "the CTA mask 0x%04x names %s; the cluster has %u CTAs",
                         task->ctas, task->ctas == 0 ? "no CTA" : "CTAs that do not exist",
                         count);
        return false;
    }
    return true;
}

static bool issue_commit(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    const struct commit_form *form = insn->extra;
    struct commit_task task = {0};
    if (!emu_tensor_check_group(warp, insn, lane, form->cta_group) ||
        !get_barrier(warp, insn, lane, &task) ||
        (form->multicast && !get_mask(warp, insn, lane, &task))) {
        return false;
    }
    struct emu_tensor_op *op = emu_tensor_op_new(warp, insn, lane, EMU_OP_COMMIT,
                                                 form->cta_group, sizeof(task), run_commit);
    *(struct commit_task *)(void *)op->payload = task;
    if (emu_tensor_is_wrong_thread(op)) {
        emu_report(
            warp, insn, lane, EMU_WARNING, EMU_FINDING_ILLEGAL,
            "this thread has issued no tcgen05.mma or .cp, another one has: a commit "
            "follows only operations of its own thread, so that it arrives at once");
    }
    return emu_tensor_op_submit(op);
}

static enum emu_step exec_commit(struct emu_warp *warp, const struct emu_insn *insn,
                                 uint32_t lanes)
{
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (!issue_commit(warp, insn, emu_lowest_bit(rest))) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

bool emu_decode_tensor_commit(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct commit_form *form = emu_decode_alloc(decoder, sizeof(*form));
    insn->extra = form;
    insn->exec = exec_commit;
    if (!emu_take(decoder, "mbarrier::arrive::one") || !emu_take(decoder, "b64")) {
        return emu_decode_fail(decoder, "it lacks .mbarrier::arrive::one or .b64");
    }
    form->generic = !emu_take(decoder, "shared::cluster");
    form->multicast = emu_take(decoder, "multicast::cluster");
    unsigned operands = form->multicast ? 2 : 1;
    return emu_tensor_take_group(decoder, &form->cta_group) &&
           emu_need_operands(decoder, operands, operands) &&
           emu_operand_address(decoder, emu_operand(decoder, 0), &insn->src[0],
                               &form->offset) &&
           (!form->multicast ||
            emu_operand_src(decoder, emu_operand(decoder, 1), 16, &insn->src[1]));
}
