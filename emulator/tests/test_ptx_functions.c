/* SPDX-License-Identifier: MIT */
/* Functions: headers, tuning directives, declarations, calls; the head of the module. */
#include <criterion/criterion.h>

#include "test_ptx_support.h"

Test(ptx_functions, head_of_the_module)
{
    struct ptx_module *a = parse_text(".version 8.6\n.target sm_100a\n.address_size 64\n");
    struct ptx_module *b = parse_text(".version 9.1 .target sm_90 , debug");
    struct ptx_module *c = parse_text(".version 9.0 .target sm_103f .address_size 32");

    cr_expect_eq(a->version_major, 8);
    cr_expect_eq(a->version_minor, 6);
    cr_expect_str_eq(a->target, "sm_100a");
    cr_expect_eq(a->sm, 100);
    cr_expect_eq(a->sm_suffix, 'a');
    cr_expect_eq(a->address_bits, 64);
    cr_expect_eq(b->version_minor, 1);
    cr_expect_eq(b->sm, 90);
    cr_expect_eq(b->sm_suffix, 0);
    cr_expect_eq(b->address_bits, 32);
    cr_expect_eq(c->sm, 103);
    cr_expect_eq(c->sm_suffix, 'f');
    ptx_module_free(a);
    ptx_module_free(b);
    ptx_module_free(c);
}

Test(ptx_functions, zeros_at_the_end_of_the_text_are_no_text)
{
    static const char text[] = ".version 9.0 .target sm_90a\0\0";
    struct emu_error error = {0};
    struct ptx_module *module = ptx_parse(text, sizeof(text), &error);

    cr_expect_not_null(module);
    cr_expect(!error.set);
    ptx_module_free(module);
    ptx_module_free(NULL);
}

Test(ptx_functions, tuning_directives)
{
    struct ptx_module *module = parse_module(
        ".visible .entry k(.param .u32 a)\n"
        ".maxntid 256, 2\n.minnctapersm 3\n.maxnreg 168\n.pragma \"x\", \"y\";\n"
        ".explicitcluster\n.reqnctapercluster 2, 1, 4\n"
        "{ .pragma \"nounroll\"; ret; }\n"
        ".entry l() .reqntid 64 .maxclusterrank 8 { ret; }");
    const struct ptx_function *k = ptx_find_function(module, "k");
    const struct ptx_function *l = ptx_find_function(module, "l");

    cr_assert_not_null(k);
    cr_assert_not_null(l);
    cr_expect(k->is_entry && k->has_body && k->is_visible);
    cr_expect_eq(k->max_threads[0], 256);
    cr_expect_eq(k->max_threads[1], 2);
    cr_expect_eq(k->max_threads[2], 1);
    cr_expect_eq(k->min_ctas_per_sm, 3);
    cr_expect_eq(k->max_registers, 168);
    cr_expect(k->explicit_cluster);
    cr_expect_eq(k->required_cluster[0], 2);
    cr_expect_eq(k->required_cluster[2], 4);
    cr_expect_eq(k->required_threads[0], 0);
    cr_expect_eq(k->max_cluster_rank, 0);
    cr_expect(!l->is_visible && !l->explicit_cluster);
    cr_expect_eq(l->required_threads[0], 64);
    cr_expect_eq(l->required_threads[1], 1);
    cr_expect_eq(l->max_cluster_rank, 8);
    cr_expect_eq(l->max_threads[0], 0);
    cr_expect_null(ptx_find_function(module, "m"));
    ptx_module_free(module);
}

Test(ptx_functions, results_and_parameters)
{
    struct ptx_module *module = parse_module(
        ".func (.param .align 16 .b8 r[24]) f(.param .b32 a, .param .b64 b) .noreturn"
        "{ ld.param.u64 _, [b]; st.param.u64 [r+8], 1; ret; }");
    const struct ptx_function *f = &module->functions[0];

    cr_expect(!f->is_entry);
    cr_assert_eq(f->result_count, 1);
    cr_expect_str_eq(module->variables[f->results[0]].name, "r");
    cr_expect_eq(f->result_bytes, 24);
    cr_assert_eq(f->param_count, 2);
    cr_expect_eq(module->variables[f->params[1]].offset, 8);
    cr_expect_eq(f->param_bytes, 16);
    cr_expect_eq(f->insns[0].operands[1].elements[0].index, f->params[1]);
    cr_expect_eq(f->insns[1].operands[0].elements[0].index, f->results[0]);
    ptx_module_free(module);
}

Test(ptx_functions, calls)
{
    struct ptx_module *module = parse_module(
        ".visible .entry k() { .reg .b32 %r<3>;"
        "  call.uni k; ret; }"
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);"
        ".func helper;"
        ".func user() { .reg .b32 %r<3>; { .param .b64 p0; .param .b64 p1; .param .b32 r0;"
        "  call.uni (r0),\n vprintf,\n (\n p0,\n p1\n ); call helper; call helper, ();"
        "  call (r0), vprintf, (p0, 7); } ret; }");
    const struct ptx_function *user = ptx_find_function(module, "user");

    cr_expect_str_eq(show_insn(module, 0), "call.uni k()");
    cr_assert_eq(user->insn_count, 5);
    const struct ptx_operand *operands = user->insns[0].operands;
    cr_assert_eq(user->insns[0].operand_count, 3);
    cr_expect_eq(operands[0].kind, PTX_LIST);
    cr_expect_eq(operands[0].count, 1);
    cr_expect_eq(operands[1].kind, PTX_FUNCTION);
    cr_expect_str_eq(module->functions[operands[1].index].name, "vprintf");
    cr_expect_eq(operands[2].kind, PTX_LIST);
    cr_expect_eq(operands[2].count, 2);
    cr_expect_str_eq(module->variables[operands[2].elements[1].index].name, "p1");
    cr_expect_eq(user->insns[1].operand_count, 1);
    cr_expect_eq(user->insns[2].operands[1].count, 0);
    cr_expect_eq(user->insns[3].operands[2].elements[1].value, 7);
    ptx_module_free(module);
}

