/* SPDX-License-Identifier: MIT */
/* Bulk copies in all directions, their groups, and what goes wrong with them. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_async_support.h"

#define BYTES 4096u
#define WORDS (BYTES / 4)

static void fill(uint32_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        words[i] = i * 2654435761u;
    }
}

/* Global → shared → global, by thread 0; parameters: out, source, bytes. */
#define WITH_SOURCE(body)                                                    \
    KERNEL_WITH(", .param .u64 source, .param .u32 bytes",                   \
                "ld.param.u64 %rd1, [source];\nld.param.u32 %r2, [bytes];\n" \
                "add.u32 %r3, %r1, 1024;\n" body)
static const char round_trip[] = WITH_SOURCE(INIT(
    0, 1) "@!%p0 bra END;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r2;\n"
          "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r3], "
          "[%rd1], %r2, [%r1];\n" WAIT(
              "W", 0, 0) "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], %r2;\n"
                         "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
                         "cp.async.bulk.wait_group 0;\nEND:\n");

static void run_round_trip(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t source[WORDS];
    uint32_t found[WORDS];
    fill(source, WORDS);
    uint64_t out = async_open(&h, round_trip, BYTES);
    h.settings = *settings;
    harness_param_u64(&h, harness_buffer(&h, "source", BYTES, source));
    harness_param_u32(&h, BYTES);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, found, sizeof(found));
    cr_expect_arr_eq(found, source, sizeof(found));
    harness_close(&h);
}

Test(async_bulk, global_to_shared_and_back)
{
    async_in_all_modes(run_round_trip);
}

static void expect_error(const char *ptx, uint32_t bytes, enum emu_finding finding,
                         const char *words)
{
    struct harness h;
    uint32_t source[WORDS];
    fill(source, WORDS);
    async_open(&h, ptx, BYTES);
    harness_param_u64(&h, harness_buffer(&h, "source", BYTES, source));
    harness_param_u32(&h, bytes);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, finding, words);
    harness_close(&h);
}

Test(async_bulk, sizes_and_addresses_are_multiples_of_16)
{
#define LOAD(dst, src)                                                                     \
    WITH_SOURCE(INIT(0, 1) "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r2;\n"    \
                           "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::" \
                           "bytes [" dst "], [" src "], %r2, [%r1];\n" WAIT("W", 0, 0))
    expect_error(LOAD("%r3", "%rd1"), 24, EMU_FINDING_MISALIGNED, "a copy of 24 bytes");
    expect_error(LOAD("%r3", "%rd1+8"), 32, EMU_FINDING_MISALIGNED, "global address");
    expect_error(LOAD("%r3+8", "%rd1"), 32, EMU_FINDING_MISALIGNED, "shared offset 2056");
    expect_error(LOAD("%r3", "%rd1"), BYTES + 16, EMU_FINDING_OUT_OF_BOUNDS, "source");
    expect_error(LOAD("%r1", "%rd1"), 32, EMU_FINDING_BARRIER, "write over the mbarrier");
}

/* Two copies by one instruction, for one phase: the second to `step` bytes behind the
 * first. */
#define TWO_COPIES(step)                                                            \
    WITH_SOURCE(                                                                    \
        INIT(0, 1) "@!%p0 bra END;\n"                                               \
                   "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;\n"           \
                   "mov.u32 %r4, 0;\nL:\n"                                          \
                   "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes " \
                   "[%r3], [%rd1], %r2, [%r1];\nadd.u64 %rd1, %rd1, 32;\n"          \
                   "add.u32 %r3, %r3, " step ";\nadd.u32 %r4, %r4, 1;\n"            \
                   "setp.lt.u32 %p1, %r4, 2;\n@%p1 bra L;\n" WAIT("W", 0, 0) "END:\n")

