/* SPDX-License-Identifier: MIT */
/* typical_sizes: what groups are like, as text and from a list, and what is priced of them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/problem_text.h"
#include "plan/range.h"
#include "plan/typical_sizes.h"
#include "plan_fixture.h"

#define BLOCKS "n=1536 k=4096 a=e4m3 d=bf16 a_scale=1x128 b_scale=128x128 groups=128 "

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Size `index` of a run, as its contract says. */
static int64_t size_of(const jit_gemm_size_run *run, int64_t index)
{
    const int64_t steps = run->groups > 1 ? run->groups - 1 : 1;
    return run->least + (((int64_t)run->most - run->least) * index + steps / 2) / steps;
}

Test(typical_sizes, text_reads_back_and_is_sorted_in_the_canonical_problem)
{
    const char *text = "m=4096 n=64 k=64 groups=40 group_by=offsets "
                       "typical_sizes=8x200,24x0..96,3x0,4x200,1x1000 a=bf16";
    jit_gemm_problem problem;
    struct jg_str again = {0}, canonical = {0};
    cr_assert_eq(jg_problem_parse(text, &problem), JIT_GEMM_OK, "%s", jg_error_text());
    cr_expect_eq(problem.typical_sizes[1].groups, 24);
    cr_expect_eq(problem.typical_sizes[1].most, 96);
    cr_expect_eq(problem.typical_sizes[5].groups, 0);

    cr_expect_eq(jg_problem_print(&problem, &again), JIT_GEMM_OK);
    const struct jg_problem own = plan_problem(text);
    jg_problem_text(&own, &canonical);

    cr_expect_str_eq(jg_str_text(&again), text);
    cr_expect_neq(
        strstr(jg_str_text(&canonical), " typical_sizes=3x0,24x0..96,12x200,1x1000 "), NULL,
        "%s", jg_str_text(&canonical));
    jg_str_free(&again);
    jg_str_free(&canonical);
}

Test(typical_sizes, problems_that_differ_in_them_are_different_ones)
{
    struct jg_str bytes[3] = {0};
    static const char *const sizes[] = {"typical_sizes=1x0,3x9", "typical_sizes=3x9,1x0",
                                        "typical_sizes=4x9"};
    for (int i = 0; i < 3; i++) {
        char text[160];
        snprintf(text, sizeof(text), "m=64 n=64 k=64 a=bf16 groups=4 %s", sizes[i]);
        const struct jg_problem problem = plan_problem(text);
        jg_problem_bytes(&problem, &bytes[i]);
    }
    cr_expect_eq(bytes[0].size, bytes[1].size);
    cr_expect_eq(memcmp(bytes[0].data, bytes[1].data, bytes[0].size), 0);
    cr_expect_neq(memcmp(bytes[0].data, bytes[2].data, bytes[0].size), 0);
    for (int i = 0; i < 3; i++) {
        jg_str_free(&bytes[i]);
    }
}

