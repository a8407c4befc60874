/* SPDX-License-Identifier: MIT */
#include "plan/choose.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "plan/group_maps.h"
#include "plan/host_groups.h"
#include "plan/repack.h"
#include "plan/rows.h"
#include "plan/scale_pack.h"
#include "plan/split.h"
#include "plan/trace.h"
#include "plan/trial.h"

enum {
    REFERENCE_THREADS = 256,
    REFERENCE_FRACTION_BITS = 52,  /* of its f64 sums */
    REFERENCE_MAX_GRID = 65535 * 8 /* the rest is a grid-stride loop */
};

/* A candidate must be better by more than rounding: equal costs keep the earlier one on
 * every compiler. */
#define BETTER_BY 1e-9

/* ---------------------------------------------------------------- reference kernel */

static jit_gemm_status choose_reference(const struct jg_arch *arch,
                                        const struct jg_problem *problem,
                                        struct jg_choice *ret_choice, struct jg_str *trace)
{
    if (problem->d.scale.kind != JIT_GEMM_SCALE_NONE) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.d.scale.kind",
                       "leave it zero, or the kernel to the choice",
                       "the reference kernel computes no scales of D");
    }
    if (problem->invariant != JIT_GEMM_INVARIANT_NONE) {
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, "problem.config",
            "leave invariant=m out, or the kernel to the choice",
            "kernel=reference: it sums in f64, so that a row's bits would depend "
            "on the config");
    }
    struct jg_choice choice;
    memset(&choice, 0, sizeof(choice));
    choice.config.kernel = JG_KERNEL_REFERENCE;
    choice.config.layout.swap_ab = jg_problem_is_column_major(problem);
    choice.product = jg_product_make(problem, choice.config.layout.swap_ab);
    choice.derived.threads = REFERENCE_THREADS;
    choice.derived.sum_fraction_bits =
        jg_dtype_is_integer(problem->a.dtype) ? 0 : REFERENCE_FRACTION_BITS;
    const int64_t blocks =
        jg_ceil_div(problem->m.size * problem->n.size, REFERENCE_THREADS);
    int64_t grid;
    if (!jg_mul_checked(blocks, problem->batch.size, &grid)) {
        grid = REFERENCE_MAX_GRID;
    }
    choice.derived.grid_ctas = (int)jg_min(grid, REFERENCE_MAX_GRID);
    const struct jg_scale_pack_size scales =
        jg_scale_pack_planned_size(problem, &choice.product);
    choice.derived.workspace_bytes = jg_scale_pack_place(&choice.product, &scales, 0).end;
    if (choice.derived.workspace_bytes == INT64_MAX) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.batch", "split the problem",
                       "scales that are packed first take more than 2^63 bytes");
    }
    choice.derived.copied_bytes = choice.derived.workspace_bytes;
    choice.derived.host_groups = jg_host_groups_count(problem, &choice.config, 0);
    if (trace != NULL) {
        jg_trace_begin(trace, "chosen", arch, &choice.config);
        jg_str_printf(trace, "named by the config, grid %d\n", choice.derived.grid_ctas);
        JG_TRY(jg_str_status(trace));
    }
    *ret_choice = choice;
    return JIT_GEMM_OK;
}

/* --------------------------------------------------------------------- GEMM kernel */

/* An override that names an mma means one thing by it: the plain product, by a pair of CTAs
 * if it has 256 rows, unless it says otherwise. */
static void resolve_mma(struct jg_config_override *override)
{
    if (!override->has_mma) {
        return;
    }
    if (!override->has_cta_group) {
        override->values.layout.cta_group = override->values.layout.mma_m == 256 ? 2 : 1;
        override->has_cta_group = true;
    }
    override->has_swap_ab = true; /* 0 where it was not */
}

/* Has the chip this tile, in turn or shared, for the product as it is and for the
 * transposed one? */
