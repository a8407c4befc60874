/* SPDX-License-Identifier: MIT */
/* Resources of a timed launch, and what instructions and operations take of them. */
#include "exec/timing.h"

#include "exec/memory.h"

enum { L1_LINES = 256, COPY_READ_CLOCKS = 100, SECTOR_BYTES = 32 };

const char *emu_stall_name(enum emu_stall stall)
{
    static const char *const names[EMU_STALL_COUNT] = {
        [EMU_STALL_ISSUE] = "issue slot",
        [EMU_STALL_DEPENDENCY] = "register",
        [EMU_STALL_MEMORY] = "memory",
        [EMU_STALL_FENCE] = "fence",
        [EMU_STALL_MBARRIER] = "mbarrier",
        [EMU_STALL_BARRIER] = "barrier",
        [EMU_STALL_CLUSTER_BARRIER] = "cluster barrier",
        [EMU_STALL_PRODUCT] = "wgmma",
        [EMU_STALL_TENSOR_LOAD] = "tensor memory",
        [EMU_STALL_COPY] = "copies",
        [EMU_STALL_GRID] = "other grids",
        [EMU_STALL_OTHER] = "other",
    };
    return names[stall];
}

static struct emu_timer *timer_of(const struct emu_cta *cta)
{
    return cta->cluster->timer;
}

static struct emu_sm_time *sm_of(const struct emu_cta *cta)
{
    return cta->time->sm;
}

uint64_t emu_time_now(const struct emu_cta *cta)
{
    return emu_is_timed(cta) ? timer_of(cta)->now : 0;
}

const struct emu_chip *emu_time_chip(const struct emu_cta *cta)
{
    return timer_of(cta)->chip;
}

double emu_timer_mhz(const struct emu_timer *timer)
{
    return timer->mhz;
}

void emu_time_raise(struct emu_warp *warp, uint64_t time, enum emu_stall stall)
{
    if (warp->time != NULL) {
        warp->time->peeked = NULL;
    }
    if (warp->time != NULL && warp->time->clock < time) {
        warp->time->stalls[stall] += time - warp->time->clock;
        warp->time->clock = time;
    }
}

void emu_time_wake(struct emu_warp *warp, uint64_t time)
{
    const bool waited = warp->time != NULL && warp->time->clock < time;
    const bool apart = waited && warp->mask != warp->live;
    emu_time_raise(warp, time + (apart ? timer_of(warp->cta)->chip->apart_latency : 0),
                   EMU_STALL_MBARRIER);
}

void emu_time_watch(struct emu_warp *warp, const uint64_t *watched)
{
    if (warp->time != NULL) {
        warp->time->watched = watched;
        warp->time->watched_value = *watched;
    }
}

/* ------------------------------------------------------------------------- issue slots */

enum { WORD_CLOCKS = 64, SLOT_CLOCKS = WORD_CLOCKS * EMU_SLOT_WORDS };

static uint64_t *word_of(struct emu_issue_slot *slot, uint64_t at)
{
    return &slot->taken[at / WORD_CLOCKS % EMU_SLOT_WORDS];
}

uint64_t emu_issue_find(const struct emu_issue_slot *slot, uint64_t at)
{
    at = at > slot->from ? at : slot->from;
    while (at - slot->from < SLOT_CLOCKS &&
           (slot->taken[at / WORD_CLOCKS % EMU_SLOT_WORDS] >> at % WORD_CLOCKS & 1) != 0) {
        at++;
    }
    return at;
}

/* What lies more than the words before `at` is forgotten. */
static void keep_until(struct emu_issue_slot *slot, uint64_t at)
{
    if (at - slot->from >= 2 * (uint64_t)SLOT_CLOCKS) {
        *slot = (struct emu_issue_slot){.from = at / WORD_CLOCKS * WORD_CLOCKS};
    }
    while (at - slot->from >= SLOT_CLOCKS) {
        *word_of(slot, slot->from) = 0;
        slot->from += WORD_CLOCKS;
    }
}

void emu_issue_take(struct emu_issue_slot *slot, uint64_t at, unsigned clocks)
{
    for (unsigned i = 0; i < clocks; i++) {
        at = emu_issue_find(slot, at);
        keep_until(slot, at);
        *word_of(slot, at) |= UINT64_C(1) << at % WORD_CLOCKS;
    }
}

/* ------------------------------------------------------------------------------ copies */

/* CTAs by themselves lie beside each other, and share with their neighbours in the GPC;
 * clusters go to one GPC after the other, and of these a pair of multiprocessors shares. */
