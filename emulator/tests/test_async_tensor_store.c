/* SPDX-License-Identifier: MIT */
/* Tensor stores and reductions: edges, scattered rows, every operation and type. */
#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"
#include "test_async_support.h"

/* Thread i puts source word i at %r1 + 1024 + 4 i; thread 0 stores. Parameters: out, map,
 * source, five coordinates. */
#define STORE(opcode, coordinates)                                                       \
    KERNEL_WITH(                                                                         \
        ", .param .align 64 .b8 map[128], .param .u64 source, .param .u32 c0, "          \
        ".param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4",                \
        "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u32 %r10, [c0];\n"     \
        "ld.param.u32 %r11, [c1];\nld.param.u32 %r12, [c2];\nld.param.u32 %r13, [c3];\n" \
        "ld.param.u32 %r14, [c4];\nld.param.u64 %rd2, [source];\n"                       \
        "shl.b32 %r2, %r0, 2;\ncvt.u64.u32 %rd3, %r2;\nadd.u64 %rd2, %rd2, %rd3;\n"      \
        "ld.global.u32 %r3, [%rd2];\nadd.u32 %r2, %r2, %r1;\n"                           \
        "st.shared.u32 [%r2+1024], %r3;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"  \
        "@!%p0 bra END;\nadd.u32 %r3, %r1, 1024;\n" opcode " [%rd1, {" coordinates       \
        "}], [%r3];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nEND:\n")

static const char store_ptx[] =
    STORE("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", "%r10, %r11");
static const char scatter_ptx[] =
    STORE("cp.async.bulk.tensor.2d.tile::scatter4.global.shared::cta.bulk_group",
          "%r10, %r11, %r12, %r13, %r14");

/* Runs a store of the source's words; false when an error was found. `tensor` is input and
 * output. */
static bool run_store(struct harness *h, const char *ptx, const struct async_map *map,
                      const uint32_t *source, uint32_t words, const int32_t *at,
                      void *tensor, uint64_t tensor_bytes,
                      const struct emu_settings *settings)
{
    async_open(h, ptx, 4);
    if (settings != NULL) {
        h->settings = *settings;
    }
    struct async_map placed = *map;
    placed.base = harness_buffer(h, "tensor", tensor_bytes, tensor);
    async_param_map(h, &placed);
    harness_param_u64(h, harness_buffer(h, "source", 4 * words, source));
    for (unsigned i = 0; i < 5; i++) {
        harness_param_u32(h, (uint32_t)at[i]);
    }
    bool good = harness_run(h, 1, words);
    harness_read(h, placed.base, tensor, tensor_bytes);
    return good;
}

/* `written`: columns of the tensor that the store reaches; the box is 16 wide. */
static void expect_2d(const int32_t *at, int32_t columns, int32_t written,
                      const struct emu_settings *settings)
{
    struct harness h;
    uint32_t source[128];
    static uint32_t tensor[64 * 32];
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 2,
                                  .dims = {(uint64_t)columns, 20},
                                  .strides = {128},
                                  .box = {16, 8}};
    memset(tensor, 0xFF, sizeof(tensor));
    for (uint32_t i = 0; i < 128; i++) {
        source[i] = i + 1;
    }
    cr_expect(
        run_store(&h, store_ptx, &map, source, 128, at, tensor, sizeof(tensor), settings),
        "%s", harness_text(&h));
    cr_expect_eq(harness_found(&h, EMU_FINDING_OUT_OF_BOUNDS), written > columns, "%s",
                 harness_text(&h));
    for (int32_t y = 0; y < 64; y++) {
        for (int32_t x = 0; x < 32; x++) {
            bool inside = x >= at[0] && x < at[0] + 16 && x < written && y >= at[1] &&
                          y < at[1] + 8 && y < 20;
            uint32_t expected =
                inside ? (uint32_t)((y - at[1]) * 16 + x - at[0]) + 1 : UINT32_MAX;
            cr_assert_eq(tensor[y * 32 + x], expected, "column %d, row %d", x, y);
        }
    }
    harness_close(&h);
}

