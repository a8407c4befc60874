/* SPDX-License-Identifier: MIT */
/* The oriented product: the problem's, or its transpose. */
#include <criterion/criterion.h>

#include "plan/product.h"
#include "plan_fixture.h"

static const char ragged[] = "m=17 n=336 k=80 batch=5 a=e4m3 b=e5m2 d=bf16 layout=tn";

Test(product, of_a_problem_as_it_is_has_its_sizes_and_matrices)
{
    const struct jg_problem problem = plan_problem(ragged);

    const struct jg_product product = jg_product_make(&problem, false);

    cr_expect_eq(product.m.size, 17);
    cr_expect_eq(product.n.size, 336);
    cr_expect_eq(product.k.size, 80);
    cr_expect_eq(product.batch.size, 5);
    cr_expect_eq(product.a.letter, 'a');
    cr_expect_eq(product.b.letter, 'b');
    cr_expect_eq(product.a.is_mn_major, problem.a.is_mn_major);
    cr_expect(!product.d_is_transpose);
}

Test(product, swapped_takes_b_as_its_a_and_n_as_its_m)
{
    const struct jg_problem problem = plan_problem(ragged);

    const struct jg_product product = jg_product_make(&problem, true);

    cr_expect_eq(product.m.size, 336);
    cr_expect_eq(product.n.size, 17);
    cr_expect_eq(product.k.size, 80);
    cr_expect_eq(product.a.letter, 'b');
    cr_expect_eq(product.a.dtype, JIT_GEMM_DTYPE_E5M2);
    cr_expect_eq(product.b.letter, 'a');
    cr_expect_eq(product.b.is_mn_major, problem.a.is_mn_major);
    cr_expect_eq(product.d.dtype, JIT_GEMM_DTYPE_BF16);
    cr_expect(product.d_is_transpose);
}

/* What the choice counts tiles and bytes of: groups in whole blocks of 128 rows, and no
 * more of them than there are blocks. */
Test(product, of_rows_that_name_their_groups_is_the_typical_one)
{
    static const struct {
        const char *problem;
        int64_t rows, groups;
    } rows[] = {{"m=1024 n=64 k=64 bf16 groups=4 group_by=rows", 256, 4},
                {"m=1025 n=64 k=64 bf16 groups=4 group_by=rows", 384, 3},
                {"m=1024 n=64 k=64 bf16 groups=256 group_by=rows", 128, 8},
                {"m=100 n=64 k=64 bf16 groups=2 group_by=rows", 100, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_problem problem = plan_problem(rows[i].problem);

        const struct jg_product product = jg_product_make(&problem, false);

        cr_expect_eq(product.m.size, rows[i].rows, "%s", rows[i].problem);
        cr_expect_eq(product.m.mode, JIT_GEMM_DIM_DYNAMIC);
        cr_expect_eq(product.batch.size, rows[i].groups, "%s", rows[i].problem);
    }
}

Test(product, d_lies_as_its_transpose_if_one_of_both_is_turned)
{
    static const struct {
        const char *problem;
        bool swap_ab, d_is_transpose;
    } rows[] = {{"8x16x8 bf16", false, false},
                {"8x16x8 bf16", true, true},
                {"8x16x8 bf16 d_layout=column", false, true},
                {"8x16x8 bf16 d_layout=column", true, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_problem problem = plan_problem(rows[i].problem);

        const struct jg_product product = jg_product_make(&problem, rows[i].swap_ab);

        cr_expect_eq(product.d_is_transpose, rows[i].d_is_transpose, "row %zu", i);
    }
}

Test(product, sizes_of_a_launch_follow_it)
{
    const struct jg_problem problem = plan_problem("m=8 n=16 k=8 a=bf16 dynamic=m,n");
    const struct jg_product plain = jg_product_make(&problem, false);
    const struct jg_product swapped = jg_product_make(&problem, true);

    const struct jg_product_size as_it_is = jg_product_size(&plain, 3, 4);
    const struct jg_product_size turned = jg_product_size(&swapped, 3, 4);

    cr_expect(as_it_is.m == 3 && as_it_is.n == 4);
    cr_expect(turned.m == 4 && turned.n == 3);
}

/* What comes after the choice reads the product from it. */
Test(product, is_kept_in_the_choice_as_the_config_has_it)
{
    static const char *const texts[] = {
        "16x4096x4096 bf16", "4096x16x4096 bf16", "512x256x64 bf16 d_layout=column",
        "512x256x64 bf16 config=kernel=reference",
        "64x32x8 f16 d_layout=column config=kernel=reference"};
    for (int i = 0; jg_arch_at(i) != NULL; i++) {
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            const struct jg_problem problem = plan_problem(texts[j]);
            const struct jg_choice choice = plan_choose(jg_arch_at(i), texts[j]);
            const bool swapped = choice.config.layout.swap_ab;

            cr_expect_eq(choice.product.a.letter, swapped ? 'b' : 'a', "%s", texts[j]);
            cr_expect_eq(choice.product.m.size, swapped ? problem.n.size : problem.m.size);
        }
    }
}
