/* SPDX-License-Identifier: MIT */
/*
 * A and B that are copied to aligned rows first, on the emulator of both chips: the bits of
 * a kernel of the same tile whose threads load them, nothing read beyond their allocations
 * or written beside the copies, and what a launch that has aligned ones does instead.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulated_fixture.h"
#include "strides.h"

enum { GUARD_BYTES = 256, GUARD = 0xa5, DIRTY = 0x5a, WORD_BYTES = 32768 };

static const char *const tiles[EMULATED_ARCHS] = {
    "tile=64x128 cluster=1x1", "mma=128x64 cta_group=1 cluster=1x1 scheduler=static"};

/* A matrix in memory that ends with its last element. */
struct place {
    int rows, columns; /* as they lie */
    int offset;        /* elements from the allocation to the first */
    int more;          /* of the leading dimension, beyond a row */
    int batches;       /* that it has; 1 may be of all */
};

struct row {
    const char *text; /* of the problem, without the config */
    int dtype, element_bytes;
    struct place a, b;
    int m, n, k, batch;
    const char *config; /* besides the tile */
};

/* Of D. */
static size_t count_elements(const struct row *row)
{
    return (size_t)row->m * (size_t)row->n * (size_t)row->batch;
}

static uint32_t state;

static uint32_t draw(void)
{
    state = state * 1664525U + 1013904223U;
    return state >> 8;
}

/* A finite element, not a small integer: sums of these depend on their order. */
static uint32_t draw_element(int dtype)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_BF16:
        return (draw() & 0x80ff) | 0x3f00;
    case JIT_GEMM_DTYPE_F16:
        return (draw() & 0x87ff) | 0x3800;
    case JIT_GEMM_DTYPE_TF32:
        return ((draw() << 12 | draw()) & 0x80ffffff) | 0x3f000000;
    case JIT_GEMM_DTYPE_E4M3:
        return draw() & 0xbf;
    default:
        return draw() & 0xff;
    }
}

static int64_t ld_of(const struct place *place)
{
    return place->columns + place->more;
}

/* One more than the rows have: batches lie at odd steps. */
static int64_t stride_of(const struct place *place)
{
    return place->rows * ld_of(place) + 1;
}

struct matrix {
    uint64_t allocation;
    unsigned char *bytes;
    size_t size;
    jit_gemm_arg arg;
};

/* What lies beside the rows is NaN, or far from what the rows have. */
static struct matrix make_input(jit_gemm_context *context, const struct row *row,
                                const struct place *place)
{
    const size_t element = (size_t)row->element_bytes;
    const int64_t last = (place->batches - 1) * stride_of(place) +
                         (place->rows - 1) * ld_of(place) + place->columns;
    struct matrix matrix = {.size = element * (size_t)(place->offset + last)};
    matrix.bytes = malloc(matrix.size);
    cr_assert_not_null(matrix.bytes);
    memset(matrix.bytes, 0x7f, matrix.size);
    for (int64_t i = 0; i < (int64_t)place->batches * place->rows * place->columns; i++) {
        const int64_t line = i / place->columns;
        const int64_t at = place->offset + line / place->rows * stride_of(place) +
                           line % place->rows * ld_of(place) + i % place->columns;
        const uint32_t bits = draw_element(row->dtype);
        memcpy(matrix.bytes + element * (size_t)at, &bits, element);
    }
    matrix.allocation = emulated_upload(context, matrix.bytes, matrix.size);
    matrix.arg = (jit_gemm_arg){
        .pointer = matrix.allocation + element * (size_t)place->offset,
        .ld = ld_of(place),
        .batch_stride = place->batches == 1 ? JIT_GEMM_STRIDE_BROADCAST : stride_of(place)};
    return matrix;
}

static void expect_untouched(jit_gemm_context *context, const struct matrix *matrix)
{
    unsigned char *now = malloc(matrix->size);
    cr_assert_not_null(now);
    emulated_check(
        jit_gemm_device_download(context, now, matrix->allocation, matrix->size));
    cr_expect_eq(memcmp(now, matrix->bytes, matrix->size), 0);
    free(now);
}

