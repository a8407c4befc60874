/* SPDX-License-Identifier: MIT */
/*
 * Blackwell. One warp loads by TMA, one multiplies by tcgen05 into tensor memory, four
 * write; where C or matrix operands are to be brought, one more loads those, and where
 * the hardware hands tiles out, one more asks for them. A CTA has a tile of 128 or 64 rows;
 * with cta_group=2 two CTAs multiply as one, each loading half of B. With swap_ab the
 * product is made transposed: its rows are the problem's columns. The ring has `stages`
 * pairs of A and B slices of 128 bytes of K; tensor memory has `acc_stages` accumulators,
 * so that a tile is multiplied while the one before is written. With split_k several CTAs
 * multiply a part of K each for the same tile. What TMA does not take is loaded by
 * threads, three warps more.
 */
#include "plan/arch_sm100a.h"

#include "base/error.h"
#include "base/math.h"
#include "plan/arch_list.h"

enum { MAX_REGISTERS = 255 };

/* Elements of a CTA's rows and an MMA's columns up to which a stage has 4 or 2 blocks. */
enum { K_GROUP_4_TILE = 64 * 16, K_GROUP_2_TILE = 64 * 96 };

/* What is tried, in order of preference between equals. Of two that give a CTA 64 rows,
 * only pairs: a multiplication of 64 rows alone takes as long as one of 128. Where D has
 * few rows in memory the transposed product wastes least: their length is spread over many
 * CTAs. */
static const struct candidate {
    int m, n, cta_group; /* of the MMA */
    int cluster_m, cluster_n;
    int transposed; /* does D lie as the transpose of the product? */
} candidates[] = {
    {256, 256, 2, 2, 1, 0}, {256, 256, 2, 4, 1, 0}, {256, 256, 2, 2, 2, 0},
    {256, 192, 2, 2, 1, 0}, {256, 192, 2, 4, 1, 0}, {256, 192, 2, 2, 2, 0},
    {256, 128, 2, 2, 1, 0}, {256, 128, 2, 4, 1, 0}, {256, 128, 2, 2, 2, 0},
    {128, 256, 1, 1, 1, 0}, {128, 256, 1, 2, 1, 0}, {128, 256, 1, 1, 2, 0},
    {128, 192, 1, 1, 1, 0}, {128, 192, 1, 2, 1, 0}, {128, 192, 1, 1, 2, 0},
    {128, 128, 1, 1, 1, 0}, {128, 128, 1, 2, 1, 0}, {128, 128, 1, 1, 2, 0},
    {128, 64, 1, 1, 1, 0},  {128, 64, 1, 2, 1, 0},  {128, 64, 1, 1, 2, 0},
    {128, 128, 2, 2, 1, 0}, {128, 64, 2, 2, 1, 0},  {128, 32, 2, 2, 1, 0},
    {128, 16, 1, 1, 1, 1},  {128, 32, 1, 1, 1, 1},  {128, 32, 2, 2, 1, 1},
    {128, 64, 2, 2, 1, 1},
};

enum { CANDIDATE_COUNT = sizeof(candidates) / sizeof(candidates[0]) };

/* Any types and layouts that a problem may have. */
static jit_gemm_status check_sm100a(const struct jg_problem *problem)
{
    (void)problem;
    return JIT_GEMM_OK;
}

/* The same kernels for the chip after it, and for both. Machine code for them lacks the
 * multiplication of 8-bit integers (kind::i8), which is sm_100a's alone. */
static jit_gemm_status check_family(const struct jg_problem *problem, const char *arch)
{
    if (problem->a.dtype == JIT_GEMM_DTYPE_S8) {
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "problem.a.dtype",
                       "build for sm_100a, which runs on compute capability 10.0",
                       "the tensor core of %s does not multiply s8", arch);
    }
    return check_sm100a(problem);
}

static jit_gemm_status check_sm103a(const struct jg_problem *problem)
{
    return check_family(problem, "sm_103a");
}

static jit_gemm_status check_sm100f(const struct jg_problem *problem)
{
    return check_family(problem, "sm_100f");
}

static int matches_sm103a(const struct jg_device_facts *facts)
{
    return facts->cc_major == 10 && facts->cc_minor == 3;
}

/* Compute capabilities 10.0 and 10.3. */
static int matches_sm100f(const struct jg_device_facts *facts)
{
    return facts->cc_major == 10 && (facts->cc_minor == 0 || facts->cc_minor == 3);
}

