/* SPDX-License-Identifier: MIT */
/* mma.sync of a warp: every type and shape, undefined operands, refusals. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_tensor_support.h"

struct sync_case {
    const char *types; /* as in the opcode: D, A, B, C */
    enum emu_format a, b;
    unsigned m, k, sm;
};

static struct tile_image a, b;
static double c_values[16 * 8];
static uint32_t image[32 * 16];
static uint32_t out_words[32 * 4];

static uint32_t encode(enum emu_format format, double value)
{
    struct emu_encode nearest = {.rounding = EMU_RN};
    return format == EMU_S8 || format == EMU_U8
               ? (uint32_t)(int32_t)value & 0xFFu
               : (uint32_t)emu_encode(format, value, nearest);
}

/* Per thread 4 words of A, 2 of B, 4 of C, by the formulas of the PTX ISA. */
static void lay_out(const struct sync_case *c, bool half, bool integer)
{
    unsigned bits = a.format == EMU_TF32                  ? 32
                    : c->a == EMU_F16 || c->a == EMU_BF16 ? 16
                                                          : 8;
    unsigned per = 32 / bits;
    memset(image, 0, sizeof(image));
    for (unsigned lane = 0; lane < 32; lane++) {
        uint32_t *words = image + lane * 16;
        unsigned group = lane / 4;
        unsigned first = lane % 4 * per;
        for (unsigned j = 0; j < c->k / (4 * per) * 2; j++) {
            for (unsigned i = 0; i < per; i++) {
                unsigned row = group + 8 * (j % 2);
                unsigned k = first + i + 4 * per * (j / 2);
                words[j] |= encode(c->a, a.values[row * c->k + k]) << i * bits % 32;
            }
        }
        for (unsigned j = 0; j < c->k / (4 * per); j++) {
            for (unsigned i = 0; i < per; i++) {
                unsigned k = first + i + 4 * per * j;
                words[4 + j] |= encode(c->b, b.values[group * c->k + k]) << i * bits % 32;
            }
        }
        for (unsigned i = 0; i < 4; i++) {
            double value = c_values[(group + 8 * (i / 2)) * 8 + lane % 4 * 2 + i % 2];
            if (half) {
                words[8 + i / 2] |= encode(EMU_F16, value) << i % 2 * 16;
            } else {
                words[8 + i] = integer ? (uint32_t)(int32_t)value : encode(EMU_F32, value);
            }
        }
    }
}

/* %r20.. A, %r24.. B, %r28.. C, %r32.. D. */
static void add_registers(struct emu_text *text, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        emu_text_add(text, "%s%%r%u", i == 0 ? "{" : ", ", first + i);
    }
    emu_text_add(text, "}");
}

static void begin(struct emu_text *text, unsigned sm)
{
    begin_kernel(text, sm, 32, 0);
    emu_text_add(text, "shl.b32 %%r10, %%r0, 6;\ncvt.u64.u32 %%d2, %%r10;\n"
                       "add.s64 %%d2, %%d2, %%d0;\nshl.b32 %%r10, %%r0, 4;\n"
                       "cvt.u64.u32 %%d3, %%r10;\nadd.s64 %%d3, %%d3, %%d1;\n"
                       "ld.global.v4.u32 {%%r20, %%r21, %%r22, %%r23}, [%%d2];\n"
                       "ld.global.v2.u32 {%%r24, %%r25}, [%%d2+16];\n"
                       "ld.global.v4.u32 {%%r28, %%r29, %%r30, %%r31}, [%%d2+32];\n");
}

static void run(struct harness *h, struct emu_text *text, bool *ret_good)
{
    end_kernel(text);
    harness_load(h, emu_text_get(text));
    emu_text_free(text);
    harness_param_u64(h, harness_buffer(h, "image", sizeof(image), image));
    uint64_t out = harness_buffer(h, "out", sizeof(out_words), NULL);
    harness_param_u64(h, out);
    *ret_good = harness_run(h, 1, 32);
    if (*ret_good) {
        harness_read(h, out, out_words, sizeof(out_words));
    }
}

