/* SPDX-License-Identifier: MIT */
/* A kind of operand that reduces is told when the elements of a row are complete, and when
 * the tile is: by both epilogues. The kinds here say so in the PTX. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "compile/toolchain.h"
#include "unit_maker.h"

static const char kinds[] =
    "namespace jg {\n"
    "struct Telling {\n"
    "    template <class CoordT>\n"
    "    static JG_DEVICE void say_row(const CoordT &coord)\n"
    "    {\n"
    "        asm volatile(\"// finish_row %0 %1\" ::\"r\"(coord.row), \"r\"(coord.count));\n"
    "    }\n"
    "    static JG_DEVICE void say_tile(u32 batch)\n"
    "    {\n"
    "        asm volatile(\"// finish_tile %0\" ::\"r\"(batch));\n"
    "    }\n"
    "};\n"
    "#define TELLING(Form)                                                          \\\n"
    "    struct Form : Base::Form {                                                 \\\n"
    "        template <class CoordT>                                                \\\n"
    "        JG_DEVICE void finish_row(const MatrixParam &, const CoordT &coord)    \\\n"
    "        {                                                                      \\\n"
    "            Telling::say_row(coord);                                           \\\n"
    "        }                                                                      \\\n"
    "        JG_DEVICE void finish_tile(const MatrixParam &, u32 batch)             \\\n"
    "        {                                                                      \\\n"
    "            Telling::say_tile(batch);                                          \\\n"
    "        }                                                                      \\\n"
    "    };\n"
    "template <class T>\n"
    "struct TellingMatrix : MatrixOutput<T> {\n"
    "    using Base = MatrixOutput<T>;\n"
    "    TELLING(Vector)\n"
    "};\n"
    "template <class T>\n"
    "struct TellingScalar : ScalarInput<T> {\n"
    "    using Base = ScalarInput<T>;\n"
    "    TELLING(Vector)\n"
    "    TELLING(Fragment)\n"
    "};\n"
    "} // namespace jg\n";

struct row {
    const char *arch, *problem, *snippet, *operands;
    const char *kind, *telling; /* which kind is replaced by which */
    int rows;                   /* calls in the text of a tile, loops counted once */
};

static const struct row rows[] = {
    /* Vectors: a turn of two passes of four rows. */
    {"sm_100a", "512x512x512 bf16 config=mma=128x64", "aux = acc; d = acc;",
     "aux:matrix:f32:out", "MatrixOutput,", "TellingMatrix,", 2},
    {"sm_90a", "512x512x512 bf16", "aux = acc; d = acc;", "aux:matrix:f32:out",
     "MatrixOutput,", "TellingMatrix,", 2},
    /* Fragments: two of 16 lanes by 64 columns, two elements in a row of D at a time. */
    {"sm_100a", "512x512x512 bf16 config=mma=128x64", "d = acc * s;", "s:scalar:f32",
     "ScalarInput,", "TellingScalar,", 2 * 16 * 64 / 32 / 2},
    /* The same with D's rows along the lanes' columns: each element in a row of its own. */
    {"sm_100a", "512x512x512 bf16 config=mma=128x64 swap_ab=1", "d = acc * s;",
     "s:scalar:f32", "ScalarInput,", "TellingScalar,", 2 * 16 * 64 / 32},
};

/* The unit's text with the kinds above in it, and `row->telling` for `row->kind`. */
static void print_unit(const struct row *row, const char *text, struct jg_str *out)
{
    const char *kind = strstr(text, row->kind);
    const char *config = strstr(text, "#line 1 \"jit_gemm_config\"");
    cr_assert_not_null(kind);
    cr_assert_not_null(config);
    jg_str_add(out, text, (size_t)(kind - text));
    jg_str_puts(out, row->telling);
    kind += strlen(row->kind);
    jg_str_add(out, kind, (size_t)(config - kind));
    jg_str_puts(out, kinds);
    jg_str_puts(out, config);
}

static int count(const char *text, const char *word)
{
    int found = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        found++;
    }
    return found;
}

Test(operand_hooks, rows_and_tiles_are_finished_by_both_epilogues)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct unit_request wanted = {.arch = rows[i].arch,
                                            .problem = rows[i].problem,
                                            .snippet = rows[i].snippet,
                                            .operands = rows[i].operands};
        struct unit unit = unit_make(&wanted);
        struct jg_str text = {0};
        print_unit(&rows[i], jg_str_text(&unit.source.text), &text);
        const struct jg_compile_request request = {.arch = rows[i].arch,
                                                   .text = jg_str_text(&text),
                                                   .entry = unit.source.entry,
                                                   .epilogue = unit.epilogue};
        struct jg_compile_result result = {0};

        cr_assert_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_OK,
                     "row %zu: %s", i, jg_error_text());

        cr_expect_eq(count(jg_str_text(&result.ptx), "// finish_row"), rows[i].rows,
                     "row %zu: %d", i, count(jg_str_text(&result.ptx), "// finish_row"));
        cr_expect_eq(count(jg_str_text(&result.ptx), "// finish_tile"), 1, "row %zu", i);
        jg_compile_result_free(&result);
        jg_str_free(&text);
        unit_free(&unit);
    }
    jg_toolchain_destroy(toolchain);
}