Test(typical_sizes, every_message)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"groups=8 typical_sizes=8",
         "problem.typical_sizes: '8' at column 48 is no list of up to 16 times groups and "
         "rows; give groups and their rows, such as 8x512,24x0..96"},
        {"groups=8 typical_sizes=0x8,8x8", "problem.typical_sizes: '0x8,8x8' at column 48"},
        {"groups=8 typical_sizes=8x8,", "problem.typical_sizes: '8x8,' at column 48"},
        {"groups=8 typical_sizes=8x-1", "problem.typical_sizes: '8x-1' at column 48"},
        {"groups=8 typical_sizes=8x1..2..3", "problem.typical_sizes: '8x1..2..3' at"},
        {"groups=8 typical_sizes=8x2147483648", "problem.typical_sizes: '8x2147483648' at"},
        {"groups=17 typical_sizes=1x0,1x0,1x0,1x0,1x0,1x0,1x0,1x0,1x0,1x0,1x0,1x0,1x0,1x0,"
         "1x0,1x0,1x1",
         "problem.typical_sizes: '1x0,1x0,1x0,1x0"},
        {"batch=8 typical_sizes=8x8",
         "problem.typical_sizes: only groups have sizes of their own, and this problem has "
         "none; leave it out, or give group_by and in batch the number of groups"},
        {"groups=8 group_by=k_offsets layout=tn typical_sizes=8x8",
         "problem.typical_sizes: groups along K are planned by their average, which their "
         "time follows; leave it out"},
        {"groups=8 typical_sizes=8x9..8",
         "problem.typical_sizes: entry 0 is 8 groups of 9 to 8 rows; give the least and the "
         "most rows, the same twice of one group and where all have as many"},
        {"groups=8 typical_sizes=7x8,1x8..9", "problem.typical_sizes: entry 1 is 1 groups"},
        {"groups=8 typical_sizes=7x8",
         "problem.typical_sizes: sizes of 7 groups are given, the problem has 8; say of "
         "each group how many rows it typically has, also of those without any"},
        {"groups=8 typical_sizes=8x0",
         "problem.typical_sizes: no group has rows, which leaves nothing to plan for; leave "
         "it out, or give rows to one group at least"},
        {"groups=8 typical_sizes=8x1025",
         "problem.typical_sizes: the groups have at least 8200 rows, of which there are at "
         "most 8192; give sizes that the rows of M have room for, or a larger M"},
        {"groups=8 group_by=counts typical_sizes=7x0,1x8193",
         "problem.typical_sizes: a group has at least 8193 rows, of which"},
        {"groups=8 dynamic=m typical_sizes=8x2000000000",
         "problem.typical_sizes: the groups have at least 16000000000 rows, of which there "
         "are at most 2147483647; split the groups over several launches"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];
        jit_gemm_problem problem;
        snprintf(text, sizeof(text), "m=8192 n=64 k=64 a=bf16 %s", rows[i].text);

        cr_expect_eq(jg_problem_parse(text, &problem), JIT_GEMM_ERR_ARGUMENT, "%s", text);

        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "'%s'\nexpected '%s...'\n     got '%s'", text, rows[i].message,
                     jg_error_text());
    }
    /* What no text can say. */
    jit_gemm_problem problem;
    cr_assert_eq(
        jg_problem_parse("m=64 n=64 k=64 a=bf16 groups=8 typical_sizes=8x8", &problem),
        JIT_GEMM_OK);
    problem.typical_sizes[0].groups = 5000;
    cr_expect_eq(jg_problem_check_fields(&problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(),
                     "problem.typical_sizes: entry 0 is 5000 groups, of which there are at "
                     "most 4096; say how many groups have so many rows, of all groups");
    problem.typical_sizes[0].groups = 8;
    problem.typical_sizes[3].most = 1;
    cr_expect_eq(jg_problem_check_fields(&problem), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(),
                     "problem.typical_sizes: entry 3 is not zero, and an entry without "
                     "groups ends the list; leave entries zero from the first one without "
                     "groups on");
}

