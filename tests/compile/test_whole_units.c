/* SPDX-License-Identifier: MIT */
/* Whole units of sm_90a from the assembler to machine code: each tile, and the corners of
 * the problem space. */
#include <criterion/criterion.h>

#include "base/error.h"
#include "compile/build.h"
#include "compile/toolchain.h"
#include "unit_maker.h"

static const struct unit_request whole_units[] = {
    {.problem = "256x256x128 bf16 config=tile=128x256 cluster=2x1"},
    {.problem = "256x256x128 bf16 config=tile=256x128 cluster=1x2"},
    {.problem = "256x384x128 f16 layout=nn config=tile=128x192 cluster=1x1"},
    {.problem = "256x256x128 f16 d=f32 layout=tt config=tile=128x128 cluster=2x1"},
    {.problem = "64x512x128 bf16 d=f16 layout=tn config=tile=64x256 cluster=1x1"},
    {.problem = "m=17 n=336 k=80 batch=3 a=bf16 c=bf16 dynamic=m config=tile=64x128 "
                "cluster=1x2"},
    {.problem = "m=1 n=1 k=1 a=f16 config=kernel=reference"},
    {.problem = "256x256x128 bf16 config=tile=128x256", .snippet = "d = gelu(acc);"},
    {.problem = "256x256x128 bf16 config=tile=128x256",
     .snippet = "d = gelu(acc + bias) + r;",
     .operands = "bias:row_vector:bf16 r:matrix:bf16"},
    {.problem = "256x256x128 bf16 d=f32 dynamic=m,n,k,batch config=tile=256x128",
     .snippet = "d = silu(acc * cv + bias) * s + r;",
     .operands = "bias:row_vector:f32 r:matrix:f32 cv:column_vector:f32 s:scalar:f32"},
    {.problem = "256x333x128 bf16 c=f32 config=tile=128x256",
     .snippet = "aux = acc; d = tanh(acc + x * y);",
     .operands = "x:matrix:f32 y:matrix:bf16 aux:matrix:f32:out"},
    {.problem = "512x512x128 bf16 config=tile=128x256",
     .snippet = "d = gelu(acc + r); s = d * d; b = d; m = abs(acc); lo = d;",
     .operands = "r:matrix:bf16 s:column_vector:f32:sum b:row_vector:bf16:sum "
                 "m:scalar:f32:max lo:row_vector:f32:min"},
    {.problem = "300x333x128 e4m3 d=bf16 d_layout=column dynamic=m,n config=tile=64x256",
     .snippet = "d = acc; s = acc; b = acc; m = acc;",
     .operands = "s:column_vector:f32:max b:row_vector:f16:sum m:scalar:f32:sum"},
};

Test(whole_units, compile_without_spills, .timeout = 100)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    const struct jg_builder builder = {.toolchain = toolchain};
    for (size_t i = 0; i < sizeof(whole_units) / sizeof(whole_units[0]); i++) {
        struct unit unit = unit_make(&whole_units[i]);
        const char *problem = whole_units[i].problem;
        const struct jg_build_unit wanted = {&unit.source, unit.arch, unit.epilogue,
                                             problem};
        struct jg_binary binary = {0};

        cr_expect_eq(jg_build(&builder, &wanted, &binary, NULL), JIT_GEMM_OK, "%s: %s",
                     problem, jg_error_text());
        cr_expect_eq(binary.spill_bytes, 0, "%s: %u bytes of local memory", problem,
                     binary.spill_bytes);
        cr_expect_gt(binary.registers, 0);
        jg_binary_free(&binary);
        unit_free(&unit);
    }
    jg_toolchain_destroy(toolchain);
}