static bool has_both_ways(const struct jg_arch *arch, const struct jg_problem *problem,
                          const struct jg_config_layout *wanted)
{
    bool has_way[2] = {false, false};
    struct jg_config config;
    for (int i = 0; arch->candidate(problem, i, &config); i++) {
        const struct jg_config_layout *layout = &config.layout;
        if (layout->tile_m == wanted->tile_m && layout->tile_n == wanted->tile_n &&
            layout->pingpong == wanted->pingpong) {
            has_way[layout->swap_ab != 0] = true;
        }
    }
    return has_way[0] && has_way[1];
}

/* One that names a tile means one that the warpgroups share, and the product as it is if
 * there is one, unless it says otherwise. */
static void resolve_tile(const struct jg_arch *arch, const struct jg_problem *problem,
                         struct jg_config_override *override)
{
    override->has_pingpong |= override->has_tile; /* 0 where it was not */
    override->has_swap_ab |=
        override->has_tile && has_both_ways(arch, problem, &override->values.layout);
}

/* Parts of K in a cluster leave it no other CTAs, unless the override asks for some and
 * hears why it cannot have them. */
static void resolve_cluster(struct jg_config_override *override)
{
    struct jg_config *wanted = &override->values;
    if (override->has_cluster_k && !override->has_split_order) {
        wanted->launch.split_order = JG_SPLIT_CLUSTER;
        override->has_split_order = true;
    }
    if (!override->has_split_order || wanted->launch.split_order != JG_SPLIT_CLUSTER ||
        override->has_cluster) {
        return;
    }
    wanted->layout.cluster_m = wanted->layout.cluster_n = 1;
    override->has_cluster = true;
}

/* What an override leaves unsaid, but means. */
static void resolve(const struct jg_arch *arch, const struct jg_problem *problem,
                    struct jg_config_override *override)
{
    resolve_mma(override);
    resolve_tile(arch, problem, override);
    resolve_cluster(override);
}

/* How many parts of this candidate's shape differ from what the override names. */
static int count_differences(const struct jg_config_override *override,
                             const struct jg_config *config)
{
    const struct jg_config *wanted = &override->values;
    return (override->has_tile && (config->layout.tile_m != wanted->layout.tile_m ||
                                   config->layout.tile_n != wanted->layout.tile_n)) +
           (override->has_mma && (config->layout.mma_m != wanted->layout.mma_m ||
                                  config->layout.mma_n != wanted->layout.mma_n)) +
           (override->has_cta_group &&
            config->layout.cta_group != wanted->layout.cta_group) +
           (override->has_cluster &&
            (config->layout.cluster_m != wanted->layout.cluster_m ||
             config->layout.cluster_n != wanted->layout.cluster_n)) +
           (override->has_pingpong && config->layout.pingpong != wanted->layout.pingpong) +
           (override->has_swap_ab && config->layout.swap_ab != wanted->layout.swap_ab);
}

/* Gives a candidate the shape that the override names. */
static void apply_override(const struct jg_config_override *override,
                           struct jg_config *config)
{
    const struct jg_config *wanted = &override->values;
    if (override->has_tile) {
        config->layout.tile_m = wanted->layout.tile_m;
        config->layout.tile_n = wanted->layout.tile_n;
    }
    if (override->has_tile_k) {
        config->layout.tile_k = wanted->layout.tile_k;
    }
    if (override->has_mma) {
        config->layout.mma_m = wanted->layout.mma_m;
        config->layout.mma_n = wanted->layout.mma_n;
    }
    if (override->has_cta_group) {
        config->layout.cta_group = wanted->layout.cta_group;
    }
    if (override->has_cluster) {
        config->layout.cluster_m = wanted->layout.cluster_m;
        config->layout.cluster_n = wanted->layout.cluster_n;
    }
    if (override->has_pingpong) {
        config->layout.pingpong = wanted->layout.pingpong;
    }
    if (override->has_swap_ab) {
        config->layout.swap_ab = wanted->layout.swap_ab;
    }
}

static bool is_usable(const struct jg_trial *trial)
{
    return trial->reason[0] == '\0';
}

