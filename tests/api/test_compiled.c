/* SPDX-License-Identifier: MIT */
/*
 * Epilogues that are compiled functions, executed on the emulator through the public API:
 * PTX and LTO-IR give the bits of the snippet that says the same, in D and in an output,
 * and their kernels are kept.
 */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code_maker.h"
#include "jit_gemm/convert.h"
#include "jit_gemm/device.h"
#include "jit_gemm/jit_gemm.h"

enum { M = 200, N = 136, K = 72 };

static const jit_gemm_operand operands[] = {
    {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_F32},
    {.name = "rows", .kind = JIT_GEMM_OPERAND_COLUMN_VECTOR, .dtype = JIT_GEMM_DTYPE_F32},
    {.name = "aux",
     .kind = JIT_GEMM_OPERAND_MATRIX,
     .dtype = JIT_GEMM_DTYPE_F32,
     .role = JIT_GEMM_OPERAND_OUTPUT}};

/* Powers of two and sums, so that no contraction of the compiler changes a bit. */
static const char snippet[] =
    "aux = acc + bias; d = aux > 0.0f ? aux + rows : (row > col ? 0.5f : 0.25f) * aux;";
static const char source[] =
    "extern \"C\" __device__ float leaky(float acc, int row, int col, int batch, float bias, "
    "float rows, float *aux) { float x = acc + bias; *aux = x; if (x > 0.0f) { return x + "
    "rows; } return (row > col ? 0.5f : 0.25f) * x; }";

struct results {
    float d[M * N], aux[M * N];
    jit_gemm_origin origin;
};

static void check(jit_gemm_status status)
{
    cr_assert_eq(status, JIT_GEMM_OK, "%s", jit_gemm_last_error());
}

static jit_gemm_context *open_context(const char *arch, const char *folder,
                                      jit_gemm_policy policy)
{
    const bool on_gpu = getenv("ON_GPU") != NULL;
    jit_gemm_context *context = NULL;
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = arch,
                                              .driver = on_gpu ? NULL : EMU_LIBRARY_PATH,
                                              .cache_dir = folder,
                                              .no_cache = folder == NULL,
                                              .policy = policy};
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    check(jit_gemm_context_create(&options, &context));
    if (on_gpu && (jit_gemm_device_get_info(context, &info) != JIT_GEMM_OK ||
                   info.cc_major != (strcmp(arch, "sm_90a") == 0 ? 9 : 10))) {
        cr_skip_test("no GPU for %s", arch);
    }
    return context;
}

static uint64_t upload(jit_gemm_context *context, const void *bytes, size_t size)
{
    uint64_t address = 0;
    check(jit_gemm_device_alloc(context, size, &address));
    check(jit_gemm_device_upload(context, address, bytes, size));
    return address;
}

/* bf16, between -1 and 1. */
static uint64_t upload_matrix(jit_gemm_context *context, size_t count, unsigned seed)
{
    uint16_t elements[M * K + N * K];
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525U + 1013904223U;
        elements[i] = jit_gemm_bf16_from_float((float)(int32_t)seed / 2147483648.0F);
    }
    return upload(context, elements, count * sizeof(*elements));
}

static uint64_t upload_vector(jit_gemm_context *context, size_t count)
{
    float elements[M + N];
    for (size_t i = 0; i < count; i++) {
        elements[i] = (float)(i % 17) - 8.25F;
    }
    return upload(context, elements, count * sizeof(*elements));
}

