/* SPDX-License-Identifier: MIT */
/* Every device source compiles when it is the only thing that a unit includes, for each
 * chip that it is for; and what breaks a contract of theirs does not compile. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "compile/toolchain.h"
#include "plan/arch.h"
#include "source/embedded.h"

/* Files that begin so are for chips that begin so, such as the "sm_10" of a family; what
 * has no row is for every chip. */
static const struct {
    const char *prefix, *family;
} chip_rows[] = {
    {"jg/sm90a/", "sm_90a"},
    {"jg/ptx/wgmma.cuh", "sm_90a"},
    {"jg/sm100a/", "sm_10"},
    {"jg/ptx/tcgen05", "sm_10"},
    {"jg/ptx/launch_control.cuh", "sm_10"},
};

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_for(const char *name, const char *arch)
{
    bool has_row = false;
    for (size_t i = 0; i < sizeof(chip_rows) / sizeof(chip_rows[0]); i++) {
        if (begins_with(name, chip_rows[i].prefix)) {
            has_row = true;
            if (begins_with(arch, chip_rows[i].family)) {
                return true;
            }
        }
    }
    return !has_row;
}

/* Does a target before this one have the same kernels? Then only chips' rooms and wrappers
 * of instructions can mean something else here: no other may ask for the target (the column
 * "May use" of the table of floors). */
static bool can_differ(const char *name, const struct jg_arch *arch)
{
    for (int i = 0; jg_arch_at(i) != arch; i++) {
        if (strcmp(jg_arch_at(i)->kernel_header, arch->kernel_header) == 0) {
            return begins_with(name, "jg/ptx/") || begins_with(name, "jg/sm");
        }
    }
    return true;
}

static struct jg_toolchain *open_toolchain(struct jg_compiler **ret_compiler)
{
    struct jg_toolchain *toolchain = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, ret_compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    return toolchain;
}

static jit_gemm_status compile(struct jg_compiler *compiler, const char *arch,
                               const char *text)
{
    const struct jg_compile_request request = {
        .arch = arch, .text = text, .entry = "empty"};
    struct jg_compile_result result = {0};
    const jit_gemm_status status = compiler->compile(compiler, &request, &result);
    jg_compile_result_free(&result);
    return status;
}

static jit_gemm_status compile_alone(struct jg_compiler *compiler, const char *arch,
                                     const char *name)
{
    struct jg_str text = {0};
    jg_str_printf(&text,
                  "#include <%s>\n"
                  "extern \"C\" __global__ void empty() {}\n",
                  name);
    const jit_gemm_status status = compile(compiler, arch, jg_str_text(&text));
    jg_str_free(&text);
    return status;
}

Test(device, every_header_compiles_alone, .timeout = 100)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    cr_assert_gt(jg_embedded_file_count, 0);
    for (int a = 0; jg_arch_at(a) != NULL; a++) {
        const char *arch = jg_arch_at(a)->name;
        for (size_t i = 0; i < jg_embedded_file_count; i++) {
            const char *name = jg_embedded_files[i].name;
            if (is_for(name, arch) && can_differ(name, jg_arch_at(a))) {
                cr_expect_eq(compile_alone(compiler, arch, name), JIT_GEMM_OK, "%s, %s: %s",
                             name, arch, jg_error_text());
            }
        }
    }
    jg_toolchain_destroy(toolchain);
}

/* Headers are included in any order and more than once. */
Test(device, all_headers_compile_together_in_reverse)
{
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    for (int a = 0; jg_arch_at(a) != NULL; a++) {
        const char *arch = jg_arch_at(a)->name;
        struct jg_str text = {0};
        for (size_t i = 2 * jg_embedded_file_count; i > 0; i--) {
            const char *name = jg_embedded_files[(i - 1) % jg_embedded_file_count].name;
            if (is_for(name, arch)) {
                jg_str_printf(&text, "#include <%s>\n", name);
            }
        }
        jg_str_puts(&text, "extern \"C\" __global__ void empty() {}\n");

        const jit_gemm_status status = compile(compiler, arch, jg_str_text(&text));

        cr_expect_eq(status, JIT_GEMM_OK, "%s: %s", arch, jg_error_text());
        jg_str_free(&text);
    }
    jg_toolchain_destroy(toolchain);
}

