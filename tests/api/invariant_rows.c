/* SPDX-License-Identifier: MIT */
/*
 * invariant=m: the same rows, in problems of other sizes, at other places, in other batches
 * and groups, by every config that the plan offers, have the same bits.
 *
 * Usage: invariant_rows [ARCH DRIVER [NUMBER]]. Without arguments on the GPU, with a larger
 * K; exit 77 without one. With them on that driver, where every 97th config of every
 * fifth problem is tried, of the next on the other chip; JIT_GEMM_TEST_EVERY=1 tries all;
 * NUMBER is that of the only problem. Prints a line for
 * each problem.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"
#include "strides.h"

enum {
    POOL = 61, /* different rows, a prime */
    MOST_CONFIGS = 64,
    N = 136,
    EMULATED_K = 208, /* no multiple of a block */
    GPU_K = 4112,
    ROW_STEP =
        16, /* elements that a stored line of column-major matrices is rounded up to */
    SKIPPED = 77
};

struct operand {
    const char *name;
    jit_gemm_operand_kind kind;
    jit_gemm_dtype dtype;
};

/* A problem without M, K and what divides the rows. */
struct problem {
    const char *text, *arch;    /* arch NULL: of all */
    const char *name, *snippet; /* of the epilogue; NULL: none */
    struct operand operands[4];
};

#define SCALAR JIT_GEMM_OPERAND_SCALAR
#define ROW    JIT_GEMM_OPERAND_ROW_VECTOR
#define COLUMN JIT_GEMM_OPERAND_COLUMN_VECTOR
#define MATRIX JIT_GEMM_OPERAND_MATRIX
#define F32    JIT_GEMM_DTYPE_F32
#define BF16   JIT_GEMM_DTYPE_BF16

static const struct problem problems[] = {
    {.text = "a=bf16 d=f32"},
    {.text = "a=bf16 c=bf16"},
    {.text = "a=f16 layout=tt d=f32"},
    {.text = "a=bf16 d_layout=column d=f32"},
    {.text = "a=bf16 d=f32 input_align=2"},
    {.text = "a=tf32"},
    {.text = "a=tf32 input_align=4"},
    {.text = "a=s8"},
    {.text = "a=e4m3 d=f32"},
    {.text = "a=e4m3 d=bf16 a_scale=1x128 b_scale=128x128"},
    {.text = "a=e4m3 d=f32 a_scale=vector b_scale=vector"},
    {.text = "a=mxfp8 d=f32", .arch = "sm_100a"},
    /* Of such a D it depends on M which epilogue there is. */
    {.text = "a=e4m3 d=f32 d_layout=column a_scale=vector b_scale=vector"},
    {.text = "a=bf16 d=f32 d_layout=column",
     .name = "turned",
     .snippet = "float t = bias * s; d = (acc + t) * (acc - u * s) + bias * u;",
     .operands = {{"s", SCALAR, F32}, {"bias", ROW, F32}, {"u", COLUMN, F32}}},
    /* Products and sums that a compiler may make one operation of, or not. */
    {.text = "a=bf16 d=f32",
     .name = "products",
     .snippet = "float t = bias * s; d = (acc + t) * (acc - u * s) + bias * u;",
     .operands = {{"s", SCALAR, F32}, {"bias", ROW, F32}, {"u", COLUMN, F32}}},
    {.text = "a=bf16 c=bf16 d=f32",
     .name = "fused",
     .snippet = "d = silu(acc * s + bias) * u + r * acc;",
     .operands =
         {{"s", SCALAR, F32}, {"bias", ROW, F32}, {"u", COLUMN, F32}, {"r", MATRIX, BF16}}},
    {.text = "a=bf16 d=f32",
     .name = "gated",
     .snippet = "d = silu(acc0) * acc1 + acc0 * acc0;"},
};
enum { PROBLEMS = sizeof(problems) / sizeof(problems[0]) };

static jit_gemm_context *context;
static int k_size, every;
static int failures, launches;

/* ------------------------------------------------------------------------ elements */

