/* SPDX-License-Identifier: MIT */
/* Scales of blocks: which there are, what memory they take, which tiles have whole blocks
 * of D, and which have room for those of A and B. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/choose.h"
#include "plan/first_kernel.h"
#include "plan/scale.h"
#include "plan_fixture.h"

/* Of a row-major D without an epilogue. */
static jit_gemm_status normalize(const char *text)
{
    jit_gemm_problem problem;
    struct jg_problem canonical;
    cr_assert_eq(jg_problem_parse(text, &problem), JIT_GEMM_OK, "%s", jg_error_text());
    return jg_problem_normalize(&problem, NULL, NULL, &canonical);
}

#define MX "a_scale=mx a_scale_layout=128x4 b_scale=mx b_scale_layout=128x4"
#define POWERS                                                    \
    "a_scale=1x128ue8m0 a_scale_layout=128x4 b_scale=1x128ue8m0 " \
    "b_scale_layout=128x4"

Test(scale, computed_scales_that_there_is_a_kernel_for)
{
    static const char *const texts[] = {
        "8x8x8 e4m3 d_scale=1x128",
        "8x8x8 bf16 d=e5m2 d_scale=1x128 d_scale_layout=column",
        "8x8x8 s8 d=e4m3 d_scale=mx",
        "8x8x8 bf16 d=e2m1 d_scale=nv",
        "8x8x8 s8 d=nvfp4 d_scale_layout=128x4",
        "8x8x8 bf16 d=mxfp8e5m2",
        "8x8x8 bf16 d=mxfp4",
        "8x8x8 bf16 d=mxfp4 d_scale_layout=mn_k4",
        "8x8x8 s8 d=nvfp4 d_scale_layout=column",
        "8x8x8 e4m3 d_scale=1x128ue8m0 d_scale_layout=mn_k4",
        "8x8x8 f16 d=e5m2 d_scale=1x128ue8m0 d_scale_layout=8x4",
        "8x8x8 e4m3 c=bf16 d_scale=mx d_scale_layout=128x4 output_align=1",
        "8x8x8 e4m3 d_scale=128x128",
        "8x8x8 bf16 d=e5m2 d_scale=128x128 d_scale_layout=column output_align=1",
        "8x8x8 e4m3 d_scale=128x128ue8m0 d_scale_layout=128x4",
        "m=8 n=8 k=8 a=e4m3 d_scale=128x128 groups=3 group_by=counts",
        "m=8 n=8 k=8 a=e4m3 d_scale=128x128 groups=3 group_by=rows",
        "m=8 n=8 k=8 a=bf16 d=e4m3 d_scale=128x128 groups=3 group_by=k_offsets layout=tn",
        "8x9x8 e4m3 d_scale=1x128 d_layout=column",
        "8x9x8 bf16 d=nvfp4 d_layout=column",
        "m=9 n=8 k=8 a=bf16 d=nvfp4 d_layout=column dynamic=m",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_expect_eq(normalize(texts[i]), JIT_GEMM_OK, "%s", jg_error_text());
    }
}

Test(scale, scales_of_input_blocks_that_there_is_a_kernel_for)
{
    static const char *const texts[] = {
        "8x8x8 e4m3 a_scale=1x128 b_scale=128x128",
        "8x8x8 a=e5m2 b=e4m3 a_scale=128x128 a_scale_layout=column",
        "8x8x8 e4m3 d=bf16 b_scale=1x128 b_scale_layout=column d_layout=column",
        "8x8x8 e4m3 a_scale=1x128 b_scale=1x128 d_scale=1x128 input_align=1",
        ("8x8x8 a=e4m3 b=e5m2 " MX),
        "8x8x64 mxfp4",
        "8x8x128 a=nvfp4 d=nvfp4",
        "m=8 n=8 k=100 a=nvfp4 dynamic=k",
        "8x8x8 e4m3 a_scale=mx b_scale=mx b_scale_layout=mn_k4",
        "8x8x8 a=e4m3 b=e5m2 a_scale=1x128ue8m0 b_scale=128x128ue8m0 a_scale_layout=8x4",
        "m=8 n=8 k=64 a=mxfp8 a_scale_layout=row b_scale_layout=mn_k4 groups=3",
        "m=8 n=8 k=64 a=mxfp8 a_scale_layout=8x4 a_rows=indexed",
        "m=8 n=8 k=64 a=mxfp8 layout=tn a_scale_layout=column groups=3 group_by=k_offsets",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_expect_eq(normalize(texts[i]), JIT_GEMM_OK, "%s", jg_error_text());
    }
}

