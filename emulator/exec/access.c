/* SPDX-License-Identifier: MIT */
/* Accesses of a kernel to memory, with all their checks. */
#include <inttypes.h>
#include <string.h>

#include "exec/memory.h"
#include "exec/origin.h"

/* The shadow of a global allocation: of the grid where its clusters can meet, otherwise of
 * one cluster, because those run in several threads. */
static struct emu_shadow *shadow_of(struct emu_cluster *cluster,
                                    const struct emu_allocation *allocation)
{
    struct emu_watch **watches = cluster->grid->launch.program->shares_grid
                                     ? &cluster->grid->watches
                                     : &cluster->watches;
    return emu_watch_shadow(watches, allocation->id, allocation->bytes);
}

struct emu_actor emu_actor_of_lane(struct emu_warp *warp, const struct emu_insn *insn,
                                   unsigned lane)
{
    return (struct emu_actor){.warp = warp,
                              .insn = insn,
                              .lane = lane,
                              .proxy = EMU_PROXY_GENERIC,
                              .agent = warp->sync.agent,
                              .epoch = warp->sync.epoch,
                              .view = &warp->sync.view};
}

static bool refuse(const struct emu_actor *actor, enum emu_finding finding,
                   const char *format, ...) EMU_PRINTF(3, 4);

static bool refuse(const struct emu_actor *actor, enum emu_finding finding,
                   const char *format, ...)
{
    struct emu_text text = {0};
    va_list args;
    va_start(args, format);
    emu_text_addv(&text, format, args);
    va_end(args);
    emu_report_error(actor->warp, actor->insn, actor->lane, finding, "%s",
                     emu_text_get(&text));
    emu_text_free(&text);
    return false;
}

/* ----------------------------------------------------------------------------- races */

static const char *const proxy_names[] = {"generic", "async", "tensor"};

/* What is said of two accesses that nothing orders. */
static const char *describe_disorder(const struct emu_conflict *conflict)
{
    if (conflict->repeated) {
        return "nothing orders them; they are lanes of one store, and write the same";
    }
    if (conflict->signalled) {
        return "only an mbarrier.arrive of .cta scope at another CTA lies between them, which "
               "orders nothing there: .release.cluster is meant";
    }
    return conflict->tolerated ? "only a relaxed barrier.cluster.arrive lies between them"
                               : "nothing orders them";
}

/* Memory that nobody named is told by its place; NULL is shared memory. */
static void describe_memory(const struct emu_allocation *allocation, struct emu_text *text)
{
    if (allocation == NULL) {
        emu_text_add(text, "shared memory");
    } else if (allocation->name[0] != '\0') {
        emu_text_add(text, "%s", allocation->name);
    } else {
        emu_text_add(text, "the %" PRIu64 " bytes of global memory at 0x%" PRIx64,
                     allocation->bytes, allocation->address);
    }
}

