/* SPDX-License-Identifier: MIT */
/*
 * TMA: how bulk and tensor copies take effect: at some step after they were issued, and not
 * all at once. A load brings half of its rows, and later the rest with its signal. A store
 * reads its source, and later writes.
 */
#include "async/tma.h"

#include <string.h>

#include "async/mbarrier.h"
#include "async/state.h"
#include "numbers/numbers.h"

/* The actor of an asynchronous operation, whose completion is observed as `agent`. */
static struct emu_actor make_actor(const struct emu_async *async, uint32_t agent,
                                   uint32_t epoch)
{
    return (struct emu_actor){.warp = async->warp,
                              .insn = async->insn,
                              .lane = EMU_LANES,
                              .proxy = EMU_PROXY_ASYNC,
                              .agent = agent,
                              .epoch = epoch,
                              .view = &async->view};
}

/* Bytes, and one byte of definedness for each. */
struct buffer {
    uint8_t *data, *defined;
};

static struct buffer make_buffer(uint32_t bytes)
{
    uint8_t *memory = emu_alloc(2 * (size_t)bytes + 1);
    return (struct buffer){memory, memory + bytes};
}

static bool submit(struct emu_async *async)
{
    emu_sync_publish(&async->warp->sync, 1u << async->lane, &async->view);
    return emu_async_submit(async, 0);
}

/* Only times are asked for: tensor copies move nothing. */
static bool moves_nothing(const struct emu_async *async, const struct emu_box *box)
{
    return !box->linear &&
           emu_launch_of(async->warp->cta)->settings.numbers == EMU_NUMBERS_OFF;
}

/* --------------------------------------------------------------------------- the clock */

/* A number of its own for a row outside of the matrix, behind those of all lines. */
static uint64_t outside_line(struct emu_cta *cta, const struct emu_box *box, uint32_t row)
{
    const uint64_t beyond = UINT64_C(1) << 56;
    uint64_t number = emu_time_place(cta, box->map.base);
    for (unsigned i = 0; i < box->map.rank; i++) {
        number = number * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)box->at[i];
    }
    return beyond | ((number + row) & (beyond - 1));
}

/* In a timed launch: asks L2 for the rows of a box. */
static void time_read_box(struct emu_cta *cta, const struct emu_box *box,
                          struct emu_request *request)
{
    for (uint32_t row = 0; row < box->rows; row++) {
        const struct emu_box_row at = emu_box_row(box, row);
        if (at.to > at.from) {
            emu_levels_read_row(emu_time_levels(cta), request,
                                emu_time_place(cta, at.address), at.to - at.from);
        } else {
            emu_levels_fill_row(emu_time_levels(cta), request, outside_line(cta, box, row));
        }
    }
}

static struct emu_arrival fetch_time(struct emu_warp *warp, const struct emu_load *load)
{
    struct emu_request request = emu_time_copy_begin(warp->cta);
    time_read_box(warp->cta, &load->box, &request);
    return emu_time_fetched(warp->cta, &request);
}

/* When the load is in shared memory. */
static uint64_t load_time(struct emu_warp *warp, const struct emu_load *load)
{
    if (load->source_cta != NULL) {
        return emu_time_send(load->source_cta, load->cta, load->box.data_bytes);
    }
    const struct emu_arrival fetched =
        load->fetched.last != 0 ? load->fetched : fetch_time(warp, load);
    return emu_time_deliver(load->cta, fetched, load->box.data_bytes);
}

static void time_store(struct emu_async *async, const struct emu_store *store)
{
    struct emu_cta *cta = async->warp->cta;
    uint64_t *stored = async->warp->time->stored;
    if (store->again) {
        async->at[0] = stored[0];
        async->at[1] = stored[1];
        return;
    }
    struct emu_request request = emu_time_store_begin(cta);
    for (uint32_t row = 0; row < store->box.rows; row++) {
        const struct emu_box_row at = emu_box_row(&store->box, row);
        if (at.to <= at.from) {
            continue;
        }
        const uint64_t place = emu_time_place(cta, at.address);
        if (store->reduce.op != EMU_REDUCE_NONE) {
            emu_levels_read(emu_time_levels(cta), &request, place, at.to - at.from);
        }
        emu_levels_write(emu_time_levels(cta), &request, place, at.to - at.from);
    }
    emu_time_stored(cta, &request, &stored[0], &stored[1]);
    async->at[0] = stored[0];
    async->at[1] = stored[1];
}

