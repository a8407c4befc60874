/* SPDX-License-Identifier: MIT */
/* Launch control: running clusters take over the work of those that were not launched. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_async_support.h"

/*
 * A persistent cluster: every CTA adds 1 to out[ctaid] for each piece of work. CTA 0 of the
 * cluster asks for the next piece while it works. %r10: x of the work's first CTA; %r11:
 * the CTA's rank; %rd10: generic address of the mbarrier, %rd11: of the response.
 */
#define START                                                                \
    "cvt.u64.u32 %rd10, %r1;\ncvta.shared.u64 %rd10, %rd10;\n"               \
    "add.u64 %rd11, %rd10, 16;\nmov.u32 %r11, %cluster_ctarank;\n"           \
    "mov.u32 %r10, %ctaid.x;\nsub.u32 %r10, %r10, %r11;\nmov.u32 %r13, 0;\n" \
    "setp.eq.u32 %p2, %r11, 0;\nand.pred %p3, %p2, %p0;\n"
#define WORK                                                   \
    "add.u32 %r14, %r10, %r11;\nmul.wide.u32 %rd2, %r14, 4;\n" \
    "add.u64 %rd2, %rd2, %rd0;\n@%p0 red.global.add.u32 [%rd2], 1;\n"
#define PERSISTENT(cancel, query)                                                     \
    KERNEL(INIT(0, 1) START                                                           \
           "NEXT:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"                  \
           "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n"           \
           "@%p3 " cancel WORK                                                        \
           "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], %r13;\n"         \
           "@!%p4 bra W;\nxor.b32 %r13, %r13, 1;\nld.shared.b128 %q0, [%r1+16];\n"    \
           "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p5, %q0;\n"      \
           "@!%p5 bra END;\n" query                                                   \
           "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n" \
           "bra NEXT;\nEND:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n")
#define CANCEL                                                                        \
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes." \
    "multicast::cluster::all.b128 [%r1+16], [%r1];\n"
#define QUERY "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r10, %q0;\n"

static void expect_each_once(const char *ptx, uint32_t ctas, uint32_t cluster_ctas,
                             const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found[64] = {0};
    uint64_t out = async_open(&h, ptx, sizeof(found));
    emu_memory_write(h.memory, out, found, sizeof(found));
    h.settings = *settings;
    cr_expect(harness_run_clusters(&h, ctas, 64, cluster_ctas), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, found, sizeof(found));
    for (uint32_t i = 0; i < ctas; i++) {
        cr_expect_eq(found[i], 1, "the work of CTA %u was done %u times", i, found[i]);
    }
    harness_close(&h);
}

static void run_pairs(const struct emu_settings *settings)
{
    for (unsigned resident = 0; resident < 3; resident++) {
        struct emu_settings changed = *settings;
        changed.resident = resident;
        expect_each_once(PERSISTENT(CANCEL, QUERY), 12, 2, &changed);
    }
}

Test(async_launch_control, every_cluster_is_launched_or_taken_over_once)
{
    async_in_all_modes(run_pairs);
}

Test(async_launch_control, whole_grid_resident_refuses_at_once)
{
    struct emu_settings settings = emu_settings_default();
    settings.threads = 1;
    settings.resident = 64;
    expect_each_once(PERSISTENT(CANCEL, QUERY), 12, 2, &settings);
}

Test(async_launch_control, early_refusals_leave_the_rest_to_the_launch)
{
    struct emu_settings settings = emu_settings_default();
    settings.threads = 1;
    settings.resident = 2;
    for (unsigned refuse = 25; refuse <= 100; refuse += 25) {
        settings.refuse = refuse;
        expect_each_once(PERSISTENT(CANCEL, QUERY), 16, 2, &settings);
    }
}

Test(async_launch_control, response_for_one_cta_and_the_vector_query)
{
    struct emu_settings settings = emu_settings_default();
    settings.threads = 1;
    settings.resident = 1;
    expect_each_once(
        PERSISTENT(
            "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 "
            "[%rd11], [%rd10];\n",
            "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r10, "
            "%r21, _, _}, %q0;\n"),
        9, 1, &settings);
}