/* The chip alone, not its family: an "a" target runs nowhere else. */
static int matches_sm100a(const struct jg_device_facts *facts)
{
    return facts->cc_major == 10 && facts->cc_minor == 0;
}

static int list_sm100a_candidate(const struct jg_problem *problem, int index,
                                 struct jg_config *ret_config)
{
    if (index < 0 || index >= CANDIDATE_COUNT) {
        return 0;
    }
    const struct candidate *candidate = &candidates[index];
    *ret_config = (struct jg_config){.kernel = JG_KERNEL_GEMM,
                                     .mma_m = candidate->m,
                                     .mma_n = candidate->n,
                                     .cta_group = candidate->cta_group,
                                     .cluster_m = candidate->cluster_m,
                                     .cluster_n = candidate->cluster_n,
                                     .swap_ab = candidate->transposed !=
                                                jg_problem_is_column_major(problem)};
    return 1;
}

/* Do all CTAs run at once, with a tile each, whatever the sizes of a launch? */
static int is_one_wave(const struct jg_problem *problem,
                       const struct jg_device_facts *facts, const struct jg_config *config)
{
    const int exact = problem->m.mode == JIT_GEMM_DIM_EXACT &&
                      problem->n.mode == JIT_GEMM_DIM_EXACT &&
                      problem->batch.mode == JIT_GEMM_DIM_EXACT;
    struct jg_derived derived = {0};
    char reason[256];
    return exact && jg_resident_ctas(config, facts) > 0 &&
           jg_tiles_count(problem, facts, config, &derived, reason, sizeof(reason)) &&
           derived.tiles * config->split_k <= derived.busy_ctas;
}

/*
 * One wave needs no loop. For all else the hardware hands tiles out: an SM that is late,
 * because another kernel still has it or the one before this is slow to leave, then gets
 * fewer, where a static share would be waited for; and the grid follows the sizes of each
 * launch. The price is one warp and, as others have measured, about 1 us from a question to
 * its answer, which passes while the tile before is loaded. The choice rests on such
 * published figures (kernels of this kind reach cuBLAS with either); nothing here was timed
 * on the chip, hence scheduler=static for who wants to compare. Parts of K keep the static
 * share, where a cluster waits for its neighbour alone (jg/schedule/tile_scheduler.cuh).
 */
static enum jg_scheduler choose_scheduler(const struct jg_problem *problem,
                                          const struct jg_device_facts *facts,
                                          const struct jg_config *config)
{
    if (is_one_wave(problem, facts, config)) {
        return JG_SCHEDULER_SINGLE;
    }
    return config->split_k > 1 || jg_loads_by_threads(problem) ? JG_SCHEDULER_STATIC
                                                               : JG_SCHEDULER_CLC;
}

/* One accumulator is enough where each CTA has one tile. */
static int choose_acc_stages(const struct jg_problem *problem,
                             const struct jg_device_facts *facts,
                             const struct jg_config *config)
{
    return config->scheduler == JG_SCHEDULER_SINGLE || is_one_wave(problem, facts, config)
               ? 1
               : JG_SM100A_MAX_ACC_STAGES;
}

/*
 * A stage has several blocks of K where a tile is so small that a block is multiplied in
 * about the time that its barriers take; the bounds are those of published kernels, tuned
 * on the chip. Two stages at least are to be filled.
 */
static int choose_k_group(const struct jg_problem *problem, const struct jg_config *config)
{
    const int tile = config->tile_m * config->mma_n;
    int k_group = tile <= K_GROUP_4_TILE ? 4 : tile <= K_GROUP_2_TILE ? 2 : 1;
    while (k_group > 1 && jg_split_blocks(problem, config) < 2 * (int64_t)k_group) {
        k_group /= 2;
    }
    return k_group;
}

