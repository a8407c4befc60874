/* SPDX-License-Identifier: MIT */
/*
 * Scales from one layout to another on the device: the bits of the host, in memory that is
 * guarded, out of memory that ends behind the last scale. On the emulator; with ON_GPU=1 on
 * a GPU, where it skips what the machine has not.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated_fixture.h"
#include "jit_gemm/scales.h"

enum { GUARD = 0xa5, GUARD_BYTES = 64, LAYOUTS = 5 };

static const char *const layout_names[LAYOUTS] = {"row", "column", "128x4", "8x4", "mn_k4"};

static const jit_gemm_scale mx = {
    .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 32};
static const jit_gemm_scale nv = {
    .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 16};
static const jit_gemm_scale squares = {
    .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 128, .block_k = 128};

static jit_gemm_context *open_context(const char *arch)
{
    if (getenv("ON_GPU") == NULL) {
        return emulated_open(arch, "sms=2,async=random,schedule=random,seed=7");
    }
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .arch = arch, .no_cache = 1};
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    jit_gemm_context *context = NULL;
    emulated_check(jit_gemm_context_create(&options, &context));
    if (jit_gemm_device_get_info(context, &info) != JIT_GEMM_OK ||
        info.cc_major != (strcmp(arch, "sm_90a") == 0 ? 9 : 10)) {
        cr_skip_test("no GPU for %s", arch);
    }
    return context;
}

static jit_gemm_packer *create_packer(jit_gemm_context *context,
                                      const jit_gemm_scale *scale, uint32_t to)
{
    jit_gemm_packer *packer = NULL;
    const jit_gemm_status status = jit_gemm_packer_create(context, scale, to, &packer);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    emulated_check(status);
    return packer;
}

static size_t bytes_of(jit_gemm_scale scale, uint32_t layout, int64_t mn, int64_t k)
{
    size_t bytes = 0;
    scale.layout = layout;
    emulated_check(jit_gemm_scales_bytes(&scale, mn, k, &bytes));
    return bytes;
}

static unsigned char *allocate(size_t bytes, int value)
{
    unsigned char *memory = malloc(bytes + 1);
    cr_assert_not_null(memory);
    memset(memory, value, bytes + 1);
    return memory;
}

/* ------------------------------------------------------------------- layouts and bits */

/* One conversion; scales are those of `scale`, whatever its layout. */
struct conversion {
    jit_gemm_scale scale;
    uint32_t from, to;
    int64_t mn, k, batch;
    size_t element_bytes, from_gap, to_gap; /* between batches, in elements */
};

/* Scales of a batch in a layout whose padding is all ones, made of those in rows. */
static void fill_source(const struct conversion *c, const unsigned char *rows,
                        unsigned char *source, size_t bytes)
{
    unsigned char *one = allocate(bytes, 0), *ones = allocate(bytes, 0);
    const size_t row_bytes = bytes_of(c->scale, JIT_GEMM_SCALE_LAYOUT_ROW, c->mn, c->k);
    unsigned char *full = allocate(row_bytes, 0xff);
    jit_gemm_scale scale = c->scale;
    scale.layout = JIT_GEMM_SCALE_LAYOUT_ROW;
    emulated_check(jit_gemm_scales_convert(&scale, c->mn, c->k, rows, c->from, one));
    emulated_check(jit_gemm_scales_convert(&scale, c->mn, c->k, full, c->from, ones));
    for (size_t i = 0; i < bytes; i++) {
        source[i] = (unsigned char)(one[i] | (unsigned char)~ones[i]);
    }
    free(one);
    free(ones);
    free(full);
}