Test(async_launch_control, ctaid_of_a_three_dimensional_grid)
{
    /* One cluster of 2 x 1 x 1 is launched; it writes the ctaid of the next one. */
    struct harness h;
    uint32_t found[3] = {9, 9, 9};
    uint64_t out = async_open(
        &h,
        KERNEL(INIT(
            0, 1) "mov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %ctaid.z;\nor.b32 %r2, %r2, "
                  "%r3;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra END;\n"
                  "mov.u32 %r11, %cluster_ctarank;\nsetp.eq.u32 %p2, %r11, 0;\n"
                  "@!%p2 bra END;\n@!%p0 bra END;\n"
                  "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;\n"
                  "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::"
                  "complete_tx::bytes.b128 [%r1+16], [%r1];\n" WAIT(
                      "W", 0,
                      0) "ld.shared.b128 %q0, [%r1+16];\n"
                         "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 "
                         "%r4, %q0;\nst.global.u32 [%rd0+4], %r4;\n"
                         "clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 "
                         "%r4, %q0;\nst.global.u32 [%rd0+8], %r4;\n"
                         "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 "
                         "%r4, %q0;\nst.global.u32 [%rd0], %r4;\nEND:\n"),
        sizeof(found));
    h.settings.resident = 1;
    const struct emu_launch launch = {.program = h.program,
                                      .settings = h.settings,
                                      .memory = h.memory,
                                      .reports = h.reports,
                                      .grid = {2, 1, 2},
                                      .block = {32, 1, 1},
                                      .cluster = {2, 1, 1},
                                      .dynamic_shared_bytes = 1024,
                                      .params = h.params,
                                      .param_bytes = h.param_bytes,
                                      .sm_count = 148};
    cr_expect(emu_grid_run(&launch, NULL), "%s", harness_text(&h));
    harness_read(&h, out, found, sizeof(found));
    cr_expect_eq(found[0], 0);
    cr_expect_eq(found[1], 0);
    cr_expect_eq(found[2], 1);
    harness_close(&h);
}

static void expect_error(const char *ptx, enum emu_finding finding, const char *words)
{
    struct harness h;
    async_open(&h, ptx, 64);
    h.settings.async = EMU_ASYNC_LATEST;
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, finding, words);
    harness_close(&h);
}

#define ASK(offset)                                                                        \
    "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;\n"                            \
    "@%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes." \
    "b128 [%r1+" #offset "], [%r1];\n"

Test(async_launch_control, misuse_is_named)
{
    expect_error(KERNEL(INIT(0, 1) ASK(24)), EMU_FINDING_MISALIGNED,
                 "not a multiple of 16");
    expect_error(
        KERNEL(INIT(0, 1) ASK(16) WAIT(
            "W", 0,
            0) "ld.shared.b128 %q0, [%r1+16];\n"
               "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q0;\n" ASK(
                   16)),
        EMU_FINDING_ILLEGAL, "after this CTA has seen one refused");
    /* Of a refused request there is no ctaid. */
    expect_error(
        KERNEL(INIT(0, 1) ASK(16) WAIT(
            "W", 0, 0) "ld.shared.b128 %q0, [%r1+16];\n"
                       "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r2, "
                       "%q0;\nst.global.u32 [%rd0], %r2;\n"),
        EMU_FINDING_UNDEFINED, "undefined");
    expect_error(
        KERNEL("mov.b128 %q0, {%rd0, %rd0};\n"
               "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q0;\n"),
        EMU_FINDING_ILLEGAL, "no response of try_cancel");
    expect_error(
        KERNEL(INIT(0, 1) ASK(
            16) "bar.sync 0;\nld.shared.b128 %q0, [%r1+16];\n"
                "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q0;\n"),
        EMU_FINDING_UNDEFINED, "");
}
