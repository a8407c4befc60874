/* SPDX-License-Identifier: MIT */
/* The text form: parse, print, round trips, and every message. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "draws.h"
#include "plan/problem.h"
#include "plan/text.h"
#include "plan_fixture.h"

static jit_gemm_problem parse(const char *text)
{
    jit_gemm_problem problem;
    memset(&problem, 0, sizeof(problem));
    cr_assert_eq(jg_problem_parse(text, &problem), JIT_GEMM_OK, "%s: %s", text,
                 jg_error_text());
    return problem;
}

Test(problem_text, long_form)
{
    const jit_gemm_problem problem =
        parse("m=4096 n=2048 k=1024 batch=3 a=f16 b=f16 c=f32 d=bf16 layout=tn "
              "epilogue=my_gelu config=tile=128x256 cluster=2x1");

    cr_expect_eq(problem.struct_size, sizeof(problem));
    cr_expect_eq(problem.m.size, 4096);
    cr_expect_eq(problem.n.size, 2048);
    cr_expect_eq(problem.k.size, 1024);
    cr_expect_eq(problem.batch.size, 3);
    cr_expect_eq(problem.a.dtype, JIT_GEMM_DTYPE_F16);
    cr_expect_eq(problem.b.dtype, JIT_GEMM_DTYPE_F16);
    cr_expect_eq(problem.c.dtype, JIT_GEMM_DTYPE_F32);
    cr_expect_eq(problem.d.dtype, JIT_GEMM_DTYPE_BF16);
    cr_expect_eq(problem.a.layout, JIT_GEMM_LAYOUT_MN_MAJOR);
    cr_expect_eq(problem.b.layout, JIT_GEMM_LAYOUT_MN_MAJOR);
    cr_expect_str_eq(problem.epilogue, "my_gelu");
    cr_expect_str_eq(problem.config, "tile=128x256 cluster=2x1");
}

Test(problem_text, short_form_is_the_long_one)
{
    const jit_gemm_problem long_form = parse("m=17 n=333 k=65 a=bf16");
    const jit_gemm_problem short_form = parse("17x333x65 bf16");
    const jit_gemm_problem mixed = parse(" 17x333x65\ta=bf16\n");

    cr_expect_eq(memcmp(&short_form, &long_form, sizeof(long_form)), 0);
    cr_expect_eq(memcmp(&mixed, &long_form, sizeof(long_form)), 0);
}

Test(problem_text, a_type_without_a_key_is_the_one_of_a_wherever_it_stands)
{
    static const char *const rows[][2] = {
        {"m=4096 n=7168 k=2048 bf16 groups=8 group_by=offsets",
         "m=4096 n=7168 k=2048 a=bf16 groups=8 group_by=offsets"},
        {"bf16 m=17 n=333 k=65", "m=17 n=333 k=65 a=bf16"},
        {"m=17 n=333 k=65 batch=2 bf16", "m=17 n=333 k=65 batch=2 a=bf16"},
        {"bf16 17x333x65", "17x333x65 bf16"},
        {"bf16 17x333x65 d=f32", "17x333x65 bf16 d=f32"},
        {"m=16 n=32 d=f32 mxfp8 k=128", "m=16 n=32 k=128 a=mxfp8 d=f32"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const jit_gemm_problem without = parse(rows[i][0]);
        const jit_gemm_problem with = parse(rows[i][1]);
        cr_expect_eq(memcmp(&without, &with, sizeof(with)), 0, "%s", rows[i][0]);
    }
}

Test(problem_text, defaults_are_explicit_after_parsing)
{
    const jit_gemm_problem problem = parse("8x8x8 f16");

    cr_expect_eq(problem.batch.size, 1);
    cr_expect_eq(problem.b.dtype, JIT_GEMM_DTYPE_F16);
    cr_expect_eq(problem.c.dtype, JIT_GEMM_DTYPE_NONE);
    cr_expect_eq(problem.d.dtype, JIT_GEMM_DTYPE_F16);
}

Test(problem_text, layout_letters)
{
    static const struct {
        const char *text;
        jit_gemm_layout a, b;
    } rows[] = {
        {"8x8x8 bf16", JIT_GEMM_LAYOUT_K_MAJOR, JIT_GEMM_LAYOUT_K_MAJOR},
        {"8x8x8 bf16 layout=nt", JIT_GEMM_LAYOUT_K_MAJOR, JIT_GEMM_LAYOUT_K_MAJOR},
        {"8x8x8 bf16 layout=nn", JIT_GEMM_LAYOUT_K_MAJOR, JIT_GEMM_LAYOUT_MN_MAJOR},
        {"8x8x8 bf16 layout=tt", JIT_GEMM_LAYOUT_MN_MAJOR, JIT_GEMM_LAYOUT_K_MAJOR},
        {"8x8x8 bf16 layout=tn", JIT_GEMM_LAYOUT_MN_MAJOR, JIT_GEMM_LAYOUT_MN_MAJOR},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const jit_gemm_problem problem = parse(rows[i].text);
        cr_expect_eq(problem.a.layout, rows[i].a, "%s", rows[i].text);
        cr_expect_eq(problem.b.layout, rows[i].b, "%s", rows[i].text);
    }
}

Test(problem_text, dynamic_sizes_may_be_left_out)
{
    const jit_gemm_problem problem = parse("k=64 a=bf16 m=100 dynamic=m,n,batch");

    cr_expect_eq(problem.m.mode, JIT_GEMM_DIM_DYNAMIC);
    cr_expect_eq(problem.m.size, 100);
    cr_expect_eq(problem.n.mode, JIT_GEMM_DIM_DYNAMIC);
    cr_expect_eq(problem.n.size, 0);
    cr_expect_eq(problem.k.mode, JIT_GEMM_DIM_EXACT);
    cr_expect_eq(problem.batch.mode, JIT_GEMM_DIM_DYNAMIC);
}

Test(problem_text, every_message)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"",
         "problem: the text is empty; give for instance 'm=4096 n=4096 k=4096 a=bf16' or "
         "'4096x4096x4096 bf16'"},
        {" \t\n ", "problem: the text is empty; give for instance"},
        {"m=1 n=5 mm=3",
         "problem: unknown key 'mm' at column 9; did you mean m? keys: m n k batch groups group_by "
         "group_rest scale_rows typical_sizes a b c d layout d_layout a_rows d_rows a_scale a_scale_layout b_scale "
         "b_scale_layout d_scale d_scale_layout dynamic workspace input_align output_align "
         "pair invariant accumulate weights max_registers local_memory epilogue config"},
        {"=3", "problem: unknown key '' at column 1"},
        {"M=3", "problem: unknown key 'M' at column 1"},
        {"gemm",
         "problem: 'gemm' at column 1 is neither key=value nor MxNxK with sizes from "
         "1 to 2147483647"},
        {"8x8 bf16", "problem: '8x8' at column 1 is neither"},
        {"8x8x8x8 bf16", "problem: '8x8x8x8' at column 1 is neither"},
        {"8x8x bf16", "problem: '8x8x' at column 1 is neither"},
        {"0x8x8 bf16", "problem: '0x8x8' at column 1 is neither"},
        {"8x-8x8 bf16", "problem: '8x-8x8' at column 1 is neither"},
        {"8x8x2147483648 bf16", "problem: '8x8x2147483648' at column 1 is neither"},
        {"8x8x8 bf16 f16",
         "problem.a.dtype: 'f16' at column 12 is given, and A has a type already; give A's "
         "type once, and others as b=, c= and d="},
        {"8x8x8 a=bf16 f16",
         "problem.a.dtype: 'f16' at column 14 is given, and A has a type already"},
        {"f16 m=8 a=f16", "problem.a.dtype: key 'a' at column 9 is given twice"},
        {"m=8 none", "problem: 'none' at column 5 is not of the form key=value"},
        {"m=8 gelu", "problem: 'gelu' at column 5 is not of the form key=value"},
        {"m=8 8x8x8", "problem: '8x8x8' at column 5 is not of the form key=value"},
        {"bf16 gemm", "problem: 'gemm' at column 6 is neither key=value nor MxNxK"},
        {"bf16 8x8x8 m=8", "problem.m: key 'm' at column 12 is given twice"},
        {"m=8 f16", "problem.n: key 'n' is missing"},
        {"8x8x8 e4m2",
         "problem.a.dtype: unknown type 'e4m2' at column 7; did you mean e4m3? types: bf16 f16 tf32 e4m3 "
         "e5m2 s8"},
        {"8x8x8 bf16 a=bf16",
         "problem.a.dtype: key 'a' at column 12 is given twice; give each key "
         "once"},
        {"8x8x8 bf16 m=8", "problem.m: key 'm' at column 12 is given twice"},
        {"m=8 n=8 m=8", "problem.m: key 'm' at column 9 is given twice"},
        {"8x8x8 bf16 layout=nt layout=nt", "problem.layout: key 'layout' at column 22 is "},
        {"m=-5 n=8 k=8 a=bf16",
         "problem.m: must be a number from 1 to 2147483647, is '-5' at "
         "column 3; give the number of rows of A and D"},
        {"m=8 n=0 k=8 a=bf16",
         "problem.n: must be a number from 1 to 2147483647, is '0' at "
         "column 7"},
        {"m=8 n=8 k=2147483648 a=bf16", "problem.k: must be a number from 1 to 2147483647"},
        {"m=99999999999999999999999999 n=8", "problem.m: must be a number from 1"},
        {"m=8q", "problem.m: must be a number from 1 to 2147483647, is '8q' at column 3"},
        {"m=+8", "problem.m: must be a number from 1 to 2147483647, is '+8' at column 3"},
        {"m=0x10",
         "problem.m: must be a number from 1 to 2147483647, is '0x10' at column 3"},
        {"m=1e3", "problem.m: must be a number from 1 to 2147483647, is '1e3' at column 3"},
        {"m= 8", "problem.m: must be a number from 1 to 2147483647, is '' at column 3"},
        {"8x8x8 bf16 batch=0",
         "problem.batch: must be a number from 1 to 2147483647, is '0' "
         "at column 18; give the number of products"},
        {"8x8x8 a=", "problem.a.dtype: unknown type '' at column 9"},
        {"8x8x8 a=none",
         "problem.a.dtype: unknown type 'none' at column 9; types: bf16 f16 tf32"},
        {"8x8x8 bf16 b=none", "problem.b.dtype: unknown type 'none' at column 14"},
        {"8x8x8 bf16 c=s9",
         "problem.c.dtype: unknown type 's9' at column 14; did you mean s8? types: bf16 f16 f32 e4m3 e5m2 s8 s32, "
         "or none"},
        {"8x8x8 bf16 d=BF16", "problem.d.dtype: unknown type 'BF16' at column 14"},
        {"8x8x8 bf16 layout=nnn",
         "problem.layout: unknown layout 'nnn' at column 19; "
         "did you mean nn? layouts: nt nn tn tt; A's letter, then B's; nt: both K-major"},
        {"8x8x8 bf16 layout=xy", "problem.layout: unknown layout 'xy' at column 19"},
        {"8x8x8 bf16 d_layout=t",
         "problem.d.layout: unknown layout 't' at column 21; give row or column"},
        {"8x8x8 bf16 a_scale=row",
         "problem.a.scale.kind: unknown scale 'row' at column 20; scales: none tensor vector "
         "1x128 128x128 1x128ue8m0 128x128ue8m0 mx nv"},
        {"8x8x8 e4m3 a_scale=1x32",
         "problem.a.scale.kind: unknown scale '1x32' at column 20; did you mean mx?"},
        {"8x8x8 e4m3 b_scale=BlockWise1x16",
         "problem.b.scale.kind: unknown scale 'BlockWise1x16' at column 20; did you mean nv?"},
        {"8x8x8 e4m3 b_scale=128x12",
         "problem.b.scale.kind: unknown scale '128x12' at column 20; did you mean 128x128?"},
        {"8x8x8 e4m3 a_scale=mx a_scale_layout=SWIZZLE_32_4_4",
         "problem.a.scale.layout: unknown layout 'SWIZZLE_32_4_4' at column 38; did you mean "
         "128x4?"},
        {"8x8x8 bf16 d_scale=nv d=nvfp4",
         "problem.d.dtype: 'nvfp4' at column 25 brings its scales along, and 'd_scale' is "
         "given too; leave one of them out, or name the element type alone"},
        {"8x8x8 bf16 d=nvfp4 d_scale=nv",
         "problem.d.scale.kind: 'd_scale' at column 20 is given, and the type brought "
         "scales along; leave one of them out, or name the element type alone"},
        {"8x8x64 nvfp4 a_scale=none",
         "problem.a.scale.kind: 'a_scale' at column 14 is given, and the type brought"},
        {"8x8x8 bf16 c=nvfp4", "problem.c.dtype: unknown type 'nvfp4' at column 14"},
        {"8x8x8 bf16 d_scale=mx d_scale_layout=4x128",
         "problem.d.scale.layout: unknown layout '4x128' at column 38; layouts: row column "
         "128x4 8x4 mn_k4"},
        {"8x8x8 bf16 b_scale_layout=row b_scale=vector b_scale_layout=column",
         "problem.b.scale.layout: key 'b_scale_layout' at column 46 is given twice"},
        {"8x8x8 bf16 b_scale=vector b_scale_layout=column",
         "problem.b.scale.layout: must be 0, is 1: the scale is none of blocks"},
        {"8x8x8 bf16 b_scale=", "problem.b.scale.kind: unknown scale '' at column 20"},
        {"8x8x8 bf16 a_scale=tensor a_scale=none",
         "problem.a.scale.kind: key 'a_scale' at column 27 is given twice"},
        {"8x8x8 bf16 dynamic=",
         "problem.dynamic: '' at column 20 is unknown or given twice; "
         "give a list of m n k batch, such as dynamic=m,n, each once"},
        {"8x8x8 bf16 dynamic=m,", "problem.dynamic: '' at column 22 is unknown"},
        {"8x8x8 bf16 dynamic=m,q", "problem.dynamic: 'q' at column 22 is unknown"},
        {"8x8x8 bf16 dynamic=m,m", "problem.dynamic: 'm' at column 22 is unknown or given "
                                   "twice"},
        {"8x8x8 bf16 dynamic=a", "problem.dynamic: 'a' at column 20 is unknown"},
        {"8x8x8 bf16 workspace=",
         "problem.workspace_limit: '' at column 22 is no size up to 1048576g; give bytes, "
         "with k, m or g for powers of 1024, such as workspace=64m"},
        {"8x8x8 bf16 workspace=m", "problem.workspace_limit: 'm' at column 22 is no size"},
        {"8x8x8 bf16 workspace=64M", "problem.workspace_limit: '64M' at column 22 is no"},
        {"8x8x8 bf16 workspace=-1",
         "problem.workspace_limit: '-1' at column 22 is no size"},
        {"8x8x8 bf16 workspace=1048577g", "problem.workspace_limit: '1048577g' at column"},
        {"8x8x8 bf16 workspace=1m workspace=1m",
         "problem.workspace_limit: key 'workspace' at column 25 is given twice"},
        {"8x8x8 bf16 input_align=0", "problem.a.alignment: '0' at column 24 is no "
                                     "alignment; give 1, 2, 4, 8 or 16 bytes"},
        {"8x8x8 bf16 input_align=32", "problem.a.alignment: '32' at column 24 is no"},
        {"8x8x8 bf16 input_align=3",
         "problem.a.alignment: must be 0, 1, 2, 4, 8 or 16, is 3; give 1, 2, 4 or 8"},
        {"8x8x8 bf16 input_align=1",
         "problem.a.alignment: 1 bytes are less than an element; give at least the bytes "
         "of an element of A and of B"},
        {"8x8x8 tf32 input_align=2", "problem.a.alignment: 2 bytes are less than an "
                                     "element; give at least the bytes of an element"},
        {"8x8x8 bf16 output_align=0", "problem.d.alignment: '0' at column 25 is no "
                                      "alignment; give 1, 2, 4, 8 or 16 bytes"},
        {"8x8x8 bf16 output_align=6",
         "problem.d.alignment: must be 0, 1, 2, 4, 8 or 16, is 6; give 1, 2, 4 or 8"},
        {"8x8x8 bf16 output_align=2 output_align=2",
         "problem.d.alignment: key 'output_align' at column 27 is given twice"},
        {"8x8x8 bf16 max_registers=256",
         "problem.register_limit: must be a number from 1 to 255, is '256' at column 26; "
         "give the most registers of a thread, such as max_registers=168"},
        {"8x8x8 bf16 max_registers=0", "problem.register_limit: must be a number from 1"},
        {"8x8x8 bf16 invariant=k",
         "problem.invariant: unknown invariance 'k' at column 22; give none or m"},
        {"8x8x8 bf16 weights=c",
         "problem.weights: unknown matrix 'c' at column 20; give none, a or b"},
        {"8x8x8 bf16 local_memory=0",
         "problem.no_local_memory: unknown amount '0' at column 25; give any or none"},
        {"8x8x8 bf16 epilogue=",
         "problem.epilogue: '' at column 21 is no C identifier of at "
         "most 63 bytes; give the name of a registered epilogue"},
        {"8x8x8 bf16 epilogue=3d",
         "problem.epilogue: '3d' at column 21 is no C identifier"},
        {"8x8x8 bf16 pair=both",
         "problem.pair: unknown pair 'both' at column 17; give interleaved or halves"},
        {"8x8x8 bf16 epilogue=a-b", "problem.epilogue: 'a-b' at column 21 is no C"},
        {"8x8x8 bf16 config=tile=1", "config: '1' at column 6 is no value of 'tile'"},
        {"8x8x8 bf16 config=m=1", "config: unknown key 'm' at column 1"},
        {"n=8 k=8 a=bf16", "problem.m: key 'm' is missing; give for instance"},
        {"m=8 k=8 a=bf16", "problem.n: key 'n' is missing"},
        {"m=8 n=8 a=bf16",
         "problem.k: key 'k' is missing; give for instance 'm=4096 n=4096 k=4096 a=bf16' or "
         "'4096x4096x4096 bf16'; or dynamic=k, if launches set it"},
        {"m=8 n=8 a=bf16 dynamic=m", "problem.k: key 'k' is missing"},
        {"m=8 n=8 k=8", "problem.a.dtype: key 'a', the element type, is missing; give for "
                        "instance a=bf16"},
        {"8x8x8", "problem.a.dtype: key 'a', the element type, is missing"},
        {"m=8 \x01\x02\xff=3", "problem: unknown key '??\xff' at column 5"},
        {"m=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "problem.m: must be a number from 1 to 2147483647, is "
         "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' at column 3"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_problem problem;
        memset(&problem, 0x5a, sizeof(problem));
        const jit_gemm_problem before = problem;

        cr_expect_eq(jg_problem_parse(rows[i].text, &problem), JIT_GEMM_ERR_ARGUMENT, "%s",
                     rows[i].text);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "'%s'\nexpected '%s...'\n     got '%s'", rows[i].text, rows[i].message,
                     jg_error_text());
        cr_expect_eq(memcmp(&problem, &before, sizeof(before)), 0, "untouched on failure");
    }
}

Test(problem_text, null_text_is_an_argument)
{
    jit_gemm_problem problem;

    cr_expect_eq(jg_problem_parse(NULL, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(strncmp(jg_error_text(), "problem: the text is NULL; give for", 35), 0);
}

Test(problem_text, config_that_is_too_long_is_refused)
{
    char text[400];
    memset(text, 'x', sizeof(text));
    memcpy(text, "8x8x8 bf16 config=", 18);
    text[sizeof(text) - 1] = '\0';
    jit_gemm_problem problem;

    cr_expect_eq(jg_problem_parse(text, &problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(),
                     "problem.config: the text at column 19 has 381 bytes, "
                     "at most 255; use a shorter text");
}

Test(problem_text, epilogue_name_that_is_too_long_is_refused)
{
    char text[] = "8x8x8 bf16 epilogue="
                  "a123456789b123456789c123456789d123456789e123456789f123456789ghij";
    jit_gemm_problem problem;

    cr_expect_eq(jg_problem_parse(text, &problem), JIT_GEMM_ERR_ARGUMENT);
    text[strlen(text) - 1] = '\0';
    cr_expect_eq(jg_problem_parse(text, &problem), JIT_GEMM_OK);
    cr_expect_eq(strlen(problem.epilogue), 63);
}

Test(problem_text, print_leaves_defaults_out)
{
    static const struct {
        const char *text, *printed;
    } rows[] = {
        {"4096x4096x4096 bf16", "m=4096 n=4096 k=4096 a=bf16"},
        {"m=1 n=2 k=3 batch=1 a=f16 b=f16 c=none d=f16 layout=nt", "m=1 n=2 k=3 a=f16"},
        {"a=f16 d=f32 c=bf16 b=bf16 layout=tn batch=4 k=3 n=2 m=1",
         "m=1 n=2 k=3 batch=4 a=f16 b=bf16 c=bf16 d=f32 layout=tn"},
        {"n=2 k=3 a=bf16 dynamic=batch,m", "n=2 k=3 a=bf16 dynamic=m,batch"},
        {"8x8x8 bf16 config=  stages=4\n tile=128x256  epilogue=",
         NULL /* config takes the rest */},
        {"8x8x8 bf16 epilogue=e config= stages=4\ttile=128x256 ",
         "m=8 n=8 k=8 a=bf16 epilogue=e config=stages=4 tile=128x256"},
        {"8x8x8 bf16 config=", "m=8 n=8 k=8 a=bf16"},
        {"8x8x8 bf16 workspace=0", "m=8 n=8 k=8 a=bf16"},
        {"8x8x8 bf16 workspace=1000", "m=8 n=8 k=8 a=bf16 workspace=1000"},
        {"8x8x8 bf16 workspace=2048", "m=8 n=8 k=8 a=bf16 workspace=2k"},
        {"8x8x8 bf16 workspace=65536k dynamic=m epilogue=e",
         "m=8 n=8 k=8 a=bf16 dynamic=m workspace=64m epilogue=e"},
        {"8x8x8 bf16 workspace=1048576g", "m=8 n=8 k=8 a=bf16 workspace=1048576g"},
        {"8x8x8 bf16 a_scale=none b_scale=none", "m=8 n=8 k=8 a=bf16"},
        {"8x8x8 bf16 d_layout=row", "m=8 n=8 k=8 a=bf16"},
        {"8x8x8 bf16 d_layout=column layout=tt",
         "m=8 n=8 k=8 a=bf16 layout=tt d_layout=column"},
        {"8x8x8 e4m3 d_scale_layout=128x4 b_scale=128x128 d_scale=mx a_scale_layout=column "
         "a_scale=1x128 b_scale_layout=row",
         "m=8 n=8 k=8 a=e4m3 a_scale=1x128 a_scale_layout=column b_scale=128x128 d_scale=mx "
         "d_scale_layout=128x4"},
        {"8x8x8 bf16 d=nvfp4 d_scale_layout=row", "m=8 n=8 k=8 a=bf16 d=e2m1 d_scale=nv"},
        {"8x8x8 bf16 d=nvfp4", "m=8 n=8 k=8 a=bf16 d=e2m1 d_scale=nv d_scale_layout=128x4"},
        {"8x8x8 mxfp8 d=bf16", "m=8 n=8 k=8 a=e4m3 d=bf16 a_scale=mx a_scale_layout=128x4 "
                               "b_scale=mx b_scale_layout=128x4"},
        {"8x8x8 mxfp8 b=mxfp8e5m2 d=f32",
         "m=8 n=8 k=8 a=e4m3 b=e5m2 d=f32 a_scale=mx a_scale_layout=128x4 "
         "b_scale=mx b_scale_layout=128x4"},
        {"8x8x8 e4m3 b_scale=vector dynamic=m layout=nn a_scale=tensor d=bf16",
         "m=8 n=8 k=8 a=e4m3 d=bf16 layout=nn a_scale=tensor b_scale=vector dynamic=m"},
        {"8x8x8 bf16 input_align=16", "m=8 n=8 k=8 a=bf16"},
        {"8x8x8 bf16 input_align=2 workspace=1k", "m=8 n=8 k=8 a=bf16 workspace=1k "
                                                  "input_align=2"},
        {"8x8x8 tf32 input_align=4", "m=8 n=8 k=8 a=tf32 input_align=4"},
        {"8x8x8 bf16 output_align=16", "m=8 n=8 k=8 a=bf16"},
        {"8x8x8 bf16 epilogue=e output_align=1 input_align=4",
         "m=8 n=8 k=8 a=bf16 input_align=4 output_align=1 epilogue=e"},
        {"8x8x8 bf16 pair=interleaved", "m=8 n=8 k=8 a=bf16"},
        {"8x8x8 bf16 epilogue=e pair=halves input_align=4",
         "m=8 n=8 k=8 a=bf16 input_align=4 pair=halves epilogue=e"},
        {"8x8x8 tf32 d=f32", "m=8 n=8 k=8 a=tf32"},
        {"8x8x8 tf32 d=bf16", "m=8 n=8 k=8 a=tf32 d=bf16"},
        {"8x8x8 e4m3 b=e5m2 c=e5m2 d=e4m3", "m=8 n=8 k=8 a=e4m3 b=e5m2 c=e5m2"},
        {"8x8x8 s8 c=s32 d=s32", "m=8 n=8 k=8 a=s8 c=s32"},
        {"8x8x8 s8 d=f32", "m=8 n=8 k=8 a=s8 d=f32"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_problem problem;
        struct jg_str text = {0};
        if (rows[i].printed == NULL) {
            cr_expect_eq(jg_problem_parse(rows[i].text, &problem), JIT_GEMM_ERR_ARGUMENT);
            continue;
        }
        problem = parse(rows[i].text);
        cr_expect_eq(jg_problem_print(&problem, &text), JIT_GEMM_OK);
        cr_expect_str_eq(jg_str_text(&text), rows[i].printed);
        jg_str_free(&text);
    }
}