Test(scale, scales_of_input_blocks_that_there_is_no_kernel_for_are_refused_by_name)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"8x8x8 e4m3 a_scale=nv b_scale=nv",
         "problem.a.scale.kind: there is no kernel for scale nv of A of type e4m3; give e2m1"},
        {"m=8 n=8 k=64 a=mxfp8 a_scale_layout=row groups=3 group_by=pointers",
         "problem.a.scale.layout: there is no kernel for scale mx in layout row with "
         "group_by=pointers; give one for each row in the layout 128x4, which "
         "jit_gemm_packer_run"},
        {"m=8 n=8 k=64 a=e4m3 a_scale=1x128ue8m0 a_scale_layout=128x4 b_scale=128x128ue8m0 "
         "b_scale_layout=128x4 groups=3 group_by=pointers",
         "problem.b.scale.layout: there is no kernel for scale 128x128ue8m0 in layout 128x4 "
         "with group_by=pointers"},
        {"8x8x8 e4m3 a_scale=nv a_scale_layout=128x4 b_scale=nv b_scale_layout=128x4",
         "problem.a.scale.kind: there is no kernel for scale nv of A of type e4m3; give e2m1"},
        {"8x8x64 a=nvfp4 b=mxfp4",
         "problem.b.scale.kind: there is no kernel for scale nv of A beside mx of B"},
        {"8x8x128 a=mxfp8 b=nvfp4",
         "problem.b.scale.kind: there is no kernel for scale mx of A beside nv of B"},
        {"8x8x128 a=nvfp4 b=e4m3 b_scale=nv b_scale_layout=128x4",
         "problem.b.scale.kind: there is no kernel for scale nv of B of type e4m3; give e2m1"},
        {"8x8x128 a=e4m3 a_scale=1x128 b=e2m1 b_scale=1x128",
         "problem.b.scale.kind: there is no kernel for scale 1x128 of B of type e2m1; give "
         "the scale mx or nv"},
        {"8x8x128 a=e4m3 b=e2m1",
         "problem.b.dtype: the tensor core multiplies e2m1 with scales of its blocks only"},
        {"8x8x128 a=bf16 b=mxfp4",
         "problem.b.dtype: there is no kernel for A of type bf16 and B of type e2m1; give A "
         "and B one type; only e4m3 and e5m2 mix, and with scale mx also e2m1"},
        {"8x8x192 a=mxfp4 b=mxfp8",
         "problem.k: TMA takes rows of a multiple of 128 elements of e2m1 beside 8-bit ones, "
         "and 192 is none; pad A and B with zeros along K"},
        {"8x8x64 a=mxfp8e5m2 b=mxfp4",
         "problem.k: TMA takes rows of a multiple of 128 elements of e2m1 beside 8-bit ones"},
        {"8x8x64 e2m1 a_scale=1x128 b_scale=1x128",
         "problem.a.scale.kind: there is no kernel for scale 1x128 of A of type e2m1; give "
         "the scale mx or nv"},
        {"8x8x80 nvfp4",
         "problem.k: TMA takes packed rows of a multiple of 32 elements of e2m1, and 80 is "
         "none; pad A and B with zeros along K"},
        {"8x8x8 e4m3 a_scale=mx a_scale_layout=128x4",
         "problem.b.scale.kind: there is no kernel for scale mx of A beside none of B; give "
         "A and B one of the scales mx, nv and ue8m0 of 128, or neither"},
        {"8x8x8 e4m3 a_scale=1x128ue8m0 a_scale_layout=128x4 b_scale=mx "
         "b_scale_layout=128x4",
         "problem.b.scale.kind: there is no kernel for scale 1x128ue8m0 of A beside mx of B"},
        {"8x8x8 e4m3 a_scale=1x128ue8m0 a_scale_layout=128x4 b_scale=128x128",
         "problem.b.scale.kind: there is no kernel for scale 1x128ue8m0 of A beside 128x128 "
         "of B"},
        {"8x8x8 e4m3 a_scale=128x128ue8m0 b_scale=128x128",
         "problem.b.scale.kind: there is no kernel for scale 128x128ue8m0 of A beside 128x128 "
         "of B"},
        {"8x8x64 a=e2m1 " POWERS,
         "problem.a.scale.kind: there is no kernel for scale 1x128ue8m0 of A of type e2m1; "
         "give the scale mx or nv"},
        {"8x8x8 e4m3 b_scale=mx b_scale_layout=128x4 a_scale=1x128",
         "problem.a.scale.kind: there is no kernel for scale 1x128 of A beside mx of B"},
        {"8x8x8 bf16 a_scale=mx a_scale_layout=128x4 b_scale=mx b_scale_layout=128x4",
         "problem.a.scale.kind: there is no kernel for scales of blocks of bf16"},
        {"8x8x8 e4m3 b_scale=128x128 b_scale_layout=128x4",
         "problem.b.scale.layout: there is no kernel for scale 128x128 of B in layout 128x4"},
        {"8x8x8 bf16 a_scale=1x128",
         "problem.a.scale.kind: there is no kernel for scales of blocks of bf16; give A and "
         "B e4m3, e5m2 or e2m1"},
        {"8x8x8 s8 b_scale=1x128",
         "problem.b.scale.kind: there is no kernel for scales of blocks of s8"},
        {"8x8x8 e4m3 a_scale=1x128 b_scale=tensor",
         "problem.b.scale.kind: there is no kernel for scales of blocks of A beside a scale "
         "of the tensor of B; give it scales of blocks too or none"},
        {"8x8x8 e4m3 a_scale=vector b_scale=128x128",
         "problem.a.scale.kind: there is no kernel for scales of blocks of B beside a vector "
         "of scales of A"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_eq(normalize(rows[i].text), JIT_GEMM_ERR_UNSUPPORTED, "%s", rows[i].text);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "%s: %s", rows[i].text, jg_error_text());
    }
}

/* Of 300 rows by 10 blocks: 3 by 3 pieces of 512 bytes, behind the words that are zero
 * between launches. */
Test(scale, layouts_that_the_tensor_core_does_not_take_are_packed_first)
{
    static const struct {
        const char *text, *words;
        int64_t bytes;
    } rows[] = {
        {"300x8x320 mxfp8 d=bf16", NULL, 0},
        {"300x8x320 a=mxfp8 b=mxfp8 d=bf16 a_scale_layout=row",
         "scales of A brought to layout 128x4 first: 37376 bytes of workspace, about 3.0 us",
         32768 + 4608},
        {"m=8 n=300 k=320 batch=2 a=mxfp8 b=mxfp8 d=bf16 b_scale_layout=mn_k4",
         "scales of B brought to layout 128x4 first: 41984 bytes", 32768 + 2 * 4608},
        {"300x8x320 mxfp8 d=bf16 a_scale_layout=8x4 b_scale_layout=column config=swap_ab=1",
         "scales of A and B brought to layout 128x4 first: 38912 bytes",
         32768 + 4608 + 1536},
        {"300x300x320 e4m3 a_scale=1x128ue8m0 a_scale_layout=128x4 b_scale=128x128ue8m0 "
         "b_scale_layout=128x4",
         "scales of B brought to layout 128x4 first: 34304 bytes", 32768 + 1536},
        {"300x8x320 a=mxfp8 b=mxfp8 d=bf16 a_scale_layout=row config=kernel=reference",
         "named by the config", 32768 + 4608},
    };
    const struct jg_arch *arch = jg_arch_find("sm_100a");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_problem problem = plan_problem(rows[i].text);
        struct jg_choice choice;
        struct jg_str trace = {0};
        cr_assert_eq(
            jg_config_choose(arch, &problem, &arch->default_facts, &choice, &trace),
            JIT_GEMM_OK, "%s: %s", rows[i].text, jg_error_text());
        const char *packed = rows[i].words != NULL ? rows[i].words : "brought to layout";
        cr_expect_eq(strstr(jg_str_text(&trace), packed) != NULL, rows[i].words != NULL,
                     "%s: %s", rows[i].text, jg_str_text(&trace));
        cr_expect_eq(choice.derived.workspace_bytes, rows[i].bytes, "%s: %lld",
                     rows[i].text, (long long)choice.derived.workspace_bytes);
        cr_expect_eq(jg_count_launches(&choice.config, &choice.product),
                     rows[i].bytes > 0 ? 2 : 1, "%s", rows[i].text);
        jg_str_free(&trace);
    }
}

