/* SPDX-License-Identifier: MIT */
/* tcgen05.mma in one CTA: kinds, layouts of tiles, options. */
#include "test_tensor_mma.h"

#include <criterion/criterion.h>
#include <string.h>

struct tile_image mma_a[2][2], mma_b[2][2];
static uint8_t image[2 * MMA_IMAGE_BYTES];
static uint32_t cells[256 * 256];

static uint32_t lay_out(const struct mma_case *c, uint32_t at[2][2])
{
    uint32_t next = 0;
    memset(image, 0, sizeof(image));
    for (unsigned i = 0; i < 4; i++) {
        bool is_a = i % 2 == 0;
        uint32_t bytes = 0;
        for (unsigned rank = 0; rank < c->cta_group; rank++) {
            struct tile_image *tile = is_a ? &mma_a[i / 2][rank] : &mma_b[i / 2][rank];
            memset(tile, 0, sizeof(*tile));
            tile->format = is_a ? c->a : c->b;
            tile->packed = c->packed;
            tile->layout = is_a ? c->a_layout : c->b_layout;
            tile->rows = (is_a ? c->m : c->n) / c->cta_group;
            tile->k = c->k;
            fill_tile(tile, 40 + 10 * rank + i);
            put_tile(tile, image + (size_t)rank * MMA_IMAGE_BYTES + next);
            bytes = tile->bytes;
        }
        at[i / 2][i % 2] = next;
        next = (uint32_t)emu_align_up(next + bytes, 1024);
    }
    cr_assert_leq(next, MMA_IMAGE_BYTES);
    return next;
}

static void add_mma(struct emu_text *text, const struct mma_case *c, unsigned index)
{
    emu_text_add(
        text, "tcgen05.mma.cta_group::%u.kind::%s [%%r3], %%d%u, %%d%u, 0x%x, %s%%p%u%s;\n",
        c->cta_group, c->kind, 10 + 2 * index, 11 + 2 * index,
        c->descriptor | c->n >> 3 << 17 | c->m >> 4 << 24,
        c->disabled == NULL || index == 0 ? "" : c->disabled, 4 + index,
        c->tail == NULL ? "" : c->tail);
}

/* 4 registers to 8 columns of 16 lanes. */
static void add_half_dump(struct emu_text *text, unsigned registers)
{
    emu_text_add(text, "mul.wide.u32 %%d2, %%r0, %u;\nadd.s64 %%d2, %%d2, %%d1;\n",
                 registers * 4);
    for (unsigned i = 0; i < registers; i += 4) {
        emu_text_add(text,
                     "tcgen05.ld.sync.aligned.16x256b.x1.b32 {%%r20, %%r21, %%r22, %%r23}, "
                     "[%%r3+%u];\ntcgen05.wait::ld.sync.aligned;\n"
                     "st.global.v4.u32 [%%d2+%u], {%%r20, %%r21, %%r22, %%r23};\n",
                     i * 2, i * 4);
    }
}

/* Both CTAs wait for the commit; the leader CTA issues. */
static void build(const struct mma_case *c, struct emu_text *text, unsigned columns)
{
    uint32_t at[2][2];
    (void)lay_out(c, at);
    begin_kernel(text, 100, 128, MMA_IMAGE_BYTES);
    add_tensor_setup(text, c->cta_group, 256);
    for (unsigned i = 0; i < 2; i++) {
        add_descriptor(text, 10 + 2 * i, make_descriptor_sm100(&mma_a[i][0], 0), at[i][0]);
        add_descriptor(text, 11 + 2 * i, make_descriptor_sm100(&mma_b[i][0], 0), at[i][1]);
    }
    emu_text_add(text, "setp.ne.u32 %%p4, %%r0, %%r0;\nsetp.eq.u32 %%p5, %%r0, %%r0;\n");
    if (c->cta_group == 2) {
        emu_text_add(text, "mov.u32 %%r10, %%cluster_ctarank;\n"
                           "or.b32 %%r10, %%r10, %%r0;\nsetp.ne.u32 %%p2, %%r10, 0;\n"
                           "mov.u16 %%h0, 3;\n");
    }
    struct emu_text issue = {0};
    add_mma(&issue, c, 0);
    add_mma(&issue, c, 1);
    emu_text_add(&issue,
                 "tcgen05.commit.cta_group::%u.mbarrier::arrive::one.shared::cluster%s.b64 "
                 "[bar]%s;\n",
                 c->cta_group, c->cta_group == 2 ? ".multicast::cluster" : "",
                 c->cta_group == 2 ? ", %h0" : "");
    add_single(text, "%s", emu_text_get(&issue));
    emu_text_free(&issue);
    add_wait(text, 0, 0);
    if (c->half_lanes) {
        add_half_dump(text, columns);
    } else {
        add_dump(text, columns);
    }
    add_tensor_teardown(text, c->cta_group, 256);
    end_kernel(text);
}

