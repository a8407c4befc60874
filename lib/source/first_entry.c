/* SPDX-License-Identifier: MIT */
#include "source/first_entry.h"

#include "plan/group_maps.h"
#include "plan/groups.h"
#include "plan/repack.h"
#include "plan/scale.h"
#include "plan/scale_pack.h"
#include "source/device_names.h"

/* Where A or B is copied. */
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

/* Where TMA loads by maps of each group. */
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

/* Of the product's A or B (jg/pack/pack_scales_kernel.cuh). */
static void print_packing(const char *name, const struct jg_problem *problem,
                          const struct jg_matrix *matrix, struct jg_str *out)
{
    const jit_gemm_scale *scale = &matrix->scale;
    if (jg_scale_is_packed_first(scale)) {
        const bool is_a = matrix->letter == 'a';
        jg_str_printf(out, "using %s = jg::pack::ToPieces<jg::ScaleLayout::%s, %u%s>;\n",
                      name, jg_source_scale_layout(scale->layout), scale->block_mn,
                      is_a && jg_groups_pack_scales(problem) ? ", true" : "");
    } else {
        jg_str_printf(out, "using %s = jg::pack::NoPacking;\n", name);
    }
}

/* Where scales are packed. */
static void print_scale_pack_entry(const struct jg_problem *problem,
                                   const struct jg_product *product, struct jg_str *out)
{
    jg_str_puts(out, "\n");
    print_packing("APacking", problem, &product->a, out);
    print_packing("BPacking", problem, &product->b, out);
    jg_str_printf(
        out,
        "extern \"C\" __global__ void __launch_bounds__(%d)\n"
        "%s(const __grid_constant__ jg::pack::PackScalesParams params)\n"
        "{\n"
        "    static_assert(sizeof(params) == %zu, \"host and device disagree\");\n"
        "    jg::pack::pack_scales_kernel<Config, APacking, BPacking>(params);\n"
        "}\n",
        JG_PACK_THREADS, JG_SCALE_PACK_ENTRY, sizeof(struct jg_scale_pack_params));
}

void jg_source_print_first_entry(const struct jg_problem *problem,
                                 const struct jg_choice *choice, struct jg_str *out)
{
    if (jg_is_repacked(&choice->config)) {
        print_repack_entry(out);
    }
    if (jg_has_group_maps(&choice->config)) {
        print_group_maps_entry(problem, &choice->product, out);
    }
    if (jg_packs_scales(&choice->product)) {
        print_scale_pack_entry(problem, &choice->product, out);
    }
}
