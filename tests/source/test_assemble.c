/* SPDX-License-Identifier: MIT */
/* The source unit: golden texts, names, escapes, failing memory. The golden files are
 * rewritten when JG_UPDATE_GOLDEN is set; review the difference. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "source/embedded.h"
#include "source/epilogue_frame.h"
#include "source/pack_unit.h"
#include "unit_maker.h"

/* With a quote, a register, a label and local memory: what a C string must not change. */
static char ptx_text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 r) keep("
    ".param .b32 a, .param .b32 b, .param .b32 c, .param .b32 d, .param .b32 e, .param .b64 f)"
    "\n{\n\t.reg .pred %p<2>;\n\t.reg .f32 %f<3>; .reg .b64 %rd<2>;\n"
    "\tld.param.f32 %f1, [e]; ld.param.u64 %rd1, [f]; st.f32 [%rd1], %f1;\n"
    "\tsetp.gt.f32 %p1, %f1, 0f00000000;\n\t@%p1 bra $L__BB0_2;\n"
    "\t.pragma \"nounroll\";\n\tmov.f32 %f1, 0f00000000;\n$L__BB0_2:\n"
    "\tst.param.f32 [r+0], %f1;\n\tret;\n}\n";
static const struct jg_str ptx = {.data = ptx_text, .size = sizeof(ptx_text) - 1};
static char ltoir_text[] = "\xed"
                           "CN\x7f and then bytes";
static const struct jg_str ltoir = {.data = ltoir_text, .size = sizeof(ltoir_text) - 1};

static const struct {
    const char *file;
    struct unit_request request;
} golden_cases[] = {
    {"source_plain.cu",
     {.problem = "m=4096 n=4096 k=4096 a=bf16 config=kernel=gemm tile=128x256x64 "
                 "cluster=2x1 stages=4 raster=m swizzle=8 out_stages=2 pdl=1"}},
    {"source_fused.cu",
     {.problem = "m=4096 n=4096 k=4096 a=bf16 config=kernel=gemm tile=128x256x64 "
                 "cluster=2x1 stages=4 raster=m swizzle=8 out_stages=2 pdl=1",
      .snippet = "d = gelu(acc + bias) + r;",
      .operands = "bias:row_vector:bf16 r:matrix:bf16",
      .name = "gelu_bias"}},
    {"source_random.cu",
     {.problem = "m=512 n=512 k=512 a=bf16 config=kernel=gemm tile=64x128x64 cluster=1x1 "
                 "stages=4 raster=m swizzle=8 out_stages=2 pdl=1",
      .snippet = "d = uniform(seed) < keep ? acc : bias;",
      .operands = "bias:row_vector:bf16 keep:scalar:f32 seed:scalar:f32",
      .name = "drop"}},
    {"source_dynamic.cu",
     {.problem = "m=333 n=512 k=4096 a=f16 d=f32 dynamic=m config=kernel=gemm "
                 "tile=64x128x64 cluster=1x1 stages=6 raster=n swizzle=2 out_stages=1 "
                 "pdl=0"}},
    {"source_batch_beta.cu",
     {.problem = "m=17 n=336 k=80 batch=5 a=bf16 c=f32 d=f16 layout=tn config=kernel=gemm "
                 "tile=128x128x64 cluster=1x2 stages=2 raster=m swizzle=1 out_stages=2 "
                 "pdl=1"}},
    {"source_all_operands.cu",
     {.problem = "m=256 n=256 k=64 a=f16 config=kernel=gemm tile=128x192x64 cluster=1x1 "
                 "stages=2 raster=m swizzle=4 out_stages=2 pdl=1",
      .snippet = "// scales, then keeps the value before the clamp\n"
                 "float x = acc * s + bias;\n"
                 "aux = x + rows;\n"
                 "d = clamp(x + m, 0.0f, 6.0f);\n",
      .operands = "s:scalar:f32 bias:row_vector:f16 rows:column_vector:f32 m:matrix:f16 "
                  "aux:matrix:f32:out",
      .name = "everything",
      .source_name = "ops/my \"best\" epilogues.cu",
      .first_line = 120}},
    {"source_sm100a.cu",
     {.problem =
          "m=3000 n=512 k=4096 a=bf16 c=bf16 dynamic=m config=kernel=gemm "
          "mma=256x128 cta_group=2 cluster=4x1 scheduler=clc k_group=1 stages=5 acc_stages=2 "
          "raster=n swizzle=2 out_stages=2 pdl=1",
      .snippet = "d = gelu(acc + bias);",
      .operands = "bias:row_vector:bf16",
      .arch = "sm_100a"}},
    {"source_compiled_ptx.cu",
     {.problem = "m=256 n=256 k=64 a=bf16 config=kernel=reference",
      .operands = "bias:row_vector:bf16 aux:matrix:f32:out",
      .code = &ptx,
      .symbol = "keep",
      .name = "keep",
      .source_name = "keep.ptx"}},
    {"source_compiled_ltoir.cu",
     {.problem = "m=256 n=256 k=64 a=bf16 config=kernel=reference",
      .operands = "bias:row_vector:bf16",
      .code = &ltoir,
      .symbol = "leaky",
      .name = "leaky"}},
    {"source_scales.cu",
     {.problem = "m=512 n=512 k=4096 a=e4m3 b=e5m2 d=bf16 a_scale=vector b_scale=tensor "
                 "config=kernel=gemm tile=128x128x128 cluster=1x1 stages=4 raster=m "
                 "swizzle=1 out_stages=2 pdl=1"}},
    {"source_sm100a_split_k.cu",
     {.problem = "m=512 n=512 k=4096 a=bf16 config=kernel=gemm mma=128x128 cta_group=1 "
                 "cluster=1x1 stages=4 acc_stages=1 raster=n swizzle=2 out_stages=2 pdl=1 "
                 "split_k=4 split_order=turnstile",
      .arch = "sm_100a"}},
    {"source_sm100a_swap_ab.cu",
     {.problem = "m=24 n=4096 k=512 a=bf16 d=f32 layout=tt config=kernel=gemm mma=128x32 "
                 "cta_group=2 cluster=2x1 stages=8 acc_stages=1 raster=m swizzle=1 "
                 "out_stages=2 pdl=1 swap_ab=1",
      .snippet = "d = acc + bias;",
      .operands = "bias:row_vector:f32",
      .arch = "sm_100a"}},
    {"source_row_blocks.cu",
     {.problem = "m=1000 n=4096 k=512 a=bf16 groups=8 group_by=rows config=kernel=gemm "
                 "mma=256x128 cta_group=2 cluster=2x1 stages=8 acc_stages=2 raster=m "
                 "swizzle=1 out_stages=2 pdl=1 swap_ab=1",
      .arch = "sm_100a"}},
    {"source_row_index.cu",
     {.problem = "m=1000 n=4096 k=512 a=bf16 groups=8 d_rows=indexed config=kernel=gemm "
                 "tile=128x256x64 cluster=2x1 stages=3 raster=m swizzle=1 out_stages=2 "
                 "pdl=1"}},
    {"source_sm100a_row_index.cu",
     {.problem =
          "m=1000 n=4096 k=512 a=bf16 groups=8 a_rows=indexed config=kernel=gemm "
          "mma=128x32 cta_group=1 cluster=1x1 scheduler=static stages=4 acc_stages=2 "
          "raster=m swizzle=1 out_stages=2 pdl=1 swap_ab=1",
      .arch = "sm_100a"}},
    {"source_gated.cu",
     {.problem = "m=512 n=1024 k=256 a=e4m3 d=bf16 b_scale=vector pair=halves "
                 "config=kernel=gemm tile=128x128x128 cluster=2x1 stages=4 raster=m "
                 "raster_group=1 out_stages=2 pdl=1",
      .snippet = "d = silu(acc0 + b0) * (acc1 + b1);",
      .operands = "b:pair_vector:bf16",
      .name = "swiglu"}},
    {"source_sm100a_gated.cu",
     {.problem = "m=512 n=1024 k=256 a=bf16 config=kernel=gemm mma=256x128 cta_group=2 "
                 "cluster=2x1 stages=4 acc_stages=2 raster=m raster_group=1 out_stages=2 "
                 "pdl=1 scheduler=static k_group=1",
      .snippet = "d = silu(acc0) * acc1;",
      .name = "swiglu",
      .arch = "sm_100a"}},
    {"source_gated_d_column.cu",
     {.problem = "m=512 n=1024 k=256 a=e4m3 d=bf16 b_scale=vector d_layout=column "
                 "config=kernel=gemm tile=128x128x128 cluster=2x1 stages=4 raster=m "
                 "raster_group=1 out_stages=2 pdl=1",
      .snippet = "d = silu(acc0 + b0) * (acc1 + b1);",
      .operands = "b:pair_vector:bf16",
      .name = "swiglu"}},
    {"source_quantised.cu",
     {.problem = "m=300 n=600 k=256 a=bf16 d=e4m3 d_scale=1x128 d_scale_layout=column "
                 "config=kernel=gemm tile=128x256x64 cluster=2x1 stages=2 raster=m "
                 "raster_group=1 pdl=1",
      .snippet = "d = silu(acc0) * acc1;",
      .name = "swiglu"}},
    {"source_input_align.cu",
     {.problem = "m=333 n=512 k=201 a=f16 layout=tn input_align=2 config=kernel=gemm "
                 "tile=64x128x64 cluster=1x1 stages=6 raster=n swizzle=2 out_stages=2 "
                 "pdl=0"}},
    {"source_repack.cu",
     {.problem = "m=333 n=512 k=201 a=f16 layout=tn input_align=2 config=kernel=gemm "
                 "tile=64x128x64 cluster=1x1 stages=6 raster=n raster_group=2 out_stages=2 "
                 "pdl=1 repack=ab"}},
    {"source_scale_pack.cu",
     {.problem =
          "m=333 n=512 k=256 a=e4m3 d=bf16 a_scale=1x128ue8m0 a_scale_layout=128x4 "
          "b_scale=128x128ue8m0 b_scale_layout=mn_k4 config=kernel=gemm mma=128x64 "
          "cta_group=1 cluster=1x1 stages=2 acc_stages=1 raster=n out_stages=2 pdl=1",
      .arch = "sm_100a"}},
    {"source_output_align.cu",
     {.problem = "m=333 n=345 k=64 a=e4m3 d=bf16 output_align=2 config=kernel=gemm "
                 "mma=128x64 cta_group=1 cluster=1x1 stages=2 acc_stages=1 raster=n "
                 "swizzle=2 out_stages=2 pdl=1",
      .snippet = "d = acc + r;",
      .operands = "r:matrix:f32",
      .arch = "sm_100a"}},
    {"source_d_column.cu",
     {.problem =
          "m=512 n=384 k=256 a=bf16 layout=tt a_scale=vector d_layout=column "
          "config=kernel=gemm tile=128x128x64 cluster=2x1 stages=2 raster=m swizzle=4 "
          "out_stages=2 pdl=1",
      .snippet = "d = acc + bias * u + row;",
      .operands = "bias:row_vector:f32 u:column_vector:f32"}},
    {"source_reductions.cu",
     {.problem = "m=300 n=264 k=256 a=bf16 config=kernel=gemm tile=64x128x64 cluster=1x1 "
                 "stages=2 raster=m swizzle=4 out_stages=2 pdl=1",
      .snippet = "d = acc; s = d * d; b = d; m = abs(acc); lo = acc; w = d; p = d; q = d;",
      .operands =
          "s:column_vector:f32:sum b:row_vector:bf16:sum m:scalar:f32:max "
          "lo:column_vector:f16:min w:1x128:f32:max p:1x32:bf16:sum q:1x16:f32:min"}},
    {"source_reductions_d_column.cu",
     {.problem = "m=300 n=264 k=256 a=bf16 d_layout=column config=kernel=gemm mma=128x96 "
                 "cta_group=1 cluster=1x1 scheduler=clc k_group=1 stages=2 acc_stages=2 "
                 "raster=m swizzle=4 out_stages=2 pdl=1 split_k=1 swap_ab=0",
      .snippet = "d = acc; s = d * d; b = d;",
      .operands = "s:column_vector:f32:sum b:row_vector:f32:max",
      .arch = "sm_100a"}},
    {"source_reference.cu",
     {.problem = "m=17 n=333 k=1 a=bf16 d=f32 layout=nn config=kernel=reference",
      .snippet = "d = relu(acc);"}},
};
enum { GOLDEN_COUNT = sizeof(golden_cases) / sizeof(golden_cases[0]) };

static char *read_golden(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", JG_GOLDEN_DIR, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s is missing; run with JG_UPDATE_GOLDEN=1", path);
    char *text = calloc(1, 1 << 16);
    cr_assert_not_null(text);
    cr_assert_lt(fread(text, 1, (1 << 16) - 1, file), (1 << 16) - 1);
    fclose(file);
    return text;
}

