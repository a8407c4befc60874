/* SPDX-License-Identifier: MIT */
/* One load for several CTAs of a cluster, and which mbarrier hears of it. */
#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"
#include "exec/timing.h"
#include "test_async_support.h"

/*
 * Every CTA expects 128 bytes at %r1 + 1024, CTA 0 loads; then each dumps its 32 words to
 * out + 128 * rank. Parameters: out, map (or source), mask. `load` has the map or address
 * in %rd1, the destination in %r3 and the mask in %h1.
 */
#define SHARE(who, expect, load, tail)                                                     \
    KERNEL_WITH(                                                                           \
        ", .param .align 64 .b8 map[128], .param .u32 mask, .param .u64 source",           \
        "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u32 %r4, [mask];\n"      \
        "ld.param.u64 %rd4, [source];\n"                                                   \
        "cvt.u16.u32 %h1, %r4;\nmov.u32 %r5, %cluster_ctarank;\n"                          \
        "mul.wide.u32 %rd2, %r5, 128;\nadd.u64 %rd0, %rd0, %rd2;\n" INIT(                  \
            0,                                                                             \
            1) "barrier.cluster.arrive;\nbarrier.cluster.wait;\nadd.u32 %r3, %r1, 1024;\n" \
               "@!%p0 bra MEET;\n" expect "setp.eq.u32 %p2, %r5, " who                     \
               ";\n@!%p2 bra RECEIVE;\n" load "RECEIVE:\n" tail DUMP(                      \
                   "D", 1024,                                                              \
                   32) "MEET:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n")
#define EXPECT "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 128;\n"

static const char tensor_ptx[] =
    SHARE("0", EXPECT,
          "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes."
          "multicast::cluster [%r3], [%rd1, {0}], [%r1], %h1;\n",
          WAIT("W", 0, 0));
static const char bulk_ptx[] =
    SHARE("0", EXPECT,
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes."
          "multicast::cluster [%r3], [%rd4], 128, [%r1], %h1;\n",
          WAIT("W", 0, 0));
/* Both CTAs' data are signalled to the leader CTA of the pair; it tells its peer. */
static const char pair_ptx[] = SHARE(
    "1",
    "setp.eq.u32 %p3, %r5, 0;\n"
    "@%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 256;\n",
    "and.b32 %r6, %r1, 0xFEFFFFFF;\n"
    "cp.async.bulk.tensor.1d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::"
    "bytes.multicast::cluster [%r3], [%rd1, {0}], [%r6], %h1;\n",
    "@!%p3 bra PEER;\n" WAIT(
        "W", 0,
        0) "mapa.shared::cluster.u32 %r7, %r1, 1;\n"
           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];\nbra GOT;\n"
           "PEER:\n" WAIT("W2", 0, 0) "GOT:\n");

static const char *shared_ptx;
static uint32_t shared_mask, shared_ctas;

static void open_shared(struct harness *h, const char *ptx, uint32_t mask,
                        uint64_t *ret_out)
{
    uint32_t source[32];
    for (uint32_t i = 0; i < 32; i++) {
        source[i] = i + 100;
    }
    *ret_out = async_open(h, ptx, 128 * 8);
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 1,
                                  .base = harness_buffer(h, "tensor", 128, source),
                                  .dims = {32},
                                  .box = {32}};
    async_param_map(h, &map);
    harness_param_u32(h, mask);
    harness_param_u64(h, map.base);
}

static void run_shared(const struct emu_settings *settings)
{
    struct harness h;
    uint64_t out = 0;
    uint32_t found[32];
    open_shared(&h, shared_ptx, shared_mask, &out);
    h.settings = *settings;
    cr_expect(harness_run_clusters(&h, shared_ctas, 32, shared_ctas), "%s",
              harness_text(&h));
    async_expect_clean(&h);
    for (uint32_t rank = 0; rank < shared_ctas; rank++) {
        harness_read(&h, out + 128 * rank, found, sizeof(found));
        for (uint32_t i = 0; i < 32; i++) {
            cr_assert_eq(found[i], i + 100, "CTA %u word %u: %u", rank, i, found[i]);
        }
    }
    harness_close(&h);
}

