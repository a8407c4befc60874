/* SPDX-License-Identifier: MIT */
/* tcgen05.cp: where each shape puts its rows; tcgen05.commit; refusals. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_tensor_support.h"

#define IMAGE_BYTES 8192u
/* No swizzle: 16-byte columns 2048 bytes apart, 8 rows every 128 bytes. */
#define DESCRIPTOR UINT64_C(0x0000400800800000)

static uint8_t image[2 * IMAGE_BYTES];
static uint32_t out_words[256 * 8];

static void fill_image(void)
{
    for (unsigned i = 0; i < sizeof(image); i++) {
        image[i] = (uint8_t)(emu_mix(i, 5) >> 11);
    }
}

/* The word of row `row`, column `column` of the source; of CTA `rank`. */
static uint32_t get_source(unsigned rank, unsigned row, unsigned column)
{
    uint32_t word = 0;
    memcpy(&word,
           image + rank * IMAGE_BYTES + row / 8 * 128 + row % 8 * 16 + column / 4 * 2048 +
               column % 4 * 4,
           4);
    return word;
}

/* Clears tensor memory, copies, reads 8 columns of every lane. Returns whether something is
 * said of who issues the copy. */
static bool copy_from(unsigned ctas, const char *shape, unsigned issuer)
{
    struct harness h;
    struct emu_text text = {0};
    uint64_t out = 0;
    harness_open(&h);
    h.settings.async = EMU_ASYNC_RANDOM;
    begin_kernel(&text, 100, 128, IMAGE_BYTES);
    add_tensor_setup(&text, ctas, 64);
    emu_text_add(&text,
                 "mov.u32 %%r20, 0;\ntcgen05.st.sync.aligned.32x32b.x8.b32 [%%r3], "
                 "{%%r20, %%r20, %%r20, %%r20, %%r20, %%r20, %%r20, %%r20};\n"
                 "tcgen05.wait::st.sync.aligned;\n"
                 "tcgen05.fence::before_thread_sync;\n"
                 "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
                 "tcgen05.fence::after_thread_sync;\n"
                 "mov.u32 %%r10, %%cluster_ctarank;\nxor.b32 %%r10, %%r10, %u;\n"
                 "or.b32 %%r10, %%r10, %%r0;\n"
                 "setp.ne.u32 %%p2, %%r10, 0;\nmov.u16 %%h0, %u;\n",
                 issuer, ctas == 2 ? 3 : 1);
    add_descriptor(&text, 10, DESCRIPTOR, 0);
    add_single(&text,
               "tcgen05.cp.cta_group::%u.%s [%%r3], %%d10;\n"
               "tcgen05.commit.cta_group::%u.mbarrier::arrive::one.shared::cluster"
               ".multicast::cluster.b64 [bar], %%h0;\n",
               ctas, shape, ctas);
    add_wait(&text, 0, 0);
    add_dump(&text, 8);
    add_tensor_teardown(&text, ctas, 64);
    end_kernel(&text);
    cr_assert(
        run_kernel(&h, &text, image, IMAGE_BYTES, ctas, 128, ctas, &out, ctas * 128 * 8),
        "%s: %s", shape, harness_text(&h));
    harness_read(&h, out, out_words, (uint64_t)ctas * 128 * 8 * 4);
    bool is_advised = strstr(harness_text(&h), "that the CTA of odd rank issues") != NULL;
    harness_close(&h);
    return is_advised;
}

static void copy(unsigned ctas, const char *shape)
{
    cr_assert_not(copy_from(ctas, shape, 0), "%s", shape);
}

/* Lane `lane` must hold source row `row` (or zeros, -1) in `columns` columns. */
static void expect_lane(const char *shape, unsigned rank, unsigned lane, int row,
                        unsigned columns)
{
    for (unsigned column = 0; column < 8; column++) {
        uint32_t wanted =
            row < 0 || column >= columns ? 0 : get_source(rank, (unsigned)row, column);
        cr_assert_eq(out_words[(rank * 128 + lane) * 8 + column], wanted,
                     "%s: CTA %u, lane %u, column %u", shape, rank, lane, column);
    }
}

Test(emu_tensor_copy, every_shape_has_its_place)
{
    fill_image();
    copy(1, "128x256b");
    for (unsigned lane = 0; lane < 128; lane++) {
        expect_lane("128x256b", 0, lane, (int)lane, 8);
    }
    copy(1, "128x128b");
    for (unsigned lane = 0; lane < 128; lane++) {
        expect_lane("128x128b", 0, lane, (int)lane, 4);
    }
    copy(1, "4x256b");
    for (unsigned lane = 0; lane < 128; lane++) {
        expect_lane("4x256b", 0, lane, lane % 32 == 0 ? (int)lane / 32 : -1, 8);
    }
    copy(1, "64x128b.warpx2::02_13");
    for (unsigned lane = 0; lane < 128; lane++) {
        expect_lane("02_13", 0, lane, (int)lane % 64, 4);
    }
    copy(1, "64x128b.warpx2::01_23");
    for (unsigned lane = 0; lane < 128; lane++) {
        expect_lane("01_23", 0, lane, (int)(lane / 64 * 32 + lane % 32), 4);
    }
    copy(1, "32x128b.warpx4");
    for (unsigned lane = 0; lane < 128; lane++) {
        expect_lane("warpx4", 0, lane, (int)lane % 32, 4);
    }
}