/* Its time, and what a workspace for parts of K must save. */
static double price_of(const struct jg_trial *trial)
{
    const double workspace = jg_workspace_least_gain(&trial->config);

    return trial->derived.predicted_us / (1.0 - workspace);
}

static bool is_faster(const struct jg_trial *trial, const struct jg_trial *best)
{
    return is_usable(trial) &&
           (!is_usable(best) || price_of(trial) < price_of(best) * (1.0 - BETTER_BY));
}

/* With these copies of A and B. */
static struct jg_trial try_repack(const struct jg_arch *arch, const struct jg_trial *trial,
                                  enum jg_repack repack)
{
    struct jg_trial one = *trial;
    one.reason[0] = one.note[0] = '\0';
    one.config.pipeline.repack = repack;
    one.product = jg_product_make(one.problem, one.config.layout.swap_ab);
    one.product.has_group_maps = jg_has_group_maps(&one.config);
    one.product.has_row_boxes = one.config.pipeline.row_boxes == JG_ROW_BOXES_USED;
    jg_repack_product(&one.config, &one.product);
    jg_split_choose(arch, &one);
    /* It has a reason where one of these says no. */
    (void)(jg_row_boxes_check(&one) && arch->derive(&one) &&
           jg_row_boxes_complete(&one, arch->copied_rows));
    return one;
}

static struct jg_trial try_group_maps(const struct jg_arch *arch,
                                      const struct jg_trial *trial,
                                      enum jg_group_maps group_maps)
{
    struct jg_trial one = *trial;
    one.config.pipeline.group_maps = group_maps;
    return try_repack(arch, &one, JG_REPACK_ALIGNED);
}

/* Of matrices by pointers: the least predicted time among what the problem's limit on the
 * workspace allows. */
static void examine_pointers(const struct jg_arch *arch, struct jg_trial *trial)
{
    const struct jg_trial mapped = try_group_maps(arch, trial, JG_GROUP_MAPS_WRITTEN);
    if (jg_group_maps_are_needed(trial->problem)) {
        *trial = mapped; /* no choice, as reductions are none */
        return;
    }
    struct jg_trial loaded = try_group_maps(arch, trial, JG_GROUP_MAPS_UNUSED);
    const bool is_mapped = mapped.reason[0] == '\0';
    const int64_t used = mapped.derived.workspace_bytes - mapped.derived.copied_bytes;
    const bool has_room = is_mapped && jg_group_maps_have_room(&mapped, used);
    if (has_room && (loaded.reason[0] != '\0' ||
                     mapped.derived.predicted_us < loaded.derived.predicted_us)) {
        *trial = mapped;
        return;
    }
    if (is_mapped && !has_room) {
        (void)snprintf(loaded.note, sizeof(loaded.note),
                       "maps of each group would take %lld bytes of workspace, of which "
                       "%llu are allowed",
                       (long long)mapped.derived.workspace_bytes,
                       (unsigned long long)trial->problem->workspace_limit);
    }
    *trial = loaded;
}

static struct jg_trial try_row_boxes(const struct jg_arch *arch,
                                     const struct jg_trial *trial,
                                     enum jg_row_boxes row_boxes)
{
    struct jg_trial one = *trial;
    one.config.pipeline.row_boxes = row_boxes;
    return try_repack(arch, &one, JG_REPACK_ALIGNED);
}

/* Of an A whose rows an index names: the least predicted time of copies of several rows and
 * of threads. Single rows are copied where a config asks for it: at best they were measured
 * to be as fast as threads. */
static void examine_indexed(const struct jg_arch *arch, struct jg_trial *trial)
{
    const struct jg_trial loaded = try_row_boxes(arch, trial, JG_ROW_BOXES_UNUSED);
    if (arch->copied_rows == 1) {
        *trial = loaded;
        return;
    }
    const struct jg_trial copied = try_row_boxes(arch, trial, JG_ROW_BOXES_USED);
    *trial = is_faster(&loaded, &copied) ? loaded : copied;
}

