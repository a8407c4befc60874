/* SPDX-License-Identifier: MIT */
/*
 * wgmma: arithmetic over every pair of formats, and operands in registers or in shared
 * memory, K-major and MN-major, under each swizzle. Shared memory is filled by plain
 * stores. The items are the elements of D, row by row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "wgmma_data.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define M            64
#define STEP_BYTES   32 /* of a row of A or B that one instruction takes */

/* How a matrix lies in shared memory. */
struct layout {
    bool mn_major;    /* 16-bit formats only */
    unsigned swizzle; /* 0, 32, 64, 128 */
};

struct form {
    const char *name;
    enum gold_format_id a, b, d;
    enum gold_pattern pattern;
    unsigned n, steps;
    struct layout a_layout, b_layout;
    bool a_in_registers, saturate;
    bool no_accumulate; /* the first step does not read C */
    bool negate_a, negate_b;
};

/* Where an operand's pieces are, in bytes. */
struct placement {
    unsigned leading, stride; /* the descriptor's offsets */
    unsigned bytes;           /* of the whole operand */
    unsigned block; /* K-major under a swizzle: from one column of rows to the next */
};

static struct placement place(const struct layout *layout, unsigned rows,
                              unsigned row_bytes)
{
    unsigned width = layout->swizzle, groups = row_bytes / 16; /* K / 8 of 16-bit formats */
    struct placement placement = {16, 0, rows * row_bytes, 0};

    if (!layout->mn_major && width == 0) {
        placement.leading = 128;
        placement.stride = 8 * row_bytes;
    } else if (!layout->mn_major) {
        placement.stride = 8 * width;
        placement.block = rows * width;
        placement.bytes = (row_bytes + width - 1) / width * placement.block;
    } else if (width == 0) {
        placement.stride = 128;
        placement.leading = rows / 8 * 128;
    } else {
        unsigned per = width / 2; /* elements of M or N in a row of the pattern */

        placement.stride = 8 * width;
        placement.leading = groups * placement.stride;
        placement.bytes = (rows + per - 1) / per * placement.leading;
        if (placement.bytes < placement.leading) {
            placement.bytes = placement.leading;
        }
    }
    /* Descriptors look at whole groups of the matrix, and images begin at 1024. */
    placement.bytes = (placement.bytes + 1023) / 1024 * 1024;
    return placement;
}

/* The byte of element (row, k), `bytes` wide. */
static unsigned address(const struct layout *layout, const struct placement *placement,
                        unsigned row, unsigned k, unsigned bytes)
{
    unsigned width = layout->swizzle, kb = k * bytes, at;

    if (!layout->mn_major && width == 0) {
        return row % 8 * 16 + row / 8 * placement->stride + kb / 16 * placement->leading +
               kb % 16;
    }
    if (!layout->mn_major) {
        at = kb / width * placement->block + row % 8 * width + row / 8 * placement->stride +
             kb % width;
    } else if (width == 0) {
        return row % 8 * bytes + row / 8 * placement->stride + k % 8 * 16 +
               k / 8 * placement->leading;
    } else {
        at = row % (width / bytes) * bytes + row / (width / bytes) * placement->leading +
             k % 8 * width + k / 8 * placement->stride;
    }
    /* 128: bits 4-6 ^= bits 7-9; 64: bits 4-5 ^= 7-8; 32: bit 4 ^= bit 7 */
    return at ^ (at >> 3 & (width / 16 - 1) << 4);
}

/* How far step s begins behind step 0. */
static unsigned step_offset(const struct layout *layout, const struct placement *placement,
                            unsigned step)
{
    unsigned kb = step * STEP_BYTES;

    if (layout->mn_major) {
        return 2 * step * (layout->swizzle == 0 ? placement->leading : placement->stride);
    }
    if (layout->swizzle == 0) {
        return 2 * step * placement->leading;
    }
    return kb / layout->swizzle * placement->block + kb % layout->swizzle;
}

