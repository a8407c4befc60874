/* SPDX-License-Identifier: MIT */
/* Block-scaled tcgen05.mma, with scale factors brought by tcgen05.cp. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "test_tensor_support.h"

#define SCALES_AT 65536u
#define IMAGE     73728u

static uint8_t image[2 * IMAGE];
static uint32_t out_words[256 * 256];
static struct tile_image a[2], b[2];
static uint8_t a_scales[256][4], b_scales[256][4];

struct scale_case {
    const char *kind; /* with its scale vector */
    unsigned cta_group, m, n, k, factors;
    enum emu_format element, scale;
    bool packed;
    uint32_t descriptor;
    unsigned a_id, b_id; /* bytes of the cell */
};

/* 512 bytes for 128 rows: row r at (r % 32) * 16 + (r / 32) * 4; four bytes each. */
static void put_scales(uint8_t *to, uint8_t (*scales)[4], unsigned rows, unsigned id,
                       unsigned factors)
{
    for (unsigned row = 0; row < rows; row++) {
        uint8_t *word = to + row / 128 * 512 + row % 32 * 16 + row % 128 / 32 * 4;
        for (unsigned i = 0; i < factors; i++) {
            word[id + i] = scales[row][i];
        }
    }
}

static bool is_layout_b(const struct scale_case *c)
{
    return c->cta_group == 2 && c->m == 128;
}

/* For M = 128 over a pair: rows 0-31 of 16 bytes hold the left half of N, rows 32-63 the
 * right one, 32 columns of N to the word. */
static void put_half_scales(uint8_t *to, const struct scale_case *c)
{
    for (unsigned column = 0; column < c->n; column++) {
        unsigned half = column / (c->n / 2);
        unsigned within = column % (c->n / 2);
        uint8_t *word = to + (half * 32 + within % 32) * 16 + within / 32 * 4;
        memcpy(word + c->b_id, b_scales[column], c->factors);
    }
}

static void fill_scales(uint8_t (*scales)[4], enum emu_format format, unsigned seed)
{
    /* powers of two from 1/2 to 4, in either format */
    for (unsigned i = 0; i < 256 * 4; i++) {
        unsigned power = (unsigned)(emu_mix(seed, i) >> 13) % 4;
        scales[i / 4][i % 4] =
            (uint8_t)(format == EMU_UE8M0 ? 126 + power : (6 + power) << 3);
    }
}

static double expect_d(const struct scale_case *c, unsigned row, unsigned column)
{
    const struct tile_image *left = &a[row / (c->m / c->cta_group)];
    const struct tile_image *right = &b[column / (c->n / c->cta_group)];
    unsigned left_row = row % (c->m / c->cta_group);
    unsigned right_row = column % (c->n / c->cta_group);
    double sum = 0;
    for (unsigned k = 0; k < c->k; k++) {
        unsigned block = k / (c->k / c->factors);
        sum += left->values[left_row * c->k + k] * right->values[right_row * c->k + k] *
               emu_decode(c->scale, a_scales[row][block]) *
               emu_decode(c->scale, b_scales[column][block]);
    }
    return sum;
}

static void lay_out(const struct scale_case *c)
{
    memset(image, 0, sizeof(image));
    fill_scales(a_scales, c->scale, 3);
    fill_scales(b_scales, c->scale, 4);
    for (unsigned rank = 0; rank < c->cta_group; rank++) {
        uint8_t *own = image + (size_t)rank * IMAGE;
        for (unsigned i = 0; i < 2; i++) {
            struct tile_image *tile = i == 0 ? &a[rank] : &b[rank];
            memset(tile, 0, sizeof(*tile));
            tile->format = c->element;
            tile->packed = c->packed;
            tile->layout.swizzle = 128;
            tile->rows = (i == 0 ? c->m : c->n) / c->cta_group;
            tile->k = c->k;
            fill_tile(tile, 20 + rank * 2 + i);
            put_tile(tile, own + i * 32768);
        }
        /* A: its own rows. B: all of N, for layout B in two halves of the lanes. */
        put_scales(own + SCALES_AT, a_scales + rank * (c->m / c->cta_group),
                   c->m / c->cta_group, c->a_id, c->factors);
        if (is_layout_b(c)) {
            put_half_scales(own + SCALES_AT + 1024, c);
        } else {
            put_scales(own + SCALES_AT + 1024, b_scales, c->n, c->b_id, c->factors);
        }
    }
}

static void add_copies(struct emu_text *text, const struct scale_case *c)
{
    /* no swizzle, 128 bytes from one group of 8 rows to the next */
    add_descriptor(text, 14, UINT64_C(0x0000400800010000), SCALES_AT);
    /* 16 bytes wide, so that the other stride does not matter */
    add_descriptor(text, 15, UINT64_C(0x0000400800000000), SCALES_AT + 1024);
    add_descriptor(text, 16, UINT64_C(0x0000400800010000), SCALES_AT + 1536);
    emu_text_add(text,
                 "mov.u32 %%r10, %%cluster_ctarank;\n"
                 "or.b32 %%r10, %%r10, %%r0;\nsetp.ne.u32 %%p2, %%r10, 0;\n"
                 "mov.u16 %%h0, %u;\n",
                 c->cta_group == 2 ? 3 : 1);
}

