/* SPDX-License-Identifier: MIT */
/*
 * What conversions and integer sums do at the edges of their types, on the emulator through
 * the public API: sums of s32 beyond f32, saturation, NaN, the rounding of tf32.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"

enum { SIZE = 16, LONG_K = 2064 };

static const char *const archs[] = {"sm_90a", "sm_100a"};

enum { ARCHS = sizeof(archs) / sizeof(archs[0]) };

struct fixture {
    jit_gemm_context *context;
    const char *arch;
    jit_gemm_args args;
};

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static uint64_t upload(const struct fixture *fixture, const void *data, size_t bytes)
{
    uint64_t address = 0;
    check(jit_gemm_device_alloc(fixture->context, bytes, &address));
    check(jit_gemm_device_upload(fixture->context, address, data, bytes));
    return address;
}

/* A and B, K-major and packed; room for any D. */
static void open_fixture(struct fixture *fixture, const char *arch, const void *a,
                         const void *b, size_t bytes)
{
    setenv("JIT_GEMM_EMULATOR", "numbers=exact,sms=2", 1);
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache = 1};
    *fixture =
        (struct fixture){.arch = arch, .args = {.struct_size = sizeof(fixture->args)}};
    check(jit_gemm_context_create(&options, &fixture->context));
    fixture->args.a.pointer = upload(fixture, a, bytes);
    fixture->args.b.pointer = upload(fixture, b, bytes);
    check(jit_gemm_device_alloc(fixture->context, SIZE * SIZE * sizeof(float),
                                &fixture->args.d.pointer));
}

static void close_fixture(struct fixture *fixture)
{
    check(jit_gemm_device_free(fixture->context, fixture->args.a.pointer));
    check(jit_gemm_device_free(fixture->context, fixture->args.b.pointer));
    check(jit_gemm_device_free(fixture->context, fixture->args.d.pointer));
    jit_gemm_context_destroy(&fixture->context);
}