/* Which way scales go, and what it costs. */
Test(scale, plan_names_the_way_of_scales_and_its_price)
{
    static const struct {
        const char *arch, *text, *words;
    } rows[] = {
        {"sm_90a", "4096x4096x7168 e4m3 d=bf16 a_scale=1x128 b_scale=128x128",
         "sums multiplied by scales in registers after each 128 of K, where sums of 8-bit "
         "floats are added up without them, too"},
        {"sm_100a", "4096x4096x2048 e4m3 d=bf16 a_scale=1x128 b_scale=128x128",
         "sums multiplied by scales in registers after each 128 of K: about 2.3 us"},
        {"sm_100a", "4096x7168x2048 a=mxfp8 d=bf16",
         "scales multiplied by the tensor core: tensor memory for 2 accumulators and 64 "
         "columns of scales"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_arch *arch = jg_arch_find(rows[i].arch);
        const struct jg_problem problem = plan_problem(rows[i].text);
        struct jg_choice choice;
        struct jg_str trace = {0};
        cr_assert_eq(
            jg_config_choose(arch, &problem, &arch->default_facts, &choice, &trace),
            JIT_GEMM_OK, "%s: %s", rows[i].text, jg_error_text());
        cr_expect_not_null(strstr(jg_str_text(&trace), rows[i].words), "%s on %s: %.600s",
                           rows[i].text, rows[i].arch, jg_str_text(&trace));
        jg_str_free(&trace);
    }
}

Test(scale, batches_of_packed_scales_beyond_all_memory_are_refused)
{
    const struct jg_arch *arch = jg_arch_find("sm_100a");
    struct jg_choice choice;
    const struct jg_problem problem =
        plan_problem("m=2147483647 n=8 k=1073741824 batch=2147483647 a=mxfp8 d=bf16 "
                     "a_scale_layout=row dynamic=m,k,batch config=kernel=reference");
    cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(jg_error_text(), "more than 2^63 bytes"), "%s",
                       jg_error_text());
}

Test(scale, tiles_without_room_for_scales_of_blocks_are_refused_by_name)
{
    static const struct {
        const char *arch, *scales, *config, *message;
    } rows[] = {
        {"sm_90a", "a_scale=1x128 b_scale=1x128", "tile=256x128",
         "each column of B has scales of its own, for which sm_90a has registers up to "
         "tile=128x128"},
        {"sm_90a", "a_scale=1x128 d_layout=column", "tile=64x256",
         "each column of A has scales of its own"},
        {"sm_90a", "a_scale=1x128 b_scale=128x128", "tile=128x256",
         "room up to 192 columns"},
        {"sm_90a", "a_scale=1x128 b_scale=128x128", "tile=256x128 swap_ab=1",
         "swap_ab=1 is none of the tiles of sm_90a"},
        {"sm_90a", "a_scale=128x128 b_scale=1x128 c=bf16", "tile=256x128 swap_ab=1",
         "without C, pairs, groups and parts of K; tile=128x128 fits"},
        {"sm_90a", "a_scale=128x128 b_scale=1x128 workspace=64m",
         "tile=256x128 swap_ab=1 split_k=2", "parts of K; tile=128x128 fits"},
        {"sm_100a", "a_scale=1x128 b_scale=128x128", "mma=256x192",
         "are 192 columns of registers, for which sm_100a has room up to 128"},
        {"sm_100a", "a_scale=1x128", "mma=128x64 k_group=2",
         "k_group=2: scales of blocks are those of one block of K; k_group=1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_arch *arch = jg_arch_find(rows[i].arch);
        struct jg_choice choice;
        char text[128];
        snprintf(text, sizeof(text), "1024x1024x1024 e4m3 %s", rows[i].scales);
        struct jg_problem problem = plan_problem(text);
        snprintf(problem.config, sizeof(problem.config), "%s", rows[i].config);
        cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", rows[i].config);
        cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "%s", jg_error_text());
    }
}

