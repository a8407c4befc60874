/* SPDX-License-Identifier: MIT */
/* Registration of an epilogue: copies, operand rules, equality, canonical bytes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/epilogue.h"
#include "plan/operand_text.h"
#include "plan/problem.h"

static jit_gemm_operand make_operand(const char *name)
{
    jit_gemm_operand operand;
    memset(&operand, 0, sizeof(operand));
    operand.name = name;
    operand.kind = JIT_GEMM_OPERAND_ROW_VECTOR;
    operand.dtype = JIT_GEMM_DTYPE_F32;
    return operand;
}

static jit_gemm_epilogue make_user(const jit_gemm_operand *operands, uint32_t count)
{
    jit_gemm_epilogue user;
    memset(&user, 0, sizeof(user));
    user.struct_size = sizeof(user);
    user.name = "ep";
    user.source = "d = acc;";
    user.operands = operands;
    user.operand_count = count;
    return user;
}

static struct jg_epilogue *create(const jit_gemm_epilogue *user)
{
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(jg_epilogue_create(user, &epilogue), JIT_GEMM_OK, "%s", jg_error_text());
    return epilogue;
}

static void expect_refused(const jit_gemm_epilogue *user, jit_gemm_status status,
                           const char *begin)
{
    struct jg_epilogue *epilogue = NULL;
    cr_expect_eq(jg_epilogue_create(user, &epilogue), status, "%s", begin);
    cr_expect_null(epilogue);
    cr_expect_eq(strncmp(jg_error_text(), begin, strlen(begin)), 0,
                 "expected '%s...', got '%s'", begin, jg_error_text());
}

Test(epilogue, everything_is_copied)
{
    char name[] = "my_gelu";
    char operand_name[] = "bias";
    char source[] = "d = gelu(acc + bias);garbage";
    char file[] = "dir/e.cu";
    jit_gemm_operand operand = make_operand(operand_name);
    jit_gemm_epilogue user = make_user(&operand, 1);
    user.name = name;
    user.source = source;
    user.source_size = 21;
    user.source_name = file;
    user.first_line = 40;

    struct jg_epilogue *epilogue = create(&user);
    memset(name, 'x', sizeof(name) - 1);
    memset(operand_name, 'x', sizeof(operand_name) - 1);
    memset(source, 'x', sizeof(source) - 1);
    memset(file, 'x', sizeof(file) - 1);
    memset(&operand, 0, sizeof(operand));

    cr_expect_str_eq(epilogue->name, "my_gelu");
    cr_expect_str_eq(epilogue->source, "d = gelu(acc + bias);");
    cr_expect_eq(epilogue->source_size, 21);
    cr_expect_str_eq(epilogue->source_name, "dir/e.cu");
    cr_expect_eq(epilogue->first_line, 40);
    cr_assert_eq(epilogue->operand_count, 1);
    cr_expect_str_eq(epilogue->operands[0].name, "bias");
    cr_expect_eq(epilogue->operands[0].kind, JIT_GEMM_OPERAND_ROW_VECTOR);
    cr_expect_eq(epilogue->operands[0].dtype, JIT_GEMM_DTYPE_F32);
    cr_expect_eq(epilogue->operands[0].role, JIT_GEMM_OPERAND_INPUT);
    jg_epilogue_destroy(epilogue);
    jg_epilogue_destroy(NULL);
}

Test(epilogue, file_and_line_have_defaults)
{
    const jit_gemm_epilogue user = make_user(NULL, 0);

    struct jg_epilogue *epilogue = create(&user);

    cr_expect_str_eq(epilogue->source_name, "ep");
    cr_expect_eq(epilogue->first_line, 1);
    cr_expect_eq(epilogue->source_size, 8);
    jg_epilogue_destroy(epilogue);
}

Test(epilogue, sixteen_operands_of_every_kind_and_type_are_legal)
{
    static const char *const names[16] = {"o0", "o1", "o2",  "o3",     "o4",  "o5",
                                          "o6", "o7", "o8",  "o9",     "o10", "o11",
                                          "_x", "A",  "ACC", "float2_"};
    jit_gemm_operand operands[17];
    for (int i = 0; i < 17; i++) {
        operands[i] = make_operand(names[i % 16]);
        operands[i].kind = (jit_gemm_operand_kind)(i % 4);
        operands[i].dtype = (jit_gemm_dtype)(1 + i % 3);
    }
    jit_gemm_epilogue user = make_user(operands, 16);
    user.source =
        "d = acc + o0 + o1 + o2 + o3 + o4 + o5 + o6 + o7 + o8 + o9 + o10 + o11 + _x +"
        " A + ACC + float2_;";
    struct jg_epilogue *epilogue = create(&user);
    cr_expect_eq(epilogue->operand_count, 16);
    jg_epilogue_destroy(epilogue);

    user.operand_count = 17;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operand_count: must be at most 16, is 17; use fewer operands");
}

Test(epilogue, wrong_fields_are_named)
{
    jit_gemm_epilogue user = make_user(NULL, 0);
    expect_refused(NULL, JIT_GEMM_ERR_ARGUMENT, "epilogue: is NULL");

    user.struct_size = 0;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.struct_size: is 0");

    user = make_user(NULL, 0);
    user.name = NULL;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.name: is NULL; give a C ident");
    user.name = "";
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.name: '' is no C identifier");
    user.name = "9lives";
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.name: '9lives' is no C identifier; use letters, digits");
    user.name = "a123456789b123456789c123456789d123456789e123456789f123456789ghij";
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.name: 'a123456789b12345678");
    cr_expect_not_null(strstr(jg_error_text(), "is longer than 63 bytes; use a shorter"));

    user = make_user(NULL, 0);
    user.source = NULL;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.source: is NULL; give the snip");

    user = make_user(NULL, 0);
    user.source_size = SIZE_MAX; /* of which nothing is read */
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.source_size: must be at most 65536");

    user = make_user(NULL, 1);
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands: is NULL while operand_count is 1");

    user = make_user(NULL, 0);
    user.first_line = UINT32_MAX;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.first_line: must be at most ");

    user = make_user(NULL, 0);
    user.source_name = "";
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.source_name: must have 1 to 1024");
    user.source_name = "a\nb";
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.source_name: 'a?b' has a control character at byte 2");
}