/* Runs the problem with the fixture's arguments; D is `bytes` long. */
static void run(const struct fixture *fixture, const char *text, void *d, size_t bytes)
{
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    check(jit_gemm_problem_parse(text, &problem));
    const jit_gemm_status status = jit_gemm_create(fixture->context, &problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    check(status);
    check(jit_gemm_run(gemm, &fixture->args, NULL));
    check(jit_gemm_device_download(fixture->context, d, fixture->args.d.pointer, bytes));
    jit_gemm_destroy(&gemm);
}

/* ------------------------------------------------------------------------------ s8 */

/* Sums around 2^25, where f32 has every second integer: row i gives less by i. */
static int32_t sum_of_row(int row)
{
    return 127 * 127 * (LONG_K - 1) + 127 - row;
}

static void open_long_sums(struct fixture *fixture, const char *arch)
{
    static signed char a[SIZE][LONG_K], b[SIZE][LONG_K];
    memset(a, 127, sizeof(a));
    memset(b, 127, sizeof(b));
    for (int i = 0; i < SIZE; i++) {
        a[i][0] = (signed char)(127 - i);
        b[i][0] = 1;
    }
    open_fixture(fixture, arch, a, b, sizeof(a));
}

static const char long_sums[] = "16x16x2064 s8";

static void expect_rows(const struct fixture *fixture, const char *text,
                        int32_t (*want)(int row), const char *what)
{
    int32_t d[SIZE][SIZE];
    run(fixture, text, d, sizeof(d));
    for (int row = 0; row < SIZE; row++) {
        for (int column = 0; column < SIZE; column++) {
            cr_expect_eq(d[row][column], want(row), "%s, %s, row %d: %d instead of %d",
                         fixture->arch, what, row, d[row][column], want(row));
        }
    }
}

static int32_t rounded_sum(int row)
{
    return (int32_t)(float)sum_of_row(row);
}

static int32_t twice_rounded_sum(int row)
{
    return 2 * rounded_sum(row);
}

static int32_t greatest(int row)
{
    (void)row;
    return INT32_MAX;
}

static int32_t least(int row)
{
    (void)row;
    return INT32_MIN;
}

static int32_t zero(int row)
{
    (void)row;
    return 0;
}

Test(type_edges, sums_of_s8_are_exact_where_nothing_is_to_be_computed, .timeout = 300)
{
    cr_assert_gt(sum_of_row(0), 1 << 24);
    cr_assert_neq(sum_of_row(1), rounded_sum(1));
    for (int i = 0; i < ARCHS; i++) {
        struct fixture fixture;
        open_long_sums(&fixture, archs[i]);
        const float one = 1;

        expect_rows(&fixture, long_sums, sum_of_row, "plain");
        expect_rows(&fixture, "16x16x2064 s8 config=kernel=reference", sum_of_row,
                    "reference");
        fixture.args.alpha_device = upload(&fixture, &one, sizeof(one));
        expect_rows(&fixture, long_sums, sum_of_row, "alpha 1 on the device");
        expect_rows(&fixture, "m=16 n=16 k=2064 a=s8 config=stages=2", sum_of_row,
                    "two stages");

        check(jit_gemm_device_free(fixture.context, fixture.args.alpha_device));
        close_fixture(&fixture);
    }
}

Test(type_edges, sums_of_s8_are_f32_where_something_is, .timeout = 300)
{
    for (int i = 0; i < ARCHS; i++) {
        struct fixture fixture;
        open_long_sums(&fixture, archs[i]);
        const jit_gemm_epilogue copy = {
            .struct_size = sizeof(copy), .name = "copy", .source = "d = acc;"};
        check(jit_gemm_epilogue_register(fixture.context, &copy));
        const float one = 1, two = 2, many = 1000, few = -1000, none = NAN;

        expect_rows(&fixture, "m=16 n=16 k=2064 a=s8 epilogue=copy", rounded_sum,
                    "a snippet");
        fixture.args.alpha = &two;
        expect_rows(&fixture, long_sums, twice_rounded_sum, "alpha 2");
        fixture.args.alpha = &many;
        expect_rows(&fixture, long_sums, greatest, "alpha 1000");
        fixture.args.alpha = &few;
        expect_rows(&fixture, long_sums, least, "alpha -1000");
        fixture.args.alpha = &none;
        expect_rows(&fixture, long_sums, zero, "alpha NaN");
        fixture.args.alpha = NULL;
        fixture.args.a_scale.pointer = upload(&fixture, &one, sizeof(one));
        expect_rows(&fixture, "16x16x2064 s8 a_scale=tensor", rounded_sum, "a scale of 1");

        check(jit_gemm_device_free(fixture.context, fixture.args.a_scale.pointer));
        close_fixture(&fixture);
    }
}

/* -------------------------------------------------------------------- 8-bit floats */

/* Values on the diagonal of A as e5m2, what becomes of them in e4m3 and e5m2, and of twice
 * them in e4m3. B is the identity. */
static const struct {
    unsigned char value, e4m3, e5m2, e4m3_twice;
} diagonal[SIZE] = {
    {0x7b, 0x7e, 0x7b, 0x7e},                           /* 57344 */
    {0xfb, 0xfe, 0xfb, 0xfe}, {0x7c, 0x7e, 0x7b, 0x7e}, /* infinity */
    {0xfc, 0xfe, 0xfb, 0xfe}, {0x7e, 0x7f, 0x7f, 0x7f}, /* NaN */
    {0xff, 0x7f, 0x7f, 0x7f}, {0x01, 0x00, 0x01, 0x00}, /* 2^-16 */
    {0x81, 0x80, 0x81, 0x80}, {0x18, 0x01, 0x18, 0x02}, /* 2^-9: the least of e4m3 */
    {0x14, 0x00, 0x14, 0x01},                           /* 2^-10: half of it, to even */
    {0x15, 0x01, 0x15, 0x01},                           /* 1.25 * 2^-10 */
    {0x5f, 0x7e, 0x5f, 0x7e},                           /* 448 */
    {0x5b, 0x76, 0x5b, 0x7e},                           /* 224 */
    {0x60, 0x7e, 0x60, 0x7e},                           /* 512 */
    {0x00, 0x00, 0x00, 0x00}, {0x3c, 0x38, 0x3c, 0x40}, /* 1 */
};

static void expect_diagonal(const struct fixture *fixture, const char *text,
                            size_t expected_at)
{
    unsigned char d[SIZE][SIZE];
    run(fixture, text, d, sizeof(d));
    for (int i = 0; i < SIZE; i++) {
        const unsigned char *row = (const unsigned char *)&diagonal[i];
        cr_expect_eq(d[i][i], row[expected_at], "%s, %s: %02x became %02x, not %02x",
                     fixture->arch, text, row[0], d[i][i], row[expected_at]);
    }
}

Test(type_edges, conversions_to_8_bit_floats_saturate, .timeout = 300)
{
    static unsigned char a[SIZE][SIZE], b[SIZE][SIZE];
    for (int i = 0; i < SIZE; i++) {
        a[i][i] = diagonal[i].value;
        b[i][i] = 0x3c;
    }
    for (int i = 0; i < ARCHS; i++) {
        struct fixture fixture;
        open_fixture(&fixture, archs[i], a, b, sizeof(a));
        const float two = 2;

        expect_diagonal(&fixture, "16x16x16 e5m2 d=e4m3", 1);
        expect_diagonal(&fixture, "16x16x16 e5m2 d=e5m2", 2);
        expect_diagonal(&fixture, "16x16x16 e5m2 d=e4m3 config=kernel=reference", 1);
        fixture.args.alpha = &two;
        expect_diagonal(&fixture, "16x16x16 e5m2 d=e4m3", 3);
        close_fixture(&fixture);
    }
}

/* ----------------------------------------------------------------------- D of s8 */

/* Values on the diagonal of A as f16, and what becomes of them. */
static const struct {
    uint16_t value;
    signed char s8;
} integers[SIZE] = {
    {0x3800, 0},    {0x3e00, 2},    {0x4100, 2},    {0xb800, 0},   /* 0.5 1.5 2.5 -0.5 */
    {0xbe00, -2},   {0x57f0, 127},  {0x57f8, 127},  {0x5800, 127}, /* -1.5 127 127.5 128 */
    {0x7bff, 127},  {0x7c00, 127},  {0xfc00, -128}, {0x7e00, 0}, /* 65504, infinity, NaN */
    {0xd800, -128}, {0xd804, -128}, {0xd808, -128}, {0xd7f8, -128} /* -128 and near it */
};

Test(type_edges, conversions_to_s8_saturate, .timeout = 300)
{
    static uint16_t a[SIZE][SIZE], b[SIZE][SIZE];
    static const char *const texts[] = {"16x16x16 f16 d=s8",
                                        "16x16x16 f16 d=s8 output_align=1",
                                        "16x16x16 f16 d=s8 config=kernel=reference"};
    for (int i = 0; i < SIZE; i++) {
        a[i][i] = integers[i].value;
        b[i][i] = 0x3c00;
    }
    for (int i = 0; i < ARCHS; i++) {
        struct fixture fixture;
        open_fixture(&fixture, archs[i], a, b, sizeof(a));
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            signed char d[SIZE][SIZE];
            run(&fixture, texts[j], d, sizeof(d));
            for (int row = 0; row < SIZE; row++) {
                cr_expect_eq(d[row][row], integers[row].s8, "%s, %s: %04x became %d",
                             archs[i], texts[j], integers[row].value, d[row][row]);
            }
        }
        close_fixture(&fixture);
    }
}