/* `global`: NULL for shared memory. */
static void report_conflict(const struct emu_actor *actor,
                            const struct emu_allocation *global,
                            const struct emu_conflict *conflict)
{
    const struct emu_cluster *cluster = actor->warp->cta->cluster;
    const struct emu_program *program = cluster->grid->launch.program;
    const enum emu_severity severity = conflict->tolerated ? EMU_ADVICE : EMU_ERROR;
    struct emu_text text = {0};
    static const enum emu_finding findings[] = {
        [EMU_CONFLICT_ORDER] = EMU_FINDING_RACE,
        [EMU_CONFLICT_LANES] = EMU_FINDING_LANE_ORDER,
        [EMU_CONFLICT_PROXY] = EMU_FINDING_PROXY_FENCE,
        [EMU_CONFLICT_TENSOR_FENCE] = EMU_FINDING_TENSOR_FENCE,
    };
    if (emu_report_again(actor->warp, actor->insn, severity, findings[conflict->kind])) {
        return;
    }
    const char *const reasons[] = {
        [EMU_CONFLICT_ORDER] = describe_disorder(conflict),
        [EMU_CONFLICT_LANES] =
            ("only another lane of its warp is ordered after it; "
             "bar.warp.sync or a barrier between the two lanes is missing"),
        [EMU_CONFLICT_PROXY] =
            global == NULL ? "no fence.proxy.async for shared memory stands between them"
                           : "no fence.proxy.async for global memory stands between them",
        [EMU_CONFLICT_TENSOR_FENCE] = "no tcgen05.fence stands between them",
    };
    emu_text_add(&text,
                 "this %s (%s proxy) and a %s (%s proxy) meet at byte %" PRIu64 " of ",
                 conflict->is_write ? "write" : "read", proxy_names[actor->proxy],
                 conflict->was_write ? "write" : "read", proxy_names[conflict->other.proxy],
                 conflict->byte);
    describe_memory(global, &text);
    emu_text_add(&text, ", and %s\n  the other: ", reasons[conflict->kind]);
    if (conflict->other.insn < program->insn_count) {
        const struct ptx_insn *other = program->insns[conflict->other.insn].source;
        emu_text_add(&text, "%s at ", other->opcode);
        ptx_describe_location(program->module, &other->location, &text);
    } else {
        emu_text_add(&text, "an access whose instruction is not known");
    }
    if (conflict->other.lane < EMU_LANES) {
        emu_text_add(&text, ", lane %u", conflict->other.lane);
    }
    const struct emu_grid *grid = cluster->grid;
    uint32_t block = conflict->other.agent / EMU_CLOCK_BLOCK;
    if (block < grid->block_count && grid->blocks[block] != cluster->index) {
        emu_text_add(&text, ", of cluster %" PRIu64, grid->blocks[block]);
    }
    emu_report(actor->warp, actor->insn, actor->lane, severity, findings[conflict->kind],
               "%s", emu_text_get(&text));
    emu_text_free(&text);
}

enum access_kind { READS, WRITES, REPEATS /* writes what is there already */ };

static void check_races(const struct emu_actor *actor, struct emu_shadow *shadow,
                        uint64_t offset, uint64_t bytes, enum access_kind kind,
                        const struct emu_allocation *global)
{
    struct emu_accessor who = {
        .agent = actor->agent,
        .epoch = actor->epoch,
        .lane = (uint8_t)actor->lane,
        .proxy = actor->proxy,
        .global = global != NULL,
        .atomic = actor->atomic,
        .narrow = actor->narrow,
        .repeats = kind == REPEATS,
        .insn = actor->insn->index,
        .view = actor->view,
        .lane_agents = *actor->warp->sync.lane_agents,
        .facts = actor->warp->sync.facts,
    };
    struct emu_conflict conflict = {0};
    if (actor->lane < EMU_LANES) {
        actor->warp->sync.fresh |= 1u << actor->lane;
    }
    if (!emu_shadow_access(shadow, offset, bytes, kind != READS, &who, &conflict)) {
        report_conflict(actor, global, &conflict);
    }
}

static void report_meeting(const struct emu_actor *actor,
                           const struct emu_allocation *allocation, bool write,
                           const struct emu_log_conflict *conflict)
{
    const struct emu_grid *grid = actor->warp->cta->cluster->grid;
    const bool before = emu_log_is_of_grid_before(conflict->cluster, grid->order);
    const bool here = emu_log_is_of_grid(conflict->cluster, grid->order);
    const bool grids = before || (grid->launch.program->shares_grid && !here);
    struct emu_text text = {0};
    emu_text_add(&text, "%s of byte %" PRIu64 " of ", write ? "write" : "read",
                 conflict->byte);
    describe_memory(allocation, &text);
    emu_text_add(&text, ", which %s %s; %s",
                 before  ? "the grid before this one"
                 : grids ? "another grid"
                         : "another cluster",
                 conflict->was_write ? "wrote" : "read",
                 grids ? "griddepcontrol.wait does not stand between them"
                       : "nothing orders them");
    emu_report(actor->warp, actor->insn, actor->lane, EMU_ERROR, EMU_FINDING_RACE, "%s",
               emu_text_get(&text));
    emu_text_free(&text);
}

