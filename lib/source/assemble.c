/* SPDX-License-Identifier: MIT */
#include "source/assemble.h"

#include <stdio.h>
#include <string.h>

#include "base/math.h"
#include "jit_gemm/version.h"
#include "plan/group_maps.h"
#include "plan/groups.h"
#include "plan/kernel_params.h"
#include "plan/repack.h"
#include "plan/scale.h"
#include "plan/scale_pack.h"
#include "plan/split.h"
#include "source/compiled_function.h"
#include "source/embedded.h"
#include "source/modules.h"
#include "source/scale_layout.h"
#include "source/scale_pack_entry.h"

enum { EPILOGUE_NAME_SHOWN = 16 /* bytes of an epilogue's name in an entry's name */ };

/* ----------------------------------------------------------------------------- names */

/* "jit_gemm_sm90a_bf16_bf16_128x256_gelu_1f2e3d4c": a person reads it in a profiler. */
static jit_gemm_status name_entry(const struct jg_arch *arch,
                                  const struct jg_problem *problem,
                                  const struct jg_config *config, char *ret_entry)
{
    char chip[7]; /* sizes such that the longest name fits */
    size_t used = 0;
    for (const char *at = arch->name; *at != '\0' && used < sizeof(chip) - 1; at++) {
        if (*at != '_') {
            chip[used++] = *at;
        }
    }
    chip[used] = '\0';
    char kernel[12] = "reference";
    if (config->kernel != JG_KERNEL_REFERENCE) {
        const struct jg_config_layout *layout = &config->layout;
        snprintf(kernel, sizeof(kernel), "%dx%d", layout->tile_m * layout->cta_group,
                 layout->tile_n); /* what CTAs that multiply as one make */
    }
    char epilogue[EPILOGUE_NAME_SHOWN + 10] = "plain";
    if (problem->epilogue != NULL) {
        struct jg_str bytes = {0};
        jg_epilogue_bytes(problem->epilogue, &bytes);
        const struct jg_hash hash = jg_hash_bytes(jg_str_text(&bytes), bytes.size);
        const jit_gemm_status status = jg_str_status(&bytes);
        jg_str_free(&bytes);
        JG_TRY(status);
        snprintf(epilogue, sizeof(epilogue), "%.*s_%02x%02x%02x%02x", EPILOGUE_NAME_SHOWN,
                 problem->epilogue->name, hash.bytes[0], hash.bytes[1], hash.bytes[2],
                 hash.bytes[3]);
    }
    snprintf(ret_entry, JIT_GEMM_NAME_SIZE, "jit_gemm_%s_%.4s_%.4s_%s_%s", chip,
             jg_dtype_name(problem->a.dtype), jg_dtype_name(problem->d.dtype), kernel,
             epilogue);
    return JIT_GEMM_OK;
}

static void print_shown_name(const char *source_name, struct jg_str *out)
{
    for (const char *at = source_name; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        jg_str_add(out, byte < 32 || byte == 127 ? "?" : at, 1);
    }
}

static void print_line_directive(uint32_t line, const char *name, struct jg_str *out)
{
    struct jg_str shown = {0};
    print_shown_name(name, &shown);
    jg_str_printf(out, "#line %u \"", line);
    for (const char *at = jg_str_text(&shown); *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            jg_str_puts(out, "\\");
        }
        jg_str_add(out, at, 1);
    }
    jg_str_puts(out, "\"\n");
    out->failed |= shown.failed;
    jg_str_free(&shown);
}

/* ----------------------------------------------------------------------------- parts */

/* The problem's text is not here: what its kernel does not depend on, such as the size that
 * is planned for, would make two entries of the cache of one kernel. */
/* The compiler makes one operation of a product and a sum where it likes to, which may be
 * here and not there: two roundings are the same everywhere. */
static bool rounds_apart(const struct jg_problem *problem)
{
    return problem->invariant != JIT_GEMM_INVARIANT_NONE;
}

static void print_heading(const struct jg_arch *arch, const struct jg_problem *problem,
                          const struct jg_config *config, struct jg_str *out)
{
    jg_str_printf(out, "// jit_gemm %d.%d.%d, source format %d, %s\n// config: ",
                  JIT_GEMM_VERSION_MAJOR, JIT_GEMM_VERSION_MINOR, JIT_GEMM_VERSION_PATCH,
                  JG_SOURCE_FORMAT, arch->name);
    jg_config_print(config, arch->config_keys, out);
    jg_str_puts(out, "\n");
    if (rounds_apart(problem)) {
        jg_str_puts(out, "// products and sums are rounded apart: -fmad=false\n");
    }
}