static void free_input(jit_gemm_context *context, struct matrix *matrix)
{
    emulated_free(context, matrix->allocation);
    free(matrix->bytes);
}

/* ------------------------------------------------------------------------- a workspace */

/* Words of zeros, then bytes that copies overwrite, then guards. */
struct room {
    uint64_t address;
    size_t bytes;
    unsigned char *now;
};

static struct room make_room(jit_gemm_context *context, uint64_t bytes)
{
    struct room room = {.bytes = (size_t)bytes, .now = malloc((size_t)bytes + GUARD_BYTES)};
    cr_assert_not_null(room.now);
    memset(room.now, 0, room.bytes);
    if (room.bytes > WORD_BYTES) {
        memset(room.now + WORD_BYTES, DIRTY, room.bytes - WORD_BYTES);
    }
    memset(room.now + room.bytes, GUARD, GUARD_BYTES);
    room.address = emulated_upload(context, room.now, room.bytes + GUARD_BYTES);
    return room;
}

/* Bytes behind the words that a launch has written. The words are zero again, and the
 * guards are there. */
static size_t count_written(jit_gemm_context *context, struct room *room)
{
    size_t written = 0;
    emulated_check(jit_gemm_device_download(context, room->now, room->address,
                                            room->bytes + GUARD_BYTES));
    for (size_t i = 0; i < room->bytes + GUARD_BYTES; i++) {
        const bool is_word = i < WORD_BYTES && i < room->bytes;
        const bool is_guard = i >= room->bytes;
        cr_assert(!is_word || room->now[i] == 0, "word at %zu", i);
        cr_assert(!is_guard || room->now[i] == GUARD, "guard at %zu", i - room->bytes);
        written += !is_word && !is_guard && room->now[i] != DIRTY;
    }
    return written;
}

static void free_room(jit_gemm_context *context, struct room *room)
{
    emulated_free(context, room->address);
    free(room->now);
}

/* --------------------------------------------------------------------------- the launch */

static jit_gemm_args args_of(const struct row *row, const struct matrix *a,
                             const struct matrix *b, uint64_t d)
{
    const bool is_dynamic = strstr(row->text, "dynamic") != NULL;
    return (jit_gemm_args){.struct_size = sizeof(jit_gemm_args),
                           .a = a->arg,
                           .b = b->arg,
                           .d = {.pointer = d},
                           .m = is_dynamic ? row->m : 0,
                           .n = is_dynamic ? row->n : 0,
                           .k = is_dynamic ? row->k : 0};
}

static jit_gemm *create(jit_gemm_context *context, const struct row *row, int arch,
                        const char *repack)
{
    char text[512];
    snprintf(text, sizeof(text), "%s output_align=4 config=%s %s %s", row->text,
             tiles[arch], row->config, repack);
    const jit_gemm_problem problem = emulated_problem(text);
    return emulated_create(context, &problem);
}

/* D of a kernel that loads by threads, or copies first; the caller frees it. */
static unsigned char *compute(jit_gemm_context *context, const struct row *row, int arch,
                              const char *repack, const struct matrix *a,
                              const struct matrix *b, size_t *ret_written)
{
    const size_t d_bytes = sizeof(float) * count_elements(row);
    unsigned char *d = malloc(d_bytes);
    cr_assert_not_null(d);
    memset(d, GUARD, d_bytes);
    const uint64_t d_address = emulated_upload(context, d, d_bytes);
    jit_gemm *gemm = create(context, row, arch, repack);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(gemm, &info));
    struct room room = make_room(context, info.workspace_bytes);
    jit_gemm_args args = args_of(row, a, b, d_address);
    args.workspace = room.address;
    args.workspace_bytes = info.workspace_bytes;
    const bool copies = strcmp(repack, "repack=none") != 0;
    cr_expect_eq(info.launches, copies ? 2 : 1);
    /* Twice: the second copies into what the first one's kernel has read. */
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_device_synchronize(context));
    emulated_check(jit_gemm_device_download(context, d, d_address, d_bytes));
    *ret_written = count_written(context, &room);
    free_room(context, &room);
    emulated_free(context, d_address);
    jit_gemm_destroy(&gemm);
    return d;
}