static void expect_product(const struct scale_case *c, enum emu_async_mode async,
                           enum emu_numbers numbers)
{
    struct harness h;
    struct emu_text text = {0};
    uint64_t out = 0;
    unsigned rows = c->m / c->cta_group;
    lay_out(c);
    harness_open(&h);
    h.settings.async = async;
    h.settings.numbers = numbers;
    begin_kernel(&text, 100, 128, IMAGE);
    add_tensor_setup(&text, c->cta_group, 512);
    add_descriptor(&text, 10, make_descriptor_sm100(&a[0], 0), 0);
    add_descriptor(&text, 11, make_descriptor_sm100(&b[0], 0), 32768);
    add_copies(&text, c);
    add_single(&text,
               "tcgen05.cp.cta_group::%u.32x128b.warpx4 [%%r3+256], %%d14;\n"
               "tcgen05.cp.cta_group::%u.%s [%%r3+264], %%d15;\n"
               "tcgen05.cp.cta_group::%u.32x128b.warpx4 [%%r3+268], %%d16;\n"
               "tcgen05.mma.cta_group::%u.kind::%s [%%r3], %%d10, %%d11, 0x%x, [%%r3+256], "
               "[%%r3+264], 0;\n"
               "tcgen05.commit.cta_group::%u.mbarrier::arrive::one.shared::cluster"
               ".multicast::cluster.b64 [bar], %%h0;\n",
               c->cta_group, c->cta_group,
               is_layout_b(c) ? "64x128b.warpx2::01_23" : "32x128b.warpx4", c->cta_group,
               c->cta_group, c->kind,
               c->descriptor | c->n >> 3 << 17 | c->m >> 4 << 24 | c->a_id << 29 |
                   c->b_id << 4,
               c->cta_group);
    add_wait(&text, 0, 0);
    unsigned columns = is_layout_b(c) ? c->n / 2 : c->n;
    add_dump(&text, columns);
    add_tensor_teardown(&text, c->cta_group, 512);
    end_kernel(&text);
    cr_assert(run_kernel(&h, &text, image, IMAGE, c->cta_group, 128, c->cta_group, &out,
                         c->cta_group * 128 * columns),
              "%s: %s", c->kind, harness_text(&h));
    harness_read(&h, out, out_words, (uint64_t)c->cta_group * 128 * columns * 4);
    for (unsigned row = 0; row < c->m; row++) {
        for (unsigned column = 0; column < c->n; column++) {
            unsigned lane = row / rows * 128 + row % rows + (column < columns ? 0 : 64);
            double got = emu_decode(EMU_F32, out_words[lane * columns + column % columns]);
            cr_assert_eq(got, expect_d(c, row, column),
                         "%s: row %u, column %u: %g instead of %g", c->kind, row, column,
                         got, expect_d(c, row, column));
        }
    }
    harness_close(&h);
}

Test(emu_tensor_scales, one_factor_of_any_byte)
{
    for (unsigned id = 0; id < 4; id++) {
        const struct scale_case c = {"mxf8f6f4.block_scale",
                                     1,
                                     128,
                                     128,
                                     32,
                                     1,
                                     EMU_E4M3,
                                     EMU_UE8M0,
                                     false,
                                     0x00800000,
                                     id,
                                     (id + 1) % 4};
        expect_product(&c, EMU_ASYNC_RANDOM, EMU_NUMBERS_EXACT);
        expect_product(&c, EMU_ASYNC_REORDER, EMU_NUMBERS_FAST);
    }
}

Test(emu_tensor_scales, n_up_to_256_takes_8_columns)
{
    const struct scale_case c = {
        "mxf8f6f4.block_scale.block32", 1, 128, 256, 32, 1, EMU_E5M2, EMU_UE8M0, false,
        0x00800000 | 1 << 7 | 1 << 10,  0, 0};
    expect_product(&c, EMU_ASYNC_LATEST, EMU_NUMBERS_FAST);
}

Test(emu_tensor_scales, a_pair_holds_its_own_rows_and_all_of_n)
{
    const struct scale_case c = {"mxf8f6f4.block_scale",
                                 2,
                                 256,
                                 128,
                                 32,
                                 1,
                                 EMU_E4M3,
                                 EMU_UE8M0,
                                 false,
                                 0x00800000,
                                 2,
                                 1};
    expect_product(&c, EMU_ASYNC_RANDOM, EMU_NUMBERS_FAST);
}

Test(emu_tensor_scales, fp4_with_two_and_four_factors)
{
    const struct scale_case cases[] = {
        {"mxf4.block_scale", 1, 128, 128, 64, 2, EMU_E2M1, EMU_UE8M0, true, 0x00800480, 0,
         2},
        {"mxf4.block_scale.block32", 1, 128, 64, 64, 2, EMU_E2M1, EMU_UE8M0, true,
         0x00800480, 2, 0},
        {"mxf4nvf4.block_scale.block16", 1, 128, 128, 64, 4, EMU_E2M1, EMU_UE4M3, true,
         0x00000480, 0, 0},
        {"mxf4nvf4.block_scale.scale_vec::4X", 2, 256, 64, 64, 4, EMU_E2M1, EMU_UE8M0, true,
         0x00800480, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_product(&cases[i], EMU_ASYNC_RANDOM, EMU_NUMBERS_EXACT);
        expect_product(&cases[i], EMU_ASYNC_EAGER, EMU_NUMBERS_FAST);
    }
}

Test(emu_tensor_scales, a_pair_of_m_128_has_the_factors_of_n_in_two_halves)
{
    const struct scale_case c = {"mxf8f6f4.block_scale",
                                 2,
                                 128,
                                 64,
                                 32,
                                 1,
                                 EMU_E4M3,
                                 EMU_UE8M0,
                                 false,
                                 0x00800000,
                                 1,
                                 3};
    expect_product(&c, EMU_ASYNC_RANDOM, EMU_NUMBERS_EXACT);
}