/* a, b and c_values to out_words. */
static void run_product(const struct sync_case *c, enum emu_numbers numbers)
{
    bool half = strncmp(c->types, "f16", 3) == 0;
    unsigned bits = c->a == EMU_TF32 ? 32 : c->a == EMU_F16 || c->a == EMU_BF16 ? 16 : 8;
    unsigned b_count = c->k * bits / 128;
    unsigned d_count = half || c->m == 8 ? 2 : 4;
    lay_out(c, half, c->types[0] == 's');
    struct harness h;
    struct emu_text text = {0};
    bool good = false;
    harness_open(&h);
    h.settings.numbers = numbers;
    begin(&text, c->sm);
    emu_text_add(&text, "mma.sync.aligned.m%un8k%u.row.col.%s ", c->m, c->k, c->types);
    add_registers(&text, 32, d_count);
    emu_text_add(&text, ", ");
    add_registers(&text, 20, c->m / 8 * b_count);
    emu_text_add(&text, ", ");
    add_registers(&text, 24, b_count);
    emu_text_add(&text, ", ");
    add_registers(&text, 28, d_count);
    emu_text_add(&text, ";\n%sst.global.v4.u32 [%%d3], {%%r32, %%r33, %%r34, %%r35};\n",
                 d_count == 2 ? "mov.u32 %r34, 0;\nmov.u32 %r35, 0;\n" : "");
    run(&h, &text, &good);
    cr_assert(good, "%s: %s", c->types, harness_text(&h));
    harness_close(&h);
}

static void make_tiles(const struct sync_case *c)
{
    a = (struct tile_image){.format = c->a, .rows = 16, .k = c->k};
    b = (struct tile_image){.format = c->b, .rows = 8, .k = c->k};
    memset(c_values, 0, sizeof(c_values));
}

static void expect_product(const struct sync_case *c, enum emu_numbers numbers)
{
    bool half = strncmp(c->types, "f16", 3) == 0;
    bool integer = c->types[0] == 's';
    make_tiles(c);
    fill_tile(&a, 1);
    fill_tile(&b, 2);
    for (unsigned i = 0; i < 16 * 8; i++) {
        c_values[i] = (double)(i % 7) - 3;
    }
    run_product(c, numbers);
    for (unsigned i = 0; i < 32 * 4; i++) {
        unsigned lane = i / 4;
        unsigned row = lane / 4 + 8 * (i % 4 / 2);
        if (row >= c->m) {
            continue;
        }
        unsigned column = lane % 4 * 2 + i % 2;
        uint32_t word = out_words[lane * 4 + (half ? i % 4 / 2 : i % 4)];
        double got = integer ? (double)(int32_t)word
                     : half  ? emu_decode(EMU_F16, word >> i % 2 * 16 & 0xFFFFu)
                             : emu_decode(EMU_F32, word);
        cr_assert_eq(got, multiply(&a, &b, row, column) + c_values[row * 8 + column],
                     "%s k%u: row %u, column %u: %g", c->types, c->k, row, column, got);
    }
}

Test(emu_tensor_mma_sync, every_type_gives_the_product)
{
    static const struct sync_case cases[] = {
        {"f32.bf16.bf16.f32", EMU_BF16, EMU_BF16, 16, 16, 90},
        {"f32.bf16.bf16.f32", EMU_BF16, EMU_BF16, 16, 8, 90},
        {"f32.f16.f16.f32", EMU_F16, EMU_F16, 16, 16, 100},
        {"f16.f16.f16.f16", EMU_F16, EMU_F16, 16, 16, 90},
        {"f16.f16.f16.f16", EMU_F16, EMU_F16, 16, 8, 90},
        {"f32.tf32.tf32.f32", EMU_TF32, EMU_TF32, 16, 8, 90},
        {"f32.tf32.tf32.f32", EMU_TF32, EMU_TF32, 16, 4, 90},
        {"f32.e4m3.e5m2.f32", EMU_E4M3, EMU_E5M2, 16, 32, 90},
        {"f32.e5m2.e4m3.f32", EMU_E5M2, EMU_E4M3, 16, 16, 100},
        {"s32.s8.s8.s32", EMU_S8, EMU_S8, 16, 32, 90},
        {"s32.u8.s8.s32", EMU_U8, EMU_S8, 16, 16, 90},
        {"s32.s8.u8.s32", EMU_S8, EMU_U8, 8, 16, 90},
        {"f16.e4m3.e4m3.f16", EMU_E4M3, EMU_E4M3, 16, 32, 90},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_product(&cases[i], EMU_NUMBERS_EXACT);
        expect_product(&cases[i], EMU_NUMBERS_FAST);
    }
}

/* Element 0 of D when row 0 of A holds these first elements, column 0 of B as many ones,
 * and C begins with `c_value`. */
static double sum_fp8(const double elements[4], double c_value)
{
    static const struct sync_case c = {"f32.e5m2.e4m3.f32", EMU_E5M2, EMU_E4M3, 16, 32, 90};
    make_tiles(&c);
    for (unsigned i = 0; i < 4; i++) {
        a.values[i] = elements[i];
        b.values[i] = 1;
    }
    c_values[0] = c_value;
    run_product(&c, EMU_NUMBERS_EXACT);
    return emu_decode(EMU_F32, out_words[0]);
}

