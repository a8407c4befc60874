/* SPDX-License-Identifier: MIT */
/*
 * Shadow cells. Nearly all cells have one writer and at most one reader; those two stamps
 * lie in the cell. The few that need more borrow a node from a pool.
 */
#include "check/shadow.h"

#include <string.h>

#define CELL_BYTES   UINT64_C(4)
#define PAGE_CELLS   1024u
#define PAGE_BYTES   (PAGE_CELLS * CELL_BYTES)
#define MOST_WRITERS 4u
#define MOST_READERS 8u

/* A stamp that may stand for several lanes, with a bit for each; none for an asynchronous
 * operation. */
struct reader {
    struct emu_stamp stamp;
    uint32_t lanes;
};

struct cell {
    struct emu_stamp writer;
    struct reader reader;
    uint32_t more; /* a node of the pool, or 0 */
};

/* Stamps beyond the first ones, oldest first. */
struct node {
    struct emu_stamp writers[MOST_WRITERS - 1];
    struct reader readers[MOST_READERS - 1];
    unsigned writer_count, reader_count;
    uint32_t next_free;
};

/* Cells are compared as bytes. */
_Static_assert(sizeof(struct cell) == 32, "padding");

struct page {
    struct cell cells[PAGE_CELLS];
};

struct emu_shadow {
    uint64_t page_count;
    struct page **pages;
    struct node *nodes; /* node 0 is not used */
    uint32_t node_count, free_node;
};

/* A cell taken apart; lists without gaps, oldest first. */
struct lists {
    struct emu_stamp writers[MOST_WRITERS + 1];
    struct reader readers[MOST_READERS + 1];
    unsigned writer_count, reader_count;
};

struct access {
    const struct emu_accessor *who;
    struct emu_stamp stamp; /* bytes: those of the cell at hand */
    bool write;
    struct emu_conflict *conflict; /* where the first one goes */
};

struct emu_shadow *emu_shadow_create(uint64_t bytes)
{
    struct emu_shadow *shadow = emu_alloc(sizeof(*shadow));
    shadow->page_count = emu_ceil_div(bytes, PAGE_BYTES);
    shadow->pages = emu_alloc((size_t)shadow->page_count * sizeof(struct page *));
    return shadow;
}

void emu_shadow_free(struct emu_shadow *shadow)
{
    if (shadow == NULL) {
        return;
    }
    for (uint64_t i = 0; i < shadow->page_count; i++) {
        emu_free(shadow->pages[i]);
    }
    emu_free(shadow->pages);
    emu_free(shadow->nodes);
    emu_free(shadow);
}

/* ----------------------------------------------------------------------------- order */

/* Neither disturbs the other, in whatever order they come. */
static bool are_atomic_together(const struct emu_stamp *a, const struct emu_stamp *b)
{
    return a->atomic && b->atomic &&
           ((!a->narrow && !b->narrow) ||
            a->agent / EMU_CLOCK_BLOCK == b->agent / EMU_CLOCK_BLOCK);
}

/* By an arrival that the other CTA's scope does not include. */
static bool is_signalled(const struct emu_stamp *was, const struct access *now)
{
    return emu_clock_get(&now->who->view->signalled, was->agent) >= was->epoch;
}

static uint32_t lanes_of(const struct emu_stamp *stamp)
{
    return stamp->lane < EMU_LANE_ASYNC ? 1u << stamp->lane : 0;
}

/* Those of `lanes` that the clock knows by agents of their own, up to the stamp. */
static uint32_t known_lanes(const struct emu_clock *clock, const struct emu_stamp *was,
                            uint32_t lanes, const struct access *now)
{
    const uint32_t *agents = emu_lane_agents_find(now->who->lane_agents, was->agent);
    uint32_t known = 0;
    for (uint32_t rest = agents == NULL ? 0 : lanes; rest != 0; rest &= rest - 1) {
        unsigned lane = emu_lowest_bit(rest);
        bool has = agents[lane] != 0 && emu_clock_get(clock, agents[lane]) >= was->epoch;
        known |= has ? 1u << lane : 0;
    }
    return known;
}