Test(problem_text, print_refuses_a_wrong_problem)
{
    jit_gemm_problem problem = parse("8x8x8 bf16");
    problem.k.size = -1;
    struct jg_str text = {0};

    cr_expect_eq(jg_problem_print(&problem, &text), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(jg_problem_print(NULL, &text), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(text.size, 0);
    jg_str_free(&text);
}

/* ----------------------------------------------------------------------- properties */

static jit_gemm_dim draw_dim(int dynamic_without_hint)
{
    jit_gemm_dim dim = {0};
    dim.mode = draw(4) == 0;
    dim.size = (int64_t)(1 + draw(draw(2) ? 10000 : 2147483647));
    if (dim.mode == JIT_GEMM_DIM_DYNAMIC && dynamic_without_hint) {
        dim.size = 0;
    }
    return dim;
}

static jit_gemm_scale draw_scale(void)
{
    static const jit_gemm_scale scales[] = {
        {.kind = JIT_GEMM_SCALE_NONE},
        {.kind = JIT_GEMM_SCALE_TENSOR, .dtype = JIT_GEMM_DTYPE_F32},
        {.kind = JIT_GEMM_SCALE_VECTOR, .dtype = JIT_GEMM_DTYPE_F32},
        {.kind = JIT_GEMM_SCALE_BLOCK,
         .dtype = JIT_GEMM_DTYPE_F32,
         .block_mn = 128,
         .block_k = 128},
        {.kind = JIT_GEMM_SCALE_BLOCK,
         .dtype = JIT_GEMM_DTYPE_UE8M0,
         .block_mn = 1,
         .block_k = 32},
        {.kind = JIT_GEMM_SCALE_BLOCK,
         .dtype = JIT_GEMM_DTYPE_UE4M3,
         .block_mn = 1,
         .block_k = 16},
    };
    jit_gemm_scale scale = scales[draw(draw(4) ? 1 : sizeof(scales) / sizeof(scales[0]))];
    if (scale.kind == JIT_GEMM_SCALE_BLOCK) {
        scale.layout = (uint32_t)draw(3);
    }
    return scale;
}

/* One that has its defaults filled in, as after parsing. */
static jit_gemm_problem draw_problem(void)
{
    static const char *const configs[] = {
        "",
        "kernel=reference",
        "tile=128x256",
        "kernel=gemm tile=128x256x64 cluster=2x1 stages=4 raster=m raster_group=8 pdl=1",
        "out_stages=1 pdl=0",
        "raster=n"};
    jit_gemm_problem problem;
    memset(&problem, 0, sizeof(problem));
    problem.struct_size = sizeof(problem);
    problem.m = draw_dim((int)draw(2));
    problem.n = draw_dim((int)draw(2));
    problem.k = draw_dim((int)draw(2));
    problem.batch = draw_dim((int)draw(2));
    problem.a.dtype = (jit_gemm_dtype)(1 + draw(JIT_GEMM_DTYPE_S32));
    problem.b.dtype = (jit_gemm_dtype)(1 + draw(JIT_GEMM_DTYPE_S32));
    problem.c.dtype = (jit_gemm_dtype)draw(JIT_GEMM_DTYPE_S32 + 1);
    problem.d.dtype = (jit_gemm_dtype)(1 + draw(JIT_GEMM_DTYPE_S32));
    problem.a.scale = draw_scale();
    problem.b.scale = draw_scale();
    problem.d.scale = draw_scale();
    problem.a.layout = (jit_gemm_layout)draw(2);
    problem.d.layout = (jit_gemm_layout)draw(2);
    problem.b.layout = (jit_gemm_layout)draw(2);
    problem.c.layout = problem.c.dtype != JIT_GEMM_DTYPE_NONE ? problem.d.layout
                                                              : JIT_GEMM_LAYOUT_ROW_MAJOR;
    problem.workspace_limit = draw(2) ? draw(UINT64_C(1) << 50) >> draw(50) : 0;
    problem.register_limit = draw(2) ? (uint32_t)draw(256) : 0;
    problem.no_local_memory = (int32_t)draw(2);
    problem.invariant = (jit_gemm_invariance)draw(2);
    problem.accumulate = (jit_gemm_accumulate)draw(2);
    problem.weights = (jit_gemm_weights)draw(3);
    for (size_t i = 0, size = draw(JIT_GEMM_NAME_SIZE); i < size; i++) {
        problem.epilogue[i] = "abcXYZ_019"[draw(i == 0 ? 7 : 10)];
    }
    strcpy(problem.config, configs[draw(sizeof(configs) / sizeof(configs[0]))]);
    return problem;
}

Test(problem_text, parse_of_print_is_the_problem)
{
    for (int i = 0; i < 20000; i++) {
        const jit_gemm_problem problem = draw_problem();
        struct jg_str text = {0};

        cr_assert_eq(jg_problem_print(&problem, &text), JIT_GEMM_OK, "%s", jg_error_text());
        jit_gemm_problem back;
        cr_assert_eq(jg_problem_parse(jg_str_text(&text), &back), JIT_GEMM_OK, "%s: %s",
                     jg_str_text(&text), jg_error_text());

        cr_assert_eq(memcmp(&back, &problem, sizeof(problem)), 0, "%s", jg_str_text(&text));
        jg_str_free(&text);
    }
}

Test(problem_text, any_limit_of_a_workspace_prints_and_parses_back)
{
    static const uint64_t limits[] = {UINT64_MAX, (UINT64_C(1) << 50) + 1,
                                      UINT64_C(1) << 50, UINT64_C(1) << 63};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        jit_gemm_problem problem, back;
        struct jg_problem own, again;
        struct jg_str text = {0};
        cr_assert_eq(jg_problem_parse("64x64x64 bf16", &problem), JIT_GEMM_OK);
        problem.workspace_limit = limits[i];
        cr_assert_eq(jg_problem_normalize(&problem, NULL, NULL, &own), JIT_GEMM_OK);

        cr_assert_eq(jg_problem_print(&problem, &text), JIT_GEMM_OK, "%s", jg_error_text());
        cr_assert_eq(jg_problem_parse(jg_str_text(&text), &back), JIT_GEMM_OK, "%s: %s",
                     jg_str_text(&text), jg_error_text());

        cr_assert_eq(jg_problem_normalize(&back, NULL, NULL, &again), JIT_GEMM_OK);
        cr_expect_eq(again.workspace_limit, own.workspace_limit);
        cr_expect_eq(back.workspace_limit, UINT64_C(1) << 50);
        jg_str_free(&text);
    }
}

Test(problem_text, random_bytes_never_crash_the_parser)
{
    static const char alphabet[] =
        "mnkabcd=x,0189 \t\nbf16layoutdynamicepilogueconfigbatch";
    int accepted = 0;
    for (int i = 0; i < 20000; i++) {
        char text[64] = {0};
        const size_t size = draw(sizeof(text) - 1);
        for (size_t j = 0; j < size; j++) {
            text[j] =
                draw(20) == 0 ? (char)draw(256) : alphabet[draw(sizeof(alphabet) - 1)];
        }
        jit_gemm_problem problem;
        const jit_gemm_status status = jg_problem_parse(text, &problem);
        accepted += status == JIT_GEMM_OK;
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_ARGUMENT);
    }
    cr_expect_lt(accepted, 20000);
}

