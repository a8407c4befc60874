/* SPDX-License-Identifier: MIT */
/* Manifests: written by hand and by contexts, read, loaded. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/manifest.h"
#include "api_fixture.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/thread.h"
#include "jit_gemm/combine.h"
#include "jit_gemm/family.h"
#include "jit_gemm/scales.h"
#include "prewarm_fixture.h"

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    char *text = calloc(1, 65536);
    cr_assert_not_null(text);
    cr_assert_gt(fread(text, 1, 65535, file), 0);
    fclose(file);
    return text;
}

/* The kernel is that of a program which registers the same text. */
Test(manifest, a_snippet_is_written_by_hand)
{
    static const char manifest[] = "jit_gemm manifest 1\r\n"
                                   "\n"
                                   "epilogue by_hand\n"
                                   "# its operands\n"
                                   "\n"
                                   "operand s scalar f32\n"
                                   "snippet\n"
                                   "# no comment: a directive would be refused\n"
                                   "end\n";
    static const char good[] = "jit_gemm manifest 1\n"
                               "epilogue by_hand\n"
                               "# its operands\n"
                               "\n"
                               "operand s scalar f32\n"
                               "snippet\n"
                               "float x = acc * s; // an end\n"
                               "\n"
                               "d = x;\n"
                               "end\n"
                               "# and a problem\n"
                               "problem 256x256x256 f16 epilogue=by_hand\n";
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    (void)prewarm(&fixture, manifest, NULL, JIT_GEMM_ERR_COMPILE);
    cr_expect(api_error_has("manifest line 8"), "%s", jit_gemm_last_error());

    cr_expect_eq(prewarm(&fixture, good, NULL, JIT_GEMM_OK).compiled, 1);

    const jit_gemm_operand operand = {
        .name = "s", .kind = JIT_GEMM_OPERAND_SCALAR, .dtype = JIT_GEMM_DTYPE_F32};
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "by_hand",
                                        .source = "float x = acc * s; // an end\n\nd = x;",
                                        .operands = &operand,
                                        .operand_count = 1};
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK);
    const jit_gemm_problem problem = api_problem("256x256x256 f16 epilogue=by_hand");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 1);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(manifest, blanks_and_comments_stand_where_a_person_puts_them)
{
    static const char text[] = "jit_gemm manifest 1\n"
                               "\t # of the first layer\n"
                               "  epilogue e   # adds one\n"
                               "\toperand s scalar f32  # by value\n"
                               "    snippet\n"
                               "d = acc + s; # no comment of a manifest\n"
                               "end\n"
                               "  problem 256x256x256 f16 epilogue=e\t# once\n";
    static const char good[] = "jit_gemm manifest 1\r\n"
                               "\t # of the first layer\n"
                               "  epilogue \te   # adds one\n"
                               "\toperand  s\tscalar   f32  # by value\n"
                               "    snippet\r\n"
                               "d = acc + s;\r\n"
                               "\tend \n"
                               "  problem 256x256x256 f16 epilogue=e\t# once  \n"
                               " pack bytes=1 from=row to=128x4 # scales\n";
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    (void)prewarm(&fixture, text, NULL, JIT_GEMM_ERR_COMPILE);
    cr_expect(api_error_has("manifest line 6"), "%s", jit_gemm_last_error());
    cr_expect_eq(prewarm(&fixture, good, NULL, JIT_GEMM_OK).compiled, 2);

    api_fixture_close(&fixture);
}

Test(manifest, architectures_of_a_manifest_are_built_for_unless_others_are_named)
{
    static const char text[] =
        "jit_gemm manifest 1\narch sm_100a sm_103a\narch sm_90a # too\n"
        "problem 256x256x256 f16\n";
    static const char *const one[] = {"sm_90a"};
    const jit_gemm_prewarm_options named = {
        .struct_size = sizeof(named), .archs = one, .arch_count = 1};
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    cr_expect_eq(prewarm(&fixture, text, &named, JIT_GEMM_OK).compiled, 1);
    const jit_gemm_prewarm_result all = prewarm(&fixture, text, NULL, JIT_GEMM_OK);

    cr_expect_eq(all.total, 3);
    cr_expect_eq(all.cached, 1);
    api_fixture_close(&fixture);
}

/* Sizes that are planned for and share a kernel are tasks of their own, which may come to
 * its key at the same time. */
