/* SPDX-License-Identifier: MIT */
/* Compiled epilogues through the real NVRTC and nvJitLink: kernels of both chips, what the
 * linker would take in silence, and how such kernels are kept. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "code_maker.h"
#include "compile/build.h"
#include "cuda/nvjitlink.h"
#include "plan/compiled.h"
#include "strides.h"
#include "unit_maker.h"

#define PROBLEM "256x256x64 bf16"

struct bench {
    struct unit unit;
    struct jg_build_counts counts;
    struct jg_builder builder;
};

static struct unit make_unit(const char *arch, const struct jg_str *code,
                             const char *symbol, const char *operands)
{
    const struct unit_request request = {
        .problem = PROBLEM,
        .operands = operands,
        .arch = arch,
        .code = code,
        .symbol = symbol,
    };
    return unit_make(&request);
}

/* Without a cache. Skips the test where nvJitLink is missing. */
static void set_up(struct bench *bench, const char *arch, const struct jg_str *code)
{
    *bench = (struct bench){.unit = make_unit(arch, code, "keep", CODE_KEEP_OPERANDS)};
    cr_assert_eq(jg_toolchain_create(NULL, &bench->builder.toolchain), JIT_GEMM_OK);
    const struct jg_nvjitlink *linker = NULL;
    if (jg_toolchain_linker(bench->builder.toolchain, &linker) != JIT_GEMM_OK) {
        cr_skip_test("nvJitLink is needed: %s", jg_error_text());
    }
}

static void tear_down(struct bench *bench)
{
    jg_cache_close(bench->builder.cache);
    jg_toolchain_destroy(bench->builder.toolchain);
    unit_free(&bench->unit);
}

static jit_gemm_status build(struct bench *bench, struct jg_binary *ret_binary)
{
    const struct unit *unit = &bench->unit;
    const struct jg_build_unit wanted = {&unit->source, unit->arch, unit->epilogue,
                                         jg_str_text(&unit->problem_text)};
    return jg_build(&bench->builder, &wanted, ret_binary, &bench->counts);
}

/* Builds for `arch` with the function that `source` defines, made for `code_arch`. */
static jit_gemm_status build_with(const char *arch, const char *source,
                                  const char *code_arch, struct jg_binary *ret_binary)
{
    struct jg_str code = code_make_ltoir(source, code_arch);
    struct bench bench;
    set_up(&bench, arch, &code);
    const jit_gemm_status status = build(&bench, ret_binary);
    tear_down(&bench);
    jg_str_free(&code);
    return status;
}

/* ------------------------------------------------------------------------------- chips */

Test(link_epilogue, ltoir_of_any_older_architecture_becomes_a_whole_kernel)
{
    static const struct {
        const char *arch, *code_arch;
    } rows[] = {{"sm_90a", "compute_80"},  {"sm_90a", "sm_90a"},
                {"sm_100a", "compute_80"}, {"sm_100a", "sm_90a"},
                {"sm_100a", "sm_100a"},    {"sm_100a", "sm_100f"},
                {"sm_103a", "compute_90"}, {"sm_103a", "sm_100a"}};
    const int every = test_stride(1); /* most of it is the linker's time */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i += (size_t)every) {
        struct jg_binary binary = {0};

        const jit_gemm_status status =
            build_with(rows[i].arch, CODE_KEEP, rows[i].code_arch, &binary);

        cr_assert_eq(status, JIT_GEMM_OK, "%s with %s: %s", rows[i].arch, rows[i].code_arch,
                     jg_error_text());
        /* a link that leaves the kernel out succeeds too, with 1.5 KB */
        cr_expect_gt(binary.code.size, 8192, "%s", rows[i].arch);
        cr_expect_gt(binary.registers, 0, "the linker's log has the assembler's figures");
        cr_expect_eq(binary.spill_bytes, 0, "outputs are registers once it is inlined");
        cr_expect_null(memmem(binary.code.data, binary.code.size, ".text.keep", 10),
                       "%s: a call is left", rows[i].arch);
        jg_binary_free(&binary);
    }
}

