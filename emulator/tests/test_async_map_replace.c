/* SPDX-License-Identifier: MIT */
/* Tensor maps that a kernel changes, and the fences that this needs. */
#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"
#include "test_async_support.h"

/*
 * Thread 0 fetches the template (a parameter) into shared memory at %r1 + 1024, changes it
 * there, and warp 0 copies it to global memory at `place` (%rd2); then thread 0 loads 8
 * words by it to %r5, and does what `use` says. %rd3: address of another tensor.
 */
#define MAPPED(before, replace, acquire, use)                                             \
    KERNEL_WITH(                                                                          \
        ", .param .align 64 .b8 map[128], .param .u64 place, .param .u64 other",          \
        "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u64 %rd2, [place];\n"   \
        "ld.param.u64 %rd3, [other];\n" INIT(0, 1) before                                 \
        "shl.b32 %r2, %r0, 2;\ncvt.u64.u32 %rd4, %r2;\nadd.u64 %rd5, %rd1, %rd4;\n"       \
        "ld.u32 %r3, [%rd5];\nadd.u32 %r2, %r2, %r1;\nst.shared.u32 [%r2+1024], %r3;\n"   \
        "bar.warp.sync 0xFFFFFFFF;\nadd.u32 %r4, %r1, 1024;\n" replace                    \
        "bar.warp.sync 0xFFFFFFFF;\n"                                                     \
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync." \
        "aligned [%rd2], [%r4], 128;\n" acquire                                           \
        "@!%p0 bra END;\nadd.u32 %r5, %r1, 2048;\n"                                       \
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 32;\n"                            \
        "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r5], " \
        "[%rd2, {0}], [%r1];\n" use "END:\n")
/* ... waits for them and dumps them. */
#define LOADED                           WAIT("W", 0, 0) DUMP("D", 2048, 8)
#define CHANGE(before, replace, acquire) MAPPED(before, replace, acquire, LOADED)
#define ACQUIRE                          "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n"
#define REPLACE(words, value) \
    "@%p0 tensormap.replace.tile." words ".shared::cta.b1024" value ";\n"

/* Runs on two tensors of 16 words, 1000 + i and 2000 + i, with a map of the first 8 words
 * of the first. */
static bool run_in(struct harness *h, const char *ptx, enum emu_async_mode mode,
                   uint32_t *found)
{
    uint32_t words[2][16];
    for (uint32_t i = 0; i < 16; i++) {
        words[0][i] = 1000 + i;
        words[1][i] = 2000 + i;
    }
    uint64_t out = async_open(h, ptx, 32);
    h->settings.async = mode;
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 1,
                                  .base = harness_buffer(h, "first", 64, words[0]),
                                  .dims = {16},
                                  .box = {8}};
    async_param_map(h, &map);
    harness_param_u64(h, harness_buffer(h, "maps", 256, NULL));
    harness_param_u64(h, harness_buffer(h, "second", 64, words[1]));
    bool good = harness_run(h, 1, 32);
    harness_read(h, out, found, 32);
    return good;
}

static bool run(struct harness *h, const char *ptx, uint32_t *found)
{
    return run_in(h, ptx, EMU_ASYNC_RANDOM, found);
}

static void expect_loaded(const char *ptx, uint32_t first, uint32_t inside)
{
    struct harness h;
    uint32_t found[8];
    cr_expect(run(&h, ptx, found), "%s", harness_text(&h));
    async_expect_clean(&h);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t expected = i < inside ? first + i : 0;
        cr_expect_eq(found[i], expected, "word %u is %u", i, found[i]);
    }
    harness_close(&h);
}

Test(async_map_replace, another_address)
{
    expect_loaded(CHANGE("", REPLACE("global_address", ".b64 [%r4], %rd3"), ACQUIRE), 2000,
                  8);
}

Test(async_map_replace, another_dimension)
{
    expect_loaded(CHANGE("",
                         "mov.u32 %r6, 5;\n" REPLACE("global_dim", ".b32 [%r4], 0, %r6"),
                         ACQUIRE),
                  1000, 5);
}

static void expect_error(const char *ptx, enum emu_finding finding, const char *words)
{
    struct harness h;
    uint32_t found[8];
    cr_expect_not(run(&h, ptx, found));
    async_expect_error(&h, finding, words);
    harness_close(&h);
}

Test(async_map_replace, use_without_the_acquire_fence_is_found)
{
    expect_error(CHANGE("", REPLACE("global_address", ".b64 [%r4], %rd3"), ""),
                 EMU_FINDING_DESCRIPTOR, "acquire of this CTA stands between");
    /* An acquire before the change does not help. */
    expect_error(CHANGE(ACQUIRE, REPLACE("global_address", ".b64 [%r4], %rd3"), ""),
                 EMU_FINDING_DESCRIPTOR, "acquire of this CTA stands between");
}