/* An instruction that the chip does not have must not first be met by the assembler. */
Test(device, header_of_another_chip_says_so)
{
    static const struct {
        const char *name, *arch, *message;
    } rows[] = {
        {"jg/ptx/wgmma.cuh", "sm_100a", "jg/ptx/wgmma.cuh needs sm_90a"},
        {"jg/sm90a/gemm_kernel.cuh", "sm_100a", "jg/ptx/wgmma.cuh needs sm_90a"},
        {"jg/ptx/tcgen05.cuh", "sm_90a", "jg/ptx/tcgen05.cuh needs sm_100a"},
        {"jg/sm100a/gemm_kernel.cuh", "sm_90a", "jg/ptx/tcgen05.cuh needs sm_100a"},
    };
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_eq(compile_alone(compiler, rows[i].arch, rows[i].name),
                     JIT_GEMM_ERR_COMPILE);
        cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "%s", jg_error_text());
    }
    jg_toolchain_destroy(toolchain);
}

/* Matrix descriptors of K-major tiles of 128 rows, swizzled and not; of MN-major tiles of
 * 128 by 16 whose neighbouring chunks of MN lie side by side; of 128 by 32 of tf32, side by
 * side and in panels; and of scales. Instruction descriptors without and with scales. All
 * are known from elsewhere. */
Test(device, descriptors_have_known_values)
{
    static const char text[] =
        "#include <jg/ptx/tcgen05_scaled.cuh>\n"
        "using namespace jg;\n"
        "using namespace jg::ptx;\n"
        "using S = Tcgen05Swizzle;\n"
        "struct Matrix { u32 leading, stride; S swizzle; u64 want; };\n"
        "constexpr Matrix matrices[] = {\n"
        "    {16, 1024, S::k128, 0x4000404000010000},\n"
        "    {16, 512, S::k64, 0x8000402000010000},\n"
        "    {16, 256, S::k32, 0xc000401000010000},\n"
        "    {2048, 128, S::kNone, 0x0000400800800000},\n"
        "    {16, 128, S::kNone, 0x0000400800010000},\n"
        "    {1024, 2048, S::k128, 0x4000408000400000},\n"
        "    {512, 2048, S::k64, 0x8000408000200000},\n"
        "    {256, 2048, S::k32, 0xc000408000100000},\n"
        "    {512, 2048, S::k128Of32, 0x2000408000200000},\n"
        "    {4096, 512, S::k128Of32, 0x2000402001000000}};\n"
        "constexpr bool are_known() {\n"
        "    for (const Matrix &m : matrices) {\n"
        "        if (tcgen05_descriptor(m.leading, m.stride, m.swizzle) != m.want) {\n"
        "            return false;\n"
        "        }\n"
        "    }\n"
        "    return true;\n"
        "}\n"
        "static_assert(are_known(), \"of matrices\");\n"
        "template <class A, class B>\n"
        "constexpr bool is(bool a, bool b, u32 m, u32 n, u32 want) {\n"
        "    return tcgen05_instruction<A, B>(a, b, m, n) == want;\n"
        "}\n"
        "template <class A, class B, class Scale>\n"
        "constexpr bool is_scaled(u32 m, u32 n, u32 want) {\n"
        "    return tcgen05_scaled_instruction<A, B, Scale>(true, true, m, n) == want;\n"
        "}\n"
        "static_assert(is<bf16, bf16>(true, true, 64, 32, 0x04080490));\n"
        "static_assert(is<bf16, bf16>(true, true, 128, 64, 0x08100490));\n"
        "static_assert(is<bf16, bf16>(true, true, 128, 128, 0x08200490));\n"
        "static_assert(is<bf16, bf16>(true, true, 128, 256, 0x08400490));\n"
        "static_assert(is<bf16, bf16>(true, true, 256, 128, 0x10200490));\n"
        "static_assert(is<bf16, bf16>(true, true, 256, 256, 0x10400490));\n"
        "static_assert(is<bf16, bf16>(false, true, 128, 128, 0x08208490));\n"
        "static_assert(is<bf16, bf16>(true, false, 128, 128, 0x08210490));\n"
        "static_assert(is<f16, f16>(true, true, 128, 128, 0x08200010));\n"
        "static_assert(is<tf32, tf32>(true, true, 128, 128, 0x08200910));\n"
        "static_assert(is<tf32, tf32>(false, false, 128, 128, 0x08218910));\n"
        "static_assert(is<tf32, tf32>(true, false, 256, 64, 0x10110910));\n"
        "static_assert(is<e4m3, e4m3>(true, true, 128, 128, 0x08200010));\n"
        "static_assert(is<e5m2, e4m3>(true, true, 128, 128, 0x08200090));\n"
        "static_assert(is<s8, s8>(true, true, 128, 128, 0x082004a0));\n"
        "static_assert(is_scaled<e4m3, e4m3, ue8m0>(128, 128, 0x08a00000));\n"
        "static_assert(is_scaled<e5m2, e4m3, ue8m0>(256, 256, 0x10c00080));\n"
        "static_assert(is_scaled<e2m1, e2m1, ue4m3>(256, 256, 0x10400480));\n"
        "static_assert(is_scaled<e4m3, e2m1, ue8m0>(128, 128, 0x08a01400));\n"
        "static_assert(is_scaled<e2m1, e5m2, ue8m0>(256, 256, 0x10c00680));\n"
        "extern \"C\" __global__ void empty() {}\n";
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    cr_expect_eq(compile(compiler, "sm_100a", text), JIT_GEMM_OK, "%s", jg_error_text());
    jg_toolchain_destroy(toolchain);
}

