/* SPDX-License-Identifier: MIT */
/*
 * Launches that the driver refuses, replayed on the emulator: the kernel gets memory that
 * the replay makes, and the emulator sees each access beyond it.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "jit_gemm/capsule.h"
#include "jit_gemm/jit_gemm.h"

struct bench {
    jit_gemm_context *context;
    char folder[64], capsules[80], capsule[400];
    CUresult (*launch)(const CUlaunchConfig *, CUfunction, void **, void **);
};

static CUresult refuse(const CUlaunchConfig *config, CUfunction function, void **params,
                       void **extra)
{
    (void)config;
    (void)function;
    (void)params;
    (void)extra;
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static void open_bench(struct bench *bench, const char *arch)
{
    setenv("JIT_GEMM_EMULATOR", "sms=4,async=latest", 1);
    *bench = (struct bench){.folder = "/tmp/jg-replay-XXXXXX"};
    cr_assert_not_null(mkdtemp(bench->folder));
    snprintf(bench->capsules, sizeof(bench->capsules), "%s/capsules", bench->folder);
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = EMU_LIBRARY_PATH,
                                              .no_cache =
                                                  getenv("JIT_GEMM_CACHE_DIR") == NULL,
                                              .capsule_dir = bench->capsules};
    check(jit_gemm_context_create(&options, &bench->context));
    bench->launch = bench->context->device->driver->launch_kernel_ex;
}

static void remove_capsule(const struct bench *bench)
{
    char command[512];
    snprintf(command, sizeof(command), "rm -rf %s", bench->capsules);
    cr_assert_eq(system(command), 0); // NOLINT(cert-env33-c): a path of our own
}

static void close_bench(struct bench *bench)
{
    jit_gemm_context_destroy(&bench->context);
    remove_capsule(bench);
    cr_expect_eq(rmdir(bench->folder), 0);
}

static void find_capsule(struct bench *bench)
{
    DIR *folder = opendir(bench->capsules);
    const struct dirent *entry = NULL;
    cr_assert_not_null(folder, "%s", jit_gemm_last_error());
    bench->capsule[0] = '\0';
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            snprintf(bench->capsule, sizeof(bench->capsule), "%s/%s", bench->capsules,
                     entry->d_name);
        }
    }
    closedir(folder);
    cr_assert_neq(bench->capsule[0], '\0');
}

/* ------------------------------------------------------------------ a refused launch */

/* Nobody reads here: the launch is refused. */
static void point(uint64_t *address, int number, uint64_t alignment)
{
    *address = ((uint64_t)(number + 1) << 40) + (alignment < 4096 ? alignment : 0);
}

static uint64_t alignment_of(uint32_t promised)
{
    return promised != 0 ? promised : 256;
}

/* What a row of the table adds to the problem. */
struct row {
    const char *arch, *text;
    int64_t m, k, ld; /* of dynamic sizes; of A, B and D, 0: packed */
    uint32_t operands;
    bool has_values;   /* scalars among them are given by value */
    bool has_lds;      /* by pointers */
    bool has_own;      /* ... and an N and a K of each */
    bool broadcasts;   /* A is the same in every batch */
    bool on_device;    /* alpha and beta are */
    bool has_host;     /* the numbers of groups come from the host */
    int64_t row_count; /* of indexed rows */
};

