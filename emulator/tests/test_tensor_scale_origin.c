/* SPDX-License-Identifier: MIT */
/* Scale factors that are taken for a block of elements that is not theirs. */
#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"
#include "test_tensor_support.h"

/* Two tiles of 128 rows, each 128 elements along K, and the factors of each behind them;
 * one tile is A and B at the same time. */
#define TILE_BYTES  16384u
#define SCALE_BYTES 512u
#define SCALES_AT   (2 * TILE_BYTES)
#define SHARED      (SCALES_AT + 2 * SCALE_BYTES)
#define SCALES      UINT64_C(0x0000400800010000)
#define TILE        UINT64_C(0x4000404000010000)

#define LOAD_2D \
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "

/* Factors in tensor memory: of tile 0, and of tile 1. */
#define FIRST  64u
#define SECOND 68u

static void begin(struct emu_text *text)
{
    emu_text_add(text, ".version 8.8\n.target sm_100a\n.address_size 64\n"
                       ".extern .shared .align 1024 .b8 smem[];\n"
                       ".shared .align 8 .b64 bar[4];\n.shared .align 4 .b32 slot;\n"
                       ".visible .entry kernel(.param .align 64 .b8 map[128],"
                       " .param .align 64 .b8 scales[128])\n{\n"
                       ".reg .pred %%p<16>;\n.reg .b32 %%r<64>;\n.reg .b64 %%d<32>;\n"
                       "mov.u32 %%r0, %%tid.x;\nshr.u32 %%r1, %%r0, 5;\n"
                       "mov.u32 %%r2, smem;\nmov.b64 %%d0, map;\n"
                       "cvta.param.u64 %%d0, %%d0;\nmov.b64 %%d1, scales;\n"
                       "cvta.param.u64 %%d1, %%d1;\n");
    add_tensor_setup(text, 1, 128);
    for (unsigned i = 0; i < 2; i++) {
        add_descriptor(text, 10 + i, TILE, i * TILE_BYTES);
        add_descriptor(text, 12 + i, SCALES, SCALES_AT + i * SCALE_BYTES);
    }
}

/* The tiles and their factors come to shared memory, each tile with an mbarrier. */
static void add_loads(struct emu_text *text, unsigned first_barrier,
                      unsigned second_barrier)
{
    const unsigned barriers[] = {first_barrier, second_barrier};
    for (unsigned i = 0; i < 2; i++) {
        add_single(text,
                   "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar+%u], %u;\n"
                   "add.u32 %%r4, %%r2, %u;\nadd.u32 %%r7, %%r2, %u;\n"
                   "mov.u32 %%r5, %u;\nmov.u32 %%r6, 0;\nmov.u32 %%r8, %u;\n" LOAD_2D
                   "[%%r4], [%%d0, {%%r5, %%r6}], [bar+%u];\n" LOAD_2D
                   "[%%r7], [%%d1, {%%r6, %%r8}], [bar+%u];\n",
                   barriers[i], TILE_BYTES + SCALE_BYTES, i * TILE_BYTES,
                   SCALES_AT + i * SCALE_BYTES, i * 128, i, barriers[i], barriers[i]);
    }
    for (unsigned i = 0; i < (first_barrier == second_barrier ? 1u : 2u); i++) {
        add_single(text, "mbarrier.arrive.shared.b64 _, [bar+%u];\n", barriers[i]);
        add_wait(text, barriers[i], 0);
    }
}

static void add_copy(struct emu_text *text, unsigned tile, unsigned column)
{
    add_single(text, "tcgen05.cp.cta_group::1.32x128b.warpx4 [%%r3+%u], %%d%u;\n", column,
               12 + tile);
}

/* All of K of a tile of A and one of B. `id`: of the factors of all steps; 4: of each its
 * own. */
static void add_products(struct emu_text *text, unsigned a_tile, unsigned b_tile,
                         unsigned a_column, unsigned b_column, unsigned id)
{
    for (unsigned step = 0; step < 4; step++) {
        const unsigned taken = id == 4 ? step : id;
        add_single(text,
                   "add.s64 %%d20, %%d%u, %u;\nadd.s64 %%d21, %%d%u, %u;\n"
                   "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%%r3], %%d20, "
                   "%%d21, 0x%x, [%%r3+%u], [%%r3+%u], 0;\n",
                   10 + a_tile, 2 * step, 10 + b_tile, 2 * step,
                   0x8880000 | taken << 29 | taken << 4, a_column, b_column);
    }
}

