/* SPDX-License-Identifier: MIT */
#include "source/scale_pack_entry.h"

#include "plan/groups.h"
#include "plan/scale.h"
#include "plan/scale_pack.h"
#include "source/scale_layout.h"

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

void jg_source_print_scale_pack(const struct jg_problem *problem,
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