/* Creates and launches a product with an epilogue, and takes what it wrote. */
static void run(jit_gemm_context *context, jit_gemm_epilogue epilogue, const char *config,
                struct results *ret_results)
{
    jit_gemm_problem problem = {.struct_size = sizeof(problem)};
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm *gemm = NULL;
    epilogue.struct_size = sizeof(epilogue);
    epilogue.name = "leaky_rows";
    epilogue.operands = operands;
    epilogue.operand_count = sizeof(operands) / sizeof(operands[0]);
    check(jit_gemm_epilogue_register(context, &epilogue));
    check(jit_gemm_problem_parse("200x136x72 bf16 d=f32 epilogue=leaky_rows", &problem));
    strcpy(problem.config, config);
    check(jit_gemm_create(context, &problem, &gemm));
    check(jit_gemm_get_info(gemm, &info));
    ret_results->origin = info.origin;
    jit_gemm_arg own[] = {{.pointer = upload_vector(context, N)},
                          {.pointer = upload_vector(context, M)},
                          {.pointer = 0}};
    check(jit_gemm_device_alloc(context, sizeof(ret_results->aux), &own[2].pointer));
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = {.pointer = upload_matrix(context, M * K, 1)},
                          .b = {.pointer = upload_matrix(context, N * K, 2)},
                          .operands = own,
                          .operand_count = 3};
    check(jit_gemm_device_alloc(context, sizeof(ret_results->d), &args.d.pointer));
    check(jit_gemm_run(gemm, &args, NULL));
    check(jit_gemm_device_synchronize(context));
    check(jit_gemm_device_download(context, ret_results->d, args.d.pointer,
                                   sizeof(ret_results->d)));
    check(jit_gemm_device_download(context, ret_results->aux, own[2].pointer,
                                   sizeof(ret_results->aux)));
    jit_gemm_destroy(&gemm);
}

static void expect_same_bits(const struct results *results, const struct results *expected,
                             const char *what)
{
    cr_expect_eq(memcmp(results->d, expected->d, sizeof(results->d)), 0, "D of %s", what);
    cr_expect_eq(memcmp(results->aux, expected->aux, sizeof(results->aux)), 0, "aux of %s",
                 what);
}

static void compare_with_snippet(const char *arch, const char *config)
{
    static struct results by_snippet, by_ptx, by_ltoir;
    struct jg_str ptx = code_make_ptx(source, "compute_80");
    struct jg_str ltoir = code_make_ltoir(source, "compute_80");
    jit_gemm_context *contexts[3];
    for (int i = 0; i < 3; i++) {
        contexts[i] = open_context(arch, NULL, JIT_GEMM_POLICY_ALLOW);
    }

    run(contexts[0], (jit_gemm_epilogue){.source = snippet}, config, &by_snippet);
    run(contexts[1],
        (jit_gemm_epilogue){.code = ptx.data, .code_size = ptx.size, .symbol = "leaky"},
        config, &by_ptx);
    run(contexts[2],
        (jit_gemm_epilogue){.code = ltoir.data, .code_size = ltoir.size, .symbol = "leaky"},
        config, &by_ltoir);

    expect_same_bits(&by_ptx, &by_snippet, "PTX");
    expect_same_bits(&by_ltoir, &by_snippet, "LTO-IR");
    int negative = 0;
    for (int i = 0; i < M * N; i++) {
        negative += by_snippet.aux[i] < 0;
    }
    cr_expect(negative > M * N / 8 && negative < M * N * 7 / 8, "both branches are needed");
    for (int i = 0; i < 3; i++) {
        jit_gemm_context_destroy(&contexts[i]);
    }
    jg_str_free(&ptx);
    jg_str_free(&ltoir);
}

Test(compiled_epilogues, have_the_snippets_bits_on_sm_90a)
{
    compare_with_snippet("sm_90a", "");
}

Test(compiled_epilogues, have_the_snippets_bits_on_sm_100a)
{
    compare_with_snippet("sm_100a", "");
}

Test(compiled_epilogues, have_the_snippets_bits_where_a_and_b_are_swapped)
{
    compare_with_snippet("sm_100a", "swap_ab=1");
}

Test(compiled_epilogues, have_the_snippets_bits_in_the_reference_kernel)
{
    compare_with_snippet("sm_90a", "kernel=reference");
}