Test(emu_tensor_copy, each_cta_of_a_pair_copies_its_own)
{
    fill_image();
    copy(2, "32x128b.warpx4");
    for (unsigned i = 0; i < 256; i++) {
        expect_lane("warpx4", i / 128, i % 128, (int)i % 32, 4);
    }
}

/* PTX lets either CTA issue; kernels that are known to run let the even one. */
Test(emu_tensor_copy, the_odd_cta_of_a_pair_issues_with_a_remark)
{
    fill_image();
    cr_expect(copy_from(2, "32x128b.warpx4", 1));
    for (unsigned i = 0; i < 256; i++) {
        expect_lane("warpx4", i / 128, i % 128, (int)i % 32, 4);
    }
}

Test(emu_tensor_copy, narrow_elements_are_spread_over_bytes)
{
    fill_image();
    copy(1, "128x128b.b8x16.b4x16_p64");
    for (unsigned lane = 0; lane < 128; lane++) {
        const uint8_t *source = image + lane * 16;
        const uint8_t *got = (const uint8_t *)&out_words[lane * 8];
        for (unsigned i = 0; i < 16; i++) {
            cr_assert_eq(got[i], (source[i / 2] >> i % 2 * 4 & 15) << 2);
        }
    }
    copy(1, "128x128b.b8x16.b6x16_p32");
    for (unsigned lane = 0; lane < 128; lane++) {
        const uint8_t *source = image + lane * 16;
        const uint8_t *got = (const uint8_t *)&out_words[lane * 8];
        for (unsigned i = 0; i < 4; i++) { /* 4 elements in 3 bytes */
            uint32_t bits = source[i * 3] | (uint32_t)source[i * 3 + 1] << 8 |
                            (uint32_t)source[i * 3 + 2] << 16;
            for (unsigned j = 0; j < 4; j++) {
                cr_assert_eq(got[i * 4 + j], bits >> 6 * j & 63);
            }
        }
    }
}

/* ------------------------------------------------------------------------------ misuse */

static void expect_found(const char *code, enum emu_finding finding, const char *words)
{
    struct harness h;
    struct emu_text text = {0};
    uint64_t out = 0;
    harness_open(&h);
    h.settings.seed = 48; /* the first allocation begins at column 0 */
    begin_kernel(&text, 100, 128, IMAGE_BYTES);
    add_tensor_setup(&text, 1, 64);
    add_descriptor(&text, 10, DESCRIPTOR, 0);
    add_single(&text, code, 0);
    add_tensor_teardown(&text, 1, 64);
    end_kernel(&text);
    cr_expect_not(run_kernel(&h, &text, image, IMAGE_BYTES, 1, 128, 1, &out, 1024), "%s",
                  code);
    cr_expect_geq(harness_found(&h, finding), 1, "%s\n%s", code, harness_text(&h));
    cr_expect_not_null(strstr(harness_text(&h), words), "%s: %s", words, harness_text(&h));
    harness_close(&h);
}

#define CP  "tcgen05.cp.cta_group::1.128x256b "
#define MMA "tcgen05.mma.cta_group::1.kind::f16 "
#define COMMIT(mask)                                                             \
    "mov.u16 %%h0, " mask ";\ntcgen05.commit.cta_group::1.mbarrier::arrive::one" \
    ".shared::cluster.multicast::cluster.b64 [bar], %%h0;\n"