Test(manifest, round_trip_through_a_context)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const jit_gemm_operand operands[] = {
        {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_F16},
        {.name = "aux",
         .kind = JIT_GEMM_OPERAND_MATRIX,
         .dtype = JIT_GEMM_DTYPE_F32,
         .role = JIT_GEMM_OPERAND_OUTPUT},
        {.name = "s",
         .kind = JIT_GEMM_OPERAND_COLUMN_VECTOR,
         .dtype = JIT_GEMM_DTYPE_F32,
         .role = JIT_GEMM_OPERAND_SUM},
        {.name = "m",
         .kind = JIT_GEMM_OPERAND_SCALAR,
         .dtype = JIT_GEMM_DTYPE_BF16,
         .role = JIT_GEMM_OPERAND_MAX},
        {.name = "b",
         .kind = JIT_GEMM_OPERAND_ROW_VECTOR,
         .dtype = JIT_GEMM_DTYPE_F32,
         .role = JIT_GEMM_OPERAND_MIN}};
    const jit_gemm_epilogue used = {.struct_size = sizeof(used),
                                    .name = "used",
                                    .source =
                                        "s = m = b = aux = acc;\n\nd = acc + bias; // end",
                                    .source_name = "folder/some file.epi",
                                    .first_line = 12,
                                    .operands = operands,
                                    .operand_count = 5};
    const jit_gemm_epilogue unused = {
        .struct_size = sizeof(unused), .name = "use", .source = "d = acc;"};
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &used), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_epilogue_register(fixture.context, &unused), JIT_GEMM_OK);
    const char *const texts[] = {"512x512x512 bf16 epilogue=used", "512x512x512 bf16",
                                 "m=100 n=512 k=512 a=f16 dynamic=m",
                                 "512x512x512 bf16 epilogue=used"};
    for (size_t i = 0; i < 4; i++) {
        const jit_gemm_problem problem = api_problem(texts[i]);
        jit_gemm *gemm = NULL;
        cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK);
        jit_gemm_destroy(&gemm);
    }
    char path[128];
    snprintf(path, sizeof(path), "%s/manifest", fixture.folder);

    cr_assert_eq(jit_gemm_context_write_manifest(fixture.context, path), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());

    char *text = read_file(path);
    struct jg_manifest parsed;
    cr_assert_eq(jg_manifest_parse(text, strlen(text), NULL, &parsed), JIT_GEMM_OK,
                 "%s\n%s", jit_gemm_last_error(), text);
    cr_expect_eq(parsed.problem_count, 3);
    cr_expect_null(jg_registry_at(parsed.epilogues, 1), "%s", text);
    cr_expect(jg_epilogue_equal(jg_registry_at(parsed.epilogues, 0),
                                jg_registry_at(fixture.context->epilogues, 0)));
    jg_manifest_free(&parsed);
    /* What it names is exactly what is cached. */
    const jit_gemm_prewarm_result result = prewarm(&fixture, text, NULL, JIT_GEMM_OK);
    cr_expect_eq(result.total, 3);
    cr_expect_eq(result.cached, 3);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 3);
    free(text);
    cr_expect_eq(jit_gemm_context_write_manifest(fixture.context, "/nonexistent/x"),
                 JIT_GEMM_ERR_IO);
    cr_expect(api_error_has("path: '/nonexistent/x"));
    api_fixture_close(&fixture);
}

Test(manifest, epilogues_of_the_library_are_named_only)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    const char *const texts[] = {"512x512x512 bf16 epilogue=bias_relu",
                                 "512x512x512 bf16 d=f32 epilogue=bias_relu",
                                 "256x512x512 bf16 epilogue=bias_relu"};
    for (size_t i = 0; i < 3; i++) {
        const jit_gemm_problem problem = api_problem(texts[i]);
        jit_gemm *gemm = NULL;
        cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK, "%s",
                     jit_gemm_last_error());
        jit_gemm_destroy(&gemm);
    }
    char path[128];
    snprintf(path, sizeof(path), "%s/manifest", fixture.folder);

    cr_assert_eq(jit_gemm_context_write_manifest(fixture.context, path), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());

    char *text = read_file(path);
    cr_expect_null(strstr(text, "source"), "%s", text);
    const jit_gemm_prewarm_result result = prewarm(&fixture, text, NULL, JIT_GEMM_OK);
    cr_expect_eq(result.total, 3);
    cr_expect_eq(result.cached, 3);
    free(text);
    api_fixture_close(&fixture);
}