/* Says of a trial whose threads load why nothing is copied instead. */
static void note_copies(struct jg_trial *trial, const struct jg_trial *copied,
                        bool has_room)
{
    const double us = copied->derived.predicted_us;
    if (copied->reason[0] != '\0') {
        (void)snprintf(trial->note, sizeof(trial->note), "%s", copied->reason);
    } else if (!has_room) {
        (void)snprintf(trial->note, sizeof(trial->note),
                       "copies of both would take %lld bytes of workspace, of which %llu "
                       "are allowed",
                       (long long)copied->derived.workspace_bytes,
                       (unsigned long long)trial->problem->workspace_limit);
    } else {
        (void)snprintf(trial->note, sizeof(trial->note),
                       "copies of both would make it %lld us", (long long)(us + 0.5));
    }
}

/* Makes the rest of a trial whose config has its shape. Whether it works on copies the
 * override says, or the least predicted time among what the problem's limit on the
 * workspace allows. */
static void examine(const struct jg_arch *arch, struct jg_trial *trial)
{
    const struct jg_config_override *override = trial->override;
    const enum jg_repack named = override->values.pipeline.repack;
    const enum jg_group_maps maps = override->values.pipeline.group_maps;
    const bool may_have_maps = trial->problem->group_by == JIT_GEMM_GROUP_BY_POINTERS &&
                               !jg_inputs_are_unaligned(trial->problem);
    trial->config.pipeline.group_maps =
        may_have_maps || maps == JG_GROUP_MAPS_WRITTEN ? maps : JG_GROUP_MAPS_NONE;
    if (may_have_maps && !override->has_group_maps && named <= JG_REPACK_NONE) {
        examine_pointers(arch, trial);
        return;
    }
    const enum jg_row_boxes boxes = override->values.pipeline.row_boxes;
    const bool may_have_boxes = trial->problem->a_rows == JIT_GEMM_ROWS_INDEXED &&
                                !jg_inputs_are_unaligned(trial->problem);
    trial->config.pipeline.row_boxes =
        may_have_boxes || boxes == JG_ROW_BOXES_USED ? boxes : JG_ROW_BOXES_NONE;
    if (may_have_boxes && !override->has_row_boxes && named <= JG_REPACK_NONE) {
        examine_indexed(arch, trial);
        return;
    }
    if (!jg_inputs_are_unaligned(trial->problem)) {
        *trial =
            try_repack(arch, trial, named > JG_REPACK_NONE ? named : JG_REPACK_ALIGNED);
        return;
    }
    if (override->has_repack) {
        *trial = try_repack(arch, trial, named);
        return;
    }
    struct jg_trial loaded = try_repack(arch, trial, JG_REPACK_NONE);
    const struct jg_trial copied = try_repack(arch, trial, JG_REPACK_AB);
    const bool is_copied = copied.reason[0] == '\0';
    const bool is_loaded = loaded.reason[0] == '\0';
    const int64_t sums =
        jg_split_use(&copied.config, copied.derived.tiles, copied.derived.sums_bytes).bytes;
    const bool has_room = is_copied && jg_repack_has_room(&copied, sums);
    if (has_room &&
        (!is_loaded || copied.derived.predicted_us < loaded.derived.predicted_us)) {
        *trial = copied;
        return;
    }
    if (is_loaded) {
        note_copies(&loaded, &copied, has_room);
    }
    *trial = loaded;
}

/*
 * The best usable candidate of those that fit the override; if none does, of all as the
 * override changes them, because a chip may take more shapes than it offers. If none is
 * usable, best->reason is that of the first one that had to change least. `best` begins
 * with what is asked and a reason; the index is that of a candidate, or -1 of a changed
 * one.
 */