static bool is_known_by_lanes(const struct emu_clock *clock, const struct emu_stamp *was,
                              uint32_t lanes, const struct access *now)
{
    const struct emu_accessor *who = now->who;
    if (who->facts != NULL && clock == &who->view->happened && who->lane < EMU_LANE_ASYNC &&
        emu_lane_facts_have(who->facts, who->lane, was->agent, was->epoch)) {
        return true;
    }
    if (lanes == 0) {
        return known_lanes(clock, was, UINT32_MAX, now) != 0;
    }
    uint32_t own = was->agent == now->stamp.agent ? lanes_of(&now->stamp) : 0;
    uint32_t others = lanes & ~own;
    return known_lanes(clock, was, others, now) == others;
}

/* Whether the clock has that access of `lanes`, or of the warp as a whole: then any of its
 * lanes will do. */
static inline bool is_known(const struct emu_clock *clock, const struct emu_stamp *was,
                            uint32_t lanes, const struct access *now)
{
    return emu_clock_get(clock, was->agent) >= was->epoch ||
           is_known_by_lanes(clock, was, lanes, now);
}

static enum emu_conflict_kind find_order(const struct emu_stamp *was, uint32_t lanes,
                                         bool was_write, const struct access *now)
{
    const struct emu_accessor *who = now->who;
    const struct emu_stamp *is = &now->stamp;
    if (are_atomic_together(was, is)) {
        return EMU_NO_CONFLICT;
    }
    if (was->agent == is->agent && was->proxy == is->proxy) {
        bool both_lanes = was->lane != EMU_LANE_ASYNC && is->lane != EMU_LANE_ASYNC;
        if (both_lanes && is->proxy == EMU_PROXY_GENERIC && was->epoch == is->epoch) {
            return was->lane == is->lane ? EMU_NO_CONFLICT : EMU_CONFLICT_ORDER;
        }
        if (was->epoch == is->epoch && was->insn == is->insn && was->lane == is->lane &&
            is->proxy != EMU_PROXY_ASYNC) {
            return EMU_NO_CONFLICT; /* of one operation; copies of a phase are several */
        }
    }
    const struct emu_view *known = who->view;
    bool happened = is_known(&known->happened, was, lanes, now);
    if (is->proxy == EMU_PROXY_TENSOR) {
        if (emu_clock_get(&known->tensor, was->agent) >= was->epoch) {
            return EMU_NO_CONFLICT;
        }
        return happened || emu_clock_get(&known->fenced, was->agent) >= was->epoch ||
                       is_signalled(was, now)
                   ? EMU_CONFLICT_TENSOR_FENCE
                   : EMU_CONFLICT_ORDER;
    }
    if (!happened) {
        return known_lanes(&known->happened, was, UINT32_MAX, now) != 0
                   ? EMU_CONFLICT_LANES
                   : EMU_CONFLICT_ORDER;
    }
    if (was_write && was->proxy == EMU_PROXY_GENERIC && is->proxy == EMU_PROXY_ASYNC &&
        !is_known(who->global ? &known->proxied_global : &known->proxied, was, lanes,
                  now)) {
        return EMU_CONFLICT_PROXY;
    }
    return EMU_NO_CONFLICT;
}

static bool is_tolerated(const struct emu_stamp *was, const struct access *now,
                         enum emu_conflict_kind kind)
{
    const struct emu_view *known = now->who->view;
    if (kind != EMU_CONFLICT_PROXY && now->write && is_signalled(was, now)) {
        return true;
    }
    const struct emu_clock *clock = kind == EMU_CONFLICT_TENSOR_FENCE ? &known->happened
                                    : kind == EMU_CONFLICT_PROXY      ? NULL
                                                                      : &known->met;
    return clock != NULL && emu_clock_get(clock, was->agent) >= was->epoch;
}

/* Lanes of one store: whichever of them comes last, the same is left. */
static bool is_repeated(const struct emu_stamp *was, bool was_write,
                        const struct access *now)
{
    const struct emu_stamp *is = &now->stamp;
    return was_write && now->write && now->who->repeats && was->agent == is->agent &&
           was->epoch == is->epoch && was->insn == is->insn &&
           was->proxy == EMU_PROXY_GENERIC && is->proxy == EMU_PROXY_GENERIC &&
           was->lane != EMU_LANE_ASYNC && is->lane != EMU_LANE_ASYNC;
}