static void fill_args(const struct row *row, const jit_gemm_problem *problem,
                      const jit_gemm_info *info, jit_gemm_args *args,
                      jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS])
{
    const uint64_t input = alignment_of(problem->a.alignment);
    const uint64_t output = alignment_of(problem->d.alignment);
    const bool by_pointers = problem->group_by == JIT_GEMM_GROUP_BY_POINTERS;
    *args = (jit_gemm_args){.struct_size = sizeof(*args),
                            .m = row->m,
                            .k = row->k,
                            .operands = operands,
                            .operand_count = row->operands};
    point(&args->a.pointer, 0, by_pointers ? 256 : input);
    point(&args->b.pointer, 1, by_pointers ? 256 : input);
    point(&args->d.pointer, 2, by_pointers ? 256 : output);
    if (!row->has_lds) {
        args->a.ld = args->b.ld = args->d.ld = row->ld;
    } else {
        point(&args->a_lds, 3, 8);
        point(&args->d_lds, 4, 16);
    }
    args->a.batch_stride = row->broadcasts ? JIT_GEMM_STRIDE_BROADCAST : 0;
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        point(&args->c.pointer, 5, output);
    }
    if (problem->a.scale.kind != JIT_GEMM_SCALE_NONE) {
        point(&args->a_scale.pointer, 6, 256);
    }
    if (problem->b.scale.kind != JIT_GEMM_SCALE_NONE) {
        point(&args->b_scale.pointer, 7, 256);
    }
    if (problem->d.scale.kind != JIT_GEMM_SCALE_NONE) {
        point(&args->d_scale.pointer, 8, 256);
    }
    static const int32_t numbers[] = {0, 3, 3, 60};
    if (row->has_host) {
        cr_assert_eq(info->host_groups, 4);
        args->host_group_sizes = numbers;
        args->host_group_count = info->host_groups;
    } else if (problem->group_by != JIT_GEMM_GROUP_NONE) {
        point(&args->group_sizes, 9, 4);
    }
    if (row->has_own) {
        args->n = 80;
        point(&args->group_ns, 12, 4);
        point(&args->group_ks, 13, 4);
    }
    if (problem->a_rows == JIT_GEMM_ROWS_INDEXED) {
        point(&args->a_rows.pointer, 10, 4);
        args->a_row_count = row->row_count;
    }
    if (problem->d_rows == JIT_GEMM_ROWS_INDEXED) {
        point(&args->d_rows.pointer, 11, 4);
        args->d_row_count = row->row_count;
    }
    if (info->workspace_bytes != 0) {
        point(&args->workspace, 12, 4096);
    }
    if (row->on_device) {
        point(&args->alpha_device, 13, 4);
        point(&args->beta_device, 14, 4);
    }
    for (uint32_t i = 0; i < row->operands; i++) {
        operands[i] = (jit_gemm_arg){.value = row->has_values ? -0.5F : 0.0F};
        if (!row->has_values) {
            point(&operands[i].pointer, 15 + (int)i, 256);
        }
    }
}

static void leave_capsule(struct bench *bench, const struct row *row)
{
    jit_gemm_problem problem;
    jit_gemm *gemm = NULL;
    jit_gemm_args args;
    jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS];
    jit_gemm_info info = {.struct_size = sizeof(info)};
    check(jit_gemm_problem_parse(row->text, &problem));
    const jit_gemm_status status = jit_gemm_create(bench->context, &problem, &gemm);
    if (status == JIT_GEMM_ERR_NO_COMPILER) {
        cr_skip_test("NVRTC is needed: %s", jit_gemm_last_error());
    }
    cr_assert_eq(status, JIT_GEMM_OK, "%s: %s", row->text, jit_gemm_last_error());
    check(jit_gemm_get_info(gemm, &info));
    fill_args(row, &problem, &info, &args, operands);
    bench->context->device->driver->launch_kernel_ex = refuse;
    cr_assert_eq(jit_gemm_run(gemm, &args, NULL), JIT_GEMM_ERR_LAUNCH, "%s: %s", row->text,
                 jit_gemm_last_error());
    jit_gemm_destroy(&gemm);
    find_capsule(bench);
}

static void expect_replay(struct bench *bench, const char *text,
                          jit_gemm_replay_outcome wanted)
{
    char report[4096] = "";
    jit_gemm_replay_outcome outcome = JIT_GEMM_REPLAY_COMPILES;
    cr_assert_eq(jit_gemm_capsule_replay(bench->context, bench->capsule, &outcome, report,
                                         sizeof(report), NULL),
                 JIT_GEMM_OK, "%s: %s", text, jit_gemm_last_error());
    cr_expect_eq(outcome, wanted, "%s: %s", text, report);
}

/* --------------------------------------------------------------------------- the table */