Test(manifest, forbidden_miss_is_recorded_and_a_wrong_snippet_is_not)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.policy = JIT_GEMM_POLICY_FORBID;
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_problem missing = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;
    cr_expect_eq(jit_gemm_create(fixture.context, &missing, &gemm),
                 JIT_GEMM_ERR_NOT_CACHED);
    cr_expect(api_error_has("m=512"));
    struct jg_str text = {0};

    jg_manifest_print(NULL, fixture.context->asked, fixture.context->epilogues, &text);

    const jit_gemm_prewarm_result first =
        prewarm(&fixture, jg_str_text(&text), NULL, JIT_GEMM_OK);
    cr_expect_eq(first.compiled, 1);
    cr_expect_eq(jit_gemm_create(fixture.context, &missing, &gemm), JIT_GEMM_OK);
    jit_gemm_destroy(&gemm);
    jg_str_free(&text);
    api_fixture_close(&fixture);
}

Test(manifest, mistakes_are_named_with_their_line)
{
    static const struct {
        const char *text;
        jit_gemm_status status;
        const char *words;
    } rows[] = {
        {"", JIT_GEMM_ERR_ARGUMENT, "manifest line 1: this is no manifest"},
        {"hello\n", JIT_GEMM_ERR_ARGUMENT, "manifest line 1: this is no manifest"},
        {"\xef\xbb\xbfjit_gemm manifest 1\n", JIT_GEMM_ERR_ARGUMENT,
         "manifest line 1: this text begins with a byte order mark"},
        {"\xff\xfej", JIT_GEMM_ERR_ARGUMENT, "line 1: this text is UTF-16"},
        {"\xfe\xff", JIT_GEMM_ERR_ARGUMENT, "line 1: this text is UTF-16"},
        {"jit_gemm manifest 1\rproblem 64x64x64 bf16\r", JIT_GEMM_ERR_ARGUMENT,
         "line 1: lines of this text end with a carriage return alone"},
        {"jit_gemm manifest 2\n", JIT_GEMM_ERR_VERSION, "manifest line 1: a manifest of"},
        {"jit_gemm manifest 1\nproblems\n", JIT_GEMM_ERR_ARGUMENT,
         "line 2: 'problems' begins no line of a manifest; did you mean problem? begin the line with epilogue problem pack combine arch"},
        {"jit_gemm manifest 1\nproblem m=7 n=7 k=7 bf16 layuot=nt\n", JIT_GEMM_ERR_ARGUMENT,
         "line 2: problem: unknown key 'layuot' at column 18; did you mean layout? keys: "},
        {"jit_gemm manifest 1\nproblem 8x8x8 bf16 config=stage=3\n", JIT_GEMM_ERR_ARGUMENT,
         "did you mean stages? keys: "},
        {"jit_gemm manifest 1\nepilogue bias_scale\nsnippet\nd = acc;\nend\n"
         "problem 8x8x8 bf16 epilogue=bias_scaled\n",
         JIT_GEMM_ERR_ARGUMENT,
         "line 6: problem.epilogue: no epilogue 'bias_scaled' stands "
         "before it; did you mean bias_scale? write its block"},
        {"jit_gemm manifest 1\nepilogue e\noprand x scalar f32\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': 'oprand' begins no line of an epilogue; did you mean operand? "},
        {"jit_gemm manifest 1\narch sm_90\n", JIT_GEMM_ERR_UNSUPPORTED,
         "line 2: this version has no kernels for 'sm_90'; did you mean sm_90a? "
         "architectures: sm_90a sm_100a"},
        {"jit_gemm manifest 1\narch sm_90a\narch sm_90a\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3: an architecture is named twice"},
        {"# first\njit_gemm manifest 1\n", JIT_GEMM_ERR_ARGUMENT,
         "put the line 'jit_gemm manifest 1' first, before comments"},
        {"jit_gemm manifest 1\n\nproblem m=7 n=\n", JIT_GEMM_ERR_ARGUMENT, "line 3: "},
        {"jit_gemm manifest 1\nproblem 64x64x64 bf16 epilogue=who\n", JIT_GEMM_ERR_ARGUMENT,
         "line 2: problem.epilogue: no epilogue 'who' stands before it; write its block"},
        {"jit_gemm manifest 1\nepilogue e\noperand x square f32\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': operand: there is no kind 'square', in 'x square f32'; kinds: scalar"},
        {"jit_gemm manifest 1\nepilogue e\noperand x matrix f99\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': operand: operands have no type 'f99', in 'x matrix f99'; types: bf16"},
        {"jit_gemm manifest 1\nepilogue e\noperand x matrix f32 in\n",
         JIT_GEMM_ERR_ARGUMENT, "line 3, epilogue 'e': operand: there is no role 'in'"},
        {"jit_gemm manifest 1\nepilogue e\n", JIT_GEMM_ERR_ARGUMENT,
         "the manifest ends inside an epilogue"},
        {"jit_gemm manifest 1\nepilogue e\nsource 99 1 e\nd = acc;\nend\n",
         JIT_GEMM_ERR_ARGUMENT, "line 3, epilogue 'e': the source does not end"},
        {"jit_gemm manifest 1\nepilogue e\nsource x 1 e\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': the number of bytes"},
        {"jit_gemm manifest 1\nepilogue e\nsource 8 1 e\nd = acc;\nno\n",
         JIT_GEMM_ERR_ARGUMENT, "line 5, epilogue 'e': the epilogue does not end"},
        {"jit_gemm manifest 1\nepilogue e\nsnippet\nd = acc;\n", JIT_GEMM_ERR_ARGUMENT,
         "line 4, epilogue 'e': the manifest ends inside a snippet"},
        {"jit_gemm manifest 1\nepilogue e\nsnippet\nend\n", JIT_GEMM_ERR_ARGUMENT,
         "line 4, epilogue 'e': the snippet is empty"},
        {"jit_gemm manifest 1\nepilogue e\nsnippet\n\nend\n", JIT_GEMM_ERR_ARGUMENT,
         "line 5, epilogue 'e': the snippet is empty"},
        {"jit_gemm manifest 1\nepilogue e\nsnippet now\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': something stands behind 'snippet', or is missing there; begin "
         "the text in the next line"},
        {"jit_gemm manifest 1\nepilogue e\noperand s scalar f32\nend\n",
         JIT_GEMM_ERR_ARGUMENT,
         "line 4, epilogue 'e': the epilogue ends without a snippet; write: snippet, its"},
        {"jit_gemm manifest 1\nepilogue e\nproblem 8x8x8 bf16\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': 'problem' stands inside of an epilogue; write: snippet, its"},
        {"jit_gemm manifest 1\nepilogue e\noperand\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': something stands behind 'operand', or is missing there"},
        {"jit_gemm manifest 1\noperand s scalar f32\n", JIT_GEMM_ERR_ARGUMENT,
         "line 2: 'operand' stands outside of an epilogue; write: epilogue NAME, its"},
        {"jit_gemm manifest 1\nepilogue\n", JIT_GEMM_ERR_ARGUMENT,
         "line 2: nothing stands behind 'epilogue'"},
        {"jit_gemm manifest 1\r\nepilogue\te\r\n snippet\r\nd = acc;\r\nreturn;\r\n\tend\r\n",
         JIT_GEMM_ERR_COMPILE,
         "2:1: error: 'return' is not allowed in a snippet (epilogue 'e', manifest line 5)"},
        {"jit_gemm manifest 1\nepilogue e\n# s\nsnippet\nd = acc;\nreturn;\nend\n",
         JIT_GEMM_ERR_COMPILE,
         "2:1: error: 'return' is not allowed in a snippet (epilogue 'e', manifest line 6)"},
        {"jit_gemm manifest 1\nepilogue 9\nsource 8 1 e\nd = acc;\nend\n",
         JIT_GEMM_ERR_ARGUMENT, "line 2, epilogue '9': epilogue.name"},
        {"jit_gemm manifest 1\nepilogue e\ncode sass 4 f f.ptx\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': the kind of code"},
        {"jit_gemm manifest 1\nepilogue e\ncode ptx 0 f f.ptx\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': the number of bytes"},
        {"jit_gemm manifest 1\nepilogue e\ncode ptx 1048577 f f.ptx\n",
         JIT_GEMM_ERR_ARGUMENT, "line 3, epilogue 'e': the number of bytes"},
        {"jit_gemm manifest 1\nepilogue e\ncode ptx 4 f\n", JIT_GEMM_ERR_ARGUMENT,
         "line 3, epilogue 'e': the symbol or the source name"},
        {"jit_gemm manifest 1\nepilogue e\ncode ptx 4 f f.ptx\nZm9v!\nend\n",
         JIT_GEMM_ERR_ARGUMENT, "line 4, epilogue 'e': the line is no base64"},
        {"jit_gemm manifest 1\nepilogue e\ncode ptx 4 f f.ptx\nZm9v\nend\n",
         JIT_GEMM_ERR_ARGUMENT,
         "line 5, epilogue 'e': the code has another number of bytes"},
        {"jit_gemm manifest 1\nepilogue e\ncode ptx 4 f f.ptx\nZm9vYmFy\nend\n",
         JIT_GEMM_ERR_ARGUMENT, "line 4, epilogue 'e': the code has more bytes"},
        {"jit_gemm manifest 1\nepilogue e\ncode ptx 3 f f.ptx\nZm9v\n",
         JIT_GEMM_ERR_ARGUMENT, "the manifest ends inside an epilogue"},
        {"jit_gemm manifest 1\nepilogue e\ncode ptx 3 f f.ptx\nZm9v\nend\n",
         JIT_GEMM_ERR_ARGUMENT,
         "line 2, epilogue 'e': epilogue.code: it is neither PTX nor LTO-IR"},
        {"jit_gemm manifest 1\nepilogue e\nsource 10 1 e\nreturn 0;;\nend\n",
         JIT_GEMM_ERR_COMPILE,
         "1:1: error: 'return' is not allowed in a snippet (epilogue 'e', manifest line 4); "},
        {"jit_gemm manifest 1\n\n# note\nepilogue first\nsource 8 1 e\nd = acc;\nend\n"
         "epilogue second\noperand s scalar f32\nsource 18 7 e.epi\n// s\n\nd = acc + *;"
         "\nend\n",
         JIT_GEMM_ERR_COMPILE,
         "7:1: error: operand 's' is never used (epilogue 'second', manifest line 11); "},
        {"jit_gemm manifest 1\nepilogue e\nsource 18 7 e.epi\n\n\nfloat d = acc;//"
         "\nend\n",
         JIT_GEMM_ERR_COMPILE,
         "9:7: error: a variable 'd' would hide the result 'd' (epilogue 'e', manifest "
         "line 6); "},
        {"jit_gemm manifest 1\nepilogue e\nsource 16 7 e.epi\nd = DUMMY_ERROR;\nend\n"
         "problem 64x64x64 bf16 epilogue=e\n",
         JIT_GEMM_ERR_COMPILE,
         "7:1: error: identifier \"DUMMY_ERROR\" is undefined (epilogue 'e', manifest line "
         "4); "},
    };
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)prewarm(&fixture, rows[i].text, NULL, rows[i].status);
        cr_expect(api_error_has(rows[i].words), "row %zu", i);
    }
    api_fixture_close(&fixture);
}

