/* SPDX-License-Identifier: MIT */
/* Dependent launch: who waits for the grid before, and when the next one may start. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_async_support.h"

/* Two launches of one kernel, the second dependent on the first; parameter `role` is 0 in
 * the first and 1 in the second, out[0..3] begin as 0. */
#define GRIDS(first, second)                                          \
    KERNEL_WITH(", .param .u32 role",                                 \
                "ld.param.u32 %r2, [role];\nmov.u32 %r3, %ctaid.x;\n" \
                "setp.eq.u32 %p1, %r2, 1;\n@%p1 bra SECOND;\n" first  \
                "bra END;\nSECOND:\n" second "END:\n")
#define DELAY                                                                      \
    "mov.u32 %r10, 0;\nD:\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p9, %r10, 3000;\n" \
    "@%p9 bra D;\n"

static uint32_t threads = 32; /* of a CTA, in the runs that follow */

/* NULL `finding`: both end well. */
static void run_grids_for(const char *ptx, uint32_t ctas, unsigned resident,
                          uint32_t *found, const char *finding)
{
    struct harness h;
    memset(found, 0, 16);
    uint64_t out = async_open(&h, ptx, 16);
    emu_memory_write(h.memory, out, found, 16);
    h.settings.resident = resident;
    struct emu_launch launches[2];
    unsigned char params[2][16] = {{0}, {0}};
    for (unsigned i = 0; i < 2; i++) {
        memcpy(params[i], &out, sizeof(out));
        memcpy(params[i] + 8, &i, sizeof(i));
        launches[i] = (struct emu_launch){.program = h.program,
                                          .settings = h.settings,
                                          .memory = h.memory,
                                          .reports = h.reports,
                                          .grid = {i == 0 ? ctas : 1, 1, 1},
                                          .block = {threads, 1, 1},
                                          .cluster = {1, 1, 1},
                                          .dynamic_shared_bytes = 1024,
                                          .params = params[i],
                                          .param_bytes = 12,
                                          .sm_count = 148};
    }
    cr_expect_eq(emu_grids_run(launches, 2, NULL), finding == NULL, "%s", harness_text(&h));
    if (finding != NULL) {
        async_expect_error(&h, EMU_FINDING_RACE, finding);
    }
    harness_read(&h, out, found, 16);
    harness_close(&h);
}

static void run_grids(const char *ptx, uint32_t ctas, unsigned resident, uint32_t *found)
{
    run_grids_for(ptx, ctas, resident, found, NULL);
}

Test(async_grid, wait_returns_when_the_grid_before_is_over)
{
    uint32_t found[4];
    run_grids(GRIDS("griddepcontrol.launch_dependents;\n" DELAY
                    "@%p0 st.global.u32 [%rd0], 7;\n",
                    "griddepcontrol.wait;\nld.global.u32 %r4, [%rd0];\n"
                    "@%p0 st.global.u32 [%rd0+4], %r4;\n"),
              1, 0, found);
    cr_expect_eq(found[1], 7);
}

/* With and without atomics in the kernel, which have clusters watched in another way. */
Test(async_grid, what_the_grid_before_wrote_is_not_there_before_the_wait)
{
    uint32_t found[4];
    static const char *const kernels[] = {
        GRIDS("@%p0 st.global.u32 [%rd0], 7;\ngriddepcontrol.launch_dependents;\n" DELAY,
              "ld.global.u32 %r4, [%rd0];\n"),
        GRIDS("@%p0 st.global.u32 [%rd0], 7;\ngriddepcontrol.launch_dependents;\n" DELAY,
              "red.global.add.u32 [%rd0+8], 1;\n@%p0 st.global.u32 [%rd0], 1;\n"),
        GRIDS(
            "@%p0 red.global.add.u32 [%rd0], 7;\ngriddepcontrol.launch_dependents;\n" DELAY,
            "ld.global.u32 %r4, [%rd0];\n"),
    };
    run_grids_for(kernels[0], 1, 0, found, "the grid before this one wrote");
    run_grids_for(kernels[1], 1, 0, found, "the grid before this one wrote");
    run_grids_for(kernels[2], 1, 0, found, "the grid before this one wrote");
    run_grids(
        GRIDS(
            "@%p0 red.global.add.u32 [%rd0], 7;\ngriddepcontrol.launch_dependents;\n" DELAY,
            "@%p0 st.global.u32 [%rd0+4], 1;\n@%p0 ld.global.u32 %r4, [%rd0+4];\n"
            "griddepcontrol.wait;\n@%p0 ld.global.u32 %r4, [%rd0];\n"),
        1, 0, found);
    cr_expect_eq(found[0], 7);
}

#define QUICK "griddepcontrol.launch_dependents;\n@%p0 st.global.u32 [%rd0], 7;\n"