/* Whether the second conflict is to be shown rather than the first. */
static bool is_worse(const struct emu_conflict *first, const struct emu_conflict *second)
{
    return first->kind == EMU_NO_CONFLICT || (first->tolerated && !second->tolerated);
}

/* Compares with one earlier access; true when they conflict. The worst conflict is kept
 * with the byte as an offset in the cell. */
static bool compare(const struct emu_stamp *was, uint32_t lanes, bool was_write,
                    const struct access *now)
{
    uint32_t common = (uint32_t)was->bytes & now->stamp.bytes;
    if (common == 0) {
        return false;
    }
    enum emu_conflict_kind kind = find_order(was, lanes, was_write, now);
    if (kind == EMU_NO_CONFLICT) {
        return false;
    }
    bool repeated = is_repeated(was, was_write, now);
    struct emu_conflict conflict = {.kind = kind,
                                    .was_write = was_write,
                                    .is_write = now->write,
                                    .tolerated = repeated || is_tolerated(was, now, kind),
                                    .repeated = repeated,
                                    .signalled = is_signalled(was, now),
                                    .byte = emu_lowest_bit(common),
                                    .other = *was};
    if (kind == EMU_CONFLICT_LANES) {
        /* The first of those that are not known. */
        uint32_t known = known_lanes(&now->who->view->happened, was, lanes, now);
        conflict.other.lane = emu_lowest_bit(lanes & ~known) & 0x3Fu;
    }
    if (is_worse(now->conflict, &conflict)) {
        *now->conflict = conflict;
    }
    return true;
}

static void compare_writer(const struct emu_stamp *was, const struct access *now)
{
    compare(was, lanes_of(was), true, now);
}

static void compare_reader(const struct reader *was, const struct access *now)
{
    compare(&was->stamp, was->lanes, false, now);
}

/* ---------------------------------------------------------------------------- stamps */

static bool is_same_kind(const struct emu_stamp *a, const struct emu_stamp *b)
{
    return a->agent == b->agent && a->proxy == b->proxy && a->atomic == b->atomic &&
           a->narrow == b->narrow;
}

/* One stamp can stand for both, apart from the bytes. */
static bool is_same_access(const struct emu_stamp *a, const struct emu_stamp *b)
{
    return is_same_kind(a, b) && a->epoch == b->epoch && a->lane == b->lane &&
           (a->lane != EMU_LANE_ASYNC || a->insn == b->insn);
}

static bool holds_bytes(const struct emu_stamp *stamp, uint32_t bytes)
{
    return (bytes & ~(uint32_t)stamp->bytes) == 0;
}

/* Who comes after the later of two accesses comes after the earlier one as well: another of
 * the same agent, of the same lanes, or of a lane that knows it. */
static bool replaces(const struct reader *late, const struct reader *early,
                     const struct access *now)
{
    return holds_bytes(&late->stamp, early->stamp.bytes) &&
           ((early->lanes & ~late->lanes) == 0 ||
            (late->stamp.epoch == now->stamp.epoch &&
             is_known(&now->who->view->happened, &early->stamp, early->lanes, now)));
}

/* Puts the access into `reader` when one stamp can stand for both. */
static bool merge_reader(struct reader *reader, const struct access *now)
{
    const struct reader added = {now->stamp, lanes_of(&now->stamp)};
    struct emu_stamp *stamp = &reader->stamp;
    if (!is_same_kind(stamp, &added.stamp)) {
        return false;
    }
    if (stamp->epoch > added.stamp.epoch) {
        return replaces(reader, &added, now);
    }
    if (stamp->epoch < added.stamp.epoch) {
        bool merged = replaces(&added, reader, now);
        *reader = merged ? added : *reader;
        return merged;
    }
    if (is_same_access(stamp, &added.stamp)) {
        stamp->bytes = (stamp->bytes | added.stamp.bytes) & 0xFu;
        return true;
    }
    if (stamp->lane == EMU_LANE_ASYNC || added.stamp.lane == EMU_LANE_ASYNC) {
        return false;
    }
    if ((added.lanes & ~reader->lanes) == 0 && holds_bytes(stamp, added.stamp.bytes)) {
        return true;
    }
    if (stamp->bytes != added.stamp.bytes) {
        return false;
    }
    stamp->lane = EMU_LANE_SEVERAL;
    reader->lanes |= added.lanes;
    return true;
}