Test(async_multicast, tensor_reaches_every_cta_of_the_mask)
{
    shared_ptx = tensor_ptx;
    shared_mask = 0xF;
    shared_ctas = 4;
    async_in_all_modes(run_shared);
}

Test(async_multicast, bulk_copy_reaches_every_cta_of_the_mask)
{
    shared_ptx = bulk_ptx;
    shared_mask = 0x7;
    shared_ctas = 3;
    async_in_all_modes(run_shared);
}

Test(async_multicast, pair_signals_one_of_its_ctas)
{
    shared_ptx = pair_ptx;
    shared_mask = 0x3;
    shared_ctas = 2;
    async_in_all_modes(run_shared);
}

Test(async_multicast, cta_outside_of_the_mask_gets_nothing)
{
    struct harness h;
    uint64_t out = 0;
    open_shared(&h, tensor_ptx, 0x5, &out);
    cr_expect_not(harness_run_clusters(&h, 3, 32, 3));
    async_expect_error(&h, EMU_FINDING_DEADLOCK,
                       "of CTA 1 (phase 0, parity 0, pending 0 of "
                       "1, tx 128)");
    harness_close(&h);
}

static void expect_error(const char *ptx, uint32_t mask, enum emu_finding finding,
                         const char *words)
{
    struct harness h;
    uint64_t out = 0;
    open_shared(&h, ptx, mask, &out);
    cr_expect_not(harness_run_clusters(&h, 2, 32, 2));
    async_expect_error(&h, finding, words);
    harness_close(&h);
}

Test(async_multicast, misuse_is_named)
{
    expect_error(tensor_ptx, 0x4, EMU_FINDING_OUT_OF_BOUNDS, "0x0004 of a cluster of 2");
    expect_error(tensor_ptx, 0, EMU_FINDING_OUT_OF_BOUNDS, "0x0000 of a cluster of 2");
    const char *other_barrier =
        SHARE("0", EXPECT,
              "mapa.shared::cluster.u32 %r6, %r1, 1;\n"
              "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
              "[%r3], [%rd1, {0}], [%r6];\n",
              WAIT("W", 0, 0));
    expect_error(other_barrier, 1, EMU_FINDING_BARRIER,
                 "only .cta_group::2 reaches the peer");
    const char *other_destination =
        SHARE("0", EXPECT,
              "mapa.shared::cluster.u32 %r6, %r3, 1;\n"
              "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes "
              "[%r6], [%rd1, {0}], [%r1];\n",
              WAIT("W", 0, 0));
    expect_error(other_destination, 1, EMU_FINDING_ILLEGAL, "own CTA only");
}

/* CTA 1 exits without waiting for CTA 0 while CTA 0's copy to it is under way. */
Test(async_multicast, copy_to_a_cta_that_has_exited_is_found)
{
    struct harness h;
    uint64_t out = 0;
    open_shared(&h,
                SHARE("0", EXPECT,
                      "mapa.shared::cluster.u32 %r6, %r1, 1;\n"
                      "mapa.shared::cluster.u32 %r7, %r3, 1;\n"
                      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::"
                      "complete_tx::bytes [%r7], [%rd1, {0}], [%r6];\n",
                      "exit;\n"),
                1, &out);
    h.settings.async = EMU_ASYNC_LATEST;
    cr_expect_not(harness_run_clusters(&h, 2, 1, 2));
    async_expect_error(&h, EMU_FINDING_IN_FLIGHT, "has exited");
    harness_close(&h);
}

/* CTA 1 ends at once; CTA 0 arrives at its mbarrier, reads its memory and stores one word
 * of its own, some time later. */
#define REACH_BACK(before_end)                                                        \
    KERNEL(INIT(0, 2) "mov.u32 %r11, %cluster_ctarank;\nst.shared.u32 [%r1+64], 7;\n" \
                      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"              \
                      "setp.ne.u32 %p1, %r11, 0;\n@%p1 bra END;\nmov.u32 %r10, 0;\n"  \
                      "D:\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p9, %r10, 20000;\n"   \
                      "@%p9 bra D;\nmapa.shared::cluster.u32 %r12, %r1, 1;\n"         \
                      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "       \
                      "[%r12];\nld.shared::cluster.u32 %r13, [%r12+64];\n"            \
                      "st.global.u32 [%rd0], %r13;\nEND:\n" before_end)

