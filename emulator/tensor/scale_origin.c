/* SPDX-License-Identifier: MIT */
/* Which block a scale factor is for: remembered at its first use, compared at others. */
#include "tensor/scale_origin.h"

#include <string.h>

#include "exec/origin.h"

#define PARTITION_ROWS 32u
#define PARTITIONS     (EMU_TMEM_LANES / PARTITION_ROWS)
#define CELL_BYTES     4u
#define CHUNK_CELLS    4u
/* A factor's key: the number of who brought it, and which byte of that it is. */
#define KEY_BITS 18u

struct emu_scale_cells {
    uint64_t keys[EMU_TMEM_LANES][EMU_TMEM_COLUMNS]; /* of byte 0; 0: no factors */
    struct cell {
        const struct emu_insn *copy;
        const struct emu_delivery *delivery; /* or NULL */
    } last[PARTITIONS][EMU_TMEM_COLUMNS];    /* of 32 lanes: who wrote them last */
};

void emu_scale_cells_free(struct emu_scale_cells *cells)
{
    emu_free(cells);
}

void emu_scale_cells_forget(struct emu_tmem *tmem, uint32_t first_lane, uint32_t lanes,
                            uint32_t column, uint32_t columns)
{
    for (uint32_t i = 0; tmem->scales != NULL && i < lanes; i++) {
        memset(&tmem->scales->keys[first_lane + i][column], 0,
               columns * sizeof(tmem->scales->keys[0][0]));
    }
}

void emu_scale_cells_note(const struct emu_scale_copy *copy, struct emu_cta *cta,
                          uint32_t offset, unsigned row, unsigned byte, uint32_t lane,
                          uint32_t column)
{
    struct emu_tmem *tmem = emu_tmem_of(cta);
    if (tmem->scales == NULL) {
        tmem->scales = emu_alloc(sizeof(*tmem->scales));
    }
    const struct emu_delivery *delivery = emu_origin_at(cta, offset)->delivery;
    const uint64_t first =
        delivery == NULL
            ? (uint64_t)copy->number << KEY_BITS | (row * PARTITION_ROWS + byte)
            : (uint64_t)delivery->number << KEY_BITS | offset;
    for (uint32_t i = 0; i < CHUNK_CELLS; i++) {
        tmem->scales->keys[lane][column + i] = first + (uint64_t)i * CELL_BYTES;
        tmem->scales->last[lane / PARTITION_ROWS][column + i] =
            (struct cell){copy->insn, delivery};
    }
}

/* --------------------------------------------------------------------- uses of factors */

#define USE_BITS 15u

struct use {
    uint64_t key;
    struct emu_origin elements;
    const struct emu_insn *insn;
};
/* By a hash of the key; of two with the same hash the older one is forgotten. */
struct emu_scale_uses {
    struct use uses[1u << USE_BITS];
};

/* One operand, with its factors. */
struct side {
    const struct emu_tile *tile;
    uint32_t scales; /* address in tensor memory */
    unsigned id;
    char name;
};

/* One factor, and the elements that it multiplies. */
struct factor {
    unsigned row, byte;
    uint32_t lane, column;
    uint64_t key;
    struct cell cell;
    struct emu_origin elements;
};

static void add_place(const struct emu_actor *actor, const struct emu_insn *insn,
                      struct emu_text *text)
{
    const struct emu_program *program = emu_launch_of(actor->warp->cta)->program;
    struct emu_text location = {0};
    ptx_describe_location(program->module, &insn->source->location, &location);
    emu_text_add(text, "%s at %s", insn->source->opcode, emu_text_get(&location));
    emu_text_free(&location);
}

/* `before`: who took it before; NULL: it came with other elements. */
static void report_other_block(const struct emu_actor *actor, const struct emu_cta *cta,
                               const struct side *side, const struct factor *factor,
                               const struct use *before)
{
    if (emu_report_again(actor->warp, actor->insn, EMU_WARNING, EMU_FINDING_SCALE_ORIGIN)) {
        return;
    }
    const struct emu_program *program = emu_launch_of(cta)->program;
    struct emu_text text = {0};
    emu_text_add(&text,
                 "row %u of %c is multiplied by a scale factor of other elements: byte %u "
                 "of lane %u, column %u of the tensor memory of CTA %u\ncopied there by ",
                 factor->row, side->name, factor->byte, factor->lane, factor->column,
                 cta->rank);
    add_place(actor, factor->cell.copy, &text);
    if (factor->cell.delivery != NULL) {
        emu_text_add(&text, "\nof what was brought by ");
        emu_delivery_describe(program, factor->cell.delivery, &text);
    }
    if (before != NULL) {
        emu_text_add(&text, "\ntaken before by ");
        add_place(actor, before->insn, &text);
        emu_text_add(&text, "\nfor elements brought by ");
        emu_delivery_describe(program, before->elements.delivery, &text);
    }
    emu_text_add(&text, "\ntaken now for elements brought by ");
    emu_delivery_describe(program, factor->elements.delivery, &text);
    emu_text_add(&text,
                 before != NULL
                     ? "\nTheir own factors were not copied, or not yet, or they lie "
                       "in other columns"
                     : "\nThese came with another mbarrier, or another phase of it, and "
                       "so did their own factors");
    emu_report(actor->warp, actor->insn, actor->lane, EMU_WARNING, EMU_FINDING_SCALE_ORIGIN,
               "%s", emu_text_get(&text));
    emu_text_free(&text);
}