/* Of kernel_src/jg/epilogue/operands.cuh and reductions.cuh, less the role. In memory the
 * columns of a column-major D are its rows: a vector along the one lies along the other. */
static const char *device_kind(const struct jg_problem *problem, jit_gemm_operand_kind kind)
{
    const bool by_columns = jg_problem_is_column_major(problem);
    switch (kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        return "Scalar";
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        return by_columns ? "ColumnVector" : "RowVector";
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        return by_columns ? "RowVector" : "ColumnVector";
    case JIT_GEMM_OPERAND_PAIR_VECTOR: /* less Gate0 or Gate1 */
        return by_columns ? "ColumnVector" : "Vector";
    case JIT_GEMM_OPERAND_BLOCK_1X128: /* of a row-major D only */
        return "Block1x128";
    case JIT_GEMM_OPERAND_BLOCK_1X32:
        return "Block1x32";
    case JIT_GEMM_OPERAND_BLOCK_1X16:
        return "Block1x16";
    case JIT_GEMM_OPERAND_MATRIX:
        break;
    }
    return "Matrix";
}

/* The snippet sees a value of each of the two columns. */
static void print_pair_vector(const struct jg_problem *problem,
                              const struct jg_operand *operand, uint32_t index,
                              struct jg_str *out)
{
    for (int i = 0; i < 2; i++) {
        jg_str_printf(out, " \\\n    JG_ROW(%u, %s%d, Gate%d%sInput, %s)", index,
                      operand->name, i, i, device_kind(problem, operand->kind),
                      jg_dtype_name(operand->dtype));
    }
}

/* What a role adds to the kind: Input or Output, or what a reduction does. */
static const char *device_role(jit_gemm_operand_role role)
{
    switch (role) {
    case JIT_GEMM_OPERAND_INPUT:
        break;
    case JIT_GEMM_OPERAND_OUTPUT:
        return "Output";
    case JIT_GEMM_OPERAND_SUM:
        return "Sum";
    case JIT_GEMM_OPERAND_MAX:
        return "Max";
    case JIT_GEMM_OPERAND_MIN:
        return "Min";
    }
    return "Input";
}

static void print_operands(const struct jg_problem *problem, struct jg_str *out)
{
    const struct jg_epilogue *epilogue = problem->epilogue;
    jg_str_puts(out, "#define JG_OPERANDS(JG_ROW)");
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
            print_pair_vector(problem, operand, i, out);
            continue;
        }
        jg_str_printf(out, " \\\n    JG_ROW(%u, %s, %s%s, %s)", i, operand->name,
                      device_kind(problem, operand->kind), device_role(operand->role),
                      jg_dtype_name(operand->dtype));
    }
    jg_str_puts(out, "\n");
}

/* Of the finest type that results of the snippet are rounded to: what the prelude computes
 * (jg/epilogue/prelude.cuh). */
static int64_t result_bits(const struct jg_problem *problem)
{
    const struct jg_epilogue *epilogue = problem->epilogue;
    int64_t bits = jg_dtype_significand_bits(problem->d.dtype);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        if (operand->role != JIT_GEMM_OPERAND_INPUT) {
            bits = jg_max(bits, jg_dtype_significand_bits(operand->dtype));
        }
    }
    return bits;
}

/* How exact the snippet's results are, whether it takes two accumulators
 * (jg/epilogue/user_epilogue.cuh), and what it does with random numbers
 * (jg/epilogue/random.cuh). */
static void print_traits(const struct jg_problem *problem, struct jg_str *out)
{
    const struct jg_epilogue *epilogue = problem->epilogue;
    if (epilogue != NULL && !jg_epilogue_is_compiled(epilogue) &&
        problem->d.dtype != JIT_GEMM_DTYPE_NONE) {
        jg_str_printf(out, "#define JG_RESULT_BITS %lld\n",
                      (long long)result_bits(problem));
    }
    if (epilogue != NULL && epilogue->is_gated) {
        jg_str_puts(out, "#define JG_GATED 1\n");
    }
    if (epilogue != NULL && epilogue->is_random && epilogue->compares_random) {
        jg_str_puts(out, "#define JG_UNIFORM_RESULT UniformNumber\n");
    }
}

/* The operand that random numbers are drawn ahead with (jg/epilogue/user_epilogue.cuh). */
static void print_seed(const struct jg_problem *problem, const struct jg_choice *choice,
                       struct jg_str *out)
{
    if (choice->derived.draws_ahead) {
        const uint32_t seed = problem->epilogue->seed;
        jg_str_printf(out, "#define JG_SEED(JG_ROW) JG_ROW(%u, %s, ScalarInput, f32)\n",
                      seed, problem->epilogue->operands[seed].name);
    }
}

