/* SPDX-License-Identifier: MIT */
/* Instructions: words of opcodes, guards, every kind of operand. */
#include <criterion/criterion.h>

#include "test_ptx_support.h"

/* One statement and how its only instruction is shown. */
static void expect_insn(const char *statement, const char *expected)
{
    struct ptx_module *module = parse_body(statement);
    cr_expect_str_eq(show_insn(module, 0), expected, "%s: %s", statement,
                     show_insn(module, 0));
    ptx_module_free(module);
}

Test(ptx_insns, opcode_is_split_at_dots_but_not_at_colons)
{
    struct ptx_module *module =
        parse_body("mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;");
    const struct ptx_insn *insn = &module->functions[0].insns[0];

    cr_assert_eq(insn->word_count, 5);
    cr_expect_str_eq(insn->words[0], "mbarrier");
    cr_expect_str_eq(insn->words[1], "try_wait");
    cr_expect_str_eq(insn->words[2], "parity");
    cr_expect_str_eq(insn->words[3], "shared::cta");
    cr_expect_str_eq(insn->words[4], "b64");
    cr_expect_str_eq(insn->opcode, "mbarrier.try_wait.parity.shared::cta.b64");
    ptx_module_free(module);
}

Test(ptx_insns, words_may_begin_with_digits_and_have_several_colons)
{
    struct ptx_module *module =
        parse_body("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global"
                   ".mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
                   "[%r1], [%rd1, {%r2, %r3}], [%r4], %r5, %rd2;"
                   "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r1, %r2, %r3, %r4}, [%r5+64];");
    const struct ptx_insn *insns = module->functions[0].insns;

    cr_expect_str_eq(insns[0].words[4], "2d");
    cr_expect_str_eq(insns[0].words[8], "mbarrier::complete_tx::bytes");
    cr_expect_str_eq(insns[0].words[10], "L2::cache_hint");
    cr_expect_str_eq(insns[1].words[4], "32x32b");
    ptx_module_free(module);
}

Test(ptx_insns, equal_opcodes_share_their_words)
{
    struct ptx_module *module =
        parse_body("add.s32 %r1, %r2, %r3; add.s32 %r1, %r1, 1; add .s32 %r1, %r1, 2;");
    const struct ptx_insn *insns = module->functions[0].insns;

    cr_expect_eq(insns[0].words, insns[1].words);
    cr_expect_eq(insns[0].words, insns[2].words);
    ptx_module_free(module);
}

Test(ptx_insns, guards)
{
    expect_insn("@%p1 bra L; L:", "@%p1 bra ->1");
    expect_insn("@!%p2 mov.b32 %r1, %r2;", "@!%p2 mov.b32 %r1 %r2");
    expect_insn("ret;", "ret");
}

Test(ptx_insns, integers)
{
    expect_insn("mov.b32 %r1, 42;", "mov.b32 %r1 #42");
    expect_insn("mov.b32 %r1, -42;", "mov.b32 %r1 #-42");
    expect_insn("mov.b32 %r1, 0xFEFFfc38;", "mov.b32 %r1 #4278189112");
    expect_insn("mov.b32 %r1, 017;", "mov.b32 %r1 #15");
    expect_insn("mov.b32 %r1, 0b1011;", "mov.b32 %r1 #11");
    expect_insn("mov.b32 %r1, 12U;", "mov.b32 %r1 #12");
    expect_insn("mov.b64 %rd1, 0xFFFFFFFFFFFFFFFF;", "mov.b64 %rd1 #-1");
    expect_insn("mov.b64 %rd1, 9223372036854775808;", "mov.b64 %rd1 #-9223372036854775808");
    expect_insn("mov.b32 %r1, WARP_SZ;", "mov.b32 %r1 #32");
    expect_insn("mov.b32 %r1, WARP_SZ*2;", "mov.b32 %r1 #64");
}

Test(ptx_insns, floats_are_bits)
{
    expect_insn("mov.f32 %r1, 0f3F800000;", "mov.f32 %r1 f32:3f800000");
    expect_insn("mov.f32 %r1, 0FfF800000;", "mov.f32 %r1 f32:ff800000");
    expect_insn("mov.f64 %rd1, 0d3FF0000000000001;", "mov.f64 %rd1 f64:3ff0000000000001");
    expect_insn("mov.f64 %rd1, 1.5;", "mov.f64 %rd1 f64:3ff8000000000000");
    expect_insn("mov.f64 %rd1, -2.5e-1;", "mov.f64 %rd1 f64:bfd0000000000000");
    expect_insn("mov.f64 %rd1, 1E3;", "mov.f64 %rd1 f64:408f400000000000");
}