/* A number that follows from where it is. */
static uint32_t hash(uint32_t what, uint32_t row, uint32_t at)
{
    uint32_t x = what * 0x9e3779b9u ^ row * 0x85ebca6bu ^ at * 0xc2b2ae35u;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static int size_of(jit_gemm_dtype dtype)
{
    switch (dtype) {
    case JIT_GEMM_DTYPE_F32:
    case JIT_GEMM_DTYPE_TF32:
    case JIT_GEMM_DTYPE_S32:
        return 4;
    case JIT_GEMM_DTYPE_BF16:
    case JIT_GEMM_DTYPE_F16:
        return 2;
    default:
        return 1;
    }
}

/* A finite element with either sign, exponents that differ by 5 or more, and all bits of
 * its fraction: sums of such depend on their order. */
static void put(jit_gemm_dtype dtype, unsigned char *memory, int64_t place, uint32_t x)
{
    const uint32_t exponent = x >> 8 & 7;
    const uint32_t sign = x >> 31;
    uint32_t bits = x & 0xff;
    if (dtype == JIT_GEMM_DTYPE_F16) {
        bits = sign << 15 | (10 + exponent % 6) << 10 | (x >> 12 & 0x3ff);
    } else if (size_of(dtype) >= 2) {
        bits = sign << 31 | (121 + exponent) << 23 | (x >> 3 & 0x7fffff);
        bits >>= size_of(dtype) == 2 ? 16 : 0;
    } else if (dtype != JIT_GEMM_DTYPE_S8) {
        bits = sign << 7 | (3 + exponent) << 3 | (x >> 12 & 7);
    }
    memcpy(memory + place * size_of(dtype), &bits, (size_t)size_of(dtype));
}

/* -------------------------------------------------------------------------- launches */

static void need(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "failed: %s; last error: %s\n", what, jit_gemm_last_error());
        exit(1);
    }
}

static uint64_t upload(const void *data, size_t bytes)
{
    uint64_t address = 0;
    need(jit_gemm_device_alloc(context, bytes, &address) == JIT_GEMM_OK, "alloc");
    need(jit_gemm_device_upload(context, address, data, bytes) == JIT_GEMM_OK, "upload");
    return address;
}

/* Rows of one launch: of `batches` matrices, `m` each. */
struct rows {
    int m, batches, shift;
};

static int pool_row(const struct rows *rows, int batch, int row)
{
    return ((batch * rows->m + row) * 37 + rows->shift) % POOL;
}

static int round_up(int value, int step)
{
    return (value + step - 1) / step * step;
}

/* Elements between lines, and of a batch. */
struct shape {
    int ld;
    int64_t step;
};
static struct shape shape_of(bool by_columns, int m, int columns)
{
    const int ld = by_columns ? round_up(m, ROW_STEP) : columns;
    return (struct shape){ld, (int64_t)ld * (by_columns ? columns : m)};
}

/* A matrix whose rows are those of the pool. `what`: which one. */
static uint64_t make_rows(uint32_t what, jit_gemm_dtype dtype, bool by_columns,
                          const struct rows *rows, int columns)
{
    const struct shape shape = shape_of(by_columns, rows->m, columns);
    const size_t bytes = (size_t)(shape.step * rows->batches * size_of(dtype));
    unsigned char *memory = calloc(bytes, 1);
    need(memory != NULL, "memory");
    for (int i = 0; i < rows->batches * rows->m; i++) {
        const int batch = i / rows->m, row = i % rows->m;
        const uint32_t of_pool = (uint32_t)pool_row(rows, batch, row);
        for (int col = 0; col < columns; col++) {
            const int64_t at =
                by_columns ? (int64_t)col * shape.ld + row : (int64_t)row * shape.ld + col;
            put(dtype, memory, batch * shape.step + at, hash(what, of_pool, (uint32_t)col));
        }
    }
    const uint64_t address = upload(memory, bytes);
    free(memory);
    return address;
}

/* What all rows share: `count` elements. */
static uint64_t make_shared(uint32_t what, jit_gemm_dtype dtype, int count)
{
    unsigned char *memory = calloc((size_t)count, 4);
    need(memory != NULL, "memory");
    for (int i = 0; i < count; i++) {
        put(dtype, memory, i, hash(what, 1000, (uint32_t)i));
    }
    const uint64_t address = upload(memory, (size_t)count * 4);
    free(memory);
    return address;
}

