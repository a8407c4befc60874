/* SPDX-License-Identifier: MIT */
/* What tensor loads bring: boxes of every rank, edges, strides, and types that change. */
#include <criterion/criterion.h>
#include <string.h>

#include "async/tensor_map.h"
#include "test_async_support.h"

#define WORDS 1024u

/* Loads one box to %r1 + 1024 and dumps it. Parameters: out, map, five coordinates, bytes.
 */
#define LOAD(words, coordinates, barrier)                                                \
    KERNEL_WITH(                                                                         \
        ", .param .align 64 .b8 map[128], .param .u32 c0, .param .u32 c1, "              \
        ".param .u32 c2, .param .u32 c3, .param .u32 c4, .param .u32 bytes",             \
        "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u32 %r10, [c0];\n"     \
        "ld.param.u32 %r11, [c1];\nld.param.u32 %r12, [c2];\nld.param.u32 %r13, [c3];\n" \
        "ld.param.u32 %r14, [c4];\nld.param.u32 %r2, [bytes];\n" INIT(                   \
            0, 1) "@!%p0 bra END;\nadd.u32 %r3, %r1, 1024;\n"                            \
                  "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r2;\n"                \
                  "cp.async.bulk.tensor." words ".mbarrier::complete_tx::bytes [%r3], "  \
                  "[%rd1, {" coordinates "}], [%r1]" barrier ";\n" WAIT("W", 0, 0)       \
                      DUMP("D", 1024, 1024) "END:\n")

static const char *const load_ptx[5] = {
    LOAD("1d.shared::cta.global.tile", "%r10", ""),
    LOAD("2d.shared::cluster.global", "%r10, %r11", ""),
    LOAD("3d.shared::cluster.global.tile.L2::cache_hint", "%r10, %r11, %r12", ", %rd0"),
    LOAD("4d.cta_group::1.shared::cluster.global", "%r10, %r11, %r12, %r13", ""),
    LOAD("5d.shared::cluster.global", "%r10, %r11, %r12, %r13, %r14", ""),
};
static const char gather_ptx[] =
    LOAD("2d.tile::gather4.shared::cluster.global", "%r10, %r11, %r12, %r13, %r14", "");

/* Runs a load of `bytes` and returns the image. */
static void run_load(const char *ptx, const struct async_map *map, const void *tensor,
                     uint64_t tensor_bytes, const int32_t *at, uint32_t bytes, void *image,
                     const struct emu_settings *settings)
{
    struct harness h;
    uint64_t out = async_open(&h, ptx, 4 * WORDS);
    if (settings != NULL) {
        h.settings = *settings;
    }
    h.settings.definedness = false;
    struct async_map placed = *map;
    placed.base = harness_buffer(&h, "tensor", tensor_bytes, tensor);
    async_param_map(&h, &placed);
    for (unsigned i = 0; i < 5; i++) {
        harness_param_u32(&h, (uint32_t)at[i]);
    }
    harness_param_u32(&h, bytes);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    async_expect_clean(&h);
    harness_read(&h, out, image, 4 * WORDS);
    harness_close(&h);
}

/* Loads a box of a tensor of u32 whose elements are their own number in memory, and
 * compares each element with what its coordinates say. */
static void expect_box(const struct async_map *map, const int32_t *at,
                       const struct emu_settings *settings)
{
    static uint32_t tensor[1u << 16];
    uint32_t image[WORDS];
    uint32_t count[5];
    uint32_t total = 1;
    for (uint32_t i = 0; i < 1u << 16; i++) {
        tensor[i] = i + 1;
    }
    for (unsigned i = 0; i < 5; i++) {
        uint32_t step =
            i == 0 || map->element_strides[i] == 0 ? 1 : map->element_strides[i];
        count[i] = i < map->rank ? (map->box[i] + step - 1) / step : 1;
        total *= count[i];
    }
    cr_assert_leq(total, WORDS);
    run_load(load_ptx[map->rank - 1], map, tensor, sizeof(tensor), at, 4 * total, image,
             settings);
    for (uint32_t i = 0; i < total; i++) {
        uint32_t rest = i;
        uint64_t place = 0;
        bool inside = true;
        for (unsigned d = 0; d < map->rank; d++) {
            uint32_t step =
                d == 0 || map->element_strides[d] == 0 ? 1 : map->element_strides[d];
            int64_t coordinate = at[d] + (int64_t)(rest % count[d]) * step;
            rest /= count[d];
            inside &= coordinate >= 0 && coordinate < (int64_t)map->dims[d];
            place += (uint64_t)coordinate * (d == 0 ? 1 : map->strides[d - 1] / 4);
        }
        cr_assert_eq(image[i], inside ? (uint32_t)place + 1 : 0, "element %u is %u", i,
                     image[i]);
    }
}

