/* SPDX-License-Identifier: MIT */
/* Constant expressions: operators, precedence, signedness, what is refused. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_ptx_support.h"

static void expect_value(const char *expression, long long expected)
{
    struct emu_text text = {0};
    emu_text_add(&text, "mov.b64 %%rd1, %s;", expression);
    struct ptx_module *module = parse_body(emu_text_get(&text));
    const struct ptx_operand *operand = &module->functions[0].insns[0].operands[1];

    cr_expect_eq(operand->kind, PTX_INTEGER, "%s", expression);
    cr_expect_eq(operand->value, expected, "%s is %lld", expression,
                 (long long)operand->value);
    emu_text_free(&text);
    ptx_module_free(module);
}

static void expect_refusal(const char *expression, const char *expected)
{
    struct emu_text text = {0};
    emu_text_add(&text, "mov.b64 %%rd1, %s;", expression);
    const char *refusal = refusal_of_body(emu_text_get(&text));
    cr_expect_str_eq(refusal, expected, "%s: %s", expression, refusal);
    emu_text_free(&text);
}

Test(ptx_expressions, arithmetic_and_precedence)
{
    expect_value("2+3*4", 14);
    expect_value("(2+3)*4", 20);
    expect_value("20-5-3", 12);
    expect_value("100/7/2", 7);
    expect_value("17 % 5", 2);
    expect_value("1+2<<3", 24);
    expect_value("1<<2+3", 32);
    expect_value("- - 5", 5);
    expect_value("+5", 5);
}

Test(ptx_expressions, bits)
{
    expect_value("~0", -1);
    expect_value("~0xF0 & 0xFF", 15);
    expect_value("1|2^3&1", 3);
    expect_value("0xFF ^ 0x0F", 0xF0);
    expect_value("1<<40", 1LL << 40);
}

Test(ptx_expressions, shifts_to_the_right_keep_the_sign_of_signed_numbers)
{
    expect_value("-16 >> 2", -4);
    expect_value("-1 >> 63", -1);
    expect_value("0xF000000000000000 >> 60", 15);
    expect_value("(.u64)-16 >> 60", 15);
}

Test(ptx_expressions, comparisons_and_logic)
{
    expect_value("1 < 2", 1);
    expect_value("2 <= 1", 0);
    expect_value("2 >= 2", 1);
    expect_value("3 > 4", 0);
    expect_value("3 == 3 && 4 != 4", 0);
    expect_value("0 || 7", 1);
    expect_value("!0", 1);
    expect_value("!5", 0);
    expect_value("-1 < 1", 1);
    expect_value("-1 < 1U", 0);
    expect_value("(.s64)0xFFFFFFFFFFFFFFFF < 1", 1);
}

Test(ptx_expressions, division_of_signed_and_unsigned_numbers)
{
    expect_value("-7 / 2", -3);
    expect_value("-7 % 2", -1);
    expect_value("-2 / 2U", 0x7FFFFFFFFFFFFFFFLL);
    expect_value("(-9223372036854775807 - 1) / -1", (-9223372036854775807LL - 1));
    expect_value("(-9223372036854775807 - 1) % -1", 0);
}

Test(ptx_expressions, choice_is_right_associative)
{
    expect_value("1 ? 2 : 3", 2);
    expect_value("0 ? 2 : 0 ? 3 : 4", 4);
    expect_value("WARP_SZ == 32 ? 10 : 20", 10);
    expect_value("(1 ? -1 : 0U) > 0", 1);
}

Test(ptx_expressions, floating_point)
{
    struct ptx_module *module = parse_module(
        ".global .f64 a = 1.0 + 2.0 * -0.25; .global .f64 b = (3.0 - 1.0) / 4.0;");
    double a = 0, b = 0;

    memcpy(&a, module->variables[0].initial, 8);
    memcpy(&b, module->variables[1].initial, 8);
    cr_expect_eq(a, 0.5);
    cr_expect_eq(b, 0.5);
    ptx_module_free(module);
}

Test(ptx_expressions, what_has_no_value_is_refused)
{
    expect_refusal("1/0", "4:18: a constant expression divides by zero");
    expect_refusal("1 % 0", "4:20: a constant expression divides by zero");
    expect_refusal("1 << 64", "4:22: a constant expression shifts by more than 63 bits");
    expect_refusal("1 + 1.0",
                   "4:22: a constant expression mixes integers and floating point");
    expect_refusal("1.0 < 2.0",
                   "4:24: only + - * / are supported between floating-point constants");
    expect_refusal("~1.0", "4:19: '~' does not apply to a floating-point constant");
    expect_refusal("(1", "4:17: expected ')' but met ';'");
    expect_refusal("1 +", "4:18: expected a constant but met ';'");
    expect_refusal("1 ? 2", "4:20: expected ':' but met ';'");
    expect_refusal("-0f3F800000", "4:16: expected a constant but met '0f3F800000'");
}

Test(ptx_expressions, malformed_numbers_are_refused)
{
    expect_refusal("08", "4:15: '8' does not belong to a number");
    expect_refusal("12u", "4:15: 'u' does not belong to a number");
    expect_refusal("0x", "4:15: expected digits behind '0x'");
    expect_refusal("0b2", "4:15: expected digits behind '0b'");
    expect_refusal("0f3F80000", "4:15: expected 8 hexadecimal digits behind '0f'");
    expect_refusal("0d3F800000", "4:15: expected 16 hexadecimal digits behind '0d'");
    expect_refusal("18446744073709551616", "4:15: the integer does not fit into 64 bits");
}

Test(ptx_expressions, depth_is_bounded)
{
    struct emu_text deep = {0};
    for (int i = 0; i < 100000; i++) {
        emu_text_add(&deep, "%s", i % 2 == 0 ? "(" : "-");
    }
    struct emu_text text = {0};
    emu_text_add(&text, "mov.b64 %%rd1, %s", emu_text_get(&deep));

    const char *refusal = refusal_of_body(emu_text_get(&text));
    cr_expect(strstr(refusal, "nested more than 64 deep") != NULL, "%s", refusal);
    emu_text_free(&deep);
    emu_text_free(&text);
}