/* Bits of the rows of D that were seen first, from which none may differ. */
struct known {
    bool is_there[POOL];
    unsigned char bits[POOL][4 * N];
};

enum { A = 1, B, C, A_SCALE, B_SCALE, OPERAND };

struct buffers {
    uint64_t all[16];
    int count;
};
static uint64_t keep(struct buffers *buffers, uint64_t address)
{
    buffers->all[buffers->count++] = address;
    return address;
}

/* Scales of the kind that the problem names; those of mx are 1. */
static void fill_scales(const jit_gemm_problem *problem, const struct rows *rows,
                        struct buffers *buffers, jit_gemm_args *args)
{
    const int blocks = (k_size + 127) / 128;
    if (problem->a.scale.kind == JIT_GEMM_SCALE_NONE) {
        return;
    }
    if (problem->a.scale.block_k == 32) { /* in pieces of 128 rows and 128 of K */
        const int rows_of_all = rows->batches * round_up(rows->m, 128) + round_up(N, 128) +
                                128 * 4; /* bands of groups */
        const size_t bytes = (size_t)rows_of_all * (size_t)blocks * 4;
        unsigned char *ones = malloc(bytes);
        need(ones != NULL, "memory");
        memset(ones, 127, bytes);
        args->a_scale.pointer = keep(buffers, upload(ones, bytes));
        args->b_scale.pointer = keep(buffers, upload(ones, bytes));
        free(ones);
    } else {
        const bool is_block = problem->a.scale.kind == JIT_GEMM_SCALE_BLOCK;
        const bool by_columns = problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
        args->a_scale.pointer =
            keep(buffers, make_rows(A_SCALE, F32, by_columns, rows, is_block ? blocks : 1));
        args->a_scale.batch_stride = by_columns ? shape_of(true, rows->m, 1).step : 0;
        args->b_scale.pointer =
            keep(buffers, make_shared(B_SCALE, F32, is_block ? 2 * blocks : N));
    }
    args->b_scale.batch_stride = JIT_GEMM_STRIDE_BROADCAST;
}

static void fill_operands(const struct problem *of, const struct rows *rows,
                          bool by_columns, struct buffers *buffers, jit_gemm_arg *operands)
{
    for (int i = 0; i < 4 && of->operands[i].name != NULL; i++) {
        const struct operand *operand = &of->operands[i];
        const uint32_t what = OPERAND + (uint32_t)i;
        if (operand->kind == SCALAR) {
            operands[i].value = 1.37F;
        } else if (operand->kind == ROW) {
            operands[i].pointer = keep(buffers, make_shared(what, operand->dtype, N));
            operands[i].batch_stride = JIT_GEMM_STRIDE_BROADCAST;
        } else {
            const int columns = operand->kind == COLUMN ? 1 : N;
            const struct shape shape = shape_of(by_columns, rows->m, columns);
            operands[i].pointer =
                keep(buffers, make_rows(what, operand->dtype, by_columns, rows, columns));
            operands[i].ld = by_columns && columns > 1 ? shape.ld : 0;
            operands[i].batch_stride = by_columns ? shape.step : 0;
        }
    }
}

/* Compares the rows of a launch with those that are known, and learns others. */
static void compare(const char *text, const jit_gemm_problem *problem,
                    const struct rows *rows, const unsigned char *d, int columns,
                    struct known *known)
{
    const bool by_columns = problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    const struct shape shape = shape_of(by_columns, rows->m, columns);
    const size_t size = (size_t)size_of(problem->d.dtype);
    for (int i = 0; i < rows->batches * rows->m; i++) {
        const int batch = i / rows->m, row = i % rows->m;
        const int of_pool = pool_row(rows, batch, row);
        unsigned char bits[4 * N] = {0};
        for (int col = 0; col < columns; col++) {
            const int64_t at =
                by_columns ? (int64_t)col * shape.ld + row : (int64_t)row * shape.ld + col;
            memcpy(bits + (size_t)col * size, d + (size_t)(batch * shape.step + at) * size,
                   size);
        }
        if (!known->is_there[of_pool]) {
            memcpy(known->bits[of_pool], bits, sizeof(bits));
            known->is_there[of_pool] = true;
        } else if (memcmp(known->bits[of_pool], bits, sizeof(bits)) != 0) {
            fprintf(stderr, "m=%d of %d: row %d of batch %d has other bits: %s\n", rows->m,
                    rows->batches, row, batch, text);
            failures++;
            return;
        }
    }
}