/* Whether the grid before is over by chance does not matter. */
Test(async_grid, late_read_without_the_wait_is_found_as_well)
{
    uint32_t found[4];
    run_grids_for(GRIDS(QUICK, DELAY "ld.global.u32 %r4, [%rd0];\n"), 1, 0, found,
                  "the grid before this one wrote");
    run_grids(GRIDS(QUICK, "griddepcontrol.wait;\n@%p0 ld.global.u32 %r4, [%rd0];\n"
                           "@%p0 st.global.u32 [%rd0], 8;\n"),
              1, 0, found);
    cr_expect_eq(found[0], 8);
}

#define ONE_WAITS(meet)                                                        \
    GRIDS(QUICK, "setp.lt.u32 %p2, %r0, 32;\n@%p2 griddepcontrol.wait;\n" meet \
                 "@%p2 bra END;\n" DELAY "ld.global.u32 %r4, [%rd0];\n")

Test(async_grid, wait_of_one_warp_counts_for_those_that_it_meets)
{
    uint32_t found[4];
    threads = 64;
    run_grids_for(ONE_WAITS(""), 1, 0, found, "griddepcontrol.wait does not stand between");
    run_grids(ONE_WAITS("bar.sync 0;\n"), 1, 0, found);
}

/* A grid that allows nobody to start before its end. */
Test(async_grid, grid_that_starts_behind_the_end_of_the_one_before_need_not_wait)
{
    uint32_t found[4];
    run_grids(GRIDS("@%p0 st.global.u32 [%rd0], 7;\n",
                    "@%p0 ld.global.u32 %r4, [%rd0];\n@%p0 st.global.u32 [%rd0+4], %r4;\n"),
              1, 0, found);
    cr_expect_eq(found[1], 7);
}

Test(async_grid, what_the_grid_before_reads_is_not_written_before_the_wait)
{
    uint32_t found[4];
    run_grids_for(
        GRIDS("ld.global.u32 %r4, [%rd0];\ngriddepcontrol.launch_dependents;\n" DELAY,
              "@%p0 st.global.u32 [%rd0], 1;\n"),
        1, 0, found, "which the grid before this one read");
    run_grids_for(
        GRIDS("ld.global.u32 %r4, [%rd0];\ngriddepcontrol.launch_dependents;\n" DELAY,
              "red.global.add.u32 [%rd0+8], 1;\n@%p0 st.global.u32 [%rd0], 1;\n"),
        1, 0, found, "which the grid before this one read");
    run_grids(GRIDS("ld.global.u32 %r4, [%rd0];\ngriddepcontrol.launch_dependents;\n" DELAY,
                    "griddepcontrol.wait;\n@%p0 st.global.u32 [%rd0], 1;\n"),
              1, 0, found);
    cr_expect_eq(found[0], 1);
}

#define READS  "ld.global.u32 %r4, [%rd0];\n"
#define WRITES "st.global.u32 [%rd0], 1;\n"
/* What CTA `first` does, and what CTA `second` does. */
#define MEET(does, also)                                                    \
    KERNEL_WITH(", .param .u32 first, .param .u32 second",                  \
                "ld.param.u32 %r1, [first];\nld.param.u32 %r2, [second];\n" \
                "mov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p1, %r3, %r1;\n"      \
                "setp.eq.u32 %p2, %r3, %r2;\n@%p1 " does "@%p2 " also)

/* 300 CTAs of one thread. NULL `finding`: they do not disturb each other. */
static void run_two(const char *ptx, uint32_t first, uint32_t second, const char *finding)
{
    static const uint32_t zeros[4];
    struct harness h;
    uint64_t out = async_open(&h, ptx, sizeof(zeros));
    emu_memory_write(h.memory, out, zeros, sizeof(zeros));
    harness_param_u32(&h, first);
    harness_param_u32(&h, second);

    cr_expect_eq(harness_run(&h, 300, 1), finding == NULL, "%s", harness_text(&h));

    if (finding != NULL) {
        async_expect_error(&h, EMU_FINDING_RACE, finding);
    }
    harness_close(&h);
}

/* Clusters run one after the other here, by their index: both orders are tried. */
Test(async_grid, clusters_that_meet_in_memory_are_a_race_in_either_order)
{
    static const char both[] = MEET(READS, WRITES);
    run_two(both, 0, 1, "write of byte 0 of out, which another cluster read");
    run_two(both, 1, 0, "read of byte 0 of out, which another cluster wrote");
    run_two(both, 7, 7, NULL);
    run_two(MEET(WRITES, WRITES), 0, 1,
            "write of byte 0 of out, which another cluster wrote");
    run_two(MEET(READS, READS), 0, 1, NULL);
    run_two(MEET(READS, "st.global.u32 [%rd0+4], 1;\n"), 0, 1, NULL);
}

Test(async_grid, clusters_far_apart_are_told_apart)
{
    run_two(MEET(READS, WRITES), 254, 0, "which another cluster wrote");
    run_two(MEET(READS, WRITES), 3, 257, "which another cluster read");
}

