/* SPDX-License-Identifier: MIT */
/* The order of tensor operations: what must be waited for and fenced, in every mode. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_tensor_support.h"

#define IMAGE_BYTES 40960u
/* A: 128 rows of 128 bytes; B behind it; scale factors behind that. */
#define DESCRIPTOR UINT64_C(0x4000404000010000)
#define SCALES     UINT64_C(0x0000400800010000)
#define MMA_OF(p) \
    "tcgen05.mma.cta_group::1.kind::f16 [%%r3], %%d10, %%d11, 0x8080490, " p ";\n"
#define MMA MMA_OF("0")
#define SCALED_MMA                                                               \
    "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%%r3], %%d10, %%d11, " \
    "0x8880000, [%%r3+64], [%%r3+68], 0;\n"
#define COPY                                                     \
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [%%r3+64], %%d12;\n" \
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [%%r3+68], %%d12;\n"
#define COMMIT \
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
#define COMMIT_8 \
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar+8];\n"
#define SINGLE(number, code) "@%%p2 bra l" number ";\n" code "l" number ":\n"
#define SPIN(number, bar)                                                          \
    "w" number ":\nmbarrier.try_wait.parity.shared::cta.b64 %%p3, [" bar "], 0;\n" \
    "@!%%p3 bra w" number ";\n"
#define AFTER   "tcgen05.fence::after_thread_sync;\n"
#define BEFORE  "tcgen05.fence::before_thread_sync;\n"
#define LOAD    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%%r20, %%r21}, [%%r3];\n"
#define WAIT_LD "tcgen05.wait::ld.sync.aligned;\n"
#define WAIT_ST "tcgen05.wait::st.sync.aligned;\n"
#define STORE   "tcgen05.st.sync.aligned.32x32b.x2.b32 [%%r3], {%%r0, %%r1};\n"
#define USE     "@!%%p2 st.global.u32 [%%d1], %%r20;\n"
#define SYNC    "bar.sync 0;\n"

static const enum emu_async_mode modes[] = {EMU_ASYNC_EAGER, EMU_ASYNC_LATEST,
                                            EMU_ASYNC_RANDOM, EMU_ASYNC_REORDER};

static const char *more_settings = ""; /* of the runs that follow */

static bool run_threads(struct harness *h, enum emu_async_mode mode, uint64_t seed,
                        const char *body, unsigned threads)
{
    static uint8_t image[IMAGE_BYTES];
    struct emu_text text = {0};
    struct emu_error error = {0};
    uint64_t out = 0;
    memset(image + 32768, 127, 8192); /* scale factors of 1 */
    harness_open(h);
    h->settings.async = mode;
    h->settings.seed = seed;
    h->settings.schedule = (enum emu_schedule)(seed % 4);
    cr_assert(emu_settings_parse(&h->settings, more_settings, &error), "%s", error.text);
    begin_kernel(&text, 100, threads, IMAGE_BYTES);
    add_tensor_setup(&text, 1, 128);
    add_descriptor(&text, 10, DESCRIPTOR, 0);
    add_descriptor(&text, 11, DESCRIPTOR, 16384);
    add_descriptor(&text, 12, SCALES, 32768);
    emu_text_add(&text, body, 0);
    add_tensor_teardown(&text, 1, 128);
    end_kernel(&text);
    return run_kernel(h, &text, image, IMAGE_BYTES, 1, threads, 1, &out, 1024);
}

static bool run(struct harness *h, enum emu_async_mode mode, uint64_t seed,
                const char *body)
{
    return run_threads(h, mode, seed, body, 128);
}

static void expect_legal(const char *body)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        for (uint64_t seed = 0; seed < 4; seed += harness_every()) {
            struct harness h;
            cr_expect(run(&h, modes[i], seed, body), "mode %zu: %s\n%s", i, body,
                      harness_text(&h));
            cr_expect_eq(emu_reports_count(h.reports, EMU_WARNING), 0, "mode %zu: %s\n%s",
                         i, body, harness_text(&h));
            harness_close(&h);
        }
    }
}