static void print_number(const char *name, int64_t value, struct jg_str *out)
{
    jg_str_printf(out, "    enum : jg::u32 { %s = %lld };\n", name, (long long)value);
}

static void print_flag(const char *name, bool value, struct jg_str *out)
{
    jg_str_printf(out, "    enum : bool { %s = %s };\n", name, value ? "true" : "false");
}

static void print_type(const char *name, jit_gemm_dtype dtype, struct jg_str *out)
{
    jg_str_printf(out, "    using %s = jg::%s;\n", name, jg_dtype_name(dtype));
}

static void print_name(const char *type, const char *name, const char *value,
                       struct jg_str *out)
{
    jg_str_printf(out, "    static constexpr jg::%s %s = jg::%s::%s;\n", type, name, type,
                  value);
}

static bool is_read_by_epilogue(jit_gemm_scale_kind scale)
{
    return scale == JIT_GEMM_SCALE_TENSOR || scale == JIT_GEMM_SCALE_VECTOR;
}

/* `vector`: the kind of operand that a vector of these scales is. */
static void print_scale(const char *name, const struct jg_problem *problem,
                        jit_gemm_scale_kind scale, jit_gemm_operand_kind vector,
                        struct jg_str *out)
{
    const jit_gemm_operand_kind kind =
        scale == JIT_GEMM_SCALE_VECTOR ? vector : JIT_GEMM_OPERAND_SCALAR;
    if (!is_read_by_epilogue(scale)) {
        jg_str_printf(out, "    using %s = jg::NoScale;\n", name);
    } else {
        jg_str_printf(out, "    using %s = jg::%sInput<jg::f32>;\n", name,
                      device_kind(problem, kind));
    }
}

/* Of rows that an index names: jg/epilogue/indexed_scales.cuh. */
static void print_a_scale(const struct jg_problem *problem, struct jg_str *out)
{
    const jit_gemm_scale_kind scale = problem->a.scale.kind;
    if (scale == JIT_GEMM_SCALE_VECTOR && problem->a_rows == JIT_GEMM_ROWS_INDEXED) {
        jg_str_printf(out, "    using AScale = jg::Indexed%sInput<jg::f32>;\n",
                      device_kind(problem, JIT_GEMM_OPERAND_COLUMN_VECTOR));
        return;
    }
    print_scale("AScale", problem, scale, JIT_GEMM_OPERAND_COLUMN_VECTOR, out);
}

/* Of a gated D those of both accumulators' columns. */
static void print_b_scales(const struct jg_problem *problem, struct jg_str *out)
{
    const jit_gemm_scale_kind scale = problem->b.scale.kind;
    if (!problem->is_gated) {
        print_scale("BScale", problem, scale, JIT_GEMM_OPERAND_ROW_VECTOR, out);
        print_scale("BGateScale", problem, JIT_GEMM_SCALE_NONE, JIT_GEMM_OPERAND_SCALAR,
                    out);
    } else if (scale == JIT_GEMM_SCALE_VECTOR) {
        const char *kind = device_kind(problem, JIT_GEMM_OPERAND_PAIR_VECTOR);
        jg_str_printf(out, "    using BScale = jg::Gate0%sInput<jg::f32>;\n", kind);
        jg_str_printf(out, "    using BGateScale = jg::Gate1%sInput<jg::f32>;\n", kind);
    } else {
        print_scale("BScale", problem, scale, JIT_GEMM_OPERAND_SCALAR, out);
        print_scale("BGateScale", problem, scale, JIT_GEMM_OPERAND_SCALAR, out);
    }
}

/* One that the tensor core multiplies by (jg/common/block_scale.cuh). */
static const char *piece_scale_of(const jit_gemm_scale *scale)
{
    if (scale->dtype != JIT_GEMM_DTYPE_UE8M0) {
        return "NvScale";
    }
    return scale->block_k == 128 ? "PowerScale" : "MxScale";
}

/* What sums of a block of K are multiplied by (jg/common/block_scale.cuh). */
static void print_block_scale(const char *name, const jit_gemm_scale *scale,
                              struct jg_str *out)
{
    if (scale->kind != JIT_GEMM_SCALE_BLOCK) {
        jg_str_printf(out, "    using %s = jg::NoBlockScale;\n", name);
    } else if (jg_scale_is_multiplied(scale)) {
        jg_str_printf(out, "    using %s = jg::%s;\n", name, piece_scale_of(scale));
    } else {
        jg_str_printf(out, "    using %s = jg::BlockScale<%u, jg::ScaleLayout::%s>;\n",
                      name, scale->block_mn, jg_source_scale_layout(scale->layout));
    }
}