/* Finds clusters and grids that meet although nothing can order them. */
static void check_log(const struct emu_actor *actor,
                      const struct emu_allocation *allocation, uint64_t offset,
                      uint32_t bytes, bool write)
{
    const struct emu_cluster *cluster = actor->warp->cta->cluster;
    const struct emu_grid *grid = cluster->grid;
    const bool watched = grid->launch.program->shares_grid;
    const struct emu_log_accessor who = {
        .cluster = emu_log_cluster(grid->order, watched ? 0 : cluster->index),
        .may_meet = watched && actor->atomic,
        .behind_grid = actor->view->behind_grid,
    };
    struct emu_log_conflict conflict = {0};
    if (!emu_access_log_note(allocation->log, &who, offset, bytes, write, &conflict) &&
        !emu_report_again(actor->warp, actor->insn, EMU_ERROR, EMU_FINDING_RACE)) {
        report_meeting(actor, allocation, write, &conflict);
    }
}

static void check_global_races(const struct emu_actor *actor,
                               const struct emu_allocation *allocation, uint64_t offset,
                               uint32_t bytes, enum access_kind kind)
{
    struct emu_cluster *cluster = actor->warp->cta->cluster;
    if (cluster->grid->launch.settings.races) {
        check_log(actor, allocation, offset, bytes, kind != READS);
        check_races(actor, shadow_of(cluster, allocation), offset, bytes, kind, allocation);
    }
}

/* ---------------------------------------------------------------------------- shared */

/* A CTA that has not begun has no shared memory yet. It is known to have begun where the
 * actor knows something that it did, or where the actor's CTA has met the whole cluster. */
static bool has_begun(const struct emu_cta *cta, const struct emu_warp *warp)
{
    bool known = warp->cta->has_met_cluster;
    for (unsigned i = 0; !known && i < cta->warp_count; i++) {
        known = emu_clock_get(&warp->sync.view.happened, cta->warps[i].sync.agent) > 0;
    }
    return known;
}

struct emu_cta *emu_shared_resolve(struct emu_warp *warp, const struct emu_insn *insn,
                                   unsigned lane, uint32_t address, bool any_rank,
                                   uint32_t *ret_offset)
{
    uint32_t rank = address >> EMU_SHARED_RANK_SHIFT;
    *ret_offset = address & EMU_SHARED_OFFSET_MASK;
    if (rank == warp->cta->rank) {
        return warp->cta;
    }
    struct emu_cta *cta = emu_cluster_cta(warp->cta->cluster, rank);
    if (cta == NULL) {
        emu_report_error(warp, insn, lane, EMU_FINDING_OUT_OF_BOUNDS,
                         "shared address 0x%08x names CTA %u of a cluster of %u", address,
                         rank, warp->cta->cluster->cta_count);
        return NULL;
    }
    if (!any_rank) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                         "shared address 0x%08x is of CTA %u, but .shared::cta reaches the "
                         "own CTA only (%u)",
                         address, rank, warp->cta->rank);
        return NULL;
    }
    if (cta->exited) {
        /* Its memory is there until the cluster ends, here as on most runs of a GPU. */
        emu_report(
            warp, insn, lane, EMU_ERROR, EMU_FINDING_EXITED_CTA,
            "shared memory of CTA %u, which has exited; a barrier of the cluster must "
            "come before its end",
            rank);
    }
    if (emu_launch_of(cta)->settings.races && !has_begun(cta, warp)) {
        emu_report(warp, insn, lane, EMU_ERROR, EMU_FINDING_RACE,
                   "shared memory of CTA %u, but nothing tells that this CTA has begun; a "
                   "barrier of the cluster must come first",
                   rank);
    }
    return cta;
}