/* Fills the rest for this number of parts of K. */
static void complete_split(const struct jg_problem *problem,
                           const struct jg_device_facts *facts,
                           const struct jg_config_override *override, int split_k,
                           struct jg_config *config)
{
    const struct jg_config *wanted = &override->values;
    const struct jg_problem product = jg_product(problem, config);
    jg_common_complete(override, split_k, config);
    config->tile_m = config->mma_m / config->cta_group;
    config->tile_n = config->mma_n;
    config->tile_k = jg_tile_k(problem);
    config->prefetch = override->has_prefetch ? wanted->prefetch : JG_PREFETCH_NONE;
    if (config->tile_m == 0) { /* mma=1x.. of a pair: refused later */
        config->tile_m = 1;
    }
    config->scheduler = override->has_scheduler ? wanted->scheduler
                                                : choose_scheduler(&product, facts, config);
    config->k_group =
        override->has_k_group ? wanted->k_group : choose_k_group(problem, config);
    config->acc_stages = override->has_acc_stages
                             ? wanted->acc_stages
                             : choose_acc_stages(&product, facts, config);
    const struct jg_smem smem = jg_sm100a_smem(&product, config);
    config->stages = override->has_stages
                         ? wanted->stages
                         : jg_stages_choose(problem, &smem, facts, &jg_sm100a_stages);
    jg_raster_choose(&product, facts, override, config);
}

static int derive_sm100a(const struct jg_problem *problem,
                         const struct jg_device_facts *facts,
                         const struct jg_config *config, struct jg_derived *ret_derived,
                         char *reason, size_t reason_size)
{
    const struct jg_problem product = jg_product(problem, config);
    if (!jg_sm100a_check(&product, facts, config, reason, reason_size) ||
        !jg_out_stages_check(problem, config, reason, reason_size)) {
        return 0;
    }
    const struct jg_smem smem = jg_sm100a_smem(problem, config);
    const int matrix_stages = jg_sm100a_matrix_stages(problem);
    const int more_warps = (matrix_stages > 0) + (config->scheduler == JG_SCHEDULER_CLC) +
                           (jg_loads_by_threads(problem) ? JG_SM100A_HELPING_WARPS : 0);
    struct jg_derived derived = {.threads = JG_SM100A_THREADS +
                                            more_warps * JG_SM100A_WARP_THREADS,
                                 .smem_bytes = (int)jg_smem_bytes(&smem, config->stages),
                                 .max_registers = MAX_REGISTERS,
                                 .tmem_columns = jg_sm100a_tmem_columns(config),
                                 .matrix_stages = matrix_stages};
    if (!jg_tiles_count(&product, facts, config, &derived, reason, reason_size)) {
        return 0;
    }
    jg_sm100a_size_boxes(problem, config, &derived);
    derived.predicted_us = jg_sm100a_predict_us(&product, config, &derived);
    *ret_derived = derived;
    return 1;
}

static void complete_sm100a(const struct jg_problem *problem,
                            const struct jg_device_facts *facts,
                            const struct jg_config_override *override,
                            struct jg_config *config)
{
    jg_split_choose(problem, facts, override, complete_split, derive_sm100a, config);
}

/* What the chips of the family have in common. */
#define BLACKWELL                                                                          \
    .kernel_header = "jg/sm100a/gemm_kernel.cuh",                                          \
    .kernel_name = "jg::sm100a::gemm_kernel",                                              \
    .config_keys =                                                                         \
        "kernel mma cta_group cluster scheduler k_group stages acc_stages raster swizzle " \
        "out_stages pdl split_k split_order prefetch swap_ab debug trace",                 \
    .candidate = list_sm100a_candidate, .complete = complete_sm100a,                       \
    .derive = derive_sm100a
/* Memory is the 192 GB of the data sheet; a driver reports somewhat less. */
#define B200                                                                   \
    {                                                                          \
        .name = "NVIDIA B200", .cc_major = 10, .cc_minor = 0, .sm_count = 148, \
        .l2_bytes = INT64_C(132644864), .memory_bytes = INT64_C(192000000000), \
        .smem_optin_bytes = 232448                                             \
    }

const struct jg_arch jg_arch_sm100a = {.name = "sm_100a",
                                       .default_facts = B200,
                                       .matches = matches_sm100a,
                                       .check = check_sm100a,
                                       BLACKWELL};

/* Planned with the multiprocessors and the L2 of a B200: nobody here has met a B300. */
const struct jg_arch jg_arch_sm103a = {
    .name = "sm_103a",
    .default_facts = {.name = "NVIDIA B300",
                      .cc_major = 10,
                      .cc_minor = 3,
                      .sm_count = 148,
                      .l2_bytes = INT64_C(132644864),
                      .memory_bytes = INT64_C(288000000000),
                      .smem_optin_bytes = 232448},
    .matches = matches_sm103a,
    .check = check_sm103a,
    BLACKWELL};

const struct jg_arch jg_arch_sm100f = {.name = "sm_100f",
                                       .default_facts = B200,
                                       .matches = matches_sm100f,
                                       .check = check_sm100f,
                                       BLACKWELL};