/* ---------------------------------------------------------------------------- tf32 */

Test(type_edges, tf32_is_rounded_to_nearest_even_and_not_cut_off, .timeout = 300)
{
    static const float values[][2] = {
        {1 + 0x1p-11F, 1},
        {1 + 0x3p-11F, 1 + 0x1p-9F},
        {1 + 0x1.8p-11F, 1 + 0x1p-10F},
        {-1 - 0x1.cp-11F, -1 - 0x1p-10F},
        {0x1.ffffp+99F, 0x1p+100F},
        {3, 3},
    };
    static float a[SIZE][SIZE], b[SIZE][SIZE];
    for (int i = 0; i < SIZE; i++) {
        a[i][i] = i < 6 ? values[i][0] : 0;
        b[i][i] = 1;
    }
    for (int i = 0; i < ARCHS; i++) {
        struct fixture fixture;
        open_fixture(&fixture, archs[i], a, b, sizeof(a));
        static const char *const texts[] = {"16x16x16 tf32", "16x16x16 tf32 input_align=4",
                                            "16x16x16 tf32 config=kernel=reference"};
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            float d[SIZE][SIZE];
            run(&fixture, texts[j], d, sizeof(d));
            for (int row = 0; row < 6; row++) {
                cr_expect_eq(d[row][row], values[row][1], "%s, %s: %a became %a, not %a",
                             archs[i], texts[j], (double)values[row][0],
                             (double)d[row][row], (double)values[row][1]);
            }
        }
        close_fixture(&fixture);
    }
}