enum {
    BF16 = JIT_GEMM_DTYPE_BF16,
    F16 = JIT_GEMM_DTYPE_F16,
    TF32 = JIT_GEMM_DTYPE_TF32,
    E4M3 = JIT_GEMM_DTYPE_E4M3,
    S8 = JIT_GEMM_DTYPE_S8
};

/* Rows of one chunk and of several pieces, which begin at any element modulo 16 bytes. */
static const struct row rows[] = {
    {"70x150x131 bf16 d=f32 input_align=2",
     BF16,
     2,
     {70, 131, 1, 0, 1},
     {150, 131, 7, 2, 1},
     70,
     150,
     131,
     1,
     ""},
    {"33x135x1100 bf16 layout=tn d=f32 input_align=2 batch=2",
     BF16,
     2,
     {1100, 33, 3, 4, 2},
     {1100, 135, 0, 0, 1},
     33,
     135,
     1100,
     2,
     "split_k=2"},
    {"66x70x1101 f16 d=f32 input_align=2 batch=2",
     F16,
     2,
     {66, 1101, 5, 1, 2},
     {70, 1101, 6, 3, 2},
     66,
     70,
     1101,
     2,
     "pdl=0"},
    {"40x140x77 tf32 input_align=4",
     TF32,
     4,
     {40, 77, 1, 0, 1},
     {140, 77, 3, 5, 1},
     40,
     140,
     77,
     1,
     ""},
    {"65x131x2100 e4m3 d=f32 input_align=1",
     E4M3,
     1,
     {65, 2100, 13, 0, 1},
     {131, 2100, 15, 7, 1},
     65,
     131,
     2100,
     1,
     ""},
    {"m=512 n=512 k=512 a=s8 input_align=1 dynamic=m,n,k",
     S8,
     1,
     {1, 33, 9, 0, 1},
     {150, 33, 2, 1, 1},
     1,
     150,
     33,
     1,
     ""},
};

static void expect_same_bits(jit_gemm_context *context, const struct row *row, int arch)
{
    state = 7;
    struct matrix a = make_input(context, row, &row->a);
    struct matrix b = make_input(context, row, &row->b);
    size_t unused = 0, written = 0;
    unsigned char *loaded = compute(context, row, arch, "repack=none", &a, &b, &unused);
    unsigned char *copied = compute(context, row, arch, "repack=ab", &a, &b, &written);
    const size_t elements = count_elements(row);
    cr_expect_eq(memcmp(loaded, copied, elements * sizeof(float)), 0, "%s on %s", row->text,
                 emulated_archs[arch]);
    cr_expect_gt(written, 0);
    expect_untouched(context, &a);
    expect_untouched(context, &b);
    free(loaded);
    free(copied);
    free_input(context, &a);
    free_input(context, &b);
}

static void expect_same_bits_of_all(int arch)
{
    jit_gemm_context *context = emulated_open(emulated_archs[arch], "sms=3,async=latest");
    const size_t step = (size_t)test_stride(2);
    for (size_t i = (size_t)arch % step; i < sizeof(rows) / sizeof(rows[0]); i += step) {
        expect_same_bits(context, &rows[i], arch);
    }
    jit_gemm_context_destroy(&context);
}

Test(repack, has_the_bits_of_loads_by_threads_on_hopper, .timeout = 300)
{
    expect_same_bits_of_all(0);
}

Test(repack, has_the_bits_of_loads_by_threads_on_blackwell, .timeout = 300)
{
    expect_same_bits_of_all(1);
}

/* ----------------------------------------------------------------------- one, or neither
 */