/* Takes away the bytes; the stamps that keep some stay. */
static void strip(struct emu_stamp *stamp, uint32_t bytes)
{
    stamp->bytes = stamp->bytes & ~bytes & 0xFu;
}

/* ------------------------------------------------------------- cells with many stamps */

static void take_apart(const struct emu_shadow *shadow, const struct cell *cell,
                       struct lists *lists)
{
    lists->writers[0] = cell->writer;
    lists->readers[0] = cell->reader;
    lists->writer_count = cell->writer.bytes != 0 ? 1 : 0;
    lists->reader_count = cell->reader.stamp.bytes != 0 ? 1 : 0;
    if (cell->more != 0) {
        const struct node *node = &shadow->nodes[cell->more];
        for (unsigned i = 0; i < node->writer_count; i++) {
            lists->writers[lists->writer_count++] = node->writers[i];
        }
        for (unsigned i = 0; i < node->reader_count; i++) {
            lists->readers[lists->reader_count++] = node->readers[i];
        }
    }
}

static void drop_empty_writers(struct lists *lists)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < lists->writer_count; i++) {
        if (lists->writers[i].bytes != 0) {
            lists->writers[kept++] = lists->writers[i];
        }
    }
    lists->writer_count = kept;
}

static void drop_empty_readers(struct lists *lists)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < lists->reader_count; i++) {
        if (lists->readers[i].stamp.bytes != 0) {
            lists->readers[kept++] = lists->readers[i];
        }
    }
    lists->reader_count = kept;
}

static uint32_t take_node(struct emu_shadow *shadow)
{
    if (shadow->free_node != 0) {
        uint32_t node = shadow->free_node;
        shadow->free_node = shadow->nodes[node].next_free;
        return node;
    }
    if (shadow->node_count == 0) {
        EMU_GROW(shadow->nodes, shadow->node_count);
        shadow->node_count = 1;
    }
    EMU_GROW(shadow->nodes, shadow->node_count);
    return shadow->node_count++;
}

static void give_node(struct emu_shadow *shadow, struct cell *cell)
{
    if (cell->more != 0) {
        shadow->nodes[cell->more].next_free = shadow->free_node;
        shadow->free_node = cell->more;
        cell->more = 0;
    }
}

static void put_together(struct emu_shadow *shadow, struct cell *cell, struct lists *lists)
{
    if (lists->writer_count > MOST_WRITERS) {
        lists->writer_count = MOST_WRITERS;
        memmove(lists->writers, lists->writers + 1, sizeof(*lists->writers) * MOST_WRITERS);
    }
    if (lists->reader_count > MOST_READERS) {
        lists->reader_count = MOST_READERS;
        memmove(lists->readers, lists->readers + 1, sizeof(*lists->readers) * MOST_READERS);
    }
    const struct reader none = {0};
    cell->writer = lists->writer_count > 0 ? lists->writers[0] : none.stamp;
    cell->reader = lists->reader_count > 0 ? lists->readers[0] : none;
    if (lists->writer_count <= 1 && lists->reader_count <= 1) {
        give_node(shadow, cell);
        return;
    }
    if (cell->more == 0) {
        cell->more = take_node(shadow);
    }
    struct node *node = &shadow->nodes[cell->more];
    node->writer_count = node->reader_count = 0;
    for (unsigned i = 1; i < lists->writer_count; i++) {
        node->writers[node->writer_count++] = lists->writers[i];
    }
    for (unsigned i = 1; i < lists->reader_count; i++) {
        node->readers[node->reader_count++] = lists->readers[i];
    }
}

static void note_read(struct lists *lists, const struct access *now)
{
    for (unsigned i = 0; i < lists->writer_count; i++) {
        compare_writer(&lists->writers[i], now);
    }
    for (unsigned i = 0; i < lists->reader_count; i++) {
        if (merge_reader(&lists->readers[i], now)) {
            return;
        }
    }
    lists->readers[lists->reader_count++] =
        (struct reader){now->stamp, lanes_of(&now->stamp)};
}

/* Atomic writes of several do not conflict, so a later access may come after one of them
 * and not after the other: both stay. */