static void run_inside(const struct emu_settings *settings)
{
    expect_2d((int32_t[5]){4, 6}, 28, 28, settings);
}

Test(async_tensor_store, box_inside_the_tensor_in_all_modes)
{
    async_in_all_modes(run_inside);
}

Test(async_tensor_store, elements_beyond_the_edges_are_not_written)
{
    expect_2d((int32_t[5]){24, 6}, 28, 28, NULL);
    expect_2d((int32_t[5]){4, 15}, 28, 28, NULL);
    expect_2d((int32_t[5]){24, 15}, 28, 28, NULL);
    expect_2d((int32_t[5]){0, 20}, 28, 28, NULL);
}

Test(async_tensor_store, what_begins_in_16_bytes_is_written_to_their_end)
{
    expect_2d((int32_t[5]){24, 6}, 25, 28, NULL);
    expect_2d((int32_t[5]){16, 6}, 30, 32, NULL);
    expect_2d((int32_t[5]){4, 6}, 21, 21, NULL); /* the box ends before */
}

Test(async_tensor_store, scatter4_puts_rows_anywhere)
{
    struct harness h;
    uint32_t source[32];
    uint32_t tensor[16 * 16];
    const int32_t at[5] = {4, 9, 0, 16, -1};
    const struct async_map map = {
        .type = EMU_MAP_U32, .rank = 2, .dims = {16, 16}, .strides = {64}, .box = {8, 1}};
    memset(tensor, 0, sizeof(tensor));
    for (uint32_t i = 0; i < 32; i++) {
        source[i] = i + 1;
    }
    cr_expect(
        run_store(&h, scatter_ptx, &map, source, 32, at, tensor, sizeof(tensor), NULL),
        "%s", harness_text(&h));
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t x = i % 16;
        uint32_t y = i / 16;
        bool inside = x >= 4 && x < 12;
        uint32_t expected = inside && y == 9 ? x - 4 + 1 : inside && y == 0 ? x - 4 + 9 : 0;
        cr_expect_eq(tensor[i], expected, "element %u", i);
    }
    harness_close(&h);
}

Test(async_tensor_store, six_bit_elements_are_packed)
{
    struct harness h;
    uint32_t source[32];
    uint8_t tensor[96];
    uint8_t expected[96] = {0};
    uint8_t *bytes = (uint8_t *)source;
    const struct async_map map = {.type = EMU_MAP_U6_ALIGN16,
                                  .rank = 2,
                                  .dims = {128, 1},
                                  .strides = {96},
                                  .box = {128, 1}};
    for (unsigned i = 0; i < 128; i++) {
        bytes[i] = (uint8_t)(i * 7 + 0xC0);
        for (unsigned bit = 0; bit < 6; bit++) {
            unsigned to = 6 * i + bit;
            expected[to / 8] |= (uint8_t)((bytes[i] >> bit & 1) << (to % 8));
        }
    }
    memset(tensor, 0, sizeof(tensor));
    cr_expect(run_store(&h, store_ptx, &map, source, 32, (int32_t[5]){0}, tensor,
                        sizeof(tensor), NULL),
              "%s", harness_text(&h));
    cr_expect_arr_eq(tensor, expected, sizeof(tensor));
    harness_close(&h);
}