/* What the kernel computes of D's blocks (jg/epilogue/output_scale.cuh). */
static void print_d_scale(const jit_gemm_scale *scale, struct jg_str *out)
{
    if (scale->kind == JIT_GEMM_SCALE_NONE) {
        jg_str_puts(out, "    using DScale = jg::NoOutputScale;\n");
        return;
    }
    jg_str_printf(out, "    using DScale = jg::OutputScale<jg::%s, %u, jg::ScaleLayout::%s",
                  jg_dtype_name(scale->dtype), scale->block_k,
                  jg_source_scale_layout(scale->layout));
    if (jg_scale_is_square(scale)) {
        jg_str_printf(out, ", %u", scale->block_mn);
    }
    jg_str_puts(out, ">;\n");
}

/* Nothing is computed but the sum, and alpha times it. */
static bool is_plain(const struct jg_problem *problem)
{
    return problem->epilogue == NULL && problem->c.dtype == JIT_GEMM_DTYPE_NONE &&
           !is_read_by_epilogue(problem->a.scale.kind) &&
           !is_read_by_epilogue(problem->b.scale.kind);
}

/* Not worth being compiled for several vectors at a time: one has enough to do, and the
 * epilogue is not waited for. Where it is, on sm_90a, several at a time are 4 percent
 * faster at K = 512 (4096x4096, H200). */
static bool has_long_snippet(const struct jg_problem *problem,
                             const struct jg_config *config)
{
    return problem->epilogue != NULL && problem->epilogue->long_calls > 1 &&
           config->storage.acc_stages > 1;
}

static void print_dim(const char *name, const jit_gemm_dim *dim, struct jg_str *out)
{
    print_number(name, dim->mode == JIT_GEMM_DIM_DYNAMIC ? 0 : dim->size, out);
}

static const char *const schedulers[] = {[JG_SCHEDULER_STATIC] = "kStatic",
                                         [JG_SCHEDULER_SINGLE] = "kSingle",
                                         [JG_SCHEDULER_CLC] = "kClc"};
/* By the numbers of jg_prefetch, jg_evict_first and jit_gemm_weights. */
static const char *const matrix_names[] = {"kNone", "kA", "kB"};

static const char *const group_names[] = {[JIT_GEMM_GROUP_NONE] = "kNone",
                                          [JIT_GEMM_GROUP_BY_OFFSETS] = "kOffsets",
                                          [JIT_GEMM_GROUP_BY_COUNTS] = "kCounts",
                                          [JIT_GEMM_GROUP_BY_ROWS] = "kRows",
                                          [JIT_GEMM_GROUP_BY_K_OFFSETS] = "kKOffsets",
                                          [JIT_GEMM_GROUP_BY_POINTERS] = "kPointers"};

static const char *const block_order_names[] = {[JG_BLOCKS_BY_ROW] = "kByRow",
                                                [JG_BLOCKS_GATHERED] = "kGathered",
                                                [JG_BLOCKS_SORTED] = "kSorted"};

static void print_output(const struct jg_derived *derived, struct jg_str *out)
{
    static const char *const kinds[] = {
        [JG_EPILOGUE_FRAGMENTS] = "kFragments", [JG_EPILOGUE_VECTORS] = "kVectors"};
    const struct jg_output *output = &derived->output;
    print_name("EpilogueKind", "kEpilogue", kinds[output->epilogue], out);
    print_number("kEpilogueLoadsPerStep", output->loads_per_step, out);
    print_number("kEpilogueLoadStages", output->load_stages, out);
    print_flag("kWholeRows", output->whole_rows, out);
    print_flag("kWholeCols", output->whole_cols, out);
    print_flag("kWholeVectors", output->whole_vectors, out);
    print_flag("kDividesOutput", output->divided, out);
    if (output->reduces) {
        print_number("kRowParts", output->parts.row, out);
        print_number("kColumnParts", output->parts.column, out);
        print_number("kTensorParts", output->parts.tensor, out);
    }
    print_number("kStoreTileRows", derived->d_box.rows, out);
    print_number("kStoreTileSwizzleBytes", derived->d_box.row_bytes, out);
}

/* A config names the problem's matrix, which may be the product's other one. */
static enum jg_prefetch prefetch_of_product(const struct jg_choice *choice)
{
    const char letters[] = {[JG_PREFETCH_A] = 'a', [JG_PREFETCH_B] = 'b'};
    const enum jg_prefetch prefetch = choice->config.pipeline.prefetch;
    if (prefetch == JG_PREFETCH_NONE) {
        return prefetch;
    }
    return choice->product.a.letter == letters[prefetch] ? JG_PREFETCH_A : JG_PREFETCH_B;
}

