/* SPDX-License-Identifier: MIT */
/* invariant=m: which configs are left, for which sizes and devices, and what is refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/bands.h"
#include "plan_fixture.h"
#include "strides.h"

enum { CHIPS = 2 };
static const char *const chips[CHIPS] = {"sm_90a", "sm_100a"};

/* Where both chips split K if they may. */
#define DECODE "n=1024 k=16384 a=bf16 workspace=64m "

static struct jg_choice choose_on(const char *chip, const char *text, int sm_count)
{
    const struct jg_arch *arch = jg_arch_find(chip);
    const struct jg_problem problem = plan_problem(text);
    struct jg_device_facts facts = arch->default_facts;
    struct jg_choice choice;
    facts.sm_count = sm_count;
    cr_assert_eq(jg_config_choose(arch, &problem, &facts, &choice, NULL), JIT_GEMM_OK,
                 "%s: %s", text, jg_error_text());
    return choice;
}

/* Whatever M, the batch and the device are, there is one class of arithmetic: K in one
 * part. Where the same problems without the key are split, the test means something. */
Test(invariance, k_is_whole_whatever_m_the_batch_and_the_device_are)
{
    static const int sms[] = {8, 66, 132, 148};
    int split = 0, tried = 0;
    for (int chip = 0; chip < CHIPS; chip++) {
        for (int i = chip; i < 40; i += test_stride(1) == 1 ? 1 : 3) {
            static const int rows[] = {1, 16, 17, 64, 100, 128, 256, 1000, 8192, 300};
            char text[160];
            snprintf(text, sizeof(text), "m=%d batch=%d " DECODE "%s", rows[i % 10],
                     1 + i / 10 % 2, i / 20 ? "dynamic=m " : "");
            tried++;
            split += choose_on(chips[chip], text, sms[i % 4]).config.launch.split_k > 1;
            strcat(text, "invariant=m");
            const struct jg_choice choice = choose_on(chips[chip], text, sms[i % 4]);
            cr_expect_eq(choice.config.launch.split_k, 1, "%s", text);
            cr_expect_eq(choice.derived.workspace_bytes, 0, "%s", text);
        }
    }
    cr_expect_geq(split, tried / 4);
}

Test(invariance, kernels_of_bands_keep_k_whole)
{
    for (int chip = 0; chip < CHIPS; chip++) {
        const struct jg_arch *arch = jg_arch_find(chips[chip]);
        const struct jg_problem problem = plan_problem(DECODE "dynamic=m invariant=m");
        jit_gemm_range parsed;
        struct jg_range range;
        struct jg_bands bands;
        cr_assert_eq(jg_range_parse("m=1..640", &parsed), JIT_GEMM_OK);
        cr_assert_eq(jg_range_check(&parsed, &problem, &range), JIT_GEMM_OK);
        cr_assert_eq(jg_bands_make(arch, &problem, &arch->default_facts, &range, &bands),
                     JIT_GEMM_OK, "%s", jg_error_text());
        cr_expect_gt(bands.kernel_count, 1);
        for (size_t i = 0; i < bands.kernel_count; i++) {
            cr_expect_not_null(strstr(bands.kernels[i].text, "split_k=1"), "%s",
                               bands.kernels[i].text);
        }
        jg_bands_free(&bands);
    }
}

Test(invariance, configs_of_other_bits_are_refused_by_name)
{
    static const struct {
        const char *chip, *config, *begin;
    } rows[] = {
        {"sm_90a", "split_k=2", "problem.config: split_k=2: parts of K are added up in"},
        {"sm_90a", "split_k=4 split_order=cluster",
         "problem.config: split_k=4: parts of K"},
        {"sm_100a", "split_k=2", "problem.config: split_k=2: parts of K are added up in"},
        {"sm_100a", "split_k=8 split_order=unordered", "problem.config: split_k=8: parts"},
        {"sm_90a", "kernel=reference", "problem.config: kernel=reference: it sums in f64"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_arch *arch = jg_arch_find(rows[i].chip);
        char text[160];
        snprintf(text, sizeof(text), "m=64 " DECODE "invariant=m config=%s",
                 rows[i].config);
        const struct jg_problem problem = plan_problem(text);
        struct jg_choice choice;
        cr_expect_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, NULL),
                     JIT_GEMM_ERR_ARGUMENT, "%s", text);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].begin, strlen(rows[i].begin)), 0,
                     "%s: %s", text, jg_error_text());
    }
}

/* What a person is told of the price. */
Test(invariance, trace_says_what_would_be_chosen_without_it)
{
    const struct jg_arch *arch = jg_arch_find("sm_90a");
    const struct jg_problem problem = plan_problem("m=64 " DECODE "invariant=m");
    struct jg_choice choice;
    struct jg_str trace = {0};
    cr_assert_eq(jg_config_choose(arch, &problem, &arch->default_facts, &choice, &trace),
                 JIT_GEMM_OK);
    const char *line = strstr(jg_str_text(&trace), "\nwithout invariant=m: ");
    cr_assert_not_null(line, "%s", jg_str_text(&trace));
    cr_expect_null(strstr(line, "split_k=1:"), "%s", line);
    cr_expect_not_null(strstr(line, ": predicted "), "%s", line);
    jg_str_free(&trace);
}

/* ------------------------------------------------------------------------- epilogues */

static struct jg_epilogue *registered; /* by the test that runs */