Test(problem_text, changed_texts_never_crash_the_parser)
{
    static const char original[] =
        "m=4096 n=4096 k=64 batch=2 a=bf16 c=f32 layout=tn a_scale=vector dynamic=m,n "
        "epilogue=e "
        "config=tile=128x256x64 cluster=2x1 stages=4 raster=m raster_group=8";
    for (int i = 0; i < 20000; i++) {
        char text[sizeof(original)];
        memcpy(text, original, sizeof(original));
        for (int j = 0; j < 3; j++) {
            text[draw(sizeof(original) - 1)] = original[draw(sizeof(original) - 1)];
        }
        jit_gemm_problem problem;
        const jit_gemm_status status = jg_problem_parse(text, &problem);
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_ARGUMENT);
    }
}

Test(problem_text, canonical_text_parses_to_the_same_canonical_problem)
{
    int refused = 0;
    for (int i = 0; i < 5000; i++) {
        jit_gemm_problem problem = draw_problem();
        problem.b.dtype = problem.a.dtype;
        problem.epilogue[0] = '\0';
        struct jg_problem canonical;
        if (jg_problem_normalize(&problem, NULL, NULL, &canonical) != JIT_GEMM_OK) {
            cr_assert(strstr(jg_error_text(), "split the problem") != NULL ||
                          strstr(jg_error_text(), "there is no kernel") != NULL ||
                          strstr(jg_error_text(), "accumulate=fast out") != NULL,
                      "%s", jg_error_text());
            refused++;
            continue;
        }
        struct jg_str text = {0};
        jg_problem_text(&canonical, &text);
        jit_gemm_problem back = parse(jg_str_text(&text));
        struct jg_problem again;
        cr_assert_eq(jg_problem_normalize(&back, NULL, NULL, &again), JIT_GEMM_OK);
        cr_assert(plan_is_same_problem(&again, &canonical), "%s", jg_str_text(&text));
        jg_str_free(&text);
    }
    cr_expect_lt(refused, 4900, "%d of 5000 drawn problems were refused", refused);
}

Test(problem_text, numbers_are_read_up_to_the_highest_and_none_beyond)
{
    static const struct {
        const char *text;
        int64_t low, high, value; /* -1: it is none */
    } rows[] = {
        {"0", 0, 4, 0},
        {"4", 0, 4, 4},
        {"5", 0, 4, -1},
        {"9", 0, 4, -1},
        {"40", 0, 40, 40},
        {"41", 0, 40, -1},
        {"0041", 41, 41, 41},
        {"3", 4, 9, -1},
        {"9223372036854775807", 0, INT64_MAX, INT64_MAX},
        {"9223372036854775808", 0, INT64_MAX, -1},
        {"8888888888888888888888", 0, INT64_MAX, -1},
        {"-1", 0, 9, -1},
        {"", 0, 9, -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = -1;
        const bool is_read = jg_number_parse(rows[i].text, strlen(rows[i].text),
                                             rows[i].low, rows[i].high, &value);
        cr_expect_eq(is_read, rows[i].value >= 0, "%s", rows[i].text);
        cr_expect_eq(value, rows[i].value, "%s", rows[i].text);
    }
}