/* Constants of Config, in their order in the source: what is asked, */
static void print_sizes(const struct jg_problem *problem, const struct jg_product *product,
                        const struct jg_derived *derived, struct jg_str *out)
{
    print_dim("kM", &product->m, out);
    print_dim("kN", &product->n, out);
    print_dim("kK", &product->k, out);
    print_dim("kBatch", &problem->batch, out);
    print_number("kGroups", jg_has_row_groups(problem->group_by) ? problem->batch.size : 0,
                 out);
    print_name("GroupBy", "kGroupBy", group_names[problem->group_by], out);
    if (jg_has_row_groups(problem->group_by)) {
        print_flag("kClearRest", problem->group_rest == JIT_GEMM_GROUP_REST_ZERO, out);
    }
    if (jg_has_row_groups(problem->group_by) &&
        problem->group_by != JIT_GEMM_GROUP_BY_ROWS) {
        print_flag("kTurnsLast", derived->turns_last, out);
        print_number("kTurnedSlices", jg_max(derived->turned_slices, 1), out);
        print_flag("kLeavesSlices", derived->leaves_slices, out);
        print_flag("kHalvesLast", derived->halves_last, out);
        print_flag("kSharesShort", derived->shares_short, out);
        print_flag("kPassesItems", derived->passes_items, out);
        print_flag("kPassesLoads", derived->passes_loads, out);
    }
    if (problem->group_by == JIT_GEMM_GROUP_BY_OFFSETS) {
        print_flag("kPadsScales",
                   problem->scale_rows == JIT_GEMM_SCALE_ROWS_PER_GROUP_PADDED, out);
    }
    if (problem->group_by == JIT_GEMM_GROUP_BY_K_OFFSETS) {
        print_number("kGroupKStep", jg_groups_k_step(problem), out);
    }
    if (problem->group_by == JIT_GEMM_GROUP_BY_POINTERS) {
        print_flag("kOwnN", jg_groups_own_n(problem), out);
        print_flag("kOwnK", jg_groups_own_k(problem), out);
    }
    if (problem->group_by == JIT_GEMM_GROUP_BY_ROWS) {
        print_number("kRowBlocks", jg_groups_row_blocks(problem), out);
        print_number("kRowsOfBlock", JG_GROUP_BLOCK_ROWS, out);
        print_name("BlockOrder", "kBlockOrder",
                   block_order_names[jg_groups_block_order(problem)], out);
    }
}

/* ... what the config says of it, */
static void print_tiles(const struct jg_choice *choice, struct jg_str *out)
{
    const struct jg_config *config = &choice->config;
    const struct jg_derived *derived = &choice->derived;
    print_number("kBlockM", config->layout.tile_m, out);
    print_number("kBlockN", config->layout.tile_n, out);
    print_number("kBlockK", config->layout.tile_k, out);
    print_number("kCtaGroup", jg_max(config->layout.cta_group, 1), out);
    print_flag("kPingpong", config->layout.pingpong != 0, out);
    print_number("kClusterM", config->layout.cluster_m, out);
    print_number("kClusterN", config->layout.cluster_n, out);
    print_number("kStages", config->pipeline.stages, out);
    print_number("kKGroup", jg_max(config->pipeline.k_group, 1), out);
    print_number("kAccStages", jg_max(config->storage.acc_stages, 1), out);
    if (derived->epilogue_warpgroups > 0) {
        print_number("kEpilogueWarpgroups", derived->epilogue_warpgroups, out);
    }
    print_number("kSharedColumns", derived->shared_columns, out);
    if (config->kernel != JG_KERNEL_REFERENCE) {
        print_output(derived, out);
    }
    print_number("kOutStages", config->storage.out_stages, out);
    print_flag("kPromotesSums", derived->promotes_sums, out);
    if (derived->out_bytes > 0) {
        print_number("kOutBytes", derived->out_bytes, out);
    }
    print_number("kASwizzleBytes", derived->a_box.row_bytes, out);
    print_number("kASwizzleAtom", derived->a_box.atom, out);
    print_number("kBSwizzleBytes", derived->b_box.row_bytes, out);
    print_number("kBSwizzleAtom", derived->b_box.atom, out);
    print_number("kALoadedRows", derived->a_rows, out);
    print_number("kBLoadedRows", derived->b_rows, out);
    print_name("SchedulerKind", "kScheduler", schedulers[config->launch.scheduler], out);
    print_name("Prefetch", "kPrefetch", matrix_names[prefetch_of_product(choice)], out);
    print_number("kRasterGroup", config->launch.raster_group, out);
    print_number("kSplitK", jg_max(config->launch.split_k, 1), out);
    if (config->launch.split_k > 1) {
        print_number("kPartialsOffset", JG_WORKSPACE_SUMS_OFFSET, out);
        print_flag("kSplitSerial", config->launch.split_order != JG_SPLIT_UNORDERED, out);
        print_number("kSplitTail", config->launch.split_tail, out);
        print_number("kClusterParts", jg_cluster_parts(config), out);
        print_flag("kSumsInRing", derived->sums_in_ring, out);
        print_number("kSumsBytes", derived->sums_bytes, out);
    }
}

