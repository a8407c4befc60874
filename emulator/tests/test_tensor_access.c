/* SPDX-License-Identifier: MIT */
/* tcgen05.ld and .st: every shape, base lane and packing; A in tensor memory. */
#include "tensor/fragment.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "test_tensor_support.h"

#define IMAGE_BYTES 32768u

static uint8_t image[IMAGE_BYTES];
static uint32_t out_words[128 * 128];

static void add_list(struct emu_text *text, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        emu_text_add(text, "%s%%r%u", i == 0 ? "{" : ", ", first + i);
    }
    emu_text_add(text, "}");
}

/* Registers %r100 onwards hold thread * 1000 + i. */
static void add_values(struct emu_text *text, unsigned count)
{
    emu_text_add(text, "mul.lo.u32 %%r10, %%r0, 1000;\n");
    for (unsigned i = 0; i < count; i++) {
        emu_text_add(text, "add.u32 %%r%u, %%r10, %u;\n", 100 + i, i);
    }
}

static void add_output(struct emu_text *text, unsigned first, unsigned count)
{
    emu_text_add(text, "mul.wide.u32 %%d2, %%r0, %u;\nadd.s64 %%d2, %%d2, %%d1;\n",
                 count * 4);
    for (unsigned i = 0; i < count; i++) {
        emu_text_add(text, "st.global.u32 [%%d2+%u], %%r%u;\n", i * 4, first + i);
    }
}