bool emu_warn_of_lanes(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes,
                       uint32_t slot, bool harmless)
{
    uint32_t same = 0;
    uint64_t value = warp->r[slot][emu_lowest_bit(lanes)];
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        same |= warp->r[slot][lane] == value ? 1u << lane : 0;
    }
    if (emu_count_bits(same) > 1) {
        emu_report(warp, insn, EMU_LANES, harmless ? EMU_ADVICE : EMU_WARNING,
                   EMU_FINDING_ILLEGAL,
                   "the same copy is issued by %u lanes, and is done %u times",
                   emu_count_bits(same), emu_count_bits(same));
    }
    return emu_count_bits(same) > 1;
}

bool emu_is_again(const struct emu_warp *warp, uint32_t lanes, uint32_t slot, unsigned lane)
{
    const unsigned first = emu_lowest_bit(lanes);
    return lane != first && warp->r[slot][lane] == warp->r[slot][first];
}

/* ------------------------------------------------------------------------------- loads */

/* The NaN that fills what lies outside of a tensor: the same 16 bits repeated, whatever
 * the type. Seen on a GPU of compute capability 9.0. */
static void fill_nan(uint8_t *data, uint32_t bytes)
{
    static const uint16_t pattern = 0x7FF7;
    for (uint32_t i = 0; i + 2 <= bytes; i += 2) {
        memcpy(data + i, &pattern, 2);
    }
}

/* The tf32 types round f32 to nearest even on its way into shared memory; the NaN that
 * fills is not touched. The .ftz of a type does nothing to a load, as GPUs of compute
 * capability 9.0 show. */
static void convert_row(enum emu_map_type type, uint8_t *data, uint32_t bytes)
{
    if (type != EMU_MAP_TF32 && type != EMU_MAP_TF32_FTZ) {
        return;
    }
    const struct emu_encode how = {.rounding = EMU_RN};
    for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t bits;
        memcpy(&bits, data + i, sizeof(bits));
        bits = (uint32_t)emu_encode(EMU_TF32, emu_decode(EMU_F32, bits), how);
        memcpy(data + i, &bits, sizeof(bits));
    }
}

/* One row of global memory as it is to lie in shared memory. */
static bool fetch_row(const struct emu_actor *actor, const struct emu_box *box,
                      uint32_t row, struct buffer scratch, uint8_t *data, uint8_t *defined)
{
    struct emu_box_row at = emu_box_row(box, row);
    memset(scratch.data, 0, box->row_bytes);
    memset(scratch.defined, EMU_DEFINED, box->row_bytes);
    if (!box->linear && box->map.fill_nan) {
        fill_nan(scratch.data, box->row_bytes);
    }
    if (at.to > at.from &&
        !emu_global_read(actor, at.address, at.to - at.from, 1, scratch.data + at.from,
                         scratch.defined + at.from)) {
        return false;
    }
    if (!box->linear) {
        convert_row(box->map.type, scratch.data + at.from, at.to - at.from);
    }
    emu_box_expand(box, scratch.data, scratch.defined, data, defined);
    return true;
}

static bool fetch_global(const struct emu_actor *actor, const struct emu_box *box,
                         uint32_t first, uint32_t last, struct buffer image)
{
    struct buffer scratch = make_buffer(box->pitch_bytes);
    struct buffer row_image = make_buffer(box->pitch_bytes);
    bool good = true;
    for (uint32_t row = first; good && row < last; row++) {
        uint32_t at = (row - first) * box->pitch_bytes;
        uint32_t left = box->image_bytes - row * box->pitch_bytes;
        uint32_t bytes = left < box->pitch_bytes ? left : box->pitch_bytes;
        good = fetch_row(actor, box, row, scratch, row_image.data, row_image.defined);
        memcpy(image.data + at, row_image.data, bytes);
        memcpy(image.defined + at, row_image.defined, bytes);
    }
    emu_free(scratch.data);
    emu_free(row_image.data);
    return good;
}

/* A linear copy that may lack bytes at its ends: those come undefined. */
static bool fetch_ragged(const struct emu_actor *actor, const struct emu_load *load,
                         struct buffer image)
{
    uint32_t left = load->ignore_left;
    uint32_t bytes = load->box.image_bytes - left - load->ignore_right;
    return emu_global_read(actor, load->box.address + left, bytes, 1, image.data + left,
                           image.defined + left);
}

