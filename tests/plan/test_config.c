/* SPDX-License-Identifier: MIT */
/* The text form of a config: parse, print, and every message. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/arch.h"
#include "plan/text.h"

static struct jg_config_override parse(const char *text)
{
    struct jg_config_override override;
    memset(&override, 0, sizeof(override));
    cr_assert_eq(jg_config_parse(text, &override), JIT_GEMM_OK, "%s: %s", text,
                 jg_error_text());
    return override;
}

/* What the chip prints, in its order. */
static const char *keys_of(const char *arch)
{
    return jg_arch_find(arch)->config_keys;
}

Test(config, whole_text_sets_everything)
{
    static const char text[] = "kernel=gemm tile=128x256x64 cluster=2x1 stages=4 raster=n "
                               "raster_group=16 out_stages=1 pdl=0 split_k=1";

    const struct jg_config_override override = parse(text);

    cr_expect_eq(override.values.kernel, JG_KERNEL_GEMM);
    cr_expect_eq(override.values.layout.tile_m, 128);
    cr_expect_eq(override.values.layout.tile_n, 256);
    cr_expect_eq(override.values.layout.tile_k, 64);
    cr_expect_eq(override.values.layout.cluster_m, 2);
    cr_expect_eq(override.values.layout.cluster_n, 1);
    cr_expect_eq(override.values.pipeline.stages, 4);
    cr_expect_eq(override.values.launch.raster, JG_RASTER_ALONG_N);
    cr_expect_eq(override.values.launch.raster_group, 16);
    cr_expect_eq(override.values.storage.out_stages, 1);
    cr_expect_eq(override.values.launch.pdl, 0);
    cr_expect(override.has_kernel && override.has_tile && override.has_tile_k &&
              override.has_cluster && override.has_stages && override.has_raster &&
              override.has_raster_group && override.has_out_stages && override.has_pdl);

    struct jg_str printed = {0};
    jg_config_print(&override.values, keys_of("sm_90a"), &printed);
    cr_expect_str_eq(jg_str_text(&printed), text);
    jg_str_free(&printed);
}

Test(config, chips_with_accumulators_of_their_own_name_the_mma)
{
    static const char text[] =
        "kernel=gemm mma=256x192 cta_group=2 cluster=4x1 "
        "scheduler=clc k_group=2 stages=6 "
        "acc_stages=1 raster=m raster_group=2 out_stages=2 pdl=1 split_k=1";

    const struct jg_config_override override = parse(text);

    cr_expect_eq(override.values.layout.mma_m, 256);
    cr_expect_eq(override.values.layout.mma_n, 192);
    cr_expect_eq(override.values.layout.cta_group, 2);
    cr_expect_eq(override.values.launch.scheduler, JG_SCHEDULER_CLC);
    cr_expect_eq(override.values.pipeline.k_group, 2);
    cr_expect_eq(override.values.storage.acc_stages, 1);
    cr_expect(override.has_scheduler && override.has_k_group && override.has_mma &&
              override.has_cta_group && override.has_acc_stages && !override.has_tile &&
              !override.has_tile_k);
    struct jg_str printed = {0};
    jg_config_print(&override.values, keys_of("sm_100a"), &printed);
    cr_expect_str_eq(jg_str_text(&printed), text);
    jg_str_free(&printed);
}

Test(config, prefetch_is_printed_where_an_operand_has_it)
{
    static const char text[] =
        "kernel=gemm mma=256x128 cta_group=2 cluster=2x1 scheduler=clc k_group=1 stages=6 "
        "acc_stages=1 raster=m raster_group=2 out_stages=2 pdl=1 split_k=1 prefetch=b";

    struct jg_config_override override = parse(text);

    cr_expect(override.has_prefetch);
    cr_expect_eq(override.values.pipeline.prefetch, JG_PREFETCH_B);
    struct jg_str printed = {0};
    jg_config_print(&override.values, keys_of("sm_100a"), &printed);
    cr_expect_str_eq(jg_str_text(&printed), text);
    jg_str_free(&printed);
    override = parse("prefetch=none");
    jg_config_print(&override.values, keys_of("sm_100a"), &printed);
    cr_expect_null(strstr(jg_str_text(&printed), "prefetch"), "%s", jg_str_text(&printed));
    jg_str_free(&printed);
}