Test(emu_tensor_copy, operands_are_checked)
{
    expect_found(CP "[%%r3+60], %%d10;\n", EMU_FINDING_TENSOR_MEMORY,
                 "column 64 of the tensor memory of CTA 0 is not allocated");
    expect_found("add.u32 %%r3, %%r3, 0x100000;\n" CP "[%%r3], %%d10;\n",
                 EMU_FINDING_MISALIGNED, "lane 16");
    expect_found("and.b64 %%d10, %%d10, 0xFFFFBFFFFFFFFFFF;\n" CP "[%%r3], %%d10;\n",
                 EMU_FINDING_DESCRIPTOR, "bits 46-48");
    expect_found(CP "[%%r3], %%d20;\n", EMU_FINDING_UNDEFINED, "matrix descriptor");
    expect_found("add.s64 %%d10, %%d10, 0x1F0;\n" CP "[%%r3], %%d10;\n",
                 EMU_FINDING_OUT_OF_BOUNDS, "");
    expect_found(MMA "[%%r3], %%d10, %%d10, 0x4080491, 0;\n", EMU_FINDING_DESCRIPTOR,
                 "bit 0");
    expect_found(MMA "[%%r3+48], %%d10, %%d10, 0x8080490, 0;\n", EMU_FINDING_TENSOR_MEMORY,
                 "D of tcgen05.mma");
    expect_found("add.u32 %%r3, %%r3, 0x100000;\n" MMA
                 "[%%r3], %%d10, %%d10, 0x8080490, 0;\n",
                 EMU_FINDING_MISALIGNED, "it must be 0");
    expect_found(MMA "[%%r3], [%%r3+60], %%d10, 0x8080490, 0;\n", EMU_FINDING_TENSOR_MEMORY,
                 "A of tcgen05.mma");
    expect_found("or.b64 %%d10, %%d10, 0x2000000000000000;\n" MMA
                 "[%%r3], %%d10, %%d10, 0x8080490, 0;\n",
                 EMU_FINDING_DESCRIPTOR, "descriptor of B");
}

Test(emu_tensor_copy, commits_reach_only_ctas_that_exist)
{
    expect_found(COMMIT("0"), EMU_FINDING_ILLEGAL, "names no CTA");
    expect_found(COMMIT("3"), EMU_FINDING_ILLEGAL, "CTAs that do not exist");
}

Test(emu_tensor_copy, what_is_not_supported_is_refused_by_name)
{
    static const struct {
        const char *insn, *part;
    } cases[] = {
        {"tcgen05.shift.cta_group::1.down [%r3];\n", "tcgen05.shift is not supported"},
        {"tcgen05.mma.ws.cta_group::1.kind::f16 [%r3], %d10, %d11, %r4, 0;\n", ".ws"},
        {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r3], %d10, %d11, [%r4], %r4, 0;\n",
         ".sp"},
        {"tcgen05.mma.cta_group::1.kind::f16.ashift [%r3], [%r4], %d11, %r4, 0;\n",
         ".ashift"},
        {"tcgen05.mma.cta_group::1.kind::f64 [%r3], %d10, %d11, %r4, 0;\n",
         "kind is not supported"},
        {"tcgen05.mma.kind::f16 [%r3], %d10, %d11, %r4, 0;\n", "no cta_group"},
        {"tcgen05.mma.cta_group::1.kind::f16.block_scale [%r3], %d10, %d11, %r4, [%r4], "
         "[%r4], 0;\n",
         "needs an mx kind"},
        {"tcgen05.mma.cta_group::1.kind::mxf8f6f4 [%r3], %d10, %d11, %r4, 0;\n",
         "needs .block_scale"},
        {"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r3], %d10, %d11, %r4, [%r4], "
         "[%r4], 0;\n",
         "needs .block16 or .block32"},
        {"tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], %d10, %d11, %r4, 0, 3;\n",
         "scale-input-d"},
        {"tcgen05.mma.cta_group::1.kind::f16 [%r3], %d10, %d11, %r4, {%r4, %r4}, 0;\n",
         "disable-output-lane has 2 words"},
        {"tcgen05.cp.cta_group::1.32x128b [%r3], %d10;\n", "shape is not supported"},
        {"tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r4, %r5}, %r6, [%r3];\n",
         "tcgen05.ld.red"},
        {"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r4}, [%r3];\n", "1 registers"},
        {"tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r4}, [%r3];\n", "registers"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct harness h;
        struct emu_text text = {0};
        harness_open(&h);
        begin_kernel(&text, 100, 128, 0);
        emu_text_add(&text, "%s", cases[i].insn);
        end_kernel(&text);
        cr_expect_not(harness_try_load(&h, emu_text_get(&text)), "%s", cases[i].insn);
        cr_expect_not_null(strstr(h.error.text, cases[i].part), "%s: %s", cases[i].part,
                           h.error.text);
        emu_text_free(&text);
        harness_close(&h);
    }
}

Test(emu_tensor_copy, each_family_needs_its_architecture)
{
    static const struct {
        unsigned sm;
        const char *insn;
    } cases[] = {
        {90, "tcgen05.cp.cta_group::1.128x256b [%r3], %d10;\n"},
        {100, "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r200, %r201, %r202, "
              "%r203}, %d10, %d11, 0, 1, 1, 0, 0;\n"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct harness h;
        struct emu_text text = {0};
        harness_open(&h);
        begin_kernel(&text, cases[i].sm, 128, 0);
        emu_text_add(&text, "%s", cases[i].insn);
        end_kernel(&text);
        cr_expect_not(harness_try_load(&h, emu_text_get(&text)), "%s", cases[i].insn);
        cr_expect_not_null(strstr(h.error.text, "it needs"), "%s", h.error.text);
        emu_text_free(&text);
        harness_close(&h);
    }
}