/* `text`: of the problem, for messages. `sizes`: what a launch says of groups, or 0. */
static void launch(const char *text, const struct problem *of,
                   const jit_gemm_problem *problem, const jit_gemm *gemm,
                   const struct rows *rows, uint64_t sizes, struct known *known)
{
    struct buffers buffers = {.count = 0};
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm_arg operands[4] = {{0}};
    need(jit_gemm_get_info(gemm, &info) == JIT_GEMM_OK, "info");
    need(info.invariant == JIT_GEMM_INVARIANT_M, "the info says what the problem asks for");
    const bool by_columns = problem->d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
    const bool a_turned = problem->a.layout == JIT_GEMM_LAYOUT_MN_MAJOR;
    const int columns = info.is_gated ? N / 2 : N;
    const struct shape shape = shape_of(by_columns, rows->m, columns);
    const size_t bytes = (size_t)(shape.step * rows->batches * size_of(problem->d.dtype));
    unsigned char *d = malloc(bytes);
    need(d != NULL, "memory");
    memset(d, 0xff, bytes);
    jit_gemm_args args = {.struct_size = sizeof(args), .operands = operands};
    args.a.pointer = keep(&buffers, make_rows(A, problem->a.dtype, a_turned, rows, k_size));
    args.a.ld = a_turned ? shape_of(true, rows->m, k_size).ld : 0;
    args.b.pointer = keep(&buffers, make_shared(B, problem->b.dtype, N * k_size));
    args.b.batch_stride = JIT_GEMM_STRIDE_BROADCAST;
    args.d.pointer = keep(&buffers, upload(d, bytes));
    args.d.ld = by_columns ? shape.ld : 0;
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        args.c.pointer =
            keep(&buffers, make_rows(C, problem->c.dtype, by_columns, rows, N));
        args.c.ld = args.d.ld;
    }
    fill_scales(problem, rows, &buffers, &args);
    fill_operands(of, rows, by_columns, &buffers, operands);
    while (args.operand_count < 4 && of->operands[args.operand_count].name != NULL) {
        args.operand_count++;
    }
    const float alpha = 1.1F, beta = 0.7F;
    args.alpha = &alpha;
    args.beta = problem->c.dtype != JIT_GEMM_DTYPE_NONE ? &beta : NULL;
    args.m = problem->m.mode == JIT_GEMM_DIM_DYNAMIC ? rows->m : 0;
    args.batch = problem->batch.mode == JIT_GEMM_DIM_DYNAMIC ? rows->batches : 0;
    args.group_sizes = sizes;
    if (info.workspace_bytes >
        0) { /* of copies, whose launches may be larger than planned */
        args.workspace_bytes = info.workspace_bytes + (UINT64_C(1) << 24);
        void *zeros = calloc(args.workspace_bytes, 1);
        need(zeros != NULL, "memory");
        args.workspace = keep(&buffers, upload(zeros, args.workspace_bytes));
        free(zeros);
    }
    if (jit_gemm_run(gemm, &args, NULL) != JIT_GEMM_OK) {
        fprintf(stderr, "%s: %s\n", text, jit_gemm_last_error());
        exit(1);
    }
    need(jit_gemm_device_synchronize(context) == JIT_GEMM_OK, text);
    need(jit_gemm_device_download(context, d, args.d.pointer, bytes) == JIT_GEMM_OK, "d");
    compare(text, problem, rows, d, columns, known);
    launches++;
    free(d);
    for (int i = 0; i < buffers.count; i++) {
        need(jit_gemm_device_free(context, buffers.all[i]) == JIT_GEMM_OK, "free");
    }
}