static bool check_shared(const struct emu_actor *actor, struct emu_cta *cta,
                         uint32_t offset, uint32_t bytes, uint32_t alignment,
                         const char *verb)
{
    if (offset < EMU_SHARED_FIRST || offset > cta->shared_bytes ||
        bytes > cta->shared_bytes - offset) {
        return refuse(actor, EMU_FINDING_OUT_OF_BOUNDS,
                      "%s of %u bytes at shared offset %u of CTA %u; legal are %u to %u "
                      "(%u static and %u dynamic bytes)",
                      verb, bytes, offset, cta->rank, EMU_SHARED_FIRST, cta->shared_bytes,
                      emu_launch_of(cta)->program->static_shared_bytes,
                      emu_launch_of(cta)->dynamic_shared_bytes);
    }
    if (alignment > 1 && offset % alignment != 0) {
        return refuse(actor, EMU_FINDING_MISALIGNED,
                      "%s of %u bytes at shared offset %u, which is not a multiple of %u",
                      verb, bytes, offset, alignment);
    }
    const uint8_t *barrier = memchr(cta->shared_state + offset, EMU_BARRIER, bytes);
    if (barrier != NULL) {
        return refuse(actor, EMU_FINDING_BARRIER,
                      "%s over the mbarrier at shared offset %u of CTA %u", verb,
                      (uint32_t)(barrier - cta->shared_state), cta->rank);
    }
    return true;
}

/* Undefined bytes of global memory travel with a copy, and are told where they are used:
 * their origin is what the reader of the report wants to know. */
static void note_unwritten(struct emu_cluster *cluster,
                           const struct emu_allocation *allocation, uint64_t offset,
                           uint32_t bytes)
{
    if (cluster->unwritten != NULL || !cluster->grid->launch.settings.definedness) {
        return;
    }
    const uint8_t *hole = memchr(allocation->state + offset, EMU_UNDEFINED, bytes);
    if (hole != NULL) {
        cluster->unwritten = allocation;
        cluster->unwritten_byte = (uint64_t)(hole - allocation->state);
    }
}

static bool refuse_unwritten(const struct emu_actor *actor, const struct emu_cta *cta,
                             uint32_t offset)
{
    const struct emu_cluster *cluster = cta->cluster;
    if (cluster->unwritten == NULL) {
        return refuse(actor, EMU_FINDING_UNDEFINED,
                      "read of shared memory that was never written: offset %u of CTA %u",
                      offset, cta->rank);
    }
    return refuse(actor, EMU_FINDING_UNDEFINED,
                  "read of undefined bytes of shared memory: offset %u of CTA %u; this "
                  "cluster has read global memory that was never written: byte %" PRIu64
                  " of the %" PRIu64 " bytes at 0x%" PRIx64 ": fill it before the launch",
                  offset, cta->rank, cluster->unwritten_byte, cluster->unwritten->bytes,
                  cluster->unwritten->address);
}

void emu_shared_reached(struct emu_cta *cta, struct emu_reach reach)
{
    if (cta->reaches == NULL) {
        cta->reaches = emu_alloc(sizeof(*cta->reaches));
    }
    struct emu_reaches *all = cta->reaches;
    struct emu_reach *last = NULL;
    for (unsigned i = 0; i < all->count && last == NULL; i++) {
        last = all->list[i].warp == reach.warp ? &all->list[i] : NULL;
    }
    if (last == NULL) {
        EMU_GROW(all->list, all->count);
        last = &all->list[all->count++];
    } else if (last->epoch == reach.epoch && !last->any && !reach.any) {
        reach.lanes |= last->lanes;
    }
    *last = reach;
}

void emu_reaches_free(struct emu_reaches *reaches)
{
    if (reaches != NULL) {
        emu_free(reaches->list);
        emu_free(reaches);
    }
}

/* A read is over when its value is used, which no order of memory says: one that comes when
 * the CTA has exited is found then. */
static void note_access(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                        uint32_t bytes, enum access_kind kind)
{
    if (cta->shadow == NULL) {
        return;
    }
    check_races(actor, cta->shadow, offset, bytes, kind, NULL);
    if (kind != READS && actor->warp->cta != cta && actor->lane != EMU_LANES) {
        emu_shared_reached(cta, (struct emu_reach){.warp = actor->warp,
                                                   .insn = actor->insn,
                                                   .epoch = actor->epoch,
                                                   .lanes = 1u << actor->lane});
    }
}