static void run_2d(const struct emu_settings *settings)
{
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 2,
                                  .dims = {100, 40},
                                  .strides = {416},
                                  .box = {16, 24}};
    expect_box(&map, (int32_t[5]){8, 5}, settings);
}

Test(async_tensor_load, box_inside_the_tensor_in_all_modes)
{
    async_in_all_modes(run_2d);
}

Test(async_tensor_load, elements_beyond_the_edges_are_zero)
{
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 2,
                                  .dims = {30, 20},
                                  .strides = {128},
                                  .box = {16, 16}};
    expect_box(&map, (int32_t[5]){24, 12}, NULL); /* the last elements of both */
    expect_box(&map, (int32_t[5]){-4, 3}, NULL);  /* before the first column */
    expect_box(&map, (int32_t[5]){4, -7}, NULL);  /* before the first row */
    expect_box(&map, (int32_t[5]){-16, 0}, NULL); /* nothing is inside */
    expect_box(&map, (int32_t[5]){0, 20}, NULL);  /* behind the last row */
    expect_box(&map, (int32_t[5]){-4, -3}, NULL); /* a corner */
    const struct async_map narrow = {
        .type = EMU_MAP_U32, .rank = 2, .dims = {7, 3}, .strides = {32}, .box = {16, 16}};
    expect_box(&narrow, (int32_t[5]){-4, -4}, NULL); /* the tensor lies inside the box */
}

Test(async_tensor_load, every_rank)
{
    const struct async_map one = {
        .type = EMU_MAP_U32, .rank = 1, .dims = {70}, .box = {32}};
    expect_box(&one, (int32_t[5]){52}, NULL);
    const struct async_map three = {.type = EMU_MAP_U32,
                                    .rank = 3,
                                    .dims = {10, 9, 8},
                                    .strides = {48, 48 * 9},
                                    .box = {8, 4, 3}};
    expect_box(&three, (int32_t[5]){4, 7, 6}, NULL);
    const struct async_map four = {.type = EMU_MAP_U32,
                                   .rank = 4,
                                   .dims = {10, 9, 8, 7},
                                   .strides = {48, 48 * 9, 48 * 80},
                                   .box = {8, 4, 3, 2}};
    expect_box(&four, (int32_t[5]){4, -1, 6, 6}, NULL);
    const struct async_map five = {.type = EMU_MAP_U32,
                                   .rank = 5,
                                   .dims = {10, 5, 4, 3, 6},
                                   .strides = {48, 48 * 5, 48 * 20, 48 * 64},
                                   .box = {8, 4, 3, 2, 4}};
    expect_box(&five, (int32_t[5]){4, 2, -1, 2, 1}, NULL);
}

Test(async_tensor_load, element_strides_skip_rows)
{
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 3,
                                  .dims = {16, 40, 20},
                                  .strides = {64, 64 * 40},
                                  .box = {8, 9, 8},
                                  .element_strides = {1, 2, 3}};
    expect_box(&map, (int32_t[5]){4, 5, 3}, NULL);
    expect_box(&map, (int32_t[5]){4, 33, -2}, NULL);
}

Test(async_tensor_load, stride_of_0_repeats_a_row)
{
    const struct async_map map = {
        .type = EMU_MAP_U32, .rank = 2, .dims = {16, 8}, .strides = {0}, .box = {16, 8}};
    expect_box(&map, (int32_t[5]){0, 0}, NULL);
}

Test(async_tensor_load, gather4_takes_rows_from_anywhere)
{
    uint32_t tensor[64 * 16];
    uint32_t image[WORDS];
    const int32_t at[5] = {4, 40, 3, -1, 64};
    const struct async_map map = {
        .type = EMU_MAP_U32, .rank = 2, .dims = {16, 64}, .strides = {64}, .box = {8, 1}};
    for (uint32_t i = 0; i < 64 * 16; i++) {
        tensor[i] = i + 1;
    }
    run_load(gather_ptx, &map, tensor, sizeof(tensor), at, 4 * 32, image, NULL);
    for (uint32_t i = 0; i < 32; i++) {
        int32_t row = at[1 + i / 8];
        uint32_t expected = row < 0 || row >= 64 ? 0 : (uint32_t)row * 16 + 4 + i % 8 + 1;
        cr_expect_eq(image[i], expected, "element %u", i);
    }
}

/* --------------------------------------------------------------------- types that change
 */

