/* SPDX-License-Identifier: MIT */
/* What becomes of a kernel after a finding: which end it, which do not, and which are
 * allowed. */
#include <criterion/criterion.h>
#include <string.h>

#include "exec/settings.h"
#include "test_async_support.h"

/* Thread 0 of two warps, with nothing between them: shared memory, then global memory. */
#define TWO_RACES                                                                       \
    KERNEL("and.b32 %r2, %r0, 31;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra END;\n"           \
           "st.shared.u32 [%r1], %r0;\nst.global.u32 [%rd0], %r0;\nEND:\nbar.sync 0;\n" \
           "@%p0 st.global.u32 [%rd0+4], 77;\n")

Test(async_findings, kernel_goes_on_behind_races_and_each_of_them_is_told)
{
    struct harness h;
    uint32_t found[2];
    uint64_t out = async_open(&h, TWO_RACES, 8);

    cr_expect_not(harness_run(&h, 1, 64));

    harness_read(&h, out, found, sizeof(found));
    cr_expect_eq(found[1], 77);
    cr_expect_eq(harness_found(&h, EMU_FINDING_RACE), 2, "%s", harness_text(&h));
    async_expect_error(&h, EMU_FINDING_RACE, "of shared memory");
    async_expect_error(&h, EMU_FINDING_RACE, " out, and nothing orders them");
    harness_close(&h);
}

static void allow(struct harness *h, const char *text)
{
    struct emu_error error = {0};
    cr_assert(emu_settings_parse(&h->settings, text, &error), "%s", error.text);
}

Test(async_findings, allowed_kind_is_advice_and_the_launch_succeeds)
{
    struct harness h;
    uint32_t found[2];
    uint64_t out = async_open(&h, TWO_RACES, 8);
    allow(&h, "allow=race");

    cr_expect(harness_run(&h, 1, 64), "%s", harness_text(&h));

    async_expect_clean(&h);
    harness_read(&h, out, found, sizeof(found));
    cr_expect_eq(found[1], 77);
    cr_expect_eq(harness_found(&h, EMU_FINDING_RACE), 2, "%s", harness_text(&h));
    harness_close(&h);
}

/* A copy that is waited for, at an mbarrier that no fence made visible to it. */
#define UNPUBLISHED                                                                    \
    KERNEL("@!%p0 bra END;\nmbarrier.init.shared::cta.b64 [%r1+64], 1;\n"              \
           "mbarrier.arrive.expect_tx.shared.b64 _, [%r1+64], 16;\n"                   \
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], " \
           "[%rd0], 16, [%r1+64];\n" WAIT(                                             \
               "W", 64,                                                                \
               0) "ld.shared.u32 %r2, [%r1];\nst.global.u32 [%rd0+16], %r2;\nEND:\n")

static bool run_unpublished(struct harness *h, const char *settings, uint32_t *ret_copied)
{
    const uint32_t values[5] = {42, 43, 44, 45, 0};
    uint64_t out = async_open(h, UNPUBLISHED, sizeof(values));
    emu_memory_write(h->memory, out, values, sizeof(values));
    allow(h, settings);
    bool good = harness_run(h, 1, 32);
    harness_read(h, out + 16, ret_copied, sizeof(*ret_copied));
    return good;
}

Test(async_findings, barrier_without_its_fence_is_allowed_by_name_and_its_copy_comes)
{
    struct harness h;
    uint32_t copied = 0;
    cr_expect_not(run_unpublished(&h, "allow=race,tensor-fence", &copied));
    async_expect_error(&h, EMU_FINDING_PROXY_FENCE, "fence.mbarrier_init");
    harness_close(&h);
    cr_expect(run_unpublished(&h, "allow=race,proxy-fence,seed=3", &copied), "%s",
              harness_text(&h));
    async_expect_clean(&h);
    cr_expect_eq(copied, 42);
    cr_expect_eq(harness_found(&h, EMU_FINDING_PROXY_FENCE), 1, "%s", harness_text(&h));
    harness_close(&h);
}

Test(async_findings, lanes_that_make_one_mbarrier_alike_pass_with_advice)
{
    struct harness h;
    async_open(
        &h,
        KERNEL("mbarrier.init.shared::cta.b64 [%r1], 1;\n"
               "@%p0 mbarrier.arrive.shared::cta.b64 %rd2, [%r1];\n" WAIT("W", 0, 0)),
        4);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    cr_expect_eq(harness_found(&h, EMU_FINDING_RACE), 1, "%s", harness_text(&h));
    harness_close(&h);
    async_open(
        &h, KERNEL("add.u32 %r2, %r0, 1;\nmbarrier.init.shared::cta.b64 [%r1], %r2;\n"), 4);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_BARRIER, "while it is alive");
    harness_close(&h);
}

Test(async_findings, only_kinds_that_a_kernel_can_go_on_behind_may_be_allowed)
{
    struct emu_settings settings = emu_settings_default();
    struct emu_error error = {0};
    struct emu_text text = {0};

    cr_expect(emu_settings_parse(&settings, "allow=race,proxy-fence,seed=7", &error));
    cr_expect(emu_settings_parse(&settings, "allow=tensor-fence", &error));
    emu_settings_print(&settings, &text);
    cr_expect_not_null(strstr(emu_text_get(&text), "seed=7,"), "%s", emu_text_get(&text));
    cr_expect_not_null(strstr(emu_text_get(&text), ",allow=race,proxy-fence,tensor-fence"),
                       "%s", emu_text_get(&text));
    struct emu_settings again = emu_settings_default();
    cr_expect(emu_settings_parse(&again, emu_text_get(&text), &error), "%s", error.text);
    cr_expect_eq(again.allowed, settings.allowed);
    emu_text_free(&text);

    cr_expect_not(emu_settings_parse(&settings, "allow=deadlock", &error));
    cr_expect_not_null(strstr(error.text, "one of race, lane-order, proxy-fence"), "%s",
                       error.text);
    error = (struct emu_error){0};
    cr_expect_not(emu_settings_parse(&settings, "seed=3,race", &error));
    cr_expect_not_null(strstr(error.text, "`race` is not of the form"), "%s", error.text);
}