/* ... what the kernel takes, */
static void print_resources(const struct jg_problem *problem,
                            const struct jg_derived *derived, struct jg_str *out)
{
    const uint32_t operand_count =
        problem->epilogue != NULL ? problem->epilogue->operand_count : 0;
    const uint32_t tail_maps = (uint32_t)derived->tail_maps;
    print_number("kScaleSlots", derived->scale_slots, out);
    if (derived->scale_slots > 0) {
        print_number("kARowWarps", derived->row_warps.a, out);
        print_number("kBRowWarps", derived->row_warps.b, out);
        print_number("kCopyWarps", derived->row_warps.copies, out);
        print_flag("kKTurns", derived->k_turns, out);
        print_flag("kScalesInStages", derived->scales_in_stages, out);
        print_name("ScaledBlocks", "kScaledBlocks", jg_source_loop(derived), out);
    }
    print_name("EvictFirst", "kEvictFirst", matrix_names[derived->evict_first], out);
    print_flag("kOneMultiplies", derived->one_multiplies, out);
    print_number("kLeadStages", derived->lead_stages, out);
    print_number("kThreads", derived->threads, out);
    print_number("kSmemBytes", derived->smem_bytes, out);
    const size_t params =
        jg_kernel_params_bytes(operand_count, tail_maps, derived->host_groups);
    print_number("kParamsBytes", (int64_t)params, out);
    print_number("kOperandCount", operand_count, out);
    print_number("kTailMaps", tail_maps, out);
    if (derived->host_groups > 0) {
        print_number("kHostGroups", derived->host_groups, out);
    }
    if (tail_maps > 0) {
        print_number("kTailRows", JG_TAIL_ROWS, out);
    }
}

/* Are rows of this matrix of the product found by an index? */
static bool is_indexed(const struct jg_problem *problem, const struct jg_matrix *matrix)
{
    return problem->a_rows == JIT_GEMM_ROWS_INDEXED && matrix->letter == 'a';
}

/* ... how the matrices lie and what is done with them, */
static void print_forms(const struct jg_problem *problem, const struct jg_choice *choice,
                        struct jg_str *out)
{
    const struct jg_config *config = &choice->config;
    const struct jg_derived *derived = &choice->derived;
    const struct jg_product *product = &choice->product;
    print_flag("kAKMajor", !product->a.is_mn_major, out);
    print_flag("kBKMajor", !product->b.is_mn_major, out);
    print_flag("kTransposed", product->d_is_transpose, out);
    print_flag("kGated", product->is_gated, out);
    print_flag("kGateInA", jg_product_gate_rows(product) > 1, out);
    print_flag("kGateHalves", problem->pair == JIT_GEMM_PAIR_HALVES, out);
    print_number("kGateColumns", derived->gate_columns, out);
    const bool has_c = problem->c.dtype != JIT_GEMM_DTYPE_NONE;
    print_flag("kHasC", has_c, out);
    print_flag("kColumnMajor", jg_problem_is_column_major(problem), out);
    print_flag("kIndexedA", is_indexed(problem, &product->a), out);
    print_flag("kIndexedB", is_indexed(problem, &product->b), out);
    print_number("kCopiedRows", derived->copied_rows, out);
    print_flag("kIndexedD", problem->d_rows == JIT_GEMM_ROWS_INDEXED, out);
    print_flag("kPlain", is_plain(problem), out);
    print_flag("kLongSnippet", has_long_snippet(problem, config), out);
    print_flag("kRasterAlongM", config->launch.raster == JG_RASTER_ALONG_M, out);
    print_flag("kPdl", config->launch.pdl, out);
    print_flag("kNextAtEnd", derived->next_at_end, out);
    print_flag("kDrawsAhead", derived->draws_ahead, out);
    print_name("FirstLoads", "kFirstLoads", matrix_names[derived->first_loads], out);
    print_number("kResident", jg_max(config->launch.resident, 1), out);
    print_flag("kThreadLoads", jg_loads_by_threads(&choice->product), out);
    if (jg_loads_by_threads(&choice->product)) {
        print_number("kInputAlignment", choice->product.a.alignment, out);
        print_flag("kShiftsLines", derived->shifts_lines, out);
    }
    print_number("kOutputAlignment", problem->d.alignment, out);
}