Test(emu_tensor_mma_sync, fp8_takes_halves_of_registers_and_then_c)
{
    /* Next to 2^15 the sum of a step drops what is below 2^-10. */
    const double least = 0x1p-16;
    cr_expect_eq(sum_fp8((double[4]){0x1p15, -0x1p15, least, 0}, 0), least);
    cr_expect_eq(sum_fp8((double[4]){least, 0, 0x1p15, -0x1p15}, 0), 0);
    cr_expect_eq(sum_fp8((double[4]){0x1p15, least, -0x1p15, 0}, 0), 0);
    /* C is added to the sum of all, and rounds to nearest. */
    cr_expect_eq(sum_fp8((double[4]){0x1p15, -0x1p15, 0, 0}, least), least);
    cr_expect_eq(sum_fp8((double[4]){1, 0, 0, 0}, 0x1p-23), 1 + 0x1p-23);
    cr_expect_eq(sum_fp8((double[4]){1, 0, 0, 0}, 0x1.8p-24), 1 + 0x1p-23);
}

/* Makes one lane's register undefined and stores that of another. */
static bool uses_undefined(const char *undefine, unsigned lane)
{
    struct harness h;
    struct emu_text text = {0};
    bool good = false;
    harness_open(&h);
    begin(&text, 90);
    emu_text_add(
        &text,
        "setp.eq.u32 %%p4, %%r0, 9;\n%s"
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%%r32, %%r33, %%r34, "
        "%%r35}, {%%r20, %%r21, %%r22, %%r23}, {%%r24, %%r25}, {%%r28, %%r29, "
        "%%r30, %%r31};\nsetp.eq.u32 %%p5, %%r0, %u;\n"
        "@%%p5 st.global.u32 [%%d3], %%r32;\n",
        undefine, lane);
    run(&h, &text, &good);
    bool found = harness_found(&h, EMU_FINDING_UNDEFINED) > 0;
    cr_expect_eq(good, !found);
    harness_close(&h);
    return found;
}

Test(emu_tensor_mma_sync, undefined_operands_make_their_row_or_column_undefined)
{
    /* lane 9 holds row 2 of A, column 2 of B, and C of row 2, columns 2 and 3 */
    const char *const of_a = "@%p4 mov.u32 %r22, %r99;\n";
    const char *const of_b = "@%p4 mov.u32 %r25, %r99;\n";
    const char *const of_c = "@%p4 mov.u32 %r28, %r99;\n";
    cr_expect_not(uses_undefined("", 9));
    cr_expect(uses_undefined(of_a, 8), "row 2, columns 0 and 1");
    cr_expect_not(uses_undefined(of_a, 4), "row 1");
    cr_expect_not(uses_undefined("@%p4 mov.u32 %r21, %r99;\n", 8), "row 10 of A");
    cr_expect(uses_undefined(of_b, 1), "row 0, column 2");
    cr_expect_not(uses_undefined(of_b, 0), "row 0, columns 0 and 1");
    cr_expect(uses_undefined(of_c, 9));
    cr_expect_not(uses_undefined(of_c, 8));
}

Test(emu_tensor_mma_sync, what_is_not_supported_is_refused)
{
    static const char *const insns[] = {
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r32, %r33, %r34, %r35}, {%r20}, "
        "{%r24}, {%r28, %r29, %r30, %r31};\n",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32 {%r32, %r33, %r34, %r35}, "
        "{%r20, %r21, %r22, %r23}, {%r24, %r25}, {%r28, %r29, %r30, %r31};\n",
        "mma.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%r32, %r33, %r34, %r35}, "
        "{%r20, %r21, %r22, %r23}, {%r24, %r25}, {%r28, %r29, %r30, %r31};\n",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r32, %r33}, "
        "{%r20, %r21, %r22, %r23}, {%r24, %r25}, {%r28, %r29, %r30, %r31};\n",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%r32, %r33, "
        "%r34, %r35}, {%r20, %r21, %r22, %r23}, {%r24, %r25}, {%r28, %r29, %r30, %r31};\n",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%r32, %r33, %r34, %r35}, "
        "{%r20, %r21, %r22, %r23}, {%r24, %r25}, {%r28, %r29, %r30, %r31}, %r0, 0;\n",
    };
    for (size_t i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
        struct harness h;
        struct emu_text text = {0};
        harness_open(&h);
        begin(&text, 90);
        emu_text_add(&text, "%s", insns[i]);
        end_kernel(&text);
        cr_expect_not(harness_try_load(&h, emu_text_get(&text)), "%s", insns[i]);
        emu_text_free(&text);
        harness_close(&h);
    }
}