Test(async_map_replace, change_in_global_memory_needs_the_fence_too)
{
    expect_error(CHANGE("", "",
                        ACQUIRE
                        "@%p0 tensormap.replace.tile.global_address.global.b1024.b64 "
                        "[%rd2], %rd3;\n"),
                 EMU_FINDING_DESCRIPTOR, "acquire of this CTA stands between");
    expect_loaded(CHANGE("", "",
                         "@%p0 tensormap.replace.tile.global_address.global.b1024.b64 "
                         "[%rd2], %rd3;\n"
                         "fence.proxy.tensormap::generic.release.gpu;\n" ACQUIRE),
                  2000, 8);
}

/* The first launch changes the map and ends; the second one only loads by it. */
#define FIRST_ONLY(acquire)                               \
    CHANGE("setp.ne.u64 %p3, %rd3, 0;\n@!%p3 bra USE;\n", \
           REPLACE("global_address", ".b64 [%r4], %rd3"), "bra END;\nUSE:\n" acquire)

enum between { NOTHING, HOST_WRITES };

static void expect_second(const char *ptx, enum between between, bool is_good)
{
    struct harness h;
    uint32_t words[16], found[8];
    for (uint32_t i = 0; i < 16; i++) {
        words[i] = 1000 + i;
    }
    const uint64_t out = async_open(&h, ptx, 32);
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 1,
                                  .base = harness_buffer(&h, "first", 64, words),
                                  .dims = {16},
                                  .box = {8}};
    async_param_map(&h, &map);
    const uint64_t place = harness_buffer(&h, "maps", 256, NULL);
    const size_t at = h.param_bytes + sizeof(place);
    harness_param_u64(&h, place);
    harness_param_u64(&h, map.base);
    cr_assert(harness_run(&h, 1, 32), "%s", harness_text(&h));
    if (between == HOST_WRITES) {
        unsigned char bytes[EMU_MAP_BYTES];
        cr_assert(emu_memory_read(h.memory, place, bytes, sizeof(bytes)));
        cr_assert(emu_memory_write(h.memory, place, bytes, sizeof(bytes)));
    }
    memset(h.params + at, 0, sizeof(place));
    cr_expect_eq(harness_run(&h, 1, 32), is_good, "%s", harness_text(&h));
    if (is_good) {
        harness_read(&h, out, found, sizeof(found));
        cr_expect_eq(found[7], 1007);
    } else {
        async_expect_error(&h, EMU_FINDING_DESCRIPTOR,
                           "acquire of this CTA stands between");
    }
    harness_close(&h);
}

Test(async_map_replace, change_by_a_grid_before_needs_the_fence_too)
{
    expect_second(FIRST_ONLY(""), NOTHING, false);
    expect_second(FIRST_ONLY(ACQUIRE), NOTHING, true);
    /* What the host writes is there when the launch begins. */
    expect_second(FIRST_ONLY(""), HOST_WRITES, true);
}

#define REPLACE_IN_PLACE \
    "tensormap.replace.tile.global_address.global.b1024.b64 [%rd2], %rd3;\n"
#define STORE                                                                     \
    "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {8}], [%r5];\n" \
    "cp.async.bulk.commit_group;\n"

/* In every asynchrony; it is found where the copy takes effect late. */
static void expect_held(const char *ptx, bool is_found)
{
    for (int i = 0; i < 2; i++) {
        struct harness h;
        uint32_t found[8];
        const bool is_late = i == 1;
        const bool good =
            run_in(&h, ptx, is_late ? EMU_ASYNC_LATEST : EMU_ASYNC_EAGER, found);
        cr_expect_eq(good, !(is_found && is_late), "%s", harness_text(&h));
        if (!good) {
            async_expect_error(&h, EMU_FINDING_DESCRIPTOR,
                               "was changed while this copy was under way");
        } else if (!is_found) {
            async_expect_clean(&h);
        }
        harness_close(&h);
    }
}

Test(async_map_replace, change_under_a_load_is_found)
{
    expect_held(MAPPED("", "", ACQUIRE, REPLACE_IN_PLACE LOADED), true);
    expect_held(MAPPED("", "", ACQUIRE, LOADED REPLACE_IN_PLACE), false);
}

Test(async_map_replace, change_under_a_store_is_found_until_its_source_was_read)
{
    expect_held(MAPPED("", "", ACQUIRE,
                       LOADED STORE REPLACE_IN_PLACE "cp.async.bulk.wait_group 0;\n"),
                true);
    expect_held(MAPPED("", "", ACQUIRE,
                       LOADED STORE "cp.async.bulk.wait_group.read 0;\n" REPLACE_IN_PLACE
                                    "cp.async.bulk.wait_group 0;\n"),
                false);
}