/* Up to the last byte of a scale: what follows is padding that nobody may read. */
static size_t end_of_scales(const struct conversion *c, size_t bytes)
{
    const size_t row_bytes = bytes_of(c->scale, JIT_GEMM_SCALE_LAYOUT_ROW, c->mn, c->k);
    unsigned char *full = allocate(row_bytes, 0xff), *marks = allocate(bytes, 0);
    jit_gemm_scale scale = c->scale;
    scale.layout = JIT_GEMM_SCALE_LAYOUT_ROW;
    emulated_check(jit_gemm_scales_convert(&scale, c->mn, c->k, full, c->from, marks));
    while (bytes > 0 && marks[bytes - 1] == 0) {
        bytes--;
    }
    free(full);
    free(marks);
    return bytes;
}

static void expect_guard(const unsigned char *bytes, size_t size, const char *what)
{
    for (size_t i = 0; i < size; i++) {
        cr_assert_eq(bytes[i], GUARD, "%s, byte %zu", what, i);
    }
}

static void expect_conversion(jit_gemm_context *context, const jit_gemm_packer *packer,
                              const struct conversion *c)
{
    const size_t element = c->element_bytes;
    const size_t row_bytes = bytes_of(c->scale, JIT_GEMM_SCALE_LAYOUT_ROW, c->mn, c->k);
    const size_t from_bytes = bytes_of(c->scale, c->from, c->mn, c->k);
    const size_t to_bytes = bytes_of(c->scale, c->to, c->mn, c->k);
    const size_t batches = (size_t)c->batch;
    const size_t from_step = from_bytes + c->from_gap * element;
    const size_t to_step = to_bytes + c->to_gap * element;
    /* Addresses that are multiples of no more than is asked for. */
    const size_t at = c->from < JIT_GEMM_SCALE_LAYOUT_128X4 ? element : 4;
    const size_t lead = GUARD_BYTES + (c->to < JIT_GEMM_SCALE_LAYOUT_128X4 ? element : 4);
    unsigned char *rows = allocate(batches * row_bytes, 0);
    unsigned char *source = allocate(at + batches * from_step, 0xff);
    unsigned char *wanted = allocate(batches * to_bytes, 0);
    jit_gemm_scale scale = c->scale;
    scale.layout = c->from;
    for (size_t i = 0; i < batches * row_bytes; i++) {
        rows[i] = (unsigned char)(1 + i * 7 % 251);
    }
    for (size_t b = 0; b < batches; b++) {
        unsigned char *own = source + at + b * from_step;
        fill_source(c, rows + b * row_bytes, own, from_bytes);
        emulated_check(jit_gemm_scales_convert(&scale, c->mn, c->k, own, c->to,
                                               wanted + b * to_bytes));
    }
    const size_t source_end = at + (batches - 1) * from_step + end_of_scales(c, from_bytes);
    const size_t target_bytes = lead + batches * to_step + GUARD_BYTES;
    unsigned char *target = allocate(target_bytes, GUARD);
    const uint64_t from = emulated_upload(context, source, source_end);
    const uint64_t to = emulated_upload(context, target, target_bytes);
    const jit_gemm_packer_args args = {
        .struct_size = sizeof(args),
        .mn = c->mn,
        .k = c->k,
        .batch = c->batch,
        .from = from + at,
        .to = to + lead,
        .from_stride = c->from_gap > 0 ? (int64_t)(from_step / element) : 0,
        .to_stride = c->to_gap > 0 ? (int64_t)(to_step / element) : 0};

    emulated_check(jit_gemm_packer_run(packer, &args, NULL));
    emulated_check(jit_gemm_device_download(context, target, to, target_bytes));

    char what[128];
    snprintf(what, sizeof(what), "%zu bytes, %s to %s, mn=%d k=%d batch=%d", element,
             layout_names[c->from], layout_names[c->to], (int)c->mn, (int)c->k,
             (int)c->batch);
    expect_guard(target, lead, what);
    for (size_t b = 0; b < batches; b++) {
        const unsigned char *own = target + lead + b * to_step;
        cr_assert_eq(memcmp(own, wanted + b * to_bytes, to_bytes), 0, "%s, batch %zu", what,
                     b);
        expect_guard(own + to_bytes, to_step - to_bytes, what);
    }
    expect_guard(target + lead + batches * to_step, GUARD_BYTES, what);
    emulated_free(context, from);
    emulated_free(context, to);
    free(rows);
    free(source);
    free(wanted);
    free(target);
}