static void expect_found(const char *body, enum emu_finding finding, const char *words)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct harness h;
        cr_expect_not(run(&h, modes[i], 1, body), "mode %zu: %s", i, body);
        cr_expect_geq(harness_found(&h, finding), 1, "mode %zu: %s\n%s", i, body,
                      harness_text(&h));
        cr_expect_not_null(strstr(harness_text(&h), words), "%s: %s", words,
                           harness_text(&h));
        harness_close(&h);
    }
}

/* Which of several findings comes first depends on the mode. */
static void expect_some(const char *body)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct harness h;
        cr_expect_not(run(&h, modes[i], 1, body), "mode %zu: %s", i, body);
        harness_close(&h);
    }
}

/* A kernel that goes on, and of which something is said nevertheless. */
static void expect_remark(const char *body, enum emu_severity severity, const char *words)
{
    struct harness h;
    (void)run(&h, EMU_ASYNC_RANDOM, 1, body);
    cr_expect_geq(emu_reports_count(h.reports, severity), 1, "%s", body);
    cr_expect_not_null(strstr(harness_text(&h), words), "%s: %s", words, harness_text(&h));
    harness_close(&h);
}

/* One whose synchronisation lacks tcgen05.fence: a warning in every mode, and no more. */
static void expect_unfenced(const char *body)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        for (uint64_t seed = 0; seed < 4; seed += harness_every()) {
            struct harness h;
            cr_expect(run(&h, modes[i], seed, body), "mode %zu: %s\n%s", i, body,
                      harness_text(&h));
            cr_expect_geq(emu_reports_count(h.reports, EMU_WARNING), 1, "mode %zu: %s", i,
                          body);
            cr_expect_geq(harness_found(&h, EMU_FINDING_TENSOR_FENCE), 1,
                          "mode %zu: %s\n%s", i, body, harness_text(&h));
            harness_close(&h);
        }
    }
}

Test(emu_tensor_order, the_canonical_sequence_is_legal)
{
    expect_legal(SINGLE("1", MMA MMA_OF("1") COMMIT) SPIN("1", "bar")
                     AFTER LOAD WAIT_LD USE);
    expect_legal(SINGLE("1", COPY SCALED_MMA COMMIT) SPIN("1", "bar")
                     AFTER LOAD WAIT_LD USE);
}

/* CUTLASS leaves the fence out, so that its kernels go on. */
Test(emu_tensor_order, a_load_without_the_fence_after_the_wait_is_a_warning)
{
    expect_unfenced(SINGLE("1", MMA COMMIT) SPIN("1", "bar") LOAD WAIT_LD USE);
    expect_unfenced(AFTER SINGLE("1", MMA COMMIT) SPIN("1", "bar") LOAD WAIT_LD USE);
    expect_unfenced(SINGLE("1", MMA COMMIT) AFTER SPIN("1", "bar") LOAD WAIT_LD USE);
}

Test(emu_tensor_order, a_load_needs_the_commit)
{
    expect_some(SINGLE("1", MMA) SYNC AFTER LOAD WAIT_LD);
    expect_some(SINGLE("1", MMA BEFORE) SYNC AFTER LOAD WAIT_LD);
    struct harness h;
    cr_expect_not(
        run(&h, EMU_ASYNC_EAGER, 1, SINGLE("1", MMA BEFORE) SYNC AFTER LOAD WAIT_LD));
    /* the load, and that the columns are freed */
    cr_expect_eq(harness_found(&h, EMU_FINDING_RACE), 2, "%s", harness_text(&h));
    harness_close(&h);
}

Test(emu_tensor_order, loaded_registers_may_be_read_but_not_written_before_the_wait)
{
    expect_legal(SINGLE("1", MMA COMMIT) SPIN("1", "bar") AFTER LOAD USE WAIT_LD);
    expect_found(SINGLE("1", MMA COMMIT) SPIN("1", "bar") AFTER LOAD
                 "mov.u32 %%r21, 0;\n" WAIT_LD,
                 EMU_FINDING_IN_FLIGHT, "register 1 of the tcgen05.ld");
}