Test(config, instruments_are_printed_where_they_are_on)
{
    static const char text[] =
        "kernel=gemm tile=128x256x64 cluster=2x1 stages=4 raster=n "
        "raster_group=16 out_stages=1 pdl=0 split_k=1 debug=1 trace=1 lineinfo=1";

    struct jg_config_override override = parse(text);

    cr_expect(override.has_debug && override.has_trace && override.has_lineinfo);
    struct jg_str printed = {0};
    jg_config_print(&override.values, keys_of("sm_90a"), &printed);
    cr_expect_str_eq(jg_str_text(&printed), text);
    jg_str_free(&printed);
    override.values.launch.debug = override.values.launch.trace = 0;
    override.values.launch.lineinfo = 0;
    jg_config_print(&override.values, keys_of("sm_90a"), &printed);
    cr_expect_null(strstr(jg_str_text(&printed), "debug"));
    cr_expect_null(strstr(jg_str_text(&printed), "trace"));
    cr_expect_null(strstr(jg_str_text(&printed), "lineinfo"));
    jg_str_free(&printed);
}

Test(config, parts_of_k_are_printed_and_their_order_where_there_are_several)
{
    static const char text[] =
        "kernel=gemm mma=256x128 cta_group=2 cluster=2x1 scheduler=static k_group=1 stages=6 "
        "acc_stages=1 raster=m raster_group=2 out_stages=2 pdl=1 split_k=4 "
        "split_order=unordered";

    struct jg_config_override override = parse(text);

    cr_expect(override.has_split_k && override.has_split_order);
    cr_expect_eq(override.values.launch.split_k, 4);
    cr_expect_eq(override.values.launch.split_order, JG_SPLIT_UNORDERED);
    struct jg_str printed = {0};
    jg_config_print(&override.values, keys_of("sm_100a"), &printed);
    cr_expect_str_eq(jg_str_text(&printed), text);
    jg_str_free(&printed);
    override.values.launch.split_k = 1;
    jg_config_print(&override.values, keys_of("sm_100a"), &printed);
    cr_expect_not_null(strstr(jg_str_text(&printed), " pdl=1 split_k=1"), "%s",
                       jg_str_text(&printed));
    cr_expect_null(strstr(jg_str_text(&printed), "split_order"), "%s",
                   jg_str_text(&printed));
    jg_str_free(&printed);
}

Test(config, transposed_product_is_printed_where_it_is_made)
{
    static const char text[] =
        "kernel=gemm mma=128x32 cta_group=2 cluster=2x1 scheduler=clc k_group=1 stages=6 "
        "acc_stages=1 raster=m raster_group=2 out_stages=2 pdl=1 split_k=1 swap_ab=1";

    struct jg_config_override override = parse(text);

    cr_expect(override.has_swap_ab);
    cr_expect_eq(override.values.layout.swap_ab, 1);
    struct jg_str printed = {0};
    jg_config_print(&override.values, keys_of("sm_100a"), &printed);
    cr_expect_str_eq(jg_str_text(&printed), text);
    jg_str_free(&printed);
    override.values.layout.swap_ab = 0;
    jg_config_print(&override.values, keys_of("sm_100a"), &printed);
    cr_expect_null(strstr(jg_str_text(&printed), "swap"), "%s", jg_str_text(&printed));
    jg_str_free(&printed);
}