/* Blocks along K: 1, 2, 4, 7, 17 of MX; rows around the borders of pieces. */
static const struct {
    int64_t mn, k, batch;
    size_t from_gap, to_gap;
} sizes[] = {
    {1, 1, 1, 0, 0},     {5, 33, 3, 4, 8},    {128, 128, 1, 0, 0},
    {133, 200, 2, 0, 4}, {300, 520, 1, 0, 0}, {8, 96, 2, 12, 0},
};

static void expect_pair(jit_gemm_context *context, const jit_gemm_scale *scale,
                        uint32_t from, uint32_t to)
{
    struct conversion c = {.scale = *scale,
                           .from = from,
                           .to = to,
                           .element_bytes = scale->block_k == 128 ? 4 : 1};
    c.scale.layout = from;
    jit_gemm_packer *packer = create_packer(context, &c.scale, to);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        c.mn = sizes[i].mn * scale->block_mn - (scale->block_mn > 1);
        c.k = sizes[i].k * (scale->block_k / 16) / 2;
        c.k = c.k > 0 ? c.k : 1;
        c.batch = sizes[i].batch;
        c.from_gap = sizes[i].from_gap;
        c.to_gap = sizes[i].to_gap;
        expect_conversion(context, packer, &c);
    }
    jit_gemm_packer_destroy(&packer);
    cr_assert_null(packer);
}

static void expect_all_pairs(const char *arch)
{
    jit_gemm_context *context = open_context(arch);
    for (uint32_t from = 0; from < LAYOUTS; from++) {
        for (uint32_t to = 0; to < LAYOUTS; to++) {
            expect_pair(context, (from + to) % 2 == 0 ? &mx : &nv, from, to);
        }
    }
    for (uint32_t from = 0; from <= JIT_GEMM_SCALE_LAYOUT_COLUMN; from++) {
        for (uint32_t to = 0; to <= JIT_GEMM_SCALE_LAYOUT_COLUMN; to++) {
            expect_pair(context, &squares, from, to);
        }
    }
    uint64_t findings = 1;
    emulated_check(jit_gemm_device_findings(context, &findings));
    cr_expect_eq(findings, 0);
    jit_gemm_context_destroy(&context);
}

Test(packed_scales, every_layout_becomes_every_other_on_sm_90a, .timeout = 300)
{
    expect_all_pairs("sm_90a");
}

Test(packed_scales, every_layout_becomes_every_other_on_sm_100a, .timeout = 300)
{
    expect_all_pairs("sm_100a");
}

/* ------------------------------------------------------------------------- in products */

enum { M = 130, N = 72, MOST_SCALES = 4096 };

/* Powers of two, so that all sums are exact, and neighbours differ. */
static int exponent_of(int64_t row, int64_t block)
{
    return (int)((row * 5 + block * 3) % 7) - 3;
}

struct side {
    uint64_t elements, scales;
};