static const struct row small = {"40x70x48 bf16 d=f32 input_align=2",
                                 BF16,
                                 2,
                                 {40, 48, 8, 0, 1},
                                 {70, 48, 8, 8, 1},
                                 40,
                                 70,
                                 48,
                                 1,
                                 ""};

/* Bytes that differ from those before, where rows of 48 elements become 128 bytes: no
 * element is 0x5a5a. */
static size_t bytes_of_copy(int copied_rows)
{
    return 96U * (size_t)copied_rows;
}

Test(repack, copies_no_operand_that_is_aligned, .timeout = 300)
{
    static const struct {
        const char *repack;
        int a_offset, b_more; /* 8 elements are 16 bytes */
        int rows;             /* that are copied */
    } cases[] = {
        {"repack=ab", 8, 8, 0},   {"repack=ab", 7, 8, 40}, {"repack=ab", 8, 7, 70},
        {"repack=ab", 7, 7, 110}, {"repack=a", 9, 8, 40},  {"repack=b", 8, 9, 70},
    };
    for (int arch = 0; arch < EMULATED_ARCHS; arch++) {
        jit_gemm_context *context =
            emulated_open(emulated_archs[arch], "sms=2,async=random");
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct row row = small;
            size_t unused = 0, written = 0;
            row.a.offset = cases[i].a_offset;
            row.b.more = cases[i].b_more;
            state = 3;
            struct matrix a = make_input(context, &row, &row.a);
            struct matrix b = make_input(context, &row, &row.b);
            unsigned char *loaded =
                compute(context, &row, arch, "repack=none", &a, &b, &unused);
            unsigned char *copied =
                compute(context, &row, arch, cases[i].repack, &a, &b, &written);
            cr_expect_eq(memcmp(loaded, copied, sizeof(float) * 40 * 70), 0, "%zu on %s", i,
                         emulated_archs[arch]);
            cr_expect_leq(written, bytes_of_copy(cases[i].rows), "%zu", i);
            cr_expect_geq(written, bytes_of_copy(cases[i].rows) * 9 / 10, "%zu", i);
            free(loaded);
            free(copied);
            free_input(context, &a);
            free_input(context, &b);
        }
        jit_gemm_context_destroy(&context);
    }
}

/* ------------------------------------------------------------------------ what is refused
 */

struct launch {
    jit_gemm_context *context;
    jit_gemm *gemm;
    struct matrix a, b;
    struct room room;
    uint64_t d;
    jit_gemm_args args;
};

static struct launch open_launch(const char *repack)
{
    struct launch launch = {.context = emulated_open("sm_90a", "sms=2")};
    float d[40 * 70] = {0};
    struct row row = small;
    row.a.offset = 7;
    launch.gemm = create(launch.context, &row, 0, repack);
    launch.a = make_input(launch.context, &row, &row.a);
    launch.b = make_input(launch.context, &row, &row.b);
    launch.d = emulated_upload(launch.context, d, sizeof(d));
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(launch.gemm, &info));
    launch.room = make_room(launch.context, info.workspace_bytes);
    launch.args = args_of(&row, &launch.a, &launch.b, launch.d);
    launch.args.workspace = launch.room.address;
    return launch;
}

static void close_launch(struct launch *launch)
{
    emulated_free(launch->context, launch->d);
    free_room(launch->context, &launch->room);
    free_input(launch->context, &launch->a);
    free_input(launch->context, &launch->b);
    jit_gemm_destroy(&launch->gemm);
    jit_gemm_context_destroy(&launch->context);
}

static void expect_refused(const struct launch *launch, const jit_gemm_args *args,
                           jit_gemm_status status, const char *words)
{
    cr_expect_eq(jit_gemm_run(launch->gemm, args, NULL), status, "%s", words);
    cr_expect_not_null(strstr(jit_gemm_last_error(), words), "expected '%s'\ngot '%s'",
                       words, jit_gemm_last_error());
}