/* The accumulator is loaded, then given back to the issuer, which overwrites it. */
#define FIRST  SINGLE("1", MMA COMMIT) SPIN("1", "bar") AFTER
#define SECOND SINGLE("2", AFTER MMA COMMIT_8) SPIN("2", "bar+8") AFTER

Test(emu_tensor_order, an_accumulator_is_given_back_after_wait_and_fence)
{
    expect_legal(FIRST LOAD WAIT_LD BEFORE SYNC SECOND);
    expect_found(FIRST LOAD BEFORE SYNC SECOND WAIT_LD, EMU_FINDING_RACE, "not ordered");
    /* without the fence in front of the barrier, or behind it */
    expect_unfenced(FIRST LOAD WAIT_LD SYNC SECOND);
    expect_unfenced(FIRST LOAD WAIT_LD BEFORE SYNC SINGLE("2", MMA COMMIT_8)
                        SPIN("2", "bar+8") AFTER);
    expect_found(FIRST LOAD WAIT_LD BEFORE SECOND, EMU_FINDING_RACE, "not ordered");
}

/* Who has read the registers knows that the load is over, whatever PTX says about it. */
Test(emu_tensor_order, registers_that_were_read_stand_for_the_wait_with_a_remark)
{
    expect_legal(FIRST LOAD USE "mov.u32 %%r22, %%r20;\n" BEFORE SYNC SECOND WAIT_LD);
    expect_remark(FIRST LOAD "mov.u32 %%r22, %%r20;\n" BEFORE SYNC SECOND WAIT_LD,
                  EMU_ADVICE, "registers of a tcgen05.ld");
}

Test(emu_tensor_order, stores_are_waited_for_too)
{
    expect_legal(STORE WAIT_ST BEFORE SYNC SINGLE("1", AFTER MMA COMMIT) SPIN("1", "bar"));
    expect_found(STORE BEFORE SYNC SINGLE("1", AFTER MMA COMMIT) SPIN("1", "bar") WAIT_ST,
                 EMU_FINDING_RACE, "not ordered");
    expect_found(STORE LOAD WAIT_LD, EMU_FINDING_RACE, "not ordered");
    expect_legal(STORE WAIT_ST LOAD WAIT_LD USE);
}

/* Hardware keeps the order of a warp's own accesses; a value that is not there yet would be
 * undefined, and what depends on it an error. */
Test(emu_tensor_order, stores_that_are_not_waited_for_are_there_where_no_order_is_asked_for)
{
    const char *const body = STORE LOAD WAIT_LD USE WAIT_ST;
    expect_found(body, EMU_FINDING_RACE, "not ordered");
    more_settings = "races=off";
    expect_legal(body);
    more_settings = "allow=race";
    expect_legal(body);
    expect_remark(body, EMU_ADVICE, "not ordered");
}

Test(emu_tensor_order, operands_in_shared_memory_need_the_proxy_fence)
{
    expect_found(SINGLE("1", "st.shared.u32 [%%r2], %%r0;\n" MMA COMMIT) SPIN("1", "bar"),
                 EMU_FINDING_PROXY_FENCE, "");
    expect_legal(SINGLE("1", "st.shared.u32 [%%r2], %%r0;\nfence.proxy.async;\n" MMA COMMIT)
                     SPIN("1", "bar"));
    expect_found("st.shared.u32 [%%r2+4], %%r0;\nfence.proxy.async;\n" SINGLE("1", MMA),
                 EMU_FINDING_RACE, "");
}

/* Scale factors in shared memory, of which a copy is read by the tensor core's proxy too.
 */
#define STORE_SCALES "st.shared.u32 [%%r2+32768], %%r0;\n"