static bool fetch(const struct emu_actor *actor, const struct emu_load *load,
                  uint32_t first, uint32_t last, struct buffer image, uint32_t bytes)
{
    if (load->source_cta != NULL) {
        uint32_t offset = load->source_offset + first * load->box.pitch_bytes;
        return emu_shared_read(actor, load->source_cta, offset, bytes, 1, image.data,
                               image.defined);
    }
    return load->ignore_left + load->ignore_right != 0
               ? fetch_ragged(actor, load, image)
               : fetch_global(actor, &load->box, first, last, image);
}

/* Bytes [begin, end) of the image. Between rows that are narrower than their swizzle shared
 * memory stays as it is. */
static bool write_image(const struct emu_actor *actor, const struct emu_load *load,
                        uint32_t begin, uint32_t end, struct buffer image)
{
    const struct emu_box *box = &load->box;
    bool dense = box->shared_bytes == box->pitch_bytes;
    uint32_t step = dense ? end - begin : box->pitch_bytes;
    bool good = true;
    for (uint32_t at = begin; good && at < end; at += step) {
        good = emu_box_write(actor, load->cta, load->offset, box, at,
                             dense ? end : at + box->shared_bytes,
                             image.data + (at - begin), image.defined + (at - begin));
    }
    return good;
}

/* Rows [first, last) of the load. */
static bool load_rows(const struct emu_async *async, const struct emu_load *load,
                      uint32_t first, uint32_t last)
{
    const struct emu_box *box = &load->box;
    uint32_t agent = 0;
    uint32_t epoch = 0;
    if (!emu_mbarrier_stamp(async->warp, async->insn, load->barrier_cta,
                            load->barrier_offset, &agent, &epoch)) {
        return false;
    }
    struct emu_actor actor = make_actor(async, agent, epoch);
    uint32_t begin = first * box->pitch_bytes;
    uint32_t end = last == box->rows ? box->image_bytes : last * box->pitch_bytes;
    struct buffer image = make_buffer(end - begin);
    bool good = fetch(&actor, load, first, last, image, end - begin);
    if (good && load->reduce.op != EMU_REDUCE_NONE) {
        struct buffer old = make_buffer(end - begin);
        actor.atomic = true;
        good = emu_shared_read(&actor, load->cta, load->offset + begin, end - begin, 1,
                               old.data, old.defined);
        emu_reduce_bytes(&load->reduce, end - begin, image.data, image.defined, old.data,
                         old.defined);
        emu_free(image.data);
        image = old;
    }
    good = good && write_image(&actor, load, begin, end, image);
    if (good && load->cta->origins != NULL && load->source_cta == NULL &&
        load->reduce.op == EMU_REDUCE_NONE) {
        const struct emu_delivery how = {.insn = async->insn,
                                         .barrier = load->barrier_cta->rank
                                                        << EMU_SHARED_RANK_SHIFT |
                                                    load->barrier_offset,
                                         .phase = epoch};
        emu_box_note_origins(load->cta, load->offset, box, first, last, &how);
    }
    emu_free(image.data);
    return good;
}

static enum emu_async_result run_load(struct emu_async *async)
{
    const struct emu_load *load = (const struct emu_load *)(const void *)async->payload;
    const bool whole =
        load->ignore_left + load->ignore_right != 0 || emu_is_timed(async->warp->cta);
    uint32_t middle = whole ? 0 : emu_box_middle(&load->box);
    if (load->cta->exited) {
        emu_report_error(async->warp, async->insn, async->lane, EMU_FINDING_IN_FLIGHT,
                         "the copy reaches shared memory of CTA %u after that CTA has "
                         "exited",
                         load->cta->rank);
        return EMU_ASYNC_FAILED;
    }
    if (!emu_map_is_held(async, &load->map)) {
        return EMU_ASYNC_FAILED;
    }
    if (async->part == 0 && middle > 0) {
        return load_rows(async, load, 0, middle) ? EMU_ASYNC_AGAIN : EMU_ASYNC_FAILED;
    }
    bool good = load->box.rows == 0 || moves_nothing(async, &load->box) ||
                load_rows(async, load, middle, load->box.rows);
    return good && emu_mbarrier_complete_tx(async->warp, async->insn, load->barrier_cta,
                                            load->barrier_offset, load->box.data_bytes)
               ? EMU_ASYNC_DONE
               : EMU_ASYNC_FAILED;
}