Test(typical_sizes, range_of_m_says_what_rows_there_are)
{
    const jit_gemm_range range = {.struct_size = sizeof(range), .first = 1, .last = 8192};
    const struct jg_problem problem =
        plan_problem("n=64 k=64 a=bf16 groups=8 dynamic=m typical_sizes=8x8");
    struct jg_range checked;
    cr_expect_eq(jg_range_check(&range, &problem, &checked), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(
        jg_error_text(),
        "problem.typical_sizes: the rows of groups are given, and with a range "
        "of M there are any; leave it out, or the range");
}

/* Who was compiled without the field leaves anything between its end and its size. */
Test(typical_sizes, field_begins_where_the_struct_without_it_ended)
{
    const size_t before = offsetof(jit_gemm_problem, weights) + sizeof(jit_gemm_weights);
    const size_t size_before = (before + 7) / 8 * 8;
    cr_expect_eq(offsetof(jit_gemm_problem, typical_sizes), size_before);
    jit_gemm_problem problem;
    cr_assert_eq(jg_problem_parse("m=64 n=64 k=64 a=bf16 groups=8", &problem), JIT_GEMM_OK);
    memset((char *)&problem + before, 0x5a, sizeof(problem) - before);
    problem.struct_size = size_before;
    struct jg_problem canonical;
    cr_expect_eq(jg_problem_normalize(&problem, NULL, NULL, &canonical), JIT_GEMM_OK);
    cr_expect_eq(canonical.typical_sizes[0].groups, 0);
}

Test(typical_sizes, few_different_sizes_are_kept_as_they_are)
{
    jit_gemm_problem problem = {.struct_size = sizeof(problem)};
    const int32_t sizes[] = {7, 0, 1200, 7, 331, 0, 7};
    struct jg_str text = {0};
    cr_assert_eq(jg_typical_sizes_set(&problem, sizes, 7), JIT_GEMM_OK);
    jg_typical_sizes_print(problem.typical_sizes, &text);
    cr_expect_str_eq(jg_str_text(&text), "2x0,3x7,1x331,1x1200");
    jg_str_free(&text);

    cr_expect_eq(jg_typical_sizes_set(&problem, NULL, 0), JIT_GEMM_OK);
    cr_expect_eq(problem.typical_sizes[0].groups, 0, "taken back");
}

/* Skewed sizes, more of them than runs: as many groups, as many of them empty, the same
 * least and most, and tiles of any kind within a fiftieth. */
Test(typical_sizes, many_sizes_lie_near_lines)
{
    static int32_t sizes[4096];
    static const int steps[] = {16, 64, 128, 192, 256};
    srand(5);
    for (int round = 0; round < 60; round++) {
        const int groups = 40 + rand() % (round < 50 ? 400 : 4056);
        const int mean = 8 + rand() % 1000;
        int64_t rows = 0, empty = 0, most = 0, tiles[5] = {0};
        for (int i = 0; i < groups; i++) {
            sizes[i] = rand() % 8 == 0  ? 0
                       : round % 2 == 0 ? (int32_t)((int64_t)mean * groups / (i + 1) / 6)
                                        : rand() % (2 * mean);
            rows += sizes[i];
            empty += sizes[i] == 0;
            most = sizes[i] > most ? sizes[i] : most;
            for (int s = 0; s < 5; s++) {
                tiles[s] += ceil_div(sizes[i], steps[s]);
            }
        }
        jit_gemm_problem problem = {.struct_size = sizeof(problem)};
        cr_assert_eq(jg_typical_sizes_set(&problem, sizes, (uint32_t)groups), JIT_GEMM_OK);

        const jit_gemm_size_run *runs = problem.typical_sizes;
        const struct jg_typical_fill fill = jg_typical_fill_of(runs, 64);
        int64_t counted = 0;
        for (int i = 0; i < JIT_GEMM_SIZE_RUNS; i++) {
            counted += runs[i].groups;
        }
        cr_expect_eq(counted, groups);
        cr_expect_eq(fill.groups, groups - empty, "round %d", round);
        cr_expect_eq(fill.most, most);
        cr_expect_float_eq(fill.part, (double)rows / (double)(tiles[1] * 64), 0.03);
        for (int s = 1; s < 5; s++) {
            const double got = (double)jg_typical_sizes_tiles(runs, steps[s]);
            cr_expect_float_eq(got / (double)tiles[s], 1.0, 0.02, "round %d: %f of %lld",
                               round, got, (long long)tiles[s]);
        }
    }
}

Test(typical_sizes, wrong_lists_are_refused)
{
    static int32_t sizes[4097];
    jit_gemm_problem problem = {.struct_size = offsetof(jit_gemm_problem, typical_sizes)};
    cr_expect_eq(jg_typical_sizes_set(&problem, sizes, 2), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_eq(strncmp(jg_error_text(), "problem.struct_size: is ", 24), 0, "%s",
                 jg_error_text());
    problem.struct_size = sizeof(problem);
    cr_expect_eq(jg_typical_sizes_set(&problem, sizes, 4097), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(), "count: there are at most 4096 groups, 4097 are "
                                      "given; give the rows of each group of the problem");
    sizes[3] = -1;
    cr_expect_eq(jg_typical_sizes_set(&problem, sizes, 5), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(),
                     "sizes: entry 3 is -1; give the rows of each group, 0 "
                     "of one without any");
    cr_expect_eq(problem.typical_sizes[0].groups, 0, "untouched on failure");
}

/* By another way than the library's: one group after the other. */
Test(typical_sizes, tiles_and_short_ones_are_those_of_the_groups)
{
    srand(7);
    for (int round = 0; round < 4000; round++) {
        const int64_t step = 2 + rand() % 300, most = 1 + rand() % (int)(step - 1);
        jit_gemm_size_run runs[JIT_GEMM_SIZE_RUNS] = {0};
        int64_t tiles = 0, few = 0;
        for (int i = 0; i < 3; i++) {
            const uint32_t least = (uint32_t)(rand() % 600);
            const uint32_t groups = 1 + (uint32_t)(rand() % 40);
            const uint32_t range = (uint32_t)(rand() % (rand() % 4 == 0 ? 90000 : 500));
            runs[i] =
                (jit_gemm_size_run){groups, least, groups > 1 ? least + range : least};
            for (uint32_t j = 0; j < groups; j++) {
                const int64_t size = size_of(&runs[i], j);
                tiles += ceil_div(size, step);
                few += size % step > 0 && size % step <= most;
            }
        }
        cr_expect_eq(jg_typical_sizes_tiles(runs, step), tiles, "round %d", round);
        cr_expect_eq(jg_typical_sizes_short(runs, step, most), few, "round %d", round);
    }
}

/* Of 256 rows tiles of 256 are full, of 384 those of 128; and no average tells. */
Test(typical_sizes, choice_follows_how_full_tiles_are)
{
    const struct jg_arch *hopper = plan_hopper();
    plan_expect_config(hopper, "m=32768 " BLOCKS "typical_sizes=128x256", "tile=256x128x");
    plan_expect_config(hopper, "m=49152 " BLOCKS "typical_sizes=128x384", "tile=128x192x");
    plan_expect_config(hopper, "m=49152 " BLOCKS "typical_sizes=64x256,64x512",
                       "tile=256x128x");
    /* Of 1024 rows that a group may have, eight. */
    static const char few[] = "m=1024 n=1536 k=4096 a=bf16 groups=128 group_by=counts "
                              "typical_sizes=128x8";
    plan_expect_config(hopper, few, "swap_ab=1");
    plan_expect_config(jg_arch_find("sm_100a"), few, "swap_ab=1");
}

/* Of stacked groups of 64 to 400 rows, on the chip where that was measured. */
Test(typical_sizes, those_that_nobody_gives_go_evenly_about_their_average)
{
    static const struct {
        const char *problem, *sizes;
        bool are_assumed;
    } rows[] = {
        {"m=14080 n=3072 k=2048 a=bf16 groups=64", " typical_sizes=64x165..275", true},
        {"m=49152 " BLOCKS, " typical_sizes=128x288..480", true},
        {"m=384 " BLOCKS "group_by=counts", " typical_sizes=128x72..120", false},
        {"m=60000 " BLOCKS, " typical_sizes=128x351..585", false},
        {"m=18432 " BLOCKS, " typical_sizes=128x132..156", true},
        {"m=7000 " BLOCKS, " typical_sizes=128x47..61", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "%s%s", rows[i].problem, rows[i].sizes);
        const struct jg_choice assumed = plan_choose(plan_hopper(), rows[i].problem);
        const struct jg_choice given = plan_choose(plan_hopper(), text);
        const bool are_alike = assumed.derived.tiles == given.derived.tiles &&
                               assumed.config.layout.tile_m == given.config.layout.tile_m;
        cr_expect_eq(are_alike, rows[i].are_assumed, "%s", text);
    }
    const struct jg_arch *blackwell = jg_arch_find("sm_100a");
    cr_expect_neq(plan_choose(blackwell, "m=11264 n=3072 k=2048 a=bf16 groups=64 "
                                         "config=mma=128x64 cluster=1x1")
                      .derived.tiles,
                  plan_choose(blackwell, "m=11264 n=3072 k=2048 a=bf16 groups=64 "
                                         "typical_sizes=64x132..220 "
                                         "config=mma=128x64 cluster=1x1")
                      .derived.tiles);
}

/* Rows that one transposed tile holds, and no half of it. */
Test(typical_sizes, groups_of_up_to_224_rows_have_a_tile_each)
{
    static const char few[] = "n=1536 k=4096 a=bf16 groups=128 ";
    static const struct {
        const char *sizes, *config;
    } rows[] = {
        {"m=20480 typical_sizes=128x160 ", "tile=128x160x64 cluster=2x1"},
        {"m=20480 typical_sizes=128x140..180 ", "tile=128x192x64 cluster=2x1"},
        {"m=28672 typical_sizes=128x224 ", "tile=128x224x64 cluster=2x1"},
        {"m=28672 typical_sizes=2x240,126x150..220 ", "tile=128x224x64 cluster=2x1"}};
    char text[256];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text), "%s%s", rows[i].sizes, few);
        plan_expect_config(plan_hopper(), text, rows[i].config);
        plan_expect_config(plan_hopper(), text, "swap_ab=1");
    }
    static const char *const others[] = {
        "m=20480 typical_sizes=128x128 n=1536 k=4096 a=bf16 groups=128",
        "m=28672 typical_sizes=16x240,112x150..220 n=1536 k=4096 a=bf16 groups=128",
        BLOCKS "m=20480 typical_sizes=128x160"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cr_expect_eq(plan_choose(plan_hopper(), others[i]).config.layout.swap_ab, 0, "%s",
                     others[i]);
    }
}