struct access_case {
    enum emu_access_shape shape;
    unsigned repeat, base_lane, split;
};
static const struct access_case cases[] = {
    {EMU_ACCESS_32X32B, 1, 0, 0},   {EMU_ACCESS_32X32B, 16, 0, 0},
    {EMU_ACCESS_16X64B, 1, 0, 0},   {EMU_ACCESS_16X64B, 8, 16, 0},
    {EMU_ACCESS_16X128B, 1, 16, 0}, {EMU_ACCESS_16X128B, 4, 0, 0},
    {EMU_ACCESS_16X256B, 1, 0, 0},  {EMU_ACCESS_16X256B, 4, 16, 0},
    {EMU_ACCESS_16X32BX2, 1, 0, 1}, {EMU_ACCESS_16X32BX2, 8, 16, 20},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static void add_access(struct emu_text *text, const struct access_case *c, bool store,
                       const char *packing, unsigned first)
{
    unsigned count = emu_access_registers(c->shape) * c->repeat;
    char split[16] = "";
    if (c->shape == EMU_ACCESS_16X32BX2) {
        snprintf(split, sizeof(split), ", %u", c->split);
    }
    emu_text_add(text, "tcgen05.%s.sync.aligned.%s.x%u%s.b32 ", store ? "st" : "ld",
                 emu_access_words[c->shape], c->repeat, packing);
    if (store) {
        emu_text_add(text, "[%%r4]%s, ", split);
        add_list(text, first, count);
        emu_text_add(text, ";\ntcgen05.wait::st.sync.aligned;\n");
    } else {
        add_list(text, first, count);
        emu_text_add(text, ", [%%r4]%s;\ntcgen05.wait::ld.sync.aligned;\n", split);
    }
}

static void finish(struct emu_text *text, unsigned first, unsigned count, const char *what)
{
    struct harness h;
    uint64_t out = 0;
    harness_open(&h);
    add_output(text, first, count);
    add_tensor_teardown(text, 1, 256);
    end_kernel(text);
    cr_assert(run_kernel(&h, text, image, 1024, 1, 128, 1, &out, 128 * count), "%s: %s",
              what, harness_text(&h));
    harness_read(&h, out, out_words, (uint64_t)128 * count * 4);
    harness_close(&h);
}

/* The cell that a thread's register stands for. */
static void find_cell(const struct access_case *c, unsigned thread, unsigned i,
                      unsigned *ret_lane, unsigned *ret_column)
{
    bool half = false;
    emu_access_place(c->shape, thread % 32, i, ret_lane, ret_column, &half);
    *ret_lane += thread / 32 * 32 + c->base_lane;
    *ret_column += half ? c->split : 0;
}

Test(emu_tensor_access, loads_of_every_shape)
{
    for (size_t i = 0; i < CASES; i++) {
        const struct access_case *c = &cases[i];
        unsigned count = emu_access_registers(c->shape) * c->repeat;
        struct emu_text text = {0};
        begin_kernel(&text, 100, 128, 1024);
        add_tensor_setup(&text, 1, 256);
        add_values(&text, 32);
        emu_text_add(&text, "tcgen05.st.sync.aligned.32x32b.x32.b32 [%%r3], ");
        add_list(&text, 100, 32);
        emu_text_add(&text,
                     ";\ntcgen05.wait::st.sync.aligned;\nadd.u32 %%r4, %%r3, 0x%x;\n",
                     c->base_lane << 16);
        add_access(&text, c, false, "", 200);
        finish(&text, 200, count, emu_access_words[c->shape]);
        for (unsigned thread = 0; thread < 128; thread++) {
            for (unsigned j = 0; j < count; j++) {
                unsigned lane = 0;
                unsigned column = 0;
                find_cell(c, thread, j, &lane, &column);
                cr_assert_eq(out_words[thread * count + j], lane * 1000 + column,
                             "%s: thread %u, register %u: %u", emu_access_words[c->shape],
                             thread, j, out_words[thread * count + j]);
            }
        }
    }
}

Test(emu_tensor_access, stores_of_every_shape)
{
    for (size_t i = 0; i < CASES; i++) {
        const struct access_case *c = &cases[i];
        unsigned count = emu_access_registers(c->shape) * c->repeat;
        struct emu_text text = {0};
        begin_kernel(&text, 100, 128, 1024);
        add_tensor_setup(&text, 1, 256);
        /* all cells 7, then the store */
        for (unsigned j = 0; j < 32; j++) {
            emu_text_add(&text, "mov.u32 %%r%u, 7;\n", 100 + j);
        }
        emu_text_add(&text, "tcgen05.st.sync.aligned.32x32b.x32.b32 [%%r3], ");
        add_list(&text, 100, 32);
        emu_text_add(&text,
                     ";\ntcgen05.wait::st.sync.aligned;\nadd.u32 %%r4, %%r3, 0x%x;\n",
                     c->base_lane << 16);
        add_values(&text, count);
        add_access(&text, c, true, "", 100);
        emu_text_add(&text, "tcgen05.ld.sync.aligned.32x32b.x32.b32 ");
        add_list(&text, 200, 32);
        emu_text_add(&text, ", [%%r3];\ntcgen05.wait::ld.sync.aligned;\n");
        finish(&text, 200, 32, emu_access_words[c->shape]);
        unsigned written = 0;
        for (unsigned thread = 0; thread < 128; thread++) {
            for (unsigned j = 0; j < count; j++) {
                unsigned lane = 0;
                unsigned column = 0;
                find_cell(c, thread, j, &lane, &column);
                cr_assert_eq(out_words[lane * 32 + column], thread * 1000 + j);
                out_words[lane * 32 + column] = 7;
                written++;
            }
        }
        cr_expect_eq(written, 128 * count);
        for (unsigned j = 0; j < 128 * 32; j++) {
            cr_assert_eq(out_words[j], 7, "%s wrote elsewhere: lane %u, column %u",
                         emu_access_words[c->shape], j / 32, j % 32);
        }
    }
}

Test(emu_tensor_access, packing_takes_the_lower_halves_of_two_columns)
{
    struct emu_text text = {0};
    begin_kernel(&text, 100, 128, 1024);
    add_tensor_setup(&text, 1, 256);
    add_values(&text, 8);
    emu_text_add(&text, "tcgen05.st.sync.aligned.32x32b.x8.b32 [%%r3], ");
    add_list(&text, 100, 8);
    emu_text_add(&text, ";\ntcgen05.wait::st.sync.aligned;\nmov.u32 %%r4, %%r3;\n");
    add_access(&text, &(struct access_case){EMU_ACCESS_32X32B, 4, 0, 0}, false,
               ".pack::16b", 200);
    finish(&text, 200, 4, "pack");
    for (unsigned i = 0; i < 128 * 4; i++) {
        uint32_t low = (i / 4 * 1000 + 2 * (i % 4)) & 0xFFFFu;
        uint32_t high = (i / 4 * 1000 + 2 * (i % 4) + 1) & 0xFFFFu;
        cr_assert_eq(out_words[i], low | high << 16);
    }
}

Test(emu_tensor_access, unpacking_is_the_inverse)
{
    struct emu_text text = {0};
    begin_kernel(&text, 100, 128, 1024);
    add_tensor_setup(&text, 1, 256);
    emu_text_add(&text, "mul.lo.u32 %%r100, %%r0, 0x10003;\nadd.u32 %%r101, %%r100, 9;\n"
                        "mov.u32 %%r4, %%r3;\n");
    add_access(&text, &(struct access_case){EMU_ACCESS_16X128B, 1, 0, 0}, true,
               ".unpack::16b", 100);
    add_access(&text, &(struct access_case){EMU_ACCESS_16X128B, 1, 0, 0}, false,
               ".pack::16b", 200);
    finish(&text, 200, 2, "unpack");
    for (unsigned i = 0; i < 128 * 2; i++) {
        cr_assert_eq(out_words[i], i / 2 * 0x10003 + i % 2 * 9);
    }
}

/* Compilers put copies, and whole epilogues, in front of the wait. */
Test(emu_tensor_access, whoever_reads_a_register_waits_for_its_load)
{
    struct emu_text text = {0};
    begin_kernel(&text, 100, 128, 1024);
    add_tensor_setup(&text, 1, 256);
    add_values(&text, 2);
    emu_text_add(&text, "tcgen05.st.sync.aligned.32x32b.x2.b32 [%%r3], {%%r100, %%r101};\n"
                        "tcgen05.wait::st.sync.aligned;\n"
                        "setp.lt.u32 %%p2, %%r0, 64;\nmov.u32 %%r204, 9;\n"
                        "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%%r200, %%r201}, [%%r3];\n"
                        "mov.b32 %%r202, %%r201;\nadd.u32 %%r203, %%r200, %%r202;\n"
                        "@%%p2 mov.b32 %%r204, %%r201;\n"
                        "tcgen05.wait::ld.sync.aligned;\n");
    finish(&text, 202, 3, "read before the wait");
    for (unsigned thread = 0; thread < 128; thread++) {
        const uint32_t *words = out_words + (size_t)thread * 3;
        uint32_t loaded = thread * 1000;
        cr_assert_eq(words[0], loaded + 1);
        cr_assert_eq(words[1], 2 * loaded + 1);
        cr_assert_eq(words[2], thread < 64 ? loaded + 1 : 9, "some lanes only");
    }
}

Test(emu_tensor_access, every_warp_may_say_lane_0_for_its_own_quarter)
{
    struct emu_text text = {0};
    begin_kernel(&text, 100, 128, 1024);
    add_tensor_setup(&text, 1, 256);
    /* store with the lane in the address, load without */
    emu_text_add(&text, "shl.b32 %%r4, %%r1, 21;\nadd.u32 %%r4, %%r4, %%r3;\n");
    add_values(&text, 1);
    add_access(&text, &cases[0], true, "", 100);
    emu_text_add(&text, "mov.u32 %%r4, %%r3;\n");
    add_access(&text, &cases[0], false, "", 200);
    finish(&text, 200, 1, "lane 0");
    for (unsigned thread = 0; thread < 128; thread++) {
        cr_expect_eq(out_words[thread], thread * 1000);
    }
}

/* A as 8 words of K to the row; bf16 and, in whole bytes, e4m3. */
static void expect_a_in_tensor_memory(const char *kind, enum emu_format format, unsigned k,
                                      uint32_t descriptor)
{
    static struct tile_image a, b;
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(image, 0, sizeof(image));
    a.format = b.format = format;
    a.rows = 128;
    b.rows = 32;
    a.k = b.k = k;
    b.layout.swizzle = 128;
    a.layout.swizzle = 32; /* 32 bytes to the row; the swizzle is undone below */
    fill_tile(&a, 1);
    fill_tile(&b, 2);
    put_tile(&b, image);
    put_tile(&a, image + 8192);
    struct emu_text text = {0};
    begin_kernel(&text, 100, 128, 16384);
    add_tensor_setup(&text, 1, 256);
    add_descriptor(&text, 10, make_descriptor_sm100(&b, 0), 0);
    /* units of row r are exchanged when r / 4 is odd */
    emu_text_add(&text, "shl.b32 %%r10, %%r0, 5;\nadd.u32 %%r10, %%r10, %%r2;\n"
                        "shl.b32 %%r11, %%r0, 2;\nand.b32 %%r11, %%r11, 16;\n"
                        "add.u32 %%r12, %%r10, %%r11;\n"
                        "ld.shared.v4.u32 {%%r100, %%r101, %%r102, %%r103}, [%%r12+8192];\n"
                        "xor.b32 %%r11, %%r11, 16;\nadd.u32 %%r12, %%r10, %%r11;\n"
                        "ld.shared.v4.u32 {%%r104, %%r105, %%r106, %%r107}, [%%r12+8192];\n"
                        "tcgen05.st.sync.aligned.32x32b.x8.b32 [%%r3+64], ");
    add_list(&text, 100, 8);
    emu_text_add(&text, ";\ntcgen05.wait::st.sync.aligned;\n"
                        "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
                        "tcgen05.fence::after_thread_sync;\n");
    add_single(&text,
               "tcgen05.mma.cta_group::1.kind::%s [%%r3], [%%r3+64], %%d10, 0x%x, 0;\n"
               "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 "
               "[bar];\n",
               kind, descriptor | 32 >> 3 << 17 | 128 >> 4 << 24);
    add_wait(&text, 0, 0);
    add_dump(&text, 32);
    struct harness h;
    uint64_t out = 0;
    harness_open(&h);
    h.settings.async = EMU_ASYNC_RANDOM;
    add_tensor_teardown(&text, 1, 256);
    end_kernel(&text);
    cr_assert(run_kernel(&h, &text, image, 16384, 1, 128, 1, &out, 128 * 32), "%s",
              harness_text(&h));
    harness_read(&h, out, out_words, 128 * 32 * 4);
    for (unsigned i = 0; i < 128 * 32; i++) {
        cr_assert_eq(emu_decode(EMU_F32, out_words[i]), multiply(&a, &b, i / 32, i % 32),
                     "kind %s: row %u, column %u", kind, i / 32, i % 32);
    }
    harness_close(&h);
}

Test(emu_tensor_access, a_may_lie_in_tensor_memory)
{
    expect_a_in_tensor_memory("f16", EMU_BF16, 16, 0x490);
    expect_a_in_tensor_memory("f8f6f4", EMU_E4M3, 32, 0x010);
    expect_a_in_tensor_memory("tf32", EMU_TF32, 8, 0x910);
}