bool emu_shared_read(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                     uint32_t bytes, uint32_t alignment, void *data, uint8_t *defined)
{
    if (!check_shared(actor, cta, offset, bytes, alignment, "read")) {
        return false;
    }
    memcpy(data, cta->shared + offset, bytes);
    if (defined != NULL) {
        memcpy(defined, cta->shared_state + offset, bytes);
    } else if (emu_launch_of(cta)->settings.definedness) {
        const uint8_t *hole = memchr(cta->shared_state + offset, EMU_UNDEFINED, bytes);
        if (hole != NULL) {
            return refuse_unwritten(actor, cta, (uint32_t)(hole - cta->shared_state));
        }
    }
    note_access(actor, cta, offset, bytes, READS);
    return true;
}

bool emu_shared_write(const struct emu_actor *actor, struct emu_cta *cta, uint32_t offset,
                      uint32_t bytes, uint32_t alignment, const void *data,
                      const uint8_t *defined)
{
    if (!check_shared(actor, cta, offset, bytes, alignment, "write")) {
        return false;
    }
    enum access_kind kind =
        memcmp(cta->shared + offset, data, bytes) == 0 ? REPEATS : WRITES;
    memcpy(cta->shared + offset, data, bytes);
    if (defined != NULL) {
        memcpy(cta->shared_state + offset, defined, bytes);
    } else {
        memset(cta->shared_state + offset, EMU_DEFINED, bytes);
    }
    if (cta->origins != NULL) {
        emu_origins_forget(cta, offset, bytes);
    }
    note_access(actor, cta, offset, bytes, kind);
    return true;
}

/* ---------------------------------------------------------------------------- global */

static struct emu_allocation *find_allocation(const struct emu_actor *actor,
                                              uint64_t address, uint32_t bytes)
{
    struct emu_allocation *recent = actor->warp->recent;
    if (recent != NULL) {
        uint64_t offset = address - recent->address;
        if (offset <= recent->bytes && bytes <= recent->bytes - offset) {
            return recent;
        }
    }
    struct emu_allocation *found =
        emu_memory_find(emu_launch_of(actor->warp->cta)->memory, address, bytes);
    if (found != NULL) {
        actor->warp->recent = found;
    }
    return found;
}

static struct emu_allocation *check_global(const struct emu_actor *actor, uint64_t address,
                                           uint32_t bytes, uint32_t alignment,
                                           const char *verb)
{
    struct emu_allocation *allocation = find_allocation(actor, address, bytes);
    if (allocation == NULL) {
        struct emu_text text = {0};
        emu_memory_describe(emu_launch_of(actor->warp->cta)->memory, address, &text);
        refuse(actor, EMU_FINDING_OUT_OF_BOUNDS,
               "%s of %u bytes at global address 0x%" PRIx64 ": %s", verb, bytes, address,
               emu_text_get(&text));
        emu_text_free(&text);
        return NULL;
    }
    if (alignment > 1 && address % alignment != 0) {
        refuse(actor, EMU_FINDING_MISALIGNED,
               "%s of %u bytes at global address 0x%" PRIx64
               ", which is not a multiple of %u",
               verb, bytes, address, alignment);
        return NULL;
    }
    return allocation;
}

static bool refuse_hole(const struct emu_actor *actor,
                        const struct emu_allocation *allocation, uint64_t byte)
{
    struct emu_text text = {0};
    describe_memory(allocation, &text);
    refuse(actor, EMU_FINDING_UNDEFINED,
           "read of global memory that was never written: byte %" PRIu64 " of %s", byte,
           emu_text_get(&text));
    emu_text_free(&text);
    return false;
}