/* All of a descriptor but the address of shared memory itself. */
static unsigned long long descriptor(const struct layout *layout,
                                     const struct placement *placement, unsigned offset)
{
    unsigned long long kind = layout->swizzle == 128  ? 1
                              : layout->swizzle == 64 ? 2
                              : layout->swizzle == 32 ? 3
                                                      : 0;

    return kind << 62 | (unsigned long long)(placement->stride >> 4) << 32 |
           (unsigned long long)(placement->leading >> 4) << 16 | offset >> 4;
}

static void write_image(uint8_t *image, const uint32_t *elements, unsigned rows, unsigned k,
                        unsigned bytes, const struct layout *layout,
                        const struct placement *placement)
{
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned column = 0; column < k; column++) {
            memcpy(image + address(layout, placement, row, column, bytes),
                   &elements[row * k + column], bytes);
        }
    }
}

static void write_rows(uint8_t *image, const uint32_t *elements, size_t count,
                       unsigned bytes)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(image + i * bytes, &elements[i], bytes);
    }
}

/* Offsets of the parts of the input: images of A and B, A by rows, C by rows. */
struct parts {
    struct placement a, b;
    unsigned rows_at, c_at, bytes;
    unsigned row_bytes; /* of A and B */
    unsigned cell;      /* bytes of an element of C and D */
    unsigned registers; /* of D in a thread */
};

static struct parts plan_parts(const struct form *form)
{
    struct parts parts;

    parts.row_bytes = form->steps * STEP_BYTES;
    parts.cell = gold_formats[form->d].bits / 8;
    parts.registers = form->n * parts.cell / 8;
    parts.a = place(&form->a_layout, M, parts.row_bytes);
    parts.b = place(&form->b_layout, form->n, parts.row_bytes);
    parts.rows_at = parts.a.bytes + parts.b.bytes;
    parts.c_at = parts.rows_at + M * parts.row_bytes;
    parts.bytes = parts.c_at + M * form->n * parts.cell;
    return parts;
}

/* Register i of a thread holds row 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) +
 * 2 (l % 4) + i % 2 of D; where elements have 16 bits, registers hold pairs of these. */
static unsigned fragment_offset(const struct form *form, const struct parts *parts,
                                unsigned i)
{
    unsigned first = i * 4 / parts->cell;

    return ((first / 2 % 2) * 8 * form->n + 8 * (first / 4) + first % 2) * parts->cell;
}

static void add_list(struct gold_text *ptx, char letter, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        gold_text_add(ptx, "%s%%%c%u%s", i == 0 ? "{" : ", ", letter, first + i,
                      i + 1 == count ? "}" : "");
    }
}

static void add_instruction(struct gold_text *ptx, const struct form *form,
                            const struct parts *parts, unsigned step)
{
    const struct gold_format *a = &gold_formats[form->a];
    bool wide = a->bits == 16, integer = a->exponent_bits == 0;

    gold_text_add(
        ptx, "    add.u64 %%d2, %%d0, 0x%llx;\n    add.u64 %%d3, %%d0, 0x%llx;\n",
        descriptor(&form->a_layout, &parts->a,
                   step_offset(&form->a_layout, &parts->a, step)),
        descriptor(&form->b_layout, &parts->b,
                   parts->a.bytes + step_offset(&form->b_layout, &parts->b, step)));
    gold_text_add(ptx, "    wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s%s ", form->n,
                  STEP_BYTES * 8 / a->bits, gold_formats[form->d].name, a->name,
                  gold_formats[form->b].name, form->saturate ? ".satfinite" : "");
    add_list(ptx, 'c', 0, parts->registers);
    gold_text_add(ptx, ", ");
    if (form->a_in_registers) {
        add_list(ptx, 'a', 4 * step, 4);
    } else {
        gold_text_add(ptx, "%%d2");
    }
    gold_text_add(ptx, ", %%d3, %s", form->no_accumulate && step == 0 ? "%p1" : "%p0");
    if (!integer) {
        gold_text_add(ptx, ", %d, %d", form->negate_a ? -1 : 1, form->negate_b ? -1 : 1);
    }
    if (wide && !form->a_in_registers) {
        gold_text_add(ptx, ", %d", form->a_layout.mn_major);
    }
    if (wide) {
        gold_text_add(ptx, ", %d", form->b_layout.mn_major);
    }
    gold_text_add(ptx, ";\n");
}