Test(repack, a_workspace_is_needed_of_the_size_that_info_says)
{
    struct launch launch = open_launch("repack=ab");
    jit_gemm_args args = launch.args;

    cr_expect_eq(launch.room.bytes, WORD_BYTES + (40 + 70) * 128);
    args.workspace = 0;
    expect_refused(&launch, &args, JIT_GEMM_ERR_ARGUMENT,
                   "args.workspace: this kernel copies A or B first and needs a workspace "
                   "of 46848 bytes");
    args.workspace = launch.room.address + 64;
    expect_refused(&launch, &args, JIT_GEMM_ERR_ARGUMENT, "args.workspace: the address");
    args = launch.args;
    args.workspace_bytes = launch.room.bytes - 1;
    expect_refused(&launch, &args, JIT_GEMM_ERR_ARGUMENT,
                   "args.workspace_bytes: 40 x 70 with batch 1 needs a workspace of 46848 "
                   "bytes, 46847 are given");
    args.workspace_bytes = launch.room.bytes;
    emulated_check(jit_gemm_run(launch.gemm, &args, NULL));
    emulated_check(jit_gemm_device_synchronize(launch.context));
    cr_expect_gt(count_written(launch.context, &launch.room), 0);
    close_launch(&launch);
}

Test(repack, what_is_not_copied_has_to_be_aligned)
{
    struct launch launch = open_launch("repack=b"); /* and A is not */
    jit_gemm_args args = launch.args;

    expect_refused(&launch, &args, JIT_GEMM_ERR_UNSUPPORTED, "args.a.pointer: the address");
    args.a.pointer = launch.a.allocation;
    args.a.ld = 50;
    expect_refused(&launch, &args, JIT_GEMM_ERR_UNSUPPORTED,
                   "args.a.ld: the stride of 50 elements of A is no multiple of 16 bytes");
    args.a.ld = 48;
    emulated_check(jit_gemm_run(launch.gemm, &args, NULL));
    emulated_check(jit_gemm_device_synchronize(launch.context));
    close_launch(&launch);
}

/* Sizes beyond the planned ones take more, and K of none takes no copy. */
Test(repack, dynamic_sizes_say_what_they_need)
{
    jit_gemm_context *context = emulated_open("sm_90a", "sms=2");
    const jit_gemm_problem problem =
        emulated_problem("m=64 n=64 k=64 a=bf16 d=f32 input_align=2 output_align=4 "
                         "dynamic=m,n,k config=repack=ab");
    static unsigned char input[2 * 80 * 80];
    static float d[80 * 80];
    jit_gemm *gemm = emulated_create(context, &problem);
    jit_gemm_info info = {.struct_size = sizeof(info)};
    emulated_check(jit_gemm_get_info(gemm, &info));
    struct room room = make_room(context, info.workspace_bytes);
    const uint64_t a = emulated_upload(context, input, sizeof(input));
    memset(d, GUARD, sizeof(d));
    const uint64_t d_address = emulated_upload(context, d, sizeof(d));
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = a + 2},
                          .b = {.pointer = a + 2},
                          .d = {.pointer = d_address},
                          .m = 70,
                          .n = 70,
                          .k = 70,
                          .workspace = room.address};

    cr_expect_eq(info.workspace_bytes, WORD_BYTES + 128 * 128);
    cr_expect_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "70 x 70 with batch 1 needs a "
                                                     "workspace of 68608 bytes, 49152 are "
                                                     "planned"),
                       "%s", jit_gemm_last_error());
    args.k = JIT_GEMM_SIZE_EMPTY;
    emulated_check(jit_gemm_run(gemm, &args, NULL));
    emulated_check(jit_gemm_device_synchronize(context));
    cr_expect_eq(count_written(context, &room), 0);
    emulated_check(jit_gemm_device_download(context, d, d_address, sizeof(d)));
    for (int i = 0; i < 70 * 70; i++) {
        cr_assert_eq(d[i], 0.0F, "%d", i);
    }
    free_room(context, &room);
    emulated_free(context, a);
    emulated_free(context, d_address);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&context);
}