static unsigned sharers_of(const struct emu_cta *cta)
{
    const struct emu_fetcher *fetcher = &sm_of(cta)->fetcher;
    return cta->cluster->cta_count == 1 ? fetcher->neighbours : fetcher->pair;
}

struct emu_request emu_time_request(struct emu_cta *cta)
{
    struct emu_fetcher *fetcher = &sm_of(cta)->fetcher;
    return (struct emu_request){.at = (double)timer_of(cta)->now,
                                .fetcher = fetcher,
                                .half = fetcher->half,
                                .sharers = sharers_of(cta),
                                .by_thread = true};
}

struct emu_request emu_time_copy_begin(struct emu_cta *cta)
{
    struct emu_timer *timer = timer_of(cta);
    const double begun =
        emu_serve(&sm_of(cta)->tma, (double)timer->now, timer->chip->tma_interval);
    struct emu_request request = emu_time_request(cta);
    request.at = begun;
    request.by_thread = false;
    return request;
}

struct emu_request emu_time_store_begin(struct emu_cta *cta)
{
    struct emu_request request = emu_time_copy_begin(cta);
    request.fetcher = NULL;
    return request;
}

struct emu_levels *emu_time_levels(struct emu_cta *cta)
{
    return timer_of(cta)->levels;
}

static bool is_inside(const struct emu_time_buffer *buffer, uint64_t address)
{
    return address - buffer->address < buffer->bytes;
}

uint64_t emu_time_place(struct emu_cta *cta, uint64_t address)
{
    enum { ALIGNMENT = 256 }; /* of allocations */
    struct emu_timer *timer = timer_of(cta);
    uint64_t i = timer->last_buffer;
    if (i >= timer->buffer_count || !is_inside(&timer->buffers[i], address)) {
        for (i = 0; i < timer->buffer_count; i++) {
            if (is_inside(&timer->buffers[i], address)) {
                break;
            }
        }
    }
    if (i == timer->buffer_count) {
        const struct emu_allocation *found =
            emu_memory_find(emu_launch_of(cta)->memory, address, 1);
        if (found == NULL) {
            return address; /* reported where it is read */
        }
        EMU_GROW(timer->buffers, timer->buffer_count);
        timer->buffers[timer->buffer_count++] =
            (struct emu_time_buffer){found->address, found->bytes, timer->next_place};
        timer->next_place += emu_align_up(found->bytes, ALIGNMENT);
    }
    timer->last_buffer = i;
    return timer->buffers[i].place + (address - timer->buffers[i].address);
}

static struct emu_arrival arrive(struct emu_cta *cta, struct emu_request *request,
                                 unsigned latency)
{
    struct emu_timer *timer = timer_of(cta);
    const double served = emu_levels_serve(timer->levels, request);
    if (request->fetcher != NULL && !request->by_thread) {
        return (struct emu_arrival){(uint64_t)request->begun + latency,
                                    (uint64_t)served + latency};
    }
    const double bytes = (double)request->bytes / timer->chip->fetch_bytes;
    const double rows = (double)request->rows * timer->chip->tma_row_interval;
    const double fetched =
        emu_serve(&sm_of(cta)->fetch, request->begun, bytes > rows ? bytes : rows);
    return (struct emu_arrival){(uint64_t)request->begun + latency,
                                (uint64_t)(served > fetched ? served : fetched) + latency};
}

struct emu_arrival emu_time_fetched(struct emu_cta *cta, struct emu_request *request)
{
    return arrive(cta, request, timer_of(cta)->chip->tma_latency);
}

uint64_t emu_time_deliver(struct emu_cta *cta, struct emu_arrival arrival, uint32_t bytes)
{
    struct emu_timer *timer = timer_of(cta);
    struct emu_sm_time *sm = sm_of(cta);
    sm->debt += (double)bytes / timer->chip->copy_bytes;
    timer->result->shared_in += bytes;
    const uint64_t taken = (uint64_t)emu_serve(&sm->ingest, (double)arrival.first,
                                               (double)bytes / timer->chip->ingest_bytes);
    return taken > arrival.last ? taken : arrival.last;
}

/* What a multiprocessor sends through the network of its cluster; when it is there. */
static uint64_t send(const struct emu_cta *from, const struct emu_cta *to, double sending,
                     double taking)
{
    const struct emu_timer *timer = timer_of(from);
    const double now = (double)timer->now;
    const double sent = emu_serve(&sm_of(from)->sends, now, sending);
    const double taken = emu_serve(&sm_of(to)->takes, now, taking);
    return (uint64_t)(sent > taken ? sent : taken) + timer->chip->remote_latency;
}