Test(scale, computed_scales_that_there_is_no_kernel_for_are_refused_by_name)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"8x8x8 e4m3 d_scale=vector",
         "problem.d.scale.kind: there is no kernel for scale vector of D yet; give one of "
         "blocks, such as 1x128, or multiply in an epilogue"},
        {"8x8x8 e4m3 d_scale=128x128 d_scale_layout=128x4",
         "problem.d.scale.layout: there is no kernel for scale 128x128 of D in layout 128x4"},
        {"8x8x8 bf16 d=e2m1 d_scale=128x128ue8m0",
         "problem.d.dtype: there is no kernel for scale 128x128ue8m0 of a D of type e2m1"},
        {"8x8x8 bf16 d_scale=128x128",
         "problem.d.dtype: there is no kernel for scale 128x128 of a D of type bf16"},
        {"m=8 n=8 k=8 a=e4m3 d_scale=128x128 groups=3",
         "problem.d.scale.kind: there is no kernel for scale 128x128 of D with stacked "
         "groups: its blocks or pieces would have rows of several; give scale 1x128, or "
         "group_by=counts or rows"},
        {"8x8x8 e4m3 d_scale=128x128 invariant=m",
         "problem.invariant: there is no kernel for invariant=m beside scale 128x128 of D, "
         "which is one of many rows; leave invariant=m out, or give a scale of blocks of one "
         "row and a row-major D"},
        {"8x8x8 e4m3 d_scale=1x128 d_scale_layout=128x4",
         "problem.d.scale.layout: there is no kernel for scale 1x128 of D in layout 128x4, "
         "which is one of scales of one byte; give the layout row or column"},
        {"8x8x8 e4m3 d_scale=1x128 d_scale_layout=mn_k4",
         "problem.d.scale.layout: there is no kernel for scale 1x128 of D in layout mn_k4"},
        {"8x8x8 bf16 d_scale=mx",
         "problem.d.dtype: there is no kernel for scale mx of a D of type bf16; give e4m3 "
         "or e5m2 with scale 1x128, 1x128ue8m0 or mx, or e2m1 with scale mx or nv"},
        {"8x8x8 e4m3 d_scale=nv",
         "problem.d.dtype: there is no kernel for scale nv of a D of type e4m3"},
        {"8x8x8 bf16 d=e2m1 d_scale=1x128ue8m0",
         "problem.d.dtype: there is no kernel for scale 1x128ue8m0 of a D of type e2m1"},
        {"8x8x8 bf16 d=e2m1",
         "problem.d.dtype: there is no kernel for scale none of a D of type e2m1; give e4m3 "
         "or e5m2 with scale 1x128, 1x128ue8m0 or mx, or e2m1 with scale mx or nv"},
        {"8x8x8 bf16 c=e2m1", "problem.c.dtype: there is no kernel for C of type e2m1"},
        {"8x8x8 e2m1 d=f32",
         "problem.a.dtype: the tensor core multiplies e2m1 with scales of its blocks only"},
        {"8x9x8 bf16 d=nvfp4",
         "problem.n: a row of D has 9 elements of type e2m1, which end inside a byte; pad B "
         "to an even number of columns of D"},
        {"9x8x8 bf16 d=nvfp4 d_layout=column",
         "problem.m: a column of D has 9 elements of type e2m1, which end inside a byte; pad A "
         "to an even number of rows of D"},
        {"8x8x8 e4m3 d_scale=1x128 d_layout=column invariant=m",
         "problem.invariant: there is no kernel for invariant=m beside scale 1x128 of D"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_eq(normalize(rows[i].text), JIT_GEMM_ERR_UNSUPPORTED, "%s", rows[i].text);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "%s: %s", rows[i].text, jg_error_text());
    }
}