Test(link_epilogue, linked_cubin_has_lines_where_they_are_asked_for)
{
    static const char section[] = ".debug_line";
    struct jg_str code = code_make_ltoir(CODE_KEEP, "compute_80");
    for (int i = 0; i < 2; i++) {
        struct bench bench;
        struct jg_binary binary = {0};
        set_up(&bench, "sm_90a", &code);
        bench.unit.source.has_lineinfo = i == 1;

        cr_assert_eq(build(&bench, &binary), JIT_GEMM_OK, "%s", jg_error_text());

        const void *found =
            memmem(binary.code.data, binary.code.size, section, sizeof(section) - 1);
        cr_expect_eq(found != NULL, i == 1);
        jg_binary_free(&binary);
        tear_down(&bench);
    }
    jg_str_free(&code);
}

Test(link_epilogue, ptx_is_pasted_into_kernels_of_both_chips)
{
    static const char *const archs[] = {"sm_90a", "sm_100a", "sm_100f"};
    struct jg_str code = code_make_ptx(CODE_KEEP, "compute_80");
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        struct bench bench;
        struct jg_binary binary = {0};
        set_up(&bench, archs[i], &code);

        cr_assert_eq(build(&bench, &binary), JIT_GEMM_OK, "%s", jg_error_text());

        cr_expect_gt(binary.registers, 0);
        cr_expect_null(memmem(binary.code.data, binary.code.size, ".text.keep", 10));
        jg_binary_free(&binary);
        tear_down(&bench);
    }
    jg_str_free(&code);
}

Test(link_epilogue, function_with_branches_local_memory_and_the_kernels_own_names_is_pasted)
{
    /* %r1, %f1 and $L__BB0_1 are names of the kernel around it, and %0 is of asm */
    static const char source[] =
        "extern \"C\" __device__ float keep(float acc, int row, int col, int batch, float "
        "bias, float *aux) { volatile float table[4] = {acc, bias, 1.0f, 2.0f}; float sum = "
        "0.0f; for (int i = 0; i < (row & 3); i++) { sum += table[(i + col) & 3]; if (sum > "
        "100.0f) { return sum; } } *aux = sum; return row == 3 ? -sum : sum; }";
    static const char *const archs[] = {"sm_90a", "sm_100a"};
    struct jg_str code = code_make_ptx(source, "compute_80");
    cr_assert_not_null(strstr(jg_str_text(&code), ".local"), "the test needs a table");
    cr_assert_not_null(strstr(jg_str_text(&code), "bra"), "the test needs branches");
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
        struct bench bench;
        struct jg_binary binary = {0};
        set_up(&bench, archs[i], &code);

        cr_expect_eq(build(&bench, &binary), JIT_GEMM_OK, "%s", jg_error_text());

        jg_binary_free(&binary);
        tear_down(&bench);
    }
    jg_str_free(&code);
}