bool emu_global_read(const struct emu_actor *actor, uint64_t address, uint32_t bytes,
                     uint32_t alignment, void *data, uint8_t *defined)
{
    struct emu_allocation *allocation =
        check_global(actor, address, bytes, alignment, "read");
    if (allocation == NULL) {
        return false;
    }
    struct emu_cluster *cluster = actor->warp->cta->cluster;
    uint64_t offset = address - allocation->address;
    memcpy(data, emu_pointer(address), bytes);
    if (defined != NULL) {
        memcpy(defined, allocation->state + offset, bytes);
        note_unwritten(cluster, allocation, offset, bytes);
    } else if (cluster->grid->launch.settings.definedness) {
        const uint8_t *hole = memchr(allocation->state + offset, EMU_UNDEFINED, bytes);
        if (hole != NULL) {
            return refuse_hole(actor, allocation, (uint64_t)(hole - allocation->state));
        }
    }
    check_global_races(actor, allocation, offset, bytes, READS);
    return true;
}

bool emu_global_write(const struct emu_actor *actor, uint64_t address, uint32_t bytes,
                      uint32_t alignment, const void *data, const uint8_t *defined)
{
    struct emu_allocation *allocation =
        check_global(actor, address, bytes, alignment, "write");
    if (allocation == NULL) {
        return false;
    }
    uint64_t offset = address - allocation->address;
    if (allocation->read_only) {
        return refuse(actor, EMU_FINDING_ILLEGAL, "write to constant memory (%s)",
                      allocation->name);
    }
    enum access_kind kind =
        memcmp(emu_pointer(address), data, bytes) == 0 ? REPEATS : WRITES;
    memcpy(emu_pointer(address), data, bytes);
    if (defined != NULL) {
        memcpy(allocation->state + offset, defined, bytes);
    } else {
        memset(allocation->state + offset, EMU_DEFINED, bytes);
    }
    check_global_races(actor, allocation, offset, bytes, kind);
    return true;
}

/* -------------------------------------------------------------------- any other space */

void emu_classify(uint64_t generic, enum emu_space *ret_space, uint64_t *ret_address)
{
    uint64_t window = generic & EMU_WINDOW_MASK;
    *ret_address = generic & ~EMU_WINDOW_MASK;
    *ret_space = window == EMU_WINDOW_SHARED  ? EMU_SPACE_SHARED_CLUSTER
                 : window == EMU_WINDOW_LOCAL ? EMU_SPACE_LOCAL
                 : window == EMU_WINDOW_PARAM ? EMU_SPACE_PARAM
                                              : EMU_SPACE_GLOBAL;
    if (*ret_space == EMU_SPACE_GLOBAL) {
        *ret_address = generic;
    }
}

/* Local memory of the lane; NULL after reporting. */
static bool local_range(const struct emu_actor *actor, uint64_t address, uint32_t bytes,
                        uint8_t **ret_data, uint8_t **ret_state)
{
    struct emu_warp *warp = actor->warp;
    const struct emu_program *program = emu_launch_of(warp->cta)->program;
    uint64_t total = emu_local_bytes(program);
    if ((address & EMU_CALL_PARAM) != 0) {
        address =
            (address & ~EMU_CALL_PARAM) + emu_align_up(program->function->local_bytes, 16);
    }
    if (address > total || bytes > total - address || actor->lane >= EMU_LANES) {
        refuse(actor, EMU_FINDING_OUT_OF_BOUNDS,
               "access of %u bytes at local address %" PRIu64 "; a thread has %" PRIu64,
               bytes, address, total);
        return false;
    }
    if (address % bytes != 0) {
        refuse(actor, EMU_FINDING_MISALIGNED,
               "access of %u bytes at local address %" PRIu64
               ", which is not a multiple of %u",
               bytes, address, bytes);
        return false;
    }
    uint64_t at = actor->lane * total + address;
    *ret_data = warp->local + at;
    *ret_state = warp->local_state + at;
    return true;
}