static bool check_shared_place(struct emu_warp *warp, const struct emu_insn *insn,
                               unsigned lane, const struct emu_box *box, uint32_t offset)
{
    uint32_t alignment = box->linear ? 16 : 128;
    uint32_t period = emu_swizzle_period(box->swizzle);
    if (offset % alignment != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                         "shared offset %u of the copy is not a multiple of %u", offset,
                         alignment);
        return false;
    }
    const bool is_inside = offset % period + box->data_bytes <= period;
    if (!box->linear && offset % period != 0 && !is_inside) {
        /* Swizzles work on absolute addresses, so reader and writer agree all the same;
         * kernels that are known to run do it. A few rows that lie within one pattern are
         * meant to be a part of it. */
        emu_report(warp, insn, lane, EMU_ADVICE, EMU_FINDING_DESCRIPTOR,
                   "shared offset %u is not a multiple of %u, where the pattern of the "
                   "swizzle begins",
                   offset, period);
    }
    return true;
}

bool emu_load_issue(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                    const struct emu_load *load)
{
    const struct emu_mbarrier_use use = {warp, insn, lane, load->barrier_cta,
                                         load->barrier_offset};
    if (!check_shared_place(warp, insn, lane, &load->box, load->offset) ||
        emu_mbarrier_use(&use, &warp->sync.view) == NULL) {
        return false;
    }
    struct emu_async *async = emu_async_new(warp, insn, lane, sizeof(*load), run_load);
    memcpy(async->payload, load, sizeof(*load));
    if (emu_is_timed(warp->cta)) {
        async->at[0] = load_time(warp, load);
    }
    return submit(async);
}