static char *build_ptx(const struct form *form, const struct parts *parts)
{
    struct gold_kernel kernel = {{0}, 0};
    struct gold_text *ptx = &kernel.ptx;

    gold_kernel_begin(&kernel, 0,
                      "    .reg .b32 %c<128>, %a<16>;\n    .reg .b64 %rows, %from, %to;\n");
    gold_kernel_read(&kernel, 0, 0, parts->rows_at);
    gold_text_add(ptx, "    fence.proxy.async;\n    bar.sync 0;\n");
    /* %r0: row of the first element, %r1: lane % 4 */
    gold_text_add(
        ptx,
        "    shr.u32 %%r0, %%lane, 5;\n    shl.b32 %%r0, %%r0, 4;\n"
        "    shr.u32 %%r1, %%lane, 2;\n    and.b32 %%r1, %%r1, 7;\n"
        "    add.u32 %%r0, %%r0, %%r1;\n    and.b32 %%r1, %%lane, 3;\n"
        "    mad.lo.u32 %%r2, %%r0, %u, 0;\n    mad.lo.u32 %%r2, %%r1, %u, %%r2;\n"
        "    cvt.u64.u32 %%d4, %%r2;\n    add.u64 %%to, %%out, %%d4;\n"
        "    add.u64 %%from, %%in, %%d4;\n"
        "    mad.lo.u32 %%r2, %%r0, %u, %u;\n    mad.lo.u32 %%r2, %%r1, 4, %%r2;\n"
        "    cvt.u64.u32 %%d4, %%r2;\n    add.u64 %%rows, %%in, %%d4;\n"
        "    and.b32 %%r2, %%sm, 0x3FFFF;\n    shr.u32 %%r2, %%r2, 4;\n"
        "    cvt.u64.u32 %%d0, %%r2;\n    setp.eq.u32 %%p0, 0, 0;\n"
        "    setp.ne.u32 %%p1, 0, 0;\n",
        form->n * parts->cell, 2 * parts->cell, parts->row_bytes, parts->rows_at);
    for (unsigned i = 0; i < parts->registers; i++) {
        gold_text_add(ptx, "    ld.global.b32 %%c%u, [%%from+%u];\n", i,
                      parts->c_at + fragment_offset(form, parts, i));
    }
    for (unsigned i = 0; form->a_in_registers && i < 4 * form->steps; i++) {
        gold_text_add(ptx, "    ld.global.b32 %%a%u, [%%rows+%u];\n", i,
                      i % 2 * 8 * parts->row_bytes + i / 4 * STEP_BYTES + i / 2 % 2 * 16);
    }
    gold_text_add(ptx, "    wgmma.fence.sync.aligned;\n");
    for (unsigned step = 0; step < form->steps; step++) {
        add_instruction(ptx, form, parts, step);
    }
    gold_text_add(ptx, "    wgmma.commit_group.sync.aligned;\n"
                       "    wgmma.wait_group.sync.aligned 0;\n");
    for (unsigned i = 0; i < parts->registers; i++) {
        gold_text_add(ptx, "    st.global.b32 [%%to+%u], %%c%u;\n",
                      fragment_offset(form, parts, i), i);
    }
    gold_kernel_end(&kernel, false);
    return ptx->text;
}

static void run_form(struct gold_run *run, const struct form *form)
{
    struct parts parts = plan_parts(form);
    unsigned bytes = gold_formats[form->a].bits / 8;
    struct gold_matrices matrices = {0};
    struct gold_case one;
    char *ptx = build_ptx(form, &parts);
    uint8_t *input = gold_alloc(parts.bytes);

    matrices.a_format = &gold_formats[form->a];
    matrices.b_format = &gold_formats[form->b];
    matrices.c_format = &gold_formats[form->d];
    matrices.m = M;
    matrices.n = form->n;
    matrices.k = parts.row_bytes / bytes;
    gold_matrices_make(&matrices, form->pattern);
    write_image(input, matrices.a, M, matrices.k, bytes, &form->a_layout, &parts.a);
    write_image(input + parts.a.bytes, matrices.b, form->n, matrices.k, bytes,
                &form->b_layout, &parts.b);
    write_rows(input + parts.rows_at, matrices.a, (size_t)M * matrices.k, bytes);
    write_rows(input + parts.c_at, matrices.c, (size_t)M * form->n, parts.cell);
    memset(&one, 0, sizeof(one));
    one.name = form->name;
    one.ptx = ptx;
    one.grid = one.cluster = 1;
    one.block = GOLD_THREADS;
    one.shared_bytes = parts.rows_at;
    one.input = input;
    one.input_bytes = parts.bytes;
    one.items = M * form->n;
    one.row_items = form->n;
    one.item_bytes = one.part_bytes = parts.cell;
    one.full_items = 16;
    one.block_items = form->n < 64 ? 16 : 2 * form->n;
    gold_case_run(run, &one);
    gold_matrices_free(&matrices);
    free(input);
    free(ptx);
}