static jit_gemm_status find(void *user, const char *name, jit_gemm_dtype d,
                            const struct jg_epilogue **ret_epilogue)
{
    (void)user;
    (void)name;
    (void)d;
    *ret_epilogue = registered;
    return JIT_GEMM_OK;
}

static jit_gemm_status try_snippet(const char *snippet, jit_gemm_operand_kind kind,
                                   jit_gemm_operand_role role)
{
    const jit_gemm_operand operand = {
        .name = "x", .kind = kind, .dtype = JIT_GEMM_DTYPE_F32, .role = role};
    const jit_gemm_epilogue user = {.struct_size = sizeof(user),
                                    .name = "e",
                                    .source = snippet,
                                    .operands = &operand,
                                    .operand_count = strchr(snippet, 'x') != NULL};
    cr_assert_eq(jg_epilogue_create(&user, &registered), JIT_GEMM_OK, "%s",
                 jg_error_text());
    jit_gemm_problem problem;
    struct jg_problem canonical;
    cr_assert_eq(jg_problem_parse("64x256x64 bf16 invariant=m epilogue=e", &problem),
                 JIT_GEMM_OK);
    const jit_gemm_status status = jg_problem_normalize(&problem, find, NULL, &canonical);
    problem.invariant = JIT_GEMM_INVARIANT_NONE;
    cr_expect_eq(jg_problem_normalize(&problem, find, NULL, &canonical), JIT_GEMM_OK,
                 "'%s' is refused without the key too", snippet);
    if (status != JIT_GEMM_OK) { /* the text of the first one */
        problem.invariant = JIT_GEMM_INVARIANT_M;
        (void)jg_problem_normalize(&problem, find, NULL, &canonical);
    }
    jg_epilogue_destroy(registered);
    return status;
}

Test(invariance, what_makes_a_row_depend_on_others_is_refused_by_name)
{
#define MATRIX JIT_GEMM_OPERAND_MATRIX
    static const struct {
        const char *snippet;
        jit_gemm_operand_kind kind;
        jit_gemm_operand_role role;
        const char *word; /* of the message; NULL: it is taken */
    } rows[] = {
        {"d = acc + row;", MATRIX, JIT_GEMM_OPERAND_INPUT, "'row'"},
        {"d = batch == 1 ? acc : 0;", MATRIX, JIT_GEMM_OPERAND_INPUT, "'batch'"},
        {"d = acc / M;", MATRIX, JIT_GEMM_OPERAND_INPUT, "'M'"},
        {"d = acc * uniform(x);", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_OPERAND_INPUT,
         "'uniform'"},
        {"d = acc; x = acc * acc;", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_OPERAND_SUM,
         "'x' is a sum of a row"},
        {"d = acc; x = acc;", JIT_GEMM_OPERAND_BLOCK_1X32, JIT_GEMM_OPERAND_SUM,
         "'x' is a sum of a row"},
        {"d = acc + col + N + K; // row, M", MATRIX, JIT_GEMM_OPERAND_INPUT, NULL},
        {"float rows = acc; d = rows;", MATRIX, JIT_GEMM_OPERAND_INPUT, NULL},
        {"d = acc * x;", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_OPERAND_INPUT, NULL},
        {"d = acc; x = acc;", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_OPERAND_MAX, NULL},
        {"d = acc; x = acc;", JIT_GEMM_OPERAND_BLOCK_1X32, JIT_GEMM_OPERAND_MAX, NULL},
        {"d = acc; x = acc;", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_OPERAND_SUM, NULL},
        {"d = acc; x = acc;", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_OPERAND_MAX, NULL},
    };
#undef MATRIX
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const jit_gemm_status status =
            try_snippet(rows[i].snippet, rows[i].kind, rows[i].role);
        if (rows[i].word == NULL) {
            cr_expect_eq(status, JIT_GEMM_OK, "%s: %s", rows[i].snippet, jg_error_text());
            continue;
        }
        cr_expect_eq(status, JIT_GEMM_ERR_UNSUPPORTED, "%s", rows[i].snippet);
        cr_expect_eq(strncmp(jg_error_text(), "problem.invariant: ", 19), 0, "%s",
                     jg_error_text());
        cr_expect_not_null(strstr(jg_error_text(), rows[i].word), "%s: %s", rows[i].snippet,
                           jg_error_text());
    }
}

Test(invariance, field_is_one_of_its_constants)
{
    jit_gemm_problem problem;
    struct jg_problem canonical;
    cr_assert_eq(jg_problem_parse("64x256x64 bf16", &problem), JIT_GEMM_OK);
    cr_expect_eq(problem.invariant, JIT_GEMM_INVARIANT_NONE);
    problem.invariant = (jit_gemm_invariance)2;
    cr_expect_eq(jg_problem_normalize(&problem, NULL, NULL, &canonical),
                 JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(), "problem.invariant: must be 0 or 1, is 2; give "
                                      "JIT_GEMM_INVARIANT_NONE or JIT_GEMM_INVARIANT_M");
}

Test(invariance, text_of_a_canonical_problem_names_it)
{
    const struct jg_problem problem = plan_problem("64x256x64 bf16 invariant=m");
    struct jg_str text = {0};
    jg_problem_text(&problem, &text);
    cr_expect_str_eq(jg_str_text(&text), "m=64 n=256 k=64 a=bf16 invariant=m");
    jg_str_free(&text);
}