Test(epilogue, operand_names_that_would_clash_are_refused)
{
    static const struct {
        const char *name, *reason;
    } rows[] = {
        {"acc", "is in scope of every snippet already"},
        {"d", "is in scope of every snippet already"},
        {"row", "is in scope of every snippet already"},
        {"col", "is in scope of every snippet already"},
        {"batch", "is in scope of every snippet already"},
        {"M", "is in scope of every snippet already"},
        {"N", "is in scope of every snippet already"},
        {"K", "is in scope of every snippet already"},
        {"relu", "is a function of the prelude"},
        {"gelu", "is a function of the prelude"},
        {"gelu_tanh", "is a function of the prelude"},
        {"dgelu", "is a function of the prelude"},
        {"dgelu_tanh", "is a function of the prelude"},
        {"silu", "is a function of the prelude"},
        {"sigmoid", "is a function of the prelude"},
        {"tanh", "is a function of the prelude"},
        {"exp", "is a function of the prelude"},
        {"log", "is a function of the prelude"},
        {"sqrt", "is a function of the prelude"},
        {"rsqrt", "is a function of the prelude"},
        {"min", "is a function of the prelude"},
        {"max", "is a function of the prelude"},
        {"clamp", "is a function of the prelude"},
        {"fma", "is a function of the prelude"},
        {"abs", "is a function of the prelude"},
        {"float", "is a C++ keyword"},
        {"template", "is a C++ keyword"},
        {"xor_eq", "is a C++ keyword"},
        {"asm", "is a C++ keyword"},
        {"alignas", "is a C++ keyword"},
        {"threadIdx", "is a built-in variable of CUDA"},
        {"warpSize", "is a built-in variable of CUDA"},
        {"jg", "begins with a reserved prefix (jg, JG, __)"},
        {"jgx", "begins with a reserved prefix (jg, JG, __)"},
        {"JG_X", "begins with a reserved prefix (jg, JG, __)"},
        {"__x", "begins with a reserved prefix (jg, JG, __)"},
        {"first", "is the name of an earlier operand"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const jit_gemm_operand operands[2] = {make_operand("first"),
                                              make_operand(rows[i].name)};
        const jit_gemm_epilogue user = make_user(operands, 2);
        char begin[160];
        snprintf(begin, sizeof(begin), "epilogue.operands[1].name: '%s' %s; use another",
                 rows[i].name, rows[i].reason);
        expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, begin);
    }
}

