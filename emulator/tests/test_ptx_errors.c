/* SPDX-License-Identifier: MIT */
/* What is refused in a body: the place, what was met, what was expected. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_ptx_support.h"

static void expect_refusals(const char *const cases[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *refusal = refusal_of_body(cases[i][0]);
        cr_expect_str_eq(refusal, cases[i][1], "%s: %s", cases[i][0], refusal);
    }
}
#define EXPECT_REFUSALS(cases) expect_refusals(cases, sizeof(cases) / sizeof(cases[0]))

Test(ptx_errors, names)
{
    static const char *const cases[][2] = {
        {"mov.b32 %r1, nothing;", "4:14: 'nothing' is not declared"},
        {"\n\n   mov.b32 nothing, %r1;", "6:12: 'nothing' is not declared"},
        {"mov.b64 %rd1, {%r1, nothing};", "4:21: 'nothing' is not declared"},
        {"@q ret;", "4:2: predicate 'q' is not declared"},
        {"@!%r1 ret;", "4:3: '%r1' behind '@' is no predicate register"},
        {"bra nowhere;", "4:5: label 'nowhere' is not declared"},
        {"{ { bra nowhere; } }", "4:9: label 'nowhere' is not declared"},
        {"call nothing;", "4:6: function 'nothing' is not declared"},
        {"L: mov.b64 %rd1, L;", "4:18: label 'L' outside of a branch is not supported"},
        {"L: L: ret;", "4:4: 'L' is declared twice in this scope"},
        {".reg .b32 %r1;", "4:11: '%r1' is declared twice in this scope"},
        {".reg .b32 a; a: ret;", "4:14: 'a' is declared twice in this scope"},
        {"mov.b32 %r1, %r2.x;",
         "4:14: '%r2.x': elements of vector registers are not supported"},
        {"mov.b32 %r1, out.x;", "4:17: expected ';' but met '.x'"},
    };
    EXPECT_REFUSALS(cases);
}

Test(ptx_errors, calls_through_registers)
{
    static const char *const cases[][2] = {
        {"call (%r1), %rd1, (%r2), proto;",
         "4:13: a call through register '%rd1' is not supported"},
        {"proto: .callprototype (.param .b32 _) _ (.param .b32 _);",
         "4:8: directive '.callprototype' is not supported in a function"},
        {"table: .branchtargets L1, L2;",
         "4:8: directive '.branchtargets' is not supported in a function"},
        {"table: .calltargets f;",
         "4:8: directive '.calltargets' is not supported in a function"},
    };
    EXPECT_REFUSALS(cases);
}

Test(ptx_errors, operands)
{
    static const char *const cases[][2] = {
        {"ret", "5:1: expected an operand but met '}'"},
        {"add.s32 %r1 %r2;", "4:13: expected ';' but met '%r2'"},
        {"add.s32 %r1,;", "4:13: expected an operand but met ';'"},
        {"ld.u32 %r1, [%rd1;", "4:18: expected ']' but met ';'"},
        {"ld.u32 %r1, [%rd1-4];", "4:18: expected ']' but met '-'"},
        {"ld.u32 %r1, [%tid.x];", "4:14: expected a register, a variable or an integer as "
                                  "the address but met '%tid'"},
        {"ld.u32 %r1, [-%rd1];", "4:14: expected a register, a variable or an integer as "
                                 "the address but met '-'"},
        {"ld.u32 %r1, [%rd1, 5];", "4:20: expected '{' but met '5'"},
        {"ld.u32 %r1, out[4];", "4:16: expected ';' but met '['"},
        {"mov.b64 {}, %rd1;", "4:10: expected an operand but met '}'"},
        {"mov.b64 {{%r1}, %r2}, %rd1;", "4:10: expected an operand but met '{'"},
        {"setp.eq.s32 %p1|5, %r1, %r2;",
         "4:17: expected a register or '_' behind '|' but met '5'"},
        {"mov.b32 %r1, !%tid;",
         "4:15: expected a register behind '!' or '-' but met '%tid'"},
        {"ld.u32 %r1, [%rd1+1.5];",
         "4:19: expected an integer but met a floating-point constant"},
        {"mov.b32 %r1, \"text\";", "4:14: expected an operand but met a string"},
        {"mov.b32 %r1, .5;", "4:14: expected an operand but met '.5'"},
    };
    EXPECT_REFUSALS(cases);
}

Test(ptx_errors, statements)
{
    static const char *const cases[][2] = {
        {";", "4:1: expected an instruction or '}' but met ';'"},
        {"5;", "4:1: expected an instruction or '}' but met '5'"},
        {"%r1 = 5;", "4:1: expected an instruction but met '%r1'"},
        {"@%p1 { ret; }", "4:6: expected an instruction but met '{'"},
        {"@%p1;", "4:5: expected an instruction but met ';'"},
        {"_ %r1;", "4:1: expected an instruction but met '_'"},
        {".frobnicate 5;", "4:1: directive '.frobnicate' is not supported in a function"},
        {".file 1 \"a\"", "4:1: directive '.file' is not supported in a function"},
        {".reg .v4 .f32 v;", "4:6: '.v4': vector registers are not supported"},
        {".reg .e4m3 v;", "4:6: expected the type of a register but met '.e4m3'"},
        {".reg .b32 5;", "4:11: expected the name of a register but met '5'"},
        {".reg .b32 a<b>;", "4:13: expected an integer but met 'b'"},
        {".reg .b32 a", "5:1: expected ';' but met '}'"},
        {".pragma nounroll;", "4:9: expected a string but met 'nounroll'"},
    };
    EXPECT_REFUSALS(cases);
}

Test(ptx_errors, characters)
{
    static const char *const cases[][2] = {
        {"mov.b32 %r1, #5;", "4:14: a character of code 0x23 has no meaning here"},
        {"mov.b32 %r1, \xC3\xA4;", "4:14: a character of code 0xc3 has no meaning here"},
        {"/* never closed", "4:1: the comment that begins here does not end"},
        {".pragma \"never closed",
         "4:9: the string that begins here does not end on its line"},
    };
    EXPECT_REFUSALS(cases);
    cr_expect_str_eq(refusal_of_body("ret; } }"),
                     "4:8: expected a function, a variable or a directive but met '}'");
    cr_expect_str_eq(refusal_of_module(".entry k() {\n  ret;\n"),
                     "6:1: expected an instruction or '}' but the text ends");
}

Test(ptx_errors, a_message_has_room_for_long_names_only_in_part)
{
    struct emu_text name = {0};
    for (int i = 0; i < 5000; i++) {
        emu_text_add(&name, "x");
    }
    struct emu_text text = {0};
    emu_text_add(&text, "add %s %s;", "%r1", emu_text_get(&name));

    const char *refusal = refusal_of_body(emu_text_get(&text));
    cr_expect_eq(strncmp(refusal, "4:9: expected ';' but met 'xxxx", 31), 0, "%s", refusal);
    cr_expect_lt(strlen(refusal), 300);
    emu_text_free(&name);
    emu_text_free(&text);
}