Test(async_multicast, thread_that_reaches_a_cta_that_has_exited_goes_on)
{
    for (unsigned allowed = 0; allowed < 2; allowed++) {
        struct harness h;
        uint32_t value = 0;
        const uint64_t out = async_open(&h, REACH_BACK(""), 4);
        h.settings.allowed = allowed << EMU_FINDING_EXITED_CTA;
        cr_expect_eq(harness_run_clusters(&h, 2, 1, 2), allowed == 1);
        cr_expect_gt(harness_found(&h, EMU_FINDING_EXITED_CTA), 0);
        cr_expect_not_null(strstr(harness_text(&h), "CTA 1, which has exited"), "%s",
                           harness_text(&h));
        cr_expect(emu_memory_read(h.memory, out, &value, 4));
        cr_expect_eq(value, 7);
        harness_close(&h);
    }
    struct harness h;
    async_open(&h, REACH_BACK("barrier.cluster.arrive;\nbarrier.cluster.wait;\n"), 4);
    cr_expect(harness_run_clusters(&h, 2, 1, 2), "%s", harness_text(&h));
    cr_expect_eq(harness_found(&h, EMU_FINDING_EXITED_CTA), 0);
    harness_close(&h);
}

/* CTA 0 does `what` to the memory of CTA 1, which waits for `awaited`; both come to `end`.
 */
#define REACH_ACROSS(what, awaited, end)                                            \
    KERNEL(INIT(0, 1) INIT(8, 1) "mov.u32 %r11, %cluster_ctarank;\n"                \
                                 "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" \
                                 "mapa.shared::cluster.u32 %r12, %r1, 1;\n"         \
                                 "setp.ne.u32 %p1, %r11, 0;\n@%p1 bra PEER;\n" what \
                                 "bra END;\nPEER:\n" awaited "END:\n" end)
#define ARRIVAL(scope) "mbarrier.arrive" scope ".shared::cluster.b64 _, [%r12];\n"
#define STORE          "st.shared::cluster.u32 [%r12+64], 7;\n"
#define RELEASE        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12+8];\n"
#define MEET           "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
#define MEET_RELAXED   "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n"

enum { BY_THE_CLOCK = EMU_ASYNC_REORDER + 1 };

/* "error", "advice" or "": what is said of a CTA that has exited. */
static const char *find_exit(const char *ptx, unsigned mode)
{
    struct harness h;
    async_open(&h, ptx, 4);
    h.chip = mode == BY_THE_CLOCK ? emu_chip_find("b200") : NULL;
    h.settings.async = mode == BY_THE_CLOCK ? h.settings.async : (enum emu_async_mode)mode;
    const bool good = harness_run_clusters(&h, 2, 1, 2);
    const bool found = harness_found(&h, EMU_FINDING_EXITED_CTA) > 0;
    const bool is_error = strstr(harness_text(&h), "error [exited-cta]") != NULL;
    cr_expect_eq(good, !is_error, "%s", harness_text(&h));
    harness_close(&h);
    return is_error ? "error" : found ? "advice" : "";
}