Test(emu_tensor_order, scale_factors_in_shared_memory_need_the_proxy_fence)
{
    expect_found(SINGLE("1", STORE_SCALES COPY COMMIT) SPIN("1", "bar"),
                 EMU_FINDING_PROXY_FENCE, "");
    expect_legal(SINGLE("1", STORE_SCALES "fence.proxy.async;\n" COPY COMMIT)
                     SPIN("1", "bar") AFTER);
    expect_found("st.shared.u32 [%%r2+32772], %%r0;\nfence.proxy.async;\n" SINGLE(
                     "1", COPY COMMIT) SPIN("1", "bar"),
                 EMU_FINDING_RACE, "");
}

Test(emu_tensor_order, scale_factors_stay_until_their_copies_have_been_committed)
{
    expect_found(SINGLE("1", COPY COMMIT STORE_SCALES) SPIN("1", "bar"), EMU_FINDING_RACE,
                 "");
    expect_legal(SINGLE("1", COPY COMMIT) SPIN("1", "bar") SINGLE("2", STORE_SCALES));
}

/* Scale factors that a bulk copy brings, and brings anew. */
#define BRING                                                                              \
    "add.u32 %%r22, %%r2, 32768;\nadd.s64 %%d20, %%d0, 32768;\nmov.u32 %%r23, bar;\n"      \
    "add.u32 %%r24, %%r23, 16;\n"                                                          \
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r24], 512;\n"                         \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%r22], [%%d20], " \
    "512, [%%r24];\n"

Test(emu_tensor_order, scale_factors_that_a_copy_brings_are_waited_for)
{
    expect_found(SINGLE("1", BRING COPY COMMIT) SPIN("1", "bar"), EMU_FINDING_RACE, "");
    expect_legal(SINGLE("1", BRING) SPIN("2", "bar+16") SINGLE("3", COPY SCALED_MMA COMMIT)
                     SPIN("1", "bar") AFTER LOAD WAIT_LD USE);
    /* the slot is filled again before the commit that covers the copy has arrived */
    expect_found(SINGLE("1", COPY COMMIT BRING) SPIN("1", "bar") SPIN("2", "bar+16"),
                 EMU_FINDING_RACE, "");
    expect_legal(SINGLE("1", COPY COMMIT) SPIN("1", "bar") SINGLE("3", BRING)
                     SPIN("2", "bar+16"));
}

Test(emu_tensor_order, an_id_in_an_address_is_that_of_the_descriptor)
{
#define MMA_WITH_ID(descriptor)                                                             \
    "or.b32 %%r25, %%r3, 0x40000040;\n"                                                     \
    "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%%r3], %%d10, %%d11, " descriptor \
    ", [%%r25], [%%r3+68], 0;\n"
    expect_legal(SINGLE("1", COPY MMA_WITH_ID("0x28880000") COMMIT) SPIN("1", "bar")
                     AFTER LOAD WAIT_LD USE);
    expect_remark(SINGLE("1", COPY MMA_WITH_ID("0x8880000") COMMIT) SPIN("1", "bar"),
                  EMU_WARNING, "factors of A says id 1, and the instruction descriptor 0");
    expect_remark(SINGLE("1", COPY MMA_WITH_ID("0x48880000") COMMIT) SPIN("1", "bar"),
                  EMU_WARNING, "factors of A says id 1, and the instruction descriptor 2");
}

Test(emu_tensor_order, operands_stay_until_the_commit_has_arrived)
{
    expect_found(SINGLE("1", MMA COMMIT "st.shared.u32 [%%r2], %%r0;\n") SPIN("1", "bar"),
                 EMU_FINDING_RACE, "");
    expect_legal(SINGLE("1", MMA COMMIT) SPIN("1", "bar")
                     SINGLE("2", "st.shared.u32 [%%r2], %%r0;\n"));
}

Test(emu_tensor_order, a_commit_follows_only_its_own_thread)
{
    const char *const body =
        "setp.ne.u32 %%p7, %%r0, 1;\n" SINGLE("1", MMA) "@%%p7 bra other;\n" COMMIT
                                                        "other:\n" SPIN("1", "bar")
                                                            AFTER LOAD WAIT_LD USE;
    expect_remark(body, EMU_WARNING, "issued no tcgen05.mma or .cp");
    expect_some(body);
}