Test(scale, extents_are_those_of_the_layouts)
{
    static const struct {
        const char *scale;
        jit_gemm_scale_layout layout;
        int64_t mn, k, rows, columns;
    } rows[] = {
        {"1x128", JIT_GEMM_SCALE_LAYOUT_ROW, 5, 128, 5, 1},
        {"1x128", JIT_GEMM_SCALE_LAYOUT_ROW, 5, 129, 5, 2},
        {"1x128", JIT_GEMM_SCALE_LAYOUT_COLUMN, 5, 300, 3, 8},
        {"1x128", JIT_GEMM_SCALE_LAYOUT_COLUMN, 8, 300, 3, 8},
        {"mx", JIT_GEMM_SCALE_LAYOUT_128X4, 128, 128, 1, 512},
        {"mx", JIT_GEMM_SCALE_LAYOUT_128X4, 129, 129, 2, 1024},
        {"1x128ue8m0", JIT_GEMM_SCALE_LAYOUT_128X4, 128, 512, 1, 512},
        {"1x128ue8m0", JIT_GEMM_SCALE_LAYOUT_128X4, 129, 513, 2, 1024},
        {"128x128", JIT_GEMM_SCALE_LAYOUT_ROW, 300, 300, 3, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_scale scale = {.layout = rows[i].layout};
        cr_assert(jg_scale_parse(rows[i].scale, strlen(rows[i].scale), &scale));
        const struct jg_scale_extent extent =
            jg_scale_extent(&scale, rows[i].mn, rows[i].k);
        cr_expect_eq(extent.rows, rows[i].rows, "row %zu: %lld", i, (long long)extent.rows);
        cr_expect_eq(extent.columns, rows[i].columns, "row %zu: %lld", i,
                     (long long)extent.columns);
    }
}

/* --------------------------------------------------------------------------- tiles */

/* An epilogue of two accumulators, for problems of text. */
static struct jg_epilogue gated = {.name = "gated", .is_gated = true};

static jit_gemm_status choose_with(const char *arch_name, const char *text,
                                   const struct jg_epilogue *epilogue,
                                   struct jg_choice *ret_choice, struct jg_str *trace)
{
    const struct jg_arch *arch = jg_arch_find(arch_name);
    struct jg_problem problem = plan_problem(text);
    problem.epilogue = epilogue;
    problem.is_gated = epilogue != NULL && epilogue->is_gated;
    return jg_config_choose(arch, &problem, &arch->default_facts, ret_choice, trace);
}

static jit_gemm_status choose(const char *arch_name, const char *text, bool is_gated,
                              struct jg_choice *ret_choice, struct jg_str *trace)
{
    return choose_with(arch_name, text, is_gated ? &gated : NULL, ret_choice, trace);
}

/* Pieces of scales of a stage: one of MXFP8, two of MXFP4, four of NVFP4 along K, each with
 * those of 128 rows of A and of two or three bands of columns of B, 4 columns a piece. */
Test(scale, tensor_memory_holds_the_scales_of_each_stage)
{
    static const struct {
        const char *text;
        int columns;
    } rows[] = {
        {"512x512x512 mxfp8 config=mma=128x64 stages=2 acc_stages=1", 128},
        {"512x512x512 mxfp4 config=mma=128x64 stages=4 acc_stages=1", 128},
        {"512x512x512 mxfp4 config=mma=128x64 stages=5 acc_stages=1", 256},
        {"512x512x512 nvfp4 config=mma=128x64 stages=2 acc_stages=1", 128},
        {"512x512x512 nvfp4 config=mma=128x64 stages=3 acc_stages=1", 256},
        {"512x512x512 nvfp4 config=mma=256x256 stages=5 acc_stages=1", 512},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_assert_eq(choose("sm_100a", rows[i].text, false, &choice, NULL), JIT_GEMM_OK,
                     "%s: %s", rows[i].text, jg_error_text());
        cr_expect_eq(choice.derived.tmem_columns, rows[i].columns, "%s: %d", rows[i].text,
                     choice.derived.tmem_columns);
    }
}

/* One for A, one for B: all pieces of a stage along K, and of all rows that a tile touches.
 */
Test(scale, scales_of_a_stage_come_as_one_copy)
{
    static const struct {
        const char *text;
        int rows, row_bytes; /* of B */
    } rows[] = {
        {"512x512x512 mxfp8 config=mma=128x64", 1, 512},
        {"512x512x512 mxfp8 config=mma=128x96", 2, 512},
        {"512x512x512 mxfp4 config=mma=256x256", 2, 1024},
        {"512x512x512 nvfp4 config=mma=256x224", 3, 2048},
        {"5x512x512 nvfp4 config=mma=128x16 swap_ab=1", 1, 2048},
        {"512x512x512 e4m3", 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_assert_eq(choose("sm_100a", rows[i].text, false, &choice, NULL), JIT_GEMM_OK,
                     "%s: %s", rows[i].text, jg_error_text());
        const struct jg_derived *derived = &choice.derived;
        cr_expect_eq(derived->b_scale_box.rows, rows[i].rows, "%s: %d", rows[i].text,
                     derived->b_scale_box.rows);
        cr_expect_eq(derived->b_scale_box.row_bytes, rows[i].row_bytes, "%s: %d",
                     rows[i].text, derived->b_scale_box.row_bytes);
        cr_expect_eq(derived->a_scale_box.rows, rows[i].rows > 0, "%s", rows[i].text);
        cr_expect_eq(derived->a_scale_box.row_bytes, rows[i].row_bytes, "%s", rows[i].text);
    }
}

/* A tile that is the only one begins with its scales; others begin at multiples of 32. */
Test(scale, few_tokens_have_a_tile_of_their_own)
{
    struct jg_choice choice;
    cr_assert_eq(choose("sm_100a", "5x512x512 nvfp4", false, &choice, NULL), JIT_GEMM_OK,
                 "%s", jg_error_text());
    cr_expect_eq(choice.config.layout.mma_n, 16, "%d", choice.config.layout.mma_n);
    cr_expect(choice.config.layout.swap_ab);
    cr_assert_eq(
        choose("sm_100a", "m=5 n=512 k=512 a=nvfp4 dynamic=m", false, &choice, NULL),
        JIT_GEMM_OK, "%s", jg_error_text());
    cr_expect_eq(choice.config.layout.mma_n % 32, 0, "%d", choice.config.layout.mma_n);
}

Test(scale, reductions_have_a_stage_of_their_own_beside_a_block)
{
    static const struct {
        const char *arch, *text;
        bool is_gated;
        int out_stages;
    } rows[] = {
        {"sm_90a", "512x512x512 e4m3 d_scale=mx config=tile=64x128", false, 2},
        {"sm_90a", "512x512x512 e4m3 d_scale=mx config=swap_ab=1", false, 3},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=128x128", false, 5},
        {"sm_90a", "512x512x512 bf16 d=e4m3 d_scale=1x128 config=tile=128x256", true, 5},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=64x128", false, 3},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=256x128 epilogue_warps=4",
         false, 5},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=128x128 cta_group=2", false,
         3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_epilogue reducing = {
            .name = "reducing",
            .is_gated = rows[i].is_gated,
            .operand_count = 1,
            .operands = {
                {"m", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, JIT_GEMM_OPERAND_MAX}}};
        struct jg_choice choice;
        cr_assert_eq(choose_with(rows[i].arch, rows[i].text, &reducing, &choice, NULL),
                     JIT_GEMM_OK, "%s: %s", rows[i].text, jg_error_text());
        cr_expect_eq(choice.config.storage.out_stages, rows[i].out_stages, "%s: %d",
                     rows[i].text, choice.config.storage.out_stages);
        cr_expect(choice.derived.output.reduces, "%s", rows[i].text);
    }
}

Test(scale, output_stages_hold_a_block)
{
    static const struct {
        const char *arch, *text;
        bool is_gated;
        int out_stages;
    } rows[] = {
        {"sm_90a", "512x512x512 e4m3 d_scale=mx config=tile=64x128", false, 2},
        {"sm_90a", "512x512x512 e4m3 d_scale=mx config=tile=64x128", true, 2},
        {"sm_90a", "512x512x512 e4m3 d_scale=mx config=swap_ab=1", false, 3},
        {"sm_90a", "512x512x512 bf16 d=nvfp4 config=swap_ab=1", false, 2},
        {"sm_100a", "512x512x512 e4m3 d_scale=mx config=swap_ab=1", true, 2},
        {"sm_100a", "512x512x512 e4m3 d_scale=mx config=mma=64x32 swap_ab=1", false, 3},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=128x32 swap_ab=1", true, 3},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=128x128", false, 4},
        {"sm_90a", "512x512x512 bf16 d=e4m3 d_scale=1x128 config=tile=128x256", true, 5},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=64x128", false, 3},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=64x256", true, 3},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=64x256", false, 4},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=256x128 epilogue_warps=4",
         false, 4},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=256x128 epilogue_warps=8",
         false, 3},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=256x256 epilogue_warps=4",
         true, 5},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=128x128 cta_group=2", false,
         3},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=128x256 cta_group=2", true,
         3},
        {"sm_90a", "512x512x512 e4m3 d_scale=128x128 config=tile=128x128", false, 4},
        {"sm_90a", "512x512x512 bf16 d=e4m3 d_scale=128x128 config=tile=128x256", true, 5},
        {"sm_90a", "16x512x512 e4m3 d_scale=128x128 config=tile=128x16 swap_ab=1", false,
         2},
        {"sm_90a", "60x512x512 e4m3 d_scale=128x128 config=tile=256x64 swap_ab=1", true, 3},
        {"sm_100a", "512x512x512 e4m3 d_scale=128x128 config=mma=256x256", false, 4},
        {"sm_100a", "512x512x512 e4m3 d_scale=128x128 config=mma=256x256", true, 5},
        {"sm_100a", "512x512x512 e4m3 d_scale=128x128 config=mma=128x256 swap_ab=1", false,
         4},
        {"sm_100a", "512x512x512 e4m3 d_scale=128x128 config=mma=128x128 swap_ab=1", true,
         5},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_expect_eq(choose(rows[i].arch, rows[i].text, rows[i].is_gated, &choice, NULL),
                     JIT_GEMM_OK, "%s: %s", rows[i].text, jg_error_text());
        cr_expect_eq(choice.config.storage.out_stages, rows[i].out_stages, "row %zu: %d", i,
                     choice.config.storage.out_stages);
    }
}