static void find_best(const struct jg_arch *arch, struct jg_trial *best, int *ret_index)
{
    int least = INT_MAX;
    struct jg_trial trial = *best;
    for (int i = 0; arch->candidate(trial.problem, i, &trial.config); i++) {
        const int differences = count_differences(trial.override, &trial.config);
        if (least == 0 && differences > 0) {
            continue;
        }
        apply_override(trial.override, &trial.config);
        examine(arch, &trial);
        /* One that fits as it is goes before all that had to change. */
        const bool first = differences < least && (differences == 0 || !is_usable(best));
        if (first || is_faster(&trial, best)) {
            *best = trial;
            *ret_index = differences == 0 ? i : -1;
        }
        least = differences < least ? differences : least;
    }
}

/* A candidate that was not chosen, and where its line goes. */
struct loser {
    int index;
    bool fits;   /* what the override names */
    bool usable; /* and that the chip takes */
    double predicted_us;
};

/* Those that could have been chosen by their predictions, then those that the chip refuses,
 * then those that the config excludes; otherwise as the chip lists them. */
static int compare_losers(const void *a, const void *b)
{
    const struct loser *x = a;
    const struct loser *y = b;
    if (x->fits != y->fits || x->usable != y->usable) {
        return x->fits != y->fits ? (x->fits ? -1 : 1) : (x->usable ? -1 : 1);
    }
    if (x->usable && x->predicted_us != y->predicted_us) {
        return x->predicted_us < y->predicted_us ? -1 : 1;
    }
    return x->index - y->index;
}

/* Words that the numbers below, with one digit, cannot say. */
static const char *slower_words(double predicted_us, double best_us)
{
    return predicted_us < best_us * (1.0 - BETTER_BY)
               ? "faster by too little for a workspace: "
           : predicted_us <= best_us / (1.0 - BETTER_BY)
               ? "a tie, and the chosen one is listed earlier: "
           : predicted_us < best_us + 0.1 ? "slower by less than 0.1 us: "
                                          : "slower: ";
}

static void trace_loser(const struct jg_arch *arch, const struct jg_trial *trial,
                        const struct loser *loser, double best_us, struct jg_str *trace)
{
    jg_trace_begin(trace, "rejected", arch, &trial->config);
    if (!loser->fits) {
        jg_str_puts(trace, "the config names another one\n");
    } else if (!loser->usable) {
        jg_str_printf(trace, "%s\n", trial->reason);
    } else {
        jg_str_puts(trace, slower_words(loser->predicted_us, best_us));
        jg_trace_numbers(trace, arch, trial);
    }
}

/* Fills the list if there is one; all candidates as they were before the override changed
 * them. Returns how many there are. */
static int list_losers(const struct jg_arch *arch, const struct jg_trial *best,
                       int best_index, struct loser *ret_losers)
{
    struct jg_trial trial = *best;
    int count = 0;
    for (int i = 0; arch->candidate(trial.problem, i, &trial.config); i++) {
        if (i == best_index && is_usable(best)) {
            continue;
        }
        if (ret_losers != NULL) {
            const bool fits = count_differences(trial.override, &trial.config) == 0;
            examine(arch, &trial);
            ret_losers[count] = (struct loser){.index = i,
                                               .fits = fits,
                                               .usable = fits && is_usable(&trial),
                                               .predicted_us = trial.derived.predicted_us};
        }
        count++;
    }
    return count;
}

/* The best one, and all others. */
static void trace_all(const struct jg_arch *arch, const struct jg_trial *best,
                      int best_index, struct jg_str *trace)
{
    const int count = list_losers(arch, best, best_index, NULL);
    struct loser *losers = jg_alloc_array((size_t)count, sizeof(*losers));
    if (losers == NULL) {
        trace->failed = true;
        return;
    }
    if (is_usable(best)) {
        jg_trace_begin(trace, "chosen", arch, &best->config);
        jg_trace_numbers(trace, arch, best);
    }
    (void)list_losers(arch, best, best_index, losers);
    qsort(losers, (size_t)count, sizeof(*losers), compare_losers);
    for (int i = 0; i < count; i++) {
        struct jg_trial trial = *best;
        (void)arch->candidate(trial.problem, losers[i].index, &trial.config);
        examine(arch, &trial);
        trial.note[0] = '\0'; /* the chosen one says it */
        trace_loser(arch, &trial, &losers[i], best->derived.predicted_us, trace);
    }
    jg_free(losers);
}