Test(link_epilogue, family_of_chips_is_refused_for_machine_code_only)
{
    struct jg_str code = code_make_ltoir(CODE_KEEP, "compute_80");
    struct bench bench;
    struct jg_binary binary = {0};
    set_up(&bench, "sm_100f", &code);

    cr_expect_eq(build(&bench, &binary), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect_not_null(strstr(jg_error_text(), "cannot link LTO-IR for sm_100f"), "%s",
                       jg_error_text());
    bench.builder.code_kind = JG_CODE_PTX;
    cr_expect_eq(build(&bench, &binary), JIT_GEMM_OK, "%s", jg_error_text());

    cr_expect_not_null(strstr(jg_str_text(&binary.code), ".target sm_100"));
    jg_binary_free(&binary);
    tear_down(&bench);
    jg_str_free(&code);
}

/* ----------------------------------------------------------------------------- refusals */

#define SIGNATURE_OF(result, first, rest) \
    "extern \"C\" __device__ " result " keep(" first rest ")"
#define REST ", int row, int col, int batch, float bias, float *aux"

static const struct {
    const char *arch, *source, *code_arch;
    jit_gemm_status status;
    const char *field, *words;
} refusals[] = {
    {"sm_90a", CODE_KEEP, "sm_100a", JIT_GEMM_ERR_UNSUPPORTED, "epilogue.code",
     "LTOIR arch newer than target"},
    {"sm_90a", "extern \"C\" __device__ float other(float x) { return x; }", "compute_80",
     JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol", "the LTO-IR defines no function 'keep'"},
    {"sm_100a", "__device__ float keep(float acc" REST ") { return acc; }", "compute_80",
     JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol", "the LTO-IR defines no function 'keep'"},
    {"sm_90a", SIGNATURE_OF("float", "double acc", REST) "{ return acc + *aux; }",
     "compute_80", JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol",
     "it takes a parameter 1 that is of another"},
    {"sm_90a", SIGNATURE_OF("float", "float acc", "") "{ return acc; }", "compute_80",
     JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol", "it takes 1 parameters, not 6"},
    {"sm_90a", SIGNATURE_OF("float", "float acc", REST ", float s") "{ return s; }",
     "compute_80", JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol",
     "it takes 7 parameters, not 6"},
    {"sm_100a", SIGNATURE_OF("void", "float acc", REST) "{ *aux = acc; }", "compute_80",
     JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol", "it returns nothing"},
    {"sm_100a", SIGNATURE_OF("double", "float acc", REST) "{ return acc; }", "compute_80",
     JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol", "something else than one float"},
    {"sm_90a",
     "extern \"C\" __device__ float helper(float x);" SIGNATURE_OF(
         "float", "float acc", REST) "{ return helper(acc); }",
     "compute_80", JIT_GEMM_ERR_COMPILE, "epilogue.code",
     "Unresolved extern function 'helper'"},
    {"sm_90a",
     "__device__ __noinline__ float helper(float x) { __syncthreads(); return x; }" SIGNATURE_OF(
         "float", "float acc", REST) "{ return helper(acc); }",
     "compute_80", JIT_GEMM_ERR_ARGUMENT, "epilogue.code", "has 'bar.sync', which"},
    {"sm_100a",
     "__shared__ float lanes[128];" SIGNATURE_OF(
         "float", "float acc", REST) "{ lanes[row % 128] = acc; return lanes[col % 128]; }",
     "compute_80", JIT_GEMM_ERR_ARGUMENT, "epilogue.code", "do without shared memory"},
    {"sm_90a",
     CODE_KEEP "extern \"C\" __global__ void jg_probe(void **p) { *p = nullptr; }",
     "compute_80", JIT_GEMM_ERR_COMPILE, "epilogue.code", "rename what the kernel defines"},
};

Test(link_epilogue, what_the_linker_cannot_join_is_refused_by_field)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct jg_binary binary = {0};

        const jit_gemm_status status = build_with(refusals[i].arch, refusals[i].source,
                                                  refusals[i].code_arch, &binary);

        cr_expect_eq(status, refusals[i].status, "%s: %s", refusals[i].words,
                     jg_error_text());
        cr_expect_eq(strncmp(jg_error_text(), refusals[i].field, strlen(refusals[i].field)),
                     0, "%s", jg_error_text());
        cr_expect_not_null(strstr(jg_error_text(), refusals[i].words), "'%s' in '%s'",
                           refusals[i].words, jg_error_text());
    }
}

Test(link_epilogue, damaged_ltoir_is_refused_wherever_it_ends)
{
    struct jg_str code = code_make_ltoir(CODE_KEEP, "compute_80");
    const size_t sizes[] = {4, 5, 24, 44, 100, code.size / 2, code.size - 1};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct jg_str part = code;
        struct bench bench;
        struct jg_binary binary = {0};
        part.size = sizes[i];
        set_up(&bench, "sm_90a", &part);

        const jit_gemm_status status = build(&bench, &binary);

        cr_expect(status == JIT_GEMM_ERR_ARGUMENT || status == JIT_GEMM_ERR_COMPILE ||
                      status == JIT_GEMM_ERR_UNSUPPORTED,
                  "%zu bytes: %d: %s", sizes[i], (int)status, jg_error_text());
        cr_expect_eq(strncmp(jg_error_text(), "epilogue.", 9), 0, "%s", jg_error_text());
        tear_down(&bench);
    }
    jg_str_free(&code);
}

/* Machine code may call; the emulator's PTX may not. */
Test(link_epilogue, call_that_is_left_is_refused_in_ptx_only)
{
    struct jg_str code = code_make_ltoir(
        "__device__ __noinline__ float helper(float x) { return x * x; }"
        "extern \"C\" __device__ float keep(float acc, int row, int col, int batch, float "
        "bias, float *aux) { *aux = bias; return helper(acc); }",
        "compute_80");
    struct bench bench;
    struct jg_binary binary = {0};
    set_up(&bench, "sm_100a", &code);

    cr_expect_eq(build(&bench, &binary), JIT_GEMM_OK, "%s", jg_error_text());
    jg_binary_free(&binary);
    bench.builder.code_kind = JG_CODE_PTX;
    cr_expect_eq(build(&bench, &binary), JIT_GEMM_ERR_UNSUPPORTED);

    cr_expect_not_null(strstr(jg_error_text(), "calls a function that is not inlined"),
                       "%s", jg_error_text());
    tear_down(&bench);
    jg_str_free(&code);
}

/* nvJitLink takes a cubin that was not made for linking, leaves it out, and says nothing.
 */
Test(link_epilogue, machine_code_never_reaches_the_linker)
{
    struct jg_str cubin = code_make_cubin(
        CODE_KEEP
        "extern \"C\" __global__ void k(float *p) { *p = keep(*p, 0, 0, 0, 0, p); }",
        "sm_90a");
    const jit_gemm_epilogue user = {.struct_size = sizeof(user),
                                    .name = "test",
                                    .code = cubin.data,
                                    .code_size = cubin.size,
                                    .symbol = "keep"};
    struct jg_epilogue *epilogue = NULL;

    const jit_gemm_status status = jg_epilogue_create(&user, &epilogue);

    cr_expect_eq(status, JIT_GEMM_ERR_ARGUMENT);
    cr_expect_not_null(strstr(jg_error_text(), "an ELF file: a cubin"), "%s",
                       jg_error_text());
    jg_str_free(&cubin);
}

Test(link_epilogue, symbol_that_cuda_declares_otherwise_is_a_compile_error_that_names_it)
{
    struct jg_str code = code_make_ltoir(CODE_KEEP, "compute_80");
    struct unit unit = make_unit("sm_90a", &code, "printf", CODE_KEEP_OPERANDS);
    struct bench bench;
    set_up(&bench, "sm_90a", &code);
    unit_free(&bench.unit);
    bench.unit = unit;
    struct jg_binary binary = {0};

    cr_expect_eq(build(&bench, &binary), JIT_GEMM_ERR_COMPILE);

    cr_expect_not_null(strstr(jg_error_text(), "printf"), "%s", jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), "another name"), "%s", jg_error_text());
    tear_down(&bench);
    jg_str_free(&code);
}

Test(link_epilogue, ptx_that_the_assembler_does_not_know_is_a_compile_error_that_names_it)
{
    struct jg_str code = {0};
    jg_str_puts(&code,
                ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func (.param "
                ".b32 r) keep(.param .b32 a, .param .b32 b, .param .b32 c, .param .b32 "
                "d, .param .b32 e, .param .b64 f)\n{ .reg .b32 %q; frobnicate.b32 %q, "
                "%tid.x; st.param.b32 [r], %q; ret; }\n");
    struct bench bench;
    struct jg_binary binary = {0};
    set_up(&bench, "sm_90a", &code);

    cr_expect_eq(build(&bench, &binary), JIT_GEMM_ERR_COMPILE);

    cr_expect_eq(
        strncmp(jg_error_text(), "epilogue.code: the kernel with the function 'keep'", 50),
        0, "%s", jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), "frobnicate"), "%s", jg_error_text());
    tear_down(&bench);
    jg_str_free(&code);
}