/* Writes it into the fixture's folder and loads it. */
static jit_gemm_status load(struct api_fixture *fixture, const char *text, bool creates_all)
{
    char path[96];
    struct jg_str bytes = {0};
    jg_str_puts(&bytes, text);
    snprintf(path, sizeof(path), "%s/loaded.manifest", fixture->folder);
    cr_assert_eq(jg_file_replace(path, &bytes), JIT_GEMM_OK, "%s", jit_gemm_last_error());
    jg_str_free(&bytes);
    return jit_gemm_context_load_manifest(fixture->context, path, creates_all);
}

static const char all_kinds[] = "jit_gemm manifest 1\n"
                                "epilogue scaled\n"
                                "operand s scalar f32\n"
                                "snippet\n"
                                "d = acc * s;\n"
                                "end\n"
                                "problem 256x256x256 f16 epilogue=scaled\n"
                                "problem m=1..512 n=512 k=512 a=bf16 dynamic=m loss=0%\n"
                                "pack bytes=1 from=row to=128x4\n"
                                "combine rows=bf16 d=bf16 chosen=8\n";

Test(manifest, loading_registers_its_epilogues_and_creates_nothing)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    cr_assert_eq(load(&fixture, all_kinds, false), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());

    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    cr_expect_eq(api_info_of(&fixture, "512x512x512 bf16 epilogue=scaled").origin,
                 JIT_GEMM_ORIGIN_COMPILED);
    const jit_gemm_operand operand = {
        .name = "s", .kind = JIT_GEMM_OPERAND_SCALAR, .dtype = JIT_GEMM_DTYPE_F32};
    jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                  .name = "scaled",
                                  .source = "d = acc * s;",
                                  .source_name = "model.py",
                                  .first_line = 40,
                                  .operands = &operand,
                                  .operand_count = 1};
    cr_expect_eq(jit_gemm_epilogue_register(fixture.context, &epilogue), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    cr_expect_eq(load(&fixture, all_kinds, false), JIT_GEMM_OK, "twice");
    api_fixture_close(&fixture);
}