#define F16  GOLD_FORMAT_F16
#define BF16 GOLD_FORMAT_BF16
#define TF32 GOLD_FORMAT_TF32
#define E4M3 GOLD_FORMAT_E4M3
#define E5M2 GOLD_FORMAT_E5M2
#define S8   GOLD_FORMAT_S8
#define U8   GOLD_FORMAT_U8
#define F32  GOLD_FORMAT_F32
#define S32  GOLD_FORMAT_S32

/* Formats of A, B and D. */
static const enum gold_format_id float_formats[][3] = {
    {BF16, BF16, F32}, {F16, F16, F32},   {F16, F16, F16},   {TF32, TF32, F32},
    {E4M3, E4M3, F32}, {E4M3, E5M2, F32}, {E5M2, E4M3, F32}, {E5M2, E5M2, F32},
    {E4M3, E4M3, F16}, {E4M3, E5M2, F16}, {E5M2, E4M3, F16}, {E5M2, E5M2, F16},
};
static const enum gold_format_id integer_formats[][3] = {
    {S8, S8, S32}, {S8, U8, S32}, {U8, S8, S32}, {U8, U8, S32}};

static const struct {
    const char *name;
    enum gold_pattern pattern;
    unsigned steps;
    bool no_accumulate, negate_a, negate_b;
} float_variants[] = {
    {"random", GOLD_RANDOM, 1, false, false, false},
    {"wide", GOLD_WIDE, 1, false, false, false},
    {"cancel", GOLD_CANCEL, 1, false, false, false},
    {"ladder", GOLD_LADDER, 1, false, false, false},
    {"ladder_c", GOLD_LADDER_C, 1, false, false, false},
    {"large_c", GOLD_LARGE_C, 1, false, false, false},
    {"subnormal", GOLD_SUBNORMAL, 1, false, false, false},
    {"overflow", GOLD_OVERFLOW, 1, false, false, false},
    {"special", GOLD_SPECIAL, 1, false, false, false},
    {"zeros", GOLD_ZEROS, 1, false, false, false},
    {"chain", GOLD_RANDOM, 4, false, false, false},
    {"chain_wide", GOLD_WIDE, 4, false, false, false},
    {"no_accumulate", GOLD_RANDOM, 2, true, false, false},
    {"no_accumulate_zeros", GOLD_ZEROS, 1, true, false, false},
    {"negate_a", GOLD_WIDE, 1, false, true, false},
    {"negate_b_zeros", GOLD_ZEROS, 1, false, false, true},
    {"negate_both_special", GOLD_SPECIAL, 1, false, true, true},
};

static void name_form(char *name, size_t room, const struct form *form, const char *what)
{
    snprintf(name, room, "%s.%s.%s.n%u.%s", gold_formats[form->d].name,
             gold_formats[form->a].name, gold_formats[form->b].name, form->n, what);
}

static void set_formats(struct form *form, const enum gold_format_id formats[3])
{
    form->a = formats[0];
    form->b = formats[1];
    form->d = formats[2];
}