static jit_gemm_status fail_unusable(const struct jg_trial *best)
{
    if (best->problem->config[0] != '\0') {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.config",
                       "change the config, or leave keys out to have them chosen", "%s",
                       best->reason);
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem", "change the problem", "%s",
                   best->reason);
}

static jit_gemm_status choose_gemm(const struct jg_arch *arch, struct jg_trial *best,
                                   struct jg_choice *ret_choice, struct jg_str *trace)
{
    int best_index = -1;
    find_best(arch, best, &best_index);
    if (trace != NULL) {
        trace_all(arch, best, best_index, trace);
        JG_TRY(jg_str_status(trace));
    }
    if (!is_usable(best)) {
        return fail_unusable(best);
    }
    *ret_choice = (struct jg_choice){
        .config = best->config, .product = best->product, .derived = best->derived};
    ret_choice->derived.host_groups = jg_host_groups_count(
        best->problem, &best->config, (uint32_t)best->derived.tail_maps);
    return JIT_GEMM_OK;
}

/* What would be chosen for a problem that asks for less. */
static jit_gemm_status trace_cheaper(const struct jg_arch *arch,
                                     const struct jg_trial *empty,
                                     const struct jg_problem *problem, const char *name,
                                     struct jg_str *trace)
{
    struct jg_trial best = *empty;
    best.problem = problem;
    int index;
    find_best(arch, &best, &index);
    if (is_usable(&best)) {
        jg_trace_begin(trace, name, arch, &best.config);
        jg_trace_numbers(trace, arch, &best);
    }
    return jg_str_status(trace);
}

/* What promises and pointers cost: what would be chosen without the one, and for matrices
 * that lie together. */
static jit_gemm_status trace_price(const struct jg_arch *arch, const struct jg_trial *empty,
                                   struct jg_str *trace)
{
    struct jg_problem problem = *empty->problem;
    if (trace == NULL) {
        return JIT_GEMM_OK;
    }
    if (problem.invariant != JIT_GEMM_INVARIANT_NONE) {
        problem.invariant = JIT_GEMM_INVARIANT_NONE;
        JG_TRY(trace_cheaper(arch, empty, &problem, "without invariant=m", trace));
    }
    if (problem.group_by == JIT_GEMM_GROUP_BY_POINTERS) {
        const uint64_t limit = problem.workspace_limit;
        if (limit < (uint64_t)jg_group_maps_bytes(problem.batch.size) &&
            !jg_group_maps_are_needed(&problem)) {
            problem.workspace_limit = UINT64_MAX;
            JG_TRY(trace_cheaper(arch, empty, &problem, "with a workspace", trace));
        }
        problem.workspace_limit = limit;
        problem.group_by = JIT_GEMM_GROUP_BY_COUNTS;
        JG_TRY(trace_cheaper(arch, empty, &problem, "with group_by=counts", trace));
    }
    return JIT_GEMM_OK;
}

/* Of no config yet; the sizes of groups are those that the problem gives. */
static struct jg_trial begin_trial(const struct jg_problem *problem,
                                   const struct jg_device_facts *facts,
                                   const struct jg_config_override *override)
{
    struct jg_trial trial = {.problem = problem, .facts = facts, .override = override};
    memcpy(trial.sizes, problem->typical_sizes, sizeof(trial.sizes));
    return trial;
}

/* Reads and checks the config's text; `best` has what is asked, and a reason, afterwards.
 * It borrows the override. */