uint64_t emu_time_reach(const struct emu_cta *from, const struct emu_cta *to,
                        unsigned lanes, uint32_t bytes)
{
    const struct emu_chip *chip = timer_of(from)->chip;
    const double arriving = (double)lanes * chip->remote_interval;
    return send(from, to, bytes > 0 ? (double)bytes / chip->send_bytes : arriving,
                bytes > 0 ? (double)bytes / chip->take_bytes : arriving);
}

uint64_t emu_time_send(struct emu_cta *from, struct emu_cta *to, uint32_t bytes)
{
    enum { COPY_LATENCY = 205 }; /* of a copy's begin and end: 266 clocks for few bytes */
    struct emu_timer *timer = timer_of(from);
    sm_of(from)->debt += (double)bytes / timer->chip->shared_bytes;
    timer->result->shared_out += bytes;
    const uint64_t there = emu_time_reach(from, to, 0, bytes) + COPY_LATENCY;
    return emu_time_deliver(to, (struct emu_arrival){there, there}, bytes);
}

void emu_time_stored(struct emu_cta *cta, struct emu_request *request, uint64_t *ret_read,
                     uint64_t *ret_written)
{
    struct emu_timer *timer = timer_of(cta);
    struct emu_sm_time *sm = sm_of(cta);
    sm->debt += (double)request->bytes / timer->chip->shared_bytes;
    timer->result->shared_out += request->bytes;
    const double read = emu_serve(&sm->egress, request->at + COPY_READ_CLOCKS,
                                  (double)request->bytes / timer->chip->egress_bytes);
    const double served = emu_levels_serve(timer->levels, request);
    *ret_read = (uint64_t)read;
    *ret_written = (uint64_t)(served > read ? served : read) + timer->chip->store_latency;
}

uint64_t emu_time_loaded(struct emu_cta *cta, struct emu_request *request)
{
    const struct emu_arrival arrival =
        arrive(cta, request, timer_of(cta)->chip->l2_latency);
    return emu_time_deliver(cta, arrival, (uint32_t)request->bytes);
}

/* ------------------------------------------------------------------------ tensor cores */

/*
 * A product reads its operands at the port of shared memory, and has it nearly to itself.
 * What copies and threads move there meanwhile goes into the gaps; what does not fit is
 * owed, and beyond some of it the product takes longer.
 */
static double take_port(struct emu_sm_time *sm, double start, double interval, double fetch)
{
    enum { MOST_OWED = 256 };
    const double idle = start - sm->pipe.free;
    const double gaps = interval - fetch + (idle > 0 ? idle : 0);
    sm->debt = sm->debt > gaps ? sm->debt - gaps : 0;
    const double extra = sm->debt > MOST_OWED ? sm->debt - MOST_OWED : 0;
    sm->debt -= extra;
    return extra;
}

/* What the tensor core of a multiprocessor did until a product begins. */
static void note_product(struct emu_sm_time *sm, double start, double interval,
                         double extra, bool begins, bool notes)
{
    struct emu_pipe_time *tensor = &sm->tensor;
    const double idle = start - sm->pipe.free + sm->rested;
    sm->rested = 0;
    if (tensor->products == 0) {
        tensor->first = start;
    } else if (idle > 0 && begins) {
        tensor->between += idle;
        tensor->longest = idle > tensor->longest ? idle : tensor->longest;
    } else if (idle > 0) {
        tensor->within += idle;
    }
    if (notes) {
        EMU_GROW(sm->starts, sm->start_count);
        sm->starts[sm->start_count++] = (struct emu_product_start){start, begins};
    }
    tensor->slowed += extra;
    tensor->sums += begins ? 1 : 0;
    tensor->products++;
    tensor->last = start + interval + extra;
}