bool emu_load_multicast(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        const struct emu_load *load, uint32_t mask, bool pair)
{
    struct emu_cluster *cluster = warp->cta->cluster;
    if (mask == 0 || mask >> cluster->cta_count != 0) {
        emu_report_error(warp, insn, lane, EMU_FINDING_OUT_OF_BOUNDS,
                         "a multicast to CTAs 0x%04x of a cluster of %u", mask,
                         cluster->cta_count);
        return false;
    }
    unsigned parity = load->barrier_cta->rank & 1;
    struct emu_arrival fetched = {0};
    if (emu_is_timed(warp->cta) && load->source_cta == NULL) {
        fetched = fetch_time(warp, load);
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        struct emu_load one = *load;
        unsigned rank = emu_lowest_bit(rest);
        one.fetched = fetched;
        one.cta = emu_cluster_cta(cluster, rank);
        one.barrier_cta = pair ? emu_cluster_cta(cluster, (rank & ~1u) | parity) : one.cta;
        if (one.barrier_cta == NULL) {
            emu_report_error(warp, insn, lane, EMU_FINDING_OUT_OF_BOUNDS,
                             "CTA %u has no peer in a cluster of %u", rank,
                             cluster->cta_count);
            return false;
        }
        if (!emu_load_issue(warp, insn, lane, &one)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------ stores */

struct store_state {
    struct emu_store store;
    struct emu_group_op group;
    struct buffer image; /* what was read, dense */
};

static struct store_state *state_of(struct emu_async *async)
{
    return (struct store_state *)(void *)async->payload;
}

static void destroy_store(struct emu_async *async)
{
    emu_free(state_of(async)->image.data);
}

/* Rows that lie wholly outside of the tensor are not read. */
static bool read_source(struct emu_async *async, struct store_state *state)
{
    const struct emu_box *box = &state->store.box;
    struct emu_actor actor = make_actor(async, state->group.lane->reads, state->group.op);
    state->image = make_buffer(box->image_bytes);
    for (uint32_t row = 0; row < box->rows; row++) {
        struct emu_box_row at = emu_box_row(box, row);
        uint32_t begin = row * box->pitch_bytes;
        uint32_t end = begin + box->shared_bytes;
        end = end < box->image_bytes ? end : box->image_bytes;
        if (at.to > at.from &&
            !emu_box_read(&actor, async->warp->cta, state->store.offset, box, begin, end,
                          state->image.data + begin, state->image.defined + begin)) {
            return false;
        }
    }
    return true;
}

static bool check_defined(const struct emu_async *async, const uint8_t *defined,
                          uint32_t bytes, uint32_t row)
{
    if (memchr(defined, EMU_UNDEFINED, bytes) == NULL ||
        !emu_launch_of(async->warp->cta)->settings.definedness) {
        return true;
    }
    emu_report_error(async->warp, async->insn, async->lane, EMU_FINDING_UNDEFINED,
                     "row %u of the copy holds bytes of shared memory that were never "
                     "written",
                     row);
    return false;
}

static bool write_masked(const struct emu_actor *actor, uint32_t mask, uint64_t address,
                         uint32_t bytes, const uint8_t *data, const uint8_t *defined)
{
    if (mask == 0xFFFF) {
        return emu_global_write(actor, address, bytes, 1, data, defined);
    }
    for (uint32_t i = 0; i < bytes; i++) {
        if ((mask >> (i % 16) & 1) != 0 &&
            !emu_global_write(actor, address + i, 1, 1, data + i, defined + i)) {
            return false;
        }
    }
    return true;
}

static bool reduce_row(const struct emu_actor *actor, const struct emu_reduce *reduce,
                       struct emu_box_row at, struct buffer row)
{
    uint32_t bytes = at.to - at.from;
    struct buffer old = make_buffer(bytes);
    bool good = emu_global_read(actor, at.address, bytes, 1, old.data, old.defined);
    if (good) {
        emu_reduce_bytes(reduce, bytes, row.data + at.from, row.defined + at.from, old.data,
                         old.defined);
        good = emu_global_write(actor, at.address, bytes, 1, old.data, old.defined);
    }
    emu_free(old.data);
    return good;
}

static bool write_row(const struct emu_async *async, struct store_state *state,
                      uint32_t row, struct buffer packed)
{
    const struct emu_store *store = &state->store;
    uint32_t end = emu_box_row(&store->box, row).to;
    struct emu_box_row at = emu_box_stored_row(&store->box, row);
    if (at.to <= at.from) {
        return true;
    }
    struct emu_actor actor = make_actor(async, state->group.lane->writes, state->group.op);
    actor.atomic = store->repeated;
    uint32_t begin = row * store->box.pitch_bytes;
    if (store->box.linear) {
        packed.data = state->image.data + begin;
        packed.defined = state->image.defined + begin;
    } else {
        emu_box_pack(&store->box, state->image.data + begin, state->image.defined + begin,
                     packed.data, packed.defined);
    }
    if (store->byte_mask == 0xFFFF &&
        !check_defined(async, packed.defined + at.from, end - at.from, row)) {
        return false;
    }
    if (store->reduce.op != EMU_REDUCE_NONE) {
        actor.atomic = true;
        return reduce_row(&actor, &store->reduce, at, packed);
    }
    return write_masked(&actor, store->byte_mask, at.address, at.to - at.from,
                        packed.data + at.from, packed.defined + at.from);
}

static void warn_of_tail(const struct emu_async *async, const struct emu_box *box)
{
    for (uint32_t row = 0; row < box->rows; row++) {
        uint32_t behind = emu_box_stored_row(box, row).to - emu_box_row(box, row).to;
        if (behind > 0) {
            emu_report(async->warp, async->insn, async->lane, EMU_WARNING,
                       EMU_FINDING_OUT_OF_BOUNDS,
                       "dimension 0 of the tensor ends inside of 16 bytes: the copy writes "
                       "the %u bytes behind it too",
                       behind);
            return;
        }
    }
}

static enum emu_async_result run_store(struct emu_async *async)
{
    struct store_state *state = state_of(async);
    const bool nothing = moves_nothing(async, &state->store.box);
    if (async->part == 0) {
        if (!emu_map_is_held(async, &state->store.map) ||
            (!nothing && !read_source(async, state))) {
            return EMU_ASYNC_FAILED;
        }
        emu_groups_read_done(&state->group);
        return EMU_ASYNC_AGAIN;
    }
    struct buffer packed = make_buffer(state->store.box.pitch_bytes);
    bool good = true;
    warn_of_tail(async, &state->store.box);
    for (uint32_t row = 0; good && !nothing && row < state->store.box.rows; row++) {
        good = write_row(async, state, row, packed);
    }
    emu_free(packed.data);
    emu_groups_done(&state->group);
    return good ? EMU_ASYNC_DONE : EMU_ASYNC_FAILED;
}

bool emu_store_issue(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     const struct emu_store *store)
{
    if (!check_shared_place(warp, insn, lane, &store->box, store->offset)) {
        return false;
    }
    struct emu_async *async =
        emu_async_new(warp, insn, lane, sizeof(struct store_state), run_store);
    struct emu_lane_groups *groups =
        emu_groups_get(emu_async_of_warp(warp)->bulk, warp, lane);
    state_of(async)->store = *store;
    state_of(async)->group = emu_groups_add(groups, insn);
    async->destroy = destroy_store;
    if (emu_is_timed(warp->cta)) {
        time_store(async, store);
    }
    return submit(async);
}