Test(async_tensor_store, misuse_is_named)
{
    struct harness h;
    static uint32_t tensor[64 * 32];
    const uint32_t source[32] = {0};
    const struct async_map map = {
        .type = EMU_MAP_U32, .rank = 2, .dims = {30, 20}, .strides = {128}, .box = {16, 8}};
    const struct async_map padded = {.type = EMU_MAP_U4_ALIGN16,
                                     .rank = 2,
                                     .dims = {128, 8},
                                     .strides = {64},
                                     .box = {128, 1}};
    cr_expect_not(run_store(&h, store_ptx, &map, source, 32, (int32_t[5]){-4, 0}, tensor,
                            sizeof(tensor), NULL));
    async_expect_error(&h, EMU_FINDING_DESCRIPTOR, "coordinate 0 is -4; a store begins");
    harness_close(&h);
    cr_expect_not(run_store(&h, store_ptx, &map, source, 32, (int32_t[5]){0, -1}, tensor,
                            sizeof(tensor), NULL));
    async_expect_error(&h, EMU_FINDING_DESCRIPTOR, "coordinate 1 is -1; a store begins");
    harness_close(&h);
    cr_expect_not(run_store(&h, store_ptx, &map, source, 32, (int32_t[5]){6, 0}, tensor,
                            sizeof(tensor), NULL));
    async_expect_error(&h, EMU_FINDING_DESCRIPTOR, "at a multiple of 16 bytes");
    harness_close(&h);
    cr_expect_not(run_store(&h, store_ptx, &padded, source, 32, (int32_t[5]){0}, tensor,
                            sizeof(tensor), NULL));
    async_expect_error(&h, EMU_FINDING_DESCRIPTOR, "can be loaded only");
    harness_close(&h);
    /* 32 words fill 2 of 8 rows. */
    cr_expect_not(run_store(&h, store_ptx, &map, source, 32, (int32_t[5]){0}, tensor,
                            sizeof(tensor), NULL));
    async_expect_error(&h, EMU_FINDING_UNDEFINED, "row 2 of the copy holds bytes");
    harness_close(&h);
}

/* -------------------------------------------------------------------------- reductions */