static void expect_words(unsigned type, unsigned fill, const uint32_t *tensor,
                         const uint32_t *words)
{
    uint32_t image[WORDS];
    const struct async_map map = {
        .type = type, .rank = 1, .dims = {4}, .box = {8}, .fill = fill};
    run_load(load_ptx[0], &map, tensor, 16, (int32_t[5]){0}, 32, image, NULL);
    for (unsigned i = 0; i < 8; i++) {
        cr_expect_eq(image[i], words[i], "type %u, word %u: %08x, not %08x", type, i,
                     image[i], words[i]);
    }
}

Test(async_tensor_load, tf32_rounds_and_ftz_changes_nothing)
{
    /* 1 + 2^-11 (a tie), 1 + 3 * 2^-11 (a tie upward), a negative subnormal, infinity. */
    const uint32_t tensor[] = {0x3F801000, 0x3F803000, 0x80000001, 0x7F800000};
    expect_words(EMU_MAP_F32, 0, tensor,
                 (uint32_t[8]){0x3F801000, 0x3F803000, 0x80000001, 0x7F800000});
    expect_words(EMU_MAP_F32_FTZ, 0, tensor,
                 (uint32_t[8]){0x3F801000, 0x3F803000, 0x80000001, 0x7F800000});
    expect_words(EMU_MAP_TF32, 0, tensor,
                 (uint32_t[8]){0x3F800000, 0x3F804000, 0x80000000, 0x7F800000});
}

Test(async_tensor_load, nan_fills_what_lies_outside)
{
    const uint32_t tensor[] = {0x3F800000, 0x40000000, 0x40400000, 0x40800000};
    expect_words(EMU_MAP_F32, 1, tensor,
                 (uint32_t[8]){0x3F800000, 0x40000000, 0x40400000, 0x40800000, 0x7FF77FF7,
                               0x7FF77FF7, 0x7FF77FF7, 0x7FF77FF7});
    uint32_t image[WORDS];
    const struct async_map half = {
        .type = EMU_MAP_F16, .rank = 1, .dims = {3}, .box = {8}, .fill = 1};
    run_load(load_ptx[0], &half, tensor, 16, (int32_t[5]){0}, 16, image, NULL);
    cr_expect_eq(image[0], 0x3F800000);
    cr_expect_eq(image[1], 0x7FF70000);
    cr_expect_eq(image[2], 0x7FF77FF7);
}

Test(async_tensor_load, padded_types_leave_gaps_and_count_without_them)
{
    uint8_t tensor[192];
    uint32_t image[WORDS];
    const uint8_t *bytes = (const uint8_t *)image;
    for (unsigned i = 0; i < sizeof(tensor); i++) {
        tensor[i] = (uint8_t)(i + 1);
    }
    const struct async_map four = {.type = EMU_MAP_U4_ALIGN16,
                                   .rank = 2,
                                   .dims = {128, 2},
                                   .strides = {64},
                                   .box = {128, 2}};
    run_load(load_ptx[1], &four, tensor, 192, (int32_t[5]){0, 0}, 128, image, NULL);
    for (unsigned i = 0; i < 256; i++) {
        cr_expect(i % 16 >= 8 || bytes[i] == i / 16 * 8 + i % 16 + 1, "byte %u", i);
    }
    const struct async_map six = {.type = EMU_MAP_U6_ALIGN16,
                                  .rank = 2,
                                  .dims = {128, 2},
                                  .strides = {96},
                                  .box = {128, 2}};
    run_load(load_ptx[1], &six, tensor, 192, (int32_t[5]){0, 0}, 192, image, NULL);
    for (unsigned i = 0; i < 256; i++) {
        cr_expect(i % 16 >= 12 || bytes[i] == i / 16 * 12 + i % 16 + 1, "byte %u", i);
    }
    const struct async_map dense = {.type = EMU_MAP_U4_ALIGN8,
                                    .rank = 2,
                                    .dims = {100, 3},
                                    .strides = {64},
                                    .box = {64, 2}};
    run_load(load_ptx[1], &dense, tensor, 192, (int32_t[5]){64, 1}, 64, image, NULL);
    for (unsigned i = 0; i < 64; i++) {
        cr_expect_eq(bytes[i], i % 32 < 18 ? 64 * (i / 32) + 64 + 32 + i % 32 + 1 : 0,
                     "byte %u", i);
    }
}