Test(ptx_functions, a_declaration_and_its_body_are_one_function)
{
    struct ptx_module *module =
        parse_module(".func (.param .b32 r) f(.param .b64 early);"
                     ".extern .func (.param .b32 r) f(.param .b64 again);"
                     ".entry k() { .param .b64 p; .param .b32 r; call (r), f, (p); ret; }"
                     ".visible .func (.param .b32 out) f(.param .b64 late)"
                     "{ .param .b64 p; .param .b32 r; ld.param.u64 _, [late];"
                     "  call (r), f, (p); ret; }"
                     ".func (.param .b32 r) f(.param .b64 after);");
    const struct ptx_function *f = &module->functions[0];

    cr_assert_eq(module->function_count, 2);
    cr_expect(f->has_body && f->is_visible);
    cr_expect_str_eq(module->variables[f->params[0]].name, "late");
    cr_expect_eq(module->functions[1].insns[0].operands[1].index, 0);
    cr_expect_eq(f->insns[1].operands[1].index, 0);
    ptx_module_free(module);
}

Test(ptx_functions, functions_without_a_body)
{
    struct ptx_module *module = parse_module(".extern .func __assertfail(.param .b64 a);"
                                             ".entry k { ret; }");

    cr_expect(!module->functions[0].has_body);
    cr_expect_eq(module->functions[0].insn_count, 0);
    cr_expect_eq(module->functions[0].param_bytes, 8);
    cr_expect_eq(module->functions[1].param_count, 0);
    ptx_module_free(module);
}

Test(ptx_functions, what_is_refused)
{
    static const char *const cases[][2] = {
        {".entry k() { ret; } .entry k() { ret; }", "4:28: 'k' has two bodies"},
        {".func f(.param .b32 a); .func f(.param .b64 a) { ret; }",
         "4:31: 'f' was declared with other parameters"},
        {".func f(); .entry f() { ret; }", "4:19: 'f' was declared with other parameters"},
        {".global .u32 f; .func f() { ret; }", "4:23: 'f' is declared twice in this scope"},
        {".func f(.param .b32 f) { ret; }",
         "4:7: 'f' is both a function and its parameter"},
        {".func f(.param .b32 a, .param .b32 a);",
         "4:36: 'a' is declared twice in this scope"},
        {".func f(.param .b32 a) { .reg .b32 a; }",
         "4:36: 'a' is declared twice in this scope"},
        {".extern .func f() { ret; }",
         "4:19: expected ';' behind an .extern function but met '{'"},
        {".entry k() .maxntid 0 { ret; }", "4:23: expected a number that is not 0"},
        {".entry k() .blocksareclusters { ret; }",
         "4:12: directive '.blocksareclusters' of a function is not supported"},
        {".entry k() ret;", "4:12: expected '{' but met 'ret'"},
        {".func .attribute(.unified(1, 2)) f();",
         "4:7: expected the name of a function but met '.attribute'"},
        {".alias a, b;", "4:1: directive '.alias' is not supported"},
        {".visible .alias a, b;", "4:10: directive '.alias' is not supported"},
        {".entry k() { { .param .b32 _; } }",
         "4:28: expected the name of a variable but met '_'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *refusal = refusal_of_module(cases[i][0]);
        cr_expect_str_eq(refusal, cases[i][1], "%s: %s", cases[i][0], refusal);
    }
}

Test(ptx_functions, heads_that_are_refused)
{
    static const char *const cases[][2] = {
        {"", "1:1: expected '.version' but the text ends"},
        {".target sm_90a", "1:1: expected '.version' but met '.target'"},
        {".version 9", "1:10: expected a version such as 9.0 but met '9'"},
        {".version 0.1", "1:10: there is no PTX 0.1"},
        {".version 7.9 .target sm_80", "1:10: there is no PTX 7.9"},
        {".version 9.5 .target sm_91a",
         "1:22: expected a target such as sm_90a but met 'sm_91a'"},
        {".version 9.5 .target sm_90a .address_size 64 .novelty x;",
         "1:46: directive '.novelty' is not supported"},
        {".version 9.0 .target sm_1",
         "1:22: expected a target such as sm_90a but met 'sm_1'"},
        {".version 8.5 .target sm_100a", "1:22: PTX 8.5 has no target sm_100a"},
        {".version 9.0 .target sm_101a", "1:22: PTX 9.0 has no target sm_101a"},
        {".version 9.0 .entry", "1:14: expected '.target' but met '.entry'"},
        {".version 9.0 .target compute_90",
         "1:22: expected a target such as sm_90a but met 'compute_90'"},
        {".version 9.0 .target sm_90b",
         "1:22: expected a target such as sm_90a but met 'sm_90b'"},
        {".version 9.0 .target sm_90a, texmode_independent",
         "1:30: option 'texmode_independent' of the target is not supported"},
        {".version 9.0 .target sm_90a .address_size 48",
         "1:43: expected an address size of 32 or 64 but met 48"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *refusal = refusal_of_text(cases[i][0]);
        cr_expect_str_eq(refusal, cases[i][1], "%s: %s", cases[i][0], refusal);
    }
}