/* On the diagonal of A: NaNs, infinities, what rounds to one, ties, subnormals, zero. */
static const uint32_t tf32_edges[SIZE] = {0x7FC12345, 0xFF800001, 0xFF800000, 0x7F7FFFFF,
                                          0x7F7FEFFF, 0x3F801000, 0xBF803000, 0x3F801001,
                                          0x00000FFF, 0x00001000, 0x80001001, 0x00003000,
                                          0x007FFFFF, 0x80000000, 0x0042FFFF, 0xBF80FFFF};

enum { EDGES_LD = 40 };

static void make_edges(uint32_t a[SIZE][EDGES_LD], uint32_t b[SIZE][EDGES_LD])
{
    uint32_t bits = 12345;
    for (int i = 0; i < SIZE; i++) {
        a[i][i] = tf32_edges[i];
        a[i][SIZE + i] = 0x3F800000;
        for (int k = 0; k < EDGES_LD; k++) { /* 2^-32 to 2^31 */
            bits = bits * 1664525 + 1013904223;
            b[i][k] = (bits & 0x80000000) | ((bits >> 2 & 0x1FFFFFFF) + 0x2F800000);
        }
        b[i][SIZE + i] = tf32_edges[i];
    }
}

static void expect_bits(const struct fixture *fixture, const char *text,
                        uint32_t want[SIZE][SIZE])
{
    uint32_t d[SIZE][SIZE];
    run(fixture, text, d, sizeof(d));
    for (int row = 0; row < SIZE; row++) {
        for (int column = 0; column < SIZE; column++) {
            cr_expect_eq(d[row][column], want[row][column],
                         "%s, %s: edge %08x, column %d: %08x, not %08x", fixture->arch,
                         text, tf32_edges[row], column, d[row][column], want[row][column]);
        }
    }
}

Test(type_edges, tf32_is_the_same_whether_copies_or_threads_load_it, .timeout = 300)
{
    static uint32_t a[SIZE][EDGES_LD], b[SIZE][EDGES_LD];
    make_edges(a, b);
    for (int i = 0; i < ARCHS; i++) {
        struct fixture fixture;
        open_fixture(&fixture, archs[i], a, b, sizeof(a));
        fixture.args.a.ld = EDGES_LD;
        fixture.args.b.ld = EDGES_LD;
        uint32_t copied[SIZE][SIZE];
        run(&fixture, "16x16x37 tf32", copied, sizeof(copied));

        expect_bits(&fixture, "16x16x37 tf32 input_align=4", copied);
        expect_bits(&fixture, "16x16x37 tf32 input_align=8", copied);
        close_fixture(&fixture);
    }
}