Test(config, keys_of_another_chip_are_refused_by_name)
{
    static const char keys[] = "kernel mma cluster";
    const struct jg_config_override good = parse("cluster=2x1 mma=128x128 kernel=gemm");
    const struct jg_config_override bad = parse("mma=128x128 stages=3");

    cr_expect_eq(jg_config_check_keys(&good, "sm_0", keys), JIT_GEMM_OK);
    cr_expect_eq(jg_config_check_keys(&bad, "sm_0", keys), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_str_eq(jg_error_text(),
                     "problem.config: 'stages' is a key of another architecture than sm_0; "
                     "keys of sm_0: kernel mma cluster");
}

Test(config, keys_that_chips_print_are_keys)
{
    for (int i = 0; jg_arch_at(i) != NULL; i++) {
        size_t offset = 0;
        struct jg_word word;
        while (jg_word_next(jg_arch_at(i)->config_keys, &offset, &word)) {
            struct jg_config_override override;
            char text[64];
            snprintf(text, sizeof(text), "%.*s=?", (int)word.key_size, word.key);

            cr_expect_eq(jg_config_parse(text, &override), JIT_GEMM_ERR_ARGUMENT);
            cr_expect_not_null(strstr(jg_error_text(), "is no value of"), "%s: %s",
                               jg_arch_at(i)->name, jg_error_text());
        }
    }
}

Test(config, empty_text_sets_nothing)
{
    static const struct jg_config_override nothing;

    const struct jg_config_override empty = parse("");
    const struct jg_config_override blank = parse(" \t\n");

    cr_expect_eq(memcmp(&empty, &nothing, sizeof(nothing)), 0);
    cr_expect_eq(memcmp(&blank, &nothing, sizeof(nothing)), 0);
}

Test(config, old_words_are_read_and_printed_as_the_new_ones)
{
    static const struct {
        const char *old, *now;
    } rows[] = {
        {"swizzle=8", "raster_group=8"},
        {"split_order=turnstile", "split_order=serial"},
        {"split_order=arrival", "split_order=unordered"},
        {"pdl=1 swizzle=2 raster=m", "raster=m raster_group=2 pdl=1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct jg_config_override override = parse(rows[i].old);
        struct jg_str text = {0};

        jg_config_print_override(&override, &text);

        cr_expect_str_eq(jg_str_text(&text), rows[i].now);
        jg_str_free(&text);
    }
}

Test(config, tile_may_leave_k_out)
{
    const struct jg_config_override override = parse("tile=64x128");

    cr_expect_eq(override.has_tile, 1);
    cr_expect_eq(override.has_tile_k, 0);
    cr_expect_eq(override.values.layout.tile_n, 128);
}

Test(config, reference_prints_alone)
{
    const struct jg_config config = {.kernel = JG_KERNEL_REFERENCE};
    struct jg_str text = {0};

    jg_config_print(&config, "kernel tile", &text);

    cr_expect_str_eq(jg_str_text(&text), "kernel=reference");
    cr_expect_eq(parse(jg_str_text(&text)).values.kernel, JG_KERNEL_REFERENCE);
    jg_str_free(&text);
}

Test(config, override_prints_in_one_order_and_parses_back)
{
    static const char *const texts[] = {
        "",
        "kernel=reference",
        "kernel=gemm",
        "tile=128x256",
        "tile=128x256x64",
        "cluster=1x2",
        "stages=7",
        "raster=m",
        "raster=n",
        "raster_group=4",
        "out_stages=2",
        "pdl=0",
        "mma=256x128",
        "cta_group=2",
        "acc_stages=1",
        "split_k=64",
        "split_order=serial",
        "split_order=unordered",
        "split_order=cluster",
        "split_k=2 split_tail=74",
        "split_order=parallel",
        "swap_ab=0",
        "swap_ab=1",
        "tile=64x128 stages=8 pdl=1",
        "kernel=gemm mma=256x256 cta_group=2 cluster=4x1 stages=5 acc_stages=2 raster_group=4",
        "kernel=gemm cluster=2x1 raster=m raster_group=1 out_stages=1",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct jg_config_override override = parse(texts[i]);
        struct jg_str text = {0};
        jg_config_print_override(&override, &text);
        cr_expect_str_eq(jg_str_text(&text), texts[i]);
        jg_str_free(&text);
    }
    const struct jg_config_override shuffled = parse("pdl=1  stages=8\ttile=64x128");
    struct jg_str text = {0};
    jg_config_print_override(&shuffled, &text);
    cr_expect_str_eq(jg_str_text(&text), "tile=64x128 stages=8 pdl=1");
    jg_str_free(&text);
}

Test(config, every_message)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"stages",
         "config: 'stages' at column 1 is not of the form key=value; keys: kernel "
         "tile mma cta_group pingpong k_turns cluster scheduler k_group stages acc_stages "
         "epilogue_warps raster raster_group out_stages pdl resident split_k split_order split_tail cluster_k prefetch repack group_maps row_boxes swap_ab debug trace"},
        {"split_k=0",
         "config: '0' at column 9 is no value of 'split_k'; give a number from "
         "1 to 64"},
        {"split_k=65", "config: '65' at column 9 is no value of 'split_k'"},
        {"split_tail=1",
         "config: '1' at column 12 is no value of 'split_tail'; give the cluster tiles of a "
         "wave, from 2 to 1024"},
        {"split_order=any", "config: 'any' at column 13 is no value of 'split_order'; give "
                            "serial, unordered, cluster or parallel"},
        {"split_k=1 split_order=parallel",
         "config: split_order=parallel says how parts of K are added up, and split_k=1 makes "
         "none; leave split_order out, or give split_k=2 or more"},
        {"split_order=cluster split_k=1",
         "config: split_order=cluster says how parts of K"},
        {"cluster_k=16",
         "config: cluster_k=16 says how many of the parts of K a cluster has, and split_k "
         "says how many there are; give split_k=, a multiple of it, or leave cluster_k out"},
        {"resident=3", "config: '3' at column 10 is no value of 'resident'; give 1 or 2"},
        {"swap_ab=2", "config: '2' at column 9 is no value of 'swap_ab'; give 0 or 1"},
        {"stages=4 warp=3", "config: unknown key 'warp' at column 10; keys: kernel tile "},
        {"mma=256", "config: '256' at column 5 is no value of 'mma'; give MxN"},
        {"mma=256x256x64", "config: '256x256x64' at column 5 is no value of 'mma'"},
        {"cta_group=4", "config: '4' at column 11 is no value of 'cta_group'; give 1 or 2"},
        {"acc_stages=0", "config: '0' at column 12 is no value of 'acc_stages'; give 1 or "
                         "2"},
        {"epilogue_warps=6", "config: '6' at column 16 is no value of 'epilogue_warps'; "
                             "give 4 or 8"},
        {"=4", "config: unknown key '' at column 1"},
        {"stages=4 stages=4", "config: key 'stages' at column 10 is given twice; give each "
                              "key once"},
        {"kernel=fast", "config: 'fast' at column 8 is no value of 'kernel'; give gemm or "
                        "reference"},
        {"tile=128", "config: '128' at column 6 is no value of 'tile'; give MxN or MxNxK"},
        {"tile=128x", "config: '128x' at column 6 is no value of 'tile'"},
        {"tile=128x256x64x1", "config: '128x256x64x1' at column 6 is no value of 'tile'"},
        {"tile=0x256", "config: '0x256' at column 6 is no value of 'tile'"},
        {"tile=99999x1", "config: '99999x1' at column 6 is no value of 'tile'"},
        {"tile=-1x1", "config: '-1x1' at column 6 is no value of 'tile'"},
        {"cluster=2", "config: '2' at column 9 is no value of 'cluster'; give MxN"},
        {"cluster=2x1x1", "config: '2x1x1' at column 9 is no value of 'cluster'"},
        {"cluster=0x1", "config: '0x1' at column 9 is no value of 'cluster'"},
        {"cluster=17x1", "config: '17x1' at column 9 is no value of 'cluster'"},
        {"scheduler=dynamic", "config: 'dynamic' at column 11 is no value of 'scheduler'; "
                              "give single, static or clc"},
        {"scheduler=", "config: '' at column 11 is no value of 'scheduler'"},
        {"k_group=3", "config: '3' at column 9 is no value of 'k_group'; give 1, 2 or 4"},
        {"k_group=8", "config: '8' at column 9 is no value of 'k_group'"},
        {"k_group=0", "config: '0' at column 9 is no value of 'k_group'"},
        {"prefetch=ab",
         "config: 'ab' at column 10 is no value of 'prefetch'; give none, a or b"},
        {"prefetch=1", "config: '1' at column 10 is no value of 'prefetch'"},
        {"stages=",
         "config: '' at column 8 is no value of 'stages'; give a number from 1 to "
         "64"},
        {"stages=0", "config: '0' at column 8 is no value of 'stages'"},
        {"stages=65", "config: '65' at column 8 is no value of 'stages'"},
        {"stages=4.0", "config: '4.0' at column 8 is no value of 'stages'"},
        {"stages=99999999999999999999", "config: '99999999999999999999' at column 8 is no"},
        {"raster=k", "config: 'k' at column 8 is no value of 'raster'; give m or n"},
        {"raster=mn", "config: 'mn' at column 8 is no value of 'raster'"},
        {"raster_group=3",
         "config: '3' at column 14 is no value of 'raster_group'; give 1, 2, 4, 8 or "
         "16"},
        {"raster_group=32", "config: '32' at column 14 is no value of 'raster_group'"},
        {"raster_group=0", "config: '0' at column 14 is no value of 'raster_group'"},
        {"out_stages=6",
         "config: '6' at column 12 is no value of 'out_stages'; give 1 or 2, up to 5 with "
         "d_scale"},
        {"swizzle=3", "config: '3' at column 9 is no value of 'swizzle'; give 1, 2, 4, 8"},
        {"swizzle=2 raster_group=2",
         "config: key 'raster_group' at column 11 is given twice; give each key once"},
        {"raster_group=2 swizzle=2", "config: key 'swizzle' at column 16 is given twice"},
        {"repack=",
         "config: '' at column 8 is no value of 'repack'; give none, a, b or ab"},
        {"repack=ba", "config: 'ba' at column 8 is no value of 'repack'"},
        {"group_maps=2",
         "config: '2' at column 12 is no value of 'group_maps'; give 0 or 1"},
        {"row_boxes=2", "config: '2' at column 11 is no value of 'row_boxes'; give 0 or 1"},
        {"pdl=2", "config: '2' at column 5 is no value of 'pdl'; give 0 or 1"},
        {"pdl=yes", "config: 'yes' at column 5 is no value of 'pdl'"},
        {"kernel=reference stages=4", "config: kernel=reference takes no other key; leave "
                                      "the other keys out, or give kernel=gemm"},
        {"pdl=1 kernel=reference", "config: kernel=reference takes no other key"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_config_override override;
        memset(&override, 0x5a, sizeof(override));
        const struct jg_config_override before = override;

        cr_expect_eq(jg_config_parse(rows[i].text, &override), JIT_GEMM_ERR_ARGUMENT, "%s",
                     rows[i].text);
        cr_expect_eq(strncmp(jg_error_text(), rows[i].message, strlen(rows[i].message)), 0,
                     "'%s'\nexpected '%s...'\n     got '%s'", rows[i].text, rows[i].message,
                     jg_error_text());
        cr_expect_eq(memcmp(&override, &before, sizeof(before)), 0, "untouched on failure");
    }
}