/* -------------------------------------------------------------------------------- cache */

static jg_cache *open_cache(const char *folder)
{
    const jg_cache_options options = {.folder = folder, .no_sync = 1};
    jg_cache *cache = NULL;
    char reason[256] = "";
    cr_assert_eq(jg_cache_open(&options, &cache, reason, sizeof(reason)), JG_CACHE_OK, "%s",
                 reason);
    return cache;
}

Test(link_epilogue, linked_kernel_is_found_again_and_other_bytes_are_another_kernel)
{
    char folder[64];
    struct jg_str code = code_make_ltoir(CODE_KEEP, "compute_80");
    struct jg_str other_code = code_make_ltoir(CODE_KEEP, "compute_90");
    struct bench bench;
    struct jg_binary first = {0};
    struct jg_binary second = {0};
    struct jg_binary third = {0};
    unit_make_folder(folder);
    set_up(&bench, "sm_90a", &code);
    bench.builder.cache = open_cache(folder);

    cr_assert_eq(build(&bench, &first), JIT_GEMM_OK, "%s", jg_error_text());
    bench.builder.policy = JIT_GEMM_POLICY_FORBID;
    cr_assert_eq(build(&bench, &second), JIT_GEMM_OK, "%s", jg_error_text());
    unit_free(&bench.unit);
    bench.unit = make_unit("sm_90a", &other_code, "keep", CODE_KEEP_OPERANDS);
    const jit_gemm_status missed = build(&bench, &third);

    cr_expect_eq(first.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_str_eq(first.key, second.key);
    cr_expect_eq(second.registers, first.registers);
    cr_expect_arr_eq(first.code.data, second.code.data, first.code.size);
    cr_expect_eq(missed, JIT_GEMM_ERR_NOT_CACHED, "%s", jg_error_text());
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
    jg_str_free(&code);
    jg_str_free(&other_code);
    unit_remove_folder(folder);
}

Test(link_epilogue, machine_without_compiler_finds_the_linked_kernel)
{
    char folder[64];
    struct jg_str code = code_make_ltoir(CODE_KEEP, "compute_80");
    struct bench bench;
    struct jg_binary first = {0};
    struct jg_binary second = {0};
    unit_make_folder(folder);
    set_up(&bench, "sm_90a", &code);
    bench.builder.cache = open_cache(folder);
    cr_assert_eq(build(&bench, &first), JIT_GEMM_OK, "%s", jg_error_text());
    jg_toolchain_destroy(bench.builder.toolchain);
    cr_assert_eq(jg_toolchain_create_with(NULL, &bench.builder.toolchain), JIT_GEMM_OK);

    cr_expect_eq(build(&bench, &second), JIT_GEMM_OK, "%s", jg_error_text());

    cr_expect_eq(second.origin, JIT_GEMM_ORIGIN_DISK);
    jg_binary_free(&first);
    jg_binary_free(&second);
    tear_down(&bench);
    jg_str_free(&code);
    unit_remove_folder(folder);
}

Test(link_epilogue, key_says_which_linker_joined_it)
{
    struct jg_toolchain *toolchain = NULL;
    const struct jg_nvjitlink *linker = NULL;
    struct jg_str signature = {0};
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_linker(toolchain, &linker) != JIT_GEMM_OK) {
        cr_skip_test("nvJitLink is needed: %s", jg_error_text());
    }

    cr_assert_eq(jg_toolchain_linked_signature(toolchain, "nvrtc 1", &signature),
                 JIT_GEMM_OK);

    cr_expect_eq(strncmp(signature.data, "nvrtc 1; -dlto; nvjitlink ", 26), 0, "%s",
                 signature.data);
    cr_expect_not_null(strstr(signature.data, linker->identity));
    cr_expect_not_null(strstr(linker->identity, " build "), "%s", linker->identity);
    jg_str_free(&signature);
    jg_toolchain_destroy(toolchain);
}