Test(emu_tensor_order, commits_of_one_thread_arrive_in_their_order)
{
    expect_legal(SINGLE("1", MMA COMMIT MMA COMMIT_8) SPIN(
        "2", "bar+8") "mbarrier.test_wait.parity.shared::cta.b64 %%p4, [bar], 0;\n"
                      "@!%%p4 trap;\n" AFTER);
}

Test(emu_tensor_order, the_last_commit_may_arrive_when_the_cta_has_exited)
{
    expect_legal(SINGLE("1", MMA COMMIT COMMIT_8) SPIN("2", "bar") AFTER);
}

Test(emu_tensor_order, several_lanes_issue_several_operations)
{
    expect_remark("@%%p1 bra end;\n" MMA "end:\n", EMU_WARNING,
                  "32 lanes issue this tcgen05.mma");
}

Test(emu_tensor_order, scale_factors_may_be_overwritten_behind_an_mma_with_a_remark)
{
    const char *const body = SINGLE("1", COPY SCALED_MMA COPY SCALED_MMA COMMIT)
        SPIN("1", "bar") AFTER LOAD WAIT_LD USE;
    expect_legal(body);
    expect_remark(body, EMU_ADVICE, "whose scale factors it overwrites");
}

/* Known-good kernels rely on the order of the two pipelines, not on a wait without fence.
 */
Test(emu_tensor_order,
     scale_factors_whose_mma_was_waited_for_are_overwritten_behind_the_fence)
{
#define ROUND(fence, bar, commit)       \
    SINGLE("1", COPY SCALED_MMA commit) \
    SPIN("2", bar)                      \
    SINGLE("3", fence COPY SCALED_MMA COMMIT_8) SPIN("4", "bar+8") AFTER LOAD WAIT_LD USE
    expect_legal(ROUND(AFTER, "bar", COMMIT));
    expect_unfenced(ROUND("", "bar", COMMIT));
}

/* A ring of more columns than an MMA reads: what was overwritten long ago counts as well.
 */
Test(emu_tensor_order, all_scale_factors_of_a_ring_may_be_overwritten_behind_their_mma)
{
    struct emu_text body = {0};
    emu_text_add(&body, "@%%%%p2 bra end;\n");
    for (unsigned i = 0; i < 24; i++) {
        unsigned at = 64 + i % 12 * 4;
        emu_text_add(
            &body,
            "tcgen05.cp.cta_group::1.32x128b.warpx4 [%%%%r3+%u], %%%%d12;\n"
            "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%%%%r3], %%%%d10, "
            "%%%%d11, 0x8880000, [%%%%r3+%u], [%%%%r3+%u], 0;\n",
            at, at, at);
    }
    emu_text_add(&body, "%s", COMMIT "end:\n" SPIN("1", "bar") AFTER LOAD WAIT_LD USE);
    expect_legal(emu_text_get(&body));
    expect_remark(emu_text_get(&body), EMU_ADVICE, "whose scale factors it overwrites");
    emu_text_free(&body);
}

Test(emu_tensor_order, copies_of_one_thread_come_before_the_mma_of_another)
{
    const char *const pipelined = "setp.ne.u32 %%p7, %%r0, 32;\n" SINGLE("1", COPY BEFORE)
        SYNC "@%%p7 bra other;\n" AFTER SCALED_MMA COMMIT "other:\n" SPIN("1", "bar")
            AFTER LOAD WAIT_LD USE SINGLE("2", COMMIT_8) SPIN("2", "bar+8");
    expect_legal(pipelined);
    /* without the fences: the MMA may even come first, and find nothing */
    expect_some("setp.ne.u32 %%p7, %%r0, 32;\n" SINGLE("1", COPY) SYNC
                "@%%p7 bra other;\n" SCALED_MMA COMMIT "other:\n" SPIN("1", "bar"));
}