static void write_golden(const char *name, const struct jg_str *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", JG_GOLDEN_DIR, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text->data, 1, text->size, file), text->size);
    cr_assert_eq(fclose(file), 0);
}

Test(assemble, instruments_are_macros_of_the_unit)
{
    static const struct {
        const char *config;
        int debug, trace;
    } rows[] = {{"stages=3", 0, 0},
                {"debug=1", 1, 0},
                {"trace=1", 0, 1},
                {"debug=1 trace=1", 1, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char problem[128];
        snprintf(problem, sizeof(problem), "512x512x512 bf16 config=%s", rows[i].config);
        struct unit unit =
            unit_make(&(struct unit_request){.problem = problem, .arch = "sm_100a"});
        const char *text = jg_str_text(&unit.source.text);
        cr_expect_eq(strstr(text, "#define JG_DEBUG 1\n") != NULL, rows[i].debug, "%s",
                     problem);
        cr_expect_eq(strstr(text, "#define JG_TRACE 1\n") != NULL, rows[i].trace, "%s",
                     problem);
        unit_free(&unit);
    }
}

/* What the compiler is asked for changes the code: the key has it by the text. */
Test(assemble, products_and_sums_of_invariant_rows_are_rounded_apart)
{
    struct unit plain = unit_make(&(struct unit_request){.problem = "512x512x512 bf16"});
    struct unit invariant =
        unit_make(&(struct unit_request){.problem = "512x512x512 bf16 invariant=m"});
    cr_expect_not(plain.source.rounds_apart);
    cr_expect(invariant.source.rounds_apart);
    cr_expect_null(strstr(jg_str_text(&plain.source.text), "fmad"));
    cr_expect_not_null(
        strstr(jg_str_text(&invariant.source.text), "rounded apart: -fmad=false\n"));
    unit_free(&plain);
    unit_free(&invariant);
}

/* Sizes of groups decide which config is chosen: its kernel does not know them. */
Test(assemble, unit_of_a_config_is_the_same_whatever_sizes_groups_typically_have)
{
    static const char *const chips[] = {"sm_90a", "sm_100a"};
    static const char *const forms[] = {"offsets", "counts", "rows", "pointers"};
    for (int i = 0; i < 2 * 4; i++) {
        char text[400];
        struct jg_str config = {0};
        struct unit_request request = {.problem = text, .arch = chips[i / 4]};
        snprintf(text, sizeof(text),
                 "m=2048 n=512 k=512 a=bf16 groups=8 group_by=%s workspace=64m "
                 "typical_sizes=4x0,4x8",
                 forms[i % 4]);
        struct unit typical = unit_make(&request);
        jg_config_print(&typical.choice.config, typical.arch->config_keys, &config);
        snprintf(text, sizeof(text),
                 "m=2048 n=512 k=512 a=bf16 groups=8 group_by=%s workspace=64m config=%s",
                 forms[i % 4], jg_str_text(&config));
        struct unit plain = unit_make(&request);
        cr_expect_lt(typical.choice.derived.tiles, plain.choice.derived.tiles);
        cr_expect_str_eq(jg_str_text(&typical.source.text), jg_str_text(&plain.source.text),
                         "%s: %s", chips[i / 4], text);
        unit_free(&typical);
        unit_free(&plain);
        jg_str_free(&config);
    }
}

Test(assemble, the_finest_result_says_how_exact_the_prelude_is)
{
    static const struct {
        const char *d, *operands, *want;
    } rows[] = {
        {"bf16", "r:matrix:f32", "#define JG_RESULT_BITS 8\n"},
        {"f16", "r:matrix:f32", "#define JG_RESULT_BITS 11\n"},
        {"f32", "r:matrix:bf16", "#define JG_RESULT_BITS 24\n"},
        {"e4m3", "r:matrix:bf16", "#define JG_RESULT_BITS 4\n"},
        {"bf16", "r:matrix:f16:out", "#define JG_RESULT_BITS 11\n"},
        {"e4m3", "r:row_vector:bf16:sum", "#define JG_RESULT_BITS 8\n"},
        {"bf16", "r:scalar:f32:max", "#define JG_RESULT_BITS 24\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char problem[128];
        snprintf(problem, sizeof(problem), "512x512x512 bf16 d=%s", rows[i].d);
        const bool is_input = strchr(strchr(rows[i].operands, ':') + 1, ':') ==
                              strrchr(rows[i].operands, ':');
        struct unit unit = unit_make(&(struct unit_request){
            .problem = problem,
            .snippet = is_input ? "d = gelu(acc) + r;" : "d = gelu(acc); r = acc;",
            .operands = rows[i].operands});
        cr_expect_not_null(strstr(jg_str_text(&unit.source.text), rows[i].want), "%s, %s",
                           problem, rows[i].operands);
        unit_free(&unit);
    }
}

Test(assemble, long_snippets_are_marked_where_tiles_are_written_beside_the_next)
{
    static const char two_calls[] = "d = tanh(acc) + gelu(acc);";
    static const struct {
        const char *config, *snippet, *arch;
        int marked;
    } rows[] = {{"acc_stages=2", two_calls, "sm_100a", 1},
                {"acc_stages=2", "d = gelu(acc) + acc;", "sm_100a", 0},
                {"acc_stages=1", two_calls, "sm_100a", 0},
                {"stages=3", two_calls, "sm_90a", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char problem[128];
        snprintf(problem, sizeof(problem), "512x512x512 bf16 config=%s", rows[i].config);
        struct unit unit = unit_make(&(struct unit_request){
            .problem = problem, .snippet = rows[i].snippet, .arch = rows[i].arch});
        cr_expect_not_null(
            strstr(jg_str_text(&unit.source.text),
                   rows[i].marked ? "kLongSnippet = true" : "kLongSnippet = false"),
            "%s on %s: %s", problem, rows[i].arch, rows[i].snippet);
        unit_free(&unit);
    }
}

Test(assemble, units_equal_the_golden_files)
{
    for (int i = 0; i < GOLDEN_COUNT; i++) {
        struct unit unit = unit_make(&golden_cases[i].request);
        if (getenv("JG_UPDATE_GOLDEN") != NULL) {
            write_golden(golden_cases[i].file, &unit.source.text);
        }

        char *expected = read_golden(golden_cases[i].file);
        cr_expect_str_eq(jg_str_text(&unit.source.text), expected, "%s differs:\n%s",
                         golden_cases[i].file, jg_str_text(&unit.source.text));
        free(expected);
        unit_free(&unit);
    }
}

/* Of a kernel that has no problem. */
Test(assemble, a_unit_that_packs_scales_equals_its_golden_file)
{
    static const char file[] = "source_pack.cu";
    const struct jg_pack pack = {.element_bytes = 1,
                                 .from = JIT_GEMM_SCALE_LAYOUT_MN_K4,
                                 .to = JIT_GEMM_SCALE_LAYOUT_128X4};
    struct jg_source source = {0};
    cr_assert_eq(jg_source_assemble_pack(jg_arch_find("sm_100a"), &pack, &source),
                 JIT_GEMM_OK);
    if (getenv("JG_UPDATE_GOLDEN") != NULL) {
        write_golden(file, &source.text);
    }
    char *expected = read_golden(file);
    cr_expect_str_eq(jg_str_text(&source.text), expected, "%s", jg_str_text(&source.text));
    cr_expect_str_eq(source.entry, "jit_gemm_pack_1_mn_k4_128x4");
    free(expected);
    jg_source_free(&source);
}

Test(assemble, only_ltoir_is_linked)
{
    for (int i = 0; i < GOLDEN_COUNT; i++) {
        struct unit unit = unit_make(&golden_cases[i].request);

        const bool is_linked = golden_cases[i].request.code == &ltoir;

        cr_expect_eq(unit.source.linked != NULL, is_linked, "%s", golden_cases[i].file);
        cr_expect_eq(unit.source.linked_size, is_linked ? ltoir.size : 0);
        unit_free(&unit);
    }
}

Test(assemble, same_input_gives_same_bytes)
{
    for (int i = 0; i < GOLDEN_COUNT; i++) {
        struct unit first = unit_make(&golden_cases[i].request);
        struct unit second = unit_make(&golden_cases[i].request);

        cr_expect_eq(first.source.text.size, second.source.text.size);
        cr_expect_str_eq(first.source.text.data, second.source.text.data);
        cr_expect_str_eq(first.source.entry, second.source.entry);
        cr_expect(jg_hash_equal(&first.source.headers, &second.source.headers));
        unit_free(&first);
        unit_free(&second);
    }
}

Test(assemble, units_are_ascii_and_have_no_place_or_time)
{
    for (int i = 0; i < GOLDEN_COUNT; i++) {
        struct unit unit = unit_make(&golden_cases[i].request);

        for (size_t b = 0; b < unit.source.text.size; b++) {
            const unsigned char byte = (unsigned char)unit.source.text.data[b];
            cr_expect(byte == '\n' || (byte >= 32 && byte < 127));
        }
        cr_expect_null(strstr(unit.source.text.data, "/tmp"));
        cr_expect_null(strstr(unit.source.text.data, "202"));
        unit_free(&unit);
    }
}

Test(assemble, entry_is_an_identifier_that_fits)
{
    const struct unit_request request = {
        .problem = "m=64 n=64 k=64 a=bf16 config=kernel=reference",
        .snippet = "d = acc;",
        .name = "a_name_of_sixty_three_characters_which_is_the_longest_allowed__"};

    struct unit unit = unit_make(&request);

    const char *entry = unit.source.entry;
    cr_expect_lt(strlen(entry), JIT_GEMM_NAME_SIZE);
    for (const char *at = entry; *at != '\0'; at++) {
        cr_expect(isalnum((unsigned char)*at) || *at == '_');
    }
    cr_expect_eq(strncmp(entry, "jit_gemm_sm90a_bf16_bf16_reference_a_name_of_sixty_", 50),
                 0, "%s", entry);
    cr_expect_not_null(strstr(unit.source.text.data, entry));
    unit_free(&unit);
}

Test(assemble, entry_tells_epilogues_apart)
{
    struct unit first = unit_make_snippet("d = acc + bias;", NULL, 0);
    struct unit second = unit_make_snippet("d = acc - bias;", NULL, 0);

    cr_expect_str_neq(first.source.entry, second.source.entry);
    unit_free(&first);
    unit_free(&second);
}

Test(assemble, without_epilogue_the_entry_says_plain)
{
    struct unit unit = unit_make(&golden_cases[0].request);

    cr_expect_str_eq(unit.source.entry, "jit_gemm_sm90a_bf16_bf16_128x256_plain");
    cr_expect_not_null(
        strstr(unit.source.text.data, "#line 1 \"jit_gemm_default\"\nd = acc;\n"));
    unit_free(&unit);
}

Test(assemble, entry_names_the_mma_where_the_config_does)
{
    const struct unit_request request = {
        .problem = "256x256x64 f16 d=f32 config=mma=256x192", .arch = "sm_100a"};

    struct unit unit = unit_make(&request);

    cr_expect_str_eq(unit.source.entry, "jit_gemm_sm100a_f16_f32_256x192_plain");
    unit_free(&unit);
}

Test(assemble, snippet_keeps_its_lines_and_ends_with_one)
{
    struct unit open = unit_make_snippet("d = acc; // no line end", "a.cu", 7);
    struct unit closed = unit_make_snippet("d = acc;\n", "a.cu", 7);

    cr_expect_not_null(strstr(open.source.text.data,
                              "#line 1 \"test\"\nd = acc; // no line end\n#line 4 \""));
    cr_expect_not_null(
        strstr(closed.source.text.data, "#line 1 \"test\"\nd = acc;\n#line 4 \""));
    unit_free(&open);
    unit_free(&closed);
}

static struct unit make_unit_of_file(const char *problem, const char *file, uint32_t line)
{
    const struct unit_request request = {
        .problem = problem, .snippet = "d = acc;", .source_name = file, .first_line = line};
    return unit_make(&request);
}

Test(assemble, place_of_a_snippet_is_no_part_of_its_unit)
{
    struct unit here = make_unit_of_file("256x256x256 bf16", "src/one.cu", 3);
    struct unit there = make_unit_of_file("256x256x256 bf16", NULL, 0);

    cr_expect_str_eq(here.source.text.data, there.source.text.data);
    cr_expect_str_eq(here.source.entry, there.source.entry);
    unit_free(&here);
    unit_free(&there);
}

Test(assemble, unit_for_a_profiler_names_the_users_file)
{
    static const char problem[] = "256x256x256 bf16 config=lineinfo=1";
    static const struct {
        const char *file, *expected;
    } rows[] = {
        {"dir\\a \"b\".cu", "#line 3 \"dir\\\\a \\\"b\\\".cu\"\nd = acc;\n"},
        {"test", "#line 1 \"test\"\nd = acc;\n"}, /* the epilogue's own name */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct unit unit = make_unit_of_file(problem, rows[i].file, 3);

        cr_expect_not_null(strstr(unit.source.text.data, rows[i].expected), "%s",
                           rows[i].file);
        unit_free(&unit);
    }
}

Test(assemble, place_in_a_message_becomes_the_users)
{
    struct unit unit = unit_make_snippet("d = acc;", "my.cu", 40);
    const struct {
        const char *name;
        bool is_snippet;
        uint32_t line;
    } rows[] = {{"test", true, 42}, {"my.cu", true, 3}, {"other.cu", false, 3}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t line = 3;

        const bool is_snippet =
            jg_source_is_snippet(unit.epilogue, rows[i].name, strlen(rows[i].name), &line);

        cr_expect_eq(is_snippet, rows[i].is_snippet, "%s", rows[i].name);
        cr_expect_eq(line, rows[i].line, "%s", rows[i].name);
    }
    unit_free(&unit);
}

Test(assemble, every_failing_allocation_is_no_memory)
{
    struct unit unit = unit_make(&golden_cases[4].request);
    struct jg_source untouched = {0};

    int failures = 0;
    jit_gemm_status status = JIT_GEMM_ERR_NO_MEMORY;
    for (long number = 1; status != JIT_GEMM_OK && number < 1000; number++) {
        jg_alloc_fail_at(number, 0);
        status = jg_source_assemble(unit.arch, &unit.problem, &unit.choice, &untouched);
        jg_alloc_fail_at(0, 0);
        if (status != JIT_GEMM_OK) {
            failures++;
            cr_expect_eq(status, JIT_GEMM_ERR_NO_MEMORY);
            cr_expect_null(untouched.text.data);
        }
    }

    cr_expect_geq(failures, 3);
    cr_expect_str_eq(untouched.text.data, unit.source.text.data);
    jg_source_free(&untouched);
    unit_free(&unit);
}