static void run_two_to_one_place(const struct emu_settings *settings)
{
    static const uint32_t source[WORDS];
    struct harness h;
    async_open(&h, TWO_COPIES("16"), BYTES);
    h.settings = *settings;
    harness_param_u64(&h, harness_buffer(&h, "source", BYTES, source));
    harness_param_u32(&h, 32);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_RACE, "nothing orders them");
    harness_close(&h);
    async_open(&h, TWO_COPIES("32"), BYTES);
    h.settings = *settings;
    harness_param_u64(&h, harness_buffer(&h, "source", BYTES, source));
    harness_param_u32(&h, 32);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_close(&h);
}

Test(async_bulk, copies_of_one_loop_to_one_place_are_a_race)
{
    async_in_all_modes(run_two_to_one_place);
}

Test(async_bulk, ignored_ends_need_not_be_there_and_are_undefined)
{
#define RAGGED(tail)                                                                     \
    WITH_SOURCE(INIT(                                                                    \
        0, 1) "@!%p0 bra END;\n"                                                         \
              "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 32;\n"                     \
              "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::"                 \
              "bytes.ignore_oob [%r3], [%rd1+4080], 32, 0, 15, [%r1];\n" WAIT("W", 0, 0) \
                    tail "END:\n")
    struct harness h;
    uint32_t source[WORDS + 1];
    fill(source, WORDS + 1);
    uint64_t out = async_open(&h,
                              RAGGED("ld.shared.u32 %r4, [%r3+12];\n"
                                     "st.global.u32 [%rd0], %r4;\n"),
                              4);
    harness_param_u64(&h, harness_buffer(&h, "source", BYTES + 4, source));
    harness_param_u32(&h, 0);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    uint32_t found = 0;
    harness_read(&h, out, &found, 4);
    cr_expect_eq(found, source[1023]);
    harness_close(&h);
    async_open(&h, RAGGED("ld.shared.u32 %r4, [%r3+28];\nst.global.u32 [%rd0], %r4;\n"), 4);
    harness_param_u64(&h, harness_buffer(&h, "source", BYTES + 1, source));
    harness_param_u32(&h, 0);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_UNDEFINED, "undefined");
    harness_close(&h);
}

Test(async_bulk, byte_mask_picks_bytes_of_each_16)
{
    struct harness h;
    uint32_t found[8];
    uint64_t out = async_open(&h,
                              KERNEL("shl.b32 %r2, %r0, 2;\nadd.u32 %r2, %r2, %r1;\n"
                                     "st.shared.u32 [%r2], 0x11223344;\n"
                                     "fence.proxy.async;\nbar.sync 0;\n@!%p0 bra END;\n"
                                     "mov.b16 %h1, 0x800F;\n"
                                     "cp.async.bulk.global.shared::cta.bulk_group.cp_mask "
                                     "[%rd0], [%r1], 32, %h1;\n"
                                     "cp.async.bulk.commit_group;\n"
                                     "cp.async.bulk.wait_group 0;\nEND:\n"),
                              32);
    memset(found, 0, sizeof(found));
    emu_memory_write(h.memory, out, found, sizeof(found));
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    harness_read(&h, out, found, sizeof(found));
    for (unsigned i = 0; i < 8; i += 4) {
        cr_expect_eq(found[i], 0x11223344);
        cr_expect_eq(found[i + 1], 0);
        cr_expect_eq(found[i + 3], 0x11000000);
    }
    harness_close(&h);
}

/* CTA 0 sends 64 words to CTA 1, which sends them to out. */
#define TO_PEER(copy)                                                                      \
    KERNEL("mov.u32 %r5, %cluster_ctarank;\nsetp.eq.u32 %p2, %r5, 0;\n" INIT(              \
        0, 1) "add.u32 %r3, %r1, 1024;\nshl.b32 %r4, %r0, 2;\nadd.u32 %r4, %r4, %r3;\n"    \
              "add.u32 %r6, %r0, 7;\n@%p2 st.shared.u32 [%r4], %r6;\n"                     \
              "@!%p2 st.shared.u32 [%r4], %r0;\nfence.proxy.async;\n"                      \
              "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"                           \
              "mapa.shared::cluster.u32 %r7, %r1, 1;\nadd.u32 %r8, %r7, 1024;\n"           \
              "@!%p0 bra MEET;\n@!%p2 bra RECEIVE;\n" copy "bra MEET;\n"                   \
              "RECEIVE:\nmbarrier.arrive.expect_tx.shared.b64 _, [%r1], 128;\n" WAIT("W",  \
                                                                                     0, 0) \
                  DUMP("D", 1024,                                                          \
                       32) "MEET:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n")

