/* SPDX-License-Identifier: MIT */
/* Who brought the bytes of shared memory. */
#include "exec/origin.h"

#include <inttypes.h>
#include <string.h>

#define SEEN_BITS 12u

/* A tensor that a phase has brought something of. */
struct seen {
    uint32_t barrier, phase;
    uint64_t tensor;
};

struct emu_deliveries {
    struct emu_arena arena;
    uint32_t count;
    struct seen seen[1u << SEEN_BITS]; /* by hash; the older one is forgotten */
};

static size_t hash(uint32_t barrier, uint32_t phase, uint64_t tensor)
{
    return (size_t)(emu_mix(tensor, (uint64_t)barrier << 32 | phase) >> (64 - SEEN_BITS));
}

void emu_origins_create(struct emu_cta *cta)
{
    cta->origins = emu_alloc((size_t)emu_ceil_div(cta->shared_bytes, EMU_ORIGIN_BYTES) *
                             sizeof(*cta->origins));
}

void emu_origins_free_cta(struct emu_cta *cta)
{
    emu_free(cta->origins);
    cta->origins = NULL;
}

void emu_origins_free_cluster(struct emu_cluster *cluster)
{
    if (cluster->deliveries != NULL) {
        emu_arena_free(&cluster->deliveries->arena);
        emu_free(cluster->deliveries);
        cluster->deliveries = NULL;
    }
}

uint32_t emu_delivery_number(struct emu_cluster *cluster)
{
    if (cluster->deliveries == NULL) {
        cluster->deliveries = emu_alloc(sizeof(*cluster->deliveries));
    }
    return ++cluster->deliveries->count;
}

const struct emu_delivery *emu_delivery_new(struct emu_cluster *cluster,
                                            const struct emu_delivery *what)
{
    const uint32_t number = emu_delivery_number(cluster);
    struct emu_deliveries *all = cluster->deliveries;
    struct emu_delivery *delivery = emu_arena_alloc(&all->arena, sizeof(*delivery));
    *delivery = *what;
    delivery->number = number;
    all->seen[hash(what->barrier, what->phase, what->tensor)] =
        (struct seen){what->barrier, what->phase, what->tensor};
    return delivery;
}

bool emu_delivery_was_with(const struct emu_cluster *cluster,
                           const struct emu_delivery *other, uint64_t tensor)
{
    const struct seen *seen =
        &cluster->deliveries->seen[hash(other->barrier, other->phase, tensor)];
    return seen->barrier == other->barrier && seen->phase == other->phase &&
           seen->tensor == tensor;
}

void emu_delivery_describe(const struct emu_program *program,
                           const struct emu_delivery *delivery, struct emu_text *text)
{
    struct emu_text location = {0};
    ptx_describe_location(program->module, &delivery->insn->source->location, &location);
    emu_text_add(text, "%s at %s of ", delivery->insn->source->opcode,
                 emu_text_get(&location));
    emu_text_free(&location);
    if (delivery->rank == 0) {
        emu_text_add(text, "0x%" PRIx64, delivery->address);
    }
    for (unsigned i = 0; i < delivery->rank; i++) {
        emu_text_add(text, "%s%" PRId64, i == 0 ? "{" : ", ", delivery->at[i]);
    }
    emu_text_add(text, "%s, with the mbarrier at shared offset %u of CTA %u",
                 delivery->rank == 0 ? "" : "}", delivery->barrier & EMU_SHARED_OFFSET_MASK,
                 delivery->barrier >> EMU_SHARED_RANK_SHIFT);
}

struct emu_origin *emu_origin_at(const struct emu_cta *cta, uint32_t offset)
{
    return &cta->origins[offset / EMU_ORIGIN_BYTES];
}

void emu_origins_forget(struct emu_cta *cta, uint32_t offset, uint32_t bytes)
{
    const uint32_t first = offset / EMU_ORIGIN_BYTES;
    const uint32_t last = (uint32_t)emu_ceil_div(offset + bytes, EMU_ORIGIN_BYTES);
    memset(&cta->origins[first], 0, (last - first) * sizeof(*cta->origins));
}
