/* SPDX-License-Identifier: MIT */
#include "plan/trace.h"

#include "plan/group_maps.h"
#include "plan/groups.h"
#include "plan/repack.h"
#include "plan/scale.h"
#include "plan/scale_pack.h"
#include "plan/typical_sizes.h"

void jg_trace_begin(struct jg_str *trace, const char *verb, const struct jg_arch *arch,
                    const struct jg_config *config)
{
    struct jg_str text = {0};
    jg_config_print(config, arch->config_keys, &text);
    jg_str_printf(trace, "%s: %s: ", verb, jg_str_text(&text));
    trace->failed |= text.failed;
    jg_str_free(&text);
}

static void trace_copies(struct jg_str *trace, const struct jg_trial *trial)
{
    static const char *const names[] = {
        [JG_REPACK_A] = "A", [JG_REPACK_B] = "B", [JG_REPACK_AB] = "A and B"};
    jg_str_printf(trace,
                  ", %s copied to aligned rows first, unless a launch has such: %lld bytes "
                  "of workspace, about ",
                  names[trial->config.pipeline.repack],
                  (long long)trial->derived.copied_bytes);
    jg_str_fixed(trace, trial->derived.repack_us, 1);
    jg_str_puts(trace, " us");
}

static void trace_group_maps(struct jg_str *trace, const struct jg_trial *trial)
{
    const bool by_maps = trial->derived.output.epilogue == JG_EPILOGUE_FRAGMENTS;
    jg_str_printf(
        trace,
        ", %s by maps of each group, which a kernel before writes%s: %lld bytes of "
        "workspace, about ",
        by_maps ? "A, B and D" : "A and B",
        by_maps ? "" : ", D stored by threads where pointers say",
        (long long)trial->derived.copied_bytes);
    jg_str_fixed(trace, trial->derived.repack_us, 1);
    jg_str_puts(trace, " us");
}

static void trace_packed_scales(struct jg_str *trace, const struct jg_trial *trial)
{
    const bool is_a = jg_scale_is_packed_first(&trial->problem->a.scale);
    const bool is_b = jg_scale_is_packed_first(&trial->problem->b.scale);
    jg_str_printf(trace,
                  ", scales of %s brought to layout 128x4 first: %lld bytes of workspace, "
                  "about ",
                  is_a && is_b ? "A and B"
                  : is_a       ? "A"
                               : "B",
                  (long long)trial->derived.copied_bytes);
    jg_str_fixed(trace, trial->derived.scale_pack_us, 1);
    jg_str_puts(trace, " us");
}

#define LEAST_PRICE_US 0.05 /* that one digit shows */

/* Scales of blocks that nothing but registers multiplies by: what the same config would
 * save without them is their price. */
static void trace_promotion(struct jg_str *trace, const struct jg_arch *arch,
                            const struct jg_trial *trial)
{
    struct jg_trial plain = *trial;
    plain.product.a.scale = plain.product.b.scale = (jit_gemm_scale){0};
    jg_str_puts(trace, ", sums multiplied by scales in registers after each 128 of K");
    if (!arch->derive(&plain)) {
        return;
    }
    const double price_us = trial->derived.predicted_us - plain.derived.predicted_us;
    if (price_us < LEAST_PRICE_US) {
        jg_str_puts(trace, ", where sums of 8-bit floats are added up without them, too");
    } else {
        jg_str_puts(trace, ": about ");
        jg_str_fixed(trace, price_us, 1);
        jg_str_puts(trace, " us");
    }
}

/* What a launch may have of each group. */
static void trace_own_sizes(struct jg_str *trace, const struct jg_problem *problem)
{
    const bool own_n = jg_groups_own_n(problem), own_k = jg_groups_own_k(problem);
    if (own_n || own_k) {
        jg_str_printf(trace, ", with %s of each group's own where args.group_%s",
                      own_n && own_k ? "an N and a K"
                      : own_n        ? "an N"
                                     : "a K",
                      own_n && own_k ? "ns and args.group_ks say so"
                      : own_n        ? "ns says so"
                                     : "ks says so");
    }
}

