/* SPDX-License-Identifier: MIT */
#include "source/pack_unit.h"

#include <stdio.h>

#include "plan/scale.h"
#include "source/device_names.h"
#include "source/embedded.h"

jit_gemm_status jg_source_assemble_pack(const struct jg_arch *arch,
                                        const struct jg_pack *pack,
                                        struct jg_source *ret_source)
{
    struct jg_source source = {.headers = jg_digest_headers()};
    snprintf(source.entry, sizeof(source.entry), "jit_gemm_pack_%u_%s_%s",
             pack->element_bytes, jg_scale_layout_name(pack->from),
             jg_scale_layout_name(pack->to));
    struct jg_str *text = &source.text;
    jg_source_print_versions(arch, text);
    jg_str_puts(text, "// ");
    jg_pack_text(pack, text);
    jg_str_printf(text,
                  "\n#include <jg/pack/pack_kernel.cuh>\n\n"
                  "struct Config {\n"
                  "    enum : jg::u32 { kElementBytes = %u };\n"
                  "    enum : jg::u32 { kScaleRows = 1 };\n"
                  "    enum : jg::u32 { kParamsBytes = %zu };\n"
                  "    static constexpr jg::ScaleLayout kFrom = jg::ScaleLayout::%s;\n"
                  "    static constexpr jg::ScaleLayout kTo = jg::ScaleLayout::%s;\n"
                  "};\n\n",
                  pack->element_bytes, sizeof(struct jg_pack_params),
                  jg_source_scale_layout(pack->from), jg_source_scale_layout(pack->to));
    jg_str_printf(text,
                  "extern \"C\" __global__ void __launch_bounds__(%d)\n"
                  "%s(const __grid_constant__ jg::pack::PackParams params)\n"
                  "{\n"
                  "    jg::pack::pack_kernel<Config>(params);\n"
                  "}\n",
                  JG_PACK_THREADS, source.entry);
    return jg_source_finish(&source, ret_source);
}