Test(async_tensor_load, gaps_of_padded_types_are_undefined)
{
    struct harness h;
    uint8_t tensor[64] = {0};
    async_open(&h, load_ptx[0], 4 * WORDS);
    const struct async_map map = {.type = EMU_MAP_U4_ALIGN16,
                                  .rank = 1,
                                  .base = harness_buffer(&h, "tensor", 64, tensor),
                                  .dims = {128},
                                  .box = {128}};
    async_param_map(&h, &map);
    const uint32_t numbers[] = {0, 0, 0, 0, 0, 64};
    for (unsigned i = 0; i < 6; i++) {
        harness_param_u32(&h, numbers[i]);
    }
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, EMU_FINDING_UNDEFINED, "value that is stored is undefined");
    harness_close(&h);
}

/* ---------------------------------------------------------------------------- refusals */

static void expect_error(const char *ptx, const struct async_map *map, const int32_t *at,
                         uint32_t bytes, enum emu_finding finding, const char *words)
{
    struct harness h;
    static uint32_t tensor[1024];
    async_open(&h, ptx, 4 * WORDS);
    struct async_map placed = *map;
    placed.base = harness_buffer(&h, "tensor", sizeof(tensor), tensor);
    async_param_map(&h, &placed);
    for (unsigned i = 0; i < 5; i++) {
        harness_param_u32(&h, (uint32_t)at[i]);
    }
    harness_param_u32(&h, bytes);
    cr_expect_not(harness_run(&h, 1, 32));
    async_expect_error(&h, finding, words);
    harness_close(&h);
}

Test(async_tensor_load, misuse_is_named)
{
    const struct async_map map = {
        .type = EMU_MAP_U32, .rank = 2, .dims = {16, 64}, .strides = {64}, .box = {8, 2}};
    const struct async_map long_map = {
        .type = EMU_MAP_U32, .rank = 2, .dims = {16, 65}, .strides = {64}, .box = {8, 2}};
    const struct async_map padded = {
        .type = EMU_MAP_U4_ALIGN16, .rank = 1, .dims = {256}, .box = {128}};
    const int32_t zero[5] = {0};
    expect_error(load_ptx[2], &map, zero, 64, EMU_FINDING_DESCRIPTOR, "has rank 2");
    expect_error(gather_ptx, &map, zero, 64, EMU_FINDING_DESCRIPTOR, "a box of one row");
    expect_error(load_ptx[0], &padded, (int32_t[5]){64}, 64, EMU_FINDING_DESCRIPTOR,
                 "multiple of 128");
    /* Wherever the box lies. */
    static const int32_t illegal[][5] = {{2}, {-2}, {-1, -1}, {33}, {1, 1000}};
    for (size_t i = 0; i < sizeof(illegal) / sizeof(illegal[0]); i++) {
        expect_error(load_ptx[1], &map, illegal[i], 64, EMU_FINDING_DESCRIPTOR,
                     "does not begin at a multiple of 16 bytes");
    }
    expect_error(load_ptx[1], &map, zero, 48, EMU_FINDING_BARRIER,
                 "more bytes were delivered");
    expect_error(load_ptx[1], &map, zero, 80, EMU_FINDING_DEADLOCK, "tx 16");
    expect_error(load_ptx[1], &long_map, (int32_t[5]){0, 63}, 64, EMU_FINDING_OUT_OF_BOUNDS,
                 "past the end of tensor");
}

Test(async_tensor_load, im2col_is_refused_by_name)
{
    struct harness h;
    harness_open(&h);
    cr_expect_not(harness_try_load(
        &h,
        KERNEL_MAP("cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w."
                   "mbarrier::complete_tx::bytes [%r1], [%rd1, {%r0, %r0, %r0}], [%r1], "
                   "{%h0, %h1};\n")));
    cr_expect_not_null(strstr(h.error.text, ".im2col::w is not supported"), "%s",
                       h.error.text);
    harness_close(&h);
}

Test(async_tensor_load, load_by_every_lane_is_warned_of)
{
    struct harness h;
    static uint32_t tensor[1024];
    async_open(&h,
               KERNEL_MAP(INIT(0, 1) "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], "
                                     "2048;\nadd.u32 %r3, %r1, 1024;\n"
                                     "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::"
                                     "complete_tx::bytes [%r3], [%rd1, {0}], [%r1];\n" WAIT(
                                         "W", 0, 0)),
               4);
    h.settings.races = false;
    const struct async_map map = {.type = EMU_MAP_U32,
                                  .rank = 1,
                                  .base = harness_buffer(&h, "tensor", 4096, tensor),
                                  .dims = {16},
                                  .box = {16}};
    async_param_map(&h, &map);
    cr_expect(harness_run(&h, 1, 32), "%s", harness_text(&h));
    cr_expect_not_null(strstr(harness_text(&h), "issued by 32 lanes"));
    harness_close(&h);
}
