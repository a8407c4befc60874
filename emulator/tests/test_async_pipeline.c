/* SPDX-License-Identifier: MIT */
/*
 * A pipeline as matrix multiplications have it: a producer fills stages of shared memory by
 * tensor loads, consumers add up what they find, and the result leaves by a tensor store.
 * The right one is clean in every mode; each mistake in it is found.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"
#include "test_async_support.h"

#define STAGES 3
#define STEPS  11 /* the ring goes round more than three times */

/*
 * Full barriers at %r1 + 8 s, empty ones at %r1 + 64 + 8 s, stages of 512 bytes at %r1 +
 * 1024 + 512 s, the result of 512 bytes at %r1 + 8192. Warp 0 produces with its lane 0;
 * warps 1 to 4 consume, thread t the word t. Counters: %r10 step, %r11 stage, %r12 parity.
 */
#define NEXT_STAGE(label)                                                         \
    "add.u32 %r10, %r10, 1;\nadd.u32 %r11, %r11, 1;\nsetp.eq.u32 %p1, %r11, 3;\n" \
    "@%p1 mov.u32 %r11, 0;\n@%p1 xor.b32 %r12, %r12, 1;\n"                        \
    "setp.lt.u32 %p2, %r10, 11;\n@%p2 bra " label ";\n"
#define PLACES                                                                   \
    "shl.b32 %r13, %r11, 3;\nadd.u32 %r13, %r13, %r1;\nshl.b32 %r14, %r11, 9;\n" \
    "add.u32 %r14, %r14, %r1;\nadd.u32 %r14, %r14, 1024;\n"
#define PREPARE_FULL  INIT(0, 1) INIT(8, 1) INIT(16, 1)
#define PREPARE_EMPTY INIT(64, 4) INIT(72, 4) INIT(80, 4)
#define PREPARE                                                               \
    "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nmov.b64 %rd2, target;\n" \
    "cvta.param.u64 %rd2, %rd2;\n" PREPARE_FULL PREPARE_EMPTY                 \
    "mov.u32 %r10, 0;\nmov.u32 %r11, 0;\nmov.u32 %r12, 0;\n"                  \
    "setp.lt.u32 %p3, %r0, 32;\n@!%p3 bra CONSUME;\n@!%p0 bra END;\n"
#define LOAD                                                    \
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::" \
    "complete_tx::bytes [%r14], [%rd1, {0, %r10}], [%r13];\n"
#define CONSUMER                                                 \
    "CONSUME:\nsub.u32 %r20, %r0, 32;\nshl.b32 %r21, %r20, 2;\n" \
    "mov.u32 %r22, 0;\nand.b32 %r23, %r0, 31;\nsetp.eq.u32 %p4, %r23, 0;\n"
#define ADD                                                    \
    "add.u32 %r14, %r14, %r21;\nld.shared.u32 %r24, [%r14];\n" \
    "add.u32 %r22, %r22, %r24;\n"
#define STAGE_RESULT                                        \
    "add.u32 %r25, %r1, 8192;\nadd.u32 %r26, %r25, %r21;\n" \
    "st.shared.u32 [%r26], %r22;\n"
#define STORE                                                \
    "setp.eq.u32 %p5, %r20, 0;\n@!%p5 bra END;\n"            \
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group " \
    "[%rd2, {0, 0}], [%r25];\ncp.async.bulk.commit_group;\n"

#define PRODUCE(wait_empty, expected)                                \
    "FILL:\n" PLACES "xor.b32 %r15, %r12, 1;\n" wait_empty           \
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r13], " expected \
    ";\n" LOAD NEXT_STAGE("FILL") "bra END;\n"
#define CONSUME(wait_full, release) \
    CONSUMER "ADD:\n" PLACES wait_full ADD release NEXT_STAGE("ADD") STAGE_RESULT
#define PIPELINE(wait_empty, expected, wait_full, release, before_store, finish)  \
    KERNEL_WITH(", .param .align 64 .b8 map[128], "                               \
                ".param .align 64 .b8 target[128]",                               \
                PREPARE PRODUCE(wait_empty, expected) CONSUME(wait_full, release) \
                    before_store STORE finish "END:\n")

#define WAIT_EMPTY                                                          \
    "WE:\nmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r13+64], %r15;\n" \
    "@!%p6 bra WE;\n"
#define WAIT_FULL                                                        \
    "WF:\nmbarrier.try_wait.parity.shared::cta.b64 %p6, [%r13], %r12;\n" \
    "@!%p6 bra WF;\n"
#define RELEASE                   \
    "bar.warp.sync 0xFFFFFFFF;\n" \
    "@%p4 mbarrier.arrive.shared::cta.b64 _, [%r13+64];\n"
#define BEFORE_STORE "fence.proxy.async.shared::cta;\nbar.sync 1, 128;\n"
#define FINISH       "cp.async.bulk.wait_group 0;\n"

static const char right[] =
    PIPELINE(WAIT_EMPTY, "512", WAIT_FULL, RELEASE, BEFORE_STORE, FINISH);

