/* SPDX-License-Identifier: MIT */
#include "plan/smem.h"

#include "base/math.h"
#include "plan/rows.h"

enum { SMEM_STEP = 1024 /* alignment of a swizzled tile */ };

int jg_tile_k(const struct jg_product *product)
{
    return 8 * JG_ROW_BYTES / jg_tile_bits(&product->a, &product->b);
}

/* ------------------------------------------------------------------ scales of blocks */

enum {
    PLACE_ROWS = 8,          /* that have one place, where a scale is of more */
    SCALE_RING_BYTES = 2816, /* unless that were fewer than JG_LEAST_SCALE_SLOTS: what the
                              * largest rings of tiles leave */
    MOST_SLOTS = 8,
    TURN_SLOTS = 6, /* of warpgroups that have every other one: half of them each */
    SHARED_SLOTS = 4 * JG_SCALE_COPY_WARPS,
    MOST_SHARED_COLUMNS = 128, /* whose rings of tiles leave room for those */
    MOST_SHARED_ROWS = 160
};

static int count_places(const jit_gemm_scale *scale, int rows)
{
    if (scale->kind != JIT_GEMM_SCALE_BLOCK) {
        return 0;
    }
    return scale->block_mn > 1 ? rows / PLACE_ROWS : rows;
}

static bool has_own(const jit_gemm_scale *scale)
{
    return scale->kind == JIT_GEMM_SCALE_BLOCK && scale->block_mn == 1;
}

/* Rows, or columns, whose scales lie row by row. */
static int count_by_rows(const jit_gemm_scale *scale, int rows)
{
    const bool lies_by_rows = scale->kind == JIT_GEMM_SCALE_BLOCK && scale->block_mn == 1 &&
                              scale->layout == JIT_GEMM_SCALE_LAYOUT_ROW;
    return lies_by_rows ? rows : 0;
}

bool jg_shares_scale_copies(const struct jg_product *product,
                            const struct jg_config *config)
{
    const int rows = count_by_rows(&product->a.scale, config->layout.tile_m) +
                     count_by_rows(&product->b.scale, config->layout.tile_n);
    return config->layout.k_turns == JG_K_TURNS_TAKEN &&
           jg_product_promotes_scales(product) && rows > 0 && rows <= MOST_SHARED_ROWS;
}

static int count_turn_slots(const struct jg_product *product,
                            const struct jg_config *config)
{
    return jg_shares_scale_copies(product, config) &&
                   config->layout.tile_n <= MOST_SHARED_COLUMNS
               ? SHARED_SLOTS
               : TURN_SLOTS;
}

int64_t jg_scale_slot_bytes(const struct jg_product *product,
                            const struct jg_config *config)
{
    return (int64_t)sizeof(float) *
           (count_places(&product->a.scale, config->layout.tile_m) +
            count_places(&product->b.scale, config->layout.tile_n));
}

struct jg_scale_ring jg_scale_ring_of(const struct jg_product *product,
                                      const struct jg_config *config, int own_slots)
{
    if (!jg_product_promotes_scales(product)) {
        return (struct jg_scale_ring){0};
    }
    const int64_t slot_bytes = jg_scale_slot_bytes(product, config) + JG_RING_BARRIER_BYTES;
    const bool all_own = has_own(&product->a.scale) && has_own(&product->b.scale);
    const int least = all_own && !product->is_gated ? own_slots : JG_LEAST_SCALE_SLOTS;
    const int64_t slots =
        config->layout.k_turns == JG_K_TURNS_TAKEN
            ? count_turn_slots(product, config)
            : jg_max(least, jg_min(SCALE_RING_BYTES / slot_bytes, MOST_SLOTS));
    return (struct jg_scale_ring){(int)slots, slots * slot_bytes};
}

/* -------------------------------------------------------------------------- A's rows */

enum { INDEX_STEP = 16 /* alignment of what is read four at a time */ };

int64_t jg_row_indices_bytes(const struct jg_trial *trial)
{
    const int64_t bytes = jg_count_copied(trial) * (int64_t)sizeof(int32_t);
    return bytes > 0 ? jg_align_up(bytes, INDEX_STEP) + INDEX_STEP : 0;
}

/* ------------------------------------------------------------------------------ sizes */

/* A part of the device's struct that a kernel has no use for takes a byte, and what follows
 * it is aligned: so much at most, on sm_100a 8 in two places and 16 before the storage of
 * launch control. */
enum { EMPTY_PARTS_BYTES = 40 };

int64_t jg_smem_bytes(const struct jg_smem *smem, int stages)
{
    const int64_t used_bytes =
        stages * smem->stage_bytes + smem->other_bytes + EMPTY_PARTS_BYTES;
    return jg_max(jg_align_up(used_bytes, SMEM_STEP), smem->least_bytes);
}

/* The driver keeps as much of each CTA beside what it may have. */
enum { CTA_SMEM_BYTES = 1024 };

static int64_t most_bytes_of(const struct jg_smem *smem,
                             const struct jg_device_facts *facts)
{
    const int ctas = (int)jg_max(smem->residents, 1);
    return ((int64_t)facts->smem_optin_bytes + CTA_SMEM_BYTES) / ctas - CTA_SMEM_BYTES;
}

/* At most `limit`. */
static int count_fitting_stages(const struct jg_smem *smem,
                                const struct jg_device_facts *facts, int limit)
{
    int stages = limit;
    while (stages > 0 && jg_smem_bytes(smem, stages) > most_bytes_of(smem, facts)) {
        stages--;
    }
    return stages;
}

bool jg_stages_check(struct jg_trial *trial, const struct jg_smem *smem,
                     const struct jg_stage_limits *limits)
{
    const int stages = trial->config.pipeline.stages;
    const int64_t smem_bytes = jg_smem_bytes(smem, stages);
    if (smem_bytes > most_bytes_of(smem, trial->facts)) {
        return jg_trial_reject(
            trial,
            "stages=%d needs %lld bytes of shared memory, %s has %lld%s; at most stages=%d "
            "with %s out_stages=%d",
            stages, (long long)smem_bytes, limits->arch,
            (long long)most_bytes_of(smem, trial->facts),
            smem->residents > 1 ? " for each of two CTAs (resident=2)" : "",
            count_fitting_stages(smem, trial->facts, limits->most), limits->shape,
            trial->config.storage.out_stages);
    }
    if (stages < limits->least || stages > limits->most) {
        return jg_trial_reject(trial, "stages=%d is out of range: %s takes %d to %d",
                               stages, limits->arch, limits->least, limits->most);
    }
    return true;
}

int jg_stages_choose(const struct jg_trial *trial, const struct jg_smem *smem,
                     const struct jg_stage_limits *limits, int64_t tiles)
{
    const int64_t stage_k = (int64_t)jg_tile_k(&trial->product) * smem->stage_blocks;
    const int64_t wanted = jg_ceil_div(trial->problem->k.size, stage_k);
    const int fitting = count_fitting_stages(smem, trial->facts, limits->most);
    return (int)jg_max(limits->least, jg_min(jg_min(wanted, fitting) * tiles, fitting));
}