/* In any mode, and by the clock: what counts is what CTA 1 knows. */
Test(async_multicast, what_nothing_tells_an_exiting_cta_of_is_found)
{
    static const struct {
        const char *ptx, *found;
    } rows[] = {
        {REACH_ACROSS(ARRIVAL(".release.cluster"), "", ""), "error"},
        {REACH_ACROSS(ARRIVAL(""), "", ""), "error"},
        {REACH_ACROSS(STORE, "", ""), "error"},
        {REACH_ACROSS(ARRIVAL(".release.cluster"), "", MEET_RELAXED), "advice"},
        {REACH_ACROSS(STORE, "", MEET_RELAXED), "advice"},
        {REACH_ACROSS(ARRIVAL(".release.cluster"), "", MEET), ""},
        {REACH_ACROSS(STORE, "", MEET), ""},
        {REACH_ACROSS(ARRIVAL(".release.cluster"), WAIT("W", 0, 0), ""), ""},
        {REACH_ACROSS(ARRIVAL(""), WAIT("W", 0, 0), ""), ""},
        {REACH_ACROSS(ARRIVAL(".relaxed.cluster"), WAIT("W", 0, 0), ""), ""},
        {REACH_ACROSS(ARRIVAL(".release.cluster") RELEASE, WAIT("W", 8, 0), ""), ""},
        {REACH_ACROSS(ARRIVAL(".relaxed.cluster") RELEASE, WAIT("W", 8, 0), ""), ""},
        {REACH_ACROSS(STORE RELEASE, WAIT("W", 8, 0), ""), ""},
        {REACH_ACROSS(RELEASE STORE, WAIT("W", 8, 0), ""), "error"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (unsigned mode = EMU_ASYNC_EAGER; mode <= BY_THE_CLOCK; mode++) {
            cr_expect_str_eq(find_exit(rows[i].ptx, mode), rows[i].found,
                             "row %zu, mode %u", i, mode);
        }
    }
}

/* Until it comes there: an arrival may be the last that is under way. */
Test(async_multicast, remote_arrivals_take_their_time)
{
    const char *asks = REACH_ACROSS(
        ARRIVAL(".relaxed.cluster"),
        "mov.u32 %r10, 0;\nA:\nadd.u32 %r10, %r10, 1;\n"
        "mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra A;\n"
        "st.global.u32 [%rd0], %r10;\n",
        "");
    uint32_t turns[2] = {0};
    for (unsigned i = 0; i < 2; i++) {
        struct harness h;
        const uint64_t out = async_open(&h, asks, 4);
        h.settings.async = i == 0 ? EMU_ASYNC_EAGER : EMU_ASYNC_LATEST;
        cr_expect(harness_run_clusters(&h, 2, 1, 2), "%s", harness_text(&h));
        cr_expect(emu_memory_read(h.memory, out, &turns[i], 4));
        harness_close(&h);
    }
    cr_expect_gt(turns[1], turns[0]);
}

/* The word that CTA 1 finds behind `told`, and the launch's clocks, by the clock. */
static uint64_t time_reach(const char *ptx, uint32_t *ret_word)
{
    struct harness h;
    struct emu_timing timing = {0};
    const uint64_t out = async_open(&h, ptx, 4);
    h.chip = emu_chip_find("b200");
    h.timing = &timing;
    cr_expect(harness_run_clusters(&h, 2, 1, 2), "%s", harness_text(&h));
    cr_expect(emu_memory_read(h.memory, out, ret_word, 4));
    harness_close(&h);
    return timing.clocks;
}

/* Whatever tells of it: the store is there first. Two trips to the other CTA's memory take
 * twice the time of one. */
Test(async_multicast, by_the_clock_what_reaches_another_cta_takes_its_time)
{
#define READ "ld.shared.u32 %r13, [%r1+64];\nst.global.u32 [%rd0], %r13;\n"
#define ALL  "st.shared.u32 [%r1+64], 1;\n"
    static const char *const told[] = {
        REACH_ACROSS(STORE RELEASE, WAIT("W", 8, 0) READ, MEET),
        REACH_ACROSS(STORE "fence.acq_rel.cluster;\n" ARRIVAL(".relaxed.cluster"),
                     WAIT("W", 0, 0) "fence.acq_rel.cluster;\n" READ, MEET),
        REACH_ACROSS(STORE MEET, MEET READ, MEET),
        REACH_ACROSS(STORE "ld.shared::cluster.u32 %r13, [%r12+64];\n"
                           "st.global.u32 [%rd0], %r13;\n",
                     "", MEET),
    };
    const struct emu_chip *chip = emu_chip_find("b200");
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        uint32_t word = 0;
        time_reach(told[i], &word);
        cr_expect_eq(word, 7, "row %zu: %u", i, word);
    }
#define TIME(what, awaited) time_reach(REACH_ACROSS(what, awaited ALL READ, MEET), &word)
    uint32_t word = 0;
    const uint64_t local =
        TIME("", "mbarrier.arrive.shared::cta.b64 _, [%r1];\n" WAIT("W", 0, 0));
    const uint64_t relaxed = TIME(ARRIVAL(".relaxed.cluster"), WAIT("W", 0, 0));
    const uint64_t release = TIME(ARRIVAL(".release.cluster"), WAIT("W", 0, 0));
    const uint64_t behind = TIME(STORE RELEASE, WAIT("W", 8, 0));
    cr_expect_float_eq((double)(relaxed - local), chip->remote_latency, 64, "%lu and %lu",
                       relaxed, local);
    cr_expect_float_eq((double)(release - relaxed), chip->gpu_fence_latency, 8);
    cr_expect_float_eq((double)(behind - release), chip->remote_latency, 16);
}