/* -------------------------------------------------------------------------- problems */

/* Reads the whole problem; its text is for messages. */
static jit_gemm_problem read_problem(const struct problem *of, const char *form,
                                     const char *config, char *text, size_t size)
{
    jit_gemm_problem problem;
    snprintf(text, size, "%s n=%d k=%d %s invariant=m%s%s%s%s", form, N, k_size, of->text,
             of->name != NULL ? " epilogue=" : "", of->name != NULL ? of->name : "",
             config[0] != '\0' ? " config=" : "", config);
    need(jit_gemm_problem_parse(text, &problem) == JIT_GEMM_OK, text);
    return problem;
}

/* NULL if there is no such kernel. */
static jit_gemm *create(const char *text, const jit_gemm_problem *problem, bool may_fail)
{
    jit_gemm *gemm = NULL;
    const jit_gemm_status status = jit_gemm_create(context, problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        printf("skipped: NVRTC is needed\n");
        exit(SKIPPED);
    }
    need(status == JIT_GEMM_OK || (may_fail && (status == JIT_GEMM_ERR_ARGUMENT ||
                                                status == JIT_GEMM_ERR_UNSUPPORTED)),
         text);
    return gemm;
}

struct configs {
    int count;
    char text[MOST_CONFIGS][JIT_GEMM_CONFIG_SIZE];
};

/* Those that the chip takes for the problem, by the plan's trace. */
static void list_configs(const jit_gemm_problem *problem, struct configs *configs)
{
    static char plan[1 << 16];
    size_t length = 0;
    configs->count = 0;
    need(jit_gemm_plan(context, problem, plan, sizeof(plan), &length) == JIT_GEMM_OK,
         "plan");
    need(length < sizeof(plan), "the plan fits");
    for (char *line = strtok(plan, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *config = strstr(line, ": ");
        const char *end = config != NULL ? strstr(config + 2, ": ") : NULL;
        const bool is_one =
            strncmp(line, "chosen", 6) == 0 || strncmp(line, "rejected", 8) == 0;
        if (is_one && end != NULL && strstr(end, ": predicted ") != NULL &&
            configs->count < MOST_CONFIGS) {
            snprintf(configs->text[configs->count++], JIT_GEMM_CONFIG_SIZE, "%.*s",
                     (int)(end - config - 2), config + 2);
        }
    }
    need(configs->count > 1, "the plan offers several configs");
}

/* One kernel for every M and batch. False if there is none. */
static bool try_config(const struct problem *of, const char *config, bool may_fail,
                       struct known *known)
{
    static const struct rows launched[] = {
        {POOL, 1, 0}, {1, 1, 5}, {7, 3, 11}, {129, 1, 40}, {200, 2, 17}};
    char text[512];
    const jit_gemm_problem problem =
        read_problem(of, "m=64 dynamic=m,batch", config, text, sizeof(text));
    jit_gemm *gemm = create(text, &problem, may_fail);
    if (gemm == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof(launched) / sizeof(launched[0]); i++) {
        launch(text, of, &problem, gemm, &launched[i], 0, known);
    }
    jit_gemm_destroy(&gemm);
    return true;
}

/* Sizes that are compiled in, with what is chosen for them. */
static void try_exact(const struct problem *of, struct known *known)
{
    static const struct rows exact[] = {{1, 1, 9}, {300, 1, 2}, {302, 1, 20}, {130, 3, 1}};
    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
        char form[64], text[512];
        snprintf(form, sizeof(form), "m=%d batch=%d", exact[i].m, exact[i].batches);
        const jit_gemm_problem problem = read_problem(of, form, "", text, sizeof(text));
        jit_gemm *gemm = create(text, &problem, false);
        launch(text, of, &problem, gemm, &exact[i], 0, known);
        jit_gemm_destroy(&gemm);
    }
}