/* Weights that stream past few rows come in a long ring, however many rows M has, and with
 * scales of blocks go to the rows of the tensor core. */
Test(typical_sizes, few_rows_are_streamed_past)
{
    static const struct {
        const char *problem, *config;
    } rows[] = {{"m=2048 n=1536 k=4096 a=bf16 groups=128 typical_sizes=128x1", "stages=12"},
                {"m=96 n=1536 k=4096 a=bf16 groups=128 group_by=counts typical_sizes=128x8",
                 "stages=12"},
                {"m=5760 n=1792 k=5120 a=e4m3 d=bf16 a_scale=1x128 b_scale=1x128 groups=96 "
                 "typical_sizes=96x60",
                 "tile=128x64x128 cluster=1x1"},
                {"m=2048 n=4096 k=7168 a=e4m3 d=bf16 a_scale=1x128 b_scale=1x128 groups=32 "
                 "typical_sizes=32x64",
                 "tile=128x64x128 cluster=1x1"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        plan_expect_config(plan_hopper(), rows[i].problem, rows[i].config);
        plan_expect_config(plan_hopper(), rows[i].problem, "swap_ab=1");
    }
}

Test(typical_sizes, groups_without_rows_read_no_weights)
{
    const struct jg_choice all = plan_choose(
        plan_hopper(), "m=128 n=1536 k=4096 a=bf16 groups=128 typical_sizes=128x1");
    const struct jg_choice tenth =
        plan_choose(plan_hopper(),
                    "m=128 n=1536 k=4096 a=bf16 groups=128 typical_sizes=115x0,13x9..10");
    cr_expect_lt(tenth.derived.predicted_us, all.derived.predicted_us / 5.0);
}

Test(typical_sizes, plan_says_what_it_priced)
{
    const struct jg_arch *arch = plan_hopper();
    const struct jg_problem problem =
        plan_problem("m=4096 n=1536 k=4096 a=bf16 groups=8 typical_sizes=2x0,6x100..300");
    const struct jg_device_facts facts = arch->default_facts;
    struct jg_choice choice;
    struct jg_str trace = {0};
    cr_assert_eq(jg_config_choose(arch, &problem, &facts, &choice, &trace), JIT_GEMM_OK);
    cr_expect_neq(strstr(jg_str_text(&trace),
                         ", of 6 groups that typically have 100 to 300 "
                         "rows, 0."),
                  NULL, "%s", jg_str_text(&trace));
    jg_str_free(&trace);
}