/* ... and types. */
static void print_types(const struct jg_problem *problem, const struct jg_choice *choice,
                        struct jg_str *out)
{
    const struct jg_product *product = &choice->product;
    print_type("A", product->a.dtype, out);
    print_type("B", product->b.dtype, out);
    const bool has_c = problem->c.dtype != JIT_GEMM_DTYPE_NONE;
    print_type("C", has_c ? problem->c.dtype : JIT_GEMM_DTYPE_BF16, out);
    print_type("D", problem->d.dtype, out);
    print_a_scale(problem, out);
    print_b_scales(problem, out);
    print_block_scale("ABlockScale", &product->a.scale, out);
    print_block_scale("BBlockScale", &product->b.scale, out);
    if (choice->config.kernel != JG_KERNEL_REFERENCE) {
        print_d_scale(&problem->d.scale, out);
    }
}

static void print_config(const struct jg_problem *problem, const struct jg_choice *choice,
                         struct jg_str *out)
{
    print_line_directive(1, "jit_gemm_config", out);
    jg_str_puts(out, "struct Config {\n");
    print_sizes(problem, &choice->product, &choice->derived, out);
    print_tiles(choice, out);
    print_resources(problem, &choice->derived, out);
    print_forms(problem, choice, out);
    print_types(problem, choice, out);
    jg_str_puts(out, "};\n\n");
}

static bool is_named(const char *file, const char *name, size_t name_size)
{
    struct jg_str shown = {0};
    print_shown_name(file, &shown);
    const bool is_same =
        shown.size == name_size && memcmp(jg_str_text(&shown), name, name_size) == 0;
    jg_str_free(&shown);
    return is_same;
}

bool jg_source_is_snippet(const struct jg_epilogue *epilogue, const char *name,
                          size_t name_size, uint32_t *line)
{
    if (is_named(epilogue->name, name, name_size)) {
        *line += epilogue->first_line - 1;
        return true;
    }
    return is_named(epilogue->source_name, name, name_size);
}

/* Under the epilogue's name lines are the snippet's, under the file's they are the file's:
 * a file that is called like the epilogue has the snippet's. */
static void print_snippet_place(const struct jg_epilogue *epilogue, bool has_lineinfo,
                                struct jg_str *out)
{
    if (epilogue == NULL) {
        print_line_directive(1, JG_SOURCE_DEFAULT_NAME, out);
    } else if (has_lineinfo &&
               !is_named(epilogue->source_name, epilogue->name, strlen(epilogue->name))) {
        print_line_directive(epilogue->first_line, epilogue->source_name, out);
    } else {
        print_line_directive(1, epilogue->name, out);
    }
}

static void print_epilogue(const struct jg_epilogue *epilogue, bool has_lineinfo,
                           struct jg_str *out)
{
    static const char default_snippet[] = "d = acc;";
    const char *snippet = epilogue != NULL ? epilogue->source : default_snippet;
    const size_t size =
        epilogue != NULL ? epilogue->source_size : sizeof(default_snippet) - 1;

    if (jg_epilogue_is_compiled(epilogue)) {
        print_line_directive(1, JG_SOURCE_COMPILED, out);
        jg_print_compiled_function(epilogue, out);
    }
    print_line_directive(1, JG_SOURCE_FRAME, out);
    jg_str_puts(out, "JG_EPILOGUE_BEGIN\n");
    print_snippet_place(epilogue, has_lineinfo, out);
    jg_str_add(out, snippet, size);
    if (size == 0 || snippet[size - 1] != '\n') {
        jg_str_puts(out, "\n");
    }
    print_line_directive(JG_SOURCE_FRAME_END, JG_SOURCE_FRAME, out);
    jg_str_puts(out, "JG_EPILOGUE_END\n\n");
}

static void print_entry(const char *entry, const struct jg_choice *choice,
                        const char *kernel, struct jg_str *out)
{
    const struct jg_derived *derived = &choice->derived;
    print_line_directive(1, "jit_gemm_entry", out);
    jg_str_printf(out,
                  "extern \"C\" __global__ void __launch_bounds__(%d, %d)\n"
                  "%s(const __grid_constant__ jg::KernelParams<Config::kOperandCount, "
                  "Config::kTailMaps%s> params)\n"
                  "{\n"
                  "    %s<Config, Epilogue>(params);\n"
                  "}\n",
                  derived->threads, (int)jg_max(choice->config.launch.resident, 1), entry,
                  derived->host_groups > 0 ? ", Config::kHostGroups" : "", kernel);
}