static const char *peer_ptx;
static uint32_t peer_offset, peer_factor;

static void run_to_peer(const struct emu_settings *settings)
{
    struct harness h;
    uint32_t found[32];
    uint64_t out = async_open(&h, peer_ptx, sizeof(found));
    h.settings = *settings;
    cr_expect(harness_run_clusters(&h, 2, 32, 2), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, found, sizeof(found));
    for (uint32_t i = 0; i < 32; i++) {
        cr_expect_eq(found[i], i * peer_factor + peer_offset);
    }
    harness_close(&h);
}

Test(async_bulk, shared_to_another_ctas_shared_memory)
{
    peer_ptx = TO_PEER("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
                       "bytes [%r8], [%r3], 128, [%r7];\n");
    peer_offset = 7;
    peer_factor = 1;
    async_in_all_modes(run_to_peer);
}

Test(async_bulk, reduction_in_another_ctas_shared_memory)
{
    peer_ptx = TO_PEER("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::"
                       "complete_tx::bytes.add.u32 [%r8], [%r3], 128, [%r7];\n");
    peer_offset = 7;
    peer_factor = 2;
    async_in_all_modes(run_to_peer);
}

Test(async_bulk, shared_to_own_shared_memory_is_refused)
{
    struct harness h;
    async_open(&h,
               TO_PEER("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
                       "bytes [%r3], [%r3], 128, [%r1];\n"),
               128);
    cr_expect_not(harness_run_clusters(&h, 2, 32, 2));
    async_expect_error(&h, EMU_FINDING_ILLEGAL, "to another CTA of the cluster");
    harness_close(&h);
}

Test(async_bulk, reduction_in_global_memory)
{
    struct harness h;
    uint32_t found[64];
    uint64_t out = async_open(&h,
                              KERNEL("shl.b32 %r2, %r0, 2;\nadd.u32 %r2, %r2, %r1;\n"
                                     "st.shared.u32 [%r2], %r0;\nfence.proxy.async;\n"
                                     "bar.sync 0;\n@!%p0 bra END;\n"
                                     "cp.reduce.async.bulk.global.shared::cta.bulk_group."
                                     "max.s32 [%rd0], [%r1], 256;\n"
                                     "cp.async.bulk.commit_group;\n"
                                     "cp.async.bulk.wait_group 0;\nEND:\n"),
                              256);
    for (uint32_t i = 0; i < 64; i++) {
        found[i] = i % 2 == 0 ? 40 : UINT32_MAX;
    }
    emu_memory_write(h.memory, out, found, sizeof(found));
    cr_expect(harness_run(&h, 1, 64), "%s", harness_text(&h));
    harness_read(&h, out, found, sizeof(found));
    for (uint32_t i = 0; i < 64; i++) {
        cr_expect_eq(found[i], i % 2 == 0 && i < 40 ? 40 : i);
    }
    harness_close(&h);
}

Test(async_bulk, proxy_fence_for_global_memory_is_none_for_shared_memory)
{
    struct harness h;
    async_open(&h,
               KERNEL("@!%p0 bra END;\nst.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0};\n"
                      "fence.proxy.async.global;\n"
                      "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;\n"
                      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:\n"),
               16);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_PROXY_FENCE, "for shared memory");
    harness_close(&h);
}

