/* SPDX-License-Identifier: MIT */
/* Registers, labels and nested scopes. */
#include <criterion/criterion.h>

#include "test_ptx_support.h"

Test(ptx_scopes, register_ranges_and_single_registers)
{
    struct ptx_module *module =
        parse_module(".entry k() { .reg .b32 %r<12>, sum; .reg .pred p; .reg .b128 q<1>;"
                     ".reg .f16x2 none<0>; ret; }");
    const struct ptx_function *function = &module->functions[0];

    cr_assert_eq(function->register_count, 15);
    cr_expect_str_eq(function->registers[0].name, "%r0");
    cr_expect_str_eq(function->registers[11].name, "%r11");
    cr_expect_eq(function->registers[11].type, PTX_B32);
    cr_expect_str_eq(function->registers[12].name, "sum");
    cr_expect_eq(function->registers[13].type, PTX_PRED);
    cr_expect_str_eq(function->registers[14].name, "q0");
    cr_expect_eq(function->registers[14].type, PTX_B128);
    ptx_module_free(module);
}

Test(ptx_scopes, inner_register_hides_the_outer_one_up_to_its_brace)
{
    struct ptx_module *module = parse_body(".reg .b32 x;"
                                           "mov.b32 x, 1;"
                                           "{ .reg .b64 x; mov.b64 x, 2; }"
                                           "mov.b32 x, 3;");
    const struct ptx_function *function = &module->functions[0];
    const struct ptx_insn *insns = function->insns;

    cr_expect_eq(function->registers[insns[0].operands[0].index].type, PTX_B32);
    cr_expect_eq(function->registers[insns[1].operands[0].index].type, PTX_B64);
    cr_expect_eq(insns[2].operands[0].index, insns[0].operands[0].index);
    ptx_module_free(module);
}

Test(ptx_scopes, the_same_names_in_sibling_scopes_are_different_things)
{
    static const char block[] = "{ .reg .pred p; WAIT:"
                                "mbarrier.try_wait.shared::cta.b64 p, [%r1], %r2;"
                                "@p bra DONE; bra WAIT; DONE: }";
    struct emu_text text = {0};
    emu_text_add(&text, "%s%s", block, block);
    struct ptx_module *module = parse_body(emu_text_get(&text));
    const struct ptx_insn *insns = module->functions[0].insns;

    cr_expect_str_eq(show_insn(module, 1), "@p bra ->3");
    cr_expect_str_eq(show_insn(module, 2), "bra ->0");
    cr_expect_str_eq(show_insn(module, 4), "@p bra ->6");
    cr_expect_str_eq(show_insn(module, 5), "bra ->3");
    cr_expect_neq(insns[1].guard, insns[4].guard);
    emu_text_free(&text);
    ptx_module_free(module);
}

Test(ptx_scopes, a_label_is_seen_from_inner_scopes_before_and_after_it)
{
    struct ptx_module *module = parse_body("TOP: { { bra END; bra TOP; } } ret; END: ret;");

    cr_expect_str_eq(show_insn(module, 0), "bra ->3");
    cr_expect_str_eq(show_insn(module, 1), "bra ->0");
    ptx_module_free(module);
}

Test(ptx_scopes, a_later_label_of_the_scope_wins_over_an_earlier_one_around_it)
{
    struct ptx_module *module = parse_body("L: ret; { bra L; ret; L: ret; } bra L;");

    cr_expect_str_eq(show_insn(module, 1), "bra ->3");
    cr_expect_str_eq(show_insn(module, 4), "bra ->0");
    ptx_module_free(module);
}

Test(ptx_scopes, a_label_is_not_seen_from_outside_its_scope)
{
    cr_expect_str_eq(refusal_of_body("bra L;\n{ L: ret; }"),
                     "4:5: label 'L' is not declared");
}

Test(ptx_scopes, a_label_may_stand_at_the_very_end_and_have_any_prefix)
{
    struct ptx_module *module =
        parse_body("bra $L__BB0_1; bra %L2; bra _a; $L__BB0_1: %L2: _a:");

    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_str_eq(show_insn(module, i), "bra ->3");
    }
    cr_expect_eq(module->functions[0].insn_count, 3);
    ptx_module_free(module);
}

Test(ptx_scopes, a_branch_means_a_label_even_when_a_variable_has_the_name)
{
    struct ptx_module *module = parse_module(
        ".global .u32 done; .entry k() { { bra done; done: ret; } ld.u32 _, [done]; }");

    cr_expect_str_eq(show_insn(module, 0), "bra ->1");
    cr_expect_str_eq(show_insn(module, 2), "ld.u32 _ [&done]");
    ptx_module_free(module);
}

Test(ptx_scopes, parameters_of_calls_share_their_room_between_scopes)
{
    struct ptx_module *module =
        parse_body("{ .param .b64 a; .param .b32 b; .param .align 8 .b8 c[16]; }"
                   "{ .param .b32 a; { .param .b64 d; } .param .b32 e; }");
    const struct ptx_variable *variables = module->variables;

    /* 0 is the parameter of the entry. */
    cr_assert_eq(module->variable_count, 7);
    cr_expect_eq(variables[1].offset, 0);
    cr_expect_eq(variables[2].offset, 8);
    cr_expect_eq(variables[3].offset, 16);
    cr_expect_eq(variables[4].offset, 0);
    cr_expect_eq(variables[5].offset, 8);
    cr_expect_eq(variables[6].offset, 4);
    cr_expect_eq(module->functions[0].call_param_bytes, 32);
    ptx_module_free(module);
}

Test(ptx_scopes, local_variables_are_laid_out_for_the_function)
{
    struct ptx_module *module =
        parse_module(".func f() { .local .align 16 .b8 __local_depot0[20];"
                     "{ .local .u64 a; } { .local .b8 b; } ret; }"
                     ".func g() { .local .u16 c; ret; } .func h() { ret; }");

    cr_expect_eq(find_variable(module, "__local_depot0")->offset, 0);
    cr_expect_eq(find_variable(module, "a")->offset, 24);
    cr_expect_eq(find_variable(module, "b")->offset, 32);
    cr_expect_eq(module->functions[0].local_bytes, 33);
    cr_expect_eq(module->functions[0].local_alignment, 16);
    cr_expect_eq(find_variable(module, "c")->offset, 0);
    cr_expect_eq(module->functions[1].local_bytes, 2);
    cr_expect_eq(module->functions[2].local_bytes, 0);
    cr_expect_eq(module->functions[2].local_alignment, 1);
    ptx_module_free(module);
}

Test(ptx_scopes, variables_of_a_body_are_seen_in_it_alone)
{
    struct ptx_module *module = parse_module(
        ".global .u32 x = 1;"
        ".entry k() { .shared .align 4 .b8 x[68]; .const .u16 c = 7; mov.u64 _, x; }"
        ".entry l() { mov.u64 _, x; }");
    const struct ptx_function *functions = module->functions;

    const uint32_t inner = functions[0].insns[0].operands[1].index;
    const uint32_t outer = functions[1].insns[0].operands[1].index;
    cr_expect_eq(module->variables[inner].space, PTX_SHARED);
    cr_expect_eq(module->variables[inner].bytes, 68);
    cr_expect_eq(module->variables[outer].space, PTX_GLOBAL);
    cr_expect_str_eq(refusal_of_module(".entry k() { .shared .u32 s; ret; }\n"
                                       ".entry l() { mov.u64 _, s; }"),
                     "5:25: 's' is not declared");
    ptx_module_free(module);
}