/* Groups whose B is one. */
static void try_groups(const struct problem *of, struct known *known)
{
    static const struct {
        const char *form;
        int m;
        int32_t sizes[2][4];
    } rows[] = {
        {"m=300 groups=4", 300, {{1, 130, 130, 300}, {77, 200, 264, 300}}},
        {"m=90 groups=4 group_by=counts", 90, {{90, 90, 90, 90}, {90, 90, 90, 90}}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[512];
        const jit_gemm_problem problem =
            read_problem(of, rows[i].form, "", text, sizeof(text));
        const bool is_stacked = problem.group_by == JIT_GEMM_GROUP_BY_OFFSETS;
        jit_gemm *gemm = create(text, &problem, true); /* some problems have no groups */
        for (int j = 0; gemm != NULL && j < 2; j++) {
            const struct rows launched = {rows[i].m, is_stacked ? 1 : 4, 13 + j};
            const uint64_t sizes = upload(rows[i].sizes[j], sizeof(rows[i].sizes[j]));
            launch(text, of, &problem, gemm, &launched, sizes, known);
            need(jit_gemm_device_free(context, sizes) == JIT_GEMM_OK, "free");
        }
        jit_gemm_destroy(&gemm);
    }
}

static void try_problem(const struct problem *of, int number)
{
    static struct configs configs;
    static struct known known;
    char text[512];
    memset(&known, 0, sizeof(known));
    if (of->snippet != NULL) {
        jit_gemm_operand operands[4];
        jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                      .name = of->name,
                                      .source = of->snippet,
                                      .operands = operands};
        while (epilogue.operand_count < 4 &&
               of->operands[epilogue.operand_count].name != NULL) {
            const struct operand *operand = &of->operands[epilogue.operand_count];
            operands[epilogue.operand_count++] = (jit_gemm_operand){
                .name = operand->name, .kind = operand->kind, .dtype = operand->dtype};
        }
        need(jit_gemm_epilogue_register(context, &epilogue) == JIT_GEMM_OK, of->snippet);
    }
    const jit_gemm_problem problem =
        read_problem(of, "m=64 dynamic=m,batch", "", text, sizeof(text));
    list_configs(&problem, &configs);
    const int before = failures, launched = launches;
    int kernels = 0;
    for (int i = number % every % configs.count; i < configs.count; i += every) {
        kernels += try_config(of, configs.text[i], false, &known);
        char *stages = strstr(configs.text[i], "out_stages=2");
        if (stages != NULL && i % (2 * every) < every) {
            stages[sizeof("out_stages=") - 1] = '1';
            kernels += try_config(of, configs.text[i], true, &known);
        }
    }
    try_exact(of, &known);
    try_groups(of, &known);
    printf("%s %d - %s %s: %d of %d configs, %d launches\n",
           failures == before ? "ok" : "not ok", number + 1, of->text,
           of->name != NULL ? of->name : "", kernels, configs.count, launches - launched);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const bool is_gpu = argc < 3;
    const int only = argc > 3 ? atoi(argv[3]) : 0; /* from 1; 0: all */
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = is_gpu ? NULL : argv[1],
                                              .driver = is_gpu ? NULL : argv[2]};
    k_size = is_gpu ? GPU_K : EMULATED_K;
    every = test_stride(is_gpu ? 1 : 193);
    const jit_gemm_status status = jit_gemm_context_create(&options, &context);
    if (is_gpu && status != JIT_GEMM_OK) {
        printf("skipped: %s\n", jit_gemm_last_error());
        return SKIPPED;
    }
    need(status == JIT_GEMM_OK, "context");
    const char *arch = jit_gemm_context_arch(context);
    for (int i = 0; i < PROBLEMS; i++) {
        if (only > 0 && only != i + 1) {
            continue;
        }
        /* Of those for both chips each has every fifth. */
        const bool is_others =
            every > 1 && only == 0 && i % 5 != (strcmp(arch, "sm_100a") == 0);
        if (problems[i].arch == NULL ? !is_others : strcmp(problems[i].arch, arch) == 0) {
            try_problem(&problems[i], i);
        }
    }
    jit_gemm_context_destroy(&context);
    printf("%d launches, %d failures\n", launches, failures);
    return failures > 0;
}