static const struct row rows[] = {
    {.arch = "sm_90a", .text = "96x80x64 bf16"},
    {.arch = "sm_100a", .text = "96x80x64 bf16 layout=tn", .ld = 104},
    {.arch = "sm_90a",
     .text = "128x80x64 bf16 batch=3 dynamic=m",
     .m = 70,
     .broadcasts = true},
    {.arch = "sm_90a", .text = "17x19x33 tf32 input_align=4 output_align=4"},
    {.arch = "sm_90a", .text = "96x80x64 bf16 dynamic=k", .k = JIT_GEMM_SIZE_EMPTY},
    {.arch = "sm_90a", .text = "96x80x64 bf16 c=f32 d=f32", .on_device = true},
    {.arch = "sm_100a", .text = "96x80x64 bf16 epilogue=bias_residual", .operands = 2},
    {.arch = "sm_90a", .text = "96x80x64 bf16 epilogue=bias_gradient", .operands = 1},
    {.arch = "sm_90a",
     .text = "96x80x64 bf16 epilogue=clamp",
     .operands = 2,
     .has_values = true},
    {.arch = "sm_90a",
     .text = "67x88x48 e4m3 d=bf16 a_scale=vector b_scale=tensor batch=2"},
    {.arch = "sm_90a",
     .text = "70x136x160 e4m3 d=bf16 a_scale=1x128 b_scale=128x128 batch=2"},
    {.arch = "sm_100a", .text = "9x40x128 mxfp8 d=f32 batch=2"},
    {.arch = "sm_90a", .text = "70x96x64 e4m3 d_scale=mx batch=2"},
    {.arch = "sm_90a", .text = "64x64x512 bf16 config=split_k=2"},
    {.arch = "sm_90a",
     .text = "17x17x17 bf16 input_align=2 output_align=2 config=repack=ab"},
    {.arch = "sm_90a", .text = "96x80x64 bf16 groups=3 group_by=offsets"},
    {.arch = "sm_90a", .text = "96x80x64 bf16 groups=3 group_by=counts"},
    {.arch = "sm_90a", .text = "96x80x64 bf16 groups=4 group_by=offsets", .has_host = true},
    {.arch = "sm_100a", .text = "200x80x64 bf16 groups=3 group_by=rows"},
    {.arch = "sm_90a",
     .text = "96x80x100 bf16 layout=tt input_align=2 groups=3 group_by=k_offsets"},
    {.arch = "sm_90a", .text = "96x80x64 bf16 groups=3 group_by=pointers", .ld = 96},
    {.arch = "sm_90a", .text = "96x80x64 bf16 groups=3 group_by=pointers", .has_lds = true},
    {.arch = "sm_90a",
     .text = "96x80x64 bf16 groups=3 group_by=pointers dynamic=n,k",
     .k = 64,
     .has_lds = true,
     .has_own = true},
    {.arch = "sm_100a", .text = "96x80x64 bf16 a_rows=indexed", .row_count = 70},
    {.arch = "sm_90a", .text = "96x80x64 bf16 d_rows=indexed", .row_count = 70},
};

/* Every third one: a check runs one of the three tests in each commit. */
static void replay_thirds(size_t first)
{
    struct bench bench;
    for (size_t i = first; i < sizeof(rows) / sizeof(rows[0]); i += 3) {
        open_bench(&bench, rows[i].arch);
        leave_capsule(&bench, &rows[i]);

        expect_replay(&bench, rows[i].text, JIT_GEMM_REPLAY_SAME_ERROR);
        bench.context->device->driver->launch_kernel_ex = bench.launch;
        expect_replay(&bench, rows[i].text, JIT_GEMM_REPLAY_RUNS);

        close_bench(&bench);
    }
}

Test(replay_launch, a_launch_is_made_over_memory_that_is_large_enough)
{
    replay_thirds(0);
}

Test(replay_launch, the_second_third)
{
    replay_thirds(1);
}

Test(replay_launch, the_last_third)
{
    replay_thirds(2);
}