static jit_gemm_status begin_choice(const struct jg_arch *arch,
                                    const struct jg_problem *problem,
                                    const struct jg_device_facts *facts,
                                    struct jg_config_override *override,
                                    struct jg_trial *best)
{
    JG_TRY(jg_arch_check(arch, problem));
    JG_TRY(jg_config_check_keys(override, arch->name, arch->config_keys));
    resolve(arch, problem, override);
    *best = begin_trial(problem, facts, override);
    (void)jg_trial_reject(best, "%s has no candidates", arch->name);
    return JIT_GEMM_OK;
}

static bool is_reference(const struct jg_config_override *override)
{
    return override->has_kernel && override->values.kernel == JG_KERNEL_REFERENCE;
}

jit_gemm_status jg_config_choose(const struct jg_arch *arch,
                                 const struct jg_problem *problem,
                                 const struct jg_device_facts *facts,
                                 struct jg_choice *ret_choice, struct jg_str *trace)
{
    struct jg_config_override override;
    struct jg_trial best;
    JG_TRY(jg_config_parse(problem->config, &override));
    if (is_reference(&override)) {
        return choose_reference(arch, problem, ret_choice, trace);
    }
    JG_TRY(begin_choice(arch, problem, facts, &override, &best));
    const struct jg_trial empty = best;
    JG_TRY(choose_gemm(arch, &best, ret_choice, trace));
    return trace_price(arch, &empty, trace);
}

/* The chosen one, and the losers that could have been. `ret_candidates` has room. */
static size_t fill_candidates(const struct jg_arch *arch, const struct jg_trial *best,
                              const struct loser *losers, int loser_count,
                              struct jg_candidate *ret_candidates)
{
    size_t count = 0;
    ret_candidates[count++] =
        (struct jg_candidate){best->config, best->derived.predicted_us};
    for (int i = 0; i < loser_count && losers[i].usable; i++) {
        struct jg_trial trial = *best;
        (void)arch->candidate(trial.problem, losers[i].index, &trial.config);
        apply_override(trial.override, &trial.config);
        examine(arch, &trial);
        if (is_usable(&trial)) {
            ret_candidates[count++] =
                (struct jg_candidate){trial.config, trial.derived.predicted_us};
        }
    }
    return count;
}

jit_gemm_status jg_config_list(const struct jg_arch *arch, const struct jg_problem *problem,
                               const struct jg_device_facts *facts,
                               struct jg_candidate **ret_candidates, size_t *ret_count)
{
    struct jg_config_override override;
    struct jg_trial best;
    int best_index = -1;
    JG_TRY(jg_config_parse(problem->config, &override));
    if (is_reference(&override)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.config",
                       "leave kernel=reference out",
                       "the reference kernel has no candidates");
    }
    JG_TRY(begin_choice(arch, problem, facts, &override, &best));
    find_best(arch, &best, &best_index);
    if (!is_usable(&best)) {
        return fail_unusable(&best);
    }
    const int count = list_losers(arch, &best, best_index, NULL);
    struct loser *losers = jg_alloc_array((size_t)count, sizeof(*losers));
    struct jg_candidate *candidates =
        jg_alloc_array((size_t)count + 1, sizeof(*candidates));
    if (losers == NULL || candidates == NULL) {
        jg_free(losers);
        jg_free(candidates);
        return jg_fail_memory();
    }
    (void)list_losers(arch, &best, best_index, losers);
    qsort(losers, (size_t)count, sizeof(*losers), compare_losers);
    *ret_count = fill_candidates(arch, &best, losers, count, candidates);
    *ret_candidates = candidates;
    jg_free(losers);
    return JIT_GEMM_OK;
}

double jg_config_predict(const struct jg_arch *arch, const struct jg_problem *problem,
                         const struct jg_device_facts *facts,
                         const struct jg_config_override *config)
{
    if (is_reference(config)) {
        return 0.0;
    }
    struct jg_config_override whole = *config;
    resolve(arch, problem, &whole);
    struct jg_trial trial = begin_trial(problem, facts, &whole);
    apply_override(&whole, &trial.config);
    examine(arch, &trial);
    return is_usable(&trial) ? trial.derived.predicted_us : (double)INFINITY;
}
