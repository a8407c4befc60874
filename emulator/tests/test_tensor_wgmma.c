/* SPDX-License-Identifier: MIT */
/* wgmma: results for every type, layout and source of A. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_tensor_support.h"

#define IMAGE_BYTES (96u * 1024u)

struct wgmma_case {
    const char *types; /* as in the opcode */
    enum emu_format a, b;
    const char *d; /* f32, f16 or s32 */
    unsigned n, k;
    struct tile_layout a_layout, b_layout;
    bool a_in_registers;
    const char *scales; /* what follows scale-d, e.g. ", 1, 1, 0, 0" */
};

static struct tile_image tiles[4]; /* A and B of the first, of the second instruction */
static uint8_t image[IMAGE_BYTES];

/* D registers are %r200 onwards. */
static void add_d(struct emu_text *text, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        emu_text_add(text, "%s%%r%u", i == 0 ? "{" : ", ", 200 + i);
    }
    emu_text_add(text, "}");
}

static unsigned count_d(const struct wgmma_case *c)
{
    return c->d[0] == 'f' && c->d[1] == '1' ? c->n / 4 : c->n / 2;
}

/* A fragment of thread `thread`, register j, element i of it: row and column of A. */
static double get_a(const struct tile_image *a, unsigned bits, unsigned thread, unsigned j,
                    unsigned i)
{
    unsigned lane = thread % 32;
    unsigned row = thread / 32 * 16 + lane / 4 + 8 * (j % 2);
    unsigned per = 32 / bits;
    unsigned column = lane % 4 * per + i + j / 2 * 4 * per;
    return a->values[row * a->k + column];
}

static void put_fragments(const struct wgmma_case *c, const struct tile_image *a,
                          uint8_t *to)
{
    unsigned bits = 256 / c->k;
    struct emu_encode nearest = {.rounding = EMU_RN};
    for (unsigned thread = 0; thread < 128; thread++) {
        for (unsigned j = 0; j < 4; j++) {
            uint32_t word = 0;
            for (unsigned i = 0; i < 32 / bits; i++) {
                double value = get_a(a, bits, thread, j, i);
                uint32_t element = c->a == EMU_S8 || c->a == EMU_U8
                                       ? (uint32_t)(int32_t)value & 0xFFu
                                       : (uint32_t)emu_encode(c->a, value, nearest);
                word |= element << i * bits % 32;
            }
            memcpy(to + thread * 16 + j * 4, &word, 4);
        }
    }
}