uint64_t emu_time_mma(const struct emu_time_product *product)
{
    const bool pair = product->pair != NULL;
    struct emu_timer *timer = timer_of(product->cta);
    struct emu_sm_time *sms[2] = {sm_of(product->cta), pair ? sm_of(product->pair) : NULL};
    double bytes = 0;
    const double interval =
        emu_chip_mma_interval(timer->chip, product->rows, product->columns,
                              product->k_bytes, product->a_is_shared, pair, &bytes);
    double start = (double)timer->now;
    double extra = 0;
    for (unsigned i = 0; i < 2 && sms[i] != NULL; i++) {
        start = sms[i]->pipe.free > start ? sms[i]->pipe.free : start;
    }
    for (unsigned i = 0; i < 2 && sms[i] != NULL; i++) {
        const double own =
            take_port(sms[i], start, interval, bytes / timer->chip->shared_bytes);
        extra = own > extra ? own : extra;
    }
    for (unsigned i = 0; i < 2 && sms[i] != NULL; i++) {
        note_product(sms[i], start, interval, extra, product->begins,
                     timer->notes_products);
        sms[i]->pipe.free = start + interval + extra;
        sms[i]->pipe.busy += interval;
    }
    timer->result->products++;
    return (uint64_t)(start + interval + extra);
}

uint64_t emu_time_tensor_copy(struct emu_cta *cta, uint32_t bytes)
{
    struct emu_timer *timer = timer_of(cta);
    struct emu_sm_time *sm = sm_of(cta);
    const double clocks = (double)bytes / timer->chip->shared_bytes;
    const double idle = (double)timer->now - sm->pipe.free;
    sm->rested += idle > 0 ? idle : 0;
    return (uint64_t)emu_serve(&sm->pipe, (double)timer->now, clocks);
}

uint64_t emu_time_tensor_access(struct emu_warp *warp, uint32_t bytes)
{
    struct emu_timer *timer = timer_of(warp->cta);
    struct emu_server *part = &sm_of(warp->cta)->tensor_load[warp->index % EMU_SM_PARTS];
    const double clocks = (double)bytes / timer->chip->tensor_load_bytes;
    return (uint64_t)emu_serve(part, (double)timer->now, clocks) +
           timer->chip->tensor_load_latency;
}

/* -------------------------------------------------------------------- accesses of lanes */

static uint64_t lane_address(const struct emu_warp *warp, const struct emu_insn *insn,
                             unsigned lane, enum emu_space *ret_space)
{
    uint64_t address = warp->r[insn->src[0]][lane] + (uint64_t)insn->offset;
    *ret_space = (enum emu_space)insn->mode;
    if (*ret_space == EMU_SPACE_GENERIC) {
        emu_classify(address, ret_space, &address);
    }
    return address;
}

/* How often the banks have to be read: lanes that want different words of one bank come
 * one after the other. */
static unsigned count_passes(const uint64_t *addresses, uint32_t lanes, unsigned bytes)
{
    uint32_t words[EMU_LANES][EMU_LANES];
    uint8_t counts[EMU_LANES] = {0};
    unsigned most = 1;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const uint32_t first = (uint32_t)addresses[emu_lowest_bit(rest)] / 4;
        for (uint32_t word = first; word < first + (bytes + 3) / 4; word++) {
            const uint32_t bank = word % EMU_LANES;
            unsigned i = 0;
            while (i < counts[bank] && words[bank][i] != word) {
                i++;
            }
            if (i == counts[bank]) {
                words[bank][counts[bank]++] = word;
                most = counts[bank] > most ? counts[bank] : most;
            }
        }
    }
    return most;
}

/* `remote`: bytes of the memory of another CTA, `owner`. They pass the ports to the cluster
 * of both. */
static uint64_t access_shared(struct emu_timer *timer, struct emu_warp *warp,
                              unsigned passes, unsigned remote, const struct emu_cta *owner,
                              bool stores)
{
    struct emu_sm_time *sm = sm_of(warp->cta);
    const double now = (double)timer->now;
    const double done = emu_serve(&sm->port, now, passes);
    sm->debt += passes;
    if (remote == 0) {
        return (uint64_t)done + timer->chip->shared_latency;
    }
    if (stores) {
        const struct emu_cta *to = owner != NULL ? owner : warp->cta;
        const uint64_t there = emu_time_reach(warp->cta, to, 0, remote);
        uint64_t *last = &warp->cta->time->there;
        *last = *last > there ? *last : there;
        return there;
    }
    const double clocks = (double)remote / timer->chip->cluster_bytes;
    double sent = emu_serve(&sm->remote, now, clocks);
    if (owner != NULL) {
        const double read = emu_serve(&sm_of(owner)->remote, now, clocks);
        sent = read > sent ? read : sent;
    }
    return (uint64_t)(sent > done ? sent : done) + timer->chip->cluster_latency;
}