#define REDUCE(op)                                                                    \
    STORE("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op ".tile.bulk_group", \
          "%r10, %r11")

/* One box of 32 words; the first two words of memory, source and result are given. */
static void expect_reduction(const char *ptx, unsigned type, const uint32_t *memory,
                             const uint32_t *added, const uint32_t *result)
{
    struct harness h;
    uint32_t source[32] = {added[0], added[1]};
    uint32_t tensor[32] = {memory[0], memory[1]};
    unsigned bits = emu_map_type_bits((enum emu_map_type)type);
    const struct async_map map = {.type = type,
                                  .rank = 2,
                                  .dims = {128 * 8 / bits, 1},
                                  .strides = {128},
                                  .box = {128 * 8 / bits, 1}};
    cr_expect(
        run_store(&h, ptx, &map, source, 32, (int32_t[5]){0}, tensor, sizeof(tensor), NULL),
        "%s", harness_text(&h));
    cr_expect_eq(tensor[0], result[0], "type %u: %08x, not %08x", type, tensor[0],
                 result[0]);
    cr_expect_eq(tensor[1], result[1], "type %u: %08x, not %08x", type, tensor[1],
                 result[1]);
    harness_close(&h);
}

#define TWO(a, b) ((const uint32_t[2]){a, b})

Test(async_tensor_store, reductions_of_integers)
{
    expect_reduction(REDUCE("add"), EMU_MAP_U32, TWO(0xFFFFFFFF, 5), TWO(2, 6), TWO(1, 11));
    expect_reduction(REDUCE("add"), EMU_MAP_U64, TWO(0xFFFFFFFF, 5), TWO(1, 0), TWO(0, 6));
    expect_reduction(REDUCE("min"), EMU_MAP_U32, TWO(0xFFFFFFFF, 5), TWO(2, 6), TWO(2, 5));
    expect_reduction(REDUCE("min"), EMU_MAP_S32, TWO(0xFFFFFFFF, 5), TWO(2, 6),
                     TWO(0xFFFFFFFF, 5));
    expect_reduction(REDUCE("max"), EMU_MAP_S32, TWO(0xFFFFFFFF, 5), TWO(2, 6), TWO(2, 6));
    expect_reduction(REDUCE("max"), EMU_MAP_S64, TWO(1, 0), TWO(0, 0xFFFFFFFF), TWO(1, 0));
    expect_reduction(REDUCE("inc"), EMU_MAP_U32, TWO(4, 7), TWO(5, 7), TWO(5, 0));
    expect_reduction(REDUCE("dec"), EMU_MAP_U32, TWO(0, 9), TWO(5, 7), TWO(5, 7));
    expect_reduction(REDUCE("and"), EMU_MAP_U32, TWO(12, 3), TWO(10, 3), TWO(8, 3));
    expect_reduction(REDUCE("or"), EMU_MAP_S32, TWO(12, 3), TWO(10, 3), TWO(14, 3));
    expect_reduction(REDUCE("xor"), EMU_MAP_U64, TWO(12, 3), TWO(10, 3), TWO(6, 0));
}

Test(async_tensor_store, reductions_of_floats)
{
    /* 1.5 + 2.25; a subnormal sum becomes zero. */
    expect_reduction(REDUCE("add"), EMU_MAP_F32, TWO(0x3FC00000, 0x00000001),
                     TWO(0x40100000, 0x00000001), TWO(0x40700000, 0));
    /* f16: 1 + 2, and 1 + 2^-11 ties to even; bf16: 1 + 2, -1 + 1. */
    expect_reduction(REDUCE("add"), EMU_MAP_F16, TWO(0x3C003C00, 0), TWO(0x10004000, 0),
                     TWO(0x3C004200, 0));
    expect_reduction(REDUCE("add"), EMU_MAP_BF16, TWO(0xBF803F80, 0), TWO(0x3F804000, 0),
                     TWO(0x00004040, 0));
    /* The other one where one is NaN; -0 is below +0. */
    expect_reduction(REDUCE("min"), EMU_MAP_F16, TWO(0x7E003C00, 0),
                     TWO(0x3C00C000, 0x8000), TWO(0x3C00C000, 0x8000));
    expect_reduction(REDUCE("max"), EMU_MAP_BF16, TWO(0x3F80BF80, 0x8000),
                     TWO(0xBF807FC0, 0), TWO(0x3F80BF80, 0));
}

Test(async_tensor_store, reduction_that_the_type_does_not_have_is_refused)
{
    struct harness h;
    uint32_t tensor[32] = {0};
    const uint32_t source[32] = {0};
    const struct async_map map = {
        .type = EMU_MAP_F32, .rank = 2, .dims = {32, 1}, .strides = {128}, .box = {32, 1}};
    cr_expect_not(run_store(&h, REDUCE("min"), &map, source, 32, (int32_t[5]){0}, tensor,
                            sizeof(tensor), NULL));
    async_expect_error(&h, EMU_FINDING_DESCRIPTOR, "does not go with");
    harness_close(&h);
}

/* Four CTAs of four clusters add to the same tensor. */
Test(async_tensor_store, clusters_add_up)
{
    struct harness h;
    uint32_t source[32];
    uint32_t tensor[32] = {0};
    for (uint32_t i = 0; i < 32; i++) {
        source[i] = i;
    }
    async_open(&h, REDUCE("add"), 4);
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 2,
                                  .base = harness_buffer(&h, "tensor", 128, tensor),
                                  .dims = {32, 1},
                                  .strides = {128},
                                  .box = {32, 1}};
    async_param_map(&h, &map);
    harness_param_u64(&h, harness_buffer(&h, "source", 128, source));
    for (unsigned i = 0; i < 5; i++) {
        harness_param_u32(&h, 0);
    }
    cr_expect(harness_run(&h, 4, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, map.base, tensor, sizeof(tensor));
    for (uint32_t i = 0; i < 32; i++) {
        cr_expect_eq(tensor[i], 4 * i);
    }
    harness_close(&h);
}