Test(type_edges, tf32_is_the_same_in_all_layouts, .timeout = 300)
{
    static const struct {
        const char *copied, *loaded;
        int a_turned, b_turned;
    } rows[] = {
        {"16x16x37 tf32 layout=nn", "16x16x37 tf32 layout=nn input_align=4", 0, 1},
        {"16x16x37 tf32 layout=tn", "16x16x37 tf32 layout=tn input_align=8", 1, 1},
        {"16x16x37 tf32 layout=tt", "16x16x37 tf32 layout=tt input_align=4", 1, 0},
    };
    static uint32_t a[SIZE][EDGES_LD], b[SIZE][EDGES_LD];
    static uint32_t turned_a[EDGES_LD][SIZE], turned_b[EDGES_LD][SIZE];
    make_edges(a, b);
    for (int k = 0; k < EDGES_LD; k++) {
        for (int i = 0; i < SIZE; i++) {
            turned_a[k][i] = a[i][k];
            turned_b[k][i] = b[i][k];
        }
    }
    struct fixture fixture;
    uint32_t want[SIZE][SIZE];
    open_fixture(&fixture, "sm_100a", a, b, sizeof(a));
    fixture.args.a.ld = fixture.args.b.ld = EDGES_LD;
    const uint64_t a_along_m = upload(&fixture, turned_a, sizeof(turned_a));
    const uint64_t b_along_n = upload(&fixture, turned_b, sizeof(turned_b));
    run(&fixture, "16x16x37 tf32", want, sizeof(want));
    for (int i = 0; i < 3; i++) {
        struct fixture turned = fixture;
        if (rows[i].a_turned) {
            turned.args.a.pointer = a_along_m;
            turned.args.a.ld = SIZE;
        }
        if (rows[i].b_turned) {
            turned.args.b.pointer = b_along_n;
            turned.args.b.ld = SIZE;
        }
        expect_bits(&turned, rows[i].copied, want);
        expect_bits(&turned, rows[i].loaded, want);
    }
    check(jit_gemm_device_free(fixture.context, a_along_m));
    check(jit_gemm_device_free(fixture.context, b_along_n));
    close_fixture(&fixture);
}

/* ------------------------------------------------------------------------- no products */

/* A launch without K still brings C, behind the zeros that stand for A and B. */
Test(type_edges, sum_of_no_products_is_zero)
{
    static const char *const texts[] = {
        "16x16x64 f16 c=f32 d=f32 dynamic=k",
        "16x16x64 f16 c=f32 d=f32 dynamic=m,n,k config=debug=1",
        "16x16x64 f16 c=f32 d=f32 dynamic=k input_align=2",
    };
    for (int i = 0; i < ARCHS; i++) {
        static const uint16_t nans[SIZE][SIZE] = {{0x7E00}};
        float c[SIZE][SIZE];
        struct fixture fixture;
        open_fixture(&fixture, archs[i], nans, nans, sizeof(nans));
        for (int j = 0; j < SIZE * SIZE; j++) {
            c[j / SIZE][j % SIZE] = (float)j;
        }
        fixture.args.c.pointer = upload(&fixture, c, sizeof(c));
        for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
            float d[SIZE][SIZE];
            fixture.args.m = fixture.args.n = j == 1 ? SIZE : 0;
            fixture.args.k = JIT_GEMM_SIZE_EMPTY;
            run(&fixture, texts[j], d, sizeof(d));
            cr_expect_eq(memcmp(d, c, sizeof(c)), 0, "%s, %s", archs[i], texts[j]);
        }
        check(jit_gemm_device_free(fixture.context, fixture.args.c.pointer));
        close_fixture(&fixture);
    }
}
