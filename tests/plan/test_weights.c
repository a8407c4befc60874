/* SPDX-License-Identifier: MIT */
/* weights=: which matrix a kernel loads before the grid before has ended; and resident=2:
 * when the next grid has room beside it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan_fixture.h"

Test(weights, matrix_is_that_of_the_product)
{
    static const struct {
        const char *text;
        jit_gemm_weights first_loads;
    } rows[] = {
        {"512x512x512 bf16", JIT_GEMM_WEIGHTS_NONE},
        {"512x512x512 bf16 weights=none", JIT_GEMM_WEIGHTS_NONE},
        {"512x512x512 bf16 weights=b config=tile=128x128 split_k=1", JIT_GEMM_WEIGHTS_B},
        {"512x512x512 bf16 weights=a config=tile=128x128 split_k=1", JIT_GEMM_WEIGHTS_A},
        {"8x512x512 bf16 weights=b config=tile=64x32", JIT_GEMM_WEIGHTS_A},
        {"8x512x512 bf16 weights=a config=tile=64x32", JIT_GEMM_WEIGHTS_B},
        {"512x512x512 bf16 d_layout=column weights=b config=tile=128x128 swap_ab=1",
         JIT_GEMM_WEIGHTS_A},
        /* Nothing begins before the grid before has ended, */
        {"512x512x512 bf16 weights=b config=pdl=0", JIT_GEMM_WEIGHTS_NONE},
        /* threads load, or what is loaded is what the kernel before copies, */
        {"512x512x511 bf16 input_align=2 weights=b", JIT_GEMM_WEIGHTS_NONE},
        {"512x512x511 bf16 input_align=2 weights=b workspace=1g config=repack=ab",
         JIT_GEMM_WEIGHTS_NONE},
        /* or where rows lie is read first. */
        {"m=512 n=512 k=512 a=bf16 groups=4 group_by=offsets weights=b",
         JIT_GEMM_WEIGHTS_NONE},
        {"512x512x512 bf16 a_rows=indexed weights=b", JIT_GEMM_WEIGHTS_NONE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_choice choice = plan_choose_on("sm_90a", rows[i].text);
        cr_expect_eq(choice.derived.first_loads, rows[i].first_loads, "%s", rows[i].text);
    }
}

/* Blackwell's kernel may, and does not. */
Test(weights, config_is_the_same_with_and_without)
{
    static const char *const chips[] = {"sm_90a", "sm_100a"};
    for (int i = 0; i < 2; i++) {
        const struct jg_choice plain = plan_choose_on(chips[i], "16x4096x4096 bf16");
        const struct jg_choice with =
            plan_choose_on(chips[i], "16x4096x4096 bf16 weights=b");
        cr_expect_eq(memcmp(&plain.config, &with.config, sizeof(plain.config)), 0);
    }
    const struct jg_choice with = plan_choose_on("sm_100a", "16x4096x4096 bf16 weights=b");
    cr_expect_eq(with.derived.first_loads, JIT_GEMM_WEIGHTS_NONE);
}

Test(weights, two_ctas_share_registers_and_shared_memory)
{
    const struct jg_choice choice =
        plan_choose_on("sm_90a", "16x4096x4096 bf16 config=tile=64x32 resident=2");
    cr_expect_eq(choice.config.pipeline.stages, 9);
    cr_expect_eq(choice.derived.smem_bytes, 115712); /* with 1024 of the driver's, half */
    cr_expect_eq(choice.derived.max_registers, 80);
    cr_expect_eq(plan_choose_on("sm_90a", "16x4096x4096 bf16").config.launch.resident, 0,
                 "it is chosen by hand only");
}

Test(weights, resident_says_what_has_no_room)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"16x512x512 bf16 config=tile=64x32 resident=2 stages=10",
         "problem.config: stages=10 needs 128000 bytes of shared memory, sm_90a has 115712 "
         "for each of two CTAs (resident=2); at most stages=9 with tile=64x32 out_stages=1"},
        {"512x512x512 bf16 config=tile=128x128 resident=2",
         "problem.config: resident=2 lets the next launch begin on the same "
         "multiprocessors, with 80 registers a thread each, which is not for tiles of more "
         "than 8192 elements, or 4096 where sums are added up in registers: resident=1"},
        {"16x512x512 e4m3 config=tile=128x64 swap_ab=1 resident=2",
         "problem.config: resident=2 lets the next launch begin"},
        {"16x512x512 bf16 config=tile=64x32 resident=2 pdl=0",
         "problem.config: resident=2 lets the next launch begin on the same "
         "multiprocessors, with 80 registers a thread each, which is not for pdl=0"},
        {"16x512x511 bf16 input_align=2 config=tile=64x32 resident=2",
         "problem.config: resident=2 lets the next launch begin"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_choice choice;
        cr_expect_neq(plan_try_on("sm_90a", rows[i].text, &choice), JIT_GEMM_OK, "%s",
                      rows[i].text);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "%s", jg_error_text());
    }
    struct jg_choice choice;
    cr_expect_neq(plan_try_on("sm_100a", "16x512x512 bf16 config=resident=2", &choice),
                  JIT_GEMM_OK);
}