void run_mma(const struct mma_case *c, unsigned columns, uint32_t *to)
{
    struct harness h;
    struct emu_text text = {0};
    uint64_t out = 0;
    harness_open(&h);
    h.settings.async = c->async;
    h.settings.numbers = c->numbers;
    build(c, &text, columns);
    bool good = run_kernel(&h, &text, image, MMA_IMAGE_BYTES, c->cta_group, 128,
                           c->cta_group, &out, 128 * c->cta_group * columns);
    cr_assert(good, "kind %s: %s", c->kind, harness_text(&h));
    harness_read(&h, out, to, (uint64_t)128 * c->cta_group * columns * 4);
    harness_close(&h);
}

struct mma_case make_mma(const char *kind, unsigned cta_group, unsigned m, unsigned n,
                         enum emu_format a, enum emu_format b, uint32_t descriptor)
{
    struct mma_case c = {.kind = kind, .cta_group = cta_group, .m = m, .n = n, .a = a};
    c.k = a == EMU_TF32 ? 8 : a == EMU_BF16 || a == EMU_F16 ? 16 : 32;
    c.b = b;
    c.descriptor = descriptor;
    c.d = EMU_F32;
    c.a_layout.swizzle = c.b_layout.swizzle = 128;
    return c;
}

double expect_d(const struct mma_case *c, unsigned row, unsigned column, unsigned count)
{
    unsigned a_rows = c->m / c->cta_group;
    unsigned b_rows = c->n / c->cta_group;
    double sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += multiply(&mma_a[i][row / a_rows], &mma_b[i][column / b_rows], row % a_rows,
                        column % b_rows);
    }
    return sum;
}

double read_d(const struct mma_case *c, uint32_t cell)
{
    return c->d == EMU_S8    ? (double)(int32_t)cell
           : c->d == EMU_F16 ? emu_decode(EMU_F16, cell & 0xFFFFu)
                             : emu_decode(EMU_F32, cell);
}

/* M = 128: a lane is a row, a column a column. */
static void expect_product(const struct mma_case *c)
{
    run_mma(c, c->n, cells);
    for (unsigned row = 0; row < 128; row++) {
        for (unsigned column = 0; column < c->n; column++) {
            cr_assert_eq(read_d(c, cells[row * c->n + column]), expect_d(c, row, column, 2),
                         "kind %s n %u: row %u, column %u: %g instead of %g", c->kind, c->n,
                         row, column, read_d(c, cells[row * c->n + column]),
                         expect_d(c, row, column, 2));
        }
    }
}

Test(emu_tensor_mma, every_kind_gives_the_product)
{
    struct mma_case cases[] = {
        make_mma("f16", 1, 128, 256, EMU_BF16, EMU_BF16, 0x490),
        make_mma("f16", 1, 128, 128, EMU_F16, EMU_F16, 0x010),
        make_mma("f16", 1, 128, 64, EMU_F16, EMU_F16, 0x000),
        make_mma("tf32", 1, 128, 128, EMU_TF32, EMU_TF32, 0x910),
        make_mma("f8f6f4", 1, 128, 128, EMU_E4M3, EMU_E4M3, 0x010),
        make_mma("f8f6f4", 1, 128, 48, EMU_E5M2, EMU_E2M3, 0x010 | 1 << 7 | 3 << 10),
        make_mma("f8f6f4", 1, 128, 16, EMU_E3M2, EMU_E2M1, 0x010 | 4 << 7 | 5 << 10),
        make_mma("i8", 1, 128, 32, EMU_S8, EMU_U8, 0x020 | 1 << 7),
    };
    cases[2].d = EMU_F16;
    cases[7].d = EMU_S8;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cases[i].numbers = EMU_NUMBERS_EXACT;
        cases[i].async = EMU_ASYNC_RANDOM;
        expect_product(&cases[i]);
        cases[i].numbers = EMU_NUMBERS_FAST;
        cases[i].async = EMU_ASYNC_REORDER;
        expect_product(&cases[i]);
    }
}

Test(emu_tensor_mma, k_major_tiles_of_every_swizzle)
{
    static const unsigned swizzles[] = {0, 32, 64, 128};
    for (size_t i = 0; i < 16; i++) {
        struct mma_case c = make_mma("f16", 1, 128, 64, EMU_BF16, EMU_BF16, 0x490);
        c.a_layout.swizzle = swizzles[i % 4];
        c.b_layout.swizzle = swizzles[i / 4];
        expect_product(&c);
    }
}

