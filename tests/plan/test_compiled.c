/* SPDX-License-Identifier: MIT */
/* Epilogues that are compiled functions, as far as the code itself shows: what is taken,
 * what the PTX becomes, and what is refused by which field. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/compiled.h"

#define HEAD   ".version 8.0\n.target sm_80\n.address_size 64\n"
#define PLAIN  ".param .b32 p0, .param .b32 p1, .param .b32 p2, .param .b32 p3"
#define RESULT "(.param .b32 r)"
/* A module of one function, with a bias, and an output where `aux` says so. */
#define FUNCTION(parameters, body) \
    HEAD ".visible .func " RESULT " f(" PLAIN parameters ")\n{\n" body "\n}\n"
#define BIAS  ", .param .b32 p4"
#define STORE "st.param.f32 [r], %f1; ret;"

static const jit_gemm_operand operands[] = {
    {.name = "bias", .kind = JIT_GEMM_OPERAND_ROW_VECTOR, .dtype = JIT_GEMM_DTYPE_BF16},
    {.name = "aux",
     .kind = JIT_GEMM_OPERAND_MATRIX,
     .dtype = JIT_GEMM_DTYPE_F32,
     .role = JIT_GEMM_OPERAND_OUTPUT}};

static jit_gemm_epilogue make_user(const char *code, uint32_t operand_count)
{
    const jit_gemm_epilogue user = {.struct_size = sizeof(user),
                                    .name = "ep",
                                    .operand_count = operand_count,
                                    .operands = operands,
                                    .code = code,
                                    .symbol = "f"};
    return user;
}

