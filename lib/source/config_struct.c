/* SPDX-License-Identifier: MIT */
#include "source/config_struct.h"

#include "base/math.h"
#include "plan/groups.h"
#include "plan/kernel_params.h"
#include "plan/scale.h"
#include "plan/split.h"
#include "source/device_names.h"
#include "source/line_names.h"

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
                      jg_source_operand_kind(problem, kind));
    }
}

/* Of rows that an index names: jg/epilogue/indexed_scales.cuh. */
static void print_a_scale(const struct jg_problem *problem, struct jg_str *out)
{
    const jit_gemm_scale_kind scale = problem->a.scale.kind;
    if (scale == JIT_GEMM_SCALE_VECTOR && problem->a_rows == JIT_GEMM_ROWS_INDEXED) {
        jg_str_printf(out, "    using AScale = jg::Indexed%sInput<jg::f32>;\n",
                      jg_source_operand_kind(problem, JIT_GEMM_OPERAND_COLUMN_VECTOR));
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
        const char *kind = jg_source_operand_kind(problem, JIT_GEMM_OPERAND_PAIR_VECTOR);
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
        print_name("ScaledBlocks", "kScaledBlocks", jg_source_scaled_blocks(derived), out);
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
    print_flag("kReadsFirst", derived->reads_first, out);
    print_flag("kStoresByWarps", derived->stores_by_warps, out);
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

void jg_source_print_config(const struct jg_problem *problem,
                            const struct jg_choice *choice, struct jg_str *out)
{
    jg_source_print_line(1, "jit_gemm_config", out);
    jg_str_puts(out, "struct Config {\n");
    print_sizes(problem, &choice->product, &choice->derived, out);
    print_tiles(choice, out);
    print_resources(problem, &choice->derived, out);
    print_forms(problem, choice, out);
    print_types(problem, choice, out);
    jg_str_puts(out, "};\n\n");
}
