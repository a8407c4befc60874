/* SPDX-License-Identifier: MIT */
/* Launch control: running clusters take over the work of those that were not launched. */
#include <criterion/criterion.h>
#include <pthread.h>
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
#define PERSISTENT_WITH(work, cancel, query)                                          \
    KERNEL(INIT(0, 1) START                                                           \
           "NEXT:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"                  \
           "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n"           \
           "@%p3 " cancel work                                                        \
           "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], %r13;\n"         \
           "@!%p4 bra W;\nxor.b32 %r13, %r13, 1;\nld.shared.b128 %q0, [%r1+16];\n"    \
           "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p5, %q0;\n"      \
           "@!%p5 bra END;\n" query                                                   \
           "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n" \
           "bra NEXT;\nEND:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n")
#define PERSISTENT(cancel, query) PERSISTENT_WITH(WORK, cancel, query)
#define CANCEL                                                                        \
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes." \
    "multicast::cluster::all.b128 [%r1+16], [%r1];\n"
#define QUERY "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r10, %q0;\n"

#define ASK(offset)                                                                        \
    "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;\n"                            \
    "@%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes." \
    "b128 [%r1+" #offset "], [%r1];\n"

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

/* Clusters that meet nowhere but at launch control; who does a piece of work writes its own
 * ctaid there. */
static const char alone[] = PERSISTENT_WITH(
    "mov.u32 %r15, %ctaid.x;\nadd.u32 %r14, %r10, %r11;\nmul.wide.u32 %rd2, %r14, 4;\n"
    "add.u64 %rd2, %rd2, %rd0;\n@%p0 st.global.u32 [%rd2], %r15;\n",
    CANCEL, QUERY);

static void find_who(unsigned threads, uint64_t seed, uint32_t *ret_who)
{
    struct harness h;
    memset(ret_who, 0xFF, 24 * sizeof(*ret_who));
    uint64_t out = async_open(&h, alone, 24 * sizeof(*ret_who));
    emu_memory_write(h.memory, out, ret_who, 24 * sizeof(*ret_who));
    h.settings.threads = threads;
    h.settings.seed = seed;
    cr_expect(harness_run_clusters(&h, 24, 64, 2), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, ret_who, 24 * sizeof(*ret_who));
    harness_close(&h);
}

Test(async_launch_control, who_takes_what_over_depends_on_the_seed_and_not_on_host_threads)
{
    uint32_t first[24], who[24];
    bool differ = false;
    find_who(1, 0, first);

    for (uint64_t seed = 0; seed < 8; seed++) {
        uint32_t one[24];
        find_who(1, seed, one);
        find_who(3, seed, who);
        cr_expect_arr_eq(who, one, sizeof(who));
        differ = differ || memcmp(first, one, sizeof(one)) != 0;
        for (uint32_t i = 0; i < 24; i++) {
            cr_expect(who[i] <= i && who[i] % 2 == i % 2, "CTA %u did the work of %u",
                      who[i], i);
        }
    }

    cr_expect(differ);
}

/* The threads that have asked for the grid before, of which there is none. */
struct callers {
    pthread_mutex_t lock;
    pthread_t first;
    bool one, two;
};

static bool two_threads_asked(void *context)
{
    struct callers *callers = context;
    pthread_mutex_lock(&callers->lock);
    if (!callers->one) {
        callers->first = pthread_self();
        callers->one = true;
    }
    callers->two |= pthread_equal(callers->first, pthread_self()) == 0;
    bool two = callers->two;
    pthread_mutex_unlock(&callers->lock);
    return two;
}

/* Each cluster waits until another thread has run one too: on one thread that is a
 * deadlock. */
Test(async_launch_control, clusters_that_share_nothing_else_run_on_several_host_threads)
{
    struct harness h;
    struct callers callers = {.lock = PTHREAD_MUTEX_INITIALIZER};
    async_open(&h, KERNEL("griddepcontrol.wait;\n" INIT(0, 1) ASK(16) WAIT("W", 0, 0)), 4);
    h.settings.threads = 2;
    const struct emu_launch launch = {.program = h.program,
                                      .settings = h.settings,
                                      .memory = h.memory,
                                      .reports = h.reports,
                                      .grid = {8, 1, 1},
                                      .block = {32, 1, 1},
                                      .cluster = {1, 1, 1},
                                      .dynamic_shared_bytes = 1024,
                                      .params = h.params,
                                      .param_bytes = h.param_bytes,
                                      .sm_count = 148,
                                      .predecessor_done = two_threads_asked,
                                      .predecessor_context = &callers};

    cr_expect(emu_grid_run(&launch, NULL), "%s", harness_text(&h));

    cr_expect(callers.two);
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