/* ------------------------------------------------------------------------------ kept */

static int remove_one(const char *path, const struct stat *facts, int kind,
                      struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

/* In one context compiled and kept, in a second, which must not compile, found; and by its
 * manifest in a folder of its own. */
static void expect_kept(const char *folder, const jit_gemm_epilogue *epilogue)
{
    static struct results first, second, third;
    char manifest[128];
    char other[128];
    jit_gemm_context *context = open_context("sm_90a", folder, JIT_GEMM_POLICY_ALLOW);
    run(context, *epilogue, "", &first);
    snprintf(manifest, sizeof(manifest), "%s/manifest.txt", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    check(jit_gemm_context_write_manifest(context, manifest));
    jit_gemm_context_destroy(&context);
    static char text[262144];
    FILE *file = fopen(manifest, "rb");
    cr_assert_not_null(file);
    const size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);

    context = open_context("sm_90a", folder, JIT_GEMM_POLICY_FORBID);
    run(context, *epilogue, "", &second);
    jit_gemm_context_destroy(&context);
    context = open_context("sm_90a", other, JIT_GEMM_POLICY_ALLOW);
    check(jit_gemm_prewarm(context, text, size, NULL, NULL));
    jit_gemm_context_destroy(&context);
    context = open_context("sm_90a", other, JIT_GEMM_POLICY_FORBID);
    run(context, *epilogue, "", &third);
    jit_gemm_context_destroy(&context);

    cr_expect_eq(first.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_eq(third.origin, JIT_GEMM_ORIGIN_DISK);
    expect_same_bits(&second, &first, "the kept kernel");
    expect_same_bits(&third, &first, "the prewarmed kernel");
    cr_expect_eq(unlink(manifest), 0);
}

Test(compiled_epilogues, are_kept_and_prewarmed_by_their_manifest)
{
    char folder[] = "/tmp/jit_gemm_test_XXXXXX";
    struct jg_str ptx = code_make_ptx(source, "compute_80");
    struct jg_str ltoir = code_make_ltoir(source, "compute_80");
    cr_assert_not_null(mkdtemp(folder));

    const jit_gemm_epilogue as_ptx = {.code = ptx.data, .symbol = "leaky"};
    const jit_gemm_epilogue as_ltoir = {.code = ltoir.data,
                                        .code_size = ltoir.size,
                                        .symbol = "leaky",
                                        .code_kind = JIT_GEMM_CODE_LTOIR};
    expect_kept(folder, &as_ptx);
    expect_kept(folder, &as_ltoir);

    jg_str_free(&ptx);
    jg_str_free(&ltoir);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ------------------------------------------------------------------------- the chip */

Test(compiled_epilogues, for_another_chip_are_refused_by_check_plan_and_create)
{
    struct jg_str ptx = code_make_ptx(source, "compute_100a");
    jit_gemm_context *context = open_context("sm_90a", NULL, JIT_GEMM_POLICY_ALLOW);
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "newer",
                                        .operands = operands,
                                        .operand_count = 3,
                                        .code = ptx.data,
                                        .symbol = "leaky"};
    jit_gemm_problem problem = {.struct_size = sizeof(problem)};
    jit_gemm *gemm = NULL;
    size_t length = 0;
    check(jit_gemm_epilogue_register(context, &epilogue));
    check(jit_gemm_problem_parse("64x64x64 bf16 epilogue=newer", &problem));

    cr_expect_eq(jit_gemm_check(context, &problem), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(jit_gemm_last_error(), "is for sm_100a, and the kernel for"),
                       "%s", jit_gemm_last_error());
    cr_expect_eq(jit_gemm_plan(context, &problem, NULL, 0, &length),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_eq(jit_gemm_create(context, &problem, &gemm), JIT_GEMM_ERR_UNSUPPORTED);

    cr_expect_null(gemm);
    jit_gemm_context_destroy(&context);
    jg_str_free(&ptx);
}