static bool stays_beside(const struct emu_stamp *was, const struct access *now)
{
    if (!was->atomic || !now->stamp.atomic || is_same_access(was, &now->stamp)) {
        return false;
    }
    return !is_known(&now->who->view->happened, was, lanes_of(was), now);
}

static void note_write(struct lists *lists, const struct access *now)
{
    for (unsigned i = 0; i < lists->reader_count; i++) {
        compare_reader(&lists->readers[i], now);
        strip(&lists->readers[i].stamp, now->stamp.bytes);
    }
    drop_empty_readers(lists);
    for (unsigned i = 0; i < lists->writer_count; i++) {
        compare_writer(&lists->writers[i], now);
        if (!stays_beside(&lists->writers[i], now)) {
            strip(&lists->writers[i], now->stamp.bytes);
        }
    }
    drop_empty_writers(lists);
    for (unsigned i = 0; i < lists->writer_count; i++) {
        if (is_same_access(&lists->writers[i], &now->stamp)) {
            lists->writers[i].bytes = (lists->writers[i].bytes | now->stamp.bytes) & 0xFu;
            return;
        }
    }
    lists->writers[lists->writer_count++] = now->stamp;
}

/* -------------------------------------------------------------------- cells in general */

/* The common cases of a cell without a node; false: the lists are needed. */
static bool note_simply(struct cell *cell, const struct access *now)
{
    const struct emu_stamp *stamp = &now->stamp;
    if (now->write) {
        if (is_same_access(&cell->writer, stamp) && cell->reader.stamp.bytes == 0 &&
            (stamp->proxy != EMU_PROXY_ASYNC || (cell->writer.bytes & stamp->bytes) == 0)) {
            cell->writer.bytes = (cell->writer.bytes | stamp->bytes) & 0xFu;
            return true;
        }
        if (!holds_bytes(stamp, cell->writer.bytes) ||
            !holds_bytes(stamp, cell->reader.stamp.bytes) ||
            (cell->writer.atomic && stamp->atomic)) {
            return false;
        }
        compare_reader(&cell->reader, now);
        compare_writer(&cell->writer, now);
        cell->reader.stamp.bytes = 0;
        cell->writer = *stamp;
        return true;
    }
    /* A write would have taken the bytes away: nothing has changed since. */
    if (is_same_access(&cell->reader.stamp, stamp) &&
        holds_bytes(&cell->reader.stamp, stamp->bytes)) {
        return true;
    }
    compare_writer(&cell->writer, now);
    if (cell->reader.stamp.bytes != 0) {
        return merge_reader(&cell->reader, now);
    }
    cell->reader = (struct reader){*stamp, lanes_of(stamp)};
    return true;
}

static void note(struct emu_shadow *shadow, struct cell *cell, const struct access *now)
{
    if (cell->more == 0 && note_simply(cell, now)) {
        return;
    }
    struct lists lists;
    take_apart(shadow, cell, &lists);
    if (now->write) {
        note_write(&lists, now);
    } else {
        note_read(&lists, now);
    }
    put_together(shadow, cell, &lists);
}

/* The bytes of the cell at `cell_at` that lie in [byte, end). */
static uint32_t find_mask(uint64_t cell_at, uint64_t byte, uint64_t end)
{
    uint32_t mask = 0xF;
    if (byte > cell_at) {
        mask &= 0xFu << (byte - cell_at);
    }
    if (end < cell_at + CELL_BYTES) {
        mask &= 0xFu >> (cell_at + CELL_BYTES - end);
    }
    return mask;
}

/* Neighbours mostly look alike, and then the same becomes of them. */
struct run {
    struct cell before, after;
    bool known;
};

static void note_in_run(struct emu_shadow *shadow, struct cell *cell,
                        const struct access *now, struct run *run)
{
    bool whole = now->stamp.bytes == 0xF && cell->more == 0;
    if (whole && run->known && memcmp(cell, &run->before, sizeof(*cell)) == 0) {
        *cell = run->after;
        return;
    }
    struct cell before = *cell;
    note(shadow, cell, now);
    if (whole && cell->more == 0) {
        *run = (struct run){.before = before, .after = *cell, .known = true};
    }
}