Test(async_grid, next_launch_may_write_what_the_last_one_read)
{
    struct harness h;
    static const uint32_t zeros[4];
    uint64_t out = async_open(&h, KERNEL(READS WRITES), sizeof(zeros));
    emu_memory_write(h.memory, out, zeros, sizeof(zeros));

    cr_expect(harness_run(&h, 1, 1), "%s", harness_text(&h));
    cr_expect(harness_run(&h, 1, 1), "%s", harness_text(&h));

    async_expect_clean(&h);
    harness_close(&h);
}

Test(async_grid, without_a_grid_before_wait_returns_at_once)
{
    struct harness h;
    async_open(&h, KERNEL("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\n"), 4);
    cr_expect(harness_run(&h, 3, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_close(&h);
}

/* CTA 0 of the first grid does not end before the second grid has told it something. */
#define UNTIL_TOLD                              \
    "setp.ne.u32 %p2, %r3, 0;\n@%p2 bra END;\n" \
    "S:\natom.global.add.u32 %r5, [%rd0], 0;\nsetp.eq.u32 %p3, %r5, 0;\n@%p3 bra S;\n"
#define TELL "@%p0 atom.global.add.u32 %r5, [%rd0], 1;\n"

Test(async_grid, next_grid_starts_when_every_cta_allowed_it_or_exited)
{
    uint32_t found[4];
    run_grids(GRIDS("griddepcontrol.launch_dependents;\n" UNTIL_TOLD, TELL), 3, 0, found);
    cr_expect_eq(found[0], 1);
    run_grids(GRIDS("setp.eq.u32 %p4, %r3, 0;\n"
                    "@%p4 griddepcontrol.launch_dependents;\n" UNTIL_TOLD,
                    TELL),
              3, 0, found);
    cr_expect_eq(found[0], 1);
}

Test(async_grid, next_grid_does_not_start_while_a_cta_holds_it_up)
{
    uint32_t found[4];
    run_grids(GRIDS("setp.eq.u32 %p4, %r3, 0;\n"
                    "@%p4 griddepcontrol.launch_dependents;\n"
                    "setp.eq.u32 %p5, %r3, 2;\n@!%p5 bra END;\n" DELAY TELL,
                    "atom.global.add.u32 %r5, [%rd0], 0;\n"
                    "@%p0 st.global.u32 [%rd0+4], %r5;\n"),
              3, 0, found);
    cr_expect_eq(found[1], 1);
}

/* Clusters that were cancelled never run, and do not hold the next grid up. */
Test(async_grid, cancelled_clusters_count_as_exited)
{
    uint32_t found[4];
    run_grids(
        GRIDS(INIT(0, 1) "mov.u32 %r6, 0;\n@!%p0 bra END;\nNEXT:\n"
                         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n"
                         "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::"
                         "complete_tx::bytes.b128 [%r1+16], [%r1];\n"
                         "W:\nmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r1], %r6;\n"
                         "@!%p6 bra W;\nxor.b32 %r6, %r6, 1;\nld.shared.b128 %q0, "
                         "[%r1+16];\nclusterlaunchcontrol.query_cancel.is_canceled.pred."
                         "b128 %p7, %q0;\nfence.proxy.async.shared::cta;\n@%p7 bra NEXT;\n"
                         "griddepcontrol.launch_dependents;\n" UNTIL_TOLD,
              TELL),
        8, 2, found);
    cr_expect_eq(found[0], 1);
}

static void expect_refusal(const char *ptx, const char *words)
{
    struct harness h;
    harness_open(&h);
    cr_expect_not(harness_try_load(&h, ptx));
    cr_expect_not_null(strstr(h.error.text, words), "%s", h.error.text);
    harness_close(&h);
}

Test(async_grid, fences_that_make_no_sense_are_refused)
{
    expect_refusal(KERNEL("fence.acquire.sync_restrict::shared::cta.cluster;\n"),
                   "does not go with this");
    expect_refusal(KERNEL("fence.acq_rel;\n"), "its scope is missing");
    expect_refusal(KERNEL("fence.mbarrier_init.acquire.cluster;\n"), ".release.cluster");
    expect_refusal(KERNEL("fence.proxy.texture;\n"), "not supported");
    expect_refusal(KERNEL("membar.cluster;\n"), "its level is missing");
    expect_refusal(KERNEL("griddepcontrol.hurry;\n"), "neither .wait");
}

Test(async_grid, fences_of_all_kinds_are_taken)
{
    struct harness h;
    async_open(&h,
               KERNEL("fence.sc.gpu;\nfence.acq_rel.cta;\nfence.cluster.acq_rel;\n"
                      "fence.release.sync_restrict::shared::cta.cluster;\n"
                      "fence.acquire.sync_restrict::shared::cluster.cluster;\n"
                      "membar.gl;\nmembar.proxy.alias;\nfence.proxy.async;\n"
                      "fence.proxy.async.global;\nfence.proxy.async.shared::cluster;\n"
                      "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster."
                      "cluster;\nfence.proxy.tensormap::generic.release.sys;\n"),
               4);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_close(&h);
}