static void end(struct emu_text *text)
{
    add_single(text,
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
               "[bar];\n");
    add_wait(text, 0, 0);
    add_tensor_teardown(text, 1, 128);
    end_kernel(text);
}

static void add_map(struct harness *h, unsigned type, uint64_t base, const uint64_t *dims,
                    uint64_t stride, const uint32_t *box, unsigned swizzle)
{
    const uint32_t steps[] = {1, 1};
    _Alignas(64) unsigned char map[EMU_MAP_BYTES];
    struct emu_error error = {0};
    cr_assert(emu_tensor_map_encode(map, type, 2, base, dims, &stride, box, steps, 0,
                                    swizzle, 0, 0, &error),
              "%s", error.text);
    harness_param_bytes(h, map, sizeof(map), 64);
}

static void run(struct harness *h, struct emu_text *text, enum emu_async_mode mode)
{
    static uint8_t elements[128 * 256];
    static uint8_t scales[2 * SCALE_BYTES];
    memset(scales, 127, sizeof(scales));
    harness_open(h);
    h->settings.async = mode;
    harness_load(h, emu_text_get(text));
    h->shared_bytes = SHARED;
    add_map(h, EMU_MAP_U8, harness_buffer(h, "a", sizeof(elements), elements),
            (const uint64_t[]){256, 128}, 256, (const uint32_t[]){128, 128}, 3);
    add_map(h, EMU_MAP_U32, harness_buffer(h, "scales", sizeof(scales), scales),
            (const uint64_t[]){128, 2}, 512, (const uint32_t[]){128, 1}, 0);
    cr_expect(harness_run(h, 1, 128), "%s", harness_text(h));
}

static const enum emu_async_mode modes[] = {EMU_ASYNC_EAGER, EMU_ASYNC_LATEST,
                                            EMU_ASYNC_RANDOM, EMU_ASYNC_REORDER};
#define MODES (sizeof(modes) / sizeof(modes[0]))

static void expect_clean(struct emu_text *text)
{
    for (size_t i = 0; i < MODES; i++) {
        struct harness h;
        run(&h, text, modes[i]);
        cr_expect_eq(emu_reports_count(h.reports, EMU_WARNING), 0, "%s", harness_text(&h));
        harness_close(&h);
    }
    emu_text_free(text);
}

static void expect_found(struct emu_text *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < MODES; i++) {
        struct harness h;
        run(&h, text, modes[i]);
        cr_expect_geq(harness_found(&h, EMU_FINDING_SCALE_ORIGIN), 1, "%s",
                      harness_text(&h));
        for (size_t j = 0; j < count; j++) {
            cr_expect_not_null(strstr(harness_text(&h), words[j]), "%s is not in: %s",
                               words[j], harness_text(&h));
        }
        harness_close(&h);
    }
    emu_text_free(text);
}
#define EXPECT_FOUND(text, ...)                                      \
    do {                                                             \
        const char *const words[] = {__VA_ARGS__};                   \
        expect_found(text, words, sizeof(words) / sizeof(words[0])); \
    } while (0)

Test(emu_tensor_scale_origin, each_block_with_its_own_factors_is_clean)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 8);

    add_copy(&text, 0, FIRST);
    add_copy(&text, 1, SECOND);
    add_products(&text, 0, 0, FIRST, FIRST, 4);
    add_products(&text, 1, 1, SECOND, SECOND, 4);
    add_products(&text, 0, 1, FIRST, SECOND, 4);

    end(&text);
    expect_clean(&text);
}

Test(emu_tensor_scale_origin, one_factor_for_all_of_a_tile_is_clean)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 8);

    add_copy(&text, 0, FIRST);
    add_products(&text, 0, 0, FIRST, FIRST, 2);

    end(&text);
    expect_clean(&text);
}