static bool read_params(const struct emu_actor *actor, uint64_t address, uint32_t bytes,
                        void *data, uint8_t *defined)
{
    const struct emu_launch *launch = emu_launch_of(actor->warp->cta);
    if (address > launch->param_bytes || bytes > launch->param_bytes - address) {
        return refuse(actor, EMU_FINDING_OUT_OF_BOUNDS,
                      "read of %u bytes at byte %" PRIu64 " of the parameters (%zu bytes)",
                      bytes, address, launch->param_bytes);
    }
    memcpy(data, (const unsigned char *)launch->params + address, bytes);
    if (defined != NULL) {
        memset(defined, EMU_DEFINED, bytes);
    }
    return true;
}

static bool read_local(const struct emu_actor *actor, uint64_t address, uint32_t bytes,
                       void *data, uint8_t *defined)
{
    uint8_t *from = NULL;
    uint8_t *state = NULL;
    if (!local_range(actor, address, bytes, &from, &state)) {
        return false;
    }
    memcpy(data, from, bytes);
    if (defined != NULL) {
        memcpy(defined, state, bytes);
    } else if (memchr(state, EMU_UNDEFINED, bytes) != NULL &&
               emu_launch_of(actor->warp->cta)->settings.definedness) {
        return refuse(actor, EMU_FINDING_UNDEFINED,
                      "read of local memory that was never written: address %" PRIu64,
                      address);
    }
    return true;
}

/* The CTA that an access to .shared or .shared::cluster goes to; NULL after reporting. */
static struct emu_cta *find_cta(const struct emu_actor *actor, enum emu_space space,
                                uint64_t address, uint32_t *ret_offset)
{
    return emu_shared_resolve(actor->warp, actor->insn, actor->lane, (uint32_t)address,
                              space == EMU_SPACE_SHARED_CLUSTER, ret_offset);
}

bool emu_read(const struct emu_actor *actor, enum emu_space space, uint64_t address,
              uint32_t bytes, void *data, uint8_t *defined)
{
    if (space == EMU_SPACE_GENERIC) {
        emu_classify(address, &space, &address);
    }
    switch (space) {
    case EMU_SPACE_SHARED:
    case EMU_SPACE_SHARED_CLUSTER: {
        uint32_t offset = 0;
        struct emu_cta *cta = find_cta(actor, space, address, &offset);
        return cta != NULL &&
               emu_shared_read(actor, cta, offset, bytes, bytes, data, defined);
    }
    case EMU_SPACE_PARAM:
        return (address & EMU_CALL_PARAM) != 0
                   ? read_local(actor, address, bytes, data, defined)
                   : read_params(actor, address, bytes, data, defined);
    case EMU_SPACE_LOCAL:
        return read_local(actor, address, bytes, data, defined);
    default:
        return emu_global_read(actor, address, bytes, bytes, data, defined);
    }
}

bool emu_write(const struct emu_actor *actor, enum emu_space space, uint64_t address,
               uint32_t bytes, const void *data, const uint8_t *defined)
{
    uint8_t *to = NULL;
    uint8_t *state = NULL;
    if (space == EMU_SPACE_GENERIC) {
        emu_classify(address, &space, &address);
    }
    switch (space) {
    case EMU_SPACE_SHARED:
    case EMU_SPACE_SHARED_CLUSTER: {
        uint32_t offset = 0;
        struct emu_cta *cta = find_cta(actor, space, address, &offset);
        return cta != NULL &&
               emu_shared_write(actor, cta, offset, bytes, bytes, data, defined);
    }
    case EMU_SPACE_PARAM:
        if ((address & EMU_CALL_PARAM) == 0) {
            return refuse(actor, EMU_FINDING_ILLEGAL, "write to the kernel's parameters");
        }
        break;
    case EMU_SPACE_LOCAL:
        break;
    default:
        return emu_global_write(actor, address, bytes, bytes, data, defined);
    }
    if (!local_range(actor, address, bytes, &to, &state)) {
        return false;
    }
    memcpy(to, data, bytes);
    if (defined != NULL) {
        memcpy(state, defined, bytes);
    } else {
        memset(state, EMU_DEFINED, bytes);
    }
    return true;
}