bool emu_shadow_access(struct emu_shadow *shadow, uint64_t byte, uint64_t bytes, bool write,
                       const struct emu_accessor *who, struct emu_conflict *ret_conflict)
{
    struct emu_conflict worst = {.kind = EMU_NO_CONFLICT};
    uint32_t insn = who->insn < EMU_STAMP_MOST_INSN ? who->insn : EMU_STAMP_MOST_INSN;
    struct access now = {.who = who,
                         .stamp = {.agent = who->agent,
                                   .epoch = who->epoch,
                                   .insn = insn & EMU_STAMP_MOST_INSN,
                                   .lane = who->lane & 0x3Fu,
                                   .proxy = (uint32_t)who->proxy & 0x3u,
                                   .atomic = who->atomic,
                                   .narrow = who->narrow},
                         .write = write,
                         .conflict = ret_conflict};
    struct run run = {.known = false};
    uint64_t end = byte + bytes;
    for (uint64_t at = byte - byte % CELL_BYTES; at < end;) {
        struct page **page = &shadow->pages[at / PAGE_BYTES];
        if (*page == NULL) {
            *page = emu_alloc(sizeof(**page));
        }
        uint64_t page_at = at - at % PAGE_BYTES;
        uint64_t stop = end < page_at + PAGE_BYTES ? end : page_at + PAGE_BYTES;
        struct cell *cell = &(*page)->cells[(at - page_at) / CELL_BYTES];
        for (; at < stop; at += CELL_BYTES, cell++) {
            now.stamp.bytes = find_mask(at, byte, end) & 0xFu;
            *ret_conflict = (struct emu_conflict){.kind = EMU_NO_CONFLICT};
            note_in_run(shadow, cell, &now, &run);
            if (ret_conflict->kind != EMU_NO_CONFLICT && is_worse(&worst, ret_conflict)) {
                ret_conflict->byte += at;
                worst = *ret_conflict;
            }
        }
    }
    *ret_conflict = worst;
    return worst.kind == EMU_NO_CONFLICT;
}

static void forget_bytes(struct emu_shadow *shadow, struct cell *cell, uint32_t mask)
{
    struct lists lists;
    take_apart(shadow, cell, &lists);
    for (unsigned i = 0; i < lists.writer_count; i++) {
        strip(&lists.writers[i], mask);
    }
    for (unsigned i = 0; i < lists.reader_count; i++) {
        strip(&lists.readers[i].stamp, mask);
    }
    drop_empty_writers(&lists);
    drop_empty_readers(&lists);
    put_together(shadow, cell, &lists);
}

void emu_shadow_forget(struct emu_shadow *shadow, uint64_t byte, uint64_t bytes)
{
    uint64_t end = byte + bytes;
    for (uint64_t at = byte - byte % CELL_BYTES; at < end;) {
        uint64_t page_at = at - at % PAGE_BYTES;
        struct page **page = &shadow->pages[at / PAGE_BYTES];
        uint64_t stop = end < page_at + PAGE_BYTES ? end : page_at + PAGE_BYTES;
        if (*page == NULL) {
            at = stop;
            continue;
        }
        struct cell *cell = &(*page)->cells[(at - page_at) / CELL_BYTES];
        for (; at < stop; at += CELL_BYTES, cell++) {
            forget_bytes(shadow, cell, find_mask(at, byte, end));
        }
        if (byte <= page_at && end >= page_at + PAGE_BYTES) {
            emu_free(*page);
            *page = NULL;
        }
    }
}

/* ------------------------------------------------------------------------- several */

struct emu_watch {
    struct emu_watch *next;
    uint64_t memory;
    struct emu_shadow *shadow;
};

struct emu_shadow *emu_watch_shadow(struct emu_watch **watches, uint64_t memory,
                                    uint64_t bytes)
{
    for (struct emu_watch *watch = *watches; watch != NULL; watch = watch->next) {
        if (watch->memory == memory) {
            return watch->shadow;
        }
    }
    struct emu_watch *watch = emu_alloc(sizeof(struct emu_watch));
    watch->memory = memory;
    watch->shadow = emu_shadow_create(bytes);
    watch->next = *watches;
    *watches = watch;
    return watch->shadow;
}

void emu_watches_free(struct emu_watch *watches)
{
    while (watches != NULL) {
        struct emu_watch *watch = watches;
        watches = watch->next;
        emu_shadow_free(watch->shadow);
        emu_free(watch);
    }
}
