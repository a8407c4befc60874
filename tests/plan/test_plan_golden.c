/* SPDX-License-Identifier: MIT */
/*
 * Golden files: problem text, chosen config and trace of typical problems. A change of the
 * cost model shows here line by line. JG_UPDATE_GOLDEN=1 rewrites the files.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/choose.h"

static const struct {
    const char *file, *arch, *problem;
} golden_rows[] = {
    {"plan_square_4096", "sm_90a", "4096x4096x4096 bf16"},
    {"plan_square_8192", "sm_90a", "8192x8192x8192 bf16"},
    {"plan_square_1024", "sm_90a", "1024x1024x1024 bf16"},
    {"plan_odd", "sm_90a", "m=333 n=17 k=1 a=f16 d=f32"},
    {"plan_small_m", "sm_90a", "m=16 n=4096 k=4096 a=bf16"},
    {"plan_batched", "sm_90a", "m=128 n=128 k=64 batch=100 a=bf16"},
    {"plan_row_blocks", "sm_90a", "m=8192 n=4096 k=7168 a=bf16 groups=32 group_by=rows"},
    {"plan_pointers", "sm_90a", "m=1024 n=4096 k=7168 a=bf16 groups=32 group_by=pointers"},
    {"plan_group_maps", "sm_90a",
     "m=1024 n=4096 k=7168 a=bf16 groups=32 group_by=pointers workspace=64m"},
    {"plan_sm100a_group_maps", "sm_100a",
     "m=1024 n=4096 k=7168 a=bf16 groups=32 group_by=pointers workspace=64m"},
    {"plan_layout_tn", "sm_90a", "m=3000 n=3000 k=3000 a=bf16 c=bf16 layout=tn"},
    {"plan_dynamic", "sm_90a", "n=11008 k=4096 a=bf16 dynamic=m"},
    {"plan_d_column", "sm_90a", "m=4096 n=512 k=1024 a=bf16 d_layout=column"},
    {"plan_sm100a_d_column", "sm_100a", "m=4096 n=512 k=1024 a=bf16 d_layout=column"},
    {"plan_override", "sm_90a", "m=4096 n=4096 k=4096 a=bf16 config=tile=128x128 stages=4"},
    {"plan_stages_6", "sm_90a", "m=4096 n=4096 k=4096 a=bf16 config=stages=6"},
    {"plan_reference", "sm_90a", "m=333 n=17 k=65 a=bf16 d=f32 config=kernel=reference"},
    {"plan_epilogue", "sm_90a", "m=2048 n=2048 k=512 a=bf16 epilogue=fused"},
    {"plan_tf32", "sm_90a", "4096x4096x4096 tf32"},
    {"plan_fp8", "sm_90a", "4096x4096x4096 e4m3 b=e5m2 d=bf16"},
    {"plan_s8", "sm_90a", "m=4096 n=4096 k=4096 a=s8"},
    {"plan_sm100a_tf32", "sm_100a", "4096x4096x4096 tf32"},
    {"plan_sm100a_fp8", "sm_100a", "m=4096 n=4096 k=4096 a=e4m3 d=bf16 layout=tn"},
    {"plan_sm100a_s8", "sm_100a", "4096x4096x4096 s8 d=bf16"},
    {"plan_sm100a_mxfp8", "sm_100a", "8192x8192x8192 mxfp8 d=bf16"},
    {"plan_sm100a_nvfp4", "sm_100a", "m=8192 n=8192 k=8192 a=nvfp4 d=bf16"},
    {"plan_sm100a_square_4096", "sm_100a", "4096x4096x4096 bf16"},
    {"plan_sm100a_square_1024", "sm_100a", "1024x1024x1024 bf16"},
    {"plan_sm100a_small_m", "sm_100a", "m=16 n=4096 k=4096 a=bf16"},
    {"plan_sm100a_mma_64", "sm_100a",
     "m=317 n=512 k=256 a=bf16 dynamic=m config=mma=64x64 cluster=1x1"},
    {"plan_sm100a_row_blocks", "sm_100a",
     "m=8192 n=4096 k=7168 a=bf16 groups=32 group_by=rows"},
    {"plan_sm100a_swap_ab", "sm_100a", "m=512 n=512 k=512 a=bf16 config=swap_ab=1"},
    {"plan_sm100a_layout_tn", "sm_100a", "m=3000 n=3000 k=3000 a=bf16 c=bf16 layout=tn"},
    {"plan_sm100a_dynamic", "sm_100a", "n=11008 k=4096 a=bf16 dynamic=m"},
    {"plan_sm100a_override", "sm_100a",
     "m=4096 n=4096 k=4096 a=bf16 config=mma=256x128 cluster=4x2"},
    {"plan_input_align", "sm_90a", "333x345x201 bf16 input_align=2"},
    {"plan_repack", "sm_90a", "2047x2047x2047 bf16 input_align=2 workspace=64m"},
    {"plan_sm100a_repack", "sm_100a", "2047x2047x2047 bf16 input_align=2 workspace=64m"},
    {"plan_sm100a_scale_pack", "sm_100a",
     "2048x2048x2048 e4m3 d=bf16 a_scale=1x128ue8m0 b_scale=128x128ue8m0"},
    {"plan_output_align", "sm_90a", "333x345x201 bf16 c=f32 output_align=2"},
    {"plan_sm100a_output_align", "sm_100a",
     "m=2048 n=2048 k=512 a=bf16 output_align=2 epilogue=fused"},
    {"plan_split_k", "sm_90a", "1024x256x16384 bf16 workspace=64m"},
    {"plan_sm100a_split_k", "sm_100a", "1024x256x16384 bf16 workspace=64m"},
    {"plan_sm100a_epilogue", "sm_100a", "m=2048 n=2048 k=512 a=bf16 epilogue=fused"},
};

static jit_gemm_status find_fused(void *user, const char *name, jit_gemm_dtype d,
                                  const struct jg_epilogue **ret_epilogue)
{
    const struct jg_epilogue *epilogue = user;
    (void)d;
    *ret_epilogue = strcmp(epilogue->name, name) == 0 ? epilogue : NULL;
    return JIT_GEMM_OK;
}

static struct jg_epilogue *make_fused(void)
{
    static const jit_gemm_operand operands[] = {
        {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16},
        {.name = "r", .kind = JIT_GEMM_OPERAND_MATRIX, .dtype = JIT_GEMM_DTYPE_BF16}};
    const jit_gemm_epilogue user = {.struct_size = sizeof(user),
                                    .name = "fused",
                                    .source = "d = gelu(acc + bias) + r;",
                                    .operands = operands,
                                    .operand_count = 2};
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    return epilogue;
}

static void print_plan(const char *text, const char *arch_name, struct jg_str *out)
{
    struct jg_epilogue *fused = make_fused();
    const struct jg_arch *arch = jg_arch_find(arch_name);
    jit_gemm_problem problem;
    struct jg_problem canonical;
    struct jg_choice choice;
    struct jg_str trace = {0};
    cr_assert_eq(jg_problem_parse(text, &problem), JIT_GEMM_OK, "%s", jg_error_text());
    cr_assert_eq(jg_problem_normalize(&problem, find_fused, fused, &canonical), JIT_GEMM_OK,
                 "%s", jg_error_text());
    cr_assert_eq(jg_config_choose(arch, &canonical, &arch->default_facts, &choice, &trace),
                 JIT_GEMM_OK, "%s", jg_error_text());

    struct jg_str part = {0};
    jg_problem_text(&canonical, &part);
    jg_str_printf(out, "problem: %s\n", jg_str_text(&part));
    jg_str_free(&part);
    jg_config_print(&choice.config, arch->config_keys, &part);
    jg_str_printf(out, "config: %s\n", jg_str_text(&part));
    jg_str_printf(out, "%s", jg_str_text(&trace));
    cr_assert_eq(jg_str_status(out), JIT_GEMM_OK);
    jg_str_free(&part);
    jg_str_free(&trace);
    jg_epilogue_destroy(fused);
}

static void read_golden(const char *path, struct jg_str *out)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return;
    }
    char buffer[4096];
    size_t size;
    while ((size = fread(buffer, 1, sizeof(buffer), file)) > 0) {
        jg_str_add(out, buffer, size);
    }
    fclose(file);
}

static void write_golden(const char *path, const struct jg_str *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s cannot be written", path);
    const size_t written = fwrite(jg_str_text(text), 1, text->size, file);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(written, text->size);
}

/* Lines that differ, as "-" golden and "+" now. */
static void print_difference(const char *golden, const char *now)
{
    while (*golden != '\0' || *now != '\0') {
        const size_t golden_size = strcspn(golden, "\n");
        const size_t now_size = strcspn(now, "\n");
        if (golden_size != now_size || memcmp(golden, now, now_size) != 0) {
            fprintf(stderr, "-%.*s\n+%.*s\n", (int)golden_size, golden, (int)now_size, now);
        }
        golden += golden_size + (golden[golden_size] == '\n');
        now += now_size + (now[now_size] == '\n');
    }
}

Test(plan_golden, config_and_trace_are_as_recorded)
{
    const char *update = getenv("JG_UPDATE_GOLDEN");
    for (size_t i = 0; i < sizeof(golden_rows) / sizeof(golden_rows[0]); i++) {
        char path[1024];
        snprintf(path, sizeof(path), "%s/%s.txt", JG_GOLDEN_DIR, golden_rows[i].file);
        struct jg_str now = {0};
        struct jg_str golden = {0};
        print_plan(golden_rows[i].problem, golden_rows[i].arch, &now);
        if (update != NULL && strcmp(update, "1") == 0) {
            write_golden(path, &now);
        }
        read_golden(path, &golden);

        const int same = golden.size == now.size &&
                         memcmp(jg_str_text(&golden), jg_str_text(&now), now.size) == 0;
        if (!same) {
            fprintf(stderr, "%s\n", path);
            print_difference(jg_str_text(&golden), jg_str_text(&now));
        }
        cr_expect(same, "%s differs; JG_UPDATE_GOLDEN=1 records it anew", path);
        jg_str_free(&now);
        jg_str_free(&golden);
    }
}