/* A chip's EpiloguePartition of a tile of 128x128 with the parts that `members` give its
 * teams, made of so many columns of the accumulator. */
static jit_gemm_status compile_partition(struct jg_compiler *compiler, const char *members,
                                         int gate_columns, const char *acc_columns)
{
    struct jg_str text = {0};
    jg_str_printf(&text,
                  "#include <jg/epilogue/partition.cuh>\n"
                  "struct Config {\n"
                  "    static constexpr jg::u32 kStoreTileRows = 64, kGateColumns = %d;\n"
                  "};\n"
                  "struct P : jg::RowPartition<Config, 1, 4> {\n"
                  "    static constexpr jg::u32 kTileRows = 128, kTileCols = 128;\n"
                  "    static constexpr jg::u32 kTeams = 2, kWarpgroups = 2;\n"
                  "%s    static constexpr jg::u32 kAccColumns = %s;\n"
                  "};\n"
                  "static_assert(jg::check_partition<P>());\n"
                  "extern \"C\" __global__ void empty() {}\n",
                  gate_columns, members, acc_columns);
    const jit_gemm_status status =
        compile(compiler, jg_arch_at(0)->name, jg_str_text(&text));
    jg_str_free(&text);
    return status;
}

#define PART(rows, cols, first_row, first_col)                                       \
    "static constexpr jg::u32 kRows = " rows ", kCols = " cols ";\n"                 \
    "static constexpr JG_DEVICE jg::u32 first_row(jg::u32 team) { return " first_row \
    "; }\n"                                                                          \
    "static constexpr JG_DEVICE jg::u32 first_col(jg::u32 team) { return " first_col \
    "; }\n"

Test(device, partition_covers_the_tile_once)
{
    static const struct {
        const char *members;
        const char *message; /* NULL: it compiles */
        int gate_columns;
        const char *acc_columns; /* NULL: as many as D has */
    } rows[] = {
        {PART("64", "128", "64 * team", "0"), NULL, 0, NULL},
        {PART("128", "64", "0", "64 * team"), NULL, 0, NULL},
        {PART("64", "128", "64 * team", "0"), NULL, 128, "256"},
        {PART("64", "128", "64 * team", "0"), "acc0 or acc1 of all elements", 64, "256"},
        {PART("64", "128", "64 * team", "0"), "acc0 or acc1 of all elements", 128, "128"},
        {PART("64", "128", "64 * team", "0"), "a step's row is that of a box", 0, "256"},
        {PART("64", "128", "0", "0"), "cover the tile once", 0, NULL},
        {PART("64", "128", "128 * team", "0"), "cover the tile once", 0, NULL},
        {PART("64", "64", "64 * team", "64 * team"), "cover the tile once", 0, NULL},
        {PART("128", "64", "0", "32 * team"), "cover the tile once", 0, NULL},
        {PART("128", "64", "0", "64 * team") "static constexpr jg::u32 kStepRows = 32;\n",
         "a step is a team's lanes", 0, NULL},
        {PART("128", "64", "0", "64 * team") "static constexpr jg::u32 kTeamWarps = 2;\n",
         "share out all warps", 0, NULL},
    };
    struct jg_compiler *compiler = NULL;
    struct jg_toolchain *toolchain = open_toolchain(&compiler);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *acc_columns =
            rows[i].acc_columns != NULL ? rows[i].acc_columns : "kCols";
        const jit_gemm_status status =
            compile_partition(compiler, rows[i].members, rows[i].gate_columns, acc_columns);
        if (rows[i].message == NULL) {
            cr_expect_eq(status, JIT_GEMM_OK, "row %zu: %s", i, jg_error_text());
        } else {
            cr_expect_eq(status, JIT_GEMM_ERR_COMPILE, "row %zu", i);
            cr_expect_not_null(strstr(jg_error_text(), rows[i].message), "row %zu: %s", i,
                               jg_error_text());
        }
    }
    jg_toolchain_destroy(toolchain);
}