/* The kernel before that of the product, where A or B is copied. */
static void print_repack_entry(struct jg_str *out)
{
    jg_str_printf(
        out,
        "\nextern \"C\" __global__ void __launch_bounds__(%d)\n"
        "%s(const __grid_constant__ jg::pack::RepackParams params)\n"
        "{\n"
        "    static_assert(sizeof(params) == %zu, \"host and device disagree\");\n"
        "    jg::pack::repack_kernel<sizeof(Config::A), Config::kPdl>(params);\n"
        "}\n",
        JG_REPACK_THREADS, JG_REPACK_ENTRY, sizeof(struct jg_repack_params));
}

static void print_group_maps(const struct jg_problem *problem,
                             const struct jg_product *product,
                             const struct jg_matrix *matrix, struct jg_str *out)
{
    const struct jg_group_map_dims dims = jg_group_map_dims(problem, product, matrix);
    jg_str_printf(out, "jg::pack::GroupMaps<%d, %d, %d, %d>, ", dims.count, dims.m, dims.n,
                  dims.k);
}

/* The kernel before that of the product, where TMA loads by maps of each group. */
static void print_group_maps_entry(const struct jg_problem *problem,
                                   const struct jg_product *product, struct jg_str *out)
{
    jg_str_printf(
        out,
        "\nextern \"C\" __global__ void __launch_bounds__(%d)\n"
        "%s(const __grid_constant__ jg::pack::GroupMapsParams params)\n"
        "{\n"
        "    static_assert(sizeof(params) == %zu, \"host and device disagree\");\n"
        "    jg::pack::group_maps_kernel<",
        JG_GROUP_MAPS_THREADS, JG_GROUP_MAPS_ENTRY, sizeof(struct jg_group_maps_params));
    print_group_maps(problem, product, &product->a, out);
    print_group_maps(problem, product, &product->b, out);
    jg_str_puts(out, "Config::kPdl>(params);\n}\n");
}

/* ----------------------------------------------------------------------------- whole */

jit_gemm_status jg_source_assemble(const struct jg_arch *arch,
                                   const struct jg_problem *problem,
                                   const struct jg_choice *choice,
                                   struct jg_source *ret_source)
{
    const bool reference = choice->config.kernel == JG_KERNEL_REFERENCE;
    const char *header =
        reference ? "jg/reference/reference_kernel.cuh" : arch->kernel_header;
    const char *kernel = reference ? "jg::reference::gemm_kernel" : arch->kernel_name;

    struct jg_source source = {.headers = jg_digest_headers()};
    JG_TRY(name_entry(arch, problem, &choice->config, source.entry));
    source.has_lineinfo = choice->config.launch.lineinfo;
    source.rounds_apart = rounds_apart(problem);

    struct jg_str *text = &source.text;
    print_heading(arch, problem, &choice->config, text);
    print_operands(problem, text);
    print_traits(problem, text);
    print_seed(problem, choice, text);
    if (choice->config.launch.debug) {
        jg_str_puts(text, "#define JG_DEBUG 1\n");
    }
    if (choice->config.launch.trace) {
        jg_str_puts(text, "#define JG_TRACE 1\n");
    }
    if (!reference) { /* what headers are spared (jg/ptx/wgmma.cuh) */
        jg_str_printf(text, "#define JG_TILE_COLUMNS %d\n", choice->config.layout.tile_n);
    }
    jg_print_modules(arch, problem, choice, text);
    jg_str_printf(text, "#include <%s>\n\n", header);
    print_config(problem, choice, text);
    print_epilogue(problem->epilogue, source.has_lineinfo, text);
    print_entry(source.entry, choice, kernel, text);
    if (jg_is_repacked(&choice->config)) {
        print_repack_entry(text);
    }
    if (jg_has_group_maps(&choice->config)) {
        print_group_maps_entry(problem, &choice->product, text);
    }
    if (jg_packs_scales(&choice->product)) {
        jg_source_print_scale_pack(problem, &choice->product, text);
    }

    const jit_gemm_status status = jg_str_status(text);
    if (status != JIT_GEMM_OK) {
        jg_source_free(&source);
        return status;
    }
    if (jg_epilogue_is_linked(problem->epilogue)) {
        source.linked = problem->epilogue->compiled.code;
        source.linked_size = problem->epilogue->compiled.code_size;
    }
    *ret_source = source;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_source_assemble_snippet(const struct jg_epilogue *epilogue,
                                           struct jg_str *out)
{
    const struct jg_problem problem = {.epilogue = epilogue};
    print_operands(&problem, out);
    print_traits(&problem, out);
    jg_print_snippet_modules(epilogue, out);
    jg_str_puts(out, "#include <jg/epilogue/user_epilogue.cuh>\n\n");
    print_epilogue(epilogue, false, out);
    return jg_str_status(out);
}

void jg_source_free(struct jg_source *source)
{
    jg_str_free(&source->text);
}