Test(epilogue, wrong_operands_are_named)
{
    jit_gemm_operand operand = make_operand(NULL);
    const jit_gemm_epilogue user = make_user(&operand, 1);
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT, "epilogue.operands[0].name: is NULL");
    operand.name = "a b";
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].name: 'a b' is no C");

    operand = make_operand("x");
    operand.kind = (jit_gemm_operand_kind)8;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].kind: 8 is no kind of operand; kinds: scalar "
                   "row_vector column_vector matrix pair_vector 1x128 1x32 1x16");
    operand.kind = JIT_GEMM_OPERAND_BLOCK_1X32;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].role: a 1x32 is no input: it is written; say what "
                   "to do with the elements of a block: sum, max or min");
    operand.role = JIT_GEMM_OPERAND_OUTPUT;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].role: an output must be a matrix, is a 1x32");
    operand.role = JIT_GEMM_OPERAND_INPUT;
    operand.kind = (jit_gemm_operand_kind)-1;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].kind: -1 is no kind");

    operand = make_operand("x");
    operand.dtype = JIT_GEMM_DTYPE_NONE;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].dtype: 0 is no element type; types: bf16 f16 f32");

    operand = make_operand("x");
    operand.role = (jit_gemm_operand_role)5;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].role: 5 is no role of an operand; give a "
                   "JIT_GEMM_OPERAND_INPUT, _OUTPUT, _SUM, _MAX or _MIN");
    operand.role = (jit_gemm_operand_role)-1;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].role: -1 is no role of an operand");
    operand.role = JIT_GEMM_OPERAND_OUTPUT;
    expect_refused(
        &user, JIT_GEMM_ERR_ARGUMENT,
        "epilogue.operands[0].role: an output must be a matrix, is a row_vector; "
        "declare it as a matrix, or say what to do with the elements: sum, max or min");

    operand = make_operand("x");
    operand.role = JIT_GEMM_OPERAND_MAX;
    operand.kind = JIT_GEMM_OPERAND_MATRIX;
    expect_refused(
        &user, JIT_GEMM_ERR_ARGUMENT,
        "epilogue.operands[0].role: a max has fewer values than D, a matrix has "
        "as many; declare it as a column_vector (of each row), a row_vector (of "
        "each column), a 1x128, 1x32 or 1x16 (of blocks) or a scalar, or make it "
        "an output");
    operand.kind = JIT_GEMM_OPERAND_SCALAR;
    operand.dtype = JIT_GEMM_DTYPE_E4M3;
    expect_refused(&user, JIT_GEMM_ERR_UNSUPPORTED,
                   "epilogue.operands[0].dtype: there is no kernel for a max of type e4m3; "
                   "give f32, bf16 or f16");
    operand.dtype = JIT_GEMM_DTYPE_BF16;
    expect_refused(&user, JIT_GEMM_ERR_COMPILE,
                   "1:1: error: output 'x' is never assigned; assign it");

    operand = make_operand("x");
    operand.reserved = 1;
    expect_refused(&user, JIT_GEMM_ERR_ARGUMENT,
                   "epilogue.operands[0].reserved: must be 0, is 1");
}

Test(epilogue, snippet_errors_are_compile_errors_in_the_users_lines)
{
    jit_gemm_epilogue user = make_user(NULL, 0);
    user.source = "float x = acc;\nd = x";
    user.first_line = 10;

    expect_refused(&user, JIT_GEMM_ERR_COMPILE,
                   "11:6: error: expected ';' after 'x'; end the statement with ';'");
}

static int same_bytes(const struct jg_epilogue *a, const struct jg_epilogue *b)
{
    struct jg_str a_bytes = {0};
    struct jg_str b_bytes = {0};
    jg_epilogue_bytes(a, &a_bytes);
    jg_epilogue_bytes(b, &b_bytes);
    const int same = a_bytes.size == b_bytes.size &&
                     memcmp(a_bytes.data, b_bytes.data, a_bytes.size) == 0;
    jg_str_free(&a_bytes);
    jg_str_free(&b_bytes);
    return same;
}