Test(emu_tensor_scale_origin, factors_of_the_stage_before_are_found)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 8);

    add_copy(&text, 0, FIRST);
    add_products(&text, 0, 0, FIRST, FIRST, 4);
    add_copy(&text, 1, SECOND);
    add_products(&text, 1, 1, FIRST, SECOND, 4);

    end(&text);
    EXPECT_FOUND(&text, "warning [scale-origin]",
                 "scale factor of other elements: byte 0 of lane 0, column ",
                 "copied there by tcgen05.cp.cta_group::1",
                 "of what was brought by cp.async.bulk.tensor.2d",
                 "taken before by tcgen05.mma.cta_group::1",
                 "for elements brought by cp.async.bulk.tensor.2d",
                 " of {0, 0}, with the mbarrier at ",
                 "taken now for elements brought by cp.async.bulk.tensor.2d",
                 " of {128, 0}, with the mbarrier at ");
}

Test(emu_tensor_scale_origin, factors_that_are_copied_after_the_product_are_found)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 8);

    add_copy(&text, 0, FIRST);
    add_products(&text, 0, 0, FIRST, FIRST, 4);
    add_products(&text, 1, 0, FIRST, FIRST, 4);
    add_copy(&text, 1, FIRST);

    end(&text);
    EXPECT_FOUND(&text, "row 0 of A is multiplied by a scale factor of other elements",
                 " of {128, 0}, with the mbarrier at ");
}

Test(emu_tensor_scale_origin, a_copy_from_the_stage_before_is_found)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 8);

    add_copy(&text, 0, FIRST);
    add_products(&text, 0, 0, FIRST, FIRST, 4);
    add_copy(&text, 0, SECOND);
    add_products(&text, 1, 0, SECOND, FIRST, 4);

    end(&text);
    EXPECT_FOUND(&text, "row 0 of A is multiplied by a scale factor of other elements",
                 " of {128, 0}, with the mbarrier at ");
}

/* A mistake that is made from the first product on takes no factor twice. */
Test(emu_tensor_scale_origin, factors_that_came_with_other_elements_are_found)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 16);

    add_copy(&text, 0, FIRST);
    add_copy(&text, 1, SECOND);
    add_products(&text, 1, 0, FIRST, FIRST, 4);

    end(&text);
    EXPECT_FOUND(&text, "row 0 of A is multiplied by a scale factor of other elements",
                 "of what was brought by cp.async.bulk.tensor.2d",
                 " of {0, 0}, with the mbarrier at ", "taken now for elements brought by ",
                 " of {128, 0}, with the mbarrier at ", "so did their own factors");
}

Test(emu_tensor_scale_origin, own_factors_of_each_mbarrier_are_clean)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 16);

    add_copy(&text, 0, FIRST);
    add_copy(&text, 1, SECOND);
    add_products(&text, 0, 1, FIRST, SECOND, 4);
    add_products(&text, 1, 0, SECOND, FIRST, 4);

    end(&text);
    expect_clean(&text);
}

Test(emu_tensor_scale_origin, factors_of_the_other_operand_are_found)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 8);

    add_copy(&text, 0, FIRST);
    add_copy(&text, 1, SECOND);
    add_products(&text, 0, 1, FIRST, FIRST, 4);

    end(&text);
    EXPECT_FOUND(&text, "row 0 of B is multiplied by a scale factor of other elements",
                 " of {0, 0}, with the mbarrier at ",
                 " of {128, 0}, with the mbarrier at ");
}

Test(emu_tensor_scale_origin, factors_that_threads_store_are_for_any_block)
{
    struct emu_text text = {0};
    begin(&text);
    add_loads(&text, 8, 8);

    add_copy(&text, 0, FIRST);
    add_products(&text, 0, 0, FIRST, FIRST, 4);
    add_single(&text, "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster"
                      ".b64 [bar+16];\n");
    add_wait(&text, 16, 0);
    emu_text_add(&text, "mov.u32 %%r20, 0x7f7f7f7f;\n"
                        "tcgen05.st.sync.aligned.32x32b.x4.b32 [%%r3+64], {%%r20, %%r20, "
                        "%%r20, %%r20};\ntcgen05.wait::st.sync.aligned;\n"
                        "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
                        "tcgen05.fence::after_thread_sync;\n");
    add_products(&text, 1, 1, FIRST, FIRST, 4);

    end(&text);
    expect_clean(&text);
}