static struct jg_epilogue *create(const jit_gemm_epilogue *user)
{
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(jg_epilogue_create(user, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    return epilogue;
}

static void expect_refused(const jit_gemm_epilogue *user, jit_gemm_status status,
                           const char *field, const char *words)
{
    struct jg_epilogue *epilogue = NULL;
    cr_expect_eq(jg_epilogue_create(user, &epilogue), status, "%s", words);
    cr_expect_null(epilogue);
    cr_expect_eq(strncmp(jg_error_text(), field, strlen(field)), 0, "%s: %s", field,
                 jg_error_text());
    cr_expect_not_null(strstr(jg_error_text(), words), "expected '%s', got '%s'", words,
                       jg_error_text());
}

static void expect_code_refused(const char *code, const char *field, const char *words)
{
    const jit_gemm_epilogue user = make_user(code, 1);
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, field, words);
}

/* ------------------------------------------------------------------------- what is made */

Test(compiled, ptx_becomes_a_body_without_parameters_and_a_call)
{
    static const char code[] = HEAD
        "\t.file 1 \"folder/f.cu\"\n"
        ".global .align 8 .u32 unused = 3; // of numba\n"
        ".visible .func (.param .b32 r) other(.param .b32 p4) { ret; }\n"
        ".visible .func " RESULT " f(" PLAIN BIAS ", .param .b64 .ptr .align 4 p5)\n{\n"
        "\t.reg .pred %p<2>; .reg .f32 %f<4>;\n\t.reg .b64 %rd<2>; /* ret; */\n"
        "\t.loc\t1 3 5, function_name $L__info_string0, inlined_at 1 2 3\n"
        "\tld.param.f32 %f1, [p0]; ld.param.u64 %rd1, [p5+0];\n"
        "\tst.f32 [%rd1], %f1;\n\tsetp.gt.f32 %p1, %f1, 0f00000000;\n"
        "\t@!%p1 bra $L__BB0_1;\n\tst.param.f32 [r+0], %f1;\n\t@%p1 ret;\n"
        "$L__BB0_1:\n\tld.param.f32 %f2, [p4];\n\tst.param.f32 [r+0], %f2;\n\tret;\n}\n";
    const jit_gemm_epilogue user = make_user(code, 2);

    struct jg_epilogue *epilogue = create(&user);

    cr_expect_str_eq(epilogue->compiled.body,
                     ".reg .pred %p<2>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<2>;\n"
                     "mov.b32 %f1, jg_p0;\nmov.b64 %rd1, jg_p5;\nst.f32 [%rd1], %f1;\n"
                     "setp.gt.f32 %p1, %f1, 0f00000000;\n@!%p1 bra $L__BB0_1;\n"
                     "mov.b32 jg_d, %f1;\n@%p1 bra jg_end;\n$L__BB0_1:\n"
                     "mov.b32 %f2, jg_p4;\nmov.b32 jg_d, %f2;\nbra jg_end;\n");
    cr_expect_str_eq(epilogue->source,
                     "d = jg_compiled_epilogue(acc, row, col, batch, bias, &aux);");
    cr_expect_eq(epilogue->compiled.kind, JIT_GEMM_CODE_PTX);
    cr_expect_eq(epilogue->compiled.ptx_arch, 80);
    cr_expect_str_eq(epilogue->source_name, "ep");
    jg_epilogue_destroy(epilogue);
}

Test(compiled, text_of_a_given_size_may_or_may_not_end_with_a_zero_byte)
{
    static const char code[] = FUNCTION(BIAS, ".reg .f32 %f<2>; " STORE);
    jit_gemm_epilogue user = make_user(code, 1);
    struct jg_epilogue *by_zero = create(&user);
    user.code_size = sizeof(code);
    struct jg_epilogue *with_zero = create(&user);
    user.code_size = sizeof(code) - 1;

    struct jg_epilogue *without = create(&user);

    cr_expect(jg_epilogue_equal(by_zero, with_zero));
    cr_expect(jg_epilogue_equal(by_zero, without));
    jg_epilogue_destroy(by_zero);
    jg_epilogue_destroy(with_zero);
    jg_epilogue_destroy(without);
}

Test(compiled, ltoir_is_known_by_its_first_bytes_and_called_by_its_name)
{
    static const char code[] = "\xed"
                               "CN\x7f and whatever follows";
    jit_gemm_epilogue user = make_user(code, 1);
    user.code_size = sizeof(code);

    struct jg_epilogue *epilogue = create(&user);

    cr_expect_eq(epilogue->compiled.kind, JIT_GEMM_CODE_LTOIR);
    cr_expect_eq(epilogue->compiled.code_size, sizeof(code), "the zero byte is code");
    cr_expect_str_eq(epilogue->source, "d = f(acc, row, col, batch, bias);");
    cr_expect_null(epilogue->compiled.body);
    jg_epilogue_destroy(epilogue);
}

Test(compiled, other_bytes_are_another_epilogue)
{
    char code[] = "\xed"
                  "CN\x7f 1";
    jit_gemm_epilogue user = make_user(code, 1);
    user.code_size = sizeof(code);
    struct jg_epilogue *one = create(&user);
    struct jg_epilogue *same = create(&user);
    code[5] = '2';
    struct jg_epilogue *other = create(&user);
    struct jg_str bytes_of_one = {0};
    struct jg_str bytes_of_other = {0};

    jg_epilogue_bytes(one, &bytes_of_one);
    jg_epilogue_bytes(other, &bytes_of_other);

    cr_expect(jg_epilogue_equal(one, same));
    cr_expect_not(jg_epilogue_equal(one, other));
    cr_expect_neq(
        memcmp(jg_str_text(&bytes_of_one), jg_str_text(&bytes_of_other), bytes_of_one.size),
        0);
    jg_str_free(&bytes_of_one);
    jg_str_free(&bytes_of_other);
    jg_epilogue_destroy(one);
    jg_epilogue_destroy(same);
    jg_epilogue_destroy(other);
}

/* --------------------------------------------------------------------------- refusals */

Test(compiled, fields_that_contradict_each_other_are_named)
{
    static const char code[] = FUNCTION(BIAS, ".reg .f32 %f<2>; " STORE);
    const jit_gemm_epilogue good = make_user(code, 1);
    const jit_gemm_status wrong = JIT_GEMM_ERR_ARGUMENT;
    jit_gemm_epilogue user = good;
    user.source = "d = acc;";
    expect_refused(&user, wrong, "epilogue.code", "exclude each other");
    user = good;
    user.first_line = 3;
    expect_refused(&user, wrong, "epilogue.first_line", "is 3, with a compiled function");
    user = good;
    user.reserved = 1;
    expect_refused(&user, wrong, "epilogue.reserved", "must be 0");
    user = good;
    user.code_kind = JIT_GEMM_CODE_LTOIR;
    expect_refused(&user, wrong, "epilogue.code_kind", "says LTO-IR, and the code is PTX");
    user = good;
    user.code_kind = (jit_gemm_code_kind)3;
    expect_refused(&user, wrong, "epilogue.code_kind", "3 is no kind of code");
    user = good;
    user.source_name = "";
    expect_refused(&user, wrong, "epilogue.source_name", "1 to 1024 bytes");
    user = good;
    user.code = "\xed"
                "CN\x7f";
    expect_refused(&user, wrong, "epilogue.code_size", "is 0");
    user = good;
    user.code = NULL;
    expect_refused(&user, wrong, "epilogue.symbol", "epilogue.code is NULL");
    user.symbol = NULL;
    expect_refused(&user, wrong, "epilogue.source", "is NULL");
}

Test(compiled, symbol_is_an_identifier_that_means_nothing_else)
{
    static const struct {
        const char *symbol, *words;
    } rows[] = {{NULL, "is NULL"},
                {"", "is no C identifier"},
                {"my::f", "is no C identifier"},
                {"f;d", "is no C identifier"},
                {"$f", "is no C identifier"},
                {"bias", "is the name of an earlier operand"},
                {"acc", "is in scope of every snippet already"},
                {"float", "is a C++ keyword"},
                {"gelu", "is a function of the prelude"},
                {"jg_probe", "begins with a reserved prefix"},
                {"jit_gemm_sm90a_x", "begins with a reserved prefix (jit_gemm)"},
                {"Config", "is a type of the kernel's source"},
                {"threadIdx", "is a built-in variable of CUDA"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        jit_gemm_epilogue user = make_user(FUNCTION(BIAS, STORE), 1);
        user.symbol = rows[i].symbol;
        expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol", rows[i].words);
    }
    char longest[300];
    memset(longest, 'f', sizeof(longest));
    longest[256] = '\0';
    jit_gemm_epilogue user = make_user(FUNCTION(BIAS, STORE), 1);
    user.symbol = longest;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol",
                   "is longer than 255 bytes");
}

Test(compiled, code_that_is_neither_says_what_it_seems_to_be)
{
    static const struct {
        const char *code, *words;
    } rows[] = {{"\x7f"
                 "ELF\2\1\1",
                 "an ELF file: a cubin"},
                {"\x50\xed\x55\xba\1", "a fatbin"},
                {"BC\xc0\xde and more", "LLVM bitcode"},
                {"!<arch>\n", "an archive"},
                {"float f(float x) { return x; }", "neither PTX nor LTO-IR"},
                {"", "neither PTX nor LTO-IR"},
                {"// only a comment", "neither PTX nor LTO-IR"},
                {"/* .version 8.0", "neither PTX nor LTO-IR"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_code_refused(rows[i].code, "epilogue.code", rows[i].words);
    }
}

/* What is left out of a body must not take a brace or a statement with it: the rest would
 * end the block that it is pasted into. */
Test(compiled, braces_and_statements_do_not_go_with_what_is_left_out)
{
    static const char *const bodies[] = {
        "{\n.loc 1 3 5 }\n" STORE,
        ".loc 1 3 5 {\n}\n" STORE,
        ".loc 1 3 5; add.f32 %f1, %f1, %f1;\n" STORE,
        "ret {;\n}\n" STORE,
        "{\nret };\n" STORE,
        "ret.uni 1;\n" STORE,
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct jg_str code = {0};
        jg_str_printf(&code, "%s%s\n}\n",
                      HEAD ".visible .func " RESULT " f(" PLAIN BIAS ")\n{\n", bodies[i]);
        expect_code_refused(jg_str_text(&code), "epilogue.code",
                            "no PTX can stand like this");
        jg_str_free(&code);
    }
}

Test(compiled, huge_code_is_refused_before_it_is_read)
{
    char *code = calloc(1, JIT_GEMM_MAX_CODE_BYTES + 2);
    cr_assert_not_null(code);
    memset(code, ' ', JIT_GEMM_MAX_CODE_BYTES + 1);
    jit_gemm_epilogue user = make_user(code, 1);
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.code_size", "at most 1048576");
    user.code_size = SIZE_MAX;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.code_size", "at most 1048576");
    static const char begin[] = HEAD ".func " RESULT " f(" PLAIN BIAS "){";
    memcpy(code, begin, sizeof(begin) - 1);
    for (size_t i = sizeof(begin) - 1; i < JIT_GEMM_MAX_CODE_BYTES; i++) {
        code[i] = i == JIT_GEMM_MAX_CODE_BYTES - 1 ? '}' : ';';
    }
    user.code_size = JIT_GEMM_MAX_CODE_BYTES;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.code",
                   "at most 65536 can be pasted");
    free(code);
}

Test(compiled, wrong_signature_names_the_difference_and_the_right_one)
{
    static const char field[] = "epilogue.symbol";
    static const struct {
        const char *code, *words;
    } rows[] = {
        {HEAD ".func f(" PLAIN BIAS "){ret;}", "it returns nothing"},
        {HEAD ".func (.param .b64 r) f(" PLAIN BIAS "){ret;}",
         "returns something else than one float"},
        {HEAD ".func (.param .align 4 .b8 r[8]) f(" PLAIN BIAS "){ret;}",
         "returns something else than one float"},
        {FUNCTION("", STORE), "it takes 4 parameters, not 5"},
        {FUNCTION(BIAS BIAS, STORE), "it takes 6 parameters, not 5"},
        {FUNCTION(", .param .b64 p4", STORE),
         "it takes a parameter 5 that is of another size, not of 4 bytes"},
        {FUNCTION(", .param .align 4 .b8 p4[4]", STORE),
         "it takes a parameter 5 that is a struct"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_code_refused(rows[i].code, field, rows[i].words);
        cr_expect_not_null(strstr(jg_error_text(),
                                  "declare it as float f(float acc, int row, int col, int "
                                  "batch, float bias)"),
                           "%s", jg_error_text());
    }
    const jit_gemm_epilogue user = make_user(FUNCTION(BIAS ", .param .b32 p5", STORE), 2);
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, field,
                   "parameter 6 that is of another size");
    cr_expect_not_null(strstr(jg_error_text(), "float bias, float *aux)"), "%s",
                       jg_error_text());
}

/* LTO-IR may call and have variables; what its link shows must be of one thread all the
 * same, wherever in the module it is. */
Test(compiled, module_that_acts_on_other_threads_is_refused)
{
    static const struct {
        const char *module, *words; /* NULL: is taken */
    } rows[] = {
        {".func bar() { ret; } .func f() { call.uni bar, (); ret; }", NULL},
        {".global .b32 exit; .func f() { ld.global.u32 %r1, [exit]; ret; }", NULL},
        {".func f() { { @%p1 bra $L1; trap; exit; } $L1: ret; }", NULL},
        {".func g() { @!%p1 bar.sync 0; ret; } .func f() { ret; }",
         "has 'bar.sync', which"},
        {".func f() { $L1: barrier.sync 0; ret; }", "'barrier.sync'"},
        {".func f() { trap; add.s32 %r1, %r1, 1; exit; }", "'exit'"},
        {".func f() { @%p1 exit; }", "compute one element from the parameters"},
        {".func f() { shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; }", "'shfl.sync.idx.b32'"},
        {".shared .align 4 .b8 s[512]; .func f() { ret; }", "do without shared memory"},
        {".func f() { st.shared::cta.f32 [%r1], %f1; }", "do without shared memory"},
        {".func f() { cp.async.wait_all; }", "'cp.async.wait_all'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *module = rows[i].module;

        const jit_gemm_status status = jg_ptx_check_thread(module, strlen(module), "f");

        cr_expect_eq(status, rows[i].words == NULL ? JIT_GEMM_OK : JIT_GEMM_ERR_ARGUMENT,
                     "%s", module);
        cr_expect(rows[i].words == NULL || strstr(jg_error_text(), rows[i].words) != NULL,
                  "%s: %s", module, jg_error_text());
    }
}

Test(compiled, missing_function_lists_those_that_there_are)
{
    expect_code_refused(HEAD ".visible .func (.param .b32 r) _Z1ffiii(" PLAIN "){ret;}\n"
                             ".extern .func g(.param .b32 x);\n.func h(){ret;}",
                        "epilogue.symbol",
                        "defines no function 'f'; it defines: _Z1ffiii, h;");
    expect_code_refused(HEAD ".extern .func f(" PLAIN ");", "epilogue.symbol",
                        "it defines: none");
    expect_code_refused(HEAD ".visible .entry f(" PLAIN "){ret;}", "epilogue.symbol",
                        "it defines: none");
}

Test(compiled, module_that_is_no_ptx_after_all_has_its_line)
{
    static const char field[] = "epilogue.code";
    static const struct {
        const char *code, *words;
    } rows[] = {
        {".version 8.0\n.target nvptx\n", "line 2: 'nvptx': is no target"},
        {".version 8.0\n.target sm_\n", "line 2: 'sm_': is no target"},
        {".version 8.0\n.target sm_80\n.address_size 32\n", "line 3: '32'"},
        {HEAD ".func", "line 4"},
        {HEAD ".func (", "line 4"},
        {HEAD ".func (.param .b32 r", "line 4"},
        {HEAD ".func (.param .b32 r) 1f() {ret;}", "line 4: '1f'"},
        {HEAD ".func f(.param .b32 {", "line 4"},
        {HEAD ".func f()", "line 4"},
        {HEAD ".func f() { {", "does not end"},
        {HEAD ".global .b32 x = {", "line 4"},
        {HEAD "\x01", "line 4"},
        {HEAD "/* never closed", "line 4"},
        {HEAD ".file 1 \"never closed\n", "line 4"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect_code_refused(rows[i].code, field, rows[i].words);
    }
}

Test(compiled, body_that_cannot_be_pasted_is_refused_at_its_line)
{
    static const char field[] = "epilogue.code";
    static const struct {
        const char *body, *words;
    } rows[] = {
        {"call (x), g, (y);", "line 6: 'call': PTX that calls another function"},
        {"{\n.reg .b32 t;\n@%p1 call.uni g;\n}", "line 8: 'call.uni'"},
        {"{ .param .b32 a0; st.param.f32 [a0], %f1; call (x), g, (a0); }",
         "line 6: '.param': PTX that calls another function"},
        {"exit;", "an epilogue's function must not do this"},
        {"bar.sync 0;", "'bar.sync'"},
        {"barrier.cta.sync 0;", "'barrier.cta.sync'"},
        {"setmaxnreg.inc.sync.aligned.u32 232;", "must not do this"},
        {"griddepcontrol.wait;", "must not do this"},
        {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "'shfl.sync.bfly.b32'"},
        {"@%p1 vote.sync.any.pred %p2, %p1, -1;", "'vote.sync.any.pred'"},
        {".shared .b32 s;", "an epilogue's function has none"},
        {"st.shared.f32 [%r1], %f1;", "'st.shared.f32': an epilogue's function has none"},
        {"cvta.shared.u64 %rd1, %rd2;", "'cvta.shared.u64': an epilogue's function has"},
        {"@%p1 cp.async.bulk.commit_group;", "'cp.async.bulk.commit_group'"},
        {"movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", "must not do this"},
        {"mov.u32 %r1, table;", "'table': PTX that uses a variable of its module"},
        {"ld.const.f32 %f1, [table+4];", "'table'"},
        {"mov.b64 %rd1, p4;", "'p4': a parameter is used otherwise"},
        {"ld.param.v2.f32 {%f1, %f2}, [p0];", "loads something else"},
        {"ld.param.u8 %r1, [p0];", "loads something else"},
        {"ld.param.f32 %f1, [p0+4];", "loads something else"},
        {"ld.param.f32 %f1, [r];", "loads something else"},
        {"ld.param.f32 jg_d, [p0];", "'jg_d': begins with a reserved prefix"},
        {"st.param.f32 [p0], %f1;", "stores something else"},
        {"st.param.b64 [r], %rd1;", "stores something else"},
        {"st.param.f32 [r], jg_p1;", "reserved prefix"},
        {"jg_end: " STORE, "'jg_end': begins with a reserved prefix"},
        {"add.f32 %f1, %f2", "no PTX can stand like this"},
        {"@", "no PTX can stand like this"},
        {"@%p1;", "no PTX can stand like this"},
        {"ret;", "never stores its result"},
        {"", "never stores its result"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_str code = {0};
        jg_str_printf(&code, "%s.func " RESULT " f(" PLAIN BIAS ")\n{\n%s\n}\n%s", HEAD,
                      rows[i].body, ".const .f32 table[2] = {0f00000000, 0f3F800000};\n");

        expect_code_refused(jg_str_text(&code), field, rows[i].words);

        jg_str_free(&code);
    }
}

/* clang and nvcc index an array in local memory by a parameter in this way. */
Test(compiled, a_parameter_may_be_loaded_to_a_wider_register)
{
    static const char code[] =
        FUNCTION(BIAS, ".reg .b64 %a, %rd<3>; .reg .b32 %r<3>;\n"
                       "ld.param.u32 %rd1, [p1]; ld.param.s32 %a, [p2];\n"
                       "ld.param.u32 %r1, [p1];\n" STORE);
    const jit_gemm_epilogue user = make_user(code, 1);

    struct jg_epilogue *epilogue = create(&user);

    cr_expect_not_null(strstr(epilogue->compiled.body, "cvt.u64.u32 %rd1, jg_p1;"));
    cr_expect_not_null(strstr(epilogue->compiled.body, "cvt.s64.s32 %a, jg_p2;"));
    cr_expect_not_null(strstr(epilogue->compiled.body, "mov.b32 %r1, jg_p1;"));
    jg_epilogue_destroy(epilogue);
}

Test(compiled, zero_byte_inside_the_text_is_refused)
{
    static const char code[] = FUNCTION(BIAS, STORE) "\0 more";
    jit_gemm_epilogue user = make_user(code, 1);
    user.code_size = sizeof(code);
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.code", "a zero byte");
}

/* ------------------------------------------------------------------------------- chips */

Test(compiled, ptx_runs_on_its_chip_and_newer_ones_but_letters_bind)
{
    static const struct {
        const char *target, *arch;
        bool is_taken;
    } rows[] = {
        {"sm_80", "sm_90a", true},     {"sm_80", "sm_100a", true},
        {"sm_90", "sm_90a", true},     {"sm_90a", "sm_90a", true},
        {"sm_90a", "sm_100a", false},  {"sm_100", "sm_90a", false},
        {"sm_100a", "sm_90a", false},  {"sm_100a", "sm_100a", true},
        {"sm_100a", "sm_100f", false}, {"sm_100a", "sm_103a", false},
        {"sm_100f", "sm_103a", true},  {"sm_100f", "sm_100f", true},
        {"sm_120", "sm_100a", false},  {"sm_100f", "sm_90a", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct jg_str code = {0};
        jg_str_printf(&code, ".version 9.0\n.target %s, debug\n", rows[i].target);
        jg_str_puts(&code, ".func " RESULT " f(" PLAIN "){" STORE "}");
        const jit_gemm_epilogue user = make_user(jg_str_text(&code), 0);
        struct jg_epilogue *epilogue = create(&user);

        const jit_gemm_status status = jg_compiled_check_arch(epilogue, rows[i].arch);

        cr_expect_eq(status, rows[i].is_taken ? JIT_GEMM_OK : JIT_GEMM_ERR_UNSUPPORTED,
                     "%s on %s", rows[i].target, rows[i].arch);
        if (!rows[i].is_taken) {
            cr_expect_not_null(strstr(jg_error_text(), rows[i].target), "%s",
                               jg_error_text());
            cr_expect_not_null(strstr(jg_error_text(), "such as sm_80"));
        }
        jg_epilogue_destroy(epilogue);
        jg_str_free(&code);
    }
}

/* ---------------------------------------------------------------------------- hostility */

/* Every prefix, and every text with one byte changed, is taken or refused in peace. */
Test(compiled, damaged_ptx_is_taken_or_refused)
{
    static const char whole[] =
        FUNCTION(BIAS, ".reg .f32 %f<2>; // text\nld.param.f32 %f1, [p0];\n@%p1 bra L;\nL:"
                       "{ .reg .b32 x; }" STORE) ".global .u32 g = 1;\n";
    char code[sizeof(whole)];
    for (size_t i = 0; i < sizeof(whole); i++) {
        memcpy(code, whole, sizeof(whole));
        code[i] = '\0';
        const jit_gemm_epilogue user = make_user(code, 1);
        struct jg_epilogue *epilogue = NULL;
        if (jg_epilogue_create(&user, &epilogue) == JIT_GEMM_OK) {
            jg_epilogue_destroy(epilogue);
        }
        for (const char *byte = "{}()[];:@\"/\n9\x80"; *byte != '\0'; byte++) {
            memcpy(code, whole, sizeof(whole));
            code[i < sizeof(whole) - 1 ? i : 0] = *byte;
            if (jg_epilogue_create(&user, &epilogue) == JIT_GEMM_OK) {
                jg_epilogue_destroy(epilogue);
            }
        }
    }
}

Test(compiled, every_failing_allocation_is_no_memory)
{
    const jit_gemm_epilogue user =
        make_user(FUNCTION(BIAS, ".reg .f32 %f<2>; " STORE) ".global .u32 g = 1;", 1);
    long number = 1;
    for (;; number++) {
        struct jg_epilogue *epilogue = NULL;
        jg_alloc_fail_at(number, true);
        const jit_gemm_status status = jg_epilogue_create(&user, &epilogue);
        jg_alloc_fail_at(0, false);
        if (status == JIT_GEMM_OK) {
            jg_epilogue_destroy(epilogue);
            break;
        }
        cr_assert_eq(status, JIT_GEMM_ERR_NO_MEMORY, "allocation %ld", number);
    }
    cr_expect_gt(number, 5);
}