Test(emu_tensor_mma, mn_major_tiles_of_every_swizzle)
{
    static const unsigned swizzles[] = {0, 32, 64, 128};
    for (size_t i = 0; i < 4; i++) {
        const struct tile_layout mn = {.swizzle = swizzles[i], .mn_major = true};
        struct mma_case c =
            make_mma("f16", 1, 128, 80, EMU_BF16, EMU_BF16, 0x490 | 1 << 15);
        c.a_layout = mn;
        expect_product(&c);
        c.b_layout = mn;
        c.descriptor |= 1 << 16;
        expect_product(&c);
        c = make_mma("f8f6f4", 1, 128, 64, EMU_E4M3, EMU_E4M3, 0x010 | 1 << 15 | 1 << 16);
        c.a_layout = c.b_layout = mn;
        expect_product(&c);
    }
}

Test(emu_tensor_mma, mn_major_tiles_of_32_bits_have_their_own_swizzle)
{
    struct mma_case c =
        make_mma("tf32", 1, 128, 96, EMU_TF32, EMU_TF32, 0x910 | 1 << 15 | 1 << 16);
    c.a_layout = c.b_layout = (struct tile_layout){.swizzle = 132, .mn_major = true};
    expect_product(&c);
}

Test(emu_tensor_mma, negation_applies_to_each_operand)
{
    struct mma_case c = make_mma("f16", 1, 128, 32, EMU_BF16, EMU_BF16, 0x490 | 1 << 13);
    run_mma(&c, 32, cells);
    for (unsigned i = 0; i < 128 * 32; i++) {
        cr_assert_eq(read_d(&c, cells[i]), 0 - expect_d(&c, i / 32, i % 32, 2));
    }
    c.descriptor |= 1 << 14;
    expect_product(&c);
}

Test(emu_tensor_mma, scale_input_d_divides_what_was_there)
{
    struct mma_case c = make_mma("f16", 1, 128, 32, EMU_BF16, EMU_BF16, 0x490);
    c.tail = ", 2";
    run_mma(&c, 32, cells);
    for (unsigned i = 0; i < 128 * 32; i++) {
        double first = expect_d(&c, i / 32, i % 32, 1);
        double second = expect_d(&c, i / 32, i % 32, 2) - first;
        cr_assert_eq(read_d(&c, cells[i]), first / 4 + second);
    }
}

Test(emu_tensor_mma, disabled_lanes_keep_what_they_hold)
{
    struct mma_case c = make_mma("f16", 1, 128, 32, EMU_BF16, EMU_BF16, 0x490);
    c.disabled = "{1, 2, 0, 0x80000000}, ";
    run_mma(&c, 32, cells);
    for (unsigned i = 0; i < 128 * 32; i++) {
        unsigned lane = i / 32;
        bool disabled = lane == 0 || lane == 33 || lane == 127;
        cr_assert_eq(read_d(&c, cells[i]), expect_d(&c, lane, i % 32, disabled ? 1 : 2),
                     "lane %u", lane);
    }
}

Test(emu_tensor_mma, m_64_takes_16_lanes_of_each_quarter)
{
    struct mma_case c = make_mma("f16", 1, 64, 72, EMU_BF16, EMU_BF16, 0x490);
    c.half_lanes = true;
    run_mma(&c, 36, cells);
    for (unsigned thread = 0; thread < 128; thread++) {
        for (unsigned i = 0; i < 36; i++) { /* the fragment of 16x256b */
            unsigned lane = thread % 32;
            unsigned row = thread / 32 * 16 + lane / 4 + 8 * (i / 2 % 2);
            unsigned column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            cr_assert_eq(read_d(&c, cells[thread * 36 + i]), expect_d(&c, row, column, 2),
                         "row %u, column %u", row, column);
        }
    }
}

/* ------------------------------------------------------------------------------- pairs */

Test(emu_tensor_mma, a_pair_of_m_256_gives_each_cta_its_half_of_the_rows)
{
    struct mma_case c = make_mma("f16", 2, 256, 128, EMU_BF16, EMU_BF16, 0x490);
    c.async = EMU_ASYNC_RANDOM;
    run_mma(&c, 128, cells);
    for (unsigned row = 0; row < 256; row++) {
        for (unsigned column = 0; column < 128; column++) {
            cr_assert_eq(read_d(&c, cells[row * 128 + column]),
                         expect_d(&c, row, column, 2), "row %u, column %u", row, column);
        }
    }
}

Test(emu_tensor_mma, a_pair_of_m_128_puts_the_right_half_of_n_into_the_upper_lanes)
{
    struct mma_case c = make_mma("f8f6f4", 2, 128, 96, EMU_E4M3, EMU_E4M3, 0x010);
    run_mma(&c, 48, cells);
    for (unsigned row = 0; row < 128; row++) {
        for (unsigned column = 0; column < 96; column++) {
            unsigned lane = row / 64 * 128 + row % 64 + (column >= 48 ? 64 : 0);
            cr_assert_eq(read_d(&c, cells[lane * 48 + column % 48]),
                         expect_d(&c, row, column, 2), "row %u, column %u", row, column);
        }
    }
}
