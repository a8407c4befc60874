/* SPDX-License-Identifier: MIT */
/* Whole units for each element type: the main tiles of each chip compile without spills
 * and with the tensor core instruction that the types mean. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "compile/toolchain.h"
#include "strides.h"
#include "unit_maker.h"

struct type_row {
    struct unit_request request;
    const char *has;
};

static const char fp8_operands[] =
    "s:scalar:e4m3 bias:row_vector:e5m2 u:column_vector:e4m3 r:matrix:e4m3 x:matrix:f32 "
    "aux:matrix:e5m2:out";
static const char fp8_snippet[] = "aux = acc; d = relu(acc * s + bias * u) + r * x;";

static const struct type_row hopper_rows[] = {
    {{.problem = "512x512x512 tf32 config=tile=128x256"}, ".m64n256k8.f32.tf32.tf32 "},
    {{.problem = "512x512x512 tf32 d=bf16 config=tile=256x128"},
     ".m64n128k8.f32.tf32.tf32 "},
    {{.problem = "511x512x511 tf32 input_align=4 config=tile=128x256"}, "cvt.rn.tf32.f32 "},
    {{.problem = "512x512x512 e4m3 d=bf16 config=tile=256x128"},
     ".m64n128k32.f32.e4m3.e4m3 "},
    {{.problem = "512x512x512 e4m3 b=e5m2 d=f32 config=tile=128x192"},
     ".m64n192k32.f32.e4m3.e5m2 "},
    {{.problem = "512x512x512 e5m2 b=e4m3 config=tile=128x128"},
     ".m64n128k32.f32.e5m2.e4m3 "},
    {{.problem = "512x512x512 e5m2 config=tile=64x256"}, ".m64n128k32.f32.e5m2.e5m2 "},
    {{.problem = "512x512x512 e4m3 c=e5m2 config=tile=256x128",
      .snippet = fp8_snippet,
      .operands = fp8_operands},
     ".m64n128k32.f32.e4m3.e4m3 "},
    {{.problem = "512x333x512 e5m2 c=f32 d=e4m3 dynamic=m config=tile=128x192",
      .snippet = fp8_snippet,
      .operands = fp8_operands},
     ".m64n192k32.f32.e5m2.e5m2 "},
    {{.problem = "512x512x512 e4m3 d=bf16 a_scale=tensor b_scale=tensor "
                 "config=tile=256x128"},
     ".m64n128k32.f32.e4m3.e4m3 "},
    {{.problem = "512x512x512 e4m3 a_scale=vector b_scale=vector config=tile=128x192"},
     ".m64n192k32.f32.e4m3.e4m3 "},
    {{.problem = "512x333x512 bf16 c=bf16 a_scale=vector dynamic=m config=tile=128x256",
      .snippet = "d = gelu(acc * cv + bias) + r;",
      .operands = "bias:row_vector:f32 r:matrix:bf16 cv:column_vector:f32"},
     ".m64n256k16.f32.bf16.bf16 "},
    {{.problem = "512x512x512 s8 config=tile=128x256"}, ".m64n256k32.s32.s8.s8 "},
    {{.problem = "512x512x512 s8 d=f32 config=tile=64x128"}, ".m64n64k32.s32.s8.s8 "},
    {{.problem = "512x333x512 s8 c=s32 d=bf16 config=tile=256x128"},
     ".m64n128k32.s32.s8.s8 "},
    {{.problem = "512x512x512 s8 config=tile=128x192",
      .snippet = "d = acc * s;",
      .operands = "s:scalar:f32"},
     ".m64n192k32.s32.s8.s8 "},
    {{.problem = "512x333x512 s8 c=s8 d=s8 config=tile=128x192",
      .snippet = "d = acc * s;",
      .operands = "s:scalar:f32"},
     ".m64n192k32.s32.s8.s8 "},
    {{.problem = "512x333x512 bf16 d=e4m3 d_scale=1x128 config=tile=128x256"},
     ".m64n256k16.f32.bf16.bf16 "},
    {{.problem = "512x512x512 e4m3 d=e5m2 d_scale=mx d_scale_layout=128x4 "
                 "config=tile=128x192"},
     ".m64n192k32.f32.e4m3.e4m3 "},
    {{.problem = "512x512x512 bf16 d=nvfp4 config=tile=128x192"},
     "cvt.rn.satfinite.e4m3x2.f32 "},
};

static const struct type_row blackwell_rows[] = {
    {{.problem = "512x512x512 tf32 config=mma=256x256"}, ".kind::tf32 ["},
    {{.problem = "512x512x512 tf32 d=bf16 config=mma=128x128"}, ".kind::tf32 ["},
    {{.problem = "512x512x512 tf32 layout=tn config=mma=256x256"}, ".kind::tf32 ["},
    {{.problem = "511x512x511 tf32 layout=tn input_align=4 config=mma=128x256"},
     "cvt.rn.tf32.f32 "},
    {{.problem = "511x512x511 tf32 input_align=4 config=mma=128x256"}, "cvt.rn.tf32.f32 "},
    {{.problem = "512x512x512 e4m3 d=bf16 layout=tn config=mma=256x256"},
     ".kind::f8f6f4 ["},
    {{.problem = "512x512x512 e4m3 d=bf16 layout=tt config=mma=128x256 cta_group=2"},
     ".kind::f8f6f4 ["},
    {{.problem = "512x512x512 e5m2 b=e4m3 d=f32 config=mma=128x256"}, ".kind::f8f6f4 ["},
    {{.problem = "512x512x512 e4m3 c=e5m2 config=mma=256x128",
      .snippet = fp8_snippet,
      .operands = fp8_operands},
     ".kind::f8f6f4 ["},
    {{.problem = "512x512x512 e4m3 d=bf16 a_scale=tensor b_scale=tensor "
                 "config=mma=256x256"},
     ".kind::f8f6f4 ["},
    {{.problem = "512x333x512 e4m3 c=bf16 a_scale=vector b_scale=vector config=mma=256x128",
      .snippet = "d = gelu(acc * cv + bias) + r;",
      .operands = "bias:row_vector:f32 r:matrix:bf16 cv:column_vector:f32"},
     ".kind::f8f6f4 ["},
    {{.problem = "512x512x512 s8 layout=tt config=mma=256x256"}, ".kind::i8 ["},
    {{.problem = "512x333x512 s8 c=s32 d=bf16 config=mma=128x192"}, ".kind::i8 ["},
    {{.problem = "512x512x512 s8 config=mma=256x128",
      .snippet = "d = acc * s;",
      .operands = "s:scalar:f32"},
     ".kind::i8 ["},
    {{.problem = "512x333x512 bf16 c=s8 d=s8 config=mma=256x128"}, ".kind::f16 ["},
    {{.problem = "512x333x512 e4m3 d_scale=1x128 config=mma=256x256"}, ".kind::f8f6f4 ["},
    {{.problem = "512x512x512 bf16 d=e4m3 d_scale=mx config=mma=256x192"}, ".kind::f16 ["},
    {{.problem = "512x512x512 bf16 d=nvfp4 config=mma=256x256"},
     "cvt.rn.satfinite.e2m1x2.f32 "},
    {{.problem = "512x512x512 a=mxfp8 b=mxfp4 d=bf16 config=mma=256x256"},
     ".kind::mxf8f6f4.block_scale ["},
    {{.problem = "512x512x512 a=mxfp4 b=mxfp8e5m2 d=bf16 config=mma=128x192"},
     ".kind::mxf8f6f4.block_scale ["},
    {{.problem = "512x512x544 mxfp4 d=bf16 config=mma=128x128"}, "st.shared.u8 "},
    {{.problem = "512x512x544 nvfp4 d=bf16 config=mma=256x192"}, "st.shared::cluster.u16 "},
};

static void expect_units(const char *arch, const struct type_row *rows, size_t count)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    for (size_t i = 0; i < count; i += (size_t)test_stride(2)) {
        struct unit_request wanted = rows[i].request;
        wanted.arch = arch;
        struct unit unit = unit_make(&wanted);
        const struct jg_compile_request request = {.arch = arch,
                                                   .text = unit.source.text.data,
                                                   .entry = unit.source.entry,
                                                   .epilogue = unit.epilogue};
        struct jg_compile_result result = {0};

        cr_assert_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_OK, "%s: %s",
                     wanted.problem, jg_error_text());

        cr_expect_eq(result.spill_bytes, 0, "%s: %u bytes of local memory", wanted.problem,
                     result.spill_bytes);
        cr_expect_null(strstr(jg_str_text(&result.log), "serialized"), "%s: %s",
                       wanted.problem, jg_str_text(&result.log));
        cr_expect_not_null(strstr(jg_str_text(&result.ptx), rows[i].has), "%s lacks %s",
                           wanted.problem, rows[i].has);
        jg_compile_result_free(&result);
        unit_free(&unit);
    }
    jg_toolchain_destroy(toolchain);
}

Test(type_units, of_sm_90a_compile_without_spills, .timeout = 100)
{
    expect_units("sm_90a", hopper_rows, sizeof(hopper_rows) / sizeof(hopper_rows[0]));
}

Test(type_units, of_sm_100a_compile_without_spills, .timeout = 100)
{
    expect_units("sm_100a", blackwell_rows,
                 sizeof(blackwell_rows) / sizeof(blackwell_rows[0]));
}