Test(scale, configs_without_whole_blocks_are_refused)
{
    static const struct {
        const char *arch, *text;
        bool is_gated;
        const char *message;
    } rows[] = {
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=128x192", false,
         "the 192 columns of D that a team of warps has of a tile are no multiple of 128, as "
         "scale 1x128 of D needs"},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=128x128", true,
         "the 64 columns of D that a team of warps has of a tile are no multiple of 128, as"},
        {"sm_90a", "512x512x512 bf16 d=e4m3 d_scale=1x128 config=tile=64x128", true,
         "the 32 columns of D that a team of warps has of a tile are no multiple of 128, or "
         "half of it, as"},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128 config=tile=128x128 out_stages=2", false,
         "out_stages=2: scale 1x128 of D takes out_stages=4 with this tile"},
        {"sm_90a", "512x512x512 bf16 config=out_stages=3", false,
         "out_stages=3: only scales of blocks of D take more than 2"},
        {"sm_90a", "512x512x512 e4m3 d_scale=mx config=kernel=reference", false,
         "problem.d.scale.kind: the reference kernel computes no scales of D"},
        {"sm_100a", "512x512x512 e4m3 d_scale=mx config=mma=128x96", false,
         "the 96 columns of D that a team of warps has of a tile are no multiple of 64, as "
         "scale mx of D needs"},
        {"sm_100a", "512x512x512 e4m3 d_scale=mx config=mma=128x64 cta_group=2", false,
         "the 32 columns of D that a team of warps has of a tile are no multiple of 64, as"},
        {"sm_100a", "512x512x512 e4m3 d_scale=1x128 config=mma=64x64 swap_ab=1", false,
         "the 64 columns of D that a tile of a transposed product has are no multiple of 128, "
         "as scale 1x128 of D needs"},
        {"sm_100a", "512x512x512 e4m3 d_scale=mx config=mma=128x96 swap_ab=1", false,
         "the 96 rows of D that a team of warps has of a tile of a transposed product are no "
         "multiple of 64, as scale mx of D needs"},
        {"sm_90a", "512x512x512 e4m3 d_scale=1x128ue8m0 config=tile=64x32 swap_ab=1", false,
         "the 64 columns of D that a tile of a transposed product has are no multiple of 128"},
        {"sm_90a", "512x512x512 e4m3 d_scale=mx config=tile=128x32 swap_ab=1 out_stages=2",
         false, "out_stages=2: scale mx of D takes out_stages=3 with this tile"},
        {"sm_90a", "512x512x512 bf16 d=e4m3 d_scale=128x128 config=tile=256x128", false,
         "scale 128x128 of D needs a tile whose warps have 128 rows of D at a time, and have "
         "no more: they have 64"},
        {"sm_90a", "512x512x512 bf16 d=e4m3 d_scale=128x128 config=tile=64x256", false,
         "and have no more: they have 64"},
        {"sm_90a", "512x512x512 bf16 d=e4m3 d_scale=128x128 config=tile=128x128 pingpong=1",
         false, "and have no more: they have 64"},
        {"sm_90a", "512x512x512 bf16 d=e4m3 d_scale=128x128 config=tile=128x192", false,
         "the 192 columns of D that a team of warps has of a tile are no multiple of 128, as"},
        {"sm_90a", "512x512x512 e4m3 d_scale=128x128", true,
         "scale 128x128 of a gated D needs 256 columns of a warpgroup, and sums of e4m3, "
         "which are added up in a second set of registers, have room for 192 on sm_90a: give "
         "d_scale=1x128, or accumulate=fast"},
        {"sm_90a", "65x512x512 e4m3 d_scale=128x128 config=tile=128x64 swap_ab=1", false,
         "the 64 rows of D that a tile of a transposed product has are no multiple of 128, "
         "and are not all of them, as scale 128x128 of D needs"},
        {"sm_90a", "16x512x512 e4m3 d_scale=128x128 dynamic=m config=tile=128x64 swap_ab=1",
         false, "and are not all of them, as"},
        {"sm_90a", "16x512x512 e4m3 d_scale=128x128 config=tile=64x32 swap_ab=1", false,
         "the 64 columns of D that a tile of a transposed product has are no multiple of 128"},
        {"sm_100a", "512x512x512 e4m3 d_scale=128x128 config=mma=128x256 cta_group=2",
         false, "and have no more: they have 64"},
        {"sm_100a", "512x512x512 e4m3 d_scale=128x128 config=mma=64x128", false,
         "and have no more: they have 64"},
        {"sm_100a", "512x512x512 e4m3 d_scale=128x128 config=mma=128x160 swap_ab=1", false,
         "no multiple of 64, as scale 128x128 of D needs"},
        {"sm_90a",
         "512x512x512 bf16 d=e4m3 d_scale=1x128 d_layout=column config=tile=128x192 swap_ab=1",
         false,
         "the 192 columns of D's transpose that a team of warps has of a tile are no multiple "
         "of 128, as scale 1x128 of D needs"},
        {"sm_90a", "512x65x512 e4m3 d_scale=128x128 d_layout=column config=tile=128x64",
         false, "the 64 rows of D's transpose that a tile of a transposed product has are"},
        {"sm_90a", ("512x512x512 e4m3 " MX), false,
         "problem.a.scale.kind: the tensor core of sm_90a does not multiply by scales; give "
         "scales of f32"},
        {"sm_100a", ("512x512x512 e4m3 " MX " config=mma=128x64 swap_ab=1"), true,
         "swap_ab=1: pairs of neighbours in a B with scales in pieces of 128x4 lie along the "
         "rows of the multiplication, in different lanes; give pair=halves, or swap_ab=0"},
        {"sm_100a", ("512x512x512 e4m3 d_scale=1x128 " MX), true,
         "there is no kernel for scale 1x128 of D with pairs of neighbours in a B with "
         "scales in pieces of 128x4; pair=halves has one"},
        {"sm_100a", ("512x512x512 e4m3 input_align=4 " MX), false,
         "problem.a.alignment: there is no kernel for scale mx with an input_align of 4"},
        {"sm_100a", ("512x512x512 e4m3 " MX " config=mma=64x64"), false,
         "mma=64x64 cta_group=1: with scale mx a CTA has 128 rows, and N is a multiple of 32"},
        {"sm_100a", ("512x512x512 e4m3 " MX " config=mma=128x64 cta_group=2"), false,
         "mma=128x64 cta_group=2: with scale mx a CTA has 128 rows"},
        {"sm_100a", ("512x512x512 e4m3 " MX " config=mma=128x48"), false,
         "with scale mx a CTA has 128 rows, and N is a multiple of 32"},
        {"sm_90a", "512x512x512 nvfp4", false,
         "problem.a.dtype: the tensor core of sm_90a does not multiply e2m1; build for "
         "sm_100a"},
        {"sm_103a", "512x512x512 s8", false,
         "problem.a.dtype: the tensor core of sm_103a does not multiply s8; build for "
         "sm_100a"},
        {"sm_100a", "512x512x512 a=mxfp8 b=mxfp4 layout=nn", false,
         "problem.b.layout: sm_100a multiplies e2m1 from K-major layouts only, B is "
         "MN-major"},
        {"sm_100a", "512x512x512 nvfp4 layout=tn", false,
         "problem.a.layout: sm_100a multiplies e2m1 from K-major layouts only, A is "
         "MN-major"},
        {"sm_100a", ("512x512x512 e4m3 " MX " config=mma=128x64 k_group=2"), false,
         "k_group=2: with scale mx a stage has one block; k_group=1"},
        {"sm_100a", ("512x512x512 e4m3 " MX " c=f32 d=f32 config=mma=256x256 acc_stages=2"),
         false,
         "accumulators of mma=256x256 share 64 columns of tensor memory, which only"},
        {"sm_100a",
         "512x512x4096 nvfp4 d=bf16 workspace=64m config=mma=256x256 acc_stages=2 split_k=2",
         false, "share 128 columns of tensor memory, which parts of K do not take"},
        {"sm_100a", ("512x512x512 e4m3 " MX " config=mma=256x256 acc_stages=2"), true,
         "columns of tensor memory, which has 512"},
        /* What the device's struct has between its members is more than is left. */
        {"sm_100a",
         "64x264x2880 e4m3 d=f32 a_scale=1x128 b_scale=1x128 config=mma=128x64 cta_group=2 "
         "cluster=2x1 scheduler=clc stages=16 acc_stages=2 swap_ab=1",
         false, "stages=16 needs 233472 bytes of shared memory"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_expect_neq(choose(rows[i].arch, rows[i].text, rows[i].is_gated, &choice, NULL),
                      JIT_GEMM_OK, "%s", rows[i].text);
        cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "%s: %s", rows[i].text,
                           jg_error_text());
    }
}