static void run_arithmetic(struct gold_run *run)
{
    struct form form = {.n = 8};
    char name[96];

    form.name = name;
    for (size_t i = 0; i < COUNT(float_formats); i++) {
        set_formats(&form, float_formats[i]);
        for (size_t v = 0; v < COUNT(float_variants); v++) {
            form.pattern = float_variants[v].pattern;
            form.steps = float_variants[v].steps;
            form.no_accumulate = float_variants[v].no_accumulate;
            form.negate_a = float_variants[v].negate_a;
            form.negate_b = float_variants[v].negate_b;
            name_form(name, sizeof(name), &form, float_variants[v].name);
            run_form(run, &form);
        }
    }
    form = (struct form){.name = name, .n = 8, .steps = 2};
    for (size_t i = 0; i < COUNT(integer_formats); i++) {
        set_formats(&form, integer_formats[i]);
        for (size_t v = 0; v < 4; v++) {
            form.pattern = v % 2 == 0 ? GOLD_RANDOM : GOLD_EXTREME;
            form.saturate = v >= 2;
            name_form(name, sizeof(name), &form, v % 2 == 0 ? "random" : "extreme");
            if (form.saturate) {
                strncat(name, ".sat", sizeof(name) - strlen(name) - 1);
            }
            run_form(run, &form);
        }
    }
}

/* A from registers. */
static void run_registers(struct gold_run *run)
{
    struct form form = {.n = 16, .steps = 2, .a_in_registers = true};
    char name[96];

    form.name = name;
    for (size_t i = 0; i < COUNT(float_formats) + COUNT(integer_formats); i++) {
        set_formats(&form, i < COUNT(float_formats)
                               ? float_formats[i]
                               : integer_formats[i - COUNT(float_formats)]);
        name_form(name, sizeof(name), &form, "registers");
        run_form(run, &form);
    }
}

/* The same matrices in every layout: the results must be the same too. */
static void run_layouts(struct gold_run *run)
{
    static const enum gold_format_id formats[][3] = {{BF16, BF16, F32},
                                                     {F16, F16, F16},
                                                     {TF32, TF32, F32},
                                                     {E4M3, E5M2, F32},
                                                     {S8, U8, S32}};
    static const unsigned swizzles[] = {0, 32, 64, 128};
    struct form form = {.n = 64, .steps = 4};
    char name[96], what[32];

    form.name = name;
    for (size_t i = 0; i < COUNT(formats); i++) {
        set_formats(&form, formats[i]);
        /* a and b: swizzle, and from 4 on MN-major */
        for (size_t a = 0; a < 8; a++) {
            for (size_t b = 0; b < 8; b++) {
                bool alike = a == b, crossed = a + b == 7;

                if ((i == 0 ? !alike && a != 3 && b != 3 : !alike && !crossed) ||
                    (i > 1 && (a > 3 || b > 3))) {
                    continue;
                }
                form.a_layout = (struct layout){a > 3, swizzles[a % 4]};
                form.b_layout = (struct layout){b > 3, swizzles[b % 4]};
                snprintf(what, sizeof(what), "%s%u_%s%u", a > 3 ? "m" : "k",
                         form.a_layout.swizzle, b > 3 ? "n" : "k", form.b_layout.swizzle);
                name_form(name, sizeof(name), &form, what);
                run_form(run, &form);
            }
        }
    }
}

static void run_sizes(struct gold_run *run)
{
    static const unsigned float_sizes[] = {24, 40, 96, 128, 192, 256};
    static const unsigned integer_sizes[] = {24, 48, 128, 256};
    struct form form = {.steps = 2, .a_layout = {false, 128}, .b_layout = {false, 128}};
    char name[96];

    form.name = name;
    for (size_t i = 0; i < COUNT(float_sizes); i++) {
        form.n = float_sizes[i];
        set_formats(&form, float_formats[0]);
        name_form(name, sizeof(name), &form, "size");
        run_form(run, &form);
        set_formats(&form, float_formats[i % 2 == 0 ? 2 : 4]);
        name_form(name, sizeof(name), &form, "size");
        run_form(run, &form);
    }
    for (size_t i = 0; i < COUNT(integer_sizes); i++) {
        form.n = integer_sizes[i];
        set_formats(&form, integer_formats[0]);
        name_form(name, sizeof(name), &form, "size");
        run_form(run, &form);
    }
}

void gold_wgmma_cases(struct gold_run *run)
{
    run_arithmetic(run);
    run_registers(run);
    run_layouts(run);
    run_sizes(run);
}