/* Sectors of 32 bytes, each once. */
static unsigned find_sectors(const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                             uint64_t *sectors)
{
    unsigned count = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const uint64_t address = addresses[emu_lowest_bit(rest)];
        for (uint64_t sector = address / SECTOR_BYTES;
             sector <= (address + bytes - 1) / SECTOR_BYTES; sector++) {
            unsigned i = 0;
            while (i < count && sectors[i] != sector) {
                i++;
            }
            if (i == count) {
                sectors[count++] = sector;
            }
        }
    }
    return count;
}

/* Lines come to L1 by sectors. */
static bool is_in_l1(struct emu_sm_time *sm, uint64_t sector)
{
    const uint64_t line = sector * SECTOR_BYTES / EMU_LINE_BYTES;
    const uint64_t bit = UINT64_C(1) << sector % (EMU_LINE_BYTES / SECTOR_BYTES);
    struct emu_l1_line *place = &sm->l1[line % L1_LINES];
    if (place->number != line + 1) {
        *place = (struct emu_l1_line){.number = line + 1};
    }
    const bool hit = (place->sectors & bit) != 0;
    place->sectors |= bit;
    return hit;
}

static uint64_t access_global(struct emu_timer *timer, struct emu_warp *warp,
                              const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                              const struct emu_insn *insn, uint8_t kind)
{
    struct emu_sm_time *sm = sm_of(warp->cta);
    uint64_t sectors[EMU_LANES * 2];
    const unsigned count = find_sectors(addresses, lanes, bytes, sectors);
    struct emu_request request = emu_time_request(warp->cta);
    request.fetcher = kind == EMU_TIME_LOAD ? request.fetcher : NULL;
    bool missing = false;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t address = emu_time_place(warp->cta, sectors[i] * SECTOR_BYTES);
        if (kind == EMU_TIME_STORE) {
            emu_levels_write(timer->levels, &request, address, SECTOR_BYTES);
        } else if (insn->mode2 != 0 || kind == EMU_TIME_ATOMIC ||
                   !is_in_l1(sm, address / SECTOR_BYTES)) {
            missing = true;
            emu_levels_read(timer->levels, &request, address, SECTOR_BYTES);
        }
    }
    const unsigned clocks = (count + 3) / 4;
    const double port = emu_serve(&sm->port, request.at, clocks);
    if (kind == EMU_TIME_STORE) {
        emu_serve(&sm->egress, request.at,
                  (double)request.bytes / timer->chip->egress_bytes);
        emu_levels_serve(timer->levels, &request);
        return timer->now;
    }
    if (!missing) {
        return (uint64_t)port + timer->chip->l1_latency;
    }
    const unsigned latency =
        kind == EMU_TIME_ATOMIC ? timer->chip->atomic_latency : timer->chip->l2_latency;
    const double served = emu_levels_serve(timer->levels, &request);
    const double loaded =
        emu_serve(&sm->load, request.at, (double)request.bytes / timer->chip->load_bytes);
    return (uint64_t)(served > loaded ? served : loaded) + latency;
}

uint64_t emu_time_access(struct emu_timer *timer, struct emu_warp *warp,
                         const struct emu_insn *insn, const struct emu_time_insn *info,
                         uint32_t lanes)
{
    uint64_t addresses[EMU_LANES];
    enum emu_space space = EMU_SPACE_GENERIC;
    const struct emu_cta *cta = warp->cta, *owner = NULL;
    bool remote = false;
    if (info->kind == EMU_TIME_MATRIX) {
        return access_shared(timer, warp, info->issue, 0, NULL, false);
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const unsigned lane = emu_lowest_bit(rest);
        addresses[lane] = lane_address(warp, insn, lane, &space);
        const uint64_t rank = addresses[lane] >> EMU_SHARED_RANK_SHIFT;
        if (rank != cta->rank) {
            remote = true;
            owner = rank < cta->cluster->cta_count ? &cta->cluster->ctas[rank] : owner;
        }
    }
    const unsigned bytes = (unsigned)insn->bytes * (insn->vector > 0 ? insn->vector : 1);
    switch (space) {
    case EMU_SPACE_SHARED:
    case EMU_SPACE_SHARED_CLUSTER:
        return access_shared(timer, warp, count_passes(addresses, lanes, bytes),
                             remote ? emu_count_bits(lanes) * bytes : 0, owner,
                             info->kind == EMU_TIME_STORE);
    case EMU_SPACE_GLOBAL:
        return access_global(timer, warp, addresses, lanes, bytes, insn, info->kind);
    default:
        return timer->now + timer->chip->l1_latency;
    }
}