/* Two instructions on one accumulator: the first ignores what it holds. */
static void build(const struct wgmma_case *c, struct emu_text *text, uint32_t *ret_bytes)
{
    uint32_t at[4], next = 0;
    memset(image, 0, sizeof(image));
    for (unsigned i = 0; i < 4; i++) {
        struct tile_image *tile = &tiles[i];
        memset(tile, 0, sizeof(*tile));
        tile->format = i % 2 == 0 ? c->a : c->b;
        tile->layout = i % 2 == 0 ? c->a_layout : c->b_layout;
        tile->rows = i % 2 == 0 ? 64 : c->n;
        tile->k = c->k;
        fill_tile(tile, 100 + i);
        at[i] = next;
        if (i % 2 == 0 && c->a_in_registers) {
            put_fragments(c, tile, image + next);
            tile->bytes = 2048;
        } else {
            put_tile(tile, image + next);
        }
        next = (uint32_t)emu_align_up(next + tile->bytes, 1024);
    }
    cr_assert_leq(next, sizeof(image));
    *ret_bytes = next;
    begin_kernel(text, 90, 128, next);
    emu_text_add(text, "setp.ne.u32 %%p4, %%r0, %%r0;\nsetp.eq.u32 %%p5, %%r0, %%r0;\n"
                       "shl.b32 %%r11, %%r0, 4;\nadd.u32 %%r11, %%r11, %%r2;\n");
    for (unsigned i = 0; i < 4; i++) {
        if (i % 2 == 0 && c->a_in_registers) {
            emu_text_add(text,
                         "ld.shared.v4.u32 {%%r%u, %%r%u, %%r%u, %%r%u}, [%%r11+%u];\n",
                         100 + 2 * i, 101 + 2 * i, 102 + 2 * i, 103 + 2 * i, at[i]);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        add_descriptor(text, 10 + i, make_descriptor_sm90(&tiles[i], 0), at[i]);
    }
    emu_text_add(text, "wgmma.fence.sync.aligned;\n");
    for (unsigned i = 0; i < 2; i++) {
        emu_text_add(text, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s ", c->n, c->k,
                     c->types);
        add_d(text, count_d(c));
        if (c->a_in_registers) {
            emu_text_add(text, ", {%%r%u, %%r%u, %%r%u, %%r%u}", 100 + 4 * i, 101 + 4 * i,
                         102 + 4 * i, 103 + 4 * i);
        } else {
            emu_text_add(text, ", %%d%u", 10 + 2 * i);
        }
        emu_text_add(text, ", %%d%u, %%p%u%s;\n", 11 + 2 * i, 4 + i, c->scales);
    }
    emu_text_add(text, "wgmma.commit_group.sync.aligned;\n"
                       "wgmma.wait_group.sync.aligned 0;\n");
    emu_text_add(text, "mul.wide.u32 %%d2, %%r0, %u;\nadd.s64 %%d2, %%d2, %%d1;\n",
                 count_d(c) * 4);
    for (unsigned i = 0; i < count_d(c); i++) {
        emu_text_add(text, "st.global.u32 [%%d2+%u], %%r%u;\n", i * 4, 200 + i);
    }
    end_kernel(text);
}

static double get_d(const struct wgmma_case *c, const uint32_t *out, unsigned thread,
                    unsigned i)
{
    const uint32_t *registers = out + thread * count_d(c);
    if (c->d[0] == 's') {
        return (double)(int32_t)registers[i];
    }
    if (c->d[1] == '1') {
        return emu_decode(EMU_F16, registers[i / 2] >> i % 2 * 16 & 0xFFFFu);
    }
    return emu_decode(EMU_F32, registers[i]);
}

static void expect_product(const struct wgmma_case *c, enum emu_async_mode async,
                           enum emu_numbers numbers, double sign)
{
    struct harness h;
    struct emu_text text = {0};
    uint32_t bytes = 0;
    uint64_t out_address = 0;
    static uint32_t out[128 * 128];
    harness_open(&h);
    h.settings.async = async;
    h.settings.numbers = numbers;
    build(c, &text, &bytes);
    bool good =
        run_kernel(&h, &text, image, bytes, 1, 128, 1, &out_address, 128 * count_d(c));
    cr_assert(good, "%s: %s", c->types, harness_text(&h));
    harness_read(&h, out_address, out, (uint64_t)128 * count_d(c) * 4);
    for (unsigned thread = 0; thread < 128; thread++) {
        for (unsigned i = 0; i < c->n / 2; i++) {
            unsigned lane = thread % 32;
            unsigned row = thread / 32 * 16 + lane / 4 + 8 * (i / 2 % 2);
            unsigned column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            double wanted = sign * (multiply(&tiles[0], &tiles[1], row, column) +
                                    multiply(&tiles[2], &tiles[3], row, column));
            cr_assert_eq(get_d(c, out, thread, i), wanted,
                         "%s n%u: row %u, column %u: %g instead of %g", c->types, c->n, row,
                         column, get_d(c, out, thread, i), wanted);
        }
    }
    harness_close(&h);
}

static const struct tile_layout k_128 = {.swizzle = 128};

Test(emu_tensor_wgmma, every_type_gives_the_product)
{
    const struct wgmma_case cases[] = {
        {"f32.bf16.bf16", EMU_BF16, EMU_BF16, "f32", 128, 16, k_128, k_128, false,
         ", 1, 1, 0, 0"},
        {"f32.f16.f16", EMU_F16, EMU_F16, "f32", 8, 16, k_128, k_128, false,
         ", 1, 1, 0, 0"},
        {"f16.f16.f16", EMU_F16, EMU_F16, "f16", 72, 16, k_128, k_128, false,
         ", 1, 1, 0, 0"},
        {"f32.tf32.tf32", EMU_TF32, EMU_TF32, "f32", 40, 8, k_128, k_128, false, ", 1, 1"},
        {"f32.e4m3.e4m3", EMU_E4M3, EMU_E4M3, "f32", 256, 32, k_128, k_128, false,
         ", 1, 1"},
        {"f32.e5m2.e4m3", EMU_E5M2, EMU_E4M3, "f32", 16, 32, k_128, k_128, false, ", 1, 1"},
        {"f16.e4m3.e5m2", EMU_E4M3, EMU_E5M2, "f16", 24, 32, k_128, k_128, false, ", 1, 1"},
        {"s32.s8.s8", EMU_S8, EMU_S8, "s32", 48, 32, k_128, k_128, false, ""},
        {"s32.u8.s8", EMU_U8, EMU_S8, "s32", 24, 32, k_128, k_128, false, ""},
        {"s32.s8.u8.satfinite", EMU_S8, EMU_U8, "s32", 32, 32, k_128, k_128, false, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_product(&cases[i], EMU_ASYNC_RANDOM, EMU_NUMBERS_EXACT, 1);
        expect_product(&cases[i], EMU_ASYNC_EAGER, EMU_NUMBERS_FAST, 1);
    }
}

Test(emu_tensor_wgmma, k_major_tiles_of_every_swizzle)
{
    static const unsigned swizzles[] = {0, 32, 64, 128};
    for (size_t i = 0; i < 16; i++) {
        const struct wgmma_case c = {"f32.bf16.bf16",
                                     EMU_BF16,
                                     EMU_BF16,
                                     "f32",
                                     64,
                                     16,
                                     {.swizzle = swizzles[i % 4]},
                                     {.swizzle = swizzles[i / 4]},
                                     false,
                                     ", 1, 1, 0, 0"};
        expect_product(&c, EMU_ASYNC_LATEST, EMU_NUMBERS_FAST, 1);
    }
}

Test(emu_tensor_wgmma, mn_major_tiles_of_every_swizzle)
{
    static const unsigned swizzles[] = {0, 32, 64, 128};
    for (size_t i = 0; i < 4; i++) {
        const struct tile_layout mn = {.swizzle = swizzles[i], .mn_major = true};
        const struct wgmma_case cases[] = {
            {"f32.bf16.bf16", EMU_BF16, EMU_BF16, "f32", 128, 16, mn, k_128, false,
             ", 1, 1, 1, 0"},
            {"f32.f16.f16", EMU_F16, EMU_F16, "f32", 72, 16, k_128, mn, false,
             ", 1, 1, 0, 1"},
            {"f32.f16.f16", EMU_F16, EMU_F16, "f32", 256, 16, mn, mn, false,
             ", 1, 1, 1, 1"},
        };
        for (size_t j = 0; j < 3; j++) {
            expect_product(&cases[j], EMU_ASYNC_REORDER, EMU_NUMBERS_FAST, 1);
        }
    }
}

Test(emu_tensor_wgmma, a_in_registers)
{
    const struct wgmma_case cases[] = {
        {"f32.bf16.bf16", EMU_BF16, EMU_BF16, "f32", 64, 16, k_128, k_128, true,
         ", 1, 1, 0"},
        {"f32.f16.f16",
         EMU_F16,
         EMU_F16,
         "f32",
         64,
         16,
         k_128,
         {.swizzle = 128, .mn_major = true},
         true,
         ", 1, 1, 1"},
        {"f32.tf32.tf32", EMU_TF32, EMU_TF32, "f32", 64, 8, k_128, k_128, true, ", 1, 1"},
        {"f32.e4m3.e4m3", EMU_E4M3, EMU_E4M3, "f32", 64, 32, k_128, k_128, true, ", 1, 1"},
        {"s32.s8.s8", EMU_S8, EMU_S8, "s32", 64, 32, k_128, k_128, true, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_product(&cases[i], EMU_ASYNC_RANDOM, EMU_NUMBERS_FAST, 1);
    }
}

Test(emu_tensor_wgmma, scales_of_minus_one_negate)
{
    struct wgmma_case c = {"f32.bf16.bf16", EMU_BF16, EMU_BF16, "f32",          32, 16,
                           k_128,           k_128,    false,    ", -1, 1, 0, 0"};
    expect_product(&c, EMU_ASYNC_EAGER, EMU_NUMBERS_EXACT, -1);
    c.scales = ", 1, -1, 0, 0";
    expect_product(&c, EMU_ASYNC_EAGER, EMU_NUMBERS_EXACT, -1);
    c.scales = ", -1, -1, 0, 0";
    expect_product(&c, EMU_ASYNC_EAGER, EMU_NUMBERS_EXACT, 1);
}

Test(emu_tensor_wgmma, only_mn_major_tiles_without_swizzle_are_called_unvalidated)
{
    struct harness h;
    struct emu_text text = {0};
    uint32_t bytes = 0;
    uint64_t out = 0;
    const struct wgmma_case c = {"f32.bf16.bf16",
                                 EMU_BF16,
                                 EMU_BF16,
                                 "f32",
                                 16,
                                 16,
                                 {.swizzle = 0, .mn_major = true},
                                 k_128,
                                 false,
                                 ", 1, 1, 1, 0"};
    harness_open(&h);
    build(&c, &text, &bytes);
    cr_assert(run_kernel(&h, &text, image, bytes, 1, 128, 1, &out, 128 * 8));
    cr_expect_eq(emu_reports_count(h.reports, EMU_ADVICE), 1, "%s", harness_text(&h));
    cr_expect_not_null(
        strstr(harness_text(&h), "hardware): MN-major operands without swizzle\n"));
    harness_close(&h);
}