/* All wait for it as long, the last one to come too; where it releases, a fence is before.
 */
Test(async_multicast, by_the_clock_a_barrier_of_the_cluster_takes_its_time)
{
    const struct emu_chip *chip = emu_chip_find("b200");
    uint32_t word = 0;
    const uint64_t once = time_reach(REACH_ACROSS("", "", MEET_RELAXED), &word);
    const uint64_t thrice =
        time_reach(REACH_ACROSS("", "", MEET_RELAXED MEET_RELAXED MEET_RELAXED), &word);
    const uint64_t fenced = time_reach(REACH_ACROSS("", "", MEET), &word);
    cr_expect_float_eq((double)(thrice - once), 2 * chip->cluster_barrier_latency, 16,
                       "%lu and %lu", thrice, once);
    cr_expect_float_eq((double)(fenced - once), chip->gpu_fence_latency, 8);
}

/* CTA 0 commits to CTA 1, then to itself; when the second commit has arrived it tells CTA
 * 1, which works on for longer than operations usually take, and exits. */
#define TWO_COMMITS(before_exit)                                                                    \
    KERNEL(INIT(0, 1) INIT(8, 1) INIT(                                                              \
        16,                                                                                         \
        1) "mov.u32 %r11, %cluster_ctarank;\n"                                                      \
           "barrier.cluster.arrive;\nbarrier.cluster.wait;\n@!%p0 bra END;\n"                       \
           "setp.ne.u32 %p1, %r11, 0;\n@%p1 bra OTHER;\nmov.u16 %h0, 2;\n"                          \
           "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster"                      \
           ".multicast::cluster.b64 [%r1], %h0;\n"                                                  \
           "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+8];\n" WAIT( \
               "OWN", 8,                                                                            \
               0) "mapa.shared::cluster.u32 %r12, %r1, 1;\n"                                        \
                  "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12+16];\nbra END;\n"   \
                  "OTHER:\n" WAIT(                                                                  \
                      "TOLD", 16,                                                                   \
                      0) "mov.u32 %r10, 0;\nD:\nadd.u32 %r10, %r10, 1;\n"                           \
                         "setp.lt.u32 %p9, %r10, 20000;\n@%p9 bra D;\n" before_exit                 \
                         "END:\n")

static unsigned count_failures(const char *ptx)
{
    unsigned failures = 0;
    for (uint64_t seed = 0; seed < 32; seed++) {
        struct harness h;
        async_open(&h, ptx, 4);
        h.settings.seed = seed;
        bool good = harness_run_clusters(&h, 2, 32, 2);
        cr_expect(good || harness_found(&h, EMU_FINDING_IN_FLIGHT) > 0, "%s",
                  harness_text(&h));
        failures += good ? 0 : 1;
        harness_close(&h);
    }
    return failures;
}

Test(async_multicast, commits_arrive_at_each_cta_at_a_time_of_its_own)
{
    unsigned failures = count_failures(TWO_COMMITS(""));
    cr_expect(failures > 0 && failures < 32, "%u", failures);
    cr_expect_eq(count_failures(TWO_COMMITS(WAIT("FIRST", 0, 0))), 0);
}