static struct emu_scale_uses *uses_of(const struct emu_actor *actor)
{
    struct emu_tensor_cluster *cluster = emu_tensor_cluster_of(actor->warp);
    if (cluster->scale_uses == NULL) {
        cluster->scale_uses = emu_alloc(sizeof(*cluster->scale_uses));
    }
    return cluster->scale_uses;
}

/* Of elements along M or N a block's lines may come by several copies. */
static bool came_together(const struct emu_delivery *one, const struct emu_delivery *other)
{
    return one->tensor == other->tensor && one->barrier == other->barrier &&
           one->phase == other->phase;
}

static bool is_same_block(const struct emu_origin *one, const struct emu_origin *other,
                          bool mn_major)
{
    return one->address == other->address ||
           (mn_major ? came_together(one->delivery, other->delivery)
                     : one->row == other->row);
}

/* Whether others of its tensor came together with the elements. */
static bool is_of_other_phase(const struct emu_cta *cta, const struct factor *factor)
{
    const struct emu_delivery *own = factor->cell.delivery;
    const struct emu_delivery *elements = factor->elements.delivery;
    return own != NULL &&
           (own->barrier != elements->barrier || own->phase != elements->phase) &&
           emu_delivery_was_with(cta->cluster, elements, own->tensor);
}

/* False: the factor is for another block, which was reported. */
static bool note_use(const struct emu_actor *actor, const struct emu_cta *cta,
                     const struct side *side, const struct factor *factor)
{
    if (is_of_other_phase(cta, factor)) {
        report_other_block(actor, cta, side, factor, NULL);
        return false;
    }
    const uint64_t hash = factor->key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - USE_BITS);
    struct use *use = &uses_of(actor)->uses[hash];
    if (use->key != factor->key) {
        *use = (struct use){factor->key, factor->elements, actor->insn};
        return true;
    }
    if (is_same_block(&use->elements, &factor->elements, side->tile->mn_major)) {
        return true;
    }
    report_other_block(actor, cta, side, factor, use);
    return false;
}

/* The factors of one row, whose elements lie in `elements`, row `within` of the tile there.
 */
static bool check_row(const struct emu_actor *actor, struct emu_cta *cta,
                      const struct emu_cta *elements, const struct side *side,
                      unsigned factors, unsigned within, struct factor *factor)
{
    const uint64_t key = emu_tmem_of(cta)->scales->keys[factor->lane][factor->column];
    factor->cell =
        emu_tmem_of(cta)->scales->last[factor->lane / PARTITION_ROWS][factor->column];
    for (unsigned i = 0; key != 0 && i < factors; i++) {
        const unsigned k = i * (side->tile->k / factors);
        factor->elements =
            *emu_origin_at(elements, emu_tile_address(side->tile, within, k));
        factor->byte = side->id + i;
        factor->key = key + factor->byte;
        if (factor->elements.delivery != NULL && !note_use(actor, cta, side, factor)) {
            return false;
        }
    }
    return true;
}

/* A CTA's factors of its own rows of A. */
static bool check_a(const struct emu_actor *actor, struct emu_cta *cta,
                    const struct emu_mma_task *task)
{
    const struct side side = {&task->a, task->a_scales, task->instruction.a_scale_id, 'A'};
    for (unsigned row = 0; row < task->a.rows; row++) {
        struct factor factor = {.row = row,
                                .lane = row % PARTITION_ROWS,
                                .column =
                                    emu_tmem_column(side.scales) + row / PARTITION_ROWS};
        if (!check_row(actor, cta, cta, &side, task->factors, row, &factor)) {
            return false;
        }
    }
    return true;
}

/* A CTA's factors of all of N. The rows of B lie in both CTAs of a pair, one half each; so
 * do the factors of the halves in lanes, where M is 128. */
static bool check_b(const struct emu_actor *actor, struct emu_cta *const *ctas,
                    unsigned index, const struct emu_mma_task *task)
{
    const struct side side = {&task->b, task->b_scales, task->instruction.b_scale_id, 'B'};
    const unsigned n = task->instruction.n;
    const unsigned side_by_side =
        task->cta_count == 2 && task->instruction.m == 128 ? n / 2 : n;
    for (unsigned row = 0; row < n; row++) {
        const unsigned place = row % side_by_side;
        struct factor factor = {
            .row = row,
            .lane = row / side_by_side * (EMU_TMEM_LANES / 2) + place % PARTITION_ROWS,
            .column = emu_tmem_column(side.scales) + place / PARTITION_ROWS};
        if (!check_row(actor, ctas[index], ctas[row / task->b.rows], &side, task->factors,
                       row % task->b.rows, &factor)) {
            return false;
        }
    }
    return true;
}

void emu_scale_uses_check(const struct emu_actor *actor, struct emu_cta *const *ctas,
                          const struct emu_mma_task *task)
{
    bool good = true;
    for (unsigned i = 0; good && i < task->cta_count; i++) {
        if (emu_tmem_of(ctas[i])->scales != NULL) {
            good = (task->a_in_tensor_memory || check_a(actor, ctas[i], task)) &&
                   check_b(actor, ctas, i, task);
        }
    }
}