Test(async_map_replace, values_are_checked)
{
    expect_error(
        CHANGE("", "mov.u32 %r6, 300;\n" REPLACE("box_dim", ".b32 [%r4], 0, %r6"), ACQUIRE),
        EMU_FINDING_DESCRIPTOR, "box_dim of 300 is out of range");
    expect_error(
        CHANGE("", "mov.u32 %r6, 5;\n" REPLACE("rank", ".b32 [%r4], %r6"), ACQUIRE),
        EMU_FINDING_DESCRIPTOR, "rank of 5 is out of range");
    /* What does not go together is found at the use. */
    expect_error(CHANGE("",
                        REPLACE("swizzle_mode", ".b32 [%r4], 1")
                            REPLACE("swizzle_atomicity", ".b32 [%r4], 2"),
                        ACQUIRE),
                 EMU_FINDING_DESCRIPTOR, "swizzle mode 1 with atom 2");
    expect_error(CHANGE("", REPLACE("elemtype", ".b32 [%r4], 9"), ACQUIRE),
                 EMU_FINDING_BARRIER, "more bytes were delivered");
    expect_error(CHANGE("", "@%p0 st.shared.u32 [%r4+8], 0;\n", ACQUIRE),
                 EMU_FINDING_DESCRIPTOR, "no tensor map");
    expect_error(CHANGE("", "@%p0 st.shared.u32 [%r4], 0;\n", ACQUIRE),
                 EMU_FINDING_DESCRIPTOR, "check sum does not fit");
}

Test(async_map_replace, every_field_can_be_set)
{
    expect_loaded(
        CHANGE("",
               "mov.u32 %r6, 8;\nmov.u32 %r7, 1;\nmov.u32 %r8, 0;\n"
               "mov.u64 %rd6, 64;\n" REPLACE("box_dim", ".b32 [%r4], 0, %r6")
                   REPLACE("rank", ".b32 [%r4], %r8")
                       REPLACE("element_stride", ".b32 [%r4], 1, %r7")
                           REPLACE("global_stride", ".b64 [%r4], 0, %rd6")
                               REPLACE("elemtype", ".b32 [%r4], 7")
                                   REPLACE("interleave_layout", ".b32 [%r4], 0")
                                       REPLACE("swizzle_mode", ".b32 [%r4], 0")
                                           REPLACE("swizzle_atomicity", ".b32 [%r4], 0")
                                               REPLACE("fill_mode", ".b32 [%r4], 0"),
               ACQUIRE),
        1000, 8);
}

static void expect_refusal(const char *ptx, const char *words)
{
    struct harness h;
    harness_open(&h);
    cr_expect_not(harness_try_load(&h, ptx));
    cr_expect_not_null(strstr(h.error.text, words), "%s", h.error.text);
    harness_close(&h);
}

Test(async_map_replace, malformed_instructions_are_refused)
{
    expect_refusal(
        KERNEL("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r1], "
               "%r0;\n"),
        "not an integer constant");
    expect_refusal(
        KERNEL("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r1], 5;\n"),
        "a number from 0 to 4");
    expect_refusal(
        KERNEL("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1], "
               "4, %rd0;\n"),
        "a number from 0 to 3");
    expect_refusal(KERNEL("tensormap.replace.tile.global_address.shared::cta.b1024.b32 "
                          "[%r1], %r0;\n"),
                   "must be .b1024 and .b64");
    expect_refusal(KERNEL("fence.proxy.tensormap::generic.acquire.gpu [%rd0], 64;\n"),
                   "its size must be 128");
}

/* --------------------------------------------------------------------------- prefetching
 */

Test(async_map_replace, prefetch_checks_what_it_is_given)
{
    struct harness h;
    async_open(&h,
               KERNEL_MAP("prefetch.tensormap [%rd1];\n"
                          "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%rd1, "
                          "{4}];\n"),
               4);
    const struct async_map map = {
        .type = EMU_MAP_U32, .rank = 1, .base = 4096, .dims = {16}, .box = {8}};
    async_param_map(&h, &map);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_close(&h);
    async_open(&h, KERNEL("@%p0 prefetch.tensormap [%rd0];\n"), 128);
    unsigned char zero[128] = {0};
    emu_memory_write(h.memory, *(uint64_t *)(void *)h.params, zero, sizeof(zero));
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_DESCRIPTOR, "no tensor map");
    harness_close(&h);
    async_open(&h, KERNEL("add.u64 %rd0, %rd0, 32;\n@%p0 prefetch.tensormap [%rd0];\n"),
               256);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_MISALIGNED, "not aligned to 64 bytes");
    harness_close(&h);
    async_open(&h,
               KERNEL("cvt.u64.u32 %rd2, %r1;\ncvta.shared.u64 %rd2, %rd2;\n"
                      "@%p0 prefetch.tensormap [%rd2];\n"),
               4);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_DESCRIPTOR, "must be a parameter");
    harness_close(&h);
}