static bool run(struct harness *h, const char *ptx, const struct emu_settings *settings,
                uint32_t *found)
{
    static uint32_t words[STEPS][128];
    for (uint32_t i = 0; i < STEPS * 128; i++) {
        words[i / 128][i % 128] = i * i;
    }
    async_open(h, ptx, 4);
    h->settings = *settings;
    struct async_map map = {.type = EMU_MAP_U32,
                            .rank = 2,
                            .base = harness_buffer(h, "words", sizeof(words), words),
                            .dims = {128, STEPS},
                            .strides = {512},
                            .box = {128, 1}};
    async_param_map(h, &map);
    map.base = harness_buffer(h, "result", 512, NULL);
    map.dims[1] = 1;
    async_param_map(h, &map);
    bool good = harness_run(h, 1, 160);
    harness_read(h, map.base, found, 512);
    return good;
}

static void run_right(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found[128];
    cr_expect(run(&h, right, settings, found), "%s", harness_text(&h));
    async_expect_clean(&h);
    for (uint32_t i = 0; i < 128; i++) {
        uint32_t sum = 0;
        for (uint32_t step = 0; step < STEPS; step++) {
            sum += (step * 128 + i) * (step * 128 + i);
        }
        cr_assert_eq(found[i], sum, "word %u", i);
    }
    harness_close(&h);
}

Test(async_pipeline, right_one_is_clean_in_all_modes)
{
    async_in_all_modes(run_right);
}

/* ------------------------------------------------------------------------------ mistakes
 */

static const char *wrong;
static enum emu_finding wrong_finding;
static unsigned wrong_runs, wrong_found;

static void run_wrong(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found[128];
    run(&h, wrong, settings, found);
    wrong_runs++;
    wrong_found += harness_found(&h, wrong_finding) > 0 ? 1 : 0;
    harness_close(&h);
}

/* The finding comes up in all modes, or at least in some. */
static void expect_found(const char *ptx, enum emu_finding finding, bool always)
{
    wrong = ptx;
    wrong_finding = finding;
    wrong_runs = wrong_found = 0;
    async_in_all_modes(run_wrong);
    cr_expect(wrong_found > 0 && (!always || wrong_found == wrong_runs),
              "%s was found in %u of %u runs", emu_finding_name(finding), wrong_found,
              wrong_runs);
}

Test(async_pipeline, missing_proxy_fence_before_the_store_is_always_found)
{
    expect_found(
        PIPELINE(WAIT_EMPTY, "512", WAIT_FULL, RELEASE, "bar.sync 1, 128;\n", FINISH),
        EMU_FINDING_PROXY_FENCE, true);
}

Test(async_pipeline, missing_barrier_before_the_store_is_found)
{
    expect_found(PIPELINE(WAIT_EMPTY, "512", WAIT_FULL, RELEASE,
                          "fence.proxy.async.shared::cta;\n", FINISH),
                 EMU_FINDING_LANE_ORDER, false);
}

Test(async_pipeline, early_refill_is_found)
{
    expect_found(PIPELINE("", "512", WAIT_FULL, RELEASE, BEFORE_STORE, FINISH),
                 EMU_FINDING_RACE, false);
    /* The consumers give a stage free before they have read it. */
    expect_found(PIPELINE(WAIT_EMPTY, "512", WAIT_FULL RELEASE, "", BEFORE_STORE, FINISH),
                 EMU_FINDING_RACE, false);
}

Test(async_pipeline, reading_before_the_data_came_is_found)
{
    expect_found(PIPELINE(WAIT_EMPTY, "512", "", RELEASE, BEFORE_STORE, FINISH),
                 EMU_FINDING_UNDEFINED, false);
    expect_found(PIPELINE(WAIT_EMPTY, "512", "", RELEASE, BEFORE_STORE, FINISH),
                 EMU_FINDING_RACE, false);
}

Test(async_pipeline, wrong_number_of_bytes_is_found)
{
    expect_found(PIPELINE(WAIT_EMPTY, "528", WAIT_FULL, RELEASE, BEFORE_STORE, FINISH),
                 EMU_FINDING_DEADLOCK, true);
    expect_found(PIPELINE(WAIT_EMPTY, "496", WAIT_FULL, RELEASE, BEFORE_STORE, FINISH),
                 EMU_FINDING_BARRIER, true);
}

Test(async_pipeline, lost_release_is_a_deadlock)
{
    expect_found(PIPELINE(WAIT_EMPTY, "512", WAIT_FULL, "bar.warp.sync 0xFFFFFFFF;\n",
                          BEFORE_STORE, FINISH),
                 EMU_FINDING_DEADLOCK, true);
}

Test(async_pipeline, exit_without_waiting_for_the_store_is_told)
{
    expect_found(PIPELINE(WAIT_EMPTY, "512", WAIT_FULL, RELEASE, BEFORE_STORE, ""),
                 EMU_FINDING_IN_FLIGHT, true);
}

Test(async_pipeline, without_checks_the_right_one_runs_as_well)
{
    struct harness h;
    uint32_t found[128];
    struct emu_settings settings = emu_settings_default();
    settings.threads = 1;
    settings.races = settings.definedness = false;
    cr_expect(run(&h, right, &settings, found), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_close(&h);
}