Test(ptx_insns, negated_operands)
{
    expect_insn("tcgen05.mma.x [%r1], %rd1, %rd2, %r2, !%p1;",
                "tcgen05.mma.x [%r1] %rd1 %rd2 %r2 !%p1");
    expect_insn("add.f32 %r1, -%r2, %r3;", "add.f32 %r1 !%r2 %r3");
}

Test(ptx_insns, pairs_and_sinks)
{
    expect_insn("elect.sync %r1|%p1, -1;", "elect.sync %r1|%p1 #-1");
    expect_insn("elect.sync _|%p1, 0xffffffff;", "elect.sync _|%p1 #4294967295");
    expect_insn("setp.eq.and.s32 %p1|%p2, %r1, %r2, !%p3;",
                "setp.eq.and.s32 %p1|%p2 %r1 %r2 !%p3");
    expect_insn("atom.global.add.u32 _, [%rd1], 1;", "atom.global.add.u32 _ [%rd1] #1");
}

Test(ptx_insns, vectors_on_both_sides)
{
    expect_insn("mov.b64 %rd1, {%r1, %r2};", "mov.b64 %rd1 {%r1,%r2}");
    expect_insn("mov.b64 {%r1, _}, %rd1;", "mov.b64 {%r1,_} %rd1");
    expect_insn("st.global.v4.f32 [%rd1], {%r1, 0f00000000, -3, 7};",
                "st.global.v4.f32 [%rd1] {%r1,f32:00000000,#-3,#7}");
}

Test(ptx_insns, addresses)
{
    expect_insn("ld.u32 %r1, [%rd1];", "ld.u32 %r1 [%rd1]");
    expect_insn("ld.u32 %r1, [%rd1+16];", "ld.u32 %r1 [%rd1 + 16]");
    expect_insn("ld.u32 %r1, [%rd1+-16];", "ld.u32 %r1 [%rd1 + -16]");
    expect_insn("ld.u32 %r1, [ %rd1 + 2*(3+5) ];", "ld.u32 %r1 [%rd1 + 16]");
    expect_insn("ld.param.u64 %rd1, [out];", "ld.param.u64 %rd1 [&out]");
    expect_insn("ld.param.u32 %r1, [out+4];", "ld.param.u32 %r1 [&out + 4]");
    expect_insn("ld.local.u32 %r1, [4096];", "ld.local.u32 %r1 [#4096]");
}

Test(ptx_insns, tensor_operands)
{
    expect_insn("prefetch.tensor [%rd1, {%r1, %r2, 0}];",
                "prefetch.tensor tensor [%rd1] at {%r1,%r2,#0}");
    expect_insn("prefetch.tensor [%rd1+128, {0}];",
                "prefetch.tensor tensor [%rd1 + 128] at {#0}");
}

Test(ptx_insns, address_of_a_variable)
{
    expect_insn("mov.b64 %rd1, out;", "mov.b64 %rd1 &out");
    expect_insn("mov.b64 %rd1, out+12;", "mov.b64 %rd1 &out+12");
}

Test(ptx_insns, undeclared_names_with_percent_are_special_registers)
{
    expect_insn("mov.u32 %r1, %tid.x;", "mov.u32 %r1 <%tid.x>");
    expect_insn("mov.u32 %r1, %cluster_ctaid.z;", "mov.u32 %r1 <%cluster_ctaid.z>");
    expect_insn("mov.u32 %r1, %laneid;", "mov.u32 %r1 <%laneid>");
    expect_insn("mov.u64 %rd1, %clock64;", "mov.u64 %rd1 <%clock64>");
    expect_insn("mov.u32 %r1, %pm3;", "mov.u32 %r1 <%pm3>");
    expect_insn("mov.b32 %r1, %envreg17;", "mov.b32 %r1 <%envreg17>");
    expect_insn("mov.b64 %rd1, {%tid.x, %lanemask_lt};",
                "mov.b64 %rd1 {<%tid.x>,<%lanemask_lt>}");
    expect_insn(".reg .b32 %laneid; mov.u32 %r1, %laneid;", "mov.u32 %r1 %laneid");
}

Test(ptx_insns, comments_are_blanks)
{
    expect_insn("// @%p1 ret;\n/* ret; // */ add/**/.s32 %r1 /* * / */, %r2, 1; //",
                "add.s32 %r1 %r2 #1");
}

Test(ptx_insns, operands_of_wgmma)
{
    expect_insn("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                "{%r1, %r2, %r3, %r4}, %rd1, %rd2, %p1, 1, -1, 0, 1;",
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                "{%r1,%r2,%r3,%r4} %rd1 %rd2 %p1 #1 #-1 #0 #1");
}