Test(epilogue, equality_and_bytes_see_every_field_but_the_place_of_the_text)
{
    const jit_gemm_operand x = make_operand("x");
    jit_gemm_operand other_name = make_operand("y");
    jit_gemm_operand other_kind = x;
    other_kind.kind = JIT_GEMM_OPERAND_MATRIX;
    jit_gemm_operand other_dtype = x;
    other_dtype.dtype = JIT_GEMM_DTYPE_BF16;

    jit_gemm_operand other_role = x;
    other_role.role = JIT_GEMM_OPERAND_SUM;
    jit_gemm_operand other_reduction = x;
    other_reduction.role = JIT_GEMM_OPERAND_MIN;

    enum { COUNT = 12 };
    jit_gemm_epilogue users[COUNT];
    for (int i = 0; i < COUNT; i++) {
        users[i] = make_user(&x, 1);
        users[i].source = "d = acc + x * y;"; /* names both operands */
    }
    users[2].name = "other";
    users[3].source = "d = acc + x - y;";
    users[4].source_name = "file";
    users[5].first_line = 2;
    users[6].operand_count = 0;
    users[7].operands = &other_name;
    users[8].operands = &other_kind;
    users[9].operands = &other_dtype;
    users[10].operands = &other_role;
    users[11].operands = &other_reduction;
    users[10].source = users[11].source = "x = d = acc;";

    struct jg_epilogue *epilogues[COUNT];
    for (int i = 0; i < COUNT; i++) {
        epilogues[i] = create(&users[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < COUNT; j++) {
            const bool is_plain_i = i < 2 || i == 4 || i == 5; /* 4, 5: another place */
            const bool is_plain_j = j < 2 || j == 4 || j == 5;
            const bool same = i == j || (is_plain_i && is_plain_j);
            cr_expect_eq(jg_epilogue_equal(epilogues[i], epilogues[j]), same, "%d %d", i,
                         j);
            cr_expect_eq(same_bytes(epilogues[i], epilogues[j]), same, "%d %d", i, j);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        jg_epilogue_destroy(epilogues[i]);
    }
}

static jit_gemm_status find_ep(void *user, const char *name, jit_gemm_dtype d,
                               const struct jg_epilogue **ret_epilogue)
{
    const struct jg_epilogue *epilogue = user;
    (void)d;
    *ret_epilogue = strcmp(epilogue->name, name) == 0 ? epilogue : NULL;
    return JIT_GEMM_OK;
}

Test(epilogue, problem_finds_its_epilogue_and_its_bytes_follow_the_text)
{
    jit_gemm_epilogue user = make_user(NULL, 0);
    struct jg_epilogue *first = create(&user);
    user.source = "d = acc + 1;";
    struct jg_epilogue *second = create(&user);
    jit_gemm_problem problem;
    cr_assert_eq(jg_problem_parse("8x8x8 bf16 epilogue=ep", &problem), JIT_GEMM_OK);
    struct jg_problem with_first;
    struct jg_problem with_second;

    cr_assert_eq(jg_problem_normalize(&problem, find_ep, first, &with_first), JIT_GEMM_OK);
    cr_assert_eq(jg_problem_normalize(&problem, find_ep, second, &with_second),
                 JIT_GEMM_OK);

    cr_expect_eq(with_first.epilogue, first);
    struct jg_str a = {0};
    struct jg_str b = {0};
    jg_problem_bytes(&with_first, &a);
    jg_problem_bytes(&with_second, &b);
    cr_expect(a.size != b.size || memcmp(a.data, b.data, a.size) != 0);
    struct jg_str text = {0};
    jg_problem_text(&with_first, &text);
    cr_expect_str_eq(jg_str_text(&text), "m=8 n=8 k=8 a=bf16 epilogue=ep");
    jg_str_free(&text);
    jg_str_free(&a);
    jg_str_free(&b);
    jg_epilogue_destroy(first);
    jg_epilogue_destroy(second);
}

Test(epilogue, hint_names_exactly_the_kinds)
{
    char names[128] = "kinds:";
    for (int i = 0; jg_operand_kind_exists((jit_gemm_operand_kind)i); i++) {
        const size_t size = strlen(names);
        const char *name = jg_operand_kind_name((jit_gemm_operand_kind)i);
        jit_gemm_operand_kind parsed = (jit_gemm_operand_kind)-1;
        snprintf(names + size, sizeof(names) - size, " %s", name);
        cr_expect(jg_operand_kind_parse(name, strlen(name), &parsed));
        cr_expect_eq((int)parsed, i);
    }

    cr_expect_str_eq(names, JG_OPERAND_KINDS);
}

Test(epilogue, operand_has_a_text_form)
{
    static const struct {
        const char *text;
        jit_gemm_operand operand;
    } rows[] = {
        {"s:scalar:f32", {"s", JIT_GEMM_OPERAND_SCALAR, JIT_GEMM_DTYPE_F32, 0, 0}},
        {"bias:row_vector:bf16",
         {"bias", JIT_GEMM_OPERAND_ROW_VECTOR, JIT_GEMM_DTYPE_BF16, 0, 0}},
        {"v:column_vector:e5m2",
         {"v", JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_DTYPE_E5M2, 0, 0}},
        {"aux:matrix:f16:out",
         {"aux", JIT_GEMM_OPERAND_MATRIX, JIT_GEMM_DTYPE_F16, JIT_GEMM_OPERAND_OUTPUT, 0}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char name[JIT_GEMM_NAME_SIZE];
        jit_gemm_operand operand;

        cr_assert_eq(
            jg_operand_parse(rows[i].text, strlen(rows[i].text), ':', name, &operand),
            JIT_GEMM_OK, "%s", jg_error_text());

        cr_expect_str_eq(name, rows[i].operand.name);
        cr_expect_eq(operand.name, name);
        cr_expect_eq(operand.kind, rows[i].operand.kind);
        cr_expect_eq(operand.dtype, rows[i].operand.dtype);
        cr_expect_eq(operand.role, rows[i].operand.role);
        cr_expect_eq(operand.reserved, 0);
    }
}

Test(epilogue, wrong_text_of_an_operand_is_named_and_leaves_the_results)
{
    static const char long_name[] =
        "a234567890123456789012345678901234567890123456789012345678901234:scalar:f32";
    static const struct {
        const char *text;
        size_t size; /* 0: up to the zero byte */
        jit_gemm_status status;
        const char *error;
    } rows[] = {
        {"", 0, JIT_GEMM_ERR_ARGUMENT,
         "operand: '' has too few words; write NAME:KIND:TYPE"},
        {"x:scalar", 0, JIT_GEMM_ERR_ARGUMENT, "operand: 'x:scalar' has too few words"},
        {"x:scalar:f32:out:", 0, JIT_GEMM_ERR_ARGUMENT, "has too many words"},
        {"::::::::::", 0, JIT_GEMM_ERR_ARGUMENT, "has too many words"},
        {":scalar:f32", 0, JIT_GEMM_ERR_ARGUMENT, "the name is missing"},
        {long_name, 0, JIT_GEMM_ERR_ARGUMENT, "too long"},
        {"a\0b:scalar:f32", 14, JIT_GEMM_ERR_ARGUMENT, "has a zero byte"},
        {"x::f32", 0, JIT_GEMM_ERR_ARGUMENT, "there is no kind ''"},
        {"x:Scalar:f32", 0, JIT_GEMM_ERR_ARGUMENT, "there is no kind 'Scalar'"},
        {"x:scalar:", 0, JIT_GEMM_ERR_ARGUMENT, "operands have no type ''"},
        {"x:scalar:none", 0, JIT_GEMM_ERR_ARGUMENT, "operands have no type 'none'"},
        {"x:scalar:s32", 0, JIT_GEMM_ERR_ARGUMENT, "operands have no type 's32'"},
        {"x:matrix:f32:", 0, JIT_GEMM_ERR_ARGUMENT, "there is no role ''"},
        {"x:matrix:f32:outer", 0, JIT_GEMM_ERR_ARGUMENT, "there is no role 'outer'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char name[JIT_GEMM_NAME_SIZE] = "untouched";
        jit_gemm_operand operand = {.reserved = 7};
        const size_t size = rows[i].size > 0 ? rows[i].size : strlen(rows[i].text);

        cr_expect_eq(jg_operand_parse(rows[i].text, size, ':', name, &operand),
                     rows[i].status, "%s", rows[i].text);

        cr_expect_not_null(strstr(jg_error_text(), rows[i].error), "%s: %s", rows[i].text,
                           jg_error_text());
        cr_expect_str_eq(name, "untouched");
        cr_expect_eq(operand.reserved, 7);
    }
}