/* A matrix of ones whose scales lie in rows, and are packed on the device. */
static struct side make_side(jit_gemm_context *context, const jit_gemm_matrix *matrix,
                             int64_t mn, int64_t k, uint32_t from)
{
    jit_gemm_scale scale = matrix->scale;
    const uint32_t to = scale.layout;
    static unsigned char rows[MOST_SCALES], first[MOST_SCALES], zeros[MOST_SCALES];
    struct side side;
    const int64_t count = (mn + scale.block_mn - 1) / scale.block_mn;
    const int64_t blocks = (k + scale.block_k - 1) / scale.block_k;
    for (int64_t i = 0; i < count * blocks; i++) {
        const int exponent = exponent_of(i / blocks, i % blocks);
        const float value = ldexpf(1.0F, exponent);
        if (scale.dtype == JIT_GEMM_DTYPE_F32) {
            memcpy(rows + i * 4, &value, sizeof(value));
        } else {
            rows[i] = (unsigned char)(127 + exponent);
        }
    }
    scale.layout = JIT_GEMM_SCALE_LAYOUT_ROW;
    emulated_check(jit_gemm_scales_convert(&scale, mn, k, rows, from, first));
    scale.layout = from;
    const size_t bytes = bytes_of(scale, to, mn, k);
    cr_assert_leq(bytes, sizeof(zeros));
    unsigned char *ones = allocate((size_t)(mn * k), 0x38); /* of e4m3 */
    side.elements = emulated_upload(context, ones, (size_t)(mn * k));
    side.scales = emulated_upload(context, zeros, bytes);
    const uint64_t source = emulated_upload(context, first, bytes_of(scale, from, mn, k));
    jit_gemm_packer *packer = create_packer(context, &scale, to);
    const jit_gemm_packer_args args = {
        .struct_size = sizeof(args), .mn = mn, .k = k, .from = source, .to = side.scales};
    emulated_check(jit_gemm_packer_run(packer, &args, NULL));
    jit_gemm_packer_destroy(&packer);
    emulated_free(context, source);
    free(ones);
    return side;
}

static double scale_at(const jit_gemm_scale *scale, int64_t index, int64_t k)
{
    return ldexp(1.0, exponent_of(index / scale->block_mn, k / scale->block_k));
}

static void expect_product(const char *arch, const char *text, uint32_t from)
{
    jit_gemm_context *context = open_context(arch);
    const jit_gemm_problem problem = emulated_problem(text);
    const int64_t k = problem.k.size;
    static float d[M * N];
    const struct side a = make_side(context, &problem.a, M, k, from);
    const struct side b = make_side(context, &problem.b, N, k, from);
    jit_gemm *gemm = emulated_create(context, &problem);
    const jit_gemm_args args = {.struct_size = sizeof(args),
                                .a = {.pointer = a.elements},
                                .b = {.pointer = b.elements},
                                .d = {.pointer = emulated_upload(context, d, sizeof(d))},
                                .a_scale = {.pointer = a.scales},
                                .b_scale = {.pointer = b.scales}};

    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_device_download(context, d, args.d.pointer, sizeof(d)));

    for (int64_t i = 0; i < M * N; i++) {
        double wanted = 0;
        for (int64_t at = 0; at < k; at++) {
            wanted += scale_at(&problem.a.scale, i / N, at) *
                      scale_at(&problem.b.scale, i % N, at);
        }
        cr_assert_eq((double)d[i], wanted, "%s (%d, %d): %g, not %g", text, (int)(i / N),
                     (int)(i % N), (double)d[i], wanted);
    }
    const uint64_t addresses[] = {a.elements, a.scales, b.elements, b.scales,
                                  args.d.pointer};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        emulated_free(context, addresses[i]);
    }
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}

Test(packed_scales, products_of_mx_take_what_was_packed)
{
    expect_product("sm_100a", "m=130 n=72 k=320 a=mxfp8 d=f32",
                   JIT_GEMM_SCALE_LAYOUT_MN_K4);
    expect_product("sm_100a", "m=130 n=72 k=320 a=mxfp8 d=f32", JIT_GEMM_SCALE_LAYOUT_8X4);
}

Test(packed_scales, products_of_powers_of_two_take_what_was_packed)
{
    expect_product("sm_100a",
                   "m=130 n=72 k=1184 a=e4m3 d=f32 a_scale=1x128ue8m0 a_scale_layout=128x4 "
                   "b_scale=1x128ue8m0 b_scale_layout=128x4",
                   JIT_GEMM_SCALE_LAYOUT_MN_K4);
}

Test(packed_scales, products_of_blocks_take_what_was_packed)
{
    expect_product("sm_90a",
                   "m=130 n=72 k=320 a=e4m3 d=f32 a_scale=1x128 a_scale_layout=column "
                   "b_scale=128x128",
                   JIT_GEMM_SCALE_LAYOUT_ROW);
}