/* Few rows are columns of the multiplication where a tile has all of them; nobody names a
 * config. */
Test(scale, squares_of_d_have_a_tile_of_their_own_for_few_rows)
{
    static const struct {
        const char *arch, *text;
        bool is_gated, swaps;
    } rows[] = {
        {"sm_90a", "16x4096x4096 e4m3 d_scale=128x128", false, true},
        {"sm_90a", "60x4096x4096 e4m3 d_scale=128x128", true, true},
        {"sm_90a", "4096x4096x4096 e4m3 d_scale=128x128", false, false},
        {"sm_90a", "16x4096x4096 e4m3 d_scale=128x128 dynamic=m", false, false},
        {"sm_100a", "16x4096x4096 e4m3 d_scale=128x128", false, true},
        {"sm_100a", "64x4096x4096 e4m3 d_scale=128x128", false, true},
        {"sm_100a", "33x1024x8192 mxfp8 d=e4m3 d_scale=128x128ue8m0", false, true},
        {"sm_100a", "16x4096x4096 e4m3 d_scale=128x128 dynamic=m", false, false},
        {"sm_100a", "4096x4096x4096 e4m3 d_scale=128x128", true, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_assert_eq(choose(rows[i].arch, rows[i].text, rows[i].is_gated, &choice, NULL),
                     JIT_GEMM_OK, "%s: %s", rows[i].text, jg_error_text());
        cr_expect_eq(choice.config.layout.swap_ab != 0, rows[i].swaps, "row %zu", i);
    }
}

#define BY_COLUMNS " a_scale_layout=column b_scale_layout=column"

/* Two blocks of 64 rows for each warpgroup, times scales of rows, are slower in clusters.
 * Scales that only columns have are better those of rows, also where few rows of D are
 * columns of the multiplication, which then have parts of K. */
Test(scale, promoted_scales_have_the_tiles_that_were_fastest)
{
    static const struct {
        const char *text;
        int tile_m, tile_n, cluster_m, cluster_n, swap_ab, split_k;
    } rows[] = {
        {"4096x4096x7168 e4m3 d=bf16 a_scale=1x128 b_scale=128x128", 256, 128, 1, 1, 0, 1},
        {"4096x4096x7168 e4m3 d=bf16 a_scale=tensor b_scale=tensor", 256, 128, 1, 2, 0, 1},
        {"8192x8192x8192 e4m3 d=bf16 a_scale=1x128 b_scale=128x128", 256, 128, 1, 1, 0, 1},
        {"4096x4096x4096 e4m3 d=bf16 a_scale=1x128 b_scale=1x128", 256, 128, 1, 2, 0, 1},
        {"4096x4096x4096 e4m3 d=bf16 a_scale=128x128 b_scale=1x128", 256, 128, 1, 1, 1, 1},
        {"512x4096x7168 e4m3 d=bf16 a_scale=128x128 b_scale=1x128", 128, 128, 1, 1, 1, 1},
        {"4096x4096x4096 e4m3 d=bf16 c=bf16 a_scale=128x128 b_scale=1x128", 128, 128, 1, 1,
         1, 1},
        {"64x4096x7168 e4m3 d=bf16 a_scale=1x128 b_scale=128x128", 64, 32, 1, 1, 1, 1},
        {"128x4096x7168 e4m3 d=bf16 a_scale=1x128 b_scale=1x128", 64, 64, 1, 1, 1, 1},
        {"448x4096x7168 e4m3 d=bf16 a_scale=1x128 b_scale=1x128", 128, 112, 1, 1, 1, 1},
        {"200x7168x2048 e4m3 d=bf16 a_scale=1x128 b_scale=1x128", 128, 112, 1, 1, 1, 1},
        {"448x1536x7168 e4m3 d=bf16 a_scale=1x128 b_scale=1x128", 64, 96, 1, 1, 1, 1},
        {"400x5120x5120 e4m3 d=bf16 a_scale=1x128 b_scale=1x128" BY_COLUMNS, 128, 160, 1, 1,
         1, 1},
        {"432x3584x3584 e4m3 d=bf16 a_scale=1x128 b_scale=1x128" BY_COLUMNS, 128, 112, 1, 1,
         1, 1},
        {"136x9216x3072 e4m3 d=bf16 a_scale=1x128 b_scale=1x128" BY_COLUMNS, 256, 48, 1, 1,
         1, 1},
        {"432x3584x3584 e4m3 d=bf16 a_scale=1x128 b_scale=1x128", 128, 112, 1, 1, 1, 1},
        /* Short K, where 112 columns of a transposed D are stored in rows of 32 bytes. */
        {"768x5120x512 e4m3 d=bf16 a_scale=1x128 b_scale=1x128" BY_COLUMNS, 256, 128, 1, 1,
         0, 1},
        {"536x12800x512 e4m3 d=bf16 a_scale=1x128 b_scale=1x128" BY_COLUMNS, 128, 96, 1, 1,
         1, 1},
        {"1024x1088x7808 groups=16 group_by=offsets e4m3 d=bf16 a_scale=1x128 "
         "b_scale=1x128" BY_COLUMNS,
         128, 96, 2, 1, 0, 1},
        {"448x1536x7168 e4m3 d=bf16 a_scale=1x128 b_scale=128x128", 128, 112, 1, 2, 0, 2},
        {"64x5120x5120 e4m3 d=bf16 a_scale=1x128 b_scale=128x128", 64, 64, 1, 1, 1, 1},
        /* Parts of K whose last tile lacks few rows. */
        {"160x2048x7168 e4m3 d=bf16 a_scale=1x128 b_scale=128x128", 64, 96, 1, 1, 1, 2},
        {"192x2048x5120 e4m3 d=bf16 a_scale=1x128 b_scale=128x128", 64, 96, 1, 1, 1, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_assert_eq(choose("sm_90a", rows[i].text, false, &choice, NULL), JIT_GEMM_OK,
                     "%s: %s", rows[i].text, jg_error_text());
        const struct jg_config_layout *layout = &choice.config.layout;
        cr_expect_eq(layout->tile_m, rows[i].tile_m, "row %zu", i);
        cr_expect_eq(layout->tile_n, rows[i].tile_n, "row %zu", i);
        cr_expect_eq(layout->cluster_m, rows[i].cluster_m, "row %zu", i);
        cr_expect_eq(layout->cluster_n, rows[i].cluster_n, "row %zu", i);
        cr_expect_eq(layout->swap_ab, rows[i].swap_ab, "row %zu", i);
        cr_expect_eq(choice.config.launch.split_k, rows[i].split_k, "row %zu", i);
    }
}

/* What an engine of experts asks for: 8-bit inputs, pairs, blocks of 128. */
Test(scale, gated_eight_bit_inputs_have_a_tile_on_both_chips)
{
    static const char *const archs[] = {"sm_90a", "sm_100a"};
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        struct jg_choice choice;
        cr_expect_eq(
            choose(archs[i], "4096x4096x4096 e4m3 d_scale=1x128", true, &choice, NULL),
            JIT_GEMM_OK, "%s: %s", archs[i], jg_error_text());
    }
}

/* Beside accumulators: sums of promoted parts, and scales of each stage, four columns for
 * 128 rows. */
Test(scale, block_scales_of_inputs_take_tensor_memory)
{
    static const struct {
        const char *text;
        int acc_stages, columns;
    } rows[] = {
        {"4096x4096x4096 e4m3 a_scale=1x128 config=mma=256x128", 2, 512},
        {"4096x4096x4096 e4m3 a_scale=1x128 config=mma=128x64", 2, 256},
        {("4096x4096x4096 e4m3 " MX " d=bf16 config=mma=256x256 stages=5"), 2, 512},
        {("512x512x512 e4m3 " MX " config=mma=256x256 stages=5"), 1, 512},
        {("4096x4096x4096 e4m3 " MX " config=mma=256x192 stages=6"), 2, 512},
        {("512x512x512 e4m3 " MX " config=mma=128x64 stages=4 acc_stages=1"), 1, 128},
        {("512x512x512 e4m3 " MX " config=mma=128x96 stages=6 acc_stages=1"), 1, 256},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_expect_eq(choose("sm_100a", rows[i].text, false, &choice, NULL), JIT_GEMM_OK,
                     "%s: %s", rows[i].text, jg_error_text());
        cr_expect_eq(choice.config.storage.acc_stages, rows[i].acc_stages, "row %zu: %d", i,
                     choice.config.storage.acc_stages);
        cr_expect_eq(choice.derived.tmem_columns, rows[i].columns, "row %zu: %d", i,
                     choice.derived.tmem_columns);
    }
}