Test(async_bulk, prefetch_does_nothing_but_checks)
{
    struct harness h;
    uint32_t source[WORDS] = {0};
    async_open(&h,
               WITH_SOURCE("@%p0 cp.async.bulk.prefetch.L2.global [%rd1], 4096;\n"
                           "@%p0 cp.async.bulk.prefetch.L2.global [%rd1], 8192;\n"),
               4);
    harness_param_u64(&h, harness_buffer(&h, "source", BYTES, source));
    harness_param_u32(&h, 0);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    cr_expect_eq(harness_found(&h, EMU_FINDING_OUT_OF_BOUNDS), 1, "%s", harness_text(&h));
    harness_close(&h);
}

/* ------------------------------------------------------------------------------- groups */

/* Three groups of one store each, of words 0, 1 and 2 (16 bytes each); then `wait`. */
#define GROUPS(wait)                                                                 \
    KERNEL("shl.b32 %r2, %r0, 2;\nadd.u32 %r2, %r2, %r1;\nst.shared.u32 [%r2], 5;\n" \
           "fence.proxy.async;\nbar.sync 0;\n@!%p0 bra END;\n"                       \
           "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;\n"        \
           "cp.async.bulk.commit_group;\n"                                           \
           "cp.async.bulk.global.shared::cta.bulk_group [%rd0+16], [%r1+16], 16;\n"  \
           "cp.async.bulk.commit_group;\n"                                           \
           "cp.async.bulk.global.shared::cta.bulk_group [%rd0+32], [%r1+32], 16;\n"  \
           "cp.async.bulk.commit_group;\n" wait "cp.async.bulk.wait_group 0;\nEND:\n")

static const char *groups_ptx;

static void run_groups(const struct emu_settings *settings)
{
    struct harness h;
    async_open(&h, groups_ptx, 64);
    h.settings = *settings;
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_close(&h);
}

Test(async_bulk, wait_group_covers_the_oldest_groups)
{
    /* One may remain: sources 0 and 1 may be written, results 0 and 1 read. */
    groups_ptx = GROUPS("cp.async.bulk.wait_group 1;\nst.shared.u32 [%r1], 1;\n"
                        "st.shared.u32 [%r1+16], 1;\nld.global.u32 %r3, [%rd0+16];\n");
    async_in_all_modes(run_groups);
    groups_ptx = GROUPS("cp.async.bulk.wait_group.read 0;\nst.shared.u32 [%r1+32], 1;\n");
    async_in_all_modes(run_groups);
}

static void expect_race(const char *ptx)
{
    struct harness h;
    async_open(&h, ptx, 64);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_RACE, "nothing orders them");
    harness_close(&h);
}

Test(async_bulk, what_wait_group_leaves_open_is_a_race)
{
    expect_race(GROUPS("cp.async.bulk.wait_group 1;\nst.shared.u32 [%r1+32], 1;\n"));
    expect_race(GROUPS("cp.async.bulk.wait_group.read 2;\nst.shared.u32 [%r1+16], 1;\n"));
    expect_race(GROUPS("cp.async.bulk.wait_group.read 0;\nst.global.u32 [%rd0], 1;\n"));
}

/* Hardware lets such stores finish, and kernels that are known to run rely on it. */
Test(async_bulk, cta_that_does_not_wait_for_its_stores_gets_advice)
{
    const char *ptx = KERNEL("mov.u32 %r2, 5;\nst.shared.v4.u32 [%r1], {%r2, %r2, %r2, "
                             "%r2};\nfence.proxy.async;\n"
                             "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], "
                             "16;\ncp.async.bulk.commit_group;\n");
    const enum emu_async_mode modes[] = {EMU_ASYNC_EAGER, EMU_ASYNC_LATEST};
    for (unsigned i = 0; i < 2; i++) {
        struct harness h;
        uint32_t found[4];
        uint64_t out = async_open(&h, ptx, sizeof(found));
        h.settings.async = modes[i];
        cr_expect(harness_run(&h, 1, 1), "%s", harness_text(&h));
        async_expect_clean(&h);
        cr_expect_eq(harness_found(&h, EMU_FINDING_IN_FLIGHT), 1, "%s", harness_text(&h));
        harness_read(&h, out, found, sizeof(found));
        cr_expect_eq(found[3], 5);
        harness_close(&h);
    }
}