Test(emu_tensor_order, what_an_mma_reads_must_be_defined)
{
    expect_found(SINGLE("1", MMA_OF("1") COMMIT) SPIN("1", "bar"), EMU_FINDING_UNDEFINED,
                 "D, which enable-input-d asks for");
    expect_found(SINGLE("1", SCALED_MMA COMMIT) SPIN("1", "bar"), EMU_FINDING_UNDEFINED,
                 "scale factors of A");
    expect_found(SINGLE("1", "tcgen05.mma.cta_group::1.kind::f16 [%%r3], [%%r3+64], %%d11, "
                             "0x8080490, 0;\n" COMMIT) SPIN("1", "bar"),
                 EMU_FINDING_UNDEFINED, "A of tcgen05.mma");
    expect_found(SINGLE("1", MMA_OF("%%p9")), EMU_FINDING_UNDEFINED, "enable-input-d");
}

Test(emu_tensor_order, scale_factors_must_be_in_all_partitions)
{
    /* every warp writes its number plus 127: the four quarters differ */
    expect_found("add.u32 %%r20, %%r1, 127;\nadd.u32 %%r3, %%r3, 64;\n"
                 "tcgen05.st.sync.aligned.32x32b.x4.b32 [%%r3], {%%r20, %%r20, %%r20, "
                 "%%r20};\ntcgen05.st.sync.aligned.32x32b.x2.b32 [%%r3+4], {%%r20, "
                 "%%r20};\n" WAIT_ST "sub.u32 %%r3, %%r3, 64;\n" BEFORE SYNC SINGLE(
                     "1", AFTER SCALED_MMA COMMIT) SPIN("1", "bar"),
                 EMU_FINDING_TENSOR_MEMORY, "must be the same in all partitions");
}

Test(emu_tensor_order, nothing_is_freed_while_an_mma_works_on_it)
{
    struct harness h;
    cr_expect_not(run(&h, EMU_ASYNC_LATEST, 0, SINGLE("1", MMA)));
    cr_expect_not_null(strstr(harness_text(&h), "is freed while tcgen05.mma"), "%s",
                       harness_text(&h));
    harness_close(&h);
    cr_expect_not(run(&h, EMU_ASYNC_EAGER, 0, SINGLE("1", MMA)));
    cr_expect_eq(harness_found(&h, EMU_FINDING_RACE), 1, "%s", harness_text(&h));
    harness_close(&h);
}

/* Warp 4 loads, then issues an MMA elsewhere and commits; warp 0, which reaches the same
 * lanes, hears of the commit and overwrites what was loaded. */
#define CHAIN(early, late)                                                               \
    "setp.eq.u32 %%p4, %%r1, 4;\nsetp.eq.u32 %%p5, %%r1, 0;\n"                           \
    "setp.ne.u32 %%p6, %%r0, 128;\n@%%p4 bra loads;\n@%%p5 bra stores;\nbra end;\n"      \
    "loads:\n" LOAD early "@%%p6 bra issued;\n"                                          \
    "tcgen05.mma.cta_group::1.kind::f16 [%%r3+64], %%d10, %%d11, 0x8080490, 0;\n" COMMIT \
    "issued:\n" late "bra end;\nstores:\n" SPIN("1", "bar") AFTER STORE WAIT_ST "end:\n"

Test(emu_tensor_order, a_commit_passes_on_what_its_thread_has_done)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct harness h;
        cr_expect(run_threads(&h, modes[i], 1, CHAIN(WAIT_LD, ""), 160), "mode %zu: %s", i,
                  harness_text(&h));
        cr_expect_eq(harness_found(&h, EMU_FINDING_TENSOR_FENCE), 0, "%s",
                     harness_text(&h));
        harness_close(&h);
        cr_expect_not(run_threads(&h, modes[i], 1, CHAIN("", WAIT_LD), 160), "mode %zu", i);
        cr_expect_eq(harness_found(&h, EMU_FINDING_RACE), 1, "%s", harness_text(&h));
        harness_close(&h);
    }
}
