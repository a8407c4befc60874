/* SPDX-License-Identifier: MIT */
#include "plan/repack.h"

#include "base/math.h"
#include "plan/workspace.h"

/* ------------------------------------------------------------------------- what it is */

bool jg_repack_copies(const struct jg_config *config, char letter)
{
    const enum jg_repack repack = config->pipeline.repack;
    return repack == JG_REPACK_AB || repack == (letter == 'a' ? JG_REPACK_A : JG_REPACK_B);
}

/* What is not copied has to be aligned: the launch checks it. */
void jg_repack_product(const struct jg_config *config, struct jg_product *product)
{
    if (jg_is_repacked(config)) {
        product->a.alignment = product->b.alignment = JG_TMA_ALIGNMENT;
    }
}

/* A or B, which has so many rows and columns in memory, of all batches. */
struct extent {
    int64_t rows, row_bytes;
};

static struct extent extent_of(const struct jg_matrix *matrix, int64_t mn, int64_t k)
{
    return matrix->is_mn_major ? (struct extent){k, jg_bytes_of(matrix->dtype, mn)}
                               : (struct extent){mn, jg_bytes_of(matrix->dtype, k)};
}

/* Moves *end on; it stays at its limit. */
static struct jg_repack_copy place_copy(struct extent extent, int64_t batch, int64_t *end)
{
    struct jg_repack_copy copy = {.pitch =
                                      jg_align_up(extent.row_bytes, JG_REPACK_ROW_STEP)};
    int64_t bytes = 0;
    if (!jg_mul_checked(extent.rows, copy.pitch, &copy.stride) ||
        !jg_mul_checked(copy.stride, batch, &bytes) ||
        *end > INT64_MAX - JG_WORKSPACE_ALIGNMENT - bytes) {
        *end = INT64_MAX;
        return copy;
    }
    copy.offset = jg_align_up(*end, JG_WORKSPACE_ALIGNMENT);
    *end = copy.offset + bytes;
    return copy;
}

struct jg_repack_room jg_repack_place(const struct jg_config *config,
                                      const struct jg_product *product,
                                      struct jg_repack_size size, int64_t used)
{
    struct jg_repack_room room = {.end = used};
    if (!jg_is_repacked(config)) {
        return room;
    }
    /* The words at the begin are zero between launches, whoever uses them. */
    room.end = jg_max(used, JG_WORKSPACE_SUMS_OFFSET);
    if (jg_repack_copies(config, product->a.letter)) {
        room.a = place_copy(extent_of(&product->a, size.m, size.k), size.batch, &room.end);
    }
    if (jg_repack_copies(config, product->b.letter)) {
        room.b = place_copy(extent_of(&product->b, size.n, size.k), size.batch, &room.end);
    }
    return room;
}

struct jg_repack_size jg_repack_planned_size(const struct jg_product *product)
{
    return (struct jg_repack_size){product->m.size, product->n.size, product->k.size,
                                   product->batch.size};
}

int64_t jg_repack_bytes(const struct jg_config *config, const struct jg_product *product)
{
    const struct jg_repack_size size = jg_repack_planned_size(product);
    const int64_t columns = size.k * size.batch; /* fits, or the trial was refused */
    const int64_t rows = (jg_repack_copies(config, product->a.letter) ? size.m : 0) +
                         (jg_repack_copies(config, product->b.letter) ? size.n : 0);
    return jg_bytes_of(product->a.dtype, rows * columns);
}

static int64_t count_units(struct extent extent, int64_t batch)
{
    return jg_ceil_div(extent.row_bytes, JG_REPACK_UNIT_BYTES) * extent.rows * batch;
}

int64_t jg_repack_units(const struct jg_repack_matrix *matrix)
{
    return count_units((struct extent){matrix->rows, matrix->row_bytes}, matrix->batch);
}

int64_t jg_repack_planned_units(const struct jg_config *config,
                                const struct jg_product *product)
{
    const struct jg_repack_size size = jg_repack_planned_size(product);
    int64_t units = 0;
    if (jg_repack_copies(config, product->a.letter)) {
        units += count_units(extent_of(&product->a, size.m, size.k), size.batch);
    }
    if (jg_repack_copies(config, product->b.letter)) {
        units += count_units(extent_of(&product->b, size.n, size.k), size.batch);
    }
    return units;
}

/* -------------------------------------------------------------------------- its limits */

static const char *name_of(const struct jg_config *config)
{
    return config->pipeline.repack == JG_REPACK_A   ? "repack=a"
           : config->pipeline.repack == JG_REPACK_B ? "repack=b"
                                                    : "repack=ab";
}

/* Is the operand copied whose first tiles are asked for before the copy is there? */
static bool prefetches_copy(const struct jg_config *config)
{
    const enum jg_prefetch prefetch = config->pipeline.prefetch;
    return prefetch != JG_PREFETCH_NONE &&
           jg_repack_copies(config, prefetch == JG_PREFETCH_A ? 'a' : 'b');
}

/* Do halves of one row of a copy of B begin where TMA does not? */
static bool cuts_halves(const struct jg_problem *problem)
{
    const bool is_one_row = problem->is_gated && problem->pair == JIT_GEMM_PAIR_HALVES &&
                            problem->b.is_mn_major;
    return is_one_row &&
           (problem->n.mode != JIT_GEMM_DIM_EXACT ||
            jg_bytes_of(problem->b.dtype, problem->n.size / 2) % JG_TMA_ALIGNMENT != 0);
}

bool jg_repack_check(struct jg_trial *trial)
{
    const struct jg_config *config = &trial->config;
    const struct jg_problem *problem = trial->problem;
    if (!jg_is_repacked(config)) {
        return true;
    }
    if (!jg_inputs_are_unaligned(problem)) {
        return jg_trial_reject(trial,
                               "%s: TMA takes A and B as they are: leave it out, or say "
                               "input_align=8 or less",
                               name_of(config));
    }
    if (problem->a_rows == JIT_GEMM_ROWS_INDEXED) {
        return jg_trial_reject(
            trial,
            "%s: there is no kernel that copies an A whose rows an index "
            "names: repack=none",
            name_of(config));
    }
    if (problem->group_by != JIT_GEMM_GROUP_NONE) {
        return jg_trial_reject(trial,
                               "%s: how much of A and B groups have is known on the device "
                               "only: repack=none",
                               name_of(config));
    }
    if (cuts_halves(problem)) {
        return jg_trial_reject(trial,
                               "%s: TMA asks for halves of B that begin at multiples of 16 "
                               "bytes, and those of an MN-major B lie in one row: "
                               "repack=none",
                               name_of(config));
    }
    if (prefetches_copy(config)) {
        return jg_trial_reject(trial,
                               "prefetch=%s asks for the first tile before it is copied: "
                               "prefetch=none, or repack=none",
                               config->pipeline.prefetch == JG_PREFETCH_A ? "a" : "b");
    }
    const struct jg_repack_room room = jg_repack_place(
        config, &trial->product, jg_repack_planned_size(&trial->product), 0);
    if (room.end == INT64_MAX) {
        return jg_trial_reject(trial, "%s: the copies have more than 2^63 bytes",
                               name_of(config));
    }
    return true;
}

bool jg_repack_has_room(const struct jg_trial *trial, int64_t used)
{
    const struct jg_product *product = &trial->product;
    int64_t bytes = used;
    if (!trial->override->has_repack) {
        bytes =
            jg_repack_place(&trial->config, product, jg_repack_planned_size(product), used)
                .end;
    }
    return (uint64_t)bytes <= trial->problem->workspace_limit;
}