Test(manifest, loading_can_create_every_kernel)
{
    struct api_fixture fixture;
    api_fixture_open(&fixture);

    cr_assert_eq(load(&fixture, all_kinds, true), JIT_GEMM_OK, "%s", jit_gemm_last_error());

    const int calls = jg_compiler_dummy_calls(fixture.compiler);
    const long loads = atomic_load(&fixture.fake->loads);
    cr_expect_eq(api_info_of(&fixture, "256x256x256 f16 epilogue=scaled").origin,
                 JIT_GEMM_ORIGIN_MEMORY);
    const jit_gemm_problem problem = api_problem("n=512 k=512 a=bf16 dynamic=m");
    jit_gemm_range range;
    jit_gemm_family *family = NULL;
    cr_assert_eq(jit_gemm_range_parse("m=1..512 loss=0%", &range), JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_family_create(fixture.context, &problem, &range, &family),
                 JIT_GEMM_OK);
    const jit_gemm_scale scale = {
        .kind = JIT_GEMM_SCALE_BLOCK, .block_mn = 1, .block_k = 32};
    jit_gemm_packer *packer = NULL;
    cr_assert_eq(jit_gemm_packer_create(fixture.context, &scale,
                                        JIT_GEMM_SCALE_LAYOUT_128X4, &packer),
                 JIT_GEMM_OK);
    jit_gemm_combiner *combiner = NULL;
    cr_assert_eq(jit_gemm_combiner_create(fixture.context, JIT_GEMM_DTYPE_BF16,
                                          JIT_GEMM_DTYPE_BF16, 8, &combiner),
                 JIT_GEMM_OK);
    cr_expect_gt(calls, 2);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), calls);
    cr_expect_eq(atomic_load(&fixture.fake->loads), loads);
    jit_gemm_packer_destroy(&packer);
    jit_gemm_combiner_destroy(&combiner);
    jit_gemm_family_destroy(&family);
    api_fixture_close(&fixture);
}