/* What was priced: the groups that have rows, and how full their tiles are. */
static void trace_typical_sizes(struct jg_str *trace, const struct jg_trial *trial)
{
    const struct jg_config_layout *layout = &trial->config.layout;
    const bool are_rows = trial->product.a.letter == 'a';
    const struct jg_typical_fill fill = jg_typical_fill_of(
        trial->problem->typical_sizes, are_rows ? layout->tile_m : layout->tile_n);
    jg_str_printf(trace, ", of %lld groups that typically have ", (long long)fill.groups);
    if (fill.least < fill.most) {
        jg_str_printf(trace, "%lld to ", (long long)fill.least);
    }
    jg_str_printf(trace, "%lld rows, ", (long long)fill.most);
    jg_str_fixed(trace, fill.part, 2);
    jg_str_puts(trace, " of those of their tiles");
    trace_own_sizes(trace, trial->problem);
    jg_str_puts(trace, "; the kernel counts them");
}

void jg_trace_numbers(struct jg_str *trace, const struct jg_arch *arch,
                      const struct jg_trial *trial)
{
    const struct jg_derived *derived = &trial->derived;
    jg_str_puts(trace, "predicted ");
    jg_str_fixed(trace, derived->predicted_us, 1);
    jg_str_printf(trace, " us, %lld tiles in ", (long long)derived->tiles);
    jg_str_fixed(trace, derived->waves, 2);
    jg_str_printf(trace, " waves, grid %d, shared memory %d bytes", derived->grid_ctas,
                  derived->smem_bytes);
    if (trial->product.group_by == JIT_GEMM_GROUP_BY_K_OFFSETS) {
        jg_str_printf(trace, ", of groups of about %lld of K; the kernel counts them",
                      (long long)trial->product.k.size);
    } else if (jg_has_typical_sizes(trial->problem)) {
        trace_typical_sizes(trace, trial);
    } else if (trial->product.group_by != JIT_GEMM_GROUP_NONE) {
        const struct jg_product_size typical =
            jg_product_size(&trial->product, (uint32_t)trial->product.m.size,
                            (uint32_t)trial->product.n.size);
        jg_str_printf(trace, ", of groups of about %u rows", typical.m);
        trace_own_sizes(trace, trial->problem);
        jg_str_puts(trace, "; the kernel counts them");
    }
    if (jg_loads_by_threads(&trial->product)) {
        jg_str_puts(trace,
                    trial->product.group_by == JIT_GEMM_GROUP_BY_POINTERS
                        ? ", A and B loaded and D stored by threads where pointers say"
                    : trial->problem->a_rows == JIT_GEMM_ROWS_INDEXED
                        ? ", A's rows loaded by threads where an index says"
                        : ", A and B loaded by threads");
        if (trial->note[0] != '\0') {
            jg_str_printf(trace, " (%s)", trial->note);
        }
    }
    if (derived->copied_rows > 0) {
        jg_str_printf(trace, ", A's rows copied where an index says, %d at a time",
                      derived->copied_rows);
    }
    if (jg_is_repacked(&trial->config)) {
        trace_copies(trace, trial);
    }
    if (jg_has_group_maps(&trial->config)) {
        trace_group_maps(trace, trial);
    }
    if (jg_packs_scales(&trial->product)) {
        trace_packed_scales(trace, trial);
    }
    if (jg_product_promotes_scales(&trial->product)) {
        trace_promotion(trace, arch, trial);
    }
    if (derived->scale_columns > 0) { /* what the choice of such tiles turns on */
        const int acc_stages = trial->config.storage.acc_stages;
        jg_str_printf(trace,
                      ", scales multiplied by the tensor core: tensor memory for %d "
                      "accumulator%s",
                      acc_stages, acc_stages > 1 ? "s" : "");
        if (derived->shared_columns > 0) {
            jg_str_printf(trace, ", which share %d columns,", derived->shared_columns);
        }
        jg_str_printf(trace, " and %d columns of scales", derived->scale_columns);
        if (derived->scale_cells < trial->config.pipeline.stages) {
            jg_str_printf(trace, ", those of %d of %d stages at a time",
                          derived->scale_cells, trial->config.pipeline.stages);
        }
        jg_str_puts(trace, ", multiplications wait ");
        jg_str_fixed(trace, derived->waiting_us, 1);
        jg_str_puts(trace, " us for epilogues");
    }
    if (jg_outputs_by_threads(trial->problem)) {
        jg_str_printf(trace,
                      ", D, C and matrices moved by threads, which is slower: "
                      "output_align=%d",
                      trial->problem->d.alignment);
    }
    if (trial->problem->d_rows == JIT_GEMM_ROWS_INDEXED) {
        jg_str_puts(trace, ", rows of D stored by threads where an index says");
    }
    if (derived->workspace_bytes > 0) {
        jg_str_printf(trace, ", workspace %lld bytes", (long long)derived->workspace_bytes);
    }
    jg_str_puts(trace, "\n");
}
