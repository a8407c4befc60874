/* SPDX-License-Identifier: MIT */
#include "source/combine_unit.h"

#include <stdio.h>

#include "plan/dtype.h"
#include "source/embedded.h"

jit_gemm_status jg_source_assemble_combine(const struct jg_arch *arch,
                                           const struct jg_combine *combine,
                                           struct jg_source *ret_source)
{
    struct jg_source source = {.headers = jg_digest_headers()};
    const char *rows = jg_dtype_name(combine->rows), *d = jg_dtype_name(combine->d);
    snprintf(source.entry, sizeof(source.entry), "jit_gemm_combine_%u_%s_%s",
             combine->chosen, rows, d);
    struct jg_str *text = &source.text;
    jg_source_print_versions(arch, text);
    jg_str_puts(text, "// ");
    jg_combine_text(combine, text);
    jg_str_printf(text,
                  "\n#include <jg/combine/combine_kernel.cuh>\n\n"
                  "struct Config {\n"
                  "    using Row = jg::%s;\n"
                  "    using D = jg::%s;\n"
                  "    enum : jg::u32 { kChosen = %u };\n"
                  "    enum : jg::u32 { kAlignment = %d };\n"
                  "    enum : jg::u32 { kParamsBytes = %zu };\n"
                  "};\n\n",
                  rows, d, combine->chosen, JG_COMBINE_ALIGNMENT,
                  sizeof(struct jg_combine_params));
    jg_str_printf(text,
                  "extern \"C\" __global__ void __launch_bounds__(%d)\n"
                  "%s(const __grid_constant__ jg::combine::CombineParams params)\n"
                  "{\n"
                  "    jg::combine::combine_kernel<Config>(params);\n"
                  "}\n",
                  JG_COMBINE_THREADS, source.entry);
    return jg_source_finish(&source, ret_source);
}
