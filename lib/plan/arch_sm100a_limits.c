/* SPDX-License-Identifier: MIT */
/* Blackwell's sizes and limits. The kernel asserts the same sizes
 * (kernel_src/jg/sm100a/smem.cuh). */
#include "plan/arch_sm100a.h"

#include <stdio.h>

#include "base/math.h"

enum {
    EPILOGUE_WARPS = 4,
    MAX_MATRIX_STAGES = 4,
    CLC_BYTES = 112,      /* answers of launch control and their barriers */
    LOAD_ORDER_BYTES = 8, /* the barrier at which matrices wait for the first inputs */
    TMEM_COLUMNS = 512,
    TMEM_ADDRESS_BYTES = 8, /* of the word that publishes the address of tensor memory */
    WARP_LANES = 32,
    TMEM_STEP = 32, /* columns that are allocated at least */
    MAX_MMA_N = 256,
    LEAST_SPAN = 32,       /* bytes of a row of A or B in the narrowest swizzle */
    WORD_SPAN = 128,       /* in the only one for elements of 32 bits along M or N */
    STEP = 64,             /* columns of D in a step of the epilogue, and most rows */
    MIN_SLAB = 16,         /* columns of an accumulator that a slab of D takes at least */
    SLABS_FOR_VECTORS = 2, /* output stages whose memory holds a staging area */
    /* More than half of what a multiprocessor has: one CTA each, because two clusters that
     * each hold a part of the tensor memory which the other waits for would never end. */
    LEAST_SMEM_BYTES = 116 * 1024,
    MAX_CLUSTER = 16, /* CTAs; more than 8 are not chosen, because fewer fit */
    MIN_STAGES = 2,
    MAX_STAGES = 8
};

const struct jg_stage_limits jg_sm100a_stages = {
    .least = MIN_STAGES, .most = MAX_STAGES, .arch = "sm_100a", .shape = ""};

/* --------------------------------------------------------------------------- sizes */

/* Room for two steps of the epilogue, so that one lands while the other is read; for one,
 * if that is much; for none if even one is too much: the epilogue loads itself then. */
int jg_sm100a_matrix_stages(const struct jg_problem *problem)
{
    const int step = jg_matrix_stages(problem);
    if (2 * step <= MAX_MATRIX_STAGES) {
        return 2 * step;
    }
    return step <= MAX_MATRIX_STAGES ? step : 0;
}

/* Does D lie in memory as the transpose of the product? */
static int is_transposed(const struct jg_problem *problem, const struct jg_config *config)
{
    return config->layout.swap_ab != jg_problem_is_column_major(problem);
}

struct jg_sm100a_lanes jg_sm100a_lanes(const struct jg_config *config)
{
    const int split = config->layout.cta_group == 2 && config->layout.mma_m == 128;
    return (struct jg_sm100a_lanes){
        .of_warp = config->layout.mma_m == 64 ? WARP_LANES / 2 : WARP_LANES,
        .split = split,
        .columns = split ? config->layout.mma_n / 2 : config->layout.mma_n};
}

int jg_sm100a_tmem_columns(const struct jg_config *config)
{
    const int64_t pitch = jg_align_up(jg_sm100a_lanes(config).columns, TMEM_STEP);
    int columns = TMEM_STEP;
    while (columns < pitch * config->storage.acc_stages) {
        columns *= 2;
    }
    return columns;
}

