/* SPDX-License-Identifier: MIT */
/* Whole texts: what a compiler writes is read as it is meant, and fast. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "test_ptx_support.h"

static uint32_t count_opcode(const struct ptx_function *function, const char *opcode)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < function->insn_count; i++) {
        count += strcmp(function->insns[i].opcode, opcode) == 0;
    }
    return count;
}

Test(ptx_samples, all_are_accepted)
{
    for (size_t i = 0; i < PTX_SAMPLE_COUNT; i++) {
        ptx_module_free(parse_text(ptx_samples[i]));
    }
}

Test(ptx_samples, kernel_for_sm_90a)
{
    struct ptx_module *module = parse_text(ptx_samples[0]);
    const struct ptx_function *k = ptx_find_function(module, "k");

    cr_expect_eq(module->sm, 90);
    cr_assert_not_null(k);
    cr_expect_eq(module->function_count, 3);
    cr_expect_eq(k->insn_count, 37);
    cr_expect_eq(k->register_count, 2 + 10 + 5 + 12 + 40 + 20 + 1 + 1 + 1);
    cr_expect_eq(k->param_bytes, 260);
    cr_expect_eq(k->local_bytes, 16);
    cr_expect_eq(k->call_param_bytes, 32);
    cr_expect_eq(k->max_threads[0], 384);
    cr_expect_eq(k->required_cluster[0], 2);
    cr_expect_eq(count_opcode(k, "mbarrier.try_wait.parity.shared::cta.b64"), 2);
    cr_expect(ptx_find_function(module, "_Z2fn1Pi")->has_body);
    cr_expect_eq(find_variable(module, "names")->relocation_count, 2);
    ptx_module_free(module);
}

Test(ptx_samples, locations_of_the_kernel_for_sm_90a)
{
    struct ptx_module *module = parse_text(ptx_samples[0]);
    const struct ptx_function *k = ptx_find_function(module, "k");
    static const struct {
        uint32_t insn;
        const char *place;
    } places[] = {
        {0, "a.cu:13"}, {8, "a.cu:12 (helper)"}, {14, "a.cu:21"}, {36, "a.cu:26"}};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct emu_text text = {0};
        ptx_describe_location(module, &k->insns[places[i].insn].location, &text);
        cr_expect_str_eq(emu_text_get(&text), places[i].place, "%s", emu_text_get(&text));
        emu_text_free(&text);
    }
    ptx_module_free(module);
}

Test(ptx_samples, kernel_for_sm_100a)
{
    struct ptx_module *module = parse_text(ptx_samples[1]);

    cr_expect_eq(module->sm, 100);
    cr_expect_eq(module->functions[0].required_threads[0], 192);
    cr_expect_str_eq(show_insn(module, 4), "@%p1 mbarrier.init.shared::cta.b64 [%r1] #1");
    cr_expect_str_eq(show_insn(module, 11),
                     "mbarrier.arrive.expect_tx.shared::cta.b64 _ [%r1] #32768");
    cr_expect_str_eq(show_insn(module, 12),
                     "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global"
                     ".mbarrier::complete_tx::bytes.L2::cache_hint "
                     "[%r1] tensor [%rd2] at {%r4,%r5} [%r3] %rd3");
    cr_expect_str_eq(show_insn(module, 14),
                     "tcgen05.mma.cta_group::2.kind::f16 [%r7] %rd4 %rd5 %r8 p");
    cr_expect_str_eq(show_insn(module, 27),
                     "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 "
                     "{%r30,%r31,%r32,_} %rq0");
    ptx_module_free(module);
}

/* Processor time of parsing a text of so many bytes or a little more: the best of some. */
static double time_of_parsing(size_t bytes)
{
    const char *sample = ptx_samples[1];
    const char *entry = strstr(sample, ".visible");
    const char *name = strstr(entry, "gemm");
    struct emu_text text = {0};
    emu_text_add(&text, "%.*s", (int)(entry - sample), sample);
    unsigned copies = 0;
    while (text.length < bytes) {
        emu_text_add(&text, "%.*s_%u%s", (int)(name - entry) + 4, entry, copies++,
                     name + 4);
    }
    double best = HUGE_VAL;
    for (int i = 0; i < 5; i++) {
        struct emu_error error = {0};
        const clock_t start = clock();
        struct ptx_module *module = ptx_parse(text.text, text.length, &error);
        best = fmin(best, (double)(clock() - start));
        cr_assert_not_null(module, "%s", error.text);
        cr_expect_eq(module->function_count, copies);
        ptx_module_free(module);
    }
    emu_text_free(&text);
    return best;
}

/* A quadratic parser takes 64 times as long. */
Test(ptx_samples, eight_times_the_text_takes_no_square_of_the_time)
{
    const double small = time_of_parsing(100000);
    const double large = time_of_parsing(800000);

    cr_expect_lt(large, 24 * small, "%.0f and %.0f clocks", small, large);
}