Test(manifest, loading_that_fails_registers_nothing)
{
    static const char conflict[] = "jit_gemm manifest 1\n"
                                   "epilogue other\nsnippet\nd = acc;\nend\n"
                                   "epilogue scaled\nsnippet\nd = acc * 2.0f;\nend\n";
    static const char wrong[] = "jit_gemm manifest 1\n"
                                "epilogue other\nsnippet\nd = acc;\nend\n"
                                "problem 1x2\n";
    struct api_fixture fixture;
    api_fixture_open(&fixture);
    cr_assert_eq(load(&fixture, all_kinds, false), JIT_GEMM_OK);
    const jit_gemm_problem other = api_problem("256x256x256 f16 epilogue=other");

    cr_expect_eq(load(&fixture, conflict, false), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("another epilogue is registered as 'scaled'"));
    cr_expect_eq(load(&fixture, wrong, false), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("manifest line 6: "));
    cr_expect_eq(jit_gemm_context_load_manifest(fixture.context, "/nonexistent/m", 0),
                 JIT_GEMM_ERR_IO);

    cr_expect_eq(jit_gemm_check(fixture.context, &other), JIT_GEMM_ERR_ARGUMENT);
    api_fixture_close(&fixture);
}

Test(manifest, loading_stands_every_failing_allocation)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    api_fixture_open_with(&fixture, &options, 0);
    options.no_cache = 1;
    options.cache_dir = NULL;
    cr_assert_eq(load(&fixture, all_kinds, false), JIT_GEMM_OK);
    char path[96];
    snprintf(path, sizeof(path), "%s/loaded.manifest", fixture.folder);
    jit_gemm_status status = JIT_GEMM_ERR_NO_MEMORY;
    long number = 1;

    for (; status != JIT_GEMM_OK && number < 1000; number++) {
        jit_gemm_context *context = NULL;
        cr_assert_eq(jit_gemm_context_create(&options, &context), JIT_GEMM_OK);
        jg_alloc_fail_at(number, false);
        status = jit_gemm_context_load_manifest(context, path, 0);
        jg_alloc_fail_at(0, false);
        cr_assert(status == JIT_GEMM_OK || status == JIT_GEMM_ERR_NO_MEMORY, "%ld: %s",
                  number, jit_gemm_last_error());
        jit_gemm_context_destroy(&context);
    }

    cr_expect_eq(status, JIT_GEMM_OK);
    cr_expect_gt(number, 10);
    api_fixture_close(&fixture);
}