/* The greatest power of two that divides it. */
static int power_in(int value)
{
    return value & -value;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* A slab of D as wide as a swizzle may be, if that divides the tile. Else the epilogue by
 * vectors writes, and the box is never used. */
static void size_slabs(const struct jg_problem *problem, const struct jg_config *config,
                       struct jg_derived *derived)
{
    const int element_bytes = jg_dtype_bytes(problem->d.dtype);
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(config);
    if (is_transposed(problem, config)) { /* lanes lie side by side in D */
        const int warps = JG_ROW_BYTES / element_bytes / lanes.of_warp;
        const int rows = lesser(warps * lanes.of_warp, power_in(lanes.columns));
        derived->d_box_rows = rows < MIN_SLAB ? MIN_SLAB : rows;
        derived->d_row_bytes = JG_ROW_BYTES;
    } else {
        const int bytes = lesser(JG_ROW_BYTES, power_in(lanes.columns * element_bytes));
        derived->d_box_rows = lanes.of_warp;
        derived->d_row_bytes = bytes < MIN_SLAB * element_bytes ? JG_ROW_BYTES : bytes;
    }
}

/* Rows of a matrix that a team of warps takes in a step, and how many teams there are. */
static int count_step_rows(const struct jg_problem *problem, const struct jg_config *config,
                           int *ret_teams)
{
    const struct jg_sm100a_lanes lanes = jg_sm100a_lanes(config);
    if (is_transposed(problem, config)) {
        *ret_teams = lanes.of_warp == WARP_LANES ? 2 : 1;
        return lesser(STEP, lanes.columns);
    }
    *ret_teams = lanes.split ? 2 : 1;
    return EPILOGUE_WARPS * lanes.of_warp / *ret_teams;
}

/* What one CTA has of an input of the product. */
struct input {
    char letter, size; /* of the problem's matrix; M or N of the product */
    const char *unit;  /* what lies along it */
    jit_gemm_dtype dtype;
    int k_major;
    int count;  /* of M or N */
    int slices; /* CTAs that load a part each and send it to the others */
};

/* A is shared along N, B by the CTAs along M that are the same half of their pair. */
static struct input input_a(const struct jg_problem *product,
                            const struct jg_config *config)
{
    return (struct input){.letter = config->layout.swap_ab ? 'B' : 'A',
                          .size = 'M',
                          .unit = "rows",
                          .dtype = product->a.dtype,
                          .k_major = !product->a.is_mn_major,
                          .count = config->layout.tile_m,
                          .slices = config->layout.cluster_n};
}

static struct input input_b(const struct jg_problem *product,
                            const struct jg_config *config)
{
    return (struct input){.letter = config->layout.swap_ab ? 'A' : 'B',
                          .size = 'N',
                          .unit = "columns",
                          .dtype = product->b.dtype,
                          .k_major = !product->b.is_mn_major,
                          .count = config->layout.tile_n / config->layout.cta_group,
                          .slices = config->layout.cluster_m / config->layout.cta_group};
}

/* A row is one M or N and holds K, or one K and as much of M or N as a swizzle spans. */
static void size_box(const struct input *input, const struct jg_config *config,
                     int *ret_rows, int *ret_row_bytes)
{
    const int bytes = input->count * jg_dtype_bytes(input->dtype);
    *ret_rows = (input->k_major ? input->count : config->layout.tile_k) / input->slices;
    *ret_row_bytes = input->k_major ? JG_ROW_BYTES : lesser(JG_ROW_BYTES, power_in(bytes));
}

void jg_sm100a_size_boxes(const struct jg_problem *problem, const struct jg_config *config,
                          struct jg_derived *derived)
{
    const struct jg_problem product = jg_product(problem, config);
    const struct input a = input_a(&product, config);
    const struct input b = input_b(&product, config);
    int teams;
    size_box(&a, config, &derived->a_box_rows, &derived->a_row_bytes);
    size_box(&b, config, &derived->b_box_rows, &derived->b_row_bytes);
    size_slabs(problem, config, derived);
    derived->matrix_box_rows = count_step_rows(problem, config, &teams);
}

struct jg_smem jg_sm100a_smem(const struct jg_problem *problem,
                              const struct jg_config *config)
{
    int teams;
    const int64_t step_rows = count_step_rows(problem, config, &teams);
    const int64_t rows =
        config->layout.tile_m + config->layout.tile_n / config->layout.cta_group;
    const int64_t warp_rows = (int64_t)EPILOGUE_WARPS * jg_sm100a_lanes(config).of_warp;
    const int64_t matrix_bytes = teams * step_rows * JG_ROW_BYTES + JG_RING_BARRIER_BYTES;
    const int matrix_stages = jg_sm100a_matrix_stages(problem);
    return (struct jg_smem){
        .stage_blocks = config->pipeline.k_group,
        .stage_bytes =
            config->pipeline.k_group * rows * JG_ROW_BYTES + JG_RING_BARRIER_BYTES,
        .other_bytes = warp_rows * config->storage.out_stages * JG_ROW_BYTES +
                       matrix_stages * matrix_bytes +
                       (matrix_stages > 0 ? LOAD_ORDER_BYTES : 0) +
                       (int64_t)config->storage.acc_stages * JG_RING_BARRIER_BYTES +
                       (config->launch.scheduler == JG_SCHEDULER_CLC ? CLC_BYTES : 0) +
                       TMEM_ADDRESS_BYTES,
        .least_bytes = LEAST_SMEM_BYTES};
}

/* ----------------------------------------------------------------------- the limits */

/* Of what N is a multiple that one multiplication takes (PTX ISA, tcgen05.mma, shapes by
 * kind and by layout of 8-bit operands). */
static int step_of_n(const struct jg_problem *product, const struct jg_config *config)
{
    const int pair = config->layout.cta_group == 2;
    if (jg_dtype_bytes(product->b.dtype) == 1 && product->b.is_mn_major) {
        return pair ? 32 : 16;
    }
    if (product->a.dtype == JIT_GEMM_DTYPE_S8 && (pair || config->layout.mma_n > 32)) {
        return pair ? 32 : 16;
    }
    return config->layout.mma_m == 64 ? 8 : 16;
}

static int check_shape(const struct jg_problem *product, const struct jg_config *config,
                       char *reason, size_t size)
{
    const int least_m = config->layout.cta_group == 2 ? 128 : 64;
    const int step = step_of_n(product, config);
    if (config->layout.mma_m != least_m && config->layout.mma_m != 2 * least_m) {
        snprintf(reason, size, "mma=%dx%d: M is %d or %d with cta_group=%d on sm_100a",
                 config->layout.mma_m, config->layout.mma_n, least_m, 2 * least_m,
                 config->layout.cta_group);
        return 0;
    }
    if (config->layout.mma_n % step != 0 || config->layout.mma_n > MAX_MMA_N) {
        snprintf(reason, size,
                 "mma=%dx%d: N is a multiple of %d of at most %d with M of %d and "
                 "cta_group=%d on sm_100a%s",
                 config->layout.mma_m, config->layout.mma_n, step, MAX_MMA_N,
                 config->layout.mma_m, config->layout.cta_group,
                 jg_dtype_bytes(product->b.dtype) == 1 ? ", for these inputs" : "");
        return 0;
    }
    return 1;
}

static int is_power_of_two(int value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

static int check_cluster(const struct jg_config *config, char *reason, size_t size)
{
    const int ctas = config->layout.cluster_m * config->layout.cluster_n;
    if (!is_power_of_two(config->layout.cluster_m) ||
        !is_power_of_two(config->layout.cluster_n) || ctas > MAX_CLUSTER) {
        snprintf(reason, size,
                 "cluster=%dx%d: clusters of sm_100a are powers of two of at most %d CTAs",
                 config->layout.cluster_m, config->layout.cluster_n, MAX_CLUSTER);
        return 0;
    }
    if (config->layout.cluster_m % config->layout.cta_group != 0) {
        snprintf(
            reason, size, "cluster=%dx%d has no whole pairs along M, as cta_group=%d needs",
            config->layout.cluster_m, config->layout.cluster_n, config->layout.cta_group);
        return 0;
    }
    return 1;
}

/* Can the CTAs of the cluster load their parts of it in whole rows? */
static int check_input(const struct input *input, const struct jg_config *config,
                       char *reason, size_t size)
{
    const int element_bytes = jg_dtype_bytes(input->dtype);
    const int step = (element_bytes == 4 ? WORD_SPAN : LEAST_SPAN) / element_bytes;
    if (!input->k_major && input->count % step != 0) {
        snprintf(reason, size,
                 "mma=%dx%d cta_group=%d gives a CTA %d %s of the product's %c; %c, which "
                 "is not K-major here, needs a multiple of %d",
                 config->layout.mma_m, config->layout.mma_n, config->layout.cta_group,
                 input->count, input->unit, input->size, input->letter, step);
        return 0;
    }
    if (input->k_major && input->count % input->slices != 0) {
        snprintf(reason, size,
                 "cluster=%dx%d: %d CTAs cannot share the load of %d %s of %c",
                 config->layout.cluster_m, config->layout.cluster_n, input->slices,
                 input->count, input->unit, input->letter);
        return 0;
    }
    return 1;
}

static int check_inputs(const struct jg_problem *product, const struct jg_config *config,
                        char *reason, size_t size)
{
    const struct input a = input_a(product, config);
    const struct input b = input_b(product, config);
    return check_input(&a, config, reason, size) && check_input(&b, config, reason, size);
}

int jg_sm100a_check(const struct jg_problem *product, const struct jg_device_facts *facts,
                    const struct jg_config *config, char *reason, size_t size)
{
    if (!check_shape(product, config, reason, size) ||
        !check_cluster(config, reason, size) ||
        !jg_shares_check(product, facts, config, reason, size) ||
        !check_inputs(product, config, reason, size)) {
        return 0;
    }
    if (jg_loads_by_threads(product) && config->pipeline.prefetch != JG_PREFETCH_NONE) {
        snprintf(reason, size,
                 "prefetch=%s asks the copy engine, which does not take input_align=%d",
                 config->pipeline.prefetch == JG_PREFETCH_A ? "a" : "b",
                 product->a.alignment);
        return 0;
    }
    if (jg_loads_by_threads(product) && config->launch.scheduler == JG_SCHEDULER_CLC) {
        snprintf(reason, size,
                 "scheduler=clc answers one thread that loads, and with input_align=%d "
                 "there are more: scheduler=static",
                 product->a.alignment);
        return 0;
    }
    const int own_columns = jg_sm100a_lanes(config).columns;
    if (config->storage.out_stages < SLABS_FOR_VECTORS && own_columns % MIN_SLAB != 0) {
        snprintf(reason, size,
                 "out_stages=%d is too few for mma=%dx%d cta_group=%d: a CTA's %d columns "
                 "are no multiple of %d, as slabs of D are; out_stages=%d",
                 config->storage.out_stages, config->layout.mma_m, config->layout.mma_n,
                 config->layout.cta_group, own_columns, MIN_SLAB, SLABS_FOR_VECTORS);
        return 0;
    }
    const int columns = jg_sm100a_tmem_columns(config);
    if (columns > TMEM_COLUMNS) {
        snprintf(reason, size,
                 "acc_stages=%d take %d columns of tensor memory, which has %d",
                 config->storage.acc_stages, columns, TMEM_COLUMNS);
        return 0;
    }
    if (config->pipeline.prefetch != JG_PREFETCH_NONE && !config->launch.pdl) {
        snprintf(reason, size,
                 "prefetch=%s needs pdl=1: it is for the time before the grid before ends",
                 config->pipeline.prefetch == JG_PREFETCH_A ? "a" : "b");
        return 0;
    }
    char shape[128];
    const int matrix_stages = jg_sm100a_matrix_stages(product);
    int used =
        snprintf(shape, sizeof(shape), "mma=%dx%d cta_group=%d", config->layout.mma_m,
                 config->layout.mma_n, config->layout.cta_group);
    if (config->pipeline.k_group > 1) {
        used += snprintf(shape + used, sizeof(shape) - (size_t)used, " k_group=%d",
                         config->pipeline.k_group);
    }
    if (matrix_stages > 0) {
        snprintf(shape + used, sizeof(shape) - (size_t)used,
                 ", %d stages of C and matrix operands and", matrix_stages);
    }
    const struct jg_smem smem = jg_sm100a_smem(product, config);
    struct jg_stage_limits limits = jg_sm100a_stages;
    limits.shape = shape;
    return jg_stages_check(config, &smem, facts, &limits, reason, size);
}
